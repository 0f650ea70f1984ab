"""Groups made without Spark, to show them while rows come; the answer is always Spark's."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.plan.expressions import Column, Expr, evaluate_rows
from fff.errors import QueryError
from fff.sql.analysis.grouped_select import GroupedSelect, Sorting

#: How aggregates of some rows and of others become those of all.
_MERGED = {"count": "sum"}
_ROWS = "rows"


class Preview:
    """The groups of the rows so far. What it does with more rows costs no more for those that there were."""

    def __init__(self, select: GroupedSelect) -> None:
        self.rows = 0
        self._select = select
        self._keys = [f"k{at}" for at in range(len(select.keys))]
        self._values = [f"v{at}" for at in range(len(select.aggregates))]
        self._groups: pa.Table | None = None

    def run(self, rows: pa.Table) -> pa.Table:
        """The groups of other rows alone, as `result` gives them. Raises as `add`."""
        other = Preview(self._select)
        other.add(rows)
        return other.result()

    def add(self, rows: pa.Table) -> None:
        """More rows of the block, their columns in the order of its output.

        Raises QueryError for a value that cannot be had, pyarrow.ArrowException for one that does not fit.
        """
        self.rows += len(rows)
        for condition in self._select.conditions:
            rows = rows.filter(_value(condition, rows))
        arguments = [one.argument for one in self._select.aggregates]
        columns = [_value(one, rows) for one in (*self._select.keys, *arguments)]
        for one, column in zip(self._select.aggregates, columns[len(self._keys) :], strict=True):
            if (
                one.function in ("min", "max")
                and pa.types.is_floating(column.type)
                and pc.any(pc.is_nan(column)).as_py()
            ):
                raise QueryError("what is greatest of NaN and numbers is Spark's to say")
        ones = pa.repeat(pa.scalar(1, pa.int64()), len(rows))
        new = pa.table([*columns, ones], names=[*self._keys, *self._values, _ROWS])
        groups = self._grouped(new, [one.function for one in self._select.aggregates], "sum")
        if self._groups is not None:
            merged = [_MERGED.get(one.function, one.function) for one in self._select.aggregates]
            groups = self._grouped(pa.concat_tables([self._groups, groups]), merged, "sum")
        self._groups = groups

    def _grouped(self, rows: pa.Table, functions: Sequence[str], counted: str) -> pa.Table:
        wanted = [*zip(self._values, functions, strict=True), (_ROWS, counted)]
        grouped = rows.group_by(self._keys, use_threads=False).aggregate(wanted)
        aggregates = [
            grouped.column(f"{name}_{function}").cast(one.type)
            for name, function, one in zip(self._values, functions, self._select.aggregates, strict=True)
        ]
        counts = grouped.column(f"{_ROWS}_{counted}")
        return pa.table(
            [*(grouped.column(name) for name in self._keys), *aggregates, counts],
            names=[*self._keys, *self._values, _ROWS],
        )

    def result(self) -> pa.Table:
        """The result over the rows so far, and in a last column how many of them each row of it rests on."""
        assert self._groups is not None, "rows come first"
        select, groups = self._select, self._groups
        if select.having is not None:
            groups = groups.filter(_value(select.having, groups))
        if select.order:
            groups = groups.take(_sorted(groups, select.order))
        groups = groups.slice(select.offset, select.limit)
        values = [_value(one, groups) for one in select.values]
        return pa.table([*values, groups.column(_ROWS)], names=[*select.names, "rows"])


def _sorted(rows: pa.Table, order: Sequence[Sorting]) -> pa.Array:
    """The places of rows in Spark's order: NULLs where each key wants them, NaN greater than numbers."""
    columns, keys = [], list[tuple[str, str]]()
    for one in order:
        value = _value(one.value, rows)
        falling = "descending" if one.falling else "ascending"
        columns.append((pc.is_null(value), "descending" if one.nulls_first else "ascending"))
        if pa.types.is_floating(value.type):
            columns.append((pc.is_nan(value).fill_null(fill_value=False), falling))
        columns.append((value, falling))
    keys = [(str(at), falling) for at, (_, falling) in enumerate(columns)]
    table = pa.table([value for value, _ in columns], names=[name for name, _ in keys])
    return pc.sort_indices(table, sort_keys=keys)


def _value(expr: Expr, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
    if isinstance(expr, Column):
        return rows.column(expr.index)
    evaluated = evaluate_rows(expr, lambda column: rows.column(column.index).combine_chunks(), len(rows))
    if evaluated.failed is not None:
        raise QueryError(evaluated.failed.message)
    return evaluated.values
