"""What servers tell about their quotas in headers, and what is left of one.

Read are the old triple (`RateLimit-Limit`, `-Remaining`, `-Reset`), the structured fields (`RateLimit`,
`RateLimit-Policy`), `X-RateLimit-*` and `X-Rate-Limit-*` in their many spellings, and headers a spec declares.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from fff.structs import Struct, lazy_pattern
from fff.web.types import HostPolicy

_FAMILIES = ("ratelimit", "x-ratelimit", "x-rate-limit")
_BEGINNINGS = ("ratelimit", "x-rate")
#: Kong and others: one family of headers for each length of window.
_UNITS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_EPOCH_S = 1_000_000_000  # a reset above this is a date, below it a duration
_EPOCH_MS = 100_000_000_000
_FEW = 0.2  # of the most that was ever left: less after a reset was no reset
_GRACE = 1.0  # seconds given to an answer that tells what is left
_ROUNDED = 1.0  # seconds by which the end of a window wanders when told in whole seconds
_LATE = 0.1  # and otherwise, for answers take their time
_RESERVE = 0.02  # of the most that was ever left, not used
_MOMENT = 2.0  # seconds: a shorter window is used up and filled again all the time
_SKEW = 2.0  # seconds by which a server's clock may differ from ours and still count as equal
_ITEM = lazy_pattern(r'\s*(?:"(?P<name>[^"]*)"|(?P<bare>[^;,"\s]*))(?P<params>(?:\s*;[^;,]*)*)')
_PART = lazy_pattern(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*")  # of a duration: `6m0s`, `1.5s`
_DURATION = lazy_pattern(f"(?:{_PART.pattern})+")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_GREENWICH = lazy_pattern(r"\s*(?:UTC|GMT)$")


class Quota(Struct, frozen=True):
    """One quota at the moment of an answer. Times in seconds."""

    name: str = ""
    remaining: float | None = None  # requests that will still be admitted; None: not told
    reset: float | None = None  # until it is filled again, counted from now
    limit: float | None = None  # requests in a window
    window: float | None = None  # how long a window is

    @property
    def rate(self) -> float | None:
        """Requests a second that it admits for ever, where it tells."""
        return self.limit / self.window if self.limit and self.window else None


def quotas(headers: Mapping[str, str], policy: HostPolicy, wall: float) -> tuple[Quota, ...]:
    """The quotas that an answer tells of; none from an answer that some cache kept."""
    declared = policy.remaining_header or policy.reset_header
    if not declared and not _may_tell(tuple(headers)):
        return ()  # most answers
    if number(headers.get("age", "")):
        return ()
    now = server_time(headers, wall)
    if declared:
        return tuple(_declared(headers, policy, now))
    return tuple(_structured(headers)) or tuple(_triples(headers, now))


def is_of_quotas(name: str, policy: HostPolicy) -> bool:
    """Whether a header, its name in lower case, tells of a quota at the moment of its answer."""
    declared = (policy.remaining_header, policy.reset_header)
    return name.startswith(_BEGINNINGS) or name in [one.lower() for one in declared if one]


@lru_cache(maxsize=1024)
def _may_tell(fields: tuple[str, ...]) -> bool:
    """Whether one of the fields of a header is about quotas: a host's answers mostly have the same fields."""
    return any(field.startswith(_BEGINNINGS) for field in fields)


def server_time(headers: Mapping[str, str], wall: float) -> float:
    """What the server takes the time to be: ours, unless its Date says that one of the two clocks is wrong."""
    date = moment(headers.get("date", ""))
    return wall if date is None or abs(date - wall) <= _SKEW else date


def quota_wait(quotas: tuple[Quota, ...]) -> float | None:
    """Seconds until every used-up quota is filled again; None while some is left of all."""
    waits = [one.reset for one in quotas if one.remaining is not None and one.remaining <= 0 and one.reset]
    return max(waits, default=None)


def may_explain_refusal(quotas: tuple[Quota, ...]) -> bool:
    """Whether one is used up, and not after every answer, as one of a single request or of a moment is."""
    for one in quotas:
        if one.remaining is not None and one.remaining <= 0 and one.reset:
            window = one.window or (one.reset if one.limit is None else math.inf)
            if window > _MOMENT and (one.limit is None or one.limit > 1):
                return True
    return False


class Remaining:
    """What is left of one quota until its window ends, as far as answers tell.

    An answer's "remaining" counts the requests handled before it and perhaps some of those in flight; so what is left lies
    between it and it less those in flight. Requests started since are taken off.
    """

    def __init__(self) -> None:
        self.left: float | None = None  # starts that will be admitted; None: not known
        self.ends = float("-inf")  # steady time at which the window ends
        self.limit: float | None = None
        self._window: float | None = None  # its length
        self._newest = 0  # number of the newest request whose answer was taken in
        self._newest_remaining = 0.0  # what that answer told
        self._most = 0.0  # the most that any answer told
        self._over = False  # the window is over, and no answer has told of the next
        self._trickles = False  # the end of a window is no more than the next few requests

    def observe(self, quota: Quota, serial: int, others: int, now: float) -> None:
        """An answer to request `serial` tells of the quota while `others` are in flight."""
        self.limit = quota.limit or self.limit
        self._window = quota.window or self._window
        reset = quota.reset if quota.reset is not None else quota.window
        if quota.remaining is None or reset is None or serial < self._newest:
            return
        grown = quota.remaining > self._newest_remaining + others
        self._newest, self._newest_remaining = serial, quota.remaining
        self._most = max(self._most, quota.remaining)
        ends = now + reset
        # Rounded up, the end told wanders; the earliest told within one window is the nearest to the truth.
        wanders = 0 <= ends - self.ends < (_ROUNDED if reset == int(reset) else _LATE)
        if self._over or now >= self.ends or grown or not wanders:
            self.ends = ends
        if self._over:
            self._trickles, self._over = quota.remaining < _FEW * self._most, False
        high = quota.remaining - int(_RESERVE * self._most)  # answers overtake each other
        low = high - others
        self.left = low if self.left is None else min(max(self.left, low), high)

    @property
    def counts(self) -> bool:
        """Whether some answer told of requests that are left: a refusal's 0 alone is no more than a refusal."""
        return self._most > 0

    def start(self) -> None:
        """A request starts."""
        if self.left is not None:
            self.left -= 1

    def expire(self, now: float) -> bool:
        """Forget what was left where the window is over; whether it has just ended."""
        if self.left is None or now < self.ends:
            return False
        if self._trickles and not self._over:
            self.left, self.ends = 1.0, now + _GRACE  # one goes and finds out
        else:
            self.left = None
        self._over = True
        return True

    def exhausted(self, others: int) -> bool:
        """Whether nothing is left for certain: no answer on its way can tell of more."""
        return self.left is not None and self.left < 1 and (not others or self._newest_remaining < 1)

    def each_s(self, now: float) -> float:
        """Seconds that a request waits for where all are used up: a share of the window, or of what is left of it."""
        return (self._window or self.ends - now) / max(1.0, self.limit or self._most)

    def even_rate(self, now: float) -> float:
        """Requests a second that spread what is left over the time to the end of the window; 0 where unknown."""
        if self.left is None or self.left < 1 or now >= self.ends:
            return 0.0
        return self.left / (self.ends - now)


def number(text: str) -> float | None:
    """The number at the front of a header ("0, 0;w=1" counts as 0), None where there is none."""
    try:
        value = float(re.split("[,;]", text, maxsplit=1)[0])
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


@lru_cache(maxsize=64)  # answers of one second have the same date
def moment(text: str) -> float | None:
    """Seconds since the epoch of an HTTP date, which is in GMT where it names no zone; None for anything else."""
    if not text:
        return None
    try:
        when = email.utils.parsedate_to_datetime(text)
        return (when if when.tzinfo else when.replace(tzinfo=dt.UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _declared(headers: Mapping[str, str], policy: HostPolicy, now: float) -> Iterator[Quota]:
    """The headers a spec names; the usual ones stand in for one it does not name."""
    quota = next(_triples(headers, now), Quota())
    remaining = number(headers.get(policy.remaining_header.lower(), "")) if policy.remaining_header else None
    reset = until(headers.get(policy.reset_header.lower(), ""), now) if policy.reset_header else None
    if policy.remaining_header is None:
        remaining = quota.remaining
    if policy.reset_header is None:
        reset = quota.reset
    if remaining is not None or reset is not None:
        yield Quota("declared", remaining, reset, quota.limit, quota.window)


def _triples(headers: Mapping[str, str], now: float) -> Iterator[Quota]:
    for family in _FAMILIES:
        quota = _triple(headers, family, "", now)
        if quota is not None:
            yield quota
        for unit, seconds in _UNITS.items():
            quota = _triple(headers, family, f"-{unit}", now)
            if quota is not None:
                yield Quota(quota.name, quota.remaining, quota.reset, quota.limit, seconds)


def _triple(headers: Mapping[str, str], family: str, unit: str, now: float) -> Quota | None:
    remaining = number(headers.get(f"{family}-remaining{unit}", ""))
    limit_text = headers.get(f"{family}-limit{unit}", "")
    limit = number(limit_text)
    if remaining is None and limit is None:
        return None
    reset = _duration(headers.get(f"{family}-reset-after{unit}", ""))
    if reset is None:
        reset = until(headers.get(f"{family}-reset{unit}", ""), now)
    window = _duration(headers.get(f"{family}-interval", ""))
    for name, params in _items(headers.get(f"{family}-policy", "") or limit_text):
        if "w" in params and number(name) == limit:
            window = number(params["w"])
    return Quota(family + unit, remaining, reset, limit, window)


def _structured(headers: Mapping[str, str]) -> Iterator[Quota]:
    """`RateLimit: "name";r=50;t=30` with `RateLimit-Policy: "name";q=100;w=60`, and the draft `limit=…, remaining=…`."""
    policies = dict(_items(headers.get("ratelimit-policy", "")))
    text = headers.get("ratelimit", "")
    split = (pair.partition("=") for pair in re.split("[,;]", text))
    pairs = {name.strip(): value for name, _, value in split}
    if "remaining" in pairs:
        limit = number(pairs.get("limit", ""))
        window = next(
            (number(p["w"]) for name, p in policies.items() if "w" in p and number(name) == limit), None
        )
        yield Quota("", number(pairs["remaining"]), number(pairs.get("reset", "")), limit, window)
        return
    for name, params in _items(text):
        policy = policies.get(name, {})
        if "r" not in params or policy.get("qu", "requests").strip('"') != "requests":
            continue
        limit, window = number(policy.get("q", "")), number(policy.get("w", ""))
        yield Quota(name, number(params["r"]), number(params.get("t", "")), limit, window)


def _items(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The members of a structured list: name (or number) and parameters."""
    for part in text.split(","):
        match = _ITEM.match(part)
        if match is None or not part.strip():
            continue
        pairs = (pair.split("=", 1) for pair in match["params"].split(";") if "=" in pair)
        name = match["name"] if match["name"] is not None else match["bare"]
        yield name, {key.strip(): value.strip() for key, value in pairs}


def until(text: str, now: float) -> float | None:
    """Seconds until what is told as seconds or a duration, as (milli)seconds since the epoch, or as a date."""
    value = _duration(text)
    if value is None:
        value = _written(text)
        return None if value is None else max(0.0, value - now)
    if value > _EPOCH_MS:
        value /= 1000
    return max(0.0, value - now) if value > _EPOCH_S else value


def _written(text: str) -> float | None:
    """Seconds since the epoch of a date as HTTP or ISO 8601 writes it, in GMT where it names no zone."""
    try:
        when = dt.datetime.fromisoformat(_GREENWICH.sub("Z", text.strip()))
    except ValueError:
        return moment(text)
    return (when if when.tzinfo else when.replace(tzinfo=dt.UTC)).timestamp()


def _duration(text: str) -> float | None:
    """Seconds, whether with units or without."""
    if _DURATION.fullmatch(text.strip()) is None:
        return number(text)
    return sum(float(count) * _SECONDS[unit] for count, unit in _PART.findall(text))
