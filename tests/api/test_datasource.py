"""The Spark data source: what its processes do, in this one; and, slowly, a plain PySpark session that uses it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import fff
from fff.api.spark_data_source import FFFDataSource, Job
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
        assert one.columns() == "`a` int, `b` string"
        assert one.parts() == [None]
        assert sorted(rows_of(one)) == list(range(25))


def test_rows_come_in_the_types_spark_expects(publish: Publish) -> None:
    one = job(publish(pages(12, "total"), tables("total")), table="web.r")
    batches = list(one.read(None, SCHEMA))
    assert all(batch.schema == SCHEMA for batch in batches)
    with pytest.raises(fff.QueryError, match="column b cannot be read as int32"):
        list(one.read(None, pa.schema([("a", pa.int32()), ("b", pa.int32())])))
    with pytest.raises(fff.UsageError, match="3 columns"):
        list(one.read(None, pa.schema([("a", pa.int32())] * 3)))


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


def test_parameters(publish: Publish) -> None:
    spec = publish(pages(25, "total"), tables("total"))
    sql = "SELECT a, b FROM r WHERE a < :Bound AND b = :word"
    one = job(spec, query=sql, **{"param.bound": "10", "param.word:string": "x1"})
    assert one.params == {"Bound": 10, "word": "x1"}
    assert sorted(rows_of(one)) == [1, 6]
    assert "x1" not in repr(one)
    with pytest.raises(fff.UsageError, match=r"param\.Bound: 'x' is not a int"):
        job(spec, query=sql, **{"param.bound:int": "x"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either a query or a table"),
        ({"query": "SELECT 1", "table": "r"}, "either a query or a table"),
        ({"table": "r", "pages": "3"}, "no option 'pages'"),
        ({"table": "r", "partitions": "0"}, "at least 1"),
        ({"table": "r", "partitions": "many"}, "must be a number"),
        ({"table": "r", "deadline": "soon"}, "must be a number"),
    ],
)
def test_options_that_will_not_do(options: dict[str, str], message: str) -> None:
    with pytest.raises(fff.UsageError, match=message):
        Job.of(options)


def test_columns_of_one_name(publish: Publish) -> None:
    one = job(publish(pages(5, "total"), tables("total")), query="SELECT a, b AS A FROM r")
    with pytest.raises(fff.QueryError, match="two columns of the query are named A"):
        one.columns()


def test_a_part_of_the_answer_is_not_taken_for_the_whole(
    publish: Publish, caplog: pytest.LogCaptureFixture
) -> None:
    spec = publish(pages(60, "total"), tables("total"))
    with pytest.raises(fff.SourceError, match="the answer is incomplete: the budget of 2 requests"):
        rows_of(job(spec, table="r", max_requests="2"))
    assert len(rows_of(job(spec, table="r", max_requests="2", on_source_error="partial"))) in (10, 20)
    assert "the answer is incomplete" in caplog.text


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
