"""Logins of a declarative manifest: the kinds that FFF speaks, with references in place of every secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fff.structs import lazy_pattern
from fff_sources.authoring.sampling.address import is_secret
from fff_sources.authoring.sampling.shape import step
from fff_sources.importing.airbyte.expressions import UntranslatableError
from fff_sources.importing.airbyte.manifest import ManifestPart

#: What stands in the place of a password where an API wants none.
_NO_PASSWORDS = frozenset({"", "x", "X", "api", "api_key", "apikey", "api_token", "anystring", "none", "password"})  # fmt: skip
_DURATION = lazy_pattern(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_KEEP = ("client_id", "client_secret", "refresh_token", "grant_type", "token_refresh_endpoint")

Write = Callable[..., str]  # a text of the manifest as the spec has it; Raises UntranslatableError


def auth_of(part: ManifestPart, write: Write, secret: Callable[[str], str]) -> dict[str, Any] | None:
    """The auth of a spec.

    Args:
        part: the manifest's authenticator.
        write: a template as the spec writes it.
        secret: a reference to a variable of that name.

    Raises:
        UntranslatableError: it is of a kind that FFF does not speak.
    """

    def hidden(key: str, what: str) -> str:
        """A text that holds a secret: never as it is written, where it is no reference."""
        text = part.text(key)
        written = write(text) if text is not None else ""
        return written if "${env:" in written else secret(what)

    match part.kind:
        case "" | "NoAuth":
            return None
        case "BearerAuthenticator":
            return {"type": "bearer", "token": hidden("api_token", "token")}
        case "BasicHttpAuthenticator":
            return _basic(part, write, secret)
        case "ApiKeyAuthenticator":
            option = part.part("inject_into")
            name = option.text("field_name") or part.text("header") or "Authorization"
            into = option.text("inject_into") or "header"
            if into not in ("header", "request_parameter"):
                raise UntranslatableError(f"a key in {into}")
            place = "header" if into == "header" else "query"
            return {
                "type": "api_key",
                "name": write(name),
                "api_key": hidden("api_token", "api_key"),
                "location": place,
            }
        case "OAuthAuthenticator":
            return _oauth(part, write, secret, hidden)
        case "SessionTokenAuthenticator":
            return _session(part, write, secret)
        case "JwtAuthenticator":
            return _jwt(part, write, hidden)
    raise UntranslatableError(f"{part.kind} is no login that FFF speaks")


def _basic(part: ManifestPart, write: Write, secret: Callable[[str], str]) -> dict[str, Any]:
    credentials = {}
    for key in ("username", "password"):
        text = part.text(key) or ""
        written = write(text)
        plain = "${env:" not in written and written not in _NO_PASSWORDS
        credentials[key] = secret(key) if plain else written
    if not any("${env:" in text for text in credentials.values()):
        credentials["password"] = secret("password")
    return {"type": "http_basic", **credentials}


def _oauth(
    part: ManifestPart, write: Write, secret: Callable[[str], str], hidden: Callable[[str, str], str]
) -> dict[str, Any]:
    url = part.text("token_refresh_endpoint")
    if url is None:
        raise UntranslatableError("an OAuth login without an endpoint for tokens")
    if part.get("profile_assertion"):
        raise UntranslatableError("an OAuth login by an assertion")
    grant = part.text("grant_type") or "refresh_token"
    body = {
        name: secret(name) if is_secret(name) and "${env:" not in write(str(value)) else write(str(value))
        for name, value in part.mapping("refresh_request_body").items()
        if isinstance(value, str | int | float) and name not in _KEEP
    }
    scopes = [write(str(one)) for one in part.items("scopes")]
    for key in ("access_token_name", "expires_in_name", "token_expiry_date_format", "token_expiry_date"):
        part.get(key)
    common = {
        "access_token_url": write(url),
        "client_id": hidden("client_id", "client_id"),
        "client_secret": hidden("client_secret", "client_secret"),
    }
    token_request = {"access_token_request_data": body} if body else {}
    if grant == "client_credentials":
        if scopes:
            token_request = {"access_token_request_data": {"scope": " ".join(scopes), **body}}
        return {"type": "oauth2_client_credentials", **common, **token_request}
    if grant != "refresh_token":
        raise UntranslatableError(f"an OAuth login by {grant}")
    renewed = {"refresh_token": hidden("refresh_token", "refresh_token")}
    return {"type": "oauth2", **common, **renewed, **({"scopes": scopes} if scopes else {}), **token_request}


def _session(part: ManifestPart, write: Write, secret: Callable[[str], str]) -> dict[str, Any]:
    request, request_authentication = part.part("login_requester"), part.part("request_authentication")
    place = step("$", *map(str, part.items("session_token_path")))
    if (
        place == "$"
        or request.kind != "HttpRequester"
        or request.part("authenticator").kind not in ("", "NoAuth")
    ):
        raise UntranslatableError("a login whose request or token FFF cannot write")
    path = (
        f"{write(request.text('url_base') or '').rstrip('/')}/{write(request.text('path') or '').lstrip('/')}"
    )
    body = {name: write(str(item)) for name, item in request.mapping("request_body_json").items()}
    form = {name: write(str(item)) for name, item in request.mapping("request_body_data").items()}
    login: dict[str, Any] = {"path": path.rstrip("/"), "method": request.text("http_method") or "POST"}
    login |= {"body": _hidden(body, secret)} if body else {}
    login |= {"form": _hidden(form, secret)} if form else {}
    auth: dict[str, Any] = {"type": "session", "login": login, "token_path": place}
    if request_authentication.kind == "ApiKey":
        option = request_authentication.part("inject_into")
        if (option.text("inject_into") or "header") != "header":
            raise UntranslatableError("a session's token outside of a header")
        auth |= {"header": option.text("field_name") or "Authorization", "value": "{token}"}
    if (seconds := _seconds(part.text("expiration_duration"))) is not None:
        auth["expires_in"] = seconds
    return auth


def _hidden(fields: dict[str, str], secret: Callable[[str], str]) -> dict[str, str]:
    """The fields of a login; what stands there in plain words may be a secret, whatever its name."""
    return {name: text if "${env:" in text else secret(name) for name, text in fields.items()}


def _jwt(part: ManifestPart, write: Write, hidden: Callable[[str, str], str]) -> dict[str, Any]:
    payload = {**part.mapping("jwt_payload"), **part.mapping("additional_jwt_payload")}
    claims = {name: write(str(value)) for name, value in payload.items()}
    headers = {
        name: write(str(value))
        for name, value in {**part.mapping("jwt_headers"), **part.mapping("additional_jwt_headers")}.items()
    }
    seconds = part.get("token_duration")
    auth: dict[str, Any] = {
        "type": "jwt",
        "key": hidden("secret_key", "secret"),
        "algorithm": part.text("algorithm") or "HS256",
        "claims": claims,
    }
    if headers:
        auth["headers"] = headers
    if isinstance(seconds, int) and seconds > 60:
        auth["expires_in"] = seconds
    return auth


def _seconds(duration: str | None) -> int | None:
    match = _DURATION.fullmatch(duration) if duration else None
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return total or None
