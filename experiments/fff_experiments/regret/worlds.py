"""Worlds to route tuples in, with everything a clairvoyant would know: what each tuple costs and becomes on any way.

Filters: "4 filters, costs log-uniform 1-100, correlated pass probabilities (3 latent classes), log-normal
cost noise". Joins: lookups around one scanned table, as a star, as a chain with the scan inside, or as a
tree, with fan-outs from 0.1 to 3; a lookup costs the same range, for each tuple that makes it. What comes of
a tuple depends on the modules it has been through and not on their order, so a world is a table of sizes: how
many tuples one source tuple has become in each state.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fff.dataflow.plan.expressions import Column, Compare
from fff.dataflow.plan.expressions import Literal as Constant
from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.plan import (
    AliasPlan,
    BlockPlan,
    EqualityClass,
    LookupPlan,
    Predicate,
    ScanPlan,
    TablePlan,
)
from fff.dataflow.plan.state import TupleState
from fff.schema import Field

Shape = Literal["filters", "star", "chain", "tree"]
#: For each join module the one whose rows bind it, -1 for the scanned table.
_PARENTS: dict[Shape, tuple[int, ...]] = {
    "star": (-1, -1, -1, -1),
    "chain": (-1, 0, -1, 2),
    "tree": (-1, -1, 0, 0),
}
_CLASSES = 3


@dataclass(frozen=True)
class Setup:
    """What to draw worlds of.

    `tuples`: from the source. `phases`: so many, everything redrawn at each change. `sigma`: of the logarithm
    of a cost around its level. `drifting`: costs and selectivities wander to other values and back, ten
    phases to judge by.
    """

    tuples: int = 1000
    modules: int = 4
    shape: Shape = "filters"
    phases: int = 1
    sigma: float = 0.3
    drifting: bool = False


@dataclass(frozen=True)
class World:
    """One instance.

    `sizes[t][done]`: what source tuple t has become after the modules in the bitmap; `costs[t][module]`: of
    each tuple that goes there; `bounds`: where phases begin, and the end.
    """

    setup: Setup
    plan: BlockPlan
    sizes: npt.NDArray[np.int64]
    costs: npt.NDArray[np.float64]
    bounds: tuple[int, ...]

    def legal(self, done: int) -> list[int]:
        """The modules a tuple may go to."""
        parents = _PARENTS.get(self.setup.shape)
        return [
            module
            for module in range(self.setup.modules)
            if not done >> module & 1
            and (parents is None or parents[module] < 0 or done >> parents[module] & 1)
        ]

    def state(self, done: int) -> TupleState:
        """The TupleState of a bitmap."""
        return TupleState(1, done) if self.setup.shape == "filters" else TupleState(1 | done << 1)

    def move(self, module: int) -> Move:
        """The move to a module."""
        return Move(predicate=module) if self.setup.shape == "filters" else Move(module + 1, 0)

    def orders(self) -> list[tuple[int, ...]]:
        """Every static order that the bindings allow."""
        legal = []
        for order in itertools.permutations(range(self.setup.modules)):
            done = 0
            for module in order:
                if module not in self.legal(done):
                    break
                done |= 1 << module
            else:
                legal.append(order)
        return legal

    def static(self, order: Sequence[int], begin: int, end: int) -> float:
        """What a static order would have spent on some of the tuples."""
        spent, done = 0.0, 0
        for module in order:
            spent += float(self.sizes[begin:end, done] @ self.costs[begin:end, module])
            done |= 1 << module
        return spent

    def best(self, begin: int = 0, end: int | None = None) -> float:
        """What the best static order in hindsight would have spent."""
        last = self.setup.tuples if end is None else end
        return min(self.static(order, begin, last) for order in self.orders())

    def clairvoyant(self) -> float:
        """What the best order of each phase would have spent."""
        return sum(self.best(begin, end) for begin, end in itertools.pairwise(self.bounds))


def draw(setup: Setup, seed: int) -> World:
    """The world of a seed."""
    rng = np.random.default_rng(seed)
    tuples, modules = setup.tuples, setup.modules
    noise = np.exp(rng.normal(0, setup.sigma, (tuples, modules)) - setup.sigma**2 / 2)
    parts = 10 if setup.drifting else setup.phases
    bounds = tuple(round(tuples * part / parts) for part in range(parts + 1))
    if setup.drifting:
        first, second = _Nature(rng, setup), _Nature(rng, setup)
        way = (1 - np.cos(np.linspace(0, 2 * math.pi, tuples))) / 2
        levels = np.exp(np.outer(1 - way, np.log(first.costs)) + np.outer(way, np.log(second.costs)))
        latent = rng.choice(_CLASSES, tuples, p=first.weights)
        rates = first.rates[latent] * (1 - way[:, None]) + second.rates[latent] * way[:, None]
    else:
        levels, rates = np.empty((tuples, modules)), np.empty((tuples, modules))
        for begin, end in itertools.pairwise(bounds):
            nature = _Nature(rng, setup)
            levels[begin:end] = nature.costs
            rates[begin:end] = nature.rates[rng.choice(_CLASSES, end - begin, p=nature.weights)]
    sizes = _sizes(rng, setup.shape, rates)
    return World(setup, plan_of(setup), sizes, levels * noise, bounds)


class _Nature:
    """How one phase is."""

    def __init__(self, rng: np.random.Generator, setup: Setup) -> None:
        self.costs = np.exp(rng.uniform(0, math.log(100), setup.modules))
        self.weights = rng.dirichlet(np.ones(_CLASSES))
        shape = (_CLASSES, setup.modules)
        if setup.shape == "filters":
            self.rates = rng.uniform(0.02, 0.98, shape)
        else:
            level = np.exp(rng.uniform(math.log(0.1), math.log(3), setup.modules))
            self.rates = level * rng.uniform(0.5, 1.5, shape)


def _sizes(rng: np.random.Generator, shape: Shape, rates: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """By source tuple and bitmap."""
    tuples, modules = rates.shape
    sizes = np.ones((tuples, 1 << modules), np.int64)
    if shape == "filters":
        passes = rng.random((tuples, modules)) < rates
        for done in range(1, 1 << modules):
            inside = [module for module in range(modules) if done >> module & 1]
            sizes[:, done] = passes[:, inside].all(axis=1)
        return sizes
    parents = _PARENTS[shape]
    tops = [module for module in range(modules) if parents[module] < 0]
    counts = {top: rng.poisson(rates[:, top]) for top in tops}
    owners = {top: np.repeat(np.arange(tuples), counts[top]) for top in tops}  # of each row, its source tuple
    below = {
        module: rng.poisson(rates[owners[parents[module]], module])
        for module in range(modules)
        if module not in tops
    }
    for done in range(1, 1 << modules):
        for top in tops:
            if done >> top & 1:
                rows = np.ones(len(owners[top]), np.int64)
                for module, many in below.items():
                    if parents[module] == top and done >> module & 1:
                        rows = rows * many
                sizes[:, done] *= np.bincount(owners[top], rows, tuples).astype(np.int64)
    return sizes


def plan_of(setup: Setup) -> BlockPlan:
    """The block that policies think they route: one scanned table, with predicates or with lookups around it."""
    columns = tuple(Field.of(f"k{module}", "bigint") for module in range(setup.modules))
    source = TablePlan("world.source", columns, scans=(ScanPlan("scan"),))
    if setup.shape == "filters":
        predicates = tuple(
            Predicate(Compare(">", Column(0, module), Constant(0, pa.int64())), module=True)
            for module in range(setup.modules)
        )
        return BlockPlan((source,), (AliasPlan("s", 0, active=True),), predicates=predicates)
    tables = [source]
    aliases = [AliasPlan("s", 0, active=True)]
    equalities = []
    for module, parent in enumerate(_PARENTS[setup.shape]):
        fields = (Field.of("x", "bigint"), *columns)
        tables.append(TablePlan(f"world.m{module}", fields, lookups=(LookupPlan("lookup", (0,)),)))
        aliases.append(AliasPlan(f"m{module}", module + 1, active=False))
        binder = Column(0, module) if parent < 0 else Column(parent + 1, module + 1)
        equalities.append(EqualityClass((binder, Column(module + 1, 0))))
    return BlockPlan(tuple(tables), tuple(aliases), tuple(equalities))
