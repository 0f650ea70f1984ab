"""SECURITY.md names tests that are there, and one at least for each threat."""

from __future__ import annotations

import ast
import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
ROWS = [
    line
    for line in (PROJECT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| threat |", "| --- |"))
]


def named(text: str) -> list[tuple[str, str]]:
    """Files and functions of the tests that a text names."""
    return re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)


def missing(file: str, test: str) -> bool:
    path = PROJECT / file
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.exists() else ()
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return test not in {one.name for one in functions}


def test_every_threat_has_a_test_that_is_there() -> None:
    assert len(ROWS) > 20
    assert [row for row in ROWS if not named(row.split("|")[3])] == []
    tests = [one for row in ROWS for one in named(row)]
    assert [f"{file}::{test}" for file, test in tests if missing(file, test)] == []


def test_a_test_that_is_not_there_is_noticed() -> None:
    assert missing("tests/test_security.py", "test_of_nothing")
    assert missing("tests/nowhere.py", "test_of_nothing")
    assert not missing("tests/test_security.py", "test_a_test_that_is_not_there_is_noticed")
