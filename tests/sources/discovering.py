"""Statements over sources that find out their tables by themselves."""

from __future__ import annotations

from typing import Any

from fff.federation import Federation
from tests.engine.site import run
from tests.sources.reading import Reader


async def rows(reader: Reader, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement, sorted, from a federation that knows nothing but the spec."""
    federation = Federation(reader.catalog, reader.client)
    await federation.discover(sql)
    found, execution = await run(federation, sql)
    assert execution.outcome.complete
    return sorted(found, key=repr)


async def types(reader: Reader, name: str) -> dict[str, str]:
    """The columns of a table, found out."""
    await reader.catalog.list_tables([name.split(".")])
    await reader.catalog.discover(reader.catalog.find(name.split(".")))
    [table] = reader.catalog.find(name.split("."))
    return {column.name: column.type for column in table.columns}


def lookups(reader: Reader, name: str) -> set[tuple[str, ...]]:
    """The keys a table can be asked by."""
    [table] = reader.catalog.find(name.split("."))
    return {method.keys for method in table.lookups}
