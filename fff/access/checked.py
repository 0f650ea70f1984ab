"""A source whose answers are checked: pages are in the columns that were asked for, whatever it raises is a source's error.

Of lookups, rows of other keys alone are no answer to the keys that were asked for. Nor are the same rows whatever the
keys, a few of which happen to be right: the source does not look at the key then, and gives the beginning of a list.

An answer to several keys may have right rows, rows of other keys, and none of some that were asked for. It may know these
by other names: those that are spelt almost as one of the others have no answer, and the rest is asked for again, in one
request, unless every other key is explained so. Where that brings nothing, as of keys that the source has not, it is done
ever more seldom.

Below whatever keeps or shares answers, which sees no more than the rows of the keys that it wants.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import pyarrow as pa

from fff.access.key_index import KeyNumbers, having, without
from fff.budget import BudgetExhausted
from fff.catalog import Cacheable, Key, Keys, LookupMethod, Page, Prompt, ScanMethod, SourceAdapter, Table
from fff.catalog.foreign import error_line, is_told_to_end
from fff.display.counts import counted
from fff.errors import FFFError, InvariantError, SourceError
from fff.schema import in_nearest
from fff.stats import AccessMeter
from fff.structs import replace

if TYPE_CHECKING:
    from fff.access.disk.policy import RowCache


def open_source(
    table: Table,
    adapter: SourceAdapter,
    disk: RowCache | None,
    aged: Callable[[float], None] = lambda _: None,
    *,
    redact: Callable[[str], str] = str,
) -> SourceAdapter:
    """What whoever shares a table reads it from: a source whose answers are checked, with what earlier runs have kept of it.

    What a proxy says is no answer of the source, and kept by no run. `aged` is told how old is what comes from disk.
    `redact` takes secrets out of what adapters raise.
    """
    source: SourceAdapter = CheckedSource(table, adapter, redact)
    if disk is not None and isinstance(adapter, Cacheable):
        source = disk.beside(source, table, adapter, aged) or source
    return source if table.proxied is None else table.proxied(source)


class CheckedSource:
    """A source as it is, but for pages in other columns, errors of other kinds, and lookups answered with strays alone.

    Implements `SourceAdapter`.
    """

    def __init__(self, table: Table, adapter: SourceAdapter, redact: Callable[[str], str] = str) -> None:
        self.name = adapter.name
        self.tables = (table,)
        self._adapter = adapter
        self._redact = redact
        self._prompt = adapter if isinstance(adapter, Prompt) else None
        self._schemas: dict[tuple[str, ...], pa.Schema] = {}
        self._mixed: dict[str, _Mixed] = {}  # by access method: the last answer of right rows and strays
        self._in_vain: Counter[str] = Counter()  # by access method: doubts since one was right
        self._border = _Border(self._raised)

    def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """As the source answers."""
        return self._pages(
            columns, lambda: self._adapter.scan(table, method, columns, meter=meter, window=window)
        )

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """As the source answers; truncated where every row is a stray.

        Beside rows of all the keys strays change nothing (P25).
        """
        strays = _Strays(method, columns, keys, self._mixed)
        pages = self._pages(columns, lambda: self._adapter.lookup(table, method, columns, keys, meter=meter))
        async with aclosing(_checked(strays, (), pages)) as checked:
            async for page in checked:
                yield page
        doubtful = strays.again()
        in_vain = self._in_vain[method.name]
        self._in_vain[method.name] += bool(doubtful)
        if doubtful and in_vain.bit_count() < 2:  # the first, second, third and fifth time, the ninth, …
            lacking = tuple(doubtful)
            others = [key for key in keys if key not in lacking]
            again = self.lookup(table, method, columns, doubtful, meter=meter)
            async with aclosing(without(again, method.keys, others)) as pages:
                async for page in pages:
                    if len(page.rows) or page.truncated is not None:
                        self._in_vain[method.name] = 0
                    alone = page.truncated is not None and not page.unanswered
                    yield replace(page, unanswered=lacking) if alone else page

    async def answer(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> tuple[Sequence[Page], AsyncGenerator[Page] | None]:
        """As `lookup`, without a generator where one answer is all."""
        if self._prompt is None or len(keys) > 1:
            return (), self.lookup(table, method, columns, keys, meter=meter)
        try:  # as `_border`, which costs more
            pages, rest = await self._prompt.answer(table, method, columns, keys, meter=meter)
        except BaseException as error:
            self._border.passes(error)
            raise
        pages = self._all_shaped(pages, columns)
        strays = _Strays(method, columns, keys, self._mixed)
        if rest is not None:
            following = rest
            return (), _checked(strays, pages, self._pages(columns, lambda: following))
        for page in pages:
            strays.see(page)
        return [*pages, *strays.page()], None

    async def _pages(
        self, columns: Sequence[str], ask: Callable[[], AsyncIterator[Page]]
    ) -> AsyncGenerator[Page]:
        """What the source gives, page by page."""
        with self._border:
            pages = cast("AsyncGenerator[Page]", ask())
        if not hasattr(pages, "aclose"):
            raise self._wrong(f"gave {type(pages).__name__}, not an asynchronous generator of pages")
        async with aclosing(pages):
            while True:
                try:
                    with self._border:
                        page = await anext(pages)
                except StopAsyncIteration:
                    break
                yield self._shaped(page, columns)

    def _raised(self, error: BaseException) -> SourceError:
        return self._wrong(f"raised {self._redact(error_line(error))}")

    def _wrong(self, what: str) -> SourceError:
        hint = "that is for whoever wrote the adapter to mend"
        return SourceError(f"its adapter {what}", source=self.name, table=self.tables[0].name, hint=hint)

    def _all_shaped(self, pages: Sequence[Page], columns: Sequence[str]) -> list[Page]:
        return [self._shaped(page, columns) for page in pages]

    def _shaped(self, page: Page, columns: Sequence[str]) -> Page:
        """The page in the columns that were asked for, in their order; raises SourceError where it has others."""
        if not isinstance(page, Page) or not isinstance(page.rows, pa.RecordBatch):
            kind = type(getattr(page, "rows", page)).__name__
            raise self._wrong(f"gave {kind}, not a page of a record batch")
        names = tuple(columns)
        wanted = self._schemas.get(names) or self._schema(names)
        if page.rows.schema.equals(wanted):  # mostly: all that a page costs
            return page
        given = page.rows.schema.names
        if lacking := [name for name in names if given.count(name) != 1]:
            raise self._wrong(f"gave the columns {', '.join(given) or 'none'}, and {lacking[0]} is asked for")
        rows = page.rows.select(list(names))
        fitting = [self._fitting(field, column) for field, column in zip(wanted, rows.columns, strict=True)]
        return replace(page, rows=pa.RecordBatch.from_arrays(fitting, schema=wanted))

    def _fitting(self, field: pa.Field, column: pa.Array) -> pa.Array:
        """A column in its declared type; raises SourceError where that is of another kind, or has not all the values."""
        if column.type == field.type:
            return column
        lost = ""
        try:
            near = column if pa.types.is_null(column.type) else in_nearest(column)
            if _is_of_kind(near.type, field.type):
                return near.cast(field.type)
        except (pa.ArrowException, ValueError) as error:
            lost = f" ({self._redact(error_line(error))})"
        raise self._wrong(
            f"gave the column {field.name} as {column.type}: it is declared as {field.type}{lost}"
        )

    def _schema(self, columns: tuple[str, ...]) -> pa.Schema:
        fields = map(self.tables[0].column, columns)
        self._schemas[columns] = pa.schema([(field.name, field.arrow) for field in fields if field])
        return self._schemas[columns]

    async def close(self) -> None:
        """Nothing of its own to release."""


class _Border:
    """What goes wrong within comes out as an error of a source, unless it is told already, or none of the source's.

    No generator: every answer goes through it.
    """

    def __init__(self, wrong: Callable[[BaseException], SourceError]) -> None:
        self._wrong = wrong

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None:
            self.passes(error)

    def passes(self, error: BaseException) -> None:
        """Raises what comes out in place of an error, if anything does."""
        if not isinstance(error, _TOLD) and not is_told_to_end(error):
            raise self._wrong(error) from error


_TOLD = (FFFError, BudgetExhausted, InvariantError, MemoryError, StopAsyncIteration)


def _is_of_kind(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a cast from one type to the other changes no value without saying so."""
    types = pa.types
    is_whole = types.is_integer(given) or types.is_decimal(given)
    return bool(
        types.is_null(given)
        or given == wanted
        or (is_whole and (types.is_integer(wanted) or types.is_decimal(wanted)))
        or (types.is_integer(given) and types.is_floating(wanted))
        or (types.is_floating(given) and (types.is_integer(wanted) or types.is_float64(wanted)))
    )


_Mixed: TypeAlias = tuple[Keys, pa.RecordBatch]


class _Strays:
    """What of an answer is of other keys than those that were asked for. `mixed`: what came for others before."""

    def __init__(
        self, method: LookupMethod, columns: Sequence[str], keys: Keys, mixed: dict[str, _Mixed]
    ) -> None:
        self._name, self._names, self._keys, self._mixed = method.name, method.keys, keys, mixed
        self._right = not all(map(columns.__contains__, method.keys))  # then nobody can tell
        self._places = () if self._right else tuple(map(columns.index, method.keys))
        self._same = False  # as came for other keys
        self._rows = 0
        self._page: pa.RecordBatch | None = None
        self._each = None if self._right or len(keys) == 1 else _EachKey(method.keys, keys)

    def see(self, page: Page) -> None:
        """Judge a page of the answer: of one key, until a row was asked for."""
        if not len(page.rows):
            return
        if self._each is not None:
            self._each.see(page.rows)
        if self._right:
            return
        # Mostly the first row is right, which costs least to see.
        self._right = tuple([page.rows.column(place)[0].as_py() for place in self._places]) in self._keys
        if self._right:
            return
        self._right = bool(having(page.rows, self._names, self._keys).any())
        if self._right and not self._rows:
            keys, rows = self._mixed.get(self._name, ((), page.rows))
            self._same = bool(keys) and not _alike(keys, self._keys) and rows.equals(page.rows)
            self._mixed[self._name] = (self._keys, page.rows)
        self._rows += len(page.rows)
        self._page = page.rows

    def again(self) -> Keys:
        """The keys that no row and no spelling tells of, beside right rows and others that nothing explains."""
        return () if self._each is None or not self._right or self._same else self._each.doubtful()

    def page(self) -> list[Page]:
        """The page that says so where no row of the whole answer was asked for, or the same ones came for other keys."""
        if self._each is not None and self._right and not self._same:
            return self._each.page()
        if self._page is None or (self._right and not self._same):
            return []
        reason = f"the answer has {counted(self._rows, 'row')} of other keys and none of what was asked for"
        if self._same:
            names = ", ".join(self._names)
            reason = f"the answer is the one to other keys: the source seems not to look at {names}"
        return [Page(self._page.slice(0, 0), reason)]


class _EachKey:
    """Which of several keys have rows, where there are some of other keys, too."""

    def __init__(self, names: Sequence[str], keys: Keys) -> None:
        self._names, self._keys = names, keys
        self._pages: list[pa.RecordBatch] = []  # the columns of keys
        self._others: set[Key] = set()
        self._rows: pa.RecordBatch | None = None

    def see(self, rows: pa.RecordBatch) -> None:
        """Some rows of the answer."""
        page = rows.select(list(self._names))
        self._pages.append(page)
        right = having(rows, self._names, self._keys)
        if not right.all():
            distinct = pa.Table.from_batches([page.filter(pa.array(~right))]).group_by(page.schema.names)
            columns = distinct.aggregate([]).select(page.schema.names).columns
            self._others |= set(zip(*(column.to_pylist() for column in columns), strict=True))
            self._rows = rows

    def _without_rows(self) -> list[tuple[Key, bool]]:
        """The keys without rows beside which others have some, and whether one of these is spelt almost so."""
        if not self._others:
            return []
        numbers = KeyNumbers(self._pages[0].schema.types)
        came = [numbers.number(page.columns) for page in self._pages]
        has_rows = np.isin(numbers.number_keys(self._keys), np.concatenate(came))
        others = set(map(_spelt, self._others))
        return [
            (key, _spelt(key) in others) for key, has in zip(self._keys, has_rows, strict=True) if not has
        ]

    def doubtful(self) -> Keys:
        """The keys without rows that may be any of the others; none where each of these is almost one of the keys."""
        explained = set(map(_spelt, self._others)) <= set(map(_spelt, self._keys))
        return [] if explained else [key for key, is_alike in self._without_rows() if not is_alike]

    def page(self) -> list[Page]:
        """The page that names the keys which come back in another spelling, if any."""
        altered = tuple(key for key, is_alike in self._without_rows() if is_alike)
        if not altered or self._rows is None:
            return []
        spelt = " and ".join(
            map(repr, next(one for one in self._others if _spelt(one) == _spelt(altered[0])))
        )
        reason = f"the answer has rows of {spelt}, which was not asked for, and none of what was"
        return [Page(self._rows.slice(0, 0), reason, unanswered=altered)]


def _alike(some: Keys, others: Keys) -> bool:
    """Whether a key is among both, or would be to a source that does not look at case, accents, signs and zeros in front."""
    plain = set(map(_spelt, some))
    return any(_spelt(key) in plain for key in others)


def _spelt(key: Key) -> Key:
    return tuple(map(_plain, key))


def _plain(value: object) -> object:
    if not isinstance(value, str):
        return value
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", value))).casefold().lstrip("0")


async def _checked(strays: _Strays, first: Sequence[Page], rest: AsyncIterator[Page]) -> AsyncGenerator[Page]:
    """An answer of which some pages are here and others follow."""
    async with aclosing(cast("AsyncGenerator[Page]", rest)) as following:
        for page in first:
            strays.see(page)
            yield page
        async for page in following:
            strays.see(page)
            yield page
    for page in strays.page():
        yield page
