"""What requests take."""

from __future__ import annotations

import asyncio
import random
import statistics

import pytest

from fff.simulation.loop import run
from fff.simulation.service import (
    FixedTime,
    HeavyTail,
    LogNormal,
    OneProcessor,
    Phases,
    RandomFailures,
    Server,
    Stall,
    Uniform,
)


def drawn(latency, count=4000, now=0.0):
    rng = random.Random(1)
    return [latency.seconds(now, rng) for _ in range(count)]


def test_the_distributions_are_what_they_say():
    assert set(drawn(FixedTime(2.0))) == {2.0}
    uniform = drawn(Uniform(1.0, 3.0))
    assert 1.0 <= min(uniform) < 1.01
    assert 2.99 < max(uniform) <= 3.0
    assert statistics.mean(uniform) == pytest.approx(2.0, abs=0.05)
    assert statistics.median(drawn(LogNormal(0.2, 1.0))) == pytest.approx(0.2, rel=0.06)
    assert statistics.mean(drawn(LogNormal(0.2, 1.0))) > 0.3
    heavy = drawn(HeavyTail(0.1, 1.5))
    assert min(heavy) >= 0.1
    assert max(heavy) > 5.0
    assert statistics.mean(heavy) == pytest.approx(0.3, rel=0.2)


def test_phases_take_turns_at_their_times():
    latency = Phases(((0.0, FixedTime(1.0)), (30.0, FixedTime(5.0)), (60.0, FixedTime(0.5))))
    rng = random.Random(1)
    assert [latency.seconds(now, rng) for now in (0.0, 29.9, 30.0, 59.0, 1e6)] == [1.0, 1.0, 5.0, 5.0, 0.5]
    with pytest.raises(AssertionError):
        Phases(((1.0, FixedTime(1.0)),))


def ends(server, count):
    """When each of so many requests that come at time 0 ends."""

    async def one(made) -> float:
        async with made.line:
            await made.serve()
        return asyncio.get_running_loop().time()

    async def main():
        made = server()
        return await asyncio.gather(*(one(made) for _ in range(count)))

    return run(main)


def test_a_server_serves_so_many_at_once_and_keeps_the_line():
    assert ends(lambda: Server(FixedTime(2.0), asyncio.Semaphore(2), (), None, random.Random(1)), 5) == [
        2.0,
        2.0,
        4.0,
        4.0,
        6.0,
    ]


def test_a_stall_holds_what_is_under_way_and_what_comes_in_it():
    stalls = (Stall(3.0, 10.0),)
    # The second is under way for 1 s when the stall begins; the third begins after it.
    assert ends(lambda: Server(FixedTime(2.0), asyncio.Semaphore(1), stalls, None, random.Random(1)), 3) == [
        2.0,
        14.0,
        16.0,
    ]
    assert ends(
        lambda: Server(FixedTime(2.0), asyncio.Semaphore(1), (Stall(0.0, 5.0),), None, random.Random(1)), 1
    ) == [7.0]
    both = (Stall(6.0, 1.0), Stall(1.0, 3.0))
    assert ends(lambda: Server(FixedTime(4.0), asyncio.Semaphore(1), both, None, random.Random(1)), 1) == [
        8.0
    ]


def test_on_one_processor_all_take_turns():
    async def main():
        processor = OneProcessor()
        servers = [
            Server(FixedTime(2.0), asyncio.Semaphore(8), (), processor, random.Random(1)) for _ in range(2)
        ]

        async def one(server) -> float:
            async with server.line:
                await server.serve()
            return asyncio.get_running_loop().time()

        return await asyncio.gather(*(one(server) for server in servers for _ in range(2)))

    assert run(main) == [2.0, 4.0, 6.0, 8.0]


def test_what_the_engine_takes_of_the_processor_others_lack():
    async def main():
        processor = OneProcessor()
        task = asyncio.ensure_future(processor.work(4.0))
        await asyncio.sleep(1.0)
        processor.spend(2.0)
        assert asyncio.get_running_loop().time() == 3.0
        await task
        return asyncio.get_running_loop().time()

    assert run(main) == 6.0


def test_failures_strike_by_time_and_by_chance():
    rng = random.Random(1)
    window = RandomFailures(start=10.0, end=20.0)
    assert [window.strike(now, rng) for now in (9.9, 10.0, 19.9, 20.0)] == [False, True, True, False]
    struck = sum(RandomFailures(probability=0.25).strike(0.0, rng) for _ in range(4000))
    assert struck == pytest.approx(1000, rel=0.1)
