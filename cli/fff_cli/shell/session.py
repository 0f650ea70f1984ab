"""A session: what is set, and statements run one after the other over the same federation."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fff.budget import Budget, format_bytes
from fff.errors import UsageError
from fff.structs import lazy_pattern, replace
from fff_cli.commands.explain import Glossed
from fff_cli.commands.query import Plan, choose_progress
from fff_cli.options.arguments import QueryArguments
from fff_cli.output.console import pager
from fff_cli.output.files import Target
from fff_cli.output.formats import emit_outline
from fff_cli.output.pager import PagedOutput
from fff_cli.output.streams import StandardOutput
from fff_cli.run.progress import Progress
from fff_cli.shell.results import AnalyzedRun, SessionRun, ShellOutput
from fff_cli.shell.signals import SessionInterrupts
from fff_cli.shell.text import first_word

if TYPE_CHECKING:
    from fff.federation import Federation, Prepared

#: Options of the shell itself, and what they are unless they are set.
_OF_SHELL = {"rows": "", "pager": "off", "live": "on", "cache": "spec"}
_EXPLAIN_MODE = lazy_pattern(r"\s*(EXTENDED|FORMATTED|CODEGEN|COST|LOGICAL)\b", re.IGNORECASE)


@dataclass
class ShellSession:
    """The state of one `fff shell`.

    `arguments` are the options it began with, as commands have changed them.
    """

    federation: Federation
    arguments: QueryArguments
    progress: Progress
    interrupts: SessionInterrupts
    output: ShellOutput
    params: dict[str, object] = field(default_factory=dict)
    typed: list[str] = field(default_factory=list)  # what was asked for so far, as it was typed
    added: tuple[Path, ...] = ()  # specs beside those that the session began with
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    async def statement(self, sql: str, *, expanded: bool = False) -> int:
        """Run one statement and write its result, or show its plan where it says EXPLAIN; its exit code.

        `expanded`: a line for each value, whatever the format is.

        Raises:
            FFFError: there is no result.
        """
        asked = explained(sql)
        if asked is not None:
            return await self.explain(asked)
        self.output.check()
        plan = Plan((sql,), self.params, "line" if expanded else self.output.format)
        arguments = replace(self.arguments, output_file=self.output.file)
        run = SessionRun(arguments, plan, self.progress, self.interrupts, self.output)
        return await self._run(run, await self._prepare(sql, run.budget))

    async def _run(self, run: SessionRun, prepared: Prepared) -> int:
        code = await run.statement(self.federation, prepared)
        run.reports.write()
        return code

    def pages(self) -> Target:
        """Where the output of a command goes: the pager, where it is longer than the terminal."""
        return PagedOutput() if self.arguments.pager and pager(self.environ) else StandardOutput()

    def option(self, name: str) -> object:
        r"""An option of the statements to come, as `\set` shows it."""
        if name == "rows":
            rows = self.arguments.rows_shown
            return "all" if rows == sys.maxsize else rows
        value = getattr(self.arguments if name in _OF_SHELL else self.arguments.run, name)
        if value is None and name in _OF_SHELL:
            return _OF_SHELL[name]
        if name == "memory_limit":
            return "half" if value is None else format_bytes(value)
        if value is None or isinstance(value, bool):
            return "on" if value else "off"
        return value

    def set_option(self, name: str, value: object) -> None:
        """Set an option for the statements to come."""
        changed: dict[str, Any] = {name: value}
        if name in _OF_SHELL:
            self.arguments = replace(self.arguments, **changed)
            if name == "live":
                self.progress = choose_progress(self.arguments)
            if name == "cache":
                from fff.access.disk.policy import row_cache  # noqa: PLC0415 - engine and sources, only now

                self.federation.use_cache(row_cache(self.environ, enabled=self.arguments.cache))
            return
        if name == "on_source_error":
            changed["hold_rows"] = value == "fail"
            self.arguments = replace(self.arguments, replace_by_partial=value == "partial")
        self.arguments = replace(self.arguments, run=replace(self.arguments.run, **changed))

    async def reload(self, more: Path | None = None) -> None:
        """Read the specs anew, and one more; those before stay where one is wrong.

        Raises SpecError, UsageError.
        """
        from fff_cli.run.federation import read_anew  # noqa: PLC0415 - engine and sources, only now

        added = self.added if more is None else (*self.added, more)
        await read_anew(self.federation, self.arguments.sources, added, self.environ)
        self.added = added

    async def explain(self, sql: str) -> int:
        """Show how a statement would run, or behind the word ANALYZE how it ran; its exit code. Raises FFFError."""
        first = first_word(sql)
        analyze = first is not None and first.text.upper() == "ANALYZE"
        if first is not None and analyze:
            sql = sql[first.end :]
        if first_word(sql) is None:
            raise UsageError("there is nothing to explain", hint="EXPLAIN SELECT …;")
        plan = Plan((sql,), self.params, "csv")
        run = AnalyzedRun(self.arguments, plan, self.progress, self.interrupts, self.output)
        prepared = await self._prepare(sql, run.budget)
        lines, code = self.federation.explain(prepared).splitlines(), 0
        if analyze:
            code = await self._run(run, prepared)
            lines += run.lines
        emit_outline(Glossed()(lines), self.pages())
        return code

    async def _prepare(self, sql: str, budget: Budget | None) -> Prepared:
        from fff_cli.run.federation import discover_all, prepare_all  # noqa: PLC0415 - engine and sources, only now

        await discover_all(self.federation, [sql], budget)
        [prepared] = prepare_all(self.federation, [sql], self._params_of(sql))
        return prepared

    def _params_of(self, sql: str) -> Mapping[str, object]:
        """The values set for the parameters that a statement names."""
        if not self.params:
            return {}
        from fff.sql import parameter_names  # noqa: PLC0415 - loaded with the engine

        named = parameter_names(sql)
        return {name: value for name, value in self.params.items() if name in named}


def explained(sql: str) -> str | None:
    """What follows the word EXPLAIN, or None for a statement that does not begin with it; raises UsageError."""
    first = first_word(sql)
    if first is None or first.text.upper() != "EXPLAIN":
        return None
    rest = sql[first.end :]
    if mode := _EXPLAIN_MODE.match(rest):
        raise UsageError(
            f"EXPLAIN {mode[1].upper()} is not supported", hint="EXPLAIN SELECT … shows how FFF would run it"
        )
    return rest
