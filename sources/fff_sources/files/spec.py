"""What a spec may say of files, and what is wrong with this one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import quote, urlsplit

from fff.errors import SpecError
from fff_sources.adapter import SourceContext
from fff_sources.files.local import format_of_name, is_local
from fff_sources.http import templates
from fff_sources.http.spec import common, spec
from fff_sources.http.spec.check import read_as

_MOST_FILES = 10_000  # of one table


class FileHost(spec.Client):
    """The host, which files named by whole URLs do not need."""

    base_url: str = ""


class FileTable(common.DiscoveredTableSpec):
    """One file, or several that hold rows of one table.

    `values` fill the names in a `url`: a file for each combination.

    `path` and `paths` are files of this machine, from the folder of the spec on, and so is a `url` without a
    host; patterns (`*`, `**`) and folders stand for all that they meet.
    """

    url: str | None = None
    urls: tuple[str, ...] = ()
    path: str | None = None
    paths: tuple[str, ...] = ()
    values: dict[str, tuple[spec.Text, ...]] | None = None
    format: Literal["csv", "tsv", "json", "ndjson", "parquet", "arrow", "excel"] | None = None
    sheet: str | None = None
    delimiter: spec.Delimiter | None = None
    comment: spec.Delimiter | None = None
    skip_rows: spec.SkipRows = 0
    encoding: spec.Encoding | None = None
    data_selector: spec.Path = "$"
    columns: dict[str, Annotated[spec.ColumnSpec, spec.short_for("type")]] | None = None
    primary_key: tuple[str, ...] = ()


class FilesSpec(common.SourceSpec):
    """A whole source of type `files`."""

    type: Literal["files"]
    client: FileHost = FileHost()
    tables: dict[str, Annotated[FileTable, spec.short_for("url")]]


def read_files(context: SourceContext) -> tuple[FilesSpec | None, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    name, document = context.name, context.document
    declared, problems = read_as(FilesSpec, name, document)
    if declared is None:
        return None, problems
    for table, part in declared.tables.items():
        problem = _problem(part, declared.client.base_url)
        if problem is not None:
            path = ("sources", name, "tables", table)
            problems.append(document.error(path, problem[0], hint=problem[1]))
    if not declared.tables:
        problems.append(document.error(("sources", name, "tables"), "names no files"))
    return declared, problems


def urls_of(table: FileTable) -> tuple[str, ...]:
    """The URLs and paths of a table, in order."""
    if table.path is not None or table.paths:
        return table.paths if table.path is None else (table.path,)
    if table.url is None:
        return table.urls
    if not table.values:
        return (table.url,)
    return tuple(
        templates.fill_text(
            table.url, {name: quote(value, safe="") for name, value in zip(table.values, chosen, strict=True)}
        )
        for chosen in itertools.product(*table.values.values())
    )


def format_of(table: FileTable) -> str | None:
    """The format: as declared, or as the first URL's ending tells."""
    if table.format is not None:
        return table.format
    path = urlsplit(urls_of(table)[0]).path
    return format_of_name(path)


def _problem(table: FileTable, base_url: str) -> tuple[str, str | None] | None:
    """What is wrong with a table, and what to do."""
    named = [table.url is not None, bool(table.urls), table.path is not None, bool(table.paths)]
    if sum(named) != 1:
        return "needs one of url, urls, path and paths", "url: URL, or urls: [URL, …], or path: FILE"
    if wrong := _wrong_values(table):
        return wrong, "values: {year: [2023, 2024]} fills {year} in the url"
    if base_url and (table.path is not None or table.paths):
        return (
            "a path is no part of base_url",
            "write url: instead, or give the files of this machine a source of their own",
        )
    if format_of(table) is None:
        return (
            "its URL does not tell the format",
            "add format: csv, tsv, json, ndjson, parquet, arrow or excel",
        )
    if table.delimiter is not None and format_of(table) not in ("csv", "tsv"):
        return "a delimiter is of csv alone", None
    if table.comment is not None and format_of(table) not in ("csv", "tsv"):
        return "comments are of csv alone", None
    if table.sheet is not None and format_of(table) != "excel":
        return "a sheet is of excel alone", None
    if table.encoding is not None and format_of(table) in ("parquet", "arrow", "excel"):
        return f"an encoding is of text, which {format_of(table)} is not", None
    missing = [name for name in table.primary_key if table.columns is not None and name not in table.columns]
    return (f"{missing[0]!r} is not a column", None) if missing else None


def _wrong_values(table: FileTable) -> str | None:
    named = templates.names(table.url or "") if table.values else set()
    if table.values and table.url is None:
        return "values are for a url, not for urls"
    if unfilled := sorted(named ^ set(table.values or {})):
        return f"{unfilled[0]!r} must stand both in url and in values"
    count = math.prod(len(choices) for choices in (table.values or {}).values())
    if not 0 < count <= _MOST_FILES:
        return f"values give {count:,} files; 1 to {_MOST_FILES:,} will do"
    return None


def hosts_of(declared: FilesSpec) -> Mapping[str, None]:
    """The hosts of all files that are named by whole URLs."""
    base = declared.client.base_url
    urls = (url for table in declared.tables.values() for url in urls_of(table))
    urls = (url for url in urls if "://" in url and not is_local(url, base))
    return dict.fromkeys(urlsplit(url).netloc.rpartition("@")[2] for url in urls)
