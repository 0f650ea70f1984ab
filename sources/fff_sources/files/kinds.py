"""Columns and types out of what a file holds.

The whole file is looked at, so that a type holds for all of its rows. Where a text would lose something as a
value (a leading zero, a digit that a double has not), it stays text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from fff.schema import ArrowType
from fff_sources.files import columnar
from fff_sources.http.columnar import places_among, read_schema
from fff_sources.http.response import infer
from fff_sources.http.response.bodies import BodyDecoder, BodyFormat
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.response.streaming import Piece
from fff_sources.http.response.text.cell_types import TYPES, all_are
from fff_sources.http.response.text.csv_text import header_of, read_cells
from fff_sources.http.spec import spec


class FileColumns:
    """Names and types of the columns of a file, or of several of one form, out of all of their pieces.

    Args:
        endpoint: how the file is read.
        leaves_out: rows of CSV that are no records are left out.
    """

    def __init__(self, endpoint: spec.Endpoint, *, leaves_out: bool = False) -> None:
        self._form = BodyFormat(endpoint.format, parse_path(endpoint.data_selector))
        self._cells = CsvColumns(endpoint.delimiter, leaves_out=leaves_out)
        self._members: dict[str, set[str]] = {}
        self._schemas: dict[str, pa.Schema] = {}  # of files that say them themselves, by their places
        self.unknown: dict[str, ArrowType] = {}  # columns of these that SQL has no type for

    def take(self, piece: Piece, body: BodyDecoder) -> None:
        """More of the file, whose text `body` reads. Raises what `BodyDecoder.explained` knows."""
        response = piece.response
        if not response.body.strip():
            return
        if self._form.name == "csv":
            read = body.text if piece.line else body.table_text
            self._cells.take(read(response), sound=piece.sound)
        elif self._form.name == "parquet":
            self._schemas[response.url] = read_schema(response.body)
        else:
            infer.note_members(self._members, body, response, piece.line)

    @property
    def is_bare_line(self) -> bool:
        """Whether what came is CSV of one column and no row, as a message would be."""
        return self._cells.is_bare_line

    def columns(self) -> dict[str, str]:
        """What came so far; empty where there are no records. Raises columnar.DifferentTypesError."""
        if self._schemas:
            columns, self.unknown = columnar.columns_of(self._schemas)
            return columns
        return self._cells.columns() or infer.types_of(self._members)


class CsvColumns:
    """The columns of a CSV text, which may come in pieces that all begin with its header."""

    def __init__(self, delimiter: str, *, leaves_out: bool = False) -> None:
        self._delimiter = delimiter
        self._leaves_out = leaves_out  # rows that are no records
        self._kinds: dict[str, list[str]] = {}  # what all values could be
        self._valued: set[str] = set()
        self._rows = 0

    def take(self, text: bytes, *, sound: bool = False) -> None:
        """More of the text; `sound`: quotes are known to stand around whole cells. Raises pa.ArrowException for one that is none."""
        names = list(infer.bounded(dict.fromkeys(header_of(text, self._delimiter))))
        left_out = Counter[str]() if self._leaves_out else None
        table = read_cells(
            text, self._delimiter, names, names, before=self._rows, left_out=left_out, sound=sound
        )
        self._rows += table.num_rows
        known = {written: name for name, written in places_among(table.column_names, self._kinds).items()}
        for written, column in zip(table.column_names, table.columns, strict=True):
            name = known.get(written, written)
            values, kinds = column.drop_null(), self._kinds.setdefault(name, list(TYPES))
            if len(values):
                self._valued.add(name)
                self._kinds[name] = [kind for kind in kinds if all_are(values, kind)]

    @property
    def is_bare_line(self) -> bool:
        """Whether there is one name and no row."""
        return len(self._kinds) == 1 and not self._rows

    def columns(self) -> dict[str, str]:
        """Names and types; a column without a value is text."""
        return {
            name: kinds[0] if kinds and name in self._valued else "string"
            for name, kinds in self._kinds.items()
        }


def common(sheets: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The columns of several spreadsheets; one whose types differ is text."""
    columns: dict[str, str] = {}
    for sheet in sheets:
        columns |= {
            name: kind if columns.get(name, kind) == kind else "string" for name, kind in sheet.items()
        }
    return columns
