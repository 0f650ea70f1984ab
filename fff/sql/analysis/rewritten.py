"""A statement while it is written in other words: its text, the tables that it may name, and its queries, read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from fff.catalog import Catalog, Table
from fff.sql.binder.build_scopes import read_queries
from fff.sql.binder.scopes import QueryTree
from fff.sql.syntax.edits import Edit
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.statement import Statement
from fff.structs import Struct, replace

#: How columns begin that are made for the arguments of calls.
ARGUMENT = "__fff_argument_"


class Rewritten(Struct, frozen=True, dict=True):
    """A text, where it comes from, and what its names and parameters may mean."""

    text: Edited
    catalog: Catalog
    params: Mapping[str, object]

    @property
    def sql(self) -> str:
        """The text as it is now."""
        return self.text.sql

    @cached_property
    def statement(self) -> Statement:
        """The text, parsed. Raises QueryError."""
        return parse_statement(self.sql, self.params)

    @cached_property
    def tree(self) -> QueryTree:
        """Its queries. Raises QueryError."""
        return read_queries(self.statement, self.catalog)

    def edited(self, edits: Sequence[Edit]) -> Rewritten:
        """After some edits of the text."""
        return replace(self, text=self.text.edited(edits))

    def beside(self, tables: Iterable[Table]) -> Rewritten:
        """With tables that no source holds among those that it may name."""
        return replace(self, catalog=self.catalog.beside(tables))
