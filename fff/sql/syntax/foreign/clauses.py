"""The clauses of a query in the order of Spark's grammar, where sqlglot takes them in any.

    FROM, joins, LATERAL VIEW, WHERE, GROUP BY, HAVING, QUALIFY     of a SELECT
    ORDER BY, CLUSTER BY, DISTRIBUTE BY, SORT BY, LIMIT, OFFSET     of any query; of one in front of UNION in brackets only

WINDOW stands among them, anywhere between HAVING and LIMIT. Of a clause that stood elsewhere the tree would know, and who
looks for it in the text would not.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TypeAlias, TypeVar

from fff.errors import QueryError
from fff.sql.syntax.statement import Node, SparkParser, Token, TokenType, exp, token_span
from fff.structs import Struct

_Made = TypeVar("_Made", bound="Node | None")
#: What reads a clause, as the parser has it.
_Reader: TypeAlias = "Callable[[SparkParser], tuple[str, Node | list[Node] | None]]"

#: By the tree's names: the first place in the order that a clause may have, and the last.
_PLACES = {
    "from_": (0, 0),
    **dict.fromkeys(("joins", "sample"), (1, 1)),
    "laterals": (2, 2),
    "where": (3, 3),
    "group": (4, 4),
    "having": (5, 5),
    "qualify": (6, 6),
    "windows": (6, 10),
    "order": (7, 7),
    "cluster": (8, 8),
    "distribute": (9, 9),
    "sort": (10, 10),
    "limit": (11, 11),
    "offset": (12, 12),
}
_OF_ANY_QUERY = _PLACES["order"][0]
#: Of these, one, or DISTRIBUTE BY and SORT BY.
_ORDERS = ("order", "cluster", "distribute", "sort")
#: What FROM, TABLE and VALUES without a SELECT do not go on with.
OF_A_SELECT = frozenset({TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.QUALIFY})


class _Clause(Struct, frozen=True):
    key: str
    word: Token  # that opens it

    @property
    def shown(self) -> str:
        if self.word.token_type is TokenType.COMMA:
            return "a comma"
        return {"joins": "JOIN", "laterals": "LATERAL VIEW"}.get(self.key, self.word.text.upper())

    @property
    def of_select(self) -> bool:
        return _PLACES[self.key][1] < _OF_ANY_QUERY

    def refused(self, parser: SparkParser, message: str, hint: str) -> QueryError:
        message = f"syntax error: {self.shown} {message}"
        return QueryError(message, sql=parser.sql, span=token_span(self.word), hint=hint)


def opened(node: _Made, word: Token) -> _Made:
    """The same node with the word that opens it, of which sqlglot keeps nothing."""
    if node is not None and not isinstance(node, exp.Fetch):  # which is refused in any place
        node.meta["opens"] = word
    return node


def noted(read: _Reader) -> _Reader:
    """The same reader, which notes where a clause begins."""

    def note(parser: SparkParser) -> tuple[str, Node | list[Node] | None]:
        word = parser._curr  # noqa: SLF001 - what such parsers are made of
        key, made = read(parser)
        for node in made[:1] if isinstance(made, list) else [made]:
            opened(node, word)
        return key, made

    return note


def check_order(parser: SparkParser, query: Node, began: int) -> Token | None:
    """The word of the last clause that a query can have in brackets only where it goes on.

    Raises QueryError where the clauses stand in another order, or, from `began` on, behind what is no SELECT.
    """
    clauses = _clauses(query)
    for first, later in combinations(clauses, 2):
        if _PLACES[first.key][0] > _PLACES[later.key][1]:
            hint = f"write it in front of {first.shown}"
            if first.key == "laterals":
                hint = "make a query in FROM of what stands before: FROM (SELECT … LATERAL VIEW …) q JOIN …"
            raise later.refused(parser, f"stands behind {first.shown}", hint)
        together = {first.key, later.key}
        if together <= set(_ORDERS) and together != {"distribute", "sort"}:
            raise later.refused(parser, f"cannot stand beside {first.shown}", "keep one of them")
    if isinstance(query, exp.Select) and "from_" not in query.args:
        for clause in clauses:
            if clause.key in ("joins", "sample"):
                raise clause.refused(
                    parser, "stands behind FROM, and there is none", "write FROM and a table before it"
                )
    piped = query.meta.get("piped")
    for clause in clauses if piped or not isinstance(query, exp.Select) else ():
        joins = not piped and clause.key in ("joins", "sample", "laterals")
        if clause.of_select and clause.word.start > began and not joins:
            raise _no_select(parser, clause)
    leads = "from_" in query.args and query.args["from_"].meta.get("leads")
    return (
        clauses[-1].word if clauses and not leads and _PLACES[clauses[-1].key][0] >= _OF_ANY_QUERY else None
    )


def check_bare(parser: SparkParser) -> None:
    """Raises QueryError where FROM without SELECT goes on with what a SELECT has."""
    word = parser._curr  # noqa: SLF001 - what such parsers are made of
    if word.token_type in OF_A_SELECT:
        raise _no_select(parser, _Clause("where", word))


def check_piped(parser: SparkParser, select: Node) -> None:
    """Raises QueryError where a SELECT behind a pipe has more than a list: what it reads stands in front of it."""
    for clause in _clauses(select):
        if clause.of_select and clause.key != "group":  # of which Spark tells more
            hint = "leave it out" if clause.key == "from_" else f"write |> {clause.shown} …"
            raise clause.refused(parser, "cannot stand in a SELECT behind |>", hint)


def check_ended(parser: SparkParser, word: Token) -> None:
    """Raises QueryError: a query goes on behind a clause, opened by this word, that ends it."""
    goes_on = _Clause("", parser._curr)  # noqa: SLF001 - what such parsers are made of
    hint = f"put brackets around the query that has {word.text.upper()}"
    raise goes_on.refused(parser, f"stands behind {word.text.upper()}", hint)


def _no_select(parser: SparkParser, clause: _Clause) -> QueryError:
    hint = f"begin with SELECT * FROM; behind a pipe write |> {clause.shown} …"
    return clause.refused(parser, "belongs to a SELECT, and there is none", hint)


def _clauses(query: Node) -> list[_Clause]:
    """The clauses of a query as they stand in the text."""
    found = []
    for key in _PLACES:
        made = query.args.get(key)
        nodes = made if isinstance(made, list) else [made]
        found += [_Clause(key, one.meta["opens"]) for one in nodes if one and "opens" in one.meta]
    return sorted(found, key=lambda clause: clause.word.start)
