"""Rows that are added to an Excel workbook of an earlier result, cell by cell: what a spreadsheet holds stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import BinaryIO, TypeAlias

from fff.errors import UsageError
from fff_cli.output.sinks.databases import TABLE
from fff_cli.output.sinks.spreadsheets import SpreadsheetWriter
from fff_sources.files.excel import sheets_of

_Row: TypeAlias = list[object]


def cells_in(file: Path) -> tuple[list[str], list[_Row]]:
    """The names of the columns and the rows below them. Raises UsageError where a file is not of a result alone."""
    try:
        sheets = sheets_of(file.read_bytes())
    except ValueError as error:
        raise UsageError(
            f"{str(file)!r} is no result as xlsx: no workbook: {error}", hint="name another file"
        ) from error
    if list(sheets) != [TABLE]:
        raise UsageError(
            f"{str(file)!r} has the sheets {', '.join(map(repr, sheets))}: rows are added to a workbook of a result alone",
            hint="name another file",
        )
    head, *rows = sheets[TABLE] or [[]]
    names = [str(name or "") for name in head]
    return names, [row[: len(names)] + [None] * (len(names) - len(row)) for row in rows]


def keys_in(file: Path, keys: Sequence[str]) -> list[tuple[object, ...]]:
    """The values of some columns, row by row."""
    return _keys_of(*cells_in(file), keys)


def _keys_of(names: Sequence[str], rows: Sequence[_Row], keys: Sequence[str]) -> list[tuple[object, ...]]:
    places = [names.index(key) for key in keys]
    return [tuple(row[place] for place in places) for row in rows]


def put_together(
    file: Path, fresh: Path, keys: Sequence[str], coming: Collection[tuple[object, ...]], out: BinaryIO
) -> tuple[tuple[int, int, int], int]:
    """Write the rows of a file but for those whose keys are coming, and then the fresh ones.

    How many stay and go, how many keys these have, and how many come.
    """
    names, held = cells_in(file)
    there = _keys_of(names, held, keys)
    kept = [row for row, key in zip(held, there, strict=True) if key not in coming]
    added = cells_in(fresh)[1]
    book = SpreadsheetWriter(out)
    book.entitle(names)
    for rows in (kept, added):
        book.put_rows(([(cell, str(cell)) for cell in row] for row in rows), len(rows))
    book.end()
    return (len(kept), len(held) - len(kept), len({key for key in there if key in coming})), len(added)
