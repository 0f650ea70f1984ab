"""Conditions on columns of a query in FROM, said inside of it as well, where fewer rows there are just fewer rows of it.

    SELECT n FROM (SELECT DISTINCT k, n FROM v) q WHERE k = 2 ORDER BY n
    SELECT n FROM (SELECT DISTINCT k, n FROM v WHERE (v.k = 2)) q WHERE k = 2 ORDER BY n

    SELECT k, count(*) FROM v GROUP BY k HAVING k = 2
    SELECT k, count(*) FROM v WHERE (v.k = 2) GROUP BY k HAVING k = 2

So is what QUALIFY says of a column by which every window of a SELECT is parted.
So they bind keys, and sources are asked with them, whatever Spark does with the rows. Only comparisons with constants are
said twice: they cost little.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from fff.errors import QueryError
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.analysis.semi_joins import divides, passing, plain, rejects_null
from fff.sql.binder.names import reference_span
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, Source, resolve
from fff.sql.binder.select_text import SelectText
from fff.sql.binder.spj_block import Condition
from fff.sql.syntax.aggregates import grouped_by, groups_by_sets, is_aggregated
from fff.sql.syntax.edits import Edit, applied, edit
from fff.sql.syntax.statement import Node, Statement, exp, quote

_DEEPEST = 8
_SIMPLE = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Placeholder, exp.Parameter),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.In, exp.Between, exp.Like),
    *(exp.Is, exp.Not, exp.And, exp.Or, exp.Paren, exp.Neg, exp.Tuple, exp.Cast, exp.DataType),
)


def with_conditions(text: Rewritten) -> Rewritten | None:
    """The text with what is said of queries in FROM said inside as well; None where nothing is. Raises QueryError."""
    before = text
    for _ in range(_DEEPEST):
        edits = list(_edits(text.tree))
        if not edits:
            break
        text = text.edited(edits)
    return None if text is before else text


def _edits(tree: QueryTree) -> Iterator[Edit]:
    inside: dict[SelectScope, list[str]] = {}
    for scope in tree.scopes:
        for place, condition in _moved(tree, scope):
            inside.setdefault(place, []).append(condition)
    for scope, conditions in inside.items():
        with suppress(QueryError):  # it is written in another way
            text = SelectText.of(tree.statement, scope)
            known = {one.text.strip(" ()") for one in text.conditions}
            fresh = [one for one in dict.fromkeys(conditions) if one.strip(" ()") not in known]
            yield from text.more(fresh) if fresh else ()


def _moved(tree: QueryTree, scope: SelectScope) -> Iterator[tuple[SelectScope, str]]:
    """What a SELECT says of a column, in the words of the SELECT in which it can be said as well."""
    with suppress(QueryError):
        text = SelectText.of(tree.statement, scope)
        restricts = {id(one.node): one for one in scope.conditions}
        for condition in text.conditions:
            column, place = _only_column(condition.node, scope), restricts.get(id(condition.node))
            if column is None or place is None:
                continue
            assert condition.node is not None, "it names a column"
            lost = column.source in place.restricted and rejects_null(condition.node)
            if column.source in place.exact or lost:
                for inside, source, index in _targets(column):
                    yield inside, _said(tree.statement, condition, source, index)
        for condition in (*text.having, *text.qualify):
            column = _only_column(condition.node, scope)
            if column is None or not _is_key(scope, column):
                continue
            if condition in text.having or divides(scope, (column.source, column.index)):
                yield scope, _said(tree.statement, condition, column.source, column.index)


def _only_column(node: Node | None, scope: SelectScope) -> Found | None:
    """The one column that a condition compares with constants, if it does nothing else."""
    if node is None or not all(isinstance(part, _SIMPLE) for part in node.walk()):
        return None
    if not all(isinstance(one.this, exp.Literal) for one in node.find_all(exp.Cast)):
        return None
    columns = [plain(one, scope) for one in node.find_all(exp.Column)]
    first = columns[0] if columns else None
    if first is None or any(one is None or one.columns != first.columns for one in columns):
        return None
    return None if first.others else first


def _targets(column: Found) -> Iterator[tuple[SelectScope, Source, int]]:
    """The columns that one of a query in FROM is, each with its SELECT. Those of several have one type: else they are cast."""
    query = column.source.query
    if query is None or query.references > 1 or column.source.sealed:
        return
    places = list(passing(query, column.index))
    types = {source.table.columns[at].type for _, source, at in places if source.table is not None}
    one_type = len(places) == len(query.branches) and len(types) == 1
    if len(query.branches) == 1 or (one_type and all(source.table is not None for _, source, _ in places)):
        yield from (one for one in places if one[1].alias and not one[1].hidden)


def _is_key(scope: SelectScope, column: Found) -> bool:
    """Whether a SELECT groups by a column, if it does by any, and gives no other one its name: then WHERE can say what HAVING does."""
    place, select = (column.source, column.index), scope.node
    names = {item.alias.lower() for item in select.expressions if isinstance(item, exp.Alias)}
    if column.source not in scope.sources or not column.source.alias or column.source.hidden:
        return False
    if (column.source.names or ())[column.index].lower() in names:
        return False
    if not is_aggregated(select):
        return True
    keys = [] if groups_by_sets(select) else grouped_by(select, lambda one: resolve(one, scope) != "local")
    found = (plain(key, scope) for key in keys)
    return any(one is not None and one.columns == (place,) for one in found)


def _said(statement: Statement, condition: Condition, source: Source, index: int) -> str:
    """The text of a condition, of another column."""
    assert condition.node is not None, "it is written"
    assert condition.span is not None, "it is written"
    assert source.names is not None, "the column is known"
    name = f"{quote(source.alias)}.{quote(source.names[index])}"
    places = filter(None, map(reference_span, condition.node.find_all(exp.Column)))
    return applied(statement.sql, condition.span, [edit(place, name) for place in places])
