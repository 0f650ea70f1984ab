"""Spark is asked for nothing but queries: tables and folders stay as they are, whatever reaches Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fff.catalog import Catalog
from fff.errors import QueryError, SparkError
from fff.federation import Federation
from fff.spark import bridge
from fff.spark.bridge import Session
from fff.spark.session import SparkEngine
from fff.sql.syntax import only_queries

ROWS = pa.table({"a": [1, 2, 3]})
#: `{folder}` is one that is not there before.
FOREIGN = [
    "WITH z AS (SELECT a FROM w) INSERT OVERWRITE TABLE victim SELECT a FROM z",
    "WITH z AS (SELECT a FROM w) INSERT INTO victim SELECT a FROM z",
    "FROM w INSERT INTO victim SELECT 1",
    "FROM w INSERT INTO victim SELECT a INSERT OVERWRITE TABLE victim SELECT a WHERE a > 1",
    "INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT a FROM w",
    "WITH z AS (SELECT a FROM w) INSERT OVERWRITE DIRECTORY '{folder}' USING json SELECT a FROM z",
    "FROM w INSERT OVERWRITE DIRECTORY '{folder}' USING parquet SELECT a",
    "FROM w SELECT TRANSFORM(a) USING 'touch {folder}'",
    "SELECT a FROM w WHERE EXISTS (SELECT TRANSFORM(a) USING 'touch {folder}' FROM w)",
    "WITH z AS (FROM w MAP a USING 'touch {folder}' AS b) SELECT * FROM z",
    "TRUNCATE TABLE victim",
    "DROP TABLE victim",
    "ALTER TABLE victim RENAME TO gone",
    "CREATE TABLE other USING csv LOCATION '{folder}' AS SELECT a FROM w",
    "CREATE TEMPORARY VIEW other AS SELECT a FROM w",
    "CACHE TABLE other AS SELECT a FROM w",
    "SET spark.sql.ansi.enabled = false",
    "RESET",
    "ADD FILE '/etc/hosts'",
    "USE nowhere",
    "BEGIN INSERT INTO victim SELECT 1; END",
    "EXECUTE IMMEDIATE 'DROP TABLE victim'",
    # What the parser of the planner and Spark's own do not read alike.
    "SELECT 1 /* /* */ AS x */ ; DROP TABLE victim",
]


@pytest.fixture
def session(spark: SparkEngine, tmp_path: Path) -> Iterator[Any]:
    """A session of Spark with a table that somebody would miss."""
    spark.wait()
    assert spark._session is not None
    session = spark._session.spark
    where = tmp_path / "victim"
    session.sql(f"CREATE TABLE victim (a INT) USING parquet LOCATION '{where}'")
    session.sql("INSERT INTO victim VALUES (7)")
    yield session
    session.sql("DROP TABLE IF EXISTS victim")


def what_is_touched(session: Any, folder: Path) -> str:
    """What is not as it was; nothing when all is."""
    if not session.catalog.tableExists("victim"):
        return "the table is gone"
    kept = {
        "the table's rows": [row[0] for row in session.sql("SELECT a FROM victim").collect()] == [7],
        "a folder": not folder.exists(),
        "a setting": session.conf.get("spark.sql.ansi.enabled") == "true",
        "a table that was not there": not session.catalog.tableExists("other"),
        "files": session.sql("LIST FILES").collect() == [],
    }
    return ", ".join(name for name, as_it_was in kept.items() if not as_it_was)


@pytest.mark.slow
@pytest.mark.spark
def test_spark_itself_is_asked_for_queries_only(spark: SparkEngine, session: Any, tmp_path: Path) -> None:
    folder, wrong = tmp_path / "folder", []
    for text in FOREIGN:
        for call in (spark.run_over, spark.check):
            try:
                call(text.format(folder=folder), {"w": ROWS})
                wrong.append(f"{call.__name__} takes {text}")
            except SparkError:
                pass
    assert not wrong, "\n".join(wrong)
    assert not what_is_touched(session, folder)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("planner_checks", [True, False])
async def test_a_table_stays_as_it_is_whatever_the_statement(
    spark: SparkEngine,
    session: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    planner_checks: bool,
) -> None:
    """Through the front door; and with the planner's own check taken away, what follows refuses it still."""
    folder = tmp_path / "folder"
    if not planner_checks:
        monkeypatch.setattr(only_queries, "_KNOWN", (object,))
        monkeypatch.setattr(only_queries, "_REFUSED", {})
        monkeypatch.setattr(only_queries, "is_query", lambda node: True)
    reached = 0
    async with Federation(Catalog()) as federation:
        for text in FOREIGN:
            sql = text.replace("FROM w", "FROM VALUES (1) w(a)").format(folder=folder)
            with pytest.raises(QueryError) as refused:
                await run(federation, sql)
            assert refused.value.exit_code == 1
            reached += isinstance(refused.value, SparkError)
        assert not what_is_touched(session, folder)
    assert bool(reached) is not planner_checks


async def run(federation: Federation, sql: str) -> None:
    async for _ in federation.execute(federation.prepare(sql)).batches():
        pass


@pytest.mark.slow
@pytest.mark.spark
def test_without_the_guard_a_table_is_lost(
    spark: SparkEngine, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the tests above could not fail."""
    monkeypatch.setattr(bridge, "check_is_query", lambda spark, sql: None)
    with pytest.raises(SparkError, match="no column"):  # when it has run
        spark.run_over(FOREIGN[1], {"w": ROWS})
    assert what_is_touched(session, tmp_path / "folder") == "the table's rows"


@pytest.mark.slow
@pytest.mark.spark
def test_texts_that_name_a_script_are_queries(spark: SparkEngine) -> None:
    found = spark.run_over("SELECT 'ScriptTransformation x' AS s, a FROM w WHERE a = 1", {"w": ROWS})
    assert found.to_pylist() == [{"s": "ScriptTransformation x", "a": 1}]


class Server:
    """What a Spark Connect session has of SQL, without a JVM in reach: what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.conf = self
        self.catalog = self

    def set(self, name: str, value: str) -> None:
        """A setting."""

    def sql(self, text: str) -> object:
        self.asked.append(text)
        if text.startswith("DESCRIBE QUERY INSERT"):
            raise bridge.PySparkException("Syntax error at or near 'INSERT'")
        return self

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        return pa.table({"col_name": ["1"], "data_type": ["int"]})


def test_a_server_is_asked_first_whether_it_is_a_query() -> None:
    server = Server()
    session = Session(server, reads_files=False)
    session.check("SELECT 1", {})
    session.check("SELECT 1", {})
    assert server.asked[:2] == ["DESCRIBE QUERY SELECT 1", "SELECT 1"]
    assert set(server.asked[2:]) == {"DESCRIBE QUERY SELECT 1"}
    with pytest.raises(SparkError, match="INSERT"):
        session.query("INSERT INTO victim SELECT 1", {})
    assert "INSERT INTO victim SELECT 1" not in server.asked
