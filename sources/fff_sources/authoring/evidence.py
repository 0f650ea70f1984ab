"""What went over the wire while an access method was tried, and what it shows of a REST endpoint's paginator."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from fff.catalog import LookupMethod, ScanMethod
from fff.errors import SourceError
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff.web.types import Request, Response
from fff_sources.http.paging.envelope import told_more
from fff_sources.http.response.json import MalformedJSON
from fff_sources.http.response.jsonpath import first, kind_of, parse_path
from fff_sources.http.spec import spec
from fff_sources.http.tables import HttpAccess

_PLACES = ("total_path", "total_rows_path", "has_more_path")
_FAILED = 400  # statuses from here on are no answers
_SIZES = frozenset({10, 20, 25, 30, 50, 250})
_NEXT = ("next_url_path", "cursor_path")


class Witness(WebClient):
    """A client that remembers the answers it got, and can give them again without asking."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Response] = []
        self.unanswered = False  # whether a request brought no answer
        self.replaying = False
        self._known: dict[Hashable, Response] = {}

    def begin(self) -> None:
        """Forget what came so far."""
        self.answers, self.unanswered, self.replaying = [], False, False
        self._known.clear()

    async def request(self, req: Request, *, meter: AccessMeter) -> Response:
        """The answer, from memory while `replaying`. Raises SourceError."""
        question = (req.url, req.params, repr(req.json))
        if self.replaying and question in self._known:
            return self._known[question]
        try:
            response = await super().request(req, meter=meter)
        except SourceError:
            self.unanswered = True
            raise
        self._known[question] = response
        self.answers.append(response)
        return response


def endpoint_of(method: ScanMethod | LookupMethod) -> spec.Endpoint | None:
    """The endpoint of a REST source's access method; None for other adapters."""
    return method.endpoint.endpoint if isinstance(method.endpoint, HttpAccess) else None


def paging_problems(endpoint: spec.Endpoint, answers: list[Response]) -> Iterator[str]:
    """What the first pages say against the declared paginator."""
    paginator = endpoint.paginator
    if answers and answers[0].status >= _FAILED:
        yield f"HTTP {answers[0].status}, which on_status takes for no rows: is the path right?"
        return
    if not answers or endpoint.format != "json":
        return
    for key in _PLACES:
        path = getattr(paginator, key, None)
        if path is not None and _place(answers[0], path) is None:
            yield f"{key}: the answer has no {path!r}"
    if len(answers) > 1 and answers[0].body == answers[1].body and len(answers[0].body) > 2:
        param = next(
            (
                getattr(paginator, key)
                for key in ("page_param", "offset_param", "cursor_param")
                if hasattr(paginator, key)
            ),
            None,
        )
        yield "the second page repeats the first" + (
            f": the source seems to ignore {param!r}" if param else ""
        )


def paging_remarks(endpoint: spec.Endpoint, answers: list[Response], rows: int) -> Iterator[str]:
    """What may be right, and often is not."""
    paginator = endpoint.paginator
    if not answers:
        return
    for key in _NEXT:
        path = getattr(paginator, key, None)
        if (
            path is not None
            and endpoint.format == "json"
            and len(answers) == 1
            and _place(answers[0], path) is None
        ):
            yield f"{key}: the answer has no {path!r}, so that it counts as the last page"
    size = getattr(paginator, "page_size", None)
    if size is not None and len(answers) > 1 and 0 < rows < size:
        yield f"page_size: {size} asked for, and {rows} came: the source caps its pages"
    if isinstance(paginator, spec.Auto) and len(answers) == 1 and _is_usual_size(rows):
        told = told_more(answers[0].body, parse_path(endpoint.data_selector), answers[0].headers)
        if not told.says_no and (told.total is None or told.total.rows != rows):
            yield (
                f"exactly {rows:,} rows came, and nothing says whether there are more: where there are, declare the "
                "paginator; `paginator: single_page` says that these are all"
            )


def _is_usual_size(rows: int) -> bool:
    """Whether so many rows are more likely the first page of several than all there are."""
    return rows in _SIZES or (rows > 0 and rows % 100 == 0)


def _place(answer: Response, path: str) -> Any:
    """What is at a place of an answer; None where there is nothing, or null.

    Answers that are no JSON say nothing.
    """
    try:
        value = first(answer.body, parse_path(path))
    except MalformedJSON:
        return ""
    return None if value is None or kind_of(value) == "n" else value
