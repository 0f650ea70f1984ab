"""The honest source: its rows, and how it gives them out in the words of each paginator.

A behaviour changes one of the steps that an answer takes:

    rows ──► keys read ──► page (records, totals, what follows) ──► body ──► reply (status, headers, bytes on the wire)
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from tests.faults.wire import Asked, Reply

Row = dict[str, Any]
Access = Literal["scan", "lookup", "batch", "mirror"]
Format = Literal["json", "csv", "ndjson", "xml"]
Style = Literal["all", "page", "offset", "cursor", "keyset", "start"]

COUNT = 57
COLUMNS = ("id", "grp", "name", "note")


def row(number: int) -> Row:
    """A record; some leave out the member that has no value, as sparse JSON does."""
    found: Row = {"id": number, "grp": f"g{number * 7 % 11:02d}", "name": f"name {number}"}
    return found | ({"note": f"note {number}"} if number % 3 else {})


ROWS = tuple(row(number) for number in range(1, COUNT + 1))


@dataclass
class Page:
    """One page before it is written. `following`: where the next one begins; `extra`: members beside the records.

    `token`, `after` and `url` stand in place of the cursor, of the last key and of the link to the next page. `whole` replaces the JSON body.
    """

    records: list[Any]
    position: int
    size: int
    total: int | None
    following: int | None = None
    base: str = ""
    query: str = ""
    url: str = ""
    token: str | None = None
    after: int | None = None
    last: int | None = None
    extra: Row = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    whole: object = None

    def cut(self, count: int) -> None:
        """No more records than that; what follows begins behind them."""
        self.records = self.records[:count]
        self.last = self.records[-1]["id"]
        self.go_on(self.position + count)

    def go_on(self, position: int | None) -> None:
        """What follows begins there."""
        self.following = position
        self.url = f"{self.base}?start={position}{self.query}"

    @property
    def page_count(self) -> int | None:
        return None if self.total is None else math.ceil(self.total / self.size)


Words = Callable[[Page], Mapping[str, object]]


@dataclass(frozen=True)
class Dialect:
    """How a source pages, and what the spec says of it. `paginator`: None where the spec says nothing.

    `tells`: of what answers hold the number. `common`: met by every behaviour, others by a few.
    """

    name: str
    style: Style
    paginator: Mapping[str, object] | None
    words: Words = lambda page: {}
    tells: Literal["rows", "pages"] | None = None
    common: bool = True
    body: bool = True  # the words stand in a JSON body

    @property
    def paged(self) -> bool:
        return self.style != "all"

    @property
    def linked(self) -> bool:
        """Whether an answer says what to ask next, as a URL or as a value."""
        return self.style in ("cursor", "keyset", "start")


def _link(page: Page) -> str | None:
    return None if page.following is None else page.url


def _token(page: Page) -> str | None:
    return None if page.following is None else page.token or f"c{page.following}"


def _resumption(page: Page) -> str | None:
    """A token that stands for the whole question: nothing is sent beside it."""
    token = _token(page)
    return None if token is None else f"{token}{page.query}"


def _header(page: Page) -> Mapping[str, object]:
    if page.following is not None:
        page.headers["Link"] = f'<{page.url}>; rel="next"'
    return {}


def _wordpress(page: Page) -> Mapping[str, object]:
    page.headers |= {"X-WP-Total": str(page.total), "X-WP-TotalPages": str(page.page_count)}
    return {}


def _total_count(page: Page) -> Mapping[str, object]:
    page.headers["X-Total-Count"] = str(page.total)
    return {}


def _last(page: Page) -> Mapping[str, object]:
    if page.following is None:
        return {}
    return {"last": {"after": page.last if page.after is None else page.after}}


def _number(page: Page) -> int:
    return page.position // page.size + 1


def _laravel(page: Page) -> Mapping[str, object]:
    return {"meta": {"current_page": _number(page), "last_page": page.page_count, "total": page.total}}


def _gbif(page: Page) -> Mapping[str, object]:
    return {
        "offset": page.position,
        "limit": page.size,
        "endOfRecords": page.following is None,
        "count": page.total,
    }


_SIZED = {"page_size": 0}  # in place of 0 stands the size of the source's pages
_PAGE = {"type": "page_number", "page_size_param": "size", **_SIZED}
_OFFSET = {"type": "offset", "page_size_param": "limit", **_SIZED}

#: What the spec names.
DECLARED = (
    Dialect("single_page", "all", {"type": "single_page"}),
    Dialect("page_number", "page", _PAGE),
    Dialect(
        "page_number, pages",
        "page",
        {**_PAGE, "total_path": "pages"},
        lambda p: {"pages": p.page_count},
        "pages",
    ),
    Dialect(
        "page_number, rows",
        "page",
        {**_PAGE, "total_rows_path": "total"},
        lambda p: {"total": p.total},
        "rows",
    ),
    Dialect("offset", "offset", _OFFSET),
    Dialect(
        "offset, rows", "offset", {**_OFFSET, "total_path": "total"}, lambda p: {"total": p.total}, "rows"
    ),
    Dialect(
        "offset, has_more",
        "offset",
        {**_OFFSET, "has_more_path": "more"},
        lambda p: {"more": p.following is not None},
    ),
    Dialect("cursor", "cursor", {"type": "cursor", "cursor_path": "next"}, lambda p: {"next": _token(p)}),
    Dialect(
        "cursor, rows",
        "cursor",
        {"type": "cursor", "cursor_path": "next", "total_path": "total"},
        lambda p: {"next": _token(p), "total": p.total},
        "rows",
    ),
    Dialect("keyset", "keyset", {"type": "keyset", "cursor_path": "last"}, _last),
    Dialect(
        "json_link", "start", {"type": "json_link", "next_url_path": "next"}, lambda p: {"next": _link(p)}
    ),
    Dialect(
        "json_link, rows",
        "start",
        {"type": "json_link", "next_url_path": "next", "total_path": "total"},
        lambda p: {"next": _link(p), "total": p.total},
        "rows",
    ),
    Dialect("header_link", "start", {"type": "header_link"}, _header, body=False),
)

#: What answers say by themselves: (name, style, words, what they tell the number of, met by every behaviour, in the body).
_CONVENTIONS: tuple[tuple[str, Style, Words, Literal["rows", "pages"] | None, bool, bool], ...] = (
    ("next", "start", lambda p: {"next": _link(p)}, None, True, True),
    ("next_cursor", "cursor", lambda p: {"next_cursor": _token(p)}, None, True, True),
    ("page of pages", "page", lambda p: {"page": _number(p), "total_pages": p.page_count}, "pages", True, True),
    ("offset of total", "offset", lambda p: {"offset": p.position, "total": p.total}, "rows", True, True),
    ("Link header", "start", _header, None, False, False),
    (
        "links: [{rel, href}]",
        "start",
        lambda p: {"links": [{"rel": "self", "href": "?"}]
                   + ([{"rel": "next", "href": p.url}] if p.following is not None else [])},
        None, False, True,
    ),
    (
        "_links.next.href",
        "start",
        lambda p: {"_links": {"next": {"href": p.url}} if p.following is not None else {}},
        None, False, True,
    ),
    ("nextPageToken", "cursor", lambda p: {"nextPageToken": _token(p)}, None, False, True),
    ("token", "cursor", lambda p: {"token": _token(p)}, None, False, True),
    ("resumptionToken", "cursor", lambda p: {"resumptionToken": _resumption(p)}, None, False, True),
    (
        "continue: {...}",
        "cursor",
        lambda p: {} if p.following is None else {"continue": {"cursor": _token(p), "continue": "-||"}},
        None, False, True,
    ),
    ("current_page, last_page", "page", _laravel, "rows", False, True),
    ("count, endOfRecords", "offset", _gbif, "rows", False, True),
    ("total-results", "offset", lambda p: {"total-results": p.total}, "rows", False, True),
    ("totalResults, startIndex", "offset",
     lambda p: {"totalResults": p.total, "startIndex": p.position + 1, "itemsPerPage": p.size}, "rows", False, True),
    ("X-WP-TotalPages", "page", _wordpress, "rows", False, False),
    ("X-Total-Count", "page", _total_count, "rows", False, False),
)  # fmt: skip

CONVENTIONS = tuple(
    Dialect(f"{kind}: {name}", style, paginator, words, tells, common, body)
    for kind, paginator in (("auto", {"type": "auto"}), ("undeclared", None))
    for name, style, words, tells, common, body in _CONVENTIONS
)
UNDECLARED = Dialect("undeclared: one answer", "all", None)
DIALECTS = (*DECLARED, UNDECLARED, *CONVENTIONS)


@dataclass(frozen=True)
class World:
    """What a cell reads: over which paginator, by which access, in which format, with how many keys."""

    dialect: Dialect
    access: Access
    format: Format
    keyed: bool
    keys: tuple[str, ...]
    batch: int = 1
    separator: str | None = None

    @property
    def size(self) -> int:
        """Records of a page. Answers to one key are of several pages, too."""
        if not self.dialect.paged:
            return 10_000
        return 2 if self.access == "lookup" else 10

    @property
    def strike(self) -> int:
        """The page that goes wrong, from 0, where a behaviour is of one page."""
        if not self.dialect.paged:
            return 0
        return 1 if self.is_lookup else 2

    @property
    def is_lookup(self) -> bool:
        return self.access in ("lookup", "batch")


@dataclass
class Turn:
    """One request as the source sees it: the number of the request, how often this very one came, and what it wants."""

    world: World
    asked: Asked
    number: int
    attempt: int
    keys: list[str]
    position: int

    @property
    def index(self) -> int:
        return self.position // self.world.size

    @property
    def struck(self) -> bool:
        return self.index == self.world.strike


_CURSORS = ("cursor", "pageToken", "token", "resumptionToken")


def position_of(world: World, asked: Asked, rows: list[Row], size: int) -> int:
    """Where the page that is asked for begins. What cannot be read is the beginning, as with many a source."""
    try:
        match world.dialect.style:
            case "page":
                return (int(asked.first("page", "1")) - 1) * size
            case "offset":
                return int(asked.first("offset", "0"))
            case "cursor":
                given = next((asked.first(name, "") for name in _CURSORS if name in asked.query), "c0")
                return int(re.split("[.&]", given[1:])[0])
            case "keyset":
                after = int(asked.first("after", "0"))
                return next((place for place, one in enumerate(rows) if one["id"] > after), len(rows))
            case "start":
                return int(asked.first("start", "0"))
            case _:
                return 0
    except ValueError:
        return 0


def paged(turn: Turn, rows: list[Row], base: str) -> Page:
    """The page that is asked for, told as the dialect tells it."""
    size = turn.world.size
    if turn.world.dialect.style == "offset":
        size = min(size, int(turn.asked.first("limit", str(size))))
    position = turn.position
    end = position + size
    following = end if turn.world.dialect.paged and end < len(rows) else None
    texts = turn.keys if turn.world.separator is None else [turn.world.separator.join(turn.keys)]
    query = "".join(f"&grp={quote(key, safe='')}" for key in texts if turn.world.is_lookup)
    page = Page(rows[position:end], position, size, len(rows), base=base, query=query)
    page.last = rows[min(end, len(rows)) - 1].get("id") if rows else None
    page.go_on(following)
    return page


def written(world: World, page: Page) -> bytes:
    """The body of a page."""
    words = world.dialect.words(page)
    if page.whole is not None:
        return json.dumps(page.whole).encode()
    if world.format == "json":
        return json.dumps({**words, "items": page.records, **page.extra}).encode()
    if world.format == "ndjson":
        return b"".join(json.dumps(record).encode() + b"\n" for record in page.records)
    if world.format == "xml":
        cells = ("".join(f"<{name}>{text}</{name}>" for name, text in one.items()) for one in page.records)
        return f"<answer>{''.join(f'<item>{text}</item>' for text in cells)}</answer>".encode()
    text = io.StringIO()
    names = list(dict.fromkeys([*COLUMNS, *(name for one in page.records for name in one)]))
    table = csv.DictWriter(text, names, lineterminator="\n")
    table.writeheader()
    table.writerows(page.records)
    return text.getvalue().encode()


TYPES = {"json": "application/json", "csv": "text/csv", "ndjson": "application/x-ndjson", "xml": "text/xml"}


def plain_reply(world: World, page: Page, body: bytes) -> Reply:
    """The answer as it should be."""
    return Reply(body, headers={"Content-Type": TYPES[world.format], **page.headers})
