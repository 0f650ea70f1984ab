"""What a source made in a test needs beside its tables and its scan."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from fff.catalog import LookupMethod, Page, Table
from fff.stats import AccessMeter


class ScanOnly:
    """A source without lookups, that has nothing to close."""

    def lookup(
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        raise AssertionError("no lookup is declared")

    async def close(self) -> None:
        pass
