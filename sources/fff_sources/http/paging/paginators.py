"""Page by page: each paginator says what to ask first, and what to ask after an answer.

    start() -> Ask                    the first question
    after(ask, answer) -> Ask | None  the next one; None: that was the last page
    rest(ask, answer) -> [Ask]        after page one: every further question, where they do not depend on one
    another

A server that repeats a cursor or a URL raises PaginationError; pages that repeat themselves are for
`consistency`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Protocol, overload

from fff.structs import Struct, field, replace
from fff_sources.http.paging.envelope import says_estimate
from fff_sources.http.response.json import MalformedJSON, Raw, WrongShape, decode, decode_exact
from fff_sources.http.response.jsonpath import JsonPath, kind_of, walk


class PaginationError(Exception):
    """The source's pages contradict themselves; the message says how."""


class CutShortError(Exception):
    """The source says that there is more than what came, and not how to ask for it; the rows that came are good."""


class Ask(Struct, frozen=True):
    """What one page is asked with: parameters on top of the endpoint's, or a whole URL the source gave."""

    params: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    method: str | None = None  # of a URL, where the source names one
    only: frozenset[str] | None = None  # of the endpoint's own parameters, those that are sent along; all
    body: object = None  # to send to a URL
    merge: bool = False  # that on top of the endpoint's own
    origin: str | None = None  # the URL of the answer that named the URL
    position: int = 0  # of the first record (offset) or of the page (page_number)
    expected: int | None = None  # records this page should hold, where that is known
    confirms: bool = False  # that the page before, a short one, was the last
    # Parameters as JSON has them, where that is not text.
    values: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether it is parameters and nothing else."""
        return self.url is None and self.body is None and self.only is None and self.method is None


class PageAnswer(Struct, frozen=True, dict=True):
    """What a paginator may look at. `records` counts them before bad ones were dropped."""

    body: bytes
    headers: Mapping[str, str]
    url: str
    records: int

    @cached_property
    def _members(self) -> dict[str, Raw]:
        """Those of a body that is one object: taken apart once for all that look into it."""
        return decode(self.body, type=dict[str, Raw]) if kind_of(self.body) == "{" else {}

    def places(self, path: JsonPath) -> list[Raw]:
        """Every place in a JSON body that a path names. Raises MalformedJSON."""
        if not path.steps or path.steps[0].kind != "name":
            return list(walk(self.body, path))
        member = self._members.get(path.steps[0].name)
        return [] if member is None else list(walk(member, JsonPath(path.text, path.steps[1:])))

    def at(self, path: JsonPath | None) -> object:
        """The value at a place in a JSON body, or None."""
        if path is None or not self.body.strip():
            return None
        try:
            values = self.places(path)
            return decode_exact(values[0]) if values else None
        except WrongShape as error:  # 1e400
            raise PaginationError(f"what stands at {path.text!r} cannot be read: {error}") from error
        except MalformedJSON as error:
            raise PaginationError(
                f"the answer is not JSON, so {path.text!r} cannot be read from it"
            ) from error

    def is_estimate_at(self, path: JsonPath) -> bool:
        """Whether what stands beside a number, or its own name, calls it an estimate."""
        if not path.steps or path.steps[-1].kind != "name":
            return False
        name = path.steps[-1].name
        above = self.places(JsonPath(path.text, path.steps[:-1])) if len(path.steps) > 1 else []
        members = decode(above[0], type=dict[str, Raw]) if above else self._members
        words = {key: decode(raw) for key, raw in members.items() if kind_of(raw) in 'tf"'}
        return says_estimate(words, name)

    def count_at(self, path: JsonPath | None) -> int | None:
        """The number at a place, also when it is written as text."""
        value = self.at(path)
        if value is None or isinstance(value, bool):
            return None
        try:
            number = float(value) if isinstance(value, float) else int(str(value))
            return max(0, int(number))
        except (ValueError, OverflowError) as error:
            raise PaginationError(f"{path.text if path else ''!r} is {value!r}, not a number") from error


class Told(Struct, frozen=True):
    """What an answer tells of the whole: the number of its records or, with None for that, of its pages alone.

    `exact`: it is no estimate. `declared`: the spec says where it stands; else it was found by a usual word,
    which with `perhaps_less` may count the records of a page alone.
    """

    rows: int | None = None
    pages: int | None = None
    exact: bool = True
    declared: bool = True
    perhaps_less: bool = False

    @property
    def certain(self) -> bool:
        """Whether the source is to be taken at its word."""
        return self.exact and self.declared


class TotalAt(Struct, frozen=True):
    """Where answers tell a total, and whether the spec calls it an estimate."""

    path: JsonPath | None = None
    approximate: bool = False

    def exact(self, answer: PageAnswer) -> int | None:
        """The total to rely on; None where there is none, or an estimate."""
        rows = answer.count_at(self.path)
        return rows if rows is not None and self._is_exact(answer) else None

    def total(self, answer: PageAnswer) -> Told | None:
        """The total, whatever it is worth."""
        rows = answer.count_at(self.path)
        return None if rows is None else Told(rows, exact=self._is_exact(answer))

    def _is_exact(self, answer: PageAnswer) -> bool:
        return not self.approximate and self.path is not None and not answer.is_estimate_at(self.path)


class Paginator(Protocol):
    """One reading of one endpoint; holds its state, so a new one is made for every reading.

    `remedy` ends what an error says of a source that ignores what it is asked.
    """

    remedy: str

    @property
    def param(self) -> str | None:
        """What pages are asked for with, where it is a parameter."""

    def start(self) -> Ask:
        """The first question."""

    def after(self, ask: Ask, answer: PageAnswer) -> Ask | None:
        """The question after `ask` was answered, or None after the last page."""

    def rest(self, ask: Ask, answer: PageAnswer) -> Sequence[Ask] | None:
        """All further questions after the first page; None where each depends on the answer before."""

    def total(self, answer: PageAnswer) -> Told | None:
        """What the answer tells of the whole."""


class Chained:
    """Base of paginators whose every question comes out of the answer before."""

    remedy = ""

    @property
    def param(self) -> str | None:
        """None."""
        return None

    def start(self) -> Ask:
        """Just the endpoint."""
        return Ask()

    def rest(self, ask: Ask, answer: PageAnswer) -> Sequence[Ask] | None:  # noqa: ARG002
        """Never known in advance."""
        return None

    def total(self, answer: PageAnswer) -> Told | None:  # noqa: ARG002
        """Unknown."""
        return None


class SinglePagePaginator(Chained):
    """One answer holds everything."""

    def after(self, ask: Ask, answer: PageAnswer) -> Ask | None:  # noqa: ARG002
        """Nothing more."""
        return None


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


class OffsetPaginator:
    """`offset=` and `limit=`.

    Moves on by the records received, so a page cap below the size asked for loses nothing.
    """

    remedy = ""

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
        self._short_page_ends = short_page_ends
        self._offset_param = offset_param
        self._size_param = size_param
        self._size = page_size
        self._total = total
        self._first = start
        self._end = start  # by the total, once `rest` was asked for
        self._most = 0  # the largest total that was told meanwhile
        self._at_end = False  # all before that end has been asked for, and nothing behind it
        self._fixed = False  # that end is one of a part, or has been passed already
        # The first page was as long as asked for, so that a shorter one may be the last.
        self._honoured = False

    @property
    def param(self) -> str | None:
        """The offset's."""
        return self._offset_param

    def start(self) -> Ask:
        """From the first record."""
        return self._ask(self._first)

    def after(self, ask: Ask, answer: PageAnswer) -> Ask | None:
        """From the record after the last one received, until the total or, without one, an empty page."""
        position = ask.position + answer.records
        total = self._total.exact(answer)
        if ask.expected is not None:
            self._most = max(self._most, total or 0)
            following = self._after_one_of_rest(ask, answer, position) if answer.records else None
            self._at_end = self._at_end or position == self._end
            return following if following is not None else self._grown()
        if answer.records == 0:
            return None
        if total is not None:
            # More records than the total: it is wrong, and only an empty page is the end.
            return self._ask(position) if position - self._first != total else None
        if ask.position == self._first:
            self._honoured = answer.records == self._size
        short = self._size is not None and answer.records < self._size
        if short and self._short_page_ends:
            return None
        return self._ask(position, confirms=short and self._honoured)

    def beyond(self, ask: Ask, answer: PageAnswer) -> Ask:
        """Whether anything stands behind what should be the last page."""
        return self._ask(ask.position + answer.records, confirms=True)

    def rest(self, ask: Ask, answer: PageAnswer) -> Sequence[Ask] | None:
        """Pages as long as the first one came, up to the total."""
        total = self._total.exact(answer)
        if total is None or answer.records == 0:
            return None
        step = answer.records
        self._end = end = self._first + total
        return LaterPages(
            range(ask.position + step, end, step),
            lambda position: self._ask(position, expected=min(step, end - position)),
        )

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

    def _after_one_of_rest(self, ask: Ask, answer: PageAnswer, position: int) -> Ask | None:
        """The rest of its own stretch when the page came short; past the total when the last page came long."""
        assert ask.expected is not None
        missing = ask.expected - answer.records
        if missing > 0:
            return self._ask(position, expected=missing)
        if missing < 0 and ask.position + ask.expected < self._end:
            raise PaginationError(f"the page at {self._offset_param}={ask.position} runs into the next one")
        return None if missing == 0 else self._ask(position)

    def _ask(self, position: int, expected: int | None = None, *, confirms: bool = False) -> Ask:
        values = {self._offset_param: position}
        if self._size is not None and self._size_param is not None:
            inner = expected is not None and position + expected < self._end
            # A page inside the whole must not run into the next one.
            values[self._size_param] = min(self._size, expected) if inner and expected else self._size
        return Ask(_texts(values), position=position, expected=expected, confirms=confirms, values=values)


class PageNumberPaginator:
    """`page=`. Ends by the number of pages, by the number of records, or by an empty page."""

    remedy = ""

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
        self._short_page_ends = short_page_ends
        self._page_param = page_param
        self._base = base_page
        self._size_param = size_param
        self._size = page_size
        self._pages = pages
        self._records = records
        self._received = 0
        self._first_length = 0
        self._outstanding = 0  # questions of `rest` not answered yet
        self._last = base_page
        self._share: PageRange | None = None

    @property
    def param(self) -> str | None:
        """The page number's."""
        return self._page_param

    def start(self) -> Ask:
        """The base page."""
        return self._ask(self._base)

    def after(self, ask: Ask, answer: PageAnswer) -> Ask | None:
        """The next number, unless this was the last page."""
        self._received += answer.records
        if ask.position == self._base:
            self._first_length = answer.records
        following = self._ask(ask.position + 1)
        pages = self._pages.exact(answer)
        if ask.expected is not None:  # one of the questions of `rest`
            return self._after_one_of_rest(answer, pages)
        if pages is not None:
            return following if ask.position - self._base + 1 < pages else None
        if answer.records == 0:
            return None
        total = self._own_total(answer)
        if total is not None:
            return following if self._received != total else None
        short = self._size is not None and answer.records < self._size
        if short and self._short_page_ends:
            return None
        return replace(following, confirms=short and self._first_length == self._size)

    def _after_one_of_rest(self, answer: PageAnswer, pages: int | None) -> Ask | None:
        self._outstanding -= 1
        if pages is not None and self._share is None and pages > self._last - self._base + 1:
            self._last += 1
            self._outstanding += 1
            return self._ask(self._last, expected=0)  # which asks for the one after it, if there still is one
        total = self._own_total(answer)
        # Also more records than the total mean that there may be more of them.
        short = self._outstanding == 0 and total is not None and self._received != total
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
            if total is None or not answer.records:
                return None
            pages = -(-total // answer.records)
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
        self._received = share.received

    def _own_total(self, answer: PageAnswer) -> int | None:
        """How many records this reading should receive: all, or those of its part."""
        total = self._records.exact(answer)
        if total is None or self._share is None:
            return total
        return total - self._share.before if self._share.is_last else self._share.records

    def _ask(self, page: int, expected: int | None = None) -> Ask:
        values = {self._page_param: page}
        if self._size is not None and self._size_param is not None:
            values[self._size_param] = self._size
        return Ask(_texts(values), position=page, expected=expected, values=values)


def _texts(values: Mapping[str, int]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}
