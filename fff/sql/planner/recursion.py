"""Recursive queries that follow links of tables read by key: blocks that find the keys, level by level, before Spark recurs.

    WITH RECURSIVE walk AS (SELECT id, next FROM t WHERE id = 1 UNION ALL SELECT t.id, t.next FROM walk JOIN t ON t.id = walk.next)

The SELECT behind UNION ALL becomes a block of its own, over a table `walk` that no source holds. Its rows are those of the
SELECTs in front and, level by level, what the block's own results make of its columns, each row once: a superset of
Spark's. The tables that are read by key get the keys that the block finds in them. Spark runs the statement as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from fff.catalog import Catalog, ScanMethod, Table
from fff.dataflow.plan.expressions import Column, Expr, Literal, columns_of
from fff.errors import QueryError
from fff.schema import Field, comparison_kind
from fff.sql.analysis.equalities import place
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.analysis.semi_joins import KeyEdge, Restrictions
from fff.sql.binder.build_scopes import read_queries
from fff.sql.binder.names import Relation
from fff.sql.binder.scopes import Query, QueryTree, SelectScope, Source
from fff.sql.calls.joined_select import joined_select
from fff.sql.planner.block_order import Draft, Walk
from fff.sql.planner.engine_answer import AnsweredSelect, engine_answer
from fff.sql.syntax.edits import edit
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.statement import exp, identifier_span, quote
from fff.structs import Struct, replace


class _UnionTerm(Struct, frozen=True):
    """One SELECT of a recursive query, as a statement of its own that the engine would answer."""

    answer: AnsweredSelect
    fields: tuple[Field, ...]
    draft: Draft


#: What tables get keys from, beside what the text says.
Edges = list[tuple[Source, KeyEdge]]


def followed(
    tree: QueryTree,
    restrictions: Restrictions,
    bounds: Mapping[Query, int],
) -> list[Draft]:
    """Blocks that find keys by recursion, and end where as many rows are enough; from then on the restrictions know of the keys that they find.

    Each of their results is a row of the recursive query, which has more where rows come twice.
    """
    drafts: list[Draft] = []
    for query in tree.queries:
        if query.recursive:
            walked, edges = _walk(tree, query)
            if walked:
                walked[-1].limit = bounds.get(query)
            drafts += walked
            for source, edge in edges:
                restrictions.edges[source].append(edge)
    return drafts


def with_columns(text: Rewritten) -> Rewritten | None:
    """The text with queries that name their columns for recursive ones in FROM, to be run for keys as any other; None where there are none.

    Raises QueryError.
    """
    tree, edits = text.tree, []
    for source in tree.sources:
        made = None if source.query is None or not source.query.recursive else source.query.node.parent
        if not isinstance(made, exp.CTE) or made in (source.node.find_ancestor(exp.CTE), source.node):
            continue
        names = [one.name for one in made.args["alias"].columns]
        first = made.this
        while isinstance(first, exp.SetOperation):
            first = first.this
        names = names or [one.alias_or_name for one in first.expressions]
        place = identifier_span(source.node.this)
        if place is not None and all(names) and "*" not in names:
            listed, own = ", ".join(map(quote, names)), quote(source.node.name)
            alias = "" if source.node.args.get("alias") else f" AS {own}"
            edits.append(edit(place, f"(SELECT {listed} FROM {own}){alias}"))  # noqa: S608 - names of the statement
    return text.edited(edits) if edits else None


def _walk(tree: QueryTree, query: Query) -> tuple[list[Draft], Edges]:
    """The blocks of a recursive query: of the SELECTs in front, where they read tables, and of the one that recurs."""
    node = query.node.unnest()
    unites = isinstance(node, exp.Union) and node.args.get("distinct") is False
    if not unites or query.limited or len(query.branches) < 2:
        return [], []
    *first, last = query.branches
    if node.expression is None or node.expression.unnest() is not last.node:
        return [], []
    maybe_terms = [_term(tree, scope, tree.catalog) for scope in first]
    terms = [one for one in maybe_terms if one is not None]
    cte = query.node.parent
    table = _table(cte.alias if isinstance(cte, exp.CTE) else "", query.renamed, terms)
    if len(terms) < len(first) or table is None:
        return [], []
    step = _term(tree, last, tree.catalog.beside([table]))
    if step is None or [one.arrow for one in step.fields] != [one.arrow for one in table.columns]:
        return [], []
    scope = step.draft.block.scope
    walks = [one for one in scope.relations if one.table is table]
    if len(walks) != 1 or walks[0].ordinal in step.draft.block.right:
        return [], []
    relation = walks[0]
    wanted = _wanted(step, relation)
    if not wanted:
        return [], []
    values = {index: step.answer.items[index].value.expr for index in wanted}
    read = {column for value in values.values() for column in columns_of(value)}
    # What stands in the table's place in each of its rows is found among its keys.
    own = {
        Column(one.ordinal, index)
        for one in scope.relations
        for index in _keys(one.table)
        if one is not relation
    }
    step.draft.ordered = tuple(sorted(read | own, key=place))
    step.draft.walk = Walk(
        relation, values, () if _spelled(terms) else tuple((one.draft, _values(one)) for one in terms)
    )
    drafts = [*(one.draft for one in terms if one.draft.sources), step.draft]
    return drafts, list(_edges(tree, last, step.draft))


def _edges(tree: QueryTree, scope: SelectScope, draft: Draft) -> Iterator[tuple[Source, KeyEdge]]:
    """The tables of the SELECT that recurs get the keys that its block finds in them."""
    assert scope.region is not None, "it stands in the text"
    start = tree.statement.tokens[scope.region.first].start
    readers = {
        source.span.start: source for source in scope.sources if source.table is not None and source.span
    }
    for one in draft.sources:
        reader = None if one.span is None else readers.get(one.span.start + start)
        if reader is not None and one.table is not None:
            for index in sorted(_keys(one.table)):
                yield reader, KeyEdge(index, one, index, ((one, index),))


def _term(tree: QueryTree, scope: SelectScope, catalog: Catalog) -> _UnionTerm | None:
    """A SELECT by itself; None where the engine does not evaluate all of it, or takes only some of its rows."""
    if scope.region is None or scope.outer is not None or scope.inner:
        return None
    statement = tree.statement
    span = statement.span(scope.region.first, scope.region.end)
    try:
        alone = read_queries(parse_statement(statement.text_at(span), statement.params), catalog)
        [own] = alone.scopes
        select = joined_select(alone, own)
        answer = None if select is None else engine_answer(alone, {own: select})
    except (QueryError, ValueError):
        return None
    if select is None or answer is None or (answer.cut.offset, answer.cut.limit) != (0, None):
        return None
    [joined] = answer.selects
    draft = Draft(tuple(own.sources), select.block, select.above, select.conjuncts, helps=True)
    draft.ordered = joined.columns
    return _UnionTerm(joined, answer.fields, draft)


def _table(name: str, renamed: Sequence[str] | None, terms: Sequence[_UnionTerm]) -> Table | None:
    """The table of the rows of a recursive query; None where it cannot be told what they are like."""
    kinds = {tuple(one.arrow for one in term.fields) for term in terms}
    if len(kinds) != 1 or any(comparison_kind(kind) is None for kind in next(iter(kinds))):
        return None
    names = renamed or [one.name for one in terms[0].fields]
    plain = all(isinstance(value, Column | Literal) for term in terms for value in _values(term))
    reads = {bool(term.draft.sources) for term in terms}
    if len(names) != len(terms[0].fields) or len({one.lower() for one in names}) < len(names):
        return None
    if not plain or len(reads) > 1:
        return None
    fields = tuple(replace(one, name=other) for one, other in zip(terms[0].fields, names, strict=True))
    rows = _rows(fields, terms) if _spelled(terms) else None
    return Table("", name, fields, scans=(ScanMethod(f"{name}.scan", rows),))


def _spelled(terms: Sequence[_UnionTerm]) -> bool:
    """Whether the SELECTs in front read no table."""
    return not any(term.draft.sources for term in terms)


def _rows(fields: Sequence[Field], terms: Sequence[_UnionTerm]) -> pa.Table:
    cells = zip(*(_values(term) for term in terms), strict=True)
    return pa.table(
        {
            field.name: pa.array([one.value for one in some if isinstance(one, Literal)], field.arrow)
            for field, some in zip(fields, cells, strict=True)
        }
    )


def _values(term: _UnionTerm) -> tuple[Expr, ...]:
    """What a SELECT in front makes of the declared columns of its block."""
    return tuple(item.value.expr for item in term.answer.items)


def _wanted(step: _UnionTerm, relation: Relation) -> list[int]:
    """The columns that decide which keys are asked for: those of conditions, and what their next values come from."""
    exprs = [one.expr for one in step.answer.select.conjuncts if one.expr is not None]
    wanted: set[int] = set()
    while exprs:
        new = {one.index for expr in exprs for one in columns_of(expr) if one.alias == relation.ordinal}
        exprs = [step.answer.items[index].value.expr for index in new - wanted]
        wanted |= new
    return sorted(wanted)


def _keys(table: Table) -> set[int]:
    """The columns by which a table can be looked up."""
    names = {name.lower() for method in table.lookups for name in method.keys}
    return {index for index, field in enumerate(table.columns) if field.name.lower() in names}
