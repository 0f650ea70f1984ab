"""What functions do to the number of rows: aggregates, and what keeps one row for each row."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fff.sql.syntax.statement import Node, arg, exp

#: Names that Spark resolves although no table has them.
BUILT_IN_NAMES = frozenset(
    """
    grouping__id current_user user session_user current_date current_timestamp current_time
    localtimestamp current_catalog current_database current_schema
    """.split()  # noqa: SIM905 - a list of words
)
#: Spark's aggregates that the parser does not know as such.
_AGGREGATES = frozenset(
    """
    any bit_and bit_or bit_xor bool_and bool_or collect_union count_if count_min_sketch every first_value
    histogram_numeric last_value listagg max_by mean measure median min_by mode percentile regr_avgx
    regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy some std try_avg
    try_sum kurtosis skewness vector_avg vector_sum
    """.split()  # noqa: SIM905 - a list of words
)
#: And all that are named so, as `hll_union_agg` and `kll_sketch_agg_double` are.
_NAMED_AGGREGATE = re.compile(r"\w+_agg(_bigint|_double|_float|_integer)?")
#: Select lists made of these give exactly one row for each row of the block.
_ROW_WISE = (
    *(exp.Alias, exp.Binary, exp.Unary, exp.Between, exp.Boolean, exp.Case, exp.Cast),
    *(exp.Coalesce, exp.Column, exp.Concat, exp.DataType, exp.DataTypeParam, exp.Identifier, exp.If),
    *(exp.In, exp.Length, exp.Literal, exp.Lower, exp.Null, exp.Placeholder, exp.Round),
    *(exp.Abs, exp.Star, exp.Substring, exp.Trim, exp.Upper, exp.Var),
)


def own_nodes(node: Node) -> Iterator[Node]:
    """The nodes under one, those of queries inside apart."""
    for part in node.walk(prune=lambda inner: isinstance(inner, exp.Query) and inner is not node):
        if part is node or not isinstance(part, exp.Query):
            yield part


def has_aggregate(node: Node) -> bool:
    """Whether a node aggregates rows; an aggregate over a window does not, nor one of a query inside."""
    return any(is_aggregate(part) for part in node.walk(prune=lambda inner: isinstance(inner, exp.Query)))


def is_aggregate(node: Node) -> bool:
    """Whether a node is itself an aggregate of rows, and not one over a window."""
    if isinstance(node, exp.Func) and not isinstance(node, exp.AggFunc):
        name = _function_name(node)
        if name not in _AGGREGATES and not _NAMED_AGGREGATE.fullmatch(name):
            return False
    elif not isinstance(node, exp.AggFunc) and not _is_any(node):
        return False
    over = node.parent
    while isinstance(over, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        over = over.parent
    return not isinstance(over, exp.Window)


def _is_any(node: Node) -> bool:
    """Whether a node is the aggregate `any(x)`, and not the ANY of `LIKE ANY (x, y)` or of a comparison with a query."""
    likes = isinstance(node.parent, exp.Like | exp.ILike) and node.parent.expression is node
    return isinstance(node, exp.Any) and isinstance(node.this, exp.Paren) and not likes


def counts_rows(star: Node) -> bool:
    """Whether a star is that of `count(*)`, which means rows; in any other place it means columns."""
    count = star.parent
    return isinstance(count, exp.Count) and not count.expressions and not arg(star, "except")


def is_row_wise(node: Node) -> bool:
    """Whether a select item certainly gives one value for each row of the block; a subquery in it gives one itself."""
    parts = node.walk(prune=lambda inner: isinstance(inner, exp.Query))
    return all(isinstance(part, (*_ROW_WISE, exp.Subquery)) for part in parts)


def _function_name(node: exp.Func) -> str:
    return (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
