"""A chain of scans through SteMs in memory: unbuilt tables, SteMs of several tables, eviction (S4 sections 3.5 and 6).

Row i of a table joins row j of the next one where its right key is the left key of j. Tuples grow to the
right, then to the left. Counted are probes, builds and what is held: rows and tuples in SteMs, and those that
wait to probe once more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

#: Left key and right key.
Link = tuple[int, int]


@dataclass(frozen=True)
class ChainRules:
    """What is stored of a chain, and for how long.

    Args:
        unbuilt: tables that are not stored; their rows probe again and again until the others are complete.
        last_match: they meet no row twice (LastMatchTimeStamp).
        stays: they do so; else they go after the first probe.
        retry: rows that come to a SteM before it is probed again.
        lets_go: a table whose rows go once all others are complete (ledger P12).
        pairs: tuples of the first two tables, and of the others, have a SteM too.
        evicts: rows without a match in a neighbour go once it is complete (ledger P27).
        by_eot: they wait for that; else they go at their first probe.
    """

    unbuilt: frozenset[int] = frozenset()
    last_match: bool = True
    stays: bool = True
    retry: int = 50
    lets_go: int | None = None
    pairs: bool = False
    evicts: bool = False
    by_eot: bool = True


@dataclass(frozen=True)
class _Span:
    """A tuple over neighbouring tables from `first` on; `stamp` is infinite as long as a component is unbuilt."""

    first: int
    rows: tuple[int, ...]
    stamp: float

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


@dataclass
class ChainCounts:
    """What came of it."""

    results: list[tuple[int, ...]] = field(default_factory=list)
    probes: int = 0
    builds: int = 0
    held: int = 0  # at most
    evicted: int = 0


_Pairs = list[tuple[float, tuple[int, ...]]]


class StoredChain:
    """The SteMs of a chain and its eddy."""

    def __init__(self, tables: Sequence[Sequence[Link]], rules: ChainRules) -> None:
        self.tables, self.rules, self.counts = tables, rules, ChainCounts()
        self._left = self._indexes()
        self._right = self._indexes()
        #: Tuples of the first two tables by their right key, of the others by their left one.
        self._pairs: tuple[dict[int, _Pairs], dict[int, _Pairs]] = (defaultdict(list), defaultdict(list))
        self._to_come = [len(rows) for rows in tables]
        self._waiting: dict[int, list[tuple[_Span, float]]] = {table: [] for table in range(len(tables))}
        self._since = [0] * len(tables)
        self._clock = 0
        self._stored = 0

    def _indexes(self) -> list[dict[int, dict[int, float]]]:
        """By table and key: rows and their timestamps."""
        return [defaultdict(dict) for _ in self.tables]

    def run(self, order: Sequence[int]) -> ChainCounts:
        """Rows come in this order of their tables."""
        number = [0] * len(self.tables)
        for table in order:
            self._arrive(table, number[table])
            number[table] += 1
            waiting = sum(map(len, self._waiting.values()))
            self.counts.held = max(self.counts.held, self._stored + waiting)
        assert not any(self._waiting.values()), "all are complete"
        return self.counts

    def _arrive(self, table: int, row: int) -> None:
        self._to_come[table] -= 1
        if table in self.rules.unbuilt:
            self._go_on(_Span(table, (row,), inf))
        elif not self._dead(table, row):
            self._clock += 1
            self._build(table, row)
            self._go_on(_Span(table, (row,), self._clock))
        self._since[table] += 1
        if self._since[table] >= self.rules.retry or not self._to_come[table]:
            self._since[table] = 0
            again, self._waiting[table] = self._waiting[table], []
            for tuple_, last in again:
                self._extend(tuple_, table, last)
        if not self._to_come[table]:
            self._completed(table)

    def _build(self, table: int, row: int) -> None:
        if table == self.rules.lets_go and self._others_complete(table):
            return
        left, right = self.tables[table][row]
        self._left[table][left][row] = self._right[table][right][row] = self._clock
        self.counts.builds += 1
        self._stored += 1

    def _others_complete(self, table: int) -> bool:
        return not any(count for other, count in enumerate(self._to_come) if other != table)

    def _completed(self, table: int) -> None:
        one = self.rules.lets_go
        if one is not None and self._others_complete(one):
            self._stored -= sum(map(len, self._left[one].values()))
            self._left[one].clear()
            self._right[one].clear()
        for near in (table - 1, table + 1) if self.rules.evicts else ():
            if 0 <= near < len(self.tables):
                for row in [row for rows in self._left[near].values() for row in rows]:
                    if self._dead(near, row):
                        self._evict(near, row)

    def _dead(self, table: int, row: int) -> bool:
        """Whether a row has no match in a neighbour, and will have none."""
        if not self.rules.evicts:
            return False
        left, right = self.tables[table][row]
        before = table > 0 and not self._to_come[table - 1] and not self._right[table - 1].get(left)
        after = table + 1 < len(self.tables) and not self._to_come[table + 1]
        return before or (after and not self._left[table + 1].get(right))

    def _evict(self, table: int, row: int) -> None:
        left, right = self.tables[table][row]
        if self._left[table][left].pop(row, None) is not None:
            del self._right[table][right][row]
            self._stored -= 1
            self.counts.evicted += 1

    def _go_on(self, tuple_: _Span) -> None:
        """A new tuple takes its next step."""
        pair = {(0, 1): 0, (2, 3): 1}.get((tuple_.first, tuple_.last)) if self.rules.pairs else None
        if pair is not None:
            self._meet_pairs(tuple_, pair)
        elif len(tuple_.rows) == len(self.tables):
            self.counts.results.append(tuple_.rows)
        else:
            self._extend(tuple_, self._next(tuple_), 0.0)

    def _next(self, tuple_: _Span) -> int:
        if self.rules.pairs:  # the other table of the pair
            return tuple_.first ^ 1
        return tuple_.last + 1 if tuple_.last + 1 < len(self.tables) else tuple_.first - 1

    def _extend(self, tuple_: _Span, table: int, last: float) -> None:
        """Probe a SteM; `last` is the timestamp up to which the tuple has met its rows."""
        self.counts.probes += 1
        after = table > tuple_.last
        end = (
            self.tables[tuple_.last][tuple_.rows[-1]] if after else self.tables[tuple_.first][tuple_.rows[0]]
        )
        matches = (self._left[table].get(end[1]) if after else self._right[table].get(end[0])) or {}
        wait = tuple_.stamp == inf and self._to_come[table] and self.rules.stays
        if wait:
            self._waiting[table].append((tuple_, self._clock if self.rules.last_match else 0.0))
        for row, stamp in list(matches.items()):
            if last < stamp < tuple_.stamp:
                rows = (*tuple_.rows, row) if after else (row, *tuple_.rows)
                self._go_on(_Span(min(tuple_.first, table), rows, tuple_.stamp))
        if not matches and self.rules.evicts and not self.rules.by_eot and len(tuple_.rows) == 1:
            self._evict(tuple_.first, tuple_.rows[0])

    def _meet_pairs(self, tuple_: _Span, side: int) -> None:
        """A tuple of two tables is stored, and probes the SteM of the other two."""
        key = self.tables[1][tuple_.rows[1]][1] if side == 0 else self.tables[2][tuple_.rows[0]][0]
        self._pairs[side][key].append((tuple_.stamp, tuple_.rows))
        self.counts.builds += 1
        self.counts.probes += 1
        self._stored += 1
        for stamp, rows in self._pairs[1 - side].get(key, ()):
            if stamp < tuple_.stamp:
                self.counts.results.append((*tuple_.rows, *rows) if side == 0 else (*rows, *tuple_.rows))


def every_result(tables: Sequence[Sequence[Link]]) -> list[tuple[int, ...]]:
    """What a chain must find, by nothing that is above; sorted."""
    tuples: list[tuple[int, ...]] = [(row,) for row in range(len(tables[0]))]
    for before, rows in pairwise(tables):
        by_key = defaultdict(list)
        for row, (left, _) in enumerate(rows):
            by_key[left].append(row)
        tuples = [(*one, row) for one in tuples for row in by_key[before[one[-1]][1]]]
    return sorted(tuples)
