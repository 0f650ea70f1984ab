"""Answers that redirects led to: whether they are still about what was asked for.

Rows that leave out the key take the one that was asked for. Where a redirect has lost that (to the root, or
to a list of all things), what comes is somebody else's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote_plus, urlsplit

from fff.errors import SourceError
from fff.web.addresses import full_url
from fff.web.types import Request, Response
from fff_sources.http.response.bodies import DecodedBlock
from fff_sources.http.templates import text_of

Fill = Mapping[str, object]


def filling(fill: Fill | None, response: Response) -> tuple[Fill | None, Sequence[str]]:
    """What rows of an answer take that do not have it, and the columns apart that a redirect has lost."""
    if response.led is None or not fill:
        return fill, ()
    before, after = map(_said, response.led)
    words = {name: _words(text_of(value)) for name, value in fill.items()}
    gone = [name for name, text in words.items() if text in before and text not in after]
    return {name: value for name, value in fill.items() if name not in gone}, gone


def owned(
    blocks: Iterable[DecodedBlock], gone: Sequence[str], error: Callable[..., SourceError]
) -> Iterator[DecodedBlock]:
    """Rows that say themselves what a redirect has lost. Raises SourceError for others."""
    for block in blocks:
        rows = block.rows
        if len(rows) and any(name not in rows.schema.names or rows.column(name).null_count for name in gone):
            message = f"a redirect led away from {' and '.join(gone)}, and its rows do not say whose they are"
            raise error(message, hint="where it says that there are no rows, declare its status in on_status")
        yield block


def _said(request: Request) -> str:
    """The words of a request beside its host."""
    parts = urlsplit(full_url(request))
    bodies = request.json, *(request.form or {}).values()
    texts = [unquote_plus(f"{parts.path} {parts.query}"), *request.headers.values(), *map(str, bodies)]
    return _words(" ".join(texts))


def _words(text: str) -> str:
    """A text as places spell it: `Zoë Müller` may be `zoë-müller`, and 00501 is 501."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())
    return f" {' '.join(word.lstrip('0') or '0' for word in words)} "
