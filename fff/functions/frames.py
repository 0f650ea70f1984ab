"""Frames of the running program as tables: Arrow, pandas, polars, DuckDB, Spark; whatever can hand over Arrow data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import pyarrow as pa

from fff.catalog import ScanMethod, Table
from fff.errors import UsageError
from fff.functions.values import changed
from fff.schema import frame_field, in_nearest, nearest
from fff.stats import RunOutcome
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
        columns = {}
        for column, values in zip(rows.column_names, rows.columns, strict=True):
            try:
                kind = frame_field(column, nearest(values.type)).arrow
                columns[column] = pa.chunked_array(map(in_nearest, values.chunks), kind)
            except (pa.ArrowException, ValueError) as error:
                hint = "cast the column to a type that SQL has"
                raise UsageError(f"{name}.{column}: {error}", hint=hint) from None
        return cls(name, pa.table(columns))

    def table(self, source: str) -> Table:
        """The frame as a table that is scanned."""
        columns = tuple(frame_field(field.name, field.type) for field in self.rows.schema)
        return Table(source, self.name, columns, scans=(ScanMethod(f"{self.name}.scan", self),))


def _arrow(name: str, frame: object) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    outcome = getattr(frame, "outcome", None) if hasattr(type(frame), "outcome") else None
    if isinstance(outcome, RunOutcome) and not outcome.complete:
        raise UsageError(
            f"{name}: the result is incomplete, and what is made of it would look whole: {outcome.reason}",
            hint="take its rows where a part will do: result.to_arrow()",
        )
    if hasattr(frame, "collect_schema"):  # of polars, which may be lazy
        frame = frame.lazy().collect()  # type: ignore[attr-defined]
    collect = getattr(frame, "toArrow", None)  # a frame of Spark
    try:
        if isinstance(frame, dict) or hasattr(
            frame, "iloc"
        ):  # of pandas: arrays that the program may write to
            frame = deepcopy(frame)
        rows = pa.table(collect() if callable(collect) else frame)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise UsageError(
            f"{name}: {type(frame).__name__} is no frame that can be read: {error}",
            hint="Arrow, pandas, polars and Spark frames and DuckDB relations can; to_frame() makes one of a series",
        ) from None
    kinds = zip(rows.column_names, getattr(frame, "dtypes", ()), strict=False)
    pointers = [column for column, kind in kinds if str(kind) == "Object"]  # polars hands them over as bytes
    if pointers:
        raise UsageError(f"{name}.{pointers[0]}: objects of Python are no values", hint="cast the column")
    for place, values in enumerate(_columns(frame)):
        made = rows.column(place)
        if _holds_objects(values) and not (pa.types.is_string(made.type) or pa.types.is_null(made.type)):
            for value, became in changed(values, made):
                raise UsageError(
                    f"{name}.{rows.column_names[place]}: {value!r} would become {became!r}",
                    hint="cast the column to one type",
                )
    return rows


def _columns(frame: Any) -> Iterable[Any]:
    """The columns of what may hold objects of Python, whose types Arrow takes from the first of them."""
    if isinstance(frame, dict):
        return frame.values()
    return (frame.iloc[:, place] for place in range(frame.shape[1])) if hasattr(frame, "iloc") else ()


def _holds_objects(values: object) -> bool:
    return (
        not isinstance(values, pa.Array | pa.ChunkedArray)
        and str(getattr(values, "dtype", "object")) == "object"
    )
