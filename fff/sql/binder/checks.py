"""What Spark would refuse in a query, told before the first request: conditions that are none, stars where none can be.

Only what is certain is told here; the rest Spark says as soon as it is up.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from fff.errors import Span
from fff.sql.binder.names import parts_of, qualifier_of, reference_span, star_tokens
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, Source, ambiguous, resolve
from fff.sql.syntax.statement import (
    Node,
    Statement,
    TokenType,
    arg,
    exp,
    identifier_span,
    operands,
    text_span,
)

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)
#: Between these a star stands by itself, in a list.
_BEFORE_STAR = frozenset(
    {TokenType.SELECT, TokenType.ALL, TokenType.DISTINCT, TokenType.HINT, TokenType.COMMA, TokenType.L_PAREN}
)
_BEHIND_STAR = frozenset(
    {
        *(TokenType.COMMA, TokenType.R_PAREN, TokenType.FROM, TokenType.PIPE_GT),
        *(TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.QUALIFY, TokenType.WINDOW),
        *(TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY),
        *(TokenType.LIMIT, TokenType.OFFSET, TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT),
        TokenType.LATERAL,
    }
)
#: Where Spark expands no star, and what that is called.
_STARLESS: dict[type[Node], str] = {
    **dict.fromkeys((exp.Group, exp.Cube, exp.Rollup, exp.GroupingSets), "GROUP BY"),
    exp.Ordered: "ORDER BY",
    exp.Sort: "SORT BY",
    exp.Cluster: "CLUSTER BY",
    exp.Distribute: "DISTRIBUTE BY",
    exp.Where: "WHERE",
    exp.Having: "HAVING",
    exp.Qualify: "QUALIFY",
    exp.Window: "PARTITION BY",
    exp.Alias: "an expression with a name",
    **dict.fromkeys(_ARITHMETIC, "a computation"),
}


def _check_path(statement: Statement, column: Node, scope: SelectScope) -> None:
    """A path behind a colon is of a variant, which no table's column is."""
    around = column.parent
    if (
        not isinstance(around, exp.JSONExtract)
        or not around.args.get("variant_extract")
        or around.this is not column
    ):
        return
    resolved = resolve(column, scope)
    if isinstance(resolved, Found) and resolved.source.table is not None:
        kind = resolved.source.table.columns[resolved.index].type
        raise statement.error(
            f"{column.sql('spark')} is of type {kind}: only a variant has paths",
            reference_span(column),
            hint=f"write parse_json({column.sql('spark')}):… for a text that is JSON",
        )


def _check_meaning(statement: Statement, column: Node, scope: SelectScope) -> None:
    options = ambiguous(column, scope)
    if len(set(options)) == 1:
        raise statement.error(
            f"column {options[0]} is ambiguous: a query in FROM has several of that name",
            reference_span(column),
            hint="give one of them another name there",
        )
    if options:
        raise statement.error(
            f"column {parts_of(column)[0].name} is ambiguous: {', '.join(options)}",
            reference_span(column),
            hint="write the alias before it",
        )


def twins_of(scope: SelectScope) -> list[Source]:
    """The entries of FROM that have the name of an earlier one, which Spark takes as long as no column is named by it."""
    names, twins = set[str](), []
    for source in scope.sources:
        name = source.alias.lower()
        twins += [source] if name in names else []
        names |= {name} - {""}
    return twins


def _check_twins(statement: Statement, scope: SelectScope) -> None:
    """Raises QueryError for a column that two tables of one name have."""
    for source in twins_of(scope):
        alike = [one for one in scope.sources if one.alias.lower() == source.alias.lower() and not one.hidden]
        for column in scope.columns:
            *qualifier, name = [part.name.lower() for part in parts_of(column)[:2]]
            if name in scope.merged or (not qualifier and scope.makes(name)):
                continue
            if qualifier not in ([], [source.alias.lower()]) or sum(_has(one, name) for one in alike) < 2:
                continue
            alias, parts = source.node.args.get("alias"), parts_of(source.node)
            raise statement.error(
                f"two tables are called {source.alias} in this query",
                identifier_span(parts[-1] if alias is None else alias.this),
                hint=f"give one of them another alias: {'.'.join(one.name for one in parts)} AS {source.alias}2",
            )


def _has(source: Source, name: str) -> bool:
    return source.table is not None and source.index(name) is not None


def check_queries(tree: QueryTree) -> None:
    """Raises QueryError for what Spark would certainly refuse, underlined."""
    for scope in tree.scopes:
        _check_twins(tree.statement, scope)
        for star in scope.stars:
            _check_star(tree.statement, star)
            _check_excepted(tree.statement, scope, star)
        for column in scope.columns:
            _check_path(tree.statement, column, scope)
            _check_meaning(tree.statement, column, scope)
        written = [one for one in scope.conditions if one.node is not None and not one.follows]
        alone = sum(not one.on for one in written) == 1
        for condition in written:
            assert condition.node is not None, "the others were left out"
            _check_condition(tree.statement, scope, condition.node, on=condition.on, alone=alone)


def names_all(select: Node) -> bool:
    """Whether a SELECT says GROUP BY ALL: Spark takes a column of that name, if there is one, for it."""
    group = select.args.get("group")
    return bool(group is not None and group.args.get("all"))


def is_all(column: Node) -> bool:
    """Whether a name is that of a column called `all` in GROUP BY or ORDER BY, which mean ALL where there is none."""
    parts = parts_of(column)
    clause = isinstance(column.parent, exp.Group | exp.Ordered)
    return clause and len(parts) == 1 and parts[0].name.lower() == "all"


# ----------------------------------------------------------------------------------------------------------- conditions


def _check_condition(statement: Statement, scope: SelectScope, node: Node, *, on: bool, alone: bool) -> None:
    bare = node.unnest()
    clause = "ON" if on else "WHERE"
    whole = alone and not on and not isinstance(bare, exp.Or | exp.Not)
    for part in _tested(bare):
        what = _no_condition(part, scope, whole=whole)
        if what is not None:
            place = (reference_span(part) if isinstance(part, exp.Column) else None) or text_span(part)
            raise statement.error(
                f"{clause} takes conditions, and {what}", place, hint="compare it with something"
            )


def _tested(node: Node) -> Iterator[Node]:
    """What a condition takes for true or false."""
    bare = node.unnest()
    if isinstance(bare, exp.And | exp.Or):
        for part in operands(bare):
            yield from _tested(part)
    elif isinstance(bare, exp.Not):
        yield from _tested(bare.this)
    else:
        yield bare


def _no_condition(node: Node, scope: SelectScope, *, whole: bool) -> str | None:
    """Why an expression is neither true nor false; a string beside AND, OR or NOT may be read as either."""
    if isinstance(node, exp.Literal):
        return None if node.is_string and not whole else f"{node.sql('spark')} is none"
    if isinstance(node, _ARITHMETIC):
        return "this is a computation"
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    resolved = resolve(node, scope)
    if not isinstance(resolved, Found) or len(parts_of(node)) != resolved.qualifiers + 1:
        return None
    for source, index in resolved.origins or ():
        assert source.table is not None, "origins are columns of web tables"
        field = source.table.columns[index]
        read = pa.types.is_boolean(field.arrow) or (pa.types.is_string(field.arrow) and not whole)
        if not read:
            return f"{parts_of(node)[-1].name} is of type {field.type}"
    return None


# ---------------------------------------------------------------------------------------------------------------- stars


def _check_excepted(statement: Statement, scope: SelectScope, star: Node) -> None:
    """Raises QueryError for a column of EXCEPT that nothing has which the star stands for."""
    own = star.this if isinstance(star, exp.Column) else star
    excepted = arg(own, "except")
    if isinstance(star, exp.Column) and not any(one.answers_to(qualifier_of(star)) for one in scope.sources):
        return  # of a struct, whose fields it leaves out
    known = [source.names for source in scope.sources if not source.hidden]
    names = {name.lower() for some in known for name in some or ("",)}
    for node in excepted if isinstance(excepted, list) and "" not in names else ():
        parts = parts_of(node)
        if len(parts) == 1 and parts[0].name.lower() not in names:
            raise statement.error(f"unknown column {parts[0].name} in EXCEPT", reference_span(node))


def _check_star(statement: Statement, star: Node) -> None:
    own = star.this if isinstance(star, exp.Column) else star
    place = identifier_span(own)
    at = star.parent
    while isinstance(at, exp.Paren):
        at = at.parent
    if isinstance(at, exp.Tuple) and not isinstance(at.parent, exp.Alias):
        at = at.parent
    where = None if at is None else _STARLESS.get(type(at))
    if where is not None:
        raise statement.error(f"* cannot stand in {where}", place, hint="name the columns it stands for")
    tokens = statement.tokens
    if place is None or tokens[statement.token_at(place.start)].token_type is not TokenType.STAR:
        return  # of the parser's own making
    for name in ("replace", "rename", "ilike"):
        if arg(own, name):
            raise statement.error(f"* {name.upper()} is not Spark SQL", place)
    index = statement.token_at(place.end - 1) + 1
    word = tokens[index].text.upper() if index < len(tokens) else ""
    leaves_out = bool(arg(own, "except"))
    if leaves_out or word == "EXCEPT":
        after = tokens[min(index + 1, len(tokens) - 1)]
        if not leaves_out or word != "EXCEPT" or after.token_type is not TokenType.L_PAREN:
            raise statement.error(
                "columns that * leaves out are written as * EXCEPT (a, b)",
                Span(tokens[min(index, len(tokens) - 1)].start, after.end + 1),
            )
    first, end = star_tokens(statement, star)
    lists = first == 0 or tokens[first - 1].token_type in _BEFORE_STAR
    ends = end >= len(tokens) or tokens[end].token_type in _BEHIND_STAR
    if isinstance(star.parent, exp.Paren) or not lists or not ends:
        raise statement.error(
            "* cannot stand here",
            place,
            hint="it is written by itself, in a select list or as an argument of a function",
        )
