"""Random queries against the oracle, under every semantics, policy and batch size (I7), with and without faults.

`FFF_FUZZ_SEED` is the first seed, `FFF_FUZZ_COUNT` the number of queries of the long run. A failure prints its own seed:
`python -m tests.fuzz SEED` replays it.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fff.dataflow import arrays, columns, missing, scans
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.routing import right_sides, router
from fff.dataflow.store import code_table, domains, index, stem
from fff.dataflow.store.stem import SteM
from fff.structs import replace
from tests.fuzz.broken_probers import PROBERS
from tests.fuzz.cases import Case, case
from tests.fuzz.core import make_core, make_forgetting, make_merging, make_spilling
from tests.fuzz.generate import Instance, Knobs
from tests.fuzz.oracle import by_duckdb
from tests.fuzz.recursion import recurring
from tests.fuzz.reference import ReferenceEddy
from tests.fuzz.shrink import failure, shrink
from tests.fuzz.variants import more_access, turned
from tests.fuzz.watch import Watcher
from tests.fuzz.world import EddyLike, MakeEddy, Run, Wrong, play, random_run, verdict
from tests.sampling import every

QUICK = 30
QUICK_PARTS = 5
COUNT = int(os.environ.get("FFF_FUZZ_COUNT", "20000"))
PARTS = 40
FIRST = int(os.environ.get("FFF_FUZZ_SEED", "0"))
DUCKDB_SHARE = 20  # one case in so many is put to DuckDB too, which costs as much as a run


def check(found: Case, make: MakeEddy, *, faults: float = 0.3, both: bool = True) -> int:
    """Every run of a case; how many there were."""
    count = 0
    for run in found.runs(faults=faults, both=both):
        count += 1
        try:
            verdict(found.instance, run, play(found.instance, run, make), found.expected)
        except Wrong as wrong:
            pytest.fail(
                f"seed {found.seed}\n{wrong}\n\nmade small:\n{made_small(found.instance, run, make)}",
                pytrace=False,
            )
    return count


def made_small(instance: Instance, run: Run, make: MakeEddy) -> str:
    return (
        shrink(instance, run, make)
        if failure(instance, run, make)
        else "it does not fail again: not deterministic"
    )


def check_duckdb(found: Case) -> None:
    assert by_duckdb(found.instance) == found.expected, found.instance.describe()


@pytest.mark.parametrize("part", range(QUICK_PARTS))
def test_every_run_gives_the_oracles_bag(part: int) -> None:
    size = QUICK // QUICK_PARTS
    for seed in range(FIRST + part * size, FIRST + (part + 1) * size):
        found = case(seed)
        check(found, make_core, both=seed % 3 == 0)
        if seed % DUCKDB_SHARE == 0:
            check_duckdb(found)


@pytest.mark.parametrize("count", every(2, [8, 25]))
def test_who_waits_for_a_scan_goes_to_lookups_and_back(count: int) -> None:
    """Scans that stall and lookups that fail send tuples in front of right sides to and fro (P44)."""
    knobs = Knobs(right=1.0, aliases=(1, 2), scannable=0.6, max_rows=8)
    for seed in range(FIRST, FIRST + count):
        found = case(seed, knobs)
        for run in found.runs(faults=0.0, both=False):
            changed = replace(run, stalls=0.3, fail_lookups=0.4, fail_scans=0.4 * (seed % 2), page_rows=1)
            verdict(found.instance, changed, play(found.instance, changed, make_core), found.expected)


@pytest.mark.parametrize("count", [10, pytest.param(400, marks=pytest.mark.slow)])
def test_right_sides_that_inequalities_join(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are shown step by step, in parts of a batch, of several runs (P44)."""
    knobs = Knobs(right=1.0, unlinked=0.9, aliases=(1, 1, 2), max_rows=8)
    for seed in range(FIRST, FIRST + count):
        for module in (right_sides, router):
            monkeypatch.setattr(module, "PROBE_PAIRS", 5 if seed % 2 else 1 << 20)
        check(case(seed, knobs), make_core, both=seed % 3 == 0)


@pytest.mark.parametrize("count", [10, pytest.param(120, marks=pytest.mark.slow)])
def test_windows_release_spare_and_are_missing_by_themselves(count: int) -> None:
    """EOT of a predicate: windows that end, windows that fail, beside lookups that fail and scans that stall."""
    for seed in range(FIRST, FIRST + count):
        found = case(seed, Knobs(right=seed % 2, aliases=(1, 2, 3), scannable=0.7, max_rows=8))
        for run in found.runs(faults=0.0, both=False):
            alone = replace(run, windows=1.0, fail_windows=0.4)
            for one in (replace(run, windows=1.0), alone, replace(alone, fail_lookups=0.3, stalls=0.2)):
                verdict(found.instance, one, play(found.instance, one, make_core), found.expected)


@pytest.mark.parametrize("count", [3, pytest.param(150, marks=pytest.mark.slow)])
def test_who_of_several_scans_reads_on_changes_nothing(count: int) -> None:
    """Nobody races, all do, any do and pause, or as the default says under each preference; any latency, any fault."""
    knobs = Knobs(second_scan=0.8, scannable=0.9)
    for seed in range(FIRST, FIRST + count):
        found = case(seed, knobs)
        for run in found.runs(faults=1.0, both=False):
            for who, policy in (
                ("", "fixed"),
                ("all", run.policy),
                ("some", run.policy),
                ("", "adaptive"),
                ("", "adaptive fast"),
            ):
                changed = replace(run, scans=who, policy=policy, ticks=0.3)
                verdict(found.instance, changed, play(found.instance, changed, make_core), found.expected)


@pytest.fixture(scope="module")
def long_seed() -> int:
    """The first seed of the long run; the head of the test run prints it, so that it can be had again."""
    return int(os.environ["FFF_FUZZ_LONG_SEED"])


@pytest.mark.slow
def test_rows_that_results_make_come_level_by_level() -> None:
    for seed in range(FIRST, FIRST + 60):
        check(recurring(seed), make_core)


@pytest.mark.parametrize("count", [6, pytest.param(150, marks=pytest.mark.slow)])
def test_answers_that_come_merged_change_nothing(count: int) -> None:
    for seed in range(count):
        check(case(2_000_000 + seed), make_merging)


@pytest.mark.parametrize("count", [6, pytest.param(150, marks=pytest.mark.slow)])
def test_what_only_large_tables_do_changes_nothing(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that stay apart, hash tables that grow while they are used, indexes on several columns, runs."""
    for module, name in (
        (arrays, "_LARGE"),
        (columns, "_CHUNK_ROWS"),
        (columns, "_COMPARED"),
        (code_table, "_MOVED_AT_ONCE"),
        (code_table, "_NEAR_ROOM"),
        (stem, "_CANDIDATES"),
        (stem, "_CANDIDATES_EACH"),
        (index, "_SETTLE_ROWS"),
        (index, "_SETTLE_REPEATS"),
    ):
        monkeypatch.setattr(module, name, 1 if name.startswith("_SETTLE") else 0)
    for seed in range(count):
        check(case(3_000_000 + seed), make_core)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("count", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_tables_that_leave_memory_change_nothing(
    count: int, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:  # chunks stay apart, and indexes are in runs
        monkeypatch.setattr(arrays, "_LARGE", 0)
        monkeypatch.setattr(index, "_SETTLE_ROWS", 1)
        monkeypatch.setattr(index, "_SETTLE_REPEATS", 1)
    for seed in range(count):
        check(case(4_000_000 + seed), make_spilling)


@pytest.mark.parametrize("count", [6, pytest.param(400, marks=pytest.mark.slow)])
def test_rows_that_only_probe_are_let_go_and_change_nothing(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = 0
    forget = SteM.forget

    def counted(self: SteM, below: int) -> None:
        nonlocal gone
        gone += 1
        forget(self, below)

    monkeypatch.setattr(SteM, "forget", counted)
    for seed in range(count):
        check(case(5_000_000 + seed, PROBERS), make_forgetting)
    assert gone > count // 4, "rows went"


#: Found by the long run: a scan died whose rows had then to be looked up by the keys of scans that waited for it; and,
#: where routing always went first, wishes, ticks and stalls gave it more to do without end; and two scans that had both failed
#: had brought all of a table together, and who waited for its EOT was given up without a word.
@pytest.mark.parametrize(
    "seed",
    [756367062483, 56944604706, 22004704, 12048435, pytest.param(943495997870, marks=pytest.mark.slow)],
)
def test_what_was_wrong_once(seed: int) -> None:
    check(case(seed), make_core)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_random_queries(part: int, long_seed: int) -> None:
    runs = 0
    for number in range(part, COUNT, PARTS):
        found = case(long_seed + number)
        runs += check(found, make_core)
        if number % DUCKDB_SHARE == 0:
            check_duckdb(found)
    assert runs >= 2 * (COUNT // PARTS), "both semantics ran on every query"


def reference(plan: BlockPlan, run: Run) -> EddyLike:
    return ReferenceEddy(plan, run.seed, window=run.window)


@pytest.mark.slow
def test_the_reference_gives_the_oracles_bag() -> None:
    for seed in range(FIRST, FIRST + 80):
        check(case(seed), reference, faults=1.0)


@pytest.mark.slow
def test_an_added_access_method_changes_nothing() -> None:
    """I9."""
    rng = random.Random(FIRST)
    changed = 0
    for seed in range(FIRST, FIRST + 40):
        found = case(seed)
        for instance in more_access(found.instance, rng):
            changed += 1
            check(Case(seed, instance), make_core, faults=0.0)
            assert Case(seed, instance).expected == found.expected
    assert changed > 60


@pytest.mark.parametrize("count", [12, pytest.param(400, marks=pytest.mark.slow)])
def test_the_order_of_aliases_says_nothing(count: int) -> None:
    """Right sides before what they are joined with, with LIMIT and faults too."""
    rng = random.Random(FIRST)
    first = 0
    for seed in range(FIRST, FIRST + count):
        found = case(seed, Knobs(right=1.0, aliases=(1, 2, 2, 3)))
        instance = turned(found.instance)
        first += instance.plan.aliases[0].kind != "inner"
        for faults in (False, True):
            run = random_run(rng, semantics=rng.choice(["parked", "paper"]), faults=faults)
            run = replace(run, watch=False)  # which asks the oracle about parts of the plan
            verdict(instance, run, play(instance, run, make_core), found.expected)
    assert first > count // 2


@pytest.mark.parametrize("seed", [3, 14, 15, 92, 65])
def test_the_same_seed_gives_the_same_itinerary(seed: int) -> None:
    for once, again in zip(case(seed).runs(faults=1.0), case(seed).runs(faults=1.0), strict=True):
        assert once == again
        first = play(case(seed).instance, once, make_core)
        second = play(case(seed).instance, again, make_core)
        assert first.itinerary() == second.itinerary()
        assert first.finish == second.finish


@pytest.mark.parametrize("count", every(2, [24, 80]))
def test_a_limit_that_is_reached_leaves_nothing_missing(count: int) -> None:
    """LIMIT with faults: n rows are the whole answer, whatever else failed; fewer are a partial one."""
    rng = random.Random(FIRST)
    reached = 0
    for seed in range(FIRST, FIRST + count):
        found = case(seed, Knobs(scannable=0.3, constants=0.0, aliases=(2, 3)))
        run = random_run(rng, semantics=rng.choice(["parked", "paper"]), faults=False)
        run = replace(
            run, limit=rng.randint(0, 4), fail_lookups=0.4, fail_scans=0.2, cancel_at=rng.choice([None, 9])
        )
        outcome = play(found.instance, run, make_core)
        verdict(found.instance, run, outcome, found.expected)
        reached += outcome.finish.reason == "limit"
    assert reached > count // 4


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that only large inputs reach, so low that small ones do: parts of probes, runs in indexes, hash collisions."""
    monkeypatch.setattr(router, "PROBE_PAIRS", 3)
    monkeypatch.setattr(scans, "HELD_TUPLES", 2)
    monkeypatch.setattr(missing, "MISSING_LISTED", 1)
    monkeypatch.setattr(index, "_SETTLE_ROWS", 2)
    monkeypatch.setattr(index, "_SETTLE_REPEATS", 1)
    monkeypatch.setattr(index, "_LINK_ROUNDS", 1)
    right = domains.fingerprints
    monkeypatch.setattr(domains, "fingerprints", lambda values: right(values) & 1)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.slow
def test_low_limits_change_nothing() -> None:
    for seed in range(FIRST, FIRST + 50):
        check(case(seed), make_core)
    for seed in range(FIRST, FIRST + 25):
        check(case(seed, Knobs(typed=1.0, kinds=("string",), nulls=0.15)), make_core)


@pytest.mark.slow
def test_watching_sees_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open values and partial rows are told of often enough for their soundness to mean something."""
    watchers: list[Watcher] = []
    right = Watcher.__init__

    def noted(self: Watcher, *arguments: Any) -> None:
        right(self, *arguments)
        watchers.append(self)

    monkeypatch.setattr(Watcher, "__init__", noted)
    wishes = 0
    for seed in range(FIRST, FIRST + 30):
        found = case(seed)
        for run in found.runs(faults=0.5):
            watched = replace(run, watch=True, prioritize=0.1)
            outcome = play(found.instance, watched, make_core)
            verdict(found.instance, watched, outcome, found.expected)
            wishes += sum(line.startswith("Prioritize") for line in outcome.itinerary())
    assert wishes > 50
    assert sum(watcher.answers for watcher in watchers) > 200
    assert sum(watcher.partial for watcher in watchers) > 500
    assert sum(watcher.tuples for watcher in watchers) > 500


@pytest.mark.slow
def test_hash_randomisation_changes_nothing() -> None:
    """The itinerary of a seed is the same in another process with other hashes of strings."""
    told = [
        subprocess.run(
            [sys.executable, "-m", "tests.fuzz", "31"],
            env={**os.environ, "PYTHONHASHSEED": salt},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
            text=True,
            timeout=120,
        ).stdout
        for salt in ("1", "2")
    ]
    assert told[0] == told[1]
    assert "Emit" in told[0]


def test_the_generator_reaches_what_matters() -> None:
    """Every feature that pitfalls hide in is common enough to be met in a quick run."""
    met = Counter(feature for seed in range(FIRST, FIRST + 300) for feature in features(case(seed).instance))
    for feature, least in LEAST.items():
        assert met[feature] >= least, f"{feature}: only {met[feature]} of 300"


LEAST = {
    "self-join": 60,
    "passive alias": 120,
    "competing scans": 40,
    "scan and lookup": 60,
    "several lookups": 60,
    "two-column lookup": 40,
    "seeded alias": 20,
    "constant in a lookup key": 5,
    "selection module": 40,
    "predicate over several aliases": 40,
    "cycle": 80,
    "cross product": 10,
    "left join": 30,
    "semi join": 15,
    "anti join": 12,
    "right side of a right side": 4,
    "WHERE over NULLs of a left join": 8,
    "ON over the tuple alone": 10,
    "duplicate rows": 80,
    "NULL": 200,
    "NaN": 20,
    "negative zero": 10,
    "string": 20,
    "key identity": 20,
    "value identity": 150,
    "position identity": 150,
}


def features(instance: Instance) -> set[str]:
    """What an instance contains, by the names above."""
    plan, values = instance.plan, [value for rows in instance.rows for row in rows for value in row]
    lookups = [lookup for table in plan.tables for lookup in table.lookups]
    linked = sum(len({member.alias for member in group.members}) - 1 for group in plan.equalities)
    inner = sum(alias.kind == "inner" for alias in plan.aliases)
    found = {f"{table.identity} identity" for table in plan.tables}
    tests = {
        "self-join": len(plan.tables) < len(plan.aliases),
        "passive alias": not all(alias.active for alias in plan.aliases),
        "competing scans": any(len(table.scans) > 1 for table in plan.tables),
        "scan and lookup": any(table.scans and table.lookups for table in plan.tables),
        "several lookups": any(len(table.lookups) > 1 for table in plan.tables),
        "two-column lookup": any(len(lookup.columns) > 1 for lookup in lookups),
        "seeded alias": any(alias.seeds for alias in plan.aliases),
        "constant in a lookup key": any(
            any(column in lookup.columns for column, _ in alias.constants)
            and any(column not in lookup.columns or len(lookup.columns) > 1 for column, _ in alias.constants)
            for alias in plan.aliases
            for lookup in plan.tables[alias.table].lookups
        ),
        "selection module": any(predicate.module for predicate in plan.predicates),
        "predicate over several aliases": any(len(predicate.aliases) > 1 for predicate in plan.predicates),
        "cycle": linked > inner - 1,
        "cross product": linked < inner - 1,
        **{
            f"{kind} join": any(alias.kind == kind for alias in plan.aliases)
            for kind in ("left", "semi", "anti")
        },
        "right side of a right side": any(
            plan.aliases[other.alias].kind == "left" for alias in plan.aliases for _, other in alias.links
        ),
        "WHERE over NULLs of a left join": any(
            predicate.on is None and any(plan.aliases[alias].kind == "left" for alias in predicate.aliases)
            for predicate in plan.predicates
        ),
        "ON over the tuple alone": any(
            predicate.on is not None and predicate.on not in predicate.aliases
            for predicate in plan.predicates
        ),
        "duplicate rows": any(len(set(map(repr, rows))) < len(rows) for rows in instance.rows),
        "NULL": None in values,
        "NaN": any(value != value for value in values),  # noqa: PLR0124 - the test for NaN
        "negative zero": any(repr(value) == "-0.0" for value in values),
        "string": any(isinstance(value, str) for value in values),
    }
    return found | {name for name, true in tests.items() if true}
