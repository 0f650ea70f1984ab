"""The groups of a simple statement without Spark, to show something while it starts; the answer is always Spark's."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fff.sql.analysis.column_lineage import Needs, SimpleCell
from fff.sql.planner.plan import BlockQuery
from fff.structs import Struct

#: Arrow's names of the aggregates whose results over whole numbers are Spark's, and over floating-point
#: numbers too.
_ARROW = {"sum": "sum", "avg": "mean", "count": "count", "min": "min", "max": "max"}
_ALSO_FLOATING = frozenset({"sum", "avg"})
_ALL = "count_all"


class Preview(Struct, frozen=True):
    """Runs a counted upper query that groups by columns and aggregates columns, and does nothing else."""

    grouping: tuple[int, ...]
    cells: tuple[SimpleCell, ...]

    @classmethod
    def of(cls, needs: Needs, query: BlockQuery) -> Preview | None:
        """None where the statement is not as simple as that, or where Arrow might not say what Spark says."""
        if needs.simple is None or not needs.grouping:
            return None
        kinds = [field.arrow for field in query.fields]
        if any(pa.types.is_floating(kinds[at]) or pa.types.is_nested(kinds[at]) for at in needs.grouping):
            return None
        for cell in needs.simple:
            if cell.place is None or cell.function == "count":
                continue
            if cell.function is None:
                if cell.place not in needs.grouping:
                    return None
            elif not pa.types.is_integer(kinds[cell.place]) and not (
                pa.types.is_floating(kinds[cell.place]) and cell.function in _ALSO_FLOATING
            ):
                return None
        return cls(tuple(dict.fromkeys(needs.grouping)), needs.simple)

    def run(self, rows: pa.Table) -> pa.Table:
        """The result over rows of the block, and in a last column how many of them each result row rests on."""
        named = rows.rename_columns([str(at) for at in range(rows.num_columns)])
        wanted = [
            (str(cell.place), _ARROW[cell.function])
            for cell in self.cells
            if cell.function is not None and cell.place is not None
        ]
        aggregates: list[tuple[str | Sequence[str], str]] = [*dict.fromkeys(wanted), ([], _ALL)]
        groups = named.group_by([str(at) for at in self.grouping], use_threads=False).aggregate(aggregates)
        columns = [groups.column(_column(cell)) for cell in self.cells]
        return pa.Table.from_arrays(
            [*columns, groups.column(_ALL)], names=[*(cell.name for cell in self.cells), "rows"]
        )


def _column(cell: SimpleCell) -> str:
    if cell.place is None:
        return _ALL
    return str(cell.place) if cell.function is None else f"{cell.place}_{_ARROW[cell.function]}"
