"""Each way to prove who asks, over the wire: what the server sees, tokens that run out, and none of it anywhere else."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
import yaml
from aiohttp import web

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.types import HostPolicy
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]

SECRET = "s3cr+t/k\u00e9y=&%41"
OAUTH = {
    "type": "oauth2_client_credentials",
    "access_token_url": "URL/token",
    "client_id": "me",
    "client_secret": "${env:KEY}",
}
AUTHS: dict[str, dict[str, Any]] = {
    "bearer": {"type": "bearer", "token": "${env:KEY}"},
    "http_basic": {"type": "http_basic", "username": "me", "password": "${env:KEY}"},
    "api_key in a header": {"type": "api_key", "name": "X-Key", "api_key": "${env:KEY}"},
    "api_key in the query": {"type": "api_key", "name": "k", "api_key": "${env:KEY}", "location": "query"},
    "oauth2_client_credentials": OAUTH,
}
SECRETS = {
    "env": ("${env:KEY}", {"KEY": "geheim-1"}),
    "file": ("${file:key.txt}", {}),
    "keyring": ("${keyring:gov/me}", {}),
}


def spec(url: str, auth: dict[str, Any], **client: Any) -> dict[str, Any]:
    proof = {name: text.replace("URL", url) for name, text in auth.items()}
    settings = {"base_url": url, "auth": proof, "retry": {"max_attempts": 2, "max_delay": 0}} | client
    table = {
        "columns": {"id": "int", "name": "string"},
        "scan": {"endpoint": {"path": "r", "data_selector": "items", "paginator": "json_link"}},
        "lookups": [{"keys": ["id"], "endpoint": "r/{id}"}],
    }
    broken = {"columns": {"id": "int"}, "scan": {"endpoint": "broken"}}
    return {"version": 1, "sources": {"api": {"client": settings, "tables": {"t": table, "broken": broken}}}}


def proves(asked: web.Request, auth: str, secret: str, token: str = "") -> bool:
    """Whether a request carries the proof, and only where it belongs."""
    basic = base64.b64encode(f"me:{secret}".encode()).decode()
    authorization = {
        "bearer": f"Bearer {secret}",
        "http_basic": f"Basic {basic}",
        "oauth2_client_credentials": f"Bearer {token}",
    }
    return (
        asked.headers.get("Authorization") == authorization.get(auth)
        and asked.headers.get("X-Key") == (secret if auth == "api_key in a header" else None)
        and asked.query.get("k") == (secret if auth == "api_key in the query" else None)
    )


# --------------------------------------------------------------------------------------------- what the server is shown


@pytest.mark.parametrize("what", [(auth, where) for auth in AUTHS for where in SECRETS], ids=" by ".join)
async def test_a_secret_from_anywhere_proves_who_asks(
    serve: Serve, read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: tuple[str, str]
) -> None:
    auth, where = what
    reference, environ = SECRETS[where]
    (tmp_path / "key.txt").write_text("geheim-1\n", encoding="utf-8")
    keyring = type(sys)("keyring")
    keyring.errors = type("errors", (), {"KeyringError": OSError})  # type: ignore[attr-defined]
    keyring.get_password = lambda service, user: "geheim-1" if (service, user) == ("gov", "me") else None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", keyring)

    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/token":
            form = await asked.post()
            assert (form["client_id"], form["client_secret"]) == ("me", "geheim-1")
            return web.json_response({"access_token": "tok-1"})
        ok = proves(asked, auth, "geheim-1", "tok-1")
        return web.json_response({"items": [{"id": 1, "name": "a"}]}, status=200 if ok else 401)

    server = await serve(handler)
    declared = {name: text.replace("${env:KEY}", reference) for name, text in AUTHS[auth].items()}
    reader = read(yaml.safe_dump(spec(server.url, declared)), **environ)
    assert await reader.scan("t") == [{"id": 1, "name": "a"}]


# ------------------------------------------------------------------------------------------------------ tokens that end


class Tokens:
    """A token endpoint, and a table for whoever holds the newest token it gave."""

    def __init__(self, expires_in: float | str | None = 3600) -> None:
        self.expires_in = expires_in
        self.given = 0
        self.valid = ""
        self.statuses: Counter[int] = Counter()

    async def answer(self, asked: web.Request) -> web.Response:
        if asked.path == "/token":
            self.given += 1
            self.valid = f"token-{self.given}"
            more = {} if self.expires_in is None else {"expires_in": self.expires_in}
            return web.json_response({"access_token": self.valid, **more})
        ok = asked.headers.get("Authorization") == f"Bearer {self.valid}"
        self.statuses[200 if ok else 401] += 1
        return web.json_response({"items": [{"id": 1, "name": "a"}]} if ok else {}, status=200 if ok else 401)


async def test_a_token_that_is_refused_is_fetched_again_once_for_all(serve: Serve, read: Read) -> None:
    tokens = Tokens()
    server = await serve(tokens.answer)
    reader = read(yaml.safe_dump(spec(server.url, OAUTH)), KEY="geheim")
    await reader.scan("t")
    tokens.valid = "revoked"
    rows = await asyncio.gather(*(reader.scan("t") for _ in range(5)))
    assert rows == [[{"id": 1, "name": "a"}]] * 5
    assert tokens.given == 2, "one new token serves all who were refused"
    assert tokens.statuses == {200: 6, 401: 5}
    assert (reader.meter.retries, reader.meter.failed) == (5, 0)


async def test_no_rule_of_a_table_keeps_a_token_from_being_renewed(serve: Serve, read: Read) -> None:
    tokens = Tokens()

    async def handler(asked: web.Request) -> web.Response:
        answer = await tokens.answer(asked)
        return web.json_response({"error": "token expired"}, status=401) if answer.status == 401 else answer

    server = await serve(handler)
    declared = spec(server.url, OAUTH)
    declared["sources"]["api"]["tables"]["t"]["on_response"] = [{"path": "error", "action": "fail"}]
    reader = read(yaml.safe_dump(declared), KEY="geheim")
    await reader.scan("t")
    tokens.valid = "revoked"
    assert await reader.scan("t") == [{"id": 1, "name": "a"}]
    assert tokens.given == 2


async def test_a_token_that_never_serves_ends_in_an_error(serve: Serve, read: Read) -> None:
    tokens = Tokens()

    async def handler(asked: web.Request) -> web.Response:
        answer = await tokens.answer(asked)
        tokens.valid = "revoked at once"
        return answer

    server = await serve(handler)
    reader = read(yaml.safe_dump(spec(server.url, OAUTH)), KEY="geheim")
    with pytest.raises(SourceError, match="HTTP 401") as caught:
        await reader.scan("t")
    assert "check client.auth of the source" in str(caught.value)
    assert (tokens.given, tokens.statuses) == (2, {401: 2})


@pytest.mark.parametrize(
    ("expires_in", "fetched_at"),
    [(3600, [0, 3570, 7140]), (20, [0, 18, 36])]
    + [(senseless, [0, 3570, 7140]) for senseless in (None, 0, -1, "nan", "inf", "soon")],
)
async def test_a_token_is_fetched_again_shortly_before_it_ends(
    serve: Serve, read: Read, expires_in: float | str | None, fetched_at: list[int]
) -> None:
    tokens = Tokens(expires_in)
    server = await serve(tokens.answer)
    reader = read(yaml.safe_dump(spec(server.url, OAUTH)), KEY="geheim")
    source: Any = reader.catalog.adapter_of(reader.table("t"))
    for number, at in enumerate(fetched_at, 1):
        for now in (at - 1.0, at + 0.5) if at else (0.0,):
            proof = await source.http.auth.credentials(HostPolicy(), AccessMeter(), now)
        assert proof.headers == {"Authorization": f"Bearer token-{number}"}
        assert tokens.given == number


@pytest.mark.parametrize(
    "change", [{"client_id": "you"}, {"access_token_request_data": {"scope": "b"}}, {"client_secret": "x"}]
)
async def test_limits_and_what_is_kept_are_of_one_client(
    serve: Serve, read: Read, change: dict[str, Any]
) -> None:
    tokens = Tokens()
    server = await serve(tokens.answer)
    found = set()
    for auth in (OAUTH, OAUTH | change, OAUTH):
        proof = {
            name: text.replace("URL", server.url) if isinstance(text, str) else text
            for name, text in auth.items()
        }
        declared = spec(server.url, {})
        declared["sources"]["api"]["client"]["auth"] = proof
        reader = read(yaml.safe_dump(declared), KEY="geheim")
        await reader.scan("t")
        found |= {identity for _, identity in reader.client._limiters if identity}
    assert len(found) == 2


# -------------------------------------------------------------------------------------------------------------- the sweep


def spellings(*secrets: str) -> set[bytes]:
    """All ways in which the secrets might stand somewhere."""
    found: set[str] = set()
    for secret in secrets:
        for text in (secret, f"me:{secret}", f":{secret}"):
            packed = base64.b64encode(text.encode()).decode()
            found |= {text, packed, packed.rstrip("="), base64.urlsafe_b64encode(text.encode()).decode()}
        found |= {quote(secret, safe=""), quote(secret), quote_plus(secret), quote(secret, safe="").lower()}
        found |= {json.dumps(secret)[1:-1], repr(secret)[1:-1], secret.encode().hex()}
    return {text.encode() for text in found}


class Echoing:
    """A server that repeats whatever it is told, in pages, links, headers, and above all in errors."""

    def __init__(self) -> None:
        self.served: Served | None = None

    async def answer(self, asked: web.Request) -> web.Response:
        assert self.served is not None
        if asked.path == "/token":
            return web.json_response({"access_token": f"{SECRET}-token", "expires_in": 3600})
        told = f"{asked.url} {dict(asked.headers)} {asked.query_string}"
        if asked.path == "/broken":
            return web.json_response(
                {"error": told, "message": told}, status=500, headers={"X-Told": asked.raw_path}
            )
        if asked.path != "/r":
            return web.json_response({"id": 2, "name": told}, headers={"ETag": '"2"'})
        query = f"?{asked.rel_url.raw_query_string}" if asked.query_string else "?a=b"
        more = {} if "page" in asked.query else {"next": f"{self.served.url}/r{query}&page=2"}
        return web.json_response(
            {"items": [{"id": 1, "name": told}], **more}, headers={"ETag": '"1"', "X-Told": asked.raw_path}
        )


RUNS = {
    "keys, then all": ("SELECT id FROM t WHERE id = 2; SELECT id FROM t", ["--cache-ttl", "0.001"], 0),
    "the same again": ("SELECT id FROM t WHERE id = 2; SELECT id FROM t", ["--cache-ttl", "0.001"], 0),
    "a recording": ("SELECT id FROM t", ["--record", "<folder>/recording"], 0),
    "a recorded error": ("SELECT id FROM broken", ["--on-source-error", "fail", "--record", "<folder>/error"], 4),
    "a part": ("SELECT t.id FROM t JOIN broken b ON b.id = t.id", ["--on-source-error", "partial", "--cache-ttl", "9"], 3),
}  # fmt: skip


async def sweep(serve: Serve, folder: Path, auth: str, runs: list[str]) -> None:
    """Run queries with everything that writes turned on, and look through every byte they leave behind."""
    echoing = Echoing()
    echoing.served = await serve(echoing.answer)
    text = yaml.safe_dump(spec(echoing.served.url, AUTHS[auth]))
    (folder / "fff.yaml").write_text(text, encoding="utf-8")
    left = folder / "left"
    left.mkdir()
    environ = {
        **os.environ,
        "KEY": SECRET,
        "XDG_CACHE_HOME": str(left / "cache"),
        "TMPDIR": str(left),
        "HOME": str(left),
    }
    for number, name in enumerate(runs):
        sql, options, code = RUNS[name]
        command = [
            "query",
            sql,
            "-v",
            "--progress",
            "json",
            "--report",
            str(left / f"report-{number}"),
            "-s",
            str(folder / "fff.yaml"),
        ]
        command += [option.replace("<folder>", str(left)) for option in options]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fff_cli", *command,
            env=environ, cwd=left, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(process.communicate(), 100)
        assert process.returncode == code, (name, err.decode())
        (left / f"out-{number}").write_bytes(out)
        (left / f"err-{number}").write_bytes(err)
    assert len(echoing.served.asked) >= len(runs)
    files = [path for path in left.rglob("*") if path.is_file()]
    assert any(path.name == "index.sqlite" for path in files)
    forms = spellings(SECRET, f"{SECRET}-token")
    for path in files:
        data = path.read_bytes()
        for form in forms:
            assert form not in data, (auth, path.name, form)


@pytest.mark.slow
@pytest.mark.parametrize("auth", AUTHS)
async def test_no_byte_that_is_left_behind_tells_a_secret(serve: Serve, tmp_path: Path, auth: str) -> None:
    await sweep(serve, tmp_path, auth, list(RUNS))
