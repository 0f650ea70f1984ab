"""Which SELECTs come joined: as one block of the eddy, and what stands above it."""

from __future__ import annotations

from collections.abc import Sequence

from fff.dataflow.plan.expressions import And, Column, Compare, Expr, InList, IsNull, Not, Or
from fff.errors import QueryError
from fff.sql.analysis.conjuncts import Conjunct, classify, links_of
from fff.sql.binder.names import Reference, parts_of, qualifier_of
from fff.sql.binder.outer_query import Above, ColumnUse, analyse, use_of
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, resolve
from fff.sql.binder.spj_block import Condition, SourceBlock, find_block
from fff.sql.calls.computed_keys import with_computed_keys
from fff.sql.syntax.statement import Node, arg, exp
from fff.structs import Struct, replace


class JoinedSelect(Struct, frozen=True):
    """A SELECT whose tables come joined: its block, and the part above that."""

    block: SourceBlock
    conjuncts: tuple[Conjunct, ...]
    above: Above
    #: Conditions that the eddy does not evaluate, or that may raise an error, for which it does not drop a row.
    left: tuple[Condition, ...]


def is_one_block(tree: QueryTree) -> bool:
    """Whether a statement is one SELECT, written the usual way, over tables that inner joins connect, or over none."""
    if any(scope.one_sided for scope in tree.scopes):
        return False
    if len(tree.queries) > 1 or len(tree.scopes) != 1 or not isinstance(tree.root.node, exp.Select):
        return False
    scope = tree.scopes[0]
    begins = not tree.sources or (scope.region is not None and scope.region.first == 0)
    return begins and is_joinable(scope)


def is_joinable(scope: SelectScope) -> bool:
    """Whether a SELECT, written the usual way, is over tables that joins of the eddy connect, or over none."""
    if not scope.sources:
        return arg(scope.node, "from") is None
    return scope.joinable and scope.region is not None


def joined_select(tree: QueryTree, scope: SelectScope) -> JoinedSelect | None:
    """The SELECT as one block, where its tables can come joined and it is clear who means its columns.

    Raises:
        QueryError: an unknown or ambiguous name in a statement that is nothing but this SELECT; in any other its tables
            are read one by one, and Spark resolves the names.
    """
    whole = is_one_block(tree)
    if not whole and (scope.region is None or not is_joinable(scope)):
        return None
    inside = _named_inside(tree, scope)
    if inside is None:
        return None
    try:
        written = select_block(tree, scope)
        block = simplified(written)
        conjuncts = classify(block)
        residual, undecided = (
            tuple(one.condition for one in some if one.condition is not None)
            for some in (
                [one for one in conjuncts if one.where == "spark"],
                [one for one in conjuncts if one.undecided],
            )
        )
        above = analyse(_without_computed(block, written), residual, inside, undecided)
        return JoinedSelect(block, conjuncts, above, residual + undecided)
    except QueryError:
        if whole:
            raise
        return None


def simplified(block: SourceBlock) -> SourceBlock:
    """The block with inner joins for those left joins whose NULLs some other condition rejects, and semi joins that find keys.

    Raises:
        QueryError: an unknown or ambiguous name.
        UnsupportedSQL: the eddy does not evaluate a condition that decides over a right side.
    """
    while block.right:
        conjuncts = classify(block)
        needed: set[int] = set()
        for one in conjuncts:
            if one.on is None and one.expr is not None:
                needed |= _rejecting(one.expr) & block.right.keys()
        needed |= _members(block, conjuncts)
        if not needed:
            grown = with_computed_keys(block, conjuncts, _by_key(block))
            if grown is not block:
                block = grown
                continue
            over = [one for one in conjuncts if one.on is not None]
            left = next((one for one in over if one.where == "spark" or one.undecided), None)
            if left is not None:  # a row on which it fails is neither a match nor none
                raise block.statement.unsupported(f"{left.text} {left.reason}", left.span)
            break
        conditions = tuple(replace(one, on=None) if one.on in needed else one for one in block.conditions)
        right = {ordinal: kind for ordinal, kind in block.right.items() if ordinal not in needed}
        block = replace(block, conditions=conditions, right=right)
    return block


def _members(block: SourceBlock, conjuncts: Sequence[Conjunct]) -> set[int]:
    """The right sides of semi joins that have one match at most, beside tables that only their keys may reach."""
    tables = {one.ordinal: one.table for one in block.scope.relations}
    if all(table.usable_scans for ordinal, table in tables.items() if ordinal not in block.right):
        return set()
    links = links_of(conjuncts)
    members = set()
    for ordinal, kind in block.right.items():
        key = {name.lower() for name in tables[ordinal].primary_key}
        linked = {block.scope.field(own).name.lower() for own, _ in links.get(ordinal, ())}
        if kind == "semi" and key and key <= linked:
            members.add(ordinal)
    return members


def _by_key(block: SourceBlock) -> list[int]:
    """The right sides that are read by key alone."""
    return [ordinal for ordinal in block.right if not block.scope.relation(ordinal).table.usable_scans]


def _without_computed(block: SourceBlock, written: SourceBlock) -> SourceBlock:
    """The block without the tables of computed keys, which nothing above it names."""
    count = len(written.scope.relations)
    if len(block.scope.relations) == count:
        return block
    conditions = tuple(
        one
        for one in block.conditions
        if one.pair is None or all(column.alias < count for column in one.pair)
    )
    right = {ordinal: kind for ordinal, kind in block.right.items() if ordinal < count}
    return replace(block, scope=written.scope, conditions=conditions, right=right)


def _rejecting(expr: Expr) -> set[int]:
    """The aliases without a row of which a condition is never true."""
    match expr:
        case Column(alias=alias):
            return {alias}
        case Compare(op=op, left=left, right=right) if op != "<=>":
            return {one.alias for one in (left, right) if isinstance(one, Column)}
        case InList(item=Column(alias=alias)) | Not(item=IsNull(item=Column(alias=alias))):
            return {alias}
        case Not(item=Compare() | InList() | Column() as item):
            return _rejecting(item)
        case And(items=items):
            return set().union(*map(_rejecting, items))
        case Or(items=items):
            return set.intersection(*map(_rejecting, items))
    return set()


def select_block(tree: QueryTree, scope: SelectScope) -> SourceBlock:
    """The block of a SELECT, with the columns of outer queries told apart. Raises QueryError."""
    block = find_block(tree.statement, scope)
    outer = frozenset(
        id(node)
        for node in (scope.columns if scope.outer is not None else ())
        if isinstance(resolved := resolve(node, scope), Found) and resolved.source not in scope.sources
    )
    return replace(block, outer=outer)


def _named_inside(tree: QueryTree, scope: SelectScope) -> list[ColumnUse] | None:
    """Where queries inside a SELECT name its columns; None where that cannot be told."""
    uses = []
    for other in tree.scopes:
        if other is scope or not _is_inside(other, scope):
            continue
        if any(_qualifies(star, scope) for star in other.stars):
            return None
        for node in other.columns:
            meaning = resolve(node, other)
            if meaning == "unknown":
                return None
            if isinstance(meaning, Found) and meaning.source in scope.sources:
                if meaning.others:
                    return None
                column = Column(scope.sources.index(meaning.source), meaning.index)
                uses.append(use_of(Reference(column, meaning.qualifiers, parts_of(node))))
    return uses


def _is_inside(scope: SelectScope, outer: SelectScope) -> bool:
    at = scope.outer
    while at is not None and at is not outer:
        at = at.outer
    return at is outer


def _qualifies(star: Node, scope: SelectScope) -> bool:
    names = qualifier_of(star)
    return bool(names) and any(source.answers_to(names) for source in scope.sources)
