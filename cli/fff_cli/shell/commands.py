"""Commands that begin with a backslash, named as psql names them."""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from fff.errors import UsageError
from fff_cli.console import is_terminal
from fff_cli.output import FORMATS, choose_format, emit
from fff_cli.params import parse_params
from fff_cli.progress import say
from fff_cli.query import read_text
from fff_cli.shell.completion import Argument
from fff_cli.shell.session import Session
from fff_cli.shell.text import Item, items_of
from fff_cli.source import described, find, list_all, listing, write_listing

if TYPE_CHECKING:
    from fff.catalog import Table

#: Does a command with its argument; gives what is to be done next, which only `\i` has.
Action: TypeAlias = Callable[[Session, str], Awaitable[list[Item]]]


class Leave(Exception):  # noqa: N818 - the end of a session, not an error
    r"""`\q`."""


#: Completion offers nothing.
NOTHING = Argument()


@dataclass(frozen=True)
class Command:
    """A command: how it is written, what it does in a few words, what completion offers behind it."""

    usage: str
    help: str
    action: Action
    argument: Argument = NOTHING


async def run_command(session: Session, line: str) -> list[Item]:
    """Do a command line; gives the statements and commands of the file it names, if any. Raises UsageError, Leave."""
    name, _, argument = line.partition(" ")
    name, argument = name.strip().removesuffix(";"), argument.strip()
    command = COMMANDS.get(name)
    if command is None:
        raise UsageError(f"there is no command {name}", hint="\\? lists the commands")
    if name != "\\explain":
        argument = argument.removesuffix(";").rstrip()
    if argument and command.usage == name:
        raise UsageError(f"{name} takes nothing behind it, not {argument!r}")
    return await command.action(session, argument)


_SHOW = re.compile(r"\s*SHOW\s+TABLES\s*", re.IGNORECASE)
_DESCRIBE = re.compile(
    r"\s*DESC(?:RIBE)?\s+(?:TABLE\s+)?(?:EXTENDED\s+|FORMATTED\s+)?([\w.`]+)\s*", re.IGNORECASE
)


def as_command(sql: str) -> str | None:
    r"""The command that SHOW TABLES and DESCRIBE stand for: `\d`; None for any other statement."""
    if _SHOW.fullmatch(sql):
        return "\\d"
    if found := _DESCRIBE.fullmatch(sql):
        return f"\\d {found[1]}"
    return None


async def _describe(session: Session, name: str) -> list[Item]:
    catalog = session.federation.catalog
    name = name.replace("`", "")
    await list_all(catalog, None if not name or set(name) & set("*?[") else name)
    sources = {table.source.lower() for table in catalog.tables()}
    pattern = name.lower() if set(name) & set("*?[") else f"{name.lower()}.*"
    if not name or pattern == name.lower() or name.lower() in sources:
        rows = [
            row for row, table in zip(listing(catalog), catalog.tables(), strict=True)
            if not name or _matches(table, pattern)
        ]  # fmt: skip
        if not rows:
            say("no tables" + (f" like {name}" if name else ": name a spec with -s, or see `fff demo`"))
            return []
        write_listing(rows, session.output.format if session.output.file is None else "table")
        return []
    await catalog.discover([find(catalog, name)])  # asks only where no columns are declared
    emit("\n".join(described(find(catalog, name))) + "\n")
    return []


def _matches(table: Table, pattern: str) -> bool:
    return fnmatchcase(table.full_name.lower(), pattern) or fnmatchcase(table.name.lower(), pattern)


async def _timing(session: Session, wanted: str) -> list[Item]:
    session.output.timing = _switch("\\timing", wanted, now=session.output.timing)
    say(f"timing is {'on' if session.output.timing else 'off'}")
    return []


def _switch(name: str, wanted: str, *, now: bool) -> bool:
    if wanted.lower() not in ("", "on", "off"):
        raise UsageError(f"{name} {wanted}: neither on nor off")
    return wanted.lower() == "on" if wanted else not now


async def _output(session: Session, argument: str) -> list[Item]:
    word, _, rest = argument.partition(" ")
    asked = word.lower() if word.lower() in FORMATS else None
    if asked is None and word and not Path(_path(argument)).suffix:
        choose_format(word, None, terminal=False)  # raises what lists the formats
    name = _path(rest if asked else argument)
    file = _file(name) if name else None
    chosen = choose_format(asked, file, terminal=is_terminal(sys.stdout))
    session.output = replace(session.output, format=chosen, file=file, holds=False)
    say(f"results go to {'standard output' if file is None else file} as {chosen}")
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


async def _params(session: Session, argument: str) -> list[Item]:
    if argument.startswith("-"):
        name = argument[1:].strip()
        if name not in session.params:
            raise UsageError(f"no parameter {name} is set")
        del session.params[name]
    elif argument:
        session.params |= parse_params([argument])
    else:
        from fff.sql.params import render  # noqa: PLC0415 - loaded with the engine

        shown = {name: render(name, value) for name, value in session.params.items()}
        lines = [
            f":{name} = {text[1:-1] if text.startswith('(') else text}\n" for name, text in shown.items()
        ]
        emit("".join(lines) or "no parameters; \\p name=value sets one\n")
    return []


async def _policy(session: Session, name: str) -> list[Item]:
    from fff.policies import DEFAULT_POLICY, POLICIES  # noqa: PLC0415 - loaded with the engine

    if name and name.partition(":")[0] not in POLICIES:
        raise UsageError(f"no routing policy is called {name!r}", hint=f"there are: {', '.join(POLICIES)}")
    if name:
        session.arguments = replace(session.arguments, policy=name)
    say(f"the policy is {session.arguments.policy or DEFAULT_POLICY}, of {', '.join(POLICIES)}")
    return []


async def _include(_session: Session, name: str) -> list[Item]:
    if not name:
        raise UsageError("\\i needs the name of a file")
    return _items(_path(name))


async def _explain(session: Session, sql: str) -> list[Item]:
    await session.explain(sql)
    return []


async def _report(session: Session, name: str) -> list[Item]:
    if name:
        file = None if name.lower() == "off" else _file(_path(name))
        session.arguments = replace(session.arguments, report=file)
    report = session.arguments.report
    say("no report is written" if report is None else f"each statement leaves its report in {report}")
    return []


async def _rows(session: Session, wanted: str) -> list[Item]:
    if wanted:
        if wanted.lower() != "all" and not (wanted.isdecimal() and int(wanted)):
            raise UsageError(f"\\rows {wanted}: neither a number above 0 nor all")
        session.output.rows = None if wanted.lower() == "all" else int(wanted)
    rows = session.output.rows
    say("tables show all rows" if rows is None else f"tables show the first {rows:,} rows")
    return []


async def _reset(session: Session, _argument: str) -> list[Item]:
    session.federation.reset()
    say("forgotten: the next statements ask the sources anew")
    return []


async def _help(_session: Session, _argument: str) -> list[Item]:
    size = max(len(command.usage) for command in COMMANDS.values())
    lines = ["A statement ends with a semicolon, and may take several lines. Commands take one:", ""]
    lines += [f"  {command.usage:<{size}}  {command.help}" for command in COMMANDS.values()]
    lines += [
        "",
        "Tab completes. Ctrl-C stops fetching and shows the partial result; twice, it aborts the statement.",
    ]
    emit("\n".join(lines) + "\n")
    return []


async def _quit(_session: Session, _argument: str) -> list[Item]:
    raise Leave


_FILE = Argument(files=True)
_SWITCH = Argument(words=("on", "off"))
COMMANDS = {
    command.usage.partition(" ")[0]: command
    for command in (
        Command("\\d [NAME]", "tables; a source's tables, those like a* ; one table in full", _describe, Argument(tables=True)),
        Command("\\explain SQL", "how SQL would run, without a request; as EXPLAIN SQL;", _explain, Argument(sql=True)),
        Command("\\i FILE", "run the statements and commands of a file", _include, _FILE),
        Command("\\o [FORMAT] [FILE]", "format of results, and the file they go to; alone: as it was", _output, Argument(words=FORMATS, files=True)),
        Command("\\p [NAME=VALUE|-NAME]", "set, forget, or show values for :name", _params),
        Command("\\policy [NAME]", "set or show the routing policy", _policy, Argument(words=("fixed", "naive", "lottery", "windowed-lottery", "rank", "benefit", "adaptive"))),
        Command("\\report [FILE|off]", "where each statement leaves its report", _report, Argument(words=("off",), files=True)),
        Command("\\reset", "forget what the session has fetched", _reset),
        Command("\\rows [N|all]", "how many rows a table on the terminal shows", _rows, Argument(words=("all",))),
        Command("\\timing [on|off]", "the closing line with rows, seconds and requests", _timing, _SWITCH),
        Command("\\?", "this help", _help),
        Command("\\q", "leave; so does Ctrl-D", _quit),
    )
}  # fmt: skip
ARGUMENTS = {name: command.argument for name, command in COMMANDS.items()}
