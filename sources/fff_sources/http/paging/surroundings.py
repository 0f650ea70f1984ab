"""What is around the records of an answer: the objects in which it speaks of pages (along the selector, some steps below, and the header), and lists."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from fff_sources.http.paging import conventions
from fff_sources.http.paging.conventions import normal
from fff_sources.http.response.json import MalformedJSON, Raw, decode, decode_exact
from fff_sources.http.response.jsonpath import Envelope, kind_of

#: An object's name, and its members.
Object: TypeAlias = tuple[str, Mapping[str, object]]


class Counts(NamedTuple):
    """How much there is: records and, where these stand in several lists, elements of the list around those."""

    records: int = 0
    elements: int = 0

    def of(self, number: int | None) -> int:
        """The one that is this number; else the smaller one, as there is no less."""
        return number if number is not None and number in self else min(self)

    def plus(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(self.records + other.records, self.elements + other.elements)


_DEEP = 3  # steps below an object around the records
_LEFT_OUT = object()
#: In place of the number of a page that no answer of this kind tells.
FIRST_UNTOLD = object()


def objects_around(opened: Envelope) -> Iterator[Object]:
    """The objects around the records, by their names, outermost first, without what leads to the records."""
    for members in opened.levels:
        yield from _with_inner("", members, _DEEP)
    place, below = opened.place, opened.rest.steps
    if place is not None and below and below[0].kind == "index" and kind_of(place) == "[":
        yield from _siblings(decode(place, type=list[Raw]), below[0].index)


def around(
    levels: Sequence[Mapping[str, Raw]], inside: Collection[str]
) -> Iterator[tuple[str, Mapping[str, Raw]]]:
    """The objects around the records, and those one step below under some names, outermost first; by their names."""
    for members in levels:
        yield "", members
        for name in inside:
            if name in members and kind_of(members[name]) == "{":
                yield name, decode(members[name], type=dict[str, Raw])


def _siblings(elements: Sequence[Raw], records: int) -> Iterator[Object]:
    """`[{page, pages, …}, [records]]`: what stands beside a list, where both are elements of another."""
    if not -len(elements) <= records < len(elements) or kind_of(elements[records]) != "[":
        return
    for element in elements:
        if kind_of(element) == "{":
            yield from _with_inner("meta", decode(element, type=dict[str, Raw]), _DEEP)


def _with_inner(name: str, members: Mapping[str, Raw], depth: int) -> Iterator[Object]:
    yield name, {key: value for key, raw in members.items() if (value := _plain(key, raw)) is not _LEFT_OUT}
    if depth:
        for key, raw in members.items():
            if kind_of(raw) == "{":
                inner = decode(raw, type=dict[str, Raw])
                if conventions.CONTAINERS.fullmatch(normal(key)):
                    yield from _with_inner(normal(key), inner, depth - 1)
                elif not name and not conventions.OF_LIMITS.search(normal(key)):
                    yield from _of_unknown(inner)


def _of_unknown(members: Mapping[str, Raw]) -> Iterator[Object]:
    """What an object of any name says that means one thing alone; none where it is a thing or holds records of its own."""
    words = {normal(name): name for name in members}
    if words.keys() & conventions.OF_THINGS or any(kind_of(raw) == "[" for raw in members.values()):
        return
    certain = {
        name: value
        for word, name in words.items()
        if (
            conventions.TOTAL.fullmatch(word)
            or conventions.MORE.fullmatch(word)
            or word in conventions.BESIDE_TOTAL
        )
        and (value := _plain(name, members[name])) is not _LEFT_OUT
        and conventions.NEXT.fullmatch(word) is None
    }
    if conventions.BESIDE_TOTAL & words.keys():
        certain |= {
            words[word]: _plain(words[word], members[words[word]])
            for word in ("total", "count")
            if word in words
        }
    if certain:
        yield "?", certain
    for name, raw in members.items():
        if kind_of(raw) == "{" and conventions.CONTAINERS.fullmatch(normal(name)):
            yield from _with_inner(normal(name), decode(raw, type=dict[str, Raw]), 0)


def _plain(name: str, raw: Raw) -> object:
    """A member as a value; containers only where they may be totals, links or cursors."""
    kind = kind_of(raw)
    if kind not in "[{":
        return decode_exact(raw)
    word = normal(name)
    if kind == "{" and (
        word in ("total", "continue")
        or conventions.NEXT.fullmatch(word) is not None
        or conventions.TOTAL.fullmatch(word) is not None
    ):
        return decode(raw)
    if word in ("link", "links") or (kind == "[" and conventions.NEXT.fullmatch(word) is not None):
        return decode(raw)
    return _LEFT_OUT


@lru_cache(maxsize=1024)
def _may_tell(fields: tuple[str, ...]) -> bool:
    """Whether one of the fields of a header speaks of pages, whatever it says: a source's answers mostly have the same fields."""
    known = {"content-range", *conventions.COUNTED_PAGES, *conventions.JSON_HEADERS}
    return any(field in known or conventions.header_word(field) is not None for field in fields)


def objects_of(headers: Mapping[str, str]) -> Iterator[Object]:
    """The fields of a header as members of an object."""
    if not _may_tell(tuple(headers)):
        return
    members: dict[str, object] = {}
    for field_name, text in headers.items():
        word = conventions.header_word(field_name) if text else None
        if word is not None:
            members.setdefault(word, text)
    content_range = conventions.CONTENT_RANGE.fullmatch(headers.get("content-range", ""))
    if content_range is not None:
        members["total_count"] = content_range[1]
    for name, param in conventions.COUNTED_PAGES.items():
        if name in headers:
            members.setdefault(param, FIRST_UNTOLD)
    if members:
        yield "headers", members
    for name in conventions.JSON_HEADERS:
        text = headers.get(name, "")
        if text.lstrip().startswith("{"):
            try:
                yield from _with_inner(name, decode(text.encode(), type=dict[str, Raw]), 0)
            except MalformedJSON:
                continue
