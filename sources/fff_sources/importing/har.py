"""HAR files: what a browser or a client sent and got. Nothing of what proves who asked is taken over."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from fff.errors import UsageError
from fff.structs import lazy_pattern
from fff_sources.authoring.draft import SpecDraft
from fff_sources.authoring.sampling.address import is_secret, take_apart
from fff_sources.http.response.json import MalformedJSON, decode
from fff_sources.importing.examples import Example, Hiding, drafts_of_examples, mappings, segments_of, text_of
from fff_sources.importing.fidelity import FidelityReport

_MOST = 20_000  # requests
_PROVES = lazy_pattern(r"key|token|auth|secret|session|signature|passw|credential", re.IGNORECASE)


def drafts_of_har(data: Mapping[str, Any], source: str, report: FidelityReport) -> list[SpecDraft]:
    """The sources of a HAR file: GETs that were answered in JSON."""
    log = data.get("log")
    hiding = Hiding(source, report)
    examples = []
    for entry in mappings(log.get("entries") if isinstance(log, Mapping) else None)[:_MOST]:
        example = _example(entry, hiding)
        if example is not None:
            examples.append(example)
    return drafts_of_examples(examples, source, report)


def _example(entry: Mapping[str, Any], hiding: Hiding) -> Example | None:
    """One request and its answer; None where it is no read of JSON."""
    request, response = entry.get("request"), entry.get("response")
    if not isinstance(request, Mapping) or not isinstance(response, Mapping):
        return None
    try:
        address = take_apart(text_of(request.get("url")))
    except UsageError:
        return None
    value = _answer(response)
    if value is None:
        return None
    parts, keys = segments_of(address.path)
    request_line = f"{text_of(request.get('method')).upper()} /{'/'.join(parts)}"
    if text_of(request.get("method")).upper() != "GET":
        hiding.report.leave_out(request_line, "only what is read by GET is a table")
        return None
    example = Example(address.base_url, parts, keys, value=value, has_answer=True)
    example.params = {name: hiding.param(name, text) for name, text in address.params}
    if address.login is not None:
        example.auth = hiding.basic()
    _headers(request, example, hiding)
    for name in address.secrets:
        hiding.report.add("", f"parameter {name}", "approximated", "taken for a secret: set its variable")
        if example.auth is None:
            key = hiding.secret(name)
            example.auth = {"type": "api_key", "name": name, "api_key": key, "location": "query"}
        else:
            example.params[name] = hiding.secret(name)
    return example


def _headers(request: Mapping[str, Any], example: Example, hiding: Hiding) -> None:
    """The login that headers show. All others are a browser's own, and may tell whose it is."""
    for header in mappings(request.get("headers")):
        name = text_of(header.get("name"))
        if name.lower() == "cookie":
            hiding.report.add(
                "", "cookies", "dropped", "where they are a login, write `auth` (session) by hand"
            )
        elif name.startswith(":"):
            continue
        elif is_secret(name) or _PROVES.search(name) is not None:
            auth = hiding.auth_of_header(name, text_of(header.get("value")))
            if example.auth is None:
                example.auth = auth
            else:
                example.headers[name] = hiding.secret(name)
        elif name:
            hiding.report.add(
                "", f"header {name.lower()}", "dropped", "not sent: write it by hand where it is needed"
            )


def _answer(response: Mapping[str, Any]) -> Any:
    """The answer's JSON; None where there is none."""
    content = response.get("content")
    if response.get("status") != 200 or not isinstance(content, Mapping):
        return None
    text = text_of(content.get("text"))
    try:
        if content.get("encoding") == "base64":
            text = base64.b64decode(text, validate=True).decode("utf-8")
        value = decode(text) if text.lstrip()[:1] in ("{", "[") else None
    except (MalformedJSON, ValueError, binascii.Error, RecursionError):
        return None
    return value
