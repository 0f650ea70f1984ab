"""Results that are added to a file: rows behind those that are there (`--append`), or in the place of some (`--upsert`)."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.display.counts import counted
from fff.errors import UsageError
from fff.schema import distinct_names, nearest
from fff_cli.output.failures import CannotWrite
from fff_cli.output.files import NewFile, is_special, mode_of
from fff_cli.output.formats import Writer, writer
from fff_cli.output.readback import first_line, read_back
from fff_cli.output.sinks import duck, workbooks
from fff_cli.output.sinks.databases import TABLE, affinity, kind_of, names_there, quoted

#: The formats that rows can be added to.
ADDABLE = ("csv", "tsv", "ndjson", "parquet", "sqlite", "duckdb", "xlsx")

#: Types of Arrow that hold texts and bytes.
_TEXT = r"((?:large_)?(string|binary)(?:_view)?)"
#: Names and types of columns, where both are known; a type is as the format has it.
Header: TypeAlias = Sequence[tuple[str, str | None]]


def columns_of(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that `--upsert` names: each time one, or several between commas. Raises UsageError for one named twice."""
    columns = tuple(name.strip() for text in names for name in text.split(",") if name.strip())
    twice = next((name for name, times in Counter(map(str.lower, columns)).items() if times > 1), None)
    if twice is not None:
        raise UsageError(f"the column {twice!r} is named twice", hint="keep one of the two")
    return columns


def spelled(keys: Iterable[str], names: Sequence[str]) -> tuple[str, ...]:
    """Columns as a result spells them: SQL's names are the same in any case. Those it has not stay as they are."""
    by_lower = {name.lower(): name for name in reversed(names)}
    return tuple(key if key in names else by_lower.get(key.lower(), key) for key in keys)


def check(
    file: Path | None, form: str, keys: Sequence[str], columns: Sequence[tuple[str, Any]] | None = None
) -> None:
    """Raise UsageError where a result cannot be added to what is in a file.

    `columns` are those of the result with their Arrow types, None for a type that is not known yet.
    """
    option = "--upsert" if keys else "--append"
    if file is None or is_special(file):
        raise UsageError(f"{option} is for a result in a file", hint="name the file with -O FILE")
    if form not in ADDABLE:
        raise UsageError(f"nothing can be added to a file as {form}", hint=f"one of {', '.join(ADDABLE)}")
    if columns is None:
        return
    wanted = _header(form, columns)
    names = [name for name, _ in wanted]
    lost = [key for key in spelled(keys, names) if key not in names]
    if lost:
        raise UsageError(
            f"the result has no column {lost[0]!r} to tell rows apart by", hint=f"it has {', '.join(names)}"
        )
    if file.exists():
        fit(file, _held(file, form), wanted)


class AddedTo(NewFile):
    """A result that is put to what is in a file once it is there: all of it, or nothing.

    Args:
        path: the file; made where it is not there.
        form: of both.
        keys: columns by which rows take the place of others; none: all that are there stay.
    """

    def __init__(self, path: Path, form: str, keys: Sequence[str]) -> None:
        super().__init__(path)
        self.among_others()
        self._file, self._form, self._keys = path, form, tuple(keys)

    def keep(self, *, aside: bool = False, whole: bool = True) -> str | None:
        """Add it; `aside`: where it takes no other's place."""
        if aside:
            return super().keep(aside=aside, whole=whole)
        fresh = self.written()
        if self._keys:
            self._keys = spelled(self._keys, [name for name, _ in _held(fresh, self._form)])
        with _clear(self._file):
            coming = self._coming(fresh)
            if not self._file.exists() and self._is_first():
                self.drop()
                return None
            match self._form:
                case "sqlite":
                    summary: str | None = self._into_database(fresh)
                case "duckdb":
                    summary = self._into_duckdb(fresh)
                case _:
                    summary = self._rewritten(fresh, coming)
        self.drop()
        return summary

    def _is_first(self) -> bool:
        """Put it where no file is; False where one has come meanwhile."""
        self._temporary.chmod(mode_of(self._path, 0o666))
        try:
            os.link(self._temporary, self._path)
        except FileExistsError:
            return False
        except OSError:  # a disk without links, where of two at once the later one stays
            super().keep()
        return True

    def _coming(self, fresh: Path) -> set[tuple[object, ...]]:
        """The keys of the result. Raises CannotWrite."""
        if not self._keys:
            return set()
        if self._form == "xlsx":
            return different(workbooks.keys_in(fresh, self._keys), self._keys)
        parts = (
            rows for rows in _parts(fresh, self._form) if rows.num_columns
        )  # NDJSON without rows has none
        return different((key for rows in parts for key in _keys_of(rows, self._keys)), self._keys)

    def _rewritten(self, fresh: Path, coming: set[tuple[object, ...]]) -> str:
        fit(self._file, _held(self._file, self._form), _held(fresh, self._form))
        target = NewFile(self._file).among_others()
        try:
            if self._form == "ndjson":
                before, added = self._lines(fresh, coming, target)
            elif self._form == "xlsx":
                before, added = workbooks.put_together(self._file, fresh, self._keys, coming, target.out)
            else:
                before, added = self._tables(fresh, coming, target)
            target.keep()
        finally:
            target.drop()
        return summary_of(self._file, *before, added)

    def _tables(
        self, fresh: Path, coming: set[tuple[object, ...]], target: NewFile
    ) -> tuple[tuple[int, int, int], int]:
        out: Writer = writer(self._form, target.out, None)
        schema = pa.schema([])  # of the file
        kept = replaced = added = 0
        found = set[tuple[object, ...]]()
        for index, (file, keys) in enumerate(((self._file, coming), (fresh, set()))):
            for number, rows in enumerate(_parts(file, self._form)):
                if not index and not number:
                    schema = rows.schema if self._form != "parquet" else _holding(rows.schema, file, fresh)
                    out.begin(schema)
                left = rows
                if keys:
                    here = list(_keys_of(rows, self._keys))
                    found |= keys.intersection(here)
                    left = those(rows, [key not in keys for key in here])
                left = left if left.schema == schema else self._cast(left, schema)
                for batch in left.combine_chunks().to_batches():
                    out.write(batch)
                if index:
                    added += left.num_rows
                else:
                    kept, replaced = kept + left.num_rows, replaced + rows.num_rows - left.num_rows
        out.end()
        return (kept, replaced, len(found)), added

    def _cast(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """Rows in the types of the file, or in those that hold the values of the result as well."""
        try:
            return rows.cast(schema)
        except pa.ArrowInvalid as error:
            if "timestamp[ns" not in str(error):
                raise
            raise CannotWrite(
                f"{str(self._file)!r} has nanoseconds, and the result years that a type with these does not reach "
                "(before 1678 or behind 2261)",
                hint="name another file with -O",
            ) from None

    def _lines(
        self, fresh: Path, coming: set[tuple[object, ...]], target: NewFile
    ) -> tuple[tuple[int, int, int], int]:
        kept = replaced = added = 0
        found = set[tuple[object, ...]]()
        with self._file.open("rb") as lines:
            for line in filter(bytes.strip, lines):
                key = next(_keys_of(first_line(line), self._keys)) if coming else ()
                if key in coming:
                    found.add(key)
                    replaced += 1
                    continue
                target.out.write(line.rstrip(b"\r\n") + b"\n")
                kept += 1
        with fresh.open("rb") as lines:
            for line in lines:
                target.out.write(line)
                added += 1
        return (kept, replaced, len(found)), added

    def _into_database(self, fresh: Path) -> str:
        """In one transaction of SQLite's."""
        wanted = _held(fresh, "sqlite")
        names = [quoted(name) for name, _ in wanted]
        listed = ", ".join(names)
        with contextlib.closing(sqlite3.connect(self._file, isolation_level=None)) as database:
            database.execute("ATTACH ? AS fresh", (str(fresh),))
            database.execute("BEGIN IMMEDIATE")
            fit(self._file, _header_in(database, self._file), wanted)
            (before,) = database.execute(f"SELECT count(*) FROM main.{TABLE}").fetchone()  # noqa: S608 - a name of ours
            replaced, found, keys = 0, 0, ", ".join(map(quoted, self._keys))
            if keys:
                met = f"({keys}) IN (SELECT {keys} FROM main.{TABLE})"  # noqa: S608 - names are quoted
                (found,) = database.execute(f"SELECT count(*) FROM fresh.{TABLE} WHERE {met}").fetchone()  # noqa: S608 - names are quoted
                same = f"({keys}) IN (SELECT {keys} FROM fresh.{TABLE})"  # noqa: S608 - names are quoted
                replaced = database.execute(f"DELETE FROM main.{TABLE} WHERE {same}").rowcount  # noqa: S608 - names are quoted
            insert = f"INSERT INTO main.{TABLE} ({listed}) SELECT {listed} FROM fresh.{TABLE}"  # noqa: S608 - names are quoted
            added = database.execute(insert).rowcount
            database.execute("COMMIT")
        return summary_of(self._file, before - replaced, replaced, found, added)

    def _into_duckdb(self, fresh: Path) -> str:
        """In one transaction of DuckDB's."""
        fit(self._file, _held(self._file, "duckdb"), _held(fresh, "duckdb"))
        return summary_of(self._file, *duck.put_into(self._file, fresh, self._keys))


def different(keys: Iterable[tuple[object, ...]], names: Sequence[str]) -> set[tuple[object, ...]]:
    """The keys of a result. Raises CannotWrite where they do not tell its rows apart."""
    times, columns = Counter(keys), ", ".join(names)
    if any(None in key for key in times):
        raise CannotWrite(f"a row of the result has NULL in {columns}, which is no key")
    twice = next((key for key, count in times.items() if count > 1), None)
    if twice is not None:
        raise CannotWrite(
            f"two rows of the result have {columns} = {', '.join(map(str, twice))}",
            hint="choose columns that tell its rows apart",
        )
    return set(times)


def those(rows: Any, stay: Sequence[bool]) -> Any:
    """Some rows of a table or a batch. Arrow takes none of views of texts, which are texts meanwhile."""
    plain = pa.schema(
        [one.with_type(nearest(one.type)) if "_view" in str(one.type) else one for one in rows.schema]
    )
    marks = pa.array(stay, pa.bool_())
    return rows.filter(marks) if plain == rows.schema else rows.cast(plain).filter(marks).cast(rows.schema)


def summary_of(file: Path, kept: int, replaced: int, found: int, came: int) -> str:
    """What came of it, for people: rows that stay and that others have replaced, by how many of those that came."""
    text = f"{came - found:,} added"
    if replaced:
        text += f", {replaced:,} replaced" + ("" if found == replaced else f" by {found:,}")
    return f"{str(file)!r}: {text}, {counted(kept + came, 'row')}"


def _header(form: str, columns: Sequence[tuple[str, Any]]) -> list[tuple[str, str | None]]:
    """Columns as a format has them."""
    names = [name for name, _ in columns]
    if form == "sqlite":
        kinds = [None if kind is None else kind_of(kind) for _, kind in columns]
        return list(zip(names_there(names), kinds, strict=True))
    if form == "duckdb":
        return _in_duckdb(columns)
    kinds = [None if kind is None or form != "parquet" else str(kind) for _, kind in columns]
    return list(
        zip(names if form in ("csv", "tsv", "xlsx") else distinct_names(names, str), kinds, strict=True)
    )


def _in_duckdb(columns: Sequence[tuple[str, Any]]) -> list[tuple[str, str | None]]:
    known = [(name, pa.null() if kind is None else kind) for name, kind in columns]
    header = duck.header_of(pa.schema(known).empty_table())
    return [
        (name, None if kind is None else text)
        for (name, text), (_, kind) in zip(header, columns, strict=True)
    ]


def _held(file: Path, form: str) -> list[tuple[str, str | None]]:
    """The columns of a file; none where it says nothing of them. Raises UsageError."""
    match form:
        case "parquet":
            import pyarrow.parquet as pq  # noqa: PLC0415 - 40 ms that only Parquet pays

            try:
                return [(field.name, str(field.type)) for field in pq.read_schema(file)]
            except (OSError, pa.ArrowException) as error:
                raise UsageError(f"{str(file)!r} is no Parquet file: {error}") from error
        case "sqlite":
            with _clear(file), contextlib.closing(sqlite3.connect(file)) as database:
                return _header_in(database, file)
        case "duckdb":
            with _clear(file):
                return list(duck.header_in(file))
        case "xlsx":
            return [(name, None) for name in workbooks.cells_in(file)[0]]
        case "ndjson":
            with file.open("rb") as lines:
                line = next(filter(bytes.strip, lines), None)
            with _clear(file):
                return [] if line is None else [(name, None) for name in first_line(line).schema.names]
        case _:
            return [(name, None) for name in read_back(file, form).schema.names]


def _header_in(database: sqlite3.Connection, file: Path) -> list[tuple[str, str | None]]:
    columns = database.execute(f"PRAGMA main.table_info({TABLE})").fetchall()
    if not columns:
        raise UsageError(f"{str(file)!r} has no table {TABLE!r} to add rows to", hint="name another file")
    return [(name, affinity(kind)) for _, name, kind, *_ in columns]


def fit(file: Path, held: Header, wanted: Header) -> None:
    """Raise UsageError where the columns of a file are others than those of a result."""
    if not held or not wanted:  # NDJSON without rows
        return
    had, has = [name for name, _ in held], [name for name, _ in wanted]
    hint = "give the columns of the file, in its order, or name another file"
    if had != has:
        raise UsageError(
            f"the result has the columns {', '.join(has)}, and {str(file)!r} has {', '.join(had)}", hint=hint
        )
    for (name, old), (_, new) in zip(held, wanted, strict=True):
        if new is not None and old is not None and not _fits(old, new):
            raise UsageError(
                f"the column {name} is {new} in the result, and {old} in {str(file)!r}",
                hint="cast it, or name another file",
            )


def _fits(old: str, new: str) -> bool:
    """Whether values of one type go into a column of another as they are."""
    return _plain(old) == _plain(new) or (old == "NUMERIC" and new in ("INTEGER", "REAL"))


def _plain(kind: str) -> str:
    """A type as SQL has it: without what Parquet calls the parts of lists, and how Arrow holds texts and moments."""
    plain = re.sub(r" \('[^']*'\)", "", kind.lower().replace("list<element: ", "list<item: "))
    plain = re.sub(rf"dictionary<values=({_TEXT}), indices=\w+, ordered=\w+>", r"\1", plain)
    plain = re.sub(rf"\b{_TEXT}\b", r"\2", plain).replace("large_list<", "list<")
    return re.sub(r"timestamp\[\w+", "timestamp[us", plain)


def _parts(file: Path, form: str) -> Iterator[pa.Table]:
    """The rows of a file, of Parquet in bounded pieces; at least one."""
    if form != "parquet":
        yield read_back(file, form)
        return
    import pyarrow.parquet as pq  # noqa: PLC0415 - 40 ms that only Parquet pays

    with pq.ParquetFile(file) as rows:
        yield rows.schema_arrow.empty_table()
        for batch in rows.iter_batches():
            yield pa.Table.from_batches([batch])


def _holding(schema: pa.Schema, *files: Path) -> pa.Schema:
    """The columns of the first file in types that hold the values of all: its own, unless these are too narrow."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - 40 ms that only Parquet pays

    count = sum(pq.read_metadata(file).num_rows for file in files)
    fields = [one.with_type(_coded(one.type, count)) for one in schema]
    for rows in (part for file in files[1:] for part in _parts(file, "parquet")):
        for place, (field, column) in enumerate(zip(fields, rows.columns, strict=True)):
            if column.null_count:
                fields[place] = field.with_nullable(True)
            try:
                column.cast(field.type)
            except pa.ArrowException:
                fields[place] = fields[place].with_type(nearest(field.type))
    return pa.schema(fields)


def _coded(kind: pa.DataType, count: int) -> pa.DataType:
    """A dictionary's type that has codes for so many values."""
    if pa.types.is_dictionary(kind) and count > 1 << (kind.index_type.bit_width - 1):
        return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
    return kind


def _keys_of(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """What a line of NDJSON has no field for is NULL, which no key is."""
    columns = (
        key_values(rows.column(name)) if name in rows.column_names else [None] * len(rows) for name in names
    )
    return zip(*columns, strict=True)


def key_values(column: Any) -> list[object]:
    """Values that are equal where they are in SQL: Python's NaN differs from itself, and its lists have no hash."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":  # which Python's moments are not
        micros = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        same = pc.fill_null(pc.equal(micros.cast(column.type), column), True)
        return [
            moment if is_so else (moment, "and a part")
            for moment, is_so in zip(micros.to_pylist(), same.to_pylist(), strict=True)
        ]
    return [
        math.nan if value != value else repr(value) if isinstance(value, (list, dict)) else value  # noqa: PLR0124 - which is so of NaN alone
        for value in column.to_pylist()
    ]


@contextlib.contextmanager
def _clear(file: Path) -> Iterator[None]:
    """Turn what a database or a reader of JSON says of a file into CannotWrite."""
    kinds = (sqlite3.Error, pa.ArrowException, ValueError, TypeError, KeyError, AttributeError)
    try:
        yield
    except (*kinds, *duck.failures_so_far()) as error:
        raise CannotWrite(f"cannot add to {str(file)!r}: {error}") from error
