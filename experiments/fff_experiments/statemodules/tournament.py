"""SteMs that sort (S4 section 3.1): a tournament tree in memory writes sorted runs, and builds bounce in the order of the merge."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby

from fff_experiments.statemodules.machine import PAGE_ROWS, Joined, Keyed, Machine, arrivals

#: A row in a run, by key: key, timestamp, number.
_Sorted = tuple[int, int, int]


class TournamentSteM:
    """Replacement selection: of the rows in memory the least that still fits the run is written, so runs are twice as long as memory.

    Invariant: each run is sorted; what is in the tree is in no run.
    """

    def __init__(self, machine: Machine, capacity: int) -> None:
        self._machine, self._capacity = machine, capacity
        self._tree: list[tuple[int, _Sorted]] = []  # with the run that it goes to
        self.runs: list[list[_Sorted]] = []

    def __len__(self) -> int:
        return len(self._tree)

    def build(self, stamp: int, row: Keyed) -> None:
        """Take in a row; perhaps another leaves for its run."""
        self._machine.step()
        entry = row[1], stamp, row[0]
        if len(self._tree) < self._capacity:
            heapq.heappush(self._tree, (0, entry))
            return
        run, least = self._tree[0]
        heapq.heapreplace(self._tree, (run if entry >= least else run + 1, entry))
        if run == len(self.runs):
            self.runs.append([])
        self.runs[run].append(least)
        if len(self.runs[run]) % PAGE_ROWS == 0:
            self._machine.transfer(PAGE_ROWS)

    def bounced(self) -> Iterator[_Sorted]:
        """All rows by key. Runs are read page by page; each page takes a seek, as another run was read before."""
        kept = sorted(entry for _, entry in self._tree)
        yield from heapq.merge(kept, *map(self._read, self.runs))

    def _read(self, run: list[_Sorted]) -> Iterator[_Sorted]:
        for place, entry in enumerate(run):
            if place % PAGE_ROWS == 0:
                self._machine.transfer(PAGE_ROWS)
            yield entry


def _of_side(stem: TournamentSteM, side: int) -> Iterator[tuple[int, int, int, int]]:
    return ((key, side, stamp, row) for key, stamp, row in stem.bounced())


def sort_merge(tables: Sequence[Sequence[int]], interval: float, memory: int) -> Joined:
    """Join two tables on their keys, scanned side by side: probes come in the order of keys, so that each SteM is read once."""
    machine, joined = Machine(), Joined()
    stems = [TournamentSteM(machine, memory // 2) for _ in tables]
    for stamp, (time, side, row) in enumerate(arrivals(tables, interval), start=1):
        machine.until(time)
        stems[side].build(stamp, row)
        joined.held = max(joined.held, sum(map(len, stems)))
    joined.runs = tuple(len(run) for stem in stems for run in stem.runs)
    for _, group in groupby(heapq.merge(*map(_of_side, stems, range(2))), key=lambda one: one[0]):
        same = list(group)
        for _, side, stamp, number in same:
            machine.step()
            joined.probes += 1
            for _, other_side, other_stamp, other in same:
                if other_side != side and other_stamp < stamp:
                    joined.add(machine.now, side, number, other)
    return joined.over(machine)
