"""What the engine answers by itself: SELECTs of expressions that it evaluates, with DISTINCT and LIMIT, and UNIONs of such.

Each SELECT is a block of joined tables, or has no FROM. Whatever else stands in a statement is Spark's, which then runs all
that stands above its blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import pyarrow as pa

from fff.dataflow.plan.expressions import Column, Expr, Literal, columns_of
from fff.errors import QueryError, Span
from fff.schema import ArrowType, Field, comparison_kind, result_field
from fff.sql.analysis.equalities import place
from fff.sql.analysis.predicates import Translator, columns_in, map_columns
from fff.sql.binder.names import is_inline_outer
from fff.sql.binder.outer_query import count_of, item_columns
from fff.sql.binder.scopes import QueryTree, SelectScope
from fff.sql.binder.select_text import SelectText
from fff.sql.calls.joined_select import JoinedSelect, is_joinable
from fff.sql.plan import MADE, Branch, BranchUnion, Cut, Generator
from fff.sql.scalars.coercion import INT, MONTHS, STRING, VOID, cast, wider
from fff.sql.scalars.collections.functions import has_part
from fff.sql.scalars.naming.names import spark_name
from fff.sql.scalars.typed import LeftToSparkError, Typed, call
from fff.sql.syntax.statement import Node, Statement, arg, exp, filled
from fff.structs import Struct, replace

#: What a SELECT may consist of, by the tree's names.
_CLAUSES = frozenset({"kind", "expressions", "from", "joins", "where", "limit", "offset", "hint", "distinct"})
_KEPT_SETS = ("order", "sort", "distribute", "cluster", "with", "by_name", "on", "side", "kind")


class _Item(Struct, frozen=True):
    """A result column of one SELECT; its value is over declared columns."""

    field: Field
    value: Typed
    span: Span


class AnsweredSelect(Struct, frozen=True):
    """A SELECT whose rows the engine makes."""

    scope: SelectScope
    select: JoinedSelect
    items: tuple[_Item, ...]
    conditions: tuple[tuple[Expr, Span], ...]
    cut: Cut
    generator: Generator | None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns that its values and conditions need."""
        read = [*(item.value.expr for item in self.items), *(expr for expr, _ in self.conditions)]
        if self.generator is not None:
            read.append(self.generator.value)
        columns = (column for one in read for column in sorted(columns_of(one), key=place))
        return tuple(dict.fromkeys(column for column in columns if column.alias != MADE))

    def branch(self, block: int | None, output: Sequence[Column]) -> Branch:
        """Its rows as those of a block with this output."""

        def moved(expr: Expr) -> Expr:
            return map_columns(
                expr, lambda column: column if column.alias == MADE else Column(0, output.index(column))
            )

        return Branch(
            block,
            tuple(moved(item.value.expr) for item in self.items),
            tuple(item.span for item in self.items),
            tuple((moved(expr), span) for expr, span in self.conditions),
            self.cut,
            self.generator and replace(self.generator, value=moved(self.generator.value)),
        )


class EngineAnswer(Struct, frozen=True):
    """A statement that the engine answers by itself."""

    fields: tuple[Field, ...]
    selects: tuple[AnsweredSelect, ...]
    cut: Cut

    def result(self, branches: Sequence[Branch]) -> BranchUnion:
        """What comes of the branches that the SELECTs have become."""
        return BranchUnion(self.fields, tuple(branches), self.cut)


def engine_answer(tree: QueryTree, selects: Mapping[SelectScope, JoinedSelect]) -> EngineAnswer | None:
    """How the engine answers a statement by itself; None where something in it is Spark's.

    `selects` are the SELECTs that come joined. Raises QueryError for a LIMIT that is not a count.
    """
    if len(tree.queries) != 1 or tree.scopes != tree.root.branches:
        return None
    try:
        cuts, whole = _cuts(tree.statement, tree.root.node)
        answers = [
            _answered(tree.statement, scope, selects.get(scope), cut)
            for scope, cut in zip(tree.scopes, cuts, strict=True)
        ]
        return _united(answers, whole)
    except LeftToSparkError:
        return None


def is_union(tree: QueryTree) -> bool:
    """Whether a statement is nothing but SELECTs that UNION connects, each of tables or of nothing."""
    several = len(tree.queries) == 1 and tree.scopes == tree.root.branches and len(tree.scopes) > 1
    return several and all(map(is_joinable, tree.scopes))


def _cuts(statement: Statement, node: Node) -> tuple[list[Cut], Cut]:
    """What each SELECT takes of its rows, and what the result takes of theirs. Raises LeftToSparkError."""
    if isinstance(node, exp.Select):
        own = _cut(statement, node)
        return [Cut()], own
    if not isinstance(node, exp.Union):
        raise LeftToSparkError("no SELECT")
    own = replace(_cut(statement, node), distinct=node.args.get("distinct") is not False)
    return list(_branch_cuts(statement, node, distinct=own.distinct)), own


def _branch_cuts(statement: Statement, node: Node, *, distinct: bool) -> Iterator[Cut]:
    """The cuts of the SELECTs under a UNION; where that takes one of each, so may those under it."""
    for side in (node.this, node.expression):
        inner = side.unnest() if isinstance(side, exp.Subquery | exp.Paren) else side
        if inner is not side and _limits(side):
            raise LeftToSparkError("LIMIT behind brackets")
        if isinstance(inner, exp.Select):
            yield _cut(statement, inner)
        elif (
            isinstance(inner, exp.Union)
            and not _limits(inner)
            and not _unusual(inner)
            and (distinct or inner.args.get("distinct") is False)
        ):
            yield from _branch_cuts(statement, inner, distinct=distinct)
        else:
            raise LeftToSparkError(type(inner).__name__)


def _limits(node: Node) -> bool:
    kept = ("limit", "offset", "order", "sort", "distribute", "cluster")
    return any(arg(node, name) for name in (*kept, "with", "joins", "pivots", "sample"))


def _unusual(node: Node) -> bool:
    return any(arg(node, name) for name in _KEPT_SETS)


def _cut(statement: Statement, node: Node) -> Cut:
    """DISTINCT, OFFSET and LIMIT of a SELECT, or of a UNION."""
    if isinstance(node, exp.Union) and _unusual(node):
        raise LeftToSparkError("ORDER BY")
    limit, offset = (count_of(statement, node, name) for name in ("limit", "offset"))
    if -1 in (limit, offset):
        raise LeftToSparkError("LIMIT with an expression")
    distinct = node.args.get("distinct") if isinstance(node, exp.Select) else None
    if distinct is not None and distinct.args.get("on"):
        raise LeftToSparkError("DISTINCT ON")
    return Cut(distinct is not None, offset or 0, limit)


def _answered(
    statement: Statement,
    scope: SelectScope,
    select: JoinedSelect | None,
    cut: Cut,
) -> AnsweredSelect:
    """A SELECT as the engine evaluates it. Raises LeftToSparkError."""
    if select is None or select.above.aggregated:
        raise LeftToSparkError("no block")
    clauses = filled(scope.node)
    if clauses - _CLAUSES or (not scope.sources and clauses & {"where"}):
        raise LeftToSparkError("a clause above the block")
    try:
        entries = SelectText.of(statement, scope).items
    except QueryError as error:
        raise LeftToSparkError("a select list that cannot be told apart") from error
    translator = Translator(statement, select.block.scope)
    generated = {
        id(node): _Generated.of(translator, node, span) for node, span in entries if _called_generator(node)
    }
    if len(generated) > 1:
        raise LeftToSparkError("several generators")
    items = tuple(
        item
        for node, span in entries
        for item in (
            generated[id(node)].items if id(node) in generated else _items(select, translator, node, span)
        )
    )
    generator = next((one.generator for one in generated.values()), None)
    return AnsweredSelect(scope, select, items, tuple(_conditions(statement, select)), cut, generator)


def _called_generator(item: Node) -> Node | None:
    """The generator that an entry of a select list is: `explode`, `posexplode`, `inline`, or one of these that keeps rows without elements."""
    bare: Node = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
    known = isinstance(bare, exp.Explode | exp.Inline) or is_inline_outer(bare)
    return bare if known else None


class _Generated(Struct, frozen=True):
    """An entry of the select list that makes rows, and the columns that it makes."""

    generator: Generator
    items: tuple[_Item, ...]

    @classmethod
    def of(cls, translator: Translator, item: Node, span: Span) -> _Generated:
        """Raises LeftToSparkError."""
        called = _called_generator(item)
        assert called is not None, "an entry that makes rows"
        outer = isinstance(called, exp.ExplodeOuter | exp.PosexplodeOuter) or is_inline_outer(called)
        opened = called.expressions[0] if is_inline_outer(called) else called.this
        try:
            value = translator.value(opened)
        except QueryError as error:
            raise LeftToSparkError("a name that only Spark resolves") from error
        if has_part(value.type, lambda part: part == VOID):
            raise LeftToSparkError("elements without a type")
        columns = list(_made(called, value.type))
        given = [one.name for one in item.expressions] if isinstance(item, exp.Aliases) else [item.alias]
        names = given if any(given) else [own for own, _ in columns]
        if len(names) != len(columns):
            raise LeftToSparkError("other columns than names")
        items = tuple(_item(name, column, span) for name, (_, column) in zip(names, columns, strict=True))
        return cls(Generator(value.expr, span, outer), items)


def _made(called: Node, kind: ArrowType) -> Iterator[tuple[str, Typed]]:
    """The columns that a generator makes of a value, by the names that they have by themselves. Raises LeftToSparkError."""
    if isinstance(called, exp.Posexplode):
        yield "pos", Typed(Column(MADE, 0), INT)
    if not isinstance(called, exp.Explode):
        if not (pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)):
            raise LeftToSparkError(f"inline({kind})")
        element = Typed(Column(MADE, 1), kind.value_type)
        for field in kind.value_type:
            yield field.name, call("field", [element, Typed(Literal(field.name, STRING), STRING)], field.type)
    elif pa.types.is_map(kind):
        yield "key", Typed(Column(MADE, 1), kind.key_type)
        yield "value", Typed(Column(MADE, 2), kind.item_type)
    elif pa.types.is_list(kind):
        yield "col", Typed(Column(MADE, 1), kind.value_type)
    else:
        raise LeftToSparkError(f"explode({kind})")


def _item(name: str, value: Typed, span: Span) -> _Item:
    if has_part(value.type, lambda kind: kind == MONTHS or (kind == VOID and kind != value.type)):
        raise LeftToSparkError("what comes from Spark as a text")
    try:
        return _Item(result_field(name, value.type), value, span)
    except ValueError as error:
        raise LeftToSparkError("a type without a name") from error


def _conditions(statement: Statement, select: JoinedSelect) -> Iterator[tuple[Expr, Span]]:
    """The conditions that the eddy leaves over. Raises LeftToSparkError."""
    for one in select.left:
        if one.node is None or one.span is None:
            raise LeftToSparkError("USING of columns of different types")
        yield Translator(statement, one.scope).expression(one.node), one.span


def _items(select: JoinedSelect, translator: Translator, item: Node, span: Span) -> Iterator[_Item]:
    """The result columns of an entry of the select list. Raises LeftToSparkError."""
    block = select.block
    columns = item_columns(block, item)
    if columns is not None:
        for name, column in columns:
            known = block.scope.field(column)
            yield _Item(replace(known, name=name), Typed(column, known.arrow), span)
        return
    if isinstance(item, exp.Aliases):
        raise LeftToSparkError("several names")
    bare = item.unalias()
    try:
        value = translator.value(bare)
    except QueryError as error:
        raise LeftToSparkError("a name that only Spark resolves") from error
    statement = translator.statement
    first, end = statement.tokens_at(span)
    named = isinstance(item, exp.Alias)
    name = item.alias if named else spark_name(bare, statement, (first, end), columns_in(block.scope))
    yield _item(name, value, span)


def _united(selects: Sequence[AnsweredSelect], cut: Cut) -> EngineAnswer:
    """The SELECTs with their columns of common types. Raises LeftToSparkError."""
    if len({len(one.items) for one in selects}) > 1:
        raise LeftToSparkError("different numbers of columns")
    fields = tuple(_common([one.items[at] for one in selects]) for at in range(len(selects[0].items)))
    if cut.distinct or any(one.cut.distinct for one in selects):
        for field in fields:
            if comparison_kind(field.arrow) is None:
                raise LeftToSparkError(f"tells {field.type} apart")
    united = tuple(
        replace(
            one,
            items=tuple(
                replace(item, value=cast(item.value, field.arrow))
                for item, field in zip(one.items, fields, strict=True)
            ),
        )
        for one in selects
    )
    return EngineAnswer(fields, united, cut)


def _common(items: Sequence[_Item]) -> Field:
    """The result column that columns of several SELECTs become."""
    kinds = [item.value.type for item in items]
    if len(set(kinds)) == 1:
        return items[0].field
    if any(comparison_kind(kind) == "string" for kind in kinds):
        raise LeftToSparkError("UNION of strings and others")
    return result_field(items[0].field.name, reduce(wider, kinds))
