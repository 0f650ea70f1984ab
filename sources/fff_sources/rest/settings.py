"""What a spec says of its source as a whole, in the words of those who act on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from fff.errors import SecretError, SpecError
from fff.web.message import HostPolicy
from fff.web.secrets import Secrets
from fff_sources.adapter import SourceContext
from fff_sources.rest import spec
from fff_sources.rest.jsonpath import parse_path
from fff_sources.rest.told_waits import WaitInBody


def base_url_variable(source: str) -> str:
    """The environment variable that overrides a source's base URL."""
    return f"FFF_{re.sub('[^A-Z0-9]', '_', source.upper())}_BASE_URL"


def check_base_url(source: str, base_url: str, shown: str) -> None:
    """Raises SpecError where requests cannot start with the base URL; `shown` is how it may be shown."""
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        usable = False
    if not usable:
        raise SpecError(f"the base URL of {source} is not an http or https URL: {shown}")
    if "@" in parts.netloc:
        raise SpecError(
            f"the base URL of {source} holds a user name: {shown}",
            hint="write it under client.auth: {type: http_basic, username: …, password: …}",
        )


def missing_secrets(context: SourceContext, secrets: Secrets) -> list[SpecError]:
    """The references to secrets that lead nowhere."""
    found: list[SpecError] = []

    def visit(value: object, path: tuple[str | int, ...]) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                visit(item, (*path, key))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                visit(item, (*path, index))
        elif isinstance(value, str):
            try:
                secrets.fill(value)
            except SecretError as error:
                found.append(context.document.error(path, error.message, hint=error.hint))

    visit(context.document.data["sources"][context.name], ("sources", context.name))
    return found


def host_policy(client: spec.Client) -> HostPolicy:
    """The rules of the host."""
    limit, retry, timeout = client.rate_limit, client.retry, client.timeout
    return HostPolicy(
        max_concurrency=limit.max_concurrency,
        fill_rate=limit.fill_rate,
        bucket_size=limit.bucket_size,
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
        max_body=int(client.max_body_mb * 2**20),
    )
