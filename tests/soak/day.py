"""What a seed stands for: a statement, the tables and how their source behaves, the network, and how the run is bounded."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fff.dataflow.lookups.methods import LookupOptions
from fff.options import RunOptions
from fff.policies import POLICIES, PREFERENCES
from fff.structs import replace
from tests.faults.behaviour import Behaviour
from tests.faults.behaviours import BEHAVIOURS
from tests.faults.cells import Cell, Played, skipped, table_of
from tests.faults.site import DIALECTS, ROWS, Page, Row, Turn, World, position_of
from tests.faults.unnoticeable import reason_of
from tests.simulation.faulty_web import ANY_ROWS, EMPTY, ORDINARY
from tests.soak.statements import CERTIFIED, SHAPES, STATEMENTS, Function, Statement
from tests.soak.weather import Weather, latency_of, storms_of
from tests.web.simulated import Bucket, FixedWindow, SlidingWindow

_WIRE = tuple(one for one in BEHAVIOURS if one.group in ("On the wire", "Mirrors") and one.judge is None)
ODD = (*ANY_ROWS, *(one for one in _WIRE if not one.secure))


@dataclass(frozen=True)
class Bounds:
    """How a run is held, and how it is ended from outside."""

    interrupt: float | None = None  # Ctrl-C
    leave: float | None = None  # the reader goes away, as the second Ctrl-C does
    kill: float | None = None  # killed then; another run goes on from its checkpoint
    memory: int | None = None  # bytes; each byte of the network takes `per_byte` of them
    per_byte: int = 40


@dataclass(frozen=True)
class Day:
    """What a seed stands for. `odd`: the table that answers as it should not, if one does."""

    seed: int
    statement: Statement
    cells: Mapping[str, Cell]
    odd: str | None
    client: Mapping[str, Any]
    options: RunOptions
    bounds: Bounds
    eager: LookupOptions | None
    keep: bool
    cache: bool
    stormy: bool
    pushed: bool
    also: Mapping[str, Cell]  # lookups of tables that can be scanned as well
    windows: frozenset[str]  # tables that are scanned in ranges of `id`
    ordered: frozenset[str]  # tables of which the spec says that they come by `id`
    function: Function

    @property
    def sound(self) -> bool:
        """Whether nothing is there that a complete answer could fail for."""
        held = (self.options.deadline, self.options.max_requests, self.bounds.interrupt, self.bounds.memory)
        return (
            not (self.stormy or self.function.fails)
            and self.odd is None
            and all(one is None for one in (*held, self.bounds.leave))
        )

    @property
    def of_lines(self) -> bool:
        """Whether records are lines somewhere."""
        return any(cell.world.format in ("csv", "ndjson") for cell in self.cells.values())

    @property
    def rows(self) -> dict[str, tuple[Row, ...]]:
        return {name: cell.behaviour.rows for name, cell in self.cells.items()}

    @property
    def blind(self) -> bool:
        """Whether no client could notice what the odd table does."""
        if self.odd is None:
            return False
        odd = self.cells[self.odd]
        pages = -(-len(odd.behaviour.rows) // odd.world.size)
        short = odd.world.is_lookup or self.pushed or self.windows or pages <= odd.world.strike + 2
        # Of few pages the last may well be empty.
        few = short and odd.world.dialect.tells != "rows" and odd.behaviour.name in EMPTY
        # What comes too late behind a body of lines that is cut between two of them, nobody waits for.
        lines = odd.behaviour.name == "Content-Length below the body's" and odd.world.format in (
            "csv",
            "ndjson",
        )
        # One batch, the last key of which has no rows.
        nothing = odd.behaviour.name == "of a batch the last key only" and "'none')" in self.statement.sql
        return few or lines or nothing or reason_of(odd) is not None

    def weather(self) -> Weather:
        """The network, made anew for each run."""
        rng = random.Random(f"weather {self.seed}")
        limits = (None, None, lambda: FixedWindow(rng.choice([5, 30]), rng.choice([1.0, 10.0])),
                  lambda: SlidingWindow(rng.choice([5, 30]), rng.choice([1.0, 10.0])),
                  lambda: Bucket(rng.choice([3, 20]), rng.choice([2.0, 10.0])))  # fmt: skip
        limit = rng.choice(limits) if self.stormy else None
        return Weather(
            rng,
            latency_of(rng),
            (0.0005, rng.choice([0.001, 0.02, 0.2])),
            storms_of(rng, lines=self.of_lines)
            if self.stormy and (limit is None or rng.random() < 0.3)
            else (),
            None if limit is None else limit(),
            rng.random() < 0.7,
            rng.choice([None, None, 1, 3]) if self.stormy else None,
            rng.choice([1, 1, 4, 40]),
            rng.choice([None, None, 0.1, 5.0]),
        )

    def spec(self) -> dict[str, Any]:
        tables = {name: table_of(cell, name) for name, cell in self.cells.items()}
        for name, cell in self.also.items():
            tables[name]["lookups"] = table_of(cell, name)["lookups"]
        for name in self.windows:
            for scan in tables[name]["scan"]:
                scan["windows"] = {"column": "id", "start": 1, "end": 60, "size": 25, "nulls": "none"}
        for name in self.ordered:
            tables[name]["order"] = ["id"]
        client = {"base_url": f"http://{_HOST}", **self.client}
        functions = {"functions": self.function.spec()} if self.statement.calls else {}
        return {"version": 1, "sources": {"web": {"client": client, "tables": tables} | functions}}

    def played(self) -> dict[str, Played]:
        """By the beginnings of paths."""
        lookups = {f"{name}/find": Played(cell, readings=5) for name, cell in self.also.items()}
        # Each window and each key ends by itself, after a hundred empty pages at the latest.
        many = [
            name for name, cell in self.cells.items() if name in self.windows or cell.world.access == "lookup"
        ]
        return lookups | {
            name: Played(cell, readings=5 if name in many else 1) for name, cell in self.cells.items()
        }


_HOST = "web.example"


def day(seed: int) -> Day:
    """What a seed stands for."""
    rng = random.Random(f"soak {seed}")
    statement = rng.choice(STATEMENTS if rng.random() < 0.6 else SHAPES)
    certified = random.Random(f"certified {seed}")
    if certified.random() < 0.25:  # by itself, so that all other days stay what they were
        statement = certified.choice(CERTIFIED)
    function = Function(fails=statement.calls and certified.random() < 0.5)
    tables = [name for name in "rst" if f"web.{name}" in statement.sql]
    stormy, bounded = rng.random() < 0.6, rng.random() < 0.35
    odd = rng.choice(tables) if rng.random() < 0.35 else None
    pushed = rng.random() < 0.4
    cells = {}
    for name in tables:
        behaviour = ORDINARY
        if name == odd:
            behaviour = rng.choice(
                [one for one in ODD if name != "r" or "scan" in one.accesses or "mirror" in one.accesses]
            )
        moves = behaviour.lower is not None or behaviour.upper is not None or behaviour.second is not None
        if not moves:  # those are told of all rows
            rows = tuple(one for one in ROWS if rng.random() < 0.8)
            behaviour = replace(behaviour, rows=rows)
        world = _world(name, behaviour, rng)
        if pushed and "token" not in world.dialect.name.lower():
            behaviour = filtered(behaviour)
        cells[name] = Cell(behaviour, world)
    options = RunOptions(
        policy=rng.choice([*POLICIES, "adaptive", "adaptive"]),
        prefer=rng.choice(PREFERENCES),
        seed=seed,
        semantics=rng.choice(["parked", "parked", "parked", "paper"]),
        hold_rows=rng.random() < 0.1,
        deadline=rng.choice([0.3, 2.0, 30.0]) if bounded and rng.random() < 0.4 else None,
        max_requests=rng.choice([0, 1, 3, 10, 40]) if bounded and rng.random() < 0.4 else None,
        on_source_error="fail" if rng.random() < 0.1 else "partial",
    )  # fmt: skip
    end = rng.choice(["interrupt", "leave", "memory", "", ""]) if bounded else ""
    when = rng.choice([0.0, 0.05, 0.3, 1.0, 5.0]) * rng.random()
    kill = when if not bounded and rng.random() < 0.1 else None
    bounds = Bounds(
        interrupt=when if end == "interrupt" else None,
        leave=when if end == "leave" else None,
        kill=kill,
        memory=rng.choice([60_000, 200_000, 800_000]) if end == "memory" else None,
    )
    eager = LookupOptions(
        patience=rng.choice([0.0, 1.0, 4.0]),
        hedge_after=rng.choice([0, 1, 3]),
        hedge_quantile=rng.choice([0.5, 0.95]),
        hedge_share=rng.choice([0.1, 0.5, 1.0]),
        slow_s=rng.choice([0.0, 0.05, 0.5]),
    )
    also = {}
    for name, cell in cells.items():
        fixed = cell.behaviour.rows is not ROWS or name != odd  # else of rows that come and go
        if not cell.world.is_lookup and fixed and rng.random() < 0.4:
            kind = replace(
                cell.world, access=rng.choice(["lookup", "batch"]), format="json", dialect=DIALECTS[1]
            )
            also[name] = Cell(
                replace(ORDINARY, rows=cell.behaviour.rows),
                replace(kind, batch=4 if kind.access == "batch" else 1),
            )
    scans = [name for name, cell in cells.items() if not cell.world.is_lookup]
    windows = [name for name in scans if "key_columns" in cells[name].behaviour.table and rng.random() < 0.3]
    ordered = [name for name in scans if name not in windows and rng.random() < 0.4]
    return Day(
        seed=seed,
        statement=statement,
        cells=cells,
        odd=odd,
        client=_client(rng),
        options=options,
        bounds=bounds,
        eager=eager if rng.random() < 0.5 else None,
        keep=kill is None and rng.random() < 0.2,
        cache=kill is None and rng.random() < 0.15,
        stormy=stormy,
        pushed=pushed,
        also=also,
        windows=frozenset(windows),
        ordered=frozenset(ordered),
        function=function,
    )


def _client(rng: random.Random) -> dict[str, Any]:
    rate: dict[str, Any] = {"max_concurrency": rng.choice([1, 2, 3, 8])}
    if rng.random() < 0.3:
        rate |= {"limit": rng.choice([2, 5, 20]), "per": rng.choice([1.0, 5.0])}
    if rng.random() < 0.2:
        rate |= {"fill_rate": rng.choice([3, 20]), "bucket_size": rng.choice([1, 4])}
    return {
        "rate_limit": rate,
        "retry": {
            "max_attempts": rng.choice([1, 3, 5]),
            "base_delay": rng.choice([0.01, 0.5]),
            "max_delay": rng.choice([1, 30]),
            "max_wait": rng.choice([20, 60, 300]),
        },
        "timeout": {"connect": 3, "read": rng.choice([3, 10]), "total": rng.choice([15, 60])},
    }


def _world(name: str, behaviour: Behaviour, rng: random.Random) -> World:
    """How a table is reached, where the behaviour makes sense."""
    kind = rng.choice([one for one in ("json", "json", "csv", "ndjson") if one in behaviour.formats])
    while True:
        access = rng.choice(["scan", "mirror"] if name == "r" else ["scan", "lookup", "batch", "batch"])
        if access == "lookup" and "mirror" in behaviour.accesses and len(behaviour.accesses) == 1:
            access = "mirror"
        world = World(
            rng.choice([one for one in DIALECTS if one.common or behaviour.name != ORDINARY.name]),
            access,  # type: ignore[arg-type]
            kind,  # type: ignore[arg-type]
            rng.random() < 0.5,
            (),
            4 if access == "batch" else 1,
        )
        if skipped(behaviour, world) is None:
            return world


_PUSHED: Mapping[str, Callable[[int, int], bool]] = {
    "id_min": lambda value, bound: value >= bound,
    "id_max": lambda value, bound: value <= bound,
}


def filtered(behaviour: Behaviour) -> Behaviour:
    """The same, of a source that takes bounds of `id` and keeps to them on all pages."""

    def select(turn: Turn, rows: list[Row]) -> list[Row]:
        for name, keeps in _PUSHED.items():
            if name in turn.asked.query:
                bound = int(turn.asked.first(name, ""))
                rows = [one for one in rows if "id" not in one or keeps(one["id"], bound)]
        if turn.world.dialect.style == "keyset" and not behaviour.deaf:
            turn.position = position_of(turn.world, turn.asked, rows, turn.world.size)  # among these
        return rows if behaviour.select is None else behaviour.select(turn, rows)

    def page(turn: Turn, made: Page) -> None:
        for name in _PUSHED:
            if name in turn.asked.query:
                made.query += f"&{name}={quote(turn.asked.first(name, ''))}"
        made.go_on(made.following)
        if behaviour.page is not None:
            behaviour.page(turn, made)

    column = {"name": "id", "operators": [">=", "<="], "param": {">=": "id_min", "<=": "id_max"}}
    return replace(behaviour, select=select, page=page, table={**behaviour.table, "key_columns": [column]})


def horizon(chosen: Day) -> float:
    """Virtual seconds within which every run ends: the deadline, or hours where a source is told to be waited for."""
    return math.inf if chosen.options.deadline is None else chosen.options.deadline
