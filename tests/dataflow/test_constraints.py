"""Legal moves: what a tuple may do next, by the shape of the query."""

from __future__ import annotations

import pytest

from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.plan import BlockPlan, Seed
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.constraints import Binding, Constraints, Link, PinnedKey
from tests.dataflow.blocks import block, compare, table

SCAN = table("k v", scans=1)
INDEX = table("k v", (0,))
BOTH = table("k v", (0,), scans=1)


def legal(plan: BlockPlan, span: int, done: int = 0) -> set[Move]:
    return set(Constraints(plan).legal(TupleState(span, done)))


def states(plan: BlockPlan, *, every: bool = False) -> set[TupleState]:
    """Every state that legal moves reach from the aliases that start chains."""
    constraints = Constraints(plan)
    todo = [TupleState(1 << n) for n, alias in enumerate(plan.aliases) if alias.active or every]
    seen: set[TupleState] = set()
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        for move in constraints.legal(state):
            if move.predicate is not None:
                todo.append(TupleState(state.span, state.done | 1 << move.predicate))
            else:
                todo.append(TupleState(state.span | 1 << move.alias, state.done))
    return seen


def test_who_asks_the_same_plan_shares_the_answers() -> None:
    plan, other = block([SCAN, INDEX], ["0.0 = 1.0"]), block([SCAN, INDEX], ["0.0 = 1.0"])
    shared = Constraints.of(plan)
    assert Constraints.of(plan) is shared
    assert Constraints.of(other) is not shared


def test_star() -> None:
    plan = block([SCAN, INDEX, INDEX], ["0.0 = 1.0", "0.1 = 2.0"])
    assert legal(plan, 0b001) == {Move(1, 0), Move(2, 0)}
    assert legal(plan, 0b011) == {Move(2, 0)}
    assert legal(plan, 0b111) == set()
    assert {state.span for state in states(plan)} == {0b001, 0b011, 0b101, 0b111}


def test_chain_of_bind_limited_tables_goes_one_way() -> None:
    """P05: an S row never probes R, which it could not bind."""
    plan = block([SCAN, INDEX, INDEX], ["0.0 = 1.0", "1.1 = 2.0"])
    assert legal(plan, 0b001) == {Move(1, 0)}
    assert legal(plan, 0b011) == {Move(2, 0)}
    assert {state.span for state in states(plan)} == {0b001, 0b011, 0b111}


def test_cycle_and_transitive_equality() -> None:
    """One class of three columns: each pair is connected, whatever the text said."""
    plan = block([SCAN, SCAN, INDEX], ["0.0 = 1.0 = 2.0"])
    assert legal(plan, 0b001) == {Move(1), Move(2, 0)}
    assert legal(plan, 0b010) == {Move(0), Move(2, 0)}
    constraints = Constraints(plan)
    assert constraints.links(0b011, 2) == (Link(0, 0, 0),), "one equality a class suffices"
    cycle = block([SCAN, SCAN, SCAN], ["0.0 = 1.0", "1.1 = 2.0", "2.1 = 0.1"])
    assert len(Constraints(cycle).links(0b011, 2)) == 2, "the closing edge is checked with the other"


def test_cartesian_only_when_nothing_is_connected() -> None:
    """P06, P46."""
    plan = block([SCAN, SCAN, SCAN], ["0.0 = 1.0"])
    assert legal(plan, 0b001) == {Move(1)}
    assert legal(plan, 0b011) == {Move(2)}
    assert legal(plan, 0b100) == {Move(0), Move(1)}
    assert legal(block([SCAN, SCAN]), 0b01) == {Move(1)}


def test_a_product_may_be_the_only_way_to_bind() -> None:
    """P06: S needs a column of R and one of T, and no predicate joins R and T."""
    plan = block([SCAN, table("x y", (0, 1)), SCAN], ["0.0 = 1.0", "2.0 = 1.1"])
    assert legal(plan, 0b001) == {Move(2)}
    assert legal(plan, 0b101) == {Move(1, 0)}


def test_non_equality_connects() -> None:
    plan = block([SCAN, SCAN, SCAN], ["0.0 = 2.0"], predicates=[compare("0.1", "<", "1.1")])
    assert legal(plan, 0b001) == {Move(1), Move(2)}
    assert Constraints(plan).evaluable(0b001, 1) == (0,)
    assert Constraints(plan).evaluable(0b100, 1) == ()


def test_a_predicate_over_three_aliases_waits_for_the_last() -> None:
    """P39."""
    three = compare("0.0", "<", "1.0").expr
    from fff.dataflow.plan.expressions import Or

    plan = block(
        [SCAN, SCAN, SCAN],
        predicates=[inline_of(Or((three, compare("1.0", "<", "2.0").expr))), compare("1.0", ">", 3)],
    )
    constraints = Constraints(plan)
    assert constraints.evaluable(0b001, 1) == ()
    assert constraints.evaluable(0b011, 2) == (0,)
    assert constraints.evaluable(0b101, 1) == (0,), "that of one alias is done on arrival"


def inline_of(expr):
    from fff.dataflow.plan.plan import Predicate

    return Predicate(expr)


def test_selection_modules_are_destinations_once_their_aliases_are_spanned() -> None:
    plan = block(
        [SCAN, SCAN],
        ["0.0 = 1.0"],
        predicates=[compare("0.1", ">", 0, module=True), compare("0.1", "<", "1.1", module=True)],
    )
    assert legal(plan, 0b01) == {Move(predicate=0), Move(1)}
    assert legal(plan, 0b01, done=0b01) == {Move(1)}
    assert legal(plan, 0b10) == {Move(0)}
    assert legal(plan, 0b11, done=0b01) == {Move(predicate=1)}
    assert not Constraints(plan).finished(TupleState(0b11, 0b01))
    assert Constraints(plan).finished(TupleState(0b11, 0b11))


def test_accelerators_beside_a_scan() -> None:
    plan = block([SCAN, BOTH], ["0.0 = 1.0"])
    assert legal(plan, 0b01) == {Move(1), Move(1, 0)}


def test_several_lookups_compete() -> None:
    plan = block([SCAN, table("k v", (0,), (1,), (0, 1))], ["0.0 = 1.0", "0.1 = 1.1"])
    assert legal(plan, 0b01) == {Move(1, 0), Move(1, 1), Move(1, 2)}
    only = block([SCAN, table("k v", (0,), (1,), (0, 1))], ["0.0 = 1.0"])
    assert legal(only, 0b01) == {Move(1, 0)}


def test_constants_help_to_bind() -> None:
    wide = table("k v", (0, 1))
    plan = block([SCAN, wide], ["0.0 = 1.0"], constants={1: ((1, 7),)})
    constraints = Constraints(plan)
    assert legal(plan, 0b01) == {Move(1, 0)}
    assert constraints.bindings(0b01, 1) == (Binding(0, ((0, 0), PinnedKey(7))),)
    null = block([SCAN, wide, table("v", scans=1)], ["0.0 = 1.0", "2.0 = 1.1"], constants={1: ((1, None),)})
    assert Constraints(null).bindings(0b001, 1) == (), "NULL binds nothing"


def test_a_joined_column_binds_before_a_constant() -> None:
    plan = block([SCAN, INDEX], ["0.0 = 1.0"], constants={1: ((0, 7),)})
    assert Constraints(plan).bindings(0b01, 1) == (Binding(0, ((0, 0),)),)
    assert Constraints(plan).bindings(0, 1) == (Binding(0, (PinnedKey(7),)),)


def test_a_seeded_alias_is_scannable() -> None:
    plan = block([SCAN, INDEX], ["0.0 = 1.0"], seeds={1: Seed(0, ((5,),))})
    assert legal(plan, 0b01) == {Move(1)}
    assert legal(plan, 0b10) == {Move(0)}


def test_two_keys_from_two_aliases() -> None:
    plan = block([SCAN, SCAN, table("x y", (0, 1))], ["0.0 = 1.0", "0.1 = 2.0", "1.1 = 2.1"])
    assert legal(plan, 0b001) == {Move(1)}
    assert legal(plan, 0b011) == {Move(2, 0)}
    assert Constraints(plan).bindings(0b011, 2) == (Binding(0, ((0, 1), (1, 1))),)


class TestGuarded:
    """P21: aliases that could be read by key are probed only by tuples that bind a key."""

    def test_a_scan_that_lookups_could_replace(self) -> None:
        plan = block([SCAN, BOTH], ["0.0 = 1.0"])
        assert Constraints(plan).guarded == {1}

    def test_not_all_can_be_without_scan(self) -> None:
        plan = block([BOTH, BOTH], ["0.0 = 1.0"])
        assert Constraints(plan).guarded == {0}

    def test_nothing_is_guarded_that_lookups_do_not_reach(self) -> None:
        plan = block([SCAN, BOTH], ["0.1 = 1.1"])
        assert Constraints(plan).guarded == frozenset()
        assert legal(plan, 0b01) == {Move(1)}

    def test_a_guarded_alias_waits_for_its_key(self) -> None:
        """a - b - c: c is keyed by b, so a may not take the product with c even if it joins by another predicate."""
        plan = block([SCAN, SCAN, BOTH], ["0.0 = 1.0", "1.1 = 2.0"], predicates=[compare("0.1", "<", "2.1")])
        assert Constraints(plan).guarded == {2}
        assert legal(plan, 0b001) == {Move(1)}
        assert legal(plan, 0b010) == {Move(0), Move(2), Move(2, 0)}

    def test_a_seeded_alias_needs_no_guard(self) -> None:
        plan = block([SCAN, BOTH], ["0.0 = 1.0"], seeds={1: Seed(0, ((5,),))})
        assert Constraints(plan).guarded == frozenset()


PLANS = {
    "star": block([SCAN, INDEX, INDEX, BOTH], ["0.0 = 1.0 = 3.0", "0.1 = 2.0"]),
    "chain": block([SCAN, INDEX, BOTH, INDEX], ["0.0 = 1.0", "1.1 = 2.0", "2.1 = 3.0"]),
    "cycle": block([BOTH, BOTH, INDEX], ["0.0 = 1.0", "1.1 = 2.0", "2.1 = 0.1"]),
    "self-join": block([BOTH, INDEX], ["0.0 = 1.0", "1.1 = 2.0"], aliases=[0, 0, 1]),
    "product": block([SCAN, BOTH, INDEX], ["1.0 = 2.0"]),
    "two keys": block([BOTH, SCAN, table("x y", (0, 1))], ["0.1 = 2.0", "1.1 = 2.1"]),
    "all guarded but one": block([BOTH, BOTH, BOTH, BOTH], ["0.0 = 1.0", "1.1 = 2.0", "2.1 = 3.0"]),
}


@pytest.mark.parametrize("every", [False, True], ids=["parked", "paper"])
@pytest.mark.parametrize("name", PLANS)
def test_no_state_is_a_dead_end(name: str, every: bool) -> None:
    """Whatever legal moves lead to has a legal move, up to the result; and every move is feasible."""
    plan = PLANS[name]
    constraints = Constraints(plan)
    reached = states(plan, every=every)
    assert any(constraints.finished(state) for state in reached)
    for state in reached:
        for move in constraints.legal(state):
            assert not state.span >> move.alias & 1
            if not plan.aliases[move.alias].active:
                assert move.lookup is not None
            if move.lookup is not None:
                assert move.lookup in {b.lookup for b in constraints.bindings(state.span, move.alias)}
            if move.alias in constraints.guarded:
                assert constraints.bindings(state.span, move.alias)


def test_moves_are_made_on_first_use_and_kept() -> None:
    """P40: nothing grows with 2^n up front."""
    wide = block([table("k", scans=1)] * 30, [" = ".join(f"{n}.0" for n in range(30))])
    constraints = Constraints(wide)
    assert constraints._legal == {}
    assert len(constraints.legal(TupleState(1))) == 29
    assert constraints.legal(TupleState(1)) is constraints.legal(TupleState(1))
    assert len(constraints._legal) == 1


def test_an_infeasible_plan_is_a_programmers_error() -> None:
    plan = block([SCAN, INDEX], ["0.1 = 1.1"])
    with pytest.raises(AssertionError, match="no legal move"):
        Constraints(plan).legal(TupleState(0b01))


def test_a_scan_whose_rows_could_only_be_multiplied_waits() -> None:
    """R - S - T with S read by R's key: T's rows bind nothing, and R x T must not happen."""
    plan = block([SCAN, INDEX, SCAN], ["0.0 = 1.0", "1.1 = 2.0"])
    assert Constraints(plan).waiting == {2}
    assert legal(plan, 0b001) == {Move(1, 0)}
    assert legal(plan, 0b011) == {Move(2)}


def test_somebody_has_to_start() -> None:
    """S needs a column of each: neither R nor T gets on alone, so both start, and meet as a product."""
    plan = block([SCAN, table("k v", (0, 1)), SCAN], ["0.0 = 1.0", "1.1 = 2.0"])
    assert Constraints(plan).waiting == frozenset()
    assert Constraints(block([SCAN, INDEX, BOTH], ["0.0 = 1.0", "1.1 = 2.0"])).waiting == frozenset()
    assert Constraints(block([SCAN, SCAN], [])).waiting == frozenset()
