"""The server as HTTP has it: who may ask, routes, errors; imports aiohttp for serving, as fff.web does for asking."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import socket
import ssl
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, NoReturn

from aiohttp import web

from fff.errors import FFFError, QueryError, SourceError, UsageError
from fff.result.report import VERSION
from fff.stats import Snapshot
from fff.structs import lazy_pattern
from fff.version import __version__
from fff_cli.mcp.replies import description_of
from fff_cli.serve.answers import EVENTS, FRAMES, FRAMINGS, Framing, accepted
from fff_cli.serve.hints import advised
from fff_cli.serve.openapi import document
from fff_cli.serve.page import HEADERS, PAGE
from fff_cli.serve.queries import (
    AskedQuery,
    Queries,
    ServedQuery,
    TooManyQueries,
    WrittenFloat,
    asked_query,
)

_BODY_BYTES = 256 * 1024  # of a request: SQL and parameters
_UNTAKEN_S = 60.0  # that a client may take nothing of its answer
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_HOST = lazy_pattern(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]]+))(?::[0-9]+)?")

logging.getLogger("aiohttp").setLevel(logging.CRITICAL)  # what goes wrong is told to clients, and by -v here


class Refused(FFFError):  # noqa: N818 - reads as the sentence clients see
    """A request that is no question about tables: who asks, what for, how."""

    def __init__(self, status: int, code: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code


def status_of(error: FFFError) -> tuple[int, str]:
    """The HTTP status and the code of an error."""
    match error:
        case Refused():
            return error.status, error.code
        case TooManyQueries():
            return 429, "too_many_queries"
        case QueryError():
            return 400, "query_error"
        case SourceError():
            return 502, "source_error"
        case UsageError():
            return 400, "usage_error"
        case _:
            return 500, "error"


def error_body(error: FFFError) -> dict[str, Any]:
    """An error for clients: `position` is the first character of the SQL that it is about, counted from 1."""
    advised(error)
    span = error.span if isinstance(error, QueryError) else None
    return {
        "code": status_of(error)[1],
        "message": error.message if isinstance(error, QueryError) else str(error).partition("\n")[0],
        "position": None if span is None else span.start + 1,
        "hint": error.hint,
        "text": error.render(),
        "exit_code": error.exit_code,
    }


def internal(error: BaseException, *, verbose: bool) -> FFFError:
    """What a client hears of a bug; where it is stands in our own messages, for who asked for them."""
    if verbose:
        traceback.print_exception(error, file=sys.stderr)
    return Refused(500, "internal_error", f"internal error: {type(error).__name__}")


class WebDoor:
    """The routes.

    Args:
        queries: what runs the statements.
        tokens: of each client, by its name; empty: whoever gets here may ask, as over a socket file.
        hosts: names that clients may call this server by, beside `localhost` and addresses.
        verbose: tell bugs with their place on standard error.
    """

    def __init__(
        self,
        queries: Queries,
        tokens: Mapping[str, str],
        hosts: Collection[str] = (),
        *,
        verbose: bool = False,
    ) -> None:
        self._queries = queries
        self._tokens = {name: token.encode() for name, token in tokens.items()}
        self._hosts = {"localhost", *(host.lower().rstrip(".") for host in hosts)}
        self._verbose = verbose

    def app(self) -> web.Application:
        """The application."""

        @web.middleware
        async def guarded(request: web.Request, handler: _Handler) -> web.StreamResponse:
            return await self._guarded(request, handler)

        app = web.Application(middlewares=[guarded], client_max_size=_BODY_BYTES)
        app.router.add_post("/v1/query", self._query)
        app.router.add_get("/v1/queries", self._list)
        app.router.add_get("/v1/queries/{id}", self._look)
        app.router.add_delete("/v1/queries/{id}", self._stop)
        app.router.add_get("/v1/tables", self._tables)
        app.router.add_get("/openapi.json", self._openapi)
        app.router.add_get("/", self._page)
        return app

    @asynccontextmanager
    async def listening(
        self, bound: socket.socket, tls: ssl.SSLContext | None
    ) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Answers at a bound socket; what is given takes no further connections, those that are there stay."""
        runner = web.AppRunner(
            self.app(),
            handler_cancellation=True,  # a client that goes away stops its query
            shutdown_timeout=1.0,
            access_log=None,
        )
        await runner.setup()
        try:
            site = web.SockSite(runner, bound, ssl_context=tls)
            await site.start()
            yield site.stop
        finally:
            await runner.cleanup()

    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        try:
            self._check_host(request)
            if request.path.startswith("/v1/"):
                self._client_of(request)
            return await handler(request)
        except FFFError as error:
            return _error_reply(error)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            reply = _error_reply(Refused(error.status, error.reason.lower().replace(" ", "_"), error.reason))
            reply.headers.update({"Allow": allow} if (allow := error.headers.get("Allow")) else {})
            return reply
        except Exception as error:  # noqa: BLE001 - a bug: the client gets no traceback
            return _error_reply(internal(error, verbose=self._verbose))

    def _check_host(self, request: web.Request) -> None:
        """A name that leads here by somebody else's DNS is none of ours: a page of that name could ask."""
        match = _HOST.fullmatch(request.headers.get("Host", ""))
        name = "" if match is None else (match["v6"] or match["name"]).lower().rstrip(".")
        if name in self._hosts or _is_address(name):
            return
        raise Refused(
            421, "wrong_host", "this server is not called so", hint="--allowed-host NAME lets it be"
        )

    def _client_of(self, request: web.Request) -> str:
        if not self._tokens:
            return ""
        authorization = request.headers.get("Authorization", "").encode("utf-8", "replace")
        client: str | None = None
        for name, token in self._tokens.items():  # all of them, whichever it is
            if hmac.compare_digest(authorization, b"Bearer " + token):
                client = name
        if client is None:
            raise Refused(
                401, "unauthorized", "no valid token", hint="Authorization: Bearer with the server's token"
            )
        return client

    async def _query(self, request: web.Request) -> web.StreamResponse:
        if self._queries.closing:
            raise Refused(503, "stopping", "the server is being stopped")
        if request.version < (1, 1):
            raise Refused(505, "http_version", "an answer over HTTP/1.0 could break off unseen")
        kind = accepted(request.headers.get("Accept", "*/*"))
        if kind is None:
            known = ", ".join(one for one in FRAMINGS if one != FRAMES)
            raise Refused(406, "not_acceptable", "no such framing", hint=f"Accept: one of {known}")
        body = await _json_of(request)
        asked = asked_query(body, self._queries.limits)
        framing = _framing(kind, asked, body)
        begun = self._queries.begun(
            self._client_of(request), asked, connection=request.transport, refresh=kind == EVENTS
        )
        async with begun as query:
            reply = web.StreamResponse(
                headers={
                    "Content-Type": framing.content_type,
                    "Cache-Control": "no-store",
                    "X-Content-Type-Options": "nosniff",
                    "X-FFF-Query": query.id,
                }
            )
            await self._answer(request, reply, query, framing)
        return reply

    async def _answer(
        self, request: web.Request, reply: web.StreamResponse, query: ServedQuery, framing: Framing
    ) -> None:
        """Write all of an answer. Errors are raised until something is written, and are its last part after."""

        async def send(data: bytes | None) -> None:
            if not reply.prepared:
                await reply.prepare(request)
            if data:
                async with asyncio.timeout(_UNTAKEN_S):
                    await reply.write(data)

        last: bytes | None
        try:
            if framing.at_once:
                await send(None)
            begun = False
            async with aclosing(query.events(snapshots=framing.snapshots)) as events:
                async for event in events:
                    if isinstance(event, Snapshot):
                        await send(framing.snapshot(event))
                        continue
                    head = b"" if begun else framing.begin(event.schema)
                    begun = True
                    await send(head + framing.rows(event))
            last = framing.end(query)
        except (ConnectionError, TimeoutError):
            last = None  # the client takes no more
        except FFFError as error:
            if not reply.prepared:
                raise
            query.error = error_body(error)
            last = framing.failed(query.error)
        except Exception as error:
            if not reply.prepared:
                raise
            query.error = error_body(internal(error, verbose=self._verbose))
            last = framing.failed(query.error)
        if last is None:
            await send(None)
            reply.force_close()
            if request.transport is not None:
                request.transport.close()  # without the last chunk, so that no reader takes it for whole
            return
        await send(last)
        await reply.write_eof()

    async def _list(self, request: web.Request) -> web.StreamResponse:
        return _json([one.state() for one in self._queries.of(self._client_of(request))])

    async def _look(self, request: web.Request) -> web.StreamResponse:
        client, name = self._client_of(request), request.match_info["id"]
        running = self._queries.find(client, name)
        if running is not None:
            return _json(running.state())
        ended = self._queries.ended(client, name)
        if ended is None:
            raise Refused(404, "not_found", "no query of yours is known by this id")
        return _json({"id": name, "phase": "done", "end": ended})

    async def _stop(self, request: web.Request) -> web.StreamResponse:
        query = self._queries.find(self._client_of(request), request.match_info["id"])
        if query is None:
            raise Refused(404, "not_found", "no query of yours under way has this id")
        query.stop()
        return _json({"id": query.id, "stopped": True}, status=202)

    async def _tables(self, request: web.Request) -> web.StreamResponse:
        del request
        catalog = self._queries.federation.catalog
        tables = [
            {
                "table": one.table,
                "description": one.description,
                "columns": [vars(column) for column in one.columns],
                "primary_key": one.primary_key,
                "access": one.access,
                "called_as": one.called_as,
            }
            for one in map(description_of, catalog.tables())
        ]
        return _json({"tables": tables, "unlisted_sources": [one.name for one in catalog.unlisted()]})

    async def _openapi(self, request: web.Request) -> web.StreamResponse:
        del request
        return _json(document(__version__, VERSION))

    async def _page(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(text=PAGE, content_type="text/html", headers=HEADERS)


async def _json_of(request: web.Request) -> dict[str, Any]:
    try:
        text = (await request.text()).removeprefix("\ufeff")
        body: dict[str, Any] = json.loads(text, parse_float=WrittenFloat, parse_constant=_no_number)
        json.dumps(body, ensure_ascii=False).encode()  # half a character, as "\\ud800", is no text
    except web.RequestPayloadError as error:
        raise Refused(
            400, "bad_request", "the body cannot be read", hint="is it encoded as it says?"
        ) from error
    except (ValueError, LookupError, RecursionError) as error:
        raise Refused(
            400, "bad_request", "the body is no JSON", hint='such as {"sql": "SELECT 1"}'
        ) from error
    return body


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)  # NaN and Infinity, which Python's reader takes


def _framing(kind: str, asked: AskedQuery, body: Mapping[str, Any]) -> Framing:
    try:
        return FRAMINGS[kind](asked.partial, body.get("output") or {})
    except (TypeError, ValueError, LookupError) as error:
        raise UsageError("what is said of the output cannot be understood") from error


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _json(value: object, status: int = 200) -> web.Response:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return web.json_response(value, status=status, headers=headers)


def _error_reply(error: FFFError) -> web.Response:
    status, _ = status_of(error)
    reply = _json(error_body(error), status)
    if status == 401:
        reply.headers["WWW-Authenticate"] = "Bearer"
    if status == 429:
        reply.headers["Retry-After"] = "1"
    return reply
