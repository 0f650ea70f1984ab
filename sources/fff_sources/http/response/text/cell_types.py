"""The types that texts have: a text is of a type when it can be read so and loses nothing by it.

A leading zero, or a digit that a double has not, would be lost, so that such texts stay texts.
"""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.schema import ArrowType, spark_type
from fff_sources.http.response.values import is_beyond

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
    all_hold = _hold(cells.filter(alike), kind)
    return [
        row
        for row, (is_alike, text) in enumerate(zip(alike.to_pylist(), cells.to_pylist(), strict=True))
        if is_alike is False or (is_alike and not all_hold and not _hold(pa.array([text]), kind))
    ]


def _look_like(values: Array, kind: str) -> Array:
    return pc.match_substring_regex(values, _PATTERNS[kind])


def _hold(values: Array, kind: str) -> bool:
    """Whether there are the values that texts look like: no 31st of February, no number beyond what holds it."""
    if kind == "double":
        return _all_same(values)
    try:
        pc.cast(values, _CASTS.get(kind, pa.string()))
    except pa.ArrowInvalid:
        return False
    return True


def _all_same(numbers: Array) -> bool:
    """Whether the shortest texts of the doubles that these numbers become have the same digits.

    Then they are the same numbers: the texts of a double are as large as it is.
    """
    doubles = pc.cast(numbers, pa.float64())
    if is_beyond(doubles, numbers):
        return False
    in_doubt = pc.or_(pc.greater(pc.binary_length(numbers), _SHORT), pc.less(pc.abs(doubles), _SMALL))
    numbers, written = numbers.filter(in_doubt), pc.cast(doubles.filter(in_doubt), pa.string())
    other = pc.not_equal(numbers, written)  # 0.10 and 1E5, too, which are 0.1 and 100000
    same = pc.equal(_digits(numbers.filter(other)), _digits(written.filter(other)))
    return pc.all(same).as_py() is not False


def _digits(numbers: Array) -> Array:
    return pc.utf8_trim(pc.replace_substring_regex(numbers, _NO_DIGIT, ""), "0")
