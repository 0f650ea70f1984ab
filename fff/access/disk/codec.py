"""Rows and keys as bytes."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from fff.access.disk.discretion import Discretion
from fff.access.disk.folder import name_file
from fff.access.disk.index import KeptAnswer
from fff.access.key_index import KeyNumbers, all_have, rows_having
from fff.catalog import Key, Keys
from fff.quals import Qual, Quals, text_of
from fff.structs import Struct

#: Rows that are written together.
_TOGETHER = 10_000
_EXACT = (str, bool, int, float, bytes, dt.date, dt.datetime, decimal.Decimal)


def key_bytes(key: Key) -> bytes | None:
    """A text that no two different keys share; None for a key with a value whose text might be another's.

    Equal keys may have several texts, which costs a request and nothing else.
    """
    texts = [f"{type(value).__name__}:{value!r}" for value in key if type(value) in _EXACT]
    return "\x1f".join(texts).encode() if len(texts) == len(key) else None


def key_part(key: Key, names: Sequence[str], some: Sequence[str]) -> Key:
    """The values of some of the columns that a key is for."""
    if names == some:
        return key
    values = dict(zip(names, key, strict=True))
    return tuple(values[name] for name in some)


def quals_bytes(quals: Quals) -> bytes:
    """Qualifiers as a text that `quals_from` reads."""
    parts = [(one.column, one.operator, type(one.value).__name__, text_of(one.value)) for one in quals]
    return json.dumps(parts).encode()


def quals_from(text: bytes) -> Quals | None:
    """The qualifiers again; None where the text is damaged."""
    try:
        return tuple(
            Qual(column, operator, _READ[kind](value)) for column, operator, kind, value in json.loads(text)
        )
    except (ValueError, KeyError, TypeError, ArithmeticError):
        return None


def keys_bytes(keys: Keys) -> bytes | None:
    """Keys as a text that `keys_from` reads; None where one has a value of another type."""
    kinds = [[type(value).__name__ for value in key] for key in keys]
    if not all(kind in _READ for key in kinds for kind in key):
        return None
    texts = [list(map(text_of, key)) for key in keys]
    return json.dumps([kinds, texts]).encode()


def keys_from(text: bytes) -> list[Key]:
    """The keys again, of a text that is as it was written."""
    return [
        tuple(_READ[kind](value) for kind, value in zip(*key, strict=True))
        for key in zip(*json.loads(text), strict=True)
    ]


_READ: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": "True".__eq__,
    "Decimal": decimal.Decimal,
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
}


def packed(rows: pa.RecordBatch) -> bytes | None:
    """Rows without their schema; None where there are none."""
    # A copy: of a part of other rows some of what is beside it would be written as well.
    return pa.concat_batches([rows]).serialize().to_pybytes() if len(rows) else None


def unpacked(body: bytes | None, schema: pa.Schema) -> pa.RecordBatch:
    """The rows again. Raises pa.ArrowException where the schema is another."""
    if body is None:
        return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)
    return pa.ipc.read_record_batch(pa.py_buffer(body), schema)


def by_key(rows: pa.RecordBatch, columns: Sequence[str], keys: Keys) -> list[pa.RecordBatch]:
    """For each key, in their order, the rows that have it. Rows with none of the keys are left out."""
    if len(keys) == 1:
        return [rows_having(rows, columns, keys)]
    arrays = [rows.column(name) for name in columns]
    numbers = KeyNumbers([array.type for array in arrays])
    wanted = numbers.number_keys(keys)
    had = numbers.number(arrays)
    return [rows.filter(pa.array(had == number)) for number in wanted]


class Brought(Struct, frozen=True):
    """The rows that a source has answered for some keys, and when it was asked."""

    keys: Keys
    rows: pa.RecordBatch
    fetched: float


def answers_of(
    brought: Sequence[Brought], columns: Sequence[str], discretion: Discretion
) -> list[KeptAnswer]:
    """What came for keys of these columns, by key and ready to be kept, but for that in which a secret stands.

    Most answers are looked at together, as that costs little more than one of them does.
    """
    answers, order = [], tuple(sorted(columns))
    for key, own, fetched in _each_key(brought, columns):
        if (text := key_bytes(key_part(key, columns, order))) is not None:
            answers.append((KeptAnswer(text, packed(own), b"", len(own), fetched), own))
    if not _tell(answers, discretion):
        return [one for one, _ in answers]
    return [one for one, rows in answers if not _tell([(one, rows)], discretion)]


def _tell(answers: Sequence[tuple[KeptAnswer, pa.RecordBatch]], discretion: Discretion) -> bool:
    """Whether a secret stands in one of the answers."""
    texts = b"\0".join([text for one, _ in answers for text in (one.key, one.body or b"")])
    return discretion.in_text(texts) or discretion.in_numbers(*(rows for _, rows in answers))


def _each_key(
    brought: Sequence[Brought], columns: Sequence[str]
) -> Iterator[tuple[Key, pa.RecordBatch, float]]:
    """Every key that something was brought for, the rows that have it, and when they were asked for."""
    alone = [one for one in brought if len(one.keys) == 1]
    right = all_have([one.rows for one in alone], columns, [one.keys[0] for one in alone]) if alone else []
    known = {id(one) for one, is_right in zip(alone, right, strict=True) if is_right}
    for one in brought:
        own = [one.rows] if id(one) in known else by_key(one.rows, columns, one.keys)
        yield from zip(one.keys, own, repeat(one.fetched))


class ScanFile:
    """A file that takes the rows of a scan: whole when it is finished, or not there at all.

    Args:
        file: open for writing, of no name or that of `path` with `.part` behind it.
        path: where it will be.
        schema: of the rows.
        limit: bytes beyond which it is given up.
    """

    def __init__(self, file: IO[bytes], path: Path, schema: pa.Schema, limit: int) -> None:
        self.path = path
        self.part = path.with_name(f"{path.name}.part")
        self.rows = 0
        self._schema = schema
        self._limit = limit
        self._file: IO[bytes] | None = file
        self._writer = pa.ipc.new_stream(file, schema)
        self._waiting: list[pa.RecordBatch] = []
        self._count = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Take in rows, unless the file has been given up."""
        if self._file is None:
            return
        if not rows.schema.equals(self._schema):
            self.drop()  # of a source that does not keep to what it declares: not to be kept
            return
        self.rows += len(rows)
        self._count += len(rows)
        self._waiting.append(rows)
        if self._count >= _TOGETHER:
            self._write()

    def finish(self) -> bool:
        """Write the rest, under the name of the part; whether all is there. Raises OSError."""
        self._write()
        if self._file is None:
            return False
        self._writer.close()
        name_file(self._file, self.part)
        self._file.close()
        self._file = None
        return True

    def drop(self) -> None:
        """Leave nothing behind, unless it has become what it was to be. May be called again."""
        file, self._file = self._file, None
        self._waiting = []
        if file is not None:
            _closed(file)
        _removed(self.part)

    def _write(self) -> None:
        waiting, self._waiting, self._count = self._waiting, [], 0
        if self._file is None or not waiting:
            return
        try:
            self._writer.write_batch(pa.concat_batches(waiting))
            full = self._file.tell() > self._limit
        except OSError:
            full = True
        if full:
            self.drop()


def _closed(file: IO[bytes]) -> None:
    try:
        file.close()
    except OSError:
        return  # the disk is full: what could not be written is not wanted


def _removed(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # it has lost its folder, or belongs to somebody else; the sweep takes what it may
