"""The machine-readable account of a run (contract section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fff.sql.analysis.soundness import AnswerBounds
from fff.stats import Snapshot, bills
from fff.structs import asdict
from fff.version import __version__

VERSION = 1


def make_report(
    *,
    sql: str,
    snapshot: Snapshot,
    complete: bool,
    exit_code: int,
    reason: str | None,
    rows: int,
    warnings: tuple[str, ...],
    doubts: tuple[str, ...],
    bounds: AnswerBounds | None = None,
    within: Sequence[int | None] = (),
    audit: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The report as JSON-ready values.

    `doubts`: what in the statement may have made rows of a partial answer wrong. `bounds`: what its values say all the
    same, and by how much the true ones are higher at most (`within`). `audit`: of the routing, block by block.
    """
    filters = [asdict(one) | {"lookups": list(map(asdict, one.lookups))} for one in snapshot.spark.filters]
    spark = asdict(snapshot.spark) | {"filters": filters}
    return {
        "version": VERSION,
        "sql": sql,
        "complete": complete,
        "exit_code": exit_code,
        "reason": reason,
        "rows": rows,
        "elapsed_s": round(snapshot.elapsed_s, 6),
        "first_row_s": None if snapshot.first_row_s is None else round(snapshot.first_row_s, 6),
        "policy": snapshot.policy,
        "prefer": snapshot.prefer,
        "seed": snapshot.seed,
        "warm_start": snapshot.warm_start,
        "fff_version": __version__,
        "access": [
            asdict(access)
            | {
                "keys": list(access.keys),
                "sends": list(access.sends),
                "over_time": list(access.over_time),
            }
            for access in snapshot.access
        ],
        "bill": [asdict(bill) for bill in bills(snapshot.access)],
        "stems": [asdict(stem) for stem in snapshot.stems],
        "routing": [asdict(share) for share in snapshot.routing],
        "audit": [dict(one) for one in audit],
        "spark": spark,
        "memory": asdict(snapshot.memory),
        "missing": [asdict(part) for part in snapshot.missing],
        "doubts": list(doubts),
        "bounds": None
        if bounds is None
        else {
            "rows": "certain" if bounds.rows else "possible",
            "columns": list(bounds.columns),
            "within": list(within) or [None] * len(bounds.columns),
        },
        "warnings": list(warnings),
    }
