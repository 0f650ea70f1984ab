"""What sources offer: tables, columns, access methods; and the two calls by which the engine reads them.

The engine knows sources only through this page. Adapters (`fff_sources`) implement `SourceAdapter` and are
found through the entry-point group `fff.sources`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from fff.budget import Money
from fff.dataflow.plan.extents import ALL, Extent
from fff.errors import SourceError
from fff.quals import ChangesSince, Qual, Quals, text_of
from fff.schema import Field
from fff.stats import AccessMeter
from fff.structs import Struct, replace

if TYPE_CHECKING:
    from fff.web.types import ResponseMemory

RecordBatch: TypeAlias = pa.RecordBatch

Requirement = Literal["required", "optional", "any_of"]


class KeyColumn(Struct, frozen=True):
    """A column a request can be given, and the operators the source applies to it.

    `sendable` are the operators that every request for the table can say beside its keys, each with the
    parameter that does (None: it is said in the source's own language). The source must then give at least
    the rows for which the comparison is true in SQL; those alone where it is `exact`, as it compares just
    what is read, as SQL does; so does `like` where it is `exact_like`. Unbound keys are from `parent`:
    source, table, column.
    """

    name: str
    require: Requirement = "optional"
    operators: tuple[str, ...] = ("=",)
    sendable: tuple[tuple[str, str | None], ...] = ()
    parent: tuple[str, str, str] | None = None
    exact: bool = False
    exact_like: bool = False


class ScanMethod(Struct, frozen=True):
    """One way to read a whole table, page by page.

    Several on one table compete (mirrors). `price` is that of a request, `limiter` and `units` as those of a
    lookup; without conditions it takes `requests` at least.
    """

    name: str
    endpoint: object = None  # the adapter's own description; opaque to the engine
    price: Money | None = None
    limiter: str = ""
    requests: int = 1
    units: int | None = 1


class LookupMethod(Struct, frozen=True):
    """One index access: all rows having given values of `keys`. A request may carry up to `batch_size` keys.

    `limiter`: what holds its requests back (a host and who asks there, a pool of threads), by a name of the
    adapter's choosing: methods that name the same share one ceiling, `Table.max_in_flight`. Without a name it
    is the source's. `price` is that of a request, which counts as `units` of the table's `rates`; None: that
    depends on its keys. Without conditions a batch takes `requests` for each page,
    and any number where it `repeats` them until there is an answer. The keys of a batch are alike in the
    first `shared` of the columns.
    """

    name: str
    keys: tuple[str, ...]
    batch_size: int = 1
    endpoint: object = None
    limiter: str = ""
    price: Money | None = None
    requests: int = 1
    repeats: bool = False
    shared: int = 0
    units: int | None = 1


class Table(Struct, frozen=True):
    """A web table: its columns in order, and every way to reach its rows.

    What requests can be spared for is a statement's to say: `quals` hold for every row that it can use (the
    rest may be left out of any answer), of a scan it takes no more than `rows_wanted` of the rows that fulfil
    them, and the first by `sort` will do. Sources may ignore all three; pages say what order they come in.
    """

    source: str
    name: str
    columns: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    key_columns: tuple[KeyColumn, ...] = ()
    scans: tuple[ScanMethod, ...] = ()
    lookups: tuple[LookupMethod, ...] = ()
    max_in_flight: int = 8  # the declared ceiling of concurrent requests of its host
    #: Requests that its host is sent at most, in any so many seconds; some count as several.
    rates: tuple[tuple[float, float], ...] = ()
    most_shares: int = 8  # among how many that ask side by side these limits can be shared out
    description: str = ""
    order: tuple[str, ...] = ()  # columns by which scans are ordered, rising; falling with - before the name
    quals: Quals = ()
    wanted: Extent = ALL  # the rows that `quals` were made for, by their values as declared
    rows_wanted: int | None = None
    sortable: tuple[str, ...] = ()  # what scans can be asked to be sorted by, written as in `order`
    sort: str | None = None  # one of these, `x nulls first` where NULL is to come before all else
    sorts_exactly: bool = False  # as SQL does, texts by their bytes, NULL first or last as it is asked
    changes: ChangesSince | None = None  # how scans can be asked for what has changed alone
    notes: tuple[str, ...] = ()  # what whoever reads it should know beforehand, each a sentence
    unfinished: str = ""  # what is to be written in its spec before it can be asked
    function: bool = False  # the last column is its value, those before it are its arguments, in order
    #: Of a function: what answers in its source's place, asking that where it has to; None: the source.
    proxied: Callable[[SourceAdapter], SourceAdapter] | None = None

    @property
    def full_name(self) -> str:
        """`source.table`."""
        return f"{self.source}.{self.name}"

    def column(self, name: str) -> Field | None:
        """The column of that name, whatever its case, or None."""
        lower = name.lower()
        return next((column for column in self.columns if column.name.lower() == lower), None)

    def always_bound(self, name: str) -> bool:
        """Whether every request for rows binds a column: then no row that comes has NULL there."""
        wanted = name.lower()
        required = (key.name.lower() for key in self.key_columns if key.require == "required")
        keys = [{key.lower() for key in method.keys} for method in self.lookups]
        return wanted in required or (not self.scans and bool(keys) and all(wanted in one for one in keys))

    def quals_beside(self, keys: Collection[str] = ()) -> Quals:
        """What requests for these key columns say on top of the keys."""
        known = {key.lower() for key in keys}
        return tuple(qual for qual in self.quals if qual.column.lower() not in known)

    def param_of(self, qual: Qual) -> str | None:
        """The parameter by which requests say a qualifier; None where it is said in the source's own language."""
        if qual.operator == "since":
            return self.changes.param if self.changes is not None else None
        wanted = qual.column.lower(), qual.operator
        sendable = ((key.name.lower(), *one) for key in self.key_columns for one in key.sendable)
        return next((param for name, operator, param in sendable if (name, operator) == wanted), None)

    def said(self, qual: Qual) -> str:
        """A qualifier as requests say it, for people."""
        param = self.param_of(qual)
        name = f"{qual.column} {qual.operator} " if param is None else f"{param}="
        return name + text_of(qual.value)

    @property
    def usable_scans(self) -> tuple[ScanMethod, ...]:
        """The scans; none where the source demands a key column that no qualifier tells it."""
        return self.scans if self._has_demanded(()) else ()

    @property
    def usable_lookups(self) -> tuple[LookupMethod, ...]:
        """The lookups that give the source every key column it demands, those that qualifiers tell it aside."""
        return tuple(method for method in self.lookups if self._has_demanded(method.keys))

    def _has_demanded(self, keys: Collection[str]) -> bool:
        sent = {name.lower() for name in keys} | {qual.column.lower() for qual in self.quals}
        required = {key.name.lower() for key in self.key_columns if key.require == "required"}
        any_of = {key.name.lower() for key in self.key_columns if key.require == "any_of"}
        return required <= sent and (not any_of or bool(sent & any_of))

    @property
    def prices(self) -> tuple[Money, ...]:
        """What requests for it may cost, where that is stated."""
        methods: tuple[ScanMethod | LookupMethod, ...] = (*self.scans, *self.lookups)
        return tuple(method.price for method in methods if method.price is not None)


class Page(Struct, frozen=True):
    """Rows of one answer: the asked columns, in the asked order, in their declared Arrow types.

    `truncated` says why the answer is known not to hold every match (a page cap, a hit limit); such an
    answer never counts as complete. If that is so for some keys of a lookup only, `unanswered` names them; if
    for some rows of a scan, they are in `lacks` (`error`: what failed); the rest stands. `ends`: EOT of what
    the table's qualifiers want of that, on a page without rows. `total_rows`: the source's own total (an
    estimate: it decides what is read first, never what counts as read; with `counted`, how many rows the
    scan has, by the word of the source), `pages` that of its pages.
    `order`: what the pages of this scan come ordered by, as the source promises, with `-` before what falls.
    `doubled`: what is wrong with a truncated answer may mean that some of its rows came twice; `moved`: and
    that is likely, as the source told other totals meanwhile, or gave more rows than it had told.
    """

    rows: RecordBatch
    truncated: str | None = None
    total_rows: int | None = None
    order: str | None = None
    unanswered: tuple[tuple[object, ...], ...] = ()
    pages: int | None = None
    doubled: bool = False
    moved: bool = False
    ends: Extent | None = None
    lacks: Extent | None = None
    error: SourceError | None = None
    counted: bool = False

    def select(self, columns: Sequence[str]) -> Page:
        """The page in some of its columns."""
        return replace(self, rows=self.rows.select(list(columns)))


#: Values of the key columns of a lookup, in the order of its `keys`, and several of these.
Key: TypeAlias = tuple[object, ...]
Keys: TypeAlias = Sequence[Key]


class SourceAdapter(Protocol):
    """A source: a declaration and two asynchronous generators. Both raise SourceError; ending normally means EOT."""

    name: str

    @property
    def tables(self) -> Sequence[Table]:
        """Every table of the source."""

    def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncIterator[Page]:
        """Every row of the table.

        `window` bounds how many pages may be under way at once where pages are independent.
        """

    def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncIterator[Page]:
        """Every row matching one of the keys (values in the order of `method.keys`, Python values of the column types).

        A row's key columns that the answer leaves out are filled from the key asked for.
        """

    async def close(self) -> None:
        """Release connections."""


@runtime_checkable
class Discovering(Protocol):
    """A source that may not know the columns of its tables before it has asked."""

    async def discover(self, names: Collection[str], *, meter: AccessMeter) -> None:
        """Find out the columns of those of the named tables that have none yet.

        Raises SourceError, SecretError.
        """


@runtime_checkable
class Listing(SourceAdapter, Protocol):
    """A source that may not know which tables it has before it has asked; `tables` are those it knows so far."""

    @property
    def listed(self) -> bool:
        """Whether `tables` are all there are."""

    async def list_tables(self, *, meter: AccessMeter) -> None:
        """Find out which tables there are; their columns are left to `discover`.

        Raises SourceError, SecretError.
        """


@runtime_checkable
class Priced(Protocol):
    """A source whose requests cost something, those for what its tables are like as well."""

    price: Money | None


@runtime_checkable
class Naming(Protocol):
    """A source that has a table for every name that means something, such as that of a file."""

    def named(self, name: str) -> Table | None:
        """The table of that name, now among `tables`; None where the name means nothing. Sends nothing."""

    def absent(self, name: str) -> str | None:
        """What to say of a name that means nothing, where it looks like one that this source would know."""

    def read_as_text(self, table: Table, columns: Collection[str]) -> bool:
        """Have these columns (in lower case) of a table as text from now on; whether that can be and changes something."""


@runtime_checkable
class Prompt(Protocol):
    """A source that gives what one request answers to a lookup as it is, without a generator, which costs more than the rows."""

    async def answer(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> tuple[Sequence[Page], AsyncIterator[Page] | None]:
        """The first pages of `SourceAdapter.lookup`, and what brings the others; None where there are none.

        Raises what reading the pages raises.
        """


@runtime_checkable
class Cacheable(Protocol):
    """A source whose answers may be kept on disk for later runs."""

    def cache_ttl(self) -> float | None:
        """Seconds that answers count as fresh, as the source is declared; None where nothing is said."""

    def fingerprint(self, table: Table) -> bytes:
        """A digest of all that the rows of the table depend on here: declaration, base URL, credentials.

        Raises SecretError.
        """

    def tells_secrets(self, data: bytes) -> bool:
        """Whether a secret of the source stands in there: such rows are never kept."""

    def has_secret_numbers(self) -> bool:
        """Whether one of them may be read as a number, so that the texts of numbers are to be looked through as well."""

    def remember(self, memory: ResponseMemory | None) -> None:
        """Ask for what is in there only if it has changed, and remember what says how to ask so; None: no more."""

    def reads_whole_records(self, table: Table) -> bool:
        """Whether all columns come with every answer, however few are asked for, so that they may as well be kept."""


@runtime_checkable
class Divisible(Protocol):
    """A source some of whose scans can be shared out among several readers, in other processes as well."""

    async def divide(
        self, table: Table, method: ScanMethod, parts: int, *, meter: AccessMeter
    ) -> Sequence[object]:
        """Parts that make up the scan, at most so many, each of which can be pickled; none where it cannot be divided.

        What had to be fetched to know them is in the parts and is not fetched again. Raises SourceError.
        """

    def scan_part(
        self,
        table: Table,
        method: ScanMethod,
        columns: Sequence[str],
        part: object,
        *,
        meter: AccessMeter,
        window: int,
    ) -> AsyncIterator[Page]:
        """The rows of one part. Readers of all parts at once stay together below the ceilings of the host."""
