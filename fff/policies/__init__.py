"""Routing policies: which of the legal moves a batch takes. One file each; `make_policy` finds them by name.

In: the legal moves of a state, and what came of earlier ones.
Out: one move. A policy can be slow; it cannot be wrong.

    adaptive/         The default policy: optimistic lattice sampling, restarted upon change
    benefit           Benefit over cost (S4 section 4.1, ledger R6)
    fixed             A static plan run through the eddy (ledger B4)
    lottery           Lottery scheduling (S1 section 4.3)
    naive             The naive eddy (S1 section 4.2): any legal move, each as likely.
    rank              Rank ordering per TupleState (S3 section 2.1.4)
    windowed_lottery  Windowed lottery (S1 section 4.5)

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

import difflib

from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.plan.policy import RoutingPolicy
from fff.errors import UsageError
from fff.options import DEFAULT_POLICY, PREFERENCES, Preference
from fff.policies.adaptive.policy import Adaptive
from fff.policies.adaptive.prior import Past
from fff.policies.benefit import Benefit
from fff.policies.fixed import Fixed
from fff.policies.lottery import Lottery
from fff.policies.naive import Naive
from fff.policies.rank import Rank
from fff.policies.windowed_lottery import WindowedLottery

__all__ = ["DEFAULT_POLICY", "POLICIES", "PREFERENCES", "Preference", "check_policy", "make_policy"]

POLICIES = ("fixed", "naive", "lottery", "windowed-lottery", "rank", "benefit", "adaptive")


def make_policy(
    name: str, plan: BlockPlan, prefer: Preference = "balanced", past: Past | None = None
) -> RoutingPolicy:
    """A policy by name. `fixed:B,A,C` gives the order of the aliases; plain `fixed` takes that of the FROM clause.

    `windowed-lottery:200` gives the window, in tuples; `lottery:costs` divides tickets by measured costs, and
    `rank:10` reconsiders every ten tuples of a state. `prefer` weighs time against requests, `past` is what
    earlier runs taught; only `adaptive` heeds them.

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
        case "lottery" if order == "costs":
            return Lottery(costs=True)
        case "windowed-lottery" if not order:
            return WindowedLottery()
        case "windowed-lottery" if order.isdecimal() and int(order) > 0:
            return WindowedLottery(int(order))
        case "rank" if not order:
            return Rank()
        case "rank" if order.isdecimal() and int(order) > 0:
            return Rank(int(order))
        case "benefit" if not order:
            return Benefit(plan)
        case "adaptive" if not order:
            return Adaptive(plan, prefer, past)
    raise unknown_policy(name)


def check_policy(name: str) -> None:
    """Raise UsageError if there is no such policy, whatever stands behind a colon."""
    if name.partition(":")[0] not in POLICIES:
        raise unknown_policy(name)


def unknown_policy(name: str) -> UsageError:
    """The error that there is no such policy."""
    close = difflib.get_close_matches(name, POLICIES, n=1)
    near = f"did you mean {close[0]}? " if close else ""
    return UsageError(f"no routing policy is called {name!r}", hint=f"{near}there are: {', '.join(POLICIES)}")
