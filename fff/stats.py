"""What a run knows about itself: counters the engine writes, and frozen snapshots the display and the report read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, Literal, Protocol, final

from fff.budget import Budget, Money
from fff.display.html import SHOWN_ROWS, html_table
from fff.structs import Struct


@final
class MissingValue:
    """The type of `MISSING`; it has that one value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"  # copies and pickles of the one value are the one value


#: In a partial row: a column of a table that has not answered yet. Not NULL, which is an answer.
MISSING: Final = MissingValue()

#: In the place of a predicate, behind their number: keys that nobody listed one by one.
MORE_KEYS: Final = "more keys"

_VARIANTS = 1_000  # answers for one of several values that are remembered at most
_ALIKE_KEYS = 3  # keys with the same records for two values, before that is no chance
_SEVERAL = 2  # records; a single one may well lack what others have


class Gate(Protocol):
    """Where requests wait for leave to start."""

    def resumes_in(self) -> float | None:
        """Seconds until requests may start again that the server has told to wait; None where it has not."""

    @property
    def cause(self) -> str | None:
        """What whoever has waited longest waits for; None where nobody does."""


@dataclass
class AccessMeter:
    """Counters of one access method, written by the web client, the adapter and the driver as things happen.

    `budget` pays for the requests that are counted here, each at its `price`; None: there may be any number of them, and
    they cost nothing that is known.
    """

    requests: int = 0  # answers asked for over the wire, retries included
    retries: int = 0
    throttled: int = 0  # answers that told us to slow down (429, declared others)
    failed: int = 0  # requests given up on after all attempts
    cached: int = 0
    revalidated: int = 0  # answers of an earlier run that have not changed since (304)
    bad_records: int = 0
    doubts: int = 0  # answers that may not hold all they should
    doubled: bool = False  # an answer's rows may have come twice
    moved: bool = False  # and that is likely: what the source has changed between two pages
    bytes: int = 0  # body bytes after decompression
    pages: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    busy_s: float = 0.0  # time during which at least one request was in flight
    slowest_s: float = 0.0  # that one request took, as far as that was noted
    total_rows: int | None = None  # the source's own total, where it tells one
    #: How many rows of a scan were on a page before as well; None from it: nobody can tell.
    repeated: Callable[[], int | None] | None = field(default=None, repr=False)
    left: float | None = None  # requests that the host's quota still admits; None: no quota is known
    each_s: float = 0.0  # seconds that each waits after those
    warnings: dict[str, int] = field(default_factory=dict)  # message -> how often
    waited: dict[str, float] = field(
        default_factory=dict
    )  # what held requests back -> seconds, summed over requests
    busy_since: float | None = None  # up to here `busy_s` is counted; None while nothing is in flight
    throttled_s: float = 0.0  # time during which at least one request waited because the server wanted it so
    met: set[str] = field(default_factory=set)  # columns that some record had
    missed: dict[str, tuple[int, str]] = field(
        default_factory=dict
    )  # those that none has had so far -> of how many, and the warning
    gates: dict[Gate, int] = field(default_factory=dict)  # where requests wait now -> how many
    #: Of hosts, by credential: what the client knows of attempts that brought no answer.
    breakers: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    budget: Budget | None = None
    price: Money | None = None
    memory: object = None  # what the adapter remembers for the length of the statement
    replies: int = 0  # answers to lookups
    bare_replies: int = 0  # of these: such as say by their status alone that there are no rows
    alike: bool = True  # whether all others had one and the same body
    _body: int | None = None
    _variants: dict[int, Mapping[str, object]] = field(default_factory=dict, repr=False)
    _alike_variants: set[int] = field(default_factory=set, repr=False)

    def replied(self, body: Hashable | None) -> None:
        """A lookup was answered with this body; None where the status alone says that there are no rows."""
        self.replies += 1
        if body is None:
            self.bare_replies += 1
        elif self.alike:
            digest = hash(body)
            self.alike = self._body in (None, digest)
            self._body = digest

    def noticed(self, *, doubled: bool, moved: bool) -> None:
        """What one more answer shows of rows that may have come twice."""
        self.doubled = self.doubled or doubled
        self.moved = self.moved or moved

    def variant_came(
        self, variant: Mapping[str, object], records: int, table: str, asked: Mapping[str, object]
    ) -> None:
        """Records came, of this digest, for one of the values of columns that a table is asked for apart.

        Those of a few keys may well be alike; `asked` are the values of columns for which they came.
        """
        keys = tuple((name, value) for name, value in asked.items() if name not in variant)
        digest = hash((records, repr(keys)))
        if len(self._variants) >= _VARIANTS and digest not in self._variants:
            return
        if self._variants.setdefault(digest, variant) != variant:
            self._alike_variants.add(digest)
        if len(self._alike_variants) >= (_ALIKE_KEYS if keys else 1):
            names = " and ".join(variant)
            self.warn(
                f"{table}: for two values of {names} the very same records came: if the source does not look at "
                f"{names}, its rows are here as often as it was asked"
            )

    @property
    def resumes_in(self) -> float | None:
        """Seconds until waiting requests may start again that a server has told to wait; None where none waits so."""
        waits = [wait for gate in self.gates if (wait := gate.resumes_in()) is not None]
        return max(waits, default=None)

    @property
    def limited_by(self) -> str | None:
        """What held requests back longest: "concurrency", "rate", "throttled", or None when nothing did.

        While none of those that had to wait has got through, what they wait for.
        """
        if self.waited:
            return max(self.waited, key=self.waited.__getitem__)
        return next((gate.cause for gate in self.gates if gate.cause is not None), None)

    @property
    def held_back(self) -> bool:
        """Whether nothing is under way, and requests wait for leave to start."""
        return not self.in_flight and bool(self.gates)

    def sent(self, now: float) -> None:
        """A request goes out at `now` (seconds on a steady clock)."""
        if self.busy_since is None:
            self.busy_since = now
        self.requests += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)

    def charge(self, source: str | None, table: str | None) -> None:
        """Have the budget pay for a request. Raises BudgetExhausted, for that source and table."""
        if self.budget is not None:
            self.budget.charge(source, table, self.price)

    def refund(self) -> None:
        """Take back what a request has paid that was not sent after all."""
        if self.budget is not None:
            self.budget.refund(self.price)

    @property
    def cost(self) -> Money | None:
        """What the requests have cost; None where no price is stated."""
        return None if self.price is None else self.price.times(self.requests)

    def request_answered(self, now: float, sent: float | None = None) -> None:
        """A request is over, however it ended; `sent`: when it went out, where that was noted."""
        assert self.busy_since is not None, "answered without sent"
        self.slowest_s = max(self.slowest_s, 0.0 if sent is None else now - sent)
        self.busy_s += now - self.busy_since
        self.in_flight -= 1
        self.busy_since = now if self.in_flight else None

    def warn(self, message: str, count: int = 1) -> None:
        """Count something worth telling the user at the end."""
        self.warnings[message] = self.warnings.get(message, 0) + count

    def doubt(self, message: str, count: int = 1) -> None:
        """Warn of an answer that may not hold all it should; it is not kept for later runs."""
        self.doubts += 1
        self.warn(message, count)

    def miss(self, column: str, records: int, message: str) -> None:
        """So many records have nothing where a column is declared to be; worth the warning until one has, and not of one alone."""
        before = self.missed[column][0] if column in self.missed else 0
        self.missed[column] = before + records, message
        if before < _SEVERAL <= before + records:
            self.warn(message)

    def lacks(self, columns: Iterable[str]) -> None:
        """No record of an answer that an earlier run has kept had these columns."""
        for column in columns:
            if column not in self.met:
                self.missed.setdefault(column, (0, ""))

    def meet(self, column: str) -> None:
        """A record has something there: the warning is void."""
        self.met.add(column)
        _, message = self.missed.pop(column, (0, ""))
        self.warnings.pop(message, None)


class Misgivings:
    """What a meter is told from now on to be wrong with answers, for others who are given those as well.

    Args:
        meter: of whoever asks for them.
        whose: the statement that asks, which is told already.
    """

    def __init__(self, meter: AccessMeter, whose: object) -> None:
        self._meter: AccessMeter | None = meter
        self._whose = whose
        self._before = meter.bad_records, meter.doubts, dict(meter.warnings)
        self._said: tuple[int, int, dict[str, int]] = 0, 0, {}
        self.absent: frozenset[str] = frozenset()  # columns that no record had, once the answers are over

    def end(self) -> None:
        """The answers are over: what the meter is told later is about others."""
        if self._meter is not None:
            self.absent = frozenset(self._meter.missed)
        self._said, self._meter = self._since(), None

    @property
    def are_there(self) -> bool:
        """Whether some record was not as it should be, or an answer may not hold all it should."""
        bad, doubts, _ = self._since()
        return bool(bad or doubts)

    def tell(self, other: AccessMeter, whose: object) -> None:
        """Have another statement's meter told the same."""
        if whose is self._whose:
            return
        bad, doubts, warnings = self._since()
        other.bad_records += bad
        other.doubts += doubts
        for message, count in warnings.items():
            other.warn(message, count)

    def _since(self) -> tuple[int, int, dict[str, int]]:
        if self._meter is None:
            return self._said
        bad, doubts, warned = self._before
        more = {
            message: count - warned.get(message, 0)
            for message, count in self._meter.warnings.items()
            if count > warned.get(message, 0)
        }
        return self._meter.bad_records - bad, self._meter.doubts - doubts, more


class Inquiry(Struct, frozen=True):
    """What one source was asked before a statement ran: which tables it has (of none), or the columns of some of them."""

    source: str
    tables: tuple[str, ...]
    meter: AccessMeter


AccessState = Literal["waiting", "running", "throttled", "stalled", "complete", "stopped", "failed", "unused"]


class AccessStats(Struct, frozen=True):
    """One access method at one moment; of kind "columns": what a source was asked for that its spec does not declare."""

    source: str
    table: str
    kind: Literal["scan", "lookup", "columns"]
    keys: tuple[str, ...]
    name: str
    state: AccessState
    sends: tuple[str, ...] = ()  # what requests say beside keys, so that sources leave out rows
    requests: int = 0
    distinct_keys: int = 0
    pending_keys: int = 0
    hedged: int = 0  # of the requests: those that raced a slow one of another method
    retries: int = 0
    throttled: int = 0
    failed: int = 0
    cached: int = 0
    revalidated: int = 0
    rows: int = 0
    duplicates: int = 0
    bad_records: int = 0
    bytes: int = 0
    pages: int = 0
    total_pages: int | None = None
    over_time: tuple[
        float, ...
    ] = ()  # of a scan that has rivals: its share of the table's pages, by interval
    in_flight: int = 0
    max_in_flight: int = 0
    total_rows: int | None = None
    complete: bool = False
    busy_s: float = 0.0
    slowest_s: float = 0.0  # of one request, from sending it to the end of its answer
    limited_by: str | None = None
    throttled_s: float = 0.0
    resumes_s: float | None = None  # of a throttled one: until the server takes requests again
    cost: float | None = None  # of all requests, in `currency`; None where no price is stated
    currency: str | None = None


class Bill(Struct, frozen=True):
    """What one source was asked, and what that cost; `cost` is None where no price is stated."""

    source: str
    requests: int
    cost: float | None = None
    currency: str | None = None


def bills(access: Iterable[AccessStats]) -> list[Bill]:
    """What each source was asked that was asked at all, in the order of their access methods."""
    by_source: dict[str, Bill] = {}
    for one in access:
        before = by_source.get(one.source, Bill(one.source, 0))
        cost, currency = before.cost, before.currency
        if one.cost is not None:
            # Sums of decimals: 0.1 + 0.2 is 0.3 on a bill.
            cost = float(Decimal(repr(cost or 0.0)) + Decimal(repr(one.cost)))
            currency = one.currency
        by_source[one.source] = Bill(one.source, before.requests + one.requests, cost, currency)
    return [bill for bill in by_source.values() if bill.requests]


class SteMStats(Struct, frozen=True):
    """One State Module at one moment."""

    table: str
    rows: int
    builds: int
    probes: int
    hits: int
    covered: int
    parked: int
    bytes: int
    conflicts: int = 0  # rows that differ from the row that had their declared key before


class RoutingShare(Struct, frozen=True):
    """How many tuples of one TupleState went to one destination, how many came out of it, what it asked for."""

    state: str
    destination: str
    batches: int
    tuples: int
    produced: int = 0
    requests: int = 0  # keys


class Missing(Struct, frozen=True):
    """A part of a table the answer does not rest on, and why."""

    table: str
    predicate: str
    reason: str

    @property
    def keys(self) -> int:
        """How many keys it stands for: one, or all that are counted and not listed."""
        count, _, rest = self.predicate.partition(" ")
        return int(count) if rest == MORE_KEYS else 1


class WastedKeys(Struct, frozen=True):
    """Keys that a lookup can only have been asked for on behalf of rows that were thrown away; None: nobody knows."""

    lookup: str
    keys: int | None


class FilterCost(Struct, frozen=True):
    """What a condition cost that was left to Spark: it saw so many rows, and dropped some that had been fetched and joined."""

    text: str
    rows: int
    dropped: int
    seconds: float
    lookups: tuple[WastedKeys, ...] = ()


class SparkStats(Struct, frozen=True):
    """What Spark did for a run; times in seconds."""

    used: bool = False
    start_s: float | None = None
    attached: bool = False  # to this user's Spark, which was up before the command
    refreshes: int = 0
    refresh_s: float = 0.0
    final_s: float | None = None
    waited_s: float = 0.0  # for its start and its last run, when there were no answers to wait for any more
    filters: tuple[FilterCost, ...] = ()  # as far as somebody wanted to know


class MemoryStats(Struct, frozen=True):
    """Memory of a run, in bytes: what it may take, the most that was seen, and what went to files in all."""

    limit: int = 0
    peak: int = 0
    to_disk: int = 0


class Snapshot(Struct, frozen=True):
    """A frozen picture of a running query; the live view draws it and nothing else."""

    elapsed_s: float
    phase: Literal["fetching", "aggregating", "done"]
    rows: int  # rows out of the eddy so far
    first_row_s: float | None
    access: tuple[AccessStats, ...]
    stems: tuple[SteMStats, ...]
    routing: tuple[RoutingShare, ...]
    missing: tuple[Missing, ...]
    spark: SparkStats
    policy: str
    seed: int
    columns: tuple[str, ...]  # header of `sample`
    sample: tuple[
        tuple[object, ...], ...
    ]  # current result rows (groups), or the newest rows while no group is known
    sample_is: Literal["newest rows", "current groups", "final"]
    sample_rows: int  # how many rows the current result has in all
    # What follows is parallel to `columns`, or to `sample`; empty where it is not known.
    #: For a result column that groups: the column it groups by, as SQL.
    group_keys: tuple[str | None, ...] = ()
    rests_on: tuple[int, ...] = ()  # how many of the eddy's rows each shown group rests on
    settled: tuple[bool, ...] = ()  # whether a shown group can change no more
    #: Groups that no complete row has reached stand at the end of `sample` and are not among the `sample_rows`: on how
    #: many rows under way each rests, 0 for a group of complete rows. Values that rest on missing columns are MISSING.
    under_way: tuple[int, ...] = ()
    #: Rows that some tables have not answered for yet, their values MISSING; in the order of `partial_columns`.
    partial_columns: tuple[str, ...] = ()
    partial: tuple[tuple[object, ...], ...] = ()
    priorities: tuple[str, ...] = ()  # predicates that are fetched first
    prefer: Literal["fast", "balanced", "cheap"] = "balanced"
    memory: MemoryStats = MemoryStats()
    warm_start: bool = False  # whether the policy knew something from earlier statements of the session
    waiting: int = 0  # tuples that wait in the eddy until some lookup can be asked for them

    def _repr_html_(self) -> str:
        """What a notebook shows: what each access method has done, and the rows on display."""
        access = [
            (f"{one.source}.{one.table}", one.name, one.state, one.requests, one.pending_keys, one.rows)
            for one in self.access
        ]
        heads = ("table", "access method", "state", "requests", "keys waiting", "rows")
        text = html_table(heads, access, f"{self.phase}, {self.elapsed_s:,.1f} s, {self.rows:,} rows so far")
        if not self.columns:
            return text
        shown = self.sample[:SHOWN_ROWS]
        return text + html_table(
            self.columns, shown, f"{self.sample_is}: {len(shown):,} of {self.sample_rows:,} rows"
        )


class RunOutcome(Struct, frozen=True, dict=True):
    """How a run ended. `exit_code` and `report` are those of the contract.

    `doubts`: what in the statement may have made rows of a partial answer wrong, as LEFT JOIN; where there is nothing,
    each row of a partial answer is one of the complete answer. `bounds`: what the values of a partial answer say of the
    complete one's, by column ("certain", "at_least", "at_most" or "unknown"); nothing where that is not known of them.
    `within`: by column, by how much the complete one's are higher at most, None where that is not known, nothing where it
    is of none. `bounded`: it is known of all, and each row stands for one of the complete answer.
    """

    complete: bool
    exit_code: int
    reason: str | None
    rows: int
    elapsed_s: float
    missing: tuple[Missing, ...]
    warnings: tuple[str, ...]
    make_report: Callable[[], dict[str, Any]]
    doubts: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    bounded: bool = False
    within: tuple[int | None, ...] = ()

    @cached_property
    def report(self) -> dict[str, Any]:
        """The account of the run, made when it is first read: the self-audit takes longer than a small join."""
        return self.make_report()
