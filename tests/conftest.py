"""What all tests share."""

from __future__ import annotations

import atexit
import functools
import gc
import importlib.metadata
import itertools
import logging
import os
import random
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from fff.spark.session import SparkEngine
from fff_sources.demo.process import DemoServer
from tests import lengthy

PROJECT = Path(__file__).resolve().parent.parent

#: Seconds after which a test is given up. Far above what any takes, far below what a stuck run costs.
PATIENCE = 300
PATIENCE_SLOW = 1800

NUMBERS = itertools.count()


def pytest_configure(config: pytest.Config) -> None:
    """Keep what shares a JVM in one worker, and start nothing that outlives the tests."""
    os.environ.setdefault("FFF_SPARK_ARCHIVE", "read")
    os.environ["FFF_SPARK_WARM"] = "off"
    # A shell that runs the tests in the background lets them, and all they start, ignore Ctrl-C; some test just that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Drawn once, by the process that starts the workers, so that the header can tell it.
    os.environ.setdefault(
        "FFF_FUZZ_LONG_SEED", os.environ.get("FFF_FUZZ_SEED", str(random.SystemRandom().getrandbits(40)))
    )
    if hasattr(config.option, "dist") and config.option.dist == "load":
        # Groups are weighed anew after each test: seconds where there are thousands, nothing among the slow ones.
        config.option.dist = "loadgroup" if config.option.markexpr == "slow" else "worksteal"
    # How long an example takes tells of the machine: what is slow is measured by the benchmarks.
    hypothesis.settings.register_profile("fff", deadline=None)
    hypothesis.settings.load_profile("fff")
    _read_installed_packages_once()
    gc.disable()  # until all tests are collected: what that makes stays


def pytest_collection_finish() -> None:
    """Half a million objects that stay, in each worker, need not be looked through again and again; others seldom."""
    gc.enable()
    gc.set_threshold(10_000, 10, 100)
    gc.freeze()
    atexit.register(gc.unfreeze)  # libraries complain of what is left at the end of a process


def _read_installed_packages_once() -> None:
    """Whoever loads a spec looks for adapters among all installed packages: a hundred files, thousands of times."""
    read = importlib.metadata.entry_points

    @functools.cache
    def remembered(_path: tuple[str, ...], asked: tuple[tuple[str, str], ...]) -> Any:
        return read(**dict(asked))

    importlib.metadata.entry_points = lambda **asked: remembered(tuple(sys.path), tuple(asked.items()))


def pytest_report_header() -> str:
    return (
        f"long fuzz run: FFF_FUZZ_SEED={os.environ['FFF_FUZZ_LONG_SEED']} "
        f"FFF_FUZZ_COUNT={os.environ.get('FFF_FUZZ_COUNT', '20000')}"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What shares a JVM, or a group, comes first: a worker that has no more takes from the end of another's stretch."""
    long = lengthy.names()
    for item in items:
        if item.get_closest_marker("spark") is not None:
            item.add_marker(pytest.mark.xdist_group("spark"))
        if item.nodeid.partition("[")[0] in long:
            item.add_marker(pytest.mark.lengthy)
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in ("spark", "xdist_group")])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Fail a test that is stuck, with what every thread was doing: a run that only ends says nothing."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        return (yield)
    patience = PATIENCE if item.get_closest_marker("slow") is None else PATIENCE_SLOW

    def give_up(_number: int, _frame: object) -> None:
        signal.alarm(patience)  # what tidies up may be stuck as well
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        stacks = [
            f"{names.get(ident, '?')}:\n{''.join(traceback.format_stack(frame))}"
            for ident, frame in sys._current_frames().items()
        ]
        pytest.fail("stuck\n" + "\n".join(stacks), pytrace=False)

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(patience)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def project() -> Path:
    """The folder of the checkout."""
    return PROJECT


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own. Pytest's would look through those of all tests before, and renew a link to it."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(NUMBERS)}"
    folder.mkdir(0o700)
    return folder


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    """What is logged during the test, of any level, in place of pytest's `caplog`, which every test would pay for."""
    records: list[logging.LogRecord] = []
    handler, root = logging.Handler(), logging.getLogger()
    handler.emit = records.append  # type: ignore[method-assign]
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield records
    root.setLevel(level)
    root.removeHandler(handler)


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """Recorded answers of real servers and the like, which lie beside the checkout and are no part of it."""
    folder = PROJECT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared, with recordings and tools, is not there")
    return folder


@pytest.fixture(scope="session")
def demo_url() -> Iterator[str]:
    """One server of the demo's sources, which answer at once, for all tests that only read them."""
    with DemoServer(delay_scale=0) as server:
        yield server.base_url


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkEngine]:
    """One Spark for all tests that only ask it queries."""
    with SparkEngine() as engine:
        yield engine
