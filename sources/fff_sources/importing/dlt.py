"""dlt's REST sources: the configurations of `rest_api_source` in a program, each a source, each resource a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fff.structs import lazy_pattern
from fff_sources.authoring.draft import ColumnDraft, LookupDraft, SpecDraft, TableDraft, identifier, unique
from fff_sources.authoring.sampling.address import is_secret
from fff_sources.http.templates import escaped
from fff_sources.importing.airbyte.expressions import UntranslatableError
from fff_sources.importing.examples import Hiding, text_of
from fff_sources.importing.fidelity import FidelityReport, shown
from fff_sources.importing.literals import ComputedValue, MadeByCall, dictionaries

_PARENT = lazy_pattern(r"\{\s*resources\.(\w+)\.([\w.\[\]-]+)\s*\}")
_INSIDE = lazy_pattern(r"<<(.+?)>>")
_CLASSES = {
    "BearerTokenAuth": "bearer",
    "APIKeyAuth": "api_key",
    "HttpBasicAuth": "http_basic",
    "OAuth2ClientCredentials": "oauth2_client_credentials",
    "JSONLinkPaginator": "json_link",
    "JSONResponsePaginator": "json_link",
    "HeaderLinkPaginator": "header_link",
    "OffsetPaginator": "offset",
    "PageNumberPaginator": "page_number",
    "JSONResponseCursorPaginator": "cursor",
    "SinglePagePaginator": "single_page",
}
#: What a paginator of a type may say that FFF has the same word for.
_WORDS = {
    "json_link": ("next_url_path",),
    "header_link": ("links_next_key",),
    "cursor": ("cursor_path", "cursor_param", "cursor_body_path", "has_more_path"),
    "page_number": ("page_param", "total_path", "maximum_page", "has_more_path", "page_body_path"),
    "offset": (
        *("offset_param", "limit_param", "total_path", "maximum_offset", "has_more_path"),
        *("offset_body_path", "limit_body_path"),
    ),
    "single_page": (),
}
_SECRETS = {
    "bearer": ("token",),
    "api_key": ("api_key",),
    "http_basic": ("username", "password"),
    "oauth2_client_credentials": ("client_id", "client_secret"),
}


def configurations(text: str, where: str) -> dict[str, Any]:
    """The configurations in a program, which is read and never run. Raises UsageError."""
    configs = dictionaries(text, where, lambda keys: {"client", "resources"} <= keys)
    return {"dlt": [{"function": name, "config": config} for name, config in configs]}


def drafts_of_dlt(data: Mapping[str, Any], source: str, report: FidelityReport) -> list[SpecDraft]:
    """A source for each configuration."""
    drafts: list[SpecDraft] = []
    for one in data["dlt"]:
        name = identifier(re.sub(r"_?source$|^load_|^get_", "", one["function"]) or source)
        name = unique(name if len(data["dlt"]) > 1 else source, (draft.name for draft in drafts))
        drafts.append(_Configuration(one["config"], Hiding(name, report)).draft(name))
    return drafts


def _plain(value: Any) -> dict[str, Any]:
    """A component as a mapping with a type, however it is written."""
    if isinstance(value, str):
        return {"type": value}
    if isinstance(value, MadeByCall):
        return {"type": _CLASSES.get(value.name, value.name), **value.arguments}
    return dict(value) if isinstance(value, Mapping) else {}


class _Configuration:
    def __init__(self, data: Mapping[str, Any], hiding: Hiding) -> None:
        self._data = data
        self._hiding = hiding
        self._report = hiding.report

    def draft(self, name: str) -> SpecDraft:
        client = _plain(self._data.get("client"))
        base = client.get("base_url")
        base = self._text(base, "base_url") if isinstance(base, str) else self._hiding.secret("base_url")
        draft = SpecDraft(name, base.rstrip("/"), "", self._auth(client.get("auth"), "client.auth"))
        headers = client.get("headers")
        for key, value in headers.items() if isinstance(headers, Mapping) else ():
            hidden = is_secret(key) or not isinstance(value, str)
            draft.headers[key] = self._hiding.secret(key) if hidden else self._text(value, key)
        defaults = _plain(self._data.get("resource_defaults"))
        resources = self._data.get("resources")
        listed = resources if isinstance(resources, list) else []
        if not listed:
            self._report.leave_out(f"{name}: resources", f"computed: {_source(resources)}")
        for number, one in enumerate(listed):
            resource = (
                {"name": one}
                if isinstance(one, str)
                else _plain(one)
                if not isinstance(one, MadeByCall)
                else {}
            )
            called = resource.get("name")
            if not isinstance(called, str):
                self._report.leave_out(f"{name}: resource {number}", f"computed: {_source(one)}")
                continue
            table_name = called if called not in self._report.written else f"{name}.{called}"
            try:
                table = self._table(table_name, resource, defaults, client)
            except UntranslatableError as error:
                self._report.leave_out(table_name, str(error))
                continue
            table.name = unique(identifier(called), (one.name for one in draft.tables))
            draft.tables.append(table)
            self._report.written[table_name] = f"{name}.{table.name}"
        return draft

    def _text(self, text: str, what: str) -> str:
        """A text; what a program would put into it is a variable."""
        return _INSIDE.sub(lambda reference: self._hiding.secret(identifier(reference[1]) or what), text)

    def _auth(self, login: Any, where: str) -> dict[str, Any] | None:
        if login is None:
            return None
        options = _plain(login)
        kind = options.get("type") or ("bearer" if "token" in options else None)
        if kind not in _SECRETS:
            self._report.add("", where, "dropped", f"{_source(login)}: write `auth` by hand")
            return None
        auth: dict[str, Any] = {"type": kind}
        # Whatever stands there is a secret, or leads to one.
        auth |= {name: self._hiding.secret(name) for name in _SECRETS[kind]}
        if kind == "api_key":
            auth["name"] = options["name"] if isinstance(options.get("name"), str) else "Authorization"
            place = options.get("location") or "header"
            if place not in ("header", "query", "param"):
                self._report.add("", where, "dropped", f"a key in a {shown(place)}: write `auth` by hand")
                return None
            auth["location"] = "header" if place == "header" else "query"
        if kind == "oauth2_client_credentials":
            url = options.get("access_token_url")
            auth["access_token_url"] = (
                self._text(url, "token_url") if isinstance(url, str) else self._hiding.secret("token_url")
            )
            data = options.get("access_token_request_data")
            if isinstance(data, Mapping) and all(isinstance(one, str) for one in data.values()):
                auth["access_token_request_data"] = {
                    key: self._hiding.secret(key) if is_secret(key) else value for key, value in data.items()
                }
        self._report.add("", where, "translated")
        return auth

    def _table(
        self, name: str, resource: Mapping[str, Any], defaults: Mapping[str, Any], client: Mapping[str, Any]
    ) -> TableDraft:
        def tell(what: str, outcome: Any, note: str = "", *, incomplete: bool = False) -> None:
            self._report.add(name, what, outcome, note, incomplete=incomplete)

        endpoint, usual = resource.get("endpoint"), _plain(defaults.get("endpoint"))
        own = {"path": endpoint} if isinstance(endpoint, str) else _plain(endpoint)
        asked: dict[str, Any] = {**usual, **own}
        asked["params"] = {**_plain(usual.get("params")), **_plain(own.get("params"))}
        path = asked.get("path", name)
        if not isinstance(path, str):
            raise UntranslatableError(f"its path is computed: {_source(path)}")
        keys: dict[str, tuple[str, str]] = {}  # column -> the parent, and what it is there

        def parent(table: str, column: str) -> str:
            key = identifier(f"{table}_{column}")
            keys[key] = (table, column)
            return f"{{{key}}}"

        params: dict[str, Any] = {}
        bound: dict[str, str] = {}
        for key, value in asked["params"].items():
            about = _plain(value) if not isinstance(value, str) else {}
            if about.get("type") == "resolve":
                bound[key] = parent(text_of(about.get("resource")), text_of(about.get("field")))
            elif isinstance(value, str) and (reference := _PARENT.fullmatch(value)):
                bound[key] = parent(reference[1], reference[2])
            elif about or isinstance(value, ComputedValue | list) or "{incremental." in text_of(value):
                start = (
                    about.get("type") == "incremental"
                    or "incremental" in f"{_source(value)} {text_of(value)}"
                )
                note = (
                    "all rows are read, not those from a start on" if start else f"computed: {_source(value)}"
                )
                tell(f"params.{key}", "approximated" if start else "dropped", note, incomplete=not start)
            elif value is not None:
                params[key] = self._param(key, value)
        path = _PARENT.sub(lambda reference: parent(reference[1], reference[2]), path)
        for key, place in list(bound.items()):
            if f"{{{key}}}" in path:
                path = path.replace(f"{{{key}}}", place)
            else:
                params[key] = place
        for key in re.findall(r"\{(\w+)\}", path):
            if key in params and key not in keys:
                path = path.replace(f"{{{key}}}", str(params.pop(key)))
        if "<<" in path:
            path = self._text(path, "path")
        method = text_of(asked.get("method")) or "GET"
        written: dict[str, Any] = {"path": path.lstrip("/")}
        if method.upper() not in ("GET", "POST") or "data" in asked:
            raise UntranslatableError("it is asked by another method, or with another body, than FFF sends")
        if method.upper() == "POST":
            written["method"] = "POST"
        if isinstance(body := asked.get("json"), Mapping):
            written["json"] = self._body("", body)
        if params:
            written["params"] = params
        if isinstance(selector := asked.get("data_selector"), str):
            written["data_selector"] = selector
        self._pages(asked.get("paginator", client.get("paginator")), written, tell)
        for key, note in (
            ("incremental", "all rows are read, not those from a start on"),
            ("response_actions", "write `on_status` or `on_response` by hand"),
            ("auth", "the login of the source is used"),
            ("headers", "write `headers` by hand"),
        ):
            if asked.get(key) is not None:
                tell(key, "approximated" if key == "incremental" else "dropped", note)
        if resource.get("processing_steps") is not None:
            tell("processing_steps", "approximated", "records are read as they are sent")
        table = TableDraft(name)
        key_of = resource.get("primary_key", defaults.get("primary_key"))
        key_names = [key_of] if isinstance(key_of, str) else key_of if isinstance(key_of, list) else []
        primary = tuple(one for one in key_names if isinstance(one, str))
        if not keys:
            table.scan = written
            tell("columns", "translated", "found in the answers")
            if primary:
                tell("primary_key", "approximated", f"declare it with the columns: {', '.join(primary)}")
            return table
        table.columns = [ColumnDraft(key, "string", note="what is asked for") for key in keys]
        table.columns += [ColumnDraft(one, "string") for one in primary if one not in keys]
        table.columns.append(ColumnDraft("record", "string", "$", "the record, as JSON text"))
        tell("columns", "approximated", "none are stated: declare those of the record that are needed")
        tell("parent", "translated", ", ".join(f"{key} is {of}.{one}" for key, (of, one) in keys.items()))
        table.lookups = [LookupDraft(tuple(keys), written)]
        return table

    def _body(self, name: str, value: Any) -> Any:
        """A body of constants, without its secrets. Raises UntranslatableError."""
        if isinstance(value, Mapping):
            return {key: self._body(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._body(name, item) for item in value]
        if isinstance(value, ComputedValue | MadeByCall) or "{" in text_of(value) or "<<" in text_of(value):
            raise UntranslatableError(f"its body is computed: {_source(value)}")
        return self._hiding.param(name, value) if isinstance(value, str) else value

    def _param(self, name: str, value: Any) -> Any:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            text = self._hiding.param(name, value)
            return self._text(text, name) if "<<" in value else text
        return value if isinstance(value, int | float) else escaped(text_of(value))

    def _pages(self, pages: Any, written: dict[str, Any], tell: Any) -> None:
        options = _plain(pages)
        kind = {"json_response": "json_link"}.get(text_of(options.get("type")), text_of(options.get("type")))
        if kind in ("", "auto"):
            return
        if kind not in _WORDS:
            tell(
                "paginator",
                "approximated",
                f"{_source(pages)}: pages are followed as answers say",
                incomplete=True,
            )
            return
        paginator: dict[str, Any] = {"type": kind}
        if kind == "page_number":
            base = options.get("base_page", options.get("page", 0))
            paginator["base_page"] = base if isinstance(base, int) else 0
        if kind == "offset" and isinstance(size := options.get("limit"), int):
            paginator["limit"] = size
        if kind in ("page_number", "offset") and "total_path" not in options:
            options["total_path"] = "total"  # which dlt takes for granted
        for word in _WORDS[kind]:
            value = options.get(word)
            if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
                paginator[word] = value
        for word in sorted(options.keys() - {"type", "limit", "offset", "base_page", "page", *_WORDS[kind]}):
            tell(f"paginator.{word}", "dropped", "FFF ends pages by itself")
        written["paginator"] = paginator
        tell("paginator", "translated")


def _source(value: Any) -> str:
    """What is computed, as it is written."""
    if isinstance(value, ComputedValue):
        return shown(value.text)
    return f"{value.name}(…)" if isinstance(value, MadeByCall) else shown(value)
