"""Where tuples may go: legal moves by TupleState, derived from the plan, filled on first use.

Correctness lives here and in the SteMs; a policy only ever chooses among `Constraints.legal`. Rules (ledger section 5):

* a tuple probes one alias at a time that it does not span yet;
* the alias must be active, or a lookup on it must be bindable by the tuple (feasible-only routing, P05, P07);
* connected aliases come before Cartesian ones (P06);
* a scanned alias whose own rows could go nowhere but into Cartesian products (what it is joined with needs a key that it
  does not have) does not start chains: it is `waiting`, and its probers park until its scan ends;
* an alias that could be read by key should its scan fail (`guarded`) is probed only by tuples that bind a lookup of it,
  so that the keys of everything that was ever missing from its scan are known (P21);
* the right side of a left, semi or anti join is probed once all that its ON condition reads is there; one that can neither
  drop a tuple nor is read by anything else comes last, so that no key is asked for tuples that others drop.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakValueDictionary

from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.plan import BlockPlan, EqualityClass
from fff.dataflow.plan.state import TupleState, bits
from fff.dataflow.routing.bounds import Bound, bounds
from fff.structs import Struct


class Link(Struct, frozen=True):
    """An equality between an alias outside the span (`own` column) and one inside (`other` alias, `column`)."""

    own: int
    other: int
    column: int


class PinnedKey(Struct, frozen=True):
    """A key value the plan pins."""

    value: object


class Binding(Struct, frozen=True):
    """A lookup that tuples of a span can bind; each key comes from a spanned column or a constant of the plan."""

    lookup: int
    sources: tuple[tuple[int, int] | PinnedKey, ...]  # (alias, column), or PinnedKey


class Constraints:
    """Legal moves, links, bindings and newly evaluable predicates, by span."""

    @staticmethod
    def of(plan: BlockPlan) -> Constraints:
        """Those of a plan: its eddy and its policy ask the same questions, and share the answers while one of them is there."""
        known = _OF_PLANS.get(id(plan))
        if known is None:
            known = _OF_PLANS[id(plan)] = Constraints(plan)
        return known

    def __init__(self, plan: BlockPlan) -> None:
        self.plan = plan
        self.everything = (1 << len(plan.aliases)) - 1
        self.right = frozenset(number for number, alias in enumerate(plan.aliases) if alias.kind != "inner")
        self.inner = self.everything & ~sum(1 << alias for alias in self.right)
        self.modules = tuple(i for i, predicate in enumerate(plan.predicates) if predicate.module)
        self.all_done = sum(1 << i for i in self.modules)
        self._masks = [sum(1 << alias for alias in predicate.aliases) for predicate in plan.predicates]
        self._class_of = {
            (member.alias, member.index): number
            for number, equality in enumerate(plan.equalities)
            for member in equality.members
        }
        aliases = range(len(plan.aliases))
        #: By alias: its first column in each class that it is in, and the class.
        self._own: list[list[tuple[int, EqualityClass]]] = [[] for _ in aliases]
        #: By alias: the inline predicates that wait for it, as one of several aliases or because it may be NULL.
        self._shared: list[list[int]] = [[] for _ in aliases]
        #: By right side: the predicates of its ON condition that read it and others, and those that read others only.
        self.pairing: dict[int, list[int]] = {alias: [] for alias in self.right}
        self.gates: dict[int, list[int]] = {alias: [] for alias in self.right}
        #: By alias: those that are in a class with it, and those that a predicate of several aliases holds together with it.
        self._equated, self._touched = [0 for _ in aliases], [0 for _ in aliases]
        for equality in plan.equalities:
            mask = sum(1 << alias for alias in {member.alias for member in equality.members})
            for alias in bits(mask):
                own = next(member.index for member in equality.members if member.alias == alias)
                self._own[alias].append((own, equality))
                self._equated[alias] |= mask & ~(1 << alias)
        for number, (mask, predicate) in enumerate(zip(self._masks, plan.predicates, strict=True)):
            if predicate.on is not None:
                if mask != 1 << predicate.on:
                    reads = self.pairing if mask >> predicate.on & 1 else self.gates
                    reads[predicate.on].append(number)
            elif not predicate.module and (mask.bit_count() > 1 or mask & ~self.inner):
                for alias in bits(mask):
                    self._shared[alias].append(number)
                    self._touched[alias] |= mask & self.inner & ~(1 << alias)
        for alias in self.right:
            for _, column in plan.aliases[alias].links:
                for one in (column, *self._equals(column)):
                    self._equated[alias] |= 1 << one.alias
        self._last = self._without_effect()
        self._held: dict[tuple[int, int], list[Column]] = {}  # by alias and column: those held equal to it
        self._links: dict[tuple[int, int], tuple[Link, ...]] = {}
        self._bindings: dict[tuple[int, int], tuple[Binding, ...]] = {}
        self._legal: dict[TupleState, tuple[Move, ...]] = {}
        self._bounds: dict[tuple[int, int], tuple[Bound, ...]] = {}  # by span and alias
        self.guarded = self._guard()
        self.waiting = self._wait()

    def links(self, span: int, alias: int) -> tuple[Link, ...]:
        """One equality per class that has members on both sides."""
        span &= self._equated[alias]  # the others say nothing of it
        known = self._links.get((span, alias))
        if known is None:
            links = []
            for own, equality in self._own[alias] if span else ():
                inside = next((member for member in equality.members if span >> member.alias & 1), None)
                if inside is not None:
                    links.append(Link(own, inside.alias, inside.index))
            for own, column in self.plan.aliases[alias].links:
                inside = self.known(span, column)
                if inside is not None:
                    links.append(Link(own, inside.alias, inside.index))
            known = self._links[span, alias] = tuple(links)
        return known

    def bindings(self, span: int, alias: int) -> tuple[Binding, ...]:
        """The lookups on `alias` that tuples of `span` can bind."""
        span &= self._equated[alias]
        known = self._bindings.get((span, alias))
        if known is None:
            lookups = self.plan.tables[self.plan.aliases[alias].table].lookups
            bindings = []
            for number, lookup in enumerate(lookups):
                candidates = (self._source(span, alias, column) for column in lookup.columns)
                sources = tuple(source for source in candidates if source is not None)
                if len(sources) == len(lookup.columns):
                    bindings.append(Binding(number, sources))
            known = self._bindings[span, alias] = tuple(bindings)
        return known

    def _source(self, span: int, alias: int, column: int) -> tuple[int, int] | PinnedKey | None:
        key = alias, column
        held = self._held.get(key)
        if held is None:
            linked = (other for own, other in self.plan.aliases[alias].links if own == column)
            wanted = (Column(alias, column), *linked)
            held = self._held[key] = [other for one in wanted for other in (one, *self._equals(one))]
        for one in held:
            if span >> one.alias & 1:
                return one.alias, one.index
        for pinned, value in self.plan.aliases[alias].constants:
            if pinned == column and value is not None:
                return PinnedKey(value)
        return None

    def equal(self, span: int, column: Column) -> Column | None:
        """A column inside the span that an equality class holds equal to this one."""
        return next((member for member in self._equals(column) if span >> member.alias & 1), None)

    def known(self, span: int, column: Column) -> Column | None:
        """A column inside the span whose value every result to come has in this one."""
        return column if span >> column.alias & 1 else self.equal(span, column)

    def _equals(self, column: Column) -> tuple[Column, ...]:
        """The members of the equality class of a column."""
        number = self._class_of.get((column.alias, column.index))
        return self.plan.equalities[number].members if number is not None else ()

    def evaluable(self, span: int, alias: int) -> tuple[int, ...]:
        """Inline predicates that become evaluable when `alias` joins `span` (P39); not those of its own ON condition."""
        outside = ~(span | 1 << alias)
        return tuple(number for number in self._shared[alias] if not self._masks[number] & outside)

    def bounds(self, span: int, alias: int) -> tuple[Bound, ...]:
        """What these predicates, or those of its ON condition, say of single columns of the alias."""
        known = self._bounds.get((span, alias))
        if known is None:
            reading = self.pairing[alias] if alias in self.right else self.evaluable(span, alias)
            known = self._bounds[span, alias] = bounds(self.plan, reading, span, alias)
        return known

    def near(self, span: int, alias: int) -> bool:
        """Whether an equality or a predicate joins an alias with the tuples of a span."""
        return bool(self._equated[alias] & span) or bool(self.evaluable(span, alias))

    def selects(self, state: TupleState, predicate: int) -> bool:
        """Whether tuples of this state may go to the selection module of a predicate."""
        return not state.done >> predicate & 1 and not self._masks[predicate] & ~state.span

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
        moves = [Move(predicate=number) for number in self.modules if self.selects(state, number)]
        connected: list[Move] = []
        cartesian: list[Move] = []
        for alias in bits(self.inner & ~state.span):
            near = self.near(state.span, alias)
            (connected if near else cartesian).extend(self.probes(state.span, alias))
        seeking = {
            alias: self._seeks(state.span, alias) for alias in self.right if not state.span >> alias & 1
        }
        early = [move for alias, probes in seeking.items() if alias not in self._last for move in probes]
        allowed = moves + (connected or cartesian) + early
        return tuple(allowed or [move for probes in seeking.values() for move in probes])

    def _seeks(self, span: int, alias: int) -> list[Move]:
        """The moves by which tuples of a span may look for matches in a right side: by key, or waiting for its scan."""
        plan = self.plan.aliases[alias]
        if any(self.known(span, column) is None for _, column in plan.links):
            return []
        if any(self._masks[number] & ~(span | 1 << alias) for number in self._condition(alias)):
            return []
        through = [Move(alias, binding.lookup) for binding in self.bindings(span, alias)]
        return [*([Move(alias)] if plan.active else []), *through]

    def _condition(self, alias: int) -> list[int]:
        """The predicates of the ON condition of a right side that read other aliases."""
        return self.pairing[alias] + self.gates[alias]

    def _without_effect(self) -> frozenset[int]:
        """The right sides of left joins that no predicate but their own reads, nor any right side that is not one of them."""
        read = {alias: {column.alias for _, column in self.plan.aliases[alias].links} for alias in self.right}
        for alias in self.right:
            read[alias] |= {one for number in self._condition(alias) for one in bits(self._masks[number])}
        effective = [alias for alias in self.right if self.plan.aliases[alias].kind != "left"]
        for mask, predicate in zip(self._masks, self.plan.predicates, strict=True):
            effective += bits(mask & ~self.inner) if predicate.on is None else ()
        reached: set[int] = set()
        while effective:
            alias = effective.pop()
            if alias not in reached:
                reached.add(alias)
                effective += read[alias] & self.right
        return self.right - reached

    def by_key(self, alias: int) -> bool:
        """Whether every tuple that looks for matches in a right side binds a lookup of it."""
        return alias in self.right and bool(self.bindings(self.everything, alias))

    def recovers(self, table: int) -> bool:
        """Whether lookups bring everything that failed scans of a table would have brought."""
        return all(
            number in self.guarded or alias.seeds or self.by_key(number)
            for number, alias in enumerate(self.plan.aliases)
            if alias.table == table and alias.active
        )

    def probes(self, span: int, alias: int) -> list[Move]:
        """The moves by which tuples of a span may probe an alias, unless others come first: to the SteM alone, then on."""
        bindings = self.bindings(span, alias)
        through = [Move(alias, binding.lookup) for binding in bindings]
        if not self.plan.aliases[alias].active:
            return through
        if alias in self.guarded and not bindings:
            return []
        plan = self.plan.aliases[alias]
        scanned = self.plan.tables[plan.table].scans and not plan.seeds
        return [Move(alias), *(through if scanned else [])]

    def _wait(self) -> frozenset[int]:
        """Scanned aliases that must not start chains, as long as another one of their join component does.

        One that is guarded may stop doing so: when its scan fails, its rows are looked up by the keys of these.
        """
        everything, plan = bits(self.inner), self.plan
        if not self.guarded and all(alias.active for alias in plan.aliases):
            return frozenset()  # tuples may go wherever something is joined
        stuck = [alias for alias in everything if self._scanned_only(alias) and self._stuck(alias)]
        free = 0
        for alias in everything if stuck else ():
            if plan.aliases[alias].active and alias not in self.guarded and not self._stuck(alias):
                free |= self._connected(alias, feasibly=False)
        return frozenset(alias for alias in stuck if free >> alias & 1)

    def _stuck(self, alias: int) -> bool:
        """Whether joins lead from an alias to others that tuples cannot go to that way."""
        recursion = self.plan.recursion
        if recursion is not None and self.plan.aliases[alias].table == recursion.table:
            return False  # its rows come after its scan has ended, too
        return self._connected(alias, feasibly=True) != self._connected(alias, feasibly=False)

    def _scanned_only(self, alias: int) -> bool:
        plan = self.plan.aliases[alias]
        table = self.plan.tables[plan.table]
        return plan.active and not plan.seeds and bool(table.scans) and not table.lookups

    def _connected(self, alias: int, *, feasibly: bool) -> int:
        """The aliases that joins lead to from one alias; feasibly, if tuples can really go that way."""
        return self._closure(
            1 << alias,
            self._beside(1 << alias),
            lambda span, other: self.near(span, other) and (not feasibly or bool(self.probes(span, other))),
        )

    def _closure(self, span: int, candidates: int, joins: Callable[[int, int], bool]) -> int:
        """A span with every alias that joins it, and what joins it then.

        `joins` must not turn false as the span grows, nor true but for a new neighbour: only those of new aliases are asked.
        """
        while candidates:
            new = sum(1 << alias for alias in bits(candidates & ~span) if joins(span, alias))
            span |= new
            candidates = self._beside(new)
        return span

    def _beside(self, aliases: int) -> int:
        """The aliases that an equality or a predicate holds together with one of these."""
        beside = 0
        for alias in bits(aliases):
            beside |= self._equated[alias] | self._touched[alias]
        return beside

    def _guard(self) -> frozenset[int]:
        """Scanned aliases that the query could do without scanning: all of them together, else greedily."""
        candidates = [
            number
            for number, alias in enumerate(self.plan.aliases)
            if alias.active and not alias.seeds and self.plan.tables[alias.table].lookups
            if number not in self.right
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
            if alias.active and number not in unscanned and number not in self.right
        )
        bound = self._closure(reached, self.inner, lambda span, alias: bool(self.bindings(span, alias)))
        return bool(reached) and bound == self.inner


#: By identity of the plan, which constraints keep alive.
_OF_PLANS: WeakValueDictionary[int, Constraints] = WeakValueDictionary()
