"""Replay one case: `python -m tests.fuzz SEED`. Prints the itinerary of every run of it, or what goes wrong, made small.

With `--seconds N`, cases from that seed on for so long, and a line of what was played. What takes most of the time is
spared then for more cases: each in one of the two semantics, and of the runs that `watch` what is inside one in sixteen is
watched. The rows of all are compared.
"""

from __future__ import annotations

import argparse
import gc
import time

from fff.structs import replace
from tests.fuzz.cases import case
from tests.fuzz.core import make_core
from tests.fuzz.shrink import shrink
from tests.fuzz.world import Wrong, play, verdict


def main() -> int:
    """Run the case of a seed; 1 when something is wrong with it."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("seed", type=int, help="the seed a failure printed")
    parser.add_argument("--quiet", action="store_true", help="no itineraries of runs that go well")
    parser.add_argument("--seconds", type=float, help="play cases from that seed on for so long")
    arguments = parser.parse_args()
    if arguments.seconds is not None:
        return _play_on(arguments.seed, arguments.seconds)
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


def _play_on(first: int, seconds: float) -> int:
    """Play case after case; 1 when something is wrong with any."""
    gc.set_threshold(100_000, 50, 50)  # what was imported is seldom looked through again
    end = time.monotonic() + seconds
    runs, wrong, seed = 0, 0, first
    while time.monotonic() < end:
        found = case(seed)
        for run in found.runs(both=False):
            runs += 1
            seen = replace(run, watch=run.watch and seed % 16 == 0)
            try:
                verdict(found.instance, seen, play(found.instance, seen, make_core), found.expected)
            except Exception as error:  # noqa: BLE001 - one that is wrong ends nothing
                wrong += 1
                print(f"WRONG: {seed}: {type(error).__name__}", flush=True)
        seed += 1
        if (seed - first) % 10_000 == 0:
            print(f"{seed - first} cases, {runs} runs, {wrong} wrong", flush=True)
    print(f"{seed - first} cases from {first}, {runs} runs, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
