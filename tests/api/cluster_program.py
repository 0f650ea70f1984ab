"""A job of Spark that looks keys up: a program of its own, for pyspark has one JVM in each process.

Argument: the master. Prints `good` where all is as it should be.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import fff
from tests.web.serving import serving_beside

SECRET = "hush-hush"
KEYS = 200  # of which every seventh is nowhere


@dataclass
class Incomes:
    """Answers for one key a request, and counts."""

    bad: set[str] = field(default_factory=set)
    asked: Counter[str] = field(default_factory=Counter)
    scans: list[str] = field(default_factory=list)
    flying: int = 0
    most: int = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        key = request.path.split("/")[-1]
        if key == "scan":
            self.scans.append(request.query_string)
            least = int(request.query.get("least", 0))
            return web.json_response([{"zip": f"{n:05}", "income": n} for n in range(least, 50)])
        assert request.headers["X-Key"] == SECRET
        self.asked[key] += 1
        self.flying += 1
        self.most = max(self.most, self.flying)
        await asyncio.sleep(0.002)
        self.flying -= 1
        if key in self.bad:
            return web.json_response({}, status=500)
        if int(key) % 7 == 0:
            return web.json_response({}, status=404)
        return web.json_response({"zip": key, "income": int(key), "since": "2024-01-02T03:04:05Z"})


def spec(url: str) -> dict[str, object]:
    one = {"keys": ["zip"], "endpoint": {"path": "one/{zip}", "data_selector": "$"}}
    return {
        "version": 1,
        "sources": {
            "town": {
                "client": {
                    "base_url": url,
                    "headers": {"X-Key": "${env:TOWN_KEY}"},
                    "rate_limit": {"max_concurrency": 4},
                    "retry": {"max_attempts": 2, "max_delay": 0.01},
                },
                "tables": {
                    "incomes": {
                        "columns": {"zip": "string", "income": "int", "since": "timestamp"},
                        "key_columns": [{"name": "zip", "require": "required", "operators": ["="]}],
                        "lookups": [one],
                        "on_status": [{"status_code": 404, "action": "empty"}],
                    },
                    "all_of_them": {
                        "columns": {"zip": "string", "income": "int"},
                        "key_columns": [{"name": "income", "operators": [">="], "param": {">=": "least"}}],
                        "scan": {"endpoint": {"path": "scan", "paginator": {"type": "single_page"}}},
                    },
                },
            }
        },
    }


def main(master: str) -> None:
    site = Incomes()
    os.environ["TOWN_KEY"] = SECRET  # what executors have, too
    with serving_beside(site.answer) as url, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fff.yaml"
        path.write_text(yaml.safe_dump(spec(url)), encoding="utf-8")
        run(master, site, path)


def run(master: str, site: Incomes, path: Path) -> None:
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}
    settings |= {"spark.sql.python.filterPushdown.enabled": "true", "spark.sql.session.timeZone": "UTC"}
    session = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    text = f"IF(id % 100 = 0, NULL, lpad(string(id % {KEYS}), 5, '0')) AS zip"
    frame = session.range(10 * KEYS).selectExpr("id", text)

    # Each distinct key is asked for once, by four tasks that stay together under the ceiling of the host.
    found = fff.lookup(frame, "town.incomes", on="zip", sources=[path], partitions=16)
    assert found.dtypes == [("id", "bigint"), ("zip", "string"), ("income", "int"), ("since", "timestamp")]
    assert not site.asked
    rows = found.collect()
    wanted = {f"{n:05}" for n in range(KEYS) if n % 100}
    assert site.asked == dict.fromkeys(wanted, 1), site.asked
    assert site.most <= 4, site.most
    assert len(rows) == 10 * KEYS
    assert all(row.income == (int(row.zip) if row.zip and int(row.zip) % 7 else None) for row in rows)
    assert {row.since and row.since.isoformat() for row in rows} == {None, "2024-01-02T03:04:05"}
    shown = io.StringIO()
    with redirect_stdout(shown):
        found.explain(True)
    assert "REPARTITION_BY_NUM" in shown.getvalue()
    assert SECRET not in shown.getvalue()
    assert SECRET not in str(found.sparkSession.sparkContext.getConf().getAll())

    # A key that could not be asked for fails the job, whatever else is asked of it, without asking again...
    site.bad.add("00013")
    site.asked.clear()
    with pytest.raises(
        PySparkException, match=r"town\.incomes was not read in full: zip = '00013': HTTP 500"
    ) as told:
        found.where("income > 100").count()
    assert "Traceback" not in str(told.value)
    assert site.asked == {**dict.fromkeys(wanted, 1), "00013": 2}, site.asked
    # ... or says so in a column.
    places = frame.where("id < 200").selectExpr("zip AS place", "id")
    marked = fff.lookup(
        places, "town.incomes", on={"place": "zip"}, how="inner", columns=["income"], missing="column",
        sources=[path],
    ).cache()  # fmt: skip
    [bad] = marked.where("_fff_missing IS NOT NULL").collect()
    assert (bad.place, bad.income, bad._fff_missing) == ("00013", None, "HTTP 500 after 2 attempts")
    assert marked.count() == len([key for key in wanted if int(key) % 7])
    site.bad.clear()
    again = {"on": {"place": "zip"}, "columns": ["since"], "sources": [path]}
    more = fff.lookup(marked, "town.incomes", **again)
    assert more.columns == ["place", "id", "income", "_fff_missing", "since"]
    with pytest.raises(fff.UsageError, match="the frame has _fff_missing already"):
        fff.lookup(marked, "town.incomes", **again, missing="column")

    # What cannot be is refused before any job.
    for error, arguments in (
        ("no column nowhere", {"on": "nowhere"}),
        ("cannot be looked up by income", {"on": {"id": "income"}}),
        ("the frame has income already", {"on": "zip", "frame": frame.selectExpr("zip", "id AS income")}),
    ):
        with pytest.raises(fff.FFFError, match=error):
            fff.lookup(arguments.pop("frame", frame), "town.incomes", sources=[path], **arguments)

    # Frames of Spark in SQL.
    site.asked.clear()
    few = frame.where("id IN (1, 2, 401)")
    joined = fff.sql(
        "SELECT f.id, i.income FROM {few} f JOIN town.incomes i ON i.zip = f.zip", sources=[path], few=few
    )
    assert sorted(joined) == [(1, 1), (2, 2), (401, 1)], list(joined)
    assert site.asked == {"00001": 1, "00002": 1}, site.asked

    # Conditions of the job reach the source, and are applied by Spark all the same.
    read = session.read.format("fff").option("sources", str(path)).load("town.all_of_them")
    assert [row.income for row in read.where("income >= 40 AND zip LIKE '%7'").collect()] == [47]
    assert site.scans == ["least=40"], site.scans
    session.stop()
    print("good")


if __name__ == "__main__":
    main(sys.argv[1])
