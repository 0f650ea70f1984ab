"""Tables whose columns no spec declares: learnt from the first page, when a statement needs them."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from fff.errors import QueryError, SourceError
from fff.federation import Federation
from fff.web.client import WebClient
from fff_cli.commands.source import described
from fff_cli.run.federation import discover_all
from fff_sources.load import load_catalog
from tests.engine.site import run
from tests.web.serving import Handler, Serve, Served

ROWS: list[dict[str, object]] = [
    {"zip": "00501", "n": 1, "x": 0.5, "ok": True, "more": {"a": [1]}},
    {"zip": "94704", "n": None, "x": 2, "ok": False, "more": None},
]


@asynccontextmanager
async def inferring(
    serve: Serve, folder: Path, handler: Handler, form: str = "json"
) -> AsyncIterator[tuple[Federation, Served]]:
    served = await serve(handler)
    file = folder / "fff.yaml"
    file.write_text(
        f"{{version: 1, sources: {{web: {{client: {{base_url: '{served.url}', retry: {{max_attempts: 1}}}}, tables: {{"
        f"t: {{scan: {{endpoint: {{path: t, format: {form}}}}}, key_columns: [zip]}},"
        f" declared: {{columns: {{zip: string}}, scan: {{endpoint: t}}}}}}}}}}}}"
    )
    client = WebClient(rng=random.Random(1))
    catalog = load_catalog([file], environ={}, cwd=folder, client=client)
    async with Federation(catalog, client) as federation:
        yield federation, served


async def rows(asked: web.Request) -> web.Response:
    wanted = asked.query.get("zip")
    return web.json_response([row for row in ROWS if wanted in (None, row["zip"])])


async def test_a_query_over_inferred_columns(serve: Serve, tmp_path: Path) -> None:
    async with inferring(serve, tmp_path, rows) as (federation, served):
        sql = "SELECT zip, n, x, ok, more FROM web.t WHERE n IS NOT NULL OR x > 1"
        await discover_all(federation, [sql])
        assert len(served.asked) == 1
        found, execution = await run(federation, sql)
        assert found == [("00501", 1, 0.5, True, '{"a": [1]}'), ("94704", None, 2.0, False, None)]
        assert [field.type for field in execution.schema or ()] == [
            "string", "bigint", "double", "boolean", "string",
        ]  # fmt: skip
        assert execution.outcome.complete
        before = len(served.asked)
        await federation.discover(sql)
        assert len(served.asked) == before, "what is known is not asked again"
        by_key, _ = await run(federation, "SELECT n FROM t WHERE zip = '00501'")
        assert by_key == [(1,)]
        assert "zip" in "\n".join(described(federation.catalog.find(["t"])[0]))


async def test_declared_tables_are_never_asked_for_their_columns(serve: Serve, tmp_path: Path) -> None:
    async with inferring(serve, tmp_path, rows) as (federation, served):
        await federation.discover("SELECT * FROM declared")
        federation.prepare("SELECT * FROM declared")
        with pytest.raises(QueryError, match=r"columns of web\.t are not declared"):
            federation.prepare("SELECT * FROM t JOIN declared USING (zip)")
        assert served.asked == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<html>log in</html>", "not valid json"),
        ("[]", "no rows to infer columns from"),
        ("[" * 100_000, "nested too deeply|not valid json"),
        ('{"a": 1', "not valid json"),
    ],
)
async def test_a_first_page_that_tells_nothing(serve: Serve, tmp_path: Path, body: str, message: str) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/json")

    async with inferring(serve, tmp_path, handler) as (federation, _):
        with pytest.raises(SourceError, match=message) as caught:
            await federation.discover("SELECT * FROM t")
        assert (caught.value.source, caught.value.table) == ("web", "t")


@pytest.mark.slow
async def test_the_command_line_learns_columns_too(serve: Serve, tmp_path: Path) -> None:
    async with inferring(serve, tmp_path, rows):
        for words in (["source", "show", "web.t"], ["query", "SELECT zip, n FROM web.t"]):
            process = await asyncio.create_subprocess_exec(
                *[sys.executable, "-m", "fff_cli", *words, "-s", str(tmp_path / "fff.yaml")],
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await asyncio.wait_for(process.communicate(), 100)
            assert process.returncode == 0, err.decode()
            assert "zip" in out.decode()
            assert "n" in out.decode()


async def test_names_that_differ_only_in_case_are_told_apart(serve: Serve, tmp_path: Path) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text=json.dumps([{"Zip": "1", "zip": "2"}]), content_type="application/json")

    async with inferring(serve, tmp_path, handler) as (federation, _):
        await federation.discover("SELECT * FROM t")
        found, _ = await run(federation, "SELECT * FROM t")
        assert found == [("1", "2")]
