"""Datasette: the tables and views of SQLite databases on the web.

asking  Datasette's table pages: addresses, filters, columns; and SQLite's types.
source  DatasetteSource: the tables and views of one database, or of all databases of an instance.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff_sources.datasette.source import DatasetteSource

__all__ = ["DatasetteSource"]
