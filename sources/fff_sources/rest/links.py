"""Pages that name the next one by its URL, in the body or in the Link header."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urljoin

from fff_sources.rest.jsonpath import JsonPath
from fff_sources.rest.paginators import Answer, Ask, Chained, PaginationError

_URL = re.compile(r"[A-Za-z][\w+.-]*://|/|\?|\.{1,2}/|[\w./-]+\?[\w.~%\[\]-]+=")


def looks_like_url(text: str) -> bool:
    """Whether a text is a URL or a part of one, and no cursor."""
    return _URL.match(text) is not None


class NextLink(Chained):
    """The URL of the next page, from the body, from the Link header, or (auto) from wherever it is.

    `wanted` tells URLs from other texts at the places in the body; objects with a `href` always hold one.
    """

    def __init__(
        self,
        paths: Sequence[JsonPath],
        *,
        header: bool,
        first_params: Mapping[str, str],
        total_path: JsonPath | None = None,
        relation: str = "next",
        wanted: Callable[[str], bool] = bool,
    ) -> None:
        self._wanted = wanted
        self._relation = relation.lower()
        self._first_params = first_params
        self._paths = paths
        self._header = header
        self._total_path = total_path
        self._seen: set[str] = set()

    def start(self) -> Ask:
        """The endpoint with its page size; the URLs that follow carry their own."""
        return Ask(self._first_params)

    def after(self, ask: Ask, answer: Answer) -> Ask | None:  # noqa: ARG002
        """The next URL; None where there is none."""
        self._seen.add(answer.url)
        url = self._next(answer)
        if url is None:
            return None
        try:
            url = urljoin(answer.url, url)
        except ValueError as error:
            raise PaginationError("the URL of the next page is none") from error
        if url in self._seen:
            raise PaginationError("the URL of the next page came a second time")
        self._seen.add(url)
        return Ask(url=url)

    def total(self, answer: Answer) -> int | None:
        """The total the answer tells; nothing rests on it."""
        return answer.count_at(self._total_path)

    def _next(self, answer: Answer) -> str | None:
        if self._header and (url := link_next(answer.headers.get("link", ""), self._relation)) is not None:
            return url
        for path in self._paths:
            found = answer.at(path)
            if isinstance(found, dict):
                found = found.get("href")  # HAL and JSON:API write links as objects
                if isinstance(found, str) and found:
                    return found
            if isinstance(found, str) and found and self._wanted(found):
                return found
            if found and not self._header:
                raise PaginationError(f"{path.text!r} is {found!r}, not a URL")
        return None


_LINK = re.compile(r'<([^>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*(?:"(?:[^"\\]|\\.)*"|[^\s",;]+))?)*)')
_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]+))', re.IGNORECASE)


def link_next(header: str, relation: str = "next") -> str | None:
    """The target of rel="next" (or another relation) in a Link header (RFC 8288), or None."""
    for match in _LINK.finditer(header):
        rel = _REL.search(match[2])
        if rel is not None and relation in (rel[1] or rel[2] or "").lower().split():
            return match[1].strip()
    return None
