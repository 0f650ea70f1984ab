"""What goes wrong between a user and a server, seen from outside: one clear error, nothing else, no secret."""

from __future__ import annotations

import contextlib
import email.utils
import http.server
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.real.running import CommandLine, Ran, free_port

pytestmark = pytest.mark.slow  # a process each

SECRET = "s3cr3t-t0ken-77"
SPEC = """
version: 1
sources:
  web:
    client:
      base_url: "<url>"
      auth: {type: bearer, token: "${env:WEB_TOKEN}"}
      params: {key: "${env:WEB_TOKEN}"}
      retry: {max_attempts: 2, base_delay: 0.01, max_delay: 0.02}
    tables:
      rows: {columns: {id: int, name: string}, scan: {endpoint: rows}}
      one: {columns: {id: int, name: string}, lookups: [{keys: [id], endpoint: "rows/{id}"}]}
"""


@dataclass
class Answering:
    """A server that gives every request the same answer."""

    url: str = ""
    status: int = 200
    body: bytes = b'[{"id": 1, "name": "a"}]'
    paths: list[str] = field(default_factory=list)
    wait_s: int = 0  # how long the first request is told to wait, as a date
    asked: list[float] = field(default_factory=list)  # when


@pytest.fixture
def answering() -> Iterator[Answering]:
    state = Answering()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.paths.append(self.path)
            state.asked.append(time.time())
            if state.wait_s and len(state.asked) == 1:
                self.send_response(429)
                date = email.utils.formatdate(state.asked[0] + state.wait_s, usegmt=True)
                self.send_header("Retry-After", date)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(state.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(state.body)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(state.body)

        def log_message(self, *_args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield state
        server.shutdown()
        thread.join()


def one_error(ran: Ran, code: int, *said: str) -> None:
    """One error of a few lines on standard error, and nothing else anywhere."""
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("\nerror: ") == 0
    assert len(ran.err.splitlines()) <= 5
    assert SECRET not in ran.err
    assert SECRET not in str(ran.report)
    for text in said:
        assert text in ran.err, ran.err


def test_a_good_answer_is_one(fff: CommandLine, answering: Answering) -> None:
    fff.spec(SPEC, url=answering.url)
    ran = fff.rows("SELECT * FROM rows", WEB_TOKEN=SECRET)
    assert ran.rows == [("1", "a")]
    assert answering.paths == [f"/rows?key={SECRET}"]
    assert SECRET not in ran.err + str(ran.report)


def test_a_wait_told_as_a_date(fff: CommandLine, answering: Answering) -> None:
    answering.wait_s = 3
    fff.spec(SPEC, url=answering.url)
    ran = fff.rows("SELECT * FROM rows", WEB_TOKEN=SECRET)
    assert ran.rows == [("1", "a")]
    first, second = answering.asked
    assert second >= int(first + 3), "not before the date, which is in whole seconds"
    told = ran.access("rows.scan")
    assert (told["requests"], told["throttled"], told["limited_by"]) == (2, 1, "throttled")


def test_an_unreachable_host(fff: CommandLine) -> None:
    port = free_port()
    fff.spec(SPEC, url=f"http://127.0.0.1:{port}")
    ran = fff.query("SELECT * FROM rows", WEB_TOKEN=SECRET)
    one_error(ran, 4, "web.rows", f"127.0.0.1:{port}", "2 attempts")


def test_a_host_that_does_not_exist(fff: CommandLine) -> None:
    fff.spec(SPEC, url="http://no-such-host.invalid")
    one_error(fff.query("SELECT * FROM rows", WEB_TOKEN=SECRET), 4, "web.rows", "no-such-host.invalid")


@pytest.mark.parametrize(
    "body", [b'[{"id": 1, "name": "a"}, {"id"', b"<html>maintenance</html>", b"", b"\xff\xfe\x00"]
)
def test_a_malformed_body(fff: CommandLine, answering: Answering, body: bytes) -> None:
    answering.body = body
    fff.spec(SPEC, url=answering.url)
    one_error(fff.query("SELECT * FROM rows", WEB_TOKEN=SECRET), 4, "web.rows", "/rows")


def test_a_value_of_another_type(fff: CommandLine, answering: Answering) -> None:
    answering.body = b'[{"id": "seven", "name": "a"}]'
    fff.spec(SPEC, url=answering.url)
    one_error(fff.query("SELECT * FROM rows", WEB_TOKEN=SECRET), 4, "web.rows", "id", "seven")


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_status_that_is_no_answer(fff: CommandLine, answering: Answering, status: int) -> None:
    answering.status, answering.body = status, b'{"message": "no"}'
    fff.spec(SPEC, url=answering.url)
    ran = fff.query("SELECT * FROM rows", WEB_TOKEN=SECRET)
    one_error(ran, 4, "web.rows", str(status))
    assert len(answering.paths) == (2 if status == 500 else 1)
    ran = fff.query("SELECT * FROM one WHERE id = 1", WEB_TOKEN=SECRET)
    one_error(ran, 4, "web.one", str(status))


def test_a_secret_that_is_not_there(fff: CommandLine, answering: Answering) -> None:
    fff.spec(SPEC, url=answering.url)
    one_error(fff.query("SELECT * FROM rows"), 2, "WEB_TOKEN")
    assert answering.paths == []


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("retry:", "retries:", ("fff.yaml:9", "sources.web.client.retries", "retry")),
        ("scan: {endpoint: rows}", "scan: {endpoin: rows}", ("fff.yaml:11", "endpoin", "endpoint")),
        ("id: int, name: string}, scan", "id: integr, name: string}, scan", ("fff.yaml:11", "columns.id", "integr")),
        ("rows/{id}", "rows/{number}", ("fff.yaml:12", "lookups", "number")),
    ],
)  # fmt: skip
def test_a_wrong_spec(
    fff: CommandLine, answering: Answering, right: str, wrong: str, said: tuple[str, ...]
) -> None:
    assert right in SPEC
    fff.spec(SPEC.replace(right, wrong), url=answering.url)
    one_error(fff.query("SELECT * FROM rows", WEB_TOKEN=SECRET), 2, *said)
    assert answering.paths == []


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELEC * FROM rows", "SELEC"),
        ("SELECT nam FROM rows", "name"),
        ("SELECT * FROM row", "rows"),
        ("SELECT * FROM one", "nothing binds id"),
        ("DELETE FROM rows", "only reads"),
        ("SELECT sum(name) x, FROM", ""),
    ],
)
def test_wrong_sql(fff: CommandLine, answering: Answering, sql: str, said: str) -> None:
    fff.spec(SPEC, url=answering.url)
    one_error(fff.query(sql, WEB_TOKEN=SECRET), 1, said)
    assert answering.paths == []
