"""What a spec may say of a host: credentials, limits, retries, timeouts."""

from typing import Annotated, Literal, Self

from fff.web.addresses import SOCKS
from fff_sources.http.spec.model import (
    BusyStatus,
    Field,
    HeaderName,
    Later,
    Params,
    Path,
    Spec,
    Text,
    Url,
    UrlPath,
    model_validator,
)


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
    access_token_url: Url
    client_id: str
    client_secret: str
    access_token_request_data: dict[str, Text] = {}
    default_token_expiration: float = 3600


class OAuth2(Spec):
    """A token on behalf of a person, renewed with a refresh token: one the spec names, or what `fff login` keeps.

    `fff login` gets it in the browser (`authorization_url`) or with a code typed elsewhere
    (`device_authorization_url`). `account` tells the logins of several persons apart.
    """

    type: Literal["oauth2"]
    access_token_url: Url
    client_id: str
    client_secret: str | None = None
    account: str | None = None
    refresh_token: str | None = None
    authorization_url: Url | None = None
    device_authorization_url: Url | None = None
    redirect_port: int = Field(default=0, ge=0, le=65535)
    scopes: list[str] = []
    access_token_request_data: dict[str, Text] = {}
    default_token_expiration: float = 3600

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not (self.refresh_token or self.authorization_url or self.device_authorization_url):
            raise ValueError(
                "refresh_token, authorization_url or device_authorization_url says where tokens come from"
            )
        return self


class LoginRequest(Spec):
    """The request that logs in; the path is joined to the base URL."""

    path: UrlPath
    method: Literal["GET", "POST"] = "POST"
    params: dict[str, Text] = {}
    body: dict[str, Text] | None = None
    form: dict[str, Text] | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.body is not None and self.form is not None:
            raise ValueError("a login sends a body as JSON or a form, not both")
        return self


class SessionLogin(Spec):
    """Log in, take the token from the answer or the cookie it sets, and send it along until it runs out or is refused."""

    type: Literal["session"]
    login: LoginRequest
    token_path: Path | None = None
    cookie: str | None = None
    header: str = "Authorization"
    value: str = "Bearer {token}"
    expires_in: float = Field(default=3600, gt=0)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.token_path is None) == (self.cookie is None):
            raise ValueError(
                "token_path says where in the answer the token stands, or cookie which one it is: one of both"
            )
        if "{token}" not in self.value:
            raise ValueError("value must have {token} in it")
        return self


class Jwt(Spec):
    """A signed assertion: sent along itself or, with `access_token_url`, exchanged for a token (RFC 7523)."""

    type: Literal["jwt"]
    key: str
    algorithm: Literal[
        "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"
    ] = "RS256"
    claims: dict[str, Text | list[Text]] = {}
    headers: dict[str, Text] = {}
    expires_in: float = Field(default=600, gt=60)
    access_token_url: Url | None = None
    access_token_request_data: dict[str, Text] = {}
    default_token_expiration: float = 3600


class OAuth1(Spec):
    """Every request signed with the secrets of a consumer and, where there is one, a token (RFC 5849)."""

    type: Literal["oauth1"]
    consumer_key: str
    consumer_secret: str
    token: str | None = None
    token_secret: str | None = None
    signature_method: Literal["HMAC-SHA1", "HMAC-SHA256", "HMAC-SHA512"] = "HMAC-SHA1"
    realm: str | None = None


class AwsSigV4(Spec):
    """Every request signed as Amazon's services, and those that speak like them, want it."""

    type: Literal["aws_sigv4"]
    access_key: str
    secret_key: str
    session_token: str | None = None
    region: str
    service: str


class Digest(Spec):
    """A password that is proved and never sent (RFC 7616)."""

    type: Literal["digest"]
    username: str
    password: str


_Auth = Annotated[
    Bearer
    | HttpBasic
    | ApiKey
    | OAuth2ClientCredentials
    | OAuth2
    | SessionLogin
    | Jwt
    | OAuth1
    | AwsSigV4
    | Digest,
    Field(discriminator="type"),
]
Auth = Annotated[_Auth, Later(_Auth)]


class WindowSpec(Spec):
    """At most `limit` requests in any `per` seconds."""

    limit: int = Field(ge=1)
    per: float = Field(gt=0)


class RateLimit(Spec):
    """Ceilings of our own, on top of what the server says."""

    max_concurrency: int = Field(default=8, ge=1, le=1000)
    limit: int | None = Field(default=None, ge=1)
    per: float | None = Field(default=None, gt=0)
    windows: list[WindowSpec] = []
    fill_rate: float | None = Field(default=None, gt=0)
    bucket_size: int | None = Field(default=None, ge=1)
    remaining_header: HeaderName | None = None
    reset_header: HeaderName | None = None
    extra_statuses: list[BusyStatus] = []
    backoff_path: Path | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.limit is None) != (self.per is None):
            raise ValueError("limit and per go together: so many requests in so many seconds")
        if self.bucket_size is not None and self.fill_rate is None:
            raise ValueError("bucket_size is of a fill_rate: so many at once, then so many a second")
        return self


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


class NetworkSpec(Spec):
    """How the host is reached, where that is not straight on; files are relative to the spec."""

    proxy: str | None = None
    ca_bundle: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None
    unix_socket: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        proxy = self.proxy or "none"
        if proxy != "none" and not proxy.startswith(("http://", "https://", *SOCKS)):
            raise ValueError("proxy is http://HOST:PORT, socks5://HOST:PORT, or none")
        if "@" in proxy:
            raise ValueError("proxy holds no password: HTTP_PROXY and HTTPS_PROXY may")
        if self.client_key is not None and self.client_certificate is None:
            raise ValueError("client_key is of a client_certificate")
        if self.unix_socket is not None and self.proxy is not None:
            raise ValueError("a Unix socket is not reached through a proxy")
        return self


class Client(Spec):
    """Everything about the host."""

    base_url: str
    headers: dict[str, Text] = {}
    params: Params = {}
    auth: Auth | None = None
    credentials: Annotated[list[Auth], Field(min_length=2)] = []
    rate_limit: RateLimit = Field(default_factory=RateLimit.model_construct)
    retry: Retry = Field(default_factory=Retry.model_construct)
    timeout: Timeout = Field(default_factory=Timeout.model_construct)
    cache: Cache | None = None
    allowed_hosts: list[str] = []
    private_network: bool = False
    network: NetworkSpec | None = None
    max_body_mb: float = Field(default=256, gt=0)

    @model_validator(mode="after")
    def _one_proof(self) -> Self:
        if self.auth is not None and self.credentials:
            raise ValueError("auth is one credential, credentials are several: one of the two will do")
        if len(set(map(repr, self.credentials))) < len(self.credentials):
            raise ValueError("credentials names one twice")
        logins = [
            (one.access_token_url, one.client_id, one.account)
            for one in self.credentials
            if isinstance(one, OAuth2)
        ]
        if len(set(logins)) < len(logins):
            raise ValueError("credentials has two logins by one client: `account` tells them apart")
        return self
