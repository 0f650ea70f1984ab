"""Columns that PIVOT and UNPIVOT name, and that nothing in FROM has."""

from __future__ import annotations

from fff.errors import QueryError
from fff.sql.binder.names import parts_of, reference_span
from fff.sql.binder.scopes import QueryTree, SelectScope, Source
from fff.sql.syntax.statement import Node, exp


def check_pivots(tree: QueryTree) -> None:
    """Raises QueryError, underlined."""
    for scope in tree.scopes:
        pivoted = [one for one in scope.sources if one.node.args.get("pivots")]
        names = _names_of(scope) if pivoted and scope.outer is None else None
        for source in pivoted if names is not None else ():
            first, *more = source.node.args["pivots"]
            if more:
                continue  # which is of the columns that the one before it makes
            for column in _named(first):
                name = parts_of(column)[0].name
                if name.lower() not in (names or ()):
                    raise QueryError(
                        f"unknown column {name} in {'UNPIVOT' if first.args.get('unpivot') else 'PIVOT'}",
                        sql=tree.statement.sql,
                        span=reference_span(column),
                    )


def _named(pivot: Node) -> list[Node]:
    """The columns that are read: those of the aggregates, and what is in front of IN; of UNPIVOT what stands in IN."""
    fields = pivot.args.get("fields") or ()
    read = [part for one in fields for part in one.expressions] if pivot.args.get("unpivot") else []
    if not read:
        read = [*pivot.expressions, *(one.this for one in fields)]
    return [column for part in read for column in part.find_all(exp.Column)]


def _names_of(scope: SelectScope) -> set[str] | None:
    """What columns and tables of a FROM are called, lower case; None where that is not known."""
    names = set[str]()
    for source in scope.sources:
        own = _columns_of(source)
        if own is None:
            return None
        names |= {name.lower() for name in own} | {source.alias.lower()}
        names |= {part.name.lower() for part in parts_of(source.node)} if source.table is not None else set()
    return names


def _columns_of(source: Source) -> list[str] | None:
    alias = source.node.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        return [column.name for column in alias.columns]
    if source.table is not None:
        return [column.name for column in source.table.columns]
    outputs = source.query.outputs if source.query is not None else None
    names = [one.name for one in outputs or ()]
    return names if names and all(names) else None
