"""Columns without a name of their own are called as Spark calls them, or left to it; `names.json` holds what it said."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import random
import re
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from planner_fakes import DEMO
from property_scalars import translated, written
from property_values import LEFT, rows
from scalar_sweep import untyped
from written_texts import written_text

from fff.catalog import Table
from fff.errors import FFFError, Span
from fff.schema import result_field
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.analysis.predicates import columns_in
from fff.sql.binder.names import Relation, Scope
from fff.sql.scalars.naming.names import spark_name
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.syntax.parse import parse_statement

#: By the text of an item; every table is called `r`.
FROZEN = json.loads((Path(__file__).with_name("names.json")).read_text(encoding="utf-8"))
ROW = pa.table(
    {
        "id": pa.array([1], pa.int32()),
        "b": pa.array([2], pa.int32()),
        "x": ["k"],
        "n": pa.array([3], pa.int32()),
        "l": pa.array([2], pa.int64()),
        "f": [1.5],
        "m": pa.array([Decimal("1.50")], pa.decimal128(10, 2)),
        "t": [True],
        "bin": [b"a"],
        "d": [dt.date(2020, 1, 1)],
        "ts": pa.array([dt.datetime(2020, 1, 1, 10, tzinfo=dt.UTC)], pa.timestamp("us", "UTC")),
        "tn": pa.array([0], pa.timestamp("us")),
        "a": [["p", "q"]],
        "ai": pa.array([[1, 2]], pa.list_(pa.int32())),
        "mp": pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int32())),
        "st": [{"n": 1, "s": "t", "u": {"v": 2}}],
        "items": [[{"sku": "a", "qty": 1}]],
    }
)
TABLE = Table("w", "r", tuple(result_field(field.name, field.type) for field in ROW.schema))


def named(text: str, table: Table = TABLE) -> str | None:
    statement = parse_statement(f"SELECT {text} FROM {table.name}")
    scope = Scope.of(Relation(table.name, table, 0, Span(0, 0), renamed=False))
    with contextlib.suppress(LeftToSparkError):
        end = len(statement.tokens) - 2
        return spark_name(statement.tree.expressions[0], statement, (1, end), columns_in(scope))
    return None


def test_names_are_those_of_spark_and_most_are_known() -> None:
    ours = {text: name for text in FROZEN if (name := named(text)) is not None}
    assert ours == {text: FROZEN[text] for text in ours}
    assert len(ours) >= 0.75 * len(FROZEN)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("btrim(x, 'a')", "btrim(x, a)"),
        ("-'5'", "(- 5)"),
        ("0.00000010 + 0.0000010", "(1.0E-7 + 0.0000010)"),
        ("sqrt(b) + floor(b)", "(SQRT(b) + FLOOR(b))"),
        ("CASE WHEN b > 1 THEN upper(x) ELSE substr(x, 1, 2) END", "CASE WHEN (b > 1) THEN upper(x) ELSE substr(x, 1, 2) END"),
        ("cast(b AS string)", "b"),
        ("(b + 1)::string", "CAST((b + 1) AS STRING)"),
        ("x || '-' || upper(x)", "concat(concat(x, -), upper(x))"),
        ("x NOT LIKE 'a%' AND b BETWEEN 1 AND 2", "((NOT x LIKE a%) AND between(b, 1, 2))"),
        ("round(b / 3, 2)", "round((b / 3), 2)"),
        ("log(2, exp(b))", "LOG(2, EXP(b))"),
        ("st.n", "n"),
        ("upper(st.n)", "upper(st.n)"),
        ("b > 1.5", None),  # shown as `(b > 1)`
        ("+b", "(+ b)"),
        ("try_cast(x AS int)::string", None),
        ("concat(x, x COLLATE utf8_lcase)", None),
        ("trim('a' FROM x)", None),
        ("bigint(b + 1)", "(b + 1)"),
        ("-0.0", None),
    ],
)  # fmt: skip
def test_what_spark_shows_otherwise_has_no_name_here(text: str, name: str | None) -> None:
    assert named(text) == name


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("dt + 1", "date_add(dt, 1)"),
        ("dt - INTERVAL 2 DAYS", "date_add(dt, (- extractansiintervaldays(INTERVAL '2' DAY)))"),
        ("i - 1", "(i - 1)"),
        ("st.k + i", "(st.k + i)"),
    ],
)
def test_names_of_queries_in_from_know_the_types_in_them(item: str, name: str) -> None:
    table = "(SELECT i, st, dt FROM types WHERE l > 1)"
    for sql in (
        f"SELECT {item} FROM {table} q",
        f"SELECT * FROM (SELECT {item} FROM {table} q) p",
        f"SELECT {item} FROM (SELECT q.i + 0 AS i, q.st, q.dt + 0 AS dt FROM {table} q) p",
    ):
        prepared = prepare(sql, DEMO)
        assert prepared.result is not None
        assert [field.name for field in prepared.result.fields] == [name]


@pytest.mark.spark
@pytest.mark.slow
def test_frozen_names_are_still_those_of_spark(spark: SparkEngine) -> None:
    assert shown(spark, ROW, list(FROZEN), "r") == FROZEN


@pytest.mark.spark
@pytest.mark.slow
def test_random_names_are_those_of_spark(spark: SparkEngine) -> None:
    """What the engine computes and names, of expressions of all kinds."""
    rng = random.Random(f"names {os.environ['FFF_FUZZ_LONG_SEED']}")
    data = rows(rng, 3)
    ours: dict[str, str] = {}
    for number in range(300):
        text = (written(rng, depth=2), untyped(rng), written_text(rng))[number % 3]
        with contextlib.suppress(LeftToSparkError, FFFError, KeyError):
            translated(text)
            name = named(text, LEFT)
            ours |= {} if name is None else {text: name}
    assert len(ours) > 60
    theirs = shown(spark, data, list(ours), "t")
    # Where Spark itself calls a variable by a number of the moment, no name is the right one.
    theirs = {text: name for text, name in theirs.items() if not re.search(r"lambda \w+#\d+", name)}
    assert {text: ours[text] for text in theirs} == theirs


def shown(spark: SparkEngine, data: pa.Table, texts: list[str], name: str) -> dict[str, str]:
    """What Spark calls them, those apart that it refuses."""
    try:
        names = spark.check(f"SELECT {', '.join(texts)} FROM {name}", {name: data}).column(0).to_pylist()
    except FFFError:
        half = len(texts) // 2
        return shown(spark, data, texts[:half], name) | shown(spark, data, texts[half:], name) if half else {}
    return dict(zip(texts, names, strict=True))
