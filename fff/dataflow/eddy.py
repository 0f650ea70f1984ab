"""The eddy: a pure state machine that routes batches of tuples among access modules, SteMs and selection modules.

`handle(event) -> instructions` is the only door. No I/O, no clock, no global randomness: the same events, policy and
seed give the same run. Execution semantics: parked probers (ledger section 5); `semantics="paper"` gives the rules of
S4 Table 2 with feasible-only routing, where every row probes and nothing parks. Both give the same bag.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from fff.dataflow import inside
from fff.dataflow.access import ScanState
from fff.dataflow.arrays import Int64
from fff.dataflow.batch import TupleBatch
from fff.dataflow.block import Block
from fff.dataflow.events import (
    Cancel,
    Emit,
    Event,
    FetchPages,
    Finish,
    Instruction,
    LookupAnswers,
    LookupEnd,
    LookupFailed,
    LookupRows,
    Prioritize,
    Route,
    ScanEnd,
    ScanFailed,
    ScanRows,
    ScanStalled,
    Start,
    StopScan,
    TimePassed,
)
from fff.dataflow.expressions import Column
from fff.dataflow.identity import Answer
from fff.dataflow.lookups import LookupOptions, Lookups
from fff.dataflow.partial import PartialTuples, partial_tuples
from fff.dataflow.plan import BlockPlan
from fff.dataflow.policy import RoutingPolicy
from fff.dataflow.queue import Pick, WaitingTuples
from fff.dataflow.router import Router
from fff.limits import HELD_TUPLES
from fff.stats import Missing

Semantics = Literal["parked", "paper"]


@dataclass(frozen=True)
class EddyOptions:
    """How an eddy runs; none of it changes the answer.

    `route_size`: tuples routed together at most; 1 is the papers' eddy. `pick`: which waiting batch goes next (fuzzing);
    None routes the furthest-travelled first. `start_all_scans`: run competing scans at once instead of on failure or
    stall. `scan_credit`: pages a scan may be ahead. `max_lookup_window`: requests per lookup method under way at most.
    `lookups`: when lookups go out.
    """

    semantics: Semantics = "parked"
    route_size: int = 4096
    pick: Pick | None = None
    start_all_scans: bool = False
    scan_credit: int = 2
    max_lookup_window: int | None = None
    lookups: LookupOptions = field(default_factory=LookupOptions)


class Eddy:
    """One select-project-join block in execution."""

    def __init__(
        self,
        plan: BlockPlan,
        policy: RoutingPolicy,
        rng: random.Random,
        options: EddyOptions = EddyOptions(),
    ) -> None:
        self.options = options
        self.block = Block(plan, all_fire=options.semantics == "paper", max_window=options.max_lookup_window)
        self.router = Router(self.block, policy, rng, WaitingTuples(options.route_size, options.pick))
        self._held: set[tuple[int, int]] = set()  # scans whose next credit is due
        self._sequence = 0
        self._out: list[Instruction] = []
        self.lookups = Lookups(
            self.block,
            self.router,
            self._ingest,
            self._out,
            options.lookups,
            paper=options.semantics == "paper",
        )
        self.started = False
        self.finished = False

    def handle(self, event: Event) -> list[Instruction]:
        """Take in one event; returns what the runtime shall do."""
        if self.finished:
            return []
        match event:
            case Route():
                self.router.route()
            case ScanRows():
                self._scan_rows(event)
            case LookupRows():
                self.lookups.rows(event)
            case LookupEnd():
                self.lookups.end(event)
            case LookupAnswers():
                self.lookups.answers(event)
            case ScanEnd():
                self._scan_end(event)
            case LookupFailed():
                self.lookups.failed(event)
            case ScanFailed():
                self._scan_failed(event)
            case ScanStalled():
                self._scan_stalled(event)
            case TimePassed():
                if not self.lookups.pass_time(event.now):
                    return []
            case Prioritize():
                self.router.prioritize(event.predicates)
            case Cancel():
                self._cancel(event.reason)
            case Start():
                self._start()
        if not isinstance(event, Route):
            self.router.waiting.resume()
        self._out.extend(Emit(batch) for batch in self.router.taken())
        self._finish_if_done()
        if not self.finished:
            self._give_credit()
            if self.lookups.send():  # tuples have left: what they held back goes on
                self.router.waiting.resume()
                self._give_credit()
                self._finish_if_done()
        out = self._out.copy()
        self._out.clear()
        return out

    @property
    def has_work(self) -> bool:
        """A batch is waiting: feed `Route()`."""
        return bool(self.router.waiting) and not self.finished

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The parts of tables the answer does not rest on."""
        return self.block.missing.listed()

    def gather(self, batch: TupleBatch) -> pa.RecordBatch:
        """The block's output columns of result tuples, in the plan's order."""
        return self.block.gather(batch)

    def row_ids(self, batch: TupleBatch) -> list[Int64]:
        """Row numbers by alias, the identity of result tuples."""
        return [batch.rows[alias] for alias in range(len(self.block.plan.aliases))]

    def partial_rows(self, limit: int) -> tuple[tuple[object, ...], ...]:
        """Waiting tuples as result rows, MISSING where a table has not answered yet (H9); at most `limit` of them."""
        return () if self.finished else inside.partial_rows(self.router, limit)

    def partial_tuples(self, required: Iterable[int], limit: int) -> tuple[PartialTuples, ...]:
        """As Arrow tables: tuples in which these output columns are known (P37); none once the end is near."""
        return () if self.finished or self.block.cancelled else partial_tuples(self.router, required, limit)

    def open_values(self, columns: Sequence[Column]) -> pa.Table | None:
        """What further results may have in these columns, each combination once; None while it may be anything.

        An empty table: no further result. Once a combination is missing from an answer, it comes no more.
        """
        if not self.started:
            return None
        return inside.open_values(self.router, columns)

    def _start(self) -> None:
        assert not self.started
        self.started = True
        self.lookups.started_at = self.lookups.now
        if self.block.plan.limit == 0:
            return
        for table, scans in enumerate(self.block.scans):
            for index in range(len(scans) if self.options.start_all_scans else min(1, len(scans))):
                self._start_scan(table, index)
        for alias in self.block.plan.aliases:
            for seed in alias.seeds:
                module = self.block.lookups[alias.table][seed.lookup]
                for key in seed.keys:
                    if all(value is not None for value in key):
                        numbers = [
                            self.block.constant(alias.table, column, value)
                            for column, value in zip(module.plan.columns, key, strict=True)
                        ]
                        module.request(module.keys([np.array([number]) for number in numbers]))
        if self.router.priorities is not None:
            self.router.hurry()

    def _start_scan(self, table: int, index: int) -> None:
        scan = self.block.scans[table][index]
        scan.state = ScanState.RUNNING
        scan.credit = self.options.scan_credit
        self._out.append(FetchPages(table, index, scan.credit))

    def _scan_rows(self, event: ScanRows) -> None:
        scan = self.block.scans[event.table][event.index]
        if scan.state is not ScanState.RUNNING:
            return
        assert scan.credit > 0, "a page without credit"
        scan.credit -= 1
        scan.pages += 1
        scan.rows += len(event.rows)
        scan.stalled = False
        self._held.add((event.table, event.index))
        numbers = self.block.stems[event.table].number(event.rows)
        scan.duplicates += self._ingest(event.table, event.rows, numbers, scan.answer)

    def _give_credit(self) -> None:
        """Hold scans back while too many tuples wait; nothing else is ever held back (design: back-pressure).

        A scan that parked tuples wait for is not: they would wait for ever.
        """
        if not self._held:
            return
        full = self.router.waiting.tuples + self.router.parked_tuples() > HELD_TUPLES
        for table, index in sorted(self._held):
            if full and not self.block.awaited[table]:
                continue
            self._held.remove((table, index))
            scan = self.block.scans[table][index]
            if scan.state is ScanState.RUNNING:
                count = self.options.scan_credit - scan.credit
                scan.credit += count
                self._out.append(FetchPages(table, index, count))

    def _scan_end(self, event: ScanEnd) -> None:
        scan = self.block.scans[event.table][event.index]
        if scan.state is not ScanState.RUNNING:
            return
        assert event.rows == scan.rows, f"EOT of {scan.plan.name} counts {event.rows} rows, {scan.rows} came"
        scan.state = ScanState.COMPLETE
        stem = self.block.stems[event.table]
        stem.complete = True
        self.router.scans_over(event.table)
        for index, other in enumerate(self.block.scans[event.table]):
            if other.state is ScanState.RUNNING:
                self._stop_scan(event.table, index)
        self.lookups.cancel(event.table)  # everything a lookup could bring is here
        if any(not stem.alias_rows[alias] for alias in stem.aliases):
            # An inner join with nothing is nothing (P28b): no other answer is needed.
            self._stop_everything()
            self.block.missing.clear()

    def _stop_scan(self, table: int, index: int) -> None:
        self.block.scans[table][index].state = ScanState.STOPPED
        self._out.append(StopScan(table, index))

    def _scan_failed(self, event: ScanFailed) -> None:
        scan = self.block.scans[event.table][event.index]
        if scan.state is not ScanState.RUNNING:
            return
        scan.state, scan.reason = ScanState.FAILED, event.reason
        if not self._next_scan(event.table) and not any(
            other.state is ScanState.RUNNING for other in self.block.scans[event.table]
        ):
            self.router.scans_over(event.table)
            self._read_by_keys(event.table)
            if not self._recovered(event.table):
                self.block.missing.scan(event.table, event.reason)

    def _scan_stalled(self, event: ScanStalled) -> None:
        scan = self.block.scans[event.table][event.index]
        if scan.state is ScanState.RUNNING and not scan.stalled:
            scan.stalled = True
            if not self._next_scan(event.table):
                self._read_by_keys(event.table)

    def _next_scan(self, table: int) -> bool:
        """Start a competing scan that has not been used, if there is one."""
        for index, scan in enumerate(self.block.scans[table]):
            if scan.state is ScanState.UNUSED:
                self._start_scan(table, index)
                return True
        return False

    def _recovered(self, table: int) -> bool:
        """Whether lookups bring everything that the failed scans of a table would have brought."""
        return all(
            alias in self.block.constraints.guarded or self.block.plan.aliases[alias].seeds
            for alias in self.block.stems[table].aliases
            if self.block.plan.aliases[alias].active
        )

    def _read_by_keys(self, table: int) -> None:
        """From now on, and for everything that has asked so far, ask this table by key (P21)."""
        self.lookups.read_by_keys(table)
        if self.router.priorities is not None:
            self.router.hurry()

    def _ingest(
        self,
        table: int,
        rows: pa.RecordBatch,
        numbers: dict[int, Int64],
        answer: Answer,
        *,
        urgent: bool = False,
    ) -> int:
        """Build arriving rows (rule 1) and let them join the dataflow; returns how many were duplicates."""
        stem = self.block.stems[table]
        if not len(rows):
            return 0
        duplicates = stem.duplicates
        passes = {alias: self.block.selections.arriving(alias, rows, numbers) for alias in stem.aliases}
        new, self._sequence = stem.build(rows, numbers, passes, answer, self._sequence)
        for alias in stem.aliases if len(new) else ():
            mask = stem.passing(alias, new)
            mine = new if mask is None else new[mask]
            if len(mine):
                self.router.arrive(alias, mine, urgent=urgent)
        return stem.duplicates - duplicates

    def _cancel(self, reason: str) -> None:
        """Stop fetching; what is here is still joined, what is not goes missing."""
        if self.block.cancelled:
            return
        self.block.cancelled = True
        self.block.missing.cancelled = reason
        for table, scans in enumerate(self.block.scans):
            for index, scan in enumerate(scans):
                if scan.state is ScanState.RUNNING:
                    self._stop_scan(table, index)
                    scan.state = ScanState.FAILED
            self.router.scans_over(table)
            if scans and not self.block.stems[table].complete:
                self.block.missing.scan(table, reason)
        self.lookups.give_up(reason)

    def _stop_everything(self) -> None:
        for table, scans in enumerate(self.block.scans):
            for index, scan in enumerate(scans):
                if scan.state is ScanState.RUNNING:
                    self._stop_scan(table, index)
            self.lookups.cancel(table)
        self.router.drop()

    def _finish_if_done(self) -> None:
        limit = self.block.plan.limit
        if self.started and limit is not None and self.router.emitted >= limit:
            self._stop_everything()
            self.block.missing.clear()  # any n rows are the whole answer
            self.finished = True
            self._out.append(Finish(complete=True, reason="limit"))
        elif self.started and not self.router.waiting and self._quiet():
            assert not self.router.parked_tuples(), "tuples are parked and nothing is under way"
            self.finished = True
            missing = bool(self.block.missing)
            reason: Literal["done", "cancelled", "failed"] = "done"
            if missing:
                reason = "cancelled" if self.block.cancelled else "failed"
            self._out.append(Finish(complete=not missing, reason=reason))

    def _quiet(self) -> bool:
        """No scan is running and no lookup is pending or in flight."""
        running = any(scan.state is ScanState.RUNNING for scans in self.block.scans for scan in scans)
        return not running and self.lookups.idle

    def validate(self) -> None:
        """Assert every internal invariant (ledger section 6); cheap enough for tests, not called in production."""
        self.router.validate()
        for stem in self.block.stems:
            assert stem.duplicates >= 0
            assert all(column.length == len(stem) for column in stem.columns)
            assert all(known.length == len(stem) for known in stem.numbers.values())
            if len(stem) > 1:
                assert (np.diff(stem.sequence.view) > 0).all(), "sequence numbers ascend"
            assert all(len(stem.index(column)) <= len(stem) for column in stem.numbers)
        self.lookups.validate()
        if self.finished:
            assert not self.router.waiting
            assert not self.router.parked_tuples()
