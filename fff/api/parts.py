"""One statement read by several readers: each runs it over a part of the only table's scan."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from fff.catalog import Catalog, Divisible, Keys, LookupMethod, Page, ScanMethod, SourceAdapter, Table
from fff.errors import InvariantError
from fff.federation import Federation, Prepared
from fff.quals import Quals
from fff.sql.plan import Cut
from fff.stats import AccessMeter
from fff.structs import replace


@dataclass(frozen=True)
class StatementPart:
    """A part of the scan of a table. Can be pickled; what the source knows of it is the source's own.

    `share` None: all that the scan gives under `quals`, each row as often as it comes.
    `of`: how many parts there are.
    """

    table: str
    scan: str
    share: object
    quals: Quals = ()
    of: int = 1


async def divide(
    catalog: Catalog, prepared: Prepared, parts: int, *, keep_duplicates: bool
) -> list[StatementPart]:
    """Parts of the statement's only scan; none where its rows do not come from the pages of one table, row by row.

    Nor where these have a key, unless duplicates are kept: who reads one part does not see that a row of it
    came with a page of another's, too.
    Raises SourceError: to know the number of pages, the first one is fetched.
    """
    table = _only_table(prepared)
    if table is None or parts < 2 or (table.primary_key and not keep_duplicates):
        return []
    adapter = catalog.adapter_of(table)
    if not isinstance(adapter, Divisible):
        return []
    method = table.scans[0]
    shares = await adapter.divide(table, method, parts, meter=AccessMeter())
    return [StatementPart(table.full_name, method.name, share, table.quals, len(shares)) for share in shares]


def over_part(federation: Federation, part: StatementPart) -> Federation:
    """A federation whose only table is the part; it opens no connections of its own."""
    [table] = federation.catalog.find(part.table.split("."))
    catalog = Catalog()
    catalog.add(_PartOfSource(federation.catalog.adapter_of(table), table, part))
    return Federation(catalog)


def _only_table(prepared: Prepared) -> Table | None:
    result = prepared.result
    if result is None or len(result.branches) != 1 or {result.cut, result.branches[0].cut} != {Cut()}:
        return None
    if not prepared.fetches:
        return None
    plan = prepared.only_block.plan
    if len(plan.aliases) != 1 or plan.aliases[0].seeds or not plan.aliases[0].active:
        return None
    [table] = prepared.only_block.tables
    return table if table.scans else None


class _PartOfSource:
    """A source that has one table, and of that one part."""

    def __init__(self, whole: SourceAdapter, table: Table, part: StatementPart) -> None:
        self.name = whole.name
        self._whole = whole
        self._table = table
        self._part = part
        scans = tuple(method for method in table.scans if method.name == part.scan)
        keys = (
            () if part.share is None else table.primary_key
        )  # of a row that changes meanwhile both versions
        self.tables: Sequence[Table] = [replace(table, scans=scans, lookups=(), primary_key=keys)]

    def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncIterator[Page]:
        """The rows of the part."""
        table = replace(self._table, quals=self._part.quals)  # pages were counted under them
        if self._part.share is None:
            return self._whole.scan(table, method, columns, meter=meter, window=window)
        if not isinstance(self._whole, Divisible):
            raise InvariantError(f"{self.name} has no parts")
        return self._whole.scan_part(table, method, columns, self._part.share, meter=meter, window=window)

    def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncIterator[Page]:
        """Rows of other parts would come too."""
        del columns, keys, meter
        raise InvariantError(f"{table.full_name} is read in part and has no lookup {method.name}")

    async def close(self) -> None:
        """The source is closed with the federation it is of."""
