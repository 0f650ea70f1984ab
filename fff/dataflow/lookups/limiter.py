"""What holds the requests of some lookup methods back together, whichever of them is asked: a host, a pool of threads."""

from __future__ import annotations

import math

from fff.dataflow.lookups.access import KeyRequest, LookupModule
from fff.dataflow.plan.moves import Load

#: Requests decided on ahead of the places there are: a share of these, more where answers are quick, as in the seconds
#: that the engine takes to send the next ones more places fall free; never more than there are places.
_AHEAD, _TURN_S = 0.25, 0.01
#: Weight of the newest answer in what a request usually takes.
_NEWEST = 0.1


class Limiter:
    """Admits `ceiling` requests of its modules at once."""

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.modules: list[LookupModule] = []
        self._usual_s: float | None = None  # that a request keeps its place for
        self._left: float | None = None  # requests that a quota admits, as the newest answer said
        self._each_s = 0.0  # seconds that each waits after those

    @property
    def under_way(self) -> int:
        """Requests that nothing has ended yet."""
        return sum(len(module.requests) for module in self.modules)

    @property
    def backlog(self) -> int:
        """Requests under way, and those that waiting keys will take."""
        waiting = (-(-module.pending // module.plan.batch_size) for module in self.modules)
        return self.under_way + sum(waiting)

    @property
    def allowance(self) -> int:
        """Requests to decide on ahead: what is not about to be sent is decided on when more is known."""
        ahead = _AHEAD
        if self._usual_s is not None:
            ahead = max(ahead, 1.0 if self._usual_s <= _TURN_S else _TURN_S / self._usual_s)
        return self.ceiling + max(1, math.ceil(self.ceiling * ahead))

    def load(self, module: LookupModule) -> Load:
        """What stands before one of the modules, in keys of its own."""
        batch = module.plan.batch_size
        window = min(self.allowance, module.plan.window) * batch
        copies = (module.rows - module.strays) / module.met if module.met else 1.0
        return Load(self.backlog * batch, window, batch, self._left, self._each_s, max(1.0, copies))

    def observe_quota(self, left: float | None, each_s: float) -> None:
        """What an answer said of a quota."""
        self._left, self._each_s = left, each_s

    def served(self, request: KeyRequest, seconds: float) -> float:
        """How long an answer kept a place, of the seconds since it was asked for: it stood in line with those before it.

        Of n under way at a ceiling of K each has a place for K/n of the time (Little's law); where it is a rate that holds
        them back, this is the time that K of them take.
        """
        place = seconds * min(1.0, self.ceiling / max(1, request.beside))
        before = place if self._usual_s is None else self._usual_s
        self._usual_s = before + _NEWEST * (place - before)
        return place
