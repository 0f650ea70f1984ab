"""Without its defence each threat of SECURITY.md is noticed by its tests: seen here, not believed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.defences.removed import REMOVED, Removed

PROJECT = Path(__file__).resolve().parents[2]
_FAILED = re.compile(r"^FAILED (tests/[\w/]+\.py::test_\w+)", re.MULTILINE)


def failing(removed: Removed) -> tuple[set[str], str]:
    """Which tests of a defence fail without it, and what is printed."""
    environ = os.environ | {
        "FFF_WITHOUT": json.dumps(dict(removed.changes)),
        "PYTHONPATH": str(Path(__file__).parent / "hook"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *removed.tests]
    ended = subprocess.run(
        command, cwd=PROJECT, env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    return set(_FAILED.findall(ended.stdout)), ended.stdout + ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("removed", REMOVED, ids=lambda one: one.defence)
def test_without_it_the_tests_fail(removed: Removed) -> None:
    failed, said = failing(removed)
    assert failed == set(removed.tests), said[-3000:]
    assert "does not say" not in said, "the module was changed since"


@pytest.mark.parametrize("removed", REMOVED, ids=lambda one: one.defence)
def test_the_defence_is_there(removed: Removed) -> None:
    for module, changes in removed.changes.items():
        spec = importlib.util.find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        text = Path(spec.origin).read_text(encoding="utf-8")
        assert [old for old, _ in changes if old not in text] == []
