"""A declarative manifest as it is written: references followed, parameters handed down, and what nobody looked at known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fff.structs import lazy_pattern
from fff_sources.document import dotted

_FOLLOWED = 32  # references one after the other
_REFERENCE = lazy_pattern(r"#/[^\n]+|\*ref\(([\w.\[\]-]+)\)")
#: Keys that say nothing of what is asked for or how an answer is read.
_WORDLESS = frozenset(
    {"type", "$parameters", "$options", "$ref", "name", "metadata", "description", "title", "class_name"}
)


@dataclass
class ManifestPart:
    """A component; `parameters` are what those around it hand down. Every part looked at is in `parts`."""

    root: Mapping[str, Any]
    data: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    place: tuple[str | int, ...] = ()
    parts: list[ManifestPart] = field(default_factory=list, repr=False)
    read: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        self.parts.append(self)

    @property
    def kind(self) -> str:
        """Its type."""
        return str(self.data.get("type") or "")

    @property
    def name(self) -> str:
        """Its place, as reports name it."""
        return dotted(self.place)

    def get(self, key: str) -> Any:
        """What it says, or its parameters do; None where nobody does."""
        self.read.add(key)
        value = self._followed(self.data.get(key))
        return value if value is not None else self._followed(self.parameters.get(key))

    def text(self, key: str) -> str | None:
        """The same where it is a text or a number."""
        value = self.get(key)
        if isinstance(value, bool | int | float):
            return str(value)
        return value if isinstance(value, str) else None

    def mapping(self, key: str) -> dict[str, Any]:
        """The same where it is a mapping."""
        value = self.get(key)
        return (
            {name: self._followed(item) for name, item in value.items()} if isinstance(value, Mapping) else {}
        )

    def items(self, key: str) -> list[Any]:
        """The same where it is a list."""
        value = self.get(key)
        return [self._followed(item) for item in value] if isinstance(value, list) else []

    def part(self, key: str) -> ManifestPart:
        """The component there; one that says nothing where there is none."""
        return self._part(self.get(key), (*self.place, key))

    def children(self, key: str) -> Iterator[ManifestPart]:
        """The components of a list, or the one that stands in its place."""
        value = self.get(key)
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield self._part(self._followed(item), (*self.place, key, index))
        elif value is not None:
            yield self._part(value, (*self.place, key))

    def unread(self, read: Collection[str]) -> Iterator[str]:
        """What it says beside what was read."""
        yield from (key for key in self.data if key not in read and key not in _WORDLESS)

    def __bool__(self) -> bool:
        return bool(self.data)

    def _part(self, value: Any, place: tuple[str | int, ...]) -> ManifestPart:
        data = value if isinstance(value, Mapping) else {}
        own = data.get("$parameters", data.get("$options"))
        parameters = {**self.parameters, **own} if isinstance(own, Mapping) else self.parameters
        return ManifestPart(self.root, data, parameters, place, self.parts)

    def _followed(self, value: Any) -> Any:
        """The value itself, whatever refers to it; what stands beside a reference goes before what it leads to."""
        beside: dict[str, Any] = {}
        for _ in range(_FOLLOWED):
            reference = value.get("$ref") if isinstance(value, Mapping) else value
            if isinstance(value, Mapping) and isinstance(reference, str):
                beside = {**{key: item for key, item in value.items() if key != "$ref"}, **beside}
            if not isinstance(reference, str) or _REFERENCE.fullmatch(reference) is None:
                return {**value, **beside} if beside and isinstance(value, Mapping) else value
            value = self._target(reference)
        return None

    def _target(self, reference: str) -> Any:
        old = _REFERENCE.fullmatch(reference)
        steps = old[1].split(".") if old is not None and old[1] else reference[2:].split("/")
        place: Any = self.root
        for step in steps:
            if isinstance(place, Mapping):
                place = place.get(step)
            elif isinstance(place, list) and step.isdigit() and int(step) < len(place):
                place = place[int(step)]
            else:
                return None
            if isinstance(place, Mapping) and isinstance(place.get("$ref"), str) and step is not steps[-1]:
                place = self._once(place)
        return place

    def _once(self, place: Mapping[str, Any]) -> Any:
        """A mapping on the way that is itself a reference, followed one step."""
        reference = str(place["$ref"])
        target: Any = self.root
        for step in reference.removeprefix("#/").split("/"):
            target = target.get(step) if isinstance(target, Mapping) else None
        return {**target, **place} if isinstance(target, Mapping) else place
