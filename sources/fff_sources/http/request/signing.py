"""Requests that are signed one by one: AWS Signature Version 4, OAuth 1.0a, HTTP Digest.

A signer is given what goes out (method, whole URL, body) and gives the headers that prove who asks.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.structs import Struct, field, lazy_pattern
from fff.web.gate.rate_limit_headers import moment
from fff.web.types import Response

Answer = TypeVar("Answer")
NOT_GRANTED = frozenset({400, 401, 403})

_SAFE = "-_.~"
_LIKE = 30.0  # seconds by which clocks that are alike may differ
_DAY = 86_400.0  # seconds by which no server's clock is believed to differ from ours


class ServerClock:
    """What time it is for a server: by this machine's clock, until the server refuses and says another time."""

    def __init__(self) -> None:
        self.ahead = 0.0  # seconds

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + self.ahead

    def learn(self, date: str | None, then: float) -> bool:
        """Take the `Date` of a refusal; whether the clock is another now than when it was ahead by `then`."""
        when = moment(date or "")
        ahead = 0.0 if when is None else when - time.time()
        if when is not None and abs(ahead) <= _DAY and abs(ahead - self.ahead) > _LIKE:
            self.ahead = ahead
        return self.ahead != then

    async def signed(self, ask: Callable[[], Awaitable[Answer]], meter: AccessMeter) -> Answer:
        """What a signed request brings; where it is refused and the server's clock is another, one more by that clock."""
        then = self.ahead
        try:
            answer = await ask()
            if not isinstance(answer, Response) or answer.status not in NOT_GRANTED:
                return answer
            if not self.learn(answer.headers.get("date"), then):
                return answer
        except SourceError as error:
            if error.status not in NOT_GRANTED or not self.learn(error.date, then):
                raise
            meter.failed -= 1
        meter.retries += 1
        return await ask()


def _escaped(text: str) -> str:
    return quote(text, safe=_SAFE)


def _pairs(query: str, *more: tuple[str, str]) -> str:
    """The parameters of a query in the order and the spelling in which they are signed."""
    pairs = [*parse_qsl(query, keep_blank_values=True), *more]
    return "&".join(f"{name}={value}" for name, value in sorted((_escaped(a), _escaped(b)) for a, b in pairs))


class AwsSigner(Struct, frozen=True):
    """AWS Signature Version 4. `now` tells seconds since 1970."""

    access_key: str
    secret_key: str
    region: str
    service: str
    session_token: str | None = None
    now: Callable[[], float] = time.time

    def __call__(self, method: str, url: str, body: bytes) -> Mapping[str, str]:
        """The headers of one request."""
        parts, when = urlsplit(url), dt.datetime.fromtimestamp(self.now(), dt.UTC)
        stamp, day = when.strftime("%Y%m%dT%H%M%SZ"), when.strftime("%Y%m%d")
        digest = hashlib.sha256(body).hexdigest()
        signed = {"host": parts.netloc.rpartition("@")[2], "x-amz-date": stamp}
        if self.service == "s3":
            signed["x-amz-content-sha256"] = digest
        if self.session_token is not None:
            signed["x-amz-security-token"] = self.session_token
        names = ";".join(sorted(signed))
        path = parts.path or "/"
        canonical = "\n".join(
            [
                method,
                path
                if self.service == "s3"
                else quote(path, safe=f"/{_SAFE}"),  # others escape what is escaped
                _pairs(parts.query),
                *(f"{name}:{signed[name]}" for name in sorted(signed)),
                "",
                names,
                digest,
            ]
        )
        scope = f"{day}/{self.region}/{self.service}/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = f"AWS4{self.secret_key}".encode()
        for word in (day, self.region, self.service, "aws4_request"):
            key = hmac.digest(key, word.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        proof = f"AWS4-HMAC-SHA256 Credential={self.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        return {name: text for name, text in signed.items() if name != "host"} | {"Authorization": proof}


class OAuth1Signer(Struct, frozen=True):
    """OAuth 1.0a (RFC 5849). `now` tells seconds since 1970, `nonce` a text that never came before."""

    consumer_key: str
    consumer_secret: str
    token: str | None = None
    token_secret: str = ""
    method: str = "HMAC-SHA1"
    realm: str | None = None
    now: Callable[[], float] = time.time
    nonce: Callable[[], str] = field(default=secrets.token_hex)

    def __call__(self, method: str, url: str, _body: bytes) -> Mapping[str, str]:
        """The header of one request."""
        oauth = {
            "oauth_consumer_key": self.consumer_key,
            "oauth_nonce": self.nonce(),
            "oauth_signature_method": self.method,
            "oauth_timestamp": str(int(self.now())),
        }
        if self.token is not None:
            oauth["oauth_token"] = self.token
        parts = urlsplit(url)
        port = {"http": ":80", "https": ":443"}[parts.scheme]
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower().removesuffix(port)}{parts.path or '/'}"
        base = "&".join(map(_escaped, (method, place, _pairs(parts.query, *oauth.items()))))
        key = f"{_escaped(self.consumer_secret)}&{_escaped(self.token_secret)}"
        way = self.method.removeprefix("HMAC-").lower()
        oauth["oauth_signature"] = base64.b64encode(hmac.digest(key.encode(), base.encode(), way)).decode()
        realm = [] if self.realm is None else [f'realm="{self.realm}"']
        return {
            "Authorization": "OAuth "
            + ", ".join([*realm, *(f'{_escaped(name)}="{_escaped(text)}"' for name, text in oauth.items())])
        }


_CHALLENGE = lazy_pattern(
    r'\bDigest\s+((?:[\w-]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s,"]+)\s*(?:,\s*|$))+)', re.IGNORECASE
)
_PART = lazy_pattern(r'([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_HASHES = {"sha-256": "sha256", "sha-256-sess": "sha256", "md5": "md5", "md5-sess": "md5"}  # best first


class DigestSigner(Struct):
    """HTTP Digest (RFC 7616), once the server has said what is to be proved."""

    username: str
    password: str
    nonce: Callable[[], str] = field(default=secrets.token_hex)
    _challenge: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    def learn(self, header: str) -> bool:
        """Take a challenge out of WWW-Authenticate; whether there is one that can be met."""
        challenges = [
            {part[1].lower(): part[2] if part[2] is not None else part[3] for part in _PART.finditer(one[1])}
            for one in _CHALLENGE.finditer(header)
        ]
        for algorithm in _HASHES:
            for one in challenges:
                ways = {way.strip() for way in one.get("qop", "auth").lower().split(",")}
                if one.get("algorithm", "md5").lower() == algorithm and "nonce" in one and "auth" in ways:
                    self._challenge, self._count = one, 0
                    return True
        return False

    def __call__(self, method: str, url: str, _body: bytes) -> Mapping[str, str]:
        """The header of one request; none before there was a challenge."""
        challenge = self._challenge
        if not challenge:
            return {}
        algorithm = challenge.get("algorithm", "MD5")
        parts = urlsplit(url)
        uri = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

        def digest(*texts: str) -> str:
            way = _HASHES[algorithm.lower()]
            return hashlib.new(way, ":".join(texts).encode(), usedforsecurity=False).hexdigest()

        self._count += 1
        count, own = f"{self._count:08x}", self.nonce()
        nonce, realm = challenge["nonce"], challenge.get("realm", "")
        who = digest(self.username, realm, self.password)
        if algorithm.lower().endswith("-sess"):
            who = digest(who, nonce, own)
        what = digest(method, uri)
        proof = {"username": self.username, "realm": realm, "nonce": nonce, "uri": uri}
        if "qop" in challenge:
            proof["response"] = digest(who, nonce, count, own, "auth", what)
            proof["cnonce"] = own
        else:
            proof["response"] = digest(who, nonce, what)
        proof |= {"opaque": challenge["opaque"]} if "opaque" in challenge else {}
        bare = {"algorithm": algorithm} if "algorithm" in challenge else {}
        bare |= {"qop": "auth", "nc": count} if "qop" in challenge else {}
        quoted = (f'{name}="{_in_quotes(text)}"' for name, text in proof.items())
        return {"Authorization": "Digest " + ", ".join([*quoted, *(f"{a}={b}" for a, b in bare.items())])}


def _in_quotes(text: str) -> str:
    return re.sub(r'(?<!\\)"', r"\"", text)
