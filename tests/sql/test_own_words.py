"""What Spark says of a statement names what its user wrote, and nothing that the engine made up."""

from __future__ import annotations

import pyarrow as pa
import pytest
from planner_fakes import DEMO

from fff.errors import SparkError
from fff.federation import Federation
from fff.spark.session import SparkEngine
from fff.sql import prepare

ONE = "SELECT max(day) FROM FEC GROUP BY zip"
TWO = "SELECT upper(F.zip), C.year FROM FEC F, crime C WHERE F.zip = C.zip ORDER BY F.day"
SAME = "SELECT xxhash64(F.zip), xxhash64(C.zip) FROM FEC F, crime C WHERE F.zip = C.zip"
APART = "SELECT max(F.id) FROM FEC F JOIN crime ON crime.zip = F.zip LATERAL VIEW explode(array(1)) e AS x"
PACKED = "SELECT max(F.id), min(F.zip) FROM FEC F FULL JOIN crime ON crime.zip = F.zip GROUP BY crime.zip"


@pytest.mark.parametrize(
    ("sql", "said", "told"),
    [
        (ONE, "`__fff_block`.`day` is not there: [`__fff_block`.`zip`]", "`FEC`.`day` is not there: [`FEC`.`zip`]"),
        (ONE, 'cannot resolve "(__fff_block.day + 1)"', 'cannot resolve "(FEC.day + 1)"'),
        (ONE, "`__fff_block`.`day`.`x`, and `__fff_block`", "`FEC`.`day`.`x`, and `FEC`"),
        (ONE, "the view `__fff_block` and `__fff_other`.`zip`", "the view `FEC` and `zip`"),
        (TWO, "`__fff_block`.`day` or `__fff_block`.`year`", "`F`.`day` or `C`.`year`"),
        (TWO, "the view `__fff_block` of __fff_rows_1", "the view these tables of this query"),
        (SAME, "[`__fff_block`.`_F_zip`, `_C_zip`] + _C_zip", "[`F`.`zip`, `C`.`zip`] + C.zip"),
        (APART, "`__fff_2`.`zip`, `__fff_1`.`id`", "`crime`.`zip`, `F`.`id`"),
        (PACKED, "`__fff_block`.`F.zip`, `__fff_block`.`id`, `__fff_block`", "`F`.`zip`, `id`, these tables"),
        (APART, "[A.B] 'x.__fff' is no `F`.`nope`; _F_zip", "[A.B] 'x.__fff' is no `F`.`nope`; _F_zip"),
    ],
)  # fmt: skip
def test_names_are_those_of_the_statement(sql: str, said: str, told: str) -> None:
    upper = prepare(sql, DEMO).upper
    assert upper is not None
    error = upper.words.told(SparkError(said, hint="a hint"), sql)
    assert (error.message, error.hint) == (told, "a hint")


@pytest.mark.parametrize(
    ("sql", "fragment", "place"),
    [
        ("SELECT sum(10 / (id -\n 1)) FROM FEC", "10 / (__fff_block.id - 1)", "10 / (id -\n 1)"),
        ("SELECT max(CAST(zip AS INT)) FROM FEC", "CAST(`__fff_block`.`zip` AS INT)", "CAST(zip AS INT)"),
        ("SELECT max(FEC.id / 0) FROM FEC", "__fff_block.id / 0", "FEC.id / 0"),
        ("SELECT max(id / 0), min(id / 0) FROM FEC", "id / 0", None),
        ("SELECT max(id / 0) FROM FEC", "id / 1", None),
        ("SELECT max(id / 0) FROM FEC", "", None),
    ],
)  # fmt: skip
def test_the_part_that_failed_is_underlined_where_it_stands_once(
    sql: str, fragment: str, place: str | None
) -> None:
    upper = prepare(sql, DEMO).upper
    assert upper is not None
    failed = SparkError("Spark: it failed")
    failed.fragment = fragment
    told = upper.words.told(failed, sql)
    found = None if told.span is None or told.sql is None else told.sql[told.span.start : told.span.end]
    assert found == place


@pytest.mark.parametrize(
    ("sql", "failed_at", "place"),
    [
        ("SELECT xxhash64(id), id + 1 FROM FEC", "id)", "id)"),
        ("SELECT xxhash64(id), id + 1 FROM FEC", "id + 1", "id + 1"),
        ("SELECT xxhash64(FEC.id), FEC.id + 1 FROM FEC WHERE zip = '1'", "__fff_block.id + 1", "FEC.id + 1"),
        ("SELECT xxhash64(id), id + 1 FROM FEC WHERE id > 1", "id + 1", None),  # of WHERE Spark has nothing
    ],
)
def test_of_parts_that_read_alike_the_one_that_failed_is_underlined(
    sql: str, failed_at: str, place: str | None
) -> None:
    upper = prepare(sql, DEMO).upper
    assert upper is not None
    failed = SparkError("Spark: it failed")
    failed.fragment = failed_at.split(maxsplit=1)[0].rstrip(")")
    failed.given, failed.start = upper.sql, upper.sql.index(failed_at)
    span = upper.words.told(failed, sql).span
    assert (None if span is None else span.start) == (None if place is None else sql.index(place))


STATEMENTS = [
    "SELECT DISTINCT upper(zip) AS z FROM FEC ORDER BY FEC.zip",
    "SELECT DISTINCT upper(F.zip) AS z, C.year FROM FEC F, crime C WHERE F.zip = C.zip ORDER BY F.zip",
    "SELECT DISTINCT F.zip || F.day AS d, C.zip AS z FROM FEC F, crime C WHERE F.zip = C.zip ORDER BY F.day",
    "SELECT max(F.id) FROM FEC F GROUP BY F.zip || F.day ORDER BY F.day",
    "SELECT max(FEC.id) FROM FEC LEFT JOIN crime USING (zip) GROUP BY FEC.zip ORDER BY crime.year",
    "SELECT DISTINCT zip FROM (FEC NATURAL JOIN crime) ORDER BY FEC.day",
    "SELECT count(*) FROM (SELECT DISTINCT a.zip || a.day AS d FROM FEC a, crime b WHERE a.zip = b.zip ORDER BY a.day)",
]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("sql", STATEMENTS)
async def test_what_spark_refuses_is_told_in_them(spark: SparkEngine, sql: str) -> None:
    prepared = prepare(sql, DEMO)
    assert prepared.upper is not None
    views = {
        block.view: pa.schema([(one.name, one.arrow) for one in block.fields]).empty_table()
        for block in prepared.blocks
    }
    with pytest.raises(SparkError) as raw:
        spark.check(prepared.upper.sql, views)
    told = prepared.upper.words.told(raw.value, sql).render()
    assert "__fff" not in told
    assert "_F_" not in told
    assert "cannot be resolved" in told


@pytest.mark.spark
async def test_it_is_told_so_through_the_front_door() -> None:
    """Without a source: the rows are the statement's own, and the names those of its views."""
    async with Federation(DEMO) as federation:
        execution = federation.execute(
            federation.prepare("SELECT DISTINCT upper(zip) AS z FROM FEC WHERE 1 = 0 ORDER BY FEC.zip")
        )
        with pytest.raises(SparkError, match=r"`FEC`\.`zip` cannot be resolved"):
            async for _ in execution.batches():
                pass
