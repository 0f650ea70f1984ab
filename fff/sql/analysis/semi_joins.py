"""What may be left out of each source without changing the result of the statement.

A condition restricts a source when a row that fails it can be removed from the source: conjuncts of WHERE, of the ON of
inner joins, and of the ON of outer joins towards their NULL-filled side. From such conditions follow filters (on one
source alone) and key edges (an equality with a column of something else: a semi-join reduction, which also holds
through derived tables, and both ways through IN and correlated subqueries: what the subquery can match depends on the
outer row, and an outer row that matches nothing fails IN and EXISTS; NOT IN and NOT EXISTS let it pass).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from fff.sql.analysis.key_queries import KeyText, key_text, member_text, selective
from fff.sql.binder.names import has_generator, parts_of
from fff.sql.binder.scopes import (
    Found,
    Output,
    Query,
    QueryTree,
    ScopedCondition,
    SelectScope,
    Source,
    resolve,
)
from fff.sql.syntax.aggregates import groups_by_sets, has_aggregate, own_nodes
from fff.sql.syntax.statement import Node, exp
from fff.structs import Struct, field, replace

#: Comparisons that no NULL passes, whatever the other side is.
_REJECT_NULL = (exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between, exp.Like)


class KeyEdge(Struct, frozen=True):
    """A column of a source matters only where it equals a value of another column.

    `owner` is what the other column, `at`, belongs to, a query where it stands in IN. Its values are known to be among
    those of some columns of web tables, `origins`, or can be had by running the query that the owner is, `text`. At least
    one of the two is there.
    """

    index: int
    owner: Source | Query
    at: int
    origins: tuple[tuple[Source, int], ...] | None
    text: KeyText | None = None
    alone: bool = True  # else the owner does not have all of its values


class Restrictions(Struct):
    """Filters and key edges of every web table in a statement."""

    tree: QueryTree
    filters: defaultdict[Source, list[Node]] = field(default_factory=lambda: defaultdict(list))
    edges: defaultdict[Source, list[KeyEdge]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, tree: QueryTree) -> Restrictions:
        """Read every condition of a statement."""
        restrictions = cls(tree)
        queries = {id(query.node): query for query in tree.queries}
        for scope in tree.scopes:
            for condition in scope.conditions:
                restrictions._note(scope, condition, queries)
        return restrictions

    def _note(self, scope: SelectScope, condition: ScopedCondition, queries: dict[int, Query]) -> None:
        if condition.pair is not None:
            for one, other in (condition.pair, condition.pair[::-1]):
                if one.source in condition.restricted and not one.others:
                    self._edge(one.source, one.index, other)
            return
        node = condition.node
        assert node is not None, "USING and NATURAL have pairs, everything else a node"
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            query = queries.get(id(node.args["query"]))
            if query is not None:
                self._membership(scope, node, condition, query)
                self._correlation(condition, query)
        elif isinstance(node, exp.Exists):
            query = queries.get(id(node.this))
            if query is not None:
                self._correlation(condition, query)
        elif not node.find(exp.Query):
            self._filter(scope, node, condition)
            self._equality(scope, node, condition)

    def _filter(self, scope: SelectScope, node: Node, condition: ScopedCondition) -> None:
        resolved = [resolve(column, scope) for column in node.find_all(exp.Column)]
        sources = {one.source if isinstance(one, Found) and not one.others else None for one in resolved}
        if len(sources) != 1 or node.find(exp.AggFunc, exp.Window):
            return
        source = sources.pop()
        if source is None or source.table is None or source.sealed or source.renamed:
            return
        if source in condition.exact or (source in condition.restricted and rejects_null(node)):
            self.filters[source].append(node)

    def _equality(self, scope: SelectScope, node: Node, condition: ScopedCondition) -> None:
        for one, other in _equal(node, scope):
            if one.source in condition.restricted:
                self._edge(one.source, one.index, other)

    def _membership(self, scope: SelectScope, node: Node, condition: ScopedCondition, query: Query) -> None:
        """`x IN (query)` as a conjunct: other values of the query than those of x cannot matter, nor the other way round."""
        left = node.this.unnest()
        items = left.expressions if isinstance(left, exp.Tuple) else [left]
        if query.outputs is None or len(items) != len(query.outputs):
            return
        bound = []
        for position, item in enumerate(items):
            key = plain(item, scope)
            if key is None:
                continue
            for source, index in _through(query, position):
                self._edge(source, index, key)
            if key.source in condition.restricted and not key.others:
                bound.append((key, position))
        self._members(query, query.outputs, bound)

    def _members(self, query: Query, outputs: Sequence[Output], bound: Sequence[tuple[Found, int]]) -> None:
        """Columns matter only where their values stand in a row of a query behind IN, each at its place."""
        columns = query.branches[0].outputs if len(query.branches) == 1 and not selective(query) else None
        passed = [one.passed for one in columns or ()]
        computed = any(outputs[position].origins is None for _, position in bound)
        text = member_text(self.tree, query) if computed or selective(query) else None
        for key, position in bound:
            source_column = passed[position] if not computed and passed else None
            if source_column is not None:  # its owner may bind more columns, where the query is correlated
                self._edge(key.source, key.index, Found(*source_column, 0))
                continue
            edge = KeyEdge(key.index, query, position, outputs[position].origins, text)
            self._add(key.source, key.index, edge)

    def _correlation(self, condition: ScopedCondition, query: Query) -> None:
        """A conjunct that is true only where a query has a row: what that row must equal, the outer row must equal."""
        if len(query.branches) != 1:
            return
        scope = query.branches[0]
        if not _needs_rows(scope.node):
            return
        visible = {source for source in scope.sources if not source.hidden}
        for inner in scope.conditions:
            always = scope.flat or inner.restricted >= visible  # no join further out does without it
            if not always or inner.node is None:
                continue
            for one, other in _equal(inner.node, scope):
                if other.source in scope.sources and one.source in condition.restricted:
                    self._edge(one.source, one.index, other)

    def _edge(self, source: Source, index: int, other: Found) -> None:
        owner = other.source
        origins = other.origins
        text = None
        alone = not other.others
        if owner.query is not None and alone and (origins is None or selective(owner.query)):
            text = key_text(self.tree, owner)
        if owner is not source:
            self._add(source, index, KeyEdge(index, owner, other.index, origins, text, alone))

    def _add(self, source: Source, index: int, edge: KeyEdge) -> None:
        """Note an edge of a column, wherever in web tables that comes from."""
        if edge.origins is None and edge.text is None:
            return
        for web, at in _bases(source, index):
            apart = all(origin is not web for origin, _ in edge.origins or ())
            if apart and (edge.text is None or web not in edge.text.reads):
                self.edges[web].append(replace(edge, index=at))


def _equal(node: Node, scope: SelectScope) -> list[tuple[Found, Found]]:
    """The two columns that a condition holds equal, either first whose values only that can have; NULL is none of them."""
    if not isinstance(node, exp.EQ | exp.NullSafeEQ):
        return []
    one, other = (plain(side, scope) for side in (node.this, node.expression))
    if one is None or other is None:
        return []
    if isinstance(node, exp.NullSafeEQ) and not (one.always_bound or other.always_bound):
        return []
    return [(first, second) for first, second in ((one, other), (other, one)) if not first.others]


def plain(node: Node, scope: SelectScope) -> Found | None:
    """The column that an expression is, and nothing else."""
    bare = node.unnest()
    if not isinstance(bare, exp.Column) or isinstance(bare.this, exp.Star):
        return None
    column = resolve(bare, scope)
    return column if isinstance(column, Found) and len(parts_of(bare)) == column.qualifiers + 1 else None


def _needs_rows(select: Node) -> bool:
    """Whether a SELECT certainly gives no row where none passes WHERE, as an aggregate over nothing does."""
    group = select.args.get("group")
    if group is None:
        clauses = [clause for name in ("order", "sort", "qualify") if (clause := select.args.get(name))]
        return not select.args.get("having") and not any(map(has_aggregate, [*select.expressions, *clauses]))
    plain_group = {name for name, value in group.args.items() if value} == {"expressions"}
    return plain_group and all(isinstance(item, exp.Column) for item in group.expressions)


def rejects_null(node: Node) -> bool:
    """Whether a condition is never true for a row of NULLs: a comparison of a column itself."""
    bare = node.unnest()
    return isinstance(bare, _REJECT_NULL) and isinstance(bare.this.unnest(), exp.Column)


def _bases(source: Source, index: int) -> Iterator[tuple[Source, int]]:
    """The columns of web tables that a restriction of a column may be moved to."""
    if source.sealed:
        return
    if source.table is not None:
        yield source, index
    elif source.query is not None and source.query.references <= 1:
        yield from (base for one in _through(source.query, index) for base in _bases(*one))


def _through(query: Query, position: int) -> Iterator[tuple[Source, int]]:
    yield from ((source, index) for _, source, index in passing(query, position))


def passing(query: Query, position: int) -> Iterator[tuple[SelectScope, Source, int]]:
    """What a column of a query's result is passed on from, where fewer rows there mean just fewer rows of the result."""
    if query.limited or query.recursive or query.outputs is None:
        return
    for scope in query.branches:
        select = scope.node
        if groups_by_sets(select) or any(select.args.get(name) for name in ("limit", "offset")):
            continue
        if any(map(has_generator, select.expressions)):
            continue
        outputs = scope.outputs
        passed = outputs[position].passed if outputs is not None else None
        if passed is not None and divides(scope, passed):
            yield scope, *passed


def divides(scope: SelectScope, column: tuple[Source, int]) -> bool:
    """Whether every window of a SELECT looks at rows of one value of a column alone."""
    windows = (one for one in own_nodes(scope.node) if isinstance(one, exp.Window))
    for window in windows:
        if window.args.get("alias"):
            continue  # of the name of one in WINDOW
        parts = (plain(part, scope) for part in window.args.get("partition_by") or ())
        if not any(part is not None and part.columns == (column,) for part in parts):
            return False
    return True
