"""Functions that make several rows or columns of one: where they stand, and how many names their columns are given."""

from __future__ import annotations

import pyarrow as pa

from fff.display.counts import counted
from fff.schema import spark_type
from fff.sql.binder.names import parts_of
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, resolve
from fff.sql.syntax.aggregates import has_aggregate, own_nodes
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff.sql.syntax.statement import Node, Statement, exp, refused

#: Spark's functions of this kind.
GENERATORS = frozenset(
    [
        *("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer"),
        *("stack", "json_tuple", "variant_explode", "variant_explode_outer"),
    ]
)
#: Clauses that take none.
_CLAUSES = {"where": "WHERE", "having": "HAVING", "order": "ORDER BY", "qualify": "QUALIFY"}


def is_generator(node: Node) -> bool:
    """Whether a node is a call of such a function."""
    return isinstance(node, exp.Func) and name_of(node) in GENERATORS


def name_of(node: Node) -> str:
    """The name of a function, lower case; nothing of any other node."""
    if isinstance(node, exp.Anonymous) or not isinstance(node, exp.Func):
        return node.name.lower() if isinstance(node, exp.Func) else ""
    return node.sql_name().lower()


def makes_columns(item: Node) -> bool:
    """Whether a select item may give any number of columns: one that is no star, and no column or expression."""
    bare = item.this if isinstance(item, exp.Alias) else item
    return isinstance(bare, exp.Aliases) or (is_generator(bare) and not isinstance(item, exp.Alias))


def check_generators(tree: QueryTree) -> None:
    """Raises QueryError, underlined."""
    statement = tree.statement
    for scope in tree.scopes:
        items = scope.node.expressions
        made = [
            one
            for item in items
            if is_generator(one := item.this if isinstance(item, exp.Alias | exp.Aliases) else item)
        ]
        if len(made) > 1 and any(map(has_aggregate, items)):
            raise refused(statement, made[1], "beside aggregates one function makes rows, and no second one")
        for call in filter(is_generator, own_nodes(scope.node)):
            _check_elements(statement, scope, call)
        for item in items:
            _check_item(statement, scope, item)
        for name, clause in _CLAUSES.items():
            node = scope.node.args.get(name)
            generator = next((one for one in own_nodes(node) if is_generator(one)), None) if node else None
            if generator is not None:
                raise refused(statement, generator, f"{name_of(generator)} cannot stand in {clause}")
        for lateral in scope.node.args.get("laterals") or ():
            _check_view(statement, scope, lateral)


def _check_elements(statement: Statement, scope: SelectScope, call: Node) -> None:
    """What rows are made of is no NULL, and for columns of structs an array of them."""
    name = name_of(call)
    argument = next(iter(call.expressions), None) if isinstance(call, exp.Anonymous) else call.this
    if isinstance(argument, exp.Null) and name not in {"stack", "json_tuple"}:
        raise refused(
            statement, call, f"[DATATYPE_MISMATCH] {name} takes an array or a map, and this is NULL"
        )
    if not isinstance(argument, exp.Column):
        return
    kind = type_of(argument, scope)
    if (
        kind is not None
        and name.startswith("inline")
        and _is_list(kind)
        and not pa.types.is_struct(kind.value_type)
    ):
        raise refused(
            statement,
            argument,
            f"[DATATYPE_MISMATCH] {name} takes an array of structs, and this is {spark_type(kind)}",
        )


def _check_item(statement: Statement, scope: SelectScope, item: Node) -> None:
    bare = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
    inner = next((one for one in own_nodes(bare) if one is not bare and is_generator(one)), None)
    if inner is not None and not isinstance(bare, exp.Query):
        raise refused(
            statement,
            inner,
            f"{name_of(inner)} cannot stand inside an expression",
            "make its rows in a query in FROM, or by LATERAL VIEW",
        )
    if isinstance(item, exp.Aliases):
        if not is_generator(bare):
            known = not isinstance(bare, exp.Anonymous) or bare.name.lower() in SPARK_FUNCTIONS
            if known:
                raise refused(statement, item, "several names for what is one column")
            return
        _check_count(statement, scope, bare, item.expressions)


def _check_view(statement: Statement, scope: SelectScope, lateral: Node) -> None:
    call, alias = lateral.this, lateral.args.get("alias")
    if not lateral.args.get("view") or not isinstance(call, exp.Func):
        return
    if not is_generator(call):
        if name_of(call) in SPARK_FUNCTIONS:
            raise refused(
                statement,
                call,
                f"LATERAL VIEW takes what makes rows, as explode, and {name_of(call)} does not",
            )
        return
    _check_count(statement, scope, call, alias.columns if isinstance(alias, exp.TableAlias) else [])


def _check_count(statement: Statement, scope: SelectScope, call: Node, names: list[Node]) -> None:
    made = _columns_of(scope, call)
    if names and made is not None and len(names) != made:
        raise refused(
            statement, names[0], f"{name_of(call)} gives {counted(made, 'column')} here, not {len(names)}"
        )


def _columns_of(scope: SelectScope, call: Node) -> int | None:
    """How many columns a call makes, where its argument is a column of a source."""
    name, item = name_of(call), call.this
    kind = type_of(item, scope) if isinstance(item, exp.Column) else None
    if kind is None:
        return None
    more = name.startswith("pos")
    if name.removeprefix("pos").startswith("explode"):
        return more + (2 if pa.types.is_map(kind) else 1) if _is_list(kind) or pa.types.is_map(kind) else None
    inner = name.startswith("inline") and _is_list(kind) and pa.types.is_struct(kind.value_type)
    return kind.value_type.num_fields if inner else None


def type_of(node: Node, scope: SelectScope) -> pa.DataType | None:
    """The type of a column of a source, with what stands behind its name left out; None where it is not known."""
    resolved = resolve(node, scope)
    plain = isinstance(resolved, Found) and len(parts_of(node)) == resolved.qualifiers + 1
    kinds = kinds_of(resolved) if plain and isinstance(resolved, Found) else []
    return kinds[0] if len(kinds) == 1 else None


def check_sortable(statement: Statement, scope: SelectScope, node: Node) -> None:
    """Raises QueryError for a column of maps, which nothing sorts, where rows are sorted."""
    bare = node.unnest()
    made = isinstance(bare, exp.Column) and len(parts_of(bare)) == 1 and scope.makes(bare.name.lower())
    kind = type_of(bare, scope) if isinstance(bare, exp.Column) and not made else None
    if kind is not None and pa.types.is_map(kind):
        raise refused(statement, bare, "rows are not sorted by maps", "sort by its keys: map_keys(…)")


def kinds_of(resolved: Found) -> list[pa.DataType]:
    """The different types of the columns that a name may mean."""
    kinds: list[pa.DataType] = []
    for source, index in resolved.origins or ():
        if source.table is not None and source.table.columns[index].arrow not in kinds:
            kinds.append(source.table.columns[index].arrow)
    return kinds


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind))
