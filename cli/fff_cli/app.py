"""The commands and their options. What a command needs is imported when it runs."""
# ruff: noqa: ARG001, PLR0917 - parameters are options, which typer and `telling` read off the signature

from __future__ import annotations

import copy
import errno
import os
import re
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fff.errors import UsageError
from fff_cli.mcp.command import mcp
from fff_cli.options.shared import (
    SETTINGS,
    Format,
    Prioritize,
    Sources,
    Verbose,
    argument,
    commands,
    idle_options,
    option,
    refuse_beside,
    refuse_empty,
    takes,
    typer,
)
from fff_cli.refresh.command import refresh
from fff_cli.run.loading import load_transport
from fff_cli.serve.command import serve
from fff_cli.source_app import source_app
from fff_cli.spark_app import spark_app
from fff_cli.telling import telling
from fff_cli.watch.command import watch

if TYPE_CHECKING:
    from fff_cli.options.checkpoint import Begun

ABORTED = 130
_NARROWEST = 60  # columns in which rich's tables of options can be read
#: Options of `fff query` that a plan does not go by, and those that it goes by where it is run.
OF_A_RESULT = "rows safe_csv output_file append upsert partition_by live progress checkpoint refreshable"
OF_A_RUN = "policy seed semantics deadline memory_limit on_source_error prefer spark_master spark_remote warm"
#: What typer raises for wrong options: click's own class in some versions, a copy of it in others.
_UsageMistake = typer.BadParameter.__mro__[2]
#: What is said of values of options, in words for those who do not know the library that reads them.
_PLAIN_WORDS = (
    ("Value error, ", ""),
    ("Input should be a valid number, .*", "must be a number"),
    ("Input should be a valid integer, .*", "must be a whole number"),
    ("Input should be greater than or equal to", "must be at least"),
    ("Input should be less than or equal to", "must be at most"),
)
app = typer.Typer(
    name="fff",
    help="Federated Facts and Figures: SQL over web sources.",
    epilog="To begin: fff demo; then fff source init URL for a source of yours, and fff shell.",
    context_settings=SETTINGS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(source_app, name="source")
app.add_typer(spark_app, name="spark")
cache_app = commands("What is kept on disk of the answers of sources.")
app.add_typer(cache_app, name="cache")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415

        print(f"fff {version('fff')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, option("--version", "Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
@telling
@takes(
    "sql sources files params output rows pager safe_csv output_file append upsert partition_by live progress"
    " policy seed semantics deadline max_requests budget memory_limit on_source_error prefer prioritize cache"
    " cache_ttl report record replay replay_speed checkpoint refreshable spark_master spark_remote warm server"
    " verbose quiet"
)
def query(
    context: typer.Context,
    server: Annotated[
        str | None,
        option(
            "--server URL|SOCKET",
            "Run it on a server of fff serve, which has the sources.",
            panel="How it runs",
            envvar="FFF_SERVER",
            show_envvar=False,
        ),
    ] = None,
    **options: Any,
) -> int:
    """Run a query over web sources."""
    if server:
        from fff_cli.serve.client import run_remote  # noqa: PLC0415

        return run_remote(server, options)
    load_transport()
    from fff_cli.commands.query import run_query  # noqa: PLC0415
    from fff_cli.options.arguments import QueryArguments  # noqa: PLC0415

    typed, begun = context.find_root().obj
    return run_query(QueryArguments.typed(**options), typed=typed, begun=begun)


@app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@telling
def resume(
    context: typer.Context,
    folder: Annotated[Path, argument("DIR", "What --checkpoint was given.")],
    verbose: Verbose = False,
) -> int:
    """Go on with a query that was ended before its time, asking nothing twice; takes the options of query, too."""
    from fff_cli.options.checkpoint import read  # noqa: PLC0415

    begun = read(folder)
    parse = _of_query().make_context
    typed = parse("fff query", [*context.args]).params
    if typed["sql"] is not None or typed["files"]:
        raise UsageError(
            "a checkpoint has its SQL, which is gone on with", hint="leave the other out, or fff query"
        )
    more = [*context.args, *(["-v"] if verbose else []), "--checkpoint", str(folder.resolve())]
    file = typed["output_file"]
    if file and Path(begun.folder, file) != Path.cwd() / file and not typed["quiet"]:
        typer.echo(f"note: {file!r} is in {begun.folder!r}, where the query ran: paths start there", err=True)
    begun.enter()
    return run(begun.with_more(more), begun)


@app.command()
@telling
@takes(
    "sql sources files params analyze output pager policy seed semantics deadline max_requests budget memory_limit"
    " on_source_error prefer prioritize cache cache_ttl report record replay replay_speed spark_master spark_remote"
    " warm verbose quiet",
    hidden=OF_A_RESULT,
    on_source_error="partial",
)
def explain(
    context: typer.Context,
    analyze: Annotated[
        bool,
        option("--analyze", "Run it, drop its rows, and show how tuples were routed and what that cost."),
    ] = False,
    output: Annotated[
        str | None, option("-o --output FORMAT", "json: plan and forecast as data. (default: text)")
    ] = None,
    **options: Any,
) -> int:
    """Show how a query would run and what it will ask, without sending a request; with --analyze run it and show how it was routed.

    Takes the options of query, as they were typed there, and says which of them do nothing here.
    """
    load_transport()
    from fff_cli.commands.explain import run_explain  # noqa: PLC0415
    from fff_cli.options.arguments import QueryArguments  # noqa: PLC0415

    idle = idle_options(context, OF_A_RESULT if analyze else f"{OF_A_RESULT} {OF_A_RUN}")
    options = {name: value for name, value in options.items() if name not in OF_A_RESULT.split()}
    return run_explain(QueryArguments.typed(output=output, **options), analyze=analyze, idle=idle)


@app.command()
@telling
@takes(
    "sources params output rows pager safe_csv live progress policy seed semantics deadline max_requests budget"
    " memory_limit on_source_error prefer cache cache_ttl report spark_master spark_remote warm verbose quiet"
)
def shell(**options: Any) -> int:
    """Interactive SQL with completion and history; reads statements from standard input when that is no terminal."""
    load_transport()
    from fff_cli.options.arguments import QueryArguments  # noqa: PLC0415
    from fff_cli.shell.repl import run_shell  # noqa: PLC0415

    return run_shell(QueryArguments.typed(**options))


@cache_app.command("stats")
@telling
def cache_stats(output: Format = None, verbose: Verbose = False) -> int:
    """Show what is kept: scans, keys, rows and bytes of each table, and from when the oldest of it is."""
    from fff_cli.commands.cache import show_stats  # noqa: PLC0415

    return show_stats(output)


@cache_app.command("clear")
@telling
def cache_clear(
    source: Annotated[str | None, option("--source NAME", "Only what is kept of this source.")] = None,
    verbose: Verbose = False,
) -> int:
    """Forget what is kept."""
    from fff_cli.commands.cache import clear  # noqa: PLC0415

    return clear(source)


Account = Annotated[str | None, option("--account NAME", "Which one, where the source has several.")]

app.command()(mcp)
app.command()(serve)
app.command()(watch)
app.command()(refresh)


@app.command()
@telling
def login(
    source: Annotated[str | None, argument("SOURCE", "The source to log in to.")] = None,
    sources: Sources = None,
    device: Annotated[
        bool, option("--device", "With a code that is typed elsewhere, not in a browser here.")
    ] = False,
    account: Account = None,
    listed: Annotated[bool, option("--list", "Tell which sources somebody is logged in to.")] = False,
    verbose: Verbose = False,
) -> int:
    """Log in to a source whose API asks for a person; later runs renew what that gave."""
    from fff_cli.commands.login import list_logins, run_login  # noqa: PLC0415

    if listed:
        refuse_beside("--list", {"SOURCE": source, "-s": sources, "--device": device, "--account": account})
        return list_logins()
    if source is None:
        raise UsageError("which source?", hint="fff login SOURCE, or fff login --list")
    return run_login(source, sources or (), account=account, device=device)


@app.command()
@telling
def logout(
    source: Annotated[str, argument("SOURCE", "The source to log out of.")],
    sources: Sources = None,
    account: Account = None,
    verbose: Verbose = False,
) -> int:
    """Forget what logging in to a source gave."""
    from fff_cli.commands.login import run_logout  # noqa: PLC0415

    return run_logout(source, sources or (), account=account)


@app.command()
@telling
def demo(
    serve: Annotated[
        bool, option("--serve", "Only keep the demo sources up, and print the spec that reads them.")
    ] = False,
    port: Annotated[
        int,
        option("N", "Port of the demo sources; 0 takes a free one.", min=0, max=65535, show_default=False),
    ] = 0,
    seed: Annotated[int | None, option("N", "Seed of the demo's rows and delays.")] = None,
    prioritize: Prioritize = None,
    verbose: Verbose = False,
) -> int:
    """Start slow web sources on this machine and run a query over them, live."""
    from fff_cli.commands.demo import run_demo, serve_demo  # noqa: PLC0415

    if serve:
        refuse_beside("--serve", {"--prioritize": prioritize})
        return serve_demo(port, seed)
    return run_demo(port, seed, prioritize=tuple(prioritize or ()), verbose=verbose)


@app.command()
@telling
def experiment(
    names: Annotated[
        list[str] | None, argument("[NAME]...", "Which, as --list tells; all by default.")
    ] = None,
    listed: Annotated[bool, option("--list", "Tell which there are, and run none.")] = False,
    seed: Annotated[int, option("N", "Random seed of all of them.")] = 1,
    seeds: Annotated[
        int | None, option("N", "How many seeds, from that one on; 5 for the manual, else 1.", min=1)
    ] = None,
    scale: Annotated[float, option("X", "Size, as a share of the full one.", min=0.01, max=10)] = 1.0,
    controls: Annotated[
        bool | None, option("--controls/--no-controls", "Run the negative controls, as for the manual.")
    ] = None,
    folder: Annotated[Path, option("-O --output DIR", "Where tables, numbers and plots go.")] = Path(
        "experiments"
    ),
    docs: Annotated[
        Path | None, option("--docs DIR", "Rewrite their sections of the manual in DIR instead.")
    ] = None,
    verbose: Verbose = False,
) -> int:
    """Re-run the papers' experiments; exits with 1 unless every acceptance holds."""
    from fff_cli.commands.experiment import list_experiments, run_experiments  # noqa: PLC0415

    moved = folder != Path("experiments")
    if listed:
        refuse_beside("--list", {"NAME": names, "--docs": docs, "--seeds": seeds, "-O": moved})
        return list_experiments()
    if docs is not None:
        refuse_beside("--docs", {"-O": moved})
    return run_experiments(
        names or (), seed=seed, scale=scale, seeds=seeds, controls=controls, folder=folder, docs=docs
    )


def run(arguments: Sequence[str], begun: Begun | None = None) -> int:
    """Run a command line (without the program's name); the exit code. `begun`: what it goes on with."""
    # On a terminal rich draws the help; a pipe gets plain text, and does not wait for rich.
    drawn = (
        sys.stdout is not None
        and sys.stdout.isatty()
        and os.environ.get("TERM") not in (None, "", "dumb")
        and shutil.get_terminal_size().columns >= _NARROWEST
    )
    app.rich_markup_mode = "rich" if drawn else None
    try:
        command = typer.main.get_command(_with_only(arguments[0] if arguments else ""))
        if drawn:
            _without_bool(command)
        refuse_empty(command)
        result = command.main(list(arguments), prog_name="fff", standalone_mode=False, obj=(arguments, begun))
        return result if isinstance(result, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return ABORTED
    except Exception as error:  # noqa: BLE001 - the last line of defence: a traceback only for those who ask
        if isinstance(error, _UsageMistake):
            return _usage(error)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            from fff_cli.output.console import tell_unwritten  # noqa: PLC0415 - for mistakes alone

            return tell_unwritten(error)
        if {"-v", "--verbose"} & set(arguments):
            traceback.print_exc()
        else:
            print(f"internal error: {type(error).__name__}: {error}; -v shows where", file=sys.stderr)
        return 1


def _with_only(name: str) -> typer.Typer:
    """The commands, or the one of that name alone where there is one: to build them all takes longer than some run."""
    called = [
        one for one in app.registered_commands if name in (one.name, getattr(one.callback, "__name__", None))
    ]
    groups = [one for one in app.registered_groups if one.name == name]
    if not called and not groups:
        return app
    alone = copy.copy(app)
    alone.registered_commands, alone.registered_groups = called, groups
    return alone


def _of_query() -> Any:
    """`fff query`, whichever command is run."""
    return typer.main.get_command(_with_only("query")).commands["query"]  # type: ignore[attr-defined]


def _without_bool(command: Any, above: Any = None) -> None:
    """Leave out of the help of a command, and of those below it, that switches are true or false."""
    context = command.context_class(command, parent=above, **command.context_settings)
    for param in command.get_params(context):  # --help among them, which is made once
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    for below in getattr(command, "commands", {}).values():
        _without_bool(below, context)


def _names(command: Any) -> set[str]:
    """The names of a command's options."""
    params = getattr(command, "params", ())
    return {name for param in params for name in (*param.opts, *param.secondary_opts)}


def _usage(error: Exception) -> int:
    """Tell a wrong option in one line; a bare `fff` or `fff source` gets its help."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "fff"
    text = error.format_message()  # type: ignore[attr-defined]
    if type(error).__name__ == "NoArgsIsHelpError":
        print(text, file=sys.stderr)
        return 2
    if type(error).__name__ == "NoSuchOption":
        import difflib  # noqa: PLC0415 - for mistakes alone

        name: str = error.option_name  # type: ignore[attr-defined]
        close = difflib.get_close_matches(name, error.possibilities or (), n=1, cutoff=0.7)  # type: ignore[attr-defined]
        text = f"No such option: {name}{f'; did you mean {close[0]}?' if close else ''}"
        if context is not None and name in _names(_of_query()):
            next_step = "write it behind that" if path == "fff" else "leave it out"
            text = f"{path} has no {name}, which is for fff query: {next_step}"
        if re.match(r"--\s", name) and "--file" in _names(getattr(context, "command", None)):
            text = "SQL that begins with a comment looks like an option: write -- before it, or use -f FILE or -f -"
    if "unexpected extra argument" in text and {"-f", "--file"} <= _names(getattr(context, "command", None)):
        text = f'{text}: put the SQL into quotes, as in {path} "SELECT …"'
    if re.match(r"No such command '(select|with|from|values|[^']* )", text, re.IGNORECASE):
        text = f"{text.partition('. ')[0].rstrip('.')}; SQL is for fff query"
    for pattern, plain in _PLAIN_WORDS:
        text = re.sub(pattern, plain, text)
    from fff_cli.run.progress import say_words  # noqa: PLC0415 - for mistakes alone

    say_words(f"error: {text.rstrip('.')} (see {path} --help)")
    return 2
