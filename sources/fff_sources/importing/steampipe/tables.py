"""Steampipe's plugins: each table a draft with its columns and keys; its requests are code, and are to be written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fff.errors import UsageError
from fff_sources.authoring.draft import ColumnDraft, LookupDraft, SpecDraft, TableDraft, identifier, unique
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.importing.airbyte.expressions import UntranslatableError
from fff_sources.importing.fidelity import FidelityReport, Outcome, shown
from fff_sources.importing.steampipe.golang import (
    Composite,
    Expression,
    GoCall,
    GoFunction,
    GoText,
    GoToken,
    Name,
)

#: What a draft says of itself.
_UNFINISHED = "write its endpoints (path, data_selector, paginator), and look where answers have its columns"
_TYPES = {"BOOL": "boolean", "INT": "bigint", "DOUBLE": "double", "TIMESTAMP": "timestamp"}
_TYPES |= {"DATETIME": "timestamp"}
_OPERATORS = {"<>": "!=", "!=": "!=", "~~": "like"} | {one: one for one in ("=", "<", "<=", ">", ">=")}
_CALLS = {"SingleColumn": "required", "AllColumns": "required", "AnyColumn": "any_of"}
_CALLS |= {"OptionalColumns": "optional"}
_MOST_COLUMNS = 2_000  # of a table
_MOST_STEPS = 200_000  # of reading columns that functions put together


def tables_of_go(text: str, where: str) -> dict[str, Any]:
    """What Go files say of tables, as data. Raises UsageError where they declare none."""
    go = GoText(text)
    places = [
        at
        for at in range(len(go.tokens))
        if [go.mark(at + one) for one in range(4)] == ["plugin", ".", "Table", "{"] and go.mark(at - 1) != "*"
    ]
    if not places:
        raise UsageError(f"{where}: no plugin.Table is declared in it")
    found = [go.expression(at)[0] for at in places]
    package = go.mark(1) if go.mark(0) == "package" else ""
    return {"steampipe": [one for one in found if isinstance(one, Composite)], "go": go, "name": package}


def drafts_of_steampipe(data: Mapping[str, Any], source: str, report: FidelityReport) -> list[SpecDraft]:
    """The source of a plugin."""
    draft = SpecDraft(source, f"${{env:{source.upper()}_BASE_URL}}", "")
    report.variables.append(f"{source.upper()}_BASE_URL")
    report.add(
        "", "client", "dropped", "the address, the login and the limits are Go code: write them by hand"
    )
    columns = _ColumnLists(data["go"])
    for number, literal in enumerate(data["steampipe"]):
        name = columns.text(literal.fields.get("Name"))
        try:
            if not name:
                raise UntranslatableError("its name is computed")
            written = _PluginTable(name, literal, columns, report).draft()
        except UntranslatableError as error:
            report.leave_out(name or f"table {number + 1}", str(error))
            continue
        short = identifier(name.removeprefix(f"{source}_"))
        written.name = unique(short, (one.name for one in draft.tables))
        draft.tables.append(written)
        report.written[name] = f"{source}.{written.name}"
    return [draft]


class _ColumnLists:
    """The columns of tables: lists that are written out, and those of functions that put such lists together."""

    def __init__(self, go: GoText) -> None:
        self._go = go
        self._functions = {name: one for name, one in go.functions().items() if "Column" in one.result}
        self._steps = 0
        self._globals: dict[str, Expression] = {}
        at = 1
        while at < len(go.tokens):  # outside of functions
            if go.mark(at) == "=":
                self._globals.setdefault(go.mark(at - 1), go.expression(at + 1)[0])
            at = go.ends.get(at, at) + 1 if go.mark(at) == "{" else at + 1

    def text(self, value: Expression) -> str:
        """A text, or the constant of that name; empty of all else."""
        if isinstance(value, Name):
            value = self._globals.get(value.name)
        return value if isinstance(value, str) else ""

    @cached_property
    def transform(self) -> Expression:
        """What the plugin does with columns that say nothing."""
        marks = (at for at, one in enumerate(self._go.tokens) if one == GoToken("name", "DefaultTransform"))
        return next((self._go.expression(at + 2)[0] for at in marks if self._go.mark(at + 1) == ":"), None)

    def of(self, value: Expression) -> tuple[list[Composite], list[str]]:
        """The columns that a value lists, and what of it could not be read."""
        unread: list[str] = []
        found = [one for one in self._listed(value, {}, (), unread) if isinstance(one, Composite)]
        return found, list(dict.fromkeys(unread))

    def _listed(
        self,
        value: Expression,
        known: Mapping[str, list[Composite]],
        inside: tuple[str, ...],
        unread: list[str],
    ) -> list[Composite]:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise UsageError("columns that functions put together in too many steps")
        if isinstance(value, Composite) and value.type == "[]plugin.Column":
            parts = [self._listed(item, known, inside, unread) for item in value.items]
        elif isinstance(value, Composite):
            return [value]
        elif isinstance(value, Name) and value.name in known:
            return known[value.name]
        elif isinstance(value, Name) and value.name in self._globals and value.name not in inside:
            return self._listed(self._globals[value.name], known, (*inside, value.name), unread)
        elif isinstance(value, GoCall) and value.name == "append":
            parts = [self._listed(item, known, inside, unread) for item in value.arguments]
        elif isinstance(value, GoCall) and value.name in self._functions and value.name not in inside:
            given = [self._listed(item, known, inside, []) for item in value.arguments]
            return self._returned(self._functions[value.name], given, (*inside, value.name), unread)
        else:
            what = (
                f"{value.name}(…)" if isinstance(value, GoCall) else getattr(value, "name", "an expression")
            )
            unread.append(shown(what))
            return []
        found = [column for part in parts for column in part]
        if len(found) > _MOST_COLUMNS:
            raise UntranslatableError(f"more than {_MOST_COLUMNS:,} columns")
        return found

    def _returned(
        self, function: GoFunction, given: list[list[Composite]], inside: tuple[str, ...], unread: list[str]
    ) -> list[Composite]:
        """What a function gives: its assignments one after the other, and its last `return`."""
        known = dict(zip(function.parameters, given, strict=False))
        found: list[Composite] | None = None
        for at in range(function.start, function.end):
            if self._go.mark(at) in ("=", ":=") and self._go.mark(at - 2) != ".":
                listed = self._listed(self._go.expression(at + 1)[0], known, inside, [])
                known |= {self._go.mark(at - 1): listed} if listed else {}
            elif self._go.mark(at) == "return":
                found = self._listed(self._go.expression(at + 1)[0], known, inside, unread)
        return found or []


@dataclass
class _PluginTable:
    name: str
    literal: Composite
    source: _ColumnLists
    report: FidelityReport

    def tell(self, what: str, outcome: Outcome, note: str = "", *, incomplete: bool = False) -> None:
        self.report.add(self.name, what, outcome, note, incomplete=incomplete)

    def draft(self) -> TableDraft:
        literals, unread = self.source.of(self.literal.fields.get("Columns"))
        for what in unread:
            self.tell("columns", "dropped", f"those of {what} are computed, or in files that were not read")
        table = TableDraft(self.name, description=self.source.text(self.literal.fields.get("Description")))
        table.unfinished = _UNFINISHED
        for literal in literals:
            self._column(literal, table.columns)
        if not table.columns:
            raise UntranslatableError("no column of it can be read")
        note = "path, data_selector and paginator are Go code: write them by hand"
        self.tell("endpoint", "dropped", note, incomplete=True)
        listing, getting = (self.literal.fields.get(part) for part in ("List", "Get"))
        keys = list(self._keys(listing, "List"))
        for name, _, _ in keys:
            self._have(name, table.columns)
        if isinstance(listing, Composite):
            table.scan = {"path": ""}
            table.key_columns = [
                {"name": name, "require": require, "operators": operators}
                for name, require, operators in keys
            ]
            if "ParentHydrate" in listing.fields:
                self.tell("ParentHydrate", "dropped", "it is asked for each row of a parent: write `from`")
        for asked in self._lookups(getting):
            for name in asked:
                self._have(name, table.columns)
            table.lookups.append(LookupDraft(asked, {"path": "/".join(f"{{{one}}}" for one in asked)}))
        if table.scan is None and not table.lookups:
            raise UntranslatableError("neither List nor Get can be read")
        return table

    def _column(self, literal: Composite, columns: list[ColumnDraft]) -> None:
        written = self.source.text(literal.fields.get("Name"))
        if not written:
            self.tell("columns", "dropped", "one whose name is computed")
            return
        name = identifier(written)
        if any(one.name.lower() == name.lower() for one in columns):
            self.tell(f"column {name}", "dropped", "it is declared twice")
            return
        declared = literal.fields.get("Type")
        kind = declared.name.rpartition("_")[2] if isinstance(declared, Name) else ""
        transform = literal.fields.get("Transform") or self.source.transform
        path, note = _place(transform, name, self.source)
        hydrate = literal.fields.get("Hydrate")
        if isinstance(hydrate, Name):
            note = "; ".join(filter(None, (f"of a call of its own: {hydrate.name}", note)))
        columns.append(ColumnDraft(name, _TYPES.get(kind, "string"), path, shown(note) if note else ""))
        self.tell(f"column {name}", "approximated" if note else "translated", shown(note) if note else "")

    def _have(self, name: str, columns: list[ColumnDraft]) -> None:
        if name.lower() not in {one.name.lower() for one in columns}:
            self.tell(f"column {name}", "approximated", "a key that is no column there: a text")
            columns.append(ColumnDraft(name, "string", note="what is asked for"))

    def _keys(self, config: Expression, part: str) -> Iterator[tuple[str, str, list[str]]]:
        """The key columns of a configuration: name, `require`, operators."""
        value = config.fields.get("KeyColumns") if isinstance(config, Composite) else None
        if isinstance(value, GoCall) and value.name.rpartition(".")[2] in _CALLS:
            given = value.arguments[0] if value.arguments else None
            names = given.items if isinstance(given, Composite) else [given]
            listed = [
                (self.source.text(one), _CALLS[value.name.rpartition(".")[2]], ["="], "") for one in names
            ]
        elif isinstance(value, Composite):
            listed = [self._key(one) for one in value.items if isinstance(one, Composite)]
        else:
            listed = []
            if value is not None:
                self.tell(f"{part}.KeyColumns", "dropped", "they are computed", incomplete=True)
        for name, require, operators, note in listed:
            if not name:
                self.tell(f"{part}.KeyColumns", "dropped", "a key whose name is computed", incomplete=True)
                continue
            self.tell(f"{part} key {name}", "approximated" if note else "translated", note)
            yield identifier(name), require, operators

    def _key(self, literal: Composite) -> tuple[str, str, list[str], str]:
        said = literal.fields.get("Require")
        require = {"Optional": "optional", "AnyOf": "any_of"}.get(
            said.name.rpartition(".")[2] if isinstance(said, Name) else "", "required"
        )
        listed = literal.fields.get("Operators")
        written = (
            [one for one in listed.items if isinstance(one, str)] if isinstance(listed, Composite) else ["="]
        )
        operators = list(dict.fromkeys(_OPERATORS[one] for one in written if one in _OPERATORS))
        lost = ", ".join(one for one in written if one not in _OPERATORS)
        note = f"without the operators {lost}" if lost else ""
        return self.source.text(literal.fields.get("Name")), require, operators or ["="], note

    def _lookups(self, config: Expression) -> Iterator[tuple[str, ...]]:
        """The keys of each lookup: all that are required, with one of those of which any will do."""
        keys = list(self._keys(config, "Get"))
        required = tuple(name for name, require, _ in keys if require == "required")
        any_of = [name for name, require, _ in keys if require == "any_of"]
        for name in any_of:
            yield (*required, name)
        if required and not any_of:
            yield required


def _place(transform: Expression, name: str, source: _ColumnLists) -> tuple[str | None, str]:
    """Where in a record a column stands, None where it is called the same, and a note where that is not sure."""
    steps: list[GoCall] = []
    while isinstance(transform, GoCall):
        steps.insert(0, transform)
        transform = transform.of
    if not steps:
        return None, ""
    first, rest = steps[0], [one.name for one in steps[1:] if one.name not in ("NullIfZero", "NullIfEmpty")]
    called = first.name.rpartition(".")[2]
    fields = [source.text(one) for one in first.arguments]
    path, note = None, ""
    if called in ("FromField", "FromTag", "FromMatrixItem") and fields and fields[0]:
        same = fields[0].replace("_", "").lower() == name.replace("_", "").lower()
        path = None if same else fields[0]
        note = "" if path is None else "as the Go value has it; the answer may spell it otherwise"
        if len(fields) > 1:
            note = f"the first that there is of {', '.join(fields)}"
    elif called == "FromQual":
        note = "" if fields in ([name], []) else f"what is asked for as {fields[0]}"
    elif called == "FromValue":
        note = "all that the call gives"
    elif called not in ("FromGo", "FromCamel", "FromJSONTag"):
        note = f"computed: {called}"
    if rest and not note.startswith("computed"):
        note = "; ".join(filter(None, (note, f"then {', '.join(rest)}")))
    try:
        parse_path(path or "$")
    except ValueError:
        path, note = None, f"at {path}, which is no path"
    return path, note
