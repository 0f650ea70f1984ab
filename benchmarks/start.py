"""Start-up: the first request of a plain join against the time to import the libraries it cannot do without.

    python -m benchmarks.start [--runs N]

`fff query` on a page of one row, first byte of the process to first request at the server's door, over the whole time
of `python -c "import aiohttp, pyarrow"`. The server is a socket that notes when somebody connects. Compiled modules are kept,
as an installed program has them, also where the environment says otherwise: the first run of all is not counted.

Between the two stands what the libraries of such a query cost, as `fff` loads them and nothing else: every module that is
not ours and that it has loaded by its end. The rest is ours.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

SPEC = """
version: 1
sources:
  bench:
    client: {{base_url: "http://127.0.0.1:{port}"}}
    tables:
      t: {{columns: {{a: int}}, scan: {{endpoint: {{path: t}}}}}}
"""


#: `fff`, and all modules that it has loaded when it ends, on its standard error.
LISTING = "import sys; from fff_cli.app import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
OURS = ("fff", "fff_cli", "fff_sources", "fff_experiments", "pyspark_fff", "__main__")
#: Imports the modules that it is told, as `fff` does: those that some other one has made are there by then.
IMPORTING = """
import os, sys
from contextlib import suppress
from importlib import import_module
from fff_cli.run.loading import spare_loading
spare_loading()
for name in sys.argv[1:]:
    with suppress(ImportError):
        import_module(name)
os._exit(0)
"""
#: Without what would have every run compile the program anew.
ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def first_request() -> float:
    """Seconds from the start of `fff query` to its first connection."""
    return _query(("-m", "fff_cli"))[0]


def _query(program: Sequence[str]) -> tuple[float, str]:
    """Seconds from the start of a query to its first connection, and what it tells in the end."""
    with TemporaryDirectory() as folder, socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        file = Path(folder) / "bench.yaml"
        file.write_text(SPEC.format(port=door.getsockname()[1]), encoding="utf-8")
        started = time.perf_counter()
        process = subprocess.Popen(
            [
                sys.executable,
                *program,
                "query",
                "-q",
                "-s",
                str(file),
                "SELECT x.a FROM t x, t y WHERE x.a = y.a",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        connection, _ = door.accept()
        seconds = time.perf_counter() - started
        with connection:
            connection.recv(65536)
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n[{"a":1}]')
        told = process.communicate()[1]
    return seconds, told


@cache
def _libraries() -> tuple[str, ...]:
    """The modules that are not ours of a query, in the order in which they come."""
    loaded = _query(("-c", LISTING))[1].split()
    return tuple(name for name in loaded if name.partition(".")[0] not in OURS)


def libraries() -> float:
    """Seconds to import what is not ours of a query, as `fff` does: sparingly, and without certificates."""
    names = _libraries()
    environment = ENVIRONMENT | {"SSL_CERT_FILE": os.devnull}
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORTING, *names], check=True, env=environment)
    return time.perf_counter() - started


def imports() -> float:
    """Seconds to import what everything else stands on."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import aiohttp, pyarrow"], check=True, env=ENVIRONMENT)
    return time.perf_counter() - started


def measured(run: Callable[[], float]) -> tuple[float, float]:
    """Seconds by the clock that a run tells, and of processor that its processes take, to their end."""
    before = os.times()
    clock = run()
    after = os.times()
    return clock, after.children_user + after.children_system - before.children_user - before.children_system


def spent(run: Callable[[], float]) -> float:
    """Seconds of processor that its processes take, to their end."""
    return measured(run)[1]


def main() -> None:
    """Print medians and ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    rounds = [[measured(run) for run in (imports, libraries, first_request)] for _ in range(args.runs + 1)]
    clocks, processors = (
        [statistics.median(one[which] for one in column) for column in zip(*rounds[1:], strict=True)]
        for which in (0, 1)
    )
    print(f"medians of {args.runs} runs      seconds  ratio  of processor  ratio")
    names = ("import aiohttp, pyarrow", "a query's libraries", "first request; to the end")
    for name, clock, processor in zip(names, clocks, processors, strict=True):
        print(
            f"{name:25}{clock:8.2f}{clock / clocks[0]:7.2f}{processor:14.2f}{processor / processors[0]:7.2f}"
        )


if __name__ == "__main__":
    main()
