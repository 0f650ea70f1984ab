"""One access method carried out: from keys to requests, from answers to pages of rows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from functools import partial

from fff.access.key_index import Moved
from fff.budget import BudgetExhausted
from fff.catalog import Page
from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.structs import Struct, cached_property, replace
from fff.web.types import Response
from fff_sources.http.paging import consistency, counted, paginators
from fff_sources.http.paging.auto import AutoPaginator
from fff_sources.http.paging.ends import ReadingEnd, around_records, has_more, leads_on
from fff_sources.http.paging.factory import Questions, make_paginator, max_pages, stop_at
from fff_sources.http.paging.links import lead_on
from fff_sources.http.paging.paginators import Ask, CutShortError, PageAnswer, PaginationError, Paginator
from fff_sources.http.paging.surroundings import Counts
from fff_sources.http.response import verdicts
from fff_sources.http.response.bodies import BodyDecoder, DecodedBlock, Opened
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.response.records import Origin
from fff_sources.http.response.redirected import Filling, owned
from fff_sources.http.response.streaming import LINES, Arriving, Fetch, Incoming, Piece, cancel, unless_absent
from fff_sources.http.response.text.in_utf8 import is_blank, lacks_a_body
from fff_sources.http.response.values import shown
from fff_sources.http.response.verdicts import ENVELOPED, SpokenVerdict, verdict_around
from fff_sources.http.spec import spec


class Reading(Struct, dict=True):
    """All pages of one endpoint for one set of keys.

    `key` are the columns that tell rows apart, where they are read; `projected`: requests name the columns
    they want. `empty` are statuses for "no rows"; `shown` and `redact` take secrets out of URLs and texts.
    """

    source: str
    table: str
    endpoint: spec.Endpoint
    body: BodyDecoder
    fetch: Fetch
    meter: AccessMeter
    judge: verdicts.Judge | None  # who reads what bodies say of their own answers, where anybody knows how
    empty: frozenset[int]
    shown: Callable[[str], str]
    redact: Callable[[str], str]
    filling: Filling  # what rows take that do not have it
    fill: Mapping[str, object] | None = None
    variant: Mapping[str, object] | None = None  # of it, what the table is asked for apart
    choosing: frozenset[str] = frozenset()  # parameters that say which rows are meant
    exhaustive: bool = True  # whether what comes is all there is
    is_scan: bool = True
    declared: bool = False  # whether a spec says where the columns are
    order: str | None = None  # what pages that follow one another come ordered by
    key: tuple[str, ...] = ()
    projected: bool = False
    bare: bool = False  # a status or a word stands in place of records: for all keys, or for one of them
    _records: int = 0
    _came: Counts = Counts()
    _pages: int = 0
    _truncated: bool = False
    _cut: str | None = None  # that the answer at hand is not all, unless a page follows
    _early: int = 0  # records of the answer at hand that were handed on while it came
    _told: paginators.Told | None = None  # what the answer at hand tells of the whole

    # Made when they are needed: most lookups have one page.
    _repeats = cached_property(lambda self: consistency.Repeats(projected=self.projected))
    _moved = cached_property(lambda self: Moved(self.key))
    _gaps = cached_property(lambda _: consistency.Gaps())
    _drift = cached_property(lambda _: consistency.Drift())
    _codes = cached_property(lambda _: verdicts.OwnCodes())
    _where = cached_property(lambda self: parse_path(self.endpoint.data_selector, self.endpoint.format))
    _about = cached_property(lambda self: f"{self.source}.{self.table}")
    _totals = cached_property(lambda _: consistency.Totals())
    _tells = cached_property(lambda self: self.is_scan and bool(self.key or not self.projected))
    _ending = cached_property(lambda self: ReadingEnd(self.endpoint, self._totals, tells=self._tells))

    def again(self, fetch: Fetch, fill: Mapping[str, object] | None) -> Reading:
        """The same for another key; of a reading that has not begun, as most of it is the same for all keys."""
        return replace(self, fetch=fetch, fill=fill)

    def send(self, ask: Ask) -> Incoming:
        """Ask; large bodies of lines can be read while they come."""
        endpoint, arriving = self.endpoint, None
        whole = ask.confirms or ask.may_lack or ask.instead or endpoint.decode is not None
        if self.is_scan and endpoint.format in LINES and not whole:
            arriving = Arriving(
                endpoint.delimiter if endpoint.format == "csv" else None,
                comment=endpoint.comment,
                skip_rows=endpoint.skip_rows,
                encoding=endpoint.encoding,
            )
        return Incoming(asyncio.ensure_future(self.fetch(ask, arriving)), arriving)

    async def answer(self) -> tuple[list[Page], AsyncGenerator[Page] | None]:
        """The pages of a lookup's first answer, and all that follow; None for these where there are none, as mostly."""
        paginator = make_paginator(self.endpoint)
        ask = paginator.start()
        response = await self.fetch(ask)
        opened = await self.body.open_together(response, self.filling(self.fill, response)[0])
        pages, following, _ = self._taken(response, paginator, ask, opened=opened)
        if following is not None:
            return pages, self.pages(1, went=(paginator, following))
        return [*pages, *self._last()], None

    async def pages(
        self, window: int, first: Response | Incoming | None = None, went: tuple[Paginator, Ask] | None = None
    ) -> AsyncGenerator[Page]:
        """Every page; those that do not depend on one another up to `window` at once.

        The first page is handed over before anything else is sent, so that whoever needs no more pays for no
        more. `first` is its answer where that is there already, or under way; `went`: what to ask next.
        """
        paginator = make_paginator(self.endpoint) if went is None else went[0]
        ask: Ask | None = paginator.start() if went is None else went[1]
        ahead: Incoming | None = None
        try:
            while ask is not None:
                response: Response | str | None
                arriving = None
                if isinstance(first, Response):
                    response, first = first, None
                elif not self.is_scan:  # nothing is read while it comes, and nothing else is sent meanwhile
                    response = await unless_absent(self.fetch(ask), ask)
                else:
                    ahead, first = first or ahead or self.send(ask), None
                    arriving = ahead.arriving
                    async with contextlib.aclosing(self._arrived(ahead)) as blocks:
                        async for block in blocks:
                            yield Page(block.rows, order=self.order)
                    response = await unless_absent(ahead.answer, ask)
                ahead = None
                if not isinstance(response, Response):
                    for page in self._lacking(response or self._ending.owed):
                        yield page
                    break
                await asyncio.sleep(0)  # whoever got the freed place sends first; this can be read meanwhile
                pages, following, rest = self._taken(response, paginator, ask, arriving, window)
                if rest is None and following is not None and window > 1 and self._pages > 1:
                    ahead = self.send(following)
                for page in self._repeats.sure(pages):
                    yield page
                if rest is not None:
                    async with contextlib.aclosing(
                        self._concurrent(paginator, rest, window, max_pages(self.endpoint))
                    ) as others:
                        async for page in others:
                            yield page
                    break
                ask = following
            for page in self._last():
                yield page
        finally:
            if ahead is not None:
                await cancel([ahead.answer])

    async def part(self, part: counted.ScanPart, window: int) -> AsyncGenerator[Page]:
        """The pages of one part."""
        if part.share is None:
            async with contextlib.aclosing(self.pages(window, part.first)) as pages:
                async for page in pages:
                    yield page
            return
        paginator = make_paginator(self.endpoint)
        assert isinstance(paginator, _COUNTING), "others are not divided"
        paginator.take_part(part.share)
        self._repeats.note(part.share.first)
        asks = part.asks
        if part.first is not None:
            begun, answer = self._read(part.first, paginator)
            for page in begun:
                yield page
            asks = counted.behind_first(self.endpoint, asks, answer)
        async with contextlib.aclosing(self._concurrent(paginator, asks, window, None)) as others:
            async for page in others:
                yield page
        for page in self._last(part.share):
            yield page

    async def divide(self, parts: int) -> list[counted.ScanPart]:
        """The scan in parts of about the same length, after its first page; one part where there is no total."""
        paginator = make_paginator(self.endpoint)
        ask = replace(paginator.start(), leaps=False)  # `part` sees what has places
        response = await self.fetch(ask)
        pages, answer = self._read(response, paginator)
        following, rest = self._plan(paginator, ask, answer, pages, independent=True)
        # It goes to other processes: without headers and parameters that may be secrets.
        kept = {name: text for name, text in response.headers.items() if name == "content-type"}
        first = replace(response, headers=kept, url=self.shown(response.url), led=None)
        if following is None or not rest or len({*answer.counts}) > 1:
            return [counted.ScanPart(first)]
        total = paginator.total(answer)
        page = counted.FirstPage(first, answer.records, self._records_of(answer).stable())
        return counted.divided(page, rest, parts, None if total is None else total.rows)

    async def _concurrent(
        self, paginator: Paginator, rest: Sequence[Ask], window: int, limit: int | None
    ) -> AsyncGenerator[Page]:
        """The pages after the first, as they arrive."""
        waiting = Questions(self.endpoint, rest, limit, self._pages)
        running: dict[asyncio.Task[Response], Ask] = {}
        spent: BudgetExhausted | None = None
        try:
            while waiting or running:
                while waiting and len(running) < window:
                    ask = waiting.take()
                    running[asyncio.ensure_future(self.fetch(ask))] = ask  # read as they arrive, in any order
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    ask = running.pop(task)
                    try:
                        response = task.result()
                    except BudgetExhausted as error:
                        spent = error  # what is under way was paid for
                        waiting.drop()
                        continue
                    pages, answer = self._read(response, paginator)
                    self._ending.note(ask, answer, self._cut)
                    following, _rest = self._plan(paginator, ask, answer, pages, independent=False)
                    if following is not None and spent is None:
                        waiting.add(following, self._pages + len(running))
                    for page in self._repeats.sure(pages):
                        yield page
            if spent is not None:
                raise spent
            for page in self._lacking(waiting.stopped):
                yield page
        finally:
            await cancel(running)

    def _taken(
        self,
        response: Response,
        paginator: Paginator,
        ask: Ask,
        arriving: Arriving | None = None,
        window: int = 1,
        *,
        opened: Opened | None = None,
    ) -> tuple[list[Page], Ask | None, Sequence[Ask] | None]:
        """The pages of an answer that were not handed on before, and what is to be asked next: one after another, or all."""
        pages, answer = self._read(response, paginator, arriving, opened, confirms=ask.confirms)
        again, instead = counted.comes_again(ask, answer, self._records_of)
        known = consistency.marks(pages, self.key) if ask.confirms and not again else []
        here, doubts = self._records_of(answer), ask.doubts
        if again or (ask.confirms and self._repeats.came_before(here, known, doubts=doubts)):
            self._records -= answer.records  # sources that have no such page may give the last one again
            self._came = self._came.plus(Counts(*(-count for count in answer.counts)))
            self._moved.forget(pages)
            self._pages -= again  # it counts for nothing, as it is asked for to see what has places
            return [] if instead is not None else self._lacking(self._ending.owed), instead, None
        if self.variant and self.fill and self._pages == 1 and answer.records and answer.body:
            self.meter.variant_came(self.variant, self._records_of(answer).mark(), self._about, self.fill)
        following, rest, truncated, owed = None, None, None, None
        first = self._pages == 1 and not self.is_scan  # of a lookup: mostly it says nothing of others
        if not (first and isinstance(paginator, AutoPaginator) and paginator.is_silent(answer)):
            owed = None if answer.body else self._ending.owed
            alone = window > 1 and (self._pages == 1 or ask.before is not None)
            try:
                following, rest = self._plan(paginator, ask, answer, pages, independent=alone)
                so_far, ended = (self._came, self._pages), following is None
                following = self._ending.following(paginator, ask, answer, following, so_far, cut=self._cut)
                if ended and following is not None and self._pages == 1:
                    self._check(paginator, ask, answer, pages)  # what comes may be this one again
                truncated = self._ending.lacks(answer, so_far) if following is None else None
            except CutShortError as error:
                truncated = str(error)
            limit = max_pages(self.endpoint)
            if following is not None and (stop := stop_at(self.endpoint, limit, following, self._pages)):
                ends = following.confirms and self._ending.owed is None
                truncated, following, rest = None if ends else stop, None, None
        truncated = truncated or ((owed or self._cut) if following is None else None)
        if self.order is not None:
            pages = [replace(page, order=self.order) for page in pages]
        return [*pages, *self._lacking(truncated)], following, rest

    def _lacking(self, reason: str | None) -> list[Page]:
        self._truncated |= reason is not None
        return [] if reason is None else [Page(self.body.empty(), reason)]

    def _last(self, share: counted.PageRange | None = None) -> list[Page]:
        """After all pages: those held back, and what is wrong with all together."""
        wrong = self._complaint(share)
        doubled = wrong not in (None, consistency.NOT_EXHAUSTIVE)
        moved = doubled and self._totals.moved(self._came, self._pages)
        several = self.is_scan or self._pages > 1
        if wrong is None and several and not self._truncated and (share is None or share.is_last):
            wrong = self._ending.last_lacks((self._came, self._pages) if share is None else None)
        last = [] if wrong is None else [Page(self.body.empty(), wrong, doubled=doubled, moved=moved)]
        return [*self._repeats.held, *last] if several else last

    def _plan(
        self, paginator: Paginator, ask: Ask, answer: PageAnswer, pages: Sequence[Page], *, independent: bool
    ) -> tuple[Ask | None, Sequence[Ask] | None]:
        try:
            told = not (self.key or self.projected)  # else what comes twice is known, or may well be alike
            if told and (doubt := counted.check_place(ask, answer, self._records_of, paginator.param)):
                self.meter.doubt(f"{self._about}: {doubt}")
            rest = paginator.rest(ask, answer) if independent else None
            following = paginator.after(ask, answer)
            if following is not None and not has_more(self.endpoint, answer):
                following = None
            lead_on(following, answer, self.choosing)
            ended = answer.is_empty or (ask.expected is None and not self._totals.is_reached(self._came))
            if following is None and ended and leads_on(self.endpoint, answer):
                raise PaginationError("no page follows, and the answer says that there is more")
            if following is not None or self._pages > 1 or (self.is_scan and self._repeats.is_part):
                self._check(paginator, ask, answer, pages)
        except PaginationError as error:
            raise self._error(str(error), answer.url) from None  # the cause would show the answer
        return following, (rest or None) if following is not None else None

    def _check(self, paginator: Paginator, ask: Ask, answer: PageAnswer, pages: Sequence[Page]) -> None:
        """That a page of several is neither one that came before nor empty amid others.

        Raises PaginationError.
        """
        counts, param = isinstance(paginator, _COUNTING), paginator.param
        place = ask.position if counts else self._pages
        if getattr(self.endpoint.paginator, "empty_pages", "error") == "error":
            self._gaps.check(place, max(answer.counts), param if counts else None)
        ignored = f"the source seems to ignore {param!r}" if param else "the source goes round"
        self._repeats.check(
            self._records_of(answer),
            place,
            max(answer.counts),
            lambda: consistency.marks(pages, self.key),
            ignored + paginator.remedy,
            bounded=counts and self._told is not None and self._told.exact,
        )

    def _records_of(self, answer: PageAnswer) -> consistency.Records:
        return consistency.Records(answer, self._where, self.endpoint.format, self.body.members)

    async def _arrived(self, incoming: Incoming) -> AsyncGenerator[DecodedBlock]:
        """The records that can be read before the answer has ended."""
        self._early = 0
        if incoming.arriving is None:
            return
        async with contextlib.aclosing(incoming.arriving.whole_pieces(incoming.answer)) as pieces:
            async for piece in pieces:
                for block in self._blocks(piece):
                    self._early += block.records
                    self._records += block.records
                    yield block

    def _decoded(
        self, response: Response, opened: Opened | None, arriving: Arriving | None
    ) -> list[DecodedBlock]:
        """The records of an answer that were not handed on before."""
        if opened is not None:
            origin, (fill, lost) = self._origin(response.url), self.filling(self.fill, response)
            block = self.body.few(response, opened, self.meter, origin, fill, missed=self.declared)
            if block is not None:
                error = partial(self._error, url=response.url)
                return [block] if lost is None else list(owned([block], lost, error))
        return list(self._blocks(Piece(response, 0) if arriving is None else arriving.rest(response), opened))

    def _blocks(self, piece: Piece, opened: Opened | None = None) -> Iterable[DecodedBlock]:
        """The records of an answer or of a part of it."""
        fill, lost = self.filling(self.fill, piece.response)
        blocks = self.body.blocks(
            piece.response,
            meter=self.meter,
            origin=self._origin(piece.response.url),
            fill=fill,
            line=piece.line,
            lines=piece.lines,
            sound=piece.sound,
            missed=self.declared,
            opened=opened,
        )
        return owned(blocks, lost, partial(self._error, url=piece.response.url))

    def _read(
        self,
        response: Response,
        paginator: Paginator,
        arriving: Arriving | None = None,
        opened: Opened | None = None,
        *,
        confirms: bool = False,
    ) -> tuple[list[Page], PageAnswer]:
        """The rows of one answer that were not handed on before, and what the paginator may know about it."""
        self._pages, self._told = self._pages + 1, None
        if self.is_scan:
            self.meter.pages += 1
        else:
            self.meter.replied(None if response.status in self.empty else response.body)
        verdict, spoken = response.verdict, SpokenVerdict()
        empty = response.status in self.empty
        if empty and self._pages > 1 and not (confirms or isinstance(paginator, _COUNTING)):
            raise self._error(f"HTTP {response.status} where the page before leads to", response.url)
        empty = empty or (verdict is not None and verdict.action == "empty")
        lacks = not empty and lacks_a_body(response, self.endpoint.format, is_scan=self.is_scan)
        self.bare = (empty or lacks) and self._pages == 1
        if empty:
            return [], PageAnswer(b"", response.headers, response.url, 0)
        if lacks and self.endpoint.absent != "empty":
            kind = f"empty, which is not {self.endpoint.format}" if is_blank(response.body) else "null"
            what, hint = "answer", "for no rows say: absent: empty"
            if "://" not in response.url:
                what, hint = "file", "leave it out of the table, if it should be so"
            raise self._error(f"the {what} is {kind}", response.url, hint)
        if self.endpoint.format in ENVELOPED:
            if opened is None:
                with self.body.explained(response, self._origin(response.url)):
                    opened = self.body.open(response)
            if verdict is None and opened.envelope.levels:
                spoken = verdict_around(opened.envelope.levels)
        if spoken.nothing:
            self.bare = self._pages == 1
            return [], PageAnswer(b"", response.headers, response.url, 0)
        try:
            blocks = self._decoded(response, opened, arriving)
        except SourceError as error:
            if spoken.fault is None:
                raise
            raise self._fault(f"{error.reason}; {self._says(spoken.fault)}", response.url) from None
        records = sum(block.records for block in blocks)
        self._records += records
        records += self._early if arriving is not None and arriving.pieces else 0
        unlike = self._codes.other(spoken, records) if spoken.own else None
        if not records and (fault := spoken.fault or spoken.refusal or unlike) is not None:
            raise self._fault(self._says(fault), response.url)
        accepted = verdict is not None and verdict.action == "accept"
        part = spoken.fault or spoken.part or (None if accepted else verdicts.part_by(response.headers))
        parts = [] if part is None else [Page(self.body.empty(), self._says(part))]
        cut = spoken.cut or (None if accepted else verdicts.cut_by(response.headers))
        self._cut = None if cut is None else self._says(cut)
        alone = isinstance(paginator, paginators.SinglePagePaginator)  # looks at nothing; most lookups
        text = opened.text if opened is not None else b"" if alone else self.body.text(response)
        above, around = around_records(self.endpoint), None if opened is None else opened.envelope
        answer = PageAnswer(text, response.headers, response.url, records, above, around)
        if alone:
            self._came = answer.counts
            return [*(Page(block.rows) for block in blocks), *parts], answer
        if self.is_scan and self.endpoint.format in _NAMED and blocks:
            self._drift.note(blocks, partial(self.body.unnamed, response), self.meter, self._about)
        if skipped := self.endpoint.skip_rows:
            self._drift.note_skipped(text, skipped, self.endpoint.delimiter, self.meter, self._about)
        self._came = self._came.plus(answer.counts)
        try:
            self._told = paginator.total(answer)
        except PaginationError as error:
            raise self._error(str(error), response.url) from None
        total = self._totals.note(self._told, answer.counts)
        rows, sure = total.rows, total.certain and self.endpoint.record_is_row
        if rows is not None and self.is_scan:
            if self.fill is None:  # else it is the total of one variant of several
                self.meter.total_rows = rows
            self.meter.repeated = self._moved.repeated
            consistency.suspect(total, self._about, self.meter)
            for block in blocks:
                self._moved.note(block.rows)
        other = self.exhaustive and self._totals.changed(self._came, self._pages)
        self.meter.noticed(doubled=other, moved=other)  # now: who knows whether there is a last page
        made = (
            Page(one.rows, None, rows, pages=total.pages, counted=sure, doubled=other, moved=other)
            for one in blocks
        )
        return [*made, *parts], answer

    def _says(self, words: str) -> str:
        """What the source wrote, without secrets: they go before anything is cut, so that none is cut in two."""
        return f"the answer says {shown(self.redact(words), most=200)}"

    def _fault(self, message: str, url: str) -> SourceError:
        hint = "where it means something else, say so in on_response (action: empty, retry, accept, …)"
        return self._error(message, url, hint)

    def _origin(self, url: str) -> Origin:
        return Origin(self.source, self.table, url, self._records, self.shown, self.redact)

    def _complaint(self, share: counted.PageRange | None = None) -> str | None:
        """What is wrong with what came, or with what came of a part, where nothing was cut."""
        if self._truncated or not self.exhaustive:
            return None if self.exhaustive else consistency.NOT_EXHAUSTIVE
        if share is not None:
            return share.complaint(self._came.of(share.records))
        rows = self._totals.rows
        if rows is None and self._pages > 1 and self._repeats.out_of_order:
            self.meter.doubt(f"{self._about}: {consistency.OUT_OF_ORDER}")
        moved = self._moved.complaint(rows, self._came.of(rows), self._pages) if self.is_scan else None
        return self._totals.complaint(self._came, self._pages) or moved

    def _error(self, message: str, url: str, hint: str | None = None) -> SourceError:
        return SourceError(
            self.redact(message), source=self.source, table=self.table, url=self.shown(url), hint=hint
        )


_COUNTING = (counted.OffsetPaginator, counted.PageNumberPaginator)
_NAMED = frozenset({"json", "ndjson"})  # formats in which every record names its members
