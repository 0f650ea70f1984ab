"""Data portals, whose servers describe their own tables: names, columns, types."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

from fff.catalog import Keys
from fff.errors import SourceError, SpecError
from fff.quals import Quals
from fff.schema import distinct_names
from fff.stats import AccessMeter
from fff.structs import Struct, replace
from fff.web.types import Response
from fff_sources.adapter import SourceContext
from fff_sources.http.exchange import Exchange
from fff_sources.http.response.json import MalformedJSON, decode
from fff_sources.http.response.jsonpath import literal_path
from fff_sources.http.spec import common, spec
from fff_sources.http.tables import DiscoveredTable, Question

T = TypeVar("T")

WHOLE_NUMBERS = frozenset({"tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"})


class PortalTable(common.DiscoveredTableSpec):
    """What a spec may say of a table that describes itself: types in the place of those found, and how to read it."""

    columns: dict[str, spec.TypeName] | None = None


class PortalSpec(common.SourceSpec):
    """What all these sources may declare."""

    tables: dict[str, PortalTable] | None = None


class FilterWords(Struct, frozen=True, kw_only=True):
    """Words that also say conditions, of services that know every key and tell failures by the status.

    `quals`: what holds for all rows that are of use.
    """

    quals: Quals = ()

    def qualified(self, quals: Quals) -> Self:
        """The same words, which say these in every request."""
        return replace(self, quals=quals)

    def askable(self, keys: Keys) -> Sequence[tuple[object, ...]]:
        """All of them."""
        return keys

    def failure(self, response: Response) -> str | None:  # noqa: ARG002
        """Nothing."""
        return None


class PortalColumn(Struct, frozen=True):
    """A column as its server describes it: the server's own type, and the Spark SQL type it is read as.

    `written` is what the server calls it, where that is not its name.
    """

    name: str
    kind: str
    type: str
    written: str | None = None


class Portal:
    """What a server tells of itself, and what the spec says in its place.

    Args:
        http: asks it.
        declared: the source's part of the spec.
        expects: what `base_url` must be; a hint.
    """

    def __init__(self, http: Exchange, declared: PortalSpec, expects: str) -> None:
        self._http = http
        self._declared = declared.tables or {}
        self._titles: dict[str, str] = {}
        self._expects = expects

    def named(self, tables: Mapping[str, str]) -> list[DiscoveredTable]:
        """Tables (name -> description) without columns so far; those that were named before stay as they are."""
        fresh = {name: title for name, title in tables.items() if name not in self._titles}
        self._titles |= fresh
        return [DiscoveredTable(name, description=self._description(name)) for name in fresh]

    def columns(self, table: str, discovered: Iterable[PortalColumn]) -> dict[str, PortalColumn]:
        """The columns of a table by name, in the types the spec gives them."""
        described = list(discovered)
        names = distinct_names(column.name for column in described)
        columns = {
            name: replace(column, name=name, written=column.name)
            for name, column in zip(names, described, strict=True)
        }
        by_lower_name = {name.lower(): column for name, column in columns.items()}
        if not columns:
            raise SourceError("the table has no columns", source=self._http.name, table=table)
        for name, kind in (self._declared.get(table, PortalTable()).columns or {}).items():
            known = by_lower_name.get(name.lower())
            if known is None:
                raise SourceError(
                    f"the spec gives a type to {name!r}, which is no column",
                    source=self._http.name,
                    table=table,
                    hint=f"columns: {', '.join(columns)}",
                )
            columns[known.name] = replace(known, type=kind)
        return columns

    def table(
        self, name: str, columns: Mapping[str, PortalColumn], title: str = "", **parts: Any
    ) -> DiscoveredTable:
        """A table whose columns are members of its records. `title` describes it where nothing else does."""
        return DiscoveredTable(
            name,
            {one.name: (one.type, literal_path(one.written or one.name)) for one in columns.values()},
            on_bad_record=self._declared.get(name, PortalTable()).on_bad_record,
            description=self._description(name) or title,
            **parts,
        )

    def _description(self, name: str) -> str:
        written = self._declared.get(name)
        return (written and written.description) or self._titles.get(name, "")

    async def ask(
        self, question: Question, read: Callable[[Any], T], *, meter: AccessMeter, table: str | None = None
    ) -> T:
        """What `read` makes of a JSON answer; whatever it misses there is a SourceError."""
        response = await self._http.ask(question, table=table, meter=meter)
        try:
            return read(decode(response.body))
        except MalformedJSON:
            raise self._http.problem("the answer is not JSON", response, table, self._expects) from None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            missing = f" (it lacks {error})" if isinstance(error, KeyError) else ""
            message = f"the answer does not describe a table{missing}"
            raise self._http.problem(message, response, table, self._expects) from None


def strangers(context: SourceContext, known: Collection[str]) -> list[SpecError]:
    """What is wrong with `tables` where it speaks of others than the known ones."""
    tables = context.document.data["sources"][context.name].get("tables") or {}
    return [
        context.document.error(
            ("sources", context.name, "tables", name),
            "is no table of the source",
            hint=f"tables: {', '.join(known)}",
        )
        for name in tables
        if name not in known
    ]


def table_name(title: str, otherwise: str) -> str:
    """A title as a name that SQL takes without quoting."""
    plain = re.sub(r"\W+", "_", title.lower()).strip("_")
    if not plain:
        return otherwise
    return f"t_{plain}" if plain[0].isdigit() else plain


def unique_names(titles: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Names for things with an id and a title: id -> name.

    Titles that give one name get the beginning of their ids as well.
    """
    plain = {key: table_name(title, f"t_{key[:8]}") for key, title in titles}
    counts: dict[str, int] = {}
    for name in plain.values():
        counts[name] = counts.get(name, 0) + 1
    return {key: name if counts[name] == 1 else f"{name}_{key[:8]}" for key, name in plain.items()}
