"""Limits that several access methods share: kept, used and shown, in virtual time over a simulated host."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from fff.federation import Federation, RunOptions
from fff.stats import AccessMeter, AccessStats
from fff.web.client import WebClient
from fff.web.clock import Clock
from fff.web.gate.limiter import HostLimiter
from fff.web.gate.rate_limit_headers import Quota
from fff.web.types import Credentials, HostPolicy, Outgoing, Request
from fff_sources.load import load_catalog
from tests.web import simulated
from tests.web.simulated import EPOCH, Bucket, FixedWindow, Limit, SimulatedServer, SlidingWindow, Tell

REFUSALS: dict[str, tuple[Limit, Tell, int, dict[str, Any]]] = {
    "429 with Retry-After": (FixedWindow(50, 10), simulated.retry_after, 429, {}),
    "a quota told in every answer": (FixedWindow(50, 10), simulated.triple, 429, {}),
    "GitHub's 403, declared": (
        FixedWindow(60, 30), simulated.epoch, 403,
        {"extra_statuses": frozenset({403}), "remaining_header": "X-RateLimit-Remaining", "reset_header": "X-RateLimit-Reset"},
    ),
    "403 that tells nothing": (SlidingWindow(50, 10), simulated.nothing, 403, {"extra_statuses": frozenset({403})}),
    "503 with Retry-After": (Bucket(20, 5), simulated.retry_after, 503, {}),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSALS)
@pytest.mark.slow
def test_access_methods_of_one_host_and_credential_keep_one_limit(what: str) -> None:
    """Three access methods of two sources, which declare different ceilings, and start one after the other."""
    limit, tell, status, declared = REFUSALS[what]
    server = SimulatedServer(limit, tell=tell, refusal=status)
    meters = [AccessMeter() for _ in range(3)]
    policies = [HostPolicy(**declared), HostPolicy(**declared), HostPolicy(max_concurrency=6, **declared)]
    count = int(300 * limit.rate / 3)
    proof = Credentials(headers={"Authorization": "Bearer x"}, identity="x")

    async def main() -> list[bytes]:
        loop = asyncio.get_running_loop()
        clock = Clock(now=loop.time, wall=lambda: EPOCH + loop.time(), sleep=asyncio.sleep)
        client = WebClient(rng=random.Random(1), clock=clock, transport=server)

        async def ask(method: int, number: int) -> bytes:
            await asyncio.sleep(method * 3)
            url = f"http://simulated.example/{method}/{number}"
            request = Request(url, policy=policies[method], credentials=proof)
            return (await client.request(request, meter=meters[method])).body

        asked = [ask(method, number) for method in range(3) for number in range(count)]
        answers = await asyncio.gather(*asked)
        await client.close()
        return list(answers)

    answers = simulated.run(main())
    assert len(set(answers)) == 3 * count, "nothing lost"
    assert sum(meter.throttled for meter in meters) == len(server.refused)
    assert sum(meter.requests for meter in meters) == 3 * count + len(server.refused)
    took = server.admitted[-1]
    assert len([at for at in server.refused if at > took / 3]) <= 1, "once the limits are known"
    assert server.share(since=took / 3) >= (0.9 if tell is simulated.nothing else 0.95), "of what is allowed"
    assert any(meter.throttled_s > 0 for meter in meters)
    assert all(not meter.gates for meter in meters)


# --------------------------------------------------------------------------------------------------------------- shown


async def _held(limiter: HostLimiter, meter: AccessMeter) -> asyncio.Task[Any]:
    task = asyncio.ensure_future(limiter.acquire(meter))
    await asyncio.sleep(0.1)
    return task


def test_a_meter_knows_when_its_requests_go_on() -> None:
    async def main() -> None:
        clock = Clock(now=asyncio.get_running_loop().time)
        limiter, waiting, other = (
            HostLimiter(HostPolicy(max_concurrency=4), clock),
            AccessMeter(),
            AccessMeter(),
        )
        permit = await limiter.acquire(other)
        limiter.pause(8)
        assert waiting.resumes_in is None, "nobody waits"
        first, second = await _held(limiter, waiting), await _held(limiter, waiting)
        assert waiting.resumes_in == pytest.approx(7.8)
        assert waiting.limited_by == "throttled", "named while it lasts, though no wait is over yet"
        assert other.resumes_in is None, "it has what it wants"
        second.cancel()
        await asyncio.sleep(1)
        assert waiting.resumes_in == pytest.approx(6.8)
        assert waiting.throttled_s == 0, "not over yet"
        release = await first
        assert waiting.resumes_in is None
        assert waiting.throttled_s == pytest.approx(8)
        limiter.observe(release, [Quota("q", remaining=0, reset=5)])
        limiter.release(release)
        limiter.release(permit)
        third = await _held(limiter, other)
        assert other.resumes_in == pytest.approx(4.9), "a quota that is used up, before any refusal"
        limiter.release(await third)
        assert (waiting.gates, other.gates) == ({}, {})
        limiter.close()

    simulated.run(main())


def test_a_first_wait_for_a_rate_is_named_while_it_lasts() -> None:
    async def main() -> None:
        policy = HostPolicy(max_concurrency=4, fill_rate=0.1, bucket_size=1)
        limiter, meter = HostLimiter(policy, Clock(now=asyncio.get_running_loop().time)), AccessMeter()
        first = await limiter.acquire(meter)
        assert meter.limited_by is None
        second = await _held(limiter, meter)
        assert (meter.limited_by, meter.waited) == ("rate", {})
        limiter.release(first)
        limiter.release(await second)
        assert (meter.limited_by, meter.gates) == ("rate", {})

    simulated.run(main())


def test_waiting_for_a_place_is_no_throttling() -> None:
    async def main() -> None:
        limiter = HostLimiter(HostPolicy(max_concurrency=1), Clock(now=asyncio.get_running_loop().time))
        meter = AccessMeter()
        permit = await limiter.acquire(meter)
        waiting = await _held(limiter, meter)
        assert meter.gates
        assert meter.resumes_in is None
        limiter.release(permit)
        limiter.release(await waiting)
        assert meter.throttled_s == 0

    simulated.run(main())


def _rows(out: Outgoing) -> bytes:
    parts = urlsplit(out.url).path.split("/")
    if parts[1] == "all":
        return json.dumps([{"a": number} for number in range(100)]).encode()
    return json.dumps([{"a": int(parts[2]), "b": parts[1]}]).encode()


def _spec() -> dict[str, Any]:
    client = {"base_url": "http://simulated.example", "auth": {"type": "bearer", "token": "token"}}
    columns = {"a": "int", "b": "string"}
    lookup = {
        name: {"columns": columns, "lookups": [{"keys": ["a"], "endpoint": f"{name}/{{a}}"}]}
        for name in ("s", "t")
    }
    return {
        "version": 1,
        "sources": {
            "one": {"client": client, "tables": {"r": {"columns": {"a": "int"}, "scan": {"endpoint": "all"}}, "s": lookup["s"]}},
            "two": {"client": client, "tables": {"t": lookup["t"]}},
        },
    }  # fmt: skip


def _watched(
    server: SimulatedServer, spec: dict[str, Any], sql: str, folder: Path
) -> tuple[dict[str, Any], list[AccessStats]]:
    """The report of a query in virtual time, and its access methods as they were every half second."""
    file = folder / "fff.yaml"
    file.write_text(yaml.safe_dump(spec), encoding="utf-8")
    seen: list[AccessStats] = []

    async def main() -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        clock = Clock(now=loop.time, wall=lambda: EPOCH + loop.time(), sleep=asyncio.sleep)
        client = WebClient(rng=random.Random(1), clock=clock, transport=server)
        catalog = load_catalog([file], environ={}, cwd=folder, client=client)
        async with Federation(catalog, client) as federation:
            execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))

            async def watch() -> None:
                while True:
                    await asyncio.sleep(0.5)
                    seen.extend(execution.snapshot().access)

            watching = asyncio.ensure_future(watch())
            async for _ in execution.batches():
                pass
            watching.cancel()
            return dict(execution.outcome.report)

    return simulated.run(main()), seen


@pytest.mark.parametrize(
    "tell", [simulated.triple, pytest.param(simulated.retry_after, marks=pytest.mark.slow)]
)
def test_a_query_shows_when_a_throttled_source_goes_on(tmp_path: Path, tell: Tell) -> None:
    server = SimulatedServer(FixedWindow(50, 20), tell=tell, body=_rows)
    sql = "SELECT r.a, s.b, t.b FROM r JOIN s ON s.a = r.a JOIN t ON t.a = r.a"
    report, seen = _watched(server, _spec(), sql, tmp_path)
    assert report["rows"] == 100
    throttled = [one for one in seen if one.state == "throttled"]
    assert {one.table for one in throttled} >= {"s", "t"}
    assert all(one.resumes_s is not None and 0 < one.resumes_s <= 20 for one in throttled)
    assert all(one.resumes_s is None for one in seen if one.state != "throttled")
    assert not any(one.state == "throttled" and not one.distinct_keys for one in throttled)
    told = Counter({one["name"]: one["throttled"] for one in report["access"]})
    assert report["complete"]
    assert told.total() == len(server.refused)
    assert len(server.refused) <= 8, "those under way when it first refused"
    assert all(one["throttled_s"] > 5 for one in report["access"] if one["kind"] == "lookup")
    assert {one["state"] for one in report["access"]} == {"complete"}
    assert {one["resumes_s"] for one in report["access"]} == {None}


def test_a_scan_that_a_limit_of_its_spec_holds_back_has_not_stalled(tmp_path: Path) -> None:
    """Nothing is asked for longer than a source may take to answer."""
    server = SimulatedServer(
        FixedWindow(50, 20), body=lambda out: b'[{"a": 1}]' if "page=3" not in out.url else b"[]"
    )
    client = {"base_url": "http://simulated.example", "rate_limit": {"limit": 1, "per": 30}}
    scan = {"endpoint": {"path": "all", "paginator": {"type": "page_number"}}}
    spec = {
        "version": 1,
        "sources": {"one": {"client": client, "tables": {"r": {"columns": {"a": "int"}, "scan": scan}}}},
    }
    report, seen = _watched(server, spec, "SELECT a FROM r", tmp_path)
    assert report["complete"]
    assert any(one.limited_by == "rate" and not one.in_flight for one in seen)
    assert "stalled" not in {one.state for one in seen}
