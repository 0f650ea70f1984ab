from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pytest

from fff.errors import UsageError
from fff.sql.syntax.parameters.param_types import BigInt
from fff_cli.app import run as fff
from fff_cli.options.params import parse_params


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=94704", 94704),
        ("a=-3", -3),
        ("a=02139", "02139"),
        ("a='94704'", "94704"),
        ("a='it''s'", "it's"),
        ('a="x y"', "x y"),
        ("a=0.50", Decimal("0.50")),
        ("a=-.5", Decimal("-.5")),
        ("a=1e-3", 0.001),
        ("a=0e-400", 0.0),
        ("a=" + "9" * 38, int("9" * 38)),
        ("a=True", True),
        ("a=null", None),
        ("a=", ""),
        ("a=x=y", "x=y"),
        ("a=CA", "CA"),
        ("a=line\nbreak", "line\nbreak"),
        ("a:string=94704", "94704"),
        ("a:string=null", "null"),
        ("a:int=null", None),
        ("a:INT=7", 7),
        ("a:double=1", 1.0),
        ("a:decimal=1", Decimal(1)),
        ("a:boolean=false", False),
        ("a:date=2020-02-29", dt.date(2020, 2, 29)),
        ("a:timestamp=2020-01-02T03:04:05", dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        ("a:int=-2147483648", -(2**31)),
        ("a:bigint=9223372036854775807", BigInt(2**63 - 1)),
        ("a:double=1e-3", 0.001),
        ("a:double=-Infinity", -math.inf),
        ("a:decimal=1e3", Decimal("1e3")),
        ("a:timestamp_ntz=2020-01-02", dt.datetime(2020, 1, 2)),  # noqa: DTZ001
    ],
)
def test_values_have_types(text, value):
    [(name, parsed)] = parse_params([text]).items()
    assert (name, parsed, type(parsed)) == ("a", value, type(value))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["zip"], "not of the form NAME=VALUE"),
        (["1a=2"], "not of the form NAME=VALUE"),
        (["a=1", "a=2"], "-p a: given twice"),
        (["a:json=1"], "-p a: unknown type 'json'"),
        (["a:int=x"], "-p a: 'x' is not an int"),
        (["a:decimal=x"], "-p a: 'x' is not a decimal"),
        (["a:int=9999999999"], "-p a: '9999999999' is not an int"),
        (["a:int=1_000"], "-p a: '1_000' is not an int"),
        (["a:int=٣"], "is not an int"),
        (["a:bigint=9223372036854775808"], "-p a: '9223372036854775808' is not a bigint"),
        (["a:bigint=1e3"], "-p a: '1e3' is not a bigint"),
        (["a:decimal=NaN"], "-p a: 'NaN' is not a decimal"),
        (["a=1e400"], "-p a: '1e400' is not a double\n  one is written 0.50 or 1e-3, from"),
        (["a=1e-400"], "-p a: '1e-400' is not a double"),
        (["a:double=-0.0001e-330"], "-p a: '-0.0001e-330' is not a double"),
        (["a=" + "9" * 39], "9' is not a decimal\n  one is written 0.50 or 1e-3, with 38 digits at most"),
        (["a=" + "9" * 5000], "-p a: '9"),
        (["a=0." + "1" * 39], "-p a: '0.1"),
        (["a:decimal=Infinity"], "-p a: 'Infinity' is not a decimal"),
        (["a:decimal=1_0"], "-p a: '1_0' is not a decimal"),
        (["a:decimal=1e38"], "-p a: '1e38' is not a decimal"),
        (["a:double=1_0"], "-p a: '1_0' is not a double"),
        (["a:double=1e999"], "-p a: '1e999' is not a double"),
        (["a:timestamp_ntz=2020-01-02T03:04:05Z"], "is not a timestamp_ntz"),
        (["a:timestamp=0001-01-01T00:00+05:00"], "is not a timestamp"),
        (["a:boolean=yes"], "-p a: 'yes' is not a boolean"),
        (["a:date=2020-02-30"], "-p a: '2020-02-30' is not a date"),
    ],
)
def test_what_will_not_do_is_a_usage_error(texts, said):
    with pytest.raises(UsageError, match=said):
        parse_params(texts)


@pytest.mark.parametrize(
    "param",
    [
        *(
            "a:int=5",
            "a:bigint=5",
            "a:bigint=-5",
            "a:bigint=-9223372036854775808",
            "a:double=5",
            "a:string=5",
        ),
        *("a:boolean=true", "a:date=2020-02-29", "a:timestamp=2020-02-29T08:00+01:00"),
        "a:timestamp_ntz=2020-02-29T08:00",
    ],
)
def test_a_parameter_is_of_the_type_that_is_said(param: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert fff(["query", "SELECT typeof(:a) AS t", "-p", param, "-q"]) == 0
    assert capfd.readouterr().out.split() == ["t", param[2 : param.index("=")]]


def test_a_bigint_counts_rows_and_is_computed_with_as_one(capfd: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT :a + 2147483647 AS b, typeof(:a + 1) AS t FROM VALUES (1), (2) LIMIT :a"
    assert fff(["query", sql, "-p", "a:bigint=1", "-q"]) == 0
    assert capfd.readouterr().out.split() == ["b,t", "2147483648,bigint"]
