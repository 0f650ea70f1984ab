"""Whether a source really takes several keys in one request.

Some sources read the last key of a repeated parameter and no other, or take the joined text for one key, and answer as
if nothing were wrong: rows would be lost without a word. So the first answers to batches are doubted until one shows better.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence

from fff.catalog import Page
from fff.errors import SourceError

Key = tuple[object, ...]
#: Asks for keys in one request of the same kind.
Ask = Callable[[Sequence[Key]], AsyncGenerator[Page]]

_EMPTY_CHECKS = 3  # answers without any row that are checked; a source may well have nothing for many keys

_HINT = "leave batch out of this lookup, or give it the separator and the parameter that the source takes"


class BatchTrust:
    """What is known of one lookup method's batches.

    They are trusted once an answer holds rows of two keys, or of one that was neither the first nor the last.
    """

    def __init__(self, source: str, table: str, columns: Sequence[str]) -> None:
        self._source = source
        self._table = table
        self._columns = columns  # of a key
        self._proved = False
        self._refused: str | None = None
        self._empty_checks = 0
        self._one_at_a_time = asyncio.Lock()

    async def watched(
        self, pages: AsyncGenerator[Page], asked: Sequence[Key], ask: Ask
    ) -> AsyncGenerator[Page]:
        """The answer to a batch as it comes; raises SourceError at its end where the source left keys out."""
        found: set[Key] = set()
        readable = True
        async with contextlib.aclosing(pages):
            async for page in pages:
                if not self._proved:
                    readable = readable and set(self._columns) <= set(page.rows.schema.names)
                    found |= self._keys_in(page) if readable else set()
                yield page
        if not self._proved and readable:
            async with self._one_at_a_time:
                if self._refused is None and not self._proved:
                    await self._judge(asked, [key for key in asked if key in found], ask)
                if self._refused is not None:
                    raise SourceError(self._refused, source=self._source, table=self._table, hint=_HINT)

    def _keys_in(self, page: Page) -> set[Key]:
        return set(zip(*(page.rows.column(name).to_pylist() for name in self._columns), strict=True))

    async def _found(self, keys: Sequence[Key], ask: Ask) -> set[Key]:
        async with contextlib.aclosing(ask(keys)) as pages:
            return {key async for page in pages for key in self._keys_in(page)}

    async def _judge(self, asked: Sequence[Key], found: Sequence[Key], ask: Ask) -> None:
        if not found:
            await self._judge_empty(asked, ask)
        elif len(found) > 1 or found[0] not in (asked[0], asked[-1]):
            self._proved = True
        else:  # the same key in the other place: whoever reads one place alone does not see it there
            last = found[0] == asked[-1]
            other = asked[0] if last else asked[-1]
            if found[0] in await self._found([found[0], other] if last else [other, found[0]], ask):
                self._proved = True
            else:
                place = "last" if last else "first"
                self._refused = f"of {len(asked)} keys in one request the source reads the {place} one only"

    async def _judge_empty(self, asked: Sequence[Key], ask: Ask) -> None:
        if self._empty_checks == _EMPTY_CHECKS:
            return
        self._empty_checks += 1
        if await self._found(asked[:1], ask):
            self._refused = (
                f"a request for {len(asked)} keys brings no rows, and one for the first of them alone does"
            )
