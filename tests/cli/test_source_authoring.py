"""`fff source init`, `test` and `schema` as commands, over the demo sources."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from fff_cli.app import run
from fff_sources.demo import SPEC
from tests.web.serving import serving_beside

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fff(
    demo_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    monkeypatch.setenv("FFF_DEMO_BASE_URL", demo_url)
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(["source", *arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return command


def test_from_url_to_tested_spec(fff: Run, demo_url: str, tmp_path: Path) -> None:
    code, out, err = fff("init", f"{demo_url}/crime", "--name", "town", "-O", "fff.yaml")
    assert (code, out) == (0, "")
    assert "wrote fff.yaml; next: fff source lint fff.yaml && fff source test fff.yaml" in err
    text = (tmp_path / "fff.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=fff.schema.json\n")
    assert '{keys: [zip], endpoint: {path: "crime/{zip}"}}' in text
    assert fff("lint", "fff.yaml")[0] == 0
    code, out, err = fff("test", "fff.yaml")
    assert code == 0, out
    assert [line.split("  (")[0] for line in out.splitlines()] == [
        "ok    town.tests[0]: SELECT * FROM town.crime LIMIT 5",
        "ok    town.crime.scan",
        "ok    town.crime.lookup[zip]",
    ]
    assert err.strip() == "3 tried, 0 failed, 0 to look at"
    code, _, err = fff("init", f"{demo_url}/crime", "-O", "fff.yaml")
    assert code == 2
    assert err.startswith("error: fff.yaml exists already\n")


def test_trials_as_data(fff: Run) -> None:
    code, out, _ = fff("test", str(SPEC), "-o", "json", "--table", "Crime")
    assert code == 0
    found = json.loads(out)
    assert [one["name"].partition(":")[0] for one in found] == [
        "demo.tests[0]",
        "demo.Crime.scan",
        "demo.Crime.lookup[zip]",
    ]
    assert {one["status"] for one in found} == {"ok"}
    assert [one["requests"] for one in found] == [1, 2, 1]
    assert found[1]["rows"] == 50
    assert all(one["ms"] >= 0 and one["problems"] == [] for one in found)


def test_what_is_wrong(fff: Run, tmp_path: Path) -> None:
    good = SPEC.read_text()
    broken = tmp_path / "s.yaml"
    broken.write_text(good.replace("total_path: pages", "total_path: meta.pages"))
    code, out, err = fff("test", "s.yaml")
    assert code == 1
    assert "fail  demo.FEC.scan" in out
    assert "\n      total_path: the answer has no 'meta.pages'\n" in out
    assert err.strip() == "5 tried, 1 failed, 0 to look at"


def test_what_may_be_wrong(fff: Run, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SPEC.read_text().replace("incidents: int", "incident: int"))
    code, out, _ = fff("test", "s.yaml")
    assert code == 0
    assert "look: always NULL in 50 rows: incident" in out
    assert fff("test", "s.yaml", "--strict")[0] == 1


def test_wrong_specs_and_sources_that_are_away(
    fff: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, broken = SPEC.read_text(), tmp_path / "s.yaml"
    broken.write_text(good.replace("data_selector", "data_selektor"))
    code, out, err = fff("test", "s.yaml")
    assert (code, out) == (2, "")
    assert "did you mean 'data_selector'?" in err
    for arguments in (("nowhere.yaml",), (str(SPEC), "--table", "Nothing")):
        code, _, err = fff("test", *arguments)
        assert code == 2
        assert err.startswith("error: ")
    monkeypatch.setenv("FFF_DEMO_BASE_URL", "http://127.0.0.1:9")
    broken.write_text(good.replace("rate_limit:", "retry: {max_attempts: 1}\n      rate_limit:"))
    assert fff("test", "s.yaml", "--table", "FEC")[0] == 4


def test_a_secret_is_told_by_its_variable_only(fff: Run, demo_url: str) -> None:
    code, out, err = fff("init", f"{demo_url}/fec?page=1&api_key=geheim", "--name", "s")
    assert code == 0
    assert "geheim" not in out + err
    assert 'api_key: "${env:S_API_KEY}"' in out
    assert "secret: export S_API_KEY=…" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "nothing to draft a spec from"),
        (("nonsense",), 2, "not an http or https URL"),
        (("{url}/fec", "--name", "a b"), 2, "'a b' cannot name a source"),
        (("{url}/fec", "-H", "nothing"), 2, "a header is written 'Name: value'"),
        (("{url}/nowhere",), 4, "HTTP 404"),
        (("--openapi", "nowhere.json"), 2, "nowhere.json cannot be read"),
    ],
)
def test_what_init_refuses(
    fff: Run, demo_url: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    found, out, err = fff("init", *(part.replace("{url}", demo_url) for part in arguments))
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert message in err


@pytest.mark.parametrize(
    ("command", "status", "advice"),
    [
        ("init", 401, "send what it asks for, as in -H 'Authorization: Bearer ${env:TOKEN}'"),
        ("init", 404, "check the URL\n"),
        ("import", 403, "download the document, and name its file"),
        ("import", None, "check the URL and the network"),
    ],
)
def test_where_there_is_no_spec_yet_none_is_to_be_corrected(
    fff: Run, command: str, status: int | None, advice: str
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"error": "no"}, status=status or 200)

    with serving_beside(answer) as url:
        code, out, err = fff(command, f"{url}/list" if status else "http://127.0.0.1:9/list")
    assert (code, out) == (4, "")
    assert advice in err
    assert not any(word in err for word in ("spec", "client.auth", "base_url"))


def test_an_openapi_document(fff: Run, tmp_path: Path) -> None:
    item = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    answer = {"200": {"content": {"application/json": {"schema": {"type": "array", "items": item}}}}}
    document = {
        "openapi": "3.1.0",
        "servers": [{"url": "https://x.org"}],
        "paths": {"/a": {"get": {"responses": answer}}},
    }
    (tmp_path / "api.json").write_text(json.dumps(document))
    code, out, _ = fff("init", "--openapi", "api.json", "-O", "x.yaml")
    assert (code, out) == (0, "")
    assert fff("lint", "x.yaml")[0] == 0


def test_the_schema_is_json(fff: Run) -> None:
    code, out, err = fff("schema")
    assert (code, err) == (0, "")
    assert json.loads(out)["title"] == "FFF source spec"


COLLECTION = {
    "info": {
        "name": "Town",
        "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
    },
    "item": [
        {"name": "All", "request": "https://town.example.org/v1/things?page=1"},
        {"name": "New", "request": {"method": "POST", "url": "https://town.example.org/v1/things"}},
    ],
}


def test_import_writes_a_spec_that_lints_once_and_reports(fff: Run, tmp_path: Path) -> None:
    (tmp_path / "town.json").write_text(json.dumps(COLLECTION))
    code, out, err = fff("import", "town.json", "-o", "town.yaml")
    assert (code, out) == (0, "")
    assert "town.things: " in err
    assert "POST New: left out: only what is read by GET is a table" in err
    assert "wrote town.yaml; next: fff source lint town.yaml" in err
    assert fff("lint", "town.yaml")[0] == 0
    written = (tmp_path / "town.yaml").read_bytes()
    code, _, err = fff("import", "town.json", "-o", "town.yaml")
    assert (code, err.splitlines()[0]) == (2, "error: town.yaml exists already")
    (tmp_path / "town.yaml").write_text("mine")
    assert fff("import", "town.json", "-o", "town.yaml", "--force")[0] == 0
    assert (tmp_path / "town.yaml").read_bytes() == written
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))
    try:
        code, _, err = fff("import", "town.json", "-o", "town.yaml", "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (code, err.splitlines()[0]) == (2, "error: town.yaml cannot be written: File too large")
    assert (tmp_path / "town.yaml").read_bytes() == written, "as it was"
    (tmp_path / "specs").mkdir()
    assert fff("import", "town.json", "-o", "specs")[0] == 0
    assert (tmp_path / "specs" / "town.yaml").read_bytes() == written
    code, out, err = fff("import", "town.json", "--report", "json")
    assert (code, out.encode()) == (0, written)
    assert json.loads(err)["left_out"] == [
        {"name": "POST New", "reason": "only what is read by GET is a table"}
    ]


def test_what_cannot_be_imported_is_one_error(fff: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    for arguments, said in (
        (("x.json",), "no format that can be imported is to be seen in it"),
        (("x.json", "--from", "steampipe"), "x.json: no plugin.Table is declared in it"),
        ((".",), "is a folder without Go files"),
        (("none.json",), "cannot be read"),
        (("x.json", "--count"), "is no folder"),
    ):
        code, out, err = fff("import", *arguments)
        assert (code, out) == (2, "")
        assert said in err
        assert "Traceback" not in err
    assert "known: airbyte, coral, dlt, har, openapi, postman" in fff("import", "x.json", "--from", "nope")[2]


def test_search_finds_tables_and_columns(fff: Run) -> None:
    code, out, _ = fff("search", "RATING", "-s", str(SPEC), "-o", "csv")
    assert code == 0
    assert any(line.startswith("demo.Crime,crimeRating,") for line in out.splitlines()), out
    assert (
        fff("search", "no such word at all", "-s", str(SPEC), "-o", "csv")[1]
        == "table,column,type,description\n"
    )


def test_a_document_is_fetched_and_no_secret_of_its_url_is_told(fff: Run) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert request.query["token"] == "hush-hush"
        return web.json_response(COLLECTION)

    with serving_beside(answer) as url:
        code, out, err = fff("import", f"{url}/town.json?token=hush-hush")
    assert code == 0
    assert f"from {url}/town.json\n" in out
    assert "hush-hush" not in out + err
