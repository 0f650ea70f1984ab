"""Budgets and prices at the command line: the bill in the closing line, the warning beforehand, the forecast as data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fff.stats import AccessStats, RunOutcome, bills
from fff.structs import replace
from fff_cli import app
from fff_cli.run.account import accounts, bill_text, closing_lines
from fff_sources.demo import SPEC

JOIN = "SELECT C.zip FROM Crime C JOIN Demographics D ON C.zip = D.zip"

#: Runs a command over the demo sources, with a price: its exit code, what it printed, what it told.
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    demo_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    spec = yaml.safe_load(Path(SPEC).read_text())
    spec["sources"]["demo"]["cost"] = {"per_request": 0.002, "currency": "USD"}
    file = tmp_path / "priced.yaml"
    file.write_text(json.dumps(spec))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("FFF_DEMO_BASE_URL", demo_url)
    monkeypatch.setenv("FFF_SOURCES", str(file))

    def run(*arguments: str) -> tuple[int, str, str]:
        code = app.run(arguments)
        out, told = capfd.readouterr()
        return code, out, told

    return run


@pytest.mark.slow
def test_the_budget_is_kept_told_and_foretold(command: Command, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    code, out, told = command("explain", JOIN, "-o", "json", "--budget", "0.001")
    assert code == 0
    assert json.loads(out)["forecast"]["total"]["requests"] == [1, None]
    assert told == (
        "warning: this costs at least 0.002 USD, and the budget is 0.001: the answer will be partial\n"
    )
    code, _, told = command("query", JOIN, "-O", str(tmp_path / "x.csv"))
    assert code == 0
    assert told.endswith(" requests, 0.726 USD, complete\n")
    more = ("--on-source-error", "partial", "--report", str(report))
    code, _, told = command("query", JOIN, "-O", str(tmp_path / "x.csv"), "--budget", "0.05", *more)
    assert code == 3
    first, *_ = told.splitlines()
    assert first.startswith("warning: this costs at least 0.65")
    assert " 25 requests, 0.05 USD, PARTIAL: the budget of 0.05 USD is used up\n" in told
    [bill] = json.loads(report.read_text())["bill"]
    assert bill == {"source": "demo", "requests": 25, "cost": 0.05, "currency": "USD"}
    code, _, told = command("query", "-q", JOIN, "-O", str(tmp_path / "x.csv"), "--max-requests", "3", *more)
    assert (code, told) == (3, "")
    code, out, told = command("explain", JOIN)
    assert "  demo.Crime.scan: 12 to 16 requests, " in out
    assert (code, told) == (0, "")


def test_a_budget_that_is_none_is_wrong_usage(command: Command) -> None:
    code, out, told = command("query", JOIN, "--budget", "lots")
    assert (code, out) == (2, "")
    assert told.startswith("error: ")
    assert "budget must be an amount of money, not 'lots'" in told
    assert command("explain", JOIN, "-o", "csv")[0] == 2
    code, _, told = command("query", JOIN, "--budget", "1 EUR")
    assert code == 2
    assert "charge in USD, and the budget is 1 EUR" in told


def test_a_price_is_shown_with_the_table(command: Command) -> None:
    _, out, _ = command("source", "show", "Crime")
    assert "rows by zip, 0.002 USD a request" in out


ONE = AccessStats("geo", "t", "scan", (), "t.scan", "complete", requests=1200, cost=0.1, currency="USD")
SOME = (
    ONE,
    replace(ONE, requests=0, cost=0.2),
    replace(ONE, source="web", requests=3, cost=None, currency=None),
)


def test_a_bill_tells_of_each_source() -> None:
    bill = bills((*SOME, replace(ONE, source="maps", requests=1, cost=1e-7)))
    assert (
        bill_text(bill)
        == "1,204 requests (geo 1,200, web 3, maps 1), 0.3000001 USD (geo 0.3, maps 0.0000001)"
    )
    assert bill_text(bills(SOME)) == "1,203 requests (geo 1,200, web 3), 0.3 USD"
    assert bill_text(bills([replace(ONE, cost=None)])) == "1,200 requests"
    assert bill_text([]) == "0 requests"
    many = [replace(ONE, source=f"s{n}", requests=n, cost=None) for n in range(1, 41)]
    assert (
        bill_text(bills(many))
        == "820 requests (s35 35, s36 36, s37 37, s38 38, s39 39, s40 40, 34 others 595)"
    )
    mixed = bill_text(bills((ONE, replace(ONE, source="eu", currency="EUR"))))
    assert mixed == "2,400 requests (geo 1,200, eu 1,200), 0.1 USD, 0.1 EUR"
    ended = RunOutcome(True, 0, None, 5, 1.0, (), (), dict)
    assert closing_lines(ended, SOME) == [
        "5 rows in 1.0 s, 1,203 requests (geo 1,200, web 3), 0.3 USD, complete"
    ]
    assert accounts(SOME)[0] == ["access", "state", "requests", "cost"]
