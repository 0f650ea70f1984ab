"""The options that commands share. The only importer of typer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from fff.budget import Money
from fff.errors import UsageError
from fff.options import OnSourceError, Preference, Semantics

__all__ = [
    "ROWS_SHOWN",
    "SETTINGS",
    "Analyze",
    "Budgeted",
    "CacheTtl",
    "Cached",
    "Deadline",
    "Files",
    "Format",
    "HowToRun",
    "Live",
    "MaxRequests",
    "Params",
    "PlanFormat",
    "Policy",
    "Prefer",
    "Prioritize",
    "ProgressMode",
    "Quiet",
    "Record",
    "Replay",
    "ReplaySpeed",
    "Report",
    "Rows",
    "Seed",
    "ShowProgress",
    "SourceErrors",
    "Sources",
    "SparkMaster",
    "SparkRemote",
    "Sql",
    "Verbose",
    "typer",
]

SETTINGS = {"help_option_names": ["-h", "--help"]}
ProgressMode = Literal["auto", "on", "off", "json"]

#: What options are about: a terminal shows them in such groups.
_READ = "What is read"
_RESULT = "The result"
_WATCH = "What is told"
_RUN = "How it runs"
_KEPT = "What is kept"
_SPARK = "Spark"

Sql = Annotated[
    str | None,
    typer.Argument(metavar="SQL", help="The query; else -f, else standard input.", show_default=False),
]
Sources = Annotated[
    list[Path] | None,
    typer.Option(
        "-s",
        "--sources",
        metavar="PATH",
        help="Source spec file or folder of them; repeatable.",
        rich_help_panel=_READ,
    ),
]
Files = Annotated[
    list[Path] | None,
    typer.Option(
        "-f",
        "--file",
        metavar="FILE",
        help="Read SQL from a file, statements separated by ';'; repeatable.",
        rich_help_panel=_READ,
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        "--param",
        metavar="NAME=VALUE",
        help="Value for :name in the SQL (NAME:TYPE=VALUE says the type); repeatable.",
        rich_help_panel=_READ,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FORMAT",
        help="table csv tsv json ndjson markdown line parquet arrow. (default: table on a terminal, else csv)",
        rich_help_panel=_RESULT,
    ),
]
PlanFormat = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FORMAT",
        help="json: plan and forecast as data. (default: text)",
        show_default=False,
    ),
]
ROWS_SHOWN = 40


def rows_shown(said: str | int) -> int:
    """How many rows `--rows` says that a table on a terminal shows. Raises BadParameter."""
    written = str(said)
    if written.lower() == "all":
        return sys.maxsize
    if not written.isdecimal() or not int(written):
        raise typer.BadParameter("neither a number above 0 nor all")
    return int(written)


Rows = Annotated[
    int,
    typer.Option(
        "--rows",
        metavar="N|all",
        parser=rows_shown,
        help="How many rows of a table a terminal shows; files and pipes get all.",
        rich_help_panel=_RESULT,
    ),
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="In CSV and TSV, put ' in front of texts that a spreadsheet would take for formulas.",
        rich_help_panel=_RESULT,
    ),
]
Live = Annotated[
    bool | None,
    typer.Option(
        "--live/--no-live",
        help="Live view while the query runs. (default: on a terminal)",
        show_default=False,
        rich_help_panel=_WATCH,
    ),
]
ShowProgress = Annotated[
    ProgressMode, typer.Option("--progress", help="Progress on standard error.", rich_help_panel=_WATCH)
]
Analyze = Annotated[
    bool,
    typer.Option(
        "--analyze", help="Run it, drop its rows, and show how tuples were routed and what that cost."
    ),
]
Policy = Annotated[
    str | None, typer.Option("--policy", metavar="NAME", help="Routing policy.", rich_help_panel=_RUN)
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Random seed. (default: a fresh one, told in the report)",
        show_default=False,
        rich_help_panel=_RUN,
    ),
]
HowToRun = Annotated[
    Semantics,
    typer.Option(
        "--semantics", help="Execution semantics: FFF's own, or the papers' rules.", rich_help_panel=_RUN
    ),
]
Deadline = Annotated[
    float | None,
    typer.Option(
        "--deadline",
        metavar="SECONDS",
        min=0,
        help="Have the answer by then, with what is there: a partial one is labelled.",
        rich_help_panel=_RUN,
    ),
]
MaxRequests = Annotated[
    int | None,
    typer.Option(
        "--max-requests",
        metavar="N",
        min=1,
        help="Stop fetching after so many requests and answer with what is there.",
        rich_help_panel=_RUN,
    ),
]


def money_said(said: str | Money) -> Money:
    """What `--budget` says. Raises BadParameter."""
    try:
        return Money.said(said)
    except UsageError as error:
        raise typer.BadParameter(f"{error.message}: {error.hint}") from None


Budgeted = Annotated[
    Money | None,
    typer.Option(
        "--budget",
        metavar="MONEY",
        parser=money_said,
        help="Send no request that would cost more than that in all, as in 0.50 or '0.50 EUR'.",
        show_default=False,
        rich_help_panel=_RUN,
    ),
]
SourceErrors = Annotated[
    OnSourceError | None,
    typer.Option(
        "--on-source-error",
        help="No result, or the labelled partial one, when a source could not be read in full. (default: partial on a terminal, else fail)",
        show_default=False,
        rich_help_panel=_RUN,
    ),
]
Prefer = Annotated[
    Preference, typer.Option("--prefer", help="Time against number of requests.", rich_help_panel=_RUN)
]
Prioritize = Annotated[
    list[str] | None,
    typer.Option(
        "--prioritize",
        metavar="PREDICATE",
        help="Fetch first what makes this true, as in \"state = 'CA'\"; repeatable.",
        rich_help_panel=_RUN,
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write a machine-readable account of the run.",
        rich_help_panel=_RESULT,
    ),
]
Record = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="DIR",
        help="Write every exchange with the sources to a folder, without secrets.",
        rich_help_panel=_KEPT,
    ),
]
Replay = Annotated[
    Path | None,
    typer.Option(
        "--replay",
        metavar="DIR",
        help="Answer from such a folder; nothing is sent anywhere.",
        rich_help_panel=_KEPT,
    ),
]
ReplaySpeed = Annotated[
    float | None,
    typer.Option(
        "--replay-speed",
        metavar="N",
        min=0,
        help="N times as fast as recorded; 0 waits for nothing. (default: 1)",
        show_default=False,
        rich_help_panel=_KEPT,
    ),
]
SparkMaster = Annotated[
    str | None,
    typer.Option(
        "--spark-master",
        metavar="URL",
        help="Where Spark runs. (default: local[*])",
        show_default=False,
        rich_help_panel=_SPARK,
    ),
]
SparkRemote = Annotated[
    str | None,
    typer.Option("--spark-remote", metavar="sc://…", help="A Spark Connect server.", rich_help_panel=_SPARK),
]
Cached = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache",
        help="Keep what sources answer for later runs, and take what is kept. (default: as each source's spec says)",
        show_default=False,
        rich_help_panel=_KEPT,
    ),
]
CacheTtl = Annotated[
    float | None,
    typer.Option(
        "--cache-ttl",
        metavar="SECONDS",
        min=0,
        help="How long an answer that was kept counts as fresh; implies --cache. (default: as each source's spec says)",
        show_default=False,
        rich_help_panel=_KEPT,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "-v", "--verbose", help="More messages on standard error; tracebacks.", rich_help_panel=_WATCH
    ),
]
Quiet = Annotated[
    bool, typer.Option("-q", "--quiet", help="Only errors on standard error.", rich_help_panel=_WATCH)
]
