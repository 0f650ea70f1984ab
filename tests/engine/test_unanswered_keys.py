"""Keys that no answer tells of: the answer says that it lacks them, unless another access method brings their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from aiohttp import web

from fff.access.checked import CheckedSource
from fff.access.disk.policy import RowCache
from fff.catalog import KeyColumn, Keys, LookupMethod, Page, Table
from fff.schema import Field, schema_of
from fff.stats import AccessMeter
from tests.engine.duck import over_duck
from tests.engine.site import Row, Site, federated, run
from tests.web.serving import Serve

#: k is the key, n tells rows apart.
ROWS: list[Row] = [(k, n) for n, k in enumerate(["a", "b", "b", "c", "a,b", "", ".."])]
COLUMNS = {"k": "string", "n": "int"}


@dataclass
class Sloppy(Site):
    """Answers `strays` with rows of other keys, and splits joined keys wherever there is a comma."""

    tables: dict[str, tuple[tuple[str, ...], list[Row]]] = field(default_factory=dict)
    strays: dict[str, list[Row]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.path_qs] += 1
        match request.path.split("/"):
            case [_, "scan"]:
                rows = ROWS
            case [_, "one", ".."]:
                rows = []  # of what is behind the path when it is climbed
            case [_, "one", key]:
                rows = self.strays.get(key, [row for row in ROWS if row[0] == key])
            case [_, "keys"]:
                rows = [(key, at) for at, key in enumerate(request.query["of"].split(","))]
            case _:
                keys = request.query["k"].split(",")
                rows = [row for key in keys for row in self.strays.get(key, [r for r in ROWS if r[0] == key])]
        return web.json_response([{"k": k, "n": n} for k, n in rows])


def tables(*lookups: str, scan: bool = False, of: str = "a,b,c") -> dict[str, dict[str, Any]]:
    """`keys` is scanned, `t` looked up in these ways."""
    known: dict[str, dict[str, Any]] = {
        "path": {"keys": ["k"], "endpoint": {"path": "one/{k}"}},
        "joined": {
            "keys": ["k"],
            "batch": {"size": 4, "separator": ","},
            "endpoint": {"path": "some", "params": {"k": "{k}"}},
        },
        "alone": {"keys": ["k"], "endpoint": {"path": "some", "params": {"k": "{k}"}}},
    }
    table: dict[str, Any] = {"columns": COLUMNS, "lookups": [known[name] for name in lookups]}
    if scan:
        table["scan"] = {"endpoint": "scan"}
    return {
        "t": table,
        "keys": {"columns": COLUMNS, "scan": {"endpoint": {"path": "keys", "params": {"of": of}}}},
    }


SQL = "SELECT t.k, t.n FROM web.keys x JOIN web.t t ON x.k = t.k"


async def missing(serve: Serve, tmp_path: Path, site: Site, spec: dict[str, Any], sql: str = SQL) -> Any:
    async with federated(serve, site, tmp_path, spec) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    return rows, execution.outcome


@pytest.mark.parametrize("way", ["path", "joined"])
async def test_an_answer_of_nothing_but_strays_is_none(serve: Serve, tmp_path: Path, way: str) -> None:
    site = Sloppy(strays={key: [("z", 7), ("y", 8)] for key in "abc"})
    rows, outcome = await missing(serve, tmp_path, site, tables(way))
    assert rows == []
    assert (outcome.exit_code, outcome.complete) == (3, False)
    assert {part.predicate for part in outcome.missing} == {"k = 'a'", "k = 'b'", "k = 'c'"}
    assert all("rows of other keys and none of what was asked for" in part.reason for part in outcome.missing)


async def test_strays_beside_right_rows_are_worth_a_warning(serve: Serve, tmp_path: Path) -> None:
    site = Sloppy(strays={"a": [("z", 7), ("a", 0)], "c": []})
    rows, outcome = await missing(serve, tmp_path, site, tables("path"))
    assert rows == [("a", 0), ("b", 1), ("b", 2)]
    assert (outcome.exit_code, outcome.missing) == (0, ())
    assert ["1 rows did not have the key" in text for text in outcome.warnings] == [True]


@pytest.mark.parametrize("other", ["C", "00c", " c.", "ç"])
async def test_a_key_of_a_batch_that_comes_back_in_another_spelling_has_no_answer(
    serve: Serve, tmp_path: Path, other: str
) -> None:
    """Beside right rows as well: its row is there, under another name. What has no row at all is not missing."""
    site = Sloppy(strays={"c": [(other, 7)]})
    rows, outcome = await missing(serve, tmp_path, site, tables("joined", of="a,c,q,b"))
    assert (rows, outcome.exit_code) == ([("a", 0), ("b", 1), ("b", 2)], 3)
    assert [part.predicate for part in outcome.missing] == ["k = 'c'"]
    assert f"has rows of {other!r}, which was not asked for" in outcome.missing[0].reason


async def test_keys_without_rows_beside_others_that_nothing_explains_are_asked_for_again(
    serve: Serve, tmp_path: Path
) -> None:
    site = Sloppy(strays={"c": [("other", 7)]})
    rows, outcome = await missing(serve, tmp_path, site, tables("joined", of="a,c,b"))
    assert rows == [("a", 0), ("b", 1), ("b", 2)]
    assert [part.predicate for part in outcome.missing] == ["k = 'c'"]
    assert "of other keys and none of what was asked for" in outcome.missing[0].reason


async def test_keys_without_rows_are_none_where_other_keys_come_with_right_rows(
    serve: Serve, tmp_path: Path
) -> None:
    site = Sloppy(strays={"a": [("z", 7), ("a", 0)]})
    rows, outcome = await missing(serve, tmp_path, site, tables("joined", of="a,p,q,b"))
    assert (rows, outcome.missing) == ([("a", 0), ("b", 1), ("b", 2)], ())
    assert {"/some?k=p%2Cq", "/some?k=q%2Cp"} & site.asked.keys(), "they are asked for again"
    assert site.asked.total() <= 2 + 1 + 4, "with the scan and what is asked of any new batch"


async def test_a_key_that_two_requests_tell_nothing_of_is_missing_once(serve: Serve, tmp_path: Path) -> None:
    """The empty one travels alone, to no avail, and once more as other keys have come beside right rows."""
    site = Sloppy(strays={"a": [("z", 7), ("a", 0)], "": [("z", 7)]})
    rows, outcome = await missing(serve, tmp_path, site, tables("joined", of="a,,b"))
    assert (rows, outcome.exit_code) == ([("a", 0), ("b", 1), ("b", 2)], 3)
    assert [part.predicate for part in outcome.missing] == ["k = ''"]


class Beside:
    """Answers with a row of each key and one of another key: none of those that begin with p, unless asked for alone."""

    name = "s"
    table = Table(
        "s",
        "t",
        (Field.of("k", "string"),),
        key_columns=(KeyColumn("k", "required"),),
        lookups=(LookupMethod("l", ("k",), 5),),
    )
    tables = (table,)
    scan: Any = None

    def __init__(self, *, knows: bool) -> None:
        self.knows = knows
        self.asked = 0

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        self.asked += 1
        alone = len(keys) == 1
        has_rows = [key for (key,) in keys if not str(key).startswith("p") or (alone and self.knows)]
        yield Page(pa.record_batch({"k": has_rows if alone else [*has_rows, "z"]}, schema_of(table.columns)))

    async def close(self) -> None: ...

    async def looked_up(self, batches: int) -> list[str]:
        source, found = CheckedSource(self.table, self), []
        for batch in range(batches):
            keys = [(key,) for key in ("a", "b", f"p{batch}")]
            pages = source.lookup(self.table, self.table.lookups[0], ["k"], keys, meter=AccessMeter())
            async for page in pages:
                assert page.truncated is None
                found += page.rows.column("k").to_pylist()
        return found


async def test_unknown_keys_beside_rows_of_others_are_asked_for_again_ever_more_seldom() -> None:
    source = Beside(knows=False)
    assert set(await source.looked_up(40)) == {"a", "b", "z"}
    assert source.asked == 40 + 7, "of the batches 0, 1, 2, 4, 8, 16 and 32"


async def test_keys_left_out_beside_rows_of_others_are_asked_for_each_time() -> None:
    source = Beside(knows=True)
    assert {*await source.looked_up(20)} == {"a", "b", "z", *(f"p{batch}" for batch in range(20))}


async def test_a_source_that_does_not_look_at_case_is_asked_no_more_for_it(
    serve: Serve, tmp_path: Path
) -> None:
    site = Sloppy(strays={"a": [("A", 7), ("a", 0)]})
    rows, outcome = await missing(serve, tmp_path, site, tables("joined", of="a,b,c"))
    assert (rows, outcome.missing) == ([("a", 0), ("b", 1), ("b", 2), ("c", 3)], ())
    assert sum(count for path, count in site.asked.items() if path.startswith("/some")) == 1


async def test_strays_alone_fail_their_keys_and_no_others(serve: Serve, tmp_path: Path) -> None:
    site = Sloppy(strays={"b": [("z", 7)]})
    rows, outcome = await missing(serve, tmp_path, site, tables("path"))
    assert rows == [("a", 0), ("c", 3)]
    assert [part.predicate for part in outcome.missing] == ["k = 'b'"]


@pytest.mark.parametrize("way", ["path", "alone"])
async def test_one_answer_to_all_keys_is_none_though_some_of_its_rows_are_right(
    serve: Serve, tmp_path: Path, way: str
) -> None:
    """The beginning of a list, whatever is asked for: who knows what stands behind it."""
    site = Sloppy(strays={key: [("z", 7), ("a", 0), ("b", 1), ("c", 3)] for key in "abc"})
    rows, outcome = await missing(serve, tmp_path, site, tables(way))
    assert rows == [("a", 0), ("b", 1), ("c", 3)]
    assert (outcome.exit_code, len(outcome.missing)) == (3, 2)
    assert all("seems not to look at k" in part.reason for part in outcome.missing)


async def test_one_answer_to_keys_that_the_source_finds_alike_is_one(serve: Serve, tmp_path: Path) -> None:
    every: list[Row] = [("Ä", 7), ("a", 0), ("A", 1)]
    site = Sloppy(strays=dict.fromkeys(("a", "A"), every))
    rows, outcome = await missing(serve, tmp_path, site, tables("path", of="a,A"))
    assert (rows, outcome.missing) == ([("A", 1), ("a", 0)], ())


@pytest.mark.parametrize("keep", [False, True])
async def test_neither_a_session_nor_a_later_run_takes_strays_for_an_answer(
    serve: Serve, tmp_path: Path, keep: bool
) -> None:
    site = Sloppy(strays={"a": [("z", 7)]})
    cache = RowCache(tmp_path / "cache", every=True)
    async with federated(serve, site, tmp_path, tables("path"), keep=keep, cache=cache) as (federation, _):
        for _ in range(3):
            _, execution = await run(federation, SQL)
            assert [part.predicate for part in execution.outcome.missing] == ["k = 'a'"]
    assert (site.asked["/one/b"], site.asked["/one/a"]) == (1, 3)


async def test_two_blocks_that_share_an_answer_of_strays_both_lack_it(serve: Serve, tmp_path: Path) -> None:
    site = Sloppy(strays={"a": [("z", 7)]})
    rows, outcome = await missing(serve, tmp_path, site, tables("path"), f"{SQL} UNION ALL {SQL}")
    assert rows == [("b", 1), ("b", 1), ("b", 2), ("b", 2), ("c", 3), ("c", 3)]
    assert (site.asked["/one/a"], outcome.complete) == (1, False)


async def test_a_scan_that_ended_makes_keys_whole_that_no_request_can_carry(
    serve: Serve, tmp_path: Path
) -> None:
    site = Sloppy()
    spec = tables("path", scan=True, of="a,..")
    rows, outcome = await missing(serve, tmp_path, site, spec)
    assert rows == [("..", 6), ("a", 0)]
    assert (outcome.exit_code, outcome.missing) == (0, ())


@pytest.mark.parametrize("key", ["", ".."])
async def test_a_key_that_no_path_can_hold_is_missing(serve: Serve, tmp_path: Path, key: str) -> None:
    site = Sloppy()
    rows, outcome = await missing(serve, tmp_path, site, tables("path", of=f"a,{key}"))
    assert (rows, outcome.exit_code) == ([("a", 0)], 3)
    assert [part.predicate for part in outcome.missing] == [f"k = '{key}'"]
    assert "path" in outcome.missing[0].reason


async def test_another_lookup_answers_keys_that_a_path_cannot_hold(serve: Serve, tmp_path: Path) -> None:
    rows, outcome = await missing(serve, tmp_path, Sloppy(), tables("path", "alone", of="a,.."))
    assert (rows, outcome.exit_code) == ([("..", 6), ("a", 0)], 0)


async def test_a_key_with_the_separator_is_missing_where_only_batches_can_ask_for_it(
    serve: Serve, tmp_path: Path
) -> None:
    rows, outcome = await missing(
        serve, tmp_path, Sloppy(), tables("joined"), "SELECT k, n FROM web.t WHERE k IN ('a,b', 'b', 'c')"
    )
    assert rows == [("b", 1), ("b", 2), ("c", 3)]
    assert [part.predicate for part in outcome.missing] == ["k = 'a,b'"]
    assert "contains ',', which separates keys" in outcome.missing[0].reason


async def test_a_key_with_the_separator_is_answered_by_a_lookup_without_batches(
    serve: Serve, tmp_path: Path
) -> None:
    sql = "SELECT k, n FROM web.t WHERE k IN ('a,b', 'b')"
    rows, outcome = await missing(serve, tmp_path, Sloppy(), tables("joined", "path"), sql)
    assert (sorted(rows), outcome.exit_code) == ([("a,b", 4), ("b", 1), ("b", 2)], 0)


@dataclass
class Paged(Site):
    """Answers one row a page, and nobody for a key that has none."""

    tables: dict[str, tuple[tuple[str, ...], list[Row]]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.path_qs] += 1
        if request.path == "/keys":
            return web.json_response([{"k": k, "n": 0} for k in "abcdab"])
        rows = [row for row in ROWS if row[0] == request.path[-1]]
        at = int(request.query.get("cursor", 0))
        page = [{"k": k, "n": n} for k, n in rows[at : at + 1]]
        following = {"next_cursor": str(at + 1)} if at + 1 < len(rows) else {}
        return web.json_response({"data": page, **following})


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("kept", [True, False])
async def test_pages_that_follow_an_answer_are_read(
    serve: Serve, tmp_path: Path, declared: bool, kept: bool
) -> None:
    endpoint: dict[str, Any] = {"path": "one/{k}", "data_selector": "data"}
    if declared:
        endpoint["paginator"] = {"type": "cursor", "cursor_path": "next_cursor", "cursor_param": "cursor"}
    spec = tables("path")
    spec["t"]["lookups"] = [{"keys": ["k"], "endpoint": endpoint}]
    site, cache = Paged(), RowCache(tmp_path / "cache", every=True) if kept else None
    async with federated(serve, site, tmp_path, spec, cache=cache) as (federation, _):
        for _ in range(2):
            rows, execution = await run(federation, SQL)
            assert sorted(rows) == sorted(
                [("a", 0), ("b", 1), ("b", 2), ("c", 3), ("a", 0), ("b", 1), ("b", 2)]
            )
            assert execution.outcome.complete
    times = 1 if kept else 2
    assert {place: count for place, count in site.asked.items() if "keys" not in place} == dict.fromkeys(
        ("/one/a", "/one/b", "/one/b?cursor=1", "/one/c", "/one/d"), times
    )
