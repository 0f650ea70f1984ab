"""Negative controls: FFF with one rule broken each, at any level between the socket and the core. Every one must be noticed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import aiohttp
import pyarrow as pa
import pytest

from fff import execution
from fff.budget import Budget
from fff.dataflow.columns import ArrowColumn
from fff.dataflow.eddy import Eddy
from fff.dataflow.lookups.access import LookupModule
from fff.dataflow.lookups.lookups import Lookups
from fff.dataflow.plan.events import LookupEnd, ScanEnd
from fff.dataflow.scans import Scans
from fff.runtime.ending import Ending
from fff.sql.analysis import soundness
from fff.stats import AccessMeter
from fff.web import client, retry, transport
from fff.web.body import BodyReader
from fff.web.gate.concurrency import Crowd
from fff.web.gate.rate import SlidingLimit
from fff_sources.http.paging.consistency import Repeats, Totals
from fff_sources.http.paging.counted import OffsetPaginator, PageNumberPaginator
from fff_sources.http.paging.links import LinkPaginator
from tests.fuzz.broken import method
from tests.soak.day import Day
from tests.soak.pairs import calmed, stricter_ones


@dataclass(frozen=True)
class BrokenPath:
    """A rule that is broken. `fits`: the days that have what it takes to notice; `pairs`: by runs in pairs."""

    name: str
    patch: Callable[[pytest.MonkeyPatch], None]
    fits: Callable[[Day], bool]
    pairs: bool = False


def _stops_early(patching: pytest.MonkeyPatch) -> None:
    for kind in (OffsetPaginator, PageNumberPaginator, LinkPaginator):
        right = kind.after

        def after(self: Any, ask: Any, answer: Any, right: Any = right) -> Any:
            self.turns = getattr(self, "turns", 0) + 1
            return None if self.turns >= 2 else right(self, ask, answer)

        patching.setattr(kind, "after", after)


def _swallows(patching: pytest.MonkeyPatch) -> None:
    """What has come of a body that was cut is a body."""

    async def body(content: Any, encoding: str, policy: Any, arrivals: Any, limit: Any) -> bytes:
        reader = BodyReader(encoding, max_body=policy.max_body, max_ratio=policy.max_ratio)
        with contextlib.suppress(aiohttp.ClientError):  # the rule that is broken
            while chunk := await content.readany():
                reader.feed(chunk)
        whole = reader.finish()
        if arrivals is not None:
            arrivals.take(whole)
        return whole

    patching.setattr(transport, "_body", body)


def _more_at_once(patching: pytest.MonkeyPatch) -> None:
    right = Crowd.__init__
    patching.setattr(Crowd, "__init__", lambda self, ceiling: right(self, ceiling + 1))


def _never_waits(patching: pytest.MonkeyPatch) -> None:
    patching.setattr(SlidingLimit, "delay", lambda self, now, units=1: 0.0)


def _retry_at_once(patching: pytest.MonkeyPatch) -> None:
    patching.setattr(client, "retry_after", lambda headers, wall: 0.0 if "retry-after" in headers else None)


def _errors_are_answers(patching: pytest.MonkeyPatch) -> None:
    right = retry.is_whole

    def is_whole(status: int, asked: Any) -> bool:
        return status >= 500 or right(status, asked)

    patching.setattr(client, "is_whole", is_whole)
    patching.setattr(transport, "is_whole", is_whole)


def _free(patching: pytest.MonkeyPatch) -> None:
    """Attempts beyond the first cost nothing."""
    right = Budget.charge

    def charge(self: Any, *arguments: Any, **named: Any) -> Any:
        self.turns = getattr(self, "turns", 0) + 1
        return right(self, *arguments, **named) if self.turns % 3 else None

    patching.setattr(Budget, "charge", charge)


def _failed_is_end(self: Lookups, event: Any) -> Any:
    asked = self.asked(event.request)
    return [] if asked is None else self.end(LookupEnd(event.request, asked[3].rows))


def _failed_scan_is_end(self: Eddy, event: Any) -> Any:
    return self._scan_end(ScanEnd(event.table, event.index, self.block.scans[event.table][event.index].rows))


async def _no_watch(self: Ending, stop_fetching: Any, stop_joining: Any) -> None:
    await asyncio.Event().wait()


def _uncounted(patching: pytest.MonkeyPatch) -> None:
    right = AccessMeter.sent

    def sent(self: AccessMeter, now: float) -> None:
        right(self, now)
        self.requests -= 1

    patching.setattr(AccessMeter, "sent", sent)


def _never_held(patching: pytest.MonkeyPatch) -> None:
    """Scans read on however many tuples wait."""
    right = Scans.give_credit

    def give_credit(self: Scans) -> Any:
        router = self._router
        nothing = SimpleNamespace(tuples=0)
        self._router = SimpleNamespace(emitted=router.emitted, waiting=nothing, parked_tuples=lambda: 0)  # type: ignore[assignment]
        try:
            return right(self)
        finally:
            self._router = router

    patching.setattr(Scans, "give_credit", give_credit)


def _whole_pages(patching: pytest.MonkeyPatch) -> None:
    """Rows are a part of something larger, which stays with them and is not counted."""
    right = ArrowColumn.append

    def append(self: ArrowColumn, values: pa.Array) -> None:
        right(self, pa.concat_arrays([values] * 9)[: len(values)])

    patching.setattr(ArrowColumn, "append", append)


def _asked_twice(patching: pytest.MonkeyPatch) -> None:
    right = client.WebClient.request

    async def request(self: Any, req: Any, **named: Any) -> Any:
        if "id_m" in client.full_url(req):
            await right(self, req, **named)
        return await right(self, req, **named)

    patching.setattr(client.WebClient, "request", request)


def _compared(day: Day) -> bool:
    calm = calmed(day)
    return calm is not None and day.pushed and not day.windows and bool(stricter_ones(calm))


def _wide_window(patching: pytest.MonkeyPatch) -> None:
    """A lookup method takes more requests than its window has room for."""
    patching.setattr(LookupModule, "room", property(lambda self: self.plan.window + 1 - len(self.requests)))


def _never_in_doubt(patching: pytest.MonkeyPatch) -> None:
    patching.setattr(execution, "causes_among", lambda doubts, incomplete: ())


def _told(*words: str) -> Callable[[Day], bool]:
    """Days whose partial answers have to be labelled for what the statement has, and may well be partial."""
    return lambda day: (
        not day.sound and not day.statement.monotone and any(word in day.statement.sql for word in words)
    )


def _odd(*words: str) -> Callable[[Day], bool]:
    """Days with a table whose behaviour is called so, and nothing else that goes wrong."""
    return lambda day: (
        day.odd is not None
        and not day.stormy
        and not day.blind
        and any(word in day.cells[day.odd].behaviour.name for word in words)
    )


def _stormy(day: Day) -> bool:
    return day.stormy and day.odd is None


def _keyed(day: Day) -> bool:
    return _stormy(day) and any(cell.world.is_lookup for cell in day.cells.values())


BROKEN_PATHS = (
    BrokenPath("a paginator stops after two pages", _stops_early, lambda day: day.sound),
    BrokenPath("a body that was cut is a body", _swallows, lambda day: _stormy(day) and day.of_lines),
    BrokenPath(
        "one request more at once than declared", _more_at_once, lambda day: day.sound and len(day.cells) > 1
    ),
    BrokenPath(
        "declared windows are not kept",
        _never_waits,
        lambda day: day.sound and "limit" in day.client["rate_limit"],
    ),
    BrokenPath("Retry-After is not heard", _retry_at_once, _stormy),
    BrokenPath("an error of the server is an answer", _errors_are_answers, _stormy),
    BrokenPath("every third request is not paid for", _free, lambda day: bool(day.options.max_requests)),
    BrokenPath("a failed lookup has ended", method(Lookups, "failed", _failed_is_end), _keyed),
    BrokenPath("a failed scan has ended", method(Eddy, "_scan_failed", _failed_scan_is_end), _stormy),
    BrokenPath(
        "no deadline, no Ctrl-C",
        method(Ending, "watch", _no_watch),
        lambda day: day.stormy and bool(day.options.deadline),
    ),
    BrokenPath(
        "pages that repeat are rows",
        method(Repeats, "check", lambda self, *_, **__: None),
        _odd("repeats", "for ever", "again"),
    ),
    BrokenPath(
        "totals are not compared", method(Totals, "complaint", lambda self, *_: None), _odd("total", "empty")
    ),
    BrokenPath("requests are not counted", _uncounted, lambda day: day.sound),
    BrokenPath("scans read on however many tuples wait", _never_held, lambda day: day.seed % 3 == 0),
    BrokenPath(
        "a lookup is wider than its window",
        _wide_window,
        lambda day: day.sound and any(cell.world.is_lookup for cell in day.cells.values()),
    ),
    BrokenPath("stored rows keep whole pages in memory", _whole_pages, lambda day: day.sound),
    BrokenPath("a request with a condition costs another", _asked_twice, _compared, pairs=True),
    BrokenPath("no partial answer is in doubt", _never_in_doubt, _told("")),
    BrokenPath(
        "rows that come first in an order are not doubted",
        lambda patching: patching.setattr(soundness, "_ORDERS", ()),
        _told("ORDER BY id LIMIT", "ORDER BY r.id LIMIT", "ORDER BY id DESC LIMIT"),
    ),
    BrokenPath(
        "a subquery that stands for a value is not doubted",
        lambda patching: patching.setattr(soundness._Walk, "_value", lambda *_: None),
        _told("(SELECT max", "(SELECT avg", "(SELECT count", " AS there"),
    ),
    BrokenPath(
        "a total bounds nothing that lacks",
        lambda patching: patching.setattr(execution, "lacking_in", lambda block: 0),
        _told("count(*)", "sum("),
    ),
)
