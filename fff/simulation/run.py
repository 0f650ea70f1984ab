"""Runs in virtual time: one block with any policy and everything recorded, or a whole statement as users run it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from fff.catalog import Catalog
from fff.dataflow.eddy import Eddy, EddyOptions
from fff.dataflow.plan.events import Event, Finish, Instruction, LookupAnswers, LookupRows, Prioritize
from fff.dataflow.plan.expressions import Expr
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.federation import Federation
from fff.options import RunOptions
from fff.policies import make_policy
from fff.runtime.driver import BlockDriver, Meters, OpenTable
from fff.simulation.loop import run
from fff.simulation.recorder import RunRecorder, watched
from fff.simulation.service import OneProcessor
from fff.simulation.source import SimulatedSource, SimulatedTable
from fff.sql.analysis.priorities import priority
from fff.sql.plan import BlockQuery
from fff.sql.planner.prepare import prepare
from fff.stats import RunOutcome


@dataclass(frozen=True)
class BlockRun:
    """What one block brought, and what happened on the way. `batches` are its rows with the times they came at."""

    batches: tuple[tuple[float, pa.RecordBatch], ...]
    finish: Finish
    seconds: float
    recorder: RunRecorder
    eddy: RecordedEddy

    @property
    def rows(self) -> pa.Table:
        """All rows."""
        return pa.Table.from_batches([batch for _, batch in self.batches]) if self.batches else pa.table({})

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.finish.complete


class RecordedEddy(Eddy):
    """An eddy that tells a recorder of each event; where a processor is given, routing a tuple takes its time.

    `by_lookup[table]` says of each row, by its number, whether a lookup brought it.
    """

    def __init__(
        self,
        plan: BlockPlan,
        policy: RoutingPolicy,
        rng: random.Random,
        options: EddyOptions,
        *,
        recorder: RunRecorder,
        processor: OneProcessor | None = None,
        hop_s: float = 0.0,
    ) -> None:
        super().__init__(plan, watched(policy, recorder), rng, options)
        self.by_lookup: list[list[bool]] = [[] for _ in plan.tables]
        self._recorder = recorder
        self._processor = processor
        self._hop_s = hop_s

    def handle(self, event: Event) -> list[Instruction]:
        """As the eddy does, recorded."""
        hops = self.hops
        instructions = super().handle(event)
        self._recorder.step(event, instructions)
        for table, origins in enumerate(self.by_lookup):
            origins.extend(
                [isinstance(event, LookupRows | LookupAnswers)] * (self.size(table) - len(origins))
            )
        if self._processor is not None and self._hop_s:
            self._processor.spend((self.hops - hops) * self._hop_s)
        return instructions


def run_block(
    sql: str,
    tables: Sequence[SimulatedTable],
    *,
    policy: str | Callable[[BlockPlan], RoutingPolicy],
    seed: int,
    options: EddyOptions | None = None,
    prioritize: Sequence[str] = (),
    turns: Sequence[tuple[float, str]] = (),
    one_cpu: bool = False,
    hop_s: float = 0.0,
) -> BlockRun:
    """Run a statement of one block from time 0, everything recorded.

    Args:
        sql: over the names of the tables.
        tables: behind simulated access methods.
        policy: its name, or what makes it of the plan.
        seed: of routing, latencies and failures.
        options: of the eddy.
        prioritize: predicates whose rows the user wants first.
        turns: a predicate whose rows the user wants first from some time on, in the place of what was wanted before.
        one_cpu: all access methods and the eddy share one processor; else each method has servers of its own.
        hop_s: seconds of that processor that routing one tuple takes.
    """

    async def main() -> BlockRun:
        recorder = RunRecorder()
        processor = OneProcessor() if one_cpu else None
        catalog = Catalog()
        catalog.add(SimulatedSource(tables, recorder, seed=seed, processor=processor))
        return await execute_block(
            sql,
            catalog,
            recorder,
            policy=policy,
            seed=seed,
            options=options,
            prioritize=prioritize,
            turns=turns,
            processor=processor,
            hop_s=hop_s,
        )

    return run(main)


async def execute_block(
    sql: str,
    catalog: Catalog,
    recorder: RunRecorder,
    *,
    policy: str | Callable[[BlockPlan], RoutingPolicy],
    seed: int,
    options: EddyOptions | None = None,
    prioritize: Sequence[str] = (),
    turns: Sequence[tuple[float, str]] = (),
    processor: OneProcessor | None = None,
    hop_s: float = 0.0,
) -> BlockRun:
    """`run_block` over any sources, in the running loop's time."""
    block = prepare(sql, catalog, {}, [*prioritize, *(text for _, text in turns)]).only_block
    chosen = make_policy(policy, block.plan) if isinstance(policy, str) else policy(block.plan)
    eddy = RecordedEddy(
        block.plan,
        chosen,
        random.Random(seed),
        options or EddyOptions(),
        recorder=recorder,
        processor=processor,
        hop_s=hop_s,
    )
    wanted = _wanted(prioritize, block.plan)
    if wanted:
        eddy.handle(Prioritize(wanted))
    batches: list[tuple[float, pa.RecordBatch]] = []
    began = recorder.now

    def deliver(batch: pa.RecordBatch) -> None:
        recorder.delivered(len(batch))
        batches.append((recorder.now, batch))

    driver = BlockDriver(eddy, _access(block, catalog), deliver, eager=block.plan.limit is None)
    for time, text in turns:
        event = Prioritize(_wanted((text,), block.plan))
        asyncio.get_running_loop().call_later(time, driver.post, event)
    finish = await driver.run()
    return BlockRun(tuple(batches), finish, recorder.now - began, recorder, eddy)


def _wanted(texts: Sequence[str], plan: BlockPlan) -> tuple[Expr, ...]:
    """The predicates that can be evaluated on the plan's columns."""
    return tuple(expr for text in texts if (expr := priority(text, plan)) is not None)


def _access(block: BlockQuery, catalog: Catalog) -> list[OpenTable]:
    meters = Meters()
    return [
        OpenTable(
            table=table,
            adapter=catalog.adapter_of(table),
            columns=tuple(field.name for field in planned.columns),
            scans=tuple(scan for scan in table.scans if scan.name in {some.name for some in planned.scans}),
            lookups=tuple(
                next(lookup for lookup in table.lookups if lookup.name == some.name)
                for some in planned.lookups
            ),
            meters=meters,
        )
        for table, planned in zip(block.tables, block.plan.tables, strict=True)
    ]


@dataclass(frozen=True)
class StatementRun:
    """What a whole statement brought."""

    rows: pa.Table
    outcome: RunOutcome
    seconds: float
    recorder: RunRecorder


def run_statement(
    sql: str, tables: Sequence[SimulatedTable], *, options: RunOptions, one_cpu: bool = False
) -> StatementRun:
    """Run a statement that needs no Spark as `fff query` would, from time 0; `options.seed` must be given.

    The trace holds what was asked of the sources, and when.
    """
    seed = options.seed
    assert seed is not None, "without a seed no run is like another"

    async def main() -> StatementRun:
        recorder = RunRecorder()
        source = SimulatedSource(tables, recorder, seed=seed, processor=OneProcessor() if one_cpu else None)
        catalog = Catalog()
        catalog.add(source)
        async with Federation(catalog) as federation:
            prepared = federation.prepare(sql, prioritize=options.prioritize)
            assert prepared.upper is None, "Spark knows no virtual time"
            execution = federation.execute(prepared, options)
            batches = []
            async for batch in execution.batches():
                recorder.delivered(len(batch))
                batches.append(batch)
            return StatementRun(pa.Table.from_batches(batches), execution.outcome, recorder.now, recorder)

    return run(main)
