"""One ceiling for several tasks: leases of requests, in virtual time, with a wire that takes a millisecond each way."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.clock import Clock
from fff.web.gate.leased import LeaseLine, LeaseWire
from fff.web.gate.leases import LeasingTask, Message, SharedCeiling
from fff.web.gate.limiter import HostLimiter
from fff.web.types import HostPolicy, Request, Window
from tests.sampling import every
from tests.web import simulated
from tests.web.simulated import FixedWindow, SimulatedServer

AWAY = 0.001


class ShortWire:
    """Carries messages as JSON, after a moment; a task that stands still takes none meanwhile.

    `stalls`: for how many seconds it does, and how many lie between the beginnings.
    """

    def __init__(self, ceiling: SharedCeiling, name: tuple[str, int, int], receive: Callable[..., None], ended: Callable[[], None], stalls: tuple[float, float] | None = None) -> None:  # fmt: skip
        self._receive, self._stalls = receive, stalls
        self._lines: dict[Callable[..., None], deque[str]] = {}
        self._ended = ended
        self.task: LeasingTask | None = ceiling.enter(*name, lambda message: self._later(receive, message))

    def _later(self, take: Callable[..., None], message: Message) -> None:
        """In the order sent: timers of one moment have none."""
        line = self._lines.setdefault(take, deque())
        line.append(json.dumps(message))

        def arrive() -> None:
            text = line.popleft()
            if self.task is not None:
                take(json.loads(text))

        loop = asyncio.get_running_loop()
        at = loop.time() + AWAY
        if take is self._receive and self._stalls is not None:
            still, every = self._stalls
            at += max(0.0, still - at % every)
        loop.call_at(at, arrive)

    def send(self, message: Message) -> None:
        if self.task is not None:
            self._later(self.task.receive, message)

    async def close(self) -> None:
        await asyncio.sleep(2 * AWAY)
        self.cut()

    def cut(self) -> None:
        """The connection is gone."""
        task, self.task = self.task, None
        if task is not None:
            task.leave()
            self._ended()


@dataclass
class Cluster:
    """Tasks, each with a client of its own, that ask one host."""

    server: SimulatedServer
    tasks: int
    policy: HostPolicy
    ceiling: SharedCeiling = field(default_factory=SharedCeiling)
    wires: dict[int, ShortWire] = field(default_factory=dict)
    meters: dict[int, AccessMeter] = field(default_factory=dict)
    stalls: dict[int, float] = field(
        default_factory=dict
    )  # seconds for which a task stands still, again and again

    def client(self, task: int, *, reached: bool = True) -> WebClient:
        async def connect(receive: Callable[[Message], None], ended: Callable[[], None]) -> LeaseWire:
            if not reached:
                raise OSError("nothing listens there")
            name = "job", task, self.tasks
            wire = self.wires[task] = ShortWire(self.ceiling, name, receive, ended, self.stalls.get(task))
            return wire

        self.meters[task] = AccessMeter()
        line = LeaseLine(connect, self.tasks, b"token")
        return WebClient(rng=random.Random(task), clock=clock(), transport=self.server, leases=line)

    async def ask(self, task: int, count: int, client: WebClient | None = None) -> None:
        client = client or self.client(task)
        request = Request("http://simulated.example/", policy=client.rules(self.policy))
        flying = asyncio.Semaphore(self.policy.max_concurrency)

        async def one() -> None:
            async with flying:
                await client.request(request, meter=self.meters[task])

        await asyncio.gather(*(one() for _ in range(count)))
        await client.close()


def clock() -> Clock:
    loop = asyncio.get_running_loop()
    return Clock(now=loop.time, wall=lambda: simulated.EPOCH + loop.time(), sleep=asyncio.sleep)


def run(main: Callable[[], Any]) -> Any:
    async def inside() -> Any:
        return await main()

    return simulated.run(inside())


def keeps(server: SimulatedServer, policy: HostPolicy, jitter: float = 0.005) -> None:
    """Whether no more arrived than is declared: in any window, at any time."""
    assert server.most <= policy.max_concurrency
    at = sorted(server.admitted)
    for window in policy.windows:
        spans = zip(at, at[window.limit :], strict=False)
        assert all(later - earlier >= window.per for earlier, later in spans)
    if policy.fill_rate is not None:
        tokens, before = policy.burst, 0.0
        for now in at:
            tokens = min(policy.burst, tokens + (now - before) * policy.fill_rate) - 1
            before = now
            assert tokens >= -1e-6 - jitter * policy.fill_rate


def full(server: SimulatedServer, rate: float, since: float) -> float:
    """What arrived from then on, over what was allowed."""
    at = [one for one in server.admitted if one >= since]
    return (len(at) - 1) / ((at[-1] - at[0]) * rate)


@pytest.mark.parametrize("seed", every(2, range(4)))
def test_unequal_tasks_use_all_that_is_declared_and_never_more(seed: int) -> None:
    rng = random.Random(seed)
    rate = rng.choice([20.0, 50.0, 90.0])
    counts = [rng.choice([0, 3, 40, 200]) for _ in range(3)] + [300]
    policy = HostPolicy(rng.choice([8, 16]), fill_rate=rate, bucket_size=rng.choice([None, 5, 40]))
    server = SimulatedServer()

    async def main() -> None:
        cluster = Cluster(server, 4, policy)
        await asyncio.gather(*(cluster.ask(task, count) for task, count in enumerate(counts)))

    run(main)
    assert len(server.admitted) == sum(counts)
    keeps(server, policy)
    assert full(server, rate, since=1.0) >= 0.95


@pytest.mark.parametrize("rate", [5.0, 45.0, 150.0])
@pytest.mark.parametrize(
    "stalls",
    [
        {0: (0.7, 1.0)},
        {0: (0.3, 0.5), 1: (1.3, 1.5), 2: (1.0, 3.0), 3: (0.1, 0.2)},
        dict.fromkeys(range(4), (0.5, 1.0)),
    ],
)
def test_tasks_that_stand_still_spend_no_leases_together_when_they_go_on(
    rate: float, stalls: dict[int, tuple[float, float]]
) -> None:
    """However many of them were given meanwhile."""
    server, policy = SimulatedServer(), HostPolicy(32, fill_rate=rate, bucket_size=8)
    count = int(6 * rate)

    async def main() -> None:
        cluster = Cluster(server, 4, policy, stalls=stalls)
        await asyncio.gather(*(cluster.ask(task, count // 4) for task in range(4)))

    run(main)
    assert len(server.admitted) == count // 4 * 4
    keeps(server, policy, jitter=max(0.02, 1 / rate) + 1 / rate + 2 * AWAY + 0.005)
    at = sorted(server.admitted)
    busiest = max(sum(one <= later < one + 1 for later in at[place:]) for place, one in enumerate(at))
    assert busiest <= 1.02 * rate + 8 + 2


def test_a_way_that_is_long_all_the_time_makes_no_lease_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "AWAY", 0.15)
    server, policy = SimulatedServer(), HostPolicy(32, fill_rate=45.0, bucket_size=8)

    async def main() -> None:
        cluster = Cluster(server, 4, policy)
        await asyncio.gather(*(cluster.ask(task, 100) for task in range(4)))

    run(main)
    keeps(server, policy)
    assert full(server, 45.0, since=2.0) >= 0.95


def test_windows_are_kept_by_tasks_that_stand_still() -> None:
    server, policy = SimulatedServer(), HostPolicy(32, windows=(Window(40, 2.0),))

    async def main() -> None:
        cluster = Cluster(server, 2, policy, stalls={0: (2.0, 2.5)})
        await asyncio.gather(*(cluster.ask(task, 100) for task in range(2)))

    run(main)
    assert len(server.admitted) == 200
    keeps(server, policy)


def test_windows_and_places_are_kept_while_tasks_die_and_come_again() -> None:
    policy = HostPolicy(6, windows=(Window(30, 2.0), Window(200, 20.0)))
    server = SimulatedServer()

    async def main() -> None:
        cluster = Cluster(server, 3, policy)
        tasks = [asyncio.ensure_future(cluster.ask(task, 150)) for task in range(3)]
        for seconds in (0.3, 0.4, 3.1):
            await asyncio.sleep(seconds)
            tasks[0].cancel()
            cluster.wires[0].cut()
            tasks[0] = asyncio.ensure_future(cluster.ask(0, 150))
        await asyncio.gather(*tasks)

    run(main)
    keeps(server, policy)
    assert full(server, 10.0, since=0.0) >= 0.95


@pytest.mark.parametrize("seed", range(4))
def test_windows_are_kept_where_requests_count_as_several_and_tasks_come_late(seed: int) -> None:
    """One of four tasks reaches nobody who leases, and keeps to its share of two; the others ask for up to four at once."""
    rng, policy = random.Random(seed), HostPolicy(8, windows=(Window(10, 5.0),))
    started: list[tuple[float, int]] = []

    async def send(gate: HostLimiter, units: int) -> None:
        permit = await gate.acquire(AccessMeter(), units)
        started.append((asyncio.get_running_loop().time(), units))
        await asyncio.sleep(0.05)
        gate.release(permit)

    async def main() -> None:
        ceiling = SharedCeiling()
        apart = HostLimiter(policy.shared(4), clock())
        asked = [asyncio.ensure_future(send(apart, rng.choice([1, 2]))) for _ in range(30)]
        for task in range(3):
            ceiling.enter("job", task, 4, lambda _: None)
            gate = ceiling.host("host", policy)
            asked += [asyncio.ensure_future(send(gate, rng.choice([1, 2, 3, 4, 6]))) for _ in range(20)]
            await asyncio.sleep(rng.uniform(0, 20))
        await asyncio.gather(*asked)

    run(main)
    assert len(started) == 90
    for at, _ in started:
        assert sum(units for begun, units in started if at <= begun < at + 5) <= 10


def test_what_a_dead_task_had_leased_comes_back() -> None:
    async def main() -> None:
        ceiling = SharedCeiling()
        policy: Message = [4, None, None, [], 300.0, 30.0]
        heard: list[list[Message]] = [[], []]
        one, other = (ceiling.enter("job", task, 2, heard[task].append) for task in range(2))
        for number in range(5):
            one.receive(["ask", number, "host", policy, 1])
        other.receive(["ask", 7, "host", policy, 1])
        await asyncio.sleep(1)
        assert [message[:2] for message in heard[0]] == [["go", number] for number in range(4)]
        assert heard[1] == []
        one.leave()
        await asyncio.sleep(1)
        assert [message[:2] for message in heard[1]] == [["go", 7]]
        assert len(heard[0]) == 4, "who is gone is not answered"
        with pytest.raises(ValueError, match="no such message"):
            other.receive(["nonsense"])

    run(main)


def test_a_task_that_has_not_come_keeps_its_share_and_one_that_has_gone_leaves_it() -> None:
    server, policy = SimulatedServer(), HostPolicy(8, fill_rate=40.0, bucket_size=4)
    arrived: list[int] = []

    async def main() -> None:
        cluster = Cluster(server, 4, policy)
        first = asyncio.ensure_future(cluster.ask(0, 400))
        await asyncio.sleep(4)
        arrived.append(len(server.admitted))
        assert server.most <= 2
        for task in (1, 2):
            await cluster.ask(task, 0)
        alone = cluster.client(3, reached=False)  # its requests come on top
        await asyncio.gather(first, cluster.ask(3, 60, alone))
        assert list(cluster.meters[3].warnings) == [
            "the ceiling of the cluster was kept by static shares: who leases requests was not reached"
        ]

    run(main)
    assert 39 <= arrived[0] <= 42, "a quarter of forty a second"
    keeps(server, policy, jitter=0.01)


def test_what_one_task_is_refused_the_others_do_not_ask() -> None:
    def refusals(make: Callable[[Cluster], Sequence[Any]]) -> SimulatedServer:
        server = SimulatedServer(FixedWindow(40, 10), tell=simulated.retry_after)

        async def main() -> None:
            await asyncio.gather(*make(Cluster(server, 4, HostPolicy(8))))

        run(main)
        return server

    together = refusals(lambda cluster: [cluster.ask(task, 60) for task in range(4)])
    apart = refusals(
        lambda cluster: [cluster.ask(task, 60, cluster.client(task, reached=False)) for task in range(4)]
    )
    assert len(together.admitted) == len(apart.admitted) == 240
    assert len(together.refused) <= 16, "the first wave, those on trial"
    assert len(together.refused) < len(apart.refused)
    first = together.refused[0]
    held = [at for at in sorted([*together.admitted, *together.refused]) if at > first + 0.1]
    assert held[0] - first >= 8, "until the window that refused is over nobody asks"


def test_who_loses_the_ceiling_goes_on_with_a_share_that_is_used_up() -> None:
    server, policy = (
        SimulatedServer(),
        HostPolicy(8, fill_rate=40.0, bucket_size=20, windows=(Window(60, 2.0),)),
    )

    async def main() -> None:
        cluster = Cluster(server, 4, policy)
        tasks = [asyncio.ensure_future(cluster.ask(task, 50)) for task in range(4)]
        await asyncio.sleep(1.5)
        for wire in cluster.wires.values():
            wire.cut()
        await asyncio.gather(*tasks)

    run(main)
    assert len(server.admitted) == 200
    keeps(server, policy)


def test_one_request_that_is_cancelled_while_it_waits_holds_nobody_up() -> None:
    server = SimulatedServer()

    async def main() -> None:
        cluster = Cluster(server, 1, HostPolicy(1, fill_rate=1.0))
        client = cluster.client(0)
        request = Request("http://simulated.example/", policy=cluster.policy)
        asked = [asyncio.ensure_future(client.request(request, meter=cluster.meters[0])) for _ in range(4)]
        await asyncio.sleep(0.5)
        assert cluster.meters[0].limited_by == "rate"
        asked[1].cancel()
        await asyncio.gather(asked[0], asked[2], asked[3])
        assert not cluster.meters[0].gates
        assert cluster.meters[0].waited["rate"] == pytest.approx(3.0, abs=0.2)

    run(main)
    assert [later - earlier for earlier, later in pairwise(server.admitted)] == pytest.approx(
        [1, 1], abs=0.01
    )
