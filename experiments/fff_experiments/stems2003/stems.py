"""SteMs 2003, sections 4.2 to 4.4: one cache for all, no blocking at the head of the line, no spanning tree."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fff.dataflow.eddy import EddyOptions
from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.dataflow.plan.state import TupleState
from fff.policies.benefit import Benefit
from fff.simulation.recorder import Steps
from fff.simulation.run import BlockRun, run_block
from fff.simulation.service import Stall
from fff_experiments.classic.query import ClassicQuery
from fff_experiments.experiment import Check, Experiment, Findings, Panel, TrialRequest
from fff_experiments.stems2003.sources import (
    LOOKUP_S,
    ROWS,
    SEEDS,
    SETTING,
    VALUES,
    NobodyIdle,
    TimedIndexJoin,
    classic_r,
    classic_xy,
    curve,
    equal,
    mean,
    results_of,
    rises,
    run_classic,
    table_r,
    table_xy,
)

#: Aliases of Q1 and Q2, and of Q3.
R, S, T, U = 0, 1, 1, 2
X, Y = 0, 1  # columns of S, T and U
A = 1  # column of R
#: Shares of the time until the end at which results are compared, with what both plans are expected to have
#: by then [D/M].
MOMENTS = (0.10, 0.25, 0.50, 0.75)
EXPECTED_JOIN = (0.025, 0.07, 0.17, 0.33)
EXPECTED_STEM = (0.12, 0.30, 0.57, 0.82)
#: Distinct values among 1000 draws out of 250.
EXPECTED_LOOKUPS = VALUES * (1 - (1 - 1 / VALUES) ** ROWS)


# -------------------------------------------------------------------------------------------------------- S-1


@dataclass(frozen=True)
class _Lookups:
    """One plan for Q1 or Q2: results and probes of the index over time."""

    results: Steps
    probes: Steps

    def share(self, moment: float) -> float:
        """Which share of the results is there after a share of the time."""
        return self.results.at(moment * self.results.end) / self.results.total


def _q1_stem(seed: int) -> _Lookups:
    tables = (table_r(seed), table_xy("S", "x"))
    run = run_block("SELECT * FROM R, S WHERE R.a = S.x", tables, policy="fixed", seed=seed)
    return _Lookups(run.recorder.results(), run.recorder.requests("S", "lookup[x]"))


def _q1_join(seed: int, *, caches: bool = True) -> _Lookups:
    predicate = equal((R, A), (S, X))
    query = ClassicQuery((classic_r(seed), classic_xy("S", X)), (predicate,))
    join = TimedIndexJoin("RS", query, predicate, S, caches=caches)
    trace = run_classic(query, [join], [R], seed)
    return _Lookups(results_of(trace), join.probes)


def _judged_q1(seed: int, control: str) -> _Lookups:
    """The run with SteMs, or what stands in for it."""
    if control == "index join":
        return _q1_join(seed)
    return _q1_join(seed, caches=False) if control == "no cache" else _q1_stem(seed)


def _q1(trial: TrialRequest) -> Findings:
    seeds = range(trial.seed, trial.seed + trial.some(SEEDS))
    pairs = [(_q1_join(one), _judged_q1(one, trial.control)) for one in seeds]
    apart = max(
        abs(a - b) for join, stem in pairs for a, b in zip(join.probes.times, stem.probes.times, strict=False)
    )
    probes = mean([stem.probes.total for _, stem in pairs])
    rows = []
    checks = [
        Check(
            "each distinct value is looked up once",
            f"{EXPECTED_LOOKUPS:.1f} ± 2 lookups in both",
            f"{probes:.1f} with SteMs, {mean([join.probes.total for join, _ in pairs]):.1f} with the index join",
            passed=abs(probes - EXPECTED_LOOKUPS) <= 2,
        ),
        Check(
            "probe counts into S are identical over time",
            "the k-th probe begins at the same time in both, for every k",
            f"at most {apart:.2g} s apart",
            passed=apart < 1e-6 and all(join.probes.total == stem.probes.total for join, stem in pairs),
        ),
    ]
    for moment, wanted_join, wanted_stem in zip(MOMENTS, EXPECTED_JOIN, EXPECTED_STEM, strict=True):
        of_join = mean([join.share(moment) for join, _ in pairs])
        of_stem = mean([stem.share(moment) for _, stem in pairs])
        rows.append((f"{moment:.0%} of the time", 100 * of_join, 100 * of_stem))
        checks.append(
            Check(
                f"the index join is parabolic, SteMs are almost linear: results after {moment:.0%} of the time",
                f"{wanted_join:.1%} and {wanted_stem:.0%} (± 3 points)",
                f"{of_join:.1%} and {of_stem:.1%}",
                passed=abs(of_join - wanted_join) <= 0.03 and abs(of_stem - wanted_stem) <= 0.03,
            )
        )
    ratio = mean([stem.results.end / join.results.end for join, stem in pairs])
    rows.append(
        ("seconds in all", mean([j.results.end for j, _ in pairs]), mean([s.results.end for _, s in pairs]))
    )
    checks.append(
        Check(
            "both take the same time",
            "SteM / index join = 1.00 ± 0.01",
            f"{ratio:.3f}",
            passed=abs(ratio - 1) <= 0.01,
        )
    )
    join, stem = pairs[0]
    return Findings(
        columns=("", "index join", "SteMs"),
        rows=tuple(rows),
        panels=(
            Panel(
                "(i) results over time",
                "time [s]",
                "result tuples",
                (curve("with SteMs", stem.results), curve("index join", join.results)),
            ),
            Panel(
                "(ii) probes into the index on S",
                "time [s]",
                "probes",
                (curve("with SteMs", stem.probes), curve("index join", join.probes)),
            ),
        ),
        checks=tuple(checks),
        notes=(
            SETTING,
            f"Means of {len(pairs)} runs, in per cent of the results; the plot is the first run.",
        ),
    )


# -------------------------------------------------------------------------------------------------------- S-2

LEARNING = 200  # tuples of R that are divided between the indexes


class LearnThenOne:
    """The first 200 tuples go to either index at random; all others to the one on y.

    One tuple is routed at a time.
    """

    name = "learn, then one"

    def __init__(self) -> None:
        self._left = LEARNING

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:  # noqa: ARG002
        """Each index as likely while learning."""
        if self._left:
            self._left -= 1
            return rng.choice(moves)
        return moves[-1]

    def observe(self, outcome: Outcome) -> None:
        """What it would learn is known: both cost the same."""


def _q2_stem(seed: int) -> _Lookups:
    run = run_block(
        "SELECT * FROM R, S WHERE R.a = S.x AND R.a = S.y",
        (table_r(seed), table_xy("S", "x", "y")),
        policy=lambda _: LearnThenOne(),
        seed=seed,
        options=EddyOptions(route_size=1),
    )
    return _Lookups(run.recorder.results(), run.recorder.requests("S", "lookup[x]"))


def _q2_join(seed: int, *, shared: bool, caches: bool = True) -> _Lookups:
    on_x, on_y = equal((R, A), (S, X)), equal((R, A), (S, Y))
    query = ClassicQuery((classic_r(seed), classic_xy("S", X, Y)), (on_x, on_y))
    by_x = TimedIndexJoin("RSx", query, on_x, S, caches=caches)
    by_y = TimedIndexJoin("RSy", query, on_y, S, cache=by_x.cache if shared else None, caches=caches)
    trace = run_classic(query, [by_x, by_y], [R], seed, LearnThenOne())
    return _Lookups(results_of(trace), by_x.probes)


def _judged_q2(seed: int, control: str) -> _Lookups:
    """The run with SteMs, or what stands in for it."""
    match control:
        case "index joins":
            return _q2_join(seed, shared=False)
        case "shared cache":
            return _q2_join(seed, shared=True)
        case "no cache":
            return _q2_join(seed, shared=False, caches=False)
    return _q2_stem(seed)


def _q2(trial: TrialRequest) -> Findings:
    runs = [
        (_judged_q2(one, trial.control), _q2_join(one, shared=False), _q2_join(one, shared=True))
        for one in range(trial.seed, trial.seed + trial.some(SEEDS))
    ]
    ratio = mean([stem.results.end / join.results.end for stem, join, _ in runs])
    shared_ratio = mean([shared.results.end / stem.results.end for stem, _, shared in runs])
    behind = sum(
        stem.results.at(time) < join.results.at(time)
        for stem, join, _ in runs
        for time in (join.results.end * step / 200 for step in range(201))
    )
    blocked = [
        (stem.results.at(half) / ROWS, shared.results.at(half) / ROWS)
        for stem, _, shared in runs
        for half in (stem.results.end / 2,)
    ]
    half_stem, half_shared = (mean(column) for column in zip(*blocked, strict=True))
    turns = [join.probes.end + LOOKUP_S for _, join, _ in runs]
    stem, join, shared = runs[0]
    names = ("SteMs", "index joins", "index joins, shared cache")
    return Findings(
        columns=("plan", "seconds", "lookups on x", "results after half of the SteMs' time"),
        rows=tuple(
            (
                name,
                mean([run[place].results.end for run in runs]),
                mean([run[place].probes.total for run in runs]),
                mean([run[place].results.at(run[0].results.end / 2) for run in runs]),
            )
            for place, name in enumerate(names)
        ),
        panels=(
            Panel(
                "Q2: results over time",
                "time [s]",
                "result tuples",
                (
                    curve(names[0], stem.results),
                    curve(names[1], join.results),
                    curve(names[2], shared.results),
                ),
            ),
        ),
        checks=(
            Check(
                "SteMs finish earlier: one cache",
                "SteM / index joins = 0.73 ± 0.03",
                f"{ratio:.3f}",
                passed=abs(ratio - 0.73) <= 0.03,
            ),
            Check(
                "index joins with a shared cache finish like SteMs",
                "shared cache / SteM = 1.01 ± 0.02",
                f"{shared_ratio:.3f}",
                passed=abs(shared_ratio - 1.01) <= 0.02,
            ),
            Check(
                "SteMs are better throughout",
                "never fewer results than index joins",
                f"fewer at {behind} of {201 * len(runs)} moments",
                passed=behind == 0,
            ),
            Check(
                "a shared cache still blocks at the head of the line",
                "clearly fewer results than SteMs after half of the time",
                f"{half_shared:.0%} and {half_stem:.0%}",
                passed=half_shared < half_stem - 0.1,
            ),
            Check(
                "index joins change their pace near 90 s",
                "the index on x is done with between 80 and 100 s",
                f"{mean(turns):.0f} s",
                passed=80 <= mean(turns) <= 100,
                shows="that the index joins are the paper's; no SteM is in it",
            ),
        ),
        notes=(SETTING, f"Means of {len(runs)} runs; the plot is the first run."),
    )


# -------------------------------------------------------------------------------------------------------- S-3

STALL = Stall(100.0, 100.0)


def _q3_stem(
    trial: TrialRequest, policy: str | Callable[[BlockPlan], RoutingPolicy] | None = None
) -> BlockRun:
    """By back-pressure alone, or by a policy of the engine."""
    return run_block(
        "SELECT * FROM R, T, U WHERE R.a = T.x AND R.a = U.x AND T.y = U.x",
        (table_r(trial.seed), table_xy("T", "x", stalls=_stalls(trial)), table_xy("U", "x")),
        policy="fixed:R,T,U" if trial.control == "spanning tree" else policy or (lambda _: NobodyIdle()),
        seed=trial.seed,
    )


def _stalls(trial: TrialRequest) -> tuple[Stall, ...]:
    return () if trial.control == "no stall" else (STALL,)


def _q3_join(trial: TrialRequest) -> tuple[Steps, Steps]:
    """Results, and RT tuples."""
    seed = trial.seed
    rt, tu, ru = equal((R, A), (T, X)), equal((T, Y), (U, X)), equal((R, A), (U, X))
    query = ClassicQuery((classic_r(seed), classic_xy("T", X), classic_xy("U", X)), (rt, tu, ru))
    join_rt = TimedIndexJoin("RT", query, rt, T, stalls=_stalls(trial))
    join_tu = TimedIndexJoin("TU", query, tu, U)
    trace = run_classic(query, [join_rt, join_tu], [R], seed)
    return results_of(trace), join_rt.returned


def _q3(trial: TrialRequest) -> Findings:
    benefit = (lambda _: Benefit()) if trial.control == "no worth" else "benefit"
    recorder, by_benefit = (_q3_stem(trial, policy).recorder for policy in (None, benefit))
    full, rt, ru = recorder.results(), recorder.tuples((R, T)), recorder.tuples((R, U))
    module_full, module_rt = _q3_join(trial)
    early, early_ru = by_benefit.results(), by_benefit.tuples((R, U))
    if trial.control == "modules":
        full, rt, ru = module_full, module_rt, Steps.of(())
        early, early_ru = full, ru
    begin, end = STALL.start, STALL.end
    # A lookup that has ended just before the stall is still answered; what is under way then stands still.
    quiet = begin + 2 * LOOKUP_S
    half = begin / 2
    linear = {
        name: steps.at(half) / steps.at(begin) for name, steps in (("SteMs", rt), ("modules", module_rt))
    }
    moments = (50.0, 100.0, 150.0, 200.0, 250.0, 300.0)
    gained, module_gained = full.at(end) - full.at(quiet), module_full.at(end) - module_full.at(quiet)
    parts, benefit_parts = rises(ru, begin, end), rises(early_ru, begin, end)
    ends = early.end / full.end
    return Findings(
        columns=(
            "seconds",
            "SteMs: RTU",
            "SteMs: RT",
            "SteMs: RU",
            "modules: RTU",
            "modules: RT",
            "modules: RU",
            "benefit: RTU",
            "benefit: RU",
        ),
        rows=tuple(
            (
                time,
                *(steps.at(time) for steps in (full, rt, ru, module_full, module_rt)),
                0,
                early.at(time),
                early_ru.at(time),
            )
            for time in moments
        ),
        panels=(
            Panel(
                "(i) with SteMs",
                "time [s]",
                "tuples",
                (curve("RTU (full)", full, full.end), curve("RT", rt, full.end), curve("RU", ru, full.end)),
            ),
            Panel(
                "(ii) with join modules on RT and TU",
                "time [s]",
                "tuples",
                (curve("RTU (full)", module_full), curve("RT", module_rt)),
            ),
        ),
        checks=(
            Check(
                "full results stall in both",
                f"from {quiet:.0f} to {end:.0f} s at most 5 % of what came in the {begin:.0f} s before",
                f"{gained} of {full.at(begin)} with SteMs, {module_gained} of {module_full.at(begin)} with modules",
                passed=gained <= 0.05 * full.at(begin) and module_gained <= 0.05 * module_full.at(begin),
            ),
            Check(
                "with SteMs RU partial results go on during the stall",
                "RU rises in each tenth of the stall",
                f"in {parts} of 10, by {ru.at(end) - ru.at(begin)} tuples",
                passed=parts == 10,
            ),
            Check(
                "the policy of the paper, benefit over cost, does as well",
                "RU rises in each tenth of the stall, and completion is at most 1.02 of that by back-pressure",
                f"in {benefit_parts} of 10, by {early_ru.at(end) - early_ru.at(begin)} tuples, and {ends:.3f}",
                passed=benefit_parts == 10 and ends <= 1.02,
            ),
            Check(
                "with modules partial results stall as well: no join of R with U was planned",
                "neither RT nor RU rises",
                f"RT by {module_rt.at(end) - module_rt.at(quiet)}; there is no module that makes RU",
                passed=module_rt.at(end) == module_rt.at(quiet),
            ),
            Check(
                "the RT curve is less sub-linear with SteMs",
                "a greater share of the RT tuples of the first 100 s is there after 50 s",
                f"{linear['SteMs']:.0%} with SteMs, {linear['modules']:.0%} with modules",
                passed=linear["SteMs"] > linear["modules"],
            ),
        ),
        notes=(
            SETTING,
            "With SteMs, tuples of R go to whichever index has room; while T stalls that is the one on U.",
            "Control `no worth` fails no claim: what partial results are worth to the user decides nothing here.",
        ),
    )


EXPERIMENTS = (
    Experiment(
        "S-1",
        "an index join, taken apart",
        "SteMs 2003, section 4.2, figure 8 (i) and (ii)",
        "independent servers",
        "With an index join module results come along a parabola, with SteMs almost along a line; both take the same time, and "
        "the probes of the index are the same over time. Tuples whose match is cached no longer stand in line behind lookups.",
        _q1,
        {
            "index join": "the index join in place of the SteMs",
            "no cache": "an index join that remembers no answer in place of the SteMs",
        },
    ),
    Experiment(
        "S-2",
        "two competing indexes, one cache",
        "SteMs 2003, section 4.3, figure 8 (iii)",
        "independent servers",
        "After a phase of learning, in which either index is used, all that both have brought is of use with SteMs, and lost with "
        "index joins that have caches of their own. With a shared cache index joins finish as early, but still block.",
        _q2,
        {
            "index joins": "index joins with caches of their own in place of the SteMs",
            "shared cache": "index joins with a shared cache in place of the SteMs",
            "no cache": "index joins that remember no answer in place of the SteMs",
        },
    ),
    Experiment(
        "S-3",
        "no spanning tree: a source of a cyclic query stalls",
        "SteMs 2003, section 4.4, figure 11",
        "independent servers",
        "T stalls for 100 s at 100 s. Full results stall; but SteMs go on joining R with U, which join modules on RT and TU, "
        "chosen beforehand, cannot.",
        _q3,
        {
            "spanning tree": "SteMs routed in one fixed order, R to T to U",
            "no stall": "T does not stall",
            "modules": "the join modules in place of the SteMs",
            "no worth": "benefit without what partial results are worth to the user",
        },
    ),
)
