"""`fff explain`: the plan of a query, without sending a request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from fff_cli.output import emit
from fff_cli.params import parse_params
from fff_cli.query import sql_texts
from fff_cli.values import line_printable


def run_explain(
    sql: str | None, files: Sequence[Path], sources: Sequence[Path], params: Sequence[str]
) -> int:
    """Print how each statement would run; raises QueryError, UsageError."""
    texts, values = sql_texts(sql, files), parse_params(params)
    emit("\n".join(asyncio.run(_explain(texts, sources, values))))
    return 0


async def _explain(texts: Sequence[str], sources: Sequence[Path], params: dict[str, object]) -> list[str]:
    from fff_cli.federation import open_federation, prepare_all  # noqa: PLC0415 - engine and sources, only now

    async with open_federation(sources) as federation:
        plans = [federation.explain(one) for one in prepare_all(federation, texts, params)]
    return [line_printable(plan).rstrip("\n") + "\n" for plan in plans]
