"""Broken cores: each entry breaks one rule of the core by replacing one small method.

What the oracle does not notice here, it would not notice in a real mistake either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pyarrow.compute as pc
import pytest

from fff.dataflow import in_flight, partial
from fff.dataflow.arrays import ranks
from fff.dataflow.eddy import Eddy
from fff.dataflow.lookups.access import KeyState, LookupModule
from fff.dataflow.lookups.lookups import Lookups
from fff.dataflow.lookups.parked import ParkedGroup
from fff.dataflow.missing import MissingParts
from fff.dataflow.plan.events import LookupEnd, Route, ScanEnd
from fff.dataflow.plan.expressions import Column, Compare, Literal
from fff.dataflow.plan.moves import Move
from fff.dataflow.plan.plan import (
    AliasPlan,
    BlockPlan,
    EqualityClass,
    LookupPlan,
    Predicate,
    ScanPlan,
    Seed,
    TablePlan,
)
from fff.dataflow.routing import constraints
from fff.dataflow.routing.constraints import Constraints
from fff.dataflow.routing.priorities import Priorities
from fff.dataflow.routing.router import Router
from fff.dataflow.routing.selection import Selections
from fff.dataflow.store import domains
from fff.dataflow.store.domains import Domain
from fff.dataflow.store.identity import Answer, Identity
from fff.dataflow.store.stem import ALIAS_BITS, SteM
from fff.schema import Field
from fff.structs import replace
from tests.fuzz.cases import Case, case
from tests.fuzz.generate import Instance, Knobs, sql_of

Patch = Callable[[pytest.MonkeyPatch], None]

SELF_JOINS = Knobs(self_join=1.0, aliases=(2, 3), scannable=1.0)
CHAINS = Knobs(scannable=0.05, aliases=(3, 3, 4), extra_edge=0.6, second_scan=0.0)
ENDS = Knobs(scannable=0.5, aliases=(3,), extra_edge=0.0, second_scan=0.0, self_join=0.0)
COMPETING = Knobs(aliases=(2, 3), scannable=1.0, second_scan=0.7, key=0.0)
FLOATS = Knobs(typed=1.0, kinds=("double",), aliases=(2, 3))
WIDE = Knobs(aliases=(3, 4), predicate=0.8, constants=0.0)
CYCLES = Knobs(aliases=(3, 4), extra_edge=0.8)
WISHES = {"prioritize": 0.2}
WATCHED = {"watch": True}
ONE_SCAN_FAILS = {"fail_scans": 0.3, "policy": "naive", "bias": "route-first"}


@dataclass(frozen=True)
class Broken:
    """A rule, broken. `symptom` is part of what the harness says about it."""

    name: str
    pitfall: str
    patch: Patch
    knobs: Knobs | None = field(default_factory=Knobs)  # None: the hand-made instance `two_ways_in`
    run: dict[str, Any] = field(default_factory=dict)
    symptom: str = ""

    def breaks(self, patching: pytest.MonkeyPatch) -> None:
        """Break the rule while `patching` lasts. What cores share about a plan is neither taken over nor left behind."""
        patching.setattr(constraints, "_OF_PLANS", WeakValueDictionary())
        self.patch(patching)

    def case(self, seed: int) -> Case:
        """A case that has what it takes to notice."""
        return two_ways_in(seed) if self.knobs is None else case(seed, self.knobs)


def two_ways_in(seed: int) -> Case:
    """One table, twice: as `a1` seeded by a constant, as `a2` looked up by another column. Its row may come either way."""
    integer = Field.of("c0", "bigint"), Field.of("c1", "bigint")
    lookups = LookupPlan("by c0", (0,)), LookupPlan("by c1", (1,))
    plan = BlockPlan(
        tables=(
            TablePlan("web.t0", integer, scans=(ScanPlan("scan0"),)),
            TablePlan("web.t1", integer, lookups=lookups, identity="value"),
        ),
        aliases=(
            AliasPlan("a0", 0, active=True),
            AliasPlan("a1", 1, active=True, seeds=(Seed(0, ((1,),)),), constants=((0, 1),)),
            AliasPlan("a2", 1, active=False),
        ),
        equalities=(EqualityClass((Column(0, 1), Column(2, 1))),),
        predicates=(Predicate(Compare("=", Column(1, 0), Literal(1, integer[0].arrow)), "a1.c0 = 1"),),
        output=(Column(0, 0), Column(1, 1), Column(2, 0)),
    )
    return Case(seed, Instance(seed, plan, (((7, 5), (8, 5)), ((1, 5), (2, 5))), sql_of(plan)))


def method(owner: type, name: str, new: Callable[..., Any]) -> Patch:
    """Replace a method outright."""
    return lambda monkeypatch: monkeypatch.setattr(owner, name, new)


def around(owner: Any, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Patch:
    """Replace a method by one that knows the right one."""
    return lambda monkeypatch: monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))


# ---------------------------------------------------------------------------------------------------------- stamps


def _every_match(self: Router, batch: Any, alias: int, positions: Any, rows: Any) -> Any:
    return positions, rows


def _ties_match(self: Router, batch: Any, alias: int, positions: Any, rows: Any) -> Any:
    if not self.block.fires[alias]:
        return positions, rows
    sequence = self.block.stem(alias).sequence.view[rows]
    keep = sequence <= batch.stamps[positions] >> ALIAS_BITS
    return positions[keep], rows[keep]


def _without_ordinal(self: SteM, alias: int, rows: Any) -> Any:
    return self.sequence.view[rows] << ALIAS_BITS


def _coarse(self: SteM, alias: int, rows: Any) -> Any:
    return self.sequence.view[rows] // 4 << ALIAS_BITS


def _stamp_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """P03: rows get their sequence numbers on arrival and become visible later, one table after the other."""
    ingest, handle, quiet = Eddy._ingest, Eddy.handle, Eddy._quiet

    def limbo(self: Any) -> list[Any]:
        return self.__dict__.setdefault("limbo", [])  # type: ignore[no-any-return]

    def later(self: Any, table: int, rows: Any, numbers: Any, answer: Any, *, urgent: bool = False) -> int:
        limbo(self).append((self._sequence, table, rows, numbers, answer))
        self._sequence += len(rows)
        return 0

    def appear(self: Any, event: Any) -> Any:
        if len(limbo(self)) > 3 or (limbo(self) and isinstance(event, Route) and not self.router.waiting):
            newest = limbo(self)[-1][1]
            for reserved, *arguments in [item for item in limbo(self) if item[1] == newest]:
                now, self._sequence = self._sequence, reserved
                ingest(self, *arguments)
                self._sequence = max(now, self._sequence)
            self.limbo = [item for item in limbo(self) if item[1] != newest]
        return handle(self, event)

    monkeypatch.setattr(Eddy, "_ingest", later)
    monkeypatch.setattr(Eddy, "handle", appear)
    monkeypatch.setattr(
        Eddy,
        "has_work",
        property(lambda self: not self.finished and bool(self.router.waiting or limbo(self))),
    )
    monkeypatch.setattr(Eddy, "_quiet", lambda self: quiet(self) and not limbo(self))


# ------------------------------------------------------------------------------------------------- routing, parking


def _broadcast(right: Callable[..., None]) -> Callable[..., None]:
    def probe(self: Router, batch: Any, move: Move, *, urgent: bool) -> None:
        for alias in {
            other.alias: other
            for other in self.block.constraints.legal(batch.state)
            if other.predicate is None
        }:
            chosen = next(
                m
                for m in self.block.constraints.legal(batch.state)
                if m.predicate is None and m.alias == alias
            )
            right(self, batch, chosen, urgent=urgent)

    return probe


def _park_only_first(right: Callable[..., int]) -> Callable[..., int]:
    """P13: a key that has been asked for counts as covered, so its later probers do not wait."""

    def park(
        self: Router, batch: Any, alias: int, first: int, matched: Any = None, *, urgent: bool = False
    ) -> int:
        if matched is not None:
            return right(self, batch, alias, first, matched, urgent=urgent)
        table = self.block.plan.aliases[alias].table
        binding = next(
            b for b in self.block.constraints.bindings(batch.state.span, alias) if b.lookup == first
        )
        keys = self.block.keys(batch, alias, binding)
        states = self.block.lookups[table][first].states(np.maximum(keys, 0))
        asked = (keys >= 0) & ((states == KeyState.PENDING) | (states == KeyState.IN_FLIGHT))
        return right(self, batch.take(np.flatnonzero(~asked)), alias, first, urgent=urgent)

    return park


def _cover_on_first_rows(right: Callable[..., Any]) -> Callable[..., Any]:
    """EOT taken from the first page of an answer instead of its end."""

    def rows(self: Lookups, event: Any) -> Any:
        out = right(self, event)
        asked = self.asked(event.request)
        if asked is not None:
            self.router.release(asked[0], asked[1], asked[3].keys)
            asked[2]._status.view[asked[3].keys] = KeyState.COVERED
        return out

    return rows


def _ask_everything(self: LookupModule, keys: Any, *, urgent: bool = False) -> int:
    self.states(keys)
    self._pending.extend(keys.tolist())
    return len(keys)


# --------------------------------------------------------------------------------------------- identity and values


def _set_dedup(self: Identity, rows: Any, answer: Answer, numbers: Any = None) -> Any:
    values = self._numbered(rows, numbers or {})
    self._stored.extend_to(int(values.max()) + 1)
    stored = self._stored.view
    fresh = (stored[values] == 0) & (ranks(values) == 0)
    stored[values] = 1
    return fresh


def _null_is_zero(right: Callable[..., Any]) -> Callable[..., Any]:
    def number(self: Domain, values: Any) -> Any:
        if str(self.type) == "int64":
            values = pc.fill_null(values.cast(self.type), 0)
        return right(self, values)

    return number


def _raw_floats(right: Callable[..., Any]) -> Callable[..., Any]:
    def codes(values: Any) -> Any:
        return values.to_numpy().view(np.int64) if str(values.type) == "double" else right(values)

    return codes


# ---------------------------------------------------------------------------------------------- predicates, coverage


def _no_wide_predicates(right: Callable[..., Any]) -> Callable[..., Any]:
    def evaluable(self: Constraints, span: int, alias: int) -> Any:
        return tuple(n for n in right(self, span, alias) if len(self.plan.predicates[n].aliases) <= 2)

    return evaluable


def _inline_by_pair(right: Callable[..., Any]) -> Callable[..., Any]:
    def finished(self: Constraints, state: Any) -> bool:
        return bool(state.span == self.everything)

    return finished


def _arriving_unchecked(right: Callable[..., Any]) -> Callable[..., Any]:
    """Equalities inside one alias are left to the joins, which compare one column only."""

    def arriving(self: Selections, alias: int, rows: Any, numbers: Any) -> Any:
        equal, self._equal = (
            self._equal,
            {**self._equal, alias: [columns[:1] for columns in self._equal[alias]]},
        )
        try:
            return right(self, alias, rows, numbers)
        finally:
            self._equal = equal

    return arriving


def _fail_is_end(self: Lookups, event: Any) -> Any:
    asked = self.asked(event.request)
    return [] if asked is None else self.ends([LookupEnd(event.request, asked[3].rows)])


def _scan_fail_is_end(self: Eddy, event: Any) -> Any:
    return self._scan_end(ScanEnd(event.table, event.index, self.block.scans[event.table][event.index].rows))


def _empty_so_far(right: Callable[..., Any]) -> Callable[..., Any]:
    """P27, P28b: absence inferred from a table that is still arriving."""

    def end(self: Eddy, event: Any) -> Any:
        out = right(self, event)
        if any(not len(stem) for stem in self.block.stems):
            out += self._stop_everything()
        return out

    return end


def _forget_seeded(right: Callable[..., Any]) -> Callable[..., Any]:
    """P47: only the rows that the seed's own answer brings first start chains."""

    def rows(self: Lookups, event: Any) -> Any:
        asked = self.asked(event.request)
        seeded = set()
        if asked is not None:
            table, index, module, request = asked
            for alias in self.block.plan.aliases:
                for seed in alias.seeds:
                    if (alias.table, seed.lookup) == (table, index):
                        seeded |= {repr(key) for key in seed.keys}
            ours = any(repr(module.values(key)) in seeded for key in request.keys.tolist())
            fires = self.block.fires
            self.block.fires = [
                fire and (ours or alias.table != table or bool(self.block.plan.tables[table].scans))
                for fire, alias in zip(fires, self.block.plan.aliases, strict=True)
            ]
            try:
                return right(self, event)
            finally:
                self.block.fires = fires
        return []

    return rows


def _keys_not_asked_again(self: Lookups, table: int) -> None:
    self.block.by_keys[table] = True


def _unguarded(right: Callable[..., Any]) -> Callable[..., Any]:
    """P21: probers that bind no lookup probe a scanned table all the same, and their keys stay unknown."""

    def probes(self: Constraints, span: int, alias: int) -> Any:
        return right(self, span, alias) or ([Move(alias)] if self.plan.aliases[alias].active else [])

    return probes


def _fewer_links(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, span, alias: right(self, span, alias)[:1]


def _page_by_page(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, rows, answer, numbers=None: right(self, rows, Answer(), numbers)


def _only_what_is_wished(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, batch: (part for part in right(self, batch) if part[1])


def _sent_and_forgotten(right: Callable[..., None]) -> Callable[..., None]:
    """A raised key leaves no trace in the queue it came from, so it is sent twice."""

    def hurry(self: LookupModule, keys: Any) -> None:
        right(self, keys)
        self._raised.clear()

    return hurry


# ------------------------------------------------------------------------------------------- what is said of the inside


def _open_values_of(*, parked: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Open values of the parked tuples only, or of the others only."""

    def only(right: Callable[..., Any]) -> Callable[..., Any]:
        pools = in_flight.pools

        def some(router: Router) -> Any:
            queued = len(list(router.waiting.batches()))
            return pools(router)[queued:] if parked else pools(router)[:queued]

        def open_values(router: Router, columns: Any) -> Any:
            with pytest.MonkeyPatch.context() as patching:
                patching.setattr(in_flight, "pools", some)
                return right(router, columns)

        return open_values

    return only


def _parked_nowhere(right: Callable[..., list[in_flight.Pool]]) -> Callable[..., list[in_flight.Pool]]:
    """A parked tuple has gone on with every row that is here of the alias it is parked on."""

    def pools(router: Router, *, queued: bool = True) -> list[in_flight.Pool]:
        return [replace(pool, parked_on=0) for pool in right(router, queued=queued)]

    return pools


def _chains_by_scans_only(right: Callable[..., bool]) -> Callable[..., bool]:
    """P47: the rows that lookups bring start chains too."""

    def may_start(block: Any, *, waiting: bool) -> bool:
        return right(block, waiting=waiting) and any(s.state == 1 for scans in block.scans for s in scans)

    return may_start


def _chains_now_only(right: Callable[..., bool]) -> Callable[..., bool]:
    return lambda block, *, waiting: right(block, waiting=False)


def nothing(self: Any, *arguments: Any) -> None:
    """In place of a method that must not be forgotten."""


BROKEN: tuple[Broken, ...] = (
    Broken("no timestamps", "K6", method(Router, "_older", _every_match), symptom="I1"),
    Broken("ties match", "P01", method(Router, "_older", _ties_match), SELF_JOINS, symptom="I1"),
    Broken("no alias ordinal", "P01", method(SteM, "stamps", _without_ordinal), SELF_JOINS, symptom="I7"),
    Broken("coarse clock", "P02", method(SteM, "stamps", _coarse), symptom="I7"),
    Broken("stamped before visible", "P03", _stamp_late, symptom="I7"),
    Broken("broadcast", "P10", around(Router, "_probe", _broadcast), CYCLES, symptom="I1"),
    Broken(
        "parked tuples forgotten on arrival",
        "rule 1",
        method(Router, "_wake", lambda self, alias, rows: iter(())),
        CHAINS,
        symptom="I7",
    ),
    Broken(
        "premature EOT: asked is covered",
        "P13",
        around(Router, "_park", _park_only_first),
        CHAINS,
        symptom="I7",
    ),
    Broken("premature EOT: first rows", "P13", around(Lookups, "rows", _cover_on_first_rows), CHAINS),
    Broken(
        "probers of a waiting scan do not park",
        "P05",
        method(Router, "_park_on_scan", lambda self, batch, alias, matched=None: 0),
        ENDS,
    ),
    Broken("parked tuples never leave", "P30", method(ParkedGroup, "release", lambda self, keys: 0), CHAINS),
    Broken(
        "lookups under way not shared",
        "I6",
        method(LookupModule, "request", _ask_everything),
        run={"validate": False, "races": False},  # else the books may be found wrong first
        symptom="I6",
    ),
    Broken(
        "finished while lookups are under way",
        "P30",
        method(
            Eddy, "_quiet", lambda self: all(scan.state != 1 for scans in self.block.scans for scan in scans)
        ),
        CHAINS,
    ),
    Broken(
        "equal rows are one row", "P22", method(Identity, "fresh", _set_dedup), COMPETING, symptom="lacks"
    ),
    Broken(
        "competing answers not compared",
        "H7",
        method(Identity, "fresh", lambda self, rows, answer, numbers=None: np.ones(len(rows), np.bool_)),
        COMPETING,
        symptom="I8",
    ),
    Broken(
        "occurrences counted by page",
        "P22",
        around(Identity, "fresh", _page_by_page),
        COMPETING,
        symptom="lacks",
    ),
    Broken("NULL is a value", "P23", around(Domain, "number", _null_is_zero), symptom="I8"),
    Broken("floats by their bits", "P24", around(domains, "_codes", _raw_floats), FLOATS),
    Broken("one equality per probe", "P39", around(Constraints, "links", _fewer_links), CYCLES, symptom="I8"),
    Broken(
        "predicates over three aliases forgotten",
        "P39",
        around(Constraints, "evaluable", _no_wide_predicates),
        WIDE,
        {"watch": False},  # else partial tuples may be found wrong first
        "I8",
    ),
    Broken(
        "selection modules skipped",
        "T5",
        around(Constraints, "finished", _inline_by_pair),
        WIDE,
        symptom="I8",
    ),
    Broken(
        "equality inside an alias forgotten",
        "T18",
        around(Selections, "arriving", _arriving_unchecked),
        CYCLES,
        symptom="I8",
    ),
    Broken(
        "FAIL is taken for EOT",
        "P18",
        method(Lookups, "failed", _fail_is_end),
        CHAINS,
        {"fail_lookups": 0.5},
        "I7",
    ),
    Broken(
        "a failed scan is taken for EOT",
        "P21",
        method(Eddy, "_scan_failed", _scan_fail_is_end),
        Knobs(),
        {"fail_scans": 0.7},
        "I7",
    ),
    Broken(
        "consumed probes not asked again",
        "P21",
        method(Lookups, "read_by_keys", _keys_not_asked_again),
        Knobs(scannable=1.0, second_scan=0.0, aliases=(2, 3)),
        ONE_SCAN_FAILS,
        "I7",
    ),
    Broken(
        "probes without keys of a scan that may fail",
        "P21",
        around(Constraints, "probes", _unguarded),
        Knobs(scannable=1.0, second_scan=0.0, aliases=(3,), extra_edge=0.6),
        ONE_SCAN_FAILS,
        "I7",
    ),
    Broken("absence before EOT", "P27", around(Eddy, "_scan_end", _empty_so_far), symptom="I7"),
    Broken(
        "a seed's rows come from the seed only",
        "P47",
        around(Lookups, "rows", _forget_seeded),
        None,
        {"semantics": "parked"},
        "I7",
    ),
    Broken(
        "nothing is ever missing",
        "P18",
        method(MissingParts, "key", nothing),
        CHAINS,
        {"fail_lookups": 0.5},
        "I7",
    ),
    Broken(
        "others are dropped",
        "R8",
        around(Priorities, "split", _only_what_is_wished),
        run=WISHES,
        symptom="I7",
    ),
    Broken(
        "raised keys are sent twice",
        "P35",
        around(LookupModule, "hurry", _sent_and_forgotten),
        CHAINS,
        {**WISHES, "window": 1},
        "I6",
    ),
    Broken(
        "parked tuples meet again what they have met",
        "P37",
        around(partial, "pools", _parked_nowhere),
        CHAINS,
        WATCHED,
        "partial tuples",
    ),
    Broken(
        "partial tuples pass every selection",
        "P37",
        method(partial, "_selected", lambda block, batch: batch),  # type: ignore[arg-type]
        WIDE,
        WATCHED,
        "partial tuples",
    ),
    Broken(
        "parked tuples are closed",
        "P37",
        around(in_flight, "open_values", _open_values_of(parked=False)),
        CHAINS,
        WATCHED,
        "finality",
    ),
    Broken(
        "waiting tuples are closed",
        "P37",
        around(in_flight, "open_values", _open_values_of(parked=True)),
        CHAINS,
        WATCHED,
        "finality",
    ),
    Broken(
        "closed while scans go on",
        "P37",
        method(in_flight, "_may_start_chains", lambda block, *, waiting: False),  # type: ignore[arg-type]
        run=WATCHED,
        symptom="finality",
    ),
    Broken(
        "closed while lookups bring chains",
        "P37, P47",
        around(in_flight, "_may_start_chains", _chains_by_scans_only),
        None,
        WATCHED,
        "finality",
    ),
    Broken(
        "closed while lookups may still be asked for",
        "P37, P47",
        around(in_flight, "_may_start_chains", _chains_now_only),
        Knobs(aliases=(2,), self_join=1.0, scannable=0.0, second_scan=0.0),
        {**WATCHED, "fail_scans": 1.0, "page_rows": 1},
        "finality",
    ),
)
