"""SECURITY.md names tests that are there, and one at least for each threat. And the packages FFF is built on."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.defences.removed import REMOVED

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


def test_every_threat_has_a_defence_that_is_taken_out() -> None:
    """But for those of files beside the product, which nothing imports: their tests are here."""
    tests = {
        f"{file}::{test}" for row in ROWS for file, test in named(row) if file != "tests/test_security.py"
    }
    assert tests <= {one for removed in REMOVED for one in removed.tests}


def test_a_test_that_is_not_there_is_noticed() -> None:
    assert missing("tests/test_security.py", "test_of_nothing")
    assert missing("tests/nowhere.py", "test_of_nothing")
    assert not missing("tests/test_security.py", "test_a_test_that_is_not_there_is_noticed")


def locked(text: str) -> dict[str, tuple[Requirement, int]]:
    """What a lock names, and by how many hashes."""
    entries = re.split(r"\n(?=[A-Za-z0-9])", text.partition("\n#    make lock\n")[2])
    told = [
        (Requirement(entry.partition(" \\")[0].strip()), entry.count("--hash=sha256:")) for entry in entries
    ]
    return {one.name.lower().replace("_", "-"): (one, hashes) for one, hashes in told}


def test_the_locks_name_every_package_by_its_hash() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    asked = {
        "requirements.lock": [
            *project["project"]["dependencies"],
            *(
                one
                for extra in ("build", "lint", "test")
                for one in extras[extra]
                if not one.startswith("fff[")
            ),
        ],
        ".ci/release.lock": project["dependency-groups"]["release"],
        ".ci/bench.lock": project["dependency-groups"]["bench"],
    }
    for file, wanted in asked.items():
        pins = locked((PROJECT / file).read_text(encoding="utf-8"))
        assert [name for name, (_, hashes) in pins.items() if not hashes] == []
        assert all(str(pin.specifier).startswith("==") and pin.url is None for pin, _ in pins.values())
        for one in map(Requirement, wanted):
            pin, _ = pins[one.name.lower().replace("_", "-")]
            (version,) = pin.specifier
            assert one.specifier.contains(version.version), f"{file} has {pin}, pyproject.toml asks for {one}"


def test_a_pin_without_a_hash_is_noticed() -> None:
    text = (
        "# by\n#    make lock\nsix==1.17.0\nurllib3==2.8.0 ; python_version < '4' \\\n    --hash=sha256:00\n"
    )
    assert {name: hashes for name, (_, hashes) in locked(text).items()} == {"six": 0, "urllib3": 1}


@pytest.mark.parametrize(
    ("said", "status", "fails"),
    [
        ("Found 2 known vulnerabilities in 1 package\naiohttp 3.1 PYSEC-1 3.2", 1, True),
        ("No known vulnerabilities found\nsix Dependency could not be audited: six (1.17.0)", 0, False),
        ("Traceback\nrequests.exceptions.ConnectionError: no route to the index", 1, False),
        ("pip_audit: error: unrecognized arguments", 2, True),
    ],
)
def test_a_known_hole_fails_the_review(said: str, status: int, fails: bool, tmp_path: Path) -> None:
    if shutil.which("sh") is None:
        pytest.skip("needs a POSIX shell")
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\nexit {status}\n")
    python.chmod(0o755)
    ended = subprocess.run(
        ["sh", ".ci/audit", str(python)], cwd=PROJECT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode != 0) == fails
    assert (said in ended.stderr) == fails
