"""Logins that are refused, or answered in a way of one's own: what is told, and that no secret is in it."""

from __future__ import annotations

import asyncio

import pytest
import yaml
from aiohttp import web

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff_sources.http.request.logins import by_device

ROWS = [{"id": 1}, {"id": 2}]


def spec(url, auth):
    table = {"columns": {"id": "int"}, "scan": {"endpoint": {"path": "r", "data_selector": "items"}}}
    client = {"base_url": url, "auth": auth, "retry": {"max_attempts": 1}}
    return yaml.safe_dump({"version": 1, "sources": {"api": {"client": client, "tables": {"t": table}}}})


@pytest.fixture
def reader(read, tmp_path):
    environ = {"KEY": "geheim", "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return lambda text: read(text, **environ)


CLIENT = {"type": "oauth2_client_credentials", "client_id": "me", "client_secret": "${env:KEY}"}
RENEWED = {"type": "oauth2", "client_id": "me", "client_secret": "${env:KEY}", "refresh_token": "r"}
SESSION = {
    "type": "session",
    "login": {"path": "token", "form": {"password": "${env:KEY}"}},
    "token_path": "data.token",
}
CHECK = "check client.auth of the source"


@pytest.mark.parametrize("auth", [CLIENT, RENEWED, SESSION], ids=["client", "refresh", "session"])
@pytest.mark.parametrize(
    "refusal",
    [
        (400, {"error": "invalid_scope"}, "invalid_scope"),
        (404, {"message": "no such path"}, "no such path"),
        (200, {"error": "invalid_client", "error_description": "not geheim"}, "invalid_client"),
        (200, {"token": "elsewhere"}, "gave no"),
    ],
)
async def test_a_login_that_is_refused_is_to_be_looked_at_in_auth(serve, reader, auth, refusal):
    status, answer, said = refusal
    server = await serve(lambda _asked: asyncio.sleep(0, web.json_response(answer, status=status)))
    auth = auth if auth is SESSION else auth | {"access_token_url": f"{server.url}/token"}
    with pytest.raises(SourceError) as caught:
        await reader(spec(server.url, auth)).scan("t")
    told = caught.value.render()
    assert said in told
    assert CHECK in told
    assert "geheim" not in told
    assert "elsewhere" not in told


@pytest.mark.parametrize("life", ["3600", "soon", 0, None])
async def test_how_long_a_token_lives_may_be_text(serve, reader, life):
    async def answer(asked: web.Request) -> web.Response:
        if asked.path == "/token":
            return web.json_response({"access_token": "t0ken", "expires_in": life})
        return web.json_response({"items": ROWS, "total": len(ROWS)})

    server = await serve(answer)
    one = reader(spec(server.url, CLIENT | {"access_token_url": f"{server.url}/token"}))
    assert await one.scan("t") == ROWS


async def test_a_code_is_shown_with_the_address_as_google_writes_it(serve, reader):
    async def answer(asked: web.Request) -> web.Response:
        if asked.path == "/device":
            code = {"device_code": "dev", "user_code": "W", "verification_url": "http://g", "interval": "1"}
            return web.json_response(code | {"expires_in": "900"})
        return web.json_response({"error": "access_denied"}, status=400)

    url = (await serve(answer)).url
    places = {"access_token_url": f"{url}/token", "device_authorization_url": f"{url}/device"}
    http = reader(spec(url, {"type": "oauth2", "client_id": "me"} | places)).catalog.source("api").http
    auth, tokens = http.auth.login(http.policy, AccessMeter())
    shown: list[str] = []
    with pytest.raises(SourceError, match="the login was refused: access_denied") as caught:
        await by_device(auth, tokens, "api", lambda *what: shown.extend(what), lambda _: None)
    assert shown == ["http://g", "W"]
    assert "log in once more" in caught.value.render()
