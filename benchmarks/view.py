"""What the live view costs a run: seconds of processor, and bytes to the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import sys
import termios
import threading
import time
from collections.abc import Iterator

from fff.stats import AccessStats, RoutingShare, Snapshot, SparkStats
from fff.structs import replace
from fff_cli.live.viewer import Live

COLUMNS, LINES = 100, 30
_GROUPS, _SOURCES = 200, 6


def busy(elapsed_s: float) -> Snapshot:
    """A run of which every number has changed since the last look, as it is after so many seconds."""
    now = int(elapsed_s * 100)
    access = [
        AccessStats("demo", f"T{at}", "scan", (), f"T{at}.scan", "running", requests=now + at, rows=now * 97 + at,
                    total_rows=1_000_000, in_flight=(now + at) % 8, retries=now // 50)
        for at in range(_SOURCES)
    ]  # fmt: skip
    return Snapshot(
        elapsed_s=elapsed_s, phase="fetching", rows=now * 13, first_row_s=0.1, access=tuple(access), stems=(),
        routing=(RoutingShare("T0", "T1 SteM", 5, now), RoutingShare("T0", "T2 lookup", 3, 100)), missing=(),
        spark=SparkStats(used=True, start_s=1.0, refreshes=now // 20), policy="adaptive", seed=7,
        columns=("State", "average", "n"), sample_is="current groups", sample_rows=_GROUPS,
        group_keys=("T0.State", None, None), rests_on=tuple(now + at for at in range(_GROUPS)),
        settled=tuple((now + at) % 3 == 0 for at in range(_GROUPS)),
        sample=tuple((f"S{at:03}", (now + at) / 7, now * at) for at in range(_GROUPS)),
    )  # fmt: skip


@contextlib.contextmanager
def terminal(columns: int, lines: int) -> Iterator[list[bytes]]:
    """Standard error is a terminal of this size; what was written to it is complete when the block has ended."""
    master, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    written: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # so Linux says that the last writer is gone
            while data := os.read(master, 1 << 16):
                written.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    before = sys.stderr
    sys.stderr = os.fdopen(inner, "w", encoding="utf-8")
    try:
        yield written
    finally:
        sys.stderr.close()
        sys.stderr = before
        reader.join()
        os.close(master)


async def _watched(seconds: float) -> float:
    view = Live()
    known = [
        busy(at / 10) for at in range(int(seconds * 10) + 20)
    ]  # made beforehand: no part of what is measured
    before, began = time.thread_time(), time.monotonic()

    def look() -> Snapshot:
        elapsed_s = time.monotonic() - began
        return replace(known[min(int(elapsed_s * 10), len(known) - 1)], elapsed_s=elapsed_s)

    view.start(look)
    await asyncio.sleep(seconds)
    await view.stop()
    return time.thread_time() - before


def watched(seconds: float, columns: int = COLUMNS, lines: int = LINES) -> tuple[float, bytes]:
    """Watch a busy run for so long: seconds of processor that this took, and what was written to the terminal."""
    with terminal(columns, lines) as written:
        spent = asyncio.run(_watched(seconds))
    return spent, b"".join(written)


if __name__ == "__main__":
    asked = float(sys.argv[1]) if sys.argv[1:] else 10.0
    cost, text = watched(asked)
    print(
        f"{asked:g} s at {COLUMNS}x{LINES}: {cost:.3f} s of processor ({cost / asked:.1%}), {len(text):,} bytes"
    )
