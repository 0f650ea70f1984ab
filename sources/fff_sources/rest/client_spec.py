"""What a spec may say of a host: credentials, limits, retries, timeouts."""

from __future__ import annotations

from typing import Annotated, Literal

from fff_sources.rest.model import Field, Params, Path, Spec, Text


class Bearer(Spec):
    """`Authorization: Bearer TOKEN`."""

    type: Literal["bearer"]
    token: str


class HttpBasic(Spec):
    """`Authorization: Basic …`."""

    type: Literal["http_basic"]
    username: str
    password: str


class ApiKey(Spec):
    """A key in a header or a query parameter."""

    type: Literal["api_key"]
    name: str = "Authorization"
    api_key: str
    location: Literal["header", "query", "param"] = "header"


class OAuth2ClientCredentials(Spec):
    """A token fetched with client id and secret, fetched again when it runs out."""

    type: Literal["oauth2_client_credentials"]
    access_token_url: str
    client_id: str
    client_secret: str
    access_token_request_data: dict[str, Text] = {}
    default_token_expiration: float = 3600


Auth = Annotated[Bearer | HttpBasic | ApiKey | OAuth2ClientCredentials, Field(discriminator="type")]


class RateLimit(Spec):
    """Ceilings of our own, on top of what the server says."""

    max_concurrency: int = Field(default=8, ge=1, le=1000)
    fill_rate: float | None = Field(default=None, gt=0)
    bucket_size: int | None = Field(default=None, ge=1)
    remaining_header: str | None = None
    reset_header: str | None = None
    extra_statuses: list[int] = []
    backoff_path: Path | None = None


class Retry(Spec):
    """How often and how long to try again; seconds."""

    max_attempts: int = Field(default=5, ge=1, le=100)
    base_delay: float = Field(default=0.5, ge=0)
    max_delay: float = Field(default=30, ge=0)
    max_wait: float = Field(default=300, ge=0)


class Timeout(Spec):
    """Seconds to connect, between two reads, and for a whole answer."""

    connect: float = Field(default=10, gt=0)
    read: float = Field(default=30, gt=0)
    total: float = Field(default=300, gt=0)


class Cache(Spec):
    """How many seconds answers may be kept between runs."""

    ttl: float = Field(ge=0)


class Client(Spec):
    """Everything about the host."""

    base_url: str
    headers: dict[str, Text] = {}
    params: Params = {}
    auth: Auth | None = None
    rate_limit: RateLimit = Field(default_factory=lambda: RateLimit.model_validate({}))
    retry: Retry = Field(default_factory=lambda: Retry.model_validate({}))
    timeout: Timeout = Field(default_factory=lambda: Timeout.model_validate({}))
    cache: Cache | None = None
    allowed_hosts: list[str] = []
    max_body_mb: float = Field(default=256, gt=0)
