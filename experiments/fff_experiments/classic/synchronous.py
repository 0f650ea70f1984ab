"""The synchronous eddy of 2003: single-threaded, behind the iterator interface, with explicit instrumentation (S3 section 2.1).

`iter(eddy)` gives one result after another; Python's generators keep the computational state between two of
them, which the paper's operators do themselves. A join operator is *active* while it has an outstanding probe
tuple, that is an iterator of matches; the eddy keeps a stack of those. Selections are applied inline, without
a call of an operator.

Routing arrays are filled for the signatures that come up, a signature being the sources that a tuple consists
of and the operators it has passed. All are made anew every `reoptimize` source tuples: each lists the
operators that are semantically valid in the order of their rank, (1 - tuples generated per tuple routed) /
measured cost. As selections before the first join of an array are all applied to a tuple in this order, they
are taken together. Operators are instrumented for one source tuple in each such period, with whatever comes
of it. A tuple is an array of pointers to source tuples; one of a single source is made only when a join asks
for it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from math import inf
from typing import Any, TypeAlias

from fff_experiments.classic.query import ClassicQuery, JoinPredicate, Row, Value

#: A row of each source, None where the tuple does not span it; at the end the signature.
Pointers: TypeAlias = list[Any]
Test = Callable[[Row], bool]

#: Seconds that an operator is taken to cost before it has been instrumented.
UNKNOWN_S = 1e-6


@dataclass(slots=True)
class _Estimate:
    """What was seen of an operator: tuples routed to it, tuples that it generated, seconds that it took."""

    taken: int = 0
    produced: int = 0
    seconds: float = UNKNOWN_S


@dataclass(slots=True)
class _SynchronousOperator:
    """A selection of one source, or a join; its number is a bit of signatures. `alias`: of a selection."""

    number: int
    takes: Callable[[int], bool]
    test: Test | None = None
    alias: int = 0
    matches: Callable[[Pointers], Sequence[Pointers]] = lambda _: ()
    anywhere: _Estimate = field(default_factory=_Estimate)


@dataclass(slots=True)
class _Entry:
    """An operator in the array of one signature; until it has been seen there, what it did to any tuple counts."""

    operator: _SynchronousOperator
    here: _Estimate = field(default_factory=_Estimate)

    def rank(self) -> float:
        """(1 - tuples generated per tuple routed) / cost of a tuple."""
        seen = self.here if self.here.taken else self.operator.anywhere
        return (seen.taken - seen.produced) / seen.seconds

    def count(self, produced: int, seconds: float) -> None:
        """What came of one tuple."""
        here, anywhere = self.here, self.operator.anywhere
        here.taken += 1
        here.produced += produced
        here.seconds += seconds
        anywhere.taken += 1
        anywhere.produced += produced
        anywhere.seconds += seconds


class SymmetricHashJoin:
    """Both sides are hashed: a tuple is inserted on its own side and probes the other (S3 section 2.1.2)."""

    def __init__(self, predicate: JoinPredicate) -> None:
        self.sides = (predicate.left, predicate.right)
        self._tables: tuple[dict[Value, list[Pointers]], ...] = (defaultdict(list), defaultdict(list))

    def takes(self, span: int) -> bool:
        """Tuples of either side."""
        left, right = self.sides
        return (span >> left.alias & 1) != (span >> right.alias & 1)

    def matches(self, item: Pointers) -> Sequence[Pointers]:
        """Insert a tuple, and what it meets on the other side."""
        side = int(item[self.sides[0].alias] is None)
        column = self.sides[side]
        value = item[column.alias][column.index]
        if value is None:
            return ()
        self._tables[side][value].append(item)
        return self._tables[1 - side].get(value, ())


class SynchronousIndexJoin:
    """The outer tuple asks an index of the inner source, which exists beforehand (S3 section 2.1.3)."""

    def __init__(self, predicate: JoinPredicate, inner: int, index: dict[Value, list[Pointers]]) -> None:
        left, right = predicate.left, predicate.right
        self._outer = left if right.alias == inner else right
        self._inner = inner
        self._index = index

    def takes(self, span: int) -> bool:
        """Tuples with the outer source and without the inner one."""
        return bool(span >> self._outer.alias & 1) and not span >> self._inner & 1

    def matches(self, item: Pointers) -> Sequence[Pointers]:
        """What the index has."""
        return self._index.get(item[self._outer.alias][self._outer.index], ())


def index_of(query: ClassicQuery, alias: int, column: int) -> dict[Value, list[Pointers]]:
    """An index on a column of a relation, for `SynchronousIndexJoin`."""
    index: dict[Value, list[Pointers]] = defaultdict(list)
    for row in query.relations[alias].rows:
        if row[column] is not None:
            item: Pointers = [None] * len(query.relations) + [1 << alias]
            item[alias] = row
            index[row[column]].append(item)
    return dict(index)


class _Array:
    """The routing array of one signature: the operators that are valid there, in the order of their rank."""

    __slots__ = ("entries", "join", "selections", "signature", "tests", "valid")

    def __init__(self, signature: int, valid: Sequence[_SynchronousOperator]) -> None:
        self.valid = signature
        self.entries = [_Entry(operator) for operator in valid]
        self._compile()

    def _compile(self) -> None:
        """What a tuple does: the selections before the first join, then that join; the signature it has when it comes there."""
        first = next((place for place, one in enumerate(self.entries) if one.operator.test is None), None)
        self.selections = self.entries[:first]
        self.tests = [
            (one.operator.test, one.operator.alias)
            for one in self.selections
            if one.operator.test is not None
        ]
        self.join = None if first is None else self.entries[first]
        self.signature = self.valid
        for one in self.selections:
            self.signature |= 1 << one.operator.number

    def reorder(self) -> None:
        """Decide anew."""
        before = inf
        for entry in self.entries:
            seen = entry.here if entry.here.taken else entry.operator.anywhere
            rank = (seen.taken - seen.produced) / seen.seconds
            if rank > before:
                self.entries.sort(key=_Entry.rank, reverse=True)
                self._compile()
                return
            before = rank


def _spans(alias: int, signature: int) -> bool:
    return bool(signature >> alias & 1)


class SynchronousEddy:
    """A select-project-join block as an iterator. The join predicates form a tree; `indexed`: aliases with an index only.

    Args:
        reoptimize: source tuples between two decisions.
        clock: seconds, to instrument operators with.
    """

    def __init__(
        self,
        query: ClassicQuery,
        reoptimize: int,
        indexed: dict[int, dict[Value, list[Pointers]]] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        assert len(query.joins) == len(query.relations) - 1, "the joins form a tree"
        assert all(join.op == "=" for join in query.joins)
        self._query = query
        self._reoptimize = reoptimize
        self._indexed = indexed or {}
        self._clock = clock
        aliases = len(query.relations)
        self._operators: list[_SynchronousOperator] = []
        for selection in query.selections:
            takes = partial(_spans, selection.alias)
            number = aliases + len(self._operators)
            self._operators.append(_SynchronousOperator(number, takes, selection.test, selection.alias))
        for predicate in query.joins:
            join = self._join(predicate)
            self._operators.append(
                _SynchronousOperator(aliases + len(self._operators), join.takes, matches=join.matches)
            )
        self._arrays: dict[int, _Array] = {}
        self._decided: dict[int, _Array] = {}  # of those the ones decided on in this period

    def _join(self, predicate: JoinPredicate) -> SymmetricHashJoin | SynchronousIndexJoin:
        for alias in (predicate.left.alias, predicate.right.alias):
            if alias in self._indexed:
                return SynchronousIndexJoin(predicate, alias, self._indexed[alias])
        return SymmetricHashJoin(predicate)

    # ----------------------------------------------------------------------------------------- routing arrays

    @property
    def signatures(self) -> int:
        """How many routing arrays have been filled: one for each signature that came up."""
        return len(self._arrays)

    def order(self, signature: int) -> list[int]:
        """The routing array of a signature: numbers of operators, the one to go to first.

        Empty: such a tuple is a result.
        """
        entries = self._array(signature).entries
        return [entry.operator.number - len(self._query.relations) for entry in entries]

    def _array(self, signature: int) -> _Array:
        """Decided for this period."""
        array = self._arrays.get(signature)
        if array is None:
            valid = [
                one for one in self._operators if not signature >> one.number & 1 and one.takes(signature)
            ]
            array = self._arrays[signature] = _Array(signature, valid)
        array.reorder()
        self._decided[signature] = array
        return array

    # ---------------------------------------------------------------------------------------------- execution

    def __iter__(self) -> Iterator[Sequence[Row | None]]:
        """Results, as tuples of rows by alias."""
        scanned = [alias for alias in range(len(self._query.relations)) if alias not in self._indexed]
        if len(self._query.relations) == 1:
            return self._selected()
        return self._joined(scanned)

    def _selected(self) -> Iterator[Sequence[Row]]:
        """One source: nothing but selections, applied to the source tuple itself."""
        rows = iter(self._query.relations[0].rows)
        array, every = self._array(1), self._reoptimize - 1
        for row in rows:  # the first of a period is instrumented
            array.reorder()
            if self._instrumented([row], array):
                yield (row,)
            if not every:
                continue
            # An iterator on top of another, in the chosen order: each tuple is pulled through all of them by
            # itself.
            passing: Iterator[Row] = islice(rows, every)
            for test, _ in array.tests:
                passing = filter(test, passing)
            yield from zip(passing, strict=False)

    def _instrumented(self, item: list[Any], array: _Array) -> bool:
        """Apply the selections of a tuple's routing array, each timed."""
        clock = self._clock
        began = clock()
        for entry, (test, alias) in zip(array.selections, array.tests, strict=True):
            passed = test(item[alias])
            ended = clock()
            entry.count(bool(passed), ended - began)
            if not passed:
                return False
            began = ended
        return True

    def _sources(self, scanned: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """A tuple of each source in turn."""
        inputs = {alias: iter(self._query.relations[alias].rows) for alias in scanned}
        for alias in cycle(scanned):
            if alias in inputs:
                row = next(inputs[alias], None)
                if row is None:
                    del inputs[alias]
                    if not inputs:
                        return
                else:
                    yield alias, row

    def _joined(self, scanned: Sequence[int]) -> Iterator[Sequence[Row | None]]:
        """Joins: the stack of active operators."""
        aliases = len(self._query.relations)
        places = [[alias for alias in range(aliases) if span >> alias & 1] for span in range(1 << aliases)]
        spans = len(places) - 1
        empty: Pointers = [None] * (aliases + 1)
        stack: list[tuple[Iterator[Pointers], Pointers, int]] = []
        decided, left, clock = self._decided, 0, self._clock
        for alias, row in self._sources(scanned):
            instrument = not left
            if instrument:
                decided.clear()
                left = self._reoptimize
            left -= 1
            item, signature = empty.copy(), 1 << alias
            item[alias] = row
            while True:
                array = decided.get(signature) or self._array(signature)
                passes = True
                if instrument:
                    passes = self._instrumented(item, array)
                else:
                    for test, of in array.tests:
                        if not test(item[of]):
                            passes = False
                            break
                if passes:
                    join = array.join
                    if join is None:
                        yield item[:-1]
                    else:
                        item[-1] = array.signature
                        began = clock() if instrument else 0.0
                        joined = join.operator.matches(item)
                        if instrument:
                            join.count(len(joined), clock() - began)
                        if joined:
                            stack.append((iter(joined), item, 1 << join.operator.number))
                while stack:
                    matches, probe, passed = stack[-1]
                    match = next(matches, None)
                    if match is not None:
                        item = match.copy()
                        for place in places[probe[-1] & spans]:
                            item[place] = probe[place]
                        signature = probe[-1] | match[-1] | passed
                        break
                    stack.pop()
                else:
                    break
