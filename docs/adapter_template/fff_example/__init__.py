"""Sources of type `example`: a shop with things, listed page by page and asked for by id."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pyarrow as pa

from fff.catalog import KeyColumn, LookupMethod, Page, ScanMethod, Table
from fff.errors import SourceError, SpecError
from fff.schema import Field
from fff.stats import AccessMeter
from fff.web.types import Request, Response
from fff_sources.adapter import SourceContext

_KEYS = {"type", "base_url", "tests"}  # what such a source may have in a spec
_FIELDS = (Field.of("id", "bigint"), Field.of("name", "string"), Field.of("price", "decimal(12,2)"))


class ExampleSource:
    """The tables of one shop."""

    def __init__(self, context: SourceContext, base_url: str) -> None:
        self.name = context.name
        self._client = context.client
        self._base_url = base_url.rstrip("/")
        self._tables = (
            Table(
                source=context.name,
                name="things",
                columns=_FIELDS,
                primary_key=("id",),
                key_columns=(KeyColumn("id"),),
                scans=(ScanMethod("things.scan"),),
                lookups=(LookupMethod("things.lookup[id]", ("id",)),),
                description="what the shop sells",
            ),
        )

    # ----------------------------------------------------------------------------------------------- for the loader

    @classmethod
    def from_spec(cls, context: SourceContext) -> ExampleSource:
        """The source; raises SpecError for the first thing that is wrong."""
        for error in cls.lint(context):
            raise error
        return cls(context, context.document.data["sources"][context.name]["base_url"])

    @classmethod
    def lint(cls, context: SourceContext) -> list[SpecError]:
        """Everything that is wrong with the source's part of the spec."""
        part = context.document.data["sources"][context.name]
        here = ("sources", context.name)
        found = [context.document.error((*here, key), "unknown key") for key in part if key not in _KEYS]
        if not isinstance(part.get("base_url"), str):
            found.append(context.document.error((*here, "base_url"), "is missing"))
        return found

    # ----------------------------------------------------------------------------------------------- for the engine

    @property
    def tables(self) -> Sequence[Table]:
        """Every table."""
        return self._tables

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncIterator[Page]:
        """Every row. This API tells the next page's number, so pages come one after the other whatever the window."""
        del method, window
        number: int | None = 1
        while number is not None:
            response = await self._ask("things", meter, page=str(number))
            answer = self._decoded(response)
            yield Page(self._batch(table, columns, answer["things"]), total_rows=answer.get("total"))
            meter.pages += 1
            following = answer.get("next")
            if following is not None and following <= number:
                raise SourceError(
                    f"page {number} is followed by page {following}", source=self.name, table=table.name
                )
            number = following

    async def lookup(
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
    ) -> AsyncIterator[Page]:
        """The rows of the keys; one request each, since `batch_size` is 1."""
        del method
        for (key,) in keys:
            response = await self._ask(f"things/{key}", meter, accept=frozenset({404}))
            rows = [] if response.status == 404 else [{"id": key, **self._decoded(response)}]
            yield Page(self._batch(table, columns, rows))

    async def close(self) -> None:
        """Nothing of its own to release: the connections are the client's."""

    async def _ask(
        self, path: str, meter: AccessMeter, *, accept: frozenset[int] = frozenset(), **params: str
    ) -> Response:
        request = Request(
            f"{self._base_url}/{path}",
            params=tuple(params.items()),
            accept=accept,
            source=self.name,
            table="things",
        )
        return await self._client.request(request, meter=meter)

    def _decoded(self, response: Response) -> dict[str, Any]:
        try:
            answer = json.loads(
                response.body, parse_float=str
            )  # a decimal keeps the digits it was written with
        except ValueError as error:
            raise SourceError(
                "the answer is not JSON", source=self.name, url=self._client.shown(response.url)
            ) from error
        if not isinstance(answer, dict):
            raise SourceError(
                "the answer is not an object", source=self.name, url=self._client.shown(response.url)
            )
        return answer

    def _batch(self, table: Table, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
        """Rows as the columns asked for, in their types."""
        fields = [field for name in columns if (field := table.column(name)) is not None]
        try:
            arrays = [_array([row.get(field.name) for row in rows], field) for field in fields]
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise SourceError(
                f"a record does not fit: {error}", source=self.name, table=table.name
            ) from error
        if not fields:  # a query may want nothing but the number of rows
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, [field.name for field in fields])


def _array(values: Sequence[Any], field: Field) -> pa.Array:
    if pa.types.is_decimal(field.arrow):
        return pa.array([None if value is None else str(value) for value in values], pa.string()).cast(
            field.arrow
        )
    return pa.array(values, field.arrow)
