"""What the pages of one reading must not do: come again, be empty amid others, contradict each other's totals.

A page is told by its records, not by its body: envelopes hold times, page numbers and fresh cursors. Whole
pages are compared always; single records on the first pages and then on some, so that a source which shuffles
what it repeats is found out as well, at little cost.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import zlib
from collections.abc import Callable, Collection, Sequence

import pyarrow as pa

from fff.catalog import Page
from fff.stats import AccessMeter
from fff.structs import field
from fff_sources.http.paging.paginators import PageAnswer, PaginationError, Told
from fff_sources.http.paging.surroundings import Counts
from fff_sources.http.response.bodies import DecodedBlock
from fff_sources.http.response.json import (
    Decoder,
    MalformedJSON,
    Raw,
    WrongShape,
    decode,
    defstruct,
    is_field_name,
)
from fff_sources.http.response.jsonpath import JsonPath, kind_of
from fff_sources.http.response.text.csv_text import head_of

OUT_OF_ORDER = (
    "rows came again on a later page, and not as its first ones: the source may have changed while it was read, or sort its "
    "pages anew, so that other rows may be missing; have it sort by a key (params), where it can"
)
NOT_EXHAUSTIVE = "the source gives the best matches alone, not all there are (exhaustive: false)"
_CERTAIN = 10  # different records of a page that all came before, where none ever came twice: no chance
_COUNTED = 10_000  # records, as far as search servers count unless they are told to go on
_STALE = 100  # pages in a row that bring nothing new, before the source counts as going round
#: The same where records are cut down to some columns and may well be alike, or a total ends it.
_STALE_LONG = 10_000
_LOOKED_AT = 2_000  # records that are compared one by one; then those of a page in so many:
_SAMPLED = 32
_FEW = 2  # members that a table declares at least, for records to be told by them
_KEPT = 100_000  # records that are remembered at least, and twice as many at most

_DRIFT_CERTAIN = 10  # records of a page that all lack a member; fewer may well have no value for it
_BEGIN = 256  # bytes that are compared beside the checksum

#: What a sequence of marks is made one number by.
_PRIME, _BASE = 2**89 - 1, 0x9E3779B97F4A7C15F39CC0

_LINES = frozenset({"csv", "ndjson"})
_ABSENT = Raw(b"")


class Records:
    """The records of one answer, as the source wrote them."""

    def __init__(
        self, answer: PageAnswer, selector: JsonPath, form: str, members: Collection[str] = ()
    ) -> None:
        self._answer = answer
        self._selector = selector
        self._form = form
        self._members = members  # that the table declares

    def parts(self) -> Sequence[Raw | bytes]:
        """What holds them: one array, or one part for each."""
        if self._form in _LINES or self._form == "parquet":
            return [self._answer.body]
        try:
            return self._answer.places(self._selector)
        except MalformedJSON:
            return [self._answer.body]

    def mark(self) -> int:
        """What tells them all from those of another page: quick, since every page is looked at."""
        return hash(
            tuple(
                (zlib.crc32(part), len(memoryview(part)), bytes(memoryview(part)[:_BEGIN]))
                for part in self.parts()
            )
        )

    def marks(self) -> list[int]:
        """What tells each from the others."""
        if self._form in _LINES:
            return [hash(line) for line in self._answer.body.splitlines()[self._form == "csv" :] if line]
        marks: list[int] = []
        for part in self.parts():
            single = self._form == "parquet" or kind_of(part) != "["
            marks += [hash(bytes(raw)) for raw in ([part] if single else decode(part, type=list[Raw]))]
        return marks

    @property
    def are_distinct(self) -> bool:
        """Whether none is like another."""
        marks = self.marks()
        return len(set(marks)) == len(marks)

    def followed_by(self, behind: Records) -> int:
        """How many of the last ones are the first ones of the page behind, in one pass over both."""
        here, there = self.marks(), behind.marks()
        if not there or there[0] not in here:
            return 0
        longest = last = first = 0
        weight = 1
        for length, (back, front) in enumerate(zip(reversed(here), there, strict=False), 1):
            last, first = (back * weight + last) % _PRIME, (first * _BASE + front) % _PRIME
            weight = weight * _BASE % _PRIME
            longest = length if last == first else longest
        return longest

    def declared(self, least: int = _FEW) -> list[int]:
        """What tells each from the others by what the table declares; nothing where that are fewer members, or it cannot be read."""
        names = [name for name in sorted(self._members) if is_field_name(name)]
        if len(names) < least or self._form in _LINES or self._form == "parquet":
            return []
        fields = [(f"f{i}", Raw, field(default=_ABSENT, name=name)) for i, name in enumerate(names)]
        reader = Decoder(list[defstruct("Declared", fields, gc=False)])  # type: ignore[misc]
        with contextlib.suppress(WrongShape):
            rows = [row for part in self.parts() if kind_of(part) == "[" for row in reader.decode(part)]
            return [hash(tuple(bytes(getattr(row, name)) for name, *_ in fields)) for row in rows]
        return []

    def stable(self) -> bytes:
        """What tells them all from those of another page, in any process."""
        digest = hashlib.blake2b(digest_size=16)
        for part in self.parts():
            digest.update(part)
        return digest.digest()


class Repeats:
    """Notices a source that sends what it has sent.

    Args:
        projected: requests name the columns they want, so that different rows may well come as the same
            records.
    """

    def __init__(self, *, projected: bool = False) -> None:
        self._projected = projected
        self._pages: dict[int, int] = {}  # how often each came
        self._declared: set[int] = set()  # pages, by what the table declares of their records
        self._first: list[int] = []  # the records of the first page, by what the table declares
        self._elsewhere: bytes | None = None
        self._new: set[int] = set()
        self._old: set[int] = set()
        self._looked_at = 0
        self._count = 0
        self._alike = False  # some record came twice, which may well be
        self._rows: dict[int, list[int]] = {}  # of the pages that were looked at, by their places
        self._stale = 0  # pages in a row that brought nothing new
        self._doubtful = (
            False  # the last page with records brought none that is new: its rows are equal ones, or copies
        )
        self.held: list[Page] = []

    @property
    def is_part(self) -> bool:
        """Whether somebody else has received pages as well."""
        return self._elsewhere is not None

    @property
    def out_of_order(self) -> bool:
        """Whether rows came again, and not as the first ones of the next page: rows that came in front move some over each border."""
        seen, behind = set[int](), list[int]()
        for _, rows in sorted(self._rows.items()):
            again = len(seen.intersection(rows))
            if again and behind[-again:] != rows[:again]:
                return True
            seen.update(rows)
            behind = rows
        return False

    def note(self, first: bytes) -> None:
        """A page that somebody else has received."""
        self._elsewhere = first

    def check(
        self,
        records: Records,
        place: int,
        count: int,
        keys: Callable[[], list[int]],
        what: str,
        *,
        bounded: bool,
    ) -> None:
        """One more page of so many records. Raises PaginationError.

        Args:
            records: of the page.
            place: of the page amid the others, which may come in any order.
            count: of them.
            keys: what tells rows from one another for certain; none where there is no such thing.
            what: what the source seems to ignore, for the error.
            bounded: a total ends the reading, sooner or later.
        """
        self._count += 1
        if count == 0:
            self._none_new(_STALE, "empty pages in a row")
            return
        page = records.mark()
        times = self._pages[page] = self._pages.get(page, 0) + 1
        if self._elsewhere is not None and records.stable() == self._elsewhere:
            times += 1
        if times > 1 and self._is_repetition(records, count, times):
            raise PaginationError(f"the same page came {times} times: {what}")
        self._doubtful = False
        if self._looked_at >= _LOOKED_AT and self._count % _SAMPLED and times == 1:
            return
        self._looked_at += count
        known = keys()
        marks = known or records.marks()
        fresh = [mark for mark in dict.fromkeys(marks) if mark not in self._new and mark not in self._old]
        certain = len(marks) > 1 if known else len(set(marks)) >= _CERTAIN and not self._alike
        if not fresh and certain:
            raise PaginationError(f"all {count} records of a page came before: {what}")
        told = known or self._projected or not fresh
        declared = [] if told else records.declared(1 if self._count == 1 else _FEW)
        if self._count == 1:
            self._first = declared
        if self._is_known(declared):
            raise PaginationError(
                f"a page before had the same {count} records, but for members that the table does not declare: {what}"
            )
        self._alike = self._alike or len(fresh) < len(marks)
        if known and self._looked_at <= _KEPT:
            self._rows[place] = known
        self._remember(fresh)
        if fresh:
            self._stale = 0
        else:
            unsure = bounded or self._projected
            self._doubtful = not unsure
            most = _STALE_LONG if unsure else _STALE
            self._none_new(most, f"pages in a row without a new record: {what}")

    def came_before(self, records: Records, keys: Sequence[int], *, doubts: bool = False) -> bool:
        """Whether a page is one of those before, or all its rows are, for certain; with `doubts`, as far as the table declares."""
        if not self._projected and records.mark() in self._pages:
            return True
        if doubts and self._first and self._first == records.declared(1):
            return True
        return bool(keys) and all(mark in self._new or mark in self._old for mark in keys)

    def sure(self, pages: Sequence[Page]) -> list[Page]:
        """Pages to hand on. One without a new record is `held` until some come, or the end.

        Where neither does, the source goes round, and copies would stand in the partial answer.
        """
        self.held += pages
        if self._doubtful:
            return []
        ready, self.held = self.held, []
        return ready

    def _is_known(self, declared: Sequence[int]) -> bool:
        """Whether a page had these very records in this order: so many that differ are no chance."""
        if len(set(declared)) < max(_CERTAIN, len(declared)):
            return False
        mark = hash(tuple(declared))
        before = len(self._declared)
        self._declared.add(mark)
        return len(self._declared) == before

    def _is_repetition(self, records: Records, count: int, times: int) -> bool:
        if len(set(records.marks())) > 1:
            return not self._projected or times > 2 or count >= _CERTAIN
        return not self._projected and times > 2  # rows that are all alike may fill two pages

    def _none_new(self, most: int, complaint: str) -> None:
        self._stale += 1
        if self._stale > most:
            raise PaginationError(f"{most:,} {complaint}")

    def _remember(self, marks: Sequence[int]) -> None:
        self._new.update(marks)
        if len(self._new) > _KEPT:
            self._old, self._new = self._new, set()


class Gaps:
    """Notices an empty page amid others: what follows shows that there should have been rows."""

    def __init__(self) -> None:
        self._rows_from = float("-inf")  # the last page with records
        self._empty_from = float("inf")  # and the first one without

    def check(self, place: int, records: int, what: str | None) -> None:
        """The page at a place, which is a position where `what` names its parameter.

        Raises PaginationError.
        """
        if records:
            self._rows_from = max(self._rows_from, place)
        else:
            self._empty_from = min(self._empty_from, place)
        if self._empty_from < self._rows_from:
            page = f"the page at {what}={self._empty_from:.0f}" if what else f"page {self._empty_from:.0f}"
            raise PaginationError(f"{page} is empty although later ones are not")


class Drift:
    """Notices what pages had and a later one does not: members, which may have got another name, and rows that are no data."""

    def __init__(self) -> None:
        self._filled: frozenset[str] = frozenset()  # columns that some page had a value of
        self._skipped: bytes | None = None  # rows that are no data, of the first page

    def note_skipped(self, page: bytes, rows: int, delimiter: str, meter: AccessMeter, table: str) -> None:
        """So many rows of a page of CSV are left out: tells of others than those of the first one, as they may be data."""
        header, end = head_of(page, None, 0), head_of(page, None, rows)
        if header is None or end is None:
            return
        skipped = page[header[1] : end[1]].strip()
        self._skipped = self._skipped or skipped
        if skipped != self._skipped and _may_be_data(page[: end[1]], delimiter):
            meter.doubt(
                f"{table}: the rows that skip_rows leaves out are others on a later page, where they may be data"
            )

    def note(
        self,
        page: Sequence[DecodedBlock],
        unnamed: Callable[[], Collection[str]],
        meter: AccessMeter,
        table: str,
    ) -> None:
        """One more page: tells of columns that it has no value of and no name for, and pages before it had."""
        filled = frozenset(
            name
            for rows in (block.rows for block in page)
            for name, column in zip(rows.schema.names, rows.columns, strict=True)
            if column.null_count < len(column)
        )
        gone = self._filled - filled
        self._filled |= filled
        if not gone or sum(block.records for block in page) < _DRIFT_CERTAIN:
            return
        for name in sorted(gone & frozenset(unnamed())):
            meter.doubt(
                f"{table}: no record of a page has {name!r}, which pages before it had; it is taken as NULL there"
            )


class Totals:
    """What the answers of a reading tell of the whole, against what came."""

    def __init__(self) -> None:
        self._totals: list[Told] = []  # as often as it changed
        self._own = True  # every total is the number of records beside it
        self._filled = 0  # pages with records

    def note(self, total: Told | None, records: Counts) -> Told:
        """What one answer tells, and how many records it holds. Gives what it is worth: nothing, where it tells nothing."""
        self._filled += any(records)  # whatever this one tells: some sources tell with the first page alone
        if total is None:
            return Told(exact=False)
        if not self._totals or self._totals[-1] != total:
            self._totals.append(total)
        self._own = self._own and total.rows in records
        return total

    @property
    def is_present(self) -> bool:
        """Whether there is one where the spec looks for it."""
        return bool(self._totals)

    @property
    def is_of_records(self) -> bool:
        """Whether one of them counts records: those of pages alone say nothing of their lengths."""
        return any(total.rows is not None for total in self._totals)

    def moved(self, received: Counts, pages: int) -> bool:
        """Whether what is wrong is that the source had other rows at the end, by what it told of them and gave."""
        rows = [total.rows for total in self._totals if total.rows is not None]
        counts = {total.pages for total in self._totals if total.pages is not None}
        others = len({*rows}) > 1 or len(counts) > 1 or (bool(rows) and received.of(rows[-1]) > rows[0])
        return others and self.complaint(received, pages) is not None

    def changed(self, received: Counts, pages: int) -> bool:
        """Whether the source has other rows than it had, by what it told and gave so far: whatever comes yet."""
        if not self._totals or not all(total.exact for total in self._totals) or (self._own and pages > 1):
            return False
        first = self._totals[0]
        rows = {total.rows for total in self._totals if total.rows is not None and not total.perhaps_less}
        counts = {total.pages for total in self._totals if total.pages is not None}
        more = (
            bool(rows)
            and (first.declared or pages > 1)
            and first.rows is not None
            and received.of(first.rows) > first.rows
        )
        return len(rows) > 1 or len(counts) > 1 or more

    def is_reached(self, received: Counts) -> bool:
        """Whether so many records are what was told last."""
        return bool(self._totals) and self._totals[-1].exact and self._totals[-1].rows in received

    def is_whole(self, received: Counts, pages: int) -> bool:
        """Whether several pages together are what was told last. What one page tells may be of that page alone."""
        last = self._totals[-1] if self._totals and self._totals[-1].exact and pages > 1 else None
        return last is not None and (last.rows in received or last.pages == pages)

    @property
    def rows(self) -> int | None:
        """The number of rows that was told last, where it is one for certain."""
        last = self._totals[-1] if self._totals else None
        return last.rows if last is not None and last.exact and not last.perhaps_less else None

    def complaint(self, received: Counts, pages: int) -> str | None:
        """What is wrong with an answer of so many records on so many pages that should be the whole."""
        if not self._totals or not all(total.exact for total in self._totals):
            return None
        declared, perhaps_less = self._totals[-1].declared, self._totals[-1].perhaps_less
        if self._own and pages > 1:
            return None  # these count what each page holds
        rows = [total.rows for total in self._totals if total.rows is not None]
        if rows and min(rows) != max(rows) and not perhaps_less:
            return f"the source changed while it was read: it spoke of {rows[0]} rows, then of {_other(rows)}"
        came = received.of(rows[-1] if rows else None)
        is_less = rows and rows[0] < came and not perhaps_less and (declared or pages > 1)
        if rows and (max(rows) > came or is_less):
            return f"the source speaks of {max(rows)} rows and gave {came}"
        counts = [total.pages for total in self._totals if total.pages is not None]
        if counts and min(counts) < counts[0]:  # where there are more, they were read as well
            return (
                f"the source changed while it was read: it spoke of {counts[0]} pages, then of {min(counts)}"
            )
        if counts and not self._filled <= max(counts) <= self._filled + 1:  # sources count one page too many
            return f"the source speaks of {max(counts)} pages and gave {self._filled} with records"
        return None


def suspect(total: Told, table: str, meter: AccessMeter) -> None:
    """Warn of a total that may be as far as the source counts."""
    note = f"{table}: the source speaks of exactly {_COUNTED:,} rows, which may be as far as it counts: windows read on"
    if total.rows == _COUNTED and total.exact and note not in meter.warnings:
        meter.warn(note)


def _other(numbers: Sequence[int]) -> int:
    return next(one for one in reversed(numbers) if one != numbers[0])


def marks(pages: Sequence[Page], key: Sequence[str]) -> list[int]:
    """What tells the rows from any others by their key; nothing where that is not known of all."""
    hashes: list[int] = []
    for page in pages if key else ():
        columns = [page.rows.column(name) for name in key]
        if any(column.null_count or pa.types.is_nested(column.type) for column in columns):
            return []
        hashes += map(hash, zip(*(column.to_pylist() for column in columns), strict=True))
    return hashes


def _may_be_data(head: bytes, delimiter: str) -> bool:
    """Whether a row behind the header has as many cells, and not all of what it says in one of several."""
    text = io.StringIO(head.decode("utf-8", "replace"), newline="")
    names, *rows = filter(None, csv.reader(text, delimiter=delimiter))
    return any(len(row) == len(names) and sum(map(bool, row)) > (len(names) > 1) for row in rows)
