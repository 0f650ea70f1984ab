"""A JVM that cannot start: what is said, and that nobody waits for it in vain."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from fff.errors import SparkError
from fff.spark.start.jvm import GatewayJVM


def test_a_full_disk_is_told_before_a_jvm_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    jvm = GatewayJVM({}, cluster=False, log_file=None)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(SparkError, match="No space left on device in") as raised:
        jvm.boot()
    assert repr(str(jvm.scratch.parent)) in str(raised.value)
    assert "TMPDIR" in str(raised.value)
    assert not jvm.scratch.exists()


def test_a_jvm_that_does_not_start_points_to_its_log_and_to_the_disk(tmp_path: Path) -> None:
    jvm = GatewayJVM({}, cluster=False, log_file=tmp_path / "spark.log")
    with pytest.raises(SparkError, match="did not start within 0 seconds") as raised:
        jvm.boot(0.05)
    assert f"Look into {tmp_path / 'spark.log'}; is there room in {jvm.scratch.parent}" in str(raised.value)
