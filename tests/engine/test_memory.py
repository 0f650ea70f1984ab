"""`memory_limit`: what is stored goes to files, a plain scan stores nothing, and what cannot be done ends with a reason."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from fff.budget import format_bytes, parse_bytes
from fff.catalog import Catalog, Page, ScanMethod, Table
from fff.errors import UsageError
from fff.execution import Execution
from fff.federation import Federation
from fff.options import RunOptions
from fff.runtime import memory
from fff.schema import Field
from fff.stats import AccessMeter
from tests.engine.scan_only import ScanOnly
from tests.sampling import every

ROWS = 40_000
JOIN = "SELECT a.k, a.text, b.text, c.text FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k"
PLAIN = "SELECT k, text FROM a"
PROBING = "SELECT a.k, a.text, few.text FROM a JOIN few ON a.k = few.k"
PRODUCT = "SELECT a.text, b.text FROM a, b"
#: Rows of three tables take 15 MB, and what waits for its reader up to as much again.
TIGHT = 16_000_000
#: Less than the rows, whoever waits for whom.
TOO_TIGHT = 8_000_000


class Made(ScanOnly):
    """Tables `a`, `b` and `c`, each with the keys in another order, made page by page; `few` has a hundredth of them."""

    name = "made"

    def __init__(self, rows: int = ROWS, page: int = 2_000) -> None:
        self.rows, self.page = rows, page

    @property
    def tables(self) -> Sequence[Table]:
        columns = (Field.of("k", "bigint"), Field.of("text", "string"))
        return [Table(self.name, name, columns, scans=(ScanMethod("scan"),)) for name in (*"abc", "few")]

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        step = {"a": 1, "b": 7_919, "c": 104_729, "few": 7}[table.name]
        rows = self.rows // 100 if table.name == "few" else self.rows
        for start in range(0, rows, self.page):
            keys = np.arange(start, min(start + self.page, rows)) * step % self.rows
            texts = pa.array([f"{table.name} {key:0100d}" for key in keys.tolist()])
            yield Page(pa.record_batch({"k": keys, "text": texts}).select(list(columns)))


@pytest.fixture(autouse=True, scope="module")
def _settled() -> None:
    """What other tests have left is gone, and what stays is looked through once."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where files go; and memory is what columns have, to the byte, whatever else the process does."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(memory, "taken", pa.total_allocated_bytes)
    monkeypatch.setattr(memory, "_SYSTEM_TELLS", False)
    yield tmp_path
    assert not list(tmp_path.iterdir()), "no file stays"


async def ran(
    sql: str, limit: int | None, source: Made | None = None, *, interrupt: bool = False
) -> tuple[Counter[tuple[object, ...]], Execution]:
    """The bag of a statement's rows, and its run."""
    gc.collect()  # what runs before have left is not given back meanwhile
    catalog = Catalog()
    catalog.add(source or Made())
    found: Counter[tuple[object, ...]] = Counter()
    async with Federation(catalog) as federation:
        execution = federation.execute(federation.prepare(sql), RunOptions(seed=1, memory_limit=limit))
        async for batch in execution.batches():
            found.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            if interrupt:
                execution.interrupt()
    return found, execution


@pytest.mark.slow
async def test_rows_beyond_the_limit_go_to_files_and_the_bag_is_the_same(folder: Path) -> None:
    _ = folder
    roomy, first = await ran(JOIN, None)
    tight, second = await ran(JOIN, TIGHT)
    assert tight == roomy
    assert len(tight) == ROWS
    assert second.outcome.exit_code == 0
    before, told = first.outcome.report["memory"], second.outcome.report["memory"]
    assert before["to_disk"] == 0
    assert before["limit"] == memory.machine_memory() // 2
    assert told["to_disk"] > 8_000_000
    assert told["limit"] == TIGHT
    assert told["peak"] <= TIGHT < before["peak"]


async def test_without_files_the_limit_ends_the_run_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SPILL_SHARE", 2.0)
    found, execution = await ran(JOIN, TOO_TIGHT)
    outcome = execution.outcome
    assert (outcome.complete, outcome.exit_code) == (False, 3)
    assert outcome.reason == "the memory limit of 8 MB is reached"
    [advice] = outcome.warnings
    assert "rows of made." in advice
    assert "--memory-limit" in advice
    assert {part.table for part in outcome.missing} == {"made.a", "made.b", "made.c"}
    assert len(found) < ROWS, "and what was found by then is handed on"


def test_allocators_give_back_what_they_keep_though_nothing_can_be_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used, given = 0, list[int]()
    monkeypatch.setattr(memory, "_LOOK_EVERY_S", 0)
    monkeypatch.setattr(memory, "taken", lambda: used)
    monkeypatch.setattr(memory, "_give_back", lambda: given.append(used))
    monkeypatch.setattr(memory, "_SELDOM", 0)
    guard = memory.MemoryGuard(3200)
    for used in range(0, 2401, 50):  # noqa: B007 - what `taken` says
        assert guard.check((), None) is None
    assert given == list(range(1650, 2401, 150)), "from half of the limit on, and not at every look"
    assert guard.peak == 2400


def test_allocators_that_take_long_are_seldom_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has much else, whose heap they go through."""
    used, given, now = 0, list[int](), [1.0]

    def give_back() -> None:
        given.append(used)
        now[0] += 0.05

    monkeypatch.setattr(memory, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(memory, "_LOOK_EVERY_S", 0)
    monkeypatch.setattr(memory, "taken", lambda: used)
    monkeypatch.setattr(memory, "_give_back", give_back)
    guard = memory.MemoryGuard(3200)
    for used in range(0, 3201, 50):  # noqa: B007 - what `taken` says
        assert guard.check((), None) is None
    assert given == [1650], "the next time a second later"
    used = 3250
    assert guard.check((), None) is not None
    assert given == [1650, 3250], "but at the limit"


async def test_rows_that_are_held_back_go_to_files_too() -> None:
    catalog = Catalog()
    catalog.add(Made(80_000))
    options = RunOptions(memory_limit=6_000_000, hold_rows=True, on_source_error="fail")
    async with Federation(catalog) as federation:
        execution = federation.execute(federation.prepare(PLAIN), options)
        keys = [key async for batch in execution.batches() for key in batch.column(0).to_pylist()]
    assert keys == list(range(80_000))
    assert execution.outcome.report["memory"]["to_disk"] > 3_000_000


@pytest.mark.parametrize("where", every(2, ["write", "reserve"]))
async def test_a_full_disk_is_a_reason_too(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(*((pa.ipc, "new_file") if where == "write" else (memory, "_allocate")), full)
    monkeypatch.setattr(memory, "SPILL_LEAST_SHARE", 10_000)
    _, execution = await ran(JOIN, TOO_TIGHT)
    assert execution.outcome.exit_code == 3
    assert execution.outcome.reason == "the memory limit of 8 MB is reached"
    [advice] = execution.outcome.warnings
    assert "No space left on device" in advice
    assert "TMPDIR" in advice


async def test_a_plain_scan_keeps_nothing() -> None:
    before = pa.total_allocated_bytes()
    most = 0
    catalog = Catalog()
    catalog.add(Made(100_000))
    async with Federation(catalog) as federation:
        execution = federation.execute(federation.prepare(PLAIN), RunOptions(memory_limit=5_000_000))
        rows = 0
        async for batch in execution.batches():
            rows += len(batch)
            most = max(most, pa.total_allocated_bytes() - before)
    assert rows == 100_000
    assert most < 5_000_000, "of 11 MB"
    [stem] = execution.outcome.report["stems"]
    assert (stem["rows"], stem["builds"], stem["bytes"]) == (100_000, 100_000, 0)
    assert execution.outcome.report["memory"]["to_disk"] == 0


async def test_a_table_that_only_probes_is_not_kept() -> None:
    """`a` is large and `few` is small: once all of `few` is here nobody looks for rows of `a`."""
    before = pa.total_allocated_bytes()
    most = 0
    catalog = Catalog()
    catalog.add(Made(100_000))
    async with Federation(catalog) as federation:
        execution = federation.execute(federation.prepare(PROBING), RunOptions(seed=1))
        keys: list[int] = []
        async for batch in execution.batches():
            keys += batch.column(0).to_pylist()
            most = max(most, pa.total_allocated_bytes() - before)
    assert sorted(keys) == [number * 7 for number in range(1_000)]
    assert most < 6_000_000, "of 11 MB"
    large = next(stem for stem in execution.outcome.report["stems"] if stem["table"] == "made.a")
    assert (large["rows"], large["builds"]) == (100_000, 100_000)
    assert large["bytes"] < 2_000_000


@pytest.mark.slow
async def test_a_product_waits_for_its_reader() -> None:
    """Pairs are made as they are taken: 4 million would take a gigabyte."""
    catalog = Catalog()
    catalog.add(Made(2_000))
    async with Federation(catalog) as federation:
        execution = federation.execute(federation.prepare(PRODUCT), RunOptions(seed=1))
        batches = execution.batches()
        await anext(batches)
        found, before = execution.snapshot().rows, -1
        while found != before:
            for _ in range(50):
                await asyncio.sleep(0)
            found, before = execution.snapshot().rows, found
        await batches.aclose()
    assert found < 3_500_000


async def test_files_are_let_go_when_the_run_is_over() -> None:
    def descriptors() -> int:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    await ran(JOIN, TIGHT)
    await ran(JOIN, TIGHT, interrupt=True)
    assert descriptors() <= before + 1


KILLED = """
import asyncio, os, signal
from fff.runtime import memory
from tests.engine.test_memory import JOIN, Made, ran
from tests.sampling import every
check = memory.MemoryGuard.check
def checked(self, *given):
    found = check(self, *given)
    if self.files.bytes:
        os.kill(os.getpid(), signal.SIGKILL)
    return found
memory.MemoryGuard.check = checked
asyncio.run(ran(JOIN, 6_000_000))
"""


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_no_file(folder: Path) -> None:
    environment = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("said", "size"),
    [("512MB", 512_000_000), ("1.5 GiB", 3 << 29), ("2g", 2_000_000_000), ("70000", 70_000), (8, 8)],
)
def test_sizes(said: object, size: int) -> None:
    assert parse_bytes(said) == size
    assert parse_bytes(format_bytes(parse_bytes(said))) == pytest.approx(size, rel=0.001)


@pytest.mark.parametrize("said", ["", "lots", "-1", "0", "0.1", "12 XB", "5i", "1e9"])
def test_what_is_no_size_is_told(said: str) -> None:
    with pytest.raises(UsageError, match="memory_limit must be a size"):
        RunOptions().overridden({"memory_limit": said})


def test_the_machine_has_memory() -> None:
    assert 1 << 26 < memory.machine_memory() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
