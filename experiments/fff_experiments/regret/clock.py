"""G12: two lookups on one host, and two functions with ceilings of their own, on this machine's clock, HTTP and all.

R has pages of 100 rows in 50 ms, lookups take 50 ms, and the host admits 16 requests at once; a fifth of R's
rows have a match in A, 95 % in B, or the other way round for the second half of them. The functions take 20
ms, eight calls at once each.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from fff.functions import PythonFunction
from fff.opening import open_federation
from fff.options import PREFERENCES, Preference, RunOptions
from fff.simulation.service import FixedTime
from fff.simulation.serving import serving
from fff.simulation.source import SimulatedLookup, SimulatedScan, SimulatedTable
from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest
from fff_experiments.regret.hosts import Host, HostsWorld

_SHARES = (0.2, 0.95)
_SECONDS, _AT_ONCE = 0.05, 16
_PASSING, _CALL_S, _CALLS = (0.9, 0.1), 0.02, 8


@dataclass(frozen=True)
class Run:
    """What a statement asked for, and the seconds it took."""

    requests: int
    seconds: float


def _world(rows: int, seed: int, *, changing: bool) -> HostsWorld:
    """What has a match, row by row."""
    first = np.arange(rows) < (rows // 2 if changing else rows)
    share = np.where(first[:, None], _SHARES, _SHARES[::-1])
    passes = np.random.default_rng(seed).random((rows, 2)) < share
    bounds = (0, rows // 2, rows) if changing else (0, rows)
    return HostsWorld(passes, (Host(_AT_ONCE, _SECONDS),), (0, 0), bounds)


def _options(prefer: Preference, control: str, seed: int, dearest: str) -> RunOptions:
    """`dearest`: the order that asks for most."""
    policies = {"naive": "naive", "dearest order": f"fixed:{dearest}"}
    policy = "adaptive" if prefer == "cheap" else policies.get(control, "adaptive")
    return RunOptions(policy=policy, prefer=prefer, seed=seed)


def _timed(
    tables: Sequence[SimulatedTable],
    sql: str,
    lent: Sequence[PythonFunction],
    options: RunOptions,
    results: int,
) -> tuple[float, int]:
    """Seconds of a statement over the loopback, and the requests of lookups that were served."""

    async def main(spec: Path) -> float:
        async with open_federation([spec], cache=False) as federation:
            for function in lent:
                federation.register(function)
            execution = federation.execute(federation.prepare(sql), options)
            began = time.perf_counter()
            row_count = sum([len(batch) async for batch in execution.batches()])
            assert row_count == results
            return time.perf_counter() - began

    with serving(tables, seed=1, ceiling=_AT_ONCE) as served, TemporaryDirectory() as folder:
        spec = Path(folder) / "sim.yaml"
        spec.write_text(served.spec(), encoding="utf-8")
        seconds = asyncio.run(main(spec))
        return seconds, sum(served.recorder.requests(name, "lookup[x]").total for name in "AB")


def lookups(world: HostsWorld, options: RunOptions) -> Run:
    """A join of R with A and B."""
    rows = np.arange(world.rows)
    scan = SimulatedScan(page_rows=100, latency=FixedTime(_SECONDS))
    tables = [SimulatedTable("R", pa.record_batch({"k": rows, "a": rows, "b": rows}), ("k",), (scan,))]
    for number, name in enumerate("AB"):
        here = rows[world.passes[:, number]]
        lookup = SimulatedLookup(("x",), FixedTime(_SECONDS), 2 * _AT_ONCE)
        tables.append(SimulatedTable(name, pa.record_batch({"x": here, "v": here}), ("x",), (), (lookup,)))
    sql = "SELECT R.k FROM R JOIN A ON R.a = A.x JOIN B ON R.b = B.x"
    seconds, requests = _timed(tables, sql, (), options, int(world.passes.all(axis=1).sum()))
    return Run(requests, seconds)


def functions(world: HostsWorld, options: RunOptions) -> Run:
    """R under two functions."""
    made: list[int] = []

    def function(number: int) -> PythonFunction:
        async def passes(key: int) -> bool:
            made.append(key)
            await asyncio.sleep(_CALL_S)
            return bool(world.passes[key, number])

        return PythonFunction.of(
            "fg"[number],
            passes,
            arguments={"key": "bigint"},
            returns="boolean",
            batch_size=1,
            max_concurrency=_CALLS,
            timeout=None,
            retries=0,
            description="",
        )

    rows = pa.record_batch({"k": np.arange(world.rows)})
    table = SimulatedTable("R", rows, ("k",), (SimulatedScan(page_rows=100),))
    results = int(world.passes.all(axis=1).sum())
    seconds, _ = _timed(
        [table], "SELECT k FROM R WHERE f(k) AND g(k)", [function(0), function(1)], options, results
    )
    return Run(len(made), seconds)


def run_clock(trial: TrialRequest) -> Findings:
    """G12."""
    rows = trial.some(1_500, 200)
    worlds = {name: _world(rows, trial.seed, changing=name == "changing") for name in ("still", "changing")}
    passes = np.random.default_rng(trial.seed).random((rows, 2)) < _PASSING
    apart = HostsWorld(passes, (Host(_CALLS, _CALL_S),) * 2, (0, 1), (0, rows))
    runs_of: dict[tuple[str, Preference], Run] = {}
    for prefer in PREFERENCES:
        for name, world in worlds.items():
            runs_of[name, prefer] = lookups(world, _options(prefer, trial.control, trial.seed, "R,B,A"))
        runs_of["apart", prefer] = functions(apart, _options(prefer, trial.control, trial.seed, ""))
    least = {name: world.clairvoyant() for name, world in worlds.items()} | {"apart": apart.clairvoyant()}
    checks = [
        _at_most(
            f"one host, {name}: {prefer} asks for about the least",
            runs_of[name, prefer].requests / least[name],
            most,
        )
        for prefer in ("balanced", "fast")
        for name, most in (("still", 1.05), ("changing", 1.08))
    ]
    balanced = runs_of["apart", "balanced"].requests / least["apart"]
    # A tenth of the time is all there is to be had, for two thirds more calls.
    checks.append(_at_most("a ceiling each: balanced gives no calls for next to no time", balanced, 1.05))
    curves = tuple(
        Curve(
            prefer,
            [runs_of[name, prefer].seconds for name in least],
            [runs_of[name, prefer].requests for name in least],
            "points",
        )
        for prefer in PREFERENCES
    )
    return Findings(
        ("world", "preference", "requests", "over the least", "seconds"),
        tuple(
            (name, prefer, run.requests, f"{run.requests / least[name] - 1:.1%}", f"{run.seconds:.2f}")
            for (name, prefer), run in sorted(runs_of.items())
        ),
        (Panel("Time against requests", "seconds", "requests", curves),),
        tuple(checks),
        (
            f"{rows} rows; the least: {', '.join(f'{name} {many}' for name, many in least.items())}",
            "what is claimed of time is claimed in virtual time (G11): these seconds are what one machine took, once",
        ),
    )


def _at_most(claim: str, ratio: float, most: float) -> Check:
    return Check(claim, f"at most {most:.2f}", f"{ratio:.3f}", ratio <= most)


EXPERIMENTS = (
    Experiment(
        "G12",
        "Hosts that lookups share, on the real clock",
        "literature on regret in routing",
        "real time",
        "what G11 says of one host, and of one each, holds over HTTP",
        run_clock,
        {
            "naive": "naive routing in place of balanced and fast",
            "dearest order": "the static order that asks for most, in place of balanced and fast",
        },
    ),
)
