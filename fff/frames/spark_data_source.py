"""The Spark data source `fff`: a Spark job reads a federated query as it reads any table.

Spark runs this in Python processes of its own: one plans (`schema`, `partitions`), others read, perhaps on
other machines. Each of them opens a connection. pyspark's names come from `fff.spark.bridge`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import pyarrow as pa

from fff.errors import QueryError, SourceError, UsageError
from fff.frames.attempts import attempt, new_job
from fff.frames.ceiling import CeilingAddress
from fff.frames.spark_filters import narrowed, within
from fff.spark.bridge import DataSource, DataSourceReader, InputPartition, arrow_schema, use_this_python
from fff.spark.messages import one_message
from fff.structs import replace

if TYPE_CHECKING:
    from fff.frames.spark_stream import ChangesReader, StreamedTable
    from fff.options import ConnectOptions
    from fff.stats import RunOutcome

RecordBatch: TypeAlias = pa.RecordBatch
T = TypeVar("T")

#: Those of a statement, with how their texts are read.
_STATEMENT: Mapping[str, Callable[[str], object]] = {
    "policy": str,
    "seed": int,
    "deadline": float,
    "max_requests": int,
    "budget": str,
    "memory_limit": str,
    "on_source_error": str,
}
_STREAM = ("poll_interval", "max_rows_per_trigger")
_CEILING = ("ceiling", "ceiling_token")
_OPTIONS = (
    "sources", "query", "table", "path", *_STATEMENT, "partitions", "duplicates", *_CEILING, *_STREAM, "param.NAME",
)  # fmt: skip
#: Seconds between two requests of a stream for what has changed, where nothing else is said.
_POLL_S = 10.0
_PARAM = "param."
#: What plans a read where `spark.sql.python.filterPushdown.enabled` is on. Elsewhere Spark refuses a reader
#: that takes conditions.
_PUSHING = "pyspark.sql.worker.data_source_pushdown_filters"

_log = logging.getLogger("fff")


def spark_data_source() -> type[FFFDataSource]:
    """The data source, for `spark.dataSource.register`: needed only where Spark does not find it by itself.

    It does where FFF is installed in the Python that Spark's workers run, the one that PYSPARK_PYTHON names
    or else the first python3 in PATH. A Spark on this machine is told here to run this Python, unless it has
    been told another one.
    """
    use_this_python()
    return FFFDataSource


@dataclass(frozen=True)
class Job:
    """What one `spark.read` asks for. Its parameters may be secrets and are shown to nobody."""

    sources: tuple[str, ...]
    sql: str
    params: Mapping[str, object] = field(repr=False)
    settings: Mapping[str, Any]
    partitions: int
    ceiling: CeilingAddress | None = None
    keep_duplicates: bool = False  # of rows that share a key, one may come from each task
    job: str = field(default_factory=new_job)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Job:
        """From the options of the reader, whose names are lower case. Raises UsageError, QueryError."""
        for name in options:
            if name not in _OPTIONS and not name.startswith(_PARAM):
                raise UsageError(
                    f"the data source fff has no option {name!r}", hint=f"it has {', '.join(_OPTIONS)}"
                )
        sql = _sql_of(options)
        settings = {
            name: _read(name, read, options[name]) for name, read in _STATEMENT.items() if name in options
        }
        sources = tuple(
            str(Path(part).expanduser().absolute())
            for part in options.get("sources", "").split(os.pathsep)
            if part
        )
        partitions = _read("partitions", int, options.get("partitions", "1"))
        if partitions < 1:
            raise UsageError(f"partitions must be at least 1, not {partitions}")
        duplicates = options.get("duplicates", "drop")
        if duplicates not in ("drop", "keep"):
            raise UsageError(f"duplicates must be drop or keep, not {duplicates!r}")
        ceiling = None
        if options.get("ceiling"):
            ceiling = CeilingAddress.of(options["ceiling"], options.get("ceiling_token", ""))
        return cls(sources, sql, _params(options, sql), settings, partitions, ceiling, duplicates == "keep")

    def columns(self) -> tuple[str, bool]:
        """The columns of the result in Spark's words, and whether conditions on them spare work; reads no table."""
        from fff.api import connect  # noqa: PLC0415 - Spark imports this module wherever a data source is looked for

        with connect(*self.sources, **self.settings) as federation:
            fields = federation.describe(self.sql, self.params)
            spared = not federation.needs_spark(within(self.sql, "true"), self.params)
        seen: set[str] = set()
        for one in fields:
            if one.name.lower() in seen:
                raise QueryError(
                    f"two columns of the query are named {one.name}", hint="name them apart with AS"
                )
            seen.add(one.name.lower())
        return ", ".join(f"`{one.name.replace('`', '``')}` {one.type}" for one in fields), spared

    def streamed(self, options: Mapping[str, str]) -> StreamedTable:
        """The table whose changes a stream gives. Raises UsageError."""
        from fff.frames.spark_stream import StreamedTable  # noqa: PLC0415 - as above

        name = options.get("table") or options.get("path")
        if not name:
            raise UsageError(
                "a stream gives the changes of one table", hint='.load("source.table"), and join in the job'
            )
        limit = options.get("max_rows_per_trigger")
        return StreamedTable(
            self.sources,
            name,
            self.settings,
            None if limit is None else _read("max_rows_per_trigger", int, limit),
            _read("poll_interval", float, options.get("poll_interval", str(_POLL_S))),
            self.partitions,
        )

    def where(self, filters: Sequence[Any]) -> Job:
        """The same for rows alone for which conditions may hold, as those of pyspark.sql.datasource."""
        sql, params = narrowed(self.sql, self.params, filters)
        return replace(self, sql=sql, params=params)

    def parts(self) -> list[Any]:
        """What is read by one task each; one None where a single task reads everything."""
        # A deadline and what may be spent hold for the query, not for each of several readers.
        if self.partitions == 1 or {"deadline", "max_requests", "budget"} & self.settings.keys():
            return [None]
        from fff.api import connect  # noqa: PLC0415

        with connect(*self.sources, **self.settings) as federation:
            parts = federation.divide(
                self.sql, self.params, parts=self.partitions, keep_duplicates=self.keep_duplicates
            )
            return list(parts) or [None]

    def read(self, part: Any, schema: pa.Schema) -> Iterator[RecordBatch]:
        """The rows of a part, in the types Spark expects.

        Raises SourceError also where the answer is incomplete for another reason than a source's failure, a
        deadline say: nobody looks at a report here. With `on_source_error=partial` it is logged instead.
        """
        from fff.api import Connection  # noqa: PLC0415

        options = cast("ConnectOptions", self.settings)
        with attempt(self.job, 1 if part is None else part.of, self.ceiling) as this:
            # All that is read is what one attempt asks: nothing else that is kept is of use to a part.
            folder = None if part is None else this.folder
            with Connection(self.sources, options, this.client, folder) as federation:
                batches = federation.batches(self.sql, self.params, part=part)
                # A job that wants few rows, by `first` or a limit, never comes back for what is said after
                # the last of them, and what Spark makes of an incomplete answer is wrong from the first on.
                judged = False
                for batch in batches:
                    if not judged and batches.settled is not None:
                        self._judge(batches.settled)
                        judged = True
                    yield _cast(batch, schema)
                if not judged:
                    self._judge(batches.outcome)

    def _judge(self, outcome: RunOutcome) -> None:
        """Raise, or log, that an answer is incomplete."""
        if outcome.complete:
            return
        if self.settings.get("on_source_error", "fail") == "fail":
            raise SourceError(
                f"the answer is incomplete: {outcome.reason}",
                hint="read what there is with option on_source_error=partial",
            )
        _log.warning("the answer is incomplete: %s", outcome.reason)


class FFFDataSource(DataSource):  # type: ignore[misc]  # pyspark is not type-checked
    """`spark.read.format("fff")`, with the options of docs/python.md."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "fff"

    #: Whether `schema` was asked, so that columns are called as in the statement and have its types, and
    #: found that conditions spare work. Spark pickles this between its processes.
    takes_filters = False

    def schema(self) -> str:
        """The columns of the result."""
        with one_message():
            columns, self.takes_filters = Job.of(self.options).columns()
            return columns

    def reader(self, schema: Any) -> FFFReader:
        """What reads it."""
        main = getattr(sys.modules.get("__main__"), "__spec__", None)
        pushing = _PUSHING in sys.modules or (main is not None and main.name == _PUSHING)
        kind = FilteringReader if self.takes_filters and pushing else FFFReader
        with one_message():
            return kind(Job.of(self.options), schema)

    def streamReader(self, schema: Any) -> ChangesReader:  # noqa: N802 - Spark's name
        """What reads the changes of a table."""
        from fff.frames.spark_stream import ChangesReader  # noqa: PLC0415 - as above

        with one_message():
            wanted = arrow_schema(schema)
            return ChangesReader(
                Job.of(self.options).streamed(self.options), lambda batch: _cast(batch, wanted)
            )


class FFFReader(DataSourceReader):  # type: ignore[misc]  # pyspark is not type-checked
    """Reads one query, in one or several parts."""

    def __init__(self, job: Job, schema: Any) -> None:
        self._job = job
        self._schema = schema

    def partitions(self) -> list[Any]:
        """The parts, each the work of one task."""
        with one_message():
            return [InputPartition(part) for part in self._job.parts()]

    def read(self, partition: Any) -> Iterator[RecordBatch]:
        """The rows of one part."""
        with one_message():
            yield from self._job.read(partition.value, arrow_schema(self._schema))


class FilteringReader(FFFReader):
    """Reads those rows for which the conditions may hold that a job puts on it."""

    def pushFilters(self, filters: Sequence[Any]) -> Sequence[Any]:  # noqa: N802 - Spark's name
        """Take the conditions along, and have Spark apply them all again: sources may ignore what they are told."""
        self._job = self._job.where(filters)
        return filters


def _sql_of(options: Mapping[str, str]) -> str:
    named = [name for name in ("query", "table", "path") if options.get(name)]
    if len(named) != 1:
        raise UsageError(
            "name either a query or a table",
            hint='.option("query", "SELECT …").load(), or .load("source.table")',
        )
    text = options[named[0]]
    if named == ["query"]:
        return text
    parts = [part.strip("`") for part in text.split(".")]
    return "SELECT * FROM " + ".".join(  # noqa: S608 - quoted as names
        f"`{part.replace('`', '``')}`" for part in parts
    )


def _read(name: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise UsageError(f"{name} must be a number, not {text!r}") from error


def _params(options: Mapping[str, str], sql: str) -> dict[str, object]:
    """Values as the command line reads them. Spark makes options lower case, so names are told by the SQL."""
    from fff.sql.planner.prepare import parameter_names  # noqa: PLC0415
    from fff.sql.syntax.parameters.param_types import inferred, typed  # noqa: PLC0415

    values = {name.removeprefix(_PARAM): text for name, text in options.items() if name.startswith(_PARAM)}
    names = {name.lower(): name for name in parameter_names(sql)} if values else {}
    params: dict[str, object] = {}
    for key, text in values.items():
        lower, _, kind = key.partition(":")
        name = names.get(lower, lower)
        what = f"{_PARAM}{name}"
        params[name] = typed(what, kind, text) if kind else inferred(what, text)
    return params


def _cast(batch: RecordBatch, schema: pa.Schema) -> RecordBatch:
    """The columns that Spark expects, by their names in any case, in its types: both differ where its user said so."""
    names = [name.lower() for name in batch.schema.names]
    columns = []
    for wanted in schema:
        places = [place for place, name in enumerate(names) if name == wanted.name.lower()]
        if len(places) != 1:
            raise UsageError(
                f"the schema given names {wanted.name}, the query has {'two such columns' if places else 'no such column'}",
                hint=f"it has {', '.join(batch.schema.names)}; without a schema FFF says them",
            )
        column = batch.column(places[0])
        try:
            columns.append(column if column.type == wanted.type else column.cast(wanted.type))
        except pa.ArrowException as error:
            raise QueryError(
                f"column {wanted.name} cannot be read as {wanted.type}: {error}",
                hint="leave the schema to FFF",
            ) from error
    if not columns:  # of rows that are only counted
        return batch.select([])
    return pa.RecordBatch.from_arrays(columns, schema=schema)
