"""What a spec may say of files, and what is wrong with this one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import quote, urlsplit

from fff.errors import SpecError
from fff_sources.document import Document
from fff_sources.rest import spec, templates
from fff_sources.rest.check import read_as

_MOST_FILES = 10_000  # of one table
_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".geojson": "json",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_PACKED = (".gz", ".gzip")


class FileHost(spec.Client):
    """The host, which files named by whole URLs do not need."""

    base_url: str = ""


class FileTable(spec.Spec):
    """One file, or several that hold rows of one table. `values` fill the names in a `url`: a file for each combination."""

    description: str = ""
    url: str | None = None
    urls: tuple[str, ...] = ()
    values: dict[str, tuple[spec.Text, ...]] | None = None
    format: Literal["csv", "tsv", "json", "ndjson", "parquet"] | None = None
    delimiter: spec.Delimiter | None = None
    comment: spec.Delimiter | None = None
    encoding: spec.Encoding | None = None
    data_selector: spec.Path = "$"
    columns: dict[str, Annotated[spec.Column, spec.short_for("type")]] | None = None
    primary_key: tuple[str, ...] = ()
    on_bad_record: Literal["fail", "null", "skip"] = "fail"


class FilesSpec(spec.Spec):
    """A whole source of type `files`."""

    type: Literal["files"]
    description: str = ""
    client: FileHost = FileHost()
    tables: dict[str, Annotated[FileTable, spec.short_for("url")]]
    tests: tuple[str, ...] = ()


def read_files(name: str, document: Document) -> tuple[FilesSpec | None, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    declared, found = read_as(FilesSpec, name, document)
    if declared is None:
        return None, found
    for table, part in declared.tables.items():
        problem = _problem(part, declared.client.base_url)
        if problem is not None:
            path = ("sources", name, "tables", table)
            found.append(document.error(path, problem[0], hint=problem[1]))
    if not declared.tables:
        found.append(document.error(("sources", name, "tables"), "names no files"))
    return declared, found


def urls_of(table: FileTable) -> tuple[str, ...]:
    """The URLs of a table, in order."""
    if table.url is None:
        return table.urls
    if not table.values:
        return (table.url,)
    return tuple(
        templates.fill_text(table.url, dict(zip(table.values, map(_segment, chosen), strict=True)))
        for chosen in itertools.product(*table.values.values())
    )


def format_of(table: FileTable) -> str | None:
    """The format: as declared, or as the first URL's ending tells."""
    if table.format is not None:
        return table.format
    path = urlsplit(urls_of(table)[0]).path.lower()
    for ending in _PACKED:
        path = path.removesuffix(ending)
    return next((kind for ending, kind in _FORMATS.items() if path.endswith(ending)), None)


def _segment(value: str) -> str:
    return quote(value, safe="")


def _problem(table: FileTable, base_url: str) -> tuple[str, str | None] | None:
    """What is wrong with a table, and what to do."""
    if (table.url is None) == (not table.urls):
        return "needs either url or urls", "url: URL, or urls: [URL, …]"
    if wrong := _wrong_values(table):
        return wrong, "values: {year: [2023, 2024]} fills {year} in the url"
    if relative := [url for url in urls_of(table) if "://" not in url and not base_url]:
        return f"{relative[0]!r} is no whole URL", "write https://…, or add client: {base_url: …}"
    if format_of(table) is None:
        return "its URL does not tell the format", "add format: csv, tsv, json, ndjson or parquet"
    if table.delimiter is not None and format_of(table) not in ("csv", "tsv"):
        return "a delimiter is of csv alone", None
    if table.comment is not None and format_of(table) not in ("csv", "tsv"):
        return "comments are of csv alone", None
    if table.encoding is not None and format_of(table) == "parquet":
        return "an encoding is of text, which parquet is not", None
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
    urls = (url for table in declared.tables.values() for url in urls_of(table) if "://" in url)
    return dict.fromkeys(urlsplit(url).netloc.rpartition("@")[2] for url in urls)
