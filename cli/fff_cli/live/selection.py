"""Which row of the live view is meant: the order rows stand in, the one picked with the keys, the predicate it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from fff.errors import FFFError, UsageError
from fff.stats import MISSING, Snapshot
from fff.structs import Struct
from fff_cli.output.values import cell

#: What stays of a picked row while others come and go: its values in the columns it is picked by.
Identity: TypeAlias = tuple[object, ...]


class View(Struct, frozen=True):
    """What the user does with the view, and what the snapshot does not know."""

    stopping: bool = False
    keys: bool = False  # whether keys are read, and their help is shown
    picked: Identity | None = None
    note: str = ""  # an answer to the last key
    ordered: bool = False  # whether the order of the rows is the statement's
    verbose: bool = False  # whether policy and seed are of interest
    paused: bool = False
    help: bool = False
    detail: bool = False  # whether routing is shown state by state
    scrolled: int = 0  # access methods that are scrolled away


_NUMBERS = (int, float, Decimal)


def arranged(snapshot: Snapshot, *, ordered: bool) -> list[int]:
    """The sample's rows in the order they are shown: as they come where that means something, else by group.

    Without ORDER BY, Spark's order changes from one refresh to the next, and the eye would lose its place.
    """
    rows = range(len(snapshot.sample))
    if ordered or snapshot.sample_is == "newest rows":
        return list(rows)
    by = _keyed(snapshot) or _steady(snapshot)
    return sorted(rows, key=lambda row: [_rank(snapshot.sample[row][column]) for column in by])


def can_pick(snapshot: Snapshot) -> bool:
    """Whether rows can be told apart by columns that a predicate can name."""
    return bool(_keyed(snapshot)) and bool(snapshot.sample)


def identity(snapshot: Snapshot, row: int) -> Identity:
    """The values that a row of the sample is picked by."""
    return tuple(snapshot.sample[row][column] for column in _keyed(snapshot))


def position(snapshot: Snapshot, rows: Sequence[int], picked: Identity | None) -> int | None:
    """Where among `rows` the picked one stands; None when it is not there (any more)."""
    if picked is None:
        return None
    return next((at for at, row in enumerate(rows) if identity(snapshot, row) == picked), None)


def moved(snapshot: Snapshot, rows: Sequence[int], picked: Identity | None, step: int) -> Identity | None:
    """The row `step` further down; the first one when none was picked."""
    if not rows or not can_pick(snapshot):
        return None
    at = position(snapshot, rows, picked)
    at = 0 if at is None else min(max(at + step, 0), len(rows) - 1)
    return identity(snapshot, rows[at])


def predicate(snapshot: Snapshot, picked: Identity) -> str:
    """What is true of the rows of a group, as SQL. Raises UsageError where no predicate says it."""
    from fff.sql.syntax.parameters.params import render  # noqa: PLC0415 - brings the parser, which only those who pick pay for

    names = [snapshot.group_keys[column] for column in _keyed(snapshot)]
    parts = []
    for name, value in zip(names, picked, strict=True):
        assert name is not None
        if value is None:
            raise UsageError("a group of NULL cannot be fetched first")
        if value is MISSING:
            raise UsageError("what this row is has not been answered yet")
        try:
            parts.append(f"{name} = {render(name, value)}")
        except FFFError as error:
            raise UsageError(f"{name} cannot be picked by") from error
    return " AND ".join(parts)


def is_first(snapshot: Snapshot, row: int) -> bool:
    """Whether a row's group is among those fetched first."""
    if not snapshot.priorities or not _keyed(snapshot):
        return False
    try:
        return predicate(snapshot, identity(snapshot, row)) in snapshot.priorities
    except UsageError:  # no predicate stands for it: it cannot have been picked
        return False


def _steady(snapshot: Snapshot) -> list[int]:
    """All columns, those first whose values are no numbers: sums and averages change while rows come in."""
    columns = range(len(snapshot.columns))
    numbers = {
        column for column in columns if any(isinstance(row[column], _NUMBERS) for row in snapshot.sample)
    }
    return sorted(columns, key=lambda column: column in numbers)


def _keyed(snapshot: Snapshot) -> list[int]:
    return [column for column, name in enumerate(snapshot.group_keys) if name is not None]


def _rank(value: Any) -> tuple[int, Any]:
    """A place in an order over values of all kinds, NULL last, for one column at a time."""
    if value is None:
        return (9, 0)
    if isinstance(value, _NUMBERS):
        return (1, value) if value == value else (2, 0)  # noqa: PLR0124 - NaN is not equal to itself
    if isinstance(value, str):
        return (3, value)
    return (4, cell(value))
