"""The one place where commands meet sources and engine; imported late, since it brings all of both."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fff.cache.keeping import row_cache
from fff.catalog import Catalog
from fff.engine import Federation, Prepared
from fff.errors import UsageError
from fff.sql import parameter_names, split_statements, unused_parameter
from fff.web.client import WebClient
from fff_cli.spare import spare_pandas
from fff_sources.load import load_catalog

spare_pandas()


@asynccontextmanager
async def open_federation(
    sources: Sequence[Path],
    *,
    environ: Mapping[str, str] | None = None,
    keep: bool = False,
    client: WebClient | None = None,
    cache: bool | None = None,
    cache_ttl: float | None = None,
) -> AsyncIterator[Federation]:
    """The catalog found at `sources` (or the usual places when empty) and an engine over it.

    `keep`: what statements have read serves those that follow, until `Federation.reset`. `client`: what requests are sent with;
    by default one that sends them over the network. `cache`, `cache_ttl`: what is kept on disk, as for `row_cache`.
    """
    kept = row_cache(os.environ if environ is None else environ, enabled=cache, ttl=cache_ttl)
    client = client or WebClient()
    async with Federation(_load(sources, environ, client), client, keep=keep, cache=kept) as federation:
        yield federation


@asynccontextmanager
async def open_catalog(sources: Sequence[Path]) -> AsyncIterator[Catalog]:
    """The catalog alone, for listing it."""
    client = WebClient()
    try:
        yield _load(sources, None, client)
    finally:
        await client.close()


def _load(sources: Sequence[Path], environ: Mapping[str, str] | None, client: WebClient) -> Catalog:
    return load_catalog(
        sources, environ=os.environ if environ is None else environ, cwd=Path.cwd(), client=client
    )


async def discover_all(federation: Federation, texts: Sequence[str]) -> None:
    """Learn the columns that the statements need and no spec declares. Raises QueryError, SourceError."""
    for text in texts:
        for statement in split_statements(text):
            await federation.discover(statement)


def prepare_all(
    federation: Federation, texts: Sequence[str], params: Mapping[str, object], prioritize: Sequence[str] = ()
) -> list[Prepared]:
    """Every statement, checked before any runs; each gets the parameters it names. Raises QueryError, UsageError."""
    statements = [statement for text in texts for statement in split_statements(text)]
    if not statements:
        raise UsageError("there is no SQL in what was given", hint="fff query 'SELECT …'")
    if len(statements) == 1:
        return [federation.prepare(statements[0], params, prioritize)]
    names = [parameter_names(one) for one in statements]
    unused = [name for name in params if not any(name in known for known in names)]
    if unused:
        raise unused_parameter(unused[0], frozenset().union(*names))
    return [
        federation.prepare(one, {name: value for name, value in params.items() if name in known}, prioritize)
        for one, known in zip(statements, names, strict=True)
    ]
