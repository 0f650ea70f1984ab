"""The border to the network: one request goes out, one answer comes back, read to its end.

The only importer of aiohttp. Everything it raises becomes a WireError here. What stands in for the network (a
replay, a simulated server) is another `Transport`.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Protocol

import aiohttp
from yarl import URL

from fff.web.addresses import is_private_address, is_private_name
from fff.web.body import ACCEPT_ENCODING, BodyError, BodyReader
from fff.web.retry import is_whole
from fff.web.types import Arrivals, HostPolicy

USER_AGENT = "fff/0.1 (federated SQL client)"
_PACE = 2**18  # bytes for which a body gets a second more
_UNSENDABLE = re.compile("[\r\n\0]")


@dataclass(frozen=True)
class Outgoing:
    """A request as it goes over the wire: `url` and `headers` hold the credentials."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    json: object = None
    form: Mapping[str, str] | None = None
    accept: frozenset[int] = frozenset()  # statuses besides 2xx whose body matters
    policy: HostPolicy = field(default_factory=HostPolicy)
    secret_headers: frozenset[str] = frozenset()  # names of those that prove who asks
    secret_params: frozenset[str] = frozenset()
    seconds: float | None = None  # for the answer; None: as many as the policy says
    arrivals: Arrivals | None = None  # hears of the body while it comes, where the transport can tell
    withdrawn: Callable[[], None] | None = None  # called where it is cancelled before any of it has gone out


@dataclass(frozen=True)
class RawResponse:
    """What came back.

    Header names are lower case; repeated headers are joined by ", "; the body is decompressed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    first_byte_s: float = 0.0  # from the request's start to the answer's headers


class WireError(Exception):
    """No answer.

    `again`: another attempt may help; `wait`: seconds before it, where something else than the usual.

    `overrun`: the server was too slow. `hint`: what to do about it.
    """

    def __init__(
        self,
        reason: str,
        *,
        again: bool,
        wait: float | None = None,
        overrun: bool = False,
        hint: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again = again
        self.wait = wait
        self.overrun = overrun
        self.hint = hint


class Transport(Protocol):
    """What carries requests."""

    async def send(self, out: Outgoing) -> RawResponse:
        """The answer, whatever its status; raises WireError where there is none. Reasons may hold secrets."""

    async def close(self) -> None:
        """Release connections and files. It may be used again."""


class Network:
    """HTTP over sockets, with one pool of connections to any address, and one to public addresses alone.

    A name leads to addresses of private networks (this machine's own among them) only where the policy says so or the
    name itself does. What is connected to are the addresses that were looked at: nothing is resolved in between.
    """

    def __init__(self, user_agent: str = USER_AGENT) -> None:
        self._user_agent = user_agent
        self._sessions: dict[bool, aiohttp.ClientSession] = {}  # by whether private addresses will do
        self._resolver: PublicResolver | None = None

    async def close(self) -> None:
        """Close the connections."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()
        resolver, self._resolver = self._resolver, None
        if resolver is not None:
            await resolver.close()

    async def send(self, out: Outgoing) -> RawResponse:
        """One request over the wire."""
        policy = out.policy
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=policy.connect_timeout, sock_read=policy.read_timeout
        )
        if odd := next((name for name, text in out.headers.items() if _UNSENDABLE.search(name + text)), None):
            raise WireError(f"the header {odd!r} holds a character that no header can", again=False)
        clock = asyncio.get_running_loop().time
        started = clock()
        head_sent: list[bool] = []
        try:
            url = URL(out.url, encoded=True)
            private = policy.private_network or is_private_name(url.host or "")
            limit = asyncio.timeout(policy.total_timeout if out.seconds is None else out.seconds)
            async with (
                limit,
                self._open(private).request(
                    out.method,
                    url,
                    headers=out.headers,
                    json=out.json,
                    data=out.form,
                    allow_redirects=False,
                    timeout=timeout,
                    trace_request_ctx=head_sent,
                ) as answer,
            ):
                first_byte = clock() - started
                headers = _headers(answer.headers)
                whole = is_whole(answer.status, out.headers)
                heard = out.arrivals if whole else None
                if heard is not None:
                    heard.begin(headers)
                try:
                    encoding = headers.get("content-encoding", "")
                    body = await _body(answer.content, encoding, policy, heard, limit)
                except BodyError:
                    if whole or answer.status in out.accept:
                        raise
                    body = b""  # the status says all that matters
                return RawResponse(answer.status, headers, body, first_byte)
        except asyncio.CancelledError:
            if not head_sent and out.withdrawn is not None:
                out.withdrawn()
            raise
        except BodyError as error:
            raise WireError(str(error), again=False) from error
        except (TimeoutError, aiohttp.ServerTimeoutError) as error:
            raise WireError("no answer in time", again=True, overrun=True) from error
        except (
            aiohttp.ServerDisconnectedError
        ) as error:  # most often a kept connection that the server closed
            raise WireError("the server closed the connection", again=True, wait=0.0) from error
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            raise WireError(f"no secure connection: {_plain(error)}", again=False) from error
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise WireError("not a usable URL", again=False) from error
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, PrivateAddressError):
                hint = "if the host is meant to be there, say so in the spec: client.private_network: true"
                raise WireError(f"refused to connect: {error.os_error}", again=False, hint=hint) from error
            raise WireError(f"cannot connect: {_refusal(error)}", again=True) from error
        except (aiohttp.ClientError, OSError) as error:
            raise WireError(f"connection broken: {_plain(error)}", again=True) from error

    def _open(self, private: bool) -> aiohttp.ClientSession:
        session = self._sessions.get(private)
        if session is None or session.closed:
            trace = aiohttp.TraceConfig()
            trace.on_request_headers_sent.append(_note_head)
            if not private and self._resolver is None:
                self._resolver = PublicResolver(aiohttp.DefaultResolver())
            session = self._sessions[private] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    limit_per_host=0,
                    ttl_dns_cache=300,
                    resolver=None if private else self._resolver,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trace_configs=[trace],
                headers={"User-Agent": self._user_agent, "Accept-Encoding": ACCEPT_ENCODING},
            )
            # aiohttp silently sends again over a new connection; every request must count against the budget.
            session._retry_connection = False  # noqa: SLF001 - no public switch
        return session


class PrivateAddressError(OSError):
    """A name leads to an address of a private network, though nobody has said that it may."""


class PublicResolver(aiohttp.abc.AbstractResolver):
    """Resolves names to public addresses alone."""

    def __init__(self, inner: aiohttp.abc.AbstractResolver) -> None:
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[aiohttp.abc.ResolveResult]:
        """The addresses of a name; raises PrivateAddressError where one of them is private: none is to be trusted then."""
        found = await self._inner.resolve(host, port, family)
        private = next((one["host"] for one in found if is_private_address(one["host"])), None)
        if private is not None:
            raise PrivateAddressError(f"{host} leads to {private}, in a private network")
        return found

    async def close(self) -> None:
        """Release what resolves."""
        await self._inner.close()


async def _note_head(_session: object, context: SimpleNamespace, _sent: object) -> None:
    """The head of a request goes out."""
    context.trace_request_ctx.append(True)


async def _body(
    content: aiohttp.StreamReader,
    encoding: str,
    policy: HostPolicy,
    arrivals: Arrivals | None,
    limit: asyncio.Timeout,
) -> bytes:
    reader = BodyReader(
        encoding,
        max_body=policy.max_body,
        max_ratio=policy.max_ratio,
        heard=None if arrivals is None else arrivals.take,
    )
    ends = limit.when()
    assert ends is not None
    async for chunk in content.iter_any():
        reader.feed(chunk)
        ends += len(chunk) / _PACE
        limit.reschedule(ends)
    return reader.finish()


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, text in headers.items():
        lower = name.lower()
        joined[lower] = f"{joined[lower]}, {text}" if lower in joined else text
    return joined


def _refusal(error: aiohttp.ClientConnectorError) -> str:
    """Why there is no connection, in plain words where the system's are known."""
    place = f"{error.host}:{error.port}"
    if isinstance(error, aiohttp.ClientConnectorDNSError) or isinstance(error.os_error, socket.gaierror):
        return f"there is no host {error.host}, or no network"
    # Of several addresses of a host, the errors come together, without a number of their own.
    if error.os_error.errno == errno.ECONNREFUSED or "Connect call failed" in str(error.os_error):
        return f"nothing listens at {place}"
    if error.os_error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
        return f"no way leads to {place}"
    return _plain(error)


def _plain(error: BaseException) -> str:
    # What aiohttp says of a bad answer has the URL in it.
    said = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    text = " ".join("".join(char if char.isprintable() else " " for char in said).split())
    return text or type(error).__name__
