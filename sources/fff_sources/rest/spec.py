"""The REST part of a source spec, checked: unknown keys, wrong kinds and wrong values are found before any request.

The models say what a spec may hold; `check` reads one into them and reports what is wrong. The only importer of pydantic.
"""

from __future__ import annotations

import codecs
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from fff.schema import arrow_type
from fff_sources.rest.jsonpath import parse_path

#: What pydantic raises for a spec that does not fit the models.
SpecInvalid = ValidationError


class Spec(BaseModel):
    """Base of all parts: unknown keys are errors, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _checked_path(text: str) -> str:
    parse_path(text)
    return text


def short_for(key: str) -> BeforeValidator:
    """A bare text stands for the mapping with just that key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def named(key: str) -> Any:
    """A key that is no name in Python."""
    return Field(alias=key)


def told_apart(key: str) -> Any:
    """A union whose members are told apart by the value of a key."""
    return Field(discriminator=key)


def _text(value: object) -> object:
    """YAML reads 5 and true as what they look like; where text is meant, they are text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _checked_type(name: object) -> object:
    if isinstance(name, str):
        arrow_type(name)
    return name


def _checked_encoding(name: object) -> object:
    if isinstance(name, str):
        try:
            codecs.lookup(name)
        except LookupError:
            raise ValueError(f"unknown encoding {name!r}") from None
    return name


def _checked_place(text: str) -> str:
    if not parse_path(text).names:
        raise ValueError(f"{text!r} must be names with dots between them")
    return text


TypeName = Annotated[str, BeforeValidator(_checked_type)]
Delimiter = Annotated[str, Field(min_length=1, max_length=1)]
PageSize = Annotated[int, Field(ge=1)]
BatchSize = Annotated[int, Field(ge=1, le=10_000)]
Path = Annotated[str, BeforeValidator(_checked_path)]
Encoding = Annotated[str, BeforeValidator(_checked_encoding)]
Place = Annotated[str, BeforeValidator(_checked_place)]
Text = Annotated[str, BeforeValidator(_text)]
Params = dict[str, Text | list[Text] | None]
ONE_OR_MORE = BeforeValidator(lambda value: value if isinstance(value, list) else [value])


# ------------------------------------------------------------------------------------------------------------ client


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


# --------------------------------------------------------------------------------------------------------- endpoints


class Paginated(Spec):
    """What paginators share."""

    page_size: int | None = Field(default=None, ge=1)
    page_size_param: str | None = None
    max_pages: int | None = Field(default=None, ge=1)


class SinglePage(Spec):
    """One answer holds everything."""

    type: Literal["single_page"]


class PageNumber(Paginated):
    """`page=1`, `page=2`, …; `total_path` counts pages, `total_rows_path` records."""

    type: Literal["page_number"]
    page_param: str = "page"
    page_body_path: Place | None = None
    base_page: int = 1
    total_path: Path | None = None
    total_rows_path: Path | None = None
    maximum_page: int | None = None
    has_more_path: Path | None = None
    stop_after_empty_page: Literal[True] = True


class Offset(Paginated):
    """`offset=0`, `offset=100`, …; `total_path` counts records."""

    type: Literal["offset"]
    offset_param: str = "offset"
    offset_body_path: Place | None = None
    page_size_param: str = "limit"
    limit_body_path: Place | None = None
    base_offset: int = Field(default=0, validation_alias=AliasChoices("base_offset", "offset"))
    total_path: Path | None = None
    maximum_offset: int | None = None
    short_page_ends: bool = False
    has_more_path: Path | None = None
    stop_after_empty_page: Literal[True] = True


class Cursor(Paginated):
    """A value of the answer, sent back as a parameter."""

    type: Literal["cursor"]
    cursor_path: Path = "cursors.next"
    cursor_param: str = "cursor"
    cursor_body_path: Place | None = None
    initial: Text | None = None
    reusable: bool = False
    total_path: Path | None = None
    has_more_path: Path | None = None


class Keyset(Paginated):
    """Several values of the answer: each by its place, or all members of an object."""

    type: Literal["keyset"]
    cursor_path: Path | None = None
    cursors: dict[str, Path] = {}
    total_path: Path | None = None

    @model_validator(mode="after")
    def _some_cursor(self) -> Keyset:
        if self.cursor_path is None and not self.cursors:
            raise ValueError("needs cursor_path (an object of cursor values) or cursors (parameter: path)")
        return self


class JsonLink(Paginated):
    """The next page's URL in the body."""

    type: Literal["json_link"]
    next_url_path: Path = "next"
    total_path: Path | None = None
    has_more_path: Path | None = None


class HeaderLink(Paginated):
    """The next page's URL in the Link header, under the relation `links_next_key`."""

    type: Literal["header_link"]
    links_next_key: str = "next"


class Auto(Paginated):
    """A next link wherever one of the usual places has one; else a single page."""

    type: Literal["auto"]


PaginatorSpec = Annotated[
    SinglePage | PageNumber | Offset | Cursor | Keyset | JsonLink | HeaderLink | Auto,
    Field(discriminator="type"),
]


def body_places(paginator: PaginatorSpec) -> dict[str, tuple[str, ...]]:
    """Where in the body of a request stands what the paginator asks for under some names, where it is no parameter."""
    match paginator:
        case (
            Cursor(cursor_param=name, cursor_body_path=path)
            | PageNumber(page_param=name, page_body_path=path)
        ):
            places = {name: path}
        case Offset() as p:
            places = {p.offset_param: p.offset_body_path, p.page_size_param: p.limit_body_path}
        case _:
            places = {}
    return {name: parse_path(path).names or () for name, path in places.items() if path is not None}


#: dlt's names for what has another name here.
SYNONYMS = {"limit": "page_size", "limit_param": "page_size_param"}


def _in_our_words(value: object) -> object:
    """A paginator in dlt's words, in ours; naming one thing twice is left for the check to find."""
    if isinstance(value, str):
        return {"type": value}
    if not isinstance(value, dict):
        return value
    ours = {
        SYNONYMS.get(key, key) if SYNONYMS.get(key) not in value else key: item for key, item in value.items()
    }
    if ours.get("type") == "json_response":
        ours["type"] = "json_link"
    return ours


class Select(Spec):
    """The parameter that names the members of a record to send: joined by the separator or, without one, repeated."""

    param: str
    separator: str | None = Field(default=",", min_length=1)
    always: list[str] = []


class Endpoint(Spec):
    """One request and how to read its answer. `path` may be left out only where another part supplies it."""

    path: str | None = None
    method: Literal["GET", "POST"] = "GET"
    params: Params = {}
    headers: dict[str, Text] = {}
    body: Any = Field(default=None, alias="json")
    data_selector: Path = "$"
    paginator: Annotated[PaginatorSpec, BeforeValidator(_in_our_words)] = SinglePage(type="single_page")
    format: Literal["json", "ndjson", "csv", "xml", "html_table", "parquet"] = "json"
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    comment: Delimiter | None = None
    encoding: Encoding | None = None
    layout: Literal["rows", "columns", "header"] = "rows"
    absent: Literal["error", "empty"] = "error"
    select: Annotated[Select, short_for("param")] | None = None

    @model_validator(mode="after")
    def _of_its_format(self) -> Endpoint:
        if self.layout != "rows" and self.format != "json":
            raise ValueError(f"layout: {self.layout} is of JSON answers")
        if self.comment is not None and self.format != "csv":
            raise ValueError("comment is of CSV answers")
        if self.encoding is not None and self.format == "parquet":
            raise ValueError("encoding is of text, which parquet is not")
        if body_places(self.paginator) and self.method != "POST":
            raise ValueError("what the paginator asks for can stand in the body of a POST alone")
        return self


EndpointField = Annotated[Endpoint, short_for("path")]


class Scan(Spec):
    """A way to read the whole table."""

    endpoint: EndpointField


class Batch(Spec):
    """Several keys in one request: joined by the separator or, without one, as a repeated parameter."""

    size: int = Field(ge=2, le=10_000)
    separator: str | None = Field(default=None, min_length=1)


class Lookup(Spec):
    """All rows with given values of the keys."""

    keys: list[str] = Field(min_length=1)
    endpoint: EndpointField
    batch: Batch | None = None

    @model_validator(mode="after")
    def _batch_has_one_key(self) -> Lookup:
        if self.batch is not None and len(self.keys) > 1:
            raise ValueError("a batch lookup takes one key column")
        return self


# ------------------------------------------------------------------------------------------------------------ tables


class Column(Spec):
    """A column: its Spark SQL type and its place in a record."""

    type: str
    path: Path | None = None
    description: str = ""

    @field_validator("type")
    @classmethod
    def _known_type(cls, name: str) -> str:
        arrow_type(name)
        return name


class KeyColumn(Spec):
    """What a request can be given."""

    name: str
    require: Literal["required", "optional", "any_of"] = "optional"
    operators: list[Literal["=", "in", "<", "<=", ">", ">=", "<>", "!=", "like"]] = ["="]
    param: str | dict[str, str] | None = None


class OnStatus(Spec):
    """A status that is an answer: no rows."""

    status_code: int = Field(ge=100, le=599)
    action: Literal["empty", "ignore"]


class TableSpec(Spec):
    """A table. `endpoint` is merged under every endpoint of its scans and lookups."""

    description: str = ""
    primary_key: Annotated[list[str], ONE_OR_MORE] = []
    columns: dict[str, Annotated[Column, short_for("type")]] | None = None
    key_columns: list[Annotated[KeyColumn, short_for("name")]] = []
    endpoint: EndpointField | None = None
    scan: Annotated[list[Scan], ONE_OR_MORE] = []
    lookups: list[Lookup] = []
    on_status: list[OnStatus] = []
    on_bad_record: Literal["fail", "null", "skip"] = "fail"
    order: Literal["none"] | Annotated[list[str], ONE_OR_MORE] | None = None


class Function(Spec):
    """A function that SQL may call: one request for each different tuple of arguments, or for a batch of them.

    `returns` says where in the record its value is: by default under `value`. No record is NULL.
    """

    description: str = ""
    arguments: dict[str, Annotated[Column, short_for("type")]] = Field(min_length=1)
    returns: Annotated[Column, short_for("type")]
    endpoint: EndpointField
    batch: Batch | None = None
    on_status: list[OnStatus] = []


class RestSpec(Spec):
    """A whole source of type `rest`; `tables` already has the defaults merged in."""

    type: Literal["rest"] = "rest"
    description: str = ""
    client: Client
    table_defaults: TableSpec | None = None
    tables: dict[str, TableSpec] = {}
    functions: dict[str, Function] = {}
    tests: list[str] = []

    @field_validator("tables", mode="after")
    @classmethod
    def _some_tables(cls, tables: dict[str, TableSpec]) -> dict[str, TableSpec]:
        if not tables:
            raise ValueError("must name at least one table; leave it out where there are functions alone")
        return tables

    @model_validator(mode="after")
    def _something(self) -> RestSpec:
        if not self.tables and not self.functions:
            raise ValueError("must have tables or functions")
        return self
