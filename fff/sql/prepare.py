"""From the text of a statement to everything that can be known before the first request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fff.catalog import Catalog
from fff.errors import QueryError
from fff.sql import params as parameters
from fff.sql.above import analyse
from fff.sql.assembly import BlockParts
from fff.sql.blocks import find_block
from fff.sql.builtins import check_function_names
from fff.sql.dialect import Node, Statement, arg, exp, parse_statement
from fff.sql.equalities import place
from fff.sql.expansion import expand_calls
from fff.sql.general import CallsNotJoinedError, plan_queries
from fff.sql.ordering import first_rows
from fff.sql.planned import OutputColumn, Prepared
from fff.sql.priorities import named_columns
from fff.sql.queries import QueryTree
from fff.sql.reading import read_queries
from fff.sql.upper import VIEW, view_fields, write_upper


def prepare(
    sql: str,
    catalog: Catalog,
    params: Mapping[str, object] | None = None,
    prioritize: Sequence[str] = (),
) -> Prepared:
    """Parse, resolve and plan one statement; columns that the priorities name are fetched as well.

    Raises:
        QueryError: the SQL is wrong, with the place underlined.
        UnsupportedSQL: SQL that FFF does not run.
        InfeasibleQuery: a table whose key columns nothing binds.
        UsageError: a parameter without a value, or a value without a parameter.
    """
    values = dict(params or {})
    try:
        at_hand = frozenset(name for text in prioritize for name in named_columns(text))
        return _prepare(sql, catalog, values, at_hand)
    except RecursionError as error:
        raise QueryError("the SQL is nested too deeply") from error


def parameter_names(sql: str) -> frozenset[str]:
    """The names of the `:name` parameters of a statement."""
    return frozenset(marker.name for marker in parameters.markers(parse_statement(sql)))


def table_names(sql: str, *, own: bool = True) -> list[tuple[str, ...]]:
    """What a statement names where tables may stand, in order; names of its own (WITH) among them, if wanted.

    Raises QueryError.
    """
    tree = parse_statement(sql).tree
    named = (
        tuple(part.name for part in (node.args.get("db"), node.this) if part is not None)
        for node in tree.find_all(exp.Table)
    )
    left_out = set() if own else {(cte.alias.lower(),) for cte in tree.find_all(exp.CTE)}
    return [name for name in dict.fromkeys(named) if tuple(part.lower() for part in name) not in left_out]


def _prepare(
    sql: str, catalog: Catalog, params: Mapping[str, object], at_hand: frozenset[tuple[str, ...]]
) -> Prepared:
    statement = parse_statement(sql)
    parameters.check(statement, params)
    try:
        return _expanded(statement, catalog, params, at_hand, joining=True)
    except CallsNotJoinedError:
        return _expanded(statement, catalog, params, at_hand, joining=False)


def _expanded(
    statement: Statement,
    catalog: Catalog,
    params: Mapping[str, object],
    at_hand: frozenset[tuple[str, ...]],
    *,
    joining: bool,
) -> Prepared:
    """The plan with the tables of functions in the places of their calls; errors are about the text as it was written."""
    text = expand_calls(statement, catalog, params, joining=joining)
    if text is None:
        return _planned(statement, catalog, params, at_hand)
    try:
        prepared = _planned(parse_statement(text.sql), catalog, params, at_hand)
    except QueryError as error:
        raise text.told(error) from None
    return replace(prepared, sql=statement.sql)


def _planned(
    statement: Statement,
    catalog: Catalog,
    params: Mapping[str, object],
    at_hand: frozenset[tuple[str, ...]],
) -> Prepared:
    tree = read_queries(statement, catalog)
    check_function_names(statement)
    if _is_one_block(tree):
        return _one_block(statement, tree.root.node, catalog, params, at_hand)
    return plan_queries(tree, catalog, params, at_hand)


def _is_one_block(tree: QueryTree) -> bool:
    """Whether a statement is one SELECT, written the usual way, over tables that inner joins connect, or over none."""
    if len(tree.queries) > 1 or len(tree.scopes) != 1 or not isinstance(tree.root.node, exp.Select):
        return False
    scope = tree.scopes[0]
    if not tree.sources:
        return arg(scope.node, "from") is None
    return scope.flat and scope.region is not None and scope.region.first == 0


def _one_block(
    statement: Statement,
    select: Node,
    catalog: Catalog,
    params: Mapping[str, object],
    at_hand: frozenset[tuple[str, ...]],
) -> Prepared:
    """A statement that is one block: its rows come joined, and when nothing stands above, as they are found."""
    block = find_block(statement, select, catalog)
    parts = BlockParts.of(block, params)
    above = analyse(block, params, parts.residual)
    alone = not above.reasons and above.plain is not None
    if alone:
        assert above.plain is not None
        output = list(dict.fromkeys(column for _, column in above.plain))
    else:
        output = sorted(above.columns, key=place) or parts.any_column()
    limit = None
    if above.limit is not None and above.limit >= 0 and (alone or above.row_wise):
        limit = above.limit + above.offset
    query = parts.block_query(
        output,
        view="" if alone else VIEW,
        fields=() if alone else view_fields(block, output),
        limit=limit,
        first=first_rows(parts, above),
        at_hand=at_hand,
    )
    result = None
    if alone:
        assert above.plain is not None
        result = tuple(OutputColumn(name, output.index(column)) for name, column in above.plain)
    return Prepared(
        sql=statement.sql,
        blocks=(query,),
        result=result,
        upper=None if alone else write_upper(block, above, parts.residual, output, params),
        limit=above.limit if alone else None,
        offset=above.offset if alone else 0,
        warnings=parts.warnings,
    )
