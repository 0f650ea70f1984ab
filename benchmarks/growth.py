"""What a row, a lookup and a table cost as there are more of them, beside what they cost in a number that is usual.

    python -m benchmarks.growth

Rows are those of three tables joined in memory, in pages of 10,000, here and by DuckDB, as tables beyond the processor's
caches are dearer to hash for anybody; lookups are of an API on this machine that answers after 5 ms, 32 at once; tables
are those of a star of scans or lookups with a row each, planned, opened, joined and judged.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import engine, lookups, planning
from benchmarks.serving import served

#: Seconds below which a measurement is made more than once.
_BRIEF_S = 3.0
_ROUNDS = 3


@dataclass(frozen=True)
class Growth:
    """The cost of one of something by how many there are, over its cost where there are `base`."""

    name: str
    base: int
    ratios: dict[str, float]


def rows(count: int) -> float:
    """Seconds of processor for a row."""
    return engine.join("adaptive", engine.make_data(3, count), 10_000) / (3 * count)


def duck_rows(count: int) -> float:
    """The same of DuckDB."""
    return engine.duck(engine.make_data(3, count)) / (3 * count)


def keys(count: int) -> float:
    """Seconds of processor for a lookup."""
    lookups.settle()
    with served(count, 1_000, 0.005) as url:
        return asyncio.run(lookups.ours(url, 32))[1] / count


def tables(count: int) -> float:
    """Seconds for a table, planning included."""
    return asyncio.run(planning.run(planning.star(count), planning.tables_of(count, "both")))[1] / count


GROWTHS: tuple[tuple[str, Callable[[int], float], int, tuple[int, ...]], ...] = (
    ("a row, in a join of three tables", rows, 100_000, (10_000, 100_000, 1_000_000, 10_000_000)),
    ("the same in DuckDB, 1 thread", duck_rows, 100_000, (10_000, 100_000, 1_000_000, 10_000_000)),
    ("a lookup", keys, 1_000, (100, 1_000, 10_000, 100_000)),
    ("a table of a join", tables, 8, (2, 4, 8, 16, 24)),
)


def _cost(measured: Callable[[int], float], count: int) -> float:
    """The median of some rounds; of one where that takes long."""
    first = measured(count)
    if first * count > _BRIEF_S:
        return first
    return statistics.median(measured(count) for _ in range(_ROUNDS))


def growths() -> list[Growth]:
    """All of them, one after the other; some minutes."""
    found = []
    for name, measured, base, sizes in GROWTHS:
        measured(sizes[0])  # what is imported and made on first use
        costs = {size: _cost(measured, size) for size in sizes}
        ratios = {f"{size:,}": round(cost / costs[base], 2) for size, cost in costs.items()}
        found.append(Growth(name, base, ratios))
    return found


def page(found: list[Growth]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [
        "| the cost of | beside one of | and so many times that of one of |",
        "| --- | ---: | --- |",
    ]
    for one in found:
        told = ", ".join(
            f"{size}: {ratio:.2f}" for size, ratio in one.ratios.items() if size != f"{one.base:,}"
        )
        lines.append(f"| {one.name} | {one.base:,} | {told} |")
    return lines


if __name__ == "__main__":
    print(*page(growths()), sep="\n")
