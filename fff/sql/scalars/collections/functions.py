"""Spark's functions of arrays and maps, with the types for which the engine computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from fff.dataflow.plan.expressions import Literal
from fff.schema import ArrowType
from fff.sql.scalars.coercion import (
    BOOLEAN,
    INT,
    LONG,
    STRING,
    VOID,
    cast,
    common,
    is_float,
    is_integer,
    type_name,
    wider,
)
from fff.sql.scalars.typed import LeftToSparkError, Typed, call
from fff.sql.syntax.statement import Node, exp

#: Elements that a constant asks for at most.
_MOST = 1000

#: How a node of the tree is written as a function of Spark: its name, and which parts are its arguments.
NODES: dict[type[Node], tuple[str, tuple[str, ...]]] = {
    exp.ArrayAppend: ("array_append", ("this", "expression")),
    exp.ArrayCompact: ("array_compact", ("this",)),
    exp.ArrayContains: ("array_contains", ("this", "expression")),
    exp.ArrayDistinct: ("array_distinct", ("this",)),
    exp.ArrayExcept: ("array_except", ("this", "expression")),
    exp.ArrayInsert: ("array_insert", ("this", "position", "expression")),
    exp.ArrayIntersect: ("array_intersect", ("expressions",)),
    exp.ArrayMax: ("array_max", ("this",)),
    exp.ArrayMin: ("array_min", ("this",)),
    exp.ArrayPosition: ("array_position", ("this", "expression")),
    exp.ArrayPrepend: ("array_prepend", ("this", "expression")),
    exp.ArrayRemove: ("array_remove", ("this", "expression")),
    exp.ArraySlice: ("slice", ("this", "start", "end")),
    exp.ArrayToString: ("array_join", ("this", "expression", "null")),
    exp.ArrayReverse: ("reverse", ("this",)),
    exp.Flatten: ("flatten", ("this",)),
    exp.GenerateSeries: ("sequence", ("start", "end", "step")),
    exp.Map: ("map_from_arrays", ("keys", "values")),
    exp.MapContainsKey: ("map_contains_key", ("this", "key")),
    exp.MapFromEntries: ("map_from_entries", ("this",)),
    exp.MapKeys: ("map_keys", ("this",)),
}


def arguments(node: Node) -> tuple[str, list[Node]] | None:
    """The name and the arguments of a call in this module's table."""
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        return (name, node.expressions) if name in _FUNCTIONS else None
    shape = NODES.get(type(node))
    if shape is None:
        return None
    listed: list[Node] = []
    for part in shape[1]:
        operand = node.args.get(part)
        listed += operand if isinstance(operand, list) else [] if operand is None else [operand]
    return shape[0], listed


def applied(name: str, args: Sequence[Typed]) -> Typed:
    """A function of its arguments. Raises LeftToSparkError where that is not proven for these types."""
    least, most, make = _FUNCTIONS[name]
    if not least <= len(args) <= most:
        raise LeftToSparkError(f"{name}(…) with {len(args)} arguments")
    return make(name, list(args))


def array_of(name: str, one: Typed) -> ArrowType:
    """The type of the elements of an array."""
    if not pa.types.is_list(one.type):
        raise LeftToSparkError(f"{name}({type_name(one.type)})")
    return one.type.value_type


def map_of(name: str, one: Typed) -> tuple[ArrowType, ArrowType]:
    """The types of the keys and the values of a map."""
    if not pa.types.is_map(one.type):
        raise LeftToSparkError(f"{name}({type_name(one.type)})")
    return one.type.key_type, one.type.item_type


def has_part(kind: ArrowType, is_such: Callable[[ArrowType], bool]) -> bool:
    """Whether a type is such a type, or has one among its parts."""
    if pa.types.is_map(kind):
        return is_such(kind) or has_part(kind.key_type, is_such) or has_part(kind.item_type, is_such)
    return is_such(kind) or any(has_part(kind.field(place).type, is_such) for place in range(kind.num_fields))


def check_compared(name: str, kind: ArrowType, *, floats: bool = False) -> None:
    """Refuse types whose values are not compared as Spark does: maps, and floats where zeros have signs."""
    if has_part(kind, pa.types.is_map) or (not floats and has_part(kind, is_float)):
        raise LeftToSparkError(f"{name} of {type_name(kind)}")


def _alone(name: str, args: list[Typed]) -> Typed:
    """A function of one array that gives such an array."""
    kind = array_of(name, args[0])
    if name == "array_distinct":
        check_compared(name, kind)
    if name == "array_compact" and kind == VOID:  # of elements that are never NULL, and nothing else
        raise LeftToSparkError(f"{name}(…) of NULLs")
    return call("array_reverse" if name == "reverse" else name, args, args[0].type)


def _extreme(name: str, args: list[Typed]) -> Typed:
    kind = array_of(name, args[0])
    check_compared(name, kind, floats=not pa.types.is_nested(kind))
    return call(name, args, kind)


def _same(name: str, args: list[Typed]) -> tuple[list[Typed], ArrowType]:
    """Several arrays as arrays of one type."""
    for one in args:
        array_of(name, one)
    return common(args)


def _of_two(name: str, args: list[Typed]) -> Typed:
    args, kind = _same(name, args)
    check_compared(name, kind)
    return call(name, args, BOOLEAN if name == "arrays_overlap" else kind)


def concatenated(args: Sequence[Typed]) -> Typed:
    """`concat` of arrays."""
    args, kind = _same("concat", list(args))
    if any(one.may_fail for one in args):  # which Spark does not evaluate behind a NULL
        raise LeftToSparkError("concat of arrays that may fail")
    return call("array_concat", args, kind)


def _with_item(name: str, args: list[Typed]) -> Typed:
    """A function of an array and a value of its elements' type."""
    whole, item = args
    kind = array_of(name, whole)
    if item.type == VOID and name in {"array_append", "array_prepend"}:
        return call(name, [whole, cast(item, kind)], whole.type)
    if VOID in (kind, item.type):
        raise LeftToSparkError(f"{name}(…) of NULL")
    if kind != item.type:
        both = wider(kind, item.type)
        alike = (is_integer(kind) and is_integer(item.type)) or (is_float(kind) and is_float(item.type))
        if not alike and not (pa.types.is_nested(kind) and pa.types.is_nested(item.type)):
            raise LeftToSparkError(f"{name}(…) of other types")
        whole, item, kind = cast(whole, pa.list_(both)), cast(item, both), both
    if name in {"array_append", "array_prepend"}:
        if item.may_fail:
            raise LeftToSparkError(f"{name}(…) of what may fail")
        return call(name, [whole, item], whole.type)
    check_compared(name, kind, floats=not pa.types.is_nested(kind))
    gives = {"array_contains": BOOLEAN, "array_position": LONG}.get(name, whole.type)
    return call(name, [whole, item], gives)


def _inserted(name: str, args: list[Typed]) -> Typed:
    kind = array_of(name, args[0])
    place = args[1].expr.value if isinstance(args[1].expr, Literal) else None
    if not isinstance(place, int) or args[1].type != INT or not 0 < abs(place) <= _MOST or args[2].may_fail:
        raise LeftToSparkError("array_insert(…) at this place")
    if args[2].type not in (kind, VOID):
        raise LeftToSparkError("array_insert(…) of another type")
    return call(name, [args[0], args[1], cast(args[2], kind)], args[0].type)


def _repeated(name: str, args: list[Typed]) -> Typed:
    count = args[1].expr.value if isinstance(args[1].expr, Literal) else None
    if not isinstance(count, int) or args[1].type != INT or count > _MOST:
        raise LeftToSparkError("array_repeat(…) as often as that")
    return call(name, args, pa.list_(args[0].type))


def _sliced(name: str, args: list[Typed]) -> Typed:
    array_of(name, args[0])
    if any(one.type not in (INT, pa.int16(), pa.int8()) for one in args[1:]):
        raise LeftToSparkError(f"slice(…, {type_name(args[1].type)})")
    return call(name, args, args[0].type, fails=True)


def _flattened(name: str, args: list[Typed]) -> Typed:
    kind = array_of(name, args[0])
    if not pa.types.is_list(kind):
        raise LeftToSparkError(f"flatten({type_name(args[0].type)})")
    return call(name, args, kind)


def _joined(name: str, args: list[Typed]) -> Typed:
    array_of(name, args[0])
    whole = cast(args[0], pa.list_(STRING))
    if any(one.type != STRING or one.may_fail for one in args[1:]):
        raise LeftToSparkError("array_join(…) with this")
    return call(name, [whole, *args[1:]], STRING)


def with_separator(args: Sequence[Typed]) -> Typed | None:
    """`concat_ws('-', a)` of an array of texts: as `array_join`, and empty where the array is NULL; None for anything else."""
    if len(args) != 2 or args[1].type != pa.list_(STRING) or args[0].type != STRING:
        return None
    mark = args[0].expr
    if not isinstance(mark, Literal) or mark.value is None:
        return None
    joined = _joined("array_join", [args[1], args[0]])
    return call("coalesce", [joined, Typed(Literal("", STRING), STRING)], STRING)


def _got(name: str, args: list[Typed]) -> Typed:
    kind = array_of(name, args[0])
    if args[1].type not in (INT, pa.int16(), pa.int8()):
        raise LeftToSparkError(f"get(…, {type_name(args[1].type)})")
    return call(name, args, kind)


def _sequence(name: str, args: list[Typed]) -> Typed:
    """Whole numbers from one constant to another."""
    numbers = [one.expr.value if isinstance(one.expr, Literal) else None for one in args]
    if not all(isinstance(one, int) for one in numbers) or any(not is_integer(one.type) for one in args):
        raise LeftToSparkError(f"{name}(…) of what is no constant")
    start, end, *rest = (one for one in numbers if isinstance(one, int))
    step = rest[0] if rest else (1 if start <= end else -1)
    if step == 0 or (end - start) * step < 0 or (end - start) // step > _MOST:
        raise LeftToSparkError("sequence(…) of these constants")
    _, kind = common(args)
    elements = list(range(start, end + (1 if step > 0 else -1), step))
    return Typed(Literal(elements, pa.list_(kind)), pa.list_(kind))


def _from_arrays(name: str, args: list[Typed]) -> Typed:
    key, value = (array_of(name, one) for one in args)
    if key == VOID:
        raise LeftToSparkError(f"{name}(…) of NULLs")
    check_compared(name, key)
    return call(name, args, pa.map_(key, value), fails=True)


def _from_entries(name: str, args: list[Typed]) -> Typed:
    kind = array_of(name, args[0])
    if not pa.types.is_struct(kind) or kind.num_fields != 2:
        raise LeftToSparkError(f"{name}({type_name(args[0].type)})")
    key, value = (kind.field(place).type for place in (0, 1))
    if key == VOID:
        raise LeftToSparkError(f"{name}(…) of NULLs")
    check_compared(name, key)
    return call(name, args, pa.map_(key, value), fails=True)


def _of_maps(name: str, args: list[Typed]) -> Typed:
    for one in args:
        map_of(name, one)
    args, kind = common(args)
    check_compared(name, kind.key_type)
    if any(one.may_fail for one in args):  # which Spark does not evaluate behind a NULL
        raise LeftToSparkError("map_concat of maps that may fail")
    return call(name, args, kind, fails=True)


def _of_map(name: str, args: list[Typed]) -> Typed:
    key, value = map_of(name, args[0])
    gives = {
        "map_keys": pa.list_(key),
        "map_values": pa.list_(value),
        "map_entries": pa.list_(pa.struct([pa.field("key", key), pa.field("value", value)])),
    }[name]
    return call(name, args, gives)


def of_key(name: str, args: Sequence[Typed], gives: ArrowType | None = None) -> Typed:
    """What a map has for a key, or whether it has that."""
    whole, wanted = args
    key, value = map_of(name, whole)
    if wanted.type == VOID:
        raise LeftToSparkError(f"{name}(…) of NULL")
    if wanted.type != key:
        if not (is_integer(key) and is_integer(wanted.type) and wanted.type.bit_width < key.bit_width):
            raise LeftToSparkError(f"{name}(…) of a key of another type")
        wanted = cast(wanted, key)
    check_compared(name, key)
    return call(name, [whole, wanted], value if gives is None else gives)


def _has_key(name: str, args: list[Typed]) -> Typed:
    return of_key(name, args, BOOLEAN)


def sorted_array(one: Typed, *, descending: bool, nulls_first: bool) -> Typed:
    """`sort_array` and `array_sort`."""
    kind = array_of("sort_array", one)
    if kind == VOID:
        raise LeftToSparkError("sort_array(…) of NULLs")
    check_compared("sort_array", kind)
    flags = [Typed(Literal(flag, BOOLEAN), BOOLEAN) for flag in (descending, nulls_first)]
    return call("sort_array", [one, *flags], one.type)


_Make = Callable[[str, list[Typed]], Typed]
#: The least and the most arguments of a function, and what makes a call of it.
_FUNCTIONS: dict[str, tuple[int, int, _Make]] = {
    **dict.fromkeys(("array_distinct", "array_compact", "reverse"), (1, 1, _alone)),
    **dict.fromkeys(("array_max", "array_min"), (1, 1, _extreme)),
    **dict.fromkeys(("array_union", "array_intersect", "array_except", "arrays_overlap"), (2, 2, _of_two)),
    **dict.fromkeys(
        ("array_append", "array_prepend", "array_contains", "array_position", "array_remove"),
        (2, 2, _with_item),
    ),
    "array_insert": (3, 3, _inserted),
    "array_repeat": (2, 2, _repeated),
    "slice": (3, 3, _sliced),
    "flatten": (1, 1, _flattened),
    "array_join": (2, 3, _joined),
    "get": (2, 2, _got),
    "sequence": (2, 3, _sequence),
    "map_from_arrays": (2, 2, _from_arrays),
    "map_from_entries": (1, 1, _from_entries),
    "map_concat": (1, 99, _of_maps),
    **dict.fromkeys(("map_keys", "map_values", "map_entries"), (1, 1, _of_map)),
    "map_contains_key": (2, 2, _has_key),
}
