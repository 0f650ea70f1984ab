"""When an access method has asked a host often enough that does not answer, or refuses all: a circuit breaker of one run."""

from __future__ import annotations

import asyncio
import math

from fff.web.types import HostPolicy

_BY_CHANCE = 1e-6  # a run of failures less probable than this, with the share there was before, is no chance
_LEAST = 10  # failures in a row, whatever the share was
_PATIENCE = 0.2  # of `total_timeout`: seconds to go on for a host that had always answered


class Breaker:
    """Counts attempts that brought no answer at all of one host, asked by one access method.

    It opens once a request has been given up in a row of failures that chance does not explain, or that took as long as
    one request may. While it is open one request at a time finds out whether the host is back, for as long as the share
    of attempts that were answered before deserves; then the host is given up. An answer closes it.

    A host that tells everybody to slow down, and goes on so for longer than one may be told to wait, is given up as well.
    """

    def __init__(self, policy: HostPolicy) -> None:
        self._policy = policy
        self._answers = 0
        self._failed = 0  # before the row
        self._row = 0  # failures since the last answer
        self._row_s = 0.0  # seconds that they took
        self._opened: float | None = None
        self._refusals = 0  # since anything else was the answer
        self._refused_from = 0.0
        self.given_up = False
        self.turn = asyncio.Lock()  # of the one that finds out
        self.tried = 0  # requests given up while it was open

    @property
    def is_open(self) -> bool:
        """Whether the host is in doubt."""
        return self._opened is not None

    @property
    def row(self) -> str:
        """What the last attempts came to, in words."""
        if self._refusals:
            return f"the source told the last {self._refusals} attempts to slow down"
        return f"the last {self._row} attempts to reach the source brought no answer"

    @property
    def hint(self) -> str:
        """What to do about a host that was given up."""
        return (
            "a quota seems to be used up: try again later"
            if self._refusals
            else "it seems to be down: try again later"
        )

    @property
    def threshold(self) -> int:
        """Failures in a row from which on the host is in doubt."""
        share = (self._failed + 1) / (self._failed + self._answers + 2)
        return max(_LEAST, math.ceil(math.log(_BY_CHANCE) / math.log(share)))

    @property
    def patience(self) -> float:
        """Seconds to go on for once it is open."""
        asked = self._answers + self._failed
        return self._policy.total_timeout * _PATIENCE * (self._answers / asked if asked else 0.0)

    def request_answered(self) -> None:
        """The host answers, and lets one through, whatever it says."""
        self._heard()
        self._refusals, self.given_up = 0, False

    def refused(self, now: float) -> None:
        """The host was asked and told to come again later."""
        self._heard()
        if not self._refusals:
            self._refused_from = now
        self._refusals += 1
        if now - self._refused_from >= self._policy.max_wait and self._refusals >= self._policy.max_attempts:
            self.given_up = True

    def _heard(self) -> None:
        """The row of attempts without an answer is over."""
        self._answers += 1
        self._failed += self._row
        self._row, self._row_s, self._opened, self.tried = 0, 0.0, None, 0

    def failed(self, seconds: float) -> None:
        """An attempt took so long and brought no answer."""
        self._row += 1
        self._row_s += seconds

    def request_failed(self, now: float) -> None:
        """A request is given up after such an attempt, its last."""
        if self._opened is None:
            if self._row < self.threshold and self._row_s < self._policy.total_timeout:
                return
            self._opened = now
        else:
            self.tried += 1
        self.given_up = now - self._opened >= self.patience
