"""What blocks and statements read of the same table is fetched once, whoever comes, leaves or fails."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fff.access.checked import CheckedSource
from fff.access.key_index import KeyIndex, having
from fff.access.session_cache import Lease, Use
from fff.access.shared_scan import READING_OVERHEAD
from fff.access.stack import open_table
from fff.budget import Budget, BudgetExhausted
from fff.errors import SourceError
from fff.federation import RunOptions
from fff.policies import POLICIES
from fff.sql.plan import FirstRows
from fff.structs import replace
from tests.engine.duck import over_duck
from tests.engine.joins import INTS, JOIN, SHAPES, lookup_only, mixed, oracle, random_site, two
from tests.engine.sharing import ALL, BY_A, ROWS, SCAN, TABLE, World, of, taken
from tests.engine.site import Site, access, federated, rows_of, run
from tests.web.serving import Serve


async def quiet() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class TestScans:
    async def test_two_readers_get_all_pages_of_one_scan_with_all_columns(self) -> None:
        world = World()
        lease = world.lease("ab", "ac")
        first, second = await asyncio.gather(world.scan(lease, 0), world.scan(lease, 1, "ca"))
        assert first == ALL
        assert second == [(row[2], row[0]) for row in ROWS]
        assert world.source.asked == [("a", "b", "c")]
        assert world.source.pages == [0, 5, 10, 15]
        assert (world.meter.requests, world.meter.cached) == (4, 4)
        lease.close()
        assert world.store.bytes == 0

    async def test_a_late_reader_begins_with_the_first_page(self) -> None:
        world = World()
        lease = world.lease("ab", "ab")
        assert await world.scan(lease, 0) == ALL
        lease.release(0)
        assert await world.scan(lease, 1) == ALL
        assert world.source.pages == [0, 5, 10, 15]
        assert world.store.bytes <= READING_OVERHEAD, "what the last reader has read is gone"
        lease.close()

    async def test_who_leaves_early_disturbs_nobody(self) -> None:
        world = World()
        lease = world.lease("ab", "ab")
        rows = await asyncio.gather(world.scan(lease, 0, stop=1), world.scan(lease, 1))
        assert rows[0] == ALL[:5]
        assert rows[1] == ALL
        assert world.source.pages == [0, 5, 10, 15]
        lease.close()

    async def test_nobody_left_stops_the_scan(self) -> None:
        world = World()
        lease = world.lease("ab", "ab")
        assert await world.scan(lease, 0, stop=1) == ALL[:5]
        assert world.source.open == 0
        assert world.source.pages == [0], "no page that nobody wanted"
        assert await world.scan(lease, 1) == ALL
        assert world.source.pages == [0, 0, 5, 10, 15], "a prefix is no scan"
        lease.close()

    async def test_a_reader_cancelled_while_it_waits(self) -> None:
        world = World()
        world.source.gate = asyncio.Event()
        lease = world.lease("ab", "ab")
        tasks = [asyncio.create_task(world.scan(lease, block)) for block in (0, 1)]
        await quiet()
        tasks[0].cancel()
        await quiet()
        world.source.gate.set()
        assert await tasks[1] == ALL
        assert tasks[0].cancelled()
        assert world.source.pages == [0, 5, 10, 15]
        lease.close()

    async def test_all_see_the_failure_and_the_next_tries_anew(self) -> None:
        world = World()
        lease = world.lease("ab", "ab", "ab")
        world.source.fault = lambda what: SourceError("gone") if what == 10 else None
        found = await asyncio.gather(world.scan(lease, 0), world.scan(lease, 1), return_exceptions=True)
        assert [getattr(error, "message", error) for error in found] == ["gone", "gone"]
        assert world.source.pages == [0, 5]
        world.source.fault = lambda what: None
        assert await world.scan(lease, 2) == ALL
        lease.close()
        assert world.store.bytes == 0

    async def test_a_bug_of_an_adapter_is_an_error_of_its_source_that_says_so(self) -> None:
        world = World()
        lease = world.lease("ab", "ab")
        world.source.fault = lambda what: ZeroDivisionError()
        with pytest.raises(SourceError, match=r"web\.t: its adapter raised ZeroDivisionError") as found:
            await world.scan(lease, 0)
        assert isinstance(found.value.__cause__, ZeroDivisionError)
        lease.close()

    async def test_a_truncated_scan_keeps_its_mark_and_is_not_kept(self) -> None:
        world = World(keep=True)
        world.source.truncated = "stopped after 4 pages"
        lease = world.lease("ab", "ab")
        for block in (0, 1):
            source = open_table(Use(block, TABLE, world.source, ()), lease)
            pages = [page async for page in source.scan(TABLE, SCAN, "ab", meter=world.meter, window=1)]
            assert pages[-1].truncated == "stopped after 4 pages"
        assert len(world.source.asked) == 1
        lease.close()
        assert world.store.bytes == 0

    async def test_one_block_alone_reads_the_source_itself(self) -> None:
        world = World()
        lease = world.lease("ab")
        assert isinstance(open_table(Use(0, TABLE, world.source, ()), lease), CheckedSource)
        lease.close()

    async def test_a_block_asks_for_what_is_read_for_all_that_share_a_table(self) -> None:
        """Whatever stands between them tells the one table to ask for, and ends a scan that brought the first rows."""
        world = World()
        wanted = replace(TABLE, rows_wanted=1)
        for first in (None, FirstRows(None, 1)):
            for blocks, asked in ((["ab"], wanted), (["ab", "ab"], TABLE)):
                lease = world.lease(*blocks)
                source = open_table(Use(0, wanted, world.source, ()), lease, first)
                assert list(source.tables) == [asked]
                pages = source.scan(asked, SCAN, ["a", "b"], meter=world.meter, window=1)
                assert len(await taken(pages)) == (len(ALL) if first is None else len(ALL) // 4)  # type: ignore[arg-type]
                lease.close()


class TestBudgets:
    """Who begins a reading pays for it; others read along only if they draw on the same budget, until it has ended."""

    @pytest.mark.parametrize("keep", [True, False])
    async def test_who_has_none_is_not_ended_by_the_budget_of_another(self, keep: bool) -> None:
        world, budget = World(keep=keep), Budget(2)
        poor, rich = world.lease("ab", "ab"), world.lease("ab", "ab")
        found = await asyncio.gather(
            world.scan(poor, 0, budget=budget), world.scan(rich, 0), return_exceptions=True
        )
        assert isinstance(found[0], BudgetExhausted)
        assert found[1] == ALL
        assert (budget.spent, world.meter.requests) == (2, 4)
        poor.close()
        rich.close()

    async def test_blocks_that_draw_on_one_budget_share_a_scan(self) -> None:
        world, budget = World(), Budget(4)
        lease = world.lease("ab", "ab")
        found = await asyncio.gather(*(world.scan(lease, block, budget=budget) for block in (0, 1)))
        assert found == [ALL, ALL]
        assert budget.spent == len(world.source.pages) == 4
        lease.close()
        assert world.store.bytes == 0

    async def test_nobody_with_a_budget_goes_on_with_what_another_has_left(self) -> None:
        world, budget = World(keep=True), Budget(2)
        rich, poor = world.lease("ab"), world.lease("ab")
        found = await asyncio.gather(
            world.scan(rich, 0, stop=1), world.scan(poor, 0, budget=budget), return_exceptions=True
        )
        assert found[0] == ALL[:5]
        assert isinstance(found[1], BudgetExhausted)
        assert len(world.source.pages) == 3
        rich.close()
        poor.close()

    async def test_what_has_ended_serves_every_budget_and_is_held_once(self) -> None:
        world, budgets = World(keep=True), [Budget(4), Budget(9)]
        leases = [world.lease("ab") for _ in budgets]
        pairs = zip(leases, budgets, strict=True)
        await asyncio.gather(*(world.scan(lease, 0, budget=budget) for lease, budget in pairs))
        assert [budget.spent for budget in budgets] == [4, 4]
        held = world.store.bytes
        broke = Budget(0)
        assert await world.scan(world.lease("ab"), 0, budget=broke) == ALL
        assert await world.ask(world.lease("ab"), 0, 3, budget=broke) == of(3)
        assert len(world.source.pages) == 8
        for lease in leases:
            lease.close()
        alone = World(keep=True)
        await alone.scan(alone.lease("ab"), 0)
        assert held == alone.store.bytes

    async def test_keys_under_way_are_asked_for_by_each_budget_and_answers_serve_all(self) -> None:
        world = World(keep=True)
        world.source.gate = asyncio.Event()
        budgets = [None, Budget(1), Budget(1)]
        leases = [world.lease("ab", "ab") for _ in budgets]
        asked = [
            asyncio.create_task(world.ask(lease, block, 3, budget=budget))
            for lease, budget in zip(leases, budgets, strict=True)
            for block in (0, 1)
        ]
        await quiet()
        world.source.gate.set()
        assert await asyncio.gather(*asked) == [of(3)] * 6
        assert world.source.keys == {(3,): 3}, "once for each who pays, whichever block asks"
        broke = Budget(0)
        assert await world.ask(world.lease("ab"), 0, 3, budget=broke) == of(3)
        with pytest.raises(BudgetExhausted, match="budget of 0"):
            await world.ask(world.lease("ab"), 0, 4, budget=broke)
        for lease in leases:
            lease.close()

    async def test_a_key_that_one_budget_paid_for_is_kept_for_later_statements(self) -> None:
        world = World(keep=True)
        with contextlib.closing(world.lease("ab")) as lease:
            await world.ask(lease, 0, 3, budget=Budget(1))
        with contextlib.closing(world.lease("ab")) as lease:
            assert await world.ask(lease, 0, 3) == of(3)
        assert world.source.keys == {(3,): 1}


class TestLookups:
    async def test_rows_nobody_asked_for_do_not_come_twice(self) -> None:
        """A key that was asked for before comes from its own answer, not from another one as well."""
        world = World()
        world.source.more = True
        lease = world.lease("ab", "ab")
        assert await world.ask(lease, 0, 1) == sorted(ALL), "who asks knows which rows to leave out"
        assert await world.ask(lease, 1, 1, 2) == of(1, 2)
        lease.close()

    async def test_a_key_is_asked_for_once(self) -> None:
        world = World()
        lease = world.lease("ab", "ab")
        assert await world.ask(lease, 0, 1, 2) == of(1, 2)
        assert await world.ask(lease, 1, 2, 3) == of(2, 3)
        assert await world.ask(lease, 1, 1) == of(1)
        assert world.source.keys == {(1,): 1, (2,): 1, (3,): 1}
        assert (world.meter.requests, world.meter.cached) == (2, 2)
        assert lease.distinct_keys("web.t", BY_A.name) == 3
        lease.close()

    async def test_known_under_way_and_new_keys_in_one_request(self) -> None:
        world = World()
        lease = world.lease("ab", "ab")
        await world.ask(lease, 0, 1)
        world.source.gate = asyncio.Event()
        flying = asyncio.create_task(world.ask(lease, 0, 2, 3))
        await quiet()
        mixed = asyncio.create_task(world.ask(lease, 1, 1, 3, 99))
        await quiet()
        world.source.gate.set()
        assert await flying == of(2, 3)
        assert await mixed == of(1, 3)
        assert world.source.keys == {(k,): 1 for k in (1, 2, 3, 99)}
        lease.close()

    async def test_who_asked_first_may_leave(self) -> None:
        world = World()
        world.source.gate = asyncio.Event()
        lease = world.lease("ab", "ab")
        tasks = [asyncio.create_task(world.ask(lease, block, 4)) for block in (0, 1)]
        await quiet()
        tasks[0].cancel()
        await quiet()
        world.source.gate.set()
        assert await tasks[1] == of(4)
        assert world.source.keys == {(4,): 1}
        lease.close()

    async def test_nobody_left_cancels_and_the_next_asks_anew(self) -> None:
        world = World()
        world.source.gate = asyncio.Event()
        lease = world.lease("ab", "ab")
        task = asyncio.create_task(world.ask(lease, 0, 4))
        await quiet()
        task.cancel()
        await quiet()
        assert world.source.open == 0
        world.source.gate = None
        assert await world.ask(lease, 1, 4) == of(4)
        lease.close()

    async def test_a_failure_is_shared_by_those_who_wait_and_not_kept(self) -> None:
        world = World(keep=True)
        world.source.gate = asyncio.Event()
        world.source.fault = lambda what: SourceError("gone")
        lease = world.lease("ab", "ab")
        tasks = [asyncio.create_task(world.ask(lease, block, 4)) for block in (0, 1)]
        await quiet()
        world.source.gate.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [getattr(error, "message", error) for error in found] == ["gone", "gone"]
        world.source.fault = lambda what: None
        assert await world.ask(lease, 1, 4) == of(4)
        lease.close()

    async def test_answers_are_let_go_with_the_last_who_may_want_them(self) -> None:
        world = World()
        lease = world.lease("ab", "ab")
        await world.ask(lease, 0, 1, 2)
        assert world.store.bytes > 0
        lease.release(0)
        assert await world.ask(lease, 1, 1, 2) == of(1, 2), "a block that begins late asks for nothing twice"
        assert world.meter.requests == 1
        lease.release(1)
        assert world.store.bytes == 0
        lease.close()


class TestSessions:
    async def test_what_was_read_whole_answers_everything_later(self) -> None:
        world = World(keep=True)
        lease = world.lease("ab")
        assert await world.scan(lease, 0) == ALL
        lease.close()
        lease = world.lease("abc", "abc")
        assert await world.scan(lease, 0, "ca") == [(row[2], row[0]) for row in ROWS]
        assert await world.ask(lease, 1, 3, 99, 3) == of(3)
        assert await world.ask(lease, 1, 99) == []
        lease.close()
        assert world.source.asked == [("a", "b", "c")]
        assert world.source.keys == {}
        assert world.meter.requests == 4
        lease = world.lease("ab")
        assert await world.scan(lease, 0) == ALL, "its pages were cut anew"
        lease.close()
        world.store.reset()
        lease = world.lease("ab")
        await world.scan(lease, 0)
        assert world.meter.requests == 8
        lease.close()

    async def test_keys_are_kept_too_and_a_scan_that_was_left_is_not(self) -> None:
        world = World(keep=True)
        lease = world.lease("ab")
        await world.ask(lease, 0, 1)
        await world.scan(lease, 0, stop=2)
        lease.close()
        lease = world.lease("ab")
        assert await world.ask(lease, 0, 1) == of(1)
        assert world.source.keys == {(1,): 1}
        assert await world.scan(lease, 0) == ALL
        lease.close()

    async def test_expected_statements_share_the_columns_of_all_and_no_more(self) -> None:
        world = World()
        statements = ["one", "two"]
        uses = [
            [Use(0, TABLE, world.source, ("b",))],
            [Use(0, TABLE, world.source, ("a",))],
        ]
        for statement, use in zip(statements, uses, strict=True):
            world.store.expect(statement, use)
        for statement, use, column in zip(statements, uses, "ba", strict=True):
            lease = world.store.lease(statement, use)
            assert len(await world.scan(lease, 0, column)) == 20
            lease.close()
        assert world.source.asked == [("a", "b")]
        assert world.source.pages == [0, 5, 10, 15]
        assert world.store.bytes == 0, "nobody else was expected"

    async def test_columns_that_lack_are_a_reason_to_read_again(self) -> None:
        world = World()
        for statement in ("one", "two"):
            world.store.expect(statement, [Use(0, TABLE, world.source, ("a",))])
        lease = world.store.lease("one", [Use(0, TABLE, world.source, ("a",))])
        await world.scan(lease, 0, "a")
        lease.close()
        lease = world.store.lease("another", [Use(0, TABLE, world.source, ("a", "b"))])
        assert await world.scan(lease, 0) == ALL
        lease.close()
        assert world.source.asked == [("a",), ("a", "b")]

    async def test_the_limit_drops_what_was_not_used_for_longest(self) -> None:
        world = World(keep=True, limit=1 << 20)
        lease = world.lease("ab")
        await world.scan(lease, 0)
        lease.close()
        assert 0 < world.store.bytes <= 1 << 20
        world.store.limit = world.store.bytes - 1
        lease = world.lease("ab")
        assert await world.scan(lease, 0) == ALL
        assert world.meter.requests == 4, "in use, so still there"
        lease.close()
        assert world.store.bytes == 0

    async def test_a_table_larger_than_the_limit_is_read_without_being_held(self) -> None:
        world = World(keep=True, limit=READING_OVERHEAD + 3000)
        lease = world.lease("ab")
        held = []
        source = open_table(Use(0, TABLE, world.source, ()), lease)
        async for _ in source.scan(TABLE, SCAN, "ab", meter=world.meter, window=1):
            held.append(world.store.bytes)  # noqa: PERF401 - looked at page by page
        assert len(held) == 4
        assert max(held[2:]) < READING_OVERHEAD + 2 * 1300, "a page or two"
        lease.close()
        assert world.store.bytes == 0


def test_rows_by_key_are_found_as_the_eddy_compares() -> None:
    floats = pa.table({"k": pa.array([0.0, -0.0, float("nan"), None, 2.5]), "v": range(5)})
    index = KeyIndex(floats, ["k"])
    assert pa.Table.from_batches(index.rows_of([(-0.0,)], ["v"])).column(0).to_pylist() == [0, 1]
    assert pa.Table.from_batches(index.rows_of([(float("nan"),)], ["v"])).column(0).to_pylist() == [2]
    assert index.rows_of([(7.0,)], ["v"]) in ([], [floats.select(["v"]).to_batches()[0].slice(0, 0)])
    batch = floats.to_batches()[0]
    assert having(batch, ["k"], [(0.0,), (2.5,)]).tolist() == [True, True, False, False, True]
    assert having(batch, ["k", "v"], [(0.0, 1)]).tolist() == [False, True, False, False, False]


async def wander(world: World, lease: Lease, block: int, seed: str) -> None:
    """A block that asks for some keys, then scans, perhaps not to the end."""
    rng = random.Random(seed)
    for _ in range(rng.randrange(4)):
        for _ in range(rng.randrange(4)):
            await asyncio.sleep(0)
        keys = rng.sample(range(9), rng.randrange(1, 4))
        with contextlib.suppress(SourceError):
            assert await world.ask(lease, block, *keys) == of(*keys), seed
    stop = rng.choice([1, 2, 99])
    with contextlib.suppress(SourceError):
        rows = await world.scan(lease, block, stop=stop)
        assert rows == ALL if stop == 99 else rows == ALL[: len(rows)], seed
        assert rows, seed


@pytest.mark.parametrize("faulty", [False, True])
async def test_random_readers_agree_with_the_table(faulty: bool) -> None:
    for seed in range(40):
        rng = random.Random(seed)
        world = World(keep=rng.random() < 0.5, limit=rng.choice([6000, 1 << 20]))
        if faulty:
            world.source.fault = lambda what, rng=rng: SourceError("x") if rng.random() < 0.05 else None
        for statement in range(3):
            blocks = range(rng.randrange(1, 4))
            lease = world.lease(*["abc" for _ in blocks])
            before = world.source.keys.copy()
            tasks = [
                asyncio.create_task(wander(world, lease, block, f"{seed}/{statement}/{block}"))
                for block in blocks
            ]
            cancelled = faulty and rng.random() < 0.3
            if cancelled:
                await quiet()
                tasks[0].cancel()
            await asyncio.wait(tasks)
            for task in tasks:
                if not task.cancelled():
                    task.result()
            if not faulty and len(blocks) > 1:
                assert max((world.source.keys - before).values(), default=1) == 1, seed
            lease.close()
            assert world.source.open == 0, seed
            assert world.store.bytes <= world.store.limit, seed


# ------------------------------------------------------------------------------------------------ whole statements


async def test_a_self_union_reads_each_page_and_key_once(serve: Serve, tmp_path: Path) -> None:
    site = two()
    sql = f"{JOIN} UNION ALL SELECT r.b, s.a FROM web.r JOIN web.s ON r.b = s.a"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, served):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    assert rows == oracle(site, sql)
    assert site.scans["r"] == 6
    assert site.keys == {("s", "a", str(k)): 1 for k in range(7)}
    access_of = {one["name"]: one for one in execution.outcome.report["access"]}
    assert set(access_of) == {"r.scan", "s.lookup[a]"}
    scan, lookup = access_of["r.scan"], access_of["s.lookup[a]"]
    assert (scan["requests"], scan["rows"], scan["complete"]) == (6, 60, True)
    assert (lookup["requests"], lookup["distinct_keys"], lookup["complete"]) == (7, 7, True)
    assert scan["cached"] == 6
    assert lookup["cached"] == 7
    assert len(served.asked) == 13


@pytest.mark.parametrize("policy", POLICIES)
async def test_keys_of_several_blocks_travel_in_one_request(
    serve: Serve, tmp_path: Path, policy: str
) -> None:
    tables, site = {"s": access("s", INTS, scan=False, lookups=["a"])}, two()
    tables["s"]["lookups"][0]["batch"] = {"size": 4, "separator": ","}
    sql = " UNION ALL ".join(f"SELECT a, b FROM web.s WHERE a = {k}" for k in (2, 4, 6, 1, 3, 5))
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        rows, execution = await run(federation, sql, policy=policy)
    assert rows == oracle(site, sql)
    assert execution.outcome.complete
    assert site.keys == {("s", "a", "2,4,6,1"): 1, ("s", "a", "3,5"): 1}


async def test_a_limit_in_one_block_leaves_the_other_its_pages(serve: Serve, tmp_path: Path) -> None:
    site = two()
    sql = "(SELECT a FROM web.r LIMIT 3) UNION ALL SELECT b FROM web.r"
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    assert len(rows) == 63
    assert site.scans["r"] == 6
    assert execution.outcome.complete


async def test_a_session_asks_nothing_twice(serve: Serve, tmp_path: Path) -> None:
    site = two()
    tables = lookup_only() | {"t": access("t", INTS, lookups=["a"])}
    site.tables["t"] = site.tables["s"]
    async with federated(serve, site, tmp_path, tables, keep=True) as (federation, served):
        over_duck(federation)
        rows, first = await run(federation, JOIN)
        assert first.outcome.report["access"][0]["requests"] == 6
        before = len(served.asked)
        again, second = await run(federation, JOIN)
        assert again == rows
        assert len(served.asked) == before
        report = second.outcome.report
        assert [(one["requests"], one["cached"]) for one in report["access"]] == [(0, 6), (0, 7)]
        assert second.outcome.complete
        await run(federation, "SELECT b FROM web.t")
        before = len(served.asked)
        sql = "SELECT b FROM web.t WHERE a = 3"
        rows, third = await run(federation, sql)
        assert rows == oracle(site, sql)
        assert len(served.asked) == before, "a whole table answers for its keys"
        assert sum(one["cached"] for one in third.outcome.report["access"]) > 0
        federation.reset()
        await run(federation, JOIN)
        assert len(served.asked) == before + 13


def _bad(policy: str) -> tuple[Site, dict[str, Any]]:
    """A table one of whose records has no number in column `b`."""
    site = Site({"r": (("a", "b"), [(1, 1), (2, "x"), (3, 3)])})
    return site, {"r": access("r", INTS) | {"on_bad_record": policy}}


BAD_FIRST = (["SELECT a FROM web.r", "SELECT a, b FROM web.r", "SELECT a FROM web.r"], [3, 2, 3])
BAD_LAST = (["SELECT a, b FROM web.r", "SELECT a FROM web.r", "SELECT a, b FROM web.r"], [2, 3, 2])


@pytest.mark.parametrize(("statements", "counts"), [BAD_FIRST, BAD_LAST])
@pytest.mark.parametrize("how", ["session", "expected", "together"])
async def test_a_record_left_out_for_a_column_is_there_for_those_who_do_not_want_it(
    serve: Serve, tmp_path: Path, statements: list[str], counts: list[int], how: str
) -> None:
    site, tables = _bad("skip")
    async with federated(serve, site, tmp_path, tables, keep=how == "session") as (federation, _):
        over_duck(federation)
        prepared = [federation.prepare(sql) for sql in statements]
        if how == "expected":
            federation.expect(prepared)
        executions = [federation.execute(one) for one in prepared]
        if how == "together":
            rows = await asyncio.gather(*map(rows_of, executions))
        else:
            rows = [await rows_of(one) for one in executions]
    assert [len(some) for some in rows] == counts
    for execution, count in zip(executions, counts, strict=True):
        assert sum(one["bad_records"] for one in execution.outcome.report["access"]) == 3 - count
        assert bool(execution.outcome.warnings) == (count == 2)


@pytest.mark.parametrize("together", [False, True])
async def test_what_is_wrong_with_an_answer_is_said_to_all_who_are_given_it(
    serve: Serve, tmp_path: Path, together: bool
) -> None:
    site, tables = _bad("null")
    async with federated(serve, site, tmp_path, tables, keep=True) as (federation, served):
        over_duck(federation)
        executions = [federation.execute(federation.prepare("SELECT a, b FROM web.r")) for _ in range(3)]
        if together:
            await asyncio.gather(*map(rows_of, executions))
        else:
            for one in executions:
                await rows_of(one)
        asked = len(served.asked)
    told = [one.outcome for one in executions]
    assert [sum(row["bad_records"] for row in one.report["access"]) for one in told] == [1, 1, 1]
    assert told[0].warnings
    assert [one.warnings for one in told] == [told[0].warnings] * 3
    assert asked == 1, "it is not asked for again"


async def test_expected_statements_share_and_leave_nothing_behind(serve: Serve, tmp_path: Path) -> None:
    site = two()
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, served):
        over_duck(federation)
        statements = [federation.prepare(sql) for sql in (JOIN, "SELECT b FROM web.r", JOIN)]
        federation.expect(statements)
        for prepared in statements:
            async for _ in federation.execute(prepared).batches():
                pass
        assert len(served.asked) == 13
        assert federation._store.bytes == 0
        async for _ in federation.execute(statements[1]).batches():
            pass
        assert len(served.asked) == 19, "nobody had expected it"


async def test_a_failed_page_is_never_taken_for_the_whole_in_a_session(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["r", "scan@30"] = 500
    async with federated(serve, site, tmp_path, lookup_only(), keep=True) as (federation, _):
        _, execution = await run(federation, "SELECT a FROM web.r")
        assert execution.outcome.exit_code == 3
        del site.faults["r", "scan@30"]
        rows, execution = await run(federation, "SELECT a FROM web.r")
    assert len(rows) == 60
    assert execution.outcome.complete


async def test_a_bound_on_requests_holds_over_statements_and_for_finding_out_columns(
    serve: Serve, tmp_path: Path
) -> None:
    site = two()
    tables = lookup_only()
    del tables["r"]["columns"]
    async with federated(serve, site, tmp_path, tables) as (federation, served):
        budget = Budget(8)
        await federation.discover(JOIN, budget)
        assert len(served.asked) == 1
        first = federation.execute(federation.prepare("SELECT a FROM web.r"), RunOptions(seed=1), budget)
        await rows_of(first)
        assert first.outcome.complete
        second = federation.execute(federation.prepare(JOIN), RunOptions(seed=1), budget)
        await rows_of(second)
        assert second.outcome.exit_code == 3
        assert second.outcome.missing[0].reason == "the budget of 8 requests is used up"
        assert len(served.asked) == 8
        _, third = await run(federation, JOIN)
        assert third.outcome.complete
    async with federated(serve, site, tmp_path, tables) as (federation, served):
        with pytest.raises(SourceError, match="budget of 0 requests"):
            await federation.discover(JOIN, Budget(0))
        assert served.asked == []


async def test_nothing_is_held_after_a_statement(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["s", "3"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        sql = f"{JOIN} UNION ALL {JOIN}"
        await run(federation, sql)
        assert (federation._store.bytes, federation._store._buffers) == (0, {})
        with pytest.raises(SourceError):
            await run(federation, sql, on_source_error="fail")
        assert (federation._store.bytes, federation._store._buffers) == (0, {})


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 60))]
)
async def test_random_statements_of_a_session_agree_with_the_tables(
    serve: Serve, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    site = random_site(rng)
    site.page = rng.randrange(3, 9)  # equal pages of one row each look like a source that ignores the offset
    async with federated(serve, site, tmp_path, mixed(), keep=rng.random() < 0.7) as (federation, served):
        over_duck(federation)
        statements = [rng.choice(SHAPES) for _ in range(4)]
        prepared = [federation.prepare(sql) for sql in statements]
        if not federation._store.keep:
            federation.expect(prepared)
        for sql, one in zip(statements, prepared, strict=True):
            options = RunOptions(
                seed=rng.randrange(99),
                policy=rng.choice(list(POLICIES)),
                semantics=rng.choice(["parked", "paper"]),
            )
            execution = federation.execute(one, options)
            rows = await rows_of(execution)
            assert execution.outcome.complete, execution.outcome.reason
            assert rows == oracle(site, sql), sql
    assert max(collections.Counter(served.paths).values()) == 1, "no page and no key twice in a session"


async def test_what_is_too_old_is_read_anew_by_those_who_begin_then() -> None:
    now = [0.0]
    world = World(keep=True, max_age=10.0, clock=lambda: now[0])
    early = world.lease("ab")
    assert await world.scan(early, 0) == ALL
    now[0] = 9.9
    second = world.lease("ab")
    assert await world.scan(second, 0) == ALL
    assert world.source.pages == [0, 5, 10, 15]
    now[0] = 10.0
    third = world.lease("ab")
    assert await world.scan(third, 0) == ALL
    assert world.source.pages == [0, 5, 10, 15] * 2
    early.close()
    second.close()
    third.close()
    fourth = world.lease("ab")
    assert await world.scan(fourth, 0) == ALL
    assert world.source.pages == [0, 5, 10, 15] * 2, "who ends late takes nothing newer away"
    fourth.close()
