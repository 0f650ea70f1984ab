"""What a policy believes of moves: fan-outs per (TupleState, move), costs per move; as posterior mean and deviation.

Fan-outs: Beta where a move passes or drops, Gamma-Poisson where it may multiply. The prior of each state is
centred on what the move has done to tuples of any state, with a strength of `STRENGTH` tuples: correlation is
learnt where it shows, and a state never seen is not unknown. Costs: log-normal per move, as calls that take
long take much longer.
"""

from __future__ import annotations

import math

from fff.structs import Struct

#: Tuples that the marginal of a move counts for in each state.
STRENGTH = 10.0
#: Before anything is known a predicate passes half of the tuples, a probe finds one match; as if one tuple
#: had said so.
PASS, MATCHES = 0.5, 1.0
_DOUBT = 1.0
#: Of the logarithm of a cost around its mean before anything is known, and how many observations that counts
#: for.
_SPREAD, _BELIEF = 0.5, 2.0
#: Of that mean around those of other moves: a factor of 4 either way is nothing unusual.
_LEVEL_SPREAD = 1.5


class Share(Struct):
    """Tuples taken, and what came of them: tuples produced, or tuples that had to wait for an answer."""

    taken: float = 0.0
    produced: float = 0.0

    def add(self, taken: float, produced: float) -> None:
        """Count."""
        self.taken += taken
        self.produced += produced

    def shrink(self, most: float) -> None:
        """Believe it no more than so many tuples."""
        if self.taken > most:
            self.produced *= most / self.taken
            self.taken = most

    def mean(self, guess: float) -> float:
        """Produced per tuple taken, given a first guess."""
        return (self.produced + guess * _DOUBT) / (self.taken + _DOUBT)

    @property
    def filters(self) -> bool:
        """Whether nothing says yet that it multiplies."""
        return self.taken > 0 and self.produced <= self.taken


class Lumps(Struct):
    """How much more than Poisson a fan-out varies (Pearson): tuples that come of one tuple take the same key along."""

    seen: int = 0
    taken: float = 0.0
    produced: float = 0.0
    squares: float = 0.0

    def add(self, taken: float, produced: float) -> None:
        """Count one observation, of at least one tuple."""
        self.seen += 1
        self.taken += taken
        self.produced += produced
        self.squares += produced * produced / taken

    @property
    def dispersion(self) -> float:
        """Tuples that are worth one independent tuple."""
        if self.seen < 3 or not self.produced:
            return 1.0
        return max(1.0, (self.squares * self.taken / self.produced - self.produced) / (self.seen - 1))


def posterior(
    own: Share | None, centre: float, filters: bool, dispersion: float = 1.0
) -> tuple[float, float]:
    """Mean and standard deviation of a fan-out in one state, given what its prior is centred on."""
    if own is None:
        taken, mean = 0.0, centre
    else:
        taken = own.taken / dispersion
        mean = (STRENGTH * centre + own.produced / dispersion) / (STRENGTH + taken)
    if not filters:
        return mean, math.sqrt(mean / (STRENGTH + taken))
    mean = min(mean, 1.0)
    return mean, math.sqrt(mean * (1 - mean) / (STRENGTH + taken + 1))


class Cost(Struct):
    """Logarithms of the seconds that a move costs a tuple."""

    count: float = 0.0
    total: float = 0.0
    square: float = 0.0

    def add(self, log_cost: float) -> None:
        """Count one observation."""
        self.count += 1
        self.total += log_cost
        self.square += log_cost * log_cost

    def add_all(self, other: Cost) -> None:
        """Count what another has counted."""
        self.count += other.count
        self.total += other.total
        self.square += other.square

    def shrink(self, most: float) -> None:
        """Believe it no more than so many observations."""
        if self.count > most:
            share = most / self.count
            self.count, self.total, self.square = most, self.total * share, self.square * share

    def posterior(self, centre: float) -> tuple[float, float]:
        """Mean and deviation of the logarithm of the expected cost; `centre`: of the costs of other moves."""
        within = max(0.0, self.square - self.total**2 / self.count) if self.count else 0.0
        variance = (_BELIEF * _SPREAD**2 + within) / (_BELIEF + max(0.0, self.count - 1))
        precision = 1 / _LEVEL_SPREAD**2 + self.count / variance
        level = (centre / _LEVEL_SPREAD**2 + self.total / variance) / precision
        return level + variance / 2, math.sqrt(1 / precision)
