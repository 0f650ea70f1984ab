"""Large bodies: read once where they are sound, taken apart where they are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fff.errors import SourceError
from fff.schema import Field
from fff.stats import AccessMeter
from fff.web.types import Response
from fff_sources.http.response import bodies
from fff_sources.http.response.bodies import BodyDecoder, BodyFormat, Opened
from fff_sources.http.response.fast import ColumnPlan
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.response.records import OnBad, Origin, RecordDecoder
from fff_sources.http.response.text import csv_text

RECORDS: list[dict[str, Any]] = [{"id": n, "name": f"n{n}", "more": [n]} for n in range(50)]
ROWS = [{"id": record["id"], "name": record["name"]} for record in RECORDS]


def read(body: bytes, form: BodyFormat, on_bad: OnBad = "fail") -> list[dict[str, Any]]:
    columns = [
        ColumnPlan(Field.of(name, kind), parse_path(name))
        for name, kind in (("id", "bigint"), ("name", "string"))
    ]
    reader = BodyDecoder(form, RecordDecoder(columns, on_bad))
    answer = Response(200, {}, body, "http://test")
    blocks = list(reader.blocks(answer, meter=AccessMeter(), origin=Origin("s", "t", "http://test")))
    assert all(len(block.rows) <= bodies._ROWS for block in blocks)
    return [row for block in blocks for row in block.rows.to_pylist()]


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_LARGE", 100)
    monkeypatch.setattr(bodies, "_GUESSED", 100)
    monkeypatch.setattr(bodies, "_BLOCK", 7)
    monkeypatch.setattr(bodies, "_ROWS", 16)


JSON = BodyFormat("json", parse_path("items"))
FORMS = [(JSON, json.dumps({"items": RECORDS}).encode()), (BodyFormat("ndjson"), lines(*RECORDS))]


@pytest.mark.parametrize(("form", "body"), FORMS)
def test_a_sound_body_is_not_taken_apart_first(
    form: BodyFormat, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apart(*_: object) -> None:
        raise AssertionError("record by record")

    monkeypatch.setattr(bodies, "join", apart)
    monkeypatch.setattr(bodies, "_check_lines", apart)
    assert read(body, form) == ROWS
    assert read(body.rstrip(), form) == ROWS


AROUND: list[tuple[str, Callable[[str], str], bool]] = [
    ("items", lambda rows: f'{{"total": 50, "items": {rows}, "next": "n"}}', True),
    ("items", lambda rows: f'{{"s": ["items", "[{{}}]"], "items": {rows}, "next": "}}]"}}', False),
    ("items", lambda rows: f'{{"items": {rows}, "included": [{{"id": 1}}]}}', False),
    ("items", lambda rows: f'{{"included": [{{"id": 1}}], "items" : {rows} }}', True),
    ("items", lambda rows: f'{{"items": {rows}, "items": [{{"id": 7, "name": "last"}}]}}', False),
    ("items", lambda rows: f'{{"items": [], "items": {rows}}}', False),
    ("items", lambda rows: f'{{"items": {rows}, "items": null}}', False),
    ("a.items", lambda rows: f'{{"items": [{{}}], "a": {{"more": true, "items": {rows}}}, "b": 1}}', False),
    ("a.items", lambda rows: f'{{"a": {{"more": true, "items": {rows}}}, "b": 1}}', True),
    ("items", lambda rows: f'{{"items": {rows}, "mark": {bodies._MARK.decode()}}}', False),
    ("items", lambda rows: f'{{"x": "items", "items": {bodies._MARK.decode()}, "y": {rows}}}', False),
]


@pytest.mark.parametrize("large", [100, 1 << 30])
@pytest.mark.parametrize(("selector", "around", "at_once"), AROUND)
def test_where_records_stand_is_guessed_and_proven(
    selector: str,
    around: Callable[[str], str],
    at_once: bool,
    large: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows and what stands around them are those of a body that is taken apart; only where it is right once is it read once."""
    monkeypatch.setattr(bodies, "_LARGE", large)
    answer = Response(200, {}, around(json.dumps(RECORDS)).encode(), "http://test")
    form = BodyFormat("json", parse_path(selector))

    def opened() -> tuple[Opened, object]:
        columns = [ColumnPlan(Field.of("id", "bigint"), parse_path("id"))]
        reader = BodyDecoder(form, RecordDecoder(columns, "null"))
        found = reader.open(answer)
        origin = Origin("s", "t", "http://test")
        blocks = reader.blocks(answer, meter=AccessMeter(), origin=origin, opened=found)
        try:
            return found, [row for block in blocks for row in block.rows.to_pylist()]
        except SourceError as error:
            return found, str(error)

    guessed, rows = opened()
    assert (guessed.rows is not None) == at_once
    monkeypatch.setattr(bodies, "_LARGE", 1 << 30)
    monkeypatch.setattr(bodies, "_GUESSED", 1 << 30)
    apart, expected = opened()
    assert rows == expected
    assert guessed.envelope.levels == apart.envelope.levels
    assert (guessed.envelope.place is None) == (apart.envelope.place is None)


@pytest.mark.parametrize("damage", ["{", "]", ',"x":[', "\\"])
def test_a_large_body_that_is_broken_is_told(damage: str) -> None:
    rows = json.dumps(RECORDS)
    with pytest.raises(SourceError, match=r"not valid json|record"):
        read(f'{{"items": {rows[:500]}{damage}{rows[500:]}, "next": 3}}'.encode(), JSON)
    with pytest.raises(SourceError, match="not valid json"):
        read(f'{{"items": {rows}, "next": }}'.encode(), JSON)


@pytest.mark.parametrize("bad", [{"id": "x", "name": "n"}, 3, [], {"id": [], "name": {}}])
@pytest.mark.parametrize("form", [JSON, BodyFormat("ndjson")])
def test_a_bad_record_is_told_by_its_place_and_left_out_where_it_may_be(
    form: BodyFormat, bad: object
) -> None:
    records = [*RECORDS[:20], bad, *RECORDS[20:]]
    body = lines(*records) if form is not JSON else json.dumps({"items": records}).encode()
    with pytest.raises(SourceError, match="record 21"):
        read(body, form)
    assert read(body, form, "skip") == ROWS


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (b'{"id":1},{"id":2}\n', 3),
        (b'{"id":1} {"id":2}\n', 3),
        (b'{"id":1,"more":[1\n2]}\n', 3),
        (b'{"id":1,"more":[{}\n{}]}\n', 3),
        (b'{"id":\n1}\n', 3),
        (b'{"id":1\n', 3),
        (b'{"id":1}}\n', 3),
        (b',{"id":1}\n', 3),
    ],
)
def test_a_broken_line_is_named_even_where_joined_lines_would_read(damage: bytes, line: int) -> None:
    with pytest.raises(SourceError, match=f"line {line}: "):
        read(lines(*RECORDS[:2]) + damage + lines(*RECORDS[2:]), BodyFormat("ndjson"))


def test_lines_may_be_empty_and_end_as_on_windows() -> None:
    body = b"\n \n" + lines(*RECORDS[:3]).replace(b"\n", b"\r\n") + b"\n\t\n" + lines(*RECORDS[3:])
    assert read(body, BodyFormat("ndjson")) == ROWS
    assert read(body.replace(b"\r\n", b"\r"), BodyFormat("ndjson")) == ROWS


def test_the_header_that_all_pieces_of_a_body_have_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names, heads = csv_text._read_names, list[bytes]()

    def read_names(header: bytes, delimiter: str) -> Any:
        heads.append(header)
        return names(header, delimiter)

    monkeypatch.setattr(csv_text, "_read_names", read_names)
    csv_text._names.cache_clear()
    for number in range(3):
        assert read(f"id,name\n{number},n\n".encode(), BodyFormat("csv")) == [{"id": number, "name": "n"}]
    assert heads == [b"id,name\n"]


def test_records_that_were_read_to_find_them_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they are too few to be taken apart in blocks."""
    monkeypatch.setattr(bodies, "_LARGE", 1 << 30)
    times: list[object] = []
    read_at_once = RecordDecoder.fast

    def counted(self: RecordDecoder, *what: Any, **how: Any) -> Any:
        times.append(what)
        return read_at_once(self, *what, **how)

    monkeypatch.setattr(RecordDecoder, "fast", counted)
    assert read(*reversed(FORMS[0])) == ROWS
    assert len(times) == 1


def test_what_is_not_in_utf8_where_nobody_reads_it_fails_nothing() -> None:
    """Of a member that comes twice the last one counts."""
    sound = json.dumps([{"id": number, "name": "n"} for number in range(200)]).encode()
    body = b'{"items": [{"name": "caf\xe9"}], "items": ' + sound + b"}"
    assert len(read(body, BodyFormat("json", parse_path("items")))) == 200
