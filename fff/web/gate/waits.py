"""How long somebody waits for leave to send, why, and when that is too long."""

from __future__ import annotations

import math
from typing import Literal

from fff.structs import Struct
from fff.web.clock import Clock

Cause = Literal["concurrency", "rate", "throttled"]


class WaitTooLong(Exception):  # noqa: N818 - internal; the client turns it into a SourceError
    """The server asked for a longer wait than the policy allows, or a declared window does. `seconds` is what is left of it.

    `shared`: it is a share of the declared limit that is too small, of one among several tasks.
    """

    def __init__(self, seconds: float, *, declared: bool = False, shared: bool = False) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        self.declared = declared
        self.shared = shared

    @property
    def reason(self) -> str:
        """It in words."""
        if math.isinf(self.seconds):
            takes = (
                "a task's share of the declared limit takes" if self.shared else "the declared limit takes"
            )
            return f"the request counts as more than {takes}"
        return f"{'the declared limit' if self.declared else 'the server'} asks to wait {self.seconds:.0f} s"

    @property
    def hint(self) -> str:
        """What can be done."""
        if math.isinf(self.seconds):
            less = "ask with fewer tasks (partitions), or " if self.shared else ""
            return f"{less}ask for less at once: the spec says what its requests count as, under counts_as"
        return "try again later, or allow the wait with client.retry.max_wait in the spec"


class RetryAfterWait(Struct, frozen=True, eq=False):
    """One request's wait. Implements `Gate`."""

    until: float
    clock: Clock

    def resumes_in(self) -> float | None:
        """Seconds that are left of it."""
        return self.until - self.clock.now()

    @property
    def cause(self) -> Cause:
        """The server wants it so."""
        return "throttled"
