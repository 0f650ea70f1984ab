"""What a partial answer is worth: whether its rows are some of the complete answer's, or may be wrong themselves.

Over tables that were not read in full, joins, filters, UNION, INTERSECT, IN and EXISTS give fewer rows and no wrong ones.
Outer and anti joins, NOT EXISTS, NOT IN, EXCEPT, aggregates, windows, the first n rows of an order and subqueries that
stand for a value do not: what they say of a row changes with rows of the other table that are not there. Of aggregates
over rows that are some of the complete answer's, counts and maxima can only rise with the others, and minima fall.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, cast

from fff.catalog import Table
from fff.sql.binder.names import parts_of
from fff.sql.binder.scopes import QueryTree, SelectScope, Source
from fff.sql.syntax.aggregates import has_aggregate, is_row_wise
from fff.sql.syntax.statement import Node, arg, exp, filled, keyword, operands
from fff.structs import Struct, replace

_AS_VALUE = "a subquery that stands for a value"
_FIRST_ROWS = "ORDER BY with LIMIT"
_ORDERS = ("order", "sort", "cluster")
#: By the side of an outer join: whether what is on the left, or on the right, makes rows wrong where it lacks some.
_OUTER = {"LEFT": (False, True), "RIGHT": (True, False), "FULL": (True, True)}


#: For each table that a statement reads, by its name in lower case: what makes rows wrong where it lacks some.
Doubts: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
#: In the place of a name: of whatever table.
_ANY = "*"
#: The SELECTs of a statement, by the `id` of their nodes.
_Scopes: TypeAlias = Mapping[int, SelectScope]


def doubts_of(tree: QueryTree, *, joined: bool = False) -> Doubts:
    """What in a statement may make rows wrong, by the tables that are not read in full. What is not understood is doubted.

    `joined`: the eddy runs all of its joins, which never takes a row for absent that may be missing.
    """
    walk = _Walk(tree, joined=joined)
    walk.query(tree.root.node, _Standing())
    return tuple(dict.fromkeys((name, causes) for name, causes in walk.mentions if causes))


#: What a value of a partial answer says of the one in the complete answer.
Bound: TypeAlias = Literal["certain", "at_least", "at_most", "unknown"]


class AnswerBounds(Struct, frozen=True):
    """What the values of a partial answer to a query that aggregates say of those of the complete one.

    `columns`: by column of the result, for each value that is not NULL. `rows`: whether each row stands for one of the
    complete answer. They hold unless one of `doubts` meets a table that lacks rows, or rows came twice. `gains`: by column,
    by how much one more row of a table raises a value at most; None where that is not known. `mentions`: of tables, where
    each row of one is a row at most of what is aggregated; None where it may be more.
    """

    columns: tuple[Bound, ...]
    rows: bool
    doubts: Doubts
    gains: tuple[int | None, ...] = ()
    mentions: int | None = None

    @property
    def tell_all(self) -> bool:
        """Whether nothing of an answer is without a bound."""
        return self.rows and "unknown" not in self.columns

    def within(self, lacking: Sequence[int | None]) -> tuple[int | None, ...]:
        """By column, by how much the complete answer's values are higher at most.

        `lacking`: of each block of the statement, how many rows it lacks at most. Nothing where no column has a bound.
        """
        if self.mentions != len(lacking) or None in lacking or set(self.gains) <= {None}:
            return ()
        rows = sum(one for one in lacking if one is not None)
        return tuple(None if one is None else one * rows for one in self.gains)


def bounds_of(tree: QueryTree) -> AnswerBounds | None:
    """The bounds that a statement's partial answer gives; None where it does not aggregate, or too much besides."""
    select = tree.root.node
    while isinstance(select, exp.Subquery | exp.Paren):
        select = select.this
    if not isinstance(select, exp.Select) or [*_changes_rows(select)] != ["aggregates"]:
        return None
    if any(arg(select, name) is not None for name in ("distinct", "qualify")):
        return None  # rows that differ by a bound alone may become one
    bounds = [_bound(item.unalias()) for item in select.expressions]
    if any(item.find(exp.Star) and not has_aggregate(item) for item in select.expressions):
        return None
    # An item may name those before it.
    risky = {
        item.alias.lower()
        for item, bound in zip(select.expressions, bounds, strict=True)
        if bound != "certain" and item.alias
    }
    for place, item in enumerate(select.expressions):
        # What stands in front of a dot may be one of them, and its field what is named.
        names = {parts_of(column)[0].name.lower() for column in item.find_all(exp.Column)}
        if bounds[place] == "certain" and names & risky:
            bounds[place] = "unknown"
    walk = _Walk(tree, joined=False, outermost=select)
    walk.query(tree.root.node, _Standing())
    first = arg(select, "limit") is not None or arg(select, "offset") is not None
    ordered = any(arg(select, name) is not None for name in _ORDERS)
    rows = arg(select, "having") is None and not (first and ordered)
    doubts = tuple((name, causes) for name, causes in walk.mentions if causes)
    gains = tuple(
        _gain(item) if bound == "at_least" else None
        for item, bound in zip(select.expressions, bounds, strict=True)
    )
    mentions = _mentions(select, walk.scopes, outermost=True)
    return AnswerBounds(
        tuple(bounds), rows, doubts, gains, mentions if mentions == len(walk.mentions) else None
    )


def _bound(item: Node) -> Bound:
    """What a value of a select item says, if the rows it rests on are some of those it should rest on."""
    item = item.unnest()
    if isinstance(item, exp.Filter):
        item = item.this
    match item:
        case exp.Count() | exp.CountIf():
            return "at_least"
        case exp.Max() if not item.expressions:
            return "at_least"
        case exp.Min() if not item.expressions:
            return "at_most"
        case exp.Sum() if _is_natural(item.this):
            return "at_least"
    return "unknown" if has_aggregate(item) or item.find(exp.Anonymous) else "certain"


def _gain(item: Node) -> int | None:
    """By how much one more row raises a value at most, of those that only rise."""
    item = item.unalias().unnest()
    item = item.this if isinstance(item, exp.Filter) else item
    if isinstance(item, exp.Sum):
        return _most(item.this)
    return 1 if isinstance(item, exp.Count | exp.CountIf) else None


def _most(node: Node) -> int | None:
    """The largest that a natural number in a statement may be; None where the text does not say."""
    node = node.unnest()
    match node:
        case exp.Literal():
            return int(node.name)
        case exp.Null():
            return 0
        case exp.Distinct():
            values: list[Node] = node.expressions
        case exp.Case():
            values = [*(one.args["true"] for one in node.args["ifs"]), *_default(node, "default")]
        case exp.If():
            values = [*_default(node, "true"), *_default(node, "false")]
        case _:
            return None
    most = [_most(one) for one in values]
    return None if None in most else max((one for one in most if one is not None), default=0)


def _default(node: Node, name: str) -> list[Node]:
    value = arg(node, name)
    return [value] if isinstance(value, exp.Expr) else []


#: What a SELECT may have whose rows are each made of one row of its only table or query, and which are fewer.
_FEWER = frozenset({"expressions", "from", "where", "with", "distinct"})
_OUTERMOST = frozenset({"group", "having", "order", "limit", "offset"})


def _mentions(node: Node, scopes: _Scopes, *, outermost: bool = False) -> int | None:
    """How many tables a query reads, each row of which is one of its rows at most; None where that is not certain."""
    node = node.unnest() if isinstance(node, exp.Subquery | exp.Paren) else node
    if isinstance(node, exp.Union) and filled(node) <= {"this", "expression", "distinct", "with"}:
        sides = [_mentions(side, scopes) for side in (node.this, node.expression)]
        return None if None in sides else sum(one for one in sides if one is not None)
    if not isinstance(node, exp.Select) or filled(node) - (_FEWER | _OUTERMOST if outermost else _FEWER):
        return None
    if any(part.find(exp.Query) for part in [*node.expressions, *_clauses(node, ("where", "having"))]):
        return None
    if not outermost and not all(map(is_row_wise, node.expressions)):
        return None
    sources = scopes[id(node)].sources if id(node) in scopes else []
    if len(sources) != 1 or filled(sources[0].node) - {"this", "db", "alias"}:
        return None
    [source] = sources
    if source.query is None:
        return None if source.table is None else 1
    return None if source.query.recursive else _mentions(source.query.node, scopes)


def _is_natural(node: Node) -> bool:
    """Whether a value is certainly a whole number that is not negative, or NULL."""
    node = node.unnest()
    match node:
        case exp.Literal():
            return not node.is_string and node.name.isdecimal()
        case exp.Null() | exp.Length():
            return True
        case exp.Distinct():
            return all(map(_is_natural, node.expressions))
        case exp.Case():
            values: list[Node] = [one.args["true"] for one in node.args["ifs"]]
            default = arg(node, "default")
            return all(map(_is_natural, [*values, *([default] if isinstance(default, exp.Expr) else [])]))
        case exp.If():
            branches = (arg(node, "true"), arg(node, "false"))
            return all(_is_natural(one) for one in branches if isinstance(one, exp.Expr))
    return False


def causes_among(doubts: Doubts, incomplete: Collection[str]) -> tuple[str, ...]:
    """What may have made rows wrong, when these tables (`source.table`) were not read in full.

    Nothing: every row of the partial answer is one of the complete answer.
    """
    lacking = {name.lower() for name in incomplete}
    among = [cause for name, causes in doubts if lacking and name in {*lacking, _ANY} for cause in causes]
    return tuple(dict.fromkeys(among))


def _name_of(table: Table) -> str:
    """What a table is called in `Doubts`; one that a query makes has no source."""
    return table.full_name.lower() if table.source else table.name.lower()


class _Standing(Struct, frozen=True):
    """Where a part of the statement stands: what makes its rows doubtful."""

    causes: tuple[str, ...] = ()
    first: bool = False  # only the first of its rows are taken

    def because(self, *causes: str) -> _Standing:
        return replace(self, causes=(*self.causes, *causes))


class _Walk:
    """Goes through a statement and notes for each table that it reads what its missing rows would make wrong."""

    def __init__(self, tree: QueryTree, *, joined: bool, outermost: Node | None = None) -> None:
        self.scopes: _Scopes = {id(scope.node): scope for scope in tree.scopes}
        self._by_eddy = joined
        # What it says of many rows in one, and which rows it leaves out, is no matter.
        self._outermost = outermost
        self._within: list[Node] = []  # the queries around, where a recursive one may name itself
        self.mentions: list[tuple[str, tuple[str, ...]]] = []

    def query(self, node: Node, standing: _Standing) -> None:
        """A query, in brackets or not."""
        bounded = any(arg(node, name) is not None for name in ("limit", "offset"))
        ordered = any(arg(node, name) is not None for name in _ORDERS)
        # Rows of a query in FROM come in its order: `SELECT * FROM (SELECT a FROM r ORDER BY a) LIMIT 2`.
        if ordered and (standing.first or (bounded and node is not self._outermost)):
            standing = standing.because(_FIRST_ROWS)
        standing = replace(standing, first=standing.first or bounded)
        match node:
            case exp.Subquery() | exp.Paren():
                self.query(node.this, standing)
            case exp.SetOperation():
                self.query(node.this, standing)
                right = standing.because("EXCEPT") if isinstance(node, exp.Except) else standing
                self.query(node.expression, right)
            case exp.Select() if id(node) in self.scopes:
                self._select(node, self.scopes[id(node)], standing)
            case exp.Values():
                self._value(node, standing)
            case _:
                self.mentions.append((_ANY, (*standing.causes, f"a query of kind {node.key.upper()}")))

    def _select(self, node: Node, scope: SelectScope, standing: _Standing) -> None:
        if node is not self._outermost:
            standing = standing.because(*_changes_rows(node))
        causes = {} if self._by_eddy else _causes_of_joins(scope)
        for source in scope.sources:
            self._source(source, standing.because(*causes.get(source, ())))
        for join in scope.joins:
            condition = join.node.args.get("on")
            if condition is not None:
                whole = self._by_eddy or join.kind in {"inner", "semi"}
                (self._condition if whole else self._value)(condition, standing)
        for clause in ("where", "having", "qualify"):
            condition = arg(node, clause)
            if isinstance(condition, exp.Expr):
                self._condition(condition.this, standing)
        for part in (*node.expressions, *_clauses(node, ("group", "order", "sort", "windows"))):
            self._value(part, standing)

    def _source(self, source: Source, standing: _Standing) -> None:
        """One element of FROM."""
        if source.node.args.get("pivots"):
            standing = standing.because("PIVOT")
        if source.table is not None:
            self.mentions.append((_name_of(source.table), standing.causes))
        elif source.query is None:
            self._value(source.node, standing)
        elif not any(one is source.query.node for one in self._within):
            self._within.append(source.query.node)
            self.query(source.query.node, standing)
            self._within.pop()

    def _condition(self, node: Node, standing: _Standing, *, wanted: bool = True) -> None:
        """A condition that rows must meet; `wanted` False: must fail to meet."""
        node = node.unnest()
        match node:
            case exp.And() | exp.Or():
                for part in operands(node):
                    self._condition(part, standing, wanted=wanted)
            case exp.Not():
                self._condition(node.this, standing, wanted=not wanted)
            case exp.Exists() if isinstance(node.this, exp.Query):
                self.query(node.this, standing if wanted else standing.because("NOT EXISTS"))
            case exp.In() if isinstance(node.args.get("query"), exp.Query):
                self._value(node.this, standing)
                self.query(
                    cast("Node", node.args["query"]), standing if wanted else standing.because("NOT IN")
                )
            case _:
                self._value(node, standing)

    def _value(self, node: Node, standing: _Standing) -> None:
        """An expression: rows that its subqueries lack may change it either way."""
        held = standing.because(_AS_VALUE)
        for part in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
            if isinstance(part, exp.Query):
                self.query(part, held)


def _causes_of_joins(scope: SelectScope) -> dict[Source, list[str]]:
    """By source of FROM: what the joins around it make of rows that it lacks."""
    causes: dict[Source, list[str]] = defaultdict(list)
    behind: dict[Source, list[Source]] = defaultdict(list)  # semi and anti joins, what they hide
    for join in scope.joins:
        left, right = (_with_hidden(side, behind) for side in (join.left, join.right))
        side, kind = keyword(join.node, "side"), keyword(join.node, "kind")
        if kind in {"SEMI", "ANTI"}:
            behind[join.left[0]] += right
        cause, lacking = _cause_of(side, kind, left, right)
        for source in lacking:
            causes[source].append(cause)
    return causes


def _cause_of(
    side: str, kind: str, left: Sequence[Source], right: Sequence[Source]
) -> tuple[str, Sequence[Source]]:
    """How a join is called that makes rows wrong where some sources lack theirs; and these."""
    if kind == "ANTI":
        return "ANTI JOIN", right
    if kind == "SEMI" or side not in _OUTER:
        return "", ()
    before, after = _OUTER[side]
    return f"{side} JOIN", [*(left if before else ()), *(right if after else ())]


def _with_hidden(sources: Sequence[Source], behind: Mapping[Source, Sequence[Source]]) -> list[Source]:
    """The sources of a side of a join, with those that semi and anti joins in it hide."""
    return [one for source in sources for one in (source, *_with_hidden(behind.get(source, ()), behind))]


def _changes_rows(select: Node) -> Iterator[str]:
    """What in a SELECT says something of many rows in one."""
    parts = [*select.expressions, *_clauses(select, ("having", "qualify", "order", "sort"))]
    anonymous = arg(select, "group") is not None and any(
        isinstance(part, exp.Anonymous) for item in parts for part in _own(item)
    )
    if anonymous or any(has_aggregate(part) for part in parts if not isinstance(part, exp.Query)):
        yield "aggregates"
    if any(isinstance(part, exp.Window) for item in parts for part in _own(item)):
        yield "window functions"


def _own(node: Node) -> Iterator[Node]:
    """The nodes of an expression without those of queries in it."""
    return (
        part
        for part in node.walk(prune=lambda inner: isinstance(inner, exp.Query))
        if not isinstance(part, exp.Query)
    )


def _clauses(node: Node, names: tuple[str, ...]) -> Iterator[Node]:
    for name in names:
        value = arg(node, name)
        yield from value if isinstance(value, list) else [value] if isinstance(value, exp.Expr) else []
