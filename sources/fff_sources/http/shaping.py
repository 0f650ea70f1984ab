"""Records as tables want them, made of what answers have: entries of objects, elements of arrays, what is packed."""

from __future__ import annotations

import base64
import binascii
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

from fff.web.body import BodyError, BodyReader
from fff.web.types import HostPolicy
from fff_sources.http.response.json import MalformedJSON, Raw, decode, encode, join
from fff_sources.http.response.jsonpath import JsonPath, Step, first, kind_of, parse_path, walk
from fff_sources.http.spec import spec

#: What an entry's key is called in its record, and its value where that is no object.
KEY, VALUE = "@key", "@value"
#: What `zipfile` raises for one that is damaged, encrypted, or packed in a way that it does not know.
NO_ZIP = (
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError),
    *(zlib.error, lzma.LZMAError, OSError),  # by the ways of packing
)


class MalformedMarkupError(ValueError):
    """The body is not the XML or HTML that its format says."""


class PackedError(ValueError):
    """What should be packed as the spec says is not."""


def rows_of(records: Raw | bytes) -> bytes:
    """Objects of arrays as one object for each place in these; a member that is no array stands in every one.

    Raises MalformedJSON where the arrays of an object differ in length.
    """
    rows: list[dict[str, Raw]] = []
    for record in decode(records, type=list[dict[str, Raw]]):
        arrays = {name: decode(raw, type=list[Raw]) for name, raw in record.items() if kind_of(raw) == "["}
        lengths = {len(items) for items in arrays.values()}
        if len(lengths) > 1:
            raise MalformedJSON(
                f"arrays of {min(lengths)} and of {max(lengths)} values are no columns of one table"
            )
        rest = {name: raw for name, raw in record.items() if name not in arrays}
        rows += [
            {**rest, **{name: items[place] for name, items in arrays.items()}}
            for place in range(max(lengths, default=0))
        ]
    return encode(rows)


def named_rows(records: Raw | bytes) -> bytes:
    """Arrays as objects: the first one holds the names.

    Raises MalformedJSON where one has not as many members.
    """
    rows = decode(records, type=list[list[Raw]])
    names = [decode(name, type=str) for name in rows[0]] if rows else []
    odd = next((len(row) for row in rows if len(row) != len(names)), None)
    if odd is not None:
        raise MalformedJSON(f"a row of {odd} values under a header of {len(names)}")
    return encode([dict(zip(names, row, strict=True)) for row in rows[1:]])


def entries(records: Raw | bytes, members: frozenset[str]) -> bytes:
    """Objects as one record for each of their members, which has its key under `@key`.

    Beside it stand the members of the value, or under `@value` what is no object. One that has none of the
    members that records should have gets no key, which would make it look like a record. Raises
    MalformedJSON.
    """
    rows: list[dict[str, object]] = []
    wanted = members - {KEY}
    for one in decode(records, type=list[dict[str, Raw]]):
        for key, raw in one.items():
            inner = decode(raw, type=dict[str, Raw]) if kind_of(raw) == "{" else {VALUE: raw}
            rows.append(dict(inner) if wanted and wanted.isdisjoint(inner) else {**inner, KEY: key})
    return encode(rows)


def whole_rows(records: Raw | bytes) -> tuple[Raw | bytes, list[str]]:
    """The records of a table of HTML, and what is wrong with those that are none, by their numbers."""
    rows = decode(records, type=list[Raw])
    whole = [row for row in rows if kind_of(row) == "{"]
    if len(whole) == len(rows):
        return records, []
    told = [f"row {at}: {decode(row)}" for at, row in enumerate(rows, 1) if kind_of(row) != "{"]
    return join(whole), told


class OtherNumberError(ValueError):
    """An answer by position has not as many records as keys were asked for."""


def by_position(records: Raw | bytes, member: str, keys: Sequence[object], members: frozenset[str]) -> bytes:
    """Records with the key of their place, where they do not have it themselves; null is none, and a list is several.

    An object that has none of `members` gets no key, which would make it look like a record. Raises
    OtherNumberError.
    """
    places = decode(records, type=list[Raw])
    if len(places) != len(keys):
        raise OtherNumberError(f"the answer has {len(places)} records for {len(keys)} keys: whose is which?")
    rows: list[dict[str, object]] = []
    for place, key in zip(places, keys, strict=True):
        kind = kind_of(place)
        elements = decode(place, type=list[Raw]) if kind == "[" else [place] if kind != "n" else []
        for one in elements:
            inner = decode(one, type=dict[str, Raw]) if kind_of(one) == "{" else {VALUE: one}
            rows.append(dict(inner) if members and members.isdisjoint(inner) else {member: key, **inner})
    return encode(rows)


def listed(records: Raw | bytes, places: Sequence[JsonPath]) -> bytes:
    """Records in which an array stands at each of the places that hold something: XML does not tell one from several."""
    rows = decode(records, type=list[Raw])
    for path in places:
        rows = [with_changed(row, path.steps, _as_list) for row in rows]
    return encode(rows)


def spread(places: Iterable[Raw]) -> Iterator[Raw]:
    """Elements of XML that several places have, of which one holds an array where it has more than one."""
    for place in places:
        if kind_of(place) == "[":
            yield from decode(place, type=list[Raw])
        else:
            yield place


def is_empty(body: bytes, selector: JsonPath) -> bool:
    """Whether the element of XML that would hold the records is there, with nothing in it but attributes."""
    names = list(takewhile(lambda step: step.kind == "name", selector.steps))
    around = first(body, JsonPath(selector.text, tuple(names[:-1]))) if names[1:] else None
    inner = "" if around is None else decode(around)
    return inner is None or (isinstance(inner, dict) and all(name.startswith("@") for name in inner))


def unpacked(body: bytes, packed: spec.Packed, form: str, policy: HostPolicy) -> bytes:
    """A body with what is packed in it taken out: in its place in JSON, else as the body itself.

    Raises PackedError, MalformedJSON; BodyError where it is larger than the policy allows.
    """
    path = parse_path(packed.path)

    def opened(data: bytes) -> bytes:
        for step in packed.steps:
            if step != "json":
                data = _STEPS[step](data, policy)
        return data

    if not path.steps:
        text = decode(body, type=str).encode() if packed.steps[0] == "json" else body
        return opened(text)

    def replaced(raw: Raw) -> Raw:
        if kind_of(raw) == "n":
            return raw
        data = opened(_text(raw, packed.path))
        return Raw(data) if packed.steps[-1] == "json" else Raw(encode(data.decode()))

    if form == "json":
        whole = with_changed(Raw(body), path.steps, replaced)
        decode(whole)  # what was taken out is JSON, too
        return bytes(whole)
    values = list(walk(body, path))
    if len(values) != 1:
        raise PackedError(f"the answer has {'no' if not values else len(values)} {packed.path!r}")
    return opened(_text(values[0], packed.path))


def _text(raw: Raw, place: str) -> bytes:
    if kind_of(raw) != '"':
        raise PackedError(f"{place!r} is no text")
    return decode(raw, type=str).encode()


def _unbase64(data: bytes, _policy: HostPolicy) -> bytes:
    plain = b"".join(data.split()).translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    try:
        return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        raise PackedError("it is no base64") from None


def packed_files(archive: zipfile.ZipFile) -> list[str]:
    """The files in an archive, but for what Macs put beside them."""
    return [name for name in archive.namelist() if not name.endswith("/") and "__MACOSX/" not in name]


def _unzip(data: bytes, policy: HostPolicy) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = packed_files(archive)
            if len(names) != 1:
                raise PackedError(f"the zip holds {len(names)} files, not one")
            with archive.open(names[0]) as file:
                body = file.read(policy.max_body + 1)
    except NO_ZIP as error:
        raise PackedError(f"it is no zip that can be read: {error}") from None
    if len(body) > policy.max_body:
        raise BodyError(f"the answer is larger than {policy.max_body:,} bytes")
    return body


def _gunzip(data: bytes, policy: HostPolicy) -> bytes:
    reader = BodyReader("gzip", max_body=policy.max_body, max_ratio=policy.max_ratio)
    reader.feed(data)
    return reader.finish()


_STEPS: dict[str, Callable[[bytes, HostPolicy], bytes]] = {
    "base64": _unbase64,
    "gzip": _gunzip,
    "zip": _unzip,
}


def _as_list(raw: Raw) -> Raw:
    return raw if kind_of(raw) in ("[", "n") else Raw(b"[" + bytes(raw) + b"]")


def with_changed(raw: Raw, steps: Sequence[Step], change: Callable[[Raw], Raw]) -> Raw:
    """A JSON value with what stands at the places of a path changed; all else stays as it is written."""
    if not steps:
        return change(raw)
    step, kind = steps[0], kind_of(raw)
    if step.lone and step.kind != "name" and kind != "[":
        return with_changed(raw, steps[1:], change) if step.index in (0, -1) else raw
    if kind == "{" and step.kind in ("name", "every"):
        members = decode(raw, type=dict[str, Raw])
        names = members if step.kind == "every" else [step.name] if step.name in members else []
        return Raw(encode(members | {name: with_changed(members[name], steps[1:], change) for name in names}))
    if kind != "[" or step.kind == "name":
        return raw
    items = decode(raw, type=list[Raw])
    places = list(range(len(items)))
    if step.kind == "index":
        chosen = places[step.index :][:1] if abs(step.index) <= len(items) else []
    else:
        chosen = places if step.kind == "every" else places[step.index :]
    return Raw(
        encode(
            [with_changed(one, steps[1:], change) if at in chosen else one for at, one in enumerate(items)]
        )
    )


__all__ = [
    "KEY",
    "VALUE",
    "BodyError",
    "MalformedJSON",
    "MalformedMarkupError",
    "PackedError",
    "entries",
    "listed",
    "unpacked",
    "with_changed",
]
