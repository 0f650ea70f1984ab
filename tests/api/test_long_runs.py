"""What a process holds while it runs for long: `long_runs` in processes of their own, for less long than docs/trust.md tells of.

FFF_LONG_RUNS makes them so many times as long: 20 is what the page has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TIMES = int(os.environ.get("FFF_LONG_RUNS") or "1")
#: Of each program, and how much more of anything than in its first third there may be at its end.
PROGRAMS = {"statements": 100, "joins": 10, "paced": 45}
MORE = {
    "memory_mb": 25,
    "objects": 6_000,  # of 130,000 and more: logging, caches that have a bound
    "descriptors": 4,
    "threads": 2,
    "tasks": 12,  # requests under way
    "files": 40,  # of Spark's, that is not done with the last statements
    "java_heap_mb": 40,
    "java_code_mb": 40,  # what is compiled as it turns out to be used much, of 240 at most
    "java_classes": 400,
    "java_threads": 0,
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc"),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_held_does_not_grow(program: str, tmp_path: Path) -> None:
    size = PROGRAMS[program] * TIMES
    ended = subprocess.run(
        [sys.executable, "-m", "tests.api.long_runs", program, str(size)],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120 + 30 * size,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    samples = [json.loads(line) for line in ended.stdout.splitlines()]
    print(ended.stdout)
    assert len(samples) >= 5
    marks = 2 * TIMES if program == "paced" else 0  # of pages: 140 bytes each
    *early, late = samples
    for name, more in MORE.items():
        before = max((one[name] for one in early[1 : len(early) // 3 + 1] if name in one), default=None)
        if before is not None:
            most = before + more + marks * (name == "memory_mb")
            assert late[name] <= most, f"{name}: {[one.get(name) for one in samples]}"
