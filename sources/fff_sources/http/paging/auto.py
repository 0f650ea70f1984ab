"""`paginator: auto`, and no paginator: follows pages where the answer itself says how, and never takes a part for the whole.

Followed are next links wherever one of the usual places has one; cursors whose parameter is evident from
their name (`next_cursor`: cursor, `nextPageToken`: pageToken, …); objects of parameters (`continue`),
resumption tokens; page numbers and offsets that answers repeat, so that it shows whether the parameter was
understood. Where an answer says in a usual word that there is more, and none of these will do, the rows that
came are good, and not all. The words are in `conventions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from fff.structs import cached_property
from fff_sources.http.paging import conventions
from fff_sources.http.paging.counted import Hidden
from fff_sources.http.paging.envelope import SILENT, NextPage, PagingHints, told_around
from fff_sources.http.paging.links import last_page, link_next, speaks_of_next
from fff_sources.http.paging.paginators import (
    Ask,
    Chained,
    CutShortError,
    PageAnswer,
    PaginationError,
    Told,
    Unit,
)
from fff_sources.http.response.jsonpath import WHOLE, JsonPath
from fff_sources.http.templates import text_of

DECLARE = "declare the paginator (type: single_page takes the first answer for all)"


class AutoPaginator(Chained):
    """One reading that finds out how pages follow one another.

    Args:
        selector: where the records are; None: bodies cannot be read for words, and there are the headers
            alone.
        may_ask: whether parameters can carry a cursor or a page number: not where requests are bodies.
        first_params: those of every question that is not a URL.
        approximate: the source's totals are estimates.
    """

    remedy = f": {DECLARE}"

    def __init__(
        self,
        selector: JsonPath | None,
        *,
        may_ask: bool,
        first_params: Mapping[str, str],
        approximate: bool = False,
    ) -> None:
        self._selector = selector
        self._may_ask = may_ask
        self._first_params = first_params
        self._approximate = approximate
        self._followed = False
        self._is_full = self._is_short = False  # the last page is as long as pages may be, or shorter
        self._confirms = False  # nothing but that one is short says of the next page that there is none
        self._doubts = False  # a number says so, which may be that of a page
        self._base = 0  # the number of the first page
        self._guessed: str | None = None  # the parameter that pages are asked for with
        self._last: tuple[PageAnswer, PagingHints] | None = None

    # Made when they are needed: most lookups have one page.
    _unit = cached_property(lambda _: Unit())
    _hidden = cached_property(lambda _: Hidden())

    @cached_property
    def _seen(self) -> set[str]:
        """Cursors and URLs that were followed."""
        return set()

    @property
    def param(self) -> str | None:
        """What pages are asked for with, as far as that is known."""
        return self._guessed

    def start(self) -> Ask:
        """The endpoint with its page size."""
        return Ask(self._first_params)

    def total(self, answer: PageAnswer) -> Told | None:
        """The total the answer tells, where it is certain to be one; nothing rests on it."""
        more = self._hints(answer)
        total = more.total
        pages = None if more.page is None or more.page[1] is None or more.pages is None else more.pages[1]
        if total is None:
            exact = more.pages_exact and not self._approximate
            return None if pages is None else Told(pages=pages, exact=exact, declared=False)
        # Pages end by it.
        by_total = more.pages is None and (more.page is not None or more.offset is not None)
        return Told(
            total.rows,
            pages,
            exact=total.exact and not self._approximate,
            declared=False,
            perhaps_less=not by_total and not conventions.is_certain_total(total.word),
        )

    def is_silent(self, answer: PageAnswer) -> bool:
        """Whether an answer says nothing of pages."""
        return self._hints(answer) is SILENT and "link" not in answer.headers

    def after(self, ask: Ask, answer: PageAnswer) -> Ask | None:
        """The next question. Raises CutShortError where there must be one and nothing says which."""
        more = self._hints(answer)
        if self._guessed is None and self.is_silent(answer):
            return None
        total = more.total.rows if more.total is not None and more.total.exact else None
        self._unit.take(answer.counts, total, size=more.length, by=ask.by)
        self._hidden.take(ask)
        length = self._unit.of(answer.counts, more.length)
        self._is_full = more.length == length > 0
        self._is_short = more.length is not None and 0 < length < more.length
        self._confirms = self._doubts = False
        ended = answer.is_empty and more.says_no  # some give a URL with every page
        following = self._by_link(answer, more) if self._guessed is None and not ended else None
        if following is None:
            if self._guessed is not None:
                self._check_understood(ask, answer, more)
            following = self._guess(ask, answer, more)
            if (following is None or self._confirms) and (sign := self._sign(answer, more)) is not None:
                raise CutShortError(f"there is more than what came ({sign}): {DECLARE}")
        self._followed = self._followed or following is not None
        return following

    def _hints(self, answer: PageAnswer) -> PagingHints:
        if self._last is None or self._last[0] is not answer:
            self._last = answer, told_around(answer.opened, self._selector or WHOLE, answer.headers)
        return self._last[1]

    def _sign(self, answer: PageAnswer, more: PagingHints) -> str | None:
        """What says that there is more."""
        if speaks_of_next(answer.headers.get("link", "")):
            return "Link header"  # one that can be read was followed
        if (last := last_page(answer.headers.get("link", ""), answer.url)) is not None:
            return f"page {last} is the last by the Link header"
        if not self._followed:
            return more.hint(self._unit.all_came)
        # The pages have ended, unless the last one says otherwise; a total is compared with what came of all.
        return more.leads_on() if more.has_more is not None or not answer.is_empty else None

    # --------------------------------------------------------------------------------------------- next links

    def _by_link(self, answer: PageAnswer, more: PagingHints) -> Ask | None:
        header = link_next(answer.headers.get("link", ""))
        link = NextPage(header) if header is not None else more.link
        if link is None:
            return None
        try:
            url = urljoin(answer.url, link.url)
        except ValueError as error:
            raise PaginationError("the URL of the next page is none") from error
        self._note(f"{url} {text_of(link.body)}" if link.body is not None else url, answer.url)
        return Ask(url=url, method=link.method, body=link.body, merge=link.merge, origin=answer.url)

    def _note(self, mark: str, *before: str) -> None:
        self._seen.update(before)
        if mark in self._seen:
            raise PaginationError("the URL of the next page came a second time")
        self._seen.add(mark)

    # ----------------------------------------------------------------------------- cursors, pages and offsets

    def _guess(self, ask: Ask, answer: PageAnswer, more: PagingHints) -> Ask | None:
        """The question by a cursor, a page number or an offset, where it is evident."""
        if not self._may_ask or more.says_no:
            return None
        if more.resumption is not None:
            return self._resumed(answer, more.resumption)
        if ask.url is not None:
            return None
        if more.spread:
            return self._by_cursor(answer, more.spread)
        if more.cursor is not None:
            return self._by_cursor(answer, dict([more.cursor]))
        if answer.is_empty:
            return None
        if more.page is not None and self._guessed in (None, more.page[0]):
            name, page = more.page
            page = page if page is not None else max(ask.position, 1)
            if self._guessed is None:
                self._base = page
            if self._base in (0, 1) and self._more_pages(more, page + 1):
                return self._ask(name, page + 1)
        elif more.offset is not None:
            name, place = more.offset
            length = self._unit.of(answer.counts, more.length)
            following = place + self._hidden.behind(length, more.length)
            first = place in (0, conventions.OFFSETS[name])
            if (self._guessed == name or first) and self._more_rows(more, following):
                asked = self._ask(name, following)

                def leap(places: int) -> Ask:
                    return self._ask(name, place + places)

                if self._unit.is_open:
                    return self._unit.asked(asked, answer, leap)
                return self._hidden.looking(asked, answer, length, more.length, leap)
        return None

    def _by_cursor(self, answer: PageAnswer, values: Mapping[str, object]) -> Ask | None:
        names = ", ".join(values)
        if any(isinstance(value, dict | list) for value in values.values()):
            raise CutShortError(f"there is more than what came, and {names!r} is no plain value: {DECLARE}")
        sent = {name: text_of(value) for name, value in values.items()}
        mark = f"cursor {sorted(sent.items())}"
        if mark in self._seen:
            if answer.records == 0 and self._unit.came():
                return None  # nothing new under a cursor already used: the end, as some sources tell it
            raise PaginationError(
                f"the cursor {', '.join(map(repr, sent.values()))} came a second time: "
                f"the source seems to ignore {names!r}: {DECLARE}"
            )
        self._seen.add(mark)
        self._guessed = names
        return Ask({**self._first_params, **sent}, values=values)

    def _resumed(self, answer: PageAnswer, token: str) -> Ask:
        """OAI-PMH: beside the token, a request may hold nothing but the verb."""
        parts = urlsplit(answer.url)
        kept = [pair for pair in parse_qsl(parts.query) if pair[0] == conventions.RESUMPTION_KEEPS]
        query = urlencode([*kept, (conventions.RESUMPTION, token)])
        url = urlunsplit(parts._replace(query=query, fragment=""))
        if url in self._seen:
            raise PaginationError(f"the {conventions.RESUMPTION} {token!r} came a second time")
        self._seen.add(url)
        return Ask(url=url, origin=answer.url)

    def _more_pages(self, more: PagingHints, following: int) -> bool:
        if more.pages is None or more.has_more is not None or more.next is not None:
            return self._more_rows(more, following)
        return following - self._base < more.pages[1] or self._approximate or not more.pages_exact

    def _more_rows(self, more: PagingHints, following: int) -> bool:
        """Whether there is a page of that number, or from that record on."""
        if more.next is not None:
            return more.next[1] in (following, str(following))
        if more.has_more is not None:
            return more.has_more[1]
        total = more.total or more.perhaps_total
        of_page = total is not None and total.exact and total.rows < min(self._unit.all_came)
        if total is None or of_page:
            self._confirms = self._is_short and more.pages is None
            return self._confirms or (self._is_full and more.pages is None)
        own = self._is_full and self._guessed is None and conventions.may_count_a_page([total.word])
        unsure = self._unit.is_unsure(total.rows)
        self._confirms = self._unit.may_be_all(total.rows) and (own or unsure)
        self._doubts = self._confirms and not unsure
        return self._confirms or total.rows > self._unit.came(total.rows) or not total.exact

    def _ask(self, name: str, number: int) -> Ask:
        self._guessed = name
        sent = {**self._first_params, name: str(number)}
        return Ask(sent, position=number, values={name: number}, confirms=self._confirms, doubts=self._doubts)

    def _check_understood(self, ask: Ask, answer: PageAnswer, more: PagingHints) -> None:
        """Raises PaginationError where the answer shows that the parameter meant nothing to the source."""
        echo = dict(one for one in (more.page, more.offset) if one is not None).get(self._guessed or "")
        if echo is not None and echo != ask.position and not answer.is_empty:
            raise PaginationError(f"the source seems to ignore {self._guessed!r}: {DECLARE}")
