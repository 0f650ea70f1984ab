"""Scans of one table in competition (S4 section 3.2): which of several mirrors reads on.

`fast` lets all read that take nothing from anybody: the table is there when the first of them is through.
`balanced` has one reader. Another takes its place, from where it stands, if the share of the requests of
a whole scan that this adds is no greater than the share of the time that it saves, as learnt from their
pages; and it asks one for a page, to learn, where what may be gained is expected to be worth it. `cheap`
leaves all as it is: the next is begun where one fails or stalls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fff.dataflow.plan.moves import ScanPace, ScanRace
from fff.dataflow.plan.plan import BlockPlan
from fff.options import Preference
from fff.policies.adaptive.beside import needed_limiters
from fff.structs import Struct

#: The least share of the time that a change of readers has to save: two of about one speed would take turns.
WORTH = 0.1
#: Pages that are asked for to learn, beside the first: a share of all that the table has taken.
TRIALS = 0.05
#: Pages of late after which no more are asked for to be sure that a rival which looks faster is.
SURE = 4
#: What is not known of a speed, as a deviation of the logarithm, before the first page; after it, less as
#: more come of late; and after how many pages of others it is not known again.
UNKNOWN, BARELY_KNOWN, FORGOTTEN = 1.0, 0.5, 100


class _Prospect(Struct, frozen=True):
    """What is left of a scan, if it reads on alone: requests, seconds, and how far these may be off."""

    requests: float
    seconds: float
    doubt: float


class RivalScans:
    """Who reads on, for each table of a plan."""

    def __init__(self, plan: BlockPlan | None, prefer: Preference) -> None:
        self._plan = plan
        self._prefer = prefer
        self._readers: dict[int, int] = {}  # by table, under `balanced`
        self._trials: dict[int, int] = {}
        self._confirmed: dict[int, int] = {}  # pages that were asked for as the one before looked well

    def race(self, race: ScanRace) -> dict[int, int]:
        """By scan how many pages it may be ahead."""
        running = [pace for pace in race.scans if pace.running]
        if self._prefer == "balanced":
            return self._balanced(race, [pace for pace in running if not pace.stalled])
        if self._prefer == "fast":
            for pace in race.scans:
                if not pace.running and self._free(race, pace, beside=running):
                    running.append(pace)
        return {pace.index: race.most for pace in running}

    def _free(self, race: ScanRace, pace: ScanPace, *, beside: Sequence[ScanPace]) -> bool:
        """Whether beginning it takes nothing from scans and lookups, nor money that is not given for time."""
        if self._plan is None:
            return False
        scans = self._plan.tables[race.table].scans
        if scans[pace.index].price and self._prefer != "fast":
            return False
        taken = needed_limiters(self._plan) | {scans[one.index].limiter for one in beside}
        taken |= {
            table.scans[0].limiter
            for number, table in enumerate(self._plan.tables)
            if table.scans and number != race.table
        }
        limiter = scans[pace.index].limiter
        return limiter is None or limiter not in taken

    def _balanced(self, race: ScanRace, able: list[ScanPace]) -> dict[int, int]:
        if not able:
            return {}
        chosen = self._readers.get(race.table)
        reader = next((pace for pace in able if pace.index == chosen), None)
        reader = reader or max(able, key=lambda pace: pace.rows)
        self._readers[race.table] = reader.index
        alone = {reader.index: race.most}
        asked = next((one for one in race.scans if one is not reader and one.asked), None)
        if not reader.rows or not reader.mean_s:
            return alone
        rows = race.total or 2 * max(pace.rows for pace in race.scans)  # as much again as has come
        whole = rows * reader.pages / reader.rows
        now = _prospect(reader, reader, rows)
        end = race.elapsed + now.seconds

        def spent(other: _Prospect) -> float:
            """What the change costs, as a share of the requests."""
            return (other.requests - now.requests) / whole

        def saved(other: _Prospect) -> float:
            """Of the time, at least, as far as that is known."""
            return (now.seconds - other.seconds * math.exp(math.hypot(now.doubt, other.doubt))) / end

        rivals = [
            (pace, _prospect(pace, reader, rows))
            for pace in race.scans
            if pace is not reader
            and not pace.stalled
            and (pace.running or self._free(race, pace, beside=able))
        ]
        known = [one for one in rivals if one[0].pages and one[1].doubt < UNKNOWN]
        fair = [one for one in known if saved(one[1]) >= max(WORTH, spent(one[1]))]
        if fair:
            best, _ = max(fair, key=lambda one: saved(one[1]) - spent(one[1]))
            if best.late < 2:  # of one page it may be luck
                return {**alone, best.index: 1}
            self._readers[race.table] = best.index
            return {best.index: race.most}
        if asked is not None:
            return alone
        for pace, other in known:
            hoped = (now.seconds - other.seconds) / end >= max(WORTH, spent(other))
            if hoped and pace.late < SURE and self._may_confirm(race):
                self._confirmed[race.table] = self._confirmed.get(race.table, 0) + 1
                return {**alone, pace.index: 1}
        for pace, other in rivals:
            kept = now.seconds / end - spent(other)  # of the time, if it took none
            if self._may_try(race) and _hope(kept, other.seconds / end, other.doubt) * whole >= 1:
                self._trials[race.table] = self._trials.get(race.table, 0) + 1
                return {**alone, pace.index: 1}
        return alone

    def _may_try(self, race: ScanRace) -> bool:
        return self._trials.get(race.table, 0) < 1 + math.floor(TRIALS * _pages(race))

    def _may_confirm(self, race: ScanRace) -> bool:
        return self._confirmed.get(race.table, 0) < 2 + math.floor(TRIALS * _pages(race))


def _pages(race: ScanRace) -> int:
    return sum(pace.pages for pace in race.scans)


def _prospect(pace: ScanPace, reader: ScanPace, rows: int) -> _Prospect:
    """What a scan has before it. One that is not known is thought to be as the reader was on the whole."""
    by = pace if pace.rows else reader
    requests = max(1.0, (rows - pace.rows) * by.pages / by.rows)
    if not pace.pages:
        return _Prospect(requests, requests * reader.mean_s, UNKNOWN)
    doubt = min(UNKNOWN, max(math.sqrt(pace.since / FORGOTTEN), BARELY_KNOWN / math.sqrt(pace.late)))
    if pace.pages == 1:  # pages may come side by side, which shows from the second on
        faster = min(1.0, reader.mean_s / reader.first_s) if reader.first_s else 1.0
        return _Prospect(requests, requests * pace.first_s * faster, doubt)
    return _Prospect(requests, requests * pace.usual_s, doubt)


def _hope(kept: float, taken: float, doubt: float) -> float:
    """The mean of max(0, kept - taken * e^z), where z is normal with that deviation.

    It is what may be gained, as it can be declined.
    """
    if kept <= 0:
        return 0.0
    if not doubt or not taken:
        return max(0.0, kept - taken)
    at = math.log(kept / taken) / doubt
    return kept * _normal(at) - taken * math.exp(doubt**2 / 2) * _normal(at - doubt)


def _normal(deviations: float) -> float:
    """How likely something normally distributed is at most so many deviations above its mean."""
    return math.erfc(-deviations / math.sqrt(2)) / 2
