"""Rows that a statement spells out, `VALUES (1), (2)`, `range(3)`, `explode(array(1, 2))` in FROM, as tables that the engine scans.

In WHERE, `IN (VALUES (1), (2))` is a list of values, as standard SQL has it: Spark takes this for a call of a function VALUES. So they bind keys and join as any table does, without Spark. What the engine does not compute as Spark does stays in the text.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fff.catalog import ScanMethod, Table
from fff.dataflow.plan.expressions import Literal
from fff.errors import QueryError, Span
from fff.schema import ArrowType, Field, spark_type
from fff.sql.analysis.predicates import Translator
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.names import Scope
from fff.sql.scalars.coercion import LONG, VOID, is_integer
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.statement import (
    Node,
    Statement,
    TokenType,
    exp,
    identifier_span,
    quote,
)

#: So many rows of a range become a table.
MOST_ROWS = 100_000
#: Behind a SELECT of one item and nothing else.
_ENDS = frozenset({TokenType.R_PAREN, TokenType.SEMICOLON})


def spelled_out(written: Rewritten) -> Rewritten | None:
    """The text with names in the places of rows, and tables of these names; None where there are none."""
    edits: list[Edit] = []
    tables: list[Table] = []
    text = written.edited(_generated(written.statement))
    statement = text.statement
    for node in statement.tree.find_all(exp.Values, exp.Table):
        rows, edited = _rows(statement, node), None
        if isinstance(node.parent, exp.In):
            word = _word(statement, node)
            if rows is not None and rows.num_columns == 1 and word >= 0 and node.find_ancestor(exp.Where):
                edits.append(edit(statement.span(word, word + 1), ""))  # each row in brackets is a value
            continue
        name = f"rows_{len(tables) + 1}"
        if rows is not None and len(rows) <= MOST_ROWS and not text.catalog.find([name]):
            edited = _edit(statement, node, rows.column_names, name)
        if rows is not None and edited is not None:
            renamed = _alias_columns(node)
            rows = rows.rename_columns([one.name for one in renamed]) if renamed else rows
            fields = tuple(Field(one.name, spark_type(one.type), one.type) for one in rows.schema)
            tables.append(Table("", name, fields, scans=(ScanMethod(f"{name}.scan", rows),)))
            edits.append(edited)
    return text.edited(edits).beside(tables) if edits else None


def _generated(statement: Statement) -> list[Edit]:
    """What makes `SELECT * FROM explode(array(1, 2)) AS made(x)` of `SELECT explode(array(1, 2)) AS x`, wherever it stands alone."""
    tokens, edits = statement.tokens, list[Edit]()
    for at, token in enumerate(tokens[:-3]):
        opens = tokens[at + 2].token_type is TokenType.L_PAREN
        if token.token_type is not TokenType.SELECT or tokens[at + 1].text.lower() != "explode" or not opens:
            continue
        close = statement.closing(at + 2)
        if any(_is_name(statement, inside) for inside in range(at + 3, close)):
            continue  # of a column around it
        end = next((n for n in range(close + 1, len(tokens)) if tokens[n].token_type in _ENDS), len(tokens))
        named = tokens[close + 1 : end]
        if named and named[0].token_type is TokenType.ALIAS:
            named = named[1:]
        if len(named) > 1 or (named and named[0].token_type not in {TokenType.VAR, TokenType.IDENTIFIER}):
            continue
        name = named[0].text if named else "col"
        edits.append(edit(Span(token.end + 1, tokens[at + 1].start), " * FROM "))
        edits.append(edit(Span(tokens[close].end + 1, tokens[end - 1].end + 1), f" AS made({quote(name)})"))
    return edits


def _is_name(statement: Statement, at: int) -> bool:
    """Whether a token is a name, and not that of a function."""
    named = statement.tokens[at].token_type in {TokenType.VAR, TokenType.IDENTIFIER}
    return named and statement.tokens[at + 1].token_type is not TokenType.L_PAREN


def _rows(statement: Statement, node: Node) -> pa.Table | None:
    """The rows that an entry of FROM spells out; None where it does not, or where only Spark knows them."""
    translator = Translator(statement, Scope())

    def column(cells: Sequence[Node]) -> pa.Array:
        values, kinds = [], set()
        for cell in cells:
            typed = translator.value(cell)
            if not isinstance(typed.expr, Literal):
                raise LeftToSparkError("not a constant")
            values.append(typed.expr.value)
            kinds.add(typed.type)
        kind = _one_type(kinds - {VOID})
        spark_type(kind)  # ValueError: a column cannot have it, as an interval
        return pa.array(values, kind)

    def whole(cells: Sequence[Node]) -> list[int]:
        numbers = column(cells)
        if not is_integer(numbers.type) or numbers.null_count:
            raise LeftToSparkError("not a whole number")
        return list(numbers.to_pylist())

    try:
        if isinstance(node, exp.Values):
            rows = [row.expressions for row in node.expressions if isinstance(row, exp.Tuple)]
            if len(rows) < len(node.expressions) or len(set(map(len, rows))) != 1:
                return None
            columns = [column(cells) for cells in zip(*rows, strict=True)]
            return pa.table({f"col{at}": values for at, values in enumerate(columns, 1)})
        made = node.this
        if isinstance(made, exp.Anonymous) and made.name.lower() == "range" and 0 < len(made.expressions) < 4:
            numbers = range(*whole(made.expressions))
            return pa.table({"id": pa.array(numbers[: MOST_ROWS + 1], LONG)})
        if type(made) is exp.Explode and isinstance(made.this, exp.Array) and made.this.expressions:
            return pa.table({"col": column(made.this.expressions)})
        if type(made) is exp.Explode:
            elements = translator.value(made.this).expr
            if isinstance(elements, Literal) and pa.types.is_list(elements.type):
                return pa.table({"col": pa.array(elements.value or [], elements.type.value_type)})
    except (LeftToSparkError, QueryError, ValueError, pa.ArrowException):  # a name, a step of 0, …
        return None
    return None


def _one_type(kinds: set[ArrowType]) -> ArrowType:
    """The type of a column of such values; of whole numbers the widest."""
    if len(kinds) > 1 and all(map(is_integer, kinds)):
        return max(kinds, key=lambda kind: int(kind.bit_width))
    if len(kinds) != 1:
        raise LeftToSparkError("values of several types")
    return kinds.pop()


def _edit(statement: Statement, node: Node, columns: Sequence[str], name: str) -> Edit | None:
    """The name of the table in the place of the rows and their alias; None where it is not clear where they stand."""
    place = _place(statement, node)
    renamed = _alias_columns(node)
    if (
        place is None
        or (renamed and len(renamed) != len(columns))
        or len({one.lower() for one in _names(node, columns)}) < len(columns)
    ):
        return None
    first, last = place
    tokens = statement.tokens
    if not isinstance(node.parent, exp.From | exp.Join) or any(
        node.args.get(one) for one in ("pivots", "sample", "joins")
    ):
        return None
    alias = node.args.get("alias")
    if alias is None:
        return edit(statement.span(first, last + 1), name)
    span = identifier_span(alias.this) if alias.this is not None else None
    if span is None and isinstance(node, exp.Values):  # in WITH, where the parser puts a SELECT around it
        return edit(statement.span(first, last + 1), f"SELECT * FROM {name}")  # noqa: S608 - a name of ours
    if isinstance(node, exp.Values) and tokens[first - 1].token_type is TokenType.L_PAREN:
        close = statement.closing(first - 1)
        first, last = (first - 1, close) if close == last + 1 else (first, last)
    at = -1 if span is None else statement.token_at(span.start)
    if not last < at <= last + 2:
        return None
    end = statement.closing(at + 1) if renamed else at
    return edit(statement.span(first, end + 1), f"{name} AS {quote(alias.this.name)}")


def _place(statement: Statement, node: Node) -> tuple[int, int] | None:
    """The first and the last token of rows, without an alias."""
    tokens = statement.tokens
    if isinstance(node, exp.Values):
        first = last = _word(statement, node)
        for _ in node.expressions:  # each with a bracket, or a comma and a bracket, in front
            opened = last + 1 if last == first else last + 2
            if opened >= len(tokens) or tokens[opened].token_type is not TokenType.L_PAREN:
                return None
            last = statement.closing(opened)
        return None if first < 0 else (first, last)
    span = identifier_span(node.this)
    first = -1 if span is None else statement.token_at(span.start)
    if first < 0 or tokens[first + 1].token_type is not TokenType.L_PAREN:
        return None
    return first, statement.closing(first + 1)


def _word(statement: Statement, node: Node) -> int:
    """The word VALUES in front of rows; -1 where it cannot be told."""
    start = node.meta.get("word")
    return statement.token_at(start) if isinstance(start, int) else -1


def _alias_columns(node: Node) -> list[Node]:
    alias = node.args.get("alias")
    return list(alias.columns) if alias is not None else []


def _names(node: Node, columns: Sequence[str]) -> list[str]:
    return [one.name for one in _alias_columns(node)] or list(columns)
