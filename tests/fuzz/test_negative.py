"""Negative controls: a harness that finds nothing may be blind. Every broken rule below must be noticed, and soon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

import pytest

from fff.dataflow.plan.events import LookupEnd, ScanEnd, ScanRows, Start
from fff.dataflow.plan.plan import BlockPlan
from fff.structs import replace
from tests.fuzz.broken import BROKEN, Broken, two_ways_in
from tests.fuzz.broken_parts import BROKEN_PARTS
from tests.fuzz.broken_probers import BROKEN_PROBERS
from tests.fuzz.broken_right_sides import BROKEN_RIGHT_SIDES
from tests.fuzz.broken_rules import CASES, FAILING, RULE_KNOBS
from tests.fuzz.broken_waiting import BROKEN_WAITING
from tests.fuzz.cases import Case, case
from tests.fuzz.core import make_core, make_forgetting
from tests.fuzz.generate import Knobs
from tests.fuzz.oracle import arrow_rows, by_duckdb
from tests.fuzz.reference import ReferenceEddy, Rules
from tests.fuzz.shrink import failure, shrink
from tests.fuzz.world import EddyLike, MakeEddy, Run, Wrong


def first_wrong(make: MakeEddy, cases: Callable[[int], Case], **changes: object) -> tuple[Case, Run, Wrong]:
    """The first case and run that the harness objects to."""
    for found, run in _runs(cases, changes):
        wrong = failure(found.instance, run, make)
        if wrong is not None:
            return found, run, wrong
    pytest.fail(f"not noticed within {CASES} cases")


def _runs(cases: Callable[[int], Case], changes: dict[str, object]) -> Iterator[tuple[Case, Run]]:
    for seed in range(CASES):
        found = cases(seed)
        for run in found.runs(faults=0.0):
            yield found, replace(run, **changes)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken",
    [*BROKEN, *BROKEN_WAITING, *BROKEN_RIGHT_SIDES, *BROKEN_PARTS, *BROKEN_PROBERS],
    ids=lambda broken: broken.name,
)
def test_a_broken_core_is_noticed(broken: Broken) -> None:
    make: MakeEddy = make_forgetting if broken in BROKEN_PROBERS else make_core
    with pytest.MonkeyPatch.context() as patching:
        broken.breaks(patching)
        found, run, wrong = first_wrong(make, broken.case, **broken.run)
    assert broken.symptom in str(wrong).splitlines()[0]
    assert failure(found.instance, run, make) is None, "the same run goes well with the rule intact"


@pytest.mark.slow
@pytest.mark.parametrize("rule", [rule.name for rule in fields(Rules)])
def test_a_broken_reference_is_noticed(rule: str) -> None:
    def broken(plan: BlockPlan, run: Run) -> EddyLike:
        return ReferenceEddy(plan, run.seed, Rules(**{rule: True}), window=run.window)

    def whole(plan: BlockPlan, run: Run) -> EddyLike:
        return ReferenceEddy(plan, run.seed, window=run.window)

    def cases(seed: int) -> Case:
        return two_ways_in(seed) if rule == "seed_only_active" else case(seed, RULE_KNOBS.get(rule, Knobs()))

    changes: dict[str, object] = {"fail_lookups": 0.5} if rule in FAILING else {}
    found, run, _ = first_wrong(broken, cases, **changes)
    assert failure(found.instance, run, whole) is None, "the same run goes well with the rule intact"


def test_the_hand_made_instance_is_right() -> None:
    found = two_ways_in(0)
    assert by_duckdb(found.instance) == found.expected
    assert found.expected


def test_a_scan_that_miscounts_is_refused() -> None:
    """I5."""
    found = case(1)
    eddy = make_core(found.instance.plan, Run(1))
    eddy.handle(Start())
    eddy.handle(ScanRows(0, 0, arrow_rows(found.instance, 0)))
    with pytest.raises(AssertionError, match="EOT"):
        eddy.handle(ScanEnd(0, 0, len(found.instance.rows[0]) + 1))


def test_a_lookup_that_miscounts_is_refused() -> None:
    """I5."""
    eddy = make_core(two_ways_in(0).instance.plan, Run(1))
    eddy.handle(Start())
    with pytest.raises(AssertionError, match="EOT"):
        eddy.handle(LookupEnd(0, 1))


def test_shrinking_keeps_the_failure_and_drops_the_rest() -> None:
    broken = next(item for item in BROKEN if item.name == "no alias ordinal")
    with pytest.MonkeyPatch.context() as patching:
        broken.breaks(patching)
        found, run, _ = first_wrong(make_core, broken.case)
        report = shrink(found.instance, run, make_core)
    assert "I7" in report
    assert report.count("\n    (") <= 2, report  # a row that joins with itself is all it takes
