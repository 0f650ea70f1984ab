"""What one block cannot hold, said clearly; the statement around it may hold it all the same."""

from __future__ import annotations

from fff.errors import Span, UnsupportedSQL
from fff.sql.dialect import Node, Statement


def refuse(statement: Statement, what: str, span: Span | None) -> UnsupportedSQL:
    """The error for a construct that is no part of a select-project-join block."""
    return UnsupportedSQL(f"{what} is not supported here", sql=statement.sql, span=span)


def refuse_join(statement: Statement, join: Node, first: int, end: int) -> None:
    """Let inner, cross and natural inner joins pass.

    Raises:
        UnsupportedSQL: any other join; `first` and `end` bound its words.
    """
    side, kind = (str(join.args.get(name) or "").upper() for name in ("side", "kind"))
    method = str(join.args.get("method") or "").upper()
    if side or kind not in {"", "INNER", "CROSS"} or method not in {"", "NATURAL"}:
        words = " ".join(statement.text(first, end).upper().split())
        raise refuse(statement, words, statement.span(first, end))
