"""An imported document as a spec: its format guessed, its tables translated, and what `lint` refuses left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fff.errors import SpecError, UsageError
from fff.structs import lazy_pattern
from fff.web.client import WebClient
from fff_sources.authoring.draft import SpecDraft, identifier
from fff_sources.authoring.sampling.address import source_name
from fff_sources.authoring.yamltext import yaml_text
from fff_sources.document import parse_document
from fff_sources.importing.airbyte.drafts import drafts_of_manifest
from fff_sources.importing.coral import drafts_of_coral
from fff_sources.importing.dlt import configurations, drafts_of_dlt
from fff_sources.importing.documents import KNOWN, format_of, is_address, load_text
from fff_sources.importing.fidelity import FidelityReport
from fff_sources.importing.har import drafts_of_har
from fff_sources.importing.openapi import drafts_of_openapi
from fff_sources.importing.postman import drafts_of_postman
from fff_sources.importing.steampipe.tables import drafts_of_steampipe, tables_of_go
from fff_sources.load import lint_document, says_draft

_NAMELESS = frozenset(
    {"manifest", "openapi", "swagger", "collection", "spec", "api", "index", "archive", "har"}
)
_DRAFTS: dict[str, Callable[[dict[str, Any], str, FidelityReport], list[SpecDraft]]] = {
    "airbyte": drafts_of_manifest,
    "coral": drafts_of_coral,
    "dlt": drafts_of_dlt,
    "har": drafts_of_har,
    "postman": drafts_of_postman,
    "steampipe": drafts_of_steampipe,
}
_TABLE = lazy_pattern(r"sources\.([^.\[]+)\.tables\.([^.\[]+)")


@dataclass
class Imported:
    """A spec, and what became of each field of the document."""

    text: str
    report: FidelityReport
    drafts: list[SpecDraft] = field(default_factory=list)


def import_document(
    text: str, where: str, *, shown: str, kind: str | None = None, name: str | None = None, base: str = ""
) -> Imported:
    """The spec of a document, as `lint` takes it.

    Args:
        text: the document.
        where: its file or URL, for errors.
        shown: the same as it may be shown.
        kind: one of FORMATS; guessed when left out.
        name: of the source; guessed when left out.
        base: the URL that the document came from.

    Raises:
        UsageError: it is not of the format, of none that is known, or nothing of it can be translated.
    """
    data = data_of(text, where, kind)
    kind = kind or format_of(data)
    if kind is None:
        raise UsageError(f"{where}: no format that can be imported is to be seen in it", hint=KNOWN)
    report = FidelityReport(kind, shown)
    return import_data(data, where, report, name=name, base=base)


def data_of(text: str, where: str, kind: str | None = None) -> dict[str, Any]:
    """A document as data; programs are read for what they configure, and never run. Raises UsageError."""
    if kind == "dlt" or (kind is None and urlsplit(where).path.endswith(".py")):
        return configurations(text, where)
    if kind == "steampipe" or (
        kind is None and (urlsplit(where).path.endswith(".go") or Path(where).is_dir())
    ):
        return tables_of_go(text, where)
    return load_text(text, where)


def import_data(
    data: dict[str, Any], where: str, report: FidelityReport, *, name: str | None = None, base: str = ""
) -> Imported:
    """The same from data; the report says of which format, and is filled even where nothing can be translated."""
    drafts = _drafts(report.format, data, name or _name(data, where), report, base)
    for draft in drafts:
        draft.command, draft.origin = "fff source import", report.origin
    _say_what_may_be_missing(drafts, report)
    drafts = _linted(drafts, report)
    if not drafts:
        why = "; ".join(f"{table}: {reason}" for table, reason in list(report.left_out.items())[:3])
        raise UsageError(f"{where}: nothing in it can be translated" + (f" ({why})" if why else ""))
    text = yaml_text(*drafts)
    report.variables = [one for one in report.variables if f"{{env:{one}" in text]
    return Imported(text, report, drafts)


def _drafts(kind: str, data: dict[str, Any], name: str, report: FidelityReport, base: str) -> list[SpecDraft]:
    if kind == "openapi":
        return drafts_of_openapi(data, name, report, base)
    if kind not in _DRAFTS:
        raise UsageError(f"{kind} cannot be imported", hint=KNOWN)
    return _DRAFTS[kind](data, name, report)


def _say_what_may_be_missing(drafts: list[SpecDraft], report: FidelityReport) -> None:
    """Have every table that may miss rows say so, and why."""
    named = {written: name for name, written in report.written.items()}
    for draft in drafts:
        for table in draft.tables:
            missing = report.may_miss_rows(named.get(f"{draft.name}.{table.name}", ""))
            table.exhaustive = table.exhaustive and not missing
            notes = dict.fromkeys(note.note for note in missing)
            table.remarks += [f"not known to be complete: {note}" for note in notes]


def _linted(drafts: list[SpecDraft], report: FidelityReport) -> list[SpecDraft]:
    """The drafts without the tables that `lint` finds wrong."""
    written = {table: name for name, table in report.written.items()}
    for _ in range(3):
        drafts = [draft for draft in drafts if draft.tables]
        if not drafts:
            return []
        mistakes = dict(_mistakes(drafts))
        if not mistakes:
            return drafts
        for draft in drafts:
            if (whole := mistakes.get((draft.name, ""))) is not None:
                for table in draft.tables:
                    mistakes.setdefault((draft.name, table.name), whole)
            wrong = [table for table in draft.tables if (draft.name, table.name) in mistakes]
            draft.tables = [table for table in draft.tables if table not in wrong]
            for table in wrong:
                source_name = written.get(f"{draft.name}.{table.name}", table.name)
                report.leave_out(source_name, mistakes[draft.name, table.name])
    return []


def _mistakes(drafts: list[SpecDraft]) -> Iterator[tuple[tuple[str, str], str]]:
    """What `lint` says, by source and table; the first of each."""
    text = yaml_text(*drafts)
    try:
        document = parse_document(text, "the import")
        problems = lint_document(document, environ=_Anything(), cwd=Path.cwd(), client=WebClient())
    except SpecError as error:
        problems = [error]
    for problem in reversed(problems):
        if says_draft(problem):
            continue  # as it is meant to be
        match = _TABLE.match(problem.path or "")
        if match is not None:
            yield (match[1], match[2]), f"{problem.path}: {problem.message}"
            continue
        for draft in drafts:
            if not (problem.path or "").startswith("sources.") or f".{draft.name}." in f"{problem.path}.":
                yield (draft.name, ""), f"{problem.path}: {problem.message}"


class _Anything(dict[str, str]):
    """An environment that has every variable, so that only what is written can be wrong."""

    def __missing__(self, key: str) -> str:
        return "https://example.org" if key.endswith(("URL", "HOST", "DOMAIN", "ENDPOINT")) else "x"

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002
        return self[key]

    def __contains__(self, key: object) -> bool:
        return True


def _name(data: Mapping[str, Any], where: str) -> str:
    """A name for the source: of the file, of the connector or of the document's title, else of the host."""
    path = urlsplit(where).path if is_address(where) else where
    file = Path(path)
    plain = re.sub(r"^source[-_]", "", file.name.partition(".")[0])
    if plain.lower() in _NAMELESS or not plain:
        plain = (
            re.sub(r"^source[-_]", "", file.absolute().parent.name)
            if file.absolute().parent.name.startswith("source")
            else ""
        )
    spec, info = data.get("spec"), data.get("info")
    documented = str(spec.get("documentation_url") or "") if isinstance(spec, dict) else ""
    titled = str(info.get("title") or info.get("name") or "") if isinstance(info, dict) else ""
    called = data.get("name") if {"dsl_version", "steampipe"} & data.keys() else ""
    for text in (
        called if isinstance(called, str) else "",
        plain,
        documented.rstrip("/").rpartition("/")[2] if "/sources/" in documented else "",
        titled,
    ):
        if text and re.search(r"[A-Za-z]", text):
            return identifier(text.lower(), "source")[:40].strip("_") or "source"
    return source_name(where) if is_address(where) else "source"
