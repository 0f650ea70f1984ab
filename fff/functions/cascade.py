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
from functools import cache, lru_cache

import numpy as np

from fff.errors import UsageError
from fff.structs import Struct, field

#: Shares of a proxy's verdicts that the oracle gives in its place: the least with which the bound holds, so
#: that fewer are as more trues are known. Few trues need many audits, still less than asking for all.
AUDITED: tuple[float, ...] = tuple(0.05 * 16 ** (step / 15) for step in range(16))  # to 0.8
#: Of the chance of error, the share for verdicts false: they are the more, and bounded by few trues.
_OF_FALSES = 0.8
#: Of the errors that may be made, the share that thresholds aim at; the rest is for not knowing their number.
_AIM = 0.5
#: So many verdicts of the oracle come before the first of the proxy; thresholds change when there are so much
#: more of them.
_FIRST, _MORE = 50, 1.1
#: Bets on how many errors audits find, as what each multiplies by for one that is not found (see
#: `most_unseen`), as logarithms. Half is set on the first, that none is found at all; the last is worth
#: something whatever is found, since the least share that is audited gains more.
_GAINS = -np.log1p(-np.array((1 - 1e-12, 0.6, 0.4, 0.25, 0.15, 0.08, 0.04)))
_STAKES: tuple[float, ...] = (math.log(0.5), *[math.log(0.5 / (len(_GAINS) - 1))] * (len(_GAINS) - 1))


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
        chance = 1 - proxy.confidence
        self._chance = {True: chance * (1 - _OF_FALSES), False: chance * _OF_FALSES}
        self._seed = proxy.seed
        self._coins = random.Random(proxy.seed)
        self._true_from, self._false_to = math.inf, -math.inf
        self._trues = 0  # verdicts given, by the oracle or the proxy
        #: Of the proxy's verdicts, true and false: those on their way, how many wrong ones have been given at
        #: most, what bets have after the errors that audits have found, and whether more are expected.
        self._waiting, self._wrong = {True: 0, False: 0}, {True: 0, False: 0}
        self._bets = {True: _STAKES, False: _STAKES}
        self._errs = {True: False, False: False}
        self._share = {True: AUDITED[-1], False: AUDITED[-1]}  # that is audited
        self._least = dict(self._share)  # of those shares, among which verdicts were given
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
            if not self._holds({**self._waiting, side: self._waiting[side] + 1}, self._bets, self._trues):
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
        self._bets = self._with_errors(judging, heard)
        self._wrong = self._most_wrong(_by_side(believed), self._bets)
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
        """What has to be audited of a side's verdicts from now on. Where errors come, one more stops nothing."""
        may_be = self._wrong_trues * self._trues if side else self._misses(self._trues, self._wrong[True])
        for share in AUDITED:
            bets = self._bets[side]
            if self._errs[side] or bets != _STAKES:
                bets = with_error(bets, share)
            if most_unseen(bets, self._chance[side], share) <= may_be:
                return share
        return AUDITED[-1]

    def fail(self, judging: Judging) -> None:
        """The oracle brought nothing, so no verdict is given. Audits count as if they had found errors."""
        self._drop_waiting(judging)
        self._bets = self._with_errors(judging, {})

    def _drop_waiting(self, judging: Judging) -> None:
        for side in judging.believed.values():
            self._waiting[side] -= 1

    def _with_errors(self, judging: Judging, heard: Mapping[int, bool]) -> dict[bool, tuple[float, ...]]:
        """What the bets have after the errors that these audits have found."""
        bets = dict(self._bets)
        for at, side in judging.audited.items():
            if heard.get(at) is not side:
                bets[side] = with_error(bets[side], judging.share[side])
        return bets

    def _most_wrong(
        self, believed: Mapping[bool, int], bets: Mapping[bool, tuple[float, ...]]
    ) -> dict[bool, int]:
        """How many wrong verdicts have been given at most if so many more are. What held before holds on."""
        return {
            side: min(
                self._wrong[side] + believed[side],
                most_unseen(bets[side], self._chance[side], self._least[side]),
            )
            for side in (True, False)
        }

    def _holds(
        self, believed: Mapping[bool, int], bets: Mapping[bool, tuple[float, ...]], trues: int
    ) -> bool:
        wrong = self._most_wrong(believed, bets)
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
        self._errs = {
            True: bool(np.any(verdicts[scores >= self._true_from] == 0)),
            False: bool(np.any(verdicts[scores <= self._false_to])),
        }


def _by_side(verdicts: Mapping[int, bool]) -> dict[bool, int]:
    trues = sum(verdicts.values())
    return {True: trues, False: len(verdicts) - trues}


def _last_within(scores: np.ndarray, errors: np.ndarray, most: float, none: float) -> float:
    """The last score up to which errors, summed, are at most so many; `none` where not even the first is."""
    last_of_its_kind = np.append(scores[1:] != scores[:-1], True)
    [within] = np.nonzero(last_of_its_kind & (np.cumsum(errors) <= most))
    return float(scores[within[-1]]) if len(within) else none


@lru_cache(maxsize=4096)
def with_error(bets: tuple[float, ...], share: float) -> tuple[float, ...]:
    """What the bets have, as logarithms, after an audit has found an error where such a share was audited."""
    return tuple(float(one) for one in np.array(bets) + _losses(share))


@cache
def _losses(share: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        losses: np.ndarray = np.log(1 - np.minimum(1, np.expm1(_GAINS) * (1 - share) / share))
    return losses


@lru_cache(maxsize=4096)
def most_unseen(bets: tuple[float, ...], chance: float, share: float) -> int:
    """How many errors no audit has seen, at most, where bets have so much; ever more with probability `chance`.

    An audit finds each error with a probability `p` that may be another for each, be chosen by all that was
    known before, and is `share` at least. Who gets `1 + bet p / (1 - p)` for one that is not found, and
    `1 - bet` for one that is, plays a fair game, in which nobody ever has 1 / `chance` times the stake with a
    greater probability than `chance`. Several such at once are fair, too. Each of ours sets what would give
    it the same gain for any `p`, or all it has where that is less: so an error found among many audits tells
    less than one found among few. Taking `share` for the `p` of those not found gives less.
    """
    begun, gains = np.array(bets), np.minimum(_GAINS, -math.log1p(-share))

    def is_likely(unseen: int) -> bool:
        return float(np.logaddexp.reduce(begun + unseen * gains)) < -math.log(chance)

    high = 1
    while is_likely(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_likely(middle) else (low, middle)
    return low
