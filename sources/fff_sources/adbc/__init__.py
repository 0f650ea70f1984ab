"""Databases through ADBC, Arrow's interface to them: SQLite files and PostgreSQL servers; their tables and views are tables.

asking      Statements: what a scan or a lookup sends to a database.
columns     What is known of a table in a database, and of each of its columns.
connection  One connection to a database: the only module that knows the drivers.
postgresql  PostgreSQL: its catalog, its types, and how values are compared there.
source      AdbcSource: the tables and views of a database as tables.
spec        What a spec may say of a database, and what is wrong with this one.
sqlite      SQLite: its catalog, what its columns hold, and how values are compared there.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff_sources.adbc.source import AdbcSource

__all__ = ["AdbcSource"]
