"""The bundled specs over answers in the shape that each API's documentation gives, where no answer is recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from tests.sources.bundled import rows_of
from tests.web.serving import Serve, serve

__all__ = ["serve"]


@dataclass(frozen=True)
class Api:
    """A source, a statement, the answer to each path asked, and the rows; `asked` are the paths with their queries."""

    source: str
    sql: str
    answers: dict[str, Any]
    rows: list[tuple[Any, ...]]
    environ: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


APIS = {
    "edgar companies, on another host": Api(
        "edgar", "SELECT cik FROM edgar.companies",
        {"/files/company_tickers.json": {"0": {"cik_str": 320193, "ticker": "AAPL", "title": "Apple Inc."}}},
        [(320193,)],
        {"SEC_CONTACT": "Sample admin@example.com"}, {"User-Agent": "Sample admin@example.com"},
    ),
    "edgar filings": Api(
        "edgar", "SELECT cik, form, is_xbrl FROM edgar.filings WHERE cik = 320193",
        {
            "/submissions/CIK0000320193.json": {
                "cik": "320193", "name": "Apple Inc.",
                "filings": {"recent": {"accessionNumber": ["a-1", "a-2"], "form": ["10-K", "4"], "isXBRL": [1, 0], "size": [1, 2]}, "files": []},
            }
        },
        [(320193, "10-K", True), (320193, "4", False)],
        {"SEC_CONTACT": "Sample admin@example.com"}, {"User-Agent": "Sample admin@example.com"},
    ),
    "edgar concepts": Api(
        "edgar", "SELECT fiscal_year, form FROM edgar.concepts WHERE cik = 320193 AND concept = 'NetIncomeLoss'",
        {
            "/api/xbrl/companyconcept/CIK0000320193/us-gaap/NetIncomeLoss.json": {
                "cik": 320193, "tag": "NetIncomeLoss", "units": {"USD": [{"start": "2022-09-25", "end": "2023-09-30", "val": 96995000000, "accn": "a-1", "fy": 2023, "fp": "FY", "form": "10-K", "filed": "2023-11-03"}]},
            }
        },
        [(2023, "10-K")], {"SEC_CONTACT": "Sample admin@example.com"},
    ),
    "holidays": Api(
        "nager", "SELECT country, year, name, is_global FROM nager.holidays WHERE country = 'AT' AND year IN (2024, 2025)",
        {
            f"/PublicHolidays/{year}/AT": [{"date": f"{year}-01-01", "localName": "Neujahr", "name": "New Year's Day", "countryCode": "AT", "global": True, "counties": None, "types": ["Public"]}]
            for year in (2024, 2025)
        },
        [("AT", 2024, "New Year's Day", True), ("AT", 2025, "New Year's Day", True)],
    ),
    "occurrences": Api(
        "gbif", "SELECT taxon_key, country, key, species FROM gbif.occurrences WHERE taxon_key = 2435098 AND country = 'CL'",
        {
            "/occurrence/search?taxonKey=2435098&country=CL&offset=0&limit=300": {
                "offset": 0, "limit": 300, "endOfRecords": True, "count": 1,
                "results": [{"key": 1, "taxonKey": 2435099, "countryCode": "CL", "species": "Puma concolor"}],
            }
        },
        [(2435098, "CL", 1, "Puma concolor")],
    ),
    "vulnerabilities": Api(
        "nvd", "SELECT cve, score_v31, weakness FROM nvd.cves WHERE cve = 'CVE-2021-44228'",
        {
            "/cves/2.0?cveId=CVE-2021-44228": {
                "resultsPerPage": 1, "startIndex": 0, "totalResults": 1,
                "vulnerabilities": [{"cve": {"id": "CVE-2021-44228", "published": "2021-12-10T10:15:09.143", "weaknesses": [{"description": [{"lang": "en", "value": "CWE-20"}]}], "metrics": {}}}],
            }
        },
        [("CVE-2021-44228", None, "CWE-20")], {"NVD_API_KEY": "abcdef"}, {"apiKey": "abcdef"},
    ),
    "likelihood": Api(
        "epss", "SELECT cve, epss FROM epss.scores WHERE cve IN ('CVE-1', 'CVE-2')",
        {
            "/epss?cve=CVE-1,CVE-2&limit=100": {
                "status": "OK", "total": 2, "data": [{"cve": "CVE-1", "epss": "0.94", "percentile": "0.99", "date": "2024-01-01"}, {"cve": "CVE-2", "epss": "0.1", "percentile": "0.2", "date": "2024-01-01"}],
            }
        },
        [("CVE-1", 0.94), ("CVE-2", 0.1)],
    ),
    "contributions": Api(
        "openfec", "SELECT zip, sub_id, contributor_zip FROM openfec.receipts_by_zip WHERE zip = '94704' AND two_year_transaction_period = 2012",
        {
            "/schedules/schedule_a/?api_key=abcdef&sort=-contribution_receipt_date&contributor_zip=94704&two_year_transaction_period=2012&per_page=100": {
                "results": [{"sub_id": "1", "contributor_zip": "947041234", "two_year_transaction_period": 2012, "committee": {"name": "x"}}],
                "pagination": {"count": 2, "last_indexes": {"last_index": "7", "last_contribution_receipt_date": "2012-01-01"}},
            },
            "/schedules/schedule_a/?api_key=abcdef&sort=-contribution_receipt_date&contributor_zip=94704&two_year_transaction_period=2012&per_page=100&last_index=7&last_contribution_receipt_date=2012-01-01": {
                "results": [{"sub_id": "2", "contributor_zip": "94704", "two_year_transaction_period": 2012, "committee": None}],
                "pagination": {"count": 2, "last_indexes": None},
            },
        },
        [("94704", "1", "947041234"), ("94704", "2", "94704")], {"OPENFEC_API_KEY": "abcdef"},
    ),
    "an indicator for all countries": Api(
        "worldbank", "SELECT iso3, value FROM worldbank.series_all_countries WHERE indicator = 'SP.POP.TOTL' AND year = 2022",
        {
            "/country/all/indicator/SP.POP.TOTL?format=json&date=2022&page=1&per_page=1000": [
                {"page": 1, "pages": 2, "per_page": 1000, "total": 2}, [{"indicator": {"id": "SP.POP.TOTL"}, "country": {"id": "NO", "value": "Norway"}, "countryiso3code": "NOR", "date": "2022", "value": 5457127}],
            ],
            "/country/all/indicator/SP.POP.TOTL?format=json&date=2022&page=2&per_page=1000": [
                {"page": 2, "pages": 2, "per_page": 1000, "total": 2}, [{"indicator": {"id": "SP.POP.TOTL"}, "country": {"id": "SE", "value": "Sweden"}, "countryiso3code": "SWE", "date": "2022", "value": None}],
            ],
        },
        [("NOR", 5457127.0), ("SWE", None)],
    ),
    "a country the World Bank does not know": Api(
        "worldbank", "SELECT year FROM worldbank.series WHERE iso3 = 'XXX' AND indicator = 'SP.POP.TOTL'",
        {
            "/country/XXX/indicator/SP.POP.TOTL?format=json&page=1&per_page=1000": [
                {"message": [{"id": "120", "key": "Invalid value", "value": "The provided parameter value is not valid"}]}
            ]
        },
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APIS)
async def test_an_answer_as_documented(serve: Serve, name: str) -> None:
    api = APIS[name]

    async def handler(asked: web.Request) -> web.Response:
        for path, answer in api.answers.items():
            bare, _, query = path.partition("?")
            wanted = dict(pair.split("=") for pair in query.split("&") if pair)
            if asked.path == bare and asked.query == wanted:
                return web.json_response(answer)
        return web.json_response({"error": str(asked.rel_url)}, status=404)

    served = await serve(handler)
    rows = await rows_of(api.source, served.url, api.sql, api.environ)
    assert sorted(rows, key=repr) == sorted(api.rows, key=repr)
    assert len(served.asked) >= len(api.answers)
    for request in served.asked:
        assert {key: request.headers[key] for key in api.headers} == api.headers
