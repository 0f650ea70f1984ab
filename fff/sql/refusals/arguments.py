"""Arguments and operands that Spark refuses for their types, told before the first request.

What is known of an expression is the kind of its values, read off its tokens by Spark's own grammar
(`fff.sql.refusals.types.expressions`). What is not known is taken for right: Spark tells as soon as it is up.
"""

from __future__ import annotations

from fff.errors import QueryError
from fff.sql.binder.scopes import QueryTree
from fff.sql.refusals.constants import Fold, check_constants, check_table_functions
from fff.sql.refusals.texts import check_texts, check_typed
from fff.sql.refusals.types.expressions import SET_OPERATORS, Expressions
from fff.sql.refusals.types.kinds import INCOMPARABLE, REFUSED, UNKNOWN, WORDS, are_apart, outcome
from fff.sql.syntax.function_arities import WINDOWLESS
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
#: So they do behind these words of pipes.
_OF_PIPES = frozenset({"EXTEND", "AGGREGATE"})
#: Before these nothing is what a set operator has before it.
_ENDS = frozenset({*SET_OPERATORS, TokenType.PIPE_GT})
#: Before a query in brackets.
_AROUND = frozenset({*SET_OPERATORS, TokenType.ALL, TokenType.DISTINCT, TokenType.L_PAREN})
#: Functions that are nothing over a window are no aggregates.
_NO_AGGREGATES = frozenset({*WINDOWLESS.split(), "array", "map", "named_struct", "split", "cast", "try_cast"})
_SKIPPED = frozenset({TokenType.ALL, TokenType.DISTINCT, TokenType.L_PAREN})
#: HAVING makes truths of what it is given.
_CONDITIONS = frozenset({TokenType.WHERE, TokenType.ON})


def check_argument_types(tree: QueryTree, fold: Fold) -> None:
    """Refuse functions and operators over types that they take in no case; `fold` computes constants. Raises QueryError."""
    statement = tree.statement
    expressions = Expressions(statement, tree.scopes)
    calls, begins = set(calls_of(statement)), _begins(statement)
    for at, token in enumerate(statement.tokens):
        if at in calls:
            expressions.call(at)
            check_constants(statement, expressions, at, fold)
            check_texts(statement, expressions, at)
        check_typed(statement, at)
        if at in begins:
            first = begins[at]
            kind, end = expressions.value(first)
            if token.token_type in _CONDITIONS and kind not in {"b", UNKNOWN}:
                raise QueryError(
                    f"[DATATYPE_MISMATCH] {token.text.upper()} takes no {WORDS.get(kind, 'NULL')}",
                    sql=statement.sql,
                    span=statement.span(first, end),
                )
    for at, token in enumerate(statement.tokens):
        if token.token_type in SET_OPERATORS:
            _check_branches(statement, expressions, at)
        elif token.token_type is TokenType.VALUES:
            _check_rows(expressions, at)
        elif token.token_type is TokenType.PIPE_GT and statement.tokens[at + 1].text.upper() == "AGGREGATE":
            _check_aggregated(statement, expressions, at + 1)
    check_table_functions(tree, expressions, fold)


def _begins(statement: Statement) -> dict[int, int]:
    """The first tokens of expressions, by the tokens, or words of a pipe, before them."""
    tokens, depths = statement.tokens, statement.depths
    begins = {at: at + 1 for at, token in enumerate(tokens) if token.token_type in _BEFORE}
    for pipe, token in enumerate(tokens[:-1]):
        if token.token_type is not TokenType.PIPE_GT:
            continue
        word, at = tokens[pipe + 1].text.upper(), pipe + 1
        if word in _OF_PIPES:
            begins[at] = at + 1
        while word == "SET" and at < len(tokens) and depths[at] >= depths[pipe]:
            beside = depths[at] == depths[pipe]
            if beside and tokens[at].token_type is TokenType.PIPE_GT:
                break
            if beside and (at == pipe + 1 or tokens[at].token_type is TokenType.COMMA):
                begins[at] = at + 3  # behind a name and `=`
            at += 1
    return {at: first for at, first in begins.items() if first < len(tokens)}


def _check_branches(statement: Statement, expressions: Expressions, at: int) -> None:
    """What the SELECTs beside a set operator compute comes together, column by column."""
    before, behind = _before(statement, at), _behind(statement, at)
    if -1 in (before, behind):
        return
    one, two = expressions.items(before), expressions.items(behind)
    if one and two and len(one) != len(two) and statement.tokens[at - 1].token_type is TokenType.PIPE_GT:
        raise QueryError(
            f"[NUM_COLUMNS_MISMATCH] {len(two)} columns beside {len(one)}",
            sql=statement.sql,
            span=statement.span(two[0][1], two[-1][2]),
        )
    for (kind, *place), (other, first, end) in zip(one, two, strict=True) if len(one) == len(two) else ():
        apart = kind != other and "".join(sorted(kind + other)) in INCOMPARABLE
        if apart or are_apart("union", expressions.nested(*place), expressions.nested(first, end)):
            raise QueryError(
                f"[INCOMPATIBLE_COLUMN_TYPE] one column of {WORDS[kind]} and of {WORDS[other]}",
                sql=statement.sql,
                span=statement.span(first, end),
            )


def _check_rows(expressions: Expressions, at: int) -> None:
    """Rows that are spelled out have columns of one type each, to which no text is cast."""
    kinds: list[str] = []
    for row in expressions.rows(at):
        kinds = kinds or [UNKNOWN] * len(row)
        for place, (kind, first, end) in enumerate(row if len(row) == len(kinds) else ()):
            before = kinds[place]
            if kind in WORDS and before in WORDS and WORDS[kind] != WORDS[before]:
                made = outcome("greatest", before, kind)
                if made == REFUSED:
                    what = f"one column of {WORDS[before]} and of {WORDS[kind]}"
                    raise expressions.mistake(what, first, end)
                kinds[place] = made
            elif before not in WORDS:
                kinds[place] = kind


def _check_aggregated(statement: Statement, expressions: Expressions, at: int) -> None:
    """What `|> AGGREGATE` computes has an aggregate in it, and not only functions that are certainly none."""
    for _, first, end in expressions.items(at):
        called = {
            statement.tokens[place].text.lower()
            for place in range(first, end - 1)
            if statement.tokens[place + 1].token_type is TokenType.L_PAREN
        }
        if called <= _NO_AGGREGATES:
            raise statement.error("AGGREGATE takes aggregates, and this is none", statement.span(first, end))


def _before(statement: Statement, at: int) -> int:
    """The SELECT before a set operator; -1 where that is not sure."""
    tokens, depths = statement.tokens, statement.depths
    for place in range(at - 1 - (tokens[at - 1].token_type is TokenType.PIPE_GT), -1, -1):
        kind = tokens[place].token_type
        if depths[place] < depths[at] or (depths[place] == depths[at] and kind in _ENDS):
            return -1
        if depths[place] == depths[at] and kind is TokenType.SELECT:
            return place
        if (
            depths[place] == depths[at]
            and kind is TokenType.L_PAREN
            and (place == 0 or tokens[place - 1].token_type in _AROUND)
        ):
            return place + 1 if tokens[place + 1].token_type is TokenType.SELECT else -1
    return -1


def _behind(statement: Statement, at: int) -> int:
    """The SELECT behind a set operator; -1 where that is not sure."""
    place = at + 1
    while place < len(statement.tokens) and statement.tokens[place].token_type in _SKIPPED:
        place += 1
    is_select = place < len(statement.tokens) and statement.tokens[place].token_type is TokenType.SELECT
    return place if is_select else -1
