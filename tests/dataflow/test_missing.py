"""The missing manifest."""

from __future__ import annotations

from datetime import date

import pytest

from fff.dataflow.missing import MissingParts, quoted
from fff.limits import MISSING_LISTED
from fff.stats import Missing
from tests.dataflow.blocks import block, table

PLAN = block([table("zip:string year", (0,), (0, 1), name="gov.crime")])


class Keys:
    """A lookup module as far as the manifest asks: the values of a key."""

    def __init__(self, *values: tuple[object, ...]) -> None:
        self.values_of = values
        self.shown: list[int] = []

    def values(self, key: int) -> tuple[object, ...]:
        self.shown.append(key)
        return self.values_of[key]


def test_parts_are_listed_once_as_predicates() -> None:
    missing = MissingParts(PLAN)
    assert not missing
    missing.key(0, 0, Keys(("99999",)), 0, "HTTP 503")
    missing.key(0, 0, Keys(("99999",)), 0, "HTTP 500")
    missing.key(0, 1, Keys(("O'Hare", 2020)), 0, "truncated")
    missing.scan(0, "HTTP 401")
    assert missing
    assert missing.listed() == (
        Missing("gov.crime", "zip = '99999'", "HTTP 503"),
        Missing("gov.crime", "zip = 'O''Hare' AND year = 2020", "truncated"),
        Missing("gov.crime", "true", "HTTP 401"),
    )
    missing.clear()
    assert not missing
    assert missing.listed() == ()


def test_beyond_the_bound_they_are_counted() -> None:
    missing = MissingParts(PLAN)
    keys = Keys(*((str(number),) for number in range(MISSING_LISTED + 7)))
    for number in range(MISSING_LISTED + 7):
        missing.key(0, 0, keys, number, "HTTP 503" if number % 2 else "HTTP 500")
        missing.key(0, 0, keys, number, "again")
    assert keys.shown == list(range(MISSING_LISTED)), "the values of the others are never looked at"
    listed = missing.listed()
    assert len(listed) == MISSING_LISTED + 2
    assert set(listed[-2:]) == {
        Missing("gov.crime", "4 more keys", "HTTP 500"),
        Missing("gov.crime", "3 more keys", "HTTP 503"),
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [(5, "5"), (1.5, "1.5"), ("a'b", "'a''b'"), (date(2024, 2, 29), "'2024-02-29'"), (True, "True")],
)
def test_quoted(value: object, text: str) -> None:
    assert quoted(value) == text
