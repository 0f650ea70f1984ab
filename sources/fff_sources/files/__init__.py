"""Files on the web and of this machine: CSV, TSV, JSON, NDJSON, Parquet, Arrow and spreadsheets, packed or not; one table from one or several.

columnar    Parquet and Arrow files of this machine, of which no more is read than a statement needs.
excel       Spreadsheets, read into CSV.
kinds       Columns and types out of what a file holds.
local       Files of this machine, read into what a web server would have answered.
named       Files of this machine that a statement names: csv.`companies.csv`, 'companies.csv', stdin.
partitions  Values that stand in the names of folders (`year=2024/`), as Hive, Spark and DuckDB write them.
source      FilesSource: files at URLs as tables that are scanned.
spec        What a spec may say of files, and what is wrong with this one.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fff_sources.files.source import FilesSource

__all__ = ["FilesSource"]


def __getattr__(name: str) -> object:
    if name != "FilesSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fff_sources.files import source  # noqa: PLC0415 - few statements read files, all load what names them

    return source.FilesSource
