"""The REST part of a source spec, checked: unknown keys, wrong kinds and wrong values are found before any request.

The models say what a spec may hold; `check` reads one into them. Here are endpoints, tables and functions.
"""

import re
from typing import Annotated, Any, Literal, Self

from fff.schema import arrow_type
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.spec.client import Auth, Client, OAuth2, RateLimit
from fff_sources.http.spec.cost import CountedDays, RequestCost
from fff_sources.http.spec.model import (
    ONE_OR_MORE,
    AliasChoices,
    BatchSize,
    BeforeValidator,
    ColumnValue,
    Delimiter,
    EmptyStatus,
    Encoding,
    Field,
    OnBadRecord,
    PageSize,
    Params,
    Path,
    Place,
    SkipRows,
    Spec,
    SpecInvalid,
    Text,
    TypeName,
    UrlPath,
    Value,
    discriminated_by,
    field_validator,
    model_validator,
    named,
    short_for,
)
from fff_sources.http.spec.paging import (
    Auto,
    Cursor,
    Flagged,
    HeaderLink,
    JsonLink,
    Keyset,
    Offset,
    PageNumber,
    Paginated,
    PaginatorSpec,
    SinglePage,
    Windows,
    body_places,
    in_our_words,
)
from fff_sources.http.templates import names

__all__ = [
    "Account",
    "Accounts",
    "Auth",
    "Auto",
    "Batch",
    "BatchSize",
    "Client",
    "ColumnSpec",
    "Cursor",
    "Delimiter",
    "Encoding",
    "Endpoint",
    "EndpointField",
    "Flagged",
    "FunctionSpec",
    "HeaderLink",
    "JobPoll",
    "JobSpec",
    "JobState",
    "JsonLink",
    "KeyColumnSpec",
    "Keyset",
    "LookupSpec",
    "Offset",
    "OnResponse",
    "OnStatus",
    "Packed",
    "PageNumber",
    "PageSize",
    "Paginated",
    "PaginatorSpec",
    "Params",
    "ParentColumn",
    "Path",
    "RequestCost",
    "RestSpec",
    "ScanSpec",
    "Select",
    "SinglePage",
    "SkipRows",
    "Sort",
    "Spec",
    "SpecInvalid",
    "TableSpec",
    "Text",
    "TypeName",
    "Windows",
    "body_places",
    "discriminated_by",
    "named",
    "short_for",
]


class OnResponse(Spec):
    """What it means that an answer has this at a place: something at all, or a value."""

    path: Path
    equals: Value = None
    action: Literal["fail", "retry", "empty", "slow_down", "accept"]


class Packed(Spec):
    """What an answer, or a text in it, is packed in: undone step by step; `json` means a text that is JSON."""

    path: Path = "$"
    steps: list[Literal["base64", "gzip", "zip", "json"]] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        steps = [value] if isinstance(value, str) else value
        return {"steps": steps} if isinstance(steps, list) else value

    @model_validator(mode="after")
    def _json_is_the_end(self) -> Self:
        inner = self.steps[1:] if self.path == "$" else self.steps[:-1]
        if "json" in inner:
            where = "first, of a whole answer" if self.path == "$" else "last"
            raise ValueError(f"json can only come {where}")
        return self


class Select(Spec):
    """The parameter that names the members of a record to send: joined by the separator or, without one, repeated."""

    param: str
    separator: str | None = Field(default=",", min_length=1)
    always: list[str] = []


class Sort(Spec):
    """How a scan is asked to be sorted, and by which columns: `column` or column -> what the source calls it.

    Without `direction_param`, `ascending` and `descending` are templates of the parameter's value; with it
    they are the values of that parameter, and `param` carries the column alone. null: the source cannot do
    it.
    """

    param: str
    direction_param: str | None = None
    ascending: Text | None = "{column}"
    descending: Text | None = "-{column}"
    columns: list[str] | dict[str, str] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _directions(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("direction_param") is not None:
            return {"ascending": "asc", "descending": "desc", **value}
        return value

    @model_validator(mode="after")
    def _names_the_column(self) -> Self:
        for text in (self.ascending, self.descending):
            if text is not None and names(text) != (set() if self.direction_param else {"column"}):
                raise ValueError(
                    f"{text!r} must not name columns: {self.param} does"
                    if self.direction_param
                    else f"{text!r} must have {{column}} in it, and no other name"
                )
        return self


class JobState(Spec):
    """What it says of a job that something stands at a place: anything but false and nothing, or one of some values."""

    path: Path
    equals: Value = None


class JobPoll(Spec):
    """How a job is asked about: where, how often (seconds, times), and what is taken from the answer when it is done."""

    path: UrlPath
    every: float = Field(default=2, gt=0)
    within: float = Field(default=600, gt=0)
    most: int = Field(default=200, ge=1)
    take: dict[str, Path] = {}


class JobSpec(Spec):
    """What the endpoint asks for is submitted, and its answer fetched from elsewhere once it is there."""

    submit: dict[str, Path] = Field(min_length=1)
    poll: Annotated[JobPoll, short_for("path")]
    done: Annotated[JobState, short_for("path")]
    failed: Annotated[JobState, short_for("path")] | None = None
    fetch: UrlPath

    @model_validator(mode="after")
    def _names_what_is_known(self) -> Self:
        for text, known in ((self.poll.path, {*self.submit}), (self.fetch, {*self.submit, *self.poll.take})):
            if unknown := names(text) - known:
                raise ValueError(
                    f"nothing fills {{{min(unknown)}}}: name its place under submit or poll.take"
                )
        return self


class Endpoint(Spec):
    """One request and how to read its answer. `path` may be left out only where another part supplies it."""

    path: UrlPath | None = None
    method: Literal["GET", "POST"] = "GET"
    params: Params = {}
    headers: dict[str, Text] = {}
    body: Value = Field(default=None, alias="json")
    body_paths: dict[str, Place] = {}
    data_selector: Path = "$"
    paginator: Annotated[PaginatorSpec, BeforeValidator(in_our_words)] = Auto(type="auto")
    format: Literal["json", "ndjson", "csv", "xml", "html_table", "parquet"] = "json"
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    comment: Delimiter | None = None
    skip_rows: SkipRows = 0
    encoding: Encoding | None = None
    layout: Literal["rows", "columns", "header", "entries"] = Field(
        default="rows", validation_alias=AliasChoices("layout", "rows")
    )
    explode: Place | None = None
    decode: Packed | None = None
    job: JobSpec | None = None
    absent: Literal["error", "empty"] = "error"
    select: Annotated[Select, short_for("param")] | None = None
    sort: Sort | None = None
    on_response: list[OnResponse] = []
    counts_as: Annotated[int, Field(ge=1)] | CountedDays = 1

    @property
    def record_is_row(self) -> bool:
        """Whether each record of an answer makes one row, so that a number of records is one of rows."""
        return self.layout == "rows" and self.explode is None

    @model_validator(mode="after")
    def _of_its_format(self) -> Self:
        if self.layout != "rows" and self.format != "json":
            raise ValueError(f"layout: {self.layout} is of JSON answers")
        if self.explode is not None and self.format not in ("json", "xml"):
            raise ValueError(f"explode reads JSON or XML, but format is {self.format}")
        if self.comment is not None and self.format != "csv":
            raise ValueError("comment is of CSV answers")
        if self.skip_rows and self.format != "csv":
            raise ValueError("skip_rows is of CSV answers")
        if self.on_response and self.format not in ("json", "xml"):
            raise ValueError(f"on_response reads JSON or XML, but format is {self.format}")
        if self.encoding is not None and self.format == "parquet":
            raise ValueError("encoding is of text, which parquet is not")
        places = [*map(tuple, body_places(self.paginator).values())]
        if places and self.method != "POST":
            raise ValueError("what the paginator asks for can stand in the body of a POST alone")
        if self.body_paths and self.method != "POST":
            raise ValueError("body_paths: only a POST has a body")
        places += [parse_path(path).names or () for path in self.body_paths.values()]
        if places and not isinstance(self.body, dict | None):
            raise ValueError("json must be a mapping for values to have places in it")
        if any(one != other and one[: len(other)] == other for one in places for other in places):
            raise ValueError("one place in the body is inside another")
        if len(set(places)) < len(places):
            raise ValueError("one place in the body cannot hold two values")
        return self


EndpointField = Annotated[Endpoint, short_for("path")]


class ScanSpec(Spec):
    """A way to read the whole table."""

    endpoint: EndpointField
    windows: Windows | None = None
    exhaustive: bool = True
    cost: RequestCost | None = None


class Batch(Spec):
    """Several keys in one request: joined by the separator or, without one, as a repeated parameter.

    In a JSON body they are a list, of what `each` says of a key. `answers: by_position`: the first record is
    that of the first key, and so on.
    """

    size: int = Field(ge=2, le=10_000)
    separator: str | None = Field(default=None, min_length=1)
    each: Value = None
    answers: Literal["by_key", "by_position"] = "by_key"

    @property
    def is_list(self) -> bool:
        """Whether keys are a list even where there is but one."""
        return self.each is not None or self.answers == "by_position"

    @model_validator(mode="after")
    def _lists_have_no_separator(self) -> Self:
        if self.is_list and self.separator is not None:
            raise ValueError("a list has no separator: leave it out")
        return self


class LookupSpec(Spec):
    """All rows with given values of the keys."""

    keys: list[str] = Field(min_length=1)
    endpoint: EndpointField
    batch: Batch | None = None
    exhaustive: bool = True
    cost: RequestCost | None = None

    @model_validator(mode="after")
    def _lists_have_one_key(self) -> Self:
        if self.batch is not None and self.batch.is_list and len(self.keys) > 1:
            raise ValueError("a list of keys in a body takes one key column")
        return self


# ----------------------------------------------------------------------------------------------------- tables


class ColumnSpec(Spec):
    """A column: its Spark SQL type and its place in a record."""

    type: str
    path: Path | None = None
    pattern: str | None = None
    description: str = ""

    @field_validator("type")
    @classmethod
    def _known_type(cls, name: str) -> str:
        arrow_type(name)
        return name

    @field_validator("pattern")
    @classmethod
    def _one_group(cls, pattern: str | None) -> str | None:
        try:
            if pattern is not None and re.compile(pattern).groups > 1:
                raise ValueError(f"{pattern!r} has several groups, and one is the value: write (?:…)")
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return pattern


class ParentColumn(Spec):
    """Where a key is from: a table of the same source, or `source.table`, and its column."""

    table: str
    column: str


class KeyColumnSpec(Spec):
    """What a request can be given."""

    name: str
    require: Literal["required", "optional", "any_of"] = "optional"
    operators: list[Literal["=", "in", "<", "<=", ">", ">=", "<>", "!=", "like"]] = ["="]
    param: str | dict[str, str] | None = None
    parent: ParentColumn | None = Field(default=None, alias="from")


class OnStatus(Spec):
    """A status that is an answer: no rows."""

    status_code: EmptyStatus
    action: Literal["empty", "ignore"]


class ChangesSpec(Spec):
    """The parameter that asks for the rows which have come or changed since, by the greatest value of a column."""

    column: str
    param: str = Field(min_length=1)
    lookback: int = Field(default=0, ge=0)
    deletions: Literal["unseen", "never"] = "unseen"


class TableSpec(Spec):
    """A table. `endpoint` is merged under every endpoint of its scans and lookups."""

    description: str = ""
    primary_key: Annotated[list[str], ONE_OR_MORE] = []
    columns: dict[str, Annotated[ColumnSpec, short_for("type")]] | None = None
    key_columns: list[Annotated[KeyColumnSpec, short_for("name")]] = []
    endpoint: EndpointField | None = None
    scan: Annotated[list[ScanSpec], ONE_OR_MORE] = []
    lookups: list[LookupSpec] = []
    on_status: list[OnStatus] = []
    on_response: list[OnResponse] = []
    on_bad_record: OnBadRecord = "fail"
    order: Literal["none"] | Annotated[list[str], ONE_OR_MORE] | None = None
    exhaustive: bool = True
    unfinished: str = ""
    changes: ChangesSpec | None = None
    values: dict[str, Annotated[list[ColumnValue], Field(min_length=1)]] = {}
    cost: RequestCost | None = None


class FunctionSpec(Spec):
    """A function that SQL may call: one request for each different tuple of arguments, or for a batch of them.

    `returns` says where in the record its value is: by default under `value`. No record is NULL.
    """

    description: str = ""
    arguments: dict[str, Annotated[ColumnSpec, short_for("type")]] = Field(min_length=1)
    returns: Annotated[ColumnSpec, short_for("type")]
    endpoint: EndpointField
    batch: Batch | None = None
    on_status: list[OnStatus] = []
    on_response: list[OnResponse] = []
    cost: RequestCost | None = None


class Account(Spec):
    """What of `client` is otherwise for one account, tenant or region."""

    base_url: str | None = None
    headers: dict[str, Text] = {}
    params: Params = {}
    auth: Auth | None = None
    rate_limit: RateLimit | None = None

    @model_validator(mode="after")
    def _login_is_its_own(self) -> Self:
        if isinstance(self.auth, OAuth2) and self.auth.account is not None:
            raise ValueError("the login of an account is called like the account: leave auth.account out")
        return self

    def client(self, name: str, common: Client) -> Client:
        """All of it, over what is said of all accounts.

        A login is called like the account, so that no other one has it; only headers or parameters that say
        whose rows are wanted let one login serve several.
        """
        own = {
            name: part
            for name in ("base_url", "auth", "rate_limit")
            if (part := getattr(self, name)) is not None
        }
        own |= {} if self.auth is None else {"credentials": []}
        auth = self.auth or common.auth
        one_login = (self.headers or self.params) and {"auth", "base_url"}.isdisjoint(own)
        if isinstance(auth, OAuth2) and not one_login:
            own["auth"] = auth.model_copy(update={"account": name})
        both = {"headers": {**common.headers, **self.headers}, "params": {**common.params, **self.params}}
        return common.model_copy(update=own | both)


class Accounts(Spec):
    """Accounts whose rows are one table, and the column that says which: by its name here."""

    column: str = "account"
    each: dict[str, Account] = Field(min_length=1)


class RestSpec(Spec):
    """A whole source of type `rest`; `tables` already has the defaults merged in."""

    type: Literal["rest"] = "rest"
    description: str = ""
    client: Client
    accounts: Accounts | None = None
    cost: RequestCost | None = None
    table_defaults: TableSpec | None = None
    tables: dict[str, TableSpec] = {}
    functions: dict[str, FunctionSpec] = {}
    tests: list[str] = []

    @field_validator("tables", mode="after")
    @classmethod
    def _some_tables(cls, tables: dict[str, TableSpec]) -> dict[str, TableSpec]:
        if not tables:
            raise ValueError("must name at least one table; leave it out where there are functions alone")
        return tables

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.tables and not self.functions:
            raise ValueError("must have tables or functions")
        return self
