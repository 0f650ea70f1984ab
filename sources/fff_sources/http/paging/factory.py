"""The paginator that a spec asks for, and where its pages stop."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence

from fff_sources.http.paging import links, paginators
from fff_sources.http.paging.auto import AutoPaginator
from fff_sources.http.paging.consistency import Totals
from fff_sources.http.paging.cursors import CursorPaginator
from fff_sources.http.paging.envelope import PagingHints, mentions_more, told_more
from fff_sources.http.paging.links import is_yes, last_page, speaks_of_next
from fff_sources.http.paging.paginators import Ask, PageAnswer, PaginationError, Paginator
from fff_sources.http.response.jsonpath import WHOLE, JsonPath, parse_path
from fff_sources.http.spec import spec

#: Formats whose answers can be read for words around the records.
WORDED = frozenset({"json", "xml"})
_LARGE = 2**16  # bytes from which a body is looked into only where its edges have one of the words


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
            return paginators.PageNumberPaginator(
                p.page_param,
                p.base_page,
                size_param=size_param,
                page_size=p.page_size,
                pages=_total(p, p.total_path, form),
                records=_total(p, p.total_rows_path, form),
                short_page_ends=p.short_page_ends,
            )
        case spec.Offset() as p:
            return paginators.OffsetPaginator(
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


def spoken_of(endpoint: spec.Endpoint, answer: PageAnswer, totals: Totals) -> PagingHints | None:
    """What the first of several answers says of the whole in the usual words, where the paginator reads no total.

    The last one may well be empty and say nothing.
    """
    paginator = endpoint.paginator
    if isinstance(paginator, spec.Auto) or paginator.total != "exact" or totals.is_present:
        return None
    return _hints(endpoint, answer, is_large=len(answer.body) > _LARGE)


def is_proven_end(
    endpoint: spec.Endpoint,
    following: Ask | None,
    answer: PageAnswer,
    first: PagingHints | None,
    received: int,
) -> bool:
    """Whether nobody need ask for what confirms that a short page was the last.

    Its answer says that nothing follows, or, as the first one may, that so many records are all.
    """
    if following is None or not following.confirms:
        return False
    more = _hints(endpoint, answer, is_large=len(answer.body) > _LARGE)
    totals = [one.total or one.perhaps_total for one in (more, first) if one is not None]
    exact = endpoint.paginator.total == "exact"
    return more.says_no or (exact and any(one and one.exact and one.rows == received for one in totals))


def _hints(endpoint: spec.Endpoint, answer: PageAnswer, *, is_large: bool) -> PagingHints:
    body = b"" if is_large and not mentions_more(answer.body) else answer.body
    return told_more(
        body,
        parse_path(endpoint.data_selector, endpoint.format) if endpoint.format in WORDED else WHOLE,
        answer.headers,
    )


def overlooked(
    endpoint: spec.Endpoint,
    answer: PageAnswer,
    totals: Totals,
    so_far: tuple[int, int],
    first: PagingHints | None,
) -> str | None:
    """What the last answer says of more, or the first one said, where a declared paginator has found its end.

    `so_far`: the records and pages that came. One that counts ends by its count. `auto` speaks for itself.
    """
    paginator, (received, pages) = endpoint.paginator, so_far
    if isinstance(paginator, spec.Auto) or totals.is_reached(received):
        return None
    if (place := _without_cursor(endpoint, answer)) is not None:
        return f"the record at {place!r} has nothing there, so the next page cannot be asked for"
    is_large = len(answer.body) > _LARGE and isinstance(paginator, spec.SinglePage)
    more = _hints(endpoint, answer, is_large=is_large)
    # An estimate counts only where nothing proves the end.
    counted = more.total is None or more.total.exact or isinstance(paginator, spec.SinglePage)
    sign = None
    if counted and paginator.total == "exact" and not totals.is_present:
        sign = more.total_sign(received)
        if sign is None and not isinstance(paginator, spec.SinglePage):
            sign = (first if first is not None and not more.counts else more).part_sign(received, pages)
    if not isinstance(paginator, spec.PageNumber | spec.Offset):  # those go `beyond`
        led = _led(endpoint, answer, more)
        sign = led if led is not None and (answer.records or more.has_more is not None) else sign
    if sign is None:
        return None
    paginator_name = (
        "paginator: single_page"
        if isinstance(paginator, spec.SinglePage)
        else f"paginator of type {paginator.type}"
    )
    return f"there is more than what came ({sign}), which the {paginator_name} does not read"


def beyond(
    endpoint: spec.Endpoint, paginator: Paginator, ask: Ask, answer: PageAnswer, *, whole: bool
) -> Ask | None:
    """Where one that counts has found its end, the question for one more page, if the answer says that it follows.

    A number that it counts to may be that of a page alone, and a short page one that the source has cut.
    `whole`: several pages together are what the source speaks of.
    """
    if not isinstance(paginator, paginators.OffsetPaginator | paginators.PageNumberPaginator):
        return None
    if whole or not answer.records or ask.expected is not None:
        return None
    flag = _flag(endpoint, answer)
    if flag is not None and flag[1] is False:
        return None
    more = _hints(endpoint, answer, is_large=len(answer.body) > _LARGE)
    return None if _led(endpoint, answer, more) is None else paginator.beyond(ask, answer)


def _led(endpoint: spec.Endpoint, answer: PageAnswer, more: PagingHints) -> str | None:
    """What says that a page follows, in the body or in the Link header."""
    paginator = endpoint.paginator
    read = isinstance(paginator, spec.HeaderLink) and paginator.has_more_param is not None
    header = "" if read or more.says_no else answer.headers.get("link", "")
    linked = speaks_of_next(header) or last_page(header, answer.url) is not None
    return more.leads_on() or ("Link header" if linked else None)


def _without_cursor(endpoint: spec.Endpoint, answer: PageAnswer) -> str | None:
    """The place of a cursor that is taken out of a record which has none: that is no end."""
    match endpoint.paginator:
        case spec.Cursor(cursor_path=text):
            places = [text]
        case spec.Keyset(cursors=cursors):
            places = list(cursors.values())
        case _:
            return None
    flag = _flag(endpoint, answer)
    if not answer.records or (flag is not None and flag[1] is False):
        return None
    rows = parse_path(endpoint.data_selector, endpoint.format).steps
    rows = rows[:-1] if rows and rows[-1].kind == "every" else rows
    for text in places:
        path = parse_path(text, endpoint.format)
        below = path.steps[len(rows) :]
        if path.steps[: len(rows)] == rows and below and below[0].kind == "index" and not answer.at(path):
            return text
    return None


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


def leads_on(endpoint: spec.Endpoint, answer: PageAnswer) -> bool:
    """Whether the answer says, at a place that the spec knows, that a page follows."""
    flag = _flag(endpoint, answer)
    return flag is not None and flag[1] is True


def has_more(endpoint: spec.Endpoint, answer: PageAnswer) -> bool:
    """What the answer says of further pages, where the spec knows a place for that.

    Raises PaginationError without it.
    """
    flag = _flag(endpoint, answer)
    if flag is None:
        return True
    if flag[1] is None:
        raise PaginationError(f"the answer has no {flag[0]!r}")
    return flag[1]


def _flag(endpoint: spec.Endpoint, answer: PageAnswer) -> tuple[str, bool | None] | None:
    """The place at which the answer should say whether a page follows, and what it says; None where none is known."""
    paginator = endpoint.paginator
    if not isinstance(paginator, spec.Flagged):
        return None
    text = paginator.has_more_path or paginator.end_path
    if text is None:
        return None
    flag = answer.at(parse_path(text, endpoint.format))
    return text, None if flag is None else is_yes(flag) == (paginator.end_path is None)
