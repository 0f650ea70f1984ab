"""Nothing but queries passes the planner: whatever writes, manages or runs a program, wherever it stands."""

from __future__ import annotations

import itertools

import pytest
from planner_fakes import DEMO

from fff.errors import QueryError
from fff.sql import prepare, split_statements, table_names
from fff.sql.syntax.only_queries import _KNOWN
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.statement import exp
from tests.sampling import every

#: Statements that write, manage or run a program; each is put behind and into everything below.
FOREIGN = [
    "INSERT INTO victim SELECT zip FROM FEC",
    "INSERT INTO TABLE victim VALUES ('1')",
    "INSERT INTO victim TABLE FEC",
    "INSERT OVERWRITE victim SELECT zip FROM FEC",
    "INSERT OVERWRITE TABLE victim PARTITION (p = 1) SELECT zip FROM FEC",
    "INSERT INTO victim REPLACE WHERE a = 1 SELECT zip FROM FEC",
    "INSERT OVERWRITE DIRECTORY '/tmp/victim' SELECT zip FROM FEC",
    "INSERT OVERWRITE DIRECTORY '/tmp/victim' USING parquet SELECT zip FROM FEC",
    "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/victim' STORED AS ORC SELECT zip FROM FEC",
    "DELETE FROM victim",
    "DELETE FROM victim WHERE a IN (SELECT zip FROM FEC)",
    "UPDATE victim SET a = 1",
    "UPDATE victim SET a = 1 WHERE a = 2",
    "MERGE INTO victim v USING FEC ON v.a = FEC.zip WHEN MATCHED THEN DELETE",
    "MERGE INTO victim v USING FEC ON v.a = FEC.zip WHEN NOT MATCHED THEN INSERT *",
    "CREATE TABLE victim AS SELECT zip FROM FEC",
    "CREATE OR REPLACE TABLE victim USING csv AS SELECT zip FROM FEC",
    "CREATE TEMPORARY VIEW victim AS SELECT zip FROM FEC",
    "CREATE GLOBAL TEMP VIEW victim AS SELECT 1",
    "CREATE DATABASE victim",
    "CREATE FUNCTION victim AS 'a.B'",
    "REPLACE TABLE victim AS SELECT 1",
    "DROP TABLE victim",
    "DROP VIEW IF EXISTS victim",
    "DROP DATABASE victim CASCADE",
    "ALTER TABLE victim ADD COLUMN x int",
    "ALTER VIEW victim AS SELECT 1",
    "TRUNCATE TABLE victim",
    "CACHE TABLE victim AS SELECT 1",
    "CACHE LAZY TABLE victim",
    "UNCACHE TABLE victim",
    "REFRESH TABLE victim",
    "ANALYZE TABLE victim COMPUTE STATISTICS",
    "LOAD DATA INPATH '/x' INTO TABLE victim",
    "COPY INTO victim FROM '/x'",
    "COMMENT ON TABLE victim IS 'x'",
    "EXPORT DATA OPTIONS(uri='x') AS SELECT 1",
    "GRANT SELECT ON victim TO me",
    "MSCK REPAIR TABLE victim",
    "SET spark.x = 1",
    "SET VAR x = 1",
    "USE victim",
    "SHOW VIEWS IN FEC",
    "DESCRIBE DATABASE v",
    "EXPLAIN CODEGEN SELECT 1",
    "ADD JAR '/x.jar'",
    "ADD FILE '/x'",
    "LIST JARS",
    "CLEAR CACHE",
    "CALL victim()",
    "DECLARE x INT",
    "EXECUTE IMMEDIATE 'DROP TABLE victim'",
    "BEGIN DROP TABLE victim; END",
    "SELECT TRANSFORM(zip) USING 'cat' FROM FEC",
    "SELECT TRANSFORM(zip) USING 'cat' AS (a STRING) FROM FEC",
    "FROM FEC SELECT TRANSFORM(zip) USING 'cat'",
    "FROM FEC MAP zip USING 'cat' AS a",
    "FROM FEC REDUCE zip USING 'cat' AS a",
    "SELECT zip INTO victim FROM FEC",
    "SELECT zip FROM FEC FOR UPDATE",
    "SELECT java_method('java.lang.System', 'exit', 1)",
    "SELECT reflect('java.lang.System', 'exit', 1) FROM FEC",
    "SELECT `reflect`('java.lang.System', 'exit', 1) FROM FEC",
    "SELECT ReFlEcT('java.lang.System', 'exit', 1) FROM FEC",
    "SELECT try_reflect('java.lang.System', 'exit', zip) FROM FEC",
    "SELECT system.builtin.reflect('java.lang.System', 'exit', 1) FROM FEC",
    "SELECT zip FROM FEC WHERE java_method('a', 'b') = '1'",
    "SELECT IDENTIFIER('reflect')('java.lang.System', 'exit', 1)",
    "SELECT IDENTIFIER('ref' || 'lect')('java.lang.System', 'exit', 1) FROM FEC",
    "SELECT IDENTIFIER('system.builtin.reflect')('java.lang.System', 'exit', 1) FROM FEC",
    "SELECT system.builtin.IDENTIFIER('reflect')('java.lang.System', 'exit', 1) FROM FEC",
    "SELECT IDENTIFIER('system').builtin.reflect('java.lang.System', 'exit', 1) FROM FEC",
    "SELECT * FROM IDENTIFIER('ref' || 'lect')('java.lang.System', 'exit', 1)",
    "SELECT * FROM IDENTIFIER('csv.`/etc/passwd`')(1)",
    "SELECT * FROM IDENTIFIER('parquet.`/x`')",
    "SELECT * FROM csv.`/etc/passwd`",
    "SELECT * FROM text.`/etc/passwd`",
    "SELECT * FROM read_files('/etc/passwd')",
    "SELECT * FROM spark_catalog.a.b.victim",
]
AROUND = [
    "{}",
    "({})",
    "(({}))",
    "WITH z AS (SELECT zip FROM FEC) {}",
    "(WITH z AS (SELECT zip FROM FEC) {})",
    "WITH z AS (SELECT zip FROM FEC), y AS (SELECT 1) {}",
    "WITH RECURSIVE z AS (SELECT 1) {}",
    "WITH z AS (WITH y AS (SELECT 1) SELECT * FROM y) {}",
    "WITH z AS ({}) SELECT * FROM z",
    "FROM FEC f {}",
    "FROM (SELECT zip FROM FEC) q {}",
    "WITH z AS (SELECT 1) FROM z y {}",
    "SELECT * FROM ({})",
    "SELECT * FROM FEC JOIN ({}) q",
    "SELECT zip FROM FEC UNION {}",
    "SELECT zip FROM FEC UNION ALL ({})",
    "({}) EXCEPT SELECT 1",
    "SELECT ({})",
    "SELECT zip FROM FEC WHERE zip IN ({})",
    "SELECT zip FROM FEC WHERE EXISTS ({})",
    "SELECT zip FROM FEC, LATERAL ({})",
    "SELECT 1; {}",
    "{}; SELECT 1",
    "SELECT zip FROM FEC {}",
    "/* a */ {} -- b",
    "VALUES (1) {}",
]
MORE = [
    "FROM FEC INSERT INTO victim SELECT zip INSERT INTO victim2 SELECT id",
    "FROM FEC INSERT INTO victim SELECT zip WHERE id > 1 INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT id",
    "FROM FEC SELECT zip INSERT INTO victim SELECT id",
    "FROM (FROM FEC SELECT zip) q INSERT INTO victim SELECT *",
    "FROM FEC |> SELECT TRANSFORM(zip) USING 'cat'",
    "SELECT zip FROM FEC |> INSERT INTO victim",
    "PIVOT FEC ON zip USING count(*)",
    "SUMMARIZE FEC",
    "KILL 3",
    "COMMIT",
    "ATTACH 'x' AS y",
    "DETACH y",
    "PRAGMA x",
    "WITH z AS (x) SELECT * FROM z",
    "WITH z AS ((SELECT zip FROM FEC) JOIN crime USING (zip)) SELECT * FROM z",
    "WITH z AS (VALUES (1), (2) JOIN FEC ON true) SELECT * FROM z",
    "SELECT zip FROM FEC UNION (SELECT '1') JOIN crime",
    "zip",
    "1",
    "(1)",
]
#: What a list of forbidden words would hit as well: names, strings, comments, functions.
HARMLESS = [
    "SELECT 'INSERT INTO victim SELECT 1' FROM FEC",
    "SELECT zip AS insert FROM FEC -- DROP TABLE victim",
    "SELECT zip AS `drop`, id AS `update` FROM FEC /* DELETE FROM victim */",
    "SELECT replace(zip, 'a', 'b'), transform(array(id), x -> x + 1) FROM FEC",
    "WITH `delete` AS (SELECT zip FROM FEC) SELECT * FROM `delete`",
    "SELECT (SELECT max(zip) FROM FEC) AS comment FROM crime",
    "FROM FEC SELECT zip WHERE id > 1",
    "FROM FEC |> WHERE id > 1 |> SELECT zip",
    "VALUES (1), (2)",
    "((SELECT zip FROM FEC))",
    "WITH z AS ((SELECT zip FROM FEC) UNION (VALUES ('1'))) SELECT * FROM z",
    "SELECT * FROM range(3) r JOIN FEC ON r.id = FEC.id",
    "SELECT 'reflect', reflect FROM (SELECT zip AS reflect FROM FEC)",
    "SELECT DATE '2020-01-01' AS set, INTERVAL 1 DAY AS reset FROM FEC",
]


@pytest.mark.parametrize("step", every(2, [4, 1]))
def test_what_does_more_than_read_is_refused_wherever_it_stands(step: int) -> None:
    for number, foreign in enumerate(FOREIGN):
        for around in AROUND[number % step :: step]:
            refused(around.format(foreign))


def test_more_of_that_kind() -> None:
    for sql in MORE:
        refused(sql)


def refused(sql: str) -> None:
    """One error that says where; before anything is asked, so no table's columns are looked for either."""
    with pytest.raises(QueryError) as told:
        prepare(sql, DEMO)
    assert told.value.exit_code == 1
    assert told.value.span is not None, sql
    assert told.value.sql == sql
    assert told.value.render().count("^^^") or told.value.span.end - told.value.span.start < 3


@pytest.mark.parametrize("sql", HARMLESS)
def test_names_and_texts_are_no_statements(sql: str) -> None:
    assert prepare(sql, DEMO)
    assert split_statements(sql) == [sql.partition(" --")[0].partition(" /*")[0]]


@pytest.mark.parametrize(
    ("sql", "said", "place"),
    [
        (
            "WITH z AS (SELECT 1) INSERT OVERWRITE TABLE v SELECT * FROM z",
            "INSERT is not supported",
            "INSERT",
        ),
        ("FROM FEC INSERT INTO v SELECT zip INSERT INTO w SELECT id", "INSERT is not supported", "INSERT"),
        ("(WITH z AS (SELECT 1) DELETE FROM v)", "DELETE is not supported: FFF only reads", "DELETE"),
        ("WITH z AS (DROP TABLE v) SELECT 1", "DROP is not supported: FFF only reads", "DROP"),
        ("WITH z AS (SELECT 1) CACHE TABLE v AS SELECT 1", "CACHE is not supported: FFF only reads", "CACHE"),
        ("(EXPLAIN SELECT 1)", "EXPLAIN is not supported: FFF runs queries only", "EXPLAIN"),
        ("SELECT zip INTO v FROM FEC", "INTO is not supported: FFF only reads", "INTO"),
        ("SELECT upper(reflect('a', 'b')) FROM FEC", "reflect is not supported: it runs code", "reflect"),
        ("SELECT TRANSFORM(zip) USING 'x' FROM FEC", "TRANSFORM is not supported", "TRANSFORM"),
        ("SELECT max(comment) FRM w", 'syntax error at "w"', "w"),
    ],
)
def test_the_word_is_named_and_underlined(sql: str, said: str, place: str) -> None:
    with pytest.raises(QueryError, match=said) as told:
        prepare(sql, DEMO)
    assert told.value.span is not None
    assert sql[told.value.span.start : told.value.span.end] == place


def test_nothing_is_looked_up_for_a_statement_that_is_refused() -> None:
    """Tables are named, and asked for their columns, before a statement is planned."""
    for foreign, around in itertools.product(FOREIGN[:12], AROUND):
        with pytest.raises(QueryError):
            table_names(around.format(foreign))


def test_kinds_of_nodes_that_are_not_known_to_read_are_refused() -> None:
    """The parser's own classes decide, not a list of what writes: whatever it may learn to parse is refused at first."""
    kinds = [kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Expr)]
    writing = [
        kind for kind in kinds if issubclass(kind, (exp.DDL, exp.DML)) and not issubclass(kind, exp.Query)
    ]
    assert len(writing) > 5
    for kind in [
        *writing,
        exp.Command,
        exp.Drop,
        exp.Alter,
        exp.Set,
        exp.Use,
        exp.Show,
        exp.Copy,
        exp.Directory,
    ]:
        assert not issubclass(kind, _KNOWN), kind


def test_long_statements_are_judged_in_time() -> None:
    tree = parse_statement("SELECT " + ", ".join(f"id + {n}" for n in range(3000)) + " FROM FEC").tree
    assert len(tree.expressions) == 3000


@pytest.mark.parametrize("word", ["drop", "create", "when", "rollback", "INSERT"])
@pytest.mark.parametrize("behind", ["", " WHERE zip = '1'", " AS t", ", Crime"])
def test_a_table_that_is_called_like_a_word_of_sql_is_to_be_quoted(word: str, behind: str) -> None:
    """It was told that such statements are not supported, and to write a SELECT."""
    with pytest.raises(QueryError, match=f"syntax error: {word} is a word of SQL") as caught:
        parse_statement(f"SELECT * FROM s.{word}{behind}")
    assert f"`{word}`" in caught.value.render()
    assert "not supported" not in caught.value.render()
    with pytest.raises(QueryError, match="nothing stands behind"):
        parse_statement(f"SELECT * FROM s. {word}{behind}")
