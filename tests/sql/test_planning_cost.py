"""What a join of many aliases costs before, beside and behind its rows: steps of the engine's code are counted, not time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pytest

import fff
from benchmarks.planning import SHAPES, tables_of
from fff.execution import RunOptions
from fff.simulation.run import run_statement

ENGINE = str(Path(fff.__file__).parent)
#: Lines of the engine that a run over one row a table may take with 24 aliases, and how they may grow with the aliases.
MOST = 3_000_000
EXPONENT = 2.4


def steps(call: Callable[[], object]) -> int:
    """How many lines of the engine are executed."""
    count = 0

    def line(frame: FrameType, event: str, argument: object) -> Callable[..., object]:
        nonlocal count
        count += event == "line"
        return line

    def begun(frame: FrameType, event: str, argument: object) -> Callable[..., object] | None:
        return line if frame.f_code.co_filename.startswith(ENGINE) else None

    before = sys.gettrace()
    sys.settrace(begun)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "shape",
    [
        "chain of lookups",
        *(
            pytest.param(shape, marks=pytest.mark.slow)
            for shape in ("star", "chain", "clique", "star of lookups")
        ),
    ],
)
def test_a_join_of_many_aliases_costs_about_what_its_text_and_its_hops_do(shape: str) -> None:
    query, access = SHAPES[shape]

    def run(aliases: int) -> Callable[[], object]:
        def whole() -> None:
            found = run_statement(query(aliases), tables_of(aliases, access), options=RunOptions(seed=1))
            assert found.outcome.complete
            assert found.rows == pa.table({"a": [1], "b": [1]})

        return whole

    run(3)()  # what is made on first use
    few, many = steps(run(12)), steps(run(24))
    assert many <= MOST
    assert many <= few * 2**EXPONENT
