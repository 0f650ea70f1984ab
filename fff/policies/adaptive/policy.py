"""The default: optimistic lattice sampling with restart upon change, at the prices of what is scarce.

It grew out of lattice posterior sampling: beliefs per (TupleState, move) (`beliefs`), the lattice of states
solved exactly under one draw from them (`lattice`), a restart where a stream is found to have changed
(`changes`). In place of plain posterior sampling the draw is narrowed and shifted towards good news, and a
move has one draw for all states: what is tried is what might well be best, and what most tuples pass at the
end of their way anyway is learnt there for nothing. docs/policies.md has the measured excess.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from fff.dataflow.plan.moves import Load, Move, Offer, Outcome, ScanRace, after
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.state import TupleState
from fff.options import Preference
from fff.policies.adaptive.beside import Accelerators
from fff.policies.adaptive.lattice import Bills, Lattice, Valued, sober, solve
from fff.policies.adaptive.posterior import PROBE_S, Beliefs
from fff.policies.adaptive.prior import Past
from fff.policies.adaptive.rival_scans import RivalScans
from fff.policies.adaptive.scarcity import ENGINE, ENGINE_S, SPENT, Scarcity, Toll
from fff.policies.adaptive.shared_keys import SharedKeys
from fff.structs import Struct, field, replace

#: Decisions are made one by one after a start or a change; later after a share of those made, and after so
#: many at most.
WARM_UP, REOPTIMIZE_SHARE, REOPTIMIZE = 200, 0.05, 100
#: Tuples of a batch that go at once, as a share of those whose fate is known.
CAUTION = 0.1
#: And as a share of those that have gone and whose fate is not known yet: before that is, to decide on fewer
#: at a time makes nobody wiser.
SPREAD = 0.5
#: Seconds of service worth a decision of their own: forty times what deciding takes. Fewer tuples than that
#: go together.
THINKING_S = 2e-2
#: Steps by which prices are found at the start, times the states that are looked through.
FIRST_STEPS = 200
#: And at each decision after that.
STEPS = 64
#: Where moves cost about nothing: tuples between two decisions, as a share of those decided.
HASTE = 1.0
#: Fan-outs that differ by less are about the same there.
ABOUT = 0.2
#: Outcomes of such moves, of at least so many tuples each, are learnt together: as many again, so many at
#: most.
TOGETHER, MANY = 8, 32
#: Outcomes that wait to be learnt at most.
LATE = 64


class Adaptive:
    """Routes each tuple the way that would be cheapest if a hopeful guess at what is unknown were true."""

    name = "adaptive"

    def __init__(
        self, plan: BlockPlan | None = None, prefer: Preference = "balanced", past: Past | None = None
    ) -> None:
        self._thrifty = prefer != "fast"
        self._scarcity = Scarcity(plan, prefer)
        self._accelerators = Accelerators(plan, prefer)
        self._rival_scans = RivalScans(plan, prefer)
        self._shared = SharedKeys(plan)
        self._beliefs = Beliefs(
            by_request=prefer == "cheap", past=past, limiter=self._scarcity.limiter, shared=self._shared
        )
        self._restarts = 0
        self._unlearnt: list[Outcome] = []
        self._grave = False  # whether one of these may be a reason to start over
        self._begun: dict[TupleState, int] = {}  # tuples that were let go
        self._lattice = Lattice(plan)
        self._courses: dict[TupleState, _Course] = defaultdict(_Course)

    @property
    def beliefs(self) -> Beliefs:
        """What is believed after all that was observed."""
        self._learn()
        return self._beliefs

    @property
    def restarts(self) -> int:
        """How often something was found to have changed."""
        self._learn()
        return self._restarts

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        """The cheapest move under the belief in force, where all of them keep one processor busy."""
        self._learn()
        open_moves = sober(moves)
        self._lattice.offer(state, open_moves)
        valued = self._decide(
            state, 1, lambda: solve(self._lattice, state, open_moves, self._beliefs.draw(rng))
        )
        return valued.moves[0][1]

    def take(self, offer: Offer, rng: random.Random) -> tuple[Move, int] | None:
        """The cheapest move that has room, unless waiting for a better one is worth it; few tuples while little is known."""
        course = self._courses[offer.state]
        if course.offered is not offer.moves:
            course.look_at(offer.moves)
        if self._grave:
            self._learn()
        moves, costs = course.moves, self._beliefs.costs
        taken: tuple[Move, int] | None
        if course.decided < course.due and course.probe is not None and not (course.asks or costs):
            course.decided += offer.size
            taken = course.probe, offer.size
        elif len(moves) == 1:
            taken = moves[0], offer.size
        elif course.asks or (costs and any(move in costs for move in moves)):
            taken = self._needed(offer, course, rng)
        else:
            taken = self._probe(offer, course), offer.size
        if taken is None or len(moves) == len(offer.moves):
            return taken
        return self._accelerators.beside(offer, *taken, self._hits(offer.state, taken[0]), rng) or taken

    def race(self, race: ScanRace) -> Mapping[int, int]:
        """Which of several scans of a table read on."""
        return self._rival_scans.race(race)

    def _hits(self, state: TupleState, probe: Move) -> float:
        """Matches that a tuple is expected to find in a SteM as it is; none as long as all that probed it found it empty."""
        self._learn()
        here = self._beliefs.here(state, probe)
        known = here is not None and here.fan_out.taken
        return self._beliefs.expected(state, probe) if known else 0.0

    def _needed(self, offer: Offer, course: _Course, rng: random.Random) -> tuple[Move, int] | None:
        """The same of the moves that the answer needs, where they cost something."""
        self._learn()
        state, moves = offer.state, course.moves
        unread = self._unread(moves) if self._thrifty else None
        if unread is not None:
            return unread, offer.size
        before = None if course.solved is None else course.solved[state]
        least = 1
        if before is not None:  # what costs less than a probe may be mistaken: as many tuples again, at most
            most = max(THINKING_S / PROBE_S, course.decided * HASTE)
            least += int(min(THINKING_S / max(abs(before.value), 1e-12), most))
        gone, known = course.gone, course.fates
        size = min(max(least, int(known * CAUTION), int((gone - known) * SPREAD)), offer.size)
        if before is None and self._alike(offer, moves):
            first, valued = int(rng.random() * len(moves)), None
            ranked = moves[first:] + moves[:first]
            course.decided += size
        else:
            self._lattice.offer(state, moves)
            valued = self._decide(state, size, lambda: self._priced(offer, moves, rng), least)
            ranked = tuple(move for _, move in valued.moves)
        for place, move in enumerate(ranked):
            load = offer.load(move)
            room = offer.size if load.room is None else load.room
            if room <= 0 or (place and valued is not None and not self._fair(valued, place, load)):
                continue
            # A request costs about the same however few keys it carries: the last one is filled, too.
            size = min(-(-size // load.batch) * load.batch, offer.size, room)
            course.gone = gone + size
            self._begun[state] = self._begun.get(state, 0) + size
            return move, size
        return None

    def _alike(self, offer: Offer, moves: tuple[Move, ...]) -> bool:
        """Whether nothing tells some lookups apart: all that has been tried is behind these tuples, and they ask alike."""
        state, beliefs, scarcity = offer.state, self._beliefs, self._scarcity
        if any(after(state, tried) != state for tried in beliefs.anywhere):
            return False
        if any(move.lookup is None or offer.load(move).left is not None for move in moves):
            return False
        limiters = {scarcity.limiter(move) for move in moves}
        if len(limiters) > 1 and any(scarcity.limiter(tried) in limiters for tried in beliefs.costs):
            return False
        return len({scarcity.terms(move) for move in moves}) == 1

    def _unread(self, moves: tuple[Move, ...]) -> Move | None:
        """A probe of a scanned table of which nothing is known: it is free, and who has no partner there need not be asked for."""
        return next(
            (
                move
                for move in moves
                if move.lookup is None and move.predicate is None and not self._beliefs.met(move)
            ),
            None,
        )

    def _fair(self, valued: Valued, place: int, load: Load) -> bool:
        """Whether another move than the best is worth it, as it need not wait."""
        if valued.bill is None:
            return False
        best, move = valued.moves[0][1], valued.moves[place][1]
        idle, _ = self._scarcity.place(move, load)
        return self._scarcity.fair(valued.bill(best), valued.bill(move), idle)

    def _priced(
        self, offer: Offer, moves: tuple[Move, ...], rng: random.Random
    ) -> Mapping[TupleState, Valued]:
        """Every state from here on, solved at the prices of what is scarce; which learn from it."""
        state, draw, scarcity = offer.state, self._beliefs.draw(rng), self._scarcity
        usual = self._beliefs.request_s

        tolls: dict[Move, Toll] = {}
        # A move is the same in all states where it has not been taken, unless keys are shared.
        strange: dict[tuple[Move, float], tuple[Sequence[tuple[int, float]], float]] = {}

        def taken(here: TupleState, move: Move) -> tuple[Sequence[tuple[int, float]], float]:
            if self._beliefs.here(here, move) is not None:
                return billed(here, move)
            key = move, self._shared(here, move)
            bill = strange.get(key)
            if bill is None:
                bill = strange[key] = billed(here, move)
            return bill

        def billed(here: TupleState, move: Move) -> tuple[Sequence[tuple[int, float]], float]:
            seconds, fan_out = draw(here, move)
            toll = tolls.get(move)
            if toll is None:
                load = offer.load(move)
                toll = tolls[move] = scarcity.toll(move, load)
                self._shared.learn(move, load)
            busy = toll.where, seconds / toll.at_once
            if move.lookup is None:
                return ((SPENT, seconds), busy), fan_out
            requests = draw.keys(here, move) / toll.batch
            bill = ((SPENT, requests * usual * toll.worth), busy, (ENGINE, requests * ENGINE_S))
            return bill if toll.quota is None else (*bill, (toll.quota[0], requests * toll.quota[1])), fan_out

        below = self._lattice.below(state)
        if not below:  # too wide
            return solve(self._lattice, state, moves, draw)
        bills = Bills(below, taken)
        if scarcity.alone:
            return bills.solve(scarcity.saving())
        if state.span.bit_count() > 1 or state.done:
            return bills.solve(scarcity.prices())
        # Beliefs move while prices are learnt: a step each time would never catch up within some hundred
        # tuples.
        least = bills.cheapest(scarcity.saving())
        scarcity.expect(state, max(offer.size, offer.expected() - self._begun.get(state, 0)))
        steps = max(1, (STEPS if scarcity.knows(state) else FIRST_STEPS) // len(below))
        return bills.solve(scarcity.learn(state, least, bills.cheapest, steps, self._begun))

    def _probe(self, offer: Offer, course: _Course) -> Move:
        """Where every move costs about nothing, thinking must not cost more: the least fan-out, reconsidered now and then.

        No dice are thrown: tuples that pass meet all the moves anyway, which teaches what each of them does,
        and hope does the rest.
        """
        self._learn()
        hoped = self._beliefs.hoped
        fan_outs = [hoped(offer.state, move) for move in course.moves]
        # Of those about as good one of which nothing is known, as nothing may be there yet; else the first,
        # in every state: tuples that keep together travel in larger batches.
        enough = min(fan_outs) * (1 + ABOUT) + ABOUT / 10
        good = [move for move, fan_out in zip(course.moves, fan_outs, strict=True) if fan_out <= enough]
        course.probe = next((move for move in good if not self._beliefs.met(move)), good[0])
        course.due = course.decided + offer.size + int(course.decided * HASTE)
        course.decided += offer.size
        return course.probe

    def _decide(
        self,
        state: TupleState,
        size: int,
        solved_anew: Callable[[], Mapping[TupleState, Valued]],
        least: int = 1,
    ) -> Valued:
        course = self._courses[state]
        if course.solved is None or course.decided >= course.due:
            solved = solved_anew()
            for below in solved:
                known = self._courses[below]
                known.solved, so_far = solved, known.decided
                pause = 1 if so_far < WARM_UP else min(REOPTIMIZE, int(so_far * REOPTIMIZE_SHARE))
                known.due = so_far + max(pause, least)
            course.solved = solved
        course.decided += size
        return course.solved[state]

    def observe(self, outcome: Outcome) -> None:
        """Learn, when it is next to be decided by what is known: many at a time take half as long as one by one."""
        self._unlearnt.append(outcome)
        if not self._grave and not self._free(outcome):
            self._grave = True
        if len(self._unlearnt) >= LATE:
            self._learn()

    def _free(self, outcome: Outcome) -> bool:
        """Whether a tuple cost next to nothing: it probed a SteM, or a predicate where nobody measures any."""
        move = outcome.move
        return (
            move.lookup is None and not outcome.cost and (move.predicate is None or not self._beliefs.costs)
        )

    def _learn(self) -> None:
        """Learn what was observed; start over where something has changed."""
        if not self._unlearnt:
            return
        unlearnt, self._unlearnt, self._grave = self._unlearnt, [], False
        courses, accelerators = self._courses, self._accelerators
        for outcome in unlearnt:
            move, course = outcome.move, courses[outcome.state]
            if move.lookup is not None and move in accelerators:
                # What came of it is what the SteM held; its answers come as new rows.
                accelerators.observe(outcome)
                outcome = replace(outcome, move=Move(move.alias), requests=0)  # noqa: PLW2901
            many = outcome.taken >= MANY and outcome.informed and self._free(outcome)
            gathered = course.gather(outcome) if many else outcome
            if gathered is not None and self._beliefs.observe(gathered):
                self._restarts += 1
                for other in courses.values():
                    other.decided = other.due = other.gone = 0
                    other.fates = 0.0
            course.fates += outcome.taken


class _Course(Struct):
    """What has been decided for tuples of one state."""

    offered: Sequence[Move] | None = None
    moves: tuple[Move, ...] = ()  # of these, without accelerators
    asks: bool = False  # whether one of them is a lookup
    probe: Move | None = None  # that is taken where all cost about nothing
    solved: Mapping[TupleState, Valued] | None = None  # this state, and others
    # Tuples, since the last restart: of which has been decided, of which will have been when it is solved
    # anew, that were let go, whose outcome is known.
    decided: int = 0
    due: int = 0
    gone: int = 0
    fates: float = 0.0
    gathered: dict[Move, _Gathered] = field(default_factory=dict)

    def gather(self, outcome: Outcome) -> Outcome | None:
        """What is to be learnt now: big batches that cost about nothing are learnt several at a time."""
        so_far = self.gathered.get(outcome.move)
        if so_far is None:
            so_far = self.gathered[outcome.move] = _Gathered()
        so_far.count += 1
        so_far.taken += outcome.taken
        so_far.produced += outcome.produced
        if so_far.count < so_far.due:
            return None
        together = Outcome(outcome.state, outcome.move, so_far.taken, so_far.produced)
        so_far.due += min(so_far.count, TOGETHER)
        so_far.taken = so_far.produced = 0
        return together

    def look_at(self, offered: Sequence[Move]) -> None:
        """Tuples are offered other moves than those before them, if there were any."""
        asks = any(move.lookup is not None for move in offered)
        self.offered, self.moves = offered, sober(offered) if asks else tuple(offered)
        self.asks = asks and any(move.lookup is not None for move in self.moves)


class _Gathered(Struct):
    """Outcomes of a move, how many there will be when it is next learnt from, and what came of those not learnt yet."""

    count: int = 0
    due: int = 1
    taken: int = 0
    produced: int = 0
