"""Every benchmark in turn: `python -m benchmarks`. They print ratios; nothing here passes or fails."""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = (
    ("engine",),
    ("engine", "--profile"),
    ("pages",),
    ("lookups",),
    ("start",),
)


def main() -> None:
    """One process each, so that none warms another up."""
    for name, *arguments in BENCHMARKS:
        print(f"== {' '.join((name, *arguments))}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=True)


if __name__ == "__main__":
    main()
