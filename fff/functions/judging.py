"""A function whose source is asked for the verdicts that its proxy leaves: those of the proxy stand beside its own."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from fff.catalog import Key, Keys, LookupMethod, Page, ScanMethod, SourceAdapter, Table
from fff.catalog.foreign import error_line
from fff.errors import SourceError
from fff.functions.cascade import Cascade, Proxy
from fff.functions.threads import called, one_for_each
from fff.stats import AccessMeter
from fff.structs import Struct


class _InTurn(Struct):
    """A cascade, and the last of those who have decided and not yet given their verdicts."""

    cascade: Cascade
    last: asyncio.Future[None] | None = None

    @contextlib.contextmanager
    def turn(self) -> Iterator[asyncio.Future[None]]:
        """What to wait for before verdicts are given: all who began before have given theirs, or will not."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        before = self.last
        if before is None:
            before = loop.create_future()
            before.set_result(None)
        self.last = done
        try:
            yield before
        finally:
            before.add_done_callback(lambda _: done.set_result(None))


class ProxiedFunction:
    """Looks verdicts up by a proxy, and in the source where that cannot be believed. Implements `SourceAdapter`.

    Args:
        source: of the function, its oracle.
        proxy: stands for it.
        timeout: seconds for a call of the proxy; None: any time.
        redacted: text without secrets.
    """

    def __init__(
        self, source: SourceAdapter, proxy: Proxy, timeout: float | None, redacted: Callable[[str], str]
    ) -> None:
        self.name = source.name
        self.tables = source.tables
        self._source = source
        self._proxy = proxy
        self._timeout = timeout
        self._redacted = redacted

    def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncIterator[Page]:
        """A function has no rows but those it is asked for."""
        return self._source.scan(table, method, columns, meter=meter, window=window)

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """A verdict for each key. Raises SourceError where the oracle does not answer in full."""
        for start in range(0, len(keys), method.batch_size):
            some = keys[start : start + method.batch_size]
            verdicts = await self._judged(table, method, some, meter)
            known = {
                field.name: pa.array([key[place] for key in some], field.arrow)
                for place, field in enumerate(table.columns[:-1])
            }
            known[table.columns[-1].name] = pa.array(verdicts, pa.bool_())
            yield Page(pa.RecordBatch.from_arrays([known[name] for name in columns], list(columns)))

    async def close(self) -> None:
        """Close the source."""
        await self._source.close()

    async def _judged(
        self, table: Table, method: LookupMethod, keys: Keys, meter: AccessMeter
    ) -> list[bool | None]:
        """The verdicts for some keys: of the proxy where it can be believed, of the oracle elsewhere."""
        if not isinstance(meter.memory, _InTurn):
            meter.memory = _InTurn(Cascade(self._proxy))
        cascade = meter.memory.cascade

        async def hear(places: Sequence[int]) -> dict[int, bool | None]:
            verdicts = await self._heard(table, method, [keys[place] for place in places], meter)
            return dict(zip(places, verdicts, strict=True))

        scores = await self._scores(table, keys, meter, batched=method.batch_size > 1)
        with meter.memory.turn() as before:
            judging = cascade.decide(scores, keys)
            try:
                heard = await hear(judging.asked)
                await asyncio.shield(before)
                if not cascade.holds(judging, _trues(heard)):
                    heard |= await hear(list(judging.believed))
            except BaseException:
                cascade.fail(judging)
                raise
            cascade.settle(judging, _trues(heard))
        if len(heard) < len(keys):
            meter.warn(
                f"{table.name}: verdicts by its proxy; precision at least {self._proxy.precision:g} and recall at least "
                f"{self._proxy.recall:g}, with a confidence of {self._proxy.confidence:g}",
                len(keys) - len(heard),
            )
        return [heard.get(place, judging.believed.get(place)) for place in range(len(keys))]

    async def _heard(
        self, table: Table, method: LookupMethod, keys: Keys, meter: AccessMeter
    ) -> list[bool | None]:
        """What the oracle says of each key; NULL where it has no value. Raises SourceError."""
        if not keys:
            return []
        names = [field.name for field in table.columns]
        verdicts: dict[Key, bool | None] = {}
        pages = self._source.lookup(table, method, names, keys, meter=meter)
        async for page in pages:
            if page.truncated is not None:
                raise page.error or SourceError(page.truncated, source=table.source, table=table.name)
            *arguments, values = (column.to_pylist() for column in page.rows.columns)
            verdicts |= dict(zip(map(findable, zip(*arguments, strict=True)), values, strict=True))
        return [verdicts.get(findable(key)) for key in keys]

    async def _scores(
        self, table: Table, keys: Keys, meter: AccessMeter, *, batched: bool
    ) -> list[float | None]:
        """The proxy's score for each key, None where it has none to give: then the function is asked."""
        try:
            result = await asyncio.wait_for(called(self._proxy.run, keys, batched=batched), self._timeout)
            each = one_for_each(result, len(keys)) if batched else [result]
            scores: list[float | None] = pa.array(each, pa.float64()).to_pylist()
        except Exception as error:  # noqa: BLE001 - whatever a user's function does, it is told of
            reason = self._redacted(error_line(error))
            meter.warn(f"{table.name}: its proxy failed, and the function was asked: {reason}")
            return [None] * len(keys)
        return scores


def findable(key: Key) -> Key:
    """Values by which the same ones are found again: NaN is equal to itself in SQL, and in Python one object alone is."""
    return tuple(math.nan if value != value else value for value in key)  # noqa: PLR0124


def _trues(verdicts: Mapping[int, bool | None]) -> dict[int, bool]:
    """What an oracle says, NULL being as good as false."""
    return {place: verdict is True for place, verdict in verdicts.items()}
