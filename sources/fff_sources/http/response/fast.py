"""Records that are as declared, in one go: one msgspec struct of just the needed columns, then one Arrow array a column."""

from __future__ import annotations

import decimal
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.schema import ArrowType, Field
from fff.structs import Struct
from fff.structs import field as struct_field
from fff_sources.http.response import values
from fff_sources.http.response.json import UNSET, Decoder, Raw, UnsetType, WrongShape, defstruct
from fff_sources.http.response.jsonpath import JsonPath
from fff_sources.http.response.members import all_null

Batch: TypeAlias = pa.RecordBatch
Array: TypeAlias = pa.Array


class ColumnPlan(Struct, frozen=True):
    """A column to read and its place in a record."""

    field: Field
    path: JsonPath


class _Getter(NamedTuple):
    """How one column comes out of structs. `filled`: it takes the value asked for where a record has none."""

    plan: ColumnPlan
    get: Callable[[list[Any]], list[Any]]
    as_text: bool
    filled: bool


class FastReader:
    """Reads JSON arrays of records; `record`: the struct of one; `keys`: the columns that rows are asked by."""

    def __init__(self, record: Any, getters: Sequence[_Getter], keys: frozenset[int]) -> None:
        self._line, self._array = Decoder(record), Decoder(list[record])
        self._getters, self._keys = getters, keys
        self._schema = pa.schema([(one.plan.field.name, one.plan.field.arrow) for one in getters])

    def rows(self, records: Raw | bytes, *, lines: bool = False) -> list[Any] | None:
        """The structs; None where a record has other values than declared. Raises MalformedJSON."""
        try:
            return self._line.decode_lines(records) if lines else self._array.decode(records)
        except WrongShape:
            return None

    def batch(
        self, rows: list[Any], fills: Sequence[tuple[int, Mapping[str, object]]]
    ) -> tuple[Batch, list[int]] | None:
        """Structs as a batch, and the rows in which no record had a value beside its key; None where they need care.

        `fills`: for how many of the rows, one after another, what filled columns take.
        """
        arrays, decoded = [], []
        for index, (plan, get, as_text, filled) in enumerate(self._getters):
            items = get(rows)
            lacks = filled and any(item is UNSET for item in items)
            kept = [None if item is UNSET else item for item in items] if lacks else items
            values_read = plain_array(kept, plan.field.arrow, as_text=as_text)
            if values_read is None:
                return None
            if index not in self._keys:
                decoded.append(values_read)
            if lacks:
                known = chain.from_iterable(repeat(fill.get(plan.field.name), n) for n, fill in fills)
                mixed = zip(known, items, values_read.to_pylist(), strict=True)
                texts = [value if item is UNSET else was for value, item, was in mixed]
                values_read = pa.array(texts, plan.field.arrow)
            arrays.append(values_read)
        if not arrays:
            return batch_of((), [], len(rows)), []
        bare = all_null(decoded) if decoded else list(range(len(rows)))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema), bare


def fast_reader(
    columns: Sequence[ColumnPlan], filled: frozenset[int], keys: frozenset[int] = frozenset()
) -> FastReader | None:
    """What reads columns, of which some are filled and some are what rows are asked by; None where no page is fast."""
    tree: dict[str, Any] = {}
    routes: list[tuple[str, ...]] = []
    for index, column in enumerate(columns):
        names, kind = column.path.names, fast_type(column.field.arrow)
        if not names or kind is None:
            return None
        branch = tree
        for name in names[:-1]:
            branch = branch.setdefault(name, {})
            if not isinstance(branch, dict):
                return None  # one column reads the object another column reads from
        if names[-1] in branch:
            return None
        branch[names[-1]] = (kind | None | UnsetType) if index in filled else (kind | None)
        routes.append(names)
    try:
        record, slots = _struct(tree)
    except (TypeError, ValueError):
        return None
    getters = [
        _Getter(
            plan,
            _getter(names, slots, UNSET if index in filled else None),
            values.comes_as_text(plan.field.arrow),
            index in filled,
        )
        for index, (plan, names) in enumerate(zip(columns, routes, strict=True))
    ]
    return FastReader(record, getters, keys)


def fast_type(kind: ArrowType) -> Any:
    """The type that msgspec reads for one of Arrow; None where values take more than that."""
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_floating(kind):
        return float
    if pa.types.is_boolean(kind):
        return bool
    if pa.types.is_decimal(kind):
        return decimal.Decimal
    if pa.types.is_string(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return str
    return None


def batch_of(columns: Sequence[ColumnPlan], arrays: list[Array], count: int) -> Batch:
    """So many rows of these columns."""
    if not arrays:  # a batch without columns still has a number of rows
        return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, [column.field.name for column in columns])


def _struct(tree: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A struct type for a tree of members, and where in it each member is: a slot, or a slot and what is below."""
    fields: list[tuple[str, Any, Any]] = []
    slots: dict[str, Any] = {}
    for number, (name, below) in enumerate(tree.items()):
        slot = f"f{number}"
        if isinstance(below, dict):
            inner, inner_slots = _struct(below)
            fields.append((slot, inner | None, struct_field(default=None, name=name)))
            slots[name] = (slot, inner_slots)
        else:
            unset = UnsetType in getattr(below, "__args__", ())
            fields.append((slot, below, struct_field(default=UNSET if unset else None, name=name)))
            slots[name] = (slot, None)
    return defstruct("Record", fields, gc=False), slots


def _getter(
    names: Sequence[str], slots: Mapping[str, Any], absent: object
) -> Callable[[list[Any]], list[Any]]:
    path: list[str] = []
    for name in names:
        slot, below = slots[name]
        path.append(slot)
        slots = below or {}
    if len(path) == 1:
        get = operator.attrgetter(path[0])
        return lambda rows: list(map(get, rows))

    def nested(rows: list[Any]) -> list[Any]:
        for slot in path[:-1]:
            rows = [None if row is None else getattr(row, slot) for row in rows]
        return [absent if row is None else getattr(row, path[-1]) for row in rows]

    return nested


def plain_array(items: list[Any], kind: ArrowType, *, as_text: bool) -> Array | None:
    """Values of the fast type of `kind` as an array; None where one of them does not fit."""
    try:
        if as_text:
            return values.cast_texts(pa.array(items, pa.string()), kind)
        array = pa.array(items, kind)
    except values.ARROW_ERRORS:
        return None
    # JSON has no infinite numbers: one was too large for the type.
    return None if pa.types.is_float32(kind) and pc.any(pc.is_inf(array)).as_py() else array
