"""Fields of GraphQL as specs write them, and selection sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fff.structs import lazy_pattern, replace
from fff_sources.http.response.jsonpath import JsonPath, Step

_NAME = lazy_pattern(r"[_A-Za-z][_0-9A-Za-z]*")
_PIECE = lazy_pattern(r'"(?:[^"\\\n]|\\.)*"|[(){}\[\]]|.', re.DOTALL)
_STRING = lazy_pattern(r'"(?:[^"\\\n]|\\.)*"')
_NESTED = lazy_pattern(r"[\[{][^\[\]{}]*[\]}]")  # a list or an object without another in it
_ARGUMENT = lazy_pattern(r"([_A-Za-z]\w*)\s*:\s*(?:\$([_A-Za-z]\w*))?")
_NUMBER = lazy_pattern(r"([_A-Za-z]\w*)\s*:\s*(\d+)(?![\w.])")
_CLOSING = {")": "(", "]": "[", "}": "{"}

#: What is selected below a field: names with what is below them, in order.
Selection = dict[str, "Selection"]


@dataclass(frozen=True)
class SelectedField:
    """One field on the way down, with its arguments as text and the variables in them."""

    name: str
    arguments: str = ""

    @property
    def variables(self) -> set[str]:
        """The variables its arguments name, wherever they stand but in a string."""
        return set(re.findall(r"\$([_A-Za-z]\w*)", _STRING.sub("", self.arguments)))

    @property
    def given(self) -> dict[str, str | None]:
        """Its arguments by name: the variable that one is, None for what is anything else."""
        return {name: variable or None for name, variable in _ARGUMENT.findall(self._outermost)}

    @property
    def numbers(self) -> dict[str, int]:
        """Those of its arguments that are whole numbers."""
        return {name: int(digits) for name, digits in _NUMBER.findall(self._outermost)}

    @property
    def _outermost(self) -> str:
        """Its arguments without strings, and without what is in lists and objects."""
        bare, before = _STRING.sub("", self.arguments), ""
        while bare != before:
            bare, before = _NESTED.sub(" ", bare), bare
        return bare

    def with_arguments(self, names: Iterable[str]) -> SelectedField:
        """With further arguments, each the variable of its name."""
        more = [f"{name}: ${name}" for name in names]
        known = [self.arguments] if self.arguments.strip() else []
        return replace(self, arguments=", ".join(known + more))

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})" if self.arguments else self.name


def is_name(text: str) -> bool:
    """Whether a text is a name in GraphQL."""
    return _NAME.fullmatch(text) is not None


def parse(text: str) -> tuple[SelectedField, ...]:
    """`a(x: 1).b` as fields; raises ValueError saying what cannot be read."""
    selected: list[SelectedField] = []
    for part in _split(text):
        name, bracket, rest = part.strip().partition("(")
        rest = rest.rstrip()
        if not is_name(name.strip()) or (bracket and not rest.endswith(")")):
            raise ValueError(f"{part.strip()!r} is no field: name or name(argument: value)")
        selected.append(SelectedField(name.strip(), rest[:-1].strip() if bracket else ""))
    return tuple(selected)


def _split(text: str) -> list[str]:
    """The text cut at the dots outside of brackets and strings."""
    parts, open_ = [""], []
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece in "([{":
            open_.append(piece)
        elif piece in _CLOSING and (not open_ or open_.pop() != _CLOSING[piece]):
            raise ValueError(f"{text!r} has a {piece!r} too many")
        if piece == "." and not open_:
            parts.append("")
        else:
            parts[-1] += piece
    if open_:
        raise ValueError(f"{text!r} lacks the end of a {open_[-1]!r}")
    return parts


def selection(paths: Iterable[JsonPath]) -> Selection:
    """What must be selected for these places to be in the answer."""
    tree: Selection = {}
    for path in paths:
        branch = tree
        for step in path.steps:
            if step.kind == "name":
                branch = branch.setdefault(step.name, {})
    return tree


def written(tree: Mapping[str, Selection], more: Iterable[str] = ()) -> str:
    """A selection as text, with further selections as a spec writes them."""
    parts = [name + (f" {{ {written(below)} }}" if below else "") for name, below in tree.items()]
    return " ".join([*parts, *more])


def nested(fields: Iterable[SelectedField], inner: str) -> str:
    """A selection below fields."""
    for one in reversed(tuple(fields)):
        inner = f"{one} {{ {inner} }}" if inner else str(one)
    return inner


def place(fields: Iterable[SelectedField], rest: Iterable[Step] = ()) -> JsonPath:
    """Where in an answer the value of a field is."""
    steps = (Step("name", "data"), *(Step("name", one.name) for one in fields), *rest)
    return JsonPath(text_of(steps), steps)


def text_of(steps: Iterable[Step]) -> str:
    """A path as specs write it."""
    text = ""
    for step in steps:
        text += {"every": "[*]", "index": f"[{step.index}]", "from": f"[{step.index}:]"}.get(
            step.kind, f".{step.name}"
        )
    return text.removeprefix(".")
