"""Which answers are worth another try, and how long a server wants to be left alone."""

from __future__ import annotations

import random
from collections.abc import Mapping

from fff.web.gate.rate_limit_headers import server_time, until
from fff.web.types import HostPolicy, Request

#: Besides 5xx. Everything else that is not 2xx is an answer that trying again does not change.
RETRIED = frozenset({408, 425, 429})


#: What to do where a proxy refuses, and by its status.
PROXY = "see network.proxy under the source's client, or HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, and whom the proxy lets through"
PROXY_HINTS = {
    407: "the proxy wants a name and a password that it knows: HTTP_PROXY and HTTPS_PROXY may hold them (http://name:password@proxy:3128)"
}
#: Of 2xx: asked for but not there yet (202), and a part of what was asked for (206).
_UNFINISHED = frozenset({202, 206})
_DOWN = frozenset({502, 503, 504})  # told by whoever stands in front of a host that does not answer


class Failed(Exception):  # noqa: N818 - one attempt's end, which the client makes a SourceError
    """An attempt that did not bring an answer."""

    def __init__(
        self,
        reason: str,
        *,
        again: bool,
        status: int | None = None,
        hint: str | None = None,
        wait: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again = again  # whether another attempt may help
        self.status = status
        self.hint = hint
        self.wait = wait  # seconds before the next attempt, where something else than the usual
        self.seconds = 0.0  # that it took on the wire
        self.date: str | None = None  # what time the server says it is
        self.silent = status in _DOWN  # whether nobody was there to answer
        self.stale = False  # it went over a kept connection that the server had closed
        self.refusal = False  # told to slow down: where the host's pause does the waiting, `wait` is 0


def is_whole(status: int, asked: Mapping[str, str]) -> bool:
    """Whether a status says that the answer is here and whole; a part of it is where the request's headers asked for one."""
    part = status == 206 and any(name.lower() == "range" for name in asked)
    return 200 <= status < 300 and (part or status not in _UNFINISHED)


def is_retried(status: int, policy: HostPolicy) -> bool:
    """Whether a status is worth another attempt."""
    return status in RETRIED or status >= 500 or status in policy.extra_statuses


def is_throttle(
    status: int, headers: Mapping[str, str], policy: HostPolicy, *, used_up: bool = False
) -> bool:
    """Whether an answer tells the whole host's traffic to slow down; `used_up`: it tells of a quota that is, and till when."""
    if status == 429 or status in policy.extra_statuses:
        return True
    return (status in (403, 503) and "retry-after" in headers) or (status == 403 and used_up)


def retry_after(headers: Mapping[str, str], wall: float) -> float | None:
    """Seconds asked for by Retry-After, given as seconds or as a date; None without a usable one."""
    text = headers.get("retry-after")  # of few answers: the date of the others need not be read
    return until(text, server_time(headers, wall)) if text else None


def backoff(attempt: int, policy: HostPolicy, rng: random.Random) -> float:
    """Seconds before the attempt after attempt number `attempt` (from 1): exponential, with full jitter."""
    return rng.uniform(0, min(policy.max_delay, policy.base_delay * 2 ** (attempt - 1)))


class Postponed:
    """The questions that a server wants to hear again only later, whoever asks them: several readings may share a page."""

    def __init__(self) -> None:
        self._until: dict[tuple[object, ...], float] = {}  # seconds of the clock

    def __bool__(self) -> bool:
        return bool(self._until)

    def note(self, req: Request, until: float) -> None:
        """A server told this question to wait until then. Those with a body are not taken for one another."""
        if req.json is None and req.form is None:
            self._until[_question(req)] = max(until, self._until.get(_question(req), until))

    def left(self, req: Request, now: float) -> float:
        """Seconds until the question may be asked."""
        left = self._until.get(_question(req), now) - now
        if left <= 0:
            self._until.pop(_question(req), None)
        return left


def _question(req: Request) -> tuple[object, ...]:
    return req.method, req.url, req.params, req.credentials.identity
