"""Broken cores: rules of waiting, parts of batches, races and stalled lookups. Each must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fff.dataflow.eddy import Eddy
from fff.dataflow.lookups.access import KeyState, LookupModule, ScanState
from fff.dataflow.lookups.hedging import Races
from fff.dataflow.lookups.lookups import Lookups
from fff.dataflow.plan.events import LookupEnd
from fff.dataflow.plan.moves import Move
from fff.dataflow.routing.pruning import Pruning
from fff.dataflow.routing.queue import WaitingTuples
from fff.dataflow.routing.router import Router
from fff.dataflow.scans import Scans
from fff.structs import replace
from tests.fuzz.broken import CHAINS, Broken, around, method, nothing
from tests.fuzz.generate import Knobs

RIVALS = Knobs(scannable=0.0, aliases=(2, 3), extra_edge=0.0, second_scan=0.0, max_rows=4)
RACES = {"races": True, "ticks": 0.1, "hedge_after": 0, "slow_s": 0.0, "hedge_share": 1.0}
RIVAL_SCANS = Knobs(aliases=(1, 2), scannable=1.0, second_scan=0.9, key=0.0)
SOME_READ = {"scans": "some", "page_rows": 1, "scan_credit": 1, "fail_scans": 0.3, "end_needs_credit": True}
ALL_READ = {"scans": "all", "page_rows": 1}
HESITANT = {"policy": "hesitant", "validate": False, "watch": False}


def _raced_is_covered(right: Callable[..., Any]) -> Callable[..., Any]:
    """The first rows of a racer decide the race: its rival's request counts as ended."""

    def rows(self: Lookups, event: Any) -> Any:
        out = right(self, event)
        asked = self.asked(event.request)
        if asked is not None and asked[3].raced:
            out += self._won(asked[0], asked[1], asked[3].keys)
        return out

    return rows


def _racer_failing_is_end(right: Callable[..., Any]) -> Callable[..., Any]:
    """A racer that fails counts as having answered what it brought."""

    def failed(self: Lookups, event: Any) -> Any:
        asked = self.asked(event.request)
        if asked is not None and asked[3].raced:
            return self.ends([LookupEnd(event.request, asked[3].rows)])
        return right(self, event)

    return failed


def _lost_is_asked_again(self: LookupModule, keys: Any) -> Any:
    """Keys that a rival has covered are asked for as if nobody had been."""
    keys = keys[self.states(keys) == KeyState.IN_FLIGHT]
    over = [request for request in self.requests.values() if np.isin(request.keys, keys).any()]
    for request in over:
        del self.requests[request.number]
        self._status.view[request.keys] = KeyState.UNKNOWN
        self.request(request.keys)
    return keys, over


def _rest_forgotten(right: Callable[..., Any]) -> Callable[..., Any]:
    """A part of a batch goes, the others go nowhere."""

    def part(self: Router, batch: Any, move: Move, size: int, *, urgent: bool) -> Any:
        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(self.waiting, "push", lambda batch, *, urgent, back=False: None)
            return right(self, batch, move, size, urgent=urgent)

    return part


def _goes_and_stays(right: Callable[..., Any]) -> Callable[..., Any]:
    """A part of a batch goes, and is offered again with the others."""

    def part(self: Router, batch: Any, move: Move, size: int, *, urgent: bool) -> Any:
        going = right(self, batch, move, size, urgent=urgent)
        if len(going) < len(batch):
            self.waiting.push(going, urgent=urgent)
        return going

    return part


def _spare_anyway(self: Router, table: int, lookup: int, keys: Any) -> Any:
    """A key whose table has another lookup is never asked for: its tuples leave unanswered."""
    if len(self.block.lookups[table]) == 1 or not len(keys):
        return np.zeros(len(keys), np.bool_)
    left = 0
    for _, group in self._groups(table, lookup):
        left += group.live
        group.spare(keys)
        left -= group.live
    return np.full(len(keys), left > 0)


def _dead_too_soon(right: Callable[..., Any]) -> Callable[..., Any]:
    """No match so far counts as none ever: EOT of what a tuple lacks is not waited for."""

    def unmatched(self: Pruning, tuples: Any, alias: int) -> Any:
        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(self._block.stem(alias), "complete", True)
            return right(self, tuples, alias)

    return unmatched


def _dead_by_one_link(right: Callable[..., Any]) -> Callable[..., Any]:
    """A key that was answered counts for tuples of any other key of that lookup as well."""

    def covers(self: LookupModule, keys: Any) -> Any:
        return np.full(len(keys), bool(self.count(KeyState.COVERED)))

    def unmatched(self: Pruning, tuples: Any, alias: int) -> Any:
        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(LookupModule, "covers", covers)
            return right(self, tuples, alias)

    return unmatched


def _moved_unseen(right: Callable[..., bool]) -> Callable[..., bool]:
    """Keys go to a rival when it has been looked whether anything is left to wait for."""

    def divert(self: Races) -> bool:
        right(self)
        return False

    return divert


def _race_as_many(right: Callable[..., int]) -> Callable[..., int]:
    return lambda self: right(self) + 3


def _left_behind(right: Callable[..., Any]) -> Callable[..., Any]:
    """Who pauses is not looked at again when the reader fails or stalls."""

    def relieve(self: Scans, table: int) -> Any:
        out = right(self, table)
        self._undecided.discard(table)
        return out

    return relieve


def _one_answer(right: Callable[..., Any]) -> Callable[..., Any]:
    """Scans of one table count the copies of a row together, as if they were one scan."""

    def start(self: Scans) -> Any:
        for scans in self._block.scans:
            for scan in scans[1:]:
                scan.answer = scans[0].answer
        return right(self)

    return start


def _any_end(right: Callable[..., Any]) -> Callable[..., Any]:
    """A mirror that fails counts as through, as another has gone on."""

    def failed(self: Eddy, event: Any) -> Any:
        scans = self.block.scans[event.table]
        if len(scans) == 1:
            return right(self, event)
        scans[event.index].state = ScanState.COMPLETE
        self.block.stems[event.table].complete = True
        self.router.scans_over(event.table, complete=True)
        return self.scans.stop(event.table) + self.lookups.cancel(event.table)

    return failed


def _nobody_reads(right: Callable[..., Any]) -> Callable[..., Any]:
    """What a policy says of who reads on is taken for true, also where that is nobody."""

    def decide(self: Scans, table: int) -> Any:
        out = right(self, table)
        scans = self._block.scans[table]
        running = [scan for scan in scans if scan.state is ScanState.RUNNING]
        if len(scans) > 1 and running and all(scan.ahead is None and not scan.stalled for scan in running):
            for scan in running:
                scan.ahead = 0
        return out

    return decide


BROKEN_WAITING: tuple[Broken, ...] = (
    Broken(
        "who pauses is left behind",
        "I4",
        around(Scans, "relieve", _left_behind),
        RIVAL_SCANS,
        SOME_READ,
        "deadlock",
    ),
    Broken(
        "nobody reads on", "I4", around(Scans, "_decide", _nobody_reads), RIVAL_SCANS, SOME_READ, "deadlock"
    ),
    Broken(
        "rival scans are one answer", "P22", around(Scans, "start", _one_answer), RIVAL_SCANS, ALL_READ, "I8"
    ),
    Broken(
        "a rival scan that fails has ended",
        "P18",
        around(Eddy, "_scan_failed", _any_end),
        RIVAL_SCANS,
        {**ALL_READ, "fail_scans": 0.5},
        "I7",
    ),
    Broken(
        "a race is won by its first rows",
        "P13",
        around(Lookups, "rows", _raced_is_covered),
        RIVALS,
        RACES,
        "I7",
    ),
    Broken(
        "a racer that fails has answered",
        "P18",
        around(Lookups, "failed", _racer_failing_is_end),
        RIVALS,
        {**RACES, "fail_lookups": 0.5},
        "I7",
    ),
    Broken(
        "what lost a race is asked again",
        "I6",
        method(LookupModule, "covered_by_rival", _lost_is_asked_again),
        RIVALS,
        RACES,
        "I6",
    ),
    Broken(
        "batches wait until they are full",
        "I4",
        method(Lookups, "_worth_waiting", lambda self, method: True),
        CHAINS,
        symptom="deadlock",
    ),
    Broken(
        "keys of a stalled lookup are forgotten",
        "I3",
        method(Races, "_move", lambda self, method, other: method.module.drop_pending()),
        RIVALS,
        {**RACES, "window": 1},
    ),
    Broken(
        "races without bound",
        "I6",
        around(Races, "_left", _race_as_many),
        RIVALS,
        {**RACES, "hedge_share": 0.1, "validate": True},
        "I6",
    ),
    Broken(
        "nobody notices that the last keys were moved",
        "I4",
        around(Races, "divert", _moved_unseen),
        replace(RIVALS, aliases=(2,), max_rows=6),
        {
            **RACES,
            "slow_s": 0.5,
            "ticks": 0.4,
            "semantics": "paper",
            "bias": "route-last",
            "route_size": 1,
            "windows": 0.0,
        },
        "deadlock",
    ),
    Broken(
        "spared though somebody waits for it",
        "I3",
        method(Router, "spare", _spare_anyway),
        RIVALS,
        {"window": 1},
        "I7",
    ),
    Broken(
        "dead before the EOT that would tell",
        "P26",
        around(Pruning, "_unmatched", _dead_too_soon),
        CHAINS,
        {"window": 1},
        "I7",
    ),
    Broken(
        "dead by the EOT of another key",
        "P26",
        around(Pruning, "_unmatched", _dead_by_one_link),
        CHAINS,
        {"window": 1},
        "I7",
    ),
    Broken(
        "tuples kept aside for good",
        "I4",
        method(WaitingTuples, "resume", nothing),
        CHAINS,
        HESITANT,
    ),
    Broken(
        "kept aside though no lookup will end",
        "I4",
        method(Router, "_looking_up", lambda self: True),
        CHAINS,
        HESITANT,
    ),
    Broken(
        "what is kept aside is lost",
        "I3",
        method(WaitingTuples, "hold", lambda self, batch, *, urgent: None),
        CHAINS,
        HESITANT,
        "I7",
    ),
    Broken(
        "a part of a batch goes, the rest is forgotten",
        "I3",
        around(Router, "_part", _rest_forgotten),
        CHAINS,
        HESITANT,
        "I7",
    ),
    Broken(
        "a part of a batch goes, and stays",
        "I1",
        around(Router, "_part", _goes_and_stays),
        CHAINS,
        HESITANT,
        "I1",
    ),
)
