"""Requests by example, of HAR files and Postman collections: a table for each path, its columns from the answers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

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
from fff_sources.authoring.sampling.address import is_secret, looks_like_id
from fff_sources.authoring.sampling.columns import columns_of
from fff_sources.authoring.sampling.shape import Shape, find_records
from fff_sources.http.paging.conventions import CURSOR_PARAMS, OFFSET_PARAMS, PAGE_PARAMS, SIZE_PARAMS
from fff_sources.http.templates import escaped
from fff_sources.importing.fidelity import FidelityReport, shown

_PAGES, _OFFSETS, _CURSORS = (
    frozenset(name.lower() for name in names) for names in (PAGE_PARAMS, OFFSET_PARAMS, CURSOR_PARAMS)
)
#: Names of sizes, and how far down the list of likely ones each is.
_LIKELY = {name.lower(): place for place, name in reversed(list(enumerate(SIZE_PARAMS)))}
#: Names of paging that are the beginning of a range, or its end, beside these.
_RANGES = {"from": {"to", "until"}, "start": {"end", "stop", "until"}, "max": {"min"}}
_DATED = lazy_pattern(r"\d{4}-\d\d")
_TOKEN = lazy_pattern(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_\-+/=.]{20,}")
_MOST = 2_000  # tables of one document


@dataclass
class Example:
    """A GET that somebody sent. `path` holds `{key}` for what differs from one to the next; `value` is the answer.

    `auth`, `headers` and `params` hold references in place of all that may be secret.
    """

    base_url: str
    path: list[str]
    keys: list[str] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    auth: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    value: Any = None
    has_answer: bool = False
    others: list[Any] = field(default_factory=list)  # further answers to the same request
    summary: str = ""

    @property
    def collection(self) -> str:
        """What the path is about."""
        return next((part for part in reversed(self.path) if not part.startswith("{")), "rows")

    @property
    def template(self) -> str:
        """The path as a spec writes it."""
        return "/".join(self.path)


class Hiding:
    """Says what of an example may be written, and puts variables in the place of the rest."""

    def __init__(self, source: str, report: FidelityReport) -> None:
        self.source = source
        self.report = report

    def secret(self, what: str) -> str:
        """A reference in the place of a secret."""
        name = re.sub(r"[^A-Z0-9]+", "_", f"{self.source}_{what}".upper()).strip("_")
        if name not in self.report.variables:
            self.report.variables.append(name)
        return f"${{env:{name}}}"

    def param(self, name: str, value: str) -> str:
        """A parameter's value, or a reference where it may be a secret."""
        if is_secret(name) or is_token(value):
            self.report.add("", f"parameter {name}", "approximated", "taken for a secret: set its variable")
            return self.secret(name)
        return inert(value)

    def basic(self, kind: str = "http_basic") -> dict[str, Any]:
        """A login by name and password."""
        return {"type": kind, "username": self.secret("user"), "password": self.secret("password")}

    def auth_of_header(self, name: str, value: str) -> dict[str, Any]:
        """The login that a header with a secret shows, its secret left out."""
        scheme = value.strip().partition(" ")[0].lower()
        self.report.add("", f"header {name}", "approximated", "taken for a secret: set its variable")
        if name.lower() == "authorization" and scheme == "bearer":
            return {"type": "bearer", "token": self.secret("token")}
        if name.lower() == "authorization" and scheme == "basic":
            return self.basic()
        return {"type": "api_key", "name": name, "api_key": self.secret(name), "location": "header"}


def inert(text: str, *, plain: bool = True) -> str:
    """A text in which a spec finds no secret to fill in and, where it is `plain`, no column either."""
    text = text.replace("${", "$ {")
    return escaped(text) if plain else text


def filled(
    pattern: re.Pattern[str], text: str, value_of: Callable[[re.Match[str]], str], *, plain: bool
) -> str:
    """A text with a value in the place of each match; what is between them is inert."""
    parts, position = [], 0
    for match in pattern.finditer(text):
        parts += [inert(text[position : match.start()], plain=plain), value_of(match)]
        position = match.end()
    return "".join([*parts, inert(text[position:], plain=plain)])


def is_token(value: str) -> bool:
    """Whether a text looks like a key or a token, whatever its name."""
    return len(value) <= 10_000 and _TOKEN.fullmatch(value) is not None


def segments_of(path: str) -> tuple[list[str], list[str]]:
    """The parts of a path, each that names one thing as `{key}`; and the keys."""
    parts: list[str] = []
    keys: list[str] = []
    for part in filter(None, path.split("/")):
        plain = unquote(part)
        if looks_like_id(plain) or is_token(plain):
            before = next((one for one in reversed(parts) if not one.startswith("{")), "thing")
            key = unique(f"{singular(identifier(before.lower()))}_id", keys)
            keys.append(key)
            parts.append(f"{{{key}}}")
        else:
            parts.append(escaped(part))
    return parts, keys


def drafts_of_examples(examples: list[Example], source: str, report: FidelityReport) -> list[SpecDraft]:
    """One source for each host and login; one table for each path: requests are as that of the example with the most records."""
    drafts: dict[str, SpecDraft] = {}
    alike: dict[tuple[str, str], list[Example]] = {}
    for one in examples:
        alike.setdefault((one.base_url, one.template), []).append(one)
    logins: dict[str, dict[str, Any]] = {}
    for one in examples:
        if one.auth is not None:
            logins.setdefault(one.base_url, one.auth)
    for (base, template), several in list(alike.items())[:_MOST]:
        several.sort(key=_size, reverse=True)
        if base not in drafts:
            name = unique(source, (draft.name for draft in drafts.values()))
            drafts[base] = SpecDraft(name, base, "", logins.get(base), dict(several[0].headers))
        _table(drafts[base], several, report, template)
    return list(drafts.values())


def _size(one: Example) -> int:
    return len(find_records(one.value, one.collection).records) if one.has_answer else -1


def _table(draft: SpecDraft, several: list[Example], report: FidelityReport, template: str) -> None:
    one = several[0]
    shape = find_records(one.value, one.collection, last_is_id=one.path[-1:] == ["{"])
    taken = [table.name for table in draft.tables]
    last = bool(one.path) and one.path[-1].startswith("{")
    named = identifier(one.collection.lower(), "rows")
    table = TableDraft(unique(singular(named) if last else named, taken), description=shown(one.summary))
    request_line = f"GET {template}"
    records = _records(several, shape, report, request_line)
    columns = columns_of(records, shape.header) if records else []
    endpoint: dict[str, Any] = {"path": template}
    if one.has_answer and shape.selector != "$":
        endpoint["data_selector"] = shape.selector
    _params(several, endpoint, report, request_line)
    keys = _keys(one, columns, shape.records, endpoint, last=last)
    own = [ColumnDraft(key, "string", note="what is asked for") for key in keys if key not in _names(columns)]
    if not columns and own:
        columns = [ColumnDraft("record", "string", "$", "the record, as JSON text")]
        report.add(request_line, "answer", "approximated", "no answer is kept: records come as JSON text")
    elif not columns:
        report.add(
            request_line,
            "answer",
            "approximated",
            "no answer is kept: columns are learnt from the first page",
        )
    for column in columns:
        outcome = "approximated" if column.note else "translated"
        report.add(request_line, f"columns.{column.name}", outcome, column.note)  # type: ignore[arg-type]
    table.columns = [*own, *columns]
    if keys:
        table.key_columns = [{"name": key, "require": "required"} for key in keys]
        table.lookups.append(LookupDraft(tuple(keys), endpoint))
    else:
        table.scan, table.test = endpoint, "LIMIT 5"
    report.add(request_line, "path", "translated")
    report.written[request_line] = f"{draft.name}.{table.name}"
    draft.tables.append(table)


def _names(columns: list[ColumnDraft]) -> set[str]:
    return {column.name for column in columns}


def _records(several: list[Example], shape: Shape, report: FidelityReport, request_line: str) -> list[Any]:
    """The records of all answers that have them where the first has, in turns: each is looked at."""
    found = []
    for value in (value for one in several if one.has_answer for value in (one.value, *one.others)):
        other = find_records(value, several[0].collection)
        if (other.selector, other.header, other.single) == (shape.selector, shape.header, shape.single):
            found.append(other.records)
        elif other.records:
            where = f"with records at {other.selector} instead of {shape.selector}"
            note = f"an answer {'that is no list' if other.single else where} is not looked at"
            report.add(request_line, "answer", "dropped", note)
    none = object()
    turns = itertools.chain.from_iterable(itertools.zip_longest(*found, fillvalue=none))
    return [record for record in turns if record is not none]


def _params(
    several: list[Example], endpoint: dict[str, Any], report: FidelityReport, request_line: str
) -> None:
    """What was sent along, without what turned pages: that is for FFF to say, as the answers go on."""
    sent = several[0].params
    turning = _turning(sent)
    sizes = [name for name, value in sent.items() if name != turning and _sizes(name, value, sent)]
    size = min(sizes, key=lambda name: _LIKELY[name.lower()], default=None)
    params = {name: value for name, value in sent.items() if name not in (turning, size)}
    if params:
        endpoint["params"] = params
        report.add(
            request_line, "query", "approximated", f"the table is what is sent for {', '.join(params)}"
        )
    if turning is not None and turning.lower() in _PAGES:
        seen = {one.params.get(turning) for one in several}
        first, unknown = 0 if "0" in seen else 1, seen.isdisjoint(("0", "1"))
        paginator = {"type": "page_number", "page_param": turning, "base_page": first}
        note = f"pages by {turning}, from {first} to an empty one"
        note += ", though it is not known whether they begin at 0" if unknown else ""
        if size is not None and sent[size].isdecimal() and int(sent[size]):
            paginator |= {"page_size": int(sent[size]), "page_size_param": size}
            note += f", of {sent[size]} as {size} says"
        elif size is not None:
            report.add(
                request_line, f"query {size}", "dropped", "no size that is known: pages are the source's own"
            )
        endpoint["paginator"] = paginator
        report.add(request_line, "paging", "approximated", note, incomplete=unknown)
    elif turned := [name for name in (turning, size) if name is not None]:
        note = f"{' and '.join(turned)} turned pages: they are followed where answers say how they go on"
        report.add(request_line, "paging", "approximated", note, incomplete=True)


def _turning(params: Mapping[str, str]) -> str | None:
    """The one parameter that turned pages, by its name and its value: `from` may as well be a day."""
    for names in (_PAGES, _OFFSETS, _CURSORS):
        for name, value in params.items():
            fits = _DATED.match(value) is None if names is _CURSORS else _counts(name, value, params)
            if name.lower() in names and fits:
                return name
    return None


def _sizes(name: str, value: str, params: Mapping[str, str]) -> bool:
    return name.lower() in _LIKELY and _counts(name, value, params)


def _counts(name: str, value: str, params: Mapping[str, str]) -> bool:
    """Whether a parameter with a name of paging may count: it is a number, or not known."""
    beside = _RANGES.get(name.lower(), set())
    unknown = not beside and (not value or value.startswith("${"))
    return unknown or (value.isdecimal() and not beside & {other.lower() for other in params})


def _keys(
    one: Example, columns: list[ColumnDraft], records: list[Any], endpoint: dict[str, Any], *, last: bool
) -> list[str]:
    """The key columns; the last one is the record's own id where it has one."""
    keys = list(one.keys)
    if last and "id" in _names(columns) and len(records) <= 1:
        endpoint["path"] = endpoint["path"].replace(f"{{{keys[-1]}}}", "{id}")
        keys[-1] = "id"
    return keys


def text_of(value: Any) -> str:
    """A text of a document, or nothing."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping of a document, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
