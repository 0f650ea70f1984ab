"""Plans statements of any shape: every table fetched by some eddy, the whole statement run by Spark over their rows.

Subqueries of WHERE that mean semi and anti joins become such first, where the eddy can run them (`unnested`). A SELECT over
tables joined by inner, left, semi and anti joins becomes one block, and its FROM and WHERE a view of the
joined rows, where the eddy evaluates the ON conditions of the latter three and reaches their right sides. In any other SELECT each table becomes a block and a view of its own. What may be left out of a table without changing the
result is left out of it: rows that fail a condition on it alone, and, where it answers lookups only, rows whose key no
other side of the join and no outer query has (design section 3; `fff.sql.analysis.semi_joins`, `fff.sql.planner.block_order`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fff.dataflow.plan.expressions import Column
from fff.errors import InfeasibleQuery, InvariantError, QueryError, Span
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.analysis.semi_joins import Restrictions
from fff.sql.binder.build_scopes import check_names
from fff.sql.binder.checks import names_all
from fff.sql.binder.grouping import check_grouping
from fff.sql.binder.names import parts_of, qualifier_of
from fff.sql.binder.row_bounds import Bounds
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, Source, resolve
from fff.sql.binder.select_text import SelectText, table_edits
from fff.sql.calls.joined_select import JoinedSelect, is_one_block, joined_select
from fff.sql.calls.subqueries import Subquery, subqueries
from fff.sql.plan import BlockQuery, Branch, KeyQuery, OwnWords, Prepared, UpperQuery
from fff.sql.planner.block import BlockParts
from fff.sql.planner.block_order import Draft, settle, table_draft
from fff.sql.planner.engine_answer import EngineAnswer, engine_answer, is_union
from fff.sql.planner.spark_query import (
    VIEW,
    block_edits,
    finished,
    shared_edits,
    spark_filters,
    view_fields,
    with_groups,
    write_upper,
)
from fff.sql.syntax.aggregates import is_aggregated
from fff.sql.syntax.edits import applied
from fff.sql.syntax.statement import arg, exp, keyword
from fff.structs import replace

#: Subqueries that are left as they are, after which no more are tried.
_MOST_SUBQUERIES = 20


def plan_queries(
    tree: QueryTree,
    at_hand: frozenset[tuple[str, ...]] = frozenset(),
) -> Prepared:
    """The blocks of a statement and the Spark SQL over them, if it needs any; columns named `at_hand` are fetched as well.

    Raises:
        QueryError: a name that is not there.
        InfeasibleQuery: a table whose key columns nothing binds.
    """
    bounds = Bounds.of(tree)
    selects = _joined(tree)
    answer = engine_answer(tree, selects)
    drafts = {
        scope: _draft(scope, select, bounds.scopes.get(scope))
        for scope, select in selects.items()
        if answer is not None or is_one_block(tree) or len(scope.sources) > 1 or _ordered(scope)
    }
    if not is_one_block(tree):  # of which every name has been resolved
        check_names(tree)
    check_grouping(tree)
    if answer is not None:
        return _by_engine(tree, answer, drafts, at_hand)
    if is_one_block(tree):
        [(scope, draft)] = drafts.items()
        draft.settle()
        return _of_one_block(draft, at_hand, partial(SelectText.of, tree.statement, scope))
    restrictions = Restrictions.of(tree)
    joined = {source for draft in drafts.values() for source in draft.sources}

    def settled(first: Sequence[Draft]) -> list[Draft]:
        alone = _single(tree, joined, restrictions, bounds)
        return settle([*first, *drafts.values(), *alone], restrictions)

    try:
        order = settled(())
    except InfeasibleQuery:
        from fff.sql.planner.recursion import followed  # noqa: PLC0415 - few statements are recursive

        first = followed(tree, restrictions, bounds.recursive)
        if not first:
            raise
        order = settled(first)
    return _of_many(tree, order, at_hand)


def unnested(text: Rewritten) -> Rewritten:
    """The statement with joins for those subqueries of WHERE that the eddy can join."""
    candidates, tried = list(subqueries(text.tree)), 0
    if candidates:
        check_names(text.tree)
    while tried < min(len(candidates), _MOST_SUBQUERIES):
        grown = text.edited(candidates[tried].edits)
        if _joins(text.tree, candidates[tried], grown):
            text, candidates = grown, list(subqueries(grown.tree))
        else:
            tried += 1
    return text


def _joins(tree: QueryTree, subquery: Subquery, grown: Rewritten) -> bool:
    """Whether the eddy runs what a subquery has become by no more requests than it would take by itself."""
    try:
        scope = grown.tree.scopes[tree.scopes.index(subquery.outer)]  # those inside a SELECT come behind it
        select = joined_select(grown.tree, scope)
        if select is None:
            return False
        BlockParts.of(select.block)
    except QueryError:  # among them a table that only the keys of the subquery reach
        return False
    alone = joined_select(tree, subquery.inner)
    try:
        seed = None if alone is None else BlockParts.of(alone.block).access.aliases[0].seed
    except QueryError:  # it needs the keys of the rows around it
        return True
    # No list of constants is asked of a right side.
    return seed is None or len(seed.keys) == 1


def _draft(scope: SelectScope, select: JoinedSelect, bound: int | None) -> Draft:
    """The block of a SELECT of whose rows so many are enough."""
    draft = Draft(tuple(scope.sources), select.block, select.above, select.conjuncts)
    if select.above.row_wise:
        draft.limit = bound
    return draft


def _single(
    tree: QueryTree,
    joined: set[Source],
    restrictions: Restrictions,
    bounds: Bounds,
) -> list[Draft]:
    """The tables that are in no block yet, each as a block of its own."""
    needed = _needed(tree)
    drafts = []
    for source in tree.sources:
        if source.table is not None and source not in joined:
            draft = table_draft(tree.statement, source.scope.node, source, restrictions.filters[source])
            draft.need([Column(0, index) for index in needed[source]])
            draft.bounded(bounds.sources.get(source), source.scope.conditions)
            drafts.append(draft)
    return drafts


def _by_engine(
    tree: QueryTree,
    answer: EngineAnswer,
    drafts: Mapping[SelectScope, Draft],
    at_hand: frozenset[tuple[str, ...]],
) -> Prepared:
    """A statement that the engine answers: rows leave as they are found, with what the select lists make of them."""
    blocks: list[BlockQuery] = []
    branches: list[Branch] = []
    warnings: list[str] = []
    for one in answer.selects:
        draft = drafts[one.scope]
        if not one.scope.sources:
            branches.append(one.branch(None, ()))
            continue
        draft.ordered = one.columns
        draft.hesitant = (one.cut.limit, answer.cut.limit) != (None, None)
        draft.settle()
        branches.append(one.branch(len(blocks), draft.output))
        blocks.append(draft.block_query("", [draft], {}, at_hand))
        warnings += draft.settled.warnings
    return Prepared(
        tree.statement.sql,
        tuple(blocks),
        result=answer.result(branches),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _of_one_block(
    draft: Draft, at_hand: frozenset[tuple[str, ...]], text: Callable[[], SelectText]
) -> Prepared:
    """A statement that is one block: its rows come joined, for Spark to do with them what stands above."""
    above, parts = draft.above, draft.settled
    assert above is not None, "a SELECT that is a block has something above that"
    query = draft.block_query(VIEW, [draft], {}, at_hand)
    upper = write_upper(parts, above, draft.output, text)
    if parts.residual and draft.sources:
        edits = block_edits(parts.block, above, (), draft.output, VIEW)
        edits += shared_edits(parts.block.statement)
        filters = spark_filters(parts, query, draft.output, edits, joined=True)
        upper = replace(upper, filters=tuple(filters))
    return Prepared(parts.block.statement.sql, (query,), upper=upper, warnings=parts.warnings)


def _of_many(tree: QueryTree, order: Sequence[Draft], at_hand: frozenset[tuple[str, ...]]) -> Prepared:
    """A statement of any shape: Spark runs it over views of the rows of its blocks."""
    statement = tree.statement
    edits = shared_edits(statement)
    for number, draft in enumerate(order):
        if draft.helps:
            continue
        if draft.above is None:
            edits += table_edits(tree, draft.sources[0], _view(number))
        else:
            block = draft.settled.block
            residual = draft.settled.residual + draft.settled.undecided
            edits += block_edits(block, draft.above, residual, draft.output, _view(number))
    joined = {
        draft.sources[0].scope: draft.above.reasons
        for draft in order
        if draft.above is not None and not draft.helps
    }
    why, place = _why(tree, joined), Span(0, len(statement.sql))
    texts = {text.query: text for draft in order for text in draft.texts}
    views = {query: f"__fff_keys_{number + 1}" for number, query in enumerate(texts)}
    final = [*edits, *(text.replaced(views[query]) for query, text in texts.items())]
    queries = {
        query: KeyQuery(
            text.sql(statement, final),
            views[query],
            tuple(number for number, draft in enumerate(order) if text.reads & set(draft.sources)),
            (),
        )
        for query, text in texts.items()
    }
    blocks = tuple(
        draft.block_query("" if draft.helps else _view(number), order, queries, at_hand)
        for number, draft in enumerate(order)
    )
    upper = UpperQuery(
        finished(applied(statement.sql, place, edits)),
        ", ".join(why),
        aggregated="an aggregate" in why,
        names=tuple(tree.root.node.named_selects) if isinstance(tree.root.node, exp.Query) else ("result",),
        final=finished(applied(statement.sql, place, final)) if texts else None,
        key_views=len(texts),
        filters=tuple(
            one
            for draft, block in zip(order, blocks, strict=True)
            if not draft.helps
            for one in spark_filters(
                draft.settled, block, draft.output, edits, joined=draft.above is not None
            )
        ),
        words=OwnWords.of(
            [
                (
                    _view(number),
                    draft.settled.block,
                    draft.output,
                    view_fields(draft.settled.block, draft.output),
                )
                for number, draft in enumerate(order)
                if not draft.helps
            ]
        ),
    )
    if len(order) == len(tree.scopes) == 1 and (above := order[0].above) is not None:
        text = partial(SelectText.of, statement, tree.scopes[0])
        upper = with_groups(upper, order[0].settled, above, order[0].output, text)
    return Prepared(
        sql=statement.sql,
        blocks=blocks,
        upper=upper,
        warnings=tuple(dict.fromkeys(text for draft in order for text in draft.settled.warnings)),
    )


def _view(number: int) -> str:
    return f"__fff_{number + 1}"


def _joined(tree: QueryTree) -> dict[SelectScope, JoinedSelect]:
    """The SELECTs that can be blocks: those over several tables that inner joins connect, and what the engine might answer.

    A SELECT over a single table is one, too, where its order may be that of the table, so that LIMIT ends the scan.
    """
    alone = is_one_block(tree) or is_union(tree)
    joined = {}
    for scope in tree.scopes:
        if not (alone or len(scope.sources) > 1 or _ordered(scope)):
            continue
        select = joined_select(tree, scope)
        if select is not None and not (scope.one_sided and _unreached(select)):
            joined[scope] = select
        elif scope.flat and any(source.called for source in scope.sources):
            raise InvariantError("a call was put into a SELECT that is no block")
    return joined


def _unreached(select: JoinedSelect) -> bool:
    """Whether a right side can only be read with keys that the eddy does not compute."""
    try:
        BlockParts.of(select.block)
    except InfeasibleQuery as error:
        return not select.block.right.keys().isdisjoint(error.unreached)
    return False


def _ordered(scope: SelectScope) -> bool:
    """Whether a SELECT over one table takes its first rows by an order that the table's source knows."""
    table = scope.sources[0].table if scope.sources else None
    known = table is not None and bool(table.order or table.sortable)
    return known and all(scope.node.args.get(name) is not None for name in ("order", "limit"))


# ---------------------------------------------------------------------------------------------------- tables by themselves


def _needed(tree: QueryTree) -> defaultdict[Source, set[int]]:
    """The columns of each web table that the statement may name: all that it can mean, where it is not clear."""
    needed: defaultdict[Source, set[int]] = defaultdict(set)
    for scope in tree.scopes:
        for source in scope.reach:
            for name in (*scope.merged, *(["all"] if names_all(scope.node) else [])):
                index = source.index(name)
                if index is not None:
                    needed[source].add(index)
        for node in scope.columns:
            meaning = resolve(node, scope)
            if isinstance(meaning, Found):
                for source, index in meaning.columns:
                    needed[source].add(index)
                continue
            for source in scope.reach:
                for part in parts_of(node):
                    index = source.index(part.name)
                    if index is not None and not source.called:
                        needed[source].add(index)
        if isinstance(scope.node.parent, exp.Exists):
            continue  # no column of its result is looked at
        for star in scope.stars:
            names = qualifier_of(star)
            for source in scope.reach if names else scope.sources:
                if (not names and not source.called) or source.answers_to(names):
                    needed[source] |= set(range(len(source.names or ())))
    for source in tree.sources:
        if source.table is not None and (source.whole or source.names is None):
            needed[source] = set(range(len(source.table.columns)))
    return needed


def _why(tree: QueryTree, joined: Mapping[SelectScope, tuple[str, ...]]) -> list[str]:
    """What keeps the engine from answering alone, in the words of the statement; joins of SELECTs that come joined do not."""
    root = tree.statement.tree
    reasons = []
    if any(arg(node, "with") for node in root.walk()):
        reasons.append("WITH")
    reasons += [type(node).__name__.upper() for node in root.find_all(exp.SetOperation)]
    for scope in tree.scopes:
        for join in () if scope in joined else scope.node.args.get("joins") or ():
            words = [keyword(join, name) for name in ("method", "side", "kind")]
            if words[1] or words[2] in {"SEMI", "ANTI"}:
                reasons.append(" ".join(word for word in (*words, "JOIN") if word))
        if any(source.query is not None for source in scope.sources):
            reasons.append("a query in FROM")
        if any(source.query is None and source.table is None for source in scope.sources):
            reasons.append("rows that SQL itself makes")
        if scope.inner:
            reasons.append("a subquery")
        if is_aggregated(scope.node):
            reasons.append("an aggregate")
    shapes = {"pivots": "PIVOT", "sample": "TABLESAMPLE"}
    reasons += [
        word for name, word in shapes.items() if any(source.node.args.get(name) for source in tree.sources)
    ]
    reasons = reasons or [word for words in joined.values() for word in words]
    return list(dict.fromkeys(reasons)) or ["SQL that is no plain SELECT"]
