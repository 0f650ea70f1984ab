"""Trying a spec out: what is right says so, and every mistake is named for what it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from aiohttp import web

from fff_sources.authoring.evidence import Witness
from fff_sources.authoring.trial import Finding, SpecTrial
from fff_sources.document import read_document
from fff_sources.load import load_catalog
from tests.web.serving import Serve

ROWS = [{"id": n, "zip": f"{n:05d}", "n": {"v": n}} for n in range(30)]
Try = Callable[..., Awaitable[dict[str, Finding]]]


async def handler(request: web.Request) -> web.Response:
    """`/r` pages by 10, `/r/ID` is one; `/deaf` ignores all parameters; `/last` reads the last of several ids."""
    query = request.query
    if request.path == "/r":
        number = int(query.get("page", "1"))
        return web.json_response({"pages": 3, "rows": ROWS[(number - 1) * 10 : number * 10]})
    if request.path == "/deaf":
        return web.json_response({"rows": ROWS[:3]})
    if request.path == "/some":
        return web.json_response({"rows": ROWS[:3], "total_count": 30})
    if request.path == "/thirty":
        rows = ROWS[: int(query.get("last", "30"))]
        return web.json_response({"rows": rows, "total_count": 30} if "total" in query else rows)
    if request.path == "/last":
        ids = query.getall("ids", [""])[-1].split(",")
        return web.json_response({"rows": [row for row in ROWS if str(row["id"]) == ids[-1]]})
    if request.path == "/upper":
        return web.json_response([{"id": 1, "zip": query.get("zip", "").upper()}])
    if request.path.startswith("/r/"):
        found = [row for row in ROWS if request.path == f"/r/{row['id']}"]
        return web.json_response(found[0] if found else {}, status=200 if found else 404)
    return web.json_response({"error": "no"}, status=500 if request.path == "/down" else 404)


@pytest.fixture
async def attempt(serve: Serve, tmp_path: Path) -> Try:
    async def run(table: str, tests: str = "[]", only: str | None = None) -> dict[str, Finding]:
        served = await serve(handler)
        file = tmp_path / "s.yaml"
        head = f'version: 1\nsources:\n  s:\n    client: {{base_url: "{served.url}", retry: {{max_attempts: 1}}}}\n    tests: {tests}\n    tables:\n'
        body = "".join(f"      {line}\n" for line in dedent(table).strip().splitlines())
        file.write_text(head + body)
        client = Witness()
        catalog = load_catalog([file], environ={}, cwd=tmp_path, client=client)

        trial = SpecTrial(catalog, client, {"s": tuple(read_document(file).data["sources"]["s"]["tests"])})
        try:
            chosen = None if only is None else catalog.find(["s", only])[0]
            return {finding.name: finding async for finding in trial.run(chosen)}
        finally:
            await trial.close()

    return run


GOOD = """
t:
  columns: {id: int, zip: string, v: {type: int, path: n.v}}
  key_columns: [{name: id}]
  scan: {endpoint: {path: r, data_selector: rows, paginator: {type: page_number, total_path: pages}}}
  lookups: [{keys: [id], endpoint: "r/{id}"}]
  on_status: [{status_code: 404, action: empty}]
"""


async def test_what_is_right_says_so_with_few_requests(attempt: Try) -> None:
    found = await attempt(GOOD, tests='["SELECT v FROM s.t WHERE id = 7"]')
    test, scan, lookup = found.values()
    assert list(found) == ["s.tests[0]: SELECT v FROM s.t WHERE id = 7", "s.t.scan", "s.t.lookup[id]"]
    assert [(one.status, one.requests, one.rows) for one in (test, scan, lookup)] == [
        ("ok", 1, 1),
        ("ok", 2, 20),
        ("ok", 1, 1),
    ]
    assert all(one.seconds > 0 for one in (test, scan, lookup))


async def one(attempt: Try, change: tuple[str, str], name: str = "s.t.scan") -> Finding:
    assert change[0] in GOOD
    return (await attempt(GOOD.replace(*change)))[name]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("pages}", "meta.pages}"), "total_path: the answer has no 'meta.pages'"),
        (
            ("data_selector: rows", "data_selector: items"),
            "the answer has no 'items'; data_selector must name",
        ),
        (("path: r,", "path: deaf,"), "the second page repeats the first: the source seems to ignore 'page'"),
        (("path: r,", "path: nowhere,"), "HTTP 404"),
        (("zip: string, ", "id_: int, "), ""),
    ],
)
async def test_problems_of_scans(attempt: Try, change: tuple[str, str], problem: str) -> None:
    finding = await one(attempt, change)
    if not problem:
        assert finding.remarks == ["always NULL in 20 rows: id_; is each path right?"]
        assert finding.status == "look"
        return
    assert finding.status == "fail"
    assert any(problem in text for text in finding.problems), finding.problems


async def test_every_column_that_does_not_fit_is_named(attempt: Try) -> None:
    finding = await one(
        attempt,
        (
            "{id: int, zip: string, v: {type: int, path: n.v}}",
            "{id: date, zip: boolean, v: {type: int, path: n.v}}",
        ),
    )
    assert len(finding.problems) == 2
    assert "column 'id' of record 1" in finding.problems[0]
    assert "column 'zip' of record 1" in finding.problems[1]
    assert finding.requests == 1
    assert finding.answered


async def test_bad_records_that_are_counted_are_told(attempt: Try) -> None:
    finding = await one(attempt, ("{id: int, zip: string,", "{id: int, zip: date,"))
    assert finding.status == "fail"
    found = await attempt(GOOD.replace("zip: string", "zip: date") + "  on_bad_record: 'null'\n")
    assert "20 records do not fit the declared types" in found["s.t.scan"].problems


async def test_a_source_that_does_not_answer_is_told_from_a_wrong_spec(attempt: Try) -> None:
    assert not (await one(attempt, ("path: r,", "path: down,"))).answered
    assert (await one(attempt, ("data_selector: rows", "data_selector: items"))).answered


@pytest.mark.parametrize(
    ("endpoint", "problem"),
    [
        ('"missing/{id}"', "no rows for 0, which the scan has"),
        ("{path: deaf, data_selector: rows}", "asked for 0, and rows of"),
        ('{path: last, data_selector: rows, params: {ids: "{id}"}}, batch: {size: 5, separator: ","}', "of 2 keys in one request the source reads the last one only"),
    ],
)  # fmt: skip
async def test_problems_of_lookups(attempt: Try, endpoint: str, problem: str) -> None:
    finding = list((await attempt(GOOD.replace('"r/{id}"', endpoint))).values())[-1]
    assert any(problem in text for text in finding.problems), finding.problems


LOOKUP_ONLY = """
t:
  columns: {id: int, zip: string}
  key_columns: [{name: %s, require: required}]
  lookups: [{keys: [%s], endpoint: %s}]
"""


async def test_keys_come_from_tests_and_from_other_tables(attempt: Try) -> None:
    table = LOOKUP_ONLY % ("id", "id", '"r/{id}"')
    found = await attempt(table)
    assert found["s.t.lookup[id]"].remarks == [
        "not tried: no value for id is known; add a test with one to `tests`"
    ]
    found = await attempt(table, tests='["SELECT zip FROM t WHERE id IN (3, 4)"]')
    assert (found["s.t.lookup[id]"].status, found["s.t.lookup[id]"].rows) == ("ok", 1)
    found = await attempt(table + GOOD.replace("t:", "u:", 1))
    assert (found["s.t.lookup[id]"].status, found["s.t.lookup[id]"].rows) == ("ok", 1)
    found = await attempt(
        LOOKUP_ONLY % ("zip", "zip", "upper"), tests="[\"SELECT id FROM t WHERE zip = 'ab'\"]"
    )
    assert found["s.t.lookup[zip]"].remarks == [
        "asked for 'ab', and 'AB' came: the source takes no notice of case"
    ]


async def test_tests_that_fail_say_why(attempt: Try) -> None:
    tests = '["SELECT nope FROM t", "SELECT id FROM t WHERE id = 999", "SELECT id FROM"]'
    found = list((await attempt(GOOD, tests=tests)).values())
    assert found[0].problems[0].startswith("there is no column") or "nope" in found[0].problems[0]
    assert found[1].remarks == ["no rows: a test should find some"]
    assert found[2].status == "fail"


async def test_one_table_alone(attempt: Try) -> None:
    two = GOOD + GOOD.replace("t:", "u:", 1)
    found = await attempt(
        two, tests='["SELECT id FROM s.t WHERE id = 1", "SELECT id FROM s.u WHERE id = 1"]', only="u"
    )
    assert list(found) == ["s.tests[1]: SELECT id FROM s.u WHERE id = 1", "s.u.scan", "s.u.lookup[id]"]


async def test_columns_left_to_be_inferred(attempt: Try) -> None:
    found: Any = await attempt("t: {scan: {endpoint: {path: deaf, data_selector: rows}}}")
    assert (found["s.t.scan"].status, found["s.t.scan"].rows) == ("ok", 3)
    found = await attempt("t: {scan: {endpoint: {path: deaf, data_selector: other}}}")
    assert list(found) == ["s.t columns"]
    assert found["s.t columns"].status == "fail"


async def test_an_answer_that_is_a_part_is_told(attempt: Try) -> None:
    findings = await attempt(
        """
        t:
          columns: {id: int}
          scan: {endpoint: {path: some, data_selector: rows}}
        """
    )
    [remark] = findings["s.t.scan"].remarks
    assert "there is more than what came (3 of 30 by 'total_count')" in remark


@pytest.mark.parametrize(
    ("table", "doubtful"),
    [
        ("scan: {endpoint: {path: thirty}}", True),
        ("scan: {endpoint: {path: thirty, paginator: single_page}}", False),
        ("scan: {endpoint: {path: thirty, params: {last: '29'}}}", False),
        ("scan: {endpoint: {path: thirty, data_selector: rows, params: {total: '30'}}}", False),
    ],
)
async def test_as_many_rows_as_pages_usually_have_are_to_be_looked_at(
    attempt: Try, table: str, doubtful: bool
) -> None:
    findings = await attempt(f"t: {{columns: {{id: int}}, {table}}}")
    assert findings["s.t.scan"].problems == []
    told = [text for text in findings["s.t.scan"].remarks if text.startswith("exactly 30 rows came")]
    assert bool(told) == doubtful
