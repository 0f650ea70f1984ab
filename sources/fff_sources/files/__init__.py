"""Files on the web: CSV, TSV, JSON, NDJSON and Parquet, packed with gzip or not; one table from one file or several.

spec    what may stand in a spec
kinds   columns and types out of a file's contents
source  FilesSource
"""

from __future__ import annotations

from fff_sources.files.source import FilesSource

__all__ = ["FilesSource"]
