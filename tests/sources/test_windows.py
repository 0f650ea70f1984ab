"""Scans in windows of a date or a number, over a real wire: no row lost on a border, none twice, nothing silently left out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import fff
from fff_sources.load import lint
from tests.sampling import every_row
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
ROWS: list[dict[str, Any]] = [
    {
        "id": at,
        "n": at - 3,
        "at": (dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=6 * at)).isoformat()[:19],
    }
    for at in range(-8, 40)
]
WITHOUT: list[dict[str, Any]] = [{"id": 100, "n": None, "at": None}]


class Events:
    """Events by time or number, at most `cap` of them for a question; keeps the time of day, and what was asked."""

    def __init__(self, cap: int = 1000, *, nulls: bool = False, deaf: bool = False) -> None:
        self.cap = cap
        self.rows = ROWS + (WITHOUT if nulls else [])
        self.deaf = deaf
        self.asked: list[dict[str, str]] = []

    async def answer(self, request: web.Request) -> web.Response:
        asked = {name: text for name, text in request.query.items() if name not in ("offset", "limit")}
        start = int(request.query.get("offset", 0))
        if not start:
            self.asked.append(asked)
        column = "n" if request.path == "/numbers" else "at"
        found = self.rows
        if "missing" in asked:
            found = [row for row in found if row[column] is None]
        for name, text in asked.items() if not self.deaf else ():
            if name in ("from", "after", "to", "until"):
                bound: Any = float(text) if column == "n" else text.removesuffix("Z")
                tests = {
                    "from": lambda value, bound=bound: value >= bound,
                    "after": lambda value, bound=bound: value > bound,
                    "to": lambda value, bound=bound: value < bound,
                    "until": lambda value, bound=bound: value <= bound,
                }
                found = [row for row in found if row[column] is not None and tests[name](row[column])]
        page = found[: self.cap][start : start + 4]
        return web.json_response({"rows": page, "total": min(len(found), self.cap)})


def spec(served: Served, windows: str, *, kind: str = "date", keys: str = '">=": from, "<": to') -> str:
    operators = keys.replace(": from", "").replace(": to", "").replace(": until", "").replace(": after", "")
    column, path = ("n", "numbers") if kind in ("int", "bigint", "decimal(9,2)") else ("at", "events")
    endpoint = f"endpoint: {{path: {path}, data_selector: rows, paginator: {{type: offset, page_size: 4, total_path: total}}}}"
    columns = f"columns: {{id: int, {column}: '{kind}'}}"
    return f"""
version: 1
sources:
  api:
    client: {{base_url: '{served.url}', retry: {{max_attempts: 1}}}}
    tables:
      t:
        {columns}
        key_columns: [{{name: {column}, operators: [{operators}], param: {{{keys}}}}}]
        scan: {{{endpoint}, windows: {{column: {column}, {windows}}}}}
      plain: {{{columns}, scan: {{{endpoint}}}}}
"""


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: int(row["id"]))


DATES = "start: 2024-01-01, end: 2024-01-09, size: 2, nulls: none"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "windows", "keys", "asked"),
    [
        ("date", DATES, '">=": from, "<": to', 6),
        ("date", DATES, '">=": from, "<=": until', 6),
        ("date", DATES, '">": after, "<=": until', 6),
        ("date", f"{DATES}, exact: false", '">": after, ">=": from, "<": to, "<=": until', 6),
        ("date", "start: 2024-01-01, size: 90, nulls: none", '">=": from, "<": to', 3),
        ("timestamp", "start: 2024-01-01T03:00:00, end: 2024-01-04, size: 0.75, nulls: none", '">=": from, "<": to', 6),
        ("timestamp", f"{DATES}, exact: true", '">=": from, "<=": until', 6),
        ("timestamp_ntz", DATES, '">": after, "<": to', 6),
        ("int", "start: -5, end: 22, size: 9, nulls: none", '">=": from, "<": to', 5),
        ("bigint", "start: -5, end: 22, size: 10, nulls: none", '">": after, "<=": until', 5),
        ("decimal(9,2)", "start: 0, end: 30, size: 15, nulls: none", '">=": from, "<=": until', 4),
    ],
)  # fmt: skip
async def test_windows_together_are_the_table(
    serve: Serve, read: Read, *, kind: str, windows: str, keys: str, asked: int
) -> None:
    events = Events()
    # A server that stands in for the clock: without an end the windows go on until today, which is 2023 here.
    late = "size: 90" in windows
    served = await serve(events.answer)
    reader = read(
        spec(served, windows.replace("2024-01-01", "2023-09-01") if late else windows, kind=kind, keys=keys)
    )
    plain = in_order(await reader.scan("plain"))
    events.asked.clear()
    assert in_order(await reader.scan("t", window=4)) == plain
    assert len(events.asked) == asked
    assert reader.truncated == []
    names = ["id"]  # the column need not be wanted
    assert sorted(row["id"] for row in await reader.scan("t", names)) == [row["id"] for row in plain]


async def test_a_list_that_is_cut_is_whole_in_windows(serve: Serve, read: Read) -> None:
    events = Events(cap=12)
    reader = read(spec(await serve(events.answer), "start: 2024-01-01, end: 2024-01-11, size: 1, exact: true, nulls: none", keys='">=": from, "<=": until'))  # fmt: skip
    assert len(await reader.scan("plain")) == 12
    assert [row["id"] for row in in_order(await reader.scan("t"))] == [row["id"] for row in ROWS]


@pytest.mark.parametrize(
    ("where", "asked"),
    every_row(
        2,
        [
            ("at >= DATE '2024-01-05'", 4),
            ("at = DATE '2024-01-03'", 3),
            ("at BETWEEN DATE '2024-01-06' AND DATE '2024-01-07' AND id > 20", 3),
            ("at < DATE '2023-01-01'", 1),
            ("at > DATE '2030-01-01'", 1),
            ("id > 20", 6),
        ],
    ),
)
async def test_conditions_choose_the_windows(serve: Serve, tmp_path: Path, where: str, asked: int) -> None:
    events = Events()
    text = spec(await serve(events.answer), DATES)
    (tmp_path / "fff.yaml").write_text(text, encoding="utf-8")
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        plain = await federation.sql(f"SELECT * FROM plain WHERE {where}")
        events.asked.clear()
        result = await federation.sql(f"SELECT * FROM t WHERE {where}")
        assert result.complete
        assert in_order(result.to_arrow().to_pylist()) == in_order(plain.to_arrow().to_pylist())
        assert len(events.asked) <= asked, events.asked
        assert all(one.get("to", "9") > "2024-01-03" for one in events.asked) or asked in (1, 3, 6)


async def test_outside_none_asks_for_what_is_between(serve: Serve, read: Read) -> None:
    events = Events()
    reader = read(spec(await serve(events.answer), f"{DATES}, outside: none, exact: true"))
    rows = await reader.scan("t")
    assert [row["id"] for row in in_order(rows)] == [one["id"] for one in ROWS if "2024-01-01" <= one["at"] < "2024-01-09"]  # fmt: skip
    starts = [dt.date(2024, 1, day) for day in (1, 3, 5, 7)]
    wanted = [{"from": str(one), "to": str(one + dt.timedelta(days=2))} for one in starts]
    assert sorted(events.asked, key=str) == sorted(wanted, key=str)


async def test_rows_outside_where_there_should_be_none(serve: Serve, tmp_path: Path) -> None:
    events = Events()
    served = await serve(events.answer)
    (tmp_path / "fff.yaml").write_text(spec(served, f"{DATES}, outside: none"), encoding="utf-8")
    async with fff.connect_async(tmp_path / "fff.yaml", on_source_error="partial") as federation:
        for where, said in {
            "": ["before 2024-01-01", "from 2024-01-09 on"],
            "WHERE at >= DATE '2024-01-03'": ["from 2024-01-09 on"],
            "WHERE at BETWEEN DATE '2024-01-01' AND DATE '2024-01-08'": [],
        }.items():
            result = await federation.sql(f"SELECT * FROM t {where}")
            missing = [one["reason"] for one in result.report["missing"]]
            assert sorted(missing) == [
                f"rows came with at {side}, where the spec says there are none (windows.outside)"
                for side in said
            ]


async def test_rows_without_a_value(serve: Serve, tmp_path: Path) -> None:
    events = Events(nulls=True)
    served = await serve(events.answer)
    every = len(events.rows)
    for nulls, where, rows, missing, asked in (
        ("nulls: {missing: 1}", "", every, None, 7),
        ("nulls: {missing: 1}", "WHERE at IS NULL", 1, None, 7),
        ("nulls: {missing: 1}", "WHERE at > DATE '2023-01-01'", every - 1, None, 6),
        ("size: 2", "", every - 1, "rows without at are not asked for", 6),
        ("size: 2", "WHERE at > DATE '2023-01-01'", every - 1, None, 6),
    ):
        windows = "start: 2024-01-01, end: 2024-01-09, size: 2, nulls: none"
        windows = (
            windows.replace("nulls: none", nulls) if "{" in nulls else windows.removesuffix(", nulls: none")
        )
        (tmp_path / "fff.yaml").write_text(spec(served, windows), encoding="utf-8")
        events.asked.clear()
        async with fff.connect_async(tmp_path / "fff.yaml", on_source_error="partial") as federation:
            result = await federation.sql(f"SELECT * FROM t {where}")
            assert len(result.to_arrow()) == rows, (nulls, where)
            assert len(events.asked) == asked, (nulls, where)
            assert result.complete is (missing is None), (nulls, where)
            if missing is not None:
                assert missing in result.report["missing"][0]["reason"]


async def test_a_source_that_does_not_hear_is_told_of(serve: Serve, read: Read) -> None:
    events = Events(nulls=True, deaf=True)
    reader = read(spec(await serve(events.answer), DATES))
    assert [row["id"] for row in in_order(await reader.scan("t"))] == [row["id"] for row in ROWS]
    assert any("seems to ignore the parameters of at" in one for one in reader.meter.warnings)
    assert "rows came without at, of which the spec says there are none" in reader.truncated


async def test_of_a_window_that_is_not_whole_just_that_is_missing(serve: Serve, tmp_path: Path) -> None:
    events = Events()
    text = spec(
        await serve(events.answer), "start: 2024-01-01, end: 2024-01-09, size: 8, exact: true, nulls: none"
    )
    text = text.replace("page_size: 4,", "page_size: 4, maximum_offset: 12,")
    (tmp_path / "fff.yaml").write_text(text, encoding="utf-8")
    async with fff.connect_async(tmp_path / "fff.yaml", on_source_error="partial") as federation:
        result = await federation.sql("SELECT * FROM t")
    assert len(result.to_arrow()) < len(ROWS)
    (part,) = result.report["missing"]
    assert part["predicate"] == "at >= '2024-01-01' AND at < '2024-01-09'"


def test_explain_tells_of_windows(tmp_path: Path) -> None:
    text = spec(Served("http://127.0.0.1:9", 9), "start: 2024-01-01, end: 2024-01-09, size: 2")
    (tmp_path / "fff.yaml").write_text(text, encoding="utf-8")
    with fff.connect(tmp_path / "fff.yaml") as federation:
        said = federation.explain("SELECT * FROM t")
    assert "scanned in windows of at, from 2024-01-01 on" in said
    assert "complete only under a condition on at" in said
    assert "api.t.scan: at least 6 requests" in said


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        (
            "column: bt, start: 2024-01-01, end: 2024-02-01, size: 2",
            "'bt' is not a column\n  declare it under columns",
        ),
        ("column: id, start: 1, end: 9, size: 2", "no parameters say a range of id"),
        ("column: id, start: 1, size: 2", "numbers have no end of their own"),
        ("column: id, start: 1, end: 9, size: 0.5", "0.5 is not a whole number"),
        ("column: at, start: later, size: 2", "is not a date"),
        ("column: at, start: 2024-02-01, end: 2024-01-01, size: 2", "2024-01-01 is not behind 2024-02-01"),
        ("column: at, start: 1000-01-01, end: 2024-01-01, size: 1", "more than 10,000 windows"),
        ("column: at, start: 2024-02-01, size: 0", "above 0"),
        ("column: at, start: 2024-02-01, length: 3", "unknown key"),
        ("column: at, start: 2024-01-01, size: 1", None),
    ],
)
def test_lint_finds_what_is_wrong(tmp_path: Path, windows: str, message: str | None) -> None:
    text = spec(Served("http://127.0.0.1:9", 9), "WINDOWS").replace("column: at, WINDOWS", windows)
    (tmp_path / "fff.yaml").write_text(text, encoding="utf-8")
    problems = [str(one) for one in lint(tmp_path / "fff.yaml")]
    assert (problems == []) if message is None else any(message in one for one in problems), problems


async def test_the_example_of_the_reference_runs(serve: Serve, read: Read) -> None:
    days = [dt.date(2019, 12, 1) + dt.timedelta(days=70 * at) for at in range(20)]

    async def answer(request: web.Request) -> web.Response:
        low, high = request.query.get("starttime", "0"), request.query.get("endtime", "9")
        found = [{"id": str(day), "day": str(day)} for day in days if low <= str(day) < high]
        return web.json_response(found[int(request.query["offset"]) :])

    text = (Path(__file__).parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")
    (example,) = (one for one in text.split("```yaml\n") if "windows: {column: day" in one.split("```")[0])
    example = example.split("```")[0].replace(", total_path: total", "")
    served = await serve(answer)
    reader = read(example, FFF_QUAKES_BASE_URL=served.url)
    assert sorted(row["day"] for row in await reader.scan("events", window=8)) == days


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamp_ntz", "bigint", "decimal(9,2)"])
@pytest.mark.parametrize("size", [".inf", ".nan", "1.0e+30", "3.0e+6", "-.inf"])
def test_windows_of_no_size_are_told_by_lint(tmp_path: Path, kind: str, size: str) -> None:
    start, end = ("2024-01-01", "2024-03-01") if kind.startswith(("date", "time")) else ("1", "90")
    windows = f"windows: {{column: at, start: '{start}', end: '{end}', size: {size}, nulls: none}}"
    keys = "key_columns: [{name: at, operators: ['>=', '<'], param: {'>=': from, '<': to}}]"
    file = tmp_path / "fff.yaml"
    file.write_text(
        "version: 1\nsources: {s: {client: {base_url: 'http://localhost'}, tables: {t: {"
        f"columns: {{at: '{kind}'}}, {keys}, scan: {{endpoint: r, {windows}}}}}}}}}}}\n",
        encoding="utf-8",
    )
    told = [str(problem) for problem in lint(file)]
    longer = size == "1.0e+30" and kind.startswith(("date", "time"))
    assert bool(told) == (longer or size in (".inf", ".nan", "-.inf")), told
    assert not longer or any("longer than any time" in text for text in told)
