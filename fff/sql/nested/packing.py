"""Joins that one eddy does not run among others, written as queries in FROM, which then may become tables.

    FROM r JOIN p ON … FULL JOIN q ON … WHERE p.a > 1        FROM (SELECT * FROM (SELECT * FROM r JOIN p ON …) joined_1
                                                                   FULL JOIN q ON …) joined_2 WHERE joined_2.a > 1
    FROM r LEFT JOIN (q JOIN p ON …) ON …                    FROM r LEFT JOIN (SELECT * FROM q JOIN p ON …) joined_1 ON …
    EXISTS (SELECT 1 FROM q JOIN p ON … WHERE q.x = r.x)     EXISTS (SELECT 1 FROM (SELECT * FROM q JOIN p ON …) joined_1
                                                                     WHERE joined_1.x = r.x)

The joins in front of one are what it joins, and what brackets hold is joined first: so nothing changes but names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fff.errors import QueryError, Span
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.names import parts_of
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, Source, resolve, star_columns
from fff.sql.binder.select_text import SelectText, conjoined
from fff.sql.nested.derived_tables import KeptApartError, must, titled
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.syntax.aggregates import has_aggregate
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.statement import (
    Node,
    TokenType,
    arg,
    exp,
    filled,
    identifier_span,
    keyword,
    qualified,
    quote,
)
from fff.structs import Struct, lazy_pattern

#: What the queries are called, before the names of their columns.
PACKED = lazy_pattern(r"^joined_\d+(?:\.|$)")
#: More are not packed: each is a reading of the whole statement.
_MOST = 12
_SEPARATORS = frozenset({TokenType.JOIN, TokenType.COMMA})
_WORDS = frozenset(
    {
        *(TokenType.INNER, TokenType.CROSS, TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.OUTER),
        *(TokenType.SEMI, TokenType.ANTI, TokenType.NATURAL),
    }
)
#: What a SELECT consists of whose FULL JOIN can be taken apart as it stands (`fff.sql.calls.full_joins`).
_CHOOSES = frozenset({"expressions", "from", "joins", "where", "limit", "offset", "distinct", "hint"})


def packed(text: Rewritten) -> Rewritten:
    """The text with queries for such joins. Raises QueryError."""
    for _ in range(_MOST):
        edits = next(_steps(text.tree, text.sql), None)
        if edits is None:
            break
        text = text.edited(edits)
    return text


def _steps(tree: QueryTree, sql: str) -> Iterator[list[Edit]]:
    number = 1
    while f"joined_{number}" in sql:
        number += 1
    for scope in tree.scopes:
        yield from _without_natural(tree, scope)
        for parts in _parts(tree, scope):
            try:
                yield list(_Packing(tree, scope, *parts, f"joined_{number}").edits())
            except (KeptApartError, LeftToSparkError, QueryError):
                continue


def _without_natural(tree: QueryTree, scope: SelectScope) -> Iterator[list[Edit]]:
    """NATURAL FULL JOIN with the names that it means, where it is the first join of two tables."""
    joins = list(scope.node.args.get("joins") or ())
    natural = bool(joins) and keyword(joins[0], "method") == "NATURAL"
    if not natural or keyword(joins[0], "side") != "FULL" or scope.region is None:
        return
    try:
        place = SelectText.of(tree.statement, scope).from_text
    except QueryError:
        return
    first, second = (one.names or () for one in scope.sources[:2])
    shared = [name for name in first if name.lower() in {other.lower() for other in second}]
    begins = [] if place is None else _join_begins(tree, scope, place)
    if place is None or not shared or len(begins) != len(joins) or scope.sources[1].node is not joins[0].this:
        return
    word = tree.statement.token_at(begins[0])
    end = begins[1] if len(begins) > 1 else place.end
    names = ", ".join(map(quote, shared))
    yield [edit(tree.statement.span(word, word + 1), ""), edit(Span(end, end), f" USING ({names}) ")]


def _parts(tree: QueryTree, scope: SelectScope) -> Iterator[tuple[SelectText, Span, Span, tuple[Span, ...]]]:
    """What may be packed of a SELECT: the text of its joins, what is to be replaced, conditions that go with them."""
    source, joins = arg(scope.node, "from"), scope.node.args.get("joins") or ()
    if scope.region is None or not isinstance(source, Node) or scope.node.args.get("laterals"):
        return
    try:
        text = SelectText.of(tree.statement, scope)
    except QueryError:
        return
    place = text.from_text
    if place is None:
        return
    sides = [keyword(one, "side") for one in joins]
    last = max((at for at, side in enumerate(sides) if side in ("RIGHT", "FULL")), default=-1)
    begins = _join_begins(tree, scope, place)
    if last >= 0 and len(begins) == len(joins):
        first = next(at for at, side in enumerate(sides) if side in ("RIGHT", "FULL"))
        if first > 0:  # what it joins is a join
            before = Span(place.start, begins[first])
            yield text, before, before, ()
        elif sides[first] == "FULL" and not (_is_halved(scope) or _asks(joins[first])):
            end = begins[1] if len(begins) > 1 else place.end
            yield text, Span(place.start, end), Span(place.start, end), ()
    for join in joins:
        brackets = _brackets(tree, join) if str(arg(join, "side") or arg(join, "kind") or "") else None
        if brackets is not None:
            first_token, end_token = brackets
            inside = tree.statement.span(first_token + 1, end_token)
            yield text, inside, tree.statement.span(first_token, end_token + 1), ()
    if isinstance(scope.node.parent, exp.Exists) and (len(scope.sources) > 1 or scope.inner):
        yield from _existing(tree, scope, text, place)


def _asks(join: Node) -> bool:
    """Whether a query stands in the condition of a join, with which no FULL JOIN is taken apart, packed or not."""
    on = join.args.get("on")
    return on is not None and on.find(exp.Query) is not None


def _is_halved(scope: SelectScope) -> bool:
    """Whether a FULL JOIN stands in a query of its own that does no more than choose of its rows, as once it is packed."""
    alone = (
        len(scope.node.args.get("joins") or ()) == 1 and not filled(scope.node) - _CHOOSES and not scope.inner
    )
    alone = alone and not any(has_aggregate(one) or one.find(exp.Window) for one in scope.node.expressions)
    parent = scope.node.parent
    return alone and not (isinstance(parent, exp.SetOperation) and parent.args.get("distinct") is not False)


def _join_begins(tree: QueryTree, scope: SelectScope, place: Span) -> list[int]:
    """Where the words of each join of FROM begin."""
    statement, region = tree.statement, scope.region
    assert region is not None, "who asks has looked"
    tokens = statement.tokens
    first, end = statement.tokens_at(place)
    begins = []
    for at in range(first, end):
        if tokens[at].token_type in _SEPARATORS and statement.depths[at] == region.depth:
            while tokens[at - 1].token_type in _WORDS:
                at -= 1  # noqa: PLW2901 - back to the first word
            begins.append(tokens[at].start)
    return begins


def _brackets(tree: QueryTree, join: Node) -> tuple[int, int] | None:
    """The tokens of the brackets around a right side that is joins itself."""
    node = join.this
    if not isinstance(node, exp.Subquery | exp.Paren) or not isinstance(node.this, exp.Table):
        return None
    if node.args.get("alias") or not node.this.args.get("joins"):
        return None
    span = identifier_span(node.this.args.get("db") or node.this.this)
    if span is None:
        return None
    first = tree.statement.token_at(span.start) - 1
    close = (
        tree.statement.closing(first) if tree.statement.tokens[first].token_type is TokenType.L_PAREN else -1
    )
    return None if close < 0 else (first, close)


def _existing(
    tree: QueryTree, scope: SelectScope, text: SelectText, place: Span
) -> Iterator[tuple[SelectText, Span, Span, tuple[Span, ...]]]:
    """The joins of a query behind EXISTS with the conditions that are about them alone."""
    own, others = [], 0
    for condition in text.conditions:
        assert condition.span is not None, "a condition that was split stands in the text"
        span = condition.span
        names = [node for other in tree.scopes for node in other.columns if _stands_in(node, span)]
        inside = {id(one) for one in condition.node.walk()} if condition.node is not None else set()
        scopes = {id(node): other for other in tree.scopes for node in other.columns}
        verdicts = [resolve(node, scopes[id(node)]) for node in names]
        apart = any(
            not isinstance(one, Found)
            or (one.source.scope is not scope and id(one.source.scope.node) not in inside)
            for one in verdicts
        )
        others += apart
        own += [] if apart else [span]
    if others and (len(scope.sources) > 1 or any(_holds_query(scope, span) for span in own)):
        yield text, place, Span(place.start, text.source_end), tuple(own)


def _stands_in(node: Node, span: Span) -> bool:
    first = identifier_span(parts_of(node)[0])
    return first is not None and span.start <= first.start < span.end


def _holds_query(scope: SelectScope, span: Span) -> bool:
    return any(
        _stands_in(node, span) for query in scope.inner for one in query.branches for node in one.columns
    )


class _Packing(Struct, frozen=True):
    """Some joins of a SELECT that become a query in its FROM."""

    tree: QueryTree
    scope: SelectScope
    text: SelectText
    joins: Span  # their text
    whole: Span  # what the query stands for
    conditions: tuple[Span, ...]  # of WHERE, that go with them
    alias: str

    def edits(self) -> Iterator[Edit]:
        """Raises KeptApartError, LeftToSparkError, QueryError."""
        held = [one for one in self.scope.sources if self._holds(one)]
        must(held and not any(one.renamed or one.sealed or one.called or one.names is None for one in held))
        visible = [(one, at) for one in held if not one.hidden for at in range(len(one.names or ()))]
        uses = list(self._uses(held))
        wanted = {(source, at) for source, at, _ in uses}
        must(wanted <= set(visible))
        names = self._names([one for one in visible if self.scope.stars or one in wanted])
        renamed = any(name != _name(one) for one, name in names.items())
        must(not (renamed and self._merged))
        columns = (
            quote(name) if self._merged else f"{_column(*one)} AS {quote(name)}"
            for one, name in names.items()
        )
        every = self._merged and self.scope.stars
        listed = "*" if every else ", ".join(dict.fromkeys(columns)) or "1 AS one"
        where, end = conjoined(self.conditions), f") AS {self.alias} "
        parts: list[str | Span] = [f"(SELECT {listed} FROM ", self.joins, *where, end]  # noqa: S608
        if self.text.where_token is not None and self.whole.end == self.text.source_end > self.joins.end:
            known = [one.span for one in self.text.conditions if one.span is not None]
            left = [span for span in known if span not in self.conditions]
            parts += [*conjoined(left), " "]
        yield Edit(self.whole, tuple(parts))
        for source, at, place in uses:
            if place is not None:
                yield edit(place, f"{self.alias}.{quote(names[source, at])}")
        if renamed:
            yield from self._titles()
        yield from self._stars(names, plain=not renamed)

    @property
    def _merged(self) -> set[str]:
        """The names that USING and NATURAL make one of several, lower case."""
        return self.scope.merged

    def _holds(self, source: Source) -> bool:
        span = source.span
        if span is None:
            given = source.node.args.get("alias") or source.node  # a name of WITH may stand for itself
            named = identifier_span(given.this) if source.alias else None
            must(named is not None)
            span = named
        return span is not None and self.joins.start <= span.start < self.joins.end

    def _names(self, visible: Sequence[tuple[Source, int]]) -> dict[tuple[Source, int], str]:
        """What the columns that are to be seen outside are called there."""
        counts = Counter(_name(one).lower() for one in visible)
        return {
            one: f"{one[0].alias}.{_name(one)}"
            if counts[_name(one).lower()] > 1 and _name(one).lower() not in self._merged
            else _name(one)
            for one in visible
        }

    def _uses(self, held: Sequence[Source]) -> Iterator[tuple[Source, int, Span | None]]:
        """Every name of such a column outside, and where it stands; nowhere if it can stay as it is."""
        for scope in self.tree.scopes:
            for node in scope.columns:
                resolved, parts = resolve(node, scope), parts_of(node)
                first = identifier_span(parts[0])
                must(resolved != "unknown" and first is not None)
                if not isinstance(resolved, Found) or first is None or self._is_inside(first):
                    continue
                if not any(one in held for one, _ in resolved.columns):
                    continue
                if not resolved.qualifiers and parts[0].name.lower() in self._merged:
                    yield resolved.source, resolved.index, None  # the one column of both
                    continue
                must(
                    _name((resolved.source, resolved.index)).lower() not in self._merged
                    and not resolved.others
                )
                last = identifier_span(parts[resolved.qualifiers])
                must(last is not None)
                if last is not None:
                    yield resolved.source, resolved.index, Span(first.start, last.end)

    def _stars(self, names: dict[tuple[Source, int], str], *, plain: bool) -> Iterator[Edit]:
        """Stars that are to be the columns that they stand for."""
        items = {id(node): span for node, span in self.text.items}
        for star in self.scope.stars:
            if plain and not isinstance(star, exp.Column):
                continue
            place = items.get(id(star))
            must(place is not None and not self._merged)
            if place is not None:
                yield edit(place, ", ".join(self._starred(star, names)))

    def _titles(self) -> Iterator[Edit]:
        """For columns of the result without a name, the one that they had."""
        for node, span in self.text.items:
            bare = node.this if isinstance(node, exp.Column) else node
            if not isinstance(bare, exp.Star | exp.Alias):
                yield titled(self.tree.statement, self.scope, node, span)

    def _starred(self, star: Node, names: dict[tuple[Source, int], str]) -> Iterator[str]:
        columns = star_columns(self.scope, star)
        must(columns)
        for column in columns or ():
            inner = names.get(column)
            yield f"{f'{self.alias}.{quote(inner)}' if inner else _column(*column)} AS {quote(_name(column))}"

    def _is_inside(self, name: Span) -> bool:
        return any(one.start <= name.start < one.end for one in (self.joins, *self.conditions))


def _name(column: tuple[Source, int]) -> str:
    source, at = column
    return (source.names or ())[at]


def _column(source: Source, at: int) -> str:
    return qualified(source.alias, _name((source, at)))
