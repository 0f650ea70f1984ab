"""Arguments that Spark's functions and operators refuse for their types, told before the first request.

A type is known where an argument is a column of a source, a constant, a cast, or a call whose values are of one type
whatever it is given. What is not known is taken for right: Spark tells as soon as it is up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fff.errors import QueryError
from fff.sql.binder.names import parts_of, reference_span
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, resolve
from fff.sql.scalars.argument_types import ARGUMENT_TYPES, INCOMPARABLE
from fff.sql.syntax.spark_functions import arguments_of, calls_of
from fff.sql.syntax.statement import Node, Statement, TokenType

#: Letters of types, as Spark's names of them begin. `s` is of columns, `S` of constants, which Spark casts to more types.
_LETTERS = (
    *(("boolean", "b"), ("tinyint", "y"), ("smallint", "h"), ("int", "i"), ("bigint", "l"), ("float", "f")),
    *(
        ("double", "d"),
        ("decimal(", "m"),
        ("string", "s"),
        ("binary", "x"),
        ("date", "t"),
        ("timestamp", "T"),
    ),
    *(("timestamp_ntz", "n"), ("array<", "a"), ("map<", "p"), ("struct<", "r")),
)
_WORDS = {letter: name.rstrip("(<") for name, letter in _LETTERS} | {"S": "string"}
_OF_WORDS = {
    TokenType.DATE: "t",
    TokenType.TIMESTAMP: "T",
    TokenType.TIMESTAMPLTZ: "T",
    TokenType.TIMESTAMPNTZ: "n",
}
_MAKERS = {"array": "a", "map": "p", "struct": "r", "named_struct": "r"}
_ORDINALS = ("first", "second", "third")
_ARITHMETIC = frozenset({TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD})
#: What no operator of numbers takes.
_NO_NUMBERS = "bxapr"
_COMPARISONS = frozenset(
    {TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE}
)
_INCOMPARABLE = frozenset("".join(sorted(pair)) for pair in INCOMPARABLE.split())
#: What makes another value of an operand.
_GOES_ON = frozenset({TokenType.L_BRACKET, TokenType.DOT, TokenType.DCOLON, TokenType.COLON})
_BEFORE = frozenset(
    {
        *(TokenType.WHERE, TokenType.AND, TokenType.OR, TokenType.ON, TokenType.L_PAREN, TokenType.SELECT),
        *(TokenType.COMMA, TokenType.WHEN, TokenType.HAVING),
    }
)
_BEHIND = frozenset(
    {
        *(TokenType.AND, TokenType.OR, TokenType.R_PAREN, TokenType.COMMA, TokenType.THEN, TokenType.FROM),
        *(TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.ALIAS),
    }
)
_INTS, _LONGS = range(2**31), range(2**63)
#: Functions that take a unit of time first, where they have three arguments.
_OF_UNITS = frozenset({"date_add", "dateadd", "datediff", "date_diff", "timestampadd", "timestampdiff"})


def letter_of(name: str) -> str | None:
    """The letter of a type as Spark writes it, if there is one."""
    for start, letter in _LETTERS:
        if name == start or (start[-1] in "(<" and name.startswith(start)):
            return letter
    return None


def _read() -> tuple[dict[tuple[str, int], list[str]], dict[tuple[str, int], str]]:
    refused, values = {}, {}
    for entry in ARGUMENT_TYPES.split():
        name, places, value = entry.split(":")
        call = name, places.count("/") + 1
        refused[call] = places.split("/")
        if value != "?":
            values[call] = value
    return refused, values


_REFUSED, _VALUES = _read()


def check_argument_types(tree: QueryTree) -> None:
    """Refuse calls of Spark's functions with arguments of types that they take in no case. Raises QueryError."""
    statement = tree.statement
    types = _Types(statement, tree.scopes)
    for at in sorted(set(calls_of(statement))):
        name, given = statement.tokens[at].text.lower(), arguments_of(statement, at)
        if given is None:
            continue
        if len(given) == 3 and name in _OF_UNITS and types.of(*given[0]) == "S":
            raise QueryError(
                f"[INVALID_PARAMETER_VALUE] {name} with three arguments takes a unit of time first, as DAY",
                sql=statement.sql,
                span=statement.span(*given[0]),
            )
        for place, refused in enumerate(_REFUSED.get((name, len(given)), ())):
            letter = types.of(*given[place]) if refused else None
            if letter is not None and letter in refused:
                which = f" as its {_ORDINALS[place]} argument" if len(given) > 1 else ""
                raise QueryError(
                    f"[DATATYPE_MISMATCH] {name} takes no {_WORDS[letter]}{which}",
                    sql=statement.sql,
                    span=statement.span(*given[place]),
                )

    for at, token in enumerate(statement.tokens):
        if token.token_type in _ARITHMETIC:
            for first, end in types.around(at):
                letter = types.of(first, end)
                if letter is not None and letter in _NO_NUMBERS:
                    raise QueryError(
                        f"[DATATYPE_MISMATCH] {token.text} takes no {_WORDS[letter]}",
                        sql=statement.sql,
                        span=statement.span(first, end),
                    )
        elif token.token_type in _COMPARISONS:
            sides = types.around(at)
            letters = "".join(sorted(types.of(*side) or " " for side in sides))
            if letters in _INCOMPARABLE and types.stands_alone(sides[0][0], sides[1][1]):
                kinds = " with ".join(_WORDS[types.of(*side) or ""] for side in sides)
                raise QueryError(
                    f"[DATATYPE_MISMATCH] {token.text} cannot compare {kinds}",
                    sql=statement.sql,
                    span=statement.span(sides[0][0], sides[1][1]),
                )


@dataclass(frozen=True)
class _Types:
    """The types of parts of a statement, by their tokens."""

    statement: Statement
    scopes: list[SelectScope]

    def of(self, first: int, end: int) -> str | None:
        """The letter of the type of the tokens `first` up to but not including `end`, if it is known."""
        tokens = self.statement.tokens
        token, size = tokens[first], end - first
        if token.token_type is TokenType.L_PAREN and self.statement.closing(first) == end - 1:
            return self.of(first + 1, end - 1) if size > 2 else None
        if first in self._columns:
            node, scope, last = self._columns[first]
            return self._column(node, scope) if last == end else None
        if size == 1:
            if token.token_type is TokenType.NUMBER:
                return _number(token.text)
            if token.token_type is TokenType.STRING:
                return "S"
            return "b" if token.token_type in {TokenType.TRUE, TokenType.FALSE} else None
        if size == 2 and tokens[first + 1].token_type is TokenType.STRING:
            # Spark has other types for moments with nanoseconds.
            exact = re.search(r"\.\d{7}", tokens[first + 1].text)
            return None if exact else _OF_WORDS.get(token.token_type)
        if tokens[first + 1].token_type is TokenType.L_PAREN and self.statement.closing(first + 1) == end - 1:
            return self._call(first, end)
        return None

    def around(self, at: int) -> list[tuple[int, int]]:
        """The first token of each operand of an operator, and the one behind it, if they are columns, constants, calls or in brackets."""
        tokens, found = self.statement.tokens, []
        if tokens[at - 1].token_type is TokenType.R_PAREN:
            depth = self.statement.depths[at - 1]
            opening = next(place for place in range(at - 2, -1, -1) if self.statement.depths[place] == depth)
            alone = not opening or tokens[opening - 1].token_type in _BEFORE | _ARITHMETIC | _COMPARISONS
            found.append((opening if alone else opening - 1, at))
        else:
            found.append((self._starts.get(at, at - 1), at))
        first = at + 1
        if first < len(tokens):
            end = self._columns[first][2] if first in self._columns else first + 1
            opening = first + (first + 1 < len(tokens) and tokens[first + 1].token_type is TokenType.L_PAREN)
            if first not in self._columns and tokens[opening].token_type is TokenType.L_PAREN:
                end = self.statement.closing(opening) + 1
            if end == len(tokens) or tokens[end].token_type not in _GOES_ON:
                found.append((first, end))
        return found

    def stands_alone(self, first: int, end: int) -> bool:
        """Whether nothing that binds as tightly as a comparison stands around some tokens."""
        tokens = self.statement.tokens
        before = tokens[first - 1].token_type if first else None
        return before in _BEFORE and (end == len(tokens) or tokens[end].token_type in _BEHIND)

    @cached_property
    def _starts(self) -> dict[int, int]:
        """The first tokens of columns, by those behind them."""
        return {end: first for first, (_, _, end) in self._columns.items()}

    def _call(self, first: int, end: int) -> str | None:
        name = self.statement.tokens[first].text.lower()
        constant = not any(first <= place < end for place in self._columns)
        if name in {"cast", "try_cast"}:
            kind = self.statement.tokens[end - 2]
            written = kind.text.lower() if self.statement.tokens[end - 3].text.upper() == "AS" else ""
            letter = letter_of("int" if written == "integer" else written)
        elif name in _MAKERS:
            letter = _MAKERS[name]
        else:
            given = arguments_of(self.statement, first)
            letter = None if given is None else _VALUES.get((name, len(given)))
        return "S" if letter == "s" and constant else letter

    def _column(self, node: Node, scope: SelectScope) -> str | None:
        parts = parts_of(node)
        if len(parts) == 1 and (parts[0].name.lower() in scope.aliases or self._has_lambdas):
            return None  # which of the two is meant depends on the place
        found = resolve(node, scope)
        if not isinstance(found, Found) or len(parts) != found.qualifiers + 1:
            return None
        letters = {
            letter_of(source.table.columns[index].type)
            for source, index in found.origins or ()
            if source.table is not None
        }
        return letters.pop() if len(letters) == 1 else None

    @cached_property
    def _has_lambdas(self) -> bool:
        return any(token.token_type is TokenType.ARROW for token in self.statement.tokens)

    @cached_property
    def _columns(self) -> dict[int, tuple[Node, SelectScope, int]]:
        """References to columns by their first tokens, with the token behind them; what is written inside lambdas is none."""
        return dict(self._references())

    def _references(self) -> Iterator[tuple[int, tuple[Node, SelectScope, int]]]:
        for scope in self.scopes:
            for node in scope.columns:
                place = reference_span(node)
                if place is not None:
                    at = self.statement.token_at
                    yield at(place.start), (node, scope, at(place.end - 1) + 1)


def _number(text: str) -> str | None:
    if text.isascii() and text.isdecimal():
        return "i" if int(text) in _INTS else "l" if int(text) in _LONGS else "m"
    return "d" if "e" in text.lower() else "m"
