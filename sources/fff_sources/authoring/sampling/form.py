"""What form an answer has, and what it holds."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias

from fff.errors import SourceError
from fff.structs import replace
from fff.web.body import BodyError
from fff.web.client import WebClient
from fff.web.types import HostPolicy, Response
from fff_sources.authoring.draft import ColumnDraft, identifier, unique
from fff_sources.authoring.sampling.columns import columns_of
from fff_sources.authoring.sampling.shape import Shape
from fff_sources.http.diagnosis import diagnosis
from fff_sources.http.response import infer
from fff_sources.http.response.bodies import BodyDecoder, BodyFormat
from fff_sources.http.response.json import MalformedJSON, decode
from fff_sources.http.response.jsonpath import quoted
from fff_sources.http.response.records import Origin, RecordDecoder
from fff_sources.http.response.streaming import GZIP, ZIP
from fff_sources.http.response.text.csv_text import charset_of, marked_encoding
from fff_sources.http.shaping import MalformedMarkupError, PackedError, unpacked
from fff_sources.http.spec import spec
from fff_sources.load import known_types

_DELIMITERS = ",;\t|"
_SELDOM = "~^:\x1f\x01"  # taken for delimiters only where rows are cut by them as the header is
_COMMENTS = b"#%/!"
_LOOKED_AT = 50  # lines
Packing: TypeAlias = Literal["gzip", "zip"]
#: Types that say nothing of the text.
_MUTE = (
    "text/plain",
    "application/octet-stream",
    "application/gzip",
    "application/x-gzip",
    "application/zip",
)
#: What packed answers begin with.
_PACKED: dict[bytes, Packing] = {GZIP: "gzip", ZIP: "zip"}


@dataclass(frozen=True)
class Content:
    """An answer: its format as a spec names it, and its value where that is JSON or read like it.

    `shape` is set where the format itself says where the records are. `adapter` names an adapter that knows
    such sources.
    """

    format: str
    value: Any = None
    delimiter: str = ","
    comment: str | None = None  # what lines of CSV begin with that are none
    encoding: str | None = None  # of a text that says nothing of it and is not in UTF-8
    shape: Shape | None = None
    table: Mapping[str, str] | None = None  # columns of CSV and Parquet
    adapter: str | None = None
    packed: Packing | None = None  # the answer, which does not say so

    @property
    def is_json(self) -> bool:
        """Whether paginators can look into it."""
        return self.format in ("json", "xml")

    def columns(self, shape: Shape) -> list[ColumnDraft]:
        """The columns of the records."""
        if self.table is None:
            return columns_of(shape.records, shape.header, text_only=self.format in ("xml", "html_table"))
        drafts: list[ColumnDraft] = []
        for name, kind in self.table.items():
            plain = unique(identifier(name), (column.name for column in drafts))
            drafts.append(ColumnDraft(plain, kind, None if plain == name else quoted(name)))
        return drafts


def read_content(response: Response, client: WebClient) -> Content:
    """The answer's form and value. Raises SourceError, without secrets that the client knows, where it is none FFF reads."""
    step = next((step for start, step in _PACKED.items() if response.body.startswith(start)), None)
    if step is None:
        return _content(response, client)
    try:
        body = unpacked(response.body, spec.Packed(steps=[step]), "csv", HostPolicy())
    except (PackedError, BodyError) as error:
        raise SourceError(f"the answer is packed ({step}): {error}", url=client.shown(response.url)) from None
    return replace(_content(replace(response, body=body), client), packed=step)


def _content(response: Response, client: WebClient) -> Content:
    shown = client.shown(response.url)
    form = _format(response)
    encoding = _encoding(response, form)
    comment, delimiter = _comment_and_delimiter(response.body) if form == "csv" else (None, ",")
    written = BodyFormat(form, delimiter=delimiter, comment=comment, encoding=encoding)
    reader = BodyDecoder(written, RecordDecoder([], "fail", frozenset()))
    origin = Origin("the sample", "answer", response.url, shown=lambda _: shown)
    try:
        if form in ("csv", "parquet"):
            with reader.explained(response, origin):
                table = infer.columns_of(written, reader, response)
            return Content(form, None, delimiter, comment, encoding, Shape("$", []), table)
        if form == "ndjson":
            lines: Any = [decode(line) for line in response.body.splitlines() if line.strip()]
            return Content(form, lines, shape=Shape("$", lines))
        value: Any = decode(reader.text(response)) if response.body.strip() else None
    except (MalformedJSON, MalformedMarkupError, UnicodeDecodeError, RecursionError) as error:
        kind = response.headers.get("content-type", "no content type").partition(";")[0]
        problem, hint = diagnosis(
            response.body, "json" if form == "html_table" else form, encoding, str(error)
        )
        raise SourceError(
            f"the answer is none of JSON, NDJSON, CSV, XML, an HTML table and Parquet ({kind})"
            + (f": {client.redactor.text(problem)}" if problem else ""),
            url=shown,
            hint=hint or "give the URL of the data itself",
        ) from None  # the cause would show the answer as it came
    if form == "html_table" and value:
        number = max(range(len(value)), key=lambda index: len(value[index]))
        records = [row for row in value[number] if isinstance(row, dict)]  # the others are no whole rows
        rows = Shape(f"[{number}]", records, sure=len(value) == 1)
        return Content(form, value, encoding=encoding, shape=rows)
    return Content(form, value, encoding=encoding, adapter=_adapter(value))


def _format(response: Response) -> str:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = response.body.lstrip(b"\xef\xbb\xbf \t\r\n")
    if body.startswith(b"PAR1"):
        return "parquet"
    if "ndjson" in kind or "jsonl" in kind or "json-seq" in kind:
        return "ndjson"
    if body[:1] in (b"{", b"["):
        first, _, rest = body.partition(b"\n")
        return "ndjson" if rest.lstrip()[:1] == b"{" and _is_json(first) else "json"
    if "html" in kind or body[:14].lower().startswith((b"<!doctype html", b"<html")):
        return "html_table"
    if body[:1] == b"<":
        return "xml"
    if kind in ("text/csv", "text/tab-separated-values", "application/csv") or (
        kind in _MUTE and _looks_csv(body)
    ):
        return "csv"
    return "json"


def _encoding(response: Response, form: str) -> str | None:
    """The one of old western texts where nothing is said and the bytes are not UTF-8."""
    if form in ("parquet", "xml") or charset_of(response.headers) is not None:
        return None
    try:
        response.body.decode(marked_encoding(response.body) or "utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return None


def _is_json(line: bytes) -> bool:
    try:
        decode(line)
    except MalformedJSON:
        return False
    return True


def _looks_csv(body: bytes) -> bool:
    text = body[:4096].decode("utf-8", "replace")
    lines = [line for line in text.splitlines(keepends=True) if line[:1].encode() not in _marks()]
    for mark in _DELIMITERS:
        header, *rows = list(islice(csv.reader(lines, delimiter=mark), 2)) or [[]]
        if len(header) > 1 and rows and len(rows[0]) == len(header):
            return True
    return False


def _marks() -> list[bytes]:
    return [bytes([mark]) for mark in _COMMENTS]


def _comment_and_delimiter(body: bytes) -> tuple[str | None, str]:
    """What comments begin with, where there are any, and what stands between values."""
    lines = [line for line in body.removeprefix(b"\xef\xbb\xbf").splitlines()[:_LOOKED_AT] if line.strip()]
    for mark in _marks():
        rows = [line for line in lines if not line.startswith(mark)]
        remarks = len(lines) - len(rows)
        if not remarks or not rows:
            continue
        # A line alone above rows that it is like is the header itself: `#id,name`. So are rows that begin so.
        first = lines[0].startswith(mark)
        if not (first and remarks == 1 and _splits_alike(lines[0], rows[0])) and not (
            not first and any(_splits_alike(line, rows[0]) for line in lines if line.startswith(mark))
        ):
            return mark.decode(), _delimiter(rows)
    return None, _delimiter(lines)


def _delimiter(rows: Sequence[bytes]) -> str:
    header = (rows[0] if rows else b"").decode("utf-8", "replace")
    best = max(_DELIMITERS, key=header.count)
    if header.count(best):
        return best
    counts = {mark: {row.count(mark.encode()) for row in rows} for mark in _SELDOM}
    return next((mark for mark, widths in counts.items() if len(widths) == 1 and widths != {0}), ",")


def _splits_alike(header: bytes, row: bytes) -> bool:
    return any(header.count(mark) == row.count(mark) > 0 for mark in map(str.encode, _DELIMITERS + _SELDOM))


def _adapter(value: Any) -> str | None:
    """An adapter that reads such an answer's source by itself, where there is one."""
    if not isinstance(value, dict):
        return None
    signs = {
        "odata": "@odata.context" in value,
        "sparql": isinstance(value.get("head"), dict) and isinstance(value.get("results"), dict),
        "ckan": "/api/3/action/help_show" in str(value.get("help", "")),
        "datasette": {"rows", "truncated"} <= value.keys() and {"columns", "ok"} & value.keys() != set(),
    }
    return next((name for name, seen in signs.items() if seen and name in known_types()), None)
