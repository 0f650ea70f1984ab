"""What every database is asked: conditions whose answers must be those of the engine alone."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pyarrow as pa

from fff.federation import Federation
from fff.functions import Frame
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.engine.site import run

#: Over a table `t` with k (key), n, x, name and tag, of which all but k have NULLs.
CONDITIONS = (
    "k = 7",
    "k IN (1, 2, 2, 900, -5)",
    "n = 3",
    "n <> 3",
    "n > 2 AND n <= 4",
    "NOT (n < 3)",
    "n = 1 OR n = 4",
    "n IS NULL",
    "x > 2.5",
    "x <= 0.1",
    "x BETWEEN 0.1 AND 0.30000000000000004",
    "name = 'Anna'",
    "name = 'anna'",
    "name = 'oNeil\"; DROP TABLE t; --'",
    "name = ''",
    "name IN ('Bo', 'bo', 'nobody', '% _')",
    "name LIKE 'a%'",
    "name LIKE 'A%a'",
    "name LIKE '%\u00e9_'",
    "name LIKE '%DROP%'",
    "tag = 'Anna '",
    "tag LIKE '%n%' AND name IS NOT NULL",
    "tag > 'b'",
    "lower(name) = 'anna' AND n > 0",
    "name = 'Anna' AND tag = 'Anna'",
    "k > 9223372036854775806",
    "n < -2147483648 OR k = 3",
)
NAMES = (
    "Anna",
    "anna",
    "ANNA",
    "Bo",
    "bo ",
    "",
    " ",
    'oNeil"; DROP TABLE t; --',
    "% _",
    "Ren\u00e9e",
    "ren\u00e9",
    None,
)


def rows_of_t(count: int = 120) -> list[dict[str, Any]]:
    """Rows in which NULLs come first, and each value meets each other one."""
    values = (0.1, 0.30000000000000004, 2.5, -0.0, 1e300, None)
    return [
        {
            "k": number,
            "n": None if number < 3 else number % 6 - 1,
            "x": None if number < 3 else values[number % 6],
            "name": None if number < 3 else NAMES[number % len(NAMES)],
            "tag": None if number < 3 else NAMES[number * 5 % 11],
        }
        for number in range(count)
    ]


@contextlib.asynccontextmanager
async def opened(
    folder: Path, spec: str, frames: Mapping[str, Sequence[dict[str, Any]]] | None = None, **environ: str
) -> AsyncIterator[Federation]:
    """A federation over one spec and frames of the program."""
    file = folder / "fff.yaml"
    file.write_text(dedent(spec), encoding="utf-8")
    client = WebClient()
    catalog = load_catalog([file], environ=environ, cwd=folder, client=client)
    async with Federation(catalog, client) as federation:
        for name, rows in (frames or {}).items():
            federation.register_frame(Frame.of(name, pa.Table.from_pylist(list(rows))))
        yield federation


async def answer(federation: Federation, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement, which must be all of them."""
    await federation.discover(sql)
    found, execution = await run(federation, sql)
    assert execution.outcome.complete, execution.outcome.missing
    return sorted(found, key=repr)


async def requests(federation: Federation, sql: str) -> dict[str, int]:
    """How many requests each access method of a statement took."""
    await federation.discover(sql)
    _, execution = await run(federation, sql)
    assert execution.outcome.complete
    return {one.name: one.requests for one in execution.snapshot().access if one.requests}
