"""What a behaviour is: the steps of an answer that it changes, where it makes sense, and what then is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.faults.site import COLUMNS, ROWS, Access, Format, Page, Row, Turn, World
from tests.faults.wire import Reply

Bag = Counter[tuple[Any, ...]]
ACCESSES: tuple[Access, ...] = ("scan", "lookup", "batch", "mirror")
SCANS: tuple[Access, ...] = ("scan", "mirror")
LOOKUPS: tuple[Access, ...] = ("lookup", "batch")


@dataclass(frozen=True)
class Behaviour:
    """One way in which a source may answer. What is None is as it should be.

    Args:
        name: what it does, in a few words; the page of the matrix shows it.
        select: the rows an answer is made of, out of those that the source has.
        page: changes a page in place before it is written.
        body: the bytes of the body.
        reply: the answer as a whole.
        sound: nothing is wrong with it: nothing but the right answer will do.
        warned: the answer is right and must come with a warning.
        where: the worlds in which it makes sense, and `because` says why no others.
        anywhere: met by every dialect, not by the common ones alone.
        rows: those of the source; `lower` and `upper`: what a right answer holds at least and at most, where the source
            changes or contradicts itself.
        judge: instead of those two.
        spec, table, paging: more of the endpoint's spec, of the table's and of the paginator's.
        asked: the keys.
        second: what the second of two mirrors has.
        deaf: the source never hears which page is asked for.
        secure: the source is behind https.
    """

    name: str
    group: str = ""
    select: Callable[[Turn, list[Row]], list[Row]] | None = None
    page: Callable[[Turn, Page], None] | None = None
    body: Callable[[Turn, bytes], bytes] | None = None
    reply: Callable[[Turn, Reply], Reply] | None = None
    sound: bool = False
    warned: bool = False
    where: Callable[[World], bool] = lambda world: True
    because: str = ""
    anywhere: bool = False
    accesses: tuple[Access, ...] = ACCESSES
    formats: tuple[Format, ...] = ("json",)
    rows: tuple[Row, ...] = ROWS
    lower: tuple[Row, ...] | None = None
    upper: tuple[Row, ...] | None = None
    judge: Callable[[Bag, World], bool] | None = None
    spec: Mapping[str, object] = field(default_factory=dict)
    table: Mapping[str, object] = field(default_factory=dict)
    paging: Mapping[str, object] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    second: tuple[Row, ...] | None = None
    separator: str | None = None
    deaf: bool = False
    secure: bool = False


def bag_of(rows: tuple[Row, ...], world: World) -> Bag:
    """Rows as the query gives them."""
    return Counter(
        tuple(one.get(name) for name in COLUMNS)
        for one in rows
        if not world.is_lookup or one["grp"] in world.keys
    )


def is_right(behaviour: Behaviour, world: World, found: Bag) -> bool:
    """Whether an answer that counts as complete is one that the source can have meant."""
    if behaviour.judge is not None:
        return behaviour.judge(found, world)
    lower = bag_of(behaviour.rows if behaviour.lower is None else behaviour.lower, world)
    upper = bag_of(behaviour.rows if behaviour.upper is None else behaviour.upper, world)
    return lower <= found <= upper


# ------------------------------------------------------------------------------------------------- parts of behaviours


def at_strike(change: Callable[[Turn, Page], None]) -> Callable[[Turn, Page], None]:
    """On one page alone."""

    def changed(turn: Turn, page: Page) -> None:
        if turn.struck:
            change(turn, page)

    return changed


def behind_strike(change: Callable[[Turn, Page], None]) -> Callable[[Turn, Page], None]:
    """On that page and all that follow."""

    def changed(turn: Turn, page: Page) -> None:
        if turn.index >= turn.world.strike:
            change(turn, page)

    return changed


def members(**extra: object) -> Callable[[Turn, Page], None]:
    """More members beside the records."""

    def changed(turn: Turn, page: Page) -> None:
        page.extra |= extra

    return changed


def no_records(**extra: object) -> Callable[[Turn, Page], None]:
    """An empty list of records, and other members beside it; what follows is not told either."""

    def changed(turn: Turn, page: Page) -> None:
        page.records = []
        page.following = None
        page.extra |= extra

    return changed


def instead(whole: object) -> Callable[[Turn, Page], None]:
    """Another document."""

    def changed(turn: Turn, page: Page) -> None:
        page.whole = whole

    return changed


def each_record(change: Callable[[Row], Any]) -> Callable[[Turn, Page], None]:
    """Every record of a page, changed."""

    def changed(turn: Turn, page: Page) -> None:
        page.records = [change(dict(one)) for one in page.records]

    return changed


def replied(change: Callable[[Reply], Reply], *, times: int | None = None) -> Callable[[Turn, Reply], Reply]:
    """The answer of one page, whenever it is asked for, or so many times."""

    def changed(turn: Turn, reply: Reply) -> Reply:
        return change(reply) if turn.struck and (times is None or turn.attempt <= times) else reply

    return changed


def with_body(change: Callable[[bytes], bytes]) -> Callable[[Turn, bytes], bytes]:
    """The body of one page."""
    return lambda turn, body: change(body) if turn.struck else body


def status(number: int, body: bytes = b"", **headers: str) -> Callable[[Reply], Reply]:
    """Another status, with nothing but this."""
    return lambda reply: Reply(
        body,
        number,
        {name.replace("_", "-"): text for name, text in headers.items()}
        | ({"Content-Type": "application/json"} if body else {}),
    )


def has_pages(world: World) -> bool:
    """There is more than one page."""
    return world.dialect.paged


PAGES_ALONE = "one answer is no sequence of pages"
