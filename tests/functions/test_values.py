"""Values of Python in types of SQL: as they are, or not at all."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fff.functions import values
from fff.functions.values import array_of
from fff.schema import arrow_type

LATE = dt.datetime.fromisoformat("2024-01-01T23:30")
ELSEWHERE = LATE.replace(tzinfo=dt.timezone(dt.timedelta(hours=5)))
DAY = LATE.date()


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("bigint", [1, None]),
        ("double", [0.5, None]),
        ("boolean", [True, None]),
        ("string", ["a", None]),
        ("date", [DAY, None]),
    ],
)
def test_values_of_one_type_that_arrow_keeps_are_not_looked_at_one_by_one(
    monkeypatch: pytest.MonkeyPatch, kind: str, found: list[object]
) -> None:
    monkeypatch.setattr(values, "_same", None)
    assert array_of(found, arrow_type(kind)).to_pylist() == found


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 2.7),
        ("int", Decimal("2.7")),
        ("int", True),
        ("int", np.bool_(True)),
        ("double", True),
        ("float", 1e300),
        ("decimal(10,2)", 2.5),
        ("date", LATE),
        ("date", 1),
        ("timestamp", DAY),
        ("timestamp", 1),
        ("timestamp", pd.Timestamp(1)),
        ("timestamp_ntz", ELSEWHERE),
        ("string", 5),
        ("array<int>", [1, None, 2.5]),
        ("array<int>", {1, 2}),
        ("array<string>", "abc"),
        ("array<date>", [DAY, LATE]),
        ("map<string,int>", {"a": 1.5}),
        ("struct<a:int>", {"a": 1, "b": 2}),
        ("struct<a:int>", (1.5,)),
        ("struct<a:array<int>>", {"a": [1.5]}),
    ],
)
def test_no_value_is_changed_to_fit_a_type(kind: str, value: object) -> None:
    with pytest.raises((pa.ArrowException, TypeError, ValueError)):
        array_of([None, value], arrow_type(kind))


@pytest.mark.parametrize(
    ("kind", "value", "it"),
    [
        ("int", 2.0, 2),
        ("bigint", np.int32(5), 5),
        ("bigint", pa.scalar(5), 5),
        ("float", 0.1, float(np.float32(0.1))),
        ("double", np.float32(0.5), 0.5),
        ("double", float("inf"), float("inf")),
        ("decimal(5,2)", 3, Decimal("3.00")),
        ("timestamp_ntz", LATE, LATE),
        ("timestamp", LATE, LATE.replace(tzinfo=dt.UTC)),
        ("timestamp", ELSEWHERE, ELSEWHERE),
        ("timestamp", pd.Timestamp(LATE), LATE.replace(tzinfo=dt.UTC)),
        ("binary", bytearray(b"abc"), b"abc"),
        ("binary", "abc", b"abc"),
        ("string", b"abc", "abc"),
        ("date", dt.datetime.combine(DAY, dt.time()), DAY),
        ("date", pd.Timestamp(DAY), DAY),
        ("struct<a:int,b:string>", [("a", 1), ("b", "x")], {"a": 1, "b": "x"}),
        ("array<int>", np.array([1, 2]), [1, 2]),
        ("array<double>", (1, None), [1.0, None]),
        ("map<string,int>", {"a": 1, "b": None}, [("a", 1), ("b", None)]),
        ("struct<a:int,b:string>", {"a": 1}, {"a": 1, "b": None}),
        ("struct<a:int,b:date>", (1, DAY), {"a": 1, "b": DAY}),
    ],
)
def test_what_a_type_holds_is_as_it_was(kind: str, value: object, it: object) -> None:
    assert array_of([value, None], arrow_type(kind)).to_pylist() == [it, None]
