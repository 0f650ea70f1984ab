"""Pipes as the SELECT that they mean, which can be reasoned about.

    FROM r |> JOIN s USING (x) |> WHERE y > 3 |> SELECT x |> LIMIT 2     SELECT x FROM r JOIN s USING (x) WHERE (y > 3) LIMIT 2

An operator that sees only what one before it has made of the rows stands around that as a query in FROM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from fff.catalog import Catalog
from fff.errors import QueryError, Span
from fff.sql.binder.build_scopes import check_names, read_queries
from fff.sql.binder.names import parts_of
from fff.sql.syntax.aggregates import has_aggregate
from fff.sql.syntax.edits import Edit
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.shorthands import JOINS
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.statement import Statement, Token, TokenType, exp
from fff.structs import Struct, field

_NAME = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.DOT, TokenType.ALIAS})
_DOT = frozenset({TokenType.DOT})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.DOT, TokenType.COMMA})
#: What makes more than a list of tables of what stands behind FROM.
_CLAUSES = frozenset(
    {
        *(TokenType.WHERE, TokenType.SELECT, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY),
        *(TokenType.LIMIT, TokenType.OFFSET, TokenType.LATERAL, TokenType.UNION, TokenType.EXCEPT),
        *(TokenType.INTERSECT, TokenType.WINDOW, TokenType.QUALIFY, TokenType.SORT_BY),
    }
)
#: Those that Spark lets a SELECT in front of a pipe have.
_OF_A_SELECT = frozenset(
    {TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.LATERAL, TokenType.QUALIFY}
)


class _NoSelectError(Exception):
    """There is no such SELECT, or it would take what Spark refuses of pipes."""


def without_pipes(text: Edited, *, up_to_set: bool = False) -> Edited | None:
    """The text with a SELECT for the pipes outside of its brackets; None where it has none, or is not certain to mean the same.

    `up_to_set`: that of the columns to which the first `|> SET` gives values. Raises QueryError.
    """
    if "|>" not in text.sql:
        return None
    statement = parse_statement(text.sql)
    tokens, depths = statement.tokens, statement.depths
    outside = [at for at, depth in enumerate(depths) if not depth]
    pipes = [at for at in outside if tokens[at].token_type is TokenType.PIPE_GT]
    begins = {TokenType.FROM, TokenType.SELECT}
    first = next((at for at in outside if tokens[at].token_type in begins), None)
    if not pipes or first is None or first > pipes[0]:
        return None
    try:
        query = _MeantSelect.of(statement, first, pipes[0])
        for at, end in pairwise((*pipes, len(tokens))):
            if up_to_set and tokens[at + 1].token_type is TokenType.SET:
                query.choose(at + 2, end)
                break
            query.add(at + 1, end)
    except _NoSelectError:
        return None
    return text.edited([Edit(statement.span(first, len(tokens)), tuple(query.parts()))])


def check_set(text: Edited, catalog: Catalog) -> None:
    """Raises QueryError where the first `|> SET` gives a value to a column that certainly is not there."""
    chosen = without_pipes(text, up_to_set=True) if " SET " in text.sql.upper() else None
    if chosen is not None:
        try:
            check_names(read_queries(parse_statement(chosen.sql), catalog))
        except QueryError as error:
            if is_certain(error, catalog):
                raise chosen.told(error) from None


def is_certain(error: QueryError, catalog: Catalog) -> bool:
    """Whether an error about the SELECT that pipes mean is one about the pipes, too.

    What names are qualified with lives longer in pipes than in queries in FROM: where there is a qualifier, nothing else in
    the statement may have the name that is unknown.
    """
    kinds = (
        *("unknown column ", "unknown table or alias ", "[INVALID_PARAMETER_VALUE.PATTERN]"),
        *("[DATATYPE_MISMATCH] ", "WHERE takes conditions, "),
    )
    kind = next((one for one in kinds if error.message.startswith(one)), None)
    qualified = kind == kinds[1] or (kind == kinds[0] and " of " in error.message)
    if not qualified or error.span is None or error.sql is None:
        return kind is not None
    statement = parse_statement(error.sql)
    tokens, at = statement.tokens, statement.token_at(error.span.start)
    tables, columns = set[str](), set[str]()
    for node in statement.tree.find_all(exp.Table):
        written = [part.name for part in parts_of(node)]
        tables |= {part.lower() for part in written}
        columns |= {column.name.lower() for table in catalog.find(written) for column in table.columns}

    def only(name: str, before: frozenset[TokenType], behind: frozenset[TokenType]) -> bool:
        alike = [one for one, token in enumerate(tokens[:-1]) if token.text.lower() == name]
        return name not in columns and all(
            tokens[one - 1].token_type in before or tokens[one + 1].token_type in behind for one in alike
        )

    name = tokens[at].text.lower()
    if kind == kinds[0]:
        return name not in tables and only(name, _DOT, frozenset())
    if name not in tables:
        return only(name, frozenset(), _DOT)
    # The table is there, and what EXTEND and the like made of it, so that nothing qualifies it, is called so.
    made = tokens[min(at + 2, len(tokens) - 1)].text.lower()
    return only(name, _DOT | {TokenType.FROM}, _DOT) and only(made, _DOT | {TokenType.ALIAS}, frozenset())


class _MeantSelect(Struct):
    """The SELECT that the operators so far mean."""

    statement: Statement
    before: tuple[int, int]  # the tokens of what stands in front of the first pipe
    source: list[str | Span]
    conditions: list[Span] = field(default_factory=list)
    items: list[str | Span] = field(default_factory=list)
    groups: list[Span] = field(default_factory=list)
    order: list[Span] = field(default_factory=list)
    limit: list[Span] = field(default_factory=list)
    name: Span | None = None  # by which all columns are to be had

    @classmethod
    def of(cls, statement: Statement, first: int, end: int) -> _MeantSelect:
        """What stands before the first pipe: a list of tables, or a query. Raises _NoSelectError."""
        select = statement.tokens[first].token_type is TokenType.SELECT
        clauses = _CLAUSES - _OF_A_SELECT if select else _CLAUSES
        if any(one.token_type in clauses for one in _outside(statement, first + 1, end)):
            raise _NoSelectError
        if select:
            return cls(statement, (first, end), ["(", statement.span(first, end), ")"])
        alone = {one.token_type for one in statement.tokens[first + 1 : end]} <= _NAME
        name = statement.span(end - 1, end) if alone else None
        return cls(statement, (first + 1, end), [statement.span(first + 1, end)], name=name)

    def parts(self) -> Iterator[str | Span]:
        """Its text."""
        yield "SELECT "
        yield from self.items or ["*"]
        yield " FROM "
        yield from self.source
        for at, condition in enumerate(self.conditions):
            yield from (" AND (" if at else " WHERE (", condition, ")")
        for span in (*self.groups, *self.order, *self.limit):
            yield from (" ", span)

    def add(self, first: int, end: int) -> None:
        """An operator that stands in these tokens. Raises _NoSelectError, QueryError."""
        if end - first < 2:
            raise _NoSelectError
        word, statement = self.statement.tokens[first], self.statement
        kind, inside, whole = word.token_type, statement.span(first + 1, end), statement.span(first, end)
        if kind in {TokenType.LIMIT, TokenType.OFFSET}:
            if self.limit:
                self._wrap()
            self.limit.append(whole)
            return
        if self.order:
            raise _NoSelectError  # rows that a query in FROM sorts come in any order
        if self.items or self.limit or (kind in JOINS and self.conditions):
            self._wrap()
        if kind in JOINS:
            self.source += [" ", whole]
            self.name = None
        elif kind is TokenType.WHERE:
            self.conditions.append(inside)
        elif kind is TokenType.ORDER_BY:
            self.order.append(whole)
        elif kind is TokenType.SELECT:
            self._check(whole, aggregates=False)
            self.items, self.name = [inside], None
        elif word.text.upper() == "EXTEND":
            self._check(inside, aggregates=False)
            self.items, self.name = ["*, ", inside], None  # which does not name what is new
        elif word.text.upper() == "AGGREGATE":
            self._aggregate(first + 1, end)
        elif kind is TokenType.ALIAS and end - first == 2:
            self._rename(first + 1, end)
        else:
            raise _NoSelectError

    def choose(self, first: int, end: int) -> None:
        """The columns that SET, whose assignments stand in these tokens, gives values to. Raises _NoSelectError."""
        tokens, depths = self.statement.tokens, self.statement.depths
        starts = [first, *(at + 1 for at in range(first, end) if tokens[at].token_type is TokenType.COMMA)]
        starts = [at for at in starts if at + 1 < end and depths[at] == depths[first]]
        if any(tokens[at + 1].token_type is not TokenType.EQ for at in starts):
            raise _NoSelectError
        self._wrap()
        names = [self.statement.span(at, at + 1) for at in starts]
        self.items = [part for name in names for part in (", ", name)][1:]

    def _aggregate(self, first: int, end: int) -> None:
        """Groups come first in what is made of them."""
        tokens, depths = self.statement.tokens, self.statement.depths
        by = next((at for at in range(first, end) if tokens[at].token_type is TokenType.GROUP_BY), end)
        self._check(self.statement.span(first, by), aggregates=True)
        self.name, self.items = None, [self.statement.span(first, by)]
        if by < end:
            if depths[by] or any(one.token_type not in _NAMES for one in tokens[by + 1 : end]):
                raise _NoSelectError  # such as places in a list, which are counted otherwise
            self.groups = [self.statement.span(by, end)]
            self.items = [self.statement.span(by + 1, end), ", ", *self.items]

    def _check(self, span: Span, *, aggregates: bool) -> None:
        """Raises _NoSelectError where a list has aggregates, or not each entry one, and pipes want it otherwise."""
        text = self.statement.sql[span.start : span.end]
        listed = parse_statement(text if text[:6].upper() == "SELECT" else f"SELECT {text}").tree
        if not isinstance(listed, exp.Select) or any(
            has_aggregate(one) != aggregates for one in listed.expressions
        ):
            raise _NoSelectError

    def _wrap(self, alias: Span | None = None) -> None:
        """What follows is asked of a query in FROM; names of tables that this hides are unknown then."""
        alias = alias or self.name
        self.source = ["(", *self.parts(), ")", *((" AS ", alias) if alias else ())]
        self.conditions, self.items = [], []
        self.groups, self.order, self.limit = [], [], []

    def _rename(self, first: int, end: int) -> None:
        alias = self.statement.span(first, end)
        bare = not (
            self.conditions or self.items or self.limit or any(isinstance(one, str) for one in self.source)
        )
        words = _outside(self.statement, *self.before) if bare else ()
        if len(words) == 1 or (words and words[0].token_type is TokenType.VALUES):
            self.source += [" AS ", alias]
        else:
            self._wrap(alias)
        self.name = self.statement.span(first, first + 1)


def _outside(statement: Statement, first: int, end: int) -> Sequence[Token]:
    return [statement.tokens[at] for at in range(first, end) if not statement.depths[at]]
