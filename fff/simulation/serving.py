"""Simulated tables over HTTP on loopback, on this machine's clock: what virtual time says can be checked on a wire.

A small HTTP/1.1 server of its own: it answers GET requests of one client that is known to behave, and nothing else.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow.compute as pc

from fff.simulation.recorder import RunRecorder
from fff.simulation.service import Server
from fff.simulation.source import SimulatedTable, servers_of
from fff.stats import AccessMeter

#: Requests that the client is allowed to have under way, unless told; what a table serves at once is the table's own.
CEILING = 32


class LoopbackTables:
    """Serves tables; `recorder` tells when each request was begun to be served, on the clock of any event loop here."""

    def __init__(self, tables: Sequence[SimulatedTable], *, seed: int, ceiling: int = CEILING) -> None:
        self._ceiling = ceiling
        self.recorder = RunRecorder()
        self.port = 0
        self._tables = {table.name: table for table in tables}
        self._servers: dict[tuple[str, str], Server] = servers_of(tables, seed, None)
        self._meter = AccessMeter()

    async def answer(self, target: str) -> object:
        """The answer to a GET: `/TABLE?offset=N` a page, `/TABLE/COLUMN/VALUE` what a lookup finds."""
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
        name, *key = [unquote(part) for part in path.split("/")[1:]]
        table = self._tables[name]
        if key:
            column, value = key
            lookup = next(some for some in table.lookups if some.keys == (column,))
            await self._serve(name, lookup.name)
            rows = table.rows.filter(pc.equal(table.rows.column(column), int(value)))
            total = len(rows)
        else:
            scan = table.scans[0]
            await self._serve(name, scan.name)
            rows = table.rows.slice(int(query.get("offset", ["0"])[0]), scan.page_rows)
            total = len(table.rows)
        return {"rows": rows.to_pylist(), "total": total}

    async def _serve(self, table: str, method: str) -> None:
        server = self._servers[table, method]
        async with server.line:
            self.recorder.asked(table, method, self._meter, ())
            await server.serve()
            self.recorder.request_answered(self._meter)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after another."""
        # Cancelled where the server ends while the client still waits: there is nobody left to tell.
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = json.dumps(await self.answer(head.split(b" ", 2)[1].decode())).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
                    % (len(body), body)
                )
                await writer.drain()
        writer.close()

    def spec(self) -> str:
        """The source spec by which `fff` reads them, as source `sim`."""
        lines = [
            "version: 1",
            "sources:",
            "  sim:",
            "    client:",
            f"      base_url: http://127.0.0.1:{self.port}",
            f"      rate_limit: {{max_concurrency: {self._ceiling}}}",
            "    tables:",
        ]
        for table in self._tables.values():
            lines += [
                f"      {table.name}:",
                f"        primary_key: [{', '.join(table.primary_key)}]",
                f"        columns: {{{', '.join(f'{name}: bigint' for name in table.rows.schema.names)}}}",
            ]
            if table.scans:
                paginator = "{type: offset, total_path: total}"
                lines.append(
                    f"        scan: {{endpoint: {{path: {table.name}, data_selector: rows, paginator: {paginator}}}}}"
                )
            if table.lookups:
                keys = [lookup.keys[0] for lookup in table.lookups]
                need = "optional" if table.scans else "any_of"
                lines += [
                    f"        key_columns: [{', '.join(f'{{name: {key}, require: {need}}}' for key in keys)}]",
                    "        lookups:",
                ]
                lines += [
                    f'          - {{keys: [{key}], endpoint: {{path: "{table.name}/{key}/{{{key}}}", data_selector: rows}}}}'
                    for key in keys
                ]
        return "\n".join(lines) + "\n"


@contextmanager
def serving(
    tables: Sequence[SimulatedTable], *, seed: int, ceiling: int = CEILING
) -> Iterator[LoopbackTables]:
    """The tables, served by a thread of its own until the `with` ends. `ceiling`: what the client may have under way."""
    ready, stop = threading.Event(), threading.Event()
    made: list[LoopbackTables] = []

    async def serve() -> None:
        served = LoopbackTables(tables, seed=seed, ceiling=ceiling)
        server = await asyncio.start_server(served.connected, "127.0.0.1", 0)
        served.port = server.sockets[0].getsockname()[1]
        made.append(served)
        ready.set()
        await asyncio.get_running_loop().run_in_executor(None, stop.wait)
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="loopback tables")
    thread.start()
    ready.wait()
    try:
        yield made[0]
    finally:
        stop.set()
        thread.join()
