"""Logins, end to end against an identity provider on this machine: tokens that end, rotate and are revoked."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import stat
import sys
import threading
import types
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from aiohttp import web

from fff.access.disk.policy import RowCache
from fff.errors import SecretError, SourceError
from fff.federation import Federation
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff_sources.http.request.logins import by_device, in_browser
from fff_sources.http.request.token_store import logged_in
from fff_sources.load import load_catalog
from tests.engine.site import run
from tests.sources.reading import Reader

ROWS = [{"id": number} for number in range(6)]


class Provider:
    """An identity provider, and a table in pages for whoever holds a token that is good."""

    def __init__(self) -> None:
        self.given = 0
        self.good: set[str] = set()  # access tokens
        self.refresh: set[str] = set()
        self.codes: dict[str, str] = {}  # code -> challenge
        self.rotates = True
        self.life: float | None = 3600
        self.pending = 0  # polls of a device that come too early
        self.refusals = 0
        self.ends_after: int | None = None  # answers after which tokens are good no more
        self.logins: list[dict[str, Any]] = []
        self.seen: list[str] = []

    async def answer(self, asked: web.Request) -> web.Response:
        match asked.path:
            case "/token":
                return self.token({name: str(text) for name, text in (await asked.post()).items()})
            case "/device":
                code = {
                    "device_code": "dev",
                    "user_code": "WXYZ",
                    "verification_uri": "http://else.where",
                    "interval": 1,
                }
                return web.json_response(code)
            case "/authorize":
                self.codes["c0de"] = asked.query["code_challenge"]
                assert asked.query["code_challenge_method"] == "S256"
                to = f"{asked.query['redirect_uri']}?code=c0de&state={asked.query['state']}"
                raise web.HTTPFound(to)
            case "/login":
                self.logins.append(await asked.json())
                response = web.json_response({"data": {"token": self.new()}})
                response.headers.add(
                    "Set-Cookie", "lang=de; Path=/; Expires=Wed, 21 Oct 2037 07:28:00 GMT; Secure"
                )
                response.headers.add("Set-Cookie", f"sid={self.new()}; HttpOnly")
                return response
            case _:
                return self.rows(asked)

    def new(self) -> str:
        self.given += 1
        self.good.add(f"access-{self.given}")
        return f"access-{self.given}"

    def token(self, form: dict[str, str]) -> web.Response:
        assert (form["client_id"], form.get("client_secret")) == ("me", "geheim")
        match form["grant_type"]:
            case "refresh_token":
                if form["refresh_token"] not in self.refresh:
                    self.refusals += 1
                    return web.json_response({"error": "invalid_grant"}, status=400)
                if self.rotates:
                    self.refresh.clear()
            case "authorization_code":
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                assert self.codes.pop(form["code"]) == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            case _:
                assert form["device_code"] == "dev"
                if self.pending:
                    self.pending -= 1
                    return web.json_response({"error": "authorization_pending"}, status=400)
        answer: dict[str, Any] = {"access_token": self.new()}
        if self.rotates or not self.refresh:
            self.refresh.add(f"refresh-{self.given}")
            answer["refresh_token"] = f"refresh-{self.given}"
        return web.json_response(answer | ({} if self.life is None else {"expires_in": self.life}))

    def rows(self, asked: web.Request) -> web.Response:
        proof = asked.headers.get("Authorization", "").removeprefix("Bearer ") or asked.cookies.get("sid", "")
        self.seen.append(proof)
        if proof not in self.good:
            return web.json_response({}, status=401)
        if self.ends_after is not None:
            self.ends_after -= 1
            if self.ends_after == 0:
                self.good.clear()
        at = int(asked.query["offset"])
        return web.json_response({"items": ROWS[at : at + 2], "total": len(ROWS)})


def spec(url: str, auth: dict[str, Any]) -> str:
    paginator = {"type": "offset", "offset_param": "offset", "total_path": "total", "page_size": 2}
    endpoint = {"path": "r", "data_selector": "items", "paginator": paginator}
    client = {"base_url": url, "auth": auth, "retry": {"max_attempts": 2, "max_delay": 0}}
    table = {"columns": {"id": "int"}, "scan": {"endpoint": endpoint}}
    return str(yaml.safe_dump({"version": 1, "sources": {"api": {"client": client, "tables": {"t": table}}}}))


def oauth2(url: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "oauth2",
        "access_token_url": f"{url}/token",
        "client_id": "me",
        "client_secret": "${env:KEY}",
        "authorization_url": f"{url}/authorize",
        "device_authorization_url": f"{url}/device",
        "scopes": ["read", "list"],
    } | more


@pytest.fixture
def reader(read, tmp_path) -> Callable[[str], Reader]:
    environ = {"KEY": "geheim", "XDG_CONFIG_HOME": str(tmp_path / "config"), "REFRESH": "refresh-0"}
    return lambda text: read(text, **environ)


def test_a_browser_that_waits_for_its_window_is_answered(monkeypatch):
    from fff_cli.commands import login

    closed, opened = threading.Event(), threading.Event()
    monkeypatch.setattr(login.webbrowser, "open", lambda _: opened.set() or closed.wait(30))
    login._show_address(types.SimpleNamespace(account=None), "http://127.0.0.1:9/authorize")
    assert opened.wait(5)
    assert not closed.is_set()
    closed.set()


def parts(one: Reader) -> Any:
    http = one.catalog.source("api").http
    return http, *http.auth.login(http.policy, AccessMeter())


async def logged_in_reader(provider: Provider, url: str, reader: Callable[[str], Reader]) -> Reader:
    """After a login in the browser, which a program plays."""
    one = reader(spec(url, oauth2(url)))
    _, auth, tokens = parts(one)
    opened: list[asyncio.Future[bytes]] = []

    def browse(address: str) -> None:
        loop = asyncio.get_running_loop()
        opened.append(loop.run_in_executor(None, lambda: urllib.request.urlopen(address).read()))
        assert parse_qs(urlsplit(address).query)["scope"] == ["read list"]

    await in_browser(auth, tokens, "api", browse)
    assert b"You are logged in" in await opened[0]
    return one


class KeyringError(Exception):
    pass


class MemoryKeyring:
    """The `keyring` package, as far as it is used; `refuses`: it takes nothing."""

    errors = types.SimpleNamespace(KeyringError=KeyringError, PasswordDeleteError=KeyringError)

    def __init__(self, *, priority: float = 5, refuses: bool = False) -> None:
        self.priority, self.refuses = priority, refuses
        self.kept: dict[tuple[str, str], str] = {}

    def get_keyring(self) -> MemoryKeyring:
        return self

    def get_password(self, service: str, user: str) -> str | None:
        return self.kept.get((service, user))

    def set_password(self, service: str, user: str, password: str) -> None:
        if self.refuses:
            raise KeyringError
        self.kept[service, user] = password

    def delete_password(self, service: str, user: str) -> None:
        del self.kept[service, user]


async def test_a_login_is_kept_in_the_keyring(serve, reader, tmp_path, monkeypatch):
    keyring = MemoryKeyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    provider = Provider()
    server = await serve(provider.answer)
    first = await logged_in_reader(provider, server.url, reader)
    assert await first.scan("t") == ROWS
    given = provider.given
    assert await reader(spec(server.url, oauth2(server.url))).scan("t") == ROWS
    assert provider.given == given
    folder = tmp_path / "config" / "fff" / "logins"
    (file,) = folder.iterdir()
    [(where, text)] = keyring.kept.items()
    tokens = json.loads(text)
    assert where == ("fff login", file.stem)
    assert tokens["refresh_token"] not in file.read_text()
    assert tokens["access_token"] not in file.read_text()
    assert [token.source for token in logged_in(folder)] == ["api"]
    later = reader(spec(server.url, oauth2(server.url)))
    assert later.catalog.source("api").http.auth.log_out()
    assert (keyring.kept, logged_in(folder)) == ({}, [])


@pytest.mark.parametrize("keyring", [MemoryKeyring(priority=0), MemoryKeyring(refuses=True)])
async def test_without_a_keyring_that_takes_it_a_login_is_in_a_file(
    serve, reader, tmp_path, monkeypatch, keyring
):
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    provider = Provider()
    server = await serve(provider.answer)
    await logged_in_reader(provider, server.url, reader)
    assert await reader(spec(server.url, oauth2(server.url))).scan("t") == ROWS
    (file,) = (tmp_path / "config" / "fff" / "logins").iterdir()
    assert "access_token" in json.loads(file.read_text())
    assert keyring.kept == {}


async def test_a_login_whose_keyring_is_gone_says_so(serve, reader, monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", MemoryKeyring())
    provider = Provider()
    server = await serve(provider.answer)
    await logged_in_reader(provider, server.url, reader)
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(SecretError, match="in a keyring, and there is none now"):
        await reader(spec(server.url, oauth2(server.url))).scan("t")


async def test_a_login_in_the_browser_is_kept_for_later_runs(serve, reader, tmp_path):
    provider = Provider()
    server = await serve(provider.answer)
    first = await logged_in_reader(provider, server.url, reader)
    assert await first.scan("t") == ROWS
    given = provider.given
    later = reader(spec(server.url, oauth2(server.url)))
    assert await later.scan("t") == ROWS
    assert provider.given == given, "a token that is good is used again"
    folder = tmp_path / "config" / "fff" / "logins"
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [token.source for token in logged_in(folder)] == ["api"]
    assert later.catalog.source("api").http.auth.log_out()
    assert logged_in(folder) == []
    with pytest.raises(SecretError, match="nobody is logged in") as told:
        await reader(spec(server.url, oauth2(server.url))).scan("t")
    assert told.value.hint == "fff login api"


async def test_rows_on_disk_are_of_the_login_that_got_them(serve, reader, tmp_path):
    """Nobody gets those of whoever was logged in before, and without a login there are none."""
    provider = Provider()
    server = await serve(provider.answer)

    async def rows(catalog: Any) -> Any:
        cache = RowCache(tmp_path / "rows", ttl=300.0)
        async with Federation(catalog, WebClient(), cache=cache) as federation:
            return sorted((await run(federation, "SELECT id FROM api.t", on_source_error="fail"))[0])

    async def renewed() -> Reader:
        provider.refresh.clear()  # of ann; whoever logs in gets another
        return await logged_in_reader(provider, server.url, reader)

    def later() -> Any:
        return reader(spec(server.url, oauth2(server.url))).catalog

    wanted = [(row["id"],) for row in ROWS]
    ann = await logged_in_reader(provider, server.url, reader)
    assert await rows(later()) == wanted
    asked = len(provider.seen)
    assert await rows(later()) == wanted
    provider.good.clear()
    assert await rows(later()) == wanted
    assert len(provider.seen) == asked, "what ann got is ann's, also after the token has ended"
    long_run = later()
    assert await long_run.adapter_of(long_run.find(["t"])[0]).http.auth.credentials(
        parts(ann)[0].policy, AccessMeter(), 0.0
    )
    ann.catalog.source("api").http.auth.log_out()
    with pytest.raises(SecretError, match="nobody is logged in"):
        await rows(later())
    await renewed()
    assert len(provider.seen) == asked
    assert await rows(later()) == wanted
    assert len(provider.seen) == asked + 3, "bob asks anew"
    source = long_run.source("api")
    with pytest.raises(SecretError, match="somebody has logged in since"):
        source.fingerprint(long_run.find(["t"])[0])


async def test_a_renewed_login_is_the_same(serve, reader):
    provider = Provider()
    server = await serve(provider.answer)
    one = await logged_in_reader(provider, server.url, reader)
    source, table = one.catalog.source("api"), one.table("t")
    before = source.fingerprint(table)
    assert await one.scan("t") == ROWS
    provider.good.clear()
    assert await one.scan("t") == ROWS
    assert provider.given == 2
    assert source.fingerprint(table) == before
    again = await logged_in_reader(provider, server.url, reader)
    assert again.catalog.source("api").fingerprint(table) != before


async def test_a_token_that_ends_in_the_middle_of_a_scan_is_renewed_and_rotates(serve, reader):
    provider = Provider()
    server = await serve(provider.answer)
    one = await logged_in_reader(provider, server.url, reader)
    provider.ends_after = 2
    assert await one.scan("t") == ROWS
    assert provider.seen == ["access-1", "access-1", "access-1", "access-2"]
    assert provider.refresh == {"refresh-2"}, "the refresh token is another one now"
    provider.good.clear()
    assert await reader(spec(server.url, oauth2(server.url))).scan("t") == ROWS, "and the new one is kept"


async def test_one_renewal_serves_all_who_wait(serve, reader):
    provider = Provider()
    server = await serve(provider.answer)
    one = await logged_in_reader(provider, server.url, reader)
    provider.good.clear()
    assert await asyncio.gather(*(one.scan("t") for _ in range(5))) == [ROWS] * 5
    assert (provider.given, provider.refusals) == (2, 0)


async def test_a_run_that_another_one_overtook_takes_its_token(serve, reader):
    provider = Provider()
    server = await serve(provider.answer)
    slow = await logged_in_reader(provider, server.url, reader)
    assert await slow.scan("t") == ROWS
    provider.good.clear()
    other = reader(spec(server.url, oauth2(server.url)))
    assert await other.scan("t") == ROWS
    assert await slow.scan("t") == ROWS
    assert (provider.given, provider.refusals) == (2, 0)


async def test_a_revoked_login_says_to_log_in_again(serve, reader):
    provider = Provider()
    server = await serve(provider.answer)
    one = await logged_in_reader(provider, server.url, reader)
    provider.good.clear()
    provider.refresh.clear()
    with pytest.raises(
        SourceError, match="the login has ended: the token endpoint says invalid_grant"
    ) as told:
        await one.scan("t")
    assert told.value.hint == "fff login api"
    assert "refresh-1" not in told.value.render()


async def test_a_login_that_is_revoked_in_the_middle_leaves_a_part(serve, reader):
    provider = Provider()
    server = await serve(provider.answer)
    one = await logged_in_reader(provider, server.url, reader)
    provider.ends_after = 2
    provider.refresh.clear()
    federation = Federation(one.catalog, one.client)
    rows, execution = await run(federation, "SELECT id FROM t")
    assert 0 < len(rows) < len(ROWS)
    [missing] = execution.outcome.missing
    assert "the login has ended" in missing.reason


async def test_another_host_of_the_same_name_does_not_get_the_token(serve, reader):
    provider, thief = Provider(), Provider()
    server, other = await serve(provider.answer), await serve(thief.answer)
    await logged_in_reader(provider, server.url, reader)
    for auth in (oauth2(server.url), oauth2(other.url)):
        with pytest.raises(SecretError, match="nobody is logged in"):
            await reader(spec(other.url, auth)).scan("t")
    assert thief.seen == []


async def test_a_spec_found_in_the_working_folder_gets_no_login_before_it_is_trusted(serve, reader, tmp_path):
    provider = Provider()
    server = await serve(provider.answer)
    text = spec(server.url, oauth2(server.url, client_secret="geheim"))
    await logged_in_reader(provider, server.url, reader)
    (tmp_path / "fff.yaml").write_text(text)
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "KEY": "geheim"}
    client = WebClient()
    found = load_catalog([], environ=environ, cwd=tmp_path, client=client)
    http = found.source("api").http
    with pytest.raises(SecretError, match="the login to api is not given to a spec that nobody has trusted"):
        await http.auth.credentials(http.policy, AccessMeter(), 0.0)
    await client.close()


async def test_a_refresh_token_of_the_spec_needs_no_login(serve, reader):
    provider = Provider()
    provider.refresh = {"refresh-0"}
    server = await serve(provider.answer)
    auth = oauth2(server.url, refresh_token="${env:REFRESH}")
    assert await reader(spec(server.url, auth)).scan("t") == ROWS
    assert await reader(spec(server.url, auth)).scan("t") == ROWS
    assert provider.given == 1


async def test_a_code_typed_elsewhere_logs_in(serve, reader):
    provider = Provider()
    provider.pending = 3
    server = await serve(provider.answer)
    one = reader(spec(server.url, oauth2(server.url)))
    _, auth, tokens = parts(one)
    shown: list[str] = []
    slept: list[float] = []
    await by_device(auth, tokens, "api", lambda where, code: shown.extend((where, code)), slept.append)
    assert shown == ["http://else.where", "WXYZ"]
    assert slept == [1, 1, 1, 1]
    assert await one.scan("t") == ROWS


async def test_what_comes_without_the_state_is_no_login(serve, reader):
    provider = Provider()
    server = await serve(provider.answer)
    one = reader(spec(server.url, oauth2(server.url)))
    _, auth, tokens = parts(one)

    def forged(address: str) -> None:
        to = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        loop = asyncio.get_running_loop()
        state = parse_qs(urlsplit(address).query)["state"][0]

        def visit() -> None:
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(f"{to}?code=forged&state=guessed")
            urllib.request.urlopen(f"{to}?error=access_denied&state={state}").read()

        loop.run_in_executor(None, visit)

    with pytest.raises(SourceError, match="the login was refused: access_denied"):
        await in_browser(auth, tokens, "api", forged)


@pytest.mark.parametrize("how", [{"token_path": "data.token"}, {"cookie": "sid"}], ids=["token", "cookie"])
async def test_a_session_logs_in_and_again_when_it_is_refused(serve, reader, how):
    provider = Provider()
    server = await serve(provider.answer)
    login = {"path": "login", "body": {"user": "ann", "password": "${env:KEY}"}}
    one = reader(spec(server.url, {"type": "session", "login": login, **how}))
    assert await one.scan("t") == ROWS
    assert provider.logins == [{"user": "ann", "password": "geheim"}]
    provider.ends_after = 1
    assert await one.scan("t") == ROWS
    assert len(provider.logins) == 2
    assert one.client.redactor.text(f"{provider.seen[0]} geheim") == "*** ***"


async def test_a_login_that_is_refused_is_not_tried_for_every_key(serve, reader):
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.json_response({}, status=403)

    auth = {"type": "session", "login": {"path": "login"}, "token_path": "data.token"}
    one = reader(spec((await serve(answer)).url, auth))
    for _ in range(3):
        with pytest.raises(SourceError, match="HTTP 403"):
            await one.scan("t")
    assert asked == ["/login"]


async def test_a_login_without_a_token_is_told(serve, reader):
    server = await serve(lambda _asked: asyncio.sleep(0, web.json_response({"data": {}})))
    login = {"path": "login", "form": {"password": "${env:KEY}"}}
    auth = {"type": "session", "login": login, "token_path": "data.token"}
    with pytest.raises(SourceError, match=r"no text at data\.token"):
        await reader(spec(server.url, auth)).scan("t")


def test_the_command_lists_refuses_and_forgets(tmp_path):
    from typer.testing import CliRunner

    from fff_cli.app import app

    file = tmp_path / "spec.yaml"
    file.write_text(spec("http://127.0.0.1:9", {"type": "bearer", "token": "t0ken"}))
    environ = dict(os.environ, XDG_CONFIG_HOME=str(tmp_path))

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, list(arguments), env=environ)
        return done.exit_code, done.output

    assert run("login", "--list") == (0, "nobody is logged in to any source\n")
    assert "needs no person to log in" in run("login", "api", "-s", str(file))[1]
    assert "no source 'other'" in run("login", "other", "-s", str(file))[1]
    assert run("logout", "api", "-s", str(file))[0] == 1
