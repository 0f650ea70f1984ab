"""`max_requests`: each statement has its own, and all share one client with its limits, rows and caches."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import fff
from fff.budget import Budget, BudgetExhausted, Money
from tests.api.conftest import Publish
from tests.engine.site import Site, access

INTS = {"a": "int", "b": "int"}
MOST = 2  # requests at once that the host declares
PAGES = 15
ROWS = [(number, number % 5) for number in range(3 * PAGES)]
TABLES = {
    "r": access("r", INTS),
    "t": access("t", INTS),
    "s": access("s", INTS, scan=False, lookups=["a"]),
}
SCAN = "SELECT a FROM web.{}"


@dataclass
class Crowded(Site):
    """Counts how many requests it has at once; `flaky` pages fail the first time."""

    now: int = 0
    most: int = 0
    flaky: set[str] = field(default_factory=set)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            answer = await super().answer(request)
        finally:
            self.now -= 1
        if request.query.get("offset", "0") in self.flaky:
            self.flaky.remove(request.query.get("offset", "0"))
            return web.Response(status=503)
        return answer


@pytest.fixture
def site() -> Crowded:
    keyed = [(key, 10 * key) for key in range(5)]
    tables = {"r": (("a", "b"), ROWS), "t": (("a", "b"), ROWS), "s": (("a", "b"), keyed)}
    return Crowded(tables, page=3, jitter=random.Random(1))


@pytest.fixture
def spec(publish: Publish, site: Crowded) -> Path:
    return publish(site, TABLES, rate_limit={"max_concurrency": MOST})


def spent(result: fff.Result) -> int:
    return sum(access["requests"] for access in result.report["access"])


def check_stopped(result: fff.Result, budget: int) -> None:
    assert not result.complete
    assert result.report["exit_code"] == 3
    assert {one.reason for one in result.missing} == {f"the budget of {budget} requests is used up"}
    assert spent(result) == budget
    states = {one["state"] for one in result.report["access"] if one["requests"]}
    assert states <= {"stopped", "complete"}, "what there was no budget for has not failed"


async def test_what_lookups_had_no_budget_for_has_not_failed(spec: Path) -> None:
    async with fff.connect_async(spec, on_source_error="partial") as federation:
        join = "SELECT r.a, s.b FROM web.r JOIN web.s ON r.b = s.a"
        check_stopped(await federation.sql(join, max_requests=PAGES + 2), PAGES + 2)


async def test_two_budgets_at_once_stay_below_the_ceiling_of_the_host(site: Crowded, spec: Path) -> None:
    async with fff.connect_async(spec, on_source_error="partial") as federation:
        one, other, free = await asyncio.gather(
            federation.sql(SCAN.format("r"), max_requests=5),
            federation.sql(SCAN.format("t"), max_requests=9),
            federation.sql("SELECT r.a, s.b FROM web.r JOIN web.s ON r.b = s.a"),
        )
    check_stopped(one, 5)
    check_stopped(other, 9)
    assert (len(one), len(other)) == (3 * 5, 3 * 9)
    assert free.complete
    assert len(free) == len(ROWS)
    assert spent(free) == PAGES + 5
    assert (site.scans["r"], site.scans["t"]) == (5 + PAGES, 9)
    assert site.most == MOST, "the ceiling is used, and never exceeded"


async def test_retries_count(site: Crowded, spec: Path) -> None:
    site.flaky = {"0", "6"}
    async with fff.connect_async(spec, on_source_error="partial") as federation:
        result = await federation.sql(SCAN.format("r"), max_requests=6)
    check_stopped(result, 6)
    assert len(result) == 3 * 4, "two of the six requests were made twice"
    assert site.scans["r"] == 6


@pytest.mark.parametrize("keep", [False, True])
async def test_a_statement_without_a_budget_beside_one_with_is_unaffected(
    site: Crowded, spec: Path, keep: bool
) -> None:
    async with fff.connect_async(spec, keep=keep) as federation:
        poor, rich = await asyncio.gather(
            federation.sql(SCAN.format("r"), max_requests=4, on_source_error="partial"),
            federation.sql(SCAN.format("r")),
        )
    check_stopped(poor, 4)
    assert rich.complete
    assert sorted(rich) == [(a,) for a, _ in ROWS]
    assert site.scans["r"] == 4 + PAGES
    assert site.most <= MOST


async def test_rows_of_the_session_serve_a_statement_with_a_budget(site: Crowded, spec: Path) -> None:
    async with fff.connect_async(spec, keep=True) as federation:
        assert (await federation.sql(SCAN.format("r"), max_requests=PAGES)).complete
        again = await federation.sql(SCAN.format("r"), max_requests=1)
        assert again.complete
        assert spent(again) == 0
        assert (await federation.sql(SCAN.format("r"))).complete
    assert site.scans["r"] == PAGES


async def test_a_statement_stopped_by_its_budget_leaves_no_part_for_the_whole(
    site: Crowded, spec: Path
) -> None:
    async with fff.connect_async(spec, keep=True, on_source_error="partial") as federation:
        check_stopped(await federation.sql(SCAN.format("r"), max_requests=4), 4)
        assert len(await federation.sql(SCAN.format("r"))) == len(ROWS)


async def test_statements_with_a_budget_know_functions_and_read_no_spec_again(
    site: Crowded, spec: Path
) -> None:
    async with fff.connect_async(spec, on_source_error="partial") as federation:
        federation.register("even", lambda a: a % 2 == 0, arguments={"a": "int"}, returns="boolean")
        spec.unlink()  # noqa: ASYNC240 - nothing else runs yet
        found: list[Any] = await asyncio.gather(
            *(federation.sql("SELECT a FROM web.r WHERE even(a)", max_requests=size) for size in (20, 99))
        )
    check_stopped(found[0], 20)
    assert found[1].complete
    assert spent(found[1]) == PAGES + len(ROWS)


async def test_a_part_of_a_scan_has_its_budget(site: Crowded, spec: Path) -> None:
    async with fff.connect_async(spec, on_source_error="partial") as federation:
        [part, *_] = await federation.divide(SCAN.format("r"), parts=2)
        batches = federation.batches(SCAN.format("r"), part=part, max_requests=3)
        async for _ in batches:
            pass
    assert not batches.complete
    assert site.scans["r"] == 1 + 3


def test_a_shared_budget_pays_for_what_each_of_its_own_allows() -> None:
    shared = Budget(3)
    mine, other = Budget.of(2, None, shared), Budget.of(None, Money.parse("1 USD"), shared)
    assert Budget.of(None, None, shared) is shared, "where nothing else bounds what is sent"
    assert mine is not None
    assert other is not None
    mine.charge("web", "r")
    mine.charge("web", "r")
    with pytest.raises(BudgetExhausted, match="budget of 2 requests"):
        mine.charge("web", "r")
    assert shared.spent == 2, "what was refused costs nobody anything"
    mine.refund()
    price = Money.parse("0.60 USD")
    other.charge("web", "s", price)
    with pytest.raises(BudgetExhausted, match="budget of 1 USD"):
        other.charge("web", "s", price)
    assert shared.spent == 2
    mine.charge("web", "r")
    free = Budget(5, within=shared)
    with pytest.raises(BudgetExhausted, match="budget of 3 requests"):
        free.charge("web", "r")
    assert (free.spent, free.refused, shared.spent) == (0, True, 3)


def test_a_budget_of_one_request_is_not_one_of_several() -> None:
    budget = Budget(1)
    budget.charge("web", "r")
    with pytest.raises(BudgetExhausted, match="budget of 1 request is used up"):
        budget.charge("web", "r")
