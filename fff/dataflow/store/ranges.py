"""Keys that come in order: as long as they do, none of them can come twice, and nothing needs to be hashed or kept.

Sources mostly give rows by their primary key, rising or falling, page after page, if not the pages one after another.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

#: Beyond, looking a range up costs more than hashing.
_MOST_RANGES = 4096


class KeyRanges:
    """The ranges of keys that pages have covered, none touching another."""

    def __init__(self) -> None:
        self._lows: list[Any] = []  # rising; Invariant: lows[i] <= highs[i] < lows[i + 1]
        self._highs: list[Any] = []

    def apart(self, keys: pa.Array) -> bool:
        """Whether no key of a page stands there twice or has come before, as its order alone tells; if so they have come."""
        if keys.null_count or len(self._lows) >= _MOST_RANGES:
            return False
        before, after = keys[:-1], keys[1:]
        low, high = keys[0].as_py(), keys[-1].as_py()
        if high < low:
            before, after, low, high = after, before, high, low
        if not pc.all(pc.less(before, after)).as_py():  # of one key alone there is nothing to compare
            return False
        at = bisect_left(self._lows, low)
        if (at and self._highs[at - 1] >= low) or (at < len(self._lows) and self._lows[at] <= high):
            return False
        self._lows.insert(at, low)
        self._highs.insert(at, high)
        return True


def ordered(kind: pa.DataType) -> bool:
    """Whether Arrow and Python order values of a type alike, and every value has its place."""
    plain = (pa.types.is_integer, pa.types.is_string, pa.types.is_date, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in plain) or kind in (pa.timestamp("us"), pa.timestamp("us", "UTC"))
