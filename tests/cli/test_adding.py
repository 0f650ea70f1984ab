"""`--append` and `--upsert`: what is in a file stays but for rows of the same keys, and no failure leaves half of it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from aiohttp import web

from fff_cli.app import run as fff
from fff_cli.output import adding, files
from fff_cli.output.adding import AddedTo
from fff_cli.output.formats import writer
from fff_cli.output.readback import read_back
from tests.sampling import every
from tests.web.serving import serving_beside

Row = dict[str, Any]
FORMS = ["csv", "tsv", "ndjson", "parquet", "sqlite", "duckdb"]
FEW = ["csv", "parquet", "sqlite", "duckdb"]


class Desk:
    """A table whose rows are set by hand."""

    def __init__(self) -> None:
        self.rows: list[tuple[int | None, str | None]] = []
        self.asked = 0
        self.down = False  # whether the second page cannot be had

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked += 1
        page = int(request.query["page"])
        if self.down and page > 1:
            return web.json_response({"error": "down"}, status=403)
        rows = [{"id": id_, "name": name} for id_, name in self.rows]
        return web.json_response({"rows": rows[2 * page - 2 : 2 * page], "pages": -(-len(rows) // 2) or 1})


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)
    one = Desk()
    paginator = {"type": "page_number", "base_page": 1, "page_param": "page", "total_path": "pages"}
    table = {
        "columns": {"id": "int", "name": "string"},
        "scan": {"endpoint": {"path": "t", "data_selector": "rows", "paginator": paginator}},
    }
    with serving_beside(one.answer) as url:
        client = {"base_url": url, "retry": {"max_attempts": 1}}
        spec = {"version": 1, "sources": {"web": {"client": client, "tables": {"t": table}}}}
        (tmp_path / "fff.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
        yield one


def into(file: str, *more: str, sql: str = "SELECT id, name FROM t") -> int:
    return fff(["query", sql, "-s", "fff.yaml", "-O", file, *more])


def rows_of(file: str) -> list[tuple[str | None, ...]]:
    rows = read_back(Path(file), file.rpartition(".")[2]).to_pylist()
    return [tuple(None if value is None else str(value) for value in row.values()) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_rows_take_the_place_of_those_with_their_keys_and_others_stay(
    desk: Desk, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file = f"x.{form}"
    desk.rows = [(1, "one"), (2, "two, 2"), (3, None)]
    assert into(file, "--upsert", "id") == 0, "there is no file yet"
    desk.rows = [(2, ""), (4, "four"), (3, 'th"ree')]
    capfd.readouterr()
    assert into(file, "--upsert", "id") == 0
    assert f"'{file}': 1 added, 2 replaced, 4 rows" in capfd.readouterr().err
    expected = [("1", "one"), ("2", ""), ("3", 'th"ree'), ("4", "four")]
    assert sorted(rows_of(file), key=str) == expected
    assert into(file, "--append") == 0
    assert len(rows_of(file)) == 7
    assert into(file, "--upsert", "id") == 0, "of a key all rows go"
    assert sorted(rows_of(file), key=str) == expected


@pytest.mark.parametrize(
    ("file", "body", "said"),
    [
        ("x.csv", 'id,name\n1,"Big" Jim\n', "text behind a closing quote"),
        ("x.csv", 'id,name\n1,"x\n', "in the middle of a quoted cell"),
        ("x.csv", '{"id": 1}\n', "it is JSON"),
        ("x.ndjson", "[1, 2]\n", "its rows are no objects"),
    ],
)
def test_nothing_is_added_to_a_file_that_could_not_be_read_as_it_stands(
    desk: Desk, file: str, body: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    desk.rows = [(2, "two")]
    Path(file).write_text(body, encoding="utf-8")
    assert into(file, "--append") != 0
    assert said in capfd.readouterr().err
    assert Path(file).read_text(encoding="utf-8") == body


def test_empty_lines_of_a_file_are_no_rows_but_where_it_has_one_column(desk: Desk) -> None:
    desk.rows = [(2, None)]
    Path("x.csv").write_text("id,name\n1,one\n\n", encoding="utf-8")
    assert into("x.csv", "--append") == 0
    assert Path("x.csv").read_text(encoding="utf-8") == "id,name\n1,one\n2,\n"
    Path("y.csv").write_text("name\n\none\n", encoding="utf-8")
    assert into("y.csv", "--append", sql="SELECT name FROM t") == 0
    assert Path("y.csv").read_text(encoding="utf-8") == "name\n\none\n\n"


@pytest.mark.slow
def test_rows_whose_columns_spark_names_are_put_behind_those_of_the_same_names(desk: Desk) -> None:
    desk.rows = [(1, "one"), (2, None)]
    for _ in range(2):
        assert into("x.csv", "--append", sql="SELECT name, count(*) FROM t GROUP BY name") == 0
    assert sorted(rows_of("x.csv"), key=str) == [("one", "1"), ("one", "1"), (None, "1"), (None, "1")]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_rows_are_put_behind_those_that_are_there(desk: Desk, form: str) -> None:
    file = f"x.{form}"
    desk.rows = [(1, "one"), (2, None)]
    assert into(file, "--append") == 0
    desk.rows = [(1, "one")]
    assert into(file, "--append") == 0
    desk.rows = []
    assert into(file, "--append") == 0
    assert rows_of(file) == [("1", "one"), ("2", None), ("1", "one")]


@pytest.mark.slow
@pytest.mark.parametrize("form", FEW)
@pytest.mark.parametrize("rows", [[(1, "a"), (1, "b")], [(None, "a")]])
def test_keys_that_tell_no_rows_apart_leave_the_file(
    desk: Desk, form: str, rows: list[tuple[int | None, str]], capfd: pytest.CaptureFixture[str]
) -> None:
    file = f"x.{form}"
    desk.rows = [(1, "one"), (2, None)]
    assert into(file) == 0
    before = Path(file).read_bytes()
    desk.rows = list(rows)
    assert into(file, "--upsert", "id") == 2
    assert "of the result ha" in capfd.readouterr().err
    assert (Path(file).read_bytes(), len(list(Path().glob(".*")))) == (before, 0)


@pytest.mark.parametrize("form", every(2, FORMS))
def test_rows_of_a_file_without_a_key_stay(desk: Desk, form: str) -> None:
    file = f"x.{form}"
    desk.rows = [(1, "one"), (2, None), (3, None)]
    assert into(file) == 0
    desk.rows = [(2, "two"), (4, "one")]
    assert into(file, "--upsert", "name") == 0
    assert sorted(rows_of(file), key=repr) == [("2", "two"), ("2", None), ("3", None), ("4", "one")]
    assert into(file, "--upsert", "name") == 0, "NULL is like no other NULL, in later runs too"
    assert len(rows_of(file)) == 4


@pytest.mark.parametrize("form", every(2, FEW))
def test_a_partial_result_is_not_added_unless_it_is_asked_for(
    desk: Desk, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file = f"x.{form}"
    desk.rows = [(1, "one")]
    assert into(file) == 0
    before = Path(file).read_bytes()
    desk.rows, desk.down = [(2, "two"), (3, "three"), (4, "four")], True
    assert into(file, "--upsert", "id") == 4
    assert into(file, "--upsert", "id", "--max-requests", "1") == 3
    assert "is as it was" in capfd.readouterr().err
    assert Path(file).read_bytes() == before
    assert into(file, "--upsert", "id", "--on-source-error", "partial") == 3
    desk.down = False
    assert into(file, "--upsert", "id", sql="SELECT id, name FROM t WHERE id = 2") == 0
    assert Path(f"{file}.partial").exists(), "it may be of another statement"
    assert sorted(rows_of(file)) == [("1", "one"), ("2", "two"), ("3", "three")]


@pytest.mark.slow
@pytest.mark.parametrize("form", FEW)
@pytest.mark.parametrize(
    ("more", "sql", "told"),
    [
        (["--append"], "SELECT id FROM t", "the result has the columns id, and "),
        (["--upsert", "id"], "SELECT name, id FROM t", "the result has the columns name, id, and "),
        (["--upsert", "id,nam"], "SELECT id, name FROM t", "no column 'nam'"),
        (["--upsert", "id", "--append"], "SELECT id, name FROM t", "exclude each other"),
        (["--append"], "SELECT id, name FROM t; SELECT id, name FROM t", "several statements"),
    ],
)
def test_columns_that_do_not_fit_are_told_before_anything_is_asked(
    desk: Desk, capfd: pytest.CaptureFixture[str], form: str, *, more: list[str], sql: str, told: str
) -> None:
    file = f"x.{form}"
    desk.rows = [(1, "one")]
    assert into(file) == 0
    desk.asked = 0
    assert into(file, *more, sql=sql) == 2
    assert told in capfd.readouterr().err
    assert desk.asked == 0


@pytest.mark.parametrize("form", every(2, ["parquet", "sqlite", "duckdb"]))
def test_types_that_do_not_fit_are_told_before_anything_is_asked(
    desk: Desk, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    desk.rows = [(1, "one")]
    assert into(f"x.{form}") == 0
    desk.asked = 0
    assert into(f"x.{form}", "--append", sql="SELECT CAST(id AS STRING) AS id, name FROM t") == 2
    assert "the column id is" in capfd.readouterr().err
    assert desk.asked == 0


def test_a_database_keeps_what_else_is_in_it(desk: Desk) -> None:
    desk.rows = [(1, "one"), (2, "two")]
    assert into("x.sqlite") == 0
    with contextlib.closing(sqlite3.connect("x.sqlite")) as database, database:
        database.execute("CREATE TABLE notes AS SELECT 'mine' AS text")
        database.execute("CREATE VIEW names AS SELECT name FROM result")
    desk.rows = [(1, "ONE"), (3, "three")]
    assert into("x.sqlite", "--upsert", "id") == 0
    with contextlib.closing(sqlite3.connect("x.sqlite")) as database:
        assert database.execute("SELECT name FROM result ORDER BY id").fetchall() == [
            ("ONE",),
            ("two",),
            ("three",),
        ]
        assert database.execute("SELECT text, (SELECT count(*) FROM names) FROM notes").fetchall() == [
            ("mine", 3)
        ]
        database.execute("DROP TABLE result")
    assert into("x.sqlite", "--append") == 2
    with contextlib.closing(sqlite3.connect("x.sqlite")) as database, database:
        database.execute("CREATE TABLE result (id INTEGER, name TEXT)")
        database.execute("INSERT INTO result VALUES (1, 'a'), (1, 'b'), (NULL, 'c'), (NULL, 'd')")
    assert into("x.sqlite", "--upsert", "id") == 0
    assert rows_of("x.sqlite") == [(None, "c"), (None, "d"), ("1", "ONE"), ("3", "three")]


def test_lines_and_types_that_somebody_else_wrote_stay_as_they_are(desk: Desk) -> None:
    Path("x.ndjson").write_text('{"id": 1, "name": "one"}\r\n\n{"id":2,"name":"two", "more": [1.50]}')
    desk.rows = [(1, "ONE")]
    Path("z.ndjson").write_text('{"id": 7, "name": "seven"}\n{"name": "none"}\n')
    assert into("z.ndjson", "--upsert", "id") == 0, "what has no key is no row of that key"
    assert Path("z.ndjson").read_text().splitlines()[1] == '{"name": "none"}'
    assert into("x.ndjson", "--upsert", "id") == 0
    assert Path("x.ndjson").read_text().splitlines() == [
        '{"id":2,"name":"two", "more": [1.50]}',
        json.dumps({"id": 1, "name": "ONE"}, separators=(",", ":")),
    ]
    pq.write_table(pa.table({"id": pa.array([7], pa.int32()), "name": ["seven"]}), "y.parquet")
    assert into("y.parquet", "--upsert", "id") == 0
    assert pq.read_table("y.parquet").to_pydict() == {"id": [7, 1], "name": ["seven", "ONE"]}


@pytest.mark.parametrize("out", [*(f"r.{form}" for form in FORMS), "r/"])
def test_all_rows_of_a_key_are_counted_as_replaced_by_the_one_that_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("id,v\n1,a\n2,b\n2,bb\n2,bbb\n")
    assert fff(["query", "SELECT * FROM 't.csv'", "-O", out]) == 0
    (tmp_path / "t.csv").write_text("id,v\n2,c\n5,d\n")
    for said in ("1 added, 3 replaced by 1, 3 rows", "0 added, 2 replaced, 3 rows"):
        capsys.readouterr()
        assert fff(["query", "SELECT * FROM 't.csv'", "-O", out, "--upsert", "id"]) == 0
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("out", ["r.parquet", "r/"])
def test_lists_and_maps_are_added_to_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], out: str
) -> None:
    """Parquet calls their parts otherwise than a result does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("id\n1\n2\n")
    sql = "SELECT id, array(array(id)) a, named_struct('k', array(id)) s, map('x', id) m FROM 't.csv'"
    for more in ([], ["--append"]):
        assert fff(["query", sql, "-O", out, *more]) == 0
    kept = "SELECT id, array(array(id - id)) a, named_struct('k', array(id)) s, map('x', id) m FROM 't.csv' WHERE id = 1"
    assert fff(["query", kept, "-O", out, "--upsert", "id"]) == 0
    assert "0 added, 2 replaced" in capsys.readouterr().err
    found = sorted((row["id"], row["a"]) for row in pq.read_table(out).to_pylist())
    assert found == [(1, [[0]]), (2, [[2]]), (2, [[2]])]


def test_a_row_whose_key_is_nan_takes_its_place(desk: Desk) -> None:
    desk.rows = [(1, "x")]
    sql = "SELECT double('NaN') AS k, id FROM t"
    for _ in range(2):
        assert into("out.parquet", "--upsert", "k", sql=sql) == 0
    assert rows_of("out.parquet") == [("nan", "1")]


@pytest.mark.parametrize(
    ("declared", "fits"),
    [
        ("id BIGINT PRIMARY KEY, name VARCHAR(20)", True),
        ("id unsigned big int, name NATIVE CHARACTER(70)", True),
        ("id DECIMAL(10, 5), name CLOB", True),
        ("id, name", True),
        ("id INTEGER, name DATE", False),
        ("id REAL, name TEXT", False),
        ("id VARCHAR(20), name TEXT", False),
    ],
)
def test_columns_of_a_table_that_others_made_go_by_how_sqlite_takes_values(
    desk: Desk, declared: str, capfd: pytest.CaptureFixture[str], *, fits: bool
) -> None:
    """`name DATE` would make a number of a text that looks like one."""
    with contextlib.closing(sqlite3.connect("x.sqlite")) as database, database:
        database.execute(f"CREATE TABLE result ({declared})")
        database.execute("INSERT INTO result VALUES (1, 'one'), (2, '002')")
    desk.rows = [(1, "001"), (3, "three")]
    assert into("x.sqlite", "--upsert", "id") == (0 if fits else 2)
    if fits:
        assert sorted(rows_of("x.sqlite")) == [("1", "001"), ("2", "002"), ("3", "three")]
    else:
        assert "in the result, and " in capfd.readouterr().err
        assert desk.asked == 0


@pytest.mark.parametrize(
    "kind",
    [
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.uint32(), pa.string()),
    ],
)
def test_parquet_of_others_takes_texts_however_it_holds_them(desk: Desk, kind: pa.DataType) -> None:
    names = pa.array(["one", "two", None]).cast(kind)
    pq.write_table(pa.table({"id": pa.array([1, 2, 3], pa.int32()), "name": names}), "x.parquet")
    desk.rows = [(2, "TWO"), (4, None)]
    assert into("x.parquet", "--upsert", "id") == 0
    assert into("x.parquet", "--upsert", "name", sql="SELECT id, name FROM t WHERE id = 2") == 0
    rows = pq.ParquetFile("x.parquet").read()
    assert rows.schema.field("name").type == kind
    assert [tuple(row.values()) for row in rows.to_pylist()] == [(1, "one"), (3, None), (4, None), (2, "TWO")]


def test_parquet_of_others_takes_moments_and_lists_of_texts(desk: Desk) -> None:
    moments = pa.array([1_000_000_000, 2_000_000_000], pa.timestamp("ns", "UTC"))
    texts = pa.array([["a"], ["b"]], pa.large_list(pa.large_string()))
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32()), "at": moments, "xs": texts}), "x.parquet")
    kinds = pq.read_schema("x.parquet")
    desk.rows = [(2, "c")]
    sql = "SELECT id, timestamp_seconds(id + 5) AS at, array(name) AS xs FROM t"
    assert into("x.parquet", "--upsert", "id", sql=sql) == 0
    assert pq.read_schema("x.parquet").types == kinds.types
    assert [str(row) for row in pq.read_table("x.parquet").cast(
        pa.schema({"id": pa.int64(), "at": pa.int64(), "xs": texts.type})
    ).to_pylist()] == [
        "{'id': 1, 'at': 1000000000, 'xs': ['a']}",
        "{'id': 2, 'at': 7000000000, 'xs': ['c']}",
    ]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_two_that_make_a_file_at_once_both_put_their_rows_into_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    file = tmp_path / f"x.{form}"
    first, second = (AddedTo(file, form, ()) for _ in range(2))
    for number, target in enumerate((first, second)):
        out = writer(form, target.out, None)
        out.begin(pa.schema({"id": pa.int64()}))
        out.write(pa.record_batch({"id": [number]}))
        out.end()

    def meanwhile(path: Path, fresh: int) -> int:
        monkeypatch.undo()
        second.keep()
        return files.mode_of(path, fresh)

    monkeypatch.setattr(adding, "mode_of", meanwhile)
    first.keep()
    assert sorted(map(str, read_back(file, form).column("id").to_pylist())) == ["0", "1"]
    assert [path.name for path in tmp_path.iterdir()] == [f"x.{form}"]


def test_a_disk_without_links_takes_a_new_file_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    desk.rows = [(1, "one")]
    assert into("x.sqlite", "--upsert", "id") == 0
    assert rows_of("x.sqlite") == [("1", "one")]


def test_nanoseconds_and_years_that_no_type_holds_together_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    moments = pa.array([1_000_000_001], pa.timestamp("ns"))
    pq.write_table(pa.table({"at": moments}), "t.parquet")
    before = Path("t.parquet").read_bytes()
    assert (
        fff(["query", "SELECT TIMESTAMP_NTZ '3000-01-01 00:00:00' AS at", "-O", "t.parquet", "--append"]) == 2
    )
    told = capfd.readouterr().err
    assert "'t.parquet' has nanoseconds, and the result years that a type with these does not reach" in told
    assert Path("t.parquet").read_bytes() == before
    assert (
        fff(["query", "SELECT TIMESTAMP_NTZ '2200-01-01 00:00:00' AS at", "-O", "t.parquet", "--append"]) == 0
    )
    assert pq.read_table("t.parquet")["at"].cast(pa.int64())[0].as_py() == 1_000_000_001


@pytest.mark.parametrize(
    ("held", "sql", "kind"),
    [
        (
            pa.array([0], pa.timestamp("ms", "UTC")),
            "timestamp_micros(id + 7)",
            pa.timestamp("us", "UTC"),
        ),
        (pa.array([0], pa.timestamp("ms", "UTC")), "timestamp_seconds(id)", pa.timestamp("ms", "UTC")),
        (
            pa.array([0], pa.timestamp("ns")),
            "TIMESTAMP_NTZ '9999-12-31 00:00:00' + INTERVAL 1 SECOND",
            pa.timestamp("us"),
        ),
        (
            pa.array([[0]], pa.list_(pa.timestamp("ms", "UTC"))),
            "array(timestamp_micros(id))",
            pa.list_(pa.timestamp("us", "UTC")),
        ),
        (
            pa.array(["a"]).cast(pa.dictionary(pa.int8(), pa.string())),
            "concat('n', id)",
            pa.dictionary(pa.int32(), pa.string()),
        ),
        (pa.array(["a"], pa.large_string()), "nullif(name, 'x')", pa.large_string()),
        (pa.array(["a"]), "nullif(name, 'x')", pa.string()),
    ],
)
def test_columns_of_parquet_become_as_wide_as_what_is_added_needs(
    desk: Desk, held: pa.Array, sql: str, kind: pa.DataType
) -> None:
    """A file is written anew: nothing is refused after all requests that it could hold."""
    fields = [pa.field("id", pa.int32(), nullable=False), pa.field("v", held.type, nullable=False)]
    there = pa.Table.from_arrays([pa.array([0], pa.int32()), held], schema=pa.schema(fields))
    pq.write_table(there, "x.parquet")
    Path("in.csv").write_text("id,name\n" + "".join(f"{number},x\n" for number in range(1, 200)))
    added = f"SELECT int(id) AS id, {sql} AS v FROM 'in.csv'"
    assert into("x.parquet", "--append", sql=added) == 0
    assert into("fresh.parquet", sql=added) == 0
    rows = pq.ParquetFile("x.parquet").read()
    assert rows.schema.types == [pa.int32(), kind]
    assert not rows.schema.field("id").nullable
    assert rows.to_pylist() == [*there.to_pylist(), *pq.read_table("fresh.parquet").to_pylist()]


def test_moments_finer_than_sql_has_are_others_than_its_own(desk: Desk) -> None:
    at = pa.array([1_000, 2_001, None], pa.timestamp("ns", "UTC"))
    pq.write_table(pa.table({"at": at, "id": pa.array([1, 2, 3], pa.int32())}), "x.parquet")
    desk.rows = [(1, "one"), (2, "two")]
    assert into("x.parquet", "--upsert", "at", sql="SELECT timestamp_micros(id) AS at, id FROM t") == 0
    kept = pq.read_table("x.parquet").column("at").cast(pa.int64()).to_pylist()
    assert kept == [2_001, None, 1_000, 2_000]
