"""Lookups beside a scan (S4 section 4.5): an index join and a hash join become one where that takes nothing from anybody.

The answer is right without them: they bring matches that the scan has not brought yet. So they go out only
where what holds their requests back would stand idle, tuples that find their matches in the SteM do without,
and `--prefer` bounds what they add: nothing under `cheap`, under `balanced` a share of the pages that scans
have taken, under `fast` whatever is free.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable

from fff.dataflow.plan.moves import Move, Offer, Outcome
from fff.dataflow.plan.plan import AliasPlan, BlockPlan
from fff.options import Preference

#: Requests under `balanced`, as a share of the pages that scans have taken so far.
SHARE = 0.25
#: Share of decisions that try the index however few tuples gain by it (ledger R7): scans may come to a halt.
EXPLORE = 0.02


class Accelerators:
    """The lookups of a plan that nothing waits for, and how many requests they have taken."""

    def __init__(self, plan: BlockPlan | None, prefer: Preference) -> None:
        self._prefer = prefer
        self._requests = 0
        self._batch_sizes = {} if plan is None or prefer == "cheap" else _free(plan, priced=prefer == "fast")

    def __contains__(self, move: Move) -> bool:
        """Whether a move is one of them."""
        return move in self._batch_sizes

    def beside(
        self, offer: Offer, probe: Move, size: int, hits: float, rng: random.Random
    ) -> tuple[Move, int] | None:
        """What some of the tuples that are to probe a SteM do instead: they probe it and go on to an index.

        `size`: tuples that are to go; `hits`: matches that a tuple is expected to find in the SteM.
        """
        for move in offer.moves:
            if move.alias != probe.alias or move not in self:
                continue
            room = offer.load(move).room
            if room and self._allowed(offer):
                share = max(EXPLORE, 1.0 - hits)
                return (move, min(room, max(1, int(size * share)))) if rng.random() < share else None
        return None

    def _allowed(self, offer: Offer) -> bool:
        return self._prefer == "fast" or self._requests < SHARE * offer.pages()

    def observe(self, outcome: Outcome) -> None:
        """Count the requests that one of them took."""
        self._requests += math.ceil(outcome.requests / self._batch_sizes[outcome.move])


def _free(plan: BlockPlan, *, priced: bool) -> dict[Move, int]:
    """Lookups on what is scanned, with their batch sizes, whose limiter serves no scan and no lookup that tuples need."""
    if not any(table.scans and table.lookups for table in plan.tables):
        return {}
    scans = (scan.limiter for table in plan.tables for scan in table.scans if scan.limiter is not None)
    busy = needed_limiters(plan).union(scans)
    return {
        Move(number, one): lookup.batch_size
        for number, alias in enumerate(plan.aliases)
        if _scanned(plan, alias)
        for one, lookup in enumerate(plan.tables[alias.table].lookups)
        if _limiter(plan, alias.table, one) not in busy and (priced or not lookup.price)
    }


def needed_limiters(plan: BlockPlan) -> set[Hashable]:
    """What holds back lookups that tuples need, as no scan brings the rows."""
    return {
        _limiter(plan, alias.table, one)
        for alias in plan.aliases
        if not _scanned(plan, alias)
        for one in range(len(plan.tables[alias.table].lookups))
    }


def _scanned(plan: BlockPlan, alias: AliasPlan) -> bool:
    """Whether a scan alone brings all rows of an alias."""
    scans = plan.tables[alias.table].scans
    return alias.kind == "inner" and alias.active and not alias.seeds and bool(scans)


def _limiter(plan: BlockPlan, table: int, lookup: int) -> Hashable:
    ordinal = plan.tables[table].lookups[lookup].limiter
    return (table, lookup) if ordinal is None else ordinal
