"""The commands and their options. What a command needs is imported when it runs."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from fff.errors import FFFError
from fff_cli.choices import Prefer, ProgressMode, Semantics
from fff_cli.options import (
    Analyze,
    Cached,
    CacheTtl,
    Deadline,
    Files,
    Format,
    HowToRun,
    Live,
    MaxRequests,
    Params,
    Policy,
    Preference,
    Prioritize,
    Quiet,
    Record,
    Replay,
    ReplaySpeed,
    Report,
    Seed,
    ShowProgress,
    SourceErrors,
    Sources,
    SparkMaster,
    SparkRemote,
    Sql,
    Verbose,
    typer,
)

ABORTED = 130
#: What typer raises for wrong options: click's own class in some versions, a copy of it in others.
_UsageMistake = typer.BadParameter.__mro__[2]
_SETTINGS = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="fff",
    help="Federated Facts and Figures: SQL over web sources.",
    context_settings=_SETTINGS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
source_app = typer.Typer(
    help="What the catalog holds: tables, columns, access methods.",
    context_settings=_SETTINGS,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(source_app, name="source")
cache_app = typer.Typer(
    help="What is kept on disk of the answers of sources.",
    context_settings=_SETTINGS,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(cache_app, name="cache")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415

        print(f"fff {version('fff')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def query(  # noqa: PLR0917 - the options of the command, which typer reads off the signature
    sql: Sql = None,
    sources: Sources = None,
    files: Files = None,
    params: Params = None,
    output: Format = None,
    output_file: Annotated[
        Path | None,
        typer.Option(
            "-O",
            "--output-file",
            metavar="FILE",
            help="Where the result goes; the format follows the ending. [default: standard output]",
        ),
    ] = None,
    live: Live = None,
    progress: ShowProgress = ProgressMode.auto,
    policy: Policy = None,
    seed: Seed = None,
    semantics: HowToRun = Semantics.parked,
    deadline: Deadline = None,
    max_requests: MaxRequests = None,
    on_source_error: SourceErrors = None,
    prefer: Preference = Prefer.balanced,
    prioritize: Prioritize = None,
    cache: Cached = None,
    cache_ttl: CacheTtl = None,
    report: Report = None,
    record: Record = None,
    replay: Replay = None,
    replay_speed: ReplaySpeed = None,
    spark_master: SparkMaster = None,
    spark_remote: SparkRemote = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Run a query over web sources."""
    from fff_cli.arguments import QueryArguments  # noqa: PLC0415
    from fff_cli.query import run_query  # noqa: PLC0415

    arguments = QueryArguments(
        sql=sql,
        files=tuple(files or ()),
        sources=tuple(sources or ()),
        params=tuple(params or ()),
        output=output,
        output_file=output_file,
        live=live,
        progress=progress.value,
        policy=policy,
        prefer=prefer.value,
        seed=seed,
        semantics=semantics.value,
        deadline=deadline,
        max_requests=max_requests,
        on_source_error=None if on_source_error is None else on_source_error.value,
        prioritize=tuple(prioritize or ()),
        cache=cache,
        cache_ttl=cache_ttl,
        report=report,
        record=record,
        replay=replay,
        replay_speed=replay_speed,
        spark_master=spark_master,
        spark_remote=spark_remote,
        verbose=verbose,
        quiet=quiet,
    )
    raise typer.Exit(run_query(arguments))


@app.command()
def explain(  # noqa: PLR0917 - the options of the command, which typer reads off the signature
    sql: Sql = None,
    sources: Sources = None,
    files: Files = None,
    params: Params = None,
    analyze: Analyze = False,
    policy: Policy = None,
    seed: Seed = None,
    verbose: Verbose = False,
) -> None:
    """Show how a query would run, without sending a request; with --analyze run it and show how it was routed."""
    from fff_cli.arguments import QueryArguments  # noqa: PLC0415
    from fff_cli.explain import run_explain  # noqa: PLC0415

    arguments = QueryArguments(
        sql=sql,
        files=tuple(files or ()),
        sources=tuple(sources or ()),
        params=tuple(params or ()),
        policy=policy,
        seed=seed,
        on_source_error="partial",
    )
    raise typer.Exit(_told(lambda: run_explain(arguments, analyze=analyze), verbose))


@app.command()
def shell(  # noqa: PLR0917 - the options of the command, which typer reads off the signature
    sources: Sources = None,
    params: Params = None,
    output: Format = None,
    live: Live = None,
    progress: ShowProgress = ProgressMode.auto,
    policy: Policy = None,
    seed: Seed = None,
    semantics: HowToRun = Semantics.parked,
    deadline: Deadline = None,
    max_requests: MaxRequests = None,
    on_source_error: SourceErrors = None,
    prefer: Preference = Prefer.balanced,
    cache: Cached = None,
    cache_ttl: CacheTtl = None,
    report: Report = None,
    spark_master: SparkMaster = None,
    spark_remote: SparkRemote = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Interactive SQL with completion and history; reads statements from standard input when that is no terminal."""
    from fff_cli.arguments import QueryArguments  # noqa: PLC0415
    from fff_cli.shell.repl import run_shell  # noqa: PLC0415

    arguments = QueryArguments(
        sources=tuple(sources or ()),
        params=tuple(params or ()),
        output=output,
        live=live,
        progress=progress.value,
        policy=policy,
        prefer=prefer.value,
        seed=seed,
        semantics=semantics.value,
        deadline=deadline,
        max_requests=max_requests,
        on_source_error=None if on_source_error is None else on_source_error.value,
        cache=cache,
        cache_ttl=cache_ttl,
        report=report,
        spark_master=spark_master,
        spark_remote=spark_remote,
        verbose=verbose,
        quiet=quiet,
    )
    raise typer.Exit(run_shell(arguments))


@source_app.command("list")
def source_list(sources: Sources = None, output: Format = None, verbose: Verbose = False) -> None:
    """List the tables with their columns, key columns and access methods."""
    from fff_cli.source import list_tables  # noqa: PLC0415

    raise typer.Exit(_told(lambda: list_tables(sources or (), output), verbose))


@source_app.command("show")
def source_show(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="source.table, or table.")],
    sources: Sources = None,
    verbose: Verbose = False,
) -> None:
    """Show one table: columns with types, key columns, every way to reach its rows."""
    from fff_cli.source import show_table  # noqa: PLC0415

    raise typer.Exit(_told(lambda: show_table(table, sources or ()), verbose))


@source_app.command("lint")
def source_lint(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A source spec.")], verbose: Verbose = False
) -> None:
    """Check a source spec; every mistake with its line and key."""
    from fff_cli.source import lint_file  # noqa: PLC0415

    raise typer.Exit(_told(lambda: lint_file(file), verbose))


@source_app.command("test")
def source_test(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A source spec.")],
    table: Annotated[
        str | None, typer.Option("--table", metavar="T", help="Only what has to do with this table.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FORMAT", help="json, or any format of results. [default: text]"
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="What may be wrong counts as wrong.")] = False,
    verbose: Verbose = False,
) -> None:
    """Try a spec out: its tests, and every access method with a request or two."""
    from fff_cli.source_trial import test_source  # noqa: PLC0415

    raise typer.Exit(_told(lambda: test_source(file, table, output, strict=strict), verbose))


@source_app.command("init")
def source_init(  # noqa: PLR0917 - the options of the command, which typer reads off the signature
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="A sample: a list, or one thing.", show_default=False)
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="N", help="The source's name. [default: from the host]")
    ] = None,
    openapi: Annotated[
        str | None,
        typer.Option("--openapi", metavar="FILE_OR_URL", help="Draft from an OpenAPI 3 document instead."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("-H", "--header", metavar="'NAME: VALUE'", help="Send this too; repeatable."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("-O", "--output-file", metavar="FILE", help="A new file. [default: standard output]"),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Draft a spec from a sample URL or an OpenAPI document; says what it was unsure of."""
    from fff_cli.source_drafts import init_source  # noqa: PLC0415

    raise typer.Exit(_told(lambda: init_source(url, openapi, name, header or (), file), verbose))


@source_app.command("schema")
def source_schema(verbose: Verbose = False) -> None:
    """Print the JSON Schema of specs, for editors."""
    from fff_cli.source_drafts import print_schema  # noqa: PLC0415

    raise typer.Exit(_told(print_schema, verbose))


@cache_app.command("stats")
def cache_stats(output: Format = None, verbose: Verbose = False) -> None:
    """Show what is kept: scans, keys, rows and bytes of each table, and from when the oldest of it is."""
    from fff_cli.cache import show_stats  # noqa: PLC0415

    raise typer.Exit(_told(lambda: show_stats(output), verbose))


@cache_app.command("clear")
def cache_clear(
    source: Annotated[
        str | None, typer.Option("--source", metavar="NAME", help="Only what is kept of this source.")
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Forget what is kept."""
    from fff_cli.cache import clear  # noqa: PLC0415

    raise typer.Exit(_told(lambda: clear(source), verbose))


@app.command()
def demo(
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Only keep the demo sources up, and print the spec that reads them."),
    ] = False,
    port: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=65535,
            help="Port of the demo sources; 0 takes a free one.",
            show_default=False,
        ),
    ] = 0,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the demo's rows and delays.", show_default=False)
    ] = None,
    prioritize: Prioritize = None,
    verbose: Verbose = False,
) -> None:
    """Start slow web sources on this machine and run a query over them, live."""
    from fff_cli.demo import run_demo, serve_demo  # noqa: PLC0415

    raise typer.Exit(
        _told(
            lambda: (
                serve_demo(port, seed)
                if serve
                else run_demo(port, seed, prioritize=tuple(prioritize or ()), verbose=verbose)
            ),
            verbose,
        )
    )


@app.command()
def experiment(  # noqa: PLR0917 - the options of the command, which typer reads off the signature
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Which, as --list tells; all by default.", show_default=False
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Tell which there are, and run none.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed of all of them.")] = 1,
    folder: Annotated[
        Path, typer.Option("-O", "--output", metavar="DIR", help="Where tables, numbers and plots go.")
    ] = Path("experiments"),
    docs: Annotated[
        Path | None,
        typer.Option(
            "--docs",
            metavar="DIR",
            help="Rewrite their sections of the manual in DIR instead.",
            show_default=False,
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Re-run the papers' experiments; exits with 1 unless every acceptance holds."""
    from fff_cli.experiment import list_experiments, run_experiments  # noqa: PLC0415

    def run_them() -> int:
        return (
            list_experiments()
            if listed
            else run_experiments(names or (), seed=seed, folder=folder, docs=docs)
        )

    raise typer.Exit(_told(run_them, verbose))


def _told(run: Callable[[], int], verbose: bool) -> int:
    """The exit code of a command whose errors are told here."""
    from fff_cli.console import discard_output  # noqa: PLC0415
    from fff_cli.progress import say  # noqa: PLC0415

    try:
        return run()
    except BrokenPipeError:
        discard_output()
        return 0
    except FFFError as error:
        if verbose:
            traceback.print_exc()
        say(f"error: {error.render()}")
        return error.exit_code


def run(arguments: Sequence[str]) -> int:
    """Run a command line (without the program's name); the exit code."""
    try:
        result = typer.main.get_command(app).main(list(arguments), prog_name="fff", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return ABORTED
    except Exception as error:  # noqa: BLE001 - the last line of defence: a traceback only for those who ask
        if isinstance(error, _UsageMistake):
            return _usage(error)
        if {"-v", "--verbose"} & set(arguments):
            traceback.print_exc()
        else:
            print(f"internal error: {type(error).__name__}: {error}; -v shows where", file=sys.stderr)
        return 1


def _usage(error: Exception) -> int:
    """Tell a wrong option in one line; a bare `fff` or `fff source` gets its help."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "fff"
    text = error.format_message()  # type: ignore[attr-defined]
    if type(error).__name__ == "NoArgsIsHelpError":
        print(text, file=sys.stderr)
    else:
        print(f"error: {text.rstrip('.')} (see {path} --help)", file=sys.stderr)
    return 2


def main() -> None:
    """Entry point of `fff`."""
    sys.exit(run(sys.argv[1:]))
