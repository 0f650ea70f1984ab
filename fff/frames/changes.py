"""How far a table's changes have been read: offsets of a stream, and the rows between two of them.

An offset is the greatest value seen of the column that rises with every change, and the rows that have been
given from `lookback` before it on, where later answers tell of rows again, and of others. A row is known by a
digest of all its values, so that one that changes twice under one value comes twice, and one told twice once.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa

from fff.quals import ChangesSince, Qual

ArrowTable: TypeAlias = pa.Table

_DIGEST = 12  # bytes: of 10^9 rows two are alike with a probability of 10^-11


@dataclass(frozen=True)
class ChangeOffset:
    """How far a table has been read.

    Attributes:
        greatest: the greatest value of the column; None before there is one.
        given: rows that may be told again, each with its value.
    """

    greatest: Any = None
    given: Mapping[str, Any] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """As what JSON can hold; the same for equal offsets."""
        values = {digest: _text(self.given[digest]) for digest in sorted(self.given)}
        return {"greatest": _text(self.greatest), "given": values}

    @classmethod
    def of(cls, stored: Mapping[str, Any], kind: pa.DataType) -> ChangeOffset:
        """From what `told` gave, where the column is of that type."""
        values = {digest: _value(text, kind) for digest, text in stored["given"].items()}
        return cls(_value(stored["greatest"], kind), values)

    def since(self, changes: ChangesSince) -> Qual | None:
        """What later answers are asked for; None: all rows."""
        return None if self.greatest is None else changes.since(self.greatest)

    def is_open(self, value: Any, changes: ChangesSince) -> bool:
        """Whether rows of that value may still come, or come again."""
        since = self.since(changes)
        return since is None or (value is not None and value >= since.value)


class ChangedRows:
    """What a table says has changed, each row once, in the order of the changes; a NULL comes first.

    Args:
        rows: all columns of the table.
        changes: how it tells changes.
    """

    def __init__(self, rows: ArrowTable, changes: ChangesSince) -> None:
        self._changes = changes
        values = rows.column(changes.column).to_pylist()
        first: dict[str, int] = {}
        for place, row in enumerate(rows.to_pylist()):
            first.setdefault(_digest(row), place)
        changes_of_rows = [(values[place], digest) for digest, place in first.items()]
        self._ordered = sorted((one for one in changes_of_rows if one[0] is None), key=itemgetter(1))
        self._ordered += sorted(one for one in changes_of_rows if one[0] is not None)
        self._rows = rows.take(pa.array([first[digest] for _, digest in self._ordered], pa.int64()))

    def after(self, start: ChangeOffset, limit: int | None = None) -> ChangeOffset:
        """How far a table has been read with the first so many rows that have not been given; the start where there are none."""
        new = [self._ordered[place] for place in self._new(start)][:limit]
        if not new:
            return start
        seen = [value for value, _ in new if value is not None]
        greatest = max([*seen, *([] if start.greatest is None else [start.greatest])], default=None)
        values = {**start.given, **{digest: value for value, digest in new}}
        end = ChangeOffset(greatest)
        return ChangeOffset(
            greatest,
            {digest: value for digest, value in values.items() if end.is_open(value, self._changes)},
        )

    def between(self, start: ChangeOffset, end: ChangeOffset) -> ArrowTable:
        """The rows that were not given at the start, and are at the end; but those that have changed since then."""
        wanted = (
            place
            for place in self._new(start)
            if (one := self._ordered[place])[1] in end.given
            or (not end.is_open(one[0], self._changes) and (one[0] is None or one[0] <= end.greatest))
        )
        return self._rows.take(pa.array(list(wanted), pa.int64()))

    def _new(self, start: ChangeOffset) -> Iterator[int]:
        for place, (value, digest) in enumerate(self._ordered):
            if digest not in start.given and start.is_open(value, self._changes):
                yield place


def in_parts(rows: ArrowTable, parts: int) -> Iterable[ArrowTable]:
    """The rows in at most so many parts of about one size; none without rows."""
    size = -(-rows.num_rows // parts)
    return (rows.slice(at, size) for at in range(0, rows.num_rows, size or 1))


def _digest(row: Mapping[str, Any]) -> str:
    text = json.dumps(list(row.values()), default=str)
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST).hexdigest()


def _text(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value


def _value(text: Any, kind: pa.DataType) -> Any:
    if text is None or not pa.types.is_temporal(kind):
        return text
    return dt.date.fromisoformat(text) if pa.types.is_date(kind) else dt.datetime.fromisoformat(text)
