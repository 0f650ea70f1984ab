"""What Spark calls a column of a select list that has no name of its own: the expression, as its analyzer writes it.

Only forms whose names are proven equal to Spark's are written; a column of any other form needs `AS`, or Spark. Operators
are read from the tree. Calls are read from the text, argument by argument: Spark shows what is written, in that order, and
the tree does not keep it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from fff.errors import QueryError
from fff.sql.binder.names import parts_of
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.statement import Node, Statement, TokenType, exp, filled, text_span

_BINARY: dict[type[Node], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div",
    exp.EQ: "=", exp.NullSafeEQ: "<=>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "AND", exp.Or: "OR",
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
}  # fmt: skip
_MATCHES: dict[type[Node], str] = {exp.ILike: "ilike", exp.RegexpLike: "RLIKE", exp.Between: "between"}
#: Operators that can be written as calls, and are then named so.
_BY_SIGN = frozenset({exp.Mod, exp.IntDiv})
_ORDER = frozenset({"<", "<=", ">", ">="})
_NUMBER = re.compile(r"(?:0|[1-9]\d*)(?:\.\d+)?")
_TEXT = re.compile(r"[^\\\x00-\x1f\x7f]*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TYPES = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE", "TIMESTAMP"}
)
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
#: Functions that Spark names in its own way, or shows as other calls.
_OTHERWISE = frozenset(
    {
        *("make_dt_interval", "make_ym_interval", "mask", "to_varchar", "regexp_instr", "date", "timestamp"),
        *(
            "bigint",
            "smallint",
            "tinyint",
            "decimal",
            "float",
            "binary",
            "int",
            "double",
            "string",
            "boolean",
        ),
        *(
            "position",
            "overlay",
            "timestampadd",
            "timestampdiff",
            "dateadd",
            "date_diff",
            "extract",
            "struct",
        ),
        *(
            "cast",
            "try_cast",
            "interval",
            "collate",
            "try_to_date",
            "try_to_timestamp",
            "transform",
            "decode",
        ),
        *("to_char", "array_sort"),
    }
)
#: Functions whose names Spark writes in capitals.
_CAPITALS = frozenset(
    {
        *("ceil", "degrees", "e", "exp", "floor", "log", "log10", "log2", "pi", "power", "radians"),
        *("regexp_like", "rlike", "signum", "sqrt"),
    }
)
#: What it shows behind the arguments that are written, by name and their number.
_SHOWN_BESIDE = {
    ("bround", 1): "0",
    ("from_unixtime", 1): "yyyy-MM-dd HH:mm:ss",
    ("locate", 2): "1",
    ("regexp_extract", 2): "1",
    ("regexp_replace", 3): "1",
    ("replace", 2): "",
    ("round", 1): "0",
    ("sort_array", 1): "true",
    ("split", 2): "-1",
    ("substr", 2): "2147483647",
    ("substring", 2): "2147483647",
    ("to_unix_timestamp", 1): "yyyy-MM-dd HH:mm:ss",
    ("unix_timestamp", 1): "yyyy-MM-dd HH:mm:ss",
}
#: Functions that it shows as something else, by their numbers of arguments.
_SHOWN = {
    ("positive", 1): "(+ {})",
    ("isnull", 1): "({} IS NULL)",
    ("isnotnull", 1): "({} IS NOT NULL)",
    ("initcap", 1): "initcap({})",
    ("if", 3): "(IF({}, {}, {}))",
    ("log", 1): "LOG(E(), {})",
    ("floor", 2): "floor({}, {})",
    ("ceil", 2): "ceil({}, {})",
    ("lpad", 2): None,  # what stands beside depends on the type
    ("rpad", 2): None,
    ("ltrim", 2): None,
    ("rtrim", 2): None,
    ("date_add", 3): None,
    ("datediff", 3): None,
}
#: What calls are in the tree, and what is no call there.
_CALLED = (exp.Func, exp.Mod, exp.IntDiv, exp.BitwiseLeftShift, exp.BitwiseRightShift)
_NOT_CALLED = (exp.Collate, exp.Bracket, exp.Lambda, exp.And, exp.Or, exp.Cast)
#: Words before a bracket that call nothing.
_NO_CALLS = frozenset(
    {
        *(TokenType.IN, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.WHEN, TokenType.THEN),
        *(TokenType.ELSE, TokenType.CASE, TokenType.BETWEEN, TokenType.LIKE, TokenType.IS),
        *(TokenType.ILIKE, TokenType.DISTINCT, TokenType.DIV, TokenType.FROM, TokenType.RLIKE),
    }
)


class _Answering(Protocol):
    """What columns may be qualified with."""

    def answers_to(self, qualifier: Sequence[str]) -> bool:
        """Whether a qualifier means it."""


def spark_name(
    node: Node, statement: Statement, tokens: tuple[int, int], sources: Iterable[_Answering] = ()
) -> str:
    """The name of a select item that stands in these tokens, up to the second. Raises LeftToSparkError where that is not sure.

    `sources`: what columns are of; what stands before a column is one of them, or a struct whose field it is.
    """
    qualified = [one for one in node.find_all(exp.Column) if one.table and one is not node.unnest()]
    for qualifier in ([part.name.lower() for part in parts_of(one)[:-1]] for one in qualified):
        if not any(source.answers_to(qualifier) for source in sources):
            raise LeftToSparkError("a name of its own")
    writer = _NameWriter(statement, *tokens)
    bare = node.unnest()
    if isinstance(bare, exp.Cast) and isinstance(bare.this.unnest(), exp.Column) and writer.casts():
        return str(bare.this.unnest().name)  # a column that is cast keeps its name
    return writer.whole(node)


class _NameWriter:
    """Writes the name of what stands in some tokens; calls are taken in the order of the text, which is that of the tree."""

    def __init__(self, statement: Statement, first: int, end: int) -> None:
        self._statement = statement
        # As written: of `1L` the tokens are those of a cast.
        self._words = {statement.sql[one.start : one.end + 1].lower() for one in statement.tokens[first:end]}
        self._calls = [at for at in range(first, end - 1) if _is_call(statement, at)]
        signs = (at for at in range(first, end) if statement.tokens[at].token_type is TokenType.PLUS)
        if "unknown" in self._words or any(at == first or not _ends(statement, at - 1) for at in signs):
            raise LeftToSparkError("a name of its own")  # a sign that the tree does not keep

    def whole(self, node: Node) -> str:
        """The name of all that stands in the tokens."""
        name = self._name(node)
        if self._calls:
            raise LeftToSparkError("a name of its own")
        return name

    def casts(self) -> bool:
        """Whether the casts are written as such, in one way."""
        calls = [self._word(at) for at in self._calls]
        return ("::" in self._words) != bool(calls) and calls in ([], ["cast"], ["try_cast"])

    def _word(self, at: int) -> str:
        return self._statement.tokens[at].text.lower()

    def _name(self, node: Node) -> str:
        match node:
            case exp.Paren():
                return self._name(node.this)
            case exp.Column() if not isinstance(node.this, exp.Star):
                return node.name
            case exp.Literal() if (_TEXT if node.is_string else _NUMBER).fullmatch(node.name):
                return node.name
            case exp.Null():
                return "NULL"
            case exp.Boolean():
                return str(node.this).lower()
            case exp.Neg() if isinstance(node.this, exp.Literal) or self._is_constant(node.this):
                name = self._name(node.this)
                if not name.strip("0.") or not _NUMBER.fullmatch(name):
                    raise LeftToSparkError("a name of its own")  # of a decimal zero the sign is lost
                return f"-{name}"
            case exp.Neg():
                return f"(- {self._name(node.this)})"
            case exp.BitwiseNot():
                return f"~{self._name(node.this)}"
            case exp.NEQ():
                return f"(NOT ({self._name(node.this)} = {self._name(node.expression)}))"
            case exp.NullSafeNEQ():
                return f"(NOT ({self._name(node.this)} <=> {self._name(node.expression)}))"
            case exp.Not() if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
                return f"({self._name(node.this.this)} IS NOT NULL)"
            case exp.Not():
                return f"(NOT {self._name(node.this)})"
            case exp.Is() if isinstance(node.expression, exp.Null):
                return f"({self._name(node.this)} IS NULL)"
            case exp.Is() if isinstance(node.expression, exp.Boolean):
                return f"({self._name(node.this)} <=> {self._name(node.expression)})"
            case exp.In() if node.expressions and not node.args.get("query"):
                item = self._name(node.this)
                if isinstance(node.this.unnest(), exp.Tuple):
                    raise LeftToSparkError("a name of its own")
                return f"({item} IN ({', '.join(map(self._name, node.expressions))}))"
            case exp.Like() | exp.ILike() | exp.Between() | exp.RegexpLike() if self._is_operator(node):
                matched = self._matched(node)
                return f"(NOT {matched})" if node.args.get("negate") else matched
            case exp.DPipe():
                return f"concat({self._name(node.this)}, {self._name(node.expression)})"
            case exp.Case():
                return " ".join(self._case(node))
            case exp.Cast():
                return self._cast(node)
        kind: type[Node] = type(node)
        sign = _BINARY.get(kind)
        if sign is not None and (kind not in _BY_SIGN or sign in self._words):
            sides = (node.this.unnest(), node.expression.unnest())
            if (sign in "+-" and any(map(_is_date, sides))) or (
                sign in _ORDER and any(map(_is_decimal, sides))
            ):
                raise LeftToSparkError("a name of its own")  # it is shown as a call, and as another number
            return f"({self._name(node.this)} {sign} {self._name(node.expression)})"
        return self._call(node)

    def _is_operator(self, node: Node) -> bool:
        return bool({"like", "ilike", "between", "rlike", "regexp"} & self._words) and not (
            isinstance(node, exp.RegexpLike)
            and {self._word(at) for at in self._calls} & {"rlike", "regexp_like"}
        )

    def _matched(self, node: Node) -> str:
        """LIKE, RLIKE and BETWEEN."""
        parts = [
            node.this,
            *([node.args["low"], node.args["high"]] if isinstance(node, exp.Between) else [node.expression]),
        ]
        if filled(node) - {"this", "expression", "low", "high", "negate"} or not all(
            isinstance(one, exp.Expr) and not isinstance(one, exp.Any | exp.All) for one in parts
        ):
            raise LeftToSparkError("a name of its own")
        names = [self._name(one) for one in parts]
        if isinstance(node, exp.Like):
            return f"{names[0]} LIKE {names[1]}"
        word = _MATCHES[type(node)]
        return f"{word}({', '.join(names)})"

    def _case(self, node: Node) -> Iterator[str]:
        yield "CASE"
        operand = None if node.this is None else self._name(node.this)
        for one in node.args["ifs"]:
            when = self._name(one.this)
            yield f"WHEN {when if operand is None else f'({operand} = {when})'}"
            yield f"THEN {self._name(one.args['true'])}"
        if node.args.get("default") is not None:
            yield f"ELSE {self._name(node.args['default'])}"
        yield "END"

    def _cast(self, node: Node) -> str:
        kind = node.args["to"].sql("spark")
        decimal = _DECIMAL.fullmatch(kind)
        kind = kind if decimal is None else f"DECIMAL({decimal[1]},{decimal[2]})"
        if decimal is None and kind not in _TYPES:
            raise LeftToSparkError("a name of its own")
        literal = node.this if isinstance(node.this, exp.Literal) else None
        called = bool(self._calls) and self._encloses(self._calls[0], node)
        if literal is not None and self._is_constant(node):
            return self._constant(literal, kind)
        if called == ("::" in self._words):  # which is which is not clear
            raise LeftToSparkError("a name of its own")
        word = self._word(self._calls.pop(0)).upper() if called else "CAST"
        if word not in {"CAST", "TRY_CAST"}:
            raise LeftToSparkError("a name of its own")
        return f"{word}({self._name(node.this)} AS {kind})"

    def _is_constant(self, node: Node) -> bool:
        """Whether a cast is none in the text, but a constant with its type."""
        called = bool(self._calls) and self._encloses(self._calls[0], node)
        cast = isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal)
        return cast and not called and "::" not in self._words

    def _constant(self, literal: Node, kind: str) -> str:
        """A constant with a word in front, or a letter behind it."""
        if literal.is_string and kind == "DATE" and _DATE.fullmatch(literal.name):
            return f"DATE '{literal.name}'"
        if not literal.is_string and kind in {"BIGINT", "SMALLINT", "TINYINT"}:
            return self._name(literal)
        raise LeftToSparkError("a name of its own")

    def _encloses(self, call: int, node: Node) -> bool:
        """Whether what a node names stands in the brackets of a call."""
        inside, close = text_span(node), self._statement.closing(call + 1)
        tokens = self._statement.tokens
        return inside is None or (tokens[call].start <= inside.start and inside.end <= tokens[close].end + 1)

    def _call(self, node: Node) -> str:
        if (
            not isinstance(node, _CALLED)
            or isinstance(node, _NOT_CALLED)
            or not (self._calls and self._encloses(self._calls[0], node))
        ):
            raise LeftToSparkError("a name of its own")
        first = self._calls[0]
        close = self._statement.closing(first + 1)
        self._calls = [at for at in self._calls if at > close]
        word = self._word(first)
        args = [_argument(text) for text in self._arguments(first + 1, close)]
        shown = _SHOWN.get((word, len(args)), "")
        if (
            word in _OTHERWISE
            or shown is None
            or self._statement.tokens[first - 1].token_type is TokenType.DOT
        ):
            raise LeftToSparkError("a name of its own")
        if shown:
            return shown.format(*args)
        beside = _SHOWN_BESIDE.get((word, len(args)))
        names = args if beside is None else [*args, beside]
        return f"{word.upper() if word in _CAPITALS else word}({', '.join(names)})"

    def _arguments(self, opening: int, close: int) -> Iterator[str]:
        """The texts between the commas of a call."""
        tokens, depths = self._statement.tokens, self._statement.depths
        first = opening + 1
        for at in range(first, close + 1):
            comma = tokens[at].token_type is TokenType.COMMA and depths[at] == depths[opening] + 1
            if first < close and (comma or at == close):
                if at == first:
                    raise LeftToSparkError("a name of its own")
                yield self._statement.text(first, at)
                first = at + 1


def _argument(text: str) -> str:
    """What Spark shows of an argument."""
    try:
        statement = parse_statement(f"SELECT {text}")
    except QueryError as error:
        raise LeftToSparkError("a name of its own") from error
    items = statement.tree.expressions
    if filled(statement.tree) != {"expressions"} or len(items) != 1 or isinstance(items[0], exp.Alias):
        raise LeftToSparkError("a name of its own")
    return _NameWriter(statement, 1, len(statement.tokens)).whole(items[0])


def _is_date(node: Node) -> bool:
    return isinstance(node, exp.Cast) and node.to.is_type("date", "timestamp")


def _is_decimal(node: Node) -> bool:
    bare = node.this if isinstance(node, exp.Neg) else node
    return isinstance(bare, exp.Literal) and not bare.is_string and "." in bare.name


def _is_call(statement: Statement, at: int) -> bool:
    token, after = statement.tokens[at : at + 2]
    word = token.text[:1].isalpha() or token.text[:1] == "_"
    return word and after.token_type is TokenType.L_PAREN and token.token_type not in _NO_CALLS


def _ends(statement: Statement, at: int) -> bool:
    """Whether a token may end an operand."""
    token = statement.tokens[at]
    return token.token_type not in _NO_CALLS and (
        statement.sql[token.end].isalnum() or statement.sql[token.end] in "_)]`'\""
    )
