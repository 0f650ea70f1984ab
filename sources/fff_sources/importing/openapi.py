"""OpenAPI 3 and Swagger 2: drafted as `fff source init --openapi` drafts, with a word on every table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fff.errors import UsageError
from fff_sources.authoring.draft import SpecDraft, TableDraft, identifier
from fff_sources.authoring.openapi.document import draft_of_document, other_server
from fff_sources.authoring.openapi.schema import Resolver
from fff_sources.http.paging.conventions import SIZES
from fff_sources.importing.fidelity import FidelityReport

_METHODS = ("post", "put", "patch", "delete")
_MOST = 5_000  # paths


def drafts_of_openapi(
    document: Mapping[str, Any], name: str, report: FidelityReport, base: str
) -> list[SpecDraft]:
    """The source of a document. Raises UsageError where it is none, or has no list to read."""
    paths = document.get("paths")
    if not isinstance(paths, Mapping) or len(paths) > _MOST:
        raise UsageError(f"not an OpenAPI document: it has no paths, or more than {_MOST:,}")
    try:
        if str(document.get("swagger", "")).startswith("2"):
            document = as_openapi_3(document)
        elif not str(document.get("openapi", "")).startswith("3"):
            raise UsageError("only OpenAPI 3 and Swagger 2 are read")
        draft = draft_of_document(document, base, name=name)
        asked = dict(_queries(document))
    except (AttributeError, TypeError, KeyError, ValueError, RecursionError) as error:
        # A document that is not built as the standard says; which part it is, its own tools tell best.
        raise UsageError(
            f"not a sound OpenAPI document ({type(error).__name__})",
            hint="check it with an OpenAPI validator",
        ) from error
    for text in draft.unsure:
        report.add("", text.partition(":")[0], "approximated", text.partition(":")[2].strip())
    for variable in draft.variables:
        if variable not in report.variables:
            report.variables.append(variable)
    for table in draft.tables:
        _tell(table, draft, report, asked)
    endpoints = [
        one for table in draft.tables for one in (table.scan, *(two.endpoint for two in table.lookups))
    ]
    written = {_unnamed(one["path"]) for one in endpoints if one}
    resolver = Resolver(document)
    for path, item in paths.items():
        if isinstance(item, Mapping):
            if isinstance(item.get("get"), Mapping) and _unnamed(str(path).lstrip("/")) not in written:
                other = other_server(resolver, item)
                why = _NO_TABLE if other is None else f"it is asked at another server: {other}"
                why = "the document calls it deprecated" if item["get"].get("deprecated") else why
                report.leave_out(f"GET {path}", why)
            for method in _METHODS:
                if method in item:
                    report.leave_out(f"{method.upper()} {path}", "only what is read by GET is a table")
    return [draft]


_NO_TABLE = "no JSON of known members is described as its answer, or it must be given more than a table can be asked by"


#: Parameters whose defaults leave no rows out, whatever columns are called.
_NO_FILTERS = frozenset({"sort", "order", "direction", "format", "fields"})
_EVERYTHING = ("", "all", "any", "*", "none")


def _tell(
    table: TableDraft, draft: SpecDraft, report: FidelityReport, asked: Mapping[str, Mapping[str, Any]]
) -> None:
    report.written[table.name] = f"{draft.name}.{table.name}"
    for column in table.columns:
        outcome = "approximated" if column.note else "translated"
        report.add(table.name, f"columns.{column.name}", outcome, column.note)  # type: ignore[arg-type]
    endpoints = [one for one in (table.scan, *(lookup.endpoint for lookup in table.lookups)) if one]
    for endpoint in endpoints:
        report.add(table.name, f"path {endpoint['path']}", "translated")
        paginator = endpoint.get("paginator")
        if paginator is not None:
            # Of pages that begin elsewhere the first is not asked for, and a total of rows alone shows it.
            unknown = paginator["type"] == "page_number" and not paginator.keys() & {
                "base_page",
                "total_rows_path",
            }
            note = f"{paginator['type']}, from names of parameters"
            note += "; the document does not say whether pages begin at 0 or 1" if unknown else ""
            report.add(table.name, "paging", "approximated", note, incomplete=unknown)
        elif SIZES & {name.lower() for name in asked.get(_unnamed(endpoint["path"]), ())}:
            note = "pages have a size, and no parameter that turns them is known"
            report.add(table.name, "paging", "dropped", note, incomplete=True)
        columns = {column.name.lower() for column in table.columns}
        for name, default in asked.get(_unnamed(endpoint["path"]), {}).items():
            plain = identifier(name).lower()
            if plain in columns - _NO_FILTERS and str(default).lower() not in _EVERYTHING:
                note = f"where it is not sent the source takes {default!r}: other rows come only where they are asked for"
                report.add(table.name, f"query {name}", "approximated", note, incomplete=True)


def _queries(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The query parameters of every GET and their defaults, by path."""
    resolver = Resolver(document)
    for path, written in document["paths"].items():
        item = resolver.follow(written)
        both = [*(item.get("parameters") or ()), *(resolver.follow(item.get("get")).get("parameters") or ())]
        parameters = [one for one in map(resolver.follow, both) if one.get("in") == "query"]
        yield (
            _unnamed(str(path).lstrip("/")),
            {str(one.get("name")): resolver.schema(one.get("schema")).get("default") for one in parameters},
        )


def _unnamed(path: str) -> str:
    """A path whatever its parameters are called."""
    return re.sub(r"\{[^{}]*\}", "{}", path)


# ----------------------------------------------------------------------------------------- Swagger 2


def as_openapi_3(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document of Swagger 2 in the words of OpenAPI 3, as far as drafts look at it."""
    resolver = Resolver(document)
    schemes = document.get("schemes") or ["https"]
    host = document.get("host")
    scheme = "https" if "https" in schemes else str(schemes[0])
    url = f"{scheme}://{host}" if host else ""
    converted: dict[str, Any] = {
        "openapi": "3.0.0",
        "servers": [{"url": url + str(document.get("basePath") or "/")}],
        "definitions": document.get("definitions") or {},
        "security": document.get("security") or [],
        "components": {
            "securitySchemes": {
                name: _security(resolver.follow(one))
                for name, one in (document.get("securityDefinitions") or {}).items()
            }
        },
        "paths": {},
    }
    for path, written in document["paths"].items():
        item = resolver.follow(written)
        operation = resolver.follow(item.get("get"))
        if not operation:
            continue
        converted["paths"][path] = {
            "parameters": [_parameter(resolver.follow(one)) for one in item.get("parameters") or ()],
            "get": {
                **operation,
                "parameters": [_parameter(resolver.follow(one)) for one in operation.get("parameters") or ()],
                "responses": {
                    str(status): {"content": {"application/json": {"schema": response["schema"]}}}
                    for status, one in (operation.get("responses") or {}).items()
                    if "schema" in (response := resolver.follow(one))
                },
            },
        }
    return converted


def _parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: item for key, item in parameter.items() if key in ("name", "in", "required", "description")}
    schema = {key: item for key, item in parameter.items() if key not in kept}
    return {**kept, "schema": schema} if parameter.get("in") in ("query", "path", "header") else {}


def _security(scheme: Mapping[str, Any]) -> dict[str, Any]:
    match scheme:
        case {"type": "basic"}:
            return {"type": "http", "scheme": "basic"}
        case {"type": "oauth2", "flow": "application", "tokenUrl": str(url)}:
            return {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": url}}}
    return dict(scheme)
