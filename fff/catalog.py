"""What sources offer: tables, columns, access methods; and the two calls by which the engine reads them.

The engine knows sources only through this page. Adapters (`fff_sources`) implement `SourceAdapter` and are
found through the entry-point group `fff.sources`.
"""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast, runtime_checkable

import pyarrow as pa

from fff.budget import Budget, Money
from fff.dataflow.plan.extents import ALL, Extent
from fff.errors import SourceError
from fff.options import SpecText
from fff.quals import ChangesSince, Qual, Quals, text_of
from fff.schema import Field
from fff.stats import AccessMeter

if TYPE_CHECKING:
    from fff.web.types import ResponseMemory

RecordBatch: TypeAlias = pa.RecordBatch

Requirement = Literal["required", "optional", "any_of"]


@dataclass(frozen=True)
class KeyColumn:
    """A column a request can be given, and the operators the source applies to it.

    `sendable` are the operators that every request for the table can say beside its keys, each with the
    parameter that does (None: it is said in the source's own language). The source must then give at least
    the rows for which the comparison is true in SQL. Unbound keys are from `parent`: source, table, column.
    """

    name: str
    require: Requirement = "optional"
    operators: tuple[str, ...] = ("=",)
    sendable: tuple[tuple[str, str | None], ...] = ()
    parent: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class ScanMethod:
    """One way to read a whole table, page by page.

    Several on one table compete (mirrors). `price` is that of a request, `limiter` as that of a lookup;
    without conditions it takes `requests` at least.
    """

    name: str
    endpoint: object = None  # the adapter's own description; opaque to the engine
    price: Money | None = None
    limiter: str = ""
    requests: int = 1


@dataclass(frozen=True)
class LookupMethod:
    """One index access: all rows having given values of `keys`. A request may carry up to `batch_size` keys.

    `limiter`: what holds its requests back (a host and who asks there, a pool of threads), by a name of the
    adapter's choosing: methods that name the same share one ceiling, `Table.max_in_flight`. Without a name it
    is the source's. `price` is that of a request. Without conditions a batch takes `requests` for each page,
    and any number where it `repeats` them until there is an answer.
    """

    name: str
    keys: tuple[str, ...]
    batch_size: int = 1
    endpoint: object = None
    limiter: str = ""
    price: Money | None = None
    requests: int = 1
    repeats: bool = False


@dataclass(frozen=True)
class Table:
    """A web table: its columns in order, and every way to reach its rows.

    What requests can be spared for is a statement's to say: `quals` hold for every row that it can use (the
    rest may be left out of any answer), of a scan it takes no more than `rows_wanted` rows, and the first by
    `sort` will do. Sources may ignore all three; pages say what order they come in.
    """

    source: str
    name: str
    columns: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    key_columns: tuple[KeyColumn, ...] = ()
    scans: tuple[ScanMethod, ...] = ()
    lookups: tuple[LookupMethod, ...] = ()
    max_in_flight: int = 8  # the declared ceiling of concurrent requests of its host
    #: Requests that its host is sent at most, in any so many seconds.
    rates: tuple[tuple[float, float], ...] = ()
    most_shares: int = 8  # among how many that ask side by side these limits can be shared out
    description: str = ""
    order: tuple[str, ...] = ()  # columns by which scans are ordered, rising; falling with - before the name
    quals: Quals = ()
    wanted: Extent = ALL  # the rows that `quals` were made for, by their values as declared
    rows_wanted: int | None = None
    sortable: tuple[str, ...] = ()  # what scans can be asked to be sorted by, written as in `order`
    sort: str | None = None  # one of these
    changes: ChangesSince | None = None  # how scans can be asked for what has changed alone
    notes: tuple[str, ...] = ()  # what whoever reads it should know beforehand, each a sentence
    function: bool = False  # the last column is its value, those before it are its arguments, in order

    @property
    def full_name(self) -> str:
        """`source.table`."""
        return f"{self.source}.{self.name}"

    def column(self, name: str) -> Field | None:
        """The column of that name, whatever its case, or None."""
        lower = name.lower()
        return next((column for column in self.columns if column.name.lower() == lower), None)

    def quals_beside(self, keys: Collection[str] = ()) -> Quals:
        """What requests for these key columns say on top of the keys."""
        known = {key.lower() for key in keys}
        return tuple(qual for qual in self.quals if qual.column.lower() not in known)

    def param_of(self, qual: Qual) -> str | None:
        """The parameter by which requests say a qualifier; None where it is said in the source's own language."""
        if qual.operator == "since":
            return self.changes.param if self.changes is not None else None
        wanted = qual.column.lower(), qual.operator
        said = ((key.name.lower(), *one) for key in self.key_columns for one in key.sendable)
        return next((param for name, operator, param in said if (name, operator) == wanted), None)

    def said(self, qual: Qual) -> str:
        """A qualifier as requests say it, for people."""
        param = self.param_of(qual)
        name = f"{qual.column} {qual.operator} " if param is None else f"{param}="
        return name + text_of(qual.value)

    @property
    def prices(self) -> tuple[Money, ...]:
        """What requests for it may cost, where that is stated."""
        methods: tuple[ScanMethod | LookupMethod, ...] = (*self.scans, *self.lookups)
        return tuple(method.price for method in methods if method.price is not None)


@dataclass(frozen=True)
class Page:
    """Rows of one answer: the asked columns, in the asked order, in their declared Arrow types.

    `truncated` says why the answer is known not to hold every match (a page cap, a hit limit); such an
    answer never counts as complete. If that is so for some keys of a lookup only, `unanswered` names them; if
    for some rows of a scan, they are in `lacks` (`error`: what failed); the rest stands. `ends`: EOT of what
    the table's qualifiers want of that, on a page without rows. `total_rows`: the source's own total (an
    estimate: it decides what is read first, never what counts as read), `pages` that of its pages.
    `order`: what the pages of this scan come ordered by, as the source promises, with `-` before what falls.
    `doubled`: what is wrong with a truncated answer may mean that some of its rows came twice.
    """

    rows: RecordBatch
    truncated: str | None = None
    total_rows: int | None = None
    order: str | None = None
    unanswered: tuple[tuple[object, ...], ...] = ()
    pages: int | None = None
    doubled: bool = False
    ends: Extent | None = None
    lacks: Extent | None = None
    error: SourceError | None = None


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
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
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

    def read_as_text(self, table: Table, columns: Collection[str]) -> bool:
        """Have these columns (in lower case) of a table as text from now on; whether that can be and changes something."""


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


@dataclass
class Catalog:
    """The tables a query may name.

    Sources that are only offered come after all others and are read when somebody needs them: one of them
    when a statement names it, all of them when tables are listed or a table's own name is in no source that
    was added.
    """

    adapters: list[SourceAdapter] = field(default_factory=list)
    #: Tells files that look like specs and were not read, for whoever misses a table.
    unread: Callable[[], list[str]] = list
    #: Gives the specs it was read from, but those that are bundled.
    specs: Callable[[], list[SpecText]] = list
    _tables: dict[str, tuple[SourceAdapter, Table]] = field(default_factory=dict, repr=False)
    _offered: dict[str, Callable[[], SourceAdapter]] = field(default_factory=dict, repr=False)
    _from_offers: set[str] = field(default_factory=set, repr=False)  # names of sources, in lower case

    def add(self, adapter: SourceAdapter) -> None:
        """Add a source; one of the same name that was added earlier keeps its place (first spec wins).

        A source that is added again has other tables than before.
        """
        if any(known is adapter for known in self.adapters):
            self._learn(adapter)
            return
        if any(known.name == adapter.name for known in self.adapters):
            return
        self._offered.pop(adapter.name.lower(), None)
        self.adapters.append(adapter)
        self._learn(adapter)

    def beside(self, tables: Iterable[Table]) -> Catalog:
        """The same catalog with tables that no source holds, which whoever runs a statement reads by himself."""
        known = dict(self._tables)
        nobody = cast("SourceAdapter", None)
        known |= {table.full_name.lower(): (nobody, table) for table in tables}
        return replace(self, _tables=known)

    def offer(self, name: str, read: Callable[[], SourceAdapter]) -> None:
        """Offer a source by its name; one of the same name that was added or offered earlier keeps its place.

        `read` may raise SpecError, and so does whatever needs the source then.
        """
        if name.lower() not in {known.name.lower() for known in self.adapters}:
            self._offered.setdefault(name.lower(), read)

    def narrow(self, names: Collection[str]) -> list[str]:
        """Forget all sources but those of these names, for those who may not read all that the user may.

        Gives the names that mean none.
        """
        wanted = {name.lower() for name in names}
        known = {adapter.name.lower() for adapter in self.adapters} | self._offered.keys()
        self.adapters = [one for one in self.adapters if one.name.lower() in wanted]
        self._offered = {name: read for name, read in self._offered.items() if name in wanted}
        self._tables = {name: one for name, one in self._tables.items() if one[0].name.lower() in wanted}
        return sorted(wanted - known)

    def _take(self, name: str) -> None:
        """Read a source that is offered, if there is one of that name."""
        read = self._offered.get(name)
        if read is not None:
            self.add(read())
            self._offered.pop(name, None)
            self._from_offers.add(name)

    def source(self, name: str) -> SourceAdapter | None:
        """The source of a name, in any case."""
        self._take(name.lower())
        return next((one for one in self.adapters if one.name.lower() == name.lower()), None)

    def unlisted(self, names: Iterable[Sequence[str]] | None = None) -> list[Listing]:
        """The sources to ask for their tables before these names can be said to mean nothing; without names, all such."""
        waiting: list[Listing] = [one for one in self.adapters if isinstance(one, Listing) and not one.listed]
        if names is None or not waiting:
            return waiting
        unknown = [name for name in names if not self.find(name)]
        return [
            adapter
            for adapter in waiting
            if any(len(name) == 1 or name[0].lower() == adapter.name.lower() for name in unknown)
        ]

    async def list_tables(
        self, names: Iterable[Sequence[str]] | None = None, budget: Budget | None = None
    ) -> None:
        """Ask the sources that `unlisted` names for their tables; `budget` pays for the requests.

        Raises:
            SourceError: a source cannot be asked.
        """
        for adapter in self.unlisted(names):
            await self.list_source(adapter, budget)

    async def list_source(self, source: Listing, budget: Budget | None = None) -> None:
        """Ask one source for its tables. Raises SourceError where it cannot be asked."""
        await source.list_tables(meter=_meter(source, budget))
        self._learn(source)

    def _learn(self, adapter: SourceAdapter) -> None:
        self._tables |= {table.full_name.lower(): (adapter, table) for table in adapter.tables}

    async def discover(self, tables: Iterable[Table], budget: Budget | None = None) -> None:
        """Ask the sources for the columns of those tables that have none yet; one request a table, paid by `budget`.

        Raises:
            SourceError: a source cannot be asked, or tells no columns.
        """
        wanted: dict[str, list[str]] = {}
        for table in tables:
            if not table.columns:
                wanted.setdefault(table.source, []).append(table.name)
        for adapter in self.adapters:
            if adapter.name in wanted and isinstance(adapter, Discovering):
                known = [self._tables[f"{adapter.name}.{name}".lower()][1] for name in wanted[adapter.name]]
                await adapter.discover(wanted[adapter.name], meter=_meter(adapter, budget, known))
                self._learn(adapter)

    def tables(self, *, offered: bool = True) -> Iterable[Table]:
        """Every table, in the order the sources were added; those that are only offered follow, unless they are to be left out."""
        for name in list(self._offered) if offered else ():
            self._take(name)
        known = [table for _, table in self._tables.values()]
        late = [table for table in known if table.source.lower() in self._from_offers]
        own = [table for table in known if table.source.lower() not in self._from_offers]
        return own + sorted(late, key=lambda table: table.source) if offered else known

    def own_tables(self) -> list[Table]:
        """The tables of the sources that were added, not those of the offered ones."""
        return [table for _, table in self._tables.values() if table.source.lower() not in self._from_offers]

    def adapter_of(self, table: Table) -> SourceAdapter:
        """The adapter that reads a table of this catalog."""
        return self._tables[table.full_name.lower()][0]

    def find(self, parts: Sequence[str]) -> list[Table]:
        """Tables that a name of one or two parts can mean: none, one, or (ambiguous) several.

        A table's own name means one of an offered source only where no other source has a table of that name,
        and a function only where no table has it.
        """
        wanted = ".".join(parts).lower()
        if len(parts) > 1:
            self._take(parts[0].lower())
            hit = self._tables.get(wanted)
            if hit is None or isinstance(hit[0], Naming):
                return self._named(".".join(parts[1:]), parts[0].lower())
            return [hit[1]]
        known = (table for adapter, table in self._tables.values() if not isinstance(adapter, Naming))
        named = [table for table in known if table.name.lower() == wanted]
        own = [table for table in named if table.source.lower() not in self._from_offers]
        own = (
            own or self._named(parts[0]) or [table for table in self.tables() if table.name.lower() == wanted]
        )
        return [table for table in own if not table.function] or own

    def _named(self, name: str, source: str | None = None) -> list[Table]:
        """What a name means to the sources that know it by themselves: to one of them, or to the first that does."""
        for adapter in self.adapters:
            if isinstance(adapter, Naming) and source in (None, adapter.name.lower()):
                table = adapter.named(name)
                if table is not None:
                    self._learn(adapter)
                    return [table]
        return []

    def read_as_text(self, columns: Mapping[str, Collection[str]]) -> bool:
        """Have columns, by full name of their table, as text where sources can give them so; whether any is now."""
        changed = False
        for name, wanted in columns.items():
            adapter, table = self._tables[name.lower()]
            if isinstance(adapter, Naming) and adapter.read_as_text(table, wanted):
                self._learn(adapter)
                changed = True
        return changed

    def functions(self, parts: Sequence[str]) -> list[Table]:
        """The functions that a call by a name of one or two parts can mean; sources that are only offered need both."""
        if len(parts) > 1:
            return [table for table in self.find(parts) if table.function]
        wanted = parts[0].lower()
        return [
            table for _, table in self._tables.values() if table.function and table.name.lower() == wanted
        ]

    def suggest(self, name: str) -> list[str]:
        """Full names close to a misspelt one, best first."""
        names = {table.full_name.lower(): table.full_name for table in self.tables()}
        names |= {table.name.lower(): table.full_name for table in self.tables()}
        return list(dict.fromkeys(names[hit] for hit in difflib.get_close_matches(name.lower(), names, n=3)))


def _meter(source: object, budget: Budget | None, tables: Iterable[Table] = ()) -> AccessMeter:
    """Of requests about a source: at its price, or that of the dearest of the tables they are for."""
    prices = [price for table in tables for price in table.prices]
    if isinstance(source, Priced) and source.price is not None:
        prices.append(source.price)
    return AccessMeter(budget=budget, price=max(prices, key=lambda price: price.amount, default=None))
