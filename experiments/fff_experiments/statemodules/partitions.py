"""SteMs in hash partitions (S4 section 3.1): symmetric hash, Grace, hybrid hash, and what lies between.

A build tuple of a partition in memory bounces at once and probes the other SteM. One of a partition on the
disk bounces later, together with all others of it, so that the partition is read once for all of them; how
often that is done is the eddy's choice: once, at the end, is Grace; often is nearly symmetric hash.
Timestamps make the interleaving harmless, and minimum timestamps spare probes that can find nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from fff_experiments.statemodules.machine import PAGE_ROWS, Joined, Keyed, Machine, arrivals

PARTITIONS = 32


@dataclass(frozen=True)
class Interleaving:
    """How builds and probes of two partitioned SteMs follow each other.

    Args:
        resident: partitions that are in memory from the start: all of them is a symmetric hash join, none is
            Grace, some are a hybrid hash join.
        late: tuples of partitions on the disk bounce later; else at once, and each reads a page.
        every: builds after which they do; 0: when all is built.
        clustered: then by partition; else in the order they came.
        timestamps: only the younger row of a pair finds the older.
        growing: from one time to the next so many times as many builds.
        in_turn: the second table is scanned after the first.
    """

    resident: int = PARTITIONS
    late: bool = True
    every: int = 0
    clustered: bool = True
    timestamps: bool = True
    growing: float = 1.0
    in_turn: bool = False


@dataclass
class _Partition:
    """Rows of one table with one hash: those on the disk, those that wait to be written, those that have to probe yet."""

    resident: bool
    rows: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))  # by key
    count: int = 0
    buffered: int = 0
    pending: list[tuple[int, Keyed]] = field(default_factory=list)  # by timestamp
    oldest: float = inf  # timestamp

    @property
    def in_memory(self) -> int:
        return self.count if self.resident else self.buffered

    @property
    def on_disk(self) -> int:
        return 0 if self.resident else self.count - self.buffered


class PartitionedJoin:
    """Two SteMs, their eddy, and the memory they share."""

    def __init__(self, how: Interleaving, memory: int) -> None:
        self.how, self.memory = how, memory
        self.machine, self.joined = Machine(), Joined()
        self.switched: float | None = None  # when the first partition has left memory
        self._stems = [[_Partition(number < how.resident) for number in range(PARTITIONS)] for _ in range(2)]
        self._used = 0

    def run(self, tables: Sequence[Sequence[int]], interval: float) -> Joined:
        """Join them on their keys."""
        due, gap = self.how.every, float(self.how.every)
        rows = arrivals(tables, interval, in_turn=self.how.in_turn)
        for stamp, (time, side, row) in enumerate(rows, start=1):
            self.machine.until(time)
            self._build(stamp, side, row)
            if stamp == due:
                self._bounce()
                gap *= self.how.growing
                due += round(gap)
        self._bounce()
        return self.joined.over(self.machine)

    def _build(self, stamp: int, side: int, row: Keyed) -> None:
        place = row[1] * 2_654_435_761 % 2**32 % PARTITIONS
        mine = self._stems[side][place]
        self.machine.step()
        mine.rows[row[1]].append((stamp, row[0]))
        mine.count += 1
        mine.oldest = min(mine.oldest, stamp)
        self._used += 1
        if not mine.resident:
            mine.buffered += 1
            if mine.buffered == PAGE_ROWS:
                self._write(mine)
        while self._used > self.memory and self._spill():
            pass
        self.joined.held = max(self.joined.held, self._used)
        if mine.resident or not self.how.late:
            self._probe(stamp, side, row, place, read=not self._stems[1 - side][place].resident)
        else:
            mine.pending.append((stamp, row))

    def _write(self, mine: _Partition) -> None:
        self.machine.transfer(mine.buffered)
        self._used -= mine.buffered
        mine.buffered = 0

    def _spill(self) -> bool:
        """The largest partition leaves memory, that of both tables; where all have, buffers do."""
        sizes = [sum(stem[place].in_memory for stem in self._stems) for place in range(PARTITIONS)]
        place = max(range(PARTITIONS), key=sizes.__getitem__)
        if not sizes[place]:
            return False
        if self.switched is None:
            self.switched = self.machine.now
        for stem in self._stems:
            mine = stem[place]
            mine.buffered, mine.resident = mine.in_memory, False
            self._write(mine)
        return True

    def _bounce(self) -> None:
        """Who waits probes the other SteM: partition by partition, each read once."""
        waiting = [
            (place, side, stamp, row)
            for place in range(PARTITIONS)
            for side in range(2)
            for stamp, row in self._stems[side][place].pending
        ]
        if not self.how.clustered:
            waiting.sort(key=lambda one: one[2])
        before = None
        for place, side, stamp, row in waiting:
            mine, theirs = (self._stems[one][place] for one in (side, 1 - side))
            if self.how.clustered and before != (place, side):
                before = place, side
                self.machine.transfer(min(mine.on_disk, len(mine.pending)))
                if any(one > theirs.oldest for one, _ in mine.pending):
                    self.machine.transfer(theirs.on_disk)
            self._probe(stamp, side, row, place, read=not self.how.clustered)
        for stem in self._stems:
            for one in stem:
                one.pending.clear()

    def _probe(self, stamp: int, side: int, row: Keyed, place: int, *, read: bool) -> None:
        theirs = self._stems[1 - side][place]
        if self.how.timestamps and stamp < theirs.oldest:
            self.joined.skipped += 1
            return
        self.joined.probes += 1
        self.machine.step()
        if read and theirs.on_disk:
            self.machine.transfer(1)
        for other_stamp, other in theirs.rows.get(row[1], ()):
            if not self.how.timestamps or other_stamp < stamp:
                self.joined.add(self.machine.now, side, row[0], other)
