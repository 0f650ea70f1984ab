"""Text to tree: one statement that is a query, or an error that says where the text stops being one."""

from __future__ import annotations

import difflib
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise

from fff.errors import QueryError, Span
from fff.sql.syntax.function_arities import ARITIES
from fff.sql.syntax.grammar import parser
from fff.sql.syntax.only_queries import check_reads, foreign_before, refuse_foreign
from fff.sql.syntax.shorthands import entry_edits, without_shorthands
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.statement import (
    Node,
    ParseError,
    SqlglotError,
    Statement,
    Token,
    TokenType,
    depths_of,
    exp,
    quote,
    token_span,
    tokenize,
)
from fff.sql.syntax.strings import TYPESET, TYPESET_FOR
from fff.structs import lazy_pattern, replace

#: A list that goes on after a comma cannot go on with one of these; sqlglot would let it pass.
_NOT_AFTER_COMMA = frozenset(
    {TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.R_PAREN}
)
#: What a query can begin with.
_OPENERS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.L_PAREN})

#: Words that one is likely to mistype, and those that BY must follow.
_WORDS = (
    *("SELECT", "DISTINCT", "FROM", "WHERE", "HAVING", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT"),
    *("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "USING", "AND", "BETWEEN", "LIKE"),
    *("GROUP", "ORDER", "BY"),
)
_BEGIN = "a query begins with SELECT, WITH, FROM or VALUES"
#: What a statement may end with.
_ENDING = frozenset(
    {
        *(TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER, TokenType.END),
        *(TokenType.NULL, TokenType.TRUE, TokenType.FALSE),
        *(TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE),
    }
)
_FUNCTIONS = frozenset(entry.partition(":")[0] for entry in ARITIES.split())
_COUNTS = lazy_pattern(r"provided arguments \((\d+)\) is greater than .* \((\d+)\)")
#: Between tokens, comments of templates and hints that stand where none can; and other comments.
_BETWEEN = lazy_pattern(r"(/\*\+|\{#)|--[^\n]*|/\*.*?\*/", re.DOTALL)
#: What stands in the place of a table's name, be it one or not; and how it would be a file.
_NAMED = lazy_pattern(
    r"(?:\b(?:FROM|JOIN)\s+(?=[\w`])|,\s*(?=[^\W\d]|`))((?:\w|`[^`]*`|[.-])+)", re.IGNORECASE
)
_FILE = lazy_pattern(r"(?:\w+\.)?(.*\.(?:[ct]sv|(?:nd)?json|jsonl|parquet|arrow|xlsx))", re.IGNORECASE)
#: What stands behind no pipe, and what does in its place.
_PIPED = {
    "LATERAL": "|> JOIN LATERAL explode(…) AS e(x)",
    "GROUP BY": "|> AGGREGATE … GROUP BY …",
    "HAVING": "|> WHERE …",
    "QUALIFY": "|> EXTEND … OVER (…) AS n |> WHERE n …",
    "DISTINCT": "|> AGGREGATE GROUP BY …",
}
_WANT_BY = frozenset({"GROUP", "ORDER", "PARTITION", "SORT", "CLUSTER", "DISTRIBUTE"})

#: Calls within calls while a statement is read and planned: enough for 200 brackets in brackets, as Spark reads no more.
_CALLS = 8_000
_QUERIES = 60
_DEEP = threading.Lock()
_deep = [0]  # how many are at it


@contextmanager
def deep() -> Iterator[None]:
    """What is called in here may call as deeply as a statement is nested. Raises QueryError where that is too deep."""
    with _DEEP:
        _deep[0] += 1
        if _deep[0] == 1:
            _deep.append(sys.getrecursionlimit())
            sys.setrecursionlimit(max(_CALLS, _deep[1]))
    try:
        yield
    except RecursionError as error:
        hint = "no more than about 200 brackets, calls or operators stand in one another, in Spark, too"
        raise QueryError("the SQL is nested too deeply", hint=hint) from error
    finally:
        with _DEEP:
            _deep[0] -= 1
            if not _deep[0]:
                sys.setrecursionlimit(_deep.pop())


def parse_statement(text: str, params: Mapping[str, object] | None = None) -> Statement:
    """Parse exactly one statement that reads: once, however many ask for its names, its parameters and its plan.

    Raises:
        QueryError: not SQL, nothing at all, or several statements.
        UnsupportedSQL: a statement that writes or is a command.
    """
    statement = _parsed(written_out(text).sql)
    return replace(statement, params=params) if params else statement


@lru_cache(maxsize=64)
def written_out(text: str) -> Edited:
    """A text without what only a few readers would know, and where its parts come from. Raises as `parse_statement` does."""
    written = without_shorthands(text)
    try:
        while edits := entry_edits(_parsed(written.sql)):
            written = written.edited(edits)
    except QueryError as error:
        raise written.told(error) from None
    return written


@lru_cache(maxsize=64)
def _parsed(text: str) -> Statement:
    tokens = list(tokenize(text))
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise QueryError("there is no SQL to run")
    if not text.isascii():
        _refuse_typeset(text, tokens)
    if tokens[0].token_type in _OPENERS:  # else it is told how a query begins
        _refuse_other_marks(text, tokens)
    refuse_foreign(text, tokens)
    several = next((token for token in tokens if token.token_type is TokenType.SEMICOLON), None)
    if several is not None:
        raise QueryError(
            "only one statement can be run at a time",
            sql=text,
            span=token_span(several),
            hint="remove what follows the semicolon, or run the statements one by one",
        )
    _refuse_dangling_commas(text, tokens)
    depths = depths_of(tokens)
    _refuse_deep_queries(text, tokens, depths)
    with deep():
        return Statement(text, tuple(tokens), depths, _parse(text, tokens))


def _refuse_deep_queries(text: str, tokens: Sequence[Token], depths: Sequence[int]) -> None:
    """Each query that stands in others takes more than these to plan."""
    around = list[int]()  # how deeply the queries stand that have begun, and not ended
    for token, depth in zip(tokens, depths, strict=True):
        while around and around[-1] > depth:
            around.pop()
        if token.token_type is TokenType.SELECT and (not around or around[-1] < depth):
            around.append(depth)
        if len(around) > _QUERIES:
            message = f"more than {_QUERIES} queries stand in one another"
            raise QueryError(message, sql=text, span=token_span(token), hint="name some of them in WITH")


def _refuse_typeset(text: str, tokens: Sequence[Token]) -> None:
    """What word processors and web pages make of quotation marks and hyphens."""
    for token in tokens:
        found = TYPESET.search(text, token.start, token.end + 1)
        if found is not None and set("'\"`/").isdisjoint(text[token.start : token.end + 1]):  # none is quoted
            raise QueryError(
                f"syntax error: {found[0]} is no mark of SQL",
                sql=text,
                span=Span(found.start(), found.end()),
                hint=f"write {TYPESET_FOR[found[0]]}, as keyboards do",
            )


def _refuse_other_marks(text: str, tokens: Sequence[Token]) -> None:
    """What the parser knows from other languages, and Spark's grammar does not have."""
    for before, token in pairwise([tokens[0], *tokens]):
        kinds, written = (before.token_type, token.token_type), text[token.start : token.end + 1]
        hint = None
        if kinds == (TokenType.ALIAS, TokenType.STRING):
            hint = f"write `{token.text}`"
        elif not (
            kinds == (TokenType.SELECT, TokenType.ALIAS)
            or (token.token_type is TokenType.HINT and before.token_type is not TokenType.SELECT)
            or token.token_type is TokenType.L_BRACE
            or written.startswith("~~")
        ):
            continue
        raise QueryError(f'syntax error at "{written}"', sql=text, span=token_span(token), hint=hint)
    if "{#" not in text and "/*+" not in text:
        return
    ends, starts = [-1, *(one.end for one in tokens)], [*(one.start for one in tokens), len(text)]
    kinds_before = [None, *(one.token_type for one in tokens)]
    for kind, end, start in zip(kinds_before, ends, starts, strict=True):
        for found in _BETWEEN.finditer(text, end + 1, start):
            if found[1] and (kind, found[1]) != (TokenType.HINT, "/*+"):
                message = f'syntax error at "{found[1]}"'
                raise QueryError(message, sql=text, span=Span(found.start(), found.end()))


def _refuse_dangling_commas(text: str, tokens: Sequence[Token]) -> None:
    if tokens[-1].token_type in (TokenType.GROUP_BY, TokenType.ORDER_BY):
        raise _nothing_behind(text, tokens[-1])
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.COMMA and after.token_type in _NOT_AFTER_COMMA:
            raise QueryError(
                f'syntax error: nothing stands between "," and "{after.text}"',
                sql=text,
                span=token_span(token),
            )


def _parse(text: str, tokens: list[Token]) -> Node:
    try:
        trees = parser().parse(tokens, text)
    except ParseError as error:
        raise _syntax_error(text, tokens, error) from error
    except (
        SqlglotError,
        AssertionError,
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        # What the parser itself stumbles over is not SQL that Spark would take either.
        raise QueryError(
            "syntax error: this cannot be read as SQL", sql=text, span=token_span(tokens[0])
        ) from error
    tree = trees[0] if len(trees) == 1 else None
    if tree is None:
        raise QueryError(
            f'syntax error at "{tokens[0].text}"', sql=text, span=token_span(tokens[0]), hint=_BEGIN
        )
    check_reads(text, tokens, tree)
    _refuse_halves(text, tokens, tree)
    return tree


def _refuse_halves(text: str, tokens: Sequence[Token], tree: Node) -> None:
    """What the parser takes though a part of it is not there."""
    if any(not cte.args["alias"].this for cte in tree.find_all(exp.CTE)):
        span = next((token_span(one) for one in tokens if one.token_type is TokenType.ALIAS), None)
        raise QueryError("syntax error: a query is given no name", sql=text, span=span)
    for token, after in pairwise([*tokens, tokens[0]]):
        open_ = token.token_type is TokenType.TABLE_SAMPLE and after.token_type is not TokenType.L_PAREN
        if open_ and tree.find(exp.TableSample):
            message = "syntax error: TABLESAMPLE says in brackets how much"
            raise QueryError(message, sql=text, span=token_span(token))


def _syntax_error(text: str, tokens: Sequence[Token], error: ParseError) -> QueryError:
    first = tokens[0]
    if first.token_type not in _OPENERS:
        close = difflib.get_close_matches(first.text.upper(), ["SELECT"], n=1)
        hint = "did you mean SELECT?" if close else _BEGIN
        return QueryError(f'syntax error at "{first.text}"', sql=text, span=token_span(first), hint=hint)
    details = error.errors[0] if error.errors else {}
    description = str(details.get("description", "")).split(" but got <Token")[0]
    where = (details.get("line"), details.get("col"))
    token = next((token for token in tokens if (token.line, token.col) == where), tokens[-1])
    at = tokens.index(token)
    if token.text.isidentifier() and tokens[at - 1].token_type is TokenType.DOT:  # no statement begins there
        if token.start > tokens[at - 1].end + 1:
            return _nothing_behind(text, tokens[at - 1])
        message, hint = f"{token.text} is a word of SQL", f"write `{token.text}` where it is a name"
        return QueryError(f"syntax error: {message}", sql=text, span=token_span(token), hint=hint)
    foreign = foreign_before(text, tokens, token)
    if foreign is not None:
        return foreign
    odd = _odd_name(text, token)
    if odd is not None:
        return odd
    if description.startswith(("Expecting", "Expected")):
        description = description[0].lower() + description[1:].rstrip(".")
        if token is tokens[-1]:  # what is missing is missing behind the last token
            end = token.end + 1
            return QueryError(f"syntax error: {description} at the end", sql=text, span=Span(end, end + 1))
        return QueryError(
            f'syntax error near "{token.text}": {description}', sql=text, span=token_span(token)
        )
    called, counts = _called(tokens, at), _COUNTS.search(description)
    if called is not None and (counts or tokens[at - 1].token_type is TokenType.L_PAREN):
        most, count = (int(counts[2]), counts[1]) if counts else (1, "0")
        takes = f"at {'most' if counts else 'least'} {most} argument{'' if most == 1 else 's'}, not {count}"
        return QueryError(f"{called.text} takes {takes}", sql=text, span=token_span(called))
    if token is tokens[-1] and token.token_type not in _ENDING:
        return _nothing_behind(text, token)
    meant = _meant(tokens, at)
    return QueryError(f'syntax error at "{token.text}"', sql=text, span=token_span(token), hint=meant)


def _odd_name(text: str, stopped: Token) -> QueryError | None:
    """The error for a table's name that the parser stopped in, for a dash or for the digit that it begins with."""
    found = next((one for one in _NAMED.finditer(text) if one.start(1) <= stopped.start < one.end(1)), None)
    parts = [] if found is None else re.findall(r"(?:`[^`]*`|[^.`])+", found[1])
    written = [
        one if re.fullmatch(r"[^\W\d]\w*|`[^`]*`", one) else quote(one.replace("`", "")) for one in parts
    ]
    if found is None or written == parts:
        return None
    file = _FILE.fullmatch(found[1])
    hint = f"write names with other signs in backticks: {'.'.join(written)}"
    if file is not None:
        hint = f"write a file in quotes: '{file[1]}'; {hint.removeprefix('write ')}"
    return QueryError(f"syntax error in the name {found[1]}", sql=text, span=Span(*found.span(1)), hint=hint)


def _nothing_behind(text: str, token: Token) -> QueryError:
    return QueryError(
        f'syntax error: nothing stands behind "{token.text}"',
        sql=text,
        span=token_span(token),
        hint=f"write what belongs there, or leave {token.text} out",
    )


def _called(tokens: Sequence[Token], at: int) -> Token | None:
    """The name of the function whose closing bracket this is; None where it is none."""
    if tokens[at].token_type is not TokenType.R_PAREN:
        return None
    deep = 0
    for place in range(at, 0, -1):
        kind = tokens[place].token_type
        deep += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
        if not deep:
            name = tokens[place - 1]
            known = name.token_type is TokenType.VAR and name.text.lower() in _FUNCTIONS
            return name if known else None
    return None


def _meant(tokens: Sequence[Token], at: int) -> str:
    """What may have been meant where the parser stopped: a mistyped word is often taken for an alias before it stops."""
    stopped, before = tokens[at], tokens[max(at - 1, 0)]
    if before.token_type is TokenType.PIPE_GT and stopped.text.upper() in _PIPED:
        return f"write {_PIPED[stopped.text.upper()]}"
    if before.text.upper() == "TOP":
        return f"write LIMIT {stopped.text} at the end of the query"
    if before.text.upper() in _WANT_BY:
        return f"did you mean {before.text.upper()} BY?"
    for token in (stopped, before):
        word = token.text.upper()
        close = difflib.get_close_matches(word, _WORDS, n=1, cutoff=0.7)
        if token.token_type is TokenType.VAR and close and word not in _WORDS:
            return f"did you mean {close[0]}?"
    if stopped.text.upper() in ("SELECT", "WITH") and stopped.line > before.line:
        return "does a ; belong before it, which ends a statement?"
    if stopped.text.isidentifier() and stopped.token_type is not TokenType.VAR:
        return f"{stopped.text} is a word of SQL: check what stands around it, or write `{stopped.text}` where it is a name"
    return "is a comma, an operator or a bracket missing before it, or one too many?"
