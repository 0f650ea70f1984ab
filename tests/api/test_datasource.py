"""The Spark data source: what its processes do, in this one; and, slowly, a plain PySpark session that uses it."""

from __future__ import annotations

import datetime as dt
import logging
import os
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource as spark

import fff
from fff.frames.spark_data_source import FFFDataSource, FFFReader, FilteringReader, Job
from fff.frames.spark_filters import narrowed
from tests.api.conftest import Publish
from tests.api.sites import pages, tables

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HIDE_TRACEBACK", raising=False)


def job(spec: Path, **options: str) -> Job:
    return Job.of({"sources": str(spec), **options})


def rows_of(one: Job, part: object = None) -> list[int]:
    return [row for batch in one.read(part, SCHEMA) for row in batch["a"].to_pylist()]


def test_a_query_a_table_or_a_path(publish: Publish) -> None:
    spec = publish(pages(25, "total"), tables("total"))
    for options in ({"query": "SELECT * FROM r"}, {"table": "web.r"}, {"path": "`web`.r"}, {"path": "R"}):
        one = job(spec, **options)
        assert one.columns() == ("`a` int, `b` string", True)
        assert one.parts() == [None]
        assert sorted(rows_of(one)) == list(range(25))


def test_rows_come_in_the_types_spark_expects(publish: Publish) -> None:
    one = job(publish(pages(12, "total"), tables("total")), table="web.r")
    batches = list(one.read(None, SCHEMA))
    assert all(batch.schema == SCHEMA for batch in batches)
    with pytest.raises(fff.QueryError, match="column b cannot be read as int32"):
        list(one.read(None, pa.schema([("a", pa.int32()), ("b", pa.int32())])))
    with pytest.raises(fff.QueryError, match="column b cannot be read as list"):
        list(one.read(None, pa.schema([("b", pa.list_(pa.int32()))])))


def test_columns_of_a_given_schema_are_told_by_their_names(publish: Publish) -> None:
    one = job(publish(pages(2, "total"), tables("total")), table="web.r")
    [batch] = one.read(None, pa.schema([("B", pa.string()), ("a", pa.int64())]))
    assert batch.to_pydict() == {"B": ["x0", "x1"], "a": [0, 1]}
    [batch] = one.read(None, pa.schema([("b", pa.string())]))
    assert batch.to_pydict() == {"b": ["x0", "x1"]}
    with pytest.raises(fff.UsageError, match="the schema given names other, the query has no such column"):
        list(one.read(None, pa.schema([("a", pa.int32()), ("other", pa.string())])))
    twice = job(Path(one.sources[0]), query="SELECT a, b AS A FROM r")
    with pytest.raises(fff.UsageError, match="names a, the query has two such columns"):
        list(twice.read(None, pa.schema([("a", pa.int32())])))


def test_parts_only_where_they_are_wanted_and_possible(publish: Publish) -> None:
    served = pages(60, "total")
    spec = publish(served, tables("total"))
    whole = job(spec, table="r")
    assert whole.parts() == [None]
    assert job(spec, table="r", partitions="3", deadline="9").parts() == [None]
    assert job(spec, table="r", partitions="3", max_requests="9").parts() == [None]
    assert job(spec, query="SELECT a, b FROM r LIMIT 5", partitions="3").parts() == [None]
    divided = job(spec, table="r", partitions="3")
    parts = divided.parts()
    assert len(parts) == 3
    assert sorted(row for part in parts for row in rows_of(divided, part)) == list(range(60))
    assert set(served.asked.values()) == {1}


def test_rows_that_share_a_key_come_once_unless_duplicates_are_kept(publish: Publish) -> None:
    served, keyed = pages(60, "pages"), tables("pages")
    served.tables["r"][1][30] = served.tables["r"][1][9]  # a later page begins with a row of an earlier one
    keyed["r"]["primary_key"] = ["a"]
    spec = publish(served, keyed)
    whole = job(spec, table="r", partitions="3")
    assert whole.parts() == [None]
    assert len(rows_of(whole)) == 59
    divided = job(spec, table="r", partitions="3", duplicates="keep")
    assert sorted(row for part in divided.parts() for row in rows_of(divided, part)).count(9) == 2


def test_parameters(publish: Publish) -> None:
    spec = publish(pages(25, "total"), tables("total"))
    sql = "SELECT a, b FROM r WHERE a < :Bound AND b = :word"
    one = job(spec, query=sql, **{"param.bound": "10", "param.word:string": "x1"})
    assert one.params == {"Bound": 10, "word": "x1"}
    assert sorted(rows_of(one)) == [1, 6]
    assert "x1" not in repr(one)
    with pytest.raises(fff.UsageError, match=r"param\.Bound: 'x' is not an int"):
        job(spec, query=sql, **{"param.bound:int": "x"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either a query or a table"),
        ({"query": "SELECT 1", "table": "r"}, "either a query or a table"),
        ({"table": "r", "pages": "3"}, "no option 'pages'"),
        ({"table": "r", "partitions": "0"}, "at least 1"),
        ({"table": "r", "duplicates": "some"}, "duplicates must be drop or keep, not 'some'"),
        ({"table": "r", "partitions": "many"}, "must be a number"),
        ({"table": "r", "deadline": "soon"}, "must be a number"),
    ],
)
def test_options_that_will_not_do(options: dict[str, str], message: str) -> None:
    with pytest.raises(fff.UsageError, match=message):
        Job.of(options)


def served_from(least: str = ">=") -> dict[str, Any]:
    """The table of `pages`, whose rows can be asked for from one on."""
    described = tables("total")
    described["r"]["key_columns"] = [{"name": "a", "operators": [least], "param": {least: "least"}}]
    return described


def test_conditions_of_the_job_reach_the_source(publish: Publish) -> None:
    for options in ({"table": "web.r"}, {"query": "SELECT b, a FROM r WHERE a < 1000; -- all"}):
        served = pages(60, "total")
        one = job(publish(served, served_from()), **options)
        assert one.columns()[1]
        where = [spark.GreaterThanOrEqual(("a",), 50), spark.IsNotNull(("a",))]
        assert sorted(
            row for batch in one.where(where).read(None, SCHEMA) for row in batch["a"].to_pylist()
        ) == list(range(50, 60))
        assert sum(served.asked.values()) == 1
        assert [one.sql, one.params] == [job(Path("x"), **options).sql, {}]


def test_a_reader_takes_conditions_and_has_spark_apply_them_again(publish: Publish) -> None:
    served = pages(60, "total")
    reader = FilteringReader(job(publish(served, served_from()), table="r", partitions="2"), SCHEMA)
    filters = [spark.GreaterThan(("a",), 35), spark.StringEndsWith(("b",), "1")]
    assert list(reader.pushFilters(filters)) == filters
    parts = reader._job.parts()
    rows = [row for part in parts for row in rows_of(reader._job, part)]
    assert (len(parts), sorted(rows)) == (2, list(range(36, 60)))


@pytest.mark.parametrize(
    ("condition", "text", "values"),
    [
        (spark.EqualTo(("a",), 3), "a = :fff_pushed_0", [3]),
        (spark.EqualNullSafe(("odd name",), "x' OR '1"), "`odd name` = :fff_pushed_0", ["x' OR '1"]),
        (spark.LessThan(("a",), Decimal("1.5")), "a < :fff_pushed_0", [Decimal("1.5")]),
        (spark.LessThanOrEqual(("a",), dt.date(2024, 1, 2)), "a <= :fff_pushed_0", [dt.date(2024, 1, 2)]),
        (spark.In(("a",), (1, 2)), "a IN (:fff_pushed_0, :fff_pushed_1)", [1, 2]),
        (spark.StringStartsWith(("b",), "5%_\\"), "b LIKE :fff_pushed_0", ["5\\%\\_\\\\%"]),
        (spark.In(("a",), (1, None)), None, []),
        (spark.In(("a",), ()), None, []),
        (spark.EqualTo(("a", "field"), 3), None, []),
        (spark.EqualTo(("a",), float("nan")), None, []),
        (spark.EqualTo(("a",), b"3"), None, []),
        (spark.EqualTo(("a",), None), None, []),
        (spark.Not(spark.EqualTo(("a",), 3)), None, []),
        (spark.StringContains(("b",), "x"), None, []),
    ],
)
def test_conditions_as_sql(condition: Any, text: str | None, values: list[object]) -> None:
    sql, params = narrowed("SELECT 1", {"mine": 9}, [condition])
    if text is None:
        assert (sql, params) == ("SELECT 1", {"mine": 9})
    else:
        assert sql == f"SELECT * FROM (\nSELECT 1\n) AS fff_read WHERE {text}"
        assert list(params.values()) == [9, *values]


def test_a_prefix_means_itself(publish: Publish) -> None:
    served = pages(60, "total")
    one = job(publish(served, tables("total")), table="r")
    assert sorted(rows_of(one.where([spark.StringStartsWith(("b",), "x1")]))) == list(range(1, 60, 5))
    assert rows_of(one.where([spark.StringStartsWith(("b",), "x_")])) == []


def test_conditions_only_where_names_and_types_are_the_statements_own(publish: Publish) -> None:
    spec = publish(pages(12, "total"), tables("total"))
    source = FFFDataSource({"sources": str(spec), "table": "r"})
    assert not source.takes_filters  # whoever gives a schema of his own may mean other columns by its names
    source.schema()
    assert source.takes_filters
    with fff.connect(spec) as federation:
        assert federation.needs_spark("SELECT b, count(*) AS n FROM r GROUP BY b")
        assert not federation.needs_spark("SELECT a FROM r")


@pytest.mark.parametrize(
    ("planned", "takes", "kind"),
    [(True, True, FilteringReader), (True, False, FFFReader), (False, True, FFFReader)],
)
def test_spark_that_does_not_push_gets_a_reader_that_it_does_not_refuse(
    planned: bool, takes: bool, kind: type[FFFReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "pyspark.sql.worker.data_source_pushdown_filters"
    monkeypatch.delitem(sys.modules, module, raising=False)
    if planned:
        monkeypatch.setitem(sys.modules, module, sys)
    source = FFFDataSource({"table": "r"})
    source.takes_filters = takes
    assert type(source.reader(None)) is kind


def test_columns_of_one_name(publish: Publish) -> None:
    one = job(publish(pages(5, "total"), tables("total")), query="SELECT a, b AS A FROM r")
    with pytest.raises(fff.QueryError, match="two columns of the query are named A"):
        one.columns()


def test_a_part_of_the_answer_is_not_taken_for_the_whole(
    publish: Publish, logged: list[logging.LogRecord]
) -> None:
    spec = publish(pages(60, "total"), tables("total"))
    with pytest.raises(fff.SourceError, match="the answer is incomplete: the budget of 2 requests"):
        rows_of(job(spec, table="r", max_requests="2"))
    assert len(rows_of(job(spec, table="r", max_requests="2", on_source_error="partial"))) in (10, 20)
    assert any("the answer is incomplete" in record.getMessage() for record in logged)


@pytest.mark.usefixtures("duck_for_spark")
def test_a_number_of_a_part_is_not_given_and_then_taken_back(
    publish: Publish, logged: list[logging.LogRecord]
) -> None:
    """`first` takes one row and never comes back to hear what was wrong with it."""
    spec, schema = publish(pages(60, "total"), tables("total")), pa.schema([("n", pa.int64())])
    asked = {"query": "SELECT count(*) AS n FROM r", "max_requests": "2"}
    with pytest.raises(fff.SourceError, match="the answer is incomplete: the budget of 2 requests"):
        next(job(spec, **asked).read(None, schema))
    first = next(job(spec, **asked, on_source_error="partial").read(None, schema))
    assert first["n"].to_pylist() in ([10], [20])
    assert any("the answer is incomplete" in record.getMessage() for record in logged)


def test_the_job_is_told_the_message_and_no_stack(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    assert FFFDataSource.name() == "fff"
    spec = publish(pages(5, "total"), tables("total"))
    with pytest.raises(fff.QueryError):
        FFFDataSource({"sources": str(spec), "query": "SELECT nope FROM r"}).schema()
    assert os.environ["SPARK_HIDE_TRACEBACK"] == "1"
    monkeypatch.delenv("SPARK_HIDE_TRACEBACK")


PROGRAM = """
import sys
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

spec, register = sys.argv[1], sys.argv[2] == "register"
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
if register:
    import fff
    spark.dataSource.register(fff.spark_data_source())
reader = lambda: spark.read.format("fff").option("sources", spec)

plain = reader().option("query", "SELECT a, b FROM r WHERE a < :n").option("param.n", "42").load()
assert plain.dtypes == [("a", "int"), ("b", "string")], plain.dtypes
assert plain.groupBy("b").count().count() == 5
if register:  # that it is known is what differs
    spark.stop()
    print("good")
    sys.exit()
divided = reader().option("partitions", 4).load("web.r")
assert divided.rdd.getNumPartitions() == 4
assert sorted(row.a for row in divided.collect()) == list(range(95))
grouped = reader().option("query", "SELECT b, count(*) AS n, sum(a) AS s FROM r GROUP BY b").load()
assert grouped.dtypes == [("b", "string"), ("n", "bigint"), ("s", "bigint")], grouped.dtypes
assert sum(row.n for row in grouped.collect()) == 95
typed = spark.read.format("fff").schema("a BIGINT, b STRING").option("sources", spec).load("web.r")
assert typed.selectExpr("max(a)").collect()[0][0] == 94
try:
    reader().option("query", "SELECT nope FROM r").load()
except PySparkException as error:
    assert "unknown column nope" in str(error) and "Traceback" not in str(error), error
else:
    raise AssertionError("no error")

import fff
with fff.connect(spec) as federation:
    frame = federation.sql("SELECT a, b FROM r").to_spark()
    assert frame.sparkSession is spark
assert frame.join(divided, "a").count() == 95
spark.stop()
print("good")
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("how", ["found", "register"])
@pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ,
    reason="a plain Spark session needs a Java of its own, on PATH or in JAVA_HOME",
)
def test_a_plain_session(publish: Publish, how: str, tmp_path: Path) -> None:
    spec = publish(pages(95, "total"), tables("total"))
    environ = {name: text for name, text in os.environ.items() if name != "PYSPARK_PYTHON"}
    if how == "found":
        environ["PYSPARK_PYTHON"] = sys.executable
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(spec), how],
        env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.stdout.endswith("good\n"), done.stderr[-4000:]
