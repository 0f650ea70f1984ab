"""A condition on a key that is looked up holds for what the key comes from: what fails it there is not asked for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fff.sql import prepare
from fff.sql.planner import access_paths, block
from tests.engine.duck import over_duck
from tests.engine.joins import oracle, random_site
from tests.engine.site import Site, access, federated, run
from tests.sampling import every
from tests.sql.planner_fakes import catalog, table
from tests.web.serving import Serve

R = [(number, number % 20) for number in range(60)]
S = [(key, key % 3) for key in range(20)]
MANY = ", ".join(map(str, range(15, 40)))
#: Statements, and how many of the 20 keys they ask for.
ASKED = {
    "SELECT r.a FROM web.r JOIN web.s ON s.a = r.b WHERE s.a < 5": 5,
    "SELECT r.a FROM web.r JOIN web.s ON r.b = s.a AND s.a BETWEEN 3 AND 8 AND s.b = 1": 6,
    "SELECT r.a FROM web.r, web.s WHERE s.a = r.b AND NOT (s.a > 5 OR s.a = 2) AND r.a > 0": 5,
    "SELECT r.a FROM web.r JOIN web.s ON s.a = r.b WHERE s.a NOT IN (1, 2, 99)": 18,
    "SELECT r.a FROM web.r JOIN web.s ON s.a = r.b WHERE s.a % 10 = 3": 2,
    "SELECT r.a FROM web.r JOIN web.s ON s.a = r.b WHERE CAST(s.a AS STRING) LIKE '1_'": 10,
    "SELECT r.a, s.b FROM web.r LEFT JOIN web.s ON s.a = r.b AND s.a < 5": 5,
    "SELECT r.a, s.b FROM web.r LEFT JOIN web.s ON s.a = r.b AND s.a IN (1, 3)": 2,
    "SELECT r.a, s.b FROM web.r LEFT JOIN web.s ON s.a = r.b WHERE s.a < 5": 5,
    "SELECT r.a, s.b FROM web.r LEFT JOIN web.s ON s.a = r.b WHERE s.a < 5 OR s.a IS NULL": 20,
    "SELECT r.a FROM web.r WHERE b IN (SELECT a FROM web.s WHERE a < 5)": 5,
    "SELECT r.a FROM web.r WHERE NOT EXISTS (SELECT 1 FROM web.s WHERE s.a = r.b AND s.a < 5)": 5,
    # Constants that are many wait for what the other table has, those that are few do not.
    f"SELECT r.a FROM web.r JOIN web.s ON s.a = r.b WHERE s.a IN ({MANY})": 5,
    f"SELECT r.a FROM web.r, web.s WHERE s.a = r.b AND r.b IN ({MANY}) AND s.b < 2": 5,
    "SELECT r.a FROM web.r JOIN web.s ON s.a = r.b WHERE s.a BETWEEN 15 AND 39": 5,
    f"SELECT s.a FROM web.s, (VALUES (17), (18), (50)) v (k) WHERE a IN ({MANY}) AND a = k": 2,
    "SELECT r.a FROM web.r JOIN web.s ON s.a = r.b WHERE s.a IN (19, 30, 31)": 3,
    f"SELECT s.a FROM web.s LEFT JOIN web.r ON s.a = r.b WHERE s.a IN ({MANY})": 25,
}


@pytest.mark.parametrize("prefer", ["fast", "balanced", "cheap"])
@pytest.mark.parametrize("sql", ASKED)
async def test_only_keys_that_the_condition_takes_are_asked_for(
    serve: Serve, tmp_path: Path, sql: str, prefer: str
) -> None:
    site = Site({"r": (("a", "b"), R), "s": (("a", "b"), S)}, page=60)
    kinds = {"a": "int", "b": "int"}
    tables = {"r": access("r", kinds), "s": access("s", kinds, scan=False, lookups=["a"])}
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        over_duck(federation)
        found, execution = await run(federation, sql, prefer=prefer)
    assert execution.outcome.complete
    assert found == oracle(site, sql)
    assert len(site.keys) == ASKED[sql]


CONDITIONS = (
    *("{0} < 3", "{0} BETWEEN 1 AND 3", "{0} <> 2", "{0} % 2 = 1", "coalesce({0}, 0) < 4", "{0} IS NOT NULL"),
    *("{0} IS NULL", "NOT ({0} > 3 OR {0} = 1)", "{0} IN (1, 9)", "{0} = 4", "{0} < 3 AND {1} > 1"),
    *("{0} < 4000000000", "{0} > -4000000000 AND {0} < 2", "{0} < 2 OR {0} IS NULL", "{0} > {1}"),
)
SHAPES = (
    "SELECT r.a, s.b FROM web.r JOIN web.s ON r.b = s.a WHERE {s} AND {r}",
    "SELECT r.a, s.b FROM web.r LEFT JOIN web.s ON r.b = s.a AND {s}",
    "SELECT r.a, s.b FROM web.r LEFT JOIN web.s ON r.b = s.a AND {r} WHERE {s}",
    "SELECT r.a, s.b, t.b FROM web.r JOIN web.s ON r.b = s.a JOIN web.t ON t.a = s.a WHERE {t} AND {s}",
    "SELECT r.a, s.b, t.b FROM web.r LEFT JOIN web.s ON r.b = s.a LEFT JOIN web.t ON t.a = s.a AND {t} WHERE {s}",
    "SELECT a FROM web.r WHERE b IN (SELECT a FROM web.s WHERE {s})",
    "SELECT a FROM web.r WHERE NOT EXISTS (SELECT 1 FROM web.s WHERE s.a = r.b AND {s})",
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", every(10, range(20)))
async def test_the_rows_are_the_same_without_it(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str, seed: int
) -> None:
    rng = random.Random(f"{seed} {shape}")
    site = random_site(rng)
    kinds = {name: rng.choice(("tinyint", "smallint", "int", "bigint")) for name in "rst"}
    tables = {
        name: access(
            name, {"a": kinds[name], "b": kinds[name]}, scan=name != "s", lookups=["a"] * (name != "r")
        )
        for name in "rst"
    }
    texts = {name: f"({rng.choice(CONDITIONS)})".format(f"{name}.a", f"{name}.b") for name in "rst"}
    sql = shape.format(**texts)
    # Whether constants wait for what other tables have.
    monkeypatch.setattr(access_paths, "FEW_REQUESTS", rng.choice([0, 5]))
    asked = []
    for rule in (True, False):
        if not rule:
            monkeypatch.setattr(block, "handed_on", lambda *_: iter(()))
        site.keys.clear()
        async with federated(serve, site, tmp_path, tables) as (federation, _):
            over_duck(federation)
            found, execution = await run(federation, sql)
        assert execution.outcome.complete
        assert found == oracle(site, sql), sql
        asked.append({key for key in site.keys if key[0] == "s"})
    assert asked[0] <= asked[1] or "t.a = s.a" in sql, sql


@pytest.mark.parametrize(
    ("condition", "others", "handed"),
    [
        ("s.k < 3", "double", True),
        ("s.k + 1 < 3", "double", False),  # 0.0 and -0.0 are equal, and not the same
        ("s.k % 2 < 3 AND n = 1", "bigint", True),
        ("s.k < 3 OR n = 1", "int", False),
        ("s.k + 1 < 3", "bigint", False),  # fails of the largest, which may have no partner
        ("s.k % 2 = 1", "bigint", True),
        ("s.k % 2 = 1", "int", False),  # is computed in the type of the other column
        ("s.k BETWEEN 3 AND 9000000000", "int", True),
    ],
)
def test_a_condition_is_handed_on_where_it_means_the_same(condition: str, others: str, handed: bool) -> None:
    kind = {"double": "double"}.get(others, "bigint")
    tables = (
        table("w.r", f"k {others}", scans=1),
        table("w.s", f"k {kind}, n int", lookups=("k",), required="k"),
    )
    query = prepare(f"SELECT n FROM r JOIN s ON r.k = s.k WHERE {condition}", catalog(*tables)).only_block
    assert any(one.derived and one.text.endswith(", of r.k") for one in query.conjuncts) == handed
