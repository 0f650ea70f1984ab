"""The command `fff serve` and its options."""
# ruff: noqa: PLR0917 - parameters are options, which typer and `telling` read off the signature

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fff_cli.options.shared import Budgeted, Cached, CacheTtl, Sources, Verbose, option, refuse_beside
from fff_cli.telling import telling


@telling
def serve(
    sources: Sources = None,
    only: Annotated[
        list[str] | None, option("--only SOURCE", "Clients see this source and no others; repeatable.")
    ] = None,
    host: Annotated[str, option("--host ADDRESS", "Where to listen.")] = "127.0.0.1",
    port: Annotated[int, option("--port N", "At which port; 0 takes a free one.", min=0, max=65535)] = 8642,
    socket: Annotated[
        Path | None, option("--socket PATH", "Listen at a socket file of yours, not at a port.")
    ] = None,
    postgres_port: Annotated[
        int | None,
        option(
            "--postgres-port N",
            "Speak PostgreSQL's protocol, too, at this port; 0 takes a free one. The password is the token.",
            min=0,
            max=65535,
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        option(
            "--token-file FILE",
            "Clients and their tokens, a line NAME:TOKEN each. (default: $FFF_SERVE_TOKEN, else one that is printed)",
        ),
    ] = None,
    certificate: Annotated[
        Path | None, option("--certificate FILE", "Speak TLS, with this certificate and its chain.")
    ] = None,
    private_key: Annotated[Path | None, option("--private-key FILE", "The certificate's key.")] = None,
    without_tls: Annotated[
        bool, option("--without-tls", "Speak in the clear where other machines can listen, too.")
    ] = False,
    allowed_host: Annotated[
        list[str] | None, option("--allowed-host NAME", "A name that clients call the server by; repeatable.")
    ] = None,
    local_files: Annotated[
        bool, option("--local-files", "Statements may name files of this machine, as csv.`f.csv`.")
    ] = False,
    deadline: Annotated[
        float, option("--deadline SECONDS", "What each query may take at most.", min=0.1)
    ] = 300.0,
    max_requests: Annotated[
        int | None, option("--max-requests N", "What each query may send at most.", min=1)
    ] = None,
    budget: Budgeted = None,
    concurrent: Annotated[
        int, option("--concurrent N", "Queries that a client may have under way.", min=1)
    ] = 64,
    max_age: Annotated[
        float,
        option("--max-age SECONDS", "How old what one query has read may be for others to use it.", min=0),
    ] = 60.0,
    cache: Cached = None,
    cache_ttl: CacheTtl = None,
    verbose: Verbose = False,
) -> int:
    """Run queries of many clients over one federation, by HTTP on this machine."""
    from fff_cli.options.cache import check_cache  # noqa: PLC0415
    from fff_cli.serve.door import Listening, ServedTables, run_serve  # noqa: PLC0415
    from fff_cli.serve.queries import ServeLimits  # noqa: PLC0415

    check_cache(cache, cache_ttl)
    if socket is not None:
        unused = {"--port": port != 8642}
        if postgres_port is None:
            unused |= {"--host": host != "127.0.0.1", "--without-tls": without_tls}
        refuse_beside("--socket", unused)
    tables = ServedTables(tuple(sources or ()), tuple(only or ()), local_files, max_age, cache, cache_ttl)
    limits = ServeLimits(deadline, max_requests, budget, concurrent)
    where = Listening(
        host,
        port,
        socket,
        certificate,
        private_key,
        without_tls,
        token_file,
        tuple(allowed_host or ()),
        postgres_port,
    )
    return run_serve(tables, limits, where, verbose=verbose)
