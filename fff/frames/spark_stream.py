"""What `spark.readStream.format("fff")` reads: the rows of a table as they come and change."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from fff.api import connect_async
from fff.api.parts import StatementPart
from fff.catalog import Table
from fff.errors import QueryError, SourceError, UsageError
from fff.frames.asking import discovered_table, quoted_name
from fff.frames.changes import ChangedRows, ChangeOffset, in_parts
from fff.quals import ChangesSince
from fff.spark.bridge import (
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from fff.spark.messages import one_message

ArrowTable: TypeAlias = pa.Table
RecordBatch: TypeAlias = pa.RecordBatch


@dataclass(frozen=True)
class StreamedTable:
    """The table whose changes a stream gives.

    Attributes:
        sources, name, settings: where it is found, and how statements are run.
        limit: the most rows of one batch; None: all there are.
        interval: seconds between two requests for what has changed, at least.
        parts: how many tasks a batch is shared out among.
    """

    sources: tuple[str, ...]
    name: str
    settings: Mapping[str, Any]
    limit: int | None
    interval: float
    parts: int

    def __post_init__(self) -> None:
        if self.settings.get("on_source_error", "fail") != "fail":
            raise UsageError(
                "a stream cannot take a part for the whole: rows would be lost",
                hint="leave on_source_error out; the query ends, and goes on from its checkpoint",
            )
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"max_rows_per_trigger must be at least 1, not {self.limit}")

    def table(self) -> Table:
        """The table as its spec has it. Raises QueryError where it does not tell what has changed."""

        async def find() -> Table:
            async with connect_async(*self.sources, **self.settings) as connection:
                return await discovered_table(connection.federation, self.name)

        described = asyncio.run(find())
        if described.changes is None:
            raise QueryError(
                f"{described.full_name} does not tell what has changed",
                hint="where its API can, say so in the spec: changes: {column, param, lookback};"
                " else read it with spark.read",
            )
        return described

    def since(self, offset: ChangeOffset, table: Table, changes: ChangesSince) -> ArrowTable:
        """All rows that the table tells of from an offset on. Raises SourceError unless it has told all."""
        qual = offset.since(changes)
        part = StatementPart(table.full_name, table.scans[0].name, None, () if qual is None else (qual,))

        async def read() -> ArrowTable:
            async with connect_async(*self.sources, **self.settings) as connection:
                sql = f"SELECT * FROM {quoted_name(table.full_name)}"  # noqa: S608 - quoted
                batches = connection.batches(sql, part=part)
                rows = pa.Table.from_batches([batch async for batch in batches])
                if not batches.outcome.complete:
                    raise SourceError(f"{table.full_name} was not read in full: {batches.outcome.reason}")
                return rows

        return asyncio.run(read())


class ChangesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]  # of pyspark
    """Gives each change of a table once. Lives in one process of the driver for as long as the query.

    Args:
        streamed: the table.
        cast: gives rows the types Spark expects.
    """

    def __init__(
        self,
        streamed: StreamedTable,
        cast: Callable[[RecordBatch], RecordBatch],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._streamed = streamed
        self._cast = cast
        self._clock = clock
        self._table: Table | None = None
        self._rows: ChangedRows | None = None  # what was read last
        self._from = ChangeOffset()  # since when that was
        self._asked: float | None = None  # when
        self._last = False  # what comes from now on is for another run

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Nothing has been read."""
        with one_message():
            self._known()
        return ChangeOffset().told()

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """So many rows as the option says."""
        limit = self._streamed.limit
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Ask once more, and never again: a source that changes all the time would have no end."""
        self._rows, self._asked, self._last = None, None, True

    def latestOffset(  # noqa: N802
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        """How far the next batch goes; the start where nothing has changed."""
        if start is None:
            raise UsageError("streams of the data source fff need Spark 4.2 or later")
        with one_message():
            offset, most = self._offset(start), getattr(limit, "max_rows", None)
            end = offset if self._rows is None else self._rows.after(offset, most)
            if end is offset and self._due():
                end = self._read(offset).after(offset, most)
        return start if end is offset else end.told()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
        """The rows of a batch. One that was planned before a restart is read again."""
        with one_message():
            first, last = self._offset(start), self._offset(end)
            rows = self._rows
            if rows is None or not self._holds(first):
                rows = self._read(first)
            parts = in_parts(rows.between(first, last), self._streamed.parts)
        return [InputPartition(_packed(self._cast(batch) for batch in part.to_batches())) for part in parts]

    def read(self, partition: Any) -> Iterator[RecordBatch]:
        """The rows of a part, in a task."""
        with pa.ipc.open_stream(partition.value) as stream:
            yield from stream

    def _known(self) -> tuple[Table, ChangesSince]:
        if self._table is None:
            self._table = self._streamed.table()
        changes = self._table.changes
        assert changes is not None, "other tables were refused"
        return self._table, changes

    def _offset(self, stored: Mapping[str, Any]) -> ChangeOffset:
        table, changes = self._known()
        column = table.column(changes.column)
        assert column is not None, "the spec was checked"
        return ChangeOffset.of(stored, column.arrow)

    def _due(self) -> bool:
        """Whether the source may be asked again: Spark asks us every few milliseconds."""
        if self._asked is None:
            return True
        return not self._last and self._clock() - self._asked >= self._streamed.interval

    def _holds(self, start: ChangeOffset) -> bool:
        """Whether what was read last begins at that offset, or before it."""
        asked, wanted = (one.since(self._known()[1]) for one in (self._from, start))
        return asked is None or (wanted is not None and asked.value <= wanted.value)

    def _read(self, start: ChangeOffset) -> ChangedRows:
        table, changes = self._known()
        self._rows = ChangedRows(self._streamed.since(start, table, changes), changes)
        self._from, self._asked = start, self._clock()
        return self._rows


def _packed(batches: Iterator[RecordBatch]) -> bytes:
    some = list(batches)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, some[0].schema) as writer:
        for batch in some:
            writer.write_batch(batch)
    return bytes(sink.getvalue())
