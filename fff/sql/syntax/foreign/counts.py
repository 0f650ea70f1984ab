"""LIMIT and OFFSET with more than a number: PERCENT, WITH TIES, BY, ROWS, LIMIT 1, 2, OFFSET before LIMIT but behind `|>`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fff.errors import QueryError, Span
from fff.sql.syntax.statement import Node, TokenType, exp, parser

_PARSER = type(parser())
_LIMIT, _OFFSET = _PARSER._parse_limit, _PARSER._parse_offset  # noqa: SLF001 - sqlglot has no table of these
_ROWS = frozenset({"ROW", "ROWS", "ONLY"})


def _counted(made_by: Any, read: Callable[[], exp.Expr | None]) -> exp.Expr | None:
    """The clause with its place, of which sqlglot keeps nothing, and whether there is more to it than its number."""
    before, word = made_by._prev, made_by._curr  # noqa: SLF001 - what such parsers are made of
    made = read()
    if isinstance(made, exp.Limit | exp.Offset) and word and "clause" not in made.meta:
        last = made_by._prev  # noqa: SLF001 - what such parsers are made of
        more = any(made.args.get(name) for name in ("limit_options", "offset", "expressions"))
        made.meta["clause"] = (word.start, last.end + 1)
        made.meta["more"] = more or last.text.upper() in _ROWS
        made.meta["piped"] = before is not None and before.token_type is TokenType.PIPE_GT
    return made


def _limit(made_by: Any, this: Node | None = None, **how: bool) -> exp.Expr | None:
    return _counted(made_by, lambda: _LIMIT(made_by, this, **how))


def _offset(made_by: Any, this: Node | None = None) -> exp.Expr | None:
    return _counted(made_by, lambda: _OFFSET(made_by, this))


setattr(_PARSER, "_parse_limit", _limit)  # noqa: B010 - typed as of classes
setattr(_PARSER, "_parse_offset", _offset)  # noqa: B010 - as above


def check_count(text: str, node: Node) -> None:
    """Raises QueryError where LIMIT and OFFSET are no two clauses of one number each, in this order."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    clauses = [
        one for one in (limit, offset) if isinstance(one, exp.Limit | exp.Offset) and "clause" in one.meta
    ]
    places = [one.meta["clause"] for one in clauses if not one.meta["piped"]]
    wrong = next((one.meta["clause"] for one in clauses if one.meta["more"]), None)
    if wrong is None and places == sorted(places):
        return
    raise QueryError(
        "syntax error: LIMIT and OFFSET take one number each, in this order",
        sql=text,
        span=Span(*(wrong or places[0])),
        hint="LIMIT 10 OFFSET 20 leaves out 20 rows and gives the next 10",
    )
