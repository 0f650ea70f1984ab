"""The page of ratios: `python -m benchmarks [--check]`, see `benchmarks.performance`."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")  # as `fff` does

from benchmarks.performance import main

if __name__ == "__main__":
    sys.exit(main())
