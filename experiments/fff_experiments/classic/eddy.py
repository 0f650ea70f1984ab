"""The eddy of 2000: tuple by tuple, among modules with finite queues, in virtual time.

Which tuple goes next is the buffer's matter (`Priority`), where it goes the policy's: one of the modules
whose Ready bit is on. The eddy itself never blocks, only scans do (ledger P29).

The paper leaves open what happens when the winner of a lottery has no room. An eddy with a processor of its
own simply holds the next one, so in effect the lottery is among the modules that have room. An eddy that is a
thread on the processor it shares with the modules (S1 sections 4.1 to 4.4) cannot do so without end: it holds
some `lotteries` whenever a module has finished a tuple, and if the winners have no room the tuple waits, even
if others are idle. Only thus do tickets decide anything there, because modules that share a processor always
have full queues. The more lotteries, the more a module that wins rarely gets all the same. The naive eddy
holds none: a tuple goes to any module with room.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.policy import RoutingPolicy
from fff.dataflow.plan.state import TupleState, bits
from fff_experiments.classic.buffer import Buffer, Priority, returned_first
from fff_experiments.classic.modules import Module, RoutedTuple
from fff_experiments.classic.preoptimizer import modules_of, spanning_tree
from fff_experiments.classic.processors import OwnServers, WorkProcessor
from fff_experiments.classic.query import ClassicMoment, ClassicQuery, Rows
from fff_experiments.classic.scans import Input
from fff_experiments.classic.schedule import Schedule


@dataclass(frozen=True)
class Options:
    """How an eddy runs; none of it changes the answer.

    `queue`: room of each module's input queue. `buffer`: tuples in the eddy's buffer above which scans are
    held back. `ahead`: tuples of one scan that wait in it at most. `lotteries`: for each time that something
    happens, see above; at least 1. `order`: a static plan, as names of modules: the only Ready bit of a tuple
    is that of the first module in this order which takes it (S1 section 4.1).
    """

    queue: int = 1
    buffer: int = 1000
    ahead: int = 1
    priority: Priority = returned_first
    lotteries: float = inf
    order: tuple[str, ...] | None = None
    processor: Callable[[Schedule], WorkProcessor] = OwnServers


@dataclass
class Trace:
    """What happened in a run, in the order of time."""

    results: list[tuple[float, Rows]] = field(default_factory=list)
    routed: list[tuple[float, int, int]] = field(
        default_factory=list
    )  # time, span, module: of choices among several
    end: float = 0.0
    largest_buffer: int = 0

    def share(self, module: int, span: int) -> float:
        """How many of the new tuples of a span that had a choice went to a module first."""
        mine = [chosen for _, of, chosen in self.routed if of == span]
        return sum(chosen == module for chosen in mine) / len(mine) if mine else 0.0


class ClassicEddy:
    """One query in execution. `run()` returns its trace.

    Args:
        modules: in place of those of the pre-optimizer, with the aliases that are scanned.
    """

    def __init__(
        self,
        query: ClassicQuery,
        policy: RoutingPolicy,
        rng: random.Random,
        options: Options = Options(),
        modules: tuple[Sequence[Module], frozenset[int]] | None = None,
    ) -> None:
        self.query = query
        self.modules, scanned = modules or modules_of(query, spanning_tree(query), options.queue)
        self.trace = Trace()
        self._policy = policy
        self._rng = rng
        self._options = options
        self._schedule = Schedule()
        self._processor = options.processor(self._schedule)
        self._buffer = Buffer(options.priority)
        aliases = len(query.relations)
        self._inputs = [Input(query.relations[alias], alias, aliases) for alias in sorted(scanned)]
        self._input_of = {
            1 << alias: input_ for alias, input_ in zip(sorted(scanned), self._inputs, strict=True)
        }
        self._next_input = 0
        self._lotteries = 0.0  # that may be held now
        self._waking: set[Input] = set()  # those that will tell when their next row is there
        self._everything = (1 << aliases) - 1
        self._all_done = (1 << len(self.modules)) - 1
        self._order = None if options.order is None else self._places(options.order)
        self._ready: dict[TupleState, tuple[Move, ...]] = {}

    def _places(self, order: tuple[str, ...]) -> tuple[int, ...]:
        names = [module.name for module in self.modules]
        assert sorted(order) == sorted(names), f"a static plan names each of {', '.join(names)} once"
        return tuple(names.index(name) for name in order)

    def run(self) -> Trace:
        """Execute the query to its end."""
        self._turn()
        self._schedule.run()
        assert not self._buffer.size, "tuples are left and nothing is under way"
        assert all(input_.exhausted for input_ in self._inputs)
        self.trace.end = self._schedule.now
        self.trace.largest_buffer = self._buffer.largest
        return self.trace

    def ready(self, state: TupleState) -> tuple[Move, ...]:
        """The modules that may be given tuples of this state; `Move.predicate` is a module's number."""
        known = self._ready.get(state)
        if known is None:
            numbers = [
                number
                for number in (range(len(self.modules)) if self._order is None else self._order)
                if not state.done >> number & 1 and self.modules[number].takes(state.span)
            ]
            if self._order is not None:
                numbers = numbers[:1]
            known = self._ready[state] = tuple(Move(predicate=number) for number in numbers)
        return known

    def _turn(self) -> None:
        """Something has happened: read what there is room for, and route until nobody takes anything more."""
        self._read()
        passed: set[TupleState] = set()
        self._lotteries = min(self._lotteries, 1.0) + self._options.lotteries
        while (state := self._buffer.first(passed)) is not None:
            module = self._winner(state)
            if module is None:
                passed.add(state)
                continue
            item = self._buffer.pop(state)
            if not item.returned:
                self._input_of[item.span].waiting -= 1
            self._give(item, state, module)
            self._read()

    def _winner(self, state: TupleState) -> int | None:
        """The number of the module that the next tuple of a state goes to now, if any."""
        moves: Sequence[Move] = self.ready(state)
        assert moves, f"no module takes {state}"
        if self._options.lotteries == inf:
            moves = [move for move in moves if self._module(move).room]
            if not moves:
                return None
        move = moves[0]
        if len(moves) > 1:
            if self._lotteries < 1:
                return None
            self._lotteries -= 1
            move = self._policy.choose(state, moves, self._rng)
        return move.predicate if self._module(move).room else None

    def _module(self, move: Move) -> Module:
        assert move.predicate is not None
        return self.modules[move.predicate]

    def _give(self, item: RoutedTuple, state: TupleState, number: int) -> None:
        module = self.modules[number]
        if len(self.ready(state)) > 1:
            self.trace.routed.append((self._schedule.now, item.span, number))
        self._policy.observe(Outcome(state, Move(predicate=number), taken=1, produced=0))
        module.put(item)
        self._start(number)

    def _start(self, number: int) -> None:
        module = self.modules[number]
        while module.queue and module.busy < module.concurrency:
            item = module.queue.popleft()
            module.busy += 1
            moment = ClassicMoment(self._schedule.now, sum(input_.read for input_ in self._inputs))
            self._processor.work(module.cost(item, moment), partial(self._served, number, item))
        module.longest = max(module.longest, len(module.queue))

    def _served(self, number: int, item: RoutedTuple) -> None:
        module = self.modules[number]
        module.busy -= 1
        state = TupleState(item.span, item.done)
        results = module.process(item)
        module.produced += len(results)
        if results:
            self._policy.observe(Outcome(state, Move(predicate=number), taken=0, produced=len(results)))
        for result in results:
            self._return(result, number)
        self._start(number)
        self._turn()

    def _return(self, result: RoutedTuple, number: int) -> None:
        result.done |= 1 << number
        for join in bits(self._all_done & ~result.done):
            if self.modules[join].spanned(result.span):
                result.done |= 1 << join
        if result.span == self._everything and result.done == self._all_done:
            self.trace.results.append((self._schedule.now, result.rows))
            return
        result.returned = True
        self._buffer.push(result)

    def _read(self) -> None:
        """New tuples, from each scan in turn, while the buffer has room."""
        progress = True
        while progress and self._buffer.size < self._options.buffer:
            progress = False
            for _ in self._inputs:
                input_ = self._inputs[self._next_input]
                self._next_input = (self._next_input + 1) % len(self._inputs)
                if input_.exhausted or input_.waiting >= self._options.ahead:
                    continue
                if input_.due <= self._schedule.now:
                    self._buffer.push(input_.next())
                    progress = True
                elif input_ not in self._waking:
                    self._waking.add(input_)
                    self._schedule.at(input_.due, partial(self._wake, input_))

    def _wake(self, input_: Input) -> None:
        self._waking.discard(input_)
        self._turn()
