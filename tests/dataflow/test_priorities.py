"""Priorities change what comes first: tuples, keys, requests, results. Never what comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fff.dataflow.lookups.access import KeyState, LookupModule
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.events import (
    Emit,
    FetchPages,
    Lookup,
    LookupRows,
    Prioritize,
    Route,
    ScanFailed,
    ScanRows,
)
from fff.dataflow.plan.expressions import And, Column, Compare, Expr, InList, Literal, Not
from fff.dataflow.plan.plan import BlockPlan, Seed
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.priorities import Priorities
from tests.dataflow.blocks import Key, Play, Scripted, block, place, table

Plays = Callable[..., Play]


def equals(column: str, value: object, kind: pa.DataType | None = None) -> Compare:
    return Compare("=", place(column), Literal(value, kind or pa.int32()))


def wish(*predicates: Expr) -> Prioritize:
    return Prioritize(tuple(predicates))


def keys_of(asked: Sequence[Lookup]) -> list[Key]:
    return [key for lookup in asked for key in lookup.keys]


def fetch_by_key(window: int = 1, batch: int = 1) -> BlockPlan:
    """F (zip, state) is scanned, D (zip, income) is looked up by F's zip."""
    return block(
        [
            table("zip state", scans=1, name="f"),
            table("zip income", (0,), window=window, batch=batch, name="d"),
        ],
        ["0.0 = 1.0"],
    )


PAGE = [(10, 1), (11, 2), (12, 1), (13, 2)]


def answered(game: Play) -> list[Key]:
    """Answer lookups one by one as they come; the keys in the order they were asked for."""
    done = 0
    while done < len(game.asked):
        request = sorted(game.asked)[done]
        game.answer(request, *((key[0], 100 + int(str(key[0]))) for key in game.asked[request].keys))
        done += 1
    return keys_of([game.asked[request] for request in sorted(game.asked)])


class TestRequests:
    def test_without_a_wish_keys_are_asked_for_in_their_order(self, play: Plays) -> None:
        game = play(fetch_by_key())
        game.start()
        game.scan(0, *PAGE)
        assert answered(game) == [(10,), (11,), (12,), (13,)]

    def test_wished_tuples_ask_first(self, play: Plays) -> None:
        game = play(fetch_by_key())
        game.start()
        game.feed(wish(equals("0.1", 2)))
        game.scan(0, *PAGE)
        assert answered(game) == [(11,), (13,), (10,), (12,)]
        assert len(game.rows) == 4
        assert game.finish is not None
        assert game.finish.complete

    def test_a_wish_before_the_start_counts(self, play: Plays) -> None:
        game = play(fetch_by_key())
        game.feed(wish(equals("0.1", 2)))
        game.start()
        game.scan(0, *PAGE)
        assert answered(game) == [(11,), (13,), (10,), (12,)]

    def test_a_later_wish_raises_what_is_queued_already(self, play: Plays) -> None:
        game = play(fetch_by_key())
        game.start()
        game.scan(0, *PAGE)
        assert game.told.keys == [(10,)]
        game.feed(wish(equals("0.1", 2)))
        assert answered(game) == [(10,), (11,), (13,), (12,)]

    def test_the_last_wish_replaces_the_one_before(self, play: Plays) -> None:
        game = play(fetch_by_key())
        game.start()
        game.feed(wish(equals("0.0", 13)))
        game.scan(0, *PAGE)
        assert game.told.keys == [(13,)]
        game.feed(wish(equals("0.0", 12)))
        game.feed(wish(equals("0.0", 11)))
        assert answered(game)[:2] == [(13,), (11,)]

    def test_no_wish_takes_wishes_back(self, play: Plays) -> None:
        game = play(fetch_by_key())
        game.start()
        game.feed(wish(equals("0.1", 2)))
        game.feed(wish())
        assert game.eddy.router.priorities is None
        game.scan(0, *PAGE)
        assert answered(game) == [(10,), (11,), (12,), (13,)]

    def test_wishes_reach_equal_columns(self, play: Plays) -> None:
        """R8: D.zip is not there yet when its key is asked for, F.zip is."""
        game = play(fetch_by_key())
        game.start()
        game.feed(wish(equals("1.0", 12)))
        game.scan(0, *PAGE)
        assert answered(game)[0] == (12,)

    def test_a_wished_prober_raises_a_key_that_others_have_queued(self, play: Plays) -> None:
        """P35."""
        game = play(fetch_by_key())
        game.start()
        game.page(0, (10, 1), (11, 1), (12, 1))
        game.feed(wish(equals("0.1", 2)))
        game.page(0, (12, 2))
        game.end(0)
        assert answered(game) == [(10,), (12,), (11,)]
        assert len(game.rows) == 4

    def test_a_later_wish_asks_an_index_for_what_has_gone_by_to_wait_for_a_scan(self, play: Plays) -> None:
        """R9, after a turn: of F's rows that D's scan has not answered, and of no others."""
        beside = block(
            [
                table("zip state", scans=1, name="f"),
                table("zip income", (0,), scans=1, key=(0,), window=1, name="d"),
            ],
            ["0.0 = 1.0"],
        )
        game = play(beside)
        game.start()
        game.scan(0, *PAGE, (None, 2))
        game.page(1, (11, 7))
        assert not game.asked
        game.feed(wish(equals("0.1", 2)))
        assert keys_of(list(game.asked.values())) == [(13,)]
        game.feed(wish(equals("0.1", 3)))
        game.feed(wish())
        game.answer(0, (13, 8))
        game.scan(1, (10, 6))
        assert len(game.asked) == 1
        assert sorted(row[0] for row in game.rows) == [10, 11, 13]

    def test_wished_keys_fill_a_request_first(self, play: Plays) -> None:
        game = play(fetch_by_key(batch=3))
        game.start()
        game.scan(0, (10, 1), (11, 1), (12, 1), (13, 1), (14, 2), (15, 1), (16, 2))
        game.feed(wish(equals("0.1", 2)))
        assert answered(game) == [(10,), (11,), (12,), (14,), (16,), (13,), (15,)]
        assert len(game.asked[1].keys) == 3

    def test_seeds_are_asked_for_by_wish(self, play: Plays) -> None:
        plan = block(
            [table("k v", (0,), window=1)], seeds={0: Seed(0, tuple((number,) for number in range(5)))}
        )
        game = play(plan)
        game.feed(wish(InList(Column(0, 0), (3, 4), pa.int32())))
        game.start()
        assert answered(game) == [(3,), (4,), (0,), (1,), (2,)]

    def test_a_failed_key_is_offered_to_the_next_lookup_by_wish(self, play: Plays) -> None:
        plan = block([table("a b", scans=1), table("a b", (0,), (1,), window=1)], ["0.0 = 1.0", "0.1 = 1.1"])
        game = play(plan)
        game.start()
        game.scan(0, (1, 1), (2, 2), (3, 3))

        def newest(index: int) -> Lookup:
            return [lookup for lookup in game.asked.values() if lookup.index == index][-1]

        for _ in range(2):
            game.fail(newest(0).request)
        game.feed(wish(equals("0.0", 3)))
        game.fail(newest(0).request)
        assert newest(1).keys == ((1,),)
        game.answer(newest(1).request, (1, 1))
        assert newest(1).keys == ((3,),), "before the one that has waited longer"
        game.answer(newest(1).request, (3, 3))
        game.answer(newest(1).request, (2, 2))
        assert len(game.rows) == 3

    def test_a_scan_read_by_keys_is_read_by_wish(self, play: Plays) -> None:
        plan = block([table("k s", scans=1), table("k v", (0,), scans=1, window=1)], ["0.0 = 1.0"])
        game = play(plan)
        game.start()
        game.scan(0, *PAGE)
        game.feed(wish(equals("1.0", 12)))
        game.feed(ScanFailed(1, 0, "HTTP 503"))
        assert game.told.keys == [(12,)]
        assert set(answered(game)) == {(10,), (11,), (12,), (13,)}


class TestTuples:
    def test_wished_tuples_are_routed_first_and_their_results_come_first(self, play: Plays) -> None:
        """Two scans: what joins a wished row leaves before everything else that waits."""
        plan = block([table("k s", scans=1), table("k v", scans=1)], ["0.0 = 1.0"], output="0.0 0.1")

        def order(*wished: Expr) -> list[int]:
            game = play(plan, route_size=1)
            game.start()
            game.scan(1, *((number, 0) for number in range(6)))
            game.feed(wish(*wished))
            game.feed(ScanRows(0, 0, game.batch(0, [(number, number % 2) for number in range(6)])))
            told = game.settle()
            assert len(game.rows) == 6
            return [
                value
                for emit in told.of(Emit)
                for value in game.eddy.gather(emit.batch).column(0).to_pylist()
            ]

        assert sorted(order()) == [0, 1, 2, 3, 4, 5]
        assert set(order(equals("0.1", 1))[:3]) == {1, 3, 5}
        assert set(order(equals("0.1", 0))[:3]) == {0, 2, 4}
        assert order(equals("1.0", 2))[0] == 2

    def test_a_wish_sorts_what_waits_already(self, play: Plays) -> None:
        plan = block([table("k s", scans=1), table("k v", scans=1)], ["0.0 = 1.0"], output="0.0")
        game = play(plan)
        game.start()
        game.scan(1, *((number, 0) for number in range(6)))
        game.feed(ScanRows(0, 0, game.batch(0, [(number, number % 2) for number in range(6)])))
        game.feed(wish(equals("0.1", 1)))
        first = game.feed(Route()).one(Emit)
        assert sorted(game.eddy.gather(first.batch).column(0).to_pylist()) == [1, 3, 5]

    def test_a_wish_over_two_aliases_waits_until_both_are_there(self, play: Plays) -> None:
        plan = block(
            [table("k s", scans=1), table("k v", (0,)), table("k w", (0,), window=1)], ["0.0 = 1.0 = 2.0"]
        )
        game = play(plan)  # fixed: a, b, c
        game.start()
        game.feed(wish(And((equals("0.1", 1), equals("1.1", 7)))))
        game.scan(0, (1, 1), (2, 1), (3, 1))
        assert game.told.keys == [(1,), (2,), (3,)], "nothing is known of b yet"
        game.answer(0, (1, 5))
        game.answer(1, (2, 5))
        game.answer(2, (3, 7))
        asked = [lookup for lookup in game.asked.values() if lookup.table == 2]
        assert keys_of(asked) == [(1,)]
        game.answer(asked[0].request, (1, 0))
        assert game.told.of(Lookup, table=2)[-1].keys == ((3,),), "wished, though it came last"

    def test_rows_of_a_wished_answer_go_first(self, play: Plays) -> None:
        """R9: the row was fetched for a wished tuple; its chain is to find that tuple soon."""
        plan = block([table("k s", scans=1), table("k v", (0,), scans=1)], ["0.0 = 1.0"], output="0.0 1.1")
        game = play(plan)
        game.start()
        game.feed(wish(equals("0.1", 9)))
        game.page(0, (1, 0), (2, 9))
        game.feed(ScanRows(1, 0, game.batch(1, [(1, 11)])))
        assert game.told.keys == [(2,)]
        request = next(iter(game.asked))
        game.eddy.handle(_rows(game, request, (2, 22)))
        told = game.feed(Route())
        assert game.eddy.gather(told.one(Emit).batch).to_pylist() == [{"k": 2, "v": 22}]


def _rows(game: Play, request: int, *rows: tuple[object, ...]) -> LookupRows:
    return LookupRows(request, game.batch(game.asked[request].table, rows))


class TestBouncing:
    """R9: wished probes of a scanned table go on to its lookup."""

    PLAN = block([table("k s", scans=1), table("k v", (0,), scans=1)], ["0.0 = 1.0"])

    def test_only_wished_probes_ask_although_a_scan_runs(self, play: Plays) -> None:
        game = play(self.PLAN)
        game.start()
        game.page(0, (1, 1), (2, 1))
        assert not game.told.keys
        game.feed(wish(equals("0.1", 2)))
        game.page(0, (3, 1), (4, 2))
        assert game.told.keys == [(4,)]
        game.answer(0, (4, 44))
        assert game.rows == {(4, 2, 4, 44): 1}, "before the scan has brought anything"
        game.end(0)
        game.scan(1, (4, 44), (1, 11))
        assert game.rows == {(4, 2, 4, 44): 1, (1, 1, 1, 11): 1}
        assert game.finish is not None
        assert game.finish.complete

    def test_a_policy_does_not_pay_for_it(self, play: Plays) -> None:
        policy = Scripted()
        game = play(self.PLAN, policy)
        game.start()
        game.feed(wish(equals("0.1", 2)))
        game.page(0, (4, 2))
        assert game.told.keys == [(4,)]
        assert [outcome.requests for outcome in policy.outcomes] == [0]

    def test_nothing_is_asked_once_the_scan_is_complete(self, play: Plays) -> None:
        game = play(self.PLAN)
        game.start()
        game.feed(wish(equals("0.1", 2)))
        game.scan(1, (2, 22))
        game.page(0, (2, 2))
        assert not game.told.keys
        assert game.rows == {(2, 2, 2, 22): 1}

    def test_nor_of_a_table_that_has_lookups_only(self, play: Plays) -> None:
        """What seeds bring is all that the alias needs."""
        plan = block(
            [table("k s", scans=1), table("k v", (0,), (1,))], ["0.0 = 1.0"], seeds={1: Seed(1, ((5,),))}
        )
        game = play(plan)
        game.start()
        game.feed(wish(equals("0.1", 2)))
        game.page(0, (2, 2))
        assert game.told.keys == [(5,)]

    def test_its_failure_harms_nothing(self, play: Plays) -> None:
        game = play(self.PLAN)
        game.start()
        game.feed(wish(equals("0.1", 2)))
        game.scan(0, (2, 2))
        game.fail(0)
        game.scan(1, (2, 22))
        assert game.rows == {(2, 2, 2, 22): 1}
        assert game.finish is not None
        assert game.finish.complete


class TestMask:
    """`Priorities` on its own."""

    PLAN = block(
        [
            table("k:bigint m:string", scans=1),
            table("k:int m:string", scans=1, name="u"),
            table("x:double", scans=1),
        ],
        ["0.0 = 1.0", "0.1 = 1.1"],
    )

    def block(self) -> Block:
        made = Block(self.PLAN, all_fire=False, max_window=None)
        tables: list[list[tuple[Any, ...]]] = [
            [(1, "a"), (2**40, "b"), (2, "b")],
            [(1, "b"), (2, "b"), (3, None)],
            [(0.0,), (float("nan"),), (None,)],
        ]
        for number, rows in enumerate(tables):
            for index, column in enumerate(made.plan.tables[number].columns):
                made.stems[number].columns[index].append(pa.array([row[index] for row in rows], column.arrow))
        return made

    def mask(self, span: str, *predicates: Expr) -> list[bool] | None:
        rows = {int(alias): np.arange(3) for alias in span}
        batch = TupleBatch(TupleState(sum(1 << alias for alias in rows)), rows, np.arange(3))
        found = Priorities(predicates, self.block()).mask(batch)
        return None if found is None else found.tolist()

    def test_a_column_stands_for_its_equals_whatever_their_width(self) -> None:
        assert self.mask("1", equals("0.0", 2, pa.int64())) == [False, True, False]
        assert self.mask("0", equals("1.0", 2)) == [False, False, True]
        assert self.mask("0", InList(place("1.0"), (1, 2), pa.int32())) == [True, False, True]
        assert self.mask("0", Compare(">", place("1.0"), Literal(1, pa.int32()))) == [False, True, True]

    def test_several_columns_need_an_equal_each(self) -> None:
        both = And((equals("0.0", 2, pa.int64()), equals("0.1", "b", pa.string())))
        assert self.mask("1", both) == [False, True, False]
        assert self.mask("0", And((equals("1.0", 2), equals("2.0", 0.0, pa.float64())))) is None
        assert self.mask("02", And((equals("1.0", 1), equals("2.0", 0.0, pa.float64())))) == [
            True,
            False,
            False,
        ]

    def test_unknown_is_not_wished(self) -> None:
        assert self.mask("1", Not(equals("1.1", "b", pa.string()))) == [False, False, False]
        assert self.mask("2", equals("2.0", 0.0, pa.float64())) == [True, False, False]

    def test_any_of_several_wishes_will_do(self) -> None:
        assert self.mask("0", equals("0.0", 1, pa.int64()), equals("0.1", "b", pa.string())) == [True] * 3
        assert self.mask("2", equals("0.0", 1, pa.int64())) is None
        assert self.mask("0", equals("0.0", 1, pa.int64()), equals("2.0", 0.0, pa.float64())) == [
            True,
            False,
            False,
        ]

    def test_a_batch_splits_in_two_at_most_wished_tuples_first(self) -> None:
        rows = {0: np.arange(3)}
        batch = TupleBatch(TupleState(1), rows, np.arange(3))
        of = [
            [
                (part.rows[0].tolist(), first)
                for part, first in Priorities([wished], self.block()).split(batch)
            ]
            for wished in (
                equals("0.1", "b", pa.string()),
                equals("0.1", "c", pa.string()),
                Compare(">", place("0.0"), Literal(0, pa.int64())),
                equals("2.0", 0.0, pa.float64()),
            )
        ]
        assert of == [
            [([1, 2], True), ([0], False)],
            [([0, 1, 2], False)],
            [([0, 1, 2], True)],
            [([0, 1, 2], False)],
        ]


def lookup_module(batch: int = 1, window: int = 16) -> LookupModule:
    plan = block([table("a b:string", (0, 1), window=window, batch=batch)], seeds={0: Seed(0, ())})
    return Block(plan, all_fire=False, max_window=None).lookups[0][0]


class TestQueueOfKeys:
    def sent(self, module: LookupModule) -> list[int]:
        sent: list[int] = []
        number = 0
        while (request := module.next_request(number)) is not None:
            sent += request.keys.tolist()
            module.cover([request])
            number += 1
        assert module.pending == 0 == module.count(KeyState.PENDING)
        assert module.idle
        return sent

    def test_raised_and_new_urgent_keys_go_first_and_once(self) -> None:
        module = lookup_module()
        assert module.request(np.arange(5)) == 5
        module.hurry(np.array([3, 3, 9]))
        assert module.request(np.array([1, 7, 7, 3]), urgent=True) == 1
        assert module.pending == 6 == module.count(KeyState.PENDING)
        assert module.queued().tolist() == [3, 1, 7, 0, 2, 4]
        assert self.sent(module) == [3, 1, 7, 0, 2, 4]

    def test_calm_takes_the_hurry_back(self) -> None:
        module = lookup_module()
        module.request(np.arange(4))
        module.hurry(np.array([2]))
        module.calm()
        module.hurry(np.array([3]))
        assert self.sent(module) == [3, 2, 0, 1]

    def test_dropped_keys_can_be_asked_for_again(self) -> None:
        module = lookup_module()
        module.request(np.arange(3))
        module.hurry(np.array([2]))
        module.drop_pending()
        assert module.idle
        assert module.request(np.array([2, 1])) == 2
        assert self.sent(module) == [1, 2]

    def test_giving_up_takes_every_key_once(self) -> None:
        module = lookup_module()
        module.request(np.arange(3))
        module.hurry(np.array([2]))
        assert module.give_up_pending("stopped").tolist() == [2, 0, 1]
        assert module.idle
        assert sorted(module.reasons) == [0, 1, 2]

    def test_a_request_with_an_urgent_key_says_so(self) -> None:
        module = lookup_module(batch=2)
        module.request(np.arange(3))
        module.hurry(np.array([2]))
        first, second = module.next_request(0), module.next_request(1)
        assert first is not None
        assert second is not None
        assert (first.keys.tolist(), first.urgent) == ([2, 0], True)
        assert (second.keys.tolist(), second.urgent) == ([1], False)

    def test_keys_as_columns_are_their_values(self) -> None:
        module = lookup_module()
        numbers = [
            domain.number(pa.array(values, kind))
            for domain, values, kind in zip(
                module._domains, ([7, 8, 7], ["x", "y", "y"]), (pa.int32(), pa.string()), strict=True
            )
        ]
        keys = module.keys(numbers)
        assert [column.to_pylist() for column in module.columns(keys)] == [[7, 8, 7], ["x", "y", "y"]]
        assert [module.values(key) for key in keys.tolist()] == [(7, "x"), (8, "y"), (7, "y")]


def test_wishes_cost_no_page_and_no_credit(play: Plays) -> None:
    game = play(fetch_by_key())
    game.start()
    told = game.feed(wish(equals("0.1", 2)))
    assert not told
    assert len(game.told.of(FetchPages)) == 1


@pytest.mark.parametrize("semantics", ["parked", "paper"])
def test_a_wish_after_the_end_is_nothing(play: Plays, semantics: str) -> None:
    game = play(fetch_by_key(), semantics=semantics)
    game.start()
    game.scan(0)
    assert game.finish is not None
    assert not game.feed(wish(equals("0.1", 2)))
