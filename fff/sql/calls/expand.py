"""Puts the tables of functions in the places of their calls, so that they are planned, routed and fetched like any table.

A call without whose value no row survives, in a SELECT over tables joined by inner joins, becomes one more table of that
SELECT's block: the eddy asks for it when that pays. `FROM papers p WHERE f(p.x) > 1` is then

    FROM papers p, s.f AS `f(p.x)` WHERE (`f(p.x)`.value > 1) AND `f(p.x)`.x = p.x

Any other call is made for the rows that everything else has left, and removes none of them (`fff.sql.calls.outer_apply`).

The text is rewritten step by step, one SELECT at a time, inner calls before those around them. `Edited` remembers where
each part comes from, so that errors underline what the user wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fff.errors import QueryError, Span, UnsupportedSQL
from fff.sql.analysis.conjuncts import classify
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.build_scopes import check_names
from fff.sql.binder.scopes import QueryTree, SelectScope
from fff.sql.binder.select_text import SelectText
from fff.sql.binder.spj_block import SourceBlock
from fff.sql.calls.find import Argument, Call, argument_of, check_call, find_calls, rejecting
from fff.sql.calls.joined_select import joined_select, select_block
from fff.sql.calls.outer_apply import apart_edits
from fff.sql.calls.substitute import called, value_edits
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.statement import Statement, exp
from fff.structs import Struct, replace

#: Steps a statement may take; each does away with some call or makes ready for it.
_MOST_STEPS = 500
#: Where a call may stand, by the tree's names for the parts of a SELECT.
_PLACES = frozenset(
    [
        *("expressions", "where", "joins", "group", "having", "qualify"),
        *("windows", "order", "sort", "cluster", "distribute"),
    ]
)


def expand_calls(text: Rewritten) -> Rewritten:
    """The statement without calls of the catalog's functions.

    Raises:
        QueryError: a call that cannot be carried out, underlined in the text of the statement.
    """
    written, calls = text, find_calls(text.statement, text.catalog)
    if not calls:
        return text
    for _ in range(_MOST_STEPS):
        try:
            if text is written:
                check_names(text.tree)
                _check(text.tree, calls)
            edits = _step(text.tree, calls)
        except QueryError as error:
            raise text.text.told(error) from None
        text = text.edited(edits)
        calls = [
            replace(call, text=text.text.origin_text(call.span))
            for call in find_calls(text.statement, text.catalog)
        ]
        if not calls:
            return text
    raise UnsupportedSQL("this calls too many functions", sql=text.text.written)


def _check(tree: QueryTree, calls: Sequence[Call]) -> None:
    by_node = {id(call.node): call for call in calls}
    for call in calls:
        check_call(tree.statement, call, _scope(tree, call), by_node)


def _scope(tree: QueryTree, call: Call) -> SelectScope:
    """The SELECT in which a call stands; raises UnsupportedSQL where it has no rows there to be called for."""
    child = call.whole
    at = child.parent
    while at is not None and not isinstance(at, exp.Query):
        if isinstance(at, exp.Lambda) or (isinstance(at, exp.Window) and at.this is call.whole):
            where = "inside a lambda function" if isinstance(at, exp.Lambda) else "over a window"
            raise _misplaced(tree.statement, call, where)
        child, at = at, at.parent
    place = str(child.arg_key or "").rstrip("_")
    scope = next((one for one in tree.scopes if one.node is at), None)
    if scope is None or place not in _PLACES:
        raise _misplaced(tree.statement, call, "here")
    return scope


def _misplaced(statement: Statement, call: Call, where: str) -> UnsupportedSQL:
    return statement.unsupported(
        f"{call.table.full_name} cannot be called {where}",
        call.span,
        hint="call it in the select list or in WHERE, of a query in FROM if need be",
    )


def _step(tree: QueryTree, calls: Sequence[Call]) -> list[Edit]:
    """The next edits: of the SELECT, among those with calls, that begins last."""
    by_scope: dict[SelectScope, list[Call]] = {}
    for call in calls:
        by_scope.setdefault(_scope(tree, call), []).append(call)
    texts = {scope: SelectText.of(tree.statement, scope) for scope in by_scope}
    scope = max(by_scope, key=lambda one: texts[one].region.first)
    return _Select(tree, scope, texts[scope], by_scope[scope]).edits()


class _Select(Struct, frozen=True):
    """One SELECT and the calls in it."""

    tree: QueryTree
    scope: SelectScope
    text: SelectText
    calls: Sequence[Call]

    def edits(self) -> list[Edit]:
        """What is next: names for columns, NULLs, conditions of joins, calls in the block, calls apart."""
        names = self._names()
        if names:
            return names
        ready = [call for call in self.calls if not self._around(call)]
        arguments = {call.key: self._arguments(call) for call in ready}
        nothing = [
            edit(call.span, f"CAST(NULL AS {call.value.type})")
            for call in ready
            if any(one.kind == "null" for one in arguments[call.key])
        ]
        if nothing:
            return nothing
        block = self._block()
        if any(self._in_from(call) for call in self.calls):
            return self._out_of_joins(block)
        exact = block is not None and self._exact(block)
        chosen = self._chosen(ready, arguments) if exact else []
        if chosen and joined_select(self.tree, self.scope) is not None:
            return self._joined(chosen, arguments)
        return apart_edits(
            self.tree,
            self.scope,
            self.text,
            every=self.calls,
            chosen=self._next(ready),
            arguments=arguments,
            exact=exact,
        )

    def _names(self) -> list[Edit]:
        """The text of a call, or of what is around it, as the name of its column, where the column has none."""
        edits = []
        for node, place in self.text.items:
            held = any(place.start <= call.span.start < place.end for call in self.calls)
            if held and not isinstance(node, exp.Alias | exp.Aliases):
                name = " ".join(self._sql(place).split()).replace("`", "``")
                edits.append(Edit(place, (place, f" AS `{name}`")))
        return edits

    def _around(self, call: Call) -> bool:
        """Whether other calls are among the arguments of a call."""
        return any(
            other is not call and call.span.start <= other.span.start and other.span.end <= call.span.end
            for other in self.calls
        )

    def _arguments(self, call: Call) -> list[Argument]:
        return [
            argument_of(self.tree.statement, call, index, self.scope) for index in range(len(call.arguments))
        ]

    def _next(self, ready: Sequence[Call]) -> list[Call]:
        """Those to be made next: of the first condition that has any, so that later ones see fewer rows; else all."""
        for condition in self.text.conditions:
            place = condition.span
            held = [
                call for call in ready if place is not None and place.start <= call.span.start < place.end
            ]
            if held:
                keys = {call.key for call in held}
                return [call for call in ready if call.key in keys]
        return list(ready)

    # in the block -----------------------------------------------------------------------------------------------------

    def _block(self) -> SourceBlock | None:
        """The SELECT as a block, where its tables are joined by inner joins."""
        if not self.scope.flat:
            return None
        try:
            return select_block(self.tree, self.scope)
        except QueryError:
            return None  # whatever is wrong with it will be told when it is planned

    def _exact(self, block: SourceBlock) -> bool:
        """Whether the engine evaluates every condition without calls, so that Spark would leave no fewer rows."""
        try:
            left = [one for one in classify(block) if one.where == "spark"]
        except QueryError:
            return False
        return all(one.span is not None and self._held(one.span) for one in left)

    def _chosen(self, ready: Sequence[Call], arguments: Mapping[str, Sequence[Argument]]) -> list[Call]:
        """The calls that may stand in the block: no row survives their NULLs, and the engine has their arguments."""
        by_node = {id(call.node): call for call in self.calls}
        keys = {
            key
            for condition in self.text.conditions
            if condition.node is not None
            for key in rejecting(condition.node, by_node)
        }
        return [
            call
            for call in ready
            if call.key in keys
            and all(
                one.kind == "constant" or (one.found is not None and one.found.source.table is not None)
                for one in arguments[call.key]
            )
        ]

    def _joined(self, calls: Sequence[Call], arguments: Mapping[str, Sequence[Argument]]) -> list[Edit]:
        tables = called(self.scope, calls, arguments)
        source = self.text.from_text
        assert source is not None, "a condition on rows has rows"
        entries = "".join(f", {one.source}" for one in tables.values())
        asked = [
            one.asked([self._sql(argument.span) for argument in one.arguments]) for one in tables.values()
        ]
        return [
            *value_edits(self.scope.node, calls, tables),
            edit(Span(source.end, source.end), entries),
            *self.text.more(asked),
        ]

    def _out_of_joins(self, block: SourceBlock | None) -> list[Edit]:
        """Conditions of inner joins that hold calls, moved to WHERE."""
        inside = [call for call in self.calls if self._in_from(call)]
        if block is None:
            raise _misplaced(self.tree.statement, inside[0], "in the condition of this join")
        source = self.text.from_text
        assert source is not None, "a join stands in FROM"
        moved = [
            one.span
            for one in block.conditions
            if one.span is not None and one.span.end <= source.end and self._held(one.span)
        ]
        return [*(edit(span, "TRUE") for span in moved), *self.text.more([self._sql(span) for span in moved])]

    def _in_from(self, call: Call) -> bool:
        source = self.text.from_text
        return source is not None and source.start <= call.span.start < source.end

    def _held(self, place: Span) -> bool:
        """Whether a call stands at a place."""
        return any(place.start <= call.span.start < place.end for call in self.calls)

    def _sql(self, span: Span) -> str:
        return self.tree.statement.text_at(span)
