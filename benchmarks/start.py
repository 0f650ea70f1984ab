"""Start-up: the first request of a plain join against the time to import the libraries it cannot do without.

    python -m benchmarks.start [--runs N]

`fff query` on a page of one row, first byte of the process to first request at the server's door, over the whole time
of `python -c "import aiohttp, pyarrow"`. The server is a socket that notes when somebody connects. Compiled modules are kept,
as an installed program has them, also where the environment says otherwise: the first run of all is not counted.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
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


#: Without what would have every run compile the program anew.
ENVIRONMENT = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def first_request() -> float:
    """Seconds from the start of `fff query` to its first connection."""
    with TemporaryDirectory() as folder, socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        file = Path(folder) / "bench.yaml"
        file.write_text(SPEC.format(port=door.getsockname()[1]), encoding="utf-8")
        started = time.perf_counter()
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "fff_cli",
                "query",
                "-q",
                "-s",
                str(file),
                "SELECT x.a FROM t x, t y WHERE x.a = y.a",
            ],
            stdout=subprocess.DEVNULL,
            env=ENVIRONMENT,
        )
        connection, _ = door.accept()
        seconds = time.perf_counter() - started
        with connection:
            connection.recv(65536)
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n[{"a":1}]')
        process.wait()
    return seconds


def imports() -> float:
    """Seconds to import what everything else stands on."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import aiohttp, pyarrow"], check=True, env=ENVIRONMENT)
    return time.perf_counter() - started


def spent(run: Callable[[], float]) -> float:
    """Seconds of processor that its processes take, to their end."""
    before = os.times()
    run()
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Print medians and the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    pairs = [(imports(), first_request()) for _ in range(args.runs + 1)][1:]
    floor = statistics.median(pair[0] for pair in pairs)
    first = statistics.median(pair[1] for pair in pairs)
    print(
        f"imports {floor:.2f} s, first request {first:.2f} s, ratio {first / floor:.2f}, medians of {args.runs} runs"
    )


if __name__ == "__main__":
    main()
