"""Two tables of hard values, and their rows compared as Spark's."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal

import planner_fakes
import pyarrow as pa

CATALOG = planner_fakes.catalog(
    planner_fakes.table(
        "w.r",
        "i int, l bigint, t tinyint, d double, f float, s string, m decimal(5,2), b boolean, dt date",
        scans=1,
    ),
    planner_fakes.table("w.u", "i int, s string, a array<int>", scans=1),
)
_NAN = float("nan")
DATA = {
    "r": pa.table(
        {
            "i": pa.array([1, 1, None, 0, -7, 2**31 - 1], pa.int32()),
            "l": pa.array([1, 1, None, 2**40, -1, 0], pa.int64()),
            "t": pa.array([1, 1, None, 127, -128, 0], pa.int8()),
            "d": pa.array([0.0, -0.0, None, _NAN, -_NAN, math.inf]),
            "f": pa.array([0.0, -0.0, None, _NAN, 0.5, 1e30], pa.float32()),
            "s": pa.array(["a", "a", None, "", "Straße", "a "]),
            "m": pa.array([Decimal("1.50"), Decimal("1.50"), None, Decimal("0.00"), Decimal("-999.99"), Decimal("0.10")], pa.decimal128(5, 2)),
            "b": pa.array([True, True, None, False, False, True]),
            "dt": pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 1), None, dt.date(1, 1, 1), dt.date(1582, 10, 15), dt.date(9999, 12, 31)]),
        }
    ),
    "u": pa.table({"i": pa.array([1, 2, None], pa.int32()), "s": ["a", "b", None], "a": pa.array([[1], [], None], pa.list_(pa.int32()))}),
}  # fmt: skip


def bag(rows: pa.Table) -> Counter[tuple[str, ...]]:
    """The rows; NaN equals itself, and the sign of a zero counts."""
    return Counter(zip(*(map(repr, column.to_pylist()) for column in rows.columns), strict=True))
