"""Functions that models answer, behind a loopback stand-in for an OpenAI-compatible endpoint with planted truth."""

from __future__ import annotations

import collections
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from aiohttp import web

import fff
from fff.api import Connection
from fff.errors import SourceError
from fff_sources.load import lint
from tests.web.serving import serving_beside

KEY = "sk-hush-hush-hush"
FUNCTIONS: dict[str, Any] = {
    "about_fusion": {
        "arguments": {"abstract": "string"},
        "returns": "boolean",
        "system": "You judge {{abstracts}}.",
        "prompt": "Is this about fusion? {abstract}",
    },
    "words": {
        "arguments": {"text": "string", "least": "int"},
        "returns": "int",
        "prompt": "How many words of {least} letters: {text}",
        "model": "large",
        "options": {"seed": 7},
    },
}


@dataclass
class Model:
    """Answers prompts by what was planted, and remembers them."""

    truths: dict[str, bool] = field(default_factory=dict)
    says: dict[str, dict[str, Any]] = field(default_factory=dict)  # choices other than a good answer, by text
    asked: collections.Counter[str] = field(default_factory=collections.Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        assert (request.method, request.path) == ("POST", "/v1/chat/completions")
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        body = await request.json()
        self.bodies.append(body)
        text = (
            body["messages"][-1]["content"].partition(": ")[2]
            or body["messages"][-1]["content"].partition("? ")[2]
        )
        self.asked[text] += 1
        kind = body["response_format"]["json_schema"]["schema"]["properties"]["value"]["type"]
        value = self.truths.get(text, False) if kind == "boolean" else len(text.split())
        said = {
            "message": {"role": "assistant", "content": json.dumps({"value": value}), "refusal": None},
            "finish_reason": "stop",
        }
        said |= self.says.get(text, {})
        usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
        return web.json_response(
            {"id": "x", "object": "chat.completion", "choices": [{"index": 0, **said}], "usage": usage}
        )


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def spec(tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    monkeypatch.setenv("MODEL_KEY", KEY)
    with serving_beside(model.answer) as url:

        def written(**functions: Any) -> Path:
            client = {
                "base_url": f"{url}/v1", "auth": {"type": "bearer", "token": "${env:MODEL_KEY}"},
                "retry": {"max_attempts": 2, "max_delay": 0.01}, "cache": {"ttl": 3600},
            }  # fmt: skip
            source = {
                "type": "openai",
                "client": client,
                "model": "small",
                "functions": functions or FUNCTIONS,
            }
            file = tmp_path / "models.yaml"
            file.write_text(
                yaml.safe_dump({"version": 1, "sources": {"judge": source}}, sort_keys=False),
                encoding="utf-8",
            )
            return file

        yield written


def about(connection: Connection, abstracts: list[str], **options: Any) -> fff.Result:
    connection.register_table("papers", pa.table({"abstract": abstracts}))
    return connection.sql("SELECT abstract FROM papers WHERE about_fusion(abstract)", **options)


def test_a_prompt_is_a_function(spec: Callable[..., Path], model: Model) -> None:
    model.truths = {"on plasma": True, "on {braces}": True}
    with fff.connect(spec(), cache=False) as connection:
        found = about(connection, ["on plasma", "on peas", "on plasma", "on {braces}"])
        assert sorted(row[0] for row in found) == ["on plasma", "on plasma", "on {braces}"]
        assert model.asked == {"on plasma": 1, "on peas": 1, "on {braces}": 1}
        body = model.bodies[0]
        assert (body["model"], body["temperature"]) == ("small", 0)
        assert body["messages"][0] == {"role": "system", "content": "You judge {abstracts}."}
        assert KEY not in json.dumps(found.report)
        found = connection.sql("SELECT abstract FROM papers WHERE words(abstract, 2) = 3")
        assert list(found) == []
        assert (model.bodies[-1]["model"], model.bodies[-1]["seed"]) == ("large", 7)


@pytest.mark.parametrize(
    "said",
    [
        {"message": {"content": None, "refusal": "I will not"}},
        {"message": {"content": '{"value": tr'}, "finish_reason": "length"},
        {"message": {"content": "Yes, it is."}},
        {"message": {"content": '{"value": "maybe"}'}},
        {"message": {"content": '{"verdict": true}'}},
        {"message": {"content": None}, "finish_reason": "content_filter"},
        {"message": {"content": None}},
        {"message": {"content": ""}},
        {"message": {"content": "null"}},
        {"message": {"content": "{}"}},
        {"message": {"content": []}},
        {"message": {"content": '{"value": null}'}},
        {"message": {}},
        {"message": None},
    ],
)
def test_what_is_no_answer_is_missing_and_never_false(
    spec: Callable[..., Path], model: Model, said: Any
) -> None:
    model.truths, model.says = {"on plasma": True}, {"on peas": said}
    with fff.connect(spec(), cache=False) as connection:
        with pytest.raises(SourceError):
            about(connection, ["on plasma", "on peas"], on_source_error="fail")
        found = about(connection, ["on plasma", "on peas"], on_source_error="partial")
        assert [row[0] for row in found] == ["on plasma"]
        assert not found.complete
        assert [one["predicate"] for one in found.report["missing"]] == ["abstract = 'on peas'"]


@pytest.mark.parametrize(("content", "whole"), [('{"value": null}', True), (None, False), ("null", False)])
def test_a_schema_of_ones_own_may_let_a_value_be_null(
    spec: Callable[..., Path], model: Model, content: str | None, whole: bool
) -> None:
    schema = {"schema": {"properties": {"value": {"type": "boolean", "nullable": True}}}}
    form = {"type": "json_schema", "json_schema": schema}
    model.says = {"on peas": {"message": {"content": content}}}
    own = {"about_fusion": FUNCTIONS["about_fusion"] | {"options": {"response_format": form}}}
    with fff.connect(spec(**own), cache=False, on_source_error="partial") as connection:
        connection.register_table("papers", pa.table({"abstract": ["on peas"]}))
        found = connection.sql("SELECT about_fusion(abstract) AS is FROM papers")
        assert ([row[0] for row in found], found.complete) == ([None] if whole else [], whole)


def papers(seed: int, count: int) -> dict[str, bool]:
    """Abstracts, of which three in ten are about fusion and say so."""
    rng = random.Random(seed)
    truths = {}
    for number in range(count):
        truth = rng.random() < 0.3
        truths[f"on {'Fusion' if truth else 'peas'}, part {number}"] = truth
    return truths


@pytest.mark.slow
def test_a_pattern_spares_most_calls_and_its_verdicts_are_kept_by_nobody(
    spec: Callable[..., Path], model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model.truths = papers(1, 1500)
    function = FUNCTIONS["about_fusion"] | {
        "proxy": {"pattern": "fusion"},
        "cost": {"per_request": 0.01, "currency": "USD"},
    }
    for _ in range(2):
        with fff.connect(spec(about_fusion=function), seed=1) as connection:
            found = about(connection, list(model.truths))
            called_true = {row[0] for row in found}
    true = {text for text, truth in model.truths.items() if truth}
    assert len(called_true & true) >= 0.9 * max(len(called_true), len(true))
    assert set(model.asked.values()) == {1}, "the model's verdicts are kept for the next run"
    assert model.asked.total() < 1100
    [access] = [one for one in found.report["access"] if one["table"] == "about_fusion"]
    assert access["requests"] < 0.15 * 1500
    assert any("verdicts by its proxy" in one for one in found.report["warnings"])


def test_what_is_wrong_with_a_spec_is_told(spec: Callable[..., Path]) -> None:
    prompt = {"arguments": {"x": "string"}, "returns": "int", "prompt": "{x}"}
    wrong = {
        "nothing fills {y}": {"f": prompt | {"prompt": "{y}"}},
        "no regular expression": {"f": prompt | {"proxy": {"pattern": "("}}},
        "only a function that returns boolean": {"f": prompt | {"proxy": {"pattern": "a"}}},
        "names no model": {"f": prompt},
    }
    for words, functions in wrong.items():
        file = spec(**functions)
        if words == "names no model":
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace("    model: small\n", ""), encoding="utf-8")
        assert words in "\n".join(map(str, lint(file)))
