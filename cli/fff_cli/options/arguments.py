"""The options of `fff query`, `fff explain` and `fff shell`, as typed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from fff.errors import UsageError
from fff.options import RunOptions
from fff.structs import Struct
from fff_cli.options.shared import ROWS_SHOWN, ProgressMode
from fff_cli.output.console import is_terminal, pager
from fff_cli.output.files import is_folder

_RUN = frozenset(RunOptions.__struct_fields__)


class QueryArguments(Struct, frozen=True):
    """What the commands do with a statement; `run` is what the engine is told. Made by `typed`."""

    run: RunOptions
    replace_by_partial: bool = False  # partial results were asked for in so many words
    sql: str | None = None
    files: tuple[Path, ...] = ()
    texts: tuple[str, ...] = ()  # of a command that is gone on with, in place of both
    sources: tuple[Path, ...] = ()
    params: tuple[str, ...] = ()
    output: str | None = None
    output_file: Path | None = None
    into_folder: bool = False  # which is a folder, for Parquet files
    partition_by: tuple[str, ...] = ()  # with a folder for each value of these columns
    rows: int | None = None  # of a table on a terminal
    pager: bool | None = None  # for what is longer than the terminal
    safe_csv: bool = False  # no text in CSV is a formula
    live: bool | None = None
    progress: ProgressMode = "auto"
    cache: bool | None = None
    cache_ttl: float | None = None
    report: Path | None = None
    record: Path | None = None
    replay: Path | None = None
    replay_speed: float | None = None
    checkpoint: Path | None = None
    append: bool = False  # rows are put behind those that are in the file
    upsert: tuple[str, ...] = ()  # or in the place of those with the same values in these columns
    refreshable: bool = False  # the statement is remembered beside its result
    verbose: bool = False
    quiet: bool = False

    @classmethod
    def typed(cls, **options: Any) -> QueryArguments:
        """From the options of a command by their names; None is one that was not given.

        Unless it is said, source errors end in a part on a terminal, and are errors elsewhere.
        """
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in options.items()
            if value is not None
        }
        if isinstance(file := values.get("output_file"), str):
            values["output_file"] = Path(file)
            values["into_folder"] = is_folder(file) or bool(values.get("partition_by"))
        run: dict[str, Any] = {name: values.pop(name) for name in _RUN & values.keys()}
        asked = run.get("on_source_error")
        run["hold_rows"] = asked == "fail"
        run.setdefault("on_source_error", "partial" if is_terminal(sys.stdout) else "fail")
        return cls(run=RunOptions(**run), replace_by_partial=asked == "partial", **values)

    @property
    def rows_shown(self) -> int:
        """How many rows of a table a terminal shows."""
        if self.rows is not None:
            return self.rows
        return sys.maxsize if self.pager and pager() else ROWS_SHOWN

    def check_spark(self) -> None:
        """Raise UsageError where two places are named for Spark to run."""
        if self.run.spark_remote is not None and self.run.spark_master is not None:
            raise UsageError(
                "--spark-master and --spark-remote exclude each other", hint="use one of the two"
            )
