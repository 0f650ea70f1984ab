"""Texts of a collation: `COLLATE utf8_lcase` looks at no case, `utf8_binary` is that of every text.

With `_rtrim` behind it, a collation looks at no blanks at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fff.dataflow.plan.expressions import Literal
from fff.sql.scalars.coercion import BINARY, STRING, VOID, cast, type_name
from fff.sql.scalars.typed import COLLATED, COLLATIONS, LeftToSparkError, Typed, call
from fff.sql.syntax.statement import Node, exp
from fff.structs import replace

_BINARY = "utf8_binary"
#: Functions that do the same whatever the collation; what texts they give have it, too.
_SAME = frozenset(
    {
        *("length", "char_length", "character_length", "len", "octet_length", "bit_length", "ascii", "upper"),
        *("ucase", "lower", "lcase", "substring", "substr", "left", "right", "reverse", "repeat", "concat"),
        *("base64", "hex", "lpad", "rpad", "encode", "md5", "sha1", "sha", "crc32", "levenshtein", "soundex"),
        *("is_valid_utf8", "luhn_check"),
    }
)


def collated(node: Node, value: Callable[[Node], Typed]) -> Typed:
    """A text of a collation. Raises LeftToSparkError."""
    name = _name(node)
    if any(_name(one) != name for one in _whole(node).find_all(exp.Collate)):
        raise LeftToSparkError("several collations")
    text = value(node.this)
    if text.type not in (STRING, VOID):
        raise LeftToSparkError(f"collate({type_name(text.type)})")
    text = cast(text, STRING)
    if name in COLLATIONS:
        return replace(text, type=COLLATIONS[name])
    if name != _BINARY:
        raise LeftToSparkError("this collation")
    return text


def _name(node: Node) -> str:
    return node.expression.name.lower() if isinstance(node.expression, exp.Var | exp.Literal) else ""


def _whole(node: Node) -> Node:
    """The expression that a node is a part of."""
    while isinstance(node.parent, exp.Expr) and not isinstance(node.parent, exp.Query | exp.Alias | exp.From):
        node = node.parent
    return node


def alike(sides: list[Typed]) -> list[Typed]:
    """The sides of a comparison; where case does not count, texts that say so, and of bytes their digits, in the same order."""
    kinds = {side.type for side in sides}
    if collation := next((kind for kind in kinds if kind in COLLATED), None):
        if not kinds <= {collation, STRING, VOID}:
            raise LeftToSparkError("compares a text of a collation with another type")
        plain = [_plain(side) for side in sides]
        if COLLATED[collation].endswith("_rtrim"):
            plain = [call("rtrim", [side], STRING) for side in plain]
        return (
            plain
            if COLLATED[collation].startswith(_BINARY)
            else [call("any_case", [one], STRING) for one in plain]
        )
    if BINARY in kinds:
        if not kinds <= {BINARY, STRING, VOID}:
            raise LeftToSparkError("compares bytes with another type")
        return [call("hex", [cast(side, BINARY)], STRING) for side in sides]
    return sides


def plainly(name: str, args: Sequence[Typed], build: Callable[[Sequence[Typed]], Typed]) -> Typed:
    """A function of its arguments, some of which may be of a collation. Raises LeftToSparkError."""
    kinds = {arg.type for arg in args if arg.type in COLLATED}
    if not kinds:
        return build(args)
    if name == "collation" and len(args) == 1:
        return _named(COLLATED[args[0].type])
    if name not in _SAME or len(kinds) > 1:
        raise LeftToSparkError(f"{name}(…) of a collation")
    built = build([_plain(arg) for arg in args])
    return replace(built, type=kinds.pop()) if built.type == STRING else built


def collation(args: Sequence[Typed]) -> Typed:
    """The name of the collation of texts. Raises LeftToSparkError."""
    if len(args) != 1 or args[0].type != STRING:
        raise LeftToSparkError("collation(…)")
    return _named(_BINARY)


def _named(name: str) -> Typed:
    return Typed(Literal(f"SYSTEM.BUILTIN.{name.upper()}", STRING), STRING)


def _plain(one: Typed) -> Typed:
    return replace(one, type=STRING) if one.type in COLLATED else cast(one, STRING)
