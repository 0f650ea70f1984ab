"""What the eddy of 2000 is asked: relations of real rows, predicates between two of them, selections."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from fff.dataflow.plan.expressions import Column

Value: TypeAlias = int | float | str | None
Row: TypeAlias = tuple[Value, ...]
Rows: TypeAlias = tuple[Row | None, ...]  # one place per alias; None where a tuple does not span it

Comparison: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class ClassicMoment:
    """What a cost may depend on: the virtual time, and how many rows all scans have delivered so far."""

    time: float
    read: int


#: Units of work one tuple takes; a function where costs change while the query runs.
Cost: TypeAlias = float | Callable[[ClassicMoment], float]


@dataclass(frozen=True)
class ClassicScan:
    """When the rows of a relation are there: row i at `delay + i * interval`, unless the eddy holds the scan back."""

    delay: float = 0.0
    interval: float = 0.0

    def available(self, position: int) -> float:
        """When the row at a position is there."""
        return self.delay + position * self.interval


@dataclass(frozen=True)
class ClassicIndex:
    """A relation that can be asked by one column.

    `remote`: what a lookup costs; `cached`: the same key once more.
    """

    column: int
    remote: Cost = 1.0
    cached: Cost = 0.0
    concurrency: int = 1
    caches: bool = True


@dataclass(frozen=True)
class ClassicRelation:
    """An alias of the FROM clause.

    It has a scan, or indexes only; `tiny` is what the pre-optimizer knows of its size.
    """

    name: str
    rows: Sequence[Row]
    scan: ClassicScan | None = ClassicScan()
    indexes: tuple[ClassicIndex, ...] = ()
    tiny: bool = False


@dataclass(frozen=True)
class JoinPredicate:
    """`left op right` between columns of two aliases. NULL compares with nothing."""

    left: Column
    right: Column
    op: Comparison = "="

    @property
    def span(self) -> int:
        """The bitmap of the two aliases."""
        return 1 << self.left.alias | 1 << self.right.alias

    def holds(self, rows: Rows) -> bool:
        """Whether it is true of a tuple that spans both aliases."""
        left, right = rows[self.left.alias], rows[self.right.alias]
        assert left is not None
        assert right is not None
        a, b = left[self.left.index], right[self.right.index]
        return a is not None and b is not None and _HOLDS[self.op](a, b)

    def column_of(self, alias: int) -> int:
        """Which column of one of the two aliases it is about."""
        assert alias in (self.left.alias, self.right.alias)
        return self.left.index if alias == self.left.alias else self.right.index


@dataclass(frozen=True)
class SelectionPredicate:
    """A test of the rows of one alias, and what a call of it costs."""

    name: str
    alias: int
    test: Callable[[Row], bool]
    cost: Cost = 1.0


@dataclass(frozen=True)
class ClassicQuery:
    """One select-project-join block. `join_cost`: what a ripple join takes for a tuple."""

    relations: tuple[ClassicRelation, ...]
    joins: tuple[JoinPredicate, ...] = ()
    selections: tuple[SelectionPredicate, ...] = ()
    join_cost: Cost = 1.0
