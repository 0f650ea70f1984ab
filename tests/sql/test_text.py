"""Statements of a text, parameters, and the texts of errors that no statement of the table shows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from planner_fakes import DEMO, catalog, table

from fff.catalog import Catalog
from fff.errors import InfeasibleQuery, QueryError, UnsupportedSQL, UsageError
from fff.sql import parameter_names, prepare, split_statements
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.spark_functions import check_arguments

#: Words of SQL that stood for themselves behind a colon.
WORDS = """
all alter and as between create cross current_date current_timestamp distinct drop else end except fetch for from grant group having
ilike inner insert intersect into join lateral like minus not null on or order outer qualify rlike select tablesample then union using
values when where with
"""


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ; ;; -- nothing\n /* at ; all */ ;", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1; SELECT 2 ;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';' -- ; here\n, `;`; -- the end", ["SELECT ';' -- ; here\n, `;`"]),
        (
            "-- first\nSELECT 1 /* ; */ + 1;\nSELECT 'it\\'s; so'",
            ["SELECT 1 /* ; */ + 1", "SELECT 'it\\'s; so'"],
        ),
    ],
)
def test_split(text: str, statements: list[str]) -> None:
    assert split_statements(text) == statements


@pytest.mark.parametrize(
    "text", ["VALUES ()", "SELECT * FROM VALUES (1), () AS v(x)", "SELECT 1 IN (VALUES ())"]
)
def test_a_row_has_values(text: str) -> None:
    with pytest.raises(QueryError, match=r"syntax error.*expecting values"):
        parse_statement(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 'a; SELECT 2", "this string does not end\n  1 | SELECT 'a; SELECT 2\n             ^"),
        ("SELECT 1;\nSELECT `a", "this quoted name does not end\n  2 | SELECT `a\n             ^"),
        ("SELECT 1 /* no end", "this comment does not end\n  1 | SELECT 1 /* no end\n               ^"),
    ],
)
def test_what_does_not_end(text: str, message: str) -> None:
    with pytest.raises(QueryError) as error:
        split_statements(text)
    assert error.value.render() == f"syntax error: {message}"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT * FORM R", "did you mean FROM?"),
        ("SELECT a FROM t x WHRE x = 1", "did you mean WHERE?"),
        ("SELECT a FROM t JION u ON a = b", "did you mean JOIN?"),
        ("SELECT a FROM t GROUP a", "did you mean GROUP BY?"),
        ("SELECT 1 +", "write what belongs there, or leave + out"),
        ("SELECT a FROM t WHERE a NOT", "write what belongs there, or leave NOT out"),
        ("SELECT a FROM t LEFT u", "LEFT is a word of SQL: "),
        ("SELECT a FROM t\nSELECT b FROM t", "does a ; belong before it, which ends a statement?"),
        ("SELECT a FROM t SELECT b", "SELECT is a word of SQL: "),
        ("SELECT a b c FROM t", "is a comma, an operator or a bracket missing before it, or one too many?"),
        ("HERE FROM t", "a query begins with SELECT, WITH, FROM or VALUES"),
        (
            "SELECT a FROM my-hr.my-emp WHERE a > 1",
            "write names with other signs in backticks: `my-hr`.`my-emp`",
        ),
        (
            "SELECT a FROM t JOIN hr.my-emp e ON e.a-1 = t.a",
            "write names with other signs in backticks: hr.`my-emp`",
        ),
        ("SELECT a FROM t, my-emp", "write names with other signs in backticks: `my-emp`"),
        (
            "SELECT a FROM t WHERE a IN (SELECT b FROM my-emp)",
            "write names with other signs in backticks: `my-emp`",
        ),
        ("SELECT a FROM hr.2024", "write names with other signs in backticks: hr.`2024`"),
        ("SELECT a FROM 2024-emp", "write names with other signs in backticks: `2024-emp`"),
        ("SELECT a FROM my-file.csv", "write a file in quotes: 'my-file.csv'; names with other signs"),
        ("SELECT a FROM t - 2", "is a comma, an operator or a bracket missing before it, or one too many?"),
        ("SELECT a FROM t LIMIT 2 WHERE a > 1", "write it in front of LIMIT"),
        ("SELECT a FROM t LIMIT 1 UNION SELECT b FROM u", "put brackets around the query that has LIMIT"),
    ],
)
def test_syntax_errors_say_what_may_have_been_meant(text: str, hint: str) -> None:
    with pytest.raises(QueryError, match="syntax error") as error:
        parse_statement(text)
    assert (error.value.hint or "").startswith(hint)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT abs(a, (3)) FROM t", "abs takes at most 1 argument, not 2\n  1 | SELECT abs(a, (3)) FROM t\n             ^^^"),
        ("SELECT '漢é字', abs(a, 3) FROM t", "abs takes at most 1 argument, not 2\n  1 | SELECT '漢é字', abs(a, 3) FROM t\n                      ^^^"),
        ("SELECT 1 + upper() FROM t", "upper takes at least 1 argument, not 0\n  1 | SELECT 1 + upper() FROM t\n                 ^^^^^"),
    ],
)  # fmt: skip
def test_a_call_with_too_many_or_no_arguments_is_told_as_such(text: str, message: str) -> None:
    with pytest.raises(QueryError) as error:
        parse_statement(text)
    assert error.value.render() == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("mod(a, 3, 2)", "mod takes 2 arguments, not 3"),
        ("element_at(a, 1, 2)", "element_at takes 2 arguments, not 3"),
        ("position('a', s, 1, 2)", "position takes 2 or 3 arguments, not 4"),
        ("to_utc_timestamp(ts, 'UTC', 1)", "to_utc_timestamp takes 2 arguments, not 3"),
    ],
)
def test_arguments_that_the_parser_drops_are_told(call: str, message: str) -> None:
    with pytest.raises(QueryError) as error:
        check_arguments(parse_statement(f"SELECT {call} FROM t"))
    name = call.partition("(")[0]
    assert error.value.render() == f"{message}\n  1 | SELECT {call} FROM t\n             {'^' * len(name)}"


@pytest.mark.parametrize("text", ["", "  ", "-- nothing", ";"])
def test_no_statement(text: str) -> None:
    with pytest.raises(QueryError, match="there is no SQL to run"):
        prepare(text, DEMO)


def test_parameter_names() -> None:
    assert parameter_names("SELECT ':no', a FROM t -- :no\nWHERE x = :yes AND y=:also") == {"yes", "also"}


@pytest.mark.parametrize("word", sorted(WORDS.split()))
def test_a_parameter_may_be_called_by_any_word(word: str) -> None:
    sql = f"SELECT CASE WHEN id = :{word} THEN id ELSE :{word} END AS z FROM FEC WHERE (id BETWEEN 0 AND :{word}) AND id IN (:{word}, 2)"
    assert parameter_names(sql) == {word}
    assert prepare(sql, DEMO, {word: 1}).sql == sql


@pytest.mark.parametrize(
    ("value", "seeds"),
    [
        ("94704", (("94704",),)),
        ("it's", (("it's",),)),
        ("a\\b' OR 1=1 --", (("a\\b' OR 1=1 --",),)),
        (None, ()),
    ],
)
def test_string_parameters_bind_keys(value: object, seeds: tuple[tuple[object, ...], ...]) -> None:
    prepared = prepare("SELECT zip FROM Demographics WHERE zip = :zip", DEMO, {"zip": value})
    assert prepared.only_block.plan.aliases[0].seeds[0].keys == seeds
    assert prepared.only_block.plan.limit == (None if seeds else 0)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (5, "5"),
        (-5, "(-5)"),
        (True, "TRUE"),
        (None, "NULL"),
        (1.5, "(1.5D)"),
        (float("inf"), "CAST('Infinity' AS DOUBLE)"),
        (Decimal("1.50"), "(1.50BD)"),
        ("it's", r"'it\'s'"),
        ("a\\", r"'a\\'"),
        ("x' OR '1'='1", r"'x\' OR \'1\'=\'1'"),
        (dt.date(2020, 2, 29), "DATE '2020-02-29'"),
        (
            dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=1))),
            "TIMESTAMP '2020-01-01 11:00:00Z'",
        ),
        (dt.datetime(2020, 1, 1, 12, 0, 0, 5), "TIMESTAMP_NTZ '2020-01-01 12:00:00.000005'"),  # noqa: DTZ001
    ],
)
def test_parameters_reach_spark_as_literals(value: object, written: str) -> None:
    prepared = prepare("SELECT concat(State, :x) FROM FEC", DEMO, {"x": value})
    assert prepared.upper is not None
    assert prepared.upper.sql == f"SELECT concat(State, {written}) FROM __fff_block"


def test_a_limit_from_the_command_line_is_a_number() -> None:
    assert prepare("SELECT id FROM FEC LIMIT :n", DEMO, {"n": "7"}).only_block.plan.limit == 7
    upper = prepare("SELECT id FROM FEC ORDER BY id LIMIT :n", DEMO, {"n": "7"}).upper
    assert upper is not None
    assert upper.sql.endswith("ORDER BY id LIMIT 7")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "parameter :zip has no value\n  give it one with -p zip=VALUE"),
        (
            {"zp": "1"},
            "parameter :zip has no value\n  give it one with -p zip=VALUE: zp has one, and the SQL has no :zp",
        ),
        (
            {"code": "1"},
            "parameter :zip has no value\n  give it one with -p zip=VALUE: code has one, and the SQL has no :code",
        ),
        (
            {"zip": "1", "more": 2},
            """parameter more is not used: the SQL has no :more
  leave it out, or write :more where its value belongs""",
        ),
        ({"zip": "1", "zipp": 2}, "parameter zipp is not used: the SQL has no :zipp\n  did you mean zip?"),
        (
            {"zip": [1]},
            """parameter zip has a value of type list, which SQL has no literal for
  use a number, a string, a Boolean, a date, a datetime or None""",
        ),
    ],
)
def test_wrong_parameters(params: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as error:
        prepare("SELECT * FROM crime WHERE zip = :zip", DEMO, params)
    assert error.value.render() == message
    assert error.value.exit_code == 2


def test_ambiguous_table() -> None:
    both = catalog(table("a.t", "x int", scans=1), table("b.t", "x int", scans=1))
    with pytest.raises(QueryError) as error:
        prepare("SELECT x FROM t", both)
    assert error.value.render() == (
        "table t is ambiguous: a.t, b.t\n  1 | SELECT x FROM t\n                    ^\n  write source.table"
    )
    assert prepare("SELECT t.x FROM b.t", both).only_block.plan.tables[0].name == "b.t"


def test_unknown_table_says_where_tables_come_from() -> None:
    with pytest.raises(QueryError) as error:
        prepare("SELECT x FROM nowhere", Catalog())
    assert error.value.hint is not None
    assert "FFF_SOURCES" in error.value.hint


@pytest.mark.parametrize(
    ("declared", "sql", "message"),
    [
        ({}, "SELECT x FROM t", "a.t cannot be read: its source declares no scan"),
        ({"scans": 1, "required": "x"}, "SELECT x FROM t", "its source declares no scan"),
        ({"scans": 1, "required": "x", "lookups": ("x",)}, "SELECT x FROM t", "nothing binds x"),
        ({"lookups": ("x", "y")}, "SELECT x FROM t", "nothing binds x or y"),
        ({"lookups": ("x,y",)}, "SELECT x FROM t", "nothing binds x and y"),
        ({"lookups": ("x,y",)}, "SELECT x FROM t WHERE x = 1", "nothing binds y"),
        ({"lookups": ("x", "y"), "required": "x"}, "SELECT x FROM t WHERE y = 1", "nothing binds x"),
        (
            {"scans": 1, "lookups": ("x", "y"), "any_of": "x"},
            "SELECT x FROM t WHERE y = 1",
            "nothing binds x",
        ),
        (
            {"lookups": ("y",)},
            "SELECT x FROM t WHERE y = '1a'",
            "y is of type int: y = '1a' does not compare it with one exactly",
        ),
    ],
)
def test_infeasible(declared: dict[str, object], sql: str, message: str) -> None:
    with pytest.raises(InfeasibleQuery) as error:
        prepare(sql, catalog(table("a.t", "x int, y int", **declared)))
    assert message in error.value.render()
    assert error.value.exit_code == 1


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("k IN (1, 50, 97, 99) AND k > 95", [97, 99]),
        ("k IN (1, 50, 100) AND k % 50 = 0", [50, 100]),
        ("k BETWEEN 11 AND 15 AND k NOT IN (14)", [11, 12, 13, 15]),
        ("k IN (5, 6, 7) AND k > :least", [6, 7]),
        ("k IN (1, 2) AND v > 1", [1, 2]),
        ("k IN (1, 2) AND 1 / (k - 1) > 0", [1, 2]),  # which may fail, of rows that are there
        ("k IN (1, 2) AND k > 5", []),
        ("s IN ('a1', 'b1') AND s LIKE 'a%'", ["a1"]),
        ("d IN (0.0D, 1D) AND length(CAST(d AS STRING)) = 4", [0.0, 1.0]),  # as -0.0 has
        ("m IN (1.5, 2.55, 3) AND m > 1", [Decimal("1.5"), Decimal(3)]),  # 2.55 is none of m
    ],
)
def test_constants_that_another_condition_of_the_column_rejects_are_not_asked_for(
    where: str, keys: list[object]
) -> None:
    columns = "k int, v int, s string, d double, m decimal(5,1)"
    tables = catalog(table("a.t", columns, lookups=("k", "s", "d", "m")))
    for sql in (f"SELECT v FROM t WHERE {where}", f"SELECT v FROM (SELECT * FROM t) q WHERE {where}"):
        blocks = prepare(sql, tables, params={"least": 5} if ":" in where else None).blocks
        seeds = [seed for block in blocks for alias in block.plan.aliases for seed in alias.seeds]
        assert [key for seed in seeds for (key,) in seed.keys] == keys


def test_and_so_are_those_that_a_condition_of_an_equal_column_rejects() -> None:
    tables = catalog(table("a.t", "k int, v int", lookups=("k",)), table("a.u", "k bigint", lookups=("k",)))
    plan = prepare(
        "SELECT v FROM t JOIN u USING (k) WHERE u.k IN (1, 8, 9) AND t.k > 7", tables
    ).only_block.plan
    assert [alias.seeds[0].keys for alias in plan.aliases] == [((8,), (9,))] * 2


def test_required_key_columns_are_bound_by_constants() -> None:
    one = catalog(table("a.t", "x int, y int", scans=1, required="x", lookups=("x", "y")))
    plan = prepare("SELECT y FROM t WHERE x = 5 AND y = 6", one).only_block.plan
    assert not plan.tables[0].scans
    assert [lookup.name for lookup in plan.tables[0].lookups] == ["t.lookup[x]"]


@pytest.mark.slow
def test_too_many_constants_are_scanned_for_instead() -> None:
    listed = ", ".join(f"'{n}'" for n in range(10_001))
    plan = prepare(f"SELECT zip FROM crime WHERE zip IN ({listed})", DEMO).only_block.plan
    assert plan.tables[0].scans
    assert not plan.aliases[0].seeds


def test_windows_keep_the_host_busy() -> None:
    one = catalog(table("a.t", "x int", lookups=("x*20",), max_in_flight=3))
    lookup = prepare("SELECT x FROM t WHERE x = 5", one).only_block.plan.tables[0].lookups[0]
    assert (lookup.batch_size, lookup.window) == (20, 6)


def test_more_tables_than_stamps_have_room_for_are_refused() -> None:
    tables = ", ".join(f"FEC t{number}" for number in range(65))
    with pytest.raises(UnsupportedSQL, match="at most 64 tables, this one 65"):
        prepare(f"SELECT t0.id FROM {tables}", DEMO)


def test_columns_of_priorities_are_fetched_too() -> None:
    plain = prepare("SELECT F.zip FROM FEC F, crime C WHERE F.zip = C.zip", DEMO)
    assert [field.name for field in plain.only_block.plan.tables[0].columns] == ["id", "zip"]
    wished = prepare(
        "SELECT F.zip FROM FEC F, crime C WHERE F.zip = C.zip", DEMO, {}, ["F.State = 'CA'", "year > 2010"]
    )
    assert [field.name for field in wished.only_block.plan.tables[0].columns] == ["id", "zip", "State"]
    assert "year" in [field.name for field in wished.only_block.plan.tables[1].columns]
    assert wished.result is not None
    assert [one.name for one in wished.result.fields] == ["zip"]
    with pytest.raises(QueryError, match="syntax error"):
        prepare("SELECT zip FROM FEC", DEMO, {}, ["State = ("])


#: Says in which order a result comes, or looks as if it did.
ORDERS = catalog(table("w.t", "a int, b int", scans=1))


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a LIMIT 3", True),
        ("SELECT a FROM t order\nby a", True),
        ("SELECT rank() OVER (PARTITION BY abs(a) ORDER BY b) FROM t GROUP BY ALL", False),
        ("WITH x AS (SELECT a FROM t ORDER BY a) SELECT * FROM x -- ORDER BY", False),
        ("SELECT 'ORDER BY (' FROM t /* ORDER BY */", False),
        ("SELECT ')' FROM (SELECT 1) SORT BY 1", True),
    ],
)
def test_an_order_is_that_of_the_statement(sql: str, ordered: bool) -> None:
    assert prepare(sql, ORDERS).ordered is ordered


def test_names_that_are_offered_are_written_as_sql_takes_them() -> None:
    odd = catalog(table("s.weird name", "a int", scans=1), table("t.weird name", "a int", scans=1))
    with pytest.raises(QueryError) as error:
        prepare("SELECT a FROM s.wierd_name", odd)
    assert error.value.hint is not None
    assert "did you mean s.`weird name`" in error.value.hint
    with pytest.raises(QueryError, match=r"is ambiguous: s\.`weird name`, t\.`weird name`"):
        prepare("SELECT a FROM `weird name`", odd)
