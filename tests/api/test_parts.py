"""One scan read by several readers: every page once, every row once, the host's ceilings for all of them together."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import fff
from fff.api.parts import StatementPart
from fff.web.types import HostPolicy
from tests.api.conftest import Publish
from tests.api.sites import pages, tables
from tests.sampling import every, every_row


def read(spec: Path, sql: str, parts: list[StatementPart]) -> list[tuple[Any, ...]]:
    """Every part as another process would read it."""
    rows: list[tuple[Any, ...]] = []
    for part in pickle.loads(pickle.dumps(parts)):
        with fff.connect(spec) as federation:
            batches = federation.batches(sql, part=part)
            rows += [row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True)]
            assert batches.complete
            assert batches.warnings == ()
    return rows


@pytest.mark.parametrize("paginator", every(3, ["total", "pages", "offset"]))
@pytest.mark.parametrize(
    ("rows", "parts", "got"),
    every_row(
        2, [(95, 4, 4), (100, 3, 3), (30, 8, 3), (11, 2, 2), (10, 2, 1), (3, 2, 1), (0, 2, 1), (200, 50, 8)]
    ),
)
def test_every_page_and_every_row_once(
    publish: Publish, paginator: str, rows: int, parts: int, got: int
) -> None:
    served = pages(rows, paginator)
    spec = publish(served, tables(paginator))
    sql = "SELECT a FROM r WHERE b <> 'x3'"
    with fff.connect(spec) as federation:
        divided = federation.divide(sql, parts=parts)
    assert served.asked.total() == 1
    assert len(divided) == got
    assert sorted(read(spec, sql, divided)) == [(n,) for n in range(rows) if n % 5 != 3]
    assert set(served.asked.values()) == {1}
    assert len(served.asked) == max(1, -(-rows // 10))


@pytest.mark.parametrize("cap", [3, 7])
def test_pages_shorter_than_asked_for(publish: Publish, cap: int) -> None:
    served = pages(50, "offset", cap=cap)
    spec = publish(served, tables("offset"))
    with fff.connect(spec) as federation:
        divided = federation.divide("SELECT a FROM r", parts=3)
    assert len(divided) == 3
    assert sorted(read(spec, "SELECT a FROM r", divided)) == [(n,) for n in range(50)]
    assert set(served.asked.values()) == {1}


def test_places_that_count_hidden_rows_are_found_out(publish: Publish) -> None:
    served = pages(50, "offset", hidden=(3, 7))
    spec = publish(served, tables("offset"))
    with fff.connect(spec) as federation:
        divided = federation.divide("SELECT a FROM r", parts=2)
    with pytest.raises(fff.SourceError, match="hides rows that have places"):
        read(spec, "SELECT a FROM r", divided)


@pytest.mark.parametrize("paginator", ["total", "offset"])
def test_rows_that_were_added_meanwhile_come_with_the_last_part(publish: Publish, paginator: str) -> None:
    served = pages(45, paginator)
    spec = publish(served, tables(paginator))
    with fff.connect(spec) as federation:
        divided = federation.divide("SELECT a FROM r", parts=2)
    served.tables["r"][1].extend((n, "new") for n in range(45, 58))
    assert sorted(read(spec, "SELECT a FROM r", divided)) == [(n,) for n in range(58)]


def test_a_page_that_is_too_short_is_no_silent_loss(publish: Publish) -> None:
    served = pages(60, "total", short=2)
    spec = publish(served, tables("total"))
    with fff.connect(spec) as federation:
        divided = federation.divide("SELECT a FROM r", parts=2)
    with pytest.raises(fff.SourceError, match="different lengths"):
        read(spec, "SELECT a FROM r", divided)


def test_a_server_that_ignores_the_page_is_found_out(publish: Publish) -> None:
    served = pages(60, "total", ignores_page=True)
    spec = publish(served, tables("total"))
    with fff.connect(spec) as federation:
        divided = federation.divide("SELECT a FROM r", parts=6)
    with pytest.raises(fff.SourceError, match="the same page"):
        read(spec, "SELECT a FROM r", divided)


@pytest.mark.parametrize(
    ("paginator", "more", "sql", "requests"),
    [
        ("bare", {}, "SELECT a FROM r", 0),
        ("total", {"max_pages": 3}, "SELECT a FROM r", 0),
        ("total", {"maximum_page": 3}, "SELECT a FROM r", 0),
        ("offset", {"maximum_offset": 30}, "SELECT a FROM r", 0),
        ("total", {"has_more_path": "more"}, "SELECT a FROM r", 0),
        ("total", {}, "SELECT a FROM r LIMIT 3", 0),
        ("total", {}, "SELECT count(*) FROM r", 0),
        ("total", {}, "SELECT x.a FROM r x JOIN r y ON x.a = y.a", 0),
        ("total", {}, "SELECT a FROM r WHERE 1 = 0", 0),
    ],
)
def test_what_cannot_be_divided_is_not_asked_for(
    publish: Publish, paginator: str, more: dict[str, Any], sql: str, requests: int
) -> None:
    served = pages(60, paginator)
    with fff.connect(publish(served, tables(paginator, **more))) as federation:
        assert federation.divide(sql, parts=4) == []
    assert served.asked.total() == requests


def test_rows_that_share_a_key_are_read_by_one_reader(publish: Publish) -> None:
    served = pages(60, "total")
    spec = tables("total")
    spec["r"]["primary_key"] = ["a"]
    with fff.connect(publish(served, spec)) as federation:
        assert federation.divide("SELECT a FROM r", parts=4) == []
        assert served.asked.total() == 0
        assert len(federation.divide("SELECT a FROM r", parts=3, keep_duplicates=True)) == 3


def test_one_part_is_no_division(publish: Publish) -> None:
    served = pages(60, "total")
    with fff.connect(publish(served, tables("total"))) as federation:
        assert federation.divide("SELECT a FROM r", parts=1) == []
    assert served.asked.total() == 0


@pytest.mark.slow
def test_readers_stay_below_the_ceilings_together(publish: Publish) -> None:
    served = pages(400, "total")
    spec = publish(served, tables("total"), rate_limit={"max_concurrency": 2})
    with fff.connect(spec) as federation:
        divided = federation.divide("SELECT a FROM r", parts=9)
        assert len(divided) == 2
        assert len(list(federation.batches("SELECT a FROM r", part=divided[0]))) > 0
    assert served.most == 1
    share = HostPolicy(8, 10.0, 3).shared(4)
    assert (share.max_concurrency, share.fill_rate, share.bucket_size) == (2, 2.5, 1)


def test_parts_hold_no_secrets(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWN_KEY", "hush-hush")
    served = pages(60, "total")
    auth = {"type": "api_key", "name": "key", "api_key": "${env:TOWN_KEY}", "location": "query"}
    with fff.connect(publish(served, tables("total"), auth=auth)) as federation:
        divided = federation.divide("SELECT a FROM r", parts=2)
    assert len(divided) == 2
    assert b"hush-hush" not in pickle.dumps(divided)


def test_parts_are_counted_under_the_conditions_that_are_sent(publish: Publish) -> None:
    served = pages(95, "offset")
    spec = tables("offset")
    spec["r"]["key_columns"] = [{"name": "a", "operators": [">="], "param": "least"}]
    file = publish(served, spec)
    sql = "SELECT a FROM r WHERE a > 41"
    with fff.connect(file) as federation:
        divided = federation.divide(sql, parts=3)
    assert len(divided) == 3
    assert sorted(read(file, sql, divided)) == [(n,) for n in range(42, 95)]
    assert set(served.asked.values()) == {1}
    assert len(served.asked) == 6, "the rows from 41 on, and no others"
