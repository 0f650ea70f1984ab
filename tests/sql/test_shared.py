"""What follows from an OR is true wherever the OR is, NULLs or not, and says enough to join, filter and bind keys."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest
from planner_fakes import DEMO, catalog, table

from fff.dataflow.plan.expressions import evaluate
from fff.errors import InfeasibleQuery
from fff.sql import prepare

SMALL = catalog(
    table("x.r", "a bigint, b bigint, s string", scans=1),
    table("x.t", "a bigint, b bigint, s string", scans=1),
)


def following(sql: str) -> list[str]:
    """What is joined and tested besides what the text says, in words."""
    block = prepare(sql, DEMO).only_block
    return [
        *(" = ".join(one) for one in block.equalities),
        *(one.text for one in block.conjuncts if one.derived),
    ]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("(F.zip = c.zip AND F.id = 1) OR (F.zip = c.zip AND F.id = 2)", ["F.zip = c.zip"]),
        ("(F.zip = c.zip AND F.id = 1) OR (C.ZIP = f.zip AND c.year = 2)", ["F.zip = c.zip"]),
        ("(F.zip = c.zip AND F.id = 1) OR F.zip = c.zip", ["F.zip = c.zip"]),
        ("((F.zip = c.zip) AND (F.id = 1 OR c.year = 2)) OR (c.zip = F.zip AND F.id = 3)", ["F.zip = c.zip"]),
        (
            "(F.zip = c.zip AND (F.id = 1 OR (F.id = 2 AND c.year = 1))) OR (F.zip = c.zip AND F.State = 'x')",
            ["F.zip = c.zip"],
        ),
        ("NOT ((F.zip = c.zip AND F.id = 1) OR (F.zip = c.zip AND F.id = 2))", []),
        ("(F.zip = c.zip AND F.id = 1) OR c.year = 2", []),
        ("(F.zip <=> c.zip AND F.id = 1) OR (F.zip = c.zip AND c.year = 2)", []),
    ],
)
def test_what_joins(condition: str, expected: list[str]) -> None:
    found = following(f"SELECT F.id FROM FEC F, crime c WHERE {condition}")
    assert [one for one in found if " OR " not in one][: len(expected)] == expected
    assert ("F.zip = c.zip" in found) == bool(expected)
    assert (
        found[: len(expected)]
        == following(f"SELECT F.id FROM FEC F JOIN crime c ON {condition}")[: len(expected)]
    )


def test_what_each_branch_demands_of_one_table() -> None:
    found = following(
        "SELECT 1 FROM FEC F, crime c WHERE (F.id = 1 AND c.year = 2) OR (F.id = 3 AND c.year > 4)"
    )
    assert found == ["F.id = 1 OR F.id = 3", "c.year = 2 OR c.year > 4"]
    assert following("SELECT 1 FROM FEC WHERE (id = 1 AND zip = 'a') OR (id = 2 AND zip = 'b')") == []


def test_keys_are_bound_by_what_all_branches_demand() -> None:
    demographics = "SELECT D.population FROM FEC F, Demographics D WHERE"
    block = prepare(
        f"{demographics} (F.zip = D.zip AND F.State LIKE 'C%' AND D.population > 1) OR (D.zip = F.zip AND F.id = 2)",
        DEMO,
    ).only_block
    assert [alias.active for alias in block.plan.aliases] == [True, False]
    constants = prepare(
        f"{demographics} (D.zip = '1' AND F.id = 1) OR (D.zip = '2' AND F.id = 2)", DEMO
    ).only_block
    assert constants.plan.aliases[1].seeds[0].keys == (("1",), ("2",))
    with pytest.raises(InfeasibleQuery):
        prepare(f"{demographics} (F.zip = D.zip AND F.id = 1) OR D.population = 2", DEMO)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT F.id FROM (SELECT DISTINCT * FROM FEC) F LEFT JOIN Demographics D ON (F.zip = D.zip AND D.population > 1) OR (F.zip = D.zip AND F.id = 2)",
        "SELECT id FROM FEC F WHERE EXISTS (SELECT 1 FROM Demographics D WHERE (F.zip = D.zip AND D.population > 1) OR (F.zip = D.zip AND F.id = 2) ORDER BY 1)",
        "WITH q AS (SELECT DISTINCT zip AS z, id FROM FEC) SELECT 1 FROM q JOIN Demographics D ON (z = D.zip AND q.id = 1) OR (z = D.zip AND D.population = 2)",
    ],
)  # fmt: skip
def test_keys_come_from_other_blocks_as_well(sql: str) -> None:
    assert any(block.feeds for block in prepare(sql, DEMO).blocks)


def test_the_preserved_side_of_an_outer_join_keeps_its_rows() -> None:
    sql = "SELECT 1 FROM (SELECT id FROM FEC GROUP BY id) F LEFT JOIN crime c ON (F.id = 1 AND c.year = 2) OR (F.id = 3 AND c.year = 4)"
    tested = [[one.text for one in block.conjuncts] for block in prepare(sql, DEMO).blocks]
    assert sorted(tested) == [[], ["c.year = 2 OR c.year = 4"]]


def test_a_limit_counts_with_an_or_that_the_engine_evaluates() -> None:
    sql = "SELECT count(*) FROM (SELECT id FROM FEC WHERE (id = 1 AND zip = 'a') OR (id = 1 AND State = 'b') LIMIT 3)"
    assert prepare(sql, DEMO).only_block.plan.limit == 3


@pytest.mark.parametrize("seed", range(40))
def test_what_follows_is_true_wherever_the_condition_is(seed: int) -> None:
    """Over rows with NULLs; and where it is false or NULL, the condition is never true."""
    rng = random.Random(seed)
    sql = f"SELECT r.a FROM r, t WHERE {condition(rng, 3)}"
    block = prepare(sql, SMALL).only_block
    rows = list(itertools.product([None, 0, 1], [None, 1], ["x", None], [None, 0, 1], [0, 1], ["x", "y"]))
    columns = [pa.array(list(values)) for values in zip(*rows, strict=True)]

    def truth(expr) -> list[bool | None]:
        found = evaluate(expr, lambda one: columns[3 * one.alias + one.index], len(rows))
        return found.to_pylist()

    written = [truth(one.expr) for one in block.conjuncts if not one.derived]
    passes = [all(values) for values in zip(*written, strict=True)]
    for one in block.conjuncts:
        if one.derived:
            assert one.expr is not None
            for value, row_passes in zip(truth(one.expr), passes, strict=True):
                assert value is True or not row_passes, (sql, one.text)


def condition(rng: random.Random, depth: int) -> str:
    """An OR of ANDs and so on; what is said in all branches is said in other words at times."""
    simple = ["r.b = 1", "t.b > 0", "r.s = 'x'", "t.s IS NULL", "NOT r.a = 1", "r.b <=> t.b", "r.a >= 2 - 1"]
    if depth == 0:
        return rng.choice(simple)
    same = rng.choice([["r.a = t.a", "t.a = r.a"], ["r.b = 1"], []])
    branches = []
    for _ in range(rng.randint(1, 3)):
        parts = [condition(rng, depth - rng.randint(1, depth)) for _ in range(rng.randint(1, 2))]
        branches.append(" AND ".join([*([rng.choice(same)] if same else []), *parts]))
    return "(" + " OR ".join(f"({one})" for one in branches) + ")"


def test_the_generator_has_a_point() -> None:
    derived = 0
    for seed in range(40):
        block = prepare(f"SELECT r.a FROM r, t WHERE {condition(random.Random(seed), 3)}", SMALL).only_block
        derived += any(one.derived for one in block.conjuncts)
    assert derived > 8
