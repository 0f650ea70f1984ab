"""The lookup methods of a block, the requests they have under way, and the time by which they are timed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from fff.dataflow.lookups.access import KeyRequest, LookupModule
from fff.dataflow.lookups.equivalents import Rivals
from fff.dataflow.lookups.latency import AnswerTimes, Demand
from fff.dataflow.modules import Block
from fff.dataflow.plan.events import Lookup, WakeAt
from fff.structs import Struct

#: Of those who would rather wait than spend.
CHEAP_PATIENCE = 4.0


class LookupOptions(Struct, frozen=True):
    """When lookups go out; none of it changes the answer.

    `patience`: how much longer than the block has been running already a key may be kept for a fuller batch, as a share of
    that time; with 1.0 no result comes later than after twice the time it would have taken, with 0.0 batches leave as soon
    as no tuple is left to route. `hedge_after`: answers of a method before its slow requests are raced. `hedge_quantile`:
    the share of answers that are not slow. `hedge_share`: requests that race others at most, as a share of all others sent.
    `slow_s`: seconds below which nothing is slow or stalled, as answers from a cache would make anything else look.
    `spends`: whether money is given for time; `saves`: no request is, whatever it costs. Those that are not given for time
    race nobody, keys wait for fuller batches of them as long as is ever thought fit, and under LIMIT no more keys of them
    are under way than rows are wanted.
    """

    patience: float = 1.0
    hedge_after: int = 20
    hedge_quantile: float = 0.95
    hedge_share: float = 0.05
    slow_s: float = 0.1
    spends: bool = False
    saves: bool = False


class Method(Struct):
    """One lookup method, and what is known of its speed."""

    table: int
    index: int
    module: LookupModule
    times: AnswerTimes
    demand: Demand
    heard_at: float = 0.0  # when anything of an answer came last
    stalled: bool = False  # nothing has come for too long; until something does

    def thrifty(self, options: LookupOptions) -> bool:
        """Whether its requests are not given for time: all are saved, or they cost money that is."""
        return options.saves or (self.module.plan.price > 0 and not options.spends)

    @property
    def batch_size(self) -> int:
        """Keys that a request may carry."""
        return self.module.plan.batch_size

    def heard(self, now: float) -> None:
        """Something of an answer has come."""
        self.heard_at, self.stalled = now, False


class RunClock:
    """The runtime's time as far as it has been told, and when it is to be told again."""

    def __init__(self) -> None:
        self.now = 0.0
        self.started_at = 0.0
        self._asked_for = math.inf  # the next time that the runtime has been asked to tell
        self._alarm = math.inf  # when something is to be decided anew

    def passed(self, now: float) -> bool:
        """It is `now`; returns whether something is to be decided that was not to be before."""
        self.now = max(self.now, now)
        return self.now >= self._asked_for

    def wake_at(self, at: float) -> None:
        """Something is to be decided anew at that time."""
        self._alarm = min(self._alarm, at)

    def calm(self) -> None:
        """Everything is to be decided now: nothing is left for later."""
        self._alarm = math.inf

    def ask(self) -> list[WakeAt]:
        """What the runtime is to be asked, if the next alarm comes before what it has been asked for."""
        if self._asked_for <= self.now:
            self._asked_for = math.inf
        if self._alarm >= self._asked_for:
            return []
        self._asked_for = self._alarm
        return [WakeAt(self._alarm)]


class Methods:
    """Every lookup method of a block, and by which of them each request under way was sent."""

    def __init__(self, block: Block) -> None:
        self.all = [
            Method(table, index, module, AnswerTimes(), Demand())
            for table, modules in enumerate(block.lookups)
            for index, module in enumerate(modules)
        ]
        self.rivals = Rivals(block)
        self.next_request = 0
        self.limiters = block.limiters
        self._of = {(method.table, method.index): method for method in self.all}
        self._sent_by: dict[int, Method] = {}

    def of(self, table: int, index: int) -> Method:
        """A lookup method of the block."""
        return self._of[table, index]

    def pairs(self) -> Iterator[tuple[Method, Method]]:
        """Each method with each of those that answer the same keys."""
        for method in self.all:
            for rival in self.rivals.of(method.table, method.index):
                yield method, self._of[method.table, rival]

    def send(self, method: Method, request: KeyRequest) -> KeyRequest:
        """The next request goes out."""
        self.next_request += 1
        self._sent_by[request.number] = method
        request.beside = self.limiters[method.table][method.index].under_way
        return request

    @staticmethod
    def instructions(method: Method, requests: Sequence[KeyRequest]) -> list[Lookup]:
        """What the runtime is to ask."""
        if not requests:
            return []
        columns = method.module.columns(np.concatenate([request.keys for request in requests]))
        keys = zip(*(column.to_pylist() for column in columns), strict=True)
        return [
            Lookup(request.number, method.table, method.index, tuple(islice(keys, len(request.keys))))
            for request in requests
        ]

    def sender(self, number: int) -> Method | None:
        """Who sent a request that is under way; None when it is over or cancelled."""
        return self._sent_by.get(number)

    def over(self, request: KeyRequest) -> Method:
        """Nothing more comes of a request."""
        return self._sent_by.pop(request.number)

    @property
    def hedged(self) -> int:
        """Requests that race others."""
        return sum(method.module.hedged for method in self.all)

    def validate(self) -> None:
        """Assert that every request is known to its module, and the other way round."""
        for number, method in self._sent_by.items():
            assert number in method.module.requests
        assert len(self._sent_by) == sum(len(method.module.requests) for method in self.all)
