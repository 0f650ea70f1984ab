"""What proves who asks: taken out of a sample URL and its headers, sent, and written as references only."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.structs import lazy_pattern, replace
from fff.web.client import WebClient
from fff.web.secrets import Redactor, Secrets, references
from fff.web.types import Credentials, HostPolicy, Request
from fff_sources.authoring.sampling.address import Address, is_reference, is_secret

#: Characters from which a secret is hidden wherever it turns up; less would hide half of every text.
_LEAST = 4
_SCHEME = lazy_pattern(r"(?P<scheme>Bearer|Basic|Token|ApiKey)\s+(?P<rest>.+)", re.IGNORECASE)


@dataclass
class Proof:
    """`headers` and `params` are sent; the others are for the spec and hold references in place of secrets."""

    headers: dict[str, str] = field(default_factory=dict, repr=False)
    params: dict[str, str] = field(default_factory=dict, repr=False)
    auth: dict[str, Any] | None = None
    spec_headers: dict[str, str] = field(default_factory=dict)
    spec_params: dict[str, str] = field(default_factory=dict)
    variables: list[str] = field(default_factory=list)


def proof_of(
    source: str, address: Address, headers: Mapping[str, str], environ: Mapping[str, str], redactor: Redactor
) -> tuple[Address, Proof]:
    """The address with its own references filled in, and the proof.

    Raises SecretError for a reference that leads nowhere.
    """
    secrets = Secrets(environ, Path.cwd(), redactor)
    proof = Proof()
    written = dict(address.secrets) | {name: text for name, text in address.params if is_reference(text)}
    for name, text in written.items():
        proof.params[name] = _sent(text, secrets, redactor)
        proof.spec_params[name] = _reference(source, name, text, proof)
    if address.login is not None:
        user, password = address.login
        proof.headers["Authorization"] = _basic(f"{user}:{_sent(password, secrets, redactor)}", redactor)
        reference = _reference(source, "password", password, proof)
        proof.auth = {
            "type": "http_basic",
            "username": _reference(source, "user", user, proof),
            "password": reference,
        }
    for name, text in headers.items():
        _add_header(source, name, text, proof, secrets=secrets, redactor=redactor)
    if proof.auth is None and len(proof.spec_params) == 1:
        ((name, reference),) = proof.spec_params.items()
        proof.auth = {"type": "api_key", "name": name, "api_key": reference, "location": "query"}
        proof.spec_params = {}
    return replace(address, params=tuple(pair for pair in address.params if pair[0] not in written)), proof


async def fetched_text(
    address: Address, proof: Proof, client: WebClient, policy: HostPolicy
) -> tuple[str, str]:
    """The document at an address, and its URL without secrets. Raises SourceError."""
    credentials = Credentials({}, proof.params)
    request = Request(
        address.url(), params=address.params, headers=proof.headers, credentials=credentials, policy=policy
    )
    response = await client.request(request, meter=AccessMeter())
    try:
        return response.body.decode("utf-8-sig"), address.url()
    except UnicodeDecodeError:
        raise SourceError("the document is not UTF-8 text", url=client.shown(response.url)) from None


def _add_header(
    source: str, name: str, text: str, proof: Proof, *, secrets: Secrets, redactor: Redactor
) -> None:
    if not (is_secret(name) or is_reference(text)):
        proof.headers[name] = proof.spec_headers[name] = text
        return
    match = _SCHEME.fullmatch(text.strip())
    scheme, secret = (match["scheme"], match["rest"]) if match else ("", text.strip())
    sent = _sent(secret, secrets, redactor)
    proof.headers[name] = f"{scheme} {sent}".strip()
    reference = _reference(source, "token" if name.lower() == "authorization" else name, secret, proof)
    if proof.auth is None and name.lower() == "authorization" and scheme.lower() == "bearer":
        proof.auth = {"type": "bearer", "token": reference}
    elif proof.auth is None and not scheme:
        proof.auth = {"type": "api_key", "name": name, "api_key": reference, "location": "header"}
    else:
        proof.spec_headers[name] = f"{scheme} {reference}".strip()


def _sent(text: str, secrets: Secrets, redactor: Redactor) -> str:
    filled = secrets.fill(text)
    if len(filled) >= _LEAST:
        redactor.add(filled)
    return filled


def _reference(source: str, what: str, text: str, proof: Proof) -> str:
    """How the spec names a secret: as it was given, or by a variable that is to be set."""
    if is_reference(text):
        proof.variables += [one.partition(":")[2] for one in references(text) if one.startswith("env:")]
        return text
    variable = re.sub(r"[^A-Z0-9]+", "_", f"{source}_{what}".upper()).strip("_")
    proof.variables.append(variable)
    return f"${{env:{variable}}}"


def _basic(pair: str, redactor: Redactor) -> str:
    encoded = base64.b64encode(pair.encode()).decode()
    redactor.add(encoded)
    return f"Basic {encoded}"
