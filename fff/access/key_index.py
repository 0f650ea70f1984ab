"""Rows by key: numbers for keys of any columns, rows that have one of some keys or came twice, an index over all of a table."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import aclosing
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.catalog import Keys, Page
from fff.dataflow.arrays import EMPTY, Bools, Int64, distinct, numpy_mask
from fff.dataflow.store.domains import Domain, PairDomain
from fff.schema import ArrowType
from fff.structs import replace

_LOOKED_AT_BYTES = 2**26  # of rows that are kept to find some on two pages
#: Rows that are compared one by one, as answers to one key are: a comparison of Arrow costs more.
_FEW = 16


class KeyNumbers:
    """A dense number for every distinct key, by which values are equal as the eddy takes them; -1 where one is NULL."""

    def __init__(self, types: Sequence[ArrowType]) -> None:
        self._types = tuple(types)
        self._domains = [Domain(kind) for kind in types]
        self._pairs = [PairDomain() for _ in types[1:]]

    def number(self, columns: Sequence[pa.Array]) -> Int64:
        """The number of each row of the columns; new keys are numbered on the way, from 0, as they arrive."""
        numbers = self._domains[0].number(columns[0])
        for pair, domain, column in zip(self._pairs, self._domains[1:], columns[1:], strict=True):
            numbers = pair.number(numbers, domain.number(column))
        return numbers

    def number_keys(self, keys: Keys) -> Int64:
        """The number of each key."""
        columns = zip(*keys, strict=True)
        return self.number(
            [pa.array(values, kind) for values, kind in zip(columns, self._types, strict=True)]
        )


def having(rows: pa.RecordBatch, columns: Sequence[str], keys: Keys) -> Bools:
    """Which rows have one of the keys in the columns."""
    arrays = [rows.column(name) for name in columns]
    if all(_plain(array.type) for array in arrays) and not any(None in key for key in keys):
        if len(keys) == 1:
            return _equal(arrays, keys[0])  # most lookups are for one key: nothing has to be numbered for it
        if len(arrays) == 1:
            [array] = arrays
            return numpy_mask(pc.is_in(array, pa.array([value for (value,) in keys], array.type)))
    numbers = KeyNumbers([array.type for array in arrays])
    wanted = numbers.number_keys(keys)
    wanted_rows: Bools = np.isin(numbers.number(arrays), wanted)
    return wanted_rows


def _plain(kind: ArrowType) -> bool:
    """Whether values are equal to the eddy exactly where Arrow finds them equal."""
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind))


def _equal(arrays: Sequence[pa.Array], key: tuple[object, ...]) -> Bools:
    if len(arrays[0]) <= _FEW:
        return np.array([row == key for row in zip(*map(pa.Array.to_pylist, arrays), strict=True)], np.bool_)
    same = [pc.equal(array, pa.scalar(value, array.type)) for array, value in zip(arrays, key, strict=True)]
    every: Bools = np.logical_and.reduce([numpy_mask(mask) for mask in same])
    return every


def all_have(batches: Sequence[pa.RecordBatch], columns: Sequence[str], keys: Keys) -> list[bool]:
    """Whether all rows of each batch have its key, of which there are as many; False where that is not seen at a glance."""
    rows = pa.concat_batches(batches)
    arrays = [rows.column(name) for name in columns]
    if not all(_plain(array.type) for array in arrays):
        return [False] * len(batches)
    had = zip(*map(pa.Array.to_pylist, arrays), strict=True)
    return [
        [row == key for row in islice(had, len(batch))].count(True) == len(batch) and None not in key
        for batch, key in zip(batches, keys, strict=True)
    ]


def rows_having(rows: pa.RecordBatch, columns: Sequence[str], keys: Keys) -> pa.RecordBatch:
    """The rows that have one of the keys in the columns."""
    has_key = having(rows, columns, keys) if len(rows) else np.ones(0, np.bool_)
    return rows if has_key.all() else rows.filter(pa.array(has_key))


async def without(pages: AsyncGenerator[Page], columns: Sequence[str], others: Keys) -> AsyncGenerator[Page]:
    """An answer without its rows of other keys that are asked for by requests of their own, which bring them, too."""
    async with aclosing(pages):
        async for page in pages:
            theirs = having(page.rows, columns, others) if len(page.rows) else np.zeros(0, np.bool_)
            yield replace(page, rows=page.rows.filter(pa.array(~theirs))) if theirs.any() else page


def rows_without(rows: pa.RecordBatch, left: Counter[str]) -> pa.RecordBatch:
    """The rows but for those, as `repr` writes them, that were given before, each as often as that."""
    if not left.total():
        return rows
    fresh: list[bool] = []
    for row in map(repr, rows.to_pylist()):
        fresh.append(not left[row])
        left[row] -= left[row] > 0
    return rows.filter(pa.array(fresh, pa.bool_()))


def tells_keys(rows: pa.Table, names: Sequence[str]) -> bool:
    """Whether a scan can answer for keys: one of whose columns no row has anything in may just not be told by scans."""
    return not rows.num_rows or all(rows.column(name).null_count < rows.num_rows for name in names)


class KeyIndex:
    """The rows of a table by the values of some columns, sorted once."""

    def __init__(self, rows: pa.Table, columns: Sequence[str]) -> None:
        self._rows = rows
        self._numbers = KeyNumbers([rows.schema.field(name).type for name in columns])
        batches = rows.select(list(columns)).to_batches()
        numbers = np.concatenate([EMPTY, *(self._numbers.number(batch.columns) for batch in batches)])
        self._order = np.argsort(numbers, kind="stable")
        self._sorted: Int64 = numbers[self._order]

    @property
    def nbytes(self) -> int:
        """Bytes beside the rows."""
        return int(self._order.nbytes + self._sorted.nbytes)

    def rows_of(self, keys: Keys, columns: Sequence[str]) -> list[pa.RecordBatch]:
        """Every row that has one of the keys, under the named columns."""
        numbers = distinct(self._numbers.number_keys(keys))
        starts = np.searchsorted(self._sorted, numbers, "left")
        ends = np.searchsorted(self._sorted, numbers, "right")
        places = [self._order[start:end] for start, end in zip(starts, ends, strict=True)]
        taken = self._rows.select(list(columns)).take(pa.array(np.concatenate(places)))
        batches: list[pa.RecordBatch] = taken.combine_chunks().to_batches()
        return batches


class Covering:
    """All rows of a table by key columns, where a scan that was kept holds them. Looked for once: later scans are this run's own.

    Args:
        load: the rows of a kept scan in which something may stand in all these columns, if there is one.
    """

    def __init__(self, load: Callable[[Sequence[str]], Awaitable[pa.Table | None]]) -> None:
        self._load = load
        self._loading = asyncio.Lock()
        self._whole: pa.Table | None = None
        self._indexes: dict[tuple[str, ...], KeyIndex | None] = {}
        self._lacking: set[tuple[str, ...]] = set()  # columns that no scan has

    async def by(self, names: tuple[str, ...], needed: tuple[str, ...]) -> KeyIndex | None:
        """The rows by these columns, with all that is needed of them."""
        if not self._is_known(names, needed):
            async with self._loading:
                if not self._is_known(names, needed):
                    await self._find(names, needed)
        return None if needed in self._lacking else self._indexes[names]

    def _is_known(self, names: tuple[str, ...], needed: tuple[str, ...]) -> bool:
        return needed in self._lacking or (names in self._indexes and self._has(needed))

    def _has(self, needed: tuple[str, ...]) -> bool:
        return self._whole is not None and set(needed) <= set(self._whole.schema.names)

    async def _find(self, names: tuple[str, ...], needed: tuple[str, ...]) -> None:
        if not self._has(needed):
            loaded = await self._load(needed)
            if loaded is None:
                self._lacking.add(needed)
                return
            self._whole, self._indexes = loaded, {}
        whole = self._whole
        assert whole is not None, "it has what is needed"
        self._indexes[names] = (
            await asyncio.to_thread(KeyIndex, whole, names) if tells_keys(whole, names) else None
        )


class Moved:
    """Notices rows that came on two pages: what a source moved over their border, or has twice.

    Rows that share a key and differ are not meant: whoever builds them says so.
    """

    def __init__(self, key: Sequence[str]) -> None:
        self._key = key
        self._pages: list[pa.RecordBatch] = []
        self._bytes = 0

    def note(self, rows: pa.RecordBatch) -> None:
        """Those of one more page. Of very large readings the later ones are not looked at."""
        if self._key and self._bytes < _LOOKED_AT_BYTES and len(rows):
            self._pages.append(rows)
            self._bytes += rows.nbytes

    def forget(self, pages: Collection[Page]) -> None:
        """Those of pages that were not handed on."""
        gone = {id(page.rows) for page in pages}
        self._pages = [rows for rows in self._pages if id(rows) not in gone]

    def complaint(self, rows: int | None, records: int, pages: int) -> str | None:
        """Rows that came twice where others should have, which the number of all `rows` does not show."""
        repeated = self.count() if rows is not None and pages > 1 else 0
        if not repeated or rows is None or records - repeated >= rows:
            return None
        were = "row was" if repeated == 1 else "rows were"
        return (
            f"{repeated} {were} on two pages, so that {records - repeated} came of the {rows} that the source speaks of: "
            "it may have changed while it was read, or sort its pages anew"
        )

    def repeated(self) -> int | None:
        """How many rows came twice; None where not all were looked at, or there is no key to tell."""
        return self.count() if self._key and self._bytes < _LOOKED_AT_BYTES else None

    def count(self) -> int:
        """How many rows a page before had as well; a key with a NULL in it tells nothing."""
        if not self._pages:
            return 0
        flat = [one.name for one in self._pages[0].schema if not pa.types.is_nested(one.type)]
        if not set(self._key) <= set(flat):
            return 0
        known = pc.field(self._key[0]).is_valid()
        for name in self._key[1:]:
            known &= pc.field(name).is_valid()
        pages = [pa.Table.from_batches([page]).select(flat).filter(known) for page in self._pages]
        return sum(map(_distinct, pages)) - _distinct(pa.concat_tables(pages))


def _distinct(rows: pa.Table) -> int:
    return int(rows.group_by(rows.column_names).aggregate([]).num_rows)
