"""Whether a source really answers every key of a request for several.

Some sources read one key of a repeated parameter and no other, or the first few of a list, or take the joined
text for one key, or cut their answers after some rows, and answer as if nothing were wrong: rows would be
lost without a word. So what brought nothing is asked for again now and then, which costs a few requests a
method and no more:

* while no answer has rows of two keys, or of one that was neither the first nor the last: one request an
  answer, four at most;
* when keys of an answer bring nothing, the first time and when their share jumps: one of several
  alone, all of them in other places of one request, between keys that brought rows; three times at most;
* the first time that an answer looks cut (as long as the longest before, or a round number of rows, or with
  fewer rows of its last key than of any other): that key alone and, where that is whole, the one of the
  fewest rows; or those without rows. One row for every key is no sign of anything.

A status in place of rows (404, say) may mean that one of the keys is unknown. It speaks for all where none
of them has rows beside a key that has, nor hides its rows: two requests find that out, of the first, second,
fourth such answer and so on. Until then the keys are asked for one by one, and by halves from when one of
them has rows. Where a hundred that were asked for alone had none, the status is believed, and one key of the
first batch since then, the second, the fourth and so on is asked for alone: one that has rows refuses the
method.

Keys are data, and nobody can say beforehand how long they are: what the server finds too long is asked for by
halves, and so are later batches that are as long.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.budget import BudgetExhausted
from fff.catalog import Key, Keys, Page
from fff.errors import SourceError
from fff.structs import Struct, field
from fff_sources.http.fetch import Reading
from fff_sources.http.request.keys import shortest

#: Asks for keys in one request of the same kind.
Ask = Callable[[Sequence[Key]], AsyncGenerator[Page]]
Pages: TypeAlias = AsyncGenerator[Page]

_EMPTY_CHECKS = 3  # answers without any row that are checked; a source may well have nothing for many keys
_SAMPLES = 3  # times that keys without rows are asked for again
_SHIFTS = 4  # keys with rows, at most, before or behind those without when they are asked for again
_ALONE = 100  # keys without rows that are asked for alone before a status is believed
_JUMP = 0.25  # by which the share of keys without rows has risen
#: What servers say of a request that is too long, and the bytes of keys from which some call it bad.
_TOO_LONG, _LONG, _BAD = frozenset({413, 414, 431}), 3_000, 400
_ROUND = frozenset({10, 20, 25, 30, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000, 10_000})


class _KeyedAnswer(Struct):
    """How many rows an answer has of each key, and the key of its last row."""

    rows: Counter[Key] = field(default_factory=Counter)
    last: Key | None = None

    def add(self, page: pa.RecordBatch, columns: Sequence[str]) -> None:
        if not len(page):
            return
        values = [page.column(name) for name in columns]
        if len(values) == 1:
            counted = pc.value_counts(values[0])
            keys = [(key,) for key in _plain(counted.field("values"))]
            self.rows.update(dict(zip(keys, counted.field("counts").to_pylist(), strict=True)))
        else:
            self.rows.update(zip(*map(_plain, values), strict=True))
        [self.last] = zip(*(_plain(value[-1:]) for value in values), strict=True)


def _plain(values: pa.Array) -> list[object]:
    """The values as keys are sent."""
    items: list[object] = values.to_pylist()
    return [shortest(value) for value in items] if pa.types.is_float32(values.type) else items


class BatchTrust:
    """What is known of one lookup method's batches.

    `is_list`: requests are in a language that has lists, of which a key has been read if any other has;
    `shared`: so many columns of a key have one value in a request.
    """

    def __init__(
        self, source: str, table: str, columns: Sequence[str], *, is_list: bool = False, shared: int = 0
    ) -> None:
        self._is_list = is_list
        self._shared = shared
        self._source = source
        self._table = table
        self._columns = columns  # of a key
        self._proved = False  # more than one key of a request is read
        self._refused: tuple[str, str] | None = None  # why, and what to do
        self._empty_checks = 0
        self._samples = 0
        self._share = 0.0  # of keys without rows, when some were last asked for again
        self._longest = 0
        self._length_checked = False
        # The batch at hand has rows of other keys: whoever checks answers asks for its keys.
        self._strayed = False
        self._strays = False  # rows of other keys came, the last time that some were asked for again
        self._known: Key | None = None  # has rows
        self._speaks_for_all: bool | None = None  # a status in place of rows
        self._statuses = 0  # answers to batches, while one can be told from the other
        self._alone = 0  # keys that a status answered with others, and that have no rows alone either
        # Batches that a status answered, nobody having found out whether it speaks for all.
        self._believed = 0
        self._too_long = math.inf  # bytes of keys that the server has found too many
        self._one_at_a_time = asyncio.Lock()

    async def watched(self, reading: Reading, asked: Keys, ask: Ask, apart: Ask) -> Pages:
        """The answer to a batch as it comes; raises SourceError at its end where the source left rows out.

        `apart` asks for some of the keys, and has that watched as well.
        """
        answer = _KeyedAnswer()
        readable, began, length = True, False, _length(asked)
        parted = length >= self._too_long
        try:
            if not parted:
                async with contextlib.aclosing(reading.pages(1)) as pages:
                    async for page in pages:
                        began = True
                        readable = readable and set(self._columns) <= set(page.rows.schema.names)
                        if readable:
                            answer.add(page.rows, self._columns)
                        yield page
        except SourceError as error:
            parted = error.status in _TOO_LONG or (error.status == _BAD and length > _LONG)
            if began or not parted:
                raise
            if error.status != _BAD:  # which may be that of one key
                self._too_long = min(self._too_long, length)
        if parted:
            half = len(asked) // 2
            for some in (asked[:half], asked[half:]):
                async with contextlib.aclosing(apart(some)) as pages:
                    async for page in pages:
                        yield page
            return
        if not readable:
            return
        async with self._one_at_a_time:
            if self._refused is None:
                await self._judge_status(asked, ask) if reading.bare else await self._judge(
                    asked, answer, ask
                )
            if self._refused is not None:
                message, hint = self._refused
                raise SourceError(message, source=self._source, table=self._table, hint=hint)
        if reading.bare and not self._speaks_for_all:
            async with contextlib.aclosing(self._parts(asked, apart)) as pages:
                async for page in pages:
                    yield page

    def note(self, key: Key, page: Page) -> None:
        """A page of the answer to a key alone; where it has rows, others can be asked for beside it."""
        if self._known is None and set(self._columns) <= set(page.rows.schema.names):
            answer = _KeyedAnswer()
            answer.add(page.rows, self._columns)
            self._known = key if key in answer.rows else None

    async def alone(self, key: Key, pages: Pages) -> Pages:
        """The answer to a key that is asked for alone."""
        async with contextlib.aclosing(pages):
            async for page in pages:
                self.note(key, page)
                yield page

    async def _judge_status(self, asked: Keys, ask: Ask) -> None:
        """Whether a status speaks for all keys, where they can be asked for beside one that has rows.

        It may in one answer and not in another: a source that leaves out keys it does not know may refuse
        those that are none. So of such answers the first, second, fourth and so on are looked at.
        """
        if self._speaks_for_all is False:
            return
        known, other = self._known, asked[0]
        if known in asked:
            self._speaks_for_one(asked)  # it has rows
        elif known is not None and known[: self._shared] == other[: self._shared]:
            self._statuses += 1
            if self._statuses.bit_count() > 1 and self._speaks_for_all:
                self._believed += 1
                return
            half = (len(asked) + 1) // 2  # no more keys than were asked for
            for some in (asked[:half], asked[half:]):
                counts = await self._row_counts([known, *some], ask)
                hidden = known not in counts and known in await self._row_counts([known], ask)
                if hidden or counts.keys() & {*some}:
                    self._speaks_for_one(asked)
                    return
                if known not in counts or self._strays:
                    break
            else:
                self._speaks_for_all = True
        if self._speaks_for_all is None and self._alone >= _ALONE:
            self._believed += 1
            is_due = self._believed.bit_count() == 1
            if is_due and await self._row_counts([asked[len(asked) // 2]], ask):
                self._speaks_for_one(asked)

    def _speaks_for_one(self, asked: Keys) -> None:
        """Rows came of a key that a status had answered with others: those of earlier batches may be lost."""
        self._speaks_for_all = False
        if self._believed:
            message = f"a request for {len(asked)} keys is answered by a status, and one of them has rows"
            self._refuse(f"{message}, as others before may have had", 1)

    async def _parts(self, asked: Keys, apart: Ask) -> Pages:
        """The answers to fewer keys of a request than that which a status answered."""
        while asked:  # also where another batch has shown meanwhile for whom its status spoke
            undecided = self._speaks_for_all is None
            if undecided and self._alone >= _ALONE:
                return
            size, has_rows = 1 if undecided else (len(asked) + 1) // 2, False
            async with contextlib.aclosing(apart(asked[:size])) as pages:
                async for page in pages:
                    has_rows = has_rows or len(page.rows) > 0
                    yield page
            if has_rows:
                self._speaks_for_one(asked)
            elif undecided:
                self._alone += 1
            asked = asked[size:]

    async def _judge(self, asked: Keys, answer: _KeyedAnswer, ask: Ask) -> None:
        row_counts = {key: answer.rows[key] for key in asked if key in answer.rows}
        self._strayed = len(answer.rows) > len(row_counts)
        self._known = next(iter(row_counts), self._known)
        if not self._proved:
            await self._judge_places(asked, row_counts, ask)
        if self._refused is None and self._proved and not self._is_list:
            empty = [key for key in asked if key not in row_counts]
            rows = sum(row_counts.values())
            again, self._longest = rows == self._longest, max(rows, self._longest)
            told = await self._judge_empty(asked, row_counts, empty, ask)
            known = told and rows == len(row_counts)  # what is cut off then is all of a key
            if self._refused is None and not known:
                await self._judge_length(asked, row_counts, empty, answer.last, ask, again=again)

    async def _row_counts(self, keys: Keys, ask: Ask) -> Counter[Key]:
        """The rows of some keys; none where that cannot be found out."""
        answer = _KeyedAnswer()
        with contextlib.suppress(SourceError, BudgetExhausted):
            async with contextlib.aclosing(ask(keys)) as pages:
                async for page in pages:
                    answer.add(page.rows, self._columns)
        counts = Counter({key: answer.rows[key] for key in keys if key in answer.rows})
        self._strays = len(answer.rows) > len(counts)
        return counts

    async def _judge_places(self, asked: Keys, counts: dict[Key, int], ask: Ask) -> None:
        """Whether only the first or the last key is read, or none."""
        if not counts:
            if self._empty_checks < _EMPTY_CHECKS:
                place = (0, len(asked) // 2, len(asked) - 1)[self._empty_checks]
                self._empty_checks += 1
                if await self._row_counts([asked[place]], ask):
                    message = (
                        f"a request for {len(asked)} keys brings no rows, and one for one of them alone does"
                    )
                    self._refuse(message, 1)
            return
        [first, *others] = counts
        if others or first not in (asked[0], asked[-1]):
            self._proved = True
            return
        # The same key in the other place: whoever reads one place alone does not see it there.
        last = first == asked[-1]
        other = asked[0] if last else asked[-1]
        if first in await self._row_counts([first, other] if last else [other, first], ask):
            self._proved = True
        else:
            place_read = "last" if last else "first"
            self._refuse(f"of {len(asked)} keys in one request the source reads the {place_read} one only", 1)

    async def _judge_empty(self, asked: Keys, counts: dict[Key, int], empty: Keys, ask: Ask) -> bool:
        """Ask again for keys without rows, where that is due: one in the middle, then the others in the opposite order."""
        share = len(empty) / len(asked)
        if not empty or self._samples == _SAMPLES or (self._samples and share < self._share + _JUMP):
            return False
        self._samples += 1
        self._share = share
        middle = len(empty) // 2
        # One that is alone in bringing nothing stands elsewhere, among fewer, in the second request.
        if len(empty) == 1 or not await self._has_more(asked, counts, empty[middle : middle + 1], ask):
            await self._has_more(asked, counts, _elsewhere(asked, list(counts), empty), ask)
        return True

    async def _judge_length(
        self,
        asked: Keys,
        counts: dict[Key, int],
        empty: Keys,
        last: Key | None,
        ask: Ask,
        *,
        again: bool,
    ) -> None:
        """Whether an answer was cut, where it looks so; `again`: it is as long as the longest before."""
        rows = sum(counts.values())
        others = [count for key, count in counts.items() if key != last]
        cut = last in counts and others and counts[last] < min(others)
        one_each = rows == len(asked) and not empty
        if one_each or self._length_checked or not (again or cut or rows in _ROUND):
            return
        self._length_checked = True
        if rows == len(counts):  # what was cut off then is all of a key
            await self._has_more(asked, counts, empty, ask)
        elif last is not None and last in counts and not await self._has_more(asked, counts, [last], ask):
            fewest = min(counts, key=lambda key: counts[key])  # where rows of the keys take turns
            if counts[fewest] < counts[last]:
                await self._has_more(asked, counts, [fewest], ask)

    async def _has_more(self, asked: Keys, counts: dict[Key, int], keys: Keys, ask: Ask) -> bool:
        """Whether keys have more rows when they are asked for again; then the method is refused."""
        more = await self._row_counts(keys, ask) if keys else Counter[Key]()
        if self._strays and not more:
            if self._strayed:
                return False
            message = f"a request for {len(keys)} of its keys brings rows of other keys and none of theirs"
            self._refuse(f"of {len(asked)} keys in one request some are not read: {message}", 1)
            return True
        if all(count <= counts.get(key, 0) for key, count in more.items()):
            return False
        fitting = min(len(counts), sum(counts.values()) // max([*more.values(), *counts.values()]))
        self._refuse(
            f"a request for {len(asked)} keys brings {sum(counts.values())} rows, of {len(counts)} keys, "
            "and a request for some of them alone brings more of those",
            max(1, fitting),
        )
        return True

    def _refuse(self, message: str, size: int) -> None:
        hint = f"declare batch.size: {size} for this lookup" if size > 1 else _ONE_BY_ONE
        self._refused = message, hint


def _length(keys: Keys) -> int:
    return sum(len(str(value).encode()) + 1 for key in keys for value in key)


def _elsewhere(asked: Keys, full: Keys, empty: Keys) -> list[Key]:
    """Keys without rows turned round, between as few as may be that have some: none where it stood, from either end.

    So whoever drops one place of every request drops another key, and whoever cuts answers short cuts less.
    """
    stood = {(key, place) for place, key in enumerate(asked)}
    stood |= {(key, place - len(asked)) for place, key in enumerate(asked)}
    ways = itertools.product(range(min(len(full), _SHIFTS) + 1), repeat=2)
    for before, behind in sorted((way for way in ways if sum(way) <= len(full)), key=sum):
        again = [*full[::-1][:before], *empty[::-1], *full[:behind]]
        places = ((key, place) for place, key in enumerate(again))
        if not any((key, place) in stood or (key, place - len(again)) in stood for key, place in places):
            return again
    return [*full[-1:], *empty[::-1], *full[: len(full) > 1]]


_ONE_BY_ONE = (
    "leave batch out of this lookup, or give it the separator and the parameter that the source takes"
)
