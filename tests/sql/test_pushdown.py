"""What conditions tell sources: which qualifiers follow from them, and that none is narrower than what it follows from."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
from planner_fakes import catalog, table

from fff.catalog import KeyColumn, Table
from fff.errors import InfeasibleQuery
from fff.quals import Qual, Quals, common, implied
from fff.sql import explain, prepare
from fff.structs import replace

_ALL = ("=", "<>", "<", "<=", ">", ">=", "like")
_COLUMNS = "id int, n int, l bigint, m decimal(8,2), x double, f float, d date, ts timestamp, tn timestamp_ntz, s string, b boolean"


def narrow(columns: str, *keys: KeyColumn, name: str = "lab.t", **parts: Any) -> Table:
    return replace(table(name, columns, **({"scans": 1} | parts)), key_columns=keys)


def sends(name: str, *operators: str, require: Any = "optional") -> KeyColumn:
    return KeyColumn(name, require, operators, tuple((one, None) for one in operators))


EVERYTHING = narrow(
    _COLUMNS, *(sends(part.split()[0], *_ALL) for part in _COLUMNS.split(", ") if not part.startswith("id"))
)


def quals(where: str, declared: Table = EVERYTHING, **params: object) -> set[tuple[str, str, object]]:
    block = prepare(f"SELECT id FROM t WHERE {where}", catalog(declared), params).only_block
    return {(one.column, one.operator, one.value) for one in block.tables[0].quals}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("n >= 2020", {("n", ">=", 2020)}),
        ("n > 2020", {("n", ">", 2020)}),
        ("2020 < n", {("n", ">", 2020)}),
        ("n BETWEEN 1 AND 5", {("n", ">=", 1), ("n", "<=", 5)}),
        ("n >= 1 AND n > 3 AND n <= 9 AND n < 7", {("n", ">", 3), ("n", "<", 7)}),
        ("n = 4", {("n", "=", 4)}),
        ("n <=> 4", {("n", "=", 4)}),
        ("n >= 4 AND n <= 4", {("n", "=", 4)}),
        ("n IN (7, 3, NULL, 5)", {("n", ">=", 3), ("n", "<=", 7)}),
        ("n <> 4", {("n", "<>", 4)}),
        ("n < 3 OR n BETWEEN 8 AND 9", {("n", "<=", 9)}),
        ("n < 3 OR l > 8", set()),
        ("(n > 3 AND l > 1) OR (n > 5 AND l < 0)", {("n", ">", 3)}),
        ("n > 3 OR n IS NULL", set()),
        ("NOT (n > 3)", {("n", "<=", 3)}),
        ("NOT (n <> 3 OR l > 8)", {("n", "=", 3), ("l", "<=", 8)}),
        ("NOT (n >= 3 AND n <= 5) AND NOT n < 2", {("n", ">=", 2)}),
        ("NOT (x > 1.0D)", {("x", "<=", math.nextafter(1, 9))}),
        ("n >= 27.5 AND n < 30.5D", {("n", ">=", 28), ("n", "<=", 30)}),
        ("l BETWEEN -1.5 AND 2.5F AND NOT n < -0.5", {("l", ">=", -1), ("l", "<=", 2), ("n", ">", -1)}),
        ("n > :bound", {("n", ">=", 28)}),
        ("n < 3000000000.5", set()),  # which every n is
        ("n IS NOT NULL", set()),
        ("n = l AND n > 3", {("n", ">", 3), ("l", ">", 3)}),
        # A value that the narrower type does not have is not asked for.
        ("n = l AND l > 3000000000 AND l < 7", {("n", "<", 7), ("l", ">", 3_000_000_000), ("l", "<", 7)}),
        # Texts are sorted, and compared, in ways of their own by sources.
        ("s >= 'b'", set()),
        ("s <> 'b'", set()),
        ("s IN ('b', 'c')", set()),
        ("s = 'b'", {("s", "=", "b")}),
        ("s LIKE 'b%'", {("s", "like", "b%")}),
        ("s LIKE 'b_d%'", {("s", "like", "b%d%")}),
        (r"s LIKE 'b\\_%'", set()),
        ("s LIKE 'b/_%' ESCAPE '/'", set()),
        ("s NOT LIKE 'b%'", set()),
        ("s ILIKE 'b%'", set()),
        ("upper(s) LIKE 'B%'", set()),
        ("s LIKE 'b%' OR n = 3", set()),
        # NaN is above every number, wherever it stands.
        ("x IN (1.0D, double('NaN'), 3.0D)", {("x", ">=", math.nextafter(1, 0))}),
        ("x IN (double('NaN'), 1.0D)", {("x", ">=", math.nextafter(1, 0))}),
        ("x = 1.0D OR x = double('NaN')", {("x", ">=", math.nextafter(1, 0))}),
        ("x = double('NaN') OR x = 1.0D", {("x", ">=", math.nextafter(1, 0))}),
        ("x < double('NaN') AND x < 5D", {("x", "<", math.nextafter(5, 9))}),
        ("b", {("b", "=", True)}),
        ("NOT b AND n = 4", {("b", "=", False), ("n", "=", 4)}),
        ("b = true", {("b", "=", True)}),
        ("n + 1 > 5", set()),
    ],
)
def test_what_follows_from_a_condition(where: str, expected: set[tuple[str, str, object]]) -> None:
    assert quals(where, **({"bound": 27.5} if ":bound" in where else {})) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("m BETWEEN 1.5 AND 2", {("m", ">=", Decimal("1.49")), ("m", "<=", Decimal("2.01"))}),
        ("m = 1.5", {("m", ">=", Decimal("1.49")), ("m", "<=", Decimal("1.51"))}),
        ("x >= 1.0", {("x", ">=", 0.9999999999999999)}),
        ("x < 1.0", {("x", "<", 1.0000000000000002)}),
        ("x <= 1.7976931348623157e308", set()),  # nothing is beyond
        (
            "d BETWEEN DATE '2024-03-01' AND DATE '2024-03-31'",
            {("d", ">=", dt.date(2024, 2, 29)), ("d", "<=", dt.date(2024, 4, 2))},
        ),
        ("d >= DATE '0001-01-01'", set()),
        (
            "ts = '2024-03-01T12:00:00.5Z'",
            {
                ("ts", ">=", dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)),
                ("ts", "<=", dt.datetime(2024, 3, 1, 12, 0, 1, tzinfo=dt.UTC)),
            },
        ),
        (
            "ts > '2024-03-01T12:00:00.5Z' AND ts < '2024-03-01T13:00:00Z'",
            {
                ("ts", ">", dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)),
                ("ts", "<", dt.datetime(2024, 3, 1, 13, 0, 1, tzinfo=dt.UTC)),
            },
        ),
        ("tn >= TIMESTAMP_NTZ '2024-03-01 12:00:00.5'", {("tn", ">=", dt.datetime(2024, 2, 29, 12))}),  # noqa: DTZ001
    ],
)
def test_bounds_are_wider_where_sources_may_keep_more_than_we_read(
    where: str, expected: set[tuple[str, str, object]]
) -> None:
    assert quals(where) == expected


@pytest.mark.parametrize(
    ("operators", "where", "expected"),
    [
        ((">=", "<="), "n > 3 AND n < 9", {(">=", 3), ("<=", 9)}),
        ((">", "<"), "n >= 3 AND n <= 9", {(">", 2), ("<", 10)}),
        ((">", "<"), "n > 3 AND n < 9", {(">", 3), ("<", 9)}),
        ((">=",), "n BETWEEN 3 AND 9", {(">=", 3)}),
        ((">=", "<="), "n = 3", {(">=", 3), ("<=", 3)}),
        (("<>",), "n > 3", set()),
        ((), "n > 3", set()),
    ],
)
def test_no_more_is_said_than_the_source_declares(
    operators: tuple[str, ...], where: str, expected: set[tuple[str, object]]
) -> None:
    declared = narrow("id int, n int", sends("N", *operators))
    assert {(operator, value) for _, operator, value in quals(where, declared)} == expected


def test_operators_without_a_parameter_are_not_sent() -> None:
    assert not quals("n > 3", narrow("id int, n int", KeyColumn("n", operators=(">", ">="))))


def test_parameters_count_as_constants() -> None:
    assert quals("n >= :low AND s LIKE :what", low=3, what="a%") == {("n", ">=", 3), ("s", "like", "a%")}
    assert not quals("s LIKE :what", what="a\\_%")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("a.n > 3 AND b.n > 5", {("n", ">", 3)}),
        ("a.n > 3", set()),
        ("a.n = 3 AND b.n = 5", {("n", ">=", 3), ("n", "<=", 5)}),
        ("a.n = 3 AND b.n = 3", {("n", "=", 3)}),
        ("a.n > 3 AND b.n < 5", set()),
        ("a.n = b.n AND a.n > 3", {("n", ">", 3)}),
        ("a.n = b.l AND a.n > 3", set()),  # of each alias another column is meant
        ("a.n <> 3 AND b.n <> 3 AND b.n <> 4", {("n", "<>", 3)}),
    ],
)
def test_aliases_of_one_table_share_what_holds_for_all(where: str, expected: set[Any]) -> None:
    block = prepare(f"SELECT a.id FROM t a, t b WHERE {where}", catalog(EVERYTHING)).only_block
    assert {(one.column, one.operator, one.value) for one in block.tables[0].quals} == expected


def test_bounds_travel_through_joins() -> None:
    other = table("lab.u", "n int, v int", scans=1)
    block = prepare("SELECT id FROM t, u WHERE t.n = u.n AND u.n >= 7", catalog(EVERYTHING, other)).only_block
    assert block.tables[0].quals == (Qual("n", ">=", 7),)
    assert not block.tables[1].quals


def test_only_what_loses_no_row_restricts_the_side_of_an_outer_join() -> None:
    declared = catalog(EVERYTHING, table("lab.u", "n int", scans=1))

    def told(sql: str) -> Quals:
        prepared = prepare(sql, declared)
        return next(one.quals for block in prepared.blocks for one in block.tables if one.name == "t")

    assert told("SELECT u.n FROM u LEFT JOIN t ON u.n = t.n AND t.l > 3") == (Qual("l", ">", 3),)
    assert told("SELECT t.n FROM t LEFT JOIN u ON u.n = t.n AND t.l > 3") == ()
    assert told("SELECT t.n FROM t LEFT JOIN u ON u.n = t.n WHERE t.l > 3") == (Qual("l", ">", 3),)
    assert told("SELECT count(*) FROM t HAVING max(l) > 3") == ()


# ------------------------------------------------------------------------------------------------------ required ones


def test_a_required_range_makes_a_scan_possible() -> None:
    declared = catalog(narrow("id int, year int", sends("year", ">=", "<=", require="required")))
    block = prepare("SELECT id FROM t WHERE year > 2020", declared).only_block
    assert [scan.name for scan in block.plan.tables[0].scans] == ["t.scan"]
    with pytest.raises(InfeasibleQuery) as error:
        prepare("SELECT id FROM t WHERE id > 2020", declared)
    assert "lab.t can only be read with a condition on year" in error.value.render()
    assert "year: >= <=" in error.value.render()


def test_any_of_several_will_do() -> None:
    keys = (sends("a", ">=", require="any_of"), sends("b", "<=", require="any_of"))
    declared = catalog(narrow("id int, a int, b int", *keys))
    assert prepare("SELECT id FROM t WHERE b < 3", declared).only_block.plan.tables[0].scans
    with pytest.raises(InfeasibleQuery, match="a condition on a or b"):
        prepare("SELECT id FROM t WHERE a < 3 AND b > 3", declared)


def test_a_required_range_beside_a_required_key() -> None:
    keys = (sends("year", ">=", require="required"), KeyColumn("zip", "required"))
    declared = narrow("zip string, year int", *keys, scans=0, lookups=("zip",))
    other = table("lab.u", "zip string", scans=1)
    sql = "SELECT year FROM t, u WHERE t.zip = u.zip"
    block = prepare(f"{sql} AND year >= 3", catalog(declared, other)).only_block
    assert [lookup.name for lookup in block.plan.tables[0].lookups] == ["t.lookup[zip]"]
    with pytest.raises(InfeasibleQuery):
        prepare(sql, catalog(declared, other))
    outer = prepare("SELECT year FROM u LEFT JOIN t ON t.zip = u.zip AND year >= 3", catalog(declared, other))
    assert [lookup.name for lookup in outer.only_block.plan.tables[1].lookups] == ["t.lookup[zip]"]
    assert [(qual.column, qual.value) for qual in outer.only_block.tables[1].quals] == [("year", 3)]


def test_explain_says_what_is_sent_and_where() -> None:
    year = KeyColumn("year", operators=(">=", "<="), sendable=((">=", "year_min"), ("<=", "year_max")))
    zips = KeyColumn("zip", operators=("=",), sendable=(("=", "postcode"),))
    declared = narrow("zip string, year int, n int", year, zips, sends("n", "<>"), lookups=("zip",))
    text = explain(
        prepare(
            "SELECT n FROM t WHERE zip = '1' AND year BETWEEN 2020 AND 2021 AND n <> 3", catalog(declared)
        )
    )
    assert "  lookup t.lookup[zip], sends n <> 3, year_max=2021, year_min=2020\n" in text
    text = explain(prepare("SELECT n FROM t WHERE year > 2020", catalog(declared)))
    assert "  scan t.scan, sends year_min=2020\n" in text
    assert "sends" not in explain(prepare("SELECT n FROM t", catalog(declared)))


# ------------------------------------------------------------------------------------------------------------ algebra


def test_what_was_read_for_one_serves_another_only_where_nothing_lacks() -> None:
    low, high = Qual("n", ">=", 3), Qual("n", "<=", 9)
    assert implied((low, high), ())
    assert not implied((), (low,))
    assert implied((Qual("n", ">", 3),), (low,))
    assert not implied((low,), (Qual("n", ">", 3),))
    assert implied((Qual("N", ">=", 4), high), (low,))
    assert not implied((Qual("m", ">=", 4),), (low,))
    assert implied((Qual("n", "=", 5),), (low, high))
    assert not implied((Qual("n", "=", 10),), (low, high))
    # A bound on other numbers was sent wider than meant: an equal value may be just outside of what was meant.
    assert not implied((Qual("m", "=", Decimal("1.5")),), (Qual("m", ">=", Decimal("1.5")),))
    assert implied((Qual("s", "like", "a%"),), (Qual("s", "like", "a%"),))
    assert not implied((Qual("s", "like", "ab%"),), (Qual("s", "like", "a%"),))
    assert not implied((Qual("n", "<>", 5),), (Qual("n", "<", 5),))


def test_what_several_readers_want_is_read_for_all() -> None:
    low, lower, high = Qual("n", ">=", 3), Qual("n", ">=", 1), Qual("n", "<=", 9)
    assert common([(low, high), (lower, high)]) == (high, lower)
    assert common([(low,), ()]) == ()
    assert common([(low,), (high,)]) == ()
    assert common([(Qual("n", "=", 5),), (lower,)]) == (lower,)
    few, more = Qual("n", "in", (5, 7)), Qual("n", "in", (5, 6, 7))
    assert common([(few,), (more,), (Qual("n", "=", 6),)]) == (more,)
    assert common([(few,), (Qual("n", "in", (7, 8)),)]) == ()
    assert common([(few,), (lower,)]) == (lower,)
    assert common([(low,)]) == (low,)
