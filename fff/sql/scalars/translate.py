"""Nodes of the syntax tree as typed engine expressions."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol

from fff.dataflow.plan.expressions import And, Compare, Expr, IsNull, Literal, Not, Operator, Or
from fff.schema import ArrowType, arrow_type
from fff.sql.binder.names import Scope, parts_of, resolve
from fff.sql.scalars import coercion, words
from fff.sql.scalars.coercion import BINARY, BOOLEAN, DOUBLE, INT, LONG, STRING, VOID, cast, common
from fff.sql.scalars.collections import functions as collections
from fff.sql.scalars.collections import lambdas, makers
from fff.sql.scalars.functions import applied, implicit
from fff.sql.scalars.numbers import decimal_type, number, with_suffix
from fff.sql.scalars.operators import arithmetic, bitwise, shifted, signed
from fff.sql.scalars.patterns import counted, extracted, like, rlike, split, substituted
from fff.sql.scalars.quantities import intervals
from fff.sql.scalars.typed import LeftToSparkError, Typed, call
from fff.sql.scalars.written.collated import collated
from fff.sql.scalars.written.moments import OF_UNITS, PATTERNED, of_units, part_of_second, patterned
from fff.sql.scalars.written.table import NODES, called
from fff.sql.syntax.grammar import Positive
from fff.sql.syntax.literals import constant_of
from fff.sql.syntax.parameters.param_types import BigInt
from fff.sql.syntax.statement import Node, Statement, exp, identifier_span
from fff.structs import Struct


class Conditions(lambdas.Among, Protocol):
    """What turns conditions into engine expressions."""

    def compared(self, operator: Operator, left: Node, right: Node) -> Expr:
        """A comparison of two expressions."""


class Scalars(Struct, frozen=True):
    """Turns value expressions of one scope into typed engine expressions."""

    statement: Statement
    scope: Scope
    conditions: Conditions

    def value(self, node: Node) -> Typed:
        """The engine's form of an expression.

        Raises:
            LeftToSparkError: it has none that is proven equal to Spark's own evaluation.
            QueryError: an unknown or ambiguous name.
        """
        node = node.unnest()
        if isinstance(node, exp.Column | exp.Literal):
            check_depth(node)
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Identifier) and node.name.lower() in self.conditions.variables:
            return self.conditions.variables[node.name.lower()]
        literal = self._literal(node)
        if literal is not None:
            return literal
        if isinstance(node, exp.Interval):
            return intervals.literal(node)
        if name := words.OPERATORS.get(type(node)):
            return arithmetic(name, self.value(node.this), self.value(node.expression))
        if name := words.TRIED.get(type(node)):
            return arithmetic(name, self.value(node.this), self.value(node.expression), tries=True)
        if name := words.BITWISE.get(type(node)):
            return bitwise(name, self.value(node.this), self.value(node.expression))
        if isinstance(node, exp.BitwiseNot):
            return bitwise("bit_not", self.value(node.this))
        if name := words.SHIFTS.get(type(node)):
            return shifted(name, self.value(node.this), self.value(node.expression))
        if isinstance(node, exp.Neg):
            inner = node.this
            suffixed = with_suffix(inner, minus=True) if isinstance(inner, exp.Cast) else None
            return suffixed or signed("negative", self.value(inner))
        if isinstance(node, exp.Negative):
            return signed("negative", self.value(node.this))
        if isinstance(node, Positive):
            return _by_zero("positive", self.value(node.this))
        if isinstance(node, exp.Abs):
            return signed("abs", self.value(node.this))
        if isinstance(node, exp.Case | exp.If):
            return self._case(node)
        if isinstance(node, exp.Coalesce):
            items, kind = common([self.value(item) for item in (node.this, *node.expressions)])
            return call("coalesce", items, kind)
        if isinstance(node, exp.Nullif):
            item = self.value(node.this)
            equal = self.conditions.compared("=", node.this, node.expression)
            return call("case", [Typed(equal, BOOLEAN), cast(_null(), item.type), item], item.type)
        if isinstance(node, exp.Collate):
            return collated(node, self.value)
        if isinstance(node, exp.DecodeCase):
            return self._decoded(node)
        if isinstance(node, exp.Nvl2):
            not_null = Not(IsNull(self.value(node.this).expr))
            values, kind = common([self.value(node.args["true"]), self.value(node.args["false"])])
            return call("case", [Typed(not_null, BOOLEAN), *values], kind)
        if isinstance(node, OF_UNITS) or (isinstance(node, exp.DateDiff) and node.args.get("unit")):
            return of_units(self.statement, node, self.value)
        if (made := self._collection(node)) is not None:
            return made
        if isinstance(node, exp.StrPosition) and node.args.get("position") is not None:
            return self._place(node)
        if shape := words.CALLS.get(type(node)) or NODES.get(type(node)):
            return called(shape[0], self._arguments(node, shape[1]))
        if isinstance(node, exp.Log) and (name := words.logarithm(self.statement, node)) is not None:
            sides = (node.this, node.expression)
            return applied(name, [self.value(one) for one in sides[name != "log" :]])
        if isinstance(node, exp.Anonymous):
            return self._named(node)
        if isinstance(node, exp.Cast | exp.TryCast):
            return self._cast(node)
        if isinstance(node, exp.Like | exp.ILike | exp.Escape | exp.RegexpLike):
            return self._pattern(node)
        if isinstance(node, exp.DPipe):
            return applied("concat", [self.value(node.this), self.value(node.expression)])
        if isinstance(node, exp.Concat | exp.ConcatWs):
            items = [self.value(item) for item in node.expressions]
            if isinstance(node, exp.ConcatWs):
                return collections.with_separator(items) or called("concat_ws", items)
            return called("concat", items)
        if isinstance(node, exp.Initcap):  # with what the parser takes for its separators
            return applied("initcap", [self.value(node.this)])
        if isinstance(node, exp.Greatest | exp.Least):
            items = [self.value(item) for item in (node.this, *node.expressions)]
            texts = [item.type == coercion.STRING for item in items]
            if any(texts) and not all(texts):
                raise LeftToSparkError("texts among others")  # most of which Spark refuses
            return applied("greatest" if isinstance(node, exp.Greatest) else "least", items)
        if isinstance(node, exp.Bracket):
            return makers.element(node, self.value)
        if isinstance(node, exp.Dot):
            return makers.member(self.value(node.this), node.expression.name)
        if isinstance(node, exp.Trim):
            name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")), "trim")
            return applied(name, self._arguments(node, ("this", "expression")))
        if isinstance(node, exp.Pad):
            name = "lpad" if node.args.get("is_left") else "rpad"
            return called(name, self._arguments(node, ("this", "expression", "fill_pattern")))
        if isinstance(node, exp.TsOrDsToDate) and node.this is not None and not node.args.get("format"):
            return self._date(self.value(node.this))
        if isinstance(node, PATTERNED) or (isinstance(node, exp.TsOrDsToDate) and node.this is not None):
            return patterned(self.statement, node, self.value)
        if isinstance(node, exp.TsOrDsAdd):
            return self._days_added(node)
        if isinstance(node, exp.DateTrunc | exp.TimestampTrunc):
            return self._truncated(node)
        if isinstance(node, exp.Extract):
            return self._part(node.this.name, self.value(node.expression))
        if isinstance(node, exp.RegexpExtract | exp.RegexpReplace | exp.RegexpSplit | exp.RegexpCount):
            return self._regular(node)
        if isinstance(node, exp.IsNan):
            number = self.value(node.this)
            if not coercion.is_float(number.type):
                raise LeftToSparkError(f"isnan({coercion.type_name(number.type)})")
            return call("isnan", [number], BOOLEAN)
        if isinstance(node, exp.EqualNull):
            return Typed(self.conditions.compared("<=>", node.this, node.expression), BOOLEAN)
        if isinstance(node, exp.NextDay):
            return self._next_day(node)
        if isinstance(node, words.CONDITIONS):
            return Typed(self.conditions.expression(node), BOOLEAN)
        raise LeftToSparkError(words.describe(node))

    def _collection(self, node: Node) -> Typed | None:
        """An array, a map or a struct, and functions of them."""
        if isinstance(node, exp.Array):
            return makers.array([self.value(item) for item in node.expressions])
        if isinstance(node, exp.VarMap):
            return makers.made_map(node, self.value)
        if isinstance(node, exp.Struct | exp.Tuple):
            return makers.struct(node, self.value)
        if isinstance(node, exp.ArraysZip):
            return makers.zipped(node, self.value)
        if isinstance(node, exp.ArraySort) and node.args.get("expression") is None:
            order = node.args.get("asc")
            if order is not None and not isinstance(order, exp.Boolean):
                raise LeftToSparkError("sort_array(…) in a computed order")
            down = order is not None and not order.this
            first = bool(node.args["nulls_first"].this) if order is None else not down
            return collections.sorted_array(self.value(node.this), descending=down, nulls_first=first)
        if (shape := lambdas.arguments(node)) is not None:
            return lambdas.applied(*shape, self.conditions)
        if (shape := collections.arguments(node)) is not None:
            return collections.applied(shape[0], [self.value(item) for item in shape[1]])
        return None

    def _part(self, name: str, moment: Typed) -> Typed:
        if intervals.is_interval(moment.type):
            return intervals.part(name, moment)
        if part := words.PARTS.get(name.upper()):
            return applied(part, [moment])
        if part := words.MORE_PARTS.get(name.upper()):
            return call(part, [self._date(moment)], INT)
        if name.upper() in words.SECONDS:
            return part_of_second(moment)
        raise LeftToSparkError(f"extract({name} …)")

    def _regular(self, node: Node) -> Typed:
        """Functions of a text and a regular expression."""
        text, pattern = (
            implicit("a pattern", self.value(one), STRING) for one in (node.this, node.expression)
        )
        if isinstance(node, exp.RegexpExtract):
            self._arguments(node, ("this", "expression", "group"))
            group = node.args.get("group")
            return extracted(text, pattern, _one() if group is None else self.value(group))
        if isinstance(node, exp.RegexpReplace):
            self._arguments(node, ("this", "expression", "replacement"))
            by = node.args.get("replacement")
            if by is None:
                raise LeftToSparkError("regexp_replace(…) with two arguments")
            return substituted(text, pattern, implicit("regexp_replace", self.value(by), STRING))
        if isinstance(node, exp.RegexpCount):
            self._arguments(node, ("this", "expression"))
            return counted(text, pattern)
        self._arguments(node, ("this", "expression", "limit"))
        limit = node.args.get("limit")
        return split(text, pattern, None if limit is None else self.value(limit))

    def _place(self, node: Node) -> Typed:
        """`locate` from a place on, of which NULL is before all; to `instr` places say other things."""
        word = identifier_span(node)
        if word is not None and self.statement.text_at(word).lower() == "instr":
            raise LeftToSparkError("instr(…) from a place on")
        args = self._arguments(node, ("this", "substr", "position"))
        text, search, start = (
            implicit("locate", one, kind) for one, kind in zip(args, (STRING, STRING, INT), strict=True)
        )
        if start.expr == Literal(None, INT):
            return Typed(Literal(0, INT), INT)
        return applied("instr", [text, search, start])

    def _next_day(self, node: Node) -> Typed:
        name = self.value(node.expression)
        word = str(name.expr.value).upper() if isinstance(name.expr, Literal) else ""
        place = next((place for place, words in enumerate(words.DAY_WORDS) if word in words.split()), None)
        if place is None:
            raise LeftToSparkError("next_day(…) of this day")
        return applied("next_day", [self._date(self.value(node.this)), Typed(Literal(place, INT), INT)])

    def _named(self, node: Node) -> Typed:
        name, args = node.name.lower(), [self.value(item) for item in node.expressions]
        if name in words.CAST_NAMES and len(args) == 1:
            return self._to(args[0], "decimal(10,0)" if name == "decimal" else name)
        if name == "regexp" and len(args) == 2:
            return rlike(*(implicit("regexp", arg, STRING) for arg in args))
        if name in {"date_part", "datepart"} and len(args) == 2 and isinstance(args[0].expr, Literal):
            return self._part(str(args[0].expr.value), args[1])
        if name in {"make_dt_interval", "make_ym_interval"}:
            return intervals.made(name, args)
        if name in {"positive", "zeroifnull", "nullifzero"} and len(args) == 1:
            return _by_zero(name, args[0])
        if name == "pmod" and len(args) == 2:
            return arithmetic("pmod", *args)
        if name == "try_mod" and len(args) == 2:
            return arithmetic("remainder", *args, tries=True)
        if name == "isnull" and len(args) == 1:
            return Typed(IsNull(args[0].expr), BOOLEAN)
        if name == "isnotnull" and len(args) == 1:
            return Typed(Not(IsNull(args[0].expr)), BOOLEAN)
        return called(name, args)

    def _cast(self, node: Node) -> Typed:
        tries = isinstance(node, exp.TryCast) and bool(node.args.get("safe"))
        written = node.args["to"].sql("spark").lower()
        is_number = isinstance(node.this, exp.Literal) and not node.this.is_string
        if (suffixed := with_suffix(node)) is not None:
            return suffixed
        if is_number and written in {"float", "double"} and constant_of(self.statement, node) is None:
            raise LeftToSparkError("a number with a suffix")  # or a cast: the parser shows both alike
        if written == "timestamp" and words.TIME.search(self.statement.sql):
            raise LeftToSparkError("a time of day")
        return self._to(self.value(node.this), written, tries=tries)

    def _to(self, one: Typed, written: str, *, tries: bool = False) -> Typed:
        if written.startswith("interval ") and not tries and not intervals.is_interval(one.type):
            return intervals.of_number(one, written)
        try:
            kind = arrow_type(written)
        except ValueError:
            raise LeftToSparkError(f"casts to {written}") from None
        if "char" in written:
            raise LeftToSparkError(f"casts to {written}")
        if intervals.is_interval(one.type) and not tries and coercion.is_number(kind):
            return intervals.as_number(one, kind)
        return cast(one, kind, tries=tries)

    def _pattern(self, node: Node) -> Typed:
        escape = "\\"
        if isinstance(node, exp.Escape):
            constant = constant_of(self.statement, node.expression)
            escape, node = "" if constant is None else str(constant.value), node.this
            some = isinstance(node.expression, exp.Any | exp.All)  # of which Spark says no ESCAPE
            if len(escape) != 1 or some or not isinstance(node, exp.Like | exp.ILike):
                raise LeftToSparkError("LIKE with this ESCAPE")
        text, right, listed = (
            implicit("LIKE", self.value(node.this), STRING),
            node.expression,
            [node.expression],
        )
        if isinstance(right, exp.Any | exp.All):
            several = right.this.unnest()
            listed = several.expressions if isinstance(several, exp.Tuple) else [several]
        matches = tuple(self._matches(node, text, one, escape) for one in listed)
        whole = And(matches) if isinstance(right, exp.All) else Or(matches)
        return Typed(matches[0] if len(matches) == 1 else whole, BOOLEAN)

    def _matches(self, node: Node, text: Typed, right: Node, escape: str) -> Expr:
        pattern = implicit("LIKE", self.value(right), STRING)
        if isinstance(node, exp.RegexpLike):
            match = rlike(text, pattern)
        elif isinstance(node, exp.ILike):
            match = like(call("lower", [text], STRING), call("lower", [pattern], STRING), escape)
        else:
            match = like(text, pattern, escape)
        return Not(match.expr) if node.args.get("negate") else match.expr

    def _date(self, one: Typed) -> Typed:
        if one.type == STRING or coercion.is_moment(one.type):
            return self._to(one, "date")
        return implicit("a date", one, coercion.DATE)

    def _days_added(self, node: Node) -> Typed:
        """`date_add`, and `date_sub`, which the parser shows as one of a product with -1."""
        count = node.expression
        name = "date_add"
        if isinstance(count, exp.Mul) and isinstance(count.expression, exp.Neg):
            name, count = "date_sub", count.this
            if not isinstance(count.unnest(), exp.Literal):
                raise LeftToSparkError("date_sub(…) of computed days")
        if node.args["unit"].name != "DAY":
            raise LeftToSparkError("date_add(…)")
        return applied(name, [self._date(self.value(node.this)), self.value(count)])

    def _truncated(self, node: Node) -> Typed:
        if not words.units_are_texts(self.statement):
            raise LeftToSparkError("trunc(…) to a computed unit")
        unit, value = node.args["unit"].name.upper(), self.value(node.this)
        cut = words.UNITS.get(unit)
        if isinstance(node, exp.DateTrunc):
            if cut is None:
                raise LeftToSparkError("trunc(…) to this unit")
            return applied("trunc", [self._date(value), Typed(Literal(cut, STRING), STRING)])
        if cut is None and unit not in words.CLOCK_UNITS:
            raise LeftToSparkError("date_trunc(…) to this unit")
        return applied("date_trunc", [value, Typed(Literal(cut or unit, STRING), STRING)])

    def _arguments(self, node: Node, names: Sequence[str]) -> list[Typed]:
        operands = [node.args.get(name) for name in names]
        others = {name for name, part in node.args.items() if isinstance(part, exp.Expression)} - set(names)
        if others:
            raise LeftToSparkError(words.describe(node))
        listed = [one for item in operands for one in (item if isinstance(item, list) else [item])]
        return [self.value(item) for item in listed if item is not None]

    def _column(self, node: Node) -> Typed:
        if isinstance(node.this, exp.Star) or parts_of(node)[0].name.lower() in self.conditions.variables:
            raise LeftToSparkError(words.describe(node))
        reference = resolve(self.statement, node, self.scope)
        typed = Typed(reference.column, self.scope.field(reference.column).arrow)
        for part in reference.parts[reference.qualifiers + 1 :]:
            typed = makers.member(typed, part.name)
        return typed

    def _literal(self, node: Node) -> Typed | None:
        """A constant as it is written, of the type that Spark reads it with."""
        if isinstance(node, exp.Literal) and not node.is_string:
            return number(node.name)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
            return number(f"-{node.this.name}")
        if isinstance(node, exp.HexString):
            digits = node.name
            return Typed(Literal(bytes.fromhex("0" * (len(digits) % 2) + digits), BINARY), BINARY)
        if isinstance(node, exp.Interval | exp.Add | exp.Sub | exp.Mul):
            return None
        constant = constant_of(self.statement, node)
        if constant is None:
            return None
        if constant.kind == "integer":
            if not isinstance(node, exp.Placeholder):
                return None  # a suffix, or a cast
            if isinstance(self.statement.params[node.name], BigInt):
                return Typed(Literal(constant.value, LONG), LONG, literal=True)
            return number(str(constant.value))
        if constant.kind == "decimal":
            assert isinstance(constant.value, Decimal)
            return Typed(Literal(constant.value, decimal_type(constant.value)), decimal_type(constant.value))
        kind = _KINDS[constant.kind]
        if (
            constant.kind == "double"
            and isinstance(node, exp.Cast)
            and node.args["to"].this is exp.DType.FLOAT
        ):
            kind = coercion.FLOAT
        return Typed(Literal(constant.value, kind), kind) if kind is not None else None

    def _decoded(self, node: Node) -> Typed:
        """`decode(x, 1, 'one', …)`: the first value whose constant is that of `x`, NULL being equal to NULL."""
        one, *rest = node.expressions
        pairs, other = rest[: len(rest) // 2 * 2], rest[len(rest) // 2 * 2 :]
        none = Typed(Literal(None, STRING), STRING)  # which Spark puts where no default is
        values, kind = common([*map(self.value, pairs[1::2]), self.value(other[0]) if other else none])
        values = values if other else [*values[:-1], cast(_null(), kind)]
        asked = [Typed(self.conditions.compared("<=>", one, each), BOOLEAN) for each in pairs[::2]]
        args = [part for pair in zip(asked, values, strict=False) for part in pair]
        return call("case", [*args, values[-1]], kind)

    def _case(self, node: Node) -> Typed:
        parts = node.args["ifs"] if isinstance(node, exp.Case) else [node]
        conditions = []
        for part in parts:
            if isinstance(node, exp.Case) and node.this is not None:
                asked = self.conditions.compared("=", node.this, part.this)
            else:
                asked = self.conditions.expression(part.this)
                if isinstance(node, exp.Case) and asked == Literal(None, BOOLEAN):
                    raise LeftToSparkError("CASE WHEN NULL")  # which Spark refuses
            conditions.append(Typed(asked, BOOLEAN))
        rest = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
        values = [self.value(part.args["true"]) for part in parts]
        values, kind = common([*values, _null() if rest is None else self.value(rest)])
        args = [one for pair in zip(conditions, values, strict=False) for one in pair]
        return call("case", [*args, values[-1]], kind)


def check_depth(node: Node) -> None:
    """Raises LeftToSparkError inside of operators in operators of which Python could not evaluate all, one calling the next."""
    around, depth = node.parent, 0
    while around is not None and not isinstance(around, exp.And | exp.Or | exp.Query):
        around, depth = around.parent, depth + 1
        if depth > _DEEPEST:
            raise LeftToSparkError("operators that stand too deeply in one another")


_DEEPEST = 200
_KINDS: dict[str, ArrowType | None] = {
    "null": VOID,
    "boolean": BOOLEAN,
    "double": DOUBLE,
    "string": STRING,
    "date": coercion.DATE,
    "timestamp": coercion.TIMESTAMP,
    "timestamp_ntz": coercion.NAIVE,
}


def _by_zero(name: str, one: Typed) -> Typed:
    if not coercion.is_number(one.type) and one.type != STRING:
        raise LeftToSparkError(f"{name}({coercion.type_name(one.type)})")
    if name == "positive":
        return cast(one, DOUBLE) if one.type == STRING else Typed(one.expr, one.type)
    zero = Typed(Literal(0, INT), INT, literal=True)
    if name == "zeroifnull":
        items, kind = common([one, zero])
        return call("coalesce", items, kind)
    (left, right), _ = common([one, zero])
    equal = Compare("=", left.expr, right.expr)
    return call("case", [Typed(equal, BOOLEAN), cast(_null(), one.type), one], one.type)


def _one() -> Typed:
    return Typed(Literal(1, INT), INT)


def _null() -> Typed:
    return Typed(Literal(None, VOID), VOID)
