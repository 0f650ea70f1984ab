"""Commands that begin with a backslash, named as psql names them."""

from __future__ import annotations

import difflib
import os
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from fff.display.counts import counted
from fff.errors import UsageError
from fff.sql.planner.commands import command_of
from fff.structs import replace
from fff_cli.commands.source import described, find, list_all, list_own, listing, write_listing
from fff_cli.options.params import parse_params
from fff_cli.options.shared import rows_shown, size_option, typer
from fff_cli.options.texts import read_text
from fff_cli.output.console import is_terminal, output_screen
from fff_cli.output.files import check_report
from fff_cli.output.formats import emit, emit_outline
from fff_cli.output.streams import FORMATS, choose_format
from fff_cli.run.progress import say_words
from fff_cli.shell.completion import CommandArgument
from fff_cli.shell.session import ShellSession
from fff_cli.shell.text import Item, items_of

if TYPE_CHECKING:
    from fff.catalog import Table

#: Does a command with its argument; gives what is to be done next, which only `\i` has.
Action: TypeAlias = Callable[[ShellSession, str], Awaitable[list[Item]]]


class Leave(Exception):  # noqa: N818 - the end of a session, not an error
    r"""`\q`."""


#: Completion offers nothing.
NOTHING = CommandArgument()


@dataclass(frozen=True)
class Command:
    """A command: how it is written, what it does in a few words, what completion offers behind it."""

    usage: str
    help: str
    action: Action
    argument: CommandArgument = NOTHING


async def run_command(session: ShellSession, line: str) -> list[Item]:
    """Do a command line; gives the statements and commands of the file it names, if any.

    Raises UsageError, Leave.
    """
    name, _, argument = line.partition(" ")
    name, argument = name.strip().removesuffix(";"), argument.strip()
    command = COMMANDS.get(name)
    if command is None:
        raise UsageError(f"there is no command {name}", hint=_hint(name))
    if name != "\\explain":
        argument = argument.removesuffix(";").rstrip()
    if argument and command.usage == name:
        raise UsageError(f"{name} takes nothing behind it, not {argument!r}")
    return await command.action(session, argument)


#: What other shells call a command that has another name here, or none.
_ELSEWHERE = {
    "h": "\\?", "help": "\\?", "quit": "\\q", "exit": "\\q",
    "tables": "\\dt", "describe": "\\d", "schema": "\\d NAME",
    "databases": "\\l", "sources": "\\l", "dn": "\\l", "conninfo": "\\l",
    "c": "\\source FILE", "connect": "\\source FILE", "open": "\\source FILE", "read": "\\i FILE", "w": "\\s FILE",
    "a": "\\o FORMAT", "t": "\\o FORMAT", "H": "\\o FORMAT", "f": "\\o FORMAT", "mode": "\\o FORMAT",
    "copy": "\\o csv FILE", "output": "\\o FILE", "pset": "\\set", "unset": "\\set NAME off", "timer": "\\timing",
}  # fmt: skip
_NOT_HERE = {
    "watch": "`fff watch SQL --every 5m` runs a statement again and again",
    "!": "Ctrl-Z gives the terminal back to your shell, fg comes back",
    "r": "Ctrl-C clears what is typed",
}


def _hint(name: str) -> str:
    """What somebody may have meant: a command of another shell, a setting, what is spelled alike or begins with it."""
    word, known = name[1:], [one[1:] for one in COMMANDS]
    if word in _NOT_HERE:
        return _NOT_HERE[word]
    if word in _SETTINGS:
        return f"did you mean \\set {word}?"
    if meant := _ELSEWHERE.get(word, _ELSEWHERE.get(word.lower())):
        return f"did you mean {meant}?"
    word = word.lower()
    alike = difflib.get_close_matches(word, known, n=2)
    alike = alike or [one for one in known if one.startswith(word)][:2]
    alike = alike or sorted((one for one in known if word.startswith(one)), key=len)[-1:]
    meant = " or ".join("\\" + one for one in alike)
    return f"did you mean {meant}?" if meant else "\\? lists the commands"


def as_command(sql: str) -> str | None:
    r"""The command that SHOW TABLES and DESCRIBE stand for: `\d`; None for any other statement."""
    command = command_of(sql)
    if command is None or command.like is not None or command.asks not in {"tables", "describe"}:
        return None
    if command.asks == "tables":
        return None if command.name else "\\d"
    return f"\\d {'.'.join(command.name)}"


async def _describe(session: ShellSession, name: str) -> list[Item]:
    catalog = session.federation.catalog
    name = name.replace("`", "")
    pattern = name.lower() if set(name) & set("*?[") else None
    await list_all(catalog, None if not name or pattern else name)
    # Of the bundled sources only those are read that may be meant: all of them take seconds.
    source = catalog.source(name) if name and not pattern else None
    if not name or pattern or (source is not None and source.tables):
        chosen = session.output.format if session.output.file is None else "table"
        every = catalog.tables() if source is None else source.tables
        tables = [one for one in every if pattern is None or _matches(one, pattern)]
        if not tables:
            say_words("no tables" + (f" like {name}" if name else ": name a spec with -s, or see `fff demo`"))
        elif name:
            write_listing(listing(tables), chosen, session.pages())
        else:
            list_own(catalog, chosen, "\\d *", session.pages())
        return []
    await catalog.discover([find(catalog, name)])  # asks only where no columns are declared
    emit_outline(described(find(catalog, name)), session.pages())
    return []


def _matches(table: Table, pattern: str) -> bool:
    return fnmatchcase(table.full_name.lower(), pattern) or fnmatchcase(table.name.lower(), pattern)


async def _timing(session: ShellSession, wanted: str) -> list[Item]:
    session.output.timing = _switch("\\timing", wanted, now=session.output.timing)
    say_words(f"timing is {'on' if session.output.timing else 'off'}")
    return []


def _switch(name: str, wanted: str, *, now: bool) -> bool:
    if wanted.lower() not in ("", "on", "off"):
        raise UsageError(f"{name} {wanted}: neither on nor off")
    return wanted.lower() == "on" if wanted else not now


async def _output(session: ShellSession, argument: str) -> list[Item]:
    word, _, rest = argument.partition(" ")
    asked = word.lower() if word.lower() in FORMATS else None
    if asked is None and word and not Path(_path(argument)).suffix:
        choose_format(word, None, terminal=False)  # raises what lists the formats
    name = _path(rest if asked else argument)
    file = _file(name) if name else None
    chosen = choose_format(asked, file, terminal=is_terminal(sys.stdout))
    check_report(session.arguments.report, file)
    session.output = replace(session.output, format=chosen, file=file, holds=False, cut=0)
    say_words(f"results go to {'standard output' if file is None else file} as {chosen}")
    return []


def _path(written: str) -> str:
    """A file name, which may be in quotes."""
    written = written.strip()
    quoted = len(written) > 1 and written[0] == written[-1] and written[0] in "'\""
    return written[1:-1] if quoted else written


def _file(name: str) -> Path:
    """The file to write, in a folder that is there."""
    file = Path(name).expanduser()
    if not file.absolute().parent.is_dir():
        raise UsageError(f"cannot write {str(file)!r}: there is no such folder")
    return file


def _items(name: str) -> list[Item]:
    return items_of(read_text(Path(name).expanduser()).replace("\r\n", "\n"))


async def _params(session: ShellSession, argument: str) -> list[Item]:
    if argument.startswith("-"):
        name = argument[1:].strip()
        if name not in session.params:
            raise UsageError(f"no parameter {name} is set")
        del session.params[name]
    elif argument:
        session.params |= parse_params([argument])
    else:
        from fff.sql.syntax.parameters.params import render  # noqa: PLC0415 - loaded with the engine

        shown = {name: render(name, value) for name, value in session.params.items()}
        lines = [
            f":{name} = {text[1:-1] if text.startswith('(') else text}\n" for name, text in shown.items()
        ]
        emit("".join(lines) or "no parameters; \\p name=value sets one\n")
    return []


async def _policy(session: ShellSession, name: str) -> list[Item]:
    from fff.policies import POLICIES, check_policy  # noqa: PLC0415 - loaded with the engine

    if name:
        check_policy(name)
        session.arguments = replace(session.arguments, run=replace(session.arguments.run, policy=name))
    say_words(f"the policy is {session.arguments.run.policy}, of {', '.join(POLICIES)}")
    return []


async def _include(_session: ShellSession, name: str) -> list[Item]:
    if not name:
        raise UsageError("\\i needs the name of a file")
    return [replace(item, file=_path(name)) for item in _items(_path(name))]


async def _explain(session: ShellSession, sql: str) -> list[Item]:
    await session.explain(sql)
    return []


async def _report(session: ShellSession, name: str) -> list[Item]:
    if name:
        file = None if name.lower() == "off" else _file(_path(name))
        check_report(file, session.output.file)
        session.arguments = replace(session.arguments, report=file)
    report = session.arguments.report
    say_words("no report is written" if report is None else f"each statement leaves its report in {report}")
    return []


async def _rows(session: ShellSession, wanted: str) -> list[Item]:
    if wanted:
        try:
            session.arguments = replace(session.arguments, rows=rows_shown(wanted))
        except typer.BadParameter as error:
            raise UsageError(f"\\rows {wanted}: {error.message}") from None
    rows = session.arguments.rows_shown
    say_words(
        "tables show all rows" if rows == sys.maxsize else f"tables show the first {counted(rows, 'row')}"
    )
    return []


async def _expanded(session: ShellSession, wanted: str) -> list[Item]:
    expanded = _switch("\\x", wanted, now=session.output.format == "line")
    usual = choose_format(None, session.output.file, terminal=is_terminal(sys.stdout))
    session.output = replace(session.output, format="line" if expanded else usual)
    say_words(f"expanded display is {'on' if expanded else 'off'}")
    return []


async def _sources(session: ShellSession, _argument: str) -> list[Item]:
    catalog = session.federation.catalog
    own = {table.source for table in catalog.own_tables()}
    counts = Counter(table.source for table in catalog.tables())
    lines = [f"{name}  {counted(count, 'table')}" for name, count in counts.items() if name in own]
    bundled = sum(name not in own for name in counts)
    emit("\n".join([*lines, f"and {bundled:,} of the bundled catalog: \\d *"]) + "\n", session.pages())
    return []


async def _typed(session: ShellSession, name: str) -> list[Item]:
    text = "".join(f"{line}\n" for line in session.typed[:-1])
    if not name:
        emit(text, session.pages())
        return []
    file = _file(_path(name))
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {str(file)!r}: {error.strerror}") from error
    say_words(f"{str(file)!r} holds what was typed; \\i runs it")
    return []


async def _edit(session: ShellSession, _argument: str) -> list[Item]:
    if not is_terminal(sys.stdin):
        raise UsageError("\\e needs a terminal", hint="\\i FILE runs a file")
    before = next((text for text in reversed(session.typed[:-1]) if not text.startswith("\\")), "")
    editor = session.environ.get("VISUAL") or session.environ.get("EDITOR") or "vi"
    items = _edited(editor, before)
    if not items:
        say_words("nothing was saved in the editor: nothing is run")
    session.typed += [item.text + ";" for item in items]
    return items


def _edited(editor: str, before: str) -> list[Item]:
    """What an editor that has the terminal made of a text; nothing where it did not write it."""
    handle, name = tempfile.mkstemp(prefix="fff-", suffix=".sql")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(before)
        os.utime(name, ns=(0, 0))  # whatever an editor writes is newer
        try:
            code = subprocess.run([*shlex.split(editor), name], check=False).returncode  # noqa: S603 - the user's own
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot run the editor {editor!r}: {error}", hint="set EDITOR") from error
        if code:
            raise UsageError(f"the editor {editor!r} ended with {code}: nothing is run")
        return _items(name) if Path(name).stat().st_mtime_ns else []
    finally:
        Path(name).unlink(missing_ok=True)


def _above_zero(text: str, kind: Callable[[str], float]) -> float | None:
    if text.lower() == "off":
        return None
    if not (number := kind(text)) > 0:
        raise ValueError(text)
    return number


def _on(text: str) -> bool:
    return {"on": True, "off": False}[text.lower()]


def _prefer(text: str) -> str:
    from fff.policies import PREFERENCES  # noqa: PLC0415 - loaded with the engine

    if text.lower() not in PREFERENCES:
        raise ValueError(text)
    return text.lower()


#: What `\set` sets of the options of a run: how it is read, and what it may be.
_SETTINGS: dict[str, tuple[Callable[[str], object], str]] = {
    "deadline": (lambda text: _above_zero(text, float), "a number of seconds above 0, or off"),
    "max-requests": (lambda text: _above_zero(text, int), "a whole number above 0, or off"),
    "memory-limit": (
        lambda text: None if text.lower() == "half" else size_option(text),
        "a size such as 512MB, or half: of the machine's",
    ),
    "prefer": (_prefer, "fast, balanced or cheap"),
    "on-source-error": (lambda text: {"fail": "fail", "partial": "partial"}[text.lower()], "fail or partial"),
    "rows": (rows_shown, "a number above 0, or all"),
    "pager": (_on, "on or off"),
    "live": (_on, "on or off"),
    "cache": (lambda text: {"on": True, "off": False, "spec": None}[text.lower()], "on, off or spec"),
}


#: Words that completion offers behind these.
_VALUES = {
    "deadline": ("off",),
    "max-requests": ("off",),
    "memory-limit": ("half",),
    "prefer": ("fast", "balanced", "cheap"),
    "on-source-error": ("fail", "partial"),
    "rows": ("all",),
    "pager": ("on", "off"),
    "live": ("on", "off"),
    "cache": ("on", "off", "spec"),
}


async def _set(session: ShellSession, argument: str) -> list[Item]:
    name, _, text = argument.replace("=", " ", 1).partition(" ")
    name, text = name.strip().lower().replace("_", "-"), text.strip()
    if name and name not in _SETTINGS:
        close = difflib.get_close_matches(name, _SETTINGS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(_SETTINGS)}"
        raise UsageError(f"\\set knows no {name!r}", hint=hint)
    if text:
        read, what = _SETTINGS[name]
        try:
            value = read(text)
        except (ValueError, KeyError, typer.BadParameter):
            raise UsageError(f"\\set {name} {text}: it must be {what}") from None
        session.set_option(name.replace("-", "_"), value)
        say_words(f"{name} = {session.option(name.replace('-', '_'))}")
        return []
    lines = [f"{one} = {session.option(one.replace('-', '_'))}\n" for one in ([name] if name else _SETTINGS)]
    emit("".join(lines))
    return []


async def _reload(session: ShellSession, _argument: str) -> list[Item]:
    await session.reload()
    say_words(f"read anew: {_count(session)}")
    return []


async def _more_source(session: ShellSession, name: str) -> list[Item]:
    if not name:
        raise UsageError("\\source needs the name of a spec, or of a folder of them")
    await session.reload(Path(_path(name)))
    say_words(f"added: {_count(session)}")
    return []


def _count(session: ShellSession) -> str:
    tables = counted(len(session.federation.catalog.own_tables()), "table")
    return f"{tables}; Spark and the cache on disk are as they were"


async def _reset(session: ShellSession, _argument: str) -> list[Item]:
    session.federation.reset()
    say_words("forgotten: the next statements ask the sources anew")
    return []


async def _help(session: ShellSession, _argument: str) -> list[Item]:
    screen = output_screen()
    columns = sys.maxsize if screen is None else screen.width
    size = max(len(command.usage) for command in COMMANDS.values()) + 2
    narrow = columns < 2 * size  # then what a command does stands below it
    lines = [*textwrap.wrap(_ENDS, columns), ""]
    for command in COMMANDS.values():
        margin = "      " if narrow else " " * (2 + size)
        wrapped = textwrap.wrap(command.help, columns, initial_indent=margin, subsequent_indent=margin)
        usage = "  " + command.usage
        lines += [usage, *wrapped] if narrow else [f"{usage:<{2 + size}}{wrapped[0].lstrip()}", *wrapped[1:]]
    emit("\n".join([*lines, "", *textwrap.wrap(_KEYS, columns)]) + "\n", session.pages())
    return []


_ENDS = "A statement ends with a semicolon, or with \\G for a line for each value. Commands take one line:"
_KEYS = "Tab completes. Ctrl-C stops fetching and shows the partial result; twice, it aborts the statement."


async def _quit(_session: ShellSession, _argument: str) -> list[Item]:
    raise Leave


_FILE = CommandArgument(files=True)
_SWITCH = CommandArgument(words=("on", "off"))
COMMANDS = {
    command.usage.partition(" ")[0]: command
    for command in (
        Command("\\d [NAME]", "tables; a source's tables, those like a* ; one table in full", _describe, CommandArgument(tables=True)),
        Command("\\dt [NAME]", "the same as \\d", _describe, CommandArgument(tables=True)),
        Command("\\e", "edit the last statement in $EDITOR, then run it", _edit),
        Command("\\explain SQL", "how SQL would run, without a request; as EXPLAIN SQL;", _explain, CommandArgument(sql=True)),
        Command("\\i FILE", "run the statements and commands of a file", _include, _FILE),
        Command("\\l", "the sources, and how many tables each has", _sources),
        Command("\\o [FORMAT] [FILE]", "format of results, and the file they go to; alone: as it was", _output, CommandArgument(words=FORMATS, files=True)),
        Command("\\p [NAME=VALUE|-NAME]", "set, forget, or show values for :name", _params),
        Command("\\policy [NAME]", "set or show the routing policy", _policy, CommandArgument(words=("fixed", "naive", "lottery", "windowed-lottery", "rank", "benefit", "adaptive"))),
        Command("\\reload", "read the specs anew; Spark and the cache on disk stay", _reload),
        Command("\\report [FILE|off]", "where each statement leaves its report", _report, CommandArgument(words=("off",), files=True)),
        Command("\\reset", "forget what the session has fetched", _reset),
        Command("\\rows [N|all]", "how many rows a table on the terminal shows", _rows, CommandArgument(words=("all",))),
        Command("\\s [FILE]", "what was typed so far, or save it", _typed, _FILE),
        Command("\\set [NAME VALUE]", "set or show " + ", ".join(_SETTINGS), _set, CommandArgument(tuple(_SETTINGS), _VALUES)),
        Command("\\source FILE", "add a spec, or a folder of them", _more_source, _FILE),
        Command("\\timing [on|off]", "the closing line with rows, seconds and requests", _timing, _SWITCH),
        Command("\\x [on|off]", "a line for each value, as -o line", _expanded, _SWITCH),
        Command("\\?", "this help", _help),
        Command("\\q", "leave; so does Ctrl-D", _quit),
    )
}  # fmt: skip
ARGUMENTS = {name: command.argument for name, command in COMMANDS.items()}
