"""The command `fff mcp` and its options."""
# ruff: noqa: ARG001, PLR0917 - parameters are options, which typer and `telling` read off the signature

from __future__ import annotations

from typing import Annotated

from fff_cli.options.shared import Sources, Verbose, option
from fff_cli.telling import telling


@telling
def mcp(
    sources: Sources = None,
    only: Annotated[
        list[str] | None, option("--only SOURCE", "Agents see this source and no others; repeatable.")
    ] = None,
    http: Annotated[
        int | None,
        option(
            "--http PORT",
            "Serve HTTP at this port of the loopback address, 0 for a free one. (default: standard input)",
            min=0,
            max=65535,
        ),
    ] = None,
    deadline: Annotated[
        float, option("--deadline SECONDS", "What statements may take at most.", min=0.1)
    ] = 45.0,
    max_requests: Annotated[
        int | None, option("--max-requests N", "What all statements together may send.", min=1)
    ] = None,
    rows: Annotated[int, option("--rows N", "Rows of a reply at most.", min=1)] = 1000,
    verbose: Verbose = False,
) -> int:
    """Let agents find tables and run SQL, by the Model Context Protocol."""
    from fff_cli.mcp.agents import AgentLimits  # noqa: PLC0415
    from fff_cli.mcp.server import run_mcp  # noqa: PLC0415

    limits = AgentLimits(tuple(only or ()), deadline, max_requests, rows)
    return run_mcp(sources or (), limits, http)
