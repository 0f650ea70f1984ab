"""Texts in quotation marks are read as Spark reads them, and so bind keys and are pushed down."""

from __future__ import annotations

import os
import random

import pyarrow as pa
import pytest
from planner_fakes import DEMO, catalog, table

from fff.dataflow.plan.expressions import Compare, Literal
from fff.errors import InfeasibleQuery, QueryError
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.syntax.literals import constant_of
from fff.sql.syntax.parse import parse_statement

#: Each as it is spelled, with what Spark makes of it.
READ = {
    r"'O\'Brien'": "O'Brien",
    r"'a\"b'": 'a"b',
    r'"a\"b"': 'a"b',
    r"'\u00e9'": "é",
    r"'\u00E'": "u00E",
    r"'\uu0041'": "uu0041",
    r"'\U0001F600'": "😀",
    r"'\U0001F60'": "U0001F60",
    r"'\uD83D\uDE00'": "😀",
    r"'\uD83D\U0000DE00'": "😀",
    r"'x\uDE00\uD83Dy'": "x??y",
    r"'\UFFFFFFFF'": "\ud7bf?",
    r"'\x41'": "x41",
    r"'\101\18\1'": "A181",
    r"'\177\200\277'": "\x7f200277",
    r"'\0011\00'": "\x011\x000",
    r"'\b\n\r\t\Z\a\f\v\0'": "\b\n\r\t\x1aafv\0",
    r"'50\%\_\\%'": r"50\%\_\%",
    r"'\\u0041'": r"\u0041",
    r"'😀\😀'": "😀😀",
    "'\\\n'": "\n",
    r"'a\'''b'": "a''b",
    r"'\\''\''": "\\''",
    "''''": "'",
    "'' ''": "",
    "'a\"\"b'": 'a""b',
    "'a' 'b'": "ab",
    "'a'\"b\"'c''d'": "abc'd",
    "'a'--c\n'b'/*d*/ r'\\'": "ab\\",
    r"r'\d+' R'\''x'": r"\d+\x",
    "r'a''b'": "ab",
    'r"it\'s"': "it's",
}
PIECES = (
    "'",
    "''",
    '"',
    "\\",
    "\\\\",
    "u",
    "00e9",
    "D83D",
    "DE00",
    "U",
    "0001F600",
    "0",
    "17",
    "7",
    "é",
    "😀",
)
ENDS = ("'", '"', "r'", 'R"')


def value(spelled: str) -> object:
    """What the engine reads; None where the text is none."""
    statement = parse_statement(f"SELECT {spelled}")
    constant = constant_of(statement, statement.tree.selects[0])
    return None if constant is None else constant.value


@pytest.mark.parametrize("spelled", READ)
def test_a_text_is_what_spark_reads(spelled: str) -> None:
    assert value(spelled) == READ[spelled]
    conjunct = prepare(f"SELECT 1 FROM types WHERE s = {spelled}", DEMO).only_block.conjuncts[0]
    assert isinstance(conjunct.expr, Compare)
    assert conjunct.where == "engine"
    assert isinstance(conjunct.expr.right, Literal)
    assert conjunct.expr.right.value == READ[spelled]


BY_KEY = catalog(table("lab.t", "k string, v int", lookups=("k",), required="k"))


@pytest.mark.parametrize(
    "condition", [r"k = 'O\'Brien'", r"k IN ('O\'Brien', 'O' '''Brien')", r"k <=> r'O' '\'Brien'"]
)
def test_texts_bind_keys(condition: str) -> None:
    block = prepare(f"SELECT v FROM t WHERE {condition}", BY_KEY).only_block
    assert [keys for seed in block.plan.aliases[0].seeds for keys in seed.keys] == [("O'Brien",)]


def test_a_text_of_a_typed_constant_stands_alone() -> None:
    with pytest.raises(QueryError, match="syntax error"):
        prepare("SELECT DATE '2020' '-01-01'", DEMO)


@pytest.mark.parametrize(
    ("constant", "told"),
    [("N'a'", "UNSUPPORTED_TYPED_LITERAL"), ("9" * 39, "a number of more than 38 digits")],
)
def test_what_cannot_be_read_is_underlined(constant: str, told: str) -> None:
    sql = f"SELECT v FROM t WHERE k = {constant}"
    with pytest.raises(QueryError, match=told) as refused:
        prepare(sql, BY_KEY)
    span = refused.value.span
    assert span is not None
    assert sql[span.start : span.end] == constant


@pytest.mark.parametrize(
    ("sql", "params"),
    [
        ("SELECT v FROM (VALUES (:k)) q(a) JOIN t ON t.k = q.a", {"k": "x"}),
        ("SELECT v FROM VALUES (NULL), (:k) AS q(a) JOIN t ON t.k = q.a", {"k": "x"}),
        ("SELECT v FROM (VALUES (true, 'x'), (false, 'y')) q(b, a) JOIN t ON t.k = q.a WHERE b", {}),
        ("SELECT v FROM t WHERE k IN (VALUES (:k))", {"k": "x"}),
    ],
)
def test_rows_without_a_written_text_are_a_table(sql: str, params: dict[str, object]) -> None:
    assert prepare(sql, BY_KEY, params).upper is None


def test_true_binds_a_key() -> None:
    by_truth = catalog(table("lab.t", "k boolean, v int", lookups=("k",), required="k"))
    assert prepare("SELECT v FROM (VALUES (true)) q(b) JOIN t ON t.k = q.b", by_truth).upper is None
    with pytest.raises(InfeasibleQuery):
        prepare("SELECT v FROM (VALUES (1)) q(b) JOIN t ON t.k = q.b", by_truth)


@pytest.mark.spark
@pytest.mark.slow
def test_texts_are_those_of_spark(spark: SparkEngine) -> None:
    rng = random.Random(f"strings {os.environ['FFF_FUZZ_LONG_SEED']}")
    spelled = list(READ)
    for _ in range(400):
        texts = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            end = rng.choice(ENDS)
            texts.append(f"{end}{''.join(rng.choices(PIECES, k=rng.randrange(8)))}{end[-1]}")
        spelled.append(rng.choice(("", " ", "\n")).join(texts))
    ours: dict[str, object] = {}
    for one in spelled:
        try:
            ours[one] = value(one)
        except QueryError:  # a mark too many, or too few
            continue
    assert len(ours) > 100
    data = {"one": pa.table({"n": [1]})}
    columns = ", ".join(f"{one} AS c{at}" for at, one in enumerate(ours))
    theirs = spark.run_over(f"SELECT {columns} FROM one", data).to_pylist()[0]
    assert dict(zip(ours, theirs.values(), strict=True)) == ours
