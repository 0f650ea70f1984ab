"""Value classes: one `replace` for structs and dataclasses."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fff.structs import Struct, replace


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
