"""Large bodies: read once where they are sound, taken apart where they are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fff.errors import SourceError
from fff.schema import Field
from fff.stats import AccessMeter
from fff.web.types import Response
from fff_sources.http.response import bodies, csv_text
from fff_sources.http.response.bodies import BodyDecoder, BodyFormat
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.response.records import ColumnPlan, OnBad, Origin, RecordDecoder

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
