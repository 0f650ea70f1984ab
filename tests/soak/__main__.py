"""The soak: random days until it is stopped, and what they say in docs/trust.md.

python -m tests.soak               until Ctrl-C, or for FFF_SOAK_SECONDS; from FFF_SOAK_SEED on, or a random seed
python -m tests.soak --controls    measures which broken rules are noticed, in some days each and in more where none of those is
python -m tests.soak SEED          one day: what it stands for, each request, what is wrong
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time

from tests.soak.checks import problems
from tests.soak.day import day
from tests.soak.play import go
from tests.soak.tally import PAGE, Tally, all_shares, commit, page_of, parts_of, tally_row

#: Of each broken rule; more where none of them is noticed.
RUNS = 10


def main(arguments: list[str]) -> int:
    if not arguments:
        return soak()
    if arguments == ["--controls"]:
        for name, shares in all_shares(RUNS):
            rows = "\n".join(one.row for one in shares)
            PAGE.write_text(page_of({**parts_of(PAGE.read_text()), name: rows}))
        return 0
    return show(int(arguments[0]))


def soak() -> int:
    """Days one after the other."""
    first = int(os.environ.get("FFF_SOAK_SEED") or secrets.randbelow(10**6) * 1000)
    ends = time.monotonic() + float(os.environ.get("FFF_SOAK_SECONDS") or "inf")
    name, tally, seed = commit(), Tally(), first
    print(f"from seed {first} on, until Ctrl-C", flush=True)
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        # Amid a query DuckDB would take it for itself. The second one aborts.
        stopped.append(number)
        signal.signal(number, signal.SIG_DFL)

    signal.signal(signal.SIGINT, stop)
    while time.monotonic() < ends and not stopped:
        for text in tally.one(seed):
            print(f"seed {seed}: {text}", flush=True)
        seed += 1
    if tally.runs:
        parts = parts_of(PAGE.read_text())
        row = tally_row(name, first, seed - first, tally)
        PAGE.write_text(page_of({**parts, "tally": f"{parts['tally']}\n{row}".strip()}))
        print(row, *(f"{kind}: {count}" for kind, count in sorted(tally.seen.items())), sep="\n")
    return 1 if tally.wrong else 0


def show(seed: int) -> int:
    """One day."""
    chosen = day(seed)
    print(chosen.statement.sql)
    for name, cell in chosen.cells.items():
        print(f"  {name}: {cell.name}{', odd' if name == chosen.odd else ''}")
    print(f"  {chosen.client}\n  {chosen.options}\n  {chosen.bounds}\n  {chosen.weather()}")
    came = go(chosen)
    if came is None:
        print("nothing binds a table")
        return 0
    print(*came.network.log, sep="\n")
    for run in came.runs:
        print(run.outcome)
    found = problems(chosen, came)
    print(*(found or ["all is well"]), sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
