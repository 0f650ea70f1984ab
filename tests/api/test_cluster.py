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


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("cluster_program", ["local-cluster[2,1,1024]"]),
        ("stages_program", ["local-cluster[2,1,1024]"]),
        ("ceiling_program", ["local[4]"]),
        ("enriching_program", ["local-cluster[4,1,1024]", "250", "25000"]),
        ("enriching_program", ["standalone", "100", "4000"]),
    ],
)
def test_a_job_asks_for_each_key_once_and_keeps_one_ceiling(program: str, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.api.{program}", *arguments],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        cwd=ROOT, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.stdout.endswith("good\n"), done.stderr[-4000:]
