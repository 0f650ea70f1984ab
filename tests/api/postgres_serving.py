"""The Postgres door of `fff serve`, in this process."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from fff_cli.postgres.door import PostgresDoor
from fff_cli.run.federation import open_federation
from fff_cli.serve.queries import Queries, ServeLimits
from tests.api.serving import TOKEN

WHOLE = sorted((n, 10 * (n * 3 % 7)) for n in range(45))


@dataclass
class Standing:
    """A server in this process."""

    port: int
    queries: Queries

    @property
    def url(self) -> str:
        return f"postgresql://me:{TOKEN}@127.0.0.1:{self.port}/fff"

    def connect(self, **more: Any) -> Any:
        return psycopg.AsyncConnection.connect(self.url, autocommit=True, **more)


@contextlib.asynccontextmanager
async def standing(
    spec: Path, limits: ServeLimits | None = None, *, only: Sequence[str] = ("web",)
) -> AsyncIterator[Standing]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        federation = open_federation([spec], keep=True, max_age=0, cache=False, local_files=False)
        async with federation:
            federation.catalog.narrow(only)
            queries = Queries(federation, limits or ServeLimits())
            async with PostgresDoor(queries, {"": TOKEN}).listening(bound):
                yield Standing(bound.getsockname()[1], queries)
