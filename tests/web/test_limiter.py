"""The gate of a host: its ceiling, its order, its waits."""

from __future__ import annotations

import asyncio

import pytest

from fff.stats import AccessMeter
from fff.web.limiter import HostLimiter, WaitTooLong
from fff.web.message import HostPolicy
from tests.web.serving import FakeTime


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def limiter(time: FakeTime | None = None, **policy: object) -> HostLimiter:
    return HostLimiter(HostPolicy(**policy), (time or FakeTime()).clock)


async def test_places_are_handed_over_first_in_first_out_in_the_moment_they_are_free() -> None:
    gate, order = limiter(max_concurrency=2), []

    permits = []

    async def one(name: int) -> None:
        permits.append(await gate.acquire(AccessMeter()))
        order.append(name)

    tasks = [asyncio.create_task(one(name)) for name in range(5)]
    await settle()
    assert order == [0, 1]
    assert gate.in_flight == 2
    gate.release(permits.pop())
    assert gate.in_flight == 2, "the place passes to a waiter inside release"
    await settle()
    assert order == [0, 1, 2]
    while permits:
        gate.release(permits.pop())
        await settle()
    assert order == [0, 1, 2, 3, 4]
    assert gate.in_flight == 0
    await asyncio.gather(*tasks)


async def test_a_cancelled_waiter_takes_no_place() -> None:
    gate = limiter(max_concurrency=1)
    permit = await gate.acquire(AccessMeter())
    waiting = asyncio.create_task(gate.acquire(AccessMeter()))
    behind = asyncio.create_task(gate.acquire(AccessMeter()))
    await settle()
    waiting.cancel()
    await settle()
    gate.release(permit)
    await settle()
    assert behind.done()
    assert gate.in_flight == 1


async def test_a_waiter_cancelled_in_the_moment_of_its_turn_gives_the_place_back() -> None:
    gate = limiter(max_concurrency=1)
    permit = await gate.acquire(AccessMeter())
    waiting = asyncio.create_task(gate.acquire(AccessMeter()))
    await settle()
    gate.release(permit)  # the place is its own now
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert gate.in_flight == 0


async def test_a_bucket_lets_its_size_go_at_once_and_then_its_rate() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=100, fill_rate=10, bucket_size=3)
    meters = [AccessMeter() for _ in range(5)]
    await asyncio.gather(*(gate.acquire(meter) for meter in meters))
    assert time.now == pytest.approx(0.2), "two more than the bucket holds, at ten a second"
    assert gate.limited_by == "rate"
    assert [meter.limited_by for meter in meters] == [None, None, None, "rate", "rate"]


async def test_nobody_starts_during_a_pause_and_everybody_after_it() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=4)
    gate.pause(2.5)
    meter = AccessMeter()
    await asyncio.gather(*(gate.acquire(meter) for _ in range(4)))
    assert time.slept == [2.5]
    assert meter.limited_by == "throttled"
    assert gate.limited_by == "throttled"


async def test_a_pause_out_of_bounds_fails_those_who_wait_and_those_who_come() -> None:
    gate = limiter(max_concurrency=1, max_wait=60)
    await gate.acquire(AccessMeter())
    waiting = asyncio.create_task(gate.acquire(AccessMeter()))
    await settle()
    gate.pause(3600)
    with pytest.raises(WaitTooLong):
        await waiting
    with pytest.raises(WaitTooLong) as long:
        await gate.acquire(AccessMeter())
    assert long.value.seconds == pytest.approx(3600)


async def test_a_wave_of_refusals_cuts_once_down_to_what_was_admitted() -> None:
    gate = limiter(max_concurrency=32)
    permits = [await gate.acquire(AccessMeter()) for _ in range(32)]
    gate.refused(permits[0 + 8], 0)
    assert gate.limit == 16, "halved at the first"
    gate.release(permits[8])
    for permit in permits[9:]:
        gate.refused(permit, 0)
        gate.release(permit)
    assert gate.limit == 8, "the eight still in flight were admitted"
    assert gate.in_flight == 8
    assert gate.rate is None, "nothing of this is about a rate"


async def at_full_use(gate: HostLimiter, answers: int) -> set[int]:
    """The limits seen while so many requests are answered, as many as allowed being in flight."""
    held, limits = [], set()
    for _ in range(answers):
        while gate.in_flight < gate.limit:
            held.append(await gate.acquire(AccessMeter()))
        permit = held.pop(0)
        gate.admitted(permit)
        gate.release(permit)
        limits.add(gate.limit)
    for permit in held:
        gate.release(permit)
    return limits


async def test_the_limit_grows_by_one_a_round_and_stops_below_the_refused_level() -> None:
    gate = limiter(max_concurrency=8)
    permits = [await gate.acquire(AccessMeter()) for _ in range(8)]
    gate.refused(permits[7], 0)
    for permit in permits:
        gate.release(permit)
    assert gate.limit == 4
    assert await at_full_use(gate, 60) == {4, 5, 6, 7}, "eight was refused, and is not tried again so soon"
    assert 8 in await at_full_use(gate, 1_200), "but it is tried again"


async def test_a_step_too_far_is_taken_back_and_no_more() -> None:
    gate = limiter(max_concurrency=16)
    permits = [await gate.acquire(AccessMeter()) for _ in range(16)]
    gate.refused(permits[15], 0)
    for permit in permits:
        gate.release(permit)
    await at_full_use(gate, 25)
    limit = gate.limit
    permits = [await gate.acquire(AccessMeter()) for _ in range(limit)]
    gate.refused(permits[-1], 0)
    assert gate.limit == limit - 1


async def test_a_refusal_where_as_many_were_admitted_before_is_about_a_rate() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=4)
    await at_full_use(gate, 40)
    time.now += 10
    permits = [await gate.acquire(AccessMeter()) for _ in range(4)]
    gate.refused(permits[3], 10)
    for permit in permits:
        gate.release(permit)
    assert gate.limit == 4
    first = await gate.acquire(AccessMeter())
    assert time.now == 20, "one goes first, when the wait is over"
    gate.admitted(first)
    gate.release(first)
    assert gate.rate == pytest.approx(40 / 20, rel=0.03), "forty were admitted in twenty seconds"
    await gate.acquire(AccessMeter())
    assert time.now == pytest.approx(20.5, rel=0.01)


async def test_a_host_that_does_not_answer_in_time_gets_fewer_at_once() -> None:
    gate = limiter(max_concurrency=8)
    permits = [await gate.acquire(AccessMeter()) for _ in range(8)]
    for permit in permits:
        gate.unanswered(permit)
        gate.release(permit)
    assert gate.limit == 4, "once for those that were sent together"


async def test_an_idle_host_earns_no_higher_limit() -> None:
    gate = limiter(max_concurrency=32)
    permits = [await gate.acquire(AccessMeter()) for _ in range(32)]
    gate.refused(permits[31], 0)
    for permit in permits:
        gate.release(permit)
    limit = gate.limit
    for _ in range(100):
        permit = await gate.acquire(AccessMeter())
        gate.admitted(permit)
        gate.release(permit)
    assert gate.limit == limit


async def test_two_sources_on_one_host_share_the_tighter_rules() -> None:
    gate = limiter(max_concurrency=8)
    gate.tighten(HostPolicy(max_concurrency=3, fill_rate=5, bucket_size=2))
    gate.tighten(HostPolicy(max_concurrency=20))
    assert gate.limit == 3
