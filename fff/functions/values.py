"""Values of Python as Arrow has them, none changed on the way: Arrow by itself cuts what a type has no room for."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

#: pyarrow ships no types.
ArrowArray: TypeAlias = pa.Array
ArrowType: TypeAlias = pa.DataType


#: Types of Python whose every value Arrow keeps in a type, or refuses: told in no time of many values.
_KEPT: dict[ArrowType, set[type]] = {
    pa.int64(): {int, type(None)},
    pa.float64(): {float, type(None)},
    pa.bool_(): {bool, type(None)},
    pa.string(): {str, type(None)},
    pa.date32(): {dt.date, type(None)},
}


def array_of(values: Sequence[object], kind: ArrowType) -> ArrowArray:
    """The values as a column of a type.

    Raises ArrowException, TypeError, ValueError or OverflowError where one is none of it.
    """
    made = pa.array(values, kind)
    for value, became in changed(values, made):
        raise ValueError(f"{value!r} would become {became!r}")
    return made


def changed(values: Collection[object], made: ArrowArray) -> Iterable[tuple[object, object]]:
    """Values that are others in the array that was made of them, each with what it became."""
    if (kept := _KEPT.get(made.type)) is not None and set(map(type, values)) <= kept:
        return
    for value, became in zip(values, made.to_pylist(), strict=True):
        if not _same(value, became, made.type):
            yield value, became


def _same(value: Any, became: Any, kind: ArrowType) -> bool:
    value = value.as_py() if isinstance(value, pa.Scalar) else value
    if became is None:
        return True  # NULL, by whatever mark
    if isinstance(value, bool | np.bool_) != isinstance(became, bool):
        return False
    if pa.types.is_floating(kind):  # a narrow one rounds, as it does in SQL
        return isinstance(value, Real) and (math.isfinite(became) or not math.isfinite(value))
    if pa.types.is_date(kind) and isinstance(value, dt.datetime):
        return value.date() == became and value.time() == dt.time() and not getattr(value, "nanosecond", 0)
    if isinstance(value, bytes | str) and isinstance(became, bytes | str):  # the same text, in UTF-8
        value, became = (one.encode() if isinstance(one, str) else one for one in (value, became))
    if pa.types.is_nested(kind):
        return _same_within(value, became, kind)
    if isinstance(value, dt.datetime) and value.tzinfo is None and getattr(kind, "tz", None) is not None:
        value = value.replace(tzinfo=dt.UTC)  # the time zone of every session
    return bool(value == became)


def _same_within(value: Any, became: Any, kind: ArrowType) -> bool:
    if pa.types.is_struct(kind):
        names = [one[0] if isinstance(one, tuple) and len(one) == 2 else None for one in value]
        if names and names == [one.name for one in kind]:  # as pairs
            value = dict(value)
        if isinstance(value, Mapping):
            known = value.keys() <= became.keys()
            return known and all(_same(value.get(one.name), became[one.name], one.type) for one in kind)
        pairs = zip(value, became.values(), (one.type for one in kind), strict=True)
        return all(_same(*pair) for pair in pairs)
    if pa.types.is_map(kind):
        entries = value.items() if isinstance(value, Mapping) else value
        return all(
            _same(key, other_key, kind.key_type) and _same(item, other, kind.item_type)
            for (key, item), (other_key, other) in zip(entries, became, strict=True)
        )
    without_order = isinstance(value, set | frozenset | Mapping | str | bytes)
    return not without_order and all(
        _same(one, other, kind.value_type) for one, other in zip(value, became, strict=True)
    )
