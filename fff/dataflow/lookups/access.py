"""Access modules: scans and index lookups (S4 section 2.1.3), without their I/O.

A lookup method asks for every distinct key once, whoever wants it and however often: keys pass through the states below
and never go back. Answers end with EOT per key (covered) or with FAIL or TRUNCATED (failed), never in between.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import islice

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Bools, Growable, Int8, Int64, distinct
from fff.dataflow.lookups.latency import PageTimes
from fff.dataflow.plan.extents import Extent
from fff.dataflow.plan.plan import LookupPlan, ScanPlan
from fff.dataflow.store.domains import Domain, PairDomain
from fff.dataflow.store.identity import Answer
from fff.structs import Struct, field


class ScanState(IntEnum):
    """Where a scan is. Only COMPLETE covers anything."""

    UNUSED = 0
    RUNNING = 1
    COMPLETE = 2
    FAILED = 3
    STOPPED = 4  # not needed any more


class ScanModule(Struct):
    """One scan of one table. Held back by credits: it may deliver as many pages as it has been granted."""

    plan: ScanPlan
    state: ScanState = ScanState.UNUSED
    credit: int = 0  # pages granted and not delivered; Invariant: credit >= 0
    rows: int = 0
    duplicates: int = 0  # rows that another access method, or this one, had delivered before
    pages: int = 0
    total: int | None = None  # rows that it says there are
    total_pages: int | None = None  # and pages
    counted: bool = True  # every page says so for certain, and all the same
    stalled: bool = False
    ahead: int | None = None  # pages that it may be ahead in a race with others; None: where there is none
    since: int = 0  # pages of its rivals since its own last one
    times: PageTimes = field(default_factory=PageTimes)
    reason: str = ""
    lacking: list[tuple[Extent, str]] = field(default_factory=list)  # parts that failed, and why
    answer: Answer = field(default_factory=Answer)

    @property
    def paused(self) -> bool:
        """It runs, and asks for nothing more for now: a rival reads on."""
        return self.state is ScanState.RUNNING and self.ahead == 0


class KeyState(IntEnum):
    """Where a key of a lookup method is."""

    UNKNOWN = 0
    WANTED = 1  # a tuple would need it if the scan failed
    PENDING = 2  # to be asked for as soon as a request is free
    IN_FLIGHT = 3
    COVERED = 4  # EOT is in: the SteM holds every match
    FAILED = 5


class KeyRequest(Struct):
    """One request under way, for one or more keys."""

    number: int
    keys: Int64
    answer: Answer = field(default_factory=Answer)
    rows: int = 0
    urgent: bool = False  # one of the keys is prioritised
    sent_at: float = 0.0  # by the runtime's clock
    raced: bool = False  # a rival has been asked for the same, or this is what the rival was asked
    beside: int = 1  # requests under way at its limiter when it was sent, itself included


class LookupModule:
    """One index access method: key numbers, their states, the requests under way."""

    def __init__(self, plan: LookupPlan, domains: Sequence[Domain]) -> None:
        self.plan = plan
        self._domains = tuple(domains)  # one per key column
        self._pairs = tuple(PairDomain() for _ in domains[1:])
        self._status = Growable(np.int8)
        self._pending: deque[int] = deque()
        self._urgent: OrderedDict[int, None] = OrderedDict()  # pending keys that go first
        self._raised: set[int] = (
            set()
        )  # keys that became urgent later, or are spared: their place in `_pending` is void
        self.requests: dict[int, KeyRequest] = {}
        self.reasons: dict[int, str] = {}  # failed key -> why
        self.queued_keys = 0  # distinct keys that somebody wanted asked
        self.asked = 0  # distinct keys sent
        self.issued = 0  # requests sent
        self.hedged = 0  # of these: requests that race a slow one of another method
        self.rows = 0
        self.duplicates = 0
        self.strays = 0  # rows that did not have the key they were asked by
        self.met = 0  # distinct keys that a row came for
        self.answered = 0  # requests answered to the end
        self.served_s = 0.0  # seconds that those kept their places at the limiter

    @property
    def idle(self) -> bool:
        """Nothing pending, nothing in flight."""
        return not self.pending and not self.requests

    @property
    def pending(self) -> int:
        """Keys waiting for a free request."""
        return len(self._urgent) + len(self._pending) - len(self._raised)

    def keys(self, numbers: Sequence[Int64]) -> Int64:
        """Key numbers from the value numbers of the key columns; -1 where one of them is NULL."""
        result = numbers[0]
        for pair, more in zip(self._pairs, numbers[1:], strict=True):
            result = pair.number(result, more)
        return result

    def row_keys(self, numbers: Mapping[int, Int64]) -> Int64:
        """Key numbers of rows of the table."""
        return self.keys([numbers[column] for column in self.plan.columns])

    def values(self, key: int) -> tuple[object, ...]:
        """The key as Python values, in the order of the method's columns."""
        parts: list[int] = []
        for pair in reversed(self._pairs):
            key, last = pair.pair(key)
            parts.append(last)
        parts.append(key)
        return tuple(domain.value(part) for domain, part in zip(self._domains, reversed(parts), strict=True))

    def columns(self, keys: Int64) -> list[pa.Array]:
        """The keys as Arrow columns, in the order of the method's columns."""
        parts = self.columns_of(keys)
        return [
            domain.values(parts[column])
            for domain, column in zip(self._domains, self.plan.columns, strict=True)
        ]

    def columns_of(self, keys: Int64) -> dict[int, Int64]:
        """The value numbers of the keys, by column of the table: what `row_keys` makes keys of."""
        parts: list[Int64] = []
        for pair in reversed(self._pairs):
            keys, last = pair.pairs(keys)
            parts.append(last)
        parts.append(keys)
        return dict(zip(self.plan.columns, reversed(parts), strict=True))

    def states(self, keys: Int64) -> Int8:
        """The state of each key. Keys are at least 0."""
        if len(keys):
            self._status.extend_to(int(keys.max()) + 1)
        return self._status.view[keys]

    def covers(self, keys: Int64) -> Bools:
        """Which keys have their EOT: every match is here. NULL (-1) has none, and no EOT."""
        covered: Bools = (keys >= 0) & (self.states(np.maximum(keys, 0)) == KeyState.COVERED)
        return covered

    def want(self, keys: Int64) -> None:
        """Remember keys that would have to be asked for if the scan failed."""
        fresh = keys[self.states(keys) == KeyState.UNKNOWN]
        self._status.view[fresh] = KeyState.WANTED

    def wanted(self) -> Int64:
        """The keys remembered by `want` and not asked for yet."""
        return np.flatnonzero(self._status.view == KeyState.WANTED)

    def request(self, keys: Int64, *, urgent: bool = False) -> int:
        """Queue the keys that nobody has asked for; returns how many those are. Urgent keys go before all others."""
        if urgent:
            self.hurry(keys)
        fresh = keys[self.states(keys) < KeyState.PENDING]
        if not len(fresh):
            return 0
        fresh = distinct(fresh)
        self._status.view[fresh] = KeyState.PENDING
        self.queued_keys += len(fresh)
        if urgent:
            self._urgent.update(dict.fromkeys(fresh.tolist()))
        else:
            again = self._raised.intersection(fresh.tolist())  # spared before: they have their places still
            self._raised -= again
            self._pending.extend(key for key in fresh.tolist() if key not in again)
        return len(fresh)

    def hurry(self, keys: Int64) -> None:
        """Raise those of the keys that are pending (P35)."""
        pending = keys[self.states(keys) == KeyState.PENDING]
        if len(pending):
            raised = [key for key in distinct(pending).tolist() if key not in self._urgent]
            self._urgent.update(dict.fromkeys(raised))
            self._raised.update(raised)

    def calm(self) -> None:
        """No pending key is urgent any more."""
        self._pending = deque(self._drain())

    @property
    def urgent(self) -> bool:
        """Whether a pending key is urgent."""
        return bool(self._urgent)

    def queued(self) -> Int64:
        """The pending keys, in the order they will be sent."""
        return np.array([*self._urgent, *(key for key in self._pending if key not in self._raised)], np.int64)

    def _drain(self) -> list[int]:
        keys: list[int] = self.queued().tolist()
        self._pending.clear()
        self._urgent.clear()
        self._raised.clear()
        return keys

    def _next_key(self) -> int:
        while (key := self._pending.popleft()) in self._raised:
            self._raised.remove(key)
        return key

    def next_keys(self) -> Int64:
        """The pending keys that there is room for."""
        most = max(0, self.room) * self.plan.batch_size
        waiting = (key for key in self._pending if key not in self._raised)
        return np.array(
            [*islice(self._urgent, most), *islice(waiting, max(0, most - len(self._urgent)))], np.int64
        )

    def spare(self, keys: Int64) -> None:
        """Pending keys need not be asked for: nobody waits for them any more."""
        self._status.view[keys] = KeyState.WANTED
        for key in keys.tolist():
            if key in self._urgent:
                del self._urgent[key]
            else:
                self._raised.add(key)

    def next_request(self, number: int, now: float = 0.0) -> KeyRequest | None:
        """The next request to send, if a key is pending and the window has room."""
        pending = self.pending
        if not pending or not self.room:
            return None
        urgent = bool(self._urgent)
        keys = [
            self._urgent.popitem(last=False)[0] if self._urgent else self._next_key()
            for _ in range(min(pending, self.plan.batch_size))
        ]
        return self._sent(KeyRequest(number, np.array(keys, np.int64), urgent=urgent, sent_at=now))

    @property
    def room(self) -> int:
        """How many more requests may be under way."""
        return self.plan.window - len(self.requests)

    def race(self, number: int, keys: Int64, now: float, *, urgent: bool) -> KeyRequest:
        """Ask for keys that a rival is slow with. Nobody has asked this method for them, and there is room."""
        self.hedged += 1
        return self._sent(KeyRequest(number, keys, urgent=urgent, sent_at=now, raced=True))

    def _sent(self, request: KeyRequest) -> KeyRequest:
        self._status.view[request.keys] = KeyState.IN_FLIGHT
        self.requests[request.number] = request
        self.issued += 1
        self.asked += len(request.keys)
        return request

    def matching(self, requests: Sequence[KeyRequest], rows: Sequence[int], row_keys: Int64) -> Bools:
        """Which rows of answers, so many of each, have a key that was asked for; the others are strays (ledger P25)."""
        self.rows += len(row_keys)
        if all(len(request.keys) == 1 for request in requests):
            counts = np.array(rows)  # as an array, once: NumPy is slow to make it of a list
            right: Bools = row_keys == np.array([request.keys[0] for request in requests]).repeat(counts)
            starts: Int64 = counts.cumsum() - counts
            matches = np.add.reduceat(right, starts, dtype=np.int64).tolist()
            for request, count, hits in zip(requests, rows, matches, strict=True):
                self.met += not request.rows and hits > 0
                request.rows += count
        else:
            right, start = np.zeros(len(row_keys), np.bool_), 0
            for request, count in zip(requests, rows, strict=True):
                part = slice(start, start := start + count)
                right[part] = np.isin(row_keys[part], request.keys)
                self.met += len(distinct(row_keys[part][right[part]]))
                request.rows += count
        self.strays += len(row_keys) - int(np.count_nonzero(right))
        return right

    def cover(self, requests: Sequence[KeyRequest]) -> list[Int64]:
        """EOT for every key of the requests; returns, for each, those that no rival has covered before."""
        for request in requests:
            del self.requests[request.number]
        parts = [request.keys for request in requests]
        keys = parts[0] if len(parts) == 1 else np.concatenate(parts)
        states = self.states(keys)
        if not (states == KeyState.IN_FLIGHT).all():
            parts = [self._in_flight(part) for part in parts]
            keys = np.concatenate(parts)
        self._status.view[keys] = KeyState.COVERED
        return parts

    def covered_by_rival(self, keys: Int64) -> tuple[Int64, list[KeyRequest]]:
        """A rival's EOT for keys: those that were in flight here, and the requests that nothing is left of, now over."""
        keys = self._in_flight(keys)
        self._status.view[keys] = KeyState.COVERED
        over = [
            request
            for request in self.requests.values()
            if len(keys) and (self._status.view[request.keys] == KeyState.COVERED).all()
        ]
        for request in over:
            del self.requests[request.number]
        return keys, over

    def fail(self, request: KeyRequest, reason: str) -> Int64:
        """FAIL or TRUNCATED: returns the keys that failed, those of the request that no rival has covered."""
        del self.requests[request.number]
        keys = self._in_flight(request.keys)
        self._give_up(keys, reason)
        return keys

    def fail_some(self, keys: Int64, reason: str) -> Int64:
        """FAIL or TRUNCATED for some keys of a request that goes on; returns those that no rival has covered."""
        keys = self._in_flight(keys)
        self._give_up(keys, reason)
        return keys

    def _in_flight(self, keys: Int64) -> Int64:
        in_flight: Int64 = keys[self.states(keys) == KeyState.IN_FLIGHT]
        return in_flight

    def give_up_pending(self, reason: str) -> Int64:
        """Fail every key that has not been sent."""
        keys = np.array(self._drain(), np.int64)
        self._give_up(keys, reason)
        return keys

    def drop_pending(self) -> Int64:
        """Forget the keys not sent: something else answers them."""
        keys = np.array(self._drain(), np.int64)
        self._status.view[keys] = KeyState.WANTED
        return keys

    def _give_up(self, keys: Int64, reason: str) -> None:
        self._status.view[keys] = KeyState.FAILED
        for key in keys.tolist():
            self.reasons[key] = reason

    def under_way(self) -> Int64:
        """Keys pending or in flight."""
        return np.flatnonzero(
            (self._status.view == KeyState.PENDING) | (self._status.view == KeyState.IN_FLIGHT)
        )

    def count(self, state: KeyState) -> int:
        """How many keys are in a state."""
        return int(np.count_nonzero(self._status.view == state))
