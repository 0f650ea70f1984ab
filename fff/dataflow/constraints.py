"""Where tuples may go: legal moves by TupleState, derived from the plan, filled on first use.

Correctness lives here and in the SteMs; a policy only ever chooses among `Constraints.legal`. Rules (ledger section 5):

* a tuple probes one alias at a time that it does not span yet;
* the alias must be active, or a lookup on it must be bindable by the tuple (feasible-only routing, P05, P07);
* connected aliases come before Cartesian ones (P06);
* a scanned alias whose own rows could go nowhere but into Cartesian products (what it is joined with needs a key that it
  does not have) does not start chains: it is `waiting`, and its probers park until its scan ends;
* an alias that could be read by key should its scan fail (`guarded`) is probed only by tuples that bind a lookup of it,
  so that the keys of everything that was ever missing from its scan are known (P21).
"""

from __future__ import annotations

from dataclasses import dataclass

from fff.dataflow.expressions import Column
from fff.dataflow.moves import Move
from fff.dataflow.plan import BlockPlan
from fff.dataflow.state import TupleState, bits


@dataclass(frozen=True)
class Link:
    """An equality between an alias outside the span (`own` column) and one inside (`other` alias, `column`)."""

    own: int
    other: int
    column: int


@dataclass(frozen=True)
class Constant:
    """A key value the plan pins."""

    value: object


@dataclass(frozen=True)
class Binding:
    """A lookup that tuples of a span can bind; each key comes from a spanned column or a constant of the plan."""

    lookup: int
    sources: tuple[tuple[int, int] | Constant, ...]  # (alias, column), or Constant


class Constraints:
    """Legal moves, links, bindings and newly evaluable predicates, by span."""

    def __init__(self, plan: BlockPlan) -> None:
        self.plan = plan
        self.everything = (1 << len(plan.aliases)) - 1
        self.modules = tuple(i for i, predicate in enumerate(plan.predicates) if predicate.module)
        self.all_done = sum(1 << i for i in self.modules)
        self._masks = [sum(1 << alias for alias in predicate.aliases) for predicate in plan.predicates]
        self._class_of = {
            (member.alias, member.index): number
            for number, equality in enumerate(plan.equalities)
            for member in equality.members
        }
        self._links: dict[tuple[int, int], tuple[Link, ...]] = {}
        self._bindings: dict[tuple[int, int], tuple[Binding, ...]] = {}
        self._legal: dict[TupleState, tuple[Move, ...]] = {}
        self.guarded = self._guard()
        self.waiting = self._wait()

    def links(self, span: int, alias: int) -> tuple[Link, ...]:
        """One equality per class that has members on both sides."""
        known = self._links.get((span, alias))
        if known is None:
            found = []
            for equality in self.plan.equalities:
                own = [member.index for member in equality.members if member.alias == alias]
                inside = [member for member in equality.members if span >> member.alias & 1]
                if own and inside:
                    found.append(Link(own[0], inside[0].alias, inside[0].index))
            known = self._links[span, alias] = tuple(found)
        return known

    def bindings(self, span: int, alias: int) -> tuple[Binding, ...]:
        """The lookups on `alias` that tuples of `span` can bind."""
        known = self._bindings.get((span, alias))
        if known is None:
            lookups = self.plan.tables[self.plan.aliases[alias].table].lookups
            found = []
            for number, lookup in enumerate(lookups):
                candidates = (self._source(span, alias, column) for column in lookup.columns)
                sources = tuple(source for source in candidates if source is not None)
                if len(sources) == len(lookup.columns):
                    found.append(Binding(number, sources))
            known = self._bindings[span, alias] = tuple(found)
        return known

    def _source(self, span: int, alias: int, column: int) -> tuple[int, int] | Constant | None:
        inside = self.equal(span, Column(alias, column))
        if inside is not None:
            return inside.alias, inside.index
        for pinned, value in self.plan.aliases[alias].constants:
            if pinned == column and value is not None:
                return Constant(value)
        return None

    def equal(self, span: int, column: Column) -> Column | None:
        """A column inside the span that an equality class holds equal to this one."""
        number = self._class_of.get((column.alias, column.index))
        members = self.plan.equalities[number].members if number is not None else ()
        return next((member for member in members if span >> member.alias & 1), None)

    def evaluable(self, span: int, alias: int) -> tuple[int, ...]:
        """Inline predicates over several aliases that become evaluable when `alias` joins `span` (P39)."""
        joined, bit = span | 1 << alias, 1 << alias
        return tuple(
            number
            for number, mask in enumerate(self._masks)
            if mask & bit and mask & ~joined == 0 and mask != bit and not self.plan.predicates[number].module
        )

    def finished(self, state: TupleState) -> bool:
        """Whether tuples of this state are results."""
        return state.span == self.everything and state.done == self.all_done

    def legal(self, state: TupleState) -> tuple[Move, ...]:
        """Every move open to tuples of this state; never empty for a state that is not finished."""
        known = self._legal.get(state)
        if known is None:
            known = self._legal[state] = self._derive(state)
            if not known and not self.finished(state):
                raise AssertionError(f"no legal move for {state} in {self.plan}")
        return known

    def _derive(self, state: TupleState) -> tuple[Move, ...]:
        moves = [
            Move(predicate=number)
            for number in self.modules
            if not state.done >> number & 1 and self._masks[number] & ~state.span == 0
        ]
        connected: list[Move] = []
        cartesian: list[Move] = []
        for alias in bits(self.everything & ~state.span):
            probes = self._probes(state.span, alias)
            near = self.links(state.span, alias) or self.evaluable(state.span, alias)
            (connected if near else cartesian).extend(probes)
        return tuple(moves + (connected or cartesian))

    def _probes(self, span: int, alias: int) -> list[Move]:
        bindings = self.bindings(span, alias)
        through = [Move(alias, binding.lookup) for binding in bindings]
        if not self.plan.aliases[alias].active:
            return through
        if alias in self.guarded and not bindings:
            return []
        scanned = bool(self.plan.tables[self.plan.aliases[alias].table].scans)
        return [Move(alias), *(through if scanned else [])]

    def _wait(self) -> frozenset[int]:
        """Scanned aliases that must not start chains, as long as another one of their join component does.

        One that is guarded may stop doing so: when its scan fails, its rows are looked up by the keys of these.
        """
        everything = range(len(self.plan.aliases))
        stuck = [
            x for x in everything if self._connected(x, feasibly=True) != self._connected(x, feasibly=False)
        ]
        free = 0
        for alias in everything:
            if self.plan.aliases[alias].active and alias not in stuck and alias not in self.guarded:
                free |= self._connected(alias, feasibly=False)
        return frozenset(alias for alias in stuck if free >> alias & 1 and self._scanned_only(alias))

    def _scanned_only(self, alias: int) -> bool:
        plan = self.plan.aliases[alias]
        table = self.plan.tables[plan.table]
        return plan.active and not plan.seeds and bool(table.scans) and not table.lookups

    def _connected(self, alias: int, *, feasibly: bool) -> int:
        """The aliases that joins lead to from one alias; feasibly, if tuples can really go that way."""
        span = 1 << alias
        while True:
            step = span
            for other in bits(self.everything & ~span):
                near = self.links(span, other) or self.evaluable(span, other)
                if near and (not feasibly or self._probes(span, other)):
                    step |= 1 << other
            if step == span:
                return span
            span = step

    def _guard(self) -> frozenset[int]:
        """Scanned aliases that the query could do without scanning: all of them together, else greedily."""
        candidates = [
            number
            for number, alias in enumerate(self.plan.aliases)
            if alias.active and not alias.seeds and self.plan.tables[alias.table].lookups
        ]
        guarded: list[int] = []
        for alias in candidates:
            if self._feasible_without(frozenset([*guarded, alias])):
                guarded.append(alias)
        return frozenset(guarded)

    def _feasible_without(self, unscanned: frozenset[int]) -> bool:
        """Nail (S4 section 2.2): can every alias be reached if those in `unscanned` have lookups only?

        From every alias that starts chains, not only from all of them together: a chain that starts at one active alias
        reaches the other active ones by Cartesian probes if it must, so the union of them is where it may start from.
        """
        reached = sum(
            1 << number
            for number, alias in enumerate(self.plan.aliases)
            if alias.active and number not in unscanned
        )
        if not reached:
            return False
        while True:
            step = reached
            for alias in bits(self.everything & ~reached):
                if self.bindings(reached, alias):
                    step |= 1 << alias
            if step == reached:
                return reached == self.everything
            reached = step
