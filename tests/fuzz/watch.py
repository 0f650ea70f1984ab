"""Watches what an eddy says of its inside while it runs: open values must be sound, partial rows real."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

from fff.dataflow.eddy import Eddy
from fff.dataflow.in_flight import source
from fff.dataflow.partial import PartialTuples
from fff.stats import MISSING
from tests.fuzz.generate import Instance, Row, normal
from tests.fuzz.oracle import brute_force


class Watcher:
    """Asks after every event. Its complaints are sentences; an empty list is good news."""

    def __init__(self, instance: Instance, eddy: Eddy, rng: random.Random) -> None:
        self.instance = instance
        self.eddy = eddy
        self.rng = rng
        output = instance.plan.output
        places = range(len(output))
        #: Tuples spanning none of these have nothing to show.
        self.shown = sum(1 << alias for alias in {column.alias for column in output})
        #: Places in the output rows -> the values that every answer so far left open; None: anything.
        self.open: dict[tuple[int, ...], set[object] | None] = {
            (place,): None for place in rng.sample(places, min(3, len(output)))
        }
        self.open[tuple(rng.sample(places, min(2, len(output))))] = None
        self.known: list[set[object]] = [
            {normal(row) for row in instance.rows[alias.table]} for alias in instance.plan.aliases
        ]
        self.answers = 0  # how often something was said about open values while the run went on
        self.partial = 0  # partial rows seen
        self.tuples = 0  # partial tuples seen
        # By span: what partial tuples there may be.
        self.combinations: dict[int, Counter[tuple[Any, ...]]] = {}

    def emitted(self, rows: Iterable[Row]) -> list[str]:
        """Results have come: none that had been called impossible?"""
        return [
            f"finality: {row} came, but only {allowed} were open in columns {places}"
            for row in rows
            for places, allowed in self.open.items()
            if allowed is not None and tuple(row[place] for place in places) not in allowed
        ]

    def ask(self) -> list[str]:
        """An event is over: what is open now, and what is inside?"""
        output = self.instance.plan.output
        wrong = []
        for places, before in self.open.items():
            told = self.eddy.open_values([output[place] for place in places])
            if told is None:
                continue
            self.answers += not self.eddy.finished
            if told.schema.types != [self.instance.plan.field_of(output[place]).arrow for place in places]:
                wrong.append(f"open values of types {told.schema.types}")
            values: set[object] = {
                normal(row) for row in zip(*(column.to_pylist() for column in told.columns), strict=True)
            }
            if self.eddy.finished and values:
                wrong.append(f"finality: finished, but {values} are open")
            self.open[places] = values if before is None else values & before
        return wrong + self._partial() + self._tuples()

    def _partial(self) -> list[str]:
        router = self.eddy.router
        limit = self.rng.choice([0, 1, 3, 1000])
        rows = self.eddy.partial_rows(limit)
        self.partial += len(rows)
        inside = sum(len(batch) for batch in router.waiting.batches() if batch.state.span & self.shown)
        inside += sum(group.live for _, _, group in router.parked.waiting() if group.state.span & self.shown)
        expected = 0 if self.eddy.finished else min(limit, inside)
        wrong = (
            [] if len(rows) == expected else [f"{len(rows)} partial rows of {inside} tuples, limit {limit}"]
        )
        return wrong + [f"partial row {row} is made up" for row in rows if not self._real(row)]

    def _tuples(self) -> list[str]:
        """Partial tuples: right, and each once."""
        places = range(len(self.instance.plan.output))
        required = self.rng.sample(places, min(len(places), self.rng.choice([0, 1, 1, 2])))
        limit = self.rng.choice([1, 3, 1000, 1000])
        parts = self.eddy.partial_tuples(required, limit)
        wrong = [
            f"partial tuples without required {part.missing}" for part in parts if part.missing & {*required}
        ]
        if sum(map(len, parts)) > limit or len({part.span for part in parts}) < len(parts):
            wrong.append(f"{len(parts)} parts, more than {limit} partial tuples or a span twice")
        for part in parts:
            self.tuples += len(part)
            rows = [()] * len(part)
            if part.table.num_columns:
                rows = list(zip(*(column.to_pylist() for column in part.table.columns), strict=True))
            had: Counter[Any] = Counter(map(normal, rows))
            extra = had - self._combinations(part)
            if extra:
                wrong.append(f"partial tuples over {part.span:b} that are none, or too often: {extra}")
        return wrong

    def _combinations(self, part: PartialTuples) -> Counter[tuple[Any, ...]]:
        """All rows that tuples of a span can have."""
        if part.span not in self.combinations:
            block = self.eddy.router.block
            output = self.instance.plan.output
            sources = [source(block, part.span, column) for column in output]
            if {place for place, column in enumerate(sources) if column is None} != part.missing:
                return Counter()
            self.combinations[part.span] = brute_force(self.instance, part.span, sources)
        return self.combinations[part.span]

    def _real(self, row: tuple[Any, ...]) -> bool:
        """For each alias: all of its output columns are missing, or a row of its table has these values."""
        plan = self.instance.plan
        for alias, known in enumerate(self.known):
            mine = [(c.index, value) for c, value in zip(plan.output, row, strict=True) if c.alias == alias]
            missing = [value is MISSING for _, value in mine]
            if any(missing):
                if not all(missing):
                    return False
            elif plan.aliases[alias].kind == "left" and all(value is None for _, value in mine):
                continue
            elif mine and not any(all(found[i] == normal(value) for i, value in mine) for found in known):  # type: ignore[index]
                return False
        return len(row) == len(plan.output)
