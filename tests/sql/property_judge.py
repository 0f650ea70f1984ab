"""The engine and Spark side by side: which rows each of them lets a predicate pass."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from property_values import LAB

from fff.dataflow.eddy import Eddy
from fff.dataflow.plan.events import Emit, Event, Finish, Route, ScanEnd, ScanRows, Start
from fff.errors import FFFError, SparkError
from fff.policies import make_policy
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.plan import BlockQuery
from fff.sql.syntax.parameters.params import render

#: Predicates of one Spark job.
BATCH = 250


@dataclass(frozen=True)
class Written:
    """A condition as the engine reads it, and as Spark does: the same, except that parameters are literals there."""

    text: str
    params: Mapping[str, object]

    def for_spark(self, text: str | None = None) -> str:
        """The condition, or a part of it, with literals in place of parameters. No name is the beginning of another."""
        text = self.text if text is None else text
        for name, value in self.params.items():
            text = text.replace(f":{name}", render(name, value))
        return text


@dataclass(frozen=True)
class Case:
    """A condition after planning: what the engine takes of it, and how Spark is asked for the same rows."""

    written: Written
    block: BlockQuery | None  # None: the statement was refused
    taken: str | None  # what the engine takes, as Spark reads it
    whole: bool  # and whether that is the whole condition
    refusal: str = ""


@dataclass(frozen=True)
class Difference:
    """A condition on which the two disagree."""

    text: str
    taken: str
    engine: str
    spark: str

    def __str__(self) -> str:
        return f"{self.text}\n    taken: {self.taken}\n    engine: {self.engine}\n    spark:  {self.spark}"


def plan(written: Written, tables: str = "t", select: str = "t.id") -> Case:
    """The condition as the planner takes it."""
    sql = f"SELECT {select} FROM {tables} WHERE {written.text}"
    try:
        block = prepare(sql, LAB, written.params).only_block
    except FFFError as error:
        return Case(written, None, None, whole=False, refusal=str(error))
    own = [
        one for one in block.conjuncts if not one.derived or one.span is not None
    ]  # written, or following from it
    taken = [one.text for one in own if one.where != "spark"]
    if not taken or any(one.undecided for one in block.conjuncts):  # see property_scalars
        return Case(written, block, None, whole=False)
    if len(taken) == len(own):
        return Case(written, block, written.for_spark(), whole=True)
    return Case(written, block, " AND ".join(f"({written.for_spark(text)})" for text in taken), whole=False)


def engine_rows(block: BlockQuery, data: Mapping[str, pa.Table]) -> np.ndarray:
    """The ids (of the first alias) in the block's rows, by the dataflow core itself."""
    if block.empty is not None:
        return np.empty(0, np.int64)
    plan = block.plan
    eddy = Eddy(plan, make_policy("fixed", plan), random.Random(0))
    output = next(
        place
        for place, column in enumerate(plan.output)
        if column.alias == 0 and plan.field_of(column).name == "id"
    )
    found: list[np.ndarray] = []
    finished = False
    for event in _whole_scans(block, data, eddy):
        for told in eddy.handle(event):
            finished = finished or isinstance(told, Finish)
            if isinstance(told, Emit):
                found.append(eddy.gather(told.batch).column(output).to_numpy())
    assert finished, "the eddy did not finish"
    return np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)


def _whole_scans(block: BlockQuery, data: Mapping[str, pa.Table], eddy: Eddy) -> Iterator[Event]:
    yield Start()
    for number, table in enumerate(block.plan.tables):
        batch = data[table.name.partition(".")[2]].select([field.name for field in table.columns])
        (batch,) = batch.combine_chunks().to_batches()
        yield ScanRows(number, 0, batch)
        yield ScanEnd(number, 0, len(batch))
    while eddy.has_work:
        yield Route()


@dataclass
class Verdicts:
    """What Spark says about the cases the engine takes; kept, so that several engines can be held against it."""

    spark: SparkEngine
    data: pa.Table
    cases: Sequence[Case]

    @cached_property
    def said(self) -> list[np.ndarray | str]:
        """For each case the ids that pass, or Spark's error."""
        said: list[np.ndarray | str] = []
        for start in range(0, len(self.cases), BATCH):
            said += self._ask([case.taken or "TRUE" for case in self.cases[start : start + BATCH]])
        return said

    def _ask(self, texts: Sequence[str]) -> list[np.ndarray | str]:
        listed = ", ".join(f"(({text})) IS TRUE AS p{number}" for number, text in enumerate(texts))
        try:
            answer = self.spark.run_over(f"SELECT id, {listed} FROM t", {"t": self.data})
        except SparkError as error:
            if len(texts) == 1:
                return [str(error)]
            half = len(texts) // 2
            return self._ask(texts[:half]) + self._ask(texts[half:])
        ids = answer.column("id").to_numpy()
        return [np.sort(ids[answer.column(number + 1).to_numpy()]) for number in range(len(texts))]

    def differences(self, cases: Sequence[Case] | None = None) -> list[Difference]:
        """Where the engine's rows are not Spark's, or Spark raises an error the engine does not.

        `cases`, the same conditions planned in another way, stand in for the own ones.
        """
        wrong = []
        for case, spark in zip(cases or self.cases, self.said, strict=True):
            assert case.block is not None
            assert case.taken is not None
            engine = engine_rows(case.block, {"t": self.data})
            if isinstance(spark, str) or not np.array_equal(engine, spark):
                told = spark if isinstance(spark, str) else _shown(spark, engine)
                wrong.append(Difference(case.written.for_spark(), case.taken, _shown(engine, spark), told))
        return wrong


def accepted(spark: SparkEngine, data: pa.Table, cases: Sequence[Case]) -> list[str]:
    """Of the refused statements those that Spark runs."""
    found = []
    for case in cases:
        try:
            spark.run_over(f"SELECT t.id FROM t WHERE {case.written.for_spark()}", {"t": data})
        except SparkError:
            continue
        found.append(f"{case.written.for_spark()}: {case.refusal}")
    return found


def filtered(spark: SparkEngine, data: pa.Table, texts: Sequence[str]) -> list[np.ndarray]:
    """The ids that pass each condition where a condition stands: in WHERE."""
    parts = [f"SELECT {number} AS p, id FROM t WHERE {text}" for number, text in enumerate(texts)]
    answer = spark.run_over(" UNION ALL ".join(parts), {"t": data})
    which, ids = answer.column("p").to_numpy(), answer.column("id").to_numpy()
    return [np.sort(ids[which == number]) for number in range(len(texts))]


def _shown(ids: np.ndarray, other: np.ndarray | str) -> str:
    """How many rows pass, and the first that only pass here."""
    only = np.setdiff1d(ids, other) if not isinstance(other, str) else ids
    return f"{len(ids)} rows" + (f", alone id {', '.join(map(str, only[:3]))}" if len(only) else "")
