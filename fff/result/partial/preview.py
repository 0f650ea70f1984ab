"""Groups made without Spark, to show them while rows come; the answer is always Spark's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.plan.expressions import Column, Expr, evaluate_rows
from fff.errors import QueryError
from fff.limits import PREVIEW_GROUPS
from fff.sql.analysis.grouped_select import DISTINCT, GroupedSelect, Sorting

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
        named = list(zip(self._values, select.aggregates, strict=True))
        self._plain = [(name, one) for name, one in named if one.function != DISTINCT]
        self._distinct = [name for name, one in named if one.function == DISTINCT]
        self._groups: pa.Table | None = None
        #: Different values within groups, by the aggregate that counts them.
        self._different: dict[str, pa.Table] = {}

    def run(self, rows: pa.Table) -> pa.Table:
        """The groups of other rows alone, as `result` gives them. Raises as `add`."""
        other = Preview(self._select)
        other.add(rows)
        return other.result()

    def add(self, rows: pa.Table) -> None:
        """More rows of the block, their columns in the order of its output.

        Raises QueryError for a value that cannot be had, or where there are too many groups, pyarrow.ArrowException for a
        value that does not fit.
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
        for name in self._distinct:
            self._different[name] = self._pairs(name, new)
        groups = self._grouped(new, merging=False)
        if self._groups is not None:
            groups = self._grouped(pa.concat_tables([self._groups, groups]), merging=True)
        self._groups = groups
        if max(len(groups), *map(len, self._different.values()), 0) > PREVIEW_GROUPS:
            raise QueryError("more groups than the engine keeps beside what Spark is given")

    def _pairs(self, name: str, rows: pa.Table) -> pa.Table:
        """Each value once in each group, those of earlier rows too."""
        before, rows = self._different.get(name), rows.select([*self._keys, name])
        both = rows if before is None else pa.concat_tables([before, rows])
        return both.group_by([*self._keys, name], use_threads=False).aggregate([])

    def _grouped(self, rows: pa.Table, *, merging: bool) -> pa.Table:
        wanted = [
            (name, _MERGED.get(one.function, one.function) if merging else one.function)
            for name, one in self._plain
        ]
        grouped = rows.group_by(self._keys, use_threads=False).aggregate([*wanted, (_ROWS, "sum")])
        columns = [grouped.column(name) for name in self._keys]
        columns += [
            grouped.column(f"{name}_{function}").cast(one.type)
            for (name, function), (_, one) in zip(wanted, self._plain, strict=True)
        ]
        names = [*self._keys, *(name for name, _ in self._plain), _ROWS]
        return pa.table([*columns, grouped.column(f"{_ROWS}_sum")], names=names)

    def _whole(self, groups: pa.Table) -> pa.Table:
        """Groups with how many different values they have, their columns in order."""
        places = pa.array(np.arange(len(groups)))
        for name in self._distinct:
            pairs = self._different[name]
            counts = pc.cast(pc.is_valid(pairs.column(name)), pa.int64())
            nowhere, none = pa.nulls(len(pairs), pa.int64()), pa.repeat(pa.scalar(0, pa.int64()), len(groups))
            names = [*self._keys, "at", "n"]
            both = pa.concat_tables(
                [
                    pa.table([*groups.select(self._keys).columns, places, none], names=names),
                    pa.table([*pairs.select(self._keys).columns, nowhere, counts], names=names),
                ]
            )
            counted = both.group_by(self._keys, use_threads=False).aggregate([("at", "max"), ("n", "sum")])
            groups = groups.append_column(name, counted.sort_by("at_max").column("n_sum"))
        return groups.select([*self._keys, *self._values, _ROWS])

    def result(self) -> pa.Table:
        """The result over the rows so far, and in a last column how many of them each row of it rests on."""
        assert self._groups is not None, "rows come first"
        select, groups = self._select, self._whole(self._groups)
        if select.having is not None:
            groups = groups.filter(_value(select.having, groups))
        if select.order:
            groups = groups.take(_sorted(groups, select.order))
        groups = groups.slice(select.offset, select.limit)
        values = [_value(one, groups) for one in select.values]
        return pa.table([*values, groups.column(_ROWS)], names=[*select.names, "rows"])


def _sorted(rows: pa.Table, order: Sequence[Sorting]) -> pa.Array:
    """The places of rows in Spark's order: NULLs where each key wants them, NaN greater than numbers."""
    columns = []
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
