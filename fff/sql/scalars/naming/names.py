"""What Spark calls a column of a select list that has no name of its own: the expression, as its analyzer writes it.

Only forms whose names are proven equal to Spark's are written; a column of any other form needs `AS`, or Spark. Operators
are read from the tree. Calls are read from the text, argument by argument: Spark shows what is written, in that order, and
the tree does not keep it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

import pyarrow as pa

from fff.dataflow.plan.expressions import Column
from fff.errors import QueryError
from fff.schema import ArrowType
from fff.sql.binder.names import Scope, parts_of, resolve
from fff.sql.scalars.collections import lambdas
from fff.sql.scalars.naming import shown
from fff.sql.scalars.quantities import intervals
from fff.sql.scalars.typed import LeftToSparkError, Typed
from fff.sql.syntax.grammar import Positive
from fff.sql.syntax.literals import constant_of
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.statement import Node, Statement, TokenType, exp, filled, text_span
from fff.structs import Struct, lazy_pattern

_BINARY: dict[type[Node], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div",
    exp.EQ: "=", exp.NullSafeEQ: "<=>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "AND", exp.Or: "OR",
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
}  # fmt: skip
_MATCHES: dict[type[Node], str] = {exp.ILike: "ilike", exp.RegexpLike: "RLIKE", exp.Between: "between"}
#: Operators that can be written as calls, and are then named so.
_BY_SIGN = frozenset({exp.Mod, exp.IntDiv})
_SHIFTS = (exp.BitwiseLeftShift, exp.BitwiseRightShift)
_ORDER = frozenset({"<", "<=", ">", ">="})
_NUMBER = lazy_pattern(r"(?:0|[1-9]\d*)(?:\.\d+)?")
_WITH_EXPONENT = lazy_pattern(r"\d+(?:\.\d+)?[eE]\d+")
#: From here on doubles are shown with an exponent.
_SHOWN_WITHOUT = 10_000_000
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d")
_MOMENT = lazy_pattern(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{0,5}[1-9])?")
_TYPES = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE", "TIMESTAMP", "BINARY"}
)  # fmt: skip
_DECIMAL = lazy_pattern(r"DECIMAL(?:\((\d+)(?:, ?(\d+))?\))?")
_LAMBDA = lazy_pattern(r"\s*(?:(\w+)|\(([\w\s,]+)\))\s*->")
#: What calls are in the tree, and what is no call there.
_CALLED = (exp.Func, exp.Mod, exp.IntDiv, *_SHIFTS, exp.Bracket)
_NOT_CALLED = (exp.Collate, exp.Lambda, exp.And, exp.Or, exp.Cast)
#: Words before a bracket that call nothing.
_NO_CALLS = frozenset(
    {
        *(TokenType.IN, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.WHEN, TokenType.THEN),
        *(TokenType.ELSE, TokenType.CASE, TokenType.BETWEEN, TokenType.LIKE, TokenType.IS),
        *(TokenType.ILIKE, TokenType.DISTINCT, TokenType.DIV, TokenType.FROM, TokenType.RLIKE),
    }
)


class Columns(Struct, frozen=True):
    """What the columns of a SELECT are: of which tables, and what types expressions over them have."""

    scope: Scope
    #: Of an expression of a statement, with the variables of the lambdas around it. Raises LeftToSparkError, QueryError.
    kind: Callable[[Statement, Node, Mapping[str, Typed]], ArrowType]


def spark_name(node: Node, statement: Statement, tokens: tuple[int, int], columns: Columns) -> str:
    """The name of a select item that stands in these tokens, up to the second. Raises LeftToSparkError where that is not sure."""
    bare, writer = node.unnest(), _NameWriter(statement, *tokens, columns, {})
    if isinstance(bare, exp.Column) and not isinstance(bare.this, exp.Star):
        return str(bare.name)
    try:
        return writer.kept(node) or writer.whole(node)
    except QueryError as error:
        raise _unsure() from error


def _unsure() -> LeftToSparkError:
    return LeftToSparkError("a name of its own")


class _NameWriter:
    """Writes the name of what stands in some tokens; calls are taken in the order of the text, which is that of the tree."""

    def __init__(
        self, statement: Statement, first: int, end: int, columns: Columns, variables: Mapping[str, Typed]
    ) -> None:
        self._statement = statement
        self._columns = columns
        self._variables = variables
        # As written: of `1L` the tokens are those of a cast.
        self._words = {statement.sql[one.start : one.end + 1].lower() for one in statement.tokens[first:end]}
        self._calls = [at for at in range(first, end - 1) if _is_call(statement, at)]
        if "unknown" in self._words:
            raise _unsure()  # a word that the tree does not keep

    def whole(self, node: Node) -> str:
        """The name of all that stands in the tokens."""
        name = self._name(node)
        if self._calls:
            raise _unsure()
        return name

    def kept(self, node: Node) -> str | None:
        """The name of a column that is only cast, and keeps it."""
        bare = node.unnest()
        column = bare.this.unnest() if isinstance(bare, exp.Cast) else None
        calls = [self._word(at) for at in self._calls]
        casts = ("::" in self._words) != bool(calls) and calls in ([], ["cast"], ["try_cast"])
        if not isinstance(column, exp.Column) or not casts:
            return None
        has_fields = resolve(self._statement, column, self._columns.scope).has_fields
        return None if has_fields else str(column.name)

    def _word(self, at: int) -> str:
        return self._statement.tokens[at].text.lower()

    def _kind(self, node: Node) -> ArrowType:
        return self._columns.kind(self._statement, node, self._variables)

    def _name(self, node: Node) -> str:
        match node:
            case exp.Paren():
                return self._name(node.this)
            case exp.Column() if not isinstance(node.this, exp.Star):
                return self._column(node)
            case exp.Identifier() if node.name.lower() in self._variables:
                return shown.VARIABLE
            case exp.Literal() | exp.RawString():
                return self._literal(node)
            case exp.Null():
                return "NULL"
            case exp.Boolean():
                return str(node.this).lower()
            case exp.Neg() if not node.this.is_string and (
                isinstance(node.this, exp.Literal) or self._is_constant(node.this)
            ):
                name = self._name(node.this)
                if not name.strip("0.") or not _NUMBER.fullmatch(name):
                    raise _unsure()  # of a decimal zero the sign is lost
                return f"-{name}"
            case exp.Neg():
                return f"(- {self._name(node.this)})"
            case Positive():
                return f"(+ {self._name(node.this)})"
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
                    raise _unsure()
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
            case exp.Interval():
                return _interval(node)
            case exp.Bracket() if node.args.get("offset") is None:
                return self._element(node)
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return f"{self._name(node.this)}.{node.expression.name}"
            case exp.Extract():
                return self._part(node)
        return self._operation(node) or self._call(node)

    def _operation(self, node: Node) -> str | None:
        """An operator between two operands."""
        kind: type[Node] = type(node)
        sign = _BINARY.get(kind)
        if sign is None or (kind in _BY_SIGN and sign not in self._words):
            return None
        sides = (node.this.unnest(), node.expression.unnest())
        if sign in "+-*/":
            return self._arithmetic(sign, *sides)
        if sign in _ORDER and sum(map(_is_decimal, sides)) == 1:
            (other,) = (one for one in sides if not _is_decimal(one))
            kind = self._kind(other)
            if not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
                raise _unsure()  # it is shown as another number
        return f"({self._name(sides[0])} {sign} {self._name(sides[1])})"

    def _arithmetic(self, sign: str, left: Node, right: Node) -> str:
        """Sums of dates and moments are shown as calls, the one that is moved first."""
        kinds = [self._kind(left), self._kind(right)]
        names = [self._name(left), self._name(right)]
        if pa.null() in kinds:
            raise _unsure()
        moved = [pa.types.is_date(kind) or pa.types.is_timestamp(kind) for kind in kinds]
        spans = [intervals.is_interval(kind) for kind in kinds]
        if not any(moved + spans) or (all(moved) and kinds[0] == kinds[1]):
            return f"({names[0]} {sign} {names[1]})"
        if all(moved) or not any(moved) or sign not in "+-":
            raise _unsure()
        at = moved.index(True)
        to, by = names[at], names[1 - at]
        if not spans[1 - at]:
            if not pa.types.is_integer(kinds[1 - at]) or not pa.types.is_date(kinds[at]):
                raise _unsure()
            return f"date_{'add' if sign == '+' else 'sub'}({to}, {by})"
        if pa.types.is_timestamp(kinds[at]):
            return f"{to} {sign} {by}"
        if not isinstance((left, right)[1 - at], exp.Interval):
            raise _unsure()  # of what units it is, is not known
        if not by.endswith(" DAY"):
            return f"{to} {sign} {by}"
        days = f"extractansiintervaldays({by})"
        return f"date_add({to}, {days if sign == '+' else f'(- {days})'})"

    def _column(self, node: Node) -> str:
        names = [part.name for part in parts_of(node)]
        if names[0].lower() in self._variables:
            return ".".join([shown.VARIABLE, *names[1:]])
        return ".".join(names[resolve(self._statement, node, self._columns.scope).qualifiers :])

    def _literal(self, node: Node) -> str:
        text = str(node.name)
        if isinstance(node, exp.RawString) or node.is_string:
            constant = constant_of(self._statement, node)
            if constant is None or not isinstance(constant.value, str) or "\0" in constant.value:
                raise _unsure()
            return constant.value
        number = float(text) if _WITH_EXPONENT.fullmatch(text) else 0.0
        if _NUMBER.fullmatch(text):
            return str(Decimal(text))  # small ones with an exponent, as Java has it
        if not 0 < number < _SHOWN_WITHOUT or not number.is_integer():
            raise _unsure()
        return f"{int(number)}.0"

    def _element(self, node: Node) -> str:
        """An element of an array or a map, a field of a struct."""
        kind = self._kind(node.this)
        name, [key] = self._name(node.this), node.expressions
        is_text = isinstance(key, exp.Literal) and key.is_string
        if pa.types.is_struct(kind) and is_text:
            return f"{name}.{self._name(key)}"
        if pa.types.is_map(kind) or (pa.types.is_list(kind) and not is_text):
            return f"{name}[{self._name(key)}]"
        raise _unsure()

    def _part(self, node: Node) -> str:
        """`extract(YEAR FROM d)`, the word as it is written."""
        if not self._calls or self._word(self._calls[0]) != "extract":
            raise _unsure()
        word = self._statement.tokens[self._calls.pop(0) + 2]
        written = self._statement.sql[word.start : word.end + 1]
        if not written.isidentifier():
            raise _unsure()
        return f"extract({written} FROM {self._name(node.expression)})"

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
            raise _unsure()
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
        written = node.args["to"].sql("spark")
        decimal = _DECIMAL.fullmatch(written)
        kind = written if decimal is None else f"DECIMAL({decimal[1] or 10},{decimal[2] or 0})"
        literal = node.this if isinstance(node.this, exp.Literal) else None
        called = bool(self._calls) and self._encloses(self._calls[0], node)
        if literal is not None and self._is_constant(node):
            return self._constant(literal, kind)
        if called and self._word(self._calls[0]) in shown.CASTS:
            self._calls.pop(0)
            return self._name(node.this)
        if (decimal is None and kind not in _TYPES) or called == (
            "::" in self._words
        ):  # which is which is not clear
            raise _unsure()
        word = self._word(self._calls.pop(0)).upper() if called else "CAST"
        if word not in {"CAST", "TRY_CAST"}:
            raise _unsure()
        return f"{word}({self._name(node.this)} AS {kind})"

    def _is_constant(self, node: Node) -> bool:
        """Whether a cast is none in the text, but a constant with its type."""
        if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
            return False
        called = bool(self._calls) and self._encloses(self._calls[0], node)
        return bool(node.meta.get("suffix")) or (not called and "::" not in self._words)

    def _constant(self, literal: Node, kind: str) -> str:
        """A constant with a word in front, or a letter behind it."""
        if literal.is_string and kind == "DATE" and _DATE.fullmatch(literal.name):
            return f"DATE '{literal.name}'"
        is_moment = kind in {"TIMESTAMP", "TIMESTAMP_NTZ"} and kind.lower() in self._words
        if literal.is_string and is_moment and _MOMENT.fullmatch(literal.name):
            return f"{kind} '{literal.name}'"
        if not literal.is_string and kind in {"BIGINT", "SMALLINT", "TINYINT"}:
            return self._name(literal)
        raise _unsure()

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
            raise _unsure()
        first = self._calls[0]
        word = self._word(first)
        if self._statement.tokens[first - 1].token_type is TokenType.DOT or (
            isinstance(node, _SHIFTS) and not word.startswith("shift")
        ):
            raise _unsure()
        close = self._statement.closing(first + 1)
        texts = list(self._arguments(first + 1, close))
        if texts == ["*"]:
            raise _unsure()
        if len(texts) == 1 and (in_words := self._in_words(word, node)) is not None:
            return in_words
        self._calls = [at for at in self._calls if at > close]
        if len(texts) == 3 and word in shown.OF_UNITS:
            unit = texts[0].strip()
            if not unit.isidentifier():
                raise _unsure()
            return f"{shown.OF_UNITS[word]}({', '.join([unit, *map(self._argument, texts[1:])])})"
        args = [self._argument_of(word, node, at, text) for at, text in enumerate(texts)]
        form = shown.SHOWN.get((word, len(args)), "")
        if word in shown.OTHERWISE or form is None:
            raise _unsure()
        if word in shown.CASTS and len(args) == 1:
            return args[0]
        if form:
            return form.format(*args)
        beside = shown.SHOWN_BESIDE.get((word, len(args)))
        if word in {"lpad", "rpad"} and len(args) == 2:
            if not pa.types.is_string(self._kind(node.this)):
                raise _unsure()
            beside = " "
        names = args if beside is None else [*args, beside]
        return f"{word.upper() if word in shown.CAPITALS else word}({', '.join(names)})"

    def _in_words(self, word: str, node: Node) -> str | None:
        """`position('a' IN x)`, `substring(x FROM 2 FOR 3)`: calls with words between their arguments."""
        if isinstance(node, exp.StrPosition) and word == "position":
            self._calls.pop(0)
            return f"locate({self._name(node.args['substr'])}, {self._name(node.this)}, 1)"
        if isinstance(node, exp.Substring) and node.args.get("start") is not None:
            self._calls.pop(0)
            parts = [self._name(node.this), self._name(node.args["start"])]
            length = node.args.get("length")
            parts.append("2147483647" if length is None else self._name(length))
            return f"substring({', '.join(parts)})"
        if isinstance(node, exp.Trim) and {"both", "leading", "trailing", "from"} & self._words:
            raise _unsure()
        return None

    def _argument_of(self, word: str, node: Node, at: int, text: str) -> str:
        names = _LAMBDA.match(text)
        if names is None:
            return self._argument(text)
        return self._lambda(text, self._variables_of(word, node, at, re.findall(r"\w+", names[0])))

    def _argument(self, text: str) -> str:
        """What Spark shows of an argument."""
        statement = parse_statement(f"SELECT {text}")
        writer = _NameWriter(statement, 1, len(statement.tokens), self._columns, self._variables)
        return writer.whole(_only_item(statement))

    def _lambda(self, text: str, variables: Mapping[str, Typed]) -> str:
        """What it shows of a lambda: variables without their names, behind what is made of them."""
        statement = parse_statement(f"SELECT f({text})")
        call = _only_item(statement)
        (written,) = call.expressions
        kinds = [token.token_type for token in statement.tokens]
        known = {**self._variables, **variables}
        body = _NameWriter(
            statement, kinds.index(TokenType.ARROW) + 1, len(kinds) - 1, self._columns, known
        ).whole(written.this)
        return f"lambdafunction({', '.join([body, *[shown.VARIABLE] * len(variables)])})"

    def _variables_of(self, word: str, node: Node, at: int, names: Sequence[str]) -> dict[str, Typed]:
        """The variables of the lambda that is an argument of a function, with the types that they get."""
        called = lambdas.arguments(node)
        over = shown.LAMBDAS.get(word)
        if called is None or over is None:
            raise _unsure()
        kinds = [self._kind(one) for one in called[1] if not isinstance(one, exp.Lambda)]
        if over == "entry":
            given = [kinds[0].key_type, kinds[0].item_type]
        elif over == "sum":
            given = [kinds[1], kinds[0].value_type] if at == 2 else [kinds[1]]
        else:
            given = [kind.value_type for kind in kinds]
            given += [] if over == "items" else [pa.int32()]
        if len(names) > len(given):
            raise _unsure()
        first = -1 - len(self._variables)
        return {
            name.lower(): Typed(Column(first, place), kind)
            for place, (name, kind) in enumerate(zip(names, given, strict=False))
        }

    def _arguments(self, opening: int, close: int) -> Iterator[str]:
        """The texts between the commas of a call."""
        tokens, depths = self._statement.tokens, self._statement.depths
        first = opening + 1
        for at in range(first, close + 1):
            comma = tokens[at].token_type is TokenType.COMMA and depths[at] == depths[opening] + 1
            if first < close and (comma or at == close):
                if at == first:
                    raise _unsure()
                yield self._statement.text(first, at)
                first = at + 1


def _only_item(statement: Statement) -> Node:
    items: list[Node] = statement.tree.expressions
    if filled(statement.tree) != {"expressions"} or len(items) != 1 or isinstance(items[0], exp.Alias):
        raise _unsure()
    return items[0]


def _interval(node: Node) -> str:
    """An interval of one unit, with the digits that Spark shows."""
    written = node.args.get("unit")
    unit = (
        shown.UNITS.get(str(written.name).upper().removesuffix("S")) if isinstance(written, exp.Var) else None
    )
    if unit is None or not isinstance(node.this, exp.Literal) or not node.this.name.isdecimal():
        raise _unsure()
    name, times, digits = unit
    return f"INTERVAL '{int(node.this.name) * times:0{digits}}' {name}"


def _is_decimal(node: Node) -> bool:
    bare = node.this if isinstance(node, exp.Neg) else node
    return isinstance(bare, exp.Literal) and not bare.is_string and "." in bare.name


def _is_call(statement: Statement, at: int) -> bool:
    token, after = statement.tokens[at : at + 2]
    word = token.text[:1].isalpha() or token.text[:1] == "_"
    before = statement.tokens[at - 1].token_type if at else None
    if before in {TokenType.ALIAS, TokenType.DCOLON}:
        return False  # the type of a cast
    return word and after.token_type is TokenType.L_PAREN and token.token_type not in _NO_CALLS
