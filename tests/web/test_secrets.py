"""Secrets are found late and shown never."""

from __future__ import annotations

import base64
import sys
import types
from pathlib import Path
from urllib.parse import quote

import pytest

from fff.errors import SecretError
from fff.web.secrets import Redactor, Secrets

SECRET = 'p/ss w"rd+ü&x'


def secrets(folder: Path, **environ: str) -> tuple[Secrets, Redactor]:
    redactor = Redactor()
    return Secrets(environ, folder, redactor), redactor


def test_environment_and_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from file\n")
    found, redactor = secrets(tmp_path, TOKEN="from env")
    assert found.fill("Bearer ${env:TOKEN}, ${file:token}!") == "Bearer from env, from file!"
    assert redactor.text("from env and from file") == "*** and ***"
    assert found.fill_all({"a": ["${env:TOKEN}", 5], "b": None}) == {"a": ["from env", 5], "b": None}


@pytest.mark.parametrize(
    "text", ["${env:NOPE}", "${env:EMPTY}", "${file:nope}", "${file:empty}", "${keyring:nouser}"]
)
def test_missing(tmp_path: Path, text: str) -> None:
    (tmp_path / "empty").write_text("\n")
    found, _ = secrets(tmp_path, EMPTY="")
    with pytest.raises(SecretError) as error:
        found.fill(text)
    assert error.value.exit_code == 2


def test_keyring_is_asked_only_when_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, redactor = secrets(tmp_path)
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(SecretError, match="pip install keyring"):
        found.fill("${keyring:gov/me}")
    fake = types.SimpleNamespace(
        get_password=lambda service, user: f"{service}-{user}-pw" if user == "me" else None,
        errors=types.SimpleNamespace(KeyringError=RuntimeError),
    )
    monkeypatch.setitem(sys.modules, "keyring", fake)
    assert found.fill("${keyring:api/gov/me}") == "api/gov-me-pw"
    assert redactor.text("api/gov-me-pw") == "***"
    with pytest.raises(SecretError, match="no password"):
        found.fill("${keyring:gov/you}")


def test_values_can_be_escaped_for_the_text_they_enter(tmp_path: Path) -> None:
    found = Secrets(
        {"T": "a{b}"}, tmp_path, Redactor(), escape=lambda text: text.replace("{", "{{").replace("}", "}}")
    )
    assert found.fill("{zip} ${env:T}") == "{zip} a{{b}}"


def test_every_spelling_of_a_secret_is_removed() -> None:
    redactor = Redactor()
    redactor.add(SECRET)
    for spelling in (
        SECRET,
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        base64.b64encode(SECRET.encode()).decode(),
    ):
        shown = redactor.text(f"<{spelling}>")
        assert shown == "<***>", spelling


def test_a_secret_inside_a_longer_one_leaves_no_rest() -> None:
    redactor = Redactor()
    redactor.add("abc")
    redactor.add("abcdef")
    assert redactor.text("abcdef abc") == "*** ***"


def test_urls_lose_user_information_known_secrets_and_secret_parameters() -> None:
    redactor = Redactor()
    redactor.add(SECRET)
    url = f"https://me:pw@example.org:8080/a?key={quote(SECRET, safe='')}&api_key=unknown&zip=94704#part"
    assert redactor.url(url) == "https://***@example.org:8080/a?key=***&api_key=***&zip=94704"
    assert redactor.url("http://h/p?zip=1%2C2") == "http://h/p?zip=1%2C2"
