"""Coral's source manifests (`dsl_version: 3`): each table one, a filter that must be given a key of its lookup."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fff.structs import lazy_pattern
from fff_sources.authoring.draft import (
    ColumnDraft,
    LookupDraft,
    SpecDraft,
    TableDraft,
    identifier,
    singular,
    unique,
)
from fff_sources.authoring.sampling.address import is_secret
from fff_sources.authoring.sampling.shape import step
from fff_sources.importing.airbyte.expressions import UntranslatableError
from fff_sources.importing.examples import Hiding, filled, inert, is_token, mapping, mappings, text_of
from fff_sources.importing.fidelity import FidelityReport, shown

_TYPES = {"Utf8": "string", "Int64": "bigint", "Float64": "double", "Boolean": "boolean"}
_TEMPLATE = lazy_pattern(r"\{\{\s*(secret|variable|filter|input)\.([A-Za-z0-9_]+)(?:\s*\|([^{}]*))?\s*\}\}")
#: Keys of a table that are read, or say nothing of what is asked for.
_KNOWN = frozenset(
    {"name", "description", "guide", "filters", "request", "requests", "response", "pagination", "columns"}
    | {"fetch_limit_default", "search_limits"}
)

Tell = Callable[..., None]  # field, outcome, note, incomplete


def drafts_of_coral(data: Mapping[str, Any], source: str, report: FidelityReport) -> list[SpecDraft]:
    """The source of a manifest."""
    manifest = _Manifest(data, Hiding(source, report))
    draft = SpecDraft(source, manifest.base_url(), "")
    manifest.login(draft)
    for number, table in enumerate(mappings(data.get("tables"))):
        name = text_of(table.get("name")) or f"table_{number}"
        try:
            written = _Table(manifest, table, name).draft()
        except UntranslatableError as error:
            report.leave_out(name, str(error))
            continue
        written.name = unique(identifier(name), (one.name for one in draft.tables))
        draft.tables.append(written)
        report.written[name] = f"{source}.{written.name}"
    for function in mappings(data.get("functions")):
        report.leave_out(text_of(function.get("name")) or "a function", "a function of a table")
    return [draft]


class _Manifest:
    """What all tables have, with references in the place of secrets."""

    def __init__(self, data: Mapping[str, Any], hiding: Hiding) -> None:
        self.data = data
        self.hiding = hiding
        self.report = hiding.report
        self.backend = text_of(data.get("backend")) or "http"
        self._inputs = mapping(data.get("inputs"))

    def base_url(self) -> str:
        url = self.written(text_of(self.data.get("base_url")), {}, plain=False)
        return url.rstrip("/") or self.variable("BASE_URL")

    def variable(self, name: str) -> str:
        """A reference to a variable of the environment, which is called as it is there."""
        if name not in self.report.variables:
            self.report.variables.append(name)
        return f"${{env:{name}}}"

    def configured(self, kind: str, name: str, default: str | None) -> str:
        """What is said when a source is added: its default, where it is no secret."""
        about = mapping(self._inputs.get(name))
        if default is None:
            default = text_of(about.get("default")) or None
        hidden = kind == "secret" or about.get("kind") == "secret" or is_secret(name)
        return self.variable(name) if default is None or hidden else inert(default, plain=False)

    def written(self, text: str, keys: Mapping[str, str], *, plain: bool = True) -> str:
        """A text with references in place of templates, `keys` naming the columns of filters.

        Raises UntranslatableError.
        """

        def value_of(template: re.Match[str]) -> str:
            kind, name, default = template.groups()
            if kind != "filter":
                return self.configured(kind, name, default)
            if name not in keys:
                raise UntranslatableError(f"it is asked by {name}, which need not be given")
            return f"{{{keys[name]}}}"

        written = filled(_TEMPLATE, text, value_of, plain=plain)
        rest = _TEMPLATE.split(text)[-1]
        if "{{" in rest or "}}" in rest:
            raise UntranslatableError(f"a template that computes: {shown(inert(rest, plain=False))}")
        return written

    def login(self, draft: SpecDraft) -> None:
        """What each request carries."""
        auth = mapping(self.data.get("auth"))
        for key in auth.keys() - {"headers", "required_secrets", "type"}:
            self.report.add("", f"auth.{key}", "dropped", "write `auth` by hand")
        if text_of(auth.get("type")) not in ("", "HeaderAuth", "header", "headers"):
            self.report.add("", "auth.type", "dropped", f"{shown(auth.get('type'))}: write `auth` by hand")
        for header in mappings(auth.get("headers")) + mappings(self.data.get("request_headers")):
            name = text_of(header.get("name"))
            try:
                value = self._header(name, header)
            except UntranslatableError as error:
                self.report.add("", f"header {name}", "dropped", str(error))
                continue
            if name.lower() in ("content-type", "user-agent"):
                self.report.add("", f"header {name}", "dropped", "FFF says it itself")
                continue
            if "${env:" not in value or draft.auth is not None:
                draft.headers[name] = value
            elif name.lower() == "authorization" and value.startswith("Bearer ${env:"):
                draft.auth = {"type": "bearer", "token": value.removeprefix("Bearer ")}
            else:
                draft.auth = {"type": "api_key", "name": name, "api_key": value, "location": "header"}
            self.report.add("", f"header {name}", "translated")

    def _header(self, name: str, header: Mapping[str, Any]) -> str:
        kind, key = header.get("from"), text_of(header.get("key"))
        if kind == "template":
            value = self.written(text_of(header.get("template")), {}, plain=False)
        elif kind in ("secret", "variable", "input", "bearer"):
            value = self.configured(str(kind), key, text_of(header.get("default")) or None)
            value = f"Bearer {value}" if kind == "bearer" else value
        elif kind == "literal":
            value = text_of(header.get("value"))
        else:
            raise UntranslatableError(f"from {shown(kind)} is none that FFF knows")
        if "${env:" not in value and (is_secret(name) or is_token(value)):
            return self.hiding.secret(name)
        return value


@dataclass
class _Table:
    manifest: _Manifest
    data: Mapping[str, Any]
    name: str
    columns: list[ColumnDraft] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)  # filter -> the column that it is
    virtual: set[str] = field(default_factory=set)  # columns that no record has

    def tell(self, what: str, outcome: Any, note: str = "", *, incomplete: bool = False) -> None:
        self.manifest.report.add(self.name, what, outcome, note, incomplete=incomplete)

    def draft(self) -> TableDraft:
        backend = text_of(self.data.get("backend")) or self.manifest.backend
        if backend != "http":
            raise UntranslatableError(f"files ({backend}): write a source of `type: files`")
        for key in self.data.keys() - _KNOWN:
            self.tell(str(key), "dropped", "a key that FFF does not know", incomplete=True)
        if self.data.get("fetch_limit_default") is not None:
            self.tell("fetch_limit_default", "approximated", "all rows are read, unless LIMIT says otherwise")
        filters = {text_of(one.get("name")): one for one in mappings(self.data.get("filters"))}
        self._read_columns(filters)
        required = [name for name, one in filters.items() if one.get("required")]
        table = TableDraft(self.name, self.columns, text_of(self.data.get("description")))
        ways = list(self._ways(required))
        if not ways:
            raise UntranslatableError("no request of it can be written")
        for way in ways:
            if way.keys:
                table.lookups.append(way)
            else:
                table.scan = way.endpoint
        if mapping(self.data.get("response")).get("allow_404_empty"):
            table.empty_statuses = (404,)
        self._optional(filters, required, table)
        return table

    def _read_columns(self, filters: Mapping[str, Mapping[str, Any]]) -> None:
        for one in mappings(self.data.get("columns")):
            plain = unique(identifier(text_of(one.get("name"))), (column.name for column in self.columns))
            kind = _TYPES.get(text_of(one.get("type")), "string")
            expression = mapping(one.get("expr"))
            name = f"column {plain}"
            if expression.get("kind") == "from_filter":
                self.named[text_of(expression.get("key"))] = plain
                self.virtual.add(plain)
                self.columns.append(ColumnDraft(plain, kind, note="what is asked for"))
                self.tell(name, "translated")
                continue
            path, note = _place(expression, text_of(one.get("name")))
            if path is None:
                self.tell(name, "dropped", note)
                continue
            if note.startswith("a list"):
                kind = "string"
            self.columns.append(ColumnDraft(plain, kind, None if path == plain else path, note))
            self.tell(name, "approximated" if note else "translated", note)
        # Of a table whose columns are not known, all are found in the answers, but for those of its keys.
        by_name = {column.name: column for column in self.columns}
        for key in filters:
            self.named.setdefault(key, self._other(key, by_name.keys()))
            if self.named[key] not in by_name and filters[key].get("required"):
                self.virtual.add(self.named[key])
                self.columns.append(ColumnDraft(self.named[key], "string", note="what is asked for"))
        self.columns = [
            column
            for column in self.columns
            if column.name not in self.virtual or self._is_key(column, filters)
        ]

    def _other(self, key: str, columns: Collection[str]) -> str:
        """The column of a filter.

        In `groups/{{filter.id}}/members` it is not the `id` of the records, which are members.
        """
        plain = identifier(key)
        for one in [self.data.get("request"), *self._more()] if plain in columns else ():
            path = text_of(mapping(one).get("path"))
            segment = re.search(r"([^/{}]+)/\{\{\s*filter\." + re.escape(key) + r"\s*\}\}/", path)
            if segment is not None:
                named = f"{singular(identifier(segment[1].lower()))}_{plain}"
                self.tell(
                    f"filter {key}", "approximated", f"called {named}: the records have another {plain}"
                )
                return named
        return plain

    def _is_key(self, column: ColumnDraft, filters: Mapping[str, Mapping[str, Any]]) -> bool:
        asked = [key for key, name in self.named.items() if name == column.name]
        if any(filters.get(key, {}).get("required") for key in asked):
            return True
        if any(
            {key} <= set(map(str, one.get("when_filters") or ())) for one in self._more() for key in asked
        ):
            return True
        self.tell(f"column {column.name}", "dropped", "no record has it, and no request must say it")
        return False

    def _more(self) -> Sequence[Mapping[str, Any]]:
        return mappings(self.data.get("requests"))

    def _ways(self, required: Sequence[str]) -> Iterator[LookupDraft]:
        """The requests of the table, of which one at most needs no key."""
        seen: set[frozenset[str]] = set()
        request = self.data.get("request")
        asked = [(one, [*required, *map(str, one.get("when_filters") or ())]) for one in self._more()]
        if isinstance(request, Mapping) and request.get("path"):
            asked.append((request, list(required)))
        elif not required:
            self.tell("request", "approximated", "it is asked by keys alone")
        problem: UntranslatableError | None = None
        for number, (one, filters) in enumerate(asked):
            keys = {key: self.named.get(key, identifier(key)) for key in dict.fromkeys(filters)}
            columns = frozenset(keys.values())
            what = "request" if one is request else f"requests[{number}]"
            if columns in seen:
                self.tell(
                    what, "approximated", "another request has the same keys, and is taken", incomplete=False
                )
                continue
            try:
                endpoint = self._endpoint(one, keys, what)
            except UntranslatableError as error:
                problem = error
                self.tell(what, "dropped", str(error))
                continue
            if not columns <= {column.name for column in self.columns}:
                self.tell(what, "dropped", "it is asked by what is no column")
                continue
            seen.add(columns)
            self.tell(what, "translated")
            yield LookupDraft(tuple(keys.values()), endpoint)
        if problem is not None and not seen:
            raise problem

    def _endpoint(self, request: Mapping[str, Any], keys: Mapping[str, str], what: str) -> dict[str, Any]:
        method = (text_of(request.get("method")) or "GET").upper()
        if method not in ("GET", "POST"):
            raise UntranslatableError(f"it is asked by {method}")
        endpoint: dict[str, Any] = {
            "path": self.manifest.written(text_of(request.get("path")), keys).lstrip("/")
        }
        if method == "POST":
            endpoint["method"] = method
        params = dict(self._params(mappings(request.get("query")), keys, what))
        body: dict[str, Any] = {}
        for one in mappings(request.get("body")):
            place = [str(part) for part in one.get("path") or ()]
            for _, value in self._params([{**one, "name": ".".join(place)}], keys, what, in_body=True):
                inside = body
                for part in place[:-1]:
                    inside = inside.setdefault(part, {})
                    if not isinstance(inside, dict):
                        raise UntranslatableError("a body that is said twice")
                inside[place[-1]] = value
        headers = {}
        for one in mappings(request.get("headers")):
            for name, value in self._params([one], keys, what):
                if name.lower() != "content-type":
                    headers[name] = self.manifest.hiding.secret(name) if is_secret(name) else value
        response = mapping(self.data.get("response"))
        selector = step("$", *map(str, response.get("rows_path") or ()))
        if (rows := response.get("row_strategy") or "direct") not in ("direct", "dict_entries"):
            raise UntranslatableError(f"records of the shape {shown(rows)}")
        if rows == "dict_entries":
            raise UntranslatableError("records that are the members of an object: declare `rows: entries`")
        for key in ("ok_path", "error_path"):
            if response.get(key):
                self.tell(f"response.{key}", "approximated", "FFF tells errors by what answers usually say")
        paginator = self._paginator(params, body)
        endpoint |= {"params": params} if params else {}
        endpoint |= {"headers": headers} if headers else {}
        endpoint |= {"json": body} if body else {}
        endpoint |= {"data_selector": selector} if selector != "$" else {}
        return endpoint | ({"paginator": paginator} if paginator else {})

    def _params(
        self,
        inputs: Sequence[Mapping[str, Any]],
        keys: Mapping[str, str],
        what: str,
        *,
        in_body: bool = False,
    ) -> Iterator[tuple[str, Any]]:
        for one in inputs:
            name, kind = text_of(one.get("name")), one.get("from")
            where = f"{what}.{name}"
            if kind == "literal":
                value = one.get("value")
                if is_token(text_of(value)) or is_secret(name):
                    yield name, self.manifest.hiding.secret(name)
                elif isinstance(value, str):
                    yield name, inert(value)
                elif isinstance(value, bool):
                    yield name, value if in_body else str(value).lower()
                elif value is not None:
                    yield name, value
            elif kind in ("secret", "variable", "input"):
                yield name, self.manifest.configured(str(kind), text_of(one.get("key")), None)
            elif kind == "template":
                text = text_of(one.get("template"))
                wanted = {template[2] for template in _TEMPLATE.finditer(text) if template[1] == "filter"}
                if wanted <= keys.keys():
                    yield name, self.manifest.written(text, keys)
            elif str(kind).startswith("filter") and text_of(one.get("key")) in keys:
                if kind not in ("filter", "filter_int"):
                    raise UntranslatableError(f"a parameter from {shown(kind)}")
                yield name, f"{{{keys[text_of(one.get('key'))]}}}"
            elif kind == "filter":
                if one.get("default") is not None:
                    self.tell(where, "approximated", f"always {shown(one['default'])}", incomplete=True)
                    yield name, one["default"]
            else:
                self.tell(where, "dropped", f"a value from {shown(kind)}", incomplete=True)

    def _paginator(self, params: dict[str, Any], body: dict[str, Any]) -> dict[str, Any] | None:
        pagination = mapping(self.data.get("pagination"))
        mode, about = text_of(pagination.get("mode")) or "none", mapping(pagination.get("page_size"))
        size, name = about.get("default"), text_of(about.get("query_param"))
        parts = [str(part) for part in about.get("body_path") or ()]
        inside = ".".join(parts)
        sizes: dict[str, Any] = {}
        if isinstance(size, int) and (name or inside):
            sizes = {
                "page_size": size,
                **({"page_size_param": name} if name else {"limit_body_path": inside}),
            }
        if mode.startswith("cursor") and "limit_body_path" in sizes:  # of which no cursor makes use
            sizes, place_in = {}, body
            for part in parts[:-1]:
                place_in = place_in.setdefault(part, {})
            place_in.setdefault(parts[-1], size)
        if isinstance(most := pagination.get("max_pages"), int):
            self.tell("pagination.max_pages", "approximated", f"all pages are read, not {most} alone")
        place = step("$", *map(str, pagination.get("response_cursor_path") or ()))
        paginator: dict[str, Any]
        if mode in ("none", "auto"):
            if name and isinstance(size, int):
                params.setdefault(name, size)
            self.tell("pagination", "translated" if mode == "auto" else "approximated", "as answers say")
            return None
        if mode == "cursor_query":
            paginator = {
                "type": "cursor",
                "cursor_path": place,
                "cursor_param": text_of(pagination.get("cursor_param")),
            }
        elif mode == "cursor_body":
            inside = ".".join(str(part) for part in pagination.get("cursor_body_path") or ())
            paginator = {"type": "cursor", "cursor_path": place, "cursor_body_path": inside}
        elif mode == "page" and pagination.get("page_step", 1) == 1:
            paginator = {"type": "page_number", "page_param": text_of(pagination.get("page_param")) or "page"}
            paginator["base_page"] = pagination.get("page_start") or 0
        elif mode in ("page", "offset"):
            # Pages counted by more than one are places in the list.
            called = "page" if mode == "page" else "offset"
            paginator = {
                "type": "offset",
                "offset_param": text_of(pagination.get(f"{called}_param")) or called,
            }
            paginator["base_offset"] = pagination.get(f"{called}_start") or 0
            if not sizes and isinstance(by := pagination.get(f"{called}_step") or size, int):
                sizes = {"page_size": by, "page_size_param": None}
        elif mode == "link_header":
            paginator = {"type": "header_link"}
        else:
            note = f"pages by {shown(mode)}: they are followed as answers say"
            self.tell("pagination", "approximated", note, incomplete=True)
            return None
        self.tell("pagination", "translated")
        return paginator | sizes

    def _optional(
        self, filters: Mapping[str, Mapping[str, Any]], required: Sequence[str], table: TableDraft
    ) -> None:
        """What may be asked for: where it is a column of the records, a condition on it is sent along."""
        mode = {name: text_of(one.get("mode")) or "equality" for name, one in filters.items()}
        by_name = {column.name for column in self.columns} - self.virtual
        for name in filters:
            if name in required:
                if mode[name] != "equality":
                    self.tell(
                        f"filter {name}",
                        "approximated",
                        "a search: it finds what the source finds",
                        incomplete=True,
                    )
                else:
                    self.tell(f"filter {name}", "translated")
                continue
            asked = mappings(mapping(self.data.get("request")).get("query"))
            param = next(
                (
                    text_of(one.get("name"))
                    for one in asked
                    if one.get("from") == "filter" and one.get("key") == name and "default" not in one
                ),
                None,
            )
            column = self.named.get(name, name)
            if param is None or mode[name] != "equality" or column not in by_name or table.scan is None:
                self.tell(
                    f"filter {name}",
                    "dropped",
                    "rows are asked for without it, and a condition is checked here",
                )
                continue
            table.key_columns.append({"name": column, "param": param})
            self.tell(f"filter {name}", "translated")


def _place(expression: Mapping[str, Any], name: str) -> tuple[str | None, str]:
    """Where in a record a column is, and what is different there; None for one that is nowhere."""
    kind = expression.get("kind") or ("path" if not expression else "")
    if kind == "coalesce":
        inside = [one for one in mappings(expression.get("exprs")) if one.get("kind") == "path"]
        if not inside:
            return None, "computed"
        return _place(inside[0], name)[
            0
        ], f"the first of {len(mappings(expression.get('exprs')))} places alone"
    if kind == "current_row":
        return "$", "the record, as JSON text"
    parts = [str(part) for part in expression.get("path") or ([name] if kind == "path" else ())]
    path = step("$", *(int(part) if part.isdecimal() else part for part in parts))
    if kind == "path":
        return path, ""
    if kind == "join_array":
        return path, "a list, as JSON text"
    if kind == "first_array_item_path":
        return step(path, 0, *map(str, expression.get("item_path") or ())), ""
    return None, f"computed ({shown(kind)})"
