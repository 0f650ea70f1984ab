"""The two tables that every real server serves, and their join."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any

import pytest

from tests.real.running import get, get_text

SQL = "SELECT r.id, r.x, r.v, s.y, s.grp FROM r JOIN s ON r.x = s.x"


@dataclass(frozen=True)
class Data:
    r: list[dict[str, Any]]
    s: list[dict[str, Any]]
    joined: list[tuple[str, ...]]


@pytest.fixture(scope="session")
def data(race_server: str) -> Data:
    """R and S of the race server, with two keys of R missing in S and one twice."""
    get(f"{race_server}/_config?page_ms=0&lookup_ms=0&max_inflight=0&fail_every=0&batch=250")
    keys = ",".join(f"k{number:04d}" for number in range(250))
    r, s = get(f"{race_server}/r.json"), get(f"{race_server}/s?x={keys}")
    assert (len(r), len(s)) == (1000, 250)
    plain = sorted(
        tuple(row) for row in list(csv.reader(get_text(f"{race_server}/_expect.csv").splitlines()))[1:]
    )
    assert joined(r, s) == plain
    s = [*s[2:], s[7] | {"y": 5000}]
    return Data(r, s, joined(r, s))


def joined(r: list[dict[str, Any]], s: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    by_key: dict[str, list[dict[str, Any]]] = {}
    for row in s:
        by_key.setdefault(row["x"], []).append(row)
    return sorted(
        (str(a["id"]), a["x"], str(a["v"]), str(b["y"]), b["grp"]) for a in r for b in by_key.get(a["x"], [])
    )
