"""Where a session's results go: the first rows of long ones on a terminal, or a file that takes one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from fff.errors import UsageError
from fff_cli.arguments import QueryArguments
from fff_cli.console import output_screen
from fff_cli.interrupts import Interrupts
from fff_cli.output import NewFile, Target, Writer
from fff_cli.progress import Progress
from fff_cli.query import Plan, Run

if TYPE_CHECKING:
    from fff.engine import Execution, Outcome

ROWS_SHOWN = 100  # of a result drawn as a table on a terminal, unless \rows says otherwise
#: Formats of which a file holds one result.
_ONE_RESULT = frozenset({"json", "parquet", "arrow"})


@dataclass
class Output:
    r"""What `\o`, `\rows` and `\timing` have set."""

    format: str
    file: Path | None = None
    holds: bool = False  # whether the file has taken a result since it was named
    rows: int | None = ROWS_SHOWN
    timing: bool = True
    spark_log: Path | None = None  # where the session's Spark writes under -v

    def check(self) -> None:
        """Raise UsageError when the next result has no place."""
        if self.holds and self.format in _ONE_RESULT:
            raise UsageError(
                f"{str(self.file)!r} holds a result, and a {self.format} file holds one",
                hint=f"name another: \\o {self.format} FILE",
            )


class FirstRows:
    """Hands on the first rows only, and says at the end how many more there were."""

    def __init__(self, to: Writer, out: BinaryIO, most: int) -> None:
        self._to = to
        self._out = out
        self._left = most
        self._hidden = 0

    def begin(self, schema: pa.Schema) -> None:
        """Take the header."""
        self._to.begin(schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows."""
        shown = min(self._left, batch.num_rows)
        if shown:
            self._to.write(batch.slice(0, shown))
        self._left -= shown
        self._hidden += batch.num_rows - shown

    def end(self) -> None:
        """Write what is left, and the note."""
        self._to.end()
        if self._hidden:
            note = f"{self._hidden:,} more rows; \\rows all shows them, \\o csv FILE writes them to a file\n"
            self._out.write(note.encode())


class SessionRun(Run):
    """A statement of a session."""

    def __init__(
        self,
        arguments: QueryArguments,
        plan: Plan,
        progress: Progress,
        interrupts: Interrupts,
        output: Output,
    ) -> None:
        super().__init__(arguments, plan, progress, interrupts)
        self._output = output
        log = self._options.spark_log
        if log is not None and output.spark_log is not None:  # one Spark has one log
            log.unlink()
            self._options = replace(self._options, spark_log=output.spark_log)
        output.spark_log = output.spark_log or log

    def target(self, make_room: Callable[[], None]) -> Target:
        """Where the result goes; a file that holds results already gets one more behind them."""
        target = super().target(make_room)
        if self._output.holds and self._output.file is not None and isinstance(target, NewFile):
            with self._output.file.open("rb") as before:
                while piece := before.read(1 << 20):
                    target.out.write(piece)
        return target

    def writer(self, target: Target) -> Writer:
        """What writes the result, in part where all of it would flood the terminal."""
        whole = super().writer(target)
        short = self._output.rows is not None and self._output.format == "table" and self._output.file is None
        if not short or output_screen() is None:
            return whole
        assert self._output.rows is not None
        return FirstRows(whole, target.out, self._output.rows)

    def close(self, outcome: Outcome, execution: Execution) -> None:
        r"""Tell how it ended; without `\timing` only what is amiss."""
        self._output.holds = self._output.file is not None
        if self._output.timing or not outcome.complete or outcome.warnings:
            super().close(outcome, execution)
