"""Every sample query, run over the demo sources, against DuckDB over the same rows."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fff.federation import Federation, RunOptions
from fff.web.client import WebClient
from fff_sources.demo import QUERY, SPEC
from fff_sources.demo.data import generate
from fff_sources.load import load_catalog

FOLDER = Path(__file__).parent.parent.parent / "sample_queries"
SAMPLES = sorted(path.stem for path in FOLDER.glob("*.sql"))
NEEDS_SPARK = {
    "averages_by_state_and_crime",
    "having_order_by",
    "left_join",
    "not_exists",
    "rollup",
    "subqueries_and_union",
    "top_then_lookup",
    "window",
}
ORDERED = {"having_order_by", "left_join", "not_exists", "top_then_lookup"}
OPEN_CHOICE = {"limit"}  # SQL leaves open which rows come


@dataclass(frozen=True)
class Ran:
    rows: list[tuple[Any, ...]]
    report: dict[str, Any]


def text(name: str) -> str:
    return (FOLDER / f"{name}.sql").read_text()


def same(rows: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> bool:
    """Whether two lists of rows agree; floating point up to the order of its sums."""
    return len(rows) == len(expected) and all(
        all(
            a == pytest.approx(b, rel=1e-9) if isinstance(a, float) else a == b
            for a, b in zip(*pair, strict=True)
        )
        for pair in zip(rows, expected, strict=True)
    )


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows by their exact values first, so that near-equal ones of two bags meet."""
    return sorted(
        rows,
        key=lambda row: (
            [str(v) for v in row if not isinstance(v, float)],
            [v for v in row if isinstance(v, float)],
        ),
    )


async def run_all(names: set[str], demo_url: str) -> dict[str, Ran]:
    client, ran = WebClient(), {}
    catalog = load_catalog([SPEC], environ={"FFF_DEMO_BASE_URL": demo_url}, cwd=Path(), client=client)
    async with Federation(catalog, client) as federation:
        for name in sorted(names):
            execution = federation.execute(
                federation.prepare(text(name)), RunOptions(on_source_error="fail", seed=7)
            )
            batches = [batch async for batch in execution.batches()]
            rows = [
                row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)
            ]
            ran[name] = Ran(rows, execution.outcome.report)
    return ran


@pytest.fixture(scope="module")
def plain(demo_url) -> dict[str, Ran]:
    return asyncio.run(run_all(set(SAMPLES) - NEEDS_SPARK, demo_url))


@pytest.fixture(scope="module")
def aggregated(demo_url) -> dict[str, Ran]:
    return asyncio.run(run_all(NEEDS_SPARK, demo_url))


@pytest.fixture(scope="module")
def oracle():
    connection = duckdb.connect()
    for name, table in generate().tables().items():
        connection.register(name, table)
    return connection


def check(name: str, ran: Ran, oracle: duckdb.DuckDBPyConnection) -> None:
    expected = oracle.execute(text(name)).fetchall()
    assert ran.rows, "a sample that finds nothing shows nothing"
    assert same(ran.rows, expected) if name in ORDERED else same(in_order(ran.rows), in_order(expected))
    assert ran.report["complete"]


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - NEEDS_SPARK - OPEN_CHOICE))
def test_rows_are_duckdbs_and_no_jvm_is_started(name, plain, oracle):
    check(name, plain[name], oracle)
    assert not plain[name].report["spark"]["used"]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NEEDS_SPARK))
def test_rows_above_the_block_are_duckdbs(name, aggregated, oracle):
    check(name, aggregated[name], oracle)
    assert aggregated[name].report["spark"]["used"]


def test_a_limit_takes_rows_of_the_full_answer_and_stops_fetching(plain, oracle):
    rows = plain["limit"].rows
    everything = Counter(oracle.execute(text("limit").replace("LIMIT 5", "")).fetchall())
    assert len(rows) == 5
    assert not Counter(rows) - everything
    requests = sum(access["requests"] for access in plain["limit"].report["access"])
    assert requests < 100


def test_a_constant_costs_one_request_for_each_table(plain):
    used = {access["name"]: access["requests"] for access in plain["lookup_by_constant"].report["access"]}
    assert {name: count for name, count in used.items() if count} == {
        "Demographics.lookup[zip]": 1,
        "Crime.lookup[zip]": 1,
    }


def test_an_in_list_costs_one_request_for_each_value(plain):
    assert [access["distinct_keys"] for access in plain["in_list"].report["access"]] == [5]


def test_bags_hold_equal_rows(plain):
    assert max(Counter(plain["bag_semantics"].rows).values()) > 1


def test_every_sample_says_what_it_shows():
    assert len(SAMPLES) >= 8
    assert all(text(name).startswith("-- ") for name in SAMPLES)


def test_the_demo_runs_the_query_of_the_papers():
    assert QUERY in text("averages_by_state_and_crime")
