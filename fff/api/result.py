"""What a statement gave: rows as an Arrow table, and the account of how they were found."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.display.counts import counted
from fff.display.html import SHOWN_ROWS, html_table, safe_text
from fff.errors import SourceError, UsageError
from fff.schema import shown_values
from fff.stats import Missing
from fff.version import how_to_install

if TYPE_CHECKING:
    from fff.federation import RunOutcome

ArrowTable: TypeAlias = pa.Table
ArrowSchema: TypeAlias = pa.Schema
RecordBatch: TypeAlias = pa.RecordBatch

_TEXT_ROWS = 10
_TEXT_WIDTH = 40  # characters of one value
_WHOLE_IN_FLOAT = 2**53  # up to here a float of 64 bits holds every whole number


class Ended(ABC):
    """What is told of a statement that has come to its end; of one still to be iterated over a UsageError before."""

    @property
    @abstractmethod
    def outcome(self) -> RunOutcome:
        """How the statement ended."""

    @property
    def complete(self) -> bool:
        """Whether the answer rests on everything the sources hold; else `missing` tells what it lacks."""
        return self.outcome.complete

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The parts of tables that could not be read, or were not, and why."""
        return self.outcome.missing

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is worth knowing and no error."""
        return self.outcome.warnings

    @property
    def report(self) -> dict[str, Any]:
        """The account of the run as JSON-ready values, the same as `fff query --report` writes."""
        return self.outcome.report


class Result(Ended):
    """The rows of a statement in memory.

    Iterating gives tuples of Python values, `len` the number of rows; `fetchone` and its like go through them
    once. What reads Arrow data (pyarrow, pandas, polars, DuckDB) takes it as it is. It stays as it is when
    its connection is closed; only `to_spark` may then no longer find a Spark.
    """

    def __init__(
        self,
        schema: ArrowSchema,
        batches: Sequence[RecordBatch],
        outcome: RunOutcome,
        own_frame: Callable[[ArrowTable], Any],
        *,
        partial: bool,
    ) -> None:
        self._table = pa.Table.from_batches(batches, schema=schema)
        self._outcome = outcome
        self._own_frame = own_frame
        self._partial = partial  # a part was asked for, if need be
        self._fetched = 0  # rows that `fetchone` and its like have given

    @property
    def outcome(self) -> RunOutcome:
        """How the statement ended."""
        return self._outcome

    @property
    def schema(self) -> ArrowSchema:
        """Names and Arrow types of the columns."""
        return self._table.schema

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._table.schema.names)

    def to_arrow(self) -> ArrowTable:
        """The rows as a `pyarrow.Table`; nothing is copied."""
        return self._table

    def to_pandas(self, **options: Any) -> Any:
        """The rows as a `pandas.DataFrame`; options are those of `pyarrow.Table.to_pandas`.

        Whole numbers beside NULLs, which pandas has as floats, are of its type `Int64` where a float would
        change one.

        Raises UsageError without pandas, or for a value that pandas has not.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise UsageError("pandas is not installed", hint=how_to_install("pandas")) from error
        wide = [column.type for column in self._table.columns if _holds_wide_beside_null(column)]
        if wide:
            exact = {"types_mapper": {pa.int64(): pandas.Int64Dtype()}.get}
            within = {"integer_object_nulls": any(map(pa.types.is_nested, wide))}
            options = exact | within | options
        with _values_of_python("to_pandas(date_as_object=False)"):
            return self._table.to_pandas(**options)

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`.

        Raises UsageError without polars.
        """
        try:
            polars = importlib.import_module("polars")
        except ImportError as error:
            raise UsageError("polars is not installed", hint=how_to_install("polars")) from error
        return polars.from_arrow(self._table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for whatever reads streams of Arrow: pyarrow, pandas, polars, DuckDB."""
        return self._table.__arrow_c_stream__(requested_schema)

    def to_spark(self, session: Any = None) -> Any:
        """The rows as a Spark DataFrame.

        Args:
            session: the Spark session it shall belong to. Without one: the session that is active in this
                process, else one in FFF's own Spark, whose data frames live as long as the connection.

        Raises:
            SourceError: the result is not whole, and `on_source_error="partial"` was not said: a frame does
                not tell.
            SparkError: Spark cannot be started, or does not take the rows.
            UsageError: FFF's own Spark is asked for and the connection is closed.
        """
        if not (self.complete or self._partial):
            raise SourceError(
                f"the result is incomplete: {self._outcome.reason}",
                hint='with on_source_error="partial" to_spark gives what there is',
            )
        from fff.spark.session import users_session  # noqa: PLC0415 - only those who want Spark pay for it

        session = session if session is not None else users_session()
        if session is None:
            return self._own_frame(self._table)
        from fff.spark.bridge import frame_in  # noqa: PLC0415 - pyspark is imported already

        return frame_in(session, self._table)

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of Python values."""
        return list(self)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None after the last one."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """At most so many of the next rows."""
        rows = list(_tuples(self._table.slice(self._fetched, max(size, 0))))
        self._fetched += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that are left."""
        return self.fetchmany(len(self) - self._fetched)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return _tuples(self._table)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        few = _tuples(self._table.slice(0, _TEXT_ROWS), shown_values)
        lines = [self.columns, *([safe_text(value, _TEXT_WIDTH) for value in row] for row in few)]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        if len(self) > _TEXT_ROWS:
            text.append("…")
        return "\n".join([*text, self._closing_line("")])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        shown = f" ({SHOWN_ROWS:,} shown)" if len(self) > SHOWN_ROWS else ""
        rows = _tuples(self._table.slice(0, SHOWN_ROWS), shown_values)
        return html_table(self.columns, rows, self._closing_line(shown))

    def _closing_line(self, shown: str) -> str:
        rows = counted(len(self), "row") + shown
        return rows if self.complete else f"{rows}, incomplete: {self._outcome.reason}"


def _tuples(
    table: ArrowTable, values: Callable[[pa.Array], list[object]] = pa.Array.to_pylist
) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches():
        with _values_of_python():
            columns = [values(column) for column in batch.columns]
        yield from zip(*columns, strict=True)


@contextmanager
def _values_of_python(other: str = "to_arrow()") -> Iterator[None]:
    """Where Arrow has values that Python has not: beyond the years 1 to 9999; `other` is what has them."""
    try:
        yield
    except pa.ArrowException:  # some are ValueErrors, about what was asked of Arrow
        raise
    except (OverflowError, ValueError) as error:
        hint = f"{other} has it, and CAST(… AS string) makes a text of it"
        raise UsageError(f"Python has no value for one of the result's: {error}", hint=hint) from error


def _holds_wide_beside_null(values: pa.ChunkedArray | pa.Array) -> bool:
    """Whether whole numbers stand beside NULLs, one of them wider than a float holds; in lists, maps and structs, too."""
    kind = values.type
    if pa.types.is_struct(kind):
        return any(map(_holds_wide_beside_null, values.flatten()))
    if pa.types.is_map(kind):
        values = values.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
        return _holds_wide_beside_null(pc.list_flatten(values))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _holds_wide_beside_null(pc.list_flatten(values))
    if not pa.types.is_int64(kind) or not values.null_count:
        return False
    ends = pc.min_max(values).as_py().values()
    return any(end is not None and abs(end) > _WHOLE_IN_FLOAT for end in ends)
