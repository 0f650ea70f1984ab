"""TupleStates and moves as people read them."""

from __future__ import annotations

from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState, bits


def state_name(plan: BlockPlan, state: TupleState) -> str:
    """The aliases a state spans, and the selection modules it has passed: `F+D`, `F [1]`."""
    span = "+".join(plan.aliases[alias].name for alias in bits(state.span))
    return f"{span} [{','.join(map(str, bits(state.done)))}]" if state.done else span


def item_name(plan: BlockPlan, kind: str, number: int) -> str:
    """What a static order lists: a selection module's predicate, or an alias."""
    if kind == "predicate":
        return plan.predicates[number].text or f"predicate {number}"
    return plan.aliases[number].name


def move_name(plan: BlockPlan, move: Move) -> str:
    """A destination: an alias, with the lookup it may go on to, or a predicate."""
    if move.predicate is not None:
        return item_name(plan, "predicate", move.predicate)
    alias = plan.aliases[move.alias]
    if move.lookup is None:
        return alias.name
    table = plan.tables[alias.table]
    lookup = table.lookups[move.lookup]
    batch = f"x{lookup.batch_size}" if lookup.batch_size > 1 else ""
    return f"{alias.name}[{','.join(table.columns[column].name for column in lookup.columns)}]{batch}"
