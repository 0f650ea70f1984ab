"""From the text of a statement to everything that can be known before the first request."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

from fff.catalog import Catalog, Table
from fff.errors import InfeasibleQuery, QueryError, Span
from fff.sql.analysis.predicates import constant_value
from fff.sql.analysis.priorities import named_columns
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.analysis.soundness import bounds_of, doubts_of
from fff.sql.binder.build_scopes import check_names, read_queries
from fff.sql.binder.grouping import check_grouping
from fff.sql.calls.find import find_calls
from fff.sql.calls.named_apart import named_apart
from fff.sql.nested.copied_queries import with_copies, without_unread
from fff.sql.nested.pipes import check_set, is_certain, without_pipes
from fff.sql.plan import Prepared
from fff.sql.planner.commands import command, query_of
from fff.sql.planner.statement import plan_queries, unnested
from fff.sql.refusals import check_refusals
from fff.sql.refusals.arguments import check_argument_types
from fff.sql.scalars.clock import at_moment, columns_quoted, names_given
from fff.sql.syntax.parameters import params as parameters
from fff.sql.syntax.parameters.named import with_names
from fff.sql.syntax.parameters.param_types import plain
from fff.sql.syntax.parse import deep, parse_statement, written_out
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.spark_functions import check_arguments, check_function_names
from fff.sql.syntax.statement import Node, Statement, TokenType, exp
from fff.structs import Struct, field, replace


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
    values = {name: plain(name, value) for name, value in (params or {}).items()}
    with deep():
        at_hand = frozenset(name for text in prioritize for name in named_columns(text))

        def plan(text: str) -> Prepared:
            named = with_names(text, values)
            if named is None:
                return _at_moment(text, catalog, _Planning(values, at_hand))
            try:
                gone = parameter_names(text) - parameter_names(named.sql)
                left = {name: value for name, value in values.items() if name not in gone}
                return _told_of(text, _at_moment(named.sql, catalog, _Planning(left, at_hand)), named)
            except QueryError as error:
                raise named.told(error) from None

        planned = command(sql, catalog, plan) or plan(sql)
    if planned.result is not None and not planned.result.fields:
        raise QueryError("the result has no column", hint=_NO_COLUMN)
    return planned


def parameter_names(sql: str) -> frozenset[str]:
    """The names of the `:name` parameters of a statement."""
    return frozenset(marker.name for marker in parameters.markers(parse_statement(query_of(sql))))


def table_names(sql: str, *, own: bool = True) -> list[tuple[str, ...]]:
    """What a statement names where tables may stand, in order; names of its own (WITH) among them, if wanted.

    Raises QueryError.
    """
    return _names_in(parse_statement(query_of(sql)).tree, own=own)


def _names_in(tree: Node, *, own: bool) -> list[tuple[str, ...]]:
    named = (
        tuple(part.name for part in (node.args.get("db"), node.this) if part is not None)
        for node in tree.find_all(exp.Table)
        if isinstance(node.this, exp.Identifier)  # no table function
    )
    left_out = set() if own else {(cte.alias.lower(),) for cte in tree.find_all(exp.CTE)}
    return [name for name in dict.fromkeys(named) if tuple(part.lower() for part in name) not in left_out]


def _tables_in(sql: str, catalog: Catalog) -> list[Table]:
    """The tables that a query names. Raises QueryError."""
    names = _names_in(parse_statement(sql).tree, own=False)
    return [table for name in names for table in catalog.find(name)]


def compared_with_text(sql: str, catalog: Catalog) -> dict[str, set[str]]:
    """By full name, columns of tables that a statement equates with text though they are none. Raises QueryError."""
    from fff.sql.binder import text_columns  # noqa: PLC0415 - for files of this machine alone

    tree = parse_statement(query_of(sql)).tree
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


def _at_moment(sql: str, catalog: Catalog, planning: _Planning) -> Prepared:
    """The plan of a statement, with the moment of its running for `now()` in conditions."""

    def columns() -> set[str]:
        of_tables = {column.name.lower() for table in _tables_in(sql, catalog) for column in table.columns}
        return of_tables | names_given(parse_statement(sql).tree)

    with suppress(QueryError):  # told of when it is planned
        quoted = columns_quoted(sql, columns, lambda text: read_queries(parse_statement(text), catalog))
        if quoted is not None:
            planned = _with_moment(quoted.sql, catalog, planning, set)
            return replace(planned, sql=sql, result=planned.result and planned.result.at(quoted.origin))
    return _with_moment(sql, catalog, planning, columns)


def _with_moment(
    sql: str, catalog: Catalog, planning: _Planning, columns: Callable[[], Collection[str]]
) -> Prepared:
    moment = None
    with suppress(QueryError):  # told of when it is planned
        moment = at_moment(sql, dt.datetime.now(dt.UTC), columns)
    if moment is None:
        return _prepare(sql, catalog, planning)
    try:
        plain = _prepare(moment.text.sql, catalog, planning)
    except QueryError as error:
        if moment.everywhere:
            return _prepare(sql, catalog, planning)
        raise moment.text.told(error) from None
    if moment.everywhere and plain.upper is not None:
        return _prepare(sql, catalog, planning)
    result = None if plain.result is None else plain.result.at(moment.text.origin)
    if result is not None:
        fields = tuple(replace(field, name=moment.name(field.name)) for field in result.fields)
        result = replace(result, fields=fields)
    return replace(plain, sql=sql, result=result)


#: Of a table without columns nobody would see the rows.
_NO_COLUMN = "name a column, or write count(*)"
#: Queries in queries that are planned by themselves.
_DEEPEST = 4


class _NestedPlan(Struct, frozen=True):
    """What came of planning a query as a statement, over the tables that it names."""

    tables: list[Table]
    depth: int
    limited: bool  # more may come of it less deep in other queries
    planned: Prepared | None  # None: it cannot be planned by itself


class _Planning(Struct):
    """How a statement is planned. Of the queries in it each is planned once, in however many ways what is around them is written."""

    params: Mapping[str, object]
    at_hand: frozenset[tuple[str, ...]] = frozenset()  # columns that are fetched as well
    depth: int = 0  # in how many queries that are planned by themselves it stands
    nested: dict[str, list[_NestedPlan]] = field(default_factory=dict)  # by their text
    limited: bool = False  # a query in it was not planned for its depth

    def plan(self, sql: str, catalog: Catalog) -> Prepared:
        """The plan of a query in it, as a statement of its own. Raises QueryError."""
        if self.depth == _DEEPEST:  # a query that is written anew may hold what it was made of
            self.limited = True
            raise QueryError("this query stands too deep in others to be planned by itself")
        tables = _tables_in(sql, catalog)
        plans = self.nested.setdefault(sql, [])
        same = (one for one in plans if one.tables == tables and (self.depth >= one.depth or not one.limited))
        plan = next(same, None)
        if plan is None:
            plan = self._planned(sql, catalog, tables)
            plans.append(plan)
        self.limited |= plan.limited
        if plan.planned is None:
            raise QueryError("this query cannot be planned by itself")
        return plan.planned

    def _planned(self, sql: str, catalog: Catalog, tables: list[Table]) -> _NestedPlan:
        markers = {marker.name for marker in parameters.markers(parse_statement(sql))}
        own = {name: value for name, value in self.params.items() if name in markers}
        inner, planned = _Planning(own, depth=self.depth + 1, nested=self.nested), None
        with suppress(QueryError):  # it names columns of what is around it, or needs keys of that
            planned = _planned_once(sql, catalog, inner)
        return _NestedPlan(tables, self.depth, inner.limited, planned)


def _prepare(sql: str, catalog: Catalog, planning: _Planning) -> Prepared:
    """As it is written; else, where nothing binds a table's key columns, with queries of WITH at their places or with its source's keys."""
    text, warnings = Rewritten(written_out(sql), catalog, planning.params), list[str]()
    apart = _apart(text)
    if apart is not None:
        try:
            return _told_of(sql, _prepare(apart.sql, catalog, planning), apart.text)
        except QueryError as error:
            raise apart.text.told(error) from None
    try:
        return _planned_once(sql, catalog, planning)
    except InfeasibleQuery as error:
        refused = error
    with suppress(QueryError):
        copied = with_copies(text)
        if copied is not None:
            return _told_of(sql, _planned_once(copied.sql, catalog, planning), copied.text)
    from fff.sql.calls.parents import through_parents  # noqa: PLC0415 - for what nothing binds

    places = set[Span | None]()
    while True:
        try:
            plain = _planned_once(text.sql, catalog, planning)
        except InfeasibleQuery as error:
            place = None if error.span is None else text.text.origin(error.span)
            step = None if place in places else through_parents(text, error)
            if step is None:
                raise text.text.told(error) if warnings else refused from None
            places.add(place)
            text = step[0]
            warnings.append(step[1])
            continue
        return replace(
            _told_of(sql, plain, text.text), warnings=tuple(dict.fromkeys((*warnings, *plain.warnings)))
        )


def _apart(text: Rewritten) -> Rewritten | None:
    """The text with its tables of one name told apart; None where there is nothing to tell, or no way to."""
    with suppress(QueryError):  # told of when it is planned
        return named_apart(text)
    return None


def _told_of(sql: str, planned: Prepared, text: Edited) -> Prepared:
    """The plan of a text as that of the statement which it says in other words: places are told of in that."""
    return replace(planned, sql=sql, result=planned.result and planned.result.at(text.origin))


def _planned_once(sql: str, catalog: Catalog, planning: _Planning) -> Prepared:
    """Without what nothing reads, as `_in_words` does; where that is not one SELECT, with what is said of queries in FROM said inside."""
    text, read = Rewritten(written_out(sql), catalog, planning.params), None
    with suppress(QueryError):  # told of below
        read = without_unread(text, planning.plan)
    if read is not None:
        return _planned_unread(sql, text, read, planning)
    refused: QueryError | None = None
    plain: Prepared | None = None
    try:
        plain = _in_words(sql, catalog, planning)
    except InfeasibleQuery as error:
        refused = error
    made = plain is not None and any(feed.rows for block in plain.blocks for feed in block.feeds)
    if plain is None or plain.upper is not None or made:
        from fff.sql.nested.pushed_conditions import with_conditions  # noqa: PLC0415 - few statements need it

        with suppress(QueryError):
            moved = with_conditions(text)
            if moved is not None:
                other = _planned_once(moved.sql, catalog, planning)
                if plain is None or plain.upper is not None or other.upper is None:
                    return _told_of(sql, other, moved.text)
    if plain is None:
        assert refused is not None, "what is not refused is planned"
        raise refused
    return plain


def _planned_unread(sql: str, text: Rewritten, read: Rewritten, planning: _Planning) -> Prepared:
    """The plan of what is read of a statement, all of which has to be right."""
    parameters.check(text.statement)
    try:
        whole = _checked(text)
        try:
            check_names(whole.tree)
            check_grouping(whole.tree)
        except QueryError as error:
            raise whole.text.told(error) from None
    except QueryError as error:
        raise text.text.told(error) from None
    markers = {marker.name for marker in parameters.markers(read.statement)}
    own = {name: value for name, value in planning.params.items() if name in markers}
    inner = replace(planning, params=own)
    try:
        planned = _planned_once(read.sql, read.catalog, inner)
    except QueryError as error:
        raise read.text.told(error) from None
    planning.limited |= inner.limited
    return _told_of(sql, planned, read.text)


def _in_words(sql: str, catalog: Catalog, planning: _Planning) -> Prepared:
    """As it is written; with the rows that it spells out as tables, where that binds keys or spares Spark."""
    piped = None
    with suppress(QueryError):  # told of below, of the text as it was written
        piped = without_pipes(written_out(sql))
    if piped is not None:
        apart = _apart(Rewritten(piped, catalog, planning.params))
        piped = piped if apart is None else apart.text
        try:
            return _told_of(sql, _planned_once(piped.sql, catalog, planning), piped)
        except QueryError as error:
            if is_certain(error, catalog):
                raise piped.told(error) from None
    written = Rewritten(Edited.of(parse_statement(sql).sql), catalog, planning.params)
    if piped is None:
        check_set(written_out(sql), catalog)
    parameters.check(written.statement)  # later a query with a parameter may be a table
    refused: QueryError | None = None
    plain: Prepared | None = None
    try:
        plain = _as_written(sql, written, planning)
    except InfeasibleQuery as error:
        refused = error
    if plain is None or plain.upper is not None:
        from fff.sql.planner.rewriting import PACKED, QueryTables, rewritten  # noqa: PLC0415 - few statements need all that

        made = QueryTables()
        for text in rewritten(written, made, planning.plan):
            with suppress(QueryError):
                other = made.attached(_as_written(sql, text, planning))
                if plain is None or other.upper is None or (made.packed and _joins_more(other, plain)):
                    if other.upper is not None:
                        upper = replace(other.upper, words=other.upper.words.without(PACKED))
                        other = replace(other, upper=upper)
                    plain = other
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


def _as_written(sql: str, text: Rewritten, planning: _Planning) -> Prepared:
    """The steps of planning, of a text that says what `sql` does. Errors and places of results are told about that."""
    written, statement = written_out(sql), text.statement
    try:
        expanded = _checked(text)
        try:
            prepared, joined = _planned(expanded, planning)
        except QueryError as error:
            raise expanded.text.told(error) from None
    except QueryError as error:
        raise written.told(error) from None
    result = prepared.result
    if result is not None and joined.sql != sql:
        result = result.at(lambda place: written.origin(joined.text.origin(place)))
    # Calls of functions are tables by now, whose rows may be missing as those of any.
    read = expanded if result is None else joined
    doubts = doubts_of(read.tree, joined=result is not None)
    warnings = (*prepared.warnings, *_quoted_columns(statement, text.catalog))
    ordered = _is_ordered(statement)
    bounds = bounds_of(expanded.tree) if result is None else None
    return replace(
        prepared, sql=sql, result=result, ordered=ordered, doubts=doubts, bounds=bounds, warnings=warnings
    )


def _checked(text: Rewritten) -> Rewritten:
    """The text with tables for its calls, if nothing but its names may be wrong. Raises QueryError."""
    expanded = text
    if find_calls(text.statement, text.catalog):
        from fff.sql.calls.expand import expand_calls  # noqa: PLC0415 - few statements call functions of sources

        expanded = expand_calls(text)
    try:
        tree = expanded.tree
        check_function_names(expanded.statement)
        check_arguments(expanded.statement)
        check_argument_types(tree, constant_value)
        check_refusals(tree)
    except QueryError as error:
        raise expanded.text.told(error) from None
    return expanded


def _quoted_columns(statement: Statement, catalog: Catalog) -> list[str]:
    """A warning for each column's name in double quotes, which make it a string."""
    text = statement.sql
    strings = [token for token in statement.tokens if token.token_type is TokenType.STRING]
    quoted = dict.fromkeys(token.text for token in strings if text[token.start] == '"')
    if not quoted:
        return []
    columns = {column.name.lower() for table in _tables_in(text, catalog) for column in table.columns}
    return [
        f'"{name}" is a string: Spark SQL quotes names in backticks; the column is `{name}`'
        for name in quoted
        if name.lower() in columns
    ]


def _planned(text: Rewritten, planning: _Planning) -> tuple[Prepared, Rewritten]:
    """The plan with the subqueries as joins that can be such, and the text it is of; else of the text as it is."""
    joined = unnested(text)
    if joined is not text:
        try:
            return plan_queries(joined.tree, planning.at_hand), joined
        except QueryError:  # whatever is wrong is told of what was written
            pass
    return plan_queries(text.tree, planning.at_hand), text


def _is_ordered(statement: Statement) -> bool:
    """Whether a statement says in which order its result comes: ORDER BY outside all brackets."""
    words = {TokenType.ORDER_BY, TokenType.SORT_BY}
    return any(
        token.token_type in words and not depth
        for token, depth in zip(statement.tokens, statement.depths, strict=True)
    )
