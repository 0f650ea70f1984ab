"""`fff login` and `fff logout`: what needs a person once, so that later runs need none."""

from __future__ import annotations

import asyncio
import os
import webbrowser
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from threading import Thread

from fff.catalog import Catalog
from fff.errors import UsageError
from fff.stats import AccessMeter
from fff_cli.output.formats import emit
from fff_cli.run.federation import open_catalog
from fff_cli.run.progress import say
from fff_sources.http.request.auth import Authenticator
from fff_sources.http.request.logins import by_device, in_browser
from fff_sources.http.request.token_store import logged_in, logins_folder
from fff_sources.http.request.tokens import Tokens
from fff_sources.http.source import HttpSource
from fff_sources.http.spec.client import OAuth2


def run_login(name: str, sources: Sequence[Path], *, account: str | None, device: bool) -> int:
    """Log in to a source, one account after the other where none is named.

    Raises UsageError where nobody can, SourceError where it was refused.
    """
    asyncio.run(_log_in(name, sources, account, device=device))
    return 0


def run_logout(name: str, sources: Sequence[Path], *, account: str | None) -> int:
    """Forget the logins of a source, or that of one account; 1 where there was none."""
    if asyncio.run(_log_out(name, sources, account)):
        say(f"logged out of {name}; the provider still knows the login, and its site can end it")
        return 0
    say(f"nobody was logged in to {name}")
    return 1


def list_logins() -> int:
    """Print the sources that somebody is logged in to, and the accounts."""
    logins = logged_in(logins_folder(os.environ))
    emit("".join(f"{_named(token.source, token.account)}\n" for token in logins))
    if not logins:
        say("nobody is logged in to any source")
    return 0


async def _log_in(name: str, sources: Sequence[Path], account: str | None, *, device: bool) -> None:
    async with open_catalog(sources) as catalog:
        for auth, tokens, _ in _logins(_source(catalog, name), account):
            if auth.device_authorization_url and (device or not auth.authorization_url):
                await by_device(auth, tokens, name, partial(_show_code, auth))
            elif auth.authorization_url and not device:
                await in_browser(auth, tokens, name, partial(_show_address, auth))
            else:
                raise UsageError(
                    f"{name} has no {'device_authorization_url' if device else 'authorization_url'}",
                    hint="its refresh_token is in the spec, and needs no login"
                    if auth.refresh_token
                    else "its spec says how to log in, under auth",
                )
            say(f"logged in to {_named(name, auth.account)}")


async def _log_out(name: str, sources: Sequence[Path], account: str | None) -> bool:
    async with open_catalog(sources) as catalog:
        source = _source(catalog, name)
        persons = any(proof.login(source.http.policy, AccessMeter()) for proof in source.proofs)
        forgotten = [proof.log_out() for _, _, proof in _logins(source, account)] if persons else []
        return any(forgotten)


def _logins(source: HttpSource, account: str | None) -> list[tuple[OAuth2, Tokens, Authenticator]]:
    """What logs persons in: all of a source, each once, or that of an account."""
    steps = [(proof.login(source.http.policy, AccessMeter()), proof) for proof in source.proofs]
    logins = {one[1].login: (*one, proof) for one, proof in steps if one is not None}
    if not logins:
        raise UsageError(
            f"{source.name} needs no person to log in", hint="its spec has no auth of type oauth2"
        )
    meant = [one for one in logins.values() if account in (None, one[0].account)]
    if not meant:
        names = ", ".join(one[0].account or "one without a name" for one in logins.values())
        raise UsageError(f"{source.name} has no account {account!r} to log in", hint=f"there is {names}")
    return meant


def _named(source: str, account: str | None) -> str:
    return source if account is None else f"{source} ({account})"


def _source(catalog: Catalog, name: str) -> HttpSource:
    adapter = catalog.source(name)
    if adapter is None:
        raise UsageError(f"there is no source {name!r}", hint="`fff source list` shows them")
    if not isinstance(adapter, HttpSource):
        raise UsageError(f"{name} has no login")
    return adapter


def _show_address(auth: OAuth2, address: str) -> None:
    say(f"log in here{_as(auth)}, in a browser on this machine:\n  {address}")
    # One that waits for its window, as `$BROWSER` may, must not keep us from answering it.
    Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _show_code(auth: OAuth2, where: str, code: str) -> None:
    say(f"open {where} and type there{_as(auth)}:\n  {code}")


def _as(auth: OAuth2) -> str:
    return "" if auth.account is None else f" as {auth.account}"
