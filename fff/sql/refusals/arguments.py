"""Arguments and operands that Spark refuses for their types, told before the first request.

What is known of an expression is the kind of its values, read off its tokens by Spark's own grammar
(`fff.sql.refusals.expressions`). What is not known is taken for right: Spark tells as soon as it is up.
"""

from __future__ import annotations

from fff.errors import QueryError
from fff.sql.binder.scopes import QueryTree
from fff.sql.refusals.constants import Fold, check_constants, check_table_functions
from fff.sql.refusals.expressions import Expressions
from fff.sql.refusals.kinds import WORDS
from fff.sql.refusals.texts import check_texts, check_typed
from fff.sql.syntax.spark_functions import calls_of
from fff.sql.syntax.statement import TokenType

#: Behind these an expression begins.
_BEFORE = frozenset(
    {
        *(TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, TokenType.L_PAREN, TokenType.L_BRACKET),
        *(TokenType.WHERE, TokenType.ON, TokenType.HAVING, TokenType.QUALIFY),
        *(TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.GROUP_BY, TokenType.ORDER_BY),
    }
)
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
    check_table_functions(tree, expressions, fold)
