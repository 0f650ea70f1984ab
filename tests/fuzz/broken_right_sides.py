"""Broken cores: rules of left, semi and anti joins (P44). Each must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fff.dataflow.columns import ArrowColumn
from fff.dataflow.eddy import Eddy
from fff.dataflow.lookups.lookups import Lookups
from fff.dataflow.lookups.parked import ParkedGroup
from fff.dataflow.routing.constraints import Constraints
from fff.dataflow.routing.parking import Parking
from fff.dataflow.routing.right_sides import Met, RightSides
from fff.dataflow.routing.router import Router
from fff.dataflow.store.sorted_runs import Candidates
from fff.dataflow.store.stem import SteM
from tests.fuzz.broken import Broken, around, method, nothing
from tests.fuzz.generate import Knobs

RIGHT = Knobs(right=1.0, aliases=(1, 2, 2))
LOOKED_UP = Knobs(right=1.0, aliases=(1, 2), scannable=0.0)
SCANNED = Knobs(right=1.0, aliases=(1, 2), scannable=1.0, second_scan=0.0)
UNLINKED = Knobs(right=1.0, unlinked=1.0, aliases=(1, 1, 2), max_rows=8)
SEVERAL = Knobs(right=1.0, aliases=(2, 2), scannable=0.2)


def _asked_is_answered(right: Callable[..., int]) -> Callable[..., int]:
    """Who has been asked for a key has had every match."""

    def wait(self: Router, batch: Any, move: Any, matched: Any, *, urgent: bool) -> int:
        right(self, batch, move, matched, urgent=urgent)
        self._unmatched(batch.take(np.flatnonzero(~matched)), move)
        return 0

    return wait


def _never_told(self: Router, batch: Any, move: Any, matched: Any, *, urgent: bool) -> int:
    """Nobody waits."""
    return 0


def _failed_is_covered(right: Callable[..., Any]) -> Callable[..., Any]:
    """Tuples parked on keys that failed are told that they have no match."""

    def failed(self: Lookups, event: Any) -> Any:
        asked = self.asked(event.request)
        if asked is not None:
            keys = asked[3].keys
            self.router.release(asked[0], asked[1], keys, [len(keys)], [0.0])
        return right(self, event)

    return failed


def _scan_failed_is_end(right: Callable[..., None]) -> Callable[..., None]:
    return lambda self, table, *, complete: right(self, table, complete=True)


def _told_and_kept(right: Callable[..., int]) -> Callable[..., int]:
    """Tuples leave a scan that has ended, and stay for its EOT."""

    def close(self: ParkedGroup) -> int:
        places = self.alive()
        batch, keys, matched = self.at(places), self.keys_at(places), self._matched.view[places]
        closed = right(self)
        if len(places) and not self.__dict__.setdefault("kept", False):
            self.__dict__["kept"] = True
            self.park(batch, keys, matched=matched)
        return closed

    return close


def _nobody_leaves(self: ParkedGroup, places: Any) -> None:
    """Who needs one match waits for more."""


def _semi_every_match(right: Callable[..., Met]) -> Callable[..., Met]:
    """A semi join lets a tuple go on at every match of a page."""

    def meet(self: RightSides, batch: Any, alias: int, positions: Any, rows: Any) -> Met:
        met = right(self, batch, alias, positions, rows)
        if self._block.plan.aliases[alias].kind != "semi" or not len(met.going):
            return met
        return Met(self._by_itself(batch.take(positions[met.matched[positions]]), alias), met.matched)

    return meet


def _half_of_on(right: Callable[..., None]) -> Callable[..., None]:
    """ON conditions that read both sides are forgotten."""

    def init(self: Constraints, plan: Any) -> None:
        right(self, plan)
        self.pairing = {alias: [] for alias in self.right}

    return init


def _always_hopeful(self: RightSides, batch: Any, alias: int) -> Any:
    return np.ones(len(batch), np.bool_)


def _last_row_for_none(right: Callable[..., Any]) -> Callable[..., Any]:
    """Row -1 is the last row."""
    return lambda self, rows, *, holes=False: right(
        self, np.maximum(rows, -self.length) % max(1, self.length)
    )


def _key_of_last_row(self: SteM, column: int, rows: Any) -> Any:
    view = self.numbers[column].view
    return view[rows] if len(view) else np.full(len(rows), -1, np.int64)


def _before_its_time(right: Callable[..., Any]) -> Callable[..., Any]:
    """A right side is probed by tuples that lack what its ON condition reads."""
    return lambda self, number: []


def _empty_right_side_is_the_end(right: Callable[..., Any]) -> Callable[..., Any]:
    """P28b for every alias: a table that is complete without a row for it ends the query."""

    def scan_end(self: Eddy, event: Any) -> Any:
        out = right(self, event)
        stem = self.block.stems[event.table]
        if stem.complete and not self.finished and any(not stem.alias_rows[alias] for alias in stem.aliases):
            out += self._stop_everything()
            self.block.missing.clear()
        return out

    return scan_end


def _matched_forgotten(right: Callable[..., Any]) -> Callable[..., Any]:
    """Who moves from one lookup to another forgets that it had a match."""

    def repark(self: Parking, batch: Any, alias: int, first: int, matched: bool | None) -> None:
        right(self, batch, alias, first, None if matched is None else False)

    return repark


def _gone_are_offered(self: ParkedGroup, keys: Any) -> Any:
    """Who has left a lookup that failed is offered to others again when the table is read by keys."""
    return self._index.match(keys)[1]


def _first_shown_only(right: Callable[..., Any]) -> Callable[..., Any]:
    """Who does not match the first candidate of a run is taken for one without a match."""
    return lambda self, sought, most, each=None: right(self, sought, most, 1)


def _first_run_only(right: Callable[..., None]) -> Callable[..., None]:
    return lambda self, runs, within: right(self, runs[:1], within)


BROKEN_RIGHT_SIDES: tuple[Broken, ...] = (
    Broken("told before EOT", "P44", around(Router, "_await", _asked_is_answered), RIGHT, {}, "I"),
    Broken("nobody waits for matches", "P44", method(Router, "_await", _never_told), LOOKED_UP, {}, "I7"),
    Broken(
        "a failed lookup proves that there is no match",
        "P18, P44",
        around(Lookups, "failed", _failed_is_covered),
        LOOKED_UP,
        {"fail_lookups": 0.5, "watch": False},
        "I8",
    ),
    Broken(
        "a failed scan proves that there is no match",
        "P18, P44",
        around(Parking, "scans_over", _scan_failed_is_end),
        SCANNED,
        {"fail_scans": 0.5, "watch": False},
        "I8",
    ),
    Broken(
        "a tuple without a match is told so by every EOT",
        "P44",
        around(ParkedGroup, "close", _told_and_kept),
        SCANNED,
    ),
    Broken(
        "semi and anti joins' tuples stay at a match",
        "P44",
        method(ParkedGroup, "leave", _nobody_leaves),
        RIGHT,
    ),
    Broken(
        "a semi join's tuple goes on at every match",
        "P44",
        around(RightSides, "meet", _semi_every_match),
        RIGHT,
    ),
    Broken(
        "a match leaves no trace",
        "P44",
        method(ParkedGroup, "match_found", nothing),
        RIGHT,
        {"watch": False},
        "I8",
    ),
    Broken(
        "a match is forgotten on the way to another lookup",
        "P44",
        around(Parking, "_repark", _matched_forgotten),
        Knobs(right=1.0, aliases=(1,), scannable=0.6, second_scan=0.0, max_rows=8),
        {"stalls": 0.4, "fail_lookups": 0.4, "page_rows": 1, "watch": False},
        "I8",
    ),
    Broken(
        "who has left is offered again",
        "P18",
        method(ParkedGroup, "places", _gone_are_offered),
        Knobs(right=1.0, aliases=(1,), scannable=0.6, second_scan=0.0, max_rows=8),
        {"stalls": 0.4, "fail_lookups": 0.4, "page_rows": 1, "watch": False},
    ),
    Broken("ON is evaluated by halves", "P39", around(Constraints, "__init__", _half_of_on), RIGHT, {}, "I"),
    Broken(
        "what ON says of the tuple alone is forgotten",
        "P44",
        method(RightSides, "hopeful", _always_hopeful),
        RIGHT,
        {},
        "I",
    ),
    Broken(
        "the first candidate decides",
        "P44",
        around(Candidates, "steps", _first_shown_only),
        UNLINKED,
        {},
        "I",
    ),
    Broken(
        "the first run decides", "P44", around(Candidates, "__init__", _first_run_only), UNLINKED, {}, "I"
    ),
    Broken("no row is the last row", "P44", around(ArrowColumn, "take", _last_row_for_none), RIGHT, {}, "I8"),
    Broken(
        "the key of no row is that of the last one",
        "P23",
        method(SteM, "numbers_at", _key_of_last_row),
        RIGHT,
    ),
    Broken(
        "an empty right side ends the query",
        "P28b",
        around(Eddy, "_scan_end", _empty_right_side_is_the_end),
        SCANNED,
        {},
        "I7",
    ),
)
