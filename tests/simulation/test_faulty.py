"""Whole statements over sources that answer as they should not: DuckDB's bag, or a run that says it is not whole."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.simulation.faulty_web import JOINS, SHAPES, check

FIRST = int(os.environ.get("FFF_FUZZ_SEED", "0"))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_few_random_statements(part: int) -> None:
    for seed in range(FIRST + 4 * part, FIRST + 4 * part + 4):
        check(seed, JOINS)
        check(seed, SHAPES)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_random_statements(part: int) -> None:
    seen = Counter[str]()
    for seed in range(FIRST + 1000 + 100 * part, FIRST + 1100 + 100 * part):
        for statements in (JOINS, SHAPES):
            found = check(seed, statements)
            if found is not None:
                seen["complete" if found[1].outcome.complete else "partial"] += 1
                seen["rows"] += found[1].rows.total() > 0
    assert min(seen.values()) > 20, seen
