"""Replay one case: `python -m tests.fuzz SEED`. Prints the itinerary of every run of it, or what goes wrong, made small."""

from __future__ import annotations

import argparse

from tests.fuzz.cases import case
from tests.fuzz.core import make_core
from tests.fuzz.shrink import shrink
from tests.fuzz.world import Wrong, play, verdict


def main() -> int:
    """Run the case of a seed; 1 when something is wrong with it."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("seed", type=int, help="the seed a failure printed")
    parser.add_argument("--quiet", action="store_true", help="no itineraries of runs that go well")
    arguments = parser.parse_args()
    found = case(arguments.seed)
    print(found.instance.describe())
    print(f"{found.expected.total()} rows expected")
    failed = False
    for run in found.runs():
        try:
            outcome = play(found.instance, run, make_core)
            verdict(found.instance, run, outcome, found.expected)
        except Wrong:
            failed = True
            print(f"\nWRONG, made small:\n{shrink(found.instance, run, make_core)}")
        else:
            print(f"\n{run}\n{outcome.finish}, {outcome.bag.total()} rows, missing {outcome.missing}")
            if not arguments.quiet:
                print("\n".join(outcome.itinerary()))
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
