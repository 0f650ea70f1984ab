"""Statements of clients under way: what they asked, what they may spend, how they end."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from decimal import Decimal
from typing import Any

from fff.api.own_spark import OwnSpark
from fff.api.result import RecordBatch
from fff.api.run import BackgroundRun
from fff.budget import Budget, Money
from fff.errors import QueryError, SourceError, Span, UsageError
from fff.federation import Execution, Federation, Prepared
from fff.forecast.words import over_budget
from fff.options import RunOptions
from fff.sql import statement_spans
from fff.sql.syntax.parameters.param_types import typed
from fff.stats import RunOutcome, Snapshot, bills
from fff.structs import Struct, asdict, field, replace
from fff.web.gate.turns import ASKER
from fff_cli.options.params import parse_params

#: Ends that are kept, so that a client can ask how its query ended: the newest of all clients.
_ENDS_KEPT = 200
_CUT = "the reply was cut"
#: From a deadline of so many seconds on a query waits for those that come in the same moment.
_PATIENT_S = 10.0


class ServeLimits(Struct, frozen=True):
    """What each query may spend at most, and how many one client may have under way. None: any number."""

    deadline: float = 300.0  # seconds
    max_requests: int | None = None
    budget: Money | None = None
    concurrent: int = 64


class TooManyQueries(UsageError):  # noqa: N818 - reads as the sentence clients see
    """A client has as many queries under way as it may."""


class AskedQuery(Struct, frozen=True):
    """What a client asks, checked. `rows`: of the reply at most; `partial`: Arrow rows of an incomplete answer, too.

    `text` is what the client has written: the statement, from character `begin` on, and what is around it.
    """

    sql: str
    text: str
    params: Mapping[str, object]
    options: RunOptions
    begin: int = 0
    rows: int | None = None
    interval: float = 0.5
    report: bool = False
    partial: bool = False

    def place(self, error: QueryError) -> None:
        """Have an error say where in the client's text it is."""
        error.place_in(self.text, Span(self.begin, self.begin + len(self.sql)))


class WrittenFloat(float):
    """A number of JSON that has a point or an exponent, with its `text`: a double may hold less than that says."""

    def __init__(self, text: str) -> None:
        self.text = text


def _as_written(name: str, value: object) -> object:
    """The value of a parameter: a number is a double where that is how one is written, else as `-p` has numbers.

    Raises UsageError where no number of SQL's is what is written.
    """
    if not isinstance(value, WrittenFloat):
        return value
    if "e" in value.text.lower():
        return typed(f"parameter {name}", "double", value.text)
    digits = len((written := Decimal(value.text)).as_tuple().digits)
    if written in (
        Decimal(repr(value)),
        Decimal(f"{value:.{digits}g}"),
    ):  # or longer than need be, as C has it
        return float(value)
    return typed(f"parameter {name}", "decimal", value.text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _are_params(value: object) -> bool:
    if isinstance(value, dict):
        return all(one is None or isinstance(one, str | int | float) for one in value.values())
    return _are_texts(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


#: The members of a request: whether a value will do, and in words what does. None does for all but `sql`.
MEMBERS: dict[str, tuple[Callable[[object], bool], str]] = {
    "sql": (_is_text, "one statement of Spark's SQL, as a string"),
    "params": (_are_params, "values by name, or a list of strings such as 'zip=94704'"),
    "deadline": (lambda value: _is_number(value) and value > 0, "a positive number of seconds"),  # type: ignore[operator]
    "max_requests": (lambda value: _is_whole(value) and value > 0, "a whole number above 0"),  # type: ignore[operator]
    "budget": (lambda value: _is_number(value) or _is_text(value), "an amount such as '0.50 EUR'"),
    "rows": (_is_whole, "a whole number"),
    "prefer": (_is_text, "fast, balanced or cheap"),
    "policy": (_is_text, "the name of a routing policy"),
    "semantics": (lambda value: value in ("parked", "paper"), "parked or paper"),
    "seed": (_is_whole, "a whole number"),
    "on_source_error": (_is_text, "fail or partial"),
    "hold_rows": (_is_flag, "true or false"),
    "prioritize": (_are_texts, "a list of conditions"),
    "interval": (lambda value: _is_number(value) and 0.05 <= value <= 60, "seconds, 0.05 to 60"),  # type: ignore[operator]
    "report": (_is_flag, "true or false"),
    "partial": (_is_flag, "true or false"),
    "output": (lambda value: isinstance(value, dict), "what `fff query --server` says of its output"),
}
_RUN = (
    *("deadline", "max_requests", "budget", "prefer", "policy", "semantics", "seed"),
    *("on_source_error", "hold_rows", "prioritize"),
)


def asked_query(body: object, limits: ServeLimits) -> AskedQuery:
    """What the body of a request asks, within the limits. Raises UsageError, QueryError."""
    if not isinstance(body, dict):
        raise UsageError("the body is no JSON object", hint='such as {"sql": "SELECT 1"}')
    for name, value in body.items():
        if name not in MEMBERS:
            raise UsageError(f"unknown member {name!r}", hint=f"known are {', '.join(MEMBERS)}")
        fits, words = MEMBERS[name]
        if (value is not None or name == "sql") and not fits(value):
            raise UsageError(f"{name} must be {words}")
    fields = {name: value for name, value in body.items() if value is not None}
    if not fields.get("sql", "").strip():
        raise UsageError("there is no SQL", hint='{"sql": "SELECT …"}')
    spans = statement_spans(text := fields["sql"])
    if len(spans) != 1:
        raise UsageError(f"one statement at a time, not {len(spans)}", hint="send one request for each")
    params = fields.get("params", {})
    return AskedQuery(
        sql=text[spans[0].start : spans[0].end],
        text=text,
        begin=spans[0].start,
        params=parse_params(params)
        if isinstance(params, list)
        else {name: _as_written(name, value) for name, value in params.items()},
        options=_within(limits, {name: fields[name] for name in _RUN if name in fields}),
        rows=fields.get("rows"),
        interval=float(fields.get("interval", 0.5)),
        report=fields.get("report", False),
        partial=fields.get("partial", False),
    )


def _within(limits: ServeLimits, fields: dict[str, Any]) -> RunOptions:
    """The options of a query: a client may spend less than the limits, never more. Raises UsageError."""
    fields["hold_rows"] = fields.get("hold_rows", fields.get("on_source_error") == "fail")
    options = RunOptions().overridden(fields)
    requests = [one for one in (limits.max_requests, options.max_requests) if one is not None]
    return replace(
        options,
        deadline=min(limits.deadline, options.deadline or limits.deadline),
        max_requests=min(requests, default=None),
        budget=_less(limits.budget, options.budget),
    )


def _less(limit: Money | None, asked: Money | None) -> Money | None:
    if limit is None or asked is None:
        return limit or asked
    if asked.currency and limit.currency and asked.currency != limit.currency:
        raise UsageError(
            f"a budget in {asked.currency} cannot be compared with the server's",
            hint=f"name it in {limit.currency}",
        )
    return Money(min(limit.amount, asked.amount), limit.currency or asked.currency)


class ServedQuery(Struct):
    """A statement of a client under way, or over (`end`)."""

    client: str
    asked: AskedQuery
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    began: float = field(default_factory=time.time)
    execution: Execution | None = None
    stopped: bool = False  # told to end with what is there
    forewarned: Sequence[str] = ()  # what was known to go wrong before anything was sent
    outcome: RunOutcome | None = None
    cut: bool = False
    error: dict[str, Any] | None = None  # what its client was told in place of a result

    def stop(self) -> None:
        """Stop fetching: the query ends soon, with what is there, as incomplete."""
        if self.execution is not None and not self.stopped:
            self.execution.interrupt()
        self.stopped = True

    async def events(self, *, snapshots: bool) -> AsyncGenerator[RecordBatch | Snapshot]:
        """Batches as they are found, at least one, and snapshots every so often if wanted; `outcome` comes after.

        Raises FFFError. Leaving the loop early stops the statement.
        """
        execution = self.execution
        assert execution is not None, "only what was begun has events"
        run = BackgroundRun(execution, OwnSpark(self.asked.options))
        left = self.asked.rows
        loop = asyncio.get_running_loop()
        snapshot_at = loop.time()
        try:
            while True:
                more: bool | None = None
                if not snapshots:
                    more = await run.more()
                else:
                    with contextlib.suppress(TimeoutError):
                        more = await asyncio.wait_for(run.more(), self.asked.interval)
                if more is False:
                    break
                if more:
                    batch = run.take()
                    if left is not None and len(batch) > left:
                        yield batch.slice(0, left)
                        self.cut = True
                        break
                    left = None if left is None else left - len(batch)
                    yield batch
                if snapshots and loop.time() - snapshot_at >= self.asked.interval:
                    snapshot_at = loop.time()
                    yield execution.snapshot()
        finally:
            await run.stop()
        self.outcome = self._cut_outcome(execution) if self.cut else execution.outcome

    def _cut_outcome(self, execution: Execution) -> RunOutcome:
        rows = self.asked.rows or 0
        reason = f"{_CUT} after {rows:,} rows, as it was asked to be: the answer has more"
        return execution.cut_outcome(rows, reason)

    def end(self) -> dict[str, Any]:
        """How it ended, as JSON has values: in the last part of every framing."""
        assert self.outcome is not None, "the query has not ended"
        return self._told(self.outcome)

    def settled(self) -> dict[str, Any] | None:
        """The same, where it is known before the rows are read: those of an aggregate are made of all that has come."""
        outcome = None if self.execution is None else self.execution.settled
        return None if outcome is None else self._told(outcome)

    def _told(self, outcome: RunOutcome) -> dict[str, Any]:
        execution = self.execution
        assert execution is not None, "what has not begun has no outcome"
        access = execution.snapshot().access
        end = {
            "complete": outcome.complete,
            "cut": self.cut,
            "reason": outcome.reason,
            "exit_code": outcome.exit_code,
            "row_count": outcome.rows,
            "elapsed_s": round(outcome.elapsed_s, 3),
            "requests": sum(one.requests for one in access),
            "bill": [asdict(one) for one in bills(access)],
            "missing": [asdict(one) for one in outcome.missing],
            "doubts": list(outcome.doubts),
            "bounds": list(outcome.bounds),
            "within": list(outcome.within),
            "warnings": [*self.forewarned, *outcome.warnings],
        }
        return end | ({"report": outcome.report} if self.asked.report else {})

    def state(self) -> dict[str, Any]:
        """What its client sees of it while it runs."""
        fields: dict[str, Any] = {
            "id": self.id,
            "sql": self.asked.sql,
            "began": round(self.began, 3),
            "stopped": self.stopped,
            "phase": "preparing",
        }
        return fields if self.execution is None else fields | progress_of(self.execution.snapshot())


def progress_of(snapshot: Snapshot) -> dict[str, Any]:
    """How far a query is."""
    return {
        "phase": snapshot.phase,
        "elapsed_s": round(snapshot.elapsed_s, 3),
        "rows": snapshot.rows,
        "requests": sum(one.requests for one in snapshot.access),
        "in_flight": sum(one.in_flight for one in snapshot.access),
        "missing": len(snapshot.missing),
        "access": [
            {"name": one.name, "state": one.state, "requests": one.requests, "rows": one.rows}
            for one in snapshot.access
        ],
    }


class Queries:
    """The queries of all clients over one federation. A client sees and stops its own alone."""

    def __init__(self, federation: Federation, limits: ServeLimits) -> None:
        self.federation = federation
        self.limits = limits
        self.closing = False  # no further ones
        self._running: dict[str, ServedQuery] = {}
        self._ends: OrderedDict[str, tuple[str, dict[str, Any]]] = OrderedDict()

    def of(self, client: str) -> list[ServedQuery]:
        """Those of a client that are under way."""
        return [one for one in self._running.values() if one.client == client]

    def find(self, client: str, query: str) -> ServedQuery | None:
        """One of a client that is under way."""
        served = self._running.get(query)
        return served if served is not None and served.client == client else None

    def ended(self, client: str, query: str) -> dict[str, Any] | None:
        """How one of a client ended, where that is still known."""
        whose, end = self._ends.get(query, (None, None))
        return end if whose == client else None

    @property
    def running(self) -> Sequence[ServedQuery]:
        """All that are under way."""
        return list(self._running.values())

    def _beside_others(
        self, prepared: Prepared, options: RunOptions, budget: Budget | None
    ) -> AbstractAsyncContextManager[None]:
        """Who has a budget pays for its requests alone, and who is in haste waits for nobody."""
        in_haste = options.deadline is not None and options.deadline < _PATIENT_S
        return contextlib.nullcontext() if budget or in_haste else self.federation.gathered(prepared)

    @asynccontextmanager
    async def begun(
        self, client: str, asked: AskedQuery, *, connection: object, refresh: bool = False
    ) -> AsyncIterator[ServedQuery]:
        """A query of a client, ready to run; it counts as under way until the context is left.

        Clients take turns at the limits of sources, and those that share a token by their connections.
        Raises QueryError, UsageError, SourceError, TooManyQueries.
        """
        if len(self.of(client)) >= self.limits.concurrent:
            raise TooManyQueries(
                f"{self.limits.concurrent} queries are under way, which is all that a client may have",
                hint="wait for one to end, or stop one: DELETE /v1/queries/ID",
            )
        query = ServedQuery(client, asked)
        budget = Budget.of(asked.options.max_requests, asked.options.budget)
        self._running[query.id] = query
        ASKER.set(client or f"connection {id(connection)}")  # of all that this task sends
        try:
            try:
                async with asyncio.timeout(asked.options.deadline):
                    await self.federation.discover(asked.sql, budget)
            except TimeoutError as error:
                raise SourceError(
                    "nothing was learnt of the tables before the deadline", hint="grant more time: deadline"
                ) from error
            prepared = self.federation.prepare(asked.sql, asked.params, asked.options.prioritize)
            options = replace(asked.options, refresh=refresh)
            query.forewarned = over_budget([self.federation.forecast(prepared)], budget) if budget else ()
            async with self._beside_others(prepared, options, budget):
                query.execution = self.federation.execute(prepared, options, budget)
                if query.stopped:
                    query.execution.interrupt()
                yield query
        except QueryError as error:
            asked.place(error)
            raise
        finally:
            del self._running[query.id]
            if query.error is not None:
                self._ends[query.id] = (client, {"complete": False, "error": query.error})
            elif query.outcome is not None:
                self._ends[query.id] = (client, query.end())
            while len(self._ends) > _ENDS_KEPT:
                self._ends.popitem(last=False)
