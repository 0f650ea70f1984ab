"""Texts and bytes, masks, choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fff.dataflow.kernels.written.codes import CHARSETS
from fff.dataflow.plan.expressions import Compare, Literal
from fff.schema import ArrowType
from fff.sql.scalars.coercion import BINARY, BOOLEAN, INT, STRING, VOID, cast, is_moment, type_name
from fff.sql.scalars.functions import applied, implicit
from fff.sql.scalars.typed import LeftToSparkError, Typed, call, folded
from fff.sql.scalars.written.moments import formatted

_FORMS = {"hex": "hex", "base64": "base64", "utf-8": "utf-8", "utf8": "utf-8"}
_LAST_SMALL = 0xFFFF
#: What `mask` writes for upper and lower case, digits and the rest; None leaves them.
_MASKS = ("X", "x", "n", None)


def constant(one: Typed, name: str) -> str | None:
    """The text that an argument is. Raises LeftToSparkError where it is computed."""
    if not isinstance(one.expr, Literal) or one.type not in (STRING, VOID):
        raise LeftToSparkError(f"{name}(…) with computed arguments")
    return None if one.expr.value is None else str(one.expr.value)


def charset(name: str, takes: ArrowType, gives: ArrowType) -> Callable[[Sequence[Typed]], Typed]:
    """`encode` and `decode`, of a constant character set."""

    def build(args: Sequence[Typed]) -> Typed:
        if len(args) != 2:
            raise LeftToSparkError(f"{name}(…)")
        known = (constant(args[1], name) or "").lower()
        if known not in CHARSETS:
            raise LeftToSparkError(f"{name}(…) with this character set")
        word = Typed(Literal(known, STRING), STRING)
        return call(name, [implicit(name, args[0], takes), word], gives, fails=True)

    return build


def to_binary(name: str) -> Callable[[Sequence[Typed]], Typed]:
    """`to_binary` and `try_to_binary`, in a constant form."""

    def build(args: Sequence[Typed]) -> Typed:
        if len(args) not in {1, 2} or args[0].type not in (STRING, VOID):
            raise LeftToSparkError(f"{name}(…)")
        form_name = constant(args[1], name) if len(args) == 2 else "hex"
        if form_name is None and not args[0].may_fail:
            return Typed(Literal(None, BINARY), BINARY)
        form = _FORMS.get((form_name or "").lower())
        if form is None:
            raise LeftToSparkError(f"{name}(…) in this form")
        fails = name == "to_binary" and form != "utf-8"
        word = Typed(Literal(form, STRING), STRING)
        return call(name, [cast(args[0], STRING), word], BINARY, fails=fails)

    return build


def to_char(args: Sequence[Typed]) -> Typed:
    """`to_char` of moments and bytes. Raises LeftToSparkError."""
    if len(args) != 2:
        raise LeftToSparkError("to_char(…)")
    one, shown = args
    if one.type == BINARY:
        form = _FORMS.get((constant(shown, "to_char") or "").lower())
        if form == "utf-8":
            return call("decode", [one, Typed(Literal("utf-8", STRING), STRING)], STRING, fails=True)
        if form is None:
            raise LeftToSparkError("to_char(binary) in this form")
        return call(form, [one], STRING)
    if is_moment(one.type) or type_name(one.type) == "date":
        return formatted(one, shown)
    raise LeftToSparkError(f"to_char({type_name(one.type)})")


def mask(args: Sequence[Typed]) -> Typed:
    """`mask`, of constant characters. Raises LeftToSparkError."""
    if not 1 <= len(args) <= 5 or args[0].type not in (STRING, VOID):
        raise LeftToSparkError("mask(…)")
    masks: list[str | None] = [constant(one, "mask") for one in args[1:]]
    if any(one is not None and (len(one) != 1 or ord(one) > _LAST_SMALL) for one in masks):
        raise LeftToSparkError("mask(…) by several characters")
    words = [Typed(Literal(one, STRING), STRING) for one in (*masks, *_MASKS[len(masks) :])]
    return call("mask", [cast(args[0], STRING), *words], STRING)


def elt(args: Sequence[Typed]) -> Typed:
    """`elt`, of texts or of bytes. Raises LeftToSparkError."""
    if len(args) < 2 or any(one.may_fail for one in args[1:]):
        raise LeftToSparkError("elt(…)")
    kind = BINARY if all(one.type == BINARY for one in args[1:]) else STRING
    values = [implicit("elt", one, kind) for one in args[1:]]
    return call("elt", [implicit("elt", args[0], INT), *values], kind, fails=True)


def valid_text(args: Sequence[Typed]) -> Typed:
    """`validate_utf8` and the like: every text of the engine is one. Raises LeftToSparkError."""
    if len(args) != 1 or args[0].type not in (STRING, VOID):
        raise LeftToSparkError("bytes that may be a text")
    return cast(args[0], STRING)


def is_valid(args: Sequence[Typed]) -> Typed:
    """`is_valid_utf8`, true of every text. Raises LeftToSparkError."""
    text = valid_text(args)
    return Typed(folded(Compare("=", text.expr, text.expr), BOOLEAN), BOOLEAN)


def padded(name: str) -> Callable[[Sequence[Typed]], Typed]:
    """`lpad` and `rpad`, of bytes too."""

    def build(args: Sequence[Typed]) -> Typed:
        if not args or args[0].type != BINARY:
            return applied(name, args)
        length = implicit(name, args[1], INT) if len(args) > 1 else args[0]
        if (
            len(args) not in {2, 3}
            or not isinstance(length.expr, Literal)
            or (len(args) == 3 and (args[2].type != BINARY or not isinstance(args[2].expr, Literal)))
        ):
            raise LeftToSparkError(f"{name}(binary) with computed arguments")
        if isinstance(length.expr.value, int) and length.expr.value > _LAST_SMALL:
            raise LeftToSparkError(f"{name}(…) of long texts")
        return call(f"{name}_bytes", [args[0], length, *args[2:]], BINARY)

    return build
