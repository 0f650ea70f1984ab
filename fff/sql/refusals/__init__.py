"""What Spark would refuse in a statement for its shape, told before the first request; only what is certain is told.

In: the tree of queries of a statement (`fff.sql.binder.scopes.QueryTree`).
Out: nothing, or a QueryError that underlines the mistake; what only Spark can judge it says as soon as it is up.

    arguments     Arguments and operands of types that Spark never takes there
    clauses       Digits, parts of moments, sizes of samples and the like that cannot be
    constants     Arguments that have to be constants, or of one type with others
    fields        Fields of columns that have none
    generators    Functions that make several rows or columns, out of place or with too many names.
    patterns      Constant patterns that are no regular expressions
    pivots        Columns that PIVOT and UNPIVOT name, and that nothing in FROM has
    shapes        Places of columns in ORDER BY and GROUP BY, widths and types of set operations, names of columns.
    texts         Schemas, formats and constants of days and moments that cannot be read
    types/        The types of expressions, and what Spark says of them.
    windows       What stands over windows and beside aggregates, and the parameters of lambdas.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from fff.sql.binder.scopes import QueryTree
from fff.sql.refusals.clauses import check_clauses
from fff.sql.refusals.fields import check_fields
from fff.sql.refusals.generators import check_generators
from fff.sql.refusals.patterns import check_patterns
from fff.sql.refusals.pivots import check_pivots
from fff.sql.refusals.shapes import check_shapes
from fff.sql.refusals.windows import check_windows
from fff.sql.syntax.statement import TokenType

__all__ = ["check_refusals"]


def check_refusals(tree: QueryTree) -> None:
    """Raises QueryError for what Spark would certainly refuse; pipes, which the parser writes anew, are left to Spark."""
    if any(token.token_type is TokenType.PIPE_GT for token in tree.statement.tokens):
        return
    check_patterns(tree)
    check_clauses(tree)
    check_shapes(tree)
    check_windows(tree)
    check_generators(tree)
    check_fields(tree)
    check_pivots(tree)
