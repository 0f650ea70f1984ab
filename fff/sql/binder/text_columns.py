"""Columns of text files that a statement compares with text, and that are read as text for it.

A CSV file has no types: `94704` in it is a number only until it is joined with a key that is text. Then it is the text it
was, so that it can be a key at all, and `00501` would be none but `00501`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from fff.catalog import Table
from fff.sql.syntax.statement import Node, exp, keyword

Named = tuple[str, str]  # the alias, empty where none is written, and the column; in lower case


def compared_with_text(tree: Node, tables: Mapping[str, Table]) -> dict[str, set[str]]:
    """By full name of a table, its columns that are no text and that the statement equates with text of another table.

    `tables` are those of the statement by alias, in lower case. What a name means is judged by names alone: a column too
    many that is read as text compares as it would have.
    """
    compared: dict[str, set[str]] = defaultdict(set)
    for one, other in _equated(tree, tables):
        for column, text in ((one, other), (other, one)):
            for alias, table in _owners(column, tables):
                if _type(table, column[1]) == "string":
                    continue
                if any(
                    _type(also, text[1]) == "string" for name, also in _owners(text, tables) if name != alias
                ):
                    compared[table.full_name].add(column[1])
    return dict(compared)


def _owners(column: Named, tables: Mapping[str, Table]) -> Iterator[tuple[str, Table]]:
    for alias, table in tables.items():
        if column[0] in ("", alias) and table.column(column[1]) is not None:
            yield alias, table


def _type(table: Table, name: str) -> str | None:
    column = table.column(name)
    return None if column is None else column.type


def _equated(tree: Node, tables: Mapping[str, Table]) -> Iterator[tuple[Named, Named]]:
    for node in tree.find_all(exp.EQ, exp.NullSafeEQ):
        yield from _pair(node.this, node.expression)
    for among in tree.find_all(exp.In):
        query = among.args.get("query")
        inner = None if query is None else query.unnest()
        if isinstance(inner, exp.Select) and len(inner.expressions) == 1:
            yield from _pair(among.this, inner.expressions[0].unalias())
    for join in tree.find_all(exp.Join):
        names: Sequence[str] = [name.name for name in join.args.get("using") or ()]
        if keyword(join, "method") == "NATURAL":
            names = list({column.name for table in tables.values() for column in table.columns})
        for name in names:
            yield ("", name.lower()), ("", name.lower())


def _pair(one: Node, other: Node) -> Iterator[tuple[Named, Named]]:
    one, other = one.unnest(), other.unnest()
    if isinstance(one, exp.Column) and isinstance(other, exp.Column):
        yield (one.table.lower(), one.name.lower()), (other.table.lower(), other.name.lower())
