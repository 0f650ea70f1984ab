"""The options that commands share. The only importer of typer."""

import copy
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer as typer  # noqa: PLC0414 - whoever adds a command takes it from here

from fff.budget import Money, parse_bytes
from fff.errors import UsageError
from fff.options import OnSourceError, Preference, Semantics

SETTINGS = {"help_option_names": ["-h", "--help"]}
ProgressMode = Literal["auto", "on", "off", "json"]

#: What options are about: a terminal shows them in such groups.
_READ = "What is read"
_RESULT = "The result"
_WATCH = "What is told"
_RUN = "How it runs"
_KEPT = "What is kept"
_SPARK = "Spark"


def commands(text: str) -> typer.Typer:
    """Commands of one kind, below a command that shows their help."""
    return typer.Typer(help=text, context_settings=SETTINGS, no_args_is_help=True, rich_markup_mode=None)


def option(written: str, text: str, *, panel: str | None = None, **more: Any) -> Any:
    """What typer is told of an option: its names and what follows them, as help writes both, and its help."""
    names = [word for word in written.split() if word.startswith("-")]
    metavar = written.removeprefix(" ".join(names)).strip() or None
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, **more)


def argument(written: str, text: str) -> Any:
    """What typer is told of an argument: how help writes it, and its help."""
    return typer.Argument(metavar=written, help=text)


Sources = Annotated[
    list[Path] | None,
    option("-s --sources PATH", "Source spec file or folder of them; repeatable.", panel=_READ),
]
Format = Annotated[
    str | None,
    option(
        "-o --output FORMAT",
        "table csv tsv json ndjson markdown line parquet arrow sqlite duckdb xlsx. (default: table on a terminal, else csv)",
        panel=_RESULT,
    ),
]
ROWS_SHOWN = 40
#: How help writes a value of several names between commas.
COLUMNS = "COLUMNS"


def refuse_empty(command: Any) -> None:
    """Have a command, and those below it, refuse values that are empty: what an unset variable leaves is no choice.

    Before they become paths, of which the empty one is the current folder.
    """
    for param in command.params:
        if "--server" not in param.opts:  # the empty one is this machine, whatever FFF_SERVER says
            param.process_value = _not_empty(param, param.process_value)
    for below in getattr(command, "commands", {}).values():
        refuse_empty(below)


def _not_empty(param: Any, then: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def checked(context: Any, value: Any) -> Any:
        source = context.get_parameter_source(param.name)
        if source is not None and source.name == "DEFAULT" and not (param.required or param.callback):
            # It was not given, and is what it shall be: typer would make all the same what reads it.
            return () if value is None and (param.multiple or param.nargs == -1) else value
        given = [
            one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, str)
        ]
        names = (name for one in given for name in (one.split(",") if param.metavar == COLUMNS else [one]))
        if not all(name.strip() for name in names):
            what = "a name in it is" if all(one.strip(" ,") for one in given) else "it is"
            raise typer.BadParameter(f"{what} empty; is a variable unset?", ctx=context, param=param)
        return then(context, value)

    return checked


def refuse_beside(option: str, others: Mapping[str, object]) -> None:
    """Raise UsageError where another was given, to which an option leaves nothing to do."""
    if given := [name for name, value in others.items() if value]:
        raise UsageError(f"{option} and {given[0]} exclude each other", hint="use one of the two")


def rows_shown(text: str | int) -> int:
    """How many rows `--rows` says that a table on a terminal shows. Raises BadParameter."""
    written = str(text)
    if written.lower() == "all":
        return sys.maxsize
    if not written.isdecimal() or not int(written):
        raise typer.BadParameter("neither a number above 0 nor all")
    return int(written)


def budget_option(text: str | Money) -> Money:
    """What `--budget` says. Raises BadParameter."""
    try:
        return Money.parse(text)
    except UsageError as error:
        raise typer.BadParameter(f"{error.message}: {error.hint}") from None


Budgeted = Annotated[
    Money | None,
    option(
        "--budget MONEY",
        "Send no request that would cost more than that in all, as in 0.50 or '0.50 EUR'.",
        panel=_RUN,
        parser=budget_option,
    ),
]


def size_option(text: str | int) -> int:
    """What `--memory-limit` says, in bytes. Raises BadParameter."""
    try:
        return parse_bytes(text)
    except UsageError:
        raise typer.BadParameter("not a size, such as 512MB or 2GiB") from None


Prioritize = Annotated[
    list[str] | None,
    option(
        "--prioritize PREDICATE",
        "Fetch first what makes this true, as in \"state = 'CA'\"; repeatable.",
        panel=_RUN,
    ),
]
Cached = Annotated[
    bool | None,
    option(
        "--cache/--no-cache",
        "Keep what sources answer for later runs, and take what is kept. (default: as each source's spec says)",
        panel=_KEPT,
    ),
]
CacheTtl = Annotated[
    float | None,
    option(
        "--cache-ttl SECONDS",
        "How long an answer that was kept counts as fresh; implies --cache. (default: as each source's spec says)",
        panel=_KEPT,
        min=0,
    ),
]
Verbose = Annotated[
    bool, option("-v --verbose", "More messages on standard error; tracebacks.", panel=_WATCH)
]


class SharedOptions:
    """What commands that run statements can be told, by the names of their parameters: types, help and defaults."""

    sql: Annotated[str | None, argument("SQL", "The query; else -f, else standard input.")] = None
    sources: Sources = None
    files: Annotated[
        list[Path] | None,
        option(
            "-f --file FILE", "Read SQL from a file, statements separated by ';'; repeatable.", panel=_READ
        ),
    ] = None
    params: Annotated[
        list[str] | None,
        option(
            "-p --param NAME=VALUE",
            "Value for :name in the SQL (NAME:TYPE=VALUE says the type); repeatable.",
            panel=_READ,
        ),
    ] = None
    output: Format = None
    rows: Annotated[
        int | None,
        option(
            "--rows N|all",
            "How many rows of a table a terminal shows; files and pipes get all. (default: 40, in the pager all)",
            panel=_RESULT,
            parser=rows_shown,
        ),
    ] = None
    pager: Annotated[
        bool | None,
        option(
            "--pager/--no-pager",
            "Show what is longer than the terminal in $PAGER. (default: in the shell)",
            panel=_RESULT,
        ),
    ] = None
    safe_csv: Annotated[
        bool,
        option(
            "--safe-csv",
            "In CSV and TSV, put ' in front of texts that a spreadsheet would take for formulas.",
            panel=_RESULT,
        ),
    ] = False
    output_file: Annotated[
        str | None,
        option(
            "-O --output-file FILE",
            "Where the result goes; the format follows the ending, FOLDER/ holds Parquet. (default: standard output)",
            panel=_RESULT,
        ),
    ] = None
    append: Annotated[
        bool, option("--append", "Put the rows behind those that are in the file of -O.", panel=_RESULT)
    ] = False
    upsert: Annotated[
        list[str] | None,
        option(
            "--upsert COLUMNS",
            "Put the rows in the place of those with the same values in these columns (a,b), which are in the file of -O.",
            panel=_RESULT,
        ),
    ] = None
    partition_by: Annotated[
        list[str] | None,
        option(
            "--partition-by COLUMNS",
            "In the folder of -O, put the rows into a folder for each value of these columns (a,b).",
            panel=_RESULT,
        ),
    ] = None
    live: Annotated[
        bool | None,
        option("--live/--no-live", "Live view while the query runs. (default: on a terminal)", panel=_WATCH),
    ] = None
    progress: Annotated[ProgressMode, option("--progress", "Progress on standard error.", panel=_WATCH)] = (
        "auto"
    )
    policy: Annotated[str | None, option("--policy NAME", "Routing policy.", panel=_RUN)] = None
    seed: Annotated[
        int | None, option("--seed N", "Random seed. (default: a fresh one, told in the report)", panel=_RUN)
    ] = None
    semantics: Annotated[
        Semantics, option("--semantics", "Execution semantics: FFF's own, or the papers' rules.", panel=_RUN)
    ] = "parked"
    deadline: Annotated[
        float | None,
        option(
            "--deadline SECONDS",
            "Have the answer by then, with what is there: a partial one is labelled.",
            panel=_RUN,
            min=0,
        ),
    ] = None
    max_requests: Annotated[
        int | None,
        option(
            "--max-requests N",
            "Stop fetching after so many requests and answer with what is there.",
            panel=_RUN,
            min=1,
        ),
    ] = None
    budget: Budgeted = None
    memory_limit: Annotated[
        int | None,
        option(
            "--memory-limit SIZE",
            "Memory that joins may take, as in 512MB; beyond half of it rows go to files. (default: half of the machine's)",
            panel=_RUN,
            parser=size_option,
        ),
    ] = None
    on_source_error: Annotated[
        OnSourceError | None,
        option(
            "--on-source-error",
            "No result, or the labelled partial one, when a source could not be read in full. (default: partial on a terminal, else fail)",
            panel=_RUN,
        ),
    ] = None
    prefer: Annotated[Preference, option("--prefer", "Time against number of requests.", panel=_RUN)] = (
        "balanced"
    )
    prioritize: Prioritize = None
    cache: Cached = None
    cache_ttl: CacheTtl = None
    report: Annotated[
        Path | None, option("--report FILE", "Write a machine-readable account of the run.", panel=_RESULT)
    ] = None
    record: Annotated[
        Path | None,
        option(
            "--record DIR", "Write every exchange with the sources to a folder, without secrets.", panel=_KEPT
        ),
    ] = None
    replay: Annotated[
        Path | None,
        option("--replay DIR", "Answer from such a folder; nothing is sent anywhere.", panel=_KEPT),
    ] = None
    replay_speed: Annotated[
        float | None,
        option(
            "--replay-speed N",
            "N times as fast as recorded; 0 waits for nothing. (default: 1)",
            panel=_KEPT,
            min=0,
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        option(
            "--checkpoint DIR",
            "Keep all answers in a folder while they come: fff resume DIR goes on where a run was ended.",
            panel=_KEPT,
        ),
    ] = None
    refreshable: Annotated[
        bool,
        option(
            "--refreshable",
            "Keep the statement beside the file of -O, in FILE.fff.json: fff refresh FILE brings it up to date.",
            panel=_KEPT,
        ),
    ] = False
    spark_master: Annotated[
        str | None, option("--spark-master URL", "Where Spark runs. (default: local[*])", panel=_SPARK)
    ] = None
    spark_remote: Annotated[
        str | None, option("--spark-remote sc://…", "A Spark Connect server.", panel=_SPARK)
    ] = None
    warm: Annotated[
        bool,
        option(
            "--warm/--no-warm",
            "Use a Spark that stays up for the commands that follow, until ten minutes pass without any.",
            panel=_SPARK,
        ),
    ] = True
    verbose: Verbose = False
    quiet: Annotated[bool, option("-q --quiet", "Only errors on standard error.", panel=_WATCH)] = False


_SHARED = {
    name: inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=getattr(SharedOptions, name), annotation=kind
    )
    for name, kind in SharedOptions.__annotations__.items()
}


def idle_options(context: typer.Context, names: str) -> list[str]:
    """Those of the options that were typed, as help writes them: the command does nothing with them."""
    idle = []
    for param in context.command.params:
        source = context.get_parameter_source(param.name)
        if param.name in names.split() and source is not None and source.name == "COMMANDLINE":
            written = (param.secondary_opts if context.params[param.name] is False else ()) or param.opts
            idle.append(written[0] if len(written[0]) == 2 else written[-1])
    return idle


def takes(
    names: str, hidden: str = "", **defaults: Any
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Has a command take these options in its `**options`; what it declares itself comes first, or where it is named.

    `defaults` are the command's own; help tells nothing of those that are `hidden`.
    """

    def decorated(command: Callable[..., int]) -> Callable[..., int]:
        own = dict(inspect.signature(command, eval_str=True).parameters)
        own = {name: one.replace(kind=one.KEYWORD_ONLY) for name, one in own.items() if name != "options"}
        named = {name: own.pop(name) if name in own else _SHARED[name] for name in names.split()}
        named |= {name: _with_default(named[name], default) for name, default in defaults.items()}
        named |= {name: _hidden(_SHARED[name]) for name in hidden.split()}
        command.__signature__ = inspect.Signature([*own.values(), *named.values()])  # type: ignore[attr-defined]
        return command

    return decorated


def _hidden(parameter: inspect.Parameter) -> inspect.Parameter:
    kind, told = get_args(parameter.annotation)
    told = copy.copy(told)
    told.hidden = True
    return parameter.replace(annotation=Annotated[kind, told])


def _with_default(parameter: inspect.Parameter, default: object) -> inspect.Parameter:
    """A command's own default, which help tells in the place of the usual one."""
    kind, told = get_args(parameter.annotation)
    told = copy.copy(told)
    told.help = told.help.partition(" (default: ")[0]
    return parameter.replace(default=default, annotation=Annotated[kind, told])
