"""Two mirrors of one table under the real runtime: what each preference takes, what the report tells, and where they disagree."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from fff.limits import SCAN_WINDOW
from fff.options import PREFERENCES, Preference, RunOptions
from fff.simulation.run import StatementRun, run_statement
from fff.simulation.service import FixedTime
from fff.simulation.source import SimulatedScan, SimulatedTable

ROWS = [(key, key // 3) for key in range(300)]


def table(*scans: SimulatedScan, keyed: bool = True) -> SimulatedTable:
    """Without a key rows are compared by value, and every third stands in it three times."""
    columns = list(zip(*(ROWS if keyed else [(v, v) for _, v in ROWS]), strict=True))
    return SimulatedTable(
        "t", pa.record_batch(list(map(list, columns)), names=["k", "v"]), ("k",) if keyed else (), scans
    )


def mirrors(
    first_s: float, second_s: float, *, lacks: int = 0, host: str = ""
) -> tuple[SimulatedScan, SimulatedScan]:
    return (
        SimulatedScan("first", 10, FixedTime(first_s), host=host),
        SimulatedScan("second", 10, FixedTime(second_s), shuffled=True, host=host, lacks=lacks),
    )


def run(one: SimulatedTable, prefer: Preference) -> StatementRun:
    return run_statement(
        "SELECT k, v FROM sim.t", [one], options=RunOptions(seed=1, prefer=prefer, on_source_error="partial")
    )


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("prefer", PREFERENCES)
def test_every_preference_gives_the_same_bag(prefer: Preference, keyed: bool) -> None:
    found = run(table(*mirrors(0.4, 0.1), keyed=keyed), prefer)
    rows = Counter(zip(*(column.to_pylist() for column in found.rows.columns), strict=True))
    assert rows == Counter(ROWS if keyed else [(v, v) for _, v in ROWS])
    assert (found.outcome.complete, found.outcome.warnings) == (True, ())
    first, second = found.outcome.report["access"]
    if prefer == "cheap":
        assert found.seconds == pytest.approx(30 * 0.4)
        assert (first["over_time"], second["requests"], second["state"]) == ([], 0, "unused")
        return
    assert found.seconds == pytest.approx(30 * 0.1, abs=1.0)
    assert (first["state"], second["state"], second["requests"]) == ("stopped", "complete", 30)
    assert first["requests"] <= 2 + SCAN_WINDOW, "it keeps what it has been granted"
    shares = [one + other for one, other in zip(first["over_time"], second["over_time"], strict=True)]
    assert shares == pytest.approx([1.0] * len(shares), abs=0.002)
    assert second["over_time"][-1] > 0.7


@pytest.mark.parametrize("prefer", PREFERENCES)
def test_a_mirror_of_the_same_host_is_left_alone(prefer: Preference) -> None:
    found = run(table(*mirrors(0.4, 0.1, host="one")), prefer)
    assert found.outcome.report["access"][1]["requests"] == 0


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("prefer", PREFERENCES)
def test_a_mirror_that_lacks_rows_takes_none_away(prefer: Preference, keyed: bool) -> None:
    """It would be through first; but it says that it has fewer, and so the table is the first one's."""
    found = run(table(*mirrors(0.4, 0.1, lacks=30), keyed=keyed), prefer)
    assert found.outcome.complete
    assert len(found.rows) == 300
    assert found.outcome.report["access"][0]["state"] == "complete"
