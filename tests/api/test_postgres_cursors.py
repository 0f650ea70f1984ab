"""Cursors and COPY over PostgreSQL's protocol, by its own clients."""

from __future__ import annotations

import csv
import io
from typing import Any

import psycopg
import pytest

from fff.errors import FFFError
from fff_cli.postgres.commands import (
    CloseCursor,
    CopyOut,
    DeclareCursor,
    FetchRows,
    copy_command,
    cursor_command,
)
from fff_cli.postgres.copying import CopyForm
from tests.api.postgres_serving import WHOLE, standing
from tests.api.sites import JOIN, TABLES, site
from tests.engine.duck import over_duck

pytest.importorskip("duckdb", reason="pip install 'fff[duckdb]'")


async def rows_of(client: Any, sql: str) -> list[Any]:
    return await (await client.execute(sql)).fetchall()


async def test_a_cursor_gives_its_rows_in_parts_and_goes_with_its_transaction(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        async with client.transaction():
            await client.execute('DECLARE "My" NO SCROLL CURSOR FOR ' + JOIN)
            first = await rows_of(client, 'FETCH FORWARD 20 FROM "My"')
            assert (await client.execute('MOVE 5 IN "My"')).statusmessage == "MOVE 5"
            rest = await rows_of(client, 'FETCH ALL FROM "My"')
            assert (len(first), len(rest), len({*first, *rest} & {*WHOLE})) == (20, 20, 40)
            assert await rows_of(client, 'FETCH "My"') == []
            await client.execute('CLOSE "My"')
            await client.execute("DECLARE gone CURSOR FOR SELECT a FROM web.r")
            assert len(await rows_of(client, "FETCH 3 FROM gone")) == 3
        with pytest.raises(psycopg.errors.InvalidCursorName, match="gone"):
            await client.execute("FETCH gone")
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction, match="WITH HOLD"):
            await client.execute("DECLARE c CURSOR FOR SELECT 1")
        assert server.queries.of("") == []


async def test_all_cursors_are_closed_at_once(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        for prepare in (False, True):
            for close in ("CLOSE ALL", "DISCARD ALL"):
                await client.execute("DECLARE c CURSOR WITH HOLD FOR SELECT a FROM web.r")
                await client.execute(close, prepare=prepare)
                with pytest.raises(psycopg.errors.InvalidCursorName):
                    await client.execute("FETCH c")


async def test_clients_own_cursors(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        async with client.transaction(), client.cursor("mine", binary=True) as cursor:
            cursor.itersize = 7
            await cursor.execute("SELECT a, b FROM web.s WHERE a IN (%s, 2)", (1,))
            assert [one.name for one in cursor.description] == ["a", "b"]
            assert sorted([row async for row in cursor]) == [(1, 10), (2, 20)]
        async with client.cursor("held", withhold=True) as cursor:
            await cursor.execute("SELECT a FROM web.r")
            await cursor.scroll(10)
            assert len(await cursor.fetchmany(30)) == 30
            assert len(await cursor.fetchall()) == 5


@pytest.mark.slow
async def test_a_cursor_of_what_is_wrong_or_not_whole_says_so(publish):
    one = site()
    one.faults[("s", "3")] = 500
    async with standing(publish(one, TABLES)) as server, await server.connect() as client:
        with pytest.raises(psycopg.errors.UndefinedColumn) as error:
            await client.execute("DECLARE c CURSOR WITH HOLD FOR SELECT nothing FROM web.r")
        assert error.value.diag.statement_position == "39"
        await client.execute("DECLARE c CURSOR WITH HOLD FOR " + JOIN)
        with pytest.raises(psycopg.errors.IoError, match="not complete"):
            await client.execute("FETCH ALL FROM c")
        with pytest.raises(psycopg.errors.InvalidCursorName):
            await client.execute("FETCH c")
        with pytest.raises(psycopg.errors.IoError, match="not complete"):
            async with client.cursor().copy(f"COPY ({JOIN}) TO STDOUT") as copy:
                assert len([row async for row in copy.rows()]) < 45
        assert await rows_of(client, "SELECT 1") == [(1,)]


async def test_a_number_that_is_not_whole_is_known_before_it_is_read(publish):
    """A cursor's one row may be all that is read of it: nothing that came after would be heard."""
    one = site()
    one.faults[("r", "scan@20")] = 500
    counted = "DECLARE c CURSOR WITH HOLD FOR SELECT count(*) AS n FROM web.r"
    async with standing(publish(one, TABLES)) as server, await server.connect() as client:
        over_duck(server.queries.federation)
        with pytest.raises(psycopg.errors.IoError, match=r"not complete.*web\.r"):
            await client.execute(counted)
        told: list[str] = []
        client.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        await client.execute("SET fff.partial = on")
        await client.execute(counted)
        [(count,)] = await rows_of(client, "FETCH c")
        assert 0 < count < 45
        assert any("numbers are bounds" in text for text in told)
        early = len(told)
        assert await rows_of(client, "FETCH c") == []
        assert len(told) == early, "once is enough"


HARD = [(1, 'a,"b"'), (2, "tab\tnew\nline\\ \\N"), (3, ""), (4, None), (5, "\\."), (6, "naïve")]
VALUES = ", ".join(f"({n}, {'NULL' if t is None else 'E' + repr(t)})" for n, t in HARD)
TEXTS = f"SELECT n, t FROM (VALUES {VALUES}) AS v(n, t)"


async def copied(client: Any, sql: str) -> bytes:
    async with client.cursor().copy(sql) as copy:
        return b"".join([bytes(part) async for part in copy])


@pytest.mark.slow
async def test_what_is_copied_is_what_a_query_answers(publish):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        async with client.cursor().copy("COPY web.r (b, a) TO STDOUT") as copy:
            rows = [tuple(map(int, row)) async for row in copy.rows()]
        assert sorted(rows) == sorted((n * 3 % 7, n) for n in range(45))
        async with client.cursor().copy(f"COPY ({TEXTS}) TO STDOUT") as copy:
            assert [row async for row in copy.rows()] == [(str(n), text) for n, text in HARD]
        async with client.cursor().copy(f"COPY ({TEXTS}) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["int4", "text"])
            assert [row async for row in copy.rows()] == HARD
        async with client.cursor().copy("COPY (SELECT b FROM web.s WHERE a = %s) TO STDOUT", (3,)) as copy:
            assert [row async for row in copy.rows()] == [("30",)]
        text = (await copied(client, f"COPY ({TEXTS}) TO STDOUT WITH CSV HEADER")).decode()
        assert text.startswith('n,t\n1,"a,""b"""\n')
        assert '3,""\n4,\n' in text, "NULL is not the empty text"
        assert [row[1] for row in csv.reader(io.StringIO(text))][1:] == [text or "" for _, text in HARD]
        other = await copied(
            client,
            "COPY (SELECT 'x;''' AS a, true AS b) TO STDOUT (FORMAT csv, DELIMITER ';', QUOTE '''', NULL 'none')",
        )
        assert other == b"'x;''';t\n"
        assert (
            await copied(client, "COPY (SELECT a FROM web.s WHERE a IN (77)) TO STDOUT (FORMAT csv, HEADER)")
            == b"a\n"
        )


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("COPY web.r FROM STDIN", "nothing is written here"),
        ("COPY web.r TO '/tmp/x'", "the server writes no files"),
        ("COPY web.r TO PROGRAM 'cat'", "the server writes no files"),
        ("COPY web.nope TO STDOUT", "nope"),
        ("COPY (SELECT 1) TO STDOUT (FORMAT xml)", "no format 'xml'"),
        ("COPY (SELECT 1) TO STDOUT (FREEZE)", "no option freeze"),
        ("COPY (SELECT 1", "a bracket has no end"),
        ("COPY (SELECT 1) TO STDOUT (DELIMITER 'ab')", "not one character"),
        ("COPY", "a table is expected"),
        ("DECLARE c BINARY CURSOR WITH HOLD FOR SELECT 1", "no BINARY cursors"),
        ("DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT 1", "no SCROLL cursors"),
        ("DECLARE c CURSOR WITH HOLD FOR BEGIN", "a cursor is of a query"),
        ("FETCH BACKWARD 2 FROM c", "cursors go forward"),
        ("FETCH -1 FROM c", "cursors go forward"),
        ("CLOSE c", "no cursor 'c' is open"),
        ("FETCH 3 FROM c d", "this is not understood"),
    ],
)
async def test_what_there_is_not_is_refused_in_words(publish, wrong, told):
    async with standing(publish(site(), TABLES)) as server, await server.connect() as client:
        with pytest.raises(psycopg.Error, match=told):
            await client.execute(wrong)
        assert await rows_of(client, "SELECT 1") == [(1,)]


def test_how_statements_about_cursors_are_read():
    declared = cursor_command('declare "A b" insensitive no scroll cursor without hold for SELECT 1')
    assert declared == DeclareCursor("A b", " " * 60 + "SELECT 1", held=False)
    read = {
        "FETCH c": FetchRows("c", 1, "FETCH"),
        "fetch next from C": FetchRows("c", 1, "FETCH"),
        "FETCH 120 IN c": FetchRows("c", 120, "FETCH"),
        "FETCH FORWARD c": FetchRows("c", 1, "FETCH"),
        "MOVE FORWARD ALL FROM c": FetchRows("c", None, "MOVE"),
        "CLOSE ALL": CloseCursor(None),
        "SELECT declare FROM fetch": None,
    }
    assert {sql: cursor_command(sql) for sql in read} == read
    assert copy_command("COPY \"a\".b TO STDOUT WITH DELIMITER '|' NULL AS '-'") == CopyOut(
        'SELECT * FROM "a".b', CopyForm(delimiter="|", null="-")
    )
    with pytest.raises(FFFError):
        CopyForm.of({"delimiter": "a"})
