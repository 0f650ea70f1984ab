"""The plan of one select-project-join block: pure data, made by `fff.sql`, executed by the eddy.

There is no join order in it. It lists tables (one SteM each), aliases (FROM-clause instances), access methods,
equality classes and predicates; `constraints` derives from it where a tuple may go.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from fff.dataflow.plan.expressions import Column, Expr, columns_of
from fff.dataflow.plan.extents import ALL, Extent
from fff.schema import Field
from fff.structs import Struct

#: key: a declared primary key. value: row value and occurrence number within one complete answer (SQL's bags under
#: competing access methods). position: every row arrives exactly once, so nothing is compared.
IdentityKind = Literal["key", "value", "position"]
#: How an alias is joined with those it needs. inner: by the plan's equality classes and predicates. The others are right sides
#: of a join, with an ON condition of their own: left: a tuple without a match goes on with NULLs; semi: a tuple goes on
#: by itself once it has a match; anti: where it has none.
JoinKind = Literal["inner", "left", "semi", "anti"]


class ScanPlan(Struct, frozen=True):
    """One scan access method. `limiter`: as that of a lookup; `price`: money that a request costs."""

    name: str
    limiter: int | None = None
    price: float = 0.0


class LookupPlan(Struct, frozen=True):
    """One index access method: equality on `columns` (indices into the table's columns)."""

    name: str
    columns: tuple[int, ...]
    batch_size: int = 1  # keys one request may carry
    window: int = 16  # requests the eddy keeps under way at most (twice the host's ceiling keeps it busy)
    limiter: int | None = (
        None  # ordinal of what holds its requests back; methods that share one share its ceiling
    )
    ceiling: int | None = None  # requests that are admitted at once; None: the window
    price: float = 0.0  # money that a request costs


class TablePlan(Struct, frozen=True):
    """A base table, once, however many aliases name it. `columns` holds only what the query needs, keys included."""

    name: str  # source.table
    columns: tuple[Field, ...]
    scans: tuple[ScanPlan, ...] = ()
    lookups: tuple[LookupPlan, ...] = ()
    identity: IdentityKind = "position"
    key: tuple[int, ...] = ()  # columns of the declared key, under identity "key"
    wanted: Extent = ALL  # what scans are asked for: their EOT covers that


class Seed(Struct, frozen=True):
    """A lookup bound by constants or IN lists: asked at the start; the alias then counts as scannable (P47)."""

    lookup: int  # index into the table's lookups
    keys: tuple[tuple[object, ...], ...]


class AliasPlan(Struct, frozen=True):
    """A FROM-clause instance of a table. Active: its rows start chains (a scan or a seed brings them all)."""

    name: str
    table: int
    active: bool
    seeds: tuple[Seed, ...] = ()
    constants: tuple[tuple[int, object], ...] = ()  # (column, value) pinned by `=`; they help to bind lookups
    kind: JoinKind = "inner"
    #: Of a right side: the equalities of its ON condition, own column and a column of an inner or left alias. It has no seeds.
    links: tuple[tuple[int, Column], ...] = ()


class EqualityClass(Struct, frozen=True):
    """Columns that any result has equal and not NULL (transitive closure of inner-join equalities).

    Every member has the same comparison kind, so that equality really is transitive (integers of any width; strings;
    dates; timestamps; Booleans; floats of one width; decimals of one type).
    """

    members: tuple[Column, ...]


class Predicate(Struct, frozen=True, dict=True):
    """A conjunct that is not part of an equality class.

    `module`: evaluated by a selection module that tuples are routed to; otherwise inline, as soon as its last column is
    there (cheap predicates stay attached to scans and joins, S3 section 2.1.4). `on`: the right side to whose ON condition
    it belongs, inline always; else it is one of inner joins or WHERE, and sees the NULLs that left joins fill in.
    """

    expr: Expr
    text: str = ""
    module: bool = False
    on: int | None = None

    def __post_init__(self) -> None:
        assert not (self.module and self.on is not None), "ON conditions are evaluated inline"

    @cached_property
    def aliases(self) -> frozenset[int]:
        """Those whose columns it reads."""
        return frozenset(column.alias for column in columns_of(self.expr))


class Recursion(Struct, frozen=True):
    """A table some of whose rows the block's own results make: `values`, over its output (`Column(0, place)`), by column."""

    table: int
    values: tuple[Expr, ...]


class BlockPlan(Struct, frozen=True):
    """Everything an eddy needs to know."""

    tables: tuple[TablePlan, ...]
    aliases: tuple[AliasPlan, ...]
    equalities: tuple[EqualityClass, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    output: tuple[Column, ...] = ()
    limit: int | None = None  # stop once this many rows are out
    recursion: Recursion | None = None

    @property
    def inner(self) -> bool:
        """Whether all its joins are inner ones."""
        return all(alias.kind == "inner" for alias in self.aliases)

    def field_of(self, column: Column) -> Field:
        """The field a column reference names."""
        return self.tables[self.aliases[column.alias].table].columns[column.index]
