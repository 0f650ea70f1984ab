"""Floats and doubles as texts: as Java 19 and later write them, and left to Spark where another Java may run it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hard_rows import CATALOG

from fff.dataflow.kernels.casts import CASTS
from fff.dataflow.kernels.written.doubles import write_floats
from fff.spark.session import SparkEngine
from fff.spark.start.java import find_java
from fff.sql import prepare
from fff.sql.scalars.java import running_on

DOUBLES = {
    0.0: "0.0", 1.0: "1.0", -2.5: "-2.5", 0.1: "0.1", 1e-3: "0.001", 9.99e-4: "9.99E-4", 1e7: "1.0E7",
    9999999.5: "9999999.5", 12345678.0: "1.2345678E7", 2e23: "2.0E23", 1e23: "1.0E23", 2.0**-44: "5.684341886080802E-14",
    5e-324: "4.9E-324", -1e-323: "-9.9E-324", 1.5e-323: "1.5E-323", 1e-322: "9.9E-323", 1.7976931348623157e308: "1.7976931348623157E308",
    float("inf"): "Infinity", float("-inf"): "-Infinity", -0.001: "-0.001", 100.0: "100.0", 1.5e300: "1.5E300",
}  # fmt: skip
FLOATS = {0.1: "0.1", 1e10: "1.0E10", 1.4e-45: "1.4E-45", 2.8e-45: "2.8E-45", 3.4028235e38: "3.4028235E38", 1.1: "1.1", 16777216.0: "1.6777216E7"}  # fmt: skip
_COUNT = 200_000


def test_each_is_written_as_java_writes_it() -> None:
    for given, kind in ((DOUBLES, pa.float64()), (FLOATS, pa.float32())):
        assert write_floats(pa.array(list(given), kind)).to_pylist() == list(given.values())
    odd = pa.array([-0.0, None, float("nan")])
    assert write_floats(odd).to_pylist() == ["-0.0", None, "NaN"]
    assert write_floats(odd.slice(3)).to_pylist() == []


@pytest.mark.parametrize(
    "item",
    ["CAST(d AS STRING)", "d || f", "concat(d, 'x')", "CAST(f AS DECIMAL(5, 1))", "concat_ws(',', d, f)"],
)
def test_which_java_runs_spark_says_whether_spark_is_needed(item: str) -> None:
    sql = f"SELECT {item} AS z FROM r"
    for java, alone in ((25, True), (19, True), (17, False), (None, False)):
        with running_on(lambda java=java: java):
            assert (prepare(sql, CATALOG).upper is None) is alone, java
    assert prepare(sql, CATALOG).upper is not None


@pytest.mark.spark
@pytest.mark.slow
def test_spark_writes_the_same(spark: SparkEngine) -> None:
    if find_java().version < 19:
        pytest.skip("the Java of this machine writes other digits")
    rng = np.random.default_rng()
    for kind, bits, number in ((pa.float64(), np.uint64, np.float64), (pa.float32(), np.uint32, np.float32)):
        top = np.iinfo(bits).max
        anywhere = rng.integers(0, top, _COUNT, bits, endpoint=True).view(number)
        smallest = np.arange(1, 20_000, dtype=bits).view(number)
        plain = np.round(rng.random(_COUNT) * 10.0 ** rng.integers(-4, 9, _COUNT), 2).astype(number)
        values = pa.array(
            np.concatenate([anywhere, smallest, plain, np.arange(-1000, 1000).astype(number) / 2]), kind
        )
        found = spark.run_over("SELECT CAST(d AS STRING) AS z FROM v", {"v": pa.table({"d": values})})
        assert found.column(0).combine_chunks().equals(write_floats(values))
        sql = "SELECT TRY_CAST(d AS DECIMAL(38, 0)) AS a, TRY_CAST(d AS DECIMAL(10, 2)) AS b FROM v"
        found = spark.run_over(sql, {"v": pa.table({"d": values})})
        for place, kind_of_decimal in enumerate((pa.decimal128(38, 0), pa.decimal128(10, 2))):
            ours = CASTS["try_cast"]([values], kind_of_decimal)
            assert found.column(place).combine_chunks().equals(ours)
