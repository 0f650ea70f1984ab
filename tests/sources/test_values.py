"""Values, paths and templates: exact expectations."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.errors import SourceError
from fff.schema import Field, arrow_type
from fff.stats import AccessMeter
from fff_sources.http import templates
from fff_sources.http.response import values
from fff_sources.http.response.fast import ColumnPlan
from fff_sources.http.response.json import MalformedJSON
from fff_sources.http.response.jsonpath import literal_path, parse_path, walk
from fff_sources.http.response.records import Origin, RecordDecoder

UTC = dt.UTC
D = decimal.Decimal
ORIGIN = Origin("s", "t", "http://h/")

FITS: list[tuple[str, str, Any]] = [
    ("string", '"05"', "05"), ("string", "5", "5"), ("string", "5.10", "5.10"), ("string", "1e3", "1e3"),
    ("string", "12345678901234567890.10", "12345678901234567890.10"), ("string", "true", "true"), ("string", "null", None),
    ("string", '{"a": [1]}', '{"a": [1]}'), ("string", '""', ""), ("string", '"null"', "null"),
    ("int", "5", 5), ("int", '"5"', 5), ("int", '" 005 "', 5), ("int", "5.0", 5), ("int", '"5.0"', 5), ("int", "5e2", 500), ("int", "null", None),
    ("bigint", "9223372036854775807", 2**63 - 1), ("tinyint", "-128", -128),
    ("double", "5", 5.0), ("double", '"1.5"', 1.5), ("double", '"-Infinity"', float("-inf")), ("float", '"inf"', float("inf")),
    ("decimal(10,2)", "1.10", D("1.10")), ("decimal(10,2)", '"1.10"', D("1.10")), ("decimal(10,2)", "12.345", D("12.35")), ("decimal(4,2)", "5", D("5.00")),
    ("decimal(38,0)", "12345678901234567890123456789012345678", D("12345678901234567890123456789012345678")),
    ("boolean", "true", True), ("boolean", '"False"', False), ("boolean", "1", True), ("boolean", '"no"', False),
    ("date", '"2020-02-29"', dt.date(2020, 2, 29)), ("date", '"2020-02-29T23:00:00Z"', dt.date(2020, 2, 29)),
    ("timestamp", '"2020-01-01T02:00:00+02:00"', dt.datetime(2020, 1, 1, tzinfo=UTC)), ("timestamp", '"2020-01-01T00:00:00Z"', dt.datetime(2020, 1, 1, tzinfo=UTC)),
    ("timestamp", '"2020-01-01 00:00:00.25"', dt.datetime(2020, 1, 1, 0, 0, 0, 250000, tzinfo=UTC)), ("timestamp", '"2020-01-01"', dt.datetime(2020, 1, 1, tzinfo=UTC)),
    ("timestamp", "1577836800", dt.datetime(2020, 1, 1, tzinfo=UTC)), ("timestamp", "1577836800123", dt.datetime(2020, 1, 1, 0, 0, 0, 123000, tzinfo=UTC)),
    ("timestamp_ntz", '"2020-01-01T02:00:00+02:00"', dt.datetime.fromisoformat("2020-01-01T02:00")), ("timestamp_ntz", '"2020-01-01T02:00:00"', dt.datetime.fromisoformat("2020-01-01T02:00")),
    ("array<int>", '[1, "2", null]', [1, 2, None]), ("struct<a:int,b:string>", '{"a": "1", "c": 2}', {"a": 1, "b": None}),
    ("map<string,date>", '{"x": "2020-01-01"}', [("x", dt.date(2020, 1, 1))]), ("binary", '"aGk="', b"hi"),
]  # fmt: skip

DOES_NOT: list[tuple[str, str]] = [
    ("int", '"abc"'), ("int", "5.5"), ("int", "true"), ("int", "2147483648"), ("int", '""'), ("int", '"1_000"'), ("int", '"0x10"'), ("int", "[1]"), ("int", "1e999"), ("int", '"null"'),
    ("tinyint", "128"), ("double", '"x"'), ("double", "true"), ("double", '""'), ("double", "1e400"), ("double", '"-1e400"'), ("float", "1e39"), ("float", '"1e39"'), ("array<float>", "[1e39]"), ("decimal(4,2)", "100"), ("decimal(4,2)", "99.999"), ("decimal(4,2)", '"x"'),
    ("boolean", "2"), ("boolean", '"maybe"'), ("date", '"31.12.2020"'), ("date", '"2021-02-29"'), ("date", "20200101"), ("timestamp", '"yesterday"'), ("timestamp", "1e30"), ("timestamp", "true"),
    ("array<int>", '["x"]'), ("array<int>", '"1"'), ("struct<a:int>", "[1]"), ("binary", '"%%"'),
]  # fmt: skip


def decode(
    body: str, *columns: tuple[str, str], on_bad: Any = "fail", meter: AccessMeter | None = None
) -> list[dict[str, Any]]:
    plans = [ColumnPlan(Field.of(name, kind), literal_path(name)) for name, kind in columns]
    batch, _ = RecordDecoder(plans, on_bad).decode(body.encode(), meter=meter or AccessMeter(), origin=ORIGIN)
    assert batch.schema.types == [plan.field.arrow for plan in plans]
    return batch.to_pylist()


@pytest.mark.parametrize(("kind", "text", "value"), FITS)
def test_what_fits(kind: str, text: str, value: Any) -> None:
    assert values.from_json(text.encode(), arrow_type(kind)) == value
    # The same alone, and in company of a value that sends the whole page the careful way.
    assert decode(f'[{{"c": {text}}}]', ("c", kind)) == [{"c": value}]
    assert decode(f'[{{"c": {text}, "d": 5}}, {{}}]', ("c", kind), ("d", "string")) == [
        {"c": value, "d": "5"},
        {"c": None, "d": None},
    ]


@pytest.mark.parametrize(("kind", "text"), DOES_NOT)
def test_what_does_not(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an? "):
        values.from_json(text.encode(), arrow_type(kind))
    with pytest.raises(SourceError, match=r"column 'c' of record 2: .* is not an? "):
        decode(f'[{{"c": null}}, {{"c": {text}}}]', ("c", kind))
    meter = AccessMeter()
    assert decode(f'[{{"c": null}}, {{"c": {text}}}]', ("c", kind), on_bad="null", meter=meter) == [
        {"c": None},
        {"c": None},
    ]
    assert decode(f'[{{"c": null}}, {{"c": {text}}}]', ("c", kind), on_bad="skip", meter=meter) == [
        {"c": None}
    ]
    assert meter.bad_records == 2


@pytest.mark.parametrize(("kind", "cell", "value"), [
    ("int", "007", 7), ("int", " 5", 5), ("int", "5.0", 5), ("string", "007", "007"), ("boolean", "T", True), ("decimal(6,2)", "1.239", D("1.24")),
    ("date", "2020-01-01", dt.date(2020, 1, 1)), ("timestamp", "2020-01-01T00:00:00", dt.datetime(2020, 1, 1, tzinfo=UTC)), ("binary", "aGk=", b"hi"), ("array<int>", "[1, 2]", [1, 2]),
])  # fmt: skip
def test_cells_follow_the_same_rules(kind: str, cell: str, value: Any) -> None:
    decoder = RecordDecoder([ColumnPlan(Field.of("c", kind), literal_path("c"))], "fail")
    cells = pa.array([cell, None])
    batch = decoder.from_texts([cells], 2, meter=AccessMeter(), origin=ORIGIN)
    assert batch.to_pylist() == [{"c": value}, {"c": None}]


@pytest.mark.parametrize(("kind", "cell"), [("double", "1e400"), ("double", "-1e400"), ("float", "1e39")])
def test_a_number_too_large_is_a_bad_cell_and_an_infinite_one_is_none(kind: str, cell: str) -> None:
    decoder = RecordDecoder([ColumnPlan(Field.of("c", kind), literal_path("c"))], "fail")
    cells = pa.array(["-inf", "1.5", None])
    batch = decoder.from_texts([cells], 3, meter=AccessMeter(), origin=ORIGIN)
    assert batch.to_pylist() == [{"c": float("-inf")}, {"c": 1.5}, {"c": None}]
    with pytest.raises(SourceError, match=f"column 'c' of record 2: '{cell}' is not a {kind}"):
        decoder.from_texts([pa.array(["inf", cell])], 2, meter=AccessMeter(), origin=ORIGIN)


def test_a_hexadecimal_cell_is_no_number() -> None:
    decoder = RecordDecoder([ColumnPlan(Field.of("c", "int"), literal_path("c"))], "fail")
    with pytest.raises(SourceError, match="'0x10' is not an int"):
        decoder.from_texts([pa.array(["0x10"])], 1, meter=AccessMeter(), origin=ORIGIN)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["5", "abc", "", "2020-01-01", "2020-01-01T00:00:00Z", "true", "1.50", "null"]) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "x"]), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


@pytest.mark.slow
@given(
    st.lists(st.dictionaries(st.sampled_from(["a", "b"]), JSON, max_size=2), max_size=4),
    st.sampled_from(
        ["string", "int", "double", "boolean", "decimal(8,2)", "date", "timestamp", "timestamp_ntz"]
    ),
)
def test_fast_and_careful_reading_agree(records: list[dict[str, Any]], kind: str) -> None:
    """The fast route may refuse a page, but what it reads is what the rules of `values` say."""
    body = json.dumps(records).encode()
    plans = [
        ColumnPlan(Field.of("a", kind), literal_path("a")),
        ColumnPlan(Field.of("b", "string"), parse_path("b.x")),
    ]
    fast = RecordDecoder(plans, "null").decode(body, meter=AccessMeter(), origin=ORIGIN)[0].to_pylist()
    expected = []
    for record in records:
        row: dict[str, Any] = {}
        for name, column in (("a", kind), ("b", "string")):
            value = (
                record.get(name)
                if name == "a"
                else record["b"].get("x")
                if isinstance(record.get("b"), dict)
                else None
            )
            try:
                row[name] = values.from_json(json.dumps(value).encode(), arrow_type(column))
            except ValueError:
                row[name] = None
        expected.append(row)
    assert fast == expected


def test_nested_and_odd_paths() -> None:
    body = b'[{"r": {"v": "5", "t": [{"n": "x"}, {"n": "y"}]}, "a.b": 1}, {"r": null}, {"r": "n/a"}, {}]'
    columns = {
        "v": ("int", "r.v"),
        "second": ("string", "$.r.t[1].n"),
        "last": ("string", "r['t'][-1].n"),
        "dot": ("int", "['a.b']"),
        "all": ("string", "$"),
    }
    plans = [ColumnPlan(Field.of(name, kind), parse_path(path)) for name, (kind, path) in columns.items()]
    batch, count = RecordDecoder(plans, "fail").decode(body, meter=AccessMeter(), origin=ORIGIN)
    assert count == 4
    first, *others = batch.drop_columns(["all"]).to_pylist()
    assert first == {"v": 5, "second": "y", "last": "y", "dot": 1}
    assert others == [dict.fromkeys(["v", "second", "last", "dot"])] * 3
    assert batch.column("all").to_pylist()[1:] == ['{"r": null}', '{"r": "n/a"}', "{}"]


def test_records_that_are_arrays_or_scalars() -> None:
    plans = [
        ColumnPlan(Field.of("n", "int"), parse_path("[0]")),
        ColumnPlan(Field.of("s", "string"), parse_path("[1]")),
    ]
    batch, _ = RecordDecoder(plans, "fail").decode(
        b'[["27076", "05"], [1, null]]', meter=AccessMeter(), origin=ORIGIN
    )
    assert batch.to_pylist() == [{"n": 27076, "s": "05"}, {"n": 1, "s": None}]
    decoder = RecordDecoder([ColumnPlan(Field.of("id", "int"), parse_path("$"))], "fail")
    assert decoder.decode(b"[8863, 5]", meter=AccessMeter(), origin=ORIGIN)[0].to_pylist() == [
        {"id": 8863},
        {"id": 5},
    ]


def test_only_absent_columns_are_filled() -> None:
    plans = [
        ColumnPlan(Field.of("k", "date"), literal_path("k")),
        ColumnPlan(Field.of("n", "int"), literal_path("n")),
    ]
    decoder = RecordDecoder(plans, "fail", frozenset({"k"}))
    fill = {"k": dt.date(2020, 1, 1)}
    for body in (
        b'[{"n": 1}, {"n": 2, "k": null}, {"k": "2021-01-01"}]',
        b'[{"n": "1"}, {"n": 2, "k": null}, {"k": "2021-01-01"}]',
    ):
        rows = decoder.decode(body, meter=AccessMeter(), origin=ORIGIN, fill=fill)[0].to_pylist()
        assert [row["k"] for row in rows] == [dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)]


def test_a_source_that_needs_care_is_read_carefully_from_then_on() -> None:
    decoder = RecordDecoder([ColumnPlan(Field.of("a", "string"), literal_path("a"))], "null")
    assert decoder._fast is not None
    decoder.decode(b'[{"a": 1}, {"a": 2}]', meter=AccessMeter(), origin=ORIGIN)
    assert decoder._fast is None


@pytest.mark.parametrize(("path", "found"), [
    ("$", [{"a": {"b": [{"c": 1}, {"c": 2}]}, "o": {"x": 5, "y": 6}}]), ("a.b[0].c", [1]), ("$.a.b[-1].c", [2]), ("a.b[*].c", [1, 2]), ("a.b[1:]", [{"c": 2}]),
    ("o.*", [5, 6]), ("o[*]", [5, 6]), ("$['o']['x']", [5]), ('["o"].y', [6]), ("a.b[7]", []), ("a.b[-3]", []), ("a.nope.c", []), ("o[0]", []), ("a.b.c", []),
])  # fmt: skip
def test_paths(path: str, found: list[Any]) -> None:
    body = b'{"a": {"b": [{"c": 1}, {"c": 2}]}, "o": {"x": 5, "y": 6}}'
    assert [json.loads(bytes(raw)) for raw in walk(body, parse_path(path))] == found


@pytest.mark.parametrize("path", ["a[", "a[x]", "a[?(@.b)]", "$..a", "a[0", "['a"])
def test_paths_outside_the_subset(path: str) -> None:
    with pytest.raises(ValueError, match="cannot be read as a path"):
        parse_path(path)


def test_a_damaged_text_is_noticed_on_the_way() -> None:
    with pytest.raises(MalformedJSON):
        list(walk(b'{"a": [1, 2', parse_path("a[0]")))


def test_templates() -> None:
    assert templates.names(["a/{zip}", {"x": "{year}{{no}}", "y": ["${env:T}", 5]}]) == {"zip", "year"}
    assert templates.fill_text("{{{a}}} {b}", {"a": "{b}", "b": "2"}) == "{{b}} 2"
    assert templates.fill_json(
        {"k": "{k}", "t": "<{k}>", "d": "{d}"}, {"k": 5, "d": dt.date(2020, 1, 1)}
    ) == {"k": 5, "t": "<5>", "d": "2020-01-01"}


@pytest.mark.parametrize(("value", "text"), [
    (True, "true"), (5, "5"), (5.0, "5"), (0.25, "0.25"), (D("1E+3"), "1000"), (D("1.10"), "1.10"), ("x", "x"), (dt.date(2020, 1, 2), "2020-01-02"),
    (dt.datetime(2020, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))), "2020-01-01T00:00:00Z"), (dt.datetime.fromisoformat("2020-01-01"), "2020-01-01T00:00:00"), (b"a", "a"),
])  # fmt: skip
def test_key_values_as_text(value: object, text: str) -> None:
    assert templates.text_of(value) == text
