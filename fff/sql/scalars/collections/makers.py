"""What makes arrays, maps and structs, and what takes a part of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from fff.dataflow.plan.expressions import Column, Literal
from fff.sql.scalars.coercion import INT, STRING, VOID, common, is_integer
from fff.sql.scalars.collections.functions import array_of, check_compared, of_key
from fff.sql.scalars.typed import LeftToSparkError, Typed, call
from fff.sql.syntax.statement import Node, exp

_Value = Callable[[Node], Typed]


def _alike(what: str, items: Sequence[Typed]) -> tuple[list[Typed], pa.DataType]:
    """Values as values of one type."""
    kinds = {item.type for item in items}
    if STRING in kinds and len(kinds - {VOID}) > 1:
        raise LeftToSparkError(f"{what} of several types")
    return common(items)


def array(items: Sequence[Typed]) -> Typed:
    """`array(…)`."""
    if not items:
        return Typed(Literal([], pa.list_(VOID)), pa.list_(VOID))
    elements, kind = _alike("array(…)", items)
    return call("array", elements, pa.list_(kind))


def made_map(node: Node, value: _Value) -> Typed:
    """`map(…)`."""
    sides = [[value(item) for item in node.args[part].expressions] for part in ("keys", "values")]
    if not sides[0]:
        raise LeftToSparkError("map(…) of nothing")
    (keys, key), (values, item) = (_alike("map(…)", side) for side in sides)
    if key == VOID:
        raise LeftToSparkError("map(…) with NULL as its key")
    check_compared("map(…)", key)
    pairs = [one for pair in zip(keys, values, strict=True) for one in pair]
    fails = not all(isinstance(one.expr, Literal) for one in keys) or len(keys) > 1
    return call("map", pairs, pa.map_(key, item), fails=fails)


def struct(node: Node, value: _Value) -> Typed:
    """`struct(…)`, `named_struct(…)`, and values in brackets."""
    named = []
    for place, item in enumerate(node.expressions, 1):
        if isinstance(item, exp.PropertyEQ):
            unnamed = item.name == f"col{place}" and isinstance(
                item.expression, exp.Dot | exp.Bracket | exp.Paren
            )
            if isinstance(item.expression, exp.Star) or unnamed:  # col1 is the parser's, but of calls
                raise LeftToSparkError("a struct with a field without a name")
            named.append((item.name, value(item.expression)))
        elif isinstance(item, exp.Alias):
            named.append((item.alias, value(item.this)))
        elif isinstance(item, exp.Column | exp.Identifier) and not isinstance(item.this, exp.Star):
            named.append((item.name, value(item)))
        elif isinstance(item, exp.Dot | exp.Star | exp.Bracket | exp.Paren):
            raise LeftToSparkError("a struct with a field without a name")
        else:
            named.append((f"col{place}", value(item)))
    if not named or len({name for name, _ in named}) < len(named):
        raise LeftToSparkError("a struct with a name twice")
    kind = pa.struct([pa.field(name, one.type) for name, one in named])
    return call("struct", [one for _, one in named], kind)


def zipped(node: Node, value: _Value) -> Typed:
    """`arrays_zip(…)`: its fields are named after columns, or numbered."""
    args = [value(item) for item in node.expressions]
    names = []
    for place, item in enumerate(node.expressions):
        if isinstance(item, exp.Dot | exp.Bracket | exp.Alias | exp.Paren):
            raise LeftToSparkError("arrays_zip(…) of an array without a name")
        names.append(item.name if isinstance(item, exp.Column | exp.Identifier) else str(place))
    kinds = [array_of("arrays_zip", one) for one in args]
    if not args or len(set(names)) < len(names) or any(one.may_fail for one in args):
        raise LeftToSparkError("arrays_zip(…)")
    fields = [pa.field(name, kind) for name, kind in zip(names, kinds, strict=True)]
    return call("arrays_zip", args, pa.list_(pa.struct(fields)))


def element(node: Node, value: _Value) -> Typed:
    """An element of an array or a map."""
    if len(node.expressions) != 1:
        raise LeftToSparkError("element_at(…)")
    whole, place = value(node.this), value(node.expressions[0])
    if pa.types.is_list(whole.type) and not _is_known_nullable(whole, place):
        raise LeftToSparkError("an element at a computed place")
    if node.args.get("offset") == 1 and pa.types.is_list(whole.type):
        return _counted(node, whole, place)
    if pa.types.is_list(whole.type) and is_integer(place.type):
        return call("element", [whole, place], whole.type.value_type, fails=True)
    if pa.types.is_map(whole.type):
        if place.type == whole.type.key_type == STRING and isinstance(place.expr, Literal):
            return call("of_key", [whole, place], whole.type.item_type)
        return of_key("of_computed_key", [whole, place])
    raise LeftToSparkError("an element in brackets")


def _is_known_nullable(whole: Typed, place: Typed) -> bool:
    """Whether Spark knows that the element may be NULL: at a place that is NULL it forgets that in arrays without NULLs."""
    if isinstance(place.expr, Literal):
        return place.expr.value is not None
    return isinstance(whole.expr, Column) and whole.expr.alias >= 0


def _counted(node: Node, whole: Typed, place: Typed) -> Typed:
    """`element_at` of an array."""
    if place.type not in {pa.int8(), pa.int16(), INT}:
        raise LeftToSparkError("element_at(…)")
    name = "try_element_at" if node.args.get("safe") else "element_at"
    return call(name, [whole, place], whole.type.value_type, fails=True)  # of both, at place 0


def member(one: Typed, name: str) -> Typed:
    """A field of a struct, or of the structs in an array."""
    of_array = pa.types.is_list(one.type)
    kind = one.type.value_type if of_array else one.type
    if pa.types.is_struct(kind):
        places = [place for place in range(kind.num_fields) if kind.field(place).name.lower() == name.lower()]
        if len(places) == 1:
            field = kind.field(places[0])
            if of_array:
                return call("fields", [one, Typed(Literal(places[0], INT), INT)], pa.list_(field.type))
            return call("field", [one, Typed(Literal(field.name, STRING), STRING)], field.type)
    raise LeftToSparkError("reads a field of what is no struct")
