"""A statement in other words, for what cannot be planned as it is written, or not without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from fff.errors import QueryError
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.calls.expand import expand_calls
from fff.sql.calls.full_joins import halved
from fff.sql.calls.spelled_out import spelled_out
from fff.sql.calls.subqueries import as_exists, by_key, members
from fff.sql.nested.derived_tables import merged
from fff.sql.nested.key_columns import with_key_columns
from fff.sql.nested.lateral_aliases import without_lateral_aliases
from fff.sql.nested.lateral_views import without_lateral_views
from fff.sql.nested.packing import PACKED, packed
from fff.sql.nested.query_tables import Plan, QueryTables
from fff.sql.planner.recursion import with_columns

__all__ = ["PACKED", "QueryTables", "rewritten"]


def rewritten(text: Rewritten, made: QueryTables, plan: Plan) -> Iterator[Rewritten]:
    """The statement in other words, in one way after another, with its calls and then with tables in their places.

    `made`: has the queries that are tables in the words of now; `plan`: how queries in it are planned.
    """
    yield from _with_tables(text, made, plan)
    yield from _without_calls(text, made, plan)


def _with_tables(text: Rewritten, made: QueryTables, plan: Plan) -> Iterator[Rewritten]:
    """The statement in other words: rows as tables, halves of FULL JOIN, queries merged and queries as tables."""
    for rewrite in (
        spelled_out,
        without_lateral_views,
        without_lateral_aliases,
        with_columns,
        members,
        as_exists,
        by_key,
        halved,
    ):
        with suppress(QueryError):
            other = rewrite(text)
            if other is not None:
                text = other
                yield text
    with suppress(QueryError):
        one = merged(text)
        if one is not None:
            yield one

    with suppress(QueryError):
        before, text = text.sql, packed(text)
        made.packed = text.sql != before
        text = made.replaced(text, plan)
        if made.made or made.packed:
            text = halved(text) or text
            one = merged(text)
            if one is not None:
                yield one
            yield text
    with suppress(QueryError):
        keyed = with_key_columns(text, made, plan)
        if keyed is not None:
            yield keyed


def _without_calls(text: Rewritten, made: QueryTables, plan: Plan) -> Iterator[Rewritten]:
    """The statement with tables in the places of its calls, in other words.

    A call for the rows that all else has left is an outer join with a query in FROM; that merged, it needs no Spark.
    """
    with suppress(QueryError):
        expanded = expand_calls(text)
        if expanded is not text:
            yield from _with_tables(expanded, made, plan)
