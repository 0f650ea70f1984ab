"""What stands above the block: the select list, grouping, ordering and the rest, and the columns they need.

`analyse` reads it; `fff.sql.planner.spark_query` writes the Spark SQL for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fff.dataflow.plan.expressions import Column
from fff.errors import Span
from fff.sql.binder.checks import is_all, names_all
from fff.sql.binder.names import (
    Reference,
    Scope,
    has_generator,
    is_generated,
    is_made,
    made_names,
    parts_of,
    reference_span,
    resolve,
    star_tokens,
    starred,
    struct_fields,
    try_resolve,
)
from fff.sql.binder.spj_block import Condition, SourceBlock
from fff.sql.syntax.aggregates import (
    BUILT_IN_NAMES,
    counts_rows,
    groups_by_sets,
    is_aggregated,
    is_row_wise,
)
from fff.sql.syntax.grammar import Positive
from fff.sql.syntax.literals import constant_of
from fff.sql.syntax.statement import Node, Statement, arg, exp, identifier_span, qualified, text_span
from fff.structs import Struct, field

_CLAUSES = {
    "group": "GROUP BY",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "distinct": "DISTINCT",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
}
#: Clauses in which a bare name means a result column before a column of a table.
AFTER_SELECT = frozenset({"having", "order", "sort", "cluster", "distribute"})


class ColumnUse(Struct, frozen=True):
    """A place of the text that names a column; `prefix` is what stands before the column's own name there."""

    reference: Reference
    prefix: Span


class StarUse(Struct, frozen=True):
    """A place of the text where a star stands for columns."""

    span: Span
    columns: tuple[Column, ...]


class Above(Struct, frozen=True):
    """The part of a SELECT above its block."""

    uses: tuple[ColumnUse | StarUse, ...]
    plain: tuple[tuple[str, Column], ...] | None  # the select list, when it is columns and nothing else
    reasons: tuple[str, ...]  # why Spark must run it; empty when the engine answers alone
    aggregated: bool
    row_wise: bool  # one row out for each row in, in any order
    limit: int | None
    offset: int
    #: For each result column the column it groups by, if any; None where the result is not simply groups of rows.
    keys: tuple[Column | None, ...] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every column it needs, each once, in the order they are first named."""
        return tuple(dict.fromkeys(needed(self.uses)))


class _ClauseReader(Struct):
    block: SourceBlock
    #: Of the select list, which a clause may fall back on: an entry on those before it.
    aliases: frozenset[str] = frozenset()
    #: Result columns that the clause being read sees before the tables' own.
    outputs: frozenset[str] = frozenset()
    uses: list[ColumnUse | StarUse] = field(default_factory=list)

    def read(self, node: Node, scope: Scope) -> None:
        """Note every column under a node, those of queries inside it apart."""
        for part in node.walk(prune=_is_reference):
            if isinstance(part, exp.Column):
                self._column(part, scope)
            elif isinstance(part, exp.Star) and not counts_rows(part):
                self.uses.append(StarUse(self._star_span(part), self._starred(part, scope, None)))

    def _column(self, node: Node, scope: Scope) -> None:
        if id(node) in self.block.outer:
            return
        if isinstance(node.this, exp.Star):
            self._qualified_star(node, scope)
            return
        name = node.name.lower()
        bare = len(parts_of(node)) == 1
        matches = len(scope.named(name))
        if bare and name in self.outputs and (matches != 1 or isinstance(node.parent, exp.Ordered)):
            return  # these clauses look at the select list first
        if bare and not matches and (name in self.aliases or is_all(node)):
            return
        if not matches and is_generated(parts_of(node)[0].name.lower(), self.block.select):
            return
        statement = self.block.statement
        reference = try_resolve(statement, node, scope)
        if reference is None:
            first = parts_of(node)[0].name.lower()
            field_of_alias = first in self.aliases and not any(
                one.answers_to([first]) for one in scope.relations
            )
            if field_of_alias or (bare and name in BUILT_IN_NAMES):
                return
            reference = resolve(statement, node, scope)
        self.uses.append(use_of(reference))

    def _qualified_star(self, node: Node, scope: Scope) -> None:
        parts = parts_of(node)[:-1]
        statement = self.block.statement
        owner = [part.name for part in parts]
        if scope.star(owner):
            self.uses.append(StarUse(self._star_span(node), self._starred(node.this, scope, owner)))
            return
        reference = try_resolve(statement, starred(node), scope)
        if reference is None:
            where = identifier_span(parts[0])
            known = ", ".join(qualified(relation.alias) for relation in scope.relations)
            raise statement.error(
                f"unknown table or alias {parts[0].name}", where, hint=f"in reach here: {known}"
            )
        self.uses.append(use_of(reference))

    def _starred(self, star: Node, scope: Scope, qualifier: Sequence[str] | None) -> tuple[Column, ...]:
        columns = scope.star(qualifier)
        removed: set[Column] = set()
        named = arg(star, "except") or ()
        assert isinstance(named, list | tuple)
        for node in named:
            *before, name = (part.name for part in parts_of(node))
            excepted = [
                column
                for column in columns
                if scope.field(column).name.lower() == name.lower()
                and (not before or scope.relation(column.alias).answers_to(before))
            ]
            if len(excepted) != 1:
                shown = ".".join([*before, name])
                known = try_resolve(self.block.statement, node, scope) if before else None
                if known is not None and known.has_fields:
                    raise self.block.statement.unsupported(
                        f"EXCEPT leaves out {shown}, a field of a column",
                        reference_span(node),
                        hint="write the columns out, and the fields that stay as named_struct(…)",
                    )
                raise self.block.statement.error(
                    f"column {shown} in EXCEPT is ambiguous"
                    if excepted
                    else f"unknown column {shown} in EXCEPT",
                    reference_span(node),
                    hint="write the alias before it" if excepted else None,
                )
            if excepted[0] in removed:
                raise self.block.statement.error(
                    f"column {name} stands twice in EXCEPT", reference_span(node)
                )
            removed.add(excepted[0])
        return tuple(column for column in columns if column not in removed)

    def _star_span(self, node: Node) -> Span:
        """From the qualifier to the star, and to the end of EXCEPT (…)."""
        return self.block.statement.span(*star_tokens(self.block.statement, node))


def analyse(
    block: SourceBlock,
    residual: Sequence[Condition],
    inside: Sequence[ColumnUse] = (),
    undecided: Sequence[Condition] = (),
) -> Above:
    """Read the part above a block; `residual` are the conjuncts left to Spark, `inside` what queries inside it name.

    `undecided` are conjuncts that Spark evaluates once more, if it runs at all.

    Raises:
        QueryError: unknown or ambiguous names, or a LIMIT that is not a count.
    """
    select = block.select
    aliases = _aliases(block, select.expressions)
    outputs, before = _outputs(block, select.expressions), frozenset[str]()
    reader = _ClauseReader(block)
    for name, part in _parts(select):
        listed = name == "expressions"
        reader.aliases = before if listed else aliases
        reader.outputs = outputs if name in AFTER_SELECT else frozenset()
        reader.read(part, block.scope)
        before |= _aliases(block, [part]) if listed else frozenset()
    hidden = _ClauseReader(block)
    for condition in (*residual, *undecided):
        if condition.node is not None:
            hidden.read(condition.node, condition.scope)
    plain = _plain(block, select.expressions)
    reasons = [word for name, word in _CLAUSES.items() if select.args.get(name)]
    aggregated = is_aggregated(select)
    if aggregated and not select.args.get("group"):
        reasons.insert(0, "an aggregate")
    if plain is None and not aggregated:
        windowed = any(item.find(exp.Window) for item in select.expressions)
        reasons.append("a window function" if windowed else "an expression in the select list")
    if block.from_range is None:
        reasons = ["a SELECT without FROM"]
    row_wise = not residual and is_row_for_row(select)
    limit, offset = (count_of(block.statement, select, name) for name in ("limit", "offset"))
    reasons += [
        f"{name} with an expression" for name, count in (("LIMIT", limit), ("OFFSET", offset)) if count == -1
    ]
    if residual:
        noun = "predicate" if len(residual) == 1 else "predicates"
        reasons.append(f"{noun} left to Spark: " + "; ".join(condition.text for condition in residual))
    return Above(
        uses=(*reader.uses, *hidden.uses, *_pairs(residual), *_called_all(block), *inside),
        plain=plain,
        reasons=tuple(reasons),
        aggregated=aggregated,
        row_wise=row_wise and -1 not in (limit, offset),
        limit=limit,
        offset=offset or 0,
        keys=_keys(block, select) if aggregated else None,
    )


def _aliases(block: SourceBlock, items: Sequence[Node]) -> frozenset[str]:
    """The names that some entries of the select list make."""
    made = made_names(item for item in items if not isinstance(item.this, exp.Star))
    given = frozenset(name for name in made if is_made(name, made, block.scope.relations))
    return given.union(*(_star_fields(block, item) for item in items))


def _star_fields(block: SourceBlock, item: Node) -> frozenset[str]:
    """The names of the fields that a star of a struct makes columns of, lower case."""
    if not (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
        return frozenset()
    owner = [part.name for part in parts_of(item)[:-1]]
    struct = None if block.scope.star(owner) else try_resolve(block.statement, starred(item), block.scope)
    if struct is None:
        return frozenset()
    behind = owner[struct.qualifiers + 1 :]
    return struct_fields(block.scope.field(struct.column).arrow, behind)


def is_row_for_row(select: Node) -> bool:
    """Whether a SELECT certainly gives one row for each row of FROM that passes WHERE, LIMIT aside."""
    clauses = [name for name in _CLAUSES if select.args.get(name)]
    return not clauses and all(map(is_row_wise, select.expressions))


def result_columns(block: SourceBlock, name: str) -> set[Column | None]:
    """The columns that result columns of a name are; None among them for an expression."""
    columns_named: set[Column | None] = set()
    for item in block.select.expressions:
        columns = item_columns(block, item)
        if columns is not None:
            columns_named |= {column for shown, column in columns if shown.lower() == name.lower()}
        elif name.lower() in (item.alias_or_name.lower(), item.output_name.lower()):
            columns_named.add(None)
    return columns_named


def result_names(block: SourceBlock) -> Iterator[str]:
    """The names of the result's columns, as far as the text tells them."""
    for item in block.select.expressions:
        columns = item_columns(block, item)
        if columns is None:
            yield item.output_name
        for name, _ in columns or ():
            yield name


def _keys(block: SourceBlock, select: Node) -> tuple[Column | None, ...] | None:
    """What each result column of a grouped SELECT groups by: a bare column can only be a key."""
    if groups_by_sets(select) or select.args.get("distinct") or select.args.get("qualify"):
        return None
    keys: list[Column | None] = []
    for item in select.expressions:
        columns = item_columns(block, item)
        if columns is not None and len(columns) != 1:
            return None
        if item.find(exp.Window) or has_generator(item):
            return None
        keys.append(columns[0][1] if columns else None)
    return tuple(keys)


def needed(uses: Sequence[ColumnUse | StarUse]) -> Iterator[Column]:
    """The columns of some uses, in order."""
    for use in uses:
        if isinstance(use, ColumnUse):
            yield use.reference.column
        else:
            yield from use.columns


def _parts(select: Node) -> Iterator[tuple[str, Node]]:
    """Everything of a SELECT above its block by clause, the hint apart."""
    for name, value in select.args.items():
        if name.rstrip("_") in {"from", "joins", "where", "hint", "limit", "offset"}:
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr):
                yield name, part


def _is_reference(node: Node) -> bool:
    return isinstance(node, exp.Column | exp.Star | exp.Query)


def use_of(reference: Reference) -> ColumnUse:
    """The place at which a reference stands."""
    own = identifier_span(reference.parts[reference.qualifiers])
    first = identifier_span(reference.parts[0])
    assert own is not None
    assert first is not None
    return ColumnUse(reference, Span(first.start, own.start))


def _pairs(residual: Sequence[Condition]) -> list[StarUse]:
    """Columns that USING compares but that stand nowhere in the text."""
    nowhere = Span(0, 0)
    return [StarUse(nowhere, condition.pair) for condition in residual if condition.pair is not None]


def _called_all(block: SourceBlock) -> list[StarUse]:
    """The columns that GROUP BY ALL and ORDER BY ALL mean, if there are any: which one, Spark says."""
    columns = block.scope.named("all") if names_all(block.select) else ()
    return [StarUse(Span(0, 0), (column,)) for column in columns]


def _plain(block: SourceBlock, items: Sequence[Node]) -> tuple[tuple[str, Column], ...] | None:
    """The select list as result names and columns, or None when it holds anything else."""
    names: list[tuple[str, Column]] = []
    for item in items:
        columns = item_columns(block, item)
        if columns is None:
            return None
        names += columns
    return tuple(names)


def item_columns(block: SourceBlock, item: Node) -> list[tuple[str, Column]] | None:
    """The columns a select item stands for, with their result names; None for an expression."""
    bare = item.unalias()
    if isinstance(bare, exp.Column) and not isinstance(bare.this, exp.Star):
        reference = try_resolve(block.statement, bare, block.scope)
        if reference is None or reference.has_fields:
            return None
        return [(item.alias if isinstance(item, exp.Alias) else reference.name, reference.column)]
    if not isinstance(bare, exp.Column | exp.Star):
        return None
    reader = _ClauseReader(block)
    reader.read(bare, block.scope)
    star = reader.uses[0]
    if not isinstance(star, StarUse):
        return None
    return [(block.scope.field(column).name, column) for column in star.columns]


def _outputs(block: SourceBlock, items: Sequence[Node]) -> frozenset[str]:
    """The names that mean exactly one result column."""
    meanings: dict[str, set[object]] = {}
    for item in items:
        columns = item_columns(block, item)
        if columns is None and item.alias:
            meanings.setdefault(item.alias.lower(), set()).add(id(item))
        for name, column in columns or ():
            meanings.setdefault(name.lower(), set()).add(column)
        for name in _star_fields(block, item):
            meanings.setdefault(name, set()).add((id(item), name))
    return frozenset(name for name, several in meanings.items() if len(several) == 1)


def count_of(statement: Statement, node: Node, name: str) -> int | None:
    """LIMIT or OFFSET of a query as a number; None when absent or ALL, -1 when only Spark can tell.

    Raises QueryError for what is not a count.
    """
    clause = node.args.get(name)
    if clause is None or clause.expression is None:
        return None if clause is None else -1
    count = clause.expression
    if isinstance(count, Positive) and isinstance(count.this, exp.Literal) and not count.this.is_string:
        count = count.this
    if isinstance(count, exp.Var) and count.name.upper() == "ALL":
        return None
    constant = constant_of(statement, count)
    value = constant.value if constant is not None else None
    if isinstance(count, exp.Placeholder) and isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)  # the command line knows only strings
    if constant is None:
        return -1
    if constant.kind != "integer" or not isinstance(value, int) or not 0 <= value < 2**31:
        place = _count_span(statement, name, count)
        raise statement.error(f"{name.upper()} must be a whole number from 0 on", place)
    return value


def _count_span(statement: Statement, name: str, count: Node) -> Span | None:
    """Where a count stands behind LIMIT or OFFSET; None where it cannot be told, as of one NULL among several counts."""
    inside = text_span(count)
    tokens = statement.tokens
    before = len(tokens) if inside is None else statement.token_at(inside.start)
    words = [at for at in range(before) if tokens[at].text.upper() == name.upper()]
    if not words or (inside is None and len(words) > 1):
        return None
    first = tokens[words[-1] + 1]
    return Span(first.start, first.end + 1 if inside is None else inside.end)
