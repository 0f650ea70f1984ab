"""A body is taken apart once along the way to its records, for all that look into it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from fff_sources.http.paging import paginators, surroundings
from fff_sources.http.paging.envelope import told_around, told_more
from fff_sources.http.paging.paginators import PageAnswer
from fff_sources.http.response import jsonpath
from fff_sources.http.response.json import Raw, decode, encode
from fff_sources.http.response.jsonpath import JsonPath, envelope, parse_path, walk
from tests.sources.reading import Reader
from tests.web.serving import Serve

NAMES = ("a", "b", "total")
STEPS = ("a", "b", "total", "*", "[0]", "[*]", "[1:]")


def anything(rng: random.Random, depth: int = 4) -> Any:
    """Any JSON, with few names, so that paths find some of it."""
    kinds = ["object", "object", "list", "text", "number", "null"] if depth else ["text", "number", "null"]
    match rng.choice(kinds):
        case "object":
            return {name: anything(rng, depth - 1) for name in rng.sample(NAMES, rng.randrange(4))}
        case "list":
            return [anything(rng, depth - 1) for _ in range(rng.randrange(3))]
        case "text":
            return rng.choice(["", "x", "7+", "gte"])
        case "number":
            return rng.randrange(100)
    return None


def path_of(rng: random.Random) -> JsonPath:
    steps = rng.choices(STEPS, k=rng.randrange(5))
    return parse_path("$" + "".join(step if step.startswith("[") else f".{step}" for step in steps))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_found_in_an_opened_body_is_what_stands_in_it(seed: int) -> None:
    rng = random.Random(seed)
    found = 0
    for _ in range(200):
        body, selector, path = encode(anything(rng)), path_of(rng), path_of(rng)
        opened = envelope(body, selector)
        alone, shared = (PageAnswer(body, {}, "", 0, None, one) for one in (None, opened))
        wanted = list(map(bytes, walk(body, path)))
        assert list(map(bytes, alone.places(path))) == wanted
        assert list(map(bytes, shared.places(path))) == wanted
        assert list(map(bytes, walk(body, selector))) == (
            list(map(bytes, walk(opened.place, opened.rest))) if opened.place is not None else []
        )
        if path.single and wanted:
            assert shared.is_estimate_at(path) == alone.is_estimate_at(path)
        assert told_around(opened, selector, {}) == told_more(body, selector)
        found += bool(wanted)
    assert found > 20


SPEC = """
version: 1
sources:
  api:
    client: {{base_url: "{url}"}}
    tables:
      t: {{columns: {{id: int}}, scan: {{endpoint: {{path: r, data_selector: data, paginator: {paginator}}}}}}}
"""
PAGINATORS = {
    "counted": "{type: offset, page_size: 10, total_path: meta.total}",
    "beside the records": "{type: offset, page_size: 10, total_path: total}",
    "usual words": "auto",
    "a cursor": "{type: cursor, cursor_path: meta.next, cursor_param: offset}",
}


@pytest.mark.parametrize("paginator", PAGINATORS.values(), ids=PAGINATORS)
async def test_a_page_is_taken_apart_once(
    serve: Serve, read: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch, paginator: str
) -> None:
    passes: list[int] = []

    def counted(raw: Raw | bytes, **kind: Any) -> Any:
        if len(memoryview(raw)) > 1_000:
            passes.append(len(memoryview(raw)))
        return decode(raw, **kind)

    async def answer(asked: web.Request) -> web.Response:
        start = int(asked.query.get("offset", 0))
        following = start + 10 if start < 20 else None
        rows = [{"id": n, "text": "x" * 100} for n in range(start, start + 10)]
        meta = {"total": 30, "next": following, "offset": start, "limit": 10}
        return web.json_response({"data": rows, "total": 30, "meta": meta})

    for module in (jsonpath, paginators, surroundings):
        monkeypatch.setattr(module, "decode", counted)
    reader = read(SPEC.format(url=(await serve(answer)).url, paginator=paginator))
    assert [row["id"] for row in await reader.scan("t")] == list(range(30))
    assert len(passes) == 3
