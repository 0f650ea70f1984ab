"""Which columns each part of a grouped SELECT over one block rests on.

The live view uses it to show groups of rows that lack some columns: what rests on a missing column is not known, whatever
the query would make of a NULL there.
"""

from __future__ import annotations

from collections.abc import Sequence

from fff.dataflow.plan.expressions import Column
from fff.sql.binder.names import try_resolve
from fff.sql.binder.spj_block import Condition, SourceBlock
from fff.sql.syntax.aggregates import grouped_by, has_aggregate
from fff.sql.syntax.statement import Node, exp
from fff.structs import Struct


class Needs(Struct, frozen=True):
    """Places of the block's output, by part of the query."""

    rows: frozenset[int]  # without these it cannot be said which group a row belongs to, or whether it counts
    #: Of columns that are grouped by as they are; None where others are computed too.
    grouping: tuple[int, ...] | None
    cells: tuple[frozenset[int], ...]  # by result column
    keys: tuple[int, ...]  # result columns that are the same in all rows of a group


def needs_of(block: SourceBlock, residual: Sequence[Condition], output: Sequence[Column]) -> Needs | None:
    """What a SELECT with GROUP BY or aggregates needs of its block's output; None where that cannot be told.

    `residual` are the conditions that are evaluated above the block, `output` its columns, as declared.
    """
    return _LineageReader(block, residual, output).read()


def group_nodes(block: SourceBlock) -> list[Node]:
    """What a SELECT groups by, names and numbers of result columns looked up."""
    return grouped_by(block.select, lambda column: _named(block, column.name))


def _named(block: SourceBlock, name: str) -> bool:
    """Whether a column of the block is called so."""
    return bool(block.scope.named(name.lower()))


class _LineageReader:
    def __init__(self, block: SourceBlock, residual: Sequence[Condition], output: Sequence[Column]) -> None:
        self._block = block
        self._residual = residual
        self._output = output
        self._everything = frozenset(range(len(output)))
        self._items: list[Node] = list(block.select.expressions)
        self._aliases = {item.alias.lower(): item for item in self._items if item.alias}

    def read(self) -> Needs | None:
        if any(item.is_star for item in self._items):
            return None  # result columns would not be those of the select list
        rows: set[int] = set()
        for condition in self._residual:
            pair = () if condition.pair is None else condition.pair
            rows |= {self._output.index(column) for column in pair}
            rows |= set() if condition.node is None else self.under(condition.node)
        for name in ("having", "qualify"):
            part = self._block.select.args.get(name)
            rows |= self.under(part) if part is not None else set()
        grouping: list[int] | None = []
        for node in group_nodes(self._block):
            used = self.under(node)
            rows |= used
            if grouping is not None and isinstance(node, exp.Column) and len(used) == 1:
                grouping += used
            else:
                grouping = None
        bare = [item.unalias() for item in self._items]
        return Needs(
            frozenset(rows),
            None if grouping is None else tuple(grouping),
            tuple(frozenset(self.under(item)) for item in bare),
            tuple(place for place, item in enumerate(bare) if not has_aggregate(item)),
        )

    def under(self, node: Node) -> set[int]:
        """The places of the columns named under a node; all of them where one cannot be told."""
        if node.find(exp.Query):
            return set(self._everything)
        places: set[int] = set()
        for column in node.find_all(exp.Column):
            reference = try_resolve(self._block.statement, column, self._block.scope)
            name = column.name.lower()
            if reference is not None and reference.column in self._output:
                places.add(self._output.index(reference.column))
            elif not column.table and name in self._aliases and not _named(self._block, name):
                places |= self.under(self._aliases[name].this)
            else:
                return set(self._everything)
        return places
