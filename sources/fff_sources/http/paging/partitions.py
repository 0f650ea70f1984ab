"""A scan whose pages do not depend on one another, shared out among several readers.

Each part is a stretch of the questions that follow the first page; the answer to that is in the first part.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from fff.structs import Struct
from fff.web.types import Response
from fff_sources.http.paging.paginators import Ask, PageRange
from fff_sources.http.spec import spec


class ScanPart(Struct, frozen=True):
    """What one reader is to read. Without a share it is the whole scan, whose first page is there already."""

    first: Response | None = None
    asks: tuple[Ask, ...] = ()
    share: PageRange | None = None
    of: int = 1  # how many parts there are


def is_divisible(endpoint: spec.Endpoint) -> bool:
    """Whether the first answer may tell all further questions, and nothing but the total ends the scan."""
    match endpoint.paginator:
        case spec.PageNumber() as p:
            total_path, bound = p.total_path or p.total_rows_path, p.maximum_page
        case spec.Offset() as p:
            total_path, bound = p.total_path, p.maximum_offset
        case _:
            return False
    return (
        total_path is not None
        and bound is None
        and p.max_pages is None
        and p.has_more_path is p.end_path is None
    )


#: Questions that are handed on to other processes.
_MOST = 2**20


class FirstPage(Struct, frozen=True):
    """The first page of a scan: its answer, how many records that holds, and what tells them from any other page's."""

    answer: Response
    records: int
    digest: bytes


def divided(page: FirstPage, rest: Sequence[Ask], parts: int, total: int | None) -> list[ScanPart]:
    """The first page and the questions after it, in at most so many parts of about as many pages: one, if they are too many to hand on."""
    if len(rest) > _MOST:
        return [ScanPart(page.answer)]
    pages, length = len(rest) + 1, page.records
    parts = max(1, min(parts, pages))
    cuts = [number * pages // parts for number in range(parts + 1)]
    end = rest[-1].position + (rest[-1].expected or 1)
    shares = []
    for start, stop in itertools.pairwise(cuts):
        asks = tuple(rest[max(0, start - 1) : stop - 1])
        share = PageRange(
            questions=len(asks),
            before=start * length,
            records=(total or 0) - start * length if stop == pages else (stop - start) * length,
            end=end,
            is_last=stop == pages,
            first=page.digest,
            received=0 if start else length,
        )
        shares.append(ScanPart(None if start else page.answer, asks, share, parts))
    return shares
