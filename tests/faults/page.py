"""docs/faults.md: the matrix as people read it. Every behaviour is one row, made from its own cells alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.faults.behaviour import ACCESSES, Behaviour
from tests.faults.behaviours import BEHAVIOURS
from tests.faults.cells import Graded
from tests.faults.site import CONVENTIONS, DECLARED
from tests.faults.unnoticeable import UNNOTICEABLE

FILE = Path(__file__).resolve().parents[2] / "docs" / "faults.md"

_HEAD = """\
# What FFF notices of sources that answer wrongly

An answer of FFF is the whole answer or says what it lacks. This page is what became of that promise against a server on
this machine that breaks every rule there is: {count} behaviours, met by every paginator, by scans, by lookups of one key
and of batches, by scans with a mirror, with and without a `primary_key`. Each query is compared with the rows that the
source really has:

- **right**: complete, and the very rows. *warned*: the same, with a warning about what was odd.
- **honest**: an error, or `complete: false` with the table in `missing`.
- **silent**: complete, and other rows. There are none but those that no client could notice (the numbers in brackets), which
  stand at the end with their reasons.

Where paginators differ, all that happens is named. `make faults` runs the matrix and writes this page; `make slow` checks it.
Paginators: {declared}; and {conventions} conventions of answers that say themselves what follows, under `auto` and where no
paginator is declared.
"""

_TAIL = """\
## What no client could notice

Without asking more, or more than once, nobody could tell these from answers that are as they should be:
"""


def row_of(behaviour: Behaviour, graded: Sequence[Graded]) -> str:
    """The row of one behaviour."""
    cells = []
    for access in ACCESSES:
        grades = {one.grade for one in graded if one.cell.world.access == access}
        said = [name for name in ("right", "warned", "honest") if name in grades]
        if "silent" in grades:
            numbers = sorted(
                {
                    str(number)
                    for number, entry in enumerate(UNNOTICEABLE, 1)
                    for one in graded
                    if one.cell.world.access == access and one.grade == "silent" and entry.covers(one.cell)
                }
            )
            said.append(f"silent ({', '.join(numbers)})")
        cells.append(", ".join(said) or "-")
    return f"| {behaviour.name} | {' | '.join(cells)} |"


def page_of(rows: Mapping[str, str]) -> str:
    """The whole page, from the rows by behaviour."""
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(one.name.split(",")[0] for one in DECLARED))
    parts = [
        _HEAD.format(
            count=len(BEHAVIOURS),
            declared=names,
            conventions=len({one.name.partition(": ")[2] for one in CONVENTIONS}),
        )
    ]
    for group in dict.fromkeys(one.group for one in BEHAVIOURS):
        table = [f"| {group} | scan | lookup | batch lookup | mirror |", "|---|---|---|---|---|"]
        table += [rows[one.name] for one in BEHAVIOURS if one.group == group]
        parts.append(f"## {group}\n\n" + "\n".join(table) + "\n")
    parts.append(_TAIL)
    listed = [
        f"{number}. {', '.join(entry.behaviours)} ({entry.said}): {entry.reason}."
        for number, entry in enumerate(UNNOTICEABLE, 1)
    ]
    return "\n".join([*parts, "\n".join(listed), ""])


def rows_in(text: str) -> dict[str, str]:
    """The rows of a page, by behaviour."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines}
