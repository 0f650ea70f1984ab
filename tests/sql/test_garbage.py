"""Whatever is typed, the answer is a plan or an FFFError: never another exception."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planner_fakes import DEMO

from fff.errors import FFFError, QueryError
from fff.sql import explain, parameter_names, prepare, split_statements
from tests.sampling import every

WORDS = [
    *"""SELECT FROM WHERE AND OR NOT IN BETWEEN IS NULL TRUE FALSE JOIN INNER CROSS LEFT OUTER NATURAL SEMI USING ON AS
    DISTINCT EXCEPT UNION ALL GROUP BY HAVING ORDER LIMIT OFFSET CASE WHEN THEN ELSE END CAST WITH LATERAL VIEW QUALIFY
    WINDOW OVER PARTITION SORT VALUES INSERT EXISTS LIKE RLIKE INTERVAL DATE TIMESTAMP ROLLUP GROUPING SETS PIVOT
    FEC F crime C Demographics D zip State id contribution crimeRating web gov types items x ts
    count sum upper explode transform '94704' 'a 1 2.5 1e3 5L -3 :p ? * , ( ) . ; = <> < >= <=> == + - / || -> :: :
    ` `zip` " "q" -- /* */ /*+ [ ] { } |> @ # $ % ! '' """.split(),  # noqa: SIM905 - reads as the vocabulary it is
    "\n",
    "\\",
]

VALID = (
    """SELECT F.State, avg(F.contribution) FROM FEC AS F, crime C WHERE F.zip = C.zip AND C.year IN (2019, 2020)
    GROUP BY F.State HAVING count(*) > 1 ORDER BY 2 DESC LIMIT 10""",
    "SELECT * FROM FEC F JOIN Demographics D USING (zip) NATURAL JOIN crime WHERE NOT (F.id = 1 OR D.population < 5)",
    "SELECT CASE WHEN i BETWEEN 1 AND 2 THEN 'x' ELSE st.n END FROM types t WHERE dt = DATE '2020-01-01' AND b",
    "SELECT zip FROM (FEC CROSS JOIN items) WHERE FEC.zip = items.sku -- the end",
)


def survives(sql: str) -> None:
    """Any exception but FFFError fails the test."""
    calls = [
        lambda: explain(prepare(sql, DEMO)),
        lambda: explain(prepare(sql, DEMO, {"p": "94704"})),
        lambda: split_statements(sql),
        lambda: parameter_names(sql),
    ]
    messages = []
    for call in calls:
        try:
            call()
        except FFFError as error:
            messages.append(error.render())
    assert all(messages)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
@pytest.mark.slow
def test_word_soup(sql: str) -> None:
    survives(sql)


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(WORDS), max_size=15).map(
        lambda words: "SELECT * FROM FEC F, crime " + " ".join(words)
    )
)
@pytest.mark.slow
def test_soup_behind_a_good_start(sql: str) -> None:
    survives(sql)


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_any_text(sql: str) -> None:
    survives(sql)


@settings(max_examples=300)
@given(st.text(max_size=60))
@pytest.mark.slow
def test_much_of_any_text(sql: str) -> None:
    survives(sql)


@settings(max_examples=400)
@given(st.data())
@pytest.mark.slow
def test_damaged_queries(data: st.DataObject) -> None:
    sql = data.draw(st.sampled_from(VALID))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(sql)))
        end = min(len(sql), start + data.draw(st.integers(0, 6)))
        sql = sql[:start] + data.draw(st.sampled_from([*WORDS, "", " "])) + sql[end:]
    survives(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
        "SELECT * FROM FEC WHERE " + "NOT " * 3000 + "id = 1",
        "SELECT * FROM FEC WHERE " + "(" * 400 + "id = 1" + ")" * 400,
        "SELECT " + "upper(" * 3000 + "zip" + ")" * 3000 + " FROM FEC",
        "SELECT * FROM " + "(" * 3000 + "FEC" + ")" * 3000,
    ],
    ids=["brackets", "not", "bracketed condition", "calls", "bracketed table"],
)
def test_deep_nesting(sql: str) -> None:
    survives(sql)


def test_brackets_in_brackets_are_read_as_deeply_as_spark_reads_them() -> None:
    limit = sys.getrecursionlimit()
    for text in ("(" * 190 + "{}" + ")" * 190, "abs(" * 90 + "{}" + ")" * 90, "(1 + " * 90 + "{}" + ")" * 90):
        assert prepare(f"SELECT {text.format('id')} AS x FROM FEC", DEMO).result is not None
        assert prepare(f"SELECT id FROM FEC WHERE {text.format('id')} = 1", DEMO).upper is None
    with pytest.raises(QueryError, match="more than 60 queries"):
        prepare("SELECT * FROM " + "(SELECT * FROM " * 60 + "FEC" + ")" * 60, DEMO)
    assert sys.getrecursionlimit() == limit


def test_chains_that_python_could_not_evaluate_are_left_to_spark() -> None:
    for sql in (
        "SELECT " + "id + " * 400 + "1 AS x FROM FEC",
        "SELECT id FROM FEC WHERE " + "NOT " * 400 + "id = 1",
    ):
        assert prepare(sql, DEMO).upper is not None
    assert prepare("SELECT id FROM FEC WHERE " + " OR ".join(["id + 1 = 2"] * 400), DEMO).upper is None


@pytest.mark.slow
def test_long_chains_are_planned() -> None:
    conjuncts = prepare("SELECT id FROM FEC WHERE " + " AND ".join(["id > 1"] * 3000), DEMO)
    assert len(conjuncts.only_block.plan.predicates) == 3000
    either = prepare("SELECT id FROM FEC WHERE " + " OR ".join(f"id = {n}" for n in range(3000)), DEMO)
    assert either.only_block.conjuncts[0].where == "engine"


#: Words of statements that can be planned, and what makes other statements of them.
STATEMENTS = [
    re.findall(r"\w+|'[^']*'|\s+|[^\w\s]", part.partition("\n--\n")[0].strip())
    for part in (Path(__file__).parent / "statements.txt").read_text(encoding="utf-8").split("\n====\n")
]
GRAFTS = (
    *("|>", "|> UNION SELECT 1", "|> EXCEPT ALL TABLE FEC", "|> AS (5)", "|> AGGREGATE count(*)", "|> PIVOT"),
    *("|> EXTEND 1 AS x", "|> ORDER BY 1", "UNION", "(", ")", "[", "VALUES (1)", "TABLE FEC", "TABLESAMPLE"),
    *("WITH", "RECURSIVE", "LATERAL VIEW", "EXISTS", "IN", "NOT", "::", "OVER", "FULL JOIN", "range(3)"),
    *("GROUPING SETS", "INTERVAL", "CASE", "CAST(", "explode(", "LIMIT", "WINDOW", "UNPIVOT", "*", ","),
)


@pytest.mark.parametrize("seed", every(2, range(4)))
def test_statements_with_parts_torn_out_and_grafted(seed: int) -> None:
    rng = random.Random(seed)
    words = [word for statement in STATEMENTS for word in statement if word.strip()]
    for _ in range(100):
        parts = list(rng.choice(STATEMENTS))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(parts))
            match rng.randrange(4):
                case 0:
                    del parts[at : max(at + rng.randint(1, 3), at + 1 - len(parts))]
                    parts = parts or ["SELECT"]
                case 1:
                    parts.insert(at, f" {rng.choice(GRAFTS)} ")
                case 2:
                    parts.insert(at, f" {rng.choice(words)} ")
                case _:
                    parts[at] = rng.choice(words)
        survives("".join(parts))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT zip FROM FEC |> UNION (SELECT 1) OR x",
        "SELECT |> UNION SELECT 1 zip FROM FEC WHERE 1 = 0",
        "SELECT * |> AS (5)",
        "SELECT zip FROM FEC TABLESAMPLE LIMIT 0",
        "SELECT zip FROM FEC TABLESAMPLE f NATURAL JOIN crime",
        "SELECT zip FROM FEC |> UNION",
        "SELECT zip FROM FEC |> UNION ALL",
    ],
)
def test_halves_are_syntax_errors(sql: str) -> None:
    with pytest.raises(FFFError) as raised:
        prepare(sql, DEMO)
    assert "^" in raised.value.render()
