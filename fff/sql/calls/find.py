"""Calls of functions that cost a request: where they stand in a statement, what their arguments are, what a NULL does.

Such a function is a table of the catalog, its arguments the keys of its lookup (`Table.function`). It is strict: where
an argument is NULL its value is NULL and it is not called. `fff.sql.calls.expand` puts the table in the place of the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from fff.catalog import Catalog, Table
from fff.display.counts import counted
from fff.errors import QueryError, Span, UnsupportedSQL
from fff.schema import Field, comparison_kind
from fff.sql.analysis.semi_joins import plain
from fff.sql.binder.names import reference_span
from fff.sql.binder.scopes import Found, SelectScope, resolve
from fff.sql.syntax.aggregates import BUILT_IN_NAMES, has_aggregate
from fff.sql.syntax.grammar import Positive
from fff.sql.syntax.literals import NotExactError, constant_of, convert
from fff.sql.syntax.statement import Node, Statement, TokenType, exp, identifier_span, operands
from fff.structs import Struct

#: Never true where what they compare is NULL, on either side.
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.ILike, exp.RegexpLike)
#: NULL where one of their operands is.
_STRICT = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, Positive, exp.Cast, exp.Not)
_CONNECTIVES = (exp.And, exp.Or, exp.Xor)


class Argument(Struct, frozen=True):
    """An argument of a call: a column of a source, a constant, NULL, or anything else that Spark has to compute."""

    kind: Literal["column", "constant", "null", "computed"]
    span: Span
    found: Found | None = None


class Call(Struct, frozen=True):
    """A call, and where it stands; `node` is the call itself, without the source's name before it."""

    node: Node
    table: Table
    span: Span
    text: str
    key: str  # the same for calls that are written alike
    places: tuple[Span, ...]  # of its arguments

    @property
    def arguments(self) -> tuple[Field, ...]:
        """What the function declares of its arguments."""
        return self.table.columns[:-1]

    @property
    def value(self) -> Field:
        """What the function declares of its value."""
        return self.table.columns[-1]

    @property
    def whole(self) -> Node:
        """The call with the source's name before it, if one is written."""
        parent = self.node.parent
        return parent if isinstance(parent, exp.Dot) else self.node


def find_calls(statement: Statement, catalog: Catalog) -> list[Call]:
    """Every call of a function of the catalog, in the order of the text.

    Raises:
        QueryError: several functions have the name, or the call cannot be read.
    """
    calls = []
    for node in statement.tree.find_all(exp.Anonymous):
        parts = _name(node)
        tables = catalog.functions(parts) if parts else []
        if tables:
            calls.append(_call(statement, node, parts, tables))
    return sorted(calls, key=lambda call: call.span.start)


def _name(node: Node) -> list[str]:
    """The parts of the function's name; none where what stands before it cannot be a source."""
    own = node.this if isinstance(node.this, str) else node.this.name
    parent = node.parent
    if not isinstance(parent, exp.Dot) or parent.expression is not node:
        return [own]
    return [parent.this.name, own] if isinstance(parent.this, exp.Identifier) else []


def _call(statement: Statement, node: Node, parts: list[str], tables: list[Table]) -> Call:
    own = identifier_span(node)
    parent = node.parent
    before = identifier_span(parent.this) if isinstance(parent, exp.Dot) and len(parts) > 1 else own
    if own is None or before is None:
        raise UnsupportedSQL(f"this call of {tables[0].full_name} cannot be read", sql=statement.sql)
    opening = statement.token_at(own.end - 1) + 1
    closing = statement.closing(opening)
    span = Span(before.start, statement.tokens[closing].end + 1)
    if len(tables) > 1:
        raise statement.error(
            f"function {parts[-1]} is ambiguous: {', '.join(sorted(one.full_name for one in tables))}",
            span,
            hint="write source.function(…)",
        )
    first = statement.token_at(before.start)
    tokens = statement.tokens[first : closing + 1]
    texts = [statement.sql[token.start : token.end + 1] for token in tokens]
    key = " ".join(
        text if token.token_type is TokenType.STRING else text.lower()
        for token, text in zip(tokens, texts, strict=True)
    )
    text = " ".join(statement.text_at(span).split())
    return Call(node, tables[0], span, text, key, _places(statement, opening, closing))


def _places(statement: Statement, opening: int, closing: int) -> tuple[Span, ...]:
    """What stands between the commas of a call's brackets."""
    if closing == opening + 1:
        return ()
    depth = statement.depths[opening] + 1
    cuts = [
        index
        for index in range(opening + 1, closing)
        if statement.tokens[index].token_type is TokenType.COMMA and statement.depths[index] == depth
    ]
    edges = zip([opening, *cuts], [*cuts, closing], strict=True)
    return tuple(statement.span(low + 1, high) for low, high in edges)


# -------------------------------------------------------------------------------------------------------------- arguments


def check_call(
    statement: Statement,
    call: Call,
    scope: SelectScope,
    calls: Mapping[int, Call],
) -> None:
    """Let no call pass that cannot be carried out; `calls` are the statement's, by the ids of their nodes.

    Raises:
        QueryError: wrong number or types of arguments, or one that names what the SELECT of the call does not read.
        UnsupportedSQL: an argument that is no value of one row.
    """
    if len(call.places) != len(call.arguments) or len(call.node.expressions) != len(call.arguments):
        wanted = ", ".join(f"{field.name} {field.type}" for field in call.arguments)
        raise statement.error(
            f"{call.table.full_name} takes {counted(len(call.arguments), 'argument')}, not {len(call.places)}",
            call.span,
            hint=f"{call.table.name}({wanted}) gives {call.value.type}",
        )
    arguments = zip(call.node.expressions, call.arguments, call.places, strict=True)
    for number, (node, field, place) in enumerate(arguments):
        inner = calls.get(id(node.expression if isinstance(node, exp.Dot) else node))
        if inner is not None:
            _check_type(statement, call, field, inner.value, place)
        else:
            argument_of(statement, call, number, scope)


def argument_of(statement: Statement, call: Call, index: int, scope: SelectScope) -> Argument:
    """What one of the arguments is; raises as `check_call` does."""
    node, field, place = call.node.expressions[index], call.arguments[index], call.places[index]
    constant = constant_of(statement, node)
    if constant is not None:
        if constant.kind == "null":
            return Argument("null", place)
        try:
            convert(constant, field.arrow)
        except NotExactError:
            raise _mismatch(statement, call, field, f"a constant of type {constant.kind}", place) from None
        return Argument("constant", place)
    resolved = plain(node, scope)
    if resolved is not None and resolved.source.scope is scope and resolved.origins is not None:
        for source, at in resolved.origins:
            assert source.table is not None, "origins are columns of web tables"
            _check_type(statement, call, field, source.table.columns[at], place)
        return Argument("column", place, resolved)
    _check_computed(statement, call, node, place, scope)
    return Argument("computed", place)


def _check_computed(statement: Statement, call: Call, node: Node, place: Span, scope: SelectScope) -> None:
    what = None
    if has_aggregate(node):
        what = "an aggregate"
    elif node.find(exp.Window):
        what = "a window function"
    elif node.find(exp.Query):
        what = "a query"
    if what is not None:
        raise statement.unsupported(
            f"an argument of {call.table.full_name} is {what}",
            place,
            hint="compute it in a query in FROM and call the function around that query",
        )
    for column in node.find_all(exp.Column):
        resolved = resolve(column, scope)
        made = resolved == "local" and column.name.lower() not in BUILT_IN_NAMES
        if made or (isinstance(resolved, Found) and resolved.source.scope is not scope):
            whose = "an outer query" if isinstance(resolved, Found) else "the select list"
            raise statement.unsupported(
                f"an argument of {call.table.full_name} names a column of {whose}",
                reference_span(column) or place,
                hint="call the function in the SELECT whose FROM has the column",
            )


def _check_type(statement: Statement, call: Call, field: Field, actual: Field, place: Span) -> None:
    if comparison_kind(actual.arrow) != comparison_kind(field.arrow):
        raise _mismatch(statement, call, field, actual.type, place)


def _mismatch(statement: Statement, call: Call, field: Field, actual: str, place: Span) -> QueryError:
    return statement.error(
        f"argument {field.name} of {call.table.full_name} is of type {field.type}, not {actual}",
        place,
        hint=f"write CAST({statement.text_at(place)} AS {field.type.upper()})",
    )


# ------------------------------------------------------------------------------------------------------------------ NULLs


def rejecting(condition: Node, calls: Mapping[int, Call]) -> frozenset[str]:
    """The keys of calls without whose values a condition cannot be true: where one is NULL the row goes."""
    node = condition.unnest()
    if isinstance(node, exp.Or):
        return frozenset.intersection(*(rejecting(part, calls) for part in operands(node)))
    if isinstance(node, exp.And):
        return frozenset.union(*(rejecting(part, calls) for part in operands(node)))
    if isinstance(node, exp.Not):
        return _rejecting_negated(node.this.unnest(), calls)
    if isinstance(node, exp.Between):
        return frozenset(
            {
                *_strict(node.this, calls),
                *_strict(node.args["low"], calls),
                *_strict(node.args["high"], calls),
            }
        )
    if isinstance(node, exp.Is):
        return (
            frozenset(_strict(node.this, calls)) if isinstance(node.expression, exp.Boolean) else frozenset()
        )
    return _compared(node, calls)


def _rejecting_negated(node: Node, calls: Mapping[int, Call]) -> frozenset[str]:
    if isinstance(node, exp.Not):
        return rejecting(node.this, calls)
    if isinstance(node, exp.Is):
        return frozenset(_strict(node.this, calls)) if isinstance(node.expression, exp.Null) else frozenset()
    if isinstance(node, exp.Between):
        return frozenset(_strict(node.this, calls))
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        return frozenset()  # nothing, not even NULL, is in a query without rows
    return _compared(node, calls)


def _compared(node: Node, calls: Mapping[int, Call]) -> frozenset[str]:
    """The calls that make a comparison NULL by being NULL, and so its negation."""
    if isinstance(node, exp.In):
        return frozenset(_strict(node.this, calls))
    if isinstance(node, _COMPARISONS):
        return frozenset({*_strict(node.this, calls), *_strict(node.expression, calls)})
    return frozenset(_strict(node, calls))


def _strict(node: Node, calls: Mapping[int, Call]) -> Iterator[str]:
    """The calls without whose values an expression is NULL."""
    node = node.unnest()
    if isinstance(node, exp.Dot):
        node = node.expression
    call = calls.get(id(node))
    if call is not None:
        yield call.key
        for part in node.expressions:
            yield from _strict(part, calls)
    elif isinstance(node, _STRICT) and not isinstance(node, _CONNECTIVES):
        for part in (node.this, node.expression):
            if isinstance(part, exp.Expr) and not isinstance(part.unnest(), _CONNECTIVES):
                yield from _strict(part, calls)
