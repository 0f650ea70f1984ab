"""A day is run: the whole of FFF over the simulated network, in virtual time."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fff.access.disk.journal import Journal, JournaledClient
from fff.access.disk.policy import RowCache
from fff.catalog import Catalog
from fff.errors import InfeasibleQuery, SourceError
from fff.federation import Federation
from fff.options import PREFERENCES
from fff.runtime import block_run, memory
from fff.stats import RunOutcome
from fff.structs import replace
from fff.web.client import WebClient
from fff.web.clock import Clock
from fff_sources.adapter import SourceContext
from fff_sources.document import Document
from fff_sources.rest import RestSource
from tests.engine.duck import over_duck
from tests.faults.cells import Played
from tests.faults.wire import Asked, Reply
from tests.soak.day import Day
from tests.soak.network import Exchange, Loop, Network
from tests.soak.queues import Queues
from tests.web.serving import WALL

Rows = Counter[tuple[Any, ...]]
#: Virtual seconds above which a run counts as without end.
FOR_EVER = 6 * 3600.0


@dataclass(frozen=True)
class OneRun:
    """One statement's run."""

    rows: Rows
    outcome: RunOutcome | None  # None: the reader left
    error: SourceError | None
    began: float
    ended: float
    requests: int  # as its report has them
    exchanges: list[Exchange]


@dataclass(frozen=True)
class Came:
    """What came of a day. `again`: the keys of a run that went on where it was killed."""

    runs: tuple[OneRun, ...]
    network: Network
    played: dict[str, Played]
    seconds: float
    sent: int  # requests, as the client counts them
    left: tuple[str, ...]  # tasks and connections that outlived all
    queues: Queues


def go(chosen: Day) -> Came | None:
    """Run it; None where nothing binds a table."""
    with ExitStack() as stack:
        if chosen.bounds.kill is None and not chosen.cache:
            return _go(chosen, None)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fff-soak-")))
        return _go(chosen, folder)


def _go(chosen: Day, folder: Path | None) -> Came | None:
    played = chosen.played()

    def site(asked: Asked) -> Reply:
        name, _, rest = asked.path[1:].partition("/")
        if name == "odd":
            return chosen.function.answer(asked)
        one = played.get(f"{name}/{rest}") or played.get(name)
        return Reply(status=404) if one is None else one.answer(asked)

    network = Network(chosen.weather(), site)
    loop, queues = Loop(network), Queues(few=chosen.seed % 3 == 0)

    async def main() -> Came | None:
        client = _client(chosen, loop, folder)
        cache = None
        if folder is not None:
            kill = chosen.bounds.kill is not None
            cache = RowCache(folder / "rows", every=True, ttl=float("inf") if kill else None,
                             clock=lambda: WALL + loop.time(), at_once=kill)  # fmt: skip
        try:
            async with Federation(
                catalog_of(chosen.spec(), client), client, keep=chosen.keep, cache=cache
            ) as federation:
                over_duck(federation)
                runs = [
                    await _run(chosen, federation, network) for _ in range(1 + (chosen.keep or chosen.cache))
                ]
        except InfeasibleQuery:
            return None
        if chosen.bounds.kill is not None:
            assert folder is not None
            runs.append(await _resumed(chosen, folder, loop, network))
        await asyncio.sleep(1.0)  # what was closed is gone by then
        tasks = [repr(task.get_coro()) for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        links = [f"a connection, {link}" for link in network.links]
        return Came(tuple(runs), network, played, loop.time(), client.requests_sent, (*tasks, *links), queues)

    with _conditions(chosen, loop, queues), asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main())


def _client(chosen: Day, loop: Loop, folder: Path | None) -> WebClient:
    clock = clock_of(loop)
    if chosen.bounds.kill is None or folder is None:
        return WebClient(rng=random.Random(1), clock=clock)
    client = JournaledClient(Journal(folder))
    client._rng, client.clock = random.Random(1), clock
    return client


def clock_of(loop: Loop) -> Clock:
    """The clock of a client in virtual time."""
    return Clock(now=loop.time, wall=lambda: WALL + loop.time(), sleep=asyncio.sleep)


def catalog_of(spec: dict[str, Any], client: WebClient) -> Catalog:
    """One source, `web`."""
    document = Document("soak.yaml", spec)
    catalog = Catalog()
    catalog.add(RestSource.from_spec(SourceContext("web", document, {}, Path(), client)))
    return catalog


async def _run(chosen: Day, federation: Federation, network: Network) -> OneRun:
    """One run, ended from outside where the day says so."""
    loop = asyncio.get_running_loop()
    began, first = loop.time(), len(network.exchanges)
    options = replace(chosen.options, memory_limit=chosen.bounds.memory)
    execution = federation.execute(federation.prepare(chosen.statement.sql), options)
    rows: Rows = Counter()
    error = None

    async def read() -> None:
        async for batch in execution.batches():
            rows.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))

    reading = asyncio.create_task(read())
    bounds = chosen.bounds
    if bounds.interrupt is not None:
        loop.call_later(bounds.interrupt, execution.interrupt)
    leaving = bounds.leave if bounds.kill is None else bounds.kill
    if leaving is not None:
        loop.call_later(leaving, reading.cancel)
    left = False
    try:
        async with asyncio.timeout(FOR_EVER):
            await reading
    except asyncio.CancelledError:
        left = True
    except SourceError as raised:  # nothing at all was answered, or that was to be the end
        error = raised
        rows = Counter()
    if not left:
        for one in execution._blocks:
            one.eddy.validate()
    outcome = None if left else execution.outcome
    requests = sum(meter.requests for meter in execution._meters)
    network.note(
        f"ended: {'left' if outcome is None else (outcome.complete, outcome.exit_code, outcome.reason)}"
    )
    return OneRun(rows, outcome, error, began, loop.time(), requests, network.exchanges[first:])


async def _resumed(chosen: Day, folder: Path, loop: Loop, network: Network) -> OneRun:
    """Another run goes on from what the first has left on the disk."""
    client = _client(chosen, loop, folder)
    cache = RowCache(
        folder / "rows", every=True, ttl=float("inf"), clock=lambda: WALL + loop.time(), at_once=True
    )
    whole = replace(chosen, bounds=replace(chosen.bounds, kill=None))
    async with Federation(catalog_of(chosen.spec(), client), client, cache=cache) as federation:
        over_duck(federation)
        network.note("goes on")
        return await _run(whole, federation, network)


@contextmanager
def in_virtual_time(loop: Loop) -> Iterator[None]:
    """All clocks are the loop's, and no thread is waited for."""

    async def at_once(call: Any, *arguments: Any) -> Any:
        return call(*arguments)

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(asyncio, "to_thread", at_once)
        patching.setattr("aiohttp.connector.monotonic", loop.time)
        for name in ("perf_counter", "monotonic"):
            patching.setattr(time, name, loop.time)
        yield


@contextmanager
def _conditions(chosen: Day, loop: Loop, queues: Queues) -> Iterator[None]:
    """In virtual time, with memory that is what the network brought."""
    network = loop._network
    with pytest.MonkeyPatch.context() as patching, in_virtual_time(loop):
        queues.watch(patching)
        if chosen.bounds.memory is not None:
            patching.setattr(memory, "taken", lambda: 10**6 + network.delivered * chosen.bounds.per_byte)
            patching.setattr(memory, "_give_back", lambda: None)
        if chosen.eager is not None:
            patching.setattr(block_run, "LOOKUPS", dict.fromkeys(PREFERENCES, chosen.eager))
        yield
