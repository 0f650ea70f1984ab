"""Functions that specs declare: how calls become requests, what answers become values, what lint finds."""

from __future__ import annotations

import asyncio
import collections
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

import fff
from fff.api import Connection
from fff.errors import SourceError, SpecError
from fff_sources.load import lint

#: A source with nothing but functions.
FUNCTIONS: dict[str, Any] = {
    "judge": {
        "description": "Whether a text is long",
        "arguments": {"text": "string", "least": "int"},
        "returns": {"type": "boolean", "path": "verdict.long"},
        "endpoint": {"path": "judge", "method": "POST", "json": {"input": "{text}", "least": "{least}"}},
    },
    "size_of": {
        "arguments": {"word": "string"},
        "returns": "int",
        "endpoint": {"path": "size", "params": {"w": "{word}"}, "data_selector": "found"},
        "on_status": [{"status_code": 404, "action": "empty"}],
    },
    "sizes": {
        "arguments": {"word": {"type": "string", "path": "query"}},
        "returns": {"type": "int", "path": "size"},
        "endpoint": {"path": "sizes", "params": {"w": "{word}"}, "data_selector": "$"},
        "batch": {"size": 3, "separator": ","},
    },
}
WORDS = ["a", "bb", None, "bb", "ccc", "dddd", "twice", "none", "broken"]


@dataclass
class Api:
    """Answers calls, and remembers them."""

    seen: collections.Counter[tuple[Any, ...]] = field(default_factory=collections.Counter)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        name = request.path.strip("/")
        if name == "words":
            return web.json_response([{"id": i, "word": word} for i, word in enumerate(WORDS)])
        if name == "judge":
            body = await request.json()
            self.seen[name, body["input"], body["least"]] += 1
            return web.json_response({"verdict": {"long": len(body["input"]) >= body["least"]}, "text": "no"})
        word = request.query["w"]
        self.seen[name, word] += 1
        if name == "sizes":
            return web.json_response([{"query": one, "size": len(one)} for one in word.split(",")])
        if word == "none":
            return web.json_response({"error": "unknown"}, status=404)
        if word == "broken":
            return web.json_response({"error": "out of order"}, status=500)
        found = [{"value": len(word), "word": word.upper()}]
        return web.json_response({"found": found * 2 if word == "twice" else found})


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def spec(publish: Callable[..., Path], api: Api) -> Path:
    words = {"columns": {"id": "int", "word": "string"}, "scan": {"endpoint": "words"}}
    file = publish(Served(api), {"words": words})
    document = yaml.safe_load(file.read_text())
    document["sources"]["web"]["functions"] = FUNCTIONS
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    return file


class Served:
    """What `publish` serves."""

    def __init__(self, api: Api) -> None:
        self.answer = api.answer
        self.over = asyncio.Event()


@pytest.fixture
def federation(spec: Path) -> Iterator[Connection]:
    with fff.connect(spec, seed=1) as connection:
        yield connection


def ids(federation: Connection, condition: str, **options: Any) -> list[int]:
    found = federation.sql(f"SELECT id FROM words WHERE {condition}", **options)
    return sorted(found.to_arrow().column(0).to_pylist())


def test_a_json_body_is_filled_and_the_value_found(federation: Connection, api: Api) -> None:
    assert ids(federation, "judge(word, 3) AND id < 6") == [4, 5]
    assert api.seen == {("judge", word, 3): 1 for word in ("a", "bb", "ccc", "dddd")}


def test_a_parameter_is_filled_and_the_argument_is_what_was_asked(federation: Connection, api: Api) -> None:
    assert ids(federation, "web.Size_Of(word) >= 2 AND id < 6") == [1, 3, 4, 5]
    assert api.seen == {("size_of".removesuffix("_of"), word): 1 for word in ("a", "bb", "ccc", "dddd")}


def test_no_record_is_null(federation: Connection) -> None:
    assert ids(federation, "size_of(word) > 0 AND word = 'none'") == []


def test_several_records_are_an_error(federation: Connection) -> None:
    with pytest.raises(SourceError, match=r"web\.size_of: the answer has several values for 'twice'"):
        ids(federation, "size_of(word) > 0 AND word = 'twice'")


def test_an_answer_that_is_none_is_missing(federation: Connection) -> None:
    result = federation.sql(
        "SELECT id FROM words WHERE size_of(word) > 0 AND id <> 6", on_source_error="partial"
    )
    assert sorted(result.to_arrow().column(0).to_pylist()) == [0, 1, 3, 4, 5]
    assert [(one.table, one.predicate) for one in result.missing] == [("web.size_of", "word = 'broken'")]


def test_batches(federation: Connection, api: Api) -> None:
    assert ids(federation, "sizes(word) = 2") == [1, 3]
    asked = [word for _, words in api.seen for word in words.split(",")]
    assert sorted(asked) == sorted({word for word in WORDS if word is not None})
    assert len(api.seen) < len(asked)


def test_the_cache_keeps_values(
    spec: Path, api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):
        with fff.connect(spec, cache=True, cache_ttl=60) as federation:
            assert ids(federation, "judge(word, 3) AND id < 6") == [4, 5]
    assert set(api.seen.values()) == {1}


def test_a_function_is_a_table_as_well(federation: Connection) -> None:
    found = federation.sql("SELECT * FROM web.size_of WHERE word IN ('a', 'bb')").to_arrow()
    assert sorted(found.to_pylist(), key=str) == [{"word": "a", "value": 1}, {"word": "bb", "value": 2}]


def test_explain_tells_the_calls(federation: Connection) -> None:
    text = federation.explain("SELECT id FROM words WHERE judge(word, 3) AND id < 6")
    assert "web.judge AS judge(word, 3)" in text
    assert "`judge(word, 3)`.value" in text


def fff_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fff_cli", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.slow  # four processes
def test_the_command_line(spec: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    sql = "SELECT id FROM words WHERE judge(word, :n) AND id < 6"
    run = fff_command("query", "-s", str(spec), "-o", "csv", "--report", str(report), sql.replace(":n", "3"))
    assert (run.returncode, sorted(run.stdout.split())) == (0, ["4", "5", "id"]), run.stderr
    [one] = [one for one in json.loads(report.read_text())["access"] if one["table"] == "judge"]
    assert (one["kind"], one["keys"], one["requests"]) == ("lookup", ["text", "least"], 4)
    listed = fff_command("source", "list", "-s", str(spec))
    assert "web.size_of" in listed.stdout
    assert "function: web.size_of(word string) gives int" in listed.stdout
    shown = fff_command("source", "show", "judge", "-s", str(spec))
    assert shown.stdout.startswith("web.judge(text string, least int) gives boolean - Whether a text is long")
    wrong = fff_command("query", "-s", str(spec), "SELECT judge(word) FROM words")
    assert wrong.returncode == 1
    assert "takes 2 arguments, not 1" in wrong.stderr
    assert "^^^^^^^^^^^" in wrong.stderr


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"argument": {}}, "functions.size_of.argument", "unknown key"),
        ({"arguments": {}}, "functions.size_of.arguments", "at least 1"),
        ({"returns": "number"}, "functions.size_of.returns", "unknown type"),
        ({"arguments": {"word": "array<int>"}}, "functions.size_of.arguments.word", "cannot be of type"),
        ({"endpoint": {"path": "x/{work}"}}, "functions.size_of.endpoint", "nothing fills {work}"),
        ({"endpoint": {}}, "functions.size_of.endpoint.path", "is missing"),
        (
            {"arguments": {"word": "string", "n": "int"}, "batch": {"size": 3}},
            "functions.size_of.batch",
            "one argument",
        ),
    ],
)
def test_lint(tmp_path: Path, change: dict[str, Any], path: str, message: str) -> None:
    found = _linted(tmp_path, {"size_of": FUNCTIONS["size_of"] | change})
    assert any(f"sources.web.{path}" in (one.path or "") and message in one.render() for one in found), found


@pytest.mark.parametrize("name", ["lower", "count", "words"])
def test_names_that_are_taken(tmp_path: Path, name: str) -> None:
    [found] = _linted(tmp_path, {name: FUNCTIONS["size_of"]})
    assert found.path == f"sources.web.functions.{name}"


def test_functions_alone_make_a_source(tmp_path: Path) -> None:
    assert _linted(tmp_path, FUNCTIONS, tables=False) == []
    [found] = _linted(tmp_path, {}, tables=False)
    assert "tables or functions" in found.render()


def _linted(folder: Path, functions: dict[str, Any], *, tables: bool = True) -> list[SpecError]:
    source: dict[str, Any] = {"client": {"base_url": "http://127.0.0.1:1"}, "functions": functions}
    if tables:
        source["tables"] = {"words": {"columns": {"word": "string"}, "scan": {"endpoint": "words"}}}
    file = folder / "fff.yaml"
    file.write_text(yaml.safe_dump({"version": 1, "sources": {"web": source}}, sort_keys=False))
    return lint(file, environ={}, cwd=folder)
