"""One stream of a declarative manifest: its request, its records and its columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from fff.structs import lazy_pattern
from fff_sources.authoring.draft import ColumnDraft, TableDraft, identifier, unique
from fff_sources.authoring.openapi.schema import Resolver, columns_of_schema
from fff_sources.authoring.sampling.address import is_secret
from fff_sources.authoring.sampling.shape import step
from fff_sources.http.templates import escaped
from fff_sources.importing.airbyte.expressions import (
    TemplateReference,
    UntranslatableError,
    filled,
    only_expression,
    pieces,
    reference_of,
)
from fff_sources.importing.airbyte.manifest import ManifestPart
from fff_sources.importing.fidelity import FidelityReport, shown

_PARTITION = ("stream_partition", "stream_slice")
_FORMATS = {
    "": "json",
    "JsonDecoder": "json",
    "XmlDecoder": "xml",
    "JsonlDecoder": "ndjson",
    "CsvDecoder": "csv",
}
_MOST_COLUMNS = 2_000
#: What templates say of times names one of these.
_TIMES = lazy_pattern(r"stream_interval|stream_state|now_utc|today_utc|stream_slice\[['\"]start")


class Wording:
    """How texts of a manifest are written in a spec: `config` as variables, parameters as they are, partitions as columns."""

    def __init__(
        self,
        source: str,
        spec: Mapping[str, Any],
        report: FidelityReport,
        stream: str = "",
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self.source = source
        self.report = report
        self._spec = spec
        self._stream = stream
        self._columns = columns or {}

    def of_stream(self, stream: str, columns: Mapping[str, str]) -> Wording:
        """The same for one stream; `columns`: what its partitions are called in templates -> column."""
        return Wording(self.source, self._spec, self.report, stream, columns)

    def variable(self, path: Sequence[str]) -> str:
        """The environment variable for a place in the configuration."""
        plain = [part for part in path if part != "credentials"] or list(path)
        name = re.sub(r"[^A-Z0-9]+", "_", "_".join([self.source, *plain]).upper()).strip("_")
        if name not in self.report.variables:
            self.report.variables.append(name)
        return name

    def secret(self, what: str) -> str:
        """A reference to a secret that has no place in the configuration."""
        return f"${{env:{self.variable([what])}}}"

    def header(self, text: str, parameters: Mapping[str, Any] | None = None) -> str:
        """A text of `client`, in which braces mean nothing. Raises UntranslatableError."""
        return self._filled(text, parameters or {}, lambda plain: plain)

    def endpoint(self, text: str, parameters: Mapping[str, Any], *, optional: bool = False) -> str:
        """A text of an endpoint. Raises UntranslatableError."""
        return self._filled(text, parameters, escaped, optional=optional)

    def _filled(
        self, text: str, parameters: Mapping[str, Any], plain: Callable[[str], str], *, optional: bool = False
    ) -> str:
        def value_of(reference: TemplateReference) -> str:
            return self._value(reference, parameters, plain, optional=optional)

        def tell(note: str) -> None:
            self.report.add(self._stream, shown(text), "approximated", note)

        return filled(text, value_of, plain, tell)

    def _value(
        self,
        reference: TemplateReference,
        parameters: Mapping[str, Any],
        plain: Callable[[str], str],
        *,
        optional: bool,
    ) -> str:
        if not reference.path:
            raise UntranslatableError(f"a template names {reference.root}")
        path = [str(part) for part in reference.path]
        if reference.root == "config":
            return self._configured(path, reference.default, plain, optional=optional)
        if reference.root in ("parameters", "options"):
            value: Any = parameters
            for part in path:
                value = value.get(part) if isinstance(value, Mapping) else None
            if value is None:
                value = reference.default
            if isinstance(value, str | int | float):
                return self._filled(str(value), {}, plain)  # which may name anything but parameters
            raise UntranslatableError(f"parameter {path[0]!r} is not said")
        if reference.root in _PARTITION and path[-1] in self._columns:
            return f"{{{self._columns[path[-1]]}}}"
        raise UntranslatableError(f"a template names {reference.root}.{'.'.join(path)}")

    def _configured(
        self, path: list[str], default: str | None, plain: Callable[[str], str], *, optional: bool
    ) -> str:
        declared, needed = self._declared(path)
        value = declared.get("const", declared.get("default", default))
        hidden = bool(declared.get("airbyte_secret")) or is_secret(path[-1])
        if isinstance(value, str | int | float) and not hidden and value != "":
            text = text_of_value(value)
            self.report.add(
                self._stream, f"config.{'.'.join(path)}", "approximated", f"its default, {shown(text)}"
            )
            return plain(text)
        missing = "?" if optional and not needed and not hidden else ""
        return f"${{env:{self.variable(path)}{missing}}}"

    def _declared(self, path: Sequence[str]) -> tuple[Mapping[str, Any], bool]:
        """What the connector's specification says of an option, and whether it must be given."""
        place: Any = self._spec.get("connection_specification")
        needed = True
        for part in path:
            place = place if isinstance(place, Mapping) else {}
            required, properties = place.get("required"), place.get("properties")
            needed = needed and isinstance(required, list) and part in required
            place = properties.get(part) if isinstance(properties, Mapping) else None
        return (place if isinstance(place, Mapping) else {}), needed


class StreamRequest:
    """The request of a stream. `empty`, `slow`: statuses that mean no rows, and that mean to slow down."""

    def __init__(self, requester: ManifestPart, words: Wording, tell: Any) -> None:
        self.words = words
        self.empty: list[int] = []
        self.slow: list[int] = []
        self.windowed = False  # whether requests say times that a sync keeps
        self._part = requester
        self._tell = tell
        self._parameters = requester.parameters
        self.base_url, self._path = self._address()

    def endpoint(self) -> dict[str, Any]:
        """It as a spec writes it. Raises UntranslatableError."""
        part = self._part
        path, _, query = self._path.partition("?")
        endpoint: dict[str, Any] = {"path": path.lstrip("/")}
        method = (part.text("http_method") or "GET").upper()
        if method not in ("GET", "POST"):
            raise UntranslatableError(f"a request by {shown(method)}")
        if method == "POST":
            endpoint["method"] = method
        provider = part.part("request_options_provider")
        params: dict[str, Any] = dict(parse_qsl(query, keep_blank_values=True))
        headers: dict[str, Any] = {}
        bodies: dict[str, Any] = {}
        for one in (part, provider):
            if one.kind.startswith("Custom"):
                raise UntranslatableError(f"{one.kind} is code")
            params |= self._named(one, "request_parameters")
            headers |= self._named(one, "request_headers")
            bodies |= self._body(one)
        if params:
            endpoint["params"] = params
        if headers:
            endpoint["headers"] = headers
        if bodies:
            if method != "POST":
                raise UntranslatableError("a GET with a body")
            endpoint["json"] = bodies
        for key in ("use_cache", "fetch_properties_from_endpoint"):
            part.get(key)
        self._errors(part.part("error_handler"), 0)
        self._tell(part, "translated")
        return endpoint

    def _address(self) -> tuple[str, str]:
        part = self._part
        whole = part.text("url")
        base = (part.text("url_base") or whole or "").strip()
        path = "" if whole and not part.text("url_base") else part.text("path") or ""
        if not base:
            raise UntranslatableError("a request without a URL")
        try:
            for is_expression, piece in pieces(base):
                if is_expression and piece.startswith(_PARTITION):
                    raise UntranslatableError("a host that a partition names")
            written = self.words.header(base, self._parameters)
        except UntranslatableError as error:
            if "partition" in str(error):
                raise
            written = f"${{env:{self.words.variable(['url'])}}}"
            self._tell(part, "approximated", f"url_base {shown(base)}: write the one that is yours")
        if not written.startswith(("http://", "https://", "${env:")):
            written = f"https://{written}"
        return written.rstrip("/"), self.words.endpoint(path.strip(), self._parameters)

    def _named(self, part: ManifestPart, key: str) -> dict[str, Any]:
        """Parameters or headers; those that a sync keeps are left out."""
        raw = part.get(key)
        if isinstance(raw, str) and raw.strip():
            raise UntranslatableError(f"{key} computes: {shown(raw)}")
        written_values: dict[str, Any] = {}
        for name, value in part.mapping(key).items():
            if value is None:
                continue
            text = text_of_value(value)
            try:
                written = self.words.endpoint(text, self._parameters, optional=True)
            except UntranslatableError as error:
                if _TIMES.search(text):
                    self.windowed = True
                    note = f"{name} said times that a sync keeps; without it the source may send a part only"
                else:
                    note = f"{name}: {error}"
                self._tell(part, "dropped", note, incomplete=True)
                continue
            if is_secret(name) and "${env:" not in written and "{" not in written and written:
                written = self.words.secret(name)
                self._tell(part, "approximated", f"{name} is taken for a secret: set its variable")
            written_values[name] = written
        return written_values

    def _body(self, part: ManifestPart) -> dict[str, Any]:
        if part.get("request_body_data"):
            raise UntranslatableError("a request with a form")
        body = part.get("request_body")
        if isinstance(body, Mapping):
            kind, value = body.get("type"), body.get("value")
            if kind not in ("RequestBodyJsonObject", None) or not isinstance(value, Mapping):
                raise UntranslatableError(f"a request body of {shown(kind)}")
            return {str(name): self._json(item, 0) for name, item in value.items()}
        raw = part.get("request_body_json")
        if isinstance(raw, str) and raw.strip():
            raise UntranslatableError(f"request_body_json computes: {shown(raw)}")
        return {name: self._json(item, 0) for name, item in part.mapping("request_body_json").items()}

    def _json(self, value: Any, depth: int) -> Any:
        if depth > 20:
            raise UntranslatableError("a body that is too deep")
        if isinstance(value, str):
            return self.words.endpoint(value, self._parameters)
        if isinstance(value, Mapping):
            return {
                str(name): self.words.secret(str(name))
                if is_secret(str(name)) and isinstance(item, str) and "{{" not in item
                else self._json(item, depth + 1)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self._json(item, depth + 1) for item in value]
        return value

    def _errors(self, handler: ManifestPart, depth: int) -> None:
        """Statuses: no rows where nothing is there (404); all else that is ignored there is an error here."""
        if depth > 4:
            return
        for key in ("max_retries", "backoff_strategies"):
            handler.get(key)
        for inner in handler.children("error_handlers"):
            self._errors(inner, depth + 1)
        for one in handler.children("response_filters"):
            action, codes = one.text("action"), one.items("http_codes")
            for key in ("error_message", "failure_type"):
                one.get(key)
            conditions = [key for key in ("predicate", "error_message_contains") if one.get(key)]
            numbers = [int(code) for code in codes if str(code).isdigit() and 100 <= int(code) <= 599]
            if action == "RATE_LIMITED" and not conditions and min(numbers, default=400) >= 400:
                self.slow += [code for code in numbers if code != 429]
                self._tell(one, "translated")
            elif action == "IGNORE" and numbers == [404] and not conditions:
                self.empty = [404]
                self._tell(one, "translated")
            elif action == "IGNORE":
                self._tell(
                    one,
                    "dropped",
                    f"what is ignored there ({', '.join([*map(str, numbers), *conditions]) or 'anything'}) is an error here",
                )
            elif action == "RETRY" or (action == "RATE_LIMITED" and not conditions):
                self._tell(one, "dropped", "FFF tries again what it tries again of any source")


def text_of_value(value: Any) -> str:
    """A value as a parameter has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def selector_of(retriever: ManifestPart, endpoint: dict[str, Any], words: Wording, tell: Any) -> None:
    """Where the records are, and in what format. Raises UntranslatableError."""
    selector = retriever.part("record_selector")
    extractor = selector.part("extractor")
    if extractor.kind not in ("DpathExtractor", ""):
        raise UntranslatableError(f"{extractor.kind} is no extractor that FFF knows")
    path = "$"
    for part in extractor.items("field_path"):
        text = words.endpoint(str(part), extractor.parameters) if "{{" in str(part) else escaped(str(part))
        if "${" in text or (text != escaped(text.replace("{{", "{").replace("}}", "}"))):
            raise UntranslatableError(f"the place of the records is computed: {shown(part)}")
        plain = text.replace("{{", "{").replace("}}", "}")
        path = (f"{path}.*" if path != "$" else "*") if plain == "*" else step(path, plain)
    if path != "$":
        endpoint["data_selector"] = path
    if extractor:
        tell(extractor, "translated")
    decoder = retriever.part("decoder")
    form = _FORMATS.get(decoder.kind)
    if form is None:
        raise UntranslatableError(f"{decoder.kind} is no decoder that FFF knows")
    if form != "json":
        endpoint["format"] = form
    delimiter = decoder.text("delimiter")
    if form == "csv" and delimiter is not None and len(delimiter) == 1:
        endpoint["delimiter"] = delimiter
    if form in ("csv", "ndjson"):
        endpoint.pop("data_selector", None)
    row_filter = selector.part("record_filter")
    if row_filter:
        condition = shown(row_filter.get("condition"))
        tell(row_filter, "dropped", f"rows it leaves out come as well: say so in WHERE ({condition})")
    for key in ("schema_normalization", "transform_before_filtering"):
        selector.get(key)
    retriever.get("ignore_stream_slicer_parameters_on_paginated_requests")


def columns_of_stream(
    stream: ManifestPart,
    table: TableDraft,
    partitions: Mapping[str, str],
    types: Mapping[str, str],
    tell: Any,
) -> None:
    """The columns: of the declared schema, with what is added and without what is removed; those of partitions."""
    added, removed = _transformed(stream, partitions, tell)
    schema = _schema(stream)
    resolver = Resolver(stream.root)
    columns = columns_of_schema(resolver, _simplified(schema))
    if len(columns) > _MOST_COLUMNS:
        raise UntranslatableError(f"more than {_MOST_COLUMNS:,} columns")
    by_name = {column.name.lower(): column for column in columns}
    for name, path in added.items():
        column = by_name.get(identifier(name).lower())
        if path is None or column is None:
            continue
        by_name[column.name.lower()] = ColumnDraft(
            column.name, column.type, None if path == column.name else path
        )
    gone = {identifier(name).lower() for name in removed}
    gone |= {identifier(name).lower() for name, path in added.items() if path is None}
    gone |= {column.lower() for column in partitions.values()}
    kept = [column for name, column in by_name.items() if name not in gone]
    own = [
        ColumnDraft(column, types.get(column, "string"), note="what is asked for")
        for column in dict.fromkeys(partitions.values())
    ]
    if not kept and (own or not schema.get("properties")):
        if not own:
            tell(stream, "approximated", "no columns are declared: they are learnt from the first page")
            return
        kept = [
            ColumnDraft(
                unique("record", (one.name for one in own)), "string", "$", "the record, as JSON text"
            )
        ]
        tell(stream, "approximated", "no columns are declared: records come as JSON text")
    table.columns = [*own, *kept]


def type_of_key(parent: ManifestPart, key: str) -> str:
    """The type of a parent's column, so that a join can bind what is asked by it."""
    columns = columns_of_schema(Resolver(parent.root), _simplified(_schema(parent)))
    return next((one.type for one in columns if (one.path or one.name) == key), "string")


def _schema(stream: ManifestPart) -> Mapping[str, Any]:
    loader = stream.part("schema_loader")
    if loader.kind not in ("InlineSchemaLoader", ""):
        return {}
    schema = loader.get("schema")
    loader.read.update(loader.data)
    return schema if isinstance(schema, Mapping) else {}


def _simplified(schema: Any, depth: int = 0) -> dict[str, Any]:
    """A JSON schema in which what may be of several kinds is text: the source says no more of it than that."""
    if not isinstance(schema, Mapping) or depth > 3:
        return {}
    properties = schema.get("properties")
    kinds = schema.get("type")
    plain = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else []
    simple: dict[str, Any] = {str(key): item for key, item in schema.items() if key != "properties"}
    if len(plain) > 1:
        whole = set(map(str, plain)) == {"integer", "number"}
        simple = {"type": "number" if whole else "string"}
    elif isinstance(properties, Mapping):
        simple["properties"] = {str(name): _simplified(one, depth + 1) for name, one in properties.items()}
    if schema.get("airbyte_type") == "timestamp_without_timezone":
        simple["format"] = ""
    for key in ("oneOf", "anyOf", "allOf"):
        if not isinstance(simple.get(key, []), list):
            simple.pop(key)
    return simple


def _transformed(
    stream: ManifestPart, partitions: Mapping[str, str], tell: Any
) -> tuple[dict[str, str | None], list[str]]:
    """Columns that transformations make (name -> place in the record; None: it has none) and take away."""
    added: dict[str, str | None] = {}
    removed: list[str] = []
    for change in stream.children("transformations"):
        match change.kind:
            case "AddFields":
                for one in change.children("fields"):
                    path = one.items("path")
                    expression = only_expression(one.get("value"))
                    reference = reference_of(expression) if expression is not None else None
                    one.get("value_type")
                    if len(path) != 1:
                        tell(one, "dropped", "a column inside of another")
                        continue
                    name = str(path[0])
                    if reference is not None and reference.root == "record" and reference.path:
                        added[name] = step("$", *reference.path)
                        tell(one, "translated")
                    elif (
                        reference is not None
                        and reference.root in _PARTITION
                        and reference.path
                        and str(reference.path[-1]) in partitions
                    ):
                        added.setdefault(name, None)
                        tell(one, "translated")
                    else:
                        added[name] = None
                        tell(one, "dropped", f"{shown(name)} is computed: {shown(one.get('value'))}")
            case "RemoveFields":
                pointers = change.items("field_pointers")
                removed += [str(one[0]) for one in pointers if isinstance(one, list) and len(one) == 1]
                change.get("condition")
                tell(change, "translated")
            case kind:
                change.read.update(change.data)
                tell(change, "dropped", f"{shown(kind)}: records come as the source sends them")
    return added, removed
