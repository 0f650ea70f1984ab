"""Reads the tree of queries out of a statement: sources, joins, conditions, and what each join lets be left out."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from fff.catalog import Catalog
from fff.dataflow.plan.plan import JoinKind
from fff.errors import QueryError, Span, UnsupportedSQL
from fff.sql.binder.checks import check_queries, is_all, twins_of
from fff.sql.binder.common_conjuncts import follows
from fff.sql.binder.names import find_table, parts_of, qualifier_of, reference_span
from fff.sql.binder.regions import Region, regions_of, without_tail
from fff.sql.binder.scopes import (
    Around,
    Found,
    Query,
    QueryTree,
    ScopedCondition,
    ScopedJoin,
    SelectScope,
    Source,
    resolve,
)
from fff.sql.syntax.aggregates import counts_rows
from fff.sql.syntax.only_queries import is_query
from fff.sql.syntax.statement import (
    Node,
    Statement,
    TokenType,
    arg,
    conjuncts,
    exp,
    identifier_span,
    keyword,
    qualified,
    text_span,
)
from fff.structs import Struct, field, replace


def read_queries(statement: Statement, catalog: Catalog) -> QueryTree:
    """The tree of queries of a statement.

    Raises:
        QueryError: a table that is not there, a condition that is none, a star where none can be.
        UnsupportedSQL: a construct that reads no rows or more than a query may.
    """
    reader = _ScopeReader(statement, catalog, regions_of(statement))
    tree = QueryTree(
        statement, catalog, reader.query(statement.tree, {}, None), reader.scopes, reader.queries
    )
    if any(token.token_type is TokenType.PIPE_GT for token in statement.tokens):
        # The parser turns pipes into queries of its own making: good for telling the tables, not for reasoning.
        for scope in tree.scopes:
            _leave_to_spark(scope)
    check_queries(tree)
    for scope in tree.scopes:
        if twins_of(scope):
            _leave_to_spark(scope)
    return tree


def _leave_to_spark(scope: SelectScope) -> None:
    """Let nobody reason about the names of a SELECT."""
    scope.joinable, scope.conditions = False, []
    for source in scope.sources:
        source.whole, source.names = True, None


def check_names(tree: QueryTree) -> None:
    """Let no statement pass that names a column which nothing in reach has; what is not clear, Spark will judge.

    Raises:
        QueryError: such a column.
    """
    for scope in tree.scopes:
        for column in scope.columns:
            if resolve(column, scope) == "nowhere" and not is_all(column):
                raise _unknown(tree.statement, column, scope)
        for star in scope.stars:
            names = qualifier_of(star)
            named = [one for one in scope.reach if any(one.answers_to(names[:depth]) for depth in (1, 2))]
            if named and not any(one.seen_from(star) for one in named):
                raise _unknown(tree.statement, star, scope)


def _unknown(statement: Statement, node: Node, scope: SelectScope) -> QueryError:
    """The error for a name that nothing in reach has."""
    parts = parts_of(node)
    names = [part.name for part in parts]
    reach = scope.reach
    owner = next(
        (source for source in reach if len(names) > 1 and source.answers_to([names[0].lower()])), None
    )
    if owner is not None:
        known = {name.lower(): qualified(name) for name in owner.names or ()}
        close = difflib.get_close_matches(names[1].lower(), known, n=2)
        hint = f"{qualified(owner.alias)} has {', '.join(list(known.values())[:12]) or 'no columns'}"
        hint = f"did you mean {' or '.join(known[one] for one in close)}?" if close else hint
        hint = "of a semi or anti join only the left side comes out" if owner.hidden else hint
        return statement.error(
            f"unknown column {names[1]} of {owner.table.full_name if owner.table else owner.alias}",
            identifier_span(parts[1]) or reference_span(node),
            hint=hint,
        )
    columns = {
        name.lower(): qualified(source.alias, name) if source.alias else qualified(name)
        for source in reach
        for name in source.names or ()
    }
    close = difflib.get_close_matches(names[-1].lower(), columns, n=2)
    aliases = ", ".join(qualified(source.alias) for source in reach if source.alias) or "no table"
    return statement.error(
        f"unknown column {names[0]}" if len(names) == 1 else f"unknown table or alias {names[0]}",
        (reference_span(node) if len(names) == 1 else identifier_span(parts[0])) or text_span(node),
        hint=f"did you mean {' or '.join(columns[one] for one in close)}?"
        if close
        else f"in reach here: {aliases}",
    )


class _Side(Struct):
    """What stands on one side of a join: its sources, and those that a join further in may fill with NULLs."""

    sources: list[Source]
    nullable: set[Source] = field(default_factory=set)


class _ScopeReader(Struct):
    statement: Statement
    catalog: Catalog
    regions: Sequence[Region]
    scopes: list[SelectScope] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)

    def query(self, node: Node, ctes: Mapping[str, Query], around: Around | None) -> Query:
        """A query expression with everything inside it."""
        query = Query(node)
        self.queries.append(query)
        self._branches(node, dict(ctes), around, query)
        return query

    def _branches(self, node: Node, ctes: dict[str, Query], around: Around | None, query: Query) -> None:
        with_ = arg(node, "with")
        if isinstance(with_, exp.With):
            self._ctes(with_, ctes, around)
        if isinstance(node, exp.Select):
            query.branches.append(self._select(node, ctes, around))
        elif isinstance(node, exp.SetOperation):
            query.limited = query.limited or _limits(node)
            self._branches(node.this, dict(ctes), around, query)
            self._branches(node.expression, dict(ctes), around, query)
        elif isinstance(node, exp.Subquery | exp.Paren):
            query.limited = query.limited or _limits(node)
            self._branches(node.this, dict(ctes), around, query)
        else:  # VALUES, TABLE and the like: nothing FFF has to know
            query.branches.append(SelectScope(exp.Select(), around, None, joinable=False))
            query.branches[-1].sources.append(Source(query.branches[-1], node, ""))
            for inner in _inner_queries(node):
                self.query(inner, ctes, around)

    def _ctes(self, with_: Node, ctes: dict[str, Query], around: Around | None) -> None:
        recursive = bool(with_.args.get("recursive"))
        for cte in with_.expressions:
            alias = cte.args["alias"]
            name = alias.this.name.lower()
            renamed = tuple(column.name for column in alias.columns) or None
            if recursive:
                ctes[name] = Query(cte.this, recursive=True)
            query = ctes[name] = self.query(cte.this, ctes, around)
            query.renamed, query.recursive = renamed, recursive

    def _select(self, node: Node, ctes: Mapping[str, Query], around: Around | None) -> SelectScope:
        scope = SelectScope(node, around, self._region(node))
        self.scopes.append(scope)
        self._from(scope, ctes)
        where = node.args.get("where")
        visible = [source for source in scope.sources if not source.hidden]
        for conjunct in conjuncts(where.this) if where is not None else ():
            exact = frozenset(source for source in visible if not source.nullable)
            scope.conditions.append(ScopedCondition(conjunct, frozenset(visible), exact))
        scope.conditions += list(_following(scope))
        for part in own_parts(node):
            if isinstance(part, exp.Column):
                star = isinstance(part.this, exp.Star)
                (scope.stars if star else scope.columns).append(part)
            elif (
                isinstance(part, exp.Star)
                and not isinstance(part.parent, exp.Column)
                and not counts_rows(part)
            ):
                scope.stars.append(part)
            elif isinstance(part, exp.Anonymous) and part.name.lower() == "identifier":
                for at in scope.enclosing:  # a column whose name Spark computes, which may be any
                    at.scope.joinable = False
                    for source in at.sources:
                        source.whole = True
        for inner in _expression_queries(node):
            scope.inner.append(self.query(inner, ctes, Around(scope)))
        return scope

    # FROM ---------------------------------------------------------------------------------------------------------------

    def _from(self, scope: SelectScope, ctes: Mapping[str, Query]) -> None:
        source = arg(scope.node, "from")
        if not isinstance(source, Node):
            scope.joinable = False
            return
        self._joined(source.this, scope.node.args.get("joins") or (), scope, ctes)
        for lateral in scope.node.args.get("laterals") or ():
            self._other(lateral, scope, ctes, scope.sources)
        scope.joinable = scope.joinable and len(scope.sources) > 0

    def _joined(
        self, first: Node, joins: Sequence[Node], scope: SelectScope, ctes: Mapping[str, Query]
    ) -> _Side:
        left = self._entry(first, scope, ctes)
        for join in [*(first.args.get("joins") or ()), *joins]:
            right = self._entry(join.this, scope, ctes, left.sources)
            for nested in join.this.args.get("joins") or ():
                more = self._entry(nested.this, scope, ctes, right.sources)
                right = self._join(nested, right, more, scope)
            left = self._join(join, left, right, scope)
        return left

    def _entry(
        self, node: Node, scope: SelectScope, ctes: Mapping[str, Query], left: Sequence[Source] = ()
    ) -> _Side:
        """An entry of FROM; behind LATERAL it may name what is joined to its left, outside of its brackets nothing."""
        if (
            isinstance(node, exp.Subquery | exp.Paren)
            and isinstance(node.this, exp.Table | exp.Subquery | exp.Paren)
            and not is_query(node)
        ):
            side = self._joined(node.this, (), scope, ctes)
            if node.args.get("sample"):
                scope.joinable = False
                for source in side.sources:
                    source.sealed = source.whole = True
            return side
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._table(node, scope, ctes)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Dot):
            raise self.statement.error(f"unknown table {node.sql('spark')}", text_span(node))
        return self._other(node, scope, ctes, left)

    def _table(self, node: Node, scope: SelectScope, ctes: Mapping[str, Query]) -> _Side:
        _check_table(self.statement, node)
        if any(not isinstance(part, exp.Identifier) for part in parts_of(node)):
            raise self.statement.error("syntax error: this cannot be read as a table", text_span(node))
        alias = node.args.get("alias")
        written = alias is not None and isinstance(alias.this, exp.Identifier)
        renamed = tuple(column.name for column in alias.columns) if alias is not None else ()
        shaped = bool(renamed) or _is_sealed(node)
        name = alias.this.name if written and alias is not None else node.name
        cte = ctes.get(node.name.lower()) if node.args.get("db") is None else None
        if cte is not None:
            cte.references += 1
            source = Source(scope, node, name, query=cte, sealed=_is_sealed(node))
            outputs = cte.outputs
            source.names = None if outputs is None else tuple(one.name for one in outputs)
            scope.joinable = False
        else:
            place = _table_span(node)
            if place is None:
                raise UnsupportedSQL(f"{node.sql('spark')} is not supported", sql=self.statement.sql)
            table = find_table(self.statement, node, self.catalog, place)
            source = Source(scope, node, name, table, span=place, written=written)
            source.names = tuple(column.name for column in table.columns)
            source.whole = shaped
            source.renamed = bool(renamed)
            source.sealed = _is_sealed(node)
            scope.joinable = scope.joinable and not shaped
        if renamed and source.names is not None:
            source.names = renamed if len(renamed) == len(source.names) else None
        if node.args.get("pivots"):
            source.names = None
        scope.sources.append(source)
        return _Side([source])

    def _other(
        self, node: Node, scope: SelectScope, ctes: Mapping[str, Query], left: Sequence[Source]
    ) -> _Side:
        """A derived table, a lateral one, or something only Spark knows."""
        scope.joinable = False
        alias = node.args.get("alias")
        named = alias.this.name if alias is not None and isinstance(alias.this, exp.Identifier) else ""
        renamed = tuple(column.name for column in alias.columns) if alias is not None else ()
        source = Source(scope, node, named, sealed=_is_sealed(node))
        lateral = Around(scope, tuple(left)) if isinstance(node, exp.Lateral) else None
        inner = node.this if isinstance(node, exp.Lateral) else node
        if is_query(inner) and not isinstance(inner, exp.Values):
            source.query = self.query(inner, ctes, lateral or scope.around)
            outputs = source.query.outputs
            source.names = None if outputs is None else tuple(one.name for one in outputs)
            if renamed:
                source.names = renamed if outputs is not None and len(renamed) == len(outputs) else None
            if node.args.get("pivots"):
                source.names = None
        else:
            source.names = renamed or None
            for query in _inner_queries(node):
                scope.inner.append(self.query(query, ctes, lateral or Around(scope)))
        scope.sources.append(source)
        return _Side([source])

    def _join(self, join: Node, left: _Side, right: _Side, scope: SelectScope) -> _Side:
        """Note what the join's condition lets be left out of which side, and who may be NULL behind it."""
        side, kind = (keyword(join, name) for name in ("side", "kind"))
        both = [*left.sources, *right.sources]
        restricted = {"LEFT": right.sources, "RIGHT": left.sources, "FULL": []}.get(side, both)
        if kind == "SEMI":
            restricted = both
        elif kind == "ANTI":
            restricted = right.sources
        nullable = left.nullable | right.nullable
        limits = frozenset(restricted)
        exact = frozenset(source for source in restricted if source not in nullable)
        on = join.args.get("on")
        if on is not None:
            for conjunct in conjuncts(on):
                scope.conditions.append(ScopedCondition(conjunct, limits, exact, on=True))
        scope.conditions += [
            ScopedCondition(None, limits, frozenset(), pair, on=True)
            for pair in self._pairs(join, left, right, scope)
        ]
        one = ScopedJoin(join, tuple(left.sources), tuple(right.sources), _kind_of(join))
        scope.joins.append(one)
        scope.joinable &= one.kind is not None and (not one.mirrored or len(left.sources) == 1)
        scope.one_sided |= one.kind != "inner"
        if kind in {"SEMI", "ANTI"}:
            for source in right.sources:
                source.hider = join
            return _Side(left.sources, left.nullable)
        if side in {"LEFT", "FULL"}:
            nullable |= set(right.sources)
        if side in {"RIGHT", "FULL"}:
            nullable |= set(left.sources)
        for source in nullable:
            source.nullable = True
        return _Side(both, nullable)

    def _pairs(
        self, join: Node, left: _Side, right: _Side, scope: SelectScope
    ) -> Iterator[tuple[Found, Found]]:
        """The equalities of USING and NATURAL, where it can be told which columns they mean."""
        names = [name.name for name in join.args.get("using") or ()]
        both = (*left.sources, *right.sources)
        if keyword(join, "method") == "NATURAL":
            for source in both:
                source.whole = True
            if any(source.names is None for source in both):
                scope.merged.add("*")
                return
            known = {name.lower() for source in left.sources for name in source.names or ()}
            names = [name for source in right.sources for name in source.names or () if name.lower() in known]
        for name in names:
            left_hand, right_hand = (
                [Found(source, at, 0) for source in part.sources if (at := source.index(name)) is not None]
                for part in (left, right)
            )
            if left_hand and right_hand:
                first, *more = left_hand
                if name.lower() in scope.blurred:
                    first = replace(first, others=tuple((one.source, one.index) for one in more))
                yield first, right_hand[0]
            scope.merged.add(name.lower())
            if keyword(join, "side") in {"RIGHT", "FULL"}:
                scope.blurred.add(name.lower())

    def _region(self, node: Node) -> Region | None:
        """The tokens of a SELECT: the one region around all of its own that stands in the text; None for FROM … SELECT."""
        regions: set[Region | None] = set()
        for part in own_parts(node, clauses=False):
            span = identifier_span(part)
            if span is None:
                continue
            token = self.statement.token_at(span.start)
            around = [region for region in self.regions if region.first <= token < region.end]
            regions.add(max(around, key=lambda region: region.first, default=None))
        region = regions.pop() if len(regions) == 1 else None
        return None if region is None else without_tail(self.statement, region, node)


def _kind_of(join: Node) -> JoinKind | None:
    """How the eddy runs a join, a RIGHT JOIN as the LEFT JOIN of its right side; None for any other."""
    side, kind, method = (keyword(join, name) for name in ("side", "kind", "method"))
    if not side and kind in {"", "INNER", "CROSS"}:
        return "inner" if method in {"", "NATURAL"} else None
    outer = kind in {"", "OUTER"}
    if join.args.get("on") is None and not join.args.get("using") and not (method == "NATURAL" and outer):
        return None
    if kind in {"SEMI", "ANTI"} and side in {"", "LEFT"}:
        return "semi" if kind == "SEMI" else "anti"
    return "left" if side in {"LEFT", "RIGHT"} and outer else None


def _following(scope: SelectScope) -> Iterator[ScopedCondition]:
    """What the branches of conditions share restricts the same sources as those do."""

    def owner(column: Node) -> Source | None:
        resolved = resolve(column, scope)
        return resolved.source if isinstance(resolved, Found) and not resolved.others else None

    for condition in scope.conditions:
        if condition.node is not None:
            for node in follows(condition.node, owner):
                yield replace(condition, node=node, follows=True)


def _limits(node: Node) -> bool:
    return any(node.args.get(name) for name in ("limit", "offset"))


def _inner_queries(node: Node) -> Iterator[Node]:
    """The outermost queries strictly under a node."""
    todo = list(node.iter_expressions())
    while todo:
        child = todo.pop()
        if is_query(child) and not isinstance(child, exp.Values):
            yield child
        else:
            todo += list(child.iter_expressions())


def _expression_queries(select: Node) -> Iterator[Node]:
    """The queries in the expressions of a SELECT; those of FROM and WITH are read with their sources."""
    source = arg(select, "from")
    joins = [*_joins_of(select), *(_joins_of(source.this) if isinstance(source, Node) else ())]
    parts = [join.args["on"] for join in joins if join.args.get("on") is not None]
    for name, value in select.args.items():
        if name.rstrip("_") not in {"from", "joins", "laterals", "with"}:
            parts += value if isinstance(value, list) else [value]
    for part in parts:
        if isinstance(part, exp.Expr):
            yield from [part] if is_query(part) else _inner_queries(part)


def _joins_of(entry: Node) -> Iterator[Node]:
    """The joins behind an entry of FROM, or of a SELECT, and those in their brackets."""
    for join in entry.args.get("joins") or ():
        yield join
        yield from _joins_of(join.this)
    if isinstance(entry, exp.Subquery | exp.Paren) and not is_query(entry):
        yield from _joins_of(entry.this)


def own_parts(select: Node, *, clauses: bool = True) -> Iterator[Node]:
    """Everything of a SELECT but the queries in it; what stands behind it may belong to a set operation."""
    todo: list[Node] = []
    for name, value in select.args.items():
        if name.rstrip("_") == "with":
            continue
        todo += [
            part for part in (value if isinstance(value, list) else [value]) if isinstance(part, exp.Expr)
        ]
    while todo:
        node = todo.pop()
        if is_query(node) and not isinstance(node, exp.Values):
            if isinstance(node, exp.Subquery):  # what stands behind its brackets is none of it
                alias = node.args.get("alias")
                todo += [*([alias] if alias is not None else []), *(node.args.get("joins") or ())]
            continue
        yield node
        if clauses and isinstance(node, exp.Column | exp.Star):
            continue
        todo += list(node.iter_expressions())


def _is_sealed(node: Node) -> bool:
    """Whether an entry of FROM is sampled or pivoted."""
    return bool(node.args.get("pivots") or node.args.get("sample"))


def _table_span(node: Node) -> Span | None:
    spans = [identifier_span(part) for part in parts_of(node)]
    first, last = spans[0], spans[-1]
    return None if first is None or last is None else Span(first.start, last.end)


def _check_table(statement: Statement, node: Node) -> None:
    for name in ("version", "when"):
        if node.args.get(name):
            raise statement.unsupported(
                "time travel is not supported: a source has one state, that of now", text_span(node)
            )
