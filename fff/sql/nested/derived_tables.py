"""Queries in FROM, of WITH too, that only choose rows and columns, merged into the SELECT that reads them.

    SELECT a.y FROM (SELECT t.x * 2 AS y FROM t WHERE t.n > 1) a JOIN s ON a.y = s.k WHERE s.m = 3
    SELECT (a.x * 2) AS y FROM web.t AS a JOIN s ON (a.x * 2) = s.k WHERE (a.n > 1) AND (s.m = 3)

So the eddy joins the tables that they read, and no Spark has to put queries together. What is merged is the text, as with
subqueries of WHERE; it is planned in place of the statement only where the engine then answers all of it, so that nothing
is evaluated twice that may differ, and nothing is counted, ordered or numbered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TypeAlias, TypeVar

from fff.errors import QueryError, Span
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.names import has_generator, is_free, not_taken, parts_of
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, Source, resolve, star_columns
from fff.sql.binder.select_text import SelectText
from fff.sql.nested.column_types import columns_of
from fff.sql.nested.repeatable import is_repeatable
from fff.sql.scalars.naming.names import spark_name
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.syntax.aggregates import has_aggregate, makes_rows
from fff.sql.syntax.edits import Edit, applied, edit
from fff.sql.syntax.literals import constant_of
from fff.sql.syntax.parameters.param_types import BigInt
from fff.sql.syntax.statement import (
    Node,
    Statement,
    TokenType,
    arg,
    exp,
    filled,
    identifier_span,
    qualified,
    quote,
)
from fff.structs import Struct

#: What a merged query may consist of, and the SELECT around it, by the tree's names.
_INNER = frozenset({"expressions", "from", "joins", "where"})
_OUTER = _INNER | {"limit", "offset", "distinct", "hint", "with"}
#: More are not merged: each is a reading of the whole statement.
_MOST = 40
_INTS = range(-(2**31), 2**31)

T = TypeVar("T")
#: Of entries of FROM: the names of their columns, and what they are in the SELECT around them.
_Values: TypeAlias = Mapping[Source, Sequence[tuple[str, str | None]]]


class KeptApartError(Exception):
    """Something keeps queries, or joins, as they are written."""


def merged(text: Rewritten) -> Rewritten | None:
    """A statement with one SELECT for each and those in its FROM; None where nothing is merged. Raises QueryError."""
    before = text.sql
    names: set[str] = set()
    for _ in range(_MOST):
        tree = text.tree
        if any(filled(branch.node) - _OUTER for branch in tree.root.branches):
            return None  # it stays Spark's
        sources, edits = _step(tree)
        if not sources:
            return _without_with(tree, text, names) if text.sql != before else None
        names |= {one.node.name.lower() for one in sources if isinstance(one.node, exp.Table)}
        text = text.edited([*edits, *_unread(tree, sources)])
    return None


def _step(tree: QueryTree) -> tuple[Sequence[Source], list[Edit]]:
    """What is merged before the text is read again: several entries of one FROM, where none has to do with another."""
    for scope in tree.scopes:
        group: list[_Merge] = []
        for source in scope.sources:
            if source.query is not None and (not group or group[0].is_by_itself):
                with suppress(KeptApartError, LeftToSparkError, QueryError):
                    merge = _Merge.of(tree, scope, source)
                    edits = _edits([merge])  # which what is merged beside it changes nothing of
                    if not group or merge.is_by_itself:
                        group.append(merge)
        if group:
            return [one.source for one in group], edits if len(group) == 1 else _edits(group)
    return [], []


def _edits(merges: Sequence[_Merge]) -> list[Edit]:
    """What makes one SELECT of one and those in its FROM. Raises KeptApartError, LeftToSparkError, QueryError."""
    edits = [edit for merge in merges for edit in merge.placed()]
    edits += merges[0].chosen([one for merge in merges if (one := merge.condition()) is not None])
    return [*edits, *merges[0].named({merge.source: merge.values for merge in merges})]


def _unread(tree: QueryTree, sources: Sequence[Source]) -> Iterator[Edit]:
    """Queries of WITH that nobody reads behind a step, but the last: each is written again in the one that read it."""
    left = {id(one.query.node) for one in tree.sources if one.query is not None and one not in sources}
    gone = {id(one.query.node) for one in sources if one.query is not None} - left
    for query, after in pairwise(_with(tree)):
        if id(query.this) in gone:
            first, end = (_there(identifier_span(one.args["alias"].this)).start for one in (query, after))
            yield edit(Span(first, end), "")


def _without_with(tree: QueryTree, text: Rewritten, names: set[str]) -> Rewritten | None:
    """The text without WITH, once nothing names its queries any more; None where something does."""
    queries = _with(tree)
    if not queries:
        return text
    region, statement = tree.root.branches[0].region, tree.statement
    kept = {one.query.node for one in tree.sources if one.query is not None}
    # The name of a table of ours stands there for a query that has been planned.
    names |= {
        one.alias.lower()
        for one in queries
        if not any(source.table is None or source.table.source for source in _sources(tree, one.this))
    }
    if (
        region is None
        or statement.tokens[region.first - 1].token_type is not TokenType.R_PAREN
        or any(one.alias.lower() not in names or one.this in kept for one in queries)
    ):
        return None
    return text.edited([edit(Span(0, statement.tokens[region.first].start), "")])


def _sources(tree: QueryTree, node: Node) -> list[Source]:
    return [one for query in tree.queries if query.node is node for one in query.branches[0].sources]


def _with(tree: QueryTree) -> list[Node]:
    clause = arg(tree.root.node, "with")
    return list(clause.expressions) if isinstance(clause, exp.With) else []


def must(holds: object) -> None:
    """Raises KeptApartError where a condition of rewriting does not hold."""
    if not holds:
        raise KeptApartError


def _there(value: T | None) -> T:
    if value is None:
        raise KeptApartError
    return value


class _Merge(Struct, frozen=True):
    """One entry of a FROM clause, and the SELECT that it is."""

    tree: QueryTree
    scope: SelectScope
    source: Source
    inner: SelectScope
    text: SelectText
    own: SelectText
    aliases: dict[Source, str]  # of the tables of the inner SELECT, in the outer one
    #: The names of its columns, and what they are in the outer one; None where each use would have another value.
    values: tuple[tuple[str, str | None], ...]
    changes: tuple[Edit, ...]  # of the inner SELECT's names

    @classmethod
    def of(cls, tree: QueryTree, scope: SelectScope, source: Source) -> _Merge:
        """Raises KeptApartError, LeftToSparkError, QueryError."""
        query, joins = _there(source.query), scope.node.args.get("joins") or ()
        must(len(query.branches) == 1 and source.names is not None)
        inner = query.branches[0]
        must(not (query.recursive or query.limited or source.sealed))
        must(not inner.inner)
        must(inner.flat and inner.sources)
        must(not any(map(has_generator, inner.node.expressions)))
        # What looks at several rows must not see those alone that the SELECT around it takes.
        must(not any(has_aggregate(one) or one.find(exp.Window) for one in inner.node.expressions))
        choosing = (inner.node.args.get("where"), *(inner.node.args.get("joins") or ()))
        must(all(is_repeatable(one) for one in choosing if one is not None))
        must(inner.outer is None or (isinstance(source.node, exp.Lateral) and inner.outer is scope))
        must(not filled(inner.node) - _INNER and not filled(scope.node) - _OUTER)
        must(not any(arg(one, "side") in ("RIGHT", "FULL") for one in joins))
        # NATURAL compares all columns of one name: no others may come in.
        alike = len(inner.sources) == 1 and inner.sources[0].names == source.names
        must(alike or not any(arg(one, "method") for one in joins))
        must(all(one.table and one.span and not (one.renamed or one.sealed) for one in inner.sources))
        first = source is scope.sources[0]
        told = ("on", "using", "method", "kind")
        commas = any(not any(arg(one, name) for name in told) for one in inner.node.args.get("joins") or ())
        must(len(inner.sources) == 1 or (first and (not commas or len(scope.sources) == 1)))
        aliases = _aliases(tree, scope, source, inner)
        changes = tuple(_changes(tree, inner, aliases))  # a lateral one names tables of both
        own = SelectText.of(tree.statement, inner)
        values = tuple(_values(tree, source, own, aliases, changes))
        merge = cls(
            tree, scope, source, inner, SelectText.of(tree.statement, scope), own, aliases, values, changes
        )
        for name in scope.merged:
            merge._stays_merged(name)
        if source.nullable or source.hidden:
            merge._is_right_side()
        return merge

    def _is_right_side(self) -> None:
        """A row of NULLs must be one of NULLs again, and what chooses the rows decide over matches alone."""
        joins = self.scope.node.args.get("joins") or ()
        must(any(one.this is self.source.node and one.args.get("on") for one in joins))
        must(len(self.inner.sources) == 1)
        outputs = _there(self.inner.outputs)
        must(self.source.hidden or all(one.passed is not None for one in outputs))

    def _stays_merged(self, name: str) -> None:
        """A column of USING must be one that the tables have under this name, and no other may come in."""
        theirs = [one for one in self.inner.sources if one.index(name) is not None]
        named = [value for known, value in self.values if known.lower() == name]
        must(len(theirs) == len(named) < 2)
        must(not named or (named[0] or "").lower() == qualified(self.aliases[theirs[0]], name).lower())

    @property
    def is_by_itself(self) -> bool:
        """Whether it is one table under the same alias, that names no other: others of its FROM may be merged beside it.

        What chooses rows of a right side goes into its condition, with which the FROM clause may end where a WHERE is to begin.
        """
        if self._is_right and self._where() is not None:
            return False
        return self.inner.outer is None and list(self.aliases.values()) == [self.source.alias]

    def placed(self) -> Iterator[Edit]:
        """Its FROM in its place, and what chooses rows of a right side in the condition of the join. Raises as `of` does."""
        place, _ = _there(self.own.from_text), _there(self.text.from_text)
        inner = applied(self.tree.statement.sql, place, self.changes)
        yield edit(_place(self.tree.statement, self.source, self.inner), inner)
        condition = self._where()
        if condition is not None and self._is_right:
            yield self._matching(condition)

    def condition(self) -> str | None:
        """What chooses its rows, where that is as good in the WHERE of the SELECT around it."""
        return None if self._is_right else self._where()

    @property
    def _is_right(self) -> bool:
        return self.source.nullable or self.source.hidden

    def _where(self) -> str | None:
        where, token = self.own.clause("where"), self.own.where_token
        if where is None or token is None:
            return None
        return applied(self.tree.statement.sql, Span(token.end, where.end), self.changes).strip()

    def named(self, values: _Values) -> list[Edit]:
        """The outer SELECT's names and its select list. Raises as `of` does."""
        return [*self._names(values), *self._items(values)]

    def _matching(self, condition: str) -> Edit:
        """The inner WHERE in the condition of the join, of which it is the right side."""
        statement = self.tree.statement
        behind = _place(statement, self.source, self.inner).end
        on = _there(self.text.join_condition(statement.token_at(behind - 1) + 1))
        word = statement.tokens[statement.token_at(on.start)]
        must(word.token_type is TokenType.ON)
        place = Span(word.end + 1, on.end)
        return Edit(place, (f" ({condition}) AND (", place, ")"))

    def chosen(self, conditions: Sequence[str]) -> Iterator[Edit]:
        """Inner WHEREs in front of the outer one's condition."""
        token, around = self.text.where_token, self.text.clause("where")
        if not conditions:
            return
        if token is None or around is None:
            end = self.text.source_end
            yield edit(Span(end, end), f" WHERE {' AND '.join(f'({one})' for one in conditions)}")
            return
        place = Span(token.end, around.end)
        yield Edit(place, ("".join(f" ({one}) AND" for one in conditions) + " (", place, ")"))

    def _names(self, values: _Values) -> Iterator[Edit]:
        """Every name of a column of the outer SELECT's sources, qualified."""
        visible = {name.lower() for one in self.inner.sources for name in one.names or ()}
        for scope in self.tree.scopes:
            if scope is self.inner:
                continue
            must(scope is self.scope or not any(isinstance(star, exp.Column) for star in scope.stars))
            for node in scope.columns:
                resolved, parts = resolve(node, scope), parts_of(node)
                must(resolved != "unknown")
                if not isinstance(resolved, Found):
                    must(parts[0].name.lower() not in visible)
                elif resolved.source.scope is self.scope:
                    if not resolved.qualifiers and parts[0].name.lower() in self.scope.merged:
                        continue
                    own = [value for value, _ in self.values] if resolved.source is self.source else []
                    again = [one.lower() for one in own].count(parts[resolved.qualifiers].name.lower())
                    must(again < 2 and not resolved.others)  # of two columns of a name, Spark says which
                    named = self._named(resolved.source)
                    must(all(_means(one, node, scope, self.scope) for one in named))
                    yield edit(_span(parts, resolved), _value(values, resolved.source, resolved.index))
                elif not _is_within(resolved.source.scope, self.scope):
                    must(parts[0].name.lower() not in visible or not _is_within(scope, self.scope))

    def _named(self, source: Source) -> list[str]:
        """What stands before the names of columns in what a column of a source is written as."""
        if source is not self.source:
            return [source.alias]
        found = (resolve(node, self.inner) for node in self.inner.columns)
        left = {one.source.alias for one in found if isinstance(one, Found)} if self.inner.outer else set()
        return [*self.aliases.values(), *left]

    def _items(self, values: _Values) -> Iterator[Edit]:
        """The outer select list: the columns of stars, and for every other entry the name that it had."""
        stars = len(self.scope.stars)
        for node, span in self.text.items:
            bare = node.this if isinstance(node, exp.Column) else node
            if isinstance(bare, exp.Star):
                stars -= 1
                yield edit(span, ", ".join(self._starred(node, values)))
            elif not (isinstance(node, exp.Alias | exp.Aliases) or makes_rows(node)):  # which have names
                yield titled(self.tree.statement, self.scope, node, span)
        must(not stars)  # count(*) and the like

    def _starred(self, star: Node, values: _Values) -> Iterator[str]:
        columns = star_columns(self.scope, star)
        must(columns)
        for source, index in _there(columns):
            name = values[source][index][0] if source in values else _there(source.names)[index]
            yield f"{_value(values, source, index)} AS {quote(name)}"


def _value(values: _Values, source: Source, index: int) -> str:
    if source in values:
        return _there(values[source][index][1])
    return qualified(source.alias, _there(source.names)[index])


def titled(statement: Statement, scope: SelectScope, item: Node, span: Span) -> Edit:
    """The name that an entry of a select list has without an alias, as its alias. Raises KeptApartError, LeftToSparkError."""
    must(not isinstance(item, exp.Aliases))
    first, end = statement.tokens_at(span)
    name = parts_of(item)[-1].name if isinstance(item, exp.Column) else None
    name = name or spark_name(item, statement, (first, end), columns_of(statement, scope))
    return edit(Span(span.end, span.end), f" AS {quote(name)}")


def _is_within(at: SelectScope, scope: SelectScope) -> bool:
    """Whether a SELECT is another one, or stands in it and may name its columns."""
    return any(around.scope is scope for around in at.enclosing)


def _means(name: str, node: Node, at: SelectScope, scope: SelectScope) -> bool:
    """Whether a name before that of a column means a source of a SELECT where a node stands, in that or in a query inside.

    There a variable, a source or a column of a query between may be called so.
    """
    lower = name.lower()
    between: list[SelectScope] = []
    for around in at.enclosing:
        if around.scope is scope:
            break
        between.append(around.scope)
    return is_free(name, node) and not any(
        one.makes(lower)
        or any(
            source.answers_to([lower]) or source.names is None or source.index(lower) is not None
            for source in one.sources
        )
        for one in between
    )


def _aliases(tree: QueryTree, scope: SelectScope, source: Source, inner: SelectScope) -> dict[Source, str]:
    """Names for the inner tables that nothing else has, wherever they are used."""
    uses = (
        (node, at)
        for at in tree.scopes
        for node in at.columns
        if at is not inner and isinstance(found := resolve(node, at), Found) and found.source is source
    )
    if (
        len(inner.sources) == 1
        and source.alias
        and all(is_free(source.alias, node) for node in inner.columns)
        and all(_means(source.alias, node, at, scope) for node, at in uses)
    ):
        return {inner.sources[0]: source.alias}
    taken = {one.alias.lower() for one in tree.sources}
    aliases = {}
    for one in inner.sources:
        aliases[one] = not_taken(one.alias, taken)  # which has its own as well
        taken.add(aliases[one].lower())
    return aliases


def _changes(tree: QueryTree, inner: SelectScope, aliases: dict[Source, str]) -> Iterator[Edit]:
    """The inner tables by their full names and new aliases, and the names of their columns qualified by those."""
    for source in inner.sources:
        table, span, alias = _there(source.table), _there(source.span), source.node.args.get("alias")
        last = _there(identifier_span(alias.this)) if source.written and alias is not None else span
        # WITH may have another meaning for a bare name.
        must(table.source or table.name.lower() not in {one.alias.lower() for one in _with(tree)})
        written = tree.statement.text_at(span)
        name = qualified(table.source, table.name) if table.source else written
        yield edit(Span(span.start, last.end), f"{name} AS {quote(aliases[source])}")
    for node in inner.columns:
        resolved = resolve(node, inner)
        if not isinstance(resolved, Found) or resolved.others:
            raise KeptApartError
        must(resolved.source in aliases or (resolved.source.scope is inner.outer and resolved.source.alias))
        must(is_free(aliases.get(resolved.source, resolved.source.alias), node))
        name = qualified(
            aliases.get(resolved.source, resolved.source.alias), _there(resolved.source.names)[resolved.index]
        )
        yield edit(_span(parts_of(node), resolved), name)


def _span(parts: Sequence[Node], resolved: Found) -> Span:
    """Where the name of a column stands, what reads its fields apart."""
    return Span(
        _there(identifier_span(parts[0])).start, _there(identifier_span(parts[resolved.qualifiers])).end
    )


def _is_star(item: Node) -> bool:
    return isinstance(item.this if isinstance(item, exp.Column) else item, exp.Star)


def _spread(items: Sequence[tuple[Node, Span]], count: int) -> list[tuple[Node, Span]]:
    """The entries of a select list, its one star as often as it has columns."""
    times = count - len(items) + 1 if sum(_is_star(item) for item, _ in items) == 1 else 1
    return [one for one in items for _ in range(times if _is_star(one[0]) else 1)]


def _values(
    tree: QueryTree, merged: Source, own: SelectText, aliases: dict[Source, str], changes: Sequence[Edit]
) -> Iterator[tuple[str, str | None]]:
    """The names of the inner SELECT's columns, and what they are where it is gone: nothing for what is random."""
    [inner], names = _there(merged.query).branches, _there(merged.names)
    outputs, statement = _there(inner.outputs), tree.statement
    items = _spread(own.items, len(outputs))
    must(len(items) == len(outputs) or all(one.passed is not None for one in outputs))
    must(len(names) == len(outputs))
    for at, output in enumerate(outputs):
        if output.passed is not None:
            source, index = output.passed
            must(source in aliases)
            yield names[at], qualified(aliases[source], _there(source.names)[index])
            continue
        node, span = items[at]
        must(not _is_star(node))
        bare, name = node, names[at]
        if isinstance(node, exp.Alias):
            # What stands before the alias, and the AS that may be there.
            named = _there(identifier_span(node.args["alias"]))
            bare, end = node.this, statement.token_at(named.start)
            end -= statement.tokens[end - 1].token_type is TokenType.ALIAS
            span = statement.span(statement.token_at(span.start), end)
        first, end = statement.tokens_at(span)
        written = applied(statement.sql, span, changes)
        kind = _whole_number(statement, bare)
        value = f"CAST({written} AS {kind})" if kind else f"({written})"
        yield (
            name or spark_name(bare, statement, (first, end), columns_of(statement, inner)),
            value if is_repeatable(bare) else None,
        )


def _whole_number(statement: Statement, node: Node) -> str | None:
    """The type of a whole number as it is written: beside decimals it counts as a narrower one, which no column does."""
    bare = node.unnest()
    inner = bare.this if isinstance(bare, exp.Neg) else bare
    if isinstance(inner, exp.Cast) and inner.meta.get("suffix"):
        return {exp.DType.BIGINT: "BIGINT", exp.DType.SMALLINT: "SMALLINT"}.get(inner.to.this)
    if not isinstance(inner, exp.Literal | exp.Placeholder):
        return None
    constant = constant_of(statement, bare)
    if constant is None or constant.kind != "integer":
        return None
    big = isinstance(inner, exp.Placeholder) and isinstance(statement.params[inner.name], BigInt)
    return "BIGINT" if big or constant.value not in _INTS else "INT"


def _place(statement: Statement, source: Source, inner: SelectScope) -> Span:
    """Where an entry of FROM stands, its alias too."""
    tokens = statement.tokens
    if isinstance(source.node, exp.Table):
        first = last = statement.token_at(_there(identifier_span(source.node.this)).start)
    else:
        first, last = _there(inner.region).first - 1, _there(inner.region).end
        must(first >= 0 and last < len(tokens) and tokens[last].token_type is TokenType.R_PAREN)
        must(tokens[first].token_type is TokenType.L_PAREN)
        first -= isinstance(source.node, exp.Lateral)
        must(not isinstance(source.node, exp.Lateral) or tokens[first].token_type is TokenType.LATERAL)
    alias = source.node.args.get("alias")
    if alias is not None and alias.this is not None:
        at = statement.token_at(_there(identifier_span(alias.this)).start)
        must(last < at <= last + 2)
        last = statement.closing(at + 1) if alias.columns else at
    return statement.span(first, last + 1)
