"""Where the parts of one SELECT stand in the text: its list, its FROM clause, its conditions, the clauses behind."""

from __future__ import annotations

from collections.abc import Sequence

from fff.errors import Span
from fff.sql.binder.names import Scope, parts_of
from fff.sql.binder.regions import Region, clause_tokens
from fff.sql.binder.scopes import QueryTree, SelectScope, Source
from fff.sql.binder.spj_block import Condition, split
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.statement import Node, Statement, TokenType, exp, identifier_span, quote, text_span
from fff.structs import Struct

#: Words with which a join begins; LEFT and RIGHT are names of functions too.
_JOINS = frozenset(
    [
        *(TokenType.JOIN, TokenType.INNER, TokenType.CROSS, TokenType.LEFT, TokenType.RIGHT, TokenType.FULL),
        *(TokenType.SEMI, TokenType.ANTI, TokenType.NATURAL, TokenType.COMMA, TokenType.LATERAL),
    ]
)
_BEFORE_LIST = frozenset({TokenType.DISTINCT, TokenType.ALL, TokenType.HINT})


class SelectText(Struct, frozen=True):
    """The tokens of a SELECT; `clauses` are those behind FROM, each with the token that opens it."""

    statement: Statement
    select: Node
    region: Region
    from_token: int | None
    clauses: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, statement: Statement, scope: SelectScope) -> SelectText:
        """The parts of a SELECT. Raises UnsupportedSQL for one that is not written the usual way round."""
        if scope.region is None:
            raise statement.unsupported(
                "a function that is called over the web cannot stand in a query of this form",
                text_span(scope.node),
                hint="write SELECT … FROM …",
            )
        start, clauses = clause_tokens(statement, scope.node, scope.region)
        return cls(statement, scope.node, scope.region, start, tuple(clauses))

    @property
    def _behind_from(self) -> int:
        return self.clauses[0][1] if self.clauses else self.region.end

    @property
    def list_end(self) -> int:
        """The character behind the select list."""
        end = self._behind_from if self.from_token is None else self.from_token
        return self.statement.tokens[end - 1].end + 1

    @property
    def from_text(self) -> Span | None:
        """What FROM names, the word itself apart."""
        if self.from_token is None:
            return None
        return self.statement.span(self.from_token + 1, self._behind_from)

    def join_condition(self, first: int) -> Span | None:
        """ON or USING of the join whose right side begins with this token, and what follows; None for a join without."""
        tokens, end = self.statement.tokens, self._behind_from
        flat = [at for at in range(first, end) if self.statement.depths[at] == self.region.depth]
        words = [
            at
            for at in flat
            if tokens[at].token_type in _JOINS
            and not (at + 1 < end and tokens[at + 1].token_type is TokenType.L_PAREN)
        ]
        conditions = (TokenType.ON, TokenType.USING)
        on = next((at for at in flat if tokens[at].token_type in conditions), end)
        if on == end or any(at < on for at in words):
            return None
        return self.statement.span(on, next((at for at in words if at > on), end))

    @property
    def where_token(self) -> Span | None:
        """The word WHERE."""
        if not self.clauses or self.clauses[0][0] != "where":
            return None
        return self.statement.span(self.clauses[0][1], self.clauses[0][1] + 1)

    @property
    def conditions(self) -> list[Condition]:
        """The conjuncts of WHERE."""
        return self._conjuncts("where")

    @property
    def having(self) -> list[Condition]:
        """The conjuncts of HAVING."""
        return self._conjuncts("having")

    @property
    def qualify(self) -> list[Condition]:
        """The conjuncts of QUALIFY."""
        return self._conjuncts("qualify")

    def _conjuncts(self, name: str) -> list[Condition]:
        for number, (known, first) in enumerate(self.clauses):
            if known == name:
                node = self.select.args[name].this
                return split(self.statement, node, first + 1, self._clause_end(number), Scope())
        return []

    def more(self, conditions: Sequence[str]) -> list[Edit]:
        """More conditions in WHERE."""
        text = " AND ".join(f"({one})" for one in conditions)
        end = Span(self.source_end, self.source_end)
        if self.where_token is None:
            return [edit(end, f" WHERE {text}")]
        return [edit(self.where_token, "WHERE ("), edit(end, f") AND {text}")]

    @property
    def source_end(self) -> int:
        """The character behind FROM and WHERE; behind the list where there are neither."""
        if self.where_token is not None:
            return self.statement.tokens[self._clause_end(0) - 1].end + 1
        text = self.from_text
        return self.list_end if text is None else text.end

    def clause(self, name: str) -> Span | None:
        """A clause with the word that opens it."""
        for number, (known, first) in enumerate(self.clauses):
            if known == name:
                return self.statement.span(first, self._clause_end(number))
        return None

    @property
    def items(self) -> list[tuple[Node, Span]]:
        """The select list. Raises UnsupportedSQL where its parts cannot be told apart."""
        tokens, depths = self.statement.tokens, self.statement.depths
        end = self._behind_from if self.from_token is None else self.from_token
        first = self.region.first + 1
        while first < end and tokens[first].token_type in _BEFORE_LIST:
            first += 1
        cuts = [
            index
            for index in range(first, end)
            if tokens[index].token_type is TokenType.COMMA and depths[index] == self.region.depth
        ]
        edges = list(zip([first, *(cut + 1 for cut in cuts)], [*cuts, end], strict=True))
        nodes = self.select.expressions
        if len(edges) != len(nodes):
            raise self.statement.unsupported(
                "the columns of this SELECT cannot be told apart",
                self.statement.span(first, end),
                hint="put each expression into brackets",
            )
        return [(node, self.statement.span(*edge)) for node, edge in zip(nodes, edges, strict=True)]

    def _clause_end(self, number: int) -> int:
        return self.clauses[number + 1][1] if number + 1 < len(self.clauses) else self.region.end


def conjoined(places: Sequence[Span]) -> list[str | Span]:
    """WHERE with some conditions; nothing without any."""
    parts: list[str | Span] = []
    for number, place in enumerate(places):
        parts += [" AND (" if number else " WHERE (", place, ")"]
    return parts


def alias_place(statement: Statement, source: Source) -> int:
    """Where the alias of a table that has none would stand: behind its name, and behind the sample of it."""
    assert source.span is not None
    if not source.node.args.get("sample"):
        return source.span.end
    tokens, index = statement.tokens, statement.token_at(source.span.end - 1) + 1
    for _ in range(1 + bool(source.node.args["sample"].args.get("seed"))):  # and of REPEATABLE (…)
        index = next(at for at in range(index, len(tokens)) if tokens[at].token_type is TokenType.L_PAREN)
        index = statement.closing(index)
    return tokens[index].end + 1


def table_edits(tree: QueryTree, source: Source, view: str) -> list[Edit]:
    """The view, or a query in brackets, in the place of a table's name; where that name was its alias, it stays it."""
    assert source.span is not None
    if source.written:
        return [edit(source.span, view)]
    statement = tree.statement
    alias = f" AS {quote(source.alias)}"
    edits = []
    if source.node.args.get("sample"):
        end = alias_place(statement, source)
        edits += [edit(source.span, view), edit(Span(end, end), alias)]
    else:
        edits.append(edit(source.span, view + alias))
    for scope in tree.scopes:
        for node in (*scope.columns, *scope.stars):
            parts = parts_of(node) if isinstance(node, exp.Column) else ()
            if len(parts) > 2 and source in scope.reach:
                names = [part.name.lower() for part in parts[:2]]
                spans = [identifier_span(part) for part in parts[:2]]
                if source.answers_to(names) and spans[0] is not None and spans[1] is not None:
                    edits.append(edit(Span(spans[0].start, spans[1].start), ""))
    return edits
