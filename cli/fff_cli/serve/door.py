"""Where a server listens: a port of this machine, with TLS any other, or a socket file."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import secrets
import signal
import socket
import ssl
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fff.errors import UsageError
from fff_cli.output.streams import check_installed
from fff_cli.postgres.door import PostgresDoor
from fff_cli.run.federation import open_federation
from fff_cli.run.loading import loaded
from fff_cli.run.progress import say
from fff_cli.serve.queries import Queries, ServeLimits
from fff_cli.serve.tokens import TOKEN, checked, token_from
from fff_cli.serve.web import WebDoor

_ENDING_S = 15.0  # that queries have to write what they found, once the server is to stop


@dataclass(frozen=True)
class Listening:
    """Where to listen and for whom. `socket`: a file, in place of a port; `postgres_port`: for clients of that protocol."""

    host: str = "127.0.0.1"
    port: int = 0
    socket: Path | None = None
    certificate: Path | None = None
    private_key: Path | None = None
    without_tls: bool = False
    token_file: Path | None = None
    hosts: tuple[str, ...] = ()
    postgres_port: int | None = None


@dataclass(frozen=True)
class ServedTables:
    """What is served: specs, the sources of them that clients see (none named: all), and what is kept of answers."""

    specs: tuple[Path, ...] = ()
    only: tuple[str, ...] = ()
    local_files: bool = False
    max_age: float = 60.0
    cache: bool | None = None
    cache_ttl: float | None = None


def run_serve(tables: ServedTables, limits: ServeLimits, where: Listening, *, verbose: bool) -> int:
    """Serve until SIGTERM or Ctrl-C; the exit code. Raises SpecError, UsageError."""
    if where.postgres_port is not None:
        check_installed("duckdb")
    if where.socket is not None and (where.certificate or where.private_key):
        raise UsageError("a socket file needs no TLS", hint="leave out --certificate and --private-key")
    tokens, token_text = tokens_of(where)
    if where.postgres_port is not None and not tokens:
        raise UsageError(
            "at a port anybody of this machine could ask", hint=f"give PostgreSQL's clients a token: {TOKEN}"
        )
    tls = None if where.socket is not None else tls_of(where)
    asyncio.run(_serve(tables, limits, where, tokens, token_text, tls=tls, verbose=verbose))
    return 0


def tokens_of(where: Listening) -> tuple[dict[str, str], str]:
    """The token of each client, and what is said of it. Raises UsageError.

    Over a socket file none is needed unless one is given: only its owner can open it.
    """
    if where.token_file is not None:
        return _tokens_in(where.token_file), f"a token of {str(where.token_file)!r}"
    if token := token_from(TOKEN):
        return {"": token}, f"${TOKEN}"
    if where.socket is not None:
        return {}, ""
    token = secrets.token_urlsafe(24)
    return {"": token}, token


def _tokens_in(path: Path) -> dict[str, str]:
    try:
        mode = path.stat().st_mode
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = "it is no text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise UsageError(
            f"cannot read the tokens in {str(path)!r}: {why}", hint="a line NAME:TOKEN for each client"
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"others can read {str(path)!r}", hint=f"chmod 600 {path}")
    tokens: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, token = line.strip().rpartition(":")
        checked(token, f"{str(path)!r}, line {number}")
        if name in tokens or token in tokens.values():
            raise UsageError(f"{str(path)!r}, line {number}: a name or token stands there twice")
        tokens[name] = token
    if not tokens:
        raise UsageError(f"there is no token in {str(path)!r}", hint="a line each: NAME:TOKEN")
    return tokens


def tls_of(where: Listening) -> ssl.SSLContext | None:
    """What certificate and key say; None for none. Raises UsageError, also where an address needs them."""
    if (where.certificate is None) != (where.private_key is None):
        raise UsageError("--certificate and --private-key belong together", hint="give both")
    if where.certificate is None or where.private_key is None:
        if not _is_loopback(where.host) and not where.without_tls:
            raise UsageError(
                f"on {where.host} other machines could listen to what is said in the clear",
                hint="give --certificate and --private-key, or --without-tls behind a proxy that speaks it",
            )
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(where.certificate, where.private_key)
    except (OSError, ssl.SSLError) as error:
        what = getattr(error, "strerror", None) or type(error).__name__
        raise UsageError(
            f"cannot use {str(where.certificate)!r} with {str(where.private_key)!r}: {what}",
            hint="both in PEM, the certificate with its chain",
        ) from error
    return context


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _serve(
    tables: ServedTables,
    limits: ServeLimits,
    where: Listening,
    tokens: dict[str, str],
    token_text: str,
    *,
    tls: ssl.SSLContext | None,
    verbose: bool,
) -> None:
    federation = open_federation(
        tables.specs,
        keep=True,
        max_age=tables.max_age,
        cache=tables.cache,
        cache_ttl=tables.cache_ttl,
        local_files=tables.local_files,
    )
    loaded()
    async with federation:
        if tables.only and (unknown := federation.catalog.narrow(tables.only)):
            raise UsageError(f"there is no source {unknown[0]!r}", hint="`fff source list` shows them")
        queries = Queries(federation, limits)
        hosts = (*where.hosts, where.host)
        web = WebDoor(queries, tokens, hosts, verbose=verbose)
        with contextlib.ExitStack() as stack:
            bound, name = _bound(where, tls is not None, stack)
            stop = _stopped_by_signals(stack)
            async with web.listening(bound, tls) as close, contextlib.AsyncExitStack() as steps:
                if where.postgres_port is not None:
                    door = PostgresDoor(queries, tokens, tls, verbose=verbose)
                    bound = stack.enter_context(
                        bound_port(where.host, where.postgres_port, "--postgres-port")
                    )
                    await steps.enter_async_context(door.listening(bound))
                say(f"queries are served at {name} until Ctrl-C")
                if where.postgres_port is not None:
                    host, port = bound.getsockname()[:2]
                    say(
                        f"for PostgreSQL's clients: postgresql://fff@{host}:{port}/fff, the password is the token"
                    )
                if token_text:
                    say(f"Authorization: Bearer {token_text}")
                await stop.wait()
                await close()
                await _end_all(queries, stop)


def _stopped_by_signals(stack: contextlib.ExitStack) -> asyncio.Event:
    """Set by SIGTERM and Ctrl-C; cleared by the second one, which waits for nothing."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def heard() -> None:
        if stop.is_set():
            stop.clear()
        else:
            stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, heard)
        stack.callback(loop.remove_signal_handler, number)
    return stop


async def _end_all(queries: Queries, stop: asyncio.Event) -> None:
    """Have queries end with what they have, and their clients told so."""
    queries.closing = True
    for query in queries.running:
        query.stop()
    loop = asyncio.get_running_loop()
    until = loop.time() + _ENDING_S
    while queries.running and loop.time() < until and stop.is_set():  # noqa: ASYNC110 - two things end it
        await asyncio.sleep(0.02)


def _bound(where: Listening, tls: bool, stack: contextlib.ExitStack) -> tuple[socket.socket, str]:
    if where.socket is not None:
        return stack.enter_context(socket_file(where.socket)), str(where.socket)
    bound = stack.enter_context(bound_port(where.host, where.port, "--port"))
    host = f"[{where.host}]" if ":" in where.host else where.host
    return bound, f"{'https' if tls else 'http'}://{host}:{bound.getsockname()[1]}"


def bound_port(host: str, port: int, option: str) -> socket.socket:
    """A socket at a port, 0 for a free one, that `option` names. Raises UsageError."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise UsageError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}",
            hint=f"another {option}, or 0 for a free one",
        ) from error
    return bound


@contextlib.contextmanager
def socket_file(path: Path) -> Iterator[socket.socket]:
    """A socket that its owner alone can open, at a path that is nobody's or was that of a server that is gone.

    It appears whole, and goes with the server unless another has taken its place. Raises UsageError.
    """
    _check_free(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    bound = socket.socket(socket.AF_UNIX)
    try:
        umask = os.umask(0o177)
        try:
            bound.bind(str(beside))
        except OSError as error:
            raise UsageError(
                f"cannot listen at {str(path)!r}: {error.strerror or error}",
                hint="a shorter path in a folder of yours",
            ) from error
        finally:
            os.umask(umask)
        made = beside.lstat()
        # From the first moment that it is seen it answers: no other takes it for one left behind.
        bound.listen(128)
        beside.replace(path)
        try:
            yield bound
        finally:
            with contextlib.suppress(OSError):
                now = path.lstat()
                if (now.st_dev, now.st_ino) == (made.st_dev, made.st_ino):
                    path.unlink()
    finally:
        beside.unlink(missing_ok=True)
        bound.close()


def _check_free(path: Path) -> None:
    try:
        there = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot listen at {str(path)!r}: {error.strerror}") from error
    if not stat.S_ISSOCK(there.st_mode):
        raise UsageError(f"{str(path)!r} is there, and no socket", hint="another --socket")
    if there.st_uid != os.getuid():
        raise UsageError(f"{str(path)!r} is another user's", hint="another --socket")
    with socket.socket(socket.AF_UNIX) as trial:
        trial.settimeout(1.0)
        try:
            trial.connect(str(path))
        except ConnectionRefusedError:
            return
        except OSError as error:
            raise UsageError(f"cannot tell whose {str(path)!r} is: {error}") from error
    raise UsageError(f"a server listens at {str(path)!r}", hint="use it, or another --socket")
