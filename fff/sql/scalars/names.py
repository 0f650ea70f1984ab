"""What Spark calls a column of a select list that has no name of its own: the expression, as its analyzer writes it.

Only forms whose names are proven equal to Spark's are written; a column of any other form needs `AS`, or Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from fff.sql.binder.names import parts_of
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.syntax.statement import Node, Token, TokenType, exp

_BINARY: dict[type[Node], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div",
    exp.EQ: "=", exp.NullSafeEQ: "<=>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "AND", exp.Or: "OR",
}  # fmt: skip
#: Operators that can be written as calls, and are then named so.
_BY_SIGN = frozenset({exp.Mod, exp.IntDiv})
_NUMBER = re.compile(r"(?:0|[1-9]\d*)(?:\.\d+)?")
_TEXT = re.compile(r"[^\\\x00-\x1f\x7f]*")
_TYPES = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE", "TIMESTAMP"}
)
#: Functions that Spark names in its own way, or shows as other calls.
_OTHERWISE = frozenset(
    {
        *("e", "make_dt_interval", "make_ym_interval", "pi", "mask", "to_varchar", "regexp_instr", "replace"),
        *("bigint", "smallint", "tinyint", "decimal", "float", "binary"),
    }
)
#: Functions whose names Spark writes in capitals, and those that it shows with the digits that are not written.
_CAPITALS = frozenset({"ceil", "degrees", "exp", "floor", "log", "radians", "signum", "sqrt"})
_ROUNDING = frozenset({"bround", "round"})
#: Functions that it shows as something else.
_SHOWN = {
    "positive": "(+ {})",
    "isnull": "({} IS NULL)",
    "isnotnull": "({} IS NOT NULL)",
    "initcap": "initcap({})",
}
#: Words before a bracket that call nothing.
_NO_CALLS = frozenset(
    {
        *(TokenType.IN, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.WHEN, TokenType.THEN),
        *(TokenType.ELSE, TokenType.CASE, TokenType.BETWEEN, TokenType.LIKE, TokenType.IS),
    }
)


class _Answering(Protocol):
    """What columns may be qualified with."""

    def answers_to(self, qualifier: Sequence[str]) -> bool:
        """Whether a qualifier means it."""


def spark_name(node: Node, tokens: Sequence[Token], sources: Iterable[_Answering] = ()) -> str:
    """The name of a select item that stands in these tokens. Raises LeftToSparkError where that is not sure.

    `sources`: what columns are of; what stands before a column is one of them, or a struct whose field it is.
    """
    words = [
        token.text.lower()
        for token, after in pairwise(tokens)
        if after.token_type is TokenType.L_PAREN
        and token.token_type not in _NO_CALLS
        and (token.text[:1].isalpha() or token.text[:1] == "_")
    ]
    writer = _NameWriter(iter(words), {token.text.lower() for token in tokens})
    qualified = [one for one in node.find_all(exp.Column) if one.table and one is not node.unnest()]
    for qualifier in ([part.name.lower() for part in parts_of(one)[:-1]] for one in qualified):
        if not any(source.answers_to(qualifier) for source in sources):
            raise LeftToSparkError("a name of its own")
    name = writer.name(node)
    if next(writer.calls, None) is not None:
        raise LeftToSparkError("a name of its own")
    return name


class _NameWriter:
    def __init__(self, calls: Iterator[str], words: set[str]) -> None:
        self.calls = calls  # the words before brackets, in the order of the text, which is that of the tree
        self._words = words

    def name(self, node: Node) -> str:
        match node:
            case exp.Paren():
                return self.name(node.this)
            case exp.Column() if not isinstance(node.this, exp.Star):
                return node.name
            case exp.Literal() if (_TEXT if node.is_string else _NUMBER).fullmatch(node.name):
                return node.name
            case exp.Null():
                return "NULL"
            case exp.Boolean():
                return str(node.this).lower()
            case exp.Neg() if isinstance(node.this, exp.Literal):
                return f"-{self.name(node.this)}"
            case exp.Neg():
                return f"(- {self.name(node.this)})"
            case exp.NEQ():
                return f"(NOT ({self.name(node.this)} = {self.name(node.expression)}))"
            case exp.Not() if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
                return f"({self.name(node.this.this)} IS NOT NULL)"
            case exp.Not():
                return f"(NOT {self.name(node.this)})"
            case exp.Is() if isinstance(node.expression, exp.Null):
                return f"({self.name(node.this)} IS NULL)"
            case exp.In() if node.expressions and not node.args.get("query"):
                item = self.name(node.this)
                return f"({item} IN ({', '.join(map(self.name, node.expressions))}))"
            case exp.Cast():
                return self._cast(node)
            case exp.Func() if type(node) not in _BINARY:
                return self._call(node)
        kind: type[Node] = type(node)
        sign = _BINARY.get(kind)
        if sign is None or (kind in _BY_SIGN and sign not in self._words):
            raise LeftToSparkError("a name of its own")
        return f"({self.name(node.this)} {sign} {self.name(node.expression)})"

    def _cast(self, node: Node) -> str:
        kind = node.args["to"].sql("spark")
        if (
            type(node) is not exp.Cast
            or kind not in _TYPES
            or not ("::" in self._words or next(self.calls, None) == "cast")
        ):
            raise LeftToSparkError("a name of its own")
        return f"CAST({self.name(node.this)} AS {kind})"

    def _call(self, node: exp.Func) -> str:
        written = next(self.calls, "")
        if written in _OTHERWISE:
            raise LeftToSparkError("a name of its own")
        known = {node.name} if isinstance(node, exp.Anonymous) else set(type(node).sql_names())
        shown_otherwise = isinstance(node, exp.Trim) and node.expression
        if shown_otherwise or written not in {one.lower() for one in known}:
            raise LeftToSparkError("a name of its own")
        args = [
            part
            for name in type(node).arg_types
            for value in [node.args.get(name)]
            for part in (value if isinstance(value, list) else [value])
            if isinstance(part, exp.Expr)
        ]
        if written in _SHOWN:
            return _SHOWN[written].format(self.name(args[0]))
        plain = {"this", "expression", "expressions"}
        if any(
            value for name, value in node.args.items() if name not in plain and not isinstance(value, bool)
        ):
            raise LeftToSparkError("a name of its own")
        names = [*map(self.name, args), *(["0"] if written in _ROUNDING and len(args) == 1 else [])]
        return f"{written.upper() if written in _CAPITALS else written}({', '.join(names)})"
