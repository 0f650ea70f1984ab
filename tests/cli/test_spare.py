"""The command line does not pay for pandas, and does not take it away either."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.terminal import environment

PROGRAM = """
import sys
from fff_cli.run.no_pandas import spare_pandas
spare_pandas()
import pyarrow as pa
pa.array(["a", None, "b"])
assert "pandas" not in sys.modules
print(len(pa.table({"x": [1, 2]}).to_pandas()))
"""


def test_lists_become_arrays_without_pandas_which_is_still_there_for_who_asks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "2", "")
