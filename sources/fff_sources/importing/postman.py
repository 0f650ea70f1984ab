"""Postman collections (v2): requests with variables, and the answers that are kept beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, unquote

from fff.structs import lazy_pattern
from fff_sources.authoring.draft import SpecDraft, identifier, unique
from fff_sources.authoring.sampling.address import is_secret
from fff_sources.http.response.json import MalformedJSON, decode
from fff_sources.http.templates import escaped
from fff_sources.importing.examples import (
    Example,
    Hiding,
    drafts_of_examples,
    filled,
    is_token,
    mapping,
    mappings,
    text_of,
)
from fff_sources.importing.fidelity import FidelityReport

_DEEPEST = 20  # folders in folders
_MOST = 5_000  # requests
_VARIABLE = lazy_pattern(r"\{\{\s*([^{}]{1,100}?)\s*\}\}")


def drafts_of_postman(data: Mapping[str, Any], source: str, report: FidelityReport) -> list[SpecDraft]:
    """The sources of a collection."""
    collection = _Collection(data, Hiding(source, report))
    examples = []
    for number, (item, auth) in enumerate(_requests(data, data.get("auth"), 0)):
        if number == _MOST:
            report.leave_out("(more)", f"a collection has at most {_MOST:,} requests")
            break
        example = collection.example(item, auth)
        if example is not None:
            examples.append(example)
    return drafts_of_examples(examples, source, report)


def _requests(folder: Mapping[str, Any], auth: Any, depth: int) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """The requests of a folder and those in it, each with the login that holds there."""
    for item in mappings(folder.get("item")):
        if "request" in item:
            yield item, auth
        elif depth < _DEEPEST:
            yield from _requests(item, item.get("auth") or auth, depth + 1)


class _Collection:
    def __init__(self, data: Mapping[str, Any], hiding: Hiding) -> None:
        self._hiding = hiding
        self._values = {
            text_of(one.get("key")): text_of(one.get("value"))
            for one in mappings(data.get("variable"))
            if one.get("type") != "secret"
        }

    def example(self, item: Mapping[str, Any], auth: Any) -> Example | None:
        request, report = item.get("request"), self._hiding.report
        name = text_of(item.get("name")) or "a request"
        request = {"url": request} if isinstance(request, str) else request
        if not isinstance(request, Mapping):
            return None
        method = (text_of(request.get("method")) or "GET").upper()
        if method != "GET":
            report.leave_out(f"{method} {name}", "only what is read by GET is a table")
            return None
        url = request.get("url")
        raw = text_of(url.get("raw")) if isinstance(url, Mapping) else text_of(url)
        address, _, query = raw.partition("?")
        base, path = self._split(address.partition("#")[0].strip())
        if base is None:
            report.leave_out(f"GET {name}", "its URL names no host")
            return None
        example = Example(base, [], summary=name)
        self._path(path, example)
        for key, value in self._query(url, query):
            named = _VARIABLE.search(value) and not is_secret(key)
            example.params[key] = self._written(value) if named else self._hiding.param(key, value)
        example.auth = self._auth(request.get("auth") or auth)
        for header in mappings(request.get("header")):
            self._header(text_of(header.get("key")), text_of(header.get("value")), example)
        answers = _answers(item)
        if answers:
            example.value, *example.others = answers
            example.has_answer = True
        return example

    def _split(self, address: str) -> tuple[str | None, str]:
        """The base URL, with variables in place of what only the user knows, and the path."""
        leading = _VARIABLE.match(address)
        if leading is not None:
            known = self._values.get(leading[1], "")
            address = (known.rstrip("/") if "://" in known else f"{{{{{leading[1]}}}}}") + address[
                leading.end() :
            ]
        scheme, _, rest = address.partition("://") if "://" in address else ("", "", address)
        host, _, path = rest.partition("/")
        host = host.rpartition("@")[2]
        if _VARIABLE.match(host) and not scheme:
            return self._written(host, plain=False), path
        if (
            scheme not in ("http", "https", "")
            or not host
            or ("." not in host and ":" not in host and scheme == "")
        ):
            return None, ""
        return f"{scheme or 'https'}://{self._written(host, plain=False)}", path

    def _written(self, text: str, *, plain: bool = True) -> str:
        """A text with its variables' values, or references to them."""

        def value_of(match: re.Match[str]) -> str:
            known = self._values.get(match[1], "")
            if known and not is_secret(match[1]) and not is_token(known) and "{{" not in known:
                return escaped(known) if plain else known
            return self._hiding.secret(match[1])

        return filled(_VARIABLE, text, value_of, plain=plain)

    def _path(self, path: str, example: Example) -> None:
        for part in filter(None, path.split("/")):
            if part.startswith(":") and len(part) > 1:
                key = unique(identifier(part[1:]), example.keys)
                example.keys.append(key)
                example.path.append(f"{{{key}}}")
            elif is_token(unquote(part)):
                example.path.append(self._hiding.secret("path"))
            else:
                example.path.append(self._written(part))

    def _query(self, url: Any, query: str) -> Iterator[tuple[str, str]]:
        listed = mappings(mapping(url).get("query"))
        if listed:
            for one in listed:
                if not one.get("disabled") and text_of(one.get("key")):
                    yield text_of(one.get("key")), text_of(one.get("value"))
        else:
            yield from parse_qsl(query, keep_blank_values=True)

    def _header(self, name: str, value: str, example: Example) -> None:
        if not name:
            return
        if is_secret(name):
            if example.auth is None:
                example.auth = self._hiding.auth_of_header(name, value)
        else:
            self._hiding.report.add(
                "", f"header {name}", "dropped", "not sent: write it by hand where it is needed"
            )

    def _auth(self, auth: Any) -> dict[str, Any] | None:
        """A login, with references in place of everything that is written there."""
        if not isinstance(auth, Mapping):
            return None
        secret, kind = self._hiding.secret, auth.get("type")
        settings = {
            text_of(one.get("key")): text_of(one.get("value")) for one in mappings(auth.get(str(kind)))
        }
        match kind:
            case "bearer" | "oauth2":
                return {"type": "bearer", "token": secret("token")}
            case "basic" | "digest":
                return self._hiding.basic("http_basic" if kind == "basic" else "digest")
            case "apikey":
                place = "query" if settings.get("in") == "query" else "header"
                name = settings.get("key") or "X-API-Key"
                return {"type": "api_key", "name": name, "api_key": secret("api_key"), "location": place}
            case None | "noauth":
                return None
        self._hiding.report.add("", f"auth {kind}", "dropped", "write `auth` by hand")
        return None


def _answers(item: Mapping[str, Any]) -> list[Any]:
    """The answers kept with a request that are JSON."""
    found = []
    for one in mappings(item.get("response")):
        body = text_of(one.get("body"))
        if one.get("code", 200) == 200 and body.lstrip()[:1] in ("{", "["):
            with suppress(MalformedJSON, RecursionError):
                found.append(decode(body))
    return found
