"""The tables that a statement may name, of all sources: by the name of a source, by their own, by that of a file."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from fff.budget import Budget
from fff.catalog.offers import Discovering, Listing, Naming, Priced, SourceAdapter, Table
from fff.options import SpecText
from fff.stats import AccessMeter, Inquiry
from fff.structs import replace


@dataclass
class Catalog:
    """The tables a query may name.

    Sources that are only offered come after all others and are read when somebody needs them: one of them
    when a statement names it, those that have a table of its name when a table's own name is in no source
    that was added, all of them when tables are listed.
    """

    adapters: list[SourceAdapter] = field(default_factory=list)
    #: Tells files that look like specs and were not read, for whoever misses a table.
    unread: Callable[[], list[str]] = list
    #: Whether statements may name files of this machine; where they may, sources know them.
    local_files: bool = True
    #: Gives the specs it was read from, but those that are bundled.
    specs: Callable[[], list[SpecText]] = list
    #: Tells what tables offered sources have, in lower case; those it does not know are read.
    index: Callable[[], Mapping[str, Collection[str]]] = dict
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
        known |= {table.full_name.lower(): (cast("SourceAdapter", None), table) for table in tables}
        return replace(self, _tables=known)

    def offer(self, name: str, read: Callable[[], SourceAdapter]) -> None:
        """Offer a source by its name; one of the same name that was added or offered earlier keeps its place.

        `read` may raise SpecError, and so does whatever needs the source then.
        """
        if name.lower() not in {known.name.lower() for known in self.adapters}:
            self._offered.setdefault(name.lower(), read)

    def narrow(self, names: Collection[str]) -> list[str]:
        """Keep the sources of these names alone, for who may not read all that the user may; which names mean none."""
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
        unknown = [name for name in names if not self.find(name, offered=False)]
        return [
            adapter
            for adapter in waiting
            if any(len(name) == 1 or name[0].lower() == adapter.name.lower() for name in unknown)
        ]

    async def list_tables(
        self, names: Iterable[Sequence[str]] | None = None, budget: Budget | None = None
    ) -> list[Inquiry]:
        """Ask the sources that `unlisted` names for their tables; `budget` pays for the requests, which are told.

        Raises:
            SourceError: a source cannot be asked.
        """
        return [await self.list_source(adapter, budget) for adapter in self.unlisted(names)]

    async def list_source(self, source: Listing, budget: Budget | None = None) -> Inquiry:
        """Ask one source for its tables. Raises SourceError where it cannot be asked."""
        meter = _meter(source, budget)
        await source.list_tables(meter=meter)
        self._learn(source)
        return Inquiry(source.name, (), meter)

    def _learn(self, adapter: SourceAdapter) -> None:
        self._tables |= {table.full_name.lower(): (adapter, table) for table in adapter.tables}

    async def discover(self, tables: Iterable[Table], budget: Budget | None = None) -> list[Inquiry]:
        """Ask the sources for the columns of those tables that have none yet; one request a table, paid by `budget`, and told.

        Raises:
            SourceError: a source cannot be asked, or tells no columns.
        """
        wanted: dict[str, list[str]] = {}
        for table in tables:
            if not table.columns and not table.unfinished:
                wanted.setdefault(table.source, []).append(table.name)
        asked: list[Inquiry] = []
        for adapter in self.adapters:
            if adapter.name in wanted and isinstance(adapter, Discovering):
                known = [self._tables[f"{adapter.name}.{name}".lower()][1] for name in wanted[adapter.name]]
                asked.append(
                    Inquiry(adapter.name, tuple(wanted[adapter.name]), _meter(adapter, budget, known))
                )
                await adapter.discover(wanted[adapter.name], meter=asked[-1].meter)
                self._learn(adapter)
        return asked

    def tables(self, *, offered: bool = True) -> Iterable[Table]:
        """Every table, in the order the sources were added; those that are only offered follow, unless they are to be left out."""
        for name in list(self._offered) if offered else ():
            self._take(name)
        known, late = [table for _, table in self._tables.values()], self._from_offers
        return sorted(known, key=lambda one: one.source if one.source.lower() in late else "")

    def own_tables(self) -> list[Table]:
        """The tables of the sources that were added, not those of the offered ones."""
        return [table for _, table in self._tables.values() if table.source.lower() not in self._from_offers]

    def adapter_of(self, table: Table) -> SourceAdapter:
        """The adapter that reads a table of this catalog."""
        return self._tables[table.full_name.lower()][0]

    def find(self, parts: Sequence[str], *, offered: bool = True) -> list[Table]:
        """Tables that a name of one or two parts can mean: none, one, or (ambiguous) several.

        A table's own name means one of an offered source only where no other source has a table of that name,
        and where these count (`offered`); and a function only where no table has it.
        """
        wanted = ".".join(parts).lower()
        if len(parts) > 1:
            self._take(parts[0].lower())
            hit = self._tables.get(wanted)
            if hit is None or isinstance(hit[0], Naming):
                return self._named(".".join(parts[1:]), parts[0].lower())
            return [hit[1]]
        own = [
            table
            for adapter, table in self._tables.values()
            if table.name.lower() == wanted
            and table.source.lower() not in self._from_offers
            and not isinstance(adapter, Naming)
        ]
        own = own or self._named(parts[0])
        if not own and offered:
            for name in [one for one in self._offered if wanted in self.index().get(one, (wanted,))]:
                self._take(name)
            own = [table for table in self.tables(offered=False) if table.name.lower() == wanted]
        return [table for table in own if not table.function] or own

    def _named(self, name: str, source: str | None = None) -> list[Table]:
        """What a name means to the sources that know it by themselves: to one of them, or to the first that does."""
        for adapter in self.asked(source):
            table = adapter.named(name) if isinstance(adapter, Naming) else None
            if table is not None:
                self._learn(adapter)
                return [table]
        return []

    def asked(self, source: str | None) -> list[SourceAdapter]:
        """Whom to ask what a name means: the source that it says, else those that were added, not just offered."""
        names = {source} if source else {one.name.lower() for one in self.adapters} - self._from_offers
        return [one for one in self.adapters if one.name.lower() in names]

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
        known = (table for _, table in self._tables.values() if table.function)
        return [table for table in known if table.name.lower() == parts[0].lower()]

    def suggest(self, name: str) -> list[str]:
        """Full names close to a misspelt one, best first; an offered source is read only if the index knows it not."""
        index = self.index()
        for source in [one for one in self._offered if one not in index]:
            self._take(source)
        known = [(one.full_name, one.name) for one in self.tables(offered=False)]
        known += [(f"{one}.{table}", table) for one in self._offered for table in sorted(index[one])]
        names: dict[str, list[str]] = {}
        for full, own in known:
            for written in (full, own):
                names.setdefault(written.lower(), []).append(full)
        wanted = name.lower()
        close = difflib.get_close_matches(
            wanted, names, n=3, cutoff=0.8
        )  # before what is only somewhat alike
        close = close or difflib.get_close_matches(wanted, names, n=3)
        return list(dict.fromkeys(full for hit in close for full in names[hit]))[:3]


def _meter(source: object, budget: Budget | None, tables: Iterable[Table] = ()) -> AccessMeter:
    """Of requests about a source: at its price, or that of the dearest of the tables they are for."""
    prices = [price for table in tables for price in table.prices]
    if isinstance(source, Priced) and source.price is not None:
        prices.append(source.price)
    return AccessMeter(budget=budget, price=max(prices, key=lambda price: price.amount, default=None))
