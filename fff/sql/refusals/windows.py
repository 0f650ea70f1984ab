"""What stands over windows and beside aggregates, and the parameters of lambdas."""

from __future__ import annotations

from fff.errors import QueryError
from fff.sql.binder.names import qualifier_of
from fff.sql.binder.scopes import QueryTree, SelectScope
from fff.sql.refusals.generators import check_sortable, name_of, type_of
from fff.sql.syntax.aggregates import groups_by_sets, is_aggregate, own_nodes
from fff.sql.syntax.function_arities import WINDOWLESS
from fff.sql.syntax.grammar import Positive
from fff.sql.syntax.literals import constant_of
from fff.sql.syntax.spark_functions import calls_of
from fff.sql.syntax.statement import Node, Statement, TokenType, arg, exp, refused

_WINDOWLESS = frozenset(WINDOWLESS.split())
#: Functions of whole partitions in order, which choose their frames themselves.
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead)
#: Those and aggregates that say nothing of NULLs.
_OF_ALL_ROWS = (*_RANKS[:6], exp.Sum, exp.Count, exp.Avg, exp.Min, exp.Max)
_OF_ALL_VALUES = (exp.Median, exp.PercentileCont, exp.PercentileDisc)
_GROUPINGS = frozenset({"grouping", "grouping_id"})
_BOUND = frozenset({"UNBOUNDED", "CURRENT ROW"})
#: Of functions of one lambda, how many parameters it may have.
_PARAMETERS = {
    "transform": (1, 2), "filter": (1, 2), "exists": (1,), "forall": (1,), "zip_with": (2,), "map_filter": (2,),
    "transform_keys": (2,), "transform_values": (2,), "map_zip_with": (3,), "array_sort": (2,),
}  # fmt: skip


def check_windows(tree: QueryTree) -> None:
    """Raises QueryError, underlined."""
    _check_calls(tree.statement)
    for scope in tree.scopes:
        named = {one.this.name.lower() for one in scope.node.args.get("windows") or ()}
        sets = groups_by_sets(scope.node)
        for node in own_nodes(scope.node):
            if isinstance(node, exp.Window) and isinstance(
                node.this, exp.Func | exp.Filter | exp.IgnoreNulls | exp.WithinGroup
            ):
                _check_window(tree.statement, scope, node, named)
            elif isinstance(node, exp.IgnoreNulls) and isinstance(node.this, _OF_ALL_ROWS):
                raise refused(
                    tree.statement,
                    node.this,
                    f"{name_of(node.this)} takes no IGNORE NULLS",
                    "use FILTER or WHERE",
                )
            elif isinstance(node, exp.Lambda):
                _check_lambda(tree.statement, node)
            elif isinstance(node, exp.Func):
                _check_function(tree.statement, node, sets=sets)
                if isinstance(node, exp.Count):
                    _check_counted(tree.statement, scope, node)
        qualify = scope.node.args.get("qualify")
        asked = [*scope.node.expressions, qualify]
        if qualify is not None and not any(
            isinstance(one, exp.Window) for item in asked if item is not None for one in own_nodes(item)
        ):
            raise refused(tree.statement, qualify, "QUALIFY is about windows, and there is none", "use WHERE")


def _check_calls(statement: Statement) -> None:
    """Functions that are nothing over a window, and take no FILTER, no order and no DISTINCT."""
    tokens = statement.tokens
    for at in sorted(set(calls_of(statement))):
        name = tokens[at].text.lower()
        opens = at + 1 < len(tokens) and tokens[at + 1].token_type is TokenType.L_PAREN
        end = statement.closing(at + 1) if opens else -1
        word = tokens[end + 1].text.upper() if 0 < end < len(tokens) - 1 else ""
        called = at and tokens[at - 1].token_type is TokenType.DOT
        if opens and tokens[at + 2].token_type is TokenType.DISTINCT:
            word, end = "DISTINCT", at + 1
        if name in _WINDOWLESS and word in {"OVER", "FILTER", "WITHIN", "DISTINCT"} and not called:
            raise QueryError(
                f"{name} takes no {word}: it is neither an aggregate nor a function of windows",
                sql=statement.sql,
                span=statement.span(at, end + 2),
            )


def _check_window(statement: Statement, scope: SelectScope, window: Node, named: set[str]) -> None:
    alias = window.args.get("alias")
    if alias is not None and alias.name.lower() not in named:
        raise refused(statement, alias, f"WINDOW defines no {alias.name}")
    function = window.this
    while isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        function = function.this
    if isinstance(function.this, exp.Distinct):
        raise refused(statement, function.this, "no window function takes DISTINCT")
    order, spec = window.args.get("order"), window.args.get("spec")
    by = order.expressions if order is not None else []
    for part in (*(window.args.get("partition_by") or ()), *by):
        check_sortable(statement, scope, part.this if isinstance(part, exp.Ordered) else part)
    if isinstance(function, _OF_ALL_VALUES) and (spec is not None or order is not None):
        raise refused(
            statement, function, f"{name_of(function)} takes neither an order of its window nor a frame"
        )
    if spec is None:
        return
    _check_frame(statement, function, spec)
    bounds = [spec.args.get(name) for name in ("start", "end")]
    offsets = [one for one in bounds if one is not None and str(one).upper() not in _BOUND]
    if isinstance(function, _RANKS) and offsets:
        raise refused(statement, function, f"{name_of(function)} chooses its frame itself")
    if str(spec.args.get("kind")).upper() != "RANGE" or not offsets:
        return
    if len(by) != 1:
        raise refused(statement, window, "a RANGE of values needs an ORDER BY of one expression")
    key = by[0].this.unnest() if isinstance(by[0], exp.Ordered) else by[0]
    kind = type_of(key, scope) if isinstance(key, exp.Column) else None
    if kind is not None and str(kind) in {"string", "bool", "binary"}:
        raise refused(
            statement, key, f"a RANGE of values needs numbers or moments, and {key.name} is neither"
        )


#: What is no call in the text.
_NO_CALLS = (exp.Cast, exp.And, exp.Or, exp.Interval, Positive)


def _check_frame(statement: Statement, function: Node, spec: Node) -> None:
    """The bounds of a frame: constants, the lower one first; of ROWS whole numbers."""
    places: list[int | None] = []
    for name, never in (("start", "FOLLOWING"), ("end", "PRECEDING")):
        bound, side = spec.args.get(name), str(spec.args.get(f"{name}_side")).upper()
        places.append(None)
        if not isinstance(bound, exp.Expr):
            if str(bound).upper() == "UNBOUNDED" and side == never:
                raise refused(statement, function, f"a frame cannot {name} with UNBOUNDED {never}")
            continue
        if bound.find(exp.Column) is not None:
            raise refused(statement, bound, "the bound of a frame is a constant")
        called = next((one for one in bound.find_all(exp.Func) if not isinstance(one, _NO_CALLS)), None)
        if called is not None:
            raise refused(statement, called, "the bound of a frame calls no function")
        bare, constant = bound.unnest(), constant_of(statement, bound)
        if constant is not None and constant.kind == "integer" and not isinstance(bare, exp.Cast):
            places[-1] = int(str(constant.value)) * (1 if side == "FOLLOWING" else -1)
        elif str(spec.args.get("kind")).upper() == "ROWS" and (
            isinstance(bare, exp.Literal | exp.Null)
            or (isinstance(bare, exp.Cast) and not bare.to.is_type("int"))
        ):
            raise refused(statement, bound, "ROWS are counted by whole numbers of type int")
    start, end = places
    if start is not None and end is not None and start > end:
        raise refused(
            statement, function, "the frame would end before it begins: the lower bound stands first"
        )


def _check_function(statement: Statement, node: Node, *, sets: bool) -> None:
    name = name_of(node)
    if name in _GROUPINGS and not sets:
        raise refused(statement, node, f"{name} needs GROUP BY with ROLLUP, CUBE or GROUPING SETS")
    if not is_aggregate(node):
        return
    inner = next((one for one in own_nodes(node) if isinstance(one, exp.Window)), None)
    if inner is not None:
        raise refused(
            statement,
            inner.this,
            "a window function cannot stand inside an aggregate",
            "compute it in a query in FROM",
        )
    around = node.parent
    while isinstance(around, exp.Expr) and not isinstance(around, exp.Query | exp.Filter):
        around = around.parent
    if isinstance(around, exp.Filter) and any(one is node for one in around.expression.walk()):
        raise refused(statement, node, "FILTER takes no aggregate")


def _check_counted(statement: Statement, scope: SelectScope, count: Node) -> None:
    """`count(t.*)` counts rows in which no column is NULL, where people mean `count(*)`."""
    counted = count.this.expressions if isinstance(count.this, exp.Distinct) else [count.this]
    star = counted[0] if len(counted) == 1 and not count.expressions else None
    if not isinstance(star, exp.Column) or not isinstance(star.this, exp.Star) or arg(star.this, "except"):
        return
    if any(one.answers_to(qualifier_of(star)) for one in scope.sources if not one.hidden):
        what = f"[INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT] count takes no {star.sql('spark')}"
        raise refused(statement, count, what, "use count(*) for all rows, or name the columns")


def _check_lambda(statement: Statement, node: Node) -> None:
    call = node.parent
    if not isinstance(call, exp.Func):
        return
    name = name_of(call)
    parameters, numbers = len(node.expressions), _PARAMETERS.get(name, ())
    if name in {"aggregate", "reduce"}:
        merge = next(one for one in call.iter_expressions() if isinstance(one, exp.Lambda))
        name, numbers = "aggregate", (2,) if merge is node else (1,)
    if not numbers or parameters in numbers:
        return
    takes = " or ".join(map(str, numbers))
    raise refused(
        statement,
        node,
        f"{name} takes a function of {takes} parameter{'' if takes == '1' else 's'}, not {parameters}",
    )
