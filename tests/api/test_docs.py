"""docs/python.md: its examples run as they stand, in order, and print what it says."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

import fff
from fff.options import ConnectOptions, StatementOptions
from tests.api.examples import ROOT, examples, run


@pytest.mark.slow
def test_the_examples_run(tmp_path: Path) -> None:
    found = examples("docs/python.md", spark=False)
    assert found
    run(found, tmp_path)


@pytest.mark.slow
def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    [spec] = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    found = examples("README.md", spark=False)
    assert found
    run(found, tmp_path, spec)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ,
    reason="a plain Spark session needs a Java of its own, on PATH or in JAVA_HOME",
)
def test_the_examples_with_spark_run(tmp_path: Path) -> None:
    found = examples("docs/python.md", spark=True)
    assert found
    run(found, tmp_path)


def test_the_manual_names_everything() -> None:
    manual = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    for name in ("sql", "stream", "batches", "explain", "describe", "tables"):
        assert hasattr(fff.Connection, name)
        assert hasattr(fff.AsyncConnection, name)
        assert name in manual
    for name in (*dir(fff.Result), *ConnectOptions.__annotations__, *StatementOptions.__annotations__):
        assert name.startswith("_") or name in manual, name
