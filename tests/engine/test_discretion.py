"""Numbers that are secrets are found in rows as texts are, without a look at each value."""

from __future__ import annotations

from decimal import Decimal
from typing import cast

import pyarrow as pa
import pytest

from fff.access.disk.discretion import Discretion
from fff.catalog import Cacheable

SECRET = 12345678901


class Proven:
    """A source whose secret is all digits; notes what it was shown."""

    def __init__(self) -> None:
        self.shown = b""

    def tells_secrets(self, data: bytes) -> bool:
        self.shown += data
        return b"%d" % SECRET in data

    def has_secret_numbers(self) -> bool:
        return True


def _told(column: pa.Array) -> tuple[bool, bytes]:
    source = Proven()
    discretion = Discretion(cast("Cacheable", source))
    return discretion.in_numbers(pa.record_batch({"v": column})), source.shown


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, SECRET, None]),
        pa.array([SECRET], pa.uint64()),
        pa.array([0.5, float(SECRET), None, float("nan"), 1e300, float("-inf")]),
        pa.array([SECRET + 0.25]),
        pa.array([0.12345678901]),
        pa.array([Decimal(f"{SECRET}.50"), None]),
        pa.array([Decimal(-SECRET)]),
        pa.array([[1], None, [2, SECRET]]),
        pa.array([[1], [2, SECRET]])[1:],
        pa.array([{"a": [{"b": SECRET}]}, None]),
        pa.array([[("a", SECRET)], None], pa.map_(pa.string(), pa.int64())),
        pa.array([[(SECRET, "a")]], pa.map_(pa.int64(), pa.string())),
        pa.array([[SECRET, 1]], pa.list_(pa.int64(), 2)),
        pa.array([[SECRET]], pa.large_list(pa.int64())),
    ],
    ids=lambda column: str(column.type),
)
def test_a_secret_is_found_among_numbers_of_all_types(column: pa.Array) -> None:
    assert _told(column)[0]


def test_no_two_numbers_make_a_secret_together() -> None:
    assert not _told(pa.array([123456, 78901]))[0]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b"]),
        pa.array([True, None]),
        pa.array([10**18], pa.timestamp("us", "UTC")),
        pa.nulls(2),
        pa.array([{"a": ["x"]}]),
        pa.array([], pa.list_(pa.int64())),
    ],
    ids=lambda column: str(column.type),
)
def test_only_numbers_are_looked_into(column: pa.Array) -> None:
    """Texts were looked at as they are; a moment that Python has none of is no error."""
    told, shown = _told(column)
    assert not told
    assert not any(48 <= byte < 58 for byte in shown)
