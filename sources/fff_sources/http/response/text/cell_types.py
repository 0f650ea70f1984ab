"""The types that texts have: a text is of a type when it can be read so and loses nothing by it.

A leading zero, or a digit that a double has not, would be lost, so that such texts stay texts.
"""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.schema import ArrowType, spark_type

Array: TypeAlias = pa.Array

#: Tried in this order; a column has the first type whose pattern all its values match.
_PATTERNS = {
    "bigint": r"^-?(?:0|[1-9]\d{0,18})$",
    "double": r"^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$|^(?:NaN|nan|[+-]?[Ii]nf(?:inity)?)$",
    "boolean": r"^(?:true|false|True|False|TRUE|FALSE)$",
    "date": r"^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$",
    "timestamp": r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:?\d\d)$",
    "timestamp_ntz": r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?$",
}
TYPES = tuple(_PATTERNS)
_CASTS = {
    "bigint": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}  # what a pattern alone does not prove
#: Characters in which a double loses no digit, unless it is as small as this.
_SHORT, _SMALL = 15, 1e-300
#: What of a number is no digit of it: where its point is told by what its value is near.
_NO_DIGIT = r"[eE].*$|[-.]"


def type_of_texts(values: Array) -> str:
    """The type that texts have in common; `string` where there is none, or no value."""
    return next((kind for kind in TYPES if len(values) and all_are(values, kind)), "string")


def all_are(values: Array, kind: str) -> bool:
    """Whether texts, none of them NULL, are all of a type."""
    return pc.all(_look_like(values, kind)).as_py() is not False and _hold(values, kind)


def strangers(cells: Array, arrow: ArrowType) -> list[int]:
    """The rows whose texts are not of a type that others were found to have. NULL is of any."""
    kind = spark_type(arrow)
    if kind not in _PATTERNS or all_are(cells.drop_null(), kind):
        return []
    alike = _look_like(cells, kind)
    places = pc.indices_nonzero(alike)
    lost = places.take(_lossy(cells.take(places), kind))
    return sorted(pc.indices_nonzero(pc.invert(alike)).to_pylist() + lost.to_pylist())


def _look_like(values: Array, kind: str) -> Array:
    return pc.match_substring_regex(values, _PATTERNS[kind])


def _hold(values: Array, kind: str) -> bool:
    """Whether there are the values that texts look like: no 31st of February, no number beyond what holds it."""
    if kind == "double":
        return not len(_other_numbers(values))
    try:
        pc.cast(values, _CASTS.get(kind, pa.string()))
    except pa.ArrowInvalid:
        return False
    return True


def _lossy(values: Array, kind: str) -> Array:
    """Where texts that look like a type have no value of it."""
    return _other_numbers(values) if kind == "double" else pa.array(_not_held(values, kind, 0), pa.uint64())


def _not_held(values: Array, kind: str, start: int) -> list[int]:
    """By halves: mostly few are none, and of the others many are read at once."""
    if _hold(values, kind):
        return []
    half = len(values) // 2
    if not half:
        return [start]
    return _not_held(values[:half], kind, start) + _not_held(values[half:], kind, start + half)


def _other_numbers(numbers: Array) -> Array:
    """Where the shortest text of the double that a number becomes has other digits.

    Else it is the same number: the text of a double is as large as it is.
    """
    doubles = pc.cast(numbers, pa.float64())
    is_odd = pc.or_(pc.less(pc.abs(doubles), _SMALL), pc.is_inf(doubles))
    places = pc.indices_nonzero(pc.or_(pc.greater(pc.binary_length(numbers), _SHORT), is_odd))
    numbers, written = numbers.take(places), pc.cast(doubles.take(places), pa.string())
    other = pc.not_equal(numbers, written)  # 0.10 and 1E5, too, which are 0.1 and 100000
    places, numbers, written = places.filter(other), numbers.filter(other), written.filter(other)
    differ = pc.not_equal(_digits(numbers), _digits(written))
    return places.filter(pc.and_(differ, pc.match_substring_regex(numbers, r"\d")))  # Infinity is inf


def _digits(numbers: Array) -> Array:
    return pc.utf8_trim(pc.replace_substring_regex(numbers, _NO_DIGIT, ""), "0")
