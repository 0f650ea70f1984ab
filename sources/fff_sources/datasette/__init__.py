"""Datasette: the tables and views of SQLite databases on the web.

asking  requests for rows, and what SQLite's types are read as
source  DatasetteSource
"""

from __future__ import annotations

from fff_sources.datasette.source import DatasetteSource

__all__ = ["DatasetteSource"]
