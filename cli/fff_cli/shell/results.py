"""Where a session's results go: the first rows of long ones on a terminal, or a file that takes one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fff.errors import UsageError
from fff.structs import Struct, replace
from fff_cli.commands.explain import analyzed
from fff_cli.commands.query import Plan, ScriptRun
from fff_cli.options.arguments import QueryArguments
from fff_cli.output.files import NewFile, Target, file_target
from fff_cli.run.interrupts import Interrupts
from fff_cli.run.progress import Progress

if TYPE_CHECKING:
    from fff.federation import Execution, RunOutcome

#: Formats of which a file holds one result.
_ONE_RESULT = frozenset({"json", "parquet", "arrow", "sqlite", "duckdb"})


#: What commands have as an option is a command in the shell.
_COMMAND_OF = {
    "-p ": "\\p ",
    "redirect it, or name a file with -O": "name the file behind it",
    "name another file with --report": "\\report FILE names another",
    "`fff source list` shows": "\\d shows",
    "nothing reads it: -s": "nothing reads it: \\source",
}


def in_shell(text: str) -> str:
    """A message that names options of commands, as the shell says it."""
    for option, command in _COMMAND_OF.items():
        text = text.replace(option, command)
    return text


class ShellOutput(Struct):
    r"""What `\o` and `\timing` have set."""

    format: str
    file: Path | None = None
    holds: bool = False  # whether the file has taken a result since it was named
    cut: int = 0  # partial results that lie beside it since then
    timing: bool = True
    spark_log: Path | None = None  # where the session's Spark writes under -v

    def check(self) -> None:
        """Raise UsageError when the next result has no place."""
        if self.holds and self.format in _ONE_RESULT:
            raise UsageError(
                f"{str(self.file)!r} holds a result, and a {self.format} file holds one",
                hint=f"name another: \\o {self.format} FILE",
            )


class SessionRun(ScriptRun):
    """A statement of a session."""

    more_rows = "\\rows all, or \\o csv FILE"

    def __init__(
        self,
        arguments: QueryArguments,
        plan: Plan,
        progress: Progress,
        interrupts: Interrupts,
        output: ShellOutput,
    ) -> None:
        super().__init__(arguments, plan, progress, interrupts)
        self._output = output
        log = self._options.spark_log
        if log is not None and output.spark_log is not None:  # one Spark has one log
            self._options = replace(self._options, spark_log=output.spark_log)
        output.spark_log = output.spark_log or log

    def worded(self, text: str) -> str:
        """In the shell's words."""
        return in_shell(text)

    def target(self, make_room: Callable[[], None]) -> Target:
        """Where the result goes; a file that holds results already gets one more behind them."""
        target = super().target(make_room)
        if isinstance(target, NewFile) and (self._output.holds or self._output.cut):
            target.among_others(self._output.cut)
        if self._output.holds and self._output.file is not None and isinstance(target, NewFile):
            with self._output.file.open("rb") as before:
                while piece := before.read(1 << 20):
                    target.out.write(piece)
        return target

    def close(self, outcome: RunOutcome, execution: Execution) -> None:
        r"""Tell how it ended; without `\timing` only what is amiss."""
        if self._output.file is not None and self.aside(whole=outcome.complete):
            self._output.cut += 1
        elif self._output.file is not None:
            self._output.holds = True
        if self._output.timing or not outcome.complete or outcome.warnings:
            super().close(outcome, execution)


class AnalyzedRun(SessionRun):
    """A statement whose rows nobody sees: `lines` say how it ran, once it has."""

    def __init__(self, *common: Any) -> None:
        super().__init__(*common)
        self._options = replace(self._options, measure_filters=True)
        self.lines: list[str] = []

    def target(self, make_room: Callable[[], None]) -> Target:
        """Nowhere."""
        del make_room
        return file_target(Path(os.devnull))

    def close(self, outcome: RunOutcome, execution: Execution) -> None:
        """Keep what is to be told, and tell what is amiss."""
        self.lines = analyzed(outcome, execution.snapshot())
        for warning in outcome.warnings:
            self._progress.warn(warning)
