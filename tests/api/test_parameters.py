"""Values that programs give parameters, and what is said of calls that cannot be."""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fff
from fff.sql.syntax.parameters.param_types import plain


class _Level(enum.IntEnum):
    HIGH = 3


DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 8, 30)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (np.int64(7), 7),
        (np.uint8(7), 7),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.bool_(1), True),
        (np.str_("x"), "x"),
        (np.datetime64("2024-02-29"), DAY),
        (np.datetime64("2024-02-29T08:30:00", "ns"), MOMENT),
        (np.datetime64("2024-02-29T08:30:00", "s"), MOMENT),
        (np.datetime64("NaT"), None),
        (pd.Timestamp("2024-02-29T08:30"), MOMENT),
        (pd.Timestamp("2024-02-29T08:30Z"), MOMENT.replace(tzinfo=dt.UTC)),
        (pd.NaT, None),
        (pd.NA, None),
        (pd.Series([7]).iloc[0], 7),
        (pa.scalar(7), 7),
        (pa.scalar(None), None),
        (_Level.HIGH, 3),
    ],
    ids=repr,
)
def test_scalars_of_libraries_are_the_values_they_stand_for(given: object, meant: object) -> None:
    read = plain("a", given)
    assert (read, type(read)) == (meant, type(meant))
    with fff.connect() as federation:
        [(same,)] = federation.sql("SELECT :a IS NOT DISTINCT FROM :b AS same", {"a": given, "b": meant})
    assert same


@pytest.mark.parametrize("fine", [np.datetime64(1, "ns"), pd.Timestamp(1)])
def test_what_is_finer_than_microseconds_is_no_value_of_sql(fine: object) -> None:
    with pytest.raises(fff.UsageError, match=r"parameter a is 1970-01-01.*SQL has microseconds"):
        plain("a", fine)


_BEFORE_ALL = dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5)))
_BEHIND_ALL = dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-5)))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda one: one.sql(None), "the SQL must be a string, not NoneType"),
        (lambda one: one.describe(7), "the SQL must be a string, not int"),
        (lambda one: one.sql("SELECT :a", [1]), "a mapping by their names, not list"),
        (lambda one: one.sql("SELECT ?", [1]), "fff.dbapi takes [?] and a list"),
        (lambda one: one.sql("SELECT ?"), "positional parameters"),
        (lambda one: one.sql("SELECT :a"), "(?s):a has no value.*in the mapping behind the SQL: {'a': …}"),
        (lambda one: one.explain("SELECT :a"), "in the mapping behind the SQL"),
        (lambda one: one.sql("SELECT :a", {"a": 10**38}), "parameter a has more digits than SQL's numbers"),
        (lambda one: one.sql("SELECT :a", {"a": Decimal("1e-39")}), "parameter a has more digits"),
        (lambda one: one.sql("SELECT :a", {"a": _BEFORE_ALL}), "parameter a is before the year 1 .* in UTC"),
        (lambda one: one.sql("SELECT :a", {"a": _BEHIND_ALL}), "or after the year 9999 in UTC"),
        (lambda one: one.sql("SELECT 1", deadline="x"), "deadline must be a positive number"),
        (lambda one: one.sql("SELECT 1", max_requests=0), "max_requests must be a whole number above 0"),
        (lambda one: one.sql("SELECT 1", max_requests=1.5), "max_requests must be a whole number above 0"),
        (lambda one: one.sql("SELECT 1", seed="x"), "seed must be a whole number"),
        (lambda one: one.sql("SELECT 1", policy=None), "policy must be the name of one"),
        (lambda one: one.sql("SELECT 1", prioritize=7), "prioritize is a list of conditions, not 7"),
        (lambda one: one.stream("SELECT 1", interval=-1), "interval must be seconds from 0 on, not -1"),
        (lambda one: one.stream("SELECT 1", interval="x"), "interval must be seconds from 0 on, not 'x'"),
    ],
)
def test_a_call_that_cannot_be_is_one_clear_error(call: Any, said: str) -> None:
    with fff.connect() as federation, pytest.raises(fff.UsageError, match=said):
        call(federation)
