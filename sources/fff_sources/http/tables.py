"""From a checked spec, or from what an adapter has found out, to tables: their access methods, and what each is asked with."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

import pyarrow as pa

from fff.catalog import KeyColumn, Keys, LookupMethod, ScanMethod, Table
from fff.quals import ChangesSince, Quals
from fff.schema import Field, arrow_type, is_sorted_alike
from fff.structs import Struct, field, replace
from fff.web.types import Response
from fff_sources.http import templates
from fff_sources.http.paging.consistency import NOT_EXHAUSTIVE
from fff_sources.http.response.jsonpath import JsonPath, literal_path, parse_path
from fff_sources.http.response.redirected import Redirects
from fff_sources.http.response.values import from_text
from fff_sources.http.spec import spec

if TYPE_CHECKING:
    from fff_sources.http.response.bodies import BodyDecoder

_WITHOUT_NAN = frozenset({"json", "ndjson"})
_SHOWN = 5  # values that are shown of many


class Question(Struct, frozen=True):
    """What one request says, in a language that templates cannot speak.

    Sent as it is: nothing is filled in.
    """

    path: str = ""  # joined to the base URL, escaped already
    params: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    json: object = None
    form: Mapping[str, str] | None = None
    accept: frozenset[int] = frozenset()  # statuses of failures that the body tells more about


class Words(Protocol):
    """How an access method asks where its endpoint's texts do not say it: a query language with literals of its own."""

    def askable(self, keys: Keys) -> Sequence[tuple[object, ...]]:
        """The keys that the language can say; no row can have any other."""

    def question(self, columns: Sequence[str], keys: Keys, asked: Mapping[str, str]) -> Question:
        """The request for some columns of the rows of these keys (all rows without any).

        `asked` comes from the paginator.
        """

    def failure(self, response: Response) -> str | None:
        """What an answer says went wrong although its status says nothing of the kind."""


@runtime_checkable
class QualifiedWords(Words, Protocol):
    """Words that can say qualifiers as well."""

    def qualified(self, quals: Quals) -> Self:
        """The same words, which from now on say these on top of the keys."""


@runtime_checkable
class SortedWords(Words, Protocol):
    """Words that can ask for an order as well."""

    def sorted(self, by: str) -> Self:
        """The same words, which ask for scans sorted by a column: falling with `-` before its name."""


class HttpAccess(Struct, frozen=True):
    """One access method as the source carries it out."""

    endpoint: spec.Endpoint
    keys: tuple[str, ...] = ()
    params: Mapping[str, str] = field(default_factory=dict)  # keys that no template names -> parameter
    batch: spec.Batch | None = None
    words: Words | None = None  # in place of the endpoint's path, parameters and body
    unsayable: str | None = None  # why a key that the words cannot say may have rows all the same
    cost: spec.RequestCost | None = None  # as far as it has one of its own
    exhaustive: bool = True  # whether an answer holds all rows there are
    windows: spec.Windows | None = None  # to be asked for apart
    variants: tuple[Mapping[str, object], ...] = ()  # to be asked for apart: column -> value
    variant: Mapping[str, object] = field(default_factory=dict)  # the one at hand

    @classmethod
    def worded(cls, words: Words, paginator: object, keys: tuple[str, ...] = (), **endpoint: object) -> Self:
        """What words ask; `endpoint` says beside the paginator how answers are read."""
        parts = {"path": "", "paginator": paginator, **endpoint}
        return cls(spec.Endpoint.model_validate(parts), keys, words=words)

    @property
    def constants(self) -> dict[str, object]:
        """What the variant says beside the keys."""
        return {name: value for name, value in self.variant.items() if name not in self.keys}

    @property
    def shared(self) -> int:
        """So many of the first columns have one value in a request, whose list is of the last one."""
        return 0 if self.batch is None else len(self.keys) - 1

    @property
    def is_projected(self) -> bool:
        """Whether requests name the columns they want."""
        return self.words is not None or self.endpoint.select is not None


class PlannedTable(Struct, frozen=True, eq=False, dict=True):
    """A table for the engine, and what the adapter alone needs to know about it."""

    table: Table
    spec: spec.TableSpec
    paths: Mapping[str, JsonPath]  # column -> place in a record
    declared: bool = True  # whether a spec says where the columns are, and not the table's first page
    found: bool = False  # whether the types of cells are those of the texts that were looked at
    readers: dict[tuple[str, tuple[str, ...], bool], BodyDecoder] = field(default_factory=dict)
    #: Kept for `fetch`, by the same names: its `Reading`s of one key each, to be had again for another.
    readings: dict[tuple[str, tuple[str, ...], bool], Any] = field(default_factory=dict)
    #: Kept for `requests`, by access method: the `RequestPattern` in which other keys change but the key.
    patterns: dict[int, Any] = field(default_factory=dict)
    #: Kept for `fetch`, by access method: where redirects led.
    redirects: defaultdict[str, Redirects] = field(default_factory=lambda: defaultdict(Redirects))

    @cached_property
    def no_rows(self) -> frozenset[int]:
        """The statuses that are answers without any rows."""
        return frozenset(rule.status_code for rule in self.spec.on_status)


class DiscoveredTable(Struct, frozen=True):
    """A table as an adapter has found it or read it in the spec.

    Without columns it has only a name so far.
    """

    name: str
    columns: Mapping[str, tuple[str, JsonPath]] = field(default_factory=dict)  # name -> Spark SQL type, place
    primary_key: tuple[str, ...] = ()
    scan: HttpAccess | None = None
    lookups: tuple[tuple[HttpAccess, int], ...] = ()  # and how many keys one request may carry
    on_bad_record: Literal["fail", "null", "skip"] = "fail"
    description: str = ""
    sendable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name -> operators beside the keys
    sortable: Collection[str] = ()  # columns that scans can be sorted by, both ways
    found: bool = False  # whether the types of cells are those of the texts that were looked at

    def planned(self, source: str, *, max_in_flight: int) -> PlannedTable:
        """The table with all its access methods."""
        lookups = _lookup_methods(self.name, self.lookups)
        alone = dict.fromkeys(method.keys[0] for method in lookups if len(method.keys) == 1)
        table = Table(
            source=source,
            name=self.name,
            columns=tuple(Field.of(name, kind) for name, (kind, _) in self.columns.items()),
            primary_key=self.primary_key,
            key_columns=tuple(
                self._key_column(name, is_key=name in alone)
                for name in dict.fromkeys((*alone, *filter(self.sendable.get, self.sendable)))
            ),
            scans=() if self.scan is None else (ScanMethod(f"{self.name}.scan", self.scan),),
            lookups=lookups,
            max_in_flight=max_in_flight,
            description=self.description,
            sortable=tuple(by for name in self.sortable for by in (name, f"-{name}")),
        )
        rules = spec.TableSpec(on_bad_record=self.on_bad_record)
        paths = {name: path for name, (_, path) in self.columns.items()}
        return PlannedTable(table, rules, paths, found=self.found)

    def _key_column(self, name: str, *, is_key: bool) -> KeyColumn:
        """What requests can be told of a column: as a key, and in the source's language beside keys."""
        sendable = self.sendable.get(name, ())
        operators = dict.fromkeys((*(("=", "in") if is_key else ()), *sendable))
        return KeyColumn(name, operators=tuple(operators), sendable=tuple((one, None) for one in sendable))


def plan_table(
    source: str,
    name: str,
    declared: spec.TableSpec,
    *,
    max_in_flight: int,
    columns: Mapping[str, spec.ColumnSpec] | None,
    accounts: Mapping[str, Sequence[object]] | None = None,
) -> PlannedTable:
    """A table with all its access methods. `columns` replaces the declared ones where they were inferred.

    `accounts` is the column that says which account a row is of, and their names.
    """
    columns = declared.columns if columns is None else columns
    values = {**(accounts or {}), **_typed_values(declared, columns or {})}
    if accounts and columns is not None:
        columns = {name: spec.ColumnSpec(type="string") for name in accounts if name not in columns} | dict(
            columns
        )
    fields = tuple(Field.of(column, part.type) for column, part in (columns or {}).items())
    form = "xml" if "xml" in _formats(declared) else "json"
    paths = {
        column: _NOWHERE if column in values and part.path is None else place_of(column, part, form)
        for column, part in (columns or {}).items()
    }
    several = len(apart := variants(values)) > 1 or any(scan.windows is not None for scan in declared.scan)
    in_windows = {None if scan.windows is None else scan.windows.column for scan in declared.scan}
    has_accounts = frozenset(accounts or ())
    table = Table(
        source=source,
        name=name,
        columns=fields,
        primary_key=tuple(declared.primary_key),
        key_columns=tuple(
            KeyColumn(
                key.name,
                "optional" if in_windows == {key.name} else key.require,
                tuple(key.operators),
                _sendable(declared, key, fields),
                parent_of(source, key),
            )
            for key in declared.key_columns
            if key.name not in values
        )
        + tuple(KeyColumn(column, operators=("=", "in"), sendable=(("=", None),)) for column in values),
        scans=_scans(name, declared, apart, has_accounts),
        lookups=_lookups(name, declared, apart, has_accounts),
        max_in_flight=max_in_flight,
        description=declared.description,
        order=tuple(declared.order) if isinstance(declared.order, list) and not several else (),
        sortable=() if several else sortable(declared, fields),
        changes=_changes(declared),
        notes=_notes(declared, values),
        unfinished=declared.unfinished,
    )
    return PlannedTable(table, declared, paths, declared.columns is not None)


def parent_of(source: str, key: spec.KeyColumnSpec) -> tuple[str, str, str] | None:
    """The source, the table and the column that a key comes from where a statement binds none."""
    if key.parent is None:
        return None
    other, _, table = key.parent.table.rpartition(".")
    return other or source, table, key.parent.column


#: Where no record has anything.
_NOWHERE = literal_path("\0")


def variants(values: Mapping[str, Sequence[object]]) -> tuple[Mapping[str, object], ...]:
    """Every combination of the values of some columns; none without columns."""
    if not values:
        return ()
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values()))


def _typed_values(
    declared: spec.TableSpec, columns: Mapping[str, spec.ColumnSpec]
) -> dict[str, list[object]]:
    """The values of `values`, as their columns have them. Raises ValueError."""
    return {
        name: [from_text(templates.text_of(value), arrow_type(columns[name].type)) for value in values]
        for name, values in declared.values.items()
        if name in columns
    }


def _changes(declared: spec.TableSpec) -> ChangesSince | None:
    """How to ask for what has changed."""
    changes = declared.changes
    if changes is None:
        return None
    return ChangesSince(
        changes.column, changes.param, changes.lookback, deletions=changes.deletions == "unseen"
    )


def _notes(declared: spec.TableSpec, values: Mapping[str, Sequence[object]]) -> tuple[str, ...]:
    """What whoever reads the table should know beforehand."""
    notes = [f"a draft: {declared.unfinished}"] if declared.unfinished else []
    notes += [
        f"one table of {len(some)} {column}: {', '.join(map(templates.text_of, some[:_SHOWN]))}"
        + (", …" if len(some) > _SHOWN else "")
        + " (each is asked for by itself)"
        for column, some in values.items()
    ]
    for windows in (scan.windows for scan in declared.scan if scan.windows is not None):
        notes.append(f"scanned in windows of {windows.column}, from {templates.text_of(windows.start)} on")
        if windows.nulls is None:
            notes.append(f"complete only under a condition on {windows.column}: {unasked(windows)}")
    parts: list[spec.ScanSpec | spec.LookupSpec] = [*declared.scan, *declared.lookups]
    waits = {part.endpoint.job.poll.within for part in parts if part.endpoint.job is not None}
    notes += [
        f"answered by jobs: submitted, asked about for at most {wait:g} s each, then fetched"
        for wait in sorted(waits)
    ]
    if declared.changes is not None:
        unseen = "; deletions are not seen" if declared.changes.deletions == "unseen" else ""
        notes.append(
            f"fff refresh asks for what has changed by {declared.changes.column} ({declared.changes.param}){unseen}"
        )
    if not declared.exhaustive or any(not part.exhaustive for part in parts):
        notes.append(f"never complete: {NOT_EXHAUSTIVE}")
    return tuple(notes)


def unasked(windows: spec.Windows) -> str:
    """Why a scan in windows does not have all rows."""
    return f"rows without {windows.column} are not asked for (say how under windows.nulls)"


def place_of(column: str, part: spec.ColumnSpec, form: str = "json") -> JsonPath:
    """Where in a record of answers in a format a column is."""
    path = parse_path(part.path, form) if part.path is not None else literal_path(column)
    return path if part.pattern is None else replace(path, pattern=re.compile(part.pattern))


def _formats(declared: spec.TableSpec) -> set[str]:
    """Those of the answers of all access methods."""
    endpoints = [part.endpoint for part in declared.scan] + [part.endpoint for part in declared.lookups]
    return {endpoint.format for endpoint in endpoints}


def _sendable(
    declared: spec.TableSpec, key: spec.KeyColumnSpec, fields: Sequence[Field]
) -> tuple[tuple[str, str | None], ...]:
    """The operators that a key column names a parameter for.

    A bare one is for `=`, else for the only operator.
    """
    named = named_params(key)
    field = next((field for field in fields if field.name == key.name), None)
    formats = _formats(declared)
    # SQL has NaN above every number, where sources have it nowhere; JSON has no NaN at all.
    if field is not None and pa.types.is_floating(field.arrow) and not formats <= _WITHOUT_NAN:
        named = {operator: param for operator, param in named.items() if operator not in (">", ">=")}
    return tuple(named.items())


def sortable(declared: spec.TableSpec, fields: Sequence[Field]) -> tuple[str, ...]:
    """What the scan can be asked to be sorted by, where there is one, so that it matters which rows come first."""
    sort = declared.scan[0].endpoint.sort if len(declared.scan) == 1 else None
    if sort is None:
        return ()
    names = [field.name for field in fields if field.name in sort.columns and is_sorted_alike(field.arrow)]
    ways = (("", sort.ascending), ("-", sort.descending))
    return tuple(f"{mark}{name}" for name in names for mark, text in ways if text is not None)


def named_params(key: spec.KeyColumnSpec) -> dict[str, str | None]:
    """The parameters of a key column by operator, `<>` for `!=`."""
    operators = [operator for operator in key.operators if operator != "in"]
    if isinstance(key.param, dict):
        named = {operator: param for operator, param in key.param.items() if operator != "in"}
    elif key.param is not None and ("=" in operators or len(operators) == 1):
        named = {"=" if "=" in operators else operators[0]: key.param}
    else:
        named = {}
    return {"<>" if operator == "!=" else operator: param for operator, param in named.items()}


def _scans(
    name: str, declared: spec.TableSpec, apart: tuple[Mapping[str, object], ...], accounts: frozenset[str]
) -> tuple[ScanMethod, ...]:
    """The scans; none where the source demands keys that only lookups can tell it."""
    known = set(apart[0]) if apart else set()
    in_range = known | {key.name for key in declared.key_columns if {*named_params(key)} - {"="}}
    for wanted, enough in (("required", all), ("any_of", any)):
        demanded = [key.name in in_range for key in declared.key_columns if key.require == wanted]
        if demanded and not enough(demanded):
            return ()
    return tuple(
        ScanMethod(
            f"{name}.scan" if number == 1 else f"{name}.scan[{number}]",
            replace(_access(declared, (), scan, known - accounts), variants=apart),
            requests=max(1, len(apart)) * _least(scan.endpoint),
        )
        for number, scan in enumerate(declared.scan, 1)
        if not placeholders(scan.endpoint) - known
    )


def _lookups(
    name: str, declared: spec.TableSpec, apart: tuple[Mapping[str, object], ...], accounts: frozenset[str]
) -> tuple[LookupMethod, ...]:
    """The lookups, and each once more for those who know the variant."""
    known = dict.fromkeys(apart[0] if apart else ())
    fixed = known.keys() - accounts
    parts = [(tuple(part.keys), part) for part in declared.lookups]
    accesses = [_access(declared, keys, part, fixed) for keys, part in parts]
    derived = _derived(declared, {frozenset(access.keys) for access in accesses}, fixed)
    accesses += derived
    if known:
        chosen: list[tuple[tuple[str, ...], spec.ScanSpec | spec.LookupSpec]]
        chosen = [(keys, part) for keys, part in parts if not known.keys() & set(keys)]
        chosen += [(access.keys, declared.scan[0]) for access in derived]
        chosen += [((), part) for part in declared.scan[:1] if not placeholders(part.endpoint) - known.keys()]
        accesses += [
            replace(_without_accounts(_access(declared, (*keys, *known), part), accounts), batch=None)
            for keys, part in chosen
        ]
        accesses = [replace(access, variants=apart) for access in accesses]
    return _lookup_methods(
        name, [(access, 1 if access.batch is None else access.batch.size) for access in accesses]
    )


def _lookup_methods(table: str, accesses: Sequence[tuple[HttpAccess, int]]) -> tuple[LookupMethod, ...]:
    """The lookups with names of their own, each with how many keys one request may carry."""
    methods: list[LookupMethod] = []
    names: dict[str, int] = {}
    for access, size in accesses:
        name = f"{table}.lookup[{','.join(access.keys)}]" + (f"x{size}" if size > 1 else "")
        names[name] = names.get(name, 0) + 1
        name += f"#{names[name]}" if names[name] > 1 else ""
        several = (
            len(access.variants) if access.variants and not {*access.variants[0]} & {*access.keys} else 1
        )
        methods.append(
            LookupMethod(
                name,
                access.keys,
                size,
                access,
                requests=several * _least(access.endpoint),
                repeats=access.endpoint.job is not None,
                shared=access.shared,
            )
        )
    return tuple(methods)


def _least(endpoint: spec.Endpoint) -> int:
    """Requests that an answer takes at least: a job is submitted, asked about and fetched."""
    return 1 if endpoint.job is None else 3


def _derived(
    declared: spec.TableSpec, known: set[frozenset[str]], fixed: Collection[str]
) -> list[HttpAccess]:
    """Lookups that follow from key columns: the scan's endpoint, with the key sent along."""
    if not declared.scan:
        return []
    required = [
        key.name
        for key in declared.key_columns
        if key.require == "required"
        and key.name not in fixed
        and not ("=" not in key.operators and named_params(key))
    ]
    wanted: list[tuple[str, ...]] = [tuple(required)] if required else []
    for key in declared.key_columns:
        if key.require == "required" or (key.require == "optional" and required) or "=" not in key.operators:
            continue
        if key.name not in fixed:
            wanted.append((key.name,))
    named = placeholders(declared.scan[0].endpoint) - {*fixed}  # without them there is nothing to ask
    wanted = [keys for keys in wanted if frozenset(keys) not in known and named <= {*keys}]
    return [_access(declared, keys, declared.scan[0], fixed) for keys in wanted]


def _without_accounts(access: HttpAccess, accounts: frozenset[str]) -> HttpAccess:
    """Requests do not say whose they are: their credentials do."""
    params = {name: param for name, param in access.params.items() if name not in accounts}
    return replace(access, params=params)


def _access(
    declared: spec.TableSpec,
    keys: tuple[str, ...],
    part: spec.LookupSpec | spec.ScanSpec,
    fixed: Collection[str] = (),
) -> HttpAccess:
    """`fixed`: columns that a variant says beside the keys."""
    named = placeholders(part.endpoint)
    params = {key: param_of(declared, key) for key in (*keys, *sorted(fixed)) if key not in named}
    batch = part.batch if isinstance(part, spec.LookupSpec) else None
    exhaustive = declared.exhaustive and part.exhaustive
    windows = part.windows if isinstance(part, spec.ScanSpec) and not keys else None
    return HttpAccess(
        part.endpoint, keys, params, batch, cost=part.cost, exhaustive=exhaustive, windows=windows
    )


def param_of(declared: spec.TableSpec, key: str) -> str:
    """The parameter that carries a key: as its key column says, else of the column's own name."""
    for column in declared.key_columns:
        if column.name == key and column.param is not None:
            return column.param if isinstance(column.param, str) else column.param.get("=", key)
    return key


def placeholders(endpoint: spec.Endpoint) -> set[str]:
    """The columns an endpoint's texts name."""
    return templates.names([endpoint.path or "", endpoint.params, endpoint.headers, endpoint.body])
