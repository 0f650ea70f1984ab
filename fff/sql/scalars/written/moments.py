"""Moments by patterns, of parts, and by units of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from fff.dataflow.kernels.written import clock_patterns
from fff.dataflow.plan.expressions import IsNull, Literal
from fff.schema import ArrowType
from fff.sql.scalars import coercion, words
from fff.sql.scalars.coercion import BOOLEAN, DATE, INT, LONG, NAIVE, STRING, TIMESTAMP, cast
from fff.sql.scalars.functions import implicit
from fff.sql.scalars.typed import LeftToSparkError, Typed, call
from fff.sql.syntax.statement import Node, Statement, TokenType, exp, time_pattern

Value = Callable[[Node], Typed]

#: Nodes whose pattern the parser shows in another form.
PATTERNED = (exp.TimeToStr, exp.StrToTime, exp.StrToUnix, exp.UnixToStr)
#: Nodes of units of time.
OF_UNITS = (exp.TimestampAdd, exp.TimestampDiff)
_USUAL = "yyyy-MM-dd HH:mm:ss"
_UNITS = frozenset(
    ["MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]
)
_SECONDS = pa.decimal128(16, 6)
_PARTS = 6


def patterned(statement: Statement, node: Node, value: Value) -> Typed:
    """A call with a pattern, as it stands in the text. Raises LeftToSparkError."""
    shown = node.args.get("format")
    if isinstance(node, exp.StrToUnix | exp.UnixToStr) and (
        shown is None or (shown.is_string and shown.name == words.USUAL_FORMAT)
    ):
        return _seconds(node, value)
    pattern = _written(statement, shown)
    if isinstance(node, exp.TimeToStr):
        inner = node.this.this if isinstance(node.this, exp.TimeStrToTime) else node.this
        return formatted(value(inner), pattern)
    if isinstance(node, exp.UnixToStr):
        return _shown("from_unixtime", implicit("from_unixtime", value(node.this), LONG), pattern)
    if isinstance(node, exp.StrToUnix):
        return parsed("to_unix", value(node.this), pattern, LONG)
    if isinstance(node, exp.TsOrDsToDate):
        return cast(parsed("to_day", value(node.this), pattern, TIMESTAMP), DATE)
    return parsed("to_timestamp", value(node.this), pattern, TIMESTAMP)


def formatted(moment: Typed, pattern: Typed) -> Typed:
    """`date_format`, of a constant pattern. Raises LeftToSparkError."""
    return _shown("date_format", _moment(moment, TIMESTAMP), pattern)


def _shown(name: str, count: Typed, pattern: Typed) -> Typed:
    written = _constant(pattern)
    if not clock_patterns.writable(written):
        raise LeftToSparkError("date_format(…) with this pattern")
    return call(name, [count, pattern], STRING)


def parsed(name: str, text: Typed, pattern: Typed, kind: ArrowType) -> Typed:
    """A moment, or its seconds since 1970, read from a text by a constant pattern. Raises LeftToSparkError."""
    written = _constant(pattern)
    if text.type not in (STRING, coercion.VOID):
        raise LeftToSparkError(f"{name}({coercion.type_name(text.type)}) with a pattern")
    if not clock_patterns.readable(written) or (kind == NAIVE and "X" in written):
        raise LeftToSparkError("a moment read by this pattern")
    return call(name, [cast(text, STRING), pattern], kind, fails=True)


def _constant(pattern: Typed) -> str:
    if not isinstance(pattern.expr, Literal) or not isinstance(pattern.expr.value, str):
        raise LeftToSparkError("a computed pattern")
    return pattern.expr.value


def _written(statement: Statement, shown: Node | None) -> Typed:
    """A pattern as it stands in the text: the parser shows another one."""
    if shown is None:
        return _text(_USUAL)
    texts = {
        token.text
        for token in statement.tokens
        if token.token_type is TokenType.STRING
        and shown.is_string
        and shown.name in {time_pattern(token.text), token.text}
    }
    if len(texts) != 1:
        raise LeftToSparkError("a pattern that is not written out")
    return _text(texts.pop())


def _text(written: str) -> Typed:
    return Typed(Literal(written, STRING), STRING)


def _seconds(node: Node, value: Value) -> Typed:
    """Seconds since 1970 of a moment, and such seconds as a text, without a pattern."""
    one = value(node.this)
    if isinstance(node, exp.UnixToStr):
        return _shown("from_unixtime", implicit("from_unixtime", one, LONG), _text(_USUAL))
    if one.type == STRING:
        return parsed("to_unix", one, _text(_USUAL), LONG)
    return call("unix_timestamp", [implicit("unix_timestamp", one, TIMESTAMP)], LONG)


def to_moment(name: str, kind: ArrowType) -> Callable[[Sequence[Typed]], Typed]:
    """`to_timestamp_ntz` and the like: a cast, or read by a pattern."""
    tries = name.startswith("try_")

    def build(args: Sequence[Typed]) -> Typed:
        if len(args) == 2:
            return parsed("try_to_timestamp" if tries else "to_timestamp", args[0], args[1], kind)
        if len(args) != 1 or (args[0].type == STRING and not isinstance(args[0].expr, Literal)):
            raise LeftToSparkError(f"{name}(…) of texts")
        if args[0].type not in (STRING, coercion.VOID, DATE, TIMESTAMP, NAIVE):
            raise LeftToSparkError(f"{name}({coercion.type_name(args[0].type)})")
        return cast(args[0], kind, tries=tries)

    return build


def to_day(args: Sequence[Typed]) -> Typed:
    """`try_to_date`. Raises LeftToSparkError."""
    if len(args) == 2:
        return cast(parsed("try_to_timestamp", args[0], args[1], TIMESTAMP), DATE)
    if len(args) != 1 or args[0].type != STRING:
        raise LeftToSparkError("try_to_date(…)")
    return cast(args[0], DATE, tries=True)


def made(name: str, kind: ArrowType) -> Callable[[Sequence[Typed]], Typed]:
    """`make_timestamp` and the like, of six numbers."""
    tries = name.startswith("try_")

    def build(args: Sequence[Typed]) -> Typed:
        if len(args) != _PARTS:
            raise LeftToSparkError(f"{name}(…) with {len(args)} arguments")
        whole = [implicit(name, arg, INT) for arg in args[:5]]
        seconds = args[5]
        if not (
            coercion.is_decimal(seconds.type) or seconds.type in (INT, pa.int8(), pa.int16(), coercion.VOID)
        ):
            raise LeftToSparkError(f"{name}(…) with seconds of another type")
        second = cast(seconds, _SECONDS)
        if second.may_fail:
            raise LeftToSparkError(f"{name}(…) with seconds of many digits")
        kernel = "try_make_timestamp" if tries else "make_timestamp"
        return call(kernel, [*whole, second], kind, fails=not tries)

    return build


def of_units(statement: Statement, node: Node, value: Value) -> Typed:
    """`timestampadd`, `timestampdiff` and their other names, with a unit of time. Raises LeftToSparkError."""
    unit = node.args["unit"].name.upper() if node.args.get("unit") is not None else ""
    spelled = any(
        token.text.upper() == unit and token.token_type is not TokenType.STRING for token in statement.tokens
    )
    if unit not in _UNITS or not spelled:
        raise LeftToSparkError("this unit of time")
    named = _text(unit)
    if isinstance(node, exp.TimestampAdd):
        moment, count = value(node.this), value(node.expression)
        kind = NAIVE if moment.type == NAIVE else TIMESTAMP
        moment, count = _moment(moment, kind), implicit("timestampadd", count, INT)
        added = call("moment_added", [moment, count, named], kind, fails=True)
        if not moment.may_fail and not count.may_fail:
            return added
        # Spark begins with the count, and where that is NULL asks for no moment.
        no_count, none = Typed(IsNull(count.expr), BOOLEAN), Typed(Literal(None, kind), kind)
        return call("case", [no_count, none, added], kind)
    end, start = (_moment(value(_unwrapped(one)), TIMESTAMP) for one in (node.this, node.expression))
    return call("moments_apart", [start, end, named], LONG, fails=True)


def _unwrapped(node: Node) -> Node:
    """What is made no date of: the parser says so of all differences."""
    return node.this if isinstance(node, exp.TsOrDsToDate) and node.args.get("safe") is None else node


def _moment(one: Typed, kind: ArrowType) -> Typed:
    if one.type == STRING and not isinstance(one.expr, Literal):
        raise LeftToSparkError("a text that is a moment")
    return implicit("a moment", one, kind) if one.type != STRING else cast(one, kind)


def part_of_second(moment: Typed) -> Typed:
    """`extract(SECOND FROM …)`, with a fraction. Raises LeftToSparkError."""
    return call("second_exact", [implicit("extract", moment, TIMESTAMP)], pa.decimal128(8, 6))
