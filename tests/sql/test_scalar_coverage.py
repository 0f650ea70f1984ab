"""The count of what the engine computes counts right, and the sample queries are nearly all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scalar_coverage import counted, main

SAMPLES = Path(__file__).parents[2] / "sample_queries"
TEXT = """
-- upper, + and = are the engine's; xpath and sinh are not, and sum is no scalar call
SELECT upper(ss_item), xpath(ss_item, 'a'), sum(ss_quantity + 1) FROM store_sales WHERE ss_quantity = 3 AND sinh(x) > 1;
CREATE TABLE t (x int);
SELECT ss_sales_price / ss_list_price, CASE WHEN d_date > '2020-01-01' THEN 1 END FROM store_sales
"""


def test_calls_are_counted_by_what_the_engine_takes() -> None:
    count = counted([TEXT])
    assert (count.statements, count.unread) == (2, 1)
    assert (count.functions[True], count.functions[False]) == (2, 2)
    assert (count.operators[True], count.operators[False]) == (5, 0)
    assert {name for name, _ in count.left} == {"xpath", "sinh"}


def test_statements_that_spark_refuses_are_not_counted() -> None:
    count = counted([TEXT, "SELECT  mask('a',\n 'bc')"], refused={"SELECT mask('a', 'bc')"})
    assert (count.refused, count.functions.total()) == (1, 4)


def test_calls_that_no_engine_can_repeat_are_not_counted() -> None:
    count = counted(["SELECT rand(), randn(1), uuid(), current_date(), now(), try_sum(1), length('a')"])
    assert count.functions == {True: 1}


def test_what_only_looks_like_a_call_is_not_counted() -> None:
    count = counted(
        [
            "SELECT * FROM store_sales PIVOT (sum(ss_item) FOR x IN (1 AS one, 2))",
            "SELECT -9223372036854775808L, transform(words, one -> one > 'a'), CAST('today' AS DATE)",
        ]
    )
    assert (count.functions, count.operators) == ({True: 1}, {True: 2})


def test_a_text_of_a_collation_is_counted_inside_of_something_else() -> None:
    count = counted(["SELECT ss_item COLLATE utf8_lcase = 'a', ss_item COLLATE utf8_lcase FROM store_sales"])
    assert (count.functions[True], count.functions[False], count.operators[True]) == (1, 1, 1)


def test_the_sample_queries_are_nearly_all_the_engines() -> None:
    count = counted([path.read_text(encoding="utf-8") for path in sorted(SAMPLES.rglob("*.sql"))])
    every = count.functions + count.operators
    assert count.unread == 0
    assert every.total() > 50
    assert every[True] >= 0.95 * every.total()


def test_a_folder_without_sql_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path)])
    assert "no SQL files, skipped" in capsys.readouterr().out
