"""SteMs 2003, sections 4.5 and 4.6: index join and hash join become one, by their costs and by what the user wants first."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from fff.dataflow.plan.moves import Move, Outcome
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.dataflow.plan.state import TupleState
from fff.policies import DEFAULT_POLICY, PREFERENCES, Preference, make_policy
from fff.simulation.recorder import Steps
from fff.simulation.run import BlockRun, run_block
from fff.simulation.service import FixedTime
from fff.simulation.source import SimulatedLookup, SimulatedTable
from fff_experiments.classic.joins import HashRippleJoin
from fff_experiments.classic.query import ClassicQuery, ClassicRelation, ClassicScan
from fff_experiments.experiment import Check, Experiment, Findings, Panel, TrialRequest
from fff_experiments.stems2003.sources import (
    LOOKUP_S,
    QUEUE,
    ROWS,
    NobodyIdle,
    TimedIndexJoin,
    curve,
    equal,
    results_of,
    rises,
    run_classic,
    scan,
    values_of_a,
)

R, W, KEY = 0, 1, 0
R_S = 59.0  # seconds that the scan of R takes
W_S = 400.0  # and that of W: long enough that most results come after R is scanned
PAGE = 5  # rows of a page of either scan
GROUPS = 20
PRIORITIZED = f"W.key IN ({', '.join(map(str, range(0, ROWS, GROUPS)))})"
SETTING = (
    f"R and W have the same {ROWS} keys, each in an order of its own; the scan of R takes {R_S:.0f} s, that of W {W_S:.0f} s, a "
    f"lookup {LOOKUP_S} s, one at a time."
)

_W = pa.schema([("key", pa.int64())])
_R = pa.schema([("key", pa.int64()), ("a", pa.int64())])


def _keys(seed: int) -> tuple[list[int], list[int]]:
    """The keys of R and of W, each in an order of its own."""
    rng = random.Random(seed)
    orders = []
    for _ in range(2):
        keys = list(range(ROWS))
        rng.shuffle(keys)
        orders.append(keys)
    return orders[0], orders[1]


def tables(seed: int, host: str = "") -> tuple[SimulatedTable, SimulatedTable]:
    """R and W, both scanned, W with an index; `host`: that serves it."""
    of_r, of_w = _keys(seed)
    r = SimulatedTable(
        "R", pa.record_batch([of_r, values_of_a(seed)], schema=_R), ("key",), (scan(ROWS, R_S, PAGE),)
    )
    w = SimulatedTable(
        "W",
        pa.record_batch([of_w], schema=_W),
        ("key",),
        (scan(ROWS, W_S, PAGE),),
        (SimulatedLookup(("key",), FixedTime(LOOKUP_S), host=host),),
    )
    return r, w


def _relation(name: str, keys: list[int], seconds: float) -> ClassicRelation:
    """As the simulated scan delivers it, row by row."""
    page_s = seconds * PAGE / ROWS
    return ClassicRelation(name, [(key,) for key in keys], ClassicScan(page_s, (seconds - page_s) / ROWS))


def _default(plan: BlockPlan, prefer: Preference) -> RoutingPolicy:
    """The default policy of the product under a preference."""
    return make_policy(DEFAULT_POLICY, plan, prefer)


def _hybrid(
    seed: int, policy: str | Callable[[BlockPlan], RoutingPolicy] | None = None, host: str = ""
) -> BlockRun:
    """By back-pressure alone, or by a policy of the engine; `host`: whose index that of W is."""
    return run_block(
        "SELECT R.key, R.a FROM R, W WHERE R.key = W.key",
        tables(seed, host),
        policy=policy or (lambda _: NobodyIdle()),
        seed=seed,
    )


def _index_join(seed: int) -> Steps:
    of_r, of_w = _keys(seed)
    predicate = equal((R, KEY), (W, KEY))
    w = ClassicRelation("W", [(key,) for key in of_w], None)
    query = ClassicQuery((_relation("R", of_r, R_S), w), (predicate,))
    return results_of(run_classic(query, [TimedIndexJoin("RW", query, predicate, W)], [R], seed))


def _hash_join(seed: int) -> Steps:
    of_r, of_w = _keys(seed)
    predicate = equal((R, KEY), (W, KEY))
    query = ClassicQuery((_relation("R", of_r, R_S), _relation("W", of_w, W_S)), (predicate,))
    join = HashRippleJoin("RW", QUEUE, predicate, 0.0)
    return results_of(run_classic(query, [join], [R, W], seed))


@dataclass(frozen=True)
class _Hybrid:
    """Results over time, and probes of the index."""

    results: Steps
    probes: Steps

    @classmethod
    def of(cls, run: BlockRun) -> _Hybrid:
        """Of a run."""
        return cls(run.recorder.results(), run.recorder.requests("W", "lookup[key]"))


def _judged_q4(trial: TrialRequest) -> dict[str, _Hybrid]:
    """Hybrids by back-pressure, by benefit, and by the default under each preference; or what stands in for them."""
    defaults = {f"default, {prefer}": partial(_default, prefer=prefer) for prefer in PREFERENCES}
    policies = {"hybrid": None, "hybrid, policy benefit": "benefit"}
    match trial.control:
        case "index join":
            index = _index_join(trial.seed)
            return dict.fromkeys([*policies, *defaults], _Hybrid(index, index))
        case "hash join":
            return dict.fromkeys([*policies, *defaults], _Hybrid.of(_hybrid(trial.seed, "fixed")))
        case "benefit":
            greedy = _Hybrid.of(_hybrid(trial.seed, "benefit"))
            return dict.fromkeys([*policies, *defaults], greedy)
    return {name: _Hybrid.of(_hybrid(trial.seed, policy)) for name, policy in (policies | defaults).items()}


def _q4(trial: TrialRequest) -> Findings:
    seed = trial.seed
    runs = _judged_q4(trial)
    hybrid, by_benefit = runs["hybrid"].results, runs["hybrid, policy benefit"].results
    defaults = [runs["default, fast"], runs["default, balanced"]]
    index, hashed = _index_join(seed), _hash_join(seed)
    early = [LOOKUP_S * step for step in range(1, 10)]
    worst = min(hybrid.at(time) / index.at(time) for time in early if index.at(time))
    shares = [one.results.at(10) / index.at(10) for one in defaults]
    ends = [one.results.end / hashed.end for one in defaults]
    tenths = [rises(one.probes, 0.0, R_S) for one in defaults]
    probed = [one.probes.total / ROWS for one in defaults]
    shared = "benefit" if trial.control == "benefit" else partial(_default, prefer="fast")
    busy = _Hybrid.of(_hybrid(seed, shared, host="W.scan")).probes.total
    spared = runs["default, cheap"].probes.total
    overtaken = next(time for time in hashed.times if hashed.at(time) > index.at(time) > 0)
    half, bend = _half(hashed), _bend(hashed)
    return Findings(
        columns=("seconds", "index join", "hash join", *runs),
        rows=(
            *(
                (
                    time,
                    *(steps.at(time) for steps in (index, hashed, *(one.results for one in runs.values()))),
                )
                for time in (5.0, 10.0, 20.0, 30.0, 59.0, 100.0, 200.0, 300.0, 400.0)
            ),
            ("all results", index.end, hashed.end, *(one.results.end for one in runs.values())),
            ("probes of the index", index.total, 0, *(one.probes.total for one in runs.values())),
        ),
        panels=tuple(
            Panel(
                f"({number}) first {until:.0f} s",
                "time [s]",
                "result tuples",
                (
                    curve("hybrid (SteMs)", hybrid, until),
                    curve("index join", index, until),
                    curve("hash join", hashed, until),
                ),
            )
            for number, until in (("i", 30.0), ("ii", 200.0))
        ),
        checks=(
            Check(
                "the hybrid follows the index join early",
                "at least 0.9 of its results throughout the first 10 s",
                f"at worst {worst:.2f}",
                passed=worst >= 0.9,
            ),
            Check(
                "the hybrid takes about as long as the hash join",
                "completion at most 1.10 of the hash join's",
                f"{hybrid.end / hashed.end:.3f}",
                passed=hybrid.end <= 1.10 * hashed.end,
            ),
            Check(
                "the policy of the paper, benefit over cost, does as well",
                "at least 0.9 of the index join's results after 10 s, completion at most 1.10 of the hash join's",
                f"{by_benefit.at(10) / index.at(10):.2f}, and {by_benefit.end / hashed.end:.3f}",
                passed=by_benefit.at(10) >= 0.9 * index.at(10) and by_benefit.end <= 1.10 * hashed.end,
            ),
            Check(
                "the default does as well under `fast` and `balanced`",
                "at least 0.9 of the index join's results after 10 s, completion at most 1.10 of the hash join's",
                " and ".join(f"{share:.2f}, {end:.3f}" for share, end in zip(shares, ends, strict=True)),
                passed=min(shares) >= 0.9 and max(ends) <= 1.10,
            ),
            Check(
                "it keeps sending a small fraction of the tuples of R to the index",
                "some in each tenth of the scan of R, at most 10 % in all",
                " and ".join(
                    f"in {some} of 10, {part:.1%}" for some, part in zip(tenths, probed, strict=True)
                ),
                passed=min(tenths) == 10 and max(probed) <= 0.1,
            ),
            Check(
                "it asks nothing that takes a place from the scan, nor under `cheap`",
                "no probe under `fast` where the index is on the host of the scan of W, and none under `cheap`",
                f"{busy} and {spared}",
                passed=busy == spared == 0,
            ),
            Check(
                "the index join is ahead at first, the hash join overtakes it and wins by far",
                "ahead in the first 10 s, overtaken within 30 s; the index join takes more than twice as long in all",
                f"{index.at(10)} and {hashed.at(10)} results after 10 s, overtaken at {overtaken:.0f} s; "
                f"{index.end / hashed.end:.1f} times as long",
                passed=index.at(10) > hashed.at(10) and overtaken <= 30 and index.end > 2 * hashed.end,
                shows="that the joins to compare with are the paper's; no SteM is in it",
            ),
            Check(
                "the hash join is quadratic while both scans run, then linear at a lower slope",
                "at half of 59 s 0.15 to 0.35 of what there is then; after it 0.35 to 0.65 of the slope of such a curve at its end",
                f"{half:.2f}, {bend:.2f}",
                passed=0.15 <= half <= 0.35 and 0.35 <= bend <= 0.65,
                shows="that the joins to compare with are the paper's; no SteM is in it",
            ),
        ),
        notes=(
            SETTING,
            "The hybrid of the plot routes by back-pressure alone: the index gets a tuple whenever it has room.",
        ),
    )


def _half(hashed: Steps) -> float:
    """The share of the results until the end of the scan of R that are there at half of it: a quarter of a square."""
    return hashed.at(0.5 * R_S) / hashed.at(R_S)


def _bend(hashed: Steps) -> float:
    """Results a second after the scan of R over those just before its end, where a square is twice as steep as on the whole."""
    before = 2 * hashed.at(R_S) / R_S
    after = (hashed.at(W_S) - hashed.at(R_S)) / (W_S - R_S)
    return after / before


class _IndexAlone:
    """Every tuple asks the index, whoever wants it; none waits for the scan."""

    name = "index alone"

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:  # noqa: ARG002
        """A lookup where there is one."""
        return max(moves, key=lambda move: move.lookup is not None)

    def observe(self, outcome: Outcome) -> None:
        """It learns nothing."""


def _q5(trial: TrialRequest) -> Findings:
    seed = trial.seed
    policies = {"naive": "naive", "fixed": "fixed"}
    # The groups and their averages are above the eddy: what the eddy brings is the rows of the groups.
    run = run_block(
        "SELECT R.a, W.key FROM R, W WHERE R.key = W.key",
        tables(seed),
        policy=(lambda _: _IndexAlone())
        if trial.control == "index alone"
        else policies.get(trial.control, "benefit"),
        seed=seed,
        prioritize=("W.key < 0" if trial.control == "nobody first" else PRIORITIZED,),
    )
    keys = run.eddy.stored(W).column(0).to_pylist()
    by_lookup = dict(zip(keys, run.eddy.by_lookup[W], strict=True))
    times: dict[tuple[bool, bool], list[float]] = {(p, i): [] for p in (True, False) for i in (True, False)}
    for time, batch in run.batches:
        for key in batch.column(1).to_pylist():
            times[key % GROUPS == 0, by_lookup[key]].append(time)
    first = sorted(times[True, True] + times[True, False])
    rest = sorted(times[False, True] + times[False, False])
    share = len(times[True, True]) / len(first)
    scanned = len(times[False, False]) / len(rest)
    early = sum(time <= first[-1] for time in rest) / len(rest)
    ratio = statistics.median(first) / statistics.median(rest)
    steps = {kind: Steps.of((time, 1) for time in sorted(some)) for kind, some in times.items()}
    return Findings(
        columns=("results", "in all", "by the index", "by the scan", "median [s]", "last [s]"),
        rows=(
            (
                "prioritised",
                len(first),
                len(times[True, True]),
                len(times[True, False]),
                statistics.median(first),
                first[-1],
            ),
            (
                "others",
                len(rest),
                len(times[False, True]),
                len(times[False, False]),
                statistics.median(rest),
                rest[-1],
            ),
        ),
        panels=(
            Panel(
                "(i) prioritised results",
                "time [s]",
                "result tuples",
                (
                    curve("by the index", steps[True, True], W_S),
                    curve("by the scan", steps[True, False], W_S),
                ),
            ),
            Panel(
                "(ii) others",
                "time [s]",
                "result tuples",
                (
                    curve("by the index", steps[False, True], W_S),
                    curve("by the scan", steps[False, False], W_S),
                ),
            ),
        ),
        checks=(
            Check(
                "prioritised results come mostly by the index",
                "at least 80 %",
                f"{share:.0%}",
                passed=share >= 0.8,
            ),
            Check(
                "prioritised results come first",
                "their median time is below 25 % of that of the others",
                f"{ratio:.0%}",
                passed=ratio < 0.25,
            ),
            Check(
                "other results come mostly by the scan",
                "more than half",
                f"{scanned:.0%}",
                passed=scanned > 0.5,
                shows="that the index is too slow for more than a third of the rows, whoever asks it",
            ),
            Check(
                "few others come until all prioritised ones are there",
                "at most a quarter of them",
                f"{early:.0%}",
                passed=early <= 0.25,
            ),
        ),
        notes=(
            SETTING,
            "Routing is by policy `benefit`. What counts is which access method brought the row of W first.",
            (
                "Controls `naive`, `fixed` and `index alone` fail no claim: it is the preference that does this, by which prioritised "
                "tuples go first and on to the index, and not the policy."
            ),
        ),
    )


EXPERIMENTS = (
    Experiment(
        "S-4",
        "index join and hash join, hybridised by cost",
        "SteMs 2003, section 4.5, figure 12",
        "independent servers",
        "R and W have the same keys; W has an index and a slow scan. The index join is ahead at first, the hash join wins by far. "
        "The eddy with SteMs uses both: early it is like the index join, later like the hash join.",
        _q4,
        {
            "hash join": "SteMs that only wait for the scan, in place of all hybrids",
            "index join": "the index join in place of all hybrids",
            "benefit": "the policy benefit in place of all hybrids",
        },
    ),
    Experiment(
        "S-5",
        "index join and hash join, hybridised by what the user wants first",
        "SteMs 2003, section 4.6, figure 13",
        "independent servers",
        "One group of 20 is prioritised. Its results come mostly by the index, all others mostly by the scan, and few of these "
        "before all prioritised ones are there.",
        _q5,
        {
            "nobody first": "nothing is prioritised",
            "naive": "naive routing in place of benefit, the same priorities",
            "fixed": "no accelerating lookup in place of benefit, the same priorities",
            "index alone": "every tuple asks the index",
        },
    ),
)
