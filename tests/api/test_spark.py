"""Results and descriptions that need Spark, in the JVM all tests share."""

from __future__ import annotations

import datetime as dt

import pytest

import fff
from fff.federation import RunOptions
from fff.opening import open_federation
from fff.spark.session import SparkEngine
from tests.api.conftest import Publish
from tests.api.sites import TABLES, site
from tests.engine.site import Site, access

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_data_frame_lives_as_long_as_its_connection(publish: Publish, spark: SparkEngine) -> None:
    spark.wait()
    with fff.connect(publish(site(), TABLES)) as federation:
        result = federation.sql("SELECT a, b, a AS `odd name`, b AS a FROM web.r")
        frame = result.to_spark()
        assert frame.columns == ["a", "b", "odd name", "a"]
        assert frame.count() == 45
    with pytest.raises(fff.UsageError, match="closed"):
        result.to_spark()
    assert result.to_spark(frame.sparkSession).count() == 45


def test_grouped_results(publish: Publish, spark: SparkEngine) -> None:
    spark.wait()
    sql = "SELECT b, count(*) AS n, CAST(avg(a) AS DECIMAL(9, 2)) FROM web.r GROUP BY b ORDER BY b"
    with fff.connect(publish(site(), TABLES)) as federation:
        fields = federation.describe(sql)
        assert [(field.name, field.type) for field in fields] == [
            ("b", "int"),
            ("n", "bigint"),
            ("CAST(avg(a) AS DECIMAL(9,2))", "decimal(9,2)"),
        ]
        stream = federation.stream(sql, interval=0.01)
        assert [snapshot.phase for snapshot in stream][-1] == "done"
        assert [row[:2] for row in stream.result] == [(0, 7), (1, 6), (2, 6), (3, 7), (4, 6), (5, 6), (6, 7)]
        assert [field.name for field in fields] == stream.result.schema.names


def test_spark_says_what_is_wrong(publish: Publish, spark: SparkEngine) -> None:
    spark.wait()
    with fff.connect(publish(site(), TABLES)) as federation:
        with pytest.raises(fff.SparkError, match="map_contains_key"):
            federation.describe("SELECT map_contains_key(map(b, 1), array(b)) FROM web.r GROUP BY 1")
        with pytest.raises(fff.SparkError, match="map_contains_key"):
            federation.sql("SELECT map_contains_key(map(b, 1), array(b)) FROM web.r GROUP BY 1")


async def test_what_conditions_left_to_spark_cost_is_counted(publish: Publish, spark: SparkEngine) -> None:
    spark.wait()
    rows = [(number, number % 5) for number in range(20)]
    web = Site({"r": (("a", "b"), rows), "s": (("a", "b"), [(key, key) for key in range(5)])})
    ints = {"a": "int", "b": "int"}
    spec = publish(web, {"r": access("r", ints), "s": access("s", ints, scan=False, lookups=["a"])})
    on = "FROM web.r JOIN web.s ON r.b = s.a"
    wanted = {
        f"SELECT r.b, s.b {on} WHERE xxhash64(r.b) = xxhash64(2 + 1)": [(20, 16, 4)],
        f"SELECT s.b, count(*) {on} WHERE xxhash64(r.b) <> 0 AND uuid() = 'x' AND r.b < 4 GROUP BY 1": [
            (16, 0, 0),
            (16, 16, 4),
        ],
        f"SELECT r.a, s.b {on} WHERE xxhash64(r.a) = 0": [(20, 20, None)],
    }
    async with open_federation([spec]) as federation:
        federation._spark = spark
        for sql, told in wanted.items():
            execution = federation.execute(federation.prepare(sql), RunOptions(measure_filters=True))
            async for _ in execution.batches():
                pass
            filters = execution.outcome.report["spark"]["filters"]
            assert [
                (one["rows"], one["dropped"], *(lookup["keys"] for lookup in one["lookups"]))
                for one in filters
            ] == told, sql
            assert {lookup["lookup"] for one in filters for lookup in one["lookups"]} == {"web.s.lookup[a]"}
        federation._spark = None  # the tests' own


def test_results_of_types_that_no_source_has(publish: Publish, spark: SparkEngine) -> None:
    spark.wait()
    computed = {
        "NULL": "void",
        "array(NULL)": "array<void>",
        "INTERVAL '1 02' DAY TO HOUR": "interval day to second",
        "TIME'10:00:00'": "time",
        "INTERVAL '3' MONTH": "string",
        "make_interval(1, 2)": "string",
        "parse_json('{\"k\":[1]}')": "string",
        "array()": "array<void>",
        "map()": "map<string,void>",
        "struct(array() AS x, 1 AS y)": "struct<x:array<void>,y:int>",
    }
    sql = "SELECT a, " + ", ".join(f"{text} AS same" for text in computed) + " FROM web.r WHERE a = 7"
    with fff.connect(publish(site(), TABLES)) as federation:
        assert [field.type for field in federation.describe(sql)] == ["int", *computed.values()]
        result = federation.sql(sql)
        assert list(result) == [
            (
                7,
                None,
                [None],
                dt.timedelta(days=1, hours=2),
                dt.time(10),
                "INTERVAL '3' MONTH",
                "1 years 2 months",
                '{"k":[1]}',
                [],
                [],
                {"x": [], "y": 1},
            )
        ]
