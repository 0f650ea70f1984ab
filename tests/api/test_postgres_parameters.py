"""PostgreSQL's protocol: parameters whose types the client leaves to the server, arrays, and what is described ahead."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg import pq
from psycopg.generators import execute

from fff_cli.postgres.dialect import Written, asks_the_catalog, listed, translated
from fff_cli.postgres.error_codes import CodedError
from fff_cli.postgres.parameters import cast_kinds, parameter
from fff_cli.postgres.values import BYTEA, INTERVAL
from tests.api.postgres_serving import Standing, standing
from tests.api.sites import TABLES, site

pytest.importorskip("duckdb", reason="pip install 'fff[duckdb]'")

INT4, INT8, TEXT, INT4S = 23, 20, 25, 1007


async def prepared(
    server: Standing,
    sql: str,
    values: Sequence[bytes | None] | None = None,
    kinds: Sequence[int] | None = None,
) -> tuple[list[int], list[int], Any]:
    """The types of parameters and columns as they are described, and rows for values in binary."""
    async with await server.connect() as client:
        pgconn = client.pgconn

        async def answered(good: pq.ExecStatus) -> Any:
            [result] = await client.wait(execute(pgconn))
            assert result.status == good, result.error_message.decode()
            return result

        pgconn.send_prepare(b"q", sql.encode(), kinds)
        await answered(pq.ExecStatus.COMMAND_OK)
        pgconn.send_describe_prepared(b"q")
        told = await answered(pq.ExecStatus.COMMAND_OK)
        types = [told.param_type(at) for at in range(told.nparams)]
        columns = [told.ftype(at) for at in range(told.nfields)]
        if values is None:
            return types, columns, None
        pgconn.send_query_prepared(b"q", values, [1] * len(values), result_format=0)
        ran = await answered(pq.ExecStatus.TUPLES_OK)
        rows = [tuple(ran.get_value(row, at) for at in range(ran.nfields)) for row in range(ran.ntuples)]
        return types, columns, sorted(rows)


TOLD = {
    "SELECT a FROM web.s WHERE a = $1": [INT4],
    "SELECT a FROM web.s x WHERE $1 < x.a AND x.a IN ($2, 3) AND x.a BETWEEN $3 AND -$4": [INT4] * 4,
    "SELECT a FROM web.r LIMIT $1 OFFSET $2": [INT8] * 2,
    "SELECT b, count(*) FROM web.r GROUP BY b HAVING count(*) > $1 AND max(a) < $2": [INT8, INT4],
    "WITH q AS (SELECT a + 1 AS k FROM web.r) SELECT k FROM q WHERE k = $1": [INT4],
    "SELECT z FROM (SELECT count(*) AS z FROM web.r GROUP BY b) WHERE z = $1": [INT8],
    "SELECT r.a FROM web.r JOIN web.s ON r.b = s.a AND s.b > $1": [INT4],
    "SELECT a FROM web.r WHERE EXISTS (SELECT 1 FROM web.s WHERE s.a = r.b AND r.a > $1)": [INT4],
    "SELECT a FROM web.r WHERE ($1 IS NULL OR a = $1) AND (a, b) = ($2, $3)": [INT4] * 3,
    "SELECT a FROM web.r WHERE CASE WHEN a = 1 THEN $1 ELSE b END = 2 AND coalesce(a, $2) > a * $3": [INT4]
    * 3,
    "SELECT a FROM web.r WHERE $1 IN (SELECT a FROM web.s WHERE a IN (1, 2))": [INT4],
    "SELECT a FROM web.r WHERE CAST(a AS STRING) LIKE $1": [TEXT],
    "SELECT $1::int8 AS x, CAST($2 AS int), $3": [INT8, INT4, TEXT],
    "SELECT a FROM web.r WHERE a = ANY($1)": [INT4S],
    "SELECT a FROM web.r WHERE a <> ALL ($1::int[])": [INT4S],
    "SELECT oid FROM pg_catalog.pg_type WHERE oid = ANY($1::oid[])": [1028],
}


@pytest.mark.slow
async def test_types_of_parameters_are_told_by_what_they_are_compared_with(publish):
    async with standing(publish(site(), TABLES)) as server:
        assert {sql: (await prepared(server, sql))[0] for sql in TOLD} == TOLD


def int4(number: int) -> bytes:
    return struct.pack(">i", number)


def int4s(*numbers: int) -> bytes:
    head = struct.pack(">iiiii", 1, 0, INT4, len(numbers), 1) if numbers else struct.pack(">iii", 0, 0, INT4)
    return head + b"".join(int4(4) + int4(one) for one in numbers)


async def test_values_come_in_the_types_that_were_told(publish):
    async with standing(publish(site(), TABLES)) as server:
        _, _, rows = await prepared(server, "SELECT b FROM web.s WHERE a = $1", [int4(3)])
        assert rows == [(b"30",)]
        _, _, rows = await prepared(server, "SELECT a FROM web.r LIMIT $1", [struct.pack(">q", 3)])
        assert len(rows) == 3
        _, _, rows = await prepared(server, "SELECT b FROM web.s WHERE a = ANY($1)", [int4s(3, 5, 99)])
        assert rows == [(b"30",), (b"50",)]


@pytest.mark.slow
async def test_what_was_described_is_what_comes(publish):
    async with standing(publish(site(), TABLES)) as server:
        _, columns, rows = await prepared(server, "SELECT $1 AS x", [b"some"])
        assert (columns, rows) == ([TEXT], [(b"some",)])
        _, columns, rows = await prepared(server, "SELECT $1 AS x", [struct.pack(">q", 5)], [INT8])
        assert (columns, rows) == ([INT4], [(b"5",)])
        with pytest.raises(AssertionError, match="do not fit what was described"):
            await prepared(server, "SELECT $1 AS x", [struct.pack(">q", 1 << 40)], [INT8])


@pytest.mark.slow
async def test_arrays_of_values_are_lists_and_of_none_nothing(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:

        async def found(sql: str, *values: object) -> list[Any]:
            return sorted([row[0] for row in await (await client.execute(sql, values)).fetchall()])

        assert await found("SELECT b FROM web.s WHERE a = ANY(%s)", [1, None, 3]) == [10, 30]
        assert await found("SELECT b FROM web.s WHERE a = ANY(%s)", []) == []
        assert await found("SELECT a FROM web.r WHERE a < 3 AND NOT (a = ANY(%s))", []) == [0, 1, 2]
        assert await found("SELECT a FROM web.r WHERE a < 3 AND a <> ALL(%s)", []) == [0, 1, 2]
        assert await found("SELECT a FROM web.r WHERE a < 3 AND a <> ALL(%s)", [0, 2]) == [1]
        assert await found("SELECT b FROM web.s WHERE a = SOME('{1,2}'::int4[])") == [10, 20]
        assert await found("SELECT b FROM web.s WHERE a = ANY('{}'::int4[])") == []
        assert await found("SELECT a FROM web.r WHERE array_contains(%s, a)", [4, 5]) == [4, 5]
        with pytest.raises(psycopg.Error, match="is no array"):
            await client.execute("SELECT b FROM web.s WHERE a = ANY('1,2')")


async def test_values_that_cannot_be_read_cost_no_connection(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        with pytest.raises(psycopg.Error, match="either years and months, or days"):
            await client.execute("SELECT %s::interval", ("1 mon 1 day",))
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            await client.execute("SELECT b FROM web.s WHERE a = %s", ("abc",))
        assert await (await client.execute("SELECT b FROM web.s WHERE a = %s", ("3",))).fetchall() == [(30,)]


DECIMALS = [
    *("0", "1", "-0.00010", "12345678901234567890.000123", "100000000", "0.0001", "-9999.9"),
    "12345678901234567890123456789012345678",
]


SPANS = {
    "1 day, 0:00:02": "'1 00:00:02.000000' DAY TO SECOND",
    "1 year 2 mons": "'1-2' YEAR TO MONTH",
    "-1 days +02:03:04.5": "'-0 21:56:55.500000' DAY TO SECOND",
    "@ 90 mins ago": "'-0 01:30:00.000000' DAY TO SECOND",
    "-0.5 years": "'-0-6' YEAR TO MONTH",
    "00:00": "'0 00:00:00.000000' DAY TO SECOND",
}


@pytest.mark.parametrize("text", ["", "x", "1 mon 1 day", "1 fortnight", "1 day 2", "0.1 month"])
def test_what_is_no_interval_is_refused(text):
    with pytest.raises((ValueError, CodedError), match=r"interval|months"):
        parameter(text.encode(), INTERVAL, binary=False)


def test_how_intervals_and_bytes_are_read():
    for text, written in SPANS.items():
        assert parameter(text.encode(), INTERVAL, binary=False) == Written(f"INTERVAL {written}"), text
    for text in ("\\x615cff", "a\\\\\\377"):
        assert parameter(text.encode(), BYTEA, binary=False) == Written("X'615cff'"), text
    with pytest.raises(ValueError, match="no bytea"):
        parameter(b"\\9", BYTEA, binary=False)


@pytest.mark.slow
async def test_bytes_and_intervals_are_values_of_parameters(publish):
    day, hours, data = dt.timedelta(days=1, seconds=2), dt.timedelta(hours=-3), b"\x00a\\\xff"
    moment = dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:

        async def found(sql: str, *values: object, prepare: bool = False) -> object:
            return await (await client.execute(sql, values, prepare=prepare)).fetchone()

        for form in ("%b", "%t"):
            assert await found(f"SELECT {form} AS x, hex({form}::bytea) AS y", data, data) == (
                data,
                "00615CFF",
            )
            moved = f"SELECT TIMESTAMP '2020-01-02 03:00:00' + {form} AS x, TIMESTAMP '2020-01-02 03:00:00' - {form}::interval AS y"
            assert await found(moved, day, hours) == (moment + day, moment - hours)
        assert await found(
            "SELECT a FROM web.r WHERE X'00' = ANY(%s) LIMIT 1", [b"\1", b"\0"], prepare=True
        ) == (0,)
        await client.execute(
            "PREPARE b (bytea, interval) AS SELECT hex($1) AS x, DATE '2020-01-31' + $2 AS y"
        )
        told = await found("EXECUTE b('\\x0a'::bytea, INTERVAL '1 mon')")
        assert told == ("0A", dt.date(2020, 2, 29))


@pytest.mark.slow
async def test_decimals_in_binary_lose_nothing(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        sql = f"SELECT {', '.join(['%b'] * len(DECIMALS))}"
        [row] = await (await client.execute(sql, list(map(Decimal, DECIMALS)), binary=True)).fetchall()
        assert list(map(str, row)) == DECIMALS


def test_how_arrays_are_read():
    assert listed('{1,NULL,"NULL","a \\"b\\",",c}') == ["1", None, "NULL", 'a "b",', "c"]
    assert listed("{}") == []
    assert parameter(b"{1,2}", INT4S, binary=False) == [1, 2]
    with pytest.raises(ValueError, match="one dimension"):
        listed("{{1},{2}}")
    assert dict(cast_kinds('SELECT $1::"pg_catalog"."int4", CAST($2 AS bigint), $3::_text, $4 + 1')) == {
        1: INT4, 2: INT8, 3: 1009,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("written", "spark"),
    [
        ("a OFFSET 2 ROWS FETCH NEXT 13 ROWS ONLY", "a LIMIT 13 OFFSET 2"),
        ("a FETCH FIRST ROW ONLY", "a LIMIT 1"),
        ("a OFFSET $1 LIMIT $2", "a LIMIT :p_2 OFFSET :p_1"),
        ("a LIMIT 2 OFFSET 3", "a LIMIT 2 OFFSET 3"),
        ("a OFFSET 3 ROWS", "a OFFSET 3"),
        (
            "a OFFSET ($1::INTEGER) ROWS FETCH FIRST ($2::int4) ROWS ONLY",
            "a LIMIT :p_2 OFFSET :p_1",
        ),
        ("a FETCH FIRST (2 + 1) ROWS ONLY", "a FETCH FIRST (2 + 1) ROWS ONLY"),
        ("a = ANY(ARRAY[1, $2]) AND b <> ALL (ARRAY['x']::text[])", "a IN (1, :p_2) AND b NOT IN ('x')"),
        ("a = ANY (SELECT 1)", "a = ANY (SELECT 1)"),
        (r"'\x00fF'::bytea, '\x0'::bytea", r"X'00fF', '\\x0'::binary"),
        ("SELECT rows FROM fetch", "SELECT rows FROM fetch"),
        ("x::varchar, y::text[], CAST(z AS int8)", "x::string, y::array<string>, CAST(z AS bigint)"),
        ("v::numeric = CAST($1 AS decimal)", "v::decimal(38, 18) = CAST(:p_1 AS decimal(38, 18))"),
        ("v::numeric(4, 1), w::NUMERIC[]", "v::numeric(4, 1), w::array<decimal(38, 18)>"),
        ("a, x::varchar(10) = 'b'", "a, left(x::string, 10) = 'b'"),
        ("CAST(x AS char(3)) || y", "left(CAST(x AS string), 3) || y"),
        ("CAST(CAST(x AS varchar (3) ) AS text)", "CAST(left(CAST(x AS string), 3) AS string)"),
        ('t."x y" :: varchar( 2 )', "left(t.`x y` :: string, 2)"),
        ("x = (a || b)::varchar(2)", "x = left((a || b)::string, 2)"),
        ("x AND (a || b)::varchar(2) IN ('a')", "x AND left((a || b)::string, 2) IN ('a')"),
        ("concat(a, (b))::varchar(2)", "left(concat(a, (b))::string, 2)"),
        ("-12.50::numeric(9, 1)::varchar(2)", "-left(12.50::numeric(9, 1)::string, 2)"),
        ("s.f(x)[1]::varchar(5)::varchar(2)", "left(left(s.f(x)[1]::string, 5)::string, 2)"),
        ("f(a)[1][2]::varchar(2), 3", "left(f(a)[1][2]::string, 2), 3"),
        ("(SELECT 1)::varchar(2), $1::character(1)", "left((SELECT 1)::string, 2), left(:p_1::string, 1)"),
        ("(1)::varchar(2) AS x", "left((1)::string, 2) AS x"),
        ("x::double precision, CAST(y AS character  varying (3))", "x::double, left(CAST(y AS string), 3)"),
        ("date '2020-01-01'::varchar(4)", "left(date '2020-01-01'::string, 4)"),
        ("a = INTERVAL '1 day'::varchar(9)", "a = left(INTERVAL '1 day'::string, 9)"),
        ("interval '1-2' year to month::varchar(9)", "left(interval '1-2' year to month::string, 9)"),
        ("a LIKE 'b c'::varchar(9)", "a LIKE left('b c'::string, 9)"),
        ("i::double  precision::varchar(9)", "left(i::double::string, 9)"),
        ("i::character varying (5)::varchar(9)", "left(left(i::string, 5)::string, 9)"),
        ("1 + 1.5e-3::varchar(2), .5::varchar(2)", "1 + left(1.5e-3::string, 2), left(.5::string, 2)"),
        ("a + sum(i) OVER (ORDER BY a)::varchar(9)", "a + left(sum(i) OVER (ORDER BY a)::string, 9)"),
        ("sum(i) over w::text::varchar(9)", "left(sum(i) over w::string::string, 9)"),
        (
            "max(b) FILTER (WHERE a) OVER ()::varchar(3)",
            "left(max(b) FILTER (WHERE a) OVER ()::string, 3)",
        ),
        (
            "mode() WITHIN GROUP (ORDER BY a)::varchar(3)",
            "left(mode() WITHIN GROUP (ORDER BY a)::string, 3)",
        ),
        (
            "a || CASE WHEN a THEN CASE b WHEN 1 THEN 2 END END::varchar(3)",
            "a || left(CASE WHEN a THEN CASE b WHEN 1 THEN 2 END END::string, 3)",
        ),
        ("t.end::varchar(3), filter::varchar(3)", "left(t.end::string, 3), left(filter::string, 3)"),
        ("x::timestamp with time zone, y::character varying[]", "x::timestamp, y::array<string>"),
        (
            "x::timestamp without time zone, y::uuid, z::char",
            "x::timestamp without time zone, y::string, z::string",
        ),
    ],
)
def test_what_postgresql_writes_otherwise(written, spark):
    assert translated(written).sql == spark


async def test_numbers_and_texts_are_cast_as_postgresql_casts_them(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        sql = "SELECT '1.5'::numeric, '12345678901'::numeric, 'abcdef'::varchar(3), CAST('abcdef' AS char(3)), 'a'::varchar(3)"
        assert await (await client.execute(sql)).fetchall() == [
            (Decimal("1.5"), Decimal(12345678901), "abc", "abc", "a")
        ]
        sql = "SELECT a FROM web.s WHERE a = 3 AND (a / 2)::numeric = 1.5 AND b::varchar(1) = '3'"
        assert await (await client.execute(sql)).fetchall() == [(3,)]
        with pytest.raises(psycopg.errors.UndefinedColumn) as told:
            await client.execute("SELECT a::varchar(3), nope FROM web.s WHERE a = 1")
        assert told.value.diag.statement_position == "23"


def test_columns_may_be_called_as_functions_of_the_catalog_are():
    assert not asks_the_catalog("SELECT version, format_type, t.col_description FROM web.packages t")
    assert asks_the_catalog("SELECT version(), current_schema")
    assert asks_the_catalog("SELECT pg_catalog.format_type(1, 2)")


async def test_what_a_session_sets_holds_as_long_as_it_says(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:

        async def shown(name: str) -> str:
            return str((await (await client.execute(f"SHOW {name}")).fetchall())[0][0])

        await client.execute("SET fff.max_requests = 7; SET fff.rows = 3; SET statement_timeout = '2min'")
        await client.execute("SET search_path TO web, public")
        await client.execute("RESET fff.rows")
        assert (await shown("fff.max_requests"), await shown("fff.rows")) == ("7", "")
        assert (await shown("statement_timeout"), await shown("search_path")) == ("2min", "web, public")
        await client.execute("BEGIN; SET LOCAL fff.max_requests = 1; SET fff.prefer = cheap")
        assert await shown("fff.max_requests") == "1"
        await client.execute("COMMIT")
        assert (await shown("fff.max_requests"), await shown("fff.prefer")) == ("7", "cheap")
        await client.execute("BEGIN; SET fff.max_requests = 2; ROLLBACK")
        assert await shown("fff.max_requests") == "7"
        every = await (await client.execute("SHOW ALL")).fetchall()
        assert ("fff.max_requests", "7", "") in every
        warnings: list[str | None] = []
        client.add_notice_handler(lambda notice: warnings.append(notice.message_primary))
        await client.execute("SET TIME ZONE 'UTC'; SET TimeZone = 'Europe/Berlin'")
        assert warnings == ["days and moments are in UTC here, whatever is set"]
        assert await shown("TimeZone") == "UTC"
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
            await client.execute("ROLLBACK TO SAVEPOINT x")


async def test_what_a_client_sets_as_it_connects_holds(publish):
    async with standing(publish(site(), TABLES)) as server:
        more: dict[str, Any] = {
            "options": r"-c fff.max_requests=1 -c search_path=a\ b",
            "application_name": "me",
        }
        async with await server.connect(**more) as client:
            with pytest.raises(psycopg.errors.IoError, match="not complete"):
                await client.execute("SELECT a FROM web.r")
            assert await (await client.execute("SHOW application_name")).fetchone() == ("me",)
            assert await (await client.execute("SHOW search_path")).fetchone() == ("a b",)
        with pytest.raises(psycopg.OperationalError, match="will not do"):
            await server.connect(options="-c fff.max_requests=x")


async def test_hints_are_for_who_has_no_command_line(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        with pytest.raises(psycopg.errors.UndefinedTable) as error:
            await client.execute("SELECT a FROM elsewhere.unlike_any")
        assert error.value.diag.message_hint == "SHOW TABLES lists those that are served"


async def test_statements_are_forgotten_one_by_one(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        for name in (b"a", b"b"):
            client.pgconn.send_prepare(name, b"SELECT 1")
            await client.wait(execute(client.pgconn))
        await client.execute("DEALLOCATE a")
        client.pgconn.send_query_prepared(b"b", [])
        [kept] = await client.wait(execute(client.pgconn))
        assert kept.get_value(0, 0) == b"1"
        with pytest.raises(psycopg.errors.InvalidSqlStatementName):
            await client.execute("DEALLOCATE a")


#: Statements of one session, and what each gives: rows, or its tag, or the class of its error.
KEPT: Sequence[tuple[str, object]] = (
    ("PREPARE q (int) AS SELECT b FROM web.s WHERE a = $1", "PREPARE"),
    ("EXECUTE q(3)", [(30,)]),
    ("execute Q ( '4' )", [(40,)]),
    ("EXECUTE q(NULL)", []),
    ("EXECUTE q(5::bigint); EXECUTE q(CAST('6' AS int4))", [(50,)]),
    ("EXECUTE q", psycopg.errors.SyntaxError),
    ("EXECUTE q(1, 2)", psycopg.errors.SyntaxError),
    ("EXECUTE q('x')", psycopg.errors.InvalidParameterValue),
    ("EXECUTE q(1 + 2)", psycopg.errors.SyntaxErrorOrAccessRuleViolation),
    ("EXECUTE nothing", psycopg.errors.InvalidSqlStatementName),
    ("PREPARE q AS SELECT 1", psycopg.errors.DuplicatePreparedStatement),
    ('PREPARE "Q 2" AS SELECT b FROM web.s WHERE a = ANY($1) -- told by what it is compared with', "PREPARE"),
    ("EXECUTE \"Q 2\"('{1,NULL}')", [(10,)]),
    ('EXECUTE "Q 2"(ARRAY[2])', [(20,)]),
    ("EXECUTE \"Q 2\"('1')", psycopg.errors.InvalidTextRepresentation),
    ("DEALLOCATE PREPARE q", "DEALLOCATE"),
    ("EXECUTE q(3)", psycopg.errors.InvalidSqlStatementName),
    ("PREPARE q AS SELECT $1 AS x, $2::date AS y, $3 AS z", "PREPARE"),
    (
        "EXECUTE q(-1.50, DATE '2020-02-29', E'it''s \\\\ \\n')",
        [("-1.50", dt.date(2020, 2, 29), "it's \\ \n")],
    ),
    ("EXECUTE q($$a$$, '2020-02-29 10:00'::timestamp, true)", [("a", dt.date(2020, 2, 29), "true")]),
    (
        "PREPARE w (double precision, varchar(3), timestamp (3) with time zone, bool[]) AS SELECT $1 AS x",
        "PREPARE",
    ),
    ("EXECUTE w(1e-3, '', '2020-01-01', NULL)", [(0.001,)]),
    ("PREPARE u (nonsense) AS SELECT $1", psycopg.errors.UndefinedObject),
    ("PREPARE u AS SELECT nope FROM web.s WHERE a = 1", psycopg.errors.UndefinedColumn),
    ("PREPARE u AS COMMIT", psycopg.errors.SyntaxError),
    ("PREPARE u AS EXECUTE w", psycopg.errors.SyntaxError),
    ("PREPARE c (name) AS SELECT relname FROM pg_catalog.pg_class WHERE relname = $1", "PREPARE"),
    ("EXECUTE c('s')", [("s",)]),
    (
        "SELECT name, parameter_types, from_sql FROM pg_catalog.pg_prepared_statements ORDER BY name",
        [
            ("Q 2", ["integer[]"], True),
            ("c", ["name"], True),
            ("q", ["unknown", "date", "unknown"], True),
            ("w", ["double precision", "character varying", "timestamp with time zone", "boolean[]"], True),
        ],
    ),
    ("DISCARD PLANS", "DISCARD PLANS"),
    ("EXECUTE c('r')", [("r",)]),
    ("DISCARD ALL", "DISCARD ALL"),
    ("EXECUTE c('r')", psycopg.errors.InvalidSqlStatementName),
    ("SELECT count(*) FROM pg_prepared_statements", [(0,)]),
)


async def test_statements_are_kept_under_names_in_sql(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        for sql, wanted in KEPT:
            if isinstance(wanted, type):
                with pytest.raises(wanted):
                    await client.execute(sql)
                continue
            told = await client.execute(sql)
            assert (await told.fetchall() if isinstance(wanted, list) else told.statusmessage) == wanted, sql
        ahead = "PREPARE k AS SELECT b FROM web.s WHERE a = $1"
        assert (await prepared(server, ahead))[:2] == ([], []), "its parameters are those of EXECUTE"
        await client.execute(ahead)
        row = await client.execute("EXECUTE k(6)", prepare=True, binary=True)
        assert await row.fetchone() == (60,)
        async with client.transaction():
            with pytest.raises(psycopg.errors.UndefinedTable) as wrong:
                await client.execute("PREPARE z AS SELECT a FROM web.nope")
            assert wrong.value.diag.statement_position == "28"


async def test_pools_and_copies_of_asyncpg_ask_the_catalog(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        await client.execute("SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;")
        asked = await client.execute("SELECT quote_literal(%s::text)", ("it's",))
        assert await asked.fetchone() == ("'it''s'",)
        zone = await client.execute("SELECT current_setting('TimeZone')")
        assert await zone.fetchone() == ("UTC",)
        element = await client.execute("SELECT typelem FROM pg_type WHERE typname = '_int4'")
        assert await element.fetchone() == (INT4,)
        spaces = await client.execute(
            "SELECT 1 FROM pg_database d JOIN pg_tablespace t ON t.oid = d.dattablespace"
        )
        assert await spaces.fetchall() == [(1,)], "psql's \\l+"
