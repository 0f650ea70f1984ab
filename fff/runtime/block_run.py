"""One running block of a statement: its eddy, its driver, how it reads its tables, and the feeds that reach into it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Literal

import pyarrow as pa

from fff.access.local import LocalSource
from fff.access.semijoin_feed import KeyFeed
from fff.access.session_cache import Lease, Use
from fff.access.stack import open_table
from fff.catalog import Catalog, Table
from fff.dataflow.eddy import Eddy, EddyOptions
from fff.dataflow.lookups.methods import LookupOptions
from fff.dataflow.plan.events import Finish, Prioritize
from fff.dataflow.plan.expressions import Expr
from fff.limits import SCAN_WINDOW, SMALL_PAGE
from fff.policies import Preference, make_policy
from fff.policies.adaptive.policy import Adaptive
from fff.policies.adaptive.session_memory import Memory
from fff.runtime.driver import BlockDriver, Meters, OpenTable
from fff.sql.plan import BlockQuery, Prepared
from fff.stats import Missing

#: Time against requests: whether keys wait for fuller batches, and requests race slow ones.
LOOKUPS: Mapping[Preference, LookupOptions] = {
    "fast": LookupOptions(patience=0.0, spends=True),
    "balanced": LookupOptions(),
    "cheap": LookupOptions(saves=True),
}


class RunningBlock:
    """Runs one block once.

    Args:
        number: ordinal among the statement's blocks.
        query: what to run.
        catalog: where its tables' sources are.
        meters: of the statement.
        seed: of the statement; each block draws a sequence of its own from it.
        memory: of the session; what it knows the block starts with, what the block learns it is told at the end.
        deliver: called with the block and each batch of its rows.
        room, unread, checked: of the driver.
    """

    def __init__(
        self,
        number: int,
        query: BlockQuery,
        catalog: Catalog,
        meters: Meters,
        *,
        policy: str,
        prefer: Preference = "balanced",
        seed: int,
        memory: Memory,
        semantics: Literal["parked", "paper"],
        stop_on_missing: bool,
        deliver: Callable[[RunningBlock, pa.RecordBatch], None],
        room: asyncio.Event | None = None,
        unread: Callable[[], bool] | None = None,
        checked: Callable[[], None] | None = None,
    ) -> None:
        self.number = number
        self.query = query
        self.finish: Finish | None = None
        #: By table of the plan.
        self.feeds: Mapping[int, KeyFeed] = {
            feed.table: KeyFeed(query.tables[feed.table], feed.blocks, feed.query, distinct=feed.distinct)
            for feed in query.feeds
        }
        self.access = [
            self._table_access(ordinal, table, catalog, meters) for ordinal, table in enumerate(query.tables)
        ]
        # The first block routes as the only block of a statement would.
        rng = random.Random(seed if number == 0 else f"{seed}/{number}")
        self._memory = memory
        self._past = memory.recall(query.plan) if policy == Adaptive.name else None
        self._policy = make_policy(policy, query.plan, prefer, self._past)
        self.eddy = Eddy(
            query.plan,
            self._policy,
            rng,
            EddyOptions(
                semantics=semantics,
                lookups=LOOKUPS[prefer],
                hold_constants=prefer != "fast",
                scan_credit=SCAN_WINDOW,  # what comes together is taken in together
                scan_rows=SMALL_PAGE,
            ),
        )
        self.driver = BlockDriver(
            self.eddy,
            self.access,
            lambda batch: deliver(self, batch),
            stop_on_missing=stop_on_missing,
            eager=query.eager,
            room=room,
            unread=unread,
            checked=checked,
        )

    def _table_access(self, ordinal: int, table: Table, catalog: Catalog, meters: Meters) -> OpenTable:
        planned = self.query.plan.tables[ordinal]
        fed = self.feeds.get(ordinal)
        return OpenTable(
            table=table,
            adapter=fed or (catalog.adapter_of(table) if table.source else LocalSource(table)),
            columns=tuple(field.name for field in planned.columns),
            scans=tuple(
                next(scan for scan in table.scans if scan.name == wanted.name) for wanted in planned.scans
            ),
            lookups=tuple(
                next(lookup for lookup in table.lookups if lookup.name == wanted.name)
                for wanted in planned.lookups
            ),
            meters=meters if table.source else Meters(),
            fed=not table.source,
        )

    async def run(self, lease: Lease) -> Finish:
        """Run to the end. Raises what `BlockDriver.run` raises."""
        predicates = [one.expr for one in self.query.plan.predicates]
        for access in self.access:
            use = Use(self.number, access.table, access.adapter, access.columns, eager=self.query.eager)
            access.adapter = open_table(use, lease, self.query.first, predicates)
            [access.table] = access.adapter.tables
        self.finish = await self.driver.run()
        return self.finish

    @property
    def name(self) -> str:
        """What the block is called: as Spark calls its rows, or by its number in the plan, from 1 on."""
        return self.query.view or str(self.number + 1)

    @property
    def warm(self) -> bool:
        """Whether it started with what earlier statements of the session taught."""
        return self._past is not None

    def remember(self) -> None:
        """Tell the session what was learnt."""
        if isinstance(self._policy, Adaptive):
            self._memory.keep(self.query.plan, self._past, self._policy.beliefs.lessons())

    def prioritize(self, predicates: tuple[Expr, ...]) -> None:
        """Rows for which one of the predicates is true go first, in place of whatever that was before."""
        event = Prioritize(predicates)
        if self.eddy.started:
            self.driver.post(event)
        else:  # what the first requests are for depends on it
            instructions = self.eddy.handle(event)
            assert not instructions, "an eddy that has not begun wants nothing"

    @property
    def missing(self) -> tuple[Missing, ...]:
        """Parts of web tables that are missing.

        Missing keys of a feed are not among them: their cause is elsewhere.

        Unless the block was stopped before it had read them: then what they would have brought is missing here.
        """
        fed = {self.query.plan.tables[table].name for table in self.feeds}
        parts = tuple(part for part in self.eddy.missing if part.table not in fed)
        if not self.stopped:
            return parts
        unread = next((part.reason for part in self.eddy.missing if part.table in fed), None)
        if unread is None:
            return parts
        reported = {part.table for part in parts}
        tables = list(zip(self.access, self.eddy.statistics().tables, strict=True))
        unasked = tuple(
            Missing(access.table.full_name, "keys not asked for", unread)
            for access, table in tables
            if not (access.fed or table.complete or access.table.full_name in reported)
        )
        # All of it was read, and waited for what another block had found by then.
        unjoined = (
            Missing(access.table.full_name, "not joined yet", unread)
            for access, _ in tables
            if not access.fed
        )
        return parts + (unasked or (() if parts else tuple(unjoined)))

    @property
    def stopped(self) -> bool:
        """Whether it was made to end before it had read what it would have read."""
        return self.finish is not None and self.finish.reason == "cancelled"

    @property
    def broken(self) -> str | None:
        """Once ended: why what it found is not all, if it is not."""
        if self.finish is None or self.finish.complete:
            return None
        if self.missing:
            part = self.missing[0]
            return f"keys that {part.table} would bring are missing: {part.reason}"
        # What it was fed with is not all: the reason is that of the block which should have found it.
        return next((part.reason for part in self.eddy.missing), "a block that finds keys was stopped")


def uses_of(catalog: Catalog, prepared: Prepared) -> list[Use]:
    """The tables that a statement reads from the web, and what of them, block by block."""
    return [
        Use(
            number,
            table,
            catalog.adapter_of(table),
            tuple(field.name for field in planned.columns),
            eager=block.eager,
        )
        for number, block in enumerate(prepared.blocks)
        if block.fetches
        for table, planned in zip(block.tables, block.plan.tables, strict=True)
        if table.source
    ]
