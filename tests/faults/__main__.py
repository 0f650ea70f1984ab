"""The whole matrix: `python -m tests.faults [--write] [PATTERN]`. Prints what fails; with --write it writes docs/faults.md.

A pattern chooses cells by their names, `behaviour | paginator | access | format | key`, and shows the grade of each.
"""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures
import re
from collections import Counter

from tests.faults.behaviours import BEHAVIOURS
from tests.faults.cells import Cell, Graded, cells, fails, grade_all
from tests.faults.page import FILE, page_of, row_of
from tests.faults.unnoticeable import reason_of


def _graded(name: str) -> list[tuple[str, str, str, int]]:
    """The cells of one behaviour, as what another process can be sent."""
    return [(one.cell.name, one.grade, one.said, one.asked) for one in asyncio.run(grade_all(_cells(name)))]


def _cells(name: str) -> list[Cell]:
    return list(cells(tuple(one for one in BEHAVIOURS if one.name == name)))


def main() -> int:
    """1 where a cell has a grade that none should have."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("pattern", nargs="?", help="cells whose names have this in them")
    parser.add_argument("--write", action="store_true", help="write docs/faults.md")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    if arguments.pattern:
        chosen = [cell for cell in cells() if re.search(arguments.pattern, cell.name)]
        found = asyncio.run(grade_all(chosen))
        for one in found:
            print(f"{one.grade:7} {one.asked:4} {one.cell.name}: {' '.join(one.said.split())[:300]}")
        return int(any(fails(one) and reason_of(one.cell) is None for one in found))
    rows, counts, wrong = {}, Counter[str](), 0
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        for behaviour, results in zip(
            BEHAVIOURS, pool.map(_graded, [one.name for one in BEHAVIOURS]), strict=True
        ):
            named = {cell.name: cell for cell in _cells(behaviour.name)}
            graded = [Graded(named[name], grade, said, asked) for name, grade, said, asked in results]
            counts.update(one.grade for one in graded)
            rows[behaviour.name] = row_of(behaviour, graded)
            for one in graded:
                if fails(one) and reason_of(one.cell) is None:
                    wrong += 1
                    print(
                        f"{one.grade:7} {one.asked:4} {one.cell.name}: {' '.join(one.said.split())[:300]}",
                        flush=True,
                    )
    print(f"{len(BEHAVIOURS)} behaviours, {counts.total()} cells: {dict(counts)}; {wrong} must not be")
    if arguments.write:
        FILE.write_text(page_of(rows), encoding="utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
