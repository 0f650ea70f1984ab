"""FULL JOIN as what it is made of: the rows of a left join, and those of the right side that have no match.

    SELECT r.x, s.y FROM r FULL JOIN s ON r.x = s.x WHERE c
    SELECT r.x, s.y FROM r LEFT JOIN s ON r.x = s.x WHERE c
        UNION ALL SELECT CAST(NULL AS int), s.y FROM s LEFT ANTI JOIN r ON r.x = s.x WHERE c

Both run in eddies, which share what is fetched: each table is read once. It is planned in place of the statement only where
the engine then answers all of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from fff.errors import Span
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.names import parts_of
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, Source, resolve, star_columns
from fff.sql.binder.select_text import SelectText
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
from fff.structs import Struct

_CLAUSES = frozenset({"expressions", "from", "joins", "where", "limit", "offset", "distinct", "hint"})


def halved(text: Rewritten) -> Rewritten | None:
    """A statement without FULL JOIN; None where there is none that can be taken apart. Raises QueryError."""
    before = text.sql
    while any(token.token_type is TokenType.FULL for token in text.statement.tokens):
        tree = text.tree
        scope = next(filter(_is_full, tree.root.branches), None)
        half = None if scope is None or not _may_be_united(tree, scope) else _FullJoin.of(tree, scope)
        grown = None if half is None else half.apart(text)
        if grown is None:
            break
        text = grown
    return text if text.sql != before else None


def _is_full(scope: SelectScope) -> bool:
    first = next(iter(scope.node.args.get("joins") or ()), None)
    return first is not None and keyword(first, "side") == "FULL"


def _may_be_united(tree: QueryTree, scope: SelectScope) -> bool:
    """Whether two SELECTs that UNION ALL connects may stand in the place of one, within the statement."""
    if scope.inner or scope.outer is not None or filled(scope.node) - _CLAUSES - {"with"}:
        return False
    if any(has_aggregate(one) or one.find(exp.Window) for one in scope.node.expressions):
        return False
    if scope.node is tree.root.node:
        return True
    sets = list(tree.root.node.find_all(exp.SetOperation))
    alone = not filled(scope.node) & {"limit", "offset", "distinct", "with"}
    return alone and all(isinstance(one, exp.Union) and one.args.get("distinct") is False for one in sets)


class _FullJoin(Struct, frozen=True):
    """A SELECT whose first join is a FULL JOIN of two entries, and where the parts of its FROM stand."""

    tree: QueryTree
    scope: SelectScope
    text: SelectText
    full: Span  # FULL [OUTER]
    left: Span
    right: Span
    on: Span  # its condition, with the word before it
    rest: Span  # further joins

    @classmethod
    def of(cls, tree: QueryTree, scope: SelectScope) -> _FullJoin | None:
        """None for one that is not written like this."""
        text, statement = SelectText.of(tree.statement, scope), tree.statement
        first, *others = scope.node.args["joins"]
        source, place = arg(scope.node, "from"), text.from_text
        if not isinstance(source, Node) or place is None:
            return None
        sides = (source.this, first.this)
        if any(one.args.get("joins") for one in sides) or arg(first, "method"):
            return None
        if any(keyword(one, "side") in ("RIGHT", "FULL") for one in others):
            return None
        if any(arg(one, "method") or arg(one, "using") for one in others):
            return None
        if tuple(one.node for one in scope.sources[:2]) != sides:
            return None
        if any(one.sealed or one.renamed or one.called for one in scope.sources):
            return None
        begin, end = statement.tokens_at(place)
        flat = [at for at in range(begin, end) if statement.depths[at] == text.region.depth]
        kinds = {at: statement.tokens[at].token_type for at in flat}
        full = next(at for at in flat if kinds[at] is TokenType.FULL)
        join = next(at for at in flat if kinds[at] is TokenType.JOIN)
        on = text.join_condition(join + 1)
        if on is None or join < full:
            return None
        return cls(
            tree,
            scope,
            text,
            full=statement.span(full, join),
            left=statement.span(begin, full),
            right=statement.span(join + 1, statement.token_at(on.start)),
            on=on,
            rest=Span(on.end, place.end),
        )

    def apart(self, text: Rewritten) -> Rewritten | None:
        """The two SELECTs; None where a name or a type in them cannot be told."""
        items = self.text.items
        listed, end = Span(items[0][1].start, items[-1][1].end), self.text.source_end
        union = " UNION SELECT " if arg(self.scope.node, "distinct") else " UNION ALL SELECT "
        parts: list[str | Span] = [union, listed, " FROM ", self.right, " LEFT ANTI JOIN ", self.left, " "]
        parts += [self._equal() or self.on, self.rest]
        where = self.text.where_token
        if where is not None:
            parts += [" ", Span(where.start, end)]
        parts.append(" ")
        changes = self._changes()
        if changes is None:
            return None
        shifted, at = [edit(self.full, "LEFT")], end
        for part in parts:
            if isinstance(part, Span):
                inside = [one for one in changes if part.start <= one.span.start and one.span.end <= part.end]
                shifted += [_moved(one, at - part.start) for one in inside]
            at += len(part) if isinstance(part, str) else part.end - part.start
        return text.edited([Edit(Span(end, end), tuple(parts))]).edited(shifted)

    @property
    def _using(self) -> list[str]:
        return [name.name for name in self.scope.node.args["joins"][0].args.get("using") or ()]

    def _equal(self) -> str:
        """USING as a condition: behind an anti join no column is one of both sides."""
        pairs = [[_column(one, one.index(name)) for one in self.scope.sources[:2]] for name in self._using]
        return " AND ".join(f"{'' if number else 'ON '}{a} = {b}" for number, (a, b) in enumerate(pairs))

    def _changes(self) -> list[Edit] | None:
        """What the names of the left side become where it has no row."""
        edits: list[Edit] = []
        for node in self.scope.columns:
            parts, meaning = parts_of(node), resolve(node, self.scope)
            first = identifier_span(parts[0])
            if meaning == "unknown" or first is None:
                return None
            if not isinstance(meaning, Found) or self.on.start <= first.start < self.on.end:
                continue
            if meaning.others:  # of USING: in either SELECT, it is the column of the side that has a row
                if self.rest.start <= first.start < self.rest.end or not self._are_alike(meaning):
                    return None
                continue
            if meaning.source is self.scope.sources[0]:
                last = identifier_span(parts[meaning.qualifiers])
                null = _null(meaning.source, meaning.index)
                if last is None or null is None:
                    return None
                edits.append(edit(Span(first.start, last.end), null))
        for number, (item, place) in enumerate(self.text.items):
            bare = item.this if isinstance(item, exp.Column) else item
            if not isinstance(bare, exp.Star | exp.Alias):
                same = next((one for one in edits if one.span == place), None)
                edits = [one for one in edits if one is not same]
                edits.append(Edit(place, (*(same.parts if same else (place,)), f" AS __fff_{number}")))
        stars = list(self._stars())
        return None if None in stars else [*edits, *(one for one in stars if one is not None)]

    def _are_alike(self, merged: Found) -> bool:
        """Whether the columns of USING are of one type, so that nothing is cast."""
        kinds = {_type(source, index) for source, index in merged.columns}
        return len(merged.columns) == 2 and len(kinds) == 1 and None not in kinds

    def _stars(self) -> Iterator[Edit | None]:
        """Stars as the columns that they stand for; None for one that cannot be told."""
        left, right, *_ = self.scope.sources
        using, at = self._using, {id(node): span for node, span in self.text.items}
        twins = {(left, left.index(name)): right.index(name) for name in using}
        for star in self.scope.stars:
            place, kept = at.get(id(star)), star_columns(self.scope, star, of_either=True)
            if place is None or kept is None:
                yield None
                continue
            if not isinstance(star, exp.Column):  # of USING it has the column of the side that has a row
                kept = [one if (same := twins.get(one)) is None else (right, same) for one in kept]
            values = [self._starred(source, index) for source, index in kept]
            alike = all(_type(left, left.index(name)) == _type(right, right.index(name)) for name in using)
            yield (
                edit(place, ", ".join(map(str, values))) if values and None not in values and alike else None
            )

    def _starred(self, source: Source, index: int) -> str | None:
        """A column of a star, NULL where it is of the left side."""
        if source is not self.scope.sources[0]:
            return _column(source, index)
        null = _null(source, index)
        return null and f"{null} AS {quote((source.names or ())[index])}"


def _moved(one: Edit, by: int) -> Edit:
    """The same edit of a copy of its text, which stands so many characters behind."""

    def moved(place: Span) -> Span:
        return Span(place.start + by, place.end + by)

    return Edit(moved(one.span), tuple(part if isinstance(part, str) else moved(part) for part in one.parts))


def _column(source: Source, index: int | None) -> str | None:
    if index is None or source.names is None or not source.alias:
        return None
    return qualified(source.alias, source.names[index])


def _null(source: Source, index: int) -> str | None:
    kind = _type(source, index)
    return None if kind is None else f"CAST(NULL AS {kind})"


def _type(source: Source, index: int | None) -> str | None:
    """The declared type of a column, or of those that a query passes on; None where it is computed."""
    if index is None:
        return None
    kinds = {
        one.table.columns[at].type if one.table is not None else None
        for one, at in Found(source, index, 0).origins or ()
    }
    return kinds.pop() if len(kinds) == 1 else None
