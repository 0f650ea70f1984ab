"""Subqueries of WHERE that mean a semi or an anti join, written as one, so that the eddy joins them.

    WHERE r.x IN (SELECT y FROM s WHERE s.n > 1)      FROM r LEFT SEMI JOIN web.s AS s ON r.x = s.y AND (s.n > 1)
    WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.y = x)  FROM r LEFT ANTI JOIN web.s AS s ON (s.y = r.x)

A condition that AND alone connects drops a row where it is false and where it is NULL, which is what makes IN a semi join. So
does NOT IN an anti join, but only where no NULL can be on either side: where conditions beside it are true of no NULL, of either.
Both sides of IN are columns of one kind, or what is computed and a column of one type, so that `=` compares them as IN does. The subquery is over one table; of its select
list EXISTS looks at nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from fff.errors import QueryError, Span
from fff.schema import comparison_kind
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.names import has_generator, is_free, not_taken, parts_of
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, Source, resolve
from fff.sql.binder.select_text import SelectText, conjoined
from fff.sql.binder.spj_block import Condition
from fff.sql.refusals.types.expressions import Expressions
from fff.sql.refusals.types.kinds import letter_of
from fff.sql.syntax.aggregates import has_aggregate
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.statement import (
    Node,
    Statement,
    TokenType,
    exp,
    filled,
    identifier_span,
    keyword,
    qualified,
    quote,
    text_span,
)
from fff.structs import Struct

#: What a SELECT behind IN or EXISTS may consist of, by the tree's names. One of each of its rows is as good as all.
_CLAUSES = frozenset({"expressions", "from", "where", "distinct"})
#: What a SELECT of aggregates consists of that has one row, whatever it reads.
_OF_ONE_ROW = frozenset({"expressions", "from", "joins", "where"})
#: The words of a semi join.
_SEMI_JOIN = frozenset({TokenType.LEFT, TokenType.SEMI, TokenType.JOIN})
#: Letters of kinds that are one type, whose values `=` compares as IN does.
_OF_ONE_TYPE = frozenset("byhildstTn")
#: Comparisons that are NULL where one side is.
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.ILike, exp.RegexpLike)


class Subquery(Struct, frozen=True):
    """A subquery that may become a join of the SELECT around it, and the changes of the text that make it one."""

    inner: SelectScope
    outer: SelectScope
    edits: tuple[Edit, ...]


def subqueries(tree: QueryTree) -> Iterator[Subquery]:
    """The subqueries of a statement that mean a semi or an anti join."""
    for scope in tree.scopes:
        if not scope.inner or not scope.joinable or scope.region is None:
            continue
        try:
            text = SelectText.of(tree.statement, scope)
            conditions = text.conditions
        except QueryError:
            continue  # told of when it is planned
        for condition in conditions:
            meant = _Meant.of(tree, scope, conditions, condition)
            if meant is not None:
                yield from meant.subquery(text, conditions)


def members(text: Rewritten) -> Rewritten | None:
    """`x = (SELECT max(y) …)` as `x IN (SELECT max(y) …)`, which is the same in WHERE where a query has at most one row.

    What is behind IN is run first, for the keys that it yields. `EXISTS (SELECT 1)` is `true`. None where there is neither.
    Raises QueryError.
    """
    tree = text.tree
    tokens, edits = tree.statement.tokens, []
    for scope in tree.scopes:
        bracket = scope.node.parent
        if isinstance(bracket, exp.Exists) and scope.region is not None and _is_constant(scope.node):
            edits.append(edit(tree.statement.span(scope.region.first - 2, scope.region.end + 1), "true"))
            continue
        equal = bracket.parent if isinstance(bracket, exp.Subquery) else None
        around = equal.parent if isinstance(equal, exp.EQ) else None
        while isinstance(around, exp.And | exp.Paren):
            around = around.parent
        limit = scope.node.args.get("limit")
        one_row = filled(scope.node) <= _OF_ONE_ROW and any(map(has_aggregate, scope.node.expressions))
        one_row &= not any(map(has_generator, scope.node.expressions))
        one_row |= isinstance(limit, exp.Limit) and limit.expression == exp.Literal.number(1)
        one_row |= filled(scope.node) == {"expressions"} and not scope.node.find(
            exp.Func
        )  # which may make many
        if not one_row or not isinstance(around, exp.Where) or scope.region is None or equal is None:
            continue
        sign = scope.region.first - 2
        if tokens[sign].token_type is TokenType.EQ and isinstance(equal.this, exp.Column):
            edits.append(edit(tree.statement.span(sign, sign + 1), " IN "))
    return text.edited(edits) if edits else None


def by_key(text: Rewritten) -> Rewritten | None:
    """`EXISTS (SELECT … FROM s WHERE s.y = v.k AND …)` as `v.k IN (SELECT s.y …)`, where `v` is read by key; None where there is none.

    AND alone connects it with the rest of WHERE, so that false and NULL are the same. Raises QueryError.
    """
    tree, edits = text.tree, list[Edit]()
    for scope in tree.scopes:
        try:
            conditions = SelectText.of(tree.statement, scope).conditions if scope.inner else []
            found = [_membership(tree, scope, one) for one in conditions if isinstance(one.node, exp.Exists)]
        except QueryError:
            continue  # told of when it is planned
        edits += [one for one in found if one is not None]
    return text.edited(edits) if edits else None


def _is_constant(select: Node) -> bool:
    """Whether a SELECT is a row of constants."""
    constants = (exp.Literal, exp.Null, exp.Boolean)
    return filled(select) == {"expressions"} and all(
        isinstance(item.unalias(), constants) for item in select.expressions
    )


def as_exists(text: Rewritten) -> Rewritten | None:
    """`v LEFT SEMI JOIN s ON …` as `v WHERE EXISTS (SELECT 1 FROM s WHERE …)`, where `v` is read by key; None where there is none.

    Raises QueryError.
    """
    before = text
    while True:
        tree = text.tree
        step = next((one for scope in tree.scopes for one in _semi_joins(tree, scope)), None)
        if step is None:
            return text if text is not before else None
        text = text.edited([step])


def _semi_joins(tree: QueryTree, scope: SelectScope) -> Iterator[Edit]:
    """For each semi join of a SELECT what takes the place of all from it to the end of WHERE."""
    joins = scope.node.args.get("joins") or ()
    left = [one.table for one in scope.sources if one.table is not None and not one.hidden]
    mirrored = any(keyword(join, "side") in ("RIGHT", "FULL") for join in joins)
    if scope.region is None or mirrored or all(table.usable_scans for table in left):
        return
    for join in joins:
        source = next((one for one in scope.sources if one.node is join.this and one.hidden), None)
        if source is not None and keyword(join, "kind") == "SEMI":
            with suppress(QueryError):  # told of when it is planned
                yield from _exists(SelectText.of(tree.statement, scope), scope, source, join)


def _exists(text: SelectText, scope: SelectScope, source: Source, join: Node) -> Iterator[Edit]:
    first, tables, tokens = _first_token(text.statement, source), text.from_text, text.statement.tokens
    on = None if first is None else text.join_condition(first)
    if first is None or on is None or tables is None:
        return
    matched: list[str | Span] = [Span(tokens[text.statement.token_at(on.start)].end + 1, on.end)]
    if (node := join.args.get("on")) is None:
        pairs = [
            pair for one in scope.conditions if (pair := one.pair) is not None and pair[1].source is source
        ]
        if scope.stars or len(pairs) != len(join.args.get("using") or ()):
            return  # in a star the columns of USING come first
        matched = [" AND ".join(f"{_column(left)} = {_column(right)}" for left, right in pairs)]
        outer = [left.source.alias for left, _ in pairs]
    else:
        meant = [(one, resolve(one, scope)) for one in node.find_all(exp.Column)]
        if not all(isinstance(meaning, Found) for _, meaning in meant):
            return  # of two columns of a name it would be the inner one
        outer = [
            parts_of(one)[0].name
            for one, meaning in meant
            if isinstance(meaning, Found) and meaning.source is not source
        ]
    if source.names is None or any(source.index(name) is not None for name in outer):
        return  # which would be that column, and what follows a field of it
    start = first - 1
    while tokens[start].token_type in _SEMI_JOIN:
        start -= 1
    where, word = text.clause("where"), text.where_token
    kept = (" AND (", Span(word.end, where.end), ")") if where and word else ()
    inside = (" WHERE EXISTS (SELECT 1 FROM ", Span(tokens[first].start, on.start), "WHERE (", *matched, "))")
    place = Span(tokens[start].end + 1, text.source_end)
    yield Edit(place, (" ", Span(on.end, tables.end), *inside, *kept, " "))


def _first_token(statement: Statement, source: Source) -> int | None:
    """Where an entry of FROM begins: a table, or a query in brackets."""
    if source.span is not None:
        return statement.token_at(source.span.start)
    branches = [] if source.query is None else source.query.branches
    region = branches[0].region if len(branches) == 1 else None
    return None if region is None else region.first - 1


def _membership(tree: QueryTree, scope: SelectScope, condition: Condition) -> Edit | None:
    """What takes the place of EXISTS, where equalities alone connect its query with the SELECT around it."""
    node = condition.node
    inner = None if node is None else next((one for one in tree.scopes if one.node is node.this), None)
    if inner is None or inner.region is None or condition.span is None or not _of_rows(inner):
        return None
    text = SelectText.of(tree.statement, inner)
    pairs: list[tuple[Found, Found]] = []
    rest = []
    for one in text.conditions:
        pair = _equated(one.node, scope, inner)
        if pair is None and one.span is not None:
            rest.append(one.span)
        pairs += [] if pair is None else [pair]
    outer = [resolve(column, inner) for column in inner.columns]
    named = sum(not (isinstance(one, Found) and one.source.scope is inner) for one in outer)
    keyed = any(one.source.table is not None and not one.source.table.usable_scans for one, _ in pairs)
    if not keyed or named != len(pairs) or text.from_text is None:
        return None
    left, right = (", ".join(_column(pair[side]) for pair in pairs) for side in (0, 1))
    start = f"{left if len(pairs) == 1 else f'({left})'} IN (SELECT {right} FROM "  # noqa: S608 - names of the catalog
    return Edit(condition.span, (start, text.from_text, *conjoined(rest), ")"))


def _equated(node: Node | None, scope: SelectScope, inner: SelectScope) -> tuple[Found, Found] | None:
    """A column of the outer SELECT and one of the inner one that a condition equates."""
    if not isinstance(node, exp.EQ):
        return None
    sides = [_any_column(side.unnest(), inner) for side in (node.this, node.expression)]
    for outer, own in (sides, sides[::-1]):
        if outer and own and outer.source.scope is scope and own.source.scope is inner:
            return outer, own
    return None


class _Meant(Struct, frozen=True):
    """A condition that asks for matches: in which SELECT, of which columns, and whether there must be one or none."""

    tree: QueryTree
    scope: SelectScope
    inner: SelectScope
    condition: Condition
    join: str
    pairs: tuple[tuple[Found, Found], ...]  # columns of both sides that IN compares
    computed: tuple[tuple[str | Span, ...], Found] | None = (
        None  # or what is computed, its names qualified, and a column
    )

    @classmethod
    def of(
        cls, tree: QueryTree, scope: SelectScope, conditions: Sequence[Condition], condition: Condition
    ) -> _Meant | None:
        """What a conjunct of WHERE means, if it is one of these."""
        node = condition.node
        wanted = not isinstance(node, exp.Not)
        if isinstance(node, exp.Not):
            node = node.this.unnest()
        query = node.this if isinstance(node, exp.Exists) else None
        if isinstance(node, exp.In):
            query = node.args.get("query")
        while isinstance(query, exp.Subquery) and filled(query) == {"this"}:
            query = query.this
        inner = next((one for one in tree.scopes if one.node is query), None)
        if inner is None or not _plain(inner):
            return None
        join = "LEFT SEMI JOIN" if wanted else "LEFT ANTI JOIN"
        if isinstance(node, exp.Exists):
            return cls(tree, scope, inner, condition, join, ())
        assert isinstance(node, exp.In), "EXISTS and IN have queries"
        pairs = _pairs(node.this, scope, inner)
        computed = _computed(tree, scope, inner, condition) if wanted and not pairs else None
        if computed is None and not (
            pairs and (wanted or _never_null(tree, scope, conditions, pairs, inner))
        ):
            return None
        return cls(tree, scope, inner, condition, join, tuple(pairs), computed)

    def subquery(self, text: SelectText, conditions: Sequence[Condition]) -> Iterator[Subquery]:
        """The subquery as a join, where every name in it is clear."""
        [source] = self.inner.sources
        try:
            own = SelectText.of(self.tree.statement, self.inner).conditions
        except QueryError:
            return
        alias = self._alias(source)
        names = self._names(source, alias, own)
        place, where = text.from_text, text.where_token
        if names is None or place is None or where is None or source.table is None:
            return
        around = any(self._is_around(column) for column in self.inner.columns)
        if source.table.source and not (around or self.pairs or self.computed):
            return  # one row of it says all: it is a table of one row first (`fff.sql.nested.query_tables`)
        on: list[str | Span] = []
        if self.computed is not None:
            on += ["(", *self.computed[0], f") = {_column(self.computed[1], alias)}"]
        for left, right in self.pairs:
            on.append(f"{' AND ' if on else ''}{_column(left)} = {_column(right, alias)}")
        for condition in own:
            assert condition.span is not None, "a condition that was split stands in the text"
            on += [" AND (" if on else "(", condition.span, ")"]
        name = ".".join(quote(part) for part in (source.table.source, source.table.name) if part)
        table = f"{name} AS {quote(alias)}"
        kept: list[str | Span] = []
        for condition in conditions:
            if condition is not self.condition and condition.span is not None:
                kept += [" AND (" if kept else " WHERE (", condition.span, ")"]
        parts = (f" {self.join} {table} ON ", *(on or ["true"]), *kept, " ")
        yield Subquery(self.inner, self.scope, (Edit(Span(place.end, text.source_end), parts), *names))

    def _is_around(self, column: Node) -> bool:
        found = resolve(column, self.inner)
        return isinstance(found, Found) and found.source.scope is not self.inner

    def _alias(self, source: Source) -> str:
        """The name that the table had in the subquery; another where that is taken around it."""
        taken: set[str] = set()
        at: SelectScope | None = self.scope
        while at is not None:
            taken |= {one.alias.lower() for one in at.sources}
            at = at.outer
        return not_taken(source.alias, taken)

    def _names(self, source: Source, alias: str, own: Sequence[Condition]) -> list[Edit] | None:
        """The names in the subquery's conditions, qualified; None where one is of neither SELECT."""
        edits = []
        spans = [one.span for one in own if one.span is not None]
        for node in self.inner.columns:
            parts = parts_of(node)
            first = identifier_span(parts[0])
            if first is None:
                return None
            if not any(span.start <= first.start < span.end for span in spans):
                continue
            meaning = resolve(node, self.inner)
            if not isinstance(meaning, Found) or meaning.others:
                return None
            last = identifier_span(parts[meaning.qualifiers])
            mine = meaning.source is source
            if last is None or not (mine or meaning.source.scope is self.scope):
                return None
            owner = alias if mine else meaning.source.alias
            if not is_free(owner, node):
                return None
            edits.append(edit(Span(first.start, last.end), _column(meaning, owner)))
        return edits


def _column(resolved: Found, alias: str | None = None) -> str:
    assert resolved.source.names is not None, "a column that was found has a name"
    return qualified(resolved.source.alias if alias is None else alias, resolved.source.names[resolved.index])


def _plain(scope: SelectScope) -> bool:
    """Whether a SELECT gives a row for each row of one web table that meets its conditions."""
    if not scope.joinable or len(scope.sources) != 1 or scope.region is None or scope.sources[0].renamed:
        return False
    return not filled(scope.node) - _CLAUSES and _of_rows(scope)


def _of_rows(scope: SelectScope) -> bool:
    """Whether a SELECT has a row where FROM and WHERE have one."""
    distinct = scope.node.args.get("distinct")
    if filled(scope.node) - _CLAUSES - {"joins"} or (distinct is not None and distinct.args.get("on")):
        return False
    items = [item.unalias() for item in scope.node.expressions]
    # Anything else may be an aggregate, which has a row where there is none, or make several rows or none of one.
    return all(
        isinstance(item, exp.Column | exp.Star | exp.Literal | exp.Null | exp.Boolean) for item in items
    )


def _pairs(left: Node, scope: SelectScope, inner: SelectScope) -> list[tuple[Found, Found]]:
    """What IN compares, if it is columns of one kind alone."""
    left = left.unnest()
    mine = [one.unnest() for one in left.expressions] if isinstance(left, exp.Tuple) else [left]
    items = [item.unalias() for item in inner.node.expressions]
    pairs = []
    for one, other in zip(mine, items, strict=True) if len(mine) == len(items) else ():
        pair = _plain_column(one, scope), _plain_column(other, inner)
        if pair[0] is None or pair[1] is None or not _comparable(pair[0], pair[1]):
            return []
        if pair[0].source.scope is not scope or pair[1].source.scope is not inner:
            return []
        pairs.append((pair[0], pair[1]))
    return pairs


def _computed(
    tree: QueryTree, scope: SelectScope, inner: SelectScope, condition: Condition
) -> tuple[tuple[str | Span, ...], Found] | None:
    """What is computed of columns in front of IN, its names qualified, and the column of its type that the query behind IN is of."""
    node, items, statement = condition.node, inner.node.expressions, tree.statement
    right = _plain_column(items[0].unalias(), inner) if len(items) == 1 else None
    if right is None or right.source.scope is not inner or right.source.table is None:
        return None
    if condition.span is None or inner.region is None:
        return None
    first, behind = statement.token_at(condition.span.start), inner.region.first - 2
    kind, end = Expressions(statement, tree.scopes).operand(first)
    letter = letter_of(right.source.table.columns[right.index].type)
    if not isinstance(node, exp.In) or end != behind or kind != letter or kind not in _OF_ONE_TYPE:
        return None
    text: list[str | Span] = []
    at = condition.span.start
    places = [(text_span(one), one) for one in node.this.find_all(exp.Column)]
    for place, name in sorted(places, key=lambda one: 0 if one[0] is None else one[0].start):
        column = _any_column(name, scope)
        if column is None or column.source.scope is not scope or place is None:
            return None
        if not is_free(column.source.alias, name):
            return None
        text += [Span(at, place.start), _column(column)]
        at = place.end
    text.append(Span(at, statement.tokens[behind - 1].end + 1))
    return tuple(text), right


def _plain_column(node: Node, scope: SelectScope) -> Found | None:
    column = _any_column(node, scope)
    return None if column is None or column.source.table is None else column


def _any_column(node: Node, scope: SelectScope) -> Found | None:
    """The column that a node names, of a table or a query."""
    resolved = resolve(node, scope) if isinstance(node, exp.Column) else None
    if not isinstance(resolved, Found) or resolved.others or resolved.source.names is None:
        return None
    return resolved if len(parts_of(node)) == resolved.qualifiers + 1 else None


def _comparable(left: Found, right: Found) -> bool:
    kinds = {
        comparison_kind(one.source.table.columns[one.index].arrow)
        for one in (left, right)
        if one.source.table is not None
    }
    return len(kinds) == 1 and None not in kinds


def _never_null(
    tree: QueryTree,
    scope: SelectScope,
    conditions: Sequence[Condition],
    pairs: Sequence[tuple[Found, Found]],
    inner: SelectScope,
) -> bool:
    """Whether conditions reject the NULLs of all that NOT IN compares."""
    try:
        own = SelectText.of(tree.statement, inner).conditions
    except QueryError:
        return False
    not_null = _not_null(conditions, scope) | _not_null(own, inner)
    return all((one.source, one.index) in not_null or _is_key(one) for pair in pairs for one in pair)


def _is_key(resolved: Found) -> bool:
    """Whether a column is never NULL for what its source declares: of the primary key, or one that every request binds."""
    table = resolved.source.table
    if table is None or not table.source or resolved.source.nullable:
        return False  # rows of a query are each different, NULL being as good as any
    required = (key.name for key in table.key_columns if key.require == "required")
    name = table.columns[resolved.index].name.lower()
    return name in {one.lower() for one in (*table.primary_key, *required)}


def _not_null(conditions: Sequence[Condition], scope: SelectScope) -> set[tuple[Source, int]]:
    """The columns for whose NULLs a condition is not true: IS NOT NULL, and comparisons of the columns themselves."""
    not_null = set()
    for condition in conditions:
        node = condition.node
        inner_condition = node.this.unnest() if isinstance(node, exp.Not) else node
        operands: list[Node] = []
        if (
            isinstance(inner_condition, exp.Is)
            and isinstance(inner_condition.expression, exp.Null)
            and inner_condition is not node
        ):
            operands = [inner_condition.this]
        elif isinstance(inner_condition, _COMPARISONS):
            operands = [inner_condition.this, inner_condition.expression]
        elif isinstance(inner_condition, exp.Between) or (
            isinstance(inner_condition, exp.In) and inner_condition.args.get("query") is None
        ):
            operands = [inner_condition.this]
        for operand in operands:
            column = _plain_column(operand.unnest(), scope)
            if column is not None:
                not_null.add((column.source, column.index))
    return not_null
