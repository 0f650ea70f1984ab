"""Whole runs with conditions that are sent to the source: the answer is the same as without sending any."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.engine.filtering import COLUMNS, FilteringSite, key_columns, statement, stored
from tests.engine.site import Row, federated, run
from tests.web.serving import Serve

_SCAN = {
    "endpoint": {
        "path": "scan",
        "data_selector": "items",
        "paginator": {"type": "offset", "total_path": "total", "page_size": 7},
    }
}
_LOOKUP = {"keys": ["n"], "endpoint": {"path": "get/{n}", "data_selector": "items"}}


def declared(keys: list[dict[str, Any]], *, lookup: bool) -> dict[str, Any]:
    if lookup and not any(key["name"] == "n" for key in keys):
        keys = [*keys, {"name": "n"}]
    return {
        "t": {"columns": COLUMNS, "key_columns": keys, "scan": _SCAN, "lookups": [_LOOKUP] if lookup else []}
    }


async def _check(serve: Serve, folder: Path, seed: int, queries: int) -> tuple[int, int]:
    """Run some queries three ways; rows that the source sent with conditions, and without."""
    rng = random.Random(seed)
    rows = [stored(rng, number) for number in range(rng.randrange(0, 40))]
    keys, lookup = key_columns(rng), rng.random() < 0.5
    sites = [FilteringSite(rows), FilteringSite(rows, honours=False), FilteringSite(rows)]
    statements = [statement(rng) for _ in range(queries)]
    answers: list[list[list[Row]]] = []
    for site, spec in zip(sites, (keys, keys, []), strict=True):
        tables = declared(spec, lookup=lookup)
        async with federated(serve, site, folder, tables) as (federation, _):
            answers.append([(await run(federation, sql))[0] for sql in statements])
    for number, sql in enumerate(statements):
        honoured, ignored, plain = (answer[number] for answer in answers)
        assert honoured == plain, f"seed {seed}: {sql}"
        assert ignored == plain, f"seed {seed}, conditions ignored: {sql}"
    return sites[0].sent, sites[2].sent


async def test_what_is_sent_changes_no_answer(serve: Serve, tmp_path: Path) -> None:
    sent = [await _check(serve, tmp_path, seed, 4) for seed in (9, 2, 5, 7)]
    assert sum(some for some, _ in sent) < 0.9 * sum(everything for _, everything in sent)


@pytest.mark.slow
async def test_what_is_sent_changes_no_answer_for_long(serve: Serve, tmp_path: Path) -> None:
    for seed in range(1000, 1050):
        await _check(serve, tmp_path, seed, 6)
