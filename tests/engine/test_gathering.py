"""Statements that begin in one moment, in virtual time: whose ranges are read as one, and how batches are filled."""

from __future__ import annotations

import asyncio
import gc
import itertools
import weakref
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from fff.access.gathering import Gathering, settled
from fff.access.session_cache import AccessStore, Use
from fff.budget import Budget
from fff.catalog import Table
from fff.errors import SourceError
from fff.quals import Qual
from fff.schema import Field
from tests.engine.sharing import ALL, World, of
from tests.web import simulated

Bounds = dict[str, tuple[object, object]]


def between(kind: str = "int", **bounds: tuple[object, object]) -> Table:
    """The table, as one statement reads it: columns from and to these values."""
    quals = [
        Qual(name, operator, value)
        for name, ends in bounds.items()
        for operator, value in zip(("<=", ">="), reversed(ends), strict=True)
        if value is not None
    ]
    return Table("web", "t", (Field.of("a", kind), Field.of("b", kind)), quals=tuple(quals))


def together(*tables: Table, after: Sequence[float] = ()) -> list[tuple[Qual, ...]]:
    """The qualifiers under which each reads, where they begin so many seconds from now."""

    async def main() -> list[tuple[Qual, ...]]:
        gathering, all_here = Gathering(), asyncio.Barrier(len(tables))

        async def begin(table: Table, wait: float) -> tuple[Qual, ...]:
            await asyncio.sleep(wait)
            async with gathering.joined(table, [table]):
                quals = gathering.wider(table, "web.t", table.quals)
                await all_here.wait()
            assert gathering.wider(table, "web.t", ()) == ()
            return quals

        waits = after or [0.0] * len(tables)
        return await asyncio.gather(*map(begin, tables, waits))

    return simulated.run(main())  # type: ignore[no-any-return]


JOINED: dict[str, tuple[list[Table], list[Table]]] = {
    "overlap": (
        [between(a=(1, 5)), between(a=(4, 9))],
        [between(a=(1, 9))] * 2,
    ),
    "adjoin": (
        [between(a=(1, 5)), between(a=(6, 9))],
        [between(a=(1, 9))] * 2,
    ),
    "by a third": (
        [between(a=(1, 3)), between(a=(7, 9)), between(a=(2, 8))],
        [between(a=(1, 9))] * 3,
    ),
    "inside": (
        [between(a=(1, None)), between(a=(3, 4)), between(a=(None, None))],
        [between()] * 3,
    ),
    "apart": (
        [between(a=(1, 3)), between(a=(5, 9)), between(a=(2, 3))],
        [between(a=(1, 3)), between(a=(5, 9)), between(a=(1, 3))],
    ),
    "in another column": (
        [between(a=(1, 5), b=(0, 1)), between(a=(4, 9), b=(0, 2))],
        [between(a=(1, 5), b=(0, 1)), between(a=(4, 9), b=(0, 2))],
    ),
    "in one of two columns": (
        [between(a=(1, 5), b=(0, 1)), between(a=(4, 9), b=(0, 1))],
        [between(a=(1, 9), b=(0, 1))] * 2,
    ),
    "floats, which may be apart": (
        [between("double", a=(1.0, 5.0)), between("double", a=(4.0, 9.0))],
        [between("double", a=(1.0, 5.0)), between("double", a=(4.0, 9.0))],
    ),
}


@pytest.mark.parametrize("case", JOINED)
def test_ranges_become_one_where_nothing_more_is_read(case: str) -> None:
    tables, expected = JOINED[case]
    assert list(map(set, together(*tables))) == [set(table.quals) for table in expected]


def test_who_comes_later_waits_for_nobody_who_has_begun() -> None:
    early, late, latest = between(a=(1, 5)), between(a=(2, 6)), between(a=(3, 7))
    first, *others = together(early, late, latest, after=[0.0, 0.1, 0.101])
    assert first == early.quals
    assert set(others[0]) == set(others[1]) == set(between(a=(2, 7)).quals)


def test_who_goes_while_waiting_holds_nobody_up() -> None:
    async def main() -> None:
        gathering, tables = Gathering(), [between(a=(n, n + 5)) for n in range(3)]

        async def begin(table: Table) -> None:
            async with gathering.joined(table, [table]):
                pass

        tasks = [asyncio.create_task(begin(table)) for table in tables]
        await asyncio.sleep(0.001)
        tasks[0].cancel()
        await asyncio.gather(*tasks[1:])
        assert tasks[0].cancelled()

    simulated.run(main())


def world(main: Callable[[World], Coroutine[Any, Any, None]]) -> World:
    async def inside() -> World:
        made = World(keep=True)
        await main(made)
        return made

    return simulated.run(inside())  # type: ignore[no-any-return]


def test_a_statement_that_can_gain_nothing_does_not_wait() -> None:
    async def main() -> None:
        store, table = AccessStore(keep=True), between()
        now = asyncio.get_running_loop().time
        began = now()
        for uses in ([], [Use(0, table, World().source, ("a",))]):
            async with store.gathered(object(), uses):
                assert now() == began

    simulated.run(main())


def test_statements_fill_batches_of_three_together() -> None:
    async def main(made: World) -> None:
        leases = [made.lease("ab") for _ in range(4)]
        wanted = [(0, 1), (1, 2), (3, 4), (5,)]
        rows = await asyncio.gather(
            *(made.ask(lease, 0, *keys) for lease, keys in zip(leases, wanted, strict=True))
        )
        assert rows == [of(*keys) for keys in wanted]

    made = world(main)
    assert made.meter.requests == 2
    assert set(made.source.keys.values()) == {1}


@pytest.mark.parametrize("requests", [None, 2])
def test_blocks_of_a_statement_fill_batches_of_three_together_and_take_no_time(requests: int | None) -> None:
    budget = Budget.of(requests, None)

    async def main(made: World) -> None:
        lease = made.lease(*["ab"] * 7)
        rows = await asyncio.gather(*(made.ask(lease, block, block % 6, budget=budget) for block in range(7)))
        assert rows == [of(block % 6) for block in range(7)]
        assert asyncio.get_running_loop().time() == 0

    made = world(main)
    assert len(made.source.asked) == 2
    assert set(made.source.keys.values()) == {1}


def test_blocks_that_want_few_rows_fill_no_batch_whose_pages_bring_those_of_others() -> None:
    async def main(made: World) -> None:
        made.source.answer_page = 1
        lease = made.lease("ab", "ab", "ab")
        rows = await asyncio.gather(
            *(made.ask(lease, block, block, eager=False, stop=1) for block in range(3))
        )
        assert rows == [ALL[block : block + 1] for block in range(3)]

    assert len(world(main).source.asked) == 3


def test_pages_of_a_batch_are_handed_on_as_they_come() -> None:
    async def main(made: World) -> None:
        made.source.answer_page = 1
        lease = made.lease("ab", "ab")
        whole = asyncio.create_task(made.ask(lease, 0, 0))
        assert await made.ask(lease, 1, 1, stop=2) == of(1)[:1]
        assert made.meter.requests < 6
        assert await whole == of(0)
        assert len(made.source.asked) == 1

    world(main)


def test_a_batch_that_fails_after_some_pages_is_asked_for_apart_and_no_row_comes_twice() -> None:
    async def main(made: World) -> None:
        made.source.answer_page = 2
        made.source.fault = lambda what: SourceError("no") if what == (2, [(0,), (1,)]) else None
        lease = made.lease("ab", "ab")
        rows = await asyncio.gather(made.ask(lease, 0, 0), made.ask(lease, 1, 1))
        assert rows == [of(0), of(1)]
        assert len(made.source.asked) == 3

    world(main)


def test_once_answers_to_a_batch_come_in_pages_blocks_of_a_statement_ask_apart() -> None:
    """One page after another: those of several requests come side by side."""

    async def main(made: World) -> None:
        made.source.answer_page = 2
        lease = made.lease("ab", "ab")
        for keys, asked in (((0, 1), 1), ((2, 3), 3)):
            await asyncio.gather(*(made.ask(lease, block, key) for block, key in enumerate(keys)))
            assert len(made.source.asked) == asked

    world(main)


def test_who_waits_without_a_pause_does_so_for_three_turns_of_the_loop_however_long_each_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> int:
        looks, clock = itertools.count(), itertools.count(step=0.02)
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: float(next(clock)))

        def count() -> int:
            next(looks)
            return 1

        await settled(count, every=0.0)
        return next(looks)

    assert simulated.run(main()) == 4


def test_who_leaves_a_batch_takes_no_key_of_others_along() -> None:
    async def main(made: World) -> None:
        leases = [made.lease("ab") for _ in range(3)]
        opener = asyncio.create_task(made.ask(leases[0], 0, 0))
        await asyncio.sleep(0.001)
        other = asyncio.create_task(made.ask(leases[1], 0, 1))
        await asyncio.sleep(0.001)
        opener.cancel()
        assert await other == of(1)
        assert made.meter.requests == 1
        alone = asyncio.create_task(made.ask(leases[1], 0, 2))
        await asyncio.sleep(0.001)
        alone.cancel()
        assert await made.ask(leases[2], 0, 2, 3) == of(2, 3), (
            "one of its keys was asked for, one joins that batch"
        )
        left = asyncio.create_task(made.ask(leases[1], 0, 4))
        await asyncio.sleep(0.001)
        left.cancel()
        await asyncio.sleep(0)
        assert await made.ask(leases[2], 0, 5) == of(5), "into a batch that nobody waits for goes nothing"

    made = world(main)
    assert made.meter.requests == 3
    assert made.source.keys[4,] == 0
    assert made.source.open == 0


def test_a_batch_that_was_left_before_it_was_sent_is_forgotten_with_who_paid_for_it() -> None:
    async def main(made: World) -> None:
        lease, budget = made.lease("ab", "ab"), Budget(9)
        known = weakref.ref(budget)
        asking = asyncio.create_task(made.ask(lease, 0, 0, budget=budget))
        del budget
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        lease.close()
        del asking
        await asyncio.sleep(1)
        gc.collect()
        assert made.meter.requests == 0
        assert known() is None

    world(main)


def test_who_has_a_budget_fills_no_batch_and_one_statement_waits_for_nobody() -> None:
    async def main(made: World) -> None:
        now = asyncio.get_running_loop().time
        first = made.lease("ab")
        await made.ask(first, 0, 0)
        second = made.lease("ab")
        await made.ask(second, 0, 1, budget=Budget(9))
        assert now() == 0
        await made.ask(second, 0, 2)
        assert now() > 0

    assert world(main).meter.requests == 2


def test_a_batch_that_fails_fails_for_all_who_are_in_it() -> None:
    async def main(made: World) -> None:
        made.source.fault = lambda _: SourceError("no")
        leases = [made.lease("ab") for _ in range(2)]
        asked = (made.ask(lease, 0, key) for key, lease in enumerate(leases))
        ends = await asyncio.gather(*asked, return_exceptions=True)
        assert [getattr(end, "reason", end) for end in ends] == ["no", "no"]
        made.source.fault = lambda _: None
        assert await made.ask(leases[0], 0, 0, 1) == of(0, 1)

    world(main)


def test_a_batch_that_its_source_refuses_is_asked_for_apart_by_each_for_its_own_keys() -> None:
    refused: list[int] = []

    def fault(keys: object) -> Exception | None:
        assert isinstance(keys, Sequence)
        refused.append(len(keys))
        return SourceError(f"no such key: {sorted(keys)}") if (1,) in keys else None

    async def main(made: World) -> None:
        made.source.fault = fault
        leases = [made.lease("ab") for _ in range(3)]
        asked = (made.ask(lease, 0, key) for key, lease in enumerate(leases))
        first, second, third = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(second, SourceError)
        assert (first, second.reason, third) == (of(0), "no such key: [(1,)]", of(2))

    assert world(main).meter.requests == 2
    assert refused == [3, 1, 1, 1]


@pytest.mark.parametrize("cut", [False, True])
def test_keys_of_a_batch_that_failed_are_asked_for_apart_once_for_all_who_want_just_them(cut: bool) -> None:
    async def main(made: World) -> None:
        if cut:
            made.source.truncated = "as far as 100 rows"
        else:
            made.source.fault = lambda keys: SourceError("no") if (2,) in keys else None  # type: ignore[operator]
        lease = made.lease(*["ab"] * 5)
        wanted = [1, 1, 2, 1, 2]
        ends = await asyncio.gather(
            *(made.ask(lease, block, key) for block, key in enumerate(wanted)), return_exceptions=True
        )
        good = [of(1) if key == 1 or cut else None for key in wanted]
        assert [None if isinstance(end, Exception) else of(1) for end in ends] == good
        assert len(made.source.asked) == 3

    world(main)


def test_once_a_batch_has_failed_blocks_of_a_statement_ask_apart() -> None:
    async def main(made: World) -> None:
        made.source.fault = lambda keys: SourceError("no") if len(keys) > 1 else None  # type: ignore[arg-type]
        lease = made.lease("ab", "ab")
        for keys, asked in (((0, 1), 3), ((2, 3), 5)):
            rows = await asyncio.gather(*(made.ask(lease, block, key) for block, key in enumerate(keys)))
            assert rows == [of(key) for key in keys]
            assert len(made.source.asked) == asked

    world(main)


def test_a_batch_that_is_cut_is_asked_for_apart_too() -> None:
    async def main(made: World) -> None:
        made.source.truncated = "as far as 100 rows"
        leases = [made.lease("ab") for _ in range(2)]
        await asyncio.gather(*(made.ask(lease, 0, key) for key, lease in enumerate(leases)))
        assert made.source.keys == {(0,): 2, (1,): 2}

    assert world(main).meter.requests == 3
