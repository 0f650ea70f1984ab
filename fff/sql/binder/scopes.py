"""The queries of a statement and what they read: one scope for each SELECT, one source for each entry of a FROM clause.

A statement of any shape becomes a tree of queries (subqueries, CTEs, branches of set operations). Names are resolved
through it from the inside out, as far as that can be told without asking a source: a column of a web table, a column
that a query passes on, or something only Spark knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from fff.catalog import Catalog, Table
from fff.dataflow.plan.plan import JoinKind
from fff.errors import Span
from fff.sql.binder.names import is_call, is_cast, is_generated, is_made, made_names, parts_of, qualifier_of
from fff.sql.binder.regions import Region
from fff.sql.syntax.aggregates import BUILT_IN_NAMES
from fff.sql.syntax.statement import Node, Statement, arg, exp, keyword
from fff.structs import Struct, field, replace


class Source(Struct, eq=False):
    """One entry of a FROM clause: a web table, a query, or something only Spark knows (a table function, VALUES)."""

    scope: SelectScope
    node: Node
    alias: str  # what its columns may be qualified with; "" for nothing
    table: Table | None = None
    query: Query | None = None
    span: Span | None = None  # of a web table's name
    written: bool = True  # the alias stands in the text
    names: tuple[str, ...] | None = None  # its columns, None where they cannot be told
    renamed: bool = False  # a column list behind its alias gives its columns other names
    sealed: bool = False  # sampled or pivoted: its rows must be all there
    whole: bool = False  # every column is needed, whatever names say
    nullable: bool = False  # some outer join may fill it with NULLs
    hider: Node | None = None  # a semi or anti join whose right side it is: nothing behind that sees it

    @property
    def hidden(self) -> bool:
        """Whether its columns do not come out of FROM."""
        return self.hider is not None

    def seen_from(self, node: Node) -> bool:
        """Whether a reference of its scope may name it: a condition of a join sees both sides, whatever comes out."""
        at: Node | None = node
        while at is not None and self.hider is not None and at is not self.hider:
            at = at.parent
        return at is not None

    @property
    def called(self) -> bool:
        """Whether it stands for a call: only its own alias names its columns, and no star does."""
        return is_call(self.table, self.alias)

    def answers_to(self, qualifier: Sequence[str]) -> bool:
        """Whether a qualifier, lower case, means this source."""
        if list(qualifier) == [self.alias.lower()]:
            return True
        table = self.table
        return (
            table is not None
            and not self.written
            and list(qualifier) == [table.source.lower(), table.name.lower()]
        )

    def may_have(self, name: str) -> bool:
        """Whether a name, lower case, may be one that Spark gives to one of its columns."""
        if self.query is None or not self.query.branches or "" not in (self.names or ()):
            return False
        select = self.query.branches[0].node
        return is_generated(name, select) or is_cast(name, select)

    def index(self, name: str) -> int | None:
        """Which of its columns a name means."""
        lower = name.lower()
        return next((at for at, known in enumerate(self.names or ()) if known.lower() == lower), None)


class Found(Struct, frozen=True):
    """What a column reference means: a column of a source, by its place; `qualifiers` stand before its own name.

    `others` are the columns whose values it may have as well, where RIGHT or FULL JOIN made one of several by USING.
    """

    source: Source
    index: int
    qualifiers: int
    others: tuple[tuple[Source, int], ...] = ()

    @property
    def columns(self) -> tuple[tuple[Source, int], ...]:
        """Every column whose values it may have."""
        return ((self.source, self.index), *self.others)

    @property
    def origins(self) -> tuple[tuple[Source, int], ...] | None:
        """The columns of web tables whose values it may take; None when some are computed."""
        parts = [origins_of(source, index) for source, index in self.columns]
        known = [part for part in parts if part is not None]
        return tuple(one for part in known for one in part) if len(known) == len(parts) else None

    @property
    def always_bound(self) -> bool:
        """Whether every request for rows of its table binds it, so that it is never NULL, wherever the table stands."""
        source = self.source
        if source.table is None or source.nullable or self.others:
            return False
        return source.table.always_bound(source.table.columns[self.index].name)


#: `local`: a name the SELECT itself makes. `unknown`: some source in reach has columns that cannot be told.
#: `nowhere`: no source in reach has it.
Verdict: TypeAlias = Found | Literal["local", "unknown", "nowhere"]

#: How a source's rows depend on a condition: the join's ON, or WHERE.
Place = Literal["where", "on"]


class ScopedCondition(Struct, frozen=True):
    """A conjunct, and the sources that a row failing it can be removed from without changing the result.

    `exact` are those of them that need not be NULL-filled by a join further in: any predicate may be moved to them.
    From the others only rows that make a NULL-rejecting condition fail may be removed.
    """

    node: Node | None
    restricted: frozenset[Source]
    exact: frozenset[Source]
    pair: tuple[Found, Found] | None = None  # of USING and NATURAL
    on: bool = False  # of a join
    follows: bool = False  # from an OR, which is a condition itself


class ScopedJoin(Struct, frozen=True):
    """A join of FROM, and what of its sides can be named behind it; those inside of its sides come before it.

    `kind` is what the eddy makes of its right side, of RIGHT JOIN of its left side; None where it does not run it.
    """

    node: Node
    left: tuple[Source, ...]
    right: tuple[Source, ...]
    kind: JoinKind | None

    @property
    def mirrored(self) -> bool:
        """Whether it is a RIGHT JOIN: a LEFT JOIN with its sides exchanged."""
        return keyword(self.node, "side") == "RIGHT"


class Around(Struct, frozen=True):
    """A SELECT around a query, and those of its sources that the query may name: behind LATERAL what stands to its left."""

    scope: SelectScope
    left: tuple[Source, ...] | None = None  # None: all of them, and what the select list makes

    @property
    def sources(self) -> Sequence[Source]:
        """The sources that the query may name."""
        return self.scope.sources if self.left is None else self.left


class SelectScope(Struct, eq=False):
    """One SELECT: its sources, its conditions, the queries inside it."""

    node: Node
    around: Around | None  # whose columns it may name
    region: Region | None
    sources: list[Source] = field(default_factory=list)
    joins: list[ScopedJoin] = field(default_factory=list)
    conditions: list[ScopedCondition] = field(default_factory=list)
    #: Every column reference, those of queries inside it apart.
    columns: list[Node] = field(default_factory=list)
    stars: list[Node] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)  # lower-case names that USING or NATURAL made one
    blurred: set[str] = field(default_factory=set)  # those of them whose values may come from either side
    joinable: bool = True  # FROM holds web tables, inner, cross, left, semi and anti joins, and nothing else
    one_sided: bool = False  # some of them are left, semi or anti joins
    inner: list[Query] = field(default_factory=list)  # the queries in its expressions
    _made: dict[str, list[list[str]]] | None = None  # once they are asked for

    @property
    def flat(self) -> bool:
        """Whether FROM holds web tables, inner and cross joins, and nothing else."""
        return self.joinable and not self.one_sided

    @property
    def outputs(self) -> list[Output] | None:
        """Its result columns, None where they cannot be told."""
        return _select_outputs(self)

    @property
    def outer(self) -> SelectScope | None:
        """The SELECT around it whose columns it may name."""
        return None if self.around is None else self.around.scope

    @property
    def enclosing(self) -> Iterator[Around]:
        """Itself, and the SELECTs around it whose columns it may name."""
        at: Around | None = Around(self)
        while at is not None:
            yield at
            at = at.scope.around

    def makes(self, name: str, *, at: Node | None = None) -> bool:
        """Whether the select list makes a name, lower case: gives it, or reads a field that is called so.

        Where it is used at a place in the select list, only what stands before that counts.
        """
        if self._made is None:
            self._made = made_names(self.node.expressions)
        if not is_made(name, self._made, self.sources):
            return False
        items, number = self.node.expressions, None if at is None else _item_of(at, self.node)
        return number is None or is_made(name, made_names(items[:number]), self.sources)

    @property
    def reach(self) -> list[Source]:
        """The sources whose columns it may name: its own, and those of the queries around it."""
        return [source for around in self.enclosing for source in around.sources]


class Output(Struct, frozen=True):
    """A column of a query's result, and the columns of sources whose values it may take, None when computed."""

    name: str
    origins: tuple[tuple[Source, int], ...] | None
    passed: tuple[Source, int] | None = None  # the column of the SELECT's own sources that it is


class Query(Struct, eq=False):
    """A query expression: one SELECT, or several under set operators."""

    node: Node
    branches: list[SelectScope] = field(default_factory=list)
    limited: bool = False  # LIMIT or the like stands behind the set operation
    references: int = 0  # for a CTE: how often it is named
    recursive: bool = False
    renamed: tuple[str, ...] | None = None  # a column list behind its alias
    _outputs: tuple[Output, ...] | Literal["not asked"] | None = "not asked"

    @property
    def outputs(self) -> tuple[Output, ...] | None:
        """Its columns, None where they cannot be told."""
        if self._outputs == "not asked":
            self._outputs = None  # a query that reads itself
            self._outputs = None if self.recursive else _outputs(self)
        return self._outputs


class QueryTree(Struct, eq=False):
    """Every query of a statement."""

    statement: Statement
    catalog: Catalog
    root: Query
    scopes: list[SelectScope] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)

    @property
    def sources(self) -> list[Source]:
        """Every entry of every FROM clause."""
        return [source for scope in self.scopes for source in scope.sources]


def resolve(node: Node, scope: SelectScope) -> Verdict:
    """What a column reference in a scope means."""
    names = [part.name.lower() for part in parts_of(node)]
    for at in scope.enclosing:
        resolved = _qualified(names, at, node) or _bare(names, at, node)
        if resolved is not None:
            return resolved
        made = at.left is None and at.scope.makes(names[0], at=node if at.scope is scope else None)
        if made or (len(names) == 1 and names[0] in BUILT_IN_NAMES):
            return "local"
    return "local" if is_generated(names[0], scope.node) else "nowhere"


def _qualified(names: Sequence[str], around: Around, node: Node) -> Found | Literal["unknown"] | None:
    for depth in (2, 1):
        if len(names) <= depth:
            continue
        for source in around.sources:
            if not source.answers_to(names[:depth]) or not source.seen_from(node):
                continue
            if source.names is None:
                return "unknown"
            index = source.index(names[depth])
            if index is not None:
                return Found(source, index, depth)
            if source.may_have(names[depth]):
                return "unknown"
    return None


def _item_of(node: Node, select: Node) -> int | None:
    """In which entry of a select list a reference stands."""
    at = node
    while at.parent is not None and at.parent is not select:
        at = at.parent
    inside = at.parent is select and at.arg_key == "expressions"
    return next(number for number, item in enumerate(select.expressions) if item is at) if inside else None


def _bare(names: Sequence[str], around: Around, node: Node) -> Found | Literal["unknown"] | None:
    """The first part as a column; what follows reads its fields."""
    scope = around.scope
    candidates = [
        Found(source, index, 0)
        for source in around.sources
        if source.seen_from(node) and not source.called
        if (index := source.index(names[0])) is not None
    ]
    if names[0] in scope.blurred and candidates:
        return replace(candidates[0], others=tuple((one.source, one.index) for one in candidates[1:]))
    if len(candidates) == 1 or (candidates and names[0] in scope.merged):
        return candidates[0]
    if candidates or any(source.names is None or source.may_have(names[0]) for source in around.sources):
        return "unknown"  # Spark says what is ambiguous
    return None


def ambiguous(node: Node, scope: SelectScope) -> list[str]:
    """The columns that a bare name of a select list or of WHERE certainly cannot tell apart, as they can be written."""
    name, part = parts_of(node)[0].name.lower(), node
    while part.parent is not None and part.parent is not scope.node:
        part = part.parent
    if (
        part.arg_key not in ("expressions", "where")
        or name in scope.merged | scope.blurred
        or scope.makes(name)
    ):
        return []
    meant = _qualified([one.name.lower() for one in parts_of(node)], Around(scope), node)
    if isinstance(meant, Found):
        name = parts_of(node)[meant.qualifiers].name.lower()
    elif meant is not None:
        return []
    near = [meant.source] if isinstance(meant, Found) else scope.sources
    holders = [one for one in near if not (one.hidden or one.called) for _ in range(_alike(one, name))]
    return [f"{one.alias}.{name}" if one.alias else name for one in holders] if len(holders) > 1 else []


def _alike(source: Source, name: str) -> int:
    """How many different columns of a source have a name; a column that a query names twice is one."""
    places = [at for at, known in enumerate(source.names or ()) if known.lower() == name]
    query = source.query if not source.renamed else None
    outputs = query.outputs if query is not None and len(query.branches) == 1 else None
    if len(places) < 2 or outputs is None or query is None or query.renamed is not None:
        return min(len(places), 1)
    [select] = query.branches
    made = _select_outputs(select) or []
    passed = [made[at].passed for at in places if at < len(made)]
    return len(set(passed)) if None not in passed else 1


# ---------------------------------------------------------------------------------------------------- what a query yields


def _outputs(query: Query) -> tuple[Output, ...] | None:
    """The result columns of a query: names from the first branch, origins from all."""
    branches = [_select_outputs(scope) for scope in query.branches]
    known = [branch for branch in branches if branch is not None]
    if not branches or len(known) < len(branches) or len({len(branch) for branch in known}) > 1:
        return None
    if any(arg(node, "by_name") for node in query.node.find_all(exp.SetOperation)):
        return None
    result = []
    for columns in zip(*known, strict=True):
        origins = [column.origins for column in columns if column.origins is not None]
        complete = len(origins) == len(columns)
        result.append(
            Output(columns[0].name, tuple(one for some in origins for one in some) if complete else None)
        )
    if query.renamed is not None:
        if len(query.renamed) != len(result):
            return None
        result = [Output(name, one.origins) for name, one in zip(query.renamed, result, strict=True)]
    return tuple(result)


def _select_outputs(scope: SelectScope) -> list[Output] | None:
    outputs: list[Output] = []
    for item in scope.node.expressions:
        bare = item.unalias()
        if isinstance(bare, exp.Star) or (isinstance(bare, exp.Column) and isinstance(bare.this, exp.Star)):
            columns = star_columns(scope, bare)
            if columns is None:
                return None
            outputs += [Output((one.names or ())[at], origins_of(one, at), (one, at)) for one, at in columns]
            continue
        if isinstance(item, exp.Aliases):  # explode(m) AS (k, v)
            outputs += [Output(name.name, None) for name in item.expressions]
            continue
        verdict = resolve(bare, scope) if isinstance(bare, exp.Column) else "local"
        plain = isinstance(verdict, Found) and len(parts_of(bare)) == verdict.qualifiers + 1
        origins = verdict.origins if plain and isinstance(verdict, Found) else None
        name = item.alias or _own_name(bare, scope)
        direct = plain and isinstance(verdict, Found) and not verdict.others
        passed = (verdict.source, verdict.index) if direct and isinstance(verdict, Found) else None
        outputs.append(Output(name, origins, passed))
    return outputs


def _own_name(item: Node, scope: SelectScope) -> str:
    """The name of an entry without an alias: that of the column that it is, cast or in brackets; "" where Spark makes one."""
    bare = item.unnest()
    kept = bare.this.unnest() if isinstance(bare, exp.Cast) else bare
    if not isinstance(kept, exp.Column) or (isinstance(bare, exp.Cast) and bare.to.is_type("timestamp")):
        return ""  # a cast to a timestamp may be to_timestamp, whose name Spark makes
    parts = parts_of(kept)
    verdict = resolve(kept, scope) if kept is not bare else "local"
    field = isinstance(verdict, Found) and len(parts) > verdict.qualifiers + 1  # which a cast renames
    return "" if field else str(parts[-1].name)


def star_columns(
    scope: SelectScope, star: Node, *, of_either: bool = False
) -> list[tuple[Source, int]] | None:
    """The columns that a star stands for, in Spark's order, EXCEPT apart; None where they cannot be told.

    `of_either`: also where one of USING may come from either side, which is told as that of the left one.
    """
    qualifier = qualifier_of(star) if isinstance(star, exp.Column) else []
    sources = [one for one in scope.sources if not (one.hidden or one.called)]
    sources = [one for one in sources if not qualifier or one.answers_to(qualifier)]
    if not sources or any(source.names is None for source in sources):
        return None
    if not scope.merged:
        return _kept_of(star, [(one, index) for one in sources for index in range(len(one.names or ()))])
    joined = None if scope.blurred and not of_either else _joined_columns(scope)
    if joined is None:
        return None
    output, left_out = joined
    return _kept_of(
        star, [one for one in ([*left_out, *output] if qualifier else output) if one[0] in sources]
    )


_Columns: TypeAlias = list[tuple[Source, int]]


def _joined_columns(scope: SelectScope) -> tuple[_Columns, _Columns] | None:
    """What `*` means behind FROM, the columns that USING and NATURAL compare first, once; and those that it leaves out of these."""
    sides: dict[Source, tuple[_Columns, _Columns]] = {}
    for source in scope.sources:
        if source.names is None:
            return None
        sides[source] = [] if source.called else [(source, at) for at in range(len(source.names))], []

    def name_of(column: tuple[Source, int]) -> str:
        return (column[0].names or ())[column[1]].lower()

    for join in scope.joins:
        (left, before), (right, behind) = sides[join.left[0]], sides[join.right[0]]
        theirs = {name_of(one): one for one in reversed(right)}
        names = [name.name.lower() for name in join.node.args.get("using") or ()]
        if keyword(join.node, "method") == "NATURAL":
            names = [name for name in map(name_of, left) if name in theirs]
        keys = [next((one for one in left if name_of(one) == name), None) for name in names]
        twins = [theirs.get(name) for name in names]
        if None in keys or None in twins:
            return None
        first = [one for one in keys if one is not None]
        left_out = [one for one in twins if one is not None]
        rest = [one for one in (*left, *right) if one not in first and one not in left_out]
        made = [*first, *rest], [*left_out, *before, *behind]
        if keyword(join.node, "kind") in {"SEMI", "ANTI"}:
            made = [one for one in made[0] if one in left], before
        sides |= dict.fromkeys((*join.left, *join.right), made)
    visible = {id(sides[one]): sides[one] for one in scope.sources if not one.hidden}.values()
    return [one for output, _ in visible for one in output], [one for _, hidden in visible for one in hidden]


def _kept_of(star: Node, columns: Sequence[tuple[Source, int]]) -> list[tuple[Source, int]] | None:
    """These columns without those of a star's EXCEPT; None where they cannot be told."""
    kept = list(columns)
    excepted = arg(star.this if isinstance(star, exp.Column) else star, "except")
    for node in excepted if isinstance(excepted, list) else ():
        *before, name = (part.name.lower() for part in parts_of(node))
        near = [one for one in columns if not before or one[0].answers_to(before)]
        meant = [(source, index) for source, index in near if (source.names or ())[index].lower() == name]
        if len(meant) != 1 or meant[0] not in kept or any(source.may_have(name) for source, _ in near):
            return None  # a field, one of several, or one twice: Spark says
        kept.remove(meant[0])
    return kept


def origins_of(source: Source, index: int) -> tuple[tuple[Source, int], ...] | None:
    """The columns of web tables whose values a column may take; None when it is computed."""
    if source.table is not None:
        return ((source, index),)
    outputs = source.query.outputs if source.query is not None else None
    return outputs[index].origins if outputs is not None and index < len(outputs) else None
