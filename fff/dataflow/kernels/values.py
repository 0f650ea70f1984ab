"""What kernels take and give: columns or constants, and which rows failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools, numpy_mask
from fff.schema import ArrowType
from fff.structs import Struct

#: A column of as many values as there are rows, or one value for all of them.
Value: TypeAlias = pa.Array | pa.Scalar


class Failures(Struct, frozen=True):
    """Rows on which Spark raises an error, of which there is at least one.

    `tell` gives Spark's error class and message for such a row, as `[DIVIDE_BY_ZERO] Division by zero.`
    """

    rows: Bools
    tell: Callable[[int], str]

    @property
    def message(self) -> str:
        """What Spark says of the first of them."""
        return self.tell(int(np.argmax(self.rows)))

    def where(self, rows: Bools) -> Failures | None:
        """Those among some rows."""
        left = self.rows & rows
        return Failures(left, self.tell) if left.any() else None

    def __or__(self, other: Failures | None) -> Failures:
        """All of both; where both fail, the left one is told."""
        if other is None:
            return self
        return Failures(
            self.rows | other.rows, lambda row: self.tell(row) if self.rows[row] else other.tell(row)
        )


class Partial(Struct, frozen=True):
    """Results of a kernel, and which rows failed; those are NULL."""

    values: Value
    failed: Failures | None


Kernel: TypeAlias = Callable[[Sequence[Value], ArrowType], "Value | Partial"]


def either(one: Failures | None, other: Failures | None) -> Failures | None:
    """All failures of both."""
    return other if one is None else one | other


def failing(values: Value, failed: Value, tell: str | Callable[[int], str]) -> Value | Partial:
    """Results without those of the rows that failed (true, not NULL, in `failed`)."""
    rows = numpy_mask(failed)
    if not rows.any():
        return values
    message_of = tell if callable(tell) else lambda _: tell
    return Partial(
        pc.if_else(pa.array(rows), pa.scalar(None, values.type), values), Failures(rows, message_of)
    )


def column(value: Value, length: int) -> pa.Array:
    """A value for each of so many rows."""
    if isinstance(value, pa.Scalar):  # of nested ones Arrow cannot make none
        return pa.repeat(value, length) if length else pa.array([], value.type)
    return value


def true_rows(value: Value, length: int) -> Bools:
    """Where a Boolean value is true."""
    if isinstance(value, pa.Scalar):
        return np.full(length, value.as_py() is True)
    return numpy_mask(value)


def valid_rows(value: Value, length: int) -> Bools:
    """Where a value is not NULL."""
    if isinstance(value, pa.Scalar):
        return np.full(length, value.is_valid)
    return numpy_mask(pc.is_valid(value))


def over_unique(values: pa.Array, compute: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """What is computed over the different values of a column, for each row; for what is dear on every one of them."""
    coded = values.dictionary_encode()
    return compute(coded.dictionary).take(coded.indices)


def of_type(values: pa.Array, kind: ArrowType) -> pa.Array:
    """A column as another type. As its own it stays: Arrow's cast of arrays of NULLs alone to the same loses elements."""
    return values if values.type == kind else values.cast(kind)


def length_of(args: Sequence[Value]) -> int:
    """For how many rows these are: one where all are constants."""
    return next((len(one) for one in args if isinstance(one, pa.Array)), 1)


def as_array(value: Value) -> pa.Array:
    """A value as a column, of one row where it is a constant."""
    return pa.array([value.as_py()], value.type) if isinstance(value, pa.Scalar) else value
