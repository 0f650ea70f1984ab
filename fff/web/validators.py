"""Answers that carried a validator: asked again, the source sends them only if they have changed (RFC 9110, section 13)."""

from __future__ import annotations

import json

from fff.structs import replace
from fff.web.addresses import full_url
from fff.web.gate.rate_limit_headers import is_of_quotas, moment
from fff.web.types import Credentials, HostPolicy, RawResponse, Remembered, Request

#: Headers about one exchange and not about what was answered (RFC 9110, 7.6.1; RFC 9111, 3.1). All others may
#: say something of the rows, as how many there are, where the next are, or that these are not all.
_PASSING = frozenset(
    {"age", "date", "retry-after", "set-cookie", "set-cookie2", "content-encoding", "content-length"}
    | {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "proxy-connection"}
    | {"proxy-authenticate", "proxy-authentication-info"}
)
_APART_S = 1.0  # seconds after which what is changed once more gets another Last-Modified


def remembered(answer: RawResponse, policy: HostPolicy) -> Remembered | None:
    """What to remember of an answer; None where it has no validator, or is not to be stored.

    `policy`: of its host, which may have quota headers of its own.
    """
    headers = answer.headers
    etag, modified = headers.get("etag", ""), headers.get("last-modified", "")
    if not etag and not _tells_changes(modified, headers.get("date", "")):
        return None
    directives = {part.strip().lower() for part in headers.get("cache-control", "").split(",")}
    if answer.status != 200 or "no-store" in directives or headers.get("vary", "").strip() == "*":
        return None
    passing = _PASSING | {name.strip().lower() for name in headers.get("connection", "").split(",")}
    kept = {
        name: text for name, text in headers.items() if name not in passing and not is_of_quotas(name, policy)
    }
    return Remembered(etag, modified, kept, answer.body)


def name_of(req: Request) -> bytes | None:
    """What tells a request from all others, whoever asks included; None for one that is not asked with a condition.

    The name holds secrets, though no credentials: it is to be hashed with a key before it is kept.
    """
    names = {name.lower() for name in req.headers}
    if req.method != "GET" or req.json is not None or req.form is not None:
        return None
    if "range" in names or any(name.startswith("if-") for name in names):
        return None
    headers = sorted((name.lower(), text) for name, text in req.headers.items())
    url = full_url(replace(req, credentials=Credentials()))
    return json.dumps([url, headers, req.credentials.identity]).encode()


def _tells_changes(modified: str, date: str) -> bool:
    """Whether a change since the answer was made is certain to show; within one second it is not."""
    if (when := moment(modified)) is None:  # as mostly
        return False
    now = moment(date)
    return now is not None and now - when >= _APART_S
