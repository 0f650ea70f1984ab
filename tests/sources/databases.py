"""What every database is asked: conditions whose answers must be those of the engine alone."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
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
#: Told where the database's LIKE is ours.
LIKE = None
#: What is ordered and cut, and whether the database can be told all of it, LIMIT included.
CUTS = (
    ("SELECT k FROM {} ORDER BY k LIMIT 5", True),
    ("SELECT k, x FROM {} ORDER BY k DESC, x LIMIT 5 OFFSET 3", True),
    ("SELECT n FROM {} ORDER BY n LIMIT 7", True),
    ("SELECT n FROM {} ORDER BY n NULLS LAST LIMIT 7", True),
    ("SELECT n FROM {} ORDER BY n DESC NULLS FIRST LIMIT 7", True),
    ("SELECT n FROM {} WHERE n IS NOT NULL AND k > 30 ORDER BY n LIMIT 7", True),
    ("SELECT x FROM {} WHERE x >= 0.1 ORDER BY x DESC LIMIT 30", True),
    ("SELECT x FROM {} ORDER BY x LIMIT 30", True),
    ("SELECT name FROM {} ORDER BY name LIMIT 25", True),
    ("SELECT name FROM {} WHERE tag = 'Anna' ORDER BY name DESC LIMIT 25", True),
    ("SELECT k FROM {} WHERE n = 3 AND k <> 22 AND k BETWEEN 10 AND 90 ORDER BY k DESC LIMIT 4", True),
    ("SELECT k FROM {} WHERE k > 9223372036854775806 ORDER BY k LIMIT 4", True),
    ("SELECT k FROM {} WHERE k < -9223372036854775807 OR k < 3 ORDER BY k LIMIT 2", False),
    ("SELECT name FROM {} WHERE name LIKE 'A%' ORDER BY name LIMIT 3", LIKE),
    (
        "SELECT k FROM {} WHERE name LIKE '%\u00e9e' AND tag LIKE '%n%' AND n IN (1, 4) ORDER BY k LIMIT 3",
        LIKE,
    ),
    ("SELECT k FROM {} WHERE name LIKE 'A_n%' ORDER BY k LIMIT 3", False),
    ("SELECT k FROM {} WHERE name LIKE '\\%%' ORDER BY k LIMIT 3", False),
    ("SELECT k FROM {} WHERE startswith(name, '%') AND name LIKE '%%' ORDER BY k LIMIT 3", False),
    ("SELECT k FROM {} WHERE name NOT LIKE 'A%' ORDER BY k LIMIT 3", False),
    ("SELECT n FROM {} WHERE n IN (1, 4) ORDER BY n DESC LIMIT 3", True),
    ("SELECT k FROM {} WHERE name IN ('Bo', 'bo ', 'nobody', NULL) AND k > 20 ORDER BY k LIMIT 3", True),
    (
        "SELECT k FROM {} WHERE k IN (5, 7, 9, 50, 70) AND n <> 0 AND k <> 9 AND k < 60 ORDER BY k DESC LIMIT 3",
        True,
    ),
    ("SELECT k FROM {} WHERE n IN (1, 4) AND n IN (4, 2) ORDER BY k LIMIT 3", True),
    ("SELECT k FROM {} WHERE n IN (1, 4) AND n IN (3, 2) ORDER BY k LIMIT 3", False),
    ("SELECT k FROM {} WHERE k IN (7, 9223372036854775807, 8) ORDER BY k LIMIT 2", True),
    ("SELECT k FROM {} WHERE n NOT IN (1, 4) ORDER BY k LIMIT 3", False),
    ("SELECT k FROM {} WHERE x IN (0.1, 2.5) ORDER BY k LIMIT 3", False),
    ("SELECT k FROM {} WHERE name IS NULL ORDER BY k LIMIT 3", False),
    ("SELECT k FROM {} WHERE n = 2 AND length(name) > 2 ORDER BY k DESC LIMIT 3", False),
    ("SELECT n, k FROM {} ORDER BY n, k DESC LIMIT 3", False),
    ("SELECT name, k FROM {} ORDER BY name DESC, k LIMIT 30", False),
    ("SELECT n, count(*) AS c FROM {} GROUP BY n ORDER BY n LIMIT 3", False),
    ("SELECT DISTINCT n FROM {} ORDER BY n DESC LIMIT 3", False),
    ("SELECT a.k FROM {0} a JOIN {0} b ON a.k = b.n ORDER BY a.k LIMIT 3", False),
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


async def cut(federation: Federation, told: Callable[[], bool], *, exact_like: bool) -> None:
    """Hold every one of `CUTS` over `db.t` against the same over the frame `own`; `told`: whether a LIMIT was sent since."""
    for sql, whole in CUTS:
        expected = await answer(federation, sql.format("own"))
        told()
        assert await answer(federation, sql.format("db.t")) == expected, sql
        assert told() == (exact_like if whole is LIKE else whole), sql
        federation.reset()
