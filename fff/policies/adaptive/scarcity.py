"""What is scarce: requests to pay for, and the time of whatever holds requests back; and what each is worth.

Every way of a tuple to the end has a bill: what it spends (requests, in seconds of a usual one), and how
long it keeps each resource busy: a limiter (a host and who asks there), a module that serves few tuples at
once, the engine's own processor; and a quota, which is busy for those requests that it will not admit at
once, if all tuples that are expected go the same way. Spending least, and being through first, are the ends
of one linear program: the least of spend + time, where time is that of the busiest resource. Its dual prices
the resources, and they are learnt while running by multiplicative weights (Arora, Hazan & Kale 2012): what
the cheapest way at these prices keeps busier than the others becomes dearer. Where one resource serves all,
its price is the same whatever is asked, and all preferences choose alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import mul
from typing import NamedTuple

from fff.dataflow.plan.moves import Load, Move
from fff.dataflow.plan.plan import BlockPlan, LookupPlan
from fff.dataflow.plan.state import TupleState
from fff.options import Preference

#: Places in a bill; limiters and modules of their own follow.
SPENT, ENGINE = 0, 1
#: Seconds of the engine's processor that a request takes.
ENGINE_S = 5e-4
#: What a share of the least spend counts for beside the same share of the time.
SPENDING: dict[Preference, float] = {"fast": 0.02, "balanced": 1.0, "cheap": 1.0}
#: Of a step of the weights, and the least that a weight may be beside the largest.
_STEP, _FLOOR = 0.2, 1e-3
#: Of a quota, the share that is kept for what was not foreseen: a request too many waits for as long as many
#: others take.
_RESERVE = 0.3
#: With a stated price, what all money together counts for beside a request: it is never given for time, but
#: under `fast`.
_MONEY = 1e3

Bill = tuple[float, ...]


class Toll(NamedTuple):
    """The resource that a move keeps busy, and how many it serves at once.

    Of a lookup also the keys that a request carries, what a request counts for, and its quota, as
    `Scarcity.quota` has it.
    """

    where: int
    at_once: float
    batch: int = 1
    worth: float = 1.0
    quota: tuple[int, float] | None = None


class Scarcity:
    """The resources of one plan, by their places in a bill, and their prices."""

    def __init__(self, plan: BlockPlan | None, prefer: Preference) -> None:
        self._plan = plan
        self._prefer = prefer
        self._places: dict[Hashable, int] = {None: ENGINE}
        self._weights: list[float] = [1.0]  # of the resources, from ENGINE on
        self._least: dict[TupleState, Bill] = {}  # of a new tuple that goes the way that spends least
        self._bills: dict[TupleState, Bill] = {}  # and of one that goes as it would now
        self._left: dict[int, float] = {}  # by place of a quota: seconds of it that no request waits for
        self._to_come: dict[TupleState, int] = {}  # new tuples that are expected
        self._least_scale: tuple[float, float] | None = (
            None  # of `_least`; None once what it rests on changed
        )
        self._limiters: dict[Move, Hashable] = {}
        lookups = [] if plan is None else [lookup for table in plan.tables for lookup in table.lookups]
        self._dearest = max((lookup.price for lookup in lookups), default=0.0)

    @property
    def width(self) -> int:
        """Places in a bill."""
        return 1 + len(self._weights)

    @property
    def alone(self) -> bool:
        """Whether all that was seen so far shares one resource, beside the engine's processor."""
        return self.width - len(self._left) <= ENGINE + 2

    def lookup(self, move: Move) -> LookupPlan | None:
        """The method that a move asks."""
        if self._plan is None or move.lookup is None:
            return None
        return self._plan.tables[self._plan.aliases[move.alias].table].lookups[move.lookup]

    def terms(self, move: Move) -> Hashable:
        """What the plan says of the requests of a lookup: the keys that each carries, how many at once, their price."""
        plan = self.lookup(move)
        return move if plan is None else (plan.batch_size, plan.ceiling or plan.window, plan.price)

    def limiter(self, move: Move) -> Hashable:
        """What holds a lookup back, by a name of its own."""
        known = self._limiters.get(move)
        if known is None:
            plan = self.lookup(move)
            table = move.alias if self._plan is None else self._plan.aliases[move.alias].table
            own = (table, move.lookup)
            known = self._limiters[move] = own if plan is None or plan.limiter is None else plan.limiter
        return known

    def place(self, move: Move, load: Load) -> tuple[int, float]:
        """The resource that a move keeps busy, and how many it serves at once."""
        plan = self.lookup(move)
        window = load.window if plan is None else plan.ceiling or plan.window
        if window is None:
            return ENGINE, 1.0
        return self._place(move if move.lookup is None else self.limiter(move)), float(window)

    def quota(self, move: Move, load: Load) -> tuple[int, float] | None:
        """The quota that a request counts for, and the seconds that it waits where nothing is left; None where none is known."""
        if load.left is None:
            return None
        place = self._place(("quota", self.limiter(move)))
        self._left[place] = load.left * load.each_s * (1 - _RESERVE)
        self._least_scale = None
        return place, load.each_s

    def toll(self, move: Move, load: Load) -> Toll:
        """What a move takes, whichever state it is taken in."""
        where, at_once = self.place(move, load)
        plan = self.lookup(move)
        if move.lookup is None:
            return Toll(where, at_once)
        batch = 1 if plan is None else plan.batch_size
        return Toll(where, at_once, batch, self.worth(move), self.quota(move, load))

    def _place(self, name: Hashable) -> int:
        if name not in self._places:
            self._places[name] = self.width
            self._weights.append(max(self._weights))
            self._least.clear()
            self._bills.clear()
            self._least_scale = None
        return self._places[name]

    def worth(self, move: Move) -> float:
        """What a request counts for."""
        plan = self.lookup(move)
        if plan is None or not plan.price or self._prefer == "fast":
            return 1.0
        return 1.0 + _MONEY * plan.price / self._dearest

    # ------------------------------------------------------------------------------------------------- prices

    def saving(self) -> Bill:
        """Prices at which only what is spent counts."""
        return (1.0, *([0.0] * len(self._weights)))

    def prices(self) -> Bill:
        """What a second of each resource counts for, in seconds of spending."""
        spent, time = self._scale()
        if self._prefer == "cheap" or not time:
            return self.saving()
        rate = spent / time / sum(self._weights)
        return (SPENDING[self._prefer], *[weight * rate for weight in self._weights])

    def knows(self, state: TupleState) -> bool:
        """Whether prices rest on tuples of this state too."""
        return state in self._bills

    def expect(self, state: TupleState, number: int) -> None:
        """So many new tuples of a state are still to come, or wait."""
        self._to_come[state] = number
        self._least_scale = None

    def learn(
        self,
        state: TupleState,
        least: Bill,
        cheapest: Callable[[Bill], Bill],
        steps: int,
        numbers: Mapping[TupleState, int],
    ) -> Bill:
        """Take so many steps by what new tuples of a state would keep busy; the prices before the last of them.

        `least`: what the way that spends least takes; `cheapest`: what the cheapest one does at some prices;
        `numbers`: how many tuples there have been of each state.
        """
        prices, before = self.prices(), None
        self._least[state], self._least_scale = least, None
        for step in range(steps):
            if step:
                prices = self.prices()
            bill = cheapest(prices)
            if bill != before:  # as a rule it is that of the step before
                before = self._bills[state] = bill
                factors = self._factors(numbers)
            self._weigh(factors)
        return prices

    def _factors(self, numbers: Mapping[TupleState, int]) -> list[float]:
        """By how much a step changes the weight of each resource: what is less busy than the busiest becomes cheaper."""
        busy = [0.0] * len(self._weights)
        for state, bill in self._bills.items():
            number = max(1, numbers.get(state, 0))
            for place, seconds in enumerate(bill[ENGINE:]):
                busy[place] += number * seconds
        for quota in self._left:
            busy[quota - ENGINE] *= self._excess(self._bills, quota)
        longest = max(busy)
        return [math.exp(_STEP * (seconds / longest - 1)) for seconds in busy] if longest > 0 else []

    def _weigh(self, factors: Sequence[float]) -> None:
        if factors:
            weights = list(map(mul, self._weights, factors))
            most = max(weights)
            self._weights = [max(weight / most, _FLOOR) for weight in weights]

    def _scale(self) -> tuple[float, float]:
        """What a new tuple spends at least, and its share then of the time of the busiest resource: the greatest of any state."""
        if self._least_scale is None:
            bills = self._least
            spent = max((bill[SPENT] for bill in bills.values()), default=0.0)
            shares = [self._excess(bills, place) for place in range(ENGINE, self.width)]
            time = max((max(map(mul, bill[ENGINE:], shares)) for bill in bills.values()), default=0.0)
            self._least_scale = spent, time
        return self._least_scale

    def _excess(self, bills: Mapping[TupleState, Bill], place: int) -> float:
        """Of what a resource will be asked for the share that has to wait for it: all, but where it is a quota."""
        left = self._left.get(place)
        if left is None:
            return 1.0
        need = sum(self._to_come.get(state, 0) * bill[place] for state, bill in bills.items())
        return max(0.0, 1.0 - left / need) if need else 0.0

    def fair(self, better: Bill, other: Bill, idle: int) -> bool:
        """Whether to go the other way at once, by a resource that is idle, rather than wait for the better one.

        Under `balanced` it must not spend more, as a share of the least, than it gains, as a share of the
        time.
        """
        spent, time = self._scale()
        if self._prefer == "cheap" or not (spent and time):
            return other[SPENT] <= better[SPENT]
        total = sum(self._weights)
        # What was found out about since these were drawn up is in neither.
        kept = zip(self._weights, better[ENGINE:], other[ENGINE:], strict=False)
        gain = sum(
            weight / total * (one - another)
            for place, (weight, one, another) in enumerate(kept, ENGINE)
            if place != idle
        )
        more = SPENDING[self._prefer] * (other[SPENT] - better[SPENT]) / spent
        return gain > 0 and more <= gain / time if self._prefer == "fast" else more <= gain / time
