"""What a spec may say of how pages follow one another."""

from typing import Annotated, Literal, Self

from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.spec.model import (
    AliasChoices,
    Field,
    Later,
    Params,
    Path,
    Place,
    Spec,
    Text,
    Value,
    model_validator,
)


class Paginated(Spec):
    """What paginators share.

    `total: approximate`: totals are estimates, and end nothing. `empty_pages`: amid others.
    """

    page_size: int | None = Field(default=None, ge=1)
    page_size_param: str | None = None
    max_pages: int | None = Field(default=None, ge=1)
    total: Literal["exact", "approximate"] = "exact"
    empty_pages: Literal["error", "skip"] = "error"


class Flagged(Paginated):
    """Those whose answers may say whether a page follows: `has_more_path` if true, `end_path` if it is not."""

    has_more_path: Path | None = None
    end_path: Path | None = None

    @model_validator(mode="after")
    def _one_flag(self) -> Self:
        if self.has_more_path is not None and self.end_path is not None:
            raise ValueError("has_more_path and end_path say the same: one will do")
        return self


class SinglePage(Spec):
    """One answer holds everything; with `total: approximate` whatever number of records it tells."""

    type: Literal["single_page"]
    total: Literal["exact", "approximate"] = "exact"


class PageNumber(Flagged):
    """`page=1`, `page=2`, …; `total_path` counts pages, `total_rows_path` records."""

    type: Literal["page_number"]
    page_param: str = "page"
    page_body_path: Place | None = None
    base_page: int = 1
    total_path: Path | None = None
    total_rows_path: Path | None = None
    maximum_page: int | None = None
    short_page_ends: bool = False
    stop_after_empty_page: Literal[True] = True


class Offset(Flagged):
    """`offset=0`, `offset=100`, …; `total_path` counts records."""

    type: Literal["offset"]
    offset_param: str = "offset"
    offset_body_path: Place | None = None
    page_size_param: str | None = "limit"
    limit_body_path: Place | None = None
    base_offset: int = Field(default=0, validation_alias=AliasChoices("base_offset", "offset"))
    total_path: Path | None = None
    maximum_offset: int | None = None
    short_page_ends: bool = False
    stop_after_empty_page: Literal[True] = True


class Cursor(Flagged):
    """A value of the answer, sent back as a parameter; beside it, of the others, those that `keeps` names."""

    type: Literal["cursor"]
    cursor_path: Path = "cursors.next"
    cursor_param: str = "cursor"
    cursor_body_path: Place | None = None
    initial: Text | None = None
    reusable: bool = False
    keeps: list[str] | None = None
    total_path: Path | None = None


class Keyset(Paginated):
    """Several values of the answer: each by its place, or all members of an object."""

    type: Literal["keyset"]
    cursor_path: Path | None = None
    cursors: dict[str, Path] = {}
    total_path: Path | None = None

    @model_validator(mode="after")
    def _some_cursor(self) -> Self:
        if self.cursor_path is None and not self.cursors:
            raise ValueError("needs cursor_path (an object of cursor values) or cursors (parameter: path)")
        return self


class JsonLink(Flagged):
    """The next page's URL in the body; with `rel`, that one of a list of links."""

    type: Literal["json_link"]
    next_url_path: Path = "next"
    rel: str | None = None
    total_path: Path | None = None


class HeaderLink(Paginated):
    """The next page's URL in the Link header, under the relation `links_next_key`.

    With `has_more_param`, every answer has such a link, and that parameter of it says whether a page follows.
    """

    type: Literal["header_link"]
    links_next_key: str = "next"
    has_more_param: str | None = None


class Auto(Paginated):
    """As the answers say, where they say it in a usual way; what they say and cannot be followed is a part."""

    type: Literal["auto"]


_Paginator = Annotated[
    SinglePage | PageNumber | Offset | Cursor | Keyset | JsonLink | HeaderLink | Auto,
    Field(discriminator="type"),
]
PaginatorSpec = Annotated[_Paginator, Later(_Paginator)]


def body_places(paginator: PaginatorSpec) -> dict[str, tuple[str, ...]]:
    """Where in the body of a request stands what the paginator asks for under some names, where it is no parameter."""
    match paginator:
        case (
            Cursor(cursor_param=name, cursor_body_path=path)
            | PageNumber(page_param=name, page_body_path=path)
        ):
            places = {name: path}
        case Offset() as p:
            places = {p.offset_param: p.offset_body_path, str(p.page_size_param): p.limit_body_path}
        case _:
            places = {}
    return {name: parse_path(path).names or () for name, path in places.items() if path is not None}


class Windows(Spec):
    """Ranges of a column that a scan asks for apart, side by side; `size` is in days for dates and times.

    `outside: ask`: what is before `start` and after `end` is asked for as well. `nulls`: the parameters that
    ask for rows without a value; `none`: there are none such. `exact`: the source keeps no more of a value
    than its declared type does.
    """

    column: str
    start: Value
    end: Value = None
    size: float = Field(gt=0, allow_inf_nan=False)
    outside: Literal["ask", "none"] = "ask"
    nulls: Literal["none"] | Params | None = None
    exact: bool = False


#: dlt's names for what has another name here.
SYNONYMS = {"limit": "page_size", "limit_param": "page_size_param"}


def in_our_words(value: object) -> object:
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
