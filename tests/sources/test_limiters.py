"""Which lookups share what holds their requests back: the plan says so, by source, host and who asks there."""

from __future__ import annotations

from pathlib import Path

from fff.sql.planner.prepare import prepare
from fff.web.client import WebClient
from fff_sources.load import load_catalog

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
