"""What two results differ in, and the last one kept for the next watch."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from fff.access.disk.folder import private
from fff.errors import UsageError
from fff.schema import distinct_names, result_field
from fff_cli.output.adding import spelled
from fff_cli.output.values import is_number, texts

COME, GONE, CHANGED = "+", "-", "~"


@dataclass(frozen=True)
class Changes:
    """Rows with a first column that says what became of them: `-` gone, `~` changed (as they are now), `+` come."""

    rows: pa.RecordBatch
    gone: int
    changed: int
    come: int

    def __bool__(self) -> bool:
        return bool(self.gone or self.changed or self.come)


@dataclass(frozen=True)
class Pair:
    """Two results that can be compared.

    Attributes:
        before, after: with the same columns, in types that hold the values of both.
        on: the names of the columns that both had; those alone are compared.
        told: what is to be said of others, and of other types.
    """

    before: pa.Table
    after: pa.Table
    on: tuple[str, ...]
    told: tuple[str, ...] = ()


def paired(before: pa.Table, after: pa.Table) -> Pair:
    """Two results with the columns of the later one: what differs in those hides no row that has changed."""
    if not before.num_rows:
        before = after.slice(0, 0)
    elif not after.num_rows:
        after = before.slice(0, 0)
    had, has = before.schema.names, after.schema.names
    if had != has and (len(set(had)) < len(had) or len(set(has)) < len(has)):
        return Pair(before, after, (), ("the columns are others, of which some have the same name",))
    told, columns = [], []
    for place, name in enumerate(has):
        now = after.column(place)
        if name not in had:
            told.append(f"column {name} has come")
            columns.append((pa.chunked_array([pa.nulls(len(before), now.type)]), now))
            continue
        was = before.column(place if had == has else had.index(name))
        if was.type != now.type:
            if not pa.types.is_null(was.type) and not pa.types.is_null(now.type):
                told.append(f"column {name} was {_named(was.type)} and is {_named(now.type)}")
            was, now = _alike(was, now)
        columns.append((was, now))
    told += [f"column {name} has gone" for name in had if name not in has]
    both = [pa.table(list(side), names=has) for side in zip(*columns, strict=True)] or [before, after]
    return Pair(both[0], both[1], tuple(name for name in has if name in had), tuple(told))


def _named(kind: pa.DataType) -> str:
    return result_field("", kind).type


def _alike(was: pa.ChunkedArray, now: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Two columns in one type: that which holds both, else as texts."""
    with contextlib.suppress(pa.ArrowException):
        kind = _holding(was.type, now.type)
        return was.cast(kind), now.cast(kind)
    if is_number(was.type) and is_number(now.type):
        was, now = (
            pa.chunked_array([[_plain(one) for one in side.to_pylist()]], pa.string()) for side in (was, now)
        )
        return was, now
    return texts(was), texts(now)


def _holding(was: pa.DataType, now: pa.DataType) -> pa.DataType:
    """The type that holds the values of both. Raises ArrowException where there is none."""
    for day, other in ((was, now), (now, was)):
        if pa.types.is_date(day) and pa.types.is_timestamp(other):
            return other
    schemas = [pa.schema({"": one}) for one in (was, now)]
    return pa.unify_schemas(schemas, promote_options="permissive").field(0).type


def _plain(number: float | Decimal | None) -> str | None:
    """A number as a text that is the same for the same number of another type."""
    if number is None:
        return None
    if isinstance(number, float) and math.isfinite(number):
        number = int(number) if number.is_integer() else Decimal(repr(number))
    text = str(number) if isinstance(number, int) else f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def compared(
    before: pa.Table, after: pa.Table, keys: Sequence[str], on: Sequence[str] | None = None
) -> Changes:
    """What makes `after` of `before`, which has the same columns; both are bags of rows.

    Where the columns `keys` tell rows apart, one that is gone and one that has come with the same are one
    that has changed. Rows are the same that are so in the columns `on`; in all, where that is not given.

    Raises UsageError: there is no such column.
    """
    keys = spelled(keys, after.schema.names)
    for key in keys:
        if key not in after.schema.names:
            raise UsageError(
                f"the result has no column {key!r} to tell rows apart by",
                hint=f"it has {', '.join(after.schema.names)}",
            )
    on = after.schema.names if on is None else on
    old, new = _texts(before, on), _texts(after, on)
    gone, come = _surplus(old, new), _surplus(new, old)
    changed: list[int] = []
    if keys:
        was, now = _texts(before, keys), _texts(after, keys)
        once = _once(was[place] for place in gone) & _once(now[place] for place in come)
        changed = [place for place in come if now[place] in once]
        gone = [place for place in gone if was[place] not in once]
        come = [place for place in come if now[place] not in once]
    parts = [
        of.take(pa.array(places, pa.int64()))
        for of, places in ((before, gone), (after, changed), (after, come))
    ]
    marks = [GONE] * len(gone) + [CHANGED] * len(changed) + [COME] * len(come)
    rows = pa.concat_tables(parts).combine_chunks()
    columns = [pa.array(marks, pa.string()), *(_whole(column) for column in rows.columns)]
    names = distinct_names([*rows.schema.names, "change"], str)
    batch = pa.RecordBatch.from_arrays(columns, [names[-1], *names[:-1]])
    return Changes(batch, len(gone), len(changed), len(come))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.array([], column.type)


def _texts(rows: pa.Table, names: Sequence[str]) -> list[str]:
    """Rows as texts that are equal where the rows are: NaN is itself, and lists can be told apart as well."""
    columns = [rows.column(rows.schema.get_field_index(name)) for name in names]
    if len(set(names)) < len(names):
        columns = list(rows.columns)
    return [repr(row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]


def _surplus(of: Sequence[str], beyond: Sequence[str]) -> list[int]:
    """Where rows are of which the other bag has fewer."""
    left, places = Counter(beyond), []
    for place, text in enumerate(of):
        if left[text]:
            left[text] -= 1
        else:
            places.append(place)
    return places


def _once(texts: Iterator[str]) -> set[str]:
    return {text for text, times in Counter(texts).items() if times == 1}


class LastResult:
    """The last whole result of a watch: in memory, and for the next watch in a file by what is watched, where it can be."""

    def __init__(self, folder: Path | None, watched: object) -> None:
        name = hashlib.blake2b(json.dumps(watched).encode(), digest_size=16).hexdigest()
        self._file = None if folder is None else folder / "watch" / f"{name}.arrow"
        self._rows: pa.Table | None = None

    def read(self) -> pa.Table | None:
        """It, if there is one."""
        if self._rows is None and self._file is not None:
            with contextlib.suppress(OSError, pa.ArrowException), pa.OSFile(str(self._file)) as file:
                self._rows = pa.ipc.open_file(file).read_all()
        return self._rows

    def write(self, rows: pa.Table) -> str | None:
        """Keep another in its place; why it cannot be kept for the next watch, which is no reason to end this one."""
        self._rows = rows
        if self._file is None:
            return "there is no folder for it"
        draft = self._file.with_suffix(".part")
        try:
            self._file.parent.mkdir(mode=0o700, exist_ok=True)
            draft.unlink(missing_ok=True)
            with private(draft) as file, pa.ipc.new_file(file, rows.schema) as out:
                out.write_table(rows)
            draft.replace(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            return f"{str(self._file.parent)!r}: {error.strerror or error}"
        return None
