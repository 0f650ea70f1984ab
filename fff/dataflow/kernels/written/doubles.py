"""Floats and doubles as texts, as Java writes them from version 19 on: the fewest digits that only this number has.

Arrow finds the digits, and Java puts them down otherwise. Where one digit would do, Java takes the two that are nearest,
which are others only of the smallest numbers there are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]

_PARTS = r"^(?P<sign>-?)(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]+))?(?:e\+?(?P<exponent>-?[0-9]+))?$"
#: Of numbers from the one on and below the other all digits are written out.
_LEAST, _MOST = 1e-3, 1e7
#: Numbers of one digit, by how often the smallest of all is in them, and what Java writes.
_SMALLEST = {
    pa.float64(): (
        np.uint64,
        {
            1: "4.9E-324",
            2: "9.9E-324",
            10: "4.9E-323",
            12: "5.9E-323",
            14: "6.9E-323",
            16: "7.9E-323",
            18: "8.9E-323",
            20: "9.9E-323",
        },
    ),
    pa.float32(): (
        np.uint32,
        {
            1: "1.4E-45",
            2: "2.8E-45",
            3: "4.2E-45",
            4: "5.6E-45",
            6: "8.4E-45",
            7: "9.8E-45",
            21: "2.9E-44",
            29: "4.1E-44",
            71: "9.9E-44",
        },
    ),
}
_FEW = 100


def write_floats(values: pa.Array) -> pa.Array:
    """What Java makes of each number."""
    numbers = np.abs(values.fill_null(0).to_numpy(zero_copy_only=False))
    written = pc.extract_regex(values.cast(pa.string()), _PARTS)
    if len(written) == 0:
        return pa.array([], pa.string())
    sign, whole, part, exponent = (
        pc.struct_field(written, name) for name in ("sign", "whole", "part", "exponent")
    )
    out = (numbers == 0) | ((numbers >= _LEAST) & (numbers < _MOST))
    texts = _joined(sign, whole, ".", _or_zero(part))
    if not out.all():
        texts = pc.if_else(pa.array(out), texts, _scientific(sign, whole, part, exponent))
    texts = pc.if_else(pa.array(np.isnan(numbers)), "NaN", texts)
    if np.isinf(numbers).any():
        negative = pa.array(np.signbit(values.fill_null(0).to_numpy(zero_copy_only=False)))
        texts = pc.if_else(pa.array(np.isinf(numbers)), pc.if_else(negative, "-Infinity", "Infinity"), texts)
    bits, smallest = _SMALLEST[values.type]
    counts = numbers.view(bits)
    if ((counts > 0) & (counts < _FEW)).any():
        for count, text in smallest.items():
            texts = pc.if_else(pa.array(counts == count), _joined(sign, text), texts)
    return pc.if_else(pc.is_valid(values), texts, pa.scalar(None, pa.string()))


def write_double(number: float) -> str:
    """What Java makes of one number; where all digits are written out Python makes the same."""
    if number == 0 or _LEAST <= abs(number) < _MOST:
        return repr(number)
    text: str = write_floats(pa.array([number]))[0].as_py()
    return text


def digits_of(values: pa.Array) -> tuple[Numbers, Numbers]:
    """The fewest digits that only a number has, as a whole number without its sign, and the power of ten that it is times of."""
    written = pc.extract_regex(values.cast(pa.string()), _PARTS)
    whole, part, exponent = (pc.struct_field(written, name) for name in ("whole", "part", "exponent"))
    digits = pc.fill_null(_joined(whole, part), "0").cast(pa.int64()).to_numpy()
    power = pc.subtract(_or_zero(exponent).cast(pa.int64()), pc.binary_length(part).cast(pa.int64()))
    return digits, pc.fill_null(power, 0).to_numpy()


def _scientific(sign: pa.Array, whole: pa.Array, part: pa.Array, exponent: pa.Array) -> pa.Array:
    """One digit before the point and the others behind it, and which power of ten they are times of."""
    small = pc.equal(whole, "0")
    digits = pc.utf8_rtrim(pc.utf8_ltrim(_joined(whole, part), "0"), "0")
    zeros = pc.subtract(pc.binary_length(part), pc.binary_length(pc.utf8_ltrim(part, "0")))
    moved = pc.if_else(small, pc.subtract(-1, zeros), pc.subtract(pc.binary_length(whole), 1))
    power = pc.add(_or_zero(exponent).cast(pa.int32()), moved)
    head, tail = pc.utf8_slice_codeunits(digits, 0, 1), pc.utf8_slice_codeunits(digits, 1)
    return _joined(sign, head, ".", _or_zero(tail), "E", power.cast(pa.string()))


def _or_zero(texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(texts, ""), "0", texts)


def _joined(*texts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*texts, "")
