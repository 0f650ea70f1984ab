from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from fff.errors import UsageError
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
        (["a:boolean=yes"], "-p a: 'yes' is not a boolean"),
        (["a:date=2020-02-30"], "-p a: '2020-02-30' is not a date"),
    ],
)
def test_what_will_not_do_is_a_usage_error(texts, said):
    with pytest.raises(UsageError, match=said):
        parse_params(texts)
