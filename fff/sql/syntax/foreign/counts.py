"""LIMIT and OFFSET with more than a number: PERCENT, WITH TIES, BY, ROWS, LIMIT 1, 2, OFFSET before LIMIT but behind `|>`."""

from __future__ import annotations

from collections.abc import Callable

from fff.errors import QueryError, Span
from fff.sql.syntax.statement import Node, SparkParser, TokenType, exp

_ROWS = frozenset({"ROW", "ROWS", "ONLY"})


def counted(parser: SparkParser, read: Callable[[], Node | None]) -> Node | None:
    """The clause with its place, of which sqlglot keeps nothing, and whether there is more to it than its number."""
    before, word = parser._prev, parser._curr  # noqa: SLF001 - what such parsers are made of
    made = read()
    if isinstance(made, exp.Limit | exp.Offset) and word and "clause" not in made.meta:
        last = parser._prev  # noqa: SLF001 - what such parsers are made of
        more = any(made.args.get(name) for name in ("limit_options", "offset", "expressions"))
        made.meta["clause"] = (word.start, last.end + 1)
        made.meta["more"] = more or last.text.upper() in _ROWS
        made.meta["piped"] = before is not None and before.token_type is TokenType.PIPE_GT
    return made


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
