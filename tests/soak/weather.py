"""What the network and the server do to requests, by seed: latencies, pieces, refusals, breaks, bursts of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate

from fff.simulation.service import FixedTime, HeavyTail, Latency, LogNormal, Phases, Uniform
from fff.structs import replace
from tests.faults.wire import Asked, Reply, Then, chunked
from tests.web.serving import WALL
from tests.web.simulated import Limit

Change = Callable[[Reply], Reply]
#: Seconds that an answer takes at most while nothing is wrong: less than anybody waits.
_PATIENT = 2.0


@dataclass(frozen=True)
class Fate:
    """What becomes of one request: an answer `instead` of the site's, or the site's, changed."""

    name: str = "served"
    instead: Reply | None = None
    change: Change = lambda reply: reply
    drip: float = 0.0  # seconds between pieces


def _refused(status: int, body: bytes = b"", **headers: str) -> Reply:
    return Reply(body, status, {name.replace("_", "-"): text for name, text in headers.items()})


def _date(rng: random.Random) -> str:
    return formatdate(WALL + asyncio.get_running_loop().time() + rng.choice([1, 4]), usegmt=True)


def _cut(rng: random.Random, then: Then, *, by_line: bool = False) -> Change:
    """A body that ends before it should, under a length that says so: anywhere, or where a line ends, and all looks well."""
    share = rng.uniform(0.3, 1.0) if by_line else rng.random()

    def cut(reply: Reply) -> Reply:
        if reply.raw is not None or not reply.body:
            return reply
        if then == "close" and reply.headers.get("Content-Length") == "":
            return reply  # that ends by closing anyway: nobody could tell
        place = int(len(reply.body) * share)
        place = reply.body.rfind(b"\n", 0, place) + 1 if by_line else place
        return replace(reply, sent=reply.body[:place], then=then)

    return cut


def _cut_chunks(reply: Reply) -> Reply:
    if reply.raw is not None or not reply.body:
        return reply
    headers = {**reply.headers, "Transfer-Encoding": "chunked"}
    return replace(reply, headers=headers, sent=chunked(reply.body, end=b"", size=90), then="close")


_NOTHING = b'{"items": []}'

#: What strikes single requests, by name.
STRIKES: dict[str, Callable[[random.Random], Fate]] = {
    "reset": lambda rng: Fate(instead=Reply(raw=b"", then="reset")),
    "closed": lambda rng: Fate(instead=Reply(raw=b"", then="close")),
    "half a head": lambda rng: Fate(instead=Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Le", then="close")),
    "no HTTP": lambda rng: Fate(instead=Reply(raw=b"SSH-2.0-OpenSSH_9\r\n\r\n", then="close")),
    "stall": lambda rng: Fate(instead=Reply(raw=b"", then="stall")),
    "stall in the body": lambda rng: Fate(change=_cut(rng, "stall")),
    "cut": lambda rng: Fate(change=_cut(rng, "close")),
    "reset in the body": lambda rng: Fate(change=_cut(rng, "reset")),
    "cut at a line": lambda rng: Fate(change=_cut(rng, "close", by_line=True)),
    "reset at a line": lambda rng: Fate(change=_cut(rng, "reset", by_line=True)),
    "cut chunks": lambda rng: Fate(change=_cut_chunks),
    "drip": lambda rng: Fate(drip=rng.choice([0.5, 2.0, 6.0])),
    "500": lambda rng: Fate(instead=_refused(500, _NOTHING, Content_Type="application/json")),
    "502": lambda rng: Fate(instead=_refused(502, b"<html>Bad Gateway</html>", Content_Type="text/html")),
    "503": lambda rng: Fate(instead=_refused(503)),
    "503, later": lambda rng: Fate(instead=_refused(503, Retry_After=str(rng.choice([0, 1, 20])))),
    "429": lambda rng: Fate(instead=_refused(429)),
    "429, later": lambda rng: Fate(instead=_refused(429, Retry_After=str(rng.choice([0, 1, 3, 40])))),
    "429, by a date": lambda rng: Fate(instead=_refused(429, Retry_After=_date(rng))),
    "429, for a day": lambda rng: Fate(instead=_refused(429, Retry_After="86400")),
    "408": lambda rng: Fate(instead=_refused(408)),
    "404": lambda rng: Fate(instead=_refused(404, b'{"error": "no"}', Content_Type="application/json")),
    "400": lambda rng: Fate(instead=_refused(400)),
}
#: What strikes connections.
OF_CONNECTIONS = ("no name", "refused", "no way in")


@dataclass(frozen=True)
class Storm:
    """A kind of fault: each request that comes between two times is struck with a probability."""

    kind: str
    share: float
    start: float = 0.0
    end: float = float("inf")


@dataclass
class Weather:
    """All that a seed makes of the network."""

    rng: random.Random
    latency: Latency
    way: tuple[float, float] = (0.001, 0.02)  # one way, at least and at most
    storms: tuple[Storm, ...] = ()
    limit: Limit | None = None  # of the server's own, which it refuses by
    told: bool = True  # whether it then says when to come again
    at_once: int | None = None
    most_pieces: int = 1
    kept: float | None = None  # seconds that the server keeps a connection
    inside: int = field(default=0, init=False)
    struck: dict[str, int] = field(default_factory=dict, init=False)

    @property
    def calm(self) -> bool:
        """Whether every request is answered as the source would."""
        return not self.storms and self.limit is None and self.at_once is None

    def resolving(self) -> float:
        return self.rng.uniform(0.0, 0.01)

    def on_the_way(self) -> float:
        return self.rng.uniform(*self.way)

    def thinking(self) -> float:
        seconds = self.latency.seconds(asyncio.get_running_loop().time(), self.rng)
        return min(seconds, _PATIENT) if self.calm else seconds

    def idle(self) -> float | None:
        return None if self.kept is None else self.kept * self.rng.random()

    def strikes(self, kind: str) -> bool:
        """Whether something of that kind happens now."""
        now = asyncio.get_running_loop().time()
        struck = any(
            one.kind == kind and one.start <= now < one.end and self.rng.random() < one.share
            for one in self.storms
        )
        if struck:
            self.struck[kind] = self.struck.get(kind, 0) + 1
        return struck

    def strikes_at_once(self) -> bool:
        """Whether the end of a connection comes with its last bytes."""
        return self.rng.random() < 0.3

    def fate(self, asked: Asked, now: float) -> Fate:
        """Of a request that arrives now."""
        if self.limit is not None and not self.limit.admits(now):
            later = {"Retry_After": str(int(self.limit.opens(now)) + 1)} if self.told else {}
            self.struck["limit"] = self.struck.get("limit", 0) + 1
            return Fate("limit", _refused(429, **later))
        if self.at_once is not None and self.inside >= self.at_once:
            self.struck["at once"] = self.struck.get("at once", 0) + 1
            return Fate("at once", _refused(429, Retry_After="1"))
        kind = next((one.kind for one in self.storms if one.kind in STRIKES and self.strikes(one.kind)), None)
        return Fate() if kind is None else replace(STRIKES[kind](self.rng), name=kind)

    def entered(self, fate: Fate) -> Callable[[], None]:
        """A request is inside the server until what is returned is called."""
        if fate.instead is not None:
            return lambda: None
        self.inside += 1

        def leave() -> None:
            self.inside -= 1

        return leave

    def told_to_wait(self, reply: Reply) -> float | None:
        text = reply.headers.get("Retry-After", "")
        return float(text) if text.isdecimal() and reply.status in (429, 503) else None

    def pieces(self, data: bytes, fate: Fate) -> Iterator[tuple[bytes, float]]:
        """The bytes as they come, each piece after a pause."""
        if not data:
            return
        count = min(len(data), max(self.rng.randint(1, self.most_pieces), 3 if fate.drip else 1))
        cuts = sorted(self.rng.sample(range(1, len(data)), count - 1)) if count > 1 else []
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            yield data[start:end], fate.drip or (self.rng.uniform(0, 0.02) if count > 1 else 0.0)


def latency_of(rng: random.Random) -> Latency:
    """Of some kind."""
    kinds: list[Callable[[], Latency]] = [
        lambda: FixedTime(rng.choice([0.0, 0.01, 0.2, 1.0])),
        lambda: Uniform(0.0, rng.choice([0.1, 2.0])),
        lambda: LogNormal(rng.choice([0.05, 0.5]), 1.0),
        lambda: HeavyTail(rng.choice([0.01, 0.1]), 1.1),
        lambda: Phases(((0.0, FixedTime(0.05)), (rng.uniform(0.2, 3.0), FixedTime(rng.choice([0.5, 8.0]))))),
    ]
    return rng.choice(kinds)()


def storms_of(rng: random.Random, *, lines: bool) -> tuple[Storm, ...]:
    """Some kinds of faults together: now and then, in a burst, or always from some time on."""
    storms: list[Storm] = []
    if lines and rng.random() < 0.5:  # what is left of a body may look whole then
        storms.append(Storm(rng.choice(["cut at a line", "reset at a line"]), rng.choice([0.1, 0.3])))
        if rng.random() < 0.5:
            return tuple(storms)
    for kind in rng.sample([*STRIKES, *OF_CONNECTIONS], rng.choice([1, 1, 2, 3, 5])):
        shape = rng.randrange(4)
        if shape == 0:
            storms.append(Storm(kind, rng.choice([0.02, 0.1, 0.3])))
        elif shape == 1:
            start = rng.uniform(0.0, 4.0)
            storms.append(Storm(kind, 1.0, start, start + rng.choice([0.2, 2.0, 20.0])))
        elif shape == 2:
            storms.append(Storm(kind, 0.5, 0.0, rng.choice([1.0, 10.0])))
        else:
            storms.append(Storm(kind, 1.0, rng.choice([0.0, 0.3, 2.0])))
    return tuple(storms)
