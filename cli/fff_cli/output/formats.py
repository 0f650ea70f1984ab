"""The result formats: what each makes of batches."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.errors import UsageError
from fff.schema import distinct_names
from fff_cli.output.console import Screen, output_screen
from fff_cli.output.failures import writing
from fff_cli.output.files import Target
from fff_cli.output.streams import FORMATS, StandardOutput
from fff_cli.output.table import FirstRowsWriter, LineWriter, TableWriter
from fff_cli.output.values import (
    bound_marks,
    bounded,
    concatenated,
    has_any,
    is_number,
    json_printable,
    json_text,
    json_texts,
    line_printable,
    printable,
    texts,
)

ROWS_AT_ONCE = 65_536  # rows turned into text in one go: bounds memory, and keeps Arrow strings below 2 GB
GROUP_ROWS, GROUP_BYTES = (
    100_000,
    64 << 20,
)  # from which a Parquet row group is large enough to be read at speed
#: Rows that show whether a column repeats values, and the share that differs where it does not.
_DRAWN, _UNIQUE = 16_000, 0.99


class Writer(Protocol):
    """A result format.

    `begin` once with the header, `write` for each batch, `end` once unless the run failed.
    """

    def begin(self, schema: pa.Schema) -> None:
        """Take the header."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows."""

    def end(self) -> None:
        """Write what is left: nothing, of most formats."""
        return


#: How a cell begins that spreadsheets calculate, spaces that they pass over apart.
_FORMULA = r"^[\s\x00]*[=+\-@\t\r＝＋－＠]"  # noqa: RUF001 - the wide ones, too


class SeparatedWriter(Writer):
    """CSV after RFC 4180 with line feeds, or the same with tabs: NULL is empty, the empty string is `""`.

    `text_cells`: a text that a spreadsheet would take for a formula gets an apostrophe in front.
    """

    def __init__(
        self, out: BinaryIO, separator: str = ",", *, safe: bool = False, text_cells: bool = False
    ) -> None:
        self._out = out
        self._separator = separator
        self._text_cells = text_cells
        self._special = f'["\r\n{separator}]'
        self._bytes = f'"\r\n{separator}'.encode()
        self._safe = safe

    def begin(self, schema: pa.Schema) -> None:
        """Write the header line."""
        names = self._quoted(pa.array(schema.names, pa.string())).to_pylist()
        self._out.write((self._separator.join(names) + "\n").encode())

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        parts: list[object] = []
        for column in batch.columns:
            parts += [self._column(column), self._separator]
        parts[-1:] = ["\n", ""]  # the last is what stands between all of them
        self._out.write(
            concatenated(pc.binary_join_element_wise(*parts, null_handling="replace", null_replacement=""))
        )

    def _column(self, column: pa.Array) -> pa.Array:
        written = texts(column)
        kind = column.type
        if is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
            return written
        return self._quoted(written)

    def _quoted(self, written: pa.Array) -> pa.Array:
        if self._safe:  # a terminal obeys control characters; a pipe gets the data as it is
            written = pa.array(
                [None if text is None else line_printable(text) for text in written.to_pylist()], pa.string()
            )
        if self._text_cells and pc.any(formula := pc.match_substring_regex(written, _FORMULA)).as_py():
            written = pc.if_else(formula, pc.binary_join_element_wise("'", written, ""), written)
        special = pc.equal(pc.binary_length(written), 0)
        if has_any(written, self._bytes):
            special = pc.or_(special, pc.match_substring_regex(written, self._special))
        if not pc.any(special).as_py():
            return written
        doubled = pc.replace_substring(written, '"', '""')
        return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), written)


class NdjsonWriter(Writer):
    """One JSON object a line. `safe`: what a terminal would obey is escaped, which means the same."""

    def __init__(self, out: BinaryIO, *, safe: bool = False) -> None:
        self._out = out
        self._safe = safe
        self._labels: list[str] = []

    def begin(self, schema: pa.Schema) -> None:
        """Take the header; the first line comes with the first row."""
        names = distinct_names(schema.names, str)
        self._labels = [
            ("{" if index == 0 else ",") + json_text(name) + ":" for index, name in enumerate(names)
        ]

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        self._out.write(concatenated(self.objects(batch, "\n")))

    def objects(self, batch: pa.RecordBatch, end: str = "") -> pa.Array:
        """Each row as a JSON object, and what is to stand behind it."""
        parts: list[object] = []
        for label, column in zip(self._labels, batch.columns, strict=True):
            parts += [label, json_texts(column)]
        lines = pc.binary_join_element_wise(*parts, "}" + end, "")
        if not self._safe:
            return lines
        return pa.array([json_printable(line) for line in lines.to_pylist()], pa.string())


class JsonWriter(NdjsonWriter):
    """One JSON array of objects."""

    _lead = "[\n"

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        if batch.num_rows:
            text = ",\n".join(self.objects(batch).to_pylist())
            self._out.write((self._lead + text).encode())
            self._lead = ",\n"

    def end(self) -> None:
        """Close the array."""
        self._out.write(b"[]\n" if self._lead == "[\n" else b"\n]\n")


class MarkdownWriter(Writer):
    """A table in GitHub's Markdown. `safe`: without what a terminal would obey."""

    def __init__(self, out: BinaryIO, *, safe: bool = False) -> None:
        self._out = out
        self._safe = safe
        self._marks: tuple[str, ...] = ()

    def begin(self, schema: pa.Schema) -> None:
        """Write the header."""
        self._marks = bound_marks(schema, unicode=True)
        names = " | ".join(self._cell(name) for name in schema.names)
        rule = " | ".join("---:" if is_number(kind) else "---" for kind in schema.types)
        self._out.write(f"| {names} |\n| {rule} |\n".encode())

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        columns = [
            [self._cell(text) for text in bounded(texts(column), mark).to_pylist()]
            for column, mark in zip(batch.columns, self._marks, strict=True)
        ]
        lines = ("| " + " | ".join(cells) + " |\n" for cells in zip(*columns, strict=True))
        self._out.write("".join(lines).encode())

    def _cell(self, text: str | None) -> str:
        if text is None:
            return "NULL"
        lines = text.replace("\\", "\\\\").replace("|", "\\|").replace("\r\n", "\n").split("\n")
        return "<br>".join(map(printable, lines) if self._safe else lines).replace("\r", "<br>")


class ArrowWriter:
    """An Arrow IPC stream."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._stream: Any = None

    def begin(self, schema: pa.Schema) -> None:
        """Write the schema message."""
        self._stream = pa.ipc.new_stream(self._out, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a record batch message."""
        assert self._stream is not None
        self._stream.write_batch(batch)

    def end(self) -> None:
        """Write the end of the stream."""
        assert self._stream is not None
        self._stream.close()


class ParquetWriter:
    """A Parquet file; column names are made unique, which Parquet readers ask for."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._file: Any = None
        self._schema: pa.Schema = pa.schema([])
        self._held: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def begin(self, schema: pa.Schema) -> None:
        """Open the file."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - 40 ms that only Parquet pays

        named = zip(schema, distinct_names(schema.names, str), strict=True)
        self._schema = pa.schema([field.with_name(name) for field, name in named])
        pq.ParquetWriter(io.BytesIO(), self._schema).close()  # what cannot be written is told at once

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows; a row group is written once there are enough for one."""
        if batch.num_rows:
            self._held.append(pa.RecordBatch.from_arrays(batch.columns, schema=self._schema))
            self._rows += batch.num_rows
            self._bytes += batch.nbytes
            if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
                self.write_group()

    def write_group(self) -> None:
        """Write the rows that are held, so that they take no memory."""
        if self._held:
            group = pa.Table.from_batches(self._held)
            self._opened(group).write_table(group, row_group_size=self._rows)
        self._held, self._rows, self._bytes = [], 0, 0

    def end(self) -> None:
        """Write what is left, and the footer."""
        self.write_group()
        self._opened(self._schema.empty_table()).close()

    def _opened(self, first: pa.Table) -> Any:
        """The file, which the first rows tell how to write."""
        if self._file is None:
            import pyarrow.parquet as pq  # noqa: PLC0415 - as above

            self._file = pq.ParquetWriter(self._out, self._schema, use_dictionary=_repeating(first))
        return self._file

    def __del__(self) -> None:
        """Of a run that failed: a file that is closed already takes no footer, which pyarrow would complain of."""
        if self._file is not None:
            self._file.is_open = False


def _repeating(rows: pa.Table) -> list[str] | bool:
    """The columns for which Parquet is to keep a dictionary.

    Where nearly each number is another one it takes more time and space than they do. True: all, where rows
    are few or nested. One setting goes for a whole file, so that numbers which repeat only after the first
    group have none. Dictionaries of texts end by themselves once they are large.
    """
    if rows.num_rows < _DRAWN or any(map(pa.types.is_nested, rows.schema.types)):
        return True
    drawn = rows.take(np.random.default_rng(0).permutation(rows.num_rows)[:_DRAWN])
    return [
        name
        for name, column in zip(drawn.column_names, drawn.columns, strict=True)
        if not _is_plain(column.type) or len(column.unique()) < _UNIQUE * _DRAWN
    ]


def _is_plain(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal128(kind))


def writer(
    name: str,
    out: BinaryIO,
    screen: Screen | None,
    *,
    rows: int = sys.maxsize,
    more: str = "",
    text_cells: bool = False,
) -> Writer:
    """The writer of a format; `screen` describes the terminal that `out` is, None when it is none.

    A table on a terminal shows so many `rows`, and says how there are `more`; `text_cells` is for
    spreadsheets.
    """
    match name:
        case "table":
            return TableWriter(out, None) if screen is None else FirstRowsWriter(out, screen, rows, more)
        case "line":
            return LineWriter(out, screen)
        case "csv":
            return SeparatedWriter(out, ",", safe=screen is not None, text_cells=text_cells)
        case "tsv":
            return SeparatedWriter(out, "\t", safe=screen is not None, text_cells=text_cells)
        case "json":
            return JsonWriter(out, safe=screen is not None)
        case "ndjson":
            return NdjsonWriter(out, safe=screen is not None)
        case "markdown":
            return MarkdownWriter(out, safe=screen is not None)
        case "parquet":
            return ParquetWriter(out)
        case "arrow":
            return ArrowWriter(out)
        case "sqlite":
            from fff_cli.output.sinks.databases import SqliteWriter  # noqa: PLC0415 - nobody else pays for it

            return SqliteWriter(out)
        case "duckdb":
            from fff_cli.output.sinks.duck import DuckdbWriter  # noqa: PLC0415 - an extra

            return DuckdbWriter(out)
        case "xlsx":
            from fff_cli.output.sinks.spreadsheets import SpreadsheetWriter  # noqa: PLC0415 - an extra

            return SpreadsheetWriter(out)
        case _:
            raise UsageError(f"unknown output format {name!r}", hint=f"one of {', '.join(FORMATS)}")


def write_batches(to: Writer, batch: pa.RecordBatch) -> None:
    """Hand a batch over in pieces of a bounded number of rows."""
    for start in range(0, batch.num_rows, ROWS_AT_ONCE):
        to.write(batch.slice(start, ROWS_AT_ONCE))


def emit(text: str, to: Target | None = None) -> None:
    """Write text that is the result of a command to standard output, or where else it goes."""
    target = to or StandardOutput()
    with writing():
        target.out.write(text.encode("utf-8", "replace"))
        target.keep()


def emit_outline(lines: Iterable[str], to: Target | None = None) -> None:
    """Write indented lines (a plan, all about a table) to standard output; a terminal shows them as trees."""
    text = "\n".join(line_printable(line) for line in lines).rstrip("\n") + "\n"
    screen = output_screen()
    if screen is not None and screen.color:
        from fff_cli.output.drawing import outline, rendered  # noqa: PLC0415 - only a terminal pays for rich

        text = rendered(outline(text), screen.width)
    emit(text, to)


def emit_batch(batch: pa.RecordBatch, chosen: str, to: Target | None = None) -> None:
    """Write rows that a command tells to standard output, in a result format."""
    target = to or StandardOutput()
    out = writer(chosen, target.out, output_screen())
    with writing():
        out.begin(batch.schema)
        out.write(batch)
        out.end()
        target.keep()
