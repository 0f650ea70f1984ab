"""Several credentials for one source, over a real wire: each request takes the one that may be sent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from fff.errors import SecretError, SourceError
from fff.stats import AccessMeter
from fff_cli.commands.login import _logins
from fff_sources.http.request.token_store import logged_in
from fff_sources.load import lint
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
ROWS = [{"id": at} for at in range(24)]


class Keyed:
    """Rows for whoever has a key, by page; keys have quotas, and may be refused."""

    def __init__(
        self,
        quota: int = 10_000,
        bad: frozenset[str] = frozenset(),
        status: int = 401,
        full: int = 429,
        wait: int = 3000,
    ) -> None:
        self.quota = quota
        self.full, self.wait = full, wait
        self.bad = bad
        self.status = status
        self.seen: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()

    async def answer(self, request: web.Request) -> web.Response:
        key = request.headers["Authorization"].removeprefix("Bearer ")
        self.seen[key] += 1
        if key in self.bad:
            return web.Response(status=self.status)
        if self.seen[key] > self.quota:
            return web.Response(status=self.full, headers={"Retry-After": str(self.wait)})
        self.answered[key] += 1
        start = int(request.query["offset"])
        return web.json_response({"rows": ROWS[start : start + 2], "total": len(ROWS)})


def spec(url: str, keys: str = "KEY_A KEY_B", more: str = "") -> str:
    several = ", ".join(f"{{type: bearer, token: '${{env:{key}}}'}}" for key in keys.split())
    return f"""
version: 1
sources:
  api:
    client: {{base_url: '{url}', credentials: [{several}], retry: {{max_attempts: 2, max_delay: 0}}{more}}}
    tables:
      t: {{columns: {{id: int}}, scan: {{endpoint: {{path: r, data_selector: rows, paginator: {{type: offset, page_size: 2, total_path: total}}}}}}}}
"""


KEYS = {"KEY_A": "secret-a", "KEY_B": "secret-b", "KEY_C": "secret-c"}


def ids(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=lambda row: int(str(row["id"])))


async def test_requests_are_shared_out(serve: Serve, read: Read) -> None:
    keyed = Keyed()
    reader = read(spec((await serve(keyed.answer)).url, "KEY_A KEY_B KEY_C"), **KEYS)
    assert reader.table("t").max_in_flight == 24
    assert ids(await reader.scan("t", window=6)) == ROWS
    assert sum(keyed.seen.values()) == reader.meter.requests == 12
    assert len(keyed.seen) == 3
    assert max(keyed.seen.values()) <= 6


@pytest.mark.parametrize("full", [429, 403])
@pytest.mark.parametrize("window", [1, 4])
async def test_who_has_used_up_his_quota_is_left_alone(
    serve: Serve, read: Read, window: int, full: int
) -> None:
    keyed = Keyed(quota=7, full=full)
    reader = read(spec((await serve(keyed.answer)).url), **KEYS)
    assert ids(await reader.scan("t", window=window)) == ROWS
    assert sum(keyed.answered.values()) == 12
    assert sum(keyed.seen.values()) <= 12 + window
    assert sum(reader.time.slept) < 3000
    assert reader.meter.failed == 0
    assert reader.meter.warnings == {}


async def test_one_that_is_told_to_wait_is_not_refused_whatever_the_status(serve: Serve, read: Read) -> None:
    keyed = Keyed(full=403, wait=2)
    keyed.seen["secret-a"] = 10_000 - 2
    reader = read(spec((await serve(keyed.answer)).url), **KEYS)
    assert ids(await reader.scan("t", window=4)) == ROWS
    assert reader.meter.warnings == {}


async def test_each_has_limits_of_its_own(serve: Serve, read: Read) -> None:
    keyed = Keyed()
    more = ", rate_limit: {limit: 6, per: 1000, max_concurrency: 2}"
    reader = read(spec((await serve(keyed.answer)).url, more=more), **KEYS)
    assert reader.table("t").rates == ((12.0, 1000.0),)
    assert ids(await reader.scan("t", window=2)) == ROWS
    assert keyed.seen == {"secret-a": 6, "secret-b": 6}
    assert sum(reader.time.slept) == 0


@pytest.mark.parametrize("status", [401, 403])
async def test_one_that_is_refused_is_set_aside_and_told_of(serve: Serve, read: Read, status: int) -> None:
    keyed = Keyed(bad=frozenset({"secret-a"}), status=status)
    reader = read(spec((await serve(keyed.answer)).url), **KEYS)
    assert ids(await reader.scan("t")) == ROWS
    assert keyed.seen == {"secret-a": 1, "secret-b": 12}
    (warning,) = reader.meter.warnings
    assert "api: credential 1 of 2 is refused" in warning
    assert "secret" not in warning
    assert reader.meter.failed == 0


async def test_where_all_are_refused_it_is_an_error(serve: Serve, read: Read) -> None:
    keyed = Keyed(bad=frozenset(KEYS.values()))
    reader = read(spec((await serve(keyed.answer)).url), **KEYS)
    with pytest.raises(SourceError, match="HTTP 401"):
        await reader.scan("t")
    assert keyed.seen == {"secret-a": 1, "secret-b": 1}
    assert reader.meter.warnings == {}
    keyed.bad = frozenset()
    assert ids(await reader.scan("t")) == ROWS  # none was set aside


async def test_where_all_quotas_are_used_up_it_is_an_error(serve: Serve, read: Read) -> None:
    keyed = Keyed(quota=3)
    reader = read(spec((await serve(keyed.answer)).url), **KEYS)
    with pytest.raises(SourceError, match=r"asks to wait 3000 s|HTTP 429"):
        await reader.scan("t")
    assert keyed.answered == {"secret-a": 3, "secret-b": 3}


async def test_an_error_of_the_source_is_no_credentials_fault(serve: Serve, read: Read) -> None:
    asked = 0

    async def answer(_: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        raise web.HTTPNotFound

    reader = read(spec((await serve(answer)).url), **KEYS)
    with pytest.raises(SourceError, match="HTTP 404"):
        await reader.scan("t")
    assert asked == 1


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("[{type: bearer, token: a}]", "at least 2"),
        ("[{type: bearer, token: a}, {type: bearer, token: a}]", "credentials names one twice"),
        ("[{type: bearer, token: a}, {type: bearer, token: b}], auth: {type: bearer, token: c}", "one of the two"),
        ("[{type: bearer, token: a}, {type: oauth2, access_token_url: 'http://x/t', client_id: b}]", "where tokens come from"),
        ("[{type: oauth2, access_token_url: 'http://x/t', client_id: b, refresh_token: c}, {type: oauth2, access_token_url: 'http://x/t', client_id: b, refresh_token: d}]", "`account` tells them apart"),
        ("[{type: oauth2, access_token_url: 'http://x/t', client_id: b, refresh_token: c}, {type: oauth2, access_token_url: 'http://x/t', client_id: b, refresh_token: d, account: e}]", None),
        ("[{type: bearer, token: a}, {type: digest, username: a, password: b}]", None),
        ("[{type: bearer, token: a}, {type: bearer, tokn: b}]", "did you mean 'token'?"),
        ("[{type: bearer, token: a}, {type: api_key, name: k, api_key: b, location: query}]", None),
    ],
)  # fmt: skip
def test_lint_finds_what_is_wrong(tmp_path: Path, said: str, message: str | None) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(
        f"{{version: 1, sources: {{api: {{client: {{base_url: 'http://127.0.0.1:9', credentials: {said}}}, tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: r}}}}}}}}}}}}"
    )
    problems = [str(one) for one in lint(file)]
    assert (problems == []) if message is None else any(message in one for one in problems), problems


async def test_the_example_of_the_reference_runs(serve: Serve, read: Read) -> None:
    seen: Counter[str] = Counter()

    async def answer(request: web.Request) -> web.Response:
        seen[request.headers["X-Api-Key"]] += 1
        return web.json_response([{"id": request.path.rpartition("/")[2]}])

    text = (Path(__file__).parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")
    (example,) = (one for one in text.split("```yaml\n") if "credentials:" in one.split("```")[0])
    environ = {"GOV_TOKEN": "one-key", "FEC_KEY": "another-key"}
    url = (await serve(answer)).url
    reader = read(example.split("```")[0], FFF_LIBRARY_BASE_URL=url, **environ)
    found = await reader.lookup("books", *(f"b{at}" for at in range(6)))
    assert [row["id"] for row in found] == [f"b{at}" for at in range(6)]
    assert set(seen) <= set(environ.values())


class Granting(Keyed):
    """The same for tokens of an endpoint beside it, which gives each client another."""

    def __init__(self, shut: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self.shut = shut
        self.logins: Counter[str] = Counter()

    async def answer(self, request: web.Request) -> web.Response:
        if request.path in ("/token", "/login"):
            form = await request.post()
            who = str(form.get("client_secret") or form.get("password"))
            self.logins[who] += 1
            if who in self.shut:
                return web.Response(status=401)
            return web.json_response({"access_token": f"token-of-{who}", "expires_in": 3600})
        return await super().answer(request)


def granted(url: str, kind: str, keys: str = "KEY_A KEY_B") -> str:
    each = {
        "oauth2": "{{type: oauth2_client_credentials, access_token_url: '{url}/token', client_id: me, client_secret: '${{env:{key}}}'}}",
        "session": "{{type: session, login: {{path: login, form: {{password: '${{env:{key}}}'}}}}, token_path: access_token}}",
    }[kind]
    several = ", ".join(each.format(url=url, key=key) for key in keys.split())
    plain = spec(url)
    start, end = plain.index("credentials: [") + len("credentials: ["), plain.index("], retry")
    return plain[:start] + several + plain[end:]


@pytest.mark.parametrize("kind", ["oauth2", "session"])
async def test_those_that_are_fetched_are_shared_out_too(serve: Serve, read: Read, kind: str) -> None:
    granting = Granting()
    reader = read(granted((await serve(granting.answer)).url, kind, "KEY_A KEY_B KEY_C"), **KEYS)
    assert ids(await reader.scan("t", window=6)) == ROWS
    assert granting.logins == {"secret-a": 1, "secret-b": 1, "secret-c": 1}
    assert granting.seen.keys() == {"token-of-secret-a", "token-of-secret-b", "token-of-secret-c"}
    assert max(granting.seen.values()) <= 6


@pytest.mark.parametrize("kind", ["oauth2", "session"])
async def test_one_that_gets_no_token_is_set_aside_and_not_tried_again(
    serve: Serve, read: Read, kind: str
) -> None:
    granting = Granting(shut=frozenset({"secret-a"}))
    reader = read(granted((await serve(granting.answer)).url, kind), **KEYS)
    assert ids(await reader.scan("t")) == ROWS
    assert granting.logins == {"secret-a": 1, "secret-b": 1}
    assert granting.seen == {"token-of-secret-b": 12}
    (warning,) = reader.meter.warnings
    assert "api: credential 1 of 2 is refused" in warning
    assert "secret" not in warning


async def test_where_none_gets_a_token_it_is_an_error(serve: Serve, read: Read) -> None:
    granting = Granting(shut=frozenset(KEYS.values()))
    reader = read(granted((await serve(granting.answer)).url, "oauth2"), **KEYS)
    with pytest.raises(SourceError, match="HTTP 401") as caught:
        await reader.scan("t")
    assert "secret-" not in caught.value.render()
    assert max(granting.logins.values()) <= 2


class Refreshing(Keyed):
    """Tokens for refresh tokens, which rotate; rows say whose token asked."""

    def __init__(self) -> None:
        super().__init__()
        self.refreshed: Counter[str] = Counter()
        self.revoked: set[str] = set()

    async def answer(self, request: web.Request) -> web.Response:
        if request.path == "/token":
            form = await request.post()
            who = str(form["refresh_token"]).partition("-")[0]
            self.refreshed[who] += 1
            if who in self.revoked:
                return web.json_response({"error": "invalid_grant"}, status=400)
            number = self.refreshed[who]
            granted = {"access_token": f"access-{who}-{number}", "refresh_token": f"{who}-again-{number}"}
            return web.json_response(granted | {"expires_in": 3600})
        if request.path == "/whose":
            return web.json_response([{"id": request.headers["Authorization"].split("-")[1]}])
        return await super().answer(request)


def person(url: str, who: str, more: str = "") -> str:
    start = f"refresh_token: '{who}-first'" if who != "nobody" else f"authorization_url: '{url}/authorize'"
    return f"{{type: oauth2, access_token_url: '{url}/token', client_id: me, {start}{more}}}"


async def test_logins_of_persons_are_shared_out_and_kept_apart(
    serve: Serve, read: Read, tmp_path: Path
) -> None:
    granting = Refreshing()
    url = (await serve(granting.answer)).url
    people = ", ".join(person(url, who, f", account: {who}") for who in ("ann", "bob", "nobody"))
    plain = spec(url)
    start, end = plain.index("credentials: [") + len("credentials: ["), plain.index("], retry")
    text = plain[:start] + people + plain[end:]
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    for runs in (1, 2):
        reader = read(text, **environ)
        assert ids(await reader.scan("t", window=4)) == ROWS
        assert granting.refreshed == {"ann": 1, "bob": 1}
        assert set(granting.seen) == {"access-ann-1", "access-bob-1"}
        assert sum(granting.seen.values()) == 12 * runs
        (warning,) = reader.meter.warnings
        assert "api: credential 3 of 3 is refused" in warning
    kept = logged_in(tmp_path / "fff" / "logins")
    assert {(token.account, token.refresh_token) for token in kept} == {
        ("ann", "ann-again-1"),
        ("bob", "bob-again-1"),
    }
    granting.bad = frozenset(granting.seen)
    granting.revoked = {"ann"}
    reader = read(text, **environ)
    assert ids(await reader.scan("t")) == ROWS, (
        "one whose login has ended gives way, in the middle of a run too"
    )
    assert any("credential 1 of 3 is refused" in warning for warning in reader.meter.warnings)


async def test_where_nobody_is_logged_in_it_says_who_is_to(serve: Serve, read: Read, tmp_path: Path) -> None:
    granting = Refreshing()
    url = (await serve(granting.answer)).url
    people = ", ".join(person(url, "nobody", f", account: {who}") for who in ("'c d'", "'c d e'"))
    plain = spec(url)
    start, end = plain.index("credentials: [") + len("credentials: ["), plain.index("], retry")
    with pytest.raises(SecretError, match="nobody is logged in") as told:
        await read(plain[:start] + people + plain[end:], XDG_CONFIG_HOME=str(tmp_path)).scan("t")
    assert told.value.hint == "fff login api --account 'c d e'"


async def test_accounts_of_one_client_have_logins_of_their_own(
    serve: Serve, read: Read, tmp_path: Path
) -> None:
    granting = Refreshing()
    url = (await serve(granting.answer)).url
    text = f"""
version: 1
sources:
  api:
    client: {{base_url: '{url}', retry: {{max_attempts: 1}}}}
    accounts: {{each: {{acme: {{auth: {person(url, "ann")}}}, globex: {{auth: {person(url, "bob")}}}}}}}
    tables:
      t: {{columns: {{id: string}}, scan: {{endpoint: whose}}}}
"""
    for _ in range(2):
        rows = await read(text, XDG_CONFIG_HOME=str(tmp_path)).scan("t")
        assert sorted((row["account"], row["id"]) for row in rows) == [("acme", "ann"), ("globex", "bob")]
    assert granting.refreshed == {"ann": 1, "bob": 1}


@pytest.mark.parametrize(
    ("each", "logins"),
    [
        ("acme: {}, globex: {rate_limit: {max_concurrency: 2}}", {"acme": "ann", "globex": "bob"}),
        ("acme: {headers: {X-Team: east}}, globex: {params: {team: west}}", {None: "ann"}),
    ],
)
async def test_accounts_by_the_login_that_is_said_of_all(
    serve: Serve, read: Read, tmp_path: Path, each: str, logins: dict[str | None, str]
) -> None:
    url = (await serve(Refreshing().answer)).url
    text = f"""
version: 1
sources:
  api:
    client: {{base_url: '{url}', auth: {person(url, "nobody")}}}
    accounts: {{each: {{{each}}}}}
    tables:
      t: {{columns: {{id: string}}, scan: {{endpoint: whose}}}}
"""
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    source = read(text, **environ).catalog.source("api")
    for proof in source.proofs:
        auth, tokens = proof.login(source.http.policy, AccessMeter())
        await tokens.redeem(
            auth, {"grant_type": "refresh_token", "refresh_token": f"{logins[auth.account]}-first"}
        )
    rows = await read(text, **environ).scan("t")
    whose = {row["account"]: row["id"] for row in rows}
    assert whose == {name: logins.get(name, "ann") for name in ("acme", "globex")}
    assert {token.account for token in logged_in(tmp_path / "fff" / "logins")} == set(logins)


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ("client: {base_url: 'http://x', credentials: [ONE, TWO]}", ["ann"]),
        ("client: {base_url: 'http://x', auth: ONE}, accounts: {each: {a: {headers: {H: a}}, b: {headers: {H: b}}}}", ["ann"]),
        (
            "client: {base_url: 'http://x', auth: LAST}, accounts: {each: {a: {base_url: 'http://y'}, b: {base_url: 'http://z'}}}",
            ["a", "b"],
        ),
    ],
)  # fmt: skip
def test_logins_are_counted_by_what_they_are_kept_as(read: Read, told: str, wanted: list[str]) -> None:
    words = {"ONE": "me, account: ann", "TWO": "'${env:ME}', account: ann", "LAST": "me"}
    for word, client in words.items():
        told = told.replace(
            word,
            f"{{type: oauth2, access_token_url: 'http://x', authorization_url: 'http://x', client_id: {client}}}",
        )
    text = f"{{version: 1, sources: {{api: {{{told}, tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: r}}}}}}}}}}}}"
    source = read(text, ME="me").catalog.source("api")
    assert [auth.account for auth, _, _ in _logins(source, None)] == wanted


def test_the_login_of_an_account_has_no_other_name(tmp_path: Path) -> None:
    file = tmp_path / "fff.yaml"
    each = ", ".join(f"{name}: {{auth: {person('http://x', name, ', account: ann')}}}" for name in ("a", "b"))
    file.write_text(
        f"{{version: 1, sources: {{api: {{client: {{base_url: 'http://x'}}, accounts: {{each: {{{each}}}}}, tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: r}}}}}}}}}}}}"
    )
    told = [str(one) for one in lint(file)]
    assert sum("is called like the account" in one for one in told) == 2, told
