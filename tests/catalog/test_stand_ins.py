"""Every table of the catalog's younger sources against a host that speaks as their documentation says."""

from __future__ import annotations

import re

import pytest

from fff_sources.document import read_document
from fff_sources.load import BUNDLED
from tests.catalog.stand_in import ANSWERS, Case, count_of, limits, told
from tests.sources.bundled import rows_of
from tests.web.serving import FakeTime, Serve, serve

__all__ = ["serve"]

SOURCES = sorted(file.stem for file in ANSWERS.glob("*.yaml"))
#: The first of every fourth source, and the others, which take their time.
CASES = [
    pytest.param(source, number, marks=[pytest.mark.slow] * (number > 1 or at % 4), id=f"{source} {number}")
    for at, source in enumerate(SOURCES)
    for number in range(1, count_of(source) + 1)
]


@pytest.mark.parametrize(("source", "number"), CASES)
async def test_the_rows_are_those_of_the_documented_answers(serve: Serve, source: str, number: int) -> None:
    case = Case(source, number, told(source)["cases"][number - 1])
    host = case.host()
    served = await serve(host)
    rows = await rows_of(
        case.source, served.url, case.sql, case.data.get("environ"), case.data.get("warning", ""),
        complete=case.data.get("complete", True), clock=FakeTime().clock,
    )  # fmt: skip
    assert host.problems == []
    assert not host.unasked
    if case.count is not None:
        assert len(rows) == case.count
        assert len(set(map(repr, rows))) == case.count
    else:
        wanted = [tuple(row) for row in case.data["rows"]]
        plain = [tuple(map(_plain, row)) for row in rows]
        assert sorted(plain, key=repr) == sorted(wanted, key=repr)


def _plain(cell: object) -> object:
    """As YAML has it: dates, times and decimals are texts."""
    return cell if cell is None or isinstance(cell, int | float | list) else str(cell)


def test_every_table_has_a_case() -> None:
    for source in SOURCES:
        tables = set(read_document(BUNDLED / f"{source}.yaml").data["sources"][source]["tables"])
        cases = told(source)["cases"]
        assert len(cases) == count_of(source), source
        assert [list(one) for one in limits(source)] == told(source)["limits"], source
        used = {name for case in cases for name in re.findall(rf"\b{source}\.(\w+)", case["sql"])}
        assert used >= tables, source


def test_every_source_has_answers() -> None:
    assert {file.stem for file in BUNDLED.glob("*.yaml")} == set(SOURCES)
