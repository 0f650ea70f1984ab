"""The asyncio driver: performs one eddy's instructions, turns what sources answer into events.

One task per running scan and per lookup request, none per tuple. All events of one loop turn, and answers to
lookups that go on coming, are taken in before the next batch is routed, so that small answers merge.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import InitVar, dataclass, field
from functools import partial
from typing import cast

import pyarrow as pa

from fff.access.semijoin_feed import FeedBroken
from fff.budget import Budget, BudgetExhausted
from fff.catalog import LookupMethod, Page, Prompt, ScanMethod, SourceAdapter, Table
from fff.catalog.foreign import is_told_to_end
from fff.dataflow.eddy import Eddy
from fff.dataflow.plan.batch import TupleBatch, merge
from fff.dataflow.plan.events import (
    CancelLookup,
    Emit,
    Event,
    FetchPages,
    Finish,
    Instruction,
    Lookup,
    LookupEnd,
    LookupFailed,
    LookupRows,
    Route,
    ScanCovered,
    ScanEnd,
    ScanFailed,
    ScanPartFailed,
    ScanRows,
    ScanStalled,
    Start,
    StopScan,
    TimePassed,
    WakeAt,
)
from fff.errors import SourceError
from fff.limits import BATCH_MOST_ROWS, BATCH_ROWS, PAGES_SLICE_S, ROUTE_SLICE_S, SCAN_WINDOW, SMALL_PAGE
from fff.runtime.merged_events import merged
from fff.runtime.stall_detector import StallAlarm
from fff.stats import AccessMeter

_QUIET_TURNS = 4  # of the event loop, none of which brought a page
_BATCH_PART = 4  # of what scans have brought so far: as much is worth waiting for
_ROW_BYTES = 256  # of a row of usual width
_PAGE_LEAST = BATCH_ROWS // 64  # rows that a page counts for, at least


class Meters:
    """The meters of a statement: one per access method, whichever blocks use it; one budget pays for all."""

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget
        self._meters: dict[tuple[str, str, str], AccessMeter] = {}

    def of(self, table: Table, method: ScanMethod | LookupMethod) -> AccessMeter:
        """The meter of one access method."""
        kind = "scan" if isinstance(method, ScanMethod) else "lookup"
        meter = AccessMeter(budget=self._budget, price=method.price)
        return self._meters.setdefault((table.full_name, kind, method.name), meter)

    def __iter__(self) -> Iterator[AccessMeter]:
        return iter(self._meters.values())


@dataclass
class OpenTable:
    """How the driver reads one table of the plan: the plan's scans and lookups, their methods and meters, in parallel.

    `fed`: the table is made of what other blocks find; no source has answered when it has.
    """

    table: Table
    adapter: SourceAdapter
    columns: tuple[str, ...]
    scans: tuple[ScanMethod, ...]
    lookups: tuple[LookupMethod, ...]
    meters: InitVar[Meters]
    fed: bool = False
    scan_meters: list[AccessMeter] = field(init=False)
    lookup_meters: list[AccessMeter] = field(init=False)

    def __post_init__(self, meters: Meters) -> None:
        self.scan_meters = [meters.of(self.table, scan) for scan in self.scans]
        self.lookup_meters = [meters.of(self.table, lookup) for lookup in self.lookups]


class _LookupAnswer:
    """What the pages of an answer say."""

    __slots__ = ("lookup", "rows", "truncated", "unanswered")

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.rows = 0
        self.truncated: str | None = None
        self.unanswered: dict[str, list[int]] = {}  # why -> places of keys

    def take(self, page: Page) -> None:
        """One more page."""
        self.rows += len(page.rows)
        if page.truncated and page.unanswered:
            told = {place for places in self.unanswered.values() for place in places}
            keys = enumerate(self.lookup.keys)  # each fails once, whoever tells of it again
            if new := [place for place, key in keys if key in page.unanswered and place not in told]:
                self.unanswered.setdefault(page.truncated, []).extend(new)
        else:
            self.truncated = self.truncated or page.truncated


class BlockDriver:
    """Runs one eddy to its end.

    Args:
        eddy: the core.
        access: by table of the plan.
        deliver: called with Arrow batches of the block's output columns as they are found.
        stop_on_missing: raise the source's error as soon as the answer is known to be incomplete.
        eager: False when few rows are wanted (LIMIT): pages are then asked for one by one.
        room: set while whoever takes the results keeps up; as long as it is not, no request begins, no page is read and no
            tuple is routed.
        unread: whether results wait for who takes them.
        checked: called after every turn.
    """

    def __init__(
        self,
        eddy: Eddy,
        access: Sequence[OpenTable],
        deliver: Callable[[pa.RecordBatch], None],
        *,
        stop_on_missing: bool = False,
        eager: bool = True,
        room: asyncio.Event | None = None,
        unread: Callable[[], bool] | None = None,
        checked: Callable[[], None] | None = None,
    ) -> None:
        self.eddy = eddy
        self.access = access
        self.finish: Finish | None = None
        self.source_errors: list[SourceError] = []
        self.has_answers = False  # some source has answered something
        self.joining_s = 0.0  # seconds that tuples were routed and results handed on
        self._deliver = deliver
        self._stop_on_missing = stop_on_missing
        self._window = SCAN_WINDOW if eager else 1
        self._room = room
        self._unread = unread
        self._checked = checked
        self._events: deque[tuple[float, Event]] = deque()  # when, by the loop's clock, and what
        self._paged = 0  # how much scans have brought in these, in rows of usual width
        self._brought = 0  # rows that scans have brought so far
        self._together = BATCH_ROWS if eddy.only_joins_scans else SMALL_PAGE
        self._wake = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._credits: dict[tuple[int, int], asyncio.Semaphore] = {}
        #: By table: the rows that it has for certain, by scans that failed on the way.
        self._owed: dict[int, int] = {}
        self._scans: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._lookups: dict[int, asyncio.Task[None]] = {}
        self._prompt: list[Prompt | None] = []  # by table: those that give answers without a generator
        self._results: list[TupleBatch] = []
        self._fatal: BaseException | None = None

    def post(self, event: Event) -> None:
        """Feed an event from outside (interrupt, deadline)."""
        self._events.append((asyncio.get_running_loop().time(), event))
        self._wake.set()

    def abort(self, error: BaseException) -> None:
        """End the run with an error: what it would bring has no use any more."""
        self._fatal = self._fatal or error
        self._wake.set()

    async def run(self) -> Finish:
        """Drive the eddy until it finishes.

        Raises:
            SourceError: `stop_on_missing` and a source could not be read in full.
            FFFError: whatever an adapter raises that is not a source's failure (a missing secret, say).
        """
        tables = [access.adapter for access in self.access]
        self._prompt = [one if isinstance(one, Prompt) else None for one in tables]
        try:
            self._handle(TimePassed(asyncio.get_running_loop().time()))
            self._handle(Start())
            while self.finish is None:
                await self._turn()
            self._flush()
        finally:
            await self._stop_tasks()
        return self.finish

    async def _turn(self) -> None:
        if not self._events and not self._may_route and self._fatal is None:
            self._wake.clear()
            await self._woken()
        await self._answers_together()
        await self._pages_together()
        if self._fatal is not None:
            raise self._fatal
        for at, event in self._heard():
            for stimulus in (TimePassed(at), event):
                if self.finish is None:
                    self._handle(stimulus)
        clock = asyncio.get_running_loop().time  # the one clock here, so that virtual time replays exactly
        began = clock()
        until = began + ROUTE_SLICE_S
        while self._may_route and self.finish is None and clock() < until:
            self._handle(Route())
        self._flush()
        self.eddy.forget()
        self.joining_s += clock() - began
        if self._checked is not None:
            self._checked()
        await asyncio.sleep(0)

    async def _answers_together(self) -> None:
        """Wait while every turn of the loop brings more answers to lookups: what they cost together is mostly that of one.

        Only as long as those under way outnumber them, so that requests which wait for their host's leave bridge it.
        """
        known = 0
        while known < len(self._events) < len(self._lookups) and self._fatal is None:
            known = len(self._events)
            await asyncio.sleep(0)

    async def _pages_together(self) -> None:
        """Wait while pages of scans go on coming, for as many rows as are worth a batch: the more, the more have come before.

        A page comes every few turns of the loop, as its bytes come in several. Nobody waits where what a page brings is shown
        at once, or asked for one by one, or while other news or results that nobody has taken are there.
        """
        if self._together != BATCH_ROWS or (self._unread is not None and self._unread()):
            return
        clock = asyncio.get_running_loop().time
        quiet, until = 0, clock() + PAGES_SLICE_S
        most = BATCH_MOST_ROWS * min(1.0, _ROW_BYTES / max(1.0, self.eddy.row_bytes))
        worth = max(BATCH_ROWS, min(self._brought // _BATCH_PART, most))
        while 0 < self._paged < worth and quiet < _QUIET_TURNS and self._fatal is None and clock() < until:
            known, news = self._paged, len(self._events)
            await asyncio.sleep(0)
            quiet = quiet + 1 if self._paged == known else 0
            if any(
                not isinstance(event, ScanRows) for _, event in itertools.islice(self._events, news, None)
            ):
                return

    @property
    def _may_route(self) -> bool:
        """Whether tuples wait, and what becomes of them has room."""
        return self.eddy.has_work and (self._room is None or self._room.is_set())

    async def _woken(self) -> None:
        """Until there is news, or room again for what is inside."""
        if self._room is None or not self.eddy.has_work:
            await self._wake.wait()
            return
        waits = [asyncio.create_task(one.wait()) for one in (self._wake, self._room)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    def _heard(self) -> list[tuple[float, Event]]:
        """The events of this turn and when they came, those merged that go together."""
        heard, self._events = self._events, deque()
        self._paged = 0
        return merged(heard, self._together)

    def _handle(self, event: Event) -> None:
        for instruction in self.eddy.handle(event):
            self._perform(instruction)
        if self._stop_on_missing and self.source_errors and self.eddy.missing:
            raise self.source_errors[-1]

    def _flush(self) -> None:
        if self._results:
            results, self._results = merge(self._results), []
            for batch in self.eddy.gathered(results):
                self._deliver(batch)

    def _perform(self, instruction: Instruction) -> None:
        match instruction:
            case Emit(batch=batch):
                self._results.append(batch)
            case FetchPages(table=table, index=index, count=count):
                self._grant(table, index, count)
            case Lookup():
                task = asyncio.create_task(self._look_up(instruction))
                self._lookups[instruction.request] = task
            case StopScan(table=table, index=index):
                self._scans[table, index].cancel()
            case CancelLookup(request=request):
                if request in self._lookups:
                    self._lookups[request].cancel()
            case WakeAt(at=at):
                self._set_alarm(at)
            case Finish():
                self.finish = instruction
            case _:
                raise AssertionError(f"unknown instruction {instruction}")

    def _set_alarm(self, at: float) -> None:
        """The eddy wants to be told the time at `at`.

        It asks for no later time than it has asked for before.
        """
        if self._alarm is not None:
            self._alarm.cancel()
        loop = asyncio.get_running_loop()
        self._alarm = loop.call_at(at, lambda: self.post(TimePassed(max(at, loop.time()))))

    @property
    def _is_full(self) -> bool:
        """Whether whoever takes the results does not keep up."""
        return self._room is not None and not self._room.is_set()

    async def _held(self) -> float:
        """Wait until what was found is being taken; how many seconds that took."""
        if self._room is None or self._room.is_set():
            return 0.0
        clock = asyncio.get_running_loop().time
        began = clock()
        await self._room.wait()
        return clock() - began

    def _grant(self, table: int, index: int, count: int) -> None:
        credit = self._credits.get((table, index))
        if credit is None:
            credit = self._credits[table, index] = asyncio.Semaphore(0)
            self._scans[table, index] = asyncio.create_task(self._scan(table, index, credit))
        for _ in range(count):
            credit.release()

    async def _scan(self, table: int, index: int, credit: asyncio.Semaphore) -> None:
        access = self.access[table]
        method, meter = access.scans[index], access.scan_meters[index]
        rows, ready, truncated, lacking = 0, 0, None, None
        alarm = StallAlarm(partial(self.post, ScanStalled(table, index)))
        said: int | None = None  # how many there are; 0: it is not certain
        try:
            asked = access.adapter.scan(
                access.table, method, access.columns, meter=meter, window=self._window
            )
            async with _closing(asked) as pages:
                while True:
                    await credit.acquire()
                    if self._is_full:
                        await self._held()
                    began = alarm.waits()
                    try:
                        page = await anext(pages)
                    except StopAsyncIteration:
                        break
                    waited = alarm.came(began)
                    self.has_answers = self.has_answers or not access.fed
                    meter.total_rows = page.total_rows if page.total_rows is not None else meter.total_rows
                    if page.truncated and page.lacks is not None:
                        self._truncated(access, page.truncated, page.error)
                        self.post(ScanPartFailed(table, index, page.lacks, page.truncated))
                        lacking = lacking or page.truncated
                    else:
                        truncated = truncated or page.truncated
                    if page.truncated is None:
                        known = page.counted and said in (None, page.total_rows)
                        said = page.total_rows or 0 if known else 0
                    if page.ends is not None:
                        self.post(ScanCovered(table, index, page.ends))
                        credit.release()  # it is no page of the source
                        continue
                    meter.noticed(doubled=page.doubled, moved=page.moved)
                    rows += len(page.rows)
                    totals = page.total_rows, page.pages
                    self.post(
                        ScanRows(table, index, page.rows, *totals, seconds=waited, counted=page.counted)
                    )
                    weight = _weight(page.rows)
                    self._paged += weight
                    self._brought += len(page.rows)
                    ready += weight
                    if ready >= self._together:
                        ready = 0
                        await asyncio.sleep(0)  # reading a few more could take long: others have their turn
            brought, owed = max(rows + meter.bad_records, said or 0), self._owed.get(table, 0)
            if not (truncated or lacking) and brought < owed:
                truncated = (
                    f"it gave {brought} rows, and another scan of the table, which failed, spoke of {owed}"
                )
            if truncated:
                self._truncated(access, truncated)
            failed = truncated or lacking
            over = ScanEnd(table, index, rows)
            self.post(ScanFailed(table, index, failed, whole=bool(truncated)) if failed else over)
        except (BudgetExhausted, FeedBroken, SourceError) as error:
            if not isinstance(error, BudgetExhausted | FeedBroken):
                self.source_errors.append(error)
            self._owed[table] = max(self._owed.get(table, 0), said or 0)
            self.post(ScanFailed(table, index, error.reason))
        except BaseException as error:
            if is_told_to_end(error):
                raise
            self.abort(error)
        finally:
            alarm.end()

    async def _look_up(self, lookup: Lookup) -> None:
        access, prompt = self.access[lookup.table], self._prompt[lookup.table]
        method, meter = access.lookups[lookup.index], access.lookup_meters[lookup.index]
        loop = asyncio.get_running_loop()
        try:
            if self._is_full:
                await self._held()
            asked_at = loop.time()
            table, columns, keys = access.table, access.columns, lookup.keys
            first: Sequence[Page] = ()
            if prompt is not None:
                first, rest = await prompt.answer(table, method, columns, keys, meter=meter)
            else:
                rest = access.adapter.lookup(table, method, columns, keys, meter=meter)
            answer = _LookupAnswer(lookup)
            for page in first:
                self._take(answer, page, meter)
                if self._is_full:
                    asked_at += await self._held()
            if rest is not None:
                async with _closing(rest) as pages:
                    async for page in pages:
                        self._take(answer, page, meter)
                        asked_at += await self._held()
            if answer.truncated:
                self._truncated(access, answer.truncated)
                self.post(LookupFailed(lookup.request, answer.truncated, truncated=True))
            else:
                self.has_answers = True
                for reason, places in answer.unanswered.items():
                    self._truncated(access, reason)
                    self.post(LookupFailed(lookup.request, reason, truncated=True, places=tuple(places)))
                seconds = loop.time() - asked_at
                self.post(LookupEnd(lookup.request, answer.rows, seconds, meter.left, meter.each_s))
        except BudgetExhausted as error:
            self.post(LookupFailed(lookup.request, error.reason))
        except SourceError as error:
            self.source_errors.append(error)
            self.post(LookupFailed(lookup.request, error.reason))
        except BaseException as error:
            if is_told_to_end(error):
                raise
            self.abort(error)
        finally:
            self._lookups.pop(lookup.request, None)

    def _take(self, answer: _LookupAnswer, page: Page, meter: AccessMeter) -> None:
        self.has_answers = True
        meter.noticed(doubled=page.doubled, moved=page.moved)
        answer.take(page)
        if len(page.rows):
            self.post(LookupRows(answer.lookup.request, page.rows))

    def _truncated(self, access: OpenTable, reason: str, error: SourceError | None = None) -> None:
        source, table = access.table.source, access.table.name
        hint = "on_source_error: partial (--on-source-error partial) answers with what is there, labelled as incomplete"
        self.source_errors.append(error or SourceError(reason, source=source, table=table, hint=hint))

    async def _stop_tasks(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        tasks = [*self._scans.values(), *self._lookups.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _weight(rows: pa.RecordBatch) -> int:
    """How many rows of usual width a page counts for."""
    usual = max(len(rows), _PAGE_LEAST)
    if rows.get_total_buffer_size() <= usual * _ROW_BYTES:  # of a part of larger arrays the bytes of all
        return usual
    return max(usual, int(rows.nbytes) // _ROW_BYTES)  # its own, which take longer to count


def _closing(pages: AsyncIterator[Page]) -> aclosing[AsyncGenerator[Page]]:
    """Leaving the pages, however that happens, cancels at once what their source has under way for them."""
    return aclosing(cast("AsyncGenerator[Page]", pages))  # generators, as `SourceAdapter` says
