"""Frames of the running program as tables: Arrow, pandas, polars, DuckDB, Spark; whatever can hand over Arrow data."""

from __future__ import annotations

import re

import pyarrow as pa

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
            rows = rows.cast(pa.schema([field.with_type(nearest(field.type)) for field in rows.schema]))
            for field in rows.schema:
                spark_type(field.type)
        except (pa.ArrowException, ValueError) as error:
            raise UsageError(f"{name}: {error}", hint="cast the column to a type that SQL has") from None
        return cls(name, rows)

    def table(self, source: str) -> Table:
        """The frame as a table that is scanned."""
        columns = tuple(Field(field.name, spark_type(field.type), field.type) for field in self.rows.schema)
        return Table(source, self.name, columns, scans=(ScanMethod(f"{self.name}.scan", self),))


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
