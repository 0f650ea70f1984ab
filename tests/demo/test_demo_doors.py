"""The demo query through every door, each a process that a user would start, asked by the client that is made for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fff_sources.demo import QUERY, spec_text
from fff_sources.demo.process import DemoServer
from tests.api.browser import BROWSER, browsing
from tests.api.examples import ROOT
from tests.api.serving import COMMAND, TOKEN, command, started
from tests.demo.expected import expected, groups

Rows = list[list[Any]]
HAS_MCP = find_spec("mcp") is not None
AGENTS = (*COMMAND, "mcp", "--only", "demo", "--deadline", "600")


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Path]:
    """The demo sources, up; the spec that reads them."""
    with DemoServer(delay_scale=0.05) as server:
        path = tmp_path / "demo.yaml"
        path.write_text(spec_text(server.base_url), encoding="utf-8")
        yield path


@contextlib.contextmanager
def postgres(spec: Path) -> Iterator[str]:
    """The URL of the server for PostgreSQL's clients."""
    with started(spec, "--postgres-port", "0", only="demo") as server:
        port = server.said.rpartition(":")[2].partition("/")[0]
        yield f"postgresql://me:{TOKEN}@127.0.0.1:{port}/fff"


async def by_psql(spec: Path) -> Rows:
    with postgres(spec) as url:
        plain = ["-X", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1"]
        done = await asyncio.to_thread(ran, "psql", *plain, "-c", QUERY, url)
    return [line.split("\t") for line in done.splitlines()]


async def by_psycopg(spec: Path) -> Rows:
    with postgres(spec) as url:
        async with await psycopg.AsyncConnection.connect(url) as connection:
            rows = await (await connection.execute(QUERY)).fetchall()
            return [list(row) for row in rows]


async def by_command(spec: Path) -> Rows:
    with started(spec, only="demo") as server:
        arguments = ("query", "--server", server.url, "-o", "ndjson", QUERY)
        done = await asyncio.to_thread(lambda: command(*arguments, cwd=spec.parent))
        assert done.returncode == 0, done.stderr
        return [list(json.loads(line).values()) for line in done.stdout.splitlines()]


async def by_browser(spec: Path) -> Rows:
    """On the page of the server, which alone it may ask."""
    asked = {"method": "POST", "body": json.dumps({"sql": QUERY})}
    asked["headers"] = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    with started(spec, only="demo") as server:
        async with browsing(spec.parent / "profile") as tab:
            await tab.call("Page.enable")
            await tab.call("Page.navigate", url=f"{server.url}/#{TOKEN}")
            await tab.until("document.body.innerText.includes('no query of yours is under way')")
            await tab.value(
                f"fetch('/v1/query', {json.dumps(asked)}).then((reply) => reply.text())"
                ".then((text) => { window.answer = text; })"
            )
            answer = json.loads(await tab.until("window.answer", seconds=300))
    assert answer["complete"], answer
    return list(answer["rows"])


async def by_agent(transport: Any) -> Rows:
    import mcp

    async with mcp.Client(transport, read_timeout_seconds=600) as session:
        arguments = {"sql": QUERY, "max_rows": 1000, "deadline_seconds": 600}
        answer = (await session.call_tool("query", arguments)).structured_content
    assert answer["complete"], answer
    assert not answer["cut"]
    return list(answer["rows"])


async def by_agent_on_standard_input(spec: Path) -> Rows:
    import mcp

    program, *arguments = AGENTS
    environ = dict(os.environ)
    return await by_agent(
        mcp.StdioServerParameters(command=program, args=[*arguments, "-s", str(spec)], env=environ)
    )


async def by_agent_over_http(spec: Path) -> Rows:
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with agents_over_http(spec) as url, create_mcp_http_client(headers=headers) as http:
        return await by_agent(streamable_http_client(url, http_client=http))


@contextlib.asynccontextmanager
async def agents_over_http(spec: Path) -> AsyncIterator[str]:
    environ = dict(os.environ, FFF_MCP_TOKEN=TOKEN)
    arguments = [*AGENTS, "-s", str(spec), "--http", "0"]
    with subprocess.Popen(arguments, env=environ, stderr=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220
        try:
            assert process.stderr is not None
            line = await asyncio.to_thread(process.stderr.readline)
            address = re.search(r"http://\S+", line)
            assert address is not None, line
            yield address[0]
        finally:
            process.kill()


def by_cluster(master: str) -> Callable[[Path], Awaitable[Rows]]:
    async def found(spec: Path) -> Rows:
        program = (sys.executable, "-m", "tests.demo.cluster_program", master, str(spec))
        return list(json.loads((await asyncio.to_thread(ran, *program)).splitlines()[-1]))

    return found


def ran(*arguments: str) -> str:
    """What a program prints."""
    environ = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        arguments, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def lacking(what: str, there: object) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not there, reason=f"{what} is not installed")


PSQL, DUCKDB = lacking("psql", shutil.which("psql")), lacking("duckdb", find_spec("duckdb"))
CHROMIUM, MCP = lacking("Chromium (or FFF_CHROMIUM)", BROWSER), lacking("mcp", HAS_MCP)
JAVA = lacking("Java, on PATH or in JAVA_HOME,", shutil.which("java") or "JAVA_HOME" in os.environ)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    "door",
    [
        pytest.param(by_psql, id="psql", marks=[PSQL, DUCKDB]),
        pytest.param(by_psycopg, id="psycopg", marks=DUCKDB),
        pytest.param(by_agent_on_standard_input, id="mcp", marks=MCP),
        pytest.param(by_agent_over_http, id="mcp over http", marks=MCP),
        pytest.param(by_browser, id="browser", marks=CHROMIUM),
        pytest.param(by_command, id="fff query --server"),
        pytest.param(by_cluster("local-cluster[4,1,1024]"), id="local-cluster", marks=JAVA),
        pytest.param(by_cluster("standalone"), id="standalone cluster", marks=JAVA),
    ],
)
async def test_the_demo_query_through_every_door(demo: Path, door: Callable[[Path], Awaitable[Rows]]) -> None:
    assert groups(await door(demo)) == expected()
