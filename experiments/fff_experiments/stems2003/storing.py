"""SteMs 2003, sections 3.5 and 6: tables that are not stored, SteMs of several tables, rows that go."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest
from fff_experiments.statemodules.chain import ChainCounts, ChainRules, Link, StoredChain, every_result

LARGE, SMALL = 10_000, 200
EACH, FEW = 2_000, 500
FAN_OUTS = (0.5, 1.0, 2.0, 4.0)
BUILT, UNBUILT, LETS_GO = "all are built", "R is unbuilt", "R goes once S and T are whole"
N_ARY, PAIRS, EVICTING = "one table each", "and one for two tables", "rows without a match go"


@dataclass(frozen=True)
class _Ran:
    counts: ChainCounts
    right: bool

    @property
    def row(self) -> tuple[object, ...]:
        one = self.counts
        return (
            len(one.results),
            "right" if self.right else "WRONG",
            one.probes,
            one.builds,
            one.held,
            one.evicted,
        )


def _tables(seed: int, sizes: Sequence[int], keys: int) -> list[list[Link]]:
    rng = random.Random(seed)
    return [[(rng.randrange(keys), rng.randrange(keys)) for _ in range(size)] for size in sizes]


def _run(tables: Sequence[Sequence[Link]], rules: ChainRules, *, slow: bool = False) -> _Ran:
    """Each scan brings a row at a time, or, if slow, all end together."""
    most = max(map(len, tables))
    every = [most / len(rows) if slow else 1.0 for rows in tables]
    due = sorted(
        (place * every[table], table) for table, rows in enumerate(tables) for place in range(len(rows))
    )
    counts = StoredChain(tables, rules).run([table for _, table in due])
    return _Ran(counts, sorted(counts.results) == every_result(tables))


def _unbuilt(trial: TrialRequest) -> Findings:
    sizes = [trial.some(size, 20) for size in (SMALL, LARGE, SMALL)]
    tables = _tables(trial.seed, sizes, sizes[0])
    middle = frozenset({1})
    broken = {
        "no LastMatchTimeStamp": ChainRules(unbuilt=middle, last_match=False),
        "gone": ChainRules(unbuilt=middle, stays=False),
        "two unbuilt": ChainRules(unbuilt=middle | {2}),
    }
    rules = {BUILT: ChainRules(), UNBUILT: ChainRules(unbuilt=middle), LETS_GO: ChainRules(lets_go=1)}
    rules[UNBUILT] = broken.get(trial.control, rules[UNBUILT])
    if trial.control == "kept":
        rules[LETS_GO] = rules[BUILT]
    slow = trial.control == "slow"
    runs = {name: _run(tables, one, slow=slow) for name, one in (rules | broken).items()}
    built, unbuilt, lets_go = (runs[name] for name in (BUILT, UNBUILT, LETS_GO))
    held = [one.counts.held for one in (built, unbuilt, lets_go)]
    probes = [one.counts.probes for one in (built, unbuilt, lets_go)]
    return Findings(
        columns=("stored", "results", "", "probes", "builds", "held at most", "evicted"),
        rows=tuple((name, *one.row) for name, one in runs.items()),
        panels=(
            Panel(
                "what is held, by the size of R",
                "rows of R",
                "rows held at most",
                tuple(_by_size(trial, name, rules[name], slow=slow) for name in (BUILT, UNBUILT, LETS_GO)),
            ),
        ),
        checks=(
            Check(
                "LastMatchTimeStamp makes repeated probes of an unbuilt row harmless",
                "every result once, and by rows that go as well",
                f"{unbuilt.row[1]}, {lets_go.row[1]}",
                passed=unbuilt.right and lets_go.right,
            ),
            Check(
                "a large table need not be stored",
                "what is held is a quarter of what it is where all tables are built, at most",
                f"{held[1]:,} and {held[0]:,}",
                passed=4 * held[1] <= held[0],
            ),
            Check(
                "the engine's form of it, rows that go, does with less",
                "no more held, and no more probes than where all are built, where unbuilt rows probe again",
                f"{held[2]:,} held, {probes[2]:,} probes; unbuilt {held[1]:,} and {probes[1]:,}",
                passed=held[2] <= held[1] and probes[2] <= probes[0] < probes[1],
            ),
        ),
        notes=(
            (
                f"S, R and T are a chain; R has {sizes[1]:,} rows, S and T {sizes[0]:,} each, with keys at random; all scans bring a row at "
                "a time. An unbuilt row probes again when 50 more rows are in a SteM, and when it is whole. What waits to probe again is held."
            ),
            "*no LastMatchTimeStamp*, *gone* (after the first probe) and *two unbuilt* break the rules, and are wrong.",
        ),
    )


def _by_size(trial: TrialRequest, name: str, rules: ChainRules, *, slow: bool) -> Curve:
    small, large = trial.some(SMALL, 20), trial.some(LARGE, 20)
    sizes = [round(large * share) for share in (0.1, 0.4, 0.7, 1.0)]
    held = [
        _run(_tables(trial.seed, (small, size, small), small), rules, slow=slow).counts.held for size in sizes
    ]
    return Curve(name, sizes, held)


def _several(trial: TrialRequest) -> Findings:
    each, few = trial.some(EACH, 100), trial.some(FEW, 25)
    rules = {
        N_ARY: ChainRules(),
        PAIRS: ChainRules(pairs=trial.control != "no pairs"),
        EVICTING: ChainRules(evicts=trial.control != "kept", by_eot=trial.control != "early"),
    }
    runs: dict[tuple[str, float, bool], _Ran] = {}
    for fan_out in FAN_OUTS:
        for uneven in (False, True):
            tables = _tables(trial.seed, (each, few if uneven else each, each, each), round(each / fan_out))
            for name, one in rules.items():
                runs[name, fan_out, uneven] = _run(tables, one)
    least, most = FAN_OUTS[0], FAN_OUTS[-1]

    def share(name: str, what: str, fan_out: float, *, uneven: bool = False) -> float:
        mine, plain = (runs[one, fan_out, uneven].counts for one in (name, N_ARY))
        if what == "work":
            return (mine.probes + mine.builds) / (plain.probes + plain.builds)
        return float(getattr(mine, what) / getattr(plain, what))

    work = [share(PAIRS, "work", fan_out) for fan_out in FAN_OUTS]
    held = [share(PAIRS, "held", fan_out) for fan_out in FAN_OUTS]
    gone = [share(EVICTING, what, least, uneven=True) for what in ("held", "probes")]
    wrong = [name for (name, *_), one in runs.items() if not one.right]
    return Findings(
        columns=("SteMs", "fan-out", "S", "results", "", "probes", "builds", "held at most", "evicted"),
        rows=tuple(
            (name, fan_out, few if uneven else each, *one.row)
            for (name, fan_out, uneven), one in runs.items()
        ),
        panels=tuple(
            Panel(
                title,
                "fan-out",
                "beside SteMs of one table",
                tuple(
                    Curve(what, FAN_OUTS, [share(name, what, one, uneven=uneven) for one in FAN_OUTS])
                    for what in ("probes", "held")
                ),
                log_x=True,
            )
            for title, name, uneven in (
                ("SteMs of two tables", PAIRS, False),
                ("rows without a match go, S small", EVICTING, True),
            )
        ),
        checks=(
            Check(
                "SteMs of several tables spare probes",
                f"at most half of them with a fan-out of {most:g}",
                f"{share(PAIRS, 'probes', most):.0%}",
                passed=share(PAIRS, "probes", most) <= 0.5,
            ),
            Check(
                "but make work where rows have one match or fewer",
                "probes and builds together are more than those without; with more matches fewer",
                ", ".join(f"{one:.2f}" for one in work),
                passed=all((one > 1) == (fan_out <= 1) for one, fan_out in zip(work, FAN_OUTS, strict=True)),
            ),
            Check(
                "and cost memory by arithmetic, a greater share than they spare of the work",
                "1 + fan-out / 2 of what else is held, within 3 %",
                f"{', '.join(f'{one:.3f}' for one in held)} times",
                passed=all(
                    abs(one / (1 + fan_out / 2) - 1) <= 0.03 and 1 - done < one - 1
                    for one, done, fan_out in zip(held, work, FAN_OUTS, strict=True)
                ),
            ),
            Check(
                "rows without a match in a small table need not be held",
                f"with a fan-out of {least:g} at most 0.6 of what else is held, by at most 0.7 of the probes",
                f"{gone[0]:.2f}, {gone[1]:.2f}",
                passed=gone[0] <= 0.6 and gone[1] <= 0.7,
            ),
            Check(
                "what goes is found by nobody, once EOT says that no match will come",
                "every result once, with and without",
                f"{len(runs) - len(wrong)} of {len(runs)} runs are right",
                passed=not wrong,
            ),
        ),
        notes=(
            (
                f"R, S, T and U are a chain of {each:,} rows each, or {few} of S; keys are at random, so that a row of one has as many "
                "matches in the next as the fan-out says; all scans bring a row at a time. What two tables join to has SteMs for R and S, "
                "and for T and U: beside the rows of four tables twice as many tuples as a table has rows, times the fan-out."
            ),
        ),
    )


EXPERIMENTS = (
    Experiment(
        "S-8",
        "a table that is not stored",
        "SteMs 2003, section 3.5",
        "one shared CPU",
        "A table that is much larger than the others need not be built into a SteM. Its rows probe again until the other SteMs are "
        "whole, and LastMatchTimeStamp keeps them from meeting a row twice.",
        _unbuilt,
        {
            "no LastMatchTimeStamp": "unbuilt rows meet what they have met",
            "gone": "unbuilt rows go after their first probe of a SteM",
            "two unbuilt": "R and T are unbuilt",
            "slow": "all scans end together",
            "kept": "the engine keeps the rows of R",
        },
    ),
    Experiment(
        "S-9",
        "SteMs of several tables, and eviction",
        "SteMs 2003, sections 2.3 and 6",
        "one shared CPU",
        "Intermediate results that are stored spare probes and take memory; rows that cannot be in a result need not be held.",
        _several,
        {
            "no pairs": "there are no SteMs of two tables",
            "kept": "nothing is evicted",
            "early": "rows go when they find no match, without EOT",
        },
    ),
)
