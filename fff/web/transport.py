"""The border to the network: one request goes out, one answer comes back, read to its end.

The only importer of aiohttp and aiohttp-socks. Everything it raises becomes a WireError here. What stands in for the network (a
replay, a simulated server) is another `Transport`.
"""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import ssl
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol
from urllib.parse import quote, urlencode
from urllib.request import getproxies_environment, proxy_bypass
from weakref import WeakSet

import aiohttp
from aiohttp.client_exceptions import UnixClientConnectorError
from aiohttp.http import HttpProcessingError
from aiohttp.http_exceptions import BadStatusLine
from multidict import CIMultiDict
from yarl import URL

from fff.structs import lazy_pattern
from fff.version import how_to_install
from fff.web.addresses import SOCKS, CertificateFileError, is_private_address, is_private_name, trust_of
from fff.web.body import ACCEPT_ENCODING, BodyError, BodyReader
from fff.web.clock import Deadline, Deadlines
from fff.web.retry import PROXY, PROXY_HINTS, is_whole
from fff.web.types import TOO_SLOW, Arrivals, HostPolicy, NetworkRoute, Outgoing, RawResponse, Request

USER_AGENT = "fff/0.1 (federated SQL client)"
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_PACE = 2**18  # bytes for which a body gets a second more
_FIELD = 2**16  # bytes of one in a head: links to pages repeat a long URL several times
_REPEATABLE = frozenset({"GET", "HEAD"})
_ROOT = lazy_pattern("[^:/?#]+://[^/?#]+")  # what a URL begins with
_UNSENDABLE = lazy_pattern("[\r\n\0]")
#: What no request line can hold: a space or an é of a spec, or of a server's link.
_UNWRITABLE = lazy_pattern(r"[^\x21-\x7e]")
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})


def proof_of(req: Request, url: str) -> dict[str, str]:
    """The headers that prove who asks, signatures of the request as it goes out among them."""
    proof, sign = dict(req.credentials.headers), req.credentials.sign
    if sign is not None:
        proof |= sign(req.method, url, body_of(req.json, req.form)[0])
    return proof


def body_of(value: object, form: Mapping[str, str] | None) -> tuple[bytes, str | None]:
    """What is sent as JSON or as a form, and its type; None where nothing is."""
    if value is not None:
        return json.dumps(value).encode(), "application/json"
    return (b"", None) if form is None else (urlencode(form).encode(), "application/x-www-form-urlencoded")


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

    Of aiohttp it takes connections and what reads answers. Its sessions make objects and timers that no request needs here,
    half of what a small request costs.
    """

    def __init__(self, user_agent: str = USER_AGENT) -> None:
        self._head = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": ACCEPT_ENCODING}
        #: By whether private addresses will do, the Unix socket, the proxy, and whether connections are for one request.
        self._connectors: dict[tuple[bool, str | None, str | None, bool], aiohttp.BaseConnector] = {}
        self._peers: dict[
            tuple[str, NetworkRoute, bool, bool], _Peer
        ] = {}  # those that are reached without a proxy
        self._proxies = getproxies_environment()
        self._trusts: dict[NetworkRoute, ssl.SSLContext] = {}
        self._resolver: PublicResolver | None = None
        self._deadlines = Deadlines()

    async def close(self) -> None:
        """Close the connections."""
        self._peers.clear()
        self._deadlines.close()
        connectors, self._connectors = self._connectors, {}
        for connector in connectors.values():
            await connector.close()
        resolver, self._resolver = self._resolver, None
        if resolver is not None:
            await resolver.close()

    async def send(self, out: Outgoing) -> RawResponse:
        """One request over the wire."""
        for odd in [name for name, text in out.headers.items() if _UNSENDABLE.search(name + text)]:
            raise WireError(f"the header {odd!r} holds a character that no header can", again=False)
        attempt = _Attempt(self._deadlines, out.policy.total_timeout if out.seconds is None else out.seconds)
        try:
            with attempt:
                return await self._exchange(out, attempt)
        except asyncio.CancelledError:
            if attempt.kept is None and out.withdrawn is not None:
                out.withdrawn()
            raise
        except BodyError as error:
            raise WireError(str(error), again=False) from error
        except (TimeoutError, aiohttp.ServerTimeoutError) as error:
            late = TOO_SLOW[attempt.answered]
            raise WireError("no answer in time", again=True, overrun=True, hint=late) from error
        except aiohttp.ServerDisconnectedError as error:
            stale = attempt.is_stale(out)
            raise WireError("the server closed the connection", again=True, wait=0.0, stale=stale) from error
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            why, hint = _distrust(error)
            raise WireError(f"no secure connection: {why}", again=False, hint=hint) from error
        except aiohttp.InvalidURL as error:
            raise WireError("not a usable URL", again=False) from error
        except UnixClientConnectorError as error:
            why = f"{error.path}: {error.os_error.strerror or 'nothing listens'}"
            raise WireError(f"cannot connect: {why}", again=True) from error
        except aiohttp.ClientHttpProxyError as error:
            said, hint = f"{error.status} {error.message}", PROXY_HINTS.get(error.status, PROXY)
            raise WireError(f"the proxy answers {said}", again=False, hint=hint) from error
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, PrivateAddressError):
                hint = "if the host is meant to be there, say so in the spec: client.private_network: true"
                raise WireError(f"refused to connect: {error.os_error}", again=False, hint=hint) from error
            url = URL(out.url, encoded=True)
            straight = (error.host, error.port) == (url.raw_host, url.port)
            whom, hint = ("", None) if straight else (" to the proxy", PROXY)
            raise WireError(f"cannot connect{whom}: {_refusal(error)}", again=True, hint=hint) from error
        except _socks_failures() as error:
            raise WireError(f"the proxy refuses: {_plain(error)}", again=True, hint=PROXY) from error
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            text, hint = f"connection broken: {_plain(error)}", None
            if isinstance(error.__cause__, BadStatusLine):
                text = "what listens there does not speak HTTP"
                hint = "check the port in base_url, and whether it wants https://"
            raise WireError(text, again=True, stale=attempt.is_stale(out), hint=hint) from error

    async def _exchange(self, out: Outgoing, attempt: _Attempt) -> RawResponse:
        """A request over a connection of its own or a kept one, and its answer to the end."""
        policy, peer = out.policy, self._peer(out)
        connection = await peer.connector.connect(peer.request, [], _timeout(policy.connect_timeout))
        try:
            protocol, wire = connection.protocol, connection.transport
            attempt.goes_over(protocol)
            # What came before anything was asked answers nothing.
            if protocol is None or wire is None or wire.is_closing() or len(protocol):
                raise aiohttp.ServerDisconnectedError
            no_body = out.method == "HEAD"
            protocol.set_response_params(
                skip_payload=no_body, read_until_eof=True, auto_decompress=False, max_field_size=_FIELD
            )
            wire.write(peer.written(out))
            attempt.moved(policy.read_timeout)
            message, content = await protocol.read()
            while 100 <= message.code < 200 and message.code != 101:
                attempt.moved(policy.read_timeout)
                message, content = await protocol.read()
            attempt.answered = True
            first_byte = attempt.lasted
            headers = _headers(message.headers)
            whole = is_whole(message.code, out.headers)
            heard = out.arrivals if whole else None
            if heard is not None:
                heard.begin(headers)
            try:
                body = await _body(content, headers.get("content-encoding", ""), policy, heard, attempt)
            except BodyError:
                if whole or message.code in out.accept:
                    raise
                body = b""  # the status says all that matters
            # Where closing ends a body, aiohttp takes a reset for it.
            lost, delimited = protocol.exception(), message.chunked or "content-length" in headers
            if isinstance(lost, aiohttp.ClientOSError) and not delimited:
                raise lost
        except BaseException:
            connection.close()
            raise
        connection.release()  # which closes one that cannot be kept
        return RawResponse(message.code, headers, body, first_byte)

    def _peer(self, out: Outgoing) -> _Peer:
        """Whom a request goes to."""
        policy, match = out.policy, _ROOT.match(out.url)
        if match is None:
            raise aiohttp.InvalidURL(out.url)
        root = match[0]
        key = root, policy.route, policy.private_network, out.fresh
        peer = self._peers.get(key)
        if peer is not None:
            return peer
        try:
            url = URL(root, encoded=True)
        except ValueError as error:
            raise aiohttp.InvalidURL(root) from error
        if url.scheme not in ("http", "https"):
            raise aiohttp.InvalidURL(root)
        proxy = self._proxy_of(url, policy.route)
        through = proxy if proxy and proxy.startswith(SOCKS) else None
        try:
            tunnel = URL(proxy) if proxy and not through else None
        except ValueError as error:
            raise WireError("the proxy is no usable URL", again=False, hint=PROXY) from error
        private = bool(proxy) or policy.private_network or is_private_name(url.host or "")
        connector = self._connector(private, policy.route.unix_socket, through, out.fresh)
        closing = {"Connection": "close"} if out.fresh else {}
        request = aiohttp.ClientRequest(
            "GET",
            url,
            headers={**self._head, **closing},
            loop=asyncio.get_running_loop(),
            proxy=tunnel,
            proxy_headers=None if tunnel is None else CIMultiDict(self._head),
            ssl=self._trust(policy.route, "https" in (url.scheme, tunnel and tunnel.scheme)),
        )
        peer = _Peer(connector, request, len(root))
        if tunnel is None:
            self._peers[key] = peer
        return peer

    def _proxy_of(self, url: URL, route: NetworkRoute) -> str | None:
        """The proxy for a URL. This machine is reached without one, unless the spec names it."""
        host, proxy = url.host or "", route.proxy
        if route.unix_socket is not None or (proxy is None and host in _HERE):
            return None
        if proxy is None:
            proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
            if proxy and proxy_bypass(host):  # which goes through all of the environment
                proxy = None
        if proxy and "://" not in proxy:
            proxy = f"http://{proxy}"
        if proxy and not proxy.startswith(("http://", "https://", *SOCKS)):
            raise WireError(
                f"no way through a proxy of kind {proxy.partition('://')[0]!r}",
                again=False,
                hint="name an HTTP or SOCKS proxy in HTTPS_PROXY or in the spec, or none: client.network.proxy: none",
            )
        return proxy or None

    def _trust(self, route: NetworkRoute, secure: bool) -> ssl.SSLContext | bool:
        """Who is believed, and who we are, for hosts that are reached so; `secure`: over TLS, on some of the way."""
        if not secure and route.ca_bundle is None and route.certificate is None:
            return True
        known = self._trusts.get(route)
        if known is None:
            try:
                known = self._trusts[route] = trust_of(route)
            except CertificateFileError as error:
                raise WireError(error.reason, again=False, hint=error.hint) from error
        return known

    def _connector(
        self, private: bool, unix_socket: str | None, through: str | None, fresh: bool
    ) -> aiohttp.BaseConnector:
        key = private, unix_socket, through, fresh
        connector = self._connectors.get(key)
        if connector is not None:
            return connector
        if not private and self._resolver is None:
            self._resolver = PublicResolver(aiohttp.DefaultResolver())
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
        self._connectors[key] = connector
        return connector


class _Peer:
    """Whom requests of one scheme, host and port go to, and what all of them say.

    `request`: what connections are asked for with; `root`: the length of what URLs begin with, which a proxy is told.
    """

    __slots__ = ("_known", "_root", "connector", "request")

    def __init__(self, connector: aiohttp.BaseConnector, request: aiohttp.ClientRequest, root: int) -> None:
        self.connector = connector
        self.request = request
        self._root = root
        self._known: tuple[Mapping[str, str], str] | None = None  # headers of the last request, all lines

    def written(self, out: Outgoing) -> bytes:
        """A request as it goes out."""
        place = out.url[self._root :].partition("#")[0]
        place = _UNWRITABLE.sub(lambda character: quote(character[0], errors="replace"), place)
        body, kind = body_of(out.json, out.form)
        bodied = kind is not None or out.method not in _REPEATABLE
        if bodied or self._known is None or self._known[0] != out.headers:
            headers = CIMultiDict(self.request.headers)
            if bodied:
                headers["Content-Type"] = kind or "application/octet-stream"
            headers.update(out.headers)
            if bodied:
                headers["Content-Length"] = str(len(body))
            lines = "".join([f"{name}: {text}\r\n" for name, text in headers.items()])
            self._known = None if bodied else (out.headers, lines)
        else:
            lines = self._known[1]
        place = place if place.startswith("/") else f"/{place}"
        if self.request.proxy is not None and not self.request.is_ssl():
            place = out.url[: self._root] + place
        return f"{out.method} {place} HTTP/1.1\r\n{lines}\r\n".encode() + body


def _socks(proxy: str, fresh: bool) -> aiohttp.BaseConnector:
    """What connects through a SOCKS proxy, which looks names up. Raises WireError."""
    try:
        import aiohttp_socks  # noqa: PLC0415 - an extra

        kind, _, rest = proxy.partition("://")
        way = f"{kind[:6]}://{rest}"
        limits = {"force_close": fresh, "limit": 0, "limit_per_host": 0}
        return aiohttp_socks.ProxyConnector.from_url(way, rdns=True, **limits)
    except ImportError as error:
        raise WireError(
            "no way through a SOCKS proxy without aiohttp-socks", again=False, hint=how_to_install("socks")
        ) from error
    except ValueError as error:
        raise WireError("the SOCKS proxy is no usable URL", again=False, hint=PROXY) from error


def _socks_failures() -> tuple[type[Exception], ...]:
    """What a connection through a SOCKS proxy raises."""
    library = sys.modules.get("aiohttp_socks")
    names = ("ProxyError", "ProxyConnectionError", "ProxyTimeoutError")
    return () if library is None else tuple(getattr(library, name) for name in names)


@lru_cache(maxsize=64)
def _timeout(connect: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=connect)


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


_USED: WeakSet[object] = WeakSet()  # connections that have carried a request, by their protocols


class _Attempt(Deadline):
    """A request on its way: how far it has come.

    `kept`: it attempt over a connection that has carried one before; None: it has not gone out. `answered`: a head has come.
    """

    kept: bool | None = None
    answered = False

    def goes_over(self, connection: object) -> None:
        """Its first byte is about to be written."""
        self.kept = connection in _USED
        if not self.kept:
            _USED.add(connection)

    def is_stale(self, out: Outgoing) -> bool:
        """Whether a kept connection was closed as the request was written."""
        return bool(self.kept) and not self.answered and out.method in _REPEATABLE


async def _body(
    content: aiohttp.StreamReader,
    encoding: str,
    policy: HostPolicy,
    arrivals: Arrivals | None,
    attempt: _Attempt,
) -> bytes:
    reader = BodyReader(
        encoding,
        max_body=policy.max_body,
        max_ratio=policy.max_ratio,
        heard=None if arrivals is None else arrivals.take,
    )
    while not content.is_eof():
        chunk = await content.readany()
        reader.feed(chunk)
        attempt.moved(policy.read_timeout, more=len(chunk) / _PACE)
    reader.feed(content.read_nowait())
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
    message = (
        error.message if isinstance(error, aiohttp.ClientResponseError | HttpProcessingError) else str(error)
    )
    text = " ".join("".join(char if char.isprintable() else " " for char in message).split())
    return text or type(error).__name__
