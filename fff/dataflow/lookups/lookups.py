"""The lookups of a block at work: when requests go out, and what becomes of answers and failures.

A batch that is not full waits while more keys may come and little is lost by waiting (`_worth_waiting`). What is slow is
raced (`hedging`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Int64
from fff.dataflow.lookups.access import KeyRequest, KeyState, LookupModule, ScanState
from fff.dataflow.lookups.hedging import Races
from fff.dataflow.lookups.methods import CHEAP_PATIENCE, LookupOptions, Method, Methods, RunClock
from fff.dataflow.modules import Block
from fff.dataflow.plan.events import CancelLookup, Instruction, LookupEnd, LookupFailed, LookupRows
from fff.dataflow.routing.router import Router


class Lookups:
    """Sends lookups and takes in what they answer.

    Args:
        block: the modules.
        router: whose tuples ask for keys and wait for answers.
        ingest: builds rows, as `Eddy._ingest` does.
        options: see there.
        paper: the papers' semantics, in which nothing parks.
    """

    def __init__(
        self,
        block: Block,
        router: Router,
        ingest: Callable[..., int],
        options: LookupOptions,
        *,
        paper: bool,
    ) -> None:
        self.block = block
        self.router = router
        self.options = options
        self.clock = RunClock()
        self.methods = Methods(block)
        self._ingest = ingest
        self._paper = paper
        self._races = Races(self.methods, self.clock, router, options)

    @property
    def idle(self) -> bool:
        """Nothing pending, nothing in flight."""
        return all(method.module.idle for method in self.methods.all)

    # ---------------------------------------------------------------------------------------------------- requests

    def send(self) -> tuple[list[Instruction], bool]:
        """Send what is due, race what is slow, and ask to be told when that may change.

        Also returns whether keys were spared or moved: then perhaps nothing is under way any more.
        """
        if self.block.cancelled:
            return [], False
        self.clock.calm()
        out, spared = self._send_all()
        raced, stalled = self._races.look()
        out += raced
        if stalled:
            more, moved = self._send_all()
            out += more
            spared |= moved
        out += self.clock.ask()
        return out, spared

    def _send_all(self) -> tuple[list[Instruction], bool]:
        out: list[Instruction] = []
        spared = self._races.divert()
        for method in self.methods.all:
            sent, some = self._send_of(method)
            out += sent
            spared |= some
        return out, spared

    def _send_of(self, method: Method) -> tuple[list[Instruction], bool]:
        module = method.module
        method.demand.look(module.queued_keys, self.clock.now)
        if not module.pending or not module.room:
            return [], False
        sent: list[KeyRequest] = []
        spared = False
        needed = 0  # keys that have their turn, and somebody alive waits for
        pending = module.pending
        while pending and module.room:
            if pending < method.batch_size and not module.urgent and self._worth_waiting(method):
                break
            if method.thrifty(self.options) and self._may_suffice():
                break
            if needed <= 0:
                keys = module.next_keys()
                idle = keys[self.router.spare(method.table, method.index, keys)]
                module.spare(idle)
                needed, spared, pending = len(keys) - len(idle), spared or len(idle) > 0, module.pending
                if not needed:
                    continue
            request = module.next_request(self.methods.next_request, self.clock.now)
            assert request is not None
            needed -= len(request.keys)
            pending = module.pending
            method.demand.sent(pending)
            sent.append(self.methods.send(method, request))
        return [*self.methods.instructions(method, sent)], spared

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
        patience = CHEAP_PATIENCE if method.thrifty(self.options) else self.options.patience
        patience *= method.times.fixed_share(method.batch_size)
        until = min(since + patience * (since - self.clock.started_at + usual), method.demand.hopeless_at())
        if not until > self.clock.now:
            return False
        self.clock.wake_at(until)
        return True

    def _may_suffice(self) -> bool:
        """Whether the keys under way may bring all rows that LIMIT wants, so that more of them are spared.

        A row for each key of every table that is looked up, until answers say that it is fewer; nothing of a request that
        takes twice as long as any before it.
        """
        limit, emitted = self.block.plan.limit, self.router.emitted
        if limit is None:
            return False
        if self.router.waiting:
            return True  # routing takes no time worth mentioning, and may bring results
        keys = answered = 0
        for method in self.methods.all:
            answered += method.module.asked
            longest = (
                2 * max(method.times.quantile(1.0), self.options.slow_s) if method.times.count else math.inf
            )
            for request in method.module.requests.values():
                answered -= len(request.keys)
                if (late := request.sent_at + longest) > self.clock.now:
                    keys += len(request.keys)
                    self.clock.wake_at(late)
        believed = limit * sum(map(bool, self.block.lookups))
        share = min(1.0, (emitted + limit) / limit * believed / (answered + believed))
        return keys * share >= limit - emitted

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

    # ----------------------------------------------------------------------------------------------------- answers

    def asked(self, number: int) -> tuple[int, int, LookupModule, KeyRequest] | None:
        """Table, lookup, module and request of a request number; None when it was cancelled."""
        method = self.methods.sender(number)
        if method is None:
            return None
        return method.table, method.index, method.module, method.module.requests[number]

    def rows(self, event: LookupRows) -> list[Instruction]:
        """Part of an answer."""
        asked = self.asked(event.request)
        if asked is not None:
            table, index, module, request = asked
            self.methods.of(table, index).heard(self.clock.now)
            if len(event.rows):
                self._build_answers(table, module, [(request, event.rows)])
        return []

    def _build_answers(
        self, table: int, module: LookupModule, answers: Sequence[tuple[KeyRequest, pa.RecordBatch]]
    ) -> None:
        """Build what answers of one lookup method brought. Where rows are compared, answers come one by one (P22)."""
        batches = [rows for _, rows in answers]
        rows = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        numbers = self.block.stems[table].number(rows)
        keys = module.row_keys(numbers)
        right = module.matching([request for request, _ in answers], [len(batch) for batch in batches], keys)
        if not right.all():
            kept = np.flatnonzero(right)
            rows = rows.take(pa.array(kept))
            numbers = {column: values[kept] for column, values in numbers.items()}
        urgent = any(request.urgent for request, _ in answers)
        module.duplicates += self._ingest(table, rows, numbers, answers[0][0].answer, urgent=urgent)

    def answers(self, parts: Sequence[LookupRows]) -> None:
        """The rows of the answers of one turn."""
        together: dict[tuple[int, int], list[tuple[KeyRequest, pa.RecordBatch]]] = {}
        for answer in parts:
            asked = self.asked(answer.request)
            if asked is None or not len(answer.rows):
                continue
            table, index, _, request = asked
            self.methods.of(table, index).heard(self.clock.now)
            if self.block.stems[table].identity.by_answer:
                self.rows(answer)
            else:
                together.setdefault((table, index), []).append((request, answer.rows))
        for (table, index), answers in together.items():
            self._build_answers(table, self.block.lookups[table][index], answers)

    def ends(self, events: Sequence[LookupEnd]) -> list[Instruction]:
        """EOTs of requests, for their lookups and for every rival."""
        out: list[Instruction] = []
        together: list[tuple[KeyRequest, LookupEnd]] = []
        of: Method | None = None
        for event in events:
            method = self.methods.sender(event.request)
            if method is None:
                continue
            if of is not None and (method is not of or self.methods.rivals.of(of.table, of.index)):
                out += self._ended(of, together)  # what a rival wins may end those that follow
                together = []
                if self.methods.sender(event.request) is None:
                    continue
            of = method
            together.append((method.module.requests[event.request], event))
        return out if of is None else out + self._ended(of, together)

    def _ended(self, method: Method, ended: Sequence[tuple[KeyRequest, LookupEnd]]) -> list[Instruction]:
        """EOTs of requests of one method."""
        if not ended:
            return []
        table, index, module = method.table, method.index, method.module
        method.heard(self.clock.now)
        limiter = self.block.limiters[table][index]
        seconds = []
        for request, event in ended:
            assert event.rows == request.rows, (
                f"EOT of {module.plan.name} counts {event.rows} rows, {request.rows} came"
            )
            self.methods.over(request)
            method.times.observe(len(request.keys), event.seconds)
            limiter.observe_quota(event.left, event.each_s)
            seconds.append(limiter.served(request, event.seconds))
        module.answered += len(ended)
        module.served_s += sum(seconds)
        parts = module.cover([request for request, _ in ended])
        keys = parts[0] if len(parts) == 1 else np.concatenate(parts)
        self.block.stems[table].covered += len(keys)
        self.router.release(table, index, keys, [len(part) for part in parts], seconds)
        return self._won(table, index, keys)

    def _won(self, table: int, index: int, keys: Int64) -> list[Instruction]:
        """Nobody needs to answer these keys any more: who has been asked for nothing else is cancelled."""
        out: list[Instruction] = []
        for rival, module, same in self.methods.rivals.modules(table, index, keys):
            covered, over = module.covered_by_rival(same)
            for request in over:
                loser = self.methods.over(request)
                age = self.clock.now - request.sent_at
                if age > loser.times.quantile(0.5):  # else it says nothing of what it would have taken
                    loser.times.observe(len(request.keys), age)
                out.append(CancelLookup(request.number))
            if len(covered):
                self.router.release(table, rival, covered, [len(covered)], [0.0])
        return out

    # ---------------------------------------------------------------------------------------------------- failures

    def failed(self, event: LookupFailed) -> list[Instruction]:
        """A request failed, or its answer was truncated: all of it, or as far as some of its keys go."""
        asked = self.asked(event.request)
        if asked is not None:
            table, index, module, request = asked
            if event.places:
                keys = module.fail_some(request.keys[list(event.places)], event.reason)
            else:
                self.methods.over(request)
                keys = module.fail(request, event.reason)
            self._keys_failed(table, index, keys)
        return []

    def _keys_failed(self, table: int, index: int, keys: Int64) -> None:
        """Offer the tuples parked on failed keys to another lookup; what no lookup answers goes missing (P18).

        Where nobody parks and no scan will bring the rows, a rival is asked for the keys themselves.
        """
        self.router.reoffer(table, index, keys)
        stem = self.block.stems[table]
        seeded = any(self.block.plan.aliases[alias].seeds for alias in stem.aliases)
        alone = not self.block.scans[table] and (seeded or self._paper)
        fires = any(self.block.fires[alias] for alias in stem.aliases)
        if stem.complete or not fires or not (alone or self.block.by_keys[table]):
            return
        lost = ~self.router.held.keys(table, self.block.lookups[table][index], keys)
        for _, module, same in self.methods.rivals.modules(table, index, keys):
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
            wanted = module.wanted()
            module.request(wanted[~self.router.held.keys(table, module, wanted)])
            self._keys_failed(table, index, np.array(list(module.reasons), np.int64))

    def cancel(self, table: int) -> list[Instruction]:
        """Nothing that lookups of a table could bring is needed any more."""
        out: list[Instruction] = []
        for module in self.block.lookups[table]:
            module.drop_pending()
            for request in list(module.requests.values()):
                module.fail(request, "not needed")
                out.append(self._forget(request))
        return out

    def give_up(self, reason: str) -> list[Instruction]:
        """Ask for nothing more: every key without an answer has failed."""
        out: list[Instruction] = []
        for method in self.methods.all:
            keys = [method.module.give_up_pending(reason)]
            for request in list(method.module.requests.values()):
                keys.append(method.module.fail(request, reason))
                out.append(self._forget(request))
            self._keys_failed(method.table, method.index, np.concatenate(keys))
        return out

    def _forget(self, request: KeyRequest) -> CancelLookup:
        self.methods.over(request)
        return CancelLookup(request.number)

    def validate(self) -> None:
        """Assert that the books of the requests agree, and that no more of them race others than may."""
        self.methods.validate()
        hedged = self.methods.hedged
        others = sum(method.module.issued for method in self.methods.all) - hedged
        assert hedged <= self.options.hedge_share * others, "I6: more requests race others than may"
