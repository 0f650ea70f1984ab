"""SQL text to plan: the first stage of a query.

In: the text of a statement, its parameters, the tables of the catalog.
Out: a `Prepared`: blocks for the eddy (`BlockPlan`), what Spark runs above them, what `explain` says.

    analysis/  What conditions say: what the engine can judge, what sources can be told
    binder/    Names: which table, alias or column each name of a statement means.
    calls/     Calls in SQL of functions that cost a request: they become tables in FROM.
    nested/    Queries in queries that the engine answers: they become tables.
    plan       What planning a statement yields
    planner/   Statements to plans.
    refusals/  What Spark would refuse, told before the first request
    scalars/   Scalar expressions that the engine computes as Spark does
    syntax/    Text, tokens and trees, and what single words of Spark SQL mean.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from fff.sql.nested.parameter_types import parameter_types
from fff.sql.plan import BlockQuery, BranchUnion, Feed, KeySource, Prepared, UpperQuery
from fff.sql.planner.explain import explain
from fff.sql.planner.prepare import parameter_names, prepare, table_names
from fff.sql.syntax.parameters.params import unused as unused_parameter
from fff.sql.syntax.statement import split_statements, statement_spans

__all__ = [
    "BlockQuery",
    "BranchUnion",
    "Feed",
    "KeySource",
    "Prepared",
    "UpperQuery",
    "explain",
    "parameter_names",
    "parameter_types",
    "prepare",
    "split_statements",
    "statement_spans",
    "table_names",
    "unused_parameter",
]


class _CalledPackage(types.ModuleType):
    """This package is `fff.sql`, and so is what users call."""

    def __call__(self, *args: Any, **arguments: Any) -> Any:
        """`fff.frames.statement.sql`."""
        return importlib.import_module("fff.frames.statement").sql(*args, **arguments)


sys.modules[__name__].__class__ = _CalledPackage
