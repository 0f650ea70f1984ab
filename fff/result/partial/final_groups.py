"""Which of the groups on display can change no more."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from fff.structs import Struct


class Settled(Struct, frozen=True):
    """The values of the grouping columns that rows to come may have, and where a result shows those columns."""

    places: tuple[int, ...]  # of the result's columns, parallel to the columns of `open_values`
    open_values: pa.Table  # each combination once; without columns, nothing more can come

    def of(self, shown: pa.Table) -> tuple[bool, ...]:
        """For each row of a result whether it can change no more."""
        if not self.places:
            return (True,) * len(shown)
        columns = [shown.column(place) for place in self.places]
        candidates = self.open_values
        for place, column in enumerate(columns):
            # Only few groups are on display: what is open beside them need not be looked at one by one.
            values = candidates.column(place)
            if values.type != column.type:
                return (False,) * len(shown)
            if not pa.types.is_floating(values.type):  # NaN and -0.0 are left to the comparison below
                candidates = candidates.filter(pc.is_in(values, value_set=column.combine_chunks()))
        still_open = set(_keys(candidates.columns))
        return tuple(key not in still_open for key in _keys(columns))


def _keys(columns: list[pa.ChunkedArray]) -> list[tuple[object, ...]]:
    values = [[_plain(value) for value in column.to_pylist()] for column in columns]
    return list(zip(*values, strict=True))


def _plain(value: object) -> object:
    """A value that equals itself: one NaN, and -0.0 as 0.0."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0  # noqa: PLR0124 - only NaN differs from itself
    return value
