"""Pages whose places are counted, `offset` and `page_number`, and how such a scan is shared out among several readers.

With a total its pages do not depend on one another. Each part is a stretch of the questions that follow the
first page; the answer to that is in the first part.
"""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Callable, Sequence
from typing import overload

from fff.structs import Struct, replace
from fff.web.types import Response
from fff_sources.http.paging.consistency import Records
from fff_sources.http.paging.paginators import Ask, PageAnswer, PaginationError, Told, TotalAt, Unit
from fff_sources.http.spec import spec

RecordsOf = Callable[[PageAnswer], Records]
#: Records of a page without two that are alike: that the next one is like its last may be no chance.
_CERTAIN = 10
_LOOKS = 8  # borders behind short pages that are looked at for rows which have places and did not come


class LaterPages(Sequence[Ask]):
    """The questions for pages at known places, each made when it is taken: a server may tell of any number."""

    def __init__(self, places: range, ask: Callable[[int], Ask]) -> None:
        self._places, self._ask = places[: sys.maxsize], ask

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Ask: ...

    @overload
    def __getitem__(self, place: slice) -> LaterPages: ...

    def __getitem__(self, place: int | slice) -> Ask | LaterPages:
        if isinstance(place, slice):
            return LaterPages(self._places[place], self._ask)
        return self._ask(self._places[place])


class PageRange(Struct, frozen=True):
    """Where a part of a scan lies in the whole: what its paginator must know of the pages before and after."""

    questions: int  # to ask in this part
    before: int  # records on the pages before
    records: int  # on the pages of this part, as the first page and the total tell
    end: int  # of the whole, as a position
    is_last: bool
    first: bytes  # what the first page of the scan looked like
    received: int = 0  # records of the first page of the scan, where it is in this part

    def complaint(self, records: int) -> str | None:
        """What is wrong with a part that gave so many; those that were added meanwhile come with the last part."""
        if records < self.records or (records > self.records > 0 and not self.is_last):
            return f"a part of the pages should hold {self.records} rows and gave {records}"
        return None


class Hidden:
    """Whether a source hides rows that have places, which the page behind a short one shows; None: it is not known."""

    def __init__(self) -> None:
        self.are: bool | None = None
        self._looks = _LOOKS

    def take(self, ask: Ask) -> None:
        """What has come of it."""
        self.are = self.are if ask.leaps is None else ask.leaps

    def behind(self, length: int, size: int | None) -> int:
        """How many places a page has that came with so many rows."""
        return max(length, size or 0) if self.are else length

    def looking(
        self, following: Ask, answer: PageAnswer, length: int, size: int | None, leap: Callable[[int], Ask]
    ) -> Ask:
        """What follows a page, so that it shows that where the page is short; `leap`: what is asked for so many places on."""
        if size is None or not 0 < length < size or self.are is not None or self._looks <= 0:
            return following
        self._looks -= 1 + length // 5_000  # of large pages one or two tell, and to look takes time
        back = replace(leap(length - 1), instead=replace(leap(size), leaps=True))
        return replace(following, before=answer, instead=back)


class _Counted:
    """What both have: a first place, a size that may be asked for, and what a short page says."""

    remedy = ""

    def __init__(
        self, param: str, first: int, size_param: str | None, page_size: int | None, *, short_page_ends: bool
    ) -> None:
        self.param: str | None = param
        self._param, self._first = param, first
        self._size_param, self._size = size_param, page_size
        self._short_page_ends = short_page_ends
        self._unit = Unit(page_size)
        # The first page was as long as asked for, or hidden rows show that pages are: a shorter one may be
        # the last.
        self._honoured = False

    def start(self) -> Ask:
        """From the first place on."""
        return self._ask(self._first)

    def _ask(self, position: int, expected: int | None = None, *, confirms: bool = False) -> Ask:
        values = {self._param: position}
        if self._size is not None and self._size_param is not None:
            values[self._size_param] = self._length_of(position, expected, self._size)
        params = {name: str(value) for name, value in values.items()}
        return Ask(params, position=position, expected=expected, confirms=confirms, values=values)

    def _length_of(self, position: int, expected: int | None, size: int) -> int:  # noqa: ARG002
        """How long a page is asked for."""
        return size

    def _unless_short(self, following: Ask, length: int) -> Ask | None:
        """What follows a page of a scan that has no total: what confirms that a short one was the last, perhaps."""
        short = self._size is not None and length < self._size
        if short and self._short_page_ends:
            return None
        return replace(following, confirms=short and self._honoured)


class OffsetPaginator(_Counted):
    """`offset=` and `limit=`.

    Moves on by the records received, so a page cap below the size asked for loses nothing; by the size, once
    pages have shown that the source hides rows after it has cut them.
    """

    def __init__(
        self,
        offset_param: str,
        size_param: str | None,
        page_size: int | None,
        total: TotalAt,
        start: int = 0,
        *,
        short_page_ends: bool = False,
    ) -> None:
        super().__init__(offset_param, start, size_param, page_size, short_page_ends=short_page_ends)
        self._total = total
        self._end = start  # by the total, once `rest` was asked for
        self._most = 0  # the largest total that was told meanwhile
        self._at_end = False  # all before that end has been asked for, and nothing behind it
        self._fixed = False  # that end is one of a part, or has been passed already
        self._hidden = Hidden()

    def after(self, ask: Ask, answer: PageAnswer) -> Ask | None:
        """From the record after the last one received, until the total or, without one, an empty page."""
        total = self._total.exact(answer)
        self._unit.take(answer.counts, total, by=ask.by)
        self._hidden.take(ask)
        position = self._behind(ask, answer)
        if ask.expected is not None:
            self._most = max(self._most, total or 0)
            following = None if answer.is_empty else self._after_one_of_rest(ask, position, answer)
            self._at_end = self._at_end or position == self._end
            return following if following is not None else self._grown()
        if answer.is_empty:
            return None
        if self._unit.is_open:
            if total is not None and self._size is not None and self._unit.may_be_all(total):
                return None  # of a short page
            return self._behind_this(ask, position, answer)
        if total is not None:
            # More records than the total: it is wrong, and only an empty page is the end.
            ended = (self._unit.came(total) if self._hidden.are else position - self._first) == total
            return None if ended else self._behind_this(ask, position, answer)
        length = self._unit.of(answer.counts, self._size)
        if ask.position == self._first or ask.leaps:
            self._honoured = length == self._size or ask.leaps is True
        return self._unless_short(self._behind_this(ask, position, answer), length)

    def _behind_this(self, ask: Ask, position: int, answer: PageAnswer) -> Ask:
        following = self._ask(position)

        def leap(places: int) -> Ask:
            return self._ask(ask.position + places)

        if self._unit.is_open:
            return self._unit.asked(following, answer, leap)
        return self._hidden.looking(following, answer, position - ask.position, self._size, leap)

    def _behind(self, ask: Ask, answer: PageAnswer) -> int:
        """The place behind a page."""
        length = self._unit.of(answer.counts, ask.expected or self._size)
        return ask.position + self._hidden.behind(length, self._size)

    def beyond(self, ask: Ask, answer: PageAnswer) -> Ask:
        """Whether anything stands behind what should be the last page."""
        return self._ask(self._behind(ask, answer), confirms=True)

    def rest(self, ask: Ask, answer: PageAnswer) -> Sequence[Ask] | None:
        """Pages as long as the first one came, up to the total, from where it is known what counts."""
        total = self._total.exact(answer)
        length, before = self._length(ask, answer), 0 if ask.before is None else self._length(ask, ask.before)
        step = max(length, before)
        unknown = ask.by is None and length != self._size and len({*answer.counts}) > 1
        unseen = ask.leaps is None and before == 0 and length < (self._size or 0)
        if total is None or length == 0 or unknown or unseen or ask.leaps:
            return None
        self._end = end = self._first + total
        start, seen = ask.position + length, answer if before > length and ask.leaps is None else None

        def part(position: int) -> Ask:
            one = self._ask(position, expected=min(step, end - position))
            return replace(one, before=seen if position == start else None)

        return LaterPages(range(start, end, step), part)

    def _length(self, ask: Ask, answer: PageAnswer) -> int:
        return answer.counts.of(self._size) if ask.by is None else answer.counts[ask.by]

    def total(self, answer: PageAnswer) -> Told | None:
        """The total the answer tells."""
        return self._total.total(answer)

    def take_part(self, share: PageRange) -> None:
        """Go on within a part of the questions that `rest` gave elsewhere."""
        self._end = share.end
        self._fixed = not share.is_last

    def _grown(self) -> Ask | None:
        """From the end as it was first told, where an answer has told of a later one."""
        if self._fixed or not self._at_end or self._first + self._most <= self._end:
            return None
        self._fixed = True
        return self._ask(self._end)

    def _after_one_of_rest(self, ask: Ask, position: int, answer: PageAnswer) -> Ask | None:
        """The rest of its own stretch when the page came short; past the total when the last page came long."""
        assert ask.expected is not None
        missing = ask.expected - (position - ask.position)
        if missing > 0:
            return replace(self._ask(position, expected=missing), before=answer)
        if missing < 0 and ask.position + ask.expected < self._end:
            raise PaginationError(f"the page at {self.param}={ask.position} runs into the next one")
        return None if missing == 0 else self._ask(position)

    def _length_of(self, position: int, expected: int | None, size: int) -> int:
        inner = expected is not None and position + expected < self._end
        # A page inside the whole must not run into the next one.
        return min(size, expected) if inner and expected else size


class PageNumberPaginator(_Counted):
    """`page=`. Ends by the number of pages, by the number of records, or by an empty page."""

    def __init__(
        self,
        page_param: str,
        base_page: int,
        *,
        size_param: str | None,
        page_size: int | None,
        pages: TotalAt,
        records: TotalAt,
        short_page_ends: bool = False,
    ) -> None:
        super().__init__(page_param, base_page, size_param, page_size, short_page_ends=short_page_ends)
        self._pages = pages
        self._records = records
        self._outstanding = 0  # questions of `rest` not answered yet
        self._last = base_page
        self._share: PageRange | None = None

    def after(self, ask: Ask, answer: PageAnswer) -> Ask | None:
        """The next number, unless this was the last page."""
        total, pages = self._own_total(answer), self._pages.exact(answer)
        self._unit.take(answer.counts, total)
        length = self._unit.of(answer.counts, self._size)
        if ask.position == self._first:
            self._honoured = length == self._size
        following = self._ask(ask.position + 1)
        if ask.expected is not None:  # one of the questions of `rest`
            return self._after_one_of_rest(total, pages)
        if pages is not None:
            return following if ask.position - self._first + 1 < pages else None
        if answer.is_empty:
            return None
        if total is not None:
            if self._size is None and self._unit.is_unsure(total):
                return replace(following, confirms=self._unit.may_be_all(total))
            return None if self._unit.may_be_all(total) else following
        return self._unless_short(following, length)

    def _after_one_of_rest(self, total: int | None, pages: int | None) -> Ask | None:
        self._outstanding -= 1
        if pages is not None and self._share is None and pages > self._last - self._first + 1:
            self._last += 1
            self._outstanding += 1
            return self._ask(self._last, expected=0)  # which asks for the one after it, if there still is one
        # Also more records than the total mean that there may be more of them.
        short = self._outstanding == 0 and total is not None and not self._unit.may_be_all(total)
        if short and self._share is not None and not self._share.is_last:
            raise PaginationError(
                "its pages are of different lengths, so it cannot be read in parts: read it in one"
            )
        return self._ask(self._last + 1) if short else None

    def beyond(self, ask: Ask, answer: PageAnswer) -> Ask:  # noqa: ARG002
        """Whether anything stands behind what should be the last page."""
        return replace(self._ask(ask.position + 1), confirms=True)

    def rest(self, ask: Ask, answer: PageAnswer) -> Sequence[Ask] | None:
        """Every page up to the last, where the first answer tells how many there are."""
        pages = self._pages.exact(answer)
        if pages is None:
            total = self._records.exact(answer)
            length = answer.counts.of(self._size)
            if total is None or not length or (length != self._size and len({*answer.counts}) > 1):
                return None
            pages = -(-total // length)
        self._outstanding, self._last = pages - 1, ask.position + pages - 1
        return LaterPages(
            range(ask.position + 1, ask.position + pages), lambda page: self._ask(page, expected=0)
        )

    def total(self, answer: PageAnswer) -> Told | None:
        """The total the answer tells, in records and in pages."""
        rows, pages = self._records.total(answer), self._pages.total(answer)
        if rows is not None and pages is not None:
            return Told(rows.rows, pages.rows, exact=rows.exact and pages.exact)
        return rows if pages is None else Told(None, pages.rows, exact=pages.exact)

    def take_part(self, share: PageRange) -> None:
        """Go on within a part of the questions that `rest` gave elsewhere."""
        self._share = share
        self._last = share.end - 1
        self._outstanding = share.questions
        self._unit = Unit(self._size, share.received)

    def _own_total(self, answer: PageAnswer) -> int | None:
        """How many records this reading should receive: all, or those of its part."""
        total = self._records.exact(answer)
        if total is None or self._share is None:
            return total
        return total - self._share.before if self._share.is_last else self._share.records


def check_place(ask: Ask, answer: PageAnswer, records_of: RecordsOf, param: str | None) -> str | None:
    """What is doubtful of a page, of which it is not known what has places, as it may hold what came.

    Raises PaginationError where that is as good as certain.
    """
    if ask.before is None or (ask.instead is None and ask.expected is None):
        return None
    if ask.by is None and ask.expected is None and ask.leaps is not False:
        return None
    before = records_of(ask.before)
    if not (twice := before.followed_by(records_of(answer))):
        return None
    what = f"the page at {param}={ask.position} begins with the last {twice} of the page before"
    other = (
        f"{what}, which may be others that are alike: declare its page_size, or a primary_key that tells them"
    )
    distinct = before.are_distinct
    if ask.expected is not None and distinct and twice > 1:
        raise PaginationError(
            f"{what}: the source hides rows that have places. Without total_path its pages are read one by one, and right"
        )
    if ask.by is not None or (ask.leaps is False and twice > 1):
        raise PaginationError(other)
    return other if distinct and ask.before.records >= _CERTAIN else None


def comes_again(ask: Ask, answer: PageAnswer, records_of: RecordsOf) -> tuple[bool, Ask | None]:
    """Whether a page, of which it is doubtful what has places, does for certain hold what came; what to ask in its place."""
    if ask.instead is None or ask.before is None:
        return False, None
    if ask.by is None:
        return _leaps(ask, ask.instead, answer, records_of)
    if not answer.records:
        return False, None
    twice = records_of(ask.before).followed_by(records_of(answer))
    if ask.by and twice == answer.records:
        return True, None  # by elements: all records are here
    # One record may be another that is alike; but none comes again where records are counted.
    again = twice > 0 if not ask.by else len(set(records_of(answer).marks()[:twice])) > 1
    return again, ask.instead if again else None


def _leaps(ask: Ask, instead: Ask, answer: PageAnswer, records_of: RecordsOf) -> tuple[bool, Ask | None]:
    """The same behind a page that came short, as from a source that hides rows once it has cut its pages.

    From such a one a page begins with the last rows of the short one. So does a page of rows that are alike;
    then the page one place before it has the last row of the short one, and behind that what this page has.
    Else the page that leaps over the hidden ones as well goes on as this one does behind the rows that came
    again.
    """
    assert ask.before is not None
    before, here = records_of(ask.before), records_of(answer)
    following = instead.instead
    if ask.leaps is None and following is not None and following.before is None:
        twice = before.followed_by(here)
        again = 0 < twice < ask.before.records and before.are_distinct
        # Behind a page with nothing else there may be none.
        leaping = replace(
            following,
            before=answer,
            confirms=ask.confirms and twice == answer.records,
            instead=replace(ask, leaps=False),
        )
        return again, replace(instead, before=answer, instead=leaping) if again else None
    if ask.leaps is None and following is not None and following.before is not None:
        last = records_of(following.before).marks()[-1]
        are_alike = all(map(operator.eq, here.marks(), [last, *before.marks()]))
        return True, replace(following, instead=None) if are_alike else instead
    if not ask.leaps or instead.before is None:
        return False, None
    twice = records_of(instead.before).followed_by(before)
    behind = before.marks()[twice:]
    proven = behind == here.marks()[: len(behind)] and (bool(behind) or twice > 1)
    return not proven, None if proven else instead


class ScanPart(Struct, frozen=True):
    """What one reader is to read. Without a share it is the whole scan, whose first page is there already."""

    first: Response | None = None
    asks: tuple[Ask, ...] = ()
    share: PageRange | None = None
    of: int = 1  # how many parts there are


def behind_first(endpoint: spec.Endpoint, asks: tuple[Ask, ...], first: PageAnswer) -> tuple[Ask, ...]:
    """The questions of the first part, so that behind a short page at an offset it is seen what has places."""
    paginator = endpoint.paginator
    short = isinstance(paginator, spec.Offset) and first.records < (paginator.page_size or 0)
    return (replace(asks[0], before=first), *asks[1:]) if asks and short else asks


def is_divisible(endpoint: spec.Endpoint) -> bool:
    """Whether the first answer may tell all further questions, and nothing but the total ends the scan."""
    match endpoint.paginator:
        case spec.PageNumber() as p:
            total_path, bound = p.total_path or p.total_rows_path, p.maximum_page
        case spec.Offset() as p:
            total_path, bound = p.total_path, p.maximum_offset
        case _:
            return False
    return (
        total_path is not None
        and bound is None
        and p.max_pages is None
        and p.has_more_path is p.end_path is None
    )


#: Questions that are handed on to other processes.
_MOST = 2**20


class FirstPage(Struct, frozen=True):
    """The first page of a scan: its answer, how many records that holds, and what tells them from any other page's."""

    answer: Response
    records: int
    digest: bytes


def divided(page: FirstPage, rest: Sequence[Ask], parts: int, total: int | None) -> list[ScanPart]:
    """The first page and the questions after it, in at most so many parts of about as many pages: one, if they are too many to hand on."""
    if len(rest) > _MOST:
        return [ScanPart(page.answer)]
    pages, length = len(rest) + 1, page.records
    parts = max(1, min(parts, pages))
    cuts = [number * pages // parts for number in range(parts + 1)]
    end = rest[-1].position + (rest[-1].expected or 1)
    shares = []
    for start, stop in itertools.pairwise(cuts):
        asks = tuple(rest[max(0, start - 1) : stop - 1])
        share = PageRange(
            questions=len(asks),
            before=start * length,
            records=(total or 0) - start * length if stop == pages else (stop - start) * length,
            end=end,
            is_last=stop == pages,
            first=page.digest,
            received=0 if start else length,
        )
        shares.append(ScanPart(None if start else page.answer, asks, share, parts))
    return shares
