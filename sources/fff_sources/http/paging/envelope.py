"""What an answer says, beside its records, of pages that follow: in the words of `conventions`, where a spec names none.

The words stand in the objects around the records (along the selector), some steps below these under a usual
name (`meta`, `pagination`, …), in a list of links, and in header fields. A record itself is never read so:
what it says is data.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fff.structs import Struct, field, lazy_pattern
from fff_sources.http.paging import conventions
from fff_sources.http.paging.conventions import normal
from fff_sources.http.paging.surroundings import FIRST_UNTOLD, Counts, Object, objects_around, objects_of
from fff_sources.http.response.json import MalformedJSON
from fff_sources.http.response.jsonpath import Envelope, JsonPath, envelope

_NAMES = lazy_pattern(rb'"([^"\\]{1,40})"\s*:')
_EDGE = 4096  # bytes at both ends of a body, where what surrounds the records stands
_URL = lazy_pattern(r"[A-Za-z][\w+.-]*://|/|\?|\.{1,2}/|[\w./-]+\?[\w.~%\[\]-]+=")
_NUMBER = lazy_pattern(r"([0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.0+)?")
_LISTS = 2  # in each other, at most, for a total to count one of them and nothing between
_LONGEST_SENTENCE = 100  # characters, of one that tells how many there are
_LONGEST_NUMBER = 12  # digits, of one that is written as text
_NOTHING = ("", "null", "none", "false", "0", "-1", 0, -1, False, None)


def looks_like_url(text: str) -> bool:
    """Whether a text is a URL or a part of one, and no cursor."""
    return _URL.match(text) is not None


class NextPage(Struct, frozen=True):
    """The next page as an answer names it.

    `body` is what to send with POST; `merge`: on top of what was sent.
    """

    url: str
    method: str | None = None
    body: object = None
    merge: bool = False


class Total(Struct, frozen=True):
    """How many records there are in all, by a word.

    `exact` is false where the answer calls it an estimate.
    """

    word: str
    rows: int
    exact: bool = True
    or_more: bool = False  # it is no more than a bound


_CERTAIN_TOTAL = len(conventions.PLAIN_TOTALS) + 1  # the rank of a word that means a total wherever it stands

#: The object's name, the word, and its value.
_Member: TypeAlias = tuple[str, str, object]


class PagingHints(Struct, frozen=True):
    """The usual words of one answer; words stand before what they say."""

    has_more: tuple[str, bool] | None = None
    link: NextPage | None = None
    next: tuple[str, object] | None = None  # a value that is not empty
    perhaps_next: tuple[str, object] | None = None  # the same, which may tell the place of this page
    cursor: tuple[str, object] | None = None  # the parameter that it goes into, and the value
    spread: Mapping[str, object] = field(default_factory=dict)  # parameters that lead to the next page
    resumption: str | None = None  # of OAI-PMH
    total: Total | None = None  # of records
    perhaps_total: Total | None = None  # that, or something else
    perhaps_left: tuple[str, int] | None = None  # a number of records that are left, or something else
    spoken: str | None = None  # in words and numbers, that there is more
    pages: tuple[str, int] | None = None
    pages_exact: bool = True
    # The parameter that asks for pages, and the number of this one.
    page: tuple[str, int | None] | None = None
    offset: tuple[str, int] | None = None  # the same, and the place of its first record
    length: int | None = None  # of a page at most, where the place of this one is told

    @property
    def says_no(self) -> bool:
        """Whether the answer says that nothing follows."""
        return self.has_more is not None and not self.has_more[1]

    def sign(self, received: Counts) -> str | None:
        """What says for certain that there are more than so many records."""
        if self.says_no:
            return None
        return self.leads_on() or self.total_sign(received)

    def total_sign(self, received: Counts) -> str | None:
        """What says for certain, by its number, that there are more records or pages."""
        if self.page is not None and self.page[1] in (0, 1) and self.pages is not None and self.pages[1] > 1:
            return f"page {self.page[1]} of {self.pages[1]}"
        return _part_of(self.total, received)

    def part_sign(self, received: Counts, pages: int) -> str | None:
        """What says by its number that there are more than so many records on so many pages."""
        if self.pages is not None and self.pages_exact and self.pages[1] > pages:
            return f"{pages} of {self.pages[1]} by {self.pages[0]!r}"
        total = self.total or self.perhaps_total
        return _part_of(total, received) if total is not None and total.exact else None

    def records_sign(self, received: Counts) -> str | None:
        """The same by a number alone that is of all records, and exact."""
        return _part_of(self.total, received) if self.total is not None and self.total.exact else None

    def leads_on(self) -> str | None:
        """What says for certain that a page follows, whatever the totals."""
        if self.has_more is not None:
            return repr(self.has_more[0]) if self.has_more[1] else None
        if self.next is not None:
            return repr(self.next[0])
        if self.link is not None:
            return "next link"
        return repr(conventions.SPREAD) if self.spread else None

    def hint(self, received: Counts) -> str | None:
        """The same as `sign`, where words may as well mean something else."""
        certain = self.sign(received)
        if certain is not None or self.says_no:
            return certain
        if self.pages is not None and self.pages[1] > 1:
            return f"{self.pages[1]} by {self.pages[0]!r}"
        if (part := _part_of(self.perhaps_total, received)) is not None:
            return part
        if self.total is not None and self.total.or_more and any(received):
            return f"at least {self.total.rows} by {self.total.word!r}"
        known = self.total is not None and self.total.exact
        if self.perhaps_left is not None and not known:
            return f"{self.perhaps_left[1]} by {self.perhaps_left[0]!r}"
        if self.spoken is not None:
            return self.spoken
        return repr(self.perhaps_next[0]) if self.perhaps_next and any(received) and not known else None


_SPEAKING = (
    conventions.MORE, conventions.LAST, conventions.NEXT, conventions.TOTAL, conventions.PAGES,
)  # fmt: skip
#: What most answers to lookups say.
SILENT = PagingHints()


def _part_of(total: Total | None, received: Counts) -> str | None:
    if total is None or total.rows <= (came := received.of(total.rows)):
        return None
    return f"{came} of {total.rows} by {total.word!r}"


def mentions_more(body: bytes) -> bool:
    """Whether one of the words may stand around the records at all; quick, for bodies of any length."""
    names = {name for part in (body[:_EDGE], body[-_EDGE:]) for name in _NAMES.findall(part)}
    return any(_speaks(normal(name.decode(errors="replace"))) for name in names)


def _speaks(word: str) -> bool:
    if word in (*conventions.RELATIONS, conventions.SPREAD, "total", "count"):
        return True
    return any(words.fullmatch(word) is not None for words in _SPEAKING)


def told_more(body: bytes, selector: JsonPath, headers: Mapping[str, str] | None = None) -> PagingHints:
    """What an answer says whose records are at the selector of its JSON; a body that is none says nothing."""
    opened = None
    with contextlib.suppress(MalformedJSON):  # whoever reads the records says so
        opened = envelope(body, selector)
    return told_around(opened, selector, headers or {})


def told_around(opened: Envelope | None, selector: JsonPath, headers: Mapping[str, str]) -> PagingHints:
    """The same of one that has been taken apart along the selector."""
    objects = list(objects_of(headers))
    with contextlib.suppress(MalformedJSON):
        if opened is not None:
            objects = [*objects_around(opened), *objects]
    if not objects:
        return SILENT
    lists = sum(step.kind in ("every", "from") for step in selector.steps)
    return _Words(objects, counted=lists <= _LISTS).hints()


class _Words:
    """The words in the objects around the records. `counted`: what totals count is one of the `Counts`."""

    def __init__(self, objects: Sequence[Object], *, counted: bool) -> None:
        self._objects = objects
        self._counted = counted

    def hints(self) -> PagingHints:
        """All of them."""
        total, perhaps = self._totals() if self._counted else (None, None)
        following = self._first(conventions.NEXT, _says_something)
        return PagingHints(
            has_more=self._more(),
            link=self._link(),
            next=None if following is None else following[1:],
            perhaps_next=self._perhaps_next(),
            cursor=self._cursor(),
            spread=self._spread(),
            resumption=self._resumption(),
            total=total,
            perhaps_total=perhaps,
            perhaps_left=self._perhaps_left(),
            spoken=self._spoken(),
            pages=self._pages(),
            pages_exact=not any(says_estimate(members, "pages") for _, members in self._objects),
            page=self._page(),
            offset=self._offset(),
            length=self._length(),
        )

    def _all(self) -> Iterator[_Member]:
        for container, members in self._objects:
            for name, value in members.items():
                yield container, name, value

    def _first(self, words: re.Pattern[str], fits: Callable[[object], bool]) -> _Member | None:
        return next((one for one in self._all() if fits(one[2]) and words.fullmatch(normal(one[1]))), None)

    def _pages(self) -> tuple[str, int] | None:
        member = self._first(conventions.PAGES, _is_number)
        if member is not None:
            return member[1], number(member[2]) or 0
        for _, members in self._objects:
            if (told := _last_page(members)) is not None:
                return told
        return None

    def _more(self) -> tuple[str, bool] | None:
        left = self._first(conventions.LEFT, _is_number)
        if left is not None:
            return left[1], bool(number(left[2]))
        for words, means in ((conventions.MORE, True), (conventions.LAST, False)):
            for _, name, value in self._all():
                word = normal(name)
                if words.fullmatch(word) is None or (flag := _flag(value, word)) is None:
                    continue
                if flag is means or word not in conventions.NO_END:
                    return name, flag is means
        return None

    # ------------------------------------------------------------------------------------------- what is next

    def _link(self) -> NextPage | None:
        for container, name, value in self._all():
            if isinstance(value, list) and normal(name) in ("link", "links"):
                related = (one for one in value if isinstance(one, dict) and _leads_to_next(one))
                if (
                    link := next((made for one in related if (made := _made(one)) is not None), None)
                ) is not None:
                    return link
            elif normal(name) in ("link", "links") and isinstance(value, dict) and _leads_to_next(value):
                if (link := _made(value)) is not None:  # XML of one link
                    return link
            elif conventions.NEXT.fullmatch(normal(name)) is None:
                continue
            elif isinstance(value, dict | list):
                inner = value[0] if isinstance(value, list) and len(value) == 1 else value
                if isinstance(inner, dict) and (link := _made(inner)) is not None:
                    return link
            elif (
                isinstance(value, str)
                and looks_like_url(value)
                and (container, name) not in conventions.CURSORS_IN
            ):
                return NextPage(value)
        return None

    def _cursor(self) -> tuple[str, object] | None:
        for container, name, value in self._all():
            param = conventions.CURSORS.get(name) or conventions.CURSORS_IN.get((container, name))
            if param is not None and _says_something(value) and not isinstance(value, dict | list):
                return param, value
            if name == "offset" and isinstance(value, str) and value and number(value) is None:
                return name, value  # Airtable's
        return None

    def _perhaps_next(self) -> tuple[str, object] | None:
        for container, name, value in self._all():
            may_be = container != "cursors" and normal(name) in conventions.PERHAPS_NEXT
            if may_be and isinstance(value, str) and _says_something(value):
                return name, value
        return None

    def _perhaps_left(self) -> tuple[str, int] | None:
        for container, name, value in self._all():
            if normal(name) in conventions.PERHAPS_LEFT and not conventions.OF_LIMITS.search(container):
                left = number(value)
                return (name, left) if left else None
        return None

    def _spoken(self) -> str | None:
        for _, name, value in self._all():
            if not isinstance(value, str) or len(value) > _LONGEST_SENTENCE:
                continue
            range_match = conventions.SPOKEN.fullmatch(value.strip())
            here, whole = (
                (range_match[1] or range_match[3], range_match[2] or range_match[4])
                if range_match
                else ("0", "0")
            )
            page = None if range_match else conventions.SPOKEN_PAGE.fullmatch(value.strip())
            if page is not None and (
                page[1] or conventions.PAGES.fullmatch(normal(name)) or normal(name) in conventions.PAGE
            ):
                here, whole = page[2], page[3]
            if (number(here) or 0) < (number(whole) or 0):
                return f"{name}: {value}"
        return None

    def _spread(self) -> Mapping[str, object]:
        for _, name, value in self._all():
            if name == conventions.SPREAD and isinstance(value, dict):
                return value
        return {}

    def _resumption(self) -> str | None:
        for _, name, value in self._all():
            if name == conventions.RESUMPTION:
                text = value.get("#text") if isinstance(value, dict) else value
                if isinstance(text, str) and text:
                    return text
        return None

    # ------------------------------------------------------------------------------------------------- totals

    def _totals(self) -> tuple[Total | None, Total | None]:
        """What is a total for certain, a plain word for it before `total` and `count`; and what may be one."""
        ranked: list[tuple[int, Total]] = []
        for container, members in self._objects:
            words = {normal(name) for name in members}
            beside = (
                bool(words & conventions.BESIDE_TOTAL) or conventions.TALKING.fullmatch(container) is not None
            )
            for name, value in members.items():
                word = normal(name)
                rank = _rank(word)
                if not rank and conventions.PERHAPS_TOTAL.fullmatch(word) is None:
                    continue
                sure = beside or rank == _CERTAIN_TOTAL or isinstance(value, dict)
                total = None if isinstance(value, float) and not sure else _total(name, value, members)
                if total is not None:
                    ranked.append((rank if sure else 0, total))
        ranked += [(0, total) for _, name, value in self._all() if (total := _shown(name, value)) is not None]
        certain = max((one for one in ranked if one[0]), key=lambda one: one[0], default=None)
        unsure = [total for rank, total in ranked if not rank]
        return certain and certain[1], max(unsure, key=lambda total: total.rows, default=None)

    def _page(self) -> tuple[str, int | None] | None:
        for container, members in self._objects:
            if container in conventions.JSON_HEADERS:
                continue  # whose parameter has any name
            counted = any(conventions.PAGES.fullmatch(normal(name)) for name in members) or _last_page(
                members
            )
            known = {**conventions.PAGE, **(conventions.PAGE_BESIDE_PAGES if counted else {})}
            for name, value in members.items():
                if normal(name) in known and (value is FIRST_UNTOLD or number(value) is not None):
                    return known[normal(name)] or name, number(value)
        return None

    def _length(self) -> int | None:
        for _, members in self._objects:
            words = {normal(name) for name in members}
            if words & conventions.PAGE.keys() or not conventions.OFFSETS.keys().isdisjoint(members):
                told = (
                    number(value) for name, value in members.items() if normal(name) in conventions.LENGTHS
                )
                return next(filter(None, told), None)
        return None

    def _offset(self) -> tuple[str, int] | None:
        for _, name, value in self._all():
            if name in conventions.OFFSETS and isinstance(value, int) and not isinstance(value, bool):
                return name, value
        return None


def _last_page(members: Mapping[str, object]) -> tuple[str, int] | None:
    """The number of the last page, where that of this one stands beside."""
    words = {normal(name): name for name in members}
    for this, last in conventions.PAGES_BESIDE:
        if this in words and last in words and number(members[words[this]]) is not None:
            pages = number(members[words[last]])
            return None if pages is None else (words[last], pages)
    return None


def says_estimate(members: Mapping[str, object], word: str) -> bool:
    """Whether a total with that name is no more than an estimate, by its name or by what stands beside it."""
    if "approx" in normal(word) or "estimat" in normal(word):
        return True
    for name, value in members.items():
        estimate = conventions.ESTIMATED.search(normal(name))
        if estimate is not None and (flag := _flag(value)) is not None and flag is (estimate[0] != "exact"):
            return True
        if name == conventions.RELATION and isinstance(value, str) and value.lower() not in ("eq", "exact"):
            return True
    return False


def _rank(word: str) -> int:
    """How likely a word means a total, where it is one of those that do."""
    if conventions.TOTAL.fullmatch(word):
        return _CERTAIN_TOTAL
    plain = conventions.PLAIN_TOTALS
    return len(plain) - plain.index(word) if word in plain else 0


def _shown(name: str, value: object) -> Total | None:
    """What a sentence says of the number of records."""
    if not isinstance(value, str) or len(value) > _LONGEST_SENTENCE:
        return None
    match = conventions.SHOWN.fullmatch(value.strip())
    return None if match is None else Total(name, number(match[1]) or 0)


def _total(name: str, value: object, members: Mapping[str, object]) -> Total | None:
    """What a member says of the number of records; Elasticsearch and some that write XML as JSON write it as an object."""
    inner = value if isinstance(value, dict) else {}
    rows = next(
        (amount for key in conventions.NUMBERS if (amount := number(inner.get(key))) is not None),
        number(value),
    )
    if rows is None:
        return None
    bound = inner.get(conventions.RELATION, members.get(conventions.RELATION))
    exact = not says_estimate(members, name) and not says_estimate(inner, "value")
    return Total(name, rows, exact, or_more=isinstance(bound, str) and bound.lower() in conventions.AT_LEAST)


def _leads_to_next(link: Mapping[str, object]) -> bool:
    relations = (link.get(name) for name in conventions.RELATIONS)
    names = (str(one) for value in relations for one in (value if isinstance(value, list) else [value]))
    return any("next" in name.lower().rpartition("/")[2].split() for name in names)


def _made(link: Mapping[str, object]) -> NextPage | None:
    """The link an object writes; None where it holds no URL that can be followed."""
    url = next(
        (
            url
            for name in conventions.HREFS
            for key in (name, f"@{name}")
            if isinstance(url := link.get(key), str)
        ),
        None,
    )
    if not url or link.get("templated") is True:
        return None
    method = link.get("method")
    asks = method.upper() if isinstance(method, str) else None
    return NextPage(url, asks, link.get("body") if asks == "POST" else None, link.get("merge") is True)


def _flag(value: object, word: str = "") -> bool | None:
    """Yes or no; also as a number, where the word asks for a truth."""
    if isinstance(value, bool):
        return value
    known = _FLAGS if conventions.ASKING.fullmatch(word) else _TRUTHS
    return known.get(str(value).lower()) if isinstance(value, str | int) else None


_TRUTHS: dict[str, bool] = {"true": True, "false": False}
_FLAGS: dict[str, bool] = (
    _TRUTHS | dict.fromkeys(("yes", "y", "t", "1"), True) | dict.fromkeys(("no", "n", "f", "0"), False)
)


def _says_something(value: object) -> bool:
    """Whether a member says something: an object does where one of its own members is given."""
    if isinstance(value, dict):
        return any(_says_something(one) for name, one in value.items() if not name.startswith("@"))
    return bool(value) and value is not FIRST_UNTOLD and str(value).strip().lower() not in _NOTHING


def _is_number(value: object) -> bool:
    return number(value) is not None


def number(value: object) -> int | None:
    """A whole number, also one that is written as text or with nothing behind its point; None of anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if value >= 0 and value == value // 1 else None
    text = value.get("#text") if isinstance(value, dict) else value
    if isinstance(text, str) and len(text) < _LONGEST_NUMBER and (match := _NUMBER.fullmatch(text.strip())):
        return int(match[1].replace(",", ""))
    return None
