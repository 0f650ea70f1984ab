"""A cheap proxy in the place of a dear Boolean function, with a bound on its errors that holds at any time.

A proxy gives a score for each tuple of arguments. High scores are taken for true, low ones for false, and
between the two the function itself, the *oracle*, is asked. So it is of a random share of the others, the
*audits*, whose verdicts it gives as well; what audits find is what the bound is made of. Nothing is assumed
of the data, of their order or of the scores: the only chance is that of the coins thrown here.

The idea of two thresholds is that of model cascades (Kang et al., SUPG, VLDB 2020; Liskowski and Schmaus,
Streaming Model Cascades, 2026); the bound is a test martingale over audits (Ville's inequality), so that it
may be read after every row.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from fff.errors import UsageError
from fff.structs import Struct, field

#: Shares of a proxy's verdicts that the oracle gives in its place: the least with which the bound holds, so
#: that fewer are as more trues are known. Few trues need many audits, still less than asking for all.
AUDITED = (0.1, 0.2, 0.3, 0.4, 0.5)
#: Of the errors that may be made, the share that thresholds aim at; the rest is for not knowing their number.
_AIM = 0.4
#: So many verdicts of the oracle come before the first of the proxy; thresholds change when there are so much
#: more of them.
_FIRST, _MORE = 50, 1.1
#: Bets on how many errors audits find, and how much is set on each (see `most_unseen`).
_BETS = (1.0, 0.9, 0.75, 0.5, 0.25, 0.1)
_STAKES = (0.4, 0.2, 0.15, 0.1, 0.1, 0.05)


class Proxy(Struct, frozen=True, eq=False):
    """A cheap function that scores what a Boolean function is called with; the higher, the likelier it is true.

    Among the different arguments that a statement has had verdicts for, at whatever moment it stops: of those
    called true, at least `precision` are so for the function itself, and of those that are true for it, at
    least `recall` are called so; both together with probability `confidence`. Coins are thrown by `seed`.
    """

    run: Callable[..., object]
    precision: float = 0.9
    recall: float = 0.9
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises UsageError for what cannot be."""
        if not callable(self.run):
            raise UsageError(f"a proxy must be a function, not {self.run!r}")
        for name in ("precision", "recall", "confidence"):
            share = getattr(self, name)
            if not isinstance(share, int | float) or isinstance(share, bool) or not 0 < share < 1:
                raise UsageError(f"{name} of a proxy must be between 0 and 1, not {share!r}")


class Judging(Struct):
    """Some tuples of arguments and who judges them: the proxy's verdicts that are believed, or audited, by place.

    About the other places the oracle is asked as well, but not for an audit.
    """

    scores: Sequence[float | None]
    share: Mapping[bool, float]  # of the verdicts true and false that are audited
    believed: dict[int, bool] = field(default_factory=dict)
    audited: dict[int, bool] = field(default_factory=dict)

    @property
    def asked(self) -> list[int]:
        """The places about which the oracle is asked."""
        return [place for place in range(len(self.scores)) if place not in self.believed]


class Cascade:
    """Decides by scores for one statement; told what the oracle says, it learns where the proxy can be believed.

    What was decided together gets its verdicts together, when the audits among it are known, and in the order
    of deciding: else an oracle slow with some answers could have the bound looked at when it flatters.
    """

    def __init__(self, proxy: Proxy) -> None:
        self._wrong_trues, self._wrong_falses = 1 - proxy.precision, 1 - proxy.recall
        self._chance = (1 - proxy.confidence) / 2
        self._seed = proxy.seed
        self._coins = random.Random(proxy.seed)
        self._true_from, self._false_to = math.inf, -math.inf
        self._trues = 0  # verdicts given, by the oracle or the proxy
        #: Of the proxy's verdicts, true and false: those on their way, errors that audits have found, and how
        #: many wrong ones have been given at most.
        self._waiting, self._found, self._wrong = ({True: 0, False: 0} for _ in range(3))
        self._share = {True: AUDITED[-1], False: AUDITED[-1]}  # that is audited
        self._least = {
            True: AUDITED[-1],
            False: AUDITED[-1],
        }  # of those shares, among which verdicts were given
        self._known: list[
            tuple[float, bool, float]
        ] = []  # score, the oracle's verdict, for how many it stands
        self._learn_at = float(_FIRST)

    def decide(self, scores: Sequence[float | None], keys: Sequence[object] = ()) -> Judging:
        """Who judges tuples of arguments of these scores, None where the proxy gave none.

        By `keys`, the arguments, each has its coin, the same in every run: what audits cost is kept.
        """
        judging = Judging(scores, dict(self._share))
        for place, score in enumerate(scores):
            if score is None or self._false_to < score < self._true_from or math.isnan(score):
                continue
            side = score >= self._true_from
            if not self._holds({**self._waiting, side: self._waiting[side] + 1}, self._found, self._trues):
                continue
            coins = random.Random(f"{self._seed} {keys[place]!r}") if keys else self._coins
            if coins.random() < self._share[side]:
                judging.audited[place] = side
            else:
                judging.believed[place] = side
                self._waiting[side] += 1
                self._least[side] = min(self._least[side], self._share[side])
        return judging

    def holds(self, judging: Judging, heard: Mapping[int, bool]) -> bool:
        """Whether the proxy's verdicts may be given, after what the oracle says; else it has to give them, too."""
        trues = self._trues + sum(heard.values()) + sum(judging.believed.values())
        return self._holds(_by_side(judging.believed), self._with_errors(judging, heard), trues)

    def settle(self, judging: Judging, heard: Mapping[int, bool]) -> None:
        """The verdicts are given: the oracle's, and the proxy's where the oracle has not been heard."""
        self._drop_waiting(judging)
        believed = {place: side for place, side in judging.believed.items() if place not in heard}
        self._found = self._with_errors(judging, heard)
        self._wrong = self._most_wrong(_by_side(believed), self._found)
        self._trues += sum(heard.values()) + sum(believed.values())
        for place, verdict in heard.items():
            score = judging.scores[place]
            side = judging.audited.get(place)
            stands_for = 1 / judging.share[side] if believed and side is not None else 1.0
            if score is not None:
                self._known.append((score, verdict, stands_for))
        if len(self._known) >= self._learn_at:
            self._learn()
        self._share = {side: self._least_share(side) for side in (True, False)}

    def _least_share(self, side: bool) -> float:
        """What has to be audited of a side's verdicts from now on: one more error found stops nothing."""
        may_be = self._wrong_trues * self._trues if side else self._misses(self._trues, self._wrong[True])
        for share in AUDITED:
            if most_unseen(self._found[side] + 1, self._chance, share) <= may_be:
                return share
        return AUDITED[-1]

    def fail(self, judging: Judging) -> None:
        """The oracle brought nothing, so no verdict is given. Audits count as if they had found errors."""
        self._drop_waiting(judging)
        self._found = self._with_errors(judging, {})

    def _drop_waiting(self, judging: Judging) -> None:
        for side in judging.believed.values():
            self._waiting[side] -= 1

    def _with_errors(self, judging: Judging, heard: Mapping[int, bool]) -> dict[bool, int]:
        """The errors that audits have found, these among them."""
        errors = _by_side({at: side for at, side in judging.audited.items() if heard.get(at) is not side})
        return {side: self._found[side] + errors[side] for side in errors}

    def _most_wrong(self, believed: Mapping[bool, int], errors: Mapping[bool, int]) -> dict[bool, int]:
        """How many wrong verdicts have been given at most if so many more are. What held before holds on."""
        return {
            side: min(
                self._wrong[side] + believed[side],
                most_unseen(errors[side], self._chance, self._least[side]),
            )
            for side in (True, False)
        }

    def _holds(self, believed: Mapping[bool, int], errors: Mapping[bool, int], trues: int) -> bool:
        wrong = self._most_wrong(believed, errors)
        return wrong[True] <= self._wrong_trues * trues and wrong[False] <= self._misses(trues, wrong[True])

    def _misses(self, trues: int, wrong: int) -> float:
        """How many verdicts false may be wrong where so many are true, of which at most so many wrong."""
        return self._wrong_falses * (trues - wrong) / (1 - self._wrong_falses)

    def _learn(self) -> None:
        """Set the thresholds by what is known, to leave the proxy all that may be; no score falls on both sides."""
        self._learn_at = len(self._known) * _MORE + _FIRST / 2
        scores, verdicts, weights = (np.array(column) for column in zip(*sorted(self._known), strict=True))
        trues = weights * verdicts
        aimed = _AIM * trues.sum()
        self._false_to = _last_within(scores, trues, aimed * self._wrong_falses, -math.inf)
        falses = (weights - trues)[::-1]
        self._true_from = _last_within(scores[::-1], falses, aimed * self._wrong_trues, math.inf)
        if self._true_from <= self._false_to:
            self._true_from = (self._true_from + self._false_to) / 2
            self._false_to = math.nextafter(self._true_from, -math.inf)


def _by_side(verdicts: Mapping[int, bool]) -> dict[bool, int]:
    trues = sum(verdicts.values())
    return {True: trues, False: len(verdicts) - trues}


def _last_within(scores: np.ndarray, errors: np.ndarray, most: float, none: float) -> float:
    """The last score up to which errors, summed, are at most so many; `none` where not even the first is."""
    last_of_its_kind = np.append(scores[1:] != scores[:-1], True)
    [within] = np.nonzero(last_of_its_kind & (np.cumsum(errors) <= most))
    return float(scores[within[-1]]) if len(within) else none


@cache
def most_unseen(errors: int, chance: float, share: float) -> int:
    """How many errors no audit has seen, at most, where audits have found some; ever more with probability `chance`.

    An audit finds each error with a probability `p` that may be another for each, be chosen by all that was
    known before, and is `share` at least. Who gets `1 + bet p / (1 - p)` for one that is not found, and
    `1 - bet` for one that is, plays a fair game, in which nobody ever has 1 / `chance` times the stake with a
    greater probability than `chance`. Several such at once are fair, too. Taking `share` for `p` gives less.
    """
    bets = 1 + np.array(_BETS) * share / (1 - share)
    lost = np.maximum(1 - np.array(_BETS), np.finfo(float).tiny)
    begun = np.log(_STAKES) + errors * np.log(lost)

    def is_likely(unseen: int) -> bool:
        return float(np.logaddexp.reduce(begun + unseen * np.log(bets))) < -math.log(chance)

    high = 1
    while is_likely(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_likely(middle) else (low, middle)
    return low
