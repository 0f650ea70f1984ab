"""Places of columns in ORDER BY and GROUP BY, widths and types of set operations and subqueries, lists of names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fff.display.counts import counted
from fff.sql.binder.scopes import Query, QueryTree, SelectScope, Source, resolve
from fff.sql.refusals.generators import check_sortable, makes_columns
from fff.sql.refusals.types.kinds import INCOMPARABLE, letter_of
from fff.sql.syntax.aggregates import (
    grouped_by,
    grouping_expressions,
    has_aggregate,
    is_aggregate,
    is_aggregated,
    ordinal,
    own_nodes,
)
from fff.sql.syntax.statement import Node, Statement, arg, exp, refused

#: Clauses that put the rows of a query in order.
_ORDERING = {"order": "ORDER BY", "sort": "SORT BY", "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY"}


def check_shapes(tree: QueryTree) -> None:
    """Raises QueryError, underlined, for columns that are too many, too few, or of types that do not go together."""
    statement = tree.statement
    for query in tree.queries:
        _check_set_operation(statement, query)
        _check_names(statement, query)
        for node in _around(query.node):
            _check_order(statement, node, _width(query))
    for scope in tree.scopes:
        width = _width_of(scope)
        _check_order(statement, scope.node, width)
        _check_groups(statement, scope, width)
        for clause in filter(None, (scope.node.args.get(name) for name in ("order", "sort", "cluster"))):
            for one in clause.expressions:
                check_sortable(statement, scope, one.this if isinstance(one, exp.Ordered) else one)
        if scope.node.args.get("distinct") and any(map(_is_map, _types(scope))):
            raise refused(statement, scope.node, "DISTINCT compares rows, and maps do not compare")
        for query in scope.inner:
            _check_subquery(statement, query)
        for source in scope.sources:
            _check_renamed(statement, source)
    for values in statement.tree.find_all(exp.Values):
        _check_rows(statement, values)


def _width_of(scope: SelectScope) -> int | None:
    """How many columns a SELECT gives, if that can be told."""
    items = scope.node.expressions
    if not items or any(makes_columns(item) for item in items):
        return None
    outputs = scope.outputs
    return None if outputs is None else len(outputs)


def _width(query: Query) -> int | None:
    return _width_of(query.branches[0]) if query.branches else None


def _around(node: Node) -> Iterator[Node]:
    """The brackets and set operations of a query, whose ORDER BY is of their columns; a SELECT has its own."""
    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, exp.SetOperation):
            yield one
            todo += [one.this, one.expression]
        elif isinstance(one, exp.Subquery | exp.Paren):
            yield one
            todo.append(one.this)


# -------------------------------------------------------------------------------------------------------------- ordinals


def _check_order(statement: Statement, node: Node, width: int | None) -> None:
    grouped = isinstance(node, exp.Select) and is_aggregated(node)
    for name, words in _ORDERING.items():
        clause = node.args.get(name)
        for part in own_nodes(clause) if clause is not None else ():
            if isinstance(part, exp.Window):
                what = f"{words} takes no window function"
                raise refused(
                    statement, part.this, what, "give it a name in a query in FROM, and order by that"
                )
            if is_aggregate(part) and not grouped:
                raise refused(statement, part, f"{words} takes an aggregate only where rows are grouped")
        for one in clause.expressions if clause is not None and name in ("order", "sort") else ():
            place = ordinal(one.this) if isinstance(one, exp.Ordered) else None
            if place is not None and width is not None and not 1 <= place <= width:
                raise refused(statement, one, f"{words} names column {place} of {counted(width, 'column')}")


def _check_groups(statement: Statement, scope: SelectScope, width: int | None) -> None:
    group = scope.node.args.get("group")
    if group is None:
        return
    items = scope.node.expressions
    meanings = grouped_by(scope.node, lambda column: resolve(column, scope) != "local")
    for one, meant in zip(grouping_expressions(group), meanings, strict=False):  # ALL means what nobody wrote
        place = ordinal(one)
        if place is not None:
            if any(item.is_star for item in items):
                raise refused(
                    statement, one, "GROUP BY a number beside * in the select list", "name the columns"
                )
            if width is not None and not 1 <= place <= width:
                raise refused(statement, one, f"GROUP BY names column {place} of {counted(width, 'column')}")
        if has_aggregate(meant):
            raise refused(statement, one, "GROUP BY takes no aggregate", "compute it in a query in FROM")


# -------------------------------------------------------------------------------------------------------- set operations


def _check_set_operation(statement: Statement, query: Query) -> None:
    if len(query.branches) < 2 or any(
        arg(node, "by_name") for node in _around(query.node) if isinstance(node, exp.SetOperation)
    ):
        return
    what = next(node.key.upper() for node in _around(query.node) if isinstance(node, exp.SetOperation))
    first, *others = query.branches
    width = _width_of(first)
    for other in others:
        wide = _width_of(other)
        if width is not None and wide is not None and wide != width:
            raise refused(
                statement,
                other.node,
                f"{what} of {counted(width, 'column')} and {counted(wide, 'column')}",
                "both sides need the same number of columns",
            )
    types = [_types(branch) for branch in query.branches]
    for branch, own in zip(others, types[1:], strict=True):
        for place, (one, two) in enumerate(zip(types[0], own, strict=False)):
            letters = [letter_of(one or "") or " ", letter_of(two or "") or " "]
            if letters[0] != letters[1] and "".join(sorted(letters)) in INCOMPARABLE:
                items = branch.node.expressions
                raise refused(
                    statement,
                    items[min(place, len(items) - 1)],
                    f"[INCOMPATIBLE_COLUMN_TYPE] column {place + 1} of {what} would be of {one} and of {two}",
                )
    operators = [node for node in _around(query.node) if isinstance(node, exp.SetOperation)]
    compared = all(not isinstance(node, exp.Union) or node.args.get("distinct") for node in operators)
    if compared and any(map(_is_map, types[0])):
        raise refused(statement, first.node, f"{what} compares rows, and maps do not compare")


def _types(scope: SelectScope) -> list[str | None]:
    """The types of a SELECT's columns, as far as these are columns of sources."""
    if any(makes_columns(item) for item in scope.node.expressions):
        return []
    types: list[str | None] = []
    for output in scope.outputs or ():
        kinds = {
            source.table.columns[index].type
            for source, index in output.origins or ()
            if source.table is not None
        }
        types.append(kinds.pop() if len(kinds) == 1 else None)
    return types


def _is_map(kind: str | None) -> bool:
    return kind is not None and letter_of(kind) == "p"


# ------------------------------------------------------------------------------------------------- subqueries and names


def _check_subquery(statement: Statement, query: Query) -> None:
    """The number of columns of a query among expressions."""
    parent, width = query.node.parent, _width(query)
    if width is None or not isinstance(parent, exp.Expr) or isinstance(parent, exp.Exists):
        return
    if isinstance(parent, exp.In) and parent.args.get("query") is query.node:
        left = parent.this.unnest()
        if isinstance(left, exp.Struct) or (
            isinstance(left, exp.Anonymous) and left.name.lower() == "named_struct"
        ):
            return  # whose fields are compared with as many columns
        wanted = len(left.expressions) if isinstance(left, exp.Tuple) else 1
        if wanted != width:
            raise refused(
                statement,
                query.node,
                f"IN compares {counted(wanted, 'column')} with a query of {counted(width, 'column')}",
            )
    elif isinstance(parent, exp.Binary | exp.Alias | exp.Select) and width != 1:
        if isinstance(parent, exp.Select) and query.node.arg_key != "expressions":
            return
        raise refused(
            statement, query.node, f"a query that stands for a value gives one column, this one {width}"
        )


def _check_renamed(statement: Statement, source: Source) -> None:
    """The list of names behind an alias in FROM."""
    alias = source.node.args.get("alias")
    names: Sequence[Node] = alias.columns if isinstance(alias, exp.TableAlias) else ()
    if not names or source.node.args.get("pivots"):
        return
    if source.table is not None:
        width: int | None = len(source.table.columns)
    else:
        inner = source.query is not None and (source.query.renamed is None)
        width = _width(source.query) if inner and source.query is not None else None
    if width is not None and width != len(names):
        raise refused(
            statement, names[0], f"names for {counted(len(names), 'column')}, of {counted(width, 'column')}"
        )


def _check_rows(statement: Statement, values: Node) -> None:
    """The widths of rows that are written out, and the names behind them."""
    rows = [(len(row.expressions) if isinstance(row, exp.Tuple) else 1, row) for row in values.expressions]
    width = rows[0][0] if rows else 0
    other = next(((wide, row) for wide, row in rows if wide != width), None)
    if other is not None:
        raise refused(
            statement, other[1], f"VALUES of {counted(width, 'column')} and {counted(other[0], 'column')}"
        )
    alias = values.args.get("alias")
    names: Sequence[Node] = alias.columns if isinstance(alias, exp.TableAlias) else ()
    if names and rows and len(names) != width:
        raise refused(
            statement, names[0], f"names for {counted(len(names), 'column')}, of {counted(width, 'column')}"
        )


def _check_names(statement: Statement, query: Query) -> None:
    """The names of WITH, each of which there is once, and the lists of names behind them."""
    with_ = arg(query.node, "with")
    seen = set()
    for cte in with_.expressions if isinstance(with_, exp.With) else ():
        name = cte.alias.lower()
        if name in seen:
            raise refused(statement, cte.args["alias"], f"WITH names {cte.alias} twice")
        seen.add(name)
    parent = query.node.parent
    width = None if query.recursive else _width(query)
    if isinstance(parent, exp.CTE) and query.renamed is not None and width not in {None, len(query.renamed)}:
        raise refused(
            statement,
            parent.args["alias"],
            f"names for {counted(len(query.renamed), 'column')}, of {counted(width or 0, 'column')}",
        )
