"""A session: what is set, and statements run one after the other over the same federation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fff.errors import UsageError
from fff_cli.arguments import QueryArguments
from fff_cli.output import emit
from fff_cli.progress import Progress
from fff_cli.query import Plan
from fff_cli.shell.results import Output, SessionRun
from fff_cli.shell.signals import SessionInterrupts
from fff_cli.shell.text import first_word
from fff_cli.values import line_printable

if TYPE_CHECKING:
    from fff.engine import Federation, Prepared

_EXPLAIN_MODE = re.compile(r"\s*(EXTENDED|FORMATTED|CODEGEN|COST|ANALYZE|LOGICAL)\b", re.IGNORECASE)


@dataclass
class Session:
    """The state of one `fff shell`. `arguments` are the options it began with, as commands have changed them."""

    federation: Federation
    arguments: QueryArguments
    progress: Progress
    interrupts: SessionInterrupts
    output: Output
    params: dict[str, object] = field(default_factory=dict)

    async def statement(self, sql: str) -> int:
        """Run one statement and write its result, or show its plan where it says EXPLAIN; its exit code.

        Raises:
            FFFError: there is no result.
        """
        asked = explained(sql)
        if asked is not None:
            await self.explain(asked)
            return 0
        self.output.check()
        prepared = await self._prepare(sql)
        plan = Plan((sql,), self.params, self.output.format)
        arguments = replace(self.arguments, output_file=self.output.file)
        run = SessionRun(arguments, plan, self.progress, self.interrupts, self.output)
        code = await run.statement(self.federation, prepared)
        run.write_reports()
        return code

    async def explain(self, sql: str) -> None:
        """Show how a statement would run. Raises QueryError, UsageError."""
        if not sql.strip():
            raise UsageError("there is nothing to explain", hint="EXPLAIN SELECT …;")
        prepared = await self._prepare(sql)
        emit(line_printable(self.federation.explain(prepared)).rstrip("\n") + "\n")

    async def _prepare(self, sql: str) -> Prepared:
        from fff_cli.federation import discover_all, prepare_all  # noqa: PLC0415 - engine and sources, only now

        await discover_all(self.federation, [sql])
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
