"""Virtual time."""

from __future__ import annotations

import asyncio

import pytest

from fff.simulation.loop import Deadlock, VirtualLoop, run


def test_hours_pass_at_once_and_in_order():
    order = []

    async def wait(seconds: float) -> None:
        await asyncio.sleep(seconds)
        order.append((asyncio.get_running_loop().time(), seconds))

    async def main() -> float:
        await asyncio.gather(wait(7200.0), wait(0.5), wait(3600.0))
        return asyncio.get_running_loop().time()

    assert run(main) == 7200.0
    assert order == [(0.5, 0.5), (3600.0, 3600.0), (7200.0, 7200.0)]


def test_a_deadlock_is_an_error_and_leaves_nothing_behind():
    ended = []

    async def for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def main() -> None:
        await asyncio.sleep(3)
        await asyncio.gather(for_ever(), for_ever())

    with pytest.raises(Deadlock):
        run(main)
    assert ended == [True, True]


def test_code_can_take_time_and_what_is_due_meanwhile_comes_after():
    async def main() -> list[tuple[str, float]]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        seen: list[tuple[str, float]] = []
        loop.call_later(1.0, lambda: seen.append(("due", loop.time())))
        loop.spend(2.5)
        seen.append(("worked", loop.time()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return seen

    assert run(main) == [("worked", 2.5), ("due", 2.5)]
