"""E11: the constants that the eddies paper does not give, and in which window of them its claims hold here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fff.structs import replace
from fff_experiments.eddies2000 import delays as delays2000
from fff_experiments.eddies2000 import joins, selections
from fff_experiments.eddies2000.setups import LOTTERIES
from fff_experiments.experiment import Check, Curve, Experiment, Findings, Panel, TrialRequest

_HELD: tuple[tuple[str, Callable[[TrialRequest, float], Findings]], ...] = (
    ("E1", selections.costs),
    ("E2", selections.selectivities),
    ("E3", selections.tuple_flow),
    ("E5", joins.index_and_hash),
    ("E6", joins.hash_and_hash),
)
HELD = (1.0, 1.1, LOTTERIES, 1.3, 1.5, 2.0)
DELAYS = (3700.0, 3900.0, delays2000.DELAY, 4300.0, 4500.0)


def _window(values: Sequence[float], failed: Sequence[int], fitted: float) -> tuple[float, float]:
    """The values around the fitted one where no claim fails."""
    place = values.index(fitted)
    low = high = place
    while low > 0 and not failed[low - 1]:
        low -= 1
    while high + 1 < len(values) and not failed[high + 1]:
        high += 1
    return values[low], values[high]


def _failures(findings: Findings) -> int:
    return sum(not check.passed for check in findings.checks)


def fitted(trial: TrialRequest) -> Findings:
    """E11."""
    factor = 2.0 if trial.control else 1.0
    whole = replace(trial, control="")
    rows: list[tuple[object, ...]] = []
    by_held: list[int] = []
    lotteries_tried, delays_tried = (
        (HELD, DELAYS) if not trial.control else ((LOTTERIES,), (delays2000.DELAY,))
    )
    for held in lotteries_tried:
        failed = [(name, _failures(run(whole, factor * held))) for name, run in _HELD]
        by_held.append(sum(count for _, count in failed))
        failures = ", ".join(f"{name}: {count}" for name, count in failed if count)
        rows.append(("lotteries per tuple finished", factor * held, by_held[-1], failures or "none"))
    by_delay = []
    for delay in delays_tried:
        by_delay.append(_failures(delays2000.delayed_source(whole, factor * delay)))
        rows.append(("delay of R, in units", factor * delay, by_delay[-1], "E10" if by_delay[-1] else "none"))
    best = [min(counts) for counts in (by_held, by_delay)]
    lotteries = _window(lotteries_tried, [count > best[0] for count in by_held], LOTTERIES)
    delays = _window(delays_tried, [count > best[1] for count in by_delay], delays2000.DELAY)
    at_fitted = by_held[lotteries_tried.index(LOTTERIES)], by_delay[delays_tried.index(delays2000.DELAY)]
    return Findings(
        ("constant", "value", "claims that fail", "of"),
        tuple(rows),
        (
            Panel(
                "Lotteries",
                "lotteries per tuple finished",
                "claims that fail",
                (Curve("E1, E2, E3, E5, E6", lotteries_tried, by_held, "points"),),
            ),
            Panel("Delay", "units", "claims that fail", (Curve("E10", delays_tried, by_delay, "points"),)),
        ),
        (
            Check(
                f"with {LOTTERIES} lotteries per tuple finished, as fitted, E1 to E6 hold",
                "no claim fails",
                f"{at_fitted[0]}; as few from {lotteries[0]:g} to {lotteries[1]:g}",
                at_fitted[0] == 0,
            ),
            Check(
                f"with a delay of {delays2000.DELAY:,.0f} units, as fitted, E10 holds",
                "no claim fails",
                f"{at_fitted[1]}; as few from {delays[0]:,.0f} to {delays[1]:,.0f}",
                at_fitted[1] == 0,
            ),
        ),
        (
            "The paper gives neither. Both were chosen such that its claims hold; the window is what is left of the freedom.",
        ),
    )


EXPERIMENTS = (
    Experiment(
        "E11",
        "What was fitted",
        "ours, for Eddies 2000, sections 4.2 to 4.5",
        "one shared CPU",
        "none; E1 to E6 and E10 rest on two constants that the paper does not give.",
        fitted,
        {"twice": "both constants are doubled"},
    ),
)
