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


@pytest.mark.parametrize("form", ["parquet", "csv", "ndjson"])
async def test_what_a_folder_says_holds_whatever_its_files_say(tmp_path: Path, form: str) -> None:
    for year, inside in ((2023, [2024, 2023]), (2024, [2024, 1999])):
        folder, rows_of_file = (
            tmp_path / f"t/Year={year}",
            list(zip((year * 10, year * 10 + 1), inside, strict=True)),
        )
        folder.mkdir(parents=True)
        if form == "parquet":
            write(folder / "x.parquet", {"year": inside, "id": [one for one, _ in rows_of_file]})
        elif form == "csv":
            lines = [f"{year},{one}" for one, year in rows_of_file]
            (folder / "x.csv").write_text("\n".join(["year,id", *lines, ""]))
        else:
            lines = [f'{{"year": {year}, "id": {one}}}\n' for one, year in rows_of_file]
            (folder / "x.ndjson").write_text("".join(lines))
    every = [(20230, 2023), (20231, 2023), (20240, 2024), (20241, 2024)]
    assert await rows(tmp_path, f"SELECT id, year FROM 't/*/x.{form}'") == every
    assert await rows(tmp_path, f"SELECT * FROM 't/*/x.{form}' WHERE year = 2024") == every[2:]
    assert await rows(tmp_path, f"SELECT year FROM 't/*/x.{form}' WHERE year < 2024") == [(2023,), (2023,)]


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
async def test_one_file_that_is_left_over_may_lack_what_others_have(tmp_path: Path, form: str) -> None:
    bodies = {
        "y=1/m=2/a": ("id,v\n1,x\n", '{"id": 1, "v": "x"}\n', {"id": [1], "v": ["x"]}),
        "y=2/a": ("id\n2\n", '{"id": 2}\n', {"id": [2]}),
    }
    for name, (text, lines, columns) in bodies.items():
        path = tmp_path / f"t/{name}.{form}"
        write(path, columns) if form == "parquet" else path.parent.mkdir(parents=True)
        if form != "parquet":
            path.write_text(text if form == "csv" else lines)
    found = f"SELECT id, v, m FROM 't/**/*.{form}' WHERE y ="
    assert await rows(tmp_path, f"{found} 2") == [(2, None, None)]
    assert await rows(tmp_path, f"{found} 1") == [(1, "x", 2)]


async def test_files_outside_of_folders_have_their_own_values(tmp_path: Path) -> None:
    write(tmp_path / "t/year=2023/p.parquet", {"id": [1]})
    write(tmp_path / "t/p.parquet", {"id": [2], "year": [2024]})
    sql = "SELECT id, year FROM 't/**/*.parquet' WHERE year = 2024"
    assert await rows(tmp_path, sql) == [(2, 2024)]


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


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "ndjson"])
@pytest.mark.parametrize(
    ("names", "shown"), [(["id", "id", "x"], ["id", "id_1", "x"]), (["id", "ID", "x"], ["id", "ID_1", "x"])]
)
async def test_columns_that_are_named_alike_are_told_apart(
    tmp_path: Path, form: str, names: list[str], shown: list[str]
) -> None:
    if form == "ndjson" and len(set(names)) < len(names):
        pytest.skip("JSON has no two members of one name")
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([5, 6]), pa.array([7, 8])], names=names)
    path = tmp_path / f"f.{form}"
    match form:
        case "parquet":
            papq.write_table(table, path, row_group_size=1)
        case "arrow":
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
        case "csv":
            path.write_text(f"{','.join(names)}\n1,5,7\n2,6,8\n")
        case _:
            path.write_text("".join(f'{{"id": {one}, "ID": {one + 4}, "x": {one + 6}}}\n' for one in (1, 2)))
    assert await rows(tmp_path, f"SELECT * FROM 'f.{form}'") == [(1, 5, 7), (2, 6, 8)]
    assert await rows(tmp_path, f"SELECT {shown[1]}, x FROM 'f.{form}' WHERE id = 1") == [(5, 7)]
    assert await rows(tmp_path, f"SELECT id FROM 'f.{form}' WHERE {shown[1]} = 6") == [(2,)]


@pytest.mark.parametrize("form", ["parquet", "csv"])
async def test_files_that_write_a_column_in_different_cases_have_one(tmp_path: Path, form: str) -> None:
    for name, value in (("id", 1), ("ID", 2)):
        if form == "parquet":
            write(tmp_path / f"{value}.parquet", {name: [value]})
        else:
            (tmp_path / f"{value}.csv").write_text(f"{name}\n{value}\n")
    assert await rows(tmp_path, f"SELECT * FROM {form}.`*.{form}`") == [(1,), (2,)]
    assert await rows(tmp_path, f"SELECT id FROM {form}.`*.{form}` WHERE id = 2") == [(2,)]


async def test_columns_whose_names_begin_alike_are_not_taken_for_paths(tmp_path: Path) -> None:
    table = pa.table({"a.b": [1, 2], "s": [{"x": 3}, {"x": 4}], "a": [5, 6], "s.x": [7, 8]})
    papq.write_table(table, tmp_path / "p.parquet", row_group_size=1)
    assert await rows(tmp_path, "SELECT a, `a.b` FROM 'p.parquet' WHERE `s.x` = 8") == [(6, 2)]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
async def test_a_file_that_is_cut_while_it_is_read_is_an_error(tmp_path: Path, form: str) -> None:
    path, table = tmp_path / f"f.{form}", pa.table({"id": list(range(400_000))})
    if form == "parquet":
        papq.write_table(table, path, row_group_size=100_000, use_dictionary=False)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=100_000)
    parts = columnar.batches_of(str(path), [columnar.FileColumn("id", pa.int64())], ())
    assert next(parts).num_rows
    with path.open("r+b") as file:
        file.truncate(10_000)
    with pytest.raises((OSError, pa.ArrowException)):
        list(parts)
