"""What is inside an eddy right now: rows that lack some of their columns (H9), and values that may still come.

Reads the router's waiting and parked tuples and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Int64
from fff.dataflow.lookups.access import ScanState
from fff.dataflow.lookups.parked import ParkedGroup
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.router import Router
from fff.schema import ArrowType
from fff.stats import MISSING
from fff.structs import Struct

#: Tuples whose priority `partial_rows` asks after; those beyond count as not prioritised.
PRIORITIES_LOOKED_UP = 50_000


class Pool(Struct, frozen=True):
    """Tuples of one state that wait together; `at` gathers those at some positions below `size`."""

    state: TupleState
    size: int
    at: Callable[[Int64], TupleBatch]
    parked_on: int = (
        0  # the alias whose answers they wait for, as a bitmap; 0 for those that wait to be routed
    )


def pools(router: Router, *, queued: bool = True) -> list[Pool]:
    """Every tuple from which a result may still come by what has started already, each once; parked ones, if not `queued`."""
    batches = router.waiting.batches() if queued else ()
    all_pools = [Pool(batch.state, len(batch), batch.take) for batch in batches]
    for alias, _, group in router.parked.waiting():
        places = group.alive()

        def at(positions: Int64, group: ParkedGroup = group, places: Int64 = places) -> TupleBatch:
            return group.at(places[positions])

        all_pools.append(Pool(group.state, len(places), at, 1 << alias))
    return all_pools


# ---------------------------------------------------------------------------------------------------- partial rows


def partial_rows(router: Router, limit: int) -> tuple[tuple[object, ...], ...]:
    """At most `limit` waiting tuples as rows over the plan's output, MISSING where an alias is not spanned yet.

    Prioritised tuples come first, then those that span most; tuples that span no alias of the output have nothing to show.
    They are no results: each may become none, one or many.
    """
    plan = router.block.plan
    rows: list[tuple[object, ...]] = []
    for batch in _preferred(router, limit):
        shown = batch.take(np.arange(min(len(batch), limit - len(rows))))
        columns = [_shown(router.block, column, shown) for column in plan.output]
        rows += zip(*columns, strict=True)
        if len(rows) >= limit:
            break
    return tuple(rows)


def _preferred(router: Router, limit: int) -> Iterator[TupleBatch]:
    shown = sum(1 << alias for alias in {column.alias for column in router.block.plan.output})
    shown_pools = [pool for pool in pools(router) if pool.state.span & shown]
    shown_pools.sort(key=lambda pool: -pool.state.weight)
    rest: list[tuple[Pool, Int64]] = []
    left = PRIORITIES_LOOKED_UP if router.priorities is not None else 0
    for pool in shown_pools:
        looked = min(left, pool.size)
        left -= looked
        mask = None
        if router.priorities is not None and looked:
            mask = router.priorities.mask(pool.at(np.arange(looked)))
        if mask is None:
            rest.append((pool, np.arange(min(limit, pool.size))))
        else:
            yield pool.at(np.flatnonzero(mask)[:limit])
            others = np.flatnonzero(~mask)
            rest.append((pool, np.concatenate((others, np.arange(looked, pool.size)))[:limit]))
    for pool, positions in rest:
        yield pool.at(positions)


def _shown(block: Block, column: Column, batch: TupleBatch) -> list[object]:
    if not batch.state.span >> column.alias & 1:
        return [MISSING] * len(batch)
    values: list[object] = block.values(batch, column).to_pylist()
    return values


# ----------------------------------------------------------------------------------------------------- open values


def open_values(router: Router, columns: Sequence[Column]) -> pa.Table | None:
    """The values of `columns` that further results may have, each combination once; None when that cannot be said.

    Sound by coverage: once nothing can start a new chain, every result to come extends a tuple that waits or is parked
    now, and has its values. -0.0 stands as 0.0. Without columns: an empty table exactly when nothing more can come.
    """
    block = router.block
    waiting = pools(router)
    fields = [block.plan.field_of(column) for column in columns]
    if _may_start_chains(block, waiting=bool(waiting)) or any(
        pa.types.is_nested(field.arrow) for field in fields
    ):
        return None
    if not columns:
        return None if waiting else pa.table({})
    schema = pa.schema([(str(number), field.arrow) for number, field in enumerate(fields)])
    parts = []
    for pool in waiting:
        sources = [source(block, pool.state.span, column) for column in columns]
        known = [place for place in sources if place is not None]
        if len(known) < len(sources):
            return None
        batch = pool.at(np.arange(pool.size))
        read = [block.values(batch, place) for place in known]
        parts.append(typed(read, schema))
    together = pa.concat_tables(parts) if parts else schema.empty_table()
    distinct = together.group_by(schema.names, use_threads=False).aggregate([])
    return distinct.rename_columns([field.name for field in fields])


def _may_start_chains(block: Block, *, waiting: bool) -> bool:
    """Whether rows of an alias that starts chains may still arrive; `waiting`: some tuple may ask for them."""
    aliases = block.plan.aliases
    for number, (table, stem) in enumerate(zip(block.plan.tables, block.stems, strict=True)):
        if stem.complete or not any(block.fires[alias] for alias in stem.aliases):
            continue
        if any(scan.state is ScanState.RUNNING for scan in block.scans[number]):
            return True
        if not all(module.idle for module in block.lookups[number]):
            return True
        # A failed scan is made up for by keys; a table that is seeded for one alias is asked by key for another.
        by_keys = bool(table.scans) or not all(aliases[alias].active for alias in stem.aliases)
        if waiting and table.lookups and by_keys and not block.cancelled:
            return True
    return False


def source(block: Block, span: int, column: Column) -> Column | None:
    """A column inside the span whose value every result to come has in `column`."""
    return block.constraints.known(span, column)


def typed(values: Sequence[pa.Array], schema: pa.Schema) -> pa.Table:
    """Rows of values as the types of the columns they stand for; a value without counterpart there meets no row."""
    columns, fits = [], None
    for array, field in zip(values, schema, strict=True):
        own = _floats(array) if pa.types.is_floating(field.type) else array
        if array.type != field.type:
            own, same = _narrow(array, field.type)
            fits = same if fits is None else pc.and_(fits, same)
        columns.append(own)
    table = pa.Table.from_arrays(columns, schema=schema)
    return table if fits is None else table.filter(fits)


def _floats(values: pa.Array) -> pa.Array:
    return pc.add(values, pa.scalar(0.0, values.type))  # -0.0 becomes 0.0


def _narrow(values: pa.Array, kind: ArrowType) -> tuple[pa.Array, pa.Array]:
    own = values.cast(kind, safe=False)
    return own, pc.fill_null(pc.equal(own.cast(values.type), values), fill_value=False)
