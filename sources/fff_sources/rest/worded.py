"""Base of adapters that find out their tables by themselves and ask in a query language, and are REST in all else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from fff.catalog import KeyColumn, LookupMethod, ScanMethod, Table
from fff.errors import SourceError
from fff.schema import Field
from fff.stats import AccessMeter
from fff.web.message import Response
from fff_sources.adapter import SourceContext
from fff_sources.rest import spec
from fff_sources.rest.jsonpath import JsonPath
from fff_sources.rest.paginators import Ask
from fff_sources.rest.plan import Access, PlannedTable, Question
from fff_sources.rest.source import RestSource


@dataclass(frozen=True)
class Draft:
    """A table as an adapter has found it or read it in the spec. Without columns it has only a name so far."""

    name: str
    columns: Mapping[str, tuple[str, JsonPath]] = field(default_factory=dict)  # name -> Spark SQL type, place
    primary_key: tuple[str, ...] = ()
    scan: Access | None = None
    lookups: tuple[tuple[Access, int], ...] = ()  # and how many keys one request may carry
    on_bad_record: str = "fail"
    description: str = ""
    sendable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name -> operators beside the keys
    sortable: Collection[str] = ()  # columns that scans can be sorted by, both ways


class WordedSource(RestSource):
    """Tables that are drafted when they are known. Hosts, secrets, limits, paging and values are as for REST."""

    def __init__(self, client: spec.Client, context: SourceContext) -> None:
        bare = spec.RestSpec.model_construct(
            type="rest", description="", client=client, table_defaults=None, tables={}, tests=[]
        )
        super().__init__(bare, context)

    def keep(self, draft: Draft) -> None:
        """Have this table, in the place of one of the same name."""
        self._planned[draft.name] = planned(
            self.name, draft, max_in_flight=self.spec.client.rate_limit.max_concurrency
        )

    async def ask(
        self, question: Question, *, method: str, table: str | None, meter: AccessMeter
    ) -> Response:
        """The answer to a question about the source itself. Raises SourceError, SecretError."""
        access = Access(
            spec.Endpoint(path="", method="POST" if method == "POST" else "GET"), words=_Once(question)
        )
        draft = planned(self.name, Draft(table or ""), max_in_flight=1)
        reading = self._reading(draft, "about", access, (), (), meter=meter)
        response = await reading.fetch(Ask())
        if not response.body.strip():
            raise self.problem("the answer is empty", response, table)
        return response

    def problem(
        self, message: str, response: Response, table: str | None = None, hint: str | None = None
    ) -> SourceError:
        """An error about an answer, without secrets."""
        return SourceError(
            self._client.redactor.text(message),
            source=self.name,
            table=table,
            url=self._client.shown(response.url),
            hint=hint,
        )


class _Once:
    """A question that is always the same."""

    def __init__(self, question: Question) -> None:
        self._question = question

    def askable(self, keys: Sequence[tuple[object, ...]]) -> Sequence[tuple[object, ...]]:
        return keys

    def question(
        self,
        columns: Sequence[str],  # noqa: ARG002
        keys: Sequence[tuple[object, ...]],  # noqa: ARG002
        asked: Mapping[str, str],  # noqa: ARG002
    ) -> Question:
        return self._question

    def failure(self, response: Response) -> str | None:  # noqa: ARG002
        return None


def planned(source: str, draft: Draft, *, max_in_flight: int) -> PlannedTable:
    """The table of a draft, with all its access methods."""
    names: dict[str, int] = {}
    lookups = []
    for access, size in draft.lookups:
        name = f"{draft.name}.lookup[{','.join(access.keys)}]" + (f"x{size}" if size > 1 else "")
        names[name] = names.get(name, 0) + 1
        name += f"#{names[name]}" if names[name] > 1 else ""
        lookups.append(LookupMethod(name, access.keys, size, access))
    alone = dict.fromkeys(method.keys[0] for method in lookups if len(method.keys) == 1)
    table = Table(
        source=source,
        name=draft.name,
        columns=tuple(Field.of(name, kind) for name, (kind, _) in draft.columns.items()),
        primary_key=draft.primary_key,
        key_columns=tuple(
            _key_column(name, draft.sendable.get(name, ()), is_key=name in alone)
            for name in dict.fromkeys((*alone, *draft.sendable))
        ),
        scans=() if draft.scan is None else (ScanMethod(f"{draft.name}.scan", draft.scan),),
        lookups=tuple(lookups),
        max_in_flight=max_in_flight,
        description=draft.description,
        sortable=tuple(by for name in draft.sortable for by in (name, f"-{name}")),
    )
    rules = spec.TableSpec.model_validate({"on_bad_record": draft.on_bad_record})
    return PlannedTable(table, rules, {name: path for name, (_, path) in draft.columns.items()})


def _key_column(name: str, sendable: Sequence[str], *, is_key: bool) -> KeyColumn:
    """What requests can be told of a column: as a key, and in the source's language beside keys."""
    operators = dict.fromkeys((*(("=", "in") if is_key else ()), *sendable))
    return KeyColumn(name, operators=tuple(operators), sendable=tuple((one, None) for one in sendable))
