"""Kinds of types, a letter each, and what Spark says of functions and operators over them, as it was asked."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fff.schema import ArrowType, result_field
from fff.sql.scalars.argument_types import ARGUMENT_TYPES, ON_THE_RIGHT, OPERATORS
from fff.sql.syntax.function_arities import ARITIES

#: As Spark's names of types begin. `s` is of columns, `S` of constants, which Spark casts to more types.
LETTERS = (
    *(("boolean", "b"), ("tinyint", "y"), ("smallint", "h"), ("int", "i"), ("bigint", "l"), ("float", "f")),
    *(("double", "d"), ("decimal(", "m"), ("string", "s"), ("binary", "x"), ("date", "t")),
    *(("timestamp", "T"), ("timestamp_ntz", "n"), ("array<", "a"), ("map<", "p"), ("struct<", "r")),
)
WORDS = {letter: name.rstrip("(<") for name, letter in LETTERS} | {
    "S": "string",
    "D": "interval day to second",
    "M": "interval year to month",
}
#: Functions that take any number of arguments: what goes for the last one that was asked about goes for more.
_ANY_NUMBER = frozenset(
    {"arrays_zip", "map_concat"} | {one.split(":")[0] for one in ARITIES.split() if one.endswith("+")}
)
_MONTHS = frozenset({"year", "month"})
_DAYS = frozenset({"week", "day", "hour", "minute", "second", "millisecond", "microsecond"})
#: In the place of arguments, where there are none.
NOTHING = "-"
#: What is no type: refused, one that is not known, and that of NULL.
REFUSED, UNKNOWN, NULL = "!", "?", "v"


def letter_of(name: str) -> str | None:
    """The letter of a type as Spark writes it, if there is one."""
    if name.startswith("interval "):
        return interval_of(name.split()[1])
    for start, letter in LETTERS:
        if name == start or (start[-1] in "(<" and name.startswith(start)):
            return letter
    return None


def interval_of(unit: str) -> str | None:
    """The letter of the intervals that a unit of time, the first of theirs, is one of."""
    word = unit.lower().rstrip("s")
    return "M" if word in _MONTHS else "D" if word in _DAYS else None


def _read() -> tuple[dict[tuple[str, int], list[str]], dict[tuple[str, int], str]]:
    refused, values = {}, {}
    for entry in ARGUMENT_TYPES.split():
        name, places, value = entry.split(":")
        call = name, 0 if places == NOTHING else places.count("/") + 1
        refused[call] = places.split("/")[: call[1]]
        if value != "?":
            values[call] = value
    for outer in (
        "",
        "_outer",
    ):  # which give several columns, so that the type of their values is not asked for
        [kinds] = refused[f"explode{outer}", 1]
        refused[f"posexplode{outer}", 1], refused[f"inline{outer}", 1] = [kinds], [f"{kinds}p"]
    return refused, values


#: By a function's name and its number of arguments: the kinds that are refused in each place, and that of its values.
REFUSED_ARGUMENTS, VALUES = _read()
_OUTCOMES = {(form, left): given for form, left, given in (entry.split(":") for entry in OPERATORS.split())}


def refused_arguments(name: str, count: int) -> Sequence[str]:
    """The kinds that a function refuses in each place, called with so many arguments."""
    if (name, count) in REFUSED_ARGUMENTS or name not in _ANY_NUMBER:
        return REFUSED_ARGUMENTS.get((name, count), ())
    places = next(
        (REFUSED_ARGUMENTS[name, some] for some in range(count, 1, -1) if (name, some) in REFUSED_ARGUMENTS),
        [],
    )
    return [*places, *places[-1:] * (count - len(places))]


def outcome(form: str, left: str, right: str = "") -> str:
    """The kind of what a form makes of one or two kinds; or that it is refused or not known."""
    if {left, right} & {UNKNOWN, NULL}:
        return UNKNOWN
    outcomes = _OUTCOMES[form, left]
    return outcomes[ON_THE_RIGHT.index(right)] if right else outcomes


def taken(form: str, left: str | None, right: str | None) -> bool:
    """Whether a form takes a kind on one side beside any other."""
    return any(outcome(form, left or other, right or other) != REFUSED for other in ON_THE_RIGHT)


#: Pairs of kinds that are never compared.
INCOMPARABLE = frozenset(
    "".join(sorted(left + right))
    for form, left in _OUTCOMES
    if form == "="
    for right in ON_THE_RIGHT
    if outcome(form, left, right) == REFUSED
)

#: Types of the kinds that are not nested: of decimals and texts one of many.
ALONE: dict[str, ArrowType] = {
    "b": pa.bool_(),
    "y": pa.int8(),
    "h": pa.int16(),
    "i": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "m": pa.decimal128(38, 18),
    "s": pa.string(),
    "S": pa.string(),
    "x": pa.binary(),
    "t": pa.date32(),
    "T": pa.timestamp("us", tz="UTC"),
    "n": pa.timestamp("us"),
    "D": pa.duration("us"),
    "M": pa.month_day_nano_interval(),
}
#: How parts of arrays and structs come together where these do, if not in the same way.
_INSIDE = {"=": "==", "<": "==", "||": "coalesce"}
#: Forms that bring structs of fields of other names together, where these are of the same types.
_UNNAMED = frozenset({"=", "<", "==", "in", "union"})
#: Kinds of what lambdas give that Spark does not take.
REFUSED_BY_LAMBDAS = {
    **dict.fromkeys(("filter", "exists", "forall", "map_filter"), "yhilfdmsSxtTnaprDM"),
    "array_sort": "byhlfdmsSxtTnaprDM",
    "transform_keys": "p",
}


def kind_of(kind: ArrowType | None) -> str:
    """The letter of a type."""
    return UNKNOWN if kind is None else letter_of(result_field("", kind).type) or UNKNOWN


def _differ(one: ArrowType, other: ArrowType) -> bool:
    """Whether two types are of different kinds, as far as they are known."""
    kinds = {kind_of(one), kind_of(other)}
    return len(kinds) > 1 and UNKNOWN not in kinds


def are_apart(form: str, one: ArrowType | None, other: ArrowType | None) -> bool:
    """Whether a form brings two types together in no case, those of parts among them; `alike`: without rounding, `==`: so, too, and whatever the fields of structs are called.

    A field of a struct has no name where that is not known, and is of the type of NULL where that is not.
    """
    if one is None or other is None:
        return False
    inside = _INSIDE.get(form, form)
    if pa.types.is_list(one) and pa.types.is_list(other):
        return are_apart(inside, one.value_type, other.value_type)
    if pa.types.is_map(one) and pa.types.is_map(other) and form in {"coalesce", "union"}:
        return are_apart(form, one.key_type, other.key_type) or are_apart(
            form, one.item_type, other.item_type
        )
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        if len(one) != len(other):
            return True
        pairs = list(zip(one, other, strict=True))
        named = all(
            left.name.lower() == right.name.lower() or not left.name or not right.name
            for left, right in pairs
        )
        if not named and (
            form not in _UNNAMED or any(_differ(left.type, right.type) for left, right in pairs)
        ):
            return True
        return any(are_apart(inside, left.type, right.type) for left, right in pairs)
    kinds = kind_of(one) + kind_of(other)
    if form not in {"alike", "=="}:
        return outcome("coalesce" if form == "union" else form, *kinds) == REFUSED
    # Maps are alike where their types are, which is Spark's to say.
    near = "fdyhil" if form == "==" else "fd"  # what holds the values of decimals too, or is held by them
    return sorted(kinds) in [sorted(f"m{other}") for other in near] or (
        kinds != "pp" and outcome("greatest", *kinds) == REFUSED
    )
