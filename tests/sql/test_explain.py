"""`explain` says what will run where before anything runs."""

from __future__ import annotations

from planner_fakes import DEMO

from fff.sql import explain, prepare
from fff.sql.plan import SparkFilter

CANONICAL = """SELECT AVG(F.contribution), AVG(D.householdIncome), F.State, C.crimeRating
FROM FEC as F, Demographics as D, Crime as C
WHERE F.zip = D.zip and F.zip = C.zip AND F.State LIKE 'C%'
GROUP BY F.State, C.crimeRating"""


def test_the_canonical_query() -> None:
    assert (
        explain(prepare(CANONICAL, DEMO))
        == """\
Block
  web.FEC AS F: id, zip, State, contribution
  web.Demographics AS D: zip, householdIncome
  gov.crime AS C: zip, crimeRating
  output: F.State, F.contribution, D.householdIncome, C.crimeRating
Modules
  scan FEC.scan
  SteM web.FEC: one row per id
  lookup Demographics.lookup[zip]
  SteM web.Demographics: every row arrives once
  scan crime.scan
  lookup crime.lookup[zip]
  lookup crime.lookup[zip]*50, up to 50 keys a request
  SteM gov.crime: one row per zip
  selection F.State LIKE 'C%'
Bindings
  D through Demographics.lookup[zip]: zip from F.zip or C.zip
  C through crime.lookup[zip]: zip from F.zip or D.zip
  C through crime.lookup[zip]*50: zip from F.zip or D.zip
Conditions
  equal: F.zip = D.zip = C.zip
  engine: F.State LIKE 'C%'
Feasible
  F: scanned
  C: scanned
  D: looked up by the keys of what it is joined with (Demographics.lookup[zip])
Legal moves
  F → D[zip], C, C[zip], C[zip]x50
  C → F, D[zip]
  F+D → C, C[zip], C[zip]x50
  F+C → D[zip]
  D+C → F
Requests
  FEC.scan: one request per page, until the last page
  Demographics.lookup[zip]: one request per distinct F.zip
  crime.scan: one request per page, until the last page
  crime.lookup[zip]: at most one request per distinct F.zip
  crime.lookup[zip]*50: at most one request per 50 distinct F.zip
Above the block
  Spark: GROUP BY
  SELECT AVG(__fff_block.contribution), AVG(__fff_block.householdIncome), __fff_block.State, __fff_block.crimeRating
  FROM __fff_block
  GROUP BY __fff_block.State, __fff_block.crimeRating"""
    )


def test_constants_make_the_forecast_exact() -> None:
    text = explain(prepare("SELECT price FROM prices WHERE sku IN ('a', 'b', 'c') AND region = 'x'", DEMO))
    assert "  prices through prices.lookup[sku,region]: sku in ('a', 'b', 'c'); region = 'x'\n" in text
    assert "  seed lookup: sku IN ('a', 'b', 'c')\n" in text
    assert "  prices: looked up by constants, 3 keys\n" in text
    assert text.endswith("Requests\n  prices.lookup[sku,region]: 3 requests")


def test_seeds_and_joins_share_a_lookup() -> None:
    sql = "SELECT a.zip FROM Demographics a, FEC f, Demographics b WHERE a.zip = '1' AND b.zip = f.zip"
    assert "  Demographics.lookup[zip]: at least 1, then one request per distinct f.zip" in explain(
        prepare(sql, DEMO)
    )


def test_keys_of_several_columns() -> None:
    sql = "SELECT p.price FROM items i, regions r, prices p WHERE i.sku = p.sku AND r.region = p.region"
    assert "  prices.lookup[sku,region]: one request per distinct (i.sku, r.region)" in explain(
        prepare(sql, DEMO)
    )


def test_what_is_left_to_spark_can_be_counted() -> None:
    sql = "SELECT F.zip, D.householdIncome FROM FEC F JOIN Demographics D USING (zip) WHERE xxhash64(F.zip) > :low"
    prepared = prepare(sql, DEMO, {"low": 5})
    assert prepared.upper is not None
    [dropped] = prepared.upper.filters
    condition = "xxhash64(__fff_block.zip) > 5"
    keys = f"SELECT struct(__fff_block.zip) AS key, {condition} AS kept FROM __fff_block"
    spent = f"SELECT count(*) FROM (SELECT 1 FROM ({keys}) GROUP BY key HAVING NOT coalesce(bool_or(kept), false))"
    assert dropped == SparkFilter(
        "xxhash64(F.zip) > :low",
        f"SELECT count(*), count_if(kept), ({spent}) FROM (SELECT {condition} AS kept FROM __fff_block)",
        ("web.Demographics.lookup[zip]",),
    )
    beside = prepare("SELECT F.id FROM FEC F JOIN Demographics D USING (zip) WHERE xxhash64(F.id) > 5", DEMO)
    assert beside.upper is not None
    assert [(one.lookups, one.unknown) for one in beside.upper.filters] == [
        ((), ("web.Demographics.lookup[zip]",))
    ]
    read = prepare(
        "SELECT F.zip FROM FEC F JOIN Demographics D USING (zip) WHERE hash(householdIncome) > 5", DEMO
    )
    assert read.upper is not None
    assert [(one.lookups, one.unknown) for one in read.upper.filters] == [((), ())], (
        "it must be asked in any case"
    )


def test_joins_across_types_are_warned_of() -> None:
    text = explain(prepare("SELECT f.id FROM FEC f JOIN types t ON f.zip = t.i", DEMO))
    assert text.endswith(
        "Warnings\n  f.zip = t.i compares string with int: no lookup is asked for it while fetching; "
        "declare one type for both columns"
    )


def test_a_text_key_that_is_compared_with_a_number_is_warned_of() -> None:
    told = "compares a string with a number: no lookup is asked for it; write '94705'"
    by_name = prepare("SELECT zip FROM crime WHERE zip = :z", DEMO, {"z": 94705})
    assert by_name.warnings == (f"zip = :z {told}, or give -p z:string=94705",)
    assert prepare("SELECT zip FROM crime WHERE zip IN (94705, 94706)", DEMO).warnings == (
        f"zip IN (94705, 94706) {told}",
    )
    zeros = told.replace("94705", "00501")
    assert prepare("SELECT zip FROM crime WHERE zip = 00501", DEMO).warnings == (f"zip = 00501 {zeros}",)
    for quiet in ("zip = '94705'", "zip < '5'", "crimeRating = 5"):  # no lookup takes a rating
        assert prepare(f"SELECT zip FROM crime WHERE {quiet}", DEMO).warnings == ()


def test_nothing_is_fetched_when_nothing_can_match() -> None:
    text = explain(prepare("SELECT zip FROM FEC WHERE 1 = 0", DEMO))
    assert "  no rows: 1 = 0 is never true; nothing is fetched\n" in text
    assert text.endswith("Requests\n  none")


def test_a_query_without_tables() -> None:
    assert explain(prepare("SELECT 1 AS one", DEMO)) == ("Above the block\n  one row: 1 AS one")
    assert explain(prepare("SELECT uuid() AS one", DEMO)) == (
        "Block\n  no table: nothing is fetched\n"
        "Above the block\n  Spark: a SELECT without FROM\n  SELECT uuid() AS one"
    )


def test_what_the_engine_makes_of_rows_is_told() -> None:
    sql = "SELECT DISTINCT upper(zip) AS z FROM FEC WHERE 1 / id > 0 LIMIT 3"
    told = explain(prepare(sql, DEMO))
    assert "\n  engine: 1 / id > 0 (rows on which it fails pass)\n" in told
    assert told.endswith("\nAbove the block\n  rows of block 1: upper(zip) AS z; each once; at most 3")
    told = explain(prepare("SELECT 1 AS a UNION ALL SELECT year FROM crime LIMIT 5 OFFSET 2", DEMO))
    assert told.endswith(
        "\n  one row: 1 AS a\n  rows of block 1: year\n  all of these; without the first 2; at most 5"
    )


def test_limits_are_told() -> None:
    assert "  stops after 1 row\n" in explain(prepare("SELECT zip FROM FEC LIMIT 1", DEMO))


def test_rows_of_the_text_are_asked_of_nobody() -> None:
    told = explain(prepare("SELECT d.zip FROM VALUES ('1') AS v(k) JOIN Demographics d ON d.zip = v.k", DEMO))
    assert "rows_1.scan: none: the statement makes its rows" in told
    assert "one request per page" not in told
