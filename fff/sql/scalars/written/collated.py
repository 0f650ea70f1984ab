"""Texts of a collation: `COLLATE utf8_lcase`, which looks at no case, and `utf8_binary`, which is that of every text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fff.dataflow.plan.expressions import Literal
from fff.sql.scalars.coercion import BINARY, STRING, VOID, cast, type_name
from fff.sql.scalars.typed import ANY_CASE, LeftToSparkError, Typed, call
from fff.sql.syntax.statement import Node, exp

_BINARY, _ANY_CASE = "utf8_binary", "utf8_lcase"
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
    if name == _ANY_CASE:
        return replace(text, type=ANY_CASE)
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
    if ANY_CASE in kinds:
        if not kinds <= {ANY_CASE, STRING, VOID}:
            raise LeftToSparkError("compares a text of a collation with another type")
        return [call("any_case", [_plain(side)], STRING) for side in sides]
    if BINARY in kinds:
        if not kinds <= {BINARY, STRING, VOID}:
            raise LeftToSparkError("compares bytes with another type")
        return [call("hex", [cast(side, BINARY)], STRING) for side in sides]
    return sides


def plainly(name: str, args: Sequence[Typed], build: Callable[[Sequence[Typed]], Typed]) -> Typed:
    """A function of its arguments, some of which may be of a collation. Raises LeftToSparkError."""
    if not any(arg.type == ANY_CASE for arg in args):
        return build(args)
    if name == "collation" and len(args) == 1:
        return _named(_ANY_CASE)
    if name not in _SAME:
        raise LeftToSparkError(f"{name}(…) of a collation")
    found = build([_plain(arg) for arg in args])
    return replace(found, type=ANY_CASE) if found.type == STRING else found


def collation(args: Sequence[Typed]) -> Typed:
    """The name of the collation of texts. Raises LeftToSparkError."""
    if len(args) != 1 or args[0].type != STRING:
        raise LeftToSparkError("collation(…)")
    return _named(_BINARY)


def _named(name: str) -> Typed:
    return Typed(Literal(f"SYSTEM.BUILTIN.{name.upper()}", STRING), STRING)


def _plain(one: Typed) -> Typed:
    return replace(one, type=STRING) if one.type == ANY_CASE else cast(one, STRING)
