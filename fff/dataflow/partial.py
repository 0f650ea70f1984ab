"""Tuples that lack some tables' answers, as Arrow tables: what the first groups of an aggregate are made of (P36, P37).

Two kinds of tuples are looked at. Those that wait or are parked, extended by what is already here of the aliases they are
asked for. And, where tables are still being scanned that are not asked for, the joins of everything else: such tuples are
kept nowhere, since the scanned rows will look for them. Nothing is routed, asked for or counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import EMPTY
from fff.dataflow.in_flight import pools, source, typed
from fff.dataflow.lookups.access import ScanState
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.state import TupleState, bits
from fff.dataflow.routing.router import Router
from fff.structs import Struct


class PartialTuples(Struct, frozen=True):
    """Tuples that span the same aliases. They are no results: each may become none, one or many."""

    span: int
    missing: frozenset[int]  # places of the plan's output whose values are not known
    table: pa.Table  # columns named by their places, "0", "1", …; NULL throughout in missing ones

    def __len__(self) -> int:
        return int(self.table.num_rows)


def partial_tuples(router: Router, required: Iterable[int], limit: int) -> tuple[PartialTuples, ...]:
    """At most `limit` tuples in which the `required` places of the plan's output are known, by what they span.

    Those that span most come first.
    """
    block = router.block
    wanted = tuple(dict.fromkeys(block.plan.output[place] for place in required))
    rest = _unneeded_scans(block, wanted)
    by_span: dict[int, list[TupleBatch]] = {}
    left = limit
    for batch in _joins(block, rest, limit) if rest else ():
        if _all_known(block, batch.state.span, wanted):
            part = batch.take(np.arange(min(left, len(batch))))
            left -= len(part)
            by_span.setdefault(batch.state.span, []).append(part)
    joined = frozenset(by_span)
    for pool in sorted(pools(router, queued=not rest), key=lambda pool: -pool.state.weight):
        if not left:
            break
        waiting = _selected(block, pool.at(np.arange(min(left, pool.size))))
        reached = _reaching(block, waiting, wanted, pool.parked_on, left)
        if reached is not None and len(reached) and reached.state.span not in joined:
            part = reached.take(np.arange(min(left, len(reached))))
            left -= len(part)
            by_span.setdefault(reached.state.span, []).append(part)
    spans = sorted(by_span, key=lambda span: -span.bit_count())
    return tuple(_gathered(block, span, by_span[span]) for span in spans)


def _all_known(block: Block, span: int, columns: Sequence[Column]) -> bool:
    return all(source(block, span, column) is not None for column in columns)


def _unneeded_scans(block: Block, wanted: Sequence[Column]) -> int:
    """The aliases whose rows start chains and are still being scanned, and that bring none of the wanted columns."""
    spanned = 0
    for alias, plan in enumerate(block.plan.aliases):
        running = any(scan.state is ScanState.RUNNING for scan in block.scans[plan.table])
        if running and block.fires[alias] and not block.stems[plan.table].complete:
            spanned |= 1 << alias
    everything = block.constraints.everything
    for column in wanted:
        if source(block, everything & ~spanned, column) is None:
            spanned &= ~(1 << column.alias)
    return spanned


# --------------------------------------------------------------------------------------------------------- extending


def _reaching(
    block: Block, batch: TupleBatch, wanted: Sequence[Column], parked_on: int, limit: int
) -> TupleBatch | None:
    """The tuples joined with what is here until the wanted columns are known; None where joins do not lead there.

    Not with the alias they are parked on: with the rows of it that are here, they have gone on already. Nor with right sides
    of left, semi and anti joins: what comes of those is only known by their EOT.
    """
    while True:
        lacking = [column for column in wanted if source(block, batch.state.span, column) is None]
        if not lacking or not len(batch):
            return batch
        outside = block.constraints.inner & ~batch.state.span & ~parked_on
        near = [alias for alias in bits(outside) if block.constraints.links(batch.state.span, alias)]
        near = [alias for alias in near if block.stem(alias).alias_rows[alias]]
        if not near:
            return None
        direct = {column.alias for column in lacking}
        batch = _peek(block, batch, next((alias for alias in near if alias in direct), near[0]), limit)


def _joins(block: Block, without: int, limit: int) -> Iterator[TupleBatch]:
    """Every combination of rows of the aliases that are not in `without`, as far as equalities connect them.

    Each combination once: it belongs to the newest of its rows that starts chains, as in the dataflow itself.
    """
    inside = block.constraints.inner & ~without
    for alias in bits(inside):
        stem = block.stem(alias)
        if not block.fires[alias] or not len(stem):
            continue
        rows = np.arange(max(0, len(stem) - limit), len(stem))
        mask = stem.passing(alias, rows)
        rows = rows if mask is None else rows[mask]
        batch = TupleBatch(TupleState(1 << alias), {alias: rows}, stem.stamps(alias, rows))
        batch = _selected(block, batch)
        while near := [
            other
            for other in bits(inside & ~batch.state.span)
            if block.constraints.links(batch.state.span, other)
        ]:
            batch = _peek(block, batch, near[0], limit)
        if len(batch):
            yield batch


def _peek(block: Block, batch: TupleBatch, alias: int, limit: int) -> TupleBatch:
    """The tuples joined with the rows of one more alias that are here, at most about `limit` pairs looked at.

    As a probe does it, older rows only: newer ones have looked for these tuples themselves.
    """
    stem = block.stem(alias)
    span = batch.state.span
    joined = TupleState(span | 1 << alias, batch.state.done)
    if not len(batch) or not len(stem):
        return TupleBatch(joined, {**batch.rows, alias: EMPTY}, EMPTY).take(EMPTY)
    links = [
        (link.own, block.numbers(batch, link.other, link.column))
        for link in block.constraints.links(span, alias)
    ]
    pairs = np.cumsum(stem.pair_counts(links, len(batch)))
    if pairs[-1] > limit:
        size = int(np.searchsorted(pairs, limit))
        batch = batch.split(size)[0]
        links = [(column, numbers[:size]) for column, numbers in links]
    positions, rows = stem.match(links, len(batch))
    mask = stem.passing(alias, rows)
    if mask is not None:
        positions, rows = positions[mask], rows[mask]
    if block.fires[alias]:
        older = stem.stamps(alias, rows) < batch.stamps[positions]
        positions, rows = positions[older], rows[older]
    tuples = batch.take(positions)
    combined = TupleBatch(joined, {**tuples.rows, alias: rows}, tuples.stamps)
    for predicate in block.constraints.evaluable(span, alias):
        if len(combined):
            combined = combined.take(block.selections.passing(predicate, combined))
    return _selected(block, combined)


def _selected(block: Block, batch: TupleBatch) -> TupleBatch:
    """The tuples that pass the selection modules whose columns are all known."""
    done = batch.state.done
    for number in block.constraints.modules:
        aliases = sum(1 << alias for alias in block.plan.predicates[number].aliases)
        if not done >> number & 1 and not aliases & ~batch.state.span:
            if len(batch):
                batch = batch.take(block.selections.passing(number, batch))
            done |= 1 << number
    return batch.with_state(TupleState(batch.state.span, done))


# --------------------------------------------------------------------------------------------------------- gathering


def _gathered(block: Block, span: int, batches: Sequence[TupleBatch]) -> PartialTuples:
    output = block.plan.output
    sources = [source(block, span, column) for column in output]
    missing = frozenset(place for place, column in enumerate(sources) if column is None)
    schema = pa.schema(
        [(str(place), block.plan.field_of(column).arrow) for place, column in enumerate(output)]
    )
    parts = []
    for batch in batches:
        columns = [
            pa.nulls(len(batch), kind) if column is None else block.values(batch, column)
            for column, kind in zip(sources, schema.types, strict=True)
        ]
        parts.append(typed(columns, schema))
    return PartialTuples(span, missing, pa.concat_tables(parts))
