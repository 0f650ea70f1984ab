"""Proof of who asks: made from a spec's `auth` when the first request needs it."""

from __future__ import annotations

import asyncio
import base64
import hashlib

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.message import Credentials, HostPolicy, Request
from fff.web.secrets import Secrets
from fff_sources.rest import spec
from fff_sources.rest.fastjson import MalformedJSON, Struct, decode

_SHORTEST = 4  # characters that a secret written into the spec must have to be hidden elsewhere
_EARLY = 30.0  # seconds before its end that a token counts as run out


class Authenticator:
    """The credentials of one source. Fetched tokens are kept until they run out."""

    def __init__(self, auth: spec.Auth | None, secrets: Secrets, client: WebClient, source: str) -> None:
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
                if isinstance(self._auth, spec.OAuth2ClientCredentials):
                    self._known = await self._fetch(self._auth, policy, meter, now)
                else:
                    self._known = self._fixed()
            return self._known

    def _fixed(self) -> Credentials:
        fill = self._secrets.fill
        match self._auth:
            case spec.Bearer(token=token):
                return _header("Authorization", f"Bearer {self._secret(token)}")
            case spec.HttpBasic(username=username, password=password):
                pair = f"{fill(username)}:{self._secret(password)}"
                self._client.redactor.add(base64.b64encode(pair.encode()).decode())
                return _header("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
            case spec.ApiKey(name=name, api_key=key, location="header"):
                return _header(name, self._secret(key))
            case spec.ApiKey(name=name, api_key=key):
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
        self, auth: spec.OAuth2ClientCredentials, policy: HostPolicy, meter: AccessMeter, now: float
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
        self._ends = now + max(0.0, (answer.expires_in or auth.default_token_expiration) - _EARLY)
        # Limits belong to the client, whichever token it holds at the moment.
        return Credentials({"Authorization": f"Bearer {answer.access_token}"}, identity=_identity(secret))


class _Token(Struct):
    access_token: str
    expires_in: float | None = None


def _header(name: str, text: str) -> Credentials:
    return Credentials(headers={name: text}, identity=_identity(text))


def _identity(secret: str) -> str:
    return hashlib.blake2b(secret.encode(), digest_size=8).hexdigest()
