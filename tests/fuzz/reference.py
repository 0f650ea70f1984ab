"""The execution semantics of parked probers, tuple by tuple: an executable reading of the design ledger, section 5.

It answers to the same events with the same instructions as the core, so the same world drives both. It has no policy
(every choice is random), no batches and no speed. `Rules` switches single rules off or replaces them by the tempting
wrong ones; the negative tests show that the harness notices each.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

import pyarrow as pa

from fff.dataflow.plan.events import (
    Cancel,
    CancelLookup,
    Emit,
    Event,
    FetchPages,
    Finish,
    Instruction,
    Lookup,
    LookupEnd,
    LookupFailed,
    LookupRows,
    Prioritize,
    Route,
    ScanEnd,
    ScanFailed,
    ScanRows,
    ScanStalled,
    Start,
    StopScan,
)
from fff.dataflow.plan.expressions import Column, columns_of
from fff.dataflow.plan.plan import BlockPlan
from fff.stats import Missing
from tests.fuzz.generate import Row, Value, normal
from tests.fuzz.oracle import truth

Stamp = tuple[int, int]  # build sequence, alias ordinal
Key = tuple[int, int, Value]  # table, lookup, normalised key


@dataclass(frozen=True)
class Rules:
    """One wrong rule each; all off is the proven semantics."""

    ignore_stamps: bool = False  # a probe returns every match
    ties_match: bool = False  # P01: sequence <= sequence, no alias ordinal
    ties_lost: bool = False  # P01: sequence < sequence, no alias ordinal
    coarse_clock: bool = False  # P02: four rows a tick
    stamp_late: bool = False  # P03: stamped on arrival, visible later
    broadcast: bool = False  # P10: a tuple goes to every SteM it may
    release_early: bool = False  # nothing is parked: a prober takes the present matches and leaves
    premature_eot: bool = False  # P13: a key counts as covered once it has been asked for
    eot_overclaim: bool = (
        False  # P14: the lookup drops rows its probers' other predicates reject, and claims the key
    )
    set_dedup: bool = False  # P22: equal rows are one row
    no_dedup: bool = False  # H7: competing access methods are not compared
    occurrence_by_page: bool = False  # P22: occurrence numbers start again with every page
    null_joins: bool = False  # P23: NULL equals NULL
    nan_differs: bool = False  # P24: NaN never equals NaN
    zeros_differ: bool = False  # P24: -0.0 is looked up as another key than 0.0
    forget_parked: bool = False  # arriving rows are not matched with parked tuples
    forget_class: bool = False  # only the first member of an equality class that is there is compared
    forget_wide: bool = False  # P39: predicates over three aliases are never evaluated
    seed_only_active: bool = False  # P47: a row brought by a prober's lookup starts no chain
    failure_is_end: bool = False  # P18: FAIL is taken for EOT
    ask_again: bool = False  # lookups under way are not shared
    leak_parked: bool = False  # parked tuples stay when their lookup ends
    absent_so_far: bool = False  # P44: no match here yet is taken for no match
    absent_in_flight: bool = False  # P44: once it has been asked for, no match here is taken for no match
    absent_after_failure: bool = False  # P44: FAIL proves that there is no match
    absent_twice: bool = False  # P44: a tuple without a match goes on at every EOT that tells so
    absent_though_matched: bool = False  # P44: a left join's tuple goes on with NULLs beside its matches
    semi_every_match: bool = False  # P44: a tuple goes on at every match
    anti_goes_first: bool = False  # P44: an anti join's tuple goes on at once, and its matches come too late
    where_in_on: bool = False  # WHERE decides which rows match
    on_in_where: bool = False  # what ON says of the tuple alone drops it


@dataclass
class _Tuple:
    rows: dict[int, int]
    stamp: Stamp
    done: frozenset[int] = frozenset()


@dataclass
class _Seeker:
    """A tuple that waits to be told whether it has a match in the right side `alias`."""

    alias: int
    item: _Tuple
    matched: bool = False
    told: bool = False  # under `absent_twice`: it went on already


@dataclass
class _Table:
    rows: list[Row] = field(default_factory=list)
    sequence: list[int] = field(default_factory=list)
    known: dict[object, int] = field(default_factory=dict)
    scans_ended: int = 0
    scans_failed: int = 0


class ReferenceEddy:
    """One block, executed by the book (or, under `rules`, by a broken book)."""

    def __init__(self, plan: BlockPlan, seed: int, rules: Rules = Rules(), window: int | None = None) -> None:
        self.plan = plan
        self.rules = rules
        self.rng = random.Random(f"reference {seed}")
        self.window = window
        self.tables = [_Table() for _ in plan.tables]
        self.waiting: list[_Tuple] = []
        self.parked: dict[Key, list[tuple[int, _Tuple]]] = {}
        self.seekers: list[_Seeker] = []  # in front of right sides of left, semi and anti joins
        self.hidden: list[tuple[int, Row, int]] = []  # stamp_late only
        self.queue: list[Key] = []
        self.asked: set[Key] = set()
        self.covered: set[Key] = set()  # by EOT
        self.failed: set[Key] = set()  # by FAIL; noted as missing
        self.requests: dict[int, list[Key]] = {}
        self.values: dict[Key, tuple[Value, ...]] = {}
        self.answers: dict[object, Counter[Value]] = {}
        self.open: set[tuple[int, int]] = set()
        self.missing: list[Missing] = []
        self.numbers = count(1)
        self.ids = count(1)
        self.out: list[Instruction] = []
        self.emitted = 0
        self.finished = False
        self.stopped: str | None = None

    # ------------------------------------------------------------------------------------------------- the one door

    def handle(self, event: Event) -> list[Instruction]:
        self.out = []
        if self.finished or isinstance(event, Prioritize):  # it has no order that could be changed
            return []
        match event:
            case Start():
                self.start()
            case ScanRows(table=table, index=index, rows=rows):
                self.arrive(table, (table, index), rows, from_prober=False)
                self.out.append(FetchPages(table, index, 1))
            case ScanEnd(table=table, index=index) | ScanFailed(table=table, index=index):
                self.scan_over(event, table, index)
            case LookupRows(request=request, rows=rows) if request in self.requests:
                self.lookup_rows(request, rows)
            case LookupEnd(request=request) | LookupFailed(request=request) if request in self.requests:
                self.lookup_over(
                    request, failed=isinstance(event, LookupFailed) and not self.rules.failure_is_end
                )
            case Route():
                self.step()
            case Cancel():
                self.stopped = "cancelled"
                self.missing.append(Missing("*", "true", event.reason))
            case ScanStalled() | _:
                pass
        self.settle()
        if self.plan.limit is not None and self.emitted >= self.plan.limit:
            self.stopped = "limit"
        self.ask()
        self.end()
        return self.out

    @property
    def has_work(self) -> bool:
        return not self.finished and bool(self.waiting or self.hidden)

    def start(self) -> None:
        for number, table in enumerate(self.plan.tables):
            for index in range(len(table.scans)):
                self.open.add((number, index))
                self.out.append(FetchPages(number, index, 1))
        for alias in self.plan.aliases:
            for seed in alias.seeds:
                for key in seed.keys:
                    self.want(alias.table, seed.lookup, key)

    def end(self) -> None:
        under_way = self.open or self.requests or self.queue
        inside = self.waiting or self.parked or self.hidden or self.seekers
        if self.stopped is None and (under_way or inside):
            return
        if self.stopped is not None:
            self.out += [StopScan(*scan) for scan in sorted(self.open)]
            self.out += [CancelLookup(request) for request in self.requests]
            self.waiting, self.hidden, self.seekers = [], [], []
        self.finished = True
        complete = not self.missing
        self.out.append(Finish(complete, self.stopped or ("done" if complete else "failed")))  # type: ignore[arg-type]

    # ---------------------------------------------------------------------------------------------- rule 1: build

    def arrive(self, table: int, answer: object, rows: pa.RecordBatch, *, from_prober: bool) -> None:
        if self.rules.occurrence_by_page:
            self.answers.pop(answer, None)
        seen = self.answers.setdefault(answer, Counter())
        plan = self.plan.tables[table]
        for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            value = normal(row)
            identity: object = (value, 0 if self.rules.set_dedup else seen[value])
            seen[value] += 1
            if plan.identity == "key":
                identity = normal(tuple(row[index] for index in plan.key))
            if plan.identity == "position" or self.rules.no_dedup:
                identity = len(self.tables[table].known)
            if identity in self.tables[table].known:
                continue
            self.tables[table].known[identity] = 1
            sequence = next(self.numbers)
            if self.rules.coarse_clock:
                sequence //= 4
            if self.rules.stamp_late:
                self.hidden.append((table, row, sequence))
            else:
                self.build(table, row, sequence, from_prober=from_prober)

    def build(self, table: int, row: Row, sequence: int, *, from_prober: bool = False) -> None:
        """Insert and stamp in one step; a singleton for every active alias; concatenate with what is parked here."""
        state = self.tables[table]
        number = len(state.rows)
        state.rows.append(row)
        state.sequence.append(sequence)
        for alias, plan in enumerate(self.plan.aliases):
            if plan.table != table:
                continue
            if plan.kind != "inner":
                for seeker in [one for one in self.seekers if one.alias == alias]:
                    self.meet(seeker, number)
                continue
            if plan.active and not (self.rules.seed_only_active and from_prober):
                self.extend(_Tuple({}, (0, 0)), alias, number, (sequence, alias))
            if not self.rules.forget_parked:
                for entries in list(self.parked.values()):
                    for target, waiting in entries:
                        if target == alias:
                            self.extend(waiting, alias, number, waiting.stamp)

    def extend(self, prefix: _Tuple, alias: int, number: int, stamp: Stamp) -> None:
        """Concatenate, if every inline predicate that can now be evaluated holds."""
        rows = {**prefix.rows, alias: number}
        if self.fits(rows, alias):
            self.waiting.append(_Tuple(rows, stamp, prefix.done))

    def fits(self, rows: dict[int, int], alias: int) -> bool:
        for group in self.plan.equalities:
            present = [column for column in group.members if column.alias in rows]
            if self.rules.forget_class:
                present = present[-2:]
            if any(column.alias == alias for column in present) and not self.equal(rows, present):
                return False
        for predicate in self.plan.predicates:
            if predicate.module or alias not in predicate.aliases or not predicate.aliases <= rows.keys():
                continue
            if predicate.on is not None:
                continue
            if self.rules.forget_wide and len(predicate.aliases) > 2:
                continue
            if truth(predicate.expr, lambda column: self.read(rows, column)) is not True:
                return False
        return True

    def equal(self, rows: dict[int, int], columns: list[Column]) -> bool:
        values = [normal(self.read(rows, column)) for column in columns]
        if self.rules.null_joins:
            return len(set(values)) <= 1
        if self.rules.nan_differs and "NaN" in values and len(values) > 1:
            return False
        return None not in values and len(set(values)) <= 1

    def read(self, rows: dict[int, int], column: Column) -> Value:
        table, row = self.plan.aliases[column.alias].table, rows[column.alias]
        return None if row < 0 else self.tables[table].rows[row][column.index]

    # -------------------------------------------------------------------------------- rules 2 to 4: route and probe

    def step(self) -> None:
        if self.hidden and (not self.waiting or self.rng.random() < 0.5):
            self.build(*self.hidden.pop(self.rng.randrange(len(self.hidden))))
            return
        if not self.waiting:
            return
        chosen = self.waiting.pop(self.rng.randrange(len(self.waiting)))
        moves = self.moves(chosen)
        if not moves:
            assert set(chosen.rows) == set(range(len(self.plan.aliases))), f"stuck: {chosen}"
            self.emit(chosen)
            return
        picked = moves if self.rules.broadcast else [self.rng.choice(moves)]
        for kind, target in picked:
            if kind == "select":
                self.select(chosen, target)
            elif self.plan.aliases[target].kind != "inner":
                self.seek(chosen, target)
            elif self.plan.aliases[target].active:
                self.probe_active(chosen, target)
            else:
                self.probe_passive(chosen, target)

    def moves(self, chosen: _Tuple) -> list[tuple[str, int]]:
        moves = [
            ("select", number)
            for number, predicate in enumerate(self.plan.predicates)
            if predicate.module and number not in chosen.done and predicate.aliases <= chosen.rows.keys()
        ]
        for alias, plan in enumerate(self.plan.aliases):
            if alias in chosen.rows:
                continue
            if plan.kind != "inner":
                if self.reads(alias) <= chosen.rows.keys():
                    moves.append(("probe", alias))
            elif plan.active or self.bindings(chosen, alias):
                moves.append(("probe", alias))
        return moves

    def select(self, chosen: _Tuple, number: int) -> None:
        if truth(self.plan.predicates[number].expr, lambda column: self.read(chosen.rows, column)) is True:
            self.waiting.append(_Tuple(chosen.rows, chosen.stamp, chosen.done | {number}))

    def probe_active(self, chosen: _Tuple, alias: int) -> None:
        """Older rows only: of the components of a result, the newest one generates it."""
        for number, sequence in enumerate(self.tables[self.plan.aliases[alias].table].sequence):
            if self.older((sequence, alias), chosen.stamp):
                self.extend(chosen, alias, number, chosen.stamp)

    def older(self, stamp: Stamp, generator: Stamp) -> bool:
        if self.rules.ignore_stamps:
            return True
        if self.rules.ties_match:
            return stamp[0] <= generator[0]
        if self.rules.ties_lost or self.rules.coarse_clock:
            return stamp[0] < generator[0]
        return stamp < generator

    def probe_passive(self, chosen: _Tuple, alias: int) -> None:
        """The present matches now, those to come while parked, until the lookup's EOT."""
        table = self.plan.aliases[alias].table
        for number in range(len(self.tables[table].rows)):
            self.extend(chosen, alias, number, chosen.stamp)
        lookup, key = self.rng.choice(self.bindings(chosen, alias))
        if None in key and not self.rules.null_joins:
            return
        name = self.want(table, lookup, key)
        if name not in self.covered | self.failed and not self.rules.release_early:
            self.parked.setdefault(name, []).append((alias, chosen))

    def bindings(self, chosen: _Tuple, alias: int) -> list[tuple[int, tuple[Value, ...]]]:
        """Every lookup of the alias that the tuple binds, with the key."""
        result = []
        for index, lookup in enumerate(self.plan.tables[self.plan.aliases[alias].table].lookups):
            bound = [self.bound(chosen, Column(alias, column)) for column in lookup.columns]
            if all(bound):
                result.append((index, tuple(value for values in bound for value in values)))
        return result

    def bound(self, chosen: _Tuple, column: Column) -> list[Value]:
        """The value that a tuple, or else a constant, gives to a column; nothing when neither does."""
        links = [other for own, other in self.plan.aliases[column.alias].links if own == column.index]
        if links:
            return [self.read(chosen.rows, links[0])]
        groups = [group.members for group in self.plan.equalities if column in group.members]
        members = [member for group in groups for member in group if member.alias in chosen.rows]
        if members:
            return [self.read(chosen.rows, members[0])]
        return [value for index, value in self.plan.aliases[column.alias].constants if index == column.index]

    def emit(self, chosen: _Tuple) -> None:
        if self.plan.limit is None or self.emitted < self.plan.limit:
            self.emitted += 1
            self.out.append(Emit(chosen))  # type: ignore[arg-type]

    # ------------------------------------------------------- right sides of left, semi and anti joins (P44)

    def reads(self, alias: int) -> set[int]:
        """The other aliases that the ON condition of a right side reads."""
        found = {column.alias for _, column in self.plan.aliases[alias].links}
        for predicate in self.plan.predicates:
            found |= predicate.aliases if predicate.on == alias else set()
        return found - {alias}

    def matches(self, rows: dict[int, int], alias: int) -> bool:
        """Whether a tuple and a row of a right side meet the ON condition."""
        for own, other in self.plan.aliases[alias].links:
            if not self.equal(rows, [Column(alias, own), other]):
                return False
        for predicate in self.plan.predicates:
            here = predicate.on is None and alias in predicate.aliases and predicate.aliases <= rows.keys()
            if predicate.on == alias or (here and self.rules.where_in_on):
                if self.rules.on_in_where and alias not in predicate.aliases:
                    continue
                if truth(predicate.expr, lambda column: self.read(rows, column)) is not True:
                    return False
        return True

    def seek(self, chosen: _Tuple, alias: int) -> None:
        """The matches that are here take effect now; then the tuple waits to be told whether there are more, or any."""
        if self.rules.on_in_where and not all(
            truth(predicate.expr, lambda column: self.read(chosen.rows, column)) is True
            for predicate in self.plan.predicates
            if predicate.on == alias and alias not in predicate.aliases
        ):
            return
        seeker = _Seeker(alias, chosen)
        self.seekers.append(seeker)
        if self.rules.anti_goes_first and self.plan.aliases[alias].kind == "anti":
            self.go(seeker, -1)
            self.drop(seeker)
            return
        for number in range(len(self.tables[self.plan.aliases[alias].table].rows)):
            self.meet(seeker, number)
        if seeker not in self.seekers:
            return
        lookups = [one for one in self.bindings(chosen, alias) if None not in one[1]]
        if not self.hopeless(seeker) and not self.scanning(alias):
            for lookup, key in lookups:
                self.want(self.plan.aliases[alias].table, lookup, key)
        elif lookups and self.rng.random() < 0.5:
            self.want(self.plan.aliases[alias].table, *self.rng.choice(lookups))
        if self.rules.absent_so_far:
            self.tell(seeker)

    def meet(self, seeker: _Seeker, number: int) -> None:
        """A row is here: does the tuple match it, and what comes of that?"""
        if not any(one is seeker for one in self.seekers):
            return
        if not self.matches({**seeker.item.rows, seeker.alias: number}, seeker.alias):
            return
        seeker.matched = True
        kind = self.plan.aliases[seeker.alias].kind
        if kind == "left":
            self.go(seeker, number)
            return
        if kind == "semi":
            self.go(seeker, -1)
        if kind == "anti" or not self.rules.semi_every_match:
            self.drop(seeker)

    def go(self, seeker: _Seeker, number: int) -> None:
        self.extend(seeker.item, seeker.alias, number, seeker.item.stamp)

    def drop(self, seeker: _Seeker) -> None:
        self.seekers = [one for one in self.seekers if one is not seeker]

    def tell(self, seeker: _Seeker) -> None:
        """There are no more matches."""
        kind = self.plan.aliases[seeker.alias].kind
        alone = not seeker.matched or (self.rules.absent_though_matched and kind == "left")
        if alone and kind != "semi":
            self.go(seeker, -1)
        if not (self.rules.absent_twice and alone and not seeker.told):
            self.drop(seeker)
        seeker.told = True

    def scanning(self, alias: int) -> bool:
        return any(table == self.plan.aliases[alias].table for table, _ in self.open)

    def hopeless(self, seeker: _Seeker) -> bool:
        """Whether nothing can match the tuple, whatever comes."""
        rows, alias = seeker.item.rows, seeker.alias
        if any(self.read(rows, other) is None for _, other in self.plan.aliases[alias].links):
            return not self.rules.null_joins
        return not all(
            truth(predicate.expr, lambda column: self.read(rows, column)) is True
            for predicate in self.plan.predicates
            if predicate.on == alias and alias not in predicate.aliases
        )

    def settle(self) -> None:
        """Tell those who wait in front of right sides what is known now; who can be told nothing any more is dropped."""
        for seeker in list(self.seekers):
            table = self.plan.aliases[seeker.alias].table
            found = [(lookup, normal(key)) for lookup, key in self.bindings(seeker.item, seeker.alias)]
            names = {(table, lookup, key) for lookup, key in found if None not in key}  # type: ignore[operator]
            known = self.covered | (self.asked if self.rules.absent_in_flight else set())
            known |= self.failed if self.rules.absent_after_failure else set()
            if self.tables[table].scans_ended or names & known or self.hopeless(seeker):
                self.tell(seeker)
            elif not self.scanning(seeker.alias):
                if names <= self.failed:
                    self.drop(seeker)
                for lookup, key in self.bindings(seeker.item, seeker.alias):
                    if None not in key:
                        self.want(table, lookup, key)

    # ------------------------------------------------------------------------------------- lookups, EOT and failures

    def want(self, table: int, lookup: int, key: tuple[Value, ...]) -> Key:
        name: Key = (table, lookup, repr(key) if self.rules.zeros_differ else normal(key))
        if name not in self.asked:
            self.asked.add(name)
            self.values[name] = key
            self.queue.append(name)
            if self.rules.premature_eot:
                self.covered.add(name)
        elif self.rules.ask_again and name not in self.covered and name not in self.queue:
            self.queue.append(name)
        return name

    def ask(self) -> None:
        """Turn queued keys into requests, as far as the windows allow."""
        for name in self.queue if self.stopped is None else []:
            table, lookup, _ = name
            plan = self.plan.tables[table].lookups[lookup]
            under_way = sum(keys[0][:2] == (table, lookup) for keys in self.requests.values())
            if name in self.queue and under_way < (self.window or plan.window):
                same = [other for other in self.queue if other[:2] == (table, lookup)][: plan.batch_size]
                request = next(self.ids)
                self.requests[request] = same
                self.queue = [other for other in self.queue if other not in same]
                self.out.append(Lookup(request, table, lookup, tuple(self.values[other] for other in same)))

    def lookup_rows(self, request: int, rows: pa.RecordBatch) -> None:
        table, lookup, _ = self.requests[request][0]
        columns = self.plan.tables[table].lookups[lookup].columns
        keys = {normal(self.values[name]) for name in self.requests[request]}
        asked = [
            normal(tuple(rows.column(c)[n].as_py() for c in columns)) in keys for n in range(rows.num_rows)
        ]
        rows = rows.filter(pa.array(asked, pa.bool_()))  # sources answer with rows nobody asked for (P25)
        if self.rules.eot_overclaim:
            rows = rows.filter(
                pa.array([self.welcome(request, number, rows) for number in range(rows.num_rows)], pa.bool_())
            )
        seeded = {
            (alias.table, seed.lookup, normal(key))
            for alias in self.plan.aliases
            for seed in alias.seeds
            for key in seed.keys
        }
        self.arrive(table, request, rows, from_prober=not seeded & set(self.requests[request]))

    def welcome(self, request: int, number: int, rows: pa.RecordBatch) -> bool:
        """P14: whether a row fits one of the tuples that wait for it now."""
        waiting = [entry for name in self.requests[request] for entry in self.parked.get(name, [])]
        state = self.tables[self.requests[request][0][0]]
        state.rows.append(tuple(column[number].as_py() for column in rows.columns))
        fits = any(self.fits({**item.rows, alias: len(state.rows) - 1}, alias) for alias, item in waiting)
        state.rows.pop()
        return fits or not waiting

    def lookup_over(self, request: int, *, failed: bool) -> None:
        for name in self.requests.pop(request):
            table, lookup, _ = name
            columns = self.plan.tables[table].lookups[lookup].columns
            if failed:
                key = dict(zip(columns, self.values[name], strict=True))
                self.note(table, f"{key}", "lookup failed")
                self.failed.add(name)
            else:
                self.covered.add(name)
            if not self.rules.leak_parked:
                self.parked.pop(name, None)
        self.answers.pop(request, None)

    def scan_over(self, event: ScanEnd | ScanFailed, table: int, index: int) -> None:
        self.open.discard((table, index))
        if isinstance(event, ScanEnd):
            self.tables[table].scans_ended += 1
            self.missing = [item for item in self.missing if item.table != self.plan.tables[table].name]
        else:
            self.note(table, "true", event.reason)

    def note(self, table: int, predicate: str, reason: str) -> None:
        if not self.tables[table].scans_ended:
            self.missing.append(Missing(self.plan.tables[table].name, predicate, reason))

    # ------------------------------------------------------------------------------------------- results and checks

    def gather(self, batch: _Tuple) -> pa.RecordBatch:
        fields = [self.plan.field_of(column) for column in self.plan.output]
        columns = [
            pa.array([self.read(batch.rows, column)], field.arrow)
            for column, field in zip(self.plan.output, fields, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, names=[f"o{number}" for number in range(len(columns))])

    def row_ids(self, batch: _Tuple) -> list[pa.Array]:
        return [_Ids([batch.rows[alias]]) for alias in range(len(self.plan.aliases))]

    def validate(self) -> None:
        """I2: the active components of every tuple have stamps of their own, and the tuple carries the largest."""
        for item in self.waiting:
            stamps = [
                (self.tables[plan.table].sequence[item.rows[alias]], alias)
                for alias, plan in enumerate(self.plan.aliases)
                if plan.active and plan.kind == "inner" and alias in item.rows
            ]
            assert len(set(stamps)) == len(stamps), f"I2: equal stamps in {item}"
            assert item.stamp == max(stamps), f"I2: {item} does not carry the stamp of its newest component"
        for predicate in self.plan.predicates:
            assert columns_of(predicate.expr), "a predicate reads at least one column"


class _Ids(list[int]):
    """Row numbers that answer `tolist`, as an array does."""

    def tolist(self) -> list[int]:
        return list(self)
