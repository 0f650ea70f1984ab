"""What to see first, as people write it: a condition over the columns of a planned block, as an engine expression."""

from __future__ import annotations

from collections import Counter

from fff.catalog import Table
from fff.dataflow.plan.expressions import Column, Expr, FunctionCall, columns_of, subexpressions
from fff.dataflow.plan.plan import BlockPlan
from fff.errors import QueryError, Span
from fff.sql.analysis.predicates import Translator
from fff.sql.binder.names import Relation, Scope, parts_of, reference_span, try_resolve
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.statement import Node, Statement, TokenType, exp, text_span

_BEFORE = "SELECT * FROM block WHERE "
_HINT = (
    "a priority compares columns with constants or columns, such as State = 'CA' or zip IN ('94704', '94705')"
)


class _Named(Relation, frozen=True):
    """A relation of a plan: its alias names it, and so does its table where no other alias has that table."""

    alone: bool = False

    def answers_to(self, qualifier: tuple[str, ...] | list[str]) -> bool:  # type: ignore[override]
        names = [part.lower() for part in qualifier]
        if names == [self.alias.lower()]:
            return True
        return self.alone and self.of_table(names)

    def of_table(self, names: list[str]) -> bool:
        """Whether `table` or `source.table` is this relation's table."""
        full = [self.table.source.lower(), self.table.name.lower()]
        return names in (full, full[1:])


def priority(text: str, block: BlockPlan) -> Expr | None:
    """The condition over the plan's columns; None when the block has not all of its columns.

    A column that several aliases have may stand without its alias where the query holds all of them equal.

    Raises:
        QueryError: not a condition that the engine can evaluate, or an ambiguous column; underlined in `text`.
    """
    try:
        return _priority(text, block)
    except QueryError as error:
        if error.sql is None or error.span is None:
            raise
        raise _shifted(error, text) from error
    except RecursionError as error:
        raise QueryError("the condition is nested too deeply") from error


def nowhere(text: str) -> QueryError:
    """What is said of a condition over columns that no block has all of."""
    return QueryError(
        f"no part of the query has all the columns of {text!r}",
        hint="a priority compares columns of the tables that are fetched",
    )


def named_columns(text: str) -> frozenset[tuple[str, ...]]:
    """The columns that a priority names, each as its lower-case parts, so that a plan can have them at hand.

    Raises:
        QueryError: not SQL at all; underlined in `text`.
    """
    try:
        tree = parse_statement(_BEFORE + text).tree
    except QueryError as error:
        if error.sql is None or error.span is None:
            raise
        raise _shifted(error, text) from error
    return frozenset(
        tuple(part.name.lower() for part in parts_of(node)) for node in tree.find_all(exp.Column)
    )


def _priority(text: str, block: BlockPlan) -> Expr | None:
    if not text.strip():
        raise QueryError("there is no condition", hint=_HINT)
    statement = parse_statement(_BEFORE + text)
    condition = _condition(statement)
    scope = _scope(block)
    # Stars and subqueries are refused below, whatever they name.
    refused = condition.find(exp.Star, exp.Query) is not None
    for node in () if refused else condition.find_all(exp.Column):
        _check_table(statement, node, scope)
        if try_resolve(statement, node, scope) is None:
            return None
    try:
        expr = Translator(statement, scope).expression(condition)
        _check_plain(expr)
    except LeftToSparkError as error:
        raise QueryError(
            f"this condition cannot be a priority: {error}",
            sql=statement.sql,
            span=text_span(condition) or _whole(statement),
            hint=_HINT,
        ) from error
    if not columns_of(expr):
        raise QueryError(
            "a priority names at least one column", sql=statement.sql, span=_whole(statement), hint=_HINT
        )
    return expr


def _check_plain(expr: Expr) -> None:
    """The eddy reads priorities over columns that equality classes hold equal, whatever width of number they are."""
    if isinstance(expr, FunctionCall):
        raise LeftToSparkError("it computes something")
    for part in subexpressions(expr):
        _check_plain(part)


def _condition(statement: Statement) -> Node:
    """The condition, if the text is that and nothing more."""
    tree = statement.tree
    where = tree.args.get("where")
    if statement.tokens[-1].token_type is TokenType.COMMA:
        raise QueryError(
            "a priority is one condition",
            sql=statement.sql,
            span=statement.span(len(statement.tokens) - 1, len(statement.tokens)),
            hint=_HINT,
        )
    others = {name for name, value in tree.args.items() if value} - {"where", "from", "from_", "expressions"}
    if not isinstance(tree, exp.Select) or where is None or others - {"kind"}:
        raise QueryError(
            "a priority is a condition and nothing more",
            sql=statement.sql,
            span=_whole(statement),
            hint=_HINT,
        )
    condition: Node = where.this
    return condition


def _scope(block: BlockPlan) -> Scope:
    """The plan's columns; of columns that share a name and an equality class, the first can be named without its alias."""
    uses = Counter(alias.table for alias in block.aliases)
    relations = []
    for ordinal, alias in enumerate(block.aliases):
        plan = block.tables[alias.table]
        source, _, name = plan.name.partition(".") if "." in plan.name else ("", "", plan.name)
        table = Table(source, name, plan.columns)
        relations.append(
            _Named(alias.name, table, ordinal, Span(0, 0), renamed=True, alone=uses[alias.table] == 1)
        )
    equal = {member: number for number, group in enumerate(block.equalities) for member in group.members}
    seen: set[tuple[str, int]] = set()
    output = []
    for relation in relations:
        for index, field in enumerate(relation.table.columns):
            column = Column(relation.ordinal, index)
            group = equal.get(column)
            if group is not None and (field.name.lower(), group) in seen:
                continue
            if group is not None:
                seen.add((field.name.lower(), group))
            output.append(column)
    return Scope(tuple(relations), tuple(output))


def _check_table(statement: Statement, node: Node, scope: Scope) -> None:
    """A table's name that several aliases answer to."""
    names = [part.name.lower() for part in parts_of(node)]
    for depth in (2, 1):
        qualifier = names[:depth]
        if len(names) <= depth or any(one.alias.lower() == qualifier[-1] for one in scope.relations):
            continue
        named = [one for one in scope.relations if isinstance(one, _Named) and one.of_table(qualifier)]
        if len(named) > 1:
            raise QueryError(
                f"{'.'.join(qualifier)} is ambiguous: {', '.join(one.alias for one in named)}",
                sql=statement.sql,
                span=reference_span(node),
                hint="write the alias before the column",
            )


def _whole(statement: Statement) -> Span:
    return Span(len(_BEFORE), len(statement.sql))


def _shifted(error: QueryError, text: str) -> QueryError:
    """The same error about `text` alone."""
    assert error.span is not None
    start, end = (
        min(max(0, offset - len(_BEFORE)), len(text)) for offset in (error.span.start, error.span.end)
    )
    return type(error)(error.message, sql=text, span=Span(start, end), hint=error.hint)
