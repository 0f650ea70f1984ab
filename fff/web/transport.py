"""The border to the network: one request goes out, one answer comes back, read to its end.

The only importer of aiohttp and aiohttp-socks. Everything it raises becomes a WireError here. What stands in for the network (a
replay, a simulated server) is another `Transport`.
"""

from __future__ import annotations

import asyncio
import errno
import json
import re
import socket
import ssl
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Protocol
from urllib.parse import quote, urlencode, urlsplit, urlunsplit
from urllib.request import getproxies_environment, proxy_bypass
from weakref import WeakSet

import aiohttp
from aiohttp.client_exceptions import UnixClientConnectorError
from yarl import URL

from fff.structs import Struct, field
from fff.web.addresses import SOCKS, is_private_address, is_private_name
from fff.web.body import ACCEPT_ENCODING, BodyError, BodyReader
from fff.web.retry import is_whole
from fff.web.types import Arrivals, HostPolicy, NetworkRoute, Request

USER_AGENT = "fff/0.1 (federated SQL client)"
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_PACE = 2**18  # bytes for which a body gets a second more
_REPEATABLE = frozenset({"GET", "HEAD"})
_LATER = 0.01  # seconds more that are worth another timer: small answers are many
_UNSENDABLE = re.compile("[\r\n\0]")
#: Where a URL leads, and what no request line can hold behind that: a space or an é of a spec, or of a server's link.
_ORIGIN, _UNWRITABLE = re.compile(r"[^:/?#]+://[^/?#]*"), re.compile(r"[^\x21-\x7e]")
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})


class Outgoing(Struct, frozen=True):
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
    fresh: bool = False  # over a new connection


class RawResponse(Struct, frozen=True):
    """What came back.

    Header names are lower case; repeated headers are joined by ", "; the body is decompressed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    first_byte_s: float = 0.0  # from the request's start to the answer's headers


def proof_of(req: Request, url: str) -> dict[str, str]:
    """The headers that prove who asks, signatures of the request as it goes out among them."""
    proof, sign = dict(req.credentials.headers), req.credentials.sign
    if sign is not None:
        form = b"" if req.form is None else urlencode(req.form).encode()
        body = form if req.json is None else json.dumps(req.json).encode()  # as aiohttp writes it
        proof |= sign(req.method, url, body)
    return proof


def full_url(req: Request) -> str:
    """The URL a request goes to, parameters and credentials included: for the wire, never for display."""
    pairs = [*req.params, *req.credentials.params.items()]
    if not pairs:
        return req.url
    parts = urlsplit(req.url)
    query = urlencode(pairs, quote_via=quote, safe="")
    return urlunsplit(parts._replace(query=f"{parts.query}&{query}" if parts.query else query))


class WireError(Exception):
    """No answer.

    `again`: another attempt may help; `wait`: seconds before it, where something else than the usual.

    `overrun`: the server was too slow. `hint`: what to do about it. `stale`: nothing came over a kept connection, which the
    server closed as the request was written: it may not have seen one that can be sent again.
    """

    def __init__(
        self,
        reason: str,
        *,
        again: bool,
        wait: float | None = None,
        overrun: bool = False,
        hint: str | None = None,
        stale: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again = again
        self.stale = stale
        self.wait = 0.0 if stale else wait
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
        #: By whether private addresses will do, the Unix socket, the proxy, and whether connections are for one request.
        self._sessions: dict[tuple[bool, str | None, str | None, bool], aiohttp.ClientSession] = {}
        self._proxies = getproxies_environment()
        self._trusts: dict[NetworkRoute, ssl.SSLContext | bool] = {}
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
        timeout = _timeout(policy.connect_timeout, policy.read_timeout)
        if odd := next((name for name, text in out.headers.items() if _UNSENDABLE.search(name + text)), None):
            raise WireError(f"the header {odd!r} holds a character that no header can", again=False)
        clock = asyncio.get_running_loop().time
        started = clock()
        head_sent: list[bool] = []  # whether it went over a kept connection
        head_came = False
        _HEADS.set(head_sent)
        try:
            url = URL(_sendable(out.url), encoded=True)
            route = policy.route
            proxy = self._proxy_of(url, route)
            through = proxy if proxy and proxy.startswith(SOCKS) else None
            private = bool(proxy) or policy.private_network or is_private_name(url.host or "")
            limit = asyncio.timeout(policy.total_timeout if out.seconds is None else out.seconds)
            async with (
                limit,
                self._open(private, route.unix_socket, through, out.fresh).request(
                    out.method,
                    url,
                    headers=out.headers,
                    json=out.json,
                    data=out.form,
                    proxy=None if through else proxy,
                    ssl=self._trust(route),
                    allow_redirects=False,
                    timeout=timeout,
                ) as answer,
            ):
                first_byte, head_came = clock() - started, True
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
        except aiohttp.ServerDisconnectedError as error:
            raise WireError(
                "the server closed the connection",
                again=True,
                wait=0.0,
                stale=_stale(out, head_sent, head_came),
            ) from error
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            why, hint = _distrust(error)
            raise WireError(f"no secure connection: {why}", again=False, hint=hint) from error
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise WireError("not a usable URL", again=False) from error
        except UnixClientConnectorError as error:
            why = error.os_error.strerror or "nothing listens"
            raise WireError(f"cannot connect: {error.path}: {why}", again=True) from error
        except aiohttp.ClientHttpProxyError as error:
            raise WireError(f"the proxy answers {error.status} {error.message}", again=False) from error
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, PrivateAddressError):
                hint = "if the host is meant to be there, say so in the spec: client.private_network: true"
                raise WireError(f"refused to connect: {error.os_error}", again=False, hint=hint) from error
            raise WireError(f"cannot connect: {_refusal(error)}", again=True) from error
        except _socks_failures() as error:
            raise WireError(f"the proxy refuses: {_plain(error)}", again=True) from error
        except (aiohttp.ClientError, OSError) as error:
            stale = _stale(out, head_sent, head_came)
            raise WireError(f"connection broken: {_plain(error)}", again=True, stale=stale) from error

    def _proxy_of(self, url: URL, route: NetworkRoute) -> str | None:
        """The proxy for a URL. This machine is reached without one."""
        host, proxy = url.host or "", route.proxy
        if route.unix_socket is not None or host in _HERE:
            return None
        if proxy is None:
            proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
            if proxy and proxy_bypass(host):  # which goes through all of the environment
                proxy = None
        if proxy and "://" not in proxy:
            proxy = f"http://{proxy}"
        if proxy and not proxy.startswith(("http://", "https://", *SOCKS)):
            kind = proxy.partition("://")[0]
            raise WireError(
                f"no way through a proxy of kind {kind!r}",
                again=False,
                hint="name an HTTP or SOCKS proxy in HTTPS_PROXY or in the spec, or none: client.network.proxy: none",
            )
        return proxy or None

    def _trust(self, route: NetworkRoute) -> ssl.SSLContext | bool:
        """Who is believed, and who we are, for hosts that are reached so."""
        if route.ca_bundle is None and route.certificate is None:
            return True
        known = self._trusts.get(route)
        if known is None:
            try:
                known = ssl.create_default_context(cafile=route.ca_bundle)
                if route.certificate is not None:
                    known.load_cert_chain(route.certificate, route.key)
            except OSError as error:  # also of what is there and no certificate
                files = ", ".join(filter(None, (route.ca_bundle, route.certificate, route.key)))
                raise WireError(
                    f"the certificates cannot be read ({files}): {error.strerror or type(error).__name__}",
                    again=False,
                    hint="client.network names files of PEM, relative to the spec",
                ) from error
            self._trusts[route] = known
        return known

    def _open(
        self, private: bool, unix_socket: str | None, through: str | None, fresh: bool
    ) -> aiohttp.ClientSession:
        session = self._sessions.get((private, unix_socket, through, fresh))
        if session is None or session.closed:
            if not private and self._resolver is None:
                self._resolver = PublicResolver(aiohttp.DefaultResolver())
            connector: aiohttp.BaseConnector
            if through is not None:
                connector = _socks(through, fresh)
            elif unix_socket is not None:
                connector = aiohttp.UnixConnector(unix_socket, force_close=fresh, limit=0, limit_per_host=0)
            else:
                connector = aiohttp.TCPConnector(
                    force_close=fresh,
                    limit=0,
                    limit_per_host=0,
                    ttl_dns_cache=300,
                    resolver=None if private else self._resolver,
                )
            session = self._sessions[private, unix_socket, through, fresh] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                request_class=_NotedRequest,
                headers={"User-Agent": self._user_agent, "Accept-Encoding": ACCEPT_ENCODING},
            )
            # aiohttp silently sends again over a new connection; every request must count against the budget.
            session._retry_connection = False  # noqa: SLF001 - no public switch
        return session


def _socks(proxy: str, fresh: bool) -> aiohttp.BaseConnector:
    """What connects through a SOCKS proxy, which looks names up. Raises WireError."""
    try:
        import aiohttp_socks  # noqa: PLC0415 - an extra

        kind, _, rest = proxy.partition("://")
        connector: aiohttp.BaseConnector = aiohttp_socks.ProxyConnector.from_url(
            f"{kind[:6]}://{rest}", rdns=True, force_close=fresh, limit=0, limit_per_host=0
        )
    except ImportError as error:
        hint = "pip install 'fff[socks]'"
        raise WireError(
            "no way through a SOCKS proxy without aiohttp-socks", again=False, hint=hint
        ) from error
    except ValueError as error:
        raise WireError("the SOCKS proxy is no usable URL", again=False) from error
    return connector


def _socks_failures() -> tuple[type[Exception], ...]:
    """What a connection through a SOCKS proxy raises."""
    library = sys.modules.get("aiohttp_socks")
    names = ("ProxyError", "ProxyConnectionError", "ProxyTimeoutError")
    return () if library is None else tuple(getattr(library, name) for name in names)


@lru_cache(maxsize=64)
def _timeout(connect: float, read: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=connect, sock_read=read)


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
        addresses = await self._inner.resolve(host, port, family)
        private = next((one["host"] for one in addresses if is_private_address(one["host"])), None)
        if private is not None:
            raise PrivateAddressError(f"{host} leads to {private}, in a private network")
        return addresses

    async def close(self) -> None:
        """Release what resolves."""
        await self._inner.close()


#: Told by the request that a task is about: its head goes out, over a connection that has carried one before or not.
_HEADS: ContextVar[list[bool]] = ContextVar("_HEADS")
_USED: WeakSet[object] = WeakSet()  # connections, by their protocols


def _stale(out: Outgoing, head_sent: list[bool], head_came: bool) -> bool:
    """Whether a kept connection was closed as the request was written."""
    return head_sent == [True] and not head_came and out.method in _REPEATABLE


class _NotedRequest(aiohttp.ClientRequest):
    """A request that notes when it has a connection and goes out: aiohttp's own traces cost a tenth of a small request."""

    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        used = conn.protocol in _USED
        _HEADS.get().append(used)
        if not used:
            _USED.add(conn.protocol)
        return await super().send(conn)


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
    ends = set_for = limit.when() or 0.0
    while chunk := await content.readany():
        reader.feed(chunk)
        ends += len(chunk) / _PACE
        if ends - set_for > _LATER:
            limit.reschedule(ends)
            set_for = ends
    return reader.finish()


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    joined = {name.lower(): text for name, text in headers.items()}
    if len(joined) == len(headers):
        return joined
    joined = {}
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


def _distrust(error: aiohttp.ClientSSLError | ssl.SSLError) -> tuple[str, str | None]:
    """Why there is no secure connection, and what to do, in plain words where OpenSSL's are known."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause: BaseException = error.certificate_error
    else:
        cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        hint = "check base_url; of a host of your own, or behind a proxy, name the authority: client.network.ca_bundle"
        return f"the certificate of the server is not believed: {cause.verify_message}", hint
    if isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS:
        return "what listens there does not speak TLS", "write http:// in base_url, or the port of https"
    return _plain(error), None


def _plain(error: BaseException) -> str:
    # What aiohttp says of a bad answer has the URL in it.
    message = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    text = " ".join("".join(char if char.isprintable() else " " for char in message).split())
    return text or type(error).__name__


def _sendable(url: str) -> str:
    """A URL without characters that no request line can hold."""
    origin = _ORIGIN.match(url)
    begins = 0 if origin is None else origin.end()
    return url[:begins] + _UNWRITABLE.sub(
        lambda character: quote(character[0], errors="replace"), url[begins:]
    )
