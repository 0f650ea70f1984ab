"""Where SELECTs and their clauses stand among the tokens of a statement."""

from __future__ import annotations

from fff.sql.syntax.statement import Node, Statement, TokenType, arg, exp
from fff.structs import Struct, replace

#: Set operators; where a query ends that one of them follows.
_SET_WORDS = frozenset({TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT})
#: Clauses that may follow WHERE, by the token that opens them and the tree's name for them.
_CLAUSES = {
    TokenType.WHERE: "where",
    TokenType.GROUP_BY: "group",
    TokenType.HAVING: "having",
    TokenType.QUALIFY: "qualify",
    TokenType.WINDOW: "windows",
    TokenType.ORDER_BY: "order",
    TokenType.SORT_BY: "sort",
    TokenType.CLUSTER_BY: "cluster",
    TokenType.DISTRIBUTE_BY: "distribute",
    TokenType.LIMIT: "limit",
    TokenType.OFFSET: "offset",
}
#: Clauses that may stand behind a set operation, and are its own then.
_TAIL = frozenset({"order", "sort", "cluster", "distribute", "limit", "offset"})


class Region(Struct, frozen=True):
    """Where a SELECT stands: its tokens from SELECT up to but not including `end`, `depth` brackets deep."""

    first: int
    end: int
    depth: int


def regions_of(statement: Statement) -> list[Region]:
    """Every SELECT of the text, with where it ends: a closing bracket, a set operator, or the end."""
    tokens, depths = statement.tokens, statement.depths
    regions = []
    for first, token in enumerate(tokens):
        if token.token_type is not TokenType.SELECT:
            continue
        end = first + 1
        while end < len(tokens) and depths[end] >= depths[first]:
            kind = tokens[end].token_type
            starred = tokens[end - 1].token_type is TokenType.STAR
            if (
                depths[end] == depths[first]
                and kind in _SET_WORDS
                and not (starred and kind is TokenType.EXCEPT)
            ):
                break
            end += 1
        regions.append(Region(first, end, depths[first]))
    return regions


def clause_tokens(
    statement: Statement, select: Node, region: Region
) -> tuple[int | None, list[tuple[str, int]]]:
    """The token of FROM, if there is one, and the clauses behind it, each with the token that opens it, in the order of the text."""
    tokens = statement.tokens
    own = [at for at in range(region.first + 1, region.end) if statement.depths[at] == region.depth]
    start = None
    if arg(select, "from") is not None:  # the one of IS DISTINCT FROM is another word
        words = (at for at in own if tokens[at].token_type is TokenType.FROM)
        start = next((at for at in words if tokens[at - 1].token_type is not TokenType.DISTINCT), None)
    clauses: dict[str, int] = {}
    for at in own:
        name = _CLAUSES.get(tokens[at].token_type)
        if name is not None and select.args.get(name) and (start is None or at > start):
            clauses.setdefault(name, at)
    return start, list(clauses.items())


def without_tail(statement: Statement, region: Region, select: Node) -> Region:
    """The region of the last SELECT of a set operation without the clauses of that."""
    if not isinstance(select.parent, exp.SetOperation) or select.parent.expression is not select:
        return region
    for index in range(region.first + 1, region.end):
        name = _CLAUSES.get(statement.tokens[index].token_type)
        named = statement.tokens[index - 1].token_type is TokenType.DOT
        at_hand = statement.depths[index] == region.depth and not named
        if name in _TAIL and at_hand and not select.args.get(name):
            return replace(region, end=index)
    return region
