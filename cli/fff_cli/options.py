"""The options that commands share. The only importer of typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fff_cli.choices import OnSourceError, Prefer, ProgressMode, Semantics

__all__ = [
    "Analyze",
    "CacheTtl",
    "Cached",
    "Deadline",
    "Files",
    "Format",
    "HowToRun",
    "Live",
    "MaxRequests",
    "Params",
    "Policy",
    "Preference",
    "Prioritize",
    "Quiet",
    "Record",
    "Replay",
    "ReplaySpeed",
    "Report",
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

Sql = Annotated[
    str | None,
    typer.Argument(metavar="SQL", help="The query; else -f, else standard input.", show_default=False),
]
Sources = Annotated[
    list[Path] | None,
    typer.Option("-s", "--sources", metavar="PATH", help="Source spec file or folder of them; repeatable."),
]
Files = Annotated[
    list[Path] | None,
    typer.Option(
        "-f", "--file", metavar="FILE", help="Read SQL from a file, statements separated by ';'; repeatable."
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        "--param",
        metavar="NAME=VALUE",
        help="Value for :name in the SQL (NAME:TYPE=VALUE says the type); repeatable.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FORMAT",
        help="table csv tsv json ndjson markdown parquet arrow. [default: table on a terminal, else csv]",
    ),
]
Live = Annotated[
    bool | None,
    typer.Option(
        "--live/--no-live",
        help="Live view while the query runs. [default: on a terminal]",
        show_default=False,
    ),
]
ShowProgress = Annotated[ProgressMode, typer.Option("--progress", help="Progress on standard error.")]
Analyze = Annotated[
    bool,
    typer.Option(
        "--analyze", help="Run it, drop its rows, and show how tuples were routed and what that cost."
    ),
]
Policy = Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Routing policy.")]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Random seed. [default: a fresh one, told in the report]",
        show_default=False,
    ),
]
HowToRun = Annotated[
    Semantics, typer.Option("--semantics", help="Execution semantics: FFF's own, or the papers' rules.")
]
Deadline = Annotated[
    float | None,
    typer.Option(
        "--deadline", metavar="SECONDS", min=0, help="Stop fetching then and answer with what is there."
    ),
]
MaxRequests = Annotated[
    int | None,
    typer.Option(
        "--max-requests",
        metavar="N",
        min=1,
        help="Stop fetching after so many requests and answer with what is there.",
    ),
]
SourceErrors = Annotated[
    OnSourceError | None,
    typer.Option(
        "--on-source-error",
        help="No result, or the labelled partial one, when a source could not be read in full. [default: partial on a terminal, else fail]",
        show_default=False,
    ),
]
Preference = Annotated[Prefer, typer.Option("--prefer", help="Time against number of requests.")]
Prioritize = Annotated[
    list[str] | None,
    typer.Option(
        "--prioritize",
        metavar="PREDICATE",
        help="Fetch first what makes this true, as in \"state = 'CA'\"; repeatable.",
    ),
]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write a machine-readable account of the run.")
]
Record = Annotated[
    Path | None,
    typer.Option(
        "--record", metavar="DIR", help="Write every exchange with the sources to a folder, without secrets."
    ),
]
Replay = Annotated[
    Path | None,
    typer.Option("--replay", metavar="DIR", help="Answer from such a folder; nothing is sent anywhere."),
]
ReplaySpeed = Annotated[
    float | None,
    typer.Option(
        "--replay-speed",
        metavar="N",
        min=0,
        help="N times as fast as recorded; 0 waits for nothing. [default: 1]",
        show_default=False,
    ),
]
SparkMaster = Annotated[
    str | None,
    typer.Option(
        "--spark-master", metavar="URL", help="Where Spark runs. [default: local[*]]", show_default=False
    ),
]
SparkRemote = Annotated[
    str | None, typer.Option("--spark-remote", metavar="sc://…", help="A Spark Connect server.")
]
Cached = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache",
        help="Keep what sources answer for later runs, and take what is kept. [default: as each source's spec says]",
        show_default=False,
    ),
]
CacheTtl = Annotated[
    float | None,
    typer.Option(
        "--cache-ttl",
        metavar="SECONDS",
        min=0,
        help="How long an answer that was kept counts as fresh; implies --cache. [default: as each source's spec says]",
        show_default=False,
    ),
]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="More messages on standard error; tracebacks.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Only errors on standard error.")]
