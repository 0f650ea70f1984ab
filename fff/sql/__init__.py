"""SQL text to plan: parse, resolve names, split into a select-project-join block and the upper query, check feasibility.

text ── dialect ──► Statement (tokens, tree) ── support ──► one SELECT, or a clear refusal
     ── expansion ──► calls of functions that cost a request as tables in FROM
     ── blocks ──► relations, scopes, conjuncts ── classify ──► equality · engine · constant · Spark
     ── above ──► what stands above the block, and the columns it needs
     ── equalities, access ──► classes, constants, access methods, feasibility
     ── prepare ──► BlockPlan for the eddy · upper ──► Spark SQL over a view · explain ──► plain text
"""

from __future__ import annotations

from fff.sql.dialect import split_statements
from fff.sql.explain import explain
from fff.sql.params import unused as unused_parameter
from fff.sql.planned import BlockQuery, Feed, KeySource, OutputColumn, Prepared, UpperQuery
from fff.sql.prepare import parameter_names, prepare, table_names

__all__ = [
    "BlockQuery",
    "Feed",
    "KeySource",
    "OutputColumn",
    "Prepared",
    "UpperQuery",
    "explain",
    "parameter_names",
    "prepare",
    "split_statements",
    "table_names",
    "unused_parameter",
]
