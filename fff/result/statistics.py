"""Frozen pictures of running blocks: what the live view and the report read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fff.dataflow.lookups.access import ScanState
from fff.dataflow.statistics import BlockStatistics, LookupStatistics, ScanStatistics
from fff.runtime.driver import OpenTable
from fff.stats import AccessMeter, AccessState, AccessStats, Inquiry, SteMStats
from fff.structs import replace

_SCAN_STATES: dict[ScanState, AccessState] = {
    ScanState.UNUSED: "unused",
    ScanState.RUNNING: "running",
    ScanState.COMPLETE: "complete",
    ScanState.FAILED: "failed",
    ScanState.STOPPED: "stopped",
}


def access_stats(
    running: Sequence[tuple[BlockStatistics, Sequence[OpenTable]]], distinct_keys: DistinctKeys
) -> tuple[AccessStats, ...]:
    """Every access method of some blocks, scans before lookups, in the order of the tables, each once.

    `distinct_keys` tells of a lookup that several blocks share how many keys they asked for in all.
    """
    by_method: dict[tuple[str, str, str], list[AccessStats]] = {}
    for block, access in running:
        for table, reading in zip(block.tables, access, strict=True):
            if reading.fed:
                continue
            parts = [
                _scan_stats(scan, meter, reading, block)
                for scan, meter in zip(table.scans, reading.scan_meters, strict=True)
            ]
            needed = not table.complete
            parts += [
                _lookup_stats(lookup, meter, reading, block, needed=needed)
                for lookup, meter in zip(table.lookups, reading.lookup_meters, strict=True)
            ]
            for one in parts:
                by_method.setdefault((reading.table.full_name, one.kind, one.name), []).append(one)
    return tuple(_merged(parts, distinct_keys(table, name)) for (table, _, name), parts in by_method.items())


def inquiry_stats(asked: Sequence[Inquiry]) -> list[AccessStats]:
    """What was asked for tables and columns that no spec declares, as far as requests were sent for it."""
    return [
        _metered(
            one.meter,
            AccessStats(
                source=one.source,
                table=", ".join(one.tables),
                kind="columns",
                keys=(),
                name=f"columns of {', '.join(one.tables)}" if one.tables else f"tables of {one.source}",
                state="complete",
                complete=True,
            ),
        )
        for one in asked
        if one.meter.requests
    ]


class DistinctKeys(Protocol):
    """How many keys the blocks of a statement asked a shared lookup for."""

    def __call__(self, table: str, method: str) -> int | None:
        """None where it is not shared."""


#: Of several blocks that use one access method, the state that says most.
_BY_WEIGHT: tuple[AccessState, ...] = (
    "throttled",
    "running",
    "stalled",
    "failed",
    "waiting",
    "stopped",
    "complete",
    "unused",
)


def _merged(parts: Sequence[AccessStats], distinct_keys: int | None) -> AccessStats:
    """What several blocks made of one access method.

    They share its meter, so what that counts is in each of them.
    """
    if len(parts) == 1:
        return parts[0]
    used = [part for part in parts if part.state != "unused"]
    scan = parts[0].kind == "scan"  # of which all blocks read the same rows
    total = max if scan else sum
    return replace(
        parts[0],
        state=min((part.state for part in parts), key=_BY_WEIGHT.index),
        rows=total(part.rows for part in parts),
        duplicates=total(part.duplicates for part in parts),
        distinct_keys=sum(part.distinct_keys for part in parts) if distinct_keys is None else distinct_keys,
        pending_keys=sum(part.pending_keys for part in parts),
        hedged=sum(part.hedged for part in parts),
        complete=bool(used) and all(part.complete for part in used),
    )


def _scan_stats(
    scan: ScanStatistics, meter: AccessMeter, reading: OpenTable, block: BlockStatistics
) -> AccessStats:
    state: AccessState = "stalled" if scan.stalled else _SCAN_STATES[scan.state]
    if scan.paused:
        state = "waiting"
    return _metered(
        meter,
        AccessStats(
            source=reading.table.source,
            table=reading.table.name,
            kind="scan",
            keys=(),
            name=scan.name,
            sends=tuple(map(reading.table.said, reading.table.quals)),
            state=_ended(state, meter, block),
            rows=scan.rows,
            duplicates=scan.duplicates,
            pages=meter.pages,
            total_pages=scan.total_pages,
            over_time=scan.over_time,
            total_rows=meter.total_rows,
            complete=scan.state is ScanState.COMPLETE,
        ),
    )


def _lookup_stats(
    lookup: LookupStatistics, meter: AccessMeter, reading: OpenTable, block: BlockStatistics, *, needed: bool
) -> AccessStats:
    keys = tuple(reading.columns[column] for column in lookup.columns)
    failed = needed and lookup.failed > 0
    state: AccessState = "waiting"
    if not lookup.idle:
        state = "stalled" if lookup.stalled and lookup.under_way else "running"
    elif failed:
        state = _ended("failed", meter, block)
    elif block.finished:
        state = "complete" if lookup.issued else "unused"
    return _metered(
        meter,
        AccessStats(
            source=reading.table.source,
            table=reading.table.name,
            kind="lookup",
            keys=keys,
            name=lookup.name,
            sends=tuple(map(reading.table.said, reading.table.quals_beside(keys))),
            state=state,
            distinct_keys=lookup.asked,
            pending_keys=lookup.pending,
            hedged=lookup.hedged,
            rows=lookup.rows,
            duplicates=lookup.duplicates,
            complete=block.finished and lookup.idle and not failed,
        ),
    )


def _ended(state: AccessState, meter: AccessMeter, block: BlockStatistics) -> AccessState:
    """What a run that was stopped, had enough, or had no budget for more did not ask has not failed."""
    spent = meter.budget is not None and meter.budget.refused
    stopped = block.cancelled or block.whole or spent
    return "stopped" if state == "failed" and stopped and not meter.failed else state


def _metered(meter: AccessMeter, stats: AccessStats) -> AccessStats:
    resumes = meter.resumes_in if stats.state in ("running", "stalled") else None
    cost, state = meter.cost, stats.state
    if state == "stalled" and meter.held_back:
        state = "running"  # a source that is not asked has not failed to answer
    return replace(
        stats,
        state=state if resumes is None else "throttled",
        resumes_s=None if resumes is None else round(resumes, 3),
        throttled_s=round(meter.throttled_s, 6),
        requests=meter.requests,
        retries=meter.retries,
        throttled=meter.throttled,
        failed=meter.failed,
        cached=meter.cached,
        revalidated=meter.revalidated,
        bad_records=meter.bad_records,
        bytes=meter.bytes,
        in_flight=meter.in_flight,
        max_in_flight=meter.max_in_flight,
        busy_s=meter.busy_s,
        slowest_s=round(meter.slowest_s, 6),
        limited_by=meter.limited_by,
        cost=None if cost is None else float(cost.amount),
        currency=None if cost is None else cost.currency,
    )


def stem_stats(block: BlockStatistics, access: Sequence[OpenTable]) -> tuple[SteMStats, ...]:
    """Every SteM of a block but those of its feeds."""
    return tuple(table.stem for table, reading in zip(block.tables, access, strict=True) if not reading.fed)
