"""Arguments and operands that Spark refuses for their types, told before the first request.

What is known of an expression is the kind of its values, read off its tokens by Spark's own grammar
(`fff.sql.refusals.types.expressions`). What is not known is taken for right: Spark tells as soon as it is up.
"""

from __future__ import annotations

from fff.errors import QueryError
from fff.sql.binder.scopes import QueryTree
from fff.sql.refusals.constants import Fold, check_constants, check_table_functions
from fff.sql.refusals.generators import GENERATORS
from fff.sql.refusals.texts import check_texts, check_typed
from fff.sql.refusals.types.expressions import SET_OPERATORS, Expressions
from fff.sql.refusals.types.kinds import INCOMPARABLE, WORDS, are_apart
from fff.sql.refusals.types.references import NAMED, Part
from fff.sql.syntax.spark_functions import calls_of
from fff.sql.syntax.statement import Statement, TokenType

#: Behind these an expression begins.
_BEFORE = frozenset(
    {
        *(TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, TokenType.L_PAREN, TokenType.L_BRACKET),
        *(TokenType.WHERE, TokenType.ON, TokenType.HAVING, TokenType.QUALIFY),
        *(TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.GROUP_BY, TokenType.ORDER_BY),
    }
)
#: Before these nothing is what a set operator has before it.
_ENDS = frozenset({*SET_OPERATORS, TokenType.PIPE_GT, TokenType.R_PAREN})
_SKIPPED = frozenset({TokenType.ALL, TokenType.DISTINCT, TokenType.L_PAREN})
#: HAVING makes truths of what it is given.
_CONDITIONS = frozenset({TokenType.WHERE, TokenType.ON})


def check_argument_types(tree: QueryTree, fold: Fold) -> None:
    """Refuse functions and operators over types that they take in no case; `fold` computes constants. Raises QueryError."""
    statement = tree.statement
    expressions = Expressions(statement, tree.scopes)
    calls = set(calls_of(statement))
    for at, token in enumerate(statement.tokens):
        if at in calls:
            expressions.call(at)
            check_constants(statement, expressions, at, fold)
            check_texts(statement, expressions, at)
        if at + 1 < len(statement.tokens):
            check_typed(statement, at)
        if token.token_type in _BEFORE and at + 1 < len(statement.tokens):
            kind, end = expressions.value(at + 1)
            if token.token_type in _CONDITIONS and kind in WORDS and kind != "b":
                raise QueryError(
                    f"[DATATYPE_MISMATCH] {token.text.upper()} takes no {WORDS[kind]}",
                    sql=statement.sql,
                    span=statement.span(at + 1, end),
                )
    for at, token in enumerate(statement.tokens):
        if token.token_type in SET_OPERATORS:
            _check_branches(statement, expressions, at)
    check_table_functions(tree, expressions, fold)


def _check_branches(statement: Statement, expressions: Expressions, at: int) -> None:
    """What the SELECTs beside a set operator compute comes together, column by column."""
    one, two = (
        _items(statement, expressions, _before(statement, at)),
        _items(statement, expressions, _behind(statement, at)),
    )
    for (kind, *place), (other, first, end) in zip(one, two, strict=True) if len(one) == len(two) else ():
        apart = kind != other and "".join(sorted(kind + other)) in INCOMPARABLE
        if apart or are_apart("coalesce", expressions.nested(*place), expressions.nested(first, end)):
            raise QueryError(
                f"[INCOMPATIBLE_COLUMN_TYPE] one column of {WORDS[kind]} and of {WORDS[other]}",
                sql=statement.sql,
                span=statement.span(first, end),
            )


def _before(statement: Statement, at: int) -> int:
    """The SELECT before a set operator; -1 where that is not sure."""
    tokens, depths = statement.tokens, statement.depths
    for place in range(at - 1, -1, -1):
        kind = tokens[place].token_type
        if depths[place] < depths[at] or (depths[place] == depths[at] and kind in _ENDS):
            return -1
        if depths[place] == depths[at] and kind is TokenType.SELECT:
            return place
    return -1


def _behind(statement: Statement, at: int) -> int:
    """The SELECT behind a set operator; -1 where that is not sure."""
    place = at + 1
    while place < len(statement.tokens) and statement.tokens[place].token_type in _SKIPPED:
        place += 1
    is_select = place < len(statement.tokens) and statement.tokens[place].token_type is TokenType.SELECT
    return place if is_select else -1


def _items(statement: Statement, expressions: Expressions, select: int) -> list[Part]:
    """What a SELECT computes; nothing where an item is not known, or may be several columns."""
    parts, at, tokens = list[Part](), select + 1, statement.tokens
    while select >= 0 and at < len(tokens):
        at += tokens[at].token_type is TokenType.DISTINCT
        kind, end = expressions.value(at)
        if end < 0 or tokens[at].text.lower() in GENERATORS:
            return []
        parts.append((kind, at, end))
        if end < len(tokens) and tokens[end].token_type is TokenType.ALIAS:
            end += 1
        end += end < len(tokens) and tokens[end].token_type in NAMED
        if end >= len(tokens) or tokens[end].token_type is not TokenType.COMMA:
            return parts
        at = end + 1
    return []
