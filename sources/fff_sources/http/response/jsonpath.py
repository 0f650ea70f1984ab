"""Places inside a JSON text: the subset of JSONPath that specs use, walked without decoding what it passes by.

`$` · `a.b` · `$.a[0].b` · `['odd.name']` · `['it''s']` · `results[*]` · `*` (every value of an object) ·
`[1:]` (a slice from there on)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from fff.structs import Struct, lazy_pattern
from fff_sources.http.response.json import Raw, decode, encode

_TOKEN = lazy_pattern(
    r"""\.?(?:
        (?P<name>[^.\[\]'"*$]+)
      | (?P<all>\*)
      | \[(?P<index>-?\d+)\]
      | \[(?P<start>\d+):\]
      | (?P<every>\[\*\])
      | \['(?P<single>(?:[^']|'')*)'\]
      | \["(?P<double>(?:[^"]|"")*)"\]
    )""",
    re.VERBOSE,
)


#: What the text of an element of XML is called, beside its attributes and children.
TEXT = "#text"


class Step(Struct, frozen=True):
    """One step down: a member by name, an element by index, every element or value, or the elements from an index on.

    `lone`: into XML, which does not tell one element from a list of one, nor text from an element that has
    nothing else.
    """

    kind: Literal["name", "index", "every", "from"]
    name: str = ""
    index: int = 0
    lone: bool = False


class JsonPath(Struct, frozen=True):
    """A parsed path. `text` is how the spec wrote it; `pattern` cuts the value out of the text that stands there."""

    text: str
    steps: tuple[Step, ...]
    pattern: re.Pattern[str] | None = None

    @property
    def single(self) -> bool:
        """Whether it names at most one place."""
        return all(step.kind in ("name", "index") for step in self.steps)

    @property
    def around(self) -> JsonPath | None:
        """The elements of the outermost list, where a list or more are inside of it; None where there is one list."""
        every = [number for number, step in enumerate(self.steps, 1) if step.kind == "every"]
        some = every or [number for number, step in enumerate(self.steps, 1) if step.kind == "from"]
        return JsonPath(self.text, self.steps[: some[0]]) if some and some[0] < len(self.steps) else None

    @property
    def names(self) -> tuple[str, ...] | None:
        """The member names, when the path is made of nothing else."""
        if all(step.kind == "name" for step in self.steps):
            return tuple(step.name for step in self.steps)
        return None


WHOLE = JsonPath("$", ())


@lru_cache(maxsize=1024)  # every answer is read by the paths of its spec
def parse_path(text: str, form: str = "json") -> JsonPath:
    """Parse a path into answers of a format; raises ValueError showing the place that cannot be read."""
    position = 1 if text.startswith("$") else 0
    steps: list[Step] = []
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"{text!r} cannot be read as a path from {text[position:]!r} on")
        step = _step(match)
        is_lone = step.name == TEXT or (step.kind != "name" and match.lastgroup != "all")
        steps.append(Step(step.kind, step.name, step.index, lone=True) if form == "xml" and is_lone else step)
        position = match.end()
    return JsonPath(text, tuple(steps))


def quoted(name: str) -> str:
    """A member's name, whatever it holds, as a step of a path; a quote in it is doubled."""
    return f'["{name}"]' if "'" in name and '"' not in name else "['{}']".format(name.replace("'", "''"))


def literal_path(name: str) -> JsonPath:
    """The path of a member whose name is taken as it is, dots and all."""
    return JsonPath(name, (Step("name", name),))


def _step(match: re.Match[str]) -> Step:
    group, text = match.lastgroup, match[match.lastgroup or 0]
    if group in ("name", "single", "double"):
        if group != "name":
            quote = "'" if group == "single" else '"'
            return Step("name", name=text.replace(2 * quote, quote))
        return Step("name", name=text.strip())
    if group == "index":
        return Step("index", index=int(text))
    if group == "start":
        return Step("from", index=int(text))
    return Step("every")


def walk(body: bytes | Raw, path: JsonPath) -> Iterator[Raw]:
    """Every place the path names, as raw JSON; nothing where a member is absent or its parent is no container.

    Raises MalformedJSON where the text on the way is not JSON.
    """
    return iter(_along((body if isinstance(body, Raw) else Raw(body),), path.steps))


def _along(places: Sequence[Raw], steps: Sequence[Step]) -> Sequence[Raw]:
    for step in steps:
        places = [below for place in places for below in _below(place, step)]
    return places


def elements(place: Raw, path: JsonPath, *, is_xml: bool = False) -> Sequence[Raw]:
    """The same of a path whose first step goes to several.

    Null in the place of an edge (Relay's `edges[*].node`) is a bad record, as each of them holds one;
    elsewhere it may say that there is nothing for one of several keys. XML says so that an element is empty.
    """
    whole, steps = _along((place,), path.steps[:1]), path.steps[1:]
    found = _along(whole, steps)
    holds_one = not is_xml and kind_of(place) == "[" and [step.name for step in steps] == ["node"]
    if holds_one and len(found) < len(whole):
        return [raw for one in whole for raw in ((one,) if kind_of(one) == "n" else _along((one,), steps))]
    return found


def first(body: bytes | Raw, path: JsonPath) -> Raw | None:
    """The first place the path names, or None."""
    return next(walk(body, path), None)


class Envelope(Struct, frozen=True):
    """What stands around the place of a path, outermost first and without what leads to it, as far as there are names to go by.

    From `place` on, which is None where a name leads nowhere, the path goes on as `rest`.
    """

    levels: tuple[Mapping[str, Raw], ...]
    place: Raw | None
    path: JsonPath

    @property
    def rest(self) -> JsonPath:
        """What is left of the path at the place."""
        return JsonPath(self.path.text, self.path.steps[len(self.levels) :])

    def places(self, path: JsonPath) -> Sequence[Raw] | None:
        """Every place that another path names; None where that is one of the objects which lead to the place."""
        for level, (own, members) in enumerate(zip(self.path.steps, self.levels, strict=False)):
            step, *below = path.steps[level:] or (None,)
            if step is None or step.kind != "name":
                return None
            if step.name != own.name:
                return _along((members[step.name],) if step.name in members else (), below)
        return _along(() if self.place is None else (self.place,), path.steps[len(self.levels) :])

    def beside(self, path: JsonPath) -> Mapping[str, Raw] | None:
        """The object in which the last name of a path stands, but for what leads to the place; None of any other object."""
        above = path.steps[:-1]
        return (
            self.levels[len(above)]
            if len(above) < len(self.levels) and above == self.path.steps[: len(above)]
            else None
        )

    def mentions(self, text: str) -> bool:
        """Whether a text stands in it as it is."""
        wanted = encode(text)
        return any(wanted in bytes(raw) for members in self.levels for raw in members.values())


def envelope(body: bytes, path: JsonPath) -> Envelope:
    """A body taken apart along a path. Raises MalformedJSON where the text on the way is not JSON."""
    place = Raw(body)
    levels: list[dict[str, Raw]] = []
    for step in path.steps:
        if step.kind != "name" or kind_of(place) != "{":
            return Envelope(tuple(levels), place, path)
        members = decode(place, type=dict[str, Raw])
        inner = members.pop(step.name, None)
        levels.append(members)
        if inner is None:
            return Envelope(tuple(levels), None, path)
        place = inner
    return Envelope(tuple(levels), place, path)


def value(body: bytes | Raw, path: JsonPath) -> Any:
    """The first place the path names, decoded; None where it is absent."""
    place = first(body, path)
    return None if place is None else decode(place)


def kind_of(raw: bytes | Raw) -> str:
    """The first character of a JSON text ("{", "[", '"', "n", …), or "" for an empty one."""
    view = memoryview(raw)
    for byte in view:
        if byte not in b" \t\r\n":
            return chr(byte)
    return ""


#: What is its own only element or, of a name, its own text.
_LONE = {"name": ('"',), "index": ("{", '"'), "every": ("{", '"'), "from": ("{", '"')}


def _below(place: Raw, step: Step) -> Iterable[Raw]:
    kind = kind_of(place)
    if step.lone and kind in _LONE[step.kind]:
        return (place,) if step.kind == "name" or step.index in (0, -1) else ()
    if step.kind == "name":
        if kind != "{":
            return ()
        member = decode(place, type=dict[str, Raw]).get(step.name)
        return () if member is None else (member,)
    if step.kind == "every" and kind == "{":
        return decode(place, type=dict[str, Raw]).values()
    if kind != "[":
        return ()
    elements = decode(place, type=list[Raw])
    if step.kind == "every":
        return elements
    if step.kind == "from":
        return elements[step.index :]
    return elements[step.index : step.index + 1 or None] if abs(step.index) <= len(elements) else ()
