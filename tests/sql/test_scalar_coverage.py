"""The count of what the engine computes counts right, and the sample queries are nearly all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scalar_coverage import counted, main

SAMPLES = Path(__file__).parents[2] / "sample_queries"
TEXT = """
-- upper, + and = are the engine's; mask and the string among numbers are not, and sum is no scalar call
SELECT upper(ss_item), mask(ss_item), sum(ss_quantity + 1) FROM store_sales WHERE ss_quantity = 3 AND exp(x) > 1;
CREATE TABLE t (x int);
SELECT ss_sales_price / ss_list_price, CASE WHEN d_date > '2020-01-01' THEN 1 END FROM store_sales
"""


def test_calls_are_counted_by_what_the_engine_takes() -> None:
    count = counted([TEXT])
    assert (count.statements, count.unread) == (2, 1)
    assert (count.functions[True], count.functions[False]) == (2, 2)
    assert (count.operators[True], count.operators[False]) == (5, 0)
    assert {name for name, _ in count.left} == {"mask", "exp"}


def test_the_sample_queries_are_nearly_all_the_engines() -> None:
    count = counted([path.read_text(encoding="utf-8") for path in sorted(SAMPLES.rglob("*.sql"))])
    every = count.functions + count.operators
    assert count.unread == 0
    assert every.total() > 50
    assert every[True] >= 0.95 * every.total()


def test_a_folder_without_sql_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path)])
    assert "no SQL files, skipped" in capsys.readouterr().out
