"""A source whose answers are kept on disk: what is there is not asked for, what is asked for is kept."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import aclosing, suppress
from functools import cache, partial
from itertools import repeat
from typing import cast

import pyarrow as pa

from fff.access.disk.changes import Watermark, brought_up_to_date
from fff.access.disk.codec import Brought, answers_of, key_bytes, key_part, quals_bytes, unpacked
from fff.access.disk.discretion import Discretion
from fff.access.disk.index import KeptAnswer, KeptKeys, ScanEntry
from fff.access.disk.journal import Journal
from fff.access.disk.store import Place, RowStore
from fff.access.disk.together import Together
from fff.access.key_index import Covering, rows_having
from fff.access.remainder import Patches, patches, put_together
from fff.catalog import Key, Keys, LookupMethod, Page, Prompt, ScanMethod, SourceAdapter, Table
from fff.errors import FFFError
from fff.limits import SESSION_BYTES
from fff.quals import Quals, implied
from fff.stats import AccessMeter
from fff.structs import replace
from fff.web.clock import FoundTogether, OnceATurn

#: Scans of a table on disk that are looked at for what is wanted, newest first.
_MOST_PARTS = 32


class CachedSource:
    """One table of a source, with what is on disk of it. Implements `SourceAdapter`.

    `cached` of the meters counts pages of scans and keys of lookups that came from disk.

    Args:
        store: where rows are kept.
        table: the table.
        adapter: its source.
        shape: the table's name in the store, by the qualifiers under which it is read, and whether it was put together
            of changes.
        ttl: seconds for which answers count as fresh.
        changes: ask only for what has changed since, where the table can tell.
        wide: keep all columns, whichever are asked for.
        discretion: tells what may not be kept.
        journal: where the source's answers are as well, by request.
        aged: is told how many seconds old is what comes from disk.
    """

    def __init__(
        self,
        store: RowStore,
        table: Table,
        adapter: SourceAdapter,
        shape: Callable[[Quals, bool], bytes],
        ttl: float,
        *,
        changes: bool = False,
        wide: bool,
        discretion: Discretion,
        journal: Journal | None = None,
        aged: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._aged = aged
        self.name = table.source
        self.tables = (table,)
        self._store = store
        self._table = table
        self._place = table.source, table.name
        self._adapter = adapter
        self._prompt = adapter if isinstance(adapter, Prompt) else None
        self._shape = shape
        self._ttl = ttl
        self._changes = changes and bool(table.primary_key)
        self._wide = wide
        self._discretion = discretion
        self._journal = journal
        self._together: dict[tuple[tuple[str, ...], tuple[str, ...]], Together] = {}
        self._going_on = asyncio.Lock()
        self._covering = Covering(self._whole_scan)
        self._named: dict[tuple[str, ...], tuple[bytes, ...]] = {}  # shapes by key columns
        self._schemas: dict[tuple[str, ...], pa.Schema] = {}
        self._waiting: defaultdict[tuple[tuple[str, ...], tuple[str, ...]], list[Brought]] = defaultdict(list)
        self._to_ask = cache(self._columns)
        self._find = cache(lambda names, needed: FoundTogether(partial(self._answered, names, needed)))
        self._keysets_now = cache(lambda names: OnceATurn(partial(self._keysets, names)))

    def _shapes(self, keys: tuple[str, ...] = ()) -> tuple[bytes, ...]:
        """Names in the store: first the one to keep answers under, then those whose rows hold all that is wanted as well.

        What is said of a key column is said by the key: other bounds on it make no other answer.
        """
        if keys not in self._named:
            quals = (self._table.quals_beside(keys), self._table.quals, ())
            self._named[keys] = tuple(dict.fromkeys(self._shape(some, False) for some in quals))
        return self._named[keys]

    def _columns(self, needed: Sequence[str]) -> tuple[str, ...]:
        """What to ask for where these are needed, in the order of the declaration."""
        names = (field.name for field in self._table.columns)
        changes = self._table.changes
        also = () if changes is None else (changes.column, *self._table.primary_key)  # what changes go by
        return tuple(name for name in names if self._wide or name in needed or name in also)

    def _schema(self, columns: tuple[str, ...]) -> pa.Schema:
        if columns not in self._schemas:
            fields = [(one.name, one.arrow) for one in map(self._table.column, columns) if one]
            self._schemas[columns] = pa.schema(fields)
        return self._schemas[columns]

    # -------------------------------------------------------------------------------------------------- scans

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row: from disk where a fresh scan is, or as far as parts of it are, else from the source."""
        kept = await self._kept_scan(columns)
        if kept is not None:
            entry, rows = kept
            meter.lacks(entry.absent)
            total = sum(map(len, rows))
            for batch in rows or [unpacked(None, self._schema(self._columns(columns)))]:
                meter.cached += 1
                yield Page(batch.select(list(columns)), total_rows=total)
            return
        kept_parts = await self._patches(columns, meter)
        if kept_parts is None:
            pages = self._fetched(
                table, self._table.quals, method, columns, self._columns(columns), meter=meter, window=window
            )
        else:
            asked = self._columns([*columns, *self._named_so(kept_parts.columns)])

            def ask(quals: Quals) -> AsyncGenerator[Page]:
                rest = replace(table, quals=quals)
                return self._fetched(rest, quals, method, asked, asked, meter=meter, window=window)

            pages = put_together(table, kept_parts, ask, columns, meter)
        async with aclosing(pages) as stream:
            async for page in stream:
                yield page

    async def _fetched(
        self,
        table: Table,
        quals: Quals,
        method: ScanMethod,
        columns: Sequence[str],
        asked: tuple[str, ...],
        *,
        meter: AccessMeter,
        window: int,
    ) -> AsyncGenerator[Page]:
        """Every row that qualifiers want, from the source; kept for later runs where it is whole."""
        fetched, doubtful = self._store.now(), _doubtful(meter)
        tells = self._discretion.in_text(quals_bytes(quals))
        file = None if tells else self._store.scan_file(self._schema(asked))
        truncated, shape = False, self._shape(quals, False)
        under = (self._shape((), False), quals)
        mark = None if table.changes is None else Watermark(table.changes.column)
        try:
            before, merged = await self._before(asked), None
            if before is not None:
                name, rows, since = before
                merged = await brought_up_to_date(
                    rows, self._adapter, table, method, asked, mark=since, meter=meter, window=window
                )
                if merged is not None:  # else what is read now is kept as what it is
                    shape, under, mark = name, (b"", ()), since  # under a name of its own alone
            pages = (
                self._adapter.scan(table, method, asked, meter=meter, window=window)
                if merged is None
                else _in_order(merged)
            )
            async with aclosing(cast("AsyncGenerator[Page]", pages)) as stream:
                async for page in stream:
                    truncated = truncated or page.truncated is not None
                    if mark is not None and merged is None:  # else changes are marked as they come
                        mark.see(page)
                    if file is not None and self._discretion.in_rows(page.rows):
                        file.drop()
                        file = None
                    if file is not None:
                        file.add(page.rows)
                    yield page.select(columns)
            # Where few rows are wanted the source may have ended after them.
            whole = not truncated and self._table.rows_wanted is None
            text = b"" if mark is None else mark.text
            whole = whole and _doubtful(meter) == doubtful and not self._discretion.in_text(text)
            if file is not None and whole:
                absent = tuple(name for name in asked if name in meter.missed)
                self._store.keep_scan(
                    shape, self._place, asked, file, fetched, under=under, mark=text, absent=absent
                )
        finally:
            if file is not None:
                file.drop()

    async def _before(self, columns: tuple[str, ...]) -> tuple[bytes, list[pa.RecordBatch], Watermark] | None:
        """The newest rows on disk of which only what has changed must be asked for, and the name to keep that under."""
        if not self._changes or self._table.changes is None:
            return None
        candidates = []
        for quals in dict.fromkeys((self._table.quals, ())):
            to = self._shape(quals, True)
            for shape in (to, self._shape(quals, False)):
                entry = self._store.newest(shape, columns)
                if entry is not None:
                    candidates.append((entry.fetched, shape, to, entry))
        if not candidates:
            return None
        _, shape, to, entry = max(candidates, key=lambda one: one[0])
        if not entry.mark:  # nothing says since when
            return None
        rows = await asyncio.to_thread(self._store.rows, shape, entry, self._schema(entry.columns))
        if rows is None:
            self._store.forget(entry)
            return None
        self._store.used(entry)
        mark = Watermark(self._table.changes.column, entry.mark)
        return to, [batch.select(list(columns)) for batch in rows], mark

    async def _kept_scan(
        self, columns: Sequence[str], *, for_keys: bool = False
    ) -> tuple[ScanEntry, list[pa.RecordBatch]] | None:
        """The rows of a fresh scan on disk with these columns at least, which has all that is wanted.

        `for_keys`: one that fits into memory, and can answer for lookups.
        """
        known = [entry for entry, quals in self._parts(columns) if implied(self._table.quals, quals)]
        if for_keys:
            known = [one for one in known if one.bytes <= SESSION_BYTES and not {*one.absent} & {*columns}]
        for entry in sorted(known, key=lambda one: one.bytes):
            rows = await self._rows_of(entry)
            if rows is not None:
                return entry, rows
        return None

    def _parts(self, columns: Sequence[str]) -> list[tuple[ScanEntry, Quals]]:
        """The fresh scans on disk with these columns at least, under any qualifiers."""
        parts = self._store.parts(self._shape((), False), columns, self._ttl)
        return [(entry, quals) for entry, quals in parts if entry.shape == self._shape(quals, False)]

    async def _rows_of(self, entry: ScanEntry) -> list[pa.RecordBatch] | None:
        """The rows of a scan on disk; None where they turn out to be damaged."""
        rows = await asyncio.to_thread(self._store.rows, entry.shape, entry, self._schema(entry.columns))
        if rows is None:
            self._store.forget(entry)
        else:
            self._store.used(entry)
            self._aged(self._store.now() - entry.fetched)
        return rows

    def _named_so(self, names: Iterable[str]) -> list[str]:
        """Columns by names in any case, as they are declared."""
        return [field.name for field in map(self._table.column, names) if field is not None]

    async def _patches(self, columns: Sequence[str], meter: AccessMeter) -> Patches[list[Page]] | None:
        """What is on disk of what is wanted, where only the rest must be asked for."""
        if self._changes or self._table.rows_wanted is not None or not self._table.quals:
            return None
        names = [qual.column for qual in self._table.quals]
        on_disk = patches(self._table, self._parts([*columns, *self._named_so(names)])[:_MOST_PARTS])
        here = []
        for entry, extent in () if on_disk is None else on_disk.here:
            rows = await self._rows_of(entry)
            if rows is None:
                return None
            meter.lacks(entry.absent)
            here.append(([Page(batch) for batch in rows], extent))
        return None if on_disk is None else Patches(tuple(here), on_disk.rest)

    # ------------------------------------------------------------------------------------------------ lookups

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """Every row that has one of the keys; asked for are only those that nothing on disk covers."""
        needed = tuple(dict.fromkeys((*columns, *method.keys)))
        index = await self._covering.by(method.keys, needed)
        if index is not None:
            meter.cached += len(keys)
            for rows in index.rows_of(keys, columns):
                yield Page(rows)
            return
        asked = self._to_ask(needed)
        together = self._groups(method, asked)
        if together is not None and together.waiting:
            await self._as_before(together, table, method, needed, keys, meter=meter)
        known = self._answered(method.keys, needed, keys)
        if known:
            meter.cached += len(known)
            yield _page_of(known.values(), columns)
        left = [key for key in keys if key not in known]
        if not left:
            return
        if together is not None:
            together.note(left)
        began = self._store.now(), _doubtful(meter)
        pages = self._adapter.lookup(table, method, asked, left, meter=meter)
        async with aclosing(
            self._brought(method.keys, asked, left, (), pages, began=began, meter=meter)
        ) as stream:
            async for page in stream:
                # Else a row nobody asked for may be one that is known.
                rows = rows_having(page.rows, method.keys, left) if known else page.rows
                yield replace(page, rows=rows.select(list(columns)))

    async def answer(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> tuple[Sequence[Page], AsyncGenerator[Page] | None]:
        """As `Prompt` says: where all or nothing of it is on disk."""
        needed = tuple(dict.fromkeys((*columns, *method.keys)))
        asked = self._to_ask(needed)
        if (
            self._prompt is None
            or self._groups(method, asked) is not None
            or await self._covering.by(method.keys, needed) is not None
        ):
            return (), self.lookup(table, method, columns, keys, meter=meter)
        found = await self._find(method.keys, needed).find(keys) if self._keysets_now(method.keys)() else {}
        if known := {key: found[key] for key in keys if key in found}:
            if len(known) < len({*keys}):
                return (), self.lookup(table, method, columns, keys, meter=meter)
            meter.cached += len(known)
            return [_page_of(known.values(), columns)], None
        began = self._store.now(), _doubtful(meter)
        pages, rest = await self._prompt.answer(table, method, asked, keys, meter=meter)
        if rest is not None:
            some = self._brought(method.keys, asked, keys, pages, rest, began=began, meter=meter)
            return (), _selected(some, columns)
        self._keep(method.keys, asked, keys, pages, began=began, meter=meter)
        return pages if asked == tuple(columns) else list(map(Page.select, pages, repeat(columns))), None

    def _groups(self, method: LookupMethod, columns: tuple[str, ...]) -> Together | None:
        """In which groups keys are asked for; None where there are none, or no run goes on from this one."""
        names = method.keys
        if self._journal is None or method.batch_size == 1:
            return None
        if (names, columns) not in self._together:
            what = b"\0".join([self._shapes(names)[0], *(name.encode() for name in (*names, *columns))])
            self._together[names, columns] = together = Together(
                self._journal, what, self._discretion.in_text
            )
            together.settle(self._answered(names, columns, together.waiting))
        return self._together[names, columns]

    async def _as_before(
        self,
        together: Together,
        table: Table,
        method: LookupMethod,
        needed: tuple[str, ...],
        keys: Keys,
        *,
        meter: AccessMeter,
    ) -> None:
        """Ask for keys that are not here as a run did that was killed: the journal may have the answer to that request.

        What comes of it is kept by key and taken from there, or is as good as never asked for.
        """
        async with self._going_on:  # others may want keys of the same group
            known = self._answered(method.keys, needed, keys)
            left = [key for key in keys if key not in known]
            columns = self._columns(needed)
            for group in together.holding(left):
                if group == left:
                    together.settle(group)
                    continue
                together.note(group)
                own = AccessMeter(budget=meter.budget, price=meter.price, memory=meter.memory)
                pages = self._adapter.lookup(table, method, columns, group, meter=own)
                began = self._store.now(), 0
                with suppress(FFFError):
                    async with aclosing(
                        self._brought(method.keys, columns, group, (), pages, began=began, meter=own)
                    ) as stream:
                        async for _ in stream:
                            pass
                together.settle(group)
                meter.requests += own.requests
                meter.cached += own.cached
            self._store.flush()  # what is kept is seen from then on

    async def _brought(
        self,
        names: tuple[str, ...],
        columns: tuple[str, ...],
        keys: Keys,
        first: Sequence[Page],
        rest: AsyncIterator[Page],
        *,
        began: tuple[float, int],
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        """What the source answers, some of it here and more to come; kept once it is whole."""
        pages = [*first]
        for page in first:
            yield page
        async with aclosing(cast("AsyncGenerator[Page]", rest)) as stream:
            async for page in stream:
                pages.append(page)
                yield page
        self._keep(names, columns, keys, pages, began=began, meter=meter)

    async def _whole_scan(self, needed: Sequence[str]) -> pa.Table | None:
        """The rows of a scan on disk for lookups that need these columns: but for those that a list may just not tell."""
        kept = await self._kept_scan(needed, for_keys=True)
        if kept is None:
            return None
        entry, rows = kept
        whole = pa.Table.from_batches(rows, self._schema(entry.columns))
        return whole.drop_columns(list(entry.absent))

    def _keysets(self, names: tuple[str, ...]) -> list[tuple[bytes, KeptKeys]]:
        """What was looked up by some of these columns, or may have been."""
        return [(shape, keyset) for shape in self._shapes(names) for keyset in self._store.keysets(shape)]

    def _answered(
        self, names: tuple[str, ...], needed: Sequence[str], keys: Collection[Key]
    ) -> dict[Key, pa.RecordBatch]:
        """The rows of those keys whose answer is on disk; an answer to fewer key columns holds those to more of them."""
        rows: dict[Key, pa.RecordBatch] = {}
        for shape, keyset in self._keysets(names):
            if not (set(keyset.keys) <= set(names) and set(needed) <= set(keyset.columns)):
                continue
            texts = {
                key: text
                for key in keys
                if key not in rows and (text := key_bytes(key_part(key, names, keyset.keys))) is not None
            }
            wanted = list(dict.fromkeys(texts.values()))
            answers = self._store.answers(shape, keyset, wanted, self._ttl) if wanted else {}
            if answers:
                self._aged(self._store.now() - min(one.fetched for one in answers.values()))
            for key, text in texts.items():
                if text in answers:
                    had = unpacked(answers[text].body, self._schema(keyset.columns))
                    own = had if len(keyset.keys) == len(names) else rows_having(had, names, [key])
                    rows[key] = own.select(list(needed))
        return rows

    def _keep(
        self,
        names: tuple[str, ...],
        columns: tuple[str, ...],
        keys: Keys,
        pages: Sequence[Page],
        *,
        began: tuple[float, int],
        meter: AccessMeter,
    ) -> None:
        """Keep what came for keys, if it is whole."""
        fetched, before = began
        schema, brought = self._schema(columns), [page.rows for page in pages]
        whole = _doubtful(meter) == before and all(page.truncated is None for page in pages)
        if not whole or not all(rows.schema.equals(schema) for rows in brought):
            return  # or of a source that does not keep to what it declares
        rows = brought[0] if len(brought) == 1 else pa.concat_batches(brought or [unpacked(None, schema)])
        self._waiting[names, columns].append(Brought(keys, rows, fetched))
        self._store.keep_later(len(keys), self._packed)

    def _packed(self) -> list[tuple[Place, list[KeptAnswer]]]:
        """What is to be kept since the last time."""
        waiting, self._waiting = self._waiting, defaultdict(list)
        return [
            (
                (self._shapes(names)[0], self._place, tuple(sorted(names)), columns),
                answers_of(brought, names, self._discretion),
            )
            for (names, columns), brought in waiting.items()
        ]

    async def close(self) -> None:
        """Nothing of its own to release."""


async def _in_order(pages: Sequence[Page]) -> AsyncGenerator[Page]:
    for page in pages:
        yield page


def _page_of(answers: Iterable[pa.RecordBatch], columns: Sequence[str]) -> Page:
    return Page(pa.concat_batches([rows.select(list(columns)) for rows in answers]))


async def _selected(pages: AsyncGenerator[Page], columns: Sequence[str]) -> AsyncGenerator[Page]:
    async with aclosing(pages):
        async for page in pages:
            yield page.select(columns)


def _doubtful(meter: AccessMeter) -> int:
    """Rises with every answer that a later run must get anew, so that it is told of what is wrong with it as well."""
    return meter.bad_records + meter.doubts
