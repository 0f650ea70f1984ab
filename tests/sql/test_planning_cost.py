"""What a join of many aliases costs before, beside and behind its rows: steps of the engine's code are counted, not time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import fff
from benchmarks.planning import SHAPES, tables_of
from fff.catalog import Catalog
from fff.execution import RunOptions
from fff.simulation.recorder import RunRecorder
from fff.simulation.run import run_statement
from fff.simulation.source import SimulatedSource
from fff.sql.binder.scopes import QueryTree
from fff.sql.plan import Prepared
from fff.sql.planner.prepare import prepare
from fff.sql.planner.statement import plan_queries

ENGINE = str(Path(fff.__file__).parent)
#: Lines of the engine that a run over one row a table may take with 24 aliases, and how they may grow with the aliases.
MOST = 3_000_000
EXPONENT = 2.4


def steps(call: Callable[[], object]) -> int:
    """How many lines of the engine are executed."""
    count = 0

    def line(frame: FrameType, event: str, argument: object) -> Callable[..., object]:
        nonlocal count
        count += event == "line"
        return line

    def begun(frame: FrameType, event: str, argument: object) -> Callable[..., object] | None:
        return line if frame.f_code.co_filename.startswith(ENGINE) else None

    before = sys.gettrace()
    sys.settrace(begun)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "shape",
    [
        "chain of lookups",
        *(
            pytest.param(shape, marks=pytest.mark.slow)
            for shape in ("star", "chain", "clique", "star of lookups")
        ),
    ],
)
def test_a_join_of_many_aliases_costs_about_what_its_text_and_its_hops_do(shape: str) -> None:
    query, access = SHAPES[shape]

    def run(aliases: int) -> Callable[[], object]:
        def whole() -> None:
            found = run_statement(query(aliases), tables_of(aliases, access), options=RunOptions(seed=1))
            assert found.outcome.complete
            assert found.rows == pa.table({"a": [1], "b": [1]})

        return whole

    run(3)()  # what is made on first use
    few, many = steps(run(12)), steps(run(24))
    assert many <= MOST
    assert many <= few * 2**EXPONENT


def grouped(inside: str) -> str:
    return f"SELECT x.a, count(*) AS b FROM ({inside}) x JOIN t1 y ON x.a = y.a GROUP BY x.a"


def limited(inside: str) -> str:
    numbered = f"SELECT x.a, rank() OVER (ORDER BY x.b) AS b FROM (SELECT * FROM ({inside}) FULL JOIN t1 USING (a, b)) x"
    return f"{numbered} LIMIT 10"


def united(inside: str) -> str:
    return f"SELECT x.a, max(x.b) AS b FROM ({inside} UNION SELECT a, b FROM t1) x LEFT JOIN t2 y ON x.a = y.a GROUP BY x.a"


def existing(inside: str) -> str:
    return f"SELECT a, b FROM t1 WHERE EXISTS ({inside}) OR b > 1 LIMIT 5"


def named_twice(levels: int) -> str:
    queries = [
        f"q{level} AS (SELECT x.a, sum(y.b) AS b FROM q{level - 1} x LEFT JOIN q{level - 1} y ON x.a = y.a GROUP BY x.a)"
        for level in range(1, levels + 1)
    ]
    return f"WITH q0 AS (SELECT a, b FROM t0), {', '.join(queries)} SELECT * FROM q{levels} JOIN q{levels} z USING (a)"


def nested(around: Callable[[str], str], levels: int) -> str:
    sql = "SELECT a, b FROM t0"
    for _ in range(levels):
        sql = around(sql)
    return sql


@pytest.mark.parametrize(
    ("shape", "most"),
    [
        (grouped, 4),
        (united, 4),
        (named_twice, 4),
        (limited, 10),
        (existing, 10),
    ],  # two of a query for a level
)
def test_a_query_in_a_statement_is_planned_once_however_often_it_is_tried(
    shape: Callable[[Any], str], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = Catalog()
    catalog.add(SimulatedSource(tables_of(3, "scan"), RunRecorder(), seed=1))

    def planned(levels: int) -> int:
        texts = list[str]()

        def counted(tree: QueryTree, *others: Any) -> Prepared:
            texts.append(tree.statement.sql)
            return plan_queries(tree, *others)

        monkeypatch.setattr("fff.sql.planner.prepare.plan_queries", counted)
        prepare(named_twice(levels) if shape is named_twice else nested(shape, levels), catalog)
        return len(texts)

    # What stands deeper than queries are planned by themselves is planned again less deep, but not for each try.
    assert planned(4) <= most * planned(1)
