"""Secrets are found late and shown never."""

from __future__ import annotations

import base64
import html
import json
import re
import sys
import types
import unicodedata
from collections.abc import Callable
from html.entities import codepoint2name
from pathlib import Path
from urllib.parse import quote, quote_plus

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
    with pytest.raises(SecretError, match=re.escape("pip install 'fff[keyring]'")):
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


def wrongly(text: str, written: str, read: str) -> str:
    return text.encode(written).decode(read, "replace" if read != "utf-8" else "surrogateescape")


#: What a server, a proxy or a library may make of a text that it repeats.
ECHOES: dict[str, Callable[[str], str]] = {
    "every byte for a URL": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "every byte in hex": lambda text: text.encode().hex(":").upper(),
    "every byte in Python": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "every character for JSON": lambda text: re.sub(r"(..)(..)", r"\\u\1\2", text.encode("utf-16-be").hex()),
    "every character for HTML": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "every character for XML": lambda text: "".join(f"&#x{ord(one):X};" for one in text),
    "as it is": str,
    "percent": lambda s: quote(s, safe=""),
    "percent, lower": lambda s: quote(s, safe="").lower() if s.islower() else quote(s, safe="").replace("%C3", "%c3"),
    "percent, twice": lambda s: quote(quote(s, safe=""), safe=""),
    "percent, Latin-1": lambda s: quote(s.encode("cp1252", "ignore"), safe="") if _latin(s) else s,
    "form": quote_plus,
    "JSON": lambda s: json.dumps(s)[1:-1],
    "JSON, upper": lambda s: re.sub(r"\\u[0-9a-f]{4}", lambda m: "\\u" + m[0][2:].upper(), json.dumps(s)[1:-1]),
    "JSON in JSON": lambda s: json.dumps(json.dumps(s)[1:-1])[1:-1],
    "JSON, as PHP": lambda s: json.dumps(s)[1:-1].replace("/", "\\/").replace("&", "\\u0026").replace("'", "\\u0027"),
    "JSON, raw": lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    "XML": html.escape,
    "XML, twice": lambda s: html.escape(html.escape(s)),
    "XML, decimal": lambda s: s.encode("ascii", "xmlcharrefreplace").decode(),
    "XML, hexadecimal": lambda s: "".join(c if c.isascii() else f"&#x{ord(c):X};" for c in s),
    "HTML names": lambda s: "".join(f"&{codepoint2name[ord(c)]};" if ord(c) in codepoint2name else c for c in s),
    "UTF-8 read as Latin-1": lambda s: wrongly(s, "utf-8", "latin-1"),
    "UTF-8 read as Windows-1252": lambda s: wrongly(s, "utf-8", "cp1252"),
    "Latin-1 read as UTF-8": lambda s: wrongly(s, "latin-1", "utf-8") if _latin(s) else s,
    "UTF-8 read as Latin-1, JSON": lambda s: json.dumps(wrongly(s, "utf-8", "latin-1"))[1:-1],
    "UTF-8 read as Latin-1, XML": lambda s: wrongly(s, "utf-8", "latin-1").encode("ascii", "xmlcharrefreplace").decode(),
    "UTF-8 read as Latin-1, percent": lambda s: quote(wrongly(s, "utf-8", "latin-1"), safe=""),
    "UTF-8 read as Windows-1252, JSON": lambda s: json.dumps(wrongly(s, "utf-8", "cp1252"))[1:-1],
    "composed": lambda s: unicodedata.normalize("NFC", s),
    "decomposed": lambda s: unicodedata.normalize("NFD", s),
    "Python": ascii,
    "Python bytes": lambda s: repr(s.encode()),
    "quoted-printable": lambda s: "".join(c if c.isascii() else "".join(f"={b:02X}" for b in c.encode()) for c in s),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64, for URLs": lambda s: base64.urlsafe_b64encode(s.encode()).decode().rstrip("="),
    "base64, Latin-1": lambda s: base64.b64encode(s.encode("latin-1")).decode() if _latin(s) else s,
    "upper case": str.upper,
    "lower case": str.lower,
    "title case": str.title,
    "upper case, escaped": lambda s: json.dumps(s.upper())[1:-1],
    "half of it escaped": lambda s: quote(s[: len(s) // 2], safe="") + s[len(s) // 2 :],
}  # fmt: skip


def _latin(text: str) -> bool:
    return all(ord(char) < 256 for char in text)


@pytest.mark.parametrize(
    "secret",
    [
        SECRET,
        "pässwörd-élan",
        "ключ/к данным",
        "密碼-パスワード",
        "key🔑of🗝️mine",
        "e\u0301clair & co",
        "plainTOKEN0123",
        "a<b>'c'\\d/e",
    ],
)
def test_every_spelling_of_a_secret_is_removed(secret: str) -> None:
    redactor = Redactor()
    redactor.add(secret)
    for name, echo in ECHOES.items():
        shown = redactor.text(f"<{echo(secret)}>")
        assert shown.strip("'b<>\"") == "***", (name, echo(secret), shown)


@pytest.mark.parametrize("secret", [SECRET, "pässwörd-élan", "plainTOKEN0123"])
@pytest.mark.parametrize("pack", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_amid_others_is_removed_from_base64(secret: str, pack: Callable[[bytes], bytes]) -> None:
    """As a password behind a name: what is left tells nothing but its length."""
    redactor = Redactor()
    redactor.add(secret)
    for before in range(4):
        for behind in ("", ":", ":x", ":xy"):
            packed = pack(f"{'user'[:before]}{secret}{behind}".encode()).decode()
            shown = redactor.text(packed)
            assert "***" in shown, (packed, shown)
            assert len(shown.replace("***", "")) <= 4 + 2 * len(behind) + 2, (packed, shown)
    assert redactor.text(f"<{secret.encode().hex()} {secret.encode().hex().upper()}>") == "<*** ***>"


#: What is packed in base64 together with what stands around it, after the secret was written in another way.
PACKED: dict[str, Callable[[str], bytes]] = {
    "the next page's URL": lambda text: f"https://a.example/r?key={quote(text, safe='')}&at=2".encode(),
    "a form": lambda text: f"key={quote_plus(text)}&at=2".encode(),
    "the request's JSON": lambda text: json.dumps({"token": text, "at": 2}).encode(),
    "the request's JSON, as PHP": lambda text: json.dumps({"token": text}).replace("/", "\\/").encode(),
    "a header that was packed": lambda text: b"Basic " + base64.b64encode(text.encode()),
    "a header that was packed, as a secret of Kubernetes": lambda text: base64.b64encode(text.encode()),
    "as Windows writes": lambda text: f"Bearer {text}".encode("utf-16-le"),
}


@pytest.mark.parametrize("what", PACKED)
@pytest.mark.parametrize("secret", [SECRET, "pässwörd-élan", "plainTOKEN0123", 'me:pass"word/1'])
def test_what_was_written_in_another_way_is_removed_from_base64_as_well(secret: str, what: str) -> None:
    redactor = Redactor()
    redactor.add(secret)
    data = PACKED[what](secret)
    for pack in (base64.b64encode, base64.urlsafe_b64encode):
        packed = pack(data).decode()
        shown = redactor.text(packed)
        assert "***" in shown
        assert len(shown.replace("***", "")) <= len(packed) - len(pack(secret.encode())) + 4, shown
        assert redactor.in_data(packed.encode())


def test_short_secrets_do_not_hide_words_that_only_look_like_them() -> None:
    redactor = Redactor()
    redactor.add("abc")
    redactor.add("ü")
    assert redactor.text("ABC Abc abc, ü \ufffd Ü") == "ABC Abc ***, *** \ufffd Ü"


@pytest.mark.parametrize("secret", ["pässwörd-élan", "ключ/к данным"])
def test_no_spelling_of_a_secret_is_kept_on_disk(secret: str) -> None:
    redactor = Redactor()
    redactor.add(secret)
    for name in (
        "as it is",
        "percent",
        "form",
        "JSON",
        "JSON, upper",
        "XML, decimal",
        "UTF-8 read as Latin-1",
        "upper case",
    ):
        assert redactor.in_data(b'{"x": "' + ECHOES[name](secret).encode() + b'"}'), name
    for encoding in ("utf-16-le", "utf-16-be", "utf-16"):
        assert redactor.in_data(f'{{"x": "{secret}"}}'.encode(encoding)), encoding
    if _latin(secret):
        assert redactor.in_data(secret.encode("latin-1"))


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


@pytest.mark.parametrize("secret", ["ab+cd/Tok=en", "ab=cd&en+tok", "50%+more&x"])
def test_a_secret_that_a_url_has_as_it_is_is_none_of_its_parts(secret: str) -> None:
    """As in a `Location` that nobody escaped: taken apart at `&`, with blanks for `+`, it was not recognized any more."""
    redactor = Redactor()
    redactor.add(secret)
    assert redactor.url(f"http://h/p?api_key=k&t={secret}") == "http://h/p?api_key=***&t=***"
