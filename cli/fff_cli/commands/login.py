"""`fff login` and `fff logout`: what needs a person once, so that later runs need none."""

from __future__ import annotations

import asyncio
import os
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from fff.catalog import Catalog
from fff.errors import UsageError
from fff.stats import AccessMeter
from fff_cli.output.formats import emit
from fff_cli.run.federation import open_catalog
from fff_cli.run.progress import say
from fff_sources.http.request.logins import by_device, in_browser
from fff_sources.http.request.token_store import logged_in, logins_folder
from fff_sources.http.source import HttpSource


def run_login(name: str, sources: Sequence[Path], *, device: bool) -> int:
    """Log in to a source. Raises UsageError where nobody can, SourceError where it was refused."""
    asyncio.run(_log_in(name, sources, device=device))
    say(f"logged in to {name}")
    return 0


def run_logout(name: str, sources: Sequence[Path]) -> int:
    """Forget a login; 1 where there was none."""
    if asyncio.run(_log_out(name, sources)):
        say(f"logged out of {name}; the provider still knows the login, and its site can end it")
        return 0
    say(f"nobody was logged in to {name}")
    return 1


def list_logins() -> int:
    """Print the sources that somebody is logged in to."""
    emit("".join(f"{token.source}\n" for token in logged_in(logins_folder(os.environ))))
    return 0


async def _log_in(name: str, sources: Sequence[Path], *, device: bool) -> None:
    async with open_catalog(sources) as catalog:
        source = _source(catalog, name)
        http = source.http
        login_steps = http.auth.login(http.policy, AccessMeter())
        if login_steps is None:
            raise UsageError(f"{name} needs no person to log in", hint="its spec has no auth of type oauth2")
        auth, tokens = login_steps
        if auth.device_authorization_url and (device or not auth.authorization_url):
            await by_device(auth, tokens, name, _show_code)
        elif auth.authorization_url and not device:
            await in_browser(auth, tokens, name, _show_address)
        else:
            raise UsageError(
                f"{name} has no {'device_authorization_url' if device else 'authorization_url'}",
                hint="its refresh_token is in the spec, and needs no login"
                if auth.refresh_token
                else "its spec says how to log in, under auth",
            )


async def _log_out(name: str, sources: Sequence[Path]) -> bool:
    async with open_catalog(sources) as catalog:
        return _source(catalog, name).http.auth.log_out()


def _source(catalog: Catalog, name: str) -> HttpSource:
    adapter = catalog.source(name)
    if adapter is None:
        raise UsageError(f"there is no source {name!r}", hint="`fff source list` shows them")
    if not isinstance(adapter, HttpSource):
        raise UsageError(f"{name} has no login")
    return adapter


def _show_address(address: str) -> None:
    say(f"log in here, in a browser on this machine:\n  {address}")
    webbrowser.open(address)


def _show_code(where: str, code: str) -> None:
    say(f"open {where} and type there:\n  {code}")
