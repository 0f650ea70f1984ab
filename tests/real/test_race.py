"""A scan and keyed lookups with counters and faults: what the command line asks for, and what it answers."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.running import CommandLine, get, get_text, tool

pytestmark = pytest.mark.slow  # a process each

SPEC = """
version: 1
sources:
  race:
    client: {base_url: "<url>", rate_limit: {max_concurrency: <ceiling>}, retry: {base_delay: 0.01}}
    table_defaults: {columns: {id: int, x: string, v: int}}
    tables:
      r: {scan: {endpoint: {path: r, data_selector: items, paginator: {type: offset, page_size: 100, total_path: total}}}}
      by_page: {scan: {endpoint: {path: r, paginator: {type: header_link, page_size: 100}}}}
      by_number: {scan: {endpoint: {path: r, paginator: {type: page_number, page_size: 100}}}}
      by_cursor: {scan: {endpoint: {path: r, params: {style: cursor}, data_selector: items, paginator: {type: cursor, cursor_path: next_cursor}}}}
      by_url: {scan: {endpoint: {path: r, params: {style: nexturl}, data_selector: results, paginator: json_link}}}
      by_keyset:
        scan: {endpoint: {path: r, params: {style: fec, per_page: 100}, data_selector: results, paginator: {type: keyset, cursor_path: pagination.last_indexes, total: approximate}}}
      by_auto: {scan: {endpoint: {path: r, params: {style: nexturl}, data_selector: results, paginator: auto}}}
      at_once: {scan: {endpoint: r.json}}
      as_csv: {scan: {endpoint: {path: r.csv, format: csv}}}
      as_ndjson: {scan: {endpoint: {path: r.ndjson, format: ndjson}}}
      s:
        columns: {x: string, y: int, grp: string}
        key_columns: [{name: x, require: required}]
        lookups: [{keys: [x], endpoint: s}]
      by_path:
        columns: {x: string, y: int, grp: string}
        key_columns: [{name: x, require: required}]
        lookups: [{keys: [x], endpoint: "s/{x}"}]
        on_status: [{status_code: 404, action: empty}]
      strict:
        columns: {x: string, y: int, grp: string}
        key_columns: [{name: x, require: required}]
        lookups: [{keys: [x], endpoint: "s/{x}"}]
      joined:
        columns: {x: string, y: int, grp: string}
        key_columns: [{name: x, require: required}]
        lookups: [{keys: [x], batch: {size: 25, separator: ","}, endpoint: s}]
      repeated:
        columns: {x: string, y: int, grp: string}
        key_columns: [{name: x, require: required}]
        lookups: [{keys: [x], batch: {size: 25}, endpoint: s}]
"""  # fmt: skip
JOIN = "SELECT r.id, r.x, r.v, s.y, s.grp FROM {r} r JOIN {s} s ON r.x = s.x"
#: table -> requests its whole scan takes
SCANS = {
    "r": 10, "by_page": 10, "by_number": 11, "by_cursor": 10, "by_url": 10, "by_keyset": 11, "by_auto": 10,
    "at_once": 1, "as_csv": 1, "as_ndjson": 1,
}  # fmt: skip


def expected(url: str) -> list[tuple[str, ...]]:
    return sorted(tuple(row) for row in list(csv.reader(get_text(f"{url}/_expect.csv").splitlines()))[1:])


def join(r: str = "r", s: str = "s") -> str:
    return JOIN.format(r=r, s=s)


@pytest.mark.parametrize(
    "table",
    [pytest.param(table, marks=() if table in ("r", "by_keyset") else pytest.mark.slow) for table in SCANS],
)
def test_every_scan_style_gives_the_join_exactly_with_one_lookup_a_key(
    fff: CommandLine, race: str, table: str
) -> None:
    fff.spec(SPEC, url=race, ceiling="8")
    ran = fff.rows(join(table))
    assert ran.rows == expected(race)
    stats = get(f"{race}/_stats")
    assert (stats["r"], stats["s"], stats["s_distinct_keys"], stats["s_repeat_asks"]) == (
        SCANS[table],
        250,
        250,
        0,
    )
    assert ran.access("s.lookup[x]")["requests"] == ran.access("s.lookup[x]")["distinct_keys"] == 250


@pytest.mark.parametrize("ceiling", [8, 32])
def test_lookups_fill_the_ceiling_and_never_pass_it(fff: CommandLine, race: str, ceiling: int) -> None:
    get(f"{race}/_config?lookup_ms=50")
    fff.spec(SPEC, url=race, ceiling=str(ceiling))
    ran = fff.rows(join())
    assert ran.rows == expected(race)
    stats = get(f"{race}/_stats")
    assert ceiling * 3 // 4 <= stats["max_inflight"] <= ceiling
    assert ran.access("s.lookup[x]")["max_in_flight"] <= ceiling
    assert stats["s"] == 250


def test_the_first_row_is_out_while_the_scan_still_runs(fff: CommandLine, race: str) -> None:
    get(f"{race}/_config?page_ms=700&lookup_ms=20")
    fff.spec(SPEC, url=race, ceiling="8")
    command = fff.command("query", join("by_url"), "-q")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=fff.folder, env=fff.environment()
    ) as running:
        assert running.stdout is not None
        header, first = running.stdout.readline(), running.stdout.readline()
        pages = get(f"{race}/_stats")["r"]
        rest = running.stdout.read().decode()
    assert header == b"id,x,v,y,grp\n"
    assert pages <= 3, "a row of the first page and its lookup wait for nothing else"
    assert running.returncode == 0
    rows = [tuple(line.split(",")) for line in (first.decode() + rest).splitlines()]
    assert sorted(rows) == expected(race)
    assert get(f"{race}/_stats")["r"] == 10


def test_exact_when_every_twentieth_lookup_fails_once(fff: CommandLine, race: str) -> None:
    get(f"{race}/_config?fail_every=20&lookup_ms=5")
    fff.spec(SPEC, url=race, ceiling="8")
    ran = fff.rows(join())
    assert ran.rows == expected(race)
    stats, lookup = get(f"{race}/_stats"), ran.access("s.lookup[x]")
    assert stats["s_503"] >= 12
    assert lookup["retries"] == stats["s_503"] == stats["s"] - 250
    assert lookup["failed"] == 0


@pytest.mark.slow
def test_exact_where_fewer_are_admitted_than_declared(fff: CommandLine, race: str) -> None:
    """On the real clock: each refusal asks for a second's wait."""
    get(f"{race}/_config?max_inflight=8&lookup_ms=20")
    fff.spec(SPEC, url=race, ceiling="32")
    ran = fff.rows(join())
    assert ran.rows == expected(race)
    stats = get(f"{race}/_stats")
    assert stats["max_inflight"] <= 8
    assert 0 < stats["s_429"] <= 40
    assert ran.access("s.lookup[x]")["throttled"] == stats["s_429"]
    assert stats["s_429"] == stats["s"] - 250


@pytest.mark.parametrize("table", ["joined", "repeated"])
def test_batches_ask_for_each_key_once(fff: CommandLine, race: str, table: str) -> None:
    get(f"{race}/_config?batch=25&lookup_ms=20")
    fff.spec(SPEC, url=race, ceiling="8")
    ran = fff.rows(join(s=table))
    assert ran.rows == expected(race)
    stats = get(f"{race}/_stats")
    assert stats["s_keys_asked"] == stats["s_distinct_keys"] == 250
    assert stats["s"] <= 25, "250 keys in batches of up to 25, some of which go before they are full"
    assert stats.get("s_too_many", 0) == 0


def test_constants_go_in_one_batch(fff: CommandLine, race: str) -> None:
    get(f"{race}/_config?batch=25")
    fff.spec(SPEC, url=race, ceiling="8")
    keys = [f"k{number:04d}" for number in range(240, 260)]
    in_list = ", ".join(f"'{key}'" for key in keys)
    ran = fff.rows(f"SELECT x FROM joined WHERE x IN ({in_list})")
    assert ran.rows == [(key,) for key in keys[:10]]
    # One for all of them, and two that ask whether the keys without rows have none when they are asked otherwise.
    assert get(f"{race}/_stats")["s"] <= 3


@pytest.fixture(scope="module")
def sparse_server(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Ten keys of R have no row in S."""
    script = shared_folder / "tools" / "race_server.py"
    options = ("--missing", "10", "--page-ms", "0", "--lookup-ms", "0", "--batch", "25")
    with tool(script, tmp_path_factory.mktemp("sparse") / "log", *options) as url:
        yield url


@pytest.mark.parametrize("table", ["s", "by_path", "joined", "repeated"])
def test_keys_that_are_not_there_join_nothing_and_are_asked_for_once(
    fff: CommandLine, sparse_server: str, table: str
) -> None:
    get(f"{sparse_server}/_reset")
    fff.spec(SPEC, url=sparse_server, ceiling="8")
    ran = fff.rows(join(s=table))
    assert ran.rows == expected(sparse_server)
    assert len(ran.rows) == 960
    stats = get(f"{sparse_server}/_stats")
    assert stats["s_distinct_keys"] == 250
    asked_again = 0 if table in ("s", "by_path") else 3  # samples of batches in which keys found nothing
    assert stats["s_repeat_asks"] <= asked_again


def test_a_404_that_no_spec_calls_empty_is_an_error(fff: CommandLine, sparse_server: str) -> None:
    fff.spec(SPEC, url=sparse_server, ceiling="8")
    ran = fff.query("SELECT * FROM strict WHERE x = 'k0249'")
    assert (ran.code, ran.out) == (4, "")
    assert "404" in ran.err
    assert "strict" in ran.err


def test_a_table_read_by_key_alone_is_refused_before_any_request(fff: CommandLine, race: str) -> None:
    fff.spec(SPEC, url=race, ceiling="8")
    ran = fff.query("SELECT * FROM s")
    assert (ran.code, ran.out) == (1, "")
    assert get(f"{race}/_stats").get("requests", 0) == 0
    assert "nothing binds x" in ran.err
    assert "join" in ran.err, "how to bind it"
    assert "WHERE" in ran.err or "constant" in ran.err or "x =" in ran.err
