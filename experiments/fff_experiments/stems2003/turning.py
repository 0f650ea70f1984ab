"""SteMs 2003, section 4.6: the user turns to another group while the query runs; index stride, juggle, and both of them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from fff.simulation.recorder import Steps
from fff.simulation.run import run_block
from fff.simulation.source import SimulatedTable
from fff_experiments.experiment import Check, Experiment, Findings, Panel, TrialRequest
from fff_experiments.stems2003.hybrids import GROUPS, SETTING, W_S, tables
from fff_experiments.stems2003.sources import ROWS, curve

#: The groups that the user wants first, and when she turns to the second one: R has gone by then.
FIRST, SECOND, TURN_S = 0, 7, 100.0
BOTH, STRIDE, JUGGLE = "both", "index stride", "juggle"


_KINDS = (
    "Routing is by policy `benefit`. Index stride: W has its index and no scan, and keys of the group go first. Juggle: W has "
    "its scan and no index, and tuples of the group go first. Both: W has both."
)


def _group(number: int) -> str:
    """The predicate that picks a group."""
    return f"W.key IN ({', '.join(map(str, range(number, ROWS, GROUPS)))})"


@dataclass(frozen=True)
class _Turned:
    """When the results of each group came."""

    groups: tuple[tuple[float, ...], ...]

    @property
    def end(self) -> float:
        """When the last one came."""
        return max(times[-1] for times in self.groups)

    def waits(self) -> list[float]:
        """Of the second group: how long after the turn each result came that was not there yet."""
        return [time - TURN_S for time in self.groups[SECOND] if time > TURN_S]

    def done(self, number: int) -> float:
        """When nine tenths of a group were there."""
        times = self.groups[number]
        return times[9 * len(times) // 10 - 1]

    def others(self, begin: float, end: float) -> int:
        """Results of neither group within a time."""
        rest = (times for number, times in enumerate(self.groups) if number not in (FIRST, SECOND))
        return sum(begin < time <= end for times in rest for time in times)


def _run(kind: str, trial: TrialRequest) -> _Turned:
    r, w = tables(trial.seed)
    methods = {
        BOTH: w,
        STRIDE: SimulatedTable(w.name, w.rows, w.primary_key, (), w.lookups),
        JUGGLE: SimulatedTable(w.name, w.rows, w.primary_key, w.scans),
    }
    run = run_block(
        "SELECT R.a, W.key FROM R, W WHERE R.key = W.key",
        (r, methods[kind]),
        policy="benefit",
        seed=trial.seed,
        prioritize=() if trial.control == "nobody first" else (_group(FIRST),),
        turns=() if trial.control in ("no turn", "nobody first") else ((TURN_S, _group(SECOND)),),
    )
    groups: list[list[float]] = [[] for _ in range(GROUPS)]
    for time, batch in run.batches:
        for key in batch.column(1).to_pylist():
            groups[key % GROUPS].append(time)
    return _Turned(tuple(map(tuple, groups)))


def _q5_turned(trial: TrialRequest) -> Findings:
    runs = {kind: _run(kind, trial) for kind in (BOTH, STRIDE, JUGGLE)}
    if trial.control in (STRIDE, JUGGLE):
        runs[BOTH] = runs[trial.control]
    both, stride, juggle = runs[BOTH], runs[STRIDE], runs[JUGGLE]
    wait, waited = (statistics.median(one.waits()) for one in (both, juggle))
    left = len(both.waits())
    busy = both.done(SECOND)
    served, alone = (one.others(TURN_S, busy) for one in (both, juggle))
    return Findings(
        columns=(
            "reordering",
            "90 % of the first group [s]",
            "left at the turn",
            "their median wait [s]",
            "90 % of the second group [s]",
            "all results [s]",
        ),
        rows=tuple(
            (
                kind,
                one.done(FIRST),
                len(one.waits()),
                statistics.median(one.waits()),
                one.done(SECOND),
                one.end,
            )
            for kind, one in runs.items()
        ),
        panels=(
            Panel(
                f"results of group {SECOND}, wanted first from {TURN_S:.0f} s on",
                "time [s]",
                "result tuples",
                tuple(
                    curve(kind, Steps.of((time, 1) for time in one.groups[SECOND]), W_S)
                    for kind, one in runs.items()
                ),
            ),
            Panel(
                "all results",
                "time [s]",
                "result tuples",
                tuple(
                    curve(kind, Steps.of((time, 1) for time in sorted(sum(one.groups, ()))), W_S)
                    for kind, one in runs.items()
                ),
            ),
        ),
        checks=(
            Check(
                "the group turned to is served at once, though its tuples of R have gone by",
                "what is left of it has a median wait of at most a quarter of that by juggle alone",
                f"{left} left, {wait:.0f} s and {waited:.0f} s",
                passed=wait <= waited / 4,
            ),
            Check(
                "before the turn the first group was served",
                f"nine tenths of it are there after {TURN_S:.0f} s",
                f"after {both.done(FIRST):.0f} s",
                passed=both.done(FIRST) <= TURN_S,
            ),
            Check(
                "index stride alone performs poorly on the whole",
                "with both all results are there in at most half of its time",
                f"{both.end:.0f} s and {stride.end:.0f} s",
                passed=both.end <= stride.end / 2,
            ),
            Check(
                "with both the turn costs the others nothing",
                "all results are there no later than by juggle alone, and the scan goes on bringing others meanwhile: "
                "at least nine tenths of what it brings juggle in that time",
                f"{both.end:.0f} s and {juggle.end:.0f} s; {served} others until {busy:.0f} s, by juggle {alone}",
                passed=both.end <= 1.01 * juggle.end and served >= 0.9 * alone,
            ),
        ),
        notes=(
            SETTING,
            f"Group {FIRST} of {GROUPS} is wanted first; at {TURN_S:.0f} s the user turns to group {SECOND}. "
            + _KINDS,
        ),
    )


EXPERIMENTS = (
    Experiment(
        "S-6",
        "the user turns to another group",
        "SteMs 2003, section 4.6, footnote 7",
        "independent servers",
        "Priorities change while the query runs. Index stride alone performs poorly on the whole, juggle alone hardly "
        "prioritises what a slow scan brings; both together do neither, and the eddy with SteMs makes them of itself.",
        _q5_turned,
        {
            "no turn": "the user stays with the first group",
            "nobody first": "nothing is prioritised",
            STRIDE: "index stride alone in place of both",
            JUGGLE: "juggle alone in place of both",
        },
    ),
)
