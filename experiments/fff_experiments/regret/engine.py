"""G13: the default on the real engine, in worlds of many kinds, beside the best static order and other policies.

Rows of R are looked up in tables that each let a share of them pass. Answers take time, come late and in any
order, and a key is asked for once, so that much is decided before anything is known. What a run costs is its
requests, its seconds, and both together, which is what `balanced` weighs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fff.dataflow.eddy import EddyOptions
from fff.policies.adaptive.posterior import PROBE_S
from fff.runtime.block_run import LOOKUPS
from fff.simulation.run import BlockRun, run_block
from fff.simulation.service import FixedTime, LogNormal
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable
from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest
from fff_experiments.regret.filters import check
from fff_experiments.regret.runs import CONTROLS, Excess, Maker, judged, named

Kind = Literal[
    "equal latency",
    "20 ms to 1 s",
    "batches of 20",
    "40 distinct keys",
    "correlated",
    "fan-out 20",
    "content-dependent",
    "one shared host",
    "bursts",
    "six tables",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
_AT_ONCE = 4


@dataclass(frozen=True, eq=False)
class EngineWorld:
    """`keys[row, table]`: what a row looks up; `passes[key, table]`: whether it is there; answers take `seconds[table]`."""

    kind: Kind
    keys: npt.NDArray[np.int64]
    passes: npt.NDArray[np.bool_]
    seconds: tuple[float, ...]
    _asked: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict, repr=False)

    @property
    def orders(self) -> list[tuple[int, ...]]:
        """Every static order."""
        return list(itertools.permutations(range(len(self.seconds))))

    @property
    def tables(self) -> list[SimulatedTable]:
        """R and the tables it is looked up in."""
        names = {f"k{number}": self.keys[:, number] for number in range(len(self.seconds))}
        rows = pa.record_batch({"k": np.arange(len(self.keys))} | names)
        scan = SimulatedScan(page_rows=100, latency=FixedTime(3.0 if self.kind == "bursts" else 0.01))
        found = [SimulatedTable("R", rows, ("k",), (scan,))]
        batch = 20 if self.kind == "batches of 20" else 1
        host = "host" if self.kind == "one shared host" else ""
        for number, seconds in enumerate(self.seconds):
            here = np.repeat(np.flatnonzero(self.passes[:, number]), self.copies(number))
            lookup = SimulatedLookup(("x",), LogNormal(seconds, 0.1), _AT_ONCE, batch, host=host)
            held = pa.record_batch({"x": here, "v": np.arange(len(here))})
            found.append(SimulatedTable(f"T{number}", held, (), (), (lookup,)))
        return found

    def run(self, policy: Maker, seed: int) -> BlockRun:
        """In virtual time."""
        joins = (f"JOIN T{number} ON R.k{number} = T{number}.x" for number in range(len(self.seconds)))
        run = run_block(
            " ".join(["SELECT R.k FROM R", *joins]),
            self.tables,
            policy=policy,
            seed=seed,
            options=EddyOptions(lookups=LOOKUPS["balanced"]),
        )
        assert run.complete
        return run

    def copies(self, table: int) -> int:
        """Rows that a key has, if it has any."""
        return 20 if self.kind == "fan-out 20" and not table else 1

    def cost(self, run: BlockRun) -> float:
        """Seconds of service that a run took: a request takes what its server usually takes."""
        lookups = [table.lookups[0].issued for table in run.eddy.statistics().tables[1:]]
        return self._service(run.eddy.flow().tuples, lookups)

    def _service(self, hops: int, requests: Sequence[int]) -> float:
        return hops * PROBE_S + float(np.dot(requests, self.seconds))

    def fixed(self, order: Sequence[int], seed: int) -> float:
        """Seconds of service of a static order. How full requests are is known once it has run, everything else beforehand."""
        if self.kind == "batches of 20":
            return self.cost(self.run(static(order), seed))
        hops, requests = self._known(order)
        return self._service(hops, requests)

    def _known(self, order: Sequence[int]) -> tuple[int, list[int]]:
        """Hops of a static order, and keys by table."""
        hops, many, done, keys = 0, 1, 0, [0] * len(self.seconds)
        for table in order:
            rows, keys[table] = self._left(done, table)
            hops += rows * many
            many *= self.copies(table)
            done |= 1 << table
        return hops, keys

    def _left(self, done: int, table: int) -> tuple[int, int]:
        """Rows that pass the tables of a bit mask, and their keys in another one."""
        if (done, table) not in self._asked:
            rows = np.arange(len(self.keys))
            for other in range(len(self.seconds)):
                if done >> other & 1:
                    rows = rows[self.passes[self.keys[rows, other], other]]
            self._asked[done, table] = len(rows), len(np.unique(self.keys[rows, table]))
        return self._asked[done, table]

    @property
    def least_keys(self) -> int:
        """What the static order that asks for least asks for."""
        return min(sum(self._known(order)[1]) for order in self.orders)

    @property
    def dearest(self) -> tuple[int, ...]:
        """The static order that asks for most."""
        return max(self.orders, key=lambda order: sum(self._known(order)[1]))

    def candidates(self) -> set[tuple[int, ...]]:
        """The static orders that are best by keys, by the seconds that the busiest server needs, or by both together."""
        keys, seconds, both = {}, {}, {}
        for order in self.orders:
            asked = self._known(order)[1]
            busy = np.multiply(asked, self.seconds)
            keys[order] = sum(asked)
            seconds[order] = float(busy.sum() if self.kind == "one shared host" else busy.max())
            both[order] = keys[order] * seconds[order]
        return {min(self.orders, key=lambda order: by[order]) for by in (keys, seconds, both)}


def static(order: Sequence[int]) -> Maker:
    """The policy that follows an order of the tables."""
    return named("fixed:" + ",".join(["R", *(f"T{number}" for number in order)]))


def draw(kind: Kind, rows: int, seed: int) -> EngineWorld:
    """The world of a seed. Answers take 100 ms, or 20 ms to 1 s where they may differ."""
    rng = np.random.default_rng(seed)
    tables = 6 if kind == "six tables" else 3
    values = 40 if kind == "40 distinct keys" else rows
    keys = np.stack([rng.permutation(values) for _ in range(tables)], axis=1)
    if values < rows:
        keys = rng.integers(0, values, (rows, tables))
    classes = {"correlated": 3, "content-dependent": 2}.get(kind, 1)
    rates = rng.uniform(0.05, 0.95, (classes, tables))
    if kind == "content-dependent":
        rates[1] = 1 - rates[0]  # what lets many of the one kind pass lets few of the other
    of_class = rng.choice(classes, rows, p=rng.dirichlet(np.ones(classes)))
    row_passes = rng.random((rows, tables)) < rates[of_class]
    passes = np.zeros((values, tables), np.bool_)
    for table in range(tables):
        passes[keys[:, table], table] = row_passes[:, table]
    alike = kind in ("equal latency", "one shared host")
    seconds = np.exp(rng.uniform(math.log(0.02), math.log(1.0), tables))
    return EngineWorld(kind, keys, passes, (0.1,) * tables if alike else tuple(seconds.tolist()))


#: What the default has to be no worse than, and where; what is shown beside it elsewhere.
_BASELINES = ("naive", "rank", "lottery:costs")
_BESIDE: tuple[Kind, ...] = ("batches of 20", "fan-out 20")
_SHOWN: tuple[str, ...] = ("naive",)
_MEASURES = ("requests", "seconds", "both", "seconds of service")
_FEW = 30
#: Kinds of which many worlds are run: there are few requests in each, so that chance has more of a say.
_MANY: tuple[Kind, ...] = ("batches of 20", "40 distinct keys")
#: How near the default has to be, if not 10 %: there all orders ask for nearly all keys, so that none is far.
_NEAR: dict[Kind, float] = {"40 distinct keys": 0.04}
_DEFAULT = "adaptive"
_DEAREST = "dearest order"


def _costs(world: EngineWorld, run: BlockRun) -> npt.NDArray[np.float64]:
    """What a run cost, by `_MEASURES`; both together: the geometric mean."""
    requests = sum(table.lookups[0].issued for table in run.eddy.statistics().tables[1:])
    both = math.sqrt(requests * run.seconds)
    return np.array([requests, run.seconds, both, world.cost(run)])


@cache  # the same world is asked about under each negative control
def _best(kind: Kind, rows: int, seed: int) -> tuple[EngineWorld, npt.NDArray[np.float64]]:
    """A world, and the least that any static order costs by each measure."""
    world = draw(kind, rows, seed)
    orders = world.orders if kind == "batches of 20" else world.candidates()
    least = np.min([_costs(world, world.run(static(order), seed)) for order in orders], axis=0)
    if kind != "batches of 20":
        least[-1] = min(world.fixed(order, seed) for order in world.orders)
    return world, least


@cache
def _excess(kind: Kind, rows: int, seed: int, policy: str, control: str) -> npt.NDArray[np.float64]:
    """What a policy, or what stands in for the default, costs above the least."""
    world, least = _best(kind, rows, seed)
    make = judged(control) if policy == _DEFAULT else named(policy)
    if control == _DEAREST:
        make = static(world.dearest)
    return _costs(world, world.run(make, seed)) / least - 1


def _beside(kind: Kind, rows: int) -> tuple[str, ...]:
    """The policies that are run beside the default."""
    if kind in _BESIDE:
        return _BASELINES
    return (*_SHOWN, "rank") if rows == _FEW else _SHOWN


def run_engine(trial: TrialRequest) -> Findings:
    """G13: in virtual time, over random worlds."""
    few, many, rows = trial.some(30, 2), trial.some(6), min(1_000, trial.some(1_000, 60))
    measured: dict[tuple[Kind, int, str], list[Excess]] = {}
    sizes: list[tuple[Kind, int]] = [("20 ms to 1 s", _FEW), ("equal latency", _FEW)]
    for kind, size in (*sizes, *((kind, rows) for kind in KINDS)):
        instances = few if size == _FEW or kind in _MANY else many
        seeds = [trial.seed * 100_003 + number for number in range(instances)]
        for policy in (*_beside(kind, size), _DEFAULT):
            control = trial.control if policy == _DEFAULT else ""
            values = [_excess(kind, size, seed, policy, control) for seed in seeds]
            measured[kind, size, policy] = [Excess(tuple(one)) for one in np.transpose(values).tolist()]
    return Findings(
        ("world", "rows", "policy", *(f"{name} over the least" for name in _MEASURES)),
        tuple((*key, *map(str, some)) for key, some in measured.items()),
        (
            Panel(
                "Requests against time, mean of each kind of world",
                "seconds / least",
                "requests / least",
                tuple(
                    Curve(f"{kind}, {size} rows", [1 + some[1].mean], [1 + some[0].mean], "points")
                    for (kind, size, policy), some in measured.items()
                    if policy == _DEFAULT
                ),
            ),
        ),
        tuple(_checks(measured, rows)),
        (
            f"mean / 95th percentile over {few} worlds of {_FEW} rows, of batches and of few keys, {many} of each other kind",
            "the least: that of the static order that is best by this measure",
            "both: the geometric mean of requests and seconds, which is what `balanced` weighs",
            "seconds of service are not spared where they hold nothing up",
            _naive(measured, rows),
        ),
    )


def _naive(measured: Mapping[tuple[Kind, int, str], Sequence[Excess]], rows: int) -> str:
    """Where the negative control passes, and what the default is better at."""
    naive, ours = ([one.mean for one in measured["20 ms to 1 s", _FEW, name]] for name in ("naive", _DEFAULT))
    alike = measured["equal latency", rows, "naive"][2].mean
    return (
        f"control `naive` passes the claims of requests in {_FEW} rows, where naive routing asks for as few ({naive[0]:.1%}, the default "
        f"{ours[0]:.1%}) and takes longer ({naive[1]:.1%}, {ours[1]:.1%}), those of equal latency ({alike:.1%} in {rows:,} rows), and those "
        "against `rank`, than which it is no worse"
    )


def _checks(measured: Mapping[tuple[Kind, int, str], Sequence[Excess]], rows: int) -> Iterator[Check]:
    for (kind, size, policy), (requests, _, both, _) in measured.items():
        if policy != _DEFAULT and (size == _FEW or kind not in _BESIDE):
            continue  # shown beside it
        if size == _FEW:
            yield check(
                f"{kind}, {size} rows: asks for little more than the best static order", requests, 0.25
            )
            yield check(f"{kind}, {size} rows: is not far from the best static order", both, 0.25)
        elif policy == _DEFAULT:
            yield check(f"{kind}: is near the best static order", both, _NEAR.get(kind, 0.1))
        else:
            ours = measured[kind, rows, _DEFAULT][2].mean
            found = f"{ours:.1%} against {both.mean:.1%}"
            yield Check(f"{kind}: is no worse than {policy}", "a mean no greater", found, ours <= both.mean)


EXPERIMENTS = (
    Experiment(
        "G13",
        "The real engine in worlds of many kinds",
        "literature on regret in routing",
        "independent servers",
        "the default is within 10 % of the best static order in 1,000 rows, by requests and time together, within 25 % in 30",
        run_engine,
        {
            "naive": CONTROLS["naive"],
            _DEAREST: "the static order that asks for most, in place of the default",
        },
    ),
)
