"""The command line over servers that are processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.running import CommandLine, get, tool
from tests.real.two_tables import data

__all__ = ["data"]


@pytest.fixture
def fff(tmp_path: Path) -> CommandLine:
    folder = tmp_path / "user"
    folder.mkdir()
    return CommandLine(folder)


@pytest.fixture(scope="session")
def race_server(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("race") / "log"
    with tool(shared_folder / "tools" / "race_server.py", log) as url:
        yield url


@pytest.fixture
def race(race_server: str) -> str:
    """The race server with its counters cleared, quick, and without faults."""
    get(f"{race_server}/_config?page_ms=0&lookup_ms=0&max_inflight=0&fail_every=0&batch=1")
    get(f"{race_server}/_reset")
    return race_server
