"""One processor, one disk, one memory: what joins of two tables have to share, in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

#: Rows to a page; seconds to find a place on the disk, to read or write a page, and to build or probe a row.
PAGE_ROWS = 50
SEEK_S, PAGE_S, STEP_S = 5e-3, 5e-4, 2e-5

#: A row of one of two tables that are joined: its number and its key.
Keyed = tuple[int, int]


@dataclass
class Machine:
    """What has been done, and until when it took."""

    now: float = 0.0
    seeks: int = 0
    pages: int = 0  # read and written

    def until(self, time: float) -> None:
        """Wait for something."""
        self.now = max(self.now, time)

    def step(self) -> None:
        """Build a row, or probe with one."""
        self.now += STEP_S

    def transfer(self, rows: int) -> None:
        """Read or write rows that lie together."""
        if rows:
            pages = -(-rows // PAGE_ROWS)
            self.seeks += 1
            self.pages += pages
            self.now += SEEK_S + pages * PAGE_S


@dataclass
class Joined:
    """What came of a join: pairs of row numbers with their times, and what it took."""

    times: list[float] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    end: float = 0.0
    seeks: int = 0
    pages: int = 0
    held: int = 0  # rows in memory at most
    probes: int = 0
    skipped: int = 0  # probes that a minimum timestamp has spared
    runs: tuple[int, ...] = ()  # rows of each sorted run

    def add(self, time: float, side: int, row: int, other: int) -> None:
        """A row of one side has met one of the other."""
        self.times.append(time)
        self.pairs.append((row, other) if side == 0 else (other, row))

    def by(self, time: float) -> int:
        """How many results were there."""
        return sum(one <= time for one in self.times)

    def over(self, machine: Machine) -> Joined:
        """The machine stands still."""
        self.end, self.seeks, self.pages = machine.now, machine.seeks, machine.pages
        return self


def arrivals(
    tables: Sequence[Sequence[int]], interval: float, *, in_turn: bool = False
) -> list[tuple[float, int, Keyed]]:
    """Rows of tables that are scanned side by side, or one after the other: time, table, and the row."""
    rows = [
        (place * interval, side, (place, key))
        for side, keys in enumerate(tables)
        for place, key in enumerate(keys)
    ]
    return sorted(rows, key=lambda one: (one[1], one[0])) if in_turn else sorted(rows)
