"""`fff serve`: what clients over HTTP get, and what they cannot do."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import shutil
import subprocess

import pyarrow as pa
import pytest

from fff.budget import Money
from fff_cli.serve.answers import ARROW, EVENTS, METADATA, NDJSON, NdjsonFraming, accepted
from fff_cli.serve.openapi import document
from fff_cli.serve.page import HEADERS, PAGE, SCRIPT
from fff_cli.serve.queries import ServeLimits
from tests.api.serving import TOKEN, Caller, serving
from tests.api.sites import JOIN, TABLES, site
from tests.engine.duck import over_duck
from tests.engine.site import until

WHOLE = sorted([n, 10 * (n * 3 % 7)] for n in range(45))


def broken():
    one = site()
    one.faults[("r", "scan@20")] = 500
    return one


async def test_a_whole_answer_says_so_in_every_framing(publish):
    async with serving(publish(site(), TABLES)) as client:
        answer = (await client.query(JOIN, report=True)).json
        assert (answer["complete"], answer["cut"], answer["missing"]) == (True, False, [])
        assert sorted(answer["rows"]) == WHOLE
        assert [one["name"] for one in answer["columns"]] == ["a", "b"]
        assert answer["requests"] == answer["bill"][0]["requests"] == 12
        assert answer["report"]["rows"] == answer["row_count"] == 45

        first, *rows, last = (await client.query(JOIN, NDJSON)).lines
        assert [set(first), set(last)] == [{"columns"}, {"end"}]
        assert sorted([one["row"]["a"], one["row"]["b"]] for one in rows) == WHOLE
        assert last["end"]["complete"]

        events = (await client.query(JOIN, EVENTS)).events
        assert events[-1][0] == "end"
        assert events[-1][1]["complete"]
        assert sorted(row for name, some in events if name == "rows" for row in some) == WHOLE

        reader = pa.ipc.open_stream((await client.query(JOIN, ARROW)).data)
        batches, metadata = [], None
        for batch, said in reader.iter_batches_with_custom_metadata():
            batches.append(batch)
            metadata = said
        assert pa.Table.from_batches(batches).num_rows == 45
        assert json.loads(metadata[METADATA])["complete"]


async def test_no_framing_lets_a_part_pass_for_the_whole(publish):
    for accept in ("application/json", NDJSON, EVENTS):
        async with serving(publish(broken(), TABLES)) as client:
            answer = await client.query("SELECT a FROM r", accept)
            end = {
                "application/json": lambda one: one.json,
                NDJSON: lambda one: one.lines[-1]["end"],
                EVENTS: lambda one: one.events[-1][1],
            }[accept](answer)
            assert answer.status == 200
            assert end["complete"] is False
            assert end["missing"][0]["table"] == "web.r"
            assert end["reason"]
    async with serving(publish(broken(), TABLES)) as client:
        answer = await client.query("SELECT a FROM r", ARROW)
        assert not answer.whole, "what has no place for a label breaks off"
        looked = (await client.call("GET", f"/v1/queries/{answer.headers['X-FFF-Query']}")).json
        assert looked["end"]["missing"]
        answer = await client.query("SELECT a FROM r", ARROW, partial=True)
        assert answer.whole
        *_, (_, metadata) = pa.ipc.open_stream(answer.data).iter_batches_with_custom_metadata()
        assert json.loads(metadata[METADATA])["complete"] is False


async def test_an_error_after_rows_is_the_last_part(publish):
    async with serving(publish(broken(), TABLES)) as client:
        answer = await client.query("SELECT a FROM r", NDJSON, on_source_error="fail", hold_rows=False)
        assert len(answer.lines) > 2
        assert answer.lines[-1]["end"]["complete"] is False
        assert answer.lines[-1]["end"]["error"]["code"] == "source_error"
        torn = await client.query("SELECT a FROM r", ARROW, on_source_error="fail", hold_rows=False)
        assert not torn.whole
        told = (await client.call("GET", f"/v1/queries/{torn.headers['X-FFF-Query']}")).json["end"]
        assert (told["complete"], told["error"]["code"]) == (False, "source_error")
        held = await client.query("SELECT a FROM r", NDJSON, on_source_error="fail")
        assert (held.status, held.json["code"]) == (502, "source_error")


async def test_a_cut_reply_is_not_complete(publish):
    async with serving(publish(site(), TABLES)) as client:
        answer = (await client.query("SELECT a FROM r", rows=20)).json
        assert (len(answer["rows"]), answer["cut"], answer["complete"]) == (20, True, False)
        answer = (await client.query("SELECT a FROM r", rows=45)).json
        assert (len(answer["rows"]), answer["cut"], answer["complete"]) == (45, False, True)


async def test_a_cut_reply_says_what_its_rows_are_worth(publish):
    counted = "SELECT b, count(*) AS n FROM r GROUP BY b ORDER BY b"
    for one in (broken(), site()):
        async with serving(publish(one, TABLES), spark=over_duck) as client:
            full = (await client.query(counted, report=True)).json
            cut = (await client.query(counted, report=True, rows=1)).json
            assert (len(cut["rows"]), cut["cut"], cut["complete"]) == (1, True, False)
            for name in ("missing", "doubts", "bounds", "within", "warnings"):
                assert cut[name] == full[name], name
            assert bool(cut["doubts"]) is not full["complete"]
            told = cut["report"]
            assert (told["rows"], told["complete"], told["doubts"]) == (1, False, full["report"]["doubts"])
            assert "cut after 1 rows" in told["reason"]


def test_values_keep_what_json_would_lose():
    nan = float("nan")
    batch = pa.RecordBatch.from_pydict({"n": [2**60], "x": [nan], "l": [[nan, 1.5]], "t": ["<b>"]})
    framing = NdjsonFraming()
    framing.begin(batch.schema)
    [line] = framing.rows(batch).splitlines()
    assert json.loads(line, parse_constant=pytest.fail) == {
        "row": {"n": str(2**60), "x": "nan", "l": ["nan", 1.5], "t": "<b>"}
    }


async def test_only_those_with_the_token_and_the_right_name_may_ask(publish):
    async with serving(publish(site(), TABLES)) as client:
        for headers in (
            {"Authorization": ""},
            {"Authorization": f"Basic {TOKEN}"},
            {"Authorization": f"Bearer {TOKEN}x"},
        ):
            for path in ("/v1/queries", "/v1/tables", "/v1/queries/guessed"):
                answer = await client.call("GET", path, headers=headers)
                assert (answer.status, answer.json["code"]) == (401, "unauthorized")
        for host in (
            "evil.example",
            "127.0.0.1.evil.example:80",
            "localhost.evil.example",
            "[::1].evil.example",
        ):
            answer = await client.call("GET", "/", headers={"Host": host})
            assert answer.status in (400, 421), host
            assert b"<script>" not in answer.data
        for host in ("localhost:1", "127.0.0.1", "[::1]:8642"):
            assert (await client.call("GET", "/v1/queries", headers={"Host": host})).status == 200


async def test_hostile_requests_get_one_error_and_no_traceback(publish, tmp_path):
    secret = tmp_path / "private.csv"
    secret.write_text("a\n1\n")
    one = site()
    async with serving(publish(one, TABLES, auth={"type": "bearer", "token": "hush-hush"})) as client:
        for body in (b"", b"{", b"[]", b'"x"', b'{"sql": "SELECT \'\\ud800\'"}', b'{"sql": "SELECT 1", "interval": Infinity}', b"[" * 100_000, b'{"sql": 1}', b'{"sql": ""}', b'{"sql": "\xff"}',
                     b'{"sql": "SELECT 1", "x": 1}', b'{"sql": "SELECT 1", "deadline": NaN}', b'{"sql": "SELECT 1", "rows": true}', b'{"sql": "SELECT 1", "max_requests": 0}',
                     b'{"sql": "SELECT 1; SELECT 2"}', b'{"sql": "SELECT a FROM r", "policy": "../x"}', b'{"sql": "SELECT 1", "params": {"a": []}}'):  # fmt: skip
            answer = await client.call("POST", "/v1/query", data=body)
            assert answer.status == 400, body[:40]
            assert {"code", "message", "position"} <= set(answer.json)
        assert (await client.call("POST", "/v1/query", data=b"x" * 300_000)).status == 413
        for sql in ("DROP TABLE r", "INSERT INTO r VALUES (1, 2)", "SELECT reflect('java.lang.System', 'exit')",
                    f"SELECT * FROM csv.`{secret}`", f"SELECT * FROM '{secret}'", "SELECT * FROM stdin", "SELECT (" * 5000):  # fmt: skip
            answer = await client.query(sql)
            assert answer.status == 400, sql[:60]
            assert "Traceback" not in answer.json["text"]
        for name in (f"csv.`{secret}`", "'private.csv'", "stdin", "json.`a.json`", "'data/*.parquet'"):
            said = (await client.query(f"SELECT * FROM {name}")).json["text"]
            assert ": no files are read here" in said
            assert "with `fff serve --local-files`; specs can" in said
            assert "did you mean" not in said
        wrong = (await client.query("SELECT nothing FROM r")).json
        assert (wrong["code"], wrong["position"]) == ("query_error", 8)
        wrong = (await client.query("/* SELECT nothing FROM r */ SELECT nothing FROM r")).json
        assert wrong["position"] == 36, "not that in the comment"
        one.faults[("r", "scan")] = 401
        failed = await client.query("SELECT a FROM r")
        assert (failed.status, failed.json["code"]) == (502, "source_error")
        assert b"hush" not in failed.data + (await client.call("GET", "/v1/tables")).data
        assert (await client.query("SELECT 1", accept="image/png")).status == 406
        assert (await client.call("GET", "/v1/query")).json["code"] == "method_not_allowed"
        assert not (await client.call("GET", "/v1/queries")).json


async def test_a_number_among_the_parameters_is_the_one_that_is_written(publish):
    async with serving(publish(site(), TABLES)) as client:

        async def bound(sql: str, number: str):
            body = f'{{"sql": "{sql}", "params": {{"a": {number}}}}}'
            return await client.call("POST", "/v1/query", data=body.encode())

        same = "SELECT 12345678901234567890.99 = :a AS same"
        for number, is_same in (("12345678901234567890.12", False), ("12345678901234567890.99", True)):
            assert (await bound(same, number)).json["rows"] == [[is_same]]
        for number in ("0.12345678901234567890123", "0.10000000000000004"):  # no double is printed so
            assert (await bound("SELECT :a AS a", number)).json["rows"] == [[number]]
        whole = f"{0.1:.60f}"  # all digits of the double
        printed = ("0.10000000000000001", f"{0.1:.20f}", f"{2 / 3:.17g}")  # as C, PHP and R do
        for number in ("0.1", "0.30000000000000004", "1e-3", whole, "-0.0", *printed):
            held = (await bound("SELECT :a AS a, typeof(:a) AS t", number)).json
            assert held["rows"] == [[float(number), "double"]]
        for number in ("1e400", "1e-400", f"{'9' * 400}.5", "0.1" + "2" * 40, "NaN", "Infinity"):
            refused = await bound("SELECT a FROM r WHERE b < :a", number)
            assert refused.status == 400, number


async def test_what_is_wrong_with_a_request_is_told_as_the_clients(publish):
    async with serving(publish(site(), TABLES)) as client:
        marked = await client.call("POST", "/v1/query", data=b'\xef\xbb\xbf{"sql": "SELECT 1"}')
        assert marked.json["rows"] == [[1]], "a byte order mark is none of the JSON"
        assert (await client.call("GET", "/v1/query")).headers["Allow"] == "POST"
        packed = {"Content-Encoding": "gzip"}
        torn = await client.call("POST", "/v1/query", data=b"no gzip", headers=packed)
        assert (torn.status, torn.json["code"]) == (400, "bad_request")


async def test_clients_see_and_stop_their_own_queries_alone(publish):
    one = site()
    one.faults[("s", "3")] = "hang"
    tokens = {"ann": "a" * 24, "bob": "b" * 24}
    async with serving(publish(one, TABLES), ServeLimits(concurrent=1), tokens=tokens) as client:
        ann = Caller(client.http, client.url, {"Authorization": f"Bearer {tokens['ann']}"})
        bob = Caller(client.http, client.url, {"Authorization": f"Bearer {tokens['bob']}"})
        running = asyncio.create_task(ann.query(JOIN))
        await asyncio.wait_for(asyncio.to_thread(lambda: asyncio.run(until(one.hanging.is_set))), 60)
        [state] = (await ann.call("GET", "/v1/queries")).json
        assert (state["sql"], state["phase"]) == (JOIN, "fetching")
        assert state["requests"] > 0
        assert (await bob.call("GET", "/v1/queries")).json == []
        for method in ("GET", "DELETE"):
            assert (await bob.call(method, f"/v1/queries/{state['id']}")).status == 404
        second = await ann.query("SELECT 1")
        assert (second.status, second.json["code"]) == (429, "too_many_queries")
        assert (await bob.query("SELECT 1")).status == 200, "one client does not take another's place"
        assert (await ann.call("DELETE", f"/v1/queries/{state['id']}")).status == 202
        answer = (await running).json
        assert answer["complete"] is False
        assert 0 < len(answer["rows"]) < 45
        assert (
            (await ann.call("GET", f"/v1/queries/{state['id']}"))
            .json["end"]["reason"]
            .startswith("interrupted")
        )
        assert (await bob.call("GET", f"/v1/queries/{state['id']}")).status == 404


@pytest.mark.parametrize("tokens", [{"greedy": "g" * 24, "small": "s" * 24}, {"": "b" * 24}])
async def test_who_asks_for_little_does_not_wait_for_all_that_others_ask(publish, tokens):
    one = site()
    spec = publish(one, TABLES, rate_limit={"fill_rate": 10, "bucket_size": 1})
    async with serving(spec, tokens=tokens) as client:
        greedy = Caller(client.http, client.url, {"Authorization": f"Bearer {min(tokens.values())}"})
        small = Caller(client.http, client.url, {"Authorization": f"Bearer {max(tokens.values())}"})
        keys = [",".join(str(1000 + 20 * at + key) for key in range(20)) for at in range(5)]
        many = [
            asyncio.create_task(greedy.query(f"SELECT b FROM web.s WHERE a IN ({one})", deadline=60))
            for one in keys
        ]
        await until(lambda: sum(one.keys.values()) >= 3)
        before = sum(one.keys.values())
        assert (await small.query("SELECT b FROM web.s WHERE a = 3")).json["rows"] == [[30]]
        assert sum(one.keys.values()) - before <= 15, "of a hundred"
        for task in many:
            task.cancel()
        await asyncio.gather(*many, return_exceptions=True)


async def test_a_client_that_goes_away_stops_its_query(publish):
    one = site()
    one.faults[("s", "3")] = "hang"
    async with serving(publish(one, TABLES)) as client:
        running = asyncio.create_task(client.query(JOIN))
        await asyncio.wait_for(asyncio.to_thread(lambda: asyncio.run(until(one.hanging.is_set))), 60)
        assert len((await client.call("GET", "/v1/queries")).json) == 1
        running.cancel()
        async with asyncio.timeout(30):  # by itself it gives up after two reads of 30 s
            while (await client.call("GET", "/v1/queries")).json:  # noqa: ASYNC110 - it is asked
                await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_a_client_can_spend_less_than_the_server_allows_and_never_more(publish):
    limits = ServeLimits(deadline=0.8, max_requests=3, budget=Money.parse("1 USD"))
    one = site()
    one.faults[("s", "3")] = "hang"
    async with serving(publish(one, TABLES), limits) as client:
        answer = (await client.query("SELECT a FROM r", max_requests=1000)).json
        assert not answer["complete"]
        assert answer["requests"] == 3
        assert (await client.query("SELECT a, b FROM r", max_requests=1)).json["requests"] <= 1
        unpriced = (await client.query("SELECT a FROM r LIMIT 1", budget="0.50 USD")).json["warnings"]
        assert unpriced[:1] == ["no source of this states a price, so that the budget limits nothing"]
        async with asyncio.timeout(60):
            hung = await client.query("SELECT b FROM s WHERE a = 3", deadline=3600)
        assert hung.status == 502 or not hung.json["complete"]
        refused = await client.query("SELECT 1", budget="1 EUR")
        assert (refused.status, refused.json["code"]) == (400, "usage_error")


RELATED = [
    *(f"SELECT r.a, s.b FROM r JOIN s ON r.b = s.a WHERE r.a > {n}" for n in range(9)),
    *(f"SELECT s.b FROM s WHERE a IN ({n}, {(n + 1) % 7})" for n in range(7)),
    *(f"SELECT a FROM r WHERE b = {n}" for n in range(4)),
]


async def test_related_queries_at_once_ask_hardly_more_than_one_for_all_they_read(publish):
    one = site()
    async with serving(publish(one, TABLES)) as client:
        answers = await asyncio.gather(*(client.query(sql) for sql in RELATED))
        assert len(answers) == 20
        assert all(answer.json["complete"] for answer in answers)
        assert sorted(answers[0].json["rows"]) == [row for row in WHOLE if row[0] > 0]
        union = 5 + 7  # the pages of r, the keys of s
        assert sum(one.scans.values()) + sum(one.keys.values()) <= 1.1 * union
        before = one.scans["r"]
        assert (await client.query("SELECT a + 1 c FROM r LIMIT 3")).json["complete"]
        assert one.scans["r"] == before
    alone = site()
    async with serving(publish(alone, TABLES), max_age=0) as client:
        for sql in RELATED[:2]:
            assert (await client.query(sql)).json["complete"]
    assert sum(alone.scans.values()) == 10, "what is too old is read anew"


async def test_the_page_holds_itself_to_itself():
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    for tag in ("script", "style"):
        [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", PAGE, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.search(r"innerHTML|insertAdjacent|document\.write|eval\(|https?:|//\w+\.", PAGE)


def test_what_the_page_is_told_is_text():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: the page's script is not run")
    hostile = "<img src=x onerror=alert(1)>"
    queries = [
        {"id": "../x", "sql": hostile, "access": [{"name": hostile, "state": "running", "requests": 1}]}
    ]
    dom = """
const made = [], asked = [];
const element = () => ({children: [], hidden: true, append(...all) { this.children.push(...all); },
  replaceChildren() { this.children = []; }, addEventListener(kind, call) { this[kind] = call; }});
const known = {queries: element(), said: element(), login: element(), token: element()};
globalThis.document = {getElementById: (id) => known[id],
                       createElement: (tag) => { const one = element(); made.push(one); return one; }};
globalThis.location = {hash: "#t0ken", pathname: "/"};
globalThis.sessionStorage = {getItem: () => null, setItem() {}};
globalThis.history = {replaceState() { asked.push("hash taken off"); }};
globalThis.setTimeout = () => {
  made.filter((one) => one.click).forEach((one) => one.click());
  console.log(JSON.stringify({texts: made.map((one) => one.textContent), asked}));
};
globalThis.fetch = async (path, {method, headers}) => { asked.push([method, path, headers.Authorization]);
  return {ok: true, status: 200, json: async () => QUERIES}; };
""".replace("QUERIES", json.dumps(queries))
    done = subprocess.run(
        [node, "-"],
        input=dom + SCRIPT.replace('"use strict";', ""),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    told = json.loads(done.stdout)
    assert hostile in told["texts"]
    assert f"{hostile} running 1" in told["texts"]
    assert told["asked"][:2] == ["hash taken off", ["GET", "/v1/queries", "Bearer t0ken"]]
    assert ["DELETE", "/v1/queries/..%2Fx", "Bearer t0ken"] in told["asked"]


async def test_the_document_knows_every_route_and_member(publish):
    async with serving(publish(site(), TABLES)) as client:
        told = (await client.call("GET", "/openapi.json")).json
        assert told == json.loads(json.dumps(document(told["info"]["version"], 1)))
        for path, methods in told["paths"].items():
            for method in methods:
                found = await client.call(
                    method.upper(), path.replace("{id}", "guessed"), headers={"Authorization": ""}
                )
                assert found.status == 401, f"{method} {path} is there, and guarded"
        page = await client.call("GET", "/", headers={"Authorization": ""})
        assert page.status == 200
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("*/*", "application/json"),
        (f"{NDJSON};q=0.5, {ARROW}", ARROW),
        ("text/html, application/x-ndjson;q=0.9", NDJSON),
        ("text/*", EVENTS),
        (f"{ARROW};q=0", None),
        ("text/html", None),
    ],
)
def test_what_a_client_accepts(header, kind):
    assert accepted(header) == kind


async def test_errors_advise_nothing_that_a_client_cannot_do(publish):
    async with serving(publish(site(), TABLES)) as caller:
        for sql, told in {
            "SELECT a FROM elsewhere.unlike_any": "SHOW TABLES lists",
            "SELECT b FROM web.s WHERE a = :key": "among the parameters",
            "SELECT a, nope FROM web.r": "r has a, b",
        }.items():
            error = (await caller.query(sql)).json
            assert told in error["hint"]
            assert told in error["text"]
            assert not {"-s", "-p", "`fff"} & set(error["text"].split())
        tables = (await caller.query("SHOW TABLES")).json["rows"]
        assert {row[1] for row in tables} >= {"r", "s"}
