"""`fff.connect`: blocking calls over sites that another thread serves."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import fff
from fff.api.loop import LoopThread
from tests.api.conftest import Publish
from tests.api.sites import JOIN, ROWS, TABLES, site


def own_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("fff-loop")}


@pytest.fixture(autouse=True)
def nothing_stays(publish: Publish):
    before = own_threads()
    yield
    if not own_threads() <= before:
        gc.collect()  # what was not closed goes with what held it
    assert own_threads() <= before, "what others had left may have gone meanwhile"


def test_importing_fff_is_cheap() -> None:
    code = "import fff, sys; print(sorted({'pyarrow', 'numpy', 'asyncio', 'pyspark'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_one_source_or_several(publish: Publish) -> None:
    spec = publish(site(), TABLES)
    with fff.connect([spec]) as connection:
        expected = sorted(connection.sql("SELECT * FROM web.s WHERE a = 3"))
    assert expected
    for sources in (spec, str(spec), [spec], (str(spec),)):
        assert sorted(fff.sql("SELECT * FROM web.s WHERE a = 3", sources=sources)) == expected


@pytest.mark.parametrize("wrong", [3, None, b"a.yaml", {"version": 1}])
def test_what_is_no_source(wrong: object) -> None:
    for sources in (wrong, [wrong]):
        with pytest.raises(fff.UsageError, match=f"not a value of type {type(wrong).__name__}"):
            fff.connect(sources)  # type: ignore[arg-type]


def test_every_public_name_is_there() -> None:
    for name in fff.__all__:
        assert getattr(fff, name) is not None
        assert name in dir(fff)
    with pytest.raises(AttributeError, match="nothing"):
        _ = fff.nothing


def test_a_result(publish: Publish) -> None:
    with fff.connect(publish(site(), TABLES)) as federation:
        result = federation.sql(JOIN, seed=4)
    assert sorted(result.rows()) == sorted((a, 10 * b) for a, b in ROWS)
    assert sorted(result) == sorted(result.rows())
    assert len(result) == 45
    assert result.complete
    assert result.missing == ()
    assert result.schema == pa.schema([("a", pa.int32()), ("b", pa.int32())])
    assert result.to_arrow().num_rows == 45
    assert (result.report["rows"], result.report["seed"], result.report["exit_code"]) == (45, 4, 0)
    assert json.loads(json.dumps(result.report)) == result.report


def test_how_a_result_looks(publish: Publish) -> None:
    with fff.connect(publish(site(), TABLES)) as federation:
        few = federation.sql("SELECT a, b FROM web.r WHERE a < 2 AND b = 0")
        many = federation.sql("SELECT a, b FROM web.r")
        none = federation.sql("SELECT a AS long_name FROM web.r WHERE a > 100")
    assert repr(few) == "a  b\n0  0\n1 row"
    assert repr(many).splitlines()[-2:] == ["…", "45 rows"]
    assert repr(none) == "long_name\n0 rows"


def test_parameters_are_values(publish: Publish) -> None:
    with fff.connect(publish(site(), TABLES)) as federation:
        assert federation.sql("SELECT b FROM web.s WHERE a = :key", {"key": 3}).rows() == [(30,)]
        with pytest.raises(fff.UsageError, match=":key has no value"):
            federation.sql("SELECT b FROM web.s WHERE a = :key")


def test_mistakes_are_told_before_anything_is_sent(publish: Publish) -> None:
    served = site()
    with fff.connect(publish(served, TABLES)) as federation:
        with pytest.raises(fff.QueryError, match="unknown column nope"):
            federation.sql("SELECT nope FROM web.r")
        with pytest.raises(fff.InfeasibleQuery):
            federation.sql("SELECT b FROM web.s")
        with pytest.raises(fff.UsageError, match="policy"):
            federation.sql(JOIN, policy="nope")
        with pytest.raises(fff.UsageError, match="deadline"):
            federation.sql(JOIN, deadline=0)
        with pytest.raises(fff.UsageError, match="max_requests"):
            federation.sql(JOIN, max_requests=-1)
        with pytest.raises(fff.UsageError, match="on_source_error"):
            federation.sql(JOIN, on_source_error="ignore")
        with pytest.raises(TypeError, match="no option 'timeout'"):
            federation.sql(JOIN, timeout=3)
    assert served.scans.total() == served.keys.total() == 0


def test_connecting_tells_what_is_wrong_with_the_sources(tmp_path: Path) -> None:
    with pytest.raises(fff.UsageError, match="no such spec"):
        fff.connect(tmp_path / "nothing.yaml")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("version: 1\nsources: {}\n")
    with pytest.raises(fff.SpecError):
        fff.connect(str(wrong))


def test_sources_are_found_where_the_command_line_finds_them(
    publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FFF_SOURCES", str(publish(site(), TABLES)))
    with fff.connect() as federation:
        assert [table.full_name for table in federation.tables()][:2] == ["web.r", "web.s"]


def test_explaining_and_describing_send_nothing(publish: Publish) -> None:
    served = site()
    with fff.connect(publish(served, TABLES)) as federation:
        assert "web.s" in federation.explain(JOIN)
        fields = federation.describe("SELECT b AS x, a FROM web.r")
    assert [(field.name, field.type) for field in fields] == [("x", "int"), ("a", "int")]
    assert served.scans.total() == served.keys.total() == 0


def test_a_source_that_fails_is_an_error_unless_parts_will_do(publish: Publish) -> None:
    served = site()
    served.faults["s", "3"] = 500
    with fff.connect(publish(served, TABLES)) as federation:
        with pytest.raises(fff.SourceError, match=r"web\.s.*500"):
            federation.sql(JOIN)
        part = federation.sql(JOIN, on_source_error="partial")
    assert not part.complete
    assert sorted(part) == sorted((a, 10 * b) for a, b in ROWS if b != 3)
    assert [missing.table for missing in part.missing] == ["web.s"]
    assert "incomplete: " in repr(part)


def test_a_budget_is_that_of_its_statement(publish: Publish) -> None:
    served = site()
    with fff.connect(publish(served, TABLES)) as federation:
        assert len(federation.sql("SELECT a FROM web.r")) == 45
        part = federation.sql("SELECT a FROM web.r", max_requests=2)
        assert not part.complete
        assert 0 < len(part) < 45
        assert federation.sql("SELECT a FROM web.r").complete


def test_a_part_is_not_handed_on_as_the_whole(publish: Publish) -> None:
    with fff.connect(publish(site(), TABLES)) as federation:
        part = federation.sql("SELECT a FROM web.r", max_requests=2)
        with pytest.raises(fff.SourceError, match="the result is incomplete: the budget of 2 requests"):
            part.to_spark()
        with pytest.raises(fff.UsageError, match=r"p: the result is incomplete.*: the budget of 2 requests"):
            federation.register_table("p", part)
        with pytest.raises(fff.UsageError, match="part: the result is incomplete"):
            fff.sql("SELECT count(*) FROM {part}", part=part)
        federation.register_table("p", part.to_arrow())
        assert len(federation.sql("SELECT a FROM p")) == len(part)
        federation.register_table("p", federation.sql("SELECT a FROM web.r"))
        assert len(federation.sql("SELECT a FROM p")) == 45
        wanted = federation.sql("SELECT a FROM web.r", max_requests=2, on_source_error="partial")
        lent = object()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("fff.spark.bridge.frame_in", lambda session, rows: (session, rows))
            assert wanted.to_spark(lent) == (lent, wanted.to_arrow())


def test_what_was_read_is_kept_where_it_is_wanted(publish: Publish) -> None:
    served = site()
    spec = publish(served, TABLES)
    with fff.connect(spec) as federation:
        assert len(federation.sql("SELECT a FROM web.r")) == len(federation.sql("SELECT a FROM web.r"))
    once = served.scans["r"]
    assert once > 0
    served.scans.clear()
    with fff.connect(spec, keep=True) as federation:
        assert len(federation.sql("SELECT a FROM web.r")) == len(federation.sql("SELECT b FROM web.r"))
        assert served.scans["r"] * 2 == once
        federation.reset()
        assert len(federation.sql("SELECT a FROM web.r")) == 45
        assert served.scans["r"] == once


def test_priorities_change_no_answer(publish: Publish) -> None:
    with fff.connect(publish(site(), TABLES)) as federation:
        assert len(federation.sql(JOIN, prioritize=["r.b = 3"])) == 45
        with pytest.raises(fff.QueryError, match="nope"):
            federation.sql(JOIN, prioritize=["nope = 3"])
        with pytest.raises(fff.UsageError, match="list"):
            federation.sql(JOIN, prioritize="b = 3")


def test_a_deadline_gives_what_is_there(publish: Publish) -> None:
    served = site()
    served.faults["r", "scan@20"] = "hang"
    with fff.connect(publish(served, TABLES), deadline=3600) as federation:
        for deadline in (0.2, 0.8, 3.2, 12.8):  # a busy machine needs longer for the first page
            part = federation.sql("SELECT a FROM web.r", deadline=deadline)
            if len(part):
                break
    assert not part.complete
    assert 0 < len(part) < 45


def test_batches_come_as_they_are_found(publish: Publish) -> None:
    with fff.connect(publish(site(), TABLES)) as federation:
        batches = federation.batches("SELECT a, b FROM web.r")
        with pytest.raises(fff.UsageError, match="end"):
            _ = batches.complete
        assert sorted(pa.Table.from_batches(batches)["a"].to_pylist()) == list(range(45))
        assert batches.complete
        assert batches.report["rows"] == 45
        assert (batches.missing, batches.warnings) == ((), ())
        assert list(batches) == []


def test_leaving_a_loop_stops_fetching(publish: Publish) -> None:
    served = site()
    served.faults["r", "scan@10"] = "hang"
    with fff.connect(publish(served, TABLES)) as federation:
        for batch in federation.batches("SELECT a FROM web.r"):
            assert len(batch) == 10
            break
        assert federation._inner._runs == set()
        for snapshot in federation.stream("SELECT a FROM web.r", interval=0.01):
            if snapshot.rows:
                break
        assert federation._inner._runs == set()
        with federation.batches("SELECT a FROM web.r") as batches:
            assert len(next(batches)) == 10
        assert federation._inner._runs == set()
        with pytest.raises(fff.UsageError, match="stopped before its end"):
            list(batches)
        assert len(federation.sql("SELECT b FROM web.s WHERE a = 1")) == 1


def test_a_loop_goes_on_where_another_was_left(publish: Publish) -> None:
    with fff.connect(publish(site(), TABLES)) as federation:
        batches = federation.batches("SELECT a FROM web.r")
        found = [next(iter(batches)), *itertools.islice(batches, 1)]
        for batch in batches:
            found.append(batch)
            break
        found += batches
        assert sorted(pa.Table.from_batches(found)["a"].to_pylist()) == list(range(45))
        assert batches.complete
        stream = federation.stream(JOIN, interval=0.001)
        next(iter(stream))
        assert [snapshot.phase for snapshot in stream][-1] == "done"
        assert len(stream.result) == 45


def test_a_statement_may_run_inside_the_loop_over_another(publish: Publish) -> None:
    with fff.connect(publish(site(20), TABLES)) as federation:
        found = [
            federation.sql("SELECT b FROM web.s WHERE a = :key", {"key": key}).rows()
            for batch in federation.batches("SELECT b FROM web.r")
            for key in set(batch["b"].to_pylist())
        ]
    assert {row for [row] in found} == {(10 * key,) for key in range(7)}


def test_a_stream_ends_with_the_result(publish: Publish) -> None:
    with fff.connect(publish(site(), TABLES)) as federation:
        stream = federation.stream(JOIN, interval=0.001)
        with pytest.raises(fff.UsageError, match="end"):
            _ = stream.result
        snapshots = list(stream)
        assert snapshots[-1].phase == "done"
        assert snapshots[-1].rows == 45
        assert [one.rows for one in snapshots] == sorted(one.rows for one in snapshots)
        assert len(stream.result) == 45


def test_errors_come_out_of_iterations(publish: Publish) -> None:
    served = site()
    served.faults["r", "scan@10"] = 500
    with fff.connect(publish(served, TABLES)) as federation:
        with pytest.raises(fff.SourceError):
            list(federation.stream("SELECT a FROM web.r"))
        batches = federation.batches("SELECT a FROM web.r")
        with pytest.raises(fff.SourceError):
            list(batches)
        with pytest.raises(fff.UsageError, match="stopped before its end"):
            list(batches)
        with pytest.raises(fff.QueryError):
            next(federation.batches("SELECT nope FROM web.r"))


def test_ctrl_c_stops_the_statement_and_nothing_else(
    publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = site()
    served.faults["r", "scan@10"] = "hang"
    main = threading.get_ident()
    hang = served.hanging.set
    monkeypatch.setattr(
        served.hanging, "set", lambda: (hang(), signal.pthread_kill(main, signal.SIGINT)), raising=True
    )
    with fff.connect(publish(served, TABLES)) as federation:
        with pytest.raises(KeyboardInterrupt):
            federation.sql("SELECT a FROM web.r")
        assert federation._inner._runs == set()
        assert len(federation.sql("SELECT b FROM web.s WHERE a = 1")) == 1


def test_threads_may_share_a_connection(publish: Publish) -> None:
    with fff.connect(publish(site(), TABLES)) as federation, ThreadPoolExecutor(4) as threads:
        counts = list(threads.map(lambda _: len(federation.sql(JOIN)), range(8)))
    assert counts == [45] * 8


async def test_it_works_beside_a_running_loop(publish: Publish) -> None:
    assert asyncio.get_running_loop().is_running()
    with fff.connect(publish(site(), TABLES)) as federation:
        assert len(federation.sql(JOIN)) == 45


def test_closing_ends_what_runs(publish: Publish) -> None:
    served = site()
    served.faults["r", "scan@10"] = "hang"
    federation = fff.connect(publish(served, TABLES))
    batches = federation.batches("SELECT a FROM web.r")
    assert len(next(batches)) == 10
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(list, batches)
        federation.close()
        with pytest.raises(fff.UsageError, match="closed"):
            waiting.result()
    federation.close()
    for use in (federation.sql, federation.explain, federation.describe):
        with pytest.raises(fff.UsageError, match="closed"):
            use("SELECT a FROM web.r")
    with pytest.raises(fff.UsageError, match="closed"):
        federation.tables()
    with pytest.raises(fff.UsageError, match="stopped before its end"):
        list(batches)


@pytest.mark.slow
def test_a_forgotten_connection_is_closed(publish: Publish) -> None:
    before = own_threads()
    federation = fff.connect(publish(site(), TABLES))
    batches = federation.batches("SELECT a FROM web.r")
    del federation
    gc.collect()
    assert len(own_threads()) == len(before) + 1, "it is not forgotten while something of it is in use"
    assert sum(map(len, batches)) == 45
    del batches
    gc.collect()
    assert own_threads() == before


def test_a_connection_does_not_outlive_a_fork(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    with fff.connect(publish(site(), TABLES)) as federation:
        with monkeypatch.context() as patch:
            patch.setattr("fff.api.loop.os.getpid", lambda: -1)
            with pytest.raises(fff.UsageError, match="fork"):
                federation.sql(JOIN)
        assert len(federation.sql(JOIN)) == 45


@pytest.mark.slow
def test_a_program_that_closes_nothing_ends(publish: Publish) -> None:
    spec = publish(site(), TABLES)
    code = f"import fff; f = fff.connect({str(spec)!r}); b = f.batches({JOIN!r}); print(len(next(b)) > 0)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_pandas(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    with fff.connect(publish(site(), TABLES)) as federation:
        result = federation.sql("SELECT b, a FROM web.r")
    frame = result.to_pandas()
    assert list(frame.columns) == ["b", "a"]
    assert len(frame) == 45
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(fff.UsageError, match="pandas is not installed"):
        result.to_pandas()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2**53 + 1, None, -1]),
        pa.array([[2**53 + 1, None], None], pa.list_(pa.int64())),
        pa.array([{"a": 2**53 + 1}, {"a": None}]),
        pa.array([[("a", 2**53 + 1), ("b", None)]], pa.map_(pa.string(), pa.int64())),
    ],
    ids=["number", "list", "struct", "map"],
)
def test_pandas_has_whole_numbers_beside_null_as_they_are(values: pa.Array) -> None:
    pandas = pytest.importorskip("pandas")
    small = pa.array([1, None, 2][: len(values)], pa.int32())
    with fff.connect() as federation:
        federation.register_table("t", pa.table({"v": values, "small": small}))
        frame = federation.sql("SELECT v, small, v AS v FROM t").to_pandas()
    assert list(frame.columns) == ["v", "small", "v"]
    for column in (frame.iloc[:, 0], frame.iloc[:, 2]):
        made = pa.array([None if value is pandas.NA else value for value in column], values.type)
        assert made.to_pylist() == values.to_pylist()


def test_pandas_has_small_numbers_beside_null_as_ever() -> None:
    pytest.importorskip("pandas")
    with fff.connect() as federation:
        federation.register_table("t", pa.table({"v": [2**53, None]}))
        assert str(federation.sql("SELECT v FROM t").to_pandas()["v"].dtype) == "float64"


def test_a_value_that_python_has_not_costs_no_row_beside_it() -> None:
    pytest.importorskip("pandas")
    with fff.connect() as federation:
        late = pa.array([19_000, 10**8, 19_001], pa.date32())
        federation.register_table("t", pa.table({"d": late}))
        result = federation.sql("SELECT d FROM t")
    assert len(result.fetchmany(1)) == 1
    for ask in (result.fetchone, result.fetchall, result.to_pandas):
        with pytest.raises(fff.UsageError, match="Python has no value"):
            ask()


class TestLoopThread:
    def test_what_ends_a_program_ends_no_loop(self) -> None:
        loop = LoopThread()

        async def leave() -> None:
            asyncio.get_running_loop().call_soon(sys.exit, 3)
            await asyncio.sleep(0.01)
            asyncio.get_running_loop().stop()
            await asyncio.sleep(0.01)
            sys.exit(4)

        with pytest.raises(SystemExit):
            loop.run(leave())
        assert loop.run(asyncio.sleep(0, "there")) == "there"
        loop.stop()
        assert not loop._thread.is_alive()

    def test_it_does_not_wait_for_itself(self) -> None:
        loop = LoopThread()

        async def nested() -> None:
            loop.run(asyncio.sleep(0))

        with pytest.raises(fff.UsageError, match="cannot wait for that connection"):
            loop.run(nested())
        loop.stop()

    def test_a_call_that_comes_too_late_is_refused(self) -> None:
        loop = LoopThread()
        loop.stop()
        loop.stop()
        with pytest.raises(fff.UsageError, match="closed"):
            loop.run(asyncio.sleep(0))
        loop.finish(asyncio.sleep(0))

    def test_stopping_cancels(self) -> None:
        loop = LoopThread()
        begun = threading.Event()

        async def long() -> None:
            begun.set()
            await asyncio.Event().wait()

        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(loop.run, long())
            begun.wait()
            loop.stop()
            with pytest.raises(fff.UsageError, match="closed while"):
                waiting.result()

    def test_its_own_thread_can_leave_tidying_to_it(self) -> None:
        loop = LoopThread()
        tidied: list[int] = []

        async def tidy() -> None:
            await asyncio.sleep(0)
            tidied.append(os.getpid())

        async def forget() -> None:
            loop.finish(tidy())
            loop.stop()

        loop.run(forget())
        loop._thread.join()
        assert tidied == [os.getpid()]
