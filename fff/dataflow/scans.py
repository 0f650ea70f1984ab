"""The scans of a block at work: which are begun, how many pages each may be ahead, and who reads on where several race.

Scans of one table are rivals (S4 section 3.2): each brings all rows, row identity absorbs what comes twice, and the first EOT
is that of the table. A racing policy says who of them reads on; without one the next begins where one fails or stalls.
Whatever a policy says, one that runs and has not stalled always goes on.
"""

from __future__ import annotations

from collections.abc import Mapping

from fff.dataflow.lookups.access import ScanModule, ScanState
from fff.dataflow.lookups.methods import RunClock
from fff.dataflow.lookups.scan_or_constants import ScanOrConstants
from fff.dataflow.modules import Block
from fff.dataflow.plan.events import FetchPages, Instruction, ScanRows, StopScan
from fff.dataflow.plan.moves import ScanPace, ScanRace
from fff.dataflow.plan.policy import RacingPolicy, RoutingPolicy
from fff.dataflow.routing.router import Router
from fff.limits import HELD_TUPLES

_SMALLEST = 20  # rows that a page counts for at least when it is said how many may be ahead


class Scans:
    """Begins scans, gives them credit, and stops them.

    Args:
        block: the modules.
        router: whose tuples hold scans back.
        clock: the runtime's time.
        choice: of tables whose scan may prove to be of no use.
        policy: who reads on, if it says.
        credit: pages a scan may be ahead.
        rows: where its pages are small, rows that it may be ahead.
    """

    def __init__(
        self,
        block: Block,
        router: Router,
        clock: RunClock,
        choice: ScanOrConstants,
        *,
        policy: RoutingPolicy,
        credit: int,
        rows: int,
    ) -> None:
        self._block = block
        self._router = router
        self._clock = clock
        self._choice = choice
        self._policy = policy if isinstance(policy, RacingPolicy) else None
        self._scan_credit = credit
        self._scan_rows = rows
        self._held: set[tuple[int, int]] = set()  # whose next credit is due
        self._undecided: set[int] = (
            set()
        )  # tables of which something has changed since it was said who reads on

    def start(self) -> list[Instruction]:
        """Begin the first scan of each table."""
        tables = [table for table, scans in enumerate(self._block.scans) if scans]
        return [self._begin(table, 0) for table in tables]

    def page(self, event: ScanRows) -> ScanModule | None:
        """Take note of a page; None where nobody wants it any more."""
        scans = self._block.scans[event.table]
        scan = scans[event.index]
        if scan.state is not ScanState.RUNNING:
            return None
        assert scan.credit >= event.count, "a page without credit"
        scan.credit -= event.count
        scan.pages += event.count
        scan.rows += len(event.rows)
        scan.stalled = False
        scan.times.observe(event.count, event.seconds, scan.since)
        scan.counted = scan.counted and event.counted and scan.total in (None, event.total)
        scan.total = scan.total if event.total is None else event.total
        scan.total_pages = scan.total_pages if event.pages is None else event.pages
        for other in scans:
            other.since = 0 if other is scan else other.since + event.count
        self._block.pages_over_time[event.table].add(event.index, event.count)
        self._held.add((event.table, event.index))
        self._undecided.add(event.table)
        return scan

    def relieve(self, table: int) -> list[Instruction] | None:
        """A scan has failed or stalled: another one goes on in its place. None where there is none."""
        self._undecided.add(table)
        scans = self._block.scans[table]
        if any(scan.state is ScanState.RUNNING and not scan.stalled for scan in scans):
            return []
        for index, scan in enumerate(scans):
            if scan.state is ScanState.UNUSED:
                return [self._begin(table, index)]
        return None

    def stop(self, table: int, state: ScanState = ScanState.STOPPED) -> list[Instruction]:
        """Stop what runs of a table's scans; `state` is what they are then."""
        out: list[Instruction] = []
        for index, scan in enumerate(self._block.scans[table]):
            if scan.state is ScanState.RUNNING:
                scan.state = state
                out.append(StopScan(table, index))
        return out

    def ends_table(self, table: int, index: int) -> bool:
        """Whether the EOT of a scan is that of the table: not if one that reads on beside it says that there are more rows.

        If it is not, the others go on.
        """
        scan = self._block.scans[table][index]
        brought = scan.rows if scan.total is None else scan.total
        others = (
            one for one in self._block.scans[table] if one is not scan and one.state is ScanState.RUNNING
        )
        if all(one.stalled or one.total is None or one.total <= brought for one in others):
            return True
        scan.state = ScanState.STOPPED
        self._undecided.add(table)
        return False

    def give_credit(self) -> list[Instruction]:
        """Hold scans back while too many tuples wait; nothing else is ever held back (design: back-pressure).

        Under LIMIT so many are too many as may be all that is wanted. A scan that parked tuples wait for is not held back:
        they would wait for ever.
        """
        out: list[Instruction] = []
        for table in sorted(self._undecided):
            out += self._decide(table)
        self._undecided.clear()
        if not self._held:
            return out
        limit = self._block.plan.limit
        most = HELD_TUPLES if limit is None else min(HELD_TUPLES, limit - self._router.emitted - 1)
        full = self._router.waiting.tuples + self._router.parked_tuples() > most
        for table, index in sorted(self._held):
            if full and not self._block.awaited[table]:
                continue
            scan = self._block.scans[table][index]
            count = (self._credit(table, scan) if scan.ahead is None else scan.ahead) - scan.credit
            if scan.state is ScanState.RUNNING:
                if count <= 0:
                    continue
                scan.credit += count
                out.append(FetchPages(table, index, count))
            self._held.remove((table, index))
        return out

    def _begin(self, table: int, index: int, ahead: int | None = None) -> FetchPages:
        scan = self._block.scans[table][index]
        scan.state, scan.ahead = ScanState.RUNNING, ahead
        scan.credit = self._credit(table, scan) if ahead is None else ahead
        self._undecided.add(table)
        return FetchPages(table, index, scan.credit)

    def _credit(self, table: int, scan: ScanModule) -> int:
        """Pages that a scan may be ahead: one as long as it may prove to be of no use, or the last that LIMIT needs."""
        if table in self._choice.open or self._block.plan.limit is not None:
            return 1
        small = self._scan_rows * scan.pages // max(scan.rows, _SMALLEST * scan.pages, 1)
        return max(self._scan_credit, small)

    # ------------------------------------------------------------------------------------------------------- races

    def _decide(self, table: int) -> list[Instruction]:
        """Who of the scans of a table reads on; those that the policy leaves out keep what they have been granted."""
        scans = self._block.scans[table]
        running = [scan for scan in scans if scan.state is ScanState.RUNNING]
        for scan in running:
            scan.ahead = None
        if self._policy is None or len(scans) == 1 or not running or not self._may_race(table):
            return []
        totals = {scan.total for scan in running if scan.total is not None}
        if len(totals) > 1:  # they are not the same table: the first of them is, as long as it goes on
            first = next((scan for scan in running if not scan.stalled), running[0])
            wanted: Mapping[int, int] = {scans.index(first): self._scan_credit}
        else:
            chosen = self._policy.race(self._race(table, max(totals)))
            wanted = {index: _allowed(scans[index], ahead) for index, ahead in chosen.items()}
            if not any(scans[index].pages for index, ahead in wanted.items() if ahead):
                known = next(scan for scan in running if scan.total is not None)
                wanted = {**wanted, scans.index(known): self._scan_credit}
        out: list[Instruction] = []
        for index, scan in enumerate(scans):
            ahead = max(0, min(wanted.get(index, 0), self._scan_credit))
            if scan.state is ScanState.RUNNING:
                scan.ahead = None if scan.stalled else ahead
            elif scan.state is ScanState.UNUSED and ahead:
                out.append(self._begin(table, index, ahead))
        if not any(scan.state is ScanState.RUNNING and scan.ahead for scan in scans):
            for scan in running:
                scan.ahead = None
        return out

    def _may_race(self, table: int) -> bool:
        """Whether rows that come twice are known for the same, and all of them are wanted whatever the first ones are.

        One that runs has to say how many rows there are: a rival that has fewer is then no mirror.
        """
        plan = self._block.plan
        recursive = plan.recursion is not None and plan.recursion.table == table
        running = (scan for scan in self._block.scans[table] if scan.state is ScanState.RUNNING)
        return (
            any(scan.total is not None for scan in running)
            and plan.tables[table].identity != "position"
            and plan.limit is None
            and not recursive
            and table not in self._choice.open
        )

    def _race(self, table: int, total: int | None) -> ScanRace:
        scans = self._block.scans[table]
        if total is None:
            by_pages = [scan.rows * scan.total_pages // scan.pages for scan in scans if scan.total_pages]
            total = max(by_pages, default=None)
        paces = tuple(
            ScanPace(
                index=index,
                running=scan.state is ScanState.RUNNING,
                stalled=scan.stalled,
                asked=scan.state is ScanState.RUNNING and scan.credit > 0,
                pages=scan.pages,
                rows=scan.rows,
                since=scan.since,
                first_s=scan.times.first,
                mean_s=scan.times.mean,
                usual_s=scan.times.usual,
                late=scan.times.late,
            )
            for index, scan in enumerate(scans)
            if scan.state in (ScanState.UNUSED, ScanState.RUNNING)
        )
        elapsed = self._clock.now - self._clock.started_at
        return ScanRace(table, paces, total, elapsed, self._scan_credit)


def _allowed(scan: ScanModule, ahead: int) -> int:
    """How far a rival may be ahead: one page until it has said how many rows it has, and nothing if it says none."""
    if not scan.pages:
        return min(ahead, 1)
    return 0 if scan.total is None else ahead
