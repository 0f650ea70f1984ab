"""Of many cases of one kind a few for the fast tests; the others are slow ones, which CI runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """Each `step`-th case, from the first on, stays a fast one: a choice over all of the list."""
    return every_row(step, ((case,) for case in cases))


def every_row(step: int, cases: Iterable[Sequence[Any]]) -> list[Any]:
    """As `every`, of cases that are values of several parameters."""
    return [
        pytest.param(*case, marks=[pytest.mark.slow] * bool(number % step))
        for number, case in enumerate(cases)
    ]
