"""Answers that redirects led to: whether they are still about what was asked for.

Rows that leave out the key take the one that was asked for: redirects mostly lead to another name of the
same thing. Where one leads to no thing at all (to the root, to the list above), or to where another key's
led, what comes is somebody else's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import unquote_plus, urlsplit

from fff.errors import SourceError
from fff.structs import Struct, field, lazy_pattern
from fff.web.addresses import full_url
from fff.web.types import Request, Response
from fff_sources.http.templates import text_of

if TYPE_CHECKING:
    from fff_sources.http.response.bodies import DecodedBlock

Fill: TypeAlias = Mapping[str, object]
_PLACES = 1_000  # that are remembered; one that is no answer comes again soon
#: Where a path ends that leads to no thing.
_NO_THING = lazy_pattern(r"(?:log|sign)[-_]?in|errors?|404|not[-_]?found", re.IGNORECASE)


class LostKey(NamedTuple):
    """The columns that are not filled, as the redirect evidently lost them, and how."""

    names: Sequence[str]
    how: str


Filling: TypeAlias = Callable[[Fill | None, Response], tuple[Fill | None, LostKey | None]]


class Redirects(Struct):
    """Where the redirects of one access method led, by digest, and for which values: None for several."""

    _places: dict[int, object] = field(default_factory=dict)

    def filling(
        self, fill: Fill | None, response: Response, *, apart: bool = False
    ) -> tuple[Fill | None, LostKey | None]:
        """What rows of an answer take that do not have it: NULL for what a redirect has evidently lost.

        `apart`: the answer is one of a few, for each of which its place is remembered, redirect or not.
        """
        if not fill or (response.led is None and not apart):
            return fill, None
        shared = self._is_shared(response.url, tuple(map(_squeezed, map(text_of, fill.values()))))
        if response.led is None:
            return fill, None
        asked, went = response.led
        before, after = _said(asked), _said(went)
        gone = [
            name
            for name, value in fill.items()
            if _names(before, key := text_of(value)) and not _names(after, key)
        ]
        if not gone or not (shared or _leads_to_none(asked, went)):
            return fill, None
        names = " and ".join(gone)
        how = f"redirects led from several values of {names} to one place"
        return {**fill, **dict.fromkeys(gone)}, LostKey(
            gone, how if shared else f"a redirect led away from {names}"
        )

    def _is_shared(self, url: str, values: object) -> bool:
        """Whether a place came for other values, too."""
        place = hash(url)
        before = self._places.pop(place, values)
        self._places[place] = values if before == values else None
        if len(self._places) > _PLACES:
            del self._places[next(iter(self._places))]
        return before != values


def owned(
    blocks: Iterable[DecodedBlock], lost: LostKey | None, error: Callable[..., SourceError]
) -> Iterable[DecodedBlock]:
    """Rows that say themselves what a redirect has lost. Raises SourceError for others."""
    return blocks if lost is None else _owned(blocks, lost, error)


def _owned(
    blocks: Iterable[DecodedBlock], lost: LostKey, error: Callable[..., SourceError]
) -> Iterator[DecodedBlock]:
    for block in blocks:
        rows = block.rows
        if len(rows) and any(
            name not in rows.schema.names or rows.column(name).null_count for name in lost.names
        ):
            hint = (
                "where its rows say it, declare the path of the column; where all redirects of this status mean that "
                "there are no rows, declare it in on_status; else ask the place that the redirect leads to"
            )
            raise error(f"{lost.how}, and its rows do not say whose they are", hint=hint)
        yield block


def _leads_to_none(asked: Request, went: Request) -> bool:
    """Whether a redirect without the key leads to the root, to what stands above in the path, to a page for people."""
    before, after = ([part for part in urlsplit(one.url).path.split("/") if part] for one in (asked, went))
    if after and _NO_THING.fullmatch(after[-1]):
        return True
    # What was found of a question that was posted has a query.
    posted = asked.method != went.method and urlsplit(went.url).query
    return after == before[: len(after)] and not (after and posted)


def _said(request: Request) -> str:
    """The words of a request beside its host."""
    parts = urlsplit(full_url(request))
    bodies = request.json, *(request.form or {}).values()
    texts = [unquote_plus(f"{parts.path} {parts.query}"), *request.headers.values(), *map(str, bodies)]
    return " ".join(texts)


def _names(place: str, key: str) -> bool:
    """Whether a place names a key, however it spells it: `Zoë O'Brien` may be `zoe-obrien`, and 00501 is 501."""
    return any(
        (found := _pattern(_squeezed(key, zeros=zeros))) is not None
        and found.search(f" {' '.join(_plain(place, zeros=zeros))} ") is not None
        for zeros in (True, False)
    )


@lru_cache(maxsize=64)
def _pattern(key: str) -> re.Pattern[str] | None:
    """Finds a key among words, whether or not they are cut within it."""
    return re.compile(f" {' ?'.join(map(re.escape, key))} ") if key else None


def _squeezed(text: str, *, zeros: bool = False) -> str:
    return "".join(_plain(text, zeros=zeros))


def _plain(text: str, *, zeros: bool) -> list[str]:
    """The words of a text without accents and case, `zeros` in front of numbers kept or not."""
    letters = (one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    words = re.findall(r"[^\W_]+", "".join(letters).casefold())
    return words if zeros else [word.lstrip("0") or "0" for word in words]
