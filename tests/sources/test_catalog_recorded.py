"""The bundled specs over recorded answers of the real APIs."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.real.running import get, tool
from tests.sampling import every
from tests.sources.bundled import rows_of
from tests.web.serving import Serve, serve

__all__ = ["serve"]

#: Parameters whose values the recordings chose otherwise: page sizes, first cursors, keys, and places asked for.
IGNORED = "api_key,key,mailto,per_page,per-page,rows,size,retstart,retmax,type,state,in,siteid,sorted"


@dataclass(frozen=True)
class Api:
    """A bundled source, where its host is recorded, a statement, how many rows it gives, and some of them."""

    source: str
    host: str
    sql: str
    rows: int
    some: tuple[tuple[Any, ...], ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    warning: str = ""


#: Where the recorded request asked for more keys than ours, and its answer holds theirs as well.
_MORE = "did not have the key they were asked by"

APIS = {
    "github issues, pages on another path": Api(
        "github", "api.github.com",
        "SELECT number, state FROM github.issues WHERE owner = 'octokit-fixture-org' AND repo = 'paginate-issues'",
        13, ((1, "open"), (13, "open")),
    ),
    "github repos": Api(
        "github", "api.github.com",
        "SELECT owner, repo, full_name FROM github.repos WHERE owner = 'octokit-fixture-org' AND repo = 'hello-world'",
        1, (("octokit-fixture-org", "hello-world", "octokit-fixture-org/hello-world"),),
    ),
    "github labels": Api(
        "github", "api.github.com",
        "SELECT name, color FROM github.labels WHERE owner = 'octokit-fixture-org' AND repo = 'labels'",
        9, (("bug", "d73a4a"),),
    ),
    "crossref works, two of three": Api(
        "crossref", "api.crossref.org",
        "SELECT doi, publisher, year FROM crossref.works WHERE doi IN ('10.1016/j.neurobiolaging.2010.03.024', '10.1038/srep16696', '10.1371/notarealdoi')",
        2, (("10.1016/j.neurobiolaging.2010.03.024", "Elsevier BV", 2012),),
    ),
    "crossref journals": Api(
        "crossref", "api.crossref.org",
        "SELECT issn, publisher FROM crossref.journals WHERE issn IN ('1803-2427', '2326-4225')",
        2, (("1803-2427", "De Gruyter Poland Sp. z o.o."), ("2326-4225", "American Scientific Publishers")),
    ),
    "crossref search, pages under one cursor": Api(
        "crossref", "api.crossref.org", "SELECT doi FROM crossref.search WHERE query = 'widget' LIMIT 50", 50
    ),
    "hacker news items, two of three": Api(
        "hackernews", "hacker-news.firebaseio.com/v0",
        "SELECT id, `by`, type FROM hackernews.items WHERE id IN (8863, 192327, 999999999999)",
        2, ((8863, "dhouston", "story"), (192327, "justin", "job")),
    ),
    "hacker news users": Api(
        "hackernews", "hacker-news.firebaseio.com/v0", "SELECT karma FROM hackernews.users WHERE id = 'jl'", 1, ((3521,),)
    ),
    "hacker news, from comments to stories": Api(
        "hackernews", "hacker-news.firebaseio.com/v0",
        "SELECT c.id, s.id FROM hackernews.items c JOIN hackernews.items s ON s.id = c.id WHERE c.id = 2921983",
        1, ((2921983, 2921983),),
    ),
    "zenodo, after a redirect": Api(
        "zenodo", "zenodo.org/api",
        """SELECT id, title, type, query FROM zenodo.search WHERE query = 'creators.name:"FD Tester"'""",
        3,
    ),
    "census": Api(
        "census", "api.census.gov/data",
        "SELECT name, value, county FROM census.acs5_comparison_counties WHERE year = 2016 AND variable = 'CP05_2012_2016_001E' AND state = '50'",
        14, (("Orleans County, Vermont", 27076.0, "019"),), {"CENSUS_API_KEY": "secret"}, _MORE,
    ),
    "ncbi, one name of several taxa": Api(
        "ncbi", "eutils.ncbi.nlm.nih.gov/entrez/eutils", "SELECT id FROM ncbi.names WHERE name = 'Echinacea'", 2, ((53747,), (7674,))
    ),
    "ncbi, a name of one taxon": Api(
        "ncbi", "eutils.ncbi.nlm.nih.gov/entrez/eutils", "SELECT id FROM ncbi.names WHERE name = 'Chaetopteryx'", 1, ((492549,),)
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def replay(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("replay") / "log"
    with tool(shared_folder / "tools" / "replay_server.py", log, "--ignore", IGNORED) as url:
        yield url


@pytest.mark.parametrize("name", every(2, APIS))
def test_a_bundled_source(replay: str, shared_folder: Path, name: str) -> None:
    api = APIS[name]
    get(f"{replay}/_reset")
    rows = asyncio.run(rows_of(api.source, f"{replay}/{api.host}", api.sql, api.environ, api.warning))
    assert len(rows) == api.rows
    assert set(api.some) <= set(rows)
    assert get(f"{replay}/_stats").get("miss", 0) == 0


def recorded(shared: Path) -> dict[int, dict[str, Any]]:
    lines = (shared / "recorded" / "index.jsonl").read_text().splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def body(shared: Path, number: int) -> bytes:
    """A recorded body; those of DataCite were kept in base 64."""
    text = (shared / "recorded" / recorded(shared)[number]["body"]).read_bytes()
    return text if text.lstrip()[:1] in (b"{", b"[", b"<") else base64.b64decode(text)


@dataclass(frozen=True)
class Elsewhere:
    """A recorded answer to a question that the bundled spec asks in other words."""

    source: str
    answer: int
    sql: str
    asked: str
    rows: int
    some: tuple[tuple[Any, ...], ...] = ()
    warning: str = ""


ELSEWHERE = {
    "world bank": Elsewhere(
        "worldbank", 414, "SELECT iso2, year, value FROM worldbank.series WHERE iso2 = 'AR' AND indicator = 'SP.POP.TOTL'",
        "/country/AR/indicator/SP.POP.TOTL", 2, (("AR", 2012, 41086927.0),), _MORE,
    ),
    "openalex": Elsewhere(
        "openalex", 327, "SELECT id, year, cited_by_count, journal FROM openalex.search WHERE search = 'machine learning' LIMIT 10",
        "/works", 10, (("https://openalex.org/W2068311567", 2014, 8, "Geospatial Health"),),
    ),
    "crossref search": Elsewhere(
        "crossref", 200, "SELECT title FROM crossref.search WHERE query = 'ecology' LIMIT 3", "/works", 3
    ),
    "crossref search, a first page": Elsewhere(
        "crossref", 178, "SELECT doi, query FROM crossref.search WHERE query = 'widget' LIMIT 5", "/works", 5
    ),
    "datacite": Elsewhere(
        "datacite", 205, "SELECT doi, type, publisher, repository FROM datacite.search WHERE query = '*' LIMIT 5",
        "/dois", 5, (("10.5281/zenodo.3596961", "Software", "Zenodo", "cern.zenodo"),),
    ),
    "datacite repositories": Elsewhere(
        "datacite", 204, "SELECT repository FROM datacite.repositories LIMIT 5", "/clients", 5
    ),
    "ncbi, a batch in XML": Elsewhere(
        "ncbi", 288, "SELECT id, rank, division, scientific_name, common_name FROM ncbi.taxa WHERE id IN (53747, 7674)", "/esummary.fcgi",
        2, ((53747, "genus", "eudicots", "Echinacea", None), (7674, "superorder", "sea urchins", "Echinacea", None)),
    ),
    "stack exchange sites": Elsewhere(
        "stackexchange", 411, "SELECT api_site_parameter, site_type FROM stackexchange.sites LIMIT 5", "/sites", 5,
        (("stackoverflow", "main_site"),),
    ),
    "zenodo": Elsewhere(
        "zenodo", 264, "SELECT id, doi, type FROM zenodo.search WHERE query = 'anything' LIMIT 2", "/records", 2,
        ((7089850, "10.5281/zenodo.7089850", "publication"),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
async def test_a_recorded_answer_to_another_question(serve: Serve, shared_folder: Path, name: str) -> None:
    one = ELSEWHERE[name]
    text = body(shared_folder, one.answer)

    async def handler(_: web.Request) -> web.Response:
        kind = "text/xml" if text.startswith(b"<") else "application/json"
        return web.Response(body=text, content_type=kind)

    served = await serve(handler)
    rows = await rows_of(one.source, served.url, one.sql, warning=one.warning)
    assert len(rows) == one.rows
    assert set(one.some) <= set(rows)
    assert {request.path for request in served.asked} == {one.asked}
