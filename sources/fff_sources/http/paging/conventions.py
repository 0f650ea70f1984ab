"""The conventions in which APIs tell of further pages: the one list of them, for `auto`, `fff source init` and `test`.

Names are compared without case, separators and namespace: `total_results`, `total-results`,
`opensearch:totalResults` and `TotalResults` are one word, `totalresults`. What is *certain* makes an answer
incomplete by itself; what is not may mean something else, and counts only where nothing more certain is said.
Header fields are read as members of one more object, under the names that `HEADERS` gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from fff.structs import lazy_pattern

_SEPARATORS = lazy_pattern(r"[^a-z0-9]+")


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """A name as the lists here write it."""
    return _SEPARATORS.sub("", name.rpartition(":")[2].lower())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Objects beside the records, and one inside another of them, that speak of pages. A bare `total` in them
#: counts records, whatever else they say.
TALKING: Final = lazy_pattern(
    r"headers|hits|info|\w*(?:meta|metadata|pagination|paginat(?:or|e)|paging|pager)(?:info|data)?"
    r"|(?:page|list|search|query|result|results|resultset)(?:info|information|meta|data|context|details|set)|page"
)
CONTAINERS: Final = lazy_pattern(
    rf"{TALKING.pattern}|links?|cursors?|view|pages|context|nav|navigation|additionaldata|additionalinfo"
)
#: An object with one of these is a thing of its own, and its totals are its own.
OF_THINGS: Final = _words("id name title uuid slug")
#: A name that speaks of what a client may do: what is counted there are no records.
OF_LIMITS: Final = lazy_pattern(r"rate|limit|quota|cache|retry|credit|cost|usage")

# ---------------------------------------------------------------------------------------------------- the end

_KINDS = "pages?|results?|rows?|records?|items?|elements?|entr(?:y|ies)|hits?|docs?|documents?|match(?:es)?|objects?|features?|data"
#: True: there is more. False: there is not.
MORE: Final = lazy_pattern(
    rf"(?:has|have|is|are)?(?:more|additional|further)(?:{_KINDS})?(?:available|exists?|tocome|coming|left|remain(?:ing)?|in[a-z]+)?"
    rf"|(?:has|have|is)(?:a)?next(?:{_KINDS})?|next(?:{_KINDS})?(?:exists?|available)|(?:load|fetch)more|(?:is)?truncated|exceededtransferlimit"
)
#: True: this is the last page.
LAST: Final = lazy_pattern(
    r"(?:is|at)?(?:last|final)(?:page|batch|chunk)?|(?:is|at)?(?:the)?end(?:of[a-z]+)?|(?:is)?(?:done|finished|exhausted|eof)"
    rf"|nomore(?:{_KINDS})?"
)
#: Some of these say as well that a text or a job is whole: what they say of an end is not believed.
NO_END: Final = _words("truncated done isdone finished isfinished end final eof")
#: Members that count what is left; in these, and in those that can only be a truth, 0 and 1 are no and yes.
LEFT: Final = lazy_pattern(
    rf"(?:num(?:ber)?(?:of)?)?(?:remaining|more)(?:{_KINDS})(?:count)?|(?:{_KINDS})(?:remaining|left)(?:count)?|more"
)
#: The same, or what is left of a quota.
PERHAPS_LEFT: Final = _words("remaining left")
ASKING: Final = lazy_pattern(r"(?:is|has|have|are|endof)[a-z]+")

# ----------------------------------------------------------------------------------------------- what is next

#: A value that is given stands for a page that follows: its URL, or what it is asked for with.
NEXT: Final = lazy_pattern(
    r"(?:odata)?next(?:results?|index|skip|start|startat|startindex|offset|pos|position|key|id|maxid|token|cursor|cursormark|marker"
    r"|batch|range|continuationtoken|paginationtoken|partitionkey|link|url|href|uri|records?(?:url|position)|query|params?|parameters|request"
    r"|page(?:url|uri|link|href|token|no|num|number|index|id|key|cursor|start|offset|results)?)?"
    r"|continu(?:e|ation)(?:from|token|key|url|id)|resumptiontoken|lastevaluatedkey|paginationtoken|querycontinue"
)
#: A value that is given may stand for that, or for the place of this page.
PERHAPS_NEXT: Final = _words(
    "token cursor marker bookmark scrollid continuation pagetoken searchafter after exclusivestartkey"
    " more moreurl morelink moreresultsurl moreresultslink moreitemsurl moretopicsurl older olderurl olderlink"
)
#: Members of an object that is a link; which page it leads to is told by one of `RELATIONS`, or by the
#: object's name.
HREFS: Final = ("href", "url", "uri", "link")
RELATIONS: Final = ("rel", "relation", "relationship", "@rel", "@relation", "name")
#: Where the value of a member goes in the next question, where its name leaves no doubt.
CURSORS: Final[Mapping[str, str]] = {
    "next_cursor": "cursor",
    "next-cursor": "cursor",
    "nextCursor": "cursor",
    "nextCursorMark": "cursorMark",
    "next_page_token": "page_token",
    "nextPageToken": "pageToken",
    "continuation_token": "continuation_token",
    "continuationToken": "continuationToken",
    "NextContinuationToken": "continuation-token",
    "nextToken": "nextToken",
    "next_marker": "marker",
    "nextMarker": "marker",
    "NextMarker": "marker",
}
#: The same, of a member of an object with this name.
CURSORS_IN: Final[Mapping[tuple[str, str], str]] = {
    ("cursor", "next"): "cursor",
    ("cursors", "next"): "cursor",
    ("metadata", "continue"): "continue",
}
#: An object whose every member is sent back as a parameter.
SPREAD: Final = "continue"
#: OAI-PMH: sent back with the verb, and with nothing else.
RESUMPTION: Final = "resumptionToken"
RESUMPTION_KEEPS: Final = "verb"

# ----------------------------------------------------------------------------------------------------- totals

_THINGS = "results?|rows?|records?|recs|items?|elements?|entr(?:y|ies)|hits?|docs?|documents?|match(?:es)?|objects?|features?"
_GUESSED = "(?:approx(?:imate)?|estimated)?"
#: A number of records, of all pages.
TOTAL: Final = lazy_pattern(
    rf"{_GUESSED}tot(?:al)?(?:number)?(?:of)?(?:count|cnt|number|available|found|matched|{_THINGS})(?:count|found|available|matched)?"
    rf"|{_GUESSED}(?:count|number)(?:of)?total(?:{_THINGS})?|num(?:ber)?(?:found|matched)|numberofrecords|nbhits|recordsfiltered"
    r"|odatacount|(?:overall|full)count"
)
#: In a name: of more than a page.
_OF_ALL = lazy_pattern("tot|found|matche?d|matching|available")
#: That, or something else: the records of this page, or a sum.
PERHAPS_TOTAL: Final = lazy_pattern(
    rf"total|count|found|matched|available|ntotal|totalsize|n(?:um|b|o)?(?:ber)?(?:of)?(?:{_THINGS})|(?:{_THINGS})(?:count|cnt|total|found|available)"
    r"|retcount|allcount"
)
#: Those that are one where the words around them speak of pages, the likeliest first.
PLAIN_TOTALS: Final = ("total", "count", "matched", "totalsize")
#: Members beside a total, or in its name, that say whether it is no more than an estimate.
ESTIMATED: Final = lazy_pattern(r"approx|estimat|(?<!in)exact")
RELATION: Final = "relation"  # of Elasticsearch: anything but `eq` is a bound
AT_LEAST: Final = _words("gte gt ge")  # of these: there are so many, or more
#: Where an object that is a number holds it.
NUMBERS: Final = ("value", "count", "$", "$t", "#text")
#: Members that stand beside a total of records, so that a bare `total` or `count` is one.
BESIDE_TOTAL: Final = _words(
    "page currentpage pagenumber perpage pagesize limit offset skip start startat startindex next previous prev itemsperpage"
    " maxresults endofrecords returned numberreturned done"
)
#: How long a page may be, where it stands beside the place of this one.
LENGTHS: Final = _words("perpage pagesize limit itemsperpage resultsperpage hitsperpage maxresults")
PAGES: Final = lazy_pattern(
    r"pages|(?:total|num(?:ber)?|nb|no)(?:of)?pages?|pages?(?:count|total)|lastpage|maxpage"
)

#: `Showing 1 to 10 of 37`, `items 0-9/37`: the last record of an answer, and how many there are.
SPOKEN: Final = lazy_pattern(
    r"(?:.*\D)?\d[\d,]*\s*(?:-|\u2013|to|through)\s*(\d[\d,]*)\s+(?:out\s+)?of\s+(?:about\s+)?(\d[\d,]*)\b.*|(?:\w+\s+)?\d+-(\d+)/(\d+)",
    re.IGNORECASE,
)
#: `Showing 10 of 37`: how many records came, and how many there are.
SHOWN: Final = lazy_pattern(
    r"(?:(?:now )?(?:showing|displaying|viewing|returned|returning)|results?|records?|items?|rows?|entries)\s*:?\s+(?:the\s+)?(?:first\s+)?"
    r"\d[\d,]*\s+(?:[a-z]+\s+)?(?:out\s+)?of\s+(?:about\s+)?(\d[\d,]*)\b.*",
    re.IGNORECASE,
)
#: `page 1 of 4`, and `1/4` under the name of a page: the same of pages.
SPOKEN_PAGE: Final = lazy_pattern(r"(?:(page)\s+)?(\d+)\s*(?:of|/)\s*(\d+)", re.IGNORECASE)

# -------------------------------------------------------------------------------------------------- positions

#: The number of this page, where answers tell it -> the parameter that asks for the next one; None: the same
#: name.
PAGE: Final[Mapping[str, str | None]] = {
    "page": "page",
    "currentpage": "page",
    "pagenumber": None,
    "pageno": None,
    "pageindex": None,
}
#: The same, of Spring, say, where a number of pages stands beside.
PAGE_BESIDE_PAGES: Final[Mapping[str, str | None]] = {"number": "page", "current": "page"}
#: A number under the second name is the last page's where the first one stands beside.
PAGES_BESIDE: Final = (("current", "last"), ("currentpage", "last"))
#: The place of the first record, where answers tell it under the name of the parameter that asks for it ->
#: what the first record of all has.
OFFSETS: Final[Mapping[str, int]] = {"offset": 0, "skip": 0, "start": 0, "startAt": 0, "startIndex": 1}

# ---------------------------------------------------------------------------------------------------- headers

HEADERS: Final[Mapping[str, str]] = {
    "x-total-count": "total_count",
    "x-total": "total_count",
    "x-total-results": "total_count",
    "x-total-records": "total_count",
    "x-total-items": "total_count",
    "x-total-entries": "total_count",
    "x-wp-total": "total_count",
    "x-pagination-total-count": "total_count",
    "x-pagination-total": "total_count",
    "total-count": "total_count",
    "x-total-pages": "total_pages",
    "x-wp-totalpages": "total_pages",
    "x-pagination-total-pages": "total_pages",
    "x-pagination-page-count": "total_pages",
    "x-page-count": "total_pages",
    "x-page": "page",
    "x-current-page": "page",
    "x-pagination-current-page": "page",
    "x-pagination-page": "page",
    "x-next-page": "next_page",
    "x-pagination-next-page": "next_page",
    "x-next-cursor": "next_token",
    "x-next-token": "next_token",
    "x-next-page-token": "next_token",
    "x-continuation-token": "next_token",
    "x-ms-continuation": "next_token",
    "x-ms-continuationtoken": "next_token",
    "x-has-more": "has_more",
    "x-has-next-page": "has_more",
}
#: Fields that may hold a cursor for the next page, or that of this one.
HEADER_CURSORS: Final = _words("cursor scrollid continuation pagetoken bookmark")
#: What stands before the words in the name of a field; and fields that speak of the message itself.
_HEADER_PREFIX = lazy_pattern(
    r"x-|(?:pagination|paging|page|list|collection|results?|records?|items?|search|query)-"
)
#: Fields that most servers send, of which none does either: those are not looked at.
OF_HTTP: Final = _words(
    "accept-ranges age alt-svc connection date etag expires keep-alive last-modified location server vary via"
)
_OF_MESSAGES = lazy_pattern(r"request|response|content|size")
#: A header field that holds a JSON object of such words.
JSON_HEADERS: Final = ("x-pagination",)
#: `items 0-24/319`; bytes are parts of one answer, and another matter.
CONTENT_RANGE: Final = lazy_pattern(r"\s*(?!bytes)(?:[\w-]+\s+)?(?:\d+-\d+|\*)/(\d+)\s*", re.IGNORECASE)
#: The number of pages in this field is of pages that are asked for with a parameter, from 1 on, though none
#: tells its own.
COUNTED_PAGES: Final[Mapping[str, str]] = {"x-wp-totalpages": "page"}

# ------------------------------------------------------------------------ parameters of requests, for samples

PAGE_PARAMS: Final = (
    "page", "page[number]", "pageNumber", "page_number", "pageNo", "page_no", "pageIndex", "page_index", "p", "pg", "currentPage", "current_page"
)  # fmt: skip
OFFSET_PARAMS: Final = (
    "offset", "page[offset]", "start", "skip", "$skip", "startIndex", "start_index", "startAt", "retstart", "from", "firstResult", "resultOffset",
    "$offset",
)  # fmt: skip
SIZE_PARAMS: Final = (
    "per_page", "per-page", "perPage", "page_size", "page-size", "pageSize", "pagesize", "page[size]", "limit", "$limit", "page[limit]", "rows",
    "size", "$top", "top", "maxResults", "max_results", "retmax", "resultsPerPage", "resultRecordCount", "numRows", "num", "count", "first", "n",
    "hitsPerPage", "itemsPerPage", "items_per_page", "max",
)  # fmt: skip
#: The same in lower case.
SIZES: Final = frozenset(name.lower() for name in SIZE_PARAMS)
CURSOR_PARAMS: Final = (
    "cursor", "page[cursor]", "after", "page[after]", "starting_after", "page_token", "pageToken", "next_token", "nextToken", "continuation",
    "continuationToken", "continuation_token", "resumptionToken", "scroll_id", "marker", "bookmark", "since_id", "next", "next_cursor",
    "search_after", "exclusiveStartKey",
)  # fmt: skip
#: What usually goes with a size parameter, when it alone stands in the URL.
COMPANIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "limit": ("offset", "page"), "$limit": ("$offset",), "rows": ("start", "offset"), "$top": ("$skip",), "top": ("skip",), "retmax": ("retstart",),
    "maxResults": ("startIndex", "startAt"), "max_results": ("start", "page"), "resultsPerPage": ("startIndex", "page"),
    "page[size]": ("page[number]",), "page[limit]": ("page[offset]",), "size": ("page", "from"), "count": ("offset", "page"),
    "resultRecordCount": ("resultOffset",), "pageSize": ("page", "pageNumber"), "first": ("offset",), "num": ("start",), "max": ("offset",),
}  # fmt: skip

# -------------------------------------------------------------------------------------------------- questions


def is_more(name: str) -> bool:
    """Whether a truth value under that name says that there is more."""
    return MORE.fullmatch(normal(name)) is not None


def is_next(name: str) -> bool:
    """Whether a value under that name leads to the next page for certain: its URL, or a cursor."""
    return NEXT.fullmatch(normal(name)) is not None


def is_cursor(name: str) -> bool:
    """Whether a value under that name may be the next cursor."""
    plain = normal(name)
    return NEXT.fullmatch(plain) is not None or plain in PERHAPS_NEXT or plain == "endcursor"


def is_total(name: str) -> bool:
    """Whether a number under that name may count all records."""
    plain = normal(name)
    known = TOTAL.fullmatch(plain) or PERHAPS_TOTAL.fullmatch(plain)
    return known is not None or plain in ("hits", "matches")  # of a page view, or of a search


def is_certain_total(name: str) -> bool:
    """Whether a number under that name counts all records, wherever it stands."""
    return TOTAL.fullmatch(normal(name)) is not None


def may_count_a_page(names: Iterable[str]) -> bool:
    """Whether a number at these members may well count the records of its page alone: a `count`, and no `total`."""
    return not any(is_certain_total(name) or _OF_ALL.search(normal(name)) for name in names)


def is_pages(name: str) -> bool:
    """Whether a number under that name may count all pages."""
    return PAGES.fullmatch(normal(name)) is not None


@lru_cache(maxsize=4096)
def header_word(field: str) -> str | None:
    """The word that a field of a header, in lower case, stands for; None where it speaks of something else."""
    if field in OF_HTTP:
        return None
    if field in HEADERS or OF_LIMITS.search(field) or _OF_MESSAGES.search(field):
        return HEADERS.get(field)
    parts = field.split("-")
    for word in ("".join(parts[start:]) for start in range(len(parts))):
        if MORE.fullmatch(word):
            return "has_more"
        if NEXT.fullmatch(word):
            return "next_token"
        if TOTAL.fullmatch(word):
            return "total_count"
    while True:
        plain = normal(field)
        if PAGES.fullmatch(plain):
            return "total_pages"
        if PERHAPS_TOTAL.fullmatch(plain):
            return field
        if plain in HEADER_CURSORS:
            return "cursor"
        prefix = _HEADER_PREFIX.match(field)
        if prefix is None:
            return None
        field = field[prefix.end() :]
