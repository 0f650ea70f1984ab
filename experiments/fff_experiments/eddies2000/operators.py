"""E12: more operators make adapting matter more, and why returned tuples go first (S1 sections 4 and 4.5)."""

from __future__ import annotations

import random

from fff.policies.naive import Naive
from fff_experiments.classic.buffer import in_turn, returned_first
from fff_experiments.classic.eddy import ClassicEddy, Options, Trace
from fff_experiments.classic.processors import SharedProcessor
from fff_experiments.classic.query import ClassicQuery, ClassicRelation, SelectionPredicate
from fff_experiments.eddies2000.setups import (
    EVEN,
    INVERTED,
    NAIVE,
    Eddies,
    controls,
    static,
    two_selections,
)
from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest

OPERATORS = (2, 3, 4, 5)
PHASE = 1000  # tuples for each operator
WINDOW = 100  # tuples, as in E9
COST = 5.0
#: Room of the eddy's buffer, and tuples of a scan in it at most, where the eddy may clog.
BUFFER, CLOGGED = 1000, 2000
CLOGS = "in turn"


def toggling(operators: int, phase: int) -> ClassicQuery:
    """In each phase another selection drops everything, and all others nothing."""

    def selection(which: int) -> SelectionPredicate:
        return SelectionPredicate(
            f"s{which + 1}", 0, lambda row: int(row[0] or 0) // phase % operators != which, COST
        )

    rows = [(place,) for place in range(operators * phase)]
    return ClassicQuery((ClassicRelation("U", rows),), selections=tuple(map(selection, range(operators))))


def _clogging(trial: TrialRequest, *, first: bool) -> Trace:
    """The naive eddy over a source that is always ahead, with returned tuples first or all in turn."""
    query = two_selections(trial.some(CLOGGED, 200), (COST, COST), (0.5, 0.5), trial.seed)
    options = Options(
        buffer=BUFFER,
        ahead=BUFFER,
        processor=SharedProcessor,
        priority=returned_first if first and trial.control != CLOGS else in_turn,
    )
    return ClassicEddy(query, Naive(), random.Random(trial.seed), options).run()


def _arrives(trace: Trace, share: float) -> float:
    """When a share of the results was there, as a share of the whole time."""
    return trace.results[int(share * len(trace.results))][0] / trace.end


def more_operators(trial: TrialRequest) -> Findings:
    """E12."""
    phase = trial.some(PHASE, 100)
    rows, gains = [], []
    for number in OPERATORS:
        query = toggling(number, phase)
        unit = number * phase * COST
        fixed = static(query, *(f"s{place + 1}" for place in range(number))).time / unit
        eddy = Eddies(trial.control if trial.control != CLOGS else "")
        lottery, naive = (
            one.time / unit
            for one in (eddy.lottery(query, trial.seed, WINDOW), eddy.naive(query, trial.seed))
        )
        gains.append(fixed / lottery)
        rows.append((number, fixed, (number + 1) / 2, lottery, naive, fixed / lottery))
    exact = max(abs(row[1] / row[2] - 1) for row in rows)
    flowing, clogged = _clogging(trial, first=True), _clogging(trial, first=False)
    tenth = [_arrives(one, 0.1) for one in (flowing, clogged)]
    return Findings(
        (
            "operators",
            "static order / nc",
            "(k + 1) / 2",
            "windowed lottery / nc",
            "naive / nc",
            "static / lottery",
        ),
        tuple(rows),
        (
            Panel(
                "Selectivities that toggle, by operators",
                "operators",
                "execution time / nc",
                tuple(
                    Curve(name, list(OPERATORS), [row[place] for row in rows])
                    for place, name in ((1, "static order"), (3, "windowed lottery"), (4, "naive"))
                ),
            ),
            Panel(
                "A source that is always ahead",
                "time [share of all]",
                "results [share of all]",
                tuple(
                    Curve(name, shares, [_arrives(one, share) for share in shares])
                    for name, one in (("returned tuples first", flowing), ("in turn", clogged))
                    for shares in ([place / 50 for place in range(50)],)
                ),
            ),
        ),
        (
            Check(
                "a static order takes (k + 1) / 2 of what an optimal dynamic plan takes",
                "exactly, for 2 to 5 operators",
                f"{exact:.1e} off at most",
                exact < 1e-9,
                "that the bench charges what arithmetic says; no eddy is in it",
            ),
            Check(
                "with more operators adapting to selectivities matters more",
                "the windowed lottery gains more with each operator, and at least a factor of 1.8 with 5",
                ", ".join(f"{gain:.2f}" for gain in gains),
                gains == sorted(gains) and gains[-1] >= 1.8,
            ),
            Check(
                "returned tuples first keep the eddy from clogging: results flow from the beginning",
                "a tenth of the results within 15 % of the time, and half as late as in turn at most",
                f"after {tenth[0]:.0%}, in turn after {tenth[1]:.0%}",
                tenth[0] <= 0.15 and tenth[0] <= tenth[1] / 2,
            ),
        ),
        (
            f"{phase:,} tuples for each operator, in whose phase it drops all and the others none; c = {COST:g} units.",
            f"Clogging: the naive eddy, two selections of 50 %, a buffer of {BUFFER:,} tuples and a source that fills it.",
        ),
    )


EXPERIMENTS = (
    Experiment(
        "E12",
        "More operators, and clogging",
        "Eddies 2000, sections 4 and 4.5",
        "one shared CPU",
        "With more operators adaptivity to changes in selectivity becomes more significant. Tuples that are returned go before "
        "new ones, so that the eddy does not become clogged with new tuples.",
        more_operators,
        controls(NAIVE, INVERTED, EVEN)
        | {CLOGS: "no priority for returned tuples, in place of the paper's scheme"},
    ),
)
