"""What people write to say what they want first, as expressions over a plan's columns, or as errors with the place."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from fff.dataflow.plan.expressions import And, Column, Compare, InList, IsNull, Literal, Not, Or
from fff.dataflow.plan.plan import AliasPlan, BlockPlan, EqualityClass, LookupPlan, ScanPlan, TablePlan
from fff.errors import QueryError
from fff.schema import Field
from fff.sql.analysis.priorities import priority


def fields(text: str) -> tuple[Field, ...]:
    return tuple(Field.of(*part.split(":")) for part in text.split())


#: FROM gov.fec f, gov.demographics AS Demographics, gov.crime c1, gov.crime c2 WHERE f.zip = each zip but c2's
BLOCK = BlockPlan(
    tables=(
        TablePlan("gov.fec", fields("State:string zip:string n:int"), scans=(ScanPlan("scan"),)),
        TablePlan("gov.demographics", fields("zip:string income:double day:date"), lookups=(LookupPlan("by zip", (0,)),)),
        TablePlan("gov.crime", fields("zip:string rating:string n:int"), scans=(ScanPlan("scan"),)),
    ),
    aliases=(
        AliasPlan("f", 0, active=True),
        AliasPlan("Demographics", 1, active=False),
        AliasPlan("c1", 2, active=True),
        AliasPlan("c2", 2, active=True),
    ),
    equalities=(
        EqualityClass((Column(0, 1), Column(1, 0), Column(2, 0))),
        EqualityClass((Column(2, 2), Column(3, 2))),
    ),
)  # fmt: skip
#: The same without c2.
PLAIN = BlockPlan(BLOCK.tables, BLOCK.aliases[:3], BLOCK.equalities[:1])


def text(value: str) -> Literal:
    return Literal(value, pa.string())


STATE = Compare("=", Column(0, 0), text("CA"))


@pytest.mark.parametrize(
    "written",
    [
        "State = 'CA'",
        "state='CA'",
        "'CA' = STATE",
        "f.state = 'CA'",
        "F.`State` = 'CA'",
        "fec.State = 'CA'",
        "gov.FEC.state = 'CA'",
        "(State = 'CA') -- home",
        "\n\tState =\n'CA'\n",
    ],
)
def test_names_are_found_however_they_are_written(written: str) -> None:
    assert priority(written, BLOCK) == STATE


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("income > 3", Compare(">", Column(1, 1), Literal(3.0, pa.float64()))),
        ("day < DATE '2020-01-01'", Compare("<", Column(1, 2), Literal(date(2020, 1, 1), pa.date32()))),
        ("f.n IN (1, 2)", InList(Column(0, 2), (1, 2), pa.int32())),
        ("rating IS NULL AND NOT State = 'CA'", And((IsNull(Column(2, 1)), Not(STATE)))),
        ("State = 'CA' OR f.n = c1.n", Or((STATE, Compare("=", Column(0, 2), Column(2, 2))))),
    ],
)
def test_conditions_of_every_kind(written: str, meant: Any) -> None:
    assert priority(written, PLAIN) == meant


def test_a_bare_name_means_the_first_of_equal_columns() -> None:
    assert priority("zip = '94704'", PLAIN) == Compare("=", Column(0, 1), text("94704"))
    assert priority("c2.zip = '94704'", BLOCK) == Compare("=", Column(3, 0), text("94704"))


@pytest.mark.parametrize(
    "written",
    ["colour = 'red'", "f.colour = 'red'", "g.State = 'CA'", "State = 'CA' AND colour = 'red'", "web.fec.State = 'CA'"],
)  # fmt: skip
def test_a_block_without_the_columns_has_no_such_priority(written: str) -> None:
    assert priority(written, BLOCK) is None


@pytest.mark.parametrize(
    ("written", "message", "underlined"),
    [
        ("zip = '94704'", "column zip is ambiguous: f.zip, c2.zip", "zip"),
        ("n = 1", "column n is ambiguous: f.n, c1.n", "n"),
        ("crime.rating = 'A'", "crime is ambiguous: c1, c2", "crime.rating"),
        ("gov.crime.rating = 'A'", "gov.crime is ambiguous: c1, c2", "gov.crime.rating"),
        ("State LIKE 'C%'", "cannot be a priority: it computes something", "State LIKE 'C%'"),
        ("upper(State) = 'CA'", "cannot be a priority: it computes something", "upper(State) = 'CA'"),
        ("State = 3", "cannot be a priority: it computes something", "State = 3"),
        ("State = :home", "cannot be a priority", "State"),
        ("f.n = (SELECT max(x) FROM y)", "cannot be a priority", None),
        ("f.*", "cannot be a priority", None),
        ("1 = 1", "names at least one column", "1 = 1"),
        ("State = 'CA' GROUP BY State", "a condition and nothing more", "State = 'CA' GROUP BY State"),
        ("State = 'CA' LIMIT 1", "a condition and nothing more", "State = 'CA' LIMIT 1"),
        ("State = 'CA' UNION SELECT 1", "a condition and nothing more", "State = 'CA' UNION SELECT 1"),
        ("State = 'CA',", "one condition", ","),
        ("State = 'CA'; SELECT 1", "only one statement", ";"),
        ("State = 'CA", "this string does not end", "'"),
        ("State =", "syntax error", None),
        ("State = 'CA') OR (f.n = 1", "syntax error", ")"),
    ],
)
def test_what_is_wrong_is_underlined(written: str, message: str, underlined: str | None) -> None:
    with pytest.raises(QueryError) as caught:
        priority(written, BLOCK)
    assert message in caught.value.message
    assert caught.value.sql == written
    assert caught.value.span is not None
    assert 0 <= caught.value.span.start <= caught.value.span.end <= len(written)
    if underlined is not None:
        assert written[caught.value.span.start : caught.value.span.end] == underlined
    assert "block" not in caught.value.render()


@pytest.mark.parametrize("written", ["", "  \n", "-- nothing"])
def test_nothing_is_no_condition(written: str) -> None:
    with pytest.raises(QueryError):
        priority(written, BLOCK)


def test_depth_is_an_error_not_a_crash() -> None:
    with pytest.raises(QueryError, match="nested too deeply"):
        priority("(" * 3000 + "State = 'CA'" + ")" * 3000, BLOCK)
