"""Arguments that have to be constants, or of one type with others: of functions of windows, `range`, `stack` and `json_tuple`.

A table of types (`fff.sql.scalars.argument_types`) does not say this: which value stands there, or what beside it, decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from itertools import pairwise

from fff.errors import QueryError
from fff.sql.binder.names import is_call
from fff.sql.binder.scopes import QueryTree
from fff.sql.refusals.types.expressions import Expressions
from fff.sql.refusals.types.kinds import NULL, UNKNOWN, WORDS
from fff.sql.refusals.types.references import Part
from fff.sql.syntax.function_arities import IN_FROM
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS, arguments_of
from fff.sql.syntax.statement import Statement, TokenType, exp, identifier_span
from fff.structs import lazy_pattern

#: What a text without columns comes to; None where that is not known.
Fold = Callable[[str], object]
#: Texts that are no numbers; what Java takes for one of any form has a digit, or is one of two words.
_WORDS = lazy_pattern(r"(?!\s*(?:nan|inf|infinity)\s*$)[A-Za-z ]+", re.IGNORECASE)
_SHARE, _COUNT = (0, 1), (1, 2**31 - 1)
_WHAT = {"i": "a whole number", "ilS": "an interval, as '1 hour',"}
_Constant = tuple[int, str, float | None, float | None, bool]
#: By function: the place of an argument that is a constant, the kinds that it may be of ("" leaves them open), the least
#: and the greatest value, and whether it may be NULL.
_CONSTANT: dict[str, tuple[_Constant, ...]] = {
    **dict.fromkeys(("lag", "lead"), ((1, "i", None, None, False),)),
    **dict.fromkeys(("ntile", "stack"), ((0, "i", *_COUNT, False),)),
    "nth_value": ((1, "yhilfdmsS", 1, None, False),),
    "percentile": ((1, "", *_SHARE, False),),
    **dict.fromkeys(("percentile_cont", "percentile_disc"), ((0, "", *_SHARE, False),)),
    **dict.fromkeys(("approx_percentile", "percentile_approx"), ((1, "", *_SHARE, False), (2, "yhil", *_COUNT, False))),
    "approx_count_distinct": ((1, "dm", None, 0.392, False),),
    "window": tuple((place, "ilS", None, None, False) for place in (1, 2, 3)),
    "histogram_numeric": ((1, "", 2, _COUNT[1], False),),
    "count_min_sketch": ((1, "d", None, None, False), (2, "d", None, 1, False), (3, "", None, None, False)),
    "randstr": ((0, "", 0, None, True),),
    "uniform": (*((place, "yhilfdmv", None, None, True) for place in (0, 1)), (2, "yhilv", None, None, True)),
    **dict.fromkeys(
        ("round", "bround", "ceil", "ceiling", "floor", "to_number", "try_to_number", "from_json", "from_csv", "listagg", "string_agg"),
        ((1, "", None, None, True),),
    ),
    **dict.fromkeys(
        ("rand", "randn", "random", "schema_of_json", "schema_of_csv", "date_part", "datepart"),
        ((0, "", None, None, True),),
    ),
}  # fmt: skip
#: Functions that are nothing without `WITHIN GROUP (ORDER BY …)`.
_ORDERED = frozenset({"percentile_cont", "percentile_disc"})
#: Functions whose second argument is TRUE or FALSE.
_FLAGGED = frozenset({"first", "first_value", "last", "last_value"})
_IN_FROM = frozenset(IN_FROM.split())
_TRUTHS = frozenset({TokenType.TRUE, TokenType.FALSE})
#: What `range` takes: whole numbers, and what is cast to them.
_NUMBERS = frozenset("yhilfdmsS")
_MOST_OF_RANGE = 4
#: Texts and intervals, which `lag` and `lead` bring together as nothing else does.
_SHIFTED = [{text, interval} for text in "sS" for interval in "DM"]


def check_constants(statement: Statement, expressions: Expressions, at: int, fold: Fold) -> None:
    """Refuse the arguments of a call, by the token of its name; `fold` computes constants. Raises QueryError."""
    name, spans = statement.tokens[at].text.lower(), arguments_of(statement, at)
    if name in _ORDERED:
        if spans is not None:
            raise statement.error(f"{name} needs WITHIN GROUP (ORDER BY …)", statement.span(at, at + 1))
        spans = arguments_of(statement, at, within=True)
    if not spans:
        return
    parts = [expressions.whole(*one) for one in spans]
    value = partial(_value, statement, expressions, fold)
    for place, kinds, least, most, is_null in _CONSTANT.get(name, ()):
        if place < len(parts):
            part = parts[place]
            if expressions.names_columns(*part[1:]):
                raise _refused(statement, part, f"{name} takes a constant here")
            _check_kind(statement, name, part, kinds, is_null=is_null)
            if (least, most) != (None, None):
                _check_bounds(statement, name, part, value(*part[1:]), (least, most))
    beside = {part[0] for part in parts[::2]}
    if name in {"lag", "lead"} and len(beside) > 1 and beside not in _SHIFTED:
        expressions.alike("coalesce", name, [parts[0], parts[2]])
    elif name in _FLAGGED and len(parts) == 2:
        _check_flag(statement, name, parts[1])
    elif name == "stack":
        _check_stacked(statement, parts, value(*parts[0][1:]))
    elif name == "json_tuple":
        for part in parts:
            if part[0] not in {UNKNOWN, "s", "S"}:
                raise _refused(statement, part, f"json_tuple takes texts, and this is of type {_word(part)}")


def check_table_functions(tree: QueryTree, expressions: Expressions, fold: Fold) -> None:
    """Refuse the arguments of functions in FROM. Raises QueryError."""
    statement = tree.statement
    for source in tree.sources:
        call = source.node.this
        span = identifier_span(call) if isinstance(call, exp.Func) else None
        if span is None or is_call(source.table, source.alias):
            continue
        at = statement.token_at(span.start)
        name = statement.tokens[at].text.lower()
        if name in SPARK_FUNCTIONS and name not in _IN_FROM:
            message = f"[NOT_A_TABLE_FUNCTION] {name} gives one value, and FROM takes what makes rows"
            raise statement.error(message, span)
        expressions.call(at)
        if name == "range":
            _check_range(statement, expressions, at, fold)


def _check_kind(statement: Statement, name: str, part: Part, kinds: str, *, is_null: bool) -> None:
    kind = part[0]
    what = _WHAT.get(kinds, "a number")
    if kinds and kind != UNKNOWN and kind not in kinds:
        raise _refused(statement, part, f"{name} takes {what} here, and this is of type {_word(part)}")
    if kind == NULL and not is_null:
        raise _refused(statement, part, f"{name} takes no NULL here")


def _check_bounds(
    statement: Statement, name: str, part: Part, value: object, bounds: tuple[float | None, float | None]
) -> None:
    least, most = bounds
    if bounds == _SHARE and isinstance(value, str) and _WORDS.fullmatch(value):
        raise _refused(
            statement, part, f"[CAST_INVALID_INPUT] {name} takes a number here, and '{value}' is none"
        )
    low, high = -math.inf if least is None else least, math.inf if most is None else most
    for number in map(_number, value if isinstance(value, list) else [value]):
        if number is not None and (number < low or number > high):  # NaN is neither
            range_ = f"from {low} on" if high >= _COUNT[1] else f"of at most {high}"
            range_ = f"from {low} to {high}" if bounds == _SHARE else range_
            raise _refused(statement, part, f"{name} takes a number {range_} here")


def _value(statement: Statement, expressions: Expressions, fold: Fold, first: int, end: int) -> object:
    """What tokens without columns come to; None where that is not known."""
    text = statement.text(first, end)
    return None if expressions.names_columns(first, end) else int(text) if text.isdecimal() else fold(text)


def _number(value: object) -> float | None:
    """A constant as a number, where it is one or a text of one."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _check_flag(statement: Statement, name: str, part: Part) -> None:
    words = [one for one in statement.tokens[part[1] : part[2]] if one.text not in "()"]
    kind = words[0].token_type if len(words) == 1 else None
    if kind not in _TRUTHS and (part[0] != UNKNOWN or kind is TokenType.VAR):
        raise _refused(statement, part, f"the second argument of {name} is TRUE or FALSE")


def _check_stacked(statement: Statement, parts: list[Part], rows: object) -> None:
    if not isinstance(rows, int):
        return
    width = -(-(len(parts) - 1) // rows)
    for column in range(width):
        known = [one for one in parts[1 + column :: width] if one[0] not in {UNKNOWN, NULL}]
        for one, other in pairwise(known):
            if one[0] != other[0] and {one[0], other[0]} != {"s", "S"}:
                raise _refused(
                    statement,
                    other,
                    f"stack would have {_word(one)} and {_word(other)} in column {column + 1}",
                )


def _check_range(statement: Statement, expressions: Expressions, at: int, fold: Fold) -> None:
    spans = arguments_of(statement, at)
    if spans is None:
        return
    if not 0 < len(spans) <= _MOST_OF_RANGE:
        raise QueryError(
            f"range takes 1 to {_MOST_OF_RANGE} arguments, not {len(spans)}",
            sql=statement.sql,
            span=statement.span(at, at + 1),
        )
    for place, span in enumerate(spans):
        part = expressions.whole(*span)
        if part[0] != UNKNOWN and part[0] not in _NUMBERS:
            raise _refused(statement, part, f"range takes whole numbers, and this is of type {_word(part)}")
        if expressions.names_columns(*span):
            raise _refused(statement, part, "range takes constants")
        if place == 2 and _value(statement, expressions, fold, *span) == 0:
            raise _refused(statement, part, "the step of range cannot be 0")


def _word(part: Part) -> str:
    return WORDS.get(part[0], "NULL")


def _refused(statement: Statement, part: Part, message: str) -> QueryError:
    return QueryError(
        f"[DATATYPE_MISMATCH] {message}", sql=statement.sql, span=statement.span(part[1], part[2])
    )
