"""Join modules: ripple joins, which hold the tuples they have been given, and index joins, which hold a cache."""

from __future__ import annotations

from collections.abc import Sequence

from fff_experiments.classic.modules import Join, RoutedTuple, price
from fff_experiments.classic.query import ClassicIndex, ClassicMoment, Cost, JoinPredicate, Row, Rows, Value


class HashRippleJoin(Join):
    """The pipelining hash join: each tuple enters the hash table of its side, then probes that of the other side.

    In constant symmetry, without barriers. What it has been given is hidden from every other join.
    """

    def __init__(
        self,
        name: str,
        capacity: int,
        predicate: JoinPredicate,
        cost: Cost,
        residual: Sequence[JoinPredicate] = (),
    ) -> None:
        assert predicate.op == "="
        sides = predicate.left.alias, predicate.right.alias
        super().__init__(name, capacity, sides, residual)
        self._cost = cost
        self._columns = predicate.left.index, predicate.right.index
        self._tables: tuple[dict[Value, list[RoutedTuple]], ...] = ({}, {})

    def takes(self, span: int) -> bool:
        """Tuples that span one of the sides."""
        left, right = self.sides
        return (span >> left & 1) != (span >> right & 1)

    def cost(self, item: RoutedTuple, moment: ClassicMoment) -> float:  # noqa: ARG002
        """The same for any tuple."""
        return price(self._cost, moment)

    def process(self, item: RoutedTuple) -> Sequence[RoutedTuple]:
        """Insert, then probe. NULL matches nothing, so it is not kept either."""
        side = 0 if item.span >> self.sides[0] & 1 else 1
        row = item.rows[self.sides[side]]
        assert row is not None
        key = row[self._columns[side]]
        if key is None:
            return ()
        self._tables[side].setdefault(key, []).append(item)
        matches = self._tables[1 - side].get(key, ())
        joined = (self.concatenated(item, match.rows, match.span, match.done) for match in matches)
        return [result for result in joined if result is not None]


class BlockRippleJoin(Join):
    """For predicates that are no equalities, or none at all: blocks of one side meet all of the other side so far.

    A corner is reached when a block has been joined; the next block is of the side that has more tuples
    waiting, so the corners follow the rates of the inputs. A block is cut short when nothing else is queued,
    so no tuple waits for more.
    """

    def __init__(
        self,
        name: str,
        capacity: int,
        sides: tuple[int, int],
        *,
        cost: Cost,
        block: int,
        predicates: Sequence[JoinPredicate] = (),
    ) -> None:
        super().__init__(name, capacity, sides, predicates)
        self._cost = cost
        self._block = block
        self._swept: tuple[list[RoutedTuple], ...] = ([], [])
        self._waiting: tuple[list[RoutedTuple], ...] = ([], [])

    def takes(self, span: int) -> bool:
        """Tuples that span one of the sides."""
        left, right = self.sides
        return (span >> left & 1) != (span >> right & 1)

    def cost(self, item: RoutedTuple, moment: ClassicMoment) -> float:
        """The tuple's own, and its part in one pass over the other side for each block."""
        side = 0 if item.span >> self.sides[0] & 1 else 1
        return price(self._cost, moment) * (1 + len(self._swept[1 - side]) / self._block)

    def process(self, item: RoutedTuple) -> Sequence[RoutedTuple]:
        """Nothing until a block is full or nothing else is queued; then all that the waiting tuples match."""
        self._waiting[0 if item.span >> self.sides[0] & 1 else 1].append(item)
        matches: list[RoutedTuple] = []
        while True:
            side = 0 if len(self._waiting[0]) >= len(self._waiting[1]) else 1
            waiting = self._waiting[side]
            if not waiting or (len(waiting) < self._block and self.queue):
                return matches
            for one in waiting:
                for other in self._swept[1 - side]:
                    joined = self.concatenated(one, other.rows, other.span, other.done)
                    if joined is not None:
                        matches.append(joined)
            self._swept[side].extend(waiting)
            waiting.clear()


class IndexJoin(Join):
    """Asks an index for the matches of each tuple: a selection, but one that may return more than it takes.

    Args:
        cache: answers by key. Its own unless another join's is given; an index that is not to be cached
            leaves it empty.
    """

    def __init__(
        self,
        name: str,
        capacity: int,
        predicate: JoinPredicate,
        *,
        inner: int,
        rows: Sequence[Row],
        index: ClassicIndex,
        aliases: int,
        residual: Sequence[JoinPredicate] = (),
        cache: dict[Value, tuple[Row, ...]] | None = None,
    ) -> None:
        assert predicate.op == "="
        assert predicate.column_of(inner) == index.column
        outer = predicate.right.alias if inner == predicate.left.alias else predicate.left.alias
        super().__init__(name, capacity, (outer, inner), residual, index.concurrency)
        self.cache = {} if cache is None else cache
        self.lookups: list[float] = []  # when each began
        self._index = index
        self._column = predicate.column_of(outer)
        self._aliases = aliases
        self._rows: dict[Value, list[Row]] = {}
        for row in rows:
            self._rows.setdefault(row[index.column], []).append(row)

    def takes(self, span: int) -> bool:
        """Tuples that span the outer side only."""
        outer, inner = self.sides
        return bool(span >> outer & 1) and not span >> inner & 1

    def _key(self, item: RoutedTuple) -> Value:
        row = item.rows[self.sides[0]]
        assert row is not None
        return row[self._column]

    def cost(self, item: RoutedTuple, moment: ClassicMoment) -> float:
        """That of a lookup, unless its answer is known. NULL is not looked up."""
        key = self._key(item)
        if key is None or key in self.cache:
            return price(self._index.cached, moment)
        self.lookups.append(moment.time)
        return price(self._index.remote, moment)

    def process(self, item: RoutedTuple) -> Sequence[RoutedTuple]:
        """The tuple with each match."""
        key = self._key(item)
        if key is None:
            return ()
        matches = self.cache.get(key)
        if matches is None:
            matches = tuple(self._rows.get(key, ()))
            if self._index.caches:
                self.cache[key] = matches
        inner = self.sides[1]
        joined_tuples = []
        for match in matches:
            rows: Rows = tuple(match if alias == inner else None for alias in range(self._aliases))
            joined = self.concatenated(item, rows, 1 << inner, 0)
            if joined is not None:
                joined_tuples.append(joined)
        return joined_tuples
