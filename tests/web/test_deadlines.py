"""What is under way is given up in time, by one timer for all of it; what is done once in a turn of the loop, or several."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping

import pytest

from fff.simulation.loop import run
from fff.web.clock import Coalescer, Deadline, Deadlines, FoundTogether, OnceATurn


def test_each_ends_at_its_own_time_and_moves_on_its_own() -> None:
    async def moving(deadlines: Deadlines, seconds: float, moves: tuple[float, ...]) -> None:
        """Moves at some times, then never again; idle for no longer than two seconds."""
        with Deadline(deadlines, seconds) as deadline:
            for at in moves:
                await asyncio.sleep(at - asyncio.get_running_loop().time())
                deadline.moved(2.0, more=0.25)
            await asyncio.sleep(1000)

    async def given_up_after(deadlines: Deadlines, seconds: float, *moves: float) -> float:
        with pytest.raises(TimeoutError):
            await moving(deadlines, seconds, moves)
        return asyncio.get_running_loop().time()

    async def main() -> list[float]:
        deadlines = Deadlines()
        try:
            return await asyncio.gather(
                given_up_after(deadlines, 5.0),
                given_up_after(deadlines, 3.0),
                given_up_after(deadlines, 5.0, 1.0),  # idle
                given_up_after(deadlines, 5.0, 1.0, 2.5, 4.0),  # a quarter of a second more with each
            )
        finally:
            deadlines.close()

    assert run(main) == pytest.approx([5.0, 3.0, 3.0, 5.75])


def test_a_cancellation_from_outside_is_none_in_time() -> None:
    async def main() -> tuple[list[object], bool]:
        deadlines = Deadlines()

        async def late() -> None:
            with Deadline(deadlines, 1.0):
                await asyncio.sleep(1000)

        tasks = [asyncio.create_task(late()) for _ in range(2)]
        await asyncio.sleep(0.5)
        tasks[0].cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        return [type(one) for one in ended], bool(deadlines.open)

    assert run(main) == ([asyncio.CancelledError, TimeoutError], False)


def test_what_is_looked_up_is_so_once_in_each_turn_of_a_loop() -> None:
    looks = 0

    def look() -> int:
        nonlocal looks
        looks += 1
        return looks

    now = OnceATurn(look)

    async def asked() -> list[int]:
        one, other = now(), now()
        await asyncio.sleep(0)
        return [one, other, now()]

    assert run(asked) == [1, 1, 2]
    assert run(asked) == [3, 3, 4], "what a loop has left unsaid is not of the next one"


def test_what_is_asked_for_in_one_turn_is_found_with_one_look() -> None:
    looks: list[list[int]] = []

    def look(some: Collection[int]) -> dict[int, str]:
        looks.append([*some])
        if 0 in some:
            raise ValueError("no zeros")
        return {one: str(one) for one in some if one < 5}

    together = FoundTogether(look)

    async def asked(*groups: list[int]) -> list[Mapping[int, str] | BaseException]:
        return await asyncio.gather(*map(together.find, groups), return_exceptions=True)

    assert run(lambda: asked([1, 2], [2, 9])) == [{1: "1", 2: "2"}] * 2
    assert looks == [[1, 2, 9]]
    assert [type(one) for one in run(lambda: asked([0], [3]))] == [ValueError, ValueError], "each is told"

    async def given_up() -> Mapping[int, str]:
        first = asyncio.ensure_future(together.find([3]))
        await asyncio.sleep(0)
        first.cancel()
        return await together.find([4])

    assert run(given_up)[4] == "4", "whoever waits no longer is in nobody's way"
    run(lambda: _left(together))
    assert run(lambda: asked([1]))[0] == {1: "1"}, "what a loop has left is not of the next one"


async def _left(together: FoundTogether[int, str]) -> None:
    asyncio.ensure_future(together.find([3]))  # noqa: RUF006 - which the end of the loop cancels
    await asyncio.sleep(0)


def test_what_comes_in_turns_that_follow_one_another_is_taken_together() -> None:
    taken: list[list[int]] = []
    turns = Coalescer(taken.append, enough=4)

    async def come(*numbers: int, apart: int) -> None:
        for number in numbers:
            turns.add(number)
            for _ in range(apart):
                await asyncio.sleep(0)
        await asyncio.sleep(1)

    run(lambda: come(1, 2, 3, apart=3))
    assert taken == [[1, 2, 3]], "some turns without any are no end"
    run(lambda: come(4, 5, apart=9))
    assert taken[1:] == [[4], [5]], "more are"
    run(lambda: come(6, 7, 8, 9, 10, apart=1))
    assert taken[3:] == [[6, 7, 8, 9], [10]], "and so are as many as are enough"


def test_what_is_here_waits_for_none_of_the_turns_in_which_much_else_is_done() -> None:
    turn, waited = 0, dict[int, int]()

    def take(came: list[int]) -> None:
        waited.update((at, turn - at) for at in came)

    async def main() -> None:
        nonlocal turn
        turns = Coalescer(take, enough=64)
        for turn in range(30):
            turns.add(turn)
            time.sleep(0.015)  # noqa: ASYNC251 - as a large answer is read
            await asyncio.sleep(0)
        await asyncio.sleep(0.1)

    asyncio.run(main())
    assert max(waited.values()) <= 2
    assert len(waited) == 30
