"""TPC-H at scale 0.01 behind a paged web API: the benchmark's own queries, and one of every construct SQL has."""

from __future__ import annotations

import csv
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.real.running import CommandLine, Ran, executable, get, tool

pytestmark = [pytest.mark.slow, pytest.mark.spark]

TYPES = {"BIGINT": "bigint", "INTEGER": "int", "VARCHAR": "string", "DATE": "date"}

#: Each runs with every table scanned, and with `customer` behind its key alone.
CONSTRUCTS = {
    "left join": """SELECT o_orderpriority, count(c_name), count(*) FROM orders LEFT JOIN customer
        ON o_custkey = c_custkey AND c_mktsegment = 'BUILDING' WHERE o_orderdate >= DATE '1998-07-01' GROUP BY 1""",
    "right join": """SELECT o_orderkey, c_name FROM customer RIGHT JOIN orders ON c_custkey = o_custkey
        WHERE o_totalprice > 350000""",
    "semi join": """SELECT count(*), sum(o_totalprice) FROM orders LEFT SEMI JOIN customer
        ON c_custkey = o_custkey AND c_acctbal < 0""",
    "anti join": """SELECT count(*) FROM orders LEFT ANTI JOIN customer ON c_custkey = o_custkey AND c_nationkey < 20""",
    "using and natural": """SELECT count(*) FROM (SELECT o_custkey AS c_custkey, o_orderkey FROM orders) o
        LEFT JOIN customer USING (c_custkey) WHERE c_acctbal > 9000""",
    "in": """SELECT o_orderkey FROM orders WHERE o_custkey IN (SELECT c_custkey FROM customer WHERE c_acctbal > 9900)""",
    "exists": """SELECT o_orderstatus, count(*) FROM orders WHERE EXISTS
        (SELECT 1 FROM customer WHERE c_custkey = o_custkey AND c_nationkey = 7) GROUP BY o_orderstatus""",
    "not exists": """SELECT count(*) FROM orders WHERE NOT EXISTS
        (SELECT * FROM customer WHERE c_custkey = o_custkey AND c_mktsegment <> 'MACHINERY')""",
    "scalar subquery": """SELECT o_orderkey, (SELECT c_name FROM customer WHERE c_custkey = o_custkey) AS name
        FROM orders WHERE o_totalprice > 380000""",
    "correlated aggregate": """SELECT count(*) FROM orders o WHERE o_totalprice >
        (SELECT 2 * avg(i.o_totalprice) FROM orders i WHERE i.o_custkey = o.o_custkey)""",
    "lateral": """SELECT o_orderkey, l.n FROM orders, LATERAL
        (SELECT max(c_acctbal) AS n FROM customer WHERE c_custkey = o_custkey) l WHERE o_totalprice > 380000""",
    "cte": """WITH spent AS (SELECT o_custkey AS k, sum(o_totalprice) AS s FROM orders GROUP BY o_custkey),
        best AS (SELECT k, s FROM spent WHERE s > 2000000)
        SELECT c_name, s FROM best JOIN customer ON c_custkey = k""",
    "cte used twice": """WITH o AS (SELECT o_custkey, o_totalprice FROM orders WHERE o_orderstatus = 'P')
        SELECT a.o_custkey, count(*) FROM o a JOIN o b ON a.o_custkey = b.o_custkey GROUP BY 1 HAVING count(*) > 9""",
    "union": """SELECT n_name AS name FROM nation UNION SELECT r_name FROM region UNION ALL SELECT n_name FROM nation
        WHERE n_nationkey < 3""",
    "intersect and except": """SELECT s_nationkey FROM supplier INTERSECT SELECT n_nationkey FROM nation
        EXCEPT SELECT n_nationkey FROM nation WHERE n_regionkey = 1""",
    "full join": """SELECT count(*), count(s_suppkey), count(n_nationkey) FROM supplier FULL JOIN nation
        ON s_nationkey = n_nationkey AND n_regionkey < 3""",
    "window": """SELECT * FROM (SELECT n_name, s_name, rank() OVER (PARTITION BY n_name ORDER BY s_acctbal DESC) AS r
        FROM supplier JOIN nation ON s_nationkey = n_nationkey) WHERE r < 3""",
    "grouping sets": """SELECT n_regionkey, o_orderstatus, count(*) FROM orders JOIN customer ON o_custkey = c_custkey
        JOIN nation ON c_nationkey = n_nationkey GROUP BY GROUPING SETS ((n_regionkey), (o_orderstatus), ())""",
    "distinct aggregate": """SELECT o_orderpriority, count(DISTINCT o_custkey), sum(DISTINCT o_shippriority) FROM orders
        GROUP BY o_orderpriority""",
    "self-join": """SELECT count(*) FROM nation a JOIN nation b ON a.n_regionkey = b.n_regionkey
        WHERE a.n_nationkey < b.n_nationkey""",
    "having in a subquery": """SELECT c_name, o_orderkey, o_totalprice, sum(l_quantity) AS q FROM customer, orders, lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 250)
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey GROUP BY ALL""",
    "nested": """SELECT s_name FROM supplier WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp WHERE ps_partkey IN
        (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%') AND ps_availqty > 5000)""",
    "order anywhere": """SELECT count(*), max(t) FROM (SELECT o_totalprice AS t FROM orders ORDER BY t DESC, o_orderkey LIMIT 7)""",
    "or of joins": """SELECT sum(l_extendedprice * (1 - l_discount)) FROM lineitem, part WHERE
        (p_partkey = l_partkey AND p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
        AND l_quantity >= 1 AND l_quantity <= 1 + 10 AND p_size BETWEEN 1 AND 5 AND l_shipmode IN ('AIR', 'AIR REG'))
        OR (p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
        AND l_quantity >= 10 AND l_quantity <= 10 + 10 AND p_size BETWEEN 1 AND 10 AND l_shipmode IN ('AIR', 'AIR REG'))
        OR (p_partkey = l_partkey AND p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
        AND l_quantity >= 20 AND l_quantity <= 20 + 10 AND p_size BETWEEN 1 AND 15 AND l_shipmode IN ('AIR', 'AIR REG'))""",
    "or of joins by key": """SELECT count(*), sum(o_totalprice) FROM orders, customer WHERE
        (o_custkey = c_custkey AND c_nationkey = 7 AND o_orderstatus = 'O') OR
        (c_custkey = o_custkey AND c_nationkey = 8 AND o_orderstatus = 'F' AND o_totalprice > 200000)""",
    "star": "SELECT * FROM nation n LEFT JOIN region r ON n.n_regionkey = r.r_regionkey AND r.r_regionkey > 1",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables as Parquet files."""
    generator = executable("tpchgen-cli", "FFF_REAL_TPCHGEN")
    folder = tmp_path_factory.mktemp("tpch")
    subprocess.run(
        [generator, "parquet", "-s", "0.01", "--output-dir", str(folder)],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return folder


@pytest.fixture(scope="module", params=["scanned", "customer by key"])
def tpch(
    request: pytest.FixtureRequest, data: Path, shared_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CommandLine]:
    """The command line over the served tables."""
    folder = tmp_path_factory.mktemp("served")
    keyed = request.param != "scanned"
    options = ["--dir", str(data), "--db", "tpch", "--page", "2000"]
    options += ["--keyed", "tpch.customer.c_custkey"] if keyed else []
    with tool(shared_folder / "tools" / "table_server.py", folder / "log", *options) as url:
        line = CommandLine(folder)
        line.spec(spec(url, keyed=keyed))
        yield line


def spec(url: str, *, keyed: bool) -> str:
    """Every table a paged scan; `customer` a lookup instead, where it is keyed."""
    lines = ["version: 1", "sources:", "  tpch:", f"    client: {{base_url: {url}/tpch}}", "    tables:"]
    for full_name, told in get(f"{url}/_tables").items():
        name = full_name.split(".")[1]
        lines += [f"      {name}:", "        columns:"]
        lines += [
            f"          {column}: {TYPES.get(kind, kind.lower())}"
            for column, kind in zip(told["columns"], told["types"], strict=True)
        ]
        if keyed and name == "customer":
            lines += [
                "        key_columns: [{name: c_custkey, require: required}]",
                "        lookups:",
                "          - keys: [c_custkey]",
                "            batch: {size: 50}",
                '            endpoint: {path: customer, params: {c_custkey: "{c_custkey}"}, data_selector: rows}',
            ]
        else:
            paginator = (
                "{type: offset, limit: 2000, offset_param: offset, limit_param: limit, total_path: total}"
            )
            lines.append(
                f"        scan: {{endpoint: {{path: {name}, data_selector: rows, paginator: {paginator}}}}}"
            )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("number", range(1, 7))
def test_the_benchmarks_own_queries(tpch: CommandLine, shared_folder: Path, number: int) -> None:
    folder = shared_folder / "sql" / "tpch"
    ran = tpch.rows((folder / "queries" / f"q{number:02}.sql").read_text())
    answer = (folder / "answers_sf0.01" / f"q{number:02}.csv").read_text().splitlines()
    same(list(csv.reader(ran.out.splitlines())), list(csv.reader(answer)))
    nothing_twice(ran)


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_constructs(tpch: CommandLine, data: Path, name: str) -> None:
    ran = tpch.rows(CONSTRUCTS[name])
    connection = duckdb.connect()
    for file in data.glob("*.parquet"):
        connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM '{file}'")
    sql = CONSTRUCTS[name].replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")
    expected = [
        ["" if value is None else str(value) for value in row] for row in connection.execute(sql).fetchall()
    ]
    got = list(csv.reader(ran.out.splitlines()))[1:]
    same(sorted(got), sorted(expected))
    nothing_twice(ran)


def nothing_twice(ran: Ran) -> None:
    """No page and no key is asked for twice in one statement."""
    for access in ran.report["access"]:
        assert access["retries"] == 0
        if access["kind"] == "scan" and access["requests"]:
            assert access["requests"] == access["pages"], access
        if access["kind"] == "lookup":
            assert (
                access["requests"]
                <= math.ceil(access["distinct_keys"] / 50) + access["distinct_keys"] // 10 + 4
            ), access


def same(got: list[list[str]], expected: list[list[str]]) -> None:
    """Equal row by row, numbers as numbers; the average of decimals has six digits in Spark."""
    assert len(got) == len(expected)
    for ours, theirs in zip(got, expected, strict=True):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert one == other or math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-6), (
                ours,
                theirs,
            )
