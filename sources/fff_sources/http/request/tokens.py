"""Tokens that are fetched: from a token endpoint, with a refresh token, or by logging in."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from fff.errors import SecretError, SourceError
from fff.stats import AccessMeter
from fff.structs import Struct, replace
from fff.web.types import Request, Response
from fff_sources.http.request.assertions import signed
from fff_sources.http.request.signing import NOT_GRANTED, ServerClock
from fff_sources.http.request.token_store import StoredToken, TokenStore
from fff_sources.http.response.json import MalformedJSON, decode
from fff_sources.http.response.jsonpath import parse_path, value
from fff_sources.http.spec import client as client_spec

Fetched: TypeAlias = (
    client_spec.OAuth2ClientCredentials | client_spec.OAuth2 | client_spec.SessionLogin | client_spec.Jwt
)
FETCHED = (client_spec.OAuth2ClientCredentials, client_spec.OAuth2, client_spec.SessionLogin, client_spec.Jwt)

#: What to do where a login is refused.
CHECK = "check client.auth of the source, and the secret it names"
_REFUSING = (400, 404, 405, 410, 415, 422)  # 401 and 403 speak of the login by themselves
#: What a token endpoint says of the client, not of the login (RFC 6749, 5.2).
_OF_CLIENT = (
    "invalid_client",
    "invalid_request",
    "invalid_scope",
    "unauthorized_client",
    "unsupported_grant_type",
)
_SHOWN = 200  # characters of what a server says

_EARLY = 30.0  # seconds before its end that a token counts as run out
_SHORT = 0.1  # or that part of a life, where that is less
_SKEW = 30.0  # seconds that another clock may be behind, so that what begins now has begun there


class NotLoggedInError(SecretError):
    """A person has to log in for the first time."""


class LoginEndedError(SourceError):
    """A person has to log in again: the provider takes the login no more."""


class Grant(Struct, frozen=True):
    """A token: the header that carries it, for how many seconds it may be used, whose it is, and of which login."""

    header: str
    text: str
    use_for: float
    whose: str
    login: str = ""


class Tokens:
    """Fetches the tokens of one source; `send` sends a request for whoever waits for the token at the moment.

    Args:
        auth: what the spec says.
        source: its name, for errors.
        base_url: of the source.
        fill: gives a text with its secrets.
        secret: the same for a text that is a secret.
        hide: is told every token.
        redact: a text without secrets.
        store: where `fff login` keeps what it got.
        clock: of the server that assertions are for.
    """

    send: Callable[[Request], Awaitable[Response]]
    meter: AccessMeter  # whose that is

    def __init__(
        self,
        auth: Fetched,
        source: str,
        base_url: str,
        *,
        fill: Callable[[str], str],
        secret: Callable[[str], str],
        hide: Callable[[str], None],
        redact: Callable[[str], str],
        store: TokenStore,
        clock: ServerClock,
    ) -> None:
        self._auth = auth
        self._source = source
        self._base_url = base_url
        self._fill = fill
        self._secret = secret
        self._hide = hide
        self._redact = redact
        self._store = store
        self._clock = clock
        self._rotated: str | None = None  # the refresh token that the last answer brought

    @property
    def login(self) -> str:
        """What the login is kept as."""
        return self._store.name

    async def fetch(self, refused: str | None = None) -> Grant:
        """A token; `refused` is one that the source no longer takes. Raises SecretError, SourceError."""
        match self._auth:
            case client_spec.OAuth2ClientCredentials() as auth:
                return await self._with_client(auth)
            case client_spec.OAuth2() as auth:
                return await self._renewed(auth, refused)
            case client_spec.SessionLogin() as auth:
                return await self._session(auth)
            case client_spec.Jwt() as auth:
                return await self._clock.signed(lambda: self._asserted(auth), self.meter)

    async def _with_client(self, auth: client_spec.OAuth2ClientCredentials) -> Grant:
        form = {
            "grant_type": "client_credentials",
            "client_id": self._fill(auth.client_id),
            "client_secret": self._secret(auth.client_secret),
        }
        form |= {name: self._fill(text) for name, text in auth.access_token_request_data.items()}
        answer = await self._ask(auth.access_token_url, form)
        # Limits belong to the client, whichever token it holds at the moment.
        whose = json.dumps([self._fill(auth.access_token_url), form], sort_keys=True)
        return self._granted(answer, auth.default_token_expiration, whose)

    async def _renewed(self, auth: client_spec.OAuth2, refused: str | None) -> Grant:
        parts = [self._fill(auth.access_token_url), self._fill(auth.client_id)]
        stored = self._store.load()
        login = "" if stored is None else stored.login
        whose = json.dumps([*parts, *filter(None, (auth.account, login))])
        if stored is not None:
            self._hide(stored.access_token)
            self._hide(stored.refresh_token or "")
            left = float("inf") if stored.expires_at is None else stored.expires_at - time.time()
            if stored.access_token != refused and left > _EARLY:
                return Grant("Authorization", f"Bearer {stored.access_token}", left - _EARLY, whose, login)
        declared = None if auth.refresh_token is None else self._secret(auth.refresh_token)
        refresh = (stored.refresh_token if stored else None) or self._rotated or declared
        if refresh is None:
            if stored is not None:
                raise self._ended(auth, "", self._login(auth))
            raise NotLoggedInError(f"{self._whose(auth)}: nobody is logged in", hint=self._login(auth))
        form = {"grant_type": "refresh_token", "refresh_token": refresh} | self.client_form(auth)
        answer = await self._ask(auth.access_token_url, form, accept=NOT_GRANTED)
        if isinstance(answer, _Refusal):
            again = self._store.load()
            if again is not None and again.access_token not in (refused, stored and stored.access_token):
                return await self._renewed(auth, refused)  # another run has renewed it meanwhile
            if answer.error in _OF_CLIENT:
                message = f"the token endpoint refuses to renew the login: {answer.error}"
                raise SourceError(message, source=self._source, hint=CHECK)
            by_person = declared is None or stored is not None
            hint = self._login(auth) if by_person else "get another refresh token for the spec"
            raise self._ended(auth, f": the token endpoint says {answer.error}", hint)
        self.keep(auth, answer, refresh, login)
        return replace(self._granted(answer, auth.default_token_expiration, whose), login=login)

    def _ended(self, auth: client_spec.OAuth2, why: str, hint: str) -> LoginEndedError:
        account = f" of account {auth.account}" if auth.account else ""
        return LoginEndedError(f"the login{account} has ended{why}", source=self._source, hint=hint)

    def _whose(self, auth: client_spec.OAuth2) -> str:
        return f"{self._source}, account {auth.account}" if auth.account else self._source

    def _login(self, auth: client_spec.OAuth2) -> str:
        return f"fff login {self._source}{f' --account {shlex.quote(auth.account)}' if auth.account else ''}"

    def keep(self, auth: client_spec.OAuth2, answer: GrantedToken, refresh: str | None, login: str) -> None:
        """Keep what a token endpoint gave for later runs; `refresh`: the refresh token it may not have repeated."""
        self._rotated = answer.refresh_token or refresh
        self._hide(answer.access_token)
        self._hide(self._rotated or "")
        life = answer.life or (auth.default_token_expiration if self._rotated else None)
        ends = None if life is None else time.time() + life
        try:
            self._store.save(
                StoredToken(self._source, answer.access_token, self._rotated, ends, auth.account, login=login)
            )
        except OSError as error:
            raise SecretError(
                f"{self._source}: the login cannot be kept: {error.strerror}",
                hint="see who may write to $XDG_CONFIG_HOME/fff/logins",
            ) from error

    def client_form(self, auth: client_spec.OAuth2) -> dict[str, str]:
        """Who the client is, as token endpoints are told."""
        form = {"client_id": self._fill(auth.client_id)}
        if auth.client_secret is not None:
            form["client_secret"] = self._secret(auth.client_secret)
        return form | {name: self._fill(text) for name, text in auth.access_token_request_data.items()}

    async def redeem(self, auth: client_spec.OAuth2, form: Mapping[str, str]) -> str | None:
        """Have a grant of a login turned into tokens, and keep them; the endpoint's word where it does not give them yet."""
        answer = await self._ask(
            auth.access_token_url, {**self.client_form(auth), **form}, accept=NOT_GRANTED
        )
        if isinstance(answer, _Refusal):
            return answer.error
        self.keep(auth, answer, None, secrets.token_hex(16))
        return None

    async def ask_device(self, auth: client_spec.OAuth2) -> DeviceCode:
        """A code that a person types elsewhere. Raises SourceError."""
        form = self.client_form(auth) | ({"scope": " ".join(auth.scopes)} if auth.scopes else {})
        request = Request(
            self._fill(auth.device_authorization_url or ""),
            method="POST",
            form=form,
            headers={"Accept": "application/json"},
        )
        response = await self._sent(request)
        try:
            return decode(response.body, type=DeviceCode)
        except MalformedJSON:
            raise self._without("the device endpoint gave no code", response) from None

    async def _session(self, auth: client_spec.SessionLogin) -> Grant:
        login = auth.login
        form = None if login.form is None else {name: self._secret(text) for name, text in login.form.items()}
        body = None if login.body is None else {name: self._secret(text) for name, text in login.body.items()}
        params = tuple((name, self._secret(text)) for name, text in login.params.items())
        url = f"{self._base_url.rstrip('/')}/{self._fill(login.path).lstrip('/')}"
        response = await self._sent(Request(url, method=login.method, params=params, json=body, form=form))
        token = _cookie(response, auth.cookie) if auth.cookie else _member(response, auth.token_path or "")
        if not token:
            where = f"cookie {auth.cookie}" if auth.cookie else f"text at {auth.token_path}"
            raise self._without(f"logging in gave no token: there is no {where}", response)
        self._hide(token)
        whose = json.dumps([url, form, body, params], sort_keys=True)
        header = "Cookie" if auth.cookie else auth.header
        text = f"{auth.cookie}={token}" if auth.cookie else auth.value.replace("{token}", token)
        return Grant(header, text, _usable(auth.expires_in), whose)

    async def _asserted(self, auth: client_spec.Jwt) -> Grant:
        began = int(self._clock.now() - _SKEW)
        claims: dict[str, Any] = {
            name: list(map(self._fill, item)) if isinstance(item, list) else self._fill(item)
            for name, item in auth.claims.items()
        }
        key, headers = self._secret(auth.key), {name: self._fill(text) for name, text in auth.headers.items()}
        whose = json.dumps([key, claims, headers], sort_keys=True)
        claims |= {"iat": began, "exp": began + int(auth.expires_in)}
        token = signed(self._source, claims, key, auth.algorithm, headers)
        self._hide(token)
        if auth.access_token_url is None:
            return Grant("Authorization", f"Bearer {token}", _usable(auth.expires_in - _SKEW), whose)
        form = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": token}
        form |= {name: self._fill(text) for name, text in auth.access_token_request_data.items()}
        return self._granted(
            await self._ask(auth.access_token_url, form), auth.default_token_expiration, whose
        )

    async def _ask(self, url: str, form: Mapping[str, str], *, accept: frozenset[int] = frozenset()) -> Any:
        request = Request(
            self._fill(url), method="POST", form=form, headers={"Accept": "application/json"}, accept=accept
        )
        response = await self._sent(request)
        if response.status not in NOT_GRANTED:
            try:
                return decode(response.body, type=GrantedToken)
            except MalformedJSON:
                pass
        if accept:  # GitHub refuses with status 200
            with contextlib.suppress(MalformedJSON):
                return decode(response.body, type=_Refusal)
        raise self._without("the token endpoint gave no access_token", response)

    async def _sent(self, request: Request) -> Response:
        """The answer; of a refusal the hint speaks of the login, and of no endpoint of a table."""
        try:
            return await self.send(request)
        except SourceError as error:
            if error.status in _REFUSING:
                error.hint = "; ".join(filter(None, (CHECK, error.hint)))
            raise

    def _without(self, message: str, response: Response) -> SourceError:
        """That there is no token; of the answer what says why, as there may be a token elsewhere in it."""
        said = None
        with contextlib.suppress(MalformedJSON):
            said = decode(response.body, type=_Said).text
        if said is not None:
            message += f"; the server says: {self._redact(said)[:_SHOWN]}"
        return SourceError(message, source=self._source, hint=CHECK)

    def _granted(self, answer: GrantedToken, default_life: float, whose: str) -> Grant:
        self._hide(answer.access_token)
        life = answer.life or default_life
        return Grant("Authorization", f"Bearer {answer.access_token}", _usable(life), whose)


class GrantedToken(Struct):
    """What a token endpoint gives; some write numbers as text."""

    access_token: str
    expires_in: float | str | None = None
    refresh_token: str | None = None

    @property
    def life(self) -> float | None:
        """For how many seconds it is good, where that is said; no life at all would have a new one fetched for each request."""
        try:
            life = float(self.expires_in or 0)
        except ValueError:
            return None
        return life if 0 < life < float("inf") else None


class DeviceCode(Struct):
    """What a device authorization endpoint gives (RFC 8628)."""

    device_code: str
    user_code: str
    verification_uri: str = ""
    verification_url: str = ""  # as Google has it
    expires_in: float | str = 900
    interval: float | str = 5


class _Refusal(Struct):
    error: str


class _Said(Struct):
    """Where answers say why there is no token."""

    error: object = None
    error_description: object = None
    message: object = None
    detail: object = None

    @property
    def text(self) -> str | None:
        """All of that."""
        said = (self.error, self.error_description, self.message, self.detail)
        return ": ".join(one for one in said if isinstance(one, str) and one) or None


def _usable(life: float) -> float:
    return life - min(_EARLY, _SHORT * life)


def _member(response: Response, path: str) -> str | None:
    try:
        member = value(response.body, parse_path(path))
    except MalformedJSON:
        return None
    return str(member) if isinstance(member, str | int) and not isinstance(member, bool) else None


def _cookie(response: Response, name: str) -> str | None:
    """What the last cookie of a name is set to; the fields of several cookies are joined by commas."""
    fields = response.headers.get("set-cookie", "")
    values = re.findall(rf'(?:^|,\s*){re.escape(name)}=("[^"]*"|[^;,\s]*)', fields)
    return values[-1] if values else None
