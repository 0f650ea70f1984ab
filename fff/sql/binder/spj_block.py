"""Finds the select-project-join block of a SELECT: its tables, its conjuncts, and which names are in reach where.

A block is the FROM clause (inner, cross, left, semi and anti joins) and the WHERE clause. The walk goes over the syntax tree and the
tokens side by side: the tree says what a thing means, the tokens say where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fff.catalog import Catalog
from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.plan import JoinKind
from fff.errors import Span
from fff.sql.binder.names import Relation, Scope, find_table, parts_of
from fff.sql.binder.scopes import Region
from fff.sql.binder.unsupported import is_mirrored, join_kind, refuse
from fff.sql.syntax.statement import Node, Statement, TokenType, arg, conjuncts, exp, identifier_span, keyword
from fff.structs import Struct, field, replace

#: Clauses that may follow WHERE, by the token that opens them and the tree's name for them.
_CLAUSES = {
    TokenType.WHERE: "where",
    TokenType.GROUP_BY: "group",
    TokenType.HAVING: "having",
    TokenType.QUALIFY: "qualify",
    TokenType.WINDOW: "windows",
    TokenType.ORDER_BY: "order",
    TokenType.SORT_BY: "sort",
    TokenType.CLUSTER_BY: "cluster",
    TokenType.DISTRIBUTE_BY: "distribute",
    TokenType.LIMIT: "limit",
    TokenType.OFFSET: "offset",
}
#: Clauses that may stand behind a set operation, and are its own then.
_TAIL = frozenset({"order", "sort", "cluster", "distribute", "limit", "offset"})
#: What may stand between two relations, apart from the comma.
_JOIN_WORDS = frozenset(
    {
        *(TokenType.JOIN, TokenType.INNER, TokenType.CROSS, TokenType.NATURAL, TokenType.COMMA),
        *(TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.SEMI, TokenType.ANTI),
        *(TokenType.STRAIGHT_JOIN, TokenType.ASOF),
    }
)

#: What ends the condition of a join: another join, or the condition of one around it.
_BEHIND_CONDITION = _JOIN_WORDS | {TokenType.ON, TokenType.USING}


class Condition(Struct, frozen=True):
    """One conjunct of WHERE, ON, USING or NATURAL. `node` is None where USING made it out of `pair`."""

    text: str
    span: Span | None
    scope: Scope
    node: Node | None = None
    pair: tuple[Column, Column] | None = None
    on: int | None = None  # the right side of a left, semi or anti join that this decides over


class SourceBlock(Struct, frozen=True):
    """The select-project-join block of one SELECT, in declared columns."""

    statement: Statement
    select: Node
    scope: Scope
    conditions: tuple[Condition, ...]
    from_range: Span | None  # FROM up to the end of WHERE; None without FROM
    head: Span  # everything before FROM
    tail: Span  # everything behind WHERE
    outer: frozenset[int] = frozenset()  # ids of the nodes that name columns of an outer query
    right: Mapping[int, JoinKind] = field(default_factory=dict)  # right sides of left, semi and anti joins


def find_block(
    statement: Statement, select: Node, catalog: Catalog, region: Region | None = None
) -> SourceBlock:
    """The block of a SELECT whose FROM holds tables, inner and cross joins; `region` is where it stands.

    Raises:
        QueryError: unknown or ambiguous names.
        UnsupportedSQL: a join the eddy does not run.
    """
    begin, end = 0, len(statement.sql)
    if region is None:
        region = Region(0, len(statement.tokens), 0)
    else:
        span = statement.span(region.first, region.end)
        begin, end = span.start, span.end
    start = _from_token(statement, region) if arg(select, "from") is not None else None
    if start is None:
        return SourceBlock(statement, select, Scope(), (), None, Span(begin, end), Span(end, end))
    clauses = _clauses(statement, select, start, region)
    first_clause = clauses[0][1] if clauses else region.end
    walk = _FromClause(statement, catalog, first_clause)
    scope = walk.run(select, start + 1)
    conditions = list(walk.conditions)
    behind = first_clause
    if clauses and clauses[0][0] == "where":
        behind = clauses[1][1] if len(clauses) > 1 else region.end
        conditions += split(statement, select.args["where"].this, first_clause + 1, behind, scope)
    used = statement.span(start, behind)
    return SourceBlock(
        statement,
        select,
        scope,
        tuple(conditions),
        used,
        Span(begin, used.start),
        Span(used.end, end),
        right=walk.right,
    )


def clause_tokens(
    statement: Statement, select: Node, region: Region
) -> tuple[int | None, list[tuple[str, int]]]:
    """The token of FROM, if there is one, and the clauses behind it, each with the token that opens it."""
    start = _from_token(statement, region) if arg(select, "from") is not None else None
    return start, _clauses(statement, select, region.first if start is None else start, region)


def without_tail(statement: Statement, region: Region, select: Node) -> Region:
    """The region of the last SELECT of a set operation without the clauses of that."""
    if not isinstance(select.parent, exp.SetOperation) or select.parent.expression is not select:
        return region
    for index in range(region.first + 1, region.end):
        name = _CLAUSES.get(statement.tokens[index].token_type)
        named = statement.tokens[index - 1].token_type is TokenType.DOT
        at_hand = statement.depths[index] == region.depth and not named
        if name in _TAIL and at_hand and not select.args.get(name):
            return replace(region, end=index)
    return region


def split(statement: Statement, node: Node, first: int, end: int, scope: Scope) -> list[Condition]:
    """The conjuncts of a condition that stands in the tokens `first` up to but not including `end`."""
    if first >= end:
        raise statement.error("syntax error: a condition is missing here", statement.span(first - 1, first))
    nodes = conjuncts(node)
    places = _split_tokens(statement, first, end)
    if len(nodes) != len(places):
        raise statement.error(
            "syntax error: these conditions cannot be told apart",
            statement.span(first, end),
            hint="put each condition into brackets",
        )
    return [
        Condition(statement.text(low, high), statement.span(low, high), scope, node=part)
        for part, (low, high) in zip(nodes, places, strict=True)
    ]


def _split_tokens(statement: Statement, first: int, end: int) -> list[tuple[int, int]]:
    """Cut at the ANDs of the outermost level, into brackets where they enclose a whole part."""
    tokens = statement.tokens
    while tokens[first].token_type is TokenType.L_PAREN and statement.closing(first) == end - 1:
        first, end = first + 1, end - 1
    depth = statement.depths[first]
    cuts, cases, betweens = [], 0, 0
    for index in range(first, end):
        kind = tokens[index].token_type
        if index > first and tokens[index - 1].token_type is TokenType.DOT:
            continue  # a column that is called like a word of SQL
        cases += (kind is TokenType.CASE) - (kind is TokenType.END and cases > 0)
        if statement.depths[index] != depth or cases:
            continue
        if kind is TokenType.BETWEEN:
            betweens += 1
        elif kind is TokenType.OR:
            return [(first, end)]
        elif kind is TokenType.AND and betweens:
            betweens -= 1
        elif kind is TokenType.AND:
            cuts.append(index)
    if not cuts:
        return [(first, end)]
    edges = list(zip([first, *(cut + 1 for cut in cuts)], [*cuts, end], strict=True))
    return [place for low, high in edges for place in _split_tokens(statement, low, high)]


def _from_token(statement: Statement, region: Region) -> int | None:
    """FROM of the SELECT; the one of IS DISTINCT FROM is another word."""
    tokens = statement.tokens
    for index in range(region.first, region.end):
        if tokens[index].token_type is TokenType.FROM and statement.depths[index] == region.depth:
            if index and tokens[index - 1].token_type is TokenType.DISTINCT:
                continue
            return index
    return None


def _clauses(statement: Statement, select: Node, start: int, region: Region) -> list[tuple[str, int]]:
    """The clauses behind FROM that the tree knows, each with the token that opens it, in the order of the text."""
    clauses: dict[str, int] = {}
    for index in range(start + 1, region.end):
        token = statement.tokens[index]
        name = _CLAUSES.get(token.token_type)
        if name is not None and statement.depths[index] == region.depth and select.args.get(name):
            clauses.setdefault(name, index)
    return sorted(clauses.items(), key=lambda item: item[1])


class _FromClause(Struct):
    """A walk over the FROM clause; `end` is the token behind it."""

    statement: Statement
    catalog: Catalog
    end: int
    relations: list[Relation] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    right: dict[int, JoinKind] = field(default_factory=dict)

    def run(self, select: Node, at: int) -> Scope:
        source = arg(select, "from")
        assert isinstance(source, Node)
        scope, at = self._joined(source.this, select.args.get("joins") or (), at)
        if at != self.end:
            at = min(at, len(self.statement.tokens) - 1)
            raise refuse(self.statement, self.statement.tokens[at].text, self.statement.span(at, at + 1))
        return scope

    def _joined(self, first: Node, joins: Sequence[Node], at: int) -> tuple[Scope, int]:
        """A relation and the joins behind it; a comma joins like any other, from left to right, as in Spark."""
        scope, at = self._relation(first, at)
        for join in joins:
            start = at
            while at < self.end and self.statement.tokens[at].token_type in _JOIN_WORDS | {TokenType.OUTER}:
                at += 1
            kind = join_kind(self.statement, join, start, max(at, start + 1))
            right, at = self._relation(join.this, at)
            if kind == "inner":
                scope, at = self._join(join, scope, right, at)
                continue
            if is_mirrored(join):
                scope, at = self._mirrored(join, scope, right, at)
                continue
            if len(right.relations) > 1:
                raise refuse(self.statement, "this right side of a join", right.relations[0].span)
            scope, at = self._one_sided(join, kind, scope, right, at)
        return scope, at

    def _one_sided(self, join: Node, kind: JoinKind, left: Scope, right: Scope, at: int) -> tuple[Scope, int]:
        """A left, semi or anti join. The right side of the latter two is in reach of ON alone."""
        [relation] = right.relations
        before = len(self.conditions)
        scope, at = self._join(join, left, right, at)
        if before == len(self.conditions):
            raise refuse(self.statement, "a NATURAL join without common columns", relation.span)
        self.conditions[before:] = [replace(one, on=relation.ordinal) for one in self.conditions[before:]]
        self.right[relation.ordinal] = kind
        if kind != "left":
            relations = (*left.relations, replace(relation, unseen=True))
            output = tuple(column for column in scope.output if column.alias != relation.ordinal)
            scope = Scope(relations, output, left.hidden)
        return scope, at

    def _mirrored(self, join: Node, left: Scope, right: Scope, at: int) -> tuple[Scope, int]:
        """A RIGHT JOIN: the sides of a LEFT JOIN exchanged, but for the order of columns."""
        if len(left.relations) > 1 or left.relations[0].called:
            raise refuse(self.statement, "this left side of a RIGHT JOIN", left.relations[0].span)
        [own] = left.relations
        before = len(self.conditions)
        scope, at = self._one_sided(join, "left", right, left, at)
        merged = sum(one.pair is not None for one in self.conditions[before:])
        if merged > 1 and not join.args.get("using"):  # whose order is that of the other side
            raise refuse(self.statement, "NATURAL RIGHT JOIN by several columns", own.span)
        rest = scope.output[merged:]
        ordered = (
            *scope.output[:merged],
            *(column for column in rest if column.alias == own.ordinal),
            *(column for column in rest if column.alias != own.ordinal),
        )
        return replace(scope, relations=(*left.relations, *right.relations), output=ordered), at

    def _join(self, join: Node, left: Scope, right: Scope, at: int) -> tuple[Scope, int]:
        token = self.statement.tokens[at].token_type if at < self.end else None
        if keyword(join, "method") == "NATURAL":
            return self._natural(left, right), at
        if token is TokenType.USING:
            if at + 1 >= self.end or self.statement.tokens[at + 1].token_type is not TokenType.L_PAREN:
                raise self.statement.error(
                    "syntax error: USING wants column names in brackets", self.statement.span(at, at + 1)
                )
            close = self.statement.closing(at + 1)
            return self._using(join, left, right), close + 1
        if token is TokenType.ON:
            scope = left + right
            end = self._condition_end(at + 1) if at + 1 < self.end else at + 1
            self.conditions += split(self.statement, join.args["on"], at + 1, end, scope)
            return scope, end
        on = join.args.get("on")
        if on is not None and not isinstance(on, exp.Boolean):
            raise refuse(self.statement, "this order of joins", self.statement.span(at - 1, at))
        return left + right, at

    def _condition_end(self, at: int) -> int:
        tokens, depths = self.statement.tokens, self.statement.depths
        depth = depths[at]
        for index in range(at, self.end):
            kind = tokens[index].token_type
            if depths[index] < depth:
                return index
            call = index + 1 < self.end and tokens[index + 1].token_type is TokenType.L_PAREN
            if depths[index] == depth and kind in _BEHIND_CONDITION and not (call and _is_function(kind)):
                return index
        return self.end

    def _natural(self, left: Scope, right: Scope) -> Scope:
        names = {right.field(column).name.lower() for column in right.output}
        shared = [column for column in left.output if left.field(column).name.lower() in names]
        pairs = [
            (
                self._side(left, left.field(column).name, None),
                self._side(right, left.field(column).name, None),
            )
            for column in shared
        ]
        return self._merge(left, right, pairs, [None] * len(pairs))

    def _using(self, join: Node, left: Scope, right: Scope) -> Scope:
        names = join.args["using"]
        spans = [identifier_span(name) for name in names]
        pairs = [
            (self._side(left, name.name, span), self._side(right, name.name, span))
            for name, span in zip(names, spans, strict=True)
        ]
        return self._merge(left, right, pairs, spans)

    def _side(self, scope: Scope, name: str, span: Span | None) -> Column:
        """The column of a side that USING means, of several the first, as in Spark; NATURAL means no one of several."""
        columns = scope.named(name)
        if len(columns) == 1 or (columns and span is not None):
            return columns[0]
        where = ", ".join(relation.alias for relation in scope.relations)
        options = ", ".join(scope.describe(column) for column in columns)
        problem = f"is ambiguous: {options}" if columns else f"is not a column of {where}"
        raise self.statement.error(f"join column {name} {problem}", span)

    def _merge(
        self, left: Scope, right: Scope, pairs: Sequence[tuple[Column, Column]], spans: Sequence[Span | None]
    ) -> Scope:
        """Spark's rule: the join columns first, once; the right-hand ones can still be named with their alias."""
        both = left + right
        for pair, span in zip(pairs, spans, strict=True):
            text = f"{both.describe(pair[0])} = {both.describe(pair[1])}"
            self.conditions.append(Condition(text, span, both, pair=pair))
        keys, merged = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        rest = [column for column in both.output if column not in keys and column not in merged]
        return Scope(both.relations, (*keys, *rest), (*merged, *both.hidden))

    def _relation(self, node: Node, at: int) -> tuple[Scope, int]:
        tokens = self.statement.tokens
        if isinstance(node, exp.Subquery | exp.Paren) and isinstance(
            node.this, exp.Table | exp.Subquery | exp.Paren
        ):
            inner = node.this
            scope, inside = self._joined(inner, inner.args.get("joins") or (), at + 1)
            if (
                inside >= self.end
                or tokens[inside].token_type is not TokenType.R_PAREN
                or node.args.get("alias")
            ):
                raise refuse(
                    self.statement, "an alias for a join in brackets", self.statement.span(at, at + 1)
                )
            return scope, inside + 1
        return self._table(node)

    def _table(self, node: Node) -> tuple[Scope, int]:
        """A table and its alias."""
        name = parts_of(node)
        alias = node.args.get("alias")
        written = alias.this if alias is not None else None
        span, last = identifier_span(name[0]), identifier_span(written if written is not None else name[-1])
        if span is None or last is None:
            raise self.statement.error("syntax error: this cannot be read as a table", span)
        place = Span(span.start, (identifier_span(name[-1]) or span).end)
        table = find_table(self.statement, node, self.catalog, place)
        relation = Relation(
            written.name if written is not None else table.name,
            table,
            len(self.relations),
            place,
            written is not None,
        )
        self.relations.append(relation)
        return Scope.of(relation), self.statement.token_at(last.end - 1) + 1


def _is_function(kind: TokenType) -> bool:
    return kind in {TokenType.LEFT, TokenType.RIGHT}
