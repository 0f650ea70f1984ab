"""Files on the web and of this machine: CSV, TSV, JSON, NDJSON, Parquet, Arrow and spreadsheets, packed or not; one table from one or several.

excel   Spreadsheets, read into CSV.
kinds   Columns and types out of what a file holds.
local   Files of this machine, read into what a web server would have answered.
named   Files of this machine that a statement names: csv.`companies.csv`, 'companies.csv', stdin.
source  FilesSource: files at URLs as tables that are scanned.
spec    What a spec may say of files, and what is wrong with this one.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff_sources.files.source import FilesSource

__all__ = ["FilesSource"]
