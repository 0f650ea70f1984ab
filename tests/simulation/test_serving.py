"""Simulated tables over HTTP: the whole engine, client and all, reads them."""

from __future__ import annotations

import asyncio

from fff.opening import open_federation
from fff.options import RunOptions
from fff.simulation.service import FixedTime
from fff.simulation.serving import serving
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable
from tests.simulation.tables import table_r, table_s


def test_a_join_over_loopback(tmp_path):
    tables = (
        table_r(page_rows=25),
        SimulatedTable("S", table_s().rows, ("x",), (), (SimulatedLookup(("x",)), SimulatedLookup(("y",)))),
        SimulatedTable(
            "W", table_s().rows, ("x",), (SimulatedScan(),), (SimulatedLookup(("x",), FixedTime(0.001)),)
        ),
    )
    sql = "SELECT R.key, S.y, W.y AS w FROM R, S, W WHERE R.a = S.x AND R.a = S.y AND R.a = W.x"

    async def rows() -> list[tuple[int, int, int]]:
        async with open_federation([tmp_path / "sim.yaml"], cache=False) as federation:
            execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
            found = [batch async for batch in execution.batches()]
            assert execution.outcome.complete
        return [tuple(row.values()) for batch in found for row in batch.to_pylist()]

    with serving(tables, seed=1) as served:
        (tmp_path / "sim.yaml").write_text(served.spec())
        found = asyncio.run(rows())
        pages = served.recorder.requests("R", "scan")
        probes = (
            served.recorder.requests("S", "lookup[x]").total
            + served.recorder.requests("S", "lookup[y]").total
        )
    values = table_r().rows.column("a").to_pylist()
    assert sorted(found) == [(key, value, value) for key, value in enumerate(values)]
    assert pages.total == 3
    assert probes >= len(set(values))
