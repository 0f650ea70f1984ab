"""Which members records have at all: what tells them from other objects, and a column from a path that leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fff.structs import Struct
from fff.structs import field as struct_field
from fff_sources.http.response.json import Decoder, Raw, WrongShape, decode, defstruct, encode, is_field_name
from fff_sources.http.response.jsonpath import TEXT, JsonPath, Step, first, kind_of, walk
from fff_sources.http.response.verdicts import says_fault
from fff_sources.http.shaping import with_changed

_ABSENT = Raw(b"")
_FEW = 16  # records that are looked at one by one


class Members:
    """Tells records of a table from other objects, by having at least one of its members.

    Args:
        names: the members, the likeliest first.
        bare: whether an object without any is a record, too: where members are asked for by name and NULL is
            left out.
        keys: those that rows are asked by: a record with these and an error, and no other, is none.
    """

    def __init__(
        self, names: Sequence[str], *, bare: bool = False, keys: frozenset[str] = frozenset()
    ) -> None:
        self.names = frozenset(names)
        self.keys = keys & self.names if keys < self.names else frozenset()
        self._bare = bare
        likeliest = next((name for name in names if is_field_name(name) and name not in self.keys), None)
        self._likeliest = None if likeliest is None else Decoder(list[_record_with(likeliest)])  # type: ignore[misc]

    def count(self, records: Raw | bytes) -> int | None:
        """How many records there are; None where some are none. All elements must be objects."""
        if self._likeliest is None:
            return None
        tops = [row.top for row in self._likeliest.decode(records)]
        suspects = [index for index, top in enumerate(tops) if top is _ABSENT]
        return None if self.lacking(records, suspects) else len(tops)

    def lacking(self, records: Raw | bytes, suspects: Sequence[int]) -> bool:
        """Whether one of the suspects is no record. All elements must be objects."""
        if self._likeliest is not None and len(suspects) > _FEW:
            tops = [row.top for row in self._likeliest.decode(records)]
            suspects = [index for index in suspects if tops[index] is _ABSENT]
        return bool(suspects) and bool(self.strangers(decode(records, type=list[Raw]), suspects))

    def strangers(self, records: Sequence[Raw], suspects: Sequence[int]) -> list[int]:
        """Which of the suspects, all of them objects, are no records."""
        some = decode(
            b"[" + b",".join(bytes(records[index]) for index in suspects) + b"]", type=list[dict[str, Raw]]
        )
        return [index for index, members in zip(suspects, some, strict=True) if self._is_none(members)]

    def is_named(self, record: Raw) -> bool:
        """Whether an object has its key."""
        return not self.keys.isdisjoint(decode(record, type=dict[str, Raw]))

    def _is_none(self, members: Mapping[str, Raw]) -> bool:
        met = self.names & members.keys()
        if not met:
            return bool(members) or not self._bare
        return met <= self.keys and any(
            says_fault(name, raw) for name, raw in members.items() if name not in met
        )


def exploded(records: Sequence[Raw], place: Sequence[str], names: frozenset[str] = frozenset()) -> bytes:
    """A record for each element of an array in the records, which stands in the array's place; all else is beside it.

    Anything but an array is its own only element; where nothing or null is there, there is none. Where
    elements have some of the `names`, what is none is a record by itself, which does not fit.
    """
    rows: list[Raw] = []
    path = JsonPath("", tuple(Step("name", name) for name in place))
    for record in records:
        for member in walk(record, path):
            kind = kind_of(member)
            elements = decode(member, type=list[Raw]) if kind == "[" else [member] if kind != "n" else []
            for one in elements:
                stray = bool(names) and _is_no_element(one, names, alone=kind != "[")
                rows.append(one if stray else with_changed(record, path.steps, partial(_in_place_of, one)))
    return encode(rows)


def _is_no_element(element: Raw, names: frozenset[str], *, alone: bool) -> bool:
    """Whether it is no object, or has none of the members and an error; or none of them where a list should be."""
    if kind_of(element) != "{":
        return True
    members = decode(element, type=dict[str, Raw])
    return names.isdisjoint(members) and (alone or any(says_fault(*member) for member in members.items()))


def _in_place_of(new: Raw, _old: Raw) -> Raw:
    return new


def has_member(records: Raw | bytes, path: JsonPath) -> bool:
    """Whether one of the records has anything at the path: null, or an element of XML without a text, included."""
    steps = path.steps[:-1] if path.steps and path.steps[-1].name == TEXT else path.steps
    if not steps:
        return True
    step, rest = steps[0], JsonPath(path.text, steps[1:])
    try:
        if step.kind == "name" and is_field_name(step.name):
            rows = decode(records, type=list[_record_with(step.name)])  # type: ignore[misc]
            tops = (row.top for row in rows if row.top is not _ABSENT)
            return any(not rest.steps or first(top, rest) is not None for top in tops)
    except WrongShape:
        pass  # some of them are no objects
    whole = JsonPath(path.text, steps)
    return any(first(raw, whole) is not None for raw in decode(records, type=list[Raw]))


def all_null(arrays: Sequence[pa.Array]) -> list[int]:
    """The rows in which every column is NULL."""
    if not arrays or any(array.null_count == 0 for array in arrays):
        return []
    mask = pc.is_null(arrays[0])
    for array in arrays[1:]:
        mask = pc.and_(mask, pc.is_null(array))
    return pc.indices_nonzero(mask).to_pylist()  # type: ignore[no-any-return]


def _record_with(name: str) -> type[Struct]:
    """A type of one member, in the slot `top`."""
    return defstruct("Member", [("top", Raw, struct_field(default=_ABSENT, name=name))], gc=False)


def arrays_in(value: dict[str, Any], deep: int = 3, above: str = "") -> Iterator[str]:
    """Where in an answer arrays are, a few levels down."""
    for name, member in value.items():
        if isinstance(member, list):
            yield above + name
        elif isinstance(member, dict) and deep > 1:
            yield from arrays_in(member, deep - 1, f"{above}{name}.")
