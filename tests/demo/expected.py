"""What the demo query finds, by DuckDB over the rows that the demo sources send."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pytest

from fff_sources.demo import QUERY
from fff_sources.demo.data import generate

Groups = dict[tuple[str, str], Any]


def expected() -> Groups:
    """The averages by state and rating, to be compared with what was found."""
    connection = duckdb.connect()
    for name, table in generate().tables().items():
        connection.register(name, table)
    rows = connection.execute(QUERY).fetchall()
    return {(row[2], row[3]): pytest.approx(row[:2], rel=1e-9) for row in rows}


def groups(rows: Iterable[Sequence[Any]]) -> Groups:
    """The same of rows as a client has them. Raises AssertionError where a group comes twice."""
    listed = [((row[2], row[3]), (float(row[0]), float(row[1]))) for row in rows]
    assert len(dict(listed)) == len(listed)
    return dict(listed)
