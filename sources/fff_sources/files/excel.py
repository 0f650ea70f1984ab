"""Spreadsheets, read into the CSV that says the same, with the types of their cells. The only importer of python-calamine."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import datetime as dt
import functools
import io
import itertools
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from fff.errors import SourceError
from fff.structs import lazy_pattern, replace
from fff.version import how_to_install
from fff.web.types import Response
from fff_sources.http.paging.paginators import Ask
from fff_sources.http.response.streaming import Arriving, Fetch
from fff_sources.http.shaping import NO_ZIP

#: Cells that a sheet may span, and times those that hold anything: the reader makes room for all of them.
_MOST, _RATIO = 2**26, 16
_PIECE = 2**24  # bytes of a sheet that are looked at together
#: Where a cell of XML is, whatever it holds; signs of one written otherwise; where one is that has a value.
_PLACE = lazy_pattern(rb'r="([A-Za-z]{1,7})(\d{1,9})')
_OTHERWISE = lazy_pattern(rb"r='|r\s+=|r=\s")
_FILLED = lazy_pattern(
    rb"""<(?:\w+:)?c\s(?:[^<]*?\s)?r\s*=\s*["']([A-Za-z]{1,7})(\d{1,9})[^>]*(?<!/)>(?!\s*</)"""
)
#: Of OpenDocument, very many rows or cells that are alike, and what ends a row or a sheet.
_MANY = lazy_pattern(rb"""number-(row|column)s-repeated\s*=\s*["']\d{4,}""")
_CLOSES = lazy_pattern(rb"\s*</")
#: Of it, a sheet's start, and a row or cell with what is said of it; one that is empty ends at once.
_TABLE_OR_PART = lazy_pattern(rb"<(?:\w+:)?(table|table-row|(?:covered-)?table-cell)(\s[^>]*?)?(/?)>")
_REPEATED = lazy_pattern(rb"""number-(?:row|column)s-repeated\s*=\s*["'](\d{1,9})""")
_HOLDS = lazy_pattern(rb"""[\s:](?:value-type|formula)\s*=""")
#: Of binary sheets, the record that says where their first and last cells are, which is among the first.
_DIMENSION = lazy_pattern(rb"\x94\x01\x10(.{16})", re.DOTALL)
_HEAD = 2**10
_BINARY_CELLS = range(2, 12)  # the kinds of record that are cells with a value
_WHOLE = 10**15  # from which a number of a spreadsheet, a double, does not have all its digits
_GAP = 1_000  # rows without anything, one behind the other, that may be rows; more are a sheet's empty part
#: What a column is whose cells are all of one kind, or of several that one holds.
_KINDS = (
    ({int}, "bigint"),
    ({int, float}, "double"),
    ({bool}, "boolean"),
    ({dt.date}, "date"),
    ({dt.date, dt.datetime}, "timestamp_ntz"),
)


class Sheet:
    """Fetches a spreadsheet as CSV.

    Args:
        fetch: brings the file.
        name: of the sheet; the first one where it is None.
        largest: bytes that a file may have unpacked.
        source, table: for errors.
    """

    def __init__(self, fetch: Fetch, name: str | None, largest: int, source: str, table: str) -> None:
        self._fetch = fetch
        self._name = name
        self._largest = largest
        self._source = source
        self._table = table
        #: Columns and types of the file that was fetched last.
        self.kinds: dict[str, str] = {}

    async def __call__(self, ask: Ask, arriving: Arriving | None = None) -> Response:
        """The sheet as CSV. Raises SourceError."""
        del arriving  # nothing can be read before the end, where the directory of the file is
        response = await self._fetch(ask, None)
        body, self.kinds = await asyncio.to_thread(self._read, response.body)
        return replace(response, body=body)

    def _read(self, body: bytes) -> tuple[bytes, dict[str, str]]:
        try:
            self._measure(body)
            with _opened(body) as book:
                if self._name is not None and self._name not in book.sheet_names:
                    named = ", ".join(map(repr, book.sheet_names))
                    raise self._error(f"there is no sheet {self._name!r}", f"there are {named}")
                chosen = (
                    book.get_sheet_by_index(0) if self._name is None else book.get_sheet_by_name(self._name)
                )
                return _as_csv(chosen.iter_rows())
        except ImportError:
            raise self._error("reading spreadsheets needs python-calamine", how_to_install("excel")) from None
        except _SparseError as error:
            raise self._error(str(error), "delete what is far off, or save the sheet as CSV") from None
        except (_NoWorkbookError, zipfile.BadZipFile) as error:
            raise self._error(
                f"the file is no spreadsheet that can be read: {error}",
                "is it whole, and without a password?",
            ) from error

    def _measure(self, body: bytes) -> None:
        """Refuse what would fill the memory once it is unpacked; the older formats are not packed."""
        if body.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(body)) as parts:
                if sum(part.file_size for part in parts.infolist()) > self._largest:
                    raise self._error(
                        f"the file is larger than {self._largest // 2**20} MB unpacked",
                        "allow more with client.max_body_mb in the spec",
                    )

    def _error(self, message: str, hint: str) -> SourceError:
        return SourceError(message, source=self._source, table=self._table, hint=hint)


def sheets_of(body: bytes) -> dict[str, list[list[object]]]:
    """The cells of a workbook by sheet and row, None where there is nothing. Raises ValueError for what is none."""
    with _opened(body) as book:
        return {
            name: [
                [_cell(cell) for cell in row]
                for row in book.get_sheet_by_name(name).to_python(skip_empty_area=False)
            ]
            for name in book.sheet_names
        }


class _NoWorkbookError(ValueError):
    """What the reader of spreadsheets says of a file that is none."""


class _SparseError(ValueError):
    """A sheet spans far more cells than hold anything, which would fill the memory and end the process."""


@contextlib.contextmanager
def _opened(body: bytes) -> Iterator[Any]:
    """A workbook of python-calamine's. Raises _NoWorkbookError, _SparseError."""
    import python_calamine as calamine  # noqa: PLC0415 - an extra

    if body.startswith(b"PK"):
        try:
            _check_spans(body)
        except NO_ZIP as error:
            raise _NoWorkbookError(str(error)) from error
    try:
        with calamine.CalamineWorkbook.from_filelike(io.BytesIO(body)) as book:
            yield book
    except (calamine.CalamineError, zipfile.BadZipFile, OSError) as error:
        raise _NoWorkbookError(str(error)) from error


def _check_spans(body: bytes) -> None:
    """Raise _SparseError where a sheet is large and nearly all empty."""
    with zipfile.ZipFile(io.BytesIO(body)) as parts:
        for name in parts.namelist():
            with parts.open(name) as part:
                if name == "content.xml":
                    _check_open_document(part.read())
                elif name.startswith("xl/worksheets/") and name.endswith(".bin"):
                    _check_binary(part.read())
                elif not name.endswith(".bin"):
                    cells, span, is_sure = _span(part, _PLACE)
                    if span > max(_MOST, _RATIO * cells) or not is_sure:
                        part.seek(0)
                        cells, span, _ = _span(part, _FILLED)
                    _check_span(cells, span)


def _check_open_document(content: bytes) -> None:
    """Rows and cells stand one behind the other, alike ones once with how many they are; so many leave a large gap."""
    if not any(_is_amid(content, found) for found in _MANY.finditer(content)):
        return
    cells = row = column = tallest = widest = 0
    for kind, said, end in _TABLE_OR_PART.findall(content):
        found = _REPEATED.search(said)
        count = 1 if found is None else int(found[1])
        if kind == b"table":
            _check_span(cells, tallest * widest)
            cells = row = tallest = widest = 0
        elif kind == b"table-row":
            row, column = row + count, 0
        else:
            column += count
            if not end or _HOLDS.search(said):
                cells, tallest, widest = cells + 1, row, max(widest, column)
    _check_span(cells, tallest * widest)


def _is_amid(content: bytes, many: re.Match[bytes]) -> bool:
    """Whether others stand behind rows or cells: the last ones of a row and of a sheet are those without anything."""
    if b"table-column" in content[content.rfind(b"<", 0, many.start()) : many.start()]:
        return False  # how columns look, of which nearly every file tells
    end = content.find(b"table-row>" if many[1] == b"row" else b">", many.end())
    return _CLOSES.match(content, content.find(b">", end) + 1) is None


def _check_binary(sheet: bytes) -> None:
    """Records, each of a kind and a length; they are looked at one by one where the sheet says that it is large."""
    dimension = _DIMENSION.search(sheet, 0, _HEAD)
    if (
        dimension is None
        or (_number_at(sheet, dimension.start(1) + 4) + 1) * (_number_at(sheet, dimension.start(1) + 12) + 1)
        <= _MOST
    ):
        return
    cells = at = row = tallest = widest = 0
    while at < len(sheet):
        kind, at = _packed(sheet, at, 2)
        size, at = _packed(sheet, at, 4)
        if kind == 0:
            row = _number_at(sheet, at)
        elif kind in _BINARY_CELLS:
            cells, tallest, widest = cells + 1, row + 1, max(widest, _number_at(sheet, at) + 1)
        at += size
    _check_span(cells, tallest * widest)


def _number_at(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _packed(data: bytes, at: int, most: int) -> tuple[int, int]:
    """A number of at most so many bytes, seven bits in each, and where it ends."""
    number = 0
    for place in range(most):
        byte = data[at + place] if at + place < len(data) else 0
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    return number, at + most


def _check_span(cells: int, span: int) -> None:
    if span > max(_MOST, _RATIO * cells):
        raise _SparseError(f"a sheet spans {span:,} cells, of which {cells:,} hold anything")


def _span(part: IO[bytes], pattern: re.Pattern[bytes]) -> tuple[int, int, bool]:
    """How many cells a sheet has, and how many it spans; whether all are written as they mostly are."""
    cells, tallest, rest, is_sure, columns = 0, 0, b"", True, set[bytes]()
    while data := part.read(_PIECE):
        data = rest + data
        end = max(0, data.rfind(b"<"))
        rest = data[end:]
        found = pattern.findall(data, 0, end)
        is_sure = is_sure and _OTHERWISE.search(data, 0, end) is None
        cells += len(found)
        columns.update(column for column, _ in found)
        tallest = max(tallest, 0, *map(int, {row for _, row in found}))
    widest = max((_number(column) for column in columns), default=0)
    return cells, widest * tallest, is_sure


def _number(column: bytes) -> int:
    """Of a column that is called by letters."""
    return functools.reduce(lambda before, letter: 26 * before + letter - 64, column.upper(), 0)


def _as_csv(rows: Iterable[Sequence[object]]) -> tuple[bytes, dict[str, str]]:
    """Rows of cells as a text, and the types of the columns; the first row that holds anything has their names.

    Columns without anything are left out.
    """
    rows = _filled(rows)
    if not rows:
        return b"", {}
    width = max(map(len, rows))
    columns = [[_cell(row[place]) if place < len(row) else None for row in rows] for place in range(width)]
    columns = [column for column in columns if any(cell is not None for cell in column)]
    names = _names([column[0] for column in columns])
    columns = [column[1:] for column in columns]
    kinds = {name: _kind(column) for name, column in zip(names, columns, strict=True)}
    written = [
        [_text(cell, kind) for cell in column] for column, kind in zip(columns, kinds.values(), strict=True)
    ]
    text = io.StringIO()
    out = csv.writer(text, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    out.writerow(names)
    if len(written) > 1:
        out.writerows(zip(*written, strict=True))
    for cell in (
        written[0] if len(written) == 1 else ()
    ):  # the writer quotes an only cell, which makes it a text
        text.write("\n") if cell == "" else out.writerow([cell])
    return text.getvalue().encode(), kinds


def _filled(sheet: Iterable[Sequence[object]]) -> list[Sequence[object]]:
    """The names and the rows. One without anything is a row between others, unless very many are together."""
    rows: list[Sequence[object]] = []
    gap: list[Sequence[object]] = []
    for is_empty, run in itertools.groupby(sheet, _is_empty):
        if is_empty:
            gap = list(itertools.islice(run, _GAP + 1))
            continue
        rows += gap if len(rows) > 1 and len(gap) <= _GAP else ()
        rows += run
        gap = []
    return rows


def _is_empty(row: Sequence[object]) -> bool:
    return all(cell == "" for cell in row)


def _cell(cell: object) -> object:
    """A cell with the type that its value has; None where there is nothing."""
    if cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _WHOLE:
        return int(cell)
    return cell


def _kind(cells: Iterable[object]) -> str:
    held = {type(cell) for cell in cells if cell is not None}
    return next((kind for types, kind in _KINDS if held and held <= types), "string")


def _text(cell: object, kind: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if kind == "timestamp_ntz" and not isinstance(cell, dt.datetime):
        return f"{cell}T00:00:00"
    if isinstance(cell, dt.datetime):
        return cell.isoformat()
    return str(cell)


def _names(cells: Sequence[object]) -> list[str]:
    """Names of columns, each another: as the header says, else by their number."""
    names: list[str] = []
    for number, cell in enumerate(cells, 1):
        name = wanted = f"column_{number}" if cell is None else _text(cell, "string")
        while name.lower() in {one.lower() for one in names}:
            name = f"{wanted}_{number}"
            wanted = name
        names.append(name)
    return names
