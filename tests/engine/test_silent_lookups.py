"""Lookups that find nothing for many keys, or the same for all of them: perhaps nobody understood what was asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.engine.site import Site, federated, run
from tests.web.serving import Serve

Answer = Callable[[str], tuple[int, Any]]


async def warnings(serve: Serve, tmp_path: Path, answer: Answer, keys: int) -> tuple[str, ...]:
    class Odd(Site):
        async def answer(self, request: web.Request) -> web.StreamResponse:
            if request.path == "/keys":
                return web.json_response([{"k": f"k{number}"} for number in range(keys)])
            status, body = answer(request.path.rpartition("/")[2])
            return web.json_response(body, status=status)

    tables: dict[str, Any] = {
        "keys": {"columns": {"k": "string"}, "scan": {"endpoint": "keys"}},
        "t": {
            "columns": {"k": "string", "n": "int"},
            "lookups": [{"keys": ["k"], "endpoint": "t/{k}"}],
            "on_status": [{"status_code": 404, "action": "empty"}],
        },
    }
    sql = "SELECT t.n FROM web.keys x JOIN web.t t ON x.k = t.k"
    async with federated(serve, Odd({}), tmp_path, tables) as (federation, _):
        _, execution = await run(federation, sql)
    return execution.outcome.warnings


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _: (404, {}), "were answered by a status alone"),
        (lambda _: (200, []), "got one and the same answer, which has none of them"),
        (lambda _: (200, {"n": None}), "got one and the same answer"),
    ],
)
async def test_nothing_for_many_keys_is_worth_a_warning(
    serve: Serve, tmp_path: Path, answer: Answer, said: str
) -> None:
    (warning,) = await warnings(serve, tmp_path, answer, 20)
    assert warning.startswith("web.t.lookup[k]: all 20 keys")
    assert said in warning
    assert await warnings(serve, tmp_path, answer, 19) == ()


async def test_keys_that_nobody_answered_are_none_of_them(serve: Serve, tmp_path: Path) -> None:
    def answer(key: str) -> tuple[int, Any]:
        return (404, {}) if int(key[1:]) < 20 else (400, {})

    assert not [
        one
        for one in await warnings(serve, tmp_path, lambda key: answer(f"k1{key[1:]}"), 30)
        if "alone" in one
    ]
    [warning] = [one for one in await warnings(serve, tmp_path, answer, 30) if "alone" in one]
    assert warning.startswith(
        "web.t.lookup[k]: all 20 keys that have an answer were answered by a status alone"
    )


@pytest.mark.parametrize(
    "answer",
    [
        lambda key: (404, {}) if key != "k7" else (200, [{"k": key, "n": 1}]),
        lambda key: (200, []) if key != "k7" else (200, [{"k": key, "n": 1}]),
        lambda key: (200, {"n": int(key[1:])}),
        lambda key: (404, {}) if int(key[1:]) % 2 else (200, []),
    ],
)
async def test_a_single_key_that_is_understood_is_enough(
    serve: Serve, tmp_path: Path, answer: Answer
) -> None:
    assert await warnings(serve, tmp_path, answer, 25) == ()
