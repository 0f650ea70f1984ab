"""What may be left out of each source without changing the result of the statement.

A condition restricts a source when a row that fails it can be removed from the source: conjuncts of WHERE, of the ON of
inner joins, and of the ON of outer joins towards their NULL-filled side. From such conditions follow filters (on one
source alone) and key edges (an equality with a column of something else: a semi-join reduction, which also holds
through derived tables, IN and correlated subqueries).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from fff.sql.dialect import Node, exp
from fff.sql.keytext import KeyText, key_text, selective
from fff.sql.names import parts_of
from fff.sql.queries import Found, Query, QueryTree, ScopedCondition, SelectScope, Source, resolve

#: Comparisons that no NULL passes, whatever the other side is.
_REJECT_NULL = (exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between, exp.Like)


@dataclass(frozen=True)
class KeyEdge:
    """A column of a source matters only where it equals a value of another column.

    `owner` is what the other column, `at`, belongs to. Its values are known to be among those of some columns of web
    tables, `origins`, or can be had by running the query that the owner is, `text`. At least one of the two is there.
    """

    index: int
    owner: Source
    at: int
    origins: tuple[tuple[Source, int], ...] | None
    text: KeyText | None = None


@dataclass
class Restrictions:
    """Filters and key edges of every web table in a statement."""

    tree: QueryTree
    filters: defaultdict[Source, list[Node]] = field(default_factory=lambda: defaultdict(list))
    edges: defaultdict[Source, list[KeyEdge]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, tree: QueryTree) -> Restrictions:
        """Read every condition of a statement."""
        found = cls(tree)
        queries = {id(query.node): query for query in tree.queries}
        for scope in tree.scopes:
            for condition in scope.conditions:
                found._note(scope, condition, queries)
        return found

    def _note(self, scope: SelectScope, condition: ScopedCondition, queries: dict[int, Query]) -> None:
        if condition.pair is not None:
            for one, other in (condition.pair, condition.pair[::-1]):
                if one.source in condition.restricted and not one.others:
                    self._edge(one.source, one.index, other)
            return
        node = condition.node
        assert node is not None, "USING and NATURAL have pairs, everything else a node"
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            self._membership(scope, node, queries)
        elif not node.find(exp.Query):
            self._filter(scope, node, condition)
            if isinstance(node, exp.EQ):
                self._equality(scope, node, condition)

    def _filter(self, scope: SelectScope, node: Node, condition: ScopedCondition) -> None:
        found = [resolve(column, scope) for column in node.find_all(exp.Column)]
        sources = {one.source if isinstance(one, Found) and not one.others else None for one in found}
        if len(sources) != 1 or node.find(exp.AggFunc, exp.Window):
            return
        source = sources.pop()
        if source is None or source.table is None or source.sealed or source.renamed:
            return
        if source in condition.exact or (source in condition.restricted and _rejects_null(node)):
            self.filters[source].append(node)

    def _equality(self, scope: SelectScope, node: Node, condition: ScopedCondition) -> None:
        sides = [plain(side, scope) for side in (node.this, node.expression)]
        for one, other in (sides, sides[::-1]):
            if one is None or other is None or one.others:
                continue
            if one.source in condition.restricted:
                self._edge(one.source, one.index, other)

    def _membership(self, scope: SelectScope, node: Node, queries: dict[int, Query]) -> None:
        """`x IN (query)` as a conjunct: other values of the query than those of x cannot matter."""
        query = queries.get(id(node.args["query"]))
        left = node.this.unnest()
        items = left.expressions if isinstance(left, exp.Tuple) else [left]
        if query is None or query.outputs is None or len(items) != len(query.outputs):
            return
        for position, item in enumerate(items):
            found = plain(item, scope)
            if found is not None:
                for source, index in _through(query, position):
                    self._edge(source, index, found)

    def _edge(self, source: Source, index: int, other: Found) -> None:
        owner = other.source
        origins = other.origins
        text = None
        if owner.query is not None and (origins is None or selective(owner.query)):
            text = key_text(self.tree, owner)
        if owner is source or (origins is None and text is None):
            return
        for web, at in _bases(source, index):
            apart = all(origin is not web for origin, _ in origins or ())
            if apart and (text is None or web not in text.reads):
                self.edges[web].append(KeyEdge(at, owner, other.index, origins, text))


def plain(node: Node, scope: SelectScope) -> Found | None:
    """The column that an expression is, and nothing else."""
    bare = node.unnest()
    if not isinstance(bare, exp.Column) or isinstance(bare.this, exp.Star):
        return None
    found = resolve(bare, scope)
    return found if isinstance(found, Found) and len(parts_of(bare)) == found.qualifiers + 1 else None


def _rejects_null(node: Node) -> bool:
    """Whether a condition is never true for a row of NULLs: a comparison of a column itself."""
    bare = node.unnest()
    return isinstance(bare, _REJECT_NULL) and isinstance(bare.this.unnest(), exp.Column)


def _bases(source: Source, index: int) -> Iterator[tuple[Source, int]]:
    """The columns of web tables that a restriction of a column may be moved to."""
    if source.table is not None:
        if not source.sealed:
            yield source, index
    elif source.query is not None and source.query.references <= 1:
        yield from (base for one in _through(source.query, index) for base in _bases(*one))


def _through(query: Query, position: int) -> Iterator[tuple[Source, int]]:
    """What a column of a query's result is passed on from, where fewer rows there mean just fewer rows of the result."""
    if query.limited or query.recursive or query.outputs is None:
        return
    for scope in query.branches:
        select = scope.node
        group = select.args.get("group")
        sets = group is not None and any(group.args.get(name) for name in ("rollup", "cube", "grouping_sets"))
        if sets or any(select.args.get(name) for name in ("limit", "offset", "qualify")):
            continue
        if any(item.find(exp.Window, exp.UDTF) for item in select.expressions):
            continue
        outputs = scope.outputs
        passed = outputs[position].passed if outputs is not None else None
        if passed is not None:
            yield passed
