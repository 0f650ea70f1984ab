"""The one door to sqlglot: Spark's tokens and syntax trees, and its errors turned into ours.

The rest of `fff.sql` sees a `Statement`: the text, its tokens with character offsets, and the tree. Whatever Spark is
to run is cut out of the user's own text by those offsets, never generated from the tree, so that Spark names and
computes exactly what was written.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from sqlglot import Dialect, exp
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from fff.errors import QueryError, Span, UnsupportedSQL

#: A node of the syntax tree.
Node: TypeAlias = exp.Expr

__all__ = [
    "Node",
    "Statement",
    "Token",
    "TokenType",
    "arg",
    "conjuncts",
    "exp",
    "identifier_span",
    "operands",
    "parse_statement",
    "quote",
    "split_statements",
    "text_span",
]

# What the parser wonders about is told as an error of ours, or not at all.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())
_SPARK = Dialect.get_or_raise("spark")
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_SIMPLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
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
_ENDING = _CLOSING | {
    *(TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER, TokenType.END),
    *(TokenType.NULL, TokenType.TRUE, TokenType.FALSE),
}
_WANT_BY = frozenset({"GROUP", "ORDER", "PARTITION", "SORT", "CLUSTER", "DISTRIBUTE"})

#: Statements that are refused by their first word, before any parsing.
_WRITES = frozenset(
    {
        "INSERT",
        "UPDATE",
        "DELETE",
        "MERGE",
        "CREATE",
        "DROP",
        "ALTER",
        "TRUNCATE",
        "REPLACE",
        "GRANT",
        "REVOKE",
        "LOAD",
        "COPY",
        "OVERWRITE",
        "CACHE",
        "UNCACHE",
        "REFRESH",
        "ANALYZE",
        "MSCK",
        "VACUUM",
        "OPTIMIZE",
        "COMMENT",
    }
)
_COMMANDS = frozenset(
    {
        "SET",
        "RESET",
        "USE",
        "SHOW",
        "DESCRIBE",
        "DESC",
        "EXPLAIN",
        "CALL",
        "EXECUTE",
        "DECLARE",
        "BEGIN",
        "ADD",
        "LIST",
        "CLEAR",
        "REPAIR",
    }
)


@dataclass(frozen=True)
class Statement:
    """One SQL statement: its text, its tokens, and for every token how deeply it stands in brackets."""

    sql: str
    tokens: tuple[Token, ...]
    depths: tuple[int, ...]
    tree: Node

    def text(self, first: int, end: int) -> str:
        """The text of the tokens `first` up to but not including `end`."""
        return self.sql[self.tokens[first].start : self.tokens[end - 1].end + 1]

    def span(self, first: int, end: int) -> Span:
        """The place of the tokens `first` up to but not including `end`."""
        return Span(self.tokens[first].start, self.tokens[end - 1].end + 1)

    def closing(self, opening: int) -> int:
        """The index of the token that closes the bracket at `opening`; -1 when none does."""
        depth = self.depths[opening]
        later = range(opening + 1, len(self.tokens))
        return next((index for index in later if self.depths[index] == depth), -1)

    def token_at(self, offset: int) -> int:
        """The index of the token that covers a character offset, or of the first one behind it."""
        low, high = 0, len(self.tokens)
        while low < high:
            middle = (low + high) // 2
            if self.tokens[middle].end < offset:
                low = middle + 1
            else:
                high = middle
        return low


def split_statements(text: str) -> list[str]:
    """The statements of a text, without the semicolons between them; parts holding only comments are dropped.

    Raises:
        QueryError: a string, a quoted name or a comment that does not end.
    """
    parts: list[str] = []
    first: Token | None = None
    last: Token | None = None
    for token in _tokenize(text):
        if token.token_type is not TokenType.SEMICOLON:
            first, last = first or token, token
            continue
        if first is not None and last is not None:
            parts.append(text[first.start : last.end + 1])
        first = last = None
    if first is not None and last is not None:
        parts.append(text[first.start : last.end + 1])
    return parts


def parse_statement(text: str) -> Statement:
    """Parse exactly one statement that reads.

    Raises:
        QueryError: not SQL, nothing at all, or several statements.
        UnsupportedSQL: a statement that writes or is a command.
    """
    tokens = _tokenize(text)
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise QueryError("there is no SQL to run")
    _refuse_commands(text, tokens[0])
    several = next((token for token in tokens if token.token_type is TokenType.SEMICOLON), None)
    if several is not None:
        raise QueryError(
            "only one statement can be run at a time",
            sql=text,
            span=_token_span(several),
            hint="remove what follows the semicolon, or run the statements one by one",
        )
    _refuse_dangling_commas(text, tokens)
    return Statement(text, tuple(tokens), _depths(tokens), _parse(text, tokens))


def arg(node: Node, name: str) -> object:
    """An argument of a tree node whose name is a Python keyword in some releases of sqlglot (`from`, `except`)."""
    value = node.args.get(f"{name}_")
    return node.args.get(name) if value is None else value


def identifier_span(node: Node) -> Span | None:
    """Where a name, a literal or a star stands in the text, if the parser says so."""
    start, end = node.meta.get("start"), node.meta.get("end")
    return Span(start, end + 1) if isinstance(start, int) and isinstance(end, int) else None


def operands(node: Node) -> list[Node]:
    """The operands of a chain of one connective (AND, OR), without brackets around them, however long it is."""
    kind, done, todo = type(node), [], [node]
    while todo:
        part = todo.pop().unnest()
        if type(part) is kind:
            todo += [part.expression, part.this]
        else:
            done.append(part)
    return done


def conjuncts(node: Node) -> list[Node]:
    """The conditions that AND connects, without brackets around them."""
    bare = node.unnest()
    return operands(bare) if isinstance(bare, exp.And) else [bare]


def text_span(node: Node) -> Span | None:
    """From the first to the last name or literal under a tree node."""
    spans = [span for part in node.walk() if (span := identifier_span(part)) is not None]
    return Span(min(span.start for span in spans), max(span.end for span in spans)) if spans else None


def quote(name: str) -> str:
    """A name as Spark SQL takes it, in backquotes only where they are needed."""
    if _SIMPLE_NAME.match(name) and [token.token_type for token in _SPARK.tokenize(name)] == [TokenType.VAR]:
        return name
    return "`" + name.replace("`", "``") + "`"


def _tokenize(text: str) -> list[Token]:
    try:
        return list(_SPARK.tokenize(text))
    except TokenError as error:
        start = _unclosed(text)
        if start is None:
            raise QueryError("syntax error: this cannot be read as SQL", sql=text, span=Span(0, 1)) from error
        what = {"`": "quoted name", "/": "comment"}.get(text[start], "string")
        raise QueryError(
            f"syntax error: this {what} does not end", sql=text, span=Span(start, start + 1)
        ) from error


def _unclosed(text: str) -> int | None:
    """The offset of the quote or comment that runs to the end of the text."""
    index = 0
    while index < len(text):
        char = text[index]
        if char in "'\"`":
            start, index = index, index + 1
            while index < len(text) and text[index] != char:
                index += 2 if text[index] == "\\" and char != "`" else 1
            if index >= len(text):
                return start
        elif text.startswith("--", index):
            index = (text.find("\n", index) + 1 or len(text)) - 1
        elif text.startswith("/*", index):
            end = text.find("*/", index + 2)
            if end < 0:
                return index
            index = end + 1
        index += 1
    return None


def _refuse_commands(text: str, first: Token) -> None:
    word = first.text.upper().split(" ")[0]
    if word in _WRITES:
        message = f"{word} is not supported: FFF only reads"
    elif word in _COMMANDS:
        message = f"{word} is not supported: FFF runs queries only"
    else:
        return
    raise UnsupportedSQL(message, sql=text, span=_token_span(first), hint="write a SELECT")


def _refuse_dangling_commas(text: str, tokens: Sequence[Token]) -> None:
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.COMMA and after.token_type in _NOT_AFTER_COMMA:
            raise QueryError(
                f'syntax error: nothing stands between "," and "{after.text}"',
                sql=text,
                span=_token_span(token),
            )


def _parse(text: str, tokens: list[Token]) -> Node:
    try:
        trees = _SPARK.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, text)
    except ParseError as error:
        raise _syntax_error(text, tokens, error) from error
    except RecursionError as error:
        raise QueryError("the SQL is nested too deeply to be read") from error
    except (SqlglotError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # What the parser itself stumbles over is not SQL that Spark would take either.
        raise QueryError(
            "syntax error: this cannot be read as SQL", sql=text, span=_token_span(tokens[0])
        ) from error
    tree = trees[0] if len(trees) == 1 else None
    if tree is None or isinstance(tree, exp.Command):
        raise QueryError(
            f'syntax error at "{tokens[0].text}"', sql=text, span=_token_span(tokens[0]), hint=_BEGIN
        )
    return tree


def _syntax_error(text: str, tokens: Sequence[Token], error: ParseError) -> QueryError:
    first = tokens[0]
    if first.token_type not in _OPENERS:
        close = difflib.get_close_matches(first.text.upper(), ["SELECT"], n=1)
        hint = "did you mean SELECT?" if close else _BEGIN
        return QueryError(f'syntax error at "{first.text}"', sql=text, span=_token_span(first), hint=hint)
    details = error.errors[0] if error.errors else {}
    description = str(details.get("description", "")).split(" but got <Token")[0]
    where = (details.get("line"), details.get("col"))
    token = next((token for token in tokens if (token.line, token.col) == where), tokens[-1])
    if description.startswith(("Expecting", "Expected")):
        description = description[0].lower() + description[1:].rstrip(".")
        if token is tokens[-1]:  # what is missing is missing behind the last token
            end = token.end + 1
            return QueryError(f"syntax error: {description} at the end", sql=text, span=Span(end, end + 1))
        return QueryError(
            f'syntax error near "{token.text}": {description}', sql=text, span=_token_span(token)
        )
    if token is tokens[-1] and token.token_type not in _ENDING:
        return QueryError(
            f'syntax error: nothing stands behind "{token.text}"',
            sql=text,
            span=_token_span(token),
            hint=f"write what belongs there, or leave {token.text} out",
        )
    meant = _meant(tokens, tokens.index(token))
    return QueryError(f'syntax error at "{token.text}"', sql=text, span=_token_span(token), hint=meant)


def _meant(tokens: Sequence[Token], at: int) -> str:
    """What may have been meant where the parser stopped: a mistyped word is often taken for an alias before it stops."""
    stopped, before = tokens[at], tokens[max(at - 1, 0)]
    if before.text.upper() in _WANT_BY:
        return f"did you mean {before.text.upper()} BY?"
    for token in (stopped, before):
        word = token.text.upper()
        close = difflib.get_close_matches(word, _WORDS, n=1, cutoff=0.7)
        if token.token_type is TokenType.VAR and close and word not in _WORDS:
            return f"did you mean {close[0]}?"
    if stopped.text.isidentifier() and stopped.token_type is not TokenType.VAR:
        return f"{stopped.text} is a word of SQL: check what stands around it, or write `{stopped.text}` where it is a name"
    return "is a comma, an operator or a bracket missing before it, or one too many?"


def _depths(tokens: Sequence[Token]) -> tuple[int, ...]:
    depths, depth = [], 0
    for token in tokens:
        if token.token_type in _CLOSING:
            depth -= 1
        depths.append(depth)
        if token.token_type in _OPENING:
            depth += 1
    return tuple(depths)


def _token_span(token: Token) -> Span:
    return Span(token.start, token.end + 1)
