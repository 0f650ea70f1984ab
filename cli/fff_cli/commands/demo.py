"""`fff demo`: the bundled web sources in a process of their own, and the query over them."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fff_cli.commands.query import run_query
from fff_cli.options.arguments import QueryArguments
from fff_cli.output.formats import emit
from fff_cli.run.progress import say, say_words
from fff_sources.demo import QUERY, SPEC, spec_text
from fff_sources.demo.process import DemoServer

EXAMPLE = "SELECT name, contribution, householdIncome FROM FEC JOIN Demographics USING (zip) LIMIT 5"


def run_demo(port: int, seed: int | None, *, prioritize: tuple[str, ...] = (), verbose: bool = False) -> int:
    """Start the sources, run the query live, print the result, stop; the query's exit code."""
    say_words(
        "Three slow web sources start on this machine; the average contribution and household income by state and "
        "crime rating are joined from them, live."
    )
    with _server(port, seed) as server:
        arguments = QueryArguments.typed(
            sql=QUERY, sources=(SPEC,), prioritize=prioritize, verbose=verbose, warm=True
        )
        return run_query(arguments, environ=dict(os.environ) | {"FFF_DEMO_BASE_URL": server.base_url})


def serve_demo(port: int, seed: int | None) -> int:
    """Keep the sources up until Ctrl-C; print the spec that reads them, and leave it in a file for as long."""
    with tempfile.TemporaryDirectory(prefix="fff-demo-") as folder, _server(port, seed) as server:
        file = Path(folder) / "demo.yaml"
        text = spec_text(server.base_url)
        file.write_text(text, encoding="utf-8")
        emit(text)
        say(f"\nThe demo sources are at {server.base_url} until Ctrl-C; the spec above is in {file}:")
        say(f'  fff query -s {file} "{EXAMPLE}"')
        with contextlib.suppress(KeyboardInterrupt), _terminable():
            server.wait()
    return 0


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the wait as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _server(port: int, seed: int | None) -> DemoServer:
    return DemoServer(port=port) if seed is None else DemoServer(port=port, seed=seed)
