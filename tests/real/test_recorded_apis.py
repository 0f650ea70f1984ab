"""Every recorded answer of a real API, read through the replay server: which spec reads which, with what rows.

`CASES` is the table. Rows are compared with what a few words of Python find in the recorded bodies; requests are counted by the
server. Answers to writes (POST and PATCH of labels at GitHub) are not read: FFF never writes.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml

from fff.errors import SourceError
from fff.federation import Federation, RunOptions
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.real.running import get, tool
from tests.sampling import every

WRITES = {9, 11, 13}
#: Bodies of this API were recorded in base 64.
ENCODED = "datacite"

Row = tuple[Any, ...]
Pick = Callable[[Any], Iterable[Row]]


@dataclass(frozen=True)
class Case:
    """Recorded answers in the order they are asked for, where they are, a table over them, and what its rows are.

    `sql`: the rows of every answer together, as `pick` finds them in each; `before`: answers to the same question that
    others have had; `empty`: answers that mean no rows.
    """

    ids: tuple[int, ...]
    base: str
    table: str
    sql: str
    pick: Pick
    before: tuple[int, ...] = ()
    error: str = ""


def field(*names: str, at: str = "") -> Pick:
    """The members of the records at a place, each a path of names."""

    def pick(body: Any) -> Iterable[Row]:
        for step in at.split("/") if at else ():
            body = body[int(step) if isinstance(body, list) else step]
        for record in body if isinstance(body, list) else [body]:
            yield tuple(_of(record, name) for name in names)

    return pick


def _of(record: Any, name: str) -> Any:
    for step in name.split("."):
        record = (
            None if record is None else record[int(step)] if isinstance(record, list) else record.get(step)
        )
    return record


def nothing(_: Any) -> Iterable[Row]:
    return ()


def found(pattern: str) -> Pick:
    """What a pattern finds in an answer that is not JSON."""
    return lambda body: re.findall(pattern, body)


GITHUB, CROSSREF, DATACITE = "api.github.com", "api.crossref.org", "api.datacite.org"
CKAN, ZENODO = "legado.dados.gov.br//api/3/action", "zenodo.org/api"
NCBI, WORLD_BANK = "eutils.ncbi.nlm.nih.gov/entrez/eutils", "api.worldbank.org"
NAMES = ("Chironomus+riparius", "aaa", "Chaetopteryx", "Echinacea", "Aratinga", "Aratinga[Organism]")
TAXA = {"288": (53747, 7674), "291": (1230190, 867384, 231027, 190661, 176015, 51908, 12945)}
DOIS = (
    "10.1016/j.neurobiolaging.2010.03.024",
    "10.1002/jor.1100150407",
    "10.1038/srep16696",
    "10.1109/icdcsw.2003.1203662",
    "10.3892/ijo_00000353",
)


def crossref(
    path: str, params: str = "", *, items: str = "message.items", column: str = "DOI", more: str = ""
) -> str:
    return f"columns: {{k: {{type: string, path: {column}}}}}\nscan: {{endpoint: {{path: {path}, params: {{{params}}}, data_selector: {items}{more}}}}}"


def among(keys: Iterable[object]) -> str:
    return ", ".join(f"'{key}'" if isinstance(key, str) else str(key) for key in keys)


def datacite(path: str) -> str:
    return (
        "columns: {id: string, type: string}\n"
        f"scan: {{endpoint: {{path: {path}, params: {{'page[number]': 1}}, data_selector: data, paginator: {{type: json_link, next_url_path: links.next,"
        f" total_path: meta.total, page_size: {10 if path == 'activities' else 5}, page_size_param: 'page[size]'}}}}}}"
    )


def datasets(q: str, more: str = "") -> str:
    return f"columns: {{name: string, title: string}}\nscan: {{endpoint: {{path: package_search, params: {{q: '{q}'{more}}}, data_selector: result.results{ONE}}}}}"


def deposits(params: str, more: str = "") -> str:
    return f"columns: {{id: bigint, doi: string}}\nscan: {{endpoint: {{path: records, params: {{{params}}}, data_selector: hits.hits{more}}}}}"


#: One answer was recorded of many.
ONE = ", paginator: {type: single_page, total: approximate}"
CURSOR = ", paginator: {type: cursor, cursor_path: message.next-cursor, initial: '*', reusable: true}"
CASES = [
    Case((1, 2, 3, 4, 5), GITHUB,
        "columns: {number: int, title: string, login: {type: string, path: user.login}}\n"
        "scan: {endpoint: {path: repos/octokit-fixture-org/paginate-issues/issues, paginator: {type: header_link, page_size: 3}}}",
        "SELECT number, title, login FROM t", field("number", "title", "user.login")),
    Case((6,), GITHUB,
        "columns: {number: int, title: string}\n"
        "scan: {endpoint: {path: search/issues, params: {q: 'sesame repo:octokit-fixture-org/search-issues'}, data_selector: items}}",
        "SELECT number, title FROM t", field("number", "title", at="items")),
    Case((7,), GITHUB, "columns: {owner: {type: string, path: asked}, repo: {type: string, path: asked}, id: int, full_name: string}\nlookups: [{keys: [owner, repo], endpoint: 'repos/{owner}/{repo}'}]",
        "SELECT id, full_name FROM t WHERE owner = 'octokit-fixture-org' AND repo = 'hello-world'", field("id", "full_name")),
    Case((8,), GITHUB, "columns: {login: string, id: int}\nlookups: [{keys: [login], endpoint: 'orgs/{login}'}]",
        "SELECT login, id FROM t WHERE login = 'octokit-fixture-org'", field("login", "id")),
    Case((10,), GITHUB, "columns: {name: string, color: string}\nscan: {endpoint: repos/octokit-fixture-org/labels/labels}",
        "SELECT name, color FROM t", field("name", "color")),
    Case((12,), GITHUB, "columns: {name: string, color: string, default: boolean}\nlookups: [{keys: [name], endpoint: 'repos/octokit-fixture-org/labels/labels/{name}'}]",
        "SELECT name, color, `default` FROM t WHERE name = 'test-label'", field("name", "color", "default")),
    Case((178, 179, 180), CROSSREF, crossref("works", "query: widget", more=CURSOR), "SELECT k FROM t LIMIT 60", field("DOI", at="message/items")),
    Case((181, 182), CROSSREF, crossref("works", "query: widget", more=CURSOR), "SELECT k FROM t LIMIT 40", field("DOI", at="message/items"), before=(178,)),
    Case((183,), CROSSREF, crossref("works", "query: widget, cursor: thing"), "SELECT k FROM t", nothing, error="HTTP 404"),
    Case((184,), CROSSREF, crossref("journals", "rows: 1", column="title", more=ONE), "SELECT k FROM t", field("title", at="message/items")),
    Case((185, 186), CROSSREF, "columns: {issn: string, title: string}\nlookups: [{keys: [issn], endpoint: {path: 'journals/{issn}', data_selector: message}}]",
        "SELECT title FROM t WHERE issn IN ('1803-2427', '2326-4225')", field("message.title")),
    Case((187,), CROSSREF, crossref("members", "rows: 2", column="primary-name", more=ONE), "SELECT k FROM t", field("primary-name", at="message/items")),
    Case((188,), CROSSREF, crossref("members/2984/works", "rows: 0, facet: 'issn:*'", more=ONE), "SELECT k FROM t", nothing),
    Case((189,), CROSSREF, crossref("members", "rows: 0", more=ONE), "SELECT k FROM t", nothing),
    Case((190,), CROSSREF, crossref("members/2984/works", "offset: 0, rows: 1", more=ONE), "SELECT k FROM t", field("DOI", at="message/items")),
    Case((191,), CROSSREF, crossref("members", "offset: 0, rows: 1", column="primary-name", more=ONE), "SELECT k FROM t", field("primary-name", at="message/items")),
    Case((192,), CROSSREF, crossref("types", column="id"), "SELECT k FROM t", field("id", at="message/items")),
    Case((193,), CROSSREF, "columns: {doi: string}\nlookups: [{keys: [doi], endpoint: {path: 'works/{doi}', data_selector: message}}]\non_status: [{status_code: 404, action: empty}]",
        "SELECT doi FROM t WHERE doi = '10.1371/notarealdoi'", nothing),
    Case((194,), CROSSREF, crossref("works/10.1371/journal.pone.0033693", "query.author: carl boettiger", items="message"), "SELECT k FROM t", nothing, error="does not support field query"),
    Case((195, 196, 197, 198, 199), CROSSREF, "columns: {DOI: string, publisher: string}\nlookups: [{keys: [DOI], endpoint: {path: 'works/{DOI}', data_selector: message}}]",
        f"SELECT DOI, publisher FROM t WHERE DOI IN ({among(DOIS)})", field("message.DOI", "message.publisher")),
    Case((200,), CROSSREF, crossref("works", "query: ecology, select: 'DOI,title'", more=ONE), "SELECT k FROM t", field("DOI", at="message/items")),
    Case((201,), CROSSREF, crossref("journals/1803-2427/works", "rows: 5", more=ONE), "SELECT k FROM t", field("DOI", at="message/items")),
    *(Case((number,), DATACITE, datacite(path), f"SELECT id, type FROM t LIMIT {rows}", field("id", "type", at="data"))
      for number, path, rows in ((202, "activities", 10), (203, "client-prefixes", 5), (204, "clients", 5), (205, "dois", 5))),
    Case((252,), "www.waterqualitydata.us",
        "columns: {organization: {type: string, path: OrganizationIdentifier}, day: {type: string, path: ActivityStartDate}}\n"
        "scan: {endpoint: {path: data/Result/search, params: {mimeType: csv}, format: csv}}",
        "SELECT organization, day FROM t", found(r"(?m)^([A-Z]\w+),.*?,(\d{4}-\d\d-\d\d),")),
    Case((253,), CKAN, datasets("*:*", ", rows: 2"), "SELECT name, title FROM t", field("name", "title", at="result/results")),
    Case((254,), CKAN, "columns: {name: string}\nscan: {endpoint: {path: group_package_show, params: {id: agricultura-extrativismo-e-pescaa}, data_selector: result}}",
        "SELECT name FROM t", nothing, error="HTTP 404"),
    Case((255,), CKAN, datasets("organization:agricultura-extrativismo-e-pescaa"), "SELECT name, title FROM t", nothing),
    Case((256,), CKAN, datasets("organization:agencia-espacial-brasileira-aeb"), "SELECT name, title FROM t", field("name", "title", at="result/results")),
    Case((257,), CKAN, datasets("title:Contratos || title:Federal"), "SELECT name, title FROM t", field("name", "title", at="result/results")),
    Case((258,), CKAN, datasets("title:Contratos || title:Federal", ", start: 3"), "SELECT name, title FROM t", field("name", "title", at="result/results")),
    Case((259,), CKAN.replace("//", "/"), "columns: {id: string, name: string, num_tags: int}\nlookups: [{keys: [name], endpoint: {path: package_show, params: {id: '{name}'}, data_selector: result}}]",
        "SELECT id, name, num_tags FROM t WHERE name = 'bolsa-familia-pagamentos'", field("result.id", "result.name", "result.num_tags")),
    Case((260,), CKAN, "columns: {name: string}\nlookups: [{keys: [name], endpoint: {path: package_show, params: {id: '{name}'}, data_selector: result}}]\non_status: [{status_code: 404, action: empty}]",
        "SELECT name FROM t WHERE name = 'no-dataset'", nothing),
    Case((261, 262), ZENODO, deposits("q: 'notes:\"TDWD\"'"), "SELECT id, doi FROM t", field("id", "doi", at="hits/hits")),
    Case((263, 264), ZENODO, deposits("q: 'title:\"Frictionless Data Test\"', page: 1, size: 2", ", paginator: {type: json_link, next_url_path: links.next, total_path: hits.total}"),
        "SELECT id, doi FROM t LIMIT 2", field("id", "doi", at="hits/hits")),
    Case((265, 266), ZENODO, deposits("q: 'creators.name:\"FD Tester\"', type: dataset", ", paginator: auto"), "SELECT id, doi FROM t", field("id", "doi", at="hits/hits")),
    Case((284, 285, 286, 287, 289, 290), NCBI,
        "columns: {name: {type: string, path: asked}, id: {type: bigint, path: $}}\n"
        "lookups: [{keys: [name], endpoint: {path: esearch.fcgi, params: {db: taxonomy, term: '{name}'}, format: xml, data_selector: eSearchResult.IdList.Id, absent: empty}}]",
        f"SELECT id FROM t WHERE name IN ({among(NAMES)})", lambda body: [(int(one),) for one in re.findall(r"<Id>(\d+)", body)]),
    *(Case((int(number),), NCBI,
        "columns: {id: {type: bigint, path: Id}, name: {type: string, path: \"Item[3]['#text']\"}}\n"
        "lookups: [{keys: [id], batch: {size: 10, separator: ','}, endpoint: {path: esummary.fcgi, params: {db: taxonomy, ID: '{id}'}, format: xml, data_selector: eSummaryResult.DocSum}}]",
        f"SELECT id, name FROM t WHERE id IN ({among(taxa)})",
        lambda body: [(int(key), name) for key, name in re.findall(r'(?s)<Id>(\d+)</Id>.*?Name="ScientificName"[^>]*>([^<]*)<', body)])
      for number, taxa in TAXA.items()),
    Case((327,), "api.openalex.org",
        "columns: {id: string, year: {type: int, path: publication_year}}\nscan: {endpoint: {path: works, params: {search: machine learning, per-page: 50}, data_selector: results" + ONE + "}}",
        "SELECT id, year FROM t", field("id", "publication_year", at="results")),
    Case((411,), "api.stackexchange.com/2.3",
        "columns: {name: string, site: {type: string, path: api_site_parameter}}\n"
        "scan: {endpoint: {path: sites, data_selector: items, paginator: {type: page_number, page_size: 100, page_size_param: pagesize, has_more_path: has_more}}}",
        "SELECT name, site FROM t", field("name", "api_site_parameter", at="items")),
    Case((412,), "api.stackexchange.com/2.3",
        "columns: {site: {type: string, path: site_name}, gold: {type: int, path: badge_counts.gold}}\n"
        "scan: {endpoint: {path: users/1/associated, params: {pagesize: 100, page: 1}, data_selector: items}}",
        "SELECT site, gold FROM t", field("site_name", "badge_counts.gold", at="items"), error=r"more than what came \('has_more'\)"),
    *(Case((number,), WORLD_BANK,
        f"columns: {{country: {{type: string, path: country.id}}, value: string, date: string}}\nscan: {{endpoint: {{path: '{path}', params: {{{params}}}, data_selector: '[1]'}}}}",
        "SELECT country, date, value FROM t", field("country.id", "date", "value", at="1"))
      for number, path, params in (
        (414, "countries/GB;AR;SA;HK/indicators/SP.POP.TOTL", "format: json, per_page: 1000, mrv: 2"),
        (415, "en/countries/ind;chn/indicators/DPANUSSPF", "MRV: 7, frequency: M, format: json"),
        (416, "en/countries/es/indicators/NEER", "MRV: 10, frequency: Q"))),
    # One URL, asked by POST: the recordings are told apart by their order alone.
    *(Case((number,), "query.wikidata.org",
        "columns: {" + ", ".join(f"{name}: {{type: string, path: {name}.value}}" for name in names) + "}\n"
        "scan: {endpoint: {path: sparql, method: POST, data_selector: results.bindings}}",
        f"SELECT {', '.join(f'`{name}`' for name in names)} FROM t", field(*(f"{name}.value" for name in names), at="results/bindings"), before=tuple(range(417, number)))
      for number, names in (
        (417, ("label", "imdbId", "director", "genre")), (418, ("entity",)), (419, ("entity",)), (420, ("genre",)),
        (421, ("item", "end", "endTime")), (422, ("item",)))),
    Case((424, 425, 426, 429), "hacker-news.firebaseio.com/v0", "columns: {id: bigint, by: string, type: string}\nlookups: [{keys: [id], endpoint: 'item/{id}.json'}]",
        "SELECT id, `by`, type FROM t WHERE id IN (8863, 2921983, 192327, 999999999999)", lambda body: [] if body is None else [(body["id"], body["by"], body["type"])]),
    Case((428,), "hacker-news.firebaseio.com/v0", "columns: {id: bigint, parent: bigint}\nlookups: [{keys: [id], endpoint: 'item/{id}.json'}]",
        "SELECT id, parent FROM t WHERE id = 2921983", field("id", "parent"), before=(425,)),
    Case((427,), "hacker-news.firebaseio.com/v0", "columns: {id: string, karma: int}\nlookups: [{keys: [id], endpoint: 'user/{id}.json'}]",
        "SELECT id, karma FROM t WHERE id = 'jl'", field("id", "karma")),
    Case((430,), "api.census.gov/data/2016/acs",
        "columns: {people: {type: string, path: '[0]'}, name: {type: string, path: '[1]'}, state: {type: string, path: '[2]'}}\n"
        "scan: {endpoint: {path: acs5/cprofile, params: {get: 'CP05_2012_2016_001E,NAME', for: 'county:*', in: 'state:05,49,50'}, data_selector: '[1:]'}}",
        "SELECT people, name, state FROM t", lambda body: [tuple(row[:3]) for row in body[1:]]),
]  # fmt: skip


@dataclass(frozen=True)
class Recorded:
    """The recordings, readable, and the server that replays them."""

    folder: Path
    entries: dict[int, dict[str, Any]]
    url: str

    def body(self, number: int) -> Any:
        """The body of an answer: decoded where it is JSON."""
        name = self.entries[number]["body"]
        text = (self.folder / name).read_text(encoding="utf-8") if name else "null"
        return json.loads(text) if text.lstrip()[:1] in ("{", "[", "n") else text


def index(folder: Path) -> dict[int, dict[str, Any]]:
    lines = (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def recorded(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("replay")
    copy = folder / "recorded"
    shutil.copytree(shared_folder / "recorded", copy, copy_function=shutil.copyfile)
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o700)
    entries = index(copy)
    for name in {entry["body"] for entry in entries.values() if entry["api"] == ENCODED}:
        (copy / name).write_bytes(base64.b64decode((copy / name).read_bytes()))
    with tool(shared_folder / "tools" / "replay_server.py", folder / "log", "--dir", str(copy)) as url:
        yield Recorded(copy, entries, url)


async def read(case: Case, recorded: Recorded, folder: Path) -> list[Row]:
    file = folder / "fff.yaml"
    spec = {
        "client": {"base_url": f"{recorded.url}/{case.base}"},
        "tables": {"t": yaml.safe_load(case.table)},
    }
    file.write_text(yaml.safe_dump({"version": 1, "sources": {"api": spec}}), encoding="utf-8")
    client = WebClient()
    catalog = load_catalog([file], environ={}, cwd=folder, client=client)
    async with Federation(catalog, client) as federation:
        execution = federation.execute(
            federation.prepare(case.sql), RunOptions(on_source_error="fail", seed=3)
        )
        batches = [batch async for batch in execution.batches()]
        report = execution.outcome.report
    assert report["complete"]
    assert report["warnings"] == []
    return [row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]


def ask(recorded: Recorded, number: int) -> None:
    """Have an answer, so that the next one to the same question comes."""
    entry = recorded.entries[number]
    url = f"{recorded.url}/{entry['url'].split('://', 1)[1].partition('#')[0]}"
    urlopen(Request(url, method=entry["method"]), timeout=30).close()


@pytest.mark.parametrize("case", every(3, CASES), ids=lambda case: "-".join(map(str, case.ids)))
def test_recorded_answers_are_read(recorded: Recorded, tmp_path: Path, case: Case) -> None:
    get(f"{recorded.url}/_reset")
    for number in case.before:
        ask(recorded, number)
    if case.error:
        with pytest.raises(SourceError, match=case.error):
            asyncio.run(read(case, recorded, tmp_path))
    else:
        rows = asyncio.run(read(case, recorded, tmp_path))
        expected = [
            row
            for number in case.ids
            if recorded.entries[number]["status"] == 200
            for row in case.pick(recorded.body(number))
        ]
        assert sorted(map(repr, rows)) == sorted(map(repr, expected))
        assert rows or case.pick is nothing
    stats = get(f"{recorded.url}/_stats")
    assert stats.get("miss", 0) == 0
    assert stats["requests"] == len(case.before) + len(case.ids)


def test_every_recorded_answer_is_read_by_some_spec(recorded: Recorded) -> None:
    read_here = [number for case in CASES for number in case.ids]
    assert len(read_here) == len(set(read_here))
    assert {
        number
        for number, entry in recorded.entries.items()
        if entry["method"] != "GET" and entry["api"] == "github"
    } == WRITES
    assert set(read_here) == recorded.entries.keys() - WRITES
