"""Builds the select-project-join block of a SELECT: its tables, its conjuncts, and which names are in reach where.

A block is the FROM clause (inner, cross, left, semi and anti joins) and the WHERE clause. What is joined how, the SELECT's scope
says; the tokens say where conditions stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.plan import JoinKind
from fff.errors import Span, UnsupportedSQL
from fff.sql.binder.names import Relation, Scope, parts_of
from fff.sql.binder.regions import clause_tokens
from fff.sql.binder.scopes import ScopedJoin, SelectScope, Source
from fff.sql.syntax.statement import Node, Statement, TokenType, conjuncts, exp, identifier_span, keyword
from fff.structs import Struct, field, replace

#: What may stand between two relations.
_JOIN_WORDS = frozenset(
    {
        *(TokenType.JOIN, TokenType.INNER, TokenType.CROSS, TokenType.NATURAL, TokenType.COMMA),
        *(TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.SEMI, TokenType.ANTI),
        *(TokenType.STRAIGHT_JOIN, TokenType.ASOF),
    }
)
_BETWEEN = _JOIN_WORDS | {TokenType.OUTER, TokenType.L_PAREN, TokenType.R_PAREN}
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
    scope: Scope = Scope()
    conditions: tuple[Condition, ...] = ()
    from_range: Span | None = None  # FROM up to the end of WHERE; None without FROM
    outer: frozenset[int] = frozenset()  # ids of the nodes that name columns of an outer query
    right: Mapping[int, JoinKind] = field(default_factory=dict)  # right sides of left, semi and anti joins


def find_block(statement: Statement, scope: SelectScope) -> SourceBlock:
    """The block of a SELECT over tables that joins of the eddy connect, or over none.

    Raises:
        QueryError: unknown or ambiguous names.
        UnsupportedSQL: a join the eddy does not run.
    """
    if scope.region is None or not scope.sources:
        return SourceBlock(statement, scope.node)
    start, clauses = clause_tokens(statement, scope.node, scope.region)
    assert start is not None, "what is read stands behind FROM"
    end, behind, *_ = [*(at for _, at in clauses), scope.region.end, scope.region.end]
    walk = _FromClause(statement, scope, start + 1, end)
    reach = walk.run()
    if scope.node.args.get("where"):
        assert clauses[0][0] == "where", "the parser has seen to the order"
        walk.conditions += split(statement, scope.node.args["where"].this, end + 1, behind, reach)
        end = behind
    used = statement.span(start, end)
    return SourceBlock(statement, scope.node, reach, tuple(walk.conditions), used, right=walk.right)


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


class _FromClause(Struct):
    """The joins of a FROM clause, one after the other; `at` is the token behind what has been read of them."""

    statement: Statement
    select: SelectScope
    at: int
    end: int
    behind: list[int] = field(default_factory=list)  # for each relation the token behind it and its alias
    conditions: list[Condition] = field(default_factory=list)
    right: dict[int, JoinKind] = field(default_factory=dict)

    def run(self) -> Scope:
        """What is in reach behind FROM."""
        numbers = {source: number for number, source in enumerate(self.select.sources)}
        sides = {number: self._table(source, number) for source, number in numbers.items()}
        for join in self.select.joins:
            joined = self._joined(join, sides[numbers[join.left[0]]], sides[numbers[join.right[0]]])
            sides |= {relation.ordinal: joined for relation in joined.relations}
        self._pass(self.behind[-1], self.end)
        return sides[0]

    def _table(self, source: Source, number: int) -> Scope:
        alias, table = source.node.args.get("alias"), source.table
        last = identifier_span(parts_of(source.node)[-1] if alias is None else alias.this)
        if table is None or source.span is None or last is None:
            raise self.statement.error("syntax error: this cannot be read as a table", source.span)
        self.behind.append(self.statement.token_at(last.end - 1) + 1)
        name = source.alias if source.written else table.name
        return Scope.of(Relation(name, table, number, source.span, source.written))

    def _pass(self, first: int, end: int) -> None:
        """Raises UnsupportedSQL for what stands here beside the words of joins, and has not been read."""
        for at in range(max(self.at, first), end):
            if self.statement.tokens[at].token_type not in _BETWEEN:
                raise self._refused(self.statement.tokens[at].text, at)

    def _refused(self, what: str, at: int) -> UnsupportedSQL:
        return self.statement.unsupported(f"{what} is not supported here", self.statement.span(at, at + 1))

    def _joined(self, join: ScopedJoin, left: Scope, right: Scope) -> Scope:
        """A comma joins like any other, from left to right, as in Spark. The right side of a semi or an anti join is in reach of ON alone."""
        tokens, depths, around = self.statement.tokens, self.statement.depths, join.node.parent
        last = self.behind[left.relations[-1].ordinal]
        first = self.statement.token_at(right.relations[0].span.start)
        if around is not self.select.node and around is not None and isinstance(around.parent, exp.Join):
            raise self._refused("this order of joins", last - 1)
        self._pass(last, first)
        self.at = max(self.at, self.behind[right.relations[-1].ordinal])
        depth = min(depths[last:first])
        while (
            self.at < self.end
            and tokens[self.at].token_type is TokenType.R_PAREN
            and depths[self.at] >= depth
        ):
            self.at += 1
        before = len(self.conditions)
        kept, other = (right, left) if join.mirrored else (left, right)
        scope = self._matched(join.node, kept, other)
        if join.kind == "inner":
            return scope
        own, over = other.relations[0], self.conditions[before:]
        merged = sum(one.pair is not None for one in over)
        strange = join.mirrored and (own.called or (merged > 1 and not join.node.args.get("using")))
        if join.kind is None or len(other.relations) > 1 or not over or strange:
            raise self._refused("this join", first - 1)
        self.conditions[before:] = [replace(one, on=own.ordinal) for one in over]
        self.right[own.ordinal] = join.kind
        if join.kind != "left":
            output = tuple(column for column in scope.output if column.alias != own.ordinal)
            return Scope((*left.relations, replace(own, unseen=True)), output, left.hidden)
        if join.mirrored:  # but for the order of columns, the sides of a LEFT JOIN exchanged
            rest = sorted(scope.output[merged:], key=lambda column: column.alias != own.ordinal)
            relations = left.relations + right.relations
            return replace(scope, relations=relations, output=(*scope.output[:merged], *rest))
        return scope

    def _matched(self, join: Node, left: Scope, right: Scope) -> Scope:
        """Both sides; the condition of their join is noted."""
        tokens, at = self.statement.tokens, self.at
        word = tokens[at].token_type if at < self.end else None
        if keyword(join, "method") == "NATURAL":
            names = {right.field(column).name.lower() for column in right.output}
            ours = [left.field(column).name for column in left.output]
            return self._merged(left, right, [(name, None) for name in ours if name.lower() in names])
        if word is TokenType.USING:
            if at + 1 >= self.end or tokens[at + 1].token_type is not TokenType.L_PAREN:
                raise self.statement.error(
                    "syntax error: USING wants column names in brackets", self.statement.span(at, at + 1)
                )
            self.at = self.statement.closing(at + 1) + 1
            return self._merged(
                left, right, [(name.name, identifier_span(name)) for name in join.args["using"]]
            )
        both = left + right
        if word is TokenType.ON:
            self.at = self._condition_end(at + 1)
            self.conditions += split(self.statement, join.args["on"], at + 1, self.at, both)
        return both

    def _condition_end(self, first: int) -> int:
        tokens, depths = self.statement.tokens, self.statement.depths
        for index in range(first, self.end):
            kind, depth = tokens[index].token_type, depths[index] - depths[first - 1]
            call = index + 1 < self.end and tokens[index + 1].token_type is TokenType.L_PAREN
            function = call and kind in {TokenType.LEFT, TokenType.RIGHT}
            if depth < 0 or (depth == 0 and kind in _BEHIND_CONDITION and not function):
                return index
        return self.end

    def _merged(self, left: Scope, right: Scope, names: Sequence[tuple[str, Span | None]]) -> Scope:
        """Spark's rule: the join columns first, once; the right-hand ones can still be named with their alias."""
        both, pairs = left + right, list[tuple[Column, Column]]()
        for name, span in names:
            pair = self._side(left, name, span), self._side(right, name, span)
            text = " = ".join(map(both.describe, pair))
            self.conditions.append(Condition(text, span, both, pair=pair))
            pairs.append(pair)
        keys, merged = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        rest = [column for column in both.output if column not in keys and column not in merged]
        return Scope(both.relations, (*keys, *rest), (*merged, *both.hidden))

    def _side(self, scope: Scope, name: str, span: Span | None) -> Column:
        """The column of a side that USING means, of several the first, as in Spark; NATURAL means no one of several."""
        columns = scope.named(name)
        if len(columns) == 1 or (columns and span is not None):
            return columns[0]
        where = ", ".join(relation.alias for relation in scope.relations)
        options = ", ".join(scope.describe(column) for column in columns)
        problem = f"is ambiguous: {options}" if columns else f"is not a column of {where}"
        raise self.statement.error(f"join column {name} {problem}", span)
