"""The command line does not pay for pandas, and does not take it away either."""

from __future__ import annotations

import subprocess
import sys

import pytest

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

COMMAND = """
import sys
from fff_cli.app import run
code = run(["query", "-q", "-o", "csv", "SELECT 1 + 1 AS two"])
print("pandas" in sys.modules, code)
"""


def test_lists_become_arrays_without_pandas_which_is_still_there_for_who_asks() -> None:
    assert run_in_a_process(PROGRAM) == (0, ["2"], "")


@pytest.mark.slow
def test_nothing_that_a_query_loads_makes_an_array_before_that() -> None:
    pytest.importorskip("pandas")
    assert run_in_a_process(COMMAND) == (0, ["two", "2", "False 0"], "")


def run_in_a_process(program: str) -> tuple[int, list[str], str]:
    """The exit code of a program in Python, its lines and its errors."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(),
    )
    return done.returncode, done.stdout.splitlines(), done.stderr
