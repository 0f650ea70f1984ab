"""What the last seconds of a run say: rates, which source stalls or throttles and for how long, what is left.

Pure: the live view hands in one snapshot after the other, and each gives a new History.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from fff.stats import AccessStats, Snapshot
from fff.structs import Struct, field, replace

WINDOW_S = 5.0  # rates are those of so many seconds
SOON_S = 1.5  # and whether keys still come in is a matter of the last ones
LEAST_S = 0.5  # a rate over less than that says nothing
TRACE = 12  # rates remembered of an access method, one a second
LOOKUPS_LATE = 0.8  # lookups that end so much later than the scan whose keys they get keep up with it
_NEVER = float("inf")
ACTIVE = ("running", "throttled", "stalled")

Key: TypeAlias = tuple[str, str, str, str]
Spell: TypeAlias = Literal["stalled", "throttled"]
SPELLS: tuple[Spell, ...] = ("stalled", "throttled")


class Moment(Struct, frozen=True):
    """The access methods at one moment of the last seconds."""

    elapsed_s: float
    access: Mapping[Key, AccessStats]
    waiting: int = 0  # tuples in the eddy


class History(Struct, frozen=True):
    """What a view remembers of the snapshots before."""

    recent: tuple[Moment, ...] = ()  # of the last WINDOW_S seconds, oldest first
    spells: Mapping[tuple[Key, Spell], float] = field(default_factory=dict)  # -> elapsed seconds at its start
    traces: Mapping[Key, tuple[float, ...]] = field(default_factory=dict)  # rates of the last TRACE seconds
    traced_s: float = 0.0  # up to when the traces go

    def after(self, snapshot: Snapshot) -> History:
        """The history with one more snapshot."""
        now = snapshot.elapsed_s
        moment = Moment(now, {key_of(one): one for one in snapshot.access}, snapshot.waiting)
        last = self.recent[-1].access if self.recent else {}
        spells: dict[tuple[Key, Spell], float] = {}
        for key, one in moment.access.items():
            on: dict[Spell, bool] = {
                "stalled": one.state == "stalled",
                "throttled": self._throttled(one, last.get(key)),
            }
            for spell in (spell for spell, holds in on.items() if holds):
                spells[key, spell] = self.spells.get((key, spell), now)
        kept = tuple(before for before in self.recent if now - WINDOW_S <= before.elapsed_s < now)
        after = History((*kept, moment), spells, self.traces, self.traced_s)
        return after._with_traces(snapshot) if now - self.traced_s >= 1.0 else after

    def _with_traces(self, snapshot: Snapshot) -> History:
        """The rates of the last second behind those before."""
        rates = {key_of(one): self._growth(one, _counted(one), SOON_S) for one in snapshot.access}
        traces = {
            key: (*self.traces.get(key, ()), rate)[-TRACE:] for key, rate in rates.items() if rate is not None
        }
        return replace(self, traces=traces, traced_s=snapshot.elapsed_s)

    def _throttled(self, one: AccessStats, before: AccessStats | None) -> bool:
        """Whether a source makes us wait: it says until when, or has refused and given no other answer since."""
        if one.state == "throttled" or one.state not in ACTIVE:
            return one.state == "throttled"
        if before is None or one.throttled > before.throttled:
            return one.throttled > 0
        answers, answers_before = (other.requests - other.in_flight for other in (one, before))
        return (key_of(one), "throttled") in self.spells and answers <= answers_before

    def lasted(self, one: AccessStats, spell: Spell) -> float | None:
        """Seconds for which an access method has been stalling or throttled; None when it is not."""
        began = self.spells.get((key_of(one), spell))
        return None if began is None or not self.recent else self.recent[-1].elapsed_s - began

    def rate(self, one: AccessStats) -> float | None:
        """Rows a second of a scan, answers a second of a lookup, over the last seconds; None while unknown."""
        return self._growth(one, _counted(one))

    def _growth(
        self, one: AccessStats, measure: Callable[[AccessStats], int], window_s: float = WINDOW_S
    ) -> float | None:
        if not self.recent:
            return None
        last, key = self.recent[-1], key_of(one)
        known = [
            moment
            for moment in self.recent
            if key in moment.access and last.elapsed_s - moment.elapsed_s >= LEAST_S
        ]
        if not known:
            return None
        # On a slow line the view looks more rarely than the window is long: the last look will do.
        first = next((moment for moment in known if moment.elapsed_s >= last.elapsed_s - window_s), known[-1])
        return (measure(one) - measure(first.access[key])) / (last.elapsed_s - first.elapsed_s)

    def seconds_left(self, snapshot: Snapshot) -> float | None:
        """Seconds until everything under way is fetched; None where a total or a rate is unknown."""
        if snapshot.phase != "fetching":
            return None
        left = [
            None if seconds is None else seconds + (one.resumes_s or 0.0)
            for one, seconds in self._left(snapshot)
        ]
        return _longest([*left, self._waiting_left(snapshot)]) if left else None

    def _waiting_left(self, snapshot: Snapshot) -> float | None:
        """Seconds until no tuple waits in the eddy any more; None where nobody knows, as long as they get more.

        Policies that pull ask a lookup for as many keys as it has places. The others are no pending keys
        but tuples, and how many different keys these have is not known.
        """
        if not snapshot.waiting or not self.recent:
            return None if snapshot.waiting else 0.0
        last, most = self.recent[-1], max(self.recent, key=lambda moment: (moment.waiting, moment.elapsed_s))
        lasted, gone = last.elapsed_s - most.elapsed_s, most.waiting - last.waiting
        return snapshot.waiting * lasted / gone if gone and lasted >= LEAST_S else None

    def slowest(self, snapshot: Snapshot) -> AccessStats | None:
        """The access method that the run waits for.

        One that does not answer, one of which nobody knows how long it takes, or the one that takes longest;
        a scan rather than the lookups that it feeds.
        """
        if snapshot.phase != "fetching":
            return None
        best, worst = None, (False, -1.0)
        for one, left in self._left(snapshot):
            if one.state not in ACTIVE:
                continue  # it waits for another itself
            held = any((key_of(one), spell) in self.spells for spell in SPELLS)
            seconds = _NEVER if left is None else left * (LOOKUPS_LATE if one.kind == "lookup" else 1.0)
            if (held, seconds) > worst:
                best, worst = one, (held, seconds)
        return best

    def _left(self, snapshot: Snapshot) -> list[tuple[AccessStats, float | None]]:
        """Seconds that each access method under way takes yet; None where nobody knows.

        A scan that is held back while its rows wait is under way, and feeds lookups when it goes on.
        """
        active = [one for one in snapshot.access if one.state in ACTIVE or _is_held_back(one)]
        scans = [(one, self._scan_left(one, snapshot.elapsed_s)) for one in active if one.kind == "scan"]
        longest = _longest(left for _, left in scans)
        lookups = (one for one in active if one.kind == "lookup")
        return scans + [
            (one, None if longest is None else self._lookup_left(one, longest)) for one in lookups
        ]

    def _scan_left(self, one: AccessStats, elapsed_s: float) -> float | None:
        got, total = _part(one)
        if one.state == "stalled" or total is None:
            return None
        # Pages further apart than the window: the rate since the beginning is the one there is.
        rate = self._growth(one, lambda other: _part(other)[0]) or got / max(elapsed_s, LEAST_S)
        return max(0, total - got) / rate if rate > 0 else None

    def _lookup_left(self, one: AccessStats, scans_left: float) -> float | None:
        """Keys still to be asked for, those that the scans will bring at the rate they do now included."""
        sent = self._growth(one, lambda other: other.distinct_keys)
        known = self._growth(one, lambda other: other.distinct_keys + other.pending_keys, SOON_S)
        if not one.pending_keys and not scans_left:
            return 0.0
        if not sent or known is None:
            return None
        return (one.pending_keys + max(0.0, known) * scans_left) / sent


def _longest(each: Iterable[float | None]) -> float | None:
    longest = 0.0
    for left in each:
        if left is None:
            return None
        longest = max(longest, left)
    return longest


def _is_held_back(one: AccessStats) -> bool:
    return one.kind == "scan" and one.state == "waiting" and _part(one)[0] > 0


def _part(one: AccessStats) -> tuple[int, int | None]:
    """What a scan has given and what it gives in all, in rows, else in pages; None where its source tells neither."""
    if one.total_rows is None and one.total_pages is not None:
        return one.pages, one.total_pages
    return one.rows, one.total_rows


def _counted(one: AccessStats) -> Callable[[AccessStats], int]:
    """What the rate of an access method is that of: rows of a scan, answers of a lookup."""
    if one.kind == "scan":
        return lambda other: other.rows
    return lambda other: other.requests - other.in_flight


def share_done(snapshot: Snapshot, left_s: float | None) -> float | None:
    """How much of the fetching is done; None where nothing is known.

    By time where a forecast says what is left, else the least that any source has given of what it is known
    to hold, else how many access methods have ended. Never all: what is fetched to the end is not fetched any
    more.
    """
    if snapshot.phase != "fetching":
        return None
    shares = [
        share
        for one in snapshot.access
        if one.state in ACTIVE and (share := share_of(one, snapshot.waiting)) is not None
    ]
    methods = [one for one in snapshot.access if one.kind != "columns"]
    ended = sum(one.state not in (*ACTIVE, "waiting") for one in methods)
    if not shares and ended:
        shares = [ended / len(methods)]
    if left_s is not None:
        shares = [snapshot.elapsed_s / max(snapshot.elapsed_s + left_s, LEAST_S)]
    return min(0.99, *shares) if shares else None


def share_of(one: AccessStats, waiting: int = 0) -> float | None:
    """How much an access method has given of what it is known to hold: rows of a scan, keys of a lookup.

    `waiting`: tuples that may each bring a lookup one key more.
    """
    if one.kind == "scan":
        got, total = _part(one)
        return min(1.0, got / total) if total else None
    known = one.distinct_keys + one.pending_keys + waiting
    return max(0, one.distinct_keys - one.in_flight) / known if known else None


def key_of(one: AccessStats) -> Key:
    """What tells an access method from the others of a run."""
    return (one.source, one.table, one.kind, one.name)


def duration(seconds: float) -> str:
    """A length of time in one unit, as exact as a forecast is: 8 s, 45 s, 3 min, 2 h."""
    if seconds < 20:
        return f"{max(1, round(seconds))} s"
    if seconds < 90:
        return f"{5 * round(seconds / 5)} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{round(seconds / 3600)} h"
