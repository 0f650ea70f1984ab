"""What functions of arrays and maps are given: values beside items of other types, and lambdas of what they are made for."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fff.schema import ArrowType
from fff.sql.refusals.types.kinds import ALONE, NULL, REFUSED_BY_LAMBDAS, UNKNOWN, WORDS, are_apart, kind_of
from fff.sql.refusals.types.references import Part, References

#: Functions of an array and a value: the place of the value, and how Spark brings it together with the items.
_OF_ITEMS = {
    "array_contains": (1, "greatest"),
    **dict.fromkeys(("array_position", "array_remove", "array_append", "array_prepend"), (1, "alike")),
    "array_insert": (2, "alike"),
}
_OF_ARRAYS = frozenset({"array_union", "array_intersect", "array_except", "arrays_overlap"})
#: Functions of one array, and the kinds of items that they do not take.
_NO_ITEMS = {
    **dict.fromkeys(("array_max", "array_min", "array_distinct", "sort_array"), "p"),
    "array_join": "apr",
    **dict.fromkeys(("inline", "inline_outer"), "byhilfdmsxtTnap"),
    "flatten": "byhilfdmsxtTnpr",
    "map_from_entries": "byhilfdmsxtTnap",
}
#: What finds an item by its place takes these kinds.
_PLACES = {"element_at": "yhi", "try_element_at": "yhi", "get": "yhilfdmsS"}
_WHOLE, _DAYS, _NEITHER = frozenset("yhil"), frozenset("tTn"), frozenset("bfdmxapr")
#: Functions of the type of what they are given first.
_SAME = frozenset(
    {
        *("array_distinct", "sort_array", "array_sort", "filter", "slice", "reverse", "shuffle"),
        *("array_compact", "array_remove", "max", "min", "first", "last", "first_value", "last_value"),
        *("any_value", "mode", "lag", "lead", "nth_value", "max_by", "min_by"),
    }
)
#: Functions of arrays of what they are given first, and of its items.
_GATHERED = frozenset({"collect_list", "collect_set", "array_agg", "array_repeat"})
_ITEMS = frozenset({"element_at", "try_element_at", "get", "array_max", "array_min", "flatten"})
#: What reads a text of JSON, as nested values are that nobody has declared.
_HINT = "if it holds JSON, get_json_object(column, '$.name') reads a member of it"
_FOLDS = frozenset({"aggregate", "reduce"})
#: By function with a lambda: the kinds of what stands before it.
_BEFORE = {
    **dict.fromkeys(("filter", "exists", "forall", "transform", "array_sort", "aggregate", "reduce"), "a"),
    **dict.fromkeys(("map_filter", "transform_keys", "transform_values"), "p"),
    "zip_with": "aa",
    "map_zip_with": "pp",
}


def check_collected(expressions: References, name: str, parts: Sequence[Part]) -> None:
    """Raises QueryError for a call whose arguments do not go together."""
    types = [expressions.type_of(*part[1:]) if part[0] in "apr" else ALONE.get(part[0]) for part in parts]
    item = item_of(types[0]) if parts else None
    if name in _OF_ITEMS and len(parts) > _OF_ITEMS[name][0]:
        place, form = _OF_ITEMS[name]
        if are_apart(form, item, types[place]):
            raise _apart(expressions, name, parts[place], item)
    elif name in _OF_ARRAYS and len(parts) > 1:
        if are_apart("alike", item, item_of(types[1])):
            raise _apart(expressions, name, parts[1], item)
    elif name == "concat":
        _check_concat(expressions, parts)
    elif name in _PLACES and len(parts) > 1:
        _check_place(expressions, name, parts, types)
    elif name == "sequence" and len(parts) > 1:
        _check_sequence(expressions, parts)
    elif kind_of(item) in _NO_ITEMS.get(name, ""):
        word = WORDS[kind_of(item)]
        raise expressions.mistake(f"{name} takes no array of {word}", *parts[0][1:])


def check_lambdas(expressions: References, name: str, spans: Sequence[tuple[int, int]]) -> None:
    """Says what the parameters of a call's lambdas are; raises QueryError where it, or what a lambda comes to, is of a wrong type."""
    kinds = _BEFORE.get(name, "")
    if not kinds or len(spans) < len(kinds) + (name in _FOLDS):
        return
    types = []
    for kind, span in zip(kinds, spans, strict=False):
        part = expressions.whole(*span)
        if part[0] in WORDS and part[0] != kind:
            raise expressions.mistake(f"{name} takes no {WORDS[part[0]]} here", *span)
        types.append(expressions.type_of(*span))
    if name in _FOLDS:
        types.append(expressions.type_of(*spans[1]))
    for first, end in spans[len(kinds) :]:
        body = expressions.bind(first, end, _parameters(name, types))
        if body is None:
            continue
        kind, behind = expressions.value(body)
        if behind == end and kind in REFUSED_BY_LAMBDAS.get(name, ""):
            raise expressions.mistake(f"the function of {name} gives no {WORDS[kind]}", body, end)
        start = expressions.whole(*spans[1])[0] if name in _FOLDS and (first, end) == spans[2] else UNKNOWN
        if behind == end and {start, kind} <= WORDS.keys() and WORDS[kind] != WORDS[start]:
            what = f"{name} starts with {WORDS[start]}, and its function gives {WORDS[kind]}"
            raise expressions.mistake(what, body, end)


def check_element(expressions: References, of: Part, place: Part) -> None:
    """Raises QueryError where square brackets are behind what has no elements, or hold what is none of its places."""
    (kind, *span), (key, *where), typed = of, place, expressions.nested(*of[1:])
    if kind in WORDS and kind not in "apr":
        raise expressions.mistake(
            f"{expressions.words(*span)} is of type {WORDS[kind]}, which has no elements",
            *span,
            hint=_HINT if kind in "sS" else None,
        )
    if kind == "a" and key in WORDS and key not in "yhil":
        raise expressions.mistake("an array takes the place of an element, from 0 on", *where)
    if kind == "r" and key in WORDS and key != "S":
        raise expressions.mistake("a struct takes the name of a field, a constant", *where)
    if (
        typed is not None
        and pa.types.is_map(typed)
        and are_apart("=", typed.key_type, expressions.type_of(*where))
    ):
        raise expressions.mistake(f"the map has no key of type {WORDS[key]}", *where)


def check_field(expressions: References, of: Part, name: str) -> None:
    """Raises QueryError where a value in front of a point has no such field."""
    kind, typed = of[0], expressions.nested(*of[1:])
    if kind in WORDS and kind not in "apr":
        raise expressions.mistake(
            f"{expressions.words(*of[1:])} is of type {WORDS[kind]}, which has no fields",
            *of[1:],
            hint=_HINT if kind in "sS" else None,
        )
    inner = item_of(typed) or typed
    if inner is None or kind == "p":
        return
    named = [field.name.lower() for field in inner] if pa.types.is_struct(inner) else []
    if kind_of(inner) in WORDS and name.lower() not in named and "" not in named:
        raise expressions.mistake(f"there is no field {name} in it", *of[1:])


def made_by(expressions: References, name: str, parts: Sequence[Part]) -> ArrowType | None:
    """The type of what some calls give."""
    if not parts:
        return None
    if name == "struct":
        return struct_of(expressions, [part[1:] for part in parts])
    if name == "named_struct":
        values = zip(parts[::2], parts[1::2], strict=False)
        return pa.struct(
            [
                (expressions.text(*one[1:]) or "", expressions.type_of(*other[1:]) or pa.null())
                for one, other in values
            ]
        )
    if name == "map":
        kinds = [_together(expressions, name, parts[first::2]) for first in (0, 1)]
        return None if None in kinds or len(parts) % 2 else pa.map_(*kinds)
    kind = expressions.type_of(*parts[0][1:])
    if name == "array":
        item = _together(expressions, name, parts)
        return None if item is None else pa.list_(item)
    if name in _SAME or (name in _GATHERED and kind is None):
        return kind
    if name in _GATHERED:
        return pa.list_(kind)
    if name in _ITEMS:
        return item_of(kind) if kind is not None and pa.types.is_list(kind) else value_of(kind)
    if kind is not None and pa.types.is_map(kind) and name in {"map_keys", "map_values"}:
        return pa.list_(kind.key_type if name == "map_keys" else kind.item_type)
    return pa.list_(pa.string()) if name == "split" else None


def struct_of(expressions: References, spans: Sequence[tuple[int, int]]) -> ArrowType | None:
    """The type of a struct of values, which may have names."""
    fields = list[tuple[str, ArrowType]]()
    for number, (first, end) in enumerate(spans, start=1):
        name, behind = expressions.name_of(first, end), expressions.value(first)[1]
        if behind not in {end, end - 2}:
            return None
        fields.append(
            (f"col{number}" if name is None else name, expressions.type_of(first, behind) or pa.null())
        )
    return pa.struct(fields)


def item_of(kind: ArrowType | None) -> ArrowType | None:
    """The type of an array's items."""
    return kind.value_type if kind is not None and pa.types.is_list(kind) else None


def value_of(kind: ArrowType | None) -> ArrowType | None:
    """The type of what stands in an array, or of a map's values."""
    return kind.item_type if kind is not None and pa.types.is_map(kind) else item_of(kind)


def _together(expressions: References, name: str, parts: Sequence[Part]) -> ArrowType | None:
    """The type that items of an array, keys or values of a map are brought to."""
    types = [expressions.type_of(*part[1:]) for part in parts]
    if None in types:
        return None
    if all(one == types[0] for one in types):
        return types[0]
    return ALONE.get(expressions.alike("array", name, parts))


def _parameters(name: str, types: Sequence[ArrowType | None]) -> list[ArrowType | None]:
    """The types of a lambda's parameters, as many as may be."""
    one = types[0]
    if name in {"filter", "transform"}:
        return [item_of(one), pa.int32()]
    if name in {"exists", "forall"}:
        return [item_of(one)]
    if name == "array_sort":
        return [item_of(one), item_of(one)]
    if name == "zip_with":
        return [item_of(one), item_of(types[1])]
    if name in {"map_filter", "transform_keys", "transform_values"}:
        known = one if one is not None and pa.types.is_map(one) else None
        return [known.key_type, known.item_type] if known is not None else [None, None]
    return [types[-1], item_of(one)] if name in _FOLDS else [None, None, None]


def _check_concat(expressions: References, parts: Sequence[Part]) -> None:
    known = [place for place, part in enumerate(parts) if part[0] not in {UNKNOWN, NULL}]
    arrays = [place for place in known if parts[place][0] == "a"]
    if not arrays:
        return
    other = next((place for place in known if place not in arrays), None)
    if other is not None:
        raise expressions.mistake(f"concat puts no {WORDS[parts[other][0]]} beside arrays", *parts[other][1:])
    expressions.alike("coalesce", "concat", [parts[place] for place in arrays])


def _check_place(
    expressions: References, name: str, parts: Sequence[Part], types: Sequence[ArrowType | None]
) -> None:
    kind, first, end = parts[1]
    if parts[0][0] == "a" and kind in WORDS and kind not in _PLACES[name] and kind != "S":
        raise expressions.mistake(f"{name} takes no {WORDS[kind]} for the place in an array", first, end)
    of_map = types[0]
    if of_map is not None and pa.types.is_map(of_map) and are_apart("alike", of_map.key_type, types[1]):
        raise expressions.mistake(
            f"{name} looks for no {WORDS[kind]} among keys of {WORDS[kind_of(of_map.key_type)]}", first, end
        )


def _check_sequence(expressions: References, parts: Sequence[Part]) -> None:
    kinds = {part[0] for part in parts[:2]}
    wrong = next((part for part in parts[:2] if part[0] in _NEITHER), None)
    if wrong is not None:
        raise expressions.mistake(f"sequence takes no {WORDS[wrong[0]]}", *wrong[1:])
    counts, days = kinds & _WHOLE, kinds & _DAYS
    if counts and days:
        raise expressions.mistake("sequence goes from no number to a day", parts[0][1], parts[1][2])
    if days and len(parts) > 2 and parts[2][0] in _WHOLE:
        raise expressions.mistake("sequence takes an INTERVAL as its step from day to day", *parts[2][1:])


def _apart(expressions: References, name: str, part: Part, item: ArrowType | None) -> Exception:
    return expressions.mistake(
        f"{name} brings no {WORDS[part[0]]} together with an array of {WORDS[kind_of(item)]}", *part[1:]
    )
