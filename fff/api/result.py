"""What a statement gave: rows as an Arrow table, and the account of how they were found."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from fff.errors import UsageError
from fff.stats import Missing

if TYPE_CHECKING:
    from fff.engine import Outcome

ArrowTable: TypeAlias = pa.Table
ArrowSchema: TypeAlias = pa.Schema
RecordBatch: TypeAlias = pa.RecordBatch

_SHOWN_ROWS = 10
_SHOWN_WIDTH = 40  # characters of one value


class Result:
    """The rows of a statement in memory.

    Iterating gives tuples of Python values, `len` the number of rows. It stays as it is when its connection is closed;
    only `to_spark` may then no longer find a Spark.
    """

    def __init__(
        self,
        schema: ArrowSchema,
        batches: Sequence[RecordBatch],
        outcome: Outcome,
        own_frame: Callable[[ArrowTable], Any],
    ) -> None:
        self._table = pa.Table.from_batches(batches, schema=schema)
        self._outcome = outcome
        self._own_frame = own_frame

    @property
    def complete(self) -> bool:
        """Whether the answer rests on everything the sources hold; else `missing` tells what it lacks."""
        return self._outcome.complete

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The parts of tables that could not be read, or were not, and why."""
        return self._outcome.missing

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is worth knowing and no error."""
        return self._outcome.warnings

    @property
    def report(self) -> dict[str, Any]:
        """The account of the run as JSON-ready values, the same as `fff query --report` writes."""
        return self._outcome.report

    @property
    def schema(self) -> ArrowSchema:
        """Names and Arrow types of the columns."""
        return self._table.schema

    def to_arrow(self) -> ArrowTable:
        """The rows as a `pyarrow.Table`; nothing is copied."""
        return self._table

    def to_pandas(self, **options: Any) -> Any:
        """The rows as a `pandas.DataFrame`; options are those of `pyarrow.Table.to_pandas`. Raises UsageError without pandas."""
        try:
            importlib.import_module("pandas")
        except ImportError as error:
            raise UsageError("pandas is not installed", hint='pip install "fff[pandas]"') from error
        return self._table.to_pandas(**options)

    def to_spark(self, session: Any = None) -> Any:
        """The rows as a Spark DataFrame.

        Args:
            session: the Spark session it shall belong to. Without one: the session that is active in this process, else
                one in FFF's own Spark, whose data frames live as long as the connection.

        Raises:
            SparkError: Spark cannot be started, or does not take the rows.
            UsageError: FFF's own Spark is asked for and the connection is closed.
        """
        from fff.spark.session import users_session  # noqa: PLC0415 - only those who want Spark pay for it

        session = session if session is not None else users_session()
        if session is None:
            return self._own_frame(self._table)
        from fff.spark.bridge import frame_in  # noqa: PLC0415 - pyspark is imported already

        return frame_in(session, self._table)

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of Python values."""
        return list(self)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self._table.to_batches():
            columns = [column.to_pylist() for column in batch.columns]
            yield from zip(*columns, strict=True)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        header = list(self._table.schema.names)
        few = self._table.slice(0, _SHOWN_ROWS).to_batches()
        lines = [header]
        for batch in few:
            columns = [map(_cell, column.to_pylist()) for column in batch.columns]
            lines += [list(line) for line in zip(*columns, strict=True)]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        if len(self) > _SHOWN_ROWS:
            text.append("…")
        return "\n".join([*text, self._closing_line()])

    def _closing_line(self) -> str:
        rows = f"{len(self):,} row{'' if len(self) == 1 else 's'}"
        return rows if self.complete else f"{rows}, incomplete: {self._outcome.reason}"


def _cell(value: object) -> str:
    text = "NULL" if value is None else str(value)
    text = "".join(char if char.isprintable() else "�" for char in text)
    return text if len(text) <= _SHOWN_WIDTH else text[: _SHOWN_WIDTH - 1] + "…"
