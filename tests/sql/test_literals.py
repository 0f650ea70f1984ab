"""Which constants the engine takes for which column types, and as what value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from planner_fakes import DEMO, catalog, table

from fff.dataflow.plan.expressions import Compare, Literal
from fff.sql import prepare
from fff.sql.analysis.predicates import pinned

UTC = dt.UTC

TAKEN = [
    ("i8 = 127", 127),
    ("i8 = -128", -128),
    ("i16 = 5S", 5),
    ("i = 5L", 5),
    ("i = (5)", 5),
    ("l = 9223372036854775807", 2**63 - 1),
    ("l = '-12'", -12),
    ("i = NULL", None),
    ("d = 1", 1.0),
    ("d = 0.1", 0.1),
    ("d = 1e-3", 0.001),
    ("d = -2.5D", -2.5),
    ("d = 0.1F", 0.10000000149011612),
    ("f = 0.5", 0.5),
    ("f = 0.1F", 0.10000000149011612),
    ("m = 7", Decimal("7.00")),
    ("m = 7.5", Decimal("7.50")),
    ("m = 7.500", Decimal("7.50")),
    ("m = -7.25BD", Decimal("-7.25")),
    ("w = 1234567890123456789012345678901234.5", Decimal("1234567890123456789012345678901234.5000")),
    ("w = -1234567890123456789012345678901234.5", Decimal("-1234567890123456789012345678901234.5000")),
    ("s = 'a'", "a"),
    ('s = "a"', "a"),
    ("s = ''", ""),
    ("s = 'it''s'", "it's"),
    ("s = ''''", "'"),
    ('s = "a""b"', 'a"b'),
    ("s = \"it''s\"", "it''s"),
    (r"s = 'a\\''b'", "a\\'b"),
    (r"s = r'\d+'", r"\d+"),
    ("v = 'é'", "é"),
    ("b = TRUE", True),
    ("dt = '2020-02-29'", dt.date(2020, 2, 29)),
    ("dt = DATE '2020-02-29'", dt.date(2020, 2, 29)),
    ("dt = CAST('2020-02-29' AS DATE)", dt.date(2020, 2, 29)),
    ("ts = '2020-01-01T00:00:00Z'", dt.datetime(2020, 1, 1, tzinfo=UTC)),
    ("ts = TIMESTAMP '2020-01-01 00:00:00+01:00'", dt.datetime(2019, 12, 31, 23, tzinfo=UTC)),
    ("tn = TIMESTAMP_NTZ '2020-01-01'", dt.datetime(2020, 1, 1)),  # noqa: DTZ001
    ("tn = '2020-01-01 10:00:00.5'", dt.datetime(2020, 1, 1, 10, 0, 0, 500_000)),  # noqa: DTZ001
]

LEFT = [
    "l = 9223372036854775808",
    "d = 1e999",
    "w = 0.00001",
    "w = 12345678901234567890123456789012345",
    "a = NULL",
]
#: Taken by the engine, which casts or computes: no constant that a column is held to.
COMPUTED = [
    "st.k = 1",
    "i8 = 128",
    "i = 2147483648",
    "i = 5.0",
    "i = 1e0",
    "i = ' 5'",
    "i = '5.0'",
    "l = '9223372036854775808'",
    "d = '1'",
    "d = 9007199254740993",
    "f = 0.1",
    "f = 16777217",
    "m = 7.555",
    "m = 123456789.5",
    "m = 7D",
    "m = '7'",
    "s = 5",
    "s = TRUE",
    "s = DATE '2020-01-01'",
    "b = 'true'",
    "dt = '2020-1-1'",
    "dt = '2020-02-30'",
    "dt = TIMESTAMP '2020-01-01 00:00:00Z'",
    "ts = '2020-01-01 00:00:00'",
    "ts = TIMESTAMP '2020-01-01 00:00:00'",
    "ts = TIMESTAMP_NTZ '2020-01-01 00:00:00'",
    "ts = DATE '2020-01-01'",
    "tn = TIMESTAMP '2020-01-01 00:00:00Z'",
    "i + 1 = 2",
    "x = X'1F'",
    "d = l",
    "m = w",
    "ts = tn",
]


@pytest.mark.parametrize(("text", "value"), TAKEN)
def test_taken(text: str, value: object) -> None:
    predicate = prepare(f"SELECT 1 FROM types WHERE {text}", DEMO).only_block.conjuncts[0]
    assert predicate.where == "engine"
    assert isinstance(predicate.expr, Compare)
    right = predicate.expr.right
    assert isinstance(right, Literal)
    assert right.value == value
    assert type(right.value) is type(value)
    column = predicate.expr.left
    assert right.type == DEMO.find(["types"])[0].columns[column.index].arrow


#: Of these, what no value of the column's type, and none that a source knows, is equal to.
BEYOND = ["i8 = 128", "i = 2147483648", "f = 0.1", "m = 7.555"]


@pytest.mark.parametrize("text", COMPUTED)
def test_computed(text: str) -> None:
    conjunct = prepare(f"SELECT 1 FROM types WHERE {text}", DEMO).only_block.conjuncts[0]
    assert conjunct.where == "engine"
    assert conjunct.expr is not None
    held = pinned(conjunct.expr)
    assert held is None or not held[1] or text not in BEYOND


@pytest.mark.parametrize("text", LEFT)
def test_left_to_spark(text: str) -> None:
    prepared = prepare(f"SELECT 1 FROM types WHERE {text}", DEMO)
    assert prepared.only_block.conjuncts[0].where == "spark"
    assert prepared.upper is not None
    assert prepared.upper.sql == f"SELECT 1 FROM __fff_block WHERE ({text})"


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ("k = 1 + 1", [2]),
        ("k = int('3')", [3]),
        ("k <=> 1", [1]),
        ("k = abs(-4)", [4]),
        ("k IN (1 + 1, CAST('7' AS INT))", [2, 7]),
        ("k = 2147483648 + 1", [2147483649]),
    ],
)
def test_computed_constants_bind_keys(condition: str, keys: list[int]) -> None:
    read_by_key = catalog(table("lab.t", "k bigint, v int", lookups=("k",), required="k"))
    block = prepare(f"SELECT v FROM t WHERE {condition}", read_by_key).only_block
    assert [key for seed in block.plan.aliases[0].seeds for (key,) in seed.keys] == keys


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ("left(k, 3) = 'ab'", ["ab"]),
        ("'ab' <=> left(CAST(k AS string), 3)", ["ab"]),
        ("left(left(k, 5), 3) IN ('é€', '', NULL)", ["é€", ""]),
        ("left(k, 3) = :p", ["ab"]),
        ("left(k, 2) = 'ab'", None),
        ("left(k, 3) IN ('a', 'abc')", None),
        ("left(k, n) = 'ab'", None),
        ("left(k, NULL) = 'ab'", None),
        ("left(k, 9) COLLATE UTF8_LCASE = 'ab'", None),
        ("left(k COLLATE UTF8_LCASE, 9) = 'ab'", None),
    ],
)
def test_a_text_cut_to_more_than_a_constant_has_is_held_to_it(
    condition: str, keys: list[object] | None
) -> None:
    readable = catalog(table("lab.t", "k string, n int", scans=1))
    sql = f"SELECT n FROM t WHERE {condition}"
    (conjunct,) = prepare(sql, readable, {"p": "ab"} if ":p" in condition else {}).only_block.conjuncts
    held = pinned(conjunct.expr) if conjunct.expr else None
    assert (list(held[1]) if held else None) == keys


@pytest.mark.parametrize(
    "text", ["NULL = NULL", "NULL <=> NULL", "NULL IN (NULL)", "i IN (NULL)", "NULL > i"]
)
def test_nulls_alone_are_compared(text: str) -> None:
    block = prepare(f"SELECT i FROM types WHERE {text}", DEMO).only_block
    assert (block.empty is None) == (text in {"NULL <=> NULL", "NULL > i"})
