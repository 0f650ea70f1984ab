"""The border to the network: one request goes out, one answer comes back, read to its end.

The only importer of aiohttp. Everything it raises becomes a WireError here. What stands in for the network (a replay, a
simulated server) is another `Transport`.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Protocol

import aiohttp
from yarl import URL

from fff.web.body import ACCEPT_ENCODING, BodyError, BodyReader
from fff.web.message import Arrivals, HostPolicy

USER_AGENT = "fff/0.1 (federated SQL client)"
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
    arrivals: Arrivals | None = None  # hears of the body while it comes, where the transport can tell
    withdrawn: Callable[[], None] | None = None  # called where it is cancelled before any of it has gone out


@dataclass(frozen=True)
class Answer:
    """What came back. Header names are lower case; repeated headers are joined by ", "; the body is decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    first_byte_s: float = 0.0  # from the request's start to the answer's headers


class WireError(Exception):
    """No answer. `again`: another attempt may help; `wait`: seconds before it, where something else than the usual.

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

    async def send(self, out: Outgoing) -> Answer:
        """The answer, whatever its status; raises WireError where there is none. Reasons may hold secrets."""

    async def close(self) -> None:
        """Release connections and files. It may be used again."""


class Network:
    """HTTP over sockets, with one pool of connections."""

    def __init__(self, user_agent: str = USER_AGENT) -> None:
        self._user_agent = user_agent
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def send(self, out: Outgoing) -> Answer:
        """One request over the wire."""
        policy = out.policy
        timeout = aiohttp.ClientTimeout(
            total=policy.total_timeout, sock_connect=policy.connect_timeout, sock_read=policy.read_timeout
        )
        if odd := next((name for name, text in out.headers.items() if _UNSENDABLE.search(name + text)), None):
            raise WireError(f"the header {odd!r} holds a character that no header can", again=False)
        clock = asyncio.get_running_loop().time
        started = clock()
        head_sent: list[bool] = []
        try:
            async with self._open().request(
                out.method,
                URL(out.url, encoded=True),
                headers=out.headers,
                json=out.json,
                data=out.form,
                allow_redirects=False,
                timeout=timeout,
                trace_request_ctx=head_sent,
            ) as answer:
                first_byte = clock() - started
                headers = _headers(answer.headers)
                heard = out.arrivals if 200 <= answer.status < 300 else None
                if heard is not None:
                    heard.begin(headers)
                try:
                    body = await _body(answer.content, headers.get("content-encoding", ""), policy, heard)
                except BodyError:
                    if 200 <= answer.status < 300 or answer.status in out.accept:
                        raise
                    body = b""  # the status says all that matters
                return Answer(answer.status, headers, body, first_byte)
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
            raise WireError(f"cannot connect: {_plain(error)}", again=True) from error
        except (aiohttp.ClientError, OSError) as error:
            raise WireError(f"connection broken: {_plain(error)}", again=True) from error

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            trace = aiohttp.TraceConfig()
            trace.on_request_headers_sent.append(_note_head)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, limit_per_host=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trace_configs=[trace],
                headers={"User-Agent": self._user_agent, "Accept-Encoding": ACCEPT_ENCODING},
            )
            # aiohttp silently sends again over a new connection; every request must count against the budget.
            self._session._retry_connection = False  # noqa: SLF001 - no public switch
        return self._session


async def _note_head(_session: object, context: SimpleNamespace, _sent: object) -> None:
    """The head of a request goes out."""
    context.trace_request_ctx.append(True)


async def _body(
    content: aiohttp.StreamReader, encoding: str, policy: HostPolicy, arrivals: Arrivals | None
) -> bytes:
    reader = BodyReader(
        encoding,
        max_body=policy.max_body,
        max_ratio=policy.max_ratio,
        heard=None if arrivals is None else arrivals.take,
    )
    async for chunk in content.iter_any():
        reader.feed(chunk)
    return reader.finish()


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, text in headers.items():
        lower = name.lower()
        joined[lower] = f"{joined[lower]}, {text}" if lower in joined else text
    return joined


def _plain(error: BaseException) -> str:
    # What aiohttp says of a bad answer has the URL in it.
    said = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    text = " ".join("".join(char if char.isprintable() else " " for char in said).split())
    return text or type(error).__name__
