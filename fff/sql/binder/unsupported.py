"""What one block cannot hold, said clearly; the statement around it may hold it all the same."""

from __future__ import annotations

from fff.dataflow.plan.plan import JoinKind
from fff.errors import Span, UnsupportedSQL
from fff.sql.syntax.statement import Node, Statement, keyword


def refuse(statement: Statement, what: str, span: Span | None) -> UnsupportedSQL:
    """The error for a construct that is no part of a select-project-join block."""
    return statement.unsupported(f"{what} is not supported here", span)


def right_side(join: Node) -> JoinKind | None:
    """What a join makes of its right side: that of a left, semi or anti join with a condition; None in any other join."""
    side, kind = (keyword(join, name) for name in ("side", "kind"))
    conditioned = join.args.get("on") is not None or bool(join.args.get("using"))
    if side not in {"", "LEFT"} or not (conditioned or (_is_natural(join) and kind in {"", "OUTER"})):
        return None
    if kind in {"SEMI", "ANTI"}:
        return "semi" if kind == "SEMI" else "anti"
    return "left" if side and kind in {"", "OUTER"} else None


def is_mirrored(join: Node) -> bool:
    """Whether a join is a LEFT JOIN with its sides exchanged: RIGHT JOIN with a condition."""
    side, kind = (keyword(join, name) for name in ("side", "kind"))
    conditioned = join.args.get("on") is not None or bool(join.args.get("using")) or _is_natural(join)
    return conditioned and side == "RIGHT" and kind in {"", "OUTER"}


def _is_natural(join: Node) -> bool:
    return keyword(join, "method") == "NATURAL"


def join_kind(statement: Statement, join: Node, first: int, end: int) -> JoinKind:
    """How a join is run by the eddy; a RIGHT JOIN is a LEFT JOIN of its right side.

    Raises:
        UnsupportedSQL: any other join; `first` and `end` bound its words.
    """
    side, kind = (keyword(join, name) for name in ("side", "kind"))
    method = keyword(join, "method")
    one_sided = right_side(join)
    if one_sided is not None:
        return one_sided
    if is_mirrored(join):
        return "left"
    if side or kind not in {"", "INNER", "CROSS"} or method not in {"", "NATURAL"}:
        words = " ".join(statement.text(first, end).upper().split())
        raise refuse(statement, words, statement.span(first, end))
    return "inner"
