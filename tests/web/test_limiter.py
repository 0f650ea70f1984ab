"""The gate of a host: its ceiling, its order, its waits."""

from __future__ import annotations

import asyncio
import random

import pytest

from fff.stats import AccessMeter
from fff.web.clock import Clock
from fff.web.gate.limiter import HostLimiter
from fff.web.gate.rate_limit_headers import Quota
from fff.web.gate.turns import ASKER
from fff.web.gate.waits import WaitTooLong
from fff.web.types import HostPolicy, Window
from tests.web import simulated
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


async def test_those_who_ask_side_by_side_take_turns() -> None:
    gate = limiter(max_concurrency=1)
    held, came = await gate.acquire(AccessMeter()), list[str]()

    async def ask(asker: str, name: str) -> None:
        ASKER.set(asker)
        permit = await gate.acquire(AccessMeter())
        came.append(name)
        gate.release(permit)

    tasks = [asyncio.create_task(ask("greedy", f"g{at}")) for at in range(6)]
    await settle()
    tasks += [asyncio.create_task(ask("small", f"s{at}")) for at in range(2)]
    await settle()
    tasks[0].cancel()  # costs its asker no turn of later
    await settle()
    tasks += [asyncio.create_task(ask("late", "l0"))]
    await settle()
    gate.release(held)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert came.index("s0") <= 2
    assert came.index("s1") <= 4
    assert came.index("l0") <= 3
    assert [one for one in came if one.startswith("g")] == ["g1", "g2", "g3", "g4", "g5"]
    assert gate.in_flight == 0


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


async def test_a_gate_that_was_closed_lets_in_who_comes_behind_a_cancelled_waiter() -> None:
    time = FakeTime()
    gate = limiter(time, fill_rate=1.0, bucket_size=1)
    gate.release(await gate.acquire(AccessMeter()))
    waiting = asyncio.create_task(gate.acquire(AccessMeter()))
    await asyncio.sleep(0)
    waiting.cancel()
    gate.close()  # nobody looks any more when it would be the cancelled one's turn
    await settle()
    time.now += 1.0
    behind = asyncio.create_task(gate.acquire(AccessMeter()))
    await settle()
    assert behind.done()


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
    await refuse(gate, 8)
    assert gate.limit == 4
    assert await at_full_use(gate, 60) == {4, 5, 6, 7}, "eight was refused, and is not tried again so soon"
    assert 8 in await at_full_use(gate, 1_200), "but it is tried again"


async def refuse(gate: HostLimiter, count: int, wait: float = 0.0) -> None:
    """So many are in flight, and the last two are refused."""
    permits = [await gate.acquire(AccessMeter()) for _ in range(count)]
    for permit in permits[-2:]:
        gate.refused(permit, wait)
    for permit in permits:
        gate.release(permit)


async def test_a_step_too_far_is_taken_back_and_no_more() -> None:
    gate = limiter(max_concurrency=16)
    await refuse(gate, 16)
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
    await refuse(gate, 4, 10)
    assert gate.limit == 4
    for _ in range(40):
        permit = await gate.acquire(AccessMeter())
        gate.admitted(permit)
        gate.release(permit)
    assert gate.rate == pytest.approx(0.85 * 40 / 10), "one refusal proves no limit: nearly as fast as before"
    began = time.now
    time.now = 40
    await refuse(gate, 4, 10)
    assert 20 <= began < 35, "nobody went before the wait was over"
    first = await gate.acquire(AccessMeter())
    gate.admitted(first)
    gate.release(first)
    assert gate.rate == pytest.approx(0.99 * 40 / 30, rel=0.05), "forty once more, in thirty seconds"


async def test_a_refusal_of_one_among_many_is_its_own() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=4)
    await at_full_use(gate, 40)
    refused = await gate.acquire(AccessMeter())
    assert gate.refused(refused, 10) == 10, "it waits as it was told"
    gate.release(refused)
    scout = await gate.acquire(AccessMeter())
    gate.admitted(scout)
    await gate.acquire(AccessMeter())
    assert (time.now, gate.rate, gate.limit) == (0, None, 4), "another was admitted"


async def test_until_another_is_answered_nobody_follows_a_refused_one() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=4)
    await at_full_use(gate, 40)
    gate.refused(await gate.acquire(AccessMeter()), 10)
    await gate.acquire(AccessMeter())
    assert time.now == 0, "one finds out whether the host refuses all"
    await gate.acquire(AccessMeter())
    assert time.now == 10, "for no longer than all would have waited"


async def test_two_refusals_are_the_hosts() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=4)
    await at_full_use(gate, 40)
    refused = await gate.acquire(AccessMeter())
    assert gate.refused(refused, 10) == 10
    gate.release(refused)
    time.now = 4
    scout = await gate.acquire(AccessMeter())
    assert gate.refused(scout, 1) == 0
    gate.release(scout)
    await gate.acquire(AccessMeter())
    assert time.now == 10, "the longer of the waits holds for everybody"


async def test_a_host_that_does_not_answer_in_time_gets_fewer_at_once() -> None:
    gate = limiter(max_concurrency=8)
    permits = [await gate.acquire(AccessMeter()) for _ in range(8)]
    for permit in permits:
        gate.unanswered(permit)
        gate.release(permit)
    assert gate.limit == 4, "once for those that were sent together"


async def test_an_idle_host_earns_no_higher_limit() -> None:
    gate = limiter(max_concurrency=32)
    await refuse(gate, 32)
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


@pytest.mark.parametrize("others", [(10, 2), (40, 1), (5, 40)])
async def test_of_rates_that_two_sources_declare_for_one_host_each_holds(others: tuple[float, int]) -> None:
    rates = [(10.0, 20), others]
    time = FakeTime()
    first, second = (HostPolicy(max_concurrency=99, fill_rate=rate, bucket_size=most) for rate, most in rates)
    gate = HostLimiter(first, time.clock)
    gate.tighten(second)
    starts = []
    for _ in range(60):
        gate.release(await gate.acquire(AccessMeter()))
        starts.append(time.now)
    for rate, most in rates:
        for place, at in enumerate(starts):
            for count, end in enumerate(starts[place:], 1):
                assert count <= most + rate * (end - at) + 1e-6


async def test_a_rate_counts_what_another_source_has_sent() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=99)
    for _ in range(30):
        gate.release(await gate.acquire(AccessMeter()))
    gate.tighten(HostPolicy(max_concurrency=99, fill_rate=2, bucket_size=4))
    for _ in range(4):
        gate.release(await gate.acquire(AccessMeter()))
    assert time.now == pytest.approx(2.0), "all that may go at once has just gone"


async def test_who_is_away_keeps_a_share_of_what_is_declared_later() -> None:
    gate = limiter(max_concurrency=99)
    gate.hold_back(1, 2)
    gate.tighten(HostPolicy(max_concurrency=99, windows=(Window(10, 60),)))
    for _ in range(5):
        await gate.acquire(AccessMeter())
    assert gate.left() == (0.0, 6.0)


async def test_a_window_holds_whenever_it_begins() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=10, windows=(Window(3, 10),))
    starts = []
    for pause in (0, 4, 4, 0, 0, 0, 0, 0):
        time.now += pause
        permit = await gate.acquire(AccessMeter())
        starts.append(time.now)
        time.now += 0.5  # under way
        gate.release(permit)
    assert starts == pytest.approx([0, 4.5, 9, 10.5, 15, 19.5, 21, 25.5])
    assert gate.limited_by == "rate"


async def test_a_request_under_way_counts_until_it_must_have_arrived() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=10, windows=(Window(1, 10),))
    await gate.acquire(AccessMeter())
    await gate.acquire(AccessMeter())
    assert time.now == 11


async def test_a_window_counts_what_another_source_has_sent() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=10)
    for _ in range(4):
        await gate.acquire(AccessMeter())
    gate.tighten(HostPolicy(windows=(Window(5, 30),)))
    await gate.acquire(AccessMeter())
    assert time.now == 0
    await gate.acquire(AccessMeter())
    assert time.now == 31


async def test_a_window_holds_what_requests_count_as_whenever_it_begins() -> None:
    rng, limit, per = random.Random(5), 7, 10.0
    time = FakeTime()
    gate = limiter(time, max_concurrency=10, max_wait=1e6, windows=(Window(limit, per), Window(40, 90.0)))
    started: list[tuple[float, int]] = []
    for _ in range(300):
        units = rng.choice([1, 1, 2, 5, 7])
        permit = await gate.acquire(AccessMeter(), units)
        started.append((time.now, units))
        time.now += rng.choice([0.0, 0.1, 0.7])  # under way
        gate.release(permit)
    for at, _ in started:
        for most, seconds in ((limit, per), (40, 90.0)):
            assert sum(units for begun, units in started if at <= begun < at + seconds) <= most
    assert sum(units for _, units in started) / time.now > 0.8 * 40 / 90, "and no slower than it must be"


async def test_what_counts_as_more_than_a_window_takes_is_refused_and_others_go_on() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=10, windows=(Window(3, 10),))
    with pytest.raises(WaitTooLong, match="inf") as long:
        await gate.acquire(AccessMeter(), 4)
    assert long.value.reason == "the request counts as more than the declared limit takes"
    await gate.acquire(AccessMeter(), 3)
    assert time.now == 0


async def test_what_would_wait_too_long_for_a_window_fails_alone() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=1, max_wait=60, windows=(Window(4, 100),))
    first = await gate.acquire(AccessMeter(), 3)
    time.now = 50.0
    light, heavy, other = (asyncio.ensure_future(gate.acquire(AccessMeter(), units)) for units in (1, 4, 1))
    await settle()
    gate.release(first)
    gate.release(await light)
    with pytest.raises(WaitTooLong) as long:
        await heavy
    assert (long.value.seconds, long.value.declared) == (101, True)
    gate.release(await other)
    assert time.now == 101


def test_what_is_more_than_others_leave_of_a_window_waits_and_others_go_on() -> None:
    async def main() -> None:
        policy = HostPolicy(10, max_wait=60, windows=(Window(10, 3600),))
        gate = HostLimiter(policy, Clock())
        gate.hold_back(4, 5)
        heavy, cancelled = (asyncio.ensure_future(gate.acquire(AccessMeter(), 3)) for _ in range(2))
        await asyncio.sleep(30)
        light = await gate.acquire(AccessMeter())
        assert not heavy.done()
        cancelled.cancel()
        gate.hold_back(3, 5)
        permit = await heavy
        assert (light.started, permit.started, permit.units) == (30, 30, 3)
        assert gate.left()[0] == 0, "of ten, six are for others"
        gate.close()

    simulated.run(main())


async def test_who_waits_for_others_to_leave_more_of_a_window_does_so_within_bounds() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=10, max_wait=60, windows=(Window(10, 3600),))
    gate.hold_back(4, 5)
    with pytest.raises(WaitTooLong, match="inf") as long:
        await gate.acquire(AccessMeter(), 3)
    assert time.now == 60
    assert "a task's share of the declared limit" in long.value.reason
    assert "fewer tasks" in long.value.hint
    await gate.acquire(AccessMeter(), 2)
    assert time.now == 60


async def test_more_than_a_share_of_a_window_is_told_as_that() -> None:
    policy = HostPolicy(4, windows=(Window(10, 60),))
    gate = HostLimiter(policy.shared(4), FakeTime().clock)
    with pytest.raises(WaitTooLong) as long:
        await gate.acquire(AccessMeter(), 3)
    assert "a task's share of the declared limit" in long.value.reason
    assert policy.most_shares(3) == 3, "among so many it fits"
    assert policy.shared(3).windows[0].limit == 3


async def test_a_rate_counts_units() -> None:
    time = FakeTime()
    gate = limiter(time, max_concurrency=10, fill_rate=2, bucket_size=4)
    starts = []
    for units in (4, 2, 1, 6, 1):
        gate.release(await gate.acquire(AccessMeter(), units))
        starts.append(time.now)
    assert starts == pytest.approx([0, 1, 1.5, 3.5, 5])


async def test_a_window_out_of_bounds_ends_the_query() -> None:
    gate = limiter(max_concurrency=10, max_wait=60, windows=(Window(1, 3600),))
    await gate.acquire(AccessMeter())
    with pytest.raises(WaitTooLong) as long:
        await gate.acquire(AccessMeter())
    assert long.value.declared


async def test_what_is_left_of_the_slowest_quota() -> None:
    time = FakeTime()
    gate = limiter(time, windows=(Window(2, 1.0), Window(4, 60.0)))
    assert limiter().left() == (None, 0.0)
    assert gate.left() == (4, 15)
    permit = await gate.acquire(AccessMeter())
    assert gate.left() == (3, 15)
    gate.observe(permit, [Quota("declared", 10, 1800.0, 60.0)])
    assert gate.left() == (10, 30), "an hour's rest for sixty requests is longer than a minute for four"
