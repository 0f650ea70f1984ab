"""Page by page: each paginator says what to ask first, and what to ask after an answer.

    start() -> Ask                    the first question
    after(ask, answer) -> Ask | None  the next one; None: that was the last page
    rest(ask, answer) -> [Ask]        after page one: every further question, where they do not depend on one
    another

A server that repeats a cursor or a URL raises PaginationError; pages that repeat themselves are for
`consistency`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from fff.structs import Struct, cached_property, field, replace
from fff_sources.http.paging.envelope import PagingHints, number, says_estimate
from fff_sources.http.paging.surroundings import Counts
from fff_sources.http.response.json import MalformedJSON, Raw, WrongShape, decode, decode_exact
from fff_sources.http.response.jsonpath import Envelope, JsonPath, kind_of, walk


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
    doubts: bool = False  # that, as all have come by a number which may be that of a page alone
    may_lack: bool = False  # it may be refused: the page before says that it is the last
    before: PageAnswer | None = None  # the page that it follows, where it is not known what has places
    by: int | None = None  # which of the two counts has led to this place
    instead: Ask | None = None  # by the other one, where this page turns out to repeat what came
    leaps: bool | None = None  # whether it is taken that rows which the source hides have places, too
    # Parameters as JSON has them, where that is not text.
    values: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether it is parameters and nothing else."""
        return self.url is None and self.body is None and self.only is None and self.method is None


class Unit:
    """Which of the two a source means by totals, lengths and places: pages show it, where it matters.

    One of them is as long as pages may be, or longer, or more than all there is.
    """

    def __init__(self, size: int | None = None, came: int = 0) -> None:
        self._size = size
        self._index: int | None = None  # which, once that is known
        self._came = Counts(came, came)

    def take(
        self, counts: Counts, total: int | None = None, *, size: int | None = None, by: int | None = None
    ) -> None:
        """One more page, under what it tells; `by`: it stands where this count of all before has led to."""
        if self._index is None:
            self._index = by
        self._came = self._came.plus(counts)
        size = self._size or size
        if self._index is not None or counts.records == counts.elements:
            return
        if size is not None and size in counts:
            self._index = counts.index(size)
        elif size is not None and size < max(counts):
            self._index = counts.index(min(counts))
        elif total is not None and min(self._came) <= total < max(self._came):
            self._index = self._came.index(min(self._came))

    @property
    def is_open(self) -> bool:
        """Whether it matters, and is not known."""
        return self._index is None and self._came.records != self._came.elements

    def of(self, counts: Counts, number: int | None = None) -> int:
        """How much it is of these; where that is not known, this number if it is one of them."""
        return counts.of(number) if self._index is None else counts[self._index]

    def came(self, total: int | None = None) -> int:
        """How much has come."""
        return self.of(self._came, total)

    def asked(self, ask: Ask, answer: PageAnswer, place: Callable[[int], Ask]) -> Ask:
        """What follows a page whose places are counted; `place` makes the question so far behind the page."""
        if not self.is_open:
            return ask
        less, more = sorted((0, 1), key=self._came.__getitem__)
        instead = replace(place(answer.counts[more]), before=answer, by=more)
        return replace(ask, before=answer, confirms=True, by=less, instead=instead)

    @property
    def all_came(self) -> Counts:
        """The same, as far as it is known which it is."""
        return self._came if self._index is None else Counts(*[self._came[self._index]] * 2)

    def may_be_all(self, total: int) -> bool:
        """Whether all has come, for all that is known."""
        return self.came(total) == total

    def is_unsure(self, total: int) -> bool:
        """Whether it may have come only by the larger of the numbers."""
        return self.is_open and self.came() < total


class PageAnswer(Struct, frozen=True, dict=True):
    """What a paginator may look at. `records` counts them before bad ones were dropped.

    `around` is the place of the elements of the list around those that records stand in; `opened`: the
    body, taken apart along the way to the records, once for all that look into it.
    """

    body: bytes
    headers: Mapping[str, str]
    url: str
    records: int
    around: JsonPath | None = None
    opened: Envelope | None = None

    @cached_property
    def counts(self) -> Counts:
        """How much the page holds; the members of a map are nothing that a source counts."""
        if (around := self.around) is None:
            return Counts(self.records, self.records)
        above = self.places(JsonPath(around.text, around.steps[:-1]))
        is_map = any(kind_of(place) == "{" for place in above)
        return Counts(self.records, self.records if is_map else len(self.places(around)))

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing at all."""
        return not any(self.counts)

    @cached_property
    def hints(self) -> dict[bool, PagingHints]:
        """What it says of pages in the usual words, once somebody has looked: by whether the body was looked into at its edges first."""
        return {}

    def places(self, path: JsonPath) -> list[Raw]:
        """Every place in a JSON body that a path names. Raises MalformedJSON."""
        found = None if self.opened is None else self.opened.places(path)
        return list(walk(self.body, path) if found is None else found)

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
        if str(self.at(path)).rstrip().endswith("+"):
            return True
        members = None if self.opened is None else self.opened.beside(path)
        if members is None:
            above = self.places(JsonPath(path.text, path.steps[:-1]))
            members = decode(above[0], type=dict[str, Raw]) if above else {}
        words = {key: decode(raw) for key, raw in members.items() if kind_of(raw) in 'tf"'}
        return says_estimate(words, path.steps[-1].name)

    def count_at(self, path: JsonPath | None) -> int | None:
        """The number at a place, also when it is written as text (`1,230`, `10000+`)."""
        value = self.at(path)
        if value is None or isinstance(value, bool):
            return None
        if isinstance(value, str) and (known := number(value.strip().removesuffix("+"))) is not None:
            return known
        try:
            return max(0, int(float(value) if isinstance(value, float) else int(str(value))))
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
