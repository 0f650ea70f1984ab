"""From a number to a case: an instance worth running, its right answer, and the runs it goes through."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fff.structs import replace
from tests.fuzz.generate import Instance, Knobs, generate
from tests.fuzz.oracle import Bag, brute_force
from tests.fuzz.world import Run, random_run

#: Mixtures of instances: the ledger's own, and three that dwell on what it makes rare.
PROFILES: tuple[tuple[int, Knobs], ...] = (
    (6, Knobs()),
    (
        2,
        Knobs(scannable=0.05, aliases=(3, 3, 4), extra_edge=0.6, second_scan=0.0),
    ),  # chains of bind-limited tables
    (
        1,
        Knobs(scannable=0.0, self_join=0.7, constants=0.6, second_scan=0.0),
    ),  # constant-bound activation (P47)
    (1, Knobs(typed=1.0, kinds=("double", "string", "double", "extreme"), nulls=0.15)),
)
EMPTY_KEPT = 0.3  # share of instances without a single result row that are kept: they show little


@dataclass(frozen=True)
class Case:
    """An instance and everything that is run on it."""

    seed: int
    instance: Instance

    @cached_property
    def expected(self) -> Bag:
        """The oracle's answer."""
        return brute_force(self.instance)

    def runs(self, *, faults: float = 0.3, both: bool = True) -> Iterator[Run]:
        """A run without faults in each semantics (or in one of them), then in a share of cases one with faults."""
        rng = random.Random(f"runs {self.seed}")
        for semantics in ("parked", "paper") if both else (rng.choice(["parked", "parked", "paper"]),):
            yield random_run(rng, semantics=semantics, faults=False)
        if rng.random() < faults:
            yield random_run(rng, semantics=rng.choice(["parked", "paper"]), faults=True)


def case(seed: int, knobs: Knobs | None = None) -> Case:
    """The case of a seed. The seed alone decides everything."""
    rng = random.Random(f"case {seed}")
    chosen = knobs or rng.choices([item for _, item in PROFILES], [weight for weight, _ in PROFILES])[0]
    attempt = seed
    while True:
        found = Case(seed, replace(generate(attempt, chosen), seed=seed))
        if found.expected or rng.random() < EMPTY_KEPT:
            return found
        attempt = rng.getrandbits(48)
