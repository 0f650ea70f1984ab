"""The command `fff refresh` and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fff_cli.options.shared import (
    Budgeted,
    Deadline,
    Format,
    Live,
    MaxRequests,
    Params,
    Quiet,
    Report,
    ShowProgress,
    SourceErrors,
    SparkMaster,
    SparkRemote,
    Verbose,
    Warm,
    argument,
    option,
    typer,
)
from fff_cli.telling import told


def refresh(  # noqa: PLR0917 - the options of the command, which typer reads off the signature
    file: Annotated[Path, argument("FILE", "A result that fff query --refreshable -O FILE wrote.")],
    full: Annotated[
        bool,
        option("--full", "Ask for all of tables that could tell what has changed: rows that are gone go."),
    ] = False,
    key: Annotated[
        list[str] | None,
        option("--key COLUMN", "Tells rows apart, so that some have changed; repeatable, and remembered."),
    ] = None,
    overwrite: Annotated[
        bool, option("--overwrite", "Also where the file is not as FFF wrote it: that is lost.")
    ] = False,
    params: Params = None,
    output: Format = None,
    live: Live = None,
    progress: ShowProgress = "auto",
    deadline: Deadline = None,
    max_requests: MaxRequests = None,
    budget: Budgeted = None,
    on_source_error: SourceErrors = None,
    report: Report = None,
    spark_master: SparkMaster = None,
    spark_remote: SparkRemote = None,
    warm: Warm = True,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Bring a result in a file up to date, asking its sources for what has changed, and tell which rows did."""
    given = dict(locals())
    for name in ("file", "full", "key", "overwrite", "output"):
        del given[name]

    def run() -> int:
        from fff_cli.refresh.rerun import Wanted, run_refresh  # noqa: PLC0415

        wanted = Wanted(file, full=full, keys=tuple(key or ()), overwrite=overwrite, output=output)
        return run_refresh(wanted, given)

    raise typer.Exit(told(run, verbose))
