"""What the tools do: tables found and described, statements run, more of their rows."""

from __future__ import annotations

import contextlib
import math
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, Self

from fff.api.result import Result
from fff.api.running import AsyncConnection, connect_async
from fff.budget import Budget, BudgetExhausted
from fff.errors import SecretError, SourceError, UsageError
from fff.web.gate.turns import ASKER
from fff_cli.commands.source import find
from fff_cli.mcp.replies import (
    ExplainReply,
    MissingPart,
    QueryReply,
    TableDescription,
    TablesFound,
    description_of,
    json_rows,
    table_line,
)

Tell = Callable[[float, str], Awaitable[None]]

_KEPT_BYTES = 64 * 1024 * 1024  # of results, the newest first, so that their further rows can be asked for
_INTERVAL_S = 1.0  # between two words on how far a statement is


@dataclass(frozen=True)
class AgentLimits:
    """What agents may spend.

    Attributes:
        sources: the sources they see; empty: all, but no files of this machine.
        deadline: seconds after which a statement answers with what is there, at most.
        max_requests: how many requests all their statements may send together; None: any number.
        max_rows: how many rows a reply has at most.
    """

    sources: tuple[str, ...] = ()
    deadline: float = 45.0
    max_requests: int | None = None
    max_rows: int = 1000


@dataclass
class Agents:
    """The tools over one federation, for as long as the context is open.

    What one statement has read of tables the next ones use. Results are found by handles that cannot be
    guessed, so that clients of one server do not see each other's.
    """

    specs: Sequence[Path] = ()
    limits: AgentLimits = AgentLimits()
    _connection: AsyncConnection | None = field(default=None, repr=False)
    _results: OrderedDict[str, Result] = field(default_factory=OrderedDict, repr=False)
    _budget: Budget | None = field(default=None, repr=False)

    async def __aenter__(self) -> Self:
        """Read the specs. Raises SpecError, UsageError."""
        connection = connect_async(*self.specs, on_source_error="partial", keep=True, local_files=False)
        connection.open()
        self._connection = connection
        connection.shared_budget = self._budget = Budget.of(self.limits.max_requests, None)
        if self.limits.sources and (unknown := connection.federation.catalog.narrow(self.limits.sources)):
            raise UsageError(f"there is no source {unknown[0]!r}", hint="`fff source list` shows them")
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def search(self, words: str, most: int) -> TablesFound:
        """The tables in whose name, columns or description every word stands, in any case."""
        catalog = self._open.federation.catalog
        unread = []
        for source in catalog.unlisted():
            try:
                await catalog.list_source(source, self._budget)
            except (SourceError, SecretError):
                unread.append(source.name)
        wanted = words.lower().split()
        matching = [line for line in map(table_line, catalog.tables()) if _has(astuple(line), wanted)]
        shown = matching[: max(0, most)]
        return TablesFound(
            tables=shown, found=len(matching), cut=len(shown) < len(matching), unread_sources=unread
        )

    async def describe(self, name: str) -> TableDescription:
        """One table. Raises UsageError with close names, SourceError."""
        catalog = self._open.federation.catalog
        with self._told_when_spent():
            await catalog.list_tables([name.split(".")], self._budget)
            await catalog.discover([find(catalog, name)], self._budget)
        return description_of(find(catalog, name))

    async def explain(self, sql: str, params: Mapping[str, object]) -> ExplainReply:
        """How a statement would run; sends nothing. Raises QueryError, also where columns are to be asked for, UsageError."""
        _check_finite(params)
        federation = self._open.federation
        await federation.look_into_files(sql)
        return ExplainReply(plan=federation.explain(federation.prepare(sql, params)))

    async def query(
        self,
        sql: str,
        params: Mapping[str, object],
        *,
        max_rows: int,
        deadline: float | None,
        max_requests: int | None,
        tell: Tell,
        asker: str = "",
    ) -> QueryReply:
        """Run a statement; `tell` hears of seconds and progress while it runs.

        Askers take turns at the limits of sources: who asks for little waits for about as much of each other.
        Raises FFFError where there is no answer at all; an answer that lacks something says so.
        """
        _check_finite(params)
        if self.requests_left == 0:
            raise self._spent()
        seconds = self.limits.deadline if deadline is None else min(self.limits.deadline, deadline)
        ASKER.set(asker)  # of all that this task sends
        options: dict[str, Any] = {} if max_requests is None else {"max_requests": max_requests}
        stream = self._open.stream(sql, params, interval=_INTERVAL_S, deadline=seconds, **options)
        with self._told_when_spent():
            async with contextlib.aclosing(aiter(stream)) as snapshots:
                async for snapshot in snapshots:
                    words = f"{snapshot.phase}: {snapshot.rows:,} rows joined so far"
                    await tell(snapshot.elapsed_s, f"{words}, {stream.requests:,} requests")
        handle = self._keep(stream.result)
        return self._reply(handle, stream.result, 0, max_rows)

    def fetch(self, handle: str, first: int, max_rows: int) -> QueryReply:
        """Further rows of a result. Raises UsageError where the handle is not, or no more, known."""
        return self._reply(handle, self._result_of(handle), max(0, first), max_rows)

    def report(self, handle: str) -> dict[str, Any]:
        """The account of the run behind a result. Raises UsageError as `fetch` does."""
        return self._result_of(handle).report

    @property
    def requests_left(self) -> int | None:
        """How many requests the session may still send; None: any number."""
        budget = self._budget
        return None if budget is None or budget.requests is None else budget.requests - budget.spent

    def _spent(self) -> UsageError:
        return UsageError(
            f"the {self.limits.max_requests:,} requests of this session are spent",
            hint="`fetch_rows` still gives rows of results that were found",
        )

    @contextlib.contextmanager
    def _told_when_spent(self) -> Iterator[None]:
        """Have a request that the session cannot pay for be told so, where nothing else comes of it."""
        try:
            yield
        except BudgetExhausted as error:
            if self.requests_left == 0:
                raise self._spent() from error
            raise

    @property
    def _open(self) -> AsyncConnection:
        if self._connection is None:
            raise UsageError("the session is closed")
        return self._connection

    def _result_of(self, handle: str) -> Result:
        result = self._results.get(handle)
        if result is None:
            raise UsageError(
                "no result is kept under this handle", hint="run the statement again; few results are kept"
            )
        self._results.move_to_end(handle)
        return result

    def _keep(self, result: Result) -> str:
        handle = secrets.token_urlsafe(12)
        self._results[handle] = result
        while len(self._results) > 1 and _bytes(self._results.values()) > _KEPT_BYTES:
            self._results.popitem(last=False)
        return handle

    def _reply(self, handle: str, result: Result, first: int, max_rows: int) -> QueryReply:
        count = max(0, min(max_rows, self.limits.max_rows))
        rows = json_rows(result.to_arrow().slice(first, count))
        after = first + len(rows)
        report = result.report
        return QueryReply(
            complete=result.complete,
            reason="" if result.complete else report["reason"] or "",
            missing=[
                MissingPart(table=one.table, predicate=one.predicate, reason=one.reason)
                for one in result.missing
            ],
            bounds=list(result.outcome.bounds),
            within=list(result.outcome.within),
            cut=len(rows) < len(result),
            row_count=len(result),
            first_row=first,
            next_row=after if after < len(result) else None,
            handle=handle,
            columns=result.schema.names,
            types=[str(one.type) for one in result.schema],
            rows=rows,
            requests=sum(one["requests"] for one in report["access"]),
            bill=report["bill"],
            requests_left=self.requests_left,
            seconds=round(report["elapsed_s"], 3),
            warnings=list(result.warnings),
        )


def _check_finite(params: Mapping[str, object]) -> None:
    """Raise UsageError for a number that was too large for a double, which readers of JSON make infinity of."""
    for name, value in params.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(
                f"parameter {name}: no double holds that number",
                hint=f"pass its digits as a text: CAST(:{name} AS DECIMAL(38, 0))",
            )


def _bytes(results: Collection[Result]) -> int:
    return sum(result.to_arrow().nbytes for result in results)


def _has(values: Collection[object], words: Sequence[str]) -> bool:
    text = " ".join(str(value) for value in values).lower()
    return all(word in text for word in words)
