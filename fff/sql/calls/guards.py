"""For which rows the value of a call matters: those for which no other side of an OR, and no CASE, has decided already."""

from __future__ import annotations

from collections.abc import Sequence

from fff.errors import Span
from fff.sql.binder.scopes import Found, SelectScope, resolve
from fff.sql.binder.select_text import SelectText
from fff.sql.calls.find import Call
from fff.sql.syntax.aggregates import has_aggregate
from fff.sql.syntax.spark_functions import arguments_of
from fff.sql.syntax.statement import Node, Statement, TokenType, exp
from fff.structs import Struct


class Guard(Struct, frozen=True):
    """Conditions without calls: a call's value matters where none of the first is true, and the last one is, if there is one.

    They are looked at in this order, so that one that would fail is not where one before it holds.
    """

    passed: tuple[str, ...]
    needed: str = ""

    def over(self, value: str) -> str:
        """The value where the call's matters, else NULL."""
        branches = "".join(f"WHEN ({one}) THEN NULL " for one in self.passed)
        return f"CASE {branches}{f'WHEN ({self.needed}) THEN' if self.needed else 'ELSE'} {value} END"


def needed_where(text: SelectText, scope: SelectScope, every: Sequence[Call], call: Call) -> Guard | None:
    """For which rows a call's value matters; None where it may for all.

    `every` are the calls of the SELECT: one that stands in several places matters wherever one of them does.
    """
    if sum(other.key == call.key for other in every) > 1:
        return None
    return _beside_or(text, scope, every, call) or _in_case(text, scope, every, call)


def _beside_or(text: SelectText, scope: SelectScope, every: Sequence[Call], call: Call) -> Guard | None:
    """`a OR f(x)` in WHERE: where `a` is true, `f(x)` is nothing to it."""
    for condition in text.conditions:
        place = condition.span
        if place is None or not place.start <= call.span.start < place.end or condition.node is None:
            continue
        if not isinstance(condition.node.unnest(), exp.Or) or not _own_columns(condition.node, scope):
            return None
        sides = [
            side
            for side in _split(text.statement, place, TokenType.OR)
            if not any(side.start <= other.span.start < side.end for other in every)
        ]
        if not sides:
            return None
        return Guard(tuple(_sql(text, side) for side in sides))
    return None


def _in_case(text: SelectText, scope: SelectScope, every: Sequence[Call], call: Call) -> Guard | None:
    """`CASE WHEN a THEN f(x) …`: only where `a` is true; `CASE WHEN a THEN 1 ELSE f(x) END`: only where it is not."""
    at: Node | None = call.whole
    while at is not None and at is not text.select:
        above = at.parent
        otherwise = isinstance(above, exp.Case) and above.args.get("default") is at
        around = above.parent if isinstance(above, exp.If) else None
        case = above if otherwise else around if isinstance(around, exp.Case) else None
        if case is not None and (otherwise or (above is not None and above.args.get("true") is at)):
            branches: list[Node] = case.args["ifs"]
            before = len(branches) if otherwise else next(n for n, one in enumerate(branches) if one is above)
            places = [_sql(text, place) for place in reversed(_whens(text.statement, call))]
            if case.this is not None or len(places) != before + (not otherwise):
                return None
            known = [_is_known(one.this, scope, every) for one in branches[: len(places)]]
            passed = tuple(one for one, sure in zip(places[:before], known, strict=False) if sure)
            if otherwise:
                return Guard(passed) if passed else None
            return Guard(passed, places[-1]) if known[-1] else None
        if isinstance(above, exp.If) and case is None and above.this is not at:
            condition = _first_argument(text.statement, call)
            if condition is None or not _is_known(above.this, scope, every):
                return None
            return Guard((), condition) if above.args.get("true") is at else Guard((condition,))
        at = above
    return None


def _first_argument(statement: Statement, call: Call) -> str | None:
    """The condition of the nearest `if(a, …, …)` around a call."""
    inside = statement.token_at(call.span.start)
    for at in range(inside - 1, 0, -1):
        if statement.tokens[at].text.lower() == "if" and statement.closing(at + 1) > inside:
            spans = arguments_of(statement, at)
            return None if spans is None else statement.text(*spans[0])
    return None


def _is_known(condition: Node, scope: SelectScope, every: Sequence[Call]) -> bool:
    """Whether a condition is without calls, and is one of rows."""
    held = any(part is other.node for part in condition.walk() for other in every)
    return not held and not has_aggregate(condition) and _own_columns(condition, scope)


def _own_columns(condition: Node, scope: SelectScope) -> bool:
    """Whether a condition names columns of the SELECT's sources and nothing else, and holds no query and no window."""
    if condition.find(exp.Query, exp.Window) is not None:
        return False
    resolved = [resolve(column, scope) for column in condition.find_all(exp.Column)]
    return all(isinstance(one, Found) and one.source.scope is scope for one in resolved)


def _split(statement: Statement, place: Span, kind: TokenType) -> list[Span]:
    """Cut a condition at a connective of its outermost level, brackets around all of it apart."""
    types = [token.token_type for token in statement.tokens]
    first, end = statement.tokens_at(place)
    while types[first] is TokenType.L_PAREN and statement.closing(first) == end - 1:
        first, end = first + 1, end - 1
    cuts, cases = [], 0
    for index in range(first, end):
        cases += (types[index] is TokenType.CASE) - (types[index] is TokenType.END and cases > 0)
        if types[index] is kind and not cases and statement.depths[index] == statement.depths[first]:
            cuts.append(index)
    edges = zip([first, *(cut + 1 for cut in cuts)], [*cuts, end], strict=True)
    return [statement.span(*edge) for edge in edges]


def _whens(statement: Statement, call: Call) -> list[Span]:
    """What stands between WHEN and THEN before a call, in the same CASE, the nearest first."""
    tokens, depths = statement.tokens, statement.depths
    index = statement.token_at(call.span.start)
    depth, inner, then = depths[index], 0, -1
    places = []
    while index > 0 and inner >= 0:
        index -= 1
        kind = tokens[index].token_type
        depth = min(depth, depths[index])
        if depths[index] > depth:
            continue
        inner += (kind is TokenType.END) - (kind is TokenType.CASE)
        if inner == 0 and kind is TokenType.THEN and then < 0:
            then = index
        elif inner == 0 and kind is TokenType.WHEN and then >= 0:
            places.append(statement.span(index + 1, then))
            then = -1
    return places


def _sql(text: SelectText, place: Span) -> str:
    return text.statement.text_at(place)
