"""Small answers that come in one turn of the loop are read together, and each is what it is alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from fff.errors import SourceError
from fff.schema import Field
from fff.stats import AccessMeter
from fff.web.types import Response
from fff_sources.http.response.bodies import BodyDecoder, BodyFormat, Opened
from fff_sources.http.response.fast import ColumnPlan
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.response.members import Members
from fff_sources.http.response.records import Origin, RecordDecoder

ORIGIN = Origin("s", "t", "http://s.example/t")


def reader(selector: str = "$") -> BodyDecoder:
    plans = [
        ColumnPlan(Field.of("k", "bigint"), parse_path("k")),
        ColumnPlan(Field.of("day", "date"), parse_path("at.day")),
    ]
    decoder = RecordDecoder(plans, "fail", frozenset({"k"}), Members(["k", "at"], bare=False))
    return BodyDecoder(BodyFormat(selector=parse_path(selector)), decoder)


def answer(body: str, status: int = 200) -> Response:
    return Response(status, {"content-type": "application/json"}, body.encode(), "http://s.example/t")


def rows_of(body: BodyDecoder, response: Response, opened: Opened | None, fill: Mapping[str, object]) -> Any:
    """The rows, or what is wrong with the answer."""
    meter = AccessMeter()
    try:
        block = body.few(response, opened or body.open(response), meter, ORIGIN, fill, missed=True)
        return None if block is None else (block.rows.to_pylist(), block.records, meter.warnings)
    except SourceError as error:
        return error.reason


def read(selector: str, bodies: list[str]) -> tuple[list[Any], list[Any], list[bool]]:
    """What answers are together, what each is alone, and which were read together."""
    answers = [answer(body) for body in bodies]
    fills: list[dict[str, object]] = [{"k": number} for number in range(len(bodies))]

    async def main() -> list[Opened | None]:
        body = reader(selector)
        return await asyncio.gather(*map(body.open_together, answers, fills))

    opened = asyncio.run(main())
    together = [rows_of(reader(selector), *one) for one in zip(answers, opened, fills, strict=True)]
    alone = [rows_of(reader(selector), one, None, fill) for one, fill in zip(answers, fills, strict=True)]
    return together, alone, [one is not None and one.rows is not None for one in opened]


SOUND = [
    '[{"k": 7, "at": {"day": "2024-02-29"}}, {"k": 8}]',
    '{"at": {"day": null}}',
    "[]",
    "null",
    '[{"at": {"day": "2024-01-01"}}, {"k": null, "at": {"day": "2024-01-02"}}]',
]


def test_what_is_read_together_is_what_it_is_alone() -> None:
    together, alone, which = read("$", SOUND)
    assert which == [True] * len(SOUND)
    assert together == alone
    wrapped = [f'{{"n": 1, "items": {body}}}' for body in SOUND]
    together, alone, which = read("items", wrapped)
    assert which == [True] * len(SOUND)
    assert together == alone


@pytest.mark.parametrize(
    "odd",
    [
        '[{"k": 1}],[{"k": 2}',  # with the next two closed again by one of the same kind
        '{"k": 2}]',
        '[{"k": "7", "at": {"day": "2024-02-29"}}]',  # needs care
        '[{"k": 1, "at": {"day": "2024-02-30"}}]',  # no such day
        '[{"other": 1}]',
        "<html>",
        '{"k": 1',
    ],
)
def test_one_that_needs_care_spoils_no_other(odd: str) -> None:
    together, alone, which = read("$", [SOUND[0], odd, '{"k": 2}]', SOUND[1]])
    assert which == [False] * 4
    assert together == alone
    assert together[0][1] == 2


def test_others_are_read_alone() -> None:
    async def main() -> list[Opened | None]:
        body = reader()
        failed, large = answer('{"error": "no"}', 404), answer(f"[{' ' * 2**16}]")
        return await asyncio.gather(*(body.open_together(one, {}) for one in (failed, large, answer(""))))

    assert asyncio.run(main()) == [None] * 3


def test_a_turn_that_never_came_is_none_of_the_next_loop() -> None:
    body, loop = reader(), asyncio.new_event_loop()
    left = body.open_together(answer("[]"), {})
    loop.call_soon(left.send, None)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    left.close()
    opened = asyncio.run(asyncio.wait_for(body.open_together(answer(SOUND[0]), {}), 30))
    assert opened is not None
    assert opened.rows is not None
    assert len(opened.rows) == 2
