"""What a query above a block needs of its rows."""

from __future__ import annotations

import planner_fakes
import pytest

from fff.sql.analysis.column_lineage import Needs
from fff.sql.planner.prepare import prepare

CATALOG = planner_fakes.catalog(
    planner_fakes.table("w.f", "zip string, state string, paid double, rec struct<zip:int,x:int>", scans=1),
    planner_fakes.table("w.d", "zip string, income int", lookups=("zip",)),
)
JOIN = "FROM w.f AS f JOIN w.d AS d ON f.zip = d.zip"


def needs(sql: str) -> Needs | None:
    prepared = prepare(sql, CATALOG, {})
    assert prepared.upper is not None
    return prepared.upper.needs


def named(sql: str) -> list[set[str]]:
    """The columns that each result column needs."""
    prepared, found = prepare(sql, CATALOG, {}), needs(sql)
    assert found is not None
    plan = prepared.only_block.plan
    names = [f"{plan.aliases[column.alias].name}.{plan.field_of(column).name}" for column in plan.output]
    return [{names[place] for place in cell} for cell in found.cells]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("state, avg(income), count(*)", [{"f.state"}, {"d.income"}, set()]),
        ("f.state AS s, sum(paid * d.income) / count(1)", [{"f.state"}, {"f.paid", "d.income"}]),
        ("state, max(d.zip), min(f.zip)", [{"f.state"}, {"d.zip"}, {"f.zip"}]),  # laterals above the view
        ("state, max(rec.x), max(f.rec.zip), max(d.zip), max(f.zip)",
         [{"f.state"}, {"f.rec"}, {"f.rec"}, {"d.zip"}, {"f.zip"}]),
        ("state, sum(paid) AS p, p + max(income)", [{"f.state"}, {"f.paid"}, {"f.paid", "d.income"}]),
    ],
)  # fmt: skip
def test_each_result_column_needs_what_it_names(items: str, expected: list[set[str]]) -> None:
    assert named(f"SELECT {items} {JOIN} GROUP BY state") == expected


@pytest.mark.parametrize(
    ("sql", "rows", "grouping", "keys"),
    [
        (f"SELECT state, sum(income) {JOIN} GROUP BY 1", 1, 1, (0,)),
        (f"SELECT state AS s, sum(income) {JOIN} GROUP BY s", 1, 1, (0,)),
        (f"SELECT sum(income), state {JOIN} GROUP BY ALL", 1, 1, (1,)),
        (f"SELECT upper(state) AS s, sum(income) {JOIN} GROUP BY s", 1, None, (0,)),
        (f"SELECT state, sum(paid) {JOIN} GROUP BY state HAVING max(income) > 1", 2, 1, (0,)),
        (f"SELECT sum(income) {JOIN}", 0, 0, ()),
    ],
)
def test_a_row_needs_what_places_it(sql: str, rows: int, grouping: int | None, keys: tuple[int, ...]) -> None:
    found = needs(sql)
    assert found is not None
    assert len(found.rows) == rows
    assert (None if found.grouping is None else len(found.grouping)) == grouping
    assert found.keys == keys
