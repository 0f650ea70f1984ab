"""What no client could notice without further requests, each with its reason. Whatever else is silent is a defect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.faults.cells import Cell
from tests.faults.site import World


@dataclass(frozen=True)
class Unnoticeable:
    """Cells that may be silent."""

    behaviours: tuple[str, ...]
    where: Callable[[World], bool]
    said: str  # of which cells
    reason: str

    def covers(self, cell: Cell) -> bool:
        return cell.behaviour.name in self.behaviours and self.where(cell.world)


def _untold(world: World) -> bool:
    return world.dialect.tells is None


def _no_rows_told(world: World) -> bool:
    return world.dialect.tells != "rows"


def _cut_anew(world: World) -> bool:
    """Pages are places in a list that is made anew for each request."""
    return world.dialect.style != "keyset"


UNNOTICEABLE: tuple[Unnoticeable, ...] = (
    Unnoticeable(
        ("a window on the first rows",),
        lambda world: world.dialect.tells == "pages" and world.access == "lookup",
        "in answers that tell a number of pages, the last of which is empty",
        "many sources count one page too many where the last one is full",
    ),
    Unnoticeable(
        (
            "empty pages from one on",
            "a window on the first rows",
            "null in place of the list",
            "204 for a page",
        ),
        _untold,
        "where answers tell no total",
        "a source that has nothing more and says no more is at its end",
    ),
    Unnoticeable(
        ("an empty page amid others",),
        lambda world: _untold(world) and world.dialect.name in ("page_number", "offset"),
        "where pages are numbered, and answers tell nothing",
        "the first empty page is what the end looks like",
    ),
    Unnoticeable(
        ("nothing follows, too early",),
        _untold,
        "where answers tell no total",
        "the end is where the source says that it is",
    ),
    Unnoticeable(
        ("a total too low",),
        lambda world: world.dialect.tells == "pages" or world.dialect.name.endswith("last_page"),
        "where answers tell a number of pages",
        "the end is where the source says that it is, and a bare total beside it may be another number",
    ),
    Unnoticeable(
        ("one page shorter than it is",),
        _no_rows_told,
        "where answers tell no total of rows",
        "a record that is on no page is in no answer",
    ),
    Unnoticeable(
        ("one row left out between two pages",),
        _no_rows_told,
        "where answers tell no total of rows",
        "a record that is on no page is in no answer",
    ),
    Unnoticeable(
        ("a row goes in front",),
        lambda world: _no_rows_told(world) and _cut_anew(world),
        "where answers tell no total of rows",
        "the row that moved over the border of two pages is on neither",
    ),
    Unnoticeable(
        ("ten rows go in front",),
        lambda world: _untold(world) and _cut_anew(world),
        "where answers tell no total",
        "the rows that moved over the border of two pages are on neither",
    ),
    Unnoticeable(
        ("one row goes, another comes", "each page of another order"),
        _cut_anew,
        "but for keysets",
        "as many rows as before, in other places: those that moved over a border come twice or never, and the total is right; "
        "only a primary key shows those that come twice",
    ),
    Unnoticeable(
        ("a row twice, on two pages", "a row comes in front"),
        lambda world: _no_rows_told(world) and _cut_anew(world) and not world.keyed,
        "without a primary key, where answers tell no total of rows",
        "two equal rows may be two rows",
    ),
    Unnoticeable(
        ("a row comes in front", "a row twice, on two pages"),
        lambda world: world.access == "mirror" and not world.keyed and _cut_anew(world),
        "where a mirror takes over, without a primary key",
        "a row that the first gave twice before it was given up may be two rows",
    ),
    Unnoticeable(
        ("a total of the page",),
        lambda world: True,
        "where the first page is as long as the total",
        "as many rows came as there are said to be",
    ),
    Unnoticeable(
        ("no total after all",),
        lambda world: world.dialect.name in ("auto: offset of total", "auto: page of pages"),
        "where a source says which page it is, and neither a total nor how long a page may be",
        "that answers name an offset or a page does not say that something follows",
    ),
    Unnoticeable(
        ("a total of 0", "a total of -1"),
        lambda world: world.dialect.name == "auto: offset of total",
        "where nothing is declared",
        "a bare total beside one answer may be another number than that of its rows",
    ),
    Unnoticeable(
        ("200 without a body", "blanks for a body"),
        lambda world: world.format == "ndjson",
        "in NDJSON",
        "a file without lines is what no rows look like",
    ),
    Unnoticeable(
        ("ended by closing, too early",),
        lambda world: world.format == "csv",
        "in CSV",
        "without a length, a file that ends early is a shorter file",
    ),
)


def reason_of(cell: Cell) -> str | None:
    """Why a cell may be silent; None where it may not."""
    return next((one.reason for one in UNNOTICEABLE if one.covers(cell)), None)
