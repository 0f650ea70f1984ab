"""Proof of who asks: made from a spec's `auth` when the first request needs it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.message import Credentials, HostPolicy, Request, Response
from fff.web.secrets import Secrets
from fff_sources.rest import client_spec
from fff_sources.rest.fastjson import MalformedJSON, Struct, decode

_SHORTEST = 4  # characters that a secret written into the spec must have to be hidden elsewhere
_EARLY = 30.0  # seconds before its end that a token counts as run out
_SHORT = 0.1  # or that part of a life, where that is less
_REFUSED = 401


class Authenticator:
    """The credentials of one source. Fetched tokens are kept until they run out."""

    def __init__(
        self, auth: client_spec.Auth | None, secrets: Secrets, client: WebClient, source: str
    ) -> None:
        self._auth = auth
        self._secrets = secrets
        self._client = client
        self._source = source
        self._lock = asyncio.Lock()
        self._known: Credentials | None = None
        self._ends = float("inf")  # steady seconds at which the known credentials run out

    async def credentials(self, policy: HostPolicy, meter: AccessMeter, now: float) -> Credentials:
        """What to send along. Raises SecretError, or SourceError where no token can be had."""
        async with self._lock:  # one fetch of a token serves everybody who waits for it
            if self._known is None or now >= self._ends:
                if isinstance(self._auth, client_spec.OAuth2ClientCredentials):
                    self._known = await self._fetch(self._auth, policy, meter, now)
                else:
                    self._known = self._fixed()
            return self._known

    async def answer(self, make: Callable[[], Awaitable[Request]], meter: AccessMeter) -> Response:
        """The answer to a request; where its token is refused before it has run out, to one more with a new token."""
        request = await make()
        token = isinstance(self._auth, client_spec.OAuth2ClientCredentials) and request.credentials.headers
        if not token or _REFUSED in request.accept:
            return await self._client.request(request, meter=meter)
        watched = replace(request, accept=request.accept | {_REFUSED})
        response = await self._client.request(watched, meter=meter)
        if response.status != _REFUSED:
            return response
        if self._known is not None and self._known.headers == request.credentials.headers:
            self._known = None  # unless somebody else has got a new one in the meantime
        meter.retries += 1
        return await self._client.request(await make(), meter=meter)

    def _fixed(self) -> Credentials:
        fill = self._secrets.fill
        match self._auth:
            case client_spec.Bearer(token=token):
                return _header("Authorization", f"Bearer {self._secret(token)}")
            case client_spec.HttpBasic(username=username, password=password):
                pair = f"{fill(username)}:{self._secret(password)}"
                self._client.redactor.add(base64.b64encode(pair.encode()).decode())
                return _header("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
            case client_spec.ApiKey(name=name, api_key=key, location="header"):
                return _header(name, self._secret(key))
            case client_spec.ApiKey(name=name, api_key=key):
                secret = self._secret(key)
                return Credentials(params={name: secret}, identity=_identity(secret))
            case _:
                return Credentials()

    def _secret(self, text: str) -> str:
        """A secret, also where it stands in the spec itself. A literal of a letter or two hides nothing but texts."""
        secret = self._secrets.fill(text)
        if len(secret) >= _SHORTEST:
            self._client.redactor.add(secret)
        return secret

    async def _fetch(
        self, auth: client_spec.OAuth2ClientCredentials, policy: HostPolicy, meter: AccessMeter, now: float
    ) -> Credentials:
        fill = self._secrets.fill
        secret = self._secret(auth.client_secret)
        form = {
            "grant_type": "client_credentials",
            "client_id": fill(auth.client_id),
            "client_secret": secret,
        }
        form |= {name: fill(text) for name, text in auth.access_token_request_data.items()}
        request = Request(
            fill(auth.access_token_url), method="POST", form=form, policy=policy, source=self._source
        )
        response = await self._client.request(request, meter=meter)
        try:
            answer = decode(response.body, type=_Token)
        except MalformedJSON as error:
            raise SourceError(
                "the token endpoint gave no access_token",
                source=self._source,
                url=self._client.shown(request.url),
            ) from error
        self._client.redactor.add(answer.access_token)
        life = answer.expires_in or auth.default_token_expiration
        self._ends = now + life - min(_EARLY, _SHORT * life)
        # Limits belong to the client, whichever token it holds at the moment.
        whose = json.dumps([request.url, form], sort_keys=True)
        return Credentials({"Authorization": f"Bearer {answer.access_token}"}, identity=_identity(whose))


class _Token(Struct):
    access_token: str
    expires_in: float | None = None


def _header(name: str, text: str) -> Credentials:
    return Credentials(headers={name: text}, identity=_identity(text))


def _identity(secret: str) -> str:
    return hashlib.blake2b(secret.encode(), digest_size=8).hexdigest()
