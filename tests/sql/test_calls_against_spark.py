"""Statements with calls give what Spark gives with the function's own text in their place."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping

import pyarrow as pa
import pytest
import shapes
from planner_fakes import FakeAdapter, catalog, table

from fff.catalog import Catalog, Table
from fff.errors import InfeasibleQuery, SparkError
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.calls import expand
from fff.sql.calls.find import Call
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff.sql.syntax.statement import Node
from fff.structs import replace

pytestmark = pytest.mark.spark

#: Functions as Spark computes them, NULL where an argument is; their arguments, and all there may be of those.
TEXTS = {
    "small": "({0} < 2)",
    "next": "({0} + 1)",
    "tag": "concat({0}, '!')",
    "pair": "concat({1}, CAST({0} AS STRING))",
}
NUMBERS = list(range(-1, 12))
Z = "'z'"
WORDS = ["x", "y", "X", "Y", "x!", "y!", "x!!", "z"]


def function(name: str, arguments: str, value: str) -> Table:
    keys = ",".join(part.split()[0] for part in arguments.split(", "))
    declared = table(f"f.{name}", f"{arguments}, value {value}", lookups=(keys,))
    return replace(declared, function=True)


FUNCTIONS = (
    function("small", "n bigint", "boolean"),
    function("next", "n bigint", "bigint"),
    function("tag", "word string", "string"),
    function("pair", "n bigint, word string", "string"),
)
VALUES = {
    "small": {"n": NUMBERS, "value": [n < 2 for n in NUMBERS]},
    "next": {"n": NUMBERS, "value": [n + 1 for n in NUMBERS]},
    "tag": {"word": WORDS, "value": [f"{word}!" for word in WORDS]},
    "pair": {
        "n": [n for n in NUMBERS for _ in WORDS],
        "word": WORDS * len(NUMBERS),
        "value": [f"{word}{n}" for n in NUMBERS for word in WORDS],
    },
}

#: Writes a call of a function with arguments.
Writes = Callable[..., str]


def sources(rng: random.Random) -> Catalog:
    found = Catalog()
    ways = [(1, ()), rng.choice(shapes.ACCESS[:3]), rng.choice(shapes.ACCESS[:4])]
    tables = tuple(
        table(f"x.{name}", shapes.COLUMNS, scans=scans, lookups=tuple(lookups))
        for name, (scans, lookups) in zip(shapes.NAMES, ways, strict=True)
    )
    found.add(FakeAdapter("x", tables))
    found.add(FakeAdapter("f", FUNCTIONS))
    return found


def check(spark: SparkEngine, write: Callable[[Writes], str], seed: int, *, spark_first: bool = True) -> None:
    rng = random.Random(seed)
    data = shapes.rows(rng)
    known = {name: pa.table(columns) for name, columns in VALUES.items()}
    ours = write(lambda name, *arguments: f"{name}({', '.join(arguments)})")
    theirs = plain(write)
    prepared = prepare(ours, sources(rng))
    assert prepared.sql == ours
    expected = spark.run_over(theirs, data) if spark_first else None
    got = shapes.Run(prepared, data | known, spark).result()
    assert expected is not None, ours
    assert len(got.column_names) == len(expected.column_names), ours
    assert shapes.bag(got) == shapes.bag(expected), (seed, ours, prepared.upper)
    named = [name for name in expected.column_names if name.isidentifier()]
    assert [name for name in got.column_names if name in named] == named, ours


STATEMENTS: list[Callable[[Writes], str]] = [
    lambda f: f"SELECT a, s FROM r WHERE {f('small', 'a')}",
    lambda f: f"SELECT a, s FROM r WHERE NOT {f('small', 'r.a')} AND b > 0",
    lambda f: f"SELECT * FROM r WHERE {f('small', 'a')} OR b = 2",
    lambda f: f"SELECT * FROM r WHERE {f('small', 'a')} IS NULL",
    lambda f: f"SELECT * FROM r WHERE {f('tag', 's')} <=> NULL AND s LIKE '%x%' OR a = 1",
    lambda f: f"SELECT a, {f('next', 'a')} AS n, {f('tag', 's')} t, b FROM r",
    lambda f: f"SELECT a, {f('next', 'a')} FROM r WHERE {f('small', 'a')} AND s IS NOT NULL",
    lambda f: f"SELECT a FROM r WHERE s LIKE 'x%' AND {f('small', 'a')} AND {f('next', 'b')} > 1",
    lambda f: f"SELECT {f('tag', 'upper(s)')} AS t, a + 1 FROM r WHERE {f('next', 'a + 1')} > 2",
    lambda f: f"SELECT {f('tag', f('tag', 's'))} AS t FROM r WHERE {f('small', f('next', 'b'))}",
    lambda f: (
        f"SELECT {f('pair', 'r.a', 't.s')} AS p, r.s, t.s FROM r JOIN t ON r.a = t.a WHERE {f('small', 'r.b')}"
    ),
    lambda f: f"SELECT {f('pair', 'a', 's')} AS p FROM r JOIN t USING (a, s) WHERE {f('small', 'a')}",
    lambda f: f"SELECT r.a, t.a FROM r JOIN t ON r.a = t.b AND {f('small', 't.b')} WHERE r.s = 'x'",
    lambda f: f"SELECT r.a, t.b FROM r LEFT JOIN t ON r.a = t.a WHERE {f('small', 't.b')} IS NOT TRUE",
    lambda f: f"SELECT r.*, {f('next', 't.b')} n FROM r LEFT JOIN t ON r.a = t.a",
    lambda f: (
        f"SELECT r.a, upper(r.s), t.s, {f('tag', 't.s')} t FROM r RIGHT JOIN t ON r.a = t.a WHERE r.a IS NULL OR {f('small', 'r.b')}"
    ),
    lambda f: f"SELECT a, {f('next', 'a')} n FROM r FULL JOIN t USING (a)",
    lambda f: f"SELECT a, {f('next', 'a')} AS n, count(*) c FROM r GROUP BY a",
    lambda f: f"SELECT {f('small', 'a')} AS q, count(*), sum(b) FROM r GROUP BY {f('small', 'a')}",
    lambda f: f"SELECT {f('small', 'a')} AS q, count(*) FROM r GROUP BY q",
    lambda f: f"SELECT {f('small', 'a')} AS q, count(*) FROM r GROUP BY 1",
    lambda f: f"SELECT {f('small', 'a')} AS q, s, count(*) FROM r GROUP BY ALL",
    lambda f: f"SELECT s, sum({f('next', 'a')}) AS n FROM r GROUP BY s HAVING max({f('next', 'b')}) > 1",
    lambda f: f"SELECT s, count(*) c FROM r GROUP BY s HAVING {f('tag', 's')} = 'x!'",
    lambda f: f"SELECT count(*) FILTER (WHERE {f('small', 'a')}) c, count(*) d FROM r",
    lambda f: f"SELECT count(*) c FROM r WHERE {f('small', 'a')}",
    lambda f: (
        f"SELECT s, avg({f('next', 'a')}) m FROM r WHERE {f('small', 'b')} GROUP BY s ORDER BY {f('tag', 's')}"
    ),
    lambda f: f"SELECT DISTINCT {f('small', 'a')} AS q FROM r",
    lambda f: f"SELECT a, row_number() OVER (PARTITION BY {f('small', 'a')} ORDER BY a, b, s) AS n FROM r",
    lambda f: f"SELECT CASE WHEN {f('small', 'a')} THEN {f('tag', 's')} ELSE s END AS c FROM r",
    lambda f: f"SELECT coalesce({f('tag', 's')}, 'none') AS c, a IN (1, 2) AS i FROM r",
    lambda f: (
        f"SELECT q.n FROM (SELECT {f('next', 'a')} AS n, s FROM r WHERE {f('small', 'b')}) q WHERE {f('small', 'q.n')}"
    ),
    lambda f: (
        f"WITH q AS (SELECT a, {f('tag', 's')} AS t FROM r) SELECT q.t, t.s FROM q JOIN t ON q.a = t.a WHERE {f('small', 't.b')}"
    ),
    lambda f: f"SELECT a FROM r WHERE {f('small', 'a')} UNION ALL SELECT {f('next', 'b')} FROM t",
    lambda f: f"SELECT a FROM r WHERE EXISTS (SELECT 1 FROM t WHERE t.a = r.a AND {f('small', 't.b')})",
    lambda f: f"SELECT a FROM r WHERE a IN (SELECT {f('next', 'b')} FROM t WHERE {f('small', 'a')})",
    lambda f: (
        f"SELECT a, (SELECT max(t.b) FROM t WHERE t.a = r.a) m FROM r WHERE {f('small', 'b')} OR {f('tag', 's')} = 'y!'"
    ),
    lambda f: (
        f"SELECT r.a, (SELECT max({f('next', 't.b')}) FROM t WHERE t.a = r.a) m, {f('tag', 's')} g FROM r"
    ),
    lambda f: f"SELECT a FROM r WHERE {f('next', 'a')} = {f('next', 'b')}",
    lambda f: f"SELECT a FROM r WHERE {f('next', 'a')} BETWEEN 1 AND 2 AND {f('tag', 's')} IN ('x!')",
    lambda f: f"SELECT a FROM r WHERE NOT ({f('next', 'a')} BETWEEN b AND 2)",
    lambda f: f"SELECT a FROM r WHERE NOT (b BETWEEN {f('next', 'a')} AND 0)",
    lambda f: (
        f"SELECT {f('pair', '3', 's')} AS p, {f('next', '4')} AS n FROM r WHERE {f('pair', 'a', Z)} > 'z1'"
    ),
    lambda f: f"SELECT {f('next', '4')} AS n",
    lambda f: f"SELECT {f('next', 'CAST(NULL AS BIGINT)')} AS n FROM r WHERE {f('tag', 's')} IS NOT NULL",
    lambda f: (
        f"SELECT e.y, {f('next', 'e.y')} AS n FROM r LATERAL VIEW explode(array(a, b)) e AS y WHERE {f('small', 'e.y')}"
    ),
    lambda f: f"SELECT a, s AS b FROM r WHERE {f('small', 'b')} OR a = 2 ORDER BY b, a",
    lambda f: (
        f"SELECT t.b AS x, {f('next', 'u.a')} AS n FROM r, t, u WHERE r.a = t.a AND t.b = u.b AND {f('small', 'u.a')}"
    ),
    lambda f: (
        f"SELECT r.a FROM r JOIN (SELECT b, {f('next', 'b')} AS n FROM t) q ON r.a = q.n WHERE {f('tag', 'r.s')} <> 'y!'"
    ),
    lambda f: f"SELECT if({f('small', 'a')} AND b > 0, 1, 0) AS i FROM r",
    lambda f: f"SELECT * FROM r JOIN t USING (a) WHERE {f('small', 'a')}",
    lambda f: f"SELECT * FROM r NATURAL JOIN t WHERE {f('small', 'a')} AND t.s = 'x'",
    lambda f: f"SELECT r.* FROM r JOIN t USING (a) WHERE {f('small', 'a')} OR t.b = 1",
    lambda f: f"SELECT a, sum({f('next', 'b')}) OVER (PARTITION BY s) AS w FROM r",
    lambda f: f"SELECT s, {f('next', 'a')} AS n, sum(count(*)) OVER () AS w FROM r GROUP BY s, a",
    lambda f: f"SELECT grouping(s) AS g, s, count(*) c FROM r WHERE {f('small', 'a')} GROUP BY ROLLUP(s)",
    lambda f: (
        f"SELECT a, b FROM r QUALIFY row_number() OVER (PARTITION BY {f('small', 'a')} ORDER BY a, b) = 1"
    ),
    lambda f: f"SELECT t.* FROM r, LATERAL (SELECT b, {f('next', 'b')} AS n FROM t WHERE t.a = r.a) t",
    lambda f: f"SELECT a, b FROM r WHERE b > 0 OR {f('small', 'a')} OR s = 'x'",
    lambda f: f"SELECT a, b FROM r WHERE (s = 'x' OR (b = 2 AND {f('small', 'a')})) AND a IS NOT NULL",
    lambda f: (
        f"SELECT a, b FROM r WHERE {f('small', 'b')} OR {f('tag', 's')} = 'x!' OR a BETWEEN 1 AND 2 OR b IS NULL"
    ),
    lambda f: f"SELECT a FROM r WHERE CASE WHEN b > 0 THEN {f('small', 'a')} WHEN s = 'x' THEN TRUE END",
    lambda f: (
        f"SELECT CASE WHEN a > b THEN {f('next', 'a')} WHEN b IS NULL THEN {f('next', 'b')} ELSE 0 END c FROM r"
    ),
    lambda f: (
        f"SELECT CASE WHEN a > 0 THEN CASE WHEN b > 0 THEN {f('next', 'a')} ELSE -1 END END AS c FROM r"
    ),
    lambda f: f"SELECT CASE a WHEN 1 THEN {f('next', 'b')} ELSE b END AS c FROM r",
    lambda f: f"SELECT s, sum(CASE WHEN a > 0 THEN {f('next', 'a')} END) AS n FROM r GROUP BY s",
    lambda f: f"SELECT s, CASE WHEN count(*) > 1 THEN {f('tag', 's')} END AS n FROM r GROUP BY s",
    lambda f: (
        f"SELECT CASE WHEN {f('small', 'a')} THEN {f('next', 'a')} END AS n, {f('tag', 's')} AS g FROM r"
    ),
    lambda f: f"SELECT a FROM r WHERE a = 1 OR EXISTS (SELECT 1 FROM t WHERE t.a = r.a) OR {f('small', 'b')}",
    lambda f: f"SELECT {f('next', 'a')} AS n, n + 1 AS m FROM r WHERE {f('next', 'a')} > 1",
]


#: One of each kind; the others run with the slow tests.
SOME = (2, 4, 9, 13, 17, 33)


@pytest.mark.slow
@pytest.mark.parametrize("number", SOME)
def test_statement(spark: SparkEngine, number: int) -> None:
    check(spark, STATEMENTS[number], number)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_statements(spark: SparkEngine, part: int) -> None:
    for number in range(part, len(STATEMENTS), 4):
        check(spark, STATEMENTS[number], 100 + number)


def test_a_call_whose_null_matters_and_is_joined_all_the_same_is_noticed(
    spark: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def every(condition: Node, calls: Mapping[int, Call]) -> frozenset[str]:
        return frozenset(call.key for call in calls.values() if call.node in condition.walk())

    monkeypatch.setattr(expand, "rejecting", every)

    def some_seed_is_wrong() -> None:
        for seed in range(20):
            check(spark, lambda f: f"SELECT a, b FROM r WHERE {f('small', 'a')} IS NULL OR b = 2", seed)

    with pytest.raises(AssertionError):
        some_seed_is_wrong()


def test_an_argument_that_is_no_key_of_the_groups_is_refused(spark: SparkEngine) -> None:
    with pytest.raises(SparkError, match=r"(?i)group|aggregat"):
        check(spark, lambda f: f"SELECT {f('next', 'a')} AS n, b FROM r GROUP BY b", 1, spark_first=False)


def test_all_functions_of_spark_are_known(spark: SparkEngine) -> None:
    spark.wait()
    shown = [row[0] for row in spark._session.spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    named = {name for name in shown if name.isidentifier()}
    assert len(named) > 400
    assert named <= SPARK_FUNCTIONS


class Random:
    """A SELECT with calls in random places."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def statement(self, f: Writes) -> str:
        """The statement; the same choices for the same random numbers."""
        rng = self.rng
        tables, text = rng.choice(
            [
                ("r", "r"),
                ("rt", "r JOIN t ON r.a = t.a"),
                ("rt", "r, t"),
                ("rt", "r LEFT JOIN t ON r.a = t.b"),
                ("rt", "r RIGHT JOIN t ON r.a = t.a AND t.b > 0"),
                ("rt", "r JOIN (SELECT a, b, s FROM t WHERE b > 0) t ON r.a = t.a"),
                ("rtu", "r JOIN t ON r.a = t.a LEFT JOIN u ON u.b = t.b"),
            ]
        )
        conditions = [self.condition(f, tables) for _ in range(rng.randint(0, 3))]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if rng.random() < 0.3:
            key = self.number(f, tables)
            return f"SELECT {key} AS k, count(*) AS c, max({self.word(f, tables)}) AS m FROM {text}{where} GROUP BY {key}"
        items = [rng.choice((self.number, self.word))(f, tables) for _ in range(rng.randint(1, 3))]
        listed = ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))
        star = rng.random() < 0.2
        return f"SELECT {'*' if star else listed} FROM {text}{where}"

    def number(self, f: Writes, tables: str, depth: int = 0) -> str:
        column = f"{self.rng.choice(tables)}.{self.rng.choice('ab')}"
        kind = self.rng.random()
        if depth > 1 or kind < 0.4:
            return column
        if kind < 0.8:
            return f("next", self.number(f, tables, depth + 1))
        return f"({self.number(f, tables, depth + 1)} + 1)"

    def word(self, f: Writes, tables: str) -> str:
        column = f"{self.rng.choice(tables)}.s"
        kind = self.rng.random()
        if kind < 0.4:
            return f("tag", column)
        if kind < 0.7:
            return f("pair", self.number(f, tables, 1), column)
        return f"upper({column})" if kind < 0.8 else column

    def condition(self, f: Writes, tables: str, depth: int = 0) -> str:
        kind = self.rng.random()
        if depth < 2 and kind < 0.35:
            both = [self.condition(f, tables, depth + 1) for _ in range(2)]
            word = self.rng.choice(("OR", "AND"))
            return f"{self.rng.choice(('', 'NOT '))}({both[0]} {word} {both[1]})"
        if kind < 0.6:
            return f("small", self.number(f, tables, 1))
        if kind < 0.7:
            return f"{self.word(f, tables)} LIKE '%x%'"
        if kind < 0.8:
            return f"{self.number(f, tables)} IS NULL"
        operator = self.rng.choice(("=", "<>", ">", "<=>"))
        return f"{self.number(f, tables)} {operator} {self.rng.choice(('1', '2', self.number(f, tables)))}"


@pytest.mark.slow
def test_random_statements(spark: SparkEngine) -> None:
    start = int(os.environ["FFF_FUZZ_LONG_SEED"])
    for seed in range(start, start + 25):

        def write(f: Writes, seed: int = seed) -> str:
            return Random(random.Random(seed)).statement(f)

        rng = random.Random(seed)
        shapes.rows(rng)  # drawn before the sources, as `check` does
        try:
            prepare(plain(write), sources(rng))
        except InfeasibleQuery:
            continue  # whatever is called
        check(spark, write, seed)


def test_what_keeps_a_call_from_its_arguments_is_told() -> None:
    found = catalog(table("x.r", shapes.COLUMNS, scans=1), table("x.t", shapes.COLUMNS, lookups=("a",)))
    found.add(FakeAdapter("f", FUNCTIONS))
    for sql in (
        "SELECT 1 FROM r JOIN t ON r.a = t.b WHERE small(t.b)",
        "SELECT next(t.b) FROM r LEFT JOIN t ON r.a = t.b",
    ):
        with pytest.raises(InfeasibleQuery, match=r"x\.t can only be read by key: nothing binds a"):
            prepare(sql, found)


def plain(write: Callable[[Writes], str]) -> str:
    """A statement with Spark's text in the places of its calls."""
    return write(lambda name, *arguments: TEXTS[name].format(*arguments))
