"""Conditions that compute something: rows they drop are asked nothing for, and what fails on a row is told as Spark tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fff.errors import QueryError
from tests.engine.duck import over_duck
from tests.engine.site import Site, access, federated, run
from tests.sampling import every_row
from tests.web.serving import Serve

RATINGS = ("severe", "Severe", "minor", None)
CRIME = [(f"{n:03}", RATINGS[n % 4], n * 25) for n in range(40)]
INCOMES = [(f"{n:03}", 1000 * n) for n in range(40)]
TABLES = {
    "crime": access("crime", {"zip": "string", "rating": "string", "incidents": "int"}),
    "incomes": access("incomes", {"zip": "string", "income": "int"}, scan=False, lookups=["zip"]),
}
JOIN = "SELECT c.zip, income FROM crime c JOIN incomes i ON c.zip = i.zip WHERE "


def site() -> Site:
    return Site({"crime": (("zip", "rating", "incidents"), CRIME), "incomes": (("zip", "income"), INCOMES)})


@pytest.mark.parametrize(
    ("condition", "zips"),
    every_row(
        2,
        [
            ("rating = 'severe'", range(0, 40, 4)),
            ("rating LIKE 'sev%'", range(0, 40, 4)),
            ("lower(rating) = 'severe'", [n for n in range(40) if n % 4 < 2]),
            ("incidents % 100 = 0", range(0, 40, 4)),
            ("incidents + 25 > 900", range(36, 40)),
            ("CAST(c.zip AS INT) BETWEEN 3 AND 5", range(3, 6)),
            ("CASE rating WHEN 'minor' THEN incidents > 500 END", [22, 26, 30, 34, 38]),
            ("coalesce(rating, 'none') RLIKE '^n' AND incidents / 2 < 100", [3, 7]),
            ("(rating LIKE 's%') IS NOT TRUE AND incidents < 130", [1, 2, 3, 5]),
            (
                "(rating = 'minor' OR incidents < 50) = (incidents < 100) AND incidents < 300",
                [0, 1, 2, 4, 5, 8, 9],
            ),
            ("concat_ws('''', rating, c.zip) = 'minor''006'", [6]),
            ("concat_ws('-', array(rating, c.zip)) = 'severe-004'", [4]),
            (r"c.zip RLIKE r'^\d+7$' AND nullif(rating, 'minor') IS NULL", [7, 27]),
        ],
    ),
)
async def test_only_rows_that_pass_are_asked_for(
    serve: Serve, tmp_path: Path, condition: str, zips: Any
) -> None:
    web = site()
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        rows, execution = await run(federation, JOIN + condition)
    assert rows == [(f"{n:03}", 1000 * n) for n in zips]
    assert sum(web.keys.values()) == len(rows)
    assert not execution.outcome.report["spark"]["used"]


async def test_a_limit_stops_behind_a_computed_condition(serve: Serve, tmp_path: Path) -> None:
    web = site()
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        rows, _ = await run(federation, "SELECT zip FROM crime WHERE incidents + 1 > 50 LIMIT 3")
    assert len(rows) == 3
    assert web.scans["crime"] <= 2


@pytest.mark.parametrize(
    ("condition", "told", "underlined"),
    [
        ("1000 / incidents > 100", "[DIVIDE_BY_ZERO] Division by zero", "1000 / incidents > 100"),
        ("incidents > 0 OR 7 % incidents = 1", "[REMAINDER_BY_ZERO]", "incidents > 0 OR 7 % incidents = 1"),
        ("incidents + 2147483000 > 5", "[ARITHMETIC_OVERFLOW] integer overflow", None),
        ("c.zip = '000' AND CAST(rating AS INT) = 1", "The value 'severe' of the type \"STRING\"", None),
    ],
)
async def test_what_fails_on_a_row_of_the_result_is_told(
    serve: Serve, tmp_path: Path, condition: str, told: str, underlined: str | None
) -> None:
    async with federated(serve, site(), tmp_path, TABLES) as (federation, _):
        with pytest.raises(QueryError) as caught:
            await run(federation, "SELECT zip FROM crime c WHERE " + condition)
    assert told in caught.value.message
    if underlined is not None:
        assert caught.value.sql is not None
        assert caught.value.span is not None
        assert caught.value.sql[caught.value.span.start : caught.value.span.end] == underlined


@pytest.mark.parametrize(
    ("condition", "zips"),
    [
        ("incidents > 0 AND 1000 / incidents > 10", range(1, 4)),  # behind AND it is not evaluated
        (
            "1000 / incidents > 10 AND rating = 'Severe'",
            [1],
        ),  # a row that another condition drops fails nowhere
        ("if(incidents = 0, false, 1000 / incidents > 19)", [1, 2]),
        ("TRY_CAST(rating AS INT) IS NULL AND incidents < 50", [0, 1]),
    ],
)
async def test_what_is_not_evaluated_does_not_fail(
    serve: Serve, tmp_path: Path, condition: str, zips: Any
) -> None:
    web = site()
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        rows, _ = await run(federation, JOIN + condition)
    assert rows == [(f"{n:03}", 1000 * n) for n in zips]


async def test_a_query_above_has_the_last_word(serve: Serve, tmp_path: Path) -> None:
    """Rows that are undecided reach it, with the condition; and no others that it drops."""
    async with federated(serve, site(), tmp_path, TABLES) as (federation, _):
        duck = over_duck(federation)
        rows, _ = await run(federation, "SELECT count(*) FROM crime WHERE 1000 / incidents > 10")
    assert rows == [(4,)]  # DuckDB divides by zero
    assert "1000 / incidents > 10" in duck.asked[-1]


async def test_a_condition_over_two_tables_is_a_selection(serve: Serve, tmp_path: Path) -> None:
    async with federated(serve, site(), tmp_path, TABLES) as (federation, _):
        rows, execution = await run(federation, JOIN + "income > incidents * 39 + 250")
    assert rows == [(f"{n:03}", 1000 * n) for n in range(11, 40)]
    assert not execution.outcome.report["spark"]["used"]
