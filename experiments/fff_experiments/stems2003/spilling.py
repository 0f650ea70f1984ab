"""SteMs 2003, section 3.1: join algorithms by what SteMs do with memory that ends, and how often builds bounce."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import e

from fff.simulation.recorder import Steps
from fff.structs import replace
from fff_experiments.experiment import Check, Experiment, Findings, Panel, TrialRequest
from fff_experiments.statemodules.machine import PAGE_ROWS, PAGE_S, SEEK_S, Joined
from fff_experiments.statemodules.partitions import PARTITIONS, Interleaving, PartitionedJoin
from fff_experiments.statemodules.tournament import sort_merge
from fff_experiments.stems2003.sources import curve

ROWS, INTERVAL_S = 10_000, 1e-3
#: Of all rows, what memory holds; and of the partitions those that a hybrid hash join keeps there.
MEMORY, KEPT = 0.3, 9
EVERY = (0.025, 0.05, 0.1, 0.25, 0.5)
PAGED, SWITCH, GRACE, HYBRID = "symmetric hash, paged", "symmetric hash, then Grace", "Grace", "hybrid hash"
SORT, OFTEN = "sort-merge", "Grace, often at first"

_JOINS = (
    "*Symmetric hash, paged* probes at once and reads a page for each probe of a partition on the disk. *Symmetric hash, then "
    "Grace* starts as a symmetric hash join; when memory ends the largest partitions leave it, and builds to these bounce late, "
    f"by partition. *Hybrid hash* keeps {KEPT} partitions in memory. *Grace, n times*: what waits bounces n times in all. *Often "
    f"at first*: after {EVERY[0]:.1%} of the builds, then each time after twice as many."
)
_ENGINE = (
    "This is the paper's simulation of join algorithms, with what a disk of its day costs, and no part of the engine, whose rows go "
    "to mapped files ([how a block is executed](execution.md#memory))."
)


def _setting(rows: int) -> str:
    return (
        f"R and S have {rows:,} rows each with keys at random, a row of each comes every {INTERVAL_S * 1e3:.0f} ms. Memory holds "
        f"{MEMORY:.0%} of all rows; SteMs have {PARTITIONS} partitions, a page {PAGE_ROWS} rows; a seek takes {SEEK_S * 1e3:.0f} ms, a "
        f"page {PAGE_S * 1e3:.1f} ms."
    )


def _tables(trial: TrialRequest) -> list[list[int]]:
    rng, rows = random.Random(trial.seed), trial.some(ROWS, 1000)
    made = [[rng.randrange(rows) for _ in range(rows)] for _ in range(2)]
    return [sorted(keys, reverse=True) for keys in made] if trial.control == "descending" else made


def _how(trial: TrialRequest, rows: int) -> Mapping[str, Interleaving]:
    made = {
        PAGED: Interleaving(late=False),
        SWITCH: Interleaving(),
        GRACE: Interleaving(0),
        HYBRID: Interleaving(KEPT),
        OFTEN: Interleaving(0, every=round(EVERY[0] * 2 * rows), growing=2.0),
        **{_named(share): Interleaving(0, every=round(share * 2 * rows)) for share in EVERY},
        "in turn": Interleaving(0, in_turn=True),
    }
    if trial.control == "in order":
        return {name: replace(how, clustered=False) for name, how in made.items()}
    if trial.control == "no timestamps":
        return {name: replace(how, timestamps=False) for name, how in made.items()}
    if trial.control == "steady":
        made[OFTEN] = replace(made[OFTEN], growing=1.0)
    if trial.control == "never":
        made[SWITCH] = made[PAGED]
    if trial.control == "at once":
        made[GRACE] = made[HYBRID] = made[PAGED]
    return made


def _named(share: float) -> str:
    return f"Grace, {round(1 / share)} times"


def _spilled(trial: TrialRequest) -> Findings:
    tables = _tables(trial)
    rows = len(tables[0])
    memory = 2 * rows if trial.control == "memory" else round(MEMORY * 2 * rows)
    joins = {name: PartitionedJoin(how, memory) for name, how in _how(trial, rows).items()}
    runs = {name: join.run(tables, INTERVAL_S) for name, join in joins.items()}
    runs[SORT] = sort_merge(tables, INTERVAL_S, memory)
    in_turn = runs.pop("in turn")
    scanned = rows * INTERVAL_S
    full = joins[SWITCH].switched or scanned
    shown = (PAGED, SWITCH, HYBRID, GRACE, SORT)
    often = [*map(_named, EVERY), GRACE]
    return Findings(
        columns=("join", "first result [s]", "results at half of the scans", "all [s]", "pages", "seeks"),
        rows=tuple(
            (name, min(one.times, default=one.end), one.by(scanned / 2), one.end, one.pages, one.seeks)
            for name, one in runs.items()
        ),
        panels=tuple(
            Panel(
                title,
                "time [s]",
                "results",
                tuple(
                    curve(name, Steps.of((time, 1) for time in sorted(runs[name].times)), 2 * scanned)
                    for name in names
                ),
            )
            for title, names in (
                ("what SteMs do when memory ends", shown),
                ("how often builds of a partition bounce", (*often, OFTEN)),
            )
        ),
        checks=(
            *_of_memory(runs, joins[SWITCH].switched, full, scanned),
            *_of_routing(runs, in_turn, often, tables),
        ),
        notes=(_setting(rows), _JOINS, _ENGINE),
    )


def _of_memory(
    runs: Mapping[str, Joined], switched: float | None, full: float, scanned: float
) -> tuple[Check, ...]:
    paged, switch, grace, hybrid = (runs[name] for name in (PAGED, SWITCH, GRACE, HYBRID))
    return (
        Check(
            "until memory ends the switch is a symmetric hash join: interactive",
            "as many results then as by symmetric hash; Grace has none before the scans end",
            f"after {full:.1f} s {switch.by(full)} and {paged.by(full)}; Grace {grace.by(scanned)}",
            passed=switched is not None and 0 < switch.by(full) == paged.by(full) and not grace.by(scanned),
        ),
        Check(
            "from then on it is as cheap as Grace",
            "all results no later than Grace's + 5 %, in at most half the time of symmetric hash",
            f"{switch.end:.1f} s, {grace.end:.1f} s and {paged.end:.1f} s",
            passed=switch.end <= 1.05 * grace.end and switch.end <= 0.5 * paged.end,
        ),
        Check(
            "hybrid hash keeps some partitions in memory: results early and fewer pages",
            "results before the scans end, where Grace has none, and at most 0.9 of its pages",
            f"{hybrid.by(scanned)} and {grace.by(scanned)}, {hybrid.pages:,} and {grace.pages:,} pages",
            passed=grace.by(scanned) == 0 < hybrid.by(scanned) and hybrid.pages <= 0.9 * grace.pages,
        ),
        Check(
            "bounced by partition, probes have locality",
            "Grace is done within a quarter of the scans after them",
            f"{grace.end - scanned:.1f} s",
            passed=grace.end <= 1.25 * scanned,
        ),
    )


def _of_routing(
    runs: Mapping[str, Joined], in_turn: Joined, often: Sequence[str], tables: Sequence[Sequence[int]]
) -> tuple[Check, ...]:
    firsts = [min(runs[name].times) for name in often]
    pages = [runs[name].pages for name in often]
    early, sort, grace = runs[OFTEN], runs[SORT], runs[GRACE]
    by_key: dict[int, list[int]] = {}
    for place, key in enumerate(tables[1]):
        by_key.setdefault(key, []).append(place)
    wanted = sorted((place, other) for place, key in enumerate(tables[0]) for other in by_key.get(key, ()))
    same = sum(sorted(one.pairs) == wanted for one in (*runs.values(), in_turn))
    first, tree = sort.runs[0] if sort.runs else 0, sort.held / 2
    return (
        Check(
            "frequent probes give results early, occasional ones cost less",
            "the less often builds bounce, the later the first result and the fewer pages",
            f"{', '.join(f'{one:.2f}' for one in firsts)} s; {', '.join(f'{one:,}' for one in pages)} pages",
            passed=all(one < two for one, two in pairwise(firsts))
            and all(one > two for one, two in pairwise(pages)),
        ),
        Check(
            "the eddy may begin with frequent probes and go over to occasional ones while it runs",
            "first result as early as with the most frequent, all results no later than Grace's + 5 %",
            f"{min(early.times):.2f} s and {firsts[0]:.2f} s; {early.end:.1f} s and {grace.end:.1f} s",
            passed=min(early.times) <= firsts[0] and early.end <= 1.05 * grace.end,
        ),
        Check(
            "the interleaving of builds and probes is harmless",
            f"each of {len(runs) + 1} joins finds every pair once",
            f"{same} do",
            passed=same == len(runs) + 1,
        ),
        Check(
            "where all of R is built before S, minimum timestamps spare its probes (step 4)",
            f"no row of R probes: {len(tables[0]):,} probes in all, and as many spared",
            f"{in_turn.probes:,} and {in_turn.skipped:,}",
            passed=in_turn.skipped == len(tables[0]) == in_turn.probes,
        ),
        Check(
            "tournament trees that spill runs simulate sort-merge",
            "the first run has e - 1 times the rows of the tree (Knuth), within 5 %; all results no later than Grace's + 10 %",
            f"{first:,} rows by a tree of {tree:,.0f}; {sort.end:.1f} s and {grace.end:.1f} s",
            passed=abs(first / tree - (e - 1)) <= 0.05 * (e - 1) and sort.end <= 1.1 * grace.end,
        ),
    )


EXPERIMENTS = (
    Experiment(
        "S-7",
        "symmetric hash, Grace, hybrid hash and sort-merge as SteMs",
        "SteMs 2003, section 3.1",
        "one shared CPU",
        "Which join is simulated is a matter of the SteM, which bounces builds at once or later by partition, and of the "
        "routing, which probes often or seldom. So the eddy can go over from symmetric hash to Grace while the query runs.",
        _spilled,
        {
            "in order": "builds bounce in the order they came, not by partition",
            "no timestamps": "any row finds any other, whichever came first",
            "steady": "what begins with frequent probes goes on with them",
            "never": "the switch does not happen: pages are read for each probe",
            "at once": "builds of Grace and hybrid hash bounce at once",
            "memory": "memory for everything",
            "descending": "both tables come by descending keys",
        },
    ),
)
