"""`fff.lookup`, `fff.sql` and conditions of a job, in a real cluster: executors that are processes of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.api.examples import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ,
        reason="a plain Spark session needs a Java of its own, on PATH or in JAVA_HOME",
    ),
]


@pytest.mark.parametrize("program", ["cluster_program", "stages_program"])
def test_a_job_asks_for_each_key_once(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.api.{program}", "local-cluster[2,1,1024]"],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        cwd=ROOT, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.stdout.endswith("good\n"), done.stderr[-4000:]
