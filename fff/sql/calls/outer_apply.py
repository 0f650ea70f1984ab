"""Calls made for the rows that everything else has left: the SELECT's rows become a query, joined to the functions.

    SELECT title, f(p.x) AS y FROM papers p WHERE year > 2020

is then

    SELECT r.title, `f(p.x)`.value AS y
    FROM (SELECT p.title AS title, p.x AS x FROM papers p WHERE year > 2020) AS r
    LEFT JOIN s.f AS `f(p.x)` ON `f(p.x)`.x = r.x

so that the function is on the nullable side of an outer join, and is fetched with the keys of the other side. Arguments
are passed on as columns where the engine alone finds the rows. Otherwise they are computed ones, cast to the type the
function wants: then the query is run for its keys, once the blocks under it have ended (`fff.sql.analysis.key_queries`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from fff.errors import Span, UnsupportedSQL
from fff.sql.analysis.rewritten import ARGUMENT
from fff.sql.binder.names import has_generator, parts_of, star_tokens
from fff.sql.binder.outer_query import AFTER_SELECT
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, Source, resolve, star_columns
from fff.sql.binder.select_text import SelectText, conjoined
from fff.sql.calls.find import Argument, Call
from fff.sql.calls.guards import Guard, needed_where
from fff.sql.calls.substitute import Called, called, value_edits
from fff.sql.syntax.aggregates import has_aggregate
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.statement import Node, exp, identifier_span, qualified, quote
from fff.structs import Struct, field

#: Clauses that look at more rows than LIMIT leaves.
_WHOLE = ("group", "having", "qualify", "windows", "distinct", "sort", "cluster", "distribute")


def apart_edits(
    tree: QueryTree,
    scope: SelectScope,
    text: SelectText,
    *,
    every: Sequence[Call],
    chosen: Sequence[Call],
    arguments: Mapping[str, Sequence[Argument]],
    exact: bool,
) -> list[Edit]:
    """The edits that make the chosen ones of a SELECT's calls, over the rows that it has without any.

    `exact`: the engine finds those rows by itself.

    Raises:
        UnsupportedSQL: the columns of the SELECT cannot be told.
    """
    tables = called(scope, chosen, arguments)
    return _Apart(tree, scope, text, every, chosen, tables, exact).edits()


class _Apart(Struct, dict=True):
    """One SELECT; `outputs` are the columns of the query that its rows become, by name."""

    tree: QueryTree
    scope: SelectScope
    text: SelectText
    every: Sequence[Call]
    chosen: Sequence[Call]
    tables: Mapping[str, Called]
    exact: bool
    outputs: dict[str, str] = field(default_factory=dict)
    _known: dict[object, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sql = self.tree.statement.sql
        self._rows = next(
            name for number in itertools.count(1) if (name := f"__fff_rows_{number}") not in sql
        )
        self._inside = [
            one for one in self.tree.scopes if any(at.scope is self.scope for at in one.enclosing)
        ]
        self._inner, self._outer = self._conditions()

    def edits(self) -> list[Edit]:
        """FROM and WHERE replaced, columns named where the query has them, calls where their functions are."""
        changed = [*self._columns(), *self._stars()]
        changed += value_edits(self.scope.node, self.chosen, self.tables)
        moved = self._moved()
        joins = []
        for one in self.tables.values():
            guard = needed_where(self.text, self.scope, self.every, one.call)
            asked = one.asked([self._argument(one, index, guard) for index in range(len(one.arguments))])
            joins.append(f" LEFT JOIN {one.source} ON {asked}")
        listed = ", ".join(f"{text} AS {quote(name)}" for name, text in self.outputs.items())
        parts: list[str | Span] = [f" FROM (SELECT {listed or '1 AS __fff_one'}"]
        source = self.text.from_text
        if source is not None:
            parts += [" FROM ", source]
        parts += conjoined(self._inner)
        for clause in moved:
            parts += [f" {self._sql(clause)}"]
        parts += [f") AS {self._rows}", *joins, *conjoined(self._outer), " "]
        gone = [edit(clause, "") for clause in moved if clause != self.text.clause("order")]
        return [Edit(Span(self.text.list_end, self.text.source_end), tuple(parts)), *changed, *gone]

    def _conditions(self) -> tuple[list[Span], list[Span]]:
        """The conditions that the query can have; those that wait for a call, or name a column of a query around."""
        held = [call.span.start for call in self.every]
        for scope in self._inside:
            for node in scope.columns:
                column = resolve(node, scope)
                place = identifier_span(parts_of(node)[0])
                if (
                    isinstance(column, Found)
                    and column.source.scope not in self._inside
                    and place is not None
                ):
                    held.append(place.start)
        places = [condition.span for condition in self.text.conditions if condition.span is not None]
        waiting = {place for place in places if any(place.start <= at < place.end for at in held)}
        return [one for one in places if one not in waiting], [one for one in places if one in waiting]

    def _stays(self, place: Span) -> bool:
        """Whether a place of the text goes into the query, and keeps its names."""
        source = self.text.from_text
        around = [*self._inner, *([] if source is None else [source])]
        return any(one.start <= place.start < one.end for one in around)

    # columns ----------------------------------------------------------------------------------------------------------

    def _columns(self) -> list[Edit]:
        """Every column of the SELECT's own sources that is named outside of the query, there and in queries inside."""
        items = {id(node): place for node, place in self.text.items}
        edits: list[Edit] = []
        renamed: list[int] = []
        for scope in self._inside:
            for node in scope.columns:
                parts = parts_of(node)
                first = identifier_span(parts[0])
                if first is None or self._stays(first):
                    continue
                meaning = resolve(node, scope)
                if meaning == "unknown" and (scope is self.scope or self._is_vague()):
                    raise self._untold(first)
                if not isinstance(meaning, Found) or meaning.source.scope is not self.scope:
                    continue
                if scope is self.scope and self._means_result(node, meaning):
                    continue
                own = parts[meaning.qualifiers]
                end = identifier_span(own)
                assert end is not None, "a name that is written has a place"
                name = self._output(meaning)
                same = name.lower() == own.name.lower()
                text = f"{self._rows}.{quote(own.name if same else name)}"
                if not same:
                    renamed.append(first.start)
                    if id(node) in items and own is parts[-1]:
                        text += f" AS {quote(own.name)}"
                edits.append(edit(Span(first.start, end.end), text))
        return [*edits, *self._headings(renamed)]

    def _headings(self, renamed: Sequence[int]) -> list[Edit]:
        """The text of an expression as the name of its column, where the names in it change."""
        edits = []
        for node, place in self.text.items:
            if isinstance(node, exp.Alias | exp.Aliases | exp.Column | exp.Star):
                continue
            if any(place.start <= at < place.end for at in renamed):
                name = " ".join(self._sql(place).split()).replace("`", "``")
                edits.append(Edit(place, (place, f" AS `{name}`")))
        return edits

    def _stars(self) -> list[Edit]:
        edits = []
        for node in self.scope.stars:
            star = node.this if isinstance(node, exp.Column) else node
            own = identifier_span(star)
            if own is None or self._stays(own):
                continue
            merged = self.scope.merged and star is node
            columns = None if merged else star_columns(self.scope, node)
            if not columns:
                raise self._untold(own)
            place = self.tree.statement.span(*star_tokens(self.tree.statement, node))
            edits.append(edit(place, ", ".join(itertools.starmap(self._starred, columns))))
        return edits

    def _starred(self, source: Source, index: int) -> str:
        name, column = self._output(Found(source, index, 1)), (source.names or ())[index]
        again = "" if name == column else f" AS {quote(column)}"
        return f"{self._rows}.{quote(name)}{again}"

    def _output(self, resolved: Found) -> str:
        """The query's column that a column of its sources becomes."""
        source = resolved.source
        assert source.names is not None, "a column that was found has a name"
        column = source.names[resolved.index]
        key: object = column.lower() if resolved.others else (source, resolved.index)
        if key not in self._known:
            name = column
            if name.lower() in map(str.lower, self.outputs):
                name = "_" + re.sub(r"\W", "_", f"{source.alias}_{column}")
            while name.lower() in map(str.lower, self.outputs):
                name += "_"
            bare = resolved.others or not source.alias
            self.outputs[name] = quote(column) if bare else qualified(source.alias, column)
            self._known[key] = name
        return self._known[key]

    def _argument(self, one: Called, index: int, guard: Guard | None) -> str:
        """What an argument is equal to: a constant, or a column of the query, NULL where the value does not matter."""
        argument, declared = one.arguments[index], one.table.columns[index]
        if argument.kind == "constant":
            return self._sql(argument.span)
        if argument.found is not None and self.exact and guard is None:
            return f"{self._rows}.{quote(self._output(argument.found))}"
        name = f"{ARGUMENT}{len(self.outputs)}"
        text = self._sql(argument.span)
        if guard is not None:
            text = guard.over(text)
        self.outputs[name] = f"CAST({text} AS {declared.type})"
        return f"{self._rows}.{name}"

    def _means_result(self, node: Node, resolved: Found) -> bool:
        """Whether a bare name means a column of the result before one of a source, as it does behind the select list."""
        if len(parts_of(node)) > 1 or _clause(node, self.scope.node) not in AFTER_SELECT:
            return False
        made = [item for item in self.scope.node.expressions if _name_of(item) == node.name.lower()]
        return len(made) == 1 and (isinstance(node.parent, exp.Ordered) or bool(resolved.others))

    def _is_vague(self) -> bool:
        return any(source.names is None for source in self.scope.sources)

    def _untold(self, place: Span) -> UnsupportedSQL:
        functions = ", ".join(dict.fromkeys(one.table.full_name for one in self.tables.values()))
        return self.tree.statement.unsupported(
            f"beside a call of {functions} it cannot be told which columns this means",
            place,
            hint="write the columns out, with the aliases of their tables before them",
        )

    # LIMIT ------------------------------------------------------------------------------------------------------------

    def _moved(self) -> list[Span]:
        """ORDER BY, LIMIT and OFFSET, where they choose the rows that calls are made for: none looks at a call."""
        select = self.scope.node
        limit, order = self.text.clause("limit"), self.text.clause("order")
        if limit is None or self._outer or any(select.args.get(name) for name in _WHOLE):
            return []
        if any(_clause(call.whole, select) != "expressions" for call in self.every):
            return []
        if any(
            has_aggregate(item) or item.find(exp.Window) or has_generator(item) for item in select.expressions
        ):
            return []
        if order is not None and not all(map(self._is_column, select.args["order"].expressions)):
            return []
        offset = self.text.clause("offset")
        return [clause for clause in (order, limit, offset) if clause is not None]

    def _is_column(self, ordered: Node) -> bool:
        """Whether rows are ordered by a column of a source, and not by one of the result that is called like it."""
        node = ordered.this
        if not isinstance(node, exp.Column) or not isinstance(resolve(node, self.scope), Found):
            return False
        if len(parts_of(node)) > 1:
            return True
        made = [item for item in self.scope.node.expressions if _name_of(item) == node.name.lower()]
        return all(isinstance(item, exp.Column) for item in made)

    def _sql(self, span: Span) -> str:
        return self.tree.statement.text_at(span)


def _clause(node: Node, select: Node) -> str:
    """The part of a SELECT that a node stands in."""
    at = node
    while at.parent is not None and at.parent is not select:
        at = at.parent
    return str(at.arg_key or "").rstrip("_")


def _name_of(item: Node) -> str:
    """The name of a result column, lower case; nothing for one that Spark names."""
    return str(item.alias or (item.name if isinstance(item, exp.Column) else "")).lower()
