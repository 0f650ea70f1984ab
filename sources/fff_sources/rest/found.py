"""Base of adapters whose servers describe their own tables: names, columns, types."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from fff.errors import SourceError, SpecError
from fff.stats import AccessMeter
from fff.web.message import Response
from fff_sources.adapter import SourceContext
from fff_sources.rest import spec
from fff_sources.rest.check import read_as
from fff_sources.rest.fastjson import MalformedJSON, decode
from fff_sources.rest.jsonpath import literal_path
from fff_sources.rest.plan import Question
from fff_sources.rest.worded import Draft, WordedSource

T = TypeVar("T")

WHOLE_NUMBERS = frozenset({"tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"})


class FoundTable(spec.Spec):
    """What a spec may say of a table that describes itself: types in the place of those found, and how to read it."""

    description: str = ""
    columns: dict[str, spec.TypeName] | None = None
    on_bad_record: Literal["fail", "null", "skip"] = "fail"


class FoundSpec(spec.Spec):
    """What all these sources may declare."""

    description: str = ""
    client: spec.Client
    tables: dict[str, FoundTable] | None = None
    tests: tuple[str, ...] = ()


@dataclass(frozen=True)
class FoundColumn:
    """A column as its server describes it: the server's own type, and the Spark SQL type it is read as."""

    name: str
    kind: str
    type: str


class FoundSource(WordedSource):
    """Tables whose columns the server tells when they are needed: one request a table, before the first statement."""

    model: ClassVar[type[FoundSpec]]

    def __init__(self, declared: FoundSpec, context: SourceContext) -> None:
        super().__init__(declared.client, context)
        self._said = declared.tables or {}

    @classmethod
    def read(cls, context: SourceContext) -> tuple[Any, list[SpecError]]:
        """What the spec declares, where it can be read, and everything that is wrong with it."""
        return read_as(cls.model, context.name, context.document)

    @classmethod
    def strangers(cls, context: SourceContext, known: Collection[str]) -> list[SpecError]:
        """What is wrong with `tables` where it speaks of others than the known ones."""
        said = context.document.data["sources"][context.name].get("tables") or {}
        return [
            context.document.error(
                ("sources", context.name, "tables", name),
                "is no table of the source",
                hint=f"tables: {', '.join(known)}",
            )
            for name in said
            if name not in known
        ]

    async def discover(
        self, names: Collection[str] | None = None, *, meter: AccessMeter | None = None
    ) -> None:
        """Ask for the columns of tables that have none yet (of `names`, or all). Raises SourceError, SecretError."""
        waiting = [
            table.name
            for table in self.tables
            if not table.columns and (names is None or table.name in names)
        ]
        for draft in await together(self.find_columns(name, meter or AccessMeter()) for name in waiting):
            self.keep(draft)

    async def find_columns(self, name: str, meter: AccessMeter) -> Draft:
        """A table with its columns and access methods, as the server describes it. Raises SourceError."""
        raise NotImplementedError

    def name_tables(self, names: Mapping[str, str]) -> None:
        """Have these tables (name -> description), without columns so far."""
        for name, description in names.items():
            if name not in self._planned:
                said = self._said.get(name)
                self.keep(Draft(name, description=(said and said.description) or description))

    def settled(self, name: str, found: Iterable[FoundColumn]) -> dict[str, FoundColumn]:
        """The columns of a table by name, in the types the spec gives them.

        Of names that differ only in case queries could reach but the first; so it alone is one.
        """
        first: dict[str, FoundColumn] = {}
        for column in found:
            first.setdefault(column.name.lower(), column)
        columns = {column.name: column for column in first.values()}
        if not columns:
            raise SourceError("the table has no columns", source=self.name, table=name)
        for said, kind in (self._said.get(name, FoundTable()).columns or {}).items():
            known = first.get(said.lower())
            if known is None:
                raise SourceError(
                    f"the spec gives a type to {said!r}, which is no column",
                    source=self.name,
                    table=name,
                    hint=f"columns: {', '.join(columns)}",
                )
            columns[known.name] = FoundColumn(known.name, known.kind, kind)
        return columns

    def draft(self, name: str, columns: Mapping[str, FoundColumn], title: str = "", **parts: Any) -> Draft:
        """A table whose columns are members of its records. `title` describes it where nothing else does."""
        said = self._said.get(name, FoundTable())
        return Draft(
            name,
            {column.name: (column.type, literal_path(column.name)) for column in columns.values()},
            on_bad_record=said.on_bad_record,
            description=said.description or self._planned[name].table.description or title,
            **parts,
        )

    async def told(
        self, question: Question, read: Callable[[Any], Any], *, meter: AccessMeter, table: str | None = None
    ) -> Any:
        """What `read` makes of a JSON answer; whatever it misses there is a SourceError."""
        response = await self.ask(question, method="GET", table=table, meter=meter)
        try:
            return read(decode(response.body))
        except MalformedJSON:
            raise self.problem("the answer is not JSON", response, table, self.expects()) from None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise self.unexpected(response, table, error) from None

    def unexpected(self, response: Response, table: str | None, error: Exception) -> SourceError:
        """The error for an answer without the parts that such a server's answers have."""
        missing = f" (it lacks {error})" if isinstance(error, KeyError) else ""
        return self.problem(f"the answer does not describe a table{missing}", response, table, self.expects())

    def expects(self) -> str:
        """What `base_url` must be; a hint."""
        return "is client.base_url right, and the server of this type?"


async def together(questions: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The answers to questions asked side by side, in their order; the first failure ends them all."""
    tasks = [asyncio.ensure_future(question) for question in questions]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def table_name(title: str, otherwise: str) -> str:
    """A title as a name that SQL takes without quoting."""
    plain = re.sub(r"\W+", "_", title.lower()).strip("_")
    if not plain:
        return otherwise
    return f"t_{plain}" if plain[0].isdigit() else plain


def unique_names(titles: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Names for things with an id and a title: id -> name. Titles that give one name get the beginning of their ids as well."""
    plain = {key: table_name(title, f"t_{key[:8]}") for key, title in titles}
    counts: dict[str, int] = {}
    for name in plain.values():
        counts[name] = counts.get(name, 0) + 1
    return {key: name if counts[name] == 1 else f"{name}_{key[:8]}" for key, name in plain.items()}
