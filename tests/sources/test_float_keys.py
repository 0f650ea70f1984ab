"""32-bit floats travel as people write them: what reads back as the same float with the fewest digits."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from fff.quals import Qual
from fff.structs import replace
from fff_sources.http.request.keys import shortest
from fff_sources.http.templates import text_of
from fff_sources.odata.edm import literal
from tests.dataflow.blocks import quick
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
#: As the engine has them: 32-bit floats as 64-bit ones.
TENTH, THIRD = (float(np.float32(text)) for text in ("0.1", "0.33333334"))


def source(url: str, lookup: str, kind: str = "float") -> str:
    return f"""
        version: 1
        sources:
          web:
            client: {{base_url: "{url}"}}
            tables:
              t:
                columns: {{f: {kind}, n: int}}
                key_columns: [{{name: f, operators: ["=", "<="], param: {{"=": f, "<=": most}}}}]
                scan: {{endpoint: t}}
                lookups: [{lookup}]
    """


@pytest.mark.parametrize(
    "lookup",
    [
        "{keys: [f], endpoint: t}",
        "{keys: [f], endpoint: 't/{f}'}",
        "{keys: [f], endpoint: {path: t, method: POST, json: {where: {f: '{f}'}}}}",
        "{keys: [f], endpoint: {path: t, method: POST, json: {where: 'f = {f}'}}}",
        "{keys: [f], batch: {size: 4}, endpoint: {path: t, method: POST, json: {f: '{f}'}}}",
        "{keys: [f], batch: {size: 4, separator: '|'}, endpoint: t}",
        "{keys: [f], batch: {size: 4}, endpoint: t}",
    ],
)
@pytest.mark.parametrize("names_key", [False, True])
async def test_keys(serve: Serve, read: Read, lookup: str, names_key: bool) -> None:
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(f"{request.path_qs} {await request.text()}")
        found = [number for number in (0.1, 0.33333334) if str(number) in asked[-1]]
        return web.json_response(
            [{"f": number, "n": 1} if names_key or len(found) > 1 else {"n": 1} for number in found]
        )

    server = await serve(handler)
    reader = read(source(server.url, lookup))
    rows = await reader.lookup("t", TENTH, THIRD)
    assert [row["f"] for row in rows] == [TENTH, THIRD]
    assert len(asked) == (1 if "batch" in lookup else 2)
    assert "0.1" in asked[0]
    assert "0.33333334" in asked[-1]
    assert not any("0.10" in text or "0.333333343" in text for text in asked)


@pytest.mark.parametrize(("kind", "text"), [("float", "0.1"), ("double", "0.10000000149011612")])
async def test_conditions(serve: Serve, read: Read, kind: str, text: str) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response([])

    server = await serve(handler)
    reader = read(source(server.url, "{keys: [f], endpoint: t}", kind))
    table = replace(reader.table("t"), quals=(Qual("f", "<=", TENTH),))
    pages = reader.catalog.adapter_of(table).scan(table, table.scans[0], ["f"], meter=reader.meter, window=1)
    assert [page async for page in pages]
    assert server.paths == [f"/t?most={text}"]


def test_a_single_of_odata_is_a_literal() -> None:
    assert literal("Edm.Single", shortest(TENTH)) == "0.1"


@quick
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_text_reads_back_as_the_same_float(value: float) -> None:
    text = text_of(shortest(value))
    assert struct.pack("f", float(text)) == struct.pack("f", value) or value == 0
    assert digits(text) <= digits(text_of(value))


def digits(text: str) -> int:
    """How many a number has but for zeros at its end: 1000000000000 is longer than 999999995904 and says less."""
    return len(Decimal(text).normalize().as_tuple().digits)


@quick
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_so_do_64_bit_ones(value: float) -> None:
    assert float(text_of(value)) == value
