"""The cells of the matrix: which there are, how one is run, and how it is graded."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs

from fff.catalog import Catalog
from fff.errors import FFFError, SourceError, SpecError
from fff.execution import RunOutcome
from fff.federation import Federation, RunOptions
from fff.web.client import WebClient
from fff.web.transport import Network
from fff.web.types import Outgoing, RawResponse
from fff_sources.adapter import SourceContext
from fff_sources.document import Document
from fff_sources.rest import RestSource
from tests.faults.behaviour import ACCESSES, Bag, Behaviour, bag_of, is_right
from tests.faults.behaviours import BEHAVIOURS
from tests.faults.site import (
    COLUMNS,
    DIALECTS,
    Format,
    Row,
    Turn,
    World,
    paged,
    plain_reply,
    position_of,
    written,
)
from tests.faults.wire import Asked, Reply, Server, served
from tests.web.serving import FakeTime

Grade = Literal["right", "warned", "honest", "silent", "endless", "crash", "unsafe", "invalid"]
GOOD: tuple[Grade, ...] = ("right", "warned", "honest")

#: Requests of one cell above which it counts as endless; the most that any cell needs is about a third.
MOST_REQUESTS = 700
#: Seconds after which a cell counts as stuck.
PATIENCE = 20.0

LOOKUP_KEYS = ("g00", "g03", "absent", "g07", "g10")
BATCH_KEYS = ("g00", "g01", "g02", "absent", "g04", "g05", "g06", "g07", "nothing", "g09", "g10", "g03")
BATCH = 6
_SECURE = "https://faults.invalid"


@dataclass(frozen=True)
class Cell:
    """A behaviour in a world."""

    behaviour: Behaviour
    world: World

    @property
    def name(self) -> str:
        world = self.world
        return " | ".join(
            (
                self.behaviour.name,
                world.dialect.name,
                world.access,
                world.format,
                "key" if world.keyed else "no key",
            )
        )


def skipped(behaviour: Behaviour, world: World) -> str | None:
    """Why a behaviour makes no sense in a world."""
    if world.format not in behaviour.formats:
        return f"it is of {', '.join(behaviour.formats)}"
    if world.access not in behaviour.accesses:
        return f"it is of {', '.join(behaviour.accesses)}"
    if not (world.dialect.common or behaviour.anywhere):
        return "conventions that are less common meet the behaviours that matter to paging alone"
    if behaviour.group in _NOT_OF_PAGES and world.dialect.name in _VARIANTS and not behaviour.anywhere:
        return "totals and hints beside the records matter to behaviours of pages"
    if world.dialect.name.startswith("undeclared: ") and world.dialect.paged and not behaviour.anywhere:
        return "what is not declared is read as auto"
    if world.format != "json" and world.dialect.body and (world.dialect.words is not _NO_WORDS):
        return "its words stand in JSON documents"
    if world.format != "json" and world.access in ("batch", "mirror"):
        return "formats matter to single answers"
    if world.format == "xml" and world.is_lookup:
        return "XML without records does not show where they would be"
    if world.access == "mirror" and not (world.dialect.common and world.dialect.paginator is not None):
        return "mirrors meet the declared paginators"
    if world.keyed and world.access != "scan" and behaviour.group in _NO_MATTER_OF_KEYS:
        return "what happens before there are records meets a key in scans alone"
    if not behaviour.where(world):
        return behaviour.because
    return None


_NOT_OF_PAGES = ("On the wire", "Statuses", "Documents", "Records", "Lines and markup", "Keys")
_VARIANTS = (
    "page_number, pages",
    "page_number, rows",
    "offset",
    "offset, has_more",
    "cursor, rows",
    "json_link, rows",
    "auto: next",
    "auto: page of pages",
    "auto: offset of total",
)
_NO_MATTER_OF_KEYS = ("On the wire", "Statuses", "Documents", "Lines and markup")
_NO_WORDS = DIALECTS[0].words


def worlds(behaviour: Behaviour) -> Iterator[World]:
    """Every combination."""
    formats: tuple[Format, ...] = ("json", "csv", "ndjson", "xml")
    for dialect in DIALECTS:
        for access in ACCESSES:
            for kind in formats:
                for keyed in (False, True):
                    keys = (
                        ()
                        if access in ("scan", "mirror")
                        else BATCH_KEYS
                        if access == "batch"
                        else LOOKUP_KEYS
                    )
                    yield World(
                        dialect,
                        access,
                        kind,
                        keyed,
                        behaviour.asked or keys if keys else (),
                        BATCH if access == "batch" else 1,
                        behaviour.separator,
                    )


def cells(behaviours: tuple[Behaviour, ...] = BEHAVIOURS) -> Iterator[Cell]:
    """Every cell that makes sense."""
    for behaviour in behaviours:
        for world in worlds(behaviour):
            if skipped(behaviour, world) is None:
                yield Cell(behaviour, world)


# --------------------------------------------------------------------------------------------------- the source's side


@dataclass
class Played:
    """The source of one cell."""

    cell: Cell
    readings: int = 1  # that go on by themselves, as those of windows do
    asked: int = 0
    endless: bool = False
    times: Counter[str] = field(default_factory=Counter)
    broken: Exception | None = None

    def answer(self, asked: Asked) -> Reply:
        """The answer to a request. What is wrong with the source itself must not look like a behaviour of it."""
        try:
            return self._answer(asked)
        except Exception as error:
            self.broken = error
            raise

    def _answer(self, asked: Asked) -> Reply:
        """With all that is wrong with it."""
        self.asked += 1
        self.times[asked.target] += 1
        if self.asked > MOST_REQUESTS * self.readings:
            self.endless = True
            return Reply(status=400, then="close")
        behaviour, world = self.cell.behaviour, self.cell.world
        keys = asked.query.get("grp", [])
        if "resumptionToken" in asked.query:
            keys = parse_qs(asked.first("resumptionToken", "")).get("grp", [])
        if "/of/" in asked.path:
            keys = [asked.path.partition("/of/")[2]]
        if world.separator is not None and world.access == "batch":
            keys = [part for text in keys for part in text.split(world.separator)]
        honest = "/second" in asked.path
        rows: list[Row] = list(
            behaviour.second if honest and behaviour.second is not None else behaviour.rows
        )
        if world.is_lookup:
            rows = [one for one in rows if one["grp"] in keys]
        turn = Turn(world, asked, self.asked, self.times[asked.target], keys, 0)
        turn.position = 0 if behaviour.deaf else position_of(world, asked, rows, world.size)
        if behaviour.select is not None and not honest:
            rows = behaviour.select(turn, rows)
            if world.dialect.style == "keyset" and rows == sorted(
                rows, key=lambda one: int(one.get("id", 0))
            ):
                turn.position = position_of(world, asked, rows, world.size)
        page = paged(turn, rows, asked.path)
        if behaviour.page is not None and not honest:
            behaviour.page(turn, page)
        body = written(world, page)
        if behaviour.body is not None and not honest:
            body = behaviour.body(turn, body)
        reply = plain_reply(world, page, body)
        return behaviour.reply(turn, reply) if behaviour.reply is not None and not honest else reply


class Secure:
    """Stands for https: what is asked of that host goes to the loopback server, and what goes out in the open is noted."""

    def __init__(self, url: str) -> None:
        self._network = Network()
        self._url = url
        self.in_the_open: list[str] = []

    async def send(self, out: Outgoing) -> RawResponse:
        """Over the wire."""
        from fff.structs import replace

        if out.url.startswith("http://faults.invalid"):
            self.in_the_open.append(out.url)
        host = out.url.split("/", 3)
        return await self._network.send(replace(out, url=f"{self._url}/{host[3] if len(host) > 3 else ''}"))

    async def close(self) -> None:
        """The connections."""
        await self._network.close()


# ------------------------------------------------------------------------------------------------------- FFF's side


def endpoint_of(cell: Cell, path: str) -> dict[str, object]:
    """The spec of one endpoint."""
    world = cell.world
    endpoint: dict[str, object] = {"path": path, "format": world.format, **cell.behaviour.spec}
    if world.format == "json":
        endpoint["data_selector"] = "items"
    if world.format == "xml":
        endpoint["data_selector"] = "answer.item"
    if world.dialect.paginator is not None:
        paginator = {**world.dialect.paginator, **cell.behaviour.paging}
        if "page_size" in paginator:
            paginator["page_size"] = world.size
        endpoint["paginator"] = paginator
    return endpoint


def table_of(cell: Cell, under: str = "") -> dict[str, Any]:
    """The spec of the table; its endpoints are under a path."""
    world = cell.world
    prefix = f"{under}/" if under else ""
    table: dict[str, Any] = {
        "columns": {"id": "int", "grp": "string", "name": "string", "note": "string"},
        **cell.behaviour.table,
    }
    if world.keyed:
        table["primary_key"] = "id"
    if world.is_lookup:
        lookup: dict[str, Any] = {"keys": ["grp"], "endpoint": endpoint_of(cell, f"{prefix}find")}
        if world.batch > 1:
            separator = {} if world.separator is None else {"separator": world.separator}
            lookup["batch"] = {"size": world.batch, **separator}
        table["lookups"] = [lookup]
    else:
        paths = ("first", "second") if world.access == "mirror" else ("first",)
        table["scan"] = [{"endpoint": endpoint_of(cell, f"{prefix}{path}")} for path in paths]
    return table


def spec_of(cell: Cell, url: str) -> dict[str, Any]:
    """The spec of a cell's source."""
    client = {
        "base_url": url,
        "retry": {"max_attempts": 3, "base_delay": 0.001, "max_delay": 0.01},
        "timeout": {"read": 0.15, "total": 10},
    }
    return {"version": 1, "sources": {"web": {"client": client, "tables": {"items": table_of(cell)}}}}


@dataclass(frozen=True)
class Graded:
    """What came of a cell."""

    cell: Cell
    grade: Grade
    said: str
    asked: int


@dataclass
class Bench:
    """A server, and the cells that it plays."""

    server: Server
    number: int = 0

    async def grade(self, cell: Cell) -> Graded:
        """Run the cell."""
        self.number += 1
        name = f"c{self.number}"
        played = Played(cell)
        self.server.sites[name] = played.answer
        secure = Secure(self.server.url) if cell.behaviour.secure else None
        url = f"{_SECURE if secure else self.server.url}/{name}"
        client = WebClient(rng=random.Random(1), clock=FakeTime().clock, transport=secure)
        try:
            async with asyncio.timeout(PATIENCE):
                grade, said = await self._run(cell, url, client)
        except TimeoutError:
            grade, said = "endless", f"no end after {PATIENCE:g} s"
        finally:
            await client.close()
            del self.server.sites[name]
        if played.broken is not None:
            raise AssertionError(cell.name) from played.broken
        if played.endless:
            grade, said = "endless", f"more than {MOST_REQUESTS} requests: {said}"
        if secure is not None and secure.in_the_open:
            grade, said = "unsafe", f"sent in the open: {secure.in_the_open[0]}"
        return Graded(cell, grade, said, played.asked)

    async def _run(self, cell: Cell, url: str, client: WebClient) -> tuple[Grade, str]:
        world = cell.world
        sql = f"SELECT {', '.join(COLUMNS)} FROM web.items"
        if world.is_lookup:
            sql += f" WHERE grp IN ({', '.join(repr(key) for key in world.keys)})"
        found: Bag = Counter()
        try:
            document = Document("faults.yaml", spec_of(cell, url))
            catalog = Catalog()
            catalog.add(RestSource.from_spec(SourceContext("web", document, {}, Path(), client)))
            async with Federation(catalog, client) as federation:
                execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
                async for batch in execution.batches():
                    found.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
                outcome = execution.outcome
        except SpecError as error:
            return "invalid", str(error)
        except SourceError as error:
            return "honest", str(error)
        except FFFError as error:
            return "crash", f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - whatever it is, no user should meet it
            return "crash", f"{type(error).__name__}: {error}"
        return judged(cell, found, outcome)


def judged(cell: Cell, found: Bag, outcome: RunOutcome) -> tuple[Grade, str]:
    """The grade of an answer."""
    behaviour, world = cell.behaviour, cell.world
    said = "; ".join((*outcome.warnings, *(part.reason for part in outcome.missing)))
    if not outcome.complete:
        labelled = outcome.exit_code == 3 and any(part.table == "web.items" for part in outcome.missing)
        return ("honest" if labelled else "silent"), said
    if not is_right(behaviour, world, found):
        truth = bag_of(behaviour.rows, world)
        lost, more = truth - found, found - truth
        return "silent", f"{lost.total()} lost, {more.total()} too many. {said}"
    if behaviour.warned and not outcome.warnings:
        return "silent", "as declared, and not a word"
    return ("warned" if outcome.warnings else "right"), said


def fails(graded: Graded) -> bool:
    """Whether the grade is one that no cell should have."""
    sound = graded.cell.behaviour.sound and graded.cell.world.dialect.common
    return graded.grade not in GOOD or (sound and graded.grade == "honest")


@contextlib.asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    """What cells are run with."""
    async with served() as server:
        yield Bench(server)


async def grade_all(chosen: list[Cell]) -> list[Graded]:
    """One after the other."""
    async with bench() as on:
        return [await on.grade(cell) for cell in chosen]
