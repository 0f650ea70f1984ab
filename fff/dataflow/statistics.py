"""What an eddy tells of itself at one moment: frozen, and all that those outside the core know of its modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fff.dataflow.lookups.access import ScanModule, ScanState
from fff.dataflow.lookups.methods import Method, Methods
from fff.dataflow.plan.labels import move_name, state_name
from fff.dataflow.routing.flow import Passage
from fff.dataflow.routing.router import Router
from fff.dataflow.store.stem import SteM
from fff.stats import RoutingShare, SteMStats
from fff.structs import Struct


class ScanStatistics(Struct, frozen=True):
    """One scan."""

    name: str
    state: ScanState
    stalled: bool  # running, and no page has come for too long
    paused: bool  # running, and no page is asked for, as a rival reads on
    pages: int
    total_pages: int | None  # as the source tells
    rows: int
    duplicates: int  # rows that another access method, or this one, had delivered before
    #: Where others have brought pages too: the share that it has brought, interval by interval of about as many pages.
    over_time: tuple[float, ...]


class LookupStatistics(Struct, frozen=True):
    """One lookup method. `columns` are the ordinals of its key columns; keys are distinct ones."""

    name: str
    columns: tuple[int, ...]
    issued: int  # requests sent
    hedged: int  # of these: requests that race a slow one of another method
    under_way: int  # of these: requests that nothing has ended yet
    asked: int  # keys sent
    pending: int  # keys that wait for a free request
    failed: int  # keys
    rows: int
    duplicates: int
    strays: int  # rows that did not have the key they were asked by
    stalled: bool  # nothing has come for too long
    met: int  # keys that a row came for; a key whose rows come in several parts may count for as many
    answered: int  # requests answered to the end
    served_s: float  # seconds that those kept their places at the limiter

    @property
    def idle(self) -> bool:
        """Nothing pending, nothing under way."""
        return not self.pending and not self.under_way


class Conflict(Struct, frozen=True):
    """Rows that differ from the one that had their declared key before: how many, the first such key, and where they do."""

    rows: int
    key: tuple[tuple[str, object], ...]  # columns and values
    columns: tuple[str, ...]


class TableStatistics(Struct, frozen=True):
    """The modules of one table of the plan. `complete`: every row of it has arrived."""

    complete: bool
    stem: SteMStats
    conflict: Conflict | None
    beyond: int  # rows that a scan of the table, read whole, did not have
    scans: tuple[ScanStatistics, ...]
    lookups: tuple[LookupStatistics, ...]


class BlockStatistics(Struct, frozen=True):
    """A block at one moment. `tables` as in the plan; `results` are those found so far.

    `lacking`: it would have at most so many results more, were all rows here, if none came twice; None where nobody knows.
    """

    finished: bool
    cancelled: bool
    whole: bool  # finished, and nothing is missing
    results: int
    waiting: int  # tuples that no module has yet: as many as lookups have no place for, and those between two modules
    tables: tuple[TableStatistics, ...]
    routing: tuple[RoutingShare, ...]
    lacking: int | None


def statistics(router: Router, methods: Methods, *, finished: bool) -> BlockStatistics:
    """Taken in time that grows with the modules and the kinds of routed tuples, not with rows or keys."""
    block = router.block
    parked: Counter[int] = Counter()
    for alias, _, group in router.parked.waiting():
        parked[block.plan.aliases[alias].table] += group.live
    by_table: list[list[LookupStatistics]] = [[] for _ in block.stems]
    for method in methods.all:
        by_table[method.table].append(_lookup(method))
    tables = tuple(
        TableStatistics(
            stem.complete,
            SteMStats(
                table=stem.plan.name,
                rows=len(stem),
                builds=stem.arrived,
                probes=stem.probes,
                hits=stem.hits,
                covered=stem.covered,
                parked=parked[table],
                bytes=stem.nbytes,
                conflicts=stem.conflicts,
            ),
            _conflict(stem),
            stem.beyond,
            _scans(block.scans[table], block.pages_over_time[table].counts),
            tuple(by_table[table]),
        )
        for table, stem in enumerate(block.stems)
    )
    whole = finished and not block.missing
    lacking = 0 if whole else _lacking(router, methods)
    waiting = router.waiting.tuples
    return BlockStatistics(
        finished, block.cancelled, whole, router.emitted, waiting, tables, _routing(router), lacking
    )


def _lacking(router: Router, methods: Methods) -> int | None:
    """The rows that a block of one table, read by one scan, has not: each is a result at most."""
    block = router.block
    used = [scan for scans in block.scans for scan in scans if scan.pages]
    if (
        len(block.plan.aliases) != 1
        or block.plan.recursion is not None
        or router.waiting.tuples
        or router.parked_tuples()
        or len(used) != 1
        or any(method.module.issued for method in methods.all)
    ):
        return None
    [scan] = used
    # Where it has said of no more rows than came, something lacks that it has not counted.
    counted = scan.total is not None and scan.counted and scan.total > scan.rows
    return scan.total - scan.rows if scan.total is not None and counted else None


def _conflict(stem: SteM) -> Conflict | None:
    if stem.conflict is None:
        return None
    names = [stem.plan.columns[column].name for column in stem.plan.key]
    return Conflict(stem.conflicts, tuple(zip(names, stem.conflict, strict=True)), tuple(stem.conflicting))


def _scans(scans: Sequence[ScanModule], pages: Sequence[Counter[int]]) -> tuple[ScanStatistics, ...]:
    several = sum(scan.pages > 0 for scan in scans) > 1
    kept = [counted for counted in pages if counted] if several else []
    return tuple(
        ScanStatistics(
            name=scan.plan.name,
            state=scan.state,
            stalled=scan.stalled and scan.state is ScanState.RUNNING,
            paused=scan.paused,
            pages=scan.pages,
            total_pages=scan.total_pages,
            rows=scan.rows,
            duplicates=scan.duplicates,
            over_time=tuple(round(counted[index] / counted.total(), 3) for counted in kept),
        )
        for index, scan in enumerate(scans)
    )


def _lookup(method: Method) -> LookupStatistics:
    module = method.module
    return LookupStatistics(
        name=module.plan.name,
        columns=tuple(module.plan.columns),
        issued=module.issued,
        hedged=module.hedged,
        under_way=len(module.requests),
        asked=module.asked,
        pending=module.pending,
        failed=len(module.reasons),
        rows=module.rows,
        duplicates=module.duplicates,
        strays=module.strays,
        stalled=method.stalled,
        met=module.met,
        answered=module.answered,
        served_s=module.served_s,
    )


def _routing(router: Router) -> tuple[RoutingShare, ...]:
    """How tuples were routed so far, by TupleState and destination."""
    plan = router.block.plan
    shares, passages = [], router.flow.passages
    for (state, move), (batches, tuples) in router.routing.items():
        came = passages.get((state, move), Passage())
        shares.append(
            RoutingShare(
                state_name(plan, state), move_name(plan, move), batches, tuples, came.produced, came.requests
            )
        )
    return tuple(shares)
