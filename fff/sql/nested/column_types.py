"""The types of what queries in FROM make, where the SELECT around them is given names that depend on them."""

from __future__ import annotations

from contextlib import suppress

from fff.catalog import Table
from fff.dataflow.plan.expressions import Column
from fff.errors import QueryError, Span
from fff.schema import ArrowType, Field, result_field
from fff.sql.analysis.predicates import Translator, columns_in
from fff.sql.binder.names import Relation, Scope
from fff.sql.binder.scopes import Output, SelectScope, Source
from fff.sql.scalars.coercion import VOID
from fff.sql.scalars.naming.names import Columns
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.syntax.statement import Node, Statement, exp


def columns_of(statement: Statement, select: SelectScope) -> Columns:
    """The columns that a SELECT may name."""
    return columns_in(_scope(statement, select))


def _scope(statement: Statement, select: SelectScope) -> Scope:
    """Its FROM with the columns of queries as those of tables. What is of no known type is of none, as a NULL is."""
    relations: list[Relation] = []
    output: list[Column] = []
    hidden: list[Column] = []
    merged: set[str] = set()
    for ordinal, source in enumerate(select.sources):
        table = Table("", source.alias, _fields(statement, source))
        relations.append(
            Relation(source.alias, source.table or table, ordinal, Span(0, 0), source.written, source.hidden)
            if source.table is not None and not source.renamed
            else Relation(source.alias, table, ordinal, Span(0, 0), True, source.hidden)
        )
        for place, name in enumerate(source.names or ()):
            again = name.lower() in merged
            merged |= {name.lower()} & select.merged
            if not source.called:
                (hidden if again else output).append(Column(ordinal, place))
    return Scope(tuple(relations), tuple(output), tuple(hidden))


def _fields(statement: Statement, source: Source) -> tuple[Field, ...]:
    names = source.names or ()
    if source.table is not None:
        return tuple(
            Field(name, field.type, field.arrow)
            for name, field in zip(names, source.table.columns, strict=False)
        )
    branch = source.query.branches[0] if source.query is not None and source.query.branches else None
    outputs = (branch.outputs if branch is not None else None) or ()
    fields = [Field(name, "void", VOID) for name in names]
    if branch is None or len(outputs) != len(names):
        return tuple(fields)
    items: list[Node] = [] if branch.stars else branch.node.expressions
    scope = _scope(statement, branch)
    for place, output in enumerate(outputs):
        kind = _kind(statement, scope, output, items[place] if place < len(items) else None)
        with suppress(ValueError):
            fields[place] = result_field(names[place], kind)
    return tuple(fields)


def _kind(statement: Statement, scope: Scope, output: Output, item: Node | None) -> ArrowType:
    for source, at in output.origins or ():
        if source.table is not None:
            return source.table.columns[at].arrow
    if item is not None and not isinstance(item, exp.Aliases):
        with suppress(LeftToSparkError, QueryError):
            return Translator(statement, scope).operand(item.unalias()).type
    return VOID
