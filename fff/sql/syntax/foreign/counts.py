"""LIMIT and OFFSET with more than a number: PERCENT, WITH TIES, BY, ROWS, LIMIT 1, 2."""

from __future__ import annotations

from collections.abc import Callable

from fff.errors import QueryError, Span
from fff.sql.syntax.statement import Node, SparkParser, exp

_ROWS = frozenset({"ROW", "ROWS", "ONLY"})


def counted(parser: SparkParser, read: Callable[[], Node | None]) -> Node | None:
    """The clause with its place, of which sqlglot keeps nothing, and whether there is more to it than its number."""
    word = parser._curr  # noqa: SLF001 - what such parsers are made of
    made = read()
    if isinstance(made, exp.Limit | exp.Offset) and word and "clause" not in made.meta:
        last = parser._prev  # noqa: SLF001 - what such parsers are made of
        more = any(made.args.get(name) for name in ("limit_options", "offset", "expressions"))
        made.meta["clause"] = (word.start, last.end + 1)
        made.meta["more"] = more or last.text.upper() in _ROWS
    return made


def check_count(text: str, node: Node) -> None:
    """Raises QueryError where LIMIT or OFFSET is more than a number."""
    for name in ("limit", "offset"):
        one = node.args.get(name)
        if isinstance(one, exp.Limit | exp.Offset) and one.meta.get("more"):
            raise QueryError(
                "syntax error: LIMIT and OFFSET take one number each",
                sql=text,
                span=Span(*one.meta["clause"]),
                hint="LIMIT 10 OFFSET 20 leaves out 20 rows and gives the next 10",
            )
