"""The kinds of a statement's expressions, read off its tokens as Spark's grammar reads them.

A kind is a letter of `fff.sql.refusals.types.kinds`. An expression in which something stands that is not known here is of an
unknown kind, and nothing is said of it as a whole; its brackets, branches and arguments are judged each by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fff.errors import QueryError
from fff.schema import ArrowType
from fff.sql.binder.scopes import SelectScope
from fff.sql.refusals.generators import GENERATORS
from fff.sql.refusals.types.calls import Calls
from fff.sql.refusals.types.collected import (
    check_element,
    check_field,
    made_by,
    struct_of,
    value_of,
)
from fff.sql.refusals.types.kinds import (
    ALONE,
    NULL,
    REFUSED,
    UNKNOWN,
    WORDS,
    are_apart,
    interval_of,
    kind_of,
    outcome,
    taken,
)
from fff.sql.refusals.types.references import NAMED, NotKnownError, Part, field_of
from fff.sql.syntax.statement import Statement, TokenType

#: Operators by how tightly they bind, with their names among the outcomes.
_OPERATORS = {
    TokenType.OR: (1, "and"),
    TokenType.AND: (2, "and"),
    **dict.fromkeys((TokenType.EQ, TokenType.NEQ, TokenType.NULLSAFE_EQ), (5, "=")),
    **dict.fromkeys((TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE), (5, "<")),
    TokenType.PIPE: (6, "&"), TokenType.CARET: (7, "&"), TokenType.AMP: (8, "&"),
    TokenType.PLUS: (9, "+"), TokenType.DASH: (9, "-"), TokenType.DPIPE: (9, "||"),
    TokenType.STAR: (10, "*"), TokenType.SLASH: (10, "/"), TokenType.MOD: (10, "%"), TokenType.DIV: (10, "div"),
}  # fmt: skip
_NOT, _PREDICATE, _COMPARISON, _SIGN = 3, 4, 5, 11
_SIGNS = {TokenType.DASH: "neg", TokenType.TILDE: "~", TokenType.PLUS: "neg"}
_LIKE = frozenset({TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE})
_PREDICATES = _LIKE | {TokenType.IS, TokenType.BETWEEN, TokenType.IN}
#: Operators that give truths, whatever they are given.
_CONDITIONS = frozenset({"=", "<", "like", "and"})
_SOME = frozenset({TokenType.ANY, TokenType.ALL, TokenType.SOME})
_QUERY = frozenset(
    {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.TABLE, TokenType.L_PAREN}
)
SET_OPERATORS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
#: Behind a whole expression.
_BEHIND = frozenset(
    {
        *(TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.COMMA, TokenType.ALIAS, TokenType.SEMICOLON),
        *(TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END, TokenType.ASC, TokenType.DESC),
        *(TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.HAVING),
        *(
            TokenType.PIPE_GT,
            TokenType.LIMIT,
            TokenType.UNION,
            TokenType.EXCEPT,
            TokenType.INTERSECT,
            TokenType.QUALIFY,
        ),
        *(TokenType.JOIN, TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.INNER, TokenType.CROSS),
    }
)
_OF_WORDS = {"date": "t", "timestamp": "T", "timestamp_ltz": "T", "timestamp_ntz": "n"}
_INTS, _LONGS = range(-(2**31), 2**31), range(-(2**63), 2**63)


class Expressions(Calls):
    """The kinds of a statement's expressions, by their first tokens. All methods raise QueryError for what Spark refuses."""

    def __init__(self, statement: Statement, scopes: Sequence[SelectScope]) -> None:
        super().__init__(statement, scopes)
        self._values: dict[int, tuple[str, int]] = {}
        self._calls: dict[int, str] = {}

    def value(self, at: int) -> tuple[str, int]:
        """The kind of the whole expression that begins at a token, and the token behind it; -1 where that is not known."""
        if at not in self._values:
            mistakes: list[QueryError] = []
            try:
                kind, _, end = self._binary(at, 0, mistakes)
            except NotKnownError:
                kind, end = UNKNOWN, -1
            named = self._is(end, NAMED) and (end + 1 == len(self._tokens) or self._is(end + 1, _BEHIND))
            if end < len(self._tokens) and not named and not self._is(end, _BEHIND):
                kind, end = UNKNOWN, -1
            self._values[at] = kind, end
            if mistakes and end >= 0:
                raise mistakes[0]
        return self._values[at]

    def operand(self, at: int, mistakes: list[QueryError] | None = None) -> tuple[str, int]:
        """The kind of what stands before a comparison or a predicate, from a token on, and the token behind it; -1 as above."""
        try:
            kind, _, end = self._binary(at, _COMPARISON + 1, [] if mistakes is None else mistakes)
        except NotKnownError:
            return UNKNOWN, -1
        return kind, end

    def call(self, at: int) -> str:
        """The kind of a function's values, by the token of its name."""
        if at not in self._calls:
            try:
                self._calls[at] = self.called(at)
            except NotKnownError:
                self._calls[at] = UNKNOWN
        return self._calls[at]

    # ---------------------------------------------------------------------------------------------------------- operators

    def _binary(self, at: int, least: int, mistakes: list[QueryError]) -> Part:
        """The expression from a token on, as far as operators bind at least so tightly."""
        left, most = self._operand(at, least, mistakes), _SIGN
        while left[2] < len(self._tokens):
            place = left[2]
            token = self._tokens[place].token_type
            if token in _PREDICATES or (token is TokenType.NOT and self._is(place + 1, _PREDICATES)):
                if least > _PREDICATE:
                    return left
                if most <= _PREDICATE:
                    raise NotKnownError
                left, most = self._predicate(left, mistakes), _PREDICATE
                continue
            level, form = _OPERATORS.get(token, (0, ""))
            if level < max(least, 1):
                return left
            if level > most:
                raise NotKnownError  # behind a predicate, or one that binds more tightly and was not seen
            right = self._binary(place + 1, level + 1, mistakes)
            left, most = self.combined(form, left, right, self._tokens[place].text, mistakes), level
        return left

    def _operand(self, at: int, least: int, mistakes: list[QueryError]) -> Part:
        if not self._is(at, (TokenType.NOT, *_SIGNS)) or self._is_negative(at):
            return self._primary(at)
        token = self._tokens[at]
        if token.token_type is TokenType.NOT:
            if least > _NOT:
                raise NotKnownError
            form, (kind, first, end) = "not", self._binary(at + 1, _NOT, mistakes)
        else:
            form, (kind, first, end) = _SIGNS[token.token_type], self._operand(at + 1, _SIGN, mistakes)
        made = outcome(form, kind)
        if made == REFUSED:
            mistakes.append(self.mistake(f"{token.text} takes no {WORDS[kind]}", first, end))
            made = UNKNOWN
        return self._as_constant(made, at, end)

    def _is_negative(self, at: int) -> bool:
        """Whether a minus is that of a number, to which `::` applies with it."""
        return self._is(at, (TokenType.DASH,)) and self._is(at + 1, (TokenType.NUMBER,))

    def _predicate(self, left: Part, mistakes: list[QueryError]) -> Part:
        at = left[2]
        negated = self._is(at, (TokenType.NOT,))
        at += negated
        token = self._tokens[at]
        if token.token_type is TokenType.IS:
            at += 1 + self._is(at + 1, (TokenType.NOT,))
            if self._is(at, (TokenType.DISTINCT,)) and self._is(at + 1, (TokenType.FROM,)):
                right = self._binary(at + 2, _COMPARISON + 1, mistakes)
                return self.combined("=", left, right, "IS DISTINCT FROM", mistakes)
            if not self._is(at, (TokenType.NULL, TokenType.TRUE, TokenType.FALSE)):
                raise NotKnownError
            if not self._is(at, (TokenType.NULL,)):
                self.combined("=", left, ("b", at, at + 1), "IS", mistakes)
            return "b", left[1], at + 1
        if token.token_type is TokenType.BETWEEN:
            low = self._binary(at + 1, _COMPARISON + 1, mistakes)
            if not self._is(low[2], (TokenType.AND,)):
                raise NotKnownError
            high = self._binary(low[2] + 1, _COMPARISON + 1, mistakes)
            self.combined("<", left, low, "BETWEEN", mistakes)
            return "b", left[1], self.combined("<", left, high, "BETWEEN", mistakes)[2]
        if token.token_type is TokenType.IN:
            if not self._is(at + 1, (TokenType.L_PAREN,)):
                raise NotKnownError
            closing, items = self._closing(at + 1), [self.whole(*one) for one in self._listed(at + 1)]
            if self._is(at + 2, _QUERY - {TokenType.L_PAREN}):
                given = self._in_brackets(left)
                items = self._selected(at + 1) if len(given) > 1 else [self._of_query(at + 1)]
                for one, item in zip(given, items, strict=True) if len(given) == len(items) else ():
                    self.alike("in", "IN", [one, (item[0], at + 1, closing)])
            else:
                self.alike("in", "IN", [left, *items])
            return "b", left[1], closing
        if self._is(at + 1, _SOME):
            closing = self._closing(at + 2)
            for pattern in self._listed(at + 2):
                self.combined("like", left, self.whole(*pattern), token.text, mistakes)
            return "b", left[1], closing
        right = self._binary(at + 1, _COMPARISON + 1, mistakes)
        _, first, end = self.combined("like", left, right, token.text, mistakes)
        return "b", first, end + 2 * self._is(end, (TokenType.ESCAPE,))

    def combined(self, form: str, left: Part, right: Part, written: str, mistakes: list[QueryError]) -> Part:
        """What an operator makes of two values."""
        (one, first, middle), (other, start, end) = left, right
        made = outcome(form, one, other)
        wrong = one in WORDS and not taken(form, one, None), other in WORDS and not taken(form, None, other)
        if made == UNKNOWN and any(wrong):
            made = REFUSED
        elif made == UNKNOWN and form in _CONDITIONS:
            made = "b"
        types = (self.nested(first, middle), self.nested(start, end)) if one == other and one in "ar" else ()
        if types and are_apart(form, *types):
            what = f"{written} is given {WORDS[one]}s of different types"
            mistakes.append(self.mistake(what, first, end))
            made = UNKNOWN
        if made != REFUSED:
            return self._as_constant(made, first, end)
        unlike = form not in "=<" or UNKNOWN in (one, other) or NULL in (one, other)
        if unlike and wrong[0]:
            mistake = self.mistake(f"{written} takes no {WORDS[one]}", first, middle)
        elif unlike and wrong[1]:
            mistake = self.mistake(f"{written} takes no {WORDS[other]}", start, end)
        else:
            does = "compare" if form in "=<" else "combine"
            mistake = self.mistake(f"{written} cannot {does} {WORDS[one]} with {WORDS[other]}", first, end)
        mistakes.append(mistake)
        return UNKNOWN, first, end

    def alike(self, form: str, what: str, parts: Sequence[Part]) -> str:
        """The kind that several values are brought to, one after the other."""
        kind, shared = NULL, form if form == "greatest" else "coalesce"
        for other, first, end in parts:
            if other == NULL:
                continue
            if REFUSED in (outcome(shared, kind, other), outcome(form, kind, other)):
                raise self.mistake(f"{what} brings no {WORDS[other]} together with {WORDS[kind]}", first, end)
            kind = other if kind == NULL else outcome(shared, kind, other)
        nested = [(self.nested(*part[1:]), part) for part in parts if part[0] in "ar"]
        for typed, part in nested[1:]:
            if are_apart(form, nested[0][0], typed):
                message = f"{what} brings {WORDS[part[0]]}s of different types together"
                hint = "fields of other names have to be of one type" if part[0] == "r" else None
                raise self.mistake(message, *part[1:], hint=hint)
        return kind

    # ----------------------------------------------------------------------------------------------------------- operands

    def _primary(self, at: int) -> Part:
        """A value with what stands behind it and makes another one of it."""
        kind, end = self._plain(at)
        while end < len(self._tokens):
            token = self._tokens[end].token_type
            if token is TokenType.L_BRACKET:
                check_element(self, (kind, at, end), self.whole(end + 1, self._closing(end) - 1))
                end = self._closing(end)
                kind = kind_of(self.nested(at, end))
            elif token is TokenType.DOT and not self._is(end + 2, (TokenType.L_PAREN,)):
                check_field(self, (kind, at, end), self._tokens[end + 1].text)
                end += 2
                kind = kind_of(self.nested(at, end))
            elif token is TokenType.DCOLON:
                kind, end = self.cast("cast", (kind, at, end), end + 1)
                if end < 0:
                    raise NotKnownError
            elif token is TokenType.COLLATE:
                if kind in WORDS and kind not in "sS":
                    raise self.mistake(f"COLLATE takes no {WORDS[kind]}", at, end)
                # Spark takes such a text where it takes no other, as in `+ DATE …`.
                kind, end = UNKNOWN, end + 2
            elif token in {
                TokenType.COLON,
                TokenType.ARROW,
                TokenType.FARROW,
                TokenType.DOT,
            }:
                raise NotKnownError
            else:
                break
        return self._as_constant(kind, at, end)

    def _plain(self, at: int) -> tuple[str, int]:
        if at >= len(self._tokens):
            raise NotKnownError
        if at in self._variables:
            return kind_of(self._variables[at]), at + 1
        if at in self._columns:
            node, scope, end = self._columns[at]
            return kind_of(self._column(at, node, scope)), end
        token = self._tokens[at]
        called = self._is(at + 1, (TokenType.L_PAREN,))
        match token.token_type:
            case TokenType.NUMBER:
                return _number(token.text), at + 1
            case TokenType.DASH if self._is_negative(at):
                return _number(f"-{self._tokens[at + 1].text}"), at + 2
            case TokenType.STRING:
                return "S", at + 1
            case TokenType.HEX_STRING:
                return "x", at + 1
            case TokenType.NULL:
                return NULL, at + 1
            case TokenType.TRUE | TokenType.FALSE:
                return "b", at + 1
            case TokenType.CASE:
                return self._case(at)
            case TokenType.INTERVAL if not called:
                return self._interval(at)
            case TokenType.L_PAREN:
                closing = self._closing(at)
                if self._is(at + 1, _QUERY - {TokenType.L_PAREN}):
                    return self._of_query(at)[0], closing
                kind, end = self.value(at + 1)
                if self._is(end, (TokenType.COMMA, TokenType.ALIAS)):
                    kind, end = "r", closing - 1
                return kind if end == closing - 1 else UNKNOWN, closing
            case TokenType.EXISTS if called and self._is(at + 2, _QUERY):
                return "b", self._closing(at + 1)
        word = token.text.lower()
        if word in _OF_WORDS and self._is(at + 1, (TokenType.STRING,)):
            exact = re.search(r"\.\d{7}", self._tokens[at + 1].text)  # of which Spark has other types
            return UNKNOWN if exact else _OF_WORDS[word], at + 2
        if called:
            kind, end = self.call(at), self._closing(at + 1)
            if end < len(self._tokens) and self._tokens[end].text.upper() in {
                "FILTER",
                "WITHIN",
                "IGNORE",
                "RESPECT",
            }:
                raise NotKnownError
            if self._is(end, (TokenType.OVER,)):
                end = self._closing(end + 1) if self._is(end + 1, (TokenType.L_PAREN,)) else end + 2
            return kind, end
        if token.token_type in NAMED:
            return UNKNOWN, at + 1
        raise NotKnownError

    def _case(self, at: int) -> tuple[str, int]:
        place, asked, branches = at + 1, None, list[Part]()
        if not self._is(place, (TokenType.WHEN,)):
            asked = self._inner(place)
            place = asked[2]
        while self._is(place, (TokenType.WHEN, TokenType.ELSE)):
            if self._is(place, (TokenType.WHEN,)):
                kind, first, end = condition = self._inner(place + 1)
                mistakes: list[QueryError] = []
                if asked is not None:
                    self.combined("=", asked, condition, "CASE", mistakes)
                elif kind in WORDS and outcome("when", kind) == REFUSED:
                    mistakes.append(self.mistake(f"WHEN takes no {WORDS[kind]}", first, end))
                if mistakes:
                    raise mistakes[0]
                if not self._is(end, (TokenType.THEN,)):
                    raise NotKnownError
                place = end
            branches.append(self._inner(place + 1))
            place = branches[-1][2]
        if not branches or not self._is(place, (TokenType.END,)):
            raise NotKnownError
        return self.alike("coalesce", "CASE", branches), place + 1

    def _inner(self, at: int) -> Part:
        """An expression inside another, whose end has to be known."""
        kind, end = self.value(at)
        if end < 0:
            raise NotKnownError
        return kind, at, end

    def _interval(self, at: int) -> tuple[str, int]:
        end = at + 1 + self._is(at + 1, (TokenType.DASH,))
        if not self._is(end, (TokenType.STRING, TokenType.NUMBER)):
            raise NotKnownError
        kind = interval_of(self._tokens[end + 1].text) if end + 1 < len(self._tokens) else None
        end += 2
        if end < len(self._tokens) and self._tokens[end].text.upper() == "TO":
            end += 2
        if kind is None or self._is(end, (TokenType.STRING, TokenType.NUMBER)):
            raise NotKnownError
        return kind, end

    def whole(self, first: int, end: int) -> Part:
        """Tokens that are one expression, if they are one that is known."""
        kind, value_end = self.value(first)
        return kind if value_end == end else UNKNOWN, first, end

    def _in_brackets(self, part: Part) -> list[Part]:
        """The values of a row in brackets, or a value alone."""
        _, first, end = part
        if not self._is(first, (TokenType.L_PAREN,)) or self._closing(first) != end:
            return [part]
        return [self.whole(*one) for one in self._listed(first)]

    def _of_query(self, at: int) -> Part:
        """What a query in brackets gives, if that is plain: one column of one SELECT."""
        items = self._selected(at)
        return items[0][0] if len(items) == 1 else UNKNOWN, at, self._closing(at)

    def _selected(self, at: int) -> list[Part]:
        """What a query in brackets gives, if that is plain: columns of one SELECT."""
        depths, inside = self._statement.depths, range(at + 1, self._closing(at) - 1)
        joined = any(self._is(one, SET_OPERATORS) and depths[one] == depths[at + 1] for one in inside)
        return [] if joined or not self._is(at + 1, (TokenType.SELECT,)) else self.items(at + 1)

    def rows(self, at: int) -> list[list[Part]]:
        """The rows behind VALUES; nothing where they are not known."""
        rows, at = list[list[Part]](), at + 1
        while at < len(self._tokens):
            spans = self._listed(at) if self._is(at, (TokenType.L_PAREN,)) else []
            kind, end = self.value(at)
            rows.append([self.whole(*one) for one in spans] if spans else [(kind, at, end)])
            alone = self._tokens[spans[0][0] if spans else at].text.lower()
            row = len(spans) < 2 and alone in {"(", "struct"}  # several columns, perhaps
            if row or end < 0 or self._is(at + 1, _QUERY - {TokenType.L_PAREN}):
                return []
            if not self._is(end, (TokenType.COMMA,)):
                return rows
            at = end + 1
        return []

    def items(self, select: int) -> list[Part]:
        """What a SELECT computes; nothing where an item is not known, or may be several columns."""
        parts, at = list[Part](), select + 1
        at += self._is(at, (TokenType.DISTINCT,))
        while at < len(self._tokens):
            kind, end = self.value(at)
            if end < 0 or self._tokens[at].text.lower() in GENERATORS:
                return []
            parts.append((kind, at, end))
            end += self._is(end, (TokenType.ALIAS,))
            end += self._is(end, NAMED)
            if not self._is(end, (TokenType.COMMA,)):
                return parts
            at = end + 1
        return []

    def type_of(self, first: int, end: int) -> ArrowType | None:
        """The type of an expression from a token to another, as far as it is known; of numbers and texts one of their kind."""
        return self.nested(first, end) or ALONE.get(self.whole(first, end)[0])

    def nested(self, first: int, end: int) -> ArrowType | None:
        """The type of a column, of what some calls make, or of what is inside that."""
        kind: ArrowType | None
        if first in self._variables:
            kind, at = self._variables[first], first + 1
        elif first in self._columns:
            node, scope, at = self._columns[first]
            kind = self._column(first, node, scope)
        elif self._is(first, (TokenType.L_PAREN,)):
            at = self._closing(first)
            spans = self._listed(first)
            if self._is(first + 1, _QUERY - {TokenType.L_PAREN}):
                selected = self._selected(first)
                kind = self.type_of(*selected[0][1:]) if len(selected) == 1 else None
            else:
                kind = struct_of(self, spans) if len(spans) > 1 else self.type_of(first + 1, at - 1)
        elif self._is(first + 1, (TokenType.L_PAREN,)):
            at, given = self._closing(first + 1), self.arguments(first)
            name = self._tokens[first].text.lower()
            kind = made_by(self, name, [self.whole(*one) for one in given]) if given else None
        else:
            return None
        while at < end and kind is not None:
            if self._is(at, (TokenType.L_BRACKET,)):
                kind, at = value_of(kind), self._closing(at)
            elif self._is(at, (TokenType.DOT,)):
                kind, at = field_of(kind, self._tokens[at + 1].text), at + 2
            else:
                return None
        return kind

    def name_of(self, first: int, end: int) -> str | None:
        """The name that a value has in a struct: behind AS, or of a column; an empty one where it may have any, None where it has none."""
        if self._is(end - 2, (TokenType.ALIAS,)):
            return self._tokens[end - 1].text
        if first in self._columns and self._columns[first][2] == end:
            return self._tokens[end - 1].text
        return "" if first in self._variables or self._is(first, (TokenType.L_PAREN,)) else None

    def _as_constant(self, kind: str, first: int, end: int) -> Part:
        """The same kind, told apart where no column is in it."""
        if kind == "s" and not any(
            place in self._columns
            or (self._is(place, NAMED) and not self._is(place + 1, (TokenType.L_PAREN,)))
            for place in range(first, end)
        ):
            kind = "S"
        return kind, first, end


def _number(text: str) -> str:
    if text.isascii() and text.removeprefix("-").isdecimal():
        return "i" if int(text) in _INTS else "l" if int(text) in _LONGS else "m"
    return "d" if "e" in text.lower() else "m"
