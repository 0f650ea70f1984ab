"""Runs of FFF as processes to be killed, forked from one that has imported everything: a run costs no start."""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.process
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

from fff.structs import Struct

COMPILER = shutil.which("cc")
_SHIM = Path(__file__).with_name("power.c")
_IMPORTED = ["fff_cli.app", "fff_cli.commands.query", "fff_cli.commands.resume", "fff_sources.http.fetch"]


class Kill(Struct, frozen=True):
    """When a run ends: at its n-th write to the folder of its checkpoint, by `power.c`; 0: it does not."""

    write: int = 0
    power: bool = False  # what was not synced is lost
    seed: int = 0


def _run(folder: Path, words: Sequence[str], kill: Kill) -> None:
    out = os.open(folder / "told.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(folder)
    shim = ctypes.CDLL(None)
    watched = hasattr(shim, "power_watch")
    if watched:
        shim.power_watch(str(folder / "kept").encode(), kill.write or -1, kill.power, kill.seed)
    from fff_cli.app import run

    code = run(list(words))
    if watched:
        (folder / "writes.txt").write_text(str(shim.power_seen()))
    sys.exit(code)


class Runs:
    """Starts runs. With a compiler their writes are counted, and may end them."""

    def __init__(self, scratch: Path) -> None:
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_IMPORTED)
        self._starting = threading.Lock()
        if COMPILER is not None:
            library = scratch / "power.so"
            subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, _SHIM, "-ldl"], check=True)
            os.environ["LD_PRELOAD"] = str(library)
        try:
            self._process(scratch, ["--version"], Kill()).join()
        finally:
            os.environ.pop("LD_PRELOAD", None)

    def _process(self, folder: Path, words: Sequence[str], kill: Kill) -> ForkServerProcess:
        process = self._context.Process(target=_run, args=(folder, words, kill))
        # Each start looks whether others have ended, and so takes the exit code from under the thread that waits for it,
        # which is told 255 then: it is to see none of them.
        with self._starting:
            process.start()
            multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]
        return process

    def start(self, folder: Path, *words: str, kill: Kill | None = None) -> ForkServerProcess:
        """A run in a folder; what it says is in `told.txt`."""
        return self._process(folder, words, kill or Kill())


def spread(count: int, most: int, seed: int) -> list[int]:
    """So many numbers from 1 to the most, evenly spread, in any order."""
    numbers = [1 + at * most // count for at in range(count)]
    random.Random(seed).shuffle(numbers)
    return numbers
