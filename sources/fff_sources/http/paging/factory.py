"""The paginator that a spec asks for, and where its pages stop."""

from __future__ import annotations

from fff_sources.http.paging import links, paginators
from fff_sources.http.paging.auto import AutoPaginator
from fff_sources.http.paging.consistency import Totals
from fff_sources.http.paging.cursors import CursorPaginator
from fff_sources.http.paging.envelope import mentions_more, told_more
from fff_sources.http.paging.links import speaks_of_next
from fff_sources.http.paging.paginators import PageAnswer, PaginationError, Paginator
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
    small = paginator.model_copy(update={"page_size": max(1, min(rows, paginator.page_size))})
    return endpoint.model_copy(update={"paginator": small})


def make_paginator(endpoint: spec.Endpoint) -> Paginator:
    """A paginator for one reading of an endpoint."""
    match endpoint.paginator:
        case spec.PageNumber() as p:
            size_param = p.page_size_param or ("per_page" if p.page_size is not None else None)
            return paginators.PageNumberPaginator(
                p.page_param,
                p.base_page,
                size_param=size_param,
                page_size=p.page_size,
                pages=_total(p, p.total_path),
                records=_total(p, p.total_rows_path),
            )
        case spec.Offset() as p:
            return paginators.OffsetPaginator(
                p.offset_param,
                p.page_size_param,
                p.page_size,
                _total(p, p.total_path),
                p.base_offset,
                short_page_ends=p.short_page_ends,
            )
        case spec.Cursor() as p:
            first = _sizes(p) | ({p.cursor_param: p.initial} if p.initial is not None else {})
            return CursorPaginator(
                {p.cursor_param: parse_path(p.cursor_path)},
                None,
                first,
                _total(p, p.total_path),
                reusable=p.reusable,
            )
        case spec.Keyset() as p:
            sent = {name: parse_path(text) for name, text in p.cursors.items()}
            return CursorPaginator(sent, _path(p.cursor_path), _sizes(p), _total(p, p.total_path))
        case spec.JsonLink() as p:
            total = _total(p, p.total_path)
            return links.LinkPaginator(parse_path(p.next_url_path), total, first_params=_sizes(p))
        case spec.HeaderLink() as p:
            return links.LinkPaginator(
                None, paginators.TotalAt(), first_params=_sizes(p), relation=p.links_next_key
            )
        case spec.Auto() as p:
            return AutoPaginator(
                parse_path(endpoint.data_selector) if endpoint.format in WORDED else None,
                may_ask=endpoint.method == "GET",
                first_params=_sizes(p),
                approximate=p.total == "approximate",
            )
        case _:
            return paginators.SinglePagePaginator()


def overlooked(endpoint: spec.Endpoint, answer: PageAnswer, totals: Totals, received: int) -> str | None:
    """What the last of the answers says of more, where a declared paginator has found its end.

    One that counts has its end by what it counts. `auto` says so itself.
    """
    paginator = endpoint.paginator
    if isinstance(paginator, spec.Auto) or totals.is_reached(received):
        return None
    large = len(answer.body) > _LARGE and isinstance(paginator, spec.SinglePage)
    body = b"" if large and not mentions_more(answer.body) else answer.body
    selector = parse_path(endpoint.data_selector) if endpoint.format in WORDED else WHOLE
    told = told_more(body, selector, answer.headers)
    # An estimate counts only where nothing proves the end.
    counted = told.total is None or told.total.exact or isinstance(paginator, spec.SinglePage)
    told_here = counted and paginator.total == "exact" and not totals.is_told
    sign = told.total_sign(received) if told_here else None
    if not isinstance(paginator, spec.PageNumber | spec.Offset):
        linked = speaks_of_next(answer.headers.get("link", ""))
        led = told.leads_on() or ("Link header" if linked and not told.says_no else None)
        sign = led if led is not None and (answer.records or told.has_more is not None) else sign
    if sign is None:
        return None
    said = (
        "paginator: single_page"
        if isinstance(paginator, spec.SinglePage)
        else f"paginator of type {paginator.type}"
    )
    return f"there is more than what came ({sign}), which the {said} does not read"


def _total(paginator: spec.Paginated, text: str | None) -> paginators.TotalAt:
    return paginators.TotalAt(_path(text), approximate=paginator.total == "approximate")


def _path(text: str | None) -> JsonPath | None:
    return None if text is None else parse_path(text)


def _sizes(paginator: spec.Paginated) -> dict[str, str]:
    if paginator.page_size is None:
        return {}
    return {paginator.page_size_param or "per_page": str(paginator.page_size)}


def max_pages(endpoint: spec.Endpoint) -> int | None:
    """How many pages are read at most."""
    return endpoint.paginator.max_pages if isinstance(endpoint.paginator, spec.Paginated) else None


def bound_of(endpoint: spec.Endpoint) -> int | None:
    """The offset or page number from which on nothing is asked."""
    match endpoint.paginator:
        case spec.PageNumber(maximum_page=bound) | spec.Offset(maximum_offset=bound):
            return bound
        case _:
            return None


def leads_on(paginator: spec.PaginatorSpec, answer: PageAnswer) -> bool:
    """Whether the answer says, at a place that the spec knows, that a page follows."""
    text = getattr(paginator, "has_more_path", None)
    following = None if text is None else answer.at(parse_path(text))
    return following is not None and _is_yes(following)


def has_more(paginator: spec.PaginatorSpec, answer: PageAnswer) -> bool:
    """What the answer says of further pages, where the spec knows a place for that.

    Raises PaginationError without it.
    """
    text = getattr(paginator, "has_more_path", None)
    if text is None:
        return True
    flag = answer.at(parse_path(text))
    if flag is None:
        raise PaginationError(f"the answer has no {text!r}")
    return _is_yes(flag)


def _is_yes(found: object) -> bool:
    return str(found).lower() not in ("false", "0", "")
