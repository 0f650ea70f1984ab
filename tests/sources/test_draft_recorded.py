"""Specs drafted from recorded answers of real APIs: all lint, and read the page they were drafted from."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fff.errors import SourceError
from fff.web.client import WebClient
from fff_sources.authoring.evidence import Witness
from fff_sources.authoring.sampling.drafting import draft_from_url
from fff_sources.authoring.trial import SpecTrial
from fff_sources.authoring.yamltext import yaml_text
from fff_sources.document import parse_document
from fff_sources.load import lint, load_catalog
from tests.sources.running import running

pytestmark = pytest.mark.slow

#: What the table of a sample should be like: (part of the URL, data_selector, paginator, keys).
EXPECTED: list[tuple[str, str | None, str | None, list[str] | None]] = [
    ("paginate-issues/issues?per_page=3", None, "header_link", None),
    ("search/issues?q=sesame", "items", None, None),
    ("github.com/orgs/octokit-fixture-org", None, None, ["login"]),
    ("crossref.org/works?query=widget&cursor=%2A", "message.items", "cursor", None),
    ("crossref.org/works/10.1016/j.neuro", "message", None, ["DOI"]),
    ("crossref.org/journals/1803-2427/works", "message.items", None, ["journal_id"]),
    ("members?offset=0&rows=1", "message.items", "offset", None),
    ("package_search?q=%2A%3A%2A&rows=2", "result.results", None, None),
    ("package_show?id=bolsa", "result", None, ["name"]),
    ("records/?page=1&q=title", "hits.hits", "page_number", None),
    ("esummary.fcgi?db=taxonomy&ID=53747", "eSummaryResult.DocSum", None, ["Id"]),
    ("openalex.org/works?search", "results", None, None),
    ("stackexchange.com/2.3/users/1/associated", "items", "page_number", ["user_id_2"]),
    ("SP.POP.TOTL", "[1]", None, None),
    ("item/8863.json", None, None, ["id"]),
    ("acs5/cprofile", "[1:]", None, None),
    ("waterqualitydata", None, None, None),
]


async def drafted(url: str) -> tuple[str, dict[str, Any]]:
    client = WebClient()
    try:
        draft = await draft_from_url(url, client, name="s", environ={})
    finally:
        await client.close()
    text = yaml_text(draft)
    return text, parse_document(text, "draft").data["sources"]["s"]


async def test_recorded_answers(shared_folder: Path, tmp_path: Path) -> None:
    rows = [
        json.loads(line) for line in (shared_folder / "recorded" / "index.jsonl").read_text().splitlines()
    ]
    urls = {row["url"]: row["api"] for row in rows if row["method"] == "GET" and row["status"] == 200}
    file = tmp_path / "s.yaml"
    refused: list[str] = []
    found: dict[str, dict[str, Any]] = {}
    async with running(shared_folder / "tools" / "replay_server.py") as base:
        for url, api in urls.items():
            try:
                text, found[url] = await drafted(f"{base}/{url.split('://', 1)[1]}")
            except SourceError as error:
                refused.append(f"{api}: {error.reason}")
                continue
            assert "entrez_api_token" not in text
            file.write_text(text)
            assert lint(file, environ={"S_API_KEY": "x"}) == [], url
        await first_pages_are_read(base, file, found)
    # What was recorded without its encoding, and answers without a single record.
    assert {text.partition(":")[0] for text in refused} == {"datacite", "crossref", "ckan", "hackernews"}, (
        refused
    )
    assert len(refused) <= 8, refused
    for part, selector, paginator, keys in EXPECTED:
        [source] = [source for url, source in found.items() if part in url][:1]
        [table] = source["tables"].values()
        assert ("scan" in table) == (keys is None), part
        endpoint = table["scan"]["endpoint"] if keys is None else table["lookups"][0]["endpoint"]
        assert endpoint.get("data_selector") == selector, part
        assert endpoint.get("paginator", {}).get("type") == paginator, part
        assert (table["lookups"][0]["keys"] if keys is not None else None) == keys, part


async def first_pages_are_read(base: str, file: Path, found: dict[str, dict[str, Any]]) -> None:
    """What was drafted from an answer reads it: no type that does not fit, no path that leads nowhere."""
    for api in (
        "paginate-issues/issues?per_page=3",
        "works?query=widget&cursor=%2A",
        "SP.POP.TOTL",
        "acs5/cprofile",
        "item/8863.json",
    ):
        [url] = [one for one in found if api in one]
        text, source = await drafted(f"{base}/{url.split('://', 1)[1]}")
        await asyncio.to_thread(file.write_text, text)
        client = Witness()
        catalog = load_catalog([file], environ={}, cwd=file.parent, client=client)
        trial = SpecTrial(catalog, client, {"s": source["tests"]})
        findings = [finding async for finding in trial.run()]
        await trial.close()
        assert [problem for one in findings for problem in one.problems if "HTTP 404" not in problem] == [], (
            url
        )
        assert sum(one.rows for one in findings) > 0, url
