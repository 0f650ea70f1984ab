"""What has come since the last turn, merged where events go together: small answers cost what large ones do."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import pyarrow as pa

from fff.dataflow.plan.events import Event, LookupAnswers, LookupEnd, LookupRows, ScanRows
from fff.structs import replace


def merged(heard: Iterable[tuple[float, Event]], small: int) -> list[tuple[float, Event]]:
    """Events and when they came: answers to lookups that came one after another as one, and so pages of each scan.

    `small`: rows of a page that is left alone, at least.
    """
    found: list[tuple[float, Event]] = []
    for kind, some in itertools.groupby(heard, lambda entry: _kind(entry[1], small)):
        entries = list(some)
        if kind is _LOOKUPS:
            rows = tuple(event for _, event in entries if isinstance(event, LookupRows))
            ends = tuple(event for _, event in entries if isinstance(event, LookupEnd))
            found.append((entries[-1][0], LookupAnswers(rows, ends)))
        elif kind is _PAGES:
            found += _together(entries)
        else:
            found += entries
    return found


_LOOKUPS, _PAGES = object(), object()


def _kind(event: Event, small: int) -> object:
    """What an event can be merged with; None: with nothing."""
    match event:
        case LookupRows() | LookupEnd():
            return _LOOKUPS
        case ScanRows(rows=rows) if len(rows) < small:
            return _PAGES
        case _:
            return None


def _together(entries: Iterable[tuple[float, Event]]) -> list[tuple[float, Event]]:
    """Pages, those of one scan as one that came when its last one did."""
    scans: dict[tuple[int, int], tuple[float, list[ScanRows]]] = {}
    for at, page in entries:
        assert isinstance(page, ScanRows)
        _, pages = scans.pop((page.table, page.index), (at, []))
        scans[page.table, page.index] = at, [*pages, page]
    return [(at, pages[0] if len(pages) == 1 else _one(pages)) for at, pages in scans.values()]


def _one(pages: Sequence[ScanRows]) -> ScanRows:
    rows = pa.concat_batches([page.rows for page in pages])
    return replace(pages[-1], rows=rows, count=len(pages), seconds=sum(page.seconds for page in pages))
