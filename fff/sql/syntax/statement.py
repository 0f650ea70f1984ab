"""The one door to sqlglot: Spark's tokens and syntax trees, and its errors turned into ours.

The rest of `fff.sql` sees a `Statement`: the text, its tokens with character offsets, and the tree. Whatever Spark is
to run is cut out of the user's own text by those offsets, never generated from the tree, so that Spark names and
computes exactly what was written.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from sqlglot import Dialect, Parser, exp
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from fff.errors import QueryError, Span, UnsupportedSQL
from fff.sql.syntax.strings import TYPESET, string_value, unclosed
from fff.structs import Struct, field, lazy_pattern

#: A node of the syntax tree.
Node: TypeAlias = exp.Expr

__all__ = [
    "SHIFT",
    "SPARK",
    "TEXTS",
    "ErrorLevel",
    "Node",
    "ParseError",
    "SparkParser",
    "SqlglotError",
    "Statement",
    "Token",
    "TokenType",
    "arg",
    "conjuncts",
    "depths_of",
    "exp",
    "filled",
    "identifier_span",
    "keyword",
    "operands",
    "qualified",
    "quote",
    "refused",
    "split_statements",
    "statement_spans",
    "text_span",
    "time_pattern",
    "token_span",
    "tokenize",
]

# What the parser wonders about is told as an error of ours, or not at all.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())
SPARK = Dialect.get_or_raise("spark")
SPARK.SUPPORTS_ORDER_BY_ALL = False  # sqlglot would drop what stands before the dot in ORDER BY t.all


def time_pattern(text: str) -> str:
    """A pattern of `date_format` as the parser shows it."""
    literal = SPARK.format_time(exp.Literal.string(text))
    return "" if literal is None else literal.name


def _first_value(kind: type[exp.Expr]) -> Callable[[list[exp.Expr]], exp.Expr]:
    """`first_value(x, true)` and `first_value(x, false)`, the second of which sqlglot does not know."""

    def build(args: list[exp.Expr]) -> exp.Expr:
        first = kind(this=args[0] if args else None)
        if len(args) != 2:
            return first
        return exp.IgnoreNulls(this=first) if args[1] == exp.true() else exp.RespectNulls(this=first)

    return build


def _of_any_count(name: str) -> Callable[[list[exp.Expr]], exp.Expr]:
    """A function that Spark takes with more arguments, or with fewer, than sqlglot knows: a call by name then."""
    known = SPARK.parser_class.FUNCTIONS[name.upper()]
    kind = exp.FUNCTION_BY_NAME[name.upper()]
    least = sum(kind.arg_types.values())

    def build(args: list[exp.Expr]) -> exp.Expr:
        if least <= len(args) <= len(kind.arg_types):
            made: exp.Expr = known(args)
            return made
        return exp.Anonymous(this=name, expressions=args)

    return build


def _concat(args: list[exp.Expr]) -> exp.Expr:
    """`concat(…)`, of which sqlglot does not know the one without arguments, `''`."""
    return exp.Concat(expressions=args) if args else exp.Anonymous(this="concat", expressions=[])


def _named_struct(args: list[exp.Expr]) -> exp.Expr:
    """`named_struct('a', x)`; of names that are computed, or without a value, sqlglot keeps nothing."""
    written = len(args) % 2 == 0 and all(
        isinstance(name, exp.Literal) and name.is_string for name in args[::2]
    )
    return _STRUCT(args) if written else exp.Anonymous(this="named_struct", expressions=args)


_TYPES = SPARK.parser_class._parse_types  # noqa: SLF001 - what such parsers are made of


def _types(parser: Parser, check_func: bool = False, **how: bool) -> exp.Expr | None:
    """A type; `array(NULL) < …` among expressions is a call and a comparison, as Spark has no types of such brackets."""
    at = [one and one.token_type for one in (parser._curr, parser._next)]  # noqa: SLF001 - what such parsers are made of
    if check_func and at[0] in parser.NESTED_TYPE_TOKENS and at[1] is TokenType.L_PAREN:
        return None
    made: exp.Expr | None = _TYPES(parser, check_func=check_func, **how)
    return made


_OF_MORE_COUNTS = ("lag", "lead", "any_value", "shuffle", "hour", "minute", "second")
_STRUCT = SPARK.parser_class.FUNCTIONS["NAMED_STRUCT"]
SPARK.parser_class.FUNCTIONS = {
    **SPARK.parser_class.FUNCTIONS,
    # Whose path is a text, of which sqlglot makes more.
    "GET_JSON_OBJECT": lambda args: exp.Anonymous(this="get_json_object", expressions=args),
    # Which takes no maps, as `size` does, for which sqlglot takes it.
    "ARRAY_SIZE": lambda args: exp.Anonymous(this="array_size", expressions=args),
    "FIRST_VALUE": _first_value(exp.FirstValue),
    "LAST_VALUE": _first_value(exp.LastValue),
    "NAMED_STRUCT": _named_struct,
    "CONCAT": _concat,
    **{name.upper(): _of_any_count(name) for name in _OF_MORE_COUNTS},
}
setattr(SPARK.parser_class, "_parse_types", _types)  # noqa: B010 - sqlglot has no table of these
SPARK.parser_class.COLON_IS_VARIANT_EXTRACT = True  # `v:a.b`
#: `>>>`, which sqlglot does not know, in the place of an operator that Spark does not have.
SHIFT = TokenType.ADJACENT


def _kinds(names: str) -> frozenset[TokenType]:
    return frozenset(TokenType[name] for name in names.split())


_HEX = lazy_pattern(r"[0-9A-Fa-f]*")
_NO_HEX = lazy_pattern(r"\b[xX]'(?![0-9A-Fa-f]*')[^']*'")
_NESTED = _kinds("ARRAY MAP STRUCT")
#: Texts in quotation marks, the other kind with an `r` before them.
TEXTS = _kinds("STRING RAW_STRING")
#: A text behind one of these is a constant of some type, of one text: `DATE '…'`, `TIMESTAMP_NTZ '…'`, `X '…'`.
_BEFORE_TYPED = _kinds("TIMESTAMP TIMESTAMPTZ TIMESTAMPLTZ TIMESTAMPNTZ DATE TIME INTERVAL VAR")
_OPENING, _CLOSING = _kinds("L_PAREN L_BRACKET L_BRACE"), _kinds("R_PAREN R_BRACKET R_BRACE")
#: `!<` and `!>`.
_NEITHER = {TokenType.LT: TokenType.GTE, TokenType.GT: TokenType.LTE}
_NUMBER = lazy_pattern(r"\d+(\.\d*)?([eE][+-]?\d+)?")
#: Words that Spark does not have.
_NO_WORDS = _kinds("XOR GLOB ISNULL NOTNULL RETURNING")
#: Words of Spark that are names where nothing follows that they begin.
_WORDS_OR_NAMES = _kinds("QUALIFY FOR INTO ASOF WINDOW CASE SOME VALUES")
#: Those that sqlglot takes for more whatever their kind, unless they are quoted.
_READ_BY_NAME = _kinds("CASE ANY")
_BEFORE_COLUMN = _kinds("SELECT COMMA L_PAREN DOT")
#: Behind these ALL is a keyword, whatever follows.
_BEFORE_KEYWORD_ALL = _kinds("UNION EXCEPT INTERSECT LIMIT LIKE ILIKE")
#: What goes on behind a name, and begins no expression: before one of these ALL is a column of that name ...
_GOES_ON = _kinds(
    "L_BRACKET COMMA DOT DCOLON ALIAS ASC DESC EQ NEQ NULLSAFE_EQ LT LTE GT GTE SLASH DIV MOD DPIPE PIPE AMP "
    "IS IN BETWEEN AND OR"
)
#: ... and before one of these as well, but in GROUP BY ALL.
_COMES_AFTER = _kinds(
    "R_PAREN R_BRACKET SEMICOLON PIPE_GT WHEN THEN ELSE END FROM WHERE GROUP_BY HAVING ORDER_BY "
    "LIMIT UNION EXCEPT INTERSECT"
)
#: These may be columns as well, and the latter functions: `DISTINCT desc`, `CASE div(i, 2) WHEN …`.
_ORDERS, _CONNECTIVES = _kinds("ASC DESC"), _kinds("DIV AND OR")
#: Behind `all *` these make it a product.
_FACTORS = _kinds("NUMBER VAR IDENTIFIER L_PAREN")
#: A colon behind one of these reads a field of a semi-structured value (`c:city`), it does not name a parameter.
_OPERANDS = _CLOSING | _kinds("VAR IDENTIFIER STRING NUMBER")
_SIMPLE_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Statement(Struct, frozen=True):
    """One SQL statement: its text, its tokens, and for every token how deeply it stands in brackets; values of `:name` in it."""

    sql: str
    tokens: tuple[Token, ...]
    depths: tuple[int, ...]
    tree: Node
    params: Mapping[str, object] = field(default_factory=dict)

    def text(self, first: int, end: int) -> str:
        """The text of the tokens `first` up to but not including `end`."""
        return self.sql[self.tokens[first].start : self.tokens[end - 1].end + 1]

    def span(self, first: int, end: int) -> Span:
        """The place of the tokens `first` up to but not including `end`."""
        return Span(self.tokens[first].start, self.tokens[end - 1].end + 1)

    def text_at(self, span: Span) -> str:
        """The text of a place."""
        return self.sql[span.start : span.end]

    def error(self, message: str, span: Span | None, *, hint: str | None = None) -> QueryError:
        """An error about a place of the statement."""
        return QueryError(message, sql=self.sql, span=span, hint=hint)

    def unsupported(self, message: str, span: Span | None, *, hint: str | None = None) -> UnsupportedSQL:
        """An error about a place of the statement that is SQL, but none that FFF runs."""
        return UnsupportedSQL(message, sql=self.sql, span=span, hint=hint)

    def tokens_at(self, span: Span) -> tuple[int, int]:
        """The first token of a place, and the one behind it."""
        return self.token_at(span.start), self.token_at(span.end - 1) + 1

    def closing(self, opening: int) -> int:
        """The index of the token that closes the bracket at `opening`; -1 when none does."""
        depth = self.depths[opening]
        later = range(opening + 1, len(self.tokens))
        return next((index for index in later if self.depths[index] == depth), -1)

    def token_at(self, offset: int) -> int:
        """The index of the token that covers a character offset, or of the first one behind it."""
        return bisect_left(self.tokens, offset, key=lambda token: token.end)


def split_statements(text: str) -> list[str]:
    """The statements of a text, without the semicolons between them; raises QueryError as `statement_spans` does."""
    return [text[span.start : span.end] for span in statement_spans(text)]


def statement_spans(text: str) -> list[Span]:
    """Where in a text its statements are; parts that hold only comments are none.

    Raises QueryError for a string, a quoted name or a comment that does not end.
    """
    spans: list[Span] = []
    inside = False
    for token in tokenize(text):
        if token.token_type is not TokenType.SEMICOLON:
            start = spans.pop().start if inside else token.start
            spans.append(Span(start, token.end + 1))
        inside = token.token_type is not TokenType.SEMICOLON
    return spans


def arg(node: Node, name: str) -> object:
    """An argument of a tree node whose name is a Python keyword in some releases of sqlglot (`from`, `except`)."""
    value = node.args.get(f"{name}_")
    return node.args.get(name) if value is None else value


def keyword(node: Node, name: str) -> str:
    """A word of SQL that is an argument of a tree node, such as the side of a join; empty where there is none."""
    return str(arg(node, name) or "").upper()


def filled(node: Node) -> set[str]:
    """The arguments of a tree node that are there, as `arg` names them."""
    return {name.rstrip("_") for name, value in node.args.items() if value}


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


def refused(statement: Statement, node: Node, message: str, hint: str | None = None) -> QueryError:
    """What a statement is refused with, a node of it underlined.

    What the parser keeps no place of stands in what is around it: NULL, `true`, the digits of `1e-40BD`.
    """
    around: Node | None = node
    span = identifier_span(node)
    while span is None and around is not None:
        number = around.this.name if isinstance(around, exp.Cast) else None
        pairs = zip(statement.tokens, statement.tokens[2:], strict=False)
        digits = (token_span(one) for one, kind in pairs if one.start == kind.start and one.text == number)
        span = text_span(around) or next(digits, None)
        around = around.parent
    return statement.error(message, span, hint=hint)


@lru_cache(maxsize=1024)
def quote(name: str) -> str:
    """A name as Spark SQL takes it, in backquotes only where they are needed."""
    if _SIMPLE_NAME.match(name) and [token.token_type for token in SPARK.tokenize(name)] == [TokenType.VAR]:
        return name
    return "`" + name.replace("`", "``") + "`"


def qualified(*names: str) -> str:
    """A name with others before it, as Spark SQL takes it."""
    return ".".join(map(quote, names))


@lru_cache(maxsize=8)
def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of a text, read once, with their places. Raises QueryError for a string, a name or a comment that does not end, and for NUL outside of texts."""
    try:
        tokens = tuple(_names_told(text, _joined(text, _texts_read(text, SPARK.tokenize(text)))))
    except TokenError as error:
        start = unclosed(text)
        if start is None and (wrong := _NO_HEX.search(text)):
            raise _no_hex(text, wrong.start(), wrong.end()) from error
        if start is None:
            raise QueryError("syntax error: this cannot be read as SQL", sql=text, span=Span(0, 1)) from error
        what = {"`": "quoted name", "/": "comment"}.get(text[start], "string")
        typeset = TYPESET.search(text, start)
        hint = f"{typeset[0]} ends none: write {text[start]}" if typeset and what != "comment" else None
        raise QueryError(
            f"syntax error: this {what} does not end", sql=text, span=Span(start, start + 1), hint=hint
        ) from error
    for at in (nul.start() for nul in re.finditer("\0", text)):  # most files with one are no text
        if not any(one.token_type in TEXTS and one.start <= at <= one.end for one in tokens):
            raise QueryError("syntax error: NUL is no character of SQL", sql=text, span=Span(at, at + 1))
    return tokens


def _no_hex(text: str, start: int, end: int) -> QueryError:
    return QueryError(f"{text[start:end]} is no hexadecimal number", sql=text, span=Span(start, end))


def _texts_read(text: str, tokens: Iterable[Token]) -> list[Token]:
    """The same tokens, those of texts with what Spark reads; texts side by side are one: `'it''s'`, `'a' r'b'`."""
    told: list[Token] = []
    last = None  # the kind of the one before as it stands in the text
    for token in tokens:
        kind, mark, before = token.token_type, text[token.start], told[-1] if told else token
        if kind is TokenType.STRING and mark in "'\"":
            token.text = string_value(text[token.start : token.end + 1])
        doubled = kind is last is TokenType.STRING and text[before.end : token.start + 1] == mark * 2
        typed = len(told) > 1 and told[-2].token_type in _BEFORE_TYPED
        last = kind
        if doubled or (told and {kind, before.token_type} <= TEXTS and not typed):
            before.text += (mark if doubled else "") + token.text
            before.token_type, before.end = TokenType.STRING, token.end
        else:
            told.append(token)
    return told


def _joined(text: str, tokens: Iterable[Token]) -> list[Token]:
    """The same tokens, as one what sqlglot takes for several: `X 'F0'`, `.5`, `!<`, and `>>>` where it closes no types."""
    told: list[Token] = []
    types, marks = 0, 0  # open in angle brackets; `>` one behind the other that close none
    for token in tokens:
        before, kind = told[-1] if told else token, token.token_type
        kinds, touches = (before.token_type, kind), before.end + 1 == token.start
        if kinds == (TokenType.VAR, TokenType.STRING) and before.text.lower() == "x":
            if not _HEX.fullmatch(token.text):
                raise _no_hex(text, before.start, token.end + 1)
            before.token_type, before.text, before.end = TokenType.HEX_STRING, token.text, token.end
            continue
        if kinds == (TokenType.DOT, TokenType.NUMBER) and touches and _NUMBER.fullmatch(f"0.{token.text}"):
            before.token_type, before.text, before.end = kind, f"0.{token.text}", token.end
            continue
        if kinds[0] is TokenType.NOT and kind in _NEITHER and touches and text[before.start] == "!":
            before.token_type, before.text, before.end = _NEITHER[kind], f"!{token.text}", token.end
            continue
        told.append(token)
        if kind is not TokenType.GT or types:
            types += (kind is TokenType.LT and before.token_type in _NESTED) - (kind is TokenType.GT)
            types, marks = max(types, 0), 0
            continue
        marks = marks + 1 if marks and touches else 1
        if marks == 3:
            first = told[-3]
            first.token_type, first.text, first.end = SHIFT, ">>>", token.end
            del told[-2:]
    return told


def _names_told(text: str, tokens: list[Token]) -> list[Token]:
    """The same tokens, these being names: words where they are meant so, what a parameter is called, `0x1F`, `5e`.

    sqlglot takes `SELECT all, a` for `SELECT a`, and `0x1F` for bytes, which Spark writes `X'1F'` only.
    """
    for index, token in enumerate(tokens):
        if token.token_type is TokenType.HEX_STRING and text[token.start] == "0":
            token.token_type, token.text = TokenType.VAR, text[token.start : token.end + 1]
        if index and is_marker(tokens[index - 2] if index > 1 else None, tokens[index - 1], token):
            word = text[token.start : token.end + 1].isidentifier()
            token.token_type = TokenType.VAR if word else token.token_type
        if token.token_type is TokenType.NUMBER and not _NUMBER.fullmatch(token.text):
            if not token.text.isalnum():
                message = f"syntax error: {token.text} is no number"
                raise QueryError(message, sql=text, span=Span(token.start, token.end + 1))
            token.token_type = TokenType.VAR
        after = [one.token_type for one in tokens[index + 1 : index + 3]]
        after += [TokenType.SEMICOLON] * (2 - len(after))
        before = tokens[index - 1].token_type if index else TokenType.SEMICOLON
        if _is_name(text, token, before, after):
            quoted = token.token_type in _READ_BY_NAME
            token.token_type = TokenType.IDENTIFIER if quoted else TokenType.VAR
        if token.token_type is not TokenType.ALL or index == 0:
            continue
        times = after[0] is TokenType.STAR and after[1] in _FACTORS
        ends = after[0] in _COMES_AFTER and before is not TokenType.GROUP_BY
        named = times or ends or after[0] in _GOES_ON
        if named and before not in _BEFORE_KEYWORD_ALL and not _is_before_operand(token, before, after):
            token.token_type = TokenType.VAR
    return tokens


def _is_name(text: str, token: Token, before: TokenType, after: Sequence[TokenType]) -> bool:
    """Whether a word that means something to sqlglot is a name to Spark, in front of two tokens of these kinds."""
    kind = token.token_type
    if kind in _NO_WORDS:
        return text[token.start].isalpha()
    if kind is TokenType.WINDOW and after[0] in {TokenType.L_PAREN, TokenType.DOT}:
        return True  # `window(…)` is a function, `window.start` a column that it makes
    if kind is TokenType.ANY:
        return after[0] is not TokenType.L_PAREN
    if _is_before_operand(token, before, after):
        return False
    if kind is TokenType.DISTINCT:
        return after[0] in _GOES_ON and before is not TokenType.IS
    named = kind in _WORDS_OR_NAMES or (kind is TokenType.CROSS and before in _BEFORE_COLUMN)
    return (
        named and after[0] in _GOES_ON | _COMES_AFTER and (kind, after[0]) != (TokenType.CASE, TokenType.WHEN)
    )


def _is_before_operand(token: Token, before: TokenType, after: Sequence[TokenType]) -> bool:
    """Whether a word stands before a value that begins as if something went on: `desc`, `div(i, 2)`."""
    kind, (first, second) = token.token_type, after
    if kind is TokenType.CASE:
        if first in _ORDERS:  # ORDER BY case DESC NULLS LAST
            ends = second in _COMES_AFTER or second in {TokenType.COMMA, TokenType.VAR, TokenType.ROWS}
            return second is TokenType.WHEN or not (ends or second is TokenType.RANGE)
        return second is TokenType.WHEN or (first in _CONNECTIVES and second is TokenType.L_PAREN)
    called = second is TokenType.L_PAREN or second in _GOES_ON | _COMES_AFTER
    if first not in _ORDERS and not (first in _CONNECTIVES and called):
        return False
    if kind in {TokenType.DISTINCT, TokenType.ALL}:
        return before in {TokenType.SELECT, TokenType.L_PAREN}
    if kind is TokenType.VALUES:
        return before not in _OPERANDS and first in _CONNECTIVES and second is TokenType.L_PAREN
    return before in _OPERANDS


def is_marker(before: Token | None, colon: Token, name: Token) -> bool:
    """Whether two tokens, behind another one, are a `:name`, which may be called by any word."""
    named = colon.token_type is TokenType.COLON and (before is None or before.token_type not in _OPERANDS)
    return named and name.start == colon.end + 1


def depths_of(tokens: Sequence[Token]) -> tuple[int, ...]:
    """For every token how deeply it stands in brackets; brackets themselves stand outside of what they hold."""
    depths, depth = [], 0
    for token in tokens:
        if token.token_type in _CLOSING:
            depth -= 1
        depths.append(depth)
        if token.token_type in _OPENING:
            depth += 1
    return tuple(depths)


def token_span(token: Token) -> Span:
    """Where a token stands."""
    return Span(token.start, token.end + 1)
