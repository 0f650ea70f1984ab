"""Requests, answers, and the rules of a host: plain data without behaviour worth mocking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Literal, Protocol

from fff.structs import Struct, field, replace


class Window(Struct, frozen=True):
    """At most `limit` requests in any `per` seconds."""

    limit: int
    per: float


class NetworkRoute(Struct, frozen=True):
    """How a host is reached.

    `proxy`: that one, or none (""); None: as the environment says. `ca_bundle`, `certificate` and `key` are
    files of PEM: who is believed to be the host, and who we are. `unix_socket`: where its server listens.
    """

    proxy: str | None = None
    ca_bundle: str | None = None
    certificate: str | None = None
    key: str | None = None
    unix_socket: str | None = None


#: What to do about an answer that does not come in time, by whether it had begun.
TOO_SLOW = {
    False: "give a slow source longer: client.timeout in the spec (connect, read, total)",
    True: "it had begun to come: give it longer with client.timeout in the spec (read, total), or ask for less",
}


class HostPolicy(Struct, frozen=True, dict=True):
    """What a source declares about its host. Times in seconds, sizes in bytes.

    A server's own word (Retry-After, rate-limit headers) is obeyed on top of it.
    """

    max_concurrency: int = 8
    fill_rate: float | None = None  # requests per second; None: no rate of our own
    bucket_size: int | None = None  # requests that may go out at once after a quiet time
    windows: tuple[Window, ...] = ()  # all of them hold
    share_of: int = 1  # how many have such rules each, of which together they break none
    connect_timeout: float = 10.0
    read_timeout: float = 30.0  # between two reads of one body
    total_timeout: float = (
        300.0  # for one request with all its attempts; a body that flows gets more by its size
    )
    max_attempts: int = 5
    base_delay: float = 0.5
    max_delay: float = 30.0
    max_wait: float = 300.0  # a server that asks for a longer wait has refused
    extra_statuses: frozenset[int] = frozenset()  # further statuses that mean "slow down"
    remaining_header: str | None = None
    reset_header: str | None = None
    wait_in_body: Callable[[bytes], float | None] | None = None  # seconds to wait that a body asks for
    allowed_hosts: frozenset[str] = frozenset()  # besides the request's own
    private_network: bool = False  # names of hosts may lead to addresses of private networks
    route: NetworkRoute = NetworkRoute()
    max_redirects: int = 5
    max_body: int = 256 * 2**20  # after decompression
    max_ratio: int = 200  # decompressed over compressed, once past `body.GRACE` bytes

    @property
    def burst(self) -> float:
        """How many requests may go out at once after a quiet time, where a rate is declared."""
        return float(self.bucket_size or max(1.0, self.fill_rate or 1.0))

    @property
    def rates(self) -> tuple[tuple[float, float], ...]:
        """The declared rate, if there is one: requests a second, and how many at once after a quiet time."""
        return () if self.fill_rate is None else ((self.fill_rate, self.burst),)

    @cached_property
    def elsewhere(self) -> HostPolicy:
        """The same for a host that a server names: it is not shown who we are, and is not where its socket leads."""
        route = replace(self.route, certificate=None, key=None, unix_socket=None)
        return self if route == self.route else replace(self, route=route)

    def most_shares(self, units: int = 1) -> int:
        """Among how many the rules can be shared out, so that each may send what counts as so many, and all together break none."""
        limits = [self.max_concurrency, *(window.limit // units for window in self.windows)]
        if self.fill_rate is not None:
            limits.append(int(self.burst) // units)
        return max(1, min(limits))

    def shared(self, of: int) -> HostPolicy:
        """The rules for one of so many that ask side by side: together they stay within what is declared.

        Of more than `most_shares` each may still have one request in flight.
        """
        if of == 1:
            return self
        return replace(
            self,
            share_of=of,
            max_concurrency=max(1, self.max_concurrency // of),
            fill_rate=None if self.fill_rate is None else self.fill_rate / of,
            bucket_size=None if self.bucket_size is None else max(1, self.bucket_size // of),
            windows=tuple(
                Window(max(1, one.limit // of), one.per * max(1, of / one.limit)) for one in self.windows
            ),
        )


class Credentials(Struct, frozen=True):
    """Headers and parameters that prove who asks: sent to the declared host only, shown to nobody.

    `identity` tells credentials apart without revealing them; limits are kept per host and identity.
    `sign` gives further headers for a request as it goes out: its method, whole URL and body.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    identity: str = ""
    sign: Callable[[str, str, bytes], Mapping[str, str]] | None = None


class Verdict(Struct, frozen=True):
    """What a body says of its own answer, whatever the status says.

    `fail`: it is none; `retry`: nor is it, but another attempt may help; `slow_down`: the same, and the whole
    host is to be asked less; `empty`: it has no rows; `accept`: it is as good as any.
    """

    action: Literal["fail", "retry", "slow_down", "empty", "accept"]
    words: str = ""  # of the source; may hold secrets


class Arrivals(Protocol):
    """Who hears of an answer while its body still comes."""

    def begin(self, headers: Mapping[str, str]) -> None:
        """A body begins; from its first byte again where a connection broke."""

    def take(self, data: bytes) -> None:
        """More of it, decompressed. What it raises ends the request."""


class Remembered(Struct, frozen=True):
    """An answer with status 200, decompressed, and what to ask with whether it still holds."""

    etag: str
    modified: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def condition(self) -> dict[str, str]:
        """Headers with which it is sent only if it has changed."""
        return {"If-None-Match": self.etag} if self.etag else {"If-Modified-Since": self.modified}

    @property
    def said(self) -> bytes:
        """What is kept of it beside the body; a header may be in any encoding."""
        texts = (self.etag, self.modified, *self.headers.values())
        return "\n".join(texts).encode("utf-8", "surrogateescape")

    def renewed(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers it has now, after a 304 with these (RFC 9111, 3.2): what is said anew counts, but of the body's form.

        A 304 has no body, and some servers describe that of an error page.
        """
        new = {name: text for name, text in headers.items() if not name.startswith("content-")}
        return {**self.headers, **new}


class ResponseMemory(Protocol):
    """Where answers are remembered. No method raises: what cannot be had is not there."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to find, so that nobody need name a request."""

    async def find(self, name: bytes) -> Remembered | None:
        """The answer to the request of that name."""

    async def keep(self, name: bytes, table: tuple[str, str], answer: Remembered) -> None:
        """Remember an answer, in the place of an earlier one; `table`: of which source and table it is."""

    def renew(self, name: bytes) -> None:
        """It still holds."""


class Request(Struct, frozen=True):
    """One question. `url` is absolute and already escaped; `params` are escaped when sent."""

    url: str
    method: str = "GET"
    params: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    json: object = None  # body sent as JSON, when not None
    form: Mapping[str, str] | None = None  # body sent as a form, when not None
    credentials: Credentials = Credentials()
    policy: HostPolicy = HostPolicy()
    accept: frozenset[int] = frozenset()  # statuses besides 2xx that are answers, not errors
    source: str | None = None  # for error messages
    table: str | None = None
    memory: ResponseMemory | None = None  # of answers to ask for only if they have changed
    arrivals: Arrivals | None = None
    seconds: float | None = None  # left of `policy.total_timeout`, where attempts have used some of it up
    judge: Callable[[Response], Verdict | None] | None = None  # reads what a body says of its own answer
    yields: bool = False  # told to slow down it is not tried again: somebody else may ask instead
    units: int = 1  # of requests that it counts as, where limits are declared
    fresh: bool = False  # over a new connection, since a kept one was closed by the server
    #: It met 403 and has waited: once more 403 is an answer, whatever is told of quotas.
    forbidden: bool = False


class Response(Struct, frozen=True):
    """An answer read to its end and decompressed.

    Header names are lower case; repeated headers are joined by ", ".
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str  # where the answer came from, after redirects; may hold secrets, never show it
    attempts: int = 1
    renewed: bool = False  # the body is one remembered, of which the server says that it still holds
    verdict: Verdict | None = None
    led: tuple[Request, Request] | None = None  # what was asked and what redirects made of it; never show it


class Outgoing(Struct, frozen=True):
    """A request as it goes over the wire: `url` and `headers` hold the credentials."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    json: object = None
    form: Mapping[str, str] | None = None
    accept: frozenset[int] = frozenset()  # statuses besides 2xx whose body matters
    policy: HostPolicy = HostPolicy()
    secret_headers: frozenset[str] = frozenset()  # names of those that prove who asks
    secret_params: frozenset[str] = frozenset()
    seconds: float | None = None  # for the answer; None: as many as the policy says
    arrivals: Arrivals | None = None  # hears of the body while it comes, where the transport can tell
    withdrawn: Callable[[], None] | None = None  # called where it is cancelled before any of it has gone out
    fresh: bool = False  # over a new connection


class RawResponse(Struct, frozen=True):
    """What came back.

    Header names are lower case; repeated headers are joined by ", "; the body is decompressed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    first_byte_s: float = 0.0  # from the request's start to the answer's headers
