"""`paginator: auto`: follows pages where the answer itself says how, and never takes a part for the whole.

Followed are next links wherever one of the usual places has one; cursors whose parameter is evident from their name
(`next_cursor`: cursor, `nextPageToken`: pageToken, …); page numbers and offsets that answers repeat, so that it shows
whether the parameter was understood. Where an answer says in a usual word that there is more, and none of these will
do, the rows that came are good, and not all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from fff_sources.rest.jsonpath import JsonPath, parse_path, walk
from fff_sources.rest.links import NextLink, looks_like_url
from fff_sources.rest.paginators import EMPTY_PAGES, Answer, Ask, Chained, CutShortError, PaginationError
from fff_sources.rest.templates import text_of
from fff_sources.rest.told_more import ToldMore, told_more

_LINKS = (
    "next",
    "next_url",
    "links.next",
    "paging.next",
    "info.next",
    "meta.next",
    "pagination.next",
    "_links.next",
)
_ODATA = ("['@odata.nextLink']", "['odata.nextLink']")
_DECLARE = "declare the paginator (type: single_page takes the first answer for all)"


class Auto(Chained):
    """One reading that finds out how pages follow one another.

    Args:
        selector: where the records are.
        is_json: whether bodies can be read for words at all; else there is the Link header alone.
        may_ask: whether parameters can carry a cursor or a page number: not where requests are bodies.
        first_params: those of every question that is not a URL.
    """

    def __init__(
        self, selector: JsonPath, *, is_json: bool, may_ask: bool, first_params: Mapping[str, str]
    ) -> None:
        paths = [parse_path(text) for text in (*_LINKS, *_ODATA)] if is_json else []
        self._links = NextLink(paths, header=True, first_params=first_params, wanted=looks_like_url)
        self._selector = selector
        self._is_json = is_json
        self._may_ask = may_ask
        self._first_params = first_params
        self._received = 0
        self._followed = False
        self._base = 0  # the number of the first page
        self._guessed: str | None = None  # the parameter that pages are asked for with
        self._empty = 0  # pages in a row
        self._seen: set[bytes] = set()  # pages and cursors that came

    def start(self) -> Ask:
        """The endpoint with its page size."""
        return Ask(self._first_params)

    def total(self, answer: Answer) -> int | None:
        """The total the answer tells, where it is certain to be one; nothing rests on it."""
        total = told_more(answer.body, self._selector).total if self._is_json else None
        return None if total is None else total[1]

    def after(self, ask: Ask, answer: Answer) -> Ask | None:
        """The next question. Raises CutShortError where there must be one and nothing says which."""
        self._received += answer.records
        following = self._links.after(ask, answer) if self._guessed is None else None
        if following is None and self._is_json:
            told = told_more(answer.body, self._selector)
            if self._guessed is not None:
                self._check_understood(ask, answer, told)
            elif ask.url is None and not self._followed:
                self._note(self._records_of(answer))
            following = self._guess(ask, answer, told)
            if following is None and (sign := self._sign(answer, told)) is not None:
                raise CutShortError(f"there is more than what came ({sign}): {_DECLARE}")
        self._followed = self._followed or following is not None
        return following

    def _sign(self, answer: Answer, told: ToldMore) -> str | None:
        """What says that there is more."""
        if not self._followed:
            return told.hint(self._received)
        if told.has_more is None and (told.next is None or answer.records == 0):
            return None  # the pages have ended; a total that is higher is worth a warning
        return told.sign(self._received)

    def _guess(self, ask: Ask, answer: Answer, told: ToldMore) -> Ask | None:
        """The question by a cursor, a page number or an offset, where it is evident."""
        if not self._may_ask or told.says_no or ask.url is not None:
            return None
        if told.cursor is not None:
            return self._by_cursor(answer, *told.cursor)
        if answer.records == 0:
            return None
        if told.page is not None and self._guessed in (None, "page"):
            if self._guessed is None:
                self._base = told.page
            if self._base in (0, 1) and self._more_pages(told, told.page + 1):
                return self._ask("page", told.page + 1)
        elif told.offset is not None and (self._guessed == "offset" or told.offset == 0):
            following = told.offset + answer.records
            if self._more_rows(told, following):
                return self._ask("offset", following)
        return None

    def _by_cursor(self, answer: Answer, name: str, value: object) -> Ask:
        self._empty = 0 if answer.records else self._empty + 1
        if self._empty > EMPTY_PAGES:
            raise PaginationError(f"{EMPTY_PAGES} empty pages in a row, each with a new cursor")
        if not self._note(b"cursor " + text_of(value).encode()):
            raise PaginationError(f"the cursor {value!r} came a second time: {_DECLARE}")
        return self._ask(name, value)

    def _more_pages(self, told: ToldMore, following: int) -> bool:
        if told.pages is None or told.has_more is not None or told.next is not None:
            return self._more_rows(told, following)
        return following - self._base < told.pages

    def _more_rows(self, told: ToldMore, following: int) -> bool:
        """Whether there is a page of that number, or from that record on."""
        if told.next is not None:
            return told.next[1] in (following, str(following))
        if told.has_more is not None:
            return told.has_more[1]
        total = told.total or told.perhaps_total
        return total is not None and total[1] > self._received

    def _ask(self, name: str, value: object) -> Ask:
        self._guessed = name
        number = value if isinstance(value, int) and name in ("page", "offset") else 0
        return Ask({**self._first_params, name: text_of(value)}, position=number, values={name: value})

    def _check_understood(self, ask: Ask, answer: Answer, told: ToldMore) -> None:
        """Raises PaginationError where the answer shows that the parameter meant nothing to the source."""
        echo = {"page": told.page, "offset": told.offset}.get(self._guessed or "", ask.position)
        known = answer.records > 0 and not self._note(self._records_of(answer))
        if known or (echo != ask.position and answer.records > 0):
            raise PaginationError(f"the source seems to ignore {self._guessed!r}: {_DECLARE}")

    def _records_of(self, answer: Answer) -> bytes:
        """What tells the records of an answer from any others."""
        digest = hashlib.blake2b(digest_size=16)
        for part in walk(answer.body, self._selector):
            digest.update(part)
        return digest.digest()

    def _note(self, mark: bytes) -> bool:
        """Whether this came for the first time."""
        new = mark not in self._seen
        self._seen.add(mark)
        return new
