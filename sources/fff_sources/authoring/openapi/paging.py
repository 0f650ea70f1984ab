"""A paginator guessed from the names of an operation's parameters and of what stands beside its list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fff.structs import lazy_pattern
from fff_sources.authoring.openapi.schema import Resolver, kind_of
from fff_sources.authoring.sampling.shape import step
from fff_sources.http.paging.conventions import (
    CURSOR_PARAMS,
    OFFSET_PARAMS,
    PAGE_PARAMS,
    SIZE_PARAMS,
    is_cursor,
    is_next,
    is_pages,
    is_total,
)

_URIS = ("uri", "url", "uri-reference")
_LARGEST = 100  # records a page, where the document allows more or does not say
_FROM_ZERO, _FROM_ONE = (
    lazy_pattern(
        rf"(?<!not )\b(?:{first})[- ]?(?:based|indexed|origin)"
        rf"|\b(?:starts?|starting|begins?|beginning|defaults?|first(?: page)? is)\b[^.\d]{{0,30}}\b(?:{first})\b",
        re.IGNORECASE,
    )
    for first in ("0|zero", "1|one")
)


def paginator_of(
    query: Mapping[str, Mapping[str, Any]], answer: dict[str, Any], resolver: Resolver
) -> dict[str, Any] | None:
    """The paginator as a spec writes it, or None."""
    beside = list(_beside(resolver, answer, "$", 0))
    size, cursor = _size(query, resolver), _named(query, CURSOR_PARAMS)
    for path, name, kind in beside:
        if is_next(name) and (kind == "uri" or (kind == "string" and cursor is None)):
            return {"type": "json_link", "next_url_path": path, **size}
    places = [path for path, name, kind in beside if is_cursor(name) and kind in ("string", "integer")]
    if cursor is not None and places:
        return {"type": "cursor", "cursor_path": places[0], "cursor_param": cursor, **size}
    rows = next((path for path, name, kind in beside if kind == "integer" and is_total(name)), None)
    pages = next((path for path, name, kind in beside if kind == "integer" and is_pages(name)), None)
    page = _named(query, PAGE_PARAMS)
    if page is not None:
        base = _first_page(query[page], resolver.schema(query[page].get("schema")))
        totals = {"total_path": pages, "total_rows_path": rows}
        known = {} if base is None else {"base_page": base}
        paginator = {"type": "page_number", "page_param": page, **known, **size}
        return paginator | {key: path for key, path in totals.items() if path is not None}
    offset = _named(query, OFFSET_PARAMS)
    if offset is not None:
        return {"type": "offset", "offset_param": offset, **size} | (
            {"total_path": rows} if rows is not None else {}
        )
    return None


def _first_page(parameter: Mapping[str, Any], schema: Mapping[str, Any]) -> int | None:
    """The number of the first page, where the document tells it."""
    said = f"{parameter.get('description')} {schema.get('description')}"
    by_words = 0 if _FROM_ZERO.search(said) else 1 if _FROM_ONE.search(said) else None
    bounds = [schema.get("default"), schema.get("minimum")]
    told = [*bounds, by_words, schema.get("example"), parameter.get("example")]
    if 0 in bounds:
        return 0
    return next((one for one in told if one in (0, 1) and not isinstance(one, bool)), None)


def _beside(
    resolver: Resolver, schema: dict[str, Any], path: str, depth: int
) -> Iterator[tuple[str, str, str]]:
    """Members of the answer that are no lists: place, name, type."""
    if kind_of(schema) != "object":
        return
    for name, part in (schema.get("properties") or {}).items():
        inner = resolver.schema(part)
        here = step(path, name)
        if kind_of(inner) == "object" and depth < 2:
            if is_next(name) and "href" in (inner.get("properties") or {}):
                yield here, name, "string"
            yield from _beside(resolver, inner, here, depth + 1)
        elif kind_of(inner) != "array":
            yield here, name, "uri" if inner.get("format") in _URIS else kind_of(inner)


def _size(query: Mapping[str, Mapping[str, Any]], resolver: Resolver) -> dict[str, Any]:
    name = _named(query, SIZE_PARAMS)
    if name is None:
        return {}
    schema = resolver.schema(query[name].get("schema"))
    largest = schema.get("maximum")
    size = min(largest, _LARGEST) if isinstance(largest, int) and largest > 0 else _LARGEST
    return {"page_size": size, "page_size_param": name}


def _named(query: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    lowered = {name.lower() for name in names}
    return next((name for name in query if name.lower() in lowered), None)
