"""The template of a Python adapter: it is found by its entry point, answers, and its own test passes."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fff_sources.authoring.spec_schema import spec_schema
from fff_sources.load import known_types, lint

TEMPLATE = Path(__file__).parents[2] / "docs" / "adapter_template"
ROOT = TEMPLATE.parents[1]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The template as `pip install` leaves it: the package and the metadata that names its entry point."""
    folder = tmp_path / "installed"
    shutil.copytree(TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    metadata = folder / "fff_example-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fff-example\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[fff.sources]\nexample = fff_example:ExampleSource\n")
    assert 'example = "fff_example:ExampleSource"' in (folder / "pyproject.toml").read_text()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_it_is_found_and_lints(installed: Path, tmp_path: Path) -> None:
    assert "example" in known_types()
    file = tmp_path / "shop.yaml"
    file.write_text("version: 1\nsources:\n  shop: {type: example, base_url: 'https://x'}\n")
    assert lint(file, environ={}) == []
    file.write_text("version: 1\nsources:\n  shop: {type: example, url: 'https://x'}\n")
    assert [error.path for error in lint(file, environ={})] == ["sources.shop.url", "sources.shop.base_url"]
    assert "example" in spec_schema()["$defs"]
    assert importlib.metadata.version("fff-example") == "0.1.0"


@pytest.mark.slow
def test_its_own_test_passes(installed: Path) -> None:
    path = os.pathsep.join(str(part) for part in (installed, ROOT, ROOT / "cli", ROOT / "sources"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", "pyproject.toml", "-p", "no:cacheprovider"], cwd=installed, env=os.environ | {"PYTHONPATH": path},
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
