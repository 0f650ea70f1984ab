"""Papers and venues to call functions on, and a function that remembers its calls."""

from __future__ import annotations

import asyncio
import collections
from collections.abc import Callable
from typing import Any

from fff.api import Connection

TYPES = {"id": "int", "title": "string", "abstract": "string", "year": "int", "venue": "string"}
#: (id, title, abstract, year, venue): ten abstracts, each thrice, and three rows without one.
PAPERS = [
    (
        number,
        f"t{number}",
        None if number % 11 == 10 else f"a{number % 10}",
        2010 + number % 7,
        f"v{number % 3}",
    )
    for number in range(33)
]
VENUES = [("v0", "A"), ("v1", "B"), ("v1", "C")]


class Calls:
    """A function that remembers what it was called with."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self.run = run
        self.seen: list[tuple[Any, ...]] = []

    async def __call__(self, *arguments: Any) -> Any:
        self.seen.append(arguments)
        await asyncio.sleep(0)
        return self.run(*arguments)

    @property
    def counts(self) -> collections.Counter[tuple[Any, ...]]:
        return collections.Counter(self.seen)


def is_even(abstract: str) -> bool:
    return int(abstract[1:]) % 2 == 0


def rows(federation: Connection, sql: str, **options: Any) -> list[tuple[Any, ...]]:
    table = federation.sql(sql, **options).to_arrow()
    found = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted(found, key=lambda row: tuple((value is None, str(value)) for value in row))
