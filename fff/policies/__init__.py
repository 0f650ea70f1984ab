"""Routing policies: which of the legal moves a batch takes. One file each; `make_policy` finds them by name."""

from __future__ import annotations

from fff.dataflow.plan import BlockPlan
from fff.dataflow.policy import RoutingPolicy
from fff.errors import UsageError
from fff.policies.adaptive import Adaptive, Preference
from fff.policies.benefit import Benefit
from fff.policies.fixed import Fixed
from fff.policies.lottery import Lottery
from fff.policies.memory import Past
from fff.policies.naive import Naive
from fff.policies.rank import Rank
from fff.policies.windowed_lottery import WindowedLottery

__all__ = ["DEFAULT_POLICY", "POLICIES", "PREFERENCES", "Preference", "make_policy"]

POLICIES = ("fixed", "naive", "lottery", "windowed-lottery", "rank", "benefit", "adaptive")
DEFAULT_POLICY = "adaptive"
PREFERENCES: tuple[Preference, ...] = ("fast", "balanced", "cheap")


def make_policy(
    name: str, plan: BlockPlan, prefer: Preference = "balanced", past: Past | None = None
) -> RoutingPolicy:
    """A policy by name. `fixed:B,A,C` gives the order of the aliases; plain `fixed` takes that of the FROM clause.

    `windowed-lottery:200` gives the window, in tuples. `prefer` weighs time against requests, `past` is what earlier runs
    taught; only `adaptive` heeds them.

    Raises:
        UsageError: no such policy, or an order that does not name each alias once.
    """
    kind, _, order = name.partition(":")
    match kind:
        case "fixed":
            return Fixed(plan, [part.strip() for part in order.split(",")] if order else None)
        case "naive" if not order:
            return Naive()
        case "lottery" if not order:
            return Lottery()
        case "windowed-lottery" if not order:
            return WindowedLottery()
        case "windowed-lottery" if order.isdecimal() and int(order) > 0:
            return WindowedLottery(int(order))
        case "rank" if not order:
            return Rank()
        case "benefit" if not order:
            return Benefit()
        case "adaptive" if not order:
            return Adaptive(plan, prefer, past)
    raise UsageError(f"no routing policy is called {name!r}", hint=f"there are: {', '.join(POLICIES)}")
