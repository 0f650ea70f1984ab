"""`fff.read`: a join of several web tables read by the tasks of a Spark job, stage by stage."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from fff.api.loop import run_apart
from fff.dataflow.plan.expressions import columns_of
from fff.errors import QueryError, UsageError
from fff.frames.asking import quoted_name
from fff.frames.ceiling import ceiling_of
from fff.frames.lookup import lookup, slots_of
from fff.opening import Sources, each_source, open_federation
from fff.options import DEFAULT_POLICY, Preference, SpecText
from fff.sql import parameter_names
from fff.sql.plan import BlockQuery, LookupBinding
from fff.sql.scalars.clock import AtMoment, at_moment
from fff.sql.syntax.parameters.param_types import BigInt, plain
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.statement import Node, exp, quote
from fff.structs import lazy_pattern

_HINT = "read it by one task: spark.read.format('fff').option('query', …)"
#: What types of values are called in the options of the data source; whole numbers by their size.
_KINDS: Mapping[type, str] = {bool: "boolean", float: "double", str: "string", dt.date: "date"}
_NUMBER = "_fff_number"
_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z"})
#: What means the same in every time zone over columns that are no moments.
_ZONELESS = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Placeholder, exp.Paren, exp.And, exp.Or,
    exp.Not, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between, exp.Is,
    exp.Like, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Lower, exp.Upper, exp.Length,
)  # fmt: skip
#: So does a date, but for what is called `today`.
_DATE = lazy_pattern(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True)
class ReadStage:
    """One table of a join: read whole, under its own conditions, or looked up by keys that an earlier one has.

    Attributes:
        alias, table: what the statement calls it, and its name.
        columns: those that are needed.
        conditions: of this table alone, as they are written.
        keys: the alias whose rows have the keys, and by column of the table the column of that; None: it is
            read.
        zoned: those of the conditions that may mean something else in another time zone.
        primary_key: columns of which no two rows have the same values.
    """

    alias: str
    table: str
    columns: tuple[str, ...]
    conditions: tuple[str, ...]
    keys: tuple[str, Mapping[str, str]] | None
    zoned: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()


def read(
    text: str,
    params: Mapping[str, object] | None = None,
    /,
    *,
    spark: Any,
    sources: Sources = (),
    partitions: int | None = None,
    policy: str = DEFAULT_POLICY,
    prefer: Preference = "balanced",
) -> Any:
    """A Spark frame of one statement over several web tables, which the tasks of the job read.

    As in `fff.read("SELECT … FROM town.crime JOIN town.incomes …", spark=spark)`.

    Tables that are scanned are divided among tasks by their pages, where those can be asked for one
    by one. For those that are looked up the keys are exchanged between tasks, so that each is asked
    for once. That is done here, table after table; their rows stay with the executors. Spark runs
    the statement over them, as often as the frame is used. What it says of moments is meant in the time zone
    of the session, and `now()` and `current_date()` in conditions are those of the call.

    Args:
        text: one SELECT whose tables are joined by equality; what is above the join is Spark's.
        params: values of its `:name` parameters.
        spark: the session, of its own or of Spark Connect.
        sources: spec files and folders, which the tasks find in the same place; the usual ones without any.
        partitions: the tasks that read side by side; as many as the cluster runs at once unless it is said.
        policy: the routing policy of the tasks.
        prefer: time against number of requests, as for `fff.connect`.

    Raises:
        QueryError: the SQL is wrong, or no such join.
        UsageError: a spec that is not a file, a parameter without a value.
        PySparkException: a source could not be read in full.
    """
    if any(isinstance(one, SpecText) for one in each_source(sources)):
        raise UsageError("sources are files and folders here, which the tasks find in the same place")

    values = {name: plain(name, value) for name, value in (params or {}).items()}
    now = _now(spark) if at_moment(text, dt.datetime.now(dt.UTC), set) else None

    async def plan() -> tuple[AtMoment | None, list[ReadStage]]:
        async with open_federation(sources, cache=False) as federation:
            await federation.discover(text)
            prepared = federation.prepare(text, values)
            if len(prepared.blocks) != 1:
                raise QueryError(
                    "only tables of one FROM clause are read stage by stage", sql=text, hint=_HINT
                )
            block = prepared.only_block
            names = {column.name.lower() for table in block.tables for column in table.columns}
            moment = None if now is None else at_moment(text, now, lambda: names)
            if moment is not None:
                block = federation.prepare(moment.text.sql, values).only_block
            return moment, stages_of(text if moment is None else moment.text.sql, block)

    moment, stages = run_apart(plan())
    args = {name: _argument(value) for name, value in values.items()}
    rows: dict[str, Any] = {}
    for stage in stages:
        if stage.keys is None:
            slots = partitions or slots_of(spark)
            reader = spark.read.format("fff").option("partitions", slots).option("policy", policy)
            if (ceiling := ceiling_of(spark)) is not None:
                reader = reader.options(**ceiling.options)
            if named := [str(one) for one in each_source(sources)]:
                reader = reader.option("sources", os.pathsep.join(named))
            frame = _scanned(stage, reader, values, _pushed(stage, spark))
        else:
            alias, on = stage.keys
            keys = rows[alias].select(
                *(rows[alias][quote(theirs)].alias(ours) for ours, theirs in on.items())
            )
            frame = lookup(
                keys.distinct(), stage.table, on=list(on), how="inner",
                columns=[name for name in stage.columns if name not in on],
                sources=sources, partitions=partitions, policy=policy, prefer=prefer,
            )  # fmt: skip
        # At once: two stages of a job that both want these rows would ask for them side by side.
        rows[stage.alias] = _kept(frame, stage, spark, args).localCheckpoint(eager=True)
    frames = {f"t{place}": rows[stage.alias] for place, stage in enumerate(stages)}
    names = {stage.alias.lower(): f"t{place}" for place, stage in enumerate(stages)}
    if moment is None:
        return spark.sql(over_frames(text, names), args=args or None, **frames)
    found = spark.sql(over_frames(moment.text.sql, names), args=args or None, **frames)
    return found.toDF(*map(moment.name, found.columns))


def stages_of(text: str, block: BlockQuery) -> list[ReadStage]:
    """The tables of a join in the order in which they are read. Raises QueryError where it is no such join."""
    plan = block.plan
    names = [alias.name for alias in plan.aliases]
    written = [node.alias_or_name.lower() for node in parse_statement(text).tree.find_all(exp.Table)]
    tables = [block.tables[alias.table].full_name for alias in plan.aliases]
    twice = next((one for one in tables if tables.count(one) > 1), None)
    if block.feeds or plan.recursion or sorted(written) != sorted(name.lower() for name in names):
        raise QueryError("only tables of one FROM clause are read stage by stage", sql=text, hint=_HINT)
    if twice is not None:
        raise QueryError(f"{twice} is named twice, and would be asked for twice", sql=text, hint=_HINT)
    stages: list[ReadStage] = []
    for place in block.order:
        alias = plan.aliases[place]
        keys = None
        if not alias.active:
            done = {stage.alias for stage in stages}
            known = [_keys(one, done) for one in block.bindings if one.alias == place]
            keys = next((one for one in known if one is not None), None)
            if keys is None:
                raise QueryError(
                    f"the keys of {tables[place]} are not columns of one table before it",
                    sql=text,
                    hint=_HINT,
                )
        own = [
            one.text
            for one in block.conjuncts
            if one.expr is not None and one.on is None and not one.derived and alias.kind == "inner"
            and {column.alias for column in columns_of(one.expr)} == {place}
        ]  # fmt: skip
        fields = plan.tables[alias.table].columns
        moments = {field.name.lower() for field in fields if "tz=" in str(field.arrow)}
        stages.append(
            ReadStage(
                names[place], tables[place], tuple(field.name for field in fields), tuple(own), keys,
                tuple(one for one in own if _is_zoned(one, moments)), block.tables[alias.table].primary_key,
            )
        )  # fmt: skip
    return stages


def _is_zoned(condition: str, moments: set[str]) -> bool:
    """Whether a condition of a table may mean something else in another time zone: all that is not known not to."""
    for node in parse_statement(f"SELECT {condition}").tree.expressions[0].walk(prune=_is_date):
        if not (isinstance(node, _ZONELESS) or _is_date(node)) or (
            isinstance(node, exp.Column) and node.name.lower() in moments
        ):
            return True
    return False


def _is_date(node: Node) -> bool:
    """Whether it is a written date, or a number of days, months or years."""
    if isinstance(node, exp.Interval):
        units = {"DAY", "DAYS", "MONTH", "MONTHS", "YEAR", "YEARS"}
        return node.this.name.isdecimal() and str(node.unit).upper() in units
    return (
        isinstance(node, exp.Cast)
        and node.to.is_type("date")
        and node.this.is_string
        and _DATE.fullmatch(node.this.name) is not None
    )


def over_frames(text: str, names: Mapping[str, str]) -> str:
    """The statement with a name in braces in the place of each table, by what the statement calls that."""
    parts, end = [], 0
    tables = parse_statement(text).tree.find_all(exp.Table)
    for node in sorted(tables, key=lambda one: int(one.this.meta["start"])):
        source = node.args.get("db") or node.this
        alias = "" if node.alias else f" AS {quote(node.name)}"
        parts += [
            _escaped(text[end : source.meta["start"]]),
            f"{{{names[node.alias_or_name.lower()]}}}{alias}",
        ]
        end = node.this.meta["end"] + 1
    return "".join([*parts, _escaped(text[end:])])


def _keys(binding: LookupBinding, done: set[str]) -> tuple[str, dict[str, str]] | None:
    """The alias that has a lookup's keys, and its columns by those of the table."""
    for alias in sorted(done):
        columns = {
            key.column: column.removeprefix(f"{alias}.")
            for key in binding.keys
            for column in key.columns
            if column.startswith(f"{alias}.")
        }
        if len(columns) == len(binding.keys):
            return alias, columns
    return None


def _pushed(stage: ReadStage, spark: Any) -> Sequence[str]:
    """The conditions that mean to FFF, which has ANSI's rules and UTC, what they mean in the session.

    Rows that it drops by others are no rows of the statement that Spark runs.
    """
    setting = spark.conf.get
    if setting("spark.sql.ansi.enabled") != "true" or setting("spark.sql.timestampType") != "TIMESTAMP_LTZ":
        return ()
    if setting("spark.sql.session.timeZone") in _UTC:
        return stage.conditions
    return [one for one in stage.conditions if one not in stage.zoned]


def _scanned(stage: ReadStage, reader: Any, params: Mapping[str, object], conditions: Sequence[str]) -> Any:
    """What the tasks read of a table, its pages divided among them, for some of its conditions."""
    sendable = {name: kind for name, value in params.items() if (kind := _kind(value)) is not None}
    columns = ", ".join(quote(name) for name in stage.columns) or "1 AS `1`"
    sql = f"SELECT {columns} FROM {quoted_name(stage.table)} AS {quote(stage.alias)}"  # noqa: S608 - quoted
    if sent := [f"({one})" for one in conditions if _named(one) <= sendable.keys()]:
        sql += f" WHERE {' AND '.join(sent)}"
    for name in parameter_names(sql):
        reader = reader.option(f"param.{name}:{sendable[name]}", str(params[name]))
    if not stage.primary_key:
        return reader.option("query", sql).load()
    frame = reader.option("query", sql).option("duplicates", "keep").load()
    # A key with a NULL in it is none. Its row has a number of its own.
    nulls = " OR ".join(f"{quote(name)} IS NULL" for name in stage.primary_key)
    numbered = frame.selectExpr("*", f"IF({nulls}, monotonically_increasing_id(), NULL) AS {_NUMBER}")
    return numbered.dropDuplicates([*stage.primary_key, _NUMBER]).drop(_NUMBER)


def _kind(value: object) -> str | None:
    """The type of a value in the options of the data source; None of one that cannot be sent."""
    if isinstance(value, int) and not isinstance(value, bool):
        bits = value.bit_length()
        return "int" if bits < 32 and not isinstance(value, BigInt) else "bigint" if bits < 64 else None
    return _KINDS.get(type(value))


def _argument(value: object) -> object:
    """A value as Spark takes it: whole numbers beyond its bigint are decimals."""
    return Decimal(value) if isinstance(value, int) and value.bit_length() >= 64 else value


def _now(spark: Any) -> dt.datetime:
    """What the clock of the session says."""
    now: dt.datetime = spark.sql("SELECT localtimestamp()").first()[0]
    return now


def _kept(frame: Any, stage: ReadStage, spark: Any, args: Mapping[str, object]) -> Any:
    """The rows of a table that fulfil its own conditions: of others no keys are to be asked for."""
    for condition in stage.conditions:
        wanted = {name: args[name] for name in _named(condition)}
        sql = f"SELECT * FROM {{rows}} AS {_escaped(quote(stage.alias))} WHERE {_escaped(condition)}"  # noqa: S608
        frame = spark.sql(sql, args=wanted or None, rows=frame)
    return frame


def _named(condition: str) -> frozenset[str]:
    """The parameters that a condition names."""
    return parameter_names(f"SELECT {condition}")


def _escaped(text: str) -> str:
    """As text that is formatted."""
    return text.replace("{", "{{").replace("}", "}}")
