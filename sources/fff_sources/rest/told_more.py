"""What an answer says, beside its records, of pages that follow: in words that many APIs share, where a spec names none.

The words stand in the objects around the records (along the selector), or one step below these under a usual name
(`meta`, `pagination`, …). A record itself is never read so: what it says is data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fff_sources.rest.fastjson import MalformedJSON, Raw, decode
from fff_sources.rest.jsonpath import JsonPath, kind_of

_INSIDE = (
    "meta", "metadata", "_meta", "pagination", "paging", "page", "page_info", "pageInfo", "paginationInfo", "info",
    "links", "_links", "cursor", "cursors", "response_metadata", "hits",
)  # fmt: skip
_MORE = (
    "has_more", "hasMore", "has_next", "hasNext", "has_next_page", "hasNextPage", "more_results", "moreResults",
    "is_truncated", "isTruncated", "exceededTransferLimit",
)  # fmt: skip
_LAST = ("is_last", "isLast", "is_last_page", "isLastPage")
#: Where the value of an answer goes in the next question, where its name leaves no doubt.
CURSORS = {
    "next_cursor": "cursor",
    "nextCursor": "cursor",
    "next_page_token": "page_token",
    "nextPageToken": "pageToken",
    "continuation_token": "continuation_token",
    "continuationToken": "continuationToken",
    "nextToken": "nextToken",
}
_NEXT = (*CURSORS, "next", "next_token", "NextToken", "next_page", "nextPage", "next_offset", "nextOffset")
_TOTALS = (
    "total_count", "totalCount", "total_results", "totalResults", "total_rows", "totalRows", "total_records",
    "totalRecords", "total_items", "totalItems", "total_elements", "totalElements", "total_entries", "total_hits",
    "num_found", "numFound", "recordsTotal", "@odata.count", "odata.count",
)  # fmt: skip
_PAGES = (
    "total_pages",
    "totalPages",
    "page_count",
    "pageCount",
    "num_pages",
    "numPages",
    "last_page",
    "pages",
)
_PAGE = ("page", "current_page", "currentPage")
#: Beside one of these a bare `total` counts records; alone it may as well be a sum.
_PAGED = (*_PAGE, "per_page", "perPage", "page_size", "pageSize", "limit", "offset", "skip", "start")
_WORDS = {*_MORE, *_LAST, *_NEXT, *_TOTALS, "total"}
_MENTIONED = re.compile(b'"(?:' + b"|".join(re.escape(word).encode() for word in sorted(_WORDS)) + b')"')
_EDGE = 4096  # bytes at both ends of a body, where what surrounds the records stands


#: The object's name, the word, and its value.
_Found: TypeAlias = tuple[str, str, object]


@dataclass(frozen=True)
class ToldMore:
    """The usual words of one answer; words stand before what they say."""

    has_more: tuple[str, bool] | None = None
    next: tuple[str, object] | None = None  # a value that is not empty
    cursor: tuple[str, object] | None = None  # the parameter that it goes into, and the value
    total: tuple[str, int] | None = None  # of records
    perhaps_total: tuple[str, int] | None = None  # that, or something else
    pages: int | None = None
    page: int | None = None  # the number of this page
    offset: int | None = None  # of its first record

    @property
    def says_no(self) -> bool:
        """Whether the answer says that nothing follows."""
        return self.has_more is not None and not self.has_more[1]

    def sign(self, received: int) -> str | None:
        """What says for certain that there are more than so many records."""
        if self.says_no:
            return None
        if self.has_more is not None:
            return repr(self.has_more[0])
        if self.next is not None:
            return repr(self.next[0])
        return _part_of(self.total, received)

    def hint(self, received: int) -> str | None:
        """The same, where words may as well mean something else."""
        certain = self.sign(received)
        if certain is not None or self.says_no:
            return certain
        if self.pages is not None and self.pages > 1 and self.page is not None:
            return f"page {self.page} of {self.pages}"
        return _part_of(self.perhaps_total, received)


def _part_of(total: tuple[str, int] | None, received: int) -> str | None:
    return None if total is None or total[1] <= received else f"{received} of {total[1]} by {total[0]!r}"


def mentions_more(body: bytes) -> bool:
    """Whether one of the words may stand around the records at all; quick, for bodies of any length."""
    return any(_MENTIONED.search(part) is not None for part in (body[:_EDGE], body[-_EDGE:]))


def told_more(body: bytes, selector: JsonPath) -> ToldMore:
    """What a JSON answer whose records are at the selector says around them."""
    try:
        return _Words(list(_around(body, selector))).told()
    except MalformedJSON:
        return ToldMore()  # whoever reads the records says so


def _around(body: bytes, selector: JsonPath) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The objects around the records, by their names, outermost first, without what leads to the records."""
    place = Raw(body)
    for step in selector.steps:
        if step.kind != "name" or kind_of(place) != "{":
            return
        members = decode(place, type=dict[str, Raw])
        inner = members.pop(step.name, None)
        yield "", _plain(members)
        for name in _INSIDE:
            if name in members and kind_of(members[name]) == "{":
                yield name, _plain(decode(members[name], type=dict[str, Raw]))
        if inner is None:
            return
        place = inner


def _plain(members: Mapping[str, Raw]) -> dict[str, object]:
    """The members that are no containers; Elasticsearch's `total: {value: …}` is its value."""
    plain = {name: decode(raw) for name, raw in members.items() if kind_of(raw) not in "[{"}
    if "total" in members and kind_of(members["total"]) == "{":
        plain["total"] = decode(members["total"]).get("value")
    return plain


class _Words:
    """The words in the objects around the records."""

    def __init__(self, objects: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        self._objects = objects

    def told(self) -> ToldMore:
        """All of them."""
        more = self._first(_MORE, _is_flag)
        last = self._first(_LAST, _is_flag) if more is None else None
        if last is not None:
            more = last[0], last[1], not last[2]
        following = self._first(_NEXT, _is_given)
        total = self._first(_TOTALS, _is_number) or self._paged_total()
        return ToldMore(
            None if more is None else (more[1], bool(more[2])),
            None if following is None else following[1:],
            None if following is None else _cursor(*following),
            None if total is None else (total[1], _int(total[2])),
            self._number(("total", "count")),
            (self._number(_PAGES) or ("", None))[1],
            (self._number(_PAGE) or ("", None))[1],
            (self._number(("offset",)) or ("", None))[1],
        )

    def _first(self, words: Sequence[str], fits: Callable[[object], bool]) -> _Found | None:
        return next(
            (
                (container, word, members[word])
                for container, members in self._objects
                for word in words
                if word in members and fits(members[word])
            ),
            None,
        )

    def _number(self, words: Sequence[str]) -> tuple[str, int] | None:
        found = self._first(words, _is_number)
        return None if found is None else (found[1], _int(found[2]))

    def _paged_total(self) -> _Found | None:
        """A bare `total` where it counts records."""
        return next(
            (
                (name, "total", members["total"])
                for name, members in self._objects
                if _is_number(members.get("total")) and (name or any(word in members for word in _PAGED))
            ),
            None,
        )


def _cursor(container: str, word: str, value: object) -> tuple[str, object] | None:
    """The parameter for a value, where it is evident."""
    if word in CURSORS:
        return CURSORS[word], value
    return ("cursor", value) if word == "next" and container in ("cursor", "cursors") else None


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_given(value: object) -> bool:
    return bool(value) and value not in ("null", "false", "0", "-1", -1)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value
