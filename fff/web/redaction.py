"""Exchanges without their secrets: what a recording may hold, and what tells one request from another."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from fff.structs import lazy_pattern
from fff.web.secrets import MASK, SECRET_PARAMS, Redactor
from fff.web.types import Outgoing

_SECRET_HEADER = lazy_pattern(
    r"(^|[-_])(auth|authorization|token|api-?key|key|secret|password|cookie|session|signature)([-_]|$)"
)
_COOKIE = lazy_pattern(r'((?:^|,\s*)[^=;,\s]+=)("[^"]*"|[^;,]*)')
_NAMES = "|".join(sorted(map(re.escape, SECRET_PARAMS)))
_MEMBER = lazy_pattern(rf'("(?:{_NAMES}|refresh_token|id_token)"\s*:\s*)"(?:[^"\\]|\\.)*"', re.IGNORECASE)

#: What tells a request from another: secrets, and parameters that hold them, are no part of it.
Key = tuple[str, str, tuple[tuple[str, str], ...], str, tuple[tuple[str, str], ...]]


def tells_who_asks(header: str) -> bool:
    """Whether a header of this name usually holds a secret."""
    return _SECRET_HEADER.search(header.lower()) is not None


class Scrubber:
    """Takes secrets out of requests and answers: those known, and whatever has the usual name of one."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._params: set[str] = set()
        self._learn(SECRET_PARAMS)

    @property
    def known(self) -> int:
        """How much is known; what was scrubbed when less was known may still hold a secret."""
        return self._redactor.known

    def request(self, out: Outgoing) -> dict[str, object]:
        """The request as a recording tells it: method, url, req_headers, req_body."""
        self._learn(out.secret_params)
        kept = {name: text for name, text in out.headers.items() if name not in out.secret_headers}
        body: object = None
        if out.json is not None:
            body = self._json(out.json)
        elif out.form is not None:
            body = urlencode(self._pairs(list(out.form.items())), safe="*")
        return {
            "method": out.method,
            "url": self.url(out.url),
            "req_headers": self.headers(kept),
            "req_body": body,
        }

    def masked(self, out: Outgoing) -> dict[str, str]:
        """What the request tells under names of secrets: `***` for a secret, which a replay need not have, else a digest.

        A key may have such a name, and is not to be answered with the rows of another one.
        """
        self._learn(out.secret_params)
        told: dict[str, list[str]] = {}
        pairs = [*parse_qsl(urlsplit(out.url).query, keep_blank_values=True), *(out.form or {}).items()]
        for name, value in [*pairs, *_members(out.json)]:
            if name.lower() in self._params:
                told.setdefault(name.lower(), []).append(value)
        for name, value in out.headers.items():
            if tells_who_asks(name) and name not in out.secret_headers:
                told.setdefault(f"{name.lower()}:", []).append(value)
        secret = frozenset(name.lower() for name in out.secret_params)
        return {
            name: MASK
            if name in secret or any(MASK in one or self._redactor.holds_secret(one) for one in values)
            else _digest(name, "\n".join(values))
            for name, values in told.items()
        }

    def url(self, url: str) -> str:
        """The whole URL, its secrets masked, as it was sent otherwise."""
        parts = urlsplit(self._redactor.strip(url))
        netloc = parts.netloc
        if "@" in netloc:
            netloc = f"{MASK}@{netloc.rpartition('@')[2]}"
        pieces = []
        for piece in parts.query.split("&"):
            name, equals, _ = piece.partition("=")
            pieces.append(f"{name}={MASK}" if equals and name.lower() in self._params else piece)
        return urlunsplit((parts.scheme, netloc, parts.path, "&".join(pieces), ""))

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Headers, those with a name of secrets masked; of cookies that are set the values, as a login looks for names."""
        return {
            name.lower(): _COOKIE.sub(rf"\1{MASK}", text)
            if name.lower() == "set-cookie"
            else MASK
            if tells_who_asks(name)
            else self.text(text)
            for name, text in headers.items()
        }

    def body(self, body: bytes, *, of_token: bool = False) -> bytes:
        """An answer's body.

        `of_token`: it answers a request that proved who asks, and may hold further secrets.
        """
        text = self.text(body.decode("utf-8", "surrogateescape"))
        if of_token:
            text = _MEMBER.sub(rf'\1"{MASK}"', text)
        return text.encode("utf-8", "surrogateescape")

    def text(self, text: str) -> str:
        """A text without known secrets and without those in links."""
        return self._in_link.sub(rf"\1{MASK}", self._redactor.strip(text))

    def _learn(self, names: frozenset[str]) -> None:
        """Parameters of these names hold secrets."""
        lower = {name.lower() for name in names}
        if not lower <= self._params:
            self._params |= lower
            any_of = "|".join(sorted(map(re.escape, self._params)))
            self._in_link = re.compile(rf"((?:[?&]|\\u0026)(?:{any_of})=)[^&\s\"'<>\\,;]+", re.IGNORECASE)

    def _pairs(self, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [
            (name, MASK if name.lower() in self._params else self._redactor.strip(text))
            for name, text in pairs
        ]

    def _json(self, value: object) -> object:
        if isinstance(value, str):
            return self._redactor.strip(value)
        if isinstance(value, Mapping):
            return {
                name: MASK if str(name).lower() in self._params else self._json(item)
                for name, item in value.items()
            }
        return [self._json(item) for item in value] if isinstance(value, list | tuple) else value


def may_be_of(recorded: Mapping[str, str], asked: Mapping[str, str]) -> bool:
    """Whether a recorded request may be the one asked, by what both tell under names of secrets.

    A link of a recorded answer has none of its secrets, and a secret that may be missing is left out.
    """
    pairs = [(recorded.get(name), asked.get(name)) for name in {*recorded, *asked}]
    return all(other in (one, MASK) or (one, other) == (MASK, None) for one, other in pairs)


@lru_cache(maxsize=4096)
def _digest(name: str, value: str) -> str:
    """What tells a value from another; dear to compute, so that few can be tried for one that is not known."""
    salt = f"fff recording {name}".encode()
    return hashlib.scrypt(
        value.encode("utf-8", "surrogatepass"), salt=salt, n=2**12, r=8, p=1, dklen=12
    ).hex()


def _members(value: object) -> Iterator[tuple[str, str]]:
    """Every member of a body, however deep."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name), json.dumps(item, sort_keys=True, default=str, ensure_ascii=False)
            yield from _members(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _members(item)


def asks_for_token(out: Outgoing) -> bool:
    """Whether the body proves who asks, so that the answer may be a secret."""
    names = {*(out.form or {}), *(out.json if isinstance(out.json, Mapping) else ())}
    return any(str(name).lower() in SECRET_PARAMS | {"grant_type", "assertion"} for name in names)


def key_of(request: Mapping[str, object]) -> Key:
    """What tells a scrubbed request from another, whatever the order of its parameters."""
    parts = urlsplit(str(request["url"]))
    pairs = sorted(pair for pair in parse_qsl(parts.query, keep_blank_values=True) if MASK not in pair[1])
    headers = request.get("req_headers")
    fields = headers.items() if isinstance(headers, Mapping) else ()
    return (
        str(request["method"]).upper(),
        urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path or "/", "", "")),
        tuple(pairs),
        json.dumps(_unmasked(request.get("req_body")), sort_keys=True),
        tuple(sorted((str(name).lower(), str(text)) for name, text in fields if MASK not in str(text))),
    )


def _unmasked(value: object) -> object:
    """A body without its masked parts."""
    if isinstance(value, str):
        pairs = parse_qsl(value, keep_blank_values=True)
        return sorted(pair for pair in pairs if MASK not in pair[1]) if "=" in value else value
    if isinstance(value, Mapping):
        return {name: _unmasked(item) for name, item in value.items() if item != MASK}
    return [_unmasked(item) for item in value] if isinstance(value, list) else value
