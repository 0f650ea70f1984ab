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

    tables = {
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
    session.stop()
    print("good")


if __name__ == "__main__":
    main(sys.argv[1])
