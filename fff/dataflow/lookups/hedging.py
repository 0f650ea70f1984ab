"""Slow and stalled lookups: races with a rival that answers the same keys (Dean & Barroso, The Tail at Scale, CACM 2013).

A request that has run for longer than almost all of its method, and will on the average go on for longer than a rival takes,
is asked of the rival as well. The EOT that comes first covers its keys for both, the other request is cancelled, and row
identity absorbs what it had brought. Where a method has stalled, the keys that it has not been asked for yet go to the rival
instead, which takes no more requests than there would have been.
"""

from __future__ import annotations

import math

from fff.dataflow.arrays import Int64
from fff.dataflow.lookups.access import KeyRequest, KeyState
from fff.dataflow.lookups.methods import LookupOptions, Method, Methods, RunClock
from fff.dataflow.plan.events import Lookup
from fff.dataflow.routing.router import Router


class Races:
    """Decides which requests of some lookups are raced, and by whom."""

    def __init__(self, methods: Methods, clock: RunClock, router: Router, options: LookupOptions) -> None:
        self._methods = methods
        self._clock = clock
        self._router = router
        self._options = options

    def look(self) -> tuple[list[Lookup], bool]:
        """Race what is slow now, and have the alarm set for the next look; also whether a method was found to have stalled."""
        out: list[Lookup] = []
        stalled = False
        for method, other in self._methods.pairs():
            if method.times.count >= self._options.hedge_after and method.module.requests:
                out += self._race(method, other)
                stalled |= self._stalls(method)
        return out, stalled

    def divert(self) -> bool:
        """Let rivals answer the keys that stalled methods have not been asked for; whether there were any.

        Rivals may have answered them all, and then nothing is under way for them any more.
        """
        moved = False
        for method, other in self._methods.pairs():
            # A rival that takes fewer keys at once would need more requests.
            if method.stalled and not other.stalled and other.batch_size >= method.batch_size:
                moved |= self._move(method, other)
        return moved

    def _race(self, method: Method, other: Method) -> list[Lookup]:
        """Ask the other method for the keys of slow requests."""
        out: list[Lookup] = []
        slow = self._slow(method, other)
        for request in list(method.module.requests.values()):
            most = min(other.module.room, self._left())
            if most <= 0 or other.thrifty(self._options):
                break
            if request.raced:
                continue
            if request.sent_at + slow > self._clock.now:
                self._clock.wake_at(request.sent_at + slow)
                break  # those sent later are due later
            out += self._ask(method, request, other, most)
        return out

    def _slow(self, method: Method, other: Method) -> float:
        """After how many seconds a request of the method is raced by the other one."""
        usual = (other if other.times.count else method).times.quantile(0.5)
        slow = max(method.times.quantile(self._options.hedge_quantile), self._options.slow_s)
        if method.times.left_after(slow) >= usual:
            return max(slow, usual)
        # Those that take longer take hardly any longer: only what is overdue by all that is known is worth a request.
        return max(method.times.quantile(1.0) + usual, slow)

    def _ask(self, method: Method, request: KeyRequest, other: Method, most: int) -> list[Lookup]:
        """Ask for what of a request nobody has asked the other method for, if that takes so many requests at most."""
        keys = self._methods.rivals.same_keys(method.table, method.index, request.keys, other.index)
        fresh = keys[other.module.states(keys) < KeyState.PENDING]
        size = other.module.plan.batch_size
        parts = [fresh[start : start + size] for start in range(0, len(fresh), size)]
        if not 0 < len(parts) <= most:
            return []
        request.raced = True
        return [self._send(other, part, urgent=request.urgent) for part in parts]

    def _send(self, method: Method, keys: Int64, *, urgent: bool) -> Lookup:
        """Ask a method at once for keys that nobody has asked it for. There is room for one more request."""
        number = self._methods.next_request
        request = method.module.race(number, keys, self._clock.now, urgent=urgent)
        return self._methods.instructions(method, [self._methods.send(method, request)])[0]

    def _left(self) -> int:
        """How many requests may still race others."""
        hedged = self._methods.hedged
        others = sum(method.module.issued for method in self._methods.all) - hedged
        return math.floor(self._options.hedge_share * others) - hedged

    def _stalls(self, method: Method) -> bool:
        """Whether the method has answered nothing for longer than any answer took by more than one usually takes."""
        if method.stalled:
            return False
        oldest = next(iter(method.module.requests.values()))
        overdue = method.times.quantile(1.0) + method.times.quantile(0.5)
        at = max(method.heard_at, oldest.sent_at) + max(overdue, self._options.slow_s)
        if at > self._clock.now:
            self._clock.wake_at(at)
            return False
        method.stalled = True
        return True

    def _move(self, method: Method, other: Method) -> bool:
        """Let the other method answer the keys that wait here, but for those that it has failed to answer; were there any?"""
        keys = method.module.queued()
        same = self._methods.rivals.same_keys(method.table, method.index, keys, other.index)
        failed = other.module.states(same) == KeyState.FAILED
        if failed.all():
            return False
        method.module.drop_pending()
        other.module.request(same)
        method.module.request(keys[failed])
        self._router.reoffer(method.table, method.index, keys, other.index)
        return True
