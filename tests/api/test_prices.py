"""Prices that specs state, and budgets of money: counted, never exceeded, and told."""

from __future__ import annotations

import asyncio
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

import fff
from fff.budget import Budget, BudgetExhausted, Money
from fff.opening import open_federation
from fff.options import RunOptions
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.api.conftest import Publish
from tests.engine.site import Site, access
from tests.sampling import every

INTS = {"a": "int", "b": "int"}
PAGES = 12
ROWS = [(number, number % 40) for number in range(10 * PAGES)]
KEYED = [(key, 10 * key) for key in range(40)]
TABLES = {"r": access("r", INTS), "s": access("s", INTS, scan=False, lookups=["a"])}
JOIN = "SELECT r.a, s.b FROM web.r JOIN web.s ON r.b = s.a"


class Counting(Site):
    """Counts all requests, refused ones as well; a share of them is refused, half of these politely."""

    refused = 0.0
    slow = 0.0
    asked = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        draw = self.jitter.random() if self.jitter is not None else 1.0
        if draw < self.refused:
            await asyncio.sleep(0.001)
            status = 429 if draw < self.refused / 2 else 503
            return web.Response(status=status, headers={"Retry-After": "0"} if status == 429 else {})
        if "/slow/" in request.path and self.asked % 7 == 0:
            await asyncio.sleep(self.slow)
        return await super().answer(request)


@pytest.fixture
def site() -> Counting:
    return Counting({"r": (("a", "b"), ROWS), "s": (("a", "b"), KEYED)}, jitter=random.Random(3))


def priced(
    publish: Publish, site: Site, cost: dict[str, Any], tables: Any = TABLES, **costs: dict[str, Any]
) -> Path:
    """A spec whose source costs that, and its tables by name."""
    file = publish(
        site, tables, rate_limit={"max_concurrency": 6}, retry={"max_attempts": 9, "base_delay": 0.001}
    )
    spec = yaml.safe_load(file.read_text())
    spec["sources"]["web"]["cost"] = cost
    for name, one in costs.items():
        spec["sources"]["web"]["tables"][name]["cost"] = one
    file.write_text(yaml.safe_dump(spec))
    return file


def test_a_price_is_that_of_the_nearest_that_states_one(publish: Publish, site: Counting) -> None:
    spec = priced(publish, site, {"per_unit": 0.001, "currency": "USD"}, s={"units": 7})
    with fff.connect(spec) as federation:
        result = federation.sql(JOIN)
    assert result.complete
    [bill] = result.report["bill"]
    assert bill == {"source": "web", "requests": PAGES + 40, "cost": 0.292, "currency": "USD"}
    costs = {one["name"]: (one["requests"], one["cost"], one["currency"]) for one in result.report["access"]}
    assert costs == {"r.scan": (PAGES, 0.012, "USD"), "s.lookup[a]": (40, 0.28, "USD")}


def test_what_finds_undeclared_columns_is_on_the_bill_of_the_run_that_needed_it(
    publish: Publish, site: Counting
) -> None:
    tables = {"r": {"scan": TABLES["r"]["scan"]}}
    spec = priced(publish, site, {"per_request": 1, "currency": "USD"}, tables)
    with fff.connect(spec) as federation:
        for run, sent in enumerate((PAGES + 1, PAGES)):  # the columns are known by then
            site.asked = 0
            result = federation.sql("SELECT a FROM r", max_requests=100)
            assert len(result.to_arrow()) == 10 * PAGES
            [bill] = result.report["bill"]
            assert site.asked == bill["requests"] == bill["cost"] == sent
            asked = {one["name"]: one["requests"] for one in result.report["access"]}
            assert asked == {"r.scan": PAGES} | ({} if run else {"columns of r": 1})


def test_and_is_paid_by_its_budget(publish: Publish, site: Counting) -> None:
    tables = {"r": {"scan": TABLES["r"]["scan"]}}
    with fff.connect(publish(site, tables), on_source_error="partial") as federation:
        result = federation.sql("SELECT a FROM r", max_requests=2)
    assert site.asked == result.report["bill"][0]["requests"] == 2
    assert not result.complete


def test_a_file_that_is_read_for_its_columns_is_on_the_bill(
    publish: Publish, site: Counting, tmp_path: Path
) -> None:
    pages = publish(site, {}).read_text()
    base = yaml.safe_load(pages)["sources"]["web"]["client"]["base_url"]
    table = {"url": f"{base}/scan/r", "format": "json", "data_selector": "items"}
    cost = {"per_request": 2, "currency": "USD"}
    source = {"type": "files", "cost": cost, "tables": {"f": table}}
    file = tmp_path / "files.yaml"
    file.write_text(yaml.safe_dump({"version": 1, "sources": {"files": source}}))
    with fff.connect(file) as federation:
        [bill] = federation.sql("SELECT a FROM f").report["bill"]
    assert bill == {"source": "files", "requests": site.asked, "cost": 2.0, "currency": "USD"}


def test_without_a_price_there_is_a_bill_of_requests_alone(publish: Publish, site: Counting) -> None:
    with fff.connect(publish(site, TABLES)) as federation:
        [bill] = federation.sql(JOIN, budget=0).report["bill"]
    assert bill == {"source": "web", "requests": PAGES + 40, "cost": None, "currency": None}


@pytest.mark.parametrize("prefer", every(3, ["fast", "balanced", "cheap"]))
@pytest.mark.parametrize("refused", [0.0, 0.3])
@pytest.mark.parametrize("budget", every(2, ["0.05", "0.1", "0.301"]))
def test_a_budget_is_never_exceeded_and_used_up_to_the_last_request(
    publish: Publish, site: Counting, budget: str, refused: float, prefer: Any
) -> None:
    site.refused = refused
    spec = priced(publish, site, {"per_request": 0.01, "currency": "USD"}, r={"per_request": 0.003})
    with fff.connect(spec, on_source_error="partial", prefer=prefer) as federation:
        result = federation.sql(JOIN, budget=budget)
    [bill] = result.report["bill"]
    assert bill["requests"] == site.asked, "each request is on the bill, those that were refused as well"
    assert Decimal(repr(bill["cost"])) <= Decimal(budget)
    assert not result.complete
    assert result.report["exit_code"] == 3
    assert f"the budget of {budget} USD is used up" in {one.reason for one in result.missing}
    assert Decimal(budget) - Decimal(repr(bill["cost"])) < Decimal("0.01"), "no request more could be paid"


def test_a_budget_holds_where_mirrors_race(publish: Publish, site: Counting) -> None:
    """Two lookups of the same keys, one of which often takes long: what races costs as well."""
    table = access("s", INTS, scan=False, lookups=["a"])
    slow = {"keys": ["a"], "endpoint": {"path": "get/slow/a/{a}"}}
    table["lookups"] = [slow, *table["lookups"]]
    site.tables["slow"] = site.tables["s"]
    site.slow = 0.05
    spec = priced(publish, site, {"per_request": 0.01, "currency": "USD"}, tables={**TABLES, "s": table})
    for prefer in ("fast", "balanced"):
        site.asked = 0
        with fff.connect(spec, on_source_error="partial", prefer=prefer) as federation:
            result = federation.sql(JOIN, budget=0.40)
        [bill] = result.report["bill"]
        assert (bill["requests"], bill["cost"]) == (site.asked, site.asked / 100)
        assert site.asked == 40
        assert not result.complete
        hedged = sum(one["hedged"] for one in result.report["access"])
        assert prefer == "fast" or not hedged, "money is not given for time"


async def test_a_budget_holds_when_somebody_stops_the_run(publish: Publish, site: Counting) -> None:
    spec = priced(publish, site, {"per_request": 0.01, "currency": "USD"})
    async with open_federation([spec]) as federation:
        budget = Budget(money=Money.parse("0.3"))
        execution = federation.execute(federation.prepare(JOIN), RunOptions(seed=1), budget)
        async for _ in execution.batches():
            execution.interrupt()
        [bill] = execution.outcome.report["bill"]
    assert execution.outcome.exit_code == 3
    assert Decimal(repr(bill["cost"])) == budget.paid <= Decimal("0.3"), "what was not sent is paid back"
    assert bill["requests"] >= site.asked > 0


def test_both_budgets_hold(publish: Publish, site: Counting) -> None:
    spec = priced(publish, site, {"per_request": 0.01, "currency": "USD"})
    with fff.connect(spec, on_source_error="partial") as federation:
        poor = federation.sql("SELECT a FROM web.r", budget="0.04 USD", max_requests=6)
        few = federation.sql("SELECT a FROM web.r", budget="0.04 USD", max_requests=3)
        enough = federation.sql("SELECT a FROM web.r", budget="0.12 USD", max_requests=PAGES)
    assert [one.report["bill"][0]["requests"] for one in (poor, few, enough)] == [4, 3, PAGES]
    assert [one.complete for one in (poor, few, enough)] == [False, False, True]
    assert {one.reason for one in few.missing} == {"the budget of 3 requests is used up"}


async def test_each_statement_has_a_budget_of_its_own(publish: Publish, site: Counting) -> None:
    spec = priced(publish, site, {"per_request": 0.01, "currency": "USD"})
    async with fff.connect_async(spec, on_source_error="partial") as federation:
        found = await asyncio.gather(
            *(federation.sql(f"SELECT a FROM web.r WHERE a > {least}", budget=0.05) for least in (-2, -1))
        )
    assert [one.report["bill"][0]["cost"] for one in found] == [0.05, 0.05]
    assert site.asked == 10


def test_what_was_paid_is_given_back_where_nothing_was_sent() -> None:
    budget, price = Budget(money=Money.parse("0.3")), Money(Decimal("0.1"), "USD")
    for _ in range(3):
        budget.charge("s", "t", price)
    with pytest.raises(BudgetExhausted, match=r"the budget of 0.3 USD is used up"):
        budget.charge("s", "t", price)
    budget.charge("s", "free")
    budget.refund(price)
    budget.charge("s", "t", price)
    assert (budget.paid, budget.spent) == (Decimal("0.3"), 4)


def test_a_budget_is_in_one_currency(publish: Publish, site: Counting) -> None:
    spec = priced(publish, site, {"per_request": 0.01, "currency": "EUR"})
    with fff.connect(spec, on_source_error="partial") as federation:
        with pytest.raises(fff.UsageError, match=r"charge in EUR, and the budget is 1 USD") as told:
            federation.sql(JOIN, budget="1 USD")
        assert "--budget" in told.value.render()
        assert site.asked == 0
        assert federation.sql(JOIN, budget="1 EUR").complete


@pytest.mark.parametrize("wrong", ["much", "-1", "1 2", "nan", "1e", "inf"])
def test_a_budget_is_an_amount(wrong: str) -> None:
    with pytest.raises(fff.UsageError, match="budget must be an amount of money"):
        fff.connect(budget=wrong)


@pytest.mark.parametrize(
    ("cost", "place", "told"),
    [
        ({"per_request": 0.01}, "cost", "needs a currency"),
        ({"currency": "USD"}, "cost", "states no price"),
        ({"per_request": -1, "currency": "USD"}, "cost.per_request", "must be at least 0"),
        ({"per_request": 1, "units": 2, "currency": "USD"}, "cost", "per_request is the whole price"),
        ({"per_request": "much", "currency": "USD"}, "cost.per_request", "decimal"),
        ({"per_request": 1, "currency": "U$"}, "cost.currency", "pattern"),
        ({"per_reqest": 1, "currency": "USD"}, "cost.per_reqest", "unknown key"),
    ],
)
def test_a_wrong_price_is_told_with_its_place(
    publish: Publish, site: Counting, cost: dict[str, Any], place: str, told: str
) -> None:
    with pytest.raises(fff.SpecError, match=told) as error:
        load_catalog([priced(publish, site, cost)], environ={}, cwd=Path(), client=WebClient())
    assert place in error.value.render()


def test_tables_of_one_source_charge_alike(publish: Publish, site: Counting) -> None:
    spec = priced(publish, site, {"per_request": 0.01, "currency": "EUR"}, s={"currency": "USD"})
    with pytest.raises(fff.SpecError, match="a source charges in one currency, not EUR and USD"):
        fff.connect(spec)
