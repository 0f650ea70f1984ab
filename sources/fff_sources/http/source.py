"""HttpSource: what the engine asks of a source, answered by the parts that every adapter over HTTP holds."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

from fff.access.key_index import having, without
from fff.budget import Money
from fff.catalog import Key, Keys, LookupMethod, Page, ScanMethod, Table
from fff.dataflow.plan.extents import Extent, ValueSet
from fff.errors import InvariantError, SecretError, SourceError, SpecError
from fff.stats import AccessMeter
from fff.structs import replace
from fff.web.types import HostPolicy, ResponseMemory
from fff_sources.adapter import SourceContext
from fff_sources.http.batch_check import BatchTrust
from fff_sources.http.exchange import Exchange, together
from fff_sources.http.fetch import Reading
from fff_sources.http.fingerprint import fingerprint
from fff_sources.http.paging.counted import ScanPart, is_divisible
from fff_sources.http.paging.windows import WindowsLeft, asking, windows_of, within
from fff_sources.http.request.auth import Authenticator
from fff_sources.http.request.keys import as_sent, carried, is_plain, quals_as_sent
from fff_sources.http.spec import spec
from fff_sources.http.spec.cost import cost_problems, price_of
from fff_sources.http.spec.functions import single_values
from fff_sources.http.spec.settings import (
    missing_files,
    missing_secrets,
    misspelt_secrets,
    unfilled_braces,
    unfinished_tables,
    unusable_base_url,
)
from fff_sources.http.tables import DiscoveredTable, HttpAccess, PlannedTable, unasked
from fff_sources.http.variants import keys_of, side_by_side, wanted

_REFUSED = frozenset({400, 422, 501})  # what a parameter is answered with that a source does not take


class HttpSource:
    """Tables behind HTTP. Implements `SourceAdapter`, `Cacheable`, `Divisible`; an adapter adds where its tables come from.

    Args:
        declared: what the spec says of the host.
        context: of the source.
    """

    #: What the spec declares, where it can be read, and everything that is wrong with it.
    read: ClassVar[staticmethod[[SourceContext], tuple[Any, list[SpecError]]]]

    def __init__(self, declared: spec.Client, context: SourceContext) -> None:
        self.name = context.name
        self.http = Exchange(declared, context)
        self.accounts: dict[str, Exchange] = {}  # others who ask, where the source has accounts
        self._context = context
        self._ttl = None if declared.cache is None else declared.cache.ttl
        self.price: Money | None = None  # of a request that is about the source itself
        self._cost: spec.RequestCost | None = None
        self._costs: dict[str, spec.RequestCost | None] = {}  # by table
        self._planned: dict[str, PlannedTable] = {}
        self._trusts: dict[tuple[str, str], BatchTrust] = {}

    @classmethod
    def from_spec(cls, context: SourceContext) -> Self:
        """The source of a document; raises SpecError for the first thing that is wrong with it."""
        declared, problems = cls._checked(context)
        if declared is not None and not problems:
            source = cls(declared, context)
            source._declare_costs(declared)
            return source
        first = problems[0]
        if len(problems) > 1:
            more = f"{len(problems) - 1} more: fff source lint {context.document.file}"
            first.hint = f"{first.hint}; {more}" if first.hint else more
        raise first

    @classmethod
    def lint(cls, context: SourceContext) -> list[SpecError]:
        """Everything that is wrong with the source, secrets that cannot be found included."""
        declared, problems = cls._checked(context)
        if declared is None:
            return problems
        problems += unfinished_tables(context, declared)
        problems += unusable_base_url(context, declared.client) + missing_files(context, declared.client)
        return problems + missing_secrets(context)

    @classmethod
    def _checked(cls, context: SourceContext) -> tuple[Any, list[SpecError]]:
        declared, problems = cls.read(context)
        if declared is not None:
            problems = [*problems, *cost_problems(context.name, declared, context.document)]
            problems += misspelt_secrets(context) or unfilled_braces(context, declared)
        return declared, problems

    def _declare_costs(self, declared: Any) -> None:
        """Take on what the spec says requests cost."""
        self._cost = declared.cost
        self.price = price_of(self._cost)
        for parts in (getattr(declared, "tables", None), getattr(declared, "functions", None)):
            self._costs |= {name: part.cost for name, part in (parts or {}).items()}

    # ------------------------------------------------------------------------------------------------- tables

    @property
    def tables(self) -> Sequence[Table]:
        """Every table that is known; those whose columns are found out later have none before `discover`."""
        policy = self.http.policy
        rates = [(float(window.limit), window.per) for window in policy.windows]
        rates += [] if policy.fill_rate is None else [(policy.fill_rate, 1.0)]
        rates = [(requests * self.http.credentials, per) for requests, per in rates]
        return [
            self._weighed(self._priced(replace(planned.table, rates=tuple(rates))), policy)
            for planned in self._planned.values()
        ]

    @staticmethod
    def _weighed(table: Table, policy: HostPolicy) -> Table:
        """A table whose access methods say as how many requests one counts, and among how many it can be shared out."""
        scans = tuple(replace(one, units=_units(one)) for one in table.scans)
        lookups = tuple(replace(one, units=_units(one)) for one in table.lookups)
        units = [*(one.units for one in scans), *(one.units for one in lookups)]
        heaviest = max((one or 1 for one in units), default=1)
        return replace(table, scans=scans, lookups=lookups, most_shares=policy.most_shares(heaviest))

    def _priced(self, table: Table) -> Table:
        """A table whose access methods say what a request costs."""
        costs = self._cost, self._costs.get(table.name)
        scans = tuple(replace(one, price=price_of(*costs, access_of(one).cost)) for one in table.scans)
        lookups = tuple(replace(one, price=price_of(*costs, access_of(one).cost)) for one in table.lookups)
        return replace(table, scans=scans, lookups=lookups)

    def keep(self, *tables: DiscoveredTable) -> None:
        """Have these tables, each in the place of one of the same name."""
        for table in tables:
            planned = table.planned(self.name, max_in_flight=self.http.max_in_flight)
            self._planned[table.name] = self.http.limited(planned)

    def without_columns(self, names: Collection[str]) -> list[str]:
        """Those of the named tables whose columns are not known yet."""
        return [table.name for table in self.tables if not table.columns and table.name in names]

    async def discover(self, names: Collection[str], *, meter: AccessMeter) -> None:
        """Ask for the columns of those of the named tables that have none yet, side by side.

        Raises SourceError, SecretError.
        """
        self.keep(*await together(self._discovered(name, meter) for name in self.without_columns(names)))

    async def _discovered(self, name: str, meter: AccessMeter) -> DiscoveredTable:
        """A table as its server describes it; for `discover`."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------- access methods

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        """Every row of the table, page by page."""
        apart = wanted(access_of(method), table.quals)
        began = False
        try:
            if not apart:
                return
            if apart[0].windows is None:
                readings = [
                    self._reading(table, access, method.name, columns, meter=meter) for access in apart
                ]
                each = [reading.pages(max(1, window // len(readings))) for reading in readings]
            else:
                each = self._in_windows(table, apart, method.name, columns, meter=meter, window=window)
            together = each[0] if len(each) == 1 else side_by_side(each, window)
            async with contextlib.aclosing(together) as pages:
                async for page in pages:
                    began = True
                    yield page
        except SourceError as error:
            if began or table.sort is None or error.status not in _REFUSED:
                raise
            meter.warn(
                f"{table.full_name}: the source refuses to sort by {table.sort} (HTTP {error.status}), "
                "so all of it was read"
            )
            unsorted = self.scan(replace(table, sort=None), method, columns, meter=meter, window=window)
            async with contextlib.aclosing(unsorted) as pages:
                async for page in pages:
                    yield page

    def _in_windows(
        self,
        table: Table,
        apart: Sequence[HttpAccess],
        method: str,
        columns: Sequence[str],
        *,
        meter: AccessMeter,
        window: int,
    ) -> list[AsyncGenerator[Page]]:
        """The pages of every window of every variant; at the end, that rows are missing which none of them has."""
        windows = apart[0].windows
        assert windows is not None, "who calls has looked"
        names = [*dict.fromkeys((*columns, windows.column))]
        key = next(one for one in table.key_columns if one.name == windows.column)
        ranges = windows_of(apart[0], table, self.http.client.clock.wall())
        at_once = max(1, window // max(1, len(ranges) * len(apart)))
        planned = self._planned[table.name]
        empty = self.http.reader(planned, method, apart[0], tuple(columns), filled=False).empty()
        left = WindowsLeft(ranges, len(apart), empty)
        streams = []
        for access in apart:
            for part in ranges:
                narrowed = part.narrowed(table, key, exact=windows.exact)
                reading = self._reading(narrowed, asking(access, part), method, names, meter=meter)
                pages = reading.pages(at_once)
                streams.append(
                    within(pages, part, columns, windows, asked=narrowed, left=left, warn=meter.warn)
                )
        if windows.nulls is None and all(
            qual.column.lower() != windows.column.lower() for qual in table.quals
        ):
            nulls = Extent.of({windows.column: ValueSet(null=True)})
            streams.append(_only(Page(empty, unasked(windows), lacks=nulls)))
        return streams

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        """Every row matching one of the keys."""
        planned = self._narrowed(table)
        sent = as_sent(planned.table, method.keys, keys)
        known_as = dict(zip(sent, keys, strict=True))
        for access in wanted(access_of(method), table.quals):
            said = sent if access.words is None else access.words.askable(sent)
            if access.unsayable is not None and len(said) < len(sent):
                left = tuple(key for name, key in known_as.items() if name not in said)
                reader = self.http.reader(planned, method.name, access, tuple(columns), filled=False)
                yield Page(reader.empty(), access.unsayable, unanswered=left)
            some = keys_of(access, said)
            pages = self._looked_up(
                planned, method, access, columns, keys=some, known_as=known_as, meter=meter
            )
            async with contextlib.aclosing(pages):
                async for page in pages:
                    yield page

    async def answer(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> tuple[Sequence[Page], AsyncGenerator[Page] | None]:
        """As `Prompt` says: of one key that goes into its request as it is."""
        access = access_of(method)
        planned = self._narrowed(table)
        sent = as_sent(planned.table, method.keys, keys)
        apart = access.variants or access.words is not None or table.function
        if apart or len(sent) > 1 or not is_plain(access, sent[0]):
            return (), self.lookup(table, method, columns, keys, meter=meter)
        reading = self.http.reading(planned, method.name, access, columns, sent, meter=meter)
        pages, rest = await reading.answer()
        if method.batch_size > 1:
            trust = self._trust(table, method, access)
            for page in pages:
                trust.note(sent[0], page)
        return pages, rest

    def _trust(self, table: Table, method: LookupMethod, access: HttpAccess) -> BatchTrust:
        is_list, place = access.words is not None, (table.name, method.name)
        return self._trusts.get(place) or self._trusts.setdefault(
            place, BatchTrust(self.name, table.name, access.keys, is_list=is_list, shared=access.shared)
        )

    async def _looked_up(
        self,
        planned: PlannedTable,
        method: LookupMethod,
        access: HttpAccess,
        columns: Sequence[str],
        *,
        keys: Keys,
        known_as: Mapping[Key, Key],
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        """Every row matching one of the keys, as they are sent, of one variant of the table."""
        table, http = planned.table, self._exchange(access)
        out = carried(access, keys, method.batch_size)

        def read(some: Keys, names: Sequence[str] = columns, *, filled: bool = True) -> AsyncGenerator[Page]:
            reading = http.reading(planned, method.name, access, names, some, meter=meter, filled=filled)
            return reading.pages(1)

        def unanswered(reason: str, some: Keys) -> Page:
            reader = http.reader(planned, method.name, access, tuple(columns), filled=False)
            return Page(reader.empty(), reason, unanswered=tuple(known_as[key] for key in some))

        if out.never:
            yield unanswered("an empty key cannot be put into the path", out.never)

        def asked(batch: Keys) -> AsyncGenerator[Page]:
            if method.batch_size == 1:
                return read(batch)
            trust = self._trust(table, method, access)
            if len(batch) == 1:
                return trust.alone(batch[0], read(batch))
            reading = http.reading(planned, method.name, access, columns, batch, meter=meter)
            return trust.watched(reading, batch, lambda some: read(some, access.keys), answer)

        def own(pages: AsyncGenerator[Page], some: Keys) -> AsyncGenerator[Page]:
            others = [known_as[key] for key in {*keys} - {*some}]
            return without(pages, access.keys, others) if others and {*access.keys} <= {*columns} else pages

        def answer(batch: Keys) -> AsyncGenerator[Page]:
            return own(asked(batch), batch)

        answers = list(map(answer, out.batches))
        if table.function:
            answers = [single_values(pages, self.name, table.name, method) for pages in answers]
        if access.shared and len(answers) > 1:
            answers = [side_by_side(answers, http.policy.most_shares())]
        for pages in answers:
            async with contextlib.aclosing(pages):
                async for page in pages:
                    yield page
        for key, doubt, filled in out.alone:
            async with contextlib.aclosing(own(read([key], filled=filled), [key])) as pages:
                pages_read = [page async for page in pages]
            if any(len(page.rows) and having(page.rows, access.keys, [key]).any() for page in pages_read):
                for page in pages_read:
                    yield page
            else:
                yield unanswered(doubt, [key])

    async def divide(
        self, table: Table, method: ScanMethod, parts: int, *, meter: AccessMeter
    ) -> Sequence[object]:
        """Ranges of pages; never more parts than the host takes requests at once."""
        access = access_of(method)
        if (
            not is_divisible(access.endpoint)
            or access.variants
            or access.windows
            or not access.exhaustive
            or access.endpoint.job
        ):
            return []
        # The first page goes with a part: where requests name columns, it must have all that may be wanted of
        # it.
        known = self._planned[table.name].table.columns
        names = [column.name for column in known[: None if access.is_projected else 1]]
        reading = self._reading(table, access, method.name, names, meter=meter)
        return await reading.divide(min(parts, self.http.policy.most_shares(_units(method) or 1)))

    async def scan_part(
        self,
        table: Table,
        method: ScanMethod,
        columns: Sequence[str],
        part: object,
        *,
        meter: AccessMeter,
        window: int,
    ) -> AsyncGenerator[Page]:
        """The rows of a range of pages."""
        if not isinstance(part, ScanPart):
            raise InvariantError(f"{part!r} is no part of a scan of {self.name}")
        reading = self._reading(table, access_of(method), method.name, columns, meter=meter, part=part)
        async with contextlib.aclosing(reading.part(part, window)) as pages:
            async for page in pages:
                yield page

    async def close(self) -> None:
        """Nothing of its own to release: the connections are the client's."""

    def _reading(
        self,
        table: Table,
        access: HttpAccess,
        method: str,
        columns: Sequence[str],
        *,
        meter: AccessMeter,
        part: ScanPart | None = None,
    ) -> Reading:
        """Of a scan, or of one variant of it."""
        policy = None if part is None else self.http.client.rules(self.http.whole, part.of)
        planned, http = self._narrowed(table), self._exchange(access)
        return http.reading(planned, method, access, columns, (), meter=meter, policy=policy)

    def _exchange(self, access: HttpAccess) -> Exchange:
        """Who asks: the account that the variant names, or the source."""
        named = (self.accounts.get(value) for value in access.variant.values() if isinstance(value, str))
        return next(filter(None, named), self.http) if self.accounts else self.http

    def _narrowed(self, table: Table) -> PlannedTable:
        """The table with what a statement needs of it."""
        planned = self._planned[table.name]
        if not table.quals and table.rows_wanted is None and table.sort is None:
            return planned
        quals = quals_as_sent(planned.table, table.quals)
        narrowed = replace(planned.table, quals=quals, rows_wanted=table.rows_wanted, sort=table.sort)
        return replace(planned, table=narrowed)

    # ------------------------------------------------------------------------------------------- kept on disk

    @property
    def proofs(self) -> list[Authenticator]:
        """Every credential that its requests take, those of its accounts where it has some."""
        return [proof for http in self.accounts.values() or (self.http,) for proof in http.pool.proofs]

    def cache_ttl(self) -> float | None:
        """`client.cache.ttl`."""
        return self._ttl

    def tells_secrets(self, data: bytes) -> bool:
        """Whether the answer repeats what proves who asks."""
        return self.http.client.redactor.in_data(data)

    def has_secret_numbers(self) -> bool:
        """Whether what proves who asks is all digits."""
        return self.http.client.redactor.has_digits

    def remember(self, memory: ResponseMemory | None) -> None:
        """All that is asked for from now on."""
        for http in (self.http, *self.accounts.values()):
            http.memory = memory

    def fingerprint(self, table: Table) -> bytes:
        """A digest of the source's part of the spec, all secrets filled in, of whoever is logged in, and of the table.

        Raises SecretError, where nobody is logged in who could ask as well.
        """
        logins = [proof.whose_login() for proof in self.proofs]
        if all(login is None for login in logins):
            raise SecretError(f"{self.name}: nobody is logged in", hint=f"fff login {self.name}")
        return fingerprint(
            type(self), self._context, self.http.secrets, table, self._planned[table.name], logins=logins
        )

    def reads_whole_records(self, table: Table) -> bool:
        """Unless the columns are part of the question, or one that does not fit costs its record."""
        planned = self._planned[table.name]
        accesses = [*map(access_of, planned.table.scans), *map(access_of, planned.table.lookups)]
        return planned.spec.on_bad_record != "skip" and not any(one.is_projected for one in accesses)


async def _only(page: Page) -> AsyncGenerator[Page]:
    yield page


def _units(method: ScanMethod | LookupMethod) -> int | None:
    """As how many requests one counts; None: that depends on its keys."""
    counted = access_of(method).endpoint.counts_as
    return counted if isinstance(counted, int) else None


def access_of(method: ScanMethod | LookupMethod) -> HttpAccess:
    """What an access method of such a source is carried out with."""
    if not isinstance(method.endpoint, HttpAccess):
        raise InvariantError(f"{method.name} is not an access method over HTTP")
    return method.endpoint
