"""What a query is said to ask beforehand holds what it then asks: of every sample query over the demo sources."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from fff.federation import Federation, RunOptions
from fff.forecast.estimate import Forecast
from fff.forecast.history import TableHistory
from fff.web.client import WebClient
from fff_sources.demo import SPEC
from fff_sources.demo.process import DemoServer
from fff_sources.load import load_catalog

FOLDER = Path(__file__).parent.parent.parent / "sample_queries"
SAMPLES = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.sql"))}
PRICE = 0.002


@dataclass(frozen=True)
class Foretold:
    """A query: what was said of it, and what came of it: requests, by name of the access method."""

    forecast: Forecast
    requests: dict[str, int]
    cost: float

    @property
    def covered(self) -> bool:
        """Whether the intervals hold the truth: each access method's, those of all, and of money."""
        ends = [
            (one.requests.low, self.requests[one.name], one.requests.high) for one in self.forecast.access
        ]
        ends.append((self.forecast.requests.low, sum(self.requests.values()), self.forecast.requests.high))
        money = self.forecast.cost["USD"]
        ends.append((money.low - 1e-9, self.cost, None if money.high is None else money.high + 1e-9))
        return all(low <= true and (high is None or true <= high) for low, true, high in ends)

    @property
    def sharp(self) -> bool:
        """Whether something was known of all of it."""
        return self.forecast.requests.high is not None


def priced(folder: Path) -> Path:
    """The spec of the demo sources, with a price."""
    spec = yaml.safe_load(Path(SPEC).read_text())
    spec["sources"]["demo"]["cost"] = {"per_request": PRICE, "currency": "USD"}
    file = folder / "priced.yaml"
    file.write_text(json.dumps(spec))
    return file


async def foretold(names: Iterable[str], base_url: str, file: Path) -> dict[str, Foretold]:
    """Each in a federation of its own, as a command is, with what those before have left on the disk."""
    found = {}
    for name in names:
        client = WebClient()
        environ = {"FFF_DEMO_BASE_URL": base_url}
        catalog = load_catalog([file], environ=environ, cwd=Path(), client=client)
        async with Federation(catalog, client, history=TableHistory(file.parent / "totals")) as federation:
            prepared = federation.prepare(SAMPLES[name])
            said = federation.forecast(prepared)
            execution = federation.execute(prepared, RunOptions(on_source_error="fail", seed=7))
            async for _ in execution.batches():
                pass
            report = execution.outcome.report
            asked = {one["name"]: one["requests"] for one in report["access"]}
            found[name] = Foretold(said, asked, sum(bill["cost"] for bill in report["bill"]))
    return found


def check(names: list[str], folder: Path) -> dict[str, Foretold]:
    """Twice over: the first time next to nothing is known. Returns the second."""
    file = priced(folder)
    with DemoServer(delay_scale=0) as server:
        first, second = (asyncio.run(foretold(names, server.base_url, file)) for _ in range(2))
    for found in (first, second):
        wrong = [name for name, one in found.items() if not one.covered]
        for name in wrong:
            print(name, found[name])
        assert len(wrong) <= len(names) // 10, wrong
    return second


FEW = ["in_list", "limit", "lookup_by_constant", "plain_join", "self_join"]


@pytest.mark.slow
def test_intervals_hold_what_is_asked(tmp_path: Path) -> None:
    known = check(FEW, tmp_path)
    assert all(known[name].sharp for name in ("in_list", "self_join")), "all of their tables have been seen"
    assert known["in_list"].forecast.requests.low == known["in_list"].forecast.requests.high == 5
    said = known["self_join"].forecast.requests
    assert (said.low, said.high) == (18, 22), "a scan of twenty pages, give or take a tenth"


@pytest.mark.spark
@pytest.mark.slow
def test_intervals_hold_what_all_samples_ask(tmp_path: Path) -> None:
    known = check(list(SAMPLES), tmp_path)
    assert sum(one.sharp for one in known.values()) >= 0.8 * len(SAMPLES)
