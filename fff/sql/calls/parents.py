"""Tables that are only looked up by a key, in a statement that binds none: they are read by the keys that their source names.

    SELECT n FROM comments      -- posts.id identifies a post
    SELECT n FROM (SELECT c.* FROM web.comments AS c JOIN web.posts AS p ON c.post_id = p.id) AS comments

Where the column does not identify the rows of the parent, `WHERE c.post_id IN (SELECT p.id FROM web.posts AS p)` keeps
rows from coming twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from fff.catalog import Catalog, Table
from fff.errors import InfeasibleQuery, QueryError
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.select_text import table_edits
from fff.sql.syntax.statement import qualified, quote
from fff.structs import Struct


class _Link(Struct, frozen=True):
    """A table, the parent that its keys come from, and the columns of both."""

    child: Table
    parent: Table
    columns: tuple[tuple[str, str], ...]

    @property
    def identifies(self) -> bool:
        """Whether no two rows of the parent have the same key."""
        key = {name.lower() for name in self.parent.primary_key}
        return bool(key) and key <= {name.lower() for _, name in self.columns}

    @property
    def told(self) -> str:
        """The link in words, for a warning."""
        own = " and ".join(name for name, _ in self.columns)
        others = " and ".join(f"{self.parent.full_name}.{name}" for _, name in self.columns)
        return f"{self.child.full_name} is read through {others}: rows with another {own} are not seen"


def through_parents(text: Rewritten, refused: InfeasibleQuery) -> tuple[Rewritten, str] | None:
    """The statement with the table that it could not read joined to its parent, and what is to be told of that.

    None where the table has no parent. Raises QueryError for one that is not there.
    """
    tree = text.tree
    source = next((one for one in tree.sources if one.table is not None and one.span == refused.span), None)
    if source is None or source.table is None:
        return None
    try:
        links = tuple(_chain(source.table, text.catalog))
    except QueryError as error:
        error.sql, error.span = text.sql, source.span
        raise
    if not links:
        return None
    after = text.edited(table_edits(tree, source, f"({_select(links)})"))
    return after, "; ".join(link.told for link in links)


def _chain(table: Table, catalog: Catalog) -> Iterator[_Link]:
    """From a table to its parent, and to the parent's own, as long as they have one. Raises QueryError."""
    seen = [table.full_name]
    while parents := {key.parent[:2] for key in table.key_columns if key.parent is not None}:
        source, name = parents.pop()
        keys = [(key.name, key.parent[2]) for key in table.key_columns if key.parent is not None]
        tables = catalog.find([source, name])
        if len(tables) != 1:
            raise _wrong(table, f"there is no table {source}.{name}")
        parent = tables[0]
        for own, other in keys:
            mine, other_field = table.column(own), parent.column(other)
            if mine is None or other_field is None:
                raise _wrong(table, f"{parent.full_name} declares no column {other}")
            if mine.type != other_field.type:
                raise _wrong(
                    table,
                    f"{own} is of type {mine.type}, and {parent.full_name}.{other} of type {other_field.type}",
                )
        if parent.full_name in seen:
            raise _wrong(table, f"{' comes from '.join([*seen, parent.full_name])}, which is a circle")
        yield _Link(table, parent, tuple(keys))
        seen.append(parent.full_name)
        table = parent


def _wrong(table: Table, message: str) -> QueryError:
    return QueryError(
        f"the keys of {table.full_name} cannot be had from its parent: {message}",
        hint="bind the key in the statement, or mend `from` in the source spec",
    )


def _select(links: tuple[_Link, ...]) -> str:
    """The rows of the first table whose keys are in its parent."""
    names = [links[0].child.name, *(link.parent.name for link in links)]
    aliases = [quote(name if name not in names[:at] else f"{name} #{at}") for at, name in enumerate(names)]
    tables = [_named(links[0].child), *(_named(link.parent) for link in links)]
    items = ", ".join(f"{aliases[0]}.{quote(column.name)}" for column in links[0].child.columns)
    start = f"SELECT {items} FROM {tables[0]} AS {aliases[0]}"  # noqa: S608 - names, quoted
    if all(link.identifies for link in links):
        for at, link in enumerate(links):
            pairs = (
                f"{aliases[at]}.{quote(own)} = {aliases[at + 1]}.{quote(other)}"
                for own, other in link.columns
            )
            start += f" JOIN {tables[at + 1]} AS {aliases[at + 1]} ON {' AND '.join(pairs)}"
        return start
    for at, link in enumerate(links):
        own = ", ".join(f"{aliases[at]}.{quote(name)}" for name, _ in link.columns)
        other = ", ".join(f"{aliases[at + 1]}.{quote(name)}" for _, name in link.columns)
        start += f" WHERE ({own}) IN (SELECT {other} FROM {tables[at + 1]} AS {aliases[at + 1]}"  # noqa: S608
    return start + ")" * len(links)


def _named(table: Table) -> str:
    return qualified(table.source, table.name)
