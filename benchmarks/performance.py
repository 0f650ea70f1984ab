"""Every ratio that FFF promises, against references run in the same minute: the page docs/performance.md.

    python -m benchmarks            measure, and write docs/performance.md and docs/performance.json
    python -m benchmarks --check    the short form: smaller sizes, exit code 1 where a ratio exceeds its bar

Seconds of processor, so that a busy machine changes little; only ratios are kept, which carry over to other machines.
A ratio is ours over the reference: less is better.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import (
    engine,
    filters,
    growth,
    lookups,
    memory,
    pages,
    reading,
    rivals,
    start,
    view,
    warm,
    writing,
)
from fff.structs import replace

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROUNDS = 3
#: A round: seconds of what is measured, and of what it is held against. Told whether sizes are to be small.
Round = Callable[[bool], tuple[float, float]]


@dataclass(frozen=True)
class Measure:
    """One promise. `bar`: what it is held to; `target`: what it is to become. `command` shows more of it."""

    name: str
    against: str
    bar: float
    target: float
    command: str
    round: Round
    #: Why it cannot be measured here, where that depends on what is installed.
    missing: Callable[[], str | None] = lambda: None


@dataclass(frozen=True)
class Result:
    """What was measured of a promise; `ratio`: None where the reference is not installed."""

    name: str
    against: str
    ratio: float | None
    bar: float
    target: float
    command: str

    @property
    def kept(self) -> bool:
        """Whether the ratio is not above its bar."""
        return self.ratio is None or self.ratio <= self.bar


def more_rows(short: bool) -> tuple[float, float]:
    """Per row, of ten times as many rows and of as many."""
    rows = 30_000 if short else 300_000
    times = [engine.join("adaptive", engine.make_data(3, count), 10_000) for count in (10 * rows, rows)]
    return times[0] / 10, times[1]


def small_pages(short: bool) -> tuple[float, float]:
    """Pages of 100 rows and of 10,000."""
    data = engine.make_data(3, 20_000 if short else 100_000)
    return engine.join("adaptive", data, 100), engine.join("adaptive", data, 10_000)


def small_http_pages(short: bool) -> tuple[float, float]:
    """Pages of 100 rows and of 10,000, read, joined and handed on."""
    rows = 10_000 if short else 20_000
    return pages.processor(rows, 100), pages.processor(rows, 10_000)


def joined_pages(short: bool) -> tuple[float, float]:
    """Pages over HTTP to joined rows, and to rows that nobody joins."""
    rows = 20_000 if short else 100_000
    return pages.processor(rows, 1_000), pages.processor(rows, 1_000, pages.download)


def against(rival: Callable[[int], float]) -> Round:
    """Three tables joined in memory, beside another engine."""

    def measured(short: bool) -> tuple[float, float]:
        rows = 50_000 if short else 100_000
        return engine.join("adaptive", engine.make_data(3, rows), 10_000), rival(rows)

    return measured


def by_the_clock(rival: Callable[[str, int], float]) -> Round:
    """A list joined with what an API tells of each key, beside another tool; of the clock, as its user waits."""

    def measured(short: bool) -> tuple[float, float]:
        return rivals.by_the_clock(rival, 200 if short else 1_000)

    return measured


def looked_up(*, kept: bool) -> Round:
    """Lookups beside the same requests without any engine, or kept on disk beside not kept."""

    def measured(short: bool) -> tuple[float, float]:
        return lookups.processor(500 if short else 2_000, kept=kept)

    return measured


def pair_keys(short: bool) -> tuple[float, float]:
    """Keys of two columns neither of which is selective, and keys of one."""
    rows = 20_000 if short else 1_000_000
    plan, data = engine.pairs(rows)
    return engine.join("adaptive", data, 1_000, plan=plan), engine.join(
        "adaptive", engine.make_data(2, rows), 1_000
    )


def range_join(short: bool) -> tuple[float, float]:
    """A key between two columns, and keys that are equal."""
    rows = 20_000 if short else 100_000
    plan, data = engine.ranges(rows)
    return engine.join("adaptive", data, 1_000, plan=plan), engine.join(
        "adaptive", engine.make_data(2, rows), 1_000
    )


def filtered(short: bool) -> tuple[float, float]:
    """The filter that costs most beside its kernels."""
    return filters.dearest(300_000 if short else 1_000_000)


def against_duckdb(page: int) -> Round:
    """Three tables to joined Arrow rows."""

    def measured(short: bool) -> tuple[float, float]:
        data = engine.make_data(3, 50_000 if short else 100_000)
        return engine.join("adaptive", data, page), engine.duck(data)

    return measured


def adaptive(short: bool) -> tuple[float, float]:
    """The default policy and a fixed order."""
    data = engine.make_data(3, 50_000 if short else 100_000)
    return engine.join("adaptive", data, 1_000), engine.join("fixed", data, 1_000)


def read(form: str) -> Round:
    """A body to columns."""

    def measured(short: bool) -> tuple[float, float]:
        rows = 20_000 if short else 100_000
        body = reading.bodies(rows)[form]
        return reading.timed(reading.by_fff, form, body, rows), reading.timed(
            reading.by_hand, form, body, rows
        )

    return measured


def write(form: str) -> Round:
    """Rows to a format."""

    def measured(short: bool) -> tuple[float, float]:
        table = writing.made(100_000 if short else 1_000_000)
        return writing.by_fff(form, table), writing.by_duckdb(form, table)

    return measured


def started(short: bool) -> tuple[float, float]:
    """A whole query of one row, and the imports alone."""
    del short
    return start.spent(start.first_request), start.spent(start.imports)


def grouped(short: bool) -> tuple[float, float]:
    """A GROUP BY in a Spark that earlier commands have left, the JVM's seconds included, and its rows as they are."""
    del short
    spec = warm.kept()
    return warm.query(spec, warm.GROUPED)[1], warm.query(spec, warm.PLAIN)[1]


def seen(short: bool) -> tuple[float, float]:
    """A run that somebody watches, and its time alone: drawing may take its share of every second."""
    seconds = 4.0 if short else 10.0
    cost, _ = view.watched(seconds)
    return seconds + cost, seconds


ENGINE, FILTERS, READING, WRITING, START, PAGES, LOOKUPS, WARM, VIEW, MEMORY, RIVALS = (
    f"python -m benchmarks.{name}"
    for name in (
        "engine",
        "filters",
        "reading",
        "writing",
        "start",
        "pages",
        "lookups",
        "warm",
        "view",
        "memory",
        "rivals",
    )
)
MEASURES = (
    Measure(
        "a row, ten times as many rows (3 tables, pages of 10,000)", "as many", 2.2, 1.2, ENGINE, more_rows
    ),
    Measure("pages of 100 rows", "pages of 10,000", 5.0, 4.0, ENGINE, small_pages),
    Measure(
        "pages of 100 rows over HTTP, read and joined", "pages of 10,000", 10.0, 4.0, PAGES, small_http_pages
    ),
    Measure("a lookup", "bare aiohttp", 3.0, 2.0, LOOKUPS, looked_up(kept=False)),
    Measure("a lookup kept on disk", "one that is not", 1.6, 1.2, LOOKUPS, looked_up(kept=True)),
    Measure("keys of two columns, neither selective", "keys of one", 3.5, 4.0, ENGINE, pair_keys),
    Measure("a key between two columns", "keys that are equal", 5.0, 4.0, ENGINE, range_join),
    Measure("the dearest filter, pages of 10,000", "its pyarrow kernels", 1.5, 1.2, FILTERS, filtered),
    Measure("join in memory, pages of 1,000", "DuckDB, 1 thread", 6.0, 4.0, ENGINE, against_duckdb(1_000)),
    Measure("join in memory, pages of 10,000", "DuckDB, 1 thread", 5.0, 4.0, ENGINE, against_duckdb(10_000)),
    Measure(
        "join in memory, pages of 10,000",
        "Polars, 1 thread",
        8.0,
        4.0,
        RIVALS,
        against(rivals.polars),
        lambda: rivals.is_missing("polars"),
    ),
    Measure(
        "join in memory, pages of 10,000",
        "PostgreSQL counting it",
        1.5,
        1.0,
        RIVALS,
        against(rivals.postgres),
        rivals.has_no_postgres,
    ),
    Measure(
        "pages of 1,000 over HTTP, joined", "not joined: downloaded, decoded", 2.5, 1.33, PAGES, joined_pages
    ),
    Measure(
        "a list joined with its keys over HTTP, by the clock",
        "Shillelagh",
        0.3,
        0.1,
        RIVALS,
        by_the_clock(rivals.shillelagh),
        lambda: rivals.is_missing("shillelagh"),
    ),
    Measure(
        "a list joined with its keys over HTTP, by the clock",
        "dlt into DuckDB",
        0.8,
        0.5,
        RIVALS,
        by_the_clock(rivals.dlt),
        lambda: rivals.is_missing("dlt"),
    ),
    Measure("a join of three tables, most of it on disk", "in memory", 2.0, 1.2, MEMORY, memory.within),
    Measure("bytes that a join of three tables holds", "its memory limit", 0.8, 0.6, MEMORY, memory.held),
    Measure(
        "bytes that a scan to Parquet holds", "of a tenth of the rows", 1.5, 1.1, MEMORY, memory.held_by_scan
    ),
    Measure("default policy", "a fixed order", 1.25, 1.05, ENGINE, adaptive),
    Measure("JSON to columns", "msgspec by hand", 1.4, 1.3, READING, read("json")),
    Measure("NDJSON to columns", "msgspec by hand", 2.3, 1.5, READING, read("ndjson")),
    Measure("CSV to columns", "pyarrow.csv by hand", 2.5, 1.5, READING, read("csv")),
    Measure("CSV written", "DuckDB COPY", 1.5, 3.0, WRITING, write("csv")),
    Measure("NDJSON written", "DuckDB COPY", 1.6, 3.0, WRITING, write("ndjson")),
    Measure("aligned table written", "DuckDB COPY to CSV", 2.5, 3.0, WRITING, write("table")),
    Measure("Parquet written", "DuckDB COPY", 1.5, 3.0, WRITING, write("parquet")),
    Measure("a query of one row, start to end", "import aiohttp, pyarrow", 2.2, 1.3, START, started),
    Measure("a GROUP BY, from the second command on", "its rows without it", 2.5, 1.5, WARM, grouped),
    Measure("a busy run with the live view, 100 by 30", "without it", 1.03, 1.01, VIEW, seen),
)


def measure(one: Measure, *, short: bool) -> Result:
    """The median of some rounds, after one that warms up."""
    if one.missing() is not None:
        return Result(one.name, one.against, None, one.bar, one.target, one.command)
    ratios = []
    for number in range(ROUNDS + 1):
        ours, theirs = one.round(short)
        if number:
            ratios.append(ours / theirs)
    ratio = round(statistics.median(ratios), 2)
    return Result(one.name, one.against, ratio, one.bar, one.target, one.command)


def page(results: Sequence[Result], grown: Sequence[growth.Growth]) -> str:
    """The page, in Markdown."""
    lines = [
        "# How fast FFF is",
        "",
        "Written by `make bench`; do not edit. Seconds of processor over those of a reference that ran in the same minute, so",
        "that the numbers carry over to other machines: less is better. *Bar* is what `make bench-check` holds the ratio to,",
        "in a short form, *target* what it is to become. What memory a join takes has been touched before it is timed, whoever",
        "joins: a host gives a virtual machine what it has not used lately at many times the price.",
        "",
        "| what | against | ratio | bar | target | more |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for one in results:
        number = "not installed" if one.ratio is None else f"{one.ratio:.2f}"
        ratio = number if one.kept else f"**{number}**"
        lines.append(
            f"| {one.name} | {one.against} | {ratio} | {one.bar:g} | {one.target:g} | `{one.command}` |"
        )
    reached = sum(one.ratio is not None and one.ratio <= one.target for one in results)
    lines += [
        "",
        f"{reached} of {len(results)} targets are reached. The same as data: [performance.json](performance.json).",
        "",
        "## Growth",
        "",
        "What one more costs where there are many: 1 everywhere would be a cost in proportion (`python -m benchmarks.growth`).",
        "",
        *growth.page(grown),
        "",
    ]
    return "\n".join(lines)


def main(
    arguments: Sequence[str] | None = None,
    measures: Sequence[Measure] = MEASURES,
    docs: Path = DOCS,
    growths: Callable[[], Sequence[growth.Growth]] = growth.growths,
) -> int:
    """Measure one after another; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="short, and fail where a ratio exceeds its bar")
    parser.add_argument(
        "--slack", type=float, default=1.0, help="bars are so many times as high, on a machine nobody knows"
    )
    given = parser.parse_args(arguments)
    check = given.check
    results = []
    for one in (replace(one, bar=one.bar * given.slack) for one in measures):
        result = measure(one, short=check)
        if check and not result.kept:  # once more: a slow moment is no slow program
            result = min(result, measure(one, short=True), key=lambda some: some.ratio or 0.0)
        results.append(result)
        mark = one.missing() or ("ok" if result.kept else "ABOVE ITS BAR")
        ratio = "-" if result.ratio is None else f"{result.ratio:.2f}"
        print(f"{result.name:60} / {result.against:32}{ratio:>7}  bar {result.bar:5g}  {mark}", flush=True)
    if check:
        return int(not all(result.kept for result in results))
    grown = growths()
    (docs / "performance.md").write_text(page(results, grown), encoding="utf-8")
    data = {"ratios": [asdict(one) for one in results], "growth": [asdict(one) for one in grown]}
    (docs / "performance.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
