"""The tools as the protocol has them, and the two ways to reach them; the only importer of mcp."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

from fff.errors import FFFError, UsageError
from fff.version import how_to_install
from fff_cli.mcp.agents import AgentLimits, Agents
from fff_cli.mcp.lines import lines_of_standard_input
from fff_cli.mcp.replies import ExplainReply, QueryReply, TableDescription, TablesFound
from fff_cli.run.interrupts import Interrupts
from fff_cli.run.progress import say
from fff_cli.serve.hints import advised
from fff_cli.serve.tokens import token_from

try:
    import uvicorn
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool
    from mcp.server.stdio import stdio_server
    from mcp.shared.message import SessionMessage
    from mcp_types import (
        INVALID_REQUEST,
        PARSE_ERROR,
        ErrorData,
        JSONRPCError,
        ToolAnnotations,
        jsonrpc_message_adapter,
    )
except ImportError as missing:
    raise UsageError("what speaks the protocol is not installed", hint=how_to_install("mcp")) from missing

TOKEN = "FFF_MCP_TOKEN"  # noqa: S105 - the name of a variable
_PATH, _SESSION = "/mcp", "mcp-session-id"
_GONE = "fff.gone"  # among what is known of a request: an event
_T = TypeVar("_T")

INSTRUCTIONS = """\
Runs SQL (Spark's dialect, SELECT only) over tables that web APIs hold. Find tables with search_tables, look at one with
describe_table, then call query; join tables of different sources in one statement rather than calling it once a row.
A table without a scan is read by key: bind its required key columns with =, IN or a join.
Every reply of query says whether it is whole. complete=false: the sources did not give everything; missing says what, and
counts, sums, NOT IN and EXCEPT over it may be wrong. cut=true: there are more rows than the reply shows; get them with
fetch_rows(handle, next_row), or aggregate in SQL. Never tell a user "all" or "none" unless complete=true and cut=false."""

_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=True)
_Params = dict[str, str | int | float | bool | None]


def run_mcp(specs: Sequence[Path], limits: AgentLimits, port: int | None) -> int:
    """Serve agents until the client goes away or Ctrl-C; the exit code. Raises SpecError, UsageError."""
    agents = Agents(specs, limits)
    return asyncio.run(_over_http(agents, port) if port is not None else _over_standard_input(agents))


async def _over_standard_input(agents: Agents) -> int:
    interrupts = Interrupts()
    try:
        with interrupts.watching():
            async with agents:
                await server_of(agents).run_stdio_async()
    except asyncio.CancelledError:
        if interrupts.exit_code is None:
            raise
    return interrupts.exit_code or 0


async def _over_http(agents: Agents, port: int) -> int:
    """On the loopback address only, for whoever has the token: other users of the machine have not."""
    from fff_cli.serve.door import bound_port  # noqa: PLC0415 - loads what other servers speak, too

    given = token_from(TOKEN)
    token = given or secrets.token_urlsafe(24)
    with bound_port("127.0.0.1", port, "--http") as listening:
        async with agents:
            app = _Guarded(server_of(agents).streamable_http_app(streamable_http_path=_PATH), token)
            listening.listen()  # before it is told: who comes now waits, and is not refused
            say(f"agents are served at http://127.0.0.1:{listening.getsockname()[1]}{_PATH} until Ctrl-C")
            say(f"Authorization: Bearer {token if given is None else '$' + TOKEN}")
            config = uvicorn.Config(app, log_level="warning", lifespan="on")
            await uvicorn.Server(config).serve(sockets=[listening])
    return 0


class _Guarded:
    """An ASGI application for those who have the token, which is told when their connection has gone (`_GONE`)."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        authorization = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "http" or hmac.compare_digest(authorization, self._wanted):
            gone = scope[_GONE] = asyncio.Event()

            async def heard() -> Any:
                message = await receive()
                if message["type"] == "http.disconnect":
                    gone.set()
                return message

            await self._app(scope, heard, send)
            return
        await send(
            {"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]}
        )
        await send({"type": "http.response.body", "body": b""})


class _Heard:
    """Messages over standard input; a line that is none is answered: who has sent a request waits for that."""

    answers: Any = None  # what sends messages to the client

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in lines_of_standard_input():
            refusal = _refusal(line) if line.strip() else None
            if refusal is None:
                yield line
            else:
                await self.answers.send(SessionMessage(refusal))


def _refusal(line: str) -> JSONRPCError | None:
    """What is answered to a line that is no message of the protocol."""
    with contextlib.suppress(ValueError):
        jsonrpc_message_adapter.validate_json(line, by_name=False)
        return None
    asked, error = None, ErrorData(code=PARSE_ERROR, message="this line is no JSON")
    with contextlib.suppress(ValueError, RecursionError):
        said = json.loads(line)
        words = "no message of the protocol; half a character, as \\ud83d alone, is no text"
        error = ErrorData(code=INVALID_REQUEST, message=words)
        asked = said.get("id") if isinstance(said, dict) and "method" in said else None
    known = type(asked) is int or (isinstance(asked, str) and asked.isprintable())
    return JSONRPCError(jsonrpc="2.0", id=asked if known else None, error=error)


class _Server(MCPServer[None]):
    """The protocol's server, which says in a line or two what is wrong with arguments."""

    async def run_stdio_async(self) -> None:
        heard, server = _Heard(), self._lowlevel_server
        async with stdio_server(stdin=cast("Any", heard)) as (messages, heard.answers):
            await server.run(messages, heard.answers, server.create_initialization_options())

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            rejected = getattr(error.__cause__, "errors", None)  # as pydantic, which checks them, has it
            if rejected is None:
                raise
            wrong = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in rejected()]
            [known] = [one.input_schema["properties"] for one in await self.list_tools() if one.name == name]
            raise ToolError("\n".join([*wrong, f"  {name} takes {', '.join(known)}"])) from error.__cause__


def _tool(function: Callable[..., Coroutine[Any, Any, Any]]) -> Tool:
    """A tool that refuses arguments it does not know: `deadline` for `deadline_seconds` would bound nothing."""
    tool = Tool.from_function(function, annotations=_READ_ONLY, structured_output=True)
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema(by_alias=True)
    return tool


def server_of(agents: Agents) -> MCPServer[None]:
    """The tools of `agents`, which is open for as long as they are called."""

    @asynccontextmanager
    async def nothing(_server: MCPServer[None]) -> AsyncIterator[None]:
        yield

    async def search_tables(words: str = "", limit: int = 30) -> TablesFound:
        """Find tables: those in whose name, columns or description all `words` stand; without words, all.

        `cut` says whether there are more than the `limit` listed. Sources that could not be asked for their
        tables are in `unread_sources`.
        """
        return await _with_tool_errors(agents.search(words, limit))

    async def describe_table(table: str) -> TableDescription:
        """Columns with types, keys that may or must be bound, and ways to read a table, by `source.table` or `table`."""
        return await _with_tool_errors(agents.describe(table))

    async def explain(sql: str, params: _Params | None = None) -> ExplainReply:
        """How one SELECT statement would run and what its sources would be sent; sends nothing."""
        return await _with_tool_errors(agents.explain(sql, params or {}))

    async def query(  # noqa: PLR0917 - arguments of the tool, read off the signature
        sql: str,
        context: Context[None, Any],
        params: _Params | None = None,
        max_rows: int = 100,
        deadline_seconds: float | None = None,
        max_requests: int | None = None,
    ) -> QueryReply:
        """Run one SELECT statement of Spark's SQL. Look at `complete` (else `missing`) and `cut` before calling its rows all.

        `params` are values for `:name` in the SQL: pass values so, never in the text; a decimal of more than
        15 digits as a text, with CAST(:name AS DECIMAL(38, 4)). The reply has at most `max_rows` rows;
        fetch_rows gives the rest. It comes by `deadline_seconds` and with at most `max_requests` requests,
        with what is there by then.
        """

        async def tell(seconds: float, words: str) -> None:
            await context.report_progress(seconds, message=words)

        asked = agents.query(
            sql,
            params or {},
            max_rows=max_rows,
            deadline=deadline_seconds,
            max_requests=max_requests,
            tell=tell,
            asker=_asker(context),
        )
        return await _with_tool_errors(_while_it_waits(context, asked))

    async def fetch_rows(handle: str, first_row: int = 0, max_rows: int = 100) -> QueryReply:
        """Rows of an earlier result from `first_row` (0 is the first) on; asks the sources for nothing."""
        return await _with_tool_errors(_at_once(lambda: agents.fetch(handle, first_row, max_rows)))

    async def read_report(handle: str) -> dict[str, Any]:
        """The full account of a run: requests, retries and waits of each access method, routing, what is missing."""
        return await _with_tool_errors(_at_once(lambda: agents.report(handle)))

    tools = [_tool(one) for one in (search_tables, describe_table, explain, query, fetch_rows, read_report)]
    server = _Server(
        "fff",
        version=version("fff"),
        instructions=INSTRUCTIONS,
        lifespan=nothing,
        log_level="WARNING",
        tools=tools,
    )
    logging.getLogger("mcp").setLevel(logging.WARNING)
    return server


def _asker(context: Context[None, Any]) -> str:
    """Who asks: a session, where there is none a connection; nothing over standard input."""
    request = context.request_context.request
    return "" if request is None else (context.headers or {}).get(_SESSION) or str(request.scope["client"])


async def _while_it_waits(context: Context[None, Any], answer: Coroutine[Any, Any, _T]) -> _T:
    """What a call gives; it ends with the connection that is to have its answer, which nobody could ask for again."""
    request = context.request_context.request
    if request is None:
        return await answer
    answering = asyncio.create_task(answer)
    gone = asyncio.create_task(request.scope[_GONE].wait())
    try:
        await asyncio.wait((answering, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise ToolError("the client is gone")
        return await answering
    finally:
        for task in (answering, gone):
            task.cancel()
        await asyncio.gather(answering, gone, return_exceptions=True)


async def _at_once(call: Callable[[], _T]) -> _T:
    return call()


async def _with_tool_errors(answer: Coroutine[Any, Any, _T]) -> _T:
    """What a call gives, its errors as the protocol has them: the agent reads what is wrong, where, and what to do."""
    try:
        return await answer
    except FFFError as error:
        raise ToolError(advised(error, to_agents=True).render()) from error
