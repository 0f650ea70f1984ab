"""Bodies to batches: finds the records in an answer, whatever its format, and hands them to the decoder in blocks."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from fff.stats import AccessMeter
from fff.web.types import Response
from fff_sources.http.columnar import read_columns
from fff_sources.http.diagnosis import diagnosis, members_told
from fff_sources.http.response import markup
from fff_sources.http.response.csv_text import (
    begins_with_types,
    header_of,
    read_cells,
    uncommented,
    without_rows,
)
from fff_sources.http.response.json import MalformedJSON, Raw, decode, encode
from fff_sources.http.response.jsonpath import WHOLE, Envelope, JsonPath, envelope, first, kind_of, walk
from fff_sources.http.response.records import Batch, Origin, RecordDecoder, join
from fff_sources.http.response.values import shown
from fff_sources.http.shaping import entries, exploded, listed

_BLOCK = 4_000  # records that are taken apart at a time, where they need care
_ROWS = 16 * _BLOCK  # rows that are handed on at a time
_LOOKED_AT = 2**16  # bytes of an answer that are looked at to show some of it
_SHOWN = 200  # characters of it that are shown
_LARGE = 2**21  # bytes from which a body is read in blocks


@dataclass(frozen=True)
class BodyFormat:
    """How an endpoint writes its answers.

    Columnar: an object at the selector holds an array for each of its members. Headed: the records are
    arrays, and the first one names the members of the others. Comment: lines of CSV that begin so are none.
    Skip rows: so many after the header are no data. Encoding: of text, whatever the answer says of itself.
    May lack: without the place, no records. Entries: the members of objects are the records; explode: each
    element of the array there is one.
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


@dataclass(frozen=True)
class Opened:
    """An answer in UTF-8, taken apart along the way to its records."""

    text: bytes
    envelope: Envelope


@dataclass(frozen=True)
class DecodedBlock:
    """Some records of one answer: their rows, and how many records they were before bad ones were dropped."""

    rows: Batch
    records: int


@dataclass(frozen=True)
class _Part:
    """Records that come together, as a JSON array, which lines of JSON are if each is sound; how many stand before them."""

    records: Raw | bytes
    lines: bytes | None = None
    before: int = 0
    counted: int | None = None  # of the source's own records, where these were made of them

    @property
    def large(self) -> bool:
        """Whether they are too many to be taken apart together."""
        return len(memoryview(self.records)) >= _LARGE

    def arrays(self) -> Iterator[Raw | bytes]:
        """The records as JSON arrays of a bounded number. Raises MalformedJSON."""
        if self.lines is not None:
            lines = [line for line in self.lines.splitlines() if line.strip()]
            for start in range(0, len(lines), _BLOCK):
                some = lines[start : start + _BLOCK]
                _check_lines(some, self.before + start)
                yield join(some)
        elif self.large:
            raws = decode(self.records, type=list[Raw])
            for start in range(0, len(raws), _BLOCK):
                yield join(raws[start : start + _BLOCK])
        else:
            yield self.records


class BodyDecoder:
    """Reads the answers of one access method.

    Args:
        form: the format and the place of the records.
        decoder: what to read out of each record.
    """

    def __init__(self, form: BodyFormat, decoder: RecordDecoder) -> None:
        self._form = form
        self._decoder = decoder
        lists = (one for one in decoder.columns if pa.types.is_list(one.field.arrow))
        self._listed = [one.path for one in lists if one.path.steps]
        self._markup: tuple[Response, bytes] | None = None  # the last answer, and what it is as JSON

    def blocks(
        self,
        answer: Response,
        *,
        meter: AccessMeter,
        origin: Origin,
        fill: Mapping[str, object] | None = None,
        line: int = 0,
        missed: bool = False,
        opened: Opened | None = None,
    ) -> Iterator[DecodedBlock]:
        """The records of an answer, in order; `line` is how many lines stand before a part of one. Raises SourceError for a malformed body or a bad record.

        `missed`: the meter is to tell of columns that no record has anything for; `opened`: the answer, where
        it is open.
        """
        if is_blank(answer.body):
            return
        with self.explained(answer, origin):
            if self._form.name == "csv":
                body = self.text(answer) if line else self.table_text(answer)
                yield from self._csv(body, meter, origin, fill or {})
            elif self._form.name == "parquet":
                yield self._parquet(answer.body)
            else:
                opened = opened or self.open(answer)
                for part in self._parts(opened, line):
                    counted = part.counted
                    for records, rows, count in self._read(part, meter, origin, fill):
                        if missed and rows.num_rows:
                            self._decoder.note_missed(records, rows, opened.envelope, meter, origin)
                        for at in range(0, max(count, 1), _ROWS):
                            block = rows if count <= _ROWS else rows.slice(at, _ROWS)
                            own = min(count - at, _ROWS)
                            if counted is not None:
                                own, counted = counted, 0
                            yield DecodedBlock(block, own)
                        origin = origin.after(count)

    def _read(
        self, part: _Part, meter: AccessMeter, origin: Origin, fill: Mapping[str, object] | None
    ) -> Iterator[tuple[Raw | bytes, Batch, int]]:
        """Records, their rows, and how many records they were."""
        if part.large or part.lines is not None:
            rows = None
            with contextlib.suppress(MalformedJSON):
                rows = self._decoder.fast(part.records, fill or {})
            # As many as lines: else one is broken, which need not show where lines are joined.
            if rows is not None and (part.lines is None or rows.num_rows == part.lines.count(b"\n") + 1):
                yield part.records, rows, rows.num_rows
                return
        for records in part.arrays():
            rows, count = self._decoder.decode(records, meter=meter, origin=origin, fill=fill)
            yield records, rows, count
            origin = origin.after(count)

    @contextlib.contextmanager
    def explained(self, answer: Response, origin: Origin) -> Iterator[None]:
        """Turns everything that reading a body can end with into a SourceError."""
        try:
            yield
        except (MalformedJSON, UnicodeDecodeError, pa.ArrowException, markup.MalformedMarkupError) as error:
            kind = answer.headers.get("content-type", "no content type").split(";", maxsplit=1)[0]
            problem, hint = diagnosis(answer.body, self._form.name, self._form.encoding, str(error))
            text = f"the answer is not valid {self._form.name} ({kind}): {origin.redact(problem or _short(error))}"
            raise origin.error(
                text, hint
            ) from None  # the cause would show the answer as it came, secrets and all
        except _NoRecords as error:
            said = shown(origin.redact(answer.body[:_LOOKED_AT].decode("utf-8", "replace")), _SHOWN)
            told = origin.redact(members_told(answer.body))
            hint = (
                f"data_selector must name the place of the records in the answer, which {told}begins {said}"
            )
            raise origin.error(str(error), hint) from None
        except TooManyColumnsError as error:
            hint = (
                "declare those that are needed under columns; where the names are data, data_selector: '*' "
                "takes each value for a record"
            )
            raise origin.error(str(error), hint) from None
        except RecursionError:  # its context would be a thousand lines
            raise origin.error(f"the answer is not readable {self._form.name}: nested too deeply") from None

    def empty(self) -> Batch:
        """No rows."""
        return self._decoder.empty()

    def text(self, answer: Response) -> bytes:
        """The body in UTF-8, for formats made of text; JSON for those that are read as JSON."""
        if self._form.name not in ("xml", "html_table"):
            return self._text(answer)
        if self._markup is None or self._markup[0] is not answer:
            self._markup = (
                answer,
                self._text(answer),
            )  # the records are read of it, and what stands around them
        return self._markup[1]

    def _text(self, answer: Response) -> bytes:
        body = answer.body
        if is_blank(body):
            return b""
        charset = self._form.encoding or charset_of(answer.headers)
        if charset is not None:
            text = body.decode(charset)
            if self._form.name == "xml":  # what the document says of its own encoding no longer holds
                return encode(markup.xml_value(text))
            body = text.removeprefix("\ufeff").encode()
        elif body.startswith(codecs.BOM_UTF8):
            body = body[3:]
        if self._form.name == "xml":
            return encode(markup.xml_value(body))
        if self._form.name == "html_table":
            return encode(markup.html_tables(body.decode()))
        return body if self._form.comment is None else uncommented(body, self._form.comment.encode())

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
        lines = self._form.name == "ndjson" or not text
        return Opened(text, Envelope((), None, WHOLE) if lines else envelope(text, self._form.selector))

    def arrays(self, opened: Opened, line: int = 0) -> Iterator[Raw | bytes]:
        """The records as JSON arrays of a bounded number."""
        for part in self._parts(opened, line):
            yield from part.arrays()

    def _parts(self, opened: Opened, line: int) -> Iterator[_Part]:
        if self._form.name == "ndjson":
            lines = opened.text.strip()
            yield _Part(b"".join((b"[", lines.replace(b"\n", b","), b"]")), lines, line)
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
        if self._form.name == "xml" and self._listed:
            records = listed(records, self._listed)
        if not self._form.explode:
            yield _Part(records)
            return
        whole = decode(records, type=list[Raw])
        yield _Part(exploded(whole, self._form.explode), counted=len(whole))

    def _check_names(self, names: Collection[str]) -> None:
        """What names the members of all records must name one of the table's: there may be no record to show it."""
        members = self._decoder.members
        if names and members is not None and members.names.isdisjoint(names):
            raise _NoRecords(f"the object at {self._form.selector.text!r} has none of the table's columns")

    def _records(self, opened: Opened) -> Raw | bytes:
        """The JSON array of the records."""
        selector, place = opened.envelope.rest, opened.envelope.place
        if place is not None and selector.single:
            place = first(place, selector)
        elif place is not None:
            many = next(i for i, step in enumerate(selector.steps) if step.kind not in ("name", "index"))
            place = first(place, JsonPath(selector.text, selector.steps[:many]))
            if place is not None and kind_of(place) != "n":
                return join(walk(place, JsonPath(selector.text, selector.steps[many:])))
        if place is None:
            decode(opened.text)  # a login page is not even JSON
            if self._form.may_lack:
                return b"[]"
            raise _NoRecords(f"the answer has no {selector.text!r}")
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
        self, body: bytes, meter: AccessMeter, origin: Origin, fill: Mapping[str, object]
    ) -> Iterator[DecodedBlock]:
        header = header_of(body, self._form.delimiter)
        places = [(column.field.name, column.path.steps[0].name) for column in self._decoder.columns]
        known = {place for name, place in places if name in fill and place not in header}
        names = [place for _, place in places if place not in known]
        missing = [name for name in names if name not in header]
        if missing:
            raise origin.error(
                f"the answer has no column {missing[0]!r}; it has {', '.join(map(repr, header))}"
            )
        if not self._form.skip_rows and begins_with_types(body, self._form.delimiter):
            raise origin.error(
                "the row below the header tells the types of columns (USGS RDB) and is no data",
                "declare skip_rows: 1",
            )
        table = read_cells(body, self._form.delimiter, header, names)
        for chunk in table.to_batches(max_chunksize=_ROWS):
            cells = [
                None if name in known else chunk.column(chunk.schema.get_field_index(name))
                for _, name in places
            ]
            rows = self._decoder.from_texts(cells, chunk.num_rows, meter=meter, origin=origin, fill=fill)
            yield DecodedBlock(rows, chunk.num_rows)
            origin = replace(origin, start=origin.start + chunk.num_rows)

    def _parquet(self, body: bytes) -> DecodedBlock:
        names = [column.path.steps[0].name for column in self._decoder.columns]
        table = read_columns(body, names)
        arrays = [
            table.column(name).combine_chunks().cast(column.field.arrow)
            for name, column in zip(names, self._decoder.columns, strict=True)
        ]
        rows = (
            pa.RecordBatch.from_arrays(arrays, [column.field.name for column in self._decoder.columns])
            if arrays
            else pa.RecordBatch.from_struct_array(pa.array([{}] * table.num_rows, pa.struct([])))
        )
        return DecodedBlock(rows, rows.num_rows)


def rows_of(records: Raw | bytes) -> bytes:
    """Objects of arrays as one object for each place in these; a member that is no array stands in every one.

    Raises MalformedJSON where the arrays of an object differ in length.
    """
    rows: list[dict[str, Raw]] = []
    for record in decode(records, type=list[dict[str, Raw]]):
        arrays = {name: decode(raw, type=list[Raw]) for name, raw in record.items() if kind_of(raw) == "["}
        lengths = {len(items) for items in arrays.values()}
        if len(lengths) > 1:
            raise MalformedJSON(
                f"arrays of {min(lengths)} and of {max(lengths)} values are no columns of one table"
            )
        rest = {name: raw for name, raw in record.items() if name not in arrays}
        rows += [
            {**rest, **{name: items[place] for name, items in arrays.items()}}
            for place in range(max(lengths, default=0))
        ]
    return encode(rows)


def named_rows(records: Raw | bytes) -> bytes:
    """Arrays as objects: the first one holds the names.

    Raises MalformedJSON where one has not as many members.
    """
    rows = decode(records, type=list[list[Raw]])
    names = [decode(name, type=str) for name in rows[0]] if rows else []
    odd = next((len(row) for row in rows if len(row) != len(names)), None)
    if odd is not None:
        raise MalformedJSON(f"a row of {odd} values under a header of {len(names)}")
    return encode([dict(zip(names, row, strict=True)) for row in rows[1:]])


class TooManyColumnsError(Exception):
    """An answer has more columns than a table may have that nothing declares."""


class _NoRecords(Exception):  # noqa: N818 - becomes a SourceError above
    """The answer is JSON, but holds no records where they should be."""


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= 120 else text[:120] + "…"


def _check_lines(lines: Sequence[bytes], start: int) -> None:
    """Name the line that is no JSON; cheap for sound lines, and joined lines would hide where the damage is."""
    for number, line in enumerate(lines):
        try:
            decode(line, type=Raw)
        except MalformedJSON as error:
            raise MalformedJSON(f"line {start + number + 1}: {error}") from error


def is_blank(body: bytes) -> bool:
    """Whether there is nothing, or white space alone; found out without a copy, as bodies may be large."""
    return not body or body.isspace()


def charset_of(headers: Mapping[str, str]) -> str | None:
    """The declared character set, when it is one Python knows and not UTF-8."""
    kind = headers.get("content-type", "")
    if "charset" not in kind.lower():
        return None
    for part in kind.split(";")[1:]:
        name, _, text = part.strip().partition("=")
        if name.lower() == "charset":
            try:
                known = codecs.lookup(text.strip("\"' ")).name
            except LookupError:
                return None
            return None if known in ("utf-8", "ascii") else known
    return None
