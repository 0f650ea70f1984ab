"""`fff source import`: a document of another tool written as a spec, and told what became of each of its fields."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path

from fff.errors import UsageError
from fff.web.client import WebClient
from fff_cli.commands.source_drafts import before_a_spec
from fff_cli.output.console import error_screen
from fff_cli.output.files import file_target
from fff_cli.output.formats import emit
from fff_cli.output.values import line_printable
from fff_cli.run.progress import say
from fff_sources.authoring.draft import is_source_name
from fff_sources.importing.counting import count_folder
from fff_sources.importing.documents import FORMATS, fetched, is_address, read_file
from fff_sources.importing.fidelity import FidelityReport
from fff_sources.importing.translate import Imported, import_document

_MOST_LINES = 40  # notes that a person is shown


def import_source(
    where: str,
    kind: str | None,
    output: Path | None,
    report: str,
    *,
    name: str | None,
    force: bool,
    count: bool,
) -> int:
    """Write the spec to standard output, a file, or into a folder; tell on standard error what became of each field."""
    if kind is not None and kind not in FORMATS:
        raise UsageError(f"--from {kind}: cannot be imported", hint=f"known: {', '.join(FORMATS)}")
    if report not in ("text", "json"):
        raise UsageError(f"--report {report}: text or json")
    if name is not None and not is_source_name(name):
        raise UsageError(f"{name!r} cannot name a source: letters, digits and _, no digit in front")
    if count:
        emit("".join(f"{line}\n" for line in count_folder(Path(where), kind)))
        return 0
    with before_a_spec("download the document, and name its file"):
        imported = asyncio.run(_imported(where, kind, name, os.environ))
    target = _target(output, imported)
    if target is None:
        emit(imported.text)
    else:
        _write(target, imported.text, force=force)
    _tell(imported.report, report)
    if target is not None:
        say(f"wrote {target}; next: fff source lint {target} && fff source test {target}")
    return 0


async def _imported(where: str, kind: str | None, name: str | None, environ: Mapping[str, str]) -> Imported:
    if not is_address(where):
        text, shown = read_file(Path(where)), where
        return import_document(text, where, shown=shown, kind=kind, name=name)
    client = WebClient()
    try:
        text, address = await fetched(where, client, environ)
        return import_document(text, address, shown=client.shown(address), kind=kind, name=name, base=address)
    finally:
        await client.close()


def _target(output: Path | None, imported: Imported) -> Path | None:
    """The file: as named, or after the source in a folder."""
    if output is None or not (output.is_dir() or str(output).endswith(os.sep)):
        return output
    return output / f"{imported.drafts[0].name}.yaml"


def _write(target: Path, text: str, *, force: bool) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not force:
            with target.open("x", encoding="utf-8") as file:
                file.write(text)
            return
        new = file_target(target)  # what is there stays until all is written
        try:
            new.out.write(text.encode())
            new.keep()
        finally:
            new.drop()
    except FileExistsError:
        raise UsageError(f"{target} exists already", hint="name another one, or say --force") from None
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from error


def _tell(report: FidelityReport, form: str) -> None:
    """The fidelity report on standard error: what is translated in numbers, the rest in words."""
    if form == "json":
        say(json.dumps(report.as_json()))
        return
    rows = [_row(report, name, written) for name, written in report.written.items()]
    screen = error_screen()
    if screen is not None and screen.color:
        from fff_cli.output.drawing import DrawnColumn, cell, rendered, table  # noqa: PLC0415 - only a terminal pays for rich

        columns = [
            DrawnColumn(head, [cell(line_printable(row[at])) for row in rows], at in (1, 2, 3), at)
            for at, head in enumerate(("table", "translated", "approximated", "dropped", "complete"))
        ]
        for line in rendered(table(columns, screen.width, "bold")[0], screen.width).splitlines():
            say(line)
    else:
        for name, translated, approximated, dropped, complete in rows:
            say(
                f"{name}: {translated} translated, {approximated} approximated, {dropped} dropped; {complete}"
            )
    lines = report.lines()
    for line in lines[:_MOST_LINES]:
        say(line)
    if len(lines) > _MOST_LINES:
        say(f"and {len(lines) - _MOST_LINES} more: --report json tells all")
    for variable in report.variables:
        if not os.environ.get(variable):
            say(f"variable: export {variable}=…")


def _row(report: FidelityReport, name: str, written: str) -> tuple[str, str, str, str, str]:
    counted = report.counted(name)
    complete = "not known to be complete" if report.may_miss_rows(name) else "complete"
    numbers = (str(counted[outcome]) for outcome in ("translated", "approximated", "dropped"))
    return written, *numbers, complete  # type: ignore[return-value]
