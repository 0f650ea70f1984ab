"""SHOW TABLES, DESCRIBE, EXPLAIN and TABLE, and names that Spark makes: what is answered without being a SELECT."""

from __future__ import annotations

import planner_fakes
import pyarrow as pa
import pytest
import shapes

from fff.errors import QueryError
from fff.result.row_sink import RowSink
from fff.spark.session import SparkEngine
from fff.sql import explain, parameter_names, prepare, table_names
from fff.structs import replace

CATALOG = planner_fakes.catalog(
    planner_fakes.table("w.r", "x string, v int, a array<int>", scans=1),
    planner_fakes.table("w.s", "x string, v int", scans=1),
    planner_fakes.table("other.rest", "x decimal(5,2)", scans=1),
    replace(planner_fakes.table("w.grade", "x int, v int"), function=True),
)


def rows(sql: str) -> list[dict[str, object]]:
    prepared = prepare(sql, CATALOG)
    assert not prepared.blocks
    batches = RowSink(prepared, hold=True, enough=lambda: None).begin()
    return pa.Table.from_batches(batches).to_pylist() if batches else []


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SHOW TABLES", ["w.r", "w.s", "other.rest"]),
        ("show tables from `w`;", ["w.r", "w.s"]),
        ("SHOW TABLES IN other LIKE 'R*'", ["other.rest"]),
        ("SHOW TABLES 'r|s'", ["w.r", "w.s"]),
        ("SHOW TABLES LIKE 'nothing'", []),
        ("SHOW TABLES -- all of them", ["w.r", "w.s", "other.rest"]),
        ("-- all\nSHOW /* those */ TABLES IN w -- of w\n LIKE 's' ;", ["w.s"]),
    ],
)
def test_tables_are_shown(sql: str, names: list[str]) -> None:
    found = rows(sql)
    assert [f"{row['namespace']}.{row['tableName']}" for row in found] == names
    assert not any(row["isTemporary"] for row in found)


def test_sources_and_columns_are_shown() -> None:
    assert [row["namespace"] for row in rows("SHOW SCHEMAS")] == ["w", "other"]
    assert [row["namespace"] for row in rows("SHOW DATABASES LIKE 'o*' -- some")] == ["other"]
    for sql in ("SHOW COLUMNS FROM r", "show columns in w.r -- c", "SHOW COLUMNS IN r IN w;"):
        assert [row["col_name"] for row in rows(sql)] == ["x", "v", "a"]
        assert table_names(sql)[0][-1] == "r"


def test_functions_are_shown() -> None:
    assert {"abs", "upper"} <= {row["function"] for row in rows("SHOW FUNCTIONS")}
    assert [row["function"] for row in rows("show system functions like 'ARRAY_MA*|upper'")] == [
        "array_max",
        "upper",
    ]
    assert rows("SHOW USER FUNCTIONS") == [{"function": "w.grade"}]


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW COLUMNS",
        "SHOW TABLES nothing",
        "SHOW",
        "DESCRIBE r x y",
        "DESCRIBE",
        "SHOW VIEWS",
        "DESC SCHEMA w",
    ],
)
def test_what_is_no_such_command_is_refused(sql: str) -> None:
    with pytest.raises(QueryError):
        prepare(sql, CATALOG)


@pytest.mark.parametrize(
    "sql",
    [
        "DESCRIBE r",
        "desc w.r;",
        "DESCRIBE TABLE EXTENDED `r`",
        "DESCRIBE FORMATTED w . r -- c",
        "/* c */ DESC TABLE r",
    ],
)
def test_a_table_is_described(sql: str) -> None:
    assert table_names(sql)[0][-1] == "r"
    assert [(row["col_name"], row["data_type"]) for row in rows(sql)] == [
        *(("x", "string"), ("v", "int"), ("a", "array<int>"))
    ]


@pytest.mark.parametrize("sql", ["DESC r V", "describe table w.r r.V;", "DESCRIBE r w.r.`V` -- c"])
def test_a_column_is_described(sql: str) -> None:
    told = ["col_name", "data_type", "comment"]
    assert [tuple(row.values()) for row in rows(sql)] == list(zip(told, ("V", "int", "NULL"), strict=True))
    assert [row["info_name"] for row in rows("DESC EXTENDED r v")][3:5] == ["min", "max"]


def test_what_is_not_there_is_not_described() -> None:
    with pytest.raises(QueryError, match="unknown table t"):
        prepare("DESCRIBE t", CATALOG)
    refused_at = planner_fakes.refused_at
    assert refused_at("DESCRIBE r nope;", "nope", CATALOG) == "unknown column nope of w.r"
    assert refused_at("DESC r q.v", "q.v", CATALOG) == "unknown column q.v of w.r"


@pytest.mark.parametrize(
    "sql", ["DESCRIBE QUERY {}", "DESC {};", "describe query WITH q AS ({}) SELECT * FROM q"]
)
def test_a_query_is_described_where_no_spark_is_needed(sql: str) -> None:
    found = rows(sql.format("SELECT v, NULL AS n, a AS `an array` FROM r"))
    assert [tuple(one.values()) for one in found] == [
        ("v", "int", None),
        ("n", "void", None),
        ("an array", "array<int>", None),
    ]


def test_what_a_query_that_is_described_lacks_is_underlined() -> None:
    refused_at = planner_fakes.refused_at
    assert refused_at("DESCRIBE QUERY SELECT nope FROM r", "nope", CATALOG) == "unknown column nope"
    refused = refused_at("DESCRIBE SELECT max(v) FROM r", "SELECT max(v) FROM r", CATALOG)
    assert "only Spark can tell" in refused


def test_a_plan_is_explained_in_a_row() -> None:
    sql = "SELECT x FROM r WHERE v = :v"
    assert parameter_names(f"EXPLAIN {sql}") == {"v"}
    planned = prepare(f"EXPLAIN {sql}", CATALOG, {"v": 1})
    assert planned.result is not None
    [branch] = planned.result.branches
    assert str(branch.values[0]).find("r.scan") > 0
    assert rows("EXPLAIN SELECT x FROM r") == [{"plan": explain(prepare("SELECT x FROM r", CATALOG))}]
    for how in ("EXTENDED", "formatted", "/* c */ COST -- d\n"):
        assert rows(f"EXPLAIN {how} SELECT x FROM r") == rows("EXPLAIN SELECT x FROM r")
    with pytest.raises(QueryError) as raised:
        prepare("EXPLAIN\n SELECT nope FROM r", CATALOG)
    assert raised.value.render().splitlines()[1:3] == ["  2 |  SELECT nope FROM r", "              ^^^^"]


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("TABLE r", "SELECT * FROM r"),
        ("TABLE r UNION ALL (TABLE r) LIMIT 3", "SELECT * FROM r UNION ALL (SELECT * FROM r) LIMIT 3"),
        ("WITH q AS (TABLE s) TABLE q", "WITH q AS (SELECT * FROM s) SELECT * FROM q"),
        ("SELECT x FROM r |> UNION ALL SELECT x FROM s", "SELECT x FROM r |> UNION ALL (SELECT x FROM s)"),
        ("TABLE r |> UNION TABLE r |> LIMIT 3", "FROM r |> UNION (SELECT * FROM r) |> LIMIT 3"),
        ("TABLE r |> LIMIT 3", "FROM r |> LIMIT 3"),
        (
            "(TABLE r |> DROP v) UNION ALL VALUES ('a')",
            "(FROM r |> SELECT * EXCEPT ( v)) UNION ALL VALUES ('a')",
        ),
        ("FROM r |> DROP v, x |> LIMIT 1", "FROM r |> SELECT * EXCEPT ( v, x) |> LIMIT 1"),
        ("VALUES (1), (2) |> WHERE col1 > 1", "FROM VALUES (1), (2) |> WHERE col1 > 1"),
        ("VALUES (1), (2) LIMIT 1", "SELECT * FROM VALUES (1), (2) LIMIT 1"),
        (
            "TABLE r |> EXCEPT DISTINCT VALUES (1), (2) ORDER BY 1",
            "FROM r |> EXCEPT DISTINCT (VALUES (1), (2)) ORDER BY 1",
        ),
        ("SELECT x FROM r WHERE (x, v) IN (TABLE s)", "SELECT x FROM r WHERE (x, v) IN (SELECT * FROM s)"),
    ],
)
def test_a_table_stands_for_its_rows(sql: str, same: str) -> None:
    found, expected = prepare(sql, CATALOG), prepare(same, CATALOG)
    assert found.blocks == expected.blocks
    assert (found.upper and found.upper.sql) == (expected.upper and expected.upper.sql)
    assert found.sql == sql


def test_errors_beside_a_table_underline_what_was_written() -> None:
    sql = "TABLE r UNION ALL SELECT x, v, nope FROM r"
    with pytest.raises(QueryError) as raised:
        prepare(sql, CATALOG)
    assert raised.value.render().splitlines()[1] == f"  1 | {sql}"
    assert raised.value.span is not None
    assert sql[raised.value.span.start : raised.value.span.end] == "nope"


TAKEN = [
    "FROM r |> SELECT x, v |> SET v = v + 1, x = upper(x)", "FROM r |> SELECT v |> ORDER BY v NULLS LAST |> OFFSET 2",
    "SELECT v FROM r |> LIMIT 9", "SELECT v FROM r |> WHERE v > 1 |> EXTEND v * 2 AS w |> SET v = w |> DROP w",
    "SELECT `max(v)` FROM (SELECT max(v) FROM r)", "SELECT q.`(v + 1)` FROM (SELECT v + 1 FROM r) q",
    "SELECT col FROM (SELECT explode(a) FROM r)", "SELECT key, value FROM (SELECT explode(map('a', 1)))",
    "SELECT c0 FROM (SELECT json_tuple(x, 'a') FROM r)", "SELECT abc FROM (SELECT 'abc')",
    "SELECT x, count(*) FROM r GROUP BY x HAVING `count(1)` > 1", "SELECT x, count(*) FROM r GROUP BY x ORDER BY `count(1)`",
    "SELECT window.start, count(*) FROM (SELECT current_timestamp() AS ts FROM r) GROUP BY window(ts, '1 hour')",
    "SELECT x, first_value(v, false) OVER (ORDER BY x), last_value(v, FALSE) OVER (ORDER BY x, v) FROM r",
    "SELECT /*+ REPARTITION(3), COALESCE(1) */ x FROM r", "SELECT /*+ MERGE(s) */ r.x FROM r JOIN s ON r.x = s.x",
    "SELECT try_parse_json(x):a.b::int AS n, try_parse_json(x):a[0]['b c']::string AS s FROM r",
    "SELECT v:a.b::string AS s FROM (SELECT try_parse_json(x) AS v FROM r) WHERE v:k::int IS NULL",
    "SELECT r.x FROM ((r JOIN s ON r.x = s.x) JOIN s t ON t.x = r.x)",
    "SELECT 1 FROM (((r JOIN s ON r.x = s.x) JOIN s t ON t.x = r.x) LEFT JOIN s u ON u.x = r.x)",
]  # fmt: skip


@pytest.mark.parametrize("sql", TAKEN)
def test_what_spark_takes_is_taken(sql: str) -> None:
    prepare(sql, CATALOG)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT nmae FROM (SELECT max(v), x FROM r)", "SELECT count(*) FROM r ORDER BY nmae",
        "SELECT `no such` FROM r", "SELECT window.start FROM r",
        "SELECT (SELECT `no such` FROM s) FROM r",
    ],
)  # fmt: skip
def test_a_name_that_nothing_has_is_told(sql: str) -> None:
    with pytest.raises(QueryError, match="unknown"):
        prepare(sql, CATALOG)


NESTED = [
    "((r JOIN s USING (x)) JOIN s t USING (x))", "((r JOIN s ON r.x = s.x) JOIN s t ON s.x = t.x)",
    "r JOIN (s JOIN s t ON s.x = t.x) ON r.x = s.x", "((((r)) JOIN (s) ON r.x = s.x)) JOIN s t ON (s.x = t.x)",
]  # fmt: skip


@pytest.mark.parametrize(
    "joins", ["r JOIN s JOIN s t ON s.x = t.x ON r.x = s.x", "r JOIN (s) JOIN s t USING (x) USING (x)"]
)
def test_conditions_that_stand_behind_several_joins_are_refused_as_by_spark(joins: str) -> None:
    with pytest.raises(QueryError):
        prepare(f"SELECT 1 FROM {joins}", CATALOG)


@pytest.mark.parametrize("joins", NESTED)
def test_every_condition_of_nested_joins_joins(joins: str) -> None:
    prepared = prepare(f"SELECT r.v FROM {joins}", CATALOG)
    assert prepared.only_block.equalities == (("r.x", "s.x", "t.x"),)


@pytest.mark.spark
@pytest.mark.slow
def test_their_rows_are_those_of_spark(spark: SparkEngine) -> None:
    text, number = pa.array(["a", "a", "b", None]), pa.array([1, 2, 2, None], pa.int32())
    lists = pa.array([[1, 2], [], None, [3]], pa.list_(pa.int32()))
    data = {"r": pa.table({"x": text, "v": number, "a": lists}), "s": pa.table({"x": text, "v": number})}
    for sql in [*TAKEN, *(f"SELECT r.v, s.v AS w, t.v AS u FROM {joins}" for joins in NESTED)]:
        if "current_timestamp" in sql:
            continue
        got, expected = shapes.Run(prepare(sql, CATALOG), data, spark).result(), spark.run_over(sql, data)
        assert got.column_names == expected.column_names, sql
        assert shapes.bag(got) == shapes.bag(expected), sql
