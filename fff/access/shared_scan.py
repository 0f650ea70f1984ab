"""A reading: the pages of one scan or one lookup request, fetched once and read by any number of readers."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Hashable, Sequence
from contextlib import aclosing
from typing import Literal, cast

import pyarrow as pa

from fff.access.key_index import rows_without
from fff.catalog import Page
from fff.catalog.foreign import is_told_to_end
from fff.errors import SourceError
from fff.stats import Misgivings
from fff.structs import replace

#: What a reading and each of its pages cost beside the values, in bytes, as measured.
READING_OVERHEAD = 4096
PAGE_OVERHEAD = 1024


class SharedPages:
    """Pages that a task of its own fetches as its fastest reader wants them; every reader gets them from the first on.

    A reader may leave at any time. When the last one leaves before the end, what is under way is cancelled
    and the
    reading is over: its pages are only a prefix, so it is of no more use to anybody.

    Args:
        source: the pages, an asynchronous generator.
        ahead: fetch all pages at once, without waiting for readers to want them.
        keys: all that a lookup request is for, which may grow until it is sent.
        misgivings: what is said of the pages, which each reader is to be told.
        changed: called when pages came or went, and at the end.
    """

    def __init__(
        self,
        source: AsyncIterator[Page],
        *,
        ahead: bool,
        changed: Callable[[SharedPages], None],
        misgivings: Misgivings,
        keys: Sequence[object] = (),
    ) -> None:
        self.keys = keys
        self.misgivings = misgivings
        self.state: Literal["running", "ended", "failed", "dropped"] = "running"
        self.truncated = False
        self.bytes = READING_OVERHEAD  # with the pages that are still here
        self._pages: deque[Page] = deque()
        self._first = 0  # number of the first page that is still here
        self._readers: dict[Hashable, int] = {}  # -> number of the page it reads next
        self._ahead = ahead
        self._changed = changed
        self._wanted = 0
        self._demand = asyncio.Event()
        self._news: list[asyncio.Future[None]] = []
        self._error: BaseException | None = None
        self._task = asyncio.create_task(self._fetch(source))

    @property
    def readable(self) -> bool:
        """Whether a further reader would get every page."""
        return self.state in ("running", "ended") and not self._first

    @property
    def complete(self) -> bool:
        """Whether every row is here."""
        return self.state == "ended" and not self._first and not self.truncated

    @property
    def sound(self) -> bool:
        """Whether every row is here, and nothing is wrong with any."""
        return self.complete and not self.misgivings.are_there

    @property
    def idle(self) -> bool:
        """Whether nobody reads."""
        return not self._readers

    def pages(self) -> list[Page]:
        """The pages that are here."""
        return list(self._pages)

    def replace(self, pages: list[Page]) -> None:
        """Hold the same rows in other pages; only for a complete reading that nobody reads."""
        assert self.complete, "only the whole may be cut anew"
        assert self.idle, "readers count pages"
        self._pages = deque(pages)
        self.bytes = READING_OVERHEAD + sum(_size(page) for page in pages)

    def trim(self) -> None:
        """Forget the pages that all readers have read: nobody else will come."""
        upto = min(self._readers.values(), default=self._first + len(self._pages))
        while self._first < upto and self._pages:
            self.bytes -= _size(self._pages.popleft())
            self._first += 1

    def enter(self, reader: Hashable) -> None:
        """A reader comes, who will `read`, or `leave`."""
        assert self.readable, "too late for the first page"
        assert reader not in self._readers, "one reader reads once"
        self._readers[reader] = 0

    async def leave(self, reader: Hashable) -> None:
        """A reader goes, or has gone."""
        if reader in self._readers:
            del self._readers[reader]
            await self._left()

    async def read(self, reader: Hashable, *, entered: bool = False) -> AsyncGenerator[Page]:
        """Every page. Raises what fetching raised, after the pages that came before."""
        if not entered:
            self.enter(reader)
        try:
            while True:
                at = self._readers[reader]
                if at < self._first + len(self._pages):
                    page = self._pages[at - self._first]
                    self._readers[reader] = at + 1
                    self._changed(self)
                    yield page
                elif self.state == "running":
                    await self._want(at + 1)
                elif self._error is not None:
                    raise self._error
                else:
                    break
        finally:
            await self.leave(reader)

    async def _want(self, count: int) -> None:
        self._wanted = max(self._wanted, count)
        self._demand.set()
        news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._news.append(news)
        await news

    async def _left(self) -> None:
        if self.state == "running" and not self._readers:
            self.state = "dropped"  # from this moment on nobody joins
            self._task.cancel()
            self._changed(self)
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(self._task, return_exceptions=True)
        else:
            self._changed(self)

    async def _fetch(self, source: AsyncIterator[Page]) -> None:
        try:
            async with aclosing(cast("AsyncGenerator[Page]", source)) as pages:
                while True:
                    while not self._ahead and self._wanted <= self._first + len(self._pages):
                        self._demand.clear()
                        await self._demand.wait()
                    try:
                        page = await anext(pages)
                    except StopAsyncIteration:
                        break
                    self.truncated = self.truncated or page.truncated is not None
                    self.bytes += _size(page)
                    self._pages.append(page)
                    self._changed(self)
                    self._tell()
            self._over("ended", None)
        except BaseException as error:
            if is_told_to_end(error):
                raise
            self._over("failed", error)

    def _over(self, state: Literal["ended", "failed"], error: BaseException | None) -> None:
        if self.state == "running":
            self.state, self._error = state, error
            self.misgivings.end()
            self._changed(self)
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, []
        for waiter in news:
            if not waiter.done():
                waiter.set_result(None)


def _size(page: Page) -> int:
    return int(page.rows.nbytes) + PAGE_OVERHEAD


async def unbroken(
    pages: AsyncGenerator[Page], is_shared: Callable[[], bool], alone: Callable[[], AsyncGenerator[Page]]
) -> AsyncGenerator[Page]:
    """The pages of a request for some keys; where it is for those of others too and does not bring all, the rest `alone`."""
    given: list[pa.RecordBatch] = []
    async with aclosing(pages) as opened:
        try:
            async for page in opened:
                if is_shared():
                    if page.truncated is not None:
                        break
                    given.append(page.rows)
                yield page
            else:
                return
        except SourceError:
            if not is_shared():
                raise
    left = Counter(repr(row) for rows in given for row in rows.to_pylist())
    async with aclosing(alone()) as own:
        async for page in own:
            yield replace(page, rows=rows_without(page.rows, left))
