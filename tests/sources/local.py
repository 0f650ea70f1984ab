"""Statements over files of this machine."""

from __future__ import annotations

from pathlib import Path

from fff.federation import Federation
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.engine.site import run


def federation(folder: Path, *specs: str, client: WebClient | None = None) -> Federation:
    client = client or WebClient()
    paths = [Path(spec) for spec in specs]
    return Federation(load_catalog(paths, environ={}, cwd=folder, client=client), client)


async def rows(folder: Path, sql: str, *specs: str) -> list[tuple[object, ...]]:
    """What a statement finds, sorted, NULL first."""
    client = WebClient()
    async with federation(folder, *specs, client=client) as found:
        await found.discover(sql)
        result, execution = await run(found, sql)
        assert execution.outcome.complete
        assert client.requests_sent == 0
        return sorted(result, key=lambda row: [(one is not None, one) for one in row])
