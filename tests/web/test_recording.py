"""Exchanges are written to a folder without their secrets, and answered from it without a network."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web

from fff.errors import SecretError, SourceError, UsageError
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.recording import about, read_index, recording_client, replaying_client
from fff.web.secrets import Secrets
from fff.web.types import Credentials, HostPolicy, Request, Response
from tests.web import simulated
from tests.web.serving import Serve
from tests.web.taped import tape

SECRET = 't0p/s3cret+"x ü'
SPELLINGS = [SECRET, quote(SECRET, safe=""), quote(SECRET), json.dumps(SECRET)[1:-1], "t0p/s3", "t0p%2Fs3"]
BASE = "http://source.example"
QUICK = HostPolicy(max_attempts=3, max_delay=0, base_delay=0)


@pytest.fixture
async def opened() -> AsyncIterator[list[WebClient]]:
    clients: list[WebClient] = []
    yield clients
    for client in clients:
        await client.close()


def everything(folder: Path) -> str:
    """All that a recording holds, names included."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert len(files) > 2
    return "\n".join(f"{file}\n{file.read_bytes().decode('utf-8', 'surrogateescape')}" for file in files)


async def rows(_: web.Request) -> web.StreamResponse:
    return web.Response(text="rows")


async def ask(client: WebClient, url: str, **fields: Any) -> Response:
    return await client.request(Request(url, policy=QUICK, source="gov", **fields), meter=AccessMeter())


async def test_what_was_recorded_is_answered_again(serve: Serve, tmp_path: Path) -> None:
    times = iter([503, 200])

    async def handler(asked: web.Request) -> web.StreamResponse:
        if asked.path == "/moved":
            return web.Response(status=302, headers={"Location": "/there?x=1"})
        if asked.path == "/flaky":
            return web.Response(status=next(times), text="at last")
        if asked.path == "/chunks":
            answer = web.StreamResponse()
            await answer.prepare(asked)
            for number in range(3):
                await answer.write(f"part {number};".encode())
            return answer
        if asked.path == "/binary":
            return web.Response(body=bytes(range(256)))
        return web.json_response(
            [asked.method, asked.path_qs, await asked.text(), asked.headers.get("X-Zip")]
        )

    server = await serve(handler)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/moved", {}),
        ("/flaky", {}),
        ("/chunks", {}),
        ("/binary", {}),
        ("/post", {"method": "POST", "json": {"keys": [1, 2]}}),
        ("/post", {"method": "POST", "json": {"keys": [3]}}),
        ("/form", {"method": "POST", "form": {"q": "a b"}}),
        ("/head", {"headers": {"X-Zip": "1"}}),
        ("/head", {"headers": {"X-Zip": "2"}}),
    ]

    async def run(client: WebClient, *, backwards: bool) -> tuple[list[Any], int]:
        got = []
        for path, fields in reversed(asked) if backwards else asked:
            answer = await ask(client, server.url + path, **fields)
            got.append((path, str(fields), answer.status, answer.body, answer.url, answer.attempts))
        await client.close()
        return sorted(got), client.requests_sent

    live = await run(recording_client(tmp_path / "tape"), backwards=False)
    sent = len(server.asked)
    assert sent == live[1] == len(read_index(tmp_path / "tape")) == 11
    again = await run(replaying_client(tmp_path / "tape", 0), backwards=True)
    assert again == live
    assert len(server.asked) == sent, "nothing was sent"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o377])
@pytest.mark.parametrize("there", [True, False])
async def test_a_recording_is_its_owners_alone(serve: Serve, tmp_path: Path, umask: int, there: bool) -> None:
    served = await serve(rows)
    folder = tmp_path / "recording"
    if there:
        folder.mkdir(0o755)
    before = os.umask(umask)
    try:
        client = recording_client(folder)
        await ask(client, f"{served.url}/a")
        client.redactor.add("rows")  # it is written anew
        await client.close()
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}
    assert len(modes) == 5
    assert {mode for name, mode in modes.items() if "." in name} == {0o600}
    assert {mode for name, mode in modes.items() if "." not in name} == {0o700}


async def test_a_full_disk_ends_a_recording_with_one_error(serve: Serve, tmp_path: Path) -> None:
    served = await serve(rows)
    client = recording_client(tmp_path / "recording")
    (tmp_path / "recording" / "index.jsonl").unlink()
    (tmp_path / "recording" / "index.jsonl").symlink_to("/dev/full")
    with pytest.raises(UsageError, match=r"cannot write the recording .*No space left"):
        await ask(client, f"{served.url}/a")
    await client.close()


async def test_a_line_tells_what_was_asked_and_when(serve: Serve, tmp_path: Path) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"a": 1}, headers={"X-RateLimit-Remaining": "7"})

    server = await serve(handler)
    client = recording_client(tmp_path / "tape", {"seed": 5})
    await ask(client, f"{server.url}/t", params=(("q", "a&b"),))
    await client.close()
    (line,) = read_index(tmp_path / "tape")
    assert (line["id"], line["method"], line["url"]) == (1, "GET", f"{server.url}/t?q=a%26b")
    assert (line["status"], line["headers"]["x-ratelimit-remaining"], line["bytes"]) == (200, "7", 8)
    assert (tmp_path / "tape" / line["body"]).read_text() == '{"a": 1}'
    assert 0 == line["asked_s"] < line["first_byte_s"] <= line["end_s"]
    assert about(tmp_path / "tape")["seed"] == 5


async def test_no_secret_is_recorded(serve: Serve, tmp_path: Path) -> None:
    async def handler(asked: web.Request) -> web.Response:
        if asked.path == "/token":
            return web.json_response({"access_token": "fresh-token-1", "expires_in": 60})
        link = f"<{asked.url.with_path('/next')}>; rel=next"
        headers = {
            "Link": link,
            "Set-Cookie": 'sid=cookie-secret; Expires=Wed, 21 Oct 2037 07:28:00 GMT, two="cookie-secret"',
            "X-Echo": asked.headers.get("Authorization", ""),
        }
        text = (
            f"{asked.url} {SECRET} {quote(SECRET, safe='')} {json.dumps(SECRET)} /a?api_key=literal-key&x=1"
        )
        return web.Response(text=f"{text} late-secret", headers=headers)

    server = await serve(handler)
    client = recording_client(tmp_path / "tape")
    client.redactor.add(SECRET)
    who = Credentials({"Authorization": f"Bearer {quote(SECRET)}", "X-Own": "own-secret"}, {"k": "ab"}, "me")
    await ask(
        client, f"{server.url}/{quote(SECRET, safe='')}", credentials=who, headers={"X-Api-Key": "named-key"}
    )
    await ask(
        client,
        f"{server.url}/q?api_key=literal-key&y=1",
        method="POST",
        json={"deep": [SECRET], "token": "inner"},
    )
    form = {"grant_type": "client_credentials", "client_secret": "form-secret"}
    await ask(client, f"{server.url}/token", method="POST", form=form)
    client.redactor.add("late-secret")  # learnt after it was written
    await client.close()
    held = everything(tmp_path / "tape")
    hidden = [
        "own-secret",
        "named-key",
        "literal-key",
        "inner",
        "form-secret",
        "fresh-token",
        "cookie-secret",
        "late-secret",
    ]
    for spelling in [*SPELLINGS, *hidden, "k=ab"]:
        assert spelling not in held, spelling
    assert "grant_type=client_credentials" in held
    assert "sid=***; Expires=Wed, 21 Oct 2037 07:28:00 GMT, two=***" in held, "a login looks for the name"

    replay = replaying_client(tmp_path / "tape", 0)  # knows none of them
    own = {"deep": ["***"], "token": "inner"}
    answer = await ask(replay, f"{server.url}/q?y=1&api_key=literal-key", method="POST", json=own)
    assert "/a?api_key=***&x=1" in answer.body.decode()
    await replay.close()


def test_a_replay_needs_no_secrets(tmp_path: Path) -> None:
    tape(tmp_path / "tape", [{"url": f"{BASE}/***/x?key=***", "text": "in"}])
    client = replaying_client(tmp_path / "tape", 0)
    path = Secrets({}, tmp_path, client.redactor).fill("/${env:NOWHERE}/x")
    answer = asyncio.run(ask(client, BASE + path, params=(("api_key", path),)))
    assert answer.body == b"in"
    with pytest.raises(SecretError):
        Secrets({}, tmp_path, WebClient().redactor).fill("${env:NOWHERE}")


def _in_header(value: str) -> dict[str, Any]:
    return {"headers": {"X-Key": f"key {value}"}}


@pytest.mark.parametrize(
    "asking",
    [
        lambda value: {"params": (("token", value),)},
        _in_header,
        lambda value: {"method": "POST", "json": {"deep": [{"Password": value}]}},
        lambda value: {"method": "POST", "form": {"secret": value}},
    ],
)
async def test_values_that_have_the_name_of_a_secret_are_told_apart(
    serve: Serve, tmp_path: Path, asking: Callable[[str], dict[str, Any]]
) -> None:
    """Keys, say: none of them is recorded, and none is answered with the rows of another."""

    async def handler(asked: web.Request) -> web.Response:
        return web.Response(text=str(len(server.asked)))

    server = await serve(handler)
    client = recording_client(tmp_path / "tape")
    client.redactor.add(SECRET)
    live = [(await ask(client, server.url, **asking(value))).body for value in ("alpha-1", "beta-22", SECRET)]
    await client.close()
    assert "alpha-1" not in everything(tmp_path / "tape")
    replay = replaying_client(tmp_path / "tape", 0)
    again = [(await ask(replay, server.url, **asking(value))).body for value in ("beta-22", "alpha-1")]
    assert again == [live[1], live[0]]
    secret = Secrets({}, tmp_path, replay.redactor).fill("${env:NOWHERE}")
    assert (await ask(replay, server.url, **asking(secret))).body == live[2], "a secret need not be there"
    with pytest.raises(SourceError, match="has no answer to") as caught:
        await ask(replay, server.url, **asking("gamma-3"))
    assert "another" in (caught.value.hint or "")
    await replay.close()


async def test_equal_requests_are_answered_in_turn_and_then_by_the_last(
    tmp_path: Path, opened: list[WebClient]
) -> None:
    tape(tmp_path, [{"url": f"{BASE}/t?a=1&b=2", "text": text} for text in ("one", "two")])
    opened.append(replaying_client(tmp_path, 0))
    got = [(await ask(opened[0], f"{BASE}/t?b=2&a=1")).body for _ in range(4)]
    assert got == [b"one", b"two", b"two", b"two"], "and the order of parameters is nothing"


async def test_what_was_not_recorded_is_an_error(tmp_path: Path, opened: list[WebClient]) -> None:
    tape(tmp_path / "tape", [{"url": f"{BASE}/t?a=1", "text": "one"}])
    opened.append(replaying_client(tmp_path / "tape", 0))
    with pytest.raises(SourceError, match=r"gov: the recording 'tape' has no answer to GET .*a=2") as caught:
        await ask(opened[0], f"{BASE}/t?a=2")
    assert caught.value.attempts == 1
    assert f"recorded is GET {BASE}/t?a=1" in (caught.value.hint or "")
    with pytest.raises(SourceError, match="has no answer to POST"):
        await ask(opened[0], f"{BASE}/t?a=1", method="POST", json={})


async def test_failures_are_recorded_and_happen_again(
    tmp_path: Path, unused_tcp_port: int, opened: list[WebClient]
) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}/"
    messages = []
    for make in (recording_client, lambda folder: replaying_client(folder, 0)):
        opened.append(make(tmp_path / "tape"))
        with pytest.raises(SourceError, match=r"cannot connect.* after 3 attempts") as caught:
            await ask(opened[-1], url)
        messages.append(str(caught.value))
        await opened[-1].close()
    assert messages[0] == messages[1]
    assert len(read_index(tmp_path / "tape")) == 3


@pytest.mark.parametrize(("speed", "took"), [(1.0, 6.0), (2.0, 3.0), (0.0, 0.0)])
def test_answers_take_the_time_they_took(tmp_path: Path, speed: float, took: float) -> None:
    waits = {"asked_s": 1.0, "first_byte_s": 1.5, "end_s": 3.0}
    refused = {"status": 429, "headers": {"retry-after": "2"}, "asked_s": 0.0, "end_s": 2.0}
    tape(tmp_path, [{"url": f"{BASE}/t", **refused}, {"url": f"{BASE}/t", "text": "one", **waits}])

    async def main() -> tuple[bytes, float]:
        client = replaying_client(tmp_path, speed, rng=random.Random(1))
        answer = await ask(client, f"{BASE}/t")
        await client.close()
        return answer.body, asyncio.get_running_loop().time()

    assert simulated.run(main()) == (b"one", pytest.approx(took))


def test_dates_mean_what_they_meant(tmp_path: Path) -> None:
    spent = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000009"}
    tape(tmp_path, [{"url": f"{BASE}/t", "text": text, "headers": spent} for text in ("one", "two")])
    (tmp_path / "recording.json").write_text('{"format": 1, "started": 1700000000}')

    async def main() -> float:
        client = replaying_client(tmp_path)
        for _ in range(2):
            await ask(client, f"{BASE}/t")
        await client.close()
        return asyncio.get_running_loop().time()

    assert simulated.run(main()) == pytest.approx(9)


def broken_index(folder: Path) -> None:
    (folder / "index.jsonl").write_text("{nonsense\n")


def no_exchange(folder: Path) -> None:
    (folder / "index.jsonl").write_text("[]\n")


def later_format(folder: Path) -> None:
    (folder / "index.jsonl").write_text("")
    (folder / "recording.json").write_text('{"format": 2}')


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda _: None, "holds no recording"),
        (broken_index, "index.jsonl of .* is damaged"),
        (no_exchange, "a line is no exchange"),
        (later_format, "not a recording of format 1"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, prepare: Callable[[Path], None], message: str) -> None:
    prepare(tmp_path)
    with pytest.raises(UsageError, match=message):
        replaying_client(tmp_path)


def test_a_recording_is_not_overwritten(tmp_path: Path) -> None:
    recording_client(tmp_path / "tape")
    with pytest.raises(UsageError, match="holds a recording already"):
        recording_client(tmp_path / "tape")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot record to"):
        recording_client(tmp_path / "file" / "tape")


async def test_recorded_answers_of_real_servers_can_be_replayed(
    shared_folder: Path, opened: list[WebClient]
) -> None:
    opened.append(replaying_client(shared_folder / "recorded", 0))
    url = "https://api.github.com/repos/octokit-fixture-org/paginate-issues/issues"
    answer = await ask(opened[0], url, params=(("per_page", "3"),), headers={"Accept": "application/json"})
    assert len(json.loads(answer.body)) == 3
    assert 'rel="next"' in answer.headers["link"]
