"""Which conjuncts the engine can evaluate exactly as Spark does, and their translation.

Columns in the result are declared columns (see `fff.sql.binder.names`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import cast

import pyarrow as pa

from fff.dataflow.plan.expressions import (
    And,
    Column,
    Compare,
    Expr,
    FunctionCall,
    InList,
    IsNull,
    Lambda,
    Literal,
    Not,
    Operator,
    Or,
    columns_of,
    evaluate,
)
from fff.errors import InvariantError, QueryError
from fff.schema import ArrowType, comparison_kind
from fff.sql.binder.names import Scope, resolve
from fff.sql.scalars.coercion import (
    BINARY,
    BOOLEAN,
    DURATION,
    INT,
    MONTHS,
    STRING,
    VOID,
    common,
    is_decimal,
    is_float,
    is_integer,
    type_name,
)
from fff.sql.scalars.coercion import cast as cast_to
from fff.sql.scalars.collections.functions import check_compared, has_part
from fff.sql.scalars.naming.names import Columns
from fff.sql.scalars.quantities import intervals
from fff.sql.scalars.translate import Scalars, check_depth
from fff.sql.scalars.typed import COLLATED, LeftToSparkError, Typed, call, folded
from fff.sql.scalars.words import describe
from fff.sql.scalars.written.collated import alike
from fff.sql.syntax.literals import (
    Constant,
    NoSuchValueError,
    NotExactError,
    back_cast,
    constant_of,
    convert,
    fits,
)
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.statement import Node, Statement, exp, operands
from fff.structs import Struct, field, replace

_OPERATORS: dict[type[Node], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
#: Types without a comparison of their own in the core, beside nested ones.
_RANKED = (BINARY, DURATION, MONTHS)
_MIRRORED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Translator(Struct, frozen=True):
    """Turns conditions of one scope into engine expressions."""

    statement: Statement
    scope: Scope
    variables: Mapping[str, Typed] = field(default_factory=dict)

    def among(self, variables: Mapping[str, Typed]) -> Translator:
        """The same inside a lambda, with the variables of all lambdas around."""
        return replace(self, variables=variables)

    def expression(self, node: Node) -> Expr:
        """The engine's form of a condition.

        Raises:
            LeftToSparkError: it has none that is proven equal to Spark's own evaluation.
            QueryError: an unknown or ambiguous name.
        """
        node = node.unnest()
        if isinstance(node, exp.And | exp.Or):
            items = tuple(self.expression(part) for part in operands(node))
            return And(items) if isinstance(node, exp.And) else _either(items)
        if isinstance(node, exp.Not):
            check_depth(node)
            return Not(self.expression(node.this))
        if isinstance(node, exp.NullSafeNEQ):
            return Not(self.compared("<=>", node.this, node.expression))
        if operator := _OPERATORS.get(type(node)):
            return self.compared(operator, node.this, node.expression)
        if isinstance(node, exp.Between):
            if node.args.get("symmetric"):
                raise LeftToSparkError("BETWEEN SYMMETRIC")
            return And(
                (
                    self.compared(">=", node.this, node.args["low"]),
                    self.compared("<=", node.this, node.args["high"]),
                )
            )
        if isinstance(node, exp.In):
            return self._in_list(node)
        if isinstance(node, exp.Is):
            return self._is(node)
        typed = self.value(node)
        if typed.type == VOID:
            return Literal(None, BOOLEAN)
        if typed.type != BOOLEAN:
            raise LeftToSparkError("not a Boolean column" if isinstance(node, exp.Column) else describe(node))
        return typed.expr

    def value(self, node: Node) -> Typed:
        """The engine's form of an expression of any type, and that type.

        Raises:
            LeftToSparkError: it has none that is proven equal to Spark's own evaluation.
            QueryError: an unknown or ambiguous name.
        """
        typed = self.operand(node)
        if typed.type in COLLATED:
            raise LeftToSparkError("a text of a collation")
        return typed

    def operand(self, node: Node) -> Typed:
        """As `value`, of a part of another expression: a text of a collation as well."""
        return Scalars(self.statement, self.scope, self).value(node)

    def _is(self, node: Node) -> Expr:
        right = node.expression
        if isinstance(right, exp.Null):
            item = self.value(node.this)
            if item.type != BOOLEAN and any(
                token.text.upper() == "UNKNOWN" for token in self.statement.tokens
            ):
                raise LeftToSparkError("IS UNKNOWN")  # which the parser shows as IS NULL
            return folded(IsNull(item.expr), BOOLEAN)
        if isinstance(right, exp.Boolean):
            return self.compared("<=>", node.this, right)
        raise LeftToSparkError("this form of IS")

    def _in_list(self, node: Node) -> Expr:
        items = node.args.get("expressions") or ()
        if not items or set(node.args) - {"this", "expressions"}:
            raise LeftToSparkError("IN with something other than values")
        if isinstance(node.this.unnest(), exp.Tuple):
            return _any_of([self._same_row(node.this, item) for item in items])
        values = [self.value(item) for item in (node.this, *items)]
        exact = self._exact_list(node.this, items)
        if exact is not None:
            return exact
        equal = [_ranked("=", [values[0], one]) for one in values[1:]]
        if any(one is not None for one in equal):
            if None in equal or any(value.may_fail for value in values):
                raise LeftToSparkError("IN with values of several types")
            return _any_of([one for one in equal if one is not None])
        (item, *listed), kind = _alike(values)
        if all(isinstance(one.expr, Literal) for one in listed):
            constants = tuple(one.expr.value for one in listed if isinstance(one.expr, Literal))
            return folded(self._uncast(InList(item.expr, constants, kind)), BOOLEAN)
        return _either([Compare("=", item.expr, one.expr) for one in listed])

    def _exact_list(self, node: Node, items: Sequence[Node]) -> Expr | None:
        """A column IN constants that are, or come to, values of its own type."""
        column = self._column(node)
        if column is None:
            return None
        constants = [self._constant(item) for item in items]
        known = [constant for constant in constants if constant is not None]
        kinds = {constant.kind == "string" for constant in known if constant.kind != "null"}
        if len(known) < len(constants) or len(kinds) > 1:
            return None
        try:
            values = tuple(convert(constant, self._type(column)) for constant in known)
        except NotExactError:
            return None
        return InList(column, values, self._type(column))

    def compared(self, operator: Operator, left: Node, right: Node) -> Expr:
        """A comparison of two expressions; of a column and a constant as value of its type where that means the same.

        Raises:
            LeftToSparkError: as `expression`.
            QueryError: as `expression`.
        """
        if operator == "=" and isinstance(left.unnest(), exp.Tuple):
            return self._same_row(left, right)
        mirrored: Operator = _MIRRORED.get(operator, operator)
        for one, other, says in ((left, right, operator), (right, left, mirrored)):
            column, constant = self._column(one), self._constant(other)
            if column is not None and constant is not None:
                with suppress(NotExactError):
                    value = convert(constant, self._type(column))
                    return Compare(says, column, Literal(value, self._type(column)))
        # In the order they are written: behind a NULL nothing is evaluated, and so nothing fails.
        values = alike([self.operand(left), self.operand(right)])
        if (ranked := _ranked(operator, values)) is not None:
            return ranked
        if all(is_integer(value.type) and isinstance(value.expr, Column) for value in values):  # of any width
            return folded(Compare(operator, values[0].expr, values[1].expr), BOOLEAN)
        sides, kind = _alike(values)
        if is_integer(kind) and not any(isinstance(side.expr, Literal) for side in sides):  # of any width
            sides = [self._unwidened(side) for side in sides]
        if isinstance(sides[0].expr, Literal) and not sides[1].may_fail:
            sides, operator = sides[::-1], mirrored
        return folded(self._uncast(Compare(operator, sides[0].expr, sides[1].expr)), BOOLEAN)

    def _same_row(self, left: Node, right: Node) -> Expr:
        """`(a, b) = (1, 'x')`, and as a member of an IN list: structs, which Spark compares only where all types are the same.

        No NULL comes of it: in structs NULL equals NULL.
        """
        one, other = left.unnest(), right.unnest()
        if not isinstance(other, exp.Tuple) or len(one.expressions) != len(other.expressions):
            raise LeftToSparkError("compares rows of different lengths")
        equal = []
        for pair in zip(one.expressions, other.expressions, strict=True):
            sides = [self.value(side) for side in pair]
            if sides[0].type != sides[1].type:
                kinds = " with ".join(type_name(side.type) for side in sides)
                raise LeftToSparkError(f"compares {kinds}: in rows both have to be of one type")
            if comparison_kind(sides[0].type) is None or is_float(sides[0].type):
                raise LeftToSparkError(f"compares rows with {type_name(sides[0].type)}")
            if any(side.may_fail for side in sides):
                raise LeftToSparkError("compares rows with a value that may fail")
            equal.append(Compare("<=>", sides[0].expr, sides[1].expr))
        return And(tuple(equal))

    def _uncast(self, expr: Compare | InList) -> Expr:
        """A comparison of a column as another type with constants, as one in its own type, where that says the same.

        So of a text cut to a length with constants that are shorter: the whole text compares with them as its start does.
        """
        match expr:
            case Compare(left=FunctionCall(name="left") as cut, right=Literal(value=one)) if _above(
                cut, [one]
            ):
                return self._uncast(replace(expr, left=cut.args[0]))
            case InList(item=FunctionCall(name="left") as cut, values=values) if _above(cut, values):
                return self._uncast(replace(expr, item=cut.args[0]))
            case Compare(
                op=op,
                left=FunctionCall(name="cast", args=(Column() as column,), fails=False),
                right=Literal() as one,
            ):
                kind = self._type(column)
                bound = _whole_bound(op, one.value) if is_integer(kind) else None
                if bound is not None and fits(bound[1], kind):
                    return Compare(bound[0], column, Literal(bound[1], kind))
                try:
                    return Compare(op, column, Literal(back_cast(one.value, one.type, kind), kind))
                except NoSuchValueError:
                    return InList(column, (), kind) if op == "=" else expr
                except NotExactError:
                    return expr
            case InList(
                item=FunctionCall(name="cast", args=(Column() as column,), fails=False),
                values=values,
                type=compared_type,
            ):
                kind, narrowed = self._type(column), []
                for value in values:
                    try:
                        narrowed.append(back_cast(value, compared_type, kind))
                    except NoSuchValueError:
                        continue
                    except NotExactError:
                        return expr
                return InList(column, tuple(narrowed), kind)
        return expr

    def _unwidened(self, value: Typed) -> Typed:
        """A column of whole numbers as it was before a cast to wider ones."""
        match value.expr:
            case FunctionCall(name="cast", args=(Column() as column,)) if is_integer(self._type(column)):
                return value if value.may_fail else replace(value, expr=column)
        return value

    def _constant(self, node: Node) -> Constant | None:
        return constant_of(self.statement, node)

    def _column(self, node: Node) -> Column | None:
        """The column that a node plainly is."""
        node = node.unnest()
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return None
        reference = resolve(self.statement, node, self.scope)
        return None if reference.has_fields else reference.column

    def _type(self, column: Column) -> ArrowType:
        """Of a column, or of a variable of a lambda."""
        variable = next((one for one in self.variables.values() if one.expr == column), None)
        return self.scope.field(column).arrow if variable is None else variable.type


def _whole_bound(op: Operator, value: object) -> tuple[Operator, int] | None:
    """What a bound with a fraction is to whole numbers: `> 27.5` is `>= 28`. None for any other."""
    if not isinstance(value, float | Decimal) or not math.isfinite(value) or value == int(value):
        return None
    bounds: Mapping[str, tuple[Operator, int]] = {
        **dict.fromkeys((">", ">="), (">=", math.ceil(value))),
        **dict.fromkeys(("<", "<="), ("<=", math.floor(value))),
    }
    return bounds.get(op)


def _above(cut: FunctionCall, values: Sequence[object]) -> bool:
    """Whether the length to which `left` cuts is known, and above those of all texts."""
    length = cut.args[1].value if isinstance(cut.args[1], Literal) else None
    return isinstance(length, int) and all(value is None or len(str(value)) < length for value in values)


def _alike(values: Sequence[Typed]) -> tuple[list[Typed], ArrowType]:
    """Values to compare, as those of a type that the engine compares."""
    if any(is_integer(value.type) for value in values) and any(map(_beyond_integers, values)):
        raise LeftToSparkError("a number that no integer comes near")  # where Spark lets NULLs pass
    with suppress(LeftToSparkError):
        sides, kind = common(values)
        if kind == VOID:  # of NULLs alone
            return [cast_to(side, BOOLEAN) for side in sides], BOOLEAN
        if comparison_kind(kind) is not None:
            return sides, kind
    raise LeftToSparkError(f"compares {' with '.join(type_name(value.type) for value in values[:2])}")


def _ranked(operator: Operator, values: Sequence[Typed]) -> Expr | None:
    """A comparison of arrays, structs, bytes or intervals: by their ranks among each other."""
    known = [value.type for value in values if value.type != VOID]
    if not any(pa.types.is_nested(kind) or kind in _RANKED for kind in known) or len(known) < len(values):
        return None
    sides, kind = common(values)
    check_compared("a comparison", kind, floats=True)
    # Inside others Spark compares decimals of one type alone.
    if len(set(known)) > 1 and has_part(kind, is_decimal):
        raise LeftToSparkError(f"compares {' with '.join(map(type_name, known))}")
    if kind == MONTHS:
        months = [intervals.count_of(side) for side in sides]
        if None in months:
            raise LeftToSparkError("compares intervals of computed months")
        return folded(Compare(operator, *(Literal(count, INT) for count in months)), BOOLEAN)
    if operator == "<=>":
        return call("identical", sides, BOOLEAN).expr
    return call("compared", [*sides, Typed(Literal(operator, STRING), STRING)], BOOLEAN).expr


def _any_of(items: Sequence[Expr]) -> Expr:
    return items[0] if len(items) == 1 else Or(tuple(items))


def _beyond_integers(value: Typed) -> bool:
    number = value.expr.value if isinstance(value.expr, Literal) else None
    return isinstance(number, Decimal) and not -(2**63) <= number < 2**63


def columns_in(scope: Scope) -> Columns:
    """What names of results are made of."""

    def kind(statement: Statement, node: Node, variables: Mapping[str, Typed]) -> ArrowType:
        return Translator(statement, scope, variables).operand(node).type

    return Columns(scope, kind)


def constant_truth(expr: Expr) -> bool | None:
    """What an expression without columns says."""
    if columns_of(expr):
        raise InvariantError("not a constant condition")
    return cast("bool | None", evaluate(expr, _no_column, 1)[0].as_py())


def constant_value(text: str) -> object:
    """What the text of an expression without columns and parameters comes to; None where that is not known."""
    with suppress(LeftToSparkError, QueryError):
        statement = parse_statement(f"SELECT {text}")
        (item,) = statement.tree.expressions
        expr = Translator(statement, Scope(), {}).value(item).expr
        return expr.value if isinstance(expr, Literal) else None
    return None


def map_columns(expr: Expr, change: Callable[[Column], Column]) -> Expr:
    """The expression with every column replaced."""
    match expr:
        case Column():
            return change(expr)
        case Compare(left=left, right=right):
            return replace(expr, left=map_columns(left, change), right=map_columns(right, change))
        case InList(item=item) | IsNull(item=item) | Not(item=item):
            return replace(expr, item=map_columns(item, change))
        case And(items=items) | Or(items=items):
            return replace(expr, items=tuple(map_columns(item, change) for item in items))
        case FunctionCall(args=args):
            return replace(expr, args=tuple(map_columns(arg, change) for arg in args))
        case Lambda(variables=own, body=body):
            return replace(expr, body=map_columns(body, lambda one: one if one in own else change(one)))
    return expr


def pinned(expr: Expr) -> tuple[Column, tuple[object, ...]] | None:
    """The column that a conjunct holds to a list of constants, and the constants; NULLs match nothing.

    Every NaN is the same object, so that lists of constants find it in each other.
    """
    match expr:
        case Compare(op="=", left=Column() as column, right=Literal(value=value)) if not _endless(value):
            return column, () if value is None else (_one_nan(value),)
        case Compare(op="<=>", left=Column() as column, right=Literal(value=value)) if value is not None:
            return None if _endless(value) else (column, (_one_nan(value),))
        case InList(item=Column() as column, values=values):
            return column, tuple(dict.fromkeys(_one_nan(value) for value in values if value is not None))
    return None


def _one_nan(value: object) -> object:
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def _endless(value: object) -> bool:
    """An infinity, which no source is asked for."""
    return isinstance(value, float) and math.isinf(value)


def _either(items: Sequence[Expr]) -> Expr:
    """A disjunction; `x = 1 OR x = 2` becomes `x IN (1, 2)`, which means the same and can bind a lookup."""
    values: list[object] = []
    columns: set[Column] = set()
    kinds: list[ArrowType] = []
    for item in items:
        match item:
            case Compare(op="=", left=Column() as column, right=Literal(value=value, type=kind)):
                values.append(value)
            case InList(item=Column() as column, values=several, type=kind):
                values += several
            case _:
                return Or(tuple(items))
        columns.add(column)
        kinds.append(kind)
    return InList(columns.pop(), tuple(values), kinds[0]) if len(columns) == 1 else Or(tuple(items))


def _no_column(column: Column) -> object:
    raise InvariantError(f"{column} in a constant condition")
