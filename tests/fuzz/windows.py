"""Scans in windows of a column: ranges and NULL, each with an EOT of its own, or none. Who is in which is decided without the core."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from fff.dataflow.plan.extents import Extent, Stretch, ValueSet, Verge
from tests.fuzz.generate import Row, Value
from tests.fuzz.oracle import rank

NAN = float("nan")


@dataclass
class WindowOfRows:
    """A window of a scan: the rows in it that will come, and whether it ends without EOT."""

    extent: Extent
    rows: set[int]
    fails: bool = False
    lost: set[int] = field(default_factory=set)  # rows in it that will not come


def draw_windows(
    rng: random.Random, rows: Sequence[Row], names: Sequence[str], fails: float
) -> list[WindowOfRows]:
    """Windows that together are a table; each fails with some chance, perhaps after some of its rows."""
    column = rng.randrange(len(names))
    values = [row[column] for row in rows]
    known = {repr(rank(value)): value for value in values if value is not None}
    texts = [value for value in values if isinstance(value, str) and value]
    if texts and rng.random() < 0.5:
        found = _by_prefix(rng.choice(texts), names[column], values)
    else:
        found = _by_range(rng, list(known.values()), names[column], values)
    nulls = {n for n, value in enumerate(values) if value is None}
    found.append(WindowOfRows(Extent.of({names[column]: ValueSet(null=True)}), nulls))
    for window in found:
        if rng.random() < fails:
            window.fails = True
            window.lost = {row for row in sorted(window.rows) if rng.random() < 0.6}
            window.rows -= window.lost
    rng.shuffle(found)
    return found


def _by_prefix(text: str, name: str, values: Sequence[Value]) -> list[WindowOfRows]:
    """The texts that begin like one, and the others."""
    begin = {n for n, value in enumerate(values) if isinstance(value, str) and value.startswith(text)}
    inside = ValueSet.prefix(text)
    others = {n for n, value in enumerate(values) if value is not None} - begin
    return [
        WindowOfRows(Extent.of({name: inside}), begin),
        WindowOfRows(Extent.of({name: ValueSet.between(None, None) - inside}), others),
    ]


def _by_range(
    rng: random.Random, known: Sequence[Value], name: str, values: Sequence[Value]
) -> list[WindowOfRows]:
    """Ranges between some values, each of which is at the end of one or at the beginning of the next."""
    drawn = rng.sample(known, min(len(known), rng.choice([0, 1, 1, 2, 3])))
    cuts = sorted(
        {repr(_order(value)): value for value in drawn}.values(), key=_order
    )  # 0.0 and -0.0 are one
    behind = [rng.random() < 0.5 for _ in cuts]

    def place(value: Value) -> int:
        """How many cuts are before a value."""
        return sum(
            _order(cut) < _order(value) or (_order(cut) == _order(value) and not after)
            for cut, after in zip(cuts, behind, strict=True)
        )

    verges = [None, *(Verge(cut, after) for cut, after in zip(cuts, behind, strict=True)), None]
    return [
        WindowOfRows(
            Extent.of({name: ValueSet.of([Stretch(low, high)])}),
            {n for n, value in enumerate(values) if value is not None and place(value) == number},
        )
        for number, (low, high) in enumerate(itertools.pairwise(verges))
    ]


def _order(value: Value) -> object:
    return rank(value + 0.0 if isinstance(value, float) else value)
