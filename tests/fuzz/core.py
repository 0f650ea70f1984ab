"""The core under test, set up as a run says."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from fff.dataflow.eddy import Eddy, EddyOptions
from fff.dataflow.lookups.methods import LookupOptions
from fff.dataflow.plan.events import (
    CancelLookup,
    Event,
    Instruction,
    LookupAnswers,
    LookupEnd,
    LookupRows,
    TimePassed,
    WakeAt,
)
from fff.dataflow.plan.moves import Move, Offer, Outcome, ScanRace
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.dataflow.plan.state import TupleState
from fff.policies import make_policy
from fff.policies.adaptive.policy import Adaptive
from fff.policies.adaptive.prior import Lesson, Level, Past
from fff.policies.adaptive.session_memory import moves_of
from fff.runtime.memory import SpillFiles
from tests.fuzz.world import Run


class Stubborn:
    """One move per state, drawn the first time and kept: as far from evenly random as a legal policy gets."""

    name = "stubborn"

    def __init__(self) -> None:
        self._chosen: dict[TupleState, Move] = {}

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        return self._chosen.setdefault(state, rng.choice(moves))

    def observe(self, outcome: Outcome) -> None:
        pass


class Hesitant:
    """Any move, for any part of a batch, and often enough none for now: whatever a pulling policy may say."""

    name = "hesitant"

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        return rng.choice(moves)

    def take(self, offer: Offer, rng: random.Random) -> tuple[Move, int] | None:
        move = rng.choice(offer.moves)
        if rng.random() < (0.6 if offer.load(move).backlog else 0.3):
            return None
        return move, rng.randint(1, offer.size + 1)

    def observe(self, outcome: Outcome) -> None:
        pass


def hearsay(plan: BlockPlan, rng: random.Random) -> Past:
    """A memory of runs that never were."""

    def lesson() -> Lesson:
        taken = rng.randint(1, 100)
        return Lesson(
            (taken, rng.randint(0, taken)), (taken, rng.randint(0, taken)), (taken, rng.randint(0, taken))
        )

    told = [key for key in moves_of(plan) if rng.random() < 0.8]
    levels = [Level(4.0, 4.0 * (level := rng.gauss(0, 3)), 4.0 * level**2 + 0.1) for _ in told]
    return Past(
        {key: lesson() for key in told},
        {move: lesson() for _, move in told},
        {move: level for (_, move), level in zip(told, levels, strict=True) if move.lookup is not None},
    )


def policy_of(plan: BlockPlan, run: Run) -> RoutingPolicy:
    """The policy a run names; `shuffled` is a fixed order that is not the FROM clause's."""
    if run.policy == "stubborn":
        return Stubborn()
    if run.policy == "hesitant":
        return Hesitant()
    if run.policy.startswith("adaptive "):
        past = hearsay(plan, random.Random(run.seed)) if run.seed % 2 else None
        return Adaptive(plan, run.policy.removeprefix("adaptive "), past)  # type: ignore[arg-type]
    if run.policy == "shuffled":
        names = [alias.name for alias in plan.aliases]
        random.Random(run.seed).shuffle(names)
        return make_policy(f"fixed:{','.join(names)}", plan)
    return make_policy(run.policy, plan)


def racing(policy: RoutingPolicy, run: Run) -> RoutingPolicy:
    """The policy, and who of several scans reads on: all of them, or any, and as often as not nobody."""
    rng = random.Random(f"race {run.seed}")

    def every(race: ScanRace) -> dict[int, int]:
        return {pace.index: race.most for pace in race.scans}

    def some(race: ScanRace) -> dict[int, int]:
        return {pace.index: rng.randint(-1, race.most + 1) for pace in race.scans if rng.random() < 0.4}

    if run.scans:
        policy.race = every if run.scans == "all" else some  # type: ignore[attr-defined]
    return policy


def options_of(run: Run) -> EddyOptions:
    """The core's options for a run."""
    rng = random.Random(f"pick {run.seed}")
    return EddyOptions(
        semantics=run.semantics,  # type: ignore[arg-type]
        route_size=run.route_size,
        pick=None if run.most_processed_first else rng.randrange,
        scan_credit=run.scan_credit,
        max_lookup_window=run.window,
        lookups=LookupOptions(
            run.patience, hedge_after=run.hedge_after, hedge_share=run.hedge_share, slow_s=run.slow_s
        )
        if run.races
        else LookupOptions(run.patience),
        prunes=run.prunes,
    )


def make_core(plan: BlockPlan, run: Run) -> Eddy:
    """A fresh core for a run."""
    return Eddy(plan, racing(policy_of(plan, run), run), random.Random(f"eddy {run.seed}"), options_of(run))


class Merging:
    """A core that is told what lookups answered as the runtime tells it: merged, at the next other event."""

    def __init__(self, eddy: Eddy) -> None:
        self._eddy = eddy
        self._heard: list[LookupRows | LookupEnd] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._eddy, name)

    @property
    def has_work(self) -> bool:
        return bool(self._heard) or self._eddy.has_work

    def handle(self, event: Event) -> list[Instruction]:
        if isinstance(event, LookupRows | LookupEnd):
            self._heard.append(event)
            return []
        heard, self._heard = self._heard, []
        rows = tuple(one for one in heard if isinstance(one, LookupRows))
        ends = tuple(one for one in heard if isinstance(one, LookupEnd))
        instructions = self._eddy.handle(LookupAnswers(rows, ends)) if heard else []
        over = {end.request for end in ends}  # nothing is left of them that could be cancelled
        now = event.now if isinstance(event, TimePassed) else -math.inf
        late = [
            one
            for one in instructions
            if (isinstance(one, CancelLookup) and one.request in over)
            or (isinstance(one, WakeAt) and one.at <= now)
        ]
        return [one for one in instructions if one not in late] + self._eddy.handle(event)


def make_merging(plan: BlockPlan, run: Run) -> Merging:
    """A fresh core behind a runtime that merges."""
    return Merging(make_core(plan, run))


class Spilling:
    """A core whose tables leave memory between events, as they do under a memory limit."""

    def __init__(self, eddy: Eddy, run: Run) -> None:
        self._eddy = eddy
        self._rng = random.Random(f"spill {run.seed}")
        self._files = SpillFiles(least=0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._eddy, name)

    def handle(self, event: Event) -> list[Instruction]:
        if self._rng.random() < 0.2:
            self._eddy.spill(self._files)
            assert self._files.failed is None
        return self._eddy.handle(event)


class Forgetting:
    """A core that lets rows go as the runtime has it do, once what was emitted has been gathered; far sooner, though."""

    def __init__(self, eddy: Eddy, run: Run) -> None:
        self._eddy = eddy
        self._rng = random.Random(f"forget {run.seed}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._eddy, name)

    def handle(self, event: Event) -> list[Instruction]:
        if self._rng.random() < 0.7:
            self._eddy.forget(1)
        return self._eddy.handle(event)


def make_forgetting(plan: BlockPlan, run: Run) -> Forgetting:
    """A fresh core that keeps no row that only probes."""
    return Forgetting(make_core(plan, run), run)


def make_spilling(plan: BlockPlan, run: Run) -> Spilling:
    """A fresh core whose memory is short."""
    return Spilling(make_core(plan, run), run)
