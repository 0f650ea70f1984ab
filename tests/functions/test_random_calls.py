"""Random statements with calls of functions, wherever those may stand, beside DuckDB; and each function asked once for each argument."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import fff
from fff.spark.session import SparkEngine

FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, str], str]] = {
    "odd": (lambda a: a % 2 == 1, {"a": "int"}, "boolean"),
    "twice": (lambda a: 2 * a, {"a": "int"}, "int"),
    "up": (lambda a: a.upper(), {"a": "string"}, "string"),
    "plus": (lambda a, b: a + b, {"a": "int", "b": "int"}, "int"),
}
DUCK = {"int": "INTEGER", "boolean": "BOOLEAN", "string": "VARCHAR"}
JOINS = ["r", "r JOIN s ON r.a = s.a", "r LEFT JOIN s ON r.a = s.a", "r LEFT JOIN s ON r.b = s.a"]


def tables(rng: random.Random) -> dict[str, pa.Table]:
    def column(size: int, kind: pa.DataType, *values: object) -> pa.Array:
        return pa.array([rng.choice([None, *values]) for _ in range(size)], kind)

    many, few = rng.randint(0, 12), rng.randint(0, 8)
    numbers = {name: column(many, pa.int32(), *range(5)) for name in "ab"}
    return {
        "r": pa.table(numbers | {"t": column(many, pa.string(), "x", "y", "Zz")}),
        "s": pa.table({"a": column(few, pa.int32(), *range(5)), "g": column(few, pa.string(), "p", "q")}),
    }


class Drawn:
    """A statement: values, conditions, and what they are of."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.source = rng.choice(JOINS)
        joined = self.source != "r"
        self._numbers, self._texts = ["r.a", "r.b", *["s.a"] * joined], ["r.t", *["s.g"] * joined]

    def sql(self) -> str:
        kinds = [self.number, self.text, self.condition, self.chosen]
        items = [self.rng.choice(kinds)() for _ in range(self.rng.randint(1, 3))]
        chosen = ", ".join(f"{item} AS c{place}" for place, item in enumerate(items))
        sql = f"SELECT {'DISTINCT ' * (self.rng.random() < 0.15)}{chosen} FROM {self.source}"
        if self.rng.random() < 0.6:
            sql += f" WHERE {self.condition()}"
        return f"SELECT c0 FROM ({sql}) q" if self.rng.random() < 0.1 else sql

    def number(self, depth: int = 0) -> str:
        own = self.rng.choice(self._numbers)
        inner = self.number(depth + 1) if depth < 2 and self.rng.random() < 0.3 else own
        other = self.rng.choice(self._numbers)
        return self.rng.choice([own, f"twice({inner})", f"plus({own}, {other})", f"({own} + 1)"])

    def text(self) -> str:
        own = self.rng.choice(self._texts)
        return self.rng.choice([own, f"up({own})"])

    def chosen(self) -> str:
        return self.rng.choice(
            [f"CASE WHEN {self.condition()} THEN {self.number()} ELSE 0 END", f"coalesce({self.number()}, 7)"]
        )

    def condition(self, depth: int = 0) -> str:
        if depth < 2 and self.rng.random() < 0.3:
            one, other = self.condition(depth + 1), self.condition(depth + 1)
            return self.rng.choice([f"({one} OR {other})", f"({one} AND {other})", f"NOT ({one})"])
        return self.rng.choice(
            [
                f"odd({self.number()})",
                f"odd({self.rng.choice(self._numbers)}) IS NULL",
                f"{self.number()} > {self.rng.randint(0, 5)}",
                f"{self.text()} = 'X'",
                f"{self.rng.choice(self._numbers)} IS NOT NULL",
            ]
        )


def of_no_null(run: Callable[..., Any]) -> Callable[..., Any]:
    if run.__code__.co_argcount == 1:
        return lambda a: None if a is None else run(a)
    return lambda a, b: None if None in (a, b) else run(a, b)


class SparkNeededError(Exception):
    """Whether values are needed is decided by other columns: Spark joins them to the rows."""


def refuse(*_: object, **__: object) -> None:
    raise SparkNeededError


def expected(sql: str, data: dict[str, pa.Table]) -> collections.Counter[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name, table in data.items():
            connection.register(name, table)
        for name, (run, arguments, returns) in FUNCTIONS.items():
            types = [DUCK[kind] for kind in arguments.values()]
            connection.create_function(
                name, of_no_null(run), types, DUCK[returns], null_handling="special", side_effects=False
            )
        return collections.Counter(connection.execute(sql).fetchall())


def answered(sql: str, data: dict[str, pa.Table], seed: int) -> collections.Counter[tuple[Any, ...]]:
    calls: collections.Counter[tuple[Any, ...]] = collections.Counter()
    with fff.connect(cache=False) as connection:
        for name, table in data.items():
            connection.register_table(name, table)
        for name, (run, arguments, returns) in FUNCTIONS.items():

            def noted(*given: Any, name: str = name, run: Callable[..., Any] = run) -> Any:
                calls[name, *given] += 1
                return run(*given)

            connection.register(name, noted, arguments=arguments, returns=returns)
        result = connection.sql(sql, seed=seed)
        assert result.complete, sql
        assert set(calls.values()) <= {1}, f"{sql}: {calls}"
        return collections.Counter(map(tuple, result))


@pytest.mark.parametrize(
    ("first", "count"),
    [(1_000, 30), *(pytest.param(at, 100, marks=pytest.mark.slow) for at in (2_000, 3_000))],
)
def test_answers_are_those_of_duckdb_and_mostly_without_spark(
    first: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkEngine, "start", refuse)
    taken = 0
    for seed in range(first, first + count):
        rng = random.Random(seed)
        data, sql = tables(rng), Drawn(rng).sql()
        try:
            found = answered(sql, data, seed)
        except SparkNeededError:
            continue
        taken += 1
        assert found == expected(sql, data), (seed, sql)
    assert taken >= 0.7 * count
