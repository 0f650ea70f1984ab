"""Which paginators an answer hints at, best first; whoever asks for a second page finds out which of them is right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fff_sources.authoring.sampling.shape import step
from fff_sources.http.paging.conventions import (
    COMPANIONS,
    CURSOR_PARAMS,
    OFFSET_PARAMS,
    PAGE_PARAMS,
    SIZE_PARAMS,
    is_cursor,
    is_more,
    is_next,
    is_pages,
    is_total,
)
from fff_sources.http.paging.envelope import looks_like_url, number, told_more
from fff_sources.http.paging.links import link_next, of_relation, speaks_of_next
from fff_sources.http.response.jsonpath import parse_path

_DEEP = 4
_FIRST = 2  # characters of a cursor that may well be the first one


@dataclass(frozen=True)
class Seen:
    """A first page, as far as paginators go. `around` is the answer without its records, which are at `selector`."""

    params: Mapping[str, str]
    headers: Mapping[str, str]
    around: Any
    records: int
    selector: str = "$"
    last: Any = None  # of the records


@dataclass(frozen=True)
class Guess:
    """A paginator as a spec writes it, and the parameters of the second page.

    `sure`: the answer or the URL names it. `ends`: the answer says that there is no further page.
    `link`: the second page's URL, where the answer gives one.
    """

    paginator: dict[str, Any]
    second: Mapping[str, str] = field(default_factory=dict)
    link: str | None = None
    sure: bool = True
    ends: bool = False

    def sends(self, param: str) -> bool:
        """Whether a parameter of the sample is the paginator's business, and so no fixed one."""
        keys = ("page_param", "offset_param", "page_size_param", "cursor_param")
        # The page of the sample is not where a scan begins, whichever way the source turns pages.
        return param in {self.paginator.get(key) for key in keys} or param in (
            *PAGE_PARAMS,
            *OFFSET_PARAMS,
            *CURSOR_PARAMS,
        )


def without(body: Any, selector: str) -> Any:
    """The answer without its records: what an envelope says."""
    if isinstance(body, list):
        return body[0] if selector == "[1]" and body and isinstance(body[0], dict) else {}
    if not isinstance(body, dict) or selector == "$":
        return {}
    return {
        name: without_at(value, step("$", name), selector)
        for name, value in body.items()
        if step("$", name) != selector
    }


def without_at(value: Any, path: str, selector: str) -> Any:
    """The same below a member."""
    if not isinstance(value, dict):
        return value
    return {
        name: without_at(item, step(path, name), selector)
        for name, item in value.items()
        if step(path, name) != selector
    }


def guesses(seen: Seen, base: str = "$") -> Iterator[Guess]:
    """Paginators worth a try, best first. `base` is where `seen.around` stands in the answer."""
    members = list(_members(seen.around, base, 0))
    size = _size(seen)
    totals = _Totals(seen, members)
    page, offset = _numeric_param(seen.params, PAGE_PARAMS), _numeric_param(seen.params, OFFSET_PARAMS)
    if page is not None and totals.known:
        yield _by_page(page, seen, size, totals)
    if offset is not None and totals.rows is not None:
        yield _by_offset(offset, seen, size, totals)
    if (link := link_next(seen.headers.get("link", ""))) is not None:
        yield Guess({"type": "header_link", **size}, link=link)
    yield from _by_keyset(members, size)
    yield from _by_link(members, size)
    yield from _by_cursor(members, seen, size, totals)
    yield from _by_no_link(members, size)
    if page is not None:
        yield _by_page(page, seen, size, totals)
    elif offset is not None:
        yield _by_offset(offset, seen, size, totals)
    else:
        yield from _by_last(seen, size, totals)
        yield from _unnamed(seen, members, size, totals)


def more_of(seen: Seen, base: str = "$") -> int | None:
    """How many records there are in all, where the answer says that there are more than it holds."""
    rows = _Totals(seen, list(_members(seen.around, base, 0))).rows
    return rows if rows is not None and rows > seen.records else None


def _unnamed(
    seen: Seen, members: Sequence[_Member], size: dict[str, Any], totals: _Totals
) -> Iterator[Guess]:
    """The URL names no page or offset: what usually goes with its size, or with the envelope's own words."""
    own = [
        name
        for path, name, value in members
        if name in PAGE_PARAMS and isinstance(value, int) and not isinstance(value, bool)
    ]
    wanted = [
        *COMPANIONS.get(
            size.get("page_size_param", ""), ("page", "offset") if size.get("page_size_param") else ()
        )
    ]
    has_more = totals.more is not None or (totals.rows or 0) > seen.records or (totals.pages or 0) > 1
    if not (own or wanted or has_more):
        return
    wanted = [*own, *wanted, *(("page", "offset") if has_more else ())]
    for name in dict.fromkeys(wanted):
        made = _by_page if name in PAGE_PARAMS else _by_offset
        yield made(name, seen, size, totals, sure=False)
        if name == "page":
            yield made(name, seen, size, totals, sure=False, base=0)


class _Totals:
    """How many records, pages, or whether more, as far as the envelope says it and the first page does not gainsay."""

    def __init__(self, seen: Seen, members: Sequence[_Member]) -> None:
        self.rows: int | None = None
        self.pages: int | None = None
        self.rows_path = self.pages_path = self.more_path = None
        self.more: bool | None = None
        for path, name, value in members:
            count = number(value)
            if self.more is None and isinstance(value, bool) and is_more(name):
                self.more, self.more_path = value, path
            elif count is None:
                continue
            elif self.pages is None and is_pages(name):
                self.pages, self.pages_path = count, path
            elif count >= seen.records and is_total(name) and self._is_better(count, seen):
                self.rows, self.rows_path = count, path
        if self.rows == seen.records and _leads_on(seen):  # it counts this page alone
            self.rows = self.rows_path = None

    def _is_better(self, count: int, seen: Seen) -> bool:
        """`count` is often that of the page; a bigger one beside it is the total."""
        return self.rows is None or (self.rows == seen.records and count > self.rows)

    @property
    def known(self) -> bool:
        """Whether the end is known beforehand."""
        return self.rows is not None or self.pages is not None


def _leads_on(seen: Seen) -> bool:
    """Whether the answer says, in whichever way, that a page follows."""
    said = told_more(json.dumps(seen.around).encode(), parse_path(seen.selector), seen.headers)
    return said.leads_on() is not None or speaks_of_next(seen.headers.get("link", ""))


_Member = tuple[str, str, Any]  # path, name, value


def _members(value: Any, path: str, depth: int) -> Iterator[_Member]:
    """Everything in the envelope that is no array, outer things first."""
    if not isinstance(value, dict):
        return
    for name, item in value.items():
        yield step(path, name), name, item
    if depth < _DEEP:
        for name, item in value.items():
            yield from _members(item, step(path, name), depth + 1)


def _numeric_param(params: Mapping[str, str], names: Sequence[str]) -> str | None:
    lowered = {name.lower() for name in names}
    return next(
        (name for name, value in params.items() if name.lower() in lowered and number(value) is not None),
        None,
    )


def _size(seen: Seen) -> dict[str, Any]:
    """`page_size` and its parameter, from the URL; without one there, the server's own size stays."""
    name = _numeric_param(seen.params, SIZE_PARAMS)
    if name is None or not int(seen.params[name]):
        return {}
    return {"page_size": int(seen.params[name]), "page_size_param": name}


def _by_page(
    name: str, seen: Seen, size: dict[str, Any], totals: _Totals, *, sure: bool = True, base: int = 1
) -> Guess:
    current = int(seen.params[name]) if name in seen.params else base
    paginator: dict[str, Any] = {
        "type": "page_number",
        "page_param": name,
        "base_page": 0 if current == 0 else 1,
        **size,
    }
    if totals.pages_path is not None:
        paginator["total_path"] = totals.pages_path
    if totals.rows_path is not None:
        paginator["total_rows_path"] = totals.rows_path
    if not totals.known and totals.more_path is not None:
        paginator["has_more_path"] = totals.more_path
    ends = totals.pages == 1 or totals.more is False or totals.rows == seen.records
    return Guess(paginator, {name: str(current + 1)}, sure=sure, ends=ends)


def _by_offset(
    name: str, seen: Seen, size: dict[str, Any], totals: _Totals, *, sure: bool = True, base: int = 0
) -> Guess:
    current = int(seen.params.get(name, base))
    paginator: dict[str, Any] = {"type": "offset", "offset_param": name, **size}
    first = 1 if current == 1 else 0  # who asks for the offset 1 first counts from there
    if first:
        paginator["base_offset"] = first
    if totals.rows_path is not None:
        paginator["total_path"] = totals.rows_path
    elif totals.more_path is not None:
        paginator["has_more_path"] = totals.more_path
    ends = totals.more is False or (totals.rows is not None and totals.rows <= current - first + seen.records)
    return Guess(paginator, {name: str(current + max(1, seen.records))}, sure=sure, ends=ends)


def _by_keyset(members: Sequence[_Member], size: dict[str, Any]) -> Iterator[Guess]:
    for path, name, value in members:
        if name in ("last_indexes", "last_index", "last_keys") and isinstance(value, dict) and value:
            second = {key: str(item) for key, item in value.items() if item is not None}
            yield Guess({"type": "keyset", "cursor_path": path, **size}, second)


def _by_link(members: Sequence[_Member], size: dict[str, Any]) -> Iterator[Guess]:
    for path, name, value in members:
        listed = of_relation(value, "next") if isinstance(value, list) else None
        target = value if listed is None else listed
        link = target.get("href") if isinstance(target, dict) else target
        if (listed is not None or is_next(name)) and isinstance(link, str) and looks_like_url(link):
            rel = {} if listed is None else {"rel": "next"}
            yield Guess({"type": "json_link", "next_url_path": path, **rel, **size}, link=link)


def _by_no_link(members: Sequence[_Member], size: dict[str, Any]) -> Iterator[Guess]:
    """`next: null` beside `previous`: links, and this page is the last."""
    if not any(name.lower() in ("previous", "prev") for _, name, _ in members):
        return
    for path, name, value in members:
        if value is None and name.lower() == "next":
            yield Guess({"type": "json_link", "next_url_path": path, **size}, ends=True)


def _by_cursor(
    members: Sequence[_Member], seen: Seen, size: dict[str, Any], totals: _Totals
) -> Iterator[Guess]:
    cursor = next((name for name in seen.params if name in CURSOR_PARAMS), None)
    for path, name, value in members:
        if (
            isinstance(value, bool | dict | list)
            or value in (None, "")
            or not is_cursor(name)
            or looks_like_url(str(value))
        ):
            continue
        plain = re.sub(r"^next[-_]?(?=.)|^end[-_]?", "", name, flags=re.IGNORECASE)
        likely = (
            [cursor]
            if cursor
            else [plain[:1].lower() + plain[1:], "cursor", "after", name, "start", "page_token"]
        )
        for param in dict.fromkeys(likely):
            paginator = {"type": "cursor", "cursor_path": path, "cursor_param": param, **size}
            # `*` or `0`; anything longer is a place further on.
            if cursor and len(seen.params[cursor]) <= _FIRST:
                paginator["initial"] = seen.params[cursor]
            if totals.rows_path is not None:
                paginator["total_path"] = totals.rows_path
            yield Guess(paginator, {param: str(value)}, sure=cursor is not None)


def _by_last(seen: Seen, size: dict[str, Any], totals: _Totals) -> Iterator[Guess]:
    """More there is, and nothing that leads on: the id of the last record does, as Stripe has it."""
    last = seen.last.get("id") if isinstance(seen.last, dict) else None
    if totals.more and not totals.known and seen.selector not in ("$", "[1]") and isinstance(last, str | int):
        param = next((name for name in seen.params if name in CURSOR_PARAMS), "starting_after")
        path = {"cursor_path": f"{seen.selector}[-1].id", "has_more_path": totals.more_path}
        yield Guess({"type": "cursor", "cursor_param": param, **path, **size}, {param: str(last)}, sure=False)
