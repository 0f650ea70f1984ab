"""Where the pages of a reading end, and what its answers say of more, in the places that a spec knows and in the usual words."""

from __future__ import annotations

from functools import lru_cache

from fff.structs import replace
from fff_sources.http.paging import counted
from fff_sources.http.paging.consistency import Totals
from fff_sources.http.paging.conventions import may_count_a_page
from fff_sources.http.paging.envelope import PagingHints, Total, mentions_more, told_around
from fff_sources.http.paging.links import is_yes, last_page, speaks_of_next
from fff_sources.http.paging.paginators import Ask, PageAnswer, PaginationError, Paginator
from fff_sources.http.paging.surroundings import Counts
from fff_sources.http.response.jsonpath import WHOLE, JsonPath, parse_path
from fff_sources.http.spec import spec

#: Formats whose answers can be read for words around the records.
WORDED = frozenset({"json", "xml"})
_LARGE = 2**16  # bytes from which a body is looked into only where its edges have one of the words


def around_records(endpoint: spec.Endpoint) -> JsonPath | None:
    """The place of the elements of the list around those that records stand in."""
    return _around(endpoint.data_selector, endpoint.format) if endpoint.format in WORDED else None


@lru_cache(maxsize=1024)  # every answer is counted
def _around(selector: str, form: str) -> JsonPath | None:
    return parse_path(selector, form).around


class ReadingEnd:
    """What the answers of one reading say of more, against what came.

    `tells`: it is of a scan, of which a page that came before is known as that.
    """

    def __init__(self, endpoint: spec.Endpoint, totals: Totals, *, tells: bool = True) -> None:
        self._endpoint, self._totals, self._tells = endpoint, totals, tells
        self._first: PagingHints | None = None  # in words that the spec does not name
        self._told: Total | None = None  # by the page before, in such words
        #: What a page said of more that should be the last, while that is asked for.
        self.owed: str | None = None
        #: Of answers that came in any order: the last page's, its place, and what says that it is cut.
        self._farthest: tuple[int, PageAnswer, str | None] | None = None

    def following(
        self,
        paginator: Paginator,
        ask: Ask,
        answer: PageAnswer,
        following: Ask | None,
        so_far: tuple[Counts, int],
        *,
        cut: str | None,
    ) -> Ask | None:
        """What is to be asked next, where the paginator would ask that; None: the end, or what is taken for it.

        `so_far`: the records and pages that came. `cut`: that the answer is not all, unless a page follows.
        """
        received, pages = so_far
        doubts = following is not None and following.doubts and not self._tells
        if doubts or _is_proven_end(self._endpoint, following, answer, self._first, received):
            following = None
        elif following is None:
            whole = self._totals.is_whole(received, pages)
            own = pages == 1 and self._totals.is_of_records and self._tells and self._may_be_own
            following = _beyond(self._endpoint, paginator, ask, answer, whole=whole, own=own)
        elif not self._totals.is_present and self._is_stated_end(paginator, answer, so_far):
            following = replace(following, may_lack=True)
        self.owed = None
        if following is not None and (following.confirms or following.may_lack):
            self.owed = self._unread(answer, so_far) or cut
        if following is not None and pages == 1:
            self._first = _spoken_of(self._endpoint, answer, self._totals)
        return following

    @property
    def _may_be_own(self) -> bool:
        """Whether the number that the spec names may be that of a page, by its name."""
        paginator = self._endpoint.paginator
        path = getattr(paginator, "total_rows_path", None) or getattr(paginator, "total_path", None) or ""
        steps = parse_path(path, self._endpoint.format).steps
        return may_count_a_page(step.name for step in steps if step.kind == "name")

    def lacks(self, answer: PageAnswer, so_far: tuple[Counts, int]) -> str | None:
        """What the last answer says of more, or the first one said."""
        return _overlooked(self._endpoint, answer, self._totals, so_far, self._first)

    def note(self, ask: Ask, answer: PageAnswer, cut: str | None) -> None:
        """One of several answers that come in any order."""
        if self._farthest is None or ask.position >= self._farthest[0]:
            self._farthest = ask.position, answer, cut

    def last_lacks(self, so_far: tuple[Counts, int] | None) -> str | None:
        """What the one of the last page says of more; None for `so_far`: others have received some of the pages."""
        if self._farthest is None:
            return None
        _, answer, cut = self._farthest
        return (None if so_far is None else self.lacks(answer, so_far)) or cut

    def _is_stated_end(self, paginator: Paginator, answer: PageAnswer, so_far: tuple[Counts, int]) -> bool:
        """Whether an answer says that it is the last, so that the page behind it may be refused.

        A number that it tells may be its own, or grow with the pages: behind the first one it must not.
        """
        if not isinstance(paginator, counted.OffsetPaginator | counted.PageNumberPaginator):
            return False
        more = _hints(self._endpoint, answer, is_large=len(answer.body) > _LARGE)
        before, self._told = self._told, more.total
        if _led(self._endpoint, answer, more) is not None or self._endpoint.paginator.total != "exact":
            return False
        received, pages = so_far
        told = more.total is not None and more.total.exact and more.total.rows in received
        return more.says_no or (told and (pages == 1 or more.total == before))

    def _unread(self, answer: PageAnswer, so_far: tuple[Counts, int]) -> str | None:
        """The same of a page behind which another one is asked for, if only to see that there is none."""
        if (told := self.lacks(answer, so_far)) is not None or self._totals.is_whole(*so_far):
            return told
        flag = _flag(self._endpoint, answer)
        if flag is not None and flag[1] is False:
            return None
        if flag is None and isinstance(self._endpoint.paginator, spec.Auto):
            return None  # it follows what it is led to
        more = _hints(self._endpoint, answer, is_large=len(answer.body) > _LARGE)
        sign = repr(flag[0]) if flag is not None else _led(self._endpoint, answer, more)
        return (
            None
            if sign is None
            else f"there is more than what came ({sign}), and the next page brings nothing"
        )


def _spoken_of(endpoint: spec.Endpoint, answer: PageAnswer, totals: Totals) -> PagingHints | None:
    """What the first of several answers says of the whole in the usual words, where the paginator reads no total of records.

    The last one may well be empty and say nothing.
    """
    paginator = endpoint.paginator
    if isinstance(paginator, spec.Auto) or paginator.total != "exact" or totals.is_of_records:
        return None
    return _hints(endpoint, answer, is_large=len(answer.body) > _LARGE)


def _is_proven_end(
    endpoint: spec.Endpoint,
    following: Ask | None,
    answer: PageAnswer,
    first: PagingHints | None,
    received: Counts,
) -> bool:
    """Whether nobody need ask for what confirms that a short page was the last.

    Its answer says that nothing follows, or, as the first one may, that so many records are all.
    """
    if following is None or not following.confirms:
        return False
    more = _hints(endpoint, answer, is_large=len(answer.body) > _LARGE)
    totals = [one.total or one.perhaps_total for one in (more, first) if one is not None]
    # One page as long as pages may be may as well tell its own number.
    own = answer.records >= max(received) and more.length in answer.counts
    return more.says_no or (
        endpoint.paginator.total == "exact"
        and any(
            one and one.exact and one.rows == min(received) and not (own and may_count_a_page([one.word]))
            for one in totals
        )
    )


def _hints(endpoint: spec.Endpoint, answer: PageAnswer, *, is_large: bool) -> PagingHints:
    if (known := answer.hints.get(is_large)) is None:
        opened = None if is_large and not mentions_more(answer.body) else answer.opened
        where = parse_path(endpoint.data_selector, endpoint.format) if endpoint.format in WORDED else WHOLE
        known = answer.hints[is_large] = told_around(opened, where, answer.headers)
    return known


def _overlooked(
    endpoint: spec.Endpoint,
    answer: PageAnswer,
    totals: Totals,
    so_far: tuple[Counts, int],
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
    if counted and paginator.total == "exact" and not totals.is_of_records:
        first = None if first is None or _outweighs(more, received, pages) else first
        told = [more] if first is None else [more, first]
        if totals.is_present:  # of pages alone, which may be shorter than the source thinks
            signs = [one.records_sign(received) for one in told]
        else:
            signs = [more.total_sign(received)]
            signs += [
                one.part_sign(received, pages) for one in told if not isinstance(paginator, spec.SinglePage)
            ]
        sign = next(filter(None, signs), None)
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


def _outweighs(last: PagingHints, received: Counts, pages: int) -> bool:
    """Whether the last answer's own number is of the whole, which may have shrunk since the first one told of it.

    That of the last page alone, or of an empty one (`count: 0`), is not.
    """
    total = last.total or last.perhaps_total
    if total is not None:
        return total.exact and total.rows in received
    return last.pages is not None and last.pages_exact and 1 < last.pages[1] <= pages


def _beyond(
    endpoint: spec.Endpoint, paginator: Paginator, ask: Ask, answer: PageAnswer, *, whole: bool, own: bool
) -> Ask | None:
    """Where one that counts has found its end, the question for one more page, if the answer says that it follows.

    A number that it counts to may be that of a page alone, and a short page one that the source has cut.
    `whole`: several pages together are what the source speaks of; `own`: it has spoken of one page, which is
    followed as well where it is as long as pages may be.
    """
    if not isinstance(paginator, counted.OffsetPaginator | counted.PageNumberPaginator):
        return None
    if whole or answer.is_empty or ask.expected is not None:
        return None
    flag = _flag(endpoint, answer)
    if flag is not None and flag[1] is False:
        return None
    more = _hints(endpoint, answer, is_large=len(answer.body) > _LARGE)
    is_full = own and not more.says_no and getattr(endpoint.paginator, "page_size", None) in answer.counts
    if _led(endpoint, answer, more) is not None:
        return paginator.beyond(ask, answer)
    return replace(paginator.beyond(ask, answer), doubts=True) if is_full else None


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
