"""Tables that no source holds: rows that the text of a statement spells out, and values that the engine computes for keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pyarrow as pa

from fff.catalog import Keys, LookupMethod, Page, ScanMethod, Table
from fff.dataflow.plan.expressions import evaluate_rows
from fff.errors import InvariantError, QueryError
from fff.sql.calls.computed_keys import Computed
from fff.stats import AccessMeter


class LocalSource:
    """Answers at once and sends nothing. Implements `SourceAdapter`."""

    name = ""

    def __init__(self, table: Table) -> None:
        self.tables = (table,)

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """The rows that are spelled out."""
        del meter, window
        rows = method.endpoint
        if not isinstance(rows, pa.Table):
            raise InvariantError(f"{table.full_name} has no rows of its own")
        for batch in rows.select(list(columns)).combine_chunks().to_batches():
            yield Page(batch, total_rows=len(rows))
            await asyncio.sleep(0)  # others have their turn

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """The value for each key. Raises QueryError with Spark's words where there is none."""
        del meter
        computed = method.endpoint
        if not isinstance(computed, Computed):
            raise InvariantError(f"{method.name} computes nothing")
        *arguments, value = table.columns
        known = {
            field.name: pa.array(values, field.arrow)
            for field, values in zip(arguments, zip(*keys, strict=True), strict=True)
        }
        arrays = list(known.values())
        computed_values = evaluate_rows(computed.expr, lambda column: arrays[column.index], len(keys))
        if computed_values.failed is not None:
            raise QueryError(computed_values.failed.message, sql=computed.sql, span=computed.span)
        known[value.name] = computed_values.values
        yield Page(pa.RecordBatch.from_arrays([known[name] for name in columns], list(columns)))

    async def close(self) -> None:
        """Nothing is open."""
