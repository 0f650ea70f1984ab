"""The paginator that a spec asks for, and where its pages stop."""

from __future__ import annotations

from fff_sources.rest import links, paginators, spec
from fff_sources.rest.auto import Auto
from fff_sources.rest.jsonpath import JsonPath, parse_path
from fff_sources.rest.paginators import Answer, PaginationError, Paginator


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
            return paginators.PageNumber(
                p.page_param,
                p.base_page,
                size_param=size_param,
                page_size=p.page_size,
                pages_path=_path(p.total_path),
                records_path=_path(p.total_rows_path),
            )
        case spec.Offset() as p:
            return paginators.Offset(
                p.offset_param,
                p.page_size_param,
                p.page_size,
                _path(p.total_path),
                p.base_offset,
                short_page_ends=p.short_page_ends,
            )
        case spec.Cursor() as p:
            first = _sizes(p) | ({p.cursor_param: p.initial} if p.initial is not None else {})
            return paginators.Cursor(
                {p.cursor_param: parse_path(p.cursor_path)},
                None,
                first,
                _path(p.total_path),
                reusable=p.reusable,
            )
        case spec.Keyset() as p:
            sent = {name: parse_path(text) for name, text in p.cursors.items()}
            return paginators.Cursor(sent, _path(p.cursor_path), _sizes(p), _path(p.total_path))
        case spec.JsonLink() as p:
            return links.NextLink(
                [parse_path(p.next_url_path)],
                header=False,
                total_path=_path(p.total_path),
                first_params=_sizes(p),
            )
        case spec.HeaderLink() as p:
            return links.NextLink([], header=True, first_params=_sizes(p), relation=p.links_next_key)
        case spec.Auto() as p:
            return Auto(
                parse_path(endpoint.data_selector),
                is_json=endpoint.format == "json",
                may_ask=endpoint.method == "GET",
                first_params=_sizes(p),
            )
        case _:
            return paginators.SinglePage()


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


def has_more(paginator: spec.PaginatorSpec, answer: Answer) -> bool:
    """What the answer says of further pages, where the spec knows a place for that. Raises PaginationError without it."""
    text = getattr(paginator, "has_more_path", None)
    if text is None:
        return True
    found = answer.at(parse_path(text))
    if found is None:
        raise PaginationError(f"the answer has no {text!r}")
    return str(found).lower() not in ("false", "0", "")
