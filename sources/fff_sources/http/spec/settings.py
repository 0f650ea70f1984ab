"""What a spec says of its source as a whole, in the words of those who act on it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

from fff.errors import SecretError, SpecError
from fff.structs import Struct, lazy_pattern
from fff.web.redaction import tells_who_asks
from fff.web.secrets import SECRET_PARAMS, Secrets
from fff.web.types import HostPolicy, NetworkRoute, Window
from fff_sources.adapter import SourceContext
from fff_sources.document import KeyPath
from fff_sources.http.response.json import MalformedJSON
from fff_sources.http.response.jsonpath import JsonPath, parse_path, value
from fff_sources.http.spec import spec
from fff_sources.http.spec.model import is_http
from fff_sources.http.templates import names

#: What is written for a reference to a secret elsewhere (shells, workflows, templates), or nearly so here.
_MISSPELT = lazy_pattern(
    r"""\$\{(?!(?:env|file|keyring):)\{?\s*(?P<inside>[A-Za-z_][\w.:?/\ -]*?)\s*\}+"""
    r"""|^(?:[A-Za-z]+\ )?(?:
        \$(?:env:)?(?P<shell>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)
        |%(?P<windows>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)%
        |\{\{\s*(?P<template>[\w.:-]+)\s*\}\}
        |\{?(?P<bare>env:[A-Z][A-Z0-9_]*)\}?
    )$""",
    re.VERBOSE,
)
_NAME = lazy_pattern(r"([A-Za-z_]\w*)(?:[:?].*)?")  # in shells with what stands in for it
_ALWAYS_SENT = frozenset({"base_url", "headers", "params"})
_ITSELF = "; a secret that reads so itself goes there, too"


def base_url_variable(source: str) -> str:
    """The environment variable that overrides a source's base URL."""
    return f"FFF_{re.sub('[^A-Z0-9]', '_', source.upper())}_BASE_URL"


def check_base_url(context: SourceContext, base_url: str, *, overridden: bool) -> None:
    """Raises SpecError where requests cannot start with the base URL; `overridden`: it is the variable's."""
    variable = base_url_variable(context.name)
    if not is_http(base_url):
        what = "is not an http or https URL"
        hint = f"write https://…, or set {variable}"
        if overridden:
            hint = f"set it: export {variable}=https://…, or unset it to use the base_url of {context.document.file}"
    elif "@" in urlsplit(base_url).netloc:
        what = "holds a user name"
        hint = "write it under client.auth: {type: http_basic, username: …, password: …}"
    elif {"?", "#"} & {*base_url}:
        what = "goes on behind where paths are joined to it"
        hint = "end it before the ? or #, and write parameters under client.params: {name: value}"
    else:
        return
    message = f"the base URL of {context.name} {what}: {context.client.shown(base_url)}"
    if overridden:
        raise SpecError(f"{variable}: {message}", hint=hint)
    raise context.document.error(("sources", context.name, "client", "base_url"), message, hint=hint)


def unusable_base_url(context: SourceContext, client: spec.Client) -> list[SpecError]:
    """What is wrong with a base URL that nothing is filled into."""
    if not client.base_url or "{" in client.base_url or base_url_variable(context.name) in context.environ:
        return []
    try:
        check_base_url(context, client.base_url, overridden=False)
    except SpecError as error:
        return [error]
    return []


def unfinished_tables(context: SourceContext, declared: object) -> list[SpecError]:
    """The tables that are drafts."""
    tables = getattr(declared, "tables", None) or {}
    return [
        context.document.error(
            ("sources", context.name, "tables", name, "unfinished"), said, hint="then take this line out"
        )
        for name, table in tables.items()
        if (said := getattr(table, "unfinished", ""))
    ]


def unfilled_braces(context: SourceContext, declared: object) -> list[SpecError]:
    """The columns named in what goes with every request, where not every request has a value for them."""
    every, moved = _always_filled(declared), base_url_variable(context.name) in context.environ
    return [
        context.document.error(path, f"nothing fills {{{name}}}", hint="plain braces are {{ and }}")
        for path, text in context.texts()
        if path[2:3] in (("client",), ("accounts",)) and _ALWAYS_SENT & {*path[3:6]} and "auth" not in path
        if not (moved and path[3:] == ("base_url",))
        for name in sorted(names(text) - (set() if "base_url" in path else every))
    ]


def _always_filled(declared: object) -> set[str]:
    """The columns that every request of a source has a value for."""
    if not isinstance(declared, spec.RestSpec):
        return set()
    filled = [set(function.arguments) for function in declared.functions.values()]
    for table in declared.tables.values():
        values = {*table.values} | ({declared.accounts.column} if declared.accounts is not None else set())
        filled += [values | {*lookup.keys} for lookup in table.lookups]
        always = [
            one for one in table.key_columns if one.require == "required" or len(table.key_columns) == 1
        ]
        filled += [values | {one.name for one in always if one.require != "optional"}] * len(table.scan)
    return set.intersection(*filled) if filled else set()


def missing_files(context: SourceContext, client: spec.Client) -> list[SpecError]:
    """The certificates and keys that are not there."""
    folder, place = context.document.folder, ("sources", context.name, "client", "network")
    return [
        context.document.error((*place, name), f"there is no file {file!r}")
        for name in ("ca_bundle", "client_certificate", "client_key")
        if (file := getattr(client.network, name, None)) is not None and not (folder / file).is_file()
    ]


def missing_secrets(context: SourceContext) -> list[SpecError]:
    """The references to secrets that lead nowhere."""
    secrets = Secrets(context.environ, context.document.folder, context.client.redactor)
    errors: list[SpecError] = []
    for path, text in context.texts():
        try:
            secrets.fill(text)
        except SecretError as error:
            errors.append(context.document.error(path, error.message, hint=error.hint))
    return errors


def misspelt_secrets(context: SourceContext) -> list[SpecError]:
    """What was meant for a reference to a secret, and would be sent as it stands: told of credentials alone.

    Elsewhere dollar signs and braces may be meant.
    """
    return [
        context.document.error(path, f"{match[0]!r} is no reference to a secret", hint=_meant(match))
        for path, text in context.texts()
        if ("$" in text or "{" in text or ":" in text or "%" in text)
        and _is_credential(path)
        and (match := _MISSPELT.search(text)) is not None
    ]


def _is_credential(path: KeyPath) -> bool:
    """Whether a text proves who asks: by the key it stands under, or as a header or parameter of a telling name."""
    if len(path) < 3:
        return False
    name, within = str(path[-1]), {str(part) for part in path[2:-1]}
    if path[2] in ("client", "accounts") and within & {"auth", "credentials"}:
        return name != "value"  # of a login: it has the {token} in it
    sent = "headers" in within and tells_who_asks(name)
    return sent or ("params" in within and name.lower() in SECRET_PARAMS) or path[2:] == ("uri",)


def _meant(match: re.Match[str]) -> str:
    """What to write in the place of a misspelt reference."""
    said = next(text for text in match.groups() if text is not None)
    kind, colon, name = said.partition(":")
    if colon and kind.strip().lower() in ("env", "file", "keyring"):
        return f"write ${{{kind.strip().lower()}:{name.strip()}}}{_ITSELF}"
    named = _NAME.fullmatch(said.rpartition(".")[2])  # of `secrets.TOKEN`, `env.TOKEN` the end
    name = named[1] if named else "NAME"
    return f"write ${{env:{name}}} for an environment variable, or ${{file:PATH}}, ${{keyring:SERVICE/USER}}{_ITSELF}"


def limiter_name(client: spec.Client, path: str | None) -> str:
    """What a host's ceilings hold for, as far as specs tell it: sources of one host that prove alike who asks share it.

    `path`: of an endpoint, which may be a whole URL, as that of a mirror is.
    """
    elsewhere = path is not None and path.startswith(("http://", "https://"))
    scheme, _, rest = (path if elsewhere and path else client.base_url).partition("://")
    whose = hashlib.blake2b(repr(client.credentials or client.auth).encode(), digest_size=8).hexdigest()
    return f"{scheme}://{rest.partition('/')[0].lower()} {whose}"


def route_of(client: spec.Client, folder: Path) -> NetworkRoute:
    """How the host is reached; files are where the spec's folder has them."""
    network = client.network
    if network is None:
        return NetworkRoute()
    files = (network.ca_bundle, network.client_certificate, network.client_key, network.unix_socket)
    places = [None if file is None else str(folder / file) for file in files]
    return NetworkRoute("" if network.proxy == "none" else network.proxy, *places)


def host_policy(client: spec.Client, folder: Path, *, overridden: bool = False) -> HostPolicy:
    """The rules of the host; `overridden`: the user says where it is, be it in a private network."""
    limit, retry, timeout = client.rate_limit, client.retry, client.timeout
    return HostPolicy(
        max_concurrency=limit.max_concurrency,
        fill_rate=limit.fill_rate,
        bucket_size=limit.bucket_size,
        windows=(
            *(() if limit.limit is None or limit.per is None else (Window(limit.limit, limit.per),)),
            *(Window(one.limit, one.per) for one in limit.windows),
        ),
        connect_timeout=timeout.connect,
        read_timeout=timeout.read,
        total_timeout=timeout.total,
        max_attempts=retry.max_attempts,
        base_delay=retry.base_delay,
        max_delay=retry.max_delay,
        max_wait=retry.max_wait,
        extra_statuses=frozenset(limit.extra_statuses),
        remaining_header=limit.remaining_header,
        reset_header=limit.reset_header,
        wait_in_body=None if limit.backoff_path is None else WaitInBody(parse_path(limit.backoff_path)),
        allowed_hosts=frozenset(client.allowed_hosts),
        private_network=client.private_network or overridden,
        route=route_of(client, folder),
        max_body=int(client.max_body_mb * 2**20),
    )


class WaitInBody(Struct, frozen=True):
    """Reads from a JSON body how many seconds the source wants to be left alone."""

    path: JsonPath

    def __call__(self, body: bytes) -> float | None:
        """The seconds; None where the body says nothing of the kind."""
        try:
            hint = value(body, self.path) if body.strip() else None
            number = isinstance(hint, int | float | str) and not isinstance(hint, bool)
            seconds = float(str(hint)) if number else None
        except (MalformedJSON, ValueError):
            return None
        return seconds if seconds is not None and 0 <= seconds < float("inf") else None
