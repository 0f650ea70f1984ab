"""Which lookups share what holds their requests back, by source, host and who asks there; and as how many requests one counts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff.sql.planner.prepare import prepare
from fff.web.client import WebClient
from fff_sources.load import lint, load_catalog
from tests.sources.reading import Reader
from tests.web.serving import FakeTime, Serve

TABLES = """
    tables:
      r: {columns: {a: int, b: int, c: int, d: int}, scan: {endpoint: {path: r}}}
      one: {columns: {x: int}, key_columns: [{name: x, require: required}], lookups: [{keys: [x], endpoint: {path: "1/{x}"}}]}
      two: {columns: {x: int}, key_columns: [{name: x, require: required}], lookups: [{keys: [x], endpoint: {path: "2/{x}"}}]}
"""
MIRRORED = """
    tables:
      m:
        columns: {x: int}
        scan: [{endpoint: {path: m}}, {endpoint: {path: "https://Mirror.example.org/m"}}, {endpoint: {path: "https://api.example.com/m"}}]
"""
CLIENTS = {
    "here": "{base_url: https://api.example.com/v1, rate_limit: {max_concurrency: 6}}",
    "there": "{base_url: https://API.example.com/v2, rate_limit: {max_concurrency: 4}}",
    "member": "{base_url: https://api.example.com/v1, auth: {type: bearer, token: abcdefgh}}",
}
SQL = """SELECT r.a FROM here.r AS r JOIN here.one AS h1 ON r.a = h1.x JOIN here.two AS h2 ON r.b = h2.x
JOIN there.one AS t ON r.c = t.x JOIN member.one AS m ON r.d = m.x"""


def test_sources_of_one_host_share_a_limiter_unless_they_prove_who_asks(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    sources = "".join(f"  {name}:\n    client: {client}{TABLES}" for name, client in CLIENTS.items())
    spec.write_text(f"version: 1\nsources:\n{sources}", encoding="utf-8")
    catalog = load_catalog([spec], environ={}, cwd=tmp_path, client=WebClient())
    plan = prepare(SQL, catalog, {}, ()).only_block.plan
    found = {table.name: table.lookups[0] for table in plan.tables if table.lookups}
    assert found["here.one"].limiter == found["here.two"].limiter == found["there.one"].limiter
    assert found["member.one"].limiter not in (None, found["here.one"].limiter)
    assert (found["here.one"].ceiling, found["there.one"].ceiling) == (6, 4)
    assert not any("abcdefgh" in lookup.limiter for table in catalog.tables() for lookup in table.lookups)


def test_a_mirror_on_another_host_has_a_limiter_of_its_own(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        f"version: 1\nsources:\n  here:\n    client: {CLIENTS['here']}{MIRRORED}", encoding="utf-8"
    )
    catalog = load_catalog([spec], environ={}, cwd=tmp_path, client=WebClient())
    [table] = prepare("SELECT x FROM here.m", catalog, {}, ()).only_block.plan.tables
    own, mirror, same = (scan.limiter for scan in table.scans)
    assert own == same != mirror


COUNTED = """
version: 1
sources:
  api:
    client: {{base_url: "{url}", rate_limit: {{limit: 6, per: 30, max_concurrency: 4}}}}
    tables:
      w:
        columns: {{place: int, since: date, upto: date}}
        lookups: [{{keys: [place, since, upto], endpoint: {{path: "w/{{place}}/{{since}}/{{upto}}", counts_as: {counts_as}}}}}]
"""


async def test_requests_that_count_as_several_keep_to_the_window(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    seen: list[tuple[float, int]] = []
    clock: list[FakeTime] = []

    async def answer(request: web.Request) -> web.Response:
        _, _, place, since, upto = request.path.split("/")
        days = (dt.date.fromisoformat(upto) - dt.date.fromisoformat(since)).days + 1
        seen.append((clock[0].now, max(1, -(-days // 20))))
        return web.json_response([{"place": int(place), "since": since, "upto": upto}])

    url = (await serve(answer)).url
    reader = read(COUNTED.format(url=url, counts_as="{first: since, last: upto, days: 20}"))
    clock.append(reader.time)
    first = dt.date(2024, 1, 1)
    keys = [
        (number, first, first + dt.timedelta(days=days))
        for number, days in enumerate((0, 19, 20, 99, 45, 119, 3, 60, 100))
    ]
    for key in keys:  # reused request patterns among them
        assert [row["place"] for row in await reader.lookup("w", key)] == [key[0]]
    assert [units for _, units in seen] == [1, 1, 2, 5, 3, 6, 1, 4, 6]
    assert all(sum(units for at, units in seen if start <= at < start + 30) <= 6 for start, _ in seen)
    with pytest.raises(SourceError, match="counts as more than the declared limit takes") as caught:
        await reader.lookup("w", (1, first, first + dt.timedelta(days=120)))
    assert "counts_as" in str(caught.value.hint)
    assert len(seen) == len(keys), "it was not sent"


@pytest.mark.parametrize(
    ("counts_as", "message"),
    [
        ("0", "counts_as"),
        ("{first: since, last: until, days: 20}", "'until' is no key of a lookup"),
        ("{first: place, last: upto, days: 20}", "'place' is no column of type date"),
        ("7", None),
    ],
)
def test_what_requests_count_as_is_checked(tmp_path: Path, counts_as: str, message: str | None) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(COUNTED.format(url="http://127.0.0.1:9", counts_as=counts_as))
    problems = [str(one) for one in lint(file)]
    assert (problems == []) if message is None else any(message in one for one in problems), problems
