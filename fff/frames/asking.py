"""What one task of a lookup does: it asks for its keys by an eddy of its own, and says which were not answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.access.checked import open_source
from fff.catalog import Catalog, Key, Keys, LookupMethod, Page, ScanMethod, SourceAdapter, Table
from fff.dataflow.plan.extents import quoted
from fff.errors import InfeasibleQuery, InvariantError, QueryError, SourceError
from fff.federation import Federation
from fff.frames.attempts import TaskAttempt, attempt, new_job
from fff.frames.ceiling import CeilingAddress
from fff.functions import SOURCE, Frame
from fff.functions.frames import PAGE
from fff.functions.judging import findable
from fff.opening import open_federation
from fff.options import RunOptions, SpecText
from fff.schema import schema_of
from fff.sql.syntax.statement import quote
from fff.stats import MORE_KEYS, AccessMeter, Missing
from fff.structs import replace
from fff.web.client import WebClient

ArrowSchema: TypeAlias = pa.Schema
ArrowTable: TypeAlias = pa.Table
RecordBatch: TypeAlias = pa.RecordBatch

_KEYS = "fff_keys"  # what the statement of a task calls the table of its keys
_NO_ANSWER = "it was not answered"


@dataclass(frozen=True)
class KeyQuestion:
    """Which columns of a table are wanted for which keys. Can be pickled, and holds no secret that specs do not.

    Args:
        specs: where the table is found.
        table: its name.
        on: its columns that keys are values of, as the table has them.
        columns: its columns that are wanted.
        tasks: how many such questions are asked side by side, under the same ceilings.
        options: how the statement is run.
        job: the name of this lookup.
        ceiling: where its tasks lease their requests, in place of shares.
    """

    specs: tuple[SpecText, ...] = field(repr=False)
    table: str
    on: tuple[str, ...]
    columns: tuple[str, ...]
    tasks: int
    options: RunOptions
    job: str = field(default_factory=new_job)
    ceiling: CeilingAddress | None = None

    @property
    def sql(self) -> str:
        """The statement. A key that was answered has a row at least, one that was not answered at all has none."""
        keys = [f"k.{name}" for name in self.key_names]
        has_row = f"t.{quote(self.on[0])} IS NOT NULL"
        chosen = [*keys, *(f"t.{quote(name)} AS c{place}" for place, name in enumerate(self.columns))]
        where = " AND ".join(f"t.{quote(name)} = {key}" for name, key in zip(self.on, keys, strict=True))
        return (
            f"SELECT {', '.join(chosen)}, {has_row} AS found"  # noqa: S608 - names, quoted
            f" FROM {SOURCE}.{_KEYS} AS k LEFT JOIN {quoted_name(self.table)} AS t ON {where}"
        )

    @property
    def key_names(self) -> list[str]:
        """What the columns of keys are called in between."""
        return [f"k{place}" for place in range(len(self.on))]

    def check_lookups(self, table: Table) -> None:
        """Raises InfeasibleQuery where no lookup is by these columns."""
        wanted = {name.lower() for name in self.on}
        if not any({key.lower() for key in method.keys} <= wanted for method in table.lookups):
            known = sorted({" and ".join(method.keys) for method in table.lookups})
            raise InfeasibleQuery(
                f"{table.full_name} cannot be looked up by {' and '.join(self.on)}",
                hint=f"it can be by {' or '.join(known)}"
                if known
                else 'it has no lookups: read it with spark.read.format("fff"), and join',
            )

    def check(self, adapter: SourceAdapter, table: Table, keys: ArrowSchema) -> None:
        """Raises QueryError where such keys cannot be asked for."""
        frame = Frame.of(_KEYS, keys.empty_table().rename_columns(self.key_names))
        federation = over_lookups(adapter, table, frame, WebClient())
        if federation.prepare(self.sql).upper is not None:
            raise QueryError(
                f"keys of type {' and '.join(map(str, keys.types))} cannot be compared with "
                f"{' and '.join(self.on)} of {table.full_name}",
                hint="cast the columns of the frame to the types of the table",
            )

    def answers(self, batches: Iterable[RecordBatch], schema: ArrowSchema) -> Iterator[RecordBatch]:
        """The rows of each key, or one without values: keys, columns, whether there is a row, what is missing.

        Raises what makes asking impossible, as a secret that cannot be found. Of keys that could not be asked
        for, or were not answered in full, the last column says why.
        """
        some = list(batches)
        keys = pa.Table.from_batches(some) if some else None
        with attempt(self.job, self.tasks, self.ceiling) as this:
            if keys is None or not keys.num_rows:
                asyncio.run(this.client.close())  # its share is for the others
                return
            frame = Frame.of(_KEYS, keys.rename_columns(self.key_names))
            rows, lookups, missing = asyncio.run(self._asked(frame, this))
            table = _told(frame.rows, rows, self._reasons(frame.rows, rows, lookups, missing))
            columns = [column.cast(one.type) for column, one in zip(table.columns, schema, strict=True)]
            yield from pa.Table.from_arrays(columns, schema=schema).to_batches(max_chunksize=PAGE)

    def checked(self, batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        """The same rows; raises SourceError where they say of a key that it was not answered."""
        for batch in batches:
            bad = batch.filter(pc.is_valid(batch.columns[-1]))
            if bad.num_rows:
                row = [column[0].as_py() for column in bad.columns]
                key = " AND ".join(f"{name} = {quoted(row[place])}" for place, name in enumerate(self.on))
                raise SourceError(
                    f"{self.table} was not read in full: {key}: {row[-1]}",
                    hint='lookup(…, missing="column") says of each row whether its key was answered',
                )
            yield batch

    async def _asked(
        self, frame: Frame, this: TaskAttempt
    ) -> tuple[ArrowTable, Sequence[LookupMethod], Sequence[Missing]]:
        """The rows of the statement, the lookups there are, and what was not answered."""
        # What other tasks keep on the disk of this machine at the same time would be in the way.
        kept = False if this.folder is None else None
        whole = open_federation(self.specs, client=this.client, cache=kept, checkpoint=this.folder)
        try:
            table = await discovered_table(whole, self.table)
            redact = this.client.redactor.text
            adapter = open_source(table, whole.catalog.adapter_of(table), whole.cache, redact=redact)
            federation = over_lookups(adapter, table, frame, this.client)
            execution = federation.execute(federation.prepare(self.sql), self.options)
            batches: list[RecordBatch] = []
            try:
                batches = [batch async for batch in execution.batches()]
                outcome = execution.outcome
                missing = list(outcome.missing)
                if not outcome.complete and not missing:
                    missing = [Missing(table.full_name, "true", outcome.reason or _NO_ANSWER)]
            except SourceError as error:  # no key at all could be asked for
                missing = [Missing(table.full_name, "true", error.message)]
            if not batches:
                fields = execution.prepared.result.fields if execution.prepared.result is not None else ()
                schema = schema_of(fields)
                return schema.empty_table(), table.lookups, missing
            return pa.Table.from_batches(batches), table.lookups, missing
        finally:
            await whole.close()

    def _reasons(
        self,
        keys: ArrowTable,
        rows: ArrowTable,
        lookups: Sequence[LookupMethod],
        missing: Sequence[Missing],
    ) -> dict[Key, str]:
        """The keys that were not answered in full, each with the reason: where in doubt, all of them."""
        reason_of = {part.predicate: part.reason for part in missing}
        keys_with_rows = set(_tuples(rows.select(self.key_names)))
        predicates = {key: self._predicates(key, lookups) for key in _tuples(keys)}
        reasons: dict[Key, str] = {}
        used: set[str] = set()
        silent: list[Key] = []
        for key, some in predicates.items():
            known = [text for text in some if text in reason_of]
            used |= set(known)
            if known:
                reasons[key] = reason_of[known[0]]
            elif key not in keys_with_rows:
                silent.append(key)
        rest = [part for part in missing if part.predicate not in used]
        why = "; ".join(dict.fromkeys(part.reason for part in rest)) or _NO_ANSWER
        reasons |= dict.fromkeys(silent, why)
        counted = [part.keys for part in rest if part.predicate.endswith(MORE_KEYS)]
        # Parts beyond those that are listed are counted. If they are as many as the requests that keys
        # without a row stand for, it is those, and other keys of these requests have only some of their rows.
        unsaid = {text for key in silent for text in predicates[key]}
        unclear = sum(counted) > len(unsaid) or any(len(predicates[key]) > 1 for key in silent)
        if len(counted) < len(rest) or (counted and unclear):
            reasons = dict.fromkeys(predicates, why) | reasons
        elif counted:
            halves = [key for key, some in predicates.items() if some & unsaid]
            reasons = dict.fromkeys(halves, why) | reasons
        return reasons

    def _predicates(self, key: Key, lookups: Sequence[LookupMethod]) -> set[str]:
        """How a run says that a key was not answered."""
        values = {name.lower(): quoted(value) for name, value in zip(self.on, key, strict=True)}
        return {
            " AND ".join(f"{name} = {values[name.lower()]}" for name in method.keys)
            for method in lookups
            if {name.lower() for name in method.keys} <= values.keys()
        }


async def discovered_table(federation: Federation, name: str) -> Table:
    """The table of that name, with its columns. Raises QueryError, SourceError."""
    sql = f"SELECT 1 FROM {quoted_name(name)}"  # noqa: S608 - quoted
    await federation.discover(sql)
    matches = federation.catalog.find([part.strip("`") for part in name.split(".")])
    if len(matches) != 1:
        federation.prepare(sql)  # says what is wrong
    return matches[0]


def quoted_name(table: str) -> str:
    """A table's name as SQL takes it."""
    return ".".join(quote(part.strip("`")) for part in table.split("."))


def over_lookups(adapter: SourceAdapter, table: Table, frame: Frame, client: WebClient) -> Federation:
    """A federation of a frame of keys and of a table that is read by its lookups alone; closes nothing.

    A scan would bring each task what all have asked for.
    """
    catalog = Catalog()
    catalog.add(_LookupsOfSource(adapter, table))
    federation = Federation(catalog, client)
    federation.register_frame(frame)
    return federation


class _LookupsOfSource:
    """A source that has one table, and of that the lookups."""

    def __init__(self, whole: SourceAdapter, table: Table) -> None:
        self.name = whole.name
        self._whole = whole
        self.tables: Sequence[Table] = [replace(table, scans=())]

    def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncIterator[Page]:
        """There is none."""
        del method, columns, meter, window
        raise InvariantError(f"{table.full_name} is read by its lookups")

    def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncIterator[Page]:
        """Every row matching one of the keys."""
        return self._whole.lookup(table, method, columns, keys, meter=meter)

    async def close(self) -> None:
        """The source is closed with the federation it is of."""


def _tuples(table: ArrowTable) -> Iterator[Key]:
    """Keys by which the same ones are found again."""
    return map(findable, zip(*(column.to_pylist() for column in table.columns), strict=True))


def _told(keys: ArrowTable, rows: ArrowTable, reasons: Mapping[Key, str]) -> ArrowTable:
    """The rows with the reasons, and a row for each key that has a reason alone."""
    text, names = pa.string(), keys.column_names
    if not reasons:
        return rows.append_column("missing", pa.nulls(len(rows), text))
    have = list(_tuples(rows.select(names)))
    known = set(have)
    rows = rows.append_column("missing", pa.array([reasons.get(key) for key in have], text))
    bare = [key for key in reasons if key not in known]
    if not bare:
        return rows
    values = {name: list(column) for name, column in zip(names, zip(*bare, strict=True), strict=True)}
    values |= {"found": [False] * len(bare), "missing": [reasons[key] for key in bare]}
    arrays = [
        pa.array(values[field.name], field.type) if field.name in values else pa.nulls(len(bare), field.type)
        for field in rows.schema
    ]
    return pa.concat_tables([rows, pa.Table.from_arrays(arrays, schema=rows.schema)])
