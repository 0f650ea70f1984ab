"""`fff refresh`: a file is what the statement would write now, or stays as it is; what has changed is told."""

from __future__ import annotations

import contextlib
import hashlib
import json
import stat
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from aiohttp import web

from fff.errors import UsageError
from fff_cli.app import run as fff
from fff_cli.output.formats import writer
from fff_cli.output.readback import read_back
from fff_cli.watch.changes import compared
from tests.sampling import every
from tests.web.serving import serving_beside

Row = tuple[int, str | None, str]


class Desk:
    """Rows of id, name and moment of change, two a page; it tells what has changed since, and knows validators."""

    def __init__(self, *rows: Row) -> None:
        self.rows = list(rows)
        self.since: list[str | None] = []  # what each request said
        self.bodies = 0  # answers that were sent in full
        self.down: int | None = None  # the page that cannot be had

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        since, page = request.query.get("since"), int(request.query["page"])
        self.since.append(since)
        if self.down == page:
            return web.json_response({"error": "down"}, status=403)
        rows = [
            dict(zip(("id", "name", "at"), row, strict=True)) for row in self.rows if row[2] >= (since or "")
        ]
        body = json.dumps({"rows": rows[2 * page - 2 : 2 * page], "pages": max(1, -(-len(rows) // 2))})
        etag = f'"{hashlib.sha256(body.encode()).hexdigest()[:16]}"'
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers={"ETag": etag})
        self.bodies += 1
        return web.Response(text=body, content_type="application/json", headers={"ETag": etag})

    @contextlib.contextmanager
    def serving(self, folder: Path, **table: Any) -> Iterator[None]:
        paginator = {"type": "page_number", "base_page": 1, "page_param": "page", "total_path": "pages"}
        with serving_beside(self.answer) as url:
            declared: dict[str, Any] = {
                "columns": {"id": "int", "name": "string", "at": "timestamp"},
                "primary_key": "id",
                "scan": {"endpoint": {"path": "t", "data_selector": "rows", "paginator": paginator}},
            }
            client = {"base_url": url, "retry": {"max_attempts": 1}}
            spec = {"version": 1, "sources": {"web": {"client": client, "tables": {"t": declared | table}}}}
            (folder / "fff.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
            yield


CHANGES = {"column": "at", "param": "since"}
A, B, C = (
    (1, "one", "2024-01-01T00:00:00Z"),
    (2, "two", "2024-01-02T00:00:00Z"),
    (3, None, "2024-01-03T00:00:00Z"),
)
D = (4, "four, 4", "2024-01-04T00:00:00Z")
SQL = "SELECT id, name FROM t"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path


def written(file: str, *more: str, sql: str = SQL) -> int:
    return fff(["query", sql, "-s", "fff.yaml", "-O", file, "--refreshable", *more])


@pytest.mark.parametrize("form", every(4, ["csv", "tsv", "json", "parquet", "ndjson", "arrow", "sqlite"]))
def test_a_file_becomes_what_the_statement_gives_now_and_changes_are_told(
    here: Path, capfd: pytest.CaptureFixture[str], form: str
) -> None:
    desk, file = Desk(A, B, C, D), f"x.{form}"
    with desk.serving(here):
        assert written(file) == 0
        assert stat.S_IMODE((here / f"{file}.fff.json").stat().st_mode) == 0o600
        desk.rows = [A, (2, "TWO", B[2]), C, (5, "", D[2])]
        capfd.readouterr()
        assert fff(["refresh", file, "--key", "id", "-o", "tsv"]) == 0
        shown = capfd.readouterr()
        assert f"{file}: +1 -1 ~1, 4 rows\n" in shown.err
        assert shown.out.splitlines() == ["change\tid\tname", "-\t4\tfour, 4", "~\t2\tTWO", '+\t5\t""']
        rows = sorted(
            map(tuple, (map(str, row.values()) for row in read_back(here / file, form).to_pylist()))
        )
        assert rows == [("1", "one"), ("2", "TWO"), ("3", "None"), ("5", "")]
        assert fff(["query", SQL, "-s", "fff.yaml", "-O", f"y.{form}", "-q"]) == 0
        assert sorted((here / file).read_bytes().splitlines()) == sorted(
            (here / f"y.{form}").read_bytes().splitlines()
        ), "as if it were written now"
        desk.rows[0] = (1, "ONE", A[2])
        assert fff(["refresh", file]) == 0
        assert f"{file}: ~1, 4 rows" in capfd.readouterr().err, "the key is remembered"


@pytest.mark.parametrize("form", ["csv", "json", "sqlite", "parquet"])
def test_changed_rows_have_the_types_of_the_result(
    here: Path, capfd: pytest.CaptureFixture[str], form: str
) -> None:
    desk, file = Desk(A, B), f"x.{form}"
    sql = "SELECT id, name, id * 1.50 AS price, id > 1 AS more, struct(id AS n) AS nested, date(at) AS day FROM t"
    with desk.serving(here):
        assert written(file, sql=sql) == 0
        desk.rows = [A, (5, "7", D[2])]
        capfd.readouterr()
        assert fff(["refresh", file, "--key", "id", "-o", "ndjson"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        '{"change":"-","id":2,"name":"two","price":3.00,"more":true,"nested":{"n":2},"day":"2024-01-02"}',
        '{"change":"+","id":5,"name":"7","price":7.50,"more":true,"nested":{"n":5},"day":"2024-01-04"}',
    ]


def test_pages_that_have_not_changed_are_not_sent_and_the_file_is_not_touched(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(A, B, C, D)
    with desk.serving(here):
        assert written("x.csv") == 0
        inode = (here / "x.csv").stat().st_ino
        desk.bodies = 0
        assert fff(["refresh", "x.csv"]) == 0
        assert "x.csv: no change, 4 rows" in capfd.readouterr().err
        assert (desk.bodies, (here / "x.csv").stat().st_ino) == (0, inode)
        desk.rows[3] = (4, "FOUR", D[2])
        assert fff(["refresh", "x.csv"]) == 0
        assert desk.bodies == 1, "one page of two"


def test_only_what_has_changed_is_asked_for_where_a_table_tells_it(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(A, B, C, D)
    with desk.serving(here, changes=CHANGES):
        assert written("x.parquet") == 0
        desk.rows = [A, C, D, (2, "TWO", "2024-02-01T00:00:00Z"), (6, "six", "2024-02-02T00:00:00Z")]
        desk.rows.remove(A)
        desk.since.clear()
        capfd.readouterr()
        assert fff(["refresh", "x.parquet", "--key", "id", "--report", "r.json"]) == 0
        told = capfd.readouterr().err
        assert set(desk.since) == {"2024-01-02T00:00:00Z"}, (
            "the newest of the first page: others may have changed since"
        )
        assert "x.parquet: +1 ~1, 5 rows" in told
        assert told.count("deletions are not seen") == 1
        assert str(json.loads((here / "r.json").read_text())).count("deletions are not seen") == 1
        assert fff(["refresh", "x.parquet", "--full"]) == 0
        told = capfd.readouterr().err
        assert "x.parquet: -1, 4 rows" in told
        assert "deletions" not in told
        assert sorted(pq.read_table(here / "x.parquet")["id"].to_pylist()) == [2, 3, 4, 6]


def test_an_incomplete_run_leaves_the_file(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    desk = Desk(A, B, C, D)
    with desk.serving(here):
        assert written("x.csv") == 0
        before = (here / "x.csv").read_bytes()
        desk.rows, desk.down = [A, D, C, B], 2
        assert fff(["refresh", "x.csv"]) == 4
        assert "'x.csv' is as it was" in capfd.readouterr().err
        assert fff(["refresh", "x.csv", "--on-source-error", "partial"]) == 3
        assert "'x.csv' is as it was" in capfd.readouterr().err.replace(f"{here}/", "")
        assert (here / "x.csv").read_bytes() == before
        desk.rows.append((5, "five", D[2]))
        desk.down = None
        assert fff(["refresh", "x.csv"]) == 0
        assert "x.csv: +1, 5 rows" in capfd.readouterr().err


def test_what_fails_after_the_file_was_replaced_leaves_it_known(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    full = ("--report", "/dev/full")
    with (desk := Desk(A)).serving(here):
        assert fff(["query", SQL, "-s", "fff.yaml", "-O", "f.csv", "--refreshable", *full]) == 2
        desk.rows.append(B)
        assert fff(["refresh", "f.csv", *full]) == 2
        assert "as it was" not in capfd.readouterr().err
        assert (here / "f.csv").read_text().count("\n") == 3
        assert fff(["refresh", "f.csv"]) == 0
    assert "no change, 2 rows" in capfd.readouterr().err


def test_a_file_that_somebody_has_changed_is_not_replaced(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Desk(A).serving(here):
        assert written("x.csv") == 0
        with (here / "x.csv").open("a") as file:
            file.write("9,mine\n")
        assert fff(["refresh", "x.csv"]) == 2
        assert "somebody has changed it" in capfd.readouterr().err
        assert "mine" in (here / "x.csv").read_text()
        assert fff(["refresh", "x.csv", "--overwrite"]) == 0
        assert "x.csv: -1, 1 row" in capfd.readouterr().err


def test_what_a_file_came_of_is_forgotten_where_another_result_takes_its_place(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Else it would be told that somebody has changed it, and replaced by what it held before."""
    with (desk := Desk(A)).serving(here):
        assert written("x.csv") == 0
        desk.down = 1
        assert fff(
            ["query", "SELECT 1 AS a FROM t", "-s", "fff.yaml", "-O", "x.csv", "--on-source-error", "partial"]
        )
        assert (here / "x.csv.fff.json").exists(), "the file is as it was"
        assert fff(["query", "SELECT 1 AS a", "-O", "x.csv"]) == 0
        assert not (here / "x.csv.fff.json").exists()
        assert fff(["refresh", "x.csv", "--overwrite"]) == 2
        assert "it is not known what" in capfd.readouterr().err
        assert (here / "x.csv").read_text() == "a\n1\n"


@pytest.mark.parametrize("theirs", ['{"mine": 1}', "[]", "[" * 100_000, "no JSON", ""], ids=range(5))
def test_a_file_of_others_that_is_called_so_stays(here: Path, theirs: str) -> None:
    Path("z.csv.fff.json").write_text(theirs)
    assert fff(["query", "SELECT 1 AS a", "-O", "z.csv"]) == 0
    assert Path("z.csv.fff.json").read_text() == theirs


def test_what_a_file_came_of_stays_beside_a_folder(here: Path) -> None:
    with Desk(A).serving(here):
        assert written("x.csv") == 0
        kept = Path("x.csv.fff.json").rename("zz.fff.json").read_bytes()
        assert fff(["query", "SELECT 1 AS a", "-O", "zz/"]) == 0
        assert Path("zz.fff.json").read_bytes() == kept


def test_what_a_stranger_says_beside_a_file_is_not_run(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(A)
    with desk.serving(here):
        assert written("x.csv") == 0
        about = here / "x.csv.fff.json"
        mine = about.read_text()
        about.write_text(mine.replace("SELECT id,", "SELECT 7, id,"))
        desk.since.clear()
        assert fff(["refresh", "x.csv"]) == 2
        assert "not written by FFF for this user" in capfd.readouterr().err
        about.write_text(mine)
        monkeypatch.setenv("XDG_STATE_HOME", str(here / "elsewhere"))
        assert fff(["refresh", "x.csv"]) == 2
        assert desk.since == []
        about.unlink()
        assert fff(["refresh", "x.csv"]) == 2
        assert "--refreshable" in capfd.readouterr().err


def test_it_runs_from_anywhere_with_the_parameters_of_then_but_for_secret_ones(
    here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(A, B, C)
    with desk.serving(here):
        sql = "SELECT id, :gh_token AS told FROM t WHERE id > :least"
        assert written("x.csv", "-p", "least=1", "-p", "gh_token:string=hush-hush", sql=sql) == 0
        about = (here / "x.csv.fff.json").read_text()
        assert "least=1" in about
        assert "hush-hush" not in about
        (here / "away").mkdir()
        monkeypatch.chdir(here / "away")
        desk.rows.append(D)
        assert fff(["refresh", "../x.csv"]) == 2
        assert "-p gh_token" in capfd.readouterr().err
        assert fff(["refresh", "../x.csv", "-p", "gh_token:string=hush-hush"]) == 0
        assert "../x.csv: +1, 3 rows" in capfd.readouterr().err
        again = ["refresh", str(here / "x.csv"), "-p", "gh_token:string=hush-hush"]
        assert fff([*again, "-p", "least=2"]) == 0
        about = (here / "x.csv.fff.json").read_text()
        assert "least=2" in about
        assert "hush-hush" not in about
        capfd.readouterr()
        assert fff(again) == 0
        assert "no change" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["-o", "table"], "cannot be compared"),
        (["--replay", "."], "exclude each other"),
        (["--no-cache"], "--refreshable and --no-cache exclude each other"),
        (["-f", "two.sql"], "several statements"),
    ],
)
def test_what_cannot_be_refreshed_is_refused_before_anything_is_asked(
    here: Path, capfd: pytest.CaptureFixture[str], more: list[str], told: str
) -> None:
    (here / "two.sql").write_text("SELECT 1; SELECT 2")
    desk = Desk(A)
    with desk.serving(here):
        sql = [] if "-f" in more else [SQL]
        assert fff(["query", *sql, "-s", "fff.yaml", "-O", "x.csv", "--refreshable", *more]) == 2
    assert told in capfd.readouterr().err
    assert desk.since == []
    assert sorted(path.name for path in here.glob("x*")) == []


def test_nobody_who_did_not_ask_for_it_gets_a_file_beside_the_result(here: Path) -> None:
    with Desk(A).serving(here):
        assert fff(["query", SQL, "-s", "fff.yaml", "-O", "x.csv"]) == 0
    assert [path.name for path in here.glob("x*")] == ["x.csv"]


@pytest.mark.parametrize("form", ["csv", "tsv", "ndjson", "json", "parquet", "arrow", "sqlite"])
@pytest.mark.parametrize(
    "rows",
    [
        {"a": []},
        {"a": [None, "", "x"]},
        {"a": ['say "it",\nand\tmore', "1.10", "NULL"], "b": [1, None, 3]},
        {"a": [Decimal("1.10"), None], "b": [b"\x00\xff", b""], "c": [[1, 2], None]},
    ],
)
def test_what_is_read_back_is_told_apart_as_it_was_written(
    tmp_path: Path, form: str, rows: dict[str, list[object]]
) -> None:
    batch = pa.RecordBatch.from_pydict(rows)
    if not batch.num_rows:
        batch = pa.RecordBatch.from_pydict({"a": pa.array([], pa.string())})

    def file(name: str, *batches: pa.RecordBatch) -> pa.Table:
        with (tmp_path / name).open("wb") as data:
            out = writer(form, data, None)
            out.begin(batch.schema)
            for one in batches:
                out.write(one)
            out.end()
        return read_back(tmp_path / name, form)

    whole = file("whole", batch)
    assert whole.num_rows == batch.num_rows
    assert not compared(whole, file("again", batch.slice(1), batch.slice(0, 1)), [])
    if batch.num_rows:
        changes = compared(whole, file("less", batch.slice(1)), [])
        assert (changes.gone, changes.come) == (1, 0)


def test_values_of_json_are_told_by_name_and_lines_end_where_json_has_them(tmp_path: Path) -> None:
    file = tmp_path / "rows.ndjson"
    file.write_text('{"a": 1, "b": 2}\n{"b": 1, "a": 2}\n', encoding="utf-8")
    assert read_back(file, "ndjson").to_pylist() == [{"a": "1", "b": "2"}, {"a": "2", "b": "1"}]
    file.write_text('{"a": "one\u2028line\u0085more"}\n{"a": null}\n', encoding="utf-8")
    assert read_back(file, "ndjson").to_pylist() == [{"a": "one\u2028line\u0085more"}, {"a": None}]
    file.write_text('{"a": 1}\n{"b": 1}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="row 2 has other columns than the first"):
        read_back(file, "ndjson")
    file.write_text("", encoding="utf-8")
    assert read_back(file, "ndjson").num_rows == 0
