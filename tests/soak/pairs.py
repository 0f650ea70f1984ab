"""Two runs that must agree: a stricter statement asks for no more, and what only saves requests changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from fff.dataflow.lookups.methods import LookupOptions
from fff.structs import replace
from tests.faults.cells import Cell
from tests.simulation.faulty_web import ORDINARY
from tests.soak.checks import problems
from tests.soak.day import Bounds, Day, filtered
from tests.soak.play import Came, go
from tests.soak.statements import STRICTER, Function

_RACES = LookupOptions(patience=0.0, hedge_after=0, hedge_quantile=0.5, hedge_share=1.0, slow_s=0.0)


def calmed(chosen: Day) -> Day | None:
    """The same with nothing that could go wrong; None where a table is odd by itself."""
    if chosen.odd is not None:
        return None
    options = replace(chosen.options, deadline=None, max_requests=None, on_source_error="partial")
    return replace(
        chosen,
        stormy=False,
        keep=False,
        cache=False,
        bounds=Bounds(),
        options=options,
        eager=None,
        function=Function(fails=False),
    )


def toggled(calm: Day) -> Iterator[tuple[str, Day]]:
    """The same day with one thing switched that may change requests alone: the bag must be the oracle's in each."""
    yield "races", replace(calm, eager=_RACES)
    yield "no session" if calm.keep else "session", replace(calm, keep=not calm.keep)
    yield "cache on disk", replace(calm, cache=True)
    for prefer in ("fast", "cheap"):
        yield prefer, replace(calm, options=replace(calm.options, prefer=prefer))
    if calm.windows:  # which need the conditions
        return
    cells = {}
    for name, cell in calm.cells.items():
        plain = replace(ORDINARY, rows=cell.behaviour.rows)
        able = "token" not in cell.world.dialect.name.lower()
        cells[name] = Cell(filtered(plain) if able and not calm.pushed else plain, cell.world)
    yield (
        "nothing pushed" if calm.pushed else "conditions pushed",
        replace(calm, cells=cells, pushed=not calm.pushed),
    )


def in_pairs(chosen: Day) -> list[str]:
    """What is wrong with the day where it is calm, in all pairs; nothing where there is none."""
    calm = calmed(chosen)
    return [] if calm is None else [*of_toggles(calm), *of_stricter(calm)]


def of_toggles(calm: Day) -> Iterator[str]:
    """What is wrong with the day where one thing is switched."""
    for name, other in toggled(calm):
        came = go(other)
        yield from () if came is None else (f"{name}: {text}" for text in problems(other, came))


def comparable(calm: Day) -> bool:
    """Whether a stricter statement can ask for no more there.

    With a LIMIT it has to look further. Which keys travel in one batch, and when a mirror is begun, is a matter of moments; of
    a batch with few rows FFF asks once more whether it was read in full.
    """
    accesses = {cell.world.access for cell in calm.cells.values()}
    return (
        calm.statement.first is None
        and not calm.statement.tail
        and accesses <= {"scan", "lookup"}
        and not calm.also
        and not calm.statement.calls
        and " FROM " not in calm.statement.what
        and not any(text in calm.statement.tables for text in ("(SELECT", "SEMI", "ANTI"))
    )


def stricter_ones(calm: Day) -> list[str]:
    """Conditions that make the statement stricter, where that can be compared."""
    tables = f"{calm.statement.tables} "
    named = {name for name in "rst" if f"web.{name}" in tables and f"web.{name} x" not in tables}
    return [condition for condition in STRICTER if condition[0] in named] if comparable(calm) else []


def _arrived(came: Came) -> int:
    """Requests that the server has had: which of them meet a connection that it is closing is a matter of moments."""
    return sum(one.arrived is not None for one in came.network.exchanges)


def of_stricter(calm: Day) -> Iterator[str]:
    """What is wrong with stricter statements on the same day."""
    conditions = stricter_ones(calm)
    loose = go(calm) if conditions else None
    if loose is None:
        return
    for condition in conditions:
        strict = replace(calm, statement=calm.statement.stricter(condition))
        came = go(strict)
        if came is None:
            yield f"{condition}: nothing binds a table any more"
            continue
        yield from (f"{condition}: {text}" for text in problems(strict, came))
        before, now = _arrived(loose), _arrived(came)
        if now > before:
            yield f"{condition}: {now} requests in the place of {before}"
