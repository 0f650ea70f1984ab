"""An eddy whose books are checked when its test is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.dataflow.blocks import Play


@pytest.fixture
def play() -> Iterator[Callable[..., Play]]:
    """Makes plays (an eddy and what came out of it); afterwards each must account for every tuple."""
    made: list[Play] = []

    def make(*args: object, **options: object) -> Play:
        made.append(Play(*args, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    assert made, "a test of the eddy that made none"
    for item in made:
        item.eddy.validate()
        repeated = [ids for ids, count in item.ids.items() if count > 1]
        assert not repeated, f"the same rows made two results (I1): {repeated}"
