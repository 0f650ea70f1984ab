"""`fff source test`: a spec's tests and access methods tried out, a line for each."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from fff.catalog import Table
from fff.display.counts import counted
from fff.errors import UsageError
from fff_cli.commands.source import lint_errors
from fff_cli.output.console import is_terminal, output_screen
from fff_cli.output.formats import emit, emit_batch
from fff_cli.output.streams import choose_format
from fff_cli.output.values import line_printable
from fff_cli.run.no_pandas import spare_pandas
from fff_cli.run.progress import say
from fff_sources.authoring.evidence import Witness
from fff_sources.authoring.trial import Finding, SpecTrial, means
from fff_sources.document import read_document
from fff_sources.load import load_catalog

spare_pandas()

_MARGIN = 6  # characters in front of what is told
_STYLES = {"ok": "bold green", "look": "bold yellow", "fail": "bold red"}

_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("status", pa.string()),
        ("requests", pa.int64()),
        ("rows", pa.int64()),
        ("ms", pa.int64()),
        ("problems", pa.list_(pa.string())),
        ("remarks", pa.list_(pa.string())),
    ]
)


def test_source(file: Path, table: str | None, output: str | None, *, strict: bool) -> int:
    """Try a spec out; 0, 1 where something is wrong, 2 for a wrong spec, 4 where a source did not answer.

    `strict`: what may be wrong counts as wrong.
    """
    chosen = None if output is None else choose_format(output, None, terminal=is_terminal(sys.stdout))
    if not file.is_file():
        raise UsageError(f"{file}: no such spec file", hint="write one: fff source init URL -O FILE")
    if (errors := lint_errors(file, drafts=True)) != 0:
        return errors
    findings = asyncio.run(_tried(file, table, tell=chosen is None))
    if chosen is not None:
        _write(findings, chosen)
    say(_summary(findings))
    if any(not finding.answered for finding in findings):
        return 4
    return int(any(finding.problems or (strict and finding.remarks) for finding in findings))


async def _tried(file: Path, table: str | None, *, tell: bool) -> list[Finding]:
    client = Witness()
    catalog = load_catalog([file], environ=os.environ, cwd=Path.cwd(), client=client)
    data = read_document(file).data["sources"]
    sources: dict[str, Sequence[str]] = {
        name: tuple(map(str, part.get("tests") or ())) if isinstance(part, dict) else ()
        for name, part in data.items()
    }
    trial = SpecTrial(catalog, client, sources)
    findings: list[Finding] = []
    try:
        only = None if table is None else _the_table(table, trial.tables, file)
        async for finding in trial.run(only):
            findings.append(finding)
            if tell:
                emit(_drawn([line_printable(text) for text in lines(finding)]))
    finally:
        await trial.close()
    return findings


def _the_table(name: str, tables: Sequence[Table], file: Path) -> Table:
    meant = [table for table in tables if means(name, table)]
    if len(meant) == 1:
        return meant[0]
    names = ", ".join(table.full_name for table in meant or tables)
    what = f"is not in {file}" if not meant else "is in several of its sources"
    raise UsageError(f"{name!r} {what}", hint=f"its tables: {names}")


def lines(finding: Finding) -> list[str]:
    """A finding in words: what was tried and how it went, then what is wrong and what may be."""
    cost = [
        counted(finding.requests, "request"),
        counted(finding.rows, "row"),
        f"{finding.seconds * 1000:,.0f} ms",
    ]
    lines = [f"{finding.status:<4}  {finding.name}  ({', '.join(cost)})"]
    lines += [f"      {part}" for text in finding.problems for part in text.splitlines()]
    return lines + [f"      look: {part}" for text in finding.remarks for part in text.splitlines()]


def _drawn(lines: list[str]) -> str:
    """The lines of a finding; a terminal shows by colour how it went, and wraps what is long below itself."""
    screen = output_screen()
    if screen is None or not screen.color:
        return "".join(f"{text}\n" for text in lines)
    from fff_cli.output.drawing import hanging, rendered  # noqa: PLC0415 - only a terminal pays for rich

    style = _STYLES.get(lines[0].split()[0], "")
    drawn = (hanging(text, _MARGIN, style if not at else "") for at, text in enumerate(lines))
    return "".join(rendered(one, screen.width) for one in drawn)


def _summary(findings: Sequence[Finding]) -> str:
    wrong = sum(bool(finding.problems) for finding in findings)
    doubtful = sum(bool(finding.remarks) and not finding.problems for finding in findings)
    return f"{len(findings)} tried, {wrong} failed, {doubtful} to look at"


def _write(findings: Sequence[Finding], chosen: str) -> None:
    rows = [
        {
            "name": finding.name,
            "status": finding.status,
            "requests": finding.requests,
            "rows": finding.rows,
            "ms": round(finding.seconds * 1000),
            "problems": finding.problems,
            "remarks": finding.remarks,
        }
        for finding in findings
    ]
    emit_batch(pa.RecordBatch.from_pylist(rows, _SCHEMA), chosen)
