"""A join of three web tables read by the tasks of a cluster: a program of its own. Prints `good` where all is right.

Argument: the master.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import fff
from tests.web.serving import serving_beside

#: Of which one comes on two pages.
EVENTS = [
    {"id": n, "at": f"2024-01-{1 + n % 3:02}T{n % 10:02}:00:00Z", "day": f"2024-01-{1 + n % 3:02}"} for n in range(60)
]  # fmt: skip
EVENTS.insert(30, EVENTS[9])
PLACES = [(f"{n % 150:05}", f"town {n % 7}", "ab"[n % 2], n) for n in range(300)]
PAGE = 25


@dataclass
class Town:
    """Places in pages, incomes by zip, counties by the name of a town; counts what it is asked for."""

    bad: set[str] = field(default_factory=set)
    pages: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    flying: int = 0
    most: int = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.flying += 1
        self.most = max(self.most, self.flying)
        await asyncio.sleep(0.002)
        self.flying -= 1
        kind, key = request.path.split("/")[-2:]
        if key == "places":
            self.pages[request.query["page"]] += 1
            at = int(request.query["page"]) * PAGE
            rows = [
                dict(zip(("zip", "name", "kind", "n"), row, strict=True)) for row in PLACES[at : at + PAGE]
            ]
            return web.json_response({"items": rows, "total": len(PLACES)})
        if key == "events":
            at = int(request.query["page"]) * PAGE
            return web.json_response({"items": EVENTS[at : at + PAGE], "pages": -(-len(EVENTS) // PAGE)})
        self.asked[f"{kind}/{key}"] += 1
        if key in self.bad:
            return web.json_response({}, status=500)
        if kind == "counties":
            return web.json_response([{"name": key, "county": f"county {int(key[-1]) % 2}"}])
        if int(key) % 5 == 0:
            return web.json_response([])
        return web.json_response([{"zip": key, "income": int(key) + n} for n in range(1 + int(key) % 2)])


def spec(url: str) -> dict[str, Any]:
    paginator = {"type": "page_number", "base_page": 0, "page_param": "page", "total_rows_path": "total"}

    def by(table: str, key: str, **columns: str) -> dict[str, Any]:
        return {
            "columns": {key: "string", **columns},
            "key_columns": [{"name": key, "require": "required", "operators": ["="]}],
            "lookups": [{"keys": [key], "endpoint": f"{table}/{{{key}}}"}],
        }

    by_pages = {"type": "page_number", "base_page": 0, "page_param": "page", "total_path": "pages"}
    tables = {
        "events": {
            "columns": {"id": "bigint", "at": "timestamp", "day": "date"},
            "primary_key": ["id"],
            "scan": {"endpoint": {"path": "all/events", "data_selector": "items", "paginator": by_pages}},
        },
        "places": {
            "columns": {"zip": "string", "name": "string", "kind": "string", "n": "int"},
            "scan": {"endpoint": {"path": "all/places", "data_selector": "items", "paginator": paginator}},
        },
        "incomes": by("incomes", "zip", income="int"),
        "counties": by("counties", "name", county="string"),
    }
    limit = {"max_concurrency": 4}
    client = {"base_url": url, "rate_limit": limit, "retry": {"max_attempts": 2, "max_delay": 0.01}}
    return {"version": 1, "sources": {"town": {"client": client, "tables": tables}}}


def main(master: str) -> None:
    site = Town()
    with serving_beside(site.answer) as url, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fff.yaml"
        path.write_text(yaml.safe_dump(spec(url)), encoding="utf-8")
        run(master, site, path)


def run(master: str, site: Town, path: Path) -> None:
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}
    session = SparkSession.builder.master(master).config(map=settings).getOrCreate()

    sql = (
        "SELECT county, count(*) AS n, sum(i.income) AS s FROM counties JOIN town.places p ON p.name = counties.name"
        " JOIN incomes i ON i.zip = p.zip WHERE p.kind = :kind AND n >= 20 GROUP BY county"
    )
    read = fff.read(sql, {"kind": "a"}, spark=session, sources=[path], partitions=4)
    kept = [(zip_, name) for zip_, name, kind, n in PLACES if kind == "a" and n >= 20]
    wanted: dict[str, list[int]] = {}
    for zip_, name in kept:
        found = [] if int(zip_) % 5 == 0 else [int(zip_) + n for n in range(1 + int(zip_) % 2)]
        wanted.setdefault(f"county {int(name[-1]) % 2}", []).extend(found)
    for _ in range(2):  # the rows stay with the executors
        rows = {row.county: (row.n, row.s) for row in read.collect()}
        assert rows == {county: (len(found), sum(found)) for county, found in wanted.items()}, rows
    assert site.pages == {str(page): 1 for page in range(12)}, site.pages
    keys = {f"incomes/{zip_}" for zip_, _ in kept} | {f"counties/{name}" for _, name in kept}
    assert site.asked == dict.fromkeys(keys, 1), site.asked
    assert site.most <= 4, site.most

    # A row without a match stays in a left join, and a key that fails is no row without a match.
    left = (
        "SELECT p.n, i.income FROM places p LEFT JOIN incomes i ON i.zip = p.zip AND i.income < 3 ORDER BY n"
    )
    rows = [tuple(row) for row in fff.read(left, spark=session, sources=[path]).where("n < 4").collect()]
    assert sorted(rows, key=repr) == [(0, None), (1, 1), (1, 2), (2, 2), (3, None)], rows
    site.bad.add("00013")
    with pytest.raises(
        PySparkException, match=r"town\.incomes was not read in full: zip = '00013': HTTP 500"
    ):
        fff.read(left, spark=session, sources=[path])
    means_what_the_session_means(session, path)
    session.stop()
    print("good")


def means_what_the_session_means(session: SparkSession, path: Path) -> None:
    """Conditions have one meaning, in whatever time zone: that of Spark over the same rows."""
    events = sorted({tuple(one.values()) for one in EVENTS})
    kinds = "id bigint, at string, day string"
    session.createDataFrame(events, kinds).selectExpr(
        "id", "CAST(at AS timestamp) AS at", "CAST(day AS date) AS day"
    ).createOrReplaceTempView("events")
    assert session.table("events").count() == 60
    moments = "at < TIMESTAMP '2024-01-02 00:00:00' OR hour(at) = 3"
    for zone, condition in (
        ("America/New_York", moments),
        ("America/New_York", "CAST(at AS date) = DATE '2024-01-02' AND day < DATE '2024-01-03'"),
        ("America/New_York", "at < now() AND day < current_date() - INTERVAL 7 DAYS"),
        ("UTC", moments),
    ):
        session.conf.set("spark.sql.session.timeZone", zone)
        sql = f"SELECT id, current_date() FROM events WHERE {condition}"
        wanted = session.sql(sql)
        read = fff.read(sql, spark=session, sources=[path], partitions=2)
        assert sorted(read.collect()) == sorted(wanted.collect()), (zone, condition)
        assert read.columns == wanted.columns, read.columns
    large = {"x": 3_000_000_000, "y": 2**70, "least": 57}
    sql = "SELECT id FROM events WHERE id < :x AND id < :y AND id >= :least"
    assert sorted(fff.read(sql, large, spark=session, sources=[path]).collect()) == [(57,), (58,), (59,)]


if __name__ == "__main__":
    main(sys.argv[1])
