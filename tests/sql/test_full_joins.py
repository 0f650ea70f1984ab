"""FULL JOIN is a left join and an anti join of the engine, and no Spark's."""

from __future__ import annotations

import random

import pytest
import shapes
from hard_rows import CATALOG, DATA, bag
from random_derived import Writer

from fff.errors import QueryError
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.calls.full_joins import halved
from fff.sql.nested.packing import packed
from fff.sql.syntax.source_map import Edited

HALVED = {
    "SELECT r.i, u.s AS z, r.l + 1 FROM r FULL OUTER JOIN u ON r.i = u.i WHERE r.s IS NULL OR u.i > 0":
        "SELECT r.i, u.s AS z, r.l + 1 FROM r LEFT JOIN u ON r.i = u.i WHERE r.s IS NULL OR u.i > 0 "
        "UNION ALL SELECT CAST(NULL AS int) AS __fff_0, u.s AS z, CAST(NULL AS bigint) + 1 AS __fff_2 FROM u "
        "LEFT ANTI JOIN r ON r.i = u.i WHERE CAST(NULL AS string) IS NULL OR u.i > 0 ",
    "SELECT DISTINCT i, x.s FROM w.u AS x FULL JOIN u USING (i) LIMIT 9":
        "SELECT DISTINCT i, x.s FROM w.u AS x LEFT JOIN u USING (i) UNION SELECT i AS __fff_0, CAST(NULL AS string) AS __fff_1 "
        "FROM u LEFT ANTI JOIN w.u AS x ON x.i = u.i  LIMIT 9",
    "SELECT u.*, x.i FROM u FULL JOIN u x ON x.s = left(u.s, 1) AND x.i > 0 LEFT JOIN r ON r.s = coalesce(u.s, x.s)":
        "SELECT u.*, x.i FROM u LEFT JOIN u x ON x.s = left(u.s, 1) AND x.i > 0 LEFT JOIN r ON r.s = coalesce(u.s, x.s) "
        "UNION ALL SELECT CAST(NULL AS int) AS i, CAST(NULL AS string) AS s, CAST(NULL AS array<int>) AS a, x.i AS __fff_1 "
        "FROM u x LEFT ANTI JOIN u ON x.s = left(u.s, 1) AND x.i > 0 LEFT JOIN r ON r.s = coalesce(CAST(NULL AS string), x.s) ",
}  # fmt: skip

#: Those too are the engine's.
ALONE = [
    *HALVED,
    "SELECT * FROM r FULL JOIN u USING (i, s)",
    "SELECT * EXCEPT (s, r.l) FROM r FULL JOIN u USING (i, s)",
    "SELECT * FROM (SELECT i, s FROM r WHERE b) a FULL JOIN (SELECT i, s AS z FROM u WHERE s = 'a' OR i = 2) b ON a.i = b.i OR a.s = z",
    "WITH a AS (SELECT i, l FROM r WHERE l > 0) SELECT a.*, u.s FROM a FULL JOIN u ON a.i = u.i",
    "SELECT 1 UNION ALL SELECT r.i FROM r FULL JOIN u ON r.i = u.i UNION ALL SELECT u.i FROM u FULL JOIN r ON false",
    "SELECT a.i, b.i, c.s FROM r a FULL JOIN r b ON a.i = b.l AND a.b SEMI JOIN u d ON d.i = a.i OR b.i = 0 CROSS JOIN u c",
    "SELECT coalesce(r.i, u.i), r.d IS NULL, u.a FROM r FULL JOIN u ON r.i <=> u.i WHERE NOT r.b OR u.s IS NULL",
]  # fmt: skip

#: With what keeps them whole.
WHOLE = [
    "SELECT count(*) FROM r FULL JOIN u ON r.i = u.i", "SELECT r.i FROM r FULL JOIN u ON r.i = u.i ORDER BY 1",
    "SELECT a.n FROM (SELECT i + 1 AS n FROM r) a FULL JOIN u ON a.n = u.i",  # NULLs of no declared type
    "SELECT r.i FROM r FULL JOIN u ON r.i = u.i AND rand() > 0.5", "SELECT r.i FROM r FULL JOIN u ON 1 / r.i = u.i",
    "SELECT * FROM u a FULL JOIN (SELECT l AS i FROM r) b USING (i)",  # of two types
]  # fmt: skip


@pytest.mark.parametrize("sql", HALVED)
def test_two_selects_for_one(sql: str) -> None:
    text = halved(Rewritten(Edited.of(sql), CATALOG, {}))
    assert text is not None
    assert text.sql == HALVED[sql]


@pytest.mark.parametrize("sql", ALONE)
def test_no_spark_is_needed(sql: str) -> None:
    assert prepare(sql, CATALOG).upper is None


@pytest.mark.parametrize("sql", WHOLE)
def test_what_cannot_be_taken_apart_stays_with_spark(sql: str) -> None:
    assert prepare(sql, CATALOG).upper is not None


@pytest.mark.parametrize("on", ["r.l = (SELECT max(i) FROM u)", "r.i = u.i AND r.l IN (SELECT i FROM u)"])
def test_what_stays_as_it_is_however_packed_is_not_packed(on: str) -> None:
    text = Rewritten(Edited.of(f"SELECT * FROM r FULL JOIN u ON {on}"), CATALOG, {})
    assert packed(text) is text


def test_what_fails_is_told_of_the_text_as_it_was_written() -> None:
    sql = "SELECT r.i, 1 / (u.i - 2) FROM r FULL JOIN u ON r.i = u.i"
    with pytest.raises(QueryError) as raised:
        shapes.Run(prepare(sql, CATALOG), DATA, spark=None).result()  # type: ignore[arg-type] # nobody asks it
    assert raised.value.span is not None
    assert sql[raised.value.span.start : raised.value.span.end] == "1 / (u.i - 2)"


class _FullWriter(Writer):
    """Statements whose FROM is a FULL JOIN of tables and queries."""

    def _from(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        if not depth:
            return super()._from(depth)
        while True:
            (left, a, mine), (right, b, theirs) = self._entry(depth - 1), self._entry(depth - 1)
            ours, others = ([name for name, kind in some if kind == "number"] for some in (mine, theirs))
            if not ours or not others:
                continue
            on = f"{a}.{self.seed.choice(ours)} = {b}.{self.seed.choice(others)}"
            if self.seed.random() < 0.3:
                on += f" AND {self._condition([(f'{side}.{name}', kind) for side, some in ((a, mine), (b, theirs)) for name, kind in some])}"
            seen = [
                (f"{side}.{name}", kind) for side, some in ((a, mine), (b, theirs)) for name, kind in some
            ]
            return f"{left} FULL JOIN {right} ON {on}", seen

    def statement(self) -> str:
        return self._query(1)[0]


def alike(spark: SparkEngine, seed: int, count: int) -> int:
    """How many of so many statements the engine answers, all as Spark does."""
    writer, alone = _FullWriter(random.Random(seed)), 0
    for _ in range(count):
        sql = writer.statement()
        alone += _is_alike(spark, sql)
    return alone


def _is_alike(spark: SparkEngine, sql: str) -> bool:
    prepared = prepare(sql, CATALOG)
    if prepared.upper is None:
        expected = spark.run_over(sql.replace("w.", ""), DATA)
        got = shapes.Run(prepared, DATA, spark).result()
        assert "LIMIT" in sql or bag(got) == bag(expected), sql
        assert (got.column_names, got.schema.types) == (expected.column_names, expected.schema.types), sql
    return prepared.upper is None


@pytest.mark.spark
@pytest.mark.slow
def test_rows_are_those_of_spark(spark: SparkEngine) -> None:
    assert all(_is_alike(spark, sql) for sql in ALONE)
    assert alike(spark, 1, 40) > 20


@pytest.mark.spark
@pytest.mark.slow
def test_rows_of_many_are_those_of_spark(spark: SparkEngine) -> None:
    assert alike(spark, random.SystemRandom().getrandbits(32), 300) > 150
