"""Masks, checks, quotes, choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.kernels import letters
from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, column, failing, over_unique
from fff.schema import ArrowType

#: Digits beyond are none to Java, which sees their halves.
_LAST_SMALL = "\uffff"


def masked(text: str, upper: str | None, lower: str | None, digit: str | None, other: str | None) -> str:
    """Letters, digits and what else there is replaced, each by one character, or left where there is none."""
    replaced = []
    for letter in text:
        by = (
            upper
            if letter.isupper()
            else lower
            if letter.islower()
            else digit
            if letter.isdecimal()
            else other
        )
        replaced.append(letter if by is None else by)
    return "".join(replaced)


def _luhn(text: str) -> bool:
    """Whether the last digit checks the others."""
    if not text.isdecimal() or max(text) > _LAST_SMALL:
        return False
    total = 0
    for place, digit in enumerate(reversed(text)):
        number = int(digit) * (1 + place % 2)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


def of_text(change: Callable[..., object]) -> Kernel:
    """A kernel that asks Python about each different text; constants behind it may be NULL."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        known = [arg.as_py() for arg in args[1:]]
        return over_unique(
            as_array(args[0]),
            lambda one: pa.array(
                [None if each is None else change(each, *known) for each in one.to_pylist()], kind
            ),
        )

    return kernel


def _chosen(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """`elt`: the value of a number, from 1 on."""
    length = max((len(arg) for arg in args if isinstance(arg, pa.Array)), default=1)
    number, values = column(args[0], length), args[1:]
    places = pc.fill_null(number, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    there = number.is_valid().to_numpy(zero_copy_only=False)
    result: Value = pa.nulls(length, kind)
    for place, value in enumerate(values, 1):
        result = pc.if_else(pa.array(places == place), value, result)
    beyond = there & ((places < 1) | (places > len(values)))
    return failing(
        result,
        pa.array(beyond),
        lambda row: (
            f"[INVALID_ARRAY_INDEX] The index {places[row]} is out of bounds. The array has {len(values)} elements. Use the "
            "SQL function `get()` to tolerate accessing element at invalid index and return NULL instead."
        ),
    )


def _padded(data: bytes, length: int | None, by: bytes | None, *, left: bool) -> bytes | None:
    if length is None or by is None:
        return None
    missing = max(length, 0) - len(data)
    if missing <= 0 or not by:
        return data[: max(length, 0)]
    more = (by * (missing // len(by) + 1))[:missing]
    return more + data if left else data + more


MARKS: dict[str, Kernel] = {
    "mask": of_text(masked),
    "luhn_check": of_text(_luhn),
    "any_case": of_text(lambda text: letters.lower(text).replace("\u03c2", "\u03c3")),
    "quote": of_text(_quoted),
    "elt": _chosen,
    "lpad_bytes": of_text(lambda data, length, by=b"\0": _padded(data, length, by, left=True)),
    "rpad_bytes": of_text(lambda data, length, by=b"\0": _padded(data, length, by, left=False)),
    "space": of_text(lambda count: " " * max(count, 0)),
}
