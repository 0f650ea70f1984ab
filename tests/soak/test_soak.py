"""Days of the soak, few and many: the answer is DuckDB's or says what it lacks, whatever the network does, byte by byte."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.soak.broken import BROKEN_PATHS, BrokenPath
from tests.soak.day import day
from tests.soak.pairs import in_pairs
from tests.soak.play import go
from tests.soak.tally import CORES, DAYS, PAGE, PARTS, Tally, core_name, page_of, parts_of, share_of_path

FIRST = int(os.environ.get("FFF_SOAK_SEED") or "0")


def test_a_few_days() -> None:
    tally = Tally()
    for seed in range(FIRST + 1, FIRST + 5):
        assert not tally.one(seed), seed
    assert tally.runs > 2


#: Seeds of which a day was wrong until the code was mended, and what was.
ONCE_WRONG = {
    700119631: "ended by the memory limit when all was read and not joined: not whole, and nothing was missing",
    700007629: "a statement that one mirror's failure ended left the other, which lacked rows, to the session as whole",
    1280000059: "a server that refused most requests at random was asked ever less: no end within six hours",
    700119952: "a row that came again when the table changed was in a partial answer without a word",
}


@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_days_that_were_wrong_once(seed: int) -> None:
    assert not Tally().one(seed), ONCE_WRONG[seed]


@pytest.mark.slow
def test_one_seed_is_one_day() -> None:
    for seed in (3, 8):
        first, again = go(day(seed)), go(day(seed))
        assert first is not None
        assert again is not None
        assert first.network.log == again.network.log
        assert [run.rows for run in first.runs] == [run.rows for run in again.runs]


def test_the_page_says_what_is_run() -> None:
    text = PAGE.read_text()
    parts = parts_of(text)
    assert page_of(parts) == text, "python -m tests.soak writes it"
    for part, names in (
        ("path", [broken.name for broken in BROKEN_PATHS]),
        ("core", list(map(core_name, CORES))),
    ):
        lines = parts[part].splitlines()
        assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == names, (
            "--controls measures them"
        )
        assert not [line for line in lines if " 0.0 % " in line], "each is noticed"


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_many_days(part: int) -> None:
    """Some ten minutes of one core in all, always of the same seeds, which were all well once; `make soak` has no end."""
    tally = Tally()
    for seed in range(FIRST + part + 1, FIRST + part + DAYS + 1):
        tally.one(seed)
    assert not tally.wrong, tally.wrong
    seen: Counter[str] = tally.seen
    assert min(seen["complete"], seen["partial"]) > 30, seen
    assert seen["left"] > 0
    assert sum(kind.startswith("struck by") for kind in seen) > 15, seen


@pytest.mark.slow
def test_days_in_pairs() -> None:
    for seed in range(FIRST + 2000, FIRST + 2012):
        assert not in_pairs(day(seed)), seed


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN_PATHS, ids=lambda broken: broken.name)
def test_a_broken_path_is_noticed(broken: BrokenPath) -> None:
    assert share_of_path(broken, 1).noticed
