"""What a run knows about itself: counters the engine writes, and frozen snapshots the display and the report read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, final


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


class Gate(Protocol):
    """Where requests wait for leave to start."""

    def resumes_in(self) -> float | None:
        """Seconds until requests may start again that the server has told to wait; None where it has not."""


@dataclass
class AccessMeter:
    """Counters of one access method, written by the web client, the adapter and the driver as things happen."""

    requests: int = 0  # answers asked for over the wire, retries included
    retries: int = 0
    throttled: int = 0  # answers that told us to slow down (429, declared others)
    failed: int = 0  # requests given up on after all attempts
    cached: int = 0
    revalidated: int = 0  # answers of an earlier run that have not changed since (304)
    bad_records: int = 0
    doubts: int = 0  # answers that may not hold all they should
    bytes: int = 0  # body bytes after decompression
    pages: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    busy_s: float = 0.0  # time during which at least one request was in flight
    total_rows: int | None = None  # the source's own total, where it tells one
    warnings: dict[str, int] = field(default_factory=dict)  # message -> how often
    waited: dict[str, float] = field(
        default_factory=dict
    )  # what held requests back -> seconds, summed over requests
    busy_since: float | None = None  # up to here `busy_s` is counted; None while nothing is in flight
    throttled_s: float = 0.0  # time during which at least one request waited because the server wanted it so
    gates: dict[Gate, int] = field(default_factory=dict)  # where requests wait now -> how many

    @property
    def resumes_in(self) -> float | None:
        """Seconds until waiting requests may start again that a server has told to wait; None where none waits so."""
        waits = [wait for gate in self.gates if (wait := gate.resumes_in()) is not None]
        return max(waits, default=None)

    @property
    def limited_by(self) -> str | None:
        """What held requests back longest: "concurrency", "rate", "throttled", or None when nothing did."""
        return max(self.waited, key=self.waited.__getitem__, default=None)

    def sent(self, now: float) -> None:
        """A request goes out at `now` (seconds on a steady clock)."""
        if self.busy_since is None:
            self.busy_since = now
        self.requests += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)

    def answered(self, now: float) -> None:
        """A request is over, however it ended."""
        assert self.busy_since is not None, "answered without sent"
        self.busy_s += now - self.busy_since
        self.in_flight -= 1
        self.busy_since = now if self.in_flight else None

    def warn(self, message: str, count: int = 1) -> None:
        """Count something worth telling the user at the end."""
        self.warnings[message] = self.warnings.get(message, 0) + count

    def doubt(self, message: str) -> None:
        """Warn of an answer that may not hold all it should; it is not kept for later runs."""
        self.doubts += 1
        self.warn(message)


AccessState = Literal["waiting", "running", "throttled", "stalled", "complete", "stopped", "failed", "unused"]


@dataclass(frozen=True)
class AccessStats:
    """One access method at one moment."""

    source: str
    table: str
    kind: Literal["scan", "lookup"]
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
    in_flight: int = 0
    max_in_flight: int = 0
    total_rows: int | None = None
    complete: bool = False
    busy_s: float = 0.0
    limited_by: str | None = None
    throttled_s: float = 0.0
    resumes_s: float | None = None  # of a throttled one: until the server takes requests again


@dataclass(frozen=True)
class SteMStats:
    """One State Module at one moment."""

    table: str
    rows: int
    builds: int
    probes: int
    hits: int
    covered: int
    parked: int
    bytes: int


@dataclass(frozen=True)
class RoutingShare:
    """How many tuples of one TupleState went to one destination, how many came out of it, what it asked for."""

    state: str
    destination: str
    batches: int
    tuples: int
    produced: int = 0
    requests: int = 0  # keys


@dataclass(frozen=True)
class Missing:
    """A part of a table the answer does not rest on, and why."""

    table: str
    predicate: str
    reason: str


@dataclass(frozen=True)
class SparkStats:
    """What Spark did for a run; times in seconds."""

    used: bool = False
    start_s: float | None = None
    refreshes: int = 0
    refresh_s: float = 0.0
    final_s: float | None = None


@dataclass(frozen=True)
class Snapshot:
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
    group_keys: tuple[
        str | None, ...
    ] = ()  # for a result column that groups: the column it groups by, as SQL
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
    warm_start: bool = False  # whether the policy knew something from earlier statements of the session
