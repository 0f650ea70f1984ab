"""The rows of a block on their way to Spark: in memory while few, in Parquet files of about 100,000 rows when many.

Files are written once and never touched again, so a running query and the fetching do not disturb each other.
Rows that do not fill a file yet are written to a file of their own for each query that wants them, and that
file goes with the query: there are never small files to merge.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from fff.errors import InvariantError, SparkError
from fff.spark.temp_folders import make_scratch, remove_scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Fewer rows are handed over in memory, which costs Spark as much as reading them from a file; more go to
#: files of this many rows, which it reads faster than smaller ones (measured in design section 8).
FILE_ROWS = 100_000
#: Wide rows fill a file, and memory, long before that.
FILE_BYTES = 64 << 20


class Spool:
    """An append-only table that Spark reads while it grows.

    `append` is meant for one thread; queries may read from others. Files are written by a thread of the
    spool's own, so that appending waits for the disk only when it is a whole file ahead of it.
    """

    def __init__(
        self, schema: pa.Schema, *, file_rows: int = FILE_ROWS, file_bytes: int = FILE_BYTES
    ) -> None:
        self.schema = schema
        self.rows = 0
        self.bytes = 0  # of the rows as Arrow holds them
        self._file_rows = file_rows
        self._file_bytes = file_bytes
        self._names = [f"c{index}" for index in range(len(schema))]  # any name at all is allowed in a query
        self._lock = threading.Lock()
        self._tail: list[pa.RecordBatch] = []  # rows in no file yet
        self._tail_rows = 0
        self._tail_bytes = 0
        self._full: list[Future[Path]] = []  # files of rows, in order
        self._folder: Path | None = None
        self._writer: ThreadPoolExecutor | None = None
        self._made = 0  # files so far, for their names
        self._closed = False

    @property
    def in_memory(self) -> bool:
        """Whether no row has gone to a file."""
        return not self._full

    def append(self, batch: pa.RecordBatch) -> None:
        """Add rows; the batch must have the spool's column types.

        Raises:
            InvariantError: the batch has other columns, or the spool is closed.
            SparkError: earlier rows could not be written.
        """
        if self._closed:
            raise InvariantError("rows appended to a closed spool")
        if batch.schema.types != self.schema.types:
            raise InvariantError(f"spool of {self.schema.types} was given {batch.schema.types}")
        with self._lock:
            self.rows += batch.num_rows
            self.bytes += batch.nbytes
            if not self._names or not batch.num_rows:
                return  # without columns a table is its number of rows
            self._tail.append(batch)
            self._tail_rows += batch.num_rows
            self._tail_bytes += batch.nbytes
            if self._tail_bytes >= self._file_bytes or self._tail_rows >= self._file_rows:
                self._cut()
            behind = self._full[-2] if len(self._full) > 1 else None
        if behind is not None:
            behind.result()

    def flush(self) -> None:
        """Wait until what is on its way to files is there; raises SparkError where it cannot be written."""
        with self._lock:
            pending = list(self._full)
        for file in pending:
            file.result()

    def files(self) -> list[Path]:
        """The files that are full and final. Rows in no file yet are not in them: `reading` gives all."""
        self.flush()
        return [file.result() for file in self._full]

    def table(self) -> pa.Table:
        """All rows as one Arrow table under the spool's own column names."""
        with self.reading() as source:
            if isinstance(source, pa.Table):
                return source
            import pyarrow.parquet as pq  # noqa: PLC0415 - 14 ms that only many rows pay

            parts = [pq.read_table(path, schema=_renamed(self.schema, self._names)) for path in source]
        return pa.concat_tables(parts).rename_columns(self.schema.names)

    @contextmanager
    def reading(self) -> Iterator[pa.Table | list[Path]]:
        """All rows of this moment: a table when they are in memory, else files whose columns are named c0, c1 and so on.

        The files stay until the end of the `with`.
        """
        with self._lock:
            tail, full = list(self._tail), list(self._full)
            self._made += 1
            number = self._made
        if not full:
            yield pa.Table.from_batches([_as(batch, self.schema) for batch in tail], schema=self.schema)
            return
        files = [file.result() for file in full]
        extra = self._write(number, tail) if tail else None
        try:
            yield files + ([extra] if extra else [])
        finally:
            if extra is not None:
                extra.unlink(missing_ok=True)

    def close(self) -> None:
        """Forget the rows and remove the files."""
        self._closed = True
        if self._writer is not None:
            self._writer.shutdown(wait=True, cancel_futures=True)
        if self._folder is not None:
            remove_scratch(self._folder)
        self._tail, self._full = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _cut(self) -> None:
        """Hand the rows in memory to the writer as one file."""
        if self._writer is None:
            self._folder = make_scratch("spool")
            self._writer = ThreadPoolExecutor(1, thread_name_prefix="fff-spool")
        self._made += 1
        self._full.append(self._writer.submit(self._write, self._made, self._tail))
        self._tail, self._tail_rows, self._tail_bytes = [], 0, 0

    def _write(self, number: int, batches: list[pa.RecordBatch]) -> Path:
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above

        assert self._folder is not None, "the folder is made with the first file"
        path = self._folder / f"part-{number:06d}.parquet"
        schema = _renamed(self.schema, self._names)
        table = pa.Table.from_batches([_as(batch, schema) for batch in batches], schema=schema)
        try:
            pq.write_table(table, path, compression="lz4", row_group_size=self._file_rows)
        except OSError as error:
            raise SparkError(
                f"rows for Spark cannot be written to {path.parent}: {error.strerror or error}",
                hint="Set TMPDIR to a folder with more room.",
            ) from error
        return path


def _renamed(schema: pa.Schema, names: list[str]) -> pa.Schema:
    return pa.schema([pa.field(name, kind) for name, kind in zip(names, schema.types, strict=True)])


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> Any:
    """The batch under other column names and nullability; its values are shared."""
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)
