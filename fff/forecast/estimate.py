"""Intervals of requests, seconds and money. Retries, and what a source keeps on disk for later runs, are in no upper end.

A lower end holds whatever the tables turn out to be; where nothing is known, one request and no more. Upper
ends rest on what earlier runs have found, give or take a tenth, and are not there where nothing was found.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Literal

import pyarrow as pa

from fff.budget import Money
from fff.catalog import Cacheable, Catalog, LookupMethod, ScanMethod, Table
from fff.display.counts import counted
from fff.forecast.history import MethodFacts, TableFacts, TableHistory
from fff.sql.plan import BlockQuery, LookupBinding, Prepared
from fff.structs import Struct

#: By how much tables may have changed since they were seen, and answers may be faster or slower than then.
_GROWTH, _PACE = 0.1, 2.0


class Interval(Struct, frozen=True):
    """From `low` to `high`; None: nobody knows how many."""

    low: float = 0.0
    high: float | None = None

    def __add__(self, other: Interval) -> Interval:
        known = self.high is not None and other.high is not None
        return Interval(self.low + other.low, (self.high or 0) + (other.high or 0) if known else None)

    def times(self, factor: float) -> Interval:
        """As many times as that."""
        return Interval(self.low * factor, None if self.high is None else self.high * factor)


class AccessForecast(Struct, frozen=True):
    """What one access method will be asked, and what that rests on. `price` is that of a request."""

    source: str
    table: str
    kind: Literal["scan", "lookup"]
    name: str
    requests: Interval
    seconds: Interval
    price: Money | None
    rests_on: tuple[str, ...]


class Forecast(Struct, frozen=True):
    """What a statement will ask. Its access methods run side by side, or one after the other."""

    access: tuple[AccessForecast, ...]

    @property
    def requests(self) -> Interval:
        """Of all sources."""
        return sum((one.requests for one in self.access), Interval(0, 0))

    @property
    def seconds(self) -> Interval:
        """Of fetching alone."""
        return seconds_of(self.access)

    @property
    def cost(self) -> dict[str, Interval]:
        """By currency."""
        return cost_of(self.access)


def seconds_of(access: Sequence[AccessForecast]) -> Interval:
    """Seconds that access methods take together."""
    each = [one.seconds for one in access]
    return Interval(max((one.low for one in each), default=0.0), sum(each, Interval(0, 0)).high)


def cost_of(access: Iterable[AccessForecast]) -> dict[str, Interval]:
    """What requests cost, by currency."""
    by_currency: dict[str, Interval] = {}
    for one in access:
        if one.price is not None:
            cost = one.requests.times(float(one.price.amount))
            by_currency[one.price.currency] = by_currency.get(one.price.currency, Interval(0, 0)) + cost
    return by_currency


def forecast(
    prepared: Prepared,
    catalog: Catalog,
    history: TableHistory,
    *,
    kept: bool = False,
    held: Container[str] = frozenset(),
) -> Forecast:
    """What a statement will ask; sends nothing.

    `kept`: answers of earlier runs may serve it, whatever the specs say. `held`: tables that this session
    has read.
    """
    forecasts: dict[tuple[str, str, str], AccessForecast] = {}
    for block in prepared.blocks:
        if block.fetches:
            for one in _BlockEstimate(block, prepared, catalog, history, kept=kept, held=held).access():
                place = one.source, one.table, one.name
                forecasts[place] = _both(forecasts[place], one) if place in forecasts else one
    return Forecast(tuple(forecasts.values()))


def _both(one: AccessForecast, other: AccessForecast) -> AccessForecast:
    """What two blocks ask of an access method: they share what they both want."""

    def joined(a: Interval, b: Interval) -> Interval:
        return Interval(max(a.low, b.low), (a + b).high)

    high = max(one.requests.high or 0, other.requests.high or 0)
    same = one.kind == "scan" and one.rests_on == other.rests_on
    requests, seconds = joined(one.requests, other.requests), joined(one.seconds, other.seconds)
    if same and requests.high is not None:
        requests, seconds = Interval(requests.low, high), max(one.seconds, other.seconds, key=_high)
    rests_on = tuple(dict.fromkeys((*one.rests_on, *other.rests_on)))
    return AccessForecast(one.source, one.table, one.kind, one.name, requests, seconds, one.price, rests_on)


def _high(interval: Interval) -> float:
    return math.inf if interval.high is None else interval.high


class _BlockEstimate:
    """Of one block."""

    def __init__(
        self,
        block: BlockQuery,
        prepared: Prepared,
        catalog: Catalog,
        history: TableHistory,
        *,
        kept: bool,
        held: Container[str],
    ) -> None:
        self._block = block
        self._prepared = prepared
        self._catalog = catalog
        self._history = history
        self._kept, self._held = kept, held
        self._fed = {feed.table: feed for feed in block.feeds}
        plan = block.plan
        self._places = {
            f"{alias.name}.{field.name}": (ordinal, field.name)
            for ordinal, alias in enumerate(plan.aliases)
            for field in plan.tables[alias.table].columns
        }
        self._asking: set[int] = set()  # aliases whose rows are being estimated

    def access(self) -> list[AccessForecast]:
        """Every access method of the block."""
        intervals = []
        for number, (table, planned) in enumerate(
            zip(self._block.tables, self._block.plan.tables, strict=True)
        ):
            if number in self._fed or not table.source:
                continue  # who feeds it is told of; what no source holds is not asked for
            for one in planned.scans:
                scan = next(method for method in table.scans if method.name == one.name)
                intervals.append(self._of(table, "scan", scan, *self._scan(number, scan)))
            for two in planned.lookups:
                lookup = next(method for method in table.lookups if method.name == two.name)
                intervals.append(self._of(table, "lookup", lookup, *self._lookup(number, lookup)))
        return intervals

    def _of(
        self,
        table: Table,
        kind: Literal["scan", "lookup"],
        method: ScanMethod | LookupMethod,
        requests: Interval,
        rests_on: Sequence[str],
    ) -> AccessForecast:
        if (served := self._served(table)) is not None:
            requests, rests_on = Interval(0, requests.high), (*rests_on, f"{served} may serve")
        facts = self._facts(table)[0]
        known = None if facts is None else facts.methods.get(method.name)
        seconds = _seconds(requests, known, table.rates, method.units)
        return AccessForecast(
            table.source, table.name, kind, method.name, requests, seconds, method.price, tuple(rests_on)
        )

    def _served(self, table: Table) -> str | None:
        """What may answer in the place of the source."""
        if table.full_name in self._held:
            return "what was read before"
        adapter = self._catalog.adapter_of(table)
        kept = isinstance(adapter, Cacheable) and (self._kept or bool(adapter.cache_ttl()))
        return "answers of earlier runs" if kept else None

    def _facts(self, table: Table) -> tuple[TableFacts | None, bool]:
        """What is known of a table, and whether that is of just the rows that are asked for."""
        facts = self._history.of(self._catalog, table, table.quals)
        if facts is not None or not table.quals:
            return facts, True
        return self._history.of(self._catalog, table, ()), False

    # -------------------------------------------------------------------------------------------------- scans

    def _scan(self, number: int, scan: ScanMethod) -> tuple[Interval, list[str]]:
        table, planned = self._block.tables[number], self._block.plan.tables[number]
        aliases = [alias for alias in self._block.plan.aliases if alias.table == number]
        only = not planned.lookups and planned.scans[0].name == scan.name
        begins = any(alias.active and not alias.seeds for alias in aliases) and not self._fed
        begins = begins and planned.scans[0].name == scan.name
        facts, exact = self._facts(table)
        known = None if facts is None else facts.methods.get(scan.name)
        if facts is None or known is None:
            whole = only and self._block.eager and len(planned.scans) == 1 and not table.quals
            return Interval((scan.requests if whole else 1) if begins else 0), ["its size is not known yet"]
        seen = f"{counted(known.rows, 'row')} in {counted(known.requests, 'request')}{_seen(facts)}"
        high = _more(known.requests)
        if not exact:
            seen += ", without the conditions that requests carry here"
        elif only and begins and self._block.eager and len(planned.scans) == 1:
            return Interval(max(1, _less(known.requests)), high), [seen]
        return Interval(1 if begins else 0, high), [seen]

    # ------------------------------------------------------------------------------------------------ lookups

    def _lookup(self, number: int, lookup: LookupMethod) -> tuple[Interval, list[str]]:
        table, planned = self._block.tables[number], self._block.plan.tables[number]
        uses = [
            use
            for use in self._block.bindings
            if use.method == lookup.name and self._block.plan.aliases[use.alias].table == number
        ]
        facts = self._facts(table)[0]
        known = None if facts is None else facts.methods.get(lookup.name)
        keys, rests_on = Interval(0, 0), list[str]()
        for use in uses:
            some, why = self._keys(use, alone=len(planned.scans) + len(planned.lookups) == 1)
            keys += some
            rests_on += [one for one in why if one not in rests_on]
        if not uses:
            rests_on = ["only for keys that another lookup does not answer"]
            keys = Interval(0, None)
        pages, why = self._pages(table, lookup, known, facts)
        rests_on += why
        low = math.ceil(keys.low / lookup.batch_size) * (1 if table.quals else lookup.requests)
        high = None
        if keys.high is not None and pages is not None:
            # Batches may leave half full, and are checked now and then.
            size = 1 if lookup.shared else lookup.batch_size
            part = 1 if size == 1 else min(2.0, size)
            high = math.ceil(round(min(keys.high, part * keys.high / size + 8) * pages, 6))
            high = max(high, low)
        return Interval(low, high), rests_on

    def _pages(
        self, table: Table, lookup: LookupMethod, known: MethodFacts | None, facts: TableFacts | None
    ) -> tuple[float | None, list[str]]:
        """Requests that an answer to one batch takes."""
        names = {name.lower() for name in lookup.keys}
        single = table.primary_key and {key.lower() for key in table.primary_key} <= names
        if (table.function or single) and not lookup.repeats:
            return float(lookup.requests), []
        if known is None or facts is None or not known.keys:
            return None, ["how many pages an answer has is not known yet"]
        each = known.requests / max(1, known.keys / lookup.batch_size)
        pages = 1.0 if each <= 1 else each * (1 + _GROWTH)
        return pages, [f"{counted(known.requests, 'request')} for {counted(known.keys, 'key')}{_seen(facts)}"]

    def _keys(self, use: LookupBinding, *, alone: bool) -> tuple[Interval, list[str]]:
        """How many different keys a lookup is asked for."""
        plan = self._block.plan
        if use.seed is not None:
            scans = plan.tables[plan.aliases[use.alias].table].scans
            certain = not (scans or self._block.feeds or len(plan.aliases) > 1 or plan.limit is not None)
            word = "key" if use.seed == 1 else "keys"
            return Interval(use.seed if certain and alone else 0, use.seed), [
                f"{use.seed:,} {word} in the query"
            ]
        total, rests_on = Interval(1, 1), list[str]()
        for key in use.keys:
            if key.values is not None:
                total = total.times(len(key.values))
                continue
            counts = [self._distinct(column) for column in key.columns]
            rests_on += [why for _, why in counts]
            some = sum((count for count, _ in counts), Interval(0, 0)) if counts else Interval(0, None)
            total = Interval(
                total.low * some.low,
                None if total.high is None or some.high is None else total.high * some.high,
            )
        # All keys of the other table, and no fewer: nothing else may drop its rows.
        certain = (
            alone
            and len(use.keys) == 1
            and len(use.keys[0].columns) == 1
            and len(plan.aliases) == 2
            and not (plan.predicates or self._block.feeds)
            and self._block.eager
            and all(alias.kind in ("inner", "left") for alias in plan.aliases)
            and not any(alias.seeds for alias in plan.aliases)
        )
        return (total if certain else Interval(0, total.high)), rests_on

    def _distinct(self, column: str) -> tuple[Interval, str]:
        """How many different values of a column can come to be keys, and why."""
        if column not in self._places:
            return Interval(0, None), f"how many different {column} there are is not known"
        alias, name = self._places[column]
        number = self._block.plan.aliases[alias].table
        spelled = _spelled(self._block.tables[number])
        if spelled is not None:
            different = len(spelled[name].unique().drop_null())
            return Interval(different, different), f"{different:,} different {column} in the query"
        if number not in self._fed:
            table = self._block.tables[number]
            facts, _ = self._facts(table)
            count = None if facts is None else facts.distinct.get(name)
            if facts is None or count is None:
                facts = self._history.of(self._catalog, table, ())
                count = None if facts is None else facts.distinct.get(name)
            if facts is not None and count is not None:
                low = 0 if table.quals else _less(count)
                seen = f"{count:,} different {column}{_seen(facts)}"
                return Interval(low, _more(count)), seen
        rows = self._rows(alias)
        if rows is None:
            return Interval(0, None), f"how many different {column} there are is not known yet"
        return Interval(0, rows), f"at most {math.ceil(rows):,} rows that have a {column}"

    def _rows(self, alias: int) -> float | None:
        """How many rows of an alias there can be; None where nobody knows."""
        if alias in self._asking:
            return None
        self._asking.add(alias)
        try:
            return self._rows_of(alias)
        finally:
            self._asking.discard(alias)

    def _rows_of(self, alias: int) -> float | None:
        number = self._block.plan.aliases[alias].table
        table, planned = self._block.tables[number], self._block.plan.tables[number]
        if number in self._fed:
            return self._fed_keys(number)
        spelled = _spelled(table)
        if spelled is not None:
            return len(spelled)
        facts, _ = self._facts(table)
        seen = {} if facts is None else facts.methods
        most = [seen[scan.name].rows * (1 + _GROWTH) for scan in planned.scans if scan.name in seen]
        if self._block.plan.aliases[alias].seeds or not planned.scans:
            each = [self._rows_by(use, table, facts) for use in self._block.bindings if use.alias == alias]
            known = [one for one in each if one is not None]
            most += [max(known)] if known and len(known) == len(each) else []
        return min(most, default=None)

    def _rows_by(self, use: LookupBinding, table: Table, facts: TableFacts | None) -> float | None:
        """How many rows one lookup can bring."""
        keys = self._keys(use, alone=False)[0].high
        method = next(one for one in table.lookups if one.name == use.method)
        if keys is None:
            return None
        if table.primary_key and {*map(str.lower, table.primary_key)} <= {*map(str.lower, method.keys)}:
            return keys
        known = None if facts is None else facts.methods.get(use.method)
        if known is None or not known.keys:
            return keys if table.function else None
        return keys * known.rows / known.keys * (1 + _GROWTH)

    def _fed_keys(self, number: int) -> float | None:
        """How many keys other blocks can find."""
        feed, total = self._fed[number], 0.0
        if feed.query is not None or feed.rows is not None:
            return None
        for source in feed.sources:
            block = self._prepared.blocks[source.block]
            known = self._prepared, self._catalog, self._history
            other = _BlockEstimate(block, *known, kept=self._kept, held=self._held)
            keys: float | None = 1.0
            for index in (one for one in source.columns if isinstance(one, int)):
                column = block.plan.output[index]
                name = f"{block.plan.aliases[column.alias].name}.{block.plan.field_of(column).name}"
                some = other._distinct(name)[0].high
                keys = None if keys is None or some is None else keys * some
            if keys is None:
                return None
            total += keys
        return total


def _spelled(table: Table) -> pa.Table | None:
    """The rows of a table that the text of the statement spells out."""
    rows = [scan.endpoint for scan in table.scans if not table.source]
    return rows[0] if rows and isinstance(rows[0], pa.Table) else None


def _more(number: int) -> int:
    """What a number may have grown to since it was seen."""
    return math.ceil(round(number * (1 + _GROWTH), 6))


def _less(number: int) -> int:
    """What it may have shrunk to."""
    return math.floor(round(number * (1 - _GROWTH), 6))


def _seconds(
    requests: Interval,
    facts: MethodFacts | None,
    rates: Sequence[tuple[float, float]],
    units: int | None,
) -> Interval:
    """How long so many requests take: as fast as was seen, and no faster than the stated rates.

    Each counts as so many of these; None: nobody knows, one at least.
    """
    declared = [_held(requests.low, limit / (units or 1), per) for limit, per in rates]
    if facts is None:
        return Interval(max(declared, default=0.0), 0.0 if requests.high == 0 else None)
    low = max([requests.low * facts.seconds / _PACE, *declared])
    if requests.high is None or (units is None and rates and requests.high):
        return Interval(low, None)
    rounds = math.ceil(requests.high / facts.at_once)
    high = rounds * facts.at_once * facts.seconds * _PACE
    return Interval(low, max([high, *(requests.high * (units or 1) / limit * per for limit, per in rates)]))


def _held(requests: float, limit: float, per: float) -> float:
    """Seconds between the first and the last of requests of which so many are allowed in any so many seconds."""
    return max(0.0, math.ceil(requests / max(limit, 1)) - 1) * per


def _seen(facts: TableFacts, now: Callable[[float], time.struct_time] = time.gmtime) -> str:
    return f", seen {time.strftime('%Y-%m-%d', now(facts.at))}"
