"""Which columns each part of a grouped SELECT over one block rests on.

The live view uses it to show groups of rows that lack some columns: what rests on a missing column is not known, whatever
the query would make of a NULL there.
"""

from __future__ import annotations

from collections.abc import Sequence

from fff.dataflow.plan.expressions import Column
from fff.sql.binder.names import try_resolve
from fff.sql.binder.spj_block import Condition, SourceBlock
from fff.sql.syntax.aggregates import has_aggregate
from fff.sql.syntax.statement import Node, exp, filled
from fff.structs import Struct


class SimpleCell(Struct, frozen=True):
    """A result column that is a column, or a plain aggregate of one."""

    name: str
    function: str | None  # sum, avg, count, min or max; None: the column itself
    place: int | None  # None: count(*)


class Needs(Struct, frozen=True):
    """Places of the block's output, by part of the query."""

    rows: frozenset[int]  # without these it cannot be said which group a row belongs to, or whether it counts
    #: Of columns that are grouped by as they are; None where others are computed too.
    grouping: tuple[int, ...] | None
    cells: tuple[frozenset[int], ...]  # by result column
    keys: tuple[int, ...]  # result columns that are the same in all rows of a group
    #: Where all result columns are simple, and there is no clause but GROUP BY.
    simple: tuple[SimpleCell, ...] | None = None


def needs_of(block: SourceBlock, residual: Sequence[Condition], output: Sequence[Column]) -> Needs | None:
    """What a SELECT with GROUP BY or aggregates needs of its block's output; None where that cannot be told.

    `residual` are the conditions that are evaluated above the block, `output` its columns, as declared.
    """
    return _LineageReader(block, residual, output).read()


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
        for node in self._group_nodes():
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
            self._simple(),
        )

    def _simple(self) -> tuple[SimpleCell, ...] | None:
        clauses = filled(self._block.select)
        if self._residual or clauses - {"kind", "expressions", "hint", "from", "joins", "where", "group"}:
            return None
        simple_cells = [self._simple_cell(item) for item in self._items]
        cells = tuple(cell for cell in simple_cells if cell is not None)
        return cells if len(cells) == len(simple_cells) else None

    def _simple_cell(self, item: Node) -> SimpleCell | None:
        """A select item as a plain aggregate, under the name that Spark will give it; None for anything else."""
        bare = item.unalias()
        function, inner = None, bare
        if isinstance(bare, exp.Sum | exp.Avg | exp.Count | exp.Min | exp.Max):
            if any(value for name, value in bare.args.items() if name not in {"this", "big_int"}):
                return None
            function, inner = bare.sql_name().lower(), bare.this
            if function == "count" and isinstance(inner, exp.Star):
                return SimpleCell(item.alias or "count(1)", function, None)
        if not isinstance(inner, exp.Column):
            return None
        used = self.under(inner)
        name = inner.name if function is None else f"{function}({inner.name})"
        return SimpleCell(item.alias or name, function, next(iter(used))) if len(used) == 1 else None

    def _group_nodes(self) -> list[Node]:
        """What is grouped by, names and numbers of result columns looked up."""
        group = self._block.select.args.get("group")
        if group is None:
            return []
        if group.args.get("all"):
            return [item.unalias() for item in self._items if not has_aggregate(item)]
        group_nodes: list[Node] = []
        for node in group.expressions:
            item: Node | None = None
            if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(self._items):
                item = self._items[int(node.name) - 1]
            elif isinstance(node, exp.Column) and not node.table and not self._named(node.name):
                item = self._aliases.get(node.name.lower())
            group_nodes.append(node if item is None else item.unalias())
        return group_nodes

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
            elif not column.table and name in self._aliases and not self._named(name):
                places |= self.under(self._aliases[name].this)
            else:
                return set(self._everything)
        return places

    def _named(self, name: str) -> bool:
        """Whether a column of the block is called so."""
        return bool(self._block.scope.named(name.lower()))
