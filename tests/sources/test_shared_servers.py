"""Real answers and a server with every pagination style, from the tools beside the checkout."""

from __future__ import annotations

import asyncio
import collections
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.sources.reading import Reader
from tests.sources.running import running

Read = Callable[..., Reader]
Start = Callable[..., Any]


@pytest.fixture
def tools(shared_folder: Path) -> Path:
    return shared_folder / "tools"


async def get(url: str) -> Any:
    return json.loads(await asyncio.to_thread(lambda: urlopen(url).read()))


RACE = """
version: 1
sources:
  race:
    client: {base_url: "%s", rate_limit: {max_concurrency: 32}}
    table_defaults: {columns: {id: int, x: string, v: int}}
    tables:
      by_offset: {scan: {endpoint: {path: r, data_selector: items, paginator: {type: offset, total_path: total}}}}
      by_offset_without_total: {scan: {endpoint: {path: r, data_selector: items, paginator: {type: offset, page_size: 250}}}}
      by_page: {scan: {endpoint: {path: r, paginator: {type: page_number, page_size: 100, page_size_param: per_page}}}}
      by_link: {scan: {endpoint: {path: r, params: {per_page: 100}, paginator: header_link}}}
      by_cursor: {scan: {endpoint: {path: r, params: {style: cursor}, data_selector: items, paginator: {type: cursor, cursor_path: next_cursor}}}}
      by_url: {scan: {endpoint: {path: r, params: {style: nexturl}, data_selector: results, paginator: {type: json_link, next_url_path: next}}}}
      by_keyset:
        scan: {endpoint: {path: r, params: {style: fec, per_page: 100}, data_selector: results, paginator: {type: keyset, cursor_path: pagination.last_indexes}}}
      by_named_keyset:
        scan:
          endpoint:
            path: r
            params: {style: fec, per_page: 100}
            data_selector: results
            paginator: {type: keyset, cursors: {last_index: pagination.last_indexes.last_index, last_v: pagination.last_indexes.last_v}}
      by_auto: {scan: {endpoint: {path: r, params: {per_page: 100}, paginator: auto}}}
      at_once: {scan: {endpoint: r.json}}
      as_ndjson: {scan: {endpoint: {path: r.ndjson, format: ndjson}}}
      as_csv: {scan: {endpoint: {path: r.csv, format: csv}}}
      s:
        columns: {x: string, y: int, grp: string}
        key_columns: [{name: x, require: required}]
        lookups: [{keys: [x], endpoint: "s/{x}"}, {keys: [x], endpoint: s}, {keys: [x], batch: {size: 10, separator: ","}, endpoint: s}]
        on_status: [{status_code: 404, action: empty}]
"""  # fmt: skip
SCANS = {
    "by_offset": 10, "by_offset_without_total": 11, "by_page": 11, "by_link": 10, "by_cursor": 10, "by_url": 10, "by_keyset": 11,
    "by_named_keyset": 11, "by_auto": 10, "at_once": 1, "as_ndjson": 1, "as_csv": 1,
}  # fmt: skip


@pytest.mark.slow
async def test_every_pagination_style_gives_every_row_once(tools: Path, read: Read) -> None:
    async with running(
        tools / "race_server.py", "--page-ms", "0", "--lookup-ms", "0", "--batch", "10", "--missing", "3"
    ) as url:
        reader = read(RACE % url)
        expected = sorted((row["id"], row["x"], row["v"]) for row in await get(f"{url}/r.json"))
        assert len(expected) == 1000
        for name, requests in SCANS.items():
            for window in (1, 4):
                await get(f"{url}/_reset")
                rows = await reader.scan(name, window=window)
                assert sorted((row["id"], row["x"], row["v"]) for row in rows) == expected, name
                assert (await get(f"{url}/_stats"))["requests"] == requests, name
        keys = [f"k{n:04d}" for n in range(245, 252)]
        for number in range(3):
            found = await reader.lookup("s", *keys, number=number)
            assert [row["x"] for row in found] == ["k0245", "k0246"], number


@pytest.mark.slow
async def test_a_server_that_admits_fewer_than_declared_is_read_exactly(tools: Path, tmp_path: Path) -> None:
    """On the real clock: the server says to wait one second at each refusal."""
    file = tmp_path / "race.yaml"
    async with running(tools / "race_server.py", "--lookup-ms", "20", "--max-inflight", "8") as url:
        file.write_text(RACE % url)
        client = WebClient(rng=random.Random(1))
        catalog = load_catalog([file], environ={}, cwd=tmp_path, client=client)
        (table,) = catalog.find(["s"])
        meter, rows = AccessMeter(), collections.Counter[str]()

        async def one(key: str) -> None:
            async for page in catalog.adapters[0].lookup(
                table, table.lookups[0], ["x"], [(key,)], meter=meter
            ):
                rows.update(page.rows.column(0).to_pylist())

        await asyncio.gather(*(one(f"k{n:04d}") for n in range(250)))
        await client.close()
        stats = await get(f"{url}/_stats")
    assert rows == {f"k{n:04d}": 1 for n in range(250)}
    assert stats["max_inflight"] <= 8
    assert meter.throttled == stats["s_429"] <= 40
    assert meter.limited_by == "throttled"


RECORDED = """
version: 1
sources:
  github:
    client: {base_url: "%(url)s/api.github.com"}
    tables:
      issues:
        columns: {id: bigint, number: int, title: string, user: {type: string, path: user.login}, created_at: timestamp, labels: string}
        scan: {endpoint: {path: repos/octokit-fixture-org/paginate-issues/issues, params: {per_page: 3}, paginator: header_link}}
  census:
    client: {base_url: "%(url)s/api.census.gov/data/2016/acs"}
    tables:
      counties:
        columns: {people: {type: int, path: "[0]"}, name: {type: string, path: "[1]"}, state: {type: string, path: "[2]"}, county: {type: string, path: "[3]"}}
        scan: {endpoint: {path: acs5/cprofile, params: {get: "CP05_2012_2016_001E,NAME", for: "county:*", in: "state:05,49,50"}, data_selector: "[1:]"}}
  bank:
    client: {base_url: "%(url)s/api.worldbank.org"}
    tables:
      population:
        columns: {country: {type: string, path: country.id}, value: bigint, date: int}
        scan:
          endpoint:
            path: countries/GB;AR;SA;HK/indicators/SP.POP.TOTL
            params: {format: json, per_page: 1000, mrv: 2}
            data_selector: "[1]"
  news:
    client: {base_url: "%(url)s/hacker-news.firebaseio.com/v0"}
    tables:
      item:
        columns: {id: bigint, by: string, time: timestamp}
        lookups: [{keys: [id], endpoint: "item/{id}.json"}]
  crossref:
    client: {base_url: "%(url)s/api.crossref.org"}
    tables:
      works:
        columns: {DOI: string, title: {type: string, path: "title[0]"}}
        lookups: [{keys: [DOI], endpoint: {path: "works/{DOI}", data_selector: message}}]
        on_status: [{status_code: 404, action: empty}]
  zenodo:
    client: {base_url: "%(url)s/zenodo.org/api"}
    tables:
      records:
        columns: {id: bigint, title: {type: string, path: metadata.title}}
        scan: {endpoint: {path: records, params: {q: 'notes:"TDWD"'}, data_selector: hits.hits}}
"""  # fmt: skip


@pytest.fixture
def recorded(shared_folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (shared_folder / "recorded" / "index.jsonl").read_text().splitlines()
    ]


@pytest.mark.slow
async def test_recorded_answers_of_real_apis(tools: Path, read: Read, recorded: list[dict[str, Any]]) -> None:
    async with running(tools / "replay_server.py") as url:
        reader = read(RECORDED % {"url": url})
        await get(f"{url}/_reset")
        issues = await reader.scan("issues", window=4)
        assert len(issues) == len({row["number"] for row in issues}) == 13
        assert all(row["user"] and row["created_at"].tzinfo for row in issues)
        stats = await get(f"{url}/_stats")
        assert stats["per_api"] == {"github": 5}
        assert stats.get("miss", 0) == 0

        counties = await reader.scan("counties")
        assert counties[0] == {
            "people": 27076,
            "name": "Orleans County, Vermont",
            "state": "50",
            "county": "019",
        }
        assert {row["state"] for row in counties} <= {"05", "49", "50"}

        population = await reader.scan("population", window=4)
        assert len(population) == 8
        assert {"country": "AR", "value": 41086927, "date": 2012} in population

        items = await reader.lookup("item", 8863)
        assert (items[0]["id"], items[0]["by"], items[0]["time"].year) == (8863, "dhouston", 2007)
        assert await reader.lookup("item", 999999999999) == []

        dois = [
            row["url"].removeprefix("https://api.crossref.org/works/")
            for row in recorded
            if row["id"] in (195, 196)
        ]
        for doi in dois:
            (work,) = await reader.lookup("works", doi)
            assert work["DOI"].lower() == doi.lower()
            assert work["title"]
        assert await reader.lookup("works", "10.1371/notarealdoi") == []

        assert len(await reader.scan("records")) > 0, "after a 308 on the same host"
        assert (await get(f"{url}/_stats")).get("miss", 0) == 0
