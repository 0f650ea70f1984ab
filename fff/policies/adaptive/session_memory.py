"""What the runs of a session taught, under names that hold from one statement to the next.

Ordinals mean nothing outside their plan. What a move costs belongs to the access method: its table, name and
keys, or the predicate. What comes of a tuple also depends on what it is joined with, by which columns, and
under which conditions: so much of the plan as lies within the tuple's span is part of the name, and a
statement with another condition shares the costs and not the fan-outs. A table that a statement names once
goes by its own name, whatever its alias.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterator
from typing import TypeVar

from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.moves import Move, after
from fff.dataflow.plan.plan import BlockPlan, EqualityClass
from fff.dataflow.plan.state import TupleState, bits
from fff.dataflow.routing.constraints import Constraints
from fff.policies.adaptive.lattice import MAX_STATES, sober
from fff.policies.adaptive.prior import Lesson, Level, Past
from fff.structs import Struct, astuple

#: Names that a session remembers something under; those told longest ago give way. What gives way is learnt
#: anew.
REMEMBERED = 20_000

_Value = TypeVar("_Value", Lesson, Level)
_Part = TypeVar("_Part", EqualityClass, int)


class Memory:
    """What to start the next statement with. It only ever makes routing faster or slower."""

    def __init__(self) -> None:
        self._lessons: dict[Hashable, Lesson] = {}
        self._levels: dict[Hashable, Level] = {}

    def recall(self, plan: BlockPlan) -> Past | None:
        """What is known of a plan's moves, for the states nearest to its sources; None where nothing is."""
        if not self._lessons and not self._levels:
            return None
        names = _Names(plan)
        here: dict[tuple[TupleState, Move], Lesson] = {}
        anywhere: dict[Move, Lesson] = {}
        costs: dict[Move, Level] = {}
        for state, move in moves_of(plan):
            if (lesson := self._lessons.get(names.effect(state, move))) is not None:
                here[state, move] = lesson
            if move in anywhere or move in costs:
                continue
            if (lesson := self._lessons.get(names.effect(None, move))) is not None:
                anywhere[move] = lesson
            if (level := self._levels.get(names.cost(move))) is not None:
                costs[move] = level
        return Past(here, anywhere, costs) or None

    def keep(self, plan: BlockPlan, recalled: Past | None, taught: Past) -> None:
        """Remember what a run taught that had started with what was `recalled`."""
        names = _Names(plan)
        for move in () if recalled is None else recalled.costs.keys() - taught.costs.keys():
            self._levels.pop(names.cost(move), None)  # it was wrong
        for (state, move), lesson in taught.here.items():
            _put(self._lessons, names.effect(state, move), lesson)
        for move, lesson in taught.anywhere.items():
            _put(self._lessons, names.effect(None, move), lesson)
        for move, level in taught.costs.items():
            _put(self._levels, names.cost(move), level)


def _put(known: dict[Hashable, _Value], name: Hashable, value: _Value) -> None:
    known.pop(name, None)  # what is told again is new
    known[name] = value
    if len(known) > REMEMBERED:
        del known[next(iter(known))]


def moves_of(plan: BlockPlan) -> Iterator[tuple[TupleState, Move]]:
    """States and their moves, nearest to the sources first, at most `MAX_STATES` states."""
    constraints = Constraints.of(plan)
    todo = deque(
        TupleState(1 << number)
        for number, alias in enumerate(plan.aliases)
        if alias.active and alias.kind == "inner"
    )
    reached = set(todo)
    while todo:
        state = todo.popleft()
        for move in () if constraints.finished(state) else sober(constraints.legal(state)):
            yield state, move
            there = after(state, move)
            if there not in reached and len(reached) < MAX_STATES:
                reached.add(there)
                todo.append(there)


class _Names:
    """Of the states and moves of one plan."""

    def __init__(self, plan: BlockPlan) -> None:
        self._plan = plan
        tables = [alias.table for alias in plan.aliases]
        self._sources = [
            (plan.tables[alias.table].name, alias.name if tables.count(alias.table) > 1 else "")
            for alias in plan.aliases
        ]
        self._predicates = [
            (self._meaning(predicate.expr), predicate.on is not None) for predicate in plan.predicates
        ]
        self._relations: dict[tuple[int, int], Hashable] = {}
        #: By alias: its equality classes, its inline predicates, and the aliases of either.
        self._equal: list[list[EqualityClass]] = [[] for _ in tables]
        self._inline: list[list[int]] = [[] for _ in tables]
        self._beside = [1 << alias for alias in range(len(tables))]
        for one in plan.equalities:
            self._connect({member.alias for member in one.members}, self._equal, one)
        for number, predicate in enumerate(plan.predicates):
            if not predicate.module:
                self._connect(predicate.aliases, self._inline, number)

    def _connect(self, aliases: Collection[int], by_alias: list[list[_Part]], part: _Part) -> None:
        mask = sum(1 << alias for alias in aliases)
        for alias in aliases:
            by_alias[alias].append(part)
            self._beside[alias] |= mask

    def cost(self, move: Move) -> Hashable:
        """What the seconds of a move depend on."""
        if move.predicate is not None:
            return self._predicates[move.predicate]
        table = self._plan.tables[self._plan.aliases[move.alias].table]
        if move.lookup is None:
            return table.name
        lookup = table.lookups[move.lookup]
        return table.name, lookup.name, tuple(table.columns[column].name for column in lookup.columns)

    def effect(self, state: TupleState | None, move: Move) -> Hashable:
        """What the fan-out of a move depends on, in a state or, with None, in all together."""
        everything = (1 << len(self._plan.aliases)) - 1
        within = everything if state is None else state.span
        if move.predicate is None:
            within |= 1 << move.alias
            what: Hashable = (self.cost(move), self._relation(move.alias, within))
        else:
            what = self.cost(move)
        if state is None:
            return what
        relations = frozenset(self._relation(alias, state.span) for alias in bits(state.span))
        return what, relations, frozenset(self._predicates[number] for number in bits(state.done))

    def _relation(self, alias: int, within: int) -> Hashable:
        """A table as the plan joins and filters it, as far as that lies within some aliases."""
        within &= self._beside[alias]  # the others are no part of it
        known = self._relations.get((alias, within))
        if known is None:
            known = self._relations[alias, within] = self._describe(alias, within)
        return known

    def _describe(self, alias: int, within: int) -> Hashable:
        plan = self._plan
        equal = [
            frozenset(self._meaning(member) for member in one.members if within >> member.alias & 1)
            for one in self._equal[alias]
        ]
        inline = [
            self._predicates[number]
            for number in self._inline[alias]
            if all(within >> other & 1 for other in plan.predicates[number].aliases)
        ]
        pinned = [
            (self._meaning(Column(alias, column)), repr(value))
            for column, value in plan.aliases[alias].constants
        ]
        seeds = [(one.lookup, len(one.keys)) for one in plan.aliases[alias].seeds]
        return (
            self._sources[alias],
            frozenset(one for one in equal if len(one) > 1),
            frozenset(inline),
            frozenset(pinned),
            frozenset(seeds),
            plan.aliases[alias].kind,
            frozenset(self._meaning(link) for link in plan.aliases[alias].links),
        )

    def _meaning(self, part: object) -> Hashable:
        """An expression, or a part of one, with names in place of ordinals."""
        if isinstance(part, Column):
            table = self._plan.tables[self._plan.aliases[part.alias].table]
            return (*self._sources[part.alias], table.columns[part.index].name)
        if isinstance(part, tuple):
            return tuple(self._meaning(one) for one in part)
        if isinstance(part, Struct):
            return (type(part).__name__, *map(self._meaning, astuple(part)))
        return repr(part)
