"""What planning a statement yields: its blocks, where their keys come from, and what Spark runs over them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import pyarrow as pa

from fff.budget import Money
from fff.catalog import Table
from fff.dataflow.plan.expressions import Column, Expr, Literal
from fff.dataflow.plan.plan import BlockPlan
from fff.errors import InvariantError, Span, SparkError
from fff.schema import Field
from fff.sql.analysis.column_lineage import Needs
from fff.sql.analysis.conjuncts import Conjunct
from fff.sql.analysis.grouped_select import GroupedSelect
from fff.sql.analysis.priorities import priority
from fff.sql.analysis.soundness import AnswerBounds, Doubts
from fff.sql.binder.spj_block import SourceBlock
from fff.structs import Struct, field, lazy_pattern, replace

#: A name, perhaps with one before it, each perhaps quoted.
_NAME = lazy_pattern(r"(?<![\w`.])(?:(?P<view>`\w+`|\w+)\.)?(?P<name>`[\w.]+`|\w+)(?![\w`])", re.ASCII)
#: Names before a point, texts, words and signs.
_TOKEN = lazy_pattern(r"([^\W\d]\w*)\s*\.(?=\s*[^\W\d])|('(?:[^'\\]|\\.)*'|[\w.]+|\S)")
#: What every name begins with that the engine puts into a statement, columns of views for several tables aside.
_OURS = "__fff_"


class Cut(Struct, frozen=True):
    """Which of some rows are taken: one of each that are equal, all but the first `offset`, at most `limit` of those."""

    distinct: bool = False
    offset: int = 0
    limit: int | None = None


#: In the place of an alias: a column of what a generator makes, which are the place of an element, it, or a key and its value.
MADE = -1


class Generator(Struct, frozen=True):
    """What makes a row of each element of an array, or of each entry of a map, over the block's output."""

    value: Expr
    place: Span
    outer: bool  # of none, a row of NULLs


class Branch(Struct, frozen=True):
    """Rows of a result: one for each row of a block, or, without a block, one that no table makes.

    Where something makes rows of these, one for each of them.
    """

    block: int | None
    #: Over the block's output, `Column(0, place)`, and what is made, `Column(MADE, part)`.
    values: tuple[Expr, ...]
    places: tuple[Span, ...]  # where they stand in the statement
    #: That the eddy leaves to be evaluated, as they may fail on a row.
    conditions: tuple[tuple[Expr, Span], ...] = ()
    cut: Cut = Cut()
    generator: Generator | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """What its values are made of, and what makes rows."""
        return self.values if self.generator is None else (*self.values, self.generator.value)


class BranchUnion(Struct, frozen=True):
    """What the engine answers by itself: the rows of its branches one after the other, in any order."""

    fields: tuple[Field, ...]
    branches: tuple[Branch, ...]
    cut: Cut = Cut()

    def at(self, origin: Callable[[Span], Span]) -> BranchUnion:
        """The same, of a text in which its parts stand elsewhere."""
        return replace(
            self,
            branches=tuple(
                replace(
                    one,
                    places=tuple(map(origin, one.places)),
                    conditions=tuple((expr, origin(span)) for expr, span in one.conditions),
                    generator=one.generator and replace(one.generator, place=origin(one.generator.place)),
                )
                for one in self.branches
            ),
        )

    def behind(self, blocks: int) -> BranchUnion:
        """The same where so many other blocks stand in front of those of its statement."""
        branches = (
            one if one.block is None else replace(one, block=one.block + blocks) for one in self.branches
        )
        return replace(self, branches=tuple(branches))


class KeyBinding(Struct, frozen=True):
    """What binds one key column of a lookup of one alias: constants, columns of other aliases, or both."""

    column: str
    values: tuple[object, ...] | None
    columns: tuple[str, ...]  # alias.column


class LookupBinding(Struct, frozen=True):
    """A lookup in the plan, as one alias uses it."""

    alias: int
    method: str
    keys: tuple[KeyBinding, ...]
    seed: int | None  # how many keys constants ask for; None when only joins bind it


class KeySource(Struct, frozen=True):
    """Output columns of an earlier block whose values are keys."""

    block: int  # ordinal among the statement's blocks, always smaller than that of the block that is fed
    #: Of that block's output, parallel to the fed table's columns; or the same in each row.
    columns: tuple[int | Literal, ...]

    def of(self, rows: pa.RecordBatch) -> list[pa.Array]:
        """The keys that some rows of the block give."""
        return [
            rows.column(one) if isinstance(one, int) else pa.repeat(one.scalar, len(rows))
            for one in self.columns
        ]


class KeyQuery(Struct, frozen=True):
    """Spark SQL that has keys among its columns, to be run once the blocks whose views it reads have ended.

    Its rows become `view`, which `UpperQuery.final` reads instead of running the query again. Several feeds may want
    columns of one query: `view` tells which are the same.
    """

    sql: str
    view: str
    blocks: tuple[int, ...]
    columns: tuple[int, ...]  # of its result, parallel to the fed table's columns


class Feed(Struct, frozen=True):
    """A table that no source holds: the distinct keys, none of them NULL, that other blocks find.

    Joined into a block, it makes that block fetch only what the rest of the statement can match (a semi-join
    reduction), and reach tables that answer lookups alone. Its one scan ends when every source of keys has ended.
    """

    table: int  # ordinal among the block plan's tables
    sources: tuple[KeySource, ...]
    query: KeyQuery | None = None  # then there are no sources
    distinct: bool = True  # else every row comes, with its NULLs
    rows: BranchUnion | None = None  # of a query that the engine answers: its rows, then there are no sources

    @property
    def blocks(self) -> frozenset[int]:
        """The blocks that must have ended before all keys are known."""
        waited = () if self.query is None else self.query.blocks
        made = () if self.rows is None else (one.block for one in self.rows.branches if one.block is not None)
        return frozenset({*waited, *made, *(source.block for source in self.sources)})

    def behind(self, blocks: int) -> Feed:
        """The same where so many other blocks stand in front of those of its statement."""
        query = self.query
        if query is not None:
            query = replace(query, blocks=tuple(one + blocks for one in query.blocks))
        sources = tuple(replace(one, block=one.block + blocks) for one in self.sources)
        rows = None if self.rows is None else self.rows.behind(blocks)
        return replace(self, sources=sources, query=query, rows=rows)


class FirstRows(Struct, frozen=True):
    """That a result takes so many rows of a table's only scan: any, or the first by a column by which that is ordered.

    `sort`: what the scan is to be asked to be sorted by, where it does not come so. `cut`: which of the rows
    that are last alike come makes no difference, so that a scan that leaves out none of them by itself may end
    after as many as there are to be.
    """

    column: Column | None
    count: int
    falling: bool = False
    sort: str | None = None
    nulls_first: bool = False
    cut: bool = False


class BlockQuery(Struct, frozen=True):
    """One select-project-join block of a statement: what its eddy runs, and the view that holds its rows for Spark."""

    plan: BlockPlan  # its output is exactly the columns the rest of the statement needs
    tables: tuple[Table, ...]  # parallel to plan.tables
    conjuncts: tuple[Conjunct, ...]
    equalities: tuple[tuple[str, ...], ...]  # alias.column, by class
    bindings: tuple[LookupBinding, ...]
    order: tuple[int, ...]  # aliases in the order in which the feasibility check reached them
    empty: str | None  # why the block cannot have rows; nothing is fetched then
    view: str = ""
    fields: tuple[Field, ...] = ()  # of the view: unique names, parallel to the plan's output
    feeds: tuple[Feed, ...] = ()
    first: FirstRows | None = None
    hesitant: bool = False  # some of its rows may turn out to be enough, though it cannot tell how many

    @property
    def eager(self) -> bool:
        """Whether all rows are wanted, as far as is known: then pages may be fetched side by side."""
        return self.plan.limit is None and self.first is None and not self.hesitant

    @property
    def fetches(self) -> bool:
        """Whether anything must be read from the web at all."""
        return bool(self.plan.aliases) and self.plan.limit != 0


class SparkFilter(Struct, frozen=True):
    """A condition on the rows of a block that is left to Spark, and what counts the rows that it throws away.

    `counts` is Spark SQL over the blocks' views: one row with how many there are, how many are kept and, for each of
    `lookups` (full names of access methods), how many keys only rows that are thrown away have.
    `unknown` are lookups whose keys the views do not have.
    """

    text: str
    counts: str
    lookups: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def _places(fragment: str, sql: str) -> list[Span]:
    """Where a part of a text stands in a statement; its names may be qualified where those of the statement are not."""
    parts = [
        rf"(?:{one[0]}\s*\.\s*)?" if one[0] else rf"{re.escape(one[1])}\s*"
        for one in _TOKEN.findall(fragment.replace("`", ""))
    ]
    pattern = rf"(?<![\w.]){''.join(parts)}(?<!\s)(?!\w)"
    return [Span(*one.span()) for one in re.finditer(pattern, sql, re.IGNORECASE)] if parts else []


class OwnWords(Struct, frozen=True):
    """The statement's names for views and their columns: of `view`, of `view.column`, of a column that only one view has."""

    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, blocks: Sequence[tuple[str, SourceBlock, Sequence[Column], Sequence[Field]]]) -> Self:
        """For views with the blocks they are of, the columns in them, and what those are called there."""
        names: dict[str, str] = {}
        for view, block, output, fields in blocks:
            relations = block.scope.relations
            names[view] = relations[0].alias if len(relations) == 1 else "these tables"
            for column, one in zip(output, fields, strict=True):
                written = block.scope.describe(column)
                names[f"{view}.{one.name}"] = written
                if one.name != block.scope.field(column).name:
                    names[one.name] = written
        return cls(names)

    def without(self, made: re.Pattern[str]) -> Self:
        """The same without names of tables that nobody has written."""
        return type(self)({ours: made.sub("", own) or "these tables" for ours, own in self.names.items()})

    def told(self, error: SparkError, sql: str) -> SparkError:
        """The error without names that nobody has written; underlined in the statement where it is sure which part it is about."""
        reworded = SparkError(_NAME.sub(self._written, error.message), hint=error.hint)
        reworded.span = self._place(error, sql)
        reworded.sql = sql if reworded.span is not None else None
        reworded.__cause__ = error.__cause__
        return reworded

    def _place(self, error: SparkError, sql: str) -> Span | None:
        """The part of the statement that is the one of what Spark was given: the only one, or the same of as many."""
        own = _places(_NAME.sub(self._written, error.fragment), sql)
        given = _places(error.fragment, error.given) if len(own) > 1 else []
        if len(own) == 1:
            return own[0]
        about = [at for at, one in enumerate(given) if one.start <= error.start < one.end]
        return own[about[0]] if about and len(own) == len(given) else None

    def _written(self, match: re.Match[str]) -> str:
        quote = "`" if match["name"].startswith("`") else ""
        view, name = (match["view"] or "").strip("`"), match["name"].strip("`")
        own = self.names.get(f"{view}.{name}" if view else name)
        if own is None and view.startswith(_OURS):
            own = name if view not in self.names else f"{self.names[view]}.{name}"
        if own is None and not view and name.startswith(_OURS):
            own = "this query"
        if own is None:
            return match[0]
        return ".".join(f"{quote}{part}{quote}" for part in own.split(".")) if " " not in own else own


class UpperQuery(Struct, frozen=True):
    """Spark SQL over the views that hold the blocks' rows.

    `group_keys` tells for each result column which output column of the only block it groups by (None: none), and is
    None itself where the result is not groups of one block's rows. Then `counted` is the same query with one more
    column at the end: how many of the block's rows each result row rests on; `needs` tells what each part rests on, and
    `grouped` what the engine groups by itself to show groups while rows come.
    """

    sql: str
    why: str
    aggregated: bool
    names: tuple[str, ...] = ()  # of the result's columns; "" where Spark makes one
    group_keys: tuple[int | None, ...] | None = None
    counted: str | None = None
    needs: Needs | None = None
    grouped: GroupedSelect | None = None
    final: str | None = None  # the same over the views of all key queries as well, once they are there
    key_views: int = 0  # how many those are
    words: OwnWords = field(default_factory=OwnWords)  # for what Spark says of it
    filters: tuple[SparkFilter, ...] = ()

    @property
    def named(self) -> bool:
        """Whether `names` are all that the result will have."""
        return bool(self.names) and not {"", "*"} & {*self.names}


class Prepared(Struct, frozen=True):
    """One statement, resolved, checked and planned; no request has been made.

    A statement has any number of blocks. It is answered by the engine alone, then it has `result`, or by Spark over the
    blocks' rows, then it has `upper`.
    """

    sql: str
    blocks: tuple[BlockQuery, ...]
    result: BranchUnion | None = None  # when the engine answers alone
    upper: UpperQuery | None = None  # otherwise
    warnings: tuple[str, ...] = ()
    ordered: bool = False  # it says in which order its result comes
    doubts: Doubts = ()
    bounds: AnswerBounds | None = None

    @property
    def only_block(self) -> BlockQuery:
        """The block of a statement that has one."""
        if len(self.blocks) != 1:
            raise InvariantError(f"a statement of {len(self.blocks)} blocks has no only one")
        return self.blocks[0]

    @property
    def fetches(self) -> bool:
        """Whether anything must be read from the web at all."""
        return any(block.fetches for block in self.blocks)

    def has_columns_of(self, condition: str) -> bool:
        """Whether a condition can say what to see first of a block. Raises QueryError for what is none."""
        found = [priority(condition, block.plan) for block in self.blocks]
        return any(one is not None for one in found)

    @property
    def prices(self) -> set[Money]:
        """What its requests may cost."""
        return {
            price
            for block in self.blocks
            if block.fetches
            for table in block.tables
            for price in table.prices
        }
