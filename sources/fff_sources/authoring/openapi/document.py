"""From an OpenAPI 3 document to a draft: a table for each GET that answers a list, with the GET of one thing as its lookup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit, urlunsplit

from fff.errors import SpecError, UsageError
from fff.structs import lazy_pattern
from fff.web.client import WebClient
from fff.web.types import HostPolicy
from fff_sources.authoring.draft import (
    ColumnDraft,
    LookupDraft,
    SpecDraft,
    TableDraft,
    identifier,
    singular,
    unique,
)
from fff_sources.authoring.openapi.paging import paginator_of
from fff_sources.authoring.openapi.schema import Resolver, columns_of_schema, kind_of, list_in, spark_type_of
from fff_sources.authoring.sampling.address import is_secret, source_name, take_apart
from fff_sources.authoring.sampling.credentials import fetched_text, proof_of
from fff_sources.authoring.sampling.shape import step
from fff_sources.document import parse_document
from fff_sources.http.response.json import MalformedJSON, decode
from fff_sources.http.templates import escaped

_PLACE = lazy_pattern(r"\{([^{}]+)\}")
_ELSEWHERE = "https://api.example.org"
_NO_PARAMETERS = ("accept", "content-type", "authorization")  # which OpenAPI has elsewhere
_PLAIN = ("string", "integer", "number", "boolean", "")


@dataclass
class _Operation:
    """A GET operation of the document."""

    path: str
    parameters: dict[tuple[str, str], dict[str, Any]]  # (in, name) -> parameter
    answer: dict[str, Any]
    summary: str = ""
    tables: list[TableDraft] = field(default_factory=list)

    @property
    def places(self) -> list[str]:
        """Parameters in the path."""
        return _PLACE.findall(self.path)

    @property
    def collection(self) -> str:
        """What the path is about."""
        named = [part for part in self.path.split("/") if part and "{" not in part]
        return named[-1] if named else "rows"

    def query(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Query parameters that are no secrets."""
        for (where, name), parameter in self.parameters.items():
            if where == "query" and not is_secret(name):
                yield name, parameter


async def draft_from_openapi(
    where: str,
    client: WebClient,
    *,
    url: str | None,
    name: str | None,
    headers: Mapping[str, str],
    environ: Mapping[str, str],
) -> SpecDraft:
    """A source with the tables of a document.

    Args:
        where: a file, or a URL.
        client: what to fetch it with.
        url: the base URL, in place of the document's first server.
        name: of the source; guessed from the host when left out.
        headers: sent along when the document is fetched.
        environ: where `${env:NAME}` in them is looked up.

    Raises:
        UsageError: not a document of OpenAPI 3, or one without a list to read.
        SourceError: it cannot be fetched.
    """
    if where.startswith(("http://", "https://")):
        proved = proof_of("openapi", take_apart(where), headers, environ, client.redactor)
        text, base = await fetched_text(*proved, client, HostPolicy())
    else:
        text, base = _read(where), ""
    draft = draft_of_document(_document(text, where), base, url=url, name=name)
    draft.origin = client.shown(base) if base else where
    return draft


def draft_of_document(
    document: Mapping[str, Any], base: str, *, url: str | None = None, name: str | None = None
) -> SpecDraft:
    """The same from a document of OpenAPI 3 as data; `base` is the URL it came from. Raises UsageError."""
    resolver = Resolver(document)
    draft = _source(document, resolver, base, url, name)
    operations = list(_operations(document, resolver))
    for operation in operations:
        _table(draft, resolver, operation)
    for operation in operations:
        _single(draft, resolver, operation, operations)
    if not draft.tables:
        hint = "fff source init with a sample URL"
        if resolver.unresolved:
            hint = f"put it together with what it refers to ({', '.join(resolver.unresolved[:3])}), or {hint}"
        raise UsageError("the document has no GET that answers a list of objects", hint=hint)
    if resolver.unresolved:
        draft.unsure.append(
            f"references that lead out of the document were left out: {', '.join(resolver.unresolved[:3])}"
        )
    return draft


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise UsageError(f"{file} cannot be read: {reason}") from error


def _document(text: str, where: str) -> dict[str, Any]:
    try:
        data = (
            decode(text)
            if text.lstrip().startswith("{")
            else parse_document(text, where, as_written=False).data
        )
    except MalformedJSON as error:
        raise UsageError(f"{where}: not valid JSON: {error}") from error
    except SpecError as error:
        raise UsageError(f"not an OpenAPI document: {error.message}") from error
    if not isinstance(data, dict) or not isinstance(data.get("paths"), dict):
        raise UsageError(f"{where}: not an OpenAPI document: it has no paths")
    if not str(data.get("openapi", "")).startswith("3"):
        raise UsageError(
            f"{where}: only OpenAPI 3 is read, and this says {data.get('openapi') or data.get('swagger') or 'no version'}",
            hint="converters from Swagger 2 are at hand, such as swagger2openapi",
        )
    return data


def _source(
    document: Mapping[str, Any], resolver: Resolver, base: str, url: str | None, name: str | None
) -> SpecDraft:
    unsure: list[str] = []
    server = next(iter(resolver.servers), {})
    address = str(url or server.get("url") or "/")
    variables = server.get("variables") or {}
    for place in dict.fromkeys(re.findall(r"{([^{}]+)}", address)):
        value = str((variables.get(place) or {}).get("default") or "")
        address = address.replace(f"{{{place}}}", value or place)
        said = f"{place} may be something else than {value!r}" if value else f"nothing says what {place} is"
        unsure.append(f"base_url: {said}")
    if not urlsplit(address).scheme:
        address = urljoin(base or _ELSEWHERE, address)
        if not base:
            unsure.append("base_url: the document names no host; write it, or give it as URL")
    bare, login, params = _without_extras(address)
    draft = SpecDraft(name or source_name(bare), escaped(bare.rstrip("/")), "", unsure=unsure)
    draft.auth = _auth(document, resolver, draft)
    if login:
        unsure.append("base_url: the server's URL holds a login, which is left out here")
        draft.auth = draft.auth or _scheme({"type": "http", "scheme": "basic"}, draft)
    if params:
        unsure.append(f"params: {', '.join(params)} of the server's URL are sent with every request")
        draft.params = {
            name: _reference(draft, name) if is_secret(name) else escaped(value)
            for name, value in params.items()
        }
    return draft


def other_server(resolver: Resolver, item: Mapping[str, Any]) -> str | None:
    """The server that a path's GET is asked at, where it is none of the document's; without login and parameters."""
    urls = [str(one.get("url")) for one in resolver.servers_of(item)]
    known = [str(one.get("url")) for one in resolver.servers] if urls else []
    if not urls or any(_is_same(one, other) for one in urls for other in known):
        return None
    return _without_extras(urls[0])[0]


def _is_same(one: str, other: str) -> bool:
    """Whether two URLs are of one server; one may be relative to where the document comes from."""
    (host, path), (other_host, other_path) = ((urlsplit(url)[1], urlsplit(url)[2]) for url in (one, other))
    return path.rstrip("/") == other_path.rstrip("/") and (host == other_host or not (host and other_host))


def _without_extras(address: str) -> tuple[str, bool, dict[str, str]]:
    """A server's URL without login and parameters, whether it had a login, and the parameters."""
    parts = urlsplit(address)
    bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    return bare, "@" in parts.netloc, dict(parse_qsl(parts.query, keep_blank_values=True))


def _auth(document: Mapping[str, Any], resolver: Resolver, draft: SpecDraft) -> dict[str, Any] | None:
    """The first security scheme that FFF speaks, with references in place of secrets."""
    schemes = (document.get("components") or {}).get("securitySchemes") or {}
    wanted = [name for requirement in document.get("security") or () for name in requirement]
    for name in [*wanted, *schemes]:
        scheme = resolver.follow(schemes.get(name))
        auth = _scheme(scheme, draft)
        if auth is not None:
            if not wanted:
                draft.unsure.append(f"auth: {name} is declared, and some operations may need none")
            return auth
    if schemes:
        draft.unsure.append(f"auth: none of {', '.join(schemes)} is one FFF speaks")
    return None


def _reference(draft: SpecDraft, what: str) -> str:
    """The name of a variable that is to hold a secret."""
    variable = re.sub(r"[^A-Z0-9]+", "_", f"{draft.name}_{what}".upper())
    draft.variables.append(variable)
    return f"${{env:{variable}}}"


def _scheme(scheme: Mapping[str, Any], draft: SpecDraft) -> dict[str, Any] | None:
    reference = partial(_reference, draft)
    match scheme:
        case {"type": "http", "scheme": str(kind)} if kind.lower() == "bearer":
            return {"type": "bearer", "token": reference("token")}
        case {"type": "http", "scheme": str(kind)} if kind.lower() == "basic":
            return {"type": "http_basic", "username": reference("user"), "password": reference("password")}
        case {"type": "apiKey", "in": "header" | "query" as place, "name": str(name)}:
            return {"type": "api_key", "name": name, "api_key": reference("api_key"), "location": place}
        case {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": str(url)}}}:
            return {
                "type": "oauth2_client_credentials",
                "access_token_url": url,
                "client_id": reference("client_id"),
                "client_secret": reference("client_secret"),
            }
        case {"type": "oauth2" | "openIdConnect"}:
            return {"type": "bearer", "token": reference("token")}
    return None


def _operations(document: Mapping[str, Any], resolver: Resolver) -> Iterator[_Operation]:
    for path, written in document["paths"].items():
        item = resolver.follow(written)
        operation = resolver.follow(item.get("get"))
        if not operation or operation.get("deprecated") or other_server(resolver, item):
            continue
        parameters: dict[tuple[str, str], dict[str, Any]] = {}
        for one in [*(item.get("parameters") or ()), *(operation.get("parameters") or ())]:
            parameter = resolver.follow(one)
            if "name" in parameter and "in" in parameter:
                parameters[parameter["in"], parameter["name"]] = parameter
        summary = str(operation.get("summary") or "").strip().rstrip(".")
        yield _Operation(str(path), parameters, resolver.answer(operation), summary)


def _table(draft: SpecDraft, resolver: Resolver, operation: _Operation) -> None:
    """The table of an operation that answers a list."""
    of_one = operation.path.rstrip("/").endswith("}")
    listed = list_in(resolver, operation.answer, operation.collection, of_one=of_one)
    if listed is None:
        return
    selector, record = listed
    taken = [table.name for table in draft.tables]
    plain = identifier(operation.collection.lower(), "rows")
    if plain in taken and operation.places:  # /users/{id}/posts beside /posts
        before = [part for part in operation.path.split("/") if part and "{" not in part][-2:-1]
        plain = f"{singular(identifier(before[0].lower()))}_{plain}" if before else plain
    table = TableDraft(unique(plain, taken), columns_of_schema(resolver, record), operation.summary)
    endpoint: dict[str, Any] = {"path": operation.path.lstrip("/")}
    keys = _keys(table, resolver, operation, endpoint)
    _headers(draft, resolver, operation, endpoint)
    if selector != "$":
        endpoint["data_selector"] = selector
    paginator = paginator_of(dict(operation.query()), operation.answer, resolver)
    if paginator is not None:
        endpoint["paginator"] = paginator
        if paginator["type"] in ("page_number", "offset", "cursor"):
            draft.unsure.append(f"{table.name}: {paginator['type']} is a guess from the names of parameters")
    if keys:
        table.lookups.append(LookupDraft(tuple(keys), endpoint))
        table.empty_statuses = (404,) if operation.places else ()
    else:
        table.scan = endpoint
        table.test = "LIMIT 5"
    operation.tables.append(table)
    draft.tables.append(table)


def _keys(
    table: TableDraft, resolver: Resolver, operation: _Operation, endpoint: dict[str, Any]
) -> list[str]:
    """What a request must be given, as key columns; what it may be given and the records hold, as optional ones."""
    keys: list[str] = []
    for place in operation.places:
        parameter = operation.parameters.get(("path", place), {})
        name = _key_column(table, resolver, place, parameter, own=False)
        endpoint["path"] = endpoint["path"].replace(f"{{{place}}}", f"{{{name}}}")
        keys.append(name)
        table.key_columns.append({"name": name, "require": "required"})
    lowered = {column.name.lower(): column.name for column in table.columns}
    optional: list[dict[str, Any]] = []
    for param, parameter in operation.query():
        if kind_of(resolver.schema(parameter.get("schema"))) not in _PLAIN:
            continue
        if parameter.get("required") and "default" not in resolver.schema(parameter.get("schema")):
            name = _key_column(table, resolver, param, parameter, own=True)
            keys.append(name)
            table.key_columns.append(
                {"name": name, "require": "required"} | ({"param": param} if name != param else {})
            )
        elif (own := lowered.get(identifier(param).lower())) is not None:
            optional.append({"name": own} | ({"param": param} if own != param else {}))
    if not keys:
        table.key_columns += optional
    return keys


def _headers(draft: SpecDraft, resolver: Resolver, operation: _Operation, endpoint: dict[str, Any]) -> None:
    """What must stand in the header of every request, where the document says what."""
    for (where, name), parameter in operation.parameters.items():
        if (
            where != "header"
            or not parameter.get("required")
            or name.lower() in _NO_PARAMETERS
            or is_secret(name)
        ):
            continue
        schema = resolver.schema(parameter.get("schema"))
        values = [schema["default"]] if "default" in schema else schema.get("enum") or []
        if len(values) == 1:
            endpoint.setdefault("headers", {})[name] = escaped(str(values[0]))
        else:
            draft.unsure.append(f"{endpoint['path']}: the header {name} must be sent: write it under headers")


def _key_column(
    table: TableDraft, resolver: Resolver, name: str, parameter: Mapping[str, Any], *, own: bool
) -> str:
    """The column a parameter fills: the records' own of that name, else a new one that is filled with the key."""
    plain = identifier(name)
    for column in table.columns:
        if column.name.lower() == plain.lower() and (own or plain.lower() != "id"):
            return column.name
    thing = plain if plain.lower() not in ("id", "key", "name") or own else f"{singular(table.name)}_{plain}"
    new = unique(thing, (column.name for column in table.columns))
    kind, _ = spark_type_of(resolver, resolver.schema(parameter.get("schema")))
    table.columns.insert(
        0, ColumnDraft(new, kind, note="not in the records: it is filled with the key asked for")
    )
    return new


def _single(
    draft: SpecDraft, resolver: Resolver, operation: _Operation, operations: list[_Operation]
) -> None:
    """The lookup (or the table) of an operation that answers one thing, under a path that ends in a parameter."""
    head, _, tail = operation.path.rstrip("/").rpartition("/")
    match = _PLACE.fullmatch(tail) or re.fullmatch(r"\{([^{}]+)\}\.json", tail)
    if match is None or operation.tables or any(p.get("required") for _, p in operation.query()):
        return
    selector, record = _record(resolver, operation.answer)
    if not record.get("properties"):
        return
    place = match[1]
    sibling = next(
        (one for one in operations if one.tables and one.path.rstrip("/") in (head, head + ".json")), None
    )
    path = operation.path.lstrip("/")
    if sibling is not None and not sibling.places:
        [table] = sibling.tables
        column = _matching(table, place, operation.collection)
        held = {one.name for one in columns_of_schema(resolver, record)}
        required = [known for known in table.key_columns if known.get("require") == "required"]
        # What a thing does not tell of itself would be NULL by this way alone.
        if column is not None and held.issuperset(one.name for one in table.columns):
            endpoint = {"path": path.replace(f"{{{place}}}", f"{{{column}}}")}
            if selector != "$":
                endpoint["data_selector"] = selector
            if all(known["name"] != column for known in table.key_columns):
                for known in required:  # by the list alone
                    known["require"] = "any_of"
                table.key_columns.append({"name": column} | ({"require": "any_of"} if required else {}))
            table.lookups.append(LookupDraft((column,), endpoint))
            table.empty_statuses = (404,)
            return
    taken = [table.name for table in draft.tables]
    table = TableDraft(
        unique(identifier(singular(operation.collection).lower(), "thing"), taken),
        columns_of_schema(resolver, record),
        operation.summary,
        empty_statuses=(404,),
    )
    keys = []
    for name in operation.places:
        parameter = operation.parameters.get(("path", name), {})
        matching = _matching(table, name, operation.collection) if name == place else None
        column = matching or _key_column(table, resolver, name, parameter, own=False)
        path = path.replace(f"{{{name}}}", f"{{{column}}}")
        keys.append(column)
        table.key_columns.append({"name": column, "require": "required"})
    table.lookups.append(
        LookupDraft(tuple(keys), {"path": path} | ({"data_selector": selector} if selector != "$" else {}))
    )
    draft.tables.append(table)


def _record(resolver: Resolver, answer: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """One thing's schema, out of an envelope such as `{data: {…}}`."""
    properties = answer.get("properties") or {}
    for name in ("data", "result", "item", "message", "response", "record"):
        inner = resolver.schema(properties.get(name))
        if kind_of(inner) == "object" and inner.get("properties") and len(properties) <= 4:
            return step("$", name), inner
    return "$", answer


def _matching(table: TableDraft, place: str, collection: str) -> str | None:
    """The column of a table that a path parameter asks by: of its name, or `id` for `thingId`.

    A `username` is no `name`, which people have in full.
    """
    lowered = {column.name.lower(): column.name for column in table.columns}
    plain = identifier(place).lower()
    thing = singular(identifier(collection)).lower()
    rest = plain.removeprefix(thing)
    apart = rest != plain and not identifier(place)[len(thing) :][:1].islower()
    short = [rest.strip("_")] if apart and (thing, rest) != ("user", "name") else []
    last = ["id"] if plain.endswith("id") else []
    return next((lowered[one] for one in (plain, *short, *last) if one in lowered), None)
