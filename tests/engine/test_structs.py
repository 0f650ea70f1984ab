"""Value classes: one `replace` for structs and dataclasses, and what their objects make when it is asked for."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import dataclass

import pytest

from fff.structs import Struct, cached_property, lazy_pattern, replace


class Place(Struct, frozen=True):
    name: str
    zip: int = 0


@dataclass(frozen=True)
class Town:
    name: str
    zip: int = 0


@pytest.mark.parametrize("kind", [Place, Town])
def test_some_fields_are_replaced_and_the_others_kept(kind: type[Place]) -> None:
    before = kind("Berkeley", 94704)
    assert replace(before, zip=94705) == kind("Berkeley", 94705)
    assert before == kind("Berkeley", 94704)
    with pytest.raises(TypeError):
        replace(before, state="CA")  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        before.zip = 94705  # type: ignore[misc]


class Route(Struct, dict=True):
    stops: list[str]

    @cached_property
    def ends(self) -> tuple[str, str]:
        """The first and the last stop."""
        return self.stops[0], self.stops[-1]


def test_what_is_made_when_it_is_asked_for_is_made_once_for_each_object() -> None:
    there, back = Route(["Berkeley", "Oakland"]), Route(["Oakland", "Berkeley"])
    assert there.ends is there.ends
    assert (there.ends, back.ends) == (("Berkeley", "Oakland"), ("Oakland", "Berkeley"))
    assert replace(there, stops=["Albany"]).ends == ("Albany", "Albany"), "a copy makes its own"
    assert Route.ends.__doc__ == "The first and the last stop."


def test_a_lazy_pattern_is_compiled_when_it_is_used() -> None:
    """And does then what one of `re` does, copies of it too."""
    wrong = lazy_pattern("(")
    assert wrong.pattern == "("
    with pytest.raises(re.error):
        wrong.match("(")
    word, at_once = lazy_pattern(r"(?P<first>\w)\w*", re.ASCII), re.compile(r"(?P<first>\w)\w*", re.ASCII)
    assert (word.flags, word.groupindex) == (at_once.flags, at_once.groupindex)
    for one in (word, copy.deepcopy(word), pickle.loads(pickle.dumps(word))):
        assert one.sub("x", "to Berkeley") == "x x"
    assert lazy_pattern(rb"\d+").findall(b"94704 94705") == [b"94704", b"94705"]
    with pytest.raises(AttributeError):
        word.matches  # type: ignore[attr-defined]  # noqa: B018
