"""One access method carried out: from keys to requests, from answers to pages of rows."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from fff.catalog import Page
from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.message import BudgetExhausted, Response
from fff_sources.rest import links, paginators, spec
from fff_sources.rest.arriving import LINES, Arriving, Piece
from fff_sources.rest.auto import Auto
from fff_sources.rest.bodies import Block, BodyReader
from fff_sources.rest.jsonpath import parse_path
from fff_sources.rest.paginators import Answer, Ask, CutShortError, PaginationError, Paginator
from fff_sources.rest.paging import bound_of, has_more, make_paginator, max_pages
from fff_sources.rest.parts import ScanPart, divided
from fff_sources.rest.records import Origin
from fff_sources.rest.told_more import mentions_more, told_more


class Fetch(Protocol):
    """Sends one question of a reading."""

    async def __call__(self, ask: Ask, arriving: Arriving | None = None) -> Response:
        """The answer, whose body `arriving` hears of before; raises SourceError."""


@dataclass(frozen=True)
class Incoming:
    """An answer under way, and its body as far as it is there."""

    answer: asyncio.Future[Response]
    arriving: Arriving | None = None


@dataclass
class Reading:
    """All pages of one endpoint for one set of keys.

    `empty` are statuses that mean "no rows"; `shown` and `redact` take the secrets out of URLs and texts.
    """

    source: str
    table: str
    endpoint: spec.Endpoint
    body: BodyReader
    fetch: Fetch
    meter: AccessMeter
    empty: frozenset[int]
    shown: Redacted
    redact: Callable[[str], str]
    fill: Mapping[str, object] | None = None
    is_scan: bool = True
    order: str | None = None  # what pages that follow one another come ordered by
    _records: int = 0
    _pages: int = 0
    _truncated: bool = False
    _given: frozenset[str] = frozenset()  # columns that some page had a value of
    _early: int = 0  # records of the answer at hand that were handed on while it came

    def send(self, ask: Ask) -> Incoming:
        """Ask; large bodies of lines can be read while they come."""
        lines = self.is_scan and self.endpoint.format in LINES
        arriving = None
        if lines:
            delimiter = self.endpoint.delimiter if self.endpoint.format == "csv" else None
            arriving = Arriving(delimiter, comment=self.endpoint.comment, encoding=self.endpoint.encoding)
        return Incoming(asyncio.ensure_future(self.fetch(ask, arriving)), arriving)

    async def pages(self, window: int, first: Response | Incoming | None = None) -> AsyncGenerator[Page]:
        """Every page. Pages that do not depend on one another are fetched up to `window` at once.

        The first page is handed over before anything else is sent, so that whoever needs no more pays for no more.
        `first` is its answer where that is there already, or under way.
        """
        paginator = make_paginator(self.endpoint)
        ask: Ask | None = paginator.start()
        assert ask is not None
        ahead: Incoming | None = None
        limit, bound = max_pages(self.endpoint), bound_of(self.endpoint)
        try:
            while ask is not None:
                arriving = None
                if isinstance(first, Response):
                    response, first = first, None
                else:
                    ahead, first = first or ahead or self.send(ask), None
                    arriving = ahead.arriving
                    async with contextlib.aclosing(self._arrived(ahead)) as blocks:
                        async for block in blocks:
                            yield Page(block.rows, order=self.order)
                    response = await ahead.answer
                ahead = None
                await asyncio.sleep(0)  # whoever got the freed place sends first; this can be read meanwhile
                pages, answer = self._read(response, paginator, arriving)
                following, rest, truncated = None, None, None
                try:
                    following, rest = self._plan(paginator, ask, answer, self._pages == 1 and window > 1)
                except CutShortError as error:
                    truncated = str(error)
                if following is not None and limit is not None and self._pages >= limit:
                    truncated, following, rest = f"stopped after {limit} pages (max_pages)", None, None
                if following is not None and bound is not None and following.position >= bound:
                    truncated, following, rest = f"stopped at {bound} (maximum in the spec)", None, None
                if rest is None and following is not None and window > 1 and self._pages > 1:
                    ahead = self.send(following)
                for page in pages:
                    yield replace(page, order=self.order)
                if truncated is not None:
                    self._truncated = True
                    yield Page(self.body.empty(), truncated)
                if rest is not None:
                    async with contextlib.aclosing(
                        self._concurrent(paginator, rest, window, limit)
                    ) as others:
                        async for page in others:
                            yield page
                    break
                ask = following
            self._compare_with_total(paginator)
        finally:
            if ahead is not None:
                await cancel([ahead.answer])

    async def part(self, part: ScanPart, window: int) -> AsyncGenerator[Page]:
        """The pages of one part."""
        if part.share is None:
            async with contextlib.aclosing(self.pages(window, part.first)) as pages:
                async for page in pages:
                    yield page
            return
        paginator = make_paginator(self.endpoint)
        assert isinstance(paginator, paginators.Offset | paginators.PageNumber), "others are not divided"
        paginator.take_part(part.share)
        if part.first is not None:
            for page in self._read(part.first, paginator)[0]:
                yield page
        async with contextlib.aclosing(self._concurrent(paginator, part.asks, window, None)) as others:
            async for page in others:
                yield page

    async def divide(self, parts: int) -> list[ScanPart]:
        """The scan in parts of about the same length, after its first page; one part where there is no total."""
        paginator = make_paginator(self.endpoint)
        ask = paginator.start()
        response = await self.fetch(ask)
        _, answer = self._read(response, paginator)
        following, rest = self._plan(paginator, ask, answer, independent=True)
        # It goes to other processes: without headers and parameters that may be secrets.
        kept = {name: text for name, text in response.headers.items() if name == "content-type"}
        first = replace(response, headers=kept, url=self.shown(response.url))
        if following is None or not rest:
            return [ScanPart(first)]
        return divided(first, answer, rest, parts, paginator.total(answer))

    async def _concurrent(
        self, paginator: Paginator, rest: Sequence[Ask], window: int, limit: int | None
    ) -> AsyncGenerator[Page]:
        """The pages after the first, as they arrive."""
        waiting = deque(rest)
        truncated = None
        bound = bound_of(self.endpoint)
        if bound is not None and any(ask.position >= bound for ask in rest):
            waiting = deque(ask for ask in rest if ask.position < bound)
            truncated = f"stopped at {bound} (maximum in the spec)"
        if limit is not None and len(waiting) > limit - self._pages:
            waiting = deque(list(waiting)[: limit - self._pages])
            truncated = f"stopped after {limit} pages (max_pages)"
        running: dict[asyncio.Task[Response], Ask] = {}
        spent: BudgetExhausted | None = None
        try:
            while waiting or running:
                while waiting and len(running) < window:
                    ask = waiting.popleft()
                    running[asyncio.ensure_future(self.fetch(ask))] = ask  # read as they arrive, in any order
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    ask = running.pop(task)
                    try:
                        response = task.result()
                    except BudgetExhausted as error:
                        spent = error  # what is under way was paid for
                        waiting.clear()
                        continue
                    pages, answer = self._read(response, paginator)
                    following, _rest = self._plan(paginator, ask, answer, independent=False)
                    if following is not None and truncated is None:
                        if limit is not None and self._pages + len(running) + len(waiting) >= limit:
                            truncated = f"stopped after {limit} pages (max_pages)"
                        elif bound is not None and following.position >= bound:
                            truncated = f"stopped at {bound} (maximum in the spec)"
                        elif spent is None:
                            waiting.append(following)
                    for page in pages:
                        yield page
            if spent is not None:
                raise spent
            if truncated is not None:
                self._truncated = True
                yield Page(self.body.empty(), truncated)
        finally:
            await cancel(running)

    def _plan(
        self, paginator: Paginator, ask: Ask, answer: Answer, independent: bool
    ) -> tuple[Ask | None, Sequence[Ask] | None]:
        try:
            rest = paginator.rest(ask, answer) if independent else None
            following = paginator.after(ask, answer)
            if following is not None and not has_more(self.endpoint.paginator, answer):
                return None, None
        except PaginationError as error:
            raise self._error(
                str(error), answer.url
            ) from None  # the cause would show the answer as it came, secrets and all
        return following, rest if following is not None else None

    async def _arrived(self, incoming: Incoming) -> AsyncGenerator[Block]:
        """The records that can be read before the answer has ended."""
        self._early = 0
        if incoming.arriving is None:
            return
        async with contextlib.aclosing(incoming.arriving.whole_pieces(incoming.answer)) as pieces:
            async for piece in pieces:
                for block in self._blocks(piece):
                    self._early += block.records
                    yield block

    def _blocks(self, piece: Piece) -> Iterator[Block]:
        """The records of an answer or of a part of it."""
        url = piece.response.url
        origin = Origin(self.source, self.table, url, self._records, self.shown, self.redact)
        parts = self.body.blocks(
            piece.response, meter=self.meter, origin=origin, fill=self.fill, line=piece.line
        )
        for block in parts:
            self._records += block.records
            yield block

    def _read(
        self, response: Response, paginator: Paginator, arriving: Arriving | None = None
    ) -> tuple[list[Page], Answer]:
        """The rows of one answer that were not handed on before, and what the paginator may know about it."""
        self._pages += 1
        if self.is_scan:
            self.meter.pages += 1
        if response.status in self.empty:
            return [], Answer(b"", response.headers, response.url, 0)
        if self.is_scan and self._lacks_a_body(response):
            raise self._error(f"the answer is empty, which is not {self.endpoint.format}", response.url)
        begun = arriving is not None and arriving.pieces
        blocks = list(self._blocks(arriving.rest(response) if arriving and begun else Piece(response, 0)))
        records = sum(block.records for block in blocks) + (self._early if begun else 0)
        if isinstance(paginator, paginators.SinglePage):  # looks at nothing; the way of most lookups
            if (sign := self._sign_of_more(response, records)) is not None:
                self.meter.doubt(
                    f"{self.source}.{self.table}: the answer has a next page ({sign}), which was not read: "
                    "the endpoint has no paginator"
                )
            return [Page(block.rows) for block in blocks], _NOTHING
        self._notice_drift(response, blocks)
        answer = Answer(self.body.text(response), response.headers, response.url, records)
        try:
            total = paginator.total(answer)
        except PaginationError as error:
            raise self._error(
                str(error), response.url
            ) from None  # the cause would show the answer as it came, secrets and all
        if total is not None and self.is_scan:
            self.meter.total_rows = total
        return [Page(block.rows, total_rows=total) for block in blocks], answer

    def _sign_of_more(self, response: Response, records: int) -> str | None:
        """What says that one answer is not all, where no paginator looks for it."""
        if links.link_next(response.headers.get("link", "")) is not None:
            return "Link header"
        if self.endpoint.format != "json" or not mentions_more(response.body):
            return None
        return told_more(response.body, parse_path(self.endpoint.data_selector)).sign(records)

    def _notice_drift(self, response: Response, blocks: Sequence[Block]) -> None:
        """Members that pages had and a later one does not may have got another name: what is NULL then may be a loss."""
        if not self.is_scan or self.endpoint.format not in _NAMED or not blocks:
            return
        given = {
            name
            for block in blocks
            for name, column in zip(block.rows.schema.names, block.rows.columns, strict=True)
            if column.null_count < len(column)
        }
        gone = self._given - given
        if gone and sum(block.records for block in blocks) >= _DRIFT_CERTAIN:
            for name in sorted(gone & self.body.unnamed(response)):
                self.meter.doubt(
                    f"{self.source}.{self.table}: no record of a page has {name!r}, which pages before it had; "
                    "it is taken as NULL there"
                )
        self._given |= given

    def _lacks_a_body(self, response: Response) -> bool:
        """Nothing where even no rows are some bytes. Taken for the end, it would silently lose whatever follows."""
        if response.status == _NO_CONTENT or self.endpoint.format not in _NEVER_EMPTY:
            return False
        return not response.body.strip()

    def _compare_with_total(self, paginator: Paginator) -> None:
        """Totals are often estimates, so a gap is worth a warning, not an error."""
        total = self.meter.total_rows
        counted = isinstance(paginator, paginators.Offset | paginators.PageNumber | Auto)
        if self.is_scan and counted and total is not None and self._records < total and not self._truncated:
            self.meter.doubt(
                f"{self.source}.{self.table}: the source speaks of {total} rows and gave {self._records}"
            )

    def _error(self, message: str, url: str) -> SourceError:
        return SourceError(self.redact(message), source=self.source, table=self.table, url=self.shown(url))


_NOTHING = Answer(b"", {}, "", 0)
_NO_CONTENT = 204
_NAMED = frozenset({"json", "ndjson"})  # formats in which every record names its members
_DRIFT_CERTAIN = 10  # records of a page that all lack a member; fewer may well have no value for it
_NEVER_EMPTY = frozenset(
    {"json", "xml", "html_table", "parquet"}
)  # formats in which even no rows are some bytes


class Redacted(Protocol):
    """Turns a URL into one that may be shown."""

    def __call__(self, url: str) -> str:
        """Without secrets."""


async def cancel(
    tasks: Sequence[asyncio.Future[Response]] | Mapping[asyncio.Task[Response], Ask],
) -> None:
    """End requests that are under way."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
