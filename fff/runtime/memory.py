"""What a run may hold in memory: beyond half of its limit rows and indexes go to files, beyond the limit the run ends.

Counted is the memory that no file stands behind and that the process has taken since the run began; of files that are
mapped the system takes pages back by itself. The files have no name, so that none outlives the process, however that ends.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fff.budget import format_bytes
from fff.dataflow.arrays import Spillable
from fff.limits import SPILL_GARBAGE_SHARE, SPILL_LEAST_SHARE, SPILL_PART_BYTES, SPILL_SHARE

if TYPE_CHECKING:
    from fff.runtime.block_run import RunningBlock

_PAGE = mmap.PAGESIZE
#: Seconds between two looks: the system takes as long to tell as a lookup takes.
_LOOK_EVERY_S = 0.002
#: How many times as long as allocators take to give back what they keep they are left alone after that.
_SELDOM = 20
_SYSTEM_TELLS = Path("/proc/self/statm").exists()


class SpillFiles:
    """Nameless files that arrays and columns are mapped from; implements `Spill`.

    It never fails: what cannot be written stays in memory, and `failed` says why.
    """

    def __init__(self, least: int) -> None:
        self.least = least
        self.bytes = 0  # written, or set aside, in all
        self.failed: str | None = None

    def zeros(self, length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """A writable array in a file of its own; the room for it is taken now, as a mapping has no way to say that there is none."""
        size = length * dtype.itemsize
        try:
            with _file() as file:
                _allocate(file, size)
                mapped = mmap.mmap(file.fileno(), size)
        except OSError as error:
            self._fails(error)
            return np.zeros(length, dtype)
        self.bytes += size
        return np.frombuffer(mapped, dtype, length)

    def store(self, columns: Sequence[pa.ChunkedArray]) -> list[list[pa.Array]]:
        """The columns as Arrow maps them from a file, without a copy."""
        table = pa.Table.from_arrays(list(columns), [f"c{place}" for place in range(len(columns))])
        rows = max(1, math.ceil(len(table) * SPILL_PART_BYTES / max(1, table.nbytes)))
        try:
            with _file() as file:
                with pa.ipc.new_file(file, table.schema) as writer:
                    for start in range(0, len(table), rows):
                        writer.write_table(table.slice(start, rows).combine_chunks())
                file.flush()
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            self._fails(error)
            return [column.chunks for column in columns]
        self.bytes += len(mapped)
        reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped)))
        batches = [reader.get_batch(place) for place in range(reader.num_record_batches)]
        return [[batch.column(place) for batch in batches] for place in range(len(columns))]

    def _fails(self, error: OSError) -> None:
        self.failed = self.failed or f"cannot be written to {_folder()}: {error.strerror or error}"
        self.least = sys.maxsize


class MemoryGuard:
    """Holds a run to its limit.

    Args:
        limit: bytes; None: half of what the machine, or the control group that the process is in, has.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = machine_memory() // 2 if limit is None else limit
        self.files = SpillFiles(self.limit // SPILL_LEAST_SHARE)
        self.peak = 0  # as far as was looked
        self._before = taken()
        self._look_at = 0.0
        self._given_back = 0  # the least that was used since allocators gave back what they keep
        self._give_back_at = 0.0

    def check(self, blocks: Sequence[RunningBlock], results: Spillable | None) -> str | None:
        """Look, and move what is stored to files if that is due; why the run must end, if it must."""
        now = time.perf_counter()
        if now < self._look_at:
            return None
        self._look_at = now + _LOOK_EVERY_S
        used = self._used(blocks)
        self._given_back = min(self._given_back, used)
        if used > SPILL_SHARE * self.limit and self.files.failed is None:
            before = self.files.bytes
            for block in blocks:
                block.eddy.spill(self.files)
            if results is not None:
                results.spill(self.files)
            # What allocators keep grows, too, while there is little to move.
            garbage = used > self._given_back + SPILL_GARBAGE_SHARE * self.limit and now > self._give_back_at
            if self.files.bytes > before or garbage:
                began = time.perf_counter()
                _give_back()
                ended = time.perf_counter()
                # That takes the longer, the more the process has: of all it does a share at most.
                self._give_back_at = ended + _SELDOM * (ended - began)
                self._given_back = self._used(blocks)
        if used > self.limit:
            _give_back()
            used = self._used(blocks)
        self.peak = max(self.peak, used)
        if used <= self.limit:
            return None
        return f"the memory limit of {format_bytes(self.limit)} is reached"

    def advice(self, blocks: Sequence[RunningBlock]) -> str:
        """What holds the memory of a run that had to end, and what to do about it."""
        if self.files.failed is not None:
            return f"memory: rows beyond the limit {self.files.failed}; make room there, or set TMPDIR to another folder"
        stems = (one.stem for block in blocks for one in block.eddy.statistics().tables)
        largest = sorted(((stem.rows, stem.table) for stem in stems), reverse=True)[:3]
        rows = ", ".join(f"{count:,} rows of {table}" for count, table in largest)
        return (
            f"memory: {rows} were read, {format_bytes(self.files.bytes)} of them and their indexes are in files, and the rest "
            "(pages just read, tuples under way, results on their way out) is above the limit; allow more with "
            "--memory-limit, or ask for less: a WHERE, fewer columns"
        )

    def _used(self, blocks: Sequence[RunningBlock]) -> int:
        now = taken()
        if not _SYSTEM_TELLS:
            now += sum(block.eddy.grown() for block in blocks)
        self._before = min(self._before, now)  # what others gave back since is not ours to use
        return now - self._before


def taken() -> int:
    """Bytes of memory that the process has and no file stands behind; where the system does not tell, those that Arrow has allocated."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # noqa: PTH123 - looked at every few milliseconds
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return int(pa.total_allocated_bytes())
    return (int(resident) - int(shared)) * _PAGE


@cache
def machine_memory() -> int:
    """Bytes of memory of the machine, or of the control group that the process is in, if that has fewer."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    groups = Path("/sys/fs/cgroup")
    places = [groups / "memory.max", groups / "memory/memory.limit_in_bytes"]
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            inside = Path(line.rpartition(":")[2].lstrip("/"))
            places += [groups / one / "memory.max" for one in (inside, *inside.parents)]
    for place in places:
        with suppress(OSError, ValueError):  # "max" is no number
            limits.append(int(place.read_text()))
    return min(limits)


def _folder() -> str:
    """Where large files may be: the folder of small ones is in memory on many systems."""
    large = "/var/tmp"  # noqa: S108 - the files have no names
    usable = not os.environ.get("TMPDIR") and os.access(large, os.W_OK)
    return large if usable else tempfile.gettempdir()


def _file() -> IO[bytes]:
    return tempfile.TemporaryFile(dir=_folder(), prefix="fff-")


def _allocate(file: IO[bytes], size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def _give_back() -> None:
    """What allocators keep for later goes back to the system."""
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
