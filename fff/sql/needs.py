"""Which columns each part of an upper query over one block's view rests on, read from its text.

The live view uses it to show groups of rows that lack some columns: what rests on a missing column is not known, whatever
the query would make of a NULL there.
"""

from __future__ import annotations

from dataclasses import dataclass

from fff.errors import QueryError
from fff.sql.dialect import Node, exp, parse_statement
from fff.sql.functions import has_aggregate
from fff.sql.planned import BlockQuery


@dataclass(frozen=True)
class SimpleCell:
    """A result column that is a column, or a plain aggregate of one."""

    name: str
    function: str | None  # sum, avg, count, min or max; None: the column itself
    place: int | None  # None: count(*)


@dataclass(frozen=True)
class Needs:
    """Places of the block's output, by part of the query."""

    rows: frozenset[int]  # without these it cannot be said which group a row belongs to, or whether it counts
    grouping: (
        tuple[int, ...] | None
    )  # of columns that are grouped by as they are; None where others are computed too
    cells: tuple[frozenset[int], ...]  # by result column
    keys: tuple[int, ...]  # result columns that are the same in all rows of a group
    simple: tuple[SimpleCell, ...] | None = (
        None  # where all result columns are, and there is no clause but GROUP BY
    )


def needs_of(sql: str, query: BlockQuery) -> Needs | None:
    """What an upper query with `GROUP BY` or aggregates needs of its only block; None where that cannot be told."""
    try:
        select = parse_statement(sql).tree
    except QueryError:
        return None
    if not isinstance(select, exp.Select):
        return None
    return _Reader(query, select).read()


class _Reader:
    def __init__(self, query: BlockQuery, select: exp.Select) -> None:
        self._select = select
        self._everything = frozenset(range(len(query.fields)))
        self._names: dict[str, set[int]] = {}
        self._qualified: dict[tuple[str, str], int] = {}
        self._qualifiers = {query.view.lower()}
        for place, (field, column) in enumerate(zip(query.fields, query.plan.output, strict=True)):
            own = query.plan.field_of(column).name.lower()
            alias = query.plan.aliases[column.alias].name.lower()
            self._qualifiers.add(alias)
            self._qualified[alias, own] = place
            for name in {field.name.lower(), own}:
                self._names.setdefault(name, set()).add(place)
        self._items: list[Node] = list(select.expressions)
        self._aliases = {item.alias.lower(): item for item in self._items if item.alias}

    def read(self) -> Needs | None:
        if any(item.is_star for item in self._items):
            return None  # result columns would not be those of the select list
        rows: set[int] = set()
        for name in ("where", "having", "qualify"):
            part = self._select.args.get(name)
            rows |= self.under(part) if part is not None else set()
        grouping: list[int] | None = []
        for node in self._group_nodes():
            used = self.under(node)
            rows |= used
            if grouping is not None and isinstance(node, exp.Column) and len(used) == 1:
                grouping += used
            else:
                grouping = None
        bare = [item.this if isinstance(item, exp.Alias) else item for item in self._items]
        return Needs(
            frozenset(rows),
            None if grouping is None else tuple(grouping),
            tuple(frozenset(self.under(item)) for item in bare),
            tuple(place for place, item in enumerate(bare) if not has_aggregate(item)),
            self._simple(),
        )

    def _simple(self) -> tuple[SimpleCell, ...] | None:
        clauses = {name.rstrip("_") for name, value in self._select.args.items() if value}
        if clauses - {"kind", "expressions", "from", "joins", "laterals", "group"}:
            return None
        found = [self._simple_cell(item) for item in self._items]
        cells = tuple(cell for cell in found if cell is not None)
        return cells if len(cells) == len(found) else None

    def _simple_cell(self, item: Node) -> SimpleCell | None:
        """A select item as a plain aggregate, under the name that Spark will give it; None for anything else."""
        bare = item.this if isinstance(item, exp.Alias) else item
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
        group = self._select.args.get("group")
        if group is None:
            return []
        if group.args.get("all"):
            return [
                item.this if isinstance(item, exp.Alias) else item
                for item in self._items
                if not has_aggregate(item)
            ]
        found: list[Node] = []
        for node in group.expressions:
            item: Node | None = None
            if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(self._items):
                item = self._items[int(node.name) - 1]
            elif isinstance(node, exp.Column) and not node.table and node.name.lower() not in self._names:
                item = self._aliases.get(node.name.lower())
            found.append(node if item is None else item.this if isinstance(item, exp.Alias) else item)
        return found

    def under(self, node: Node) -> set[int]:
        """The places of the columns named under a node; all of them where one cannot be told."""
        if node.find(exp.Query):
            return set(self._everything)
        found: set[int] = set()
        for column in node.find_all(exp.Column):
            place = self._place([part.name.lower() for part in column.parts])
            name = column.name.lower()
            if place is not None:
                found.add(place)
            elif not column.table and name in self._aliases and name not in self._names:
                found |= self.under(self._aliases[name].this)
            else:
                return set(self._everything)
        return found

    def _place(self, parts: list[str]) -> int | None:
        """The place of a column: its name, perhaps behind a qualifier, perhaps before the names of fields inside it."""
        if len(parts) > 1 and parts[0] in self._qualifiers:
            place = self._qualified.get((parts[0], parts[1]))
            if place is not None:
                return place
            parts = parts[1:]
        known = self._names.get(parts[0], ())
        return next(iter(known)) if len(known) == 1 else None
