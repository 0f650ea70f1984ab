"""The paginator that a spec asks for, and how far its pages may go."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence

from fff_sources.http.paging import counted, links, paginators
from fff_sources.http.paging.auto import AutoPaginator
from fff_sources.http.paging.cursors import CursorPaginator
from fff_sources.http.paging.ends import WORDED
from fff_sources.http.paging.paginators import Ask, Paginator
from fff_sources.http.response.jsonpath import JsonPath, parse_path
from fff_sources.http.spec import spec


def sized(endpoint: spec.Endpoint, rows: int | None) -> spec.Endpoint:
    """The endpoint with pages no longer than the rows that are wanted of all of them."""
    paginator = endpoint.paginator
    if rows is None or not isinstance(paginator, spec.Paginated) or paginator.page_size is None:
        return endpoint
    if _is_fixed(paginator):
        return endpoint
    small = paginator.model_copy(update={"page_size": max(1, min(rows, paginator.page_size))})
    return endpoint.model_copy(update={"paginator": small})


def make_paginator(endpoint: spec.Endpoint) -> Paginator:
    """A paginator for one reading of an endpoint; the usual one of lookups, which have many readings, first."""
    form = endpoint.format
    match endpoint.paginator:
        case spec.Auto() as p:
            return AutoPaginator(
                parse_path(endpoint.data_selector, endpoint.format) if endpoint.format in WORDED else None,
                may_ask=endpoint.method == "GET",
                first_params=_sizes(p),
                approximate=p.total == "approximate",
            )
        case spec.PageNumber() as p:
            size_param = p.page_size_param or ("per_page" if p.page_size and not _is_fixed(p) else None)
            return counted.PageNumberPaginator(
                p.page_param,
                p.base_page,
                size_param=size_param,
                page_size=p.page_size,
                pages=_total(p, p.total_path, form),
                records=_total(p, p.total_rows_path, form),
                short_page_ends=p.short_page_ends,
            )
        case spec.Offset() as p:
            return counted.OffsetPaginator(
                p.offset_param,
                p.page_size_param,
                p.page_size,
                _total(p, p.total_path, form),
                p.base_offset,
                short_page_ends=p.short_page_ends,
            )
        case spec.Cursor() as p:
            first = _sizes(p) | ({p.cursor_param: p.initial} if p.initial is not None else {})
            return CursorPaginator(
                {p.cursor_param: parse_path(p.cursor_path, form)},
                None,
                first,
                _total(p, p.total_path, form),
                reusable=p.reusable,
                keeps=None if p.keeps is None else frozenset(p.keeps),
            )
        case spec.Keyset() as p:
            sent = {name: parse_path(text, form) for name, text in p.cursors.items()}
            return CursorPaginator(sent, _path(p.cursor_path, form), _sizes(p), _total(p, p.total_path, form))
        case spec.JsonLink() as p:
            total = _total(p, p.total_path, form)
            path, first = parse_path(p.next_url_path, form), _sizes(p)
            return links.LinkPaginator(path, total, first_params=first, relation=p.rel)
        case spec.HeaderLink() as p:
            return links.LinkPaginator(
                None,
                paginators.TotalAt(),
                first_params=_sizes(p),
                relation=p.links_next_key,
                flag=p.has_more_param,
            )
        case _:
            return paginators.SinglePagePaginator()


def _total(paginator: spec.Paginated, text: str | None, form: str) -> paginators.TotalAt:
    return paginators.TotalAt(_path(text, form), approximate=paginator.total == "approximate")


def _path(text: str | None, form: str) -> JsonPath | None:
    return None if text is None else parse_path(text, form)


def _sizes(paginator: spec.Paginated) -> dict[str, str]:
    if paginator.page_size is None or _is_fixed(paginator):
        return {}
    return {paginator.page_size_param or "per_page": str(paginator.page_size)}


def _is_fixed(paginator: spec.Paginated) -> bool:
    """Whether the source alone says how long pages are: `page_size_param: null`."""
    return paginator.page_size_param is None and "page_size_param" in paginator.model_fields_set


def max_pages(endpoint: spec.Endpoint) -> int | None:
    """How many pages are read at most."""
    return endpoint.paginator.max_pages if isinstance(endpoint.paginator, spec.Paginated) else None


def stop_at(endpoint: spec.Endpoint, limit: int | None, following: Ask, pages: int) -> str | None:
    """What keeps a page from being asked for after so many, of a `limit`."""
    if limit is not None and pages >= limit:
        return f"stopped after {limit} pages (max_pages)"
    match endpoint.paginator:
        case spec.PageNumber(maximum_page=bound) | spec.Offset(maximum_offset=bound):
            if bound is not None and following.position >= bound:
                return f"stopped at {bound} (maximum in the spec)"
    return None


class Questions:
    """What is still to be asked of a scan whose pages are known after its first ones, up to where they stop.

    `stopped` is what keeps further pages from being asked for, if something does.
    """

    def __init__(self, endpoint: spec.Endpoint, rest: Sequence[Ask], limit: int | None, pages: int) -> None:
        self._endpoint, self._limit, self._rest = endpoint, limit, rest
        # Their places rise and so does the number of pages: behind one that is not asked for none is.
        self._end = bisect_left(
            range(len(rest)),
            True,
            key=lambda place: bool(stop_at(endpoint, limit, rest[place], pages + place)),
        )
        past = self._end < len(rest)
        self.stopped = stop_at(endpoint, limit, rest[-1], pages + self._end) if past else None
        self._asked = 0
        self._later: deque[Ask] = deque()

    def __len__(self) -> int:
        return self._end - self._asked + len(self._later)

    def take(self) -> Ask:
        """The next one."""
        if self._asked == self._end:
            return self._later.popleft()
        self._asked += 1
        return self._rest[self._asked - 1]

    def add(self, following: Ask, pages: int) -> None:
        """One that an answer led to, behind all others, where so many pages are had or under way."""
        if self.stopped is None:
            self.stopped = stop_at(self._endpoint, self._limit, following, pages + len(self))
            if self.stopped is None:
                self._later.append(following)

    def drop(self) -> None:
        """None of those that are left is asked."""
        self._asked = self._end
        self._later.clear()
