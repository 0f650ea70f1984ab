"""The statement of a result run again, and what it finds now compared with what is in the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fff.display.counts import counted
from fff.errors import UsageError
from fff.structs import replace
from fff_cli.commands.query import Plan, ScriptRun, run_query
from fff_cli.options.arguments import QueryArguments
from fff_cli.output.failures import writing
from fff_cli.output.files import NewFile, Target
from fff_cli.output.formats import emit_batch
from fff_cli.output.readback import read_back, retyped
from fff_cli.output.streams import BINARY_FORMATS, choose_format
from fff_cli.refresh.remembered import KeptStatement, check_unchanged, one_result, read, write
from fff_cli.run.interrupts import Interrupts
from fff_cli.run.progress import Progress, say
from fff_cli.watch.changes import Changes, compared

if TYPE_CHECKING:
    from fff.federation import Execution, Federation, Prepared, RunOutcome

_PARTIAL = 3  # exit code


@dataclass(frozen=True)
class Wanted:
    """What to refresh, and how.

    Attributes:
        file: the result.
        full: ask for all of tables that could tell what has changed.
        keys: columns that tell rows apart.
        overwrite: also where somebody has changed the file.
        output: the format in which changes are told.
    """

    file: Path
    full: bool = False
    keys: tuple[str, ...] = ()
    overwrite: bool = False
    output: str | None = None


def run_refresh(wanted: Wanted, options: Mapping[str, Any]) -> int:
    """Run `fff refresh` with these `options` beside what is `wanted`; the exit code, that of the query. Raises UsageError."""
    form = wanted.output or ("table" if options["verbose"] else None)
    if form is not None and choose_format(form, None, terminal=False) in BINARY_FORMATS:
        raise UsageError(f"changes are not written as {form}", hint="use -o ndjson")
    file = Path(os.path.abspath(wanted.file))  # noqa: PTH100 - where a link lies, what is remembered lies beside it
    if file.is_dir():
        raise UsageError(f"{str(wanted.file)!r} is a folder, and no result in a file", hint="name the file")
    about = read(file)
    if not wanted.overwrite:
        check_unchanged(file, about)
    about = replace(about, keys=wanted.keys or about.keys)
    before = read_back(file, about.form) if file.exists() else None
    if before is not None:
        compared(before.slice(0, 0), before.slice(0, 0), about.keys)  # whether there are such columns
    arguments = _arguments(about, file, options)
    kept: list[bool] = []

    def keep() -> None:
        kept.append(True)
        write(file, about.with_params(options["params"] or ()))

    def made(arguments: QueryArguments, plan: Plan, progress: Progress, interrupts: Interrupts) -> ScriptRun:
        return _Rerun(
            arguments,
            plan,
            progress,
            interrupts,
            before=before,
            keys=about.keys,
            full=wanted.full,
            form=form,
            name=str(wanted.file),
            kept=keep,
        )

    _enter(about.folder)
    code = run_query(arguments, made=made)
    # Of a partial result more is told.
    if code not in (0, _PARTIAL) and not kept and not arguments.quiet and file.exists():
        say(f"{str(wanted.file)!r} is as it was")
    return code


def _arguments(about: KeptStatement, file: Path, options: Mapping[str, Any]) -> QueryArguments:
    now = dict(options) | {"params": about.all_params(options["params"] or ())}
    if now["report"] is not None:
        now["report"] = now["report"].absolute()  # as seen from here, not from where the statement runs
    arguments = QueryArguments.typed(**(dict(about.options) | now))
    return replace(
        arguments,
        texts=(about.sql,),
        sources=tuple(map(Path, about.sources)),
        output=about.form,
        output_file=file,
        cache=True,
        replace_by_partial=False,  # a partial result is no refreshed one
    )


def _enter(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(f"cannot run it again in {folder!r}: {error.strerror}") from error


class _Rerun(ScriptRun):
    def __init__(
        self,
        *common: Any,
        before: pa.Table | None,
        keys: tuple[str, ...],
        full: bool,
        form: str | None,
        name: str,
        kept: Callable[[], None],
    ) -> None:
        super().__init__(*common)
        self._before, self._keys, self._full, self._name = before, keys, full, name
        self._kept = kept
        self._changes_form = form
        self._ordered = False
        self._changes: Changes | None = None

    async def script(self, federation: Federation, prepared: Sequence[Prepared]) -> int:
        """Run it over what the sources say now, and of what is on disk over what has not changed."""
        one_result(prepared)
        self._ordered = prepared[0].ordered
        federation.reset(changes=not self._full)
        return await super().script(federation, prepared)

    def keep(self, target: Target, *, whole: bool) -> None:
        """Replace the file by a whole result, where that is another."""
        if not whole:
            super().keep(target, whole=whole)
            return
        assert isinstance(target, NewFile)
        with writing():
            now = read_back(target.written(), self._plan.format)
        same, text = self._compare(now)
        if not same:
            super().keep(target, whole=whole)
        self._kept()  # at once: whatever fails from here on, the file is the new one
        self._note = f"{self._name}: {text}" + (f"; {self._note}" if self._note is not None else "")

    def told(self, *, whole: bool) -> None:
        """What the file came of is written down behind, whether or not it is another now."""

    def _compare(self, now: pa.Table) -> tuple[bool, str]:
        """Whether the file may stay as it is, and what is said of the difference."""
        rows = counted(now.num_rows, "row")
        before = self._before
        if before is None:
            return False, f"{rows}, where there was no file"
        if not before.num_columns and not before.num_rows:  # JSON without rows tells no columns
            before = now.slice(0, 0)
        if not now.num_columns and not now.num_rows:
            now = before.slice(0, 0)
        if before.schema.names != now.schema.names or before.schema.types != now.schema.types:
            return False, f"{rows}, with other columns than before"
        self._changes = changes = compared(before, now, self._keys)
        if not changes:
            # In the order that was asked for, equal rows may still stand otherwise.
            return not self._ordered, f"no change, {rows}"
        counts = (("+", changes.come), ("-", changes.gone), ("~", changes.changed))
        return False, " ".join(f"{sign}{count:,}" for sign, count in counts if count) + f", {rows}"

    def close(self, outcome: RunOutcome, execution: Execution) -> None:
        """Tell how it ended, and which rows have come, gone or changed."""
        super().close(outcome, execution)
        if self._changes and self._changes_form is not None:
            emit_batch(retyped(self._changes.rows, self.kinds), self._changes_form)
