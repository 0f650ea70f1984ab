"""`fff query`: check what was asked, run it, write the result, tell how it went, and end with the right exit code."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fff.budget import Budget
from fff.display.counts import counted
from fff.errors import FFFError, UsageError
from fff.structs import Struct, replace
from fff_cli.options.arguments import QueryArguments
from fff_cli.options.cache import cache_of
from fff_cli.options.checkpoint import Begun, adds, begin, gone_on
from fff_cli.options.checkpoint import check as check_checkpoint
from fff_cli.options.params import parse_params
from fff_cli.options.recording import check as check_taping
from fff_cli.options.recording import client_of, seeded
from fff_cli.options.texts import sql_texts
from fff_cli.output.console import can_draw, discard_output, is_terminal, output_screen, pager
from fff_cli.output.failures import CannotWrite, note_seen, writing
from fff_cli.output.files import PartOfFile, Target, check_report, file_target, is_special
from fff_cli.output.formats import Writer, write_batches, writer
from fff_cli.output.pager import PagedOutput
from fff_cli.output.sinks.temporary import remove_folders
from fff_cli.output.streams import BINARY_FORMATS, StandardOutput, choose_format
from fff_cli.output.table import FirstRowsWriter, TableWriter
from fff_cli.refresh.remembered import check as check_refreshable
from fff_cli.refresh.remembered import forget, one_result, remember
from fff_cli.run.interrupts import Interrupts
from fff_cli.run.progress import JsonLines, Lines, Progress, Quiet, Steering, say
from fff_cli.run.reports import Reports, exit_code_of

if TYPE_CHECKING:
    from fff.federation import Execution, Federation, Prepared, RunOutcome
    from fff.options import RunOptions
    from fff_cli.output.sinks.folders import NewFolder

#: Formats whose results run into each other without a blank line between them.
_SPACED = frozenset({"table", "markdown", "line"})


class Plan(Struct, frozen=True):
    """What was asked, checked: everything that can be wrong before the sources are opened."""

    texts: tuple[str, ...]
    params: Mapping[str, object]
    format: str


def run_query(
    arguments: QueryArguments,
    *,
    environ: Mapping[str, str] | None = None,
    typed: Sequence[str] = (),
    begun: Begun | None = None,
    made: Callable[..., ScriptRun] | None = None,
) -> int:
    """Run `fff query`; the exit code. Errors are told on standard error.

    `typed`: the words of the command, for its checkpoint; `begun`: the command that this one goes on with;
    `made`: what runs the statements, in the place of `ScriptRun`.
    """
    progress = choose_progress(arguments)
    try:
        if begun is not None:
            arguments = gone_on(arguments, begun)
        plan = _check(arguments)
        arguments = seeded(arguments)
        return asyncio.run(
            _run(arguments, plan, progress, environ=environ, typed=typed, made=made or ScriptRun)
        )
    except FFFError as error:
        if arguments.verbose:
            traceback.print_exc()
        progress.error(error)
        return error.exit_code
    except BrokenPipeError:
        discard_output()  # whoever closed the pipe has what they wanted
        return 0
    except _Aborted as aborted:
        return aborted.exit_code


class _Aborted(Exception):  # noqa: N818 - the end of a run, not an error
    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def choose_progress(arguments: QueryArguments) -> Progress:
    """Who tells how the run gets on: `--progress`, `--live` and `-q`, and what standard error is."""
    if arguments.progress == "json":
        return JsonLines()
    if arguments.quiet:
        return Quiet()
    if arguments.progress == "off":
        return Progress()
    wanted = arguments.live if arguments.live is not None else True
    if wanted and can_draw():
        from fff_cli.live.viewer import Live  # noqa: PLC0415 - many modules, for a terminal alone

        return Live(verbose=arguments.verbose)
    lines = arguments.progress == "on" or arguments.live or (wanted and is_terminal(sys.stderr))
    return Lines() if lines else Progress()


def _check(arguments: QueryArguments) -> Plan:
    texts = arguments.texts or sql_texts(arguments.sql, arguments.files)
    check_report(arguments.report, arguments.output_file)
    arguments.check_spark()
    check_taping(arguments)
    check_checkpoint(arguments)
    asked = "parquet" if arguments.into_folder and arguments.output is None else arguments.output
    chosen = choose_format(
        asked, arguments.output_file, terminal=is_terminal(sys.stdout), safe_csv=arguments.safe_csv
    )
    check_refreshable(arguments, chosen)
    _check_adding(arguments, chosen)
    return Plan(texts, parse_params(arguments.params), chosen)


async def _run(
    arguments: QueryArguments,
    plan: Plan,
    progress: Progress,
    *,
    environ: Mapping[str, str] | None,
    typed: Sequence[str],
    made: Callable[..., ScriptRun],
) -> int:
    from fff_cli.run.federation import discover_all, open_federation, prepare_all  # noqa: PLC0415 - engine and sources, only now

    interrupts = Interrupts()
    interrupts.emergency += [progress.clear, remove_folders]
    run = made(arguments, plan, progress, interrupts)
    try:
        with interrupts.watching():
            async with open_federation(
                arguments.sources,
                environ=environ,
                checkpoint=arguments.checkpoint,
                options=arguments.run,
                **client_of(arguments),
                **cache_of(arguments),
            ) as fed:
                await discover_all(fed, plan.texts, run.budget)
                prepared = prepare_all(fed, plan.texts, plan.params, arguments.run.prioritize)
                _check_adding(arguments, plan.format, prepared)
                if arguments.checkpoint is not None or arguments.refreshable:
                    _check_again(prepared)
                if arguments.checkpoint is not None and not arguments.texts:
                    begin(arguments.checkpoint, typed, plan.texts, arguments.run.seed)
                if arguments.refreshable:
                    one_result(prepared)
                return await run.script(fed, prepared)
    except (asyncio.CancelledError, FFFError) as error:
        if interrupts.exit_code is not None:
            progress.aborted(interrupts.exit_code)
            raise _Aborted(interrupts.exit_code) from None
        if isinstance(error, FFFError):
            run.reports.refused(plan.texts, error)
            if not run.reports.written:
                run.reports.write_beside(progress.error)
        raise


def _check_adding(arguments: QueryArguments, form: str, prepared: Sequence[Prepared] = ()) -> None:
    """Raise UsageError where the result cannot be put into the folder, or to what is in the file, as far as that is known."""
    if arguments.partition_by and not arguments.into_folder:
        raise UsageError("--partition-by is for a folder of Parquet files", hint="name it with -O FOLDER/")
    if not (arguments.append or arguments.upsert or arguments.into_folder):
        return
    from fff_cli.output import adding  # noqa: PLC0415 - it reads all formats, and few results are added to others
    from fff_cli.output.sinks import folders  # noqa: PLC0415 - as well

    if arguments.append and arguments.upsert:
        raise UsageError("--append and --upsert exclude each other", hint="use one of the two")
    if arguments.refreshable:
        raise UsageError(
            "--refreshable is for a file that holds a result, not what several have added",
            hint="leave out --append and --upsert",
        )
    columns: list[tuple[str, Any]] | None = None
    # Which is refused for all binary formats.
    if prepared and not (arguments.into_folder and len(prepared) > 1):
        one_result(prepared)
        result, upper = prepared[0].result, prepared[0].upper
        if result is not None:
            columns = [(field.name, field.arrow) for field in result.fields]
        elif upper is not None and upper.named:
            columns = [(name, None) for name in upper.names]
    if not arguments.into_folder:
        adding.check(arguments.output_file, form, adding.columns_of(arguments.upsert), columns)
        return
    if form != "parquet":
        raise UsageError(
            f"a result as {form} is not for a folder, which holds Parquet files", hint="name a file with -O"
        )
    assert arguments.output_file is not None
    keys = adding.columns_of(arguments.partition_by)
    upsert = adding.columns_of(arguments.upsert)
    folders.check(arguments.output_file, keys, append=arguments.append, upsert=upsert, columns=columns)


def _check_again(prepared: Sequence[Prepared]) -> None:
    """Raise UsageError where what statements read is gone when it has been read once."""
    from fff_sources.files.named import FILES, STANDARD_INPUT  # noqa: PLC0415 - sources, only now

    tables = (table for one in prepared for block in one.blocks for table in block.tables)
    if any(table.source == FILES and table.name.lower() == STANDARD_INPUT for table in tables):
        raise UsageError(
            "what comes by standard input comes once: no run can go on with it, or read it again",
            hint="write it to a file, or leave out --checkpoint and --refreshable",
        )


class ScriptRun:
    """Statements run one after the other; what `fff query` does, and `fff shell` for each statement typed."""

    more_rows = "--rows all, or -O FILE"

    def __init__(
        self, arguments: QueryArguments, plan: Plan, progress: Progress, interrupts: Interrupts
    ) -> None:
        self._arguments = arguments
        self._plan = plan
        self._progress = progress
        self._interrupts = interrupts
        self._options = run_options(arguments, live=progress.draws)
        # Of all statements together.
        self.budget = Budget.of(self._options.max_requests, self._options.budget)
        self._started = time.monotonic()
        self._file: Target | None = None  # what several results share
        self._note: str | None = None  # on the file that the last result went to
        self._results = 0  # written, or begun
        self._handed = 0  # rows of the last of them that its output has
        self._scripted = False
        self.kinds: tuple[Any, ...] = ()  # Arrow's, of the columns of the last result
        self.reports = Reports(arguments.report)

    async def script(self, federation: Federation, prepared: Sequence[Prepared]) -> int:
        """Run statements in order; the worst exit code.

        A statement without a result ends the script, as does a first Ctrl-C; the rest is not run.
        `--deadline`, `--max-requests` and `--budget` count for all of them together, and a file that takes
        several results appears with the last.
        """
        self._scripted = True
        several = self.reports.several = len(prepared) > 1
        if several and self._plan.format in BINARY_FORMATS:
            raise UsageError(
                f"several statements have several results, and a {self._plan.format} file holds one",
                hint="write a text format, or run the statements one by one",
            )
        self._forewarn(federation, prepared)
        federation.expect(prepared)  # what one statement reads of a table serves the others
        code = 0
        try:
            with self._shared_file(several=several) as file:
                for one in prepared:
                    self.reports.begun += 1
                    code = max(code, await self.statement(federation, one))
                    if self._interrupts.asked:
                        break
                if file is not None:
                    whole = code == 0 and self.reports.begun == len(prepared)
                    self.keep(file, whole=whole)
        except BaseException as error:
            self.reports.ended(prepared, error)
            self._skip(prepared, exit_code_of(error))
            self.reports.write_beside(self._progress.error)
            raise
        self._skip(prepared, code)
        self.reports.write()
        return code

    def _skip(self, prepared: Sequence[Prepared], code: int) -> None:
        """Account for the statements that were not run."""
        skipped = self.reports.not_run(prepared, code)
        if skipped and self._interrupts.exit_code is None:
            self._progress.skipped(skipped)

    @contextlib.contextmanager
    def _shared_file(self, *, several: bool) -> Iterator[Target | None]:
        """The file that several results go to, one after the other; to be kept when the last one is in."""
        if not several or self._arguments.output_file is None:
            yield None
            return
        self._file = file = file_target(self._arguments.output_file)
        self._interrupts.emergency.append(file.drop)
        try:
            yield file
        finally:
            file.drop()
            self._interrupts.emergency.remove(file.drop)
            self._file = None

    async def statement(self, federation: Federation, prepared: Prepared) -> int:
        """Run one statement and write its result; its exit code.

        Raises what the engine raises when there is none.
        """
        if not self._scripted:
            self._forewarn(federation, [prepared])
        same_terminal = is_terminal(sys.stdout) and is_terminal(sys.stderr)
        make_room = self._progress.clear if same_terminal else lambda: None
        execution = federation.execute(prepared, self._remaining(prepared), self.budget)
        self._interrupts.gentle = lambda: self._interrupt(execution)
        target = self.target(make_room)
        self._interrupts.emergency.append(target.drop)
        ordered = prepared.ordered
        steering = Steering(execution.prioritize, ordered=ordered, stop=self._interrupts.stop)
        self._progress.start(execution.snapshot, steering)
        try:
            await self._write(execution, target)
            outcome = execution.outcome
            self.keep(target, whole=outcome.complete)
        except BaseException as error:
            file = self._arguments.output_file
            seen = self._handed if file is None or is_special(file) else 0
            seen = 0 if isinstance(target, PagedOutput) else seen
            if seen and isinstance(error, FFFError) and not isinstance(error, CannotWrite):
                note_seen(error, f"the {counted(seen, 'row')}")
            self.reports.failed(execution, error, self._interrupts.exit_code, rows=seen)
            if not self._scripted:
                self.reports.write_beside(self._progress.error)
            raise
        finally:
            self._interrupts.gentle = None
            target.drop()
            self._interrupts.emergency.remove(target.drop)
            await self._progress.stop()
        self.reports.add(outcome.report)
        self.close(outcome, execution)
        return outcome.exit_code

    def _forewarn(self, federation: Federation, prepared: Sequence[Prepared]) -> None:
        for text in forewarn(federation, prepared, self.budget):
            self._progress.warn(text)
        for one in prepared:
            for text in one.warnings:
                self._progress.warn(self.worded(text))

    def worded(self, text: str) -> str:
        """A warning about a statement, in the words of where it was typed."""
        return text

    def _remaining(self, prepared: Prepared) -> RunOptions:
        """The options of the next statement: what is left of the time granted, and what it has the columns of."""
        options = self._options
        if self.reports.several and options.prioritize:
            asked = tuple(one for one in options.prioritize if prepared.has_columns_of(one))
            options = replace(options, prioritize=asked)
        if options.deadline is not None and self._results:
            spent = time.monotonic() - self._started
            options = replace(options, deadline=max(0.0, options.deadline - spent))
        return options

    def keep(self, target: Target, *, whole: bool) -> None:
        """Let the result be seen: a partial one beside a whole one, unless somebody asked for it in so many words."""
        aside = self.aside(whole=whole)
        if not aside:
            adds(self._arguments)
        with writing():
            self._note = target.keep(aside=aside, whole=whole)
        # At once: what fails from here on changes the file no more.
        if not aside and not isinstance(target, PartOfFile):
            self.told(whole=whole)
        if self._note is not None and target is self._file:
            self._progress.note(self._note)

    def told(self, *, whole: bool) -> None:
        """Write down what the file holds now came of, or forget what another result there did."""
        if self._arguments.refreshable and whole:
            remember(self._arguments, self._plan.texts, self._plan.format)
        elif self._arguments.output_file is not None and not (
            self._arguments.append or self._arguments.upsert or self._arguments.into_folder
        ):
            forget(self._arguments.output_file)

    def aside(self, *, whole: bool) -> bool:
        """Whether a result goes beside the file that was named for it."""
        return not whole and not self._arguments.replace_by_partial

    async def _write(self, execution: Execution, target: Target) -> None:
        """Write batches as they come, each visible at once."""
        out = self.writer(target)
        if self._results and self.reports.several and self._plan.format in _SPACED:
            target.out.write(b"\n")
        self._results += 1
        self._handed = 0
        begun, schema = False, None
        async with contextlib.aclosing(execution.batches()) as batches:
            async for batch in batches:
                schema = batch.schema
                if batch.num_rows == 0:
                    continue  # the header waits too: a run that fails before its first row writes nothing
                with writing():
                    if not begun:
                        out.begin(schema)
                        begun = True
                    write_batches(out, batch)
                    target.flush()
                if isinstance(out, TableWriter | FirstRowsWriter):  # rows wait until widths are known
                    self._handed = out.shown
                else:
                    self._handed += batch.num_rows
        assert schema is not None, "the engine tells the header even of an empty result"
        self.kinds = tuple(schema.types)
        with writing():
            if not begun:
                out.begin(schema)
            out.end()

    def _interrupt(self, execution: Execution) -> None:
        self._progress.interrupted()
        execution.interrupt()

    def target(self, make_room: Callable[[], None]) -> Target:
        """Where the next result goes; `make_room` runs before the first bytes reach the terminal."""
        if self._file is not None:
            return PartOfFile(self._file)
        given, file = self._arguments, self._arguments.output_file
        if file is not None and (given.append or given.upsert or given.into_folder):
            from fff_cli.output.adding import AddedTo, columns_of  # noqa: PLC0415 - as above
            from fff_cli.output.sinks.folders import NewFolder  # noqa: PLC0415 - as above

            keys, upsert = columns_of(given.partition_by), columns_of(given.upsert)
            if given.into_folder:
                return NewFolder(file, keys, append=given.append, upsert=upsert)
            return AddedTo(file, self._plan.format, upsert)
        if file is not None:
            return file_target(file)
        return PagedOutput(make_room) if self._arguments.pager and pager() else StandardOutput(make_room)

    def writer(self, target: Target) -> Writer:
        """What writes the next result."""
        if self._file is None and self._arguments.into_folder:
            return cast("NewFolder", target).writer()
        screen = output_screen() if self._arguments.output_file is None else None
        return writer(
            self._plan.format,
            target.out,
            screen,
            rows=self._arguments.rows_shown,
            more=self.more_rows,
            text_cells=self._arguments.safe_csv,
        )

    def close(self, outcome: RunOutcome, execution: Execution) -> None:
        """Tell how a statement ended."""
        snapshot, known = execution.snapshot(), execution.prepared.warnings
        outcome = replace(outcome, warnings=tuple(text for text in outcome.warnings if text not in known))
        self._progress.closing(outcome, snapshot, verbose=self._arguments.verbose)
        if self._note is not None:
            self._progress.note(self._note)
        if self._arguments.verbose and not self._arguments.quiet and self._arguments.progress != "json":
            say(f"  policy {snapshot.policy}, seed {snapshot.seed}")
            if snapshot.spark.used and self._options.spark_log is not None:
                say(f"  Spark's log is in {self._options.spark_log}")


def forewarn(federation: Federation, prepared: Sequence[Prepared], budget: Budget | None) -> list[str]:
    """What is known, before anything is sent, that some statements will not have within a budget."""
    if budget is None:
        return []
    from fff.forecast.words import over_budget  # noqa: PLC0415 - engine, only now

    return over_budget((federation.forecast(one) for one in prepared), budget)


def run_options(arguments: QueryArguments, *, live: bool, measure_filters: bool = False) -> RunOptions:
    """What the engine is told: what was typed, and what follows from where the result goes."""
    appears_whole = arguments.output_file is not None and not is_special(arguments.output_file)
    return replace(
        arguments.run,
        # A file appears when it is whole: what is written to it can still be taken back.
        hold_rows=arguments.run.hold_rows and not appears_whole,
        refresh=live,
        measure_filters=measure_filters,
        spark_log=_spark_log() if arguments.verbose else None,
    )


def _spark_log() -> Path:
    """A name that nobody can have foreseen, in a folder of all users; the file is made by a Spark that starts."""
    return Path(tempfile.gettempdir()) / f"fff-spark-{secrets.token_hex(8)}.log"
