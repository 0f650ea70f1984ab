"""What is not installed is named with the command that adds it to where FFF is, not to some other Python."""

from __future__ import annotations

import sys

import pytest

from fff.version import how_to_install


@pytest.mark.parametrize(
    ("prefix", "said"),
    [
        ("/home/me/project/.venv", "pip install 'fff[sqlite]'"),
        ("/home/me/.local/share/pipx/venvs/fff", "pipx inject fff 'adbc-driver-manager"),
        (
            "/home/me/.local/share/uv/tools/fff",
            f"uv pip install --python {sys.executable} 'adbc-driver-manager",
        ),
    ],
)
def test_an_extra_is_installed_where_fff_is(prefix: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    told = how_to_install("sqlite")
    assert told.startswith(said)
    assert ("adbc-driver-sqlite>=" in told) == ("adbc" in said)
    assert "duckdb" not in told
