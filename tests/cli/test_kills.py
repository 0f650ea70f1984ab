"""Runs that are killed at any request, at any write, or by a power cut, answer the same when they go on."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.killing import COMPILER, Kill, Runs, spread
from tests.cli.watched import EXPECTED, SQL, Watched, result, spec, within_what_was_in_flight

#: Kills of each kind; all 200 take some minutes.
KILLS = int(os.environ.get("FFF_KILLS", "60")) // 3
REQUESTS, WRITES = 85, 400
BEGIN = ("query", SQL, "-s", "fff.yaml", "--checkpoint", "kept", "-O", "out.csv")


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    with tempfile.TemporaryDirectory() as scratch:
        yield Runs(Path(scratch))


def killed_and_gone_on(runs: Runs, folder: Path, request: int, kill: Kill) -> tuple[int, Watched]:
    """How often a run was killed, and the site that was asked, after it has gone on to its end."""
    site, kills = Watched(), 0
    with site.serving() as url:
        spec(url, folder)
        for one in (kill, None):
            words = ("resume", "kept") if (folder / "kept" / "statement.json").exists() else BEGIN
            site.ends_at = request if one else None
            with site.starting:
                site.asking = process = runs.start(folder, *words, kill=one)
            process.join(300)
            told = (folder / "told.txt").read_text()
            assert process.exitcode in ((0, -9) if one else (0,)), told
            kills += process.exitcode == -9
        assert result(folder) == EXPECTED, told
    return kills, site


def moments(kind: str) -> list[tuple[int, Kill]]:
    """Requests, 0 for none, and writes at which runs are killed."""
    if kind == "request":
        return [(at, Kill()) for at in spread(KILLS, REQUESTS, 1)]
    return [(0, Kill(write=at, power=kind == "power", seed=at)) for at in spread(KILLS, WRITES, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["request", "write", "power"])
def test_kills_at_any_moment(runs: Runs, kind: str) -> None:
    if kind != "request" and COMPILER is None:
        pytest.skip("cc, which makes what counts writes, is not installed")
    # Whether writes reach a disk is asked by power cuts alone, and these are simulated.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    lock, kills, wrong = threading.Lock(), 0, []

    def once(moment: tuple[int, Kill]) -> None:
        nonlocal kills
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            count, site = killed_and_gone_on(runs, Path(folder), *moment)
        with lock:
            kills += count
            if not within_what_was_in_flight(site, count):
                wrong.append((moment, site.again))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(once, moments(kind)))
    print(f"{kills} kills at a {kind}: {kills} identical answers")
    assert not wrong
    assert kills >= 0.9 * KILLS, "the last ones come when all is done"
