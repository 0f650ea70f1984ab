"""A simulated world around an eddy: it holds every outstanding answer and lets a random one happen next.

`play` runs one instance to its end and checks, as it goes, what must hold whatever the order of things. It raises
`Wrong` with the seed, the instance and the itinerary; `verdict` compares the outcome with the oracle.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from fff.dataflow.plan.events import (
    Cancel,
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
    Prioritize,
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
from fff.dataflow.plan.extents import Extent
from fff.dataflow.plan.plan import BlockPlan
from fff.stats import Missing
from fff.structs import replace
from tests.fuzz.generate import Instance, normal
from tests.fuzz.oracle import Bag, arrow_rows, brute_force
from tests.fuzz.watch import Watcher
from tests.fuzz.windows import WindowOfRows, draw_windows
from tests.fuzz.wishes import random_wishes

#: What no source has answered: a scan is said to stall for as long as it does, whatever it has already sent.
OF_NO_ANSWER = (Route, TimePassed, Prioritize, ScanStalled)
#: Steps after which what sources have answered is heard, even where routing goes first or one of them is starved: time and
#: wishes may make more work for ever, and no server's answer is kept from the eddy for ever.
PATIENT_STEPS = 100
MAX_STEPS = 60_000  # far above what any generated instance needs: reaching it means livelock
TRACE_SHOWN = 80
#: Policies that take parts of batches, hold them back, or forget what they have learned.
PULLING = (
    "hesitant",
    "hesitant",
    "adaptive",
    "adaptive fast",
    "adaptive cheap",
    "benefit",
    "windowed-lottery:3",
)


class EddyLike(Protocol):
    """What the world needs of an eddy: the core's, or the reference's."""

    @property
    def finished(self) -> bool: ...
    @property
    def has_work(self) -> bool: ...
    @property
    def missing(self) -> Sequence[Missing]: ...
    def handle(self, event: Event) -> list[Instruction]: ...
    def gather(self, batch: Any) -> pa.RecordBatch: ...
    def row_ids(self, batch: Any) -> Sequence[Any]: ...
    def validate(self) -> None: ...


@dataclass(frozen=True)
class Run:
    """How one run goes: everything that must not change the answer, and the faults that may only shorten it."""

    seed: int
    semantics: str = "parked"
    policy: str = "naive"
    route_size: int = 1000
    scans: str = ""  # all | some: who of several scans reads on, whatever the policy says of it
    scan_credit: int = 2
    window: int | None = None
    most_processed_first: bool = False
    bias: str = "uniform"  # uniform | route-first | route-last | starve
    page_rows: int = 3
    end_needs_credit: bool = False
    superset: bool = False  # lookups answer with rows nobody asked for (P25)
    validate: bool = False
    stalls: float = 0.0  # chance per step of a ScanStalled
    fail_scans: float = 0.0  # chance per scan
    fail_lookups: float = 0.0  # chance per request
    cancel_at: int | None = None  # step
    limit: int | None = None
    prioritize: float = 0.0  # chance per step of other priorities
    ticks: float = 0.0  # chance per step that time passes
    patience: float = 1.0  # how long keys wait for a fuller batch
    races: bool = False  # slow requests are raced
    hedge_after: int = 0  # answers before that
    hedge_share: float = 1.0  # of all others
    slow_s: float = 0.0  # seconds below which nothing is slow
    prunes: bool = True  # keys that only dead tuples wait for are not asked for
    watch: bool = False  # ask after every event what is inside (the core only)
    windows: float = 0.0  # chance that a scan is one in windows
    fail_windows: float = 0.0  # chance that such a window fails


def random_run(rng: random.Random, *, semantics: str, faults: bool) -> Run:
    """A run with everything drawn at random."""
    run = Run(
        seed=rng.getrandbits(32),
        semantics=semantics,
        policy=rng.choice(
            [
                "stubborn",
                "shuffled",
                "fixed",
                "naive",
                "naive",
                "lottery",
                "rank",
                "benefit",
                "adaptive",
                "adaptive",
            ]
        ),
        route_size=rng.choice([1, 2, 1000]),
        scans="all" if rng.random() < 0.5 else "",
        scan_credit=rng.randint(1, 3),
        window=rng.choice([None, None, 1, 2, 3]),
        most_processed_first=rng.random() < 0.3,
        bias=rng.choice(["uniform", "uniform", "uniform", "route-first", "route-last", "starve"]),
        page_rows=rng.choice([1, 2, 3, 6]),
        end_needs_credit=rng.random() < 0.5,
        superset=rng.random() < 0.15,
        validate=rng.random() < 0.2,
        stalls=rng.choice([0.0, 0.0, 0.05]),
    )
    more = random.Random(f"more {run.seed}")
    run = replace(run, prioritize=more.choice([0.0, 0.02, 0.2]), watch=more.random() < 0.2)
    run = replace(
        run,
        ticks=more.choice([0.0, 0.1, 0.5]),
        patience=more.choice([0.0, 1.0, 1.0, 1000.0]),
        races=more.random() < 0.3,
    )
    run = replace(
        run,
        policy=more.choice(PULLING) if more.random() < 0.4 else run.policy,
        hedge_after=more.choice([0, 0, 1, 3]),
        hedge_share=more.choice([1.0, 1.0, 0.3]),
        slow_s=more.choice([0.0, 0.0, 0.5, 3.0]),
        prunes=more.random() < 0.8,
    )
    apart = random.Random(f"windows {run.seed}")
    run = replace(run, windows=apart.choice([0.0, 0.5, 1.0]))
    run = replace(run, scans=more.choice([run.scans, "some", ""]))
    if not faults:
        return run
    run = replace(run, fail_windows=apart.choice([0.0, 0.2, 0.6]))
    if run.fail_windows and apart.random() < 0.3:
        return replace(run, windows=1.0)  # nothing else
    kind = rng.choice(["scans", "lookups", "both", "cancel", "limit"])
    if kind == "cancel":
        return replace(run, cancel_at=rng.choice([1, 3, 10, 30]) + rng.randrange(10))
    if kind == "limit":
        return replace(run, limit=rng.randint(0, 6))
    scans = rng.choice([0.3, 1.0]) if kind != "lookups" else 0.0
    lookups = rng.choice([0.2, 1.0]) if kind != "scans" else 0.0
    return replace(run, fail_scans=scans, fail_lookups=lookups)


@dataclass
class Outcome:
    """What came out."""

    bag: Bag
    finish: Finish
    missing: tuple[Missing, ...]
    harmed: frozenset[int]  # tables an access method of which failed, and that no scan delivered in full
    cancelled: bool
    lost: (
        dict[int, frozenset[int]] | None
    )  # by table, rows that parts of scans did not bring; None: others may be too
    itinerary: Callable[[], list[str]]  # one line per event, made when asked for


class Wrong(AssertionError):  # noqa: N818 - reads as what it says
    """Something that must never happen; the message replays it."""


@dataclass
class _Scan:
    order: list[int]
    fail_after: int | None
    credit: int = 0
    sent: int = 0
    state: str = "idle"  # idle | open | ended | failed | stopped
    windows: list[WindowOfRows] = field(default_factory=list)  # that have not ended
    lost: set[int] = field(default_factory=set)
    told: list[Extent] = field(default_factory=list)
    heard_at: float = 0.0


@dataclass
class _Answer:
    table: int
    index: int
    pages: list[list[int]]
    fails: bool
    asked_at: float
    sent: int = 0
    cancelled: bool = False


@dataclass
class _World:
    instance: Instance
    eddy: EddyLike
    run: Run
    rng: random.Random
    scans: dict[tuple[int, int], _Scan] = field(default_factory=dict)
    answers: dict[int, _Answer] = field(default_factory=dict)
    ends: set[int] = field(default_factory=set)  # told while there was work: a cancellation may cross them
    asked: set[tuple[object, ...]] = field(default_factory=set)
    seen: set[tuple[int, ...]] = field(default_factory=set)
    bag: Bag = field(default_factory=Counter)
    steps: list[tuple[Event, list[Instruction]]] = field(default_factory=list)
    finish: Finish | None = None
    failed: set[int] = field(default_factory=set)
    starved: tuple[int, int] | None = None
    watcher: Watcher | None = None
    now: float = 0.0
    wake_at: float | None = None  # the earliest time that the eddy wants to be told
    since_answer: int = 0  # steps since an access module has told anything

    def __post_init__(self) -> None:
        if self.run.watch and hasattr(self.eddy, "open_values"):
            watched: Any = self.eddy
            self.watcher = Watcher(self.instance, watched, random.Random(f"watch {self.run.seed}"))
        self.batches = [arrow_rows(self.instance, number) for number in range(len(self.plan.tables))]
        for number, table in enumerate(self.plan.tables):
            for index in range(len(table.scans)):
                size = len(self.instance.rows[number])
                fails = self.rng.random() < self.run.fail_scans
                scan = self.scans[number, index] = _Scan(
                    self.rng.sample(range(size), size), self.rng.randint(0, size) if fails else None
                )
                self.split(number, index, scan)
        access = list(self.scans) + [
            (n, -1 - i) for n, t in enumerate(self.plan.tables) for i in range(len(t.lookups))
        ]
        self.starved = self.rng.choice(access) if self.run.bias == "starve" else None

    def split(self, table: int, index: int, scan: _Scan) -> None:
        """Perhaps have a scan in windows, its rows mostly window by window."""
        rng = random.Random(f"windows {self.run.seed} {table} {index}")
        if rng.random() >= self.run.windows:
            return
        rows, names = self.instance.rows[table], [one.name for one in self.plan.tables[table].columns]
        scan.windows = draw_windows(rng, rows, names, self.run.fail_windows)
        together = rng.random() < 0.7
        places = {row: n * together for n, window in enumerate(scan.windows) for row in window.rows}
        scan.order = sorted((row for row in scan.order if row in places), key=lambda row: places[row])
        scan.lost = set[int]().union(*(window.lost for window in scan.windows))
        if scan.fail_after is not None:
            scan.fail_after = min(scan.fail_after, len(scan.order))

    @property
    def plan(self) -> BlockPlan:
        return self.instance.plan

    # -------------------------------------------------------------------------------------------------- the events

    def pending(self) -> list[object]:
        """Everything that could happen next."""
        work: list[object] = [Route()] if self.eddy.has_work else []
        if work and self.run.bias == "route-first" and self.since_answer < PATIENT_STEPS:
            return work
        ready: list[object] = [key for key, scan in self.scans.items() if self.scan_ready(scan)]
        ready += [request for request, answer in self.answers.items() if not answer.cancelled]
        ready += [] if self.wake_at is None else [self.wake_at]
        if self.starved is not None and self.since_answer < PATIENT_STEPS:
            ready = [item for item in ready if not self.is_starved(item)] or ([] if work else ready)
        return ready if ready and self.run.bias == "route-last" else work + ready

    def scan_ready(self, scan: _Scan) -> bool:
        at_end = scan.sent == len(scan.order) or scan.sent == scan.fail_after
        return scan.state == "open" and (scan.credit > 0 or (at_end and not self.run.end_needs_credit))

    def is_starved(self, item: object) -> bool:
        if isinstance(item, int):
            answer = self.answers[item]
            return self.starved == (answer.table, -1 - answer.index)
        return item == self.starved

    def happen(self, item: object) -> Event:
        """Turn a pending thing into the event that reports it."""
        if isinstance(item, float):
            return self.time_passes(item)
        if isinstance(item, tuple):
            return self.scan_event(*item)
        return self.lookup_event(item) if isinstance(item, int) else Route()

    def time_passes(self, now: float) -> TimePassed:
        self.now = max(self.now, now)
        if self.wake_at is not None and self.wake_at <= self.now:
            self.wake_at = None
        return TimePassed(self.now)

    def scan_event(self, table: int, index: int) -> Event:
        scan = self.scans[table, index]
        part = self.part_event(table, index, scan)
        if part is not None:
            return part
        scan.credit -= 1
        if scan.sent == scan.fail_after:
            scan.state = "failed"
            self.failed.add(table)
            return ScanFailed(table, index, "HTTP 503 after 5 attempts")
        if scan.sent == len(scan.order) and any(window.fails for window in scan.windows):
            scan.state = "failed"
            self.failed.add(table)
            return ScanFailed(table, index, "HTTP 502 after 5 attempts", whole=False)
        if scan.sent == len(scan.order):
            scan.state = "ended"
            return ScanEnd(table, index, scan.sent)
        stop = scan.fail_after if scan.fail_after is not None else len(scan.order)
        size = min(
            self.rng.randint(0 if self.rng.random() < 0.1 else 1, self.run.page_rows), stop - scan.sent
        )
        rows = scan.order[scan.sent : scan.sent + size]
        scan.sent += size
        there = len(self.instance.rows[table]) if self.run.seed % 4 else None
        told = ScanRows(table, index, self.rows(table, rows), total=there, seconds=self.now - scan.heard_at)
        scan.heard_at = self.now
        return told

    def part_event(self, table: int, index: int, scan: _Scan) -> Event | None:
        """That a window has ended, or failed, of those that may: what has failed is told before the end."""
        here = set(scan.order[: scan.sent])
        over = [
            one for one in scan.windows if one.rows <= here and not (one.fails and one.extent in scan.told)
        ]
        last = scan.sent == len(scan.order) and scan.sent != scan.fail_after
        due = [one for one in over if one.fails] if last else []
        if not over or (not due and self.rng.random() < 0.5):
            return None
        window = self.rng.choice(due or over)
        scan.told.append(window.extent)
        if window.fails:
            return ScanPartFailed(table, index, window.extent, "HTTP 502 after 5 attempts")
        scan.windows.remove(window)
        return ScanCovered(table, index, window.extent)

    def lookup_event(self, request: int) -> Event:
        answer = self.answers[request]
        if answer.sent < len(answer.pages):
            answer.sent += 1
            return LookupRows(request, self.rows(answer.table, answer.pages[answer.sent - 1]))
        del self.answers[request]
        if not answer.fails:
            rows = sum(len(page) for page in answer.pages)
            self.ends.add(request)
            return LookupEnd(request, rows, self.now - answer.asked_at)
        if not answer.cancelled:
            self.failed.add(answer.table)
        return LookupFailed(request, "HTTP 500 after 5 attempts", truncated=self.rng.random() < 0.3)

    def rows(self, table: int, numbers: list[int]) -> pa.RecordBatch:
        return self.batches[table].take(pa.array(numbers, pa.int64()))

    # -------------------------------------------------------------------------------------------- the instructions

    def feed(self, event: Event) -> None:
        self.since_answer = self.since_answer + 1 if isinstance(event, OF_NO_ANSWER) else 0
        instructions = self.eddy.handle(event)
        self.steps.append((event, instructions))
        for instruction in instructions:
            if self.finish is not None:
                raise Wrong(f"{instruction} after Finish")
            self.perform(instruction)
        if not self.eddy.has_work:
            self.ends.clear()
        if self.run.validate:
            self.eddy.validate()
        if self.watcher is not None:
            wrong = self.watcher.ask()
            must(not wrong, "; ".join(wrong))
        must(bool(self.eddy.finished) == (self.finish is not None), "finished is true exactly after Finish")

    def perform(self, instruction: Instruction) -> None:
        match instruction:
            case FetchPages(table=table, index=index, count=count):
                scan = self.scans[table, index]
                must(scan.state in ("idle", "open"), f"credit for a scan that is {scan.state}: {instruction}")
                must(count >= 1, f"no credit: {instruction}")
                scan.state = "open"
                scan.credit += count
            case StopScan(table=table, index=index):
                scan = self.scans[table, index]
                must(scan.state == "open", f"stop of a scan that is {scan.state}: {instruction}")
                scan.state = "stopped"
            case Lookup():
                self.answers[instruction.request] = self.ask(instruction)
            case CancelLookup(request=request):
                if request in self.ends:
                    self.ends.remove(request)
                else:
                    must(request in self.answers, f"cancel of a request that is not under way: {instruction}")
                    self.answers[request].cancelled = True
            case WakeAt(at=at):
                must(at > self.now, f"it is {self.now} already: {instruction}")
                self.wake_at = at if self.wake_at is None else min(self.wake_at, at)
            case Emit(batch=batch):
                self.collect(batch)
            case Finish():
                self.finish = instruction
            case _:
                raise Wrong(f"unknown instruction {instruction}")

    def ask(self, lookup: Lookup) -> _Answer:
        method = self.plan.tables[lookup.table].lookups[lookup.index]
        must(lookup.request not in self.answers, f"request number used twice: {lookup}")
        must(1 <= len(lookup.keys) <= method.batch_size, f"{len(lookup.keys)} keys in {lookup}")
        window = self.run.window if self.run.window is not None else method.window
        under_way = sum(
            (answer.table, answer.index) == (lookup.table, lookup.index) and not answer.cancelled
            for answer in self.answers.values()
        )
        must(under_way < window, f"window of {window} requests exceeded: {lookup}")
        columns = self.plan.tables[lookup.table].columns
        for key in lookup.keys:
            must(len(key) == len(method.columns) and None not in key, f"bad key {key} in {lookup}")
            for value, column in zip(key, method.columns, strict=True):
                pa.scalar(value, columns[column].arrow)
            name = (lookup.table, lookup.index, normal(key))
            must(name not in self.asked, f"I6: key asked twice: {key} in {lookup}")
            self.asked.add(name)
        return self.answer(lookup, {normal(key) for key in lookup.keys})

    def answer(self, lookup: Lookup, keys: set[object]) -> _Answer:
        """The rows of an answer, in random order, in random pages, perhaps failing on the way."""
        method = self.plan.tables[lookup.table].lookups[lookup.index]
        every = self.instance.rows[lookup.table]
        found = [n for n, row in enumerate(every) if normal(tuple(row[c] for c in method.columns)) in keys]
        if self.run.superset:
            others = [n for n in range(len(every)) if n not in found]
            found += self.rng.sample(others, self.rng.randint(0, len(others)))
        self.rng.shuffle(found)
        pages = []
        while found:
            size = self.rng.randint(0 if self.rng.random() < 0.1 else 1, self.run.page_rows)
            pages.append(found[:size])
            found = found[size:]
        fails = self.rng.random() < self.run.fail_lookups
        return _Answer(
            lookup.table,
            lookup.index,
            pages[: self.rng.randint(0, len(pages))] if fails else pages,
            fails,
            self.now,
        )

    def collect(self, batch: Any) -> None:
        vectors = list(zip(*(ids.tolist() for ids in self.eddy.row_ids(batch)), strict=True))
        must(bool(vectors), "an empty batch was emitted")
        for vector in vectors:
            if len(vector) != len(self.plan.aliases) or vector in self.seen:
                raise Wrong(f"I1: result {vector} twice, or without all aliases")
            self.seen.add(vector)
        rows = self.eddy.gather(batch)
        must(rows.num_rows == len(vectors), "gather and row_ids disagree about the number of rows")
        fields = [self.plan.field_of(column) for column in self.plan.output]
        must(rows.schema.types == [column.arrow for column in fields], f"gather has schema {rows.schema}")
        columns = [column.to_pylist() for column in rows.columns]
        found: list[Any] = [normal(row) for row in zip(*columns, strict=True)]
        self.bag.update(found)
        if self.watcher is not None:
            wrong = self.watcher.emitted(found)
            must(not wrong, "; ".join(wrong))

    # -------------------------------------------------------------------------------------------------- the whole

    def go(self) -> Outcome:
        if self.run.prioritize and self.rng.random() < self.run.prioritize:
            self.feed(Prioritize(random_wishes(self.plan, self.rng)))
        self.feed(Start())
        cancelled = False
        while self.finish is None:
            must(len(self.steps) < MAX_STEPS, "livelock: far too many steps, and not finished")
            if len(self.steps) == self.run.cancel_at:
                cancelled = True
                self.feed(Cancel("interrupted"))
                continue
            late = [request for request, answer in self.answers.items() if answer.cancelled]
            if late and self.rng.random() < 0.1:
                self.feed(self.lookup_event(self.rng.choice(late)))
                continue
            opened = [key for key, scan in self.scans.items() if scan.state == "open"]
            if opened and self.rng.random() < self.run.stalls:
                self.feed(ScanStalled(*self.rng.choice(opened)))
                continue
            if self.run.ticks and self.rng.random() < self.run.ticks:
                self.feed(self.time_passes(self.now + self.rng.expovariate(1.0)))
                continue
            if self.run.prioritize and self.rng.random() < self.run.prioritize:
                self.feed(Prioritize(random_wishes(self.plan, self.rng)))
                continue
            pending = self.pending()
            must(bool(pending), "I4: deadlock: nothing can happen, and the eddy is not finished")
            self.feed(self.happen(self.rng.choice(pending)))
        self.after()
        ended = {table for (table, _), scan in self.scans.items() if scan.state == "ended"}
        return Outcome(
            bag=self.bag,
            finish=self.finish,
            missing=tuple(self.eddy.missing),
            harmed=frozenset(self.failed - ended),
            cancelled=cancelled,
            lost=self.lost(),
            itinerary=self.itinerary,
        )

    def lost(self) -> dict[int, frozenset[int]] | None:
        """By table, the rows that parts of its scans have failed to bring, where nothing else has failed."""
        run = self.run
        if run.fail_scans or run.fail_lookups or run.cancel_at is not None or run.limit is not None:
            return None
        failed: dict[int, list[set[int]]] = {}
        for (table, _), scan in self.scans.items():
            failed.setdefault(table, []).append(scan.lost)
        return {table: self._lost_by_all(table, lost) for table, lost in failed.items()}

    def _lost_by_all(self, table: int, lost: list[set[int]]) -> frozenset[int]:
        """The rows that no scan brought: of equal ones, which are told by their number, as many as the best of them lacks."""
        if self.plan.tables[table].identity != "value":
            return frozenset(set.intersection(*lost))
        equal: dict[tuple[object, ...], set[int]] = {}
        for place, row in enumerate(self.instance.rows[table]):
            equal.setdefault(row, set()).add(place)
        return frozenset[int]().union(
            *(min((one & rows for one in lost), key=len) for rows in equal.values())
        )

    def after(self) -> None:
        """The end: nothing left inside, and answers nobody waits for any more change nothing."""
        must(not self.eddy.has_work, "I4: finished with tuples waiting")
        self.eddy.validate()
        for request in [request for request, answer in self.answers.items() if answer.cancelled]:
            if self.rng.random() < 0.5:
                self.feed(self.lookup_event(request))
        left = [f"request {request}" for request, answer in self.answers.items() if not answer.cancelled]
        left += [f"scan {key}" for key, scan in self.scans.items() if scan.state == "open"]
        must(not left, f"finished, but never cancelled: {', '.join(left)}")

    def itinerary(self) -> list[str]:
        return [
            f"{show(event)} -> {', '.join(self.told(item) for item in told) or '-'}"
            for event, told in self.steps
        ]

    def told(self, instruction: Instruction) -> str:
        if isinstance(instruction, Emit):
            ids = [ids.tolist() for ids in self.eddy.row_ids(instruction.batch)]
            return f"Emit({list(zip(*ids, strict=True))})"
        return str(instruction)


def show(event: Event) -> str:
    """An event in one line."""
    if isinstance(event, ScanRows):
        return f"ScanRows({event.table}, {event.index}, {[tuple(row.values()) for row in event.rows.to_pylist()]})"
    if isinstance(event, LookupRows):
        return f"LookupRows({event.request}, {[tuple(row.values()) for row in event.rows.to_pylist()]})"
    return str(event)


def must(truth: bool, message: str) -> None:
    """Assert something about the run."""
    if not truth:
        raise Wrong(message)


MakeEddy = Callable[[BlockPlan, Run], EddyLike]


def play(instance: Instance, run: Run, make: MakeEddy) -> Outcome:
    """One run to its end. Raises Wrong, with everything needed to replay it, for whatever goes wrong on the way."""
    if run.limit is not None:
        instance = replace(instance, plan=replace(instance.plan, limit=run.limit))
    world = _World(instance, make(instance.plan, run), run, random.Random(f"world {run.seed}"))
    try:
        return world.go()
    except Exception as error:
        name = "" if isinstance(error, Wrong) else f"{type(error).__name__}: "
        raise Wrong(report(f"{name}{error}", instance, run, world.itinerary())) from error


def report(message: str, instance: Instance, run: Run, trace: list[str]) -> str:
    """A failure as a reader wants it: what, which run, which data, and the way there."""
    shown = trace[-TRACE_SHOWN:]
    return "\n".join(
        [message, str(run), instance.describe(), f"last {len(shown)} of {len(trace)} events:", *shown]
    )


def verdict(instance: Instance, run: Run, outcome: Outcome, expected: Bag) -> None:
    """Compare with the oracle (I7, I8, I10). Raises Wrong."""
    extra, lost = outcome.bag - expected, expected - outcome.bag
    problems = []
    if extra:
        problems.append(f"I8: rows that are not in the answer: {dict(extra)}")
    if outcome.finish.reason == "limit":
        if run.limit is None or outcome.bag.total() != run.limit:
            problems.append(f"limit {run.limit}, but {outcome.bag.total()} rows")
    elif run.limit is not None and outcome.bag.total() > run.limit:
        problems.append(f"limit {run.limit} exceeded: {outcome.bag.total()} rows")
    elif lost and outcome.finish.complete:
        problems.append(f"I7: called complete, but rows are lost: {dict(lost)}")
    if outcome.finish.complete == bool(outcome.missing):
        problems.append(f"I10: complete is {outcome.finish.complete}, missing is {outcome.missing}")
    if not outcome.harmed and not outcome.cancelled and not outcome.finish.complete:
        problems.append(f"nothing went wrong for good, but the answer is not complete: {outcome.missing}")
    if outcome.lost is not None and all(alias.kind == "inner" for alias in instance.plan.aliases):
        kept = tuple(
            tuple(row for n, row in enumerate(rows) if n not in outcome.lost.get(table, ()))
            for table, rows in enumerate(instance.rows)
        )
        gone = brute_force(replace(instance, rows=kept)) - outcome.bag if any(outcome.lost.values()) else ()
        if gone:
            problems.append(f"rows are lost that rest on no window that failed: {dict(gone)}")
    if problems:
        raise Wrong(report("; ".join(problems), instance, run, outcome.itinerary()))
