"""Airbyte's declarative manifests: each stream a table, a substream a table that is asked by its parent's key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fff_sources.authoring.draft import LookupDraft, SpecDraft, TableDraft, identifier, unique
from fff_sources.http.paging.conventions import SIZES
from fff_sources.importing.airbyte.expressions import UntranslatableError, only_expression, reference_of
from fff_sources.importing.airbyte.logins import auth_of
from fff_sources.importing.airbyte.manifest import ManifestPart
from fff_sources.importing.airbyte.paging import paginator_of
from fff_sources.importing.airbyte.streams import (
    StreamRequest,
    Wording,
    columns_of_stream,
    selector_of,
    text_of_value,
    type_of_key,
)
from fff_sources.importing.fidelity import FidelityReport, shown

_MOST = 1_000  # streams of one manifest
_CACHED = 429  # what every source may mean by it already
_HARMLESS = ("authenticator", "error_handler", "schema")  # a mistake there is an error, not a row less
#: What is part of a connector's own work, and says nothing of its answers.
_WORK = frozenset({"state_migrations", "schema_loader", "retriever", "url_base", "streams", "file_uploader"})


def drafts_of_manifest(manifest: Mapping[str, Any], name: str, report: FidelityReport) -> list[SpecDraft]:
    """The sources of a manifest: one for each base URL and login that its streams have.

    Args:
        manifest: as data.
        name: of the source.
        report: is told what becomes of each field.
    """
    root = ManifestPart(manifest, manifest)
    spec = manifest.get("spec")
    wording = Wording(name, spec if isinstance(spec, dict) else {}, report)
    drafts: dict[str, SpecDraft] = {}
    taken: list[str] = []
    for number, stream in enumerate(_streams(root, report)):
        if number == _MOST:
            report.leave_out("(more)", f"a manifest has at most {_MOST:,} streams")
            break
        called = _name(stream, number)
        stream.parts.clear()
        stream.parts.append(stream)
        try:
            _stream(stream, called, unique(identifier(called.lower(), "rows"), taken), wording, drafts)
        except UntranslatableError as error:
            report.leave_out(called, str(error))
            continue
        taken.append(report.written[called].partition(".")[2])
        _tell_unread(stream, called, report)
    return list(drafts.values())


def is_plain(stream: ManifestPart) -> bool:
    """Whether a stream is made of the manifest language's own parts, read by one request after the other."""
    return not _custom(stream, 0) and stream.part("retriever").kind in ("SimpleRetriever", "")


def plain_streams(manifest: Mapping[str, Any]) -> dict[str, bool]:
    """The streams by name, and whether each is plain."""
    root = ManifestPart(manifest, manifest)
    return {_name(one, number): is_plain(one) for number, one in enumerate(root.children("streams"))}


def _name(stream: ManifestPart, number: int) -> str:
    return stream.text("name") or f"stream_{number + 1}"


def _custom(part: ManifestPart, depth: int) -> bool:
    """Whether some component is a class of the connector's own."""
    if part.kind.startswith("Custom"):
        return True
    names = () if depth > 6 else tuple(part.data)
    return any(
        _custom(child, depth + 1)
        for name in names
        if name not in ("$parameters", "schema_loader", "parent_stream_configs", "stream")
        for child in part.children(name)
        if child
    )


def _streams(root: ManifestPart, report: FidelityReport) -> Iterator[ManifestPart]:
    yield from root.children("streams")
    if root.get("dynamic_streams"):
        report.leave_out("(dynamic_streams)", "their names are known to the source alone")


def _tell_unread(stream: ManifestPart, called: str, report: FidelityReport) -> None:
    """Whatever nobody looked at is dropped, and in the retriever may well have changed what comes."""
    read: dict[tuple[str | int, ...], set[str]] = {}
    for part in stream.parts:
        read.setdefault(part.place, set()).update(part.read)
    for part in stream.parts:
        if "stream" in part.place:  # a parent, which is told of where it stands itself
            continue
        for key in part.unread(read[part.place]):
            if key in _WORK or key in part.parameters:
                continue
            place = ".".join([*part.name.partition("].")[2].split("."), key]).lstrip(".")
            doubtful = place.startswith("retriever") and not any(one in place for one in _HARMLESS)
            report.add(called, place, "dropped", "FFF has no word for it", incomplete=doubtful)


def _stream(
    stream: ManifestPart, called: str, plain: str, wording: Wording, drafts: dict[str, SpecDraft]
) -> None:
    """Write one stream. Raises UntranslatableError."""
    report = wording.report

    def tell(part: ManifestPart, outcome: Any, note: str = "", *, incomplete: bool = False) -> None:
        place = part.name.partition("].")[2] or part.name
        report.add(called, place, outcome, note, incomplete=incomplete)

    retriever = stream.part("retriever")
    if retriever.kind not in ("SimpleRetriever", ""):
        raise UntranslatableError(f"{retriever.kind} is no retriever that FFF knows")
    requester = retriever.part("requester")
    if requester.kind not in ("HttpRequester", ""):
        raise UntranslatableError(f"{requester.kind} is no requester that FFF knows")
    table = TableDraft(plain)
    keys, values, types = _partitions(retriever, table, tell)
    words = wording.of_stream(called, {**keys, **values})
    columns_of_stream(stream, table, {**keys, **values}, types, tell)
    request = StreamRequest(requester, words, tell)
    endpoint = request.endpoint()
    _send_keys(retriever, endpoint, {**keys, **values})
    selector_of(retriever, endpoint, words, tell)
    _incremental(stream, endpoint, request, tell)
    paginator = paginator_of(
        retriever.part("paginator"), endpoint.get("data_selector", "$"), endpoint.get("method", "GET"), tell
    )
    sizes = [name for name in endpoint.get("params", ()) if name.lower() in SIZES]
    if paginator is not None:
        endpoint["paginator"] = paginator
    elif sizes:
        note = f"{sizes[0]} says how many come, and nothing how to get the others"
        tell(requester, "approximated", note, incomplete=True)
    _primary_key(stream, table, [*keys.values(), *values.values()], tell)
    table.empty_statuses = tuple(request.empty)
    if keys:
        table.key_columns = [{"name": column, "require": "required"} for column in keys.values()]
        table.lookups.append(LookupDraft(tuple(keys.values()), endpoint))
    else:
        table.scan = endpoint
        if not table.columns and table.values:
            raise UntranslatableError("no columns are declared, and values need some")
    draft = _draft_for(requester, request, words, drafts, tell)
    draft.tables.append(table)
    waiting = {*draft.rate_limit.get("extra_statuses", ()), *request.slow} - {_CACHED}
    if waiting:
        draft.rate_limit["extra_statuses"] = sorted(waiting)
    report.written[called] = f"{draft.name}.{table.name}"


def _partitions(
    retriever: ManifestPart, table: TableDraft, tell: Any
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """What requests are split by: a parent's key (asked for) and values of a list; name in templates -> column; and types of columns."""
    types: dict[str, str] = {}
    keys: dict[str, str] = {}
    values: dict[str, str] = {}
    for router in (*retriever.children("partition_router"), *retriever.children("stream_slicer")):
        if not router:
            continue
        kind = router.kind
        if not kind:  # older manifests leave it to the reader
            kind = (
                "SubstreamPartitionRouter"
                if "parent_stream_configs" in router.data
                else "ListPartitionRouter"
            )
        match kind:
            case "SubstreamPartitionRouter":
                configs = list(router.children("parent_stream_configs"))
                if len(configs) != 1:
                    raise UntranslatableError(f"{len(configs)} parents of one substream")
                [parent] = configs
                field, key = parent.text("partition_field"), parent.text("parent_key")
                name = str(parent.part("stream").text("name") or "its parent")
                for ignored in ("incremental_dependency", "extra_fields", "lazy_read_pointer"):
                    parent.get(ignored)
                if field is None or parent.get("extra_fields"):
                    raise UntranslatableError("a substream that takes more than one field of its parent")
                keys[field] = identifier(field)
                types[identifier(field)] = type_of_key(parent.part("stream"), key or "")
                table.description = f"Asked by {identifier(field)}: {key} of {name}."
                tell(parent, "approximated", f"asked by {identifier(field)}: join {name} on {key}")
            case "ListPartitionRouter":
                field = router.text("cursor_field") or ""
                listed = router.get("values")
                if isinstance(listed, list) and listed and not any(map(_is_template, listed)) and field:
                    values[field] = identifier(field)
                    table.values[identifier(field)] = list(dict.fromkeys(map(text_of_value, listed)))
                    tell(router, "translated")
                elif field:
                    keys[field] = identifier(field)
                    tell(router, "approximated", f"the values are the user's: {identifier(field)} is a key")
                else:
                    raise UntranslatableError("a list of partitions without a field")
            case _:
                raise UntranslatableError(f"{kind} is no partition router that FFF knows")
    return keys, values, types


def _is_template(value: object) -> bool:
    return isinstance(value, dict | list) or "{{" in str(value) or "{%" in str(value)


def _send_keys(retriever: ManifestPart, endpoint: dict[str, Any], columns: Mapping[str, str]) -> None:
    """Partitions that travel in a parameter of their own, or nowhere."""
    for router in (*retriever.children("partition_router"), *retriever.children("stream_slicer")):
        parts = [*router.children("parent_stream_configs"), router]
        for part in parts:
            option = part.part("request_option")
            field = part.text("partition_field") or part.text("cursor_field")
            if not option or field is None or field not in columns:
                continue
            name, into = option.text("field_name"), option.text("inject_into") or "request_parameter"
            if name is None or into != "request_parameter":
                raise UntranslatableError(f"a partition that travels in {into}")
            endpoint.setdefault("params", {})[name] = f"{{{columns[field]}}}"
    written = str(endpoint)
    for field, column in columns.items():
        if f"{{{column}}}" not in written:
            raise UntranslatableError(f"nothing in the request says {shown(field)}")


def _incremental(stream: ManifestPart, endpoint: dict[str, Any], request: StreamRequest, tell: Any) -> None:
    """What is read since the last time: all is read, and what the connector would always say may be needed for that."""
    for key in ("incremental_sync", "incremental_sync_cursor"):
        cursor = stream.part(key)
        if not cursor:
            continue
        if cursor.kind not in ("DatetimeBasedCursor", "IncrementingCountCursor"):
            tell(cursor, "dropped", f"{cursor.kind} is none that FFF knows", incomplete=True)
            continue
        for part in list(cursor.data):
            if part not in ("start_time_option", "end_time_option", "start_datetime"):
                cursor.get(part)
        sent = [
            option.text("field_name") or "a parameter"
            for option in (cursor.part("start_time_option"), cursor.part("end_time_option"))
            if option
        ]
        start = cursor.part("start_datetime").text("datetime") or cursor.text("start_datetime")
        cursor.get("end_datetime")
        into = cursor.part("start_time_option").text("inject_into")
        if not sent and not request.windowed:
            tell(cursor, "translated", "all is read")
            continue
        if sent and into == "request_parameter" and start is not None:
            expression = only_expression(start)
            if expression is not None and (reference := reference_of(expression)) is not None:
                name = cursor.part("start_time_option").text("field_name")
                if reference.root == "config" and reference.path and name:
                    variable = request.words.variable([*map(str, reference.path)])
                    endpoint.setdefault("params", {})[name] = f"${{env:{variable}?}}"
        times = f"{', '.join(dict.fromkeys(sent))} told from when to when" if sent else "requests told times"
        tell(cursor, "approximated", f"{times}; without it the source may send a part only", incomplete=True)


def _primary_key(stream: ManifestPart, table: TableDraft, parts: list[str], tell: Any) -> None:
    key = stream.get("primary_key")
    named = [key] if isinstance(key, str) and key else key if isinstance(key, list) else []
    if not named:
        return
    paths = {column.path or column.name: column.name for column in table.columns}
    columns = [paths.get(str(one)) if isinstance(one, str) else None for one in named]
    if None in columns:
        tell(stream, "dropped", f"primary_key {shown(named)} is not among the columns")
        return
    known = [column for column in columns if column is not None]
    # What is a key among one parent's rows need not be one among all of them.
    table.primary_key = tuple(dict.fromkeys([*parts, *known]))
    table.key_is_declared = True


def _draft_for(
    requester: ManifestPart, request: StreamRequest, words: Wording, drafts: dict[str, SpecDraft], tell: Any
) -> SpecDraft:
    """The source with the stream's base URL and login: one that is there, or a new one."""
    auth = None
    authenticator = requester.part("authenticator")
    tried = [authenticator]
    if authenticator.kind == "SelectiveAuthenticator":
        authenticator.get("authenticator_selection_path")
        choices = authenticator.get("authenticators")
        names = list(choices) if isinstance(choices, Mapping) else []
        tried = [authenticator.part("authenticators").part(name) for name in names]
        tell(authenticator, "approximated", f"of the logins {', '.join(names)} the first that FFF speaks")
    problem = ""
    for one in tried:
        try:
            auth = _within(auth_of(one, words.header, words.secret), request.base_url)
        except UntranslatableError as error:
            problem = problem or str(error)
            continue
        problem = ""
        break
    if problem:
        tell(authenticator, "dropped", f"{problem}: write `auth` by hand")
    elif auth is not None:
        tell(authenticator, "translated")
    identity = repr((request.base_url, auth, problem))
    if identity not in drafts:
        name = unique(words.source, (draft.name for draft in drafts.values()))
        draft = SpecDraft(name, request.base_url, "", auth)
        if problem:
            draft.unsure.append(f"{name}: {problem}; write `auth` by hand")
        drafts[identity] = draft
    return drafts[identity]


def _within(auth: dict[str, Any] | None, base_url: str) -> dict[str, Any] | None:
    """The login with its path under the base URL, where it has one. Raises UntranslatableError for one elsewhere."""
    if auth is not None and auth["type"] == "session":
        path = auth["login"]["path"].removeprefix(f"{base_url}/")
        if "://" in path:
            raise UntranslatableError("a login at another host")
        auth["login"]["path"] = path
    return auth
