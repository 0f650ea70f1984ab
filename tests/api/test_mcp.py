"""Agents reach FFF by the protocol's own client, which talks to the process a user would start."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import aiohttp
import pyarrow as pa
import pytest

from fff.errors import FFFError, QueryError, UsageError
from fff_cli.mcp.agents import AgentLimits, Agents
from fff_cli.mcp.replies import QueryReply, json_rows
from fff_cli.serve.hints import advised
from fff_cli.serve.tokens import token_from
from tests.api.serving import calls
from tests.api.sites import JOIN, TABLES, site
from tests.engine.site import until

#: The protocol takes a second to load: only the worker that runs these tests does.
pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="mcp is not installed")

COMMAND = (sys.executable, "-m", "fff_cli", "mcp")


@contextlib.asynccontextmanager
async def client(*arguments: str) -> AsyncIterator[Any]:
    import mcp

    server = mcp.StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *arguments], env=dict(os.environ)
    )
    async with mcp.Client(server, read_timeout_seconds=60) as session:
        yield session


async def called(session: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content)


async def refused(session: Any, tool: str, **arguments: Any) -> str:
    result = await session.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


async def test_an_agent_finds_describes_asks_and_pages(publish):
    spec = publish(site(), TABLES)
    async with client("-s", str(spec), "--only", "web", "--rows", "30") as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == {
            "search_tables",
            "describe_table",
            "explain",
            "query",
            "fetch_rows",
            "read_report",
        }
        assert all(tool.annotations.read_only_hint for tool in tools.values())
        found = await called(session, "search_tables")
        assert [one["table"] for one in found["tables"]] == ["web.r", "web.s"]
        assert (await called(session, "search_tables", limit=1))["cut"] is True
        described = await called(session, "describe_table", table="s")
        assert described["columns"] == [
            {"name": "a", "type": "int", "key": "any_of"},
            {"name": "b", "type": "int", "key": ""},
        ]
        assert "web.s" in (await called(session, "explain", sql=JOIN))["plan"]

        told: list[str] = []

        async def hear(_progress: float, _total: float | None, message: str | None) -> None:
            told.append(message or "")

        result = await session.call_tool("query", {"sql": JOIN, "max_rows": 20}, progress_callback=hear)
        first = result.structured_content
        assert (first["complete"], first["cut"], first["row_count"], first["next_row"]) == (
            True,
            True,
            45,
            20,
        )
        assert first["missing"] == []
        assert first["reason"] == ""
        assert any("rows joined so far" in one for one in told)
        rest = await called(session, "fetch_rows", handle=first["handle"], first_row=20, max_rows=999)
        assert (len(rest["rows"]), rest["next_row"]) == (25, None)
        assert rest["cut"], "a reply that has not all rows of the answer says so"
        expected = sorted([n, 10 * (n * 3 % 7)] for n in range(45))
        assert sorted(first["rows"] + rest["rows"]) == expected
        report = await called(session, "read_report", handle=first["handle"])
        assert report["complete"]
        assert report["rows"] == 45
        again = await called(session, "query", sql=JOIN)
        assert again["requests"] == 0, "what one statement has read the next ones use"
        bound = await called(session, "query", sql="SELECT b FROM web.s WHERE a = :key", params={"key": 3})
        assert bound["rows"] == [[30]]
        assert not bound["cut"]


async def test_what_cannot_be_done_is_told_with_what_to_do(publish, tmp_path, monkeypatch):
    import mcp

    from fff_cli.mcp.server import server_of

    spec = publish(site(), TABLES)
    secret = tmp_path / "private.csv"
    secret.write_text("a\n1\n")
    (tmp_path / "private.yaml").write_text(spec.read_text())
    monkeypatch.chdir(tmp_path)
    async with (
        Agents((spec,), AgentLimits(max_requests=3)) as agents,
        mcp.Client(server_of(agents)) as session,
    ):
        assert "did you mean web.r" in await refused(session, "query", sql="SELECT * FROM web.rr")
        elsewhere = await refused(session, "query", sql="SELECT * FROM elsewhere.r")
        assert "private.yaml" not in elsewhere
        unknown = await refused(session, "query", sql="SELECT * FROM elsewhere.unlike_any")
        assert "search_tables finds tables" in unknown
        assert "search_tables finds tables" in await refused(session, "describe_table", table="unlike_any")
        valueless = await refused(session, "query", sql="SELECT b FROM s WHERE a = :key")
        assert "among the parameters" in valueless
        assert "-p" not in valueless
        assert "deadline must be" in await refused(session, "query", sql="SELECT 1", deadline_seconds=0)
        unknown = await refused(session, "query", sql="SELECT 1", deadline=1)
        assert unknown.splitlines()[0] == "deadline: Extra inputs are not permitted"
        assert "deadline_seconds" in unknown
        assert "sql: Field required" in await refused(session, "explain")
        [asked] = [one for one in (await session.list_tools()).tools if one.name == "query"]
        assert asked.input_schema["additionalProperties"] is False
        assert "nothing binds a" in await refused(session, "query", sql="SELECT * FROM s")
        for name in (f"csv.`{secret}`", f"'{secret}'", "stdin", f"files.`{secret}`"):
            said = await refused(session, "query", sql=f"SELECT * FROM {name}")
            assert "that a spec declares (type: files)" in said or name.startswith("files"), said
            assert "fff serve" not in said
        assert "run the statement again" in await refused(session, "fetch_rows", handle="guessed")
        for statement in (
            "DROP TABLE r",
            "INSERT INTO r VALUES (1, 2)",
            "SELECT reflect('java.lang.System', 'exit')",
        ):
            await refused(session, "query", sql=statement)
        part = await called(session, "query", sql="SELECT a FROM r")
        assert not part["complete"]
        assert part["missing"][0]["table"] == "web.r"
        assert part["requests"] <= 3
        assert [(one["source"], one["requests"]) for one in part["bill"]] == [("web", part["requests"])]
        assert part["requests_left"] == 0
        assert "are spent" in await refused(session, "query", sql="SELECT b FROM s WHERE a = 1")


async def test_a_number_that_no_double_holds_is_refused(publish):
    async with Agents((publish(site(), TABLES),)) as agents:
        for value in (float("inf"), float("nan")):  # as readers of JSON make them of 1e400
            for call in (agents.explain("SELECT :a", {"a": value}), asked(agents, "SELECT :a", {"a": value})):
                with pytest.raises(UsageError, match="parameter a: no double holds"):
                    await call
        assert (await asked(agents, "SELECT :a AS a", {"a": 1e300})).rows == [[1e300]]


async def test_a_failing_source_makes_an_incomplete_reply(publish):
    broken = site()
    broken.faults[("r", "scan@20")] = 500
    spec = publish(broken, TABLES)
    async with Agents((spec,)) as agents:
        reply = await asked(agents, "SELECT a FROM r")
    assert not reply.complete
    assert reply.missing[0].table == "web.r"
    assert reply.reason


async def test_a_reply_comes_by_its_deadline(publish):
    slow = site()
    slow.faults[("s", "3")] = "hang"
    spec = publish(slow, TABLES)
    for deadline in (0.6, 3.0, 15.0):  # a busy machine needs longer for the first rows
        async with Agents((spec,), AgentLimits(deadline=deadline)) as agents:
            async with asyncio.timeout(60):
                reply = await asked(agents, JOIN, deadline=600)
        assert not reply.complete
        if reply.rows:
            break
    assert 0 < len(reply.rows) < 45


async def test_statements_at_once_share_the_requests_of_the_session(publish):
    spec = publish(site(200), TABLES)
    async with Agents((spec,), AgentLimits(max_requests=7)) as agents:
        replies = await asyncio.gather(
            *(asked(agents, f"SELECT a FROM r WHERE a <> {n}", max_requests=4) for n in range(3)),
            return_exceptions=True,
        )
        assert agents.requests_left is not None
    sent = [one.requests for one in replies if isinstance(one, QueryReply)]
    assert sum(sent) <= 7
    assert all(isinstance(one, QueryReply | UsageError) for one in replies)


async def test_a_statement_under_way_takes_from_the_session_what_it_has_sent_alone(publish):
    slow = site()
    slow.faults["r", "scan@20"] = "hang"
    async with Agents((publish(slow, TABLES),), AgentLimits(max_requests=10)) as agents:
        running = asyncio.create_task(asked(agents, "SELECT a FROM r"))
        await until(slow.hanging.is_set)
        reply = await asked(agents, "SELECT b FROM s WHERE a = 3")
        assert (reply.rows, reply.complete) == ([[30]], True)
        assert reply.requests_left == agents.requests_left == 10 - slow.scans["r"] - 1
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


UNDECLARED = {"r": {"scan": TABLES["r"]["scan"]}}


async def test_all_that_is_sent_about_tables_counts_and_a_plan_sends_nothing(publish):
    one = site()
    async with Agents((publish(one, UNDECLARED),), AgentLimits(max_requests=1)) as agents:
        with pytest.raises(QueryError, match=r"columns of web\.r are not declared") as undeclared:
            await agents.explain("SELECT a FROM r", {})
        assert advised(undeclared.value, to_agents=True).hint == "describe_table asks for them"
        assert (one.scans["r"], agents.requests_left) == (0, 1)
        assert [column.name for column in (await agents.describe("r")).columns] == ["a", "b"]
        assert (one.scans["r"], agents.requests_left) == (1, 0)
        assert "web.r" in (await agents.explain("SELECT a FROM r", {})).plan
        with pytest.raises(UsageError, match="are spent"):
            await asked(agents, "SELECT a FROM r")
    assert one.scans["r"] == 1
    other = site()
    tables = UNDECLARED | {"s": TABLES["s"]}
    async with Agents((publish(other, tables),), AgentLimits(max_requests=1)) as agents:
        await asked(agents, "SELECT b FROM s WHERE a = 3")
        assert (await agents.describe("s")).columns, "what is declared is described all the same"
        with pytest.raises(UsageError, match="are spent"):
            await agents.describe("r")
    assert other.scans["r"] == 0


async def test_what_a_statement_that_was_left_has_sent_counts(publish):
    slow = site()
    slow.faults["r", "scan@20"] = "hang"
    async with Agents((publish(slow, TABLES),), AgentLimits(max_requests=100)) as agents:
        left = asyncio.create_task(asked(agents, "SELECT a FROM r"))
        await slow.hanging.wait()
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        assert agents.requests_left is not None
        assert 100 - agents.requests_left >= slow.scans["r"] > 0


async def test_only_named_sources_are_seen(publish):
    spec = publish(site(), TABLES)
    async with Agents((spec,), AgentLimits(sources=("WEB",))) as agents:
        assert (await agents.search("", 200)).found == 2
        with pytest.raises(FFFError):
            await asked(agents, "SELECT * FROM github.repos LIMIT 1")
    with pytest.raises(UsageError, match="no source 'nowhere'"):
        async with Agents((spec,), AgentLimits(sources=("nowhere",))):
            pytest.fail("it opened")


@pytest.mark.slow
async def test_over_http_it_is_for_those_with_the_token(publish):
    import mcp
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    spec = publish(site(), TABLES)
    environ = dict(os.environ, FFF_MCP_TOKEN="t0ken-of-the-agents")
    command = [*COMMAND, "-s", str(spec), "--only", "web", "--http", "0"]
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220
        try:
            line = await asyncio.to_thread(process.stderr.readline)
            url = re.search(r"http://\S+", line)[0]
            assert "t0ken-of-the-agents" not in await asyncio.to_thread(process.stderr.readline)
            async with create_mcp_http_client(
                headers={"Authorization": "Bearer t0ken-of-the-agents"}
            ) as http:
                transport = streamable_http_client(url, http_client=http)
                async with mcp.Client(transport) as session:
                    assert (await called(session, "query", sql="SELECT b FROM s WHERE a = 1"))["complete"]
                assert (
                    await http.post(url, headers={"Authorization": "Bearer other"}, json={})
                ).status_code == 401
        finally:
            process.terminate()
        assert await asyncio.to_thread(process.wait, 30) is not None


@pytest.mark.parametrize("given", ["", " \n"])
def test_an_empty_token_is_none_and_a_weak_one_is_refused(monkeypatch, given):
    monkeypatch.setenv("FFF_MCP_TOKEN", given)
    assert token_from("FFF_MCP_TOKEN") is None
    monkeypatch.setenv("FFF_MCP_TOKEN", f"{'s3cret' * 4}{given}")
    assert token_from("FFF_MCP_TOKEN") == "s3cret" * 4, "a file of one line ends in a line's end"
    assert "FFF_MCP_TOKEN" not in os.environ, "what is started here need not know it"
    monkeypatch.setenv("FFF_MCP_TOKEN", "x")
    with pytest.raises(UsageError, match="the token of FFF_MCP_TOKEN is too weak"):
        token_from("FFF_MCP_TOKEN")


def test_a_port_that_is_taken_is_told_as_the_callers():
    from fff_cli.mcp.server import run_mcp

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="cannot listen on 127") as told:
            run_mcp((), AgentLimits(), taken.getsockname()[1])
    assert told.value.hint == "another --http, or 0 for a free one"


async def test_over_standard_input_every_request_is_answered_and_ctrl_c_ends_it(publish):
    slow = site()
    slow.faults["r", "scan@20"] = "hang"
    begin, begun, running = calls("SELECT a FROM r")
    half = json.dumps(calls("SELECT '\ud83d' AS x")[2] | {"id": "half"})
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "-s", str(publish(slow, TABLES)), "--only", "web", stdin=pipe, stdout=pipe
    )
    assert process.stdin is not None
    assert process.stdout is not None

    async def answered(line: str) -> tuple[Any, int | None]:
        process.stdin.write(line.encode() + b"\n")
        reply = json.loads(await process.stdout.readline())
        return reply["id"], reply.get("error", {}).get("code")

    try:
        assert await answered(json.dumps(begin)) == (begin["id"], None)
        process.stdin.write(json.dumps(begun).encode() + b"\n\n")
        assert await answered("garbage") == (None, -32700)
        assert await answered(half) == ("half", -32600)
        assert await answered("[]") == (None, -32600)
        whole = json.dumps(calls("SELECT '\U0001f600' AS x")[2] | {"id": "whole"})
        assert await answered(whole) == ("whole", None)
        process.stdin.write(json.dumps(running).encode() + b"\n")
        await until(slow.hanging.is_set)
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 60) == 130
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


@contextlib.asynccontextmanager
async def over_http(agents: Agents) -> AsyncIterator[str]:
    """Where agents are served in this process, for the token `t0ken-of-the-agents`."""
    import uvicorn

    from fff_cli.mcp.server import _Guarded, server_of

    app = _Guarded(server_of(agents).streamable_http_app(), "t0ken-of-the-agents")
    config = uvicorn.Config(app, log_level="warning", lifespan="on")
    server = uvicorn.Server(config)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        async with agents:
            serving = asyncio.create_task(server.serve(sockets=[bound]))
            await until(lambda: server.started)
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
            server.should_exit = True
            await serving


#: How a client says that it wants no answer any more: it goes, or ends its session.
WAYS_TO_LEAVE = ("goes", "ends its session")


@pytest.mark.parametrize("how", WAYS_TO_LEAVE)
async def test_a_client_that_leaves_ends_its_statement(publish, how, monkeypatch):
    slow = site()
    slow.faults["s", "3"] = "hang"
    agents, over = Agents((publish(slow, TABLES),)), asyncio.Event()
    query = agents.query

    async def watched(*given: Any, **options: Any) -> QueryReply:
        try:
            return await query(*given, **options)
        finally:
            over.set()

    monkeypatch.setattr(agents, "query", watched)
    headers = {"Authorization": "Bearer t0ken-of-the-agents", "Accept": "application/json, text/event-stream"}
    async with over_http(agents) as url, aiohttp.ClientSession(headers=headers) as http:
        begin, *rest = calls(JOIN)
        async with http.post(url, json=begin) as reply:
            session = {"Mcp-Session-Id": reply.headers["Mcp-Session-Id"]}
        async with http.post(url, json=rest[0], headers=session):
            pass
        running = await http.post(url, json=rest[1], headers=session)
        await slow.hanging.wait()
        assert not over.is_set()
        if how == "goes":
            running.close()
        else:
            async with http.delete(url, headers=session) as ended:
                assert ended.status == 200
        await over.wait()
        running.close()


async def test_who_asks_for_little_does_not_wait_for_all_that_others_ask(publish):
    one = site()
    spec = publish(one, TABLES, rate_limit={"fill_rate": 10, "bucket_size": 1})
    async with Agents((spec,)) as agents:
        keys = ",".join(map(str, range(1000, 1100)))
        greedy = asyncio.create_task(asked(agents, f"SELECT b FROM s WHERE a IN ({keys})", asker="greedy"))
        await until(lambda: sum(one.keys.values()) >= 3)
        before = sum(one.keys.values())
        small = asyncio.create_task(asked(agents, "SELECT b FROM s WHERE a = 3", asker="small"))
        assert (await small).rows == [[30]]
        assert sum(one.keys.values()) - before <= 15, "of a hundred"
        greedy.cancel()
        await asyncio.gather(greedy, return_exceptions=True)


def test_values_lose_nothing_on_their_way_into_json():
    table = pa.table(
        {
            "n": pa.array([1, 2**60, None]),
            "x": pa.array([0.1, float("nan"), float("-inf")]),
            "d": pa.array([Decimal("1.10"), None, Decimal("99999999999999999999.01")]),
            "l": pa.array([[1, None], None, []]),
            "t": pa.array(["a\u202eb", "", None]),
        }
    )
    assert json_rows(table) == [
        [1, 0.1, "1.10", [1, None], "a\u202eb"],
        [str(2**60), "nan", None, None, ""],
        [None, "-inf", "99999999999999999999.01", [], None],
    ]


def test_nested_values_lose_nothing_either():
    large, exact = 2**53 + 1, Decimal("12345678901234567890.12345678")
    number = pa.decimal128(30, 8)
    table = pa.table(
        {
            "l": pa.array([[exact, Decimal("0.0000001"), None]], pa.list_(number)),
            "m": pa.array([[("k", large), ("j", 1)]], pa.map_(pa.string(), pa.int64())),
            "k": pa.array([[(Decimal("0.0000001"), True)]], pa.map_(number, pa.bool_())),
            "s": pa.array([{"p": [exact], "f": 1e300, "nan": float("nan"), "d": dt.date(2024, 1, 2), "b": b"\x01"}], pa.struct({"p": pa.list_(number), "f": pa.float64(), "nan": pa.float64(), "d": pa.date32(), "b": pa.binary()})),
        }
    )  # fmt: skip
    assert json_rows(table) == [
        [
            [str(exact), "0.00000010", None],
            {"k": str(large), "j": 1},
            {"0.00000010": True},
            {"p": [str(exact)], "f": 1e300, "nan": "nan", "d": "2024-01-02", "b": "01"},
        ]
    ]


async def asked(
    agents: Agents, sql: str, params: Mapping[str, object] | None = None, **options: Any
) -> QueryReply:
    async def silent(_seconds: float, _words: str) -> None:
        return

    given = {"max_rows": 1000, "deadline": None, "max_requests": None, "tell": silent} | options
    return await agents.query(sql, params or {}, **given)
