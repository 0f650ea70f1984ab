"""The command `fff watch` and its options."""

import re
from typing import Annotated, Any

from fff_cli.options.shared import option, takes, typer
from fff_cli.telling import telling

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LEAST_S = 0.1


def seconds(text: str | float) -> float:
    """What `--every` says, in seconds. Raises BadParameter."""
    if not isinstance(text, str):
        return text
    fits = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip())
    if fits is None or float(fits[1]) * _UNITS[fits[2]] < _LEAST_S:
        raise typer.BadParameter("not a time such as 30s, 5m, 1h or 1d")
    return float(fits[1]) * _UNITS[fits[2]]


@telling
@takes(
    "sql every key run times sources files params output policy seed deadline max_requests budget memory_limit prefer"
    " cache verbose quiet"
)
def watch(
    every: Annotated[
        float,
        option(
            "--every TIME",
            "From one run to the next: 30s, 5m, 1h, 1d. (default: 5m)",
            parser=seconds,
            show_default=False,
        ),
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
    **options: Any,
) -> int:
    """Run a query again and again, and show the rows that have come (+), gone (-) or changed (~)."""
    from fff_cli.options.arguments import QueryArguments  # noqa: PLC0415
    from fff_cli.watch.rounds import Watch, run_watch  # noqa: PLC0415

    arguments = QueryArguments.typed(**options, on_source_error="partial")
    return run_watch(arguments, Watch(every, tuple(key or ()), run, times))
