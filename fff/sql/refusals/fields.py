"""Fields of columns that have none, by the types that their sources declare."""

from __future__ import annotations

import pyarrow as pa

from fff.errors import QueryError
from fff.schema import spark_type
from fff.sql.binder.names import parts_of, reference_span
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, resolve
from fff.sql.refusals.generators import kinds_of
from fff.sql.syntax.statement import Node, Statement, identifier_span


def check_fields(tree: QueryTree) -> None:
    """Raises QueryError, underlined."""
    for scope in tree.scopes:
        aliases = {source.alias.lower() for source in scope.reach}
        for column in scope.columns:
            first, *more = parts_of(column)
            if more and (len(more) > 1 or first.name.lower() not in aliases):
                _check_path(tree.statement, scope, column)


def _check_path(statement: Statement, scope: SelectScope, column: Node) -> None:
    """The names behind that of a column are of fields that it has."""
    resolved = resolve(column, scope)
    kinds = kinds_of(resolved) if isinstance(resolved, Found) else []
    if len(kinds) != 1 or not isinstance(resolved, Found):
        return
    kind, parts = kinds[0], parts_of(column)
    for before, part in zip(parts[resolved.qualifiers :], parts[resolved.qualifiers + 1 :], strict=False):
        try:
            inner = _field(kind, part.name)
        except LookupError as error:
            raise QueryError(
                f"{before.name} {error.args[0]}",
                sql=statement.sql,
                span=identifier_span(part) or reference_span(column),
                hint=_hint(kind),
            ) from None
        if inner is None:
            return
        kind = inner


def _hint(kind: pa.DataType) -> str | None:
    """What reads a text of JSON, as nested values are that nobody has declared."""
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return "if it holds JSON, get_json_object(column, '$.name') reads a member of it" if texts else None


def _field(kind: pa.DataType, name: str) -> pa.DataType | None:
    """The type of a field; None where it cannot be told. Raises LookupError where there is none of the name."""
    if pa.types.is_struct(kind):
        fields = {one.name.lower(): one.type for one in kind}
        if name.lower() not in fields:
            raise LookupError(f"has no field {name}, but {', '.join(one.name for one in kind)}")
        return fields[name.lower()]
    if pa.types.is_list(kind) and not pa.types.is_struct(kind.value_type):
        return None
    if pa.types.is_list(kind):
        inner = _field(kind.value_type, name)
        return None if inner is None else pa.list_(inner)
    if pa.types.is_map(kind):
        return kind.item_type
    if pa.types.is_nested(kind):
        return None
    raise LookupError(f"is of type {spark_type(kind)}, which has no fields")
