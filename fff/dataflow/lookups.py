"""The lookups of a block at work: when requests go out, and what becomes of answers and failures.

A batch that is not full waits while more keys may come and little is lost by waiting (`_worth_waiting`). What is slow is
raced (`racing`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from fff.dataflow.access import KeyState, LookupModule, Request, ScanState
from fff.dataflow.arrays import Int64
from fff.dataflow.block import Block
from fff.dataflow.events import (
    CancelLookup,
    Instruction,
    Lookup,
    LookupAnswers,
    LookupEnd,
    LookupFailed,
    LookupRows,
    WakeAt,
)
from fff.dataflow.pace import AnswerTimes, Demand
from fff.dataflow.racing import Races
from fff.dataflow.rivals import Rivals
from fff.dataflow.router import Router


@dataclass(frozen=True)
class LookupOptions:
    """When lookups go out; none of it changes the answer.

    `patience`: how much longer than the block has been running already a key may be kept for a fuller batch, as a share of
    that time; with 1.0 no result comes later than after twice the time it would have taken, with 0.0 batches leave as soon
    as no tuple is left to route. `hedge_after`: answers of a method before its slow requests are raced. `hedge_quantile`:
    the share of answers that are not slow. `hedge_share`: requests that race others at most, as a share of all others sent.
    `slow_s`: seconds below which nothing is slow or stalled, as answers from a cache would make anything else look.
    """

    patience: float = 1.0
    hedge_after: int = 20
    hedge_quantile: float = 0.95
    hedge_share: float = 0.05
    slow_s: float = 0.1


@dataclass
class Method:
    """One lookup method, and what is known of its speed."""

    table: int
    index: int
    module: LookupModule
    times: AnswerTimes
    demand: Demand
    heard_at: float = 0.0  # when anything of an answer came last
    stalled: bool = False  # nothing has come for too long; until something does

    @property
    def batch_size(self) -> int:
        """Keys that a request may carry."""
        return self.module.plan.batch_size

    def heard(self, now: float) -> None:
        """Something of an answer has come."""
        self.heard_at, self.stalled = now, False


class Lookups:
    """Sends lookups and takes in what they answer.

    Args:
        block: the modules.
        router: whose tuples ask for keys and wait for answers.
        ingest: builds rows, as `Eddy._ingest` does.
        out: where instructions are put.
        options: see there.
        paper: the papers' semantics, in which nothing parks.
    """

    def __init__(
        self,
        block: Block,
        router: Router,
        ingest: Callable[..., int],
        out: list[Instruction],
        options: LookupOptions,
        *,
        paper: bool,
    ) -> None:
        self.block = block
        self.router = router
        self.options = options
        self.rivals = Rivals(block)
        self.started_at = 0.0
        self.now = 0.0
        self._ingest = ingest
        self._out = out
        self._paper = paper
        self.methods = [
            Method(table, index, module, AnswerTimes(), Demand())
            for table, modules in enumerate(block.lookups)
            for index, module in enumerate(modules)
        ]
        self._of = {(method.table, method.index): method for method in self.methods}
        self._requests: dict[int, Method] = {}
        self._next_request = 0
        self._races = Races(self)
        self._wake_at = math.inf  # the next time that the runtime has been asked to tell
        self._alarm = math.inf  # when something is to be decided anew

    @property
    def idle(self) -> bool:
        """Nothing pending, nothing in flight."""
        return all(method.module.idle for method in self.methods)

    def pass_time(self, now: float) -> bool:
        """It is `now`; returns whether something is to be decided that was not to be before."""
        self.now = max(self.now, now)
        return self.now >= self._wake_at

    # ---------------------------------------------------------------------------------------------------- requests

    def send(self) -> bool:
        """Send what is due, race what is slow, and ask to be told when that may change.

        Returns whether keys were spared or moved: then perhaps nothing is under way any more.
        """
        if self.block.cancelled:
            return False
        self._alarm = math.inf
        spared = self._send_all()
        if self._races.look():
            spared |= self._send_all()
        if self._wake_at <= self.now:
            self._wake_at = math.inf
        if self._alarm < self._wake_at:
            self._wake_at = self._alarm
            self._out.append(WakeAt(self._alarm))
        return spared

    def _send_all(self) -> bool:
        spared = self._races.divert()
        for method in self.methods:
            spared |= self._send_of(method)
        return spared

    def _send_of(self, method: Method) -> bool:
        module = method.module
        method.demand.look(module.queued_keys, self.now)
        if not module.pending:
            return False
        # A tuple that binds several lookups parks on one of them, and the EOT of another may serve it before its turn.
        several = len(self.block.lookups[method.table]) > 1
        spare = partial(self.router.spare, method.table, method.index) if several else None
        while module.pending and module.room:
            if module.pending < method.batch_size and not module.urgent and self._worth_waiting(method):
                return False
            request = module.next_request(self._next_request, self.now, spare)
            if request is None:
                return True
            method.demand.sent(module.pending)
            self._ask(method, request)
        return False

    def _ask(self, method: Method, request: Request) -> None:
        self._next_request += 1
        self._requests[request.number] = method
        keys = tuple(method.module.values(key) for key in request.keys.tolist())
        self._out.append(Lookup(request.number, method.table, method.index, keys))

    def _worth_waiting(self, method: Method) -> bool:
        """Whether a batch that is not full had better wait for more keys; sets the alarm if only for a time.

        Waiting spares at most the part of a request's seconds that does not depend on its keys, and holds results back. So a
        method's first keys go at once, as do the last ones; in between keys wait in proportion to what waiting may spare
        and to what their results would have taken anyway, and no longer once new keys stay away.
        """
        if self.router.waiting:
            return True  # routing takes no time worth mentioning, and may bring more keys
        if not method.module.issued or not self._may_bring_keys(method.table):
            return False
        since = method.demand.since
        usual = method.times.quantile(0.5)
        patience = self.options.patience * method.times.fixed_share(method.batch_size)
        until = min(since + patience * (since - self.started_at + usual), method.demand.hopeless_at())
        if not until > self.now:
            return False
        self.wake_at(until)
        return True

    def _may_bring_keys(self, table: int) -> bool:
        """Whether anything is under way whose rows may ask for keys of a table."""
        for number, (scans, modules) in enumerate(zip(self.block.scans, self.block.lookups, strict=True)):
            if number == table and len(self.block.stems[table].aliases) == 1:
                continue  # rows of a table do not look for themselves
            if any(scan.state is ScanState.RUNNING and scan.credit for scan in scans):
                return True
            if any(module.requests for module in modules):
                return True
        return False

    def method(self, table: int, index: int) -> Method:
        """A lookup method of the block."""
        return self._of[table, index]

    def wake_at(self, at: float) -> None:
        """Something is to be decided anew at that time."""
        self._alarm = min(self._alarm, at)

    def race(self, method: Method, keys: Int64, *, urgent: bool) -> None:
        """Ask a method at once for keys that nobody has asked it for. There is room for one more request."""
        self._ask(method, method.module.race(self._next_request, keys, self.now, urgent=urgent))

    # ----------------------------------------------------------------------------------------------------- answers

    def asked(self, number: int) -> tuple[int, int, LookupModule, Request] | None:
        """Table, lookup, module and request of a request number; None when it was cancelled."""
        method = self._requests.get(number)
        if method is None:
            return None
        return method.table, method.index, method.module, method.module.requests[number]

    def rows(self, event: LookupRows) -> None:
        """Part of an answer."""
        asked = self.asked(event.request)
        if asked is None:
            return
        table, index, module, request = asked
        self._of[table, index].heard(self.now)
        if not len(event.rows):
            return
        self._answered(table, module, [(request, event.rows)])

    def _answered(
        self, table: int, module: LookupModule, answers: Sequence[tuple[Request, pa.RecordBatch]]
    ) -> None:
        """Build what answers of one lookup method brought. Where rows are compared, answers come one by one (P22)."""
        batches = [rows for _, rows in answers]
        rows = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        numbers = self.block.stems[table].number(rows)
        keys = module.row_keys(numbers)
        ends = np.cumsum([len(batch) for batch in batches])
        right = np.concatenate(
            [
                module.matching(request, keys[end - len(batch) : end])
                for (request, batch), end in zip(answers, ends, strict=True)
            ]
        )
        if not right.all():
            kept = np.flatnonzero(right)
            rows = rows.take(pa.array(kept))
            numbers = {column: values[kept] for column, values in numbers.items()}
        urgent = any(request.urgent for request, _ in answers)
        module.duplicates += self._ingest(table, rows, numbers, answers[0][0].answer, urgent=urgent)

    def answers(self, event: LookupAnswers) -> None:
        """The answers of one turn."""
        together: dict[tuple[int, int], list[tuple[Request, pa.RecordBatch]]] = {}
        for answer in event.rows:
            asked = self.asked(answer.request)
            if asked is None or not len(answer.rows):
                continue
            table, index, _, request = asked
            self._of[table, index].heard(self.now)
            if self.block.stems[table].identity.compares:
                self.rows(answer)
            else:
                together.setdefault((table, index), []).append((request, answer.rows))
        for (table, index), answers in together.items():
            self._answered(table, self.block.lookups[table][index], answers)
        for end in event.ends:
            self.end(end)

    def end(self, event: LookupEnd) -> None:
        """EOT of a request, for its lookup and for every rival."""
        asked = self.asked(event.request)
        if asked is None:
            return
        table, index, module, request = asked
        assert event.rows == request.rows, (
            f"EOT of {module.plan.name} counts {event.rows} rows, {request.rows} came"
        )
        keys = module.cover(request)
        method = self._requests.pop(request.number)
        method.heard(self.now)
        method.times.observe(len(request.keys), event.seconds)
        self.block.stems[table].covered += len(keys)
        self.router.release(table, index, keys, event.seconds)
        self._won(table, index, keys)

    def _won(self, table: int, index: int, keys: Int64) -> None:
        """Nobody needs to answer these keys any more: who has been asked for nothing else is cancelled."""
        for rival, module, same in self.rivals.modules(table, index, keys):
            covered, over = module.covered_by_rival(same)
            for request in over:
                loser = self._requests.pop(request.number)
                age = self.now - request.sent_at
                if age > loser.times.quantile(0.5):  # else it says nothing of what it would have taken
                    loser.times.observe(len(request.keys), age)
                self._out.append(CancelLookup(request.number))
            if len(covered):
                self.router.release(table, rival, covered)

    # ---------------------------------------------------------------------------------------------------- failures

    def failed(self, event: LookupFailed) -> None:
        """A request failed, or its answer was truncated."""
        asked = self.asked(event.request)
        if asked is None:
            return
        table, index, module, request = asked
        del self._requests[request.number]
        self._keys_failed(table, index, module.fail(request, event.reason))

    def _keys_failed(self, table: int, index: int, keys: Int64) -> None:
        """Offer the tuples parked on failed keys to another lookup; what no lookup answers goes missing (P18).

        Where nobody parks and no scan will bring the rows, a rival is asked for the keys themselves.
        """
        self.router.reoffer(table, index, keys)
        stem = self.block.stems[table]
        seeded = any(self.block.plan.aliases[alias].seeds for alias in stem.aliases)
        alone = not self.block.scans[table] and (seeded or self._paper)
        if stem.complete or not (alone or self.block.by_keys[table]):
            return
        lost = np.ones(len(keys), np.bool_)
        for _, module, same in self.rivals.modules(table, index, keys):
            if not self.block.cancelled:
                module.request(same[lost])
            states = module.states(same)
            # A rival that has been asked answers, or comes here itself.
            lost &= (states < KeyState.PENDING) | (states == KeyState.FAILED)
        # What a scan still brings is not missing; what it fails to bring is listed then.
        if alone or self.block.scans_failed(table):
            module = self.block.lookups[table][index]
            for key in keys[lost].tolist():
                self.block.missing.key(table, index, module, key, module.reasons[key])

    def read_by_keys(self, table: int) -> None:
        """From now on, and for everything that has asked so far, ask this table by key (P21)."""
        self.block.by_keys[table] = True
        for index, module in enumerate(self.block.lookups[table]):
            module.request(module.wanted())
            self._keys_failed(table, index, np.array(list(module.reasons), np.int64))

    def cancel(self, table: int) -> None:
        """Nothing that lookups of a table could bring is needed any more."""
        for module in self.block.lookups[table]:
            module.drop_pending()
            for request in list(module.requests.values()):
                module.fail(request, "not needed")
                self._forget(request)

    def give_up(self, reason: str) -> None:
        """Ask for nothing more: every key without an answer has failed."""
        for method in self.methods:
            keys = [method.module.give_up_pending(reason)]
            for request in list(method.module.requests.values()):
                keys.append(method.module.fail(request, reason))
                self._forget(request)
            self._keys_failed(method.table, method.index, np.concatenate(keys))

    def _forget(self, request: Request) -> None:
        del self._requests[request.number]
        self._out.append(CancelLookup(request.number))

    def validate(self) -> None:
        """Assert that every request is known to its module, and the other way round."""
        for number, method in self._requests.items():
            assert number in method.module.requests
        assert len(self._requests) == sum(len(method.module.requests) for method in self.methods)
        hedged = sum(method.module.hedged for method in self.methods)
        assert self._races.hedged == hedged
        others = sum(method.module.issued for method in self.methods) - hedged
        assert hedged <= self.options.hedge_share * others, "I6: more requests race others than may"
