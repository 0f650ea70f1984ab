from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter

import duckdb
import pytest

from fff.errors import UsageError
from fff_sources.demo import QUERY
from fff_sources.demo.data import STATES, generate
from fff_sources.demo.process import DemoServer


def get(url: str) -> object:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def test_the_same_seed_gives_the_same_rows():
    assert generate(7, 500, 50) == generate(7, 500, 50)
    assert generate(7, 500, 50) != generate(8, 500, 50)


def test_the_rows_have_the_promised_shape():
    data = generate()
    zips = Counter(row["zip"] for row in data.fec)
    assert len(data.fec) == 20_000
    assert 340 <= len(zips) <= 360
    assert zips.most_common(1)[0][1] > 10 * sorted(zips.values())[len(zips) // 2]  # skew
    assert all(row["zip"].startswith(STATES[row["State"]][0]) for row in data.fec)
    assert set(zips) - {row["zip"] for row in data.demographics}
    assert set(zips) - {row["zip"] for row in data.crime}
    assert {row["crimeRating"] for row in data.crime} == {"low", "moderate", "high", "severe"}
    assert any(row["committee"] is None for row in data.fec)
    assert any(row["medianAge"] is None for row in data.demographics)


def test_too_few_or_too_many_zips_are_refused():
    with pytest.raises(ValueError, match="zips must be"):
        generate(zips=3)


def test_the_demo_query_has_groups_for_every_state_and_loses_rows_to_the_inner_join():
    connection = duckdb.connect()
    for name, table in generate().tables().items():
        connection.register(name, table)
    groups = connection.execute(QUERY).fetchall()
    join = "SELECT count(*) FROM FEC JOIN Demographics USING (zip) JOIN Crime USING (zip)"
    [(joined,)] = connection.execute(join).fetchall()
    assert len({group[2] for group in groups}) == len(STATES)
    assert 15_000 < joined < 20_000


def test_pages_of_contributions_hold_every_row_once(demo_url):
    first = get(f"{demo_url}/fec")
    rows = [
        row for page in range(1, first["pages"] + 1) for row in get(f"{demo_url}/fec?page={page}")["results"]
    ]
    assert rows == generate().fec
    assert get(f"{demo_url}/fec?page=999")["results"] == []


def test_the_crime_scan_ends_and_agrees_with_the_lookups(demo_url):
    rows, cursor = [], ""
    while cursor is not None:
        page = get(f"{demo_url}/crime?after={cursor}")
        rows += page["results"]
        cursor = page["next"]
    assert len(rows) == len({row["zip"] for row in rows}) == len(generate().crime)
    assert get(f"{demo_url}/crime/{rows[0]['zip']}") == rows[0]


@pytest.mark.parametrize(
    ("path", "status"), [("demographics/00000", 404), ("crime/00000", 404), ("fec?page=x", 400)]
)
def test_unknown_keys_and_bad_pages_have_their_status(demo_url, path, status):
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(f"{demo_url}/{path}")
    with caught.value as error:
        assert error.code == status


def test_stats_count_requests(demo_url):
    before = get(f"{demo_url}/_stats")["requests"].get("demographics", 0)
    get(f"{demo_url}/demographics/{generate().demographics[0]['zip']}")
    assert get(f"{demo_url}/_stats")["requests"]["demographics"] == before + 1


def test_a_taken_port_is_a_usage_error(demo_url):
    port = int(demo_url.rsplit(":", 1)[1])
    with pytest.raises(UsageError, match=f"cannot listen on port {port}"), DemoServer(port=port):
        pass


@pytest.mark.slow
def test_the_sources_end_with_whoever_started_them():
    code = (
        "import os\n"
        "from fff_sources.demo.process import DemoServer\n"
        "server = DemoServer(delay_scale=0).__enter__()\n"
        "print(server._process.pid, flush=True)\n"
        "os._exit(1)\n"
    )
    starter = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    pid = int(starter.stdout)
    assert any(ended(pid) for _ in range(2000)), starter.stderr


def ended(pid: int) -> bool:
    """Whether a process that is nobody's child here is gone; asking takes a moment, so that asking again is waiting."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return not state or state.startswith("Z")


def test_the_sources_end_without_a_word_where_nobody_waits_for_them_any_more():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "fff_sources.demo.server"]
    done = subprocess.run(command, input=b"", stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b""), "Ctrl-C came while they started"


def test_sources_that_end_without_a_word_are_no_matter_of_a_port():
    with (
        subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process,
        pytest.raises(UsageError, match="they ended before") as found,
    ):
        DemoServer._port(process)
    assert found.value.hint is None
