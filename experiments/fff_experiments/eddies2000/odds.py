"""E13: why the lottery is further from perfect routing at 10 % than at 90 % (S1 section 4.3, Figure 6)."""

from __future__ import annotations

from statistics import fmean

from fff_experiments.eddies2000.setups import (
    EVEN,
    INVERTED,
    NAIVE,
    Eddies,
    controls,
    percent,
    two_selections,
)
from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest

TUPLES = 2000
DRAWS = 3  # runs whose average is taken
COST, HALF = 5.0, 0.5
#: Shares that s1 passes: the ends of Figure 6, and one whose jeopardy is about half of theirs.
LEFT, RIGHT, BETWEEN = 0.1, 0.9, 0.722
#: Lotteries held for each tuple finished; with one the draw alone decides, with more a module that is idle
#: gets what was drawn for one that is not.
HELD = (1.0, 1.2, 2.0)
SETTING = (
    f"{TUPLES:,} tuples, c = {COST:g}, s2 passes {percent(HALF)}; means of {DRAWS} runs. The right way is by the selection that drops "
    "more."
)
JEOPARDY = (
    "The paper explains the difference by jeopardy; by its own formula a wrong order costs 0.4c at either end (E4). In the right "
    "order s2 has work for a tenth of the tuples where s1 passes 10 %, and s1 for a half where it passes 90 %."
)


def _rightly(trial: TrialRequest, passing: float, held: float) -> float:
    """The share of new tuples that go first to the selection that drops more."""
    shares = []
    for seed in range(trial.seed, trial.seed + DRAWS):
        query = two_selections(trial.some(TUPLES, 100), (COST, COST), (passing, HALF), seed)
        run = Eddies(trial.control, held=held).lottery(query, seed)
        shares.append(run.share("s1" if passing < HALF else "s2", 0))
    return fmean(shares)


def _settled(passing: float) -> float:
    """What tickets alone come to: the share x at which a draw by tickets sends what has earned those tickets.

    Tickets are what a selection drops, so x : 1 - x is as (1 - p)(x + (1 - x) q) to (1 - q)(1 - x + x p),
    where s1 passes p, s2 passes q, and x go to s1 first. With q = 1/2 that is x = 1 - p.
    """
    return max(passing, 1 - passing)


def odds(trial: TrialRequest) -> Findings:
    """E13."""
    points = (LEFT, RIGHT, BETWEEN)
    shares_at = {held: {p: _rightly(trial, p, held) for p in points} for held in HELD}
    alone = shares_at[HELD[0]]
    gaps = [shares[RIGHT] - shares[LEFT] for shares in shares_at.values()]
    off = max(_settled(p) - alone[p] for p in points)
    return Findings(
        ("lotteries", *(f"s1 passes {percent(p)}" for p in points), "90 % over 10 %"),
        (
            *(
                (held, *(percent(share) for share in shares.values()), percent(gap))
                for (held, shares), gap in zip(shares_at.items(), gaps, strict=True)
            ),
            ("tickets alone, by arithmetic", *(percent(_settled(p)) for p in points), percent(0.0)),
        ),
        (
            Panel(
                "New tuples that go the right way",
                "lotteries held for each tuple finished",
                "rightly routed (%)",
                tuple(
                    Curve(f"s1 passes {percent(p)}", HELD, [100 * shares_at[held][p] for held in HELD])
                    for p in points
                ),
            ),
        ),
        (
            Check(
                "tickets alone favour the better order as much at 10 % as at 90 %",
                "where the draw alone decides, at most 8 points apart, and at least 75 % right at both",
                f"{percent(alone[LEFT])} and {percent(alone[RIGHT])}",
                abs(gaps[0]) <= 0.08 and min(alone[LEFT], alone[RIGHT]) >= 0.75,
            ),
            Check(
                "they come near the share at which tickets earned and tuples sent are alike: 1 - p, or p",
                "at most 12 points below it, at each of three selectivities",
                f"{percent(off)} at most",
                off <= 0.12,
            ),
            Check(
                "what makes 10 % worse is back-pressure: the worse selection stands idle there, and takes what it can get",
                "the distance grows with each lottery more, to at least 12 points",
                ", ".join(percent(gap) for gap in gaps),
                gaps == sorted(gaps) and gaps[-1] >= 0.12,
            ),
        ),
        (
            SETTING,
            JEOPARDY,
        ),
    )


EXPERIMENTS = (
    Experiment(
        "E13",
        "Why 10 % is worse than 90 %",
        "ours, for Eddies 2000, section 4.3, Figure 6",
        "one shared CPU",
        "The lottery gets closer to perfect routing where s1 passes 90 % than where it passes 10 %. Tickets alone do not; an idle "
        "module that is given what was drawn for a busy one does.",
        odds,
        controls(NAIVE, INVERTED, EVEN),
    ),
)
