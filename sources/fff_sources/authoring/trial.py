"""A spec tried out against its server: its `tests`, and every access method of its tables with as few requests as will do.

Of a scan the first two pages are read; of a lookup one key, or two where a request takes several. Keys come
from rows that scans brought, from constants in the tests, and from columns of the same name in other tables.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fff.catalog import Catalog, Keys, LookupMethod, Page, ScanMethod, Table
from fff.errors import FFFError, SourceError
from fff.federation import Federation, RunOptions
from fff.sql import table_names
from fff.stats import AccessMeter
from fff_sources.authoring.evidence import Witness, endpoint_of, paging_problems, paging_remarks

Row = dict[str, Any]

_PAGES = 2  # of a scan
_KEPT = 1_000  # rows of a scan that keys are taken from
_ENOUGH = 2  # rows from which a column that is always NULL is worth a word


@dataclass
class Finding:
    """What trying one thing showed.

    `problems` are wrong, `remarks` may be; `answered`: whether the source answered at all.
    """

    name: str
    requests: int = 0
    rows: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    answered: bool = True

    @property
    def status(self) -> str:
        """`ok`, `look` or `fail`."""
        return "fail" if self.problems else "look" if self.remarks else "ok"


class SpecTrial:
    """Tries tables out, one request after the other.

    Args:
        catalog: made with `client`.
        client: sees what goes over the wire.
        sources: the sources that are tried, with the statements under their `tests`.
    """

    def __init__(self, catalog: Catalog, client: Witness, sources: dict[str, Sequence[str]]) -> None:
        self._catalog = catalog
        self._client = client
        self._sources = sources
        self._federation = Federation(catalog, client)
        self._rows: dict[str, list[Row]] = {}
        self._constants: dict[tuple[str, str], list[tuple[object, ...]]] = {}

    @property
    def tables(self) -> list[Table]:
        """The tables of the sources that are tried; the rest of the catalog is not even loaded."""
        adapters = [adapter for adapter in self._catalog.adapters if adapter.name in self._sources]
        return [table for adapter in adapters for table in adapter.tables]

    async def run(self, only: Table | None = None) -> AsyncIterator[Finding]:
        """Everything, or what has to do with one table: tests first, since they bring keys, then scans, then lookups."""
        for source, statements in self._sources.items():
            for number, sql in enumerate(statements):
                if only is None or self._names(sql, only):
                    yield await self._test(f"{source}.tests[{number}]", sql)
        tables = [table for table in self.tables if only is None or table.full_name == only.full_name]
        discovered: list[Table] = []
        for table in tables:
            finding = await self._discover(table)
            if finding is not None:
                yield finding
            else:
                [known] = self._catalog.find([table.source, table.name])
                discovered.append(known)
        for table in discovered:
            for scan in table.usable_scans:  # those that need a condition are tried by tests alone
                yield await self._scan(table, scan)
        for table in discovered:
            for lookup in table.lookups:
                yield await self._lookup(table, lookup)

    async def close(self) -> None:
        """Close the connections, and Spark where a test has started it."""
        await self._federation.close()

    # -------------------------------------------------------------------------------------------------- tests

    def _names(self, sql: str, table: Table) -> bool:
        with contextlib.suppress(FFFError):  # which _test tells when it comes to it
            return any(means(".".join(name), table) for name in table_names(sql))
        return True

    async def _test(self, name: str, sql: str) -> Finding:
        finding = Finding(f"{name}: {sql}")
        self._client.begin()
        began, before = time.perf_counter(), self._client.requests_sent
        try:
            await self._federation.discover(sql)
            prepared = self._federation.prepare(sql)
            for block in prepared.blocks:
                for binding in block.bindings:
                    values = [key.values for key in binding.keys]
                    if all(values):
                        table = block.tables[block.plan.aliases[binding.alias].table]
                        keys = zip(*(value or () for value in values), strict=False)
                        self._constants.setdefault((table.full_name, binding.method), []).extend(keys)
            execution = self._federation.execute(prepared, RunOptions(on_source_error="fail"))
            async for batch in execution.batches():
                finding.rows += batch.num_rows
            outcome = execution.outcome
            finding.remarks += outcome.warnings
            if outcome.exit_code:
                finding.problems.append(outcome.reason or "no complete answer")
                finding.answered = not self._client.unanswered
            elif not finding.rows:
                finding.remarks.append("no rows: a test should find some")
        except FFFError as error:
            finding.problems.append(error.render())
            finding.answered = not (isinstance(error, SourceError) and self._client.unanswered)
        finding.requests = self._client.requests_sent - before
        finding.seconds = time.perf_counter() - began
        return finding

    # ------------------------------------------------------------------------------------------------- tables

    async def _discover(self, table: Table) -> Finding | None:
        """What went wrong in learning the columns of a table that declares none; None where they are known.

        A draft is told of in place of being asked.
        """
        if table.unfinished:
            return Finding(table.full_name, problems=[f"a draft: {table.unfinished}"])
        if table.columns:
            return None
        finding = Finding(f"{table.full_name} columns")
        async with self._tried(finding):
            await self._catalog.discover([table])
        return finding if finding.problems else None

    async def _scan(self, table: Table, method: ScanMethod) -> Finding:
        finding = Finding(f"{table.source}.{method.name}")
        adapter = self._catalog.adapter_of(table)
        names = [column.name for column in table.columns]
        meter = AccessMeter()
        rows: list[Row] = []
        first_page = 0

        def pages(columns: Sequence[str], meter: AccessMeter) -> AsyncGenerator[Page]:
            return adapter.scan(table, method, columns, meter=meter, window=1)  # type: ignore[return-value]

        async with self._tried(finding, meter), contextlib.aclosing(pages(names, meter)) as read:
            async for page in read:
                if page.error is not None:
                    raise page.error
                if len(self._client.answers) <= 1:
                    first_page += page.rows.num_rows
                finding.rows += page.rows.num_rows
                finding.remarks += [page.truncated] if page.truncated is not None else []
                rows += page.rows.slice(0, max(0, _KEPT - len(rows))).to_pylist()
                if len(self._client.answers) >= _PAGES:
                    break
        if finding.problems and self._client.answers:
            finding.problems = await self._by_column(names, pages) or finding.problems
        endpoint = endpoint_of(method)
        if endpoint is not None:
            finding.problems += paging_problems(endpoint, self._client.answers)
            finding.remarks += paging_remarks(endpoint, self._client.answers, first_page)
        if not finding.rows and not finding.problems:
            finding.remarks.append("no rows, so that nothing could be looked at")
        self._look_at(table, rows, finding, meter)
        self._rows.setdefault(table.full_name, []).extend(rows)
        return finding

    async def _by_column(self, names: Sequence[str], pages: Any) -> list[str]:
        """Each column read alone from the answers that came: everything that does not fit, not only the first."""
        self._client.replaying = True
        values: list[str] = []
        for name in names:
            try:
                async with contextlib.aclosing(pages([name], AccessMeter())) as read:
                    async for _ in read:
                        if len(self._client.answers) >= _PAGES:
                            break
            except SourceError as error:
                if error.reason not in values:
                    values.append(error.reason)
        return values if len(values) > 1 else []

    async def _lookup(self, table: Table, method: LookupMethod) -> Finding:
        finding = Finding(f"{table.source}.{method.name}")
        wanted = 2 if method.batch_size > 1 else 1
        keys, certain = self._keys(table, method, wanted)
        if not keys:
            finding.remarks.append(
                f"not tried: no value for {', '.join(method.keys)} is known; add a test with one to `tests`"
            )
            return finding
        adapter = self._catalog.adapter_of(table)
        names = [column.name for column in table.columns]
        meter = AccessMeter()
        rows: list[Row] = []
        async with self._tried(finding, meter):
            async for page in adapter.lookup(table, method, names, keys, meter=meter):
                finding.rows += page.rows.num_rows
                finding.remarks += [page.truncated] if page.truncated is not None else []
                rows += page.rows.slice(0, max(0, _KEPT - len(rows))).to_pylist()
        if not finding.problems:
            self._compare(method, keys, rows, finding, certain=certain)
        self._look_at(table, rows, finding, meter)
        return finding

    def _keys(self, table: Table, method: LookupMethod, count: int) -> tuple[list[tuple[object, ...]], bool]:
        """Keys to try, and whether rows with them are known to be there."""
        own = _distinct(self._rows.get(table.full_name, ()), method.keys, count)
        if len(own) == count:
            return own, True
        constants = list(dict.fromkeys(self._constants.get((table.full_name, method.name), ())))[:count]
        if constants:
            return constants, False
        for name, rows in self._rows.items():
            if name != table.full_name and (distinct := _distinct(rows, method.keys, count)):
                return distinct, False
        return own, bool(own)

    def _compare(
        self,
        method: LookupMethod,
        keys: Keys,
        rows: list[Row],
        finding: Finding,
        *,
        certain: bool,
    ) -> None:
        """Whether the rows are those asked for."""
        asked = ", ".join(map(_shown, keys))
        if not rows:
            text = f"no rows for {asked}"
            (finding.problems if certain else finding.remarks).append(
                text + (", which the scan has" if certain else "")
            )
            return
        got = {tuple(row[name] for name in method.keys) for row in rows}
        strange = [key for key in got if key not in keys]
        folded = {_folded(key) for key in keys}
        if any(_folded(key) not in folded for key in strange):
            other = next(key for key in strange if _folded(key) not in folded)
            finding.problems.append(
                f"asked for {asked}, and rows of {_shown(other)} came: the source seems to ignore the key"
            )
        elif strange:
            finding.remarks.append(
                f"asked for {asked}, and {_shown(strange[0])} came: the source takes no notice of case"
            )
        missing = [key for key in keys if _folded(key) not in {_folded(one) for one in got}]
        if missing and certain:
            finding.problems.append(
                f"no rows for {_shown(missing[0])}, which the scan has, among {len(keys)} keys in one request"
            )

    # ------------------------------------------------------------------------------------------------- shared

    @contextlib.asynccontextmanager
    async def _tried(self, finding: Finding, meter: AccessMeter | None = None) -> AsyncIterator[None]:
        """Count, time, and turn what goes wrong into a problem."""
        self._client.begin()
        began, before = time.perf_counter(), self._client.requests_sent
        try:
            yield
        except FFFError as error:
            reason = error.reason if isinstance(error, SourceError) else error.message
            finding.problems.append(reason if error.hint is None else f"{reason}; {error.hint}")
            finding.answered = not self._client.unanswered
        finally:
            finding.requests = self._client.requests_sent - before
            finding.seconds = time.perf_counter() - began
            if meter is not None:
                missed = {message for _, message in meter.missed.values()}
                finding.remarks += [text for text in meter.warnings if text not in missed]

    def _look_at(self, table: Table, rows: list[Row], finding: Finding, meter: AccessMeter) -> None:
        """What the rows say against the declared columns."""
        if meter.bad_records:
            finding.problems.append(f"{meter.bad_records} records do not fit the declared types")
        if len(rows) < _ENOUGH:
            return
        nulls = [column.name for column in table.columns if all(row[column.name] is None for row in rows)]
        if not nulls:
            return
        keys = {*table.primary_key, *(name for method in table.lookups for name in method.keys)}
        text = f"always NULL in {len(rows):,} rows: {', '.join(nulls)}; is each path right?"
        if len(nulls) == len(table.columns) or keys & {*nulls}:
            finding.problems.append(text)
        else:
            finding.remarks.append(text)


def means(name: str, table: Table) -> bool:
    """Whether a name, with or without its source, may mean the table."""
    return name.lower() in (table.name.lower(), table.full_name.lower())


def _distinct(rows: Sequence[Row], names: Sequence[str], count: int) -> list[tuple[object, ...]]:
    """The first keys of rows, none of them NULL, as they are named in any case."""
    distinct: dict[tuple[object, ...], None] = {}
    for row in rows:
        lowered = {name.lower(): value for name, value in row.items()}
        key = tuple(lowered.get(name.lower()) for name in names)
        if None not in key and "" not in key:
            distinct[key] = None
        if len(distinct) == count:
            break
    return list(distinct)


def _folded(key: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(str(value).casefold() for value in key)


def _shown(key: tuple[object, ...]) -> str:
    return ", ".join(repr(value) if isinstance(value, str) else str(value) for value in key)
