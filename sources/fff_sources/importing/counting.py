"""How much of a folder of documents can be imported: each translated and linted, nothing written, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fff.errors import FFFError, UsageError
from fff_sources.importing.airbyte.drafts import plain_streams
from fff_sources.importing.documents import format_of, read_file
from fff_sources.importing.fidelity import FidelityReport
from fff_sources.importing.translate import data_of, import_data

_ENDINGS = frozenset({".yaml", ".yml", ".json", ".har", ".py"})


def _documents(folder: Path, kind: str | None) -> list[Path]:
    """Documents, and folders whose Go files declare tables: these are read together."""
    files = sorted(one for one in folder.rglob("*") if one.is_file())
    programs = {one.parent for one in files if one.suffix == ".go" and b"plugin.Table{" in one.read_bytes()}
    others = [one for one in files if one.suffix in _ENDINGS and kind != "steampipe"]
    return others + (sorted(programs) if kind in (None, "steampipe") else [])


def count_folder(folder: Path, kind: str | None) -> Iterator[str]:
    """Lines with the counts, by format. Raises UsageError where it is no folder."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder", hint="--count takes a folder of documents")
    counts: dict[str, Counter[str]] = {}
    for file in _documents(folder, kind):
        try:
            data = data_of(read_file(file), str(file))
        except FFFError:
            counts.setdefault("unreadable", Counter())["documents"] += 1
            continue
        kind_read = kind or format_of(data)
        if kind_read is None and file.suffix == ".py":
            continue  # a program that configures nothing
        if kind_read is None:
            counts.setdefault("of no known format", Counter())["documents"] += 1
            continue
        counted = counts.setdefault(kind_read, Counter())
        counted["documents"] += 1
        report = FidelityReport(kind_read, str(file))
        try:
            import_data(data, str(file), report)
        except FFFError:
            counted["documents of which nothing translates"] += 1
        plain = plain_streams(data) if kind_read == "airbyte" else {}
        counted["tables"] += len(plain) or len(report.written) + len(report.left_out)
        if kind_read == "steampipe":
            counted["tables drafted, their requests to be written"] += len(report.written)
            outcomes = Counter(one.outcome for one in report.notes if one.field.startswith("column "))
            for outcome, number in sorted(outcomes.items()):
                counted[f"columns {outcome}"] += number
            continue
        counted["tables translated and linted"] += len(report.written)
        for name in report.written:
            counted["of these known to be complete"] += not report.may_miss_rows(name)
        if kind_read == "airbyte":
            counted["plain streams"] += sum(plain.values())
            written = [name for name, is_plain in plain.items() if is_plain and name in report.written]
            counted["plain streams translated and linted"] += len(written)
            lost = report.without_login()
            counted["plain streams translated and linted, with their login"] += sum(
                report.written[name].partition(".")[0] not in lost for name in written
            )
    for kind_read, counted in counts.items():
        yield kind_read
        for what, number in counted.items():
            yield f"  {number:>7,}  {what}"
