"""The eddy: a pure state machine that routes batches of tuples among access modules, SteMs and selection modules.

`handle(event) -> instructions` is the only door. No I/O, no clock, no global randomness: the same events, policy and
seed give the same run. Execution semantics: parked probers (ledger section 5); `semantics="paper"` gives the rules of
S4 Table 2 with feasible-only routing, where every row probes and nothing parks. Both give the same bag.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from fff.dataflow import in_flight
from fff.dataflow.arrays import Int64
from fff.dataflow.lookups.access import ScanState
from fff.dataflow.lookups.lookups import Lookups
from fff.dataflow.lookups.methods import LookupOptions
from fff.dataflow.lookups.scan_or_constants import ScanOrConstants
from fff.dataflow.modules import Block
from fff.dataflow.partial import PartialTuples, partial_tuples
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.events import (
    Cancel,
    Emit,
    Enough,
    Event,
    Finish,
    Halt,
    Instruction,
    LookupAnswers,
    LookupEnd,
    LookupFailed,
    LookupRows,
    Prioritize,
    Route,
    ScanCovered,
    ScanEnd,
    ScanFailed,
    ScanPartFailed,
    ScanRows,
    ScanStalled,
    Start,
    TimePassed,
)
from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.extents import ALL
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.dataflow.routing.flow import FlowStatistics
from fff.dataflow.routing.queue import Pick, WaitingTuples
from fff.dataflow.routing.router import Router
from fff.dataflow.scans import Scans
from fff.dataflow.statistics import BlockStatistics, statistics
from fff.dataflow.store.identity import Answer
from fff.stats import Missing
from fff.structs import Struct, field

Semantics = Literal["parked", "paper"]
#: What access modules tell: taken in one after the other, each once the rows before it have met all who wait for them.
_SOURCE_EVENTS: tuple[type, ...] = (ScanRows, ScanEnd, ScanCovered, ScanPartFailed, ScanFailed, ScanStalled)
_SOURCE_EVENTS += (LookupRows, LookupEnd, LookupAnswers, LookupFailed)


class EddyOptions(Struct, frozen=True):
    """How an eddy runs; none of it changes the answer.

    `route_size`: tuples routed together at most, None for the more the more have been; 1 is the papers' eddy. `pick`: which
    waiting batch goes next (fuzzing); None routes the furthest-travelled first. `scan_credit`: pages a scan may be ahead, or `scan_rows` where its pages are small.
    `hold_constants`: keys that constants ask for wait where a scan may take fewer requests. `max_lookup_window`: requests per lookup method under way at most.
    `lookups`: when lookups go out. `prunes`: keys for which only tuples wait that no result can hold are not asked for.
    """

    semantics: Semantics = "parked"
    route_size: int | None = None
    pick: Pick | None = None
    hold_constants: bool = True
    scan_credit: int = 2
    scan_rows: int = 0
    max_lookup_window: int | None = None
    prunes: bool = True
    lookups: LookupOptions = field(default_factory=LookupOptions)


class Eddy:
    """One select-project-join block in execution."""

    def __init__(
        self,
        plan: BlockPlan,
        policy: RoutingPolicy,
        rng: random.Random,
        options: EddyOptions = EddyOptions(),  # noqa: B008 - which cannot be changed
    ) -> None:
        self.options = options
        self.block = Block(plan, all_fire=options.semantics == "paper", max_window=options.max_lookup_window)
        waiting = WaitingTuples(options.route_size, options.pick)
        self.router = Router(self.block, policy, rng, waiting, prunes=options.prunes)
        self.spill, self.grown = self.block.spill, self.block.grown
        self.forget = self.router.forget
        self._choice = ScanOrConstants(self.block)
        self._sequence = 0
        self._later: deque[Event] = deque()  # told while rows that came before are still at work
        self.lookups = Lookups(
            self.block, self.router, self._ingest, options.lookups, paper=options.semantics == "paper"
        )
        self.scans = Scans(
            self.block,
            self.router,
            self.lookups.clock,
            self._choice,
            policy=policy,
            credit=options.scan_credit,
            rows=options.scan_rows,
        )
        self.started = False
        self._enough = False
        self.finished = False

    @property
    def only_joins_scans(self) -> bool:
        """Whether all that is done with rows of sources is to join those of scans."""
        plan = self.block.plan
        return len(plan.aliases) > 1 and not any(table.lookups for table in plan.tables)

    def handle(self, event: Event) -> list[Instruction]:
        """Take in one event; returns what the runtime shall do. The work of one call is bounded, whatever the matches."""
        if self.finished:
            return []
        if isinstance(event, _SOURCE_EVENTS) and (self.router.waking or self._later):
            self._later.append(event)
            return []
        if isinstance(event, TimePassed) and not self.lookups.clock.passed(event.now):
            return []
        out = self._take_in(event)
        while self._later and not self.router.waking:
            out += self._take_in(self._later.popleft())
        if not isinstance(event, Route):
            self.router.waiting.resume()
        out += map(Emit, self.router.taken())
        out += self._finish_if_done()
        if not self.finished and not self.router.waking:
            out += self.scans.give_credit()
            sent, spared = self.lookups.send()
            out += sent
            if spared:  # tuples have left: they or what they held back go on
                self.router.waiting.resume()
                out += map(Emit, self.router.taken())
                out += self.scans.give_credit()
                out += self._finish_if_done()
        return out

    def _take_in(self, event: Event) -> list[Instruction]:
        """What the event itself leads to."""
        match event:
            case Route():
                self.router.route()
            case ScanRows():
                return self._scan_rows(event)
            case LookupRows():
                return self.lookups.rows(event)
            case LookupEnd():
                return self.lookups.ends([event])
            case LookupAnswers():
                if not event.rows:
                    return self.lookups.ends(event.ends)
                self.lookups.answers(event.rows)
                self._later.appendleft(LookupAnswers((), event.ends))  # once the rows have done their work
            case ScanEnd():
                return self._scan_end(event)
            case LookupFailed():
                return self.lookups.failed(event)
            case ScanCovered() | ScanPartFailed():
                self._part_over(event)
            case ScanFailed():
                return self._scan_failed(event)
            case ScanStalled():
                return self._scan_stalled(event)
            case Prioritize():
                self.router.prioritize(event.predicates)
            case Enough():
                self._enough = True
            case Cancel():
                return self._cancel(event.reason)
            case Halt():
                return self._halt(event.reason)
            case Start():
                return self._start()
        return []

    @property
    def has_work(self) -> bool:
        """A batch is waiting: feed `Route()`."""
        return (bool(self.router.waiting) or self.router.waking) and not self.finished

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The parts of tables the answer does not rest on."""
        return self.block.missing.listed()

    def statistics(self) -> BlockStatistics:
        """Counters of every module at this moment; later events do not change them."""
        return statistics(self.router, self.lookups.methods, finished=self.finished)

    def distinct(self, table: int) -> dict[str, int]:
        """How many different values the compared columns of a table have, as far as all its rows are stored."""
        return self.block.stems[table].distinct()

    def flow(self) -> FlowStatistics:
        """What came of the routing so far, by TupleState and move; later events do not change it."""
        return self.router.flow.statistics()

    @property
    def changes(self) -> int:
        """Grows with everything that changes which tuples are under way."""
        return sum(stem.arrived + stem.covered for stem in self.block.stems)

    @property
    def hops(self) -> int:
        """How many times a tuple has been routed."""
        return sum(tuples for _, tuples in self.router.routing.values())

    def size(self, table: int) -> int:
        """How many rows of a table of the plan are here."""
        return len(self.block.stems[table])

    def stored(self, table: int) -> pa.Table:
        """The rows of a table of the plan that are here, in the order they came."""
        stem = self.block.stems[table]
        arrays = [column.take(np.arange(len(stem) - stem.forgotten)) for column in stem.columns]
        return pa.Table.from_arrays(arrays, [field.name for field in stem.plan.columns])

    def gather(self, batch: TupleBatch) -> pa.RecordBatch:
        """The block's output columns of result tuples, in the plan's order."""
        return self.block.gather(batch)

    def gathered(self, batch: TupleBatch) -> Iterator[pa.RecordBatch]:
        """The same in batches that are not too large."""
        return self.block.gathered(batch)

    @property
    def row_bytes(self) -> float:
        """Bytes of a result, as the rows that are here are on average."""
        return self.block.row_bytes

    def row_ids(self, batch: TupleBatch) -> list[Int64]:
        """Row numbers by alias, the identity of result tuples."""
        return [batch.rows[alias] for alias in range(len(self.block.plan.aliases))]

    def partial_rows(self, limit: int) -> tuple[tuple[object, ...], ...]:
        """Waiting tuples as result rows, MISSING where a table has not answered yet (H9); at most `limit` of them."""
        return () if self.finished else in_flight.partial_rows(self.router, limit)

    def partial_tuples(self, required: Iterable[int], limit: int) -> tuple[PartialTuples, ...]:
        """As Arrow tables: tuples in which these output columns are known (P37); none once the end is near."""
        return () if self.finished or self.block.cancelled else partial_tuples(self.router, required, limit)

    def open_values(self, columns: Sequence[Column]) -> pa.Table | None:
        """What further results may have in these columns, each combination once; None while it may be anything.

        An empty table: no further result. Once a combination is missing from an answer, it comes no more.
        """
        if not self.started or self.block.plan.recursion is not None:
            return None
        return in_flight.open_values(self.router, columns)

    def _start(self) -> list[Instruction]:
        assert not self.started
        self.started = True
        self.lookups.clock.started_at = self.lookups.clock.now
        if self.block.plan.limit == 0:
            return []
        out = self.scans.start()
        for alias in self.block.plan.aliases:
            for seed in alias.seeds:
                module = self.block.lookups[alias.table][seed.lookup]
                asked = [key for key in seed.keys if None not in key]
                if asked:
                    values = zip(module.plan.columns, zip(*asked, strict=True), strict=True)
                    keys = module.keys([self.block.constants(alias.table, *column) for column in values])
                    waits = alias.table in self._choice.open and self.options.hold_constants
                    (module.want if waits else module.request)(keys)
        if self.router.priorities is not None:
            self.router.hurry()
        return out

    def _scan_rows(self, event: ScanRows) -> list[Instruction]:
        scan = self.scans.page(event)
        if scan is None:
            return []
        numbers = self.block.stems[event.table].number(event.rows)
        scan.duplicates += self._ingest(event.table, event.rows, numbers, scan.answer)
        if event.table in self._choice.open:
            if not self._choice.scan_on(event, scan):
                return self._ask_constants(event.table)
            for module in self.block.lookups[event.table]:
                module.drop_pending()
        return []

    def _ask_constants(self, table: int) -> list[Instruction]:
        """Stop scanning: the constants that pin the table take fewer requests, or are all that is left."""
        self._choice.open.discard(table)
        self._choice.by_constants.add(table)
        out = self.scans.stop(table)
        self._read_by_keys(table)
        return out

    def _scan_end(self, event: ScanEnd) -> list[Instruction]:
        scan = self.block.scans[event.table][event.index]
        if scan.state is not ScanState.RUNNING:
            return []
        assert event.rows == scan.rows, f"EOT of {scan.plan.name} counts {event.rows} rows, {scan.rows} came"
        if not self.scans.ends_table(event.table, event.index):
            return []
        stem = self.block.stems[event.table]
        stem.compare(scan.answer)
        if stem.beyond and any(one.rows for one in self.block.scans[event.table] if one is not scan):
            # A mirror that lacks rows of another is not known to be whole, nor is the other: EOT of neither.
            reason = (
                f"{scan.plan.name}, read whole, lacks {stem.beyond} rows that another scan of the table has"
            )
            return self._scan_failed(ScanFailed(event.table, event.index, reason))
        scan.state = ScanState.COMPLETE
        return self._table_over(event.table)

    def _table_over(self, table: int) -> list[Instruction]:
        """EOT(true): every row of a table is here."""
        stem = self.block.stems[table]
        stem.complete = True
        self.router.scans_over(table, complete=True)
        out = self.scans.stop(table)
        out += self.lookups.cancel(table)  # everything a lookup could bring is here
        needed = (one for one in stem.aliases if self.block.plan.aliases[one].kind in ("inner", "semi"))
        if any(not stem.alias_rows[alias] for alias in needed):
            # An inner or semi join with nothing is nothing (P28b): no other answer is needed.
            out += self._stop_everything()
            self.block.missing.clear()
        return out

    def _scan_failed(self, event: ScanFailed) -> list[Instruction]:
        scan = self.block.scans[event.table][event.index]
        if scan.state is not ScanState.RUNNING:
            return []
        scan.state, scan.reason = ScanState.FAILED, event.reason
        if event.table in self._choice.open:
            return self._ask_constants(event.table)
        out = self.scans.relieve(event.table)
        if out is None and not self.block.scanning(event.table):
            lost = [(ALL, event.reason)] if event.whole else scan.lacking
            if not self.block.lacks(event.table, lost):
                return self._table_over(event.table)
            self.router.scans_over(event.table, complete=False)
            self._read_by_keys(event.table)
            if not self.block.constraints.recovers(event.table):
                self.block.scan_lost(event.table, lost)
        return out or []

    def _part_over(self, event: ScanCovered | ScanPartFailed) -> None:
        scan = self.block.scans[event.table][event.index]
        if scan.state is ScanState.RUNNING and isinstance(event, ScanCovered):
            self.router.part_over(event.table, event.extent)
        if scan.state is not ScanState.RUNNING or isinstance(event, ScanCovered):
            return
        scan.lacking.append((event.extent, event.reason))
        alone = len(self.block.scans[event.table]) == 1 and event.table not in self._choice.open
        if alone and not self.block.constraints.recovers(event.table):
            self.block.scan_lost(event.table, scan.lacking[-1:])

    def _scan_stalled(self, event: ScanStalled) -> list[Instruction]:
        scan = self.block.scans[event.table][event.index]
        if scan.state is not ScanState.RUNNING or scan.stalled:
            return []
        scan.stalled = True
        if event.table in self._choice.open:
            return self._ask_constants(event.table)
        out = self.scans.relieve(event.table)
        if out is None:
            self._read_by_keys(event.table)
            self.router.scan_stalls(event.table)
        return out or []

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

    def _cancel(self, reason: str) -> list[Instruction]:
        """Stop fetching; what is here is still joined, what is not goes missing."""
        if self.block.cancelled:
            return []
        self.block.cancelled = True
        self.block.missing.cancelled = reason
        out: list[Instruction] = []
        for table, scans in enumerate(self.block.scans):
            out += self.scans.stop(table, ScanState.FAILED)
            by_scan = bool(scans) and table not in self._choice.by_constants
            whole = by_scan and not self.block.lacks(table, [(ALL, reason)])
            self.block.stems[table].complete |= whole
            self.router.scans_over(table, complete=whole)
            if by_scan and not self.block.stems[table].complete:
                self.block.scan_lost(table, [(ALL, reason)])
        return out + self.lookups.give_up(reason)

    def _halt(self, reason: str) -> list[Instruction]:
        """Stop fetching, and join no further."""
        out = self._cancel(reason)
        if self.has_work or self.block.rounds.waiting:
            self.block.missing.unjoined(reason)
            self._later.clear()
            self.router.drop()
        return out

    def _stop_everything(self) -> list[Instruction]:
        out: list[Instruction] = []
        for table in range(len(self.block.scans)):
            out += [*self.scans.stop(table), *self.lookups.cancel(table)]
        self.router.drop()
        return out

    def _finish_if_done(self) -> list[Instruction]:
        limit = self.block.plan.limit
        enough = self._enough or (limit is not None and self.router.emitted >= limit)
        if self.started and enough:
            out = self._stop_everything()
            self.block.missing.clear()  # any n rows are the whole answer
            self.finished = True
            return [*out, Finish(complete=True, reason="limit")]
        idle = self.started and not self.has_work and self._quiet()
        if idle and not (self.block.rounds.advance(self._ingest) and self.has_work):
            assert not self.router.parked_tuples(), "tuples are parked and nothing is under way"
            self.finished = True
            missing = bool(self.block.missing)
            reason: Literal["done", "cancelled", "failed"] = "done"
            if missing:
                reason = "cancelled" if self.block.cancelled else "failed"
            return [Finish(complete=not missing, reason=reason)]
        return []

    def _quiet(self) -> bool:
        """No scan is running and no lookup is pending or in flight."""
        running = any(scan.state is ScanState.RUNNING for scans in self.block.scans for scan in scans)
        return not running and self.lookups.idle and not self._later

    def validate(self) -> None:
        """Assert every internal invariant (ledger section 6); cheap enough for tests, not called in production."""
        self.router.validate()
        self.block.validate()
        self.lookups.validate()
        if self.finished:
            assert not self.router.waiting
            assert not self.router.parked_tuples()
