"""Blocks in the making: which sources each one reads, the columns others need of it, the keys it gets from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fff.catalog import LookupMethod, ScanMethod, Table
from fff.dataflow.plan.expressions import Column, Expr, Literal
from fff.dataflow.plan.plan import Recursion
from fff.errors import InfeasibleQuery, InvariantError, Span
from fff.schema import Field, comparison_kind
from fff.sql.analysis.conjuncts import Conjunct, classify
from fff.sql.analysis.equalities import place
from fff.sql.analysis.key_queries import KeyText
from fff.sql.analysis.predicates import map_columns, pinned
from fff.sql.analysis.pushdown import narrowed
from fff.sql.analysis.semi_joins import KeyEdge, Restrictions
from fff.sql.binder.names import Relation, Scope
from fff.sql.binder.outer_query import Above
from fff.sql.binder.scopes import Query, ScopedCondition, Source
from fff.sql.binder.spj_block import Condition, SourceBlock
from fff.sql.calls.computed_keys import with_computed_keys
from fff.sql.plan import BlockQuery, Feed, KeyQuery, KeySource
from fff.sql.planner.block import BlockParts, equalities_of
from fff.sql.planner.spark_query import view_fields
from fff.sql.planner.top_rows import any_rows, first_rows
from fff.sql.syntax.statement import Node, Statement, exp, text_span
from fff.structs import Struct, field, replace


class _Keys(Struct, frozen=True):
    """A table of keys joined into a block: where its values come from, column by column, one row for each origin.

    Or, with `text`, the query to run for them, and which of its columns are wanted.
    """

    relation: Relation
    ordinal: int  # of the source that is fed
    origins: tuple[tuple[tuple[Source, int], ...], ...] = ()  # by origin, then by column
    text: KeyText | None = None
    columns: tuple[int, ...] = ()


class Walk(Struct, frozen=True):
    """A relation of a block whose rows are those of some drafts and those that the block's own results make, by column."""

    relation: Relation
    values: Mapping[int, Expr]
    first: tuple[tuple[Draft, tuple[Expr, ...]], ...]


class Draft(Struct, eq=False):
    """A block whose columns and keys are not all known yet. The first relations of `block` are those of `sources`."""

    sources: tuple[Source, ...]
    block: SourceBlock
    above: Above | None = None  # of a SELECT whose tables come joined
    conjuncts: tuple[Conjunct, ...] | None = None  # of the block without keys, where they are known
    parts: BlockParts | None = None  # once it is known that and how it can be read
    keys: list[_Keys] = field(default_factory=list)
    limit: int | None = None  # so many rows are enough
    ordered: tuple[Column, ...] | None = None  # the output, where its order counts
    hesitant: bool = False  # some rows may turn out to be enough
    helps: bool = False  # it finds keys for others, and no view of its rows is read
    walk: Walk | None = None
    _needed: set[Column] = field(default_factory=set)

    @property
    def settled(self) -> BlockParts:
        """How the block is read."""
        if self.parts is None:
            raise InvariantError("a block is used before it is known how to read it")
        return self.parts

    @property
    def output(self) -> list[Column]:
        """The columns the rest of the statement needs, in declared order where that is free."""
        if self.ordered is not None:
            return list(self.ordered) or self.settled.any_column()
        return sorted(self._needed, key=place) or self.settled.any_column()

    @property
    def stops(self) -> bool:
        """Whether a LIMIT stands behind it."""
        return self.limit is not None or (self.above is not None and self.above.limit is not None)

    def need(self, columns: Sequence[Column]) -> None:
        """Have these declared columns in the output."""
        self._needed |= set(columns)

    def column(self, source: Source, index: int) -> Column:
        """A column of one of its sources."""
        return Column(self.sources.index(source), index)

    def bounded(self, count: int | None, conditions: Sequence[ScopedCondition]) -> None:
        """Read no more rows than these of a table by itself, if no condition but those on the block remains for them."""
        filtered = {id(one.node) for one in self.block.conditions}
        if all(one.on or one.follows or id(one.node) in filtered for one in conditions):
            self.limit = count

    def settle(self) -> None:
        """Find out how the block is read; raises InfeasibleQuery."""
        conjuncts = None if self.keys else self.conjuncts
        try:
            self.parts = BlockParts.of(self.block, conjuncts)
        except InfeasibleQuery as error:
            classified = conjuncts or classify(self.block)
            grown = with_computed_keys(self.block, classified, error.unreached)
            if grown is self.block:
                raise
            self.parts = BlockParts.of(grown)
            self.block = grown
        if self.above is not None:
            self.need(self.above.columns)

    @property
    def texts(self) -> list[KeyText]:
        """The queries that must be run for its keys."""
        return [keys.text for keys in self.keys if keys.text is not None]

    def block_query(
        self,
        view: str,
        drafts: Sequence[Draft],
        queries: Mapping[Query, KeyQuery],
        at_hand: frozenset[tuple[str, ...]],
    ) -> BlockQuery:
        """The finished block; `drafts` are the statement's, in their final order, `queries` those to be run for keys."""
        output = self.output
        # Keys from elsewhere leave out rows for conditions that are evaluated later: what is counted here may be among them.
        free = not self.keys and not self.settled.residual
        limit = self.limit if free else None
        if free and self.stops:
            self.parts = self.settled.by_scan()
        first = None
        if limit is not None:
            first = any_rows(self.settled, limit)
        elif free and self.above is not None:
            first = first_rows(self.settled, self.above)
        query = self.settled.block_query(
            output,
            view=view,
            fields=view_fields(self.block, output) if view else (),
            limit=limit,
            first=first,
            feeds=tuple(self._feed(keys, drafts, queries) for keys in self.keys),
            at_hand=at_hand,
            hesitant=self.hesitant,
        )
        return query if self.walk is None else self._recursive(query, self.walk, drafts)

    def _recursive(self, query: BlockQuery, walk: Walk, drafts: Sequence[Draft]) -> BlockQuery:
        """The block with the rows that its results make."""
        output, number = self.output, self.settled.access.table_of(walk.relation)
        names = [column.name.lower() for column in walk.relation.table.columns]
        planned = [names.index(column.name.lower()) for column in query.plan.tables[number].columns]
        values = tuple(
            map_columns(walk.values[index], lambda column: Column(0, output.index(column)))
            for index in planned
        )
        plan = replace(query.plan, recursion=Recursion(number, values))
        sources = []
        for draft, exprs in walk.first:
            [at] = [at for at, one in enumerate(drafts) if one is draft]
            cells = [exprs[index] for index in planned]
            columns = (draft.output.index(one) if isinstance(one, Column) else one for one in cells)
            sources.append(KeySource(at, tuple(one for one in columns if isinstance(one, int | Literal))))
        narrow = tuple(walk.relation.table.columns[index] for index in planned)
        tables = tuple(
            replace(table, columns=narrow) if at == number else table for at, table in enumerate(query.tables)
        )
        feeds = (Feed(number, tuple(sources), distinct=False),) if sources else ()
        return replace(query, plan=plan, tables=tables, feeds=(*query.feeds, *feeds))

    def join_keys(self, keys: _Keys, pairs: Sequence[tuple[Column, Column]]) -> None:
        """Join a table of keys to the block."""
        scope = self.block.scope
        grown = Scope((*scope.relations, keys.relation), scope.output, scope.hidden)
        conditions = tuple(
            Condition(f"{grown.describe(one)} = {grown.describe(other)}", None, grown, pair=(one, other))
            for one, other in pairs
        )
        self.block = replace(self.block, scope=grown, conditions=(*self.block.conditions, *conditions))
        self.keys.append(keys)

    def _feed(self, keys: _Keys, drafts: Sequence[Draft], queries: Mapping[Query, KeyQuery]) -> Feed:
        table = self.settled.access.table_of(keys.relation)
        if keys.text is not None:
            return Feed(table, (), replace(queries[keys.text.query], columns=keys.columns))
        sources = []
        for origin in keys.origins:
            number = next(at for at, draft in enumerate(drafts) if origin[0][0] in draft.sources)
            output = drafts[number].output
            columns = tuple(output.index(drafts[number].column(source, index)) for source, index in origin)
            sources.append(KeySource(number, columns))
        return Feed(table, tuple(dict.fromkeys(sources)))


def table_draft(statement: Statement, select: Node, source: Source, filters: Sequence[Node]) -> Draft:
    """A block of one table, without the rows that fail a filter."""
    table = source.table
    assert table is not None, "only web tables are fetched"
    span = source.span or Span(0, 0)
    relation = Relation(source.alias, table, 0, span, renamed=source.written)
    scope = Scope.of(relation)
    conditions = tuple(Condition(node.sql("spark"), text_span(node), scope, node=node) for node in filters)
    draft = Draft((source,), SourceBlock(statement, select, scope, conditions, span))
    if source.whole:
        draft.need([Column(0, index) for index in range(len(table.columns))])
    return draft


def settle(drafts: Sequence[Draft], restrictions: Restrictions) -> list[Draft]:
    """Find an order in which every block can be read, keys before those who need them (Nail, over blocks).

    Raises:
        InfeasibleQuery: some table can be read in no order.
    """
    order: list[Draft] = []
    waiting = list(drafts)
    while waiting:
        refusals = [(draft, error) for draft in waiting if (error := _settled(draft, restrictions, order))]
        refused = [draft for draft, _ in refusals]
        if len(refused) == len(waiting):
            # A call waits for its arguments: what they come from is the cause.
            causes = [one for one in refusals if not any(source.called for source in one[0].sources)]
            raise _advised(*(causes or refusals)[0], restrictions)
        waiting = refused
    return order


def _advised(draft: Draft, error: InfeasibleQuery, restrictions: Restrictions) -> InfeasibleQuery:
    """The refusal, with what to do where keys come from what only Spark makes."""
    scopes = {source.scope for source in draft.sources}
    if any(query.recursive and not scopes.isdisjoint(query.branches) for query in restrictions.tree.queries):
        error.hint = (
            "a recursive query asks for keys step by step where its first SELECTs are of columns and constants, its last "
            "one is of joins and expressions that the engine computes, and both are of the same types, under UNION ALL"
        )
    elif any(isinstance(source.node, exp.Lateral) for scope in scopes for source in scope.sources):
        error.hint = (
            "what LATERAL makes binds keys from a query of its own: "
            "FROM (SELECT … FROM … LATERAL VIEW explode(…) e AS x) e JOIN … ON … = e.x"
        )
    return error


def _settled(draft: Draft, restrictions: Restrictions, order: list[Draft]) -> InfeasibleQuery | None:
    """Add a block to the order, with keys from blocks that are in it already where it needs some; or tell why not."""
    before = draft.block, list(draft.keys)
    refusal: InfeasibleQuery | None = None
    while True:
        try:
            draft.settle()
        except InfeasibleQuery as error:
            refusal = refusal or error
            if not _fed(draft, error.unreached, restrictions, order):
                draft.block, draft.keys = before
                return refusal
        else:
            for keys in draft.keys:
                for origin in keys.origins:
                    for source, index in origin:
                        owner = next(one for one in order if source in one.sources)
                        owner.need([owner.column(source, index)])
            order.append(draft)
            return None


def _fed(draft: Draft, unreached: Sequence[int], restrictions: Restrictions, order: Sequence[Draft]) -> bool:
    """Give one of the tables that cannot be read the keys that earlier blocks find; False when none can get any."""
    conjuncts = classify(draft.block)
    tables = narrowed(draft.block, conjuncts, equalities_of(conjuncts))
    for ordinal in unreached:
        if (
            ordinal >= len(draft.sources)
            or ordinal in draft.block.right
            or any(keys.ordinal == ordinal for keys in draft.keys)
        ):
            continue
        source = draft.sources[ordinal]
        assert source.table is not None, "only web tables are fetched"
        edges = [edge for edge in restrictions.edges[source] if _usable(source, edge, order)]
        for method in tables[source.table.full_name].usable_lookups:
            groups = _cover(draft, source, method, edges)
            if groups:
                for group in groups:
                    _join(draft, source, group)
                return True
    return False


def _usable(source: Source, edge: KeyEdge, order: Sequence[Draft]) -> bool:
    """Whether the other side of an edge is there already, and its values compare with the key exactly."""
    assert source.table is not None
    kind = comparison_kind(source.table.columns[edge.index].arrow)
    types = {_type(origin) for origin in edge.origins or ()}
    if kind is None or any(comparison_kind(one.arrow) != kind for one in types):
        return False
    if edge.text is not None:  # its type is Spark's to know, and is looked at when it is there
        return all(any(web in other.sources for other in order) for web in edge.text.reads)
    same = len({str(one.arrow) for one in types}) == 1
    return same and all(any(web in other.sources for other in order) for web, _ in edge.origins or ())


def _type(origin: tuple[Source, int]) -> Field:
    source, index = origin
    assert source.table is not None
    return source.table.columns[index]


def _cover(
    draft: Draft, source: Source, method: LookupMethod, edges: Sequence[KeyEdge]
) -> list[list[KeyEdge]] | None:
    """Edges that bind every key column of a lookup that constants do not, by owner, few owners; None if they do not."""
    assert source.table is not None
    names = [column.name.lower() for column in source.table.columns]
    wanted = {names.index(key.lower()) for key in method.keys} - _pinned(draft, source)
    groups: list[list[KeyEdge]] = []
    while wanted:
        best: list[KeyEdge] = []
        for owner in dict.fromkeys(edge.owner for edge in edges):
            mine = {edge.index: edge for edge in edges if edge.owner is owner and edge.index in wanted}
            if len(mine) > len(best):
                best = list(mine.values())
        if not best:
            return None
        groups += _together(best)
        wanted -= {edge.index for edge in best}
    return groups


def _pinned(draft: Draft, source: Source) -> set[int]:
    """The columns of a source that one constant pins."""
    ordinal = draft.sources.index(source)
    indices = set()
    for conjunct in classify(draft.block):
        held = pinned(conjunct.expr) if conjunct.where == "engine" and conjunct.expr is not None else None
        if held is not None and held[0].alias == ordinal and len(held[1]) == 1:
            indices.add(held[0].index)
    return indices


def _together(edges: Sequence[KeyEdge]) -> list[list[KeyEdge]]:
    """Edges of one owner whose values stand side by side in the rows of the same sources; else each alone."""
    text = next((edge.text for edge in edges if edge.text is not None), None)
    if text is not None:  # its rows have the columns that are passed on beside those that are computed
        apart = [[edge] for edge in edges if not edge.alone]
        return [[replace(edge, text=text) for edge in edges if edge.alone], *apart]
    shapes = {tuple(source for source, _ in edge.origins or ()) for edge in edges}
    return [list(edges)] if len(shapes) == 1 else [[edge] for edge in edges]


def _join(draft: Draft, source: Source, edges: Sequence[KeyEdge]) -> None:
    """Join the keys that some edges bring to a block."""
    assert source.table is not None
    number, ordinal = len(draft.block.scope.relations), draft.sources.index(source)
    keys = [source.table.columns[edge.index] for edge in edges]
    text = edges[0].text
    types = keys if text is not None else [_type((edge.origins or ())[0]) for edge in edges]
    fields = tuple(replace(kind, name=key.name) for kind, key in zip(types, keys, strict=True))
    name = f"keys_{len(draft.keys) + 1}"
    table = Table("", name, fields, scans=(ScanMethod(f"{name}.scan"),))
    relation = Relation(f"{name} of {source.alias}", table, number, source.span or Span(0, 0), renamed=True)
    if text is not None:
        fed = _Keys(relation, ordinal, text=text, columns=tuple(edge.at for edge in edges))
    else:
        fed = _Keys(relation, ordinal, tuple(zip(*(edge.origins or () for edge in edges), strict=True)))
    pairs = [(draft.column(source, edge.index), Column(number, at)) for at, edge in enumerate(edges)]
    draft.join_keys(fed, pairs)
