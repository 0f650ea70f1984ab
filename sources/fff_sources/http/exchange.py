"""Questions to a source's host and its answers: requests with credentials, read as pages of rows."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable
from urllib.parse import urlencode, urljoin

from fff.catalog import Keys, Table
from fff.errors import InvariantError, SourceError
from fff.stats import AccessMeter
from fff.structs import replace
from fff.web.types import Credentials, HostPolicy, Request, Response, ResponseMemory, Verdict
from fff_sources.adapter import SourceContext
from fff_sources.http import templates
from fff_sources.http.fetch import Reading
from fff_sources.http.paging.factory import sized
from fff_sources.http.paging.paginators import Ask
from fff_sources.http.request.auth import Authenticator
from fff_sources.http.request.credentials import CredentialPool
from fff_sources.http.request.jobs import SUBMITTED, JobFailedError, done
from fff_sources.http.request.requests import Requests
from fff_sources.http.request.token_store import logins_folder
from fff_sources.http.response.bodies import BodyDecoder, BodyFormat
from fff_sources.http.response.fast import ColumnPlan
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.response.members import Members
from fff_sources.http.response.records import RecordDecoder
from fff_sources.http.response.streaming import Arriving, BodyChangedError, Fetch
from fff_sources.http.response.verdicts import ENVELOPED, Judge, Rules
from fff_sources.http.shaping import BodyError, MalformedJSON, PackedError, unpacked
from fff_sources.http.spec import spec
from fff_sources.http.spec.settings import base_url_variable, host_policy, limiter_name
from fff_sources.http.tables import HttpAccess, PlannedTable, Question, Words

T = TypeVar("T")


class Exchange:
    """Asks the host of one source. Nothing is sent and no secret looked up before the first question.

    Args:
        declared: what the spec says of the host.
        context: of the source.
    """

    def __init__(self, declared: spec.Client, context: SourceContext) -> None:
        self.name = context.name
        self.client = context.client
        self.secrets = context.secrets(escape=templates.escaped)
        overridden = bool(context.environ.get(base_url_variable(context.name)))
        self.whole = host_policy(declared, context.document.folder, overridden=overridden)
        self.policy = self.client.rules(self.whole)
        self._declared = declared
        self.requests = Requests(context, declared, self.secrets, self.policy)
        self._context = context
        self._warning: str | None = None  # that of the context, once it was asked for
        self.memory: ResponseMemory | None = None  # of what was asked for before
        auths: list[spec.Auth | None] = [*declared.credentials] or [declared.auth]
        proofs = [
            Authenticator(
                auth,
                context.secrets(),
                context.client,
                context.name,
                base_url=self._base_url,
                logins=logins_folder(context.environ),
                check_login=context.check_login,
            )
            for auth in auths
        ]
        self.auth = proofs[0]
        self.pool = CredentialPool(proofs, context.client, context.name, base_url=self._base_url)

    def _base_url(self) -> str:
        return self.requests.host().base_url

    @property
    def credentials(self) -> int:
        """How many there are, each with limits of its own."""
        return len(self.pool)

    @property
    def max_in_flight(self) -> int:
        """How many requests the host takes at once, from all credentials together."""
        return self.policy.max_concurrency * self.credentials

    def limited(self, planned: PlannedTable) -> PlannedTable:
        """A table whose methods name what holds their requests back, as other sources of the host do."""

        def limiter(endpoint: object) -> str:
            assert isinstance(endpoint, HttpAccess), "methods of such a source go over HTTP"
            return limiter_name(self._declared, endpoint.endpoint.path)

        scans = tuple(replace(one, limiter=limiter(one.endpoint)) for one in planned.table.scans)
        lookups = tuple(replace(one, limiter=limiter(one.endpoint)) for one in planned.table.lookups)
        return replace(planned, table=replace(planned.table, scans=scans, lookups=lookups))

    def reading(
        self,
        planned: PlannedTable,
        method: str,
        access: HttpAccess,
        columns: Sequence[str],
        keys: Keys,
        *,
        meter: AccessMeter,
        policy: HostPolicy | None = None,
        filled: bool = True,
    ) -> Reading:
        """The pages of the rows of these keys (all rows without any).

        `filled`: rows of one key have it where the answer leaves it out, as they all have what their variant
        says.
        """
        table = planned.table
        if self._warning is None:
            self._warning = self._context.warning()
        if self._warning and self._warning not in meter.warnings:
            meter.warn(self._warning)
        single = filled and len(keys) == 1
        fill = dict(access.variant)
        if single:
            fill |= zip(access.keys, keys[0], strict=True)
        elif keys:
            fill |= zip(access.keys[: access.shared], keys[0], strict=False)
        place = method, tuple(columns), single
        by_position = access.batch is not None and access.batch.answers == "by_position"
        alike = keys and policy is None and table.sort is None and not by_position
        known: Reading | None = planned.readings.get(place) if alike else None
        if known is not None and known.meter is meter and not access.variants:
            fetch = self._fetch(planned, access, columns, keys, meter=meter, judge=known.judge)
            return known.again(fetch, fill or None)
        body = self.reader(planned, method, access, tuple(columns), filled=single)
        if keys and by_position:
            member = planned.paths[access.keys[0]].steps[0].name
            body = body.by_position(member, [templates.json_value(key[0]) for key in keys])
        rules = (*access.endpoint.on_response, *planned.spec.on_response)
        form = access.endpoint.format
        judge: Judge | None = Rules(rules, body.text, form) if rules and form in ENVELOPED else None
        if judge is None and isinstance(access.words, JudgingWords):
            judge = access.words.verdict
        reading = Reading(
            source=self.name,
            table=table.name,
            endpoint=sized(access.endpoint, None if keys else table.rows_wanted),
            body=body,
            fetch=self._fetch(planned, access, columns, keys, meter=meter, policy=policy, judge=judge),
            meter=meter,
            judge=judge,
            empty=planned.no_rows,
            shown=self.client.shown,
            redact=self.client.redactor.text,
            filling=partial(planned.redirects[method].filling, apart=bool(access.variant)),
            fill=fill or None,
            variant=access.variant,
            choosing=_choosing(table, access),
            exhaustive=access.exhaustive,
            is_scan=not keys,
            declared=planned.declared and access.words is None,
            order=table.sort or (table.order[0] if table.order else None),
            key=table.primary_key if set(table.primary_key) <= set(columns) else (),
            projected=access.is_projected,
        )
        if alike:
            planned.readings[place] = reading.again(reading.fetch, None)
        return reading

    def reader(
        self,
        planned: PlannedTable,
        method: str,
        access: HttpAccess,
        columns: tuple[str, ...],
        *,
        filled: bool,
    ) -> BodyDecoder:
        """What reads the answers of an access method; kept, as it is costly to make."""
        key = method, columns, filled
        reader = planned.readers.get(key)
        if reader is None:
            plans = []
            for name in columns:
                column = planned.table.column(name)
                if column is None:
                    raise InvariantError(f"{planned.table.full_name} has no column {name}")
                plans.append(ColumnPlan(column, planned.paths[column.name]))
            decoder = RecordDecoder(
                plans,
                planned.spec.on_bad_record,
                frozenset((*(access.keys if filled else access.keys[: access.shared]), *access.variant)),
                _members(planned, access, columns),
                found=planned.found,
            )
            every = [path.steps[0].name for path in planned.paths.values() if path.steps]
            form = replace(form_of(access.endpoint), elements=_elements(planned, access.endpoint))
            reader = planned.readers[key] = BodyDecoder(form, decoder, every)
        return reader

    async def ask(
        self, question: Question, *, meter: AccessMeter, table: str | None = None, post: bool = False
    ) -> Response:
        """The answer to a question about the source itself. Raises SourceError, SecretError."""
        about = PlannedTable(Table(self.name, table or "", ()), spec.TableSpec(), {})
        access = HttpAccess(spec.Endpoint(path="", method="POST" if post else "GET"))
        response = await self._fetch(about, access, (), (), meter=meter, question=question)(Ask())
        if not response.body.strip():
            raise self.problem("the answer is empty", response, table)
        return response

    def problem(
        self, message: str, response: Response, table: str | None = None, hint: str | None = None
    ) -> SourceError:
        """An error about an answer, without secrets."""
        return SourceError(
            self.client.redactor.text(message),
            source=self.name,
            table=table,
            url=self.client.shown(response.url),
            hint=hint,
        )

    def unpacked(
        self, response: Response, packed: spec.Packed, access: HttpAccess, planned: PlannedTable
    ) -> Response:
        """An answer whose body is decoded as the spec says. Raises SourceError."""
        try:
            body = unpacked(response.body, packed, access.endpoint.format, self.policy)
        except (PackedError, MalformedJSON, BodyError, UnicodeDecodeError) as error:
            message = f"the answer cannot be decoded ({', '.join(packed.steps)}): {error}"
            raise self.problem(message, response, planned.table.name) from None
        return replace(response, body=body)

    def _fetch(
        self,
        planned: PlannedTable,
        access: HttpAccess,
        columns: Sequence[str],
        keys: Keys,
        *,
        meter: AccessMeter,
        policy: HostPolicy | None = None,
        judge: Judge | None = None,
        question: Question | None = None,
    ) -> Fetch:
        """Sends what an access method asks, or a question in its place."""
        send = _Asked(self, planned, access, columns, keys, meter, policy, judge, question)
        return send if access.endpoint.job is None or question is not None else self._submitted(send)

    def _submitted(self, send: _Asked) -> Fetch:
        """Asks for what a job has made, once it is over."""
        job, place, meter = send.access.endpoint.job, "", send.meter

        async def fetch(ask: Ask, arriving: Arriving | None = None) -> Response:
            nonlocal place
            assert job is not None, "else nothing is to be waited for"
            if not place:
                submitted = await send(Ask())
                get = partial(self.ask, meter=meter, table=send.planned.table.name)
                try:
                    place = await done(
                        job, submitted, lambda path: get(Question(path, accept=SUBMITTED)), self.client.clock
                    )
                except JobFailedError as error:
                    raise self.problem(str(error), submitted, send.planned.table.name, error.hint) from None
            if ask.url is None:
                url = urljoin(f"{self.requests.host().base_url.rstrip('/')}/", place)
                params = urlencode(ask.params)
                url += f"{'&' if '?' in url else '?'}{params}" if params else ""
                ask = replace(ask, url=url, method="GET", origin=self.requests.host().base_url)
            return await send(ask, arriving)

        return fetch


@runtime_checkable
class MendingWords(Words, Protocol):
    """Words of a service whose answers are not quite of their format."""

    def mended(self, body: bytes, meter: AccessMeter) -> bytes:
        """The same answer, as its format has it; what is lost by that is told."""


@runtime_checkable
class JudgingWords(Words, Protocol):
    """Words of a service that says with a status of success that it refuses."""

    def verdict(self, response: Response) -> Verdict | None:
        """What an answer says of itself."""


@runtime_checkable
class MarkedWords(Words, Protocol):
    """Words that may ask for a member which is no column: what has it is a record, whatever it lacks."""

    mark: ClassVar[str]


class _Asked:
    """Sends what an access method asks for some keys, or a question in its place.

    No closures: every key has one of these.
    """

    __slots__ = (
        "_columns", "_exchange", "_judge", "_keys", "_policy", "_question", "access", "meter", "planned",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917 - of one caller
        self,
        exchange: Exchange,
        planned: PlannedTable,
        access: HttpAccess,
        columns: Sequence[str],
        keys: Keys,
        meter: AccessMeter,
        policy: HostPolicy | None,
        judge: Judge | None,
        question: Question | None,
    ) -> None:
        self._exchange = exchange
        self.planned = planned
        self.access = access
        self._columns = columns
        self._keys = keys
        self.meter = meter
        self._policy = policy
        self._judge = judge
        self._question = question

    async def __call__(self, ask: Ask, arriving: Arriving | None = None) -> Response:
        exchange, planned, access = self._exchange, self.planned, self.access
        try:
            response = await exchange.pool.answer(
                partial(self._request, ask, arriving), exchange.policy, self.meter
            )
            bare = response.status in planned.no_rows
            wrong = bare and response.status >= HTTPStatus.BAD_REQUEST
            if wrong and not (self._keys or self.meter.pages or planned.table.quals or access.variant):
                self.meter.warn(
                    f"{exchange.name}.{planned.table.name}: the scan was answered by HTTP {response.status} alone, "
                    "which on_status takes for no rows: check the path"
                )
            packed = None if bare else access.endpoint.decode
            if packed is not None and response.body:
                response = exchange.unpacked(response, packed, access, planned)
            if arriving is not None:
                arriving.check(response)
        except BodyChangedError as error:
            raise SourceError(str(error), source=exchange.name, table=planned.table.name) from None
        if access.words is None:
            return response
        if (failure := access.words.failure(response)) is not None:
            raise exchange.problem(failure, response, planned.table.name)
        if isinstance(access.words, MendingWords):
            response = replace(response, body=access.words.mended(response.body, self.meter))
        return response

    def _request(self, ask: Ask, arriving: Arriving | None, proof: Credentials, yields: bool) -> Request:
        exchange, policy, judge = self._exchange, self._policy, self._judge
        request = exchange.requests.of(
            self.planned,
            self.access,
            self._keys,
            ask,
            columns=self._columns,
            credentials=proof,
            memory=exchange.memory,
            question=self._question,
        )
        if arriving is not None:
            arriving.url = request.url
        if policy is None and arriving is None and judge is None and not yields:
            return request
        policed = request.policy
        if policy is not None:
            policed = policy if policed is exchange.policy else policy.elsewhere
        return replace(request, policy=policed, arrivals=arriving, judge=judge, yields=yields)


def form_of(endpoint: spec.Endpoint) -> BodyFormat:
    """How an endpoint writes its answers."""
    return BodyFormat(
        endpoint.format,
        parse_path(endpoint.data_selector, endpoint.format),
        endpoint.delimiter,
        columnar=endpoint.layout == "columns",
        headed=endpoint.layout == "header",
        comment=endpoint.comment,
        skip_rows=endpoint.skip_rows,
        encoding=endpoint.encoding,
        may_lack=endpoint.absent == "empty",
        entries=endpoint.layout == "entries",
        explode=() if endpoint.explode is None else parse_path(endpoint.explode).names or (),
    )


def _elements(planned: PlannedTable, endpoint: spec.Endpoint) -> frozenset[str]:
    """The members at which columns of exploded elements start; none where an element may be no object."""
    place = () if endpoint.explode is None else parse_path(endpoint.explode).steps
    if not place or endpoint.format == "xml":
        return frozenset()
    tops = {
        path.steps[len(place) :][:1] for path in planned.paths.values() if path.steps[: len(place)] == place
    }
    names = [top[0].name for top in tops if top and top[0].kind == "name" and not top[0].lone]
    return frozenset(names) if len(names) == len(tops) else frozenset()


def _choosing(table: Table, access: HttpAccess) -> frozenset[str]:
    """The parameters that say which rows are meant: keys, the variant, and what conditions may send."""
    named = {name for name, text in access.endpoint.params.items() if templates.names(text)}
    conditions = {param for key in table.key_columns for _, param in key.sendable if param is not None}
    return frozenset(named | {*access.params.values()} | conditions)


def _members(planned: PlannedTable, access: HttpAccess, columns: Sequence[str]) -> Members | None:
    """What tells a record of the table from any other object; None where paths do not start at a member."""
    paths = [planned.paths[name] for name in planned.table.primary_key if name in planned.paths]
    paths += planned.paths.values()
    tops = [path.steps[0] if path.steps else None for path in paths]
    names = dict.fromkeys(step.name for step in tops if step is not None and step.kind == "name")
    if (
        None in tops
        or any(step is not None and (step.kind != "name" or step.lone) for step in tops)
        or not names
    ):
        return None
    if isinstance(access.words, MarkedWords):
        names[access.words.mark] = None
    if access.is_projected and not columns:
        return None
    steps = [planned.paths[key].steps for key in access.keys if key in planned.paths]
    keys = frozenset(step[0].name for step in steps if step)
    return Members(list(names), bare=access.is_projected, keys=keys)


async def together(questions: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The answers to questions asked side by side, in their order; the first failure ends them all."""
    tasks = [asyncio.ensure_future(question) for question in questions]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
