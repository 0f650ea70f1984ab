"""Subqueries of WHERE and RIGHT JOIN as joins of the eddy: which are, which are not, and that Spark says the same."""

from __future__ import annotations

import random

import pytest
import shapes
from planner_fakes import catalog, table

from fff.errors import InfeasibleQuery, QueryError
from fff.spark.session import SparkEngine
from fff.sql import Prepared, prepare

R = table("x.r", "a bigint, b bigint, s string", scans=1)
T = table("x.t", "a bigint, b int, s string, st string, d double", scans=1)
U = table("x.u", "a bigint, b bigint, s string", lookups=("a",))
M = table("x.m", "a bigint, b bigint, s string", scans=1, lookups=("b",))
SMALL = catalog(R, T, U, M)


def kinds(sql: str) -> list[list[str]]:
    """What the aliases of the blocks are, under their names."""
    plans = [block.plan for block in prepare(sql, SMALL).blocks]
    return [[f"{alias.name} {alias.kind}" for alias in plan.aliases] for plan in plans]


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("a IN (SELECT a FROM t)", "t semi"),
        ("r.a IN (SELECT DISTINCT t.a AS z FROM x.t WHERE x.t.b > 1 OR s = 'x')", "t semi"),
        ("a IN (SELECT b FROM t)", "t semi"),  # int with bigint
        ("(a, r.s) IN (SELECT a, s FROM t WHERE t.b = r.b)", "t semi"),
        ("b = 1 AND ((a IN (SELECT a FROM u WHERE s LIKE 'x%')) AND s IS NOT NULL)", "u semi"),
        ("a IN ((SELECT a FROM t))", "t semi"),
        ("lower(s) IN (SELECT s FROM t WHERE s > 'a')", "t semi"),
        ("b = 1 AND (concat(substring(r.s, 1, 1), s)) IN (SELECT s FROM t WHERE t.a = r.a)", "t semi"),
        ("length(s) IN (SELECT b FROM t)", "t semi"),
        ("s LIKE 'x%' AND s NOT IN (SELECT s FROM t WHERE s RLIKE 'y')", "t anti"),
        ("EXISTS (SELECT * FROM t WHERE a = r.a AND t.d > r.b)", "t semi"),
        ("EXISTS (SELECT 1, NULL, t.* FROM t WHERE t.b = r.a)", "t semi"),
        ("EXISTS (SELECT 1 FROM r AS t WHERE r.a = t.a AND r.b = 2 AND s = 'x')", "t semi"),
        ("NOT EXISTS (SELECT 1 FROM u WHERE u.a = r.b AND u.b < r.a)", "u anti"),
        ("NOT (EXISTS (SELECT 1 FROM r q WHERE q.a = r.b))", "q anti"),
        ("EXISTS (SELECT 1 FROM r q WHERE q.a = r.b)", "q semi"),
        ("EXISTS (SELECT 1 FROM t WHERE t.a > r.a)", "t semi"),
        ("NOT EXISTS (SELECT 1 FROM t WHERE t.a <=> r.a)", "t anti"),
        ("a IN (SELECT a FROM r)", "`r #2` semi"),
        ("a NOT IN (SELECT a FROM t WHERE a IS NOT NULL) AND a IS NOT NULL", "t anti"),
        ("NOT a IN (SELECT a FROM t WHERE NOT (t.a IS NULL)) AND r.a IS NOT NULL AND b = 1", "t anti"),
        ("a NOT IN (SELECT a FROM t WHERE a > b) AND 5 >= r.a", "t anti"),
        ("a NOT IN (SELECT a FROM t WHERE NOT a = 1) AND a IN (1, 2, NULL)", "t anti"),
        ("a NOT IN (SELECT a FROM t WHERE a BETWEEN 1 AND b) AND NOT a BETWEEN 3 AND 4", "t anti"),
    ],
)
def test_subqueries_that_are_joins(where: str, kind: str) -> None:
    for select in ("SELECT a, upper(r.s) AS z", "SELECT *", "SELECT count(*)"):
        assert kinds(f"{select} FROM r WHERE {where}") == [["r inner", kind.replace("`", "")]]
    assert prepare(f"SELECT * FROM r WHERE {where} LIMIT 3", SMALL).upper is None


@pytest.mark.parametrize(
    "where",
    [
        "a NOT IN (SELECT a FROM t)",
        "a NOT IN (SELECT a FROM t WHERE a IS NOT NULL)",
        "a NOT IN (SELECT a FROM t) AND a IS NOT NULL",
        "a NOT IN (SELECT a FROM t WHERE b IS NOT NULL) AND a IS NOT NULL",
        "a NOT IN (SELECT a FROM t WHERE a <=> b) AND a > 0",
        "a NOT IN (SELECT a FROM t WHERE a > 0 OR b > 0) AND a > 0",
        "a NOT IN (SELECT a FROM t WHERE a + 1 > 0) AND a > 0",
        "a IN (SELECT a FROM t) OR b = 1",
        "(a IN (SELECT a FROM t)) IS NULL",
        "a IN (SELECT s FROM t)",  # text with numbers: not what `=` makes of them
        "a IN (SELECT d FROM t)",
        "a IN (SELECT a + 1 FROM t)",
        "a + 1 IN (SELECT a FROM t)",  # may fail
        "length(s) IN (SELECT a FROM t)",  # int with bigint
        "lower(s) IN (SELECT r.s FROM t)",
        "lower(s) NOT IN (SELECT s FROM t WHERE s > '') AND s > ''",
        "a IN (SELECT r.a FROM t)",
        "a IN (SELECT a FROM t GROUP BY a)",
        "a IN (SELECT max(a) FROM t)",
        "a IN (SELECT a FROM t WHERE rand() < 0.5)",
        "a IN (SELECT a FROM t WHERE 1 / b > 0)",  # fails where b is 0: no match and no absence
        "a IN (SELECT a FROM t WHERE b = (SELECT max(b) FROM m))",
        "a IN (SELECT a FROM m WHERE b IN (1, 2))",  # two requests that constants bind, and no scan
        "EXISTS (SELECT count(*) FROM t WHERE t.a = r.a)",
        "EXISTS (SELECT explode(array()) FROM t WHERE t.a = r.a)",
        "EXISTS (SELECT 1 FROM t WHERE t.a = r.a HAVING count(*) = 0)",
        "EXISTS (SELECT 1 FROM t WHERE t.a = r.a LIMIT 0)",
    ],
)
def test_subqueries_that_are_left_to_spark(where: str) -> None:
    prepared = prepare(f"SELECT a FROM r WHERE {where}", SMALL)
    assert prepared.upper is not None
    assert "SELECT" in prepared.upper.sql.partition("WHERE")[2]
    assert all(alias.kind == "inner" for block in prepared.blocks for alias in block.plan.aliases)


def test_of_several_subqueries_those_are_joins_that_can_be() -> None:
    sql = """SELECT r.a FROM r JOIN t ON r.a = t.a  -- a remark
        WHERE r.b IN (SELECT m.a FROM m) AND (t.b > 1 OR r.s = 'x') AND r.a NOT IN (SELECT 1 / b FROM t) AND
        NOT EXISTS (SELECT 1 FROM u AS m WHERE m.a = t.b AND EXISTS (SELECT 1 FROM r AS q WHERE q.a = m.a)) AND
        EXISTS (SELECT 1 FROM u AS m WHERE m.a = t.b)"""
    assert ["r inner", "t inner", "m semi", "m #2 semi"] in kinds(sql)
    upper = prepare(sql, SMALL).upper
    assert upper is not None
    assert upper.sql.count("NOT") == 2, "the others are above the block"
    assert "IN (SELECT m.a" not in upper.sql
    assert "JOIN" not in upper.why, "what the eddy joins is nothing to Spark"
    ordered = prepare("SELECT a FROM r WHERE a IN (SELECT a FROM t) ORDER BY a", SMALL).upper
    assert ordered is not None
    assert ordered.why == "ORDER BY"


def test_a_table_that_only_the_subquery_reaches_is_read_with_its_keys() -> None:
    prepared = prepare("SELECT s FROM u WHERE a IN (SELECT b FROM r WHERE s = 'x')", SMALL)
    assert [bool(block.feeds) for block in prepared.blocks] == [False, True]


def test_names_mean_what_they_mean_in_the_subquery() -> None:
    """Inner names before outer ones, whatever the tables are called."""
    [block] = prepare(
        "SELECT b FROM r AS t WHERE EXISTS (SELECT b FROM r WHERE a = t.b AND b = 1)", SMALL
    ).blocks
    [right] = [alias for alias in block.plan.aliases if alias.kind == "semi"]
    names = [field.name for field in block.plan.tables[0].columns]
    assert [(names[own], other.alias, names[other.index]) for own, other in right.links] == [("a", 0, "b")]
    assert [one.text for one in block.conjuncts] == ["r.a = t.b", "r.b = 1"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM r WHERE a IN (SELECT zz FROM t)",
        "SELECT a FROM r WHERE zz IN (SELECT a FROM t)",
        "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM t WHERE t.a = r.zz)",
        "SELECT t.a FROM r WHERE a IN (SELECT a FROM t)",
        "SELECT a FROM r WHERE a IN (SELECT a FROM t) AND t.b = 1",
        "SELECT a, zz FROM r WHERE a IN (SELECT a FROM t)",
    ],
)
def test_errors_are_about_what_was_written(sql: str) -> None:
    with pytest.raises(QueryError) as error:
        prepare(sql, SMALL)
    assert error.value.sql == sql
    assert error.value.span is not None
    assert sql[error.value.span.start : error.value.span.end] in {"zz", "t", "t.a", "t.b", "r.zz"}


def test_places_are_those_of_the_text_as_it_was_written() -> None:
    sql = (
        "SELECT 1 / b AS x FROM r WHERE a IN (SELECT a FROM t) UNION ALL SELECT a / b FROM r WHERE 1 / a > 0"
    )
    result = prepare(sql, SMALL).result
    assert result is not None
    shown = [[sql[one.start : one.end] for one in branch.places] for branch in result.branches]
    assert shown == [["1 / b AS x"], ["a / b"]]
    assert [sql[one.start : one.end] for _, one in result.branches[1].conditions] == ["1 / a > 0"]


@pytest.mark.parametrize(
    ("source", "aliases", "names"),
    [
        ("t RIGHT JOIN r ON t.a = r.a", ["t left", "r inner"], "a b s st d a b s"),
        ("u RIGHT OUTER JOIN r USING (a)", ["u left", "r inner"], "a b s b s"),
        ("r RIGHT JOIN t USING (s, a) JOIN m ON m.b = t.b", ["r left", "t inner", "m inner"], "s a b b st d a b s"),
        ("u RIGHT JOIN (r JOIN t ON r.b = t.b) ON u.a = t.a", ["u left", "r inner", "t inner"], "a b s a b s a b s st d"),
        ("t RIGHT JOIN r ON t.a = r.a WHERE t.b = 1", ["t inner", "r inner"], "a b s st d a b s"),
    ],
)  # fmt: skip
def test_a_right_join_is_a_left_join_of_the_other_side(source: str, aliases: list[str], names: str) -> None:
    prepared = prepare(f"SELECT * FROM {source}", SMALL)
    assert kinds(f"SELECT * FROM {source}") == [aliases]
    assert prepared.result is not None
    assert " ".join(field.name for field in prepared.result.fields) == names


@pytest.mark.parametrize(
    "source",
    [
        "r JOIN t USING (a) RIGHT JOIN m ON m.a = t.a",
        "r NATURAL RIGHT JOIN t",
        "r NATURAL FULL JOIN t",
        "r RIGHT JOIN t ON r.a = t.a AND 1 / r.b > 0",
    ],
)
def test_right_joins_that_are_left_to_spark(source: str) -> None:
    assert prepare(f"SELECT * FROM {source}", SMALL).upper is not None


# ------------------------------------------------------------------------------------------------------ Spark is the judge


def _query(rng: random.Random) -> str:
    """A SELECT over one or two tables with subqueries of the kinds above, names qualified or not, tables called alike."""
    shape = rng.choice(["one", "one", "left", "right", "right", "using", "inner"])
    first, second = rng.choice("rtu"), rng.choice("rtu")
    on = f"q.{rng.choice('ab')} = p.{rng.choice('ab')}" + rng.choice(["", " AND p.b > 0", " AND q.s = 'x'"])
    source = {
        "one": f"{first} q",
        "left": f"{first} q LEFT JOIN {second} p ON {on}",
        "right": f"{first} q RIGHT JOIN {second} p ON {on}",
        "using": f"{first} q RIGHT OUTER JOIN {second} p USING ({rng.choice(['a', 'b', 'a, b'])})",
        "inner": f"{first} q JOIN {second} p ON {on}",
    }[shape]
    owners = ["q"] if shape == "one" else ["q", "p"]

    def column() -> str:
        bare = shape == "one" and rng.random() < 0.5
        return rng.choice("ab") if bare else f"{rng.choice(owners)}.{rng.choice('ab')}"

    def subquery() -> str:
        alias = rng.choice(["q", "z", ""])
        table_name = rng.choice("rtu")
        named = alias or table_name
        inner = rng.choice(["", f"{named}."])
        outside = column() if named != "q" or shape != "one" else "a"
        more = rng.choice(
            ["", f"{inner}b > 0", f"{inner}s = 'x' OR {inner}a IS NULL", f"{inner}b < {column()}"]
        )
        from_ = f"FROM {table_name} {alias}"
        kind = rng.choice(["IN", "IN", "NOT IN", "pair", "EXISTS", "EXISTS", "NOT EXISTS", "NOT EXISTS"])
        if "EXISTS" in kind:
            both = f"{named}.{rng.choice('ab')} = {outside}" + (f" AND ({more})" if more else "")
            return f"{kind} (SELECT {rng.choice(['1', '*', 'a'])} {from_} WHERE {both})"
        picked, own = rng.choice("ab"), column()
        where = f" WHERE {more}" if more else ""
        if kind == "pair":
            return f"({own}, {column()}) IN (SELECT {inner}{picked}, {rng.choice('ab')} {from_}{where})"
        if kind == "NOT IN" and rng.random() < 0.7:
            known = f"{inner}{picked} {rng.choice(['IS NOT NULL', '> 0', 'IN (1, 2)', f'<> {inner}b'])}"
            body = f"SELECT {inner}{picked} {from_} WHERE {known}" + (f" AND ({more})" if more else "")
            return f"{own} NOT IN ({body}) AND {own} {rng.choice(['IS NOT NULL', '< 3'])}"
        return f"{own} {kind} (SELECT {rng.choice(['', 'DISTINCT '])}{inner}{picked} {from_}{where})"

    conditions = [
        subquery() for _ in range(rng.choice([0, 1, 1, 2]) if shape != "one" else rng.choice([1, 2]))
    ]
    if rng.random() < 0.3:
        conditions.append(f"({owners[0]}.b = 1 OR {owners[-1]}.a > 0)")
    rng.shuffle(conditions)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    picked = rng.choice(
        ["*", f"{owners[-1]}.*", f"{owners[0]}.a, {owners[-1]}.b", f"count(*), sum({owners[0]}.a)"]
    )
    return f"SELECT {picked} FROM {source}{where}"


def _judged(seed: int, spark: SparkEngine) -> Prepared | None:
    """The plan of a seed's statement, whose rows are those of Spark; None where Spark takes it for no query."""
    rng = random.Random(seed)
    sources = shapes.sources(rng)
    data, sql = shapes.rows(rng, sources), _query(rng)
    try:
        prepared = prepare(sql, sources)
    except QueryError:
        return None
    expected, got = spark.run_over(sql, data), shapes.Run(prepared, data, spark).result()
    assert got.column_names == expected.column_names, (seed, sql)
    assert shapes.bag(got) == shapes.bag(expected), (seed, sql, prepared)
    return prepared


@pytest.mark.spark
@pytest.mark.slow
def test_random_subqueries_and_right_joins(spark: SparkEngine) -> None:
    found = [one for seed in range(60) if (one := _judged(seed, spark)) is not None]
    joined = [alias.kind for one in found for block in one.blocks for alias in block.plan.aliases]
    assert len(found) > 30
    assert min(joined.count(kind) for kind in ("left", "semi", "anti")) > 3
    assert sum(one.upper is None for one in found) > 10


#: Keys that their sources declare: a primary key, and one that every request binds.
KEYED = catalog(
    table("x.r", "a bigint, b bigint, s string", scans=1, primary_key="a"),
    table("x.u", "a bigint, b bigint, s string", lookups=("a",), required="a"),
)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT a FROM r WHERE a NOT IN (SELECT a FROM u)", "u anti"),
        ("SELECT q.a FROM r q WHERE q.a NOT IN (SELECT a FROM r WHERE s = 'x')", "r anti"),
        ("SELECT a FROM r WHERE b NOT IN (SELECT a FROM r q)", None),
        (
            "SELECT p.a FROM r q LEFT JOIN r p ON p.a = q.b WHERE p.a NOT IN (SELECT a FROM r WHERE b = 1)",
            None,
        ),
    ],
)
def test_declared_keys_are_never_null(sql: str, kind: str | None) -> None:
    blocks = prepare(sql, KEYED).blocks
    found = [f"{alias.name} {alias.kind}" for block in blocks for alias in block.plan.aliases]
    assert kind in found if kind is not None else not any(one.endswith("anti") for one in found)


def test_an_alias_in_a_subquery_is_no_column_of_the_tables_around_it() -> None:
    tables = catalog(table("w.v", "k bigint, n string, x bigint", lookups=("k",)))
    query = "EXISTS (SELECT 1 FROM v n WHERE n.k = v.x)"
    with pytest.raises(InfeasibleQuery, match="nothing binds k"):
        prepare(f"SELECT v.n FROM v JOIN v q ON v.k = q.x WHERE v.k = 2 AND {query}", tables)
