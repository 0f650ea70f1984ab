"""PostgreSQL's protocol: what its clients get of tables here, and what they cannot do."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
import re
import shutil
import struct
import subprocess
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
import sqlalchemy

from fff_cli.postgres.dialect import statements, translated
from fff_cli.serve.queries import ServeLimits
from tests.api.postgres_serving import WHOLE, Standing, standing
from tests.api.serving import TOKEN, started
from tests.api.sites import JOIN, TABLES, site
from tests.engine.duck import over_duck
from tests.engine.site import Site, access, until

pytest.importorskip("duckdb", reason="pip install 'fff[duckdb]'")


async def test_rows_come_whole_simply_and_prepared(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        assert sorted(await (await client.execute(JOIN)).fetchall()) == WHOLE
        for prepare in (False, True):
            rows = await client.execute("SELECT b FROM web.s WHERE a = %s", (3,), prepare=prepare)
            assert await rows.fetchall() == [(30,)]
        several = await client.execute("SELECT 1 AS one; SELECT 2 AS two, 'x' AS x; ")
        assert await several.fetchall() == [(1,)]
        assert several.nextset()
        assert await several.fetchall() == [(2, "x")]
        async with client.transaction():
            assert await (await client.execute('SELECT "a" FROM "web"."s" WHERE a IN (1, 2)')).fetchall()


VALUES = {
    "CAST(7 AS TINYINT)": 7,
    "CAST(-7 AS SMALLINT)": -7,
    "1": 1,
    "-9223372036854775808": -9223372036854775808,
    "true": True,
    "CAST(0.1 AS FLOAT)": pytest.approx(0.1),
    "1.5e300": 1.5e300,
    "float('-inf')": float("-inf"),
    "0.00012": Decimal("0.00012"),
    "-12345.678900": Decimal("-12345.678900"),
    "CAST(0 AS DECIMAL(10, 2))": Decimal("0.00"),
    "CAST('12345678901234567890123456789012345678' AS DECIMAL(38, 0))": Decimal(
        12345678901234567890123456789012345678
    ),
    "'naïve \\ ''q'' \"d\"'": "naïve \\ 'q' \"d\"",
    "X'00ff'": b"\x00\xff",
    "DATE '0001-01-01'": dt.date(1, 1, 1),
    "DATE '1999-12-31'": dt.date(1999, 12, 31),
    "TIMESTAMP '2020-02-29 10:00:00.123456'": dt.datetime(2020, 2, 29, 10, 0, 0, 123456, dt.UTC),
    "TIMESTAMP_NTZ '1969-12-31 23:59:59'": dt.datetime(1969, 12, 31, 23, 59, 59),  # noqa: DTZ001 - without a zone
    "array(1, NULL)": [1, None],
    "named_struct('a', 1)": {"a": 1},
    "CAST(NULL AS INT)": None,
    "NULL": None,
}


@pytest.mark.slow
@pytest.mark.parametrize("binary", [False, True])
async def test_every_type_arrives_in_both_formats(publish, binary):
    written = ", ".join(f"{text} AS c{at}" for at, text in enumerate(VALUES))
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        rows = await client.execute(f"SELECT {written}", binary=binary)
        assert await rows.fetchone() == tuple(VALUES.values())


async def test_a_text_that_clients_would_cut_is_an_error(publish):
    one = Site({"r": (("a", "b"), [(1, "x"), (2, "a\0b")])})
    tables = {"r": access("r", {"a": "int", "b": "string"})}
    async with standing(publish(one, tables)) as server, await server.connect() as client:
        for sql in ("SELECT a, b FROM r", "COPY (SELECT b FROM r) TO STDOUT"):
            with pytest.raises(
                psycopg.errors.CharacterNotInRepertoire, match="a text of column b has the character NUL"
            ):
                async with client.cursor() as cursor:
                    await (taken(cursor, sql) if sql.startswith("COPY") else cursor.execute(sql))
        for item in ("replace(b, chr(0), '')", "CAST(b AS binary)", "array(b)"):
            got = await (await client.execute(f"SELECT {item} FROM r WHERE a = 2")).fetchone()
            assert got in [("ab",), (b"a\0b",), (["a\0b"],)]


async def taken(cursor: psycopg.AsyncCursor[Any], sql: str) -> None:
    async with cursor.copy(sql) as copy:
        async for _ in copy:
            pass


async def test_values_of_parameters_come_as_values(publish):
    given = [
        *(41, "it's \\ \" $1 :x", dt.date(2020, 1, 31), 1.5, True, None, Decimal("1.50")),
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    ]
    written = ", ".join(f"%b AS c{at}" for at in range(len(given)))
    text = written.replace("%b", "%t")
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        assert await (await client.execute(f"SELECT {text}", given)).fetchone() == tuple(given)
        numbers = given[:1] + given[2:5]
        written = ", ".join(f"%b AS c{at}" for at in range(len(numbers)))
        assert await (await client.execute(f"SELECT {written}", numbers)).fetchone() == tuple(numbers)
        with pytest.raises(psycopg.Error, match=r"2 values are needed, not 1|parameter"):
            await client.execute("SELECT $1, $2", ("x",))


async def test_what_is_not_whole_is_an_error_unless_the_session_takes_parts(publish):
    one = site()
    one.faults[("r", "scan@20")] = 500
    async with standing(publish(one, TABLES)) as server, await server.connect() as client:
        with pytest.raises(psycopg.errors.IoError, match=r"not complete.*web\.r") as raised:
            await client.execute("SELECT a FROM web.r")
        assert "fff.partial" in (raised.value.diag.message_hint or "")
        warnings: list[str] = []
        client.add_notice_handler(
            lambda notice: warnings.append(f"{notice.severity} {notice.message_primary}")
        )
        await client.execute("SET fff.partial = on")
        assert 0 < len(await (await client.execute("SELECT a FROM web.r")).fetchall()) < 45
        assert any("WARNING the answer is not complete" in text for text in warnings)
        warnings.clear()
        assert await (await client.execute("SELECT count(*) AS n FROM web.r")).fetchone()
        assert all(len(text.split()) > 3 for text in warnings), "sentences alone"
        assert any("not read in full" in text for text in warnings)
        await client.execute("RESET fff.partial")
        with pytest.raises(psycopg.errors.IoError):
            await client.execute("SELECT a FROM web.r")


async def test_a_session_spends_less_than_the_server_allows_and_never_more(publish):
    limits = ServeLimits(max_requests=3)
    async with standing(publish(site(), TABLES), limits) as server, await server.connect() as client:
        for set_to in (None, 100, 1):
            if set_to is not None:
                await client.execute(f"SET fff.max_requests = {set_to}")
            with pytest.raises(psycopg.errors.IoError, match="not complete"):
                await client.execute("SELECT a FROM web.r")
        for wrong in ("SET fff.max_requests = x", "SET fff.nonsense = 1", "SET client_encoding = latin1"):
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                await client.execute(wrong)


async def test_clients_tell_errors_apart_by_their_states(publish):
    wrong = {
        "SELECT a FROM web.nope": psycopg.errors.UndefinedTable,
        "SELECT nope.a FROM web.s": psycopg.errors.UndefinedTable,
        "SELECT x.a, a FROM web.s x JOIN web.s y ON x.a = y.a": psycopg.errors.AmbiguousColumn,
        "SELECT a FROM web.s WHERE": psycopg.errors.SyntaxError,
        "SELECT nothing_such(a) FROM web.s": psycopg.errors.UndefinedFunction,
        "SELECT substring(a) FROM web.s": psycopg.errors.UndefinedFunction,
        "SELECT a, count(*) FROM web.s": psycopg.errors.GroupingError,
        "SELECT a + true FROM web.s": psycopg.errors.DatatypeMismatch,
        "SELECT a / 0 FROM web.s WHERE a = 3": psycopg.errors.DivisionByZero,
        "SELECT CAST(concat('x', a) AS INT) FROM web.s WHERE a = 3": psycopg.errors.InvalidTextRepresentation,
        "SELECT a + 2147483647 FROM web.s WHERE a = 3": psycopg.errors.NumericValueOutOfRange,
        "DROP TABLE web.s": psycopg.errors.FeatureNotSupported,
    }
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        for sql, state in wrong.items():
            with pytest.raises(state):
                await client.execute(sql)


async def test_an_error_has_its_place_in_the_text_as_it_was_written(publish):
    sql = "SELECT 'it''s \\', \"a\" /* '; */, nope FROM web.s WHERE a = 1"
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        with pytest.raises(psycopg.errors.UndefinedColumn, match="unknown column") as raised:
            await client.execute(sql)
        assert raised.value.diag.statement_position == str(sql.index("nope") + 1)
        for wrong in (
            "INSERT INTO web.s VALUES (1, 2)",
            "SELECT 'open",
            "SELECT * FROM csv.`/etc/passwd`",
            "DROP TABLE web.s",
        ):
            with pytest.raises(psycopg.Error) as raised:
                await client.execute(wrong)
            assert "Traceback" not in str(raised.value)
        await client.execute("BEGIN")
        with pytest.raises(psycopg.Error):
            await client.execute("SELECT nope FROM web.s")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            await client.execute("SELECT 1")
        await client.execute("ROLLBACK")
        assert await (await client.execute("SELECT 1")).fetchone() == (1,)


async def test_who_cancels_or_goes_away_stops_the_query(publish):
    one = site()
    one.faults[("r", "scan@20")] = "hang"
    async with standing(publish(one, TABLES)) as server:
        client = await server.connect()
        running = asyncio.create_task(client.execute("SELECT a FROM web.r"))
        await until(lambda: one.hanging.is_set() and bool(server.queries.running))
        await client.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled, match="not complete"):
            await running
        assert await (await client.execute("SELECT 1")).fetchone() == (1,)
        running = asyncio.create_task(client.execute("SELECT a FROM web.r"))
        await until(lambda: bool(server.queries.running))
        client.pgconn.finish()
        await until(lambda: not server.queries.running)
        one.over.set()
        with pytest.raises(psycopg.Error):
            await running


async def test_sessions_of_one_token_take_turns(publish):
    one = site()
    spec = publish(one, TABLES, rate_limit={"fill_rate": 10, "bucket_size": 1})
    async with standing(spec) as server, await server.connect() as greedy, await server.connect() as small:
        keys = ",".join(map(str, range(1000, 1100)))
        many = asyncio.create_task(greedy.execute(f"SELECT b FROM web.s WHERE a IN ({keys})"))
        await until(lambda: sum(one.keys.values()) >= 3)
        before = sum(one.keys.values())
        row = await small.execute("SELECT b FROM web.s WHERE a = 3")
        assert await row.fetchall() == [(30,)]
        assert sum(one.keys.values()) - before <= 15, "of a hundred"
        many.cancel()
        await asyncio.gather(many, return_exceptions=True)


async def test_only_those_with_the_token_may_ask(publish):
    async with standing(publish(site(), TABLES)) as server:
        for password in ("", "wrong", TOKEN + "x"):
            with pytest.raises(psycopg.OperationalError, match=r"no valid token|no password"):
                await psycopg.AsyncConnection.connect(server.url.replace(TOKEN, password))


def message(letter: bytes, body: bytes) -> bytes:
    return letter + struct.pack(">i", len(body) + 4) + body


class Raw:
    """A client that says what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, *messages: bytes) -> None:
        self.writer.write(b"".join(messages))
        await self.writer.drain()

    async def hear(self, until: bytes) -> list[bytes]:
        """The letters of messages up to one."""
        letters = []
        while not letters or letters[-1] != until:
            letter, size = struct.unpack(">ci", await self.reader.readexactly(5))
            await self.reader.readexactly(size - 4)
            letters.append(letter)
        return letters


@contextlib.asynccontextmanager
async def raw(server: Standing) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    client = Raw(reader, writer)
    start = struct.pack(">i", 3 << 16) + b"user\0me\0\0"
    try:
        await client.say(struct.pack(">i", len(start) + 4) + start, message(b"p", TOKEN.encode() + b"\0"))
        assert (await client.hear(b"Z"))[-2:] == [b"K", b"Z"]
        yield client
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_portal_gives_its_rows_in_parts(publish):
    async with standing(publish(site(), TABLES)) as server, raw(server) as client:
        parse = message(b"P", b"\0SELECT a FROM web.r\0" + struct.pack(">h", 0))
        bind = message(b"B", b"\0\0" + struct.pack(">hhh", 0, 0, 0))
        some = message(b"E", b"\0" + struct.pack(">i", 20))
        await client.say(parse, bind, message(b"D", b"P\0"), some, some, some, message(b"S", b""))
        letters = b"".join(await client.hear(b"Z"))
        assert letters == b"12T" + b"D" * 20 + b"s" + b"D" * 20 + b"s" + b"D" * 5 + b"CZ"
        await client.say(parse, message(b"D", b"S\0"), message(b"S", b""))
        assert await client.hear(b"Z") == [b"1", b"t", b"T", b"Z"]
        nothing = message(b"B", b"p\0no\0" + struct.pack(">hhh", 0, 0, 0))
        await client.say(nothing, some, message(b"S", b""))
        assert await client.hear(b"Z") == [b"E", b"Z"], "what follows an error is skipped to the Sync"
        await client.say(message(b"Q", b" ; -- nothing\0"))
        assert await client.hear(b"Z") == [b"I", b"Z"]


async def test_a_portal_read_in_part_gives_no_number_that_is_not_whole(publish):
    one = site()
    one.faults[("r", "scan@20")] = 500
    async with standing(publish(one, TABLES)) as server, raw(server) as client:
        over_duck(server.queries.federation)
        parse = message(b"P", b"\0SELECT count(*) AS n FROM web.r\0" + struct.pack(">h", 0))
        bind = message(b"B", b"\0\0" + struct.pack(">hhh", 0, 0, 0))
        await client.say(parse, bind, message(b"E", b"\0" + struct.pack(">i", 1)), message(b"S", b""))
        assert b"".join(await client.hear(b"Z")) == b"12EZ"


@pytest.mark.parametrize(
    "said",
    [
        message(b"?", b""),
        b"Q" + struct.pack(">i", 1 << 30),
        b"Q" + struct.pack(">i", 3),
        message(b"Q", b"no end"),
        message(b"P", b"\0SELECT 1\0" + struct.pack(">h", 3)),
        message(b"Q", b"\xff\0"),
    ],
)
async def test_who_does_not_speak_the_protocol_is_told_so_and_shown_out(publish, said):
    async with standing(publish(site(), TABLES)) as server:
        async with raw(server) as client:
            await client.say(said)
            async with asyncio.timeout(30):
                assert await client.hear(b"E") == [b"E"]
                assert await client.reader.read() == b""
        async with await server.connect() as other:
            assert await (await other.execute("SELECT 1")).fetchone() == (1,)


#: As Grafana and Metabase ask.
BI_TOOLS = {
    "SELECT current_setting('server_version_num')::int / 100": [(1500,)],
    "SELECT quote_ident(column_name) FROM information_schema.columns"
    " WHERE quote_ident(table_schema) || '.' || quote_ident(table_name) = 'web.s' ORDER BY 1": [
        ("a",),
        ("b",),
    ],
    "SELECT quote_ident('A \"b'), format('%s', 'it') FROM pg_am": [('"A ""b"', "it")],
    "SELECT col_description(CAST(CAST(format('%I.%I', CAST(table_schema AS TEXT), CAST(table_name AS TEXT)) AS REGCLASS)"
    " AS OID), 1) FROM information_schema.tables ORDER BY table_name": [(None,), (None,)],
    "SELECT relname, n_live_tup FROM pg_stat_user_tables": [],
    "SELECT 1 FROM pg_catalog.pg_cursors WHERE name = 'c'": [],
    "SELECT has_any_column_privilege('fff', 'web.r', 'update'), has_table_privilege('web.r', 'select')": [
        (False, True)
    ],
}


#: Functions of the catalog called with names that their own look-ups might have taken for theirs.
NAMES_OF_CLIENTS = (
    "SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c WHERE c.conrelid = 'web.s'::regclass",
    "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 's_key'",
    "SELECT replace(pg_get_indexdef(i.indexrelid), 'CREATE UNIQUE INDEX s_key ON s USING lookup', 'PRIMARY KEY') FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relname = 's'",
    "SELECT 'PRIMARY KEY (a)' FROM pg_type WHERE format_type(oid, NULL) = 'bigint' AND to_regtype(typname) = oid",
    "SELECT 'PRIMARY KEY (a)' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 's' AND to_regclass(n.nspname || '.' || c.relname) = c.oid",
    "SELECT 'PRIMARY KEY (a)' FROM pg_settings WHERE name = 'server_version' AND current_setting(name) LIKE '15%'",
    "SELECT 'PRIMARY KEY (a)' WHERE 'web.s'::regclass::oid > 0",
    "SELECT 'PRIMARY KEY (a)' FROM information_schema.columns WHERE array_length(parse_ident('Web.s'), 1) = 2 AND quote_ident(table_schema) = (parse_ident('Web.s'))[1] AND quote_ident(table_name) = (parse_ident('web.\"s\"'))[2] AND column_name = 'a'",
    "SELECT 'PRIMARY KEY (a)' WHERE format_type(20, -1) = 'bigint'",
)  # fmt: skip


@pytest.mark.slow
async def test_the_catalog_shows_tables_and_reaches_nothing_else(publish):
    tables = {
        "r": TABLES["r"] | {"primary_key": ["a"], "description": "Of numbers"},
        "s": TABLES["s"] | {"primary_key": ["a"]},
    }
    async with standing(publish(site(), tables)) as server:

        def looked() -> list[Any]:
            engine = sqlalchemy.create_engine(server.url.replace("postgresql", "postgresql+psycopg", 1))
            try:
                inspector = sqlalchemy.inspect(engine)
                return [
                    inspector.get_table_names("web"),
                    [(one["name"], str(one["type"])) for one in inspector.get_columns("r", "web")],
                    inspector.get_pk_constraint("r", "web")["constrained_columns"],
                    inspector.get_table_comment("r", "web")["text"],
                    inspector.get_foreign_keys("r", "web"),
                    inspector.get_indexes("r", "web"),
                    "web" in inspector.get_schema_names(),
                ]
            finally:
                engine.dispose()

        shown = await asyncio.to_thread(looked)
        assert sorted(shown[0]) == ["r", "s"]
        assert shown[1] == [("a", "INTEGER"), ("b", "INTEGER")]
        assert shown[2:] == [["a"], "Of numbers", [], [], True]
        async with await server.connect() as client:
            row = await (
                await client.execute("SELECT version(), current_database(), current_schema()")
            ).fetchone()
            assert row is not None
            assert row[0].startswith("PostgreSQL 15")
            assert row[1:] == ("fff", "public")
            told = await client.execute("SELECT current_database() || %s || '$1' || %s", ("a'$2", "$1;'"))
            assert await told.fetchone() == ("fffa'$2$1$1;'",), "values are no text of the statement"
            for asked, answered in BI_TOOLS.items():
                assert await (await client.execute(asked)).fetchall() == answered, asked
            for named in NAMES_OF_CLIENTS:
                told = await (await client.execute(named)).fetchall()
                assert told == [("PRIMARY KEY (a)",)], (named, told)
            for wrong in (
                "SELECT * FROM pg_class, read_csv('/etc/passwd')",
                "CREATE TABLE pg_x AS SELECT 1",
                "COPY pg_class TO '/tmp/x.csv'",
                "SELECT * FROM pg_class; DROP TABLE pg_class",
                "ATTACH 'x.db' AS pg_x",
            ):
                with pytest.raises(psycopg.Error):
                    await client.execute(wrong)
            assert await (
                await client.execute("SELECT count(*) FROM pg_class WHERE relkind = 'r'")
            ).fetchone() == (2,)


def test_quotes_are_postgresqls():
    assert translated("""SELECT "a""b", 'it''s \\', E'x\\n\\'', $q$a'b$q$, $12::text AS text""").sql == (
        "SELECT `a\"b`, 'it\\'s \\\\', 'x\n\\'', 'a\\'b', :p_12::string AS text"
    )
    assert (
        translated('SELECT CAST(x AS text), f(x AS text), "é`"').sql
        == "SELECT CAST(x AS string), f(x AS text), `é```"
    )
    assert statements("a; /* ; /* */ ; */ ';' -- ;\n; ; b") == ["a", " /* ; /* */ ; */ ';' -- ;\n", " b"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_lists_describes_and_asks(publish):
    tables = {"r": TABLES["r"] | {"primary_key": ["a"]}, "s": TABLES["s"] | {"primary_key": ["a"]}}
    with started(publish(site(), tables), "--postgres-port", "0") as server:
        assert server.process.stderr is not None
        port = server.said.rpartition(":")[2].partition("/")[0]

        def psql(*commands: str) -> str:
            ran = subprocess.run(
                ["psql", "-X", "-h", "127.0.0.1", "-p", port, "-U", "me", "fff"]
                + [part for one in commands for part in ("-c", one)],
                env=os.environ | {"PGPASSWORD": TOKEN, "PGCLIENTENCODING": "UTF8"},
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            wrong = [line for line in ran.stderr.splitlines() if not line.startswith("Did not find any ")]
            assert wrong == [], "of a kind of thing there may be none"
            return ran.stdout

        every = re.findall(r"^  \\(d[A-Za-z]*|l|z)\b", psql("\\?"), re.MULTILINE)
        assert len(every) > 40
        about = [f"{one}{more}" for one in every for more in ("", "+" * (one != "z"))]
        listed = psql(*("\\" + one for one in ("dt web.*", "d web.r", "d+ web.s", *about)))
        assert '"r_key" PRIMARY KEY, lookup (a)' in listed
        assert "45" in psql("SELECT count(*) FROM web.r")
        assert psql("-- nothing", JOIN).count("\n") == 45 + 4
