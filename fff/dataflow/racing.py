"""Slow and stalled lookups: races with a rival that answers the same keys (Dean & Barroso, The Tail at Scale, CACM 2013).

A request that has run for longer than almost all of its method, and will on the average go on for longer than a rival takes,
is asked of the rival as well. The EOT that comes first covers its keys for both, the other request is cancelled, and row
identity absorbs what it had brought. Where a method has stalled, the keys that it has not been asked for yet go to the rival
instead, which takes no more requests than there would have been.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fff.dataflow.access import KeyState, Request

if TYPE_CHECKING:
    from fff.dataflow.lookups import Lookups, Method


class Races:
    """Decides which requests of some lookups are raced, and by whom."""

    def __init__(self, lookups: Lookups) -> None:
        self.hedged = 0  # requests that race others
        self._lookups = lookups
        self._options = lookups.options

    def look(self) -> bool:
        """Race what is slow now, and have the alarm set for the next look; whether a method was found to have stalled."""
        stalled = False
        for method, other in self._rivals():
            if method.times.count >= self._options.hedge_after and method.module.requests:
                self._race(method, other)
                stalled |= self._stalls(method)
        return stalled

    def divert(self) -> bool:
        """Let rivals answer the keys that stalled methods have not been asked for; whether there were any.

        Rivals may have answered them all, and then nothing is under way for them any more.
        """
        moved = False
        for method, other in self._rivals():
            # A rival that takes fewer keys at once would need more requests.
            if method.stalled and not other.stalled and other.batch_size >= method.batch_size:
                moved |= self._move(method, other)
        return moved

    def _rivals(self) -> Iterator[tuple[Method, Method]]:
        for method in self._lookups.methods:
            for rival in self._lookups.rivals.of(method.table, method.index):
                yield method, self._lookups.method(method.table, rival)

    def _race(self, method: Method, other: Method) -> None:
        """Ask the other method for the keys of slow requests."""
        slow = self._slow(method, other)
        for request in list(method.module.requests.values()):
            most = min(other.module.room, self._left())
            if most <= 0:
                return
            if request.raced:
                continue
            if request.sent_at + slow > self._lookups.now:
                self._lookups.wake_at(request.sent_at + slow)
                return  # those sent later are due later
            self._ask(method, request, other, most)

    def _slow(self, method: Method, other: Method) -> float:
        """After how many seconds a request of the method is raced by the other one."""
        usual = (other if other.times.count else method).times.quantile(0.5)
        slow = max(method.times.quantile(self._options.hedge_quantile), self._options.slow_s)
        if method.times.left_after(slow) >= usual:
            return max(slow, usual)
        # Those that take longer take hardly any longer: only what is overdue by all that is known is worth a request.
        return max(method.times.quantile(1.0) + usual, slow)

    def _ask(self, method: Method, request: Request, other: Method, most: int) -> None:
        """Ask for what of a request nobody has asked the other method for, if that takes so many requests at most."""
        keys = self._lookups.rivals.same_keys(method.table, method.index, request.keys, other.index)
        fresh = keys[other.module.states(keys) < KeyState.PENDING]
        size = other.module.plan.batch_size
        parts = [fresh[start : start + size] for start in range(0, len(fresh), size)]
        if not 0 < len(parts) <= most:
            return
        request.raced = True
        self.hedged += len(parts)
        for part in parts:
            self._lookups.race(other, part, urgent=request.urgent)

    def _left(self) -> int:
        """How many requests may still race others."""
        others = sum(method.module.issued for method in self._lookups.methods) - self.hedged
        return math.floor(self._options.hedge_share * others) - self.hedged

    def _stalls(self, method: Method) -> bool:
        """Whether the method has answered nothing for longer than any answer took by more than one usually takes."""
        if method.stalled:
            return False
        oldest = next(iter(method.module.requests.values()))
        overdue = method.times.quantile(1.0) + method.times.quantile(0.5)
        at = max(method.heard_at, oldest.sent_at) + max(overdue, self._options.slow_s)
        if at > self._lookups.now:
            self._lookups.wake_at(at)
            return False
        method.stalled = True
        return True

    def _move(self, method: Method, other: Method) -> bool:
        """Let the other method answer the keys that wait here, but for those that it has failed to answer; were there any?"""
        keys = method.module.queued()
        same = self._lookups.rivals.same_keys(method.table, method.index, keys, other.index)
        failed = other.module.states(same) == KeyState.FAILED
        if failed.all():
            return False
        method.module.drop_pending()
        other.module.request(same)
        method.module.request(keys[failed])
        self._lookups.router.reoffer(method.table, method.index, keys, other.index)
        return True
