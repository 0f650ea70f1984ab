"""Specs a user would write for real APIs, over their recorded answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.running import CommandLine, get, tool

pytestmark = pytest.mark.slow  # a process each

GITHUB = """
version: 1
sources:
  github:
    client:
      base_url: <url>/api.github.com
      headers: {Accept: application/vnd.github+json}
    tables:
      issues:
        primary_key: number
        columns:
          number: int
          title: string
          state: string
          author: {type: string, path: user.login}
          created_at: timestamp
        scan:
          endpoint:
            path: repos/octokit-fixture-org/paginate-issues/issues
            paginator: {type: header_link, page_size: 3}
"""


@pytest.fixture(scope="module")
def replay(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with tool(shared_folder / "tools" / "replay_server.py", tmp_path_factory.mktemp("replay") / "log") as url:
        yield url


def test_github_issues_over_pages_on_another_path(fff: CommandLine, replay: str) -> None:
    get(f"{replay}/_reset")
    fff.spec(GITHUB, url=replay)
    assert fff.run("source", "lint", "fff.yaml").code == 0
    ran = fff.rows("SELECT number, title, state, author, created_at FROM issues")
    assert sorted(int(row[0]) for row in ran.rows) == list(range(1, 14))
    assert {row[2] for row in ran.rows} == {"open"}
    assert all(row[3] and row[4].endswith("Z") for row in ran.rows)
    stats = get(f"{replay}/_stats")
    assert (stats["requests"], stats["per_api"], stats.get("miss", 0)) == (5, {"github": 5}, 0)
    assert ran.access("issues.scan")["requests"] == ran.access("issues.scan")["pages"] == 5


@dataclass(frozen=True)
class Api:
    """A client, a table, a statement over it, how many rows it gives and in how many requests; `some` are among the rows."""

    base: str
    table: str
    sql: str
    rows: int
    requests: int
    some: tuple[tuple[str, ...], ...] = ()


APIS = {
    "census": Api(
        "api.census.gov/data/2016/acs",
        """
        columns: {people: {type: int, path: "[0]"}, name: {type: string, path: "[1]"}, state: {type: string, path: "[2]"}, county: {type: string, path: "[3]"}}
        scan: {endpoint: {path: acs5/cprofile, params: {get: "CP05_2012_2016_001E,NAME", for: "county:*", in: "state:05,49,50"}, data_selector: "[1:]"}}
        """,
        "SELECT people, name, county FROM t WHERE state = '50'", 14, 1, (("27076", "Orleans County, Vermont", "019"),),
    ),
    "world bank": Api(
        "api.worldbank.org",
        """
        columns: {country: {type: string, path: country.id}, value: bigint, date: int}
        scan: {endpoint: {path: "countries/GB;AR;SA;HK/indicators/SP.POP.TOTL", params: {format: json, per_page: 1000, mrv: 2}, data_selector: "[1]"}}
        """,
        "SELECT country, date, value FROM t", 8, 1, (("AR", "2012", "41086927"),),
    ),
    "world bank, pages counted in the body": Api(
        "api.worldbank.org/en",
        """
        columns: {country: {type: string, path: country.value}, rate: {type: "decimal(20,11)", path: value}, month: {type: string, path: date}}
        scan:
          endpoint:
            path: countries/ind;chn/indicators/DPANUSSPF
            params: {MRV: 7, frequency: M, format: json}
            data_selector: "[1]"
        """,
        "SELECT country, month, rate FROM t", 14, 1, (("China", "2013M08", "6.12179545455"),),
    ),
    "hacker news": Api(
        "hacker-news.firebaseio.com/v0",
        """
        columns: {id: bigint, by: string, title: string, time: timestamp}
        lookups: [{keys: [id], endpoint: "item/{id}.json"}]
        """,
        "SELECT id, by, time FROM t WHERE id IN (8863, 192327, 999999999999)", 2, 3,
        (("8863", "dhouston", "2007-04-04T19:16:40Z"), ("192327", "justin", "2008-05-16T23:40:17Z")),
    ),
    "crossref works": Api(
        "api.crossref.org",
        """
        columns: {DOI: string, title: {type: string, path: "title[0]"}}
        lookups: [{keys: [DOI], endpoint: {path: "works/{DOI}", data_selector: message}}]
        on_status: [{status_code: 404, action: empty}]
        """,
        "SELECT DOI FROM t WHERE DOI IN (<dois>, '10.1371/notarealdoi')", 2, 3,
    ),
    "crossref journals": Api(
        "api.crossref.org",
        """
        columns: {issn: string, title: string, publisher: string}
        lookups: [{keys: [issn], endpoint: {path: "journals/{issn}", data_selector: message}}]
        """,
        "SELECT issn, publisher FROM t WHERE issn = '1803-2427' OR issn = '2326-4225'", 2, 2,
    ),
    "zenodo": Api(
        "zenodo.org/api",
        """
        columns: {id: bigint, title: {type: string, path: metadata.title}, doi: string}
        scan: {endpoint: {path: records, params: {q: 'creators.name:"FD Tester"', type: dataset}, data_selector: hits.hits}}
        """,
        "SELECT id, title, doi FROM t", 3, 2,  # after a redirect
    ),
    "zenodo, next link in the body": Api(
        "zenodo.org/api",
        """
        columns: {id: bigint, title: {type: string, path: metadata.title}}
        scan:
          endpoint:
            path: records
            params: {q: 'creators.name:"FD Tester"', type: dataset}
            data_selector: hits.hits
            paginator: {type: json_link, next_url_path: links.next, total_path: hits.total}
        """,
        "SELECT id FROM t", 3, 2,
    ),
    "openalex": Api(
        "api.openalex.org",
        """
        columns: {id: string, title: string, year: {type: int, path: publication_year}, published: {type: date, path: publication_date}, cited: {type: int, path: cited_by_count}}
        scan: {endpoint: {path: works, params: {search: machine learning, per-page: 50}, data_selector: results}}
        """,
        "SELECT id, year, published, cited FROM t LIMIT 10", 10, 1, (("https://openalex.org/W2068311567", "2014", "2014-12-01", "8"),),
    ),
    "stack exchange": Api(
        "api.stackexchange.com/2.3",
        """
        columns: {reputation: int, site_name: string, gold: {type: int, path: badge_counts.gold}, since: {type: timestamp, path: creation_date}}
        scan: {endpoint: {path: users/1/associated, params: {pagesize: 100, page: 1}, data_selector: items}}
        """,
        "SELECT site_name, reputation, gold, since FROM t LIMIT 30", 30, 1, (("Stack Overflow", "36880", "40", "2008-07-31T14:22:31Z"),),
    ),
    "water quality, CSV": Api(
        "www.waterqualitydata.us",
        """
        columns: {organization: {type: string, path: OrganizationIdentifier}, day: {type: date, path: ActivityStartDate}, at: {type: string, path: "['ActivityStartTime/Time']"}}
        scan: {endpoint: {path: data/Result/search, params: {mimeType: csv}, format: csv}}
        """,
        "SELECT organization, day, at FROM t", 5, 1,
    ),
    "ckan": Api(
        "legado.dados.gov.br//api/3/action",
        """
        columns: {name: string, title: string}
        scan: {endpoint: {path: package_search, params: {q: "*:*", rows: 2}, data_selector: result.results}}
        """,
        "SELECT name, title FROM t LIMIT 2", 2, 1,
    ),
    "ckan by name": Api(
        "legado.dados.gov.br/api/3/action",
        """
        columns: {name: string, num_tags: int}
        key_columns: [{name: name, require: required, param: id}]
        scan: {endpoint: {path: package_show, data_selector: result}}
        """,
        "SELECT name, num_tags FROM t WHERE name = 'bolsa-familia-pagamentos'", 1, 1, (("bolsa-familia-pagamentos", "5"),),
    ),
    "ncbi, XML in a batch": Api(
        "eutils.ncbi.nlm.nih.gov/entrez/eutils",
        """
        columns: {Id: int, name: {type: string, path: "Item[3]['#text']"}}
        lookups:
          - {keys: [Id], batch: {size: 10, separator: ","}, endpoint: {path: esummary.fcgi, params: {db: taxonomy, ID: "{Id}"}, format: xml, data_selector: eSummaryResult.DocSum}}
        """,
        "SELECT Id, name FROM t WHERE Id IN (53747, 7674)", 2, 1, (("53747", "Echinacea"),),
    ),
}  # fmt: skip


def write(fff: CommandLine, url: str, api: Api) -> None:
    head = (
        f"version: 1\nsources:\n  api:\n    client: {{base_url: '{url}/{api.base}'}}\n    tables:\n      t:\n"
    )
    fff.spec(head + api.table)


@pytest.mark.parametrize("name", APIS)
def test_an_api(fff: CommandLine, replay: str, shared_folder: Path, name: str) -> None:
    api = APIS[name]
    get(f"{replay}/_reset")
    write(fff, replay, api)
    ran = fff.query(api.sql.replace("<dois>", dois(shared_folder)))
    assert (ran.code, ran.report["complete"]) == (0, True), ran.err
    assert ran.report["warnings"] == []
    assert len(ran.rows) == api.rows
    assert set(api.some) <= set(ran.rows)
    assert get(f"{replay}/_stats").get("miss", 0) == 0
    assert sum(entry["requests"] for entry in ran.report["access"]) == api.requests


def dois(shared: Path) -> str:
    """The keys of two recorded works, as SQL."""
    lines = (shared / "recorded" / "index.jsonl").read_text().splitlines()
    urls = [row["url"] for row in map(json.loads, lines) if row["id"] in (195, 196)]
    return ", ".join(f"'{url.removeprefix('https://api.crossref.org/works/')}'" for url in urls)


def test_a_cursor_that_never_changes_ends_in_an_error_and_not_in_half_an_answer(
    fff: CommandLine, replay: str
) -> None:
    """Crossref sends one cursor with every page: the pages move on by themselves, which a repeated cursor cannot show."""
    api = Api(
        "api.crossref.org",
        """
        columns: {DOI: string}
        scan:
          endpoint:
            path: works
            params: {query: widget}
            data_selector: message.items
            paginator: {type: cursor, cursor_path: message.next-cursor, initial: "*"}
        """,
        "SELECT DOI FROM t",
        0,
        0,
    )
    get(f"{replay}/_reset")
    write(fff, replay, api)
    ran = fff.query(api.sql, "--on-source-error", "fail")
    assert (ran.code, ran.out) == (4, "")
    assert "came a second time" in ran.err
    assert get(f"{replay}/_stats")["requests"] <= 3
