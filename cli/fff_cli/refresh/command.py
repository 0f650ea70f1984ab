"""The command `fff refresh` and its options."""

from pathlib import Path
from typing import Annotated, Any

from fff_cli.options.shared import argument, option, takes
from fff_cli.telling import telling


@telling
@takes(
    "params output live progress deadline max_requests budget on_source_error report spark_master spark_remote warm"
    " verbose quiet"
)
def refresh(
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
    output: Annotated[
        str | None,
        option(
            "-o --output FORMAT",
            "Write the rows that have changed to standard output, in any format of results. (default: none, a table with -v)",
        ),
    ] = None,
    **options: Any,
) -> int:
    """Bring a result in a file up to date, asking its sources for what has changed, and tell which rows did."""
    from fff_cli.refresh.rerun import Wanted, run_refresh  # noqa: PLC0415

    wanted = Wanted(file, full=full, keys=tuple(key or ()), overwrite=overwrite, output=output)
    return run_refresh(wanted, options)
