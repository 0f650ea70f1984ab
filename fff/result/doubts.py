"""What of a partial answer is in doubt, beyond what it lacks."""

from __future__ import annotations

from collections.abc import Sequence

from fff.runtime.block_run import RunningBlock
from fff.sql.analysis.soundness import AnswerBounds
from fff.stats import Missing

#: The cause of doubt that is no part of a statement.
TWICE = "rows that came twice"


def lacking_in(block: RunningBlock) -> int | None:
    """How many results more a block would have at most; None where nobody knows."""
    lacking = block.eddy.statistics().lacking
    if not lacking or not block.access[0].table.primary_key:
        return lacking
    # Rows that came twice stand for others that did not.
    meters = (meter for access in block.access for meter in access.scan_meters)
    repeated = next((meter.repeated() for meter in meters if meter.repeated is not None), None)
    return None if repeated is None else lacking + repeated


def incomplete_in(blocks: Sequence[RunningBlock], missing: Sequence[Missing]) -> set[str]:
    """The tables that were not read in full."""
    incomplete = {part.table for part in missing}
    for block in blocks:
        if block.stopped:  # then also what it would have asked other tables for
            incomplete |= {access.table.full_name for access in block.access if not access.fed}
    return incomplete


def twice_in(blocks: Sequence[RunningBlock]) -> tuple[str, ...]:
    """The tables that changed while they were read, and have no primary key by which a row that came again would be known."""
    accesses = (access for block in blocks for access in block.access if not access.table.primary_key)
    return tuple(
        dict.fromkeys(
            access.table.full_name
            for access in accesses
            if any(meter.moved for meter in (*access.scan_meters, *access.lookup_meters))
        )
    )


def doubt_text(
    causes: Sequence[str], twice: Sequence[str], missing: Sequence[Missing], bounds: AnswerBounds | None
) -> str:
    """A warning: why rows, or numbers, may be wrong."""
    tables = list(dict.fromkeys(part.table for part in missing))
    which = " and ".join(tables) if tables else "what was asked for"
    were = "were" if len(tables) > 1 else "was"
    if bounds is not None and bounds.tell_all:
        return f"numbers are bounds, and groups may be missing: {which} {were} not read in full"
    reasons = [f"{which} {were} not read in full, and the query has {', '.join(causes)}"] if causes else []
    reasons += [
        f"{table} changed while it was read, so that rows of it may have come twice: a primary_key in its spec would tell"
        for table in twice
    ]
    return f"rows may be wrong, not only missing: {'; '.join(reasons)}"
