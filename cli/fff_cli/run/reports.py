"""`--report`: the accounts of the statements that ran, and of those that did not come to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fff.errors import FFFError
from fff.result.report import VERSION
from fff.stats import MemoryStats, SparkStats
from fff.structs import asdict
from fff.version import __version__
from fff_cli.output.failures import writing
from fff_cli.output.files import file_target
from fff_cli.run.interrupts import ABORTED

if TYPE_CHECKING:
    from fff.federation import Execution, Prepared


class Reports:
    """Collects accounts and writes them: one object for one statement, a list for several."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._accounts: list[dict[str, Any]] = []
        self.several = False
        self.written = False  # or at least tried
        self.begun = 0  # statements of a script

    def add(self, account: dict[str, Any]) -> None:
        """A statement that has ended with a result."""
        self._accounts.append(account)

    def failed(
        self, execution: Execution, error: BaseException, exit_code: int | None = None, *, rows: int
    ) -> None:
        """A statement without a whole result: failed, aborted (`exit_code` says how), or nobody reads on.

        `rows`: so many had been seen by then.
        """
        code = exit_code_of(error) if exit_code is None else exit_code
        outcome = execution.settled
        if outcome is None or not isinstance(error, FFFError) or outcome.exit_code != code:
            # It is not the run that ended so.
            outcome = execution.cut_outcome(rows, _reason(error))
        self.add(outcome.report | {"exit_code": code, "rows": rows})

    def refused(self, texts: Sequence[str], error: FFFError) -> None:
        """Nothing ran: the SQL, the sources or the options are wrong.

        Says nothing when an account says it already.
        """
        if not self._accounts:
            self.add(bare("\n".join(texts), error.render(), error.exit_code))

    def ended(self, prepared: Sequence[Prepared], error: BaseException) -> None:
        """The script ended by an error, which may have come before the statement begun had an account."""
        if self.begun > len(self._accounts):
            self.add(bare(prepared[len(self._accounts)].sql, _reason(error), exit_code_of(error)))

    def not_run(self, prepared: Sequence[Prepared], exit_code: int) -> int:
        """The statements after the last one that has an account; how many those are."""
        rest = prepared[len(self._accounts) :]
        for one in rest:
            self.add(
                bare(one.sql, "not run: the statements before it did not all end with a result", exit_code)
            )
        return len(rest)

    def write(self) -> None:
        """Write what there is. Raises UsageError when that cannot be."""
        if self._path is None or not self._accounts:
            return
        self.written = True
        account = self._accounts if self.several else self._accounts[-1]
        target = file_target(self._path)
        try:
            with writing(f"the report {str(self._path)!r}"):
                text = json.dumps(account, indent=2, default=str, ensure_ascii=False)
                target.out.write((text + "\n").encode("utf-8", "replace"))
                target.keep()
        finally:
            target.drop()

    def write_beside(self, tell: Callable[[FFFError], None]) -> None:
        """The same where something else has failed: that the report cannot be written is told, and hides nothing."""
        try:
            self.write()
        except FFFError as error:
            tell(error)


def bare(sql: str, reason: str, exit_code: int) -> dict[str, Any]:
    """The account of a statement of which nothing ran: every field, and nothing that could be told."""
    return {
        "version": VERSION,
        "sql": sql,
        "complete": False,
        "exit_code": exit_code,
        "reason": reason,
        "rows": 0,
        "elapsed_s": 0.0,
        "first_row_s": None,
        "policy": None,
        "prefer": None,
        "seed": None,
        "warm_start": False,
        "fff_version": __version__,
        "access": [],
        "bill": [],
        "stems": [],
        "routing": [],
        "audit": [],
        "spark": asdict(SparkStats()),
        "memory": asdict(MemoryStats()),
        "missing": [],
        "doubts": [],
        "bounds": None,
        "warnings": [],
    }


def exit_code_of(error: BaseException) -> int:
    """The exit code that goes with the end of a run by this exception."""
    match error:
        case FFFError():
            return error.exit_code
        case asyncio.CancelledError():
            return ABORTED
        case BrokenPipeError():
            return 0
        case _:
            return 1


def _reason(error: BaseException) -> str:
    match error:
        case FFFError():
            return error.render()
        case asyncio.CancelledError():
            return "aborted"
        case BrokenPipeError():
            return "nobody reads the result any more: standard output was closed"
        case _:
            return f"internal error: {type(error).__name__}: {error}"
