"""Results as folders of Parquet files, with a folder for each value of the columns of `--partition-by`, as Hive, Spark and DuckDB have them."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from fff.errors import UsageError
from fff.schema import distinct_names, nearest
from fff.structs import lazy_pattern
from fff_cli.output.adding import different, fit, key_values, spelled, summary_of, those
from fff_cli.output.failures import CannotWrite
from fff_cli.output.files import TEMPORARY, mode_of, partial_of, put_aside, sweep
from fff_cli.output.formats import ParquetWriter
from fff_cli.output.sinks.replacing import locked, put_in_place
from fff_cli.output.values import texts

_OPEN = 100  # files written side by side
_HELD = 256 << 20  # bytes of rows that wait for their row groups, in all files together
_FILE = 256 << 20  # bytes from which rows go to another file
_MOST = 10_000  # partitions
_LONGEST = 255  # bytes that the name of a folder may have
_SHOWN = 40  # characters of one that is longer
_NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = lazy_pattern(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
#: What writers of Parquet leave beside it: of Spark, a mark and sums.
_BESIDE = lazy_pattern(r"_SUCCESS|_(?:common_)?metadata|\..*\.crc")


def check(
    path: Path,
    keys: Sequence[str],
    *,
    append: bool,
    upsert: Sequence[str] = (),
    columns: Sequence[tuple[str, Any]] | None = None,
) -> None:
    """Raise UsageError where a result cannot be written to a folder.

    Args:
        path: the folder, which may be there.
        keys: the columns it is partitioned by.
        append: whether what is there stays.
        upsert: the columns by which rows take the place of others; none: no row does.
        columns: of the result with their Arrow types, None for a type that is not known yet.
    """
    if path.exists() and not path.is_dir():
        raise UsageError(f"{str(path)!r} is a file", hint="name a folder")
    strange = next(_strange(path), None)
    if strange is not None:
        raise UsageError(
            f"{str(path)!r} holds more than results: {str(strange.relative_to(path))!r}",
            hint="name another folder: this one would be replaced as a whole",
        )
    if columns is None:
        return
    names = distinct_names((name for name, _ in columns), str)
    kinds = dict(zip(names, (kind for _, kind in columns), strict=True))
    keys, upsert = spelled(keys, names), spelled(upsert, names)
    for key in keys:
        if key not in kinds:
            raise UsageError(
                f"the result has no column {key!r} to partition by", hint=f"it has {', '.join(names)}"
            )
        if kinds[key] is not None and not _is_name(kinds[key]):
            raise UsageError(
                f"no folder can be called by the column {key}, which is {kinds[key]}",
                hint="partition by text, whole numbers, dates or truth values; cast it",
            )
    if len(set(keys)) == len(kinds):
        raise UsageError("nothing is left beside the columns of --partition-by", hint="name fewer")
    lost = next((key for key in upsert if key not in kinds), None)
    if lost is not None:
        raise UsageError(
            f"the result has no column {lost!r} to tell rows apart by", hint=f"it has {', '.join(names)}"
        )
    if append or upsert:
        _fit_into(path, keys, upsert, [(name, kind) for name, kind in kinds.items() if name not in keys])


class NewFolder:
    """A folder written under a temporary name beside its own, and renamed once the result may be seen.

    As with files, a partial result goes to a name of its own, which a whole one removes that takes the place
    of all that is there. With `append` the files of a whole result are put beside those that are there; with
    `upsert` all those whose rows stay are written beside them, and the folder is replaced.
    """

    def __init__(self, path: Path, keys: Sequence[str], *, append: bool, upsert: Sequence[str] = ()) -> None:
        self._name = path
        self._path = Path(os.path.realpath(path))
        self._beside = partial_of(path)
        self._keys = tuple(keys)
        self._append = append
        self._upsert = tuple(upsert)
        sweep(self._path.parent)
        try:
            self._temporary = Path(
                tempfile.mkdtemp(prefix=f".{self._path.name}.", suffix=TEMPORARY, dir=self._path.parent)
            )
        except OSError as error:
            raise UsageError(
                f"cannot write {str(path)!r}: {error.strerror}",
                hint="name a folder in one that may be written to",
            ) from error
        self._lock = locked(self._temporary)
        self._writer = PartitionedWriter(self._temporary, self._keys)
        self.out: BinaryIO = io.BytesIO()  # nothing but rows goes to a folder

    def writer(self) -> PartitionedWriter:
        """What writes the rows."""
        return self._writer

    def flush(self) -> None:
        """Nobody sees the folder yet."""

    def keep(self, *, aside: bool = False, whole: bool = True) -> str | None:
        """Rename it into place. Raises OSError, CannotWrite; what was there is there then."""
        target = self._beside if aside else self._path
        check(target, (), append=False)
        self._keys, self._upsert = self._writer.keys, spelled(self._upsert, self._writer.names)
        if self._append and not aside:
            return None if self._is_first(target) else self._added()
        merged = self._merged() if self._upsert and not aside else None
        self._temporary.chmod(mode_of(target, 0o777))
        put_in_place(self._temporary, target)
        self._let_go()
        if aside:
            return put_aside(self._beside, self._name)
        if (
            whole
            and not self._upsert
            and self._beside.is_dir()
            and next(_strange(self._beside), None) is None
        ):
            shutil.rmtree(self._beside, ignore_errors=True)
            return f"removed {str(self._beside)!r}, which an earlier run had left: the result is whole"
        return merged

    def _is_first(self, target: Path) -> bool:
        """Rename it into place, unless a folder is there or has come meanwhile."""
        try:
            if target.exists():
                return False
            self._temporary.chmod(mode_of(target, 0o777))
            self._temporary.rename(target)
        except OSError:
            if target.exists():
                return False
            raise
        self._let_go()
        return True

    def _added(self) -> str:
        """Put the files beside those that are there, all or none."""
        files = self._fitting()
        token, moved = uuid.uuid4().hex[:12], list[Path]()
        try:
            for file in files:
                inside = file.relative_to(self._temporary)
                target = self._path / inside.with_name(f"{file.stem}-{token}{file.suffix}")
                target.parent.mkdir(parents=True, exist_ok=True)
                file.rename(target)
                moved.append(target)
        except OSError:
            for file in moved:
                file.unlink(missing_ok=True)
            raise
        self.drop()
        return f"{str(self._name)!r}: {self._writer.rows:,} added"

    def _fitting(self) -> list[Path]:
        """The files of the result. Raises UsageError where they are none for the folder that is there."""
        files = list(_files(self._temporary))
        if files:
            import pyarrow.parquet as pq  # noqa: PLC0415 - 40 ms that only Parquet pays

            inside = [(one.name, one.type) for one in pq.read_schema(files[0])]
            _fit_into(self._path, self._keys, self._upsert, inside)
        return files

    def _merged(self) -> str:
        """Put the rows that stay beside those of the result. Raises OSError, CannotWrite, UsageError."""
        files, token = self._fitting(), uuid.uuid4().hex[:12]
        each = (_keyed(self._temporary, file, self._upsert) for file in files)
        coming = different((key for parts in each for _, keys in parts for key in keys), self._upsert)
        for file in files:
            file.rename(file.with_name(f"{file.stem}-{token}{file.suffix}"))
        kept = replaced = 0
        found = set[tuple[object, ...]]()
        for file in _files(self._path):
            stay = []
            for _, keys in _keyed(self._path, file, self._upsert):
                found |= coming.intersection(keys)
                stay.append([key not in coming for key in keys])
            left = sum(map(sum, stay))
            gone = sum(map(len, stay)) - left
            kept, replaced = kept + left, replaced + gone
            target = self._temporary / file.relative_to(self._path)
            if left or not gone:
                target.parent.mkdir(parents=True, exist_ok=True)
            if not gone:
                _same(file, target)
            elif left:
                _write_some(target, (rows for rows, _ in _keyed(self._path, file, self._upsert)), stay)
        return summary_of(self._name, kept, replaced, len(found), self._writer.rows)

    def drop(self) -> None:
        """Delete it."""
        self._writer.close()
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._let_go()

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class PartitionedWriter:
    """Writes rows to the files of their partitions, whose columns are in the names of folders and not in the files."""

    def __init__(self, folder: Path, keys: Sequence[str]) -> None:
        self._folder = folder
        self.keys = tuple(keys)  # as the result spells them, once it has begun
        self.inside = pa.schema([])  # the columns of the files
        self.names: list[str] = []
        # By their folders; the one that was written to last is the last.
        self._open: dict[str, _PartFile] = {}
        self._counts: dict[str, int] = {}  # how many files each folder has
        self.rows = 0

    def begin(self, schema: pa.Schema) -> None:
        """Take the header."""
        self.names = distinct_names(schema.names, str)
        columns = [(name, kind) for name, kind in zip(self.names, schema.types, strict=True)]
        self.keys = spelled(self.keys, self.names)
        check(self._folder, self.keys, append=False, columns=columns)
        self.inside = pa.schema([one for one in columns if one[0] not in self.keys])
        if not self.keys:
            self._file("")  # of a result without rows, too, so that it has columns

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        self.rows += batch.num_rows
        columns = dict(zip(self.names, batch.columns, strict=True))
        inside = pa.RecordBatch.from_arrays([columns[name] for name in self.inside.names], schema=self.inside)
        for folder, rows in self._parts(inside, [columns[key] for key in self.keys]):
            self._file(folder).write(rows)
        if sum(file.held for file in self._open.values()) > _HELD:
            for file in self._open.values():
                file.settle()

    def _parts(self, inside: Any, keys: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        if not keys:
            yield "", inside
            return
        each = [_folders(name, column) for name, column in zip(self.keys, keys, strict=True)]
        paths = ["/".join(parts) for parts in zip(*each, strict=True)]
        encoded = pa.array(paths, pa.string()).dictionary_encode()
        codes = encoded.indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
        for code, folder in enumerate(encoded.dictionary.to_pylist()):
            yield folder, inside.take(pa.array(order[starts[code] : starts[code + 1]]))

    def _file(self, folder: str) -> _PartFile:
        file = self._open.pop(folder, None)
        if file is not None and file.is_long():
            file.end()
            file = None
        if file is None:
            if len(self._open) >= _OPEN:
                self._open.pop(next(iter(self._open))).end()
            if folder not in self._counts and len(self._counts) >= _MOST:
                raise CannotWrite(
                    f"more than {_MOST:,} partitions",
                    hint="choose columns of --partition-by with fewer values",
                )
            number = self._counts[folder] = self._counts.get(folder, 0) + 1
            (self._folder / folder).mkdir(parents=True, exist_ok=True)
            file = _PartFile(self._folder / folder / f"part-{number - 1:05}.parquet", self.inside)
        self._open[folder] = file
        return file

    def end(self) -> None:
        """Write what is left."""
        while self._open:
            self._open.popitem()[1].end()

    def close(self) -> None:
        """Of a run that failed: close what is open."""
        for file in self._open.values():
            file.close()
        self._open.clear()


class _PartFile:
    """A Parquet file that is being written."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._out = path.open("wb")
        self._rows = ParquetWriter(self._out)
        self._rows.begin(schema)
        self.held = 0  # bytes of rows that may not be written yet

    def write(self, rows: Any) -> None:
        self._rows.write(rows)
        self.held += rows.nbytes

    def settle(self) -> None:
        self._rows.write_group()
        self.held = 0

    def is_long(self) -> bool:
        return self._out.tell() > _FILE

    def end(self) -> None:
        self._rows.end()
        self._out.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # already told by whoever failed to write
            self._out.close()


def _folders(name: str, column: Any) -> list[str]:
    """The name of the folder of each row."""
    encoded = texts(column).dictionary_encode()
    named = _escaped(name)
    folders: list[str] = []
    for text in encoded.dictionary.to_pylist():
        if text in ("", _NULL):
            raise CannotWrite(
                f"a row has {text!r} in {name}, which the name of a folder does not tell from NULL",
                hint=f"nullif({name}, {text!r}), or another column",
            )
        folder = f"{named}={_escaped(text)}"
        if len(os.fsencode(folder)) > _LONGEST:
            raise CannotWrite(
                f"a row has {text[:_SHOWN]!r}… in {name}, which is too long for the name of a folder",
                hint=f"left({name}, {_SHOWN}), or another column",
            )
        folders.append(folder)
    indices = encoded.indices.to_pylist()
    return [f"{named}={_NULL}" if index is None else folders[index] for index in indices]


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def _is_name(kind: Any) -> bool:
    plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind)
    return bool(plain or pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _strange(folder: Path) -> Iterator[Path]:
    """What is in a folder that no writer of Parquet has put there."""
    for path in folder.rglob("*") if folder.is_dir() else ():
        if path.is_symlink() or not (
            (path.is_dir() and "=" in path.name)
            or (path.is_file() and (path.suffix == ".parquet" or _BESIDE.fullmatch(path.name)))
        ):
            yield path


def _files(folder: Path) -> Iterator[Path]:
    """The Parquet files in a folder."""
    return (file for file in sorted(folder.rglob("*.parquet")) if file.is_file())


def _keyed(
    folder: Path, file: Path, names: Sequence[str]
) -> Iterator[tuple[Any, Sequence[tuple[object, ...]]]]:
    """The rows of a file, in pieces, and their keys; of the columns that are folders, as texts."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - 40 ms that only Parquet pays

    parts = (part.partition("=") for part in file.relative_to(folder).parts[:-1])
    said = {unquote(name): None if text == _NULL else unquote(text) for name, _, text in parts}
    try:
        with pq.ParquetFile(file) as opened:
            for rows in opened.iter_batches():
                columns = [
                    [said[name]] * rows.num_rows if name in said else key_values(rows.column(name))
                    for name in names
                ]
                yield rows, list(zip(*columns, strict=True))
    except (KeyError, pa.ArrowException) as error:
        raise CannotWrite(f"cannot read {str(file)!r}: {error}") from error


def _write_some(target: Path, parts: Iterable[Any], stay: Iterable[Sequence[bool]]) -> None:
    """Write those rows of a file that stay, with its own columns."""
    out: _PartFile | None = None
    for rows, marks in zip(parts, stay, strict=True):
        out = out or _PartFile(target, rows.schema)
        out.write(those(rows, marks))
    assert out is not None, "a row stays"
    out.end()


def _same(file: Path, target: Path) -> None:
    """The same file under another name, too: nobody writes to it."""
    try:
        os.link(file, target)
    except OSError:
        shutil.copy2(file, target)


def _fit_into(
    folder: Path, keys: Sequence[str], upsert: Sequence[str], inside: Sequence[tuple[str, Any]]
) -> None:
    """Raise UsageError where a folder has other columns, or other partitions, than a result.

    The first file has its columns. All have those by which rows take the place of others (`upsert`), each as
    the result has it; what else is in them stays as it is, as where columns have come over the years.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - 40 ms that only Parquet pays

    for number, file in enumerate(_files(folder)):
        if number and not upsert:
            return
        parts = [part.partition("=")[0] for part in file.relative_to(folder).parts[:-1]]
        if parts != [_escaped(key) for key in keys]:
            raise UsageError(
                f"{str(file)!r} is partitioned by {', '.join(parts) or 'nothing'}",
                hint="give the same to --partition-by, or name another folder",
            )
        try:
            held = {one.name: one.type for one in pq.read_schema(file)}
        except (OSError, pa.ArrowException) as error:
            raise UsageError(f"cannot read {str(file)!r}: {error}") from error
        if not number:
            fit(file, _kinds(held.items(), str), _kinds(inside, str))
            continue
        wanted = [one for one in inside if one[0] in upsert]
        for key, _ in wanted:
            if key not in held:
                raise UsageError(
                    f"{str(file)!r} has no column {key!r} to tell rows apart by",
                    hint="name columns that all files have, or another folder",
                )
        apart = [
            (key, kind) for key, kind in wanted if kind is not None and not _is_found_in(kind, held[key])
        ]
        fit(file, _kinds([(key, held[key]) for key, _ in apart], _found_by), _kinds(apart, _found_by))


def _kinds(columns: Iterable[tuple[str, Any]], kind_of: Callable[[Any], str]) -> list[tuple[str, str | None]]:
    return [(name, None if kind is None else kind_of(kind)) for name, kind in columns]


def _is_found_in(kind: Any, held: Any) -> bool:
    """Whether values of one type are found in a column of another, as Python compares them.

    A decimal 0.1 is none of its doubles.
    """
    kinds = {_found_by(kind), _found_by(held)}
    return (
        pa.types.is_null(held) or len(kinds) == 1 or kinds in ({"integer", "double"}, {"integer", "decimal"})
    )


def _found_by(kind: Any) -> str:
    """What two columns have in common where values of one are found in the other."""
    of = pa.types
    numbers = {"integer": of.is_integer, "double": of.is_floating, "decimal": of.is_decimal}
    return next((name for name, is_one in numbers.items() if is_one(kind)), str(nearest(kind)))
