"""Frames of the running program as tables: Arrow, pandas, polars, DuckDB, Spark; whatever can hand over Arrow data."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from fff.catalog import ScanMethod, Table
from fff.errors import UsageError
from fff.schema import Field, nearest, spark_type
from fff.structs import Struct

#: Rows of one page.
PAGE = 65_536


class Frame(Struct, frozen=True, eq=False):
    """The rows of a frame as they were when it was registered, in types that FFF has."""

    name: str
    rows: pa.Table

    @classmethod
    def of(cls, name: str, frame: object) -> Frame:
        """A frame under a name; raises UsageError for what cannot be a table."""
        if not re.fullmatch(r"\w+", name):
            raise UsageError(f"a table cannot be called {name!r}", hint="use letters, digits and _")
        rows = _arrow(name, frame)
        lower = [column.lower() for column in rows.column_names]
        if not lower:
            raise UsageError(f"{name}: the frame has no columns")
        if twice := sorted({column for column in lower if lower.count(column) > 1}):
            raise UsageError(
                f"{name}: two columns are called {twice[0]!r}", hint="SQL does not tell case apart"
            )
        try:
            rows = pa.table(dict(zip(rows.column_names, map(_nearest, rows.columns), strict=True)))
            for field in rows.schema:
                spark_type(field.type)
        except (pa.ArrowException, ValueError) as error:
            raise UsageError(f"{name}: {error}", hint="cast the column to a type that SQL has") from None
        return cls(name, rows)

    def table(self, source: str) -> Table:
        """The frame as a table that is scanned."""
        columns = tuple(Field(field.name, spark_type(field.type), field.type) for field in self.rows.schema)
        return Table(source, self.name, columns, scans=(ScanMethod(f"{self.name}.scan", self),))


def _nearest(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in the type that FFF has for it; raises ArrowException where a value would be another one."""
    chunks = [_plain(chunk) for chunk in column.chunks]
    return pa.chunked_array(chunks, _plain(pa.nulls(0, column.type)).type).cast(nearest(column.type))


def _plain(rows: pa.Array) -> pa.Array:
    """Rows without what Arrow cannot cast: codes of a dictionary of views (polars' categoricals), runs."""
    if pa.types.is_run_end_encoded(rows.type):
        return pc.run_end_decode(rows)
    if pa.types.is_dictionary(rows.type):
        return rows.dictionary.cast(nearest(rows.type.value_type)).take(rows.indices)
    return rows


def _arrow(name: str, frame: object) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    collect = getattr(frame, "toArrow", None)  # a frame of Spark
    try:
        return collect() if callable(collect) else pa.table(frame)
    except (TypeError, pa.ArrowException) as error:
        raise UsageError(
            f"{name}: {type(frame).__name__} is no frame that can be read: {error}",
            hint="Arrow, pandas, polars (collected) and Spark frames and DuckDB relations can",
        ) from None
