"""From the text of a statement to everything that can be known before the first request."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from fff.catalog import Catalog
from fff.errors import InfeasibleQuery, QueryError, Span
from fff.sql.analysis.predicates import constant_value
from fff.sql.analysis.priorities import named_columns
from fff.sql.analysis.soundness import bounds_of, doubts_of
from fff.sql.binder import text_columns
from fff.sql.binder.build_scopes import read_queries
from fff.sql.binder.scopes import QueryTree
from fff.sql.calls.expand import expand_calls
from fff.sql.calls.full_joins import halved
from fff.sql.calls.parents import through_parents
from fff.sql.calls.recursion import with_columns
from fff.sql.calls.spelled_out import spelled_out
from fff.sql.calls.subqueries import as_exists, by_key, members
from fff.sql.nested.derived_tables import merged
from fff.sql.nested.key_columns import with_key_columns
from fff.sql.nested.lateral_aliases import without_lateral_aliases
from fff.sql.nested.packing import PACKED, packed
from fff.sql.nested.pipes import check_set, is_certain, without_pipes
from fff.sql.nested.query_tables import QueryTables
from fff.sql.planner.commands import command, query_of
from fff.sql.planner.plan import BranchUnion, Prepared
from fff.sql.planner.statement import plan_queries, unnested
from fff.sql.refusals import check_refusals
from fff.sql.refusals.arguments import check_argument_types
from fff.sql.scalars.clock import at_moment
from fff.sql.syntax import params as parameters
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.shorthands import written_out
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.spark_functions import check_arguments, check_function_names
from fff.sql.syntax.statement import Statement, TokenType, exp
from fff.structs import replace


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

        def plan(text: str) -> Prepared:
            return _at_moment(text, catalog, values, at_hand)

        return command(sql, catalog, plan) or plan(sql)
    except RecursionError as error:
        raise QueryError("the SQL is nested too deeply") from error


def parameter_names(sql: str) -> frozenset[str]:
    """The names of the `:name` parameters of a statement."""
    return frozenset(marker.name for marker in parameters.markers(parse_statement(query_of(sql))))


def table_names(sql: str, *, own: bool = True) -> list[tuple[str, ...]]:
    """What a statement names where tables may stand, in order; names of its own (WITH) among them, if wanted.

    Raises QueryError.
    """
    tree = parse_statement(query_of(sql)).tree
    named = (
        tuple(part.name for part in (node.args.get("db"), node.this) if part is not None)
        for node in tree.find_all(exp.Table)
        if isinstance(node.this, exp.Identifier)  # no table function
    )
    left_out = set() if own else {(cte.alias.lower(),) for cte in tree.find_all(exp.CTE)}
    return [name for name in dict.fromkeys(named) if tuple(part.lower() for part in name) not in left_out]


def compared_with_text(sql: str, catalog: Catalog) -> dict[str, set[str]]:
    """By full name, columns of tables that a statement equates with text though they are none. Raises QueryError."""
    tree = parse_statement(sql).tree
    tables = {}
    for node in tree.find_all(exp.Table):
        if not isinstance(node.this, exp.Identifier):
            continue
        tables_named = catalog.find(
            [part.name for part in (node.args.get("db"), node.this) if part is not None]
        )
        if len(tables_named) == 1:
            tables[node.alias_or_name.lower()] = tables_named[0]
    return text_columns.compared_with_text(tree, tables)


def _at_moment(
    sql: str, catalog: Catalog, params: Mapping[str, object], at_hand: frozenset[tuple[str, ...]]
) -> Prepared:
    """The plan of a statement, with the moment of its running for `now()` in conditions."""

    def columns() -> set[str]:
        tables = [table for name in table_names(sql, own=False) for table in catalog.find(name)]
        return {column.name.lower() for table in tables for column in table.columns}

    text = None
    with suppress(QueryError):  # told of when it is planned
        text = at_moment(sql, dt.datetime.now(dt.UTC), columns)
    if text is None:
        return _prepare(sql, catalog, params, at_hand)
    try:
        plain = _prepare(text.sql, catalog, params, at_hand)
    except QueryError as error:
        raise text.told(error) from None
    return replace(plain, sql=sql, result=None if plain.result is None else plain.result.at(text.origin))


#: Queries in queries that are planned by themselves.
_DEEPEST = 4


def _prepare(
    sql: str, catalog: Catalog, params: Mapping[str, object], at_hand: frozenset[tuple[str, ...]]
) -> Prepared:
    """As it is written or, where a table's key columns are bound by nothing, with the keys that their source names."""
    text, warnings = written_out(sql), list[str]()
    try:
        return _planned_once(sql, catalog, params, at_hand)
    except InfeasibleQuery as error:
        refused = error
    places = set[Span | None]()
    while True:
        try:
            plain = _planned_once(text.sql, catalog, params, at_hand)
        except InfeasibleQuery as error:
            place = None if error.span is None else text.origin(error.span)
            step = None if place in places else through_parents(text, error, catalog)
            if step is None:
                raise text.told(error) if warnings else refused from None
            places.add(place)
            text = step[0]
            warnings.append(step[1])
            continue
        result = None if plain.result is None else plain.result.at(text.origin)
        return replace(plain, sql=sql, result=result, warnings=(*warnings, *plain.warnings))


def _planned_once(
    sql: str,
    catalog: Catalog,
    params: Mapping[str, object],
    at_hand: frozenset[tuple[str, ...]],
    depth: int = 0,
) -> Prepared:
    """As it is written; with the rows that it spells out as tables, where that binds keys or spares Spark.

    `depth`: in how many queries that are planned by themselves it stands.
    """
    text = None
    with suppress(QueryError):  # told of below, of the text as it was written
        text = without_pipes(written_out(sql))
    if text is not None:
        try:
            other = _planned_once(text.sql, catalog, params, at_hand, depth)
            result = None if other.result is None else other.result.at(text.origin)
            return replace(other, sql=sql, result=result)
        except QueryError as error:
            if is_certain(error, catalog):
                raise text.told(error) from None
    statement = parse_statement(sql)
    if text is None:
        check_set(written_out(sql), catalog)
    refused: QueryError | None = None
    plain: Prepared | None = None
    try:
        plain = _as_written(sql, statement, catalog, params, at_hand)
    except InfeasibleQuery as error:
        refused = error
    if plain is None or plain.upper is not None:
        made = QueryTables()
        for text, tables in _rewritten(statement, catalog, params, made, depth):
            with suppress(QueryError):
                other = made.attached(
                    _as_written(text.sql, parse_statement(text.sql), tables, params, at_hand)
                )
                if plain is None or other.upper is None or (made.packed and _joins_more(other, plain)):
                    if other.upper is not None:
                        upper = replace(other.upper, words=other.upper.words.without(PACKED))
                        other = replace(other, upper=upper)
                    plain = replace(other, sql=sql, result=_told_of(other.result, written_out(sql), text))
                if plain.upper is None:
                    break
    if plain is None:
        assert refused is not None, "what is not refused is planned"
        raise refused
    return plain


def _joins_more(other: Prepared, plain: Prepared) -> bool:
    """Whether one plan leaves no join to Spark where another does."""
    views, before = (sum(bool(block.view) for block in one.blocks) for one in (other, plain))
    return views == 1 < before


def _rewritten(
    statement: Statement, catalog: Catalog, params: Mapping[str, object], made: QueryTables, depth: int
) -> Iterator[tuple[Edited, Catalog]]:
    """The statement in other words, each with the tables that it names: rows as tables, halves of FULL JOIN, queries merged."""
    text = Edited.of(statement.sql)
    with suppress(QueryError):
        spelled = spelled_out(statement, catalog, params)
        if spelled is not None:
            text, catalog = spelled
            yield text, catalog
    for rewrite in (without_lateral_aliases, with_columns, members, as_exists, by_key, halved):
        with suppress(QueryError):
            other = rewrite(text, catalog)
            if other is not None:
                text = other
                yield text, catalog
    with suppress(QueryError):
        one = merged(text, catalog)
        if one is not None:
            yield one, catalog
    if depth == _DEEPEST:  # a query that is written anew may hold what it was made of
        return

    def plan(sql: str, known: Catalog) -> Prepared:
        markers = {marker.name for marker in parameters.markers(parse_statement(sql))}
        own = {name: value for name, value in params.items() if name in markers}
        return _planned_once(sql, known, own, frozenset(), depth + 1)

    with suppress(QueryError):
        before, text = text.sql, packed(text, catalog)
        made.packed = text.sql != before
        text, catalog = made.replaced(text, catalog, plan, params)
        if made.made or made.packed:
            halves = halved(text, catalog)
            text = text if halves is None else halves
            one = merged(text, catalog)
            if one is not None:
                yield one, catalog
            yield text, catalog
    with suppress(QueryError):
        keyed = with_key_columns(text, catalog, made, plan)
        if keyed is not None:
            yield keyed


def _told_of(result: BranchUnion | None, written: Edited, text: Edited) -> BranchUnion | None:
    """A result whose places are those of the statement as it was written."""
    return None if result is None else result.at(lambda place: written.origin(text.origin(place)))


def _as_written(
    sql: str,
    statement: Statement,
    catalog: Catalog,
    params: Mapping[str, object],
    at_hand: frozenset[tuple[str, ...]],
) -> Prepared:
    """The steps of planning. Those behind the expansion of calls tell errors about the text as it was written."""
    written = written_out(sql)
    try:
        parameters.check(statement, params)
        expanded, text = expand_calls(statement, catalog, params)
        try:
            tree = read_queries(expanded, catalog)
            check_function_names(expanded)
            check_arguments(expanded)
            check_argument_types(tree, constant_value)
            check_refusals(tree)
            prepared, joined = _planned(tree, catalog, params, at_hand)
        except QueryError as error:
            raise text.told(error) from None
    except QueryError as error:
        raise written.told(error) from None
    result = prepared.result
    if result is not None and joined.sql != sql:
        result = result.at(lambda place: written.origin(text.origin(joined.origin(place))))
    # Calls of functions are tables by now, whose rows may be missing as those of any.
    doubts = doubts_of(
        expanded.tree if result is None else parse_statement(joined.sql).tree, joined=result is not None
    )
    warnings = (*prepared.warnings, *_quoted_columns(statement, catalog))
    ordered = _is_ordered(statement)
    bounds = bounds_of(expanded.tree) if result is None else None
    return replace(
        prepared, sql=sql, result=result, ordered=ordered, doubts=doubts, bounds=bounds, warnings=warnings
    )


def _quoted_columns(statement: Statement, catalog: Catalog) -> list[str]:
    """A warning for each column's name in double quotes, which make it a string."""
    text = statement.sql
    strings = [token for token in statement.tokens if token.token_type is TokenType.STRING]
    quoted = dict.fromkeys(token.text for token in strings if text[token.start] == '"')
    if not quoted:
        return []
    read = [table for name in table_names(text, own=False) for table in catalog.find(name)]
    columns = {column.name.lower() for table in read for column in table.columns}
    return [
        f'"{name}" is a string: Spark SQL quotes names in backticks; the column is `{name}`'
        for name in quoted
        if name.lower() in columns
    ]


def _planned(
    tree: QueryTree, catalog: Catalog, params: Mapping[str, object], at_hand: frozenset[tuple[str, ...]]
) -> tuple[Prepared, Edited]:
    """The plan with the subqueries as joins that can be such, and the text it is of; else of the text as it is."""
    joined, text = unnested(tree, catalog, params)
    if joined is not tree:
        try:
            return plan_queries(joined, catalog, params, at_hand), text
        except QueryError:  # whatever is wrong is told of what was written
            pass
    return plan_queries(tree, catalog, params, at_hand), Edited.of(tree.statement.sql)


def _is_ordered(statement: Statement) -> bool:
    """Whether a statement says in which order its result comes: ORDER BY outside all brackets."""
    words = {TokenType.ORDER_BY, TokenType.SORT_BY}
    return any(
        token.token_type in words and not depth
        for token, depth in zip(statement.tokens, statement.depths, strict=True)
    )
