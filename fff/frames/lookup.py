"""`fff.lookup`: a Spark frame joined with a web table, whose keys the tasks of the job ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import pyarrow as pa

from fff.api.loop import run_apart
from fff.errors import InfeasibleQuery, UsageError
from fff.frames.asking import KeyQuestion, discovered_table
from fff.frames.ceiling import ceiling_of
from fff.opening import Sources, open_federation
from fff.options import DEFAULT_POLICY, Preference, RunOptions
from fff.schema import ArrowType, spark_type
from fff.spark.messages import one_message

if TYPE_CHECKING:
    from fff.catalog import Table

RecordBatch: TypeAlias = pa.RecordBatch

How = Literal["left", "inner"]
OnMissing = Literal["error", "column"]

#: The column that says why a key was not answered.
MISSING_COLUMN = "_fff_missing"
_TASKS = 8  # where the cluster does not say how many it runs at once
_KEY, _HAS_ROW = "_fff_key", "_fff_found"


def lookup(
    frame: Any,
    table: str,
    *,
    on: str | Sequence[str] | Mapping[str, str],
    how: How = "left",
    columns: Sequence[str] | None = None,
    missing: OnMissing = "error",
    sources: Sources = (),
    partitions: int | None = None,
    policy: str = DEFAULT_POLICY,
    prefer: Preference = "balanced",
) -> Any:
    """A Spark frame with the columns of a web table beside its own: `lookup(df, "town.incomes", on="zip")`.

    Nothing is asked here, but for the columns of a table that declares none. Each action over what comes back
    asks for each distinct key of the frame once, from the tasks of the job; what is `cache()`d is not asked
    for again.

    Args:
        frame: a DataFrame of pyspark, of a session of its own or of Spark Connect.
        table: the name of a table that can be looked up by the columns of `on`.
        on: the columns whose values are the keys, by the names they have in both; else a mapping, from
            those of the frame to those of the table. A row where one is NULL has no match.
        how: `"left"` keeps all rows of the frame, `"inner"` those that have a match.
        columns: which columns of the table are wanted; all but those of `on` unless it is said.
        missing: what becomes of keys that could not be asked for, or were not answered in full: `"error"`
            fails the job; `"column"` keeps their rows, also those of an inner join, and says the reason in
            a column `_fff_missing`, which is NULL for all others.
        sources: spec files and folders, read here; the usual places without any.
        partitions: the tasks that ask side by side; as many as the cluster runs at once unless it is said,
            and never more than the declared ceilings of the host can be shared out among.
        policy: the routing policy of the tasks.
        prefer: time against number of requests, as for `fff.connect`.

    Raises:
        UsageError: no frame of Spark, a column that it does not have, names that both have.
        QueryError: there is no such table, or it cannot be looked up by such keys.
        SpecError: a spec is wrong.
    """
    pairs = _pairs(on)
    for name, value, known in (("how", how, get_args(How)), ("missing", missing, get_args(OnMissing))):
        if value not in known:
            raise UsageError(f"{name} must be {' or '.join(map(repr, known))}, not {value!r}")
    if partitions is not None and partitions < 1:
        raise UsageError(f"partitions must be at least 1, not {partitions}")
    if not hasattr(frame, "mapInArrow"):
        raise UsageError(
            f"{type(frame).__name__} is no frame of Spark",
            hint='fff.sql("SELECT … FROM {frame} JOIN …", frame=frame) takes frames of pandas, polars and Arrow',
        )
    from fff.spark.bridge import arrow_schema, use_this_python  # noqa: PLC0415 - pyspark is imported already

    ours = [_named(name, frame.columns, "the frame") for name in pairs]
    options = RunOptions().overridden({"policy": policy, "prefer": prefer})
    keys = frame.select(*(frame[_quoted(name)].alias(f"{_KEY}{place}") for place, name in enumerate(ours)))

    ceiling = ceiling_of(frame.sparkSession)

    async def plan() -> tuple[KeyQuestion, Table]:
        async with open_federation(sources, cache=False) as federation:
            described = await discovered_table(federation, table)
            named = [_named(name, [one.name for one in described.columns], table) for name in pairs.values()]
            wanted = _wanted(described, named, columns)
            tasks = min(partitions or slots_of(frame.sparkSession), described.most_shares)
            specs = tuple(federation.catalog.specs())
            question = KeyQuestion(
                specs, described.full_name, tuple(named), wanted, tasks, options, ceiling=ceiling
            )
            schema = arrow_schema(keys.schema)
            question.check_lookups(described)
            try:
                question.check(federation.catalog.adapter_of(described), described, schema)
            except InfeasibleQuery as error:
                raise _of_another_type(ours, schema.types, described, named) or error from None
            return question, described

    question, described = run_apart(plan())
    more = (*question.columns, MISSING_COLUMN) if missing == "column" else question.columns
    both = {name.lower() for name in frame.columns} & {name.lower() for name in more}
    if both:
        raise UsageError(
            f"the frame has {' and '.join(sorted(both))} already, as {described.full_name} would bring",
            hint="rename the frame's, or say with columns= which of the table's are wanted",
        )
    use_this_python()
    asked = _asked(keys, question, described)
    if missing == "error":
        asked = _checked(asked, question)
    return _joined(frame, ours, asked, how=how, missing=missing)


def _asked(keys: Any, question: KeyQuestion, table: Table) -> Any:
    """The frame of keys with what the tasks find: keys, columns, whether there is a row, what is missing."""
    from fff.spark.bridge import arrow_schema  # noqa: PLC0415 - pyspark is imported already

    types = [(field.name, field.dataType.simpleString()) for field in keys.schema.fields]
    for name in question.columns:
        column = table.column(name)
        assert column is not None, "it was looked for"
        types.append((name, column.type))
    types += [(_HAS_ROW, "boolean"), (MISSING_COLUMN, "string")]
    nulls = ", ".join(f"CAST(NULL AS {kind}) AS {_quoted(name)}" for name, kind in types)
    schema = keys.sparkSession.sql(f"SELECT {nulls}").schema
    arrow = arrow_schema(schema)

    def ask(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        with one_message():
            yield from question.answers(batches, arrow)

    names = [field.name for field in keys.schema.fields]
    distinct = keys.where(" AND ".join(f"{name} IS NOT NULL" for name in names)).distinct()
    # By a column of its own: an exchange that Spark has chosen by itself, it may choose to make smaller.
    hashed = distinct.selectExpr("*", f"hash({', '.join(names)}) AS {_KEY}")
    return hashed.repartition(question.tasks, _KEY).drop(_KEY).mapInArrow(ask, schema)


def _checked(asked: Any, question: KeyQuestion) -> Any:
    """The same where all keys were answered, else an error of the job.

    No condition says so, for Spark puts others before it that rows without values do not fulfil. Behind an
    exchange, so that a task that fails and is tried again does not ask again.
    """

    def check(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        with one_message():
            yield from question.checked(batches)

    keys = [f"{_KEY}{place}" for place in range(len(question.on))]
    return asked.repartition(question.tasks, *keys).mapInArrow(check, asked.schema)


def _joined(frame: Any, ours: Sequence[str], asked: Any, *, how: How, missing: OnMissing) -> Any:
    """The rows of the frame with what was found for their keys."""
    keys = [f"{_KEY}{place}" for place in range(len(ours))]
    same = (frame[_quoted(name)] == asked[key] for name, key in zip(ours, keys, strict=True))
    joined = frame.join(asked, reduce(and_, same), "left")
    if how == "inner":
        joined = joined.where(asked[_HAS_ROW] | asked[MISSING_COLUMN].isNotNull())
    dropped = [*keys, _HAS_ROW] if missing == "column" else [*keys, _HAS_ROW, MISSING_COLUMN]
    # The frame may have a column of such a name, of a lookup before.
    return joined.drop(*(asked[name] for name in dropped))


def _pairs(on: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Columns of the frame, each with that of the table."""
    named = {on: on} if isinstance(on, str) else dict(on) if isinstance(on, Mapping) else {n: n for n in on}
    if not named:
        raise UsageError("on names no column", hint='on="zip", or on={"postcode": "zip"}')
    return named


def _named(name: str, known: Sequence[str], whose: str) -> str:
    """A column as it is called there, whatever the case."""
    matches = [one for one in known if one.lower() == name.lower()]
    if len(matches) == 1:
        return matches[0]
    what = "two columns" if matches else "no column"
    raise UsageError(f"{whose} has {what} {name}", hint=f"it has {', '.join(known)}")


def _of_another_type(
    ours: Sequence[str], types: Sequence[ArrowType], table: Table, theirs: Sequence[str]
) -> UsageError | None:
    """Which column of a frame has to be cast before a table takes it for a key, if one has."""
    for name, kind, other in zip(ours, types, theirs, strict=True):
        column = table.column(other)
        if column is not None and column.arrow != kind:
            return UsageError(
                f"{name} of the frame is {spark_type(kind)}, {table.full_name}.{column.name} is {column.type}",
                hint=f'cast it first: frame.withColumn("{name}", frame["{name}"].cast("{column.type}"))',
            )
    return None


def _wanted(table: Table, on: Sequence[str], columns: Sequence[str] | None) -> tuple[str, ...]:
    known = [one.name for one in table.columns]
    if columns is None:
        return tuple(name for name in known if name not in on)
    return tuple(_named(name, known, table.full_name) for name in columns)


def slots_of(spark: Any) -> int:
    """How many tasks the cluster runs at once; a server of Spark Connect does not say."""
    context = getattr(spark, "sparkContext", None)
    return int(getattr(context, "defaultParallelism", _TASKS))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
