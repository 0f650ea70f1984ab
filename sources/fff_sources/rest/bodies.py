"""Bodies to batches: finds the records in an answer, whatever its format, and hands them to the decoder in blocks."""

from __future__ import annotations

import codecs
import contextlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from fff.stats import AccessMeter
from fff.web.message import Response
from fff_sources.rest import markup
from fff_sources.rest.fastjson import MalformedJSON, Raw, decode, encode
from fff_sources.rest.jsonpath import WHOLE, JsonPath, first, kind_of, walk
from fff_sources.rest.records import Batch, Origin, RecordDecoder, join

_BLOCK = 4_000  # records at a time out of large bodies
_LARGE = 2**21  # bytes from which a body is read in blocks


@dataclass(frozen=True)
class BodyFormat:
    """How an endpoint writes its answers.

    Columnar: an object at the selector holds an array for each of its members. Headed: the records are arrays, and the
    first one names the members of the others. Comment: lines of CSV that begin so are none. Encoding: of text, whatever
    the answer says of itself. May lack: without the place, no records.
    """

    name: str = "json"
    selector: JsonPath = WHOLE
    delimiter: str = ","
    columnar: bool = False
    headed: bool = False
    comment: str | None = None
    encoding: str | None = None
    may_lack: bool = False


@dataclass(frozen=True)
class Block:
    """Some records of one answer: their rows, and how many records they were before bad ones were dropped."""

    rows: Batch
    records: int


class BodyReader:
    """Reads the answers of one access method.

    Args:
        form: the format and the place of the records.
        decoder: what to read out of each record.
        known: top-level members of which a single object must have one, to be a record at all.
    """

    def __init__(self, form: BodyFormat, decoder: RecordDecoder, known: frozenset[str] = frozenset()) -> None:
        self._form = form
        self._decoder = decoder
        self._known = known

    def blocks(
        self,
        answer: Response,
        *,
        meter: AccessMeter,
        origin: Origin,
        fill: Mapping[str, object] | None = None,
        line: int = 0,
    ) -> Iterator[Block]:
        """The records of an answer, in order; `line` is how many lines stand before a part of one. Raises SourceError for a malformed body or a bad record."""
        if not answer.body.strip():
            return
        with self.explained(answer, origin):
            if self._form.name == "csv":
                yield from self._csv(answer, meter, origin)
            elif self._form.name == "parquet":
                yield self._parquet(answer.body)
            else:
                for records in self.arrays(answer, line):
                    rows, count = self._decoder.decode(records, meter=meter, origin=origin, fill=fill)
                    yield Block(rows, count)
                    origin = replace(origin, start=origin.start + count)

    @contextlib.contextmanager
    def explained(self, answer: Response, origin: Origin) -> Iterator[None]:
        """Turns everything that reading a body can end with into a SourceError."""
        try:
            yield
        except (MalformedJSON, UnicodeDecodeError, pa.ArrowException, markup.MalformedMarkupError) as error:
            kind = answer.headers.get("content-type", "no content type").split(";", maxsplit=1)[0]
            text = f"the answer is not valid {self._form.name} ({kind}): {_short(error)}"
            raise origin.error(text) from None  # the cause would show the answer as it came, secrets and all
        except _NoRecords as error:
            raise origin.error(
                str(error), "data_selector must name the place of the records in the answer"
            ) from None
        except RecursionError:  # its context would be a thousand lines
            raise origin.error(f"the answer is not readable {self._form.name}: nested too deeply") from None

    def empty(self) -> Batch:
        """No rows."""
        return self._decoder.empty()

    def text(self, answer: Response) -> bytes:
        """The body in UTF-8, for formats made of text; JSON for those that are read as JSON."""
        body = answer.body
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

    def unnamed(self, answer: Response) -> frozenset[str]:
        """The columns whose members an answer in JSON names nowhere."""
        body = self.text(answer)
        tops = {one.field.name: one.path.steps[0] for one in self._decoder.columns if one.path.steps}
        return frozenset(
            column for column, step in tops.items() if step.kind == "name" and encode(step.name) not in body
        )

    def arrays(self, answer: Response, line: int = 0) -> Iterator[Raw | bytes]:
        """The records as JSON arrays."""
        body = self.text(answer)
        if self._form.name == "ndjson":
            lines = [line for line in body.splitlines() if line.strip()]
            for start in range(0, len(lines), _BLOCK):
                some = lines[start : start + _BLOCK]
                _check_lines(some, line + start)
                yield join(some)
            return
        records = self._records(body)
        if self._form.columnar:
            records = rows_of(records)
        elif self._form.headed:
            records = named_rows(records)
        if len(memoryview(records)) < _LARGE:
            yield records
            return
        raws = decode(records, type=list[Raw])
        for start in range(0, len(raws), _BLOCK):
            yield join(raws[start : start + _BLOCK])

    def _records(self, body: bytes) -> Raw | bytes:
        """The JSON array of the records."""
        selector = self._form.selector
        if not selector.steps:
            place: Raw | bytes | None = body
        elif selector.single:
            place = first(body, selector)
        else:
            many = next(i for i, step in enumerate(selector.steps) if step.kind not in ("name", "index"))
            place = first(body, JsonPath(selector.text, selector.steps[:many]))
            if place is not None and kind_of(place) != "n":
                return join(walk(place, JsonPath(selector.text, selector.steps[many:])))
        if place is None:
            decode(body)  # a login page is not even JSON
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
            members = decode(place, type=dict[str, Raw])
            if members and self._known and not self._known & members.keys():
                raise _NoRecords(f"the object at {selector.text!r} has none of the table's columns")
            return join([place]) if members else b"[]"
        decode(place)
        return join([place])

    def _csv(self, answer: Response, meter: AccessMeter, origin: Origin) -> Iterator[Block]:
        names = [column.path.steps[0].name for column in self._decoder.columns]
        body = self.text(answer)
        header = _header(body, self._form.delimiter)
        missing = [name for name in names if name not in header]
        if missing:
            raise origin.error(
                f"the answer has no column {missing[0]!r}; it has {', '.join(map(repr, header))}"
            )
        table = pacsv.read_csv(
            io.BytesIO(body),
            read_options=pacsv.ReadOptions(use_threads=False),
            parse_options=pacsv.ParseOptions(delimiter=self._form.delimiter, newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()),
                include_columns=list(dict.fromkeys(names)) or header[:1],
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        for chunk in table.to_batches(max_chunksize=16 * _BLOCK):
            cells = [chunk.column(chunk.schema.get_field_index(name)) for name in names]
            rows = self._decoder.from_texts(cells, chunk.num_rows, meter=meter, origin=origin)
            yield Block(rows, chunk.num_rows)
            origin = replace(origin, start=origin.start + chunk.num_rows)

    def _parquet(self, body: bytes) -> Block:
        names = [column.path.steps[0].name for column in self._decoder.columns]
        table = papq.read_table(io.BytesIO(body), columns=names, use_threads=False).combine_chunks()
        arrays = [
            table.column(name).combine_chunks().cast(column.field.arrow)
            for name, column in zip(names, self._decoder.columns, strict=True)
        ]
        rows = (
            pa.RecordBatch.from_arrays(arrays, [column.field.name for column in self._decoder.columns])
            if arrays
            else pa.RecordBatch.from_struct_array(pa.array([{}] * table.num_rows, pa.struct([])))
        )
        return Block(rows, rows.num_rows)


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
    """Arrays as objects: the first one holds the names. Raises MalformedJSON where one has not as many members."""
    rows = decode(records, type=list[list[Raw]])
    names = [decode(name, type=str) for name in rows[0]] if rows else []
    odd = next((len(row) for row in rows if len(row) != len(names)), None)
    if odd is not None:
        raise MalformedJSON(f"a row of {odd} values under a header of {len(names)}")
    return encode([dict(zip(names, row, strict=True)) for row in rows[1:]])


def uncommented(body: bytes, mark: bytes) -> bytes:
    """A CSV text without the lines that begin with a mark, those inside of quotes apart."""
    kept, inside = [], False
    for line in body.splitlines(keepends=True):
        if inside or not line.startswith(mark):
            kept.append(line)
            inside ^= line.count(b'"') % 2 == 1
    return b"".join(kept)


class _NoRecords(Exception):  # noqa: N818 - becomes a SourceError above
    """The answer is JSON, but holds no records where they should be."""


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= 120 else text[:120] + "…"


def _check_lines(lines: list[bytes], start: int) -> None:
    """Name the line that is no JSON; cheap for sound lines, and joined lines would hide where the damage is."""
    for number, line in enumerate(lines):
        try:
            decode(line, type=Raw)
        except MalformedJSON as error:
            raise MalformedJSON(f"line {start + number + 1}: {error}") from error


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


def _header(body: bytes, delimiter: str) -> list[str]:
    reader = pacsv.open_csv(
        io.BytesIO(body),
        read_options=pacsv.ReadOptions(use_threads=False),
        parse_options=pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
    )
    return list(reader.schema.names)
