"""What a query will ask: said before it runs, from what earlier runs have left on the disk."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fff.budget import Budget, Money
from fff.federation import RunOptions
from fff.forecast.estimate import Forecast, Interval
from fff.forecast.history import REMEMBERED, MethodFacts, TableFacts, TableHistory
from fff.forecast.words import forecast_data, forecast_lines, over_budget
from fff.opening import open_federation
from fff.structs import replace
from tests.api.conftest import Publish
from tests.engine.site import Site, access

INTS = {"a": "int", "b": "int"}
PAGES = 20
TABLES = {
    "r": access("r", INTS),
    "s": access("s", INTS, scan=False, lookups=["a"]) | {"primary_key": "a"},
    "big": access("big", INTS),
}
JOIN = "SELECT r.a, s.b FROM web.r JOIN web.s ON r.b = s.a"
SECRET = "hunter2"

#: Runs a statement, if it is to be run: what was said of it beforehand, the words, and its report (or, of another one
#: after it, what is said of that).
Ask = Callable[..., Any]


@pytest.fixture
def ask(publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    rows = [(number, number % 30) for number in range(10 * PAGES)]
    site = Site(
        {
            "r": (("a", "b"), rows),
            "s": (("a", "b"), [(key, key) for key in range(30)]),
            "big": (("a", "b"), [(number, number) for number in range(50 * PAGES)]),
        }
    )
    spec = publish(site, TABLES, headers={"X-Key": "${env:PRICES_KEY}"}, rate_limit={"max_concurrency": 4})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PRICES_KEY", SECRET)

    async def asked(
        sql: str,
        *,
        runs: bool = True,
        again: str | None = None,
        client: dict[str, Any] | None = None,
        counts_as: int = 1,
        **opened: Any,
    ) -> Any:
        raw = yaml.safe_load(spec.read_text())
        raw["sources"]["web"]["cost"] = {"per_request": 0.01, "currency": "USD"}
        raw["sources"]["web"]["client"] |= client or {}
        raw["sources"]["web"]["tables"]["r"]["scan"]["endpoint"]["counts_as"] = counts_as
        spec.write_text(yaml.safe_dump(raw))
        async with open_federation([spec], **opened) as federation:
            prepared = federation.prepare(sql)
            forecast, told = federation.forecast(prepared), federation.explain(prepared)
            if not runs:
                return forecast, told, None
            execution = federation.execute(prepared, RunOptions(seed=1))
            async for _ in execution.batches():
                pass
            if again is not None:
                return forecast, told, federation.forecast(federation.prepare(again))
            return forecast, told, execution.outcome.report

    return asked


def intervals(forecast: Forecast) -> dict[str, tuple[float, float | None]]:
    return {one.name: (one.requests.low, one.requests.high) for one in forecast.access}


async def test_the_second_run_knows_what_the_first_has_found(ask: Ask) -> None:
    first, told, report = await ask(JOIN)
    assert intervals(first) == {"r.scan": (1, None), "s.lookup[a]": (0, None)}
    assert first.cost == {"USD": Interval(0.01, None)}
    assert "web.r.scan: at least 1 request, at least 0.01 USD (its size is not known yet)" in told
    assert "(how many different r.b there are is not known yet)" in told
    assert {one["name"]: one["requests"] for one in report["access"]} == {"r.scan": 20, "s.lookup[a]": 30}
    second, told, _ = await ask(JOIN, runs=False)
    assert intervals(second) == {"r.scan": (18, 22), "s.lookup[a]": (27, 33)}
    assert forecast_data(second)["total"]["cost"] == {"USD": [0.45, 0.55]}
    assert second.seconds.low > 0
    assert second.seconds.high is not None
    assert "200 rows in 20 requests, seen 20" in told
    assert "30 different r.b, seen 20" in told
    assert "\n  in all: 45 to 55 requests, " in told


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s.b FROM web.r JOIN web.s ON s.a = r.b + 1",
        "SELECT s.b FROM (SELECT b * 2 AS k FROM web.r) q JOIN web.s ON s.a = q.k",
        "SELECT s.b FROM VALUES (1), (2) AS v(k) JOIN web.s ON s.a = v.k",
    ],
)
async def test_tables_that_no_source_holds_ask_for_nothing(ask: Ask, sql: str) -> None:
    forecast, _, report = await ask(sql)
    assert set(intervals(forecast)) == {"s.lookup[a]"} | ({"r.scan"} if "web.r" in sql else set())
    assert report["complete"]


@pytest.mark.parametrize(
    ("sql", "low", "high"),
    [
        ("SELECT s.b FROM web.s JOIN (VALUES (1), (2), (2), (NULL)) v(k) ON s.a = v.k", 2, 2),
        ("SELECT v.k, s.b FROM (VALUES (1), (2), (2)) v(k) LEFT JOIN web.s ON s.a = v.k", 2, 2),
        ("SELECT s.b FROM web.s JOIN (VALUES (1), (2), (3)) v(k) ON s.a = v.k WHERE v.k > 1", 0, 3),
        ("SELECT s.b FROM web.s JOIN (VALUES (1), (2), (3)) v(k) ON s.a = v.k LIMIT 1", 0, 3),
        ("SELECT b FROM web.s WHERE a IN (1, 2, 2, 29) AND a < 20", 2, 2),
    ],
)
async def test_keys_that_the_statement_spells_out_are_counted(
    ask: Ask, sql: str, low: int, high: int
) -> None:
    said, _, report = await ask(sql)
    assert said.requests == Interval(low, high)
    assert low <= sum(one["requests"] for one in report["access"]) <= high


@pytest.mark.slow
async def test_what_is_known_of_a_table_serves_other_queries(ask: Ask) -> None:
    await ask(JOIN)
    for sql, wanted in {
        "SELECT a FROM web.r": {"r.scan": (18, 22)},
        "SELECT a FROM web.r LIMIT 3": {"r.scan": (1, 22)},
        f"{JOIN} WHERE r.a < 7": {"r.scan": (18, 22), "s.lookup[a]": (0, 33)},
        "SELECT b FROM web.s WHERE a IN (1, 2, 3)": {"s.lookup[a]": (3, 3)},
        "SELECT b FROM web.s WHERE a IN (1, 2, 3) LIMIT 1": {"s.lookup[a]": (0, 3)},
        "SELECT big.a FROM web.big JOIN web.s ON big.b = s.a": {
            "big.scan": (1, None),
            "s.lookup[a]": (0, None),
        },
        "SELECT a FROM web.r WHERE 1 = 2": {},
    }.items():
        forecast, _, report = await ask(sql)
        assert intervals(forecast) == wanted, sql
        for one in report["access"]:
            low, high = wanted.get(one["name"], (0, 0))
            assert low <= one["requests"]
            assert high is None or one["requests"] <= high, sql


async def test_the_first_page_of_a_limit_tells_the_size(ask: Ask) -> None:
    await ask("SELECT a FROM web.big WHERE b >= 0 LIMIT 1")
    forecast, _, report = await ask("SELECT a FROM web.big")
    assert intervals(forecast) == {"big.scan": (90, 110)}
    assert report["access"][0]["requests"] == 100


async def test_the_stated_rates_are_kept(ask: Ask) -> None:
    await ask("SELECT a FROM web.r")
    forecast, _, _ = await ask(
        "SELECT a FROM web.r", runs=False, client={"rate_limit": {"limit": 5, "per": 30}}
    )
    assert forecast.seconds.low == 90, "18 requests, 5 in any 30 s"


async def test_the_stated_rates_are_kept_where_a_request_counts_as_several(ask: Ask) -> None:
    await ask("SELECT a FROM web.r", counts_as=3)
    forecast, _, _ = await ask(
        "SELECT a FROM web.r", runs=False, client={"rate_limit": {"limit": 6, "per": 30}}, counts_as=3
    )
    assert forecast.seconds == Interval(240, 330), "18 to 22 requests, 2 in any 30 s"


async def test_seconds_are_those_of_earlier_runs_from_half_to_twice(ask: Ask, tmp_path: Path) -> None:
    _, _, report = await ask("SELECT a FROM web.r")
    forecast, _, _ = await ask("SELECT a FROM web.r", runs=False)
    [took] = [one["busy_s"] for one in report["access"]]
    assert forecast.seconds.low < took
    assert forecast.seconds.high is not None
    assert took < forecast.seconds.high
    file = tmp_path / "cache" / "fff" / "totals" / "tables.json"
    known = json.loads(file.read_bytes())
    [facts] = [one["methods"]["r.scan"] for one in known["tables"].values()]
    facts |= {"seconds": 0.5, "at_once": 4}
    file.write_text(json.dumps(known))
    forecast, told, _ = await ask("SELECT a FROM web.r", runs=False)
    assert forecast.seconds == Interval(18 * 0.5 / 2, 24 * 0.5 * 2), "22 requests are six rounds of four"
    assert "  web.r.scan: 18 to 22 requests, 4.5 to 24 s, " in told
    assert forecast_data(forecast)["total"]["seconds"] == [4.5, 24.0]


async def test_what_is_kept_on_disk_may_spare_all_requests(ask: Ask) -> None:
    await ask("SELECT a FROM web.r", cache=True)
    forecast, told, report = await ask("SELECT a FROM web.r", cache=True)
    assert report["access"][0]["requests"] == 0
    assert intervals(forecast) == {"r.scan": (0, 22)}
    assert "answers of earlier runs may serve" in told


async def test_nothing_is_remembered_without_a_cache(ask: Ask, tmp_path: Path) -> None:
    await ask(JOIN, cache=False)
    assert not (tmp_path / "cache" / "fff" / "totals").exists()


async def test_the_file_is_private_and_tells_no_secret(ask: Ask, tmp_path: Path) -> None:
    await ask(JOIN)
    folder = tmp_path / "cache" / "fff" / "totals"
    assert {path.name for path in folder.iterdir()} == {"key", "tables.json"}
    for path in (folder, *folder.iterdir()):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 2}', '{"version": 1, "tables": {"x": 1}}', '{"version": 1, "tables": [1]}'])  # fmt: skip
async def test_a_damaged_file_is_none(ask: Ask, tmp_path: Path, damage: str) -> None:
    await ask(JOIN)
    (tmp_path / "cache" / "fff" / "totals" / "tables.json").write_text(damage)
    forecast, _, _ = await ask(JOIN)
    assert intervals(forecast) == {"r.scan": (1, None), "s.lookup[a]": (0, None)}
    assert intervals((await ask(JOIN, runs=False))[0])["r.scan"] == (18, 22), "and it is written anew"


async def test_a_folder_that_others_can_write_to_is_not_used(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "fff" / "totals"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    await ask(JOIN)
    assert not list(folder.iterdir())


def test_two_processes_keep_what_both_have_found(tmp_path: Path) -> None:
    one, other = TableHistory(tmp_path), TableHistory(tmp_path)
    for history, number in ((one, 1), (other, 2)):
        history._new = {
            f"{number}-{part}": TableFacts("t", number + part) for part in range(REMEMBERED // 2 + 9)
        }
        history.save()
    kept = json.loads((tmp_path / "tables.json").read_bytes())["tables"]
    assert len(kept) == REMEMBERED
    assert {name.partition("-")[0] for name in kept} == {"1", "2"}
    assert min(facts["at"] for facts in kept.values()) >= 10, "those seen longest ago gave way"
    assert [path.name for path in tmp_path.iterdir()] == ["tables.json"]


def test_facts_come_back_as_they_were(tmp_path: Path) -> None:
    facts = TableFacts("web.r", 5.0, {"scan": MethodFacts(20, 200, 0, 0.05, 4)}, {"b": 30})
    history = TableHistory(tmp_path)
    history._new = {"x": facts}
    history.save()
    assert TableHistory(tmp_path)._read() == {"x": facts}


@pytest.mark.parametrize(
    "part",
    [
        '"at": -1',
        '"at": "now"',
        '"at": 1, "distinct": {"a": -1}',
        '"at": 1, "methods": {"scan": {"rows": 1}}',
    ],
)
def test_what_is_no_count_is_not_read(tmp_path: Path, part: str) -> None:
    (tmp_path / "tables.json").write_text(f'{{"version": 1, "tables": {{"x": {{"table": "t", {part}}}}}}}')
    assert TableHistory(tmp_path)._read() == {}


async def test_a_budget_that_cannot_do_is_told_beforehand(ask: Ask) -> None:
    await ask(JOIN)
    forecast, _, _ = await ask(JOIN, runs=False)
    assert over_budget([forecast], Budget(45, Money.parse(0.45))) == []
    assert over_budget([forecast], Budget(44, Money.parse(0.449))) == [
        "this takes at least 45 requests, and 44 are allowed: the answer will be partial",
        "this costs at least 0.45 USD, and the budget is 0.449: the answer will be partial",
    ]
    assert over_budget([forecast, forecast], Budget(45)) == [], "what one statement reads serves the other"
    assert over_budget([Forecast(()), forecast, forecast], Budget(44)) != []
    assert forecast_lines(Forecast(())) == []
    [access, *_] = forecast.access
    free = Forecast((replace(access, price=None),))
    assert "states a price" in over_budget([free], Budget(None, Money.parse(1)))[0]
    assert over_budget([free], Budget(45)) == []


async def test_what_a_session_has_read_need_not_be_asked_for(ask: Ask) -> None:
    await ask(JOIN)
    first, told, later = await ask(JOIN, again="SELECT b FROM web.r", keep=True)
    assert intervals(first)["r.scan"] == (18, 22)
    assert "what was read before may serve" not in told
    assert intervals(later) == {"r.scan": (0, 22)}
    assert over_budget([later], Budget(1)) == []
    assert "what was read before may serve" in forecast_lines(later)[1]
    _, _, later = await ask(JOIN, again="SELECT b FROM web.r")
    assert intervals(later) == {"r.scan": (18, 22)}, "nothing is kept outside of a session"


async def test_what_is_known_can_be_forgotten(ask: Ask) -> None:
    await ask(JOIN)
    history = TableHistory.of_user(os.environ, enabled=None)
    history.clear("other")
    assert intervals((await ask(JOIN, runs=False))[0])["r.scan"] == (18, 22)
    history.clear("web")
    assert intervals((await ask(JOIN))[0])["r.scan"] == (1, None)
    history.clear(None)
    assert intervals((await ask(JOIN, runs=False))[0])["r.scan"] == (1, None)
