"""Which tuples need not wait for a lookup: those it has nothing left to tell, and those no result can hold (docs/execution.md)."""

from __future__ import annotations

import numpy as np

from fff.dataflow.arrays import Bools
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.state import bits
from fff.dataflow.routing.held import HeldParts


class Pruning:
    """Reads the modules of a block and changes nothing. `dead_too`: else only what is served is told."""

    def __init__(self, block: Block, held: HeldParts, *, dead_too: bool) -> None:
        self._block = block
        self._held = held
        self._dead_too = dead_too

    def served(self, tuples: TupleBatch, alias: int, lookup: int) -> Bools:
        """Which tuples have every match in an alias by another lookup than the one they wait for, or by parts of a scan."""
        modules = self._block.lookups[self._block.plan.aliases[alias].table]
        served = self._held.matches(tuples, alias)
        for binding in self._block.constraints.bindings(tuples.state.span, alias):
            if binding.lookup != lookup:
                served |= modules[binding.lookup].covers(self._block.keys(tuples, alias, binding))
        return served

    def dead(self, tuples: TupleBatch, alias: int) -> Bools:
        """Which tuples that wait for an alias have no match in another one that they lack, and can have none any more."""
        dead = np.zeros(len(tuples), np.bool_)
        constraints, span = self._block.constraints, tuples.state.span
        for other in bits(constraints.inner & ~span & ~(1 << alias)) if self._dead_too else ():
            if constraints.links(span, other):
                dead |= self._unmatched(tuples, other)
        return dead

    def _unmatched(self, tuples: TupleBatch, alias: int) -> Bools:
        """Which tuples have no match in an alias: every row that they could meet there is here, and none of them fits."""
        stem, span = self._block.stem(alias), tuples.state.span
        known = stem.complete | self._held.matches(tuples, alias)
        if not stem.complete and stem.covered:
            modules = self._block.lookups[self._block.plan.aliases[alias].table]
            for binding in self._block.constraints.bindings(span, alias):
                known |= modules[binding.lookup].covers(self._block.keys(tuples, alias, binding))
        places = np.flatnonzero(known)
        if len(places):
            links = [
                (link.own, self._block.numbers(tuples, link.other, link.column)[places])
                for link in self._block.constraints.links(span, alias)
            ]
            positions, rows = stem.match(links, len(places))
            fits = stem.passing(alias, rows)
            known[places[positions if fits is None else positions[fits]]] = False
        return known
