"""Writes the Spark SQL above a block: the user's own text, with FROM and WHERE replaced by a view over the block.

The text is edited, not generated, so that Spark names the result columns as it would have named them. Where all needed
columns have different names, qualifiers become the view's name. Where two aliases have columns of one name, the view's
columns are named `alias_column` and the aliases come back as lateral one-row tables: Spark's optimizer turns those into
a projection, and `avg(D.zip)` keeps its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise

from fff.dataflow.plan.expressions import Column
from fff.errors import QueryError, Span
from fff.schema import Field
from fff.sql.analysis.column_lineage import needs_of
from fff.sql.analysis.grouped_select import grouped_select
from fff.sql.binder.names import not_taken, try_resolve
from fff.sql.binder.outer_query import Above, ColumnUse, StarUse, result_names
from fff.sql.binder.select_text import SelectText
from fff.sql.binder.spj_block import Condition, SourceBlock
from fff.sql.plan import BlockQuery, OwnWords, SparkFilter, UpperQuery
from fff.sql.planner.block import BlockParts
from fff.sql.syntax.edits import Edit, applied, edit
from fff.sql.syntax.parameters import params as parameters
from fff.sql.syntax.parameters.param_types import BigInt
from fff.sql.syntax.statement import Statement, TokenType, exp, quote
from fff.structs import Struct, lazy_pattern, replace

#: The view that holds the block's result.
VIEW = "__fff_block"

#: One more column: how many rows a group rests on.
_COUNT = ", count(*) AS __fff_rows "
_NOT_IN_NAMES = lazy_pattern(r"\W", re.ASCII)


class _SparkWriter(Struct, frozen=True, dict=True):
    block: SourceBlock
    output: Sequence[Column]
    fields: tuple[Field, ...]
    lateral: bool
    view: str

    def qualifier(self, column: Column) -> str:
        """What stands before a column's name in the new text."""
        return quote(self._aliases[column.alias]) if self.lateral else self.view

    @cached_property
    def _aliases(self) -> dict[int, str]:
        """What the laterals are called: by the aliases, but where a variable of a function may be called so."""
        variables = {
            one.name.lower() for node in self.block.select.find_all(exp.Lambda) for one in node.expressions
        }
        aliases = {one.ordinal: one.alias for one in self.block.scope.relations}
        taken = variables | {alias.lower() for alias in aliases.values()}
        for ordinal, alias in aliases.items():
            if alias.lower() in variables:
                aliases[ordinal] = not_taken(alias, taken)
                taken.add(aliases[ordinal].lower())
        return aliases

    def name(self, column: Column) -> str:
        """A column in the new text, with its qualifier."""
        return f"{self.qualifier(column)}.{quote(self.block.scope.field(column).name)}"

    def edits(self, uses: Sequence[ColumnUse | StarUse]) -> list[Edit]:
        """What changes where columns are named."""
        edits = []
        for use in uses:
            if isinstance(use, StarUse):
                nothing = f"{self.view}.* EXCEPT ({', '.join(quote(one.name) for one in self.fields)})"
                if use.span.end:
                    written = ", ".join(self.name(column) for column in use.columns)
                    edits.append(edit(use.span, written or nothing))
            elif use.reference.qualifiers or self._shared(use.reference.column):
                edits.append(edit(use.prefix, f"{self.qualifier(use.reference.column)}."))
        return edits

    def source(self) -> str:
        """The FROM clause."""
        if not self.lateral:
            return f"FROM {self.view}"
        parts = [self.view]
        for relation in self.block.scope.relations:
            members = [
                f"{self.view}.{field.name} AS {quote(self.block.scope.field(column).name)}"
                for column, field in zip(self.output, self.fields, strict=True)
                if column.alias == relation.ordinal
            ]
            if members:
                parts.append(
                    f"LATERAL (SELECT {', '.join(members)}) AS {quote(self._aliases[relation.ordinal])}"
                )
        return "FROM " + ", ".join(parts)

    def _shared(self, column: Column) -> bool:
        name = self.block.scope.field(column).name.lower()
        return (
            self.lateral and sum(self.block.scope.field(one).name.lower() == name for one in self.output) > 1
        )


def write_upper(
    parts: BlockParts, above: Above, output: Sequence[Column], text: Callable[[], SelectText]
) -> UpperQuery:
    """The upper query of a statement that is one block whose output is `output` (declared columns)."""
    block, residual = parts.block, parts.residual + parts.undecided
    statement, place = block.statement, Span(0, len(block.statement.sql))
    shared = shared_edits(statement)
    sql = applied(statement.sql, place, [*block_edits(block, above, residual, output, VIEW), *shared])
    upper = UpperQuery(
        finished(sql),
        ", ".join(above.reasons),
        above.aggregated,
        tuple(result_names(block)),
        words=OwnWords.of([(VIEW, block, output, view_fields(block, output))]),
    )
    if above.keys is None or block.from_range is None:
        return upper
    edits = block_edits(block, above, residual, output, VIEW, more=_COUNT)
    counted = finished(applied(statement.sql, place, [*edits, *shared]))
    return with_groups(replace(upper, counted=counted), parts, above, output, text)


def with_groups(
    upper: UpperQuery,
    parts: BlockParts,
    above: Above,
    output: Sequence[Column],
    text: Callable[[], SelectText],
) -> UpperQuery:
    """The upper query of a SELECT over the rows of one block, with what its groups are made of if it has any."""
    if above.keys is None:
        return upper
    block, residual = parts.block, parts.residual + parts.undecided
    return replace(
        upper,
        group_keys=tuple(None if key is None else output.index(key) for key in above.keys),
        needs=needs_of(block, residual, output),
        grouped=grouped_select(block, text, residual, output),
    )


def block_edits(
    block: SourceBlock,
    above: Above,
    residual: Sequence[Condition],
    output: Sequence[Column],
    view: str,
    *,
    more: str = "",
) -> list[Edit]:
    """What changes in the text of a SELECT whose FROM and WHERE become a view of the block's rows.

    `more` is put at the end of the select list.
    """
    writer = _SparkWriter(block, output, view_fields(block, output), _ambiguous(block, output), view)
    edits = writer.edits(above.uses)
    if block.from_range is None:
        return edits
    parts: list[str | Span] = [more + writer.source()]
    for number, condition in enumerate(residual):
        parts += [" AND (" if number else " WHERE (", *_condition(writer, condition), ")"]
    behind = block.statement.sql[block.from_range.end : block.from_range.end + 1]
    if behind and not behind.isspace() and behind != ")":
        parts.append(" ")
    return [*edits, Edit(block.from_range, tuple(parts))]


def spark_filters(
    parts: BlockParts, query: BlockQuery, output: Sequence[Column], edits: Sequence[Edit], *, joined: bool
) -> list[SparkFilter]:
    """What counts the rows that each condition of a block throws away that is left to Spark.

    `edits` are those of the whole statement. `joined`: the block's FROM and WHERE are a view in them, not its one table.
    """
    block = parts.block
    writer = _SparkWriter(block, output, query.fields, joined and _ambiguous(block, output), query.view)
    source = writer.source()
    if not joined:
        alias = quote(block.scope.relations[0].alias)
        writer, source = replace(writer, view=alias), f"{source} AS {alias}"
    filters = []
    for condition in parts.residual:
        pieces = _condition(writer, condition)
        text = "".join(
            applied(block.statement.sql, one, edits) if isinstance(one, Span) else one for one in pieces
        )
        keys, unknown = _keys_beside(condition, parts, query, output, writer)
        # A query of its own for the condition: what is different each time may not stand in an aggregate.
        spent = [
            f"(SELECT count(*) FROM (SELECT 1 FROM (SELECT struct({columns}) AS key, {text} AS kept {source}) "  # noqa: S608 - the user's own text
            "GROUP BY key HAVING NOT coalesce(bool_or(kept), false)))"
            for columns in keys.values()
        ]
        counted = ", ".join(["count(*)", "count_if(kept)", *spent])
        counts = f"SELECT {counted} FROM (SELECT {text} AS kept {source})"  # noqa: S608
        filters.append(SparkFilter(" ".join(condition.text.split()), counts, tuple(keys), unknown))
    return filters


def _keys_beside(
    condition: Condition,
    parts: BlockParts,
    query: BlockQuery,
    output: Sequence[Column],
    writer: _SparkWriter,
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Lookups that a condition could have spared keys, had the engine checked it: their keys in the view; those without.

    A lookup of a table that the condition reads is none of them.
    """
    block, keys, unknown = parts.block, dict[str, str](), list[str]()
    read = {column.alias for column in condition.pair or ()}
    for node in [] if condition.node is None else condition.node.find_all(exp.Column):
        with suppress(QueryError):  # a name of a query inside, which is not ambiguous there
            resolved = try_resolve(block.statement, node, condition.scope)
            read |= set() if resolved is None else {resolved.column.alias}
    for binding in query.bindings:
        table = block.scope.relation(binding.alias).table
        if binding.alias in read or binding.seed is not None:
            continue
        places = {field.name: place for place, field in enumerate(table.columns)}
        equal = [Column(binding.alias, places[key.column]) for key in binding.keys if key.columns]
        seen = [next((c for c in (one, *parts.equalities.others(one)) if c in output), None) for one in equal]
        name = f"{table.source}.{binding.method}"
        if None in seen:
            unknown.append(name)
        else:
            keys[name] = ", ".join(writer.name(column) for column in seen if column is not None)
    return keys, tuple(dict.fromkeys(unknown))


def shared_edits(statement: Statement) -> list[Edit]:
    """What changes in any statement: parameters become literals, and hints go, which name tables that are not there."""
    return [*_parameter_edits(statement), *_hint_edits(statement)]


def finished(sql: str) -> str:
    """A statement without what may stand around it."""
    return sql.strip().rstrip(";").rstrip()


def _ambiguous(block: SourceBlock, output: Sequence[Column]) -> bool:
    """Whether two columns of the output have one name."""
    names = [block.scope.field(column).name.lower() for column in output]
    return len(set(names)) < len(names)


def view_fields(block: SourceBlock, output: Sequence[Column]) -> tuple[Field, ...]:
    """The view's columns; under laterals none may be called like any column the user can name."""
    fields = [block.scope.field(column) for column in output]
    if not _ambiguous(block, output):
        return tuple(fields)
    in_use = {field.name.lower() for relation in block.scope.relations for field in relation.table.columns}
    result = []
    for column, field in zip(output, fields, strict=True):
        alias = block.scope.relation(column.alias).alias
        name = "_" + _NOT_IN_NAMES.sub("_", f"{alias}_{field.name}")
        while name.lower() in in_use:
            name += "_"
        in_use.add(name.lower())
        result.append(Field(name, field.type, field.arrow))
    return tuple(result)


def _condition(writer: _SparkWriter, condition: Condition) -> list[str | Span]:
    if condition.pair is not None:
        return [" = ".join(writer.name(column) for column in condition.pair)]
    assert condition.span is not None
    return [condition.span]


def _parameter_edits(statement: Statement) -> list[Edit]:
    """Typed literals for `:name`; a count given as a string by the command line, or as a bigint, is a number."""
    counts = {
        after.start
        for token, after in pairwise(statement.tokens)
        if token.token_type in {TokenType.LIMIT, TokenType.OFFSET}
    }
    edits = []
    for marker in parameters.markers(statement):
        value = statement.params[marker.name]
        if marker.span.start in counts and (
            isinstance(value, BigInt) or (isinstance(value, str) and value.isascii() and value.isdigit())
        ):
            value = int(value)
        edits.append(edit(marker.span, parameters.render(marker.name, value)))
    return edits


def _hint_edits(statement: Statement) -> list[Edit]:
    edits = []
    for token in statement.tokens:
        if token.token_type is TokenType.HINT:
            end = statement.sql.find("*/", token.start)
            edits.append(edit(Span(token.start, end + 2 if end >= 0 else token.end + 1), ""))
    return edits
