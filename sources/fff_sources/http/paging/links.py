"""Pages that name the next one by its URL, in the body or in the Link header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, urljoin, urlsplit

from fff.structs import lazy_pattern
from fff_sources.http.paging import conventions
from fff_sources.http.paging.paginators import (
    Ask,
    Chained,
    CutShortError,
    PageAnswer,
    PaginationError,
    Told,
    TotalAt,
)
from fff_sources.http.response.jsonpath import JsonPath


class LinkPaginator(Chained):
    """The URL of the next page, from a place in the body or, without one, from the Link header.

    There `flag` is a parameter of every such link, and says whether it leads on.
    """

    def __init__(
        self,
        path: JsonPath | None,
        total: TotalAt,
        *,
        first_params: Mapping[str, str],
        relation: str | None = "next",
        flag: str | None = None,
    ) -> None:
        self._path = path
        self._total = total
        self._relation = relation.lower() if relation is not None else None
        self._flag = flag
        self._first_params = first_params
        self._seen: set[str] = set()

    def start(self) -> Ask:
        """The endpoint with its page size; the URLs that follow carry their own."""
        return Ask(self._first_params)

    def after(self, ask: Ask, answer: PageAnswer) -> Ask | None:  # noqa: ARG002
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
        return Ask(url=url, origin=answer.url)

    def total(self, answer: PageAnswer) -> Told | None:
        """The total the answer tells; nothing rests on it."""
        return self._total.total(answer)

    def _next(self, answer: PageAnswer) -> str | None:
        if self._path is None:
            return self._next_of_header(answer)
        link = answer.at(self._path)
        if self._relation is not None:
            link = of_relation(link if isinstance(link, list) else [link], self._relation)
        if isinstance(link, dict):
            words = _TARGETS if self._relation is not None else _TARGETS[:1]
            link = next((link[word] for word in words if word in link), link)
        if not link or (isinstance(link, str) and not link.strip()):
            return None
        if not isinstance(link, str):
            raise PaginationError(f"{self._path.text!r} is {link!r}, not a URL")
        return link

    def _next_of_header(self, answer: PageAnswer) -> str | None:
        link = _link_of(answer.headers.get("link", ""), self._relation or "next")
        if self._flag is None or not answer.body:  # the status alone says that there are no rows
            return None if link is None else link[0]
        flag = None if link is None else link[1].get(self._flag.lower())
        if link is None or flag is None:
            raise PaginationError(f"the Link header has no next link that says {self._flag!r}")
        return link[0] if is_yes(flag) else None


def is_yes(flag: object) -> bool:
    """What a flag says, also one that is written as text or as a number."""
    if isinstance(flag, int | float | list | dict):
        return bool(flag)
    return str(flag).strip().lower() not in _NO


_NO = frozenset(("", "false", "f", "no", "n", "0", "off", "none", "null"))
Link = TypeVar("Link")
_TARGETS = ("href", "@href", "url", "uri")  # HAL and JSON:API write links as objects, and so do others
_RELATIONS = ("rel", "@rel", "relation")


def of_relation(links: list[object], relation: str) -> object:
    """The first link of a relation, or None."""
    related = []
    for link in links:
        if isinstance(link, dict):
            rels = next((link[word] for word in _RELATIONS if word in link), "")
            related.append((map(str, rels) if isinstance(rels, list) else str(rels).split(), link))
    return _first_of(relation, related)


_REGISTERED = lazy_pattern(r"^https?://www\.iana\.org/assignments/(?:link-relations|relation)/")


def _first_of(relation: str, related: Iterable[tuple[Iterable[str], Link]]) -> Link | None:
    """The first that has a relation by its name; else by the URI that IANA's registry gives it: any other has a meaning of its own."""
    by_uri = None
    for rels, link in related:
        words = [word.lower() for word in rels]
        if relation in words:
            return link
        if by_uri is None and any(_REGISTERED.sub("", word) == relation for word in words):
            by_uri = link
    return by_uri


_VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s",;]+)"""
_LINK = lazy_pattern(rf"<([^>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*{_VALUE})?)*)")
_PARAM = lazy_pattern(rf";\s*([\w*-]+)\s*(?:=\s*({_VALUE}))?")
#: The same in a field that is not written as RFC 8288 has it.
_MEANS_NEXT = lazy_pattern(r"""\brel\s*=\s*["']?(?:[^"',;]*\s)?next\b""", re.IGNORECASE)


def link_next(header: str) -> str | None:
    """The target of rel="next" in a Link header (RFC 8288), or None."""
    link = _link_of(header, "next") if header else None
    return None if link is None else link[0]


def last_page(header: str, url: str) -> int | None:
    """The number of the page that rel="last" in a Link header leads to, where it is behind the one at `url`."""
    link = _link_of(header, "last") if header else None
    if link is None:
        return None
    try:
        there, here = (dict(parse_qsl(urlsplit(one).query)) for one in (urljoin(url, link[0]), url))
    except ValueError:
        return None
    for name in conventions.PAGE_PARAMS:
        if name in there and there[name].isdecimal() and here.get(name, "1").isdecimal():
            return int(there[name]) if int(there[name]) > int(here.get(name, "1")) else None
    return None


def lead_on(following: Ask | None, answer: PageAnswer, choosing: Iterable[str]) -> None:
    """Raises CutShortError where a link leaves out a parameter that said which rows are meant, and says nothing in its place."""
    if following is None or following.url is None or not choosing:
        return
    here, there = urlsplit(answer.url), urlsplit(following.url)
    asked, says = (dict(parse_qsl(one.query, keep_blank_values=True)) for one in (here, there))
    new = [name for name in says if name not in asked]
    if there.path != here.path or not all(name in _PLACES and says[name].isdecimal() for name in new):
        return
    if lost := [name for name in choosing if name in asked and name not in says]:
        names = " and ".join(map(repr, sorted(lost)))
        raise CutShortError(f"the link to the next page leaves out {names}, by which rows were asked for")


_PLACES = frozenset((*conventions.PAGE_PARAMS, *conventions.OFFSET_PARAMS, *conventions.SIZE_PARAMS))


def _link_of(header: str, relation: str) -> tuple[str, dict[str, str]] | None:
    """The first link of a relation: its target and its parameters, of which the first of a name counts."""
    links = []
    for match in _LINK.finditer(header):
        pairs = [(param[1].lower(), (param[2] or "").strip("\"'")) for param in _PARAM.finditer(match[2])]
        params = dict(reversed(pairs))
        links.append((params.get("rel", "").split(), (match[1].strip(), params)))
    return _first_of(relation, links)


def speaks_of_next(header: str) -> bool:
    """Whether a Link header has a next page at all, also where nothing can follow it."""
    return bool(header) and (link_next(header) is not None or _MEANS_NEXT.search(header) is not None)
