"""The inputs of an eddy."""

from __future__ import annotations

from fff_experiments.classic.modules import RoutedTuple
from fff_experiments.classic.query import ClassicRelation, ClassicScan, Rows


class Input:
    """A scan in progress.

    It delivers the next row when that is there and the eddy asks for it: the edge's back-pressure.
    """

    def __init__(self, relation: ClassicRelation, alias: int, aliases: int) -> None:
        assert relation.scan is not None
        self._schedule: ClassicScan = relation.scan
        self._rows = relation.rows
        self._alias = alias
        self._aliases = aliases
        self.read = 0
        self.waiting = 0  # its rows in the eddy's buffer that have not been routed yet

    @property
    def exhausted(self) -> bool:
        """Whether every row has been read."""
        return self.read == len(self._rows)

    @property
    def due(self) -> float:
        """When the next row is there."""
        return self._schedule.available(self.read)

    def next(self) -> RoutedTuple:
        """The next row as a tuple: no Done bits."""
        row = self._rows[self.read]
        self.read += 1
        self.waiting += 1
        rows: Rows = tuple(row if alias == self._alias else None for alias in range(self._aliases))
        return RoutedTuple(rows, 1 << self._alias)
