"""Tables that are asked for in several ways, whose answers together are theirs: one for each value, one for each account.

A variant is what its requests say (column -> value); rows that do not say so themselves have these values.
"""

from __future__ import annotations

import asyncio
import contextlib
import operator
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from fff.catalog import Keys, Page
from fff.quals import Quals
from fff.structs import replace
from fff_sources.http.tables import HttpAccess

Variant: TypeAlias = Mapping[str, object]

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def wanted(access: HttpAccess, quals: Quals) -> list[HttpAccess]:
    """An access method for each of its variants that can have rows which fulfil the qualifiers.

    Columns that are its keys say by themselves which variant is meant: see `keys_of`.
    """
    if not access.variants:
        return [access]
    return [replace(access, variant=one) for one in access.variants if _fulfils(one, quals)]


def keys_of(access: HttpAccess, keys: Keys) -> list[tuple[object, ...]]:
    """Those of the keys that are of the variant: others have no rows there."""
    places = [
        (access.keys.index(name), value) for name, value in access.variant.items() if name in access.keys
    ]
    return [key for key in keys if all(key[place] == value for place, value in places)]


def _fulfils(variant: Variant, quals: Quals) -> bool:
    values = {name.lower(): value for name, value in variant.items()}
    return all(
        _COMPARED[qual.operator](values[qual.column.lower()], qual.value)
        for qual in quals
        if qual.column.lower() in values and qual.operator in _COMPARED
    )


async def side_by_side(scans: Sequence[AsyncGenerator[Page]], window: int) -> AsyncGenerator[Page]:
    """The pages of several scans, as they come, from at most `window` of them at once.

    No page tells a total or an order: that of one scan means nothing for all.
    """
    waiting, taken = list(reversed(scans)), 0
    pages = asyncio.Queue[Page | Exception | None]()  # each scan ends with what ended it
    running: set[asyncio.Task[None]] = set()
    untaken = asyncio.Semaphore(window)  # pages that nobody has taken yet

    async def read(scan: AsyncGenerator[Page]) -> None:
        try:
            async with contextlib.aclosing(scan):
                async for page in scan:
                    await untaken.acquire()
                    pages.put_nowait(replace(page, total_rows=None, pages=None, order=None))
        except Exception as error:  # noqa: BLE001 - raised again below
            pages.put_nowait(error)
        else:
            pages.put_nowait(None)

    try:
        for _ in range(min(window, len(scans))):
            running.add(asyncio.ensure_future(read(waiting.pop())))
        while taken < len(scans):
            page = await pages.get()
            if isinstance(page, Page):
                untaken.release()
                yield page
                continue
            if page is not None:
                raise page
            taken += 1
            if waiting:
                running.add(asyncio.ensure_future(read(waiting.pop())))
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for scan in waiting:
            await scan.aclose()
