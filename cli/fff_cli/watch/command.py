"""The command `fff watch` and its options."""

from __future__ import annotations

import re
from typing import Annotated

from fff_cli.options.shared import (
    Budgeted,
    Cached,
    Deadline,
    Files,
    Format,
    MaxRequests,
    MemoryLimited,
    Params,
    Policy,
    Prefer,
    Quiet,
    Seed,
    Sources,
    Sql,
    Verbose,
    option,
    typer,
)
from fff_cli.telling import told

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LEAST_S = 0.1


def seconds(said: str | float) -> float:
    """What `--every` says, in seconds. Raises BadParameter."""
    if not isinstance(said, str):
        return said
    fits = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", said.strip())
    if fits is None or float(fits[1]) * _UNITS[fits[2]] < _LEAST_S:
        raise typer.BadParameter("not a time such as 30s, 5m, 1h or 1d")
    return float(fits[1]) * _UNITS[fits[2]]


def watch(  # noqa: PLR0917 - the options of the command, which typer reads off the signature
    sql: Sql = None,
    every: Annotated[
        float, option("--every TIME", "From one run to the next: 30s, 5m, 1h, 1d.", parser=seconds)
    ] = 300.0,
    key: Annotated[
        list[str] | None, option("--key COLUMN", "Tells rows apart, so that some have changed; repeatable.")
    ] = None,
    run: Annotated[
        str | None, option("--run COMMAND", "A shell command to give the changes to, as NDJSON on its input.")
    ] = None,
    times: Annotated[
        int | None, option("--times N", "End after so many runs. (default: at Ctrl-C)", min=1)
    ] = None,
    sources: Sources = None,
    files: Files = None,
    params: Params = None,
    output: Format = None,
    policy: Policy = None,
    seed: Seed = None,
    deadline: Deadline = None,
    max_requests: MaxRequests = None,
    budget: Budgeted = None,
    memory_limit: MemoryLimited = None,
    prefer: Prefer = "balanced",
    cache: Cached = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Run a query again and again, and show the rows that have come (+), gone (-) or changed (~)."""
    given = dict(locals())
    for name in ("every", "key", "run", "times"):
        del given[name]

    def rounds() -> int:
        from fff_cli.options.arguments import QueryArguments  # noqa: PLC0415
        from fff_cli.watch.rounds import Watch, run_watch  # noqa: PLC0415

        arguments = QueryArguments.typed(**given, on_source_error="partial")
        return run_watch(arguments, Watch(every, tuple(key or ()), run, times))

    raise typer.Exit(told(rounds, verbose))
