"""What parts of specs are made of: the base of all models, and texts, paths and names that are checked when read.

The only importer of pydantic.
"""

import codecs
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core.core_schema import CoreSchema, no_info_plain_validator_function

from fff.schema import arrow_type
from fff.structs import cached_property, lazy_pattern
from fff_sources.document import PlainScalar
from fff_sources.http.response.jsonpath import parse_path

__all__ = [
    "ONE_OR_MORE",
    "AliasChoices",
    "BatchSize",
    "BeforeValidator",
    "BusyStatus",
    "ColumnValue",
    "Delimiter",
    "EmptyStatus",
    "Encoding",
    "Field",
    "HeaderName",
    "Later",
    "OnBadRecord",
    "PageSize",
    "Params",
    "Path",
    "Place",
    "SkipRows",
    "Spec",
    "SpecInvalid",
    "Text",
    "TypeName",
    "UrlPath",
    "Value",
    "discriminated_by",
    "field_validator",
    "model_validator",
    "named",
    "short_for",
]

#: What pydantic raises for a spec that does not fit the models.
SpecInvalid = ValidationError
_FILLED = lazy_pattern(r"\{[^}]*\}")  # columns and secrets in a text


class Spec(BaseModel):
    """Base of all parts: unknown keys are errors, nothing changes after reading; made whole when one is first read."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Later:
    """Has a part with many kinds, which many a spec leaves out, be made whole when one first has it."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    @cached_property
    def _whole(self) -> TypeAdapter[Any]:
        return TypeAdapter(self._kind)

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> CoreSchema:
        return no_info_plain_validator_function(self._validated)

    def _validated(self, value: object) -> Any:
        # What is wrong inside of it keeps its place: pydantic adds findings of its own to those around them.
        return self._whole.validate_python(value)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return handler(self._whole.core_schema)


def _checked_path(text: object) -> object:
    if isinstance(text, str):
        parse_path(text)
    return text


def short_for(key: str) -> BeforeValidator:
    """A bare text stands for the mapping with just that key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def named(key: str) -> Any:
    """A key that is no name in Python."""
    return Field(alias=key)


def discriminated_by(key: str) -> Any:
    """A union whose members are told apart by the value of a key."""
    return Field(discriminator=key)


def _text(value: object) -> object:
    """YAML reads 5 and true as what they look like; where text is meant, they are text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float | PlainScalar) else value


def _sure(value: object) -> object:
    """A value with its type, which has to be the same to every reader of YAML."""
    if isinstance(value, PlainScalar):
        if value.number is None:
            message = f"{value} is one value to some readers of YAML and another to others: as text put it in quotes"
            raise ValueError(f"{message}, or write a plain number, true or false")
        return value.number
    if isinstance(value, dict):
        return {name: _sure(item) for name, item in value.items()}
    return [_sure(item) for item in value] if isinstance(value, list) else value


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


#: Between 202 and 500: answers with rows, one that holds still, and what asks for a login or to come again.
_NEVER_EMPTY = frozenset({203, 206, 304, 401, 407, 408, 425, 429})


def _checked_status(code: object) -> object:
    """A status that may mean that there are no rows; 500 is how some say that they do not know a key."""
    if isinstance(code, int) and (code < 202 or code > 500 or code in _NEVER_EMPTY):
        message = f"HTTP {code} never means that there are no rows: leave it out"
        raise ValueError(
            f"{message}; on_response tells by what the answer says, as {{path: error, action: empty}}"
        )
    return code


def _checked_refusal(code: object) -> object:
    """A status that may mean to slow down: an answer and a redirect never do."""
    if isinstance(code, int) and code < 400:
        raise ValueError(
            f"HTTP {code} never means to slow down: leave it out; "
            "on_response tells by what the answer says, as {path: error, action: slow_down}"
        )
    return code


def _checked_place(text: object) -> object:
    if isinstance(text, str) and not parse_path(text).names:
        raise ValueError(f"{text!r} must be names with dots between them")
    return text


def _checked_url(text: object) -> object:
    if isinstance(text, str) and "{" not in text and not is_http(text):
        raise ValueError("is not an http or https URL")
    return text


def _checked_url_path(text: object) -> object:
    if isinstance(text, str) and "#" in _FILLED.sub("", text):
        raise ValueError("what stands behind # is not sent: write %23 for one, or leave it out")
    return text


def is_http(url: str) -> bool:
    """Whether a URL leads to a host by http or https."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


TypeName = Annotated[str, BeforeValidator(_checked_type)]
Delimiter = Annotated[str, Field(min_length=1, max_length=1)]
SkipRows = Annotated[int, Field(ge=0, le=1000)]
PageSize = Annotated[int, Field(ge=1)]
EmptyStatus = Annotated[int, Field(ge=202, le=500), BeforeValidator(_checked_status)]
BusyStatus = Annotated[int, Field(ge=400), BeforeValidator(_checked_refusal)]
HeaderName = Annotated[str, Field(min_length=1)]
BatchSize = Annotated[int, Field(ge=1, le=10_000)]
Path = Annotated[str, BeforeValidator(_checked_path)]
Encoding = Annotated[str, BeforeValidator(_checked_encoding)]
Url = Annotated[str, BeforeValidator(_checked_url)]
UrlPath = Annotated[str, BeforeValidator(_checked_url_path)]
Place = Annotated[str, BeforeValidator(_checked_place)]
Text = Annotated[str, BeforeValidator(_text)]
Value = Annotated[Any, BeforeValidator(_sure)]
#: A value of a column, in the words of the spec where it is no number or truth value to everybody.
ColumnValue = Annotated[
    Any, BeforeValidator(lambda value: str(value) if isinstance(value, PlainScalar) else value)
]
Params = dict[str, Text | list[Text] | None]
#: What becomes of a record that does not fit. YAML has no word for `null` without quotes.
OnBadRecord = Annotated[
    Literal["fail", "null", "skip"],
    BeforeValidator(
        lambda value: "null" if value is None else value,
        json_schema_input_type=Literal["fail", "null", "skip"] | None,
    ),
]
ONE_OR_MORE = BeforeValidator(lambda value: value if isinstance(value, list) else [value])
