"""Proof of who asks: made from a spec's `auth` when the first request needs it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Coroutine
from pathlib import Path

from fff.errors import SecretError, SourceError
from fff.stats import AccessMeter
from fff.structs import replace
from fff.web.client import WebClient
from fff.web.secrets import Secrets
from fff.web.types import Credentials, HostPolicy, Request, Response
from fff_sources.http.request.signing import AwsSigner, DigestSigner, OAuth1Signer, ServerClock
from fff_sources.http.request.token_store import TokenStore
from fff_sources.http.request.tokens import FETCHED, Grant, LoginEndedError, Tokens
from fff_sources.http.spec import client as client_spec

_SHORTEST = 4  # characters that a secret written into the spec must have to be hidden elsewhere
_REFUSED = 401
_DENIED = frozenset({400, 401, 403})
_PATIENCE_S = 30.0  # for which a login that was refused is not tried again

#: Makes a request that credentials prove; it yields where another one may ask instead.
Make = Callable[[Credentials, bool], Request]


class Authenticator:
    """The credentials of one source. Fetched tokens are kept until they run out.

    Args:
        auth: what the spec says.
        secrets: what fills its references.
        client: what sends.
        source: its name.
        base_url: gives that of the source, as this run has it.
        logins: the folder where `fff login` keeps tokens; None: none are kept.
        check_login: raises SecretError where the spec may not use them.
    """

    def __init__(
        self,
        auth: client_spec.Auth | None,
        secrets: Secrets,
        client: WebClient,
        source: str,
        *,
        base_url: Callable[[], str] = str,
        logins: Path | None = None,
        check_login: Callable[[], None] = lambda: None,
    ) -> None:
        self._auth = auth
        self._base_url = base_url
        self._logins = logins
        self._check_login = check_login
        self._tokens: Tokens | None = None
        self._digest: DigestSigner | None = None
        self._clock = ServerClock()
        self._refused: str | None = None  # a token that the source no longer takes
        self._secrets = secrets
        self._client = client
        self._source = source
        self._lock = asyncio.Lock()
        self._known: Credentials | None = None
        self._login = ""  # of which they are
        self._failure: SourceError | None = None  # of the last login, which was refused
        self._failed_at = 0.0
        self._ends = float("inf")  # steady seconds at which the known credentials run out

    async def credentials(self, policy: HostPolicy, meter: AccessMeter, now: float) -> Credentials:
        """What to send along. Raises SecretError, or SourceError where no token can be had."""
        if self._known is not None and now < self._ends:
            return self._known
        async with self._lock:  # one fetch of a token serves everybody who waits for it
            if self._known is None or now >= self._ends:
                if isinstance(self._auth, FETCHED):
                    grant = await self._granted(policy, meter, now)
                    self._ends, self._login = now + grant.use_for, grant.login
                    self._known = Credentials({grant.header: grant.text}, identity=_identity(grant.whose))
                else:
                    self._known = self._fixed()
            return self._known

    async def _granted(self, policy: HostPolicy, meter: AccessMeter, now: float) -> Grant:
        """A new token. Where a login was refused it is not tried for the next key: accounts are locked for that."""
        if self._failure is not None and now < self._failed_at + _PATIENCE_S:
            raise self._failure.with_traceback(None)
        try:
            return await self._asking(policy, meter).fetch(self._refused)
        except SourceError as error:
            if error.status in _DENIED or isinstance(error, LoginEndedError):
                self._failure, self._failed_at = error, now
            raise

    def answer(
        self, make: Make, policy: HostPolicy, meter: AccessMeter, *, yields: bool
    ) -> Coroutine[None, None, Response]:
        """The answer to a request; where its token is refused before it has run out, to one more with a new token."""
        proof = self._known
        if proof is None or proof.sign is not None or isinstance(self._auth, FETCHED):
            return self._answer(make, policy, meter, yields=yields)
        return self._client.request(make(proof, yields), meter=meter)  # nothing to wait for, or to prove anew

    async def _answer(self, make: Make, policy: HostPolicy, meter: AccessMeter, *, yields: bool) -> Response:
        now, proof = asyncio.get_running_loop().time(), self._known
        if proof is None or now >= self._ends:
            proof = await self.credentials(policy, meter, now)
        request = make(proof, yields)
        if self._digest is not None and request.credentials.sign is not None:
            return await self._proved(self._digest, request, meter)
        if request.credentials.sign is not None:
            return await self._clock.signed(lambda: self._client.request(request, meter=meter), meter)
        token = isinstance(self._auth, FETCHED) and request.credentials.headers
        if not token or _REFUSED in request.accept:
            return await self._client.request(request, meter=meter)
        response = await self._client.request(_watched(request), meter=meter)
        if response.status != _REFUSED:
            return response
        if isinstance(self._auth, client_spec.Jwt) and self._auth.access_token_url is None:
            self._clock.learn(response.headers.get("date"), 0.0)
        if self._known is not None and self._known.headers == request.credentials.headers:
            self._refused = next(iter(self._known.headers.values())).removeprefix("Bearer ")
            self._known = None  # unless somebody else has got a new one in the meantime
        meter.retries += 1
        proof = await self.credentials(policy, meter, asyncio.get_running_loop().time())
        return await self._client.request(make(proof, yields), meter=meter)

    async def _proved(self, digest: DigestSigner, request: Request, meter: AccessMeter) -> Response:
        """The answer to a request; where the server wants another proof, to one more that has it."""
        response = await self._client.request(_watched(request), meter=meter)
        if response.status != _REFUSED:
            return response
        met = digest.learn(response.headers.get("www-authenticate", ""))
        unsaid = request.judge is None or request.judge(response) is None
        if not met and _REFUSED in request.accept and unsaid:
            return response
        meter.retries += 1
        return await self._client.request(request, meter=meter)

    def login(self, policy: HostPolicy, meter: AccessMeter) -> tuple[client_spec.OAuth2, Tokens] | None:
        """What logs a person in; None where the source asks for no person."""
        if not isinstance(self._auth, client_spec.OAuth2):
            return None
        return self._auth, self._asking(policy, meter)

    def whose_login(self) -> str | None:
        """What tells the login of a person from any other; empty where none is asked for, None where nobody is logged in.

        Raises SecretError, also where somebody else has logged in since this run asks.
        """
        if not isinstance(self._auth, client_spec.OAuth2):
            return ""
        stored = self._store().load()
        if stored is None and self._auth.refresh_token is None:
            return None
        login = "" if stored is None else stored.login
        if self._known is not None and login != self._login:
            raise SecretError(f"{self._source}: somebody has logged in since", hint="begin anew")
        return login

    def log_out(self) -> bool:
        """Forget what a login gave; whether there was anything."""
        return self._store().forget()

    def _store(self) -> TokenStore:
        whose = [self._base_url()]
        if isinstance(self._auth, client_spec.OAuth2):
            self._check_login()
            whose += (
                self._secrets.fill(self._auth.access_token_url),
                self._secrets.fill(self._auth.client_id),
                *([] if self._auth.account is None else [self._auth.account]),
            )
        return TokenStore(self._logins, self._source, *whose)

    def _fixed(self) -> Credentials:
        fill = self._secrets.fill
        match self._auth:
            case client_spec.Bearer(token=token):
                return _header("Authorization", f"Bearer {self._secret(token)}")
            case client_spec.HttpBasic(username=username, password=password):
                pair = f"{fill(username)}:{self._secret(password)}"
                packed = base64.b64encode(pair.encode()).decode()
                for secret in (pair, packed):  # servers write headers anew as well, in base64 or hexadecimal
                    self._client.redactor.add(secret)
                return _header("Authorization", f"Basic {packed}")
            case client_spec.ApiKey(name=name, api_key=key, location="header"):
                return _header(name, self._secret(key))
            case client_spec.ApiKey(name=name, api_key=key):
                secret = self._secret(key)
                return Credentials(params={name: secret}, identity=_identity(secret))
            case client_spec.AwsSigV4() as aws:
                session = None if aws.session_token is None else self._secret(aws.session_token)
                secret, access = self._secret(aws.secret_key), fill(aws.access_key)
                signer = AwsSigner(
                    access, secret, fill(aws.region), fill(aws.service), session, self._clock.now
                )
                return Credentials(identity=_identity(f"{access} {secret}"), sign=signer)
            case client_spec.OAuth1() as one:
                bought = None if one.token is None else fill(one.token)
                secrets = [self._secret(text or "") for text in (one.consumer_secret, one.token_secret)]
                way, realm = one.signature_method, None if one.realm is None else fill(one.realm)
                consumer = fill(one.consumer_key)
                sign = OAuth1Signer(
                    consumer, secrets[0], bought, secrets[1], method=way, realm=realm, now=self._clock.now
                )
                return Credentials(identity=_identity(repr([consumer, bought, *secrets])), sign=sign)
            case client_spec.Digest(username=username, password=password):
                self._digest = DigestSigner(fill(username), self._secret(password))
                whose = _identity(f"{fill(username)} {self._secret(password)}")
                return Credentials(identity=whose, sign=self._digest)
            case _:
                return Credentials()

    def _secret(self, text: str) -> str:
        """A secret, also where it stands in the spec itself.

        A literal of a letter or two hides nothing but texts.
        """
        secret = self._secrets.fill(text)
        if len(secret) >= _SHORTEST:
            self._client.redactor.add(secret)
        return secret

    def _asking(self, policy: HostPolicy, meter: AccessMeter) -> Tokens:
        """What fetches tokens, for somebody whose requests these are."""
        if self._tokens is None:
            assert isinstance(self._auth, FETCHED)
            self._tokens = Tokens(
                self._auth,
                self._source,
                self._base_url(),
                fill=self._secrets.fill,
                secret=self._secret,
                hide=self._client.redactor.add,
                redact=self._client.redactor.text,
                store=self._store(),
                clock=self._clock,
            )
        self._tokens.meter = meter
        self._tokens.send = lambda request: self._client.request(
            replace(request, policy=policy, source=self._source), meter=meter
        )
        return self._tokens


def _watched(request: Request) -> Request:
    """The request with a refusal for an answer, which is about who asks: no rule of the table's reads it."""
    judge = request.judge
    accept = request.accept | {_REFUSED}
    if judge is None:
        return replace(request, accept=accept)
    return replace(request, accept=accept, judge=lambda one: None if one.status == _REFUSED else judge(one))


def _header(name: str, text: str) -> Credentials:
    return Credentials(headers={name: text}, identity=_identity(text))


def _identity(secret: str) -> str:
    return hashlib.blake2b(secret.encode(), digest_size=8).hexdigest()
