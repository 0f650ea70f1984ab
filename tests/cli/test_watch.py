"""`fff watch`: rows that come, go and change between one run and the next, and between one watch and the next."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import json
import math
import os
import random
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from aiohttp import web

from fff_cli.app import run as fff
from fff_cli.watch.changes import LastResult, compared, paired
from fff_cli.watch.command import seconds
from tests.web.serving import serving_beside


class Moving:
    """A table whose rows are others at every request; None is a failure."""

    def __init__(self, *states: list[tuple[int, str]] | None) -> None:
        self.states = list(states)
        self.asked = self.renewed = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        rows = self.states[min(self.asked, len(self.states) - 1)]
        self.asked += 1
        if rows is None:
            return web.json_response({"error": "down"}, status=403)
        etag = f'"{hash(tuple(rows))}"'
        if request.headers.get("If-None-Match") == etag:
            self.renewed += 1
            return web.Response(status=304, headers={"ETag": etag})
        body = [{"id": id_, "name": name} for id_, name in rows]
        return web.json_response(body, headers={"ETag": etag})

    @contextlib.contextmanager
    def serving(self, folder: Path) -> Iterator[None]:
        with serving_beside(self.answer) as url:
            table = {
                "columns": {"id": "int", "name": "string"},
                "scan": {"endpoint": {"path": "t", "paginator": "single_page"}},
            }
            client = {"base_url": url, "retry": {"max_attempts": 1}}
            spec = {"version": 1, "sources": {"web": {"client": client, "tables": {"t": table}}}}
            (folder / "fff.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
            yield


A, B, C = (1, "one"), (2, "two"), (3, "three")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path


def watched(*more: str, times: int = 3) -> int:
    return fff(
        ["watch", "SELECT id, name FROM t", "-s", "fff.yaml", "--every", "0.2s", "--times", str(times), *more]
    )


def test_rows_that_come_and_go_are_shown_and_what_stays_is_not(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Moving([A, B], [A, B, C, C], [(2, "TWO"), C]).serving(here):
        assert watched("-o", "csv") == 0
    shown = capfd.readouterr()
    assert shown.out.splitlines() == [
        "change,id,name",
        *["+,3,three"] * 2,
        "-,1,one",
        "-,2,two",
        "-,3,three",
        "+,2,TWO",
    ]
    told = [line.split(" ", 1)[1] for line in shown.err.splitlines()]
    assert told == ["2 rows to compare with", "4 rows: 2 new", "2 rows: 1 new, 3 gone"]


def test_a_key_tells_what_has_changed_and_a_command_gets_it(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Moving([A, B], [(1, "ONE"), C]).serving(here):
        assert watched("--key", "ID", "-q", "-o", "ndjson", "--run", "cat > got.ndjson", times=2) == 0
    shown = capfd.readouterr()
    expected = [
        {"change": "-", "id": 2, "name": "two"},
        {"change": "~", "id": 1, "name": "ONE"},
        {"change": "+", "id": 3, "name": "three"},
    ]
    assert [json.loads(line) for line in shown.out.splitlines()] == expected
    assert [json.loads(line) for line in (here / "got.ndjson").read_text().splitlines()] == expected
    assert shown.err == ""


def test_columns_that_come_and_go_hide_no_row_that_changes(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = '[{"id": 1, "price": 10, "note": "x"}, {"id": 2, "price": 20, "note": "y"}]'
    for text, key in (
        (rows, "id"),
        (rows.replace("10", "10.5"), "id"),
        ('[{"price": 11, "id": 1, "more": 1}, {"price": 20, "id": 2, "more": 2}]', "id"),
        ('[{"key": 1, "price": 1}]', "key"),
    ):
        (here / "t.json").write_text(text)
        asked = ["watch", "SELECT * FROM 't.json'", "--times", "1", "-o", "csv", "--run", "cat >> got"]
        assert fff([*asked, "--key", key]) == 0
    shown = capfd.readouterr()
    assert shown.out.splitlines() == [
        "change,id,price,note",
        "~,1,10.5,x",
        "change,price,id,more",
        "~,11.0,1,1",
    ]
    assert [line.split(" ", 1)[1] for line in shown.err.splitlines()] == [
        "2 rows to compare with",
        "column price was bigint and is double",
        "2 rows: 1 changed",
        "column price was double and is bigint",
        "column more has come",
        "column note has gone",
        "2 rows: 1 changed",
        "column key has come",
        "column id has gone",
        "column more has gone",
        "1 row to compare with",
    ]
    assert (here / "got").read_text().count("\n") == 2


@pytest.mark.parametrize(
    ("before", "after", "changed", "told"),
    [
        ([None, None], ["x", None], ["x"], []),
        ([None, 2], [None, None], [None], []),
        ([10, 20], ["10", "twenty"], ["twenty"], ["column v was bigint and is string"]),
        ([[1], [2]], [[1.0], [2.5]], [[2.5]], ["column v was array<bigint> and is array<double>"]),
        ([{"a": 1}], [{"a": 1, "b": 2}], [{"a": 1, "b": 2}],
         ["column v was struct<a:bigint> and is struct<a:bigint,b:bigint>"]),
        ([2**60 + 1, None], [0.5, None], ["0.5"], ["column v was bigint and is double"]),
        ([True], [1], ["1"], ["column v was boolean and is bigint"]),
    ],
)  # fmt: skip
def test_values_are_compared_in_a_type_that_holds_both(
    before: list[object], after: list[object], changed: list[object], told: list[str]
) -> None:
    old, new = (pa.table({"k": range(len(one)), "v": pa.array(one)}) for one in (before, after))
    pair = paired(old, new)
    assert compared(pair.before, pair.after, ["k"], pair.on).rows.column("v").to_pylist() == changed
    assert list(pair.told) == told


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (pa.array([1, 2, None]), pa.array([1, Decimal("2.50"), None], pa.decimal128(3, 2)), ["2.5"]),
        (pa.array([2**53 + 1, 2, -4, 0]), pa.array([float(2**53), 2.0, -4.0, -0.0]), ["9007199254740992"]),
        (pa.array([2**60, 10, 3]), pa.array([float(2**60), 10.0, 3.5]), ["3.5"]),
        (pa.array([2**60, 2]), pa.array([float("nan"), 2.0]), ["nan"]),
        (pa.array([Decimal(1), None], pa.decimal128(38, 0)),
         pa.array([Decimal("1.00"), Decimal("0.10")], pa.decimal128(38, 37)), [Decimal("0.1")]),
        (pa.array([Decimal("1.10")]), pa.array([1.1]), []),
        (pa.array([18262, None], pa.date32()),
         pa.array([1577836800000000, 5], pa.timestamp("us")),
         [dt.datetime(1970, 1, 1, microsecond=5)]),  # noqa: DTZ001 - as the column has it
        (pa.array([18262], pa.date32()), pa.array([1577836800000000], pa.timestamp("us", "UTC")), []),
        (pa.array([1577836800000000, 5], pa.timestamp("us")), pa.array([18262, 0], pa.date32()),
         [dt.datetime(1970, 1, 1)]),  # noqa: DTZ001 - as the column has it
    ],
)  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_a_value_is_the_same_in_another_type(
    before: pa.Array, after: pa.Array, changed: list[object], *, turned: bool
) -> None:
    """However little of one type goes into the other."""
    sides = [pa.table({"k": range(len(one)), "v": one}) for one in (before, after)]
    pair = paired(*(reversed(sides) if turned else sides))
    found = compared(pair.before, pair.after, ["k"], pair.on).rows.column("v").to_pylist()
    assert len(found) == len(changed)
    assert turned or found == changed


def test_rows_of_an_empty_result_have_all_come_whatever_its_columns_are() -> None:
    empty, full = pa.table({}), pa.table({"id": [1, 2]})
    pair = paired(empty, full)
    assert (compared(pair.before, pair.after, ["id"], pair.on).come, pair.told) == (2, ())
    pair = paired(full, empty)
    assert (compared(pair.before, pair.after, ["id"], pair.on).gone, pair.told) == (2, ())
    twins = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])
    assert (paired(full, twins).on, len(paired(full, twins).told)) == ((), 1)
    assert paired(twins, twins).told == ()


@pytest.mark.parametrize("moved", ["FFF_SOURCES", "FFF_WEB_BASE_URL", "folder", "spec"])
def test_what_is_read_elsewhere_is_not_compared_with_what_was_read_here(
    moved: str, here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sql, asked = "SELECT id, name FROM t", [] if moved == "FFF_SOURCES" else ["-s", str(here / "fff.yaml")]
    once = ["watch", sql if moved != "folder" else "SELECT * FROM 'own.csv'", *asked, "--times", "1"]
    (here / "other").mkdir()
    (here / "own.csv").write_text("id\n1\n")
    (here / "other" / "own.csv").write_text("id\n2\n")
    with Moving([A]).serving(here / "other"), Moving([A, B]).serving(here):
        spec = (here / "other" / "fff.yaml").read_text()
        monkeypatch.setenv("FFF_SOURCES", str(here / "fff.yaml"))
        assert fff(once) == 0
        if moved == "FFF_SOURCES":
            monkeypatch.setenv("FFF_SOURCES", str(here / "other" / "fff.yaml"))
        elif moved == "FFF_WEB_BASE_URL":
            url = yaml.safe_load(spec)["sources"]["web"]["client"]["base_url"]
            monkeypatch.setenv("FFF_WEB_BASE_URL", url)
        elif moved == "folder":
            monkeypatch.chdir(here / "other")
        else:
            (here / "fff.yaml").write_text(spec)
        assert fff(once) == 0
        assert fff(once) == 0
    told = [line.split(" ", 2)[2] for line in capfd.readouterr().err.splitlines()]
    assert [line.split()[-1] for line in told] == ["with", "with", "change"], told


def test_the_next_watch_begins_where_the_last_one_ended(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    site = Moving([A], [A], [A, B])
    with site.serving(here):
        assert watched("-o", "csv", times=1) == 0
        assert watched("-o", "csv", times=2) == 0
    assert capfd.readouterr().out.splitlines() == ["change,id,name", "+,2,two"]
    assert site.renewed == 1, "what had not changed was not sent again"
    kept = next((here / "XDG_STATE_HOME" / "fff" / "watch").iterdir())
    assert not kept.stat().st_mode & 0o077


@pytest.mark.parametrize("where", ["none", "no folder", "no file"])
def test_a_result_that_cannot_be_kept_is_compared_all_the_same(
    where: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    state = here / "XDG_STATE_HOME"
    if where == "none":
        monkeypatch.delenv("XDG_STATE_HOME")
        monkeypatch.delenv("HOME", raising=False)
    elif where == "no folder":
        state.write_text("a file where the folder would be")
    else:
        monkeypatch.setattr(Path, "replace", _full_disk)
    with Moving([A], [A, B], [A, B, C]).serving(here):
        assert watched("-o", "csv", "--no-cache") == 0
    shown = capfd.readouterr()
    assert shown.out.splitlines() == ["change,id,name", "+,2,two", "+,3,three"]
    assert shown.err.count("warning: the last result cannot be kept for a watch that is started later") == 1
    assert not list(here.rglob("*.part"))


def _full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_source_that_fails_is_told_of_and_not_compared(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Moving([A, B], None, [A, C]).serving(here):
        assert watched("-o", "csv") == 4
    shown = capfd.readouterr()
    assert shown.out.splitlines() == ["change,id,name", "-,2,two", "+,3,three"]
    assert "error: web.t: HTTP 403" in shown.err


@pytest.mark.slow
def test_what_is_partial_is_not_compared(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Moving([A, B]).serving(here):
        assert watched(times=1) == 0
        assert watched("--deadline", "0", times=1) == 3
        assert watched(times=1) == 0
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "PARTIAL" in shown.err
    assert "what is partial is not compared" in shown.err
    assert shown.err.splitlines()[-1].endswith("2 rows: no change")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--key", "no"], "the result has no column 'no' to tell rows apart by"),
        (["-o", "parquet"], "changes are not written as parquet"),
        (["--every", "soon"], "not a time such as 30s, 5m, 1h or 1d"),
    ],
)
def test_what_cannot_be_watched_is_said(
    more: list[str], said: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Moving([A]).serving(here):
        assert watched(*more) == 2
    assert said in capfd.readouterr().err


@pytest.mark.parametrize(
    ("said", "meant"), [("30s", 30), ("5m", 300), ("1.5h", 5400), ("2d", 172800), ("7", 7)]
)
def test_times_are_read(said: str, meant: float) -> None:
    assert seconds(said) == meant


def test_changes_make_the_later_of_any_two_bags_of_the_earlier() -> None:
    draw = random.Random(7)
    schema = pa.schema([("k", pa.int64()), ("v", pa.list_(pa.float64()))])
    values: list[list[float] | None] = [None, [], [1.0], [math.nan], [-0.0], [0.0]]

    def bag() -> list[tuple[int | None, list[float] | None]]:
        return [(draw.choice([None, 1, 2, 3]), draw.choice(values)) for _ in range(draw.randrange(8))]

    def table(rows: list[tuple[int | None, list[float] | None]]) -> pa.Table:
        return pa.Table.from_pylist([{"k": k, "v": v} for k, v in rows], schema)

    for _ in range(300):
        before, after = bag(), bag()
        changes = compared(table(before), table(after), ())
        marks, ks, vs = (column.to_pylist() for column in changes.rows.columns)
        made = Counter(map(repr, before))
        for mark, row in zip(marks, zip(ks, vs, strict=True), strict=True):
            made[repr(row)] += {"+": 1, "-": -1}[mark]
        assert +made == Counter(map(repr, after))
        assert min(made.values(), default=0) >= 0
        assert changes.gone + changes.come == len(marks)
        assert not set(zip(marks, map(repr, ks), map(repr, vs), strict=True)) & {
            ("+" if mark == "-" else "-", repr(k), repr(v)) for mark, k, v in zip(marks, ks, vs, strict=True)
        }, "no row both comes and goes"


def test_what_cannot_be_read_of_the_last_watch_is_as_good_as_none(tmp_path: Path) -> None:
    last = LastResult(tmp_path, ["x"])
    assert last.read() is None
    last.write(pa.table({"a": [1]}))
    assert LastResult(tmp_path, ["x"]).read() == pa.table({"a": [1]})
    file = next((tmp_path / "watch").iterdir())
    os.truncate(file, 20)
    assert LastResult(tmp_path, ["x"]).read() is None
    assert LastResult(None, ["x"]).read() is None
