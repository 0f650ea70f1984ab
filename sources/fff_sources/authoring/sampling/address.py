"""A sample URL taken apart: base URL, path, parameters, what looks like an id, and the secrets, which are kept apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from fff.errors import UsageError
from fff.structs import lazy_pattern
from fff_sources.authoring.draft import identifier
from fff_sources.http.templates import escaped

_SECRET = lazy_pattern(
    r"key|token|auth|sig|pwd|appid|cookie|(?:.*[-_.])?(?:api[-_.]?key|app[-_.]?(?:id|key|token)|access[-_.]?(?:token|key)"
    r"|auth[-_.]?(?:token|key)|authorization|secret|secret[-_.]?key|password|passwd|signature|subscription[-_.]?key|user[-_.]?key"
    r"|credentials?|session(?:[-_.]?id)?|token)",
    re.IGNORECASE,
)
_CURSOR = lazy_pattern(
    r"(?:page|next|continuation|sync|resumption|start|cursor|scroll)[-_.]?token", re.IGNORECASE
)
_REFERENCE = lazy_pattern(r"\$\{(?:env|file|keyring):[^}]*\}")
_VERSION = lazy_pattern(r"^(?:v?\d+(?:\.\d+)*|v\d+[a-z]*\d*|latest|current)$", re.IGNORECASE)
_PREFIXES = frozenset({"api", "apis", "rest", "odata", "services", "service", "public", "json", "web"})
_IDS = lazy_pattern(
    r"\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,}|[a-z]\d+|\d[\dx]*(?:[-_:.]\d[\dx]*)+|[a-z]{2,6}[-_:]\d+",
    re.IGNORECASE,
)
_ENDING = lazy_pattern(
    r"\.(?:json|xml|csv|ndjson|jsonl|html?|php|aspx?|jsp|f?cgi|parquet|tsv)$", re.IGNORECASE
)
_NOT_NAMES = frozenset({"api", "apis", "www", "data", "rest", "opendata", "services", "developer"})


@dataclass(frozen=True)
class Address:
    """A URL without its secrets.

    `path` is escaped as it came; `secrets` are parameters by name, never to be written.
    """

    base_url: str
    path: str
    params: tuple[tuple[str, str], ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    login: tuple[str, str] | None = field(default=None, repr=False)

    @property
    def segments(self) -> list[str]:
        """The path's parts."""
        return [part for part in self.path.split("/") if part]

    @property
    def collection(self) -> str:
        """What the path is about: its last part that is no id, without the ending of a file."""
        plain = [_ENDING.sub("", part) for part in self.segments]
        named = [part for part in plain if not looks_like_id(part)]
        return named[-1] if named else (plain[-1] if plain else "rows")

    @property
    def ends_in_id(self) -> bool:
        """Whether the path seems to name one thing."""
        return bool(self.segments) and looks_like_id(self.segments[-1])

    @property
    def template(self) -> str:
        """The path as a spec writes it."""
        return escaped(self.path)

    def url(self, path: str | None = None) -> str:
        """The URL without parameters; `path`: another one under the same base."""
        path = self.path if path is None else path
        return f"{self.base_url}/{path}" if path else self.base_url

    def joined(self, link: str) -> str:
        """A link of an answer as a URL."""
        return urljoin(self.url(), link)

    def param_templates(self, params: Sequence[tuple[str, str]]) -> dict[str, str | list[str]]:
        """Parameters as a spec writes them; a repeated one is a list."""
        templates: dict[str, str | list[str]] = {}
        for name, value in params:
            text, known = escaped(value), templates.get(name)
            templates[name] = (
                text if known is None else [*([known] if isinstance(known, str) else known), text]
            )
        return templates


def take_apart(url: str) -> Address:
    """The parts of an absolute http(s) URL. Raises UsageError for anything else, without showing it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        usable = False
    if not usable:
        hint = "write it with https:// in front, as 'https://api.example.org/v1/things?page=1'"
        raise UsageError("not an http or https URL", hint=hint)
    segments = parts.path.lstrip("/").split("/")
    kept = 0
    while kept < len(segments) - 1 and _is_prefix(segments[kept]) and any(segments[kept + 1 :]):
        kept += 1
    prefix = "".join(f"/{part}" for part in segments[:kept])
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    secrets = {name: value for name, value in pairs if is_secret(name) and value}
    login = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    netloc = parts.netloc.rpartition("@")[2]
    return Address(
        f"{parts.scheme}://{netloc}{prefix}",
        "/".join(segments[kept:]),
        tuple(pair for pair in pairs if pair[0] not in secrets),
        secrets,
        login,
    )


def is_secret(name: str) -> bool:
    """Whether a parameter or header of that name usually holds a secret."""
    plain = name.removeprefix("$")
    return _SECRET.fullmatch(plain) is not None and _CURSOR.fullmatch(plain) is None


def is_reference(text: str) -> bool:
    """Whether a text names a secret, as in `${env:TOKEN}`, and so may be written."""
    return _REFERENCE.search(text) is not None


def looks_like_id(segment: str) -> bool:
    """Whether a path segment is more likely one thing's id than a name: a number, a UUID, `1803-2427`, `Q42`."""
    plain = _ENDING.sub("", segment)
    return plain.isdigit() or (_IDS.fullmatch(plain) is not None and _VERSION.match(plain) is None)


def without_ending(segment: str) -> tuple[str, str]:
    """`8863.json` as `8863` and `.json`."""
    match = _ENDING.search(segment)
    return (segment, "") if match is None else (segment[: match.start()], match[0])


def source_name(base_url: str) -> str:
    """A name for the source at a host: `github` for api.github.com, `local` on this machine."""
    host = (urlsplit(base_url).hostname or "").lower()
    labels = host.split(".")
    if len(labels) == 1 or labels[-1].isdigit():
        return identifier(host) if labels[0].isalpha() and host != "localhost" else "local"
    labels.pop()
    if len(labels) > 1 and labels[-1] in ("co", "com", "gov", "org", "ac", "edu", "net"):
        labels.pop()
    named = [label for label in labels if label not in _NOT_NAMES] or labels
    return identifier(named[-1], "source")


def _is_prefix(segment: str) -> bool:
    return segment.lower() in _PREFIXES or _VERSION.match(segment) is not None
