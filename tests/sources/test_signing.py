"""Requests that are signed: against published examples, and over a real wire to servers that check."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qsl, unquote

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from fff.errors import SecretError, SourceError
from fff_sources.http.request.signing import AwsSigner, DigestSigner, OAuth1Signer
from tests.sampling import every
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]
UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRETS = {"KEY": "AKIDEXAMPLE", "SECRET": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}


def spec(url: str, auth: str, endpoint: str = "{path: r}") -> str:
    client = f"client: {{base_url: '{url}', auth: {auth}, retry: {{max_attempts: 1}}}}"
    return f"{{version: 1, sources: {{api: {{{client}, tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: {endpoint}}}}}}}}}}}}}"


# -------------------------------------------------------------------------------------------- published examples


@pytest.mark.parametrize(
    ("method", "url", "signature"),
    [  # of the test suite that Amazon publishes for Signature Version 4
        ("GET", "https://example.amazonaws.com/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        (
            "GET",
            "https://example.amazonaws.com/?Param2=value2&Param1=value1",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        ("GET", "https://example.amazonaws.com/?%E1%88%B4=bar", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
        ("GET", "https://example.amazonaws.com/\u1234", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
        ("GET", f"https://example.amazonaws.com/?{UNRESERVED}={UNRESERVED}", "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
        ("POST", "https://example.amazonaws.com/?Param1=value1", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
        ("POST", "https://example.amazonaws.com/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    ],
)  # fmt: skip
def test_signature_version_4(method: str, url: str, signature: str) -> None:
    when = dt.datetime(2015, 8, 30, 12, 36, tzinfo=dt.UTC)
    signer = AwsSigner(SECRETS["KEY"], SECRETS["SECRET"], "us-east-1", "service", now=when.timestamp)
    assert signer(method, url, b"") == {
        "x-amz-date": "20150830T123600Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders=host;x-amz-date, Signature={signature}",
    }


def test_oauth_1() -> None:
    """The example of RFC 5849, 1.2."""
    signer = OAuth1Signer(
        "dpf43f3p2l4k3l03",
        "kd94hf93k423kf44",
        "nnch734d00sl2jdk",
        "pfkkdhi9sl3r4s00",
        realm="Photos",
        now=lambda: 137131202,
        nonce=lambda: "chapoH",
    )
    header = signer("GET", "http://photos.example.net/photos?file=vacation.jpg&size=original", b"")
    parts = dict(re.findall(r'(\w+)="([^"]*)"', header["Authorization"]))
    assert header["Authorization"].startswith('OAuth realm="Photos", ')
    assert parts["oauth_signature"] == "MdpQcU8iPSUjWoN%2FUDMsK2sui9I%3D"


RFC_2617 = 'realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"'
RFC_7616 = 'realm="http-auth@example.org", qop="auth, auth-int", algorithm={}, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="x"'


@pytest.mark.parametrize(
    ("challenge", "password", "nonce", "response"),
    [
        (f"Digest {RFC_2617}", "Circle Of Life", "0a4f113b", "6629fae49393a05397450978507c4ef1"),
        (
            f"Digest {RFC_7616.format('MD5')}",
            "Circle of Life",
            "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
            "8ca523f5e9506fed4657c9700eebdbec",
        ),
        (  # two challenges, of which the better one is met
            f"Basic realm=x, Digest {RFC_7616.format('MD5')}, Digest {RFC_7616.format('SHA-256')}",
            "Circle of Life",
            "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        ),
    ],
)
def test_digest(challenge: str, password: str, nonce: str, response: str) -> None:
    signer = DigestSigner("Mufasa", password, nonce=lambda: nonce)
    assert signer("GET", "http://www.example.org/dir/index.html", b"") == {}
    assert signer.learn(challenge)
    header = signer("GET", "http://www.example.org/dir/index.html", b"")["Authorization"]
    assert f'response="{response}"' in header
    assert "nc=00000001" in header
    assert "nc=00000002" in signer("GET", "http://www.example.org/", b"")["Authorization"]


def test_a_challenge_that_cannot_be_met() -> None:
    signer = DigestSigner("a", "b")
    assert not signer.learn('Basic realm="x"')
    assert not signer.learn('Digest realm="x", nonce="n", algorithm=SHA-512-256')
    assert not signer.learn('Digest realm="x", nonce="n", qop="auth-int"')


# ----------------------------------------------------------------------------------------------- over the wire


async def test_what_is_signed_is_what_is_sent(serve: Serve, read: Read) -> None:
    """The server takes the body and the URL as they came, and signs them by itself."""
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        when = dt.datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=dt.UTC)
        own = AwsSigner(SECRETS["KEY"], SECRETS["SECRET"], "eu-1", "es", "session-token", now=when.timestamp)
        url = f"http://{request.headers['Host']}{request.raw_path}"
        assert (
            own(request.method, url, await request.read())["Authorization"]
            == request.headers["Authorization"]
        )
        assert request.headers["x-amz-security-token"] == "session-token"
        seen.append(request.raw_path)
        start = int(request.query.get("offset", 0))
        return web.json_response([{"id": start + n} for n in range(2)] if start < 4 else [])

    auth = "{type: aws_sigv4, access_key: '${env:KEY}', secret_key: '${env:SECRET}', session_token: session-token, region: eu-1, service: es}"
    url = (await serve(answer)).url
    for endpoint in (
        "{path: 'a%20b/%C3%A4', params: {q: 'x y&ü=+', e: ''}, paginator: {type: offset}}",
        "{path: r, method: POST, json: {q: 'ä', n: [1, 2.5]}, paginator: {type: offset}}",
    ):
        reader = read(spec(url, auth, endpoint), **SECRETS)
        assert [row["id"] for row in await reader.scan("t")] == [0, 1, 2, 3]
    assert len(seen) == 6


async def test_oauth_1_over_the_wire(serve: Serve, read: Read) -> None:
    nonces: set[str] = set()

    async def answer(request: web.Request) -> web.Response:
        said = {a: unquote(b) for a, b in re.findall(r'(\w+)="([^"]*)"', request.headers["Authorization"])}
        own = OAuth1Signer(
            "key", SECRETS["SECRET"], "tok", "toksecret",
            method="HMAC-SHA256", now=lambda: float(said["oauth_timestamp"]), nonce=lambda: said["oauth_nonce"],
        )  # fmt: skip
        url = f"http://{request.headers['Host']}{request.raw_path}"
        assert own("GET", url, b"")["Authorization"] == request.headers["Authorization"]
        assert said["oauth_nonce"] not in nonces
        nonces.add(said["oauth_nonce"])
        page = int(request.query["page"])
        return web.json_response([{"id": page}] if page < 3 else [])

    auth = "{type: oauth1, consumer_key: key, consumer_secret: '${env:SECRET}', token: tok, token_secret: toksecret, signature_method: HMAC-SHA256}"
    endpoint = "{path: r, params: {q: 'a b'}, paginator: {type: page_number}}"
    reader = read(spec((await serve(answer)).url, auth, endpoint), **SECRETS)
    assert [row["id"] for row in await reader.scan("t")] == [1, 2]


class DigestServer:
    """Gives a nonce that is good for a few requests."""

    def __init__(self, good_for: int) -> None:
        self.good_for = good_for
        self.says: object = {}
        self.nonces: dict[str, set[str]] = {}
        self.refused = 0

    async def answer(self, request: web.Request) -> web.Response:
        header = request.headers.get("Authorization", "")
        said = {a: b or c for a, b, c in re.findall(r'(\w+)=(?:"([^"]*)"|([^\s,]+))', header)}
        counts = self.nonces.get(said.get("nonce", ""), None)

        def digest(*texts: str) -> str:
            return hashlib.sha256(":".join(texts).encode()).hexdigest()

        if counts is not None and said["nc"] not in counts and len(counts) < self.good_for:
            counts.add(said["nc"])
            who, what = digest("ann", "here", "geheim-wort"), digest("GET", request.raw_path)
            proof = digest(who, said["nonce"], said["nc"], said["cnonce"], "auth", what)
            if hmac.compare_digest(proof, said["response"]) and said["uri"] == request.raw_path:
                page = int(request.query["page"])
                return web.json_response([{"id": page}] if page < 6 else [])
        self.refused += 1
        nonce = f"nonce{self.refused}"
        self.nonces[nonce] = set()
        challenge = f'Digest realm="here", nonce="{nonce}", qop="auth", algorithm=SHA-256, stale=true'
        return web.json_response(self.says, status=401, headers={"WWW-Authenticate": challenge})


async def test_digest_over_the_wire(serve: Serve, read: Read) -> None:
    server = DigestServer(good_for=2)
    url = (await serve(server.answer)).url
    endpoint = "{path: r, params: {q: 'a b'}, paginator: {type: page_number}}"
    reader = read(spec(url, "{type: digest, username: ann, password: geheim-wort}", endpoint))
    assert [row["id"] for row in await reader.scan("t")] == [1, 2, 3, 4, 5]
    assert server.refused == 3  # at first, and whenever a nonce was used up
    server.says = {"error": "who are you?"}  # which a rule of the table reads
    ruled = spec(url, "{type: digest, username: ann, password: geheim-wort}", endpoint)
    ruled = ruled.replace("{t: {", "{t: {on_response: [{path: error, action: fail}], ")
    assert len(await read(ruled).scan("t")) == 5
    wrong = read(spec(url, "{type: digest, username: ann, password: falsches-wort}", endpoint))
    with pytest.raises(SourceError, match="401") as caught:
        await wrong.scan("t")
    assert "falsches-wort" not in caught.value.render()


RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = RSA.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()


async def test_an_assertion_is_sent_or_exchanged(serve: Serve, read: Read) -> None:
    exchanged: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/token":
            form = dict(parse_qsl((await request.read()).decode()))
            assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
            claims = jwt.decode(form["assertion"], RSA.public_key(), ["RS256"], audience="aud")
            assert (claims["iss"], claims["scope"]) == ("robot", "read write")
            assert jwt.get_unverified_header(form["assertion"])["kid"] == "k1"
            exchanged.append(form["assertion"])
            return web.json_response({"access_token": f"access-{len(exchanged)}", "expires_in": 3600})
        token = request.headers["Authorization"].removeprefix("Bearer ")
        if not token.startswith("access"):
            claims = jwt.decode(token, RSA.public_key(), ["RS256"], issuer="app")
            assert claims["exp"] - time.time() <= 300
        elif token != f"access-{len(exchanged)}" or (token == "access-1" and request.query["page"] == "2"):
            raise web.HTTPUnauthorized
        page = int(request.query["page"])
        return web.json_response([{"id": page}] if page < 4 else [])

    url = (await serve(answer)).url
    endpoint = "{path: r, paginator: {type: page_number}}"
    own = "{type: jwt, key: '${env:PEM}', claims: {iss: app}, expires_in: 300}"
    assert len(await read(spec(url, own, endpoint), PEM=PEM).scan("t")) == 3
    bought = f"{{type: jwt, key: '${{env:PEM}}', claims: {{iss: robot, aud: aud, scope: read write}}, headers: {{kid: k1}}, access_token_url: '{url}/token'}}"
    assert len(await read(spec(url, bought, endpoint), PEM=PEM).scan("t")) == 3
    assert len(exchanged) == 2  # a token was refused in the middle of the scan


class Shifted:
    """A server whose clock is another than this machine's, and which takes what is signed at its own time alone."""

    def __init__(self, ahead: float) -> None:
        self.ahead = ahead
        self.refused: list[str] = []
        self.given = 0
        self.jumps = 0.0  # by which its clock goes on once the second page is read

    async def answer(self, request: web.Request) -> web.Response:
        header = request.headers.get("Authorization", "")
        if request.path == "/token":
            form = dict(parse_qsl((await request.read()).decode()))
            self.given += self.holds(form["assertion"])
            answer = {"access_token": f"access-{self.given}"} if self.holds(form["assertion"]) else None
            return self.told("/token", answer or {"error": "invalid_grant"}, 200 if answer else 400)
        if header.startswith("Bearer access"):
            good = header == f"Bearer access-{self.given}"
        elif header.startswith("Bearer"):
            good = self.holds(header.removeprefix("Bearer "))
        elif header.startswith("OAuth"):
            (stamp,) = re.findall(r'oauth_timestamp="(\d+)"', header)
            good = abs(int(stamp) - self.now()) < 60
        else:
            when = dt.datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%S%z")
            good = abs(when.timestamp() - self.now()) < 60
        page = int(request.query.get("page", 1))
        if good and page == 2:
            self.ahead, self.jumps = self.ahead + self.jumps, 0.0
        rows = [{"id": page}] if page < 4 else []
        return self.told("/r", rows if good else {}, 200 if good else 403 if "AWS4" in header else 401)

    def now(self) -> float:
        return time.time() + self.ahead

    def holds(self, assertion: str) -> bool:
        claims = jwt.decode(
            assertion, RSA.public_key(), ["RS256"], options={"verify_iat": False, "verify_exp": False}
        )
        return bool(claims["iat"] <= self.now() < claims["exp"])

    def told(self, path: str, answer: object, status: int) -> web.Response:
        self.refused += [path] if status >= 400 else []
        return web.json_response(answer, status=status, headers={"Date": formatdate(self.now(), usegmt=True)})


CLOCKED = {
    "sent": "{type: jwt, key: '${env:PEM}', expires_in: 300}",
    "exchanged": "{type: jwt, key: '${env:PEM}', expires_in: 300, access_token_url: 'URL/token'}",
    "aws": "{type: aws_sigv4, access_key: '${env:KEY}', secret_key: '${env:SECRET}', region: eu, service: es}",
    "oauth1": "{type: oauth1, consumer_key: a, consumer_secret: '${env:SECRET}'}",
}


@pytest.mark.parametrize("auth", CLOCKED)
@pytest.mark.parametrize("ahead", every(3, [-80_000, 600, 0, -600, 80_000]))
async def test_what_is_signed_is_of_the_servers_time(
    serve: Serve, read: Read, auth: str, ahead: float
) -> None:
    server = Shifted(ahead)
    url = (await serve(server.answer)).url
    endpoint = "{path: r, paginator: {type: page_number}}"
    reader = read(spec(url, CLOCKED[auth].replace("URL", url), endpoint), PEM=PEM, **SECRETS)
    assert [row["id"] for row in await reader.scan("t")] == [1, 2, 3]
    assert server.refused == (["/token" if auth == "exchanged" else "/r"] if ahead else [])
    assert (reader.meter.failed, reader.meter.retries) == (0, len(server.refused))


@pytest.mark.parametrize("auth", CLOCKED)
async def test_what_ends_by_the_servers_clock_within_a_scan_is_signed_anew(
    serve: Serve, read: Read, auth: str
) -> None:
    server = Shifted(-600)
    server.jumps = 1500
    url = (await serve(server.answer)).url
    endpoint = "{path: r, paginator: {type: page_number}}"
    reader = read(spec(url, CLOCKED[auth].replace("URL", url), endpoint), PEM=PEM, **SECRETS)
    assert [row["id"] for row in await reader.scan("t")] == [1, 2, 3]
    assert len(server.refused) == (1 if auth == "exchanged" else 2)


@pytest.mark.parametrize("auth", CLOCKED)
async def test_a_clock_that_is_days_off_is_not_believed(serve: Serve, read: Read, auth: str) -> None:
    server = Shifted(200_000)
    url = (await serve(server.answer)).url
    reader = read(spec(url, CLOCKED[auth].replace("URL", url)), PEM=PEM, **SECRETS)
    with pytest.raises(SourceError, match="HTTP 40"):
        await reader.scan("t")
    assert len(server.refused) == (2 if auth == "sent" else 1)  # one more token is always tried


async def test_those_who_were_refused_together_ask_again_by_the_time_one_was_told(
    serve: Serve, read: Read
) -> None:
    server = Shifted(600)
    url = (await serve(server.answer)).url
    reader = read(spec(url, CLOCKED["aws"], "{path: r, paginator: {type: page_number}}"), **SECRETS)
    assert await asyncio.gather(*(reader.scan("t") for _ in range(4))) == [[{"id": n} for n in (1, 2, 3)]] * 4
    assert 1 <= len(server.refused) <= 4


async def test_a_key_that_is_none_is_not_shown(serve: Serve, read: Read) -> None:
    async def never(_: web.Request) -> web.Response:
        raise AssertionError

    url = (await serve(never)).url
    reader = read(spec(url, "{type: jwt, key: '${env:PEM}', claims: {iss: app}}"), PEM="no-key-at-all")
    with pytest.raises(SecretError, match="the key does not sign with RS256") as caught:
        await reader.scan("t")
    assert "no-key-at-all" not in str(caught.value.render())
    assert str(caught.value).startswith("api: "), "whose key it is"


async def test_no_secret_in_what_is_told(serve: Serve, read: Read) -> None:
    async def echo(request: web.Request) -> web.Response:
        told: dict[str, Any] = {"headers": dict(request.headers), "secret": SECRETS["SECRET"]}
        return web.Response(status=403, text=json.dumps(told), content_type="application/json")

    url = (await serve(echo)).url
    for auth in (
        "{type: aws_sigv4, access_key: '${env:KEY}', secret_key: '${env:SECRET}', region: eu, service: es}",
        "{type: oauth1, consumer_key: a, consumer_secret: '${env:SECRET}'}",
        "{type: digest, username: a, password: '${env:SECRET}'}",
    ):
        with pytest.raises(SourceError, match="403") as caught:
            await read(spec(url, auth), **SECRETS).scan("t")
        assert SECRETS["SECRET"] not in caught.value.render()
