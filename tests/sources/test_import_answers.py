"""Twenty sources of other tools, hand-made: imported, and asked at stand-ins that speak as each API is documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
import yaml

import fff
from fff_sources.importing.translate import import_document
from tests.catalog.stand_in import Case, told
from tests.web.serving import Serve

BEARER = {"type": "BearerAuthenticator", "api_token": "{{ config['token'] }}"}
#: What stands in the place of what a manifest holds of secrets.
SECRETS = {
    "TOKEN": "abcdef",
    "KEY": "ghijkl",
    "USERNAME": "ann@example.org/token",
    "AUTHORIZATION": "Basic Y2s6Y3M=",
}


def basic(username: str, password: str) -> dict[str, Any]:
    return {"type": "BasicHttpAuthenticator", "username": username, "password": password}


def key(*headers: str) -> dict[str, Any]:
    """A key in the header of that name, behind a word."""
    name, *words = headers
    value = " ".join([*words, "{{ config['token'] }}"]).replace("= ", "=")
    inject = {"type": "RequestOption", "inject_into": "header", "field_name": name}
    return {"type": "ApiKeyAuthenticator", "api_token": value, "inject_into": inject}


def cursor(value: str, stop: str = "") -> dict[str, Any]:
    more = {"stop_condition": f"{{{{ {stop} }}}}"} if stop else {}
    return {"type": "CursorPagination", "cursor_value": f"{{{{ {value} }}}}", **more}


def numbers(first: int = 1) -> dict[str, Any]:
    return {"type": "PageIncrement", "start_from_page": first}


OFFSET = {"type": "OffsetIncrement"}

#: The case of a stand-in, the records' place and the column that tells them apart, how pages are turned, who asks.
AIRBYTE: dict[str, tuple[int, str, str, dict[str, Any], dict[str, Any] | None]] = {
    "airtable": (1, "records", "id", cursor("response.get('offset', {})", "not response.get('offset', {})"), BEARER),
    "asana": (1, "data", "gid", cursor("response['next_page']['offset']", "not response['next_page']"), BEARER),
    "box": (0, "entries", "id", cursor("response.next_marker", "not response.next_marker"), BEARER),
    "cloudflare": (0, "result", "id", numbers(), BEARER),
    "datadog": (0, "", "id", numbers(0), key("DD-API-KEY")),
    "digitalocean": (0, "droplets", "id", cursor("response.links.pages.next", "'next' not in response.links.pages"), BEARER),
    "hubspot": (0, "results", "id", cursor("response['paging']['next']['after']", "not response.get('paging', {})"), BEARER),
    "intercom": (0, "data", "id", cursor("response.pages.next.starting_after", "not response.pages.next"), BEARER),
    "okta": (0, "", "id", cursor("headers['link']['next']['url']", "'next' not in headers['link']"), key("Authorization", "SSWS")),
    "pagerduty": (0, "incidents", "id", OFFSET, key("Authorization", "Token token=")),
    "pipedrive": (0, "data", "id", cursor("response.additional_data.next_cursor", "not response.additional_data.next_cursor"), key("x-api-token")),
    "slack": (0, "members", "id", cursor("response.response_metadata.next_cursor", "not response.response_metadata.next_cursor"), BEARER),
    "stripe": (0, "data", "id", cursor("last_record['id']", "not response.has_more"), BEARER),
    "zendesk": (0, "tickets", "id", cursor("response.meta.after_cursor", "not response.meta.has_more"), basic("ann@example.org/token", "{{ config['token'] }}")),
}  # fmt: skip
#: The same of Coral's words.
CORAL: dict[str, tuple[int, str, str, dict[str, Any], str]] = {
    "coingecko": (1, "", "id", {"mode": "page"}, ""),
    "openaq": (2, "results", "id", {"mode": "page"}, ""),
    "sendgrid": (0, "", "email", {"mode": "offset"}, "Bearer {{secret.HOLDER_TOKEN}}"),
    "stackexchange": (0, "items", "name", {"mode": "page"}, ""),
    "todoist": (0, "results", "id", {"mode": "cursor_query", "response_cursor_path": ["next_cursor"]}, "Bearer {{secret.HOLDER_TOKEN}}"),
    "woocommerce": (0, "", "id", {"mode": "link_header"}, "Basic Y2s6Y3M="),
}  # fmt: skip


def of_airbyte(source: str, case: Case, url: str) -> str:
    _, place, name, strategy, authenticator = AIRBYTE[source]
    [part] = case.data["serves"]
    path, _, query = part["path"].partition("?")
    size = {"page_size": part["most"]} if "size" in part else {}
    option = {"type": "RequestOption", "inject_into": "request_parameter"}
    by_url = part["by"] in ("url", "link")
    paginator = {
        "type": "DefaultPaginator",
        "pagination_strategy": strategy | size,
        "page_token_option": {"type": "RequestPath"} if by_url else option | {"field_name": part["at"]},
    }
    if size:
        paginator["page_size_option"] = option | {"field_name": part["size"]}
    wanted = {one: text for one, text in case.data.get("headers", {}).items() if one != "Authorization"}
    secret = {text: f"{{{{ config['{one.lower()}'] }}}}" for one, text in SECRETS.items()}
    given = str(authenticator)
    requester = {
        "type": "HttpRequester",
        "url_base": url,
        "path": path,
        "request_parameters": dict(parse_qsl(query)),
        "request_headers": {one: secret.get(text, text) for one, text in wanted.items() if one not in given},
        "authenticator": authenticator,
    }
    extractor = {"type": "DpathExtractor", "field_path": place.split(".") if place else []}
    retriever = {
        "type": "SimpleRetriever",
        "requester": requester,
        "record_selector": {"type": "RecordSelector", "extractor": extractor},
        "paginator": paginator,
    }
    schema = {"type": "InlineSchemaLoader", "schema": {"properties": {name: {"type": "string"}}}}
    stream = {"type": "DeclarativeStream", "name": "rows", "primary_key": [name], "retriever": retriever}
    return yaml.safe_dump({"type": "DeclarativeSource", "streams": [stream | {"schema_loader": schema}]})


def of_coral(source: str, case: Case, url: str) -> str:
    _, place, name, paging, authorization = CORAL[source]
    [part] = case.data["serves"]
    path, _, query = part["path"].partition("?")
    words = {"page": "page_param", "offset": "offset_param", "cursor": "cursor_param"}
    pagination = paging | {words[part["by"]]: part["at"]} if part["by"] in words else dict(paging)
    if paging["mode"] == "page":
        pagination["page_start"] = part["first"]
    pagination["page_size"] = {"default": part["most"], "max": part["most"], "query_param": part["size"]}
    params = [{"name": one, "from": "literal", "value": text} for one, text in parse_qsl(query)]
    header = {"name": "Authorization", "from": "template", "template": authorization}
    table = {
        "name": "rows",
        "description": "",
        "columns": [{"name": name, "type": "Utf8", "expr": {"kind": "path", "path": [name]}}],
        "pagination": pagination,
        "request": {"method": "GET", "path": path, "query": params},
        "response": {"rows_path": place.split(".")} if place else {},
    }
    about = {"name": "holder", "version": "1", "dsl_version": 3, "backend": "http", "base_url": url}
    return yaml.safe_dump(about | {"auth": {"headers": [header] if authorization else []}, "tables": [table]})


@pytest.mark.parametrize("source", [*AIRBYTE, *CORAL])
async def test_every_row_comes_as_documented(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    number, _, name, *_ = (AIRBYTE | CORAL)[source]
    case = Case(source, number, told(source)["cases"][number])
    host = case.host()
    url = (await serve(host)).url
    text = (of_airbyte if source in AIRBYTE else of_coral)(source, case, url)
    found = import_document(text, "source-holder/manifest.yaml", shown="manifest.yaml")
    for variable in found.report.variables:
        monkeypatch.setenv(variable, SECRETS[variable.removeprefix("HOLDER_")])
    (tmp_path / "fff.yaml").write_text(found.text)
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        result = await federation.sql(f"SELECT {name} FROM rows")
        assert result.complete, found.text
        rows = [row[0] for row in result.rows()]
    assert len(rows) == case.data["serves"][0]["records"]
    assert len(set(rows)) == len(rows)
    assert not host.problems
