"""The fault matrix: no answer that counts as complete may be another than the source's, but where nobody could tell.

`python -m tests.faults PATTERN` runs single cells and shows what FFF said; docs/faults.md is the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from fff.execution import Execution
from fff.web.types import Outgoing
from tests.faults import cells as matrix
from tests.faults.behaviour import Behaviour
from tests.faults.behaviours import BEHAVIOURS
from tests.faults.cells import Cell, Graded, Secure, bench, cells, fails, grade_all
from tests.faults.page import FILE, page_of, row_of, rows_in
from tests.faults.site import DIALECTS
from tests.faults.unnoticeable import UNNOTICEABLE, reason_of

GROUPS = tuple(dict.fromkeys(one.group for one in BEHAVIOURS))
#: Waits in earnest, for a time that is too short to be any, but not for the fast tests.
SLOW = ("stalls in the middle", "a next page for ever, all empty", "a bomb of gzip")


def wrong(graded: list[Graded]) -> list[str]:
    """What should not be, as lines to replay."""
    return [
        f"{one.grade}: {one.cell.name}: {' '.join(one.said.split())[:200]}"
        for one in graded
        if fails(one) and reason_of(one.cell) is None
    ]


def few(group: str) -> Iterator[Cell]:
    """Of the behaviours of a group in turn a scan and a lookup, over one paginator after the other."""
    for number, behaviour in enumerate(BEHAVIOURS):
        if behaviour.group == group and behaviour.name not in SLOW:
            found = list(cells((behaviour,)))
            kinds = (("scan", "mirror"), ("lookup", "batch"))[number % 2]
            some = [cell for cell in found if cell.world.access in kinds] or found
            yield some[number * 7 % len(some)]


@pytest.mark.parametrize("group", GROUPS)
async def test_one_cell_of_some_behaviours(group: str) -> None:
    assert not wrong(await grade_all(list(few(group))[::8]))


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda one: one.name)
async def test_every_cell(behaviour: Behaviour) -> None:
    graded = await grade_all(list(cells((behaviour,))))
    assert not wrong(graded)
    for entry in UNNOTICEABLE:
        covered = [one for one in graded if entry.covers(one.cell)]
        assert not covered or any(one.grade == "silent" for one in covered), f"noticed by now: {entry}"
    assert row_of(behaviour, graded) == rows_in(FILE.read_text(encoding="utf-8")).get(behaviour.name), (
        "make faults writes docs/faults.md anew"
    )


def test_the_page_is_of_these_behaviours() -> None:
    text = FILE.read_text(encoding="utf-8")
    rows = rows_in(text)
    assert {one.name for one in BEHAVIOURS} <= rows.keys(), "make faults writes docs/faults.md anew"
    assert page_of(rows) == text, "make faults writes docs/faults.md anew"


@pytest.mark.slow
def test_behaviours_have_names_of_their_own_and_cells() -> None:
    counts = Counter(one.name for one in BEHAVIOURS)
    assert max(counts.values()) == 1, counts.most_common(3)
    assert not [one.name for one in BEHAVIOURS if not any(cells((one,)))]
    assert {cell.world.dialect.name for cell in cells()} == {one.name for one in DIALECTS}


def test_what_nobody_could_notice_is_of_known_behaviours() -> None:
    known = {one.name for one in BEHAVIOURS}
    assert {name for entry in UNNOTICEABLE for name in entry.behaviours} <= known


def one(name: str) -> Cell:
    [cell] = [cell for cell in cells() if cell.name == name]
    return cell


ORDINARY = "an ordinary source | page_number, rows | scan | json | no key"


async def test_a_lost_row_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Execution.batches

    async def short(self: Execution):
        async for batch in whole(self):
            yield batch.slice(1)

    monkeypatch.setattr(Execution, "batches", short)
    [graded] = await grade_all([one(ORDINARY)])
    assert graded.grade == "silent"
    assert "lost, 0 too many" in graded.said


async def test_many_requests_are_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "MOST_REQUESTS", 3)
    [graded] = await grade_all([one(ORDINARY)])
    assert graded.grade == "endless"


async def test_an_error_of_ours_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Execution) -> None:
        raise KeyError("page")

    monkeypatch.setattr(Execution, "batches", broken)
    [graded] = await grade_all([one(ORDINARY)])
    assert graded.grade == "crash"


async def test_what_is_sent_in_the_open_is_noted() -> None:
    async with bench() as on:
        secure = Secure(on.server.url)
        for scheme in ("https", "http"):
            await secure.send(Outgoing("GET", f"{scheme}://faults.invalid/nothing"))
        await secure.close()
    assert secure.in_the_open == ["http://faults.invalid/nothing"]
