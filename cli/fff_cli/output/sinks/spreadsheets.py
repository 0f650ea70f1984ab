"""Results as Excel workbooks, with the rows in a sheet `result`. The only importer of xlsxwriter."""

from __future__ import annotations

import datetime as dt
import weakref
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa

from fff.schema import shown_values
from fff_cli.output.failures import CannotWrite
from fff_cli.output.sinks.databases import TABLE
from fff_cli.output.sinks.temporary import make_folder, remove_folder
from fff_cli.output.values import texts

_ROWS, _COLUMNS, _CHARACTERS = 1_048_576, 16_384, 32_767  # that a sheet has, and a cell
_DIGITS = 15  # that a number of a spreadsheet keeps
_FIRST_DAY = dt.date(1900, 3, 1)  # before it spreadsheets count days differently
_FORMATS = {"day": "yyyy-mm-dd", "at": "yyyy-mm-dd hh:mm:ss", "at_ms": "yyyy-mm-dd hh:mm:ss.000"}


class SpreadsheetWriter:
    """An Excel workbook, written to a temporary file of its own row by row.

    Cells are numbers, dates and truth values where a spreadsheet keeps all of the value; what it would
    round is text. No text is a formula or a link.
    """

    def __init__(self, out: BinaryIO) -> None:
        import xlsxwriter  # noqa: PLC0415 - an extra

        folder = make_folder("fff-xlsx-")
        options = {"constant_memory": True, "tmpdir": folder}
        self._book = xlsxwriter.Workbook(out, options)
        self._sheet = self._book.add_worksheet(TABLE)
        self._sheet._xml_number_element = partial(_number_element, self._sheet)  # noqa: SLF001 - there is no other way in
        self._gone = weakref.finalize(self, _remove, folder, self._sheet)
        self._formats = {name: self._book.add_format({"num_format": form}) for name, form in _FORMATS.items()}
        self._row = 0

    def begin(self, schema: pa.Schema) -> None:
        """Write the header, which stays in sight."""
        self.entitle(schema.names)

    def entitle(self, names: Sequence[str]) -> None:
        """Write the names of the columns."""
        if len(names) > _COLUMNS:
            raise CannotWrite(f"a spreadsheet has {_COLUMNS:,} columns, and the result {len(names):,}")
        for place, name in enumerate(names):
            self._put_text(place, name)
        self._sheet.freeze_panes(1, 0)
        self._row = 1

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        columns = [zip(_values(column), texts(column).to_pylist(), strict=True) for column in batch.columns]
        self.put_rows(zip(*columns, strict=True), batch.num_rows)

    def put_rows(self, rows: Iterable[Iterable[tuple[object, str | None]]], count: int) -> None:
        """Write so many rows of values, each with the text that stands for it where a cell cannot hold it."""
        if self._row + count > _ROWS:
            raise CannotWrite(f"a spreadsheet has {_ROWS:,} rows", hint="write another format, or LIMIT it")
        for cells in rows:
            for place, (value, text) in enumerate(cells):
                if value is not None:
                    self._put(place, value, text or "")
            self._row += 1

    def end(self) -> None:
        """Write the workbook out."""
        from xlsxwriter.exceptions import FileCreateError, FileSizeError  # noqa: PLC0415 - an extra

        try:
            self._book.close()
        except FileCreateError as error:
            raise error.args[0] from None  # the OSError that it was
        except FileSizeError as error:
            raise CannotWrite(
                f"the spreadsheet is too large: {error}", hint="write another format"
            ) from error
        self._gone()

    def _put(self, place: int, value: object, text: str) -> None:
        if isinstance(value, bool):
            self._sheet.write_boolean(self._row, place, value)
        elif isinstance(value, int | float | Decimal) and _kept(value):
            self._sheet.write_number(self._row, place, value)
        elif isinstance(value, dt.datetime) and value.date() >= _FIRST_DAY and value.microsecond % 1000 == 0:
            shown = self._formats["at_ms" if value.microsecond else "at"]
            self._sheet.write_datetime(self._row, place, value.replace(tzinfo=None), shown)
        elif type(value) is dt.date and value >= _FIRST_DAY:
            self._sheet.write_datetime(self._row, place, value, self._formats["day"])
        else:
            self._put_text(place, text)

    def _put_text(self, place: int, text: str) -> None:
        if len(text) > _CHARACTERS:
            raise CannotWrite(
                f"a cell of a spreadsheet has {_CHARACTERS:,} characters, and a text of the result {len(text):,}",
                hint="write another format, or cut it with left()",
            )
        self._sheet.write_string(self._row, place, text)


def _number_element(
    sheet: Any, number: float | Decimal, attributes: Iterable[tuple[str, object]] = ()
) -> None:
    """A number with as many digits as it takes to read the same one: xlsxwriter writes 16."""
    text = f"{number:.16G}"
    if isinstance(number, float) and float(text) != number:
        text = f"{number:.17G}"
    said = "".join(f' {name}="{value}"' for name, value in attributes)
    sheet.fh.write(f"<c{said}><v>{text}</v></c>")


def _remove(folder: str, sheet: Any) -> None:
    """Temporary files, also those of a run that failed."""
    sheet.row_data_fh.close()
    remove_folder(folder)


def _values(column: pa.Array) -> list[object]:
    """What cells may hold; nested values are text, and binary ones too."""
    kind = column.type
    plain = pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if plain or pa.types.is_decimal(kind) or pa.types.is_date(kind):
        return shown_values(column)
    if pa.types.is_timestamp(kind):
        utc = pa.timestamp("us") if kind.tz is None else pa.timestamp("us", "UTC")
        return shown_values(column.cast(utc))
    return list(texts(column).to_pylist())


def _kept(value: float | Decimal) -> bool:
    """Whether a spreadsheet keeps all digits of a number: neither NaN nor an infinity, too."""
    if isinstance(value, float):  # of which all digits are in the file, though few programs show more than 15
        return value - value == 0
    digits = value.as_tuple().digits if isinstance(value, Decimal) else str(abs(value))
    return len(digits) <= _DIGITS
