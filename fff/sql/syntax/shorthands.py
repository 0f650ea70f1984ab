"""What the parser, or those who read its trees, know only written out.

`TABLE t` as `SELECT * FROM t`, `VALUES (1)` as `SELECT * FROM VALUES (1)`, either before `|>` as `FROM …`, `|> UNION SELECT …` as
`|> UNION (SELECT …)`, with or without the pipe, `|> DROP a` as `|> SELECT * EXCEPT (a)`, `FROM t SELECT a` as `SELECT a FROM t`, `FROM LATERAL t` as `FROM t`,
`(SELECT a FROM t) LIMIT 2` as `SELECT a FROM t LIMIT 2`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from fff.errors import Span
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.foreign.clauses import OF_A_SELECT
from fff.sql.syntax.only_queries import is_query
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.statement import (
    Statement,
    Token,
    TokenType,
    depths_of,
    exp,
    identifier_span,
    qualified,
    token_span,
    tokenize,
)
from fff.structs import lazy_pattern

#: Behind these a query begins.
_BEFORE_A_QUERY = frozenset(
    {
        *(TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.ALL, TokenType.DISTINCT),
        *(TokenType.L_PAREN, TokenType.SEMICOLON),
    }
)
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_RELATION = _NAMES | {TokenType.L_PAREN, TokenType.VALUES, TokenType.RANGE}
_SETS = frozenset({TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT})
#: What a join begins with.
JOINS = frozenset(
    {
        *(TokenType.JOIN, TokenType.INNER, TokenType.CROSS, TokenType.NATURAL, TokenType.LEFT),
        *(TokenType.RIGHT, TokenType.FULL, TokenType.SEMI, TokenType.ANTI),
    }
)
_BEFORE_AN_ENTRY = frozenset({TokenType.FROM, TokenType.JOIN, TokenType.COMMA, TokenType.L_PAREN})
_ENDS_A_ROW = frozenset({TokenType.R_PAREN, TokenType.NUMBER, TokenType.STRING, TokenType.NULL})
_BEGIN_A_QUERY = frozenset({TokenType.SELECT, TokenType.FROM, TokenType.VALUES})
_BEGIN_BRACKETS = _BEGIN_A_QUERY | {TokenType.TABLE, TokenType.WITH}
_COUNTS = frozenset({TokenType.LIMIT, TokenType.OFFSET})
_ALL = "(SELECT * FROM "
_PART = r"(?:[^\W\d]\w*|`(?:[^`]|``)+`)"
_NAME = lazy_pattern(rf"{_PART}(?:\.{_PART})*")
_TAIL = frozenset(
    {
        *(TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY),
        *(TokenType.LIMIT, TokenType.OFFSET),
    }
)
#: What ends a SELECT behind FROM, and its list.
_ENDS = _SETS | {TokenType.PIPE_GT, TokenType.SEMICOLON}
#: Where a query behind `|> UNION` ends, if no bracket does it: ORDER BY and LIMIT are of all that stands before.
_BEHIND_A_QUERY = _ENDS | _TAIL
_MORE = frozenset({TokenType.SELECT, TokenType.FROM})
_BEHIND_A_LIST = _TAIL | OF_A_SELECT | {TokenType.LATERAL, TokenType.WINDOW}


def without_shorthands(sql: str) -> Edited:
    """A text without what the parser does not know, and where its parts come from. Raises QueryError where it has no tokens."""
    text = Edited.of(sql)
    tokens = tokenize(sql)
    while around := _around_all(tokens):
        text = text.edited(around)
        tokens = tokenize(text.sql)
    edits = []
    depths = depths_of(tokens)
    if tokens and tokens[0].token_type is TokenType.VALUES:
        outside = [token.token_type for token, depth in zip(tokens, depths, strict=True) if not depth]
        first = next((kind for kind in outside if kind in _SETS | OF_A_SELECT), None)
        bare = TokenType.PIPE_GT in outside or first in OF_A_SELECT
        edits.append(edit(Span(tokens[0].start, tokens[0].start), "FROM " if bare else "SELECT * FROM "))
    for at, token in enumerate(tokens[:-1]):
        if token.token_type is TokenType.LATERAL and at and tokens[at - 1].token_type is TokenType.FROM:
            if tokens[at + 1].token_type in _RELATION:  # in front of which there is nothing to name
                edits.append(edit(Span(token.start, token.end + 1), ""))
            continue
        if token.token_type is TokenType.VALUES and at and tokens[at - 1].token_type is TokenType.L_PAREN:
            edits += _rows_alone(tokens, depths, at)
        if token.token_type is not TokenType.TABLE or tokens[at + 1].token_type is TokenType.L_PAREN:
            continue
        before = tokens[at - 1].token_type if at else TokenType.SEMICOLON
        with_ = before is TokenType.R_PAREN and tokens[0].token_type is TokenType.WITH
        called = before is TokenType.L_PAREN and at > 1 and tokens[at - 2].token_type in _NAMES
        if (before in _BEFORE_A_QUERY or with_) and not called:
            behind = next(
                (
                    one
                    for one in range(at + 2, len(tokens))
                    if tokens[one].token_type is not TokenType.DOT
                    and tokens[one - 1].token_type is not TokenType.DOT
                ),
                len(tokens),
            )
            follows = tokens[behind].token_type if behind < len(tokens) else None
            bare = before in {TokenType.SEMICOLON, TokenType.L_PAREN} and follows is TokenType.PIPE_GT
            bare = bare or follows in OF_A_SELECT  # which is told as wrong
            edits.append(edit(Span(token.start, token.end + 1), "FROM" if bare else "SELECT * FROM"))
    text = text.edited(edits) if edits else text
    brackets = _bracketed(tokenize(text.sql))
    text = text.edited(brackets) if brackets else text
    turned = _turned(tokenize(text.sql)) if "from" in text.sql.lower() else []
    return text.edited(turned) if turned else text


def _rows_alone(tokens: Sequence[Token], depths: Sequence[int], at: int) -> list[Edit]:
    """Brackets around the rows that these brackets begin with, where they are of FROM and go on with a join."""
    if tokens[at - 2].token_type not in _BEFORE_AN_ENTRY:
        return []
    inside = [*range(at + 1, _end(tokens, depths, at, _BEHIND_A_QUERY))]
    inside = [one for one in inside if depths[one] == depths[at]]
    if all(tokens[one].token_type is not TokenType.JOIN for one in inside):
        return []
    kinds = [token.token_type for token in tokens]
    end = next(
        one
        for one in inside
        if kinds[one] is TokenType.ALIAS
        or (kinds[one] in _NAMES and kinds[one - 1] in _ENDS_A_ROW)
        or kinds[one] is TokenType.JOIN
        or (kinds[one] in JOINS and kinds[one + 1] is not TokenType.L_PAREN)
    )
    start, stop = tokens[at].start, tokens[end - 1].end + 1
    return [edit(Span(start, start), "("), edit(Span(stop, stop), ")")]


def _around_all(tokens: Sequence[Token]) -> list[Edit]:
    """No brackets around a whole statement, or around all of it but WITH, LIMIT and OFFSET.

    Where the query in them has a LIMIT itself, it becomes one in FROM: `SELECT * FROM (SELECT … LIMIT 5) LIMIT 2`.
    """
    kinds = [token.token_type for token in tokens]
    if not kinds or kinds[0] not in {TokenType.L_PAREN, TokenType.WITH}:
        return []
    depths, end, first = depths_of(tokens), len(kinds), 0
    while kinds[end - 1] is TokenType.SEMICOLON:
        end -= 1
    flat = [at for at in range(end) if not depths[at]]
    if kinds[0] is TokenType.WITH:
        after = (at for at in flat[1:] if kinds[at - 1] is TokenType.R_PAREN)
        first = next((at for at in after if kinds[at] is TokenType.L_PAREN), 0)
    opener = next((at for at in range(first, end) if kinds[at] is not TokenType.L_PAREN), first)
    close = next((at for at in flat if at > first), end)
    if opener == first or kinds[opener] not in _BEGIN_BRACKETS or close == end:
        return []
    inside = {kinds[at] for at in range(first, close) if depths[at] == 1}
    behind = [kinds[at] for at in flat if at > close]
    if first and kinds[first + 1] is TokenType.WITH:
        return []
    if behind and (
        behind[0] not in _COUNTS or len(behind) == 1 or _ENDS & {*behind} or TokenType.PIPE_GT in inside
    ):
        return []
    opened, closed = (Span(tokens[at].start, tokens[at].end + 1) for at in (first, close))
    if behind and inside & _COUNTS:
        return [edit(Span(opened.start, opened.start), "SELECT * FROM ")]
    return [edit(opened, ""), edit(closed, " " if behind else "")]


def plain_name(text: str, tables: Collection[str] = ()) -> str | None:
    """The name that a text says, quoted where it has to be; None where it says none, or before it no table of these."""
    parts = re.findall(_PART, text) if _NAME.fullmatch(text) else ()
    names = [one[1:-1].replace("``", "`") if one[0] == "`" else one for one in parts]
    return qualified(*names) if len(names) == 1 or (names and names[-2].lower() in tables) else None


def entry_edits(statement: Statement) -> list[Edit]:
    """Queries in the place of other entries of FROM that an alias names anew, as which they hide neither keys nor joins.

    `t AS q(x, y)` is `(SELECT * FROM t) AS q(x, y)`, and `(a JOIN b) AS q` is `(SELECT * FROM a JOIN b) AS q`.
    """
    tree, tokens = statement.tree, statement.tokens
    lists, brackets = list[Edit](), list[Edit]()
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}  # whose columns are known, however they recur
    for node in tree.find_all(exp.Table, exp.Subquery):
        alias = node.args.get("alias") or exp.TableAlias()
        place = None if alias.this is None else identifier_span(alias.this)
        if place is None or is_query(node) or node.args.get("version") or node.args.get("when"):
            continue
        named = statement.token_at(place.start)
        end = named - (tokens[named - 1].token_type is TokenType.ALIAS)
        if isinstance(node, exp.Subquery):
            brackets.append(_queried(statement, end, sampled=bool(node.args.get("sample"))))
        elif alias.columns and isinstance(node.this, exp.Identifier):
            first = identifier_span(node.args.get("catalog") or node.args.get("db") or node.this)
            if first is not None and (node.args.get("db") or node.name.lower() not in own):
                lists.append(Edit(whole := Span(first.start, tokens[end - 1].end + 1), (_ALL, whole, ")")))
    return lists or brackets


def _queried(statement: Statement, end: int, *, sampled: bool) -> Edit:
    """The joins in brackets, and perhaps their sample, that end in front of this token. Raises QueryError for what is none."""
    tokens, depths = statement.tokens, statement.depths
    samples = (at for at in range(end) if tokens[at].token_type is TokenType.TABLE_SAMPLE)
    if sampled:
        end = max(at for at in samples if depths[at] == depths[end])
    first = max(at for at in range(end) if statement.closing(at) == end - 1)
    for at in range(first, end):
        lateral = (
            tokens[at].token_type is TokenType.LATERAL and tokens[at - 1].token_type is not TokenType.JOIN
        )
        if depths[at] == depths[first] + 1 and (lateral or tokens[at].token_type is TokenType.COMMA):
            where, hint = token_span(tokens[at]), "in brackets like these stand joins"
            raise statement.error(f'syntax error at "{tokens[at].text}"', where, hint=hint)
    return edit(Span(tokens[first].start, tokens[first].end + 1), _ALL)


def _turned(tokens: Sequence[Token]) -> list[Edit]:
    """SELECT in front of FROM, where that is the other way round."""
    edits, depths = list[Edit](), depths_of(tokens)
    begun: dict[int, int | None] = {}  # by depth, where FROM stands of a query that has had no SELECT yet
    for at, token in enumerate(tokens):
        kind, depth = token.token_type, depths[at]
        begun = {known: first for known, first in begun.items() if known <= depth}
        if kind in _ENDS and not (kind is TokenType.EXCEPT and tokens[at - 1].token_type is TokenType.STAR):
            begun.pop(depth, None)
        elif kind is TokenType.FROM:
            begun.setdefault(depth, at)
        elif kind in _BEHIND_A_LIST - {TokenType.LATERAL, TokenType.WINDOW} and depth in begun:
            begun[depth] = None  # behind which there is no SELECT
        elif kind is TokenType.SELECT:
            first, begun[depth] = begun.get(depth), None
            edits += [] if first is None else _in_order(tokens, depths, first, at)
    return edits


def _in_order(tokens: Sequence[Token], depths: Sequence[int], first: int, select: int) -> list[Edit]:
    end = _end(tokens, depths, select, _ENDS - {TokenType.EXCEPT} | _MORE, select + 1)
    if end < len(tokens) and tokens[end].token_type in _MORE | {TokenType.PIPE_GT}:
        return []  # several, or what sees the tables behind the list
    rest = _end(tokens, depths, select, _BEHIND_A_LIST, select + 1)
    places = [
        Span(tokens[low].start, tokens[high - 1].end + 1)
        for low, high in ((select, min(rest, end)), (first, select), (rest, end))
        if low < high
    ]
    whole = Span(tokens[first].start, tokens[end - 1].end + 1)
    parts = tuple(part for place in places for part in (" ", place))[1:]
    beside = {tokens[at].token_type for at in (first - 1, first - 2, end) if 0 <= at < len(tokens)}
    if beside & _SETS and _end(tokens, depths, select, _TAIL, select + 1) < end:
        parts = ("(", *parts, ")")  # whose ORDER BY and LIMIT are its own
    return [Edit(whole, parts)]


def _bracketed(tokens: Sequence[Token]) -> list[Edit]:
    """Brackets around the queries that are united with others behind `|>`, and a `|>` where UNION goes without."""
    edits: list[Edit] = []
    depths = depths_of(tokens) if any(token.token_type is TokenType.PIPE_GT for token in tokens) else ()
    piped = list[int]()  # by depth, from which token on a query there stands behind a pipe
    for at in range(len(depths) - 2):
        kind, behind = tokens[at].token_type, tokens[at + 1].token_type
        deep = max(depths[at], 0) + 1  # where more brackets close than open, the parser tells
        piped = [*piped, *[len(depths)] * (deep - len(piped))][:deep]
        if kind is TokenType.PIPE_GT and behind is TokenType.DROP:
            word, end = tokens[at + 1], _end(tokens, depths, at, _ENDS | _BEHIND_A_LIST, at + 2)
            stop = tokens[end - 1].end + 1
            edits += [edit(Span(word.start, word.end + 1), "SELECT * EXCEPT ("), edit(Span(stop, stop), ")")]
        piped[-1] = at if kind is TokenType.PIPE_GT else piped[-1]
        own = kind is TokenType.PIPE_GT and behind in _SETS
        columns = tokens[at - 1].token_type is TokenType.STAR and behind is TokenType.L_PAREN
        bare = kind in _SETS and piped[-1] <= at and tokens[at - 1].token_type is not TokenType.PIPE_GT
        if not own and (not bare or (columns and tokens[at + 2].token_type not in _BEGIN_BRACKETS)):
            continue
        first = at + 1 + own
        first += tokens[first].token_type in {TokenType.ALL, TokenType.DISTINCT}
        if own and (first >= len(tokens) or tokens[first].token_type not in _BEGIN_A_QUERY):
            continue
        # INTERSECT binds what stands beside it, but for what ends with a pipe.
        ends = _BEHIND_A_QUERY - (
            {TokenType.INTERSECT} if bare and kind is not TokenType.INTERSECT else set()
        )
        end = _end(tokens, depths, at, ends, first + 1)
        opens, start, stop = tokens[at].start, tokens[first].start, tokens[end - 1].end + 1
        if bare:
            piped[-1] = end
            edits.append(edit(Span(opens, opens), "|> "))
        edits += [edit(Span(start, start), "("), edit(Span(stop, stop), ")")]
    return edits


def _end(
    tokens: Sequence[Token], depths: Sequence[int], at: int, ends: Collection[TokenType], first: int = 0
) -> int:
    """Where what stands behind a `|>` ends: at one of these tokens, or with the bracket around it."""
    behind = range(max(first, at + 1), len(tokens))
    return next(
        (
            one
            for one in behind
            if depths[one] < depths[at] or (depths[one] == depths[at] and tokens[one].token_type in ends)
        ),
        len(tokens),
    )
