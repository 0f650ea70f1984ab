"""A join that stands in every branch of an OR is a join: what it needs is asked for, and no product is made."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest

from tests.engine.duck import over_duck
from tests.engine.site import Row, Site, access, federated, run
from tests.sampling import every
from tests.web.serving import Serve

LINE = {"o": "int", "pk": "int", "quantity": "int", "mode": "string"}
PART = {"k": "int", "brand": "string", "size": "int"}
#: TPC-H q19.
SQL = """SELECT count(*), sum(quantity) FROM line, part WHERE
    (k = pk AND brand = 'b1' AND quantity >= 1 AND quantity <= 1 + 10 AND size BETWEEN 1 AND 5 AND mode IN ('AIR', 'REG'))
    OR (k = pk AND brand = 'b2' AND quantity >= 10 AND quantity <= 20 AND size BETWEEN 1 AND 10 AND mode IN ('AIR', 'REG'))
    OR (k = pk AND brand = 'b3' AND quantity >= 20 AND quantity <= 30 AND size BETWEEN 1 AND 15 AND mode IN ('AIR', 'REG'))"""


@pytest.mark.parametrize("keyed", every(2, [False, True]))
async def test_the_benchmarks_query(serve: Serve, tmp_path: Path, keyed: bool) -> None:
    rng = random.Random(4)
    line: list[Row] = [
        (n, rng.randrange(90), rng.randrange(1, 40), rng.choice(["AIR", "REG", "SHIP", "RAIL"]))
        for n in range(400)
    ]
    part: list[Row] = [(n, f"b{rng.randrange(5)}", rng.randrange(1, 20)) for n in range(80)]
    one = Site({"line": (tuple(LINE), line), "part": (tuple(PART), part)}, page=100)
    tables = {
        "line": access("line", LINE),
        "part": access("part", PART, scan=not keyed, lookups=["k"] * keyed),
    }
    async with federated(serve, one, tmp_path, tables) as (federation, _):
        over_duck(federation)
        prepared = federation.prepare(SQL)
        assert prepared.only_block.equalities == (("line.pk", "part.k"),)
        found, execution = await run(federation, SQL)
        assert execution.outcome.complete
    with duckdb.connect() as full:
        full.execute("CREATE TABLE line (o INT, pk INT, quantity INT, mode TEXT)")
        full.execute("CREATE TABLE part (k INT, brand TEXT, size INT)")
        full.executemany("INSERT INTO line VALUES (?, ?, ?, ?)", line)
        full.executemany("INSERT INTO part VALUES (?, ?, ?)", part)
        assert found == full.execute(SQL).fetchall()
    assert found[0][0] > 0
    if keyed:
        # Only for lines that some branch can take.
        wanted = {str(pk) for _, pk, quantity, mode in line if mode in {"AIR", "REG"} and 1 <= quantity <= 30}
        assert {key for _, _, key in one.keys} <= wanted
