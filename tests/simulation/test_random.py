"""Whole statements over random sources in virtual time: the bag that DuckDB finds, whatever is slow, fails, stalls or is raced.

Nothing may wait for ever either: what would is a `Deadlock` there. `random_web.py` says what a seed stands for.
"""

from __future__ import annotations

import collections
import os
from collections.abc import Callable

import pytest

from fff.access import table_buffer
from fff.access.shared_scan import SharedPages
from fff.catalog import Page
from fff.dataflow.lookups.lookups import Lookups
from fff.simulation.loop import Deadlock
from tests.simulation.random_web import JOINS, SHAPES, Run, check, go, weather

FIRST = int(os.environ.get("FFF_FUZZ_SEED", "0"))


def every(first: int, count: int) -> list[Run]:
    """A statement of one block and one of several, with and without faults, for each seed."""
    runs = [
        check(weather(seed, statements, faults=faults))
        for seed in range(first, first + count)
        for statements in (JOINS, SHAPES)
        for faults in (False, True)
    ]
    return [run for run in runs if run is not None]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 2))
def test_a_few_random_statements(seed: int) -> None:
    assert every(seed, 1)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_many_random_statements(part: int) -> None:
    runs = every(FIRST + 100 + 25 * part, 25)
    seen = collections.Counter[str]()
    for run in runs:
        outcome = run.outcomes[0]
        seen["raced"] += run.hedged > 0
        seen["partial"] += not outcome.complete
        seen["recovered"] += outcome.complete and bool(run.source.harmed)
        seen["in a session"] += len(run.rows) > 1
    assert len(runs) > 80
    assert all(seen[kind] for kind in ("raced", "partial", "recovered", "in a session")), seen


def test_one_seed_is_one_run() -> None:
    for statements in (JOINS, SHAPES):
        chosen = weather(FIRST + 8, statements, faults=True)
        first, again = go(chosen), go(chosen)
        assert first is not None
        assert again is not None
        assert first.trace == again.trace
        assert first.rows == again.rows


def unmarked(right: Callable[..., Page]) -> Callable[..., Page]:
    """Answers that are cut do not say so."""
    return lambda rows, truncated=None, *more: right(rows, None, *more)


def unanswered(*arguments: object) -> None:
    """Nobody is told of pages that have come."""


#: What is broken, and what the harness says of it.
BROKEN: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], type[BaseException], str]] = {
    "cut answers count as whole": (
        lambda patching: patching.setattr("tests.simulation.random_web.Page", unmarked(Page)),
        AssertionError,
        "too little",
    ),
    "an answer for several blocks serves the first": (
        lambda patching: patching.setattr(
            table_buffer, "rows_having", lambda rows, columns, keys: rows.slice(0, 0)
        ),
        AssertionError,
        "too little",
    ),
    "readers sleep on": (
        lambda patching: patching.setattr(SharedPages, "_tell", unanswered),
        Deadlock,
        "nothing is runnable",
    ),
    "a request that fails has answered": (
        lambda patching: patching.setattr(
            Lookups,
            "_keys_failed",
            lambda self, *failed: self.router.release(*failed, [len(failed[2])], [0.0]),
        ),
        AssertionError,
        "too little",
    ),
}


#: A seed soon after which each of them matters.
TELLING = 39


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_noticed(name: str) -> None:
    patch, kind, symptom = BROKEN[name]
    with pytest.MonkeyPatch.context() as patching:
        patch(patching)
        with pytest.raises(kind, match=symptom):
            every(TELLING, 20)
