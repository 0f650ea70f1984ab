"""E14: join algorithms for one edge in competition, in the eddy of 2000 (S1 section 6)."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from fff.dataflow.plan.expressions import Column
from fff.policies.lottery import Lottery
from fff.policies.naive import Naive
from fff.simulation.recorder import Steps
from fff_experiments.classic.eddy import ClassicEddy, Options, Trace
from fff_experiments.classic.joins import HashRippleJoin, IndexJoin
from fff_experiments.classic.modules import Module
from fff_experiments.classic.query import (
    ClassicIndex,
    ClassicQuery,
    ClassicRelation,
    ClassicScan,
    JoinPredicate,
)
from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest

ROWS = 1000
R, S = 0, 1
#: Seconds that the scans of R and of S take, and a lookup: slower than R's tuples come, or faster.
R_S, S_S = 60.0, 400.0
SLOW_S, FAST_S = 1.0, 0.03
EARLY_S = 10.0
INDEX, HASH, BOTH, TICKETS = "index join", "hash ripple join", "both", "both, by lottery"


@dataclass(frozen=True)
class _Joined:
    """When results came, and whether each came once."""

    results: Steps
    right: bool

    @classmethod
    def of(cls, trace: Trace, keys: list[int]) -> _Joined:
        """Of a run."""
        counts = Counter(row[0] for _, (row, _) in trace.results if row is not None)
        return cls(Steps.of((time, 1) for time, _ in trace.results), counts == Counter(keys))


def _run(which: str, lookup_s: float, trial: TrialRequest) -> _Joined:
    """R joined with S, of which every row has one match, by one algorithm or by whoever has room."""
    rows, rng = trial.some(ROWS, 50), random.Random(trial.seed)
    keys = list(range(rows))
    relations = []
    for name, seconds in (("R", R_S), ("S", S_S)):
        rng.shuffle(keys)
        relations.append(ClassicRelation(name, [(key,) for key in keys], ClassicScan(0.0, seconds / rows)))
    predicate = JoinPredicate(Column(R, 0), Column(S, 0))
    query = ClassicQuery(tuple(relations), (predicate,))
    hashed = HashRippleJoin(HASH, 1, predicate, 0.0)
    index = ClassicIndex(0, lookup_s * ROWS / rows)
    looked_up = IndexJoin(
        INDEX, 1, predicate, inner=S, rows=relations[S].rows, index=index, aliases=2, residual=()
    )
    modules: list[Module] = (
        [looked_up] if which == INDEX else [hashed] if which == HASH else [looked_up, hashed]
    )
    scanned = frozenset({R} if which == INDEX else {R, S})
    policy = Lottery() if which == TICKETS else Naive()
    eddy = ClassicEddy(query, policy, random.Random(trial.seed), Options(), (modules, scanned))
    return _Joined.of(eddy.run(), keys)


def competition(trial: TrialRequest) -> Findings:
    """E14."""
    slow, fast = (
        {which: _run(which, lookup_s, trial) for which in (INDEX, HASH, BOTH, TICKETS)}
        for lookup_s in (SLOW_S, FAST_S)
    )
    stand_in = {INDEX: INDEX, HASH: HASH}.get(trial.control, BOTH)
    judged, other = slow[stand_in].results, fast[stand_in].results
    early = judged.at(EARLY_S) / max(1, slow[INDEX].results.at(EARLY_S))
    ends = judged.end / slow[HASH].results.end
    alone, trapped = fast[INDEX].results.end / fast[HASH].results.end, other.end / fast[HASH].results.end
    tickets = fast[TICKETS].results.at(R_S) / max(1, other.at(R_S))
    wrong = sum(not one.right for one in (*slow.values(), *fast.values()))
    return Findings(
        ("lookups", "plan", *(f"after {time:.0f} s" for time in (EARLY_S, R_S, S_S / 2)), "all [s]"),
        tuple(
            (what, which, *(one.results.at(time) for time in (EARLY_S, R_S, S_S / 2)), one.results.end)
            for what, runs in ((f"of {SLOW_S:g} s", slow), (f"of {FAST_S:g} s", fast))
            for which, one in runs.items()
        ),
        tuple(
            Panel(
                f"Lookups of {lookup_s:g} s",
                "time [s]",
                "result tuples",
                tuple(
                    Curve(which, one.results.times, one.results.totals, "steps")
                    for which, one in runs.items()
                ),
            )
            for lookup_s, runs in ((SLOW_S, slow), (FAST_S, fast))
        ),
        (
            Check(
                "two algorithms for one edge, by back-pressure alone: early like the index join",
                f"where lookups are slow, at least as many results as it has after {EARLY_S:.0f} s",
                f"{early:.2f}",
                early >= 1.0,
            ),
            Check(
                "and through with the hash ripple join",
                "where lookups are slow, at most 1.05 of its time",
                f"{ends:.2f}",
                ends <= 1.05,
            ),
            Check(
                "what a join holds is hidden from the other: a tuple given to the hash ripple join waits for the scan of S",
                "where lookups are fast, at least 0.9 of the hash ripple join's time, when the index join alone takes 0.3 at most",
                f"{trapped:.2f}, alone {alone:.2f}",
                trapped >= 0.9 and alone <= 0.3,
            ),
            Check(
                "the lottery chooses worse than back-pressure: a join whose other side has not come looks selective (E10)",
                f"where lookups are fast, at most half the results after {R_S:.0f} s",
                f"{tickets:.2f}",
                tickets <= 0.5,
            ),
            Check(
                "each result comes once, whichever algorithm had the tuple",
                "in all runs",
                f"{wrong} are wrong",
                wrong == 0,
                "that tuples of R go to one of them, and those of S to the hash ripple join alone",
            ),
        ),
        (SETTING, HIDDEN),
    )


SETTING = (
    f"R and S have the same {ROWS:,} keys, each in an order of its own; the scan of R takes {R_S:.0f} s, that of S {S_S:.0f} s. Modules "
    "are servers of their own with room for one tuple; an index serves one lookup at a time, the hash ripple join takes no time."
)
HIDDEN = "With SteMs nothing is hidden: S-4 has the same competition with tuples that both reach."

EXPERIMENTS = (
    Experiment(
        "E14",
        "Join algorithms in competition",
        "ours, for Eddies 2000, section 6",
        "independent servers",
        "The paper leaves open whether an eddy may choose among join algorithms by letting them compete. It may, for one edge, "
        "without a change: a tuple that has passed either is done with both.",
        competition,
        {INDEX: "the index join in place of both", HASH: "the hash ripple join in place of both"},
    ),
)
