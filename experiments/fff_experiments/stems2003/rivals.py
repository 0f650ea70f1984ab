"""SteMs 2003, section 3.2: scans of one table in competition, and who of two mirrors reads on as their speeds change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from fff.dataflow.plan.moves import ScanRace
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.policies import DEFAULT_POLICY, PREFERENCES, Preference, make_policy
from fff.policies.adaptive.policy import Adaptive
from fff.simulation.recorder import Steps
from fff.simulation.run import run_block
from fff.simulation.service import Latency, LogNormal, Phases
from fff.simulation.source import SimulatedScan, SimulatedTable
from fff_experiments.experiment import Check, Experiment, Findings, Panel, TrialRequest
from fff_experiments.stems2003.sources import curve

PAGES, PAGE = 200, 20
SPREAD = 0.3  # of the logarithm of a page's seconds
TURN_S = 4.0  # when speeds change
NAMES = ("first", "second")
SETTING = (
    f"A table of {PAGES} pages of {PAGE} rows with a primary key; each mirror gives them in an order of its own, and tells the total. "
    f"Seconds of a page are log-normal with a deviation of {SPREAD}; those that change do so after {TURN_S:.0f} s."
)
_SCHEMA = pa.schema([("key", pa.int64()), ("v", pa.int64())])


@dataclass(frozen=True)
class _World:
    """Two mirrors; `hosts`: of each, where they are not apart. `dies`: after so many pages the first fails."""

    name: str
    pages: tuple[Latency, Latency]
    hosts: tuple[str, str] = ("", "")
    dies: int | None = None


def _steady(seconds: float) -> Latency:
    return LogNormal(seconds, SPREAD)


def _turning(before: float, after: float) -> Latency:
    return Phases(((0.0, _steady(before)), (TURN_S, _steady(after))))


TURNS = "the first slows down"
WORLDS = (
    _World("the second is faster", (_steady(0.4), _steady(0.15))),
    _World("the first is faster", (_steady(0.15), _steady(0.4))),
    _World("both alike", (_steady(0.25), _steady(0.25))),
    _World(TURNS, (_turning(0.1, 0.8), _steady(0.25))),
    _World("they change places", (_turning(0.2, 0.6), _turning(0.6, 0.2))),
    _World("the first dies half-way", (_steady(0.2), _steady(0.3)), dies=PAGES // 2),
    _World("one host for both", (_steady(0.4), _steady(0.15)), hosts=("one", "one")),
)


class _AllRead(Adaptive):
    """All scans read to the end of the first, whatever it takes."""

    def race(self, race: ScanRace) -> Mapping[int, int]:
        """All of them."""
        return {pace.index: race.most for pace in race.scans}


@dataclass(frozen=True)
class _Raced:
    """What a run took, and when the pages of each mirror were asked for."""

    seconds: float
    pages: tuple[Steps, Steps]
    results: Steps
    whole: bool

    @property
    def requests(self) -> int:
        """Of both."""
        return sum(steps.total for steps in self.pages)

    def share(self, mirror: int, begin: float, end: float) -> float:
        """Of the pages asked for within a time, those of one mirror."""
        asked = [steps.at(end) - steps.at(begin) for steps in self.pages]
        return asked[mirror] / max(1, sum(asked))


def _run(
    world: _World, trial: TrialRequest, policy: Callable[[BlockPlan], RoutingPolicy], only: int | None = None
) -> _Raced:
    """The whole table, by both mirrors or by one alone, which then dies of nothing."""
    scans = tuple(
        SimulatedScan(
            name,
            PAGE,
            latency,
            fails_after=trial.some(world.dies) if world.dies and name == NAMES[0] and only is None else None,
            shuffled=True,
            host=host,
        )
        for name, latency, host in zip(NAMES, world.pages, world.hosts, strict=True)
    )
    keys = list(range(PAGE * trial.some(PAGES, 20)))
    rows = pa.record_batch([keys, keys], schema=_SCHEMA)
    table = SimulatedTable("T", rows, ("key",), scans if only is None else (scans[only],))
    run = run_block("SELECT T.key, T.v FROM T", (table,), policy=policy, seed=trial.seed)
    whole = run.complete and sorted(run.rows.column(0).to_pylist()) == keys
    asked = [run.recorder.requests("T", name) for name in NAMES]
    return _Raced(run.seconds, (asked[0], asked[1]), run.recorder.results(), whole)


def _policies(control: str) -> dict[Preference, Callable[[BlockPlan], RoutingPolicy]]:
    """The default under each preference, or what stands in for it."""
    if control == "all read":
        return dict.fromkeys(PREFERENCES, _AllRead)
    if control == "nobody races":
        return dict.fromkeys(PREFERENCES, lambda plan: Adaptive(plan, "cheap"))
    return {prefer: partial(_default, prefer=prefer) for prefer in PREFERENCES}


def _default(plan: BlockPlan, prefer: Preference) -> RoutingPolicy:
    return make_policy(DEFAULT_POLICY, plan, prefer)


def _trade(first: _Raced, raced: _Raced) -> float:
    """The share of the first one's time that is saved, less the share of its requests that is added."""
    saved = (first.seconds - raced.seconds) / first.seconds
    return saved - (raced.requests - first.requests) / first.requests


def _q7(trial: TrialRequest) -> Findings:
    alone = {world.name: [_run(world, trial, Adaptive, only) for only in (0, 1)] for world in WORLDS}
    runs = {
        world.name: {
            prefer: _run(world, trial, policy) for prefer, policy in _policies(trial.control).items()
        }
        for world in WORLDS
    }
    apart = [world.name for world in WORLDS if not world.hosts[0]]
    lived = [world.name for world in WORLDS if not world.dies]
    late = {
        name: runs[name]["fast"].seconds / min(one.seconds for one in alone[name])
        for name in apart
        if name in lived
    }
    trades = {name: _trade(alone[name][0], runs[name]["balanced"]) for name in lived}
    gained = {
        name: (alone[name][0].seconds - runs[name]["balanced"].seconds)
        / (alone[name][0].seconds - alone[name][1].seconds)
        for name in ("the second is faster", TURNS, "they change places")
    }
    beside = runs["both alike"]["balanced"].requests / alone["both alike"][0].requests - 1
    spared = sum(
        runs[name]["cheap"].pages[1].total
        for name in ("the second is faster", "the first is faster", "both alike")
    )
    shared = sum(runs["one host for both"][prefer].pages[1].total for prefer in PREFERENCES)
    turned = runs[TURNS]["balanced"]
    before, after = turned.share(0, 0.0, TURN_S), turned.share(1, 0.4 * turned.seconds, turned.seconds)
    wrong = [name for name in runs for run in runs[name].values() if not run.whole]
    return Findings(
        columns=(
            "mirrors",
            "first alone [s]",
            "second alone [s]",
            *(f"{prefer} [{unit}]" for prefer in PREFERENCES for unit in ("s", "pages of each")),
        ),
        rows=tuple(
            (
                name,
                *(one.seconds for one in alone[name]),
                *(
                    shown
                    for run in runs[name].values()
                    for shown in (run.seconds, " + ".join(str(steps.total) for steps in run.pages))
                ),
            )
            for name in runs
        ),
        panels=(
            Panel(
                f"(i) {TURNS}",
                "time [s]",
                "result tuples",
                (
                    curve("fast", runs[TURNS]["fast"].results),
                    curve("balanced", turned.results),
                    *(
                        curve(f"{name} alone", run.results)
                        for name, run in zip(NAMES, alone[TURNS], strict=True)
                    ),
                ),
            ),
            Panel(
                "(ii) the same, who reads under balanced",
                "time [s]",
                "pages asked for",
                tuple(
                    curve(name, steps, turned.seconds)
                    for name, steps in zip(NAMES, turned.pages, strict=True)
                ),
            ),
        ),
        checks=(
            Check(
                "`fast` has the whole table when the better of the mirrors alone would, whatever their speeds",
                "at most 1.05 of its time, wherever they are on two hosts and live",
                f"at worst {max(late.values()):.2f}",
                passed=max(late.values()) <= 1.05,
            ),
            Check(
                "`balanced` spends no greater share of the requests than it saves of the time",
                "of those of the first alone, at worst 0.05 more, which is what may be tried to learn",
                f"at worst {min(trades.values()):+.2f}",
                passed=min(trades.values()) >= -0.05,
            ),
            Check(
                "it has most of what the faster mirror would have saved",
                "at least half of it where the second is faster, or becomes faster",
                ", ".join(f"{share:.0%}" for share in gained.values()),
                passed=min(gained.values()) >= 0.5,
            ),
            Check(
                "where nothing is to be gained it asks little",
                "at most 5 % more requests for two mirrors of one speed",
                f"{beside:.1%}",
                passed=beside <= 0.05,
            ),
            Check(
                "shares follow the speeds",
                f"under `balanced` at least 85 % by the first before it slows down after {TURN_S:.0f} s, at least 90 % by the "
                "second in the last three fifths of the time",
                f"{before:.0%}, {after:.0%}",
                passed=before >= 0.85 and after >= 0.9,
            ),
            Check(
                "`cheap` asks the second for nothing, nor does anybody where one host serves both",
                "no page where the first neither fails nor stalls, and none of the same host",
                f"{spared} and {shared}",
                passed=spared == shared == 0,
            ),
            Check(
                "every answer is the table, each row once",
                "in all of them",
                f"{len(wrong)} of {len(runs) * len(PREFERENCES)} are not",
                passed=not wrong,
                shows="that row identity absorbs what both bring; tests/fuzz breaks that rule and notices",
            ),
        ),
        notes=(
            SETTING,
            "The whole is there at the first EOT; what the other has under way then is cancelled, and counted.",
        ),
    )


EXPERIMENTS = (
    Experiment(
        "S-11",
        "two scans of one table",
        "SteMs 2003, section 3.2",
        "independent servers",
        "Two mirrors bring one table. Under `fast` both read, and the table is there as soon as by the better one alone, also where "
        "they change their speeds; under `balanced` one reads at a time, and another takes its place where that is a fair trade; "
        "under `cheap` the second begins where the first fails or stalls.",
        _q7,
        {
            "nobody races": "the second begins where the first fails or stalls, whatever is preferred",
            "all read": "both read to the end of the first, whatever is preferred",
        },
    ),
)
