"""What tokens stand for in expressions: columns by their types, and variables of lambdas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from fff.errors import QueryError
from fff.schema import ArrowType
from fff.sql.binder.names import parts_of, reference_span
from fff.sql.binder.scopes import Found, SelectScope, Source, resolve
from fff.sql.refusals.generators import GENERATORS, kinds_of, makes_columns
from fff.sql.refusals.types.kinds import kind_of, letter_of
from fff.sql.syntax.statement import Node, Statement, TokenType, identifier_span

#: A name that nothing says `AS` before, if one of these follows it.
NAMED = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


#: Before an item of a SELECT.
_BEFORE_ITEMS = frozenset({TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA})
#: A kind, and the tokens it is of: the first one, and the one behind it.
Part = tuple[str, int, int]


class NotKnownError(Exception):
    """Here stands what is not known."""


class References(ABC):
    """The tokens of a statement, and what its names mean."""

    @abstractmethod
    def value(self, at: int) -> tuple[str, int]:
        """The kind of the whole expression that begins at a token, and the token behind it; -1 where that is not known."""

    @abstractmethod
    def whole(self, first: int, end: int) -> Part:
        """Tokens that are one expression, if they are one that is known."""

    @abstractmethod
    def type_of(self, first: int, end: int) -> ArrowType | None:
        """The type of an expression from a token to another, as far as it is known; of numbers and texts one of their kind."""

    @abstractmethod
    def nested(self, first: int, end: int) -> ArrowType | None:
        """The type of a column, of what some calls make, or of what is inside that."""

    @abstractmethod
    def alike(self, form: str, what: str, parts: Sequence[Part]) -> str:
        """The kind that several values are brought to, one after the other."""

    @abstractmethod
    def name_of(self, first: int, end: int) -> str | None:
        """The name that a value has in a struct: behind AS, or of a column; an empty one where it may have any, None where it has none."""

    def text(self, first: int, end: int) -> str | None:
        """What tokens say that are one text."""
        return self._tokens[first].text if end == first + 1 and self._is(first, (TokenType.STRING,)) else None

    def words(self, first: int, end: int) -> str:
        """What is written from a token to another."""
        return self._statement.text(first, end)

    def mistake(self, message: str, first: int, end: int, *, hint: str | None = None) -> QueryError:
        """Types that do not go together, and where."""
        span = self._statement.span(first, end)
        return QueryError(f"[DATATYPE_MISMATCH] {message}", sql=self._statement.sql, span=span, hint=hint)

    def __init__(self, statement: Statement, scopes: Sequence[SelectScope]) -> None:
        self._statement = statement
        self._scopes = scopes
        self._tokens = statement.tokens
        self._variables: dict[int, ArrowType | None] = {}

    def names_columns(self, first: int, end: int) -> bool:
        """Whether a column is named among tokens."""
        return any(place in self._columns for place in range(first, end))

    def bind(self, first: int, end: int, kinds: Sequence[ArrowType | None]) -> int | None:
        """Say of which types the parameters of a lambda are, by its first token and the one behind it; the first token of its body."""
        arrow = next((at for at in range(first, end) if self._is(at, (TokenType.ARROW,))), None)
        if arrow is None:
            return None
        names = [self._tokens[at].text.lower() for at in range(first, arrow) if self._is(at, NAMED)]
        inner = any(self._is(at, (TokenType.ARROW,)) for at in range(arrow + 1, end))
        if (
            inner or len(set(names)) != len(names) or len(names) > len(kinds)
        ):  # inside, others may have these names
            return None
        meant: Mapping[str, ArrowType | None] = dict(zip(names, kinds, strict=False))
        for at in range(arrow + 1, end):
            called, part = self._is(at + 1, (TokenType.L_PAREN,)), self._is(at - 1, (TokenType.DOT,))
            if self._is(at, NAMED) and not called and not part and self._tokens[at].text.lower() in meant:
                self._variables[at] = meant[self._tokens[at].text.lower()]
        return arrow + 1

    def _column(self, at: int, node: Node, scope: SelectScope) -> ArrowType | None:
        """The type of the column, or of the field of one, that a name at a token means."""
        parts = parts_of(node)
        if len(parts) == 1 and at in self._in_lambdas:
            return None  # which of the two is meant depends on the place
        resolved = resolve(node, scope)
        if len(parts) == 1 and scope.makes(parts[0].name.lower()):
            return self._lateral(at, parts[0].name.lower(), scope) if resolved == "local" else None
        if isinstance(resolved, Found) and resolved.origins is None and not resolved.others:
            return self._computed(
                resolved.source, resolved.index, [one.name for one in parts[resolved.qualifiers + 1 :]]
            )
        kinds = kinds_of(resolved) if isinstance(resolved, Found) else []
        if len(kinds) != 1 or not isinstance(resolved, Found):
            return None
        kind: ArrowType | None = kinds[0]
        [declared] = {
            source.table.columns[index].type for source, index in resolved.origins or () if source.table
        }
        if letter_of(declared) != kind_of(kind):
            return None
        for part in parts[resolved.qualifiers + 1 :]:
            kind = field_of(kind, part.name)
        return kind

    def _lateral(self, at: int, name: str, scope: SelectScope) -> ArrowType | None:
        """The type of what the same SELECT has computed before, under a name that no source has."""
        items = [one for one in scope.node.expressions if one.alias.lower() == name]
        spans = [identifier_span(one.args["alias"]) for one in items]
        before = len(items) == 1 and spans[0] is not None and self._statement.token_at(spans[0].start) < at
        return self._named(items[0])[0] if before else None  # a name inside what it names would have no end

    def _computed(self, source: Source, index: int, fields: Sequence[str]) -> ArrowType | None:
        """The type of a column that a query in FROM computes, or of a field of one."""
        query = source.query
        if query is None or query.recursive or len(query.branches) != 1 or source.sealed:
            return None
        [scope] = query.branches
        items, outputs = scope.node.expressions, scope.outputs or ()
        if len(items) != len(outputs) or any(map(makes_columns, items)):
            return None
        passed = outputs[index].passed
        kind = self._computed(*passed, ()) if passed is not None else self._named(items[index])[0]
        for name in fields:
            kind = field_of(kind, name)
        return kind

    def _named(self, item: Node) -> tuple[ArrowType | None, int]:
        """The type of an item of a SELECT with a name behind it, and the token of that."""
        alias = item.args.get("alias")
        span = identifier_span(alias) if alias is not None else None
        if span is None:
            return None, len(self._tokens)
        at, depths = self._statement.token_at(span.start), self._statement.depths
        first = end = at - self._is(at - 1, (TokenType.ALIAS,))
        while (
            first
            and depths[first - 1] >= depths[at]
            and not (depths[first - 1] == depths[at] and self._is(first - 1, _BEFORE_ITEMS))
        ):
            first -= 1
        if not self._is(first - 1, _BEFORE_ITEMS) or self._tokens[first].text.lower() in GENERATORS:
            return None, at
        kind = self.whole(first, end)[0]
        # A constant text may be cast where a column may not, and the other way round.
        return None if kind == "S" else self.type_of(first, end), at

    def _is(self, at: int, kinds: Container[TokenType]) -> bool:
        return 0 <= at < len(self._tokens) and self._tokens[at].token_type in kinds

    def _closing(self, opening: int) -> int:
        """The token behind a pair of brackets."""
        closing = self._statement.closing(opening)
        if closing < 0:
            raise NotKnownError
        return closing + 1

    def _listed(self, opening: int) -> list[tuple[int, int]]:
        """What commas part inside brackets."""
        depth, closing = self._statement.depths[opening] + 1, self._closing(opening) - 1
        commas = [
            at
            for at in range(opening + 1, closing)
            if self._statement.depths[at] == depth and self._is(at, (TokenType.COMMA,))
        ]
        return list(zip([opening + 1, *(at + 1 for at in commas)], [*commas, closing], strict=True))

    @cached_property
    def _in_lambdas(self) -> frozenset[int]:
        """The tokens of lambdas, whose names may be parameters."""
        depths, inside = self._statement.depths, set[int]()
        for arrow in range(len(self._tokens)):
            if not self._is(arrow, (TokenType.ARROW,)):
                continue
            first, end = arrow - 1, arrow
            while self._is(arrow - 1, (TokenType.R_PAREN,)) and first and depths[first - 1] > depths[arrow]:
                first -= 1
            while end < len(depths) and (
                depths[end] > depths[arrow]
                or (depths[end] == depths[arrow] and not self._is(end, (TokenType.COMMA,)))
            ):
                end += 1
            inside.update(range(first, end))
        return frozenset(inside)

    @cached_property
    def _columns(self) -> dict[int, tuple[Node, SelectScope, int]]:
        """References to columns by their first tokens, with the token behind them; what is written inside lambdas is none."""
        return dict(self._references())

    def _references(self) -> Iterator[tuple[int, tuple[Node, SelectScope, int]]]:
        for scope in self._scopes:
            for node in scope.columns:
                place = reference_span(node)
                if place is not None:
                    at = self._statement.token_at
                    yield at(place.start), (node, scope, at(place.end - 1) + 1)


def field_of(kind: ArrowType | None, name: str) -> ArrowType | None:
    """The type of a field of a struct, or of those in an array."""
    if kind is not None and pa.types.is_list(kind):
        inner = field_of(kind.value_type, name)
        return None if inner is None or not pa.types.is_struct(kind.value_type) else pa.list_(inner)
    if kind is None or not pa.types.is_struct(kind):
        return None
    return next((one.type for one in kind if one.name.lower() == name.lower()), None)
