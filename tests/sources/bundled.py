"""Statements over the bundled sources, whose hosts stand for recordings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fff.federation import Federation, RunOptions
from fff.options import OnSourceError
from fff.web.client import WebClient
from fff.web.clock import Clock
from fff_sources.load import load_catalog


async def rows_of(
    source: str,
    base_url: str,
    sql: str,
    environ: Mapping[str, str] | None = None,
    warning: str = "",
    *,
    complete: bool = True,
    clock: Clock | None = None,
) -> list[tuple[Any, ...]]:
    """What a statement gives over a bundled source that is somewhere else: in whole, or known not to be."""
    client = WebClient(clock=clock)
    mode: OnSourceError = "fail" if complete else "partial"
    environ = {**(environ or {}), f"FFF_{source.upper()}_BASE_URL": base_url}
    catalog = load_catalog([], environ=environ, cwd=Path(__file__).parent, client=client)
    async with Federation(catalog, client) as federation:
        execution = federation.execute(federation.prepare(sql), RunOptions(on_source_error=mode, seed=7))
        batches = [batch async for batch in execution.batches()]
        report = execution.outcome.report
    assert report["complete"] is complete
    assert [one for one in report["warnings"] if not warning or warning not in one] == []
    assert len(report["warnings"]) == bool(warning)
    return [row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
