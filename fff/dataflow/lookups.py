"""The lookups of a block at work: when requests go out, when a slow one is raced, what becomes of answers and failures.

A batch that is not full waits while more keys may come and little is lost by waiting (`_worth_waiting`). A request that has
run for longer than almost all of its method is raced by a rival that answers the same keys: the EOT that comes first covers
them for both, and row identity absorbs what the other one had brought (Dean & Barroso, The Tail at Scale, CACM 2013).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
from fff.dataflow.rivals import Rivals
from fff.dataflow.router import Router


@dataclass(frozen=True)
class LookupOptions:
    """When lookups go out; none of it changes the answer.

    `patience`: how much longer than the block has been running already a key may be kept for a fuller batch, as a share of
    that time; with 1.0 no result comes later than after twice the time it would have taken, with 0.0 batches leave as soon
    as no tuple is left to route. `hedge_after`: answers of a method before its slow requests are raced. `hedge_quantile`:
    the share of answers that are not slow. `hedge_share`: requests that race others at most, as a share of all others sent.
    """

    patience: float = 1.0
    hedge_after: int = 20
    hedge_quantile: float = 0.95
    hedge_share: float = 0.05


@dataclass
class _Method:
    """One lookup method, and what is known of its speed."""

    table: int
    index: int
    module: LookupModule
    times: AnswerTimes
    demand: Demand


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
        self.hedged = 0  # requests that race others
        self._ingest = ingest
        self._out = out
        self._paper = paper
        self._methods = [
            _Method(table, index, module, AnswerTimes(), Demand())
            for table, modules in enumerate(block.lookups)
            for index, module in enumerate(modules)
        ]
        self._of = {(method.table, method.index): method for method in self._methods}
        self._requests: dict[int, _Method] = {}
        self._next_request = 0
        self._wake_at = math.inf  # the next time that the runtime has been asked to tell
        self._alarm = math.inf  # when something is to be decided anew

    @property
    def idle(self) -> bool:
        """Nothing pending, nothing in flight."""
        return all(method.module.idle for method in self._methods)

    # ---------------------------------------------------------------------------------------------------- requests

    def send(self) -> None:
        """Send what is due, race what is slow, and ask to be told when that may change."""
        if self.block.cancelled:
            return
        self._alarm = math.inf
        for method in self._methods:
            self._send_of(method)
        for method in self._methods:
            if method.module.requests and self.rivals.of(method.table, method.index):
                self._race_slow(method)
        if self._wake_at <= self.now:
            self._wake_at = math.inf
        if self._alarm < self._wake_at:
            self._wake_at = self._alarm
            self._out.append(WakeAt(self._alarm))

    def _send_of(self, method: _Method) -> None:
        module = method.module
        method.demand.look(module.queued_keys, self.now)
        while module.pending and module.room:
            if module.pending < module.plan.batch_size and not module.urgent and self._worth_waiting(method):
                return
            request = module.next_request(self._next_request, self.now)
            assert request is not None, "a key is pending and there is room"
            method.demand.sent(module.pending)
            self._ask(method, request)

    def _ask(self, method: _Method, request: Request) -> None:
        self._next_request += 1
        self._requests[request.number] = method
        keys = tuple(method.module.values(key) for key in request.keys.tolist())
        self._out.append(Lookup(request.number, method.table, method.index, keys))

    def _worth_waiting(self, method: _Method) -> bool:
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
        patience = self.options.patience * method.times.fixed_share(method.module.plan.batch_size)
        until = min(since + patience * (since - self.started_at + usual), method.demand.hopeless_at())
        if not until > self.now:
            return False
        self._alarm = min(self._alarm, until)
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

    # ------------------------------------------------------------------------------------------------------- races

    def _race_slow(self, method: _Method) -> None:
        if method.times.count < self.options.hedge_after:
            return
        slow = method.times.quantile(self.options.hedge_quantile)
        for request in list(method.module.requests.values()):
            if request.raced:
                continue
            if not self._hedges_left():
                return
            if request.sent_at + slow > self.now:
                self._alarm = min(self._alarm, request.sent_at + slow)
                return  # those sent later are due later
            self._race(method, request)

    def _race(self, method: _Method, request: Request) -> None:
        """Ask a rival for the keys of a slow request, if one may be asked."""
        for rival in self.rivals.of(method.table, method.index):
            other = self._of[method.table, rival]
            sooner = request.sent_at + other.times.quantile(0.5)
            if sooner > self.now:
                # What has taken so long will take about as long again: before, the rival would hardly be sooner.
                self._alarm = min(self._alarm, sooner)
                continue
            most = min(other.module.room, self._hedges_left())
            if most > 0 and self._race_by(method, request, other, most):
                return

    def _race_by(self, method: _Method, request: Request, other: _Method, most: int) -> bool:
        """Ask for what of a slow request nobody has asked the other method for, if that takes so many requests at most."""
        keys = self.rivals.same_keys(method.table, method.index, request.keys, other.index)
        fresh = keys[other.module.states(keys) < KeyState.PENDING]
        size = other.module.plan.batch_size
        parts = [fresh[start : start + size] for start in range(0, len(fresh), size)]
        if not 0 < len(parts) <= most:
            return False
        request.raced = True
        self.hedged += len(parts)
        for part in parts:
            self._ask(other, other.module.race(self._next_request, part, self.now, urgent=request.urgent))
        return True

    def _hedges_left(self) -> int:
        others = sum(method.module.issued for method in self._methods) - self.hedged
        return math.floor(self.options.hedge_share * others) - self.hedged

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
        if asked is None or not len(event.rows):
            return
        table, _, module, request = asked
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
        self._requests.pop(request.number).times.observe(len(request.keys), event.seconds)
        self.block.stems[table].covered += len(keys)
        self.router.release(table, index, keys, event.seconds)
        self._won(table, index, keys)

    def _won(self, table: int, index: int, keys: Int64) -> None:
        """Nobody needs to answer these keys any more: who has been asked for nothing else is cancelled."""
        for rival, module, same in self.rivals.modules(table, index, keys):
            covered, over = module.covered_by_rival(same)
            for request in over:
                loser = self._requests.pop(request.number)
                loser.times.observe(len(request.keys), self.now - request.sent_at)
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
        for method in self._methods:
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
        assert len(self._requests) == sum(len(method.module.requests) for method in self._methods)
        assert self.hedged == sum(method.module.hedged for method in self._methods)
