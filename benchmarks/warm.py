"""What a GROUP BY costs beside its fetch, from the second command on: Spark stays up between commands.

    python -m benchmarks.warm [--runs N]

`fff query` with a GROUP BY of a thousand rows of a server on this machine, over `fff query` of the same rows as they are.
The Spark is one of the benchmark's own, ended with it. Seconds by the clock, and of processor, that of the JVM included.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import functools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from benchmarks import serving
from fff.spark.start.cds_archive import private_folder
from fff.spark.start.warm import ask, stop

SPEC = """
version: 1
sources:
  bench:
    client: {{base_url: "{url}"}}
    tables:
      t: {{columns: {{a: int, c: string}}, scan: {{endpoint: {{path: t1, data_selector: items, paginator: single_page}}}}}}
"""
PLAIN = "SELECT c, a FROM t"
GROUPED = "SELECT c, count(*) AS n, sum(a) AS s FROM t GROUP BY c ORDER BY c"
ROWS = 1_000


@contextlib.contextmanager
def place() -> Iterator[Path]:
    """A spec whose server is up; commands have a Spark of their own, which ends with the `with`."""
    kept = private_folder(os.environ)
    with TemporaryDirectory(prefix="fff-bench-") as folder, serving.served(ROWS, ROWS) as url:
        away = {"XDG_CACHE_HOME": folder, "FFF_SPARK_WARM": "", "FFF_SPARK_ARCHIVE": "read", "CI": ""}
        with mock.patch.dict(os.environ, away):
            mine = private_folder(os.environ)
            assert mine is not None
            for archive in kept.glob("*.jsa") if kept is not None else ():
                (mine / archive.name).symlink_to(archive)
            spec = Path(folder) / "bench.yaml"
            spec.write_text(SPEC.format(url=url), encoding="utf-8")
            try:
                yield spec
            finally:
                stop()


def query(spec: Path, sql: str) -> tuple[float, float]:
    """Seconds of a command by the clock, and of processor."""
    started, before = time.perf_counter(), _processor()
    subprocess.run(
        [sys.executable, "-m", "fff_cli", "query", "-q", "-s", str(spec), sql],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - started, _processor() - before


def _processor() -> float:
    """Seconds of processor of this process's children that have ended, and of the JVM that stays."""
    spent = os.times()
    state = ask("tell")
    jvm = 0.0
    with contextlib.suppress(OSError):  # only Linux tells
        fields = (
            Path(f"/proc/{(state or {})['jvm']}/stat").read_text().rpartition(")")[2].split() if state else []
        )
        jvm = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return spent.children_user + spent.children_system + jvm


@functools.cache
def kept() -> Path:
    """A spec as `place` gives it, until this process ends."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(place())


def main() -> None:
    """Print the first command, and medians of those that follow."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    with place() as spec:
        first = query(spec, GROUPED)
        pairs = [(query(spec, GROUPED), query(spec, PLAIN)) for _ in range(args.runs)]
    for number, unit in enumerate(("s", "s of processor")):
        grouped = statistics.median(pair[0][number] for pair in pairs)
        plain = statistics.median(pair[1][number] for pair in pairs)
        print(
            f"first {first[number]:.2f}, later {grouped:.2f}, without GROUP BY {plain:.2f}: "
            f"{grouped - plain:+.2f} {unit}, medians of {args.runs} runs"
        )


if __name__ == "__main__":
    main()
