"""What SELECT and its functions do to the number of rows: groups, aggregates, and what keeps one row for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff.sql.syntax.statement import Node, arg, exp
from fff.structs import lazy_pattern

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
    any any_value bit_and bit_or bit_xor bool_and bool_or collect_union count_if count_min_sketch every first_value
    histogram_numeric last_value listagg max_by mean measure median min_by mode percentile regr_avgx
    regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy some std try_avg
    try_sum kurtosis skewness vector_avg vector_sum
    """.split()  # noqa: SIM905 - a list of words
)
#: And all that are named so, as `hll_union_agg` and `kll_sketch_agg_double` are.
_NAMED_AGGREGATE = lazy_pattern(r"\w+_agg(_bigint|_double|_float|_integer)?")
_SETS = exp.Cube | exp.Rollup | exp.GroupingSets
#: Functions that make rows, which the parser does not know as such; the others are `exp.UDTF`.
_GENERATORS = frozenset({"inline_outer", "json_tuple", "variant_explode", "variant_explode_outer"})
#: Windows of time make a row for each that a moment is in, and none for NULL, also where nothing is grouped by them.
_TIME_WINDOWS = frozenset({"window", "session_window", "window_time"})


def own_nodes(node: Node) -> Iterator[Node]:
    """The nodes under one, those of queries inside apart."""
    for part in node.walk(prune=lambda inner: isinstance(inner, exp.Query) and inner is not node):
        if part is node or not isinstance(part, exp.Query):
            yield part


def has_aggregate(node: Node) -> bool:
    """Whether a node aggregates rows; an aggregate over a window does not, nor one of a query inside."""
    return any(is_aggregate(part) for part in node.walk(prune=lambda inner: isinstance(inner, exp.Query)))


def is_aggregated(select: Node) -> bool:
    """Whether a SELECT makes groups of its rows: it says GROUP BY or HAVING, or its list has an aggregate."""
    clauses = select.args.get("group") or select.args.get("having")
    return bool(clauses) or any(map(has_aggregate, select.expressions))


def grouped_by(select: Node, is_column: Callable[[Node], bool]) -> list[Node]:
    """What a SELECT groups by, sets taken apart: for a number, an alias and ALL the items that they stand for.

    `is_column` tells whether a bare name is that of a column below, which comes before an alias. Of items of one name the
    first is meant, as in Spark.
    """
    group, items = select.args.get("group"), select.expressions
    if group is None:
        return []
    if group.args.get("all"):
        return [item.unalias() for item in items if not has_aggregate(item)]
    aliases = {item.alias.lower(): item for item in reversed(items) if isinstance(item, exp.Alias)}
    meant: list[Node] = []
    for node in grouping_expressions(group):
        place, item = ordinal(node), None
        if place is not None and 1 <= place <= len(items):
            item = items[place - 1]
        elif isinstance(node, exp.Column) and not node.table and not is_column(node):
            item = aliases.get(node.name.lower())
        meant.append(node if item is None else item.unalias())
    return meant


def grouping_expressions(group: Node) -> Iterator[Node]:
    """What stands in a GROUP BY, sets of such things taken apart."""
    for name in ("expressions", "grouping_sets", "cube", "rollup"):
        for one in group.args.get(name) or ():
            yield from _in_sets(one) if isinstance(one, _SETS) else (one.unnest(),)


def _in_sets(node: Node) -> Iterator[Node]:
    if isinstance(node, _SETS | exp.Tuple):
        for one in node.expressions:
            yield from _in_sets(one)
    else:
        yield node.unnest()


def groups_by_sets(select: Node) -> bool:
    """Whether the GROUP BY of a SELECT is of several sets of keys."""
    group = select.args.get("group")
    return group is not None and (
        any(group.args.get(name) for name in ("cube", "rollup", "grouping_sets", "totals"))
        or any(isinstance(one, _SETS) for one in group.walk())
    )


def ordinal(node: Node) -> int | None:
    """The place in the select list that a number in ORDER BY and GROUP BY means, wherever there is one."""
    bare = node.unnest()
    if isinstance(bare, exp.Neg):
        inner = ordinal(bare.this)
        return None if inner is None else -inner
    written = isinstance(bare, exp.Literal) and bare.is_int and not bare.is_string
    return int(bare.name) if written and len(bare.name) < 10 else None  # no more are of type int


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


def makes_rows(node: Node) -> bool:
    """Whether a function makes rows of a value, as `explode` does."""
    return isinstance(node, exp.UDTF) or (
        isinstance(node, exp.Anonymous) and node.name.lower() in _GENERATORS
    )


def is_row_wise(node: Node) -> bool:
    """Whether a select item certainly gives one value for each row, and looks at no other row for it.

    Values that are random or count rows (`rand()`, `monotonically_increasing_id()`) are those of some order of the rows, and
    a subquery gives one value itself. What is not known may be an aggregate or make rows.
    """
    parts = node.walk(prune=lambda inner: isinstance(inner, exp.Query))
    return not any(
        isinstance(part, exp.Window) or makes_rows(part) or is_aggregate(part) or _may_be_any(part)
        for part in parts
    )


def _may_be_any(node: Node) -> bool:
    """Whether a call is of a function of which it is not known that it gives one value for each row."""
    if not isinstance(node, exp.Anonymous):
        return False
    of_catalog = isinstance(node.parent, exp.Dot) and node.parent.expression is node
    return of_catalog or node.name.lower() not in SPARK_FUNCTIONS - _TIME_WINDOWS


def _function_name(node: exp.Func) -> str:
    return (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
