"""`-O FOLDER/` and `--partition-by`: folders of Parquet files that appear when they are whole."""

from __future__ import annotations

import datetime as dt
import gc
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from fff.errors import UsageError
from fff_cli.app import run as fff
from fff_cli.output import files
from fff_cli.output.failures import CannotWrite
from fff_cli.output.sinks import folders, replacing
from fff_cli.output.sinks.folders import NewFolder
from tests.cli.terminal import environment, fake

HARD = ["CA", "", None, "a/b=c", "é %41", ".", "__HIVE_DEFAULT_PARTITION__", "x" * 300, "\x01?", "007"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path.parent / "state"))
    Path("in.csv").write_text('state,year,n\nCA,2023,1\nCA,2024,2\n"N/Y=",2023,3\n,2024,4\n')
    return tmp_path


def into(folder: str, *more: str, sql: str = "SELECT state, year, n FROM 'in.csv'") -> int:
    return fff(["query", sql, "-O", folder, *more])


def rows(folder: str) -> list[tuple[object, ...]]:
    """As DuckDB reads it."""
    found = duckdb.sql(
        f"SELECT state, year, n FROM read_parquet('{folder}/**/*.parquet', hive_partitioning=true)"
    )
    return sorted(found.fetchall(), key=repr)


ALL = [("CA", 2023, 1), ("CA", 2024, 2), ("N/Y=", 2023, 3), (None, 2024, 4)]


def test_partitions_are_those_of_others(here: Path) -> None:
    assert into("out", "--partition-by", "state,year") == 0
    assert rows("out") == ALL
    arrow = ds.dataset("out", partitioning="hive").to_table().to_pylist()
    assert sorted(((row["state"], row["year"], row["n"]) for row in arrow), key=repr) == ALL
    assert pq.read_schema(here / "out/state=CA/year=2023/part-00000.parquet").names == ["n"]
    assert sorted(path.name for path in here.iterdir()) == ["in.csv", "out"]
    assert into("out/") == 0, "another takes its place, with all that is in it"
    assert [path.name for path in (here / "out").rglob("*")] == ["part-00000.parquet"]
    assert rows("out") == ALL


def test_rows_are_put_beside_those_that_are_there(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert into("out", "--partition-by", "year", "--append") == 0, "there is no folder yet"
    assert into("out", "--partition-by", "year", "--append") == 0
    assert "'out': 4 added" in capfd.readouterr().err
    assert rows("out") == sorted(ALL * 2, key=repr)
    for more, sql, said in [
        ((), "SELECT state, n FROM 'in.csv'", "is partitioned by year"),
        (("--partition-by", "year"), "SELECT n, state, year FROM 'in.csv'", "has the columns n, state"),
        (("--partition-by", "year"), "SELECT state, year, n || '' AS n FROM 'in.csv'", "n is string"),
    ]:
        assert into("out/", "--append", *more, sql=sql) == 2
        assert said in capfd.readouterr().err
    assert len(rows("out")) == 8
    assert sorted(path.name for path in here.iterdir()) == ["in.csv", "out"]


@pytest.mark.parametrize("parts", ["", "state", "year,state", "n"])
@pytest.mark.parametrize("key", ["n", "n,state", "state,year"])
def test_rows_take_the_place_of_others(
    here: Path, capfd: pytest.CaptureFixture[str], parts: str, key: str
) -> None:
    (here / "in.csv").write_text('state,year,n\nCA,2023,1\nCA,2024,2\n"N/Y=",2023,3\nTX,2024,4\n')
    more = ["--upsert", key, *(["--partition-by", parts] if parts else [])]
    assert into("out/", *more) == 0
    assert into("out/", *more, sql="SELECT state, year, n FROM 'in.csv' WHERE n > 4") == 0
    fresh = """SELECT * FROM VALUES ('N/Y=', 2023L, 3L), ('WA', 2025L, 5L) AS v(state, year, n)"""
    whole = {path.relative_to(here) for path in here.rglob("*.parquet")}
    assert into("out/", *more, sql=fresh) == 0
    assert "1 added, 1 replaced, 5 rows" in capfd.readouterr().err
    again = [("CA", 2023, 1), ("CA", 2024, 2), ("N/Y=", 2023, 3), ("TX", 2024, 4), ("WA", 2025, 5)]
    assert rows("out") == again
    assert not parts or len(whole & {path.relative_to(here) for path in here.rglob("*.parquet")}) >= 2
    for sql, said in [
        (f"{fresh}, VALUES (1), (2) AS w(x)", "two rows of the result"),
        (
            fresh.replace("'N/Y='", "NULL").replace("2023L", "NULL").replace("3L", "CAST(NULL AS BIGINT)"),
            "NULL",
        ),
    ]:
        assert into("out/", *more, sql=sql.replace("SELECT *", "SELECT state, year, n")) != 0
        assert said in capfd.readouterr().err
    assert rows("out") == again, "the folder is as it was"
    assert sorted(path.name for path in here.iterdir()) == ["in.csv", "out"]


def folder_of(*files: dict[str, object]) -> None:
    """A folder `theirs` that others have written."""
    for number, columns in enumerate(files):
        file = Path("theirs") / f"{number}.parquet"
        file.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), file)


def test_rows_that_stay_keep_the_columns_of_their_file(here: Path) -> None:
    folder_of(
        {"k": ["a"], "first": ["Al"], "last": ["Ax"]},
        {"k": ["b", "c"], "last": ["Bo", "Cy"], "first": ["Ray", "Kim"]},
        {"k": ["b", "d"], "cost": [20, 30]},
        {"k": ["b", "e"], "first": ["Ed", "Eve"], "last": ["En", "Ey"], "more": [[1], [2]]},
    )
    sql = "SELECT 'b' AS k, 'Bob' AS first, 'Ray' AS last"
    assert into("theirs/", "--upsert", "k", sql=sql) == 0
    found = [row for file in sorted(Path("theirs").iterdir()) for row in pq.read_table(file).to_pylist()]
    assert sorted(found, key=lambda row: str(row["k"])) == [
        {"k": "a", "first": "Al", "last": "Ax"},
        {"k": "b", "first": "Bob", "last": "Ray"},
        {"k": "c", "first": "Kim", "last": "Cy"},
        {"k": "d", "cost": 30},
        {"k": "e", "first": "Eve", "last": "Ey", "more": [2]},
    ]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"n": [1]}, "1.parquet' has no column 'k' to tell rows apart by"),
        ({"k": ["1"], "n": [1]}, "the column k is integer in the result, and string in 'theirs/1.parquet'"),
        (None, "cannot read 'theirs/1.parquet'"),
    ],
)
def test_a_file_whose_rows_cannot_be_told_apart_is_named_before_anything_is_asked(
    here: Path, capfd: pytest.CaptureFixture[str], columns: dict[str, object] | None, said: str
) -> None:
    folder_of({"k": [1], "n": [1]}, columns or {})
    if columns is None:
        Path("theirs/1.parquet").write_text("no Parquet")
    sql = "SELECT k, k AS n FROM nowhere"
    (here / "fff.yaml").write_text(
        """{version: 1, sources: {w: {client: {base_url: "http://127.0.0.1:9"}, tables: {nowhere:
        {columns: {k: bigint}, scan: {endpoint: {path: t, paginator: single_page}}}}}}}"""
    )
    assert into("theirs/", "--upsert", "k", "-s", "fff.yaml", sql=sql) == 2
    assert said in capfd.readouterr().err


def test_a_folder_of_several_partitionings_takes_no_rows_in_the_place_of_others(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder_of({"k": [1], "n": [1]})
    Path("theirs/k=2").mkdir()
    pq.write_table(pa.table({"n": [2]}), "theirs/k=2/0.parquet")
    assert into("theirs/", "--upsert", "k", sql="SELECT n AS k, n FROM 'in.csv'") == 2
    assert "'theirs/k=2/0.parquet' is partitioned by k" in capfd.readouterr().err


def test_small_numbers_and_texts_of_other_kinds_are_found_again(here: Path) -> None:
    texts = pa.array(["x", "y"])
    folder_of(
        {"k": [1], "s": texts[:1].cast(pa.large_string())},
        {"k": pa.array([1, 2], pa.int32()), "s": texts.dictionary_encode()},
    )
    assert into("theirs/", "--upsert", "k", sql="SELECT n AS k, 'z' AS s FROM 'in.csv' WHERE n = 1") == 0
    found = [row for file in sorted(Path("theirs").iterdir()) for row in pq.read_table(file).to_pylist()]
    assert sorted(map(str, found)) == ["{'k': 1, 's': 'z'}", "{'k': 2, 's': 'y'}"]


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([3.0, 1.0, None]),
        pa.array([3, 1, None], pa.float32()),
        pa.array([3, 1, None], pa.decimal128(12, 2)),
        pa.array([3, 1, None], pa.uint8()),
        pa.nulls(3),
    ],
    ids=lambda keys: str(keys.type),
)
def test_numbers_are_found_again_however_a_file_has_them(here: Path, keys: pa.Array) -> None:
    """As pandas writes whole numbers with NULL, and a column without a value."""
    folder_of({"k": [1, 2], "s": ["a", "b"]}, {"k": keys, "s": ["c", "d", "e"]})
    assert into("theirs/", "--upsert", "k", sql="SELECT n AS k, 'z' AS s FROM 'in.csv' WHERE n = 1") == 0
    found = [row["s"] for file in Path("theirs").iterdir() for row in pq.read_table(file).to_pylist()]
    assert sorted(found) == ["b", "c", *(["d"] if keys.null_count == 3 else []), "e", "z"]


def test_decimals_are_not_looked_for_among_doubles(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder_of({"k": pa.array([1], pa.decimal128(2, 1)), "s": ["a"]}, {"k": [0.1], "s": ["b"]})
    sql = "SELECT CAST(n AS DECIMAL(2, 1)) AS k, 'z' AS s FROM 'in.csv'"
    assert into("theirs/", "--upsert", "k", sql=sql) == 2
    assert "the column k is decimal in the result, and double in 'theirs/1.parquet'" in capfd.readouterr().err


def test_nan_and_lists_are_keys_as_others_are(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder_of({"d": [float("nan"), 1.0], "a": [[1], [2]]})
    for key in ("d", "a", "d,a"):
        sql = "SELECT double('nan') AS d, array(n) AS a FROM 'in.csv' WHERE n = 1"
        assert into("theirs/", "--upsert", key, sql=sql) == 0
        assert "0 added, 1 replaced, 2 rows" in capfd.readouterr().err
    assert into("theirs/", "--upsert", "d", sql="SELECT double('nan') AS d, array(n) AS a FROM 'in.csv'") == 2
    assert "two rows of the result have d = nan" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("folder", "more", "said"),
    [
        ("out/", ["--upsert", "m"], "no column 'm' to tell rows apart by"),
        ("out/", ["--upsert", "n", "--append"], "exclude each other"),
        ("out/", ["-o", "csv"], "a result as csv is not for a folder"),
        ("out/", ["--refreshable"], "in a file"),
        ("in.csv", ["--partition-by", "n", "-o", "parquet"], "is a file"),
        ("out", ["--partition-by", "m"], "no column 'm'"),
        ("out", ["--partition-by", "state,year,n"], "nothing is left"),
        ("kept/", [], "holds more than results: 'theirs.txt'"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_asked(
    here: Path, capfd: pytest.CaptureFixture[str], folder: str, more: list[str], said: str
) -> None:
    (here / "kept").mkdir()
    (here / "kept" / "theirs.txt").write_text("theirs")
    assert into(folder, *more) == 2
    assert said in capfd.readouterr().err
    assert sorted(path.name for path in here.iterdir()) == ["in.csv", "kept"]
    assert (here / "kept" / "theirs.txt").read_text() == "theirs"


@pytest.mark.slow
def test_a_partial_result_never_takes_the_place_of_a_whole_one(tmp_path: Path) -> None:
    assert fake("query", "rows 3", "-O", "out/", cwd=tmp_path).returncode == 0
    done = fake("query", "partial", "-O", "out/", cwd=tmp_path)
    assert (done.returncode, "out.partial'; 'out' is as it was" in done.stderr) == (3, True), done.stderr
    assert ds.dataset(tmp_path / "out").count_rows() == 3
    assert ds.dataset(tmp_path / "out.partial").count_rows() > 0
    for more in (["--append"], ["--upsert", "n"]):
        assert fake("query", "rows 3", "-O", "out/", *more, cwd=tmp_path).returncode == 0
        assert (tmp_path / "out.partial").exists(), "it may be of another statement"
    done = fake("query", "rows 4", "-O", "out/", cwd=tmp_path)
    assert "removed" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert ds.dataset(tmp_path / "out").count_rows() == 4
    assert fake("query", "fail", "-O", "out/", cwd=tmp_path).returncode == 4
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def batch(texts: list[str | None]) -> pa.RecordBatch:
    days = [dt.date(2024, 2, 29)] * len(texts)
    return pa.record_batch({"s": pa.array(texts, pa.string()), "n": range(len(texts)), "day": days})


def written(folder: Path, keys: list[str], *batches: pa.RecordBatch) -> None:
    target = NewFolder(folder, keys, append=False)
    try:
        out = target.writer()
        out.begin(batches[0].schema)
        for one in batches:
            out.write(one)
        out.end()
        target.keep()
    finally:
        target.drop()


@pytest.mark.parametrize("text", HARD)
def test_a_value_comes_back_or_is_refused(tmp_path: Path, text: str | None) -> None:
    if text in ("", "__HIVE_DEFAULT_PARTITION__"):
        with pytest.raises(CannotWrite, match="does not tell from NULL"):
            written(tmp_path / "out", ["s"], batch([text]))
        assert list(tmp_path.iterdir()) == []
        return
    if text is not None and len(text) > 255:
        with pytest.raises(CannotWrite, match=r"'x{40}'… in s, which is too long for the name of a folder"):
            written(tmp_path / "out", ["s"], batch([text]))
        assert list(tmp_path.iterdir()) == []
        return
    written(tmp_path / "out", ["s", "day"], batch([text]), batch([text]))
    assert len(list((tmp_path / "out").glob("*/*/*"))) == 2 - 1
    schema = pa.schema({"n": pa.int64(), "s": pa.string(), "day": pa.date32()})
    found = ds.dataset(tmp_path / "out", partitioning="hive", schema=schema).to_table().to_pylist()
    assert found == [{"n": 0, "s": text, "day": dt.date(2024, 2, 29)}] * 2


def test_many_partitions_need_few_open_files_and_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_OPEN", 3)
    monkeypatch.setattr(folders, "_HELD", 2_000)
    monkeypatch.setattr(folders, "_FILE", 4_000)
    names = [f"{number % 7}" for number in range(700)]
    written(tmp_path / "out", ["s"], *(batch(list(names)) for _ in range(3)))
    found = (
        ds.dataset(tmp_path / "out", partitioning="hive").to_table().group_by("s").aggregate([("n", "count")])
    )
    assert sorted(found.to_pydict()["n_count"]) == [300] * 7
    assert len(list((tmp_path / "out").rglob("*.parquet"))) > 7
    monkeypatch.setattr(folders, "_MOST", 6)
    with pytest.raises(CannotWrite, match="more than 6 partitions"):
        written(tmp_path / "out", ["s"], batch(list(names)))
    assert ds.dataset(tmp_path / "out").count_rows() == 2100, "what was there is there"


def test_a_failure_to_rename_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replacing, "_exchanged", lambda *_: False)
    written(tmp_path / "out", [], batch(["a"]))
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if Path(target).name == "out" and not self.name.endswith(files.OLD):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="No space"):
        written(tmp_path / "out", [], batch(["a", "b"]))
    assert ds.dataset(tmp_path / "out").count_rows() == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_two_that_append_to_a_folder_that_is_not_there_yet_both_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (NewFolder(tmp_path / "out", [], append=True) for _ in range(2))
    for target in (first, second):
        target.writer().begin(batch(["a"]).schema)
        target.writer().write(batch(["a", "b"]))
        target.writer().end()
    mode_of = files.mode_of

    def meanwhile(path: Path, fresh: int) -> int:
        monkeypatch.setattr(folders, "mode_of", mode_of)
        second.keep()
        return mode_of(path, fresh)

    monkeypatch.setattr(folders, "mode_of", meanwhile)
    first.keep()
    assert ds.dataset(tmp_path / "out").count_rows() == 4
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_rows_are_added_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "out", ["s"], batch(["a"]))
    before, moves = sorted((tmp_path / "out").rglob("*.parquet")), []
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        moves.append(target)
        if len(moves) == 2:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    target = NewFolder(tmp_path / "out", ["s"], append=True)
    target.writer().begin(batch(["a"]).schema)
    target.writer().write(batch(["a", "b", "c"]))
    target.writer().end()
    with pytest.raises(OSError, match="No space"):
        target.keep()
    target.drop()
    assert sorted((tmp_path / "out").rglob("*.parquet")) == before


@pytest.mark.slow
def test_what_dead_runs_left_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os, sys, pathlib\nfrom fff_cli.output.sinks.folders import NewFolder\n"
        "NewFolder(pathlib.Path(sys.argv[1]), (), append=False)\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], env=environment(), check=True)
    [left] = tmp_path.iterdir()
    running = NewFolder(tmp_path / "other", (), append=False)
    monkeypatch.setattr(files, "_ABANDONED_S", -1.0)
    files.sweep(tmp_path)
    assert not left.exists()
    assert len(list(tmp_path.iterdir())) == 1, "one that is being written stays"
    running.drop()
    assert list(tmp_path.iterdir()) == []
    gc.collect()  # nothing that is left open complains


@pytest.mark.slow
@pytest.mark.parametrize("exchanging", [True, False])
@pytest.mark.parametrize("after", range(4))
def test_a_kill_while_a_folder_is_replaced_leaves_one_of_the_two_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, exchanging: bool, after: int
) -> None:
    """After each step that renames, exchanges or removes; what else is left the next run removes."""
    for name, text in (("out", "old"), (f".out.xxx{files.TEMPORARY}", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").write_text(text)
    code = f"""if True:
        import os, pathlib, shutil
        from pathlib import Path
        from fff_cli.output.sinks import replacing
        left = {after}
        def counted(step):
            def stepped(*given, **named):
                global left
                if not left:
                    os._exit(9)
                left -= 1
                return step(*given, **named)
            return stepped
        replacing._exchanged = counted(replacing._exchanged) if {exchanging} else lambda *_: False
        Path.rename = counted(Path.rename)
        shutil.rmtree = counted(shutil.rmtree)
        replacing.put_in_place(Path(".out.xxx{files.TEMPORARY}"), Path("out"))
    """
    subprocess.run([sys.executable, "-c", code], env=environment(), cwd=tmp_path, check=False)
    if exchanging:
        assert (tmp_path / "out").is_dir(), "whoever reads it finds it at any time"
    monkeypatch.setattr(files, "_ABANDONED_S", -1.0)
    files.sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    killed_early = after <= (0 if exchanging else 1)
    assert (tmp_path / "out" / "one").read_text() == ("old" if killed_early else "new")


def test_only_names_become_folders(tmp_path: Path) -> None:
    floating = [("x", pa.float64()), ("n", pa.int64())]
    with pytest.raises(UsageError, match="no folder can be called by the column x, which is double"):
        folders.check(tmp_path / "out", ["x"], append=False, columns=floating)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "_SUCCESS").touch()
    (tmp_path / "out" / ".part-0.parquet.crc").touch()
    folders.check(tmp_path / "out", [], append=False)
    (tmp_path / "out" / "_delta_log").mkdir()
    (tmp_path / "out" / "_delta_log" / "0.json").write_text(json.dumps({}))
    with pytest.raises(UsageError, match="_delta_log"):
        folders.check(tmp_path / "out", [], append=False)
