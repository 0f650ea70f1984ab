"""Who has every match by EOT of a predicate: parts of scans that have ended, such as the windows of one (docs/execution.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Bools, Int64
from fff.dataflow.lookups.access import LookupModule
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.expressions import And, Column, Compare, Expr, InList, Literal
from fff.dataflow.plan.extents import EVERY, ValueSet


class HeldParts:
    """Reads the coverage of a block's SteMs and changes nothing."""

    def __init__(self, block: Block) -> None:
        self._block = block
        plan = block.plan
        self._places = [
            {field.name.lower(): place for place, field in enumerate(table.columns)} for table in plan.tables
        ]
        #: By alias and column: the values that what the plan says of the alias alone leaves of rows that it can use.
        self._usable: list[dict[int, ValueSet]] = [{} for _ in plan.aliases]
        for predicate in plan.predicates:
            for alias in predicate.aliases if len(predicate.aliases) == 1 else ():
                if predicate.on == (None if plan.aliases[alias].kind == "inner" else alias):
                    known = self._usable[alias]
                    for column, values in _usable(predicate.expr).items():
                        known[column] = known.get(column, EVERY) & values

    def matches(self, tuples: TupleBatch, alias: int) -> Bools:
        """Which tuples could meet in an alias only rows that are certainly here, for a part of a scan covers them."""
        table = self._block.plan.aliases[alias].table
        if not self._block.stems[table].coverage.extents:
            return np.zeros(len(tuples), np.bool_)
        sought: dict[int, list[pa.Array]] = {}
        for link in self._block.constraints.links(tuples.state.span, alias):
            values = self._block.values(tuples, Column(link.other, link.column))
            sought.setdefault(link.own, []).append(values)
        return self._inside(
            table, len(tuples), sought.get, lambda column: self._usable[alias].get(column, EVERY)
        )

    def keys(self, table: int, module: LookupModule, keys: Int64) -> Bools:
        """Of which keys of a lookup every row is here, whichever alias wants it."""
        stem = self._block.stems[table]
        if not stem.coverage.extents or not len(keys):
            return np.zeros(len(keys), np.bool_)
        columns = zip(module.plan.columns, module.columns(keys), strict=True)
        sought = {column: [values] for column, values in columns}

        def usable(column: int) -> ValueSet:
            known = [self._usable[alias].get(column, EVERY) for alias in stem.aliases]
            return (
                EVERY
                if not known
                else ValueSet.of(
                    (one for values in known for one in values.stretches), null=any(one.null for one in known)
                )
            )

        return self._inside(table, len(keys), sought.get, usable)

    def _inside(
        self,
        table: int,
        count: int,
        sought: Callable[[int], Sequence[pa.Array] | None],
        usable: Callable[[int], ValueSet],
    ) -> Bools:
        """For whom one extent has all rows: in each of its columns it has the value they seek, or every one they can use.

        Of several values that they seek in one column any will do, as a match has them all.
        """
        covered = np.zeros(count, np.bool_)
        for extent in self._block.stems[table].coverage.extents:
            inside = np.ones(count, np.bool_)
            for name, values in extent.columns:
                place = self._places[table].get(name)
                theirs = None if place is None else sought(place)
                if place is None or not (theirs is not None or usable(place) <= values):
                    inside[:] = False
                elif theirs is not None and not usable(place) <= values:
                    inside &= np.logical_or.reduce([values.mask(one) for one in theirs])
            covered |= inside
        return covered


def _usable(expr: Expr) -> dict[int, ValueSet]:
    """What a condition on one alias leaves of its columns, where it is true."""
    match expr:
        case Compare(op=op, left=Column() as column, right=Literal() as literal) if literal.value is not None:
            values = ValueSet.compared("=" if op == "<=>" else op, literal.scalar.as_py())
            return {} if values is None else {column.index: values}
        case InList(item=Column() as column, values=several, type=arrow):
            known = pa.array([value for value in several if value is not None], arrow)
            return {column.index: ValueSet.points(known.to_pylist())}
        case And(items=items):
            by_place: dict[int, ValueSet] = {}
            for item in items:
                for place, values in _usable(item).items():
                    by_place[place] = by_place.get(place, EVERY) & values
            return by_place
    return {}
