"""When the live view may run the upper query again: often enough to be live, seldom enough to cost little."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Refreshing takes at most this share of the elapsed time.
SHARE = 0.2
#: Faster than this nobody reads, in seconds.
SHORTEST_GAP_S = 0.25
#: What the first refresh is taken to cost before one was measured, in seconds.
FIRST_COST_S = 0.3


@dataclass
class RefreshPacer:
    """Decides from the time, what refreshing cost so far and what changed; it reads no clock.

    Two rules hold at once: all refreshes together, the next one included, stay within the share of the time
    since the start, and each is followed by a pause in proportion to its own cost, so that a long quiet spell
    is not paid back by a burst.
    """

    started: float  # seconds on the caller's clock
    share: float = SHARE
    spent: float = field(default=0.0, init=False)  # seconds, all refreshes
    refreshes: int = field(default=0, init=False)
    _last_cost: float = field(default=FIRST_COST_S, init=False)
    _not_before: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        assert 0 < self.share < 1, "a share of the time"
        self._not_before = self.started

    def due(self, now: float, rows_changed: int) -> bool:
        """Whether to refresh now, given how many rows came since the last refresh."""
        return rows_changed > 0 and self.wait(now) <= 0

    def wait(self, now: float) -> float:
        """Seconds until a refresh is allowed, 0 when it is."""
        # spent + cost <= share * (at + cost - started), solved for the moment `at` the refresh would begin
        within_share = self.started + (self.spent + self._last_cost) / self.share - self._last_cost
        return max(0.0, self._not_before - now, within_share - now)

    def done(self, now: float, cost: float) -> None:
        """Count a refresh that took `cost` seconds and ended now."""
        self.spent += cost
        self.refreshes += 1
        self._last_cost = cost
        self._not_before = now + max(SHORTEST_GAP_S, cost * (1 - self.share) / self.share)
