"""How a person logs in: in the browser, or with a code that is typed elsewhere."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from fff.errors import SourceError
from fff_sources.http.request.tokens import Tokens
from fff_sources.http.spec import client as client_spec

_PATIENCE_S = 300.0  # how long a person may take in the browser
_LINE_S = 10.0  # how long a browser may take for one request
_LARGEST = 16_384  # bytes of the head of a request
_SLOWER_S = 5.0  # by which a device endpoint that says slow_down is asked less often (RFC 8628, 3.5)
_AGAIN = "log in once more, and allow it"
_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


async def in_browser(
    auth: client_spec.OAuth2, tokens: Tokens, source: str, show: Callable[[str], None]
) -> None:
    """Authorization code with PKCE (RFC 7636) over a redirect to this machine (RFC 8252).

    Args:
        auth: what the spec says.
        tokens: what turns the code into tokens, and keeps them.
        source: its name, for errors.
        show: is given the address that a person opens.

    Raises:
        SourceError: nobody logged in, or access was refused.
    """
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    came: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _LINE_S)
            target = head.split(b" ", 2)[1].decode("ascii", "replace") if head.startswith(b"GET ") else ""
            params = dict(parse_qsl(urlsplit(target).query))
            ours = hmac.compare_digest(params.get("state", "").encode(), state.encode())
            status, text = (
                ("200 OK", "You are logged in; close this window.") if ours else ("404 Not Found", "")
            )
            if ours and "code" not in params:
                text = "You are not logged in; close this window."
            body = f"<!doctype html><meta charset=utf-8><title>FFF</title><p>{text}".encode()
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
            if ours and not came.done():
                came.set_result(params)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", auth.redirect_port, limit=_LARGEST)
    async with server:
        redirect = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        asked = {
            "response_type": "code",
            "client_id": tokens.client_form(auth)["client_id"],
            "redirect_uri": redirect,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        } | ({"scope": " ".join(auth.scopes)} if auth.scopes else {})
        show(_with_params(auth.authorization_url or "", asked))
        try:
            params = await asyncio.wait_for(came, _PATIENCE_S)
        except TimeoutError:
            raise SourceError("nobody logged in for five minutes", source=source, hint=_AGAIN) from None
    if "code" not in params:
        raise _refused(f"the login was refused: {params.get('error', 'no code came')}", source)
    grant = {
        "grant_type": "authorization_code",
        "code": params["code"],
        "redirect_uri": redirect,
        "code_verifier": verifier,
    }
    refused = await tokens.redeem(auth, grant)
    if refused is not None:
        raise _refused(f"the token endpoint refused the login: {refused}", source)


async def by_device(
    auth: client_spec.OAuth2,
    tokens: Tokens,
    source: str,
    show: Callable[[str, str], None],
    sleep: Callable[[float], object] = asyncio.sleep,
) -> None:
    """The device flow (RFC 8628); `show` is given where to go and the code to type there.

    Raises:
        SourceError: nobody logged in in time, or access was refused.
    """
    code = await tokens.ask_device(auth)
    show(code.verification_uri or code.verification_url, code.user_code)
    waited, every = 0.0, float(code.interval)
    while waited < float(code.expires_in):
        await _slept(sleep, every)
        waited += every
        refused = await tokens.redeem(auth, {"grant_type": _GRANT, "device_code": code.device_code})
        if refused is None:
            return
        if refused == "slow_down":
            every += _SLOWER_S
        elif refused != "authorization_pending":
            raise _refused(f"the login was refused: {refused}", source)
    raise SourceError("nobody logged in before the code ran out", source=source, hint=_AGAIN)


def _refused(message: str, source: str) -> SourceError:
    """What a person has refused can be had by asking again, and all else is about what the spec says of the client."""
    by_person = message.endswith(("access_denied", "expired_token"))
    hint = _AGAIN if by_person else "check client_id, client_secret and scopes in client.auth of the source"
    return SourceError(message, source=source, hint=hint)


async def _slept(sleep: Callable[[float], object], seconds: float) -> None:
    waiting = sleep(seconds)
    if asyncio.iscoroutine(waiting):
        await waiting


def _with_params(url: str, params: dict[str, str]) -> str:
    parts = urlsplit(url)
    query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), *params.items()])
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))
