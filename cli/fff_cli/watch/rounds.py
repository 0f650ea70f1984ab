"""One round after the other: run, compare, tell, wait."""

from __future__ import annotations

import asyncio
import io
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from fff.budget import Budget
from fff.display.counts import counted
from fff.errors import FFFError, QueryError, SpecError, UsageError
from fff.structs import replace
from fff_cli.commands.query import run_options
from fff_cli.options.arguments import QueryArguments
from fff_cli.options.cache import cache_of
from fff_cli.options.params import parse_params
from fff_cli.options.texts import sql_texts
from fff_cli.output.adding import spelled
from fff_cli.output.console import is_terminal, output_screen
from fff_cli.output.failures import writing
from fff_cli.output.formats import NdjsonWriter, Writer, writer
from fff_cli.output.streams import BINARY_FORMATS, StandardOutput, choose_format
from fff_cli.run.account import closing_lines
from fff_cli.run.interrupts import Interrupts
from fff_cli.run.progress import say, say_error, say_words
from fff_cli.run.state import state_folder
from fff_cli.watch.changes import Changes, LastResult, Pair, compared, paired

if TYPE_CHECKING:
    from fff.federation import Federation


@dataclass(frozen=True)
class Watch:
    """How to watch.

    Attributes:
        every: seconds from the beginning of one round to that of the next.
        keys: columns that tell rows apart.
        command: for the shell; gets the changes.
        times: how many rounds, where there is an end.
    """

    every: float
    keys: tuple[str, ...] = ()
    command: str | None = None
    times: int | None = None


def run_watch(arguments: QueryArguments, watch: Watch) -> int:
    """Run `fff watch`; the exit code: that of the worst round, or of Ctrl-C.

    Raises UsageError, QueryError, SpecError.
    """
    form = choose_format(arguments.output, None, terminal=is_terminal(sys.stdout))
    if form in BINARY_FORMATS or form == "json":
        raise UsageError(f"changes are not written as {form}: they have no end", hint="use -o ndjson")
    if arguments.cache is None:
        # What is asked for again is sent only if it has changed, where the source can tell.
        arguments = replace(arguments, cache=True)
    return asyncio.run(_Rounds(arguments, watch, form).run())


class _Rounds:
    def __init__(self, arguments: QueryArguments, watch: Watch, form: str) -> None:
        self._arguments, self._watch, self._form = arguments, watch, form
        self._texts = sql_texts(arguments.sql, arguments.files)
        self._params = parse_params(arguments.params)
        self._last = LastResult(None, [])  # until it is known what is read
        self._warned = False
        self._target = StandardOutput()
        self._out: Writer | None = None
        self._header: list[str] = []  # what it was begun with
        self._screen = output_screen()

    async def run(self) -> int:
        """All rounds, until there have been enough or somebody ends them."""
        from fff_cli.run.federation import open_federation  # noqa: PLC0415 - engine and sources, only now

        interrupts, worst, count = Interrupts(), 0, 0
        try:
            with interrupts.watching():
                async with open_federation(
                    self._arguments.sources, options=self._arguments.run, **cache_of(self._arguments)
                ) as federation:
                    self._last = LastResult(state_folder(), self._watched(federation))
                    while True:
                        began = time.monotonic()
                        worst = max(worst, await self._round(federation))
                        count += 1
                        if count == self._watch.times:
                            return worst
                        await asyncio.sleep(max(0.0, self._watch.every - (time.monotonic() - began)))
        except asyncio.CancelledError:
            if interrupts.exit_code is None:
                raise
            return interrupts.exit_code

    def _watched(self, federation: Federation) -> object:
        """All that says which rows a result has: what is read of another place is no change of it."""
        from fff_sources.adapter import ADDRESS_VARIABLE  # noqa: PLC0415 - sources, only now

        specs = [(str(Path(spec.file).resolve()), spec.text) for spec in federation.catalog.specs()]
        hosts = sorted(one for one in os.environ.items() if ADDRESS_VARIABLE.fullmatch(one[0]))
        return [*self._texts], [*self._arguments.params], specs, hosts, str(Path.cwd())

    async def _round(self, federation: Federation) -> int:
        from fff_cli.run.federation import discover_all, prepare_all  # noqa: PLC0415 - engine and sources, only now

        options = run_options(self._arguments, live=False)
        budget = Budget.of(options.max_requests, options.budget)
        await discover_all(federation, self._texts, budget)
        statements = prepare_all(federation, self._texts, self._params)
        if len(statements) != 1:
            raise UsageError("one statement can be watched at a time", hint="give each its own fff watch")
        federation.reset()  # nothing is fresh: each round asks
        execution = federation.execute(statements[0], options, budget)
        try:
            batches = [batch async for batch in execution.batches()]
        except (QueryError, SpecError):
            raise
        except FFFError as error:  # a source that is down now may be up at the next round
            say_error(error)
            return error.exit_code
        outcome = execution.outcome
        if not outcome.complete or self._arguments.verbose:
            for line in closing_lines(outcome, execution.snapshot().access):
                say(line)
        if not outcome.complete:
            say("what is partial is not compared")
            return outcome.exit_code
        await self._compare(pa.Table.from_batches(batches))
        return 0

    async def _compare(self, now: pa.Table) -> None:
        last = self._last.read()
        pair = Pair(now, now, ()) if last is None else paired(last, now)
        for text in pair.told:
            self._tell(text)
        keys = spelled(self._watch.keys, pair.after.schema.names)
        if pair.on and set(keys) <= set(pair.on):
            changes = compared(pair.before, pair.after, keys, pair.on)
            self._tell(_summary(changes, now.num_rows))
            if changes:
                self._write(changes.rows)
                if self._watch.command is not None:
                    await self._call(self._watch.command, changes.rows)
        else:
            compared(now.slice(0, 0), now.slice(0, 0), keys)  # whether there are such columns
            self._tell(f"{counted(now.num_rows, 'row')} to compare with")
        self._keep(now)

    def _keep(self, now: pa.Table) -> None:
        """For the next round and, where that can be, for the next watch; that it cannot be is told once."""
        why = self._last.write(now)
        if why is None or self._warned or self._arguments.quiet:
            return
        self._warned = True
        say_words(
            f"warning: the last result cannot be kept for a watch that is started later ({why}):"
            " set XDG_STATE_HOME to a folder of yours with room in it"
        )

    def _tell(self, text: str) -> None:
        if not self._arguments.quiet:
            say(f"{datetime.now().astimezone():%H:%M:%S} {text}")

    def _write(self, rows: pa.RecordBatch) -> None:
        """Changes as rows; formats whose lines follow one another begin once, the others anew each time."""
        follow = self._form in ("csv", "tsv", "ndjson")
        with writing():
            if self._out is None or not follow or rows.schema.names != self._header:
                self._header = rows.schema.names
                self._out = writer(
                    self._form,
                    self._target.out,
                    self._screen,
                    rows=self._arguments.rows_shown,
                    more="-o csv",
                    text_cells=self._arguments.safe_csv,
                )
                self._out.begin(rows.schema)
            self._out.write(rows)
            if not follow:
                self._out.end()
            self._target.flush()

    async def _call(self, command: str, rows: pa.RecordBatch) -> None:
        """Give the changes to a command; its failure is told, and no end of watching."""
        data = io.BytesIO()
        lines = NdjsonWriter(data)
        lines.begin(rows.schema)
        lines.write(rows)
        lines.end()
        process = await asyncio.create_subprocess_shell(command, stdin=asyncio.subprocess.PIPE)
        await process.communicate(data.getvalue())
        if process.returncode:
            say(f"warning: {command!r} ended with {process.returncode}")


def _summary(changes: Changes, rows: int) -> str:
    counts: Mapping[str, int] = {"new": changes.come, "gone": changes.gone, "changed": changes.changed}
    summary = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    return f"{counted(rows, 'row')}: {summary or 'no change'}"
