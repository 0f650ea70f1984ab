"""What Spark's plans tell: the types of expressions, programs that would run, and whether a query is over few rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fff.errors import SparkError
from fff.structs import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

#: A query over so few rows, joined in every way, runs as one task a step, and no code is compiled for it:
#: it takes half as long. How many rows a plan makes by itself nobody knows.
_FEW_ROWS = 10_000
_FEW_CONF = {
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_MAKES_ROWS = lazy_pattern(r"\b(Generate|UnionLoop|Range)\b")
_JOINS = lazy_pattern(r"\bJoin\b")
#: A program in a plan, which stands in a line of its own behind what draws the tree.
_SCRIPT = lazy_pattern(r"^[\s:+|-]*'?ScriptTransformation ", re.MULTILINE)


def check_is_query(spark: Any, sql: str) -> None:
    """Whatever the planner let pass: what DESCRIBE QUERY takes is a query in Spark's own grammar. Raises SparkError.

    A server runs that, which is not to run the query. To parse it is enough, and takes a third of the time. A
    script, which is part of a query in that grammar, is found in its plan.
    """
    describing, here = f"DESCRIBE QUERY {sql}", getattr(spark, "_jsparkSession", None)
    if here is None:
        spark.sql(describing)
    elif here.sessionState().sqlParser().parsePlan(describing).nodeName() != "DescribeQueryCommand":
        raise SparkError("Spark: this is no query, and FFF only reads")


def has_script(frame: Any) -> bool:
    """Whether a data frame of a Spark in a JVM would run a program."""
    text = frame._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - its plan is told nowhere else
    return _SCRIPT.search(text) is not None


def is_over_few_rows(frame: Any, rows: int) -> bool:
    """Whether a data frame over tables with so many rows in all is certain not to come across many."""
    if rows > _FEW_ROWS:
        return False
    plan: str = frame._jdf.queryExecution().optimizedPlan().toString()  # noqa: SLF001 - as above
    return rows ** (len(_JOINS.findall(plan)) + 1) <= _FEW_ROWS and _MAKES_ROWS.search(plan) is None


def type_or_complaint(expression: Any) -> str:
    """The type of an analyzed expression, or in brackets why it has none."""
    if expression.resolved():
        return str(expression.dataType().catalogString())
    children = expression.children()
    for place in range(children.size()):
        if not children.apply(place).resolved():
            return type_or_complaint(children.apply(place))
    result = expression.checkInputDataTypes() if hasattr(expression, "checkInputDataTypes") else None
    return f"[{result.errorSubClass()}]" if result is not None and result.isFailure() else "[]"


class RowsConf:
    """Has a session run each query as suits the number of its rows. The answers are the same."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._many: dict[str, str | None] | None = None  # the session's own, while that of few rows is set

    def suit(self, *, few: bool) -> None:
        """Prepare for few rows or for any number of them."""
        if few is (self._many is not None):
            return
        if few:
            self._many = {name: self._spark.conf.get(name, None) for name in _FEW_CONF}
            self._set(_FEW_CONF)
        else:
            self._set(self._many or {})
            self._many = None

    def _set(self, conf: Mapping[str, str | None]) -> None:
        for name, value in conf.items():
            if value is None:
                self._spark.conf.unset(name)
            else:
                self._spark.conf.set(name, value)
