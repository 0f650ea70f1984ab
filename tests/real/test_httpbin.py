"""What httpbin is made to test: encodings, redirects, validators, answers that trickle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.running import CommandLine, free_port, process, python_with

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def httpbin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """httpbin is a module: the program is a Python that can import it."""
    folder = tmp_path_factory.mktemp("httpbin")
    python = python_with("httpbin==0.10.4", "FFF_REAL_HTTPBIN_PYTHON", folder)
    port = free_port()
    command = [python, "-m", "httpbin.core", "--host", "127.0.0.1", "--port", str(port)]
    with process(command, f"http://127.0.0.1:{port}/get", folder / "log"):
        yield f"http://127.0.0.1:{port}"


HTTPBIN = """
version: 1
sources:
  bin:
    client:
      base_url: "<url>"
      headers: {X-Asked-By: fff}
      auth: {type: http_basic, username: ada, password: "${env:BIN_PASSWORD}"}
      retry: {max_attempts: 3, base_delay: 0.01, max_delay: 0.02}
    table_defaults: {columns: {gzipped: boolean, deflated: boolean, brotli: boolean, asked: {type: string, path: "headers['X-Asked-By']"}, url: string, user: string}}
    tables:
      zipped: {scan: {endpoint: gzip}}
      deflated_: {scan: {endpoint: deflate}}
      pressed: {scan: {endpoint: brotli}}
      redirected: {scan: {endpoint: redirect/3}}
      redirected_whole: {scan: {endpoint: absolute-redirect/2}}
      hasty: {columns: {until: {type: string, path: "['Retry-After']"}}, scan: {endpoint: {path: response-headers, params: {Retry-After: "Fri, 31 Dec 2100 23:59:59 GMT"}}}}
      guarded: {scan: {endpoint: basic-auth/ada/lovelace}}
      slow: {scan: {endpoint: {path: drip, params: {duration: 1, numbytes: 3}}}}
      lines: {columns: {id: int, url: string}, scan: {endpoint: {path: stream/5, format: ndjson}}}
      status: {columns: {code: int, url: string}, lookups: [{keys: [code], endpoint: "status/{code}"}]}
      elsewhere: {scan: {endpoint: {path: redirect-to, params: {url: "http://127.0.0.2:9/"}}}}
  open:
    client: {base_url: "<url>", headers: {X-Asked-By: fff}, timeout: {read: <read>}, retry: {max_attempts: 1}}
    table_defaults: {columns: {asked: {type: string, path: "headers['X-Asked-By']"}, url: string}}
    tables:
      marked: {scan: {endpoint: etag/v1}}
      dated: {scan: {endpoint: cache}}
      trickling: {scan: {endpoint: {path: drip, params: {duration: 3, numbytes: 10, delay: 1}}}}
"""  # fmt: skip


def test_httpbin(fff: CommandLine, httpbin: str) -> None:
    fff.spec(HTTPBIN, url=httpbin, read="30")
    secret = {"BIN_PASSWORD": "lovelace"}
    assert fff.rows("SELECT gzipped, asked FROM zipped", **secret).rows == [("true", "fff")]
    assert fff.rows("SELECT deflated, asked FROM deflated_", **secret).rows == [("true", "fff")]
    assert fff.rows("SELECT brotli, asked FROM pressed", **secret).rows == [("true", "fff")]
    for table in ("redirected", "redirected_whole"):
        assert fff.rows(f"SELECT url FROM {table}", **secret).rows == [(f"{httpbin}/get",)]
    assert fff.rows("SELECT user FROM guarded", **secret).rows == [("ada",)]
    assert fff.rows("SELECT id, url FROM lines", **secret).rows == [
        (str(number), f"{httpbin}/stream/5") for number in range(5)
    ]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("status WHERE code = 429", "429 after 3 attempts"),
        ("status WHERE code = 503", "503 after 3 attempts"),
        ("status WHERE code = 418", "418"),
        ("slow", "not valid json"),
        ("elsewhere", "127.0.0.2"),
        ("guarded", "401"),
    ],
)
def test_httpbin_at_its_worst(fff: CommandLine, httpbin: str, table: str, said: str) -> None:
    fff.spec(HTTPBIN, url=httpbin, read="30")
    ran = fff.query(f"SELECT url FROM {table}", BIN_PASSWORD="wrong-pass-word")
    assert (ran.code, ran.out) == (4, "")
    assert said in ran.err
    assert "wrong-pass-word" not in ran.err


@pytest.mark.parametrize(("read", "said"), [("2", "not valid json"), ("0.2", "no answer in time")])
def test_an_answer_that_trickles(fff: CommandLine, httpbin: str, read: str, said: str) -> None:
    """Ten stars in three seconds: it is read to its end (no JSON), unless the pauses are too long."""
    fff.spec(HTTPBIN, url=httpbin, read=read)
    ran = fff.query("SELECT url FROM trickling")
    assert (ran.code, ran.out) == (4, "")
    assert said in ran.err


@pytest.mark.parametrize("table", ["marked", "dated"])
def test_the_second_run_gets_304(fff: CommandLine, httpbin: str, table: str) -> None:
    fff.spec(HTTPBIN, url=httpbin, read="30")
    environ = {"XDG_CACHE_HOME": str(fff.folder / "cache")}
    sql, name = f"SELECT url, asked FROM {table}", f"{table}.scan"
    first = fff.rows(sql, "--cache-ttl", "0.001", **environ)
    second = fff.rows(sql, "--cache-ttl", "0.001", **environ)
    assert second.out == first.out
    assert "fff" in first.out
    told = [(ran.access(name)["requests"], ran.access(name)["revalidated"]) for ran in (first, second)]
    # The answer of /cache is as old as its Last-Modified, but it has an ETag.
    assert told == [(1, 0), (1, 1)]
    assert first.access(name)["bytes"] > second.access(name)["bytes"] == 0
    again = fff.rows(sql, "--cache-ttl", "300", **environ)
    assert (again.out, again.access(name)["requests"], again.access(name)["cached"]) == (first.out, 0, 1)


def test_a_wait_that_no_refusal_asks_for(fff: CommandLine, httpbin: str) -> None:
    """`Retry-After` is about refusals; an answer of 200 that has it is an answer."""
    fff.spec(HTTPBIN, url=httpbin, read="30")
    ran = fff.rows("SELECT until FROM hasty", BIN_PASSWORD="any-pass-word")
    assert ran.access("hasty.scan")["throttled"] == 0
