"""Behaviours of sequences of pages: repetitions, gaps, totals, links, and sources that change while they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fff.structs import replace
from tests.faults.behaviour import (
    PAGES_ALONE,
    SCANS,
    Bag,
    Behaviour,
    at_strike,
    bag_of,
    behind_strike,
    has_pages,
    members,
)
from tests.faults.site import ROWS, Page, Row, Turn, World, row

Select = Callable[[Turn, list[Row]], list[Row]]
Change = Callable[[Turn, Page], None]


def _of_page(number: Callable[[Turn], int]) -> Select:
    """The page asked for has the records of another."""

    def select(turn: Turn, rows: list[Row]) -> list[Row]:
        size, wanted = turn.world.size, number(turn)
        if wanted == turn.index:
            return rows
        missing = [{}] * max(0, turn.position - len(rows))  # behind the last page stands just that page
        moved = [*rows, *missing]
        moved[turn.position : turn.position + size] = rows[wanted * size : wanted * size + size]
        return moved

    return select


def _before(turn: Turn) -> int:
    return turn.index - 1 if turn.index == turn.world.strike + 1 else turn.index


def _stuck(turn: Turn) -> int:
    return min(turn.index, turn.world.strike)


def _ever_on(fresh: bool) -> Change:
    """There is always a next page."""

    def changed(turn: Turn, page: Page) -> None:
        page.go_on(turn.position + page.size)
        if fresh:
            page.extra["served"] = f"{turn.number} ms"

    return changed


def _first_again(turn: Turn, page: Page) -> None:
    page.extra["served"] = f"{turn.number} ms"
    page.token = f"c{page.following}.{turn.number}"
    page.url += f"&nonce={turn.number}"


def _last_again(turn: Turn, rows: list[Row]) -> list[Row]:
    """Behind the last page comes the last page."""
    if turn.position < len(rows):
        return rows
    size = turn.world.size
    last = (len(rows) - 1) // size * size
    return rows[:last] + [{}] * (turn.position - last) + rows[last:] if rows else rows


def _empty(turn: Turn, page: Page) -> None:
    page.records = []


def _no_more(turn: Turn, page: Page) -> None:
    page.following = None


def _ends(turn: Turn, page: Page) -> None:
    """From here on there is nothing, and nothing is said to follow."""
    page.records, page.following = [], None


def _long(turn: Turn, page: Page) -> None:
    page.records = [*page.records, *({**one, "id": one["id"] + 1000} for one in page.records[:2])]


def _circle(turn: Turn, page: Page) -> None:
    page.go_on(max(0, turn.position - page.size))
    page.after = 0


def _itself(turn: Turn, page: Page) -> None:
    page.go_on(turn.position)
    page.after = int(turn.asked.first("after", "0"))


def _elsewhere(turn: Turn, page: Page) -> None:
    page.url = "http://other.invalid" + page.url


def _insecure(turn: Turn, page: Page) -> None:
    page.url = "http://faults.invalid" + page.url


def _token_of(token: object) -> Change:
    def changed(turn: Turn, page: Page) -> None:
        page.token = token  # type: ignore[assignment]

    return changed


def _url_of(url: object) -> Change:
    def changed(turn: Turn, page: Page) -> None:
        page.url = url  # type: ignore[assignment]

    return changed


def _overlap(turn: Turn, rows: list[Row]) -> list[Row]:
    """From one page on each begins one row too early."""
    place = turn.world.strike * turn.world.size
    if turn.index < turn.world.strike or place >= len(rows):
        return rows
    return [*rows[:place], rows[place - 1], *rows[place:]]


def _gap(turn: Turn, rows: list[Row]) -> list[Row]:
    """From one page on each begins one row too late."""
    place = turn.world.strike * turn.world.size
    return rows if turn.index < turn.world.strike else [*rows[:place], *rows[place + 1 :]]


def _unsorted(turn: Turn, rows: list[Row]) -> list[Row]:
    """Every page is cut from another order of the rows."""
    turned = turn.index * 3 % max(1, len(rows))
    return [*rows[turned:], *rows[:turned]] if turn.index else rows


def _capped(limit: int) -> Change:
    """No page has more records than that; what follows begins behind them."""

    def changed(turn: Turn, page: Page) -> None:
        if len(page.records) > limit:
            page.cut(limit)

    return changed


def _window(turn: Turn, page: Page) -> None:
    """No page behind the first rows has any, as where a source goes no deeper."""
    if turn.index > turn.world.strike:
        page.records, page.following = [], None


def _two_of_a_key(other: Row) -> Select:
    """One row comes once more on a later page, otherwise."""

    def select(turn: Turn, rows: list[Row]) -> list[Row]:
        return [*rows, *([other] if not turn.keys or other["grp"] in turn.keys else [])]

    return select


def _either(other: Row) -> Callable[[Bag, World], bool]:
    """By its key one of the two rows; both where there is none."""

    def judge(found: Bag, world: World) -> bool:
        both = bag_of((*ROWS, other), world)
        if not world.keyed:
            return found == both
        return (
            found <= both and len({one[0] for one in found}) == found.total() == bag_of(ROWS, world).total()
        )

    return judge


def _late(turn: Turn) -> bool:
    """The source has changed: in the order of pages, not of requests, several of which may be under way."""
    return turn.index > turn.world.strike


_OTHER = {**row(11), "name": "another name"}
_NEW = {**row(58), "id": 0, "name": "new"}
_END = row(58)


def _total(number: Callable[[Turn, Page], Any]) -> Change:
    def changed(turn: Turn, page: Page) -> None:
        page.total = number(turn, page)

    return changed


def _tells(world: World) -> bool:
    return world.dialect.tells is not None


def _declares(world: World) -> bool:
    return world.dialect.name.endswith(", rows")


_TOTALS = {"where": _tells, "because": "answers tell no total"}
_PAGED = {"where": has_pages, "because": PAGES_ALONE}
_LINKED = {"where": lambda w: w.dialect.linked, "because": "nothing is said of the next page"}
_URLS = {"where": lambda w: w.dialect.style == "start", "because": "answers hold no URL"}
_COUNTED = {
    "where": lambda w: w.dialect.style in ("page", "offset"),
    "because": "no page is asked for by its number",
}
_CURSOR = {"where": lambda w: w.dialect.style == "cursor", "because": "answers hold no cursor"}

PAGES = tuple(
    replace(one, group="Pages")
    for one in (
        Behaviour("which page is asked for is not heard", deaf=True, anywhere=True, **_PAGED),
        Behaviour("the same page for ever", select=_of_page(lambda turn: 0), page=_ever_on(False), anywhere=True, **_PAGED),
        Behaviour("the same records for ever, else fresh", select=_of_page(lambda turn: 0), anywhere=True,
                  page=lambda turn, page: (_ever_on(True)(turn, page), _first_again(turn, page))[0], **_PAGED),
        Behaviour("one page, then that one for ever", select=_of_page(_stuck), page=_ever_on(True), **_PAGED),
        Behaviour("one page repeats the one before", select=_of_page(_before), anywhere=True, **_PAGED),
        Behaviour("one page repeats the one before, else fresh", select=_of_page(_before), page=_first_again, **_PAGED),
        Behaviour("the last page again behind the last", select=_last_again, **_COUNTED),
        Behaviour("a next page for ever, all empty", page=lambda turn, page: (
            _ever_on(True)(turn, page), _first_again(turn, page))[0], **_LINKED),
        Behaviour("links in a circle", page=behind_strike(_circle), **_LINKED),
        Behaviour("a page that follows itself", page=behind_strike(_itself), **_LINKED),
        Behaviour("a link to another host", page=_elsewhere, **_URLS),
        Behaviour("a link from https to http", page=_insecure, secure=True, **_URLS),
        Behaviour("a link that is no URL", page=at_strike(_url_of("http://[")), **_URLS),
        Behaviour("an object for a link", page=at_strike(_url_of({"page": 4})),
                  where=lambda w: w.dialect.style == "start" and w.dialect.body, because="the URL stands in no document"),
        Behaviour("an object for a cursor", page=at_strike(_token_of({"offset": 30})), **_CURSOR),
        Behaviour("false for a cursor", page=at_strike(_token_of(False)), lower=ROWS, **_CURSOR),
        Behaviour("nothing follows, too early", page=at_strike(_no_more), **_LINKED),
        Behaviour("an empty page amid others", page=at_strike(_empty), anywhere=True, **_PAGED),
        Behaviour("empty pages from one on", page=behind_strike(_ends), **_PAGED),
        Behaviour("a window on the first rows", page=_window, **_PAGED),
        Behaviour("pages shorter than asked for", page=_capped(4), sound=True,
                  where=lambda w: w.dialect.linked or (w.dialect.style == "offset" and w.access in SCANS),
                  because="numbers of pages count pages as they are asked for"),
        Behaviour("one page shorter than it is", page=at_strike(lambda turn, page: setattr(page, "records", page.records[:-1])), **_PAGED),
        Behaviour("a page longer than asked for", page=at_strike(_long), judge=lambda found, world: True, **_PAGED),
        Behaviour("a row twice, on two pages", select=_overlap, **_PAGED, upper=(*ROWS, *ROWS),
                  judge=lambda found, world: found == bag_of(ROWS, world)),
        Behaviour("one row left out between two pages", select=_gap, **_PAGED),
        Behaviour("each page of another order", select=_unsorted, accesses=SCANS,
                  where=lambda w: w.dialect.paged and w.dialect.style != "keyset", because="keysets need one order"),
        Behaviour("rows of a page in another order", page=lambda turn, page: page.records.reverse(),
                  sound=True, where=lambda w: w.dialect.paged and w.dialect.style != "keyset", because="keysets need it"),
        Behaviour("two rows of one key that differ", select=_two_of_a_key(_OTHER), judge=_either(_OTHER), warned=True,
                  where=lambda w: w.keyed, because="without a key these are two rows"),
        Behaviour("a table with equal rows", rows=(*ROWS, row(3), row(9)), sound=True,
                  where=lambda w: not w.keyed and w.dialect.style != "keyset", because="with a key these are one row"),
        Behaviour("equal rows of one key", rows=(*ROWS, row(3), row(9)), lower=ROWS, upper=ROWS,
                  where=lambda w: w.keyed and w.dialect.style != "keyset", because="without a key these are two rows"),
        Behaviour("a last page that is full", rows=ROWS[:50], sound=True, accesses=SCANS, anywhere=True),
        Behaviour("no rows at all", rows=(), sound=True),
        Behaviour("one page in all", rows=ROWS[:3], sound=True, anywhere=True),
        Behaviour("more: true with nothing behind", page=members(more=True), where=lambda w: "has_more" in w.dialect.name,
                  because="answers do not say so"),
    )
)  # fmt: skip

TOTALS = tuple(
    replace(one, group="Totals")
    for one in (
        Behaviour("a total too low", page=_total(lambda turn, page: 23), accesses=SCANS, anywhere=True, **_TOTALS),
        Behaviour("a total too high", page=_total(lambda turn, page: 93), accesses=SCANS, anywhere=True, **_TOTALS),
        Behaviour("a total that falls", page=_total(lambda turn, page: 57 - turn.index), accesses=SCANS, **_TOTALS),
        Behaviour("a total that grows, and the rows with it", accesses=SCANS,
                  select=lambda turn, rows: rows if _late(turn) else rows[:40], **_TOTALS),
        Behaviour("the number of pages grows", page=_total(lambda turn, page: min(57, turn.position + 20)),
                  accesses=SCANS, **_TOTALS),
        Behaviour("a total of the page", page=_total(lambda turn, page: len(page.records)), accesses=SCANS, **_TOTALS),
        Behaviour("a total of 0", page=_total(lambda turn, page: 0), accesses=SCANS, **_TOTALS),
        Behaviour("a total of -1", page=_total(lambda turn, page: -1), accesses=SCANS, **_TOTALS),
        Behaviour("no total after all", page=_total(lambda turn, page: None), accesses=SCANS, **_TOTALS),
        Behaviour("an estimate too low, called one", accesses=SCANS, page=lambda turn, page: (
            _total(lambda turn, page: 50)(turn, page), members(is_count_exact=False, approximate=True)(turn, page))[0], **_TOTALS),
        Behaviour("an estimate too high, called one", accesses=SCANS, page=lambda turn, page: (
            _total(lambda turn, page: 60)(turn, page), members(is_count_exact=False, approximate=True)(turn, page))[0], **_TOTALS),
        Behaviour("an estimate too low, declared one", accesses=SCANS, page=_total(lambda turn, page: 50),
                  paging={"total": "approximate"}, where=_declares, because="the spec names no total", sound=True),
        Behaviour("an estimate too high, declared one", accesses=SCANS, page=_total(lambda turn, page: 60),
                  paging={"total": "approximate"}, where=_declares, because="the spec names no total", sound=True),
    )
)  # fmt: skip


def _moving(change: Callable[[list[Row]], list[Row]]) -> Select:
    return lambda turn, rows: change(list(rows)) if _late(turn) else rows


CHANGES = tuple(
    replace(one, group="While the source changes", accesses=SCANS)
    for one in (
        Behaviour("a row comes in front", select=_moving(lambda rows: [_NEW, *rows]), upper=(*ROWS, _NEW), **_PAGED),
        Behaviour("a row goes in front", select=_moving(lambda rows: rows[1:]), lower=ROWS[1:], **_PAGED),
        Behaviour("a row comes at the end", select=_moving(lambda rows: [*rows, _END]), upper=(*ROWS, _END), anywhere=True, **_PAGED),
        Behaviour("a row goes at the end", select=_moving(lambda rows: rows[:-1]), lower=ROWS[:-1], anywhere=True, **_PAGED),
        Behaviour("ten rows go in front", select=_moving(lambda rows: rows[10:]), lower=ROWS[10:], **_PAGED),
        Behaviour("one row goes, another comes", select=_moving(lambda rows: [*rows[1:], _END]),
                  lower=ROWS[1:], upper=(*ROWS, _END), **_PAGED),
    )
)  # fmt: skip

_FAILS = at_strike(lambda turn, page: setattr(page, "whole", {"error": "gone"}))

MIRRORS = tuple(
    replace(one, group="Mirrors", accesses=("mirror",), page=_FAILS)
    for one in (
        Behaviour("the second has all", anywhere=True),
        Behaviour("the second has rows of its own", second=(*ROWS, _END), upper=(*ROWS, _END)),
        Behaviour("the second lacks rows of the first", second=ROWS[2:], **_PAGED),
        Behaviour("the second has another value of a row", second=tuple({**one, "name": "x"} if one["id"] == 5 else one for one in ROWS),
                  judge=_either({**row(5), "name": "x"}), warned=True, where=lambda w: w.keyed and w.dialect.paged,
                  because="without a key these are two rows"),
    )
)  # fmt: skip
