"""`fff shell`: read, run, and on: from the editor on a terminal, else line by line from standard input."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import AsyncIterator
from importlib.metadata import version

from fff.display.counts import counted
from fff.errors import FFFError, UsageError
from fff.structs import replace
from fff_cli.commands.query import choose_progress
from fff_cli.options.arguments import QueryArguments
from fff_cli.options.cache import cache_of
from fff_cli.options.params import parse_params
from fff_cli.output.console import discard_output, is_terminal
from fff_cli.output.sinks.temporary import remove_folders
from fff_cli.output.streams import choose_format
from fff_cli.run.interrupts import ABORTED
from fff_cli.run.progress import Progress, say
from fff_cli.shell.commands import ARGUMENTS, Leave, as_command, run_command
from fff_cli.shell.completion import suggestions
from fff_cli.shell.results import ShellOutput, in_shell
from fff_cli.shell.session import ShellSession
from fff_cli.shell.signals import SessionInterrupts, StatementAborted
from fff_cli.shell.text import Item, Reader

PARTIAL = 3  # exit code of a statement that printed a labelled partial result
DEEPEST_FILE = 16  # files that run files
PROMPT, CONTINUATION = "fff> ", "...> "


def run_shell(arguments: QueryArguments) -> int:
    """Run a session; 0 on a terminal, else the exit code of the first statement that failed."""
    progress = choose_progress(arguments)
    interrupts = SessionInterrupts()
    try:
        return asyncio.run(_session(arguments, progress, interrupts))
    except FFFError as error:
        if arguments.verbose:
            traceback.print_exc()
        progress.error(error)
        return error.exit_code
    except BrokenPipeError:
        discard_output()  # whoever closed the pipe has what they wanted
        return 0
    except asyncio.CancelledError:
        if interrupts.exit_code is None:
            raise
        return interrupts.exit_code


async def _session(arguments: QueryArguments, progress: Progress, interrupts: SessionInterrupts) -> int:
    from fff_cli.run.federation import open_federation  # noqa: PLC0415 - engine and sources, only now

    arguments.check_spark()
    typing = is_terminal(sys.stdin)
    terminal, safe_csv = typing and is_terminal(sys.stdout), arguments.safe_csv
    chosen = choose_format(arguments.output, None, terminal=terminal, safe_csv=safe_csv)
    params = parse_params(arguments.params)
    with interrupts.watching():
        async with open_federation(
            arguments.sources,
            environ=os.environ,
            options=arguments.run,
            **(cache_of(arguments) | {"keep": True}),
        ) as federation:
            if typing and arguments.pager is None:
                arguments = replace(arguments, pager=True)
            session = ShellSession(
                federation, arguments, progress, interrupts, ShellOutput(chosen), params, environ=os.environ
            )
            interrupts.emergency += [
                lambda: session.progress.clear(),  # noqa: PLW0108 - whichever it is then
                remove_folders,
            ]
            try:
                code = await (_typed(session) if typing else _piped(session))
            finally:
                interrupts.leave(0 if typing else ABORTED)
    return code


async def _typed(session: ShellSession) -> int:
    r"""Do what is typed, whatever fails, until Ctrl-D or `\q`."""
    if not session.arguments.quiet:
        count = len(list(session.federation.catalog.tables(offered=False)))  # the user's own
        tables = counted(count, "table") if count else "the bundled catalog: \\d lists it"
        say(f"fff {version('fff')}, {tables}; \\? lists commands, \\q leaves")
    if not session.arguments.verbose:  # which lets Spark log: a Spark of the session's own
        session.federation.warm_up(session.arguments.run)  # while the person reads and types
    plain = session.environ.get("TERM", "") in ("", "dumb", "unknown")
    async for items in _lines_typed(session) if plain else _edited(session):
        for item in items:
            try:
                await _do(session, item)
            except Leave:
                return 0
            if session.interrupts.pressed:
                break  # Ctrl-C is for all that was typed at once
    return 0


async def _edited(session: ShellSession) -> AsyncIterator[list[Item]]:
    from fff_cli.shell.editor import Editor  # noqa: PLC0415 - only a terminal pays for the line editor
    from fff_cli.shell.history import history_file  # noqa: PLC0415

    catalog = session.federation.catalog
    editor = Editor(
        lambda text, cursor: suggestions(text, cursor, catalog, ARGUMENTS), history_file(session.environ)
    )
    unfinished = ""  # a statement that a command came into
    while True:
        try:
            lines = (await editor.read(unfinished)).split("\n")
        except KeyboardInterrupt:
            unfinished = ""
            continue
        except EOFError:
            return
        reader = Reader()
        yield [item for line in lines for item in reader.feed(line)]
        unfinished = reader.unfinished and reader.unfinished + "\n"


async def _lines_typed(session: ShellSession) -> AsyncIterator[list[Item]]:
    """Lines from a terminal that cannot move its cursor."""
    reader = Reader()
    while True:
        try:
            line = _next_line(session, PROMPT if reader.is_idle else CONTINUATION)
        except KeyboardInterrupt:
            reader = Reader()
            sys.stderr.write("\n")
            continue
        if line is None:
            sys.stderr.write("\n")  # what comes next begins on a line of its own
            return
        yield reader.feed(line)


async def _piped(session: ShellSession) -> int:
    r"""Do what standard input says until its end, `\q`, or the first error."""
    reader, worst, ended = Reader(), 0, False
    while not ended:
        try:
            line = _next_line(session)
        except KeyboardInterrupt:
            return ABORTED
        ended = line is None
        for item in reader.rest() if line is None else reader.feed(line):
            try:
                code = await _do(session, item)
            except Leave:
                return worst
            worst = max(worst, code)
            if code and (code != PARTIAL or session.interrupts.pressed):
                say(f"stopped at line {item.line} of standard input")
                return code
    return worst


def _next_line(session: ShellSession, prompt: str = "") -> str | None:
    """The next line of standard input without its end, or None after the last; raises KeyboardInterrupt, UsageError."""
    if sys.stdin is None:
        return None
    session.interrupts.reading = True
    try:
        sys.stderr.write(prompt)
        sys.stderr.flush()
        data = sys.stdin.buffer.readline()
    finally:
        session.interrupts.reading = False
    try:
        return data.decode("utf-8-sig").rstrip("\r\n") if data else None
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 text: {data[:40]!r}") from error


async def _do(session: ShellSession, item: Item, depth: int = 0) -> int:
    """Do one thing; its exit code, or the first that is no success among those of the file it names.

    Errors are told here. Raises Leave, BrokenPipeError.
    """
    if depth == 0:
        session.typed.append(item.text if item.is_command else item.text + ("\\G" if item.expanded else ";"))
    try:
        code, then = await session.interrupts.run(_one(session, item))
        if then and depth >= DEEPEST_FILE:
            raise UsageError(f"more than {DEEPEST_FILE} files run each other")
    except StatementAborted:
        say("aborted")
        return ABORTED
    except FFFError as error:
        if session.arguments.verbose:
            traceback.print_exc()
        error.message = in_shell(error.message)
        error.hint = error.hint and in_shell(error.hint)
        session.progress.error(error)
        if item.file:
            say(f"at line {item.line} of {item.file}")
        return error.exit_code
    except (Leave, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001 - a bug ends a statement, not the session
        if session.arguments.verbose:
            traceback.print_exc()
        say(f"internal error: {type(error).__name__}: {error}; -v shows where")
        return 1
    for one in then:
        inner = await _do(session, one, depth + 1)
        code = max(code, inner)
        if session.interrupts.pressed or (inner not in (0, PARTIAL) and not is_terminal(sys.stdin)):
            return inner
    return code


async def _one(session: ShellSession, item: Item) -> tuple[int, list[Item]]:
    line = item.text if item.is_command else as_command(item.text)
    if line is not None:
        return 0, await run_command(session, line)
    return await session.statement(item.text, expanded=item.expanded), []
