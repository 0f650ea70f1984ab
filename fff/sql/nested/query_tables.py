"""Queries that the engine answers, in FROM, WITH, IN and EXISTS, as tables that the blocks around them scan.

    SELECT r.id FROM r LEFT JOIN (SELECT DISTINCT q.x FROM q JOIN p ON q.n = p.k) z ON r.x = z.x
    SELECT r.id FROM r LEFT JOIN made_1 z ON r.x = z.x          made_1: SELECT DISTINCT q.x FROM q JOIN p ON q.n = p.k

The rows of the query are those of its own blocks, as they come. The scan of its table ends when those blocks have ended, and
fails where one of them is incomplete: to the eddy that reads it a table like any other, whose end tells what is not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from fff.catalog import Catalog, ScanMethod, Table
from fff.errors import QueryError, Span
from fff.sql.analysis.rewritten import ARGUMENT, Rewritten
from fff.sql.analysis.soundness import Doubts
from fff.sql.binder.names import has_generator
from fff.sql.binder.row_bounds import Bounds
from fff.sql.binder.scopes import Found, Query, QueryTree, resolve
from fff.sql.plan import BlockQuery, BranchUnion, Feed, Prepared, UpperQuery
from fff.sql.scalars.typed import may_fail
from fff.sql.syntax.edits import edit
from fff.sql.syntax.statement import Node, Statement, TokenType, arg, exp, filled, quote
from fff.structs import Struct, field, replace

#: Each is planned by itself; more are left as they are.
_MOST = 20
_PLAIN = frozenset({"expressions", "from", "joins", "where"})

#: Plans a query as a statement.
Plan = Callable[[str, Catalog], Prepared]


class QueryTables(Struct):
    """The queries of a statement that have become tables, by their names in lower case."""

    made: dict[str, Prepared] = field(default_factory=dict)
    packed: bool = False  # some joins were written as queries, so that the eddies run them
    #: Conditions that only bind keys, beside those that say the same.
    beside: list[re.Pattern[str]] = field(default_factory=list)

    def replaced(self, text: Rewritten, plan: Plan) -> Rewritten:
        """The text with tables for queries. Raises QueryError."""
        tried, waiting = set[str](), _candidates(text.tree)
        while len(tried) < _MOST:
            step = next((one for one in waiting if one.sql not in tried), None)
            if step is None:
                break
            tried.add(step.sql)
            try:
                planned = plan(step.sql, text.catalog)
            except QueryError:  # it names columns of the SELECT around it, or needs keys of that
                continue
            name = new_name(text)
            table = table_of(name, planned)
            if table is not None:
                self.made[name] = planned
                text = text.edited([edit(*step.put(table))]).beside([table])
                waiting = _candidates(text.tree)
        return text

    def attached(self, prepared: Prepared) -> Prepared:
        """The plan of the text with the blocks that make the rows of its tables in front."""
        used = {table.name for block in prepared.blocks for table in block.tables}
        made = {name: one for name, one in self.made.items() if name in used}
        blocks: list[BlockQuery] = []
        rows: dict[str, BranchUnion] = {}
        for name, one in self.made.items():
            assert one.result is not None, "only what the engine answers becomes a table"
            rows[name] = one.result.behind(len(blocks))
            blocks += [_fed(block, len(blocks), rows) for block in one.blocks]
        before = len(blocks)
        blocks += [_fed(block, before, rows) for block in prepared.blocks]
        blocks = _hesitant(blocks, before)
        result = None if prepared.result is None else prepared.result.behind(before)
        warnings = [text for one in (*made.values(), prepared) for text in one.warnings]
        bounds = prepared.bounds
        return replace(
            prepared,
            blocks=tuple(blocks),
            result=result,
            warnings=tuple(dict.fromkeys(warnings)),
            doubts=self._doubts(prepared.doubts),
            bounds=bounds and replace(bounds, doubts=self._doubts(bounds.doubts)),
            upper=prepared.upper and self._without_beside(prepared.upper),
        )

    def _without_beside(self, upper: UpperQuery) -> UpperQuery:
        """What Spark runs, without conditions that stand beside others for their keys."""
        for pattern in self.beside:
            final = upper.final and pattern.sub("", upper.final)
            upper = replace(upper, sql=pattern.sub("", upper.sql), final=final)
        return upper

    def _doubts(self, doubts: Doubts) -> Doubts:
        """What makes rows wrong where a table of a query lacks some, of the tables that the query reads."""
        causes_of = [doubt for one in self.made.values() for doubt in one.doubts]
        for name, causes in doubts:
            one = self.made.get(name)
            read = () if one is None else (table for block in one.blocks for table in block.tables)
            causes_of += [(table.full_name.lower(), causes) for table in read] if one else [(name, causes)]
        return tuple(dict.fromkeys(causes_of))


def _fed(block: BlockQuery, before: int, rows: Mapping[str, BranchUnion]) -> BlockQuery:
    """A block behind others, with the rows of the queries that it scans."""
    known = {feed.table for feed in block.feeds}
    feeds = [feed.behind(before) for feed in block.feeds]
    for number, table in enumerate(block.tables):
        if not table.source and table.name in rows and number not in known:
            feeds.append(Feed(number, (), distinct=False, rows=rows[table.name]))
    return replace(block, feeds=tuple(feeds))


def _hesitant(blocks: Sequence[BlockQuery], made: int) -> list[BlockQuery]:
    """The blocks, the first of which make tables: who makes rows for readers that want few of them reads page by page."""
    hesitant = list(blocks)
    for number in reversed(range(made)):  # readers stand behind what they read
        readers = [one for one in hesitant if any(number in feed.blocks for feed in one.feeds if feed.rows)]
        if readers and not any(one.eager for one in readers):
            hesitant[number] = replace(hesitant[number], hesitant=True)
    return hesitant


class _Candidate(Struct, frozen=True):
    """A query that may become a table: its text as a statement, and where it stands."""

    sql: str
    inside: Span  # of its brackets
    whole: Span | None  # with its brackets, where it is an entry of FROM whose columns have their own names

    def put(self, table: Table) -> tuple[Span, str]:
        """What stands for it."""
        if self.whole is not None:
            return self.whole, table.name
        columns = ", ".join(quote(one.name) for one in table.columns)
        return self.inside, f"SELECT {columns} FROM {table.name}"  # noqa: S608 - names of ours


def _candidates(tree: QueryTree) -> Iterator[_Candidate]:
    """Those that do more than to choose rows of tables, outermost first, with a LIMIT where so many rows of them are enough."""
    enough = Bounds.of(tree).queries
    for query in tree.queries:
        shape = None if query is tree.root or query.recursive else _shape(tree, query)
        if shape is None:
            continue
        place = brackets_of(tree.statement, query)
        with_ = with_of(tree, query)
        if place is None or with_ is None:
            continue
        inside = tree.statement.span(place[0] + 1, place[1])
        node = next((one.node for one in tree.sources if one.query is query), None)
        entry = node is not None and is_entry(node)
        whole = tree.statement.span(place[0], place[1] + 1) if entry else None
        sql, start = tree.statement.sql, inside.start
        if (
            arg(query.node.unnest(), "with") and not with_ and shape != "{}"
        ):  # in front of what is put around it
            start = tree.statement.tokens[min(one.region.first for one in query.branches if one.region)].start
            with_ = sql[inside.start : start]
        made = with_ + shape.format(sql[start : inside.end])
        if (
            query in enough
            and shape == "{}"
            and not filled(query.node.unnest()) & {"limit", "offset", "order"}
        ):
            made += f"\nLIMIT {enough[query]}"
        yield _Candidate(made, inside, whole)


def is_entry(node: Node) -> bool:
    """Whether a query in brackets is an entry of FROM whose columns have their own names."""
    alias = node.args.get("alias")
    plain = isinstance(node, exp.Subquery) and filled(node) <= {"this", "alias"}
    return plain and not (alias and alias.columns) and isinstance(node.parent, exp.From | exp.Join)


def _shape(tree: QueryTree, query: Query) -> str | None:
    """What of a query becomes a table, `{}` being its text; None where the SELECT around it does as well.

    Of a query that yields keys each is as good as all that are equal to it, and of one without a name of those around it
    one row says all that EXISTS asks for.
    """
    parent, table = query.node.parent, _only_table(query)
    made = table is not None and not table.source
    if isinstance(parent, exp.Exists) and not made and not _is_correlated(query):
        return "SELECT 1 AS one FROM ({}) AS asked LIMIT 1"
    each = table is not None and made and bool(table.primary_key)
    if isinstance(parent, exp.In) and not each and _yields_keys(query, parent):
        return "{}" if _is_distinct(query.node) else "SELECT DISTINCT * FROM ({}) AS member"
    return "{}" if not made and _is_worth_it(tree, query) else None


def _is_distinct(node: Node) -> bool:
    bare, said = node.unnest(), node.unnest().args.get("distinct")
    if isinstance(bare, exp.SetOperation):
        return said is not False
    return said is not None and not said.args.get("on")


def _only_table(query: Query) -> Table | None:
    """The table of which a query chooses columns and nothing else."""
    if len(query.branches) != 1 or not isinstance(query.node.unnest(), exp.Select):
        return None
    [scope] = query.branches
    plain = len(scope.sources) == 1 and not scope.conditions and filled(scope.node) <= _PLAIN
    return scope.sources[0].table if plain else None


def _is_correlated(query: Query) -> bool:
    """Whether a query names what is around it, as far as can be told."""
    own = {id(one) for one in query.node.walk()}
    return not query.branches or any(
        not isinstance(found := resolve(node, scope), Found) or id(found.source.scope.node) not in own
        for scope in query.branches
        for node in scope.columns
    )


def _yields_keys(query: Query, membership: Node) -> bool:
    """Whether what is compared with a query behind IN is of a table that is read by key."""
    scope = query.branches[0].outer if query.branches else None
    left = membership.this.unnest()
    for item in left.expressions if isinstance(left, exp.Tuple) else [left]:
        found = resolve(item, scope) if scope is not None and isinstance(item, exp.Column) else None
        if (
            isinstance(found, Found)
            and found.source.table is not None
            and not found.source.table.usable_scans
        ):
            return True
    return False


def _is_worth_it(tree: QueryTree, query: Query) -> bool:
    """Whether a query does what cannot be done by the SELECT around it."""
    node, parent = query.node, query.node.parent
    if isinstance(node, exp.Subquery):
        node = node.unnest()
    sources = [one for one in tree.sources if one.query is query]
    if not sources and not isinstance(parent, exp.In | exp.Exists):
        return False  # it stands for a value
    if not isinstance(node, exp.Select):
        return isinstance(node, exp.SetOperation)
    [scope] = query.branches
    if not scope.sources:
        return bool(sources)  # a row of constants in FROM
    if filled(node) - _PLAIN or scope.one_sided or scope.inner or scope.merged or not scope.joinable:
        return True
    if any(map(has_generator, node.expressions)):
        return True  # which makes rows of its own
    if sources and any(one.alias.startswith(ARGUMENT) for one in node.expressions):
        return True  # a column that binds a call, also where it is there for a NULL, as one of a CASE is
    if isinstance(parent, exp.In) and not all(
        isinstance(one.unalias(), exp.Column) for one in node.expressions
    ):
        return True  # which no join compares with columns
    asked = [one.scope.node.parent for one in sources] or [parent]
    right = any(one.nullable or one.hidden for one in sources)
    right = right or any(isinstance(one, exp.In | exp.Exists) for one in asked)
    around = [join for one in sources for join in one.scope.node.args.get("joins") or ()]
    named = any(join.args.get("using") or arg(join, "method") for join in around)
    return named or (right and len(scope.sources) > 1)


def brackets_of(statement: Statement, query: Query) -> tuple[int, int] | None:
    """The tokens of the brackets that hold a query and nothing else; None where it cannot be told."""
    regions = [scope.region for scope in query.branches]
    if None in regions:
        return None
    known = [one for one in regions if one is not None]
    at = min(one.first for one in known) - 1
    if arg(query.node.unnest(), "with"):
        depth = known[0].depth
        while at > 0 and (
            statement.tokens[at].token_type is not TokenType.WITH or statement.depths[at] != depth
        ):
            at -= 1
        at -= 1
    while at >= 0 and statement.tokens[at].token_type is TokenType.L_PAREN:
        close = statement.closing(at)
        if close >= max(one.end for one in known):
            return at, close
        at -= 1
    return None


def with_of(tree: QueryTree, query: Query) -> str | None:
    """WITH and the queries that a query names from around it, as it is written; None where they cannot be copied."""
    own = {id(one) for one in query.node.walk()}
    named = {
        id(one.query.node): one.query
        for one in tree.sources
        if one.query is not None and isinstance(one.node, exp.Table) and id(one.node) in own
    }
    if all(key in own for key in named):
        return ""
    clause = tree.root.node.args.get("with") or tree.root.node.args.get("with_")
    if clause is None or clause.args.get("recursive"):
        return None
    before = clause.expressions
    if isinstance(query.node.parent, exp.CTE):
        at = next((at for at, one in enumerate(before) if one is query.node.parent), 0)
        before = before[:at]
    places = {}
    for one in before:
        inner = next((other for other in tree.queries if other.node is one.this), None)
        place = None if inner is None else brackets_of(tree.statement, inner)
        if place is None:
            return None
        places[one.alias] = place
    if not {one.node for one in named.values() if id(one.node) not in own} <= {one.this for one in before}:
        return None
    first = next(at for at, token in enumerate(tree.statement.tokens) if token.token_type is TokenType.WITH)
    last = max(close for _, close in places.values())
    return tree.statement.text(first, last + 1) + " "


def new_name(text: Rewritten) -> str:
    """A name that neither a table nor the statement has."""
    number = 1
    while text.catalog.find([f"made_{number}"]) or f"made_{number}" in text.sql.lower():
        number += 1
    return f"made_{number}"


def table_of(name: str, planned: Prepared) -> Table | None:
    """The table of a query; None where the engine does not answer it, or would tell of an error that Spark may not."""
    result = planned.result
    if result is None or any(one.conditions for one in result.branches):
        return None
    if any(may_fail(value) for one in result.branches for value in one.expressions):
        return None
    names = {one.name.lower() for one in result.fields}
    if len(names) < len(result.fields) or "" in names:
        return None
    # Where each row comes once, all columns are a key.
    key = tuple(one.name for one in result.fields) if result.cut.distinct else ()
    return Table("", name, result.fields, scans=(ScanMethod(f"{name}.scan"),), primary_key=key)
