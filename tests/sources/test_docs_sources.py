"""The reference says what the models say, and its examples are sound specs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fff_sources.load import lint
from fff_sources.rest import client_spec, spec

DOCS = Path(__file__).parents[2] / "docs" / "sources.md"
TEXT = DOCS.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
MODELS = [
    spec.RestSpec, client_spec.Client, client_spec.Bearer, client_spec.HttpBasic, client_spec.ApiKey, client_spec.OAuth2ClientCredentials, client_spec.RateLimit, client_spec.Retry,
    client_spec.Timeout, client_spec.Cache, spec.TableSpec, spec.Column, spec.KeyColumn, spec.Scan, spec.Lookup, spec.Batch, spec.Endpoint, spec.Select, spec.Sort,
    spec.PageNumber, spec.Offset, spec.Cursor, spec.Keyset, spec.JsonLink, spec.HeaderLink, spec.Auto, spec.SinglePage, spec.OnStatus,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_a_sound_spec(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "example.yaml"
    file.write_text(EXAMPLES[number].replace("${keyring:example/me}", "${env:KEYRING}"), encoding="utf-8")
    (tmp_path / "team.txt").write_text("blue")
    assert [
        str(error) for error in lint(file, environ={"GOV_TOKEN": "x", "FEC_KEY": "x", "KEYRING": "x"})
    ] == []


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 6


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_is_mentioned(model: type[spec.Spec]) -> None:
    keys = [part.alias or name for name, part in model.model_fields.items()]
    assert [key for key in keys if not re.search(rf"\b{re.escape(key)}\b", TEXT)] == []


def test_every_paginator_and_auth_is_mentioned() -> None:
    for model in MODELS:
        kind = model.model_fields.get("type")
        for tag in getattr(kind.annotation, "__args__", ()) if kind is not None else ():
            assert f"`{tag}`" in TEXT, tag
