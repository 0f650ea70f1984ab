"""What a task of a lookup does, without Spark; and what `fff.lookup` refuses before any job."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import os
import pickle
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from aiohttp import web

import fff
from fff.access.disk.journal import Journal
from fff.catalog import LookupMethod
from fff.frames import asking
from fff.frames.asking import KeyQuestion
from fff.frames.attempts import attempts_of
from fff.frames.ceiling import CeilingAddress, CeilingService
from fff.frames.spark_data_source import Job
from fff.opening import open_federation
from fff.options import RunOptions, SpecText
from fff.spark import bridge
from fff.stats import MORE_KEYS, Missing
from fff.structs import replace
from fff.web.types import HostPolicy, Window
from tests.api.conftest import Publish
from tests.api.serving import has_ipv6
from tests.api.sites import pages, tables
from tests.engine.site import Site, access

SCHEMA = pa.schema([("k", pa.string()), ("a", pa.int32()), ("found", pa.bool_()), ("missing", pa.string())])
TOWN = {"incomes": access("incomes", {"zip": "string", "a": "int"}, scan=False, lookups=["zip"])}


@dataclass
class Incomes(Site):
    """A table to be looked up, whose answers may come in two pages of which the second fails."""

    halves: set[str] = field(default_factory=set)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        key = request.path.split("/")[-1]
        if key in self.halves:
            if "page" in request.query:
                return web.json_response({}, status=500)
            return web.json_response({"rows": [{"zip": key, "a": 1}], "next": f"{request.path}?page=2"})
        return await super().answer(request)


def incomes(count: int = 20, **more: Any) -> Incomes:
    return Incomes({"incomes": (("zip", "a"), [(f"z{n}", n) for n in range(count)])}, **more)


def question(spec: Path, *, tasks: int = 1, ceiling: CeilingAddress | None = None) -> KeyQuestion:
    text = SpecText(str(spec), spec.read_text(encoding="utf-8"), "named")
    return KeyQuestion((text,), "web.incomes", ("zip",), ("a",), tasks, RunOptions(), ceiling=ceiling)


def asked(one: KeyQuestion, keys: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    batches = [pa.record_batch({"k": pa.array(some, pa.string())}) for some in (keys[:2], keys[2:])]
    found = list(one.answers(batches, SCHEMA))
    assert all(batch.schema == SCHEMA for batch in found)
    rows = [tuple(row.values()) for batch in found for row in batch.to_pylist()]
    assert len(rows) == len({row[0] for row in rows})
    return {row[0]: row[1:] for row in rows}


def test_each_key_has_its_row_or_none(publish: Publish) -> None:
    site = incomes()
    answers = asked(question(publish(site, TOWN)), ["z1", "z2", "nowhere"])
    assert answers == {
        "z1": (1, True, None),
        "z2": (2, True, None),
        "nowhere": (None, False, None),
    }
    assert set(site.keys.values()) == {1}


def test_no_keys_ask_nothing(publish: Publish) -> None:
    site = incomes()
    one = question(publish(site, TOWN))
    assert list(one.answers([], SCHEMA)) == []
    assert list(one.answers([pa.record_batch({"k": pa.array([], pa.string())})], SCHEMA)) == []
    assert not site.keys


def test_a_key_that_failed_says_why_and_the_others_are_whole(publish: Publish) -> None:
    answers = asked(question(publish(site_failing(incomes(), {"z3"}), TOWN)), ["z1", "z3", "nowhere"])
    assert answers["z3"] == (None, False, "HTTP 500 after 2 attempts")
    assert [answers[key][-1] for key in ("z1", "nowhere")] == [None, None]


@pytest.mark.parametrize("bad", [set(), {"nan"}, {"3"}])
def test_a_key_that_is_no_number_is_found_again(publish: Publish, bad: set[str]) -> None:
    tables = {"sizes": access("sizes", {"x": "double", "a": "int"}, scan=False, lookups=["x"])}
    site = site_failing(Incomes({"sizes": (("x", "a"), [("nan", 1), (3, 2)])}), bad)
    one = replace(question(publish(site, tables)), table="web.sizes", on=("x",))
    schema = SCHEMA.set(0, pa.field("x", pa.float64()))
    told = pa.Table.from_batches(one.answers([pa.record_batch({"x": [math.nan, 3.0, 4.0]})], schema))
    wanted = {"nan": [1, True, None], "3": [2, True, None], "4": [None, False, None]}
    wanted |= {key: [None, False, "HTTP 500 after 2 attempts"] for key in bad}
    assert {f"{x:.0f}": row for x, *row in zip(*told.to_pydict().values(), strict=True)} == wanted


def site_failing(site: Incomes, keys: set[str]) -> Incomes:
    """The site, which refuses some keys."""
    answer = site.answer

    async def failing(request: web.Request) -> web.StreamResponse:
        if request.path.split("/")[-1] in keys:
            return web.json_response({}, status=500)
        return await answer(request)

    site.answer = failing  # type: ignore[method-assign]
    return site


def test_more_failures_than_are_listed_leave_the_others_whole(publish: Publish) -> None:
    bad = {f"z{n}" for n in range(0, 200, 2)}
    spec = publish(site_failing(incomes(200), bad), TOWN)
    answers = asked(question(spec), [f"z{n}" for n in range(200)])
    assert {key for key, row in answers.items() if row[-1] is not None} == bad
    assert {row[-1] for row in answers.values()} == {None, "HTTP 500 after 2 attempts"}


@pytest.mark.parametrize(
    ("lookups", "late", "flagged"),
    [
        (
            ["a"],
            20,
            range(80),
        ),  # by their number these could be those without a row, of which each request had three
        (["a"], 0, range(60)),  # and these are
        (["a", "b"], 0, range(80)),  # which of two requests for a key was not answered, nobody knows
    ],
)
def test_requests_for_several_keys_count_once(
    publish: Publish, lookups: list[str], late: int, flagged: Sequence[int]
) -> None:
    """Sixty requests of three keys each failed, ten of them with a row of one; and `late` ones, also with a row."""
    one = replace(question(publish(incomes(), TOWN)), on=("a", "b"))
    methods = [LookupMethod(name, keys=(name,)) for name in lookups]
    keys = [(a, b) for a in range(80) for b in (100, 101, 102)]
    have = [(a, b) for a, b in keys if a >= 60 or (a >= 50 and b == 100)]
    missing = [Missing("web.t", f"a = {a}", "HTTP 500") for a in range(50)]
    missing.append(Missing("web.t", f"{10 + late} {MORE_KEYS}", "HTTP 500"))
    reasons = one._reasons(two_keys(keys), two_keys(have), methods, missing)
    assert {a for a, _ in reasons} == set(flagged)
    assert len(reasons) == 3 * len(flagged)


def two_keys(keys: Sequence[tuple[int, int]]) -> pa.Table:
    return pa.table({"k0": [a for a, _ in keys], "k1": [b for _, b in keys]})


def test_a_host_that_answers_nothing(publish: Publish) -> None:
    keys = ["z1", "z2", "z3"]
    answers = asked(question(publish(site_failing(incomes(), set(keys)), TOWN)), keys)
    assert answers.keys() == set(keys)
    assert all(row[0] is None and "HTTP 500" in row[-1] for row in answers.values())


def test_half_an_answer_is_not_taken_for_one(publish: Publish) -> None:
    table = access("incomes", {"zip": "string", "a": "int"}, scan=False, lookups=["zip"])
    [one] = table["lookups"]
    one["endpoint"] |= {"data_selector": "rows", "paginator": {"type": "json_link", "next_url_path": "next"}}
    answers = asked(question(publish(incomes(halves={"z1"}), {"incomes": table})), ["z1"])
    assert "HTTP 500" in answers["z1"][-1]


def test_a_wrong_answer_fails_the_job_and_names_the_key(publish: Publish) -> None:
    one = question(publish(site_failing(incomes(), {"z3"}), TOWN))
    batches = list(one.answers([pa.record_batch({"k": ["z2", "z3"]})], SCHEMA))
    with pytest.raises(fff.SourceError, match=r"web\.incomes was not read in full: zip = 'z3': HTTP 500"):
        list(one.checked(batches))
    good = pa.record_batch([["z2"], [2], [True], [None]], schema=SCHEMA)
    assert list(one.checked([good])) == [good]


def counted(site: Incomes) -> list[int]:
    """How many requests the site answers at once, and the most there were."""
    flying = [0, 0]
    answer = site.answer

    async def counting(request: web.Request) -> web.StreamResponse:
        flying[0] += 1
        flying[1] = max(flying)
        await asyncio.sleep(0.005)  # so that as many meet as may
        try:
            return await answer(request)
        finally:
            flying[0] -= 1

    site.answer = counting  # type: ignore[method-assign]
    return flying


@pytest.fixture
def service() -> Iterator[CeilingService]:
    service = CeilingService("127.0.0.1")
    yield service
    service.stop()


def address(service: CeilingService, **changed: Any) -> CeilingAddress:
    return replace(CeilingAddress("127.0.0.1", service.port, service.token), **changed)


def test_a_task_has_its_share_of_the_ceilings(
    publish: Publish, service: CeilingService, logged: list[logging.LogRecord]
) -> None:
    """Without anybody who leases; where that is not reached, or knows another token; and while others have not come."""
    site = incomes(60)
    flying = counted(site)
    spec = publish(site, TOWN, rate_limit={"max_concurrency": 6})
    unknown, reached = address(service, token=b"another"), address(service)
    for place, ceiling in enumerate([None, address(service, port=1), unknown, reached]):
        flying[1] = 0
        keys = [f"z{n}" for n in range(15 * place, 15 * place + 15)]
        assert len(asked(question(spec, tasks=3, ceiling=ceiling), keys)) == 15
        assert 1 <= flying[1] <= 2
    assert [record.args[0] for record in logged if record.levelno >= logging.WARNING and record.args] == [
        3,
        3,
    ]


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")
def test_who_leases_may_listen_on_ipv6(publish: Publish, logged: list[logging.LogRecord]) -> None:
    service = CeilingService("::1")
    try:
        named = CeilingAddress.of(f"[::1]:{service.port}", service.token.decode())
        for ceiling in (named, CeilingAddress.of(named.options["ceiling"], named.options["ceiling_token"])):
            site = incomes(12)
            flying = counted(site)
            spec = publish(site, TOWN, rate_limit={"max_concurrency": 4})
            keys = [f"z{n}" for n in range(12)]
            assert len(asked(question(spec, ceiling=ceiling), keys)) == 12
            assert flying[1] <= 4
    finally:
        service.stop()
    assert not [record for record in logged if record.levelno >= logging.WARNING], (
        "nobody fell back to a share"
    )


def test_two_jobs_keep_one_ceiling_which_either_may_use_alone(
    publish: Publish, service: CeilingService
) -> None:
    site = incomes(90)
    flying = counted(site)
    spec = publish(site, TOWN, rate_limit={"max_concurrency": 4})
    parts = [[f"z{n}" for n in range(first, first + 30)] for first in (0, 30, 60)]
    with ThreadPoolExecutor() as threads:
        done = threads.map(lambda keys: asked(question(spec, ceiling=address(service)), keys), parts[:2])
        assert [len(answers) for answers in done] == [30, 30]
    assert 1 < flying[1] <= 4
    flying[1] = 0
    asked(question(spec, ceiling=address(service)), parts[2])
    assert flying[1] == 4
    assert list(question(spec, ceiling=address(service)).answers([], SCHEMA)) == []


@pytest.mark.parametrize(
    ("policy", "most"),
    [
        (HostPolicy(8), 8),
        (HostPolicy(8, fill_rate=3.0), 3),
        (HostPolicy(8, fill_rate=0.5), 1),
        (HostPolicy(8, fill_rate=10.0, bucket_size=2), 2),
        (HostPolicy(8, windows=(Window(100, 60), Window(5, 1))), 5),
    ],
)
def test_shares_never_come_to_more_than_the_whole(policy: HostPolicy, most: int) -> None:
    assert policy.most_shares() == most
    for of in range(1, most + 1):
        share = policy.shared(of)
        assert share.max_concurrency * of <= policy.max_concurrency
        assert policy.fill_rate is None or (share.fill_rate or 0) * of == pytest.approx(policy.fill_rate)
        assert policy.fill_rate is None or share.burst * of <= policy.burst
        for mine, whole in zip(share.windows, policy.windows, strict=True):
            assert mine.limit * of <= whole.limit
            assert mine.per == whole.per


def texts_of(sources: Sequence[Path]) -> list[SpecText]:
    """What the machine that has the specs sends to those that have not."""

    async def read() -> list[SpecText]:
        async with open_federation(sources) as federation:
            return federation.catalog.specs()

    return asyncio.run(read())


def test_specs_travel_as_text_with_references_for_secrets(
    publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWN_KEY", "hush-hush")
    auth = {"type": "api_key", "name": "key", "api_key": "${env:TOWN_KEY}", "location": "query"}
    spec = publish(incomes(), TOWN, auth=auth)
    texts = texts_of([spec])
    assert [(one.file, one.whose) for one in texts] == [(str(spec), "named")]
    assert "${env:TOWN_KEY}" in texts[0].text
    assert b"hush-hush" not in pickle.dumps(texts)
    spec.unlink()  # another machine
    assert asked(KeyQuestion(tuple(texts), "web.incomes", ("zip",), ("a",), 1, RunOptions()), ["z1"]) == {
        "z1": (1, True, None)
    }


def test_a_spec_that_was_found_gets_no_secrets_elsewhere_either(
    publish: Publish, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("FFF_SOURCES", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TOWN_KEY", "hush-hush")
    folder = tmp_path / "working"
    folder.mkdir()
    auth = {"type": "api_key", "name": "key", "api_key": "${env:TOWN_KEY}", "location": "query"}
    publish(incomes(), TOWN, auth=auth).rename(folder / "fff.yaml")
    monkeypatch.chdir(folder)
    texts = texts_of([])
    assert [one.whose for one in texts] == ["found"]
    one = KeyQuestion(tuple(texts), "web.incomes", ("zip",), ("a",), 1, RunOptions())
    batch = pa.record_batch({"k": ["z1"]})
    with pytest.raises(fff.SecretError, match="nobody has trusted"):
        list(one.checked(one.answers([batch], SCHEMA)))


def test_what_is_no_lookup_is_refused_before_any_job() -> None:
    with pytest.raises(fff.UsageError, match="dict is no frame of Spark"):
        fff.lookup({}, "web.incomes", on="zip")
    with pytest.raises(fff.UsageError, match="how must be 'left' or 'inner', not 'outer'"):
        fff.lookup({}, "web.incomes", on="zip", how="outer")  # type: ignore[arg-type]
    with pytest.raises(fff.UsageError, match="missing must be 'error' or 'column'"):
        fff.lookup({}, "web.incomes", on="zip", missing="skip")  # type: ignore[arg-type]
    with pytest.raises(fff.UsageError, match="on names no column"):
        fff.lookup({}, "web.incomes", on=[])
    with pytest.raises(fff.UsageError, match="partitions must be at least 1"):
        fff.lookup({}, "web.incomes", on="zip", partitions=0)


class _Session:
    """What is asked of a session of Spark."""

    class _Context:
        master = "local[2]"

    def __init__(self) -> None:
        self.sparkContext = self._Context()
        self.conf: dict[str, str] = {}


def test_a_session_has_one_ceiling_until_it_is_gone(
    publish: Publish, monkeypatch: pytest.MonkeyPatch, service: CeilingService
) -> None:
    session = _Session()
    options = fff.ceiling(session)
    assert options == fff.ceiling(session)
    assert options["ceiling"].startswith("127.0.0.1:")
    assert fff.ceiling(_Session()) != options
    assert fff.ceiling(object()) == {}, "a session of Spark Connect"
    site = pages(60, "total")
    read = {"table": "r", "sources": str(publish(site, tables("total")))}
    job = Job.of({**read, "partitions": "3", **options})
    assert options["ceiling_token"] not in repr(job)
    parts = job.parts()
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    assert sum(batch.num_rows for part in parts for batch in job.read(part, schema)) == 60
    assert set(site.asked.values()) == {1}
    port = int(options["ceiling"].rpartition(":")[2])
    session.sparkContext = None  # type: ignore[assignment]
    gc.collect()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    monkeypatch.setenv("FFF_CEILING", f"tcp://127.0.0.1:{service.port}")
    with pytest.raises(fff.UsageError, match="no host, port and token"):
        fff.ceiling(session)
    monkeypatch.setenv("FFF_CEILING_TOKEN", service.token.decode())
    assert fff.ceiling(session) == address(service).options


def test_a_task_that_is_repeated_asks_for_nothing_that_an_attempt_of_it_was_answered(
    publish: Publish, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    site = incomes()
    one = question(publish(site, TOWN))
    keys = [f"z{n}" for n in range(10)]
    with monkeypatch.context() as dying:
        dying.setattr(asking, "_told", lambda *_: (_ for _ in ()).throw(RuntimeError("the task dies")))
        with pytest.raises(RuntimeError, match="the task dies"):
            asked(one, keys)
    [folder] = tmp_path.glob("fff-task-*")
    assert folder.stat().st_mode & 0o077 == 0
    answers = asked(one, [*keys, "z10"])
    assert [answers[f"z{n}"][0] for n in range(11)] == list(range(11))
    assert set(site.keys.values()) == {1}
    assert not list(tmp_path.glob("fff-task-*")), "it has come to its end"
    asked(one, keys)
    assert sorted(site.keys.values()) == [1] + 10 * [2], "another action asks again"


@pytest.mark.parametrize(
    ("master", "attempts"),
    [("local[*]", 1), ("local", 1), ("local[2,3]", 3), ("spark://a:1", 9), ("local-cluster[2,1,512]", 9)],
)
def test_how_often_a_task_is_tried(master: str, attempts: int) -> None:
    settings = {"spark.master": master, "spark.task.maxFailures": "9"}
    assert attempts_of(settings.get) == attempts


@pytest.mark.parametrize(
    ("task", "left"), [(("local[1]", 0), 0), (("local[1,2]", 0), 1), (("local[1,2]", 1), 0)]
)
def test_the_last_attempt_of_a_task_leaves_nothing(
    publish: Publish, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, task: tuple[str, int], left: int
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(bridge, "TaskContext", _Task(*task))
    monkeypatch.setattr(asking, "_told", lambda *_: (_ for _ in ()).throw(RuntimeError("the task dies")))
    with pytest.raises(RuntimeError, match="the task dies"):
        asked(question(publish(incomes(), TOWN)), ["z1"])
    assert len(list(tmp_path.glob("fff-task-*"))) == left


def test_the_only_attempt_of_a_task_stores_nothing(
    publish: Publish, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever wants few rows has Spark kill the process, which then removes nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(bridge, "TaskContext", _Task("local[*]", 0))
    source = {"sources": str(publish(pages(60, "total"), tables("total"))), "table": "r"}
    rows = Job.of(source).read(None, pa.schema([("a", pa.int32())]))
    assert next(rows).num_rows > 0
    assert not list(tmp_path.glob("fff-task-*"))
    rows.close()


class _Task:
    """What Spark tells of the task that it runs."""

    def __init__(self, master: str, number: int) -> None:
        self.get = lambda: self
        self.stageId = self.partitionId = lambda: 0
        self.attemptNumber = lambda: number
        self.getLocalProperty = {"spark.master": master}.get


def test_what_jobs_have_left_that_were_ended_goes(
    publish: Publish, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old, new = tmp_path / "fff-task-old.1.0", tmp_path / "fff-task-new.1.0"
    used = tmp_path / "fff-task-used.1.0"
    journal = Journal(used, durable=False)  # of a task that takes its time
    for folder, age in ((old, 2 * 3600), (new, 60), (used, 2 * 3600)):
        folder.mkdir(exist_ok=True)
        os.utime(folder, (time.time() - age,) * 2)
    asked(question(publish(incomes(), TOWN)), ["z1"])
    assert sorted(tmp_path.glob("fff-task-*")) == [new, used]
    journal.close()


class _Frame:
    """What is asked of a frame of Spark, before any job, whose column `a` is a number."""

    columns = ("a",)
    mapInArrow = None  # noqa: N815 - Spark's name

    def __init__(self) -> None:
        from pyspark.sql.types import IntegerType, StructField, StructType

        self.sparkSession = _Session()
        self.schema = StructType([StructField("_fff_key0", IntegerType())])

    def __getitem__(self, name: str) -> _Frame:
        return self

    def alias(self, name: str) -> _Frame:
        return self

    def select(self, *columns: object) -> _Frame:
        return self


def test_a_key_of_another_type_is_told_by_its_names(publish: Publish) -> None:
    columns = {"columns": {"a": "string", "b": "string"}}
    endpoint = {"path": "r/{a}", "data_selector": "items"}
    by_key = {"r": {**columns, "lookups": [{"keys": ["a"], "endpoint": endpoint}]}}
    with pytest.raises(fff.UsageError, match=r"a of the frame is int, web\.r\.a is string") as error:
        fff.lookup(_Frame(), "web.r", on="a", sources=str(publish(pages(3, "total"), by_key)))
    assert 'frame["a"].cast("string")' in str(error.value)
    with pytest.raises(fff.QueryError, match=r"cannot be looked up by b"):
        fff.lookup(_Frame(), "web.r", on={"a": "b"}, sources=str(publish(pages(3, "total"), by_key)))
