"""Frozen pictures of running blocks: what the live view and the report read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from fff.dataflow.access import KeyState, ScanModule, ScanState
from fff.dataflow.eddy import Eddy
from fff.dataflow.flow import Passage
from fff.dataflow.naming import move_name, state_name
from fff.runtime.driver import TableAccess
from fff.stats import AccessMeter, AccessState, AccessStats, RoutingShare, SteMStats

_SCAN_STATES: dict[ScanState, AccessState] = {
    ScanState.UNUSED: "unused",
    ScanState.RUNNING: "running",
    ScanState.COMPLETE: "complete",
    ScanState.FAILED: "failed",
    ScanState.STOPPED: "stopped",
}


def access_stats(
    running: Sequence[tuple[Eddy, Sequence[TableAccess]]], distinct_keys: DistinctKeys
) -> tuple[AccessStats, ...]:
    """Every access method of some blocks, scans before lookups, in the order of the tables, each once.

    `distinct_keys` tells of a lookup that several blocks share how many keys they asked for in all.
    """
    found: dict[tuple[str, str, str], list[AccessStats]] = {}
    for eddy, access in running:
        for table, reading in enumerate(access):
            if reading.fed:
                continue
            for scan, scan_meter in zip(eddy.block.scans[table], reading.scan_meters, strict=True):
                one = _scan_stats(scan, scan_meter, reading)
                found.setdefault((reading.table.full_name, "scan", one.name), []).append(one)
            for index, meter in enumerate(reading.lookup_meters):
                one = _lookup_stats(eddy, table, index, meter, reading)
                found.setdefault((reading.table.full_name, "lookup", one.name), []).append(one)
    return tuple(_merged(parts, distinct_keys(table, name)) for (table, _, name), parts in found.items())


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
    """What several blocks made of one access method. They share its meter, so what that counts is in each of them."""
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


def _scan_stats(scan: ScanModule, meter: AccessMeter, reading: TableAccess) -> AccessStats:
    stalled = scan.stalled and scan.state is ScanState.RUNNING
    return _metered(
        meter,
        AccessStats(
            source=reading.table.source,
            table=reading.table.name,
            kind="scan",
            keys=(),
            name=scan.plan.name,
            sends=tuple(map(reading.table.said, reading.table.quals)),
            state="stalled" if stalled else _SCAN_STATES[scan.state],
            rows=scan.rows,
            duplicates=scan.duplicates,
            pages=meter.pages,
            total_rows=meter.total_rows,
            complete=scan.state is ScanState.COMPLETE,
        ),
    )


def _lookup_stats(
    eddy: Eddy, table: int, index: int, meter: AccessMeter, reading: TableAccess
) -> AccessStats:
    module = eddy.block.lookups[table][index]
    keys = tuple(reading.columns[column] for column in module.plan.columns)
    failed = module.count(KeyState.FAILED) and not eddy.block.stems[table].complete
    state: AccessState = "waiting"
    if not module.idle:
        stalled = eddy.lookups.method(table, index).stalled and module.requests
        state = "stalled" if stalled else "running"
    elif failed:
        state = "failed"
    elif eddy.finished:
        state = "complete" if module.issued else "unused"
    return _metered(
        meter,
        AccessStats(
            source=reading.table.source,
            table=reading.table.name,
            kind="lookup",
            keys=keys,
            name=module.plan.name,
            sends=tuple(map(reading.table.said, reading.table.quals_beside(keys))),
            state=state,
            distinct_keys=module.asked,
            pending_keys=module.pending,
            hedged=module.hedged,
            rows=module.rows,
            duplicates=module.duplicates,
            complete=eddy.finished and module.idle and not failed,
        ),
    )


def _metered(meter: AccessMeter, stats: AccessStats) -> AccessStats:
    resumes = meter.resumes_in if stats.state in ("running", "stalled") else None
    return replace(
        stats,
        state=stats.state if resumes is None else "throttled",
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
        limited_by=meter.limited_by,
    )


def stem_stats(eddy: Eddy, access: Sequence[TableAccess]) -> tuple[SteMStats, ...]:
    """Every SteM of a block but those of its feeds."""
    return tuple(
        SteMStats(
            table=stem.plan.name,
            rows=len(stem),
            builds=stem.arrived,
            probes=stem.probes,
            hits=stem.hits,
            covered=stem.covered,
            parked=eddy.router.parked_tuples(table),
            bytes=stem.nbytes,
        )
        for table, stem in enumerate(eddy.block.stems)
        if not access[table].fed
    )


def routing_shares(eddy: Eddy, prefix: str = "") -> tuple[RoutingShare, ...]:
    """How tuples were routed so far, by TupleState and destination."""
    shares = []
    for (state, move), (batches, tuples) in eddy.router.routing.items():
        name = prefix + state_name(eddy.block.plan, state)
        came = eddy.router.flow.passages.get((state, move), Passage())
        to = move_name(eddy.block.plan, move)
        shares.append(RoutingShare(name, to, batches, tuples, came.produced, came.requests))
    return tuple(shares)
