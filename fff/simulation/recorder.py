"""What happened when in a simulated run: the trace, and results, requests and partial results over time."""

from __future__ import annotations

import asyncio
import bisect
import hashlib
import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa

from fff.catalog import Keys
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.moves import Move, Offer, Outcome, ScanRace
from fff.dataflow.plan.policy import PullingPolicy, RacingPolicy, RoutingPolicy
from fff.dataflow.plan.state import TupleState
from fff.stats import AccessMeter
from fff.structs import Struct, asdict


@dataclass(frozen=True)
class Steps:
    """Something counted over time: `totals[i]` from `times[i]` on, 0 before. Both ascend."""

    times: tuple[float, ...]
    totals: tuple[int, ...]

    @classmethod
    def of(cls, counted: Iterable[tuple[float, int]]) -> Steps:
        """From times, ascending, and what came at each; what came at one time is one step."""
        times, totals, total = [], [], 0
        for time, group in itertools.groupby(counted, key=lambda one: one[0]):
            total += sum(count for _, count in group)
            times.append(time)
            totals.append(total)
        return cls(tuple(times), tuple(totals))

    def at(self, time: float) -> int:
        """How many by then."""
        place = bisect.bisect_right(self.times, time)
        return self.totals[place - 1] if place else 0

    def when(self, total: float) -> float:
        """The first moment at which there are so many; there must be one."""
        return self.times[bisect.bisect_left(self.totals, total)]

    @property
    def total(self) -> int:
        """In the end."""
        return self.totals[-1] if self.totals else 0

    @property
    def end(self) -> float:
        """When the last one came."""
        return self.times[-1] if self.times else 0.0


class RunRecorder:
    """Told by sources, eddy and policy what they do; times are the running loop's."""

    def __init__(self) -> None:
        self.trace: list[str] = []
        self._requests: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._results: list[tuple[float, int]] = []
        self._tuples: dict[int, list[tuple[float, int]]] = defaultdict(list)  # by span

    @property
    def now(self) -> float:
        """Virtual seconds since the run began."""
        return asyncio.get_running_loop().time()

    def asked(self, table: str, method: str, meter: AccessMeter, keys: Keys) -> None:
        """An access method begins to serve a request."""
        now = self.now
        meter.sent(now)
        self._requests[table, method].append(now)
        self._write(now, "asked", table, method, list(keys))

    def request_answered(self, meter: AccessMeter) -> float:
        """A request is over; returns when."""
        now = self.now
        meter.request_answered(now)
        return now

    def step(self, event: object, instructions: Sequence[object]) -> None:
        """The eddy took in an event and gave instructions."""
        now = self.now
        self._write(now, "event", event)
        for instruction in instructions:
            self._write(now, "instruction", instruction)

    def delivered(self, count: int) -> None:
        """Results were delivered."""
        self._results.append((self.now, count))

    def outcome(self, outcome: Outcome) -> None:
        """A policy was told what came of a move: tuples that span one alias more."""
        if outcome.produced and outcome.move.predicate is None:
            self._tuples[outcome.state.span | 1 << outcome.move.alias].append((self.now, outcome.produced))

    def results(self) -> Steps:
        """Results over time."""
        return Steps.of(self._results)

    def requests(self, table: str, method: str) -> Steps:
        """Requests begun over time: pages of a scan, probes of an index."""
        return Steps.of((time, 1) for time in self._requests[table, method])

    def tuples(self, aliases: Iterable[int]) -> Steps:
        """Tuples that span exactly these aliases (at least two), over time: partial results."""
        return Steps.of(self._tuples[sum(1 << alias for alias in aliases)])

    def _write(self, now: float, *parts: object) -> None:
        self.trace.append(" ".join([repr(now), *map(_exactly, parts)]))


def _exactly(value: object) -> str:
    """As text that differs wherever the value does; rows and tuples as digests."""
    match value:
        case str():
            return value
        case pa.RecordBatch():
            return f"{len(value)} rows {_digest(repr(value.to_pydict()).encode())}"
        case TupleBatch(state=state, rows=rows, stamps=stamps):
            arrays = [*(rows[alias] for alias in sorted(rows)), stamps]
            text = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
            return f"{len(stamps)} tuples of {state} {_digest(text)}"
        case tuple() | list():
            return f"[{' '.join(_exactly(part) for part in cast('Sequence[object]', value))}]"
    if isinstance(value, Struct):
        parts = [f"{name}={_exactly(part)}" for name, part in asdict(value).items()]
        return f"{type(value).__name__}({' '.join(parts)})"
    return repr(value)


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=8).hexdigest()


class _RecordedPolicy:
    """A policy whose outcomes are recorded."""

    def __init__(self, policy: RoutingPolicy, recorder: RunRecorder) -> None:
        self.name = policy.name
        self._policy = policy
        self._recorder = recorder

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        """What the policy chooses."""
        return self._policy.choose(state, moves, rng)

    def observe(self, outcome: Outcome) -> None:
        """Recorded, then told to the policy."""
        self._recorder.outcome(outcome)
        self._policy.observe(outcome)


class _WatchedPulling(_RecordedPolicy):
    """The same of a policy that says how many tuples go."""

    def __init__(self, policy: PullingPolicy, recorder: RunRecorder) -> None:
        super().__init__(policy, recorder)
        self._pulling = policy

    def take(self, offer: Offer, rng: random.Random) -> tuple[Move, int] | None:
        """What the policy takes."""
        return self._pulling.take(offer, rng)


class _WatchedRacing(_WatchedPulling):
    """And which scans read on."""

    def __init__(self, policy: PullingPolicy, racing: RacingPolicy, recorder: RunRecorder) -> None:
        super().__init__(policy, recorder)
        self._racing = racing

    def race(self, race: ScanRace) -> Mapping[int, int]:
        """What the policy says."""
        return self._racing.race(race)


def watched(policy: RoutingPolicy, recorder: RunRecorder) -> RoutingPolicy:
    """The policy, with its outcomes recorded."""
    if not isinstance(policy, PullingPolicy):
        return _RecordedPolicy(policy, recorder)
    if isinstance(policy, RacingPolicy):
        return _WatchedRacing(policy, policy, recorder)
    return _WatchedPulling(policy, recorder)
