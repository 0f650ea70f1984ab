"""Bodies to batches: finds the records in an answer, whatever its format, and hands them to the decoder in blocks."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from http import HTTPStatus

import pyarrow as pa

from fff.schema import distinct_names, in_nearest
from fff.stats import AccessMeter
from fff.structs import Struct, replace
from fff.web.clock import Coalescer
from fff.web.types import Response
from fff_sources.http.columnar import places_among, read_columns, read_schema, spelled
from fff_sources.http.diagnosis import Explained, NoRecordsError
from fff_sources.http.response.fast import Batch, batch_of
from fff_sources.http.response.json import MalformedJSON, Raw, array_of, decode, encode, join
from fff_sources.http.response.jsonpath import WHOLE, Envelope, JsonPath, elements, envelope, first, kind_of
from fff_sources.http.response.members import exploded
from fff_sources.http.response.records import Origin, RecordDecoder
from fff_sources.http.response.text.csv_text import (
    RAGGED,
    begins_with_types,
    header_of,
    newlines,
    read_cells,
    without_rows,
)
from fff_sources.http.response.text.in_utf8 import MARKUP, is_blank, text_of
from fff_sources.http.shaping import (
    MalformedMarkupError,
    by_position,
    entries,
    is_empty,
    listed,
    named_rows,
    rows_of,
    spread,
    whole_rows,
)

_BLOCK = 4_000  # records that are taken apart at a time, where they need care
_ROWS = 16 * _BLOCK  # rows that are handed on at a time
_LOOKED_AT = 2**16  # bytes of an answer that are looked at to show some of it
_SHOWN = 200  # characters of it that are shown
_ENOUGH = 64  # answers that are not kept waiting for more
_SMALL = 2**16  # bytes below which it has no more records than are handed on at a time
_MARK = b'["\\ue0001records\\ue0001"]'  # stands for the records where what is around them is read
_GUESSED = 2**14  # bytes from which on it pays to guess where the records stand
_LARGE = 2**21  # bytes from which a body is read in blocks


class BodyFormat(Struct, frozen=True):
    """How an endpoint writes its answers.

    Columnar: an object at the selector holds an array for each member. Headed: records are arrays, the first
    names the members. Comment: lines of CSV that begin so are none. Skip rows: so many after the header are
    no data. Encoding: of text, whatever the answer says. May lack: without the place, no records. Entries:
    members of objects are the records; explode: elements of the array there, with some of `elements`.
    """

    name: str = "json"
    selector: JsonPath = WHOLE
    delimiter: str = ","
    columnar: bool = False
    headed: bool = False
    comment: str | None = None
    skip_rows: int = 0
    encoding: str | None = None
    may_lack: bool = False
    entries: bool = False
    explode: tuple[str, ...] = ()
    elements: frozenset[str] = frozenset()


class Opened(Struct, frozen=True):
    """An answer in UTF-8, taken apart along the way to its records."""

    text: bytes
    envelope: Envelope
    rows: Batch | None = None  # where the records had to be read to know where they are


class DecodedBlock(Struct, frozen=True):
    """Some records of one answer: their rows, and how many records they were before bad ones were dropped."""

    rows: Batch
    records: int


class _Part(Struct, frozen=True):
    """Records that come together, as a JSON array or as lines of JSON; how many stand before these."""

    array: Raw | bytes = b""
    lines: bytes | None = None
    before: int = 0
    ends: int | None = None  # of lines, where they were counted
    counted: int | None = None  # of the source's own records, where these were made of them
    rows: Batch | None = None  # where they have been read
    ragged: int = 0  # rows beside them that are none

    def records(self) -> Raw | bytes:
        """A JSON array, which lines make if each is sound."""
        return self.array if self.lines is None else array_of(self.lines.strip())

    @property
    def records_of_lines(self) -> int:
        """How many records the lines are, if each is one."""
        assert self.lines is not None, "an array has none"
        return self.ends if self.ends is not None else newlines(self.lines) + 1

    @property
    def large(self) -> bool:
        """Whether they are too many to be taken apart together."""
        return len(memoryview(self.array)) >= _LARGE

    def arrays(self) -> Iterator[Raw | bytes]:
        """The records as JSON arrays of a bounded number. Raises MalformedJSON."""
        if self.lines is not None:
            lines = [line for line in self.lines.splitlines() if line.strip()]
            for start in range(0, len(lines), _BLOCK):
                some = lines[start : start + _BLOCK]
                _check_lines(some, self.before + start)
                yield join(some)
        elif self.large:
            raws = decode(self.array, type=list[Raw])
            for start in range(0, len(raws), _BLOCK):
                yield join(raws[start : start + _BLOCK])
        else:
            yield self.array


class _WaitingAnswer(Struct, frozen=True, eq=False):
    """An answer that is read together with others, what its rows are filled with, and who waits."""

    answer: Response
    fill: Mapping[str, object]
    opened: asyncio.Future[Opened | None]


class BodyDecoder:
    """Reads the answers of one access method.

    Args:
        form: the format and the place of the records.
        decoder: what to read out of each record.
        every: the columns of the table in a header, those that are not read among them.
    """

    def __init__(self, form: BodyFormat, decoder: RecordDecoder, every: Sequence[str] = ()) -> None:
        self._form = form
        self._decoder = decoder
        self._every = every
        lists = (one for one in decoder.columns if pa.types.is_list(one.field.arrow))
        self._listed = [one.path for one in lists if one.path.steps]
        odd = form.columnar or form.headed or form.entries or form.explode
        self._is_plain = form.name == "json" and not odd
        self._guesses = self._is_plain
        self._markup: tuple[Response, bytes] | None = None  # the last answer, and what it is as JSON
        self._asked: tuple[str, Sequence[object]] | None = None  # by position: whose records are which
        self._together = Coalescer(self._read_together, _ENOUGH)

    def by_position(self, member: str, keys: Sequence[object]) -> BodyDecoder:
        """The same for an answer whose first record is that of the first key, and so on; they get it as a member."""
        reader = copy.copy(self)
        reader._asked = member, keys  # noqa: SLF001 - of the same class
        return reader

    def few(
        self,
        answer: Response,
        opened: Opened,
        meter: AccessMeter,
        origin: Origin,
        fill: Mapping[str, object] | None = None,
        *,
        missed: bool = False,
    ) -> DecodedBlock | None:
        """As `blocks`, all records of a small answer, as most lookups have it; None of any other."""
        if not (self._is_plain and self._asked is None and 0 < len(opened.text) < _SMALL):
            return None
        rows, count = opened.rows, 0 if opened.rows is None else opened.rows.num_rows
        missed = missed and self._decoder.may_miss(meter)
        if rows is not None and not missed:
            return DecodedBlock(rows, count)
        with self.explained(answer, origin):
            if rows is None:
                records = self._records(opened)
                rows, count = self._decoder.decode(records, meter=meter, origin=origin, fill=fill)
            if missed and rows.num_rows:
                around = opened.envelope
                self._decoder.note_missed(lambda: self._records(opened), rows, around, meter, origin)
        return DecodedBlock(rows, count)

    async def open_together(self, answer: Response, fill: Mapping[str, object] | None) -> Opened | None:
        """A small answer, its records read with those of all that come in the same turns of the loop; None of others.

        Takes some turns: whoever has got its place at the host sends first.
        """
        small = self._is_plain and self._asked is None and 0 < len(answer.body) < _SMALL
        if not small or answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            await asyncio.sleep(0)
            return None
        opened: asyncio.Future[Opened | None] = asyncio.get_running_loop().create_future()
        self._together.add(_WaitingAnswer(answer, fill or {}, opened))
        return await opened

    def _read_together(self, answers: Sequence[_WaitingAnswer]) -> None:
        opened, records, rows = [], [], None
        try:
            for one in answers:
                opened.append(self.open(one.answer))
                records.append((self._records(opened[-1]), one.fill))
            rows = self._decoder.together(records)
        except Exception:  # noqa: BLE001 - each is read alone then, and what is wrong with one is said there
            rows = None
        for at, one in enumerate(answers):
            if not one.opened.done():
                one.opened.set_result(None if rows is None else replace(opened[at], rows=rows[at]))

    def blocks(
        self,
        answer: Response,
        *,
        meter: AccessMeter,
        origin: Origin,
        fill: Mapping[str, object] | None = None,
        line: int = 0,
        lines: int | None = None,
        sound: bool = False,
        missed: bool = False,
        opened: Opened | None = None,
    ) -> Iterator[DecodedBlock]:
        """The records of an answer, in order; `line` is how many lines stand before a part of one. Raises SourceError for a malformed body or a bad record.

        `lines`: how many end in the part, where they were counted; `sound`: quotes are known to stand around
        whole cells; `missed`: the meter is to tell of columns that no record has anything for; `opened`: the
        answer, where it is open.
        """
        if is_blank(answer.body):
            return
        with self.explained(answer, origin):
            if self._form.name == "csv":
                body = self.text(answer) if line else self.table_text(answer)
                yield from self._csv(body, meter, origin, fill or {}, first=line < 2, sound=sound)
            elif self._form.name == "parquet":
                yield self._parquet(answer.body, origin, fill or {})
            else:
                opened = opened or self.open(answer)
                for part in self._parts(opened, line, lines):
                    counted = part.counted
                    for some, rows, count in self._read(part, meter, origin, fill):
                        if missed and rows.num_rows:
                            self._decoder.note_missed(some.records, rows, opened.envelope, meter, origin)
                        for at in range(0, max(count, 1), _ROWS):
                            block = rows if count <= _ROWS else rows.slice(at, _ROWS)
                            own = min(count - at, _ROWS)
                            if counted is not None:
                                own, counted = counted, 0
                            yield DecodedBlock(block, own)
                        origin = origin.after(count)
                    if part.ragged:
                        yield DecodedBlock(
                            self._decoder.without(part.ragged, RAGGED, meter, origin), part.ragged
                        )

    def _read(
        self, part: _Part, meter: AccessMeter, origin: Origin, fill: Mapping[str, object] | None
    ) -> Iterator[tuple[_Part, Batch, int]]:
        """Records, their rows, and how many records they were."""
        if part.rows is not None or part.large or part.lines is not None:
            rows = part.rows
            with contextlib.suppress(MalformedJSON):
                text = part.array if part.lines is None else part.lines
                if rows is None:
                    rows = self._decoder.fast(text, fill or {}, lines=part.lines is not None)
            # As many as lines: else one is broken, which need not show where it goes on in the next one.
            if rows is not None and (part.lines is None or rows.num_rows == part.records_of_lines):
                yield part, rows, rows.num_rows
                return
        for records in part.arrays():
            rows, count = self._decoder.decode(records, meter=meter, origin=origin, fill=fill)
            yield replace(part, array=records, lines=None), rows, count
            origin = origin.after(count)

    def explained(self, answer: Response, origin: Origin) -> Explained:
        """Turns everything that reading a body can end with into a SourceError."""
        return Explained(self._form.name, self._form.encoding, answer, origin)

    def empty(self) -> Batch:
        """No rows."""
        return self._decoder.empty()

    def text(self, answer: Response) -> bytes:
        """The body in UTF-8, for formats made of text; JSON for those that are read as JSON."""
        form = self._form
        if form.name in MARKUP and self._markup is not None and self._markup[0] is answer:
            return self._markup[1]
        text = text_of(answer, form.name, form.encoding, form.comment)
        if form.name in MARKUP:  # the records are read of it, and what stands around them
            self._markup = answer, text
        return text

    @property
    def members(self) -> frozenset[str]:
        """Those of a record that the table's columns start at, needed or not; none where they do not start at members."""
        return frozenset() if self._decoder.members is None else self._decoder.members.names

    def unnamed(self, answer: Response) -> frozenset[str]:
        """The columns whose members an answer in JSON names nowhere."""
        body = self.text(answer)
        tops = {one.field.name: one.path.steps[0] for one in self._decoder.columns if one.path.steps}
        return frozenset(
            column for column, step in tops.items() if step.kind == "name" and encode(step.name) not in body
        )

    def open(self, answer: Response) -> Opened:
        """The text of an answer, and what stands around its records."""
        text = self.text(answer)
        if self._form.name == "ndjson" or not text:
            return Opened(text, Envelope((), None, WHOLE))
        return self._guessed(text) or Opened(text, envelope(text, self._form.selector))

    def _guessed(self, text: bytes) -> Opened | None:
        """A large body whose records are read at once, where they are likely to stand; None where they do not.

        What has a value in their place is sound, and they are an array: so the body is as it seems.
        """
        steps = self._form.selector.steps
        if len(text) < _GUESSED or not self._guesses or not steps or self._decoder.filled:
            return None
        start, end = text.find(b"[", text.find(encode(steps[-1].name))), text.rfind(b"}]") + 2
        if (
            not 0 < start < end
            or len(text) - (end - start) > _LOOKED_AT
            or _MARK in text[:start] + text[end:]
        ):
            return None
        around = b"".join((text[:start], _MARK, text[end:]))
        with contextlib.suppress(MalformedJSON, UnicodeDecodeError):
            wrapping = envelope(around, self._form.selector)
            if wrapping.place is not None and not wrapping.rest.steps and bytes(wrapping.place) == _MARK:
                records = Raw(memoryview(text)[start:end])
                rows = self._decoder.fast(records, {})
                if rows is not None:
                    return Opened(text, replace(wrapping, place=records), rows)
        self._guesses = False  # others are not likely to be of another kind
        return None

    def arrays(self, opened: Opened, line: int = 0) -> Iterator[Raw | bytes]:
        """The records as JSON arrays of a bounded number."""
        for part in self._parts(opened, line):
            yield from part.arrays()

    def _parts(self, opened: Opened, line: int, lines: int | None = None) -> Iterator[_Part]:
        if self._form.name == "ndjson":
            text = opened.text if lines is not None else opened.text.strip()
            yield _Part(lines=text, before=line, ends=lines)
            return
        records = self._records(opened)
        if self._form.columnar:
            for one in decode(records, type=list[dict[str, Raw]]):
                self._check_names(one)
            records = rows_of(records)
        elif self._form.headed:
            for header in decode(records, type=list[Raw])[:1]:
                self._check_names(decode(header, type=list[str]))
            records = named_rows(records)
        elif self._form.entries:
            records = entries(records, self.members)
        if self._asked is not None:
            yield _Part(by_position(records, *self._asked, self.members), counted=len(self._asked[1]))
            return
        if self._form.name == "xml" and self._listed:
            records = listed(records, self._listed)
        if not self._form.explode:
            records, ragged = whole_rows(records) if self._form.name == "html_table" else (records, [])
            if ragged and not self._decoder.leaves_out:
                raise MalformedMarkupError(ragged[0])
            yield _Part(records, rows=opened.rows, ragged=len(ragged))
            return
        whole = decode(records, type=list[Raw])
        yield _Part(exploded(whole, self._form.explode, self._form.elements), counted=len(whole))

    def _check_names(self, names: Collection[str]) -> None:
        """What names the members of all records must name one of the table's: there may be no record to show it."""
        members = self._decoder.members
        if names and members is not None and members.names.isdisjoint(names):
            raise NoRecordsError(
                f"the object at {self._form.selector.text!r} has none of the table's columns"
            )

    def _records(self, opened: Opened) -> Raw | bytes:
        """The JSON array of the records."""
        selector, place = opened.envelope.rest, opened.envelope.place
        if place is None or not selector.steps:
            pass
        elif selector.single:
            place = first(place, selector)
        else:
            many = next(i for i, step in enumerate(selector.steps) if step.kind not in ("name", "index"))
            place = first(place, JsonPath(selector.text, selector.steps[:many]))
            if place is not None and kind_of(place) != "n":
                is_xml = self._form.name == "xml"
                places = elements(place, JsonPath(selector.text, selector.steps[many:]), is_xml=is_xml)
                return join(spread(places) if is_xml else places)
        if place is None:
            decode(opened.text)  # a login page is not even JSON
            if self._form.may_lack or (
                self._form.name == "xml" and is_empty(opened.text, self._form.selector)
            ):
                return b"[]"
            raise NoRecordsError(f"the answer has no {selector.text!r}")
        kind = kind_of(place)
        if kind == "[":
            return place
        if kind == "n":
            decode(place, type=None)
            return b"[]"
        if kind == "{":
            return join([place]) if decode(place, type=dict[str, Raw]) else b"[]"
        decode(place)
        return join([place])

    def table_text(self, answer: Response) -> bytes:
        """A whole body of CSV in UTF-8, without the rows that are no data."""
        body = self.text(answer)
        return without_rows(body, self._form.skip_rows) if self._form.skip_rows else body

    def _csv(
        self,
        body: bytes,
        meter: AccessMeter,
        origin: Origin,
        fill: Mapping[str, object],
        *,
        first: bool,
        sound: bool,
    ) -> Iterator[DecodedBlock]:
        header = header_of(body, self._form.delimiter)
        written = [(column.field.name, column.path.steps[0].name) for column in self._decoder.columns]
        there = places_among(header, dict.fromkeys((*self._every, *(place for _, place in written))))
        places = [(name, there.get(place, place)) for name, place in written]
        known = {place for name, place in written if name in fill and place not in there}
        names = [place for _, place in places if place not in known]
        missing = [name for name in names if name not in header]
        if missing:
            raise origin.error(_no_column(missing[0], header))
        if first and not self._form.skip_rows and begins_with_types(body, self._form.delimiter):
            raise origin.error(
                "the row below the header tells the types of columns (USGS RDB) and is no data",
                "declare skip_rows: 1",
            )
        left_out = Counter[str]() if self._decoder.leaves_out else None
        table = read_cells(
            body, self._form.delimiter, header, names, before=origin.start, left_out=left_out, sound=sound
        )
        for chunk in table.to_batches(max_chunksize=_ROWS):
            cells = [
                None if name in known else chunk.column(chunk.schema.get_field_index(name))
                for _, name in places
            ]
            rows = self._decoder.from_texts(cells, chunk.num_rows, meter=meter, origin=origin, fill=fill)
            yield DecodedBlock(rows, chunk.num_rows)
            origin = origin.after(chunk.num_rows)
        for reason, count in (left_out or {}).items():
            yield DecodedBlock(self._decoder.without(count, reason, meter, origin), count)

    def _parquet(self, body: bytes, origin: Origin, fill: Mapping[str, object]) -> DecodedBlock:
        header, columns = distinct_names(read_schema(body).names), self._decoder.columns
        places = [spelled(column.path.steps[0].name, header) for column in columns]
        for column, place in zip(columns, places, strict=True):
            if place is None and column.field.name not in fill:
                raise origin.error(_no_column(column.path.steps[0].name, header))
        table = read_columns(body, list(dict.fromkeys(place for place in places if place is not None)))
        arrays = [
            pa.array([fill[column.field.name]] * table.num_rows, column.field.arrow)
            if place is None
            else in_nearest(table.column(place).combine_chunks()).cast(column.field.arrow)
            for place, column in zip(places, columns, strict=True)
        ]
        return DecodedBlock(batch_of(columns, arrays, table.num_rows), table.num_rows)


def _no_column(name: str, header: Sequence[str]) -> str:
    return f"the answer has no column {name!r}; it has {', '.join(map(repr, header))}"


def _check_lines(lines: Sequence[bytes], start: int) -> None:
    """Name the line that is no JSON; cheap for sound lines, and joined lines would hide where the damage is."""
    for number, line in enumerate(lines):
        try:
            decode(line, type=Raw)
        except MalformedJSON as error:
            raise MalformedJSON(f"line {start + number + 1}: {error}") from error
