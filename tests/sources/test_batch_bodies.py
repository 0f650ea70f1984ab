"""Keys as a list of objects in a body, and answers by position."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.load import lint
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
CITIES = {
    "1": {"city": "Bern"},
    "2": None,
    "3": [{"city": "Rom"}, {"city": "Roma"}],
    "4": {"city": "Oslo", "zip": "4"},
}


class Geocoder:
    """Answers as long as the question, without saying whose is which."""

    def __init__(self, *, lost: int = 0) -> None:
        self.asked: list[Any] = []
        self.lost = lost  # answers that it leaves out

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        places = body["places"]
        assert isinstance(places, list)
        answers = [CITIES.get(one["zip"] if isinstance(one, dict) else one) for one in places]
        return web.json_response({"count": len(answers), "results": answers[self.lost :]})


def spec(url: str, batch: str, more: str = "") -> str:
    return f"""
version: 1
sources:
  geo:
    client: {{base_url: '{url}'}}
    tables:
      t:
        columns: {{zip: string, city: string{more}}}
        lookups:
          - keys: [zip]
            batch: {batch}
            endpoint: {{path: r, method: POST, json: {{places: "{{zip}}"}}, data_selector: results}}
"""


OBJECTS = "{size: 50, each: {zip: '{zip}', country: CH}, answers: by_position}"
PLAIN = "{size: 50, answers: by_position}"
ROWS = [
    {"zip": "1", "city": "Bern"},
    {"zip": "3", "city": "Rom"},
    {"zip": "3", "city": "Roma"},
    {"zip": "4", "city": "Oslo"},
]


@pytest.mark.parametrize("batch", [OBJECTS, PLAIN])
async def test_records_are_of_the_key_in_their_place(serve: Serve, read: Read, batch: str) -> None:
    geocoder = Geocoder()
    reader = read(spec((await serve(geocoder.answer)).url, batch))
    assert await reader.lookup("t", "1", "2", "3", "4", "5") == ROWS
    each = [{"zip": key, "country": "CH"} if batch == OBJECTS else key for key in "12345"]
    assert geocoder.asked[0] == {"places": each}
    assert reader.meter.warnings == {}
    others = await reader.lookup("t", "5", "4", "3", "2", "1")
    assert sorted(map(str, others)) == sorted(map(str, ROWS)), "the next batch has its own places"


@pytest.mark.parametrize("batch", [OBJECTS, PLAIN])
async def test_one_key_is_a_list_of_one(serve: Serve, read: Read, batch: str) -> None:
    geocoder = Geocoder()
    reader = read(spec((await serve(geocoder.answer)).url, batch))
    assert await reader.lookup("t", "1") == ROWS[:1]
    assert len(geocoder.asked[0]["places"]) == 1
    assert await reader.lookup("t", "2") == []


async def test_as_many_answers_as_keys_or_an_error(serve: Serve, read: Read) -> None:
    reader = read(spec((await serve(Geocoder(lost=1).answer)).url, OBJECTS))
    with pytest.raises(SourceError, match="4 records for 5 keys: whose is which"):
        await reader.lookup("t", "1", "2", "3", "4", "5")


async def test_what_stands_in_the_place_of_a_record_is_none(serve: Serve, read: Read) -> None:
    async def answer(request: web.Request) -> web.Response:
        places = (await request.json())["places"]
        return web.json_response(
            {
                "results": [
                    {"city": "Bern"} if zip_code == "1" else {"error": "no such place"} for zip_code in places
                ]
            }
        )

    reader = read(spec((await serve(answer)).url, PLAIN))
    with pytest.raises(SourceError, match=r"record 2: .* has none of the table's columns"):
        await reader.lookup("t", "1", "2")


async def test_a_list_of_objects_whose_answers_say_whose_they_are(serve: Serve, read: Read) -> None:
    async def answer(request: web.Request) -> web.Response:
        asked = [one["q"] for one in (await request.json())["places"]]
        return web.json_response({"results": [{"zip": key, "city": f"c{key}"} for key in reversed(asked)]})

    served: Served = await serve(answer)
    reader = read(spec(served.url, "{size: 2, each: {q: '{zip}'}}"))
    found = await reader.lookup("t", "1", "2")
    assert sorted(json.dumps(row) for row in found) == [
        '{"zip": "1", "city": "c1"}',
        '{"zip": "2", "city": "c2"}',
    ]


@pytest.mark.parametrize(
    ("batch", "body", "more", "said"),
    [
        ("{size: 2, separator: ',', answers: by_position}", "{zip}", "", "a list has no separator"),
        ("{size: 2, each: {q: '{zip}'}}", "zips {zip}", "", "stands in no body"),
        ("{size: 2, answers: by_place}", "{zip}", "", "by_position"),
        (OBJECTS, "{zip}", "", None),
    ],
)
def test_lint_finds_what_is_wrong(tmp_path: Path, batch: str, body: str, more: str, said: str | None) -> None:
    (tmp_path / "fff.yaml").write_text(
        spec("http://127.0.0.1:9", batch, more).replace('"{zip}"', f'"{body}"')
    )
    problems = [str(one) for one in lint(tmp_path / "fff.yaml")]
    assert problems == [] if said is None else any(said in one for one in problems), problems
