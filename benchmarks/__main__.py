"""The page of ratios: `python -m benchmarks [--check]`, see `benchmarks.performance`."""

from __future__ import annotations

import sys

from benchmarks.performance import main

if __name__ == "__main__":
    sys.exit(main())
