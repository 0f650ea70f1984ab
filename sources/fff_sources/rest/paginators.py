"""Page by page: each paginator says what to ask first, and what to ask after an answer.

    start() -> Ask                    the first question
    after(ask, answer) -> Ask | None  the next one; None: that was the last page
    rest(ask, answer) -> [Ask]        after page one: every further question, where they do not depend on one another

A server that repeats itself (cursor, URL, page) raises PaginationError; nothing here can go round for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fff_sources.rest.fastjson import MalformedJSON
from fff_sources.rest.jsonpath import JsonPath, value
from fff_sources.rest.templates import text_of

_REPEATS_CERTAIN = (
    10  # a page of so many records that comes twice is a repetition; a shorter one must come three times
)
EMPTY_PAGES = 100  # empty pages in a row, each with a new cursor, before the source counts as stuck


class PaginationError(Exception):
    """The source's pages contradict themselves; the message says how."""


class CutShortError(Exception):
    """The source says that there is more than what came, and not how to ask for it; the rows that came are good."""


@dataclass(frozen=True)
class Ask:
    """What one page is asked with: parameters on top of the endpoint's, or a whole URL the source gave."""

    params: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    position: int = 0  # of the first record (offset) or of the page (page_number)
    expected: int | None = None  # records this page should hold, where that is known
    values: Mapping[str, object] = field(
        default_factory=dict
    )  # parameters as JSON has them, where that is not text


@dataclass(frozen=True)
class Answer:
    """What a paginator may look at. `records` counts them before bad ones were dropped."""

    body: bytes
    headers: Mapping[str, str]
    url: str
    records: int

    def at(self, path: JsonPath | None) -> object:
        """The value at a place in a JSON body, or None."""
        if path is None or not self.body.strip():
            return None
        try:
            return value(self.body, path)
        except MalformedJSON as error:
            raise PaginationError(
                f"the answer is not JSON, so {path.text!r} cannot be read from it"
            ) from error

    def count_at(self, path: JsonPath | None) -> int | None:
        """The number at a place, also when it is written as text."""
        found = self.at(path)
        if found is None or isinstance(found, bool):
            return None
        try:
            number = float(found) if isinstance(found, float) else int(str(found))
            return max(0, int(number))
        except (ValueError, OverflowError) as error:
            raise PaginationError(f"{path.text if path else ''!r} is {found!r}, not a number") from error


class Paginator(Protocol):
    """One reading of one endpoint; holds its state, so a new one is made for every reading."""

    def start(self) -> Ask:
        """The first question."""

    def after(self, ask: Ask, answer: Answer) -> Ask | None:
        """The question after `ask` was answered, or None after the last page."""

    def rest(self, ask: Ask, answer: Answer) -> Sequence[Ask] | None:
        """All further questions after the first page; None where each depends on the answer before."""

    def total(self, answer: Answer) -> int | None:
        """How many records the source says there are, for display."""


class Chained:
    """Base of paginators whose every question comes out of the answer before."""

    def start(self) -> Ask:
        """Just the endpoint."""
        return Ask()

    def rest(self, ask: Ask, answer: Answer) -> Sequence[Ask] | None:  # noqa: ARG002
        """Never known in advance."""
        return None

    def total(self, answer: Answer) -> int | None:  # noqa: ARG002
        """Unknown."""
        return None


class SinglePage(Chained):
    """One answer holds everything."""

    def after(self, ask: Ask, answer: Answer) -> Ask | None:  # noqa: ARG002
        """Nothing more."""
        return None


@dataclass(frozen=True)
class Share:
    """Where a part of a scan lies in the whole: what its paginator must know of the pages before and after."""

    questions: int  # to ask in this part
    before: int  # records on the pages before
    records: int  # on the pages of this part, as the first page and the total tell
    end: int  # of the whole, as a position
    is_last: bool
    first: bytes  # what the first page of the scan looked like
    received: int = 0  # records of the first page of the scan, where it is in this part


class _Repeats:
    """Notices a server that ignores the page asked for and sends the same one again."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}

    def note(self, digest: bytes) -> None:
        """A page that somebody else has received."""
        self._seen[digest] = 1

    def check(self, answer: Answer, what: str) -> None:
        if not answer.records:
            return
        digest = digest_of(answer)
        times = self._seen[digest] = self._seen.get(digest, 0) + 1
        if times > 2 or (times == 2 and answer.records >= _REPEATS_CERTAIN):
            raise PaginationError(f"the same page came {times} times: the source seems to ignore {what!r}")


def digest_of(answer: Answer) -> bytes:
    """What tells the page of an answer from any other."""
    return hashlib.blake2b(answer.body, digest_size=16).digest()


class Offset:
    """`offset=` and `limit=`. Moves on by the records received, so a page cap below the size asked for loses nothing."""

    def __init__(
        self,
        offset_param: str,
        size_param: str,
        page_size: int | None,
        total_path: JsonPath | None,
        start: int = 0,
        *,
        short_page_ends: bool = False,
    ) -> None:
        self._short_page_ends = short_page_ends
        self._offset_param = offset_param
        self._size_param = size_param
        self._size = page_size
        self._total_path = total_path
        self._first = start
        self._end = start  # by the total, once `rest` was asked for
        self._rows_from = -1.0  # the last page with records starts here
        self._empty_from = float("inf")  # and the first one without
        self._honoured = False  # the first page was as long as asked for, so a shorter one is the last
        self._repeats = _Repeats()

    def start(self) -> Ask:
        """From the first record."""
        return self._ask(self._first)

    def after(self, ask: Ask, answer: Answer) -> Ask | None:
        """From the record after the last one received, until the total or, without one, an empty page."""
        self._repeats.check(answer, self._offset_param)
        if answer.records:
            self._rows_from = max(self._rows_from, ask.position)
        else:
            self._empty_from = min(self._empty_from, ask.position)
        if self._empty_from < self._rows_from:  # seen only where pages are fetched side by side
            raise PaginationError(
                f"the page at {self._offset_param}={self._empty_from:.0f} is empty although later ones are not"
            )
        if answer.records == 0:
            return None
        position = ask.position + answer.records
        total = self.total(answer)
        if ask.expected is not None:
            return self._after_one_of_rest(ask, answer, position)
        if total is not None:
            # More records than the total: it is wrong, and only an empty page is the end.
            return self._ask(position) if position - self._first != total else None
        if ask.position == self._first:
            self._honoured = answer.records == self._size or self._short_page_ends
        if self._honoured and self._size is not None and answer.records < self._size:
            return None
        return self._ask(position)

    def rest(self, ask: Ask, answer: Answer) -> Sequence[Ask] | None:
        """Pages as long as the first one came, up to the total."""
        total = self.total(answer)
        if total is None or answer.records == 0:
            return None
        step = answer.records
        self._end = end = self._first + total
        return [
            self._ask(position, expected=min(step, end - position))
            for position in range(ask.position + step, end, step)
        ]

    def total(self, answer: Answer) -> int | None:
        """The total the answer tells."""
        return answer.count_at(self._total_path)

    def take_part(self, share: Share) -> None:
        """Go on within a part of the questions that `rest` gave elsewhere."""
        self._end = share.end
        self._repeats.note(share.first)

    def _after_one_of_rest(self, ask: Ask, answer: Answer, position: int) -> Ask | None:
        """The rest of its own stretch when the page came short; past the total when the last page came long."""
        assert ask.expected is not None
        missing = ask.expected - answer.records
        if missing > 0:
            return self._ask(position, expected=missing)
        if missing < 0 and ask.position + ask.expected < self._end:
            raise PaginationError(f"the page at {self._offset_param}={ask.position} runs into the next one")
        return None if missing == 0 else self._ask(position)

    def _ask(self, position: int, expected: int | None = None) -> Ask:
        values = {self._offset_param: position}
        if self._size is not None:
            inner = expected is not None and position + expected < self._end
            # A page inside the whole must not run into the next one.
            values[self._size_param] = min(self._size, expected) if inner and expected else self._size
        return Ask(_texts(values), position=position, expected=expected, values=values)


class PageNumber:
    """`page=`. Ends by the number of pages, by the number of records, or by an empty page."""

    def __init__(
        self,
        page_param: str,
        base_page: int,
        *,
        size_param: str | None,
        page_size: int | None,
        pages_path: JsonPath | None,
        records_path: JsonPath | None,
    ) -> None:
        self._page_param = page_param
        self._base = base_page
        self._size_param = size_param
        self._size = page_size
        self._pages_path = pages_path
        self._records_path = records_path
        self._received = 0
        self._first_length = 0
        self._outstanding = 0  # questions of `rest` not answered yet
        self._last = base_page
        self._share: Share | None = None
        self._repeats = _Repeats()

    def start(self) -> Ask:
        """The base page."""
        return self._ask(self._base)

    def after(self, ask: Ask, answer: Answer) -> Ask | None:
        """The next number, unless this was the last page."""
        self._repeats.check(answer, self._page_param)
        self._received += answer.records
        if ask.position == self._base:
            self._first_length = answer.records
        following = self._ask(ask.position + 1)
        if ask.expected is not None:  # one of the questions of `rest`
            self._outstanding -= 1
            total = self._own_total(answer)
            # Also more records than the total mean that there may be more of them.
            short = self._outstanding == 0 and total is not None and self._received != total
            if short and self._share is not None and not self._share.is_last:
                raise PaginationError(
                    "its pages are of different lengths, so it cannot be read in parts: read it in one"
                )
            return self._ask(self._last + 1) if short else None
        pages = answer.count_at(self._pages_path)
        if pages is not None:
            return following if ask.position - self._base + 1 < pages else None
        if answer.records == 0:
            return None
        total = self._own_total(answer)
        if total is not None:
            return following if self._received != total else None
        honoured = self._size is not None and self._first_length == self._size
        return None if honoured and answer.records < self._first_length else following

    def rest(self, ask: Ask, answer: Answer) -> Sequence[Ask] | None:
        """Every page up to the last, where the first answer tells how many there are."""
        pages = answer.count_at(self._pages_path)
        if pages is None:
            total = answer.count_at(self._records_path)
            if total is None or not answer.records:
                return None
            pages = -(-total // answer.records)
        self._outstanding, self._last = pages - 1, ask.position + pages - 1
        return [self._ask(ask.position + number, expected=0) for number in range(1, pages)]

    def total(self, answer: Answer) -> int | None:
        """The total the answer tells, in records."""
        return answer.count_at(self._records_path)

    def take_part(self, share: Share) -> None:
        """Go on within a part of the questions that `rest` gave elsewhere."""
        self._share = share
        self._last = share.end - 1
        self._outstanding = share.questions
        self._received = share.received
        self._repeats.note(share.first)

    def _own_total(self, answer: Answer) -> int | None:
        """How many records this reading should receive: all, or those of its part."""
        total = answer.count_at(self._records_path)
        if total is None or self._share is None:
            return total
        return total - self._share.before if self._share.is_last else self._share.records

    def _ask(self, page: int, expected: int | None = None) -> Ask:
        values = {self._page_param: page}
        if self._size is not None and self._size_param is not None:
            values[self._size_param] = self._size
        return Ask(_texts(values), position=page, expected=expected, values=values)


class Cursor(Chained):
    """One or several values of an answer, sent back as parameters: `cursor` and `keyset`.

    Args:
        sent: parameter -> place of its value in the answer.
        spread: the place of an object whose every member is a parameter (OpenFEC's `last_indexes`).
        start_params: parameters of the first question.
        reusable: the source sends one cursor with every page and moves on by itself; the pages must differ then.
    """

    def __init__(
        self,
        sent: Mapping[str, JsonPath],
        spread: JsonPath | None,
        start_params: Mapping[str, str],
        total_path: JsonPath | None,
        *,
        reusable: bool = False,
    ) -> None:
        self._sent = sent
        self._spread = spread
        self._start = start_params
        self._total_path = total_path
        first = {name: start_params[name] for name in sent if name in start_params}
        self._seen = {tuple(sorted(first.items()))} if first else set()
        self._repeats = _Repeats() if reusable else None
        self._received = 0
        self._empty = 0

    def start(self) -> Ask:
        """The endpoint with its page size, and a first cursor where the source wants one."""
        return Ask(self._start)

    def after(self, ask: Ask, answer: Answer) -> Ask | None:  # noqa: ARG002
        """The question with the values just received; None where the source gives none."""
        found = self._values(answer)
        if not found:
            return None
        values = {name: text_of(item) for name, item in found.items()}
        following = Ask({**self._start, **values}, values=found)
        if self._repeats is not None:
            return self._after_reusable(answer, following)
        mark = tuple(sorted(values.items()))
        if mark in self._seen:
            if answer.records == 0:
                return None  # nothing new under a cursor already used: the end, as some sources tell it
            raise PaginationError(f"the cursor {values} came a second time")
        self._seen.add(mark)
        self._empty = 0 if answer.records else self._empty + 1
        if self._empty > EMPTY_PAGES:
            raise PaginationError(f"{EMPTY_PAGES} empty pages in a row, each with a new cursor")
        return following

    def total(self, answer: Answer) -> int | None:
        """The total the answer tells; nothing rests on it, but that a cursor sent again and again ends there."""
        return answer.count_at(self._total_path)

    def _after_reusable(self, answer: Answer, following: Ask) -> Ask | None:
        """The same cursor again until a page without records or, where there is a total, until that is reached."""
        assert self._repeats is not None
        self._repeats.check(answer, ", ".join(self._sent))
        self._received += answer.records
        if not answer.records or self._received == self.total(answer):
            return None
        return following

    def _values(self, answer: Answer) -> dict[str, object]:
        found = {name: answer.at(path) for name, path in self._sent.items()}
        if self._spread is not None:
            members = answer.at(self._spread)
            if isinstance(members, dict):
                found |= members
            elif members:
                raise PaginationError(f"{self._spread.text!r} is no object of cursor values")
        if not all(_present(item) for item in found.values()):
            found = {
                name: item for name, item in found.items() if self._spread is not None and _present(item)
            }
        return found


def _texts(values: Mapping[str, int]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


def _present(item: object) -> bool:
    return item is not None and item is not False and item != ""
