from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from fff.api.loop import LoopThread
from fff.federation import Federation
from fff.opening import open_federation
from tests.engine.duck import over_duck
from tests.engine.patience import no_page_is_late
from tests.engine.site import Site

__all__ = ["duck_for_spark", "no_page_is_late", "publish"]

#: Serves a site and writes a spec whose source `web` it is; the path of the spec.
Publish = Callable[..., Path]


@pytest.fixture
def publish(tmp_path: Path) -> Iterator[Publish]:
    """Sites served by a thread of their own, so that tests may block."""
    loop = LoopThread()
    with contextlib.ExitStack() as stack:
        stack.callback(loop.stop)

        def start(site: Site, tables: dict[str, dict[str, Any]], **client: Any) -> Path:
            runner, port = loop.run(_serve(site))
            stack.callback(lambda: loop.run(_stop(site, runner)))
            settings = {
                "base_url": f"http://127.0.0.1:{port}",
                "retry": {"max_attempts": 2, "max_delay": 0.01},
            }
            spec = {"version": 1, "sources": {"web": {"client": settings | client, "tables": tables}}}
            file = tmp_path / f"{port}.yaml"
            file.write_text(yaml.safe_dump(spec), encoding="utf-8")
            return file

        yield start


@pytest.fixture
def duck_for_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections take DuckDB for Spark."""

    def opened(*sources: Any, **options: Any) -> Federation:
        federation = open_federation(*sources, **options)
        over_duck(federation)
        return federation

    monkeypatch.setattr("fff.api.running.open_federation", opened)


async def _serve(site: Site) -> tuple[web.AppRunner, int]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    listening = web.TCPSite(runner, "127.0.0.1", 0)
    await listening.start()
    return runner, runner.addresses[0][1]


async def _stop(site: Site, runner: web.AppRunner) -> None:
    site.over.set()
    await runner.cleanup()
    for _ in range(5):  # connections that were being closed, or accepted, at that moment
        await asyncio.sleep(0)
