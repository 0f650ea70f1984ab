"""Folders of files of this machine as tables: partitions, files of different columns, and what of them is read at all."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from fff.errors import SourceError
from fff.quals import Qual
from fff_sources.files import columnar
from tests.engine.site import run
from tests.sources.local import federation, rows


def write(path: Path, columns: dict[str, object], **options: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    papq.write_table(pa.table(columns), path, **options)


async def test_names_of_folders_are_columns(tmp_path: Path) -> None:
    write(tmp_path / "t/year=2023/zip=00501/p.parquet", {"id": [1, 2]})
    write(tmp_path / "t/year=2024/zip=a%2Fb/p.parquet", {"id": [3]})
    write(tmp_path / "t/year=2024/zip=__HIVE_DEFAULT_PARTITION__/p.parquet", {"id": [4]})
    every = [(1, 2023, "00501"), (2, 2023, "00501"), (3, 2024, "a/b"), (4, 2024, None)]
    for name in ("parquet.t", "'t'", "'t/**/*.parquet'", "parquet.`t/*/*/p.parquet`"):
        assert await rows(tmp_path, f"SELECT * FROM {name}") == every
    assert await rows(tmp_path, "SELECT id FROM parquet.t WHERE year > 2023 AND zip IS NULL") == [(4,)]


@pytest.mark.slow
@pytest.mark.spark
async def test_rows_of_folders_are_counted_without_their_columns(tmp_path: Path) -> None:
    write(tmp_path / "t/year=2023/p.parquet", {"id": [1, 2]})
    write(tmp_path / "t/year=2024/p.parquet", {"id": [3]})
    assert await rows(tmp_path, "SELECT count(*) FROM parquet.t WHERE year = 2023") == [(2,)]


async def test_names_of_folders_are_columns_of_text_files_too(tmp_path: Path) -> None:
    for day, body in (("2024-01-02", "id\n1\n"), ("2024-02-29", "id\n2\n")):
        (tmp_path / f"t/day={day}").mkdir(parents=True)
        (tmp_path / f"t/day={day}/x.csv").write_text(body)
        (tmp_path / f"t/day={day}/x.ndjson").write_text('{"id": 7}\n')
    assert await rows(tmp_path, "SELECT * FROM 't/*/*.csv'") == [
        (1, dt.date(2024, 1, 2)),
        (2, dt.date(2024, 2, 29)),
    ]
    assert await rows(tmp_path, "SELECT * FROM 't/*/*.ndjson' WHERE day > DATE'2024-02-01'") == [
        (7, dt.date(2024, 2, 29))
    ]


async def test_files_that_no_condition_wants_are_not_opened(tmp_path: Path) -> None:
    write(tmp_path / "t/k=1/p.parquet", {"id": [1]})
    write(tmp_path / "t/k=2/p.parquet", {"id": [2]})
    found = federation(tmp_path)
    await found.discover("SELECT * FROM parquet.t")
    (tmp_path / "t/k=2/p.parquet").write_bytes(b"PAR1 no more")
    result, execution = await run(found, "SELECT id FROM parquet.t WHERE k = 1")
    assert (result, execution.outcome.complete) == ([(1,)], True)
    await found.close()


async def test_files_of_different_columns_are_one_table(tmp_path: Path) -> None:
    write(tmp_path / "p/1.parquet", {"id": pa.array([1], pa.int32()), "a": ["x"], "d": [Decimal("1.5")]})
    write(tmp_path / "p/2.parquet", {"id": [2**40], "b": [2.5], "d": [Decimal("0.25")]})
    expected = [(1, "x", Decimal("1.50"), None), (2**40, None, Decimal("0.25"), 2.5)]
    assert await rows(tmp_path, "SELECT * FROM parquet.p") == expected
    assert await rows(tmp_path, "SELECT id FROM parquet.p WHERE b < 3") == [(2**40,)]
    (tmp_path / "c").mkdir()
    (tmp_path / "c/1.csv").write_text("id,a\n1,x\n")
    (tmp_path / "c/2.csv").write_text("a,id,c\ny,2.5,z\n")
    assert await rows(tmp_path, "SELECT * FROM csv.c") == [(1.0, "x", None), (2.5, "y", "z")]


async def test_types_that_no_type_holds_are_told_with_their_files(tmp_path: Path) -> None:
    write(tmp_path / "p/1.parquet", {"id": [1]})
    write(tmp_path / "p/2.parquet", {"id": ["x"]})
    with pytest.raises(SourceError, match=r"'id' is int64 in .*1.parquet and string in .*2.parquet"):
        await rows(tmp_path, "SELECT * FROM parquet.p")


async def test_a_file_named_twice_is_read_twice(tmp_path: Path) -> None:
    write(tmp_path / "p.parquet", {"id": [1]})
    (tmp_path / "fff.yaml").write_text(
        "version: 1\nsources:\n  m: {type: files, tables: {t: {paths: [p.parquet, p.parquet]}}}\n"
    )
    assert await rows(tmp_path, "SELECT * FROM m.t", str(tmp_path / "fff.yaml")) == [(1,), (1,)]


NAN, MOMENT, DAY = float("nan"), dt.datetime.fromisoformat("2024-01-01"), dt.timedelta(1)


@pytest.mark.parametrize(
    ("values", "qual", "groups"),
    [
        ([1, 2, 3, 4], ("=", 3), [1]),
        ([1, 2, 3, 4], (">", 2), [1]),
        ([1, 2, 3, 4], ("<=", 2), [0]),
        ([1, 1, 3, 4], ("<>", 1), [1]),
        (["a", "b", "é", "z"], ("=", "b"), [0]),
        ([1.0, NAN, 3.0, NAN], ("<", 2.0), [0]),
        ([dt.date(2024, 1, 1)] * 2 + [dt.date(2024, 2, 1)] * 2, (">=", dt.date(2024, 1, 2)), [1]),
        ([MOMENT] * 2 + [MOMENT + DAY] * 2, ("<", MOMENT + DAY), [0]),
        ([None, None, 3, 4], ("=", 3), [0, 1]),  # nothing is stated of the first
        ([1, 2, 3, 4], ("=", "3"), [0, 1]),
        ([Decimal("1.0"), Decimal("2.0")] * 2, ("=", Decimal("9.0")), [0, 1]),
    ],
)
def test_row_groups_that_cannot_fulfil_a_condition_are_left_out(
    tmp_path: Path, values: list[object], qual: tuple[str, object], groups: list[int]
) -> None:
    write(tmp_path / "p.parquet", {"v": values}, row_group_size=2)
    file = papq.ParquetFile(tmp_path / "p.parquet")
    assert columnar.wanted_groups(file, (Qual("v", *qual),)) == groups  # type: ignore[arg-type]


@pytest.mark.parametrize(("condition", "count"), [("", 4_000), (" WHERE id = 7", 100)])
async def test_conditions_bring_fewer_rows(tmp_path: Path, condition: str, count: int) -> None:
    write(tmp_path / "p.parquet", {"id": list(range(4_000))}, row_group_size=100)
    sql = f"SELECT * FROM parquet.`p.parquet`{condition}"
    found = federation(tmp_path)
    await found.discover(sql)
    _, execution = await run(found, sql)
    assert [one.rows for one in execution.snapshot().access] == [count]
    await found.close()
