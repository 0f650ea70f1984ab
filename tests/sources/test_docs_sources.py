"""The reference says what the models say, and its examples are sound specs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.http.spec import client, spec
from fff_sources.load import lint
from tests.sources.reading import Reader
from tests.web.serving import Serve

DOCS = Path(__file__).parents[2] / "docs" / "sources.md"
TEXT = DOCS.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
MODELS = [
    spec.RestSpec, spec.Account, spec.Accounts, client.Client, client.Bearer, client.HttpBasic, client.ApiKey, client.OAuth2ClientCredentials, client.OAuth2, client.SessionLogin, client.LoginRequest, client.NetworkSpec, client.Jwt, client.OAuth1, client.AwsSigV4, client.Digest, client.RateLimit, client.Retry,
    client.Timeout, client.Cache, spec.TableSpec, spec.ColumnSpec, spec.KeyColumnSpec, spec.ParentColumn, spec.Windows, spec.ScanSpec, spec.LookupSpec, spec.Batch, spec.Endpoint, spec.Packed, spec.JobSpec, spec.JobPoll, spec.JobState, spec.Select, spec.Sort,
    spec.Flagged, spec.PageNumber, spec.Offset, spec.Cursor, spec.Keyset, spec.JsonLink, spec.HeaderLink, spec.Auto, spec.SinglePage, spec.OnStatus, spec.OnResponse,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_a_sound_spec(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "example.yaml"
    file.write_text(EXAMPLES[number].replace("${keyring:example/me}", "${env:KEYRING}"), encoding="utf-8")
    (tmp_path / "team.txt").write_text("blue")
    environ = dict.fromkeys(["GOV_TOKEN", "FEC_KEY", "KEYRING", "EXAMPLE_SECRET", "EXAMPLE_PASSWORD"], "x")
    assert [str(error) for error in lint(file, environ=environ)] == []


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 19


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_is_mentioned(model: type[spec.Spec]) -> None:
    keys = [part.alias or name for name, part in model.model_fields.items()]
    assert [key for key in keys if not re.search(rf"\b{re.escape(key)}\b", TEXT)] == []


def test_every_paginator_and_auth_is_mentioned() -> None:
    for model in MODELS:
        kind = model.model_fields.get("type")
        for tag in getattr(kind.annotation, "__args__", ()) if kind is not None else ():
            assert f"`{tag}`" in TEXT, tag


async def test_the_rules_of_the_example_do_what_is_said_of_them(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    (example,) = (text for text in EXAMPLES if "on_response" in text)
    answers: dict[str, list[dict[str, object]]] = {
        "gone": [{"Error": "Movie not found!"}],
        "busy": [
            {"Error": "Request limit reached!"},
            {"job": {"state": "running"}},
            {"found": [{"id": "busy"}]},
        ],
        "bad": [{"Error": "Incorrect IMDb ID."}],
    }

    async def handler(request: web.Request) -> web.Response:
        return web.json_response(answers[request.query["i"]].pop(0))

    reader = read(example, FFF_FILMS_BASE_URL=(await serve(handler)).url)
    assert await reader.lookup("films", "gone") == []
    assert await reader.lookup("films", "busy") == [{"id": "busy", "title": None}]
    assert (reader.meter.requests, reader.meter.throttled, reader.meter.retries) == (4, 1, 2)
    with pytest.raises(SourceError, match=r"the answer says Error: Incorrect IMDb ID\."):
        await reader.lookup("films", "bad")
