"""The plans without an eddy that O1 to O3 compare with: loops, hash joins, symmetric hash joins and index joins by hand.

Results of joins are tuples of rows, one of each table; all tables are joined with the first on their first
column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from fff_experiments.classic.query import Row, Value

Test = Callable[[Row], bool]


def by_hand(rows: Iterable[Row], tests: Sequence[Test]) -> int:
    """The loop without an eddy, for one, three or five predicates."""
    count = 0
    match tests:
        case [first]:
            for row in rows:
                if first(row):
                    count += 1
        case [first, second, third]:
            for row in rows:
                if first(row) and second(row) and third(row):
                    count += 1
        case [first, second, third, fourth, fifth]:
            for row in rows:
                if first(row) and second(row) and third(row) and fourth(row) and fifth(row):
                    count += 1
    return count


def count(results: Iterable[object]) -> int:
    """What an aggregate above an eddy or a plan does: count its results."""
    passed = 0
    for _ in results:
        passed += 1
    return passed


def hash_joins(tables: Sequence[Sequence[Row]]) -> Iterator[tuple[Row, ...]]:
    """Base: hash tables over all tables but the first, which probes them in turn."""
    return index_joins(tables, [{row[0]: row for row in table} for table in tables[1:]])


def symmetric_hash_joins(tables: Sequence[Sequence[Row]]) -> Iterator[tuple[Row, ...]]:
    """SHJs: a static plan of symmetric hash joins, one on top of the other, that takes a tuple of each input in turn."""
    left: Iterator[tuple[Row, ...]] = ((row,) for row in tables[0])
    for table in tables[1:]:
        left = _symmetric(left, ((row,) for row in table))
    return left


def _symmetric(
    left: Iterator[tuple[Row, ...]], right: Iterator[tuple[Row, ...]]
) -> Iterator[tuple[Row, ...]]:
    sides: tuple[dict[Value, list[tuple[Row, ...]]], ...] = (defaultdict(list), defaultdict(list))
    inputs = [(0, left), (1, right)]
    while inputs:
        for side, source in tuple(inputs):
            item = next(source, None)
            if item is None:
                inputs.remove((side, source))
                continue
            key = item[0][0]
            sides[side][key].append(item)
            for match in sides[1 - side].get(key, ()):
                yield match + item if side else item + match


def index_joins(
    tables: Sequence[Sequence[Row]], indexes: Sequence[dict[Value, Row]]
) -> Iterator[tuple[Row, ...]]:
    """Base: the first table asks the indexes of the others in turn."""
    for row in tables[0]:
        partial = [row]
        for index in indexes:
            match = index.get(row[0])
            if match is None:
                break
            partial.append(match)
        else:
            yield tuple(partial)


def gathered(results: Iterable[Sequence[Row | None]]) -> int:
    """Each result as one row, as for `SELECT *`."""
    return len([[value for row in result for value in row or ()] for result in results])
