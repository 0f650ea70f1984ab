"""A site that stays, and runs over it that share a cache on disk and nothing else."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fff.access.disk.policy import RowCache
from fff.federation import Federation
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.engine.duck import over_duck
from tests.engine.site import Row, Site, access, run
from tests.web.serving import Serve

INTS = {"a": "int", "b": "int"}
ABC = {"a": "int", "b": "int", "c": "string"}
TABLES = {
    "r": access("r", INTS),
    "s": access("s", ABC, lookups=["b"], scan=False),
    "t": access("t", ABC, lookups=["a", "b"]),
}
JOIN = "SELECT r.a, s.c FROM r JOIN s ON r.b = s.b"


def site() -> Site:
    return Site(
        {
            "r": (("a", "b"), [(i, i % 5) for i in range(25)]),
            "s": (("a", "b", "c"), [(i, i, f"s{i}") for i in range(3)]),
            "t": (("a", "b", "c"), [(i % 4, i % 7, f"t{i}") for i in range(30)]),
        }
    )


@dataclass
class World:
    """A site that stays, and runs over it that share a folder and nothing else."""

    url: str
    site: Site
    folder: Path
    tables: Mapping[str, dict[str, Any]]
    client: dict[str, Any] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    now: float = 1_000_000.0
    options: dict[str, Any] = field(default_factory=lambda: {"ttl": 300.0})
    duck: bool = False  # in the place of Spark
    cut: int = 0  # requests that may still come to the site though their run is over

    @property
    def kept(self) -> Path:
        return self.folder / "rows"

    def cache(self) -> RowCache:
        return RowCache(self.kept, clock=lambda: self.now, **self.options)

    @contextlib.asynccontextmanager
    async def federation(self, *, cached: bool = True, keep: bool = False) -> AsyncIterator[Federation]:
        settings = {"base_url": self.url, "retry": {"max_attempts": 1}} | self.client
        spec = {"version": 1, "sources": {"web": {"client": settings, "tables": dict(self.tables)}}}
        file = self.folder / "fff.yaml"
        file.write_text(json.dumps(spec), encoding="utf-8")  # which is YAML too, and written sooner
        client = WebClient(rng=random.Random(1))
        catalog = load_catalog([file], environ=self.environ, cwd=self.folder, client=client)
        async with Federation(
            catalog, client, keep=keep, cache=self.cache() if cached else None
        ) as federation:
            yield federation

    async def run(self, sql: str, *, cached: bool = True, **options: Any) -> tuple[list[Row], int, int]:
        """The rows, how many requests were sent, and how many pages and keys came from disk."""
        before = self.site.scans.total() + self.site.keys.total()
        async with self.federation(cached=cached) as federation:
            if self.duck:
                over_duck(federation)
            rows, execution = await run(federation, sql, **options)
        sent = self.site.scans.total() + self.site.keys.total() - before
        told = execution.snapshot().access
        counted = sum(one.requests for one in told)
        # A request that is under way when nobody needs it any more comes to the site late, or never.
        cut = sum(one.max_in_flight for one in told if one.requests and not one.complete)
        assert counted - cut <= sent <= counted + self.cut, "the report counts what was sent"
        self.cut += cut
        return rows, sent, sum(one.cached for one in told)


@pytest.fixture
async def world(serve: Serve, tmp_path: Path) -> World:
    one = site()
    served = await serve(one.answer)
    return World(served.url, one, tmp_path, TABLES)
